//! Whether a file is a database of this store, without opening it.

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// The first bytes of every SQLite database.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Returns whether the file begins like a database of this store. A running server checks the store itself (`/readyz`).
pub fn is_database(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(MAGIC.len() as u64).read_to_end(&mut head)?;
    Ok(head == MAGIC)
}
