//! Signing and hashing manifests.
//!
//! A signature covers the canonical form of the whole manifest except `alg`,
//! `keyId` and `signature`. Unknown members are covered too.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, value::RawValue};
use toolyard_protocol::{
    Problem,
    plugin::{ContentHash, MAX_MANIFEST_BYTES, Manifest, OUTSIDE_SIGNATURE, strict},
    raw::{RawFields, to_raw},
};

use crate::{
    canonical::{canonical_json_value, content_hash},
    key::{KeyError, SecretKey},
};

/// Why signing failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The document cannot be signed.
    #[error("cannot be signed: {0}")]
    Document(Problem),
}

/// The bytes that a signature of this manifest covers.
pub fn signed_bytes(manifest: &Manifest) -> Result<Vec<u8>, Problem> {
    covered_bytes(strict::parse_strict(manifest.raw())?)
}

/// The content hash: the hash of what a signature covers. Signing does not change it; every other
/// change does.
pub fn manifest_hash(manifest: &Manifest) -> Result<ContentHash, Problem> {
    Ok(content_hash(&signed_bytes(manifest)?))
}

/// The hash of the tools alone, as in the older form.
pub fn tools_hash(manifest: &Manifest) -> Result<ContentHash, Problem> {
    let value = strict::parse_strict(manifest.raw())?;
    Ok(content_hash(&canonical_json_value(&value["tools"])?))
}

/// The manifest with our signature, which replaces an existing one. All other members stay byte for byte.
pub fn sign_manifest(manifest: &Manifest, key: &SecretKey) -> Result<String, SignError> {
    let bytes = signed_bytes(manifest).map_err(SignError::Document)?;
    let fields = serde_json::from_str::<RawFields>(manifest.raw())
        .map_err(|error| SignError::Document(Problem::new("", error.to_string())))?;
    let signed = attach_signature(fields, &bytes, key)?;
    if signed.len() >= MAX_MANIFEST_BYTES {
        let why = format!("no room for the signature; a manifest has at most {MAX_MANIFEST_BYTES} bytes");
        return Err(SignError::Document(Problem::new("", why)));
    }
    Ok(signed)
}

/// The canonical bytes that a signature over an object covers.
pub(crate) fn covered_bytes(mut value: Value) -> Result<Vec<u8>, Problem> {
    let Some(members) = value.as_object_mut() else { return Err(Problem::new("", "expected an object")) };
    for outside in OUTSIDE_SIGNATURE {
        members.remove(outside);
    }
    canonical_json_value(&value)
}

/// Adds the three signature members.
pub(crate) fn attach_signature(
    mut fields: RawFields,
    covered: &[u8],
    key: &SecretKey,
) -> Result<String, SignError> {
    let public = key.public_key();
    let signature = STANDARD.encode(key.sign(covered)?);
    let members: [(&str, Box<RawValue>); 3] =
        [("signature", to_raw(&signature)), ("keyId", to_raw(&public.id())), ("alg", to_raw(public.alg()))];
    for (name, value) in members {
        fields.remove(name);
        fields.set(name, value);
    }
    Ok(fields.to_raw().get().to_owned())
}
