//! The run's only source of chance: a number that the seed starts.

use std::cell::Cell;

/// SplitMix64: one word of state, and every seed gives a different stream.
pub(super) struct Random(Cell<u64>);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(Cell::new(seed))
    }

    /// Any number.
    pub(super) fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.0.set(state);
        scramble(state)
    }

    /// A number below `bound`, which is not zero. The bias of the remainder does not matter here.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True `of_million` times in a million.
    pub(super) fn chance(&self, of_million: u32) -> bool {
        of_million != 0 && self.below(1_000_000) < of_million as u64
    }

    /// One of the values.
    pub(super) fn pick<T: Copy>(&self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A mixing of all bits of a word.
pub(super) fn scramble(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_stream_and_chances_come_out_right() {
        let (one, other) = (Random::new(7), Random::new(7));
        assert!((0..100).all(|_| one.next() == other.next()));
        let hits = (0..100_000).filter(|_| one.chance(250_000)).count();
        assert!((24_000..26_000).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| (3..=5).contains(&one.between(3, 5))));
    }
}
