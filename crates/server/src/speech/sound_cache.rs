//! A cache of recent audio, in memory only, limited by number and bytes.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::OnceCell;

use super::synthesizer::SpeechAudio;

/// Most entries, those in progress included.
const MAX_SOUNDS: usize = 256;

/// The cache key: a digest of everything that determines the audio.
pub(super) type SoundKey = [u8; 32];

/// Audio, or an empty slot while it is synthesized. Further requests for the same wait for it.
pub(super) type SoundSlot = Arc<OnceCell<SpeechAudio>>;

/// Slots, least recently used first.
pub(super) struct SoundCache {
    slots: VecDeque<(SoundKey, SoundSlot)>,
    max_bytes: usize,
}

impl SoundCache {
    /// A cache of at most this many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { slots: VecDeque::new(), max_bytes: bytes }
    }

    /// The slot for a key, created if it is missing.
    pub(super) fn slot(&mut self, key: SoundKey) -> SoundSlot {
        let known = self.slots.iter().position(|(known, _)| *known == key);
        let slot = known.and_then(|at| self.slots.remove(at)).map(|(_, slot)| slot).unwrap_or_default();
        self.slots.push_back((key, slot.clone()));
        self.evict();
        slot
    }

    /// Evicts old entries until the cache is within its limits. Called again after an entry is filled.
    pub(super) fn evict(&mut self) {
        let size = |slot: &SoundSlot| slot.get().map_or(0, |audio| audio.bytes.len());
        let mut bytes: usize = self.slots.iter().map(|(_, slot)| size(slot)).sum();
        while self.slots.len() > MAX_SOUNDS || bytes > self.max_bytes {
            let Some((_, oldest)) = self.slots.pop_front() else { return };
            bytes = bytes.saturating_sub(size(&oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audio(bytes: usize) -> SpeechAudio {
        SpeechAudio { media_type: "audio/wav", bytes: vec![0; bytes].into() }
    }

    fn fill(cache: &mut SoundCache, key: u8, bytes: usize) {
        cache.slot([key; 32]).set(audio(bytes)).unwrap();
        cache.evict();
    }

    #[test]
    fn the_least_recently_used_is_evicted() {
        let mut cache = SoundCache::new(10);
        fill(&mut cache, 1, 4);
        fill(&mut cache, 2, 4);
        assert!(cache.slot([1; 32]).get().is_some(), "and becomes the most recently used");
        fill(&mut cache, 3, 4);
        assert!(cache.slot([2; 32]).get().is_none());
        assert!(cache.slot([1; 32]).get().is_some() && cache.slot([3; 32]).get().is_some());
        fill(&mut cache, 4, 11);
        assert!(cache.slots.is_empty(), "audio larger than the cache is not kept");
    }

    #[test]
    fn the_number_of_entries_is_limited() {
        let mut cache = SoundCache::new(10);
        for number in 0..=MAX_SOUNDS {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            cache.slot(key);
        }
        assert_eq!(cache.slots.len(), MAX_SOUNDS);
    }

    #[test]
    fn a_cache_of_zero_bytes_keeps_nothing() {
        let mut cache = SoundCache::new(0);
        fill(&mut cache, 1, 4);
        assert!(cache.slot([1; 32]).get().is_none());
    }
}
