//! Loading the lists: from files, or those that this server signed.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use tokio::io::AsyncReadExt as _;
use toolyard_trust::{KeyEntry, KeyList, ListError, MAX_LIST_BYTES, RevocationList, RootPin, SecretKey};

use super::{KEYS, PIN, PluginTrust, REVOCATIONS, StoredPin, TrustError, TrustState};

/// How long the previous key stays valid, if this server signs its own lists.
const OLD_KEY: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Whether lists are already in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadPhase {
    Start,
    Later,
}

impl PluginTrust {
    pub(super) async fn read_lists(&self, now: Timestamp, when: LoadPhase) -> Result<bool, TrustError> {
        let _one_at_a_time = self.changing.lock().await;
        let Some(root) = self.configured_root() else { return Ok(false) };
        let stored = self.lists.plugin_list(PIN).await?;
        let stored = stored.and_then(|text| serde_json::from_str::<StoredPin>(&text).ok());
        // The store holds the pin of the last lists; another configured root starts again.
        let (pin, other) = match stored {
            Some(stored) if stored.configured == root => (Some(stored.pin), None),
            stored => (None, stored.map(|stored| stored.pin)),
        };
        if let Some(other) = other {
            self.take_over_revocations(&other, now).await?;
        }
        let mut next = (*self.current_state()).clone();
        let mut pin = next.pin.take().or(pin).unwrap_or_else(|| RootPin::new(root.clone()));
        self.read_keys(&mut pin, &mut next, now, when).await?;
        self.read_revocations(&mut pin, &mut next, now, when).await?;
        let before = self.current_state();
        let new = before.keys_text != next.keys_text || before.revocations_text != next.revocations_text;
        if before.pin.as_ref() != Some(&pin) {
            self.keep_pin(&pin).await?;
        }
        next.pin = Some(pin);
        self.set_state(next);
        Ok(new)
    }

    /// Stores how new the known lists are, so that it survives a restart.
    pub(super) async fn keep_pin(&self, pin: &RootPin) -> Result<(), TrustError> {
        let Some(configured) = self.configured_root() else { return Ok(()) };
        let text = serde_json::to_string(&StoredPin { configured, pin: pin.clone() });
        Ok(self.lists.save_plugin_list(PIN, &text.unwrap_or_default()).await?)
    }

    async fn read_keys(
        &self,
        pin: &mut RootPin,
        next: &mut TrustState,
        now: Timestamp,
        when: LoadPhase,
    ) -> Result<(), TrustError> {
        const WHAT: &str = "key list";
        let text = match &self.setup.keys_file {
            Some(path) => read_list_file(WHAT, path).await?,
            None => self.own_keys(pin, now).await?,
        };
        match pin.accept_keys(&text, now) {
            Ok((keys, newer)) => {
                (next.keys, next.keys_text, *pin) = (keys, Some(text), newer);
                Ok(())
            }
            // Signed plugins wait for a new list; the rest of the server starts.
            Err(error @ ListError::Expired(_)) if when == LoadPhase::Start => {
                tracing::error!(%error, "key list expired; no signed plugin runs");
                Ok(())
            }
            Err(error) => Err(TrustError::List { what: WHAT, error }),
        }
    }

    async fn read_revocations(
        &self,
        pin: &mut RootPin,
        next: &mut TrustState,
        now: Timestamp,
        when: LoadPhase,
    ) -> Result<(), TrustError> {
        const WHAT: &str = "revocation list";
        let text = match &self.setup.revocations_file {
            Some(path) => Some(read_list_file(WHAT, path).await?),
            None => self.own_revocations(now).await?,
        };
        let Some(text) = text else { return Ok(()) };
        match pin.accept_revocations(&text, now) {
            Ok((revocations, newer)) => {
                (next.revocations, next.revocations_text, *pin) = (revocations, Some(text), newer);
                Ok(())
            }
            // Unknown revocations are not the same as none: no signed plugin runs until there is a new list.
            Err(error @ ListError::Expired(at)) if when == LoadPhase::Start => {
                tracing::error!(%error, "revocation list expired; no signed plugin runs");
                next.revocations = RevocationList { expires_at: Some(at), ..RevocationList::default() };
                Ok(())
            }
            Err(error) => Err(TrustError::List { what: WHAT, error }),
        }
    }

    /// The key list of a server that is its own curator: the last one it signed, or a new one if its key changed.
    async fn own_keys(&self, pin: &RootPin, now: Timestamp) -> Result<String, TrustError> {
        let (Some(root), Some(curator)) = (self.own_root(), &self.setup.curator) else {
            return Err(TrustError::NoSigningKey("this server has no key to sign lists with"));
        };
        let stored = self.lists.plugin_list(KEYS).await?;
        let last = stored.and_then(|text| pin.accept_keys(&text, now).ok().map(|(keys, _)| (text, keys)));
        let current = curator.public_key();
        if let Some((text, _)) =
            last.as_ref().filter(|(_, keys)| keys.keys.first().is_some_and(|entry| entry.key == current))
        {
            return Ok(text.clone());
        }
        let (number, before) = last.map_or((pin.keys_seen, Vec::new()), |(_, keys)| (keys.number, keys.keys));
        let old = before.into_iter().filter(|entry| entry.key != current).map(|mut entry| {
            // Plugins signed with the old key have to be signed again in this time.
            entry.expires_at = entry.expires_at.or_else(|| now.checked_add(OLD_KEY).ok());
            entry
        });
        let list = KeyList {
            number: number + 1,
            issued_at: now,
            expires_at: None,
            keys: std::iter::once(KeyEntry::new(current.clone(), &self.setup.owner)).chain(old).collect(),
            handovers: Vec::new(),
        };
        let text = list.sign(root)?;
        self.lists.save_plugin_list(KEYS, &text).await?;
        Ok(text)
    }

    /// The last revocation list that this server signed; the first one is empty. None if it signs no lists.
    async fn own_revocations(&self, now: Timestamp) -> Result<Option<String>, TrustError> {
        if let Some(text) = self.lists.plugin_list(REVOCATIONS).await? {
            return Ok(Some(text));
        }
        match self.own_root() {
            Some(root) => {
                let first = RevocationList { number: 1, issued_at: now, ..RevocationList::default() };
                self.keep_revocations(&first, root).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// After a change of its root key, a server that signs its own lists signs the old revocations again.
    async fn take_over_revocations(&self, old: &RootPin, now: Timestamp) -> Result<(), TrustError> {
        let (Some(root), Some(text)) = (self.own_root(), self.lists.plugin_list(REVOCATIONS).await?) else {
            return Ok(());
        };
        if let Ok((mut list, _)) = old.accept_revocations(&text, now) {
            list.number += 1;
            self.keep_revocations(&list, root).await?;
        }
        Ok(())
    }

    pub(super) async fn keep_revocations(
        &self,
        list: &RevocationList,
        root: &SecretKey,
    ) -> Result<String, TrustError> {
        let text = list.sign(root)?;
        self.lists.save_plugin_list(REVOCATIONS, &text).await?;
        Ok(text)
    }
}

async fn read_list_file(what: &'static str, path: &Path) -> Result<String, TrustError> {
    let failed = |error| TrustError::File { what, path: path.to_owned(), error };
    let file = tokio::fs::File::open(path).await.map_err(failed)?;
    let mut text = String::new();
    // One byte more than allowed distinguishes a file that is too large from one that just fits.
    let most = u64::try_from(MAX_LIST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_string(&mut text).await.map_err(failed)?;
    if text.len() > MAX_LIST_BYTES {
        return Err(TrustError::List { what, error: ListError::TooLarge(text.len()) });
    }
    Ok(text)
}
