//! Rows in the text format of COPY, and their digest.

use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};
use sqlx::{ColumnIndex, Decode, Row, Type};

use super::tables::{ColumnKind, CopiedColumn};

/// The digest of a table: the sum of the digests of its rows, so that their order does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TableDigest {
    rows: u64,
    sum: [u64; 4],
}

impl TableDigest {
    fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        let digest = Sha256::digest(row);
        for (sum, part) in self.sum.iter_mut().zip(digest.as_chunks::<8>().0) {
            *sum = sum.wrapping_add(u64::from_be_bytes(*part));
        }
    }

    pub(super) const fn rows(&self) -> u64 {
        self.rows
    }
}

impl fmt::Display for TableDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sum.iter().try_for_each(|part| write!(f, "{part:016x}"))
    }
}

/// Writes rows and digests them.
#[derive(Default)]
pub(super) struct RowWriter {
    text: Vec<u8>,
    digest: TableDigest,
    replaced: u64,
}

impl RowWriter {
    /// Adds a row of either database.
    pub(super) fn add_row<R: Row>(&mut self, row: &R, columns: &[CopiedColumn]) -> Result<(), sqlx::Error>
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
                    self.add_plain(flag.map(|flag| if flag { "t" } else { "f" }));
                }
            }
        }
        self.text.push(b'\n');
        self.digest.add(&self.text[start..]);
        Ok(())
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
                // A text in PostgreSQL cannot contain it.
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
    pub(super) fn waiting(&self) -> usize {
        self.text.len()
    }

    /// Takes what was written.
    pub(super) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text)
    }

    /// The digest of all rows, and how many characters were replaced.
    pub(super) fn end(self) -> (TableDigest, u64) {
        (self.digest, self.replaced)
    }
}
