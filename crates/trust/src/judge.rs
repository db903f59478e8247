//! The one function that says whether a plugin may run: asked at install and at every load.

use jiff::Timestamp;
use serde::Serialize;
use toolyard_protocol::{
    Problem,
    plugin::{ContentHash, KeyId, Manifest, Permissions, Signature, Signer},
};

use crate::{
    allow::AllowList,
    keys::{KeyEntry, KeyList, Standing},
    revocations::Revocations,
    sign,
};

/// What a plugin turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Status {
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
pub enum Covers {
    /// Every member.
    Everything,
    /// The tools; not id, name, version and permissions: the older form.
    Tools,
    /// Nothing that could be relied on.
    Nothing,
}

/// What is known when a plugin is judged.
#[derive(Debug, Clone, Copy)]
pub struct Ground<'a> {
    /// The keys that are believed.
    pub keys: &'a KeyList,
    /// What was called back.
    pub revocations: &'a Revocations,
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
pub struct Verdict {
    /// What it is.
    #[serde(flatten)]
    pub status: Status,
    /// Whether it may run.
    pub runs: bool,
    /// How much of it is vouched for.
    pub covers: Covers,
    /// The most that it gets. What the user agreed to at install is for the caller to keep.
    pub permissions: Permissions,
    /// The hash to pin at install.
    pub content_hash: ContentHash,
    /// For people: why.
    pub reason: String,
}

impl Verdict {
    /// Who stands behind it: whose data it finds.
    pub fn signer(&self) -> Signer {
        match &self.status {
            Status::Signed { by, .. } => Signer::Key(by.clone()),
            Status::Unsigned | Status::Modified | Status::UnknownKey | Status::Revoked | Status::Expired => {
                Signer::Nobody
            }
        }
    }
}

/// What a look at signature and lists ended with.
struct Found {
    status: Status,
    covers: Covers,
    reason: String,
}

fn found(status: Status, reason: impl Into<String>) -> Found {
    Found { status, covers: Covers::Nothing, reason: reason.into() }
}

/// Says what a plugin is and whether it may run. Everything but a signature that holds, and an unsigned plugin that
/// somebody allowed, ends with "no".
pub fn judge(manifest: &Manifest, ground: &Ground<'_>) -> Result<Verdict, Problem> {
    let hash = sign::hash(manifest)?;
    let tools = sign::tools_hash(manifest)?;
    let found = look(manifest, &hash, &tools, ground)?;
    let mut verdict = Verdict {
        status: found.status,
        runs: false,
        covers: found.covers,
        permissions: Permissions::default(),
        content_hash: hash,
        reason: found.reason,
    };
    match verdict.status {
        Status::Signed { .. } => {
            verdict.runs = true;
            if verdict.covers == Covers::Everything {
                verdict.permissions = manifest.permissions.clone();
            }
        }
        Status::Unsigned => {
            if let Some(allowed) = ground.allowed.find(&manifest.id, &verdict.content_hash) {
                verdict.runs = true;
                verdict.permissions = manifest.permissions.within(&allowed.permissions);
                verdict.reason.push_str("; it was allowed to run all the same");
            }
        }
        Status::Modified | Status::UnknownKey | Status::Revoked | Status::Expired => {}
    }
    Ok(verdict)
}

fn look(
    manifest: &Manifest,
    hash: &ContentHash,
    tools: &ContentHash,
    ground: &Ground<'_>,
) -> Result<Found, Problem> {
    if let Some(revoked) = ground.revocations.plugin(&manifest.id, &[hash, tools]) {
        return Ok(found(Status::Revoked, with("the plugin was called back", &revoked.reason)));
    }
    if ground.pinned.is_some_and(|pinned| pinned != hash) {
        return Ok(found(Status::Modified, "this is not what was installed"));
    }
    let signed = match manifest.signature() {
        None => return Ok(found(Status::Unsigned, "nobody has signed it")),
        Some(Signature::Ed25519 { key, bytes }) => {
            let message = sign::signed_bytes(manifest)?;
            let name = key.as_str();
            by(ground.keys.find(key).into_iter(), name, &message, bytes, Covers::Everything, ground)
        }
        Some(Signature::Rs256 { content_hash, .. })
            if content_hash.as_ref().is_some_and(|it| it != tools) =>
        {
            found(Status::Modified, "the tools do not have the hash that was signed")
        }
        Some(Signature::Rs256 { key, bytes, .. }) => {
            let name = key.as_deref().unwrap_or_default();
            // Signed is the text of the hash, not its bytes.
            let message = tools.as_str().as_bytes();
            by(ground.keys.find_older(name), name, message, bytes, Covers::Tools, ground)
        }
    };
    Ok(in_time(signed, manifest, ground))
}

/// Which of these keys signed the message, and what that key is worth.
fn by<'k>(
    keys: impl Iterator<Item = &'k KeyEntry>,
    name: &str,
    message: &[u8],
    signature: &[u8],
    covers: Covers,
    ground: &Ground<'_>,
) -> Found {
    if let Some(at) = ground.keys.expires_at.filter(|at| *at <= ground.now) {
        return found(Status::UnknownKey, format!("the key list ran out at {at}; fetch a new one"));
    }
    let (mut known, mut called_back) = (false, None);
    for entry in keys {
        known = true;
        let revoked = revoked(entry, ground);
        if entry.key.verifies(message, signature) {
            return revoked.unwrap_or_else(|| signed_by(entry, covers, ground.now));
        }
        called_back = called_back.or(revoked);
    }
    if let Some(revoked) = called_back {
        // A key that was called back says nothing any more, not even that something was changed.
        revoked
    } else if known {
        found(Status::Modified, "the signature does not hold: it was changed after it was signed")
    } else if name.is_empty() {
        found(Status::UnknownKey, "it does not say who signed it")
    } else {
        found(Status::UnknownKey, format!("no key list that is believed has the key {name}"))
    }
}

fn revoked(entry: &KeyEntry, ground: &Ground<'_>) -> Option<Found> {
    let id = &entry.key_id;
    if let Some(revoked) = ground.revocations.key(id) {
        return Some(found(Status::Revoked, with(&format!("the key {id} was called back"), &revoked.reason)));
    }
    match entry.revoked_at {
        Some(at) if at <= ground.now => {
            Some(found(Status::Revoked, format!("the key {id} was called back at {at}")))
        }
        _ => None,
    }
}

fn signed_by(entry: &KeyEntry, covers: Covers, now: Timestamp) -> Found {
    let (id, owner) = (&entry.key_id, &entry.owner);
    match entry.standing(now) {
        Standing::Good => {
            let mut reason = format!("signed by {owner} with the key {id}");
            if covers == Covers::Tools {
                reason.push_str(
                    "; the signature covers its tools only, not id, name, version and permissions: it gets no permissions",
                );
            }
            Found { status: Status::Signed { by: id.clone(), owner: owner.clone() }, covers, reason }
        }
        Standing::NotYet(at) => {
            found(Status::UnknownKey, format!("the key {id} is not believed before {at}"))
        }
        Standing::Expired(at) => found(Status::Expired, format!("the key {id} ran out at {at}")),
    }
}

/// A signature that holds may still be too late.
fn in_time(signed: Found, manifest: &Manifest, ground: &Ground<'_>) -> Found {
    if !matches!(signed.status, Status::Signed { .. }) {
        return signed;
    }
    if let Some(at) = manifest.expires_at.filter(|at| *at <= ground.now) {
        return found(Status::Expired, format!("the plugin ran out at {at}; look for a newer version"));
    }
    if let Some(at) = ground.revocations.expires_at.filter(|at| *at <= ground.now) {
        return found(Status::Expired, format!("the revocation list ran out at {at}; fetch a new one"));
    }
    signed
}

fn with(what: &str, reason: &str) -> String {
    if reason.is_empty() { what.to_owned() } else { format!("{what}: {reason}") }
}
