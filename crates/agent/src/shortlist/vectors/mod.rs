//! Meaning beyond words: a static table of vectors, one for each token, and its tokenizer.
//!
//! The files are those of `wordllama` (MIT): a safetensors table and a Hugging Face tokenizer. A word's vector is the
//! sum of its tokens' rows, and texts with the same meaning have a similar direction. The files are given by path or as
//! readers, checked, and never downloaded. The vectors of tools are stored as 8-bit integers: a quarter of the memory,
//! and integer products use vector instructions in any build.

mod table;
mod tokens;

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};

pub(super) use table::VectorTable;
pub(super) use tokens::WordTokenizer;

/// Largest table, in bytes.
pub const MAX_TABLE_BYTES: u64 = 256 * 1024 * 1024;
/// Largest tokenizer file, in bytes.
pub const MAX_TOKENIZER_BYTES: u64 = 32 * 1024 * 1024;
/// The table's file name in the directory.
pub const TABLE_FILE: &str = "model.safetensors";
/// The tokenizer's file name in the directory.
pub const TOKENIZER_FILE: &str = "tokenizer.json";

/// Why word vectors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VectorsError {
    /// A file could not be read.
    #[error("cannot read {0}: {1}")]
    Io(&'static str, #[source] io::Error),
    /// A file is too large.
    #[error("{0} is larger than {1} bytes")]
    TooLarge(&'static str, u64),
    /// The table is not supported.
    #[error("{TABLE_FILE} cannot be used: {0}")]
    Table(String),
    /// The tokenizer is not supported.
    #[error("{TOKENIZER_FILE} cannot be used: {0}")]
    Tokenizer(String),
}

/// A table of vectors and its tokenizer. Large, so share it.
#[derive(Debug)]
pub struct WordVectors {
    table: VectorTable,
    tokens: WordTokenizer,
}

impl WordVectors {
    /// Reads [`TABLE_FILE`] and [`TOKENIZER_FILE`] from a directory. Blocks for some tenths of a second.
    pub fn open(directory: &Path) -> Result<Self, VectorsError> {
        let file = |name: &'static str| {
            File::open(directory.join(name))
                .map(BufReader::new)
                .map_err(|error| VectorsError::Io(name, error))
        };
        Self::from_readers(file(TABLE_FILE)?, file(TOKENIZER_FILE)?)
    }

    /// Reads a table and a tokenizer, and checks that they match.
    pub fn from_readers(table: impl Read, tokenizer: impl Read) -> Result<Self, VectorsError> {
        let table = VectorTable::parse(&read_bounded(table, TABLE_FILE, MAX_TABLE_BYTES)?)?;
        let tokens = WordTokenizer::parse(&read_bounded(tokenizer, TOKENIZER_FILE, MAX_TOKENIZER_BYTES)?)?;
        if tokens.highest_token() as usize >= table.row_count() {
            let text =
                format!("it has token {}, the table only {} rows", tokens.highest_token(), table.row_count());
            return Err(VectorsError::Tokenizer(text));
        }
        Ok(Self { table, tokens })
    }

    /// Numbers in one vector.
    pub fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// The tokens of one word, which must be lower case and short.
    pub fn word_tokens(&self, word: &str) -> Vec<u32> {
        self.tokens.tokenize_word(word)
    }

    /// Adds the vectors of tokens to a sum.
    pub(super) fn add_tokens(&self, tokens: &[u32], weight: f32, sum: &mut [f32]) {
        for &token in tokens {
            for (sum, value) in sum.iter_mut().zip(self.table.row(token)) {
                *sum += weight * value;
            }
        }
    }

    /// The normalised sum of the vectors of some words. Zeros if there are no words.
    pub fn embed<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions()];
        for word in words {
            self.add_tokens(&self.word_tokens(word), 1.0, &mut sum);
        }
        normalise_vector(&mut sum);
        sum
    }
}

fn read_bounded(reader: impl Read, name: &'static str, limit: u64) -> Result<Vec<u8>, VectorsError> {
    let mut bytes = Vec::new();
    reader.take(limit + 1).read_to_end(&mut bytes).map_err(|error| VectorsError::Io(name, error))?;
    if bytes.len() as u64 > limit { Err(VectorsError::TooLarge(name, limit)) } else { Ok(bytes) }
}

/// Scales a vector to length 1, unless it is zero.
pub(super) fn normalise_vector(vector: &mut [f32]) {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
}

/// Vectors of length 1, stored as 8-bit integers with a scale each.
#[derive(Debug, Default)]
pub(super) struct QuantisedVectors {
    dimensions: usize,
    values: Vec<i8>,
    scales: Vec<f32>,
}

impl QuantisedVectors {
    pub(super) fn new(dimensions: usize) -> Self {
        Self { dimensions, ..Self::default() }
    }

    /// Adds a vector, scaled to length 1.
    pub(super) fn push(&mut self, vector: &mut [f32]) {
        normalise_vector(vector);
        let (values, scale) = quantise_vector(vector);
        self.values.extend(values);
        self.scales.push(scale);
    }

    /// The cosine of each with a vector of length 1.
    pub(super) fn cosines(&self, vector: &[f32]) -> Vec<f32> {
        if self.dimensions == 0 {
            return Vec::new();
        }
        let (query, query_scale) = quantise_vector(vector);
        let query: Vec<i8> = query.collect();
        let dot =
            |row: &[i8]| row.iter().zip(&query).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
        let rows = self.values.chunks_exact(self.dimensions).zip(&self.scales);
        rows.map(|(row, scale)| dot(row) as f32 * scale * query_scale).collect()
    }

    /// Memory in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.values.len() + self.scales.len() * 4
    }
}

/// A vector as 8-bit integers, and its scale.
fn quantise_vector(vector: &[f32]) -> (impl Iterator<Item = i8>, f32) {
    let largest = vector.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest / 127.0 } else { 1.0 };
    (vector.iter().map(move |value| (value / scale).round() as i8), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_keep_the_angle() {
        let vector = |seed: u32| {
            let mixed = |at: u32| (at + seed * 1_000).wrapping_mul(2_654_435_761) % 1_000;
            let value = |at| mixed(at) as f32 / 500.0 - 1.0;
            (0..256).map(value).collect::<Vec<_>>()
        };
        let mut directions = QuantisedVectors::new(256);
        let (mut a, mut b) = (vector(1), vector(2));
        directions.push(&mut a);
        directions.push(&mut b);
        directions.push(&mut vec![0.0; 256]);
        let exact: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let [same, other, nothing] = directions.cosines(&a)[..] else { panic!("three") };
        assert!((same - 1.0).abs() < 0.01 && (other - exact).abs() < 0.01, "{same} {other} {exact}");
        assert_eq!(nothing, 0.0);
        assert!(QuantisedVectors::default().cosines(&[]).is_empty());
    }

    #[test]
    fn files_are_read_up_to_a_bound() {
        let error = read_bounded(io::repeat(0), TOKENIZER_FILE, 10).unwrap_err();
        assert_eq!(error.to_string(), "tokenizer.json is larger than 10 bytes");
        assert_eq!(read_bounded(&[1_u8; 10][..], TOKENIZER_FILE, 10).unwrap().len(), 10);
        let error = WordVectors::open(Path::new("/nowhere")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read model.safetensors"), "{error}");
    }

    #[test]
    fn the_files_must_go_together() {
        let table = table::tests::table_file("F32", [2, 16], &[0; 128]);
        let tokenizer = tokens::tests::tokenizer_file();
        let error = WordVectors::from_readers(&table[..], &tokenizer[..]).unwrap_err();
        assert!(error.to_string().contains("the table only 2 rows"), "{error}");
        let table = table::tests::table_file("F16", [300, 16], &[0; 300 * 32]);
        let vectors = WordVectors::from_readers(&table[..], &tokenizer[..]).unwrap();
        assert_eq!(vectors.embed(["ab"]), vec![0.0; vectors.dimensions()]);
    }
}
