//! Rows in the text format of COPY, and their digest.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};
use sqlx::{ColumnIndex, Decode, Row, Type, postgres::PgRow, sqlite::SqliteRow};

use super::{
    field::FieldValue,
    tables::{ColumnKind, CopiedColumn},
};

/// The digest of a table: the sum of the digests of its rows, so that their order does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TableDigest {
    rows: u64,
    sum: [u64; 4],
}

impl TableDigest {
    /// Adds a row in text form, with its line break.
    pub(crate) fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        let digest = Sha256::digest(row);
        for (sum, part) in self.sum.iter_mut().zip(digest.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_be_bytes(*part));
        }
    }

    pub(crate) const fn rows(&self) -> u64 {
        self.rows
    }
}

impl fmt::Display for TableDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum.iter().try_for_each(|part| write!(f, "{part:016x}"))
    }
}

/// How U+0000 in a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZeroCharacters {
    /// As an escape sequence, so that nothing is lost.
    Escape,
    /// As U+FFFD: a text in PostgreSQL cannot contain it.
    Replace,
}

/// A row of either database.
pub(crate) trait CopiedRow {
    /// Adds the row to what is written.
    fn write_to(&self, writer: &mut RowWriter, columns: &[CopiedColumn]) -> Result<(), sqlx::Error>;
}

impl CopiedRow for SqliteRow {
    fn write_to(&self, writer: &mut RowWriter, columns: &[CopiedColumn]) -> Result<(), sqlx::Error> {
        writer.add_row(self, columns)
    }
}

impl CopiedRow for PgRow {
    fn write_to(&self, writer: &mut RowWriter, columns: &[CopiedColumn]) -> Result<(), sqlx::Error> {
        writer.add_row(self, columns)
    }
}

/// Writes rows and digests them.
pub(crate) struct RowWriter {
    text: Vec<u8>,
    digest: TableDigest,
    zero: ZeroCharacters,
    replaced: u64,
}

impl RowWriter {
    pub(crate) fn new(zero: ZeroCharacters) -> Self {
        Self { text: Vec::new(), digest: TableDigest::default(), zero, replaced: 0 }
    }

    fn add_row<R: Row>(&mut self, row: &R, columns: &[CopiedColumn]) -> Result<(), sqlx::Error>
    where
        usize: ColumnIndex<R>,
        for<'r> Option<&'r str>: Decode<'r, R::Database> + Type<R::Database>,
        for<'r> Option<&'r [u8]>: Decode<'r, R::Database> + Type<R::Database>,
        for<'r> Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
        for<'r> Option<bool>: Decode<'r, R::Database> + Type<R::Database>,
    {
        let start = self.text.len();
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                self.text.push(b'\t');
            }
            match column.kind {
                ColumnKind::Text => self.add_text(row.try_get(index)?),
                ColumnKind::Bytes => self.add_bytes(row.try_get(index)?),
                ColumnKind::Integer => self.add_number(row.try_get(index)?),
                ColumnKind::Flag => {
                    let flag: Option<bool> = row.try_get(index)?;
                    self.add_number(flag.map(i64::from));
                }
            }
        }
        self.end_row(start);
        Ok(())
    }

    /// Adds a row that was read from a backup.
    pub(crate) fn add_values(&mut self, values: &[FieldValue]) {
        let start = self.text.len();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.text.push(b'\t');
            }
            match value {
                FieldValue::Null => self.add_plain(None),
                FieldValue::Integer(number) => self.add_number(Some(*number)),
                FieldValue::Text(text) => self.add_text(Some(text)),
                FieldValue::Bytes(bytes) => self.add_bytes(Some(bytes)),
            }
        }
        self.end_row(start);
    }

    fn end_row(&mut self, start: usize) {
        self.text.push(b'\n');
        self.digest.add(&self.text[start..]);
    }

    fn add_plain(&mut self, value: Option<&str>) {
        self.text.extend_from_slice(value.unwrap_or("\\N").as_bytes());
    }

    fn add_number(&mut self, number: Option<i64>) {
        self.add_plain(number.map(|number| number.to_string()).as_deref());
    }

    fn add_text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.add_plain(None) };
        for byte in text.bytes() {
            match byte {
                b'\\' => self.text.extend_from_slice(b"\\\\"),
                b'\n' => self.text.extend_from_slice(b"\\n"),
                b'\r' => self.text.extend_from_slice(b"\\r"),
                b'\t' => self.text.extend_from_slice(b"\\t"),
                0 if self.zero == ZeroCharacters::Escape => self.text.extend_from_slice(b"\\x00"),
                0 => {
                    self.text.extend_from_slice("\u{fffd}".as_bytes());
                    self.replaced += 1;
                }
                byte => self.text.push(byte),
            }
        }
    }

    fn add_bytes(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else { return self.add_plain(None) };
        let mut hex = String::with_capacity(bytes.len() * 2 + 3);
        hex.push_str("\\\\x");
        for byte in bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        self.text.extend_from_slice(hex.as_bytes());
    }

    /// Bytes that were not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.text.len()
    }

    /// Takes what was written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// The digest of all rows, and how many characters were replaced.
    pub(crate) fn end(self) -> (TableDigest, u64) {
        (self.digest, self.replaced)
    }
}
