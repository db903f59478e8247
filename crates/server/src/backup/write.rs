//! Writes a backup of a store that a server may be using.

use std::io::{self, Write};

use flate2::{Compression, write::GzEncoder};
use toolyard_core::ports::KnownKey;
use toolyard_protocol::secret::SecretText;
use toolyard_store::{SchemaVersion, SnapshotError, StoreKind, StoreSettings, StoreSnapshot};

use super::{
    BackupManifest,
    header::{ArchiveHeader, CompressionName, EncryptionHeader, FORMAT_NAME, FORMAT_VERSION},
    seal::SealWriter,
};
use crate::{config::Config, parts, secrets::RootKeyError, serve::ServerDependencies};

/// Why no backup was written.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The root key may leave this machine only encrypted.
    #[error("the root key is only written to an encrypted backup")]
    KeyNeedsEncryption,
    /// The store could not be read, or the file not written.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The root key is missing, or not that of the store.
    #[error(transparent)]
    RootKey(#[from] RootKeyError),
    /// The file could not be written.
    #[error("cannot write the backup: {0}")]
    Output(#[from] io::Error),
}

/// What a backup should contain.
#[derive(Debug, Clone, Copy, Default)]
pub struct BackupRequest<'a> {
    /// Encrypts the backup.
    pub passphrase: Option<&'a SecretText>,
    /// Whether the root key is part of it, which needs a passphrase.
    pub with_root_key: bool,
}

/// Writes a backup of the configured store to `out`. A server may use the store meanwhile; the backup has its state of one moment.
pub async fn write_backup(
    config: &Config,
    deps: &ServerDependencies,
    request: BackupRequest<'_>,
    out: impl Write,
) -> Result<BackupManifest, BackupError> {
    if request.with_root_key && request.passphrase.is_none() {
        return Err(BackupError::KeyNeedsEncryption);
    }
    let settings = parts::store_settings(config);
    let mut snapshot = StoreSnapshot::open(&settings).await?;
    let written = write_snapshot(config, deps, request, &settings, &mut snapshot, out).await;
    snapshot.close().await;
    written
}

async fn write_snapshot(
    config: &Config,
    deps: &ServerDependencies,
    request: BackupRequest<'_>,
    settings: &StoreSettings,
    snapshot: &mut StoreSnapshot,
    out: impl Write,
) -> Result<BackupManifest, BackupError> {
    let known = snapshot.known_key().await?;
    let root_key = match request.with_root_key {
        true => Some(find_root_key(config, deps, &known)?),
        false => None,
    };
    let manifest = BackupManifest {
        product_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: deps.clock.now(),
        store: StoreKind::from_settings(settings),
        schema: SchemaVersion::current(),
        root_key_check: known.check().map(hex::encode),
        has_root_key: root_key.is_some(),
        // Read twice, so that a reader knows what to expect before it loads anything.
        tables: snapshot.describe_tables().await?,
    };
    let output = begin_archive(deps, request.passphrase, out)?;
    let mut contents = GzEncoder::new(output, Compression::default());
    serde_json::to_writer(&mut contents, &manifest).map_err(io::Error::from)?;
    contents.write_all(b"\n")?;
    if let Some(key) = root_key {
        writeln!(contents, "{}", key.expose())?;
    }
    for table in &manifest.tables {
        snapshot.write_rows(table, &mut contents).await?;
    }
    contents.finish()?.finish()?.flush()?;
    Ok(manifest)
}

/// The root key with which the store's secrets are sealed. During a rotation that may be the old one.
fn find_root_key(
    config: &Config,
    deps: &ServerDependencies,
    known: &KnownKey,
) -> Result<SecretText, RootKeyError> {
    let keys = parts::root_keys(config, deps, true)?;
    let key = keys.key_of_store(known).ok_or_else(|| parts::root_key_mismatch(config))?;
    Ok(SecretText::new(hex::encode(key)))
}

/// Writes the header.
fn begin_archive<W: Write>(
    deps: &ServerDependencies,
    passphrase: Option<&SecretText>,
    mut out: W,
) -> Result<ArchiveOutput<W>, BackupError> {
    let derived = passphrase.map(|passphrase| EncryptionHeader::create(passphrase, &*deps.ids));
    let derived = derived.transpose().map_err(|_| io::Error::other("the key could not be derived"))?;
    let (encryption, key) = derived.unzip();
    let (format, version) = (FORMAT_NAME.to_owned(), FORMAT_VERSION);
    let header = ArchiveHeader { format, version, compression: CompressionName::Gzip, encryption };
    let mut line = serde_json::to_vec(&header).map_err(io::Error::from)?;
    line.push(b'\n');
    out.write_all(&line)?;
    Ok(match key {
        None => ArchiveOutput::Plain(out),
        Some(key) => ArchiveOutput::Sealed(SealWriter::new(out, key.to_cipher(), line)),
    })
}

/// What follows the header.
enum ArchiveOutput<W: Write> {
    Plain(W),
    Sealed(SealWriter<W>),
}

impl<W: Write> ArchiveOutput<W> {
    fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Sealed(writer) => writer.finish(),
        }
    }
}

impl<W: Write> Write for ArchiveOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Sealed(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Sealed(writer) => writer.flush(),
        }
    }
}
