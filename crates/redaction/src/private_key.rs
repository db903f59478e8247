//! Private keys: PEM blocks of every kind, and PuTTY's files. Line breaks may be real ones or escapes (`\n`), as in JSON and in
//! environment files.

use std::ops::Range;

use crate::alphabet::{Alphabet, ScannedText};

/// Longest label of a PEM block.
const MAX_LABEL: usize = 64;
/// Fewest characters of base64 in a key. Documentation writes `...` instead.
const MIN_KEY: usize = 40;

/// A PEM block whose label says that it is a private key. One that is cut before its end is a secret as well.
pub(crate) fn find_pem_key(text: &mut ScannedText<'_>, start: usize, body: usize) -> Option<Range<usize>> {
    let rest = text.text.as_bytes().get(body..)?;
    let label = rest.iter().take(MAX_LABEL).position(|byte| *byte == b'-')?;
    let is_private = rest[..label].ends_with(b"PRIVATE KEY") || rest[..label].ends_with(b"PRIVATE KEY BLOCK");
    let dashes = rest.get(label..label + 5)? == b"-----";
    if !is_private || !dashes {
        return None;
    }
    let key = body + label + 5;
    let bytes = &text.text.as_bytes()[key..];
    let mut letters = 0;
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        if bytes[length..].starts_with(b"-----") {
            break;
        }
        if !is_key_byte(*byte) {
            break;
        }
        letters += usize::from(Alphabet::Base64.contains(*byte));
        length += 1;
    }
    if letters < MIN_KEY {
        return None;
    }
    let after = key + length;
    Some(start..end_of_block(text.text, after).unwrap_or_else(|| trim_end(text.text, key, after)))
}

/// The end of `-----END ... PRIVATE KEY-----`, if that is what follows.
fn end_of_block(text: &str, at: usize) -> Option<usize> {
    let footer = text.as_bytes().get(at..)?.strip_prefix(b"-----END ")?;
    let label = footer.iter().take(MAX_LABEL).position(|byte| *byte == b'-')?;
    let is_end = footer.get(label..label + 5)? == b"-----";
    is_end.then_some(at + 9 + label + 5)
}

/// Base64, line breaks, and headers such as `DEK-Info: AES-128-CBC,0A1B`.
fn is_key_byte(byte: u8) -> bool {
    Alphabet::Base64.contains(byte)
        || byte.is_ascii_whitespace()
        || matches!(byte, b'\\' | b'-' | b':' | b',' | b'.' | b'(' | b')' | b'@')
}

/// Without the white space and the beginnings of escapes at the end.
fn trim_end(text: &str, start: usize, end: usize) -> usize {
    let kept = text[start..end].trim_end_matches(|c: char| c.is_ascii_whitespace() || c == '\\');
    start + kept.len()
}

/// The lines after `Private-Lines: 8`, as many as it says.
pub(crate) fn find_putty_key(text: &mut ScannedText<'_>, _: usize, body: usize) -> Option<Range<usize>> {
    let digits = text.run_end(Alphabet::Digits, body);
    let lines: usize = text.text.get(body..digits)?.parse().ok()?;
    let start = after_line_break(text.text, digits)?;
    let mut end = start;
    for _ in 0..lines {
        let line = if end == start { start } else { after_line_break(text.text, end)? };
        end = text.run_end(Alphabet::Base64, line);
        if end == line {
            return None;
        }
    }
    (end - start >= MIN_KEY).then_some(start..end)
}

fn after_line_break(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    ["\r\n", "\n", "\\r\\n", "\\n"].iter().find_map(|line| rest.starts_with(line).then_some(at + line.len()))
}
