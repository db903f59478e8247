//! The unique part of a shortened name: a hash of the full name, long enough to make collisions
//! infeasible.

use sha2::{Digest, Sha256};

/// Letters and digits of a hash: 68 bits.
pub const NAME_HASH_CHARS: usize = 14;
/// The first character. Always a digit, so that words (`list_notifications`) are not mistaken for a hash.
const FIRST: &[u8; 8] = b"23456789";
/// The other characters: base 32.
const OTHERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The hash of a name that consists of several parts. Parts are separated: `a`, `bc` differs from `ab`, `c`.
pub fn name_hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            hash.update([0]);
        }
        hash.update(part);
    }
    let digest = hash.finalize();
    // Enough bits for all characters, from the start of the digest.
    let mut bits = digest.iter().take(16).fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
    let mut text = String::with_capacity(NAME_HASH_CHARS);
    text.push(char::from(FIRST[(bits >> 125) as usize]));
    bits <<= 3;
    for _ in 1..NAME_HASH_CHARS {
        text.push(char::from(OTHERS[(bits >> 123) as usize]));
        bits <<= 5;
    }
    text
}

/// Whether a text ends in `_` and what looks like a hash. Only hashed names may.
pub fn ends_like_name_hash(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some((head, tail)) = bytes.len().checked_sub(NAME_HASH_CHARS).map(|at| bytes.split_at(at)) else {
        return false;
    };
    let [first, others @ ..] = tail else { return false };
    head.ends_with(b"_") && FIRST.contains(first) && others.iter().all(|byte| OTHERS.contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_its_form_and_depends_on_every_part() {
        let hash = name_hash(&["com.ex-app:pay"]);
        // The first 68 bits of SHA-256; names are stored, so they may never change.
        assert_eq!(hash, "83swfygyfpsklw");
        assert!(ends_like_name_hash(&format!("x_{hash}")));
        assert_ne!(name_hash(&["a", "bc"]), name_hash(&["ab", "c"]));
    }

    #[test]
    fn words_are_no_hash() {
        for name in [
            "list_notifications",
            "x_aaaaaaaaaaaaaa",
            "x_2AAAAAAAAAAAAA",
            "2aaaaaaaaaaaaa",
            "x_2aaaaaaaaaaaa1",
        ] {
            assert!(!ends_like_name_hash(name), "{name}");
        }
        assert!(ends_like_name_hash("x_2aaaaaaaaaaaaa"));
    }
}
