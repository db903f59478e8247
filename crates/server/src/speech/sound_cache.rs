//! Sounds that were made lately, for whoever asks for the same. In memory only, and bounded by number and by bytes.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::OnceCell;

use super::synthesizer::SpeechAudio;

/// Most sounds on the shelf, those that are being made included.
const MAX_SOUNDS: usize = 256;

/// By what a sound is found again: a digest of everything that makes it what it is.
pub(super) type SoundKey = [u8; 32];

/// A sound, or the place for one that is being made: who comes second waits for it.
pub(super) type SoundSlot = Arc<OnceCell<SpeechAudio>>;

/// The places, the one that was not asked for longest first.
pub(super) struct SoundCache {
    slots: VecDeque<(SoundKey, SoundSlot)>,
    max_bytes: usize,
}

impl SoundCache {
    /// Room for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { slots: VecDeque::new(), max_bytes: bytes }
    }

    /// The place of a sound.
    pub(super) fn slot(&mut self, key: SoundKey) -> SoundSlot {
        let known = self.slots.iter().position(|(known, _)| *known == key);
        let place = known.and_then(|at| self.slots.remove(at)).map(|(_, place)| place).unwrap_or_default();
        self.slots.push_back((key, place.clone()));
        self.evict();
        place
    }

    /// Makes room; called when a sound was made, too.
    pub(super) fn evict(&mut self) {
        let size = |place: &SoundSlot| place.get().map_or(0, |sound| sound.bytes.len());
        let mut bytes: usize = self.slots.iter().map(|(_, place)| size(place)).sum();
        while self.slots.len() > MAX_SOUNDS || bytes > self.max_bytes {
            let Some((_, oldest)) = self.slots.pop_front() else { return };
            bytes = bytes.saturating_sub(size(&oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(bytes: usize) -> SpeechAudio {
        SpeechAudio { media_type: "audio/wav", bytes: vec![0; bytes].into() }
    }

    fn fill(shelf: &mut SoundCache, key: u8, bytes: usize) {
        shelf.slot([key; 32]).set(sound(bytes)).unwrap();
        shelf.evict();
    }

    #[test]
    fn the_oldest_gives_way_to_bytes() {
        let mut shelf = SoundCache::new(10);
        fill(&mut shelf, 1, 4);
        fill(&mut shelf, 2, 4);
        assert!(shelf.slot([1; 32]).get().is_some(), "and is the latest now");
        fill(&mut shelf, 3, 4);
        assert!(shelf.slot([2; 32]).get().is_none());
        assert!(shelf.slot([1; 32]).get().is_some() && shelf.slot([3; 32]).get().is_some());
        fill(&mut shelf, 4, 11);
        assert!(shelf.slots.is_empty(), "a sound without room is not kept");
    }

    #[test]
    fn there_are_so_many_places() {
        let mut shelf = SoundCache::new(10);
        for number in 0..=MAX_SOUNDS {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            shelf.slot(key);
        }
        assert_eq!(shelf.slots.len(), MAX_SOUNDS);
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let mut shelf = SoundCache::new(0);
        fill(&mut shelf, 1, 4);
        assert!(shelf.slot([1; 32]).get().is_none());
    }
}
