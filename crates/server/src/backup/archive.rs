//! Reads a backup.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom},
    path::Path,
};

use flate2::bufread::GzDecoder;
use toolyard_protocol::secret::SecretText;
use toolyard_store::{MAX_ROW_BYTES, RowError, TableCheck};

use super::{
    BackupManifest,
    header::{ArchiveFormat, ArchiveHeader, ArchiveKey, FORMAT_NAME, FORMAT_VERSION, KeyError},
    seal::SealReader,
};
use crate::secrets;

/// Longest header.
const MAX_HEADER_BYTES: usize = 4 * 1024;
/// Longest manifest. It has a line for each table, and there are about fifty.
const MAX_MANIFEST_BYTES: usize = 1024 * 1024;
/// Longest line with a root key.
const MAX_KEY_BYTES: usize = 128;

/// Why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file could not be read.
    #[error("cannot read it: {0}")]
    Unreadable(io::Error),
    /// It is something else.
    #[error("it is not a backup of Toolyard")]
    NotBackup,
    /// A newer program wrote it.
    #[error(
        "its format is version {0}, and this version of Toolyard reads up to {FORMAT_VERSION}: use a newer version"
    )]
    NewerFormat(u32),
    /// It is encrypted, and there is no passphrase.
    #[error("it is encrypted, and no passphrase was given")]
    NeedsPassphrase,
    /// A passphrase was given for a file that is not encrypted: it may not be the expected one.
    #[error(
        "it is not encrypted, although a passphrase was given: check that it is the file that you expect"
    )]
    NotEncrypted,
    /// It is encrypted with another passphrase.
    #[error("the passphrase is wrong")]
    WrongPassphrase,
    /// Its end is missing.
    #[error("it is incomplete: its end is missing")]
    Truncated,
    /// It was changed, or the medium is defective.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The same, found in the rows.
    #[error("it is damaged: {0}")]
    Rows(#[from] RowError),
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Truncated,
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Self::Damaged(error.to_string()),
            _ => Self::Unreadable(error),
        }
    }
}

/// A backup in a file.
pub struct BackupArchive {
    file: File,
    /// The header, and how long it is.
    header: Vec<u8>,
    key: Option<ArchiveKey>,
}

impl BackupArchive {
    /// Opens a file. The passphrase is needed if it is encrypted, and refused if it is not.
    pub fn open(path: &Path, passphrase: Option<&SecretText>) -> Result<Self, ArchiveError> {
        let file = File::open(path).map_err(ArchiveError::Unreadable)?;
        let mut header = Vec::new();
        BufReader::new(&file)
            .take(MAX_HEADER_BYTES as u64)
            .read_until(b'\n', &mut header)
            .map_err(ArchiveError::Unreadable)?;
        let key = match (parse_header(&header)?.encryption, passphrase) {
            (None, None) => None,
            (None, Some(_)) => return Err(ArchiveError::NotEncrypted),
            (Some(_), None) => return Err(ArchiveError::NeedsPassphrase),
            (Some(encryption), Some(passphrase)) => {
                let key = encryption.open(passphrase).map_err(|error| match error {
                    KeyError::WrongPassphrase => ArchiveError::WrongPassphrase,
                    KeyError::Unsupported(reason) => ArchiveError::Damaged(reason.to_owned()),
                })?;
                Some(key)
            }
        };
        Ok(Self { file, header, key })
    }

    /// Whether it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.key.is_some()
    }

    /// Reads all of it, and checks that it is complete and undamaged.
    pub fn verify(&self) -> Result<BackupManifest, ArchiveError> {
        self.verify_contents().map(|(manifest, _)| manifest)
    }

    /// The same, and returns the root key if it is inside.
    pub(super) fn verify_contents(&self) -> Result<(BackupManifest, Option<[u8; 32]>), ArchiveError> {
        let mut contents = self.contents()?;
        let mut line = Vec::new();
        for table in &contents.manifest.tables {
            let mut check = TableCheck::new(table);
            for _ in 0..table.rows {
                contents.rows.next_row(&mut line)?;
                check.add_row(&line)?;
            }
            check.finish()?;
        }
        contents.rows.finish()?;
        Ok((contents.manifest, contents.root_key))
    }

    /// Reads it from the beginning, up to the rows.
    pub(super) fn contents(&self) -> Result<ArchiveContents<'_>, ArchiveError> {
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.header.len() as u64)).map_err(ArchiveError::Unreadable)?;
        let input = BufReader::new(file);
        let input = match &self.key {
            None => ArchiveInput::Plain(input),
            Some(key) => ArchiveInput::Sealed(SealReader::new(input, key.to_cipher(), self.header.clone())),
        };
        let mut rows = RowReader { input: BufReader::new(GzDecoder::new(BufReader::new(input))) };
        let mut line = Vec::new();
        rows.next_line(&mut line, MAX_MANIFEST_BYTES)?;
        let manifest: BackupManifest = serde_json::from_slice(&line)
            .map_err(|error| ArchiveError::Damaged(format!("its manifest is invalid: {error}")))?;
        let root_key = match manifest.has_root_key {
            true => {
                rows.next_line(&mut line, MAX_KEY_BYTES)?;
                Some(parse_key(&line, &manifest)?)
            }
            false => None,
        };
        Ok(ArchiveContents { manifest, root_key, rows })
    }
}

fn parse_header(line: &[u8]) -> Result<ArchiveHeader, ArchiveError> {
    let name: ArchiveFormat = serde_json::from_slice(line).map_err(|_| ArchiveError::NotBackup)?;
    if name.format != FORMAT_NAME {
        return Err(ArchiveError::NotBackup);
    }
    if name.version > FORMAT_VERSION {
        return Err(ArchiveError::NewerFormat(name.version));
    }
    serde_json::from_slice(line)
        .map_err(|error| ArchiveError::Damaged(format!("its header is invalid: {error}")))
}

/// The root key, which must be the one that the manifest describes.
fn parse_key(line: &[u8], manifest: &BackupManifest) -> Result<[u8; 32], ArchiveError> {
    let text = String::from_utf8_lossy(line);
    let key = secrets::parse_root_key(text.trim(), "the root key in the backup");
    let key = key.map_err(|error| ArchiveError::Damaged(error.to_string()))?;
    let check = hex::encode(secrets::root_key_check(&key));
    match manifest.root_key_check.as_ref().is_none_or(|expected| *expected == check) {
        true => Ok(key),
        false => Err(ArchiveError::Damaged("the root key inside is not that of its rows".to_owned())),
    }
}

/// What is in a backup.
pub(super) struct ArchiveContents<'a> {
    pub(super) manifest: BackupManifest,
    pub(super) root_key: Option<[u8; 32]>,
    pub(super) rows: RowReader<'a>,
}

/// What follows the header.
enum ArchiveInput<'a> {
    Plain(BufReader<&'a File>),
    Sealed(SealReader<BufReader<&'a File>>),
}

impl Read for ArchiveInput<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(bytes),
            Self::Sealed(input) => input.read(bytes),
        }
    }
}

/// Reads row by row.
pub(super) struct RowReader<'a> {
    input: BufReader<GzDecoder<BufReader<ArchiveInput<'a>>>>,
}

impl RowReader<'_> {
    /// Replaces `line` by the next row, with its line break.
    pub(super) fn next_row(&mut self, line: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.next_line(line, MAX_ROW_BYTES)
    }

    fn next_line(&mut self, line: &mut Vec<u8>, limit: usize) -> Result<(), ArchiveError> {
        line.clear();
        (&mut self.input).take(limit as u64 + 1).read_until(b'\n', line)?;
        if line.len() > limit {
            return Err(ArchiveError::Damaged(format!("a line is longer than {limit} bytes")));
        }
        if line.ends_with(b"\n") { Ok(()) } else { Err(ArchiveError::Truncated) }
    }

    /// Checks that nothing follows, and that the end is authentic.
    pub(super) fn finish(mut self) -> Result<(), ArchiveError> {
        let more = || ArchiveError::Damaged("something follows its end".to_owned());
        // Reading past the end also compares the checksum of the compressed data.
        if self.input.read(&mut [0])? > 0 {
            return Err(more());
        }
        if self.input.into_inner().into_inner().read(&mut [0])? > 0 { Err(more()) } else { Ok(()) }
    }
}
