//! What a backup contains, for people and programs.

use std::path::{Path, PathBuf};

use serde::Serialize;
use toolyard_server::backup::{BackupManifest, StoreKind};

/// The facts about a backup.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BackupSummary {
    file: PathBuf,
    bytes: u64,
    encrypted: bool,
    product_version: String,
    created_at: String,
    /// `sqlite` or `postgres`.
    store: StoreKind,
    root_key: bool,
    /// Whether this version can restore it.
    fits_this_version: bool,
    rows: u64,
    tables: Vec<TableSummary>,
}

#[derive(Serialize)]
struct TableSummary {
    name: String,
    rows: u64,
    digest: String,
}

impl BackupSummary {
    pub(super) fn new(file: &Path, encrypted: bool, manifest: BackupManifest) -> Self {
        Self {
            file: file.to_owned(),
            bytes: std::fs::metadata(file).map_or(0, |file| file.len()),
            encrypted,
            created_at: manifest.created_at.to_string(),
            store: manifest.store,
            root_key: manifest.has_root_key,
            fits_this_version: manifest.fits_this_version(),
            rows: manifest.rows(),
            product_version: manifest.product_version,
            tables: manifest
                .tables
                .into_iter()
                .map(|table| TableSummary { name: table.name, rows: table.rows, digest: table.digest })
                .collect(),
        }
    }

    /// The facts as a sentence.
    pub(super) fn describe(&self) -> String {
        let Self { rows, bytes, product_version, created_at, .. } = self;
        let encrypted = if self.encrypted { "encrypted" } else { "not encrypted" };
        let key = if self.root_key { "with the root key" } else { "without the root key" };
        format!(
            "{rows} rows, {bytes} bytes, {encrypted}, {key}, made by Toolyard {product_version} at {created_at}"
        )
    }

    /// Name and number of rows of each table that has rows.
    pub(super) fn filled_tables(&self) -> impl Iterator<Item = [String; 2]> {
        let filled = self.tables.iter().filter(|table| table.rows > 0);
        filled.map(|table| [table.name.clone(), table.rows.to_string()])
    }

    pub(super) fn shown_file(&self) -> String {
        self.file.display().to_string()
    }

    pub(super) fn product_version(&self) -> &str {
        &self.product_version
    }

    pub(super) fn is_restorable(&self) -> bool {
        self.fits_this_version
    }
}
