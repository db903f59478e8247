//! Which plugins this server trusts: keys signed by a root, revocations, and unsigned plugins that the operator allowed
//! one by one.
//!
//! Lists are signed. They come from files, or are created here if this server is a curator. If a new list is not
//! accepted the previous one stays in force; without a previous list, no plugin is trusted.

mod curate;
mod refresh;
mod verdicts;

use std::{path::PathBuf, sync::Arc};

use jiff::Timestamp;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use toolyard_core::ports::{PluginListStore, StoreError};
use toolyard_protocol::{
    Problem,
    plugin::{ContentHash, KeyId, Manifest, ManifestError, PluginId},
};
use toolyard_trust::{
    AllowList, AllowListEntry, JudgedManifest, KeyList, ListError, PluginJudge, PluginVerdict, PublicKey,
    RevocationList, RootPin, SecretKey, SignError, TrustContext, judge_manifest, verdict_validity,
};

use self::verdicts::{VerdictCache, VerdictKey};

/// The names under which the lists are stored.
const PIN: &str = "pin";
const KEYS: &str = "keys";
const REVOCATIONS: &str = "revocations";

/// The operator's trust settings.
#[derive(Debug, Default)]
pub struct TrustSetup {
    /// The pinned root key.
    pub root: Option<PublicKey>,
    /// The key list, signed by the root.
    pub keys_file: Option<PathBuf>,
    /// The revocation list, signed by the root.
    pub revocations_file: Option<PathBuf>,
    /// The key with which this server signs plugins, if it is a curator.
    pub curator: Option<SecretKey>,
    /// The display name of that key's owner.
    pub owner: String,
    /// The secret root key, if this server signs lists itself.
    pub root_secret: Option<SecretKey>,
    /// Unsigned plugins that may run, each by id and content hash.
    pub allowed: Vec<(PluginId, ContentHash)>,
}

/// Why lists or keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Inconsistent settings.
    #[error("{0}")]
    Setup(&'static str),
    /// A list that was not accepted.
    #[error("the {what}: {error}")]
    List {
        /// Which list.
        what: &'static str,
        /// The reason.
        error: ListError,
    },
    /// A file that cannot be read.
    #[error("the {what} {}: {error}", path.display())]
    File {
        /// Which list.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// This server has no key for it.
    #[error("{0}")]
    NoSigningKey(&'static str),
    /// Signed, but not trusted: the lists do not contain the key.
    #[error("signed, but this server would not trust it: {0}")]
    NotTrusted(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The lists in force.
#[derive(Debug, Clone)]
struct TrustState {
    pin: Option<RootPin>,
    keys: KeyList,
    keys_text: Option<String>,
    revocations: RevocationList,
    revocations_text: Option<String>,
    /// Grows whenever one of the lists changes. List numbers are not enough, because a root may sign two lists with the
    /// same number.
    generation: u64,
}

impl TrustState {
    fn trust_context<'a>(
        &'a self,
        allowed: &'a AllowList,
        pinned: Option<&'a ContentHash>,
        now: Timestamp,
    ) -> TrustContext<'a> {
        TrustContext { keys: &self.keys, revocations: &self.revocations, allowed, pinned, now }
    }
}

/// The stored pin, with the configured root: another configured root starts again.
#[derive(Serialize, Deserialize)]
struct StoredPin {
    configured: PublicKey,
    pin: RootPin,
}

/// The root and lists in force.
#[derive(Debug, Clone)]
pub struct TrustSummary {
    /// The root key; differs from the configured one after a handover.
    pub root: Option<PublicKey>,
    /// The number of the key list.
    pub keys: Option<u64>,
    /// The number of the revocation list.
    pub revocations: Option<u64>,
    /// The key with which this server signs plugins.
    pub curator: Option<KeyId>,
}

/// Decides which plugins this server trusts.
pub struct PluginTrust {
    setup: TrustSetup,
    lists: Arc<dyn PluginListStore>,
    state: RwLock<Arc<TrustState>>,
    verdicts: VerdictCache,
    /// One change at a time, because list numbers only grow.
    changing: tokio::sync::Mutex<()>,
}

impl PluginTrust {
    /// Checks the settings and loads the lists.
    pub async fn open(
        setup: TrustSetup,
        lists: Arc<dyn PluginListStore>,
        now: Timestamp,
    ) -> Result<Self, TrustError> {
        check_setup(&setup)?;
        let empty = TrustState {
            pin: None,
            keys: KeyList::from_local_keys([]),
            keys_text: None,
            revocations: RevocationList::default(),
            revocations_text: None,
            generation: 0,
        };
        let trust = Self {
            setup,
            lists,
            state: RwLock::new(Arc::new(empty)),
            verdicts: VerdictCache::default(),
            changing: tokio::sync::Mutex::new(()),
        };
        trust.read_lists(now, refresh::LoadPhase::Start).await?;
        Ok(trust)
    }

    /// Reloads the lists. If a list is not accepted, the previous one stays in force. True if something changed.
    pub async fn refresh(&self, now: Timestamp) -> Result<bool, TrustError> {
        self.read_lists(now, refresh::LoadPhase::Later).await
    }

    fn current_state(&self) -> Arc<TrustState> {
        self.state.read().clone()
    }

    fn set_state(&self, mut next: TrustState) {
        let mut state = self.state.write();
        let same = state.keys == next.keys && state.revocations == next.revocations;
        next.generation = state.generation + u64::from(!same);
        *state = Arc::new(next);
    }

    /// Judges a plugin by the lists in force: its status, and whether it may run.
    pub fn judge(
        &self,
        manifest: &Manifest,
        pinned: Option<&ContentHash>,
        now: Timestamp,
    ) -> Result<PluginVerdict, Problem> {
        let (state, allowed) = (self.current_state(), self.allow_list_for(manifest));
        judge_manifest(manifest, &state.trust_context(&allowed, pinned, now))
    }

    /// The allow list entry of a plugin: one content, with the permissions that it requests.
    fn allow_list_for(&self, manifest: &Manifest) -> AllowList {
        let named = self.setup.allowed.iter().filter(|(id, _)| *id == manifest.id);
        let allowed = named.map(|(id, hash)| AllowListEntry {
            id: id.clone(),
            content_hash: Some(hash.clone()),
            permissions: manifest.permissions.clone(),
        });
        AllowList(allowed.collect())
    }

    /// The key list as the root signed it.
    pub fn keys_text(&self) -> Option<String> {
        self.current_state().keys_text.clone()
    }

    /// The revocation list as the root signed it.
    pub fn revocations_text(&self) -> Option<String> {
        self.current_state().revocations_text.clone()
    }

    /// The root and lists in force, for display.
    pub fn summary(&self) -> TrustSummary {
        let state = self.current_state();
        TrustSummary {
            root: state.pin.as_ref().map(|pin| pin.root.clone()).or_else(|| self.configured_root()),
            keys: state.keys_text.as_ref().map(|_| state.keys.number),
            revocations: state.revocations_text.as_ref().map(|_| state.revocations.number),
            curator: self.setup.curator.as_ref().map(|key| key.public_key().id()),
        }
    }

    /// Whether this server signs plugins.
    pub fn is_curator(&self) -> bool {
        self.setup.curator.is_some()
    }

    /// The configured root, or the root of this server's own lists.
    fn configured_root(&self) -> Option<PublicKey> {
        self.setup.root.clone().or_else(|| self.own_root().map(SecretKey::public_key))
    }

    /// The key with which this server signs lists: the root key, or its only key.
    fn own_root(&self) -> Option<&SecretKey> {
        let only = self.setup.curator.as_ref().filter(|_| self.setup.keys_file.is_none());
        self.setup.root_secret.as_ref().or(only)
    }
}

impl PluginJudge for PluginTrust {
    /// A verdict is cached as long as it is valid.
    fn judge_text(
        &self,
        text: &str,
        pinned: Option<&ContentHash>,
        now: Timestamp,
    ) -> Result<Arc<JudgedManifest>, ManifestError> {
        let (state, key) = (self.current_state(), VerdictKey::new(text, pinned));
        if let Some(judged) = self.verdicts.get(&key, state.generation, now) {
            return Ok(judged);
        }
        let manifest = Arc::new(Manifest::parse(text.as_bytes())?);
        let allowed = self.allow_list_for(&manifest);
        let context = state.trust_context(&allowed, pinned, now);
        let verdict = judge_manifest(&manifest, &context)?;
        let steady = verdict_validity(&manifest, &context);
        let judged = Arc::new(JudgedManifest { manifest, verdict });
        self.verdicts.insert(key, &judged, state.generation, steady);
        Ok(judged)
    }
}

fn check_setup(setup: &TrustSetup) -> Result<(), TrustError> {
    let wrong = |text| Err(TrustError::Setup(text));
    if setup.keys_file.is_some() && setup.root.is_none() {
        return wrong(
            "plugins.keys_file needs plugins.root_key: the public key that the list is signed with",
        );
    }
    if setup.revocations_file.is_some() && setup.keys_file.is_none() {
        return wrong(
            "plugins.revocations_file needs plugins.keys_file; a server that signs its own lists signs both",
        );
    }
    if setup.root_secret.is_some() && setup.curator.is_none() {
        return wrong(
            "a root's secret key without a curator's: a server that signs lists also signs plugins",
        );
    }
    if setup.keys_file.is_none() {
        let own = setup.root_secret.as_ref().or(setup.curator.as_ref()).map(SecretKey::public_key);
        match (&setup.root, own) {
            (Some(named), Some(own)) if *named != own => {
                return wrong("plugins.root_key is not the key with which this server signs its lists");
            }
            (Some(_), None) => {
                return wrong(
                    "plugins.root_key has no effect alone: add plugins.keys_file, or a curator's key",
                );
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
