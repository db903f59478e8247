//! The form of refresh tokens: `tyr_` and base64url of grant id, generation and MAC.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};
use toolyard_protocol::secret::SecretText;
use zeroize::Zeroizing;

/// Longest refresh token that is read, in bytes. Ours have 74.
pub const MAX_REFRESH_TOKEN_BYTES: usize = 256;

const PREFIX: &str = "tyr_";
const ID_BYTES: usize = 16;
const BODY_BYTES: usize = ID_BYTES + 4;
const MAC_BYTES: usize = 32;

/// The id of a grant: a person's consent for one client. Random, and not a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GrantId([u8; ID_BYTES]);

impl GrantId {
    /// An id of 16 random bytes.
    pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for GrantId {
    type Error = hex::FromHexError;

    fn try_from(text: String) -> Result<Self, hex::FromHexError> {
        let mut bytes = [0; ID_BYTES];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl From<GrantId> for String {
    fn from(id: GrantId) -> Self {
        hex::encode(id.0)
    }
}

impl fmt::Display for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for GrantId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A refresh token whose MAC is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshToken {
    /// The grant.
    pub grant: GrantId,
    /// How often it was rotated.
    pub generation: u32,
}

/// The keys that sign refresh tokens, derived from the root key for this purpose alone.
pub struct RefreshKeys {
    current: Zeroizing<[u8; 32]>,
    /// The key of the old root key, during a rotation of root keys.
    previous: Option<Zeroizing<[u8; 32]>>,
}

impl RefreshKeys {
    /// New tokens are signed with the current key; tokens of the previous one are still accepted.
    pub fn new(current: [u8; 32], previous: Option<[u8; 32]>) -> Self {
        Self { current: Zeroizing::new(current), previous: previous.map(Zeroizing::new) }
    }

    /// The text of a token. The same token and key give the same text.
    pub fn write_token(&self, token: RefreshToken) -> SecretText {
        let body = body_of(token);
        let mac = token_mac(&self.current, &body);
        SecretText::new(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode([&body[..], &mac[..]].concat())))
    }

    /// Reads a token; `None` if this server did not issue it. All keys are tried, in the same time for each wrong token.
    pub fn read_token(&self, text: &str) -> Option<RefreshToken> {
        let encoded = text.strip_prefix(PREFIX)?;
        let mut bytes = [0; BODY_BYTES + MAC_BYTES];
        // Strict base64: unused bits must be zero, so a token has one spelling.
        if URL_SAFE_NO_PAD.decode_slice(encoded, &mut bytes).ok()? != bytes.len() {
            return None;
        }
        let (body, mac) = bytes.split_first_chunk::<BODY_BYTES>()?;
        let keys = std::iter::once(&self.current).chain(&self.previous);
        let is_ours = keys.fold(Choice::from(0), |found, key| found | token_mac(key, body).ct_eq(mac));
        let (id, generation) = body.split_first_chunk::<ID_BYTES>()?;
        let generation = u32::from_be_bytes(generation.try_into().ok()?);
        bool::from(is_ours).then_some(RefreshToken { grant: GrantId(*id), generation })
    }
}

impl fmt::Debug for RefreshKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefreshKeys").field("previous", &self.previous.is_some()).finish_non_exhaustive()
    }
}

fn body_of(token: RefreshToken) -> [u8; BODY_BYTES] {
    let mut body = [0; BODY_BYTES];
    let (id, generation) = body.split_at_mut(ID_BYTES);
    id.copy_from_slice(&token.grant.0);
    generation.copy_from_slice(&token.generation.to_be_bytes());
    body
}

fn token_mac(key: &[u8; 32], body: &[u8; BODY_BYTES]) -> [u8; MAC_BYTES] {
    #[expect(clippy::expect_used, reason = "HMAC is defined for keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes any key");
    mac.update(body);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(generation: u32) -> RefreshToken {
        RefreshToken { grant: GrantId::from_bytes([7; 16]), generation }
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let keys = RefreshKeys::new([1; 32], None);
        for generation in [0, 1, u32::MAX] {
            let text = keys.write_token(token(generation));
            assert!(text.expose().starts_with("tyr_") && text.expose().len() == 74);
            assert_eq!(keys.read_token(text.expose()), Some(token(generation)));
            assert_eq!(keys.write_token(token(generation)), text, "the same again, for the grace window");
        }
    }

    #[test]
    fn a_changed_token_is_refused() {
        let keys = RefreshKeys::new([1; 32], None);
        let text = keys.write_token(token(3)).expose().to_owned();
        // Each character changes, also the bits after the last byte.
        for place in PREFIX.len()..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            assert_eq!(keys.read_token(std::str::from_utf8(&changed).unwrap()), None, "{place}");
        }
        for bad in [
            "",
            "tyr_",
            &text[4..],
            &text[..text.len() - 1],
            &format!("{text}A"),
            &format!("{text}="),
            "tyr_ä",
        ] {
            assert_eq!(keys.read_token(bad), None, "{bad}");
        }
        assert_eq!(RefreshKeys::new([2; 32], None).read_token(&text), None);
    }

    #[test]
    fn tokens_survive_a_rotation_of_the_root_key() {
        let old = RefreshKeys::new([1; 32], None).write_token(token(3));
        let keys = RefreshKeys::new([2; 32], Some([1; 32]));
        assert_eq!(keys.read_token(old.expose()), Some(token(3)));
        assert_eq!(keys.read_token(keys.write_token(token(4)).expose()), Some(token(4)));
        assert_ne!(keys.write_token(token(3)), old, "new tokens use the new key");
    }

    #[test]
    fn keys_are_not_shown_and_ids_are_hex() {
        assert_eq!(format!("{:?}", RefreshKeys::new([42; 32], None)), "RefreshKeys { previous: false, .. }");
        let id = GrantId::from_bytes([0xab; 16]);
        let stored = serde_json::to_string(&id).unwrap();
        assert_eq!(stored, format!("\"{}\"", "ab".repeat(16)));
        assert_eq!(serde_json::from_str::<GrantId>(&stored).unwrap(), id);
        assert!(serde_json::from_str::<GrantId>("\"ab\"").is_err());
    }
}
