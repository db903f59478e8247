//! A row in text form, parsed back into its fields.

use super::tables::ColumnKind;

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldValue {
    Null,
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// Parses a line, without its line break, into one value for each column. Says what is wrong with the line otherwise.
pub(crate) fn parse_row(
    line: &[u8],
    kinds: impl Iterator<Item = ColumnKind>,
) -> Result<Vec<FieldValue>, &'static str> {
    let mut fields = line.split(|byte| *byte == b'\t');
    let values = kinds
        .map(|kind| parse_field(fields.next().ok_or("it has too few fields")?, kind))
        .collect::<Result<Vec<_>, _>>()?;
    if fields.next().is_some() { Err("it has too many fields") } else { Ok(values) }
}

fn parse_field(field: &[u8], kind: ColumnKind) -> Result<FieldValue, &'static str> {
    if field == b"\\N" {
        return Ok(FieldValue::Null);
    }
    match kind {
        ColumnKind::Integer | ColumnKind::Flag => {
            let number = str::from_utf8(field).ok().and_then(|text| text.parse().ok());
            number.map(FieldValue::Integer).ok_or("a field is not a number")
        }
        ColumnKind::Text => unescape_text(field).map(FieldValue::Text),
        ColumnKind::Bytes => {
            let digits = field.strip_prefix(b"\\\\x").ok_or("a field does not begin like bytes")?;
            parse_hex(digits).map(FieldValue::Bytes).ok_or("a field is not hexadecimal")
        }
    }
}

fn unescape_text(field: &[u8]) -> Result<String, &'static str> {
    let mut text = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        text.extend_from_slice(&rest[..at]);
        let (byte, length) = match &rest[at + 1..] {
            [b'\\', ..] => (b'\\', 2),
            [b'n', ..] => (b'\n', 2),
            [b'r', ..] => (b'\r', 2),
            [b't', ..] => (b'\t', 2),
            [b'x', b'0', b'0', ..] => (0, 4),
            _ => return Err("a field has an unknown escape sequence"),
        };
        text.push(byte);
        rest = &rest[at + length..];
    }
    text.extend_from_slice(rest);
    String::from_utf8(text).map_err(|_| "a field is not UTF-8")
}

fn parse_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    pairs.iter().map(|[high, low]| Some((digit(*high)? << 4) | digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [ColumnKind; 3] = [ColumnKind::Text, ColumnKind::Bytes, ColumnKind::Integer];

    #[test]
    fn fields_are_parsed() {
        let row = parse_row(b"a\\\\b\\t\\n\\r\\x00\xc3\xbc\t\\\\x00ff\t-7", KINDS.into_iter()).unwrap();
        let text = "a\\b\t\n\r\0ü".to_owned();
        assert_eq!(row, [FieldValue::Text(text), FieldValue::Bytes(vec![0, 255]), FieldValue::Integer(-7)]);
        let empty = parse_row(b"\t\\\\x\t\\N", KINDS.into_iter()).unwrap();
        assert_eq!(empty, [FieldValue::Text(String::new()), FieldValue::Bytes(vec![]), FieldValue::Null]);
    }

    #[test]
    fn malformed_rows_are_refused() {
        for (line, expected) in [
            (&b"a\t\\\\x"[..], "too few"),
            (b"a\t\\\\x\t1\t2", "too many"),
            (b"a\t\\\\x\tone", "not a number"),
            (b"a\t\\\\x\t99999999999999999999", "not a number"),
            (b"a\t00\t1", "begin like bytes"),
            (b"a\t\\\\x0\t1", "hexadecimal"),
            (b"a\t\\\\xgg\t1", "hexadecimal"),
            (b"a\\\t\\\\x\t1", "escape"),
            (b"a\\q\t\\\\x\t1", "escape"),
            (b"\xff\t\\\\x\t1", "UTF-8"),
        ] {
            let refused = parse_row(line, KINDS.into_iter()).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
