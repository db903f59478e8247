//! Which plugins this server trusts: keys that a root vouches for, what was revoked, and the unsigned plugins that the operator
//! allowed one by one.
//!
//! Lists come signed, from files or made here where this server is the curator. A list that is not taken leaves the one
//! before in force; where there is none before, nobody is believed.

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

/// Under which names the documents are stored.
const PIN: &str = "pin";
const KEYS: &str = "keys";
const REVOCATIONS: &str = "revocations";

/// What the operator says of trust.
#[derive(Debug, Default)]
pub struct TrustSetup {
    /// The root key that is pinned.
    pub root: Option<PublicKey>,
    /// The key list, signed by the root.
    pub keys_file: Option<PathBuf>,
    /// The revocation list, signed by the root.
    pub revocations_file: Option<PathBuf>,
    /// The key with which this server signs plugins, where it is a curator.
    pub curator: Option<SecretKey>,
    /// Whose key that is, for people.
    pub owner: String,
    /// The secret half of the root, where this server signs lists itself.
    pub root_secret: Option<SecretKey>,
    /// Unsigned plugins that may run, each by id and content.
    pub allowed: Vec<(PluginId, ContentHash)>,
}

/// Why lists or keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Settings that do not fit together.
    #[error("{0}")]
    Setup(&'static str),
    /// A list that is not taken.
    #[error("the {what}: {error}")]
    List {
        /// Which.
        what: &'static str,
        /// Why.
        error: ListError,
    },
    /// A file that cannot be read.
    #[error("the {what} {}: {error}", path.display())]
    File {
        /// Which list.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// Something was not signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// This server has no key for it.
    #[error("{0}")]
    NoSigningKey(&'static str),
    /// Signed, and still not believed: the lists do not have the key.
    #[error("signed, but this server would not believe it: {0}")]
    NotTrusted(String),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is in force.
#[derive(Debug, Clone)]
struct TrustState {
    pin: Option<RootPin>,
    keys: KeyList,
    keys_text: Option<String>,
    revocations: RevocationList,
    revocations_text: Option<String>,
    /// Grows whenever one of the lists is another. Not their numbers: a root may sign two lists of one number.
    generation: u64,
}

impl TrustState {
    fn build_ground<'a>(
        &'a self,
        allowed: &'a AllowList,
        pinned: Option<&'a ContentHash>,
        now: Timestamp,
    ) -> TrustContext<'a> {
        TrustContext { keys: &self.keys, revocations: &self.revocations, allowed, pinned, now }
    }
}

/// The pin as it is stored, with the root that the operator had named: another root is a new beginning.
#[derive(Serialize, Deserialize)]
struct StoredPin {
    configured: PublicKey,
    pin: RootPin,
}

/// Which root and lists are in force.
#[derive(Debug, Clone)]
pub struct TrustSummary {
    /// The root; another than the configured one where that handed over.
    pub root: Option<PublicKey>,
    /// The number of the key list.
    pub keys: Option<u64>,
    /// The number of the revocation list.
    pub revocations: Option<u64>,
    /// The key with which this server signs plugins.
    pub curator: Option<KeyId>,
}

/// Whom this server believes.
pub struct PluginTrust {
    setup: TrustSetup,
    lists: Arc<dyn PluginListStore>,
    state: RwLock<Arc<TrustState>>,
    verdicts: VerdictCache,
    /// One change at a time: numbers of lists only grow.
    changing: tokio::sync::Mutex<()>,
}

impl PluginTrust {
    /// Checks the setup and reads the lists.
    pub async fn open(
        setup: TrustSetup,
        lists: Arc<dyn PluginListStore>,
        now: Timestamp,
    ) -> Result<Self, TrustError> {
        check_setup(&setup)?;
        let nobody = TrustState {
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
            state: RwLock::new(Arc::new(nobody)),
            verdicts: VerdictCache::default(),
            changing: tokio::sync::Mutex::new(()),
        };
        trust.read_lists(now, refresh::LoadPhase::Start).await?;
        Ok(trust)
    }

    /// Reads the lists again. What is not taken leaves what was before in force. True where something is new.
    pub async fn refresh(&self, now: Timestamp) -> Result<bool, TrustError> {
        self.read_lists(now, refresh::LoadPhase::Later).await
    }

    fn current_state(&self) -> Arc<TrustState> {
        self.state.read().clone()
    }

    fn set_state(&self, mut next: TrustState) {
        let mut believed = self.state.write();
        let same = believed.keys == next.keys && believed.revocations == next.revocations;
        next.generation = believed.generation + u64::from(!same);
        *believed = Arc::new(next);
    }

    /// Says what a plugin is and whether it may run, by what is in force now.
    pub fn judge(
        &self,
        manifest: &Manifest,
        pinned: Option<&ContentHash>,
        now: Timestamp,
    ) -> Result<PluginVerdict, Problem> {
        let (believed, allowed) = (self.current_state(), self.allow_list_for(manifest));
        judge_manifest(manifest, &believed.build_ground(&allowed, pinned, now))
    }

    /// Allowed is one content, and with it what that content asks for.
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

    /// What is in force, for people to see.
    pub fn summary(&self) -> TrustSummary {
        let believed = self.current_state();
        TrustSummary {
            root: believed.pin.as_ref().map(|pin| pin.root.clone()).or_else(|| self.configured_root()),
            keys: believed.keys_text.as_ref().map(|_| believed.keys.number),
            revocations: believed.revocations_text.as_ref().map(|_| believed.revocations.number),
            curator: self.setup.curator.as_ref().map(|key| key.public_key().id()),
        }
    }

    /// Whether this server signs plugins.
    pub fn is_curator(&self) -> bool {
        self.setup.curator.is_some()
    }

    /// The root that the operator means: named, or that of this server's own lists.
    fn configured_root(&self) -> Option<PublicKey> {
        self.setup.root.clone().or_else(|| self.own_root().map(SecretKey::public_key))
    }

    /// The key with which this server signs lists: the root's, or its only one.
    fn own_root(&self) -> Option<&SecretKey> {
        let only = self.setup.curator.as_ref().filter(|_| self.setup.keys_file.is_none());
        self.setup.root_secret.as_ref().or(only)
    }
}

impl PluginJudge for PluginTrust {
    /// What a text came to before is said again as long as it stands.
    fn judge_text(
        &self,
        text: &str,
        pinned: Option<&ContentHash>,
        now: Timestamp,
    ) -> Result<Arc<JudgedManifest>, ManifestError> {
        let (believed, asked) = (self.current_state(), VerdictKey::new(text, pinned));
        if let Some(judged) = self.verdicts.get(&asked, believed.generation, now) {
            return Ok(judged);
        }
        let manifest = Arc::new(Manifest::parse(text.as_bytes())?);
        let allowed = self.allow_list_for(&manifest);
        let ground = believed.build_ground(&allowed, pinned, now);
        let verdict = judge_manifest(&manifest, &ground)?;
        let steady = verdict_validity(&manifest, &ground);
        let judged = Arc::new(JudgedManifest { manifest, verdict });
        self.verdicts.insert(asked, &judged, believed.generation, steady);
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
            "plugins.revocations_file needs plugins.keys_file; a server that makes its own lists makes both",
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
                    "plugins.root_key alone says nothing: add plugins.keys_file, or a curator's key",
                );
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
