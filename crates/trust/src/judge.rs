//! Decides whether a plugin may run, at install and at every load.

use jiff::Timestamp;
use serde::Serialize;
use toolyard_protocol::{
    Problem,
    plugin::{ContentHash, KeyId, Manifest, PluginPermissions, PluginSignature, PluginSigner},
};

use crate::{
    allow::AllowList,
    keys::{KeyEntry, KeyList, KeyValidity},
    revocations::RevocationList,
    sign,
};

/// The trust status of a plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TrustStatus {
    /// Signed by a trusted key, and unchanged since.
    Signed {
        /// The key.
        by: KeyId,
        /// The owner of the key.
        owner: String,
    },
    /// Without a signature.
    Unsigned,
    /// Not what was signed, or not what was installed.
    Modified,
    /// Signed by a key that is not trusted.
    UnknownKey,
    /// Revoked, or signed by a revoked key.
    Revoked,
    /// The plugin, its key or one of the lists has expired.
    Expired,
}

/// How much of a manifest its signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureCoverage {
    /// Every member.
    Everything,
    /// The tools, but not id, name, version and permissions: the older form.
    Tools,
    /// Nothing reliable.
    Nothing,
}

/// What a verdict is based on.
#[derive(Debug, Clone, Copy)]
pub struct TrustContext<'a> {
    /// The trusted keys.
    pub keys: &'a KeyList,
    /// The revoked plugins and keys.
    pub revocations: &'a RevocationList,
    /// The unsigned plugins that may run.
    pub allowed: &'a AllowList,
    /// The content that was installed, if any.
    pub pinned: Option<&'a ContentHash>,
    /// The current time.
    pub now: Timestamp,
}

/// Whether a plugin may run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginVerdict {
    /// Its status.
    #[serde(flatten)]
    pub status: TrustStatus,
    /// Whether it may run.
    pub runs: bool,
    /// How much of it the signature covers.
    pub covers: SignatureCoverage,
    /// The maximum permissions. The caller stores what the user agreed to at install.
    pub permissions: PluginPermissions,
    /// The hash to pin at install.
    pub content_hash: ContentHash,
    /// Human-readable reason.
    pub reason: String,
}

impl PluginVerdict {
    /// The signer, who owns its stored data.
    pub fn signer(&self) -> PluginSigner {
        match &self.status {
            TrustStatus::Signed { by, .. } => PluginSigner::Key(by.clone()),
            TrustStatus::Unsigned
            | TrustStatus::Modified
            | TrustStatus::UnknownKey
            | TrustStatus::Revoked
            | TrustStatus::Expired => PluginSigner::Unsigned,
        }
    }
}

/// The result of checking signature and lists.
struct SignatureFinding {
    status: TrustStatus,
    covers: SignatureCoverage,
    reason: String,
}

fn untrusted(status: TrustStatus, reason: impl Into<String>) -> SignatureFinding {
    SignatureFinding { status, covers: SignatureCoverage::Nothing, reason: reason.into() }
}

/// Decides whether a plugin may run. Only a valid signature of a trusted key, or an entry in the allow list for an unsigned
/// plugin, allows it.
pub fn judge_manifest(manifest: &Manifest, context: &TrustContext<'_>) -> Result<PluginVerdict, Problem> {
    let hash = sign::manifest_hash(manifest)?;
    let tools = sign::tools_hash(manifest)?;
    let found = check_trust(manifest, &hash, &tools, context)?;
    let mut verdict = PluginVerdict {
        status: found.status,
        runs: false,
        covers: found.covers,
        permissions: PluginPermissions::default(),
        content_hash: hash,
        reason: found.reason,
    };
    match verdict.status {
        TrustStatus::Signed { .. } => {
            verdict.runs = true;
            if verdict.covers == SignatureCoverage::Everything {
                verdict.permissions = manifest.permissions.clone();
            }
        }
        TrustStatus::Unsigned => {
            if let Some(allowed) = context.allowed.find_entry(&manifest.id, &verdict.content_hash) {
                verdict.runs = true;
                verdict.permissions = manifest.permissions.intersect(&allowed.permissions);
                verdict.reason.push_str("; it is on the allow list");
            }
        }
        TrustStatus::Modified | TrustStatus::UnknownKey | TrustStatus::Revoked | TrustStatus::Expired => {}
    }
    Ok(verdict)
}

fn check_trust(
    manifest: &Manifest,
    hash: &ContentHash,
    tools: &ContentHash,
    context: &TrustContext<'_>,
) -> Result<SignatureFinding, Problem> {
    if let Some(revoked) = context.revocations.find_plugin(&manifest.id, &[hash, tools]) {
        return Ok(untrusted(TrustStatus::Revoked, with_reason("the plugin was revoked", &revoked.reason)));
    }
    if context.pinned.is_some_and(|pinned| pinned != hash) {
        return Ok(untrusted(TrustStatus::Modified, "this is not what was installed"));
    }
    let signed = match manifest.signature() {
        None => return Ok(untrusted(TrustStatus::Unsigned, "it is not signed")),
        Some(PluginSignature::Ed25519 { key, bytes }) => {
            let message = sign::signed_bytes(manifest)?;
            let name = key.as_str();
            verify_with_keys(
                context.keys.find_key(key).into_iter(),
                name,
                &message,
                bytes,
                SignatureCoverage::Everything,
                context,
            )
        }
        Some(PluginSignature::Rs256 { content_hash, .. })
            if content_hash.as_ref().is_some_and(|it| it != tools) =>
        {
            untrusted(TrustStatus::Modified, "the tools do not match the signed hash")
        }
        Some(PluginSignature::Rs256 { key, bytes, .. }) => {
            let name = key.as_deref().unwrap_or_default();
            // The signature covers the hash as text, not its bytes.
            let message = tools.as_str().as_bytes();
            verify_with_keys(
                context.keys.find_legacy_keys(name),
                name,
                message,
                bytes,
                SignatureCoverage::Tools,
                context,
            )
        }
    };
    Ok(check_expiry(signed, manifest, context))
}

/// Finds the key that signed the message, and checks it.
fn verify_with_keys<'k>(
    keys: impl Iterator<Item = &'k KeyEntry>,
    name: &str,
    message: &[u8],
    signature: &[u8],
    covers: SignatureCoverage,
    context: &TrustContext<'_>,
) -> SignatureFinding {
    if let Some(at) = context.keys.expires_at.filter(|at| *at <= context.now) {
        return untrusted(TrustStatus::UnknownKey, format!("the key list expired at {at}; fetch a new one"));
    }
    let (mut known, mut first_revoked) = (false, None);
    for entry in keys {
        known = true;
        let revoked = key_revocation(entry, context);
        if entry.key.verifies(message, signature) {
            return revoked.unwrap_or_else(|| signed_by(entry, covers, context.now));
        }
        first_revoked = first_revoked.or(revoked);
    }
    if let Some(revoked) = first_revoked {
        // A revoked key proves nothing, not even that something was modified.
        revoked
    } else if known {
        untrusted(
            TrustStatus::Modified,
            "the signature is invalid: the plugin was modified after it was signed",
        )
    } else if name.is_empty() {
        untrusted(TrustStatus::UnknownKey, "it does not name the key that signed it")
    } else {
        untrusted(TrustStatus::UnknownKey, format!("no trusted key list has the key {name}"))
    }
}

fn key_revocation(entry: &KeyEntry, context: &TrustContext<'_>) -> Option<SignatureFinding> {
    let id = &entry.key_id;
    if let Some(revoked) = context.revocations.find_key(id) {
        return Some(untrusted(
            TrustStatus::Revoked,
            with_reason(&format!("the key {id} was revoked"), &revoked.reason),
        ));
    }
    match entry.revoked_at {
        Some(at) if at <= context.now => {
            Some(untrusted(TrustStatus::Revoked, format!("the key {id} was revoked at {at}")))
        }
        _ => None,
    }
}

fn signed_by(entry: &KeyEntry, covers: SignatureCoverage, now: Timestamp) -> SignatureFinding {
    let (id, owner) = (&entry.key_id, &entry.owner);
    match entry.validity_at(now) {
        KeyValidity::Good => {
            let mut reason = format!("signed by {owner} with the key {id}");
            if covers == SignatureCoverage::Tools {
                reason.push_str(
                    "; the signature covers its tools only, not id, name, version and permissions: it gets no permissions",
                );
            }
            SignatureFinding {
                status: TrustStatus::Signed { by: id.clone(), owner: owner.clone() },
                covers,
                reason,
            }
        }
        KeyValidity::NotYet(at) => {
            untrusted(TrustStatus::UnknownKey, format!("the key {id} is not valid before {at}"))
        }
        KeyValidity::Expired(at) => untrusted(TrustStatus::Expired, format!("the key {id} expired at {at}")),
    }
}

/// A valid signature may have expired.
fn check_expiry(
    signed: SignatureFinding,
    manifest: &Manifest,
    context: &TrustContext<'_>,
) -> SignatureFinding {
    if !matches!(signed.status, TrustStatus::Signed { .. }) {
        return signed;
    }
    if let Some(at) = manifest.expires_at.filter(|at| *at <= context.now) {
        return untrusted(
            TrustStatus::Expired,
            format!("the plugin expired at {at}; look for a newer version"),
        );
    }
    if let Some(at) = context.revocations.expires_at.filter(|at| *at <= context.now) {
        return untrusted(
            TrustStatus::Expired,
            format!("the revocation list expired at {at}; fetch a new one"),
        );
    }
    signed
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
