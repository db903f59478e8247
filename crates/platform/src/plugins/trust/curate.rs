//! What a curator does: signs and revokes plugins.

use jiff::Timestamp;
use toolyard_protocol::plugin::Manifest;
use toolyard_trust::{RevokedPlugin, TrustStatus, sign_manifest};

use super::{PluginTrust, TrustError};

impl PluginTrust {
    /// Signs a plugin. Fails if this server would not trust the result.
    pub fn sign(&self, manifest: &Manifest, now: Timestamp) -> Result<Manifest, TrustError> {
        let key = self.setup.curator.as_ref().ok_or(TrustError::NoSigningKey(
            "this server is not a curator: it has no key to sign plugins with (plugins.curator_key_file)",
        ))?;
        let text = sign_manifest(manifest, key)?;
        let not_trusted = |why: String| TrustError::NotTrusted(why);
        let signed = Manifest::parse(text.as_bytes()).map_err(|error| not_trusted(error.to_string()))?;
        let verdict = self.judge(&signed, None, now).map_err(|problem| not_trusted(problem.to_string()))?;
        match verdict.status {
            TrustStatus::Signed { .. } => Ok(signed),
            _ => Err(not_trusted(verdict.reason)),
        }
    }

    /// Revokes a plugin, effective when this returns. False if it was already revoked.
    pub async fn revoke(&self, plugin: RevokedPlugin, now: Timestamp) -> Result<bool, TrustError> {
        let _one_at_a_time = self.changing.lock().await;
        let elsewhere = "this server does not sign the revocation list; add to it where the root key is kept";
        let root = self.own_root().filter(|_| self.setup.revocations_file.is_none());
        let root = root.ok_or(TrustError::NoSigningKey(elsewhere))?;
        let mut next = (*self.current_state()).clone();
        let Some(pin) = &next.pin else { return Err(TrustError::NoSigningKey(elsewhere)) };
        let same = |one: &RevokedPlugin| one.id == plugin.id && one.content_hash == plugin.content_hash;
        if next.revocations.plugins.iter().any(same) {
            return Ok(false);
        }
        let mut list = next.revocations.clone();
        list.plugins.push(plugin);
        (list.number, list.issued_at) = (pin.revocations_seen.max(list.number) + 1, now);
        // Checks that the list is accepted before it is stored: it must be readable at the next start.
        let taken = pin.accept_revocations(&list.sign(root)?, now);
        let (list, pin) = taken.map_err(|error| TrustError::List { what: "revocation list", error })?;
        let text = self.keep_revocations(&list, root).await?;
        self.keep_pin(&pin).await?;
        (next.revocations, next.revocations_text, next.pin) = (list, Some(text), Some(pin));
        self.set_state(next);
        Ok(true)
    }
}
