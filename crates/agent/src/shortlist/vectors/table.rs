//! The safetensors file of a table: one matrix, a row for each token.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::VectorsError;

/// Longest header of the file, in bytes.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Most rows.
const MAX_ROWS: usize = 300_000;
/// Fewest and most numbers in a row.
const DIMENSIONS: std::ops::RangeInclusive<usize> = 16..=1024;
/// Tensor names that tools of this kind use.
const NAMES: [&str; 2] = ["embedding.weight", "embeddings"];

/// Rows of numbers.
#[derive(Debug)]
pub(in super::super) struct VectorTable {
    dimensions: usize,
    values: Vec<f32>,
}

#[derive(Deserialize)]
struct TensorHeader {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl VectorTable {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, VectorsError> {
        Self::parse_table(bytes).map_err(|problem| VectorsError::Table(problem.to_owned()))
    }

    fn parse_table(bytes: &[u8]) -> Result<Self, &'static str> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or("it is too short")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_HEADER_BYTES {
            return Err("its header is too long, so it is no safetensors file");
        }
        let (header, data) = rest.split_at_checked(length).ok_or("it ends in its header")?;
        let mut header: BTreeMap<String, Value> =
            serde_json::from_slice(header).map_err(|_| "its header is no JSON object")?;
        let tensor = NAMES.into_iter().find_map(|name| header.remove(name));
        let tensor = tensor.ok_or("it has no tensor `embedding.weight` or `embeddings`")?;
        let tensor: TensorHeader =
            serde_json::from_value(tensor).map_err(|_| "its tensor needs dtype, shape and data_offsets")?;
        let [rows, dimensions] = tensor.shape[..] else { return Err("its table must have two dimensions") };
        if !(1..=MAX_ROWS).contains(&rows) || !DIMENSIONS.contains(&dimensions) {
            return Err("its table must have 1 to 300,000 rows of 16 to 1,024 numbers");
        }
        let [start, end] = tensor.data_offsets;
        let data = data.get(start..end).ok_or("its data is shorter than the header says")?;
        let values: Vec<f32> = match tensor.dtype.as_str() {
            "F16" => {
                data.as_chunks::<2>().0.iter().map(|half| from_half(u16::from_le_bytes(*half))).collect()
            }
            "F32" => data.as_chunks::<4>().0.iter().map(|single| f32::from_le_bytes(*single)).collect(),
            _ => return Err("its numbers must be F16 or F32"),
        };
        let width = if tensor.dtype == "F16" { 2 } else { 4 };
        if data.len() != rows * dimensions * width {
            return Err("its data does not have the size of its shape");
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err("it holds numbers that are not finite");
        }
        Ok(Self { dimensions, values })
    }

    pub(super) fn row_count(&self) -> usize {
        self.values.len() / self.dimensions
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The row of a token. Empty if there is none.
    pub(super) fn row(&self, token: u32) -> &[f32] {
        let start = token as usize * self.dimensions;
        self.values.get(start..start + self.dimensions).unwrap_or_default()
    }
}

/// IEEE 754 binary16.
fn from_half(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let (exponent, fraction) = (u32::from(half >> 10) & 0x1f, u32::from(half) & 0x3ff);
    match exponent {
        // Zero and the numbers below the smallest normal one, in steps of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn table_file(dtype: &str, shape: [usize; 2], data: &[u8]) -> Vec<u8> {
        with_header(
            &format!(
                r#"{{"__metadata__":{{}},"embedding.weight":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[0,{}]}}}}"#,
                data.len()
            ),
            data,
        )
    }

    fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn halves_are_exact() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x7c00, f32::INFINITY),
        ];
        for (half, value) in cases {
            assert_eq!(from_half(half).to_bits(), f32::to_bits(value), "{half:#x}");
        }
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn a_good_table_has_rows() {
        let data: Vec<u8> = (0..32_u8).flat_map(|at| f32::from(at).to_le_bytes()).collect();
        let table = VectorTable::parse(&table_file("F32", [2, 16], &data)).unwrap();
        assert_eq!((table.row_count(), table.dimensions()), (2, 16));
        assert_eq!(table.row(1)[..2], [16.0, 17.0]);
        assert!(table.row(2).is_empty() && table.row(u32::MAX).is_empty());
    }

    #[test]
    fn invalid_tables_are_rejected_with_a_reason() {
        let nan: Vec<u8> = (0..16).flat_map(|_| 0x7e00_u16.to_le_bytes()).collect();
        let cases = [
            (vec![], "too short"),
            (vec![255; 20], "header is too long"),
            (with_header("{}", &[])[..9].to_vec(), "ends in its header"),
            (with_header("[]", &[]), "no JSON object"),
            (with_header("{}", &[]), "no tensor"),
            (with_header(r#"{"embeddings":1}"#, &[]), "needs dtype"),
            (
                with_header(r#"{"embeddings":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}"#, &[0; 8]),
                "two dim",
            ),
            (table_file("F16", [1, 8], &[0; 16]), "16 to 1,024"),
            (table_file("F16", [300_001, 16], &[]), "300,000"),
            (table_file("F16", [usize::MAX, 1024], &[]), "300,000"),
            (table_file("F16", [1, 16], &[0; 31]), "size of its shape"),
            (table_file("F16", [1, 16], &[0; 64]), "size of its shape"),
            (table_file("I8", [1, 16], &[0; 16]), "F16 or F32"),
            (table_file("F16", [1, 16], &nan), "not finite"),
            (
                with_header(
                    r#"{"embeddings":{"dtype":"F16","shape":[1,16],"data_offsets":[9,2]}}"#,
                    &[0; 32],
                ),
                "shorter",
            ),
        ];
        for (bytes, expected) in cases {
            let error = VectorTable::parse(&bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}: expected {expected}");
        }
    }
}
