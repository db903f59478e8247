//! Proof keys for codes (RFC 7636), with the method S256 only.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use toolyard_protocol::secret::SecretText;

/// The only method. `plain` would send the secret through the browser.
pub const CHALLENGE_METHOD: &str = "S256";
/// Shortest verifier, in characters.
pub const MIN_VERIFIER_CHARS: usize = 43;
/// Longest verifier, in characters.
pub const MAX_VERIFIER_CHARS: usize = 128;

/// A text that is not a challenge or a verifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PkceError {
    /// Not a SHA-256 in base64url.
    #[error("the code challenge is not a SHA-256 in base64url: 43 characters without padding")]
    Challenge,
    /// Not a verifier.
    #[error("the code verifier must have 43 to 128 of A-Z, a-z, 0-9, -, ., _ and ~")]
    Verifier,
}

/// The challenge of an authorization request: the SHA-256 of a verifier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CodeChallenge([u8; 32]);

/// The verifier of a token request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeVerifier(SecretText);

impl CodeChallenge {
    /// Reads a challenge.
    pub fn parse(text: &str) -> Result<Self, PkceError> {
        let mut hash = [0; 32];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut hash) {
            Ok(32) => Ok(Self(hash)),
            _ => Err(PkceError::Challenge),
        }
    }

    /// Whether a verifier belongs to this challenge. Takes the same time for each wrong verifier.
    pub fn verify(&self, verifier: &CodeVerifier) -> bool {
        let hash = Sha256::digest(verifier.0.expose().as_bytes());
        hash.as_slice().ct_eq(&self.0).into()
    }
}

impl CodeVerifier {
    /// Reads a verifier.
    pub fn parse(text: &str) -> Result<Self, PkceError> {
        let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let fits = (MIN_VERIFIER_CHARS..=MAX_VERIFIER_CHARS).contains(&text.len());
        if fits && text.bytes().all(is_unreserved) {
            Ok(Self(SecretText::new(text)))
        } else {
            Err(PkceError::Verifier)
        }
    }
}

impl TryFrom<String> for CodeChallenge {
    type Error = PkceError;

    fn try_from(text: String) -> Result<Self, PkceError> {
        Self::parse(&text)
    }
}

impl From<CodeChallenge> for String {
    fn from(challenge: CodeChallenge) -> Self {
        URL_SAFE_NO_PAD.encode(challenge.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_example_of_rfc_7636_verifies() {
        let challenge = CodeChallenge::parse(CHALLENGE).unwrap();
        let verifier = CodeVerifier::parse(VERIFIER).unwrap();
        assert!(challenge.verify(&verifier));
        assert!(!format!("{verifier:?}").contains(VERIFIER));
        assert_eq!(serde_json::to_string(&challenge).unwrap(), format!("\"{CHALLENGE}\""));
    }

    #[test]
    fn the_challenge_itself_is_not_a_verifier_of_it() {
        // A server that also knows `plain` could be made to accept this.
        let challenge = CodeChallenge::parse(CHALLENGE).unwrap();
        assert!(!challenge.verify(&CodeVerifier::parse(CHALLENGE).unwrap()));
    }

    #[test]
    fn lengths_and_characters_are_checked() {
        for bad in [
            "".to_owned(),
            "a".repeat(MIN_VERIFIER_CHARS - 1),
            "a".repeat(MAX_VERIFIER_CHARS + 1),
            format!("{}+", "a".repeat(43)),
            format!("{}ä", "a".repeat(43)),
        ] {
            assert_eq!(CodeVerifier::parse(&bad), Err(PkceError::Verifier), "{bad}");
        }
        assert!(CodeVerifier::parse(&"~".repeat(MAX_VERIFIER_CHARS)).is_ok());
        for bad in ["", VERIFIER.get(1..).unwrap(), &format!("{CHALLENGE}="), &format!("{CHALLENGE}A")] {
            assert_eq!(CodeChallenge::parse(bad), Err(PkceError::Challenge), "{bad}");
        }
    }
}
