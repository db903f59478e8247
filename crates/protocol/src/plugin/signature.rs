//! The signature of a manifest, in one of two forms.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    fields::ManifestFields,
    ids::{ContentHash, KeyId},
};
use crate::{name::text_excerpt, problem::Problem};

/// Longest signature in bytes: that of an RSA key of 8192 bits.
const MAX_SIGNATURE_BYTES: usize = 1024;
/// Length of an Ed25519 signature.
const ED25519_BYTES: usize = 64;

/// A signature. Crate `trust` verifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSignature {
    /// Ed25519 over the canonical form of everything except `alg`, `keyId` and `signature`.
    Ed25519 {
        /// The key.
        key: KeyId,
        /// 64 bytes.
        bytes: Vec<u8>,
    },
    /// The older form: RSA over the hash of `tools`, as text. Covers nothing else.
    Rs256 {
        /// The name of the key: `keyId`, else `curatorId`.
        key: Option<String>,
        /// The claimed hash.
        content_hash: Option<ContentHash>,
        /// As long as the key.
        bytes: Vec<u8>,
    },
}

impl PluginSignature {
    /// The value of `alg`.
    pub const fn alg(&self) -> &'static str {
        match self {
            Self::Ed25519 { .. } => "Ed25519",
            Self::Rs256 { .. } => "RS256",
        }
    }

    pub(super) fn from_fields(fields: &ManifestFields) -> Result<Option<Self>, Problem> {
        let Some(text) = &fields.signature else {
            let alone = fields.alg.is_some() || fields.key_id.is_some();
            let why = "missing although there is `alg` or `keyId`; sign again, or remove both";
            return if alone { Err(Problem::new("signature", why)) } else { Ok(None) };
        };
        let bytes = STANDARD
            .decode(text)
            .ok()
            .filter(|bytes| bytes.len() <= MAX_SIGNATURE_BYTES)
            .ok_or_else(|| Problem::new("signature", "expected base64, with + and / and its padding"))?;
        match fields.alg.as_deref() {
            Some("Ed25519") => {
                let key = fields.key_id.as_deref().unwrap_or_default().parse::<KeyId>();
                let key = key.map_err(|error| Problem::new("keyId", error.to_string()))?;
                if bytes.len() == ED25519_BYTES {
                    Ok(Some(Self::Ed25519 { key, bytes }))
                } else {
                    let why = format!("{} bytes; an Ed25519 signature has {ED25519_BYTES}", bytes.len());
                    Err(Problem::new("signature", why))
                }
            }
            Some("RS256") | None => Ok(Some(Self::Rs256 {
                key: fields.key_id.clone().or_else(|| fields.curator_id.clone()),
                content_hash: fields.content_hash.clone(),
                bytes,
            })),
            Some(other) => {
                let why = format!("`{}`: expected Ed25519 or RS256", text_excerpt(other));
                Err(Problem::new("alg", why))
            }
        }
    }
}
