//! The one function that says whether a plugin may run: asked at install and at every load.

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

/// What a plugin turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum TrustStatus {
    /// Signed by a key that is believed, and unchanged since.
    Signed {
        /// Which key.
        by: KeyId,
        /// Whose key.
        owner: String,
    },
    /// Without a signature.
    Unsigned,
    /// Not what was signed, or not what was installed.
    Modified,
    /// Signed by a key that nobody vouches for.
    UnknownKey,
    /// Called back, or signed by a key that was.
    Revoked,
    /// Past its time, or its key is, or what we know of it.
    Expired,
}

/// How much of a manifest its signature covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureCoverage {
    /// Every member.
    Everything,
    /// The tools; not id, name, version and permissions: the older form.
    Tools,
    /// Nothing that could be relied on.
    Nothing,
}

/// What is known when a plugin is judged.
#[derive(Debug, Clone, Copy)]
pub struct TrustContext<'a> {
    /// The keys that are believed.
    pub keys: &'a KeyList,
    /// What was called back.
    pub revocations: &'a RevocationList,
    /// The unsigned plugins that may run.
    pub allowed: &'a AllowList,
    /// The content that was installed, if it was.
    pub pinned: Option<&'a ContentHash>,
    /// The time.
    pub now: Timestamp,
}

/// What was found, and what follows from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginVerdict {
    /// What it is.
    #[serde(flatten)]
    pub status: TrustStatus,
    /// Whether it may run.
    pub runs: bool,
    /// How much of it is vouched for.
    pub covers: SignatureCoverage,
    /// The most that it gets. What the user agreed to at install is for the caller to keep.
    pub permissions: PluginPermissions,
    /// The hash to pin at install.
    pub content_hash: ContentHash,
    /// For people: why.
    pub reason: String,
}

impl PluginVerdict {
    /// Who stands behind it: whose data it finds.
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

/// What a look at signature and lists ended with.
struct SignatureFinding {
    status: TrustStatus,
    covers: SignatureCoverage,
    reason: String,
}

fn untrusted(status: TrustStatus, reason: impl Into<String>) -> SignatureFinding {
    SignatureFinding { status, covers: SignatureCoverage::Nothing, reason: reason.into() }
}

/// Says what a plugin is and whether it may run. Everything but a signature that holds, and an unsigned plugin that
/// somebody allowed, ends with "no".
pub fn judge_manifest(manifest: &Manifest, ground: &TrustContext<'_>) -> Result<PluginVerdict, Problem> {
    let hash = sign::manifest_hash(manifest)?;
    let tools = sign::tools_hash(manifest)?;
    let found = check_trust(manifest, &hash, &tools, ground)?;
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
            if let Some(allowed) = ground.allowed.find_entry(&manifest.id, &verdict.content_hash) {
                verdict.runs = true;
                verdict.permissions = manifest.permissions.intersect(&allowed.permissions);
                verdict.reason.push_str("; it was allowed to run all the same");
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
    ground: &TrustContext<'_>,
) -> Result<SignatureFinding, Problem> {
    if let Some(revoked) = ground.revocations.find_plugin(&manifest.id, &[hash, tools]) {
        return Ok(untrusted(
            TrustStatus::Revoked,
            with_reason("the plugin was called back", &revoked.reason),
        ));
    }
    if ground.pinned.is_some_and(|pinned| pinned != hash) {
        return Ok(untrusted(TrustStatus::Modified, "this is not what was installed"));
    }
    let signed = match manifest.signature() {
        None => return Ok(untrusted(TrustStatus::Unsigned, "nobody has signed it")),
        Some(PluginSignature::Ed25519 { key, bytes }) => {
            let message = sign::signed_bytes(manifest)?;
            let name = key.as_str();
            verify_with_keys(
                ground.keys.find_key(key).into_iter(),
                name,
                &message,
                bytes,
                SignatureCoverage::Everything,
                ground,
            )
        }
        Some(PluginSignature::Rs256 { content_hash, .. })
            if content_hash.as_ref().is_some_and(|it| it != tools) =>
        {
            untrusted(TrustStatus::Modified, "the tools do not have the hash that was signed")
        }
        Some(PluginSignature::Rs256 { key, bytes, .. }) => {
            let name = key.as_deref().unwrap_or_default();
            // Signed is the text of the hash, not its bytes.
            let message = tools.as_str().as_bytes();
            verify_with_keys(
                ground.keys.find_legacy_keys(name),
                name,
                message,
                bytes,
                SignatureCoverage::Tools,
                ground,
            )
        }
    };
    Ok(check_expiry(signed, manifest, ground))
}

/// Which of these keys signed the message, and what that key is worth.
fn verify_with_keys<'k>(
    keys: impl Iterator<Item = &'k KeyEntry>,
    name: &str,
    message: &[u8],
    signature: &[u8],
    covers: SignatureCoverage,
    ground: &TrustContext<'_>,
) -> SignatureFinding {
    if let Some(at) = ground.keys.expires_at.filter(|at| *at <= ground.now) {
        return untrusted(TrustStatus::UnknownKey, format!("the key list ran out at {at}; fetch a new one"));
    }
    let (mut known, mut called_back) = (false, None);
    for entry in keys {
        known = true;
        let revoked = key_revocation(entry, ground);
        if entry.key.verifies(message, signature) {
            return revoked.unwrap_or_else(|| signed_by(entry, covers, ground.now));
        }
        called_back = called_back.or(revoked);
    }
    if let Some(revoked) = called_back {
        // A key that was called back says nothing any more, not even that something was changed.
        revoked
    } else if known {
        untrusted(TrustStatus::Modified, "the signature does not hold: it was changed after it was signed")
    } else if name.is_empty() {
        untrusted(TrustStatus::UnknownKey, "it does not say who signed it")
    } else {
        untrusted(TrustStatus::UnknownKey, format!("no key list that is believed has the key {name}"))
    }
}

fn key_revocation(entry: &KeyEntry, ground: &TrustContext<'_>) -> Option<SignatureFinding> {
    let id = &entry.key_id;
    if let Some(revoked) = ground.revocations.find_key(id) {
        return Some(untrusted(
            TrustStatus::Revoked,
            with_reason(&format!("the key {id} was called back"), &revoked.reason),
        ));
    }
    match entry.revoked_at {
        Some(at) if at <= ground.now => {
            Some(untrusted(TrustStatus::Revoked, format!("the key {id} was called back at {at}")))
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
            untrusted(TrustStatus::UnknownKey, format!("the key {id} is not believed before {at}"))
        }
        KeyValidity::Expired(at) => untrusted(TrustStatus::Expired, format!("the key {id} ran out at {at}")),
    }
}

/// A signature that holds may still be too late.
fn check_expiry(
    signed: SignatureFinding,
    manifest: &Manifest,
    ground: &TrustContext<'_>,
) -> SignatureFinding {
    if !matches!(signed.status, TrustStatus::Signed { .. }) {
        return signed;
    }
    if let Some(at) = manifest.expires_at.filter(|at| *at <= ground.now) {
        return untrusted(
            TrustStatus::Expired,
            format!("the plugin ran out at {at}; look for a newer version"),
        );
    }
    if let Some(at) = ground.revocations.expires_at.filter(|at| *at <= ground.now) {
        return untrusted(
            TrustStatus::Expired,
            format!("the revocation list ran out at {at}; fetch a new one"),
        );
    }
    signed
}

fn with_reason(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
