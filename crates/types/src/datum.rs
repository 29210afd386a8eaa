//! A value in flight: what expressions work on, between a stored row and the wire.
//!
//! A [`Datum`] is a tag and either a number or a borrowed byte run; the type is not in it, because the plan knows it.
//! Numbers of all widths, dates and times are `Int`, so one opcode compares them all. Byte runs point into a page that is
//! pinned, into a plan, or into the [`Arena`] of the request, and are never owned: a value is copied by copying 24 bytes.
//! (Sixteen would need a pointer and a 32-bit length packed by hand, which safe code cannot do.)
//!
//! Rules
//! 1. The representation is the one that [`Kind`](super::Kind) names. To read a datum as another one is a bug, and
//!    panics: plans are checked when they are made.
//! 2. `Int` is always within the range of its type; `Float` of a `real` is a value that `f32` holds.
//! 3. Text in a datum is valid UTF-8 without zero bytes. Input functions and wire see to it; code that walks characters
//!    stays in bounds all the same.

use base::{Error, Result};
use bumpalo::Bump;

/// A value, or null.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Datum<'a> {
    /// Null.
    #[default]
    Null,
    /// `boolean`.
    Bool(bool),
    /// Integers, `oid`, `"char"`, dates and times.
    Int(i64),
    /// `real`, `double precision`.
    Float(f64),
    /// Everything else.
    Bytes(&'a [u8]),
}

const _: () = assert!(size_of::<Datum<'_>>() == 24);

impl<'a> Datum<'a> {
    /// Text as a datum.
    #[inline]
    pub fn text(text: &'a str) -> Datum<'a> {
        Datum::Bytes(text.as_bytes())
    }

    /// Is it null?
    #[inline]
    pub fn is_null(self) -> bool {
        matches!(self, Datum::Null)
    }

    /// The truth value; the plan says that it is one.
    #[inline]
    #[track_caller]
    pub fn bool(self) -> bool {
        match self {
            Datum::Bool(value) => value,
            other => mismatch(other, "a boolean"),
        }
    }

    /// The integer; the plan says that it is one.
    #[inline]
    #[track_caller]
    pub fn int(self) -> i64 {
        match self {
            Datum::Int(value) => value,
            other => mismatch(other, "an integer"),
        }
    }

    /// The floating-point number; the plan says that it is one.
    #[inline]
    #[track_caller]
    pub fn float(self) -> f64 {
        match self {
            Datum::Float(value) => value,
            other => mismatch(other, "a float"),
        }
    }

    /// The byte run; the plan says that it is one.
    #[inline]
    #[track_caller]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Datum::Bytes(value) => value,
            other => mismatch(other, "a byte run"),
        }
    }
}

#[cold]
#[track_caller]
fn mismatch(datum: Datum<'_>, wanted: &str) -> ! {
    panic!("a plan reads {datum:?} as {wanted}")
}

/// The memory of one request's results: taken piece by piece, given back all at once.
///
/// Ordinary memory of the process, which must not outlive the request. What outlives it is copied into the session's
/// arena in the region by whoever keeps it.
#[derive(Debug, Default)]
pub struct Arena {
    bump: Bump,
}

impl Arena {
    /// An empty arena, which takes no memory before it is used.
    pub fn new() -> Arena {
        Arena { bump: Bump::new() }
    }

    /// Limits what the arena takes from the system; more is refused with `53200`.
    pub fn limit(&self, bytes: Option<usize>) {
        self.bump.set_allocation_limit(bytes);
    }

    /// The bytes that the arena has taken from the system.
    pub fn used(&self) -> usize {
        self.bump.allocated_bytes()
    }

    /// Gives everything back, and keeps one piece for the next request.
    pub fn reset(&mut self) {
        self.bump.reset();
    }

    /// A copy of `bytes`.
    #[inline]
    pub fn copy(&self, bytes: &[u8]) -> Result<&[u8]> {
        match self.bump.try_alloc_slice_copy(bytes) {
            Ok(copy) => Ok(copy),
            Err(_) => Err(refused(bytes.len())),
        }
    }

    /// `length` zero bytes, to be filled.
    #[inline]
    pub fn zeroed(&self, length: usize) -> Result<&mut [u8]> {
        self.bump.try_alloc_slice_fill_copy(length, 0u8).map_err(|_| refused(length))
    }

    /// Two byte runs joined.
    #[inline]
    pub fn concat(&self, first: &[u8], second: &[u8]) -> Result<&[u8]> {
        let joined = self.zeroed(first.len() + second.len())?;
        joined[..first.len()].copy_from_slice(first);
        joined[first.len()..].copy_from_slice(second);
        Ok(joined)
    }

    /// A copy of a datum whose bytes live somewhere else.
    #[inline]
    pub fn keep<'a>(&'a self, datum: Datum<'_>) -> Result<Datum<'a>> {
        Ok(match datum {
            Datum::Null => Datum::Null,
            Datum::Bool(value) => Datum::Bool(value),
            Datum::Int(value) => Datum::Int(value),
            Datum::Float(value) => Datum::Float(value),
            Datum::Bytes(bytes) => Datum::Bytes(self.copy(bytes)?),
        })
    }
}

#[cold]
fn refused(bytes: usize) -> Error {
    Error::out_of_memory("a request's results", bytes)
}

/// Where text and binary forms are written: an output buffer, or a `Vec`.
///
/// `put` cannot fail, because every number of every row would pay for the check. A sink whose memory is refused takes
/// nothing more and tells its owner, who asks after the row.
pub trait Sink {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::sqlstate;

    #[test]
    fn an_arena_keeps_what_it_is_given_and_refuses_beyond_its_limit() {
        let mut arena = Arena::new();
        let kept = arena.keep(Datum::text("abc")).expect("keep");
        assert_eq!((kept, arena.concat(b"ab", b"cd").expect("concat")), (Datum::text("abc"), &b"abcd"[..]));
        arena.reset();
        arena.limit(Some(100_000));
        assert_eq!(arena.copy(&[0; 200_000]).expect_err("limit").sqlstate(), sqlstate::OUT_OF_MEMORY);
        assert!(arena.used() <= 100_000);
    }

    #[test]
    #[should_panic(expected = "a plan reads Bool(true) as an integer")]
    fn a_datum_of_another_kind_is_a_bug() {
        Datum::Bool(true).int();
    }
}
