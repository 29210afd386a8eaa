//! A ring of bytes in the region: what is appended at its end goes to a file a little later, block by block.
//!
//! A position counts bytes since the stream began; it lies at `position % len` of the ring. The ring itself knows neither
//! end nor beginning: who appends and who writes agree on them (the log's spinlock and its leader). Bytes are kept as atomic
//! words, so whatever they do memory stays sound; getting the wrong bytes is the worst that can happen.
//!
//! Rules
//! 1. Positions and lengths are multiples of 8; a write begins at a multiple of 4096.
//! 2. What a request of [`Ring::write`] writes does not change before it is over: nothing is put there, and a last block that
//!    is not full is written from a copy, with zeros behind. There is one such copy, so one write at a time.

use super::reserve::Reserve;
use crate::io::{self, Buffer, FileName};
use crate::wait::Event;
use base::Result;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORD: usize = 8;
const BLOCK: usize = 4096;

/// A ring of bytes; see the head of this file.
#[derive(Clone, Copy)]
pub struct Ring {
    words: &'static [AtomicU64],
    /// The copy of a last block that is not full.
    last: &'static [AtomicU64],
    bytes: usize,
}

impl Ring {
    /// Makes a ring of `bytes` bytes, a power of two, and backs it with memory. Only before the first engine runs.
    ///
    /// Errors: `53200`.
    pub fn make(name: &'static str, bytes: usize) -> Result<Ring> {
        assert!(bytes.is_power_of_two() && bytes >= BLOCK, "a ring of {bytes} bytes");
        let words = Reserve::<AtomicU64>::make(name, (bytes + BLOCK) / WORD);
        words.back(0, words.len())?;
        let (words, last) = words.all().split_at(bytes / WORD);
        Ok(Ring { words, last, bytes })
    }

    /// How many bytes it holds.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never: for the rule that what has a length can be empty.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The words from `position` on, in the two pieces that the ring's end makes of them.
    #[inline]
    fn pieces(&self, position: u64, bytes: usize) -> (&'static [AtomicU64], &'static [AtomicU64]) {
        assert!(bytes <= self.bytes && (position as usize | bytes).is_multiple_of(WORD));
        let first = position as usize % self.bytes / WORD;
        let count = bytes / WORD;
        let here = count.min(self.words.len() - first);
        (&self.words[first..first + here], &self.words[..count - here])
    }

    /// Puts bytes at a position.
    #[inline]
    pub fn put(&self, position: u64, bytes: &[u8]) {
        let (first, second) = self.pieces(position, bytes.len());
        let (words, _) = bytes.as_chunks::<WORD>();
        for (word, value) in first.iter().chain(second).zip(words) {
            word.store(u64::from_ne_bytes(*value), Relaxed);
        }
    }

    /// Gets the bytes at a position.
    pub fn get(&self, position: u64, bytes: &mut [u8]) {
        let (first, second) = self.pieces(position, bytes.len());
        let (words, _) = bytes.as_chunks_mut::<WORD>();
        for (word, value) in first.iter().chain(second).zip(words) {
            *value = word.load(Relaxed).to_ne_bytes();
        }
    }

    /// Writes `bytes` bytes from `position` on to `offset` of a file and returns when they are durable; a last block that is not full is
    /// filled up with zeros. Answers how many bytes were written, which are whole blocks.
    ///
    /// Errors: those of [`io::write_durable_now`].
    pub fn write(&self, event: Event, file: FileName, offset: u64, position: u64, bytes: usize) -> Result<usize> {
        assert!((position as usize | offset as usize).is_multiple_of(BLOCK) && bytes > 0);
        let rest = bytes % BLOCK;
        let (first, second) = self.pieces(position, bytes - rest);
        let (last, _) = self.pieces(position + (bytes - rest) as u64, rest);
        let filled = last.iter().map(|word| word.load(Relaxed)).chain(std::iter::repeat(0));
        if rest > 0 {
            self.last.iter().zip(filled).for_each(|(word, value)| word.store(value, Relaxed));
        }
        let last = if rest > 0 { self.last } else { &[] };
        let pieces = [first, second, last].into_iter().filter(|piece| !piece.is_empty());
        let buffers: Vec<Buffer> = pieces
            .map(|words| {
                let at = NonNull::from(words).cast::<u8>();
                // SAFETY: the words stay for good, the request only reads them, and nothing is put there meanwhile (rule 2); if
                // it were, they are atomic, and the file gets what it gets.
                unsafe { Buffer::new(at, size_of_val(words)) }
            })
            .collect();
        io::write_durable_now(event, file, offset, &buffers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_over_the_end_is_got_back() {
        let _region = crate::region::test_region();
        let ring = Ring::make("test ring", 8192).unwrap();
        let bytes: Vec<u8> = (0..4096u32).map(|at| (at * 7) as u8).collect();
        for position in [0, 8192 - 8, 8192 * 5 + 6000, 8192 * 9 + 4096] {
            ring.put(position, &bytes);
            let mut back = vec![0; bytes.len()];
            ring.get(position, &mut back);
            assert_eq!(back, bytes, "position {position}");
        }
    }
}
