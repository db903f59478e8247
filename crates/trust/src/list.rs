//! Lists of the curators: signed by a root key, numbered, each with its own document type.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use toolyard_protocol::{Problem, plugin::strict, raw::RawFields};

use crate::{
    key::{PublicKey, SecretKey},
    sign::{SignError, attach_signature, covered_bytes},
};

/// Largest list.
pub const MAX_LIST_BYTES: usize = 4 * 1024 * 1024;

/// Why a list was rejected. The previous one stays in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// Too large to parse.
    #[error("the list has {0} bytes; at most {MAX_LIST_BYTES}")]
    TooLarge(usize),
    /// Not a document of that kind.
    #[error("not a {kind}: {problem}")]
    Malformed {
        /// What was expected.
        kind: &'static str,
        /// The problem.
        problem: Problem,
    },
    /// Signed by a key that is neither the pinned root nor one that it handed over to.
    #[error(
        "the list is signed by {0}, which is not the pinned root key; read the key list first, it may carry a new root"
    )]
    OtherRoot(String),
    /// Modified after it was signed.
    #[error("the signature is invalid: the list was modified after it was signed")]
    Modified,
    /// Older than a list that was accepted before.
    #[error("list number {number} is older than number {seen}, which was accepted before")]
    Replayed {
        /// The number of the list.
        number: u64,
        /// The highest number so far.
        seen: u64,
    },
    /// Expired.
    #[error("the list expired at {0}; fetch a new one")]
    Expired(Timestamp),
}

/// A signed document. Each kind has its own `type`, so that a signature over one is never valid for another.
pub(crate) trait SignedDocument: Serialize + DeserializeOwned {
    /// The value of `type`.
    const TYPE: &'static str;
    /// Name of the document, for messages.
    const LABEL: &'static str;
    /// Checks the rules beyond the types.
    fn validate(&self) -> Result<(), Problem>;
}

fn malformed_list<T: SignedDocument>(problem: Problem) -> ListError {
    ListError::Malformed { kind: T::LABEL, problem }
}

/// The document as signed JSON.
pub(crate) fn sign_document<T: SignedDocument>(document: &T, key: &SecretKey) -> Result<String, SignError> {
    document.validate().map_err(SignError::Document)?;
    let unwritable = |error: serde_json::Error| SignError::Document(Problem::new("", error.to_string()));
    let mut value = serde_json::to_value(document).map_err(unwritable)?;
    value["type"] = T::TYPE.into();
    let text = value.to_string();
    let bytes = strict::parse_strict(&text).and_then(covered_bytes).map_err(SignError::Document)?;
    let signed =
        attach_signature(serde_json::from_str::<RawFields>(&text).map_err(unwritable)?, &bytes, key)?;
    if signed.len() > MAX_LIST_BYTES {
        let why = format!("{} bytes; a list has at most {MAX_LIST_BYTES}", signed.len());
        return Err(SignError::Document(Problem::new("", why)));
    }
    Ok(signed)
}

/// Parses a document as strict JSON. It is not verified yet.
pub(crate) fn parse_document<T: SignedDocument>(text: &str) -> Result<Value, ListError> {
    if text.len() > MAX_LIST_BYTES {
        return Err(ListError::TooLarge(text.len()));
    }
    strict::parse_strict(text).map_err(malformed_list::<T>)
}

/// The id of the key that claims to have signed it.
pub(crate) fn signer_id<T: SignedDocument>(value: &Value) -> Result<String, ListError> {
    if value["type"] != T::TYPE {
        return Err(malformed_list::<T>(Problem::new("type", format!("expected `{}`", T::TYPE))));
    }
    if value["alg"] != "Ed25519" {
        return Err(malformed_list::<T>(Problem::new("alg", "expected Ed25519")));
    }
    match value["keyId"].as_str() {
        Some(id) => Ok(id.chars().take(80).collect()),
        None => Err(malformed_list::<T>(Problem::new("keyId", "missing; which key signed it"))),
    }
}

/// The document, if the root signed it and it is unmodified.
pub(crate) fn verify_document<T: SignedDocument>(value: &Value, root: &PublicKey) -> Result<T, ListError> {
    let id = signer_id::<T>(value)?;
    if !root.is_ed25519() || id != root.id().as_str() {
        return Err(ListError::OtherRoot(id));
    }
    let signature = value["signature"].as_str().and_then(|text| STANDARD.decode(text).ok());
    let bytes = covered_bytes(value.clone()).map_err(malformed_list::<T>)?;
    if !signature.is_some_and(|signature| root.verifies(&bytes, &signature)) {
        return Err(ListError::Modified);
    }
    let document: T = serde_path_to_error::deserialize(value).map_err(|error| {
        malformed_list::<T>(Problem::new(error.path().to_string(), error.inner().to_string()))
    })?;
    document.validate().map_err(malformed_list::<T>)?;
    Ok(document)
}
