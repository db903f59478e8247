//! Restores a backup into an empty store.

use std::path::PathBuf;

use toolyard_store::{LoadError, LoadedTable, SchemaVersion, StoreLoad, check_empty_store};

use super::{ArchiveError, BackupArchive, BackupManifest};
use crate::{
    config::Config,
    parts,
    secrets::{self, RootKeyError},
    serve::ServerDependencies,
};

/// Why a backup was not restored. The store is unchanged, except that it may have empty tables.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The backup cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// It is from a newer version.
    #[error("it was made by Toolyard {0}, whose tables this version ({version}) does not know: restore it with {0} or later",
        version = env!("CARGO_PKG_VERSION"))]
    NewerTables(String),
    /// It is from an older version.
    #[error("it was made by Toolyard {0}, whose tables differ from those of this version ({version}): restore it with {0}, then upgrade",
        version = env!("CARGO_PKG_VERSION"))]
    OlderTables(String),
    /// There is a root key, and it is another one.
    #[error("{0} is not the root key of the backup")]
    OtherRootKey(String),
    /// The root key cannot be read or written.
    #[error(transparent)]
    RootKey(#[from] RootKeyError),
    /// The store was not written.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreMode {
    /// Only checks the backup, the root key and that the store is empty.
    DryRun,
    /// Restores.
    Write,
}

/// What became of the root key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoredKey {
    /// The configured key is that of the backup.
    Present,
    /// It was in the backup and is now in this file, or would be after a dry run.
    Written(PathBuf),
    /// There is none, and none is in the backup: it must be put into this file before the server starts.
    Missing(PathBuf),
}

/// What was restored.
#[derive(Debug)]
pub struct RestoreReport {
    /// What the backup contains.
    pub manifest: BackupManifest,
    /// The loaded tables. None after a dry run.
    pub tables: Vec<LoadedTable>,
    /// What became of the root key.
    pub root_key: RestoredKey,
}

/// Restores a backup into the configured store, which must be empty. The whole backup is verified before anything is written.
/// `loaded` is called for each table.
pub async fn restore_backup(
    config: &Config,
    deps: &ServerDependencies,
    archive: &BackupArchive,
    mode: RestoreMode,
    mut loaded: impl FnMut(&LoadedTable),
) -> Result<RestoreReport, RestoreError> {
    let (manifest, key_inside) = archive.verify_contents()?;
    check_schema(&manifest)?;
    let root_key = plan_root_key(config, deps, &manifest, key_inside.is_some())?;
    let settings = parts::store_settings(config);
    check_empty_store(&settings).await?;
    if mode == RestoreMode::DryRun {
        return Ok(RestoreReport { manifest, tables: Vec::new(), root_key });
    }
    let mut load = StoreLoad::begin(&settings, &manifest.tables).await?;
    let mut contents = archive.contents()?;
    if contents.manifest != manifest {
        return Err(ArchiveError::Damaged("it changed while it was read".to_owned()).into());
    }
    let mut tables = Vec::new();
    for table in &manifest.tables {
        let next_row = |line: &mut Vec<u8>| contents.rows.next_row(line).map_err(RestoreError::Archive);
        let done = load.load_table(table, next_row).await?;
        loaded(&done);
        tables.push(done);
    }
    contents.rows.finish()?;
    // Before the commit: a store without its key is of little use, and a key without a store does no harm.
    if let (RestoredKey::Written(file), Some(key)) = (&root_key, contents.root_key) {
        secrets::create_key_file(file, &hex::encode(key))?;
    }
    let committed = load.commit().await;
    if let (Err(_), RestoredKey::Written(file)) = (&committed, &root_key) {
        let _ = std::fs::remove_file(file);
    }
    committed?;
    Ok(RestoreReport { manifest, tables, root_key })
}

fn check_schema(manifest: &BackupManifest) -> Result<(), RestoreError> {
    let version = || manifest.product_version.clone();
    if manifest.schema.is_newer_than(&SchemaVersion::current()) {
        return Err(RestoreError::NewerTables(version()));
    }
    if manifest.fits_this_version() { Ok(()) } else { Err(RestoreError::OlderTables(version())) }
}

/// Decides what becomes of the root key.
fn plan_root_key(
    config: &Config,
    deps: &ServerDependencies,
    manifest: &BackupManifest,
    is_inside: bool,
) -> Result<RestoredKey, RestoreError> {
    let keys = match parts::root_keys(config, deps, true) {
        Ok(keys) => keys,
        Err(RootKeyError::Missing { .. }) => {
            let file = parts::root_key_file(config);
            return Ok(if is_inside { RestoredKey::Written(file) } else { RestoredKey::Missing(file) });
        }
        Err(error) => return Err(error.into()),
    };
    let fits = manifest
        .root_key_check
        .as_ref()
        .is_none_or(|expected| keys.key_checks().iter().any(|check| hex::encode(check) == *expected));
    if fits {
        Ok(RestoredKey::Present)
    } else {
        Err(RestoreError::OtherRootKey(parts::shown_root_key(config)))
    }
}
