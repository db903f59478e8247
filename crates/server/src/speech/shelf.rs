//! Sounds that were made lately, for whoever asks for the same. In memory only, and bounded by number and by bytes.

use std::{collections::VecDeque, sync::Arc};

use tokio::sync::OnceCell;

use super::speaker::Sound;

/// Most sounds on the shelf, those that are being made included.
const MAX_SOUNDS: usize = 256;

/// By what a sound is found again: a digest of everything that makes it what it is.
pub(super) type Key = [u8; 32];

/// A sound, or the place for one that is being made: who comes second waits for it.
pub(super) type Place = Arc<OnceCell<Sound>>;

/// The places, the one that was not asked for longest first.
pub(super) struct Shelf {
    places: VecDeque<(Key, Place)>,
    bytes: usize,
}

impl Shelf {
    /// Room for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { places: VecDeque::new(), bytes }
    }

    /// The place of a sound.
    pub(super) fn place(&mut self, key: Key) -> Place {
        let known = self.places.iter().position(|(known, _)| *known == key);
        let place = known.and_then(|at| self.places.remove(at)).map(|(_, place)| place).unwrap_or_default();
        self.places.push_back((key, place.clone()));
        self.tidy();
        place
    }

    /// Makes room; called when a sound was made, too.
    pub(super) fn tidy(&mut self) {
        let size = |place: &Place| place.get().map_or(0, |sound| sound.bytes.len());
        let mut bytes: usize = self.places.iter().map(|(_, place)| size(place)).sum();
        while self.places.len() > MAX_SOUNDS || bytes > self.bytes {
            let Some((_, oldest)) = self.places.pop_front() else { return };
            bytes = bytes.saturating_sub(size(&oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound(bytes: usize) -> Sound {
        Sound { media_type: "audio/wav", bytes: vec![0; bytes].into() }
    }

    fn fill(shelf: &mut Shelf, key: u8, bytes: usize) {
        shelf.place([key; 32]).set(sound(bytes)).unwrap();
        shelf.tidy();
    }

    #[test]
    fn the_oldest_gives_way_to_bytes() {
        let mut shelf = Shelf::new(10);
        fill(&mut shelf, 1, 4);
        fill(&mut shelf, 2, 4);
        assert!(shelf.place([1; 32]).get().is_some(), "and is the latest now");
        fill(&mut shelf, 3, 4);
        assert!(shelf.place([2; 32]).get().is_none());
        assert!(shelf.place([1; 32]).get().is_some() && shelf.place([3; 32]).get().is_some());
        fill(&mut shelf, 4, 11);
        assert!(shelf.places.is_empty(), "a sound without room is not kept");
    }

    #[test]
    fn there_are_so_many_places() {
        let mut shelf = Shelf::new(10);
        for number in 0..=MAX_SOUNDS {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_be_bytes());
            shelf.place(key);
        }
        assert_eq!(shelf.places.len(), MAX_SOUNDS);
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let mut shelf = Shelf::new(0);
        fill(&mut shelf, 1, 4);
        assert!(shelf.place([1; 32]).get().is_none());
    }
}
