//! Hashing bytes to 64 bits, the same in every process, on every machine and in every run.
//!
//! The statement cache lies in the region and is used by many processes, and a simulated run must repeat: so no seed is
//! taken from chance, as `std`'s hasher does. The function folds 16 bytes a step through one 64 x 64 -> 128 bit product,
//! as the wyhash family does, and ends with two more products so that short inputs differ in all bits.
//!
//! Rules
//! 1. Not for secrets: whoever knows the constants can make collisions. A table that uses it compares the keys as well.
//! 2. The values are not stored on disk: they may change from one version of the server to the next.
//! 3. Little-endian reads everywhere, so the byte order of the machine does not show.

const K0: u64 = 0x9E37_79B9_7F4A_7C15;
const K1: u64 = 0xC2B2_AE3D_27D4_EB4F;
const K2: u64 = 0x1656_67B1_9E37_79F9;

/// Both halves of the product, folded into one.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Up to eight bytes as a number.
#[inline]
fn tail(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0 => 0,
        1..4 => {
            let middle = bytes[bytes.len() / 2];
            u64::from(bytes[0]) | u64::from(middle) << 8 | u64::from(bytes[bytes.len() - 1]) << 16
        }
        4..8 => {
            let low = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let end = &bytes[bytes.len() - 4..];
            let high = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
            u64::from(low) | u64::from(high) << 32
        }
        _ => word(bytes),
    }
}

/// The first eight bytes as a number; the caller has checked that they are there.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => 0,
    }
}

/// The hash of `bytes`.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut state = K0;
    let mut rest = bytes;
    while rest.len() > 16 {
        state = fold(word(rest) ^ K1, word(&rest[8..]) ^ state);
        rest = &rest[16..];
    }
    let (low, high) = if rest.len() > 8 { (word(rest), word(&rest[rest.len() - 8..])) } else { (tail(rest), 0) };
    let mixed = fold(low ^ K1, high ^ state);
    // The length goes in last: at the front one more byte could cancel a changed bit.
    fold(mixed ^ K2, state ^ (bytes.len() as u64).wrapping_mul(K2))
}

/// The hash of a number.
#[inline]
pub fn hash_u64(value: u64) -> u64 {
    fold(fold(value ^ K1, K0), K2 ^ value)
}

/// Adds the hash of another column to that of the columns before it.
#[inline]
pub fn combine(state: u64, hash: u64) -> u64 {
    fold(state ^ K0, hash ^ K1) ^ state.rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_values_are_pinned() {
        // Two processes of one server must agree; a change here is a change of every one of them.
        let values = [hash_bytes(b""), hash_bytes(b"a"), hash_bytes(b"select 1"), hash_bytes(&[7; 100]), hash_u64(1)];
        let pinned = [
            11_604_625_753_023_137_980,
            9_395_555_257_532_536_412,
            10_759_265_283_885_817_698,
            7_392_249_959_340_941_643,
            5_415_495_493_319_133_825,
        ];
        assert_eq!(values, pinned);
    }

    #[test]
    fn every_byte_and_the_length_count() {
        for len in 1..80usize {
            let base = vec![0x5Au8; len];
            let mut seen = HashSet::from([hash_bytes(&base), hash_bytes(&vec![0x5Au8; len - 1])]);
            assert_eq!(seen.len(), 2);
            for at in 0..len {
                for bit in 0..8 {
                    let mut changed = base.clone();
                    changed[at] ^= 1 << bit;
                    assert!(seen.insert(hash_bytes(&changed)), "len {len} at {at} bit {bit}");
                }
            }
        }
    }

    #[test]
    fn bits_are_spread() {
        // Consecutive integers fill 4096 buckets about evenly, by the low and by the high bits.
        for shift in [0u32, 52] {
            let mut buckets = vec![0u32; 4096];
            for value in 0..65_536u64 {
                buckets[(hash_u64(value) >> shift) as usize & 4095] += 1;
            }
            let worst = buckets.iter().max().copied().unwrap_or(0);
            assert!(worst < 48, "a bucket holds {worst} where 16 are expected");
        }
    }
}
