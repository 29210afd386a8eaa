//! A plan as bytes: how it is written, and how it is read again by any process.
//!
//! ```text
//!  header | constants, programs, lists, nodes in any order, each referred to by its offset
//! ```
//!
//! All numbers are little-endian words of 32 bits; an offset is counted from the plan's first byte, and zero is none, so
//! that a plan means the same wherever it lies. *Records* ([`record`](super::record)) are a tag and words; a *list* is its
//! length and words; a *text* is its length and bytes; a *program* is described in [`program`](super::program).
//!
//! Rules
//! 1. A plan never changes once it is finished. Nothing in it is about one execution.
//! 2. It holds no address, no address of code, no name that has to be looked up.
//! 3. Reading never goes outside the bytes: a wrong offset reads as zeros or as an empty list, which is a bug that tests see, not a crash.

use crate::types::{Datum, Kind, Oid, Type, stored};
use base::{Error, Result, sqlstate};
use std::array;

/// The place of something in a plan. Zero is none.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct At(pub u32);

impl At {
    /// Nothing.
    pub const NONE: At = At(0);

    /// Is it nothing?
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// Writes a plan.
#[derive(Debug, Default)]
pub struct Builder {
    bytes: Vec<u8>,
}

impl Builder {
    /// A builder with room for a header of so many words.
    pub fn new(header_words: usize) -> Builder {
        let mut bytes = Vec::with_capacity(1024);
        bytes.resize(header_words * 4, 0);
        Builder { bytes }
    }

    /// Where the next thing will be.
    pub fn at(&self) -> At {
        At(self.bytes.len() as u32)
    }

    /// Changes a word that was written.
    pub fn patch(&mut self, at: At, word: u32) {
        let at = at.0 as usize;
        self.bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    /// A record, or anything else that is words.
    pub fn words(&mut self, words: &[u32]) -> At {
        let at = self.at();
        for word in words {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        at
    }

    /// A list.
    pub fn list(&mut self, items: &[u32]) -> At {
        if items.is_empty() {
            return At::NONE;
        }
        let at = self.words(&[items.len() as u32]);
        self.words(items);
        at
    }

    /// A text, or other bytes.
    pub fn blob(&mut self, bytes: &[u8]) -> At {
        let at = self.words(&[bytes.len() as u32]);
        self.bytes.extend_from_slice(bytes);
        at
    }

    /// Bytes without a length; their length is kept by whoever refers to them.
    pub fn raw(&mut self, bytes: &[u8]) -> At {
        let at = self.at();
        self.bytes.extend_from_slice(bytes);
        at
    }

    /// The finished plan. Errors: `54001` for one that is too large.
    pub fn finish(self) -> Result<Vec<u8>> {
        if self.bytes.len() > PLAN_BYTES_MAX {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "the statement's plan is too large")
                .detail(format!("It has {} bytes, and may have {PLAN_BYTES_MAX}.", self.bytes.len())));
        }
        Ok(self.bytes)
    }
}

/// The largest plan, in bytes.
pub const PLAN_BYTES_MAX: usize = 256 << 20;

/// Bytes of a plan, for reading.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'p>(pub &'p [u8]);

impl<'p> Bytes<'p> {
    /// The word at a place.
    #[inline]
    pub fn word(self, at: u32) -> u32 {
        match self.0.get(at as usize..).and_then(|rest| rest.first_chunk::<4>()) {
            Some(chunk) => u32::from_le_bytes(*chunk),
            None => 0,
        }
    }

    /// So many words at a place.
    #[inline]
    pub fn words<const N: usize>(self, at: u32) -> [u32; N] {
        match self.run(at, N) {
            Some(run) => array::from_fn(|index| u32::from_le_bytes(run[index])),
            None => array::from_fn(|index| self.word(at + 4 * index as u32)),
        }
    }

    /// The bytes of so many words, if all of them are there.
    #[inline]
    fn run(self, at: u32, words: usize) -> Option<&'p [[u8; 4]]> {
        let bytes = self.0.get(at as usize..)?.get(..4 * words)?;
        Some(bytes.as_chunks::<4>().0)
    }

    /// The half word at a place.
    #[inline]
    pub fn half(self, at: u32) -> u16 {
        match self.0.get(at as usize..).and_then(|rest| rest.first_chunk::<2>()) {
            Some(chunk) => u16::from_le_bytes(*chunk),
            None => 0,
        }
    }

    /// The double word at a place.
    #[inline]
    pub fn double(self, at: u32) -> u64 {
        match self.0.get(at as usize..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => 0,
        }
    }

    /// The byte at a place.
    #[inline]
    pub fn byte(self, at: u32) -> u8 {
        self.0.get(at as usize).copied().unwrap_or(0)
    }

    /// So many bytes at a place.
    #[inline]
    pub fn slice(self, at: u32, length: u32) -> &'p [u8] {
        self.0.get(at as usize..at as usize + length as usize).unwrap_or(&[])
    }

    /// The list at a place.
    #[inline]
    pub fn list(self, at: At) -> List<'p> {
        if at.is_none() {
            return List { words: &[] };
        }
        List { words: self.run(at.0 + 4, self.word(at.0) as usize).unwrap_or_default() }
    }

    /// The blob at a place.
    #[inline]
    pub fn blob(self, at: At) -> &'p [u8] {
        if at.is_none() {
            return &[];
        }
        self.slice(at.0 + 4, self.word(at.0))
    }

    /// The text at a place.
    pub fn text(self, at: At) -> &'p str {
        std::str::from_utf8(self.blob(at)).unwrap_or("")
    }
}

/// A list of words.
#[derive(Clone, Copy, Debug)]
pub struct List<'p> {
    words: &'p [[u8; 4]],
}

impl<'p> List<'p> {
    /// How many words there are.
    #[inline]
    pub fn len(self) -> usize {
        self.words.len()
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.words.is_empty()
    }

    /// The word of that index.
    #[inline]
    pub fn get(self, index: usize) -> u32 {
        debug_assert!(index < self.len());
        self.words.get(index).map_or(0, |word| u32::from_le_bytes(*word))
    }

    /// All words, in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + Clone + 'p {
        self.words.iter().map(|word| u32::from_le_bytes(*word))
    }

    /// The words in groups of `N`.
    #[inline]
    pub fn groups<const N: usize>(self) -> impl ExactSizeIterator<Item = [u32; N]> + Clone + 'p {
        self.words.as_chunks::<N>().0.iter().map(|group| group.map(u32::from_le_bytes))
    }
}

/// A constant that owns its bytes, as plans are being made.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// Null.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer, date or time.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// Everything else.
    Bytes(Vec<u8>),
}

impl Constant {
    /// A copy of a datum.
    pub fn of(datum: Datum<'_>) -> Constant {
        match datum {
            Datum::Null => Constant::Null,
            Datum::Bool(value) => Constant::Bool(value),
            Datum::Int(value) => Constant::Int(value),
            Datum::Float(value) => Constant::Float(value),
            Datum::Bytes(bytes) => Constant::Bytes(bytes.to_vec()),
        }
    }

    /// The datum, borrowed.
    pub fn datum(&self) -> Datum<'_> {
        match self {
            Constant::Null => Datum::Null,
            Constant::Bool(value) => Datum::Bool(*value),
            Constant::Int(value) => Datum::Int(*value),
            Constant::Float(value) => Datum::Float(*value),
            Constant::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

/// Appends values with a mark for null before each: parameters that are parked, rows that are spooled.
pub fn put_value(kind: Kind, datum: Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    if datum.is_null() {
        out.push(0);
        return Ok(());
    }
    out.push(1);
    stored::put(kind, datum, out)
}

/// Reads what [`put_value`] wrote, and the byte after it.
pub fn get_value(kind: Kind, bytes: &[u8], at: usize) -> Result<(Datum<'_>, usize)> {
    match bytes.get(at) {
        Some(0) => Ok((Datum::Null, at + 1)),
        Some(_) => stored::get(kind, bytes, at + 1),
        None => Err(Error::corruption("a parked value is cut short")),
    }
}

/// A type in two words.
pub fn type_words(ty: Type) -> [u32; 2] {
    [ty.oid.0, ty.typmod as u32]
}

/// The type of two words.
pub fn type_of(words: [u32; 2]) -> Type {
    Type { oid: Oid(words[0]), typmod: words[1] as i32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_from_any_address() {
        let mut builder = Builder::new(2);
        let list = builder.list(&[1, u32::MAX, 3, 4]);
        let text = builder.blob("héllo".as_bytes());
        let empty = builder.list(&[]);
        builder.patch(At(4), list.0);
        let plan = builder.finish().unwrap();
        for copy in [plan.clone(), [plan.as_slice(), b"x"].concat()] {
            let bytes = Bytes(&copy);
            assert_eq!(bytes.list(At(bytes.word(4))).iter().collect::<Vec<_>>(), [1, u32::MAX, 3, 4]);
            assert_eq!(bytes.list(list).groups::<2>().collect::<Vec<_>>(), [[1, u32::MAX], [3, 4]]);
            assert_eq!(bytes.text(text), "héllo");
            assert!(bytes.list(empty).is_empty());
        }
    }

    #[test]
    fn a_wrong_offset_reads_zeros() {
        let bytes = Bytes(&[1, 2, 3]);
        assert_eq!((bytes.word(0), bytes.word(u32::MAX - 4), bytes.double(1), bytes.byte(7)), (0, 0, 0, 0));
        assert_eq!(bytes.slice(2, 9), b"");
    }
}
