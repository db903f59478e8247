//! A cache of verdicts, so that a call or a page of the catalogue does not check signatures again. A verdict is valid
//! for exactly one text, as long as the lists do not change and none of their dates passes.

use std::{ops::Range, sync::Arc};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use toolyard_core::bounded_cache::BoundedCache;
use toolyard_protocol::plugin::ContentHash;
use toolyard_trust::JudgedManifest;

/// Most texts.
const MAX_TEXTS: usize = 4_096;
/// Total size of the texts, in bytes. In parsed form they take a few times as much.
const MAX_BYTES: usize = 8 * 1024 * 1024;

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

/// The cached verdicts.
pub(super) struct VerdictCache(BoundedCache<VerdictKey, Arc<CachedVerdict>>);

impl Default for VerdictCache {
    fn default() -> Self {
        let size = |cached: &Arc<CachedVerdict>| cached.judged.manifest.raw().len();
        Self(BoundedCache::with_bytes(MAX_TEXTS, MAX_BYTES, size))
    }
}

impl VerdictCache {
    /// The cached verdict, if it is still valid.
    pub(super) fn get(
        &self,
        key: &VerdictKey,
        generation: u64,
        now: Timestamp,
    ) -> Option<Arc<JudgedManifest>> {
        let cached = self.0.get(key)?;
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
        self.0.insert(key, cached);
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
        for number in 0..MAX_TEXTS + 5 {
            verdicts.insert(VerdictKey::new(&number.to_string(), None), &judged, 0, always.clone());
            assert!(verdicts.get(&wanted, 0, at(1)).is_some(), "{number}");
        }
        assert!(verdicts.get(&VerdictKey::new("0", None), 0, at(1)).is_none(), "nobody asked for it");
    }

    #[test]
    fn the_cache_is_bounded_by_bytes() {
        let verdicts = VerdictCache::default();
        let keys: Vec<_> = (0..20)
            .map(|number| {
                let (key, one) = judged(MAX_BYTES / 10 + number);
                verdicts.insert(key.clone(), &one, 0, at(0)..at(9));
                key
            })
            .collect();
        let kept: Vec<_> = keys.iter().map(|key| verdicts.get(key, 0, at(1)).is_some()).collect();
        assert_eq!(kept, [[false; 11].as_slice(), &[true; 9]].concat());
    }
}
