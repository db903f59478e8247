//! Checks the rows of a backup against what its manifest says about them.

use super::BackupTable;
use crate::copy::{
    field::{FieldValue, parse_row},
    row::TableDigest,
};

/// What is wrong with the rows of a backup.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// A row cannot be parsed.
    #[error("row {row} of table {table} is malformed: {reason}")]
    Malformed {
        /// The table.
        table: String,
        /// Which row, from 1.
        row: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The rows are not those that were written.
    #[error("the rows of table {table} are not those that were backed up: their digest differs")]
    Differs {
        /// The table.
        table: String,
    },
}

/// Checks the rows of one table.
pub struct TableCheck<'a> {
    table: &'a BackupTable,
    digest: TableDigest,
}

impl<'a> TableCheck<'a> {
    /// Begins to check a table.
    pub fn new(table: &'a BackupTable) -> Self {
        Self { table, digest: TableDigest::default() }
    }

    /// Checks a row, with its line break.
    pub fn add_row(&mut self, line: &[u8]) -> Result<(), RowError> {
        self.parse(line).map(drop)
    }

    /// The same, and returns its values.
    pub(super) fn parse(&mut self, line: &[u8]) -> Result<Vec<FieldValue>, RowError> {
        self.digest.add(line);
        let malformed =
            |reason| RowError::Malformed { table: self.table.name.clone(), row: self.digest.rows(), reason };
        let line = line.strip_suffix(b"\n").ok_or_else(|| malformed("it does not end"))?;
        let kinds = self.table.columns.iter().map(|column| column.kind.to_column());
        parse_row(line, kinds).map_err(malformed)
    }

    /// Checks that all rows were there.
    pub fn finish(self) -> Result<(), RowError> {
        let is_same = self.digest.rows() == self.table.rows && self.digest.to_string() == self.table.digest;
        if is_same { Ok(()) } else { Err(RowError::Differs { table: self.table.name.clone() }) }
    }
}
