//! Signed assertions of others: client assertions and identity assertions.
//!
//! The token says which algorithm and key were used, and the token is what is in doubt. So the algorithm must be on a
//! list of asymmetric ones, the key is one that was published, and keys or addresses inside of the header are ignored.

pub(crate) mod keys;
pub(crate) mod times;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, Validation};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

pub use keys::{KeySet, KeySetError, MAX_KEY_SET_BYTES, MAX_KEYS};
pub use times::{CLOCK_LEEWAY_S, MAX_ASSERTION_LIFETIME_S, NumericDate};

/// Largest assertion, in bytes.
pub const MAX_ASSERTION_BYTES: usize = 16 * 1024;
/// Longest `jti`, in bytes. It is stored until the assertion expires.
pub const MAX_JTI_BYTES: usize = 256;
/// The algorithms that are accepted, as they are announced. Asymmetric only: with `HS256`, a published key would be the
/// secret.
pub const SIGNING_ALGORITHMS: [&str; 4] = ["RS256", "PS256", "ES256", "EdDSA"];

/// Why an assertion is not accepted. The messages are for the developer of the client and repeat nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AssertionError {
    /// Too large.
    #[error(
        "the assertion is larger than {MAX_ASSERTION_BYTES} bytes; leave out certificates and unneeded claims"
    )]
    TooLarge,
    /// Not a signed JWT.
    #[error("the assertion is not a signed JWT in compact form")]
    Malformed,
    /// An algorithm that is not on the list, such as `none` or `HS256`.
    #[error(
        "the assertion is signed with an algorithm that is not accepted; use RS256, PS256, ES256 or EdDSA"
    )]
    Algorithm,
    /// The header demands an extension.
    #[error("the assertion has a critical header that is not supported; leave out `crit`")]
    CriticalHeader,
    /// A token for another purpose.
    #[error("the assertion has the wrong `typ`; it was issued for another purpose")]
    TokenType,
    /// No published key fits.
    #[error("no published key fits the assertion; check its `kid`, and the `use` and `alg` of the key")]
    UnknownKey,
    /// The signature is wrong.
    #[error("the signature of the assertion does not verify with the published key")]
    Signature,
    /// A claim has the wrong type or is there twice.
    #[error("the claims of the assertion cannot be read; check their types")]
    Claims,
    /// A required claim is missing, empty or too long.
    #[error("the claim `{0}` of the assertion is missing, empty or too long")]
    Claim(&'static str),
    /// Expired.
    #[error("the assertion has expired; create a new one for each request")]
    Expired,
    /// Not valid yet.
    #[error("the assertion is not valid yet; check the clock of its issuer")]
    NotYetValid,
    /// Valid for too long.
    #[error("the assertion is valid for more than {MAX_ASSERTION_LIFETIME_S} seconds; shorten its lifetime")]
    LifetimeTooLong,
    /// Another issuer.
    #[error("the claim `iss` of the assertion is not the expected issuer")]
    Issuer,
    /// Another subject.
    #[error("the claim `sub` of the assertion is not the client id")]
    Subject,
    /// For another server.
    #[error(
        "the claim `aud` of the assertion does not name this server alone; use the issuer of its metadata"
    )]
    Audience,
    /// For another client.
    #[error("the claim `client_id` of the assertion is not the client that sent it")]
    Client,
    /// For another resource.
    #[error("the claim `resource` of the assertion is missing or names a resource of another server")]
    Resource,
}

/// A claim that is a text or a list of texts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// One text.
    One(String),
    /// A list.
    Many(Vec<String>),
}

impl OneOrMany {
    /// Whether there is at least one, and all of them are accepted. An assertion that also names another server could be
    /// passed on by that one.
    pub(crate) fn all(&self, is_accepted: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::One(text) => is_accepted(text),
            Self::Many(texts) => !texts.is_empty() && texts.iter().all(|text| is_accepted(text)),
        }
    }
}

/// The parts of a header that matter. `jwk`, `jku`, `x5u` and `x5c` are ignored on purpose.
#[derive(Debug, Deserialize)]
struct AssertionHeader {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    crit: Option<Value>,
}

/// Verifies the signature of an assertion and reads its claims. The claims themselves are not checked.
pub(crate) fn verify_signature<T: DeserializeOwned>(
    assertion: &str,
    keys: &KeySet,
    is_type: impl Fn(Option<&str>) -> bool,
) -> Result<T, AssertionError> {
    let header: AssertionHeader = decode_part(assertion, 0)?;
    let algorithm = parse_algorithm(&header.alg).ok_or(AssertionError::Algorithm)?;
    if header.crit.is_some() {
        return Err(AssertionError::CriticalHeader);
    }
    if !is_type(header.typ.as_deref()) {
        return Err(AssertionError::TokenType);
    }
    // Types before signatures: what cannot be read is refused with a reason that a developer can act on.
    decode_part::<T>(assertion, 1).map_err(|_| AssertionError::Claims)?;
    let mut rules = Validation::new(algorithm);
    rules.required_spec_claims.clear();
    rules.validate_exp = false;
    rules.validate_aud = false;
    let mut candidates = keys.candidates(header.kid.as_deref(), algorithm).peekable();
    if candidates.peek().is_none() {
        return Err(AssertionError::UnknownKey);
    }
    let verified = candidates.find_map(|key| jsonwebtoken::decode::<T>(assertion, &key, &rules).ok());
    verified.map(|token| token.claims).ok_or(AssertionError::Signature)
}

/// Reads claims without verifying anything. Only to find the record with which the assertion is then verified.
pub(crate) fn peek_claims<T: DeserializeOwned>(assertion: &str) -> Result<T, AssertionError> {
    decode_part(assertion, 1)
}

/// Decodes the header (0) or the claims (1).
fn decode_part<T: DeserializeOwned>(assertion: &str, part: usize) -> Result<T, AssertionError> {
    if assertion.len() > MAX_ASSERTION_BYTES {
        return Err(AssertionError::TooLarge);
    }
    let mut parts = assertion.split('.');
    let (text, count) = (parts.clone().nth(part), parts.by_ref().count());
    let text = text.filter(|_| count == 3).ok_or(AssertionError::Malformed)?;
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| AssertionError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| AssertionError::Malformed)
}

fn parse_algorithm(name: &str) -> Option<Algorithm> {
    match name {
        "RS256" => Some(Algorithm::RS256),
        "PS256" => Some(Algorithm::PS256),
        "ES256" => Some(Algorithm::ES256),
        "EdDSA" => Some(Algorithm::EdDSA),
        _ => None,
    }
}

/// A text claim that must be there.
pub(crate) fn required_claim<'a>(
    claim: Option<&'a str>,
    name: &'static str,
    max: usize,
) -> Result<&'a str, AssertionError> {
    claim.filter(|text| (1..=max).contains(&text.len())).ok_or(AssertionError::Claim(name))
}

#[cfg(test)]
mod tests;
