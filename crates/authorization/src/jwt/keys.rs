//! Published keys (JWK sets, RFC 7517): which may verify an assertion.

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Largest key set, in bytes.
pub const MAX_KEY_SET_BYTES: usize = 64 * 1024;
/// Most keys of a set.
pub const MAX_KEYS: usize = 32;
/// Members that only private and symmetric keys have.
const PRIVATE_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// Why a key set cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// Too large.
    #[error("the key set is larger than {MAX_KEY_SET_BYTES} bytes; publish only the keys that are in use")]
    TooLarge,
    /// Not a JWK set.
    #[error("the key set is not a JSON object with a list `keys`")]
    Malformed,
    /// Too many keys.
    #[error("the key set has more than {MAX_KEYS} keys; publish only the keys that are in use")]
    TooMany,
    /// A private or symmetric key was published.
    #[error("the key set has a private or symmetric key; replace that key, and publish the public part only")]
    Private,
    /// No key can verify an assertion.
    #[error("the key set has no key for RS256, PS256, ES256 or EdDSA signatures")]
    NoUsableKey,
}

/// The keys of a set that can verify assertions. Others are left out when it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawKeySet", into = "RawKeySet")]
pub struct KeySet {
    keys: Vec<Jwk>,
}

/// A set with raw keys: one that cannot be parsed must not make the others unusable.
#[derive(Serialize, Deserialize)]
struct RawKeySet {
    keys: Vec<Map<String, Value>>,
}

impl KeySet {
    /// Reads a fetched key set.
    pub fn parse(body: &[u8]) -> Result<Self, KeySetError> {
        if body.len() > MAX_KEY_SET_BYTES {
            return Err(KeySetError::TooLarge);
        }
        serde_json::from_slice::<RawKeySet>(body).map_err(|_| KeySetError::Malformed)?.try_into()
    }

    /// Reads a key set inside of another document, whose size was checked.
    pub(crate) fn from_json(value: Value) -> Result<Self, KeySetError> {
        serde_json::from_value::<RawKeySet>(value).map_err(|_| KeySetError::Malformed)?.try_into()
    }

    /// The keys for an assertion: those with its key id, or all if it names none.
    pub(crate) fn candidates(
        &self,
        key_id: Option<&str>,
        algorithm: Algorithm,
    ) -> impl Iterator<Item = DecodingKey> {
        let fits = move |key: &&Jwk| {
            let is_named = key_id.is_none() || key.common.key_id.as_deref() == key_id;
            is_named && can_verify(key, algorithm)
        };
        self.keys.iter().filter(fits).filter_map(|key| DecodingKey::from_jwk(key).ok())
    }
}

impl TryFrom<RawKeySet> for KeySet {
    type Error = KeySetError;

    fn try_from(raw: RawKeySet) -> Result<Self, KeySetError> {
        if raw.keys.len() > MAX_KEYS {
            return Err(KeySetError::TooMany);
        }
        if raw.keys.iter().any(|key| PRIVATE_MEMBERS.iter().any(|member| key.contains_key(*member))) {
            return Err(KeySetError::Private);
        }
        let keys = raw.keys.into_iter().filter_map(|key| serde_json::from_value(Value::Object(key)).ok());
        let keys: Vec<Jwk> = keys.filter(is_usable).collect();
        if keys.is_empty() { Err(KeySetError::NoUsableKey) } else { Ok(Self { keys }) }
    }
}

impl From<KeySet> for RawKeySet {
    fn from(set: KeySet) -> Self {
        let object = |key: &Jwk| match serde_json::to_value(key) {
            Ok(Value::Object(key)) => Some(key),
            _ => None,
        };
        Self { keys: set.keys.iter().filter_map(object).collect() }
    }
}

/// Whether a key is for signatures, and of a type that is accepted.
fn is_usable(key: &Jwk) -> bool {
    let common = &key.common;
    let for_signatures = common.public_key_use.as_ref().is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let for_verification =
        common.key_operations.as_ref().is_none_or(|operations| operations.contains(&KeyOperations::Verify));
    let algorithms = [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];
    for_signatures && for_verification && algorithms.into_iter().any(|algorithm| can_verify(key, algorithm))
}

/// Whether type, curve and declared algorithm of a key fit an algorithm.
fn can_verify(key: &Jwk, algorithm: Algorithm) -> bool {
    let is_declared = key.common.key_algorithm.is_none_or(|only| only == KeyAlgorithm::from(algorithm));
    let has_type = match &key.algorithm {
        AlgorithmParameters::RSA(_) => matches!(algorithm, Algorithm::RS256 | Algorithm::PS256),
        AlgorithmParameters::EllipticCurve(key) => {
            algorithm == Algorithm::ES256 && key.curve == EllipticCurve::P256
        }
        AlgorithmParameters::OctetKeyPair(key) => {
            algorithm == Algorithm::EdDSA && key.curve == EllipticCurve::Ed25519
        }
        _ => false,
    };
    is_declared && has_type
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ed_key(id: &str) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": id })
    }

    fn with(mut key: Value, name: &str, value: Value) -> Value {
        key[name] = value;
        key
    }

    fn parse(keys: &[Value]) -> Result<KeySet, KeySetError> {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes())
    }

    fn count(set: &KeySet, id: Option<&str>, algorithm: Algorithm) -> usize {
        set.candidates(id, algorithm).count()
    }

    #[test]
    fn keys_are_chosen_by_id_and_algorithm() {
        let set = parse(&[ed_key("a"), ed_key("b"), with(ed_key("c"), "alg", json!("EdDSA"))]).unwrap();
        assert_eq!(count(&set, None, Algorithm::EdDSA), 3);
        assert_eq!(count(&set, Some("b"), Algorithm::EdDSA), 1);
        assert_eq!(count(&set, Some("z"), Algorithm::EdDSA), 0);
        assert_eq!(count(&set, Some("a"), Algorithm::ES256), 0);
    }

    #[test]
    fn keys_for_other_purposes_are_left_out() {
        let others = [
            with(ed_key("a"), "use", json!("enc")),
            with(ed_key("a"), "key_ops", json!(["encrypt"])),
            with(ed_key("a"), "alg", json!("RS256")),
            with(ed_key("a"), "alg", json!("HS256")),
            with(ed_key("a"), "crv", json!("X25519")),
            with(ed_key("a"), "kty", json!("XYZ")),
            json!({}),
        ];
        for other in others {
            assert_eq!(parse(std::slice::from_ref(&other)), Err(KeySetError::NoUsableKey), "{other}");
            let set = parse(&[other, ed_key("good")]).unwrap();
            assert_eq!(count(&set, None, Algorithm::EdDSA), 1);
        }
        for good in [with(ed_key("a"), "use", json!("sig")), with(ed_key("a"), "key_ops", json!(["verify"]))]
        {
            assert!(parse(&[good]).is_ok());
        }
    }

    #[test]
    fn private_keys_and_large_sets_are_refused() {
        for member in PRIVATE_MEMBERS {
            let keys = [ed_key("a"), with(ed_key("b"), member, json!("x"))];
            assert_eq!(parse(&keys), Err(KeySetError::Private), "{member}");
        }
        assert!(parse(&vec![ed_key("a"); MAX_KEYS]).is_ok());
        assert_eq!(parse(&vec![ed_key("a"); MAX_KEYS + 1]), Err(KeySetError::TooMany));
        let large = format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(MAX_KEY_SET_BYTES));
        assert_eq!(KeySet::parse(large.as_bytes()), Err(KeySetError::TooLarge));
        for bad in ["", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":["a"]}"#] {
            assert_eq!(KeySet::parse(bad.as_bytes()), Err(KeySetError::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_stored_set_is_the_same_set() {
        let set = parse(&[with(ed_key("a"), "use", json!("sig")), ed_key("b")]).unwrap();
        let stored = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<KeySet>(&stored).unwrap(), set);
    }
}
