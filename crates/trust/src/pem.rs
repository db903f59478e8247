//! PEM, as far as keys need it: one block, by its label.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Longest text that is parsed: an RSA key of 8192 bits is well below it.
pub(crate) const MAX_PEM_BYTES: usize = 16 * 1024;
/// Characters per line.
const LINE: usize = 64;

pub(crate) fn encode_pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(LINE));
        pem.extend([line, "\n"]);
        rest = after;
    }
    pem + &format!("-----END {label}-----\n")
}

/// The first block with that label. Surrounding text is ignored, as the standard requires.
pub(crate) fn decode_pem(label: &str, text: &str) -> Option<Vec<u8>> {
    let text = &text[..text.floor_char_boundary(MAX_PEM_BYTES)];
    let (_, after) = text.split_once(&format!("-----BEGIN {label}-----"))?;
    let (inside, _) = after.split_once(&format!("-----END {label}-----"))?;
    let inside: String = inside.split_ascii_whitespace().collect();
    STANDARD.decode(inside).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_whatever_stands_around_it() {
        let der: Vec<u8> = (0..=255).collect();
        let pem = encode_pem("X", &der);
        assert!(pem.lines().all(|line| line.len() <= LINE));
        let around = format!("Owner: me\r\n{}more", pem.replace('\n', "\r\n"));
        assert_eq!(decode_pem("X", &around), Some(der));
        assert_eq!(
            (
                decode_pem("Y", &pem),
                decode_pem("X", &pem.replace("END", "")),
                decode_pem("X", "-----BEGIN X-----é-----END X-----")
            ),
            (None, None, None)
        );
        // The limit falls inside of a character.
        let split = format!("{}{pem}", "é".repeat(MAX_PEM_BYTES / 2 + 1).replacen('é', "e", 1));
        assert_eq!(decode_pem("X", &split), None);
        let far = format!("{}{pem}", " ".repeat(MAX_PEM_BYTES));
        assert_eq!(decode_pem("X", &far), None);
    }
}
