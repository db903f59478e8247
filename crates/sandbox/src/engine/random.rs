//! Random numbers for a run, seeded by the host: the engine would seed its own from the clock, which a run may not
//! know.

use std::cell::Cell;

/// xoshiro256++. For `Math.random`, which is not cryptographically secure.
pub(super) struct RandomGenerator(Cell<[u64; 4]>);

impl RandomGenerator {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        let mut state = [0; 4];
        for (word, bytes) in state.iter_mut().zip(seed.chunks_exact(8)) {
            *word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        }
        // It would stay at zero forever.
        if state == [0; 4] {
            state[0] = 1;
        }
        Self(Cell::new(state))
    }

    /// From 0 inclusive to 1 exclusive.
    pub(super) fn next(&self) -> f64 {
        let mut s = self.0.get();
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        self.0.set(s);
        (result >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A version 4 UUID from 16 random bytes.
pub(super) fn format_uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 0x0f] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_alone_and_stay_below_one() {
        let numbers = |seed| {
            let chance = RandomGenerator::new(seed);
            std::array::from_fn::<f64, 100, _>(|_| chance.next())
        };
        assert_eq!(numbers([7; 32]), numbers([7; 32]));
        assert_ne!(numbers([7; 32]), numbers([8; 32]));
        for number in numbers([255; 32]).into_iter().chain(numbers([0; 32])) {
            assert!((0.0..1.0).contains(&number), "{number}");
        }
        let mean = numbers([3; 32]).iter().sum::<f64>() / 100.0;
        assert!((0.3..0.7).contains(&mean), "{mean}");
    }

    #[test]
    fn a_uuid_has_its_version() {
        assert_eq!(format_uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(format_uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
    }
}
