//! Numbers in page bytes, and a bit map over a page: what the page types share.
//!
//! [`u16_at`] and its kin index like a slice: with a constant offset into a [`PageBytes`] the bounds check folds away.
//! [`Coverage`] answers whether runs of bytes overlap, without sorting or allocating, for `check()`.

use super::{PAGE_SIZE, PageBytes};

macro_rules! numbers {
    ($($get:ident $put:ident $type:ty;)*) => {
        $(
            #[doc = concat!("The little-endian `", stringify!($type), "` at an offset.")]
            #[inline(always)]
            pub fn $get(bytes: &[u8], at: usize) -> $type {
                let mut raw = [0; size_of::<$type>()];
                raw.copy_from_slice(&bytes[at..at + size_of::<$type>()]);
                <$type>::from_le_bytes(raw)
            }

            #[doc = concat!("Stores a `", stringify!($type), "` little-endian at an offset.")]
            #[inline(always)]
            pub fn $put(bytes: &mut [u8], at: usize, value: $type) {
                bytes[at..at + size_of::<$type>()].copy_from_slice(&value.to_le_bytes());
            }
        )*
    };
}

numbers! {
    u16_at put_u16 u16;
    u32_at put_u32 u32;
    u64_at put_u64 u64;
}

/// The runs of bytes of a page that are taken.
pub struct Coverage {
    words: [u64; PAGE_SIZE / 64],
}

impl Coverage {
    /// Nothing is taken.
    pub fn empty() -> Coverage {
        Coverage { words: [0; PAGE_SIZE / 64] }
    }

    /// Takes `from..to`. False when the run leaves the page or a byte of it was taken before.
    #[must_use]
    pub fn take(&mut self, from: usize, to: usize) -> bool {
        if from > to || to > PAGE_SIZE {
            return false;
        }
        let mut at = from;
        let mut free = true;
        while at < to {
            let (word, bit) = (at / 64, at % 64);
            let run = (64 - bit).min(to - at);
            let bits = (u64::MAX >> (64 - run)) << bit;
            free &= self.words[word] & bits == 0;
            self.words[word] |= bits;
            at += run;
        }
        free
    }
}

/// True when a run of bytes is zero. The run must lie in the page.
pub fn is_zero(page: &PageBytes, from: usize, to: usize) -> bool {
    const ZEROS: PageBytes = [0; PAGE_SIZE];
    page[from..to] == ZEROS[from..to]
}

/// Bytes that two runs begin with alike, compared eight at a time.
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let ((a_words, _), (b_words, _)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let words = a_words.iter().zip(b_words).take_while(|(x, y)| x == y).count();
    let from = words * 8;
    from + a[from..].iter().zip(&b[from..]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_finds_overlaps_at_every_edge() {
        let mut coverage = Coverage::empty();
        assert!(coverage.take(0, 64));
        assert!(coverage.take(70, 200));
        assert!(coverage.take(64, 70));
        assert!(coverage.take(PAGE_SIZE - 1, PAGE_SIZE));
        assert!(coverage.take(300, 300), "an empty run is free");
        for (from, to) in [(63, 64), (199, 201), (0, PAGE_SIZE), (PAGE_SIZE - 1, PAGE_SIZE)] {
            assert!(!coverage.take(from, to), "{from}..{to}");
        }
        assert!(!coverage.take(PAGE_SIZE, PAGE_SIZE + 1));
        assert!(!coverage.take(9, 8));
    }

    #[test]
    fn numbers_are_little_endian() {
        let mut bytes = [0; 16];
        put_u16(&mut bytes, 1, 0x0102);
        put_u32(&mut bytes, 3, 0x0304_0506);
        put_u64(&mut bytes, 7, 0x0708_090A_0B0C_0D0E);
        assert_eq!(bytes, [0, 2, 1, 6, 5, 4, 3, 0xE, 0xD, 0xC, 0xB, 0xA, 9, 8, 7, 0]);
        assert_eq!((u16_at(&bytes, 1), u32_at(&bytes, 3)), (0x0102, 0x0304_0506));
        assert_eq!(u64_at(&bytes, 7), 0x0708_090A_0B0C_0D0E);
    }
}
