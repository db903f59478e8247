//! Unguessable texts: the state of a flow, and the proof key for its code (RFC 7636).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};
use toolyard_protocol::secret::SecretText;

/// 43 characters in base64, the shortest verifier that RFC 7636 allows.
const RANDOM_BYTES: usize = 32;

/// A verifier, and the challenge that proves its knowledge. Always with the method S256.
#[derive(Debug)]
pub(super) struct PkcePair {
    pub(super) verifier: SecretText,
    pub(super) challenge: String,
}

impl PkcePair {
    pub(super) fn generate(random: &dyn Fn(&mut [u8])) -> Self {
        Self::from_verifier(random_text(random))
    }

    fn from_verifier(verifier: String) -> Self {
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Self { verifier: SecretText::new(verifier), challenge }
    }
}

/// A random text that fits into a URL.
pub(super) fn random_text(random: &dyn Fn(&mut [u8])) -> String {
    let mut bytes = [0; RANDOM_BYTES];
    random(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_example_in_rfc_7636() {
        let pair = PkcePair::from_verifier("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(pair.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(!format!("{pair:?}").contains("dBjftJeZ4CVP"));
    }

    #[test]
    fn texts_are_as_long_as_a_verifier_must_be() {
        let text = random_text(&|bytes| bytes.fill(0xff));
        assert_eq!((text.len(), text.trim_end_matches(['_', '8'])), (43, ""));
    }
}
