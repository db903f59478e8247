//! A cache of verdicts, so that a call or a page of the catalogue does not check signatures again. A verdict is valid
//! for exactly one text, as long as the lists do not change and none of their dates passes.

use std::{collections::HashMap, ops::Range, sync::Arc};

use jiff::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use toolyard_protocol::plugin::ContentHash;
use toolyard_trust::JudgedManifest;

/// Most texts in one half.
const MAX_TEXTS: usize = 1_024;
/// Total size of the texts in one half, in bytes. In parsed form they take a few times as much.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The key of a verdict: the digest of the text itself, not a hash that the manifest claims.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct VerdictKey {
    text: [u8; 32],
    pinned: Option<ContentHash>,
}

impl VerdictKey {
    pub(super) fn new(text: &str, pinned: Option<&ContentHash>) -> Self {
        Self { text: Sha256::digest(text.as_bytes()).into(), pinned: pinned.cloned() }
    }
}

struct CachedVerdict {
    judged: Arc<JudgedManifest>,
    /// The generation of the lists.
    generation: u64,
    steady: Range<Timestamp>,
}

/// Two halves: when the young half is full it replaces the old one, and entries that are used again move to the young
/// half. So unused entries are dropped without tracking their use.
#[derive(Default)]
struct VerdictHalves {
    young: HashMap<VerdictKey, Arc<CachedVerdict>>,
    bytes: usize,
    old: HashMap<VerdictKey, Arc<CachedVerdict>>,
}

impl VerdictHalves {
    fn insert(&mut self, key: VerdictKey, cached: Arc<CachedVerdict>) {
        let bytes = cached.judged.manifest.raw().len();
        if self.young.len() >= MAX_TEXTS || self.bytes + bytes > MAX_BYTES {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        if self.young.insert(key, cached).is_none() {
            self.bytes += bytes;
        }
    }
}

/// The cached verdicts.
#[derive(Default)]
pub(super) struct VerdictCache(Mutex<VerdictHalves>);

impl VerdictCache {
    /// The cached verdict, if it is still valid.
    pub(super) fn get(
        &self,
        key: &VerdictKey,
        generation: u64,
        now: Timestamp,
    ) -> Option<Arc<JudgedManifest>> {
        let mut halves = self.0.lock();
        let cached = match halves.young.get(key) {
            Some(cached) => cached.clone(),
            None => {
                let cached = halves.old.remove(key)?;
                halves.insert(key.clone(), cached.clone());
                cached
            }
        };
        let stands = cached.generation == generation && cached.steady.contains(&now);
        stands.then(|| cached.judged.clone())
    }

    pub(super) fn insert(
        &self,
        key: VerdictKey,
        judged: &Arc<JudgedManifest>,
        generation: u64,
        steady: Range<Timestamp>,
    ) {
        let cached = Arc::new(CachedVerdict { judged: judged.clone(), generation, steady });
        self.0.lock().insert(key, cached);
    }
}

#[cfg(test)]
mod tests {
    use toolyard_protocol::plugin::Manifest;
    use toolyard_trust::{AllowList, KeyList, RevocationList, TrustContext, judge_manifest};

    use super::*;

    fn judged(filling: usize) -> (VerdictKey, Arc<JudgedManifest>) {
        let text = format!(
            r#"{{"schemaVersion":1,"id":"x","name":"X","version":"1.0.0","publisher":"X","filling":"{}",
                "tools":[{{"name":"go","parameters":{{"type":"object"}},"executorCode":"return 1;"}}]}}"#,
            "x".repeat(filling)
        );
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        let ground = TrustContext {
            keys: &KeyList::from_local_keys([]),
            revocations: &RevocationList::default(),
            allowed: &AllowList::default(),
            pinned: None,
            now: at(0),
        };
        let verdict = judge_manifest(&manifest, &ground).unwrap();
        (VerdictKey::new(&text, None), Arc::new(JudgedManifest { manifest: Arc::new(manifest), verdict }))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn counts(verdicts: &VerdictCache) -> (usize, usize) {
        let halves = verdicts.0.lock();
        (halves.young.len(), halves.old.len())
    }

    #[test]
    fn a_verdict_is_valid_for_its_key_lists_and_time() {
        let (verdicts, (key, first)) = (VerdictCache::default(), judged(0));
        verdicts.insert(key.clone(), &first, 3, at(10)..at(20));
        for (generation, second, found) in
            [(3, 10, true), (3, 19, true), (3, 9, false), (3, 20, false), (2, 15, false), (4, 15, false)]
        {
            assert_eq!(verdicts.get(&key, generation, at(second)).is_some(), found, "{generation} {second}");
        }
        let hash = ContentHash::from_digest(&[1; 32]);
        let pinned = VerdictKey::new(first.manifest.raw(), Some(&hash));
        assert!(verdicts.get(&pinned, 3, at(15)).is_none(), "pinned is another question");
        let spaced = format!("{} ", first.manifest.raw());
        assert!(verdicts.get(&VerdictKey::new(&spaced, None), 3, at(15)).is_none());
    }

    #[test]
    fn used_verdicts_survive_a_full_cache() {
        let verdicts = VerdictCache::default();
        let always = at(0)..at(9);
        let (wanted, judged) = judged(1);
        verdicts.insert(wanted.clone(), &judged, 0, always.clone());
        for number in 0..2 * MAX_TEXTS + 5 {
            verdicts.insert(VerdictKey::new(&number.to_string(), None), &judged, 0, always.clone());
            assert!(verdicts.get(&wanted, 0, at(1)).is_some(), "{number}");
            let (young, old) = counts(&verdicts);
            assert!(young <= MAX_TEXTS && old <= MAX_TEXTS);
        }
        assert!(verdicts.get(&VerdictKey::new("0", None), 0, at(1)).is_none(), "nobody asked for it");
    }

    #[test]
    fn the_cache_is_bounded_by_bytes() {
        let verdicts = VerdictCache::default();
        let long = MAX_BYTES / 5;
        for number in 0..20 {
            let (key, one) = judged(long + number);
            verdicts.insert(key, &one, 0, at(0)..at(9));
            let (young, old) = counts(&verdicts);
            assert!(young <= 5 && old <= 5, "{young} {old}");
        }
    }
}
