//! The folder name for one user's files.

use sha2::{Digest as _, Sha256};
use toolyard_protocol::UserId;

/// Longest user id that is used unchanged.
const MAX_PLAIN: usize = 64;

/// A unique name, also on file systems that ignore case. Plain user ids, such as email addresses, stay recognizable.
pub(super) fn user_folder(user: &UserId) -> String {
    let id = user.as_str();
    let plain =
        |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'@' | b'.' | b'_' | b'-');
    if !id.is_empty() && id.len() <= MAX_PLAIN && !id.starts_with('.') && id.bytes().all(plain) {
        return id.to_owned();
    }
    // No plain name begins like this.
    format!("~{}", hex::encode(Sha256::digest(id.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_user_has_a_folder_of_their_own() {
        let folder = |id: &str| user_folder(&id.parse().unwrap());
        assert_eq!(folder("ada@example.com"), "ada@example.com");
        let mut seen = std::collections::BTreeSet::new();
        for id in ["ada", "ada/..", "..", ".ada", "a/b", "a\\b", "ä", &"a".repeat(65)] {
            if let Ok(user) = id.parse::<UserId>() {
                let name = user_folder(&user);
                assert!(!name.contains(['/', '\\']) && !name.starts_with('.') && name.len() <= 65, "{name}");
                assert!(seen.insert(name.to_lowercase()), "{id}");
            }
        }
    }
}
