//! Hash functions and the pseudorandom permutation: their results are pgbench's, bit for bit, so that a script finds the
//! same rows with either program.
//!
//! ```text
//!   fnv1a, murmur2   a number and a seed -> a number
//!   permute          a number below a size, and a seed -> another number below that size, a different one for each
//! ```
//!
//! The permutation takes its constants from a generator of its own (xoroshiro128** seeded by splitmix64), the one that
//! PostgreSQL has: chance that has to repeat itself in another program cannot come from elsewhere.

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;
const MURMUR: u64 = 0xc6a4_a793_5bd1_e995;

/// FNV-1a over the eight bytes of a number, lowest first.
pub fn fnv1a(value: i64, seed: i64) -> i64 {
    let hash = value
        .to_le_bytes()
        .into_iter()
        .fold(FNV_BASIS ^ seed as u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    hash as i64
}

/// MurmurHash2 of a number.
pub fn murmur2(value: i64, seed: i64) -> i64 {
    let fold = |number: u64| number ^ (number >> 47);
    let key = fold((value as u64).wrapping_mul(MURMUR)).wrapping_mul(MURMUR);
    let hash = (seed as u64 ^ MURMUR.wrapping_mul(8) ^ key).wrapping_mul(MURMUR);
    fold(fold(hash).wrapping_mul(MURMUR)) as i64
}

/// How often the numbers are mixed.
const ROUNDS: usize = 6;

/// Where a number (modulo the size) goes when the numbers from zero to below the size are shuffled. The size is at least one.
pub fn permute(value: i64, size: i64, seed: i64) -> i64 {
    debug_assert!(size > 0);
    if size < 2 {
        return 0;
    }
    let size = size as u64;
    let mut generator = Generator::new(seed as u64);
    let bits = size.ilog2();
    // The largest power of two that fits: within it, multiplying by an odd number, xor and rotating are one-to-one. Mixing
    // the lower and the upper such part in turn, and then turning the whole circle, reaches all numbers.
    let mask = (1u64 << bits) - 1;
    let mix = |number: u64, factor: u64, flip: u64| {
        let mixed = (number.wrapping_mul(factor) ^ flip) & mask;
        ((mixed << 1) & mask) | (mixed >> (bits - 1))
    };
    let mut place = value as u64 % size;
    for _ in 0..ROUNDS {
        let (factor, flip) = ((generator.next() & mask) | 1, generator.next() & mask);
        if place <= mask {
            place = mix(place, factor, flip);
        }
        let (factor, flip) = ((generator.next() & mask) | 1, generator.next() & mask);
        let mirrored = size - 1 - place;
        if mirrored <= mask {
            place = size - 1 - mix(mirrored, factor, flip);
        }
        // Both are below 2 to the power of 63, so their sum fits.
        place += generator.up_to(size - 1);
        if place >= size {
            place -= size;
        }
    }
    place as i64
}

/// xoroshiro128**.
struct Generator(u64, u64);

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut state = seed;
        let mut split = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        Generator(split(), split())
    }

    fn next(&mut self) -> u64 {
        let result = self.0.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let mixed = self.0 ^ self.1;
        self.0 = self.0.rotate_left(24) ^ mixed ^ (mixed << 16);
        self.1 = mixed.rotate_left(37);
        result
    }

    /// A number from zero to `most`, which is at least one.
    fn up_to(&mut self, most: u64) -> u64 {
        let shift = most.leading_zeros();
        loop {
            let number = self.next() >> shift;
            if number <= most {
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_reaches_each_number_once() {
        for size in [1, 2, 3, 5, 8, 13, 64, 100, 1000, 1024, 1025] {
            for seed in [0, 1, -5, 5432] {
                let mut reached: Vec<i64> = (0..size).map(|number| permute(number, size, seed)).collect();
                reached.sort_unstable();
                assert!(reached.iter().copied().eq(0..size), "size {size}, seed {seed}");
            }
        }
    }

    #[test]
    fn the_largest_size_is_permuted_too() {
        for value in [0, 1, i64::MAX, i64::MIN, -1] {
            let place = permute(value, i64::MAX, 7);
            assert!((0..i64::MAX).contains(&place));
        }
    }
}
