//! A cache of recent audio, in memory only, limited by number and bytes.

use std::sync::Arc;

use tokio::sync::OnceCell;
use toolyard_core::bounded_cache::BoundedCache;

use super::synthesizer::SpeechAudio;

/// Most entries, those in progress included.
const MAX_SOUNDS: usize = 1_024;

/// The cache key: a digest of everything that determines the audio.
pub(super) type SoundKey = [u8; 32];

/// Audio, or an empty slot while it is synthesized. Further requests for the same wait for it.
pub(super) type SoundSlot = Arc<OnceCell<SpeechAudio>>;

/// Slots, by key.
pub(super) struct SoundCache(BoundedCache<SoundKey, SoundSlot>);

impl SoundCache {
    /// A cache of at most this many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        let size = |slot: &SoundSlot| slot.get().map_or(0, |audio| audio.bytes.len());
        Self(BoundedCache::with_bytes(MAX_SOUNDS, bytes, size))
    }

    /// The slot for a key, created if it is missing.
    pub(super) fn slot(&self, key: SoundKey) -> SoundSlot {
        self.0.get_or_insert_with(key, SoundSlot::default)
    }

    /// Keeps a slot that was filled: only now its size is known.
    pub(super) fn store(&self, key: SoundKey, slot: SoundSlot) {
        self.0.insert(key, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(cache: &SoundCache, key: u8, bytes: usize) {
        let slot = cache.slot([key; 32]);
        slot.set(SpeechAudio { media_type: "audio/wav", bytes: vec![0; bytes].into() }).unwrap();
        cache.store([key; 32], slot);
    }

    fn is_cached(cache: &SoundCache, key: u8) -> bool {
        cache.slot([key; 32]).get().is_some()
    }

    #[test]
    fn the_least_recently_used_is_evicted() {
        let cache = SoundCache::new(10_000);
        fill(&cache, 1, 4_000);
        fill(&cache, 2, 4_000);
        assert!(is_cached(&cache, 1), "and becomes the most recently used");
        fill(&cache, 3, 4_000);
        assert!(!is_cached(&cache, 2) && is_cached(&cache, 1) && is_cached(&cache, 3));
        fill(&cache, 4, 10_001);
        assert!(!is_cached(&cache, 4), "audio larger than the cache is not kept");
        assert!(is_cached(&cache, 1) && is_cached(&cache, 3), "and evicts nothing");
    }

    #[test]
    fn a_cache_of_zero_bytes_keeps_nothing_but_requests_share_a_synthesis() {
        let cache = SoundCache::new(0);
        assert!(Arc::ptr_eq(&cache.slot([1; 32]), &cache.slot([1; 32])));
        fill(&cache, 1, 4);
        assert!(!is_cached(&cache, 1));
    }
}
