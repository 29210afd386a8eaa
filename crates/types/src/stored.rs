//! The stored form of one value, as rows and arrays hold it.
//!
//! Kinds of fixed width are little-endian numbers, unaligned. All others are a length and the bytes. The length takes one
//! byte up to 127, two up to 16,383, four up to 2^30:
//! ```text
//! 0xxxxxxx                     10xxxxxx xxxxxxxx (big-endian)              11xxxxxx xxxxxxxx xxxxxxxx xxxxxxxx
//! ```
//!
//! Rules
//! 1. Reading never panics and never reads outside its slice; what cannot be is [`Error::corruption`].
//! 2. Reading checks what later code relies on for its own safety: lengths, the range of a boolean, the header of a
//!    numeric. Whether text is UTF-8 is not checked on every read; [`check`] does.

use super::numeric::Numeric;
use super::table::Kind;
use super::{Datum, array};
use base::{Error, Result};

/// The longest value, in bytes.
pub const BYTES_MAX: usize = (1 << 30) - 1;

/// How many bytes every value of a kind takes; `None` for kinds of variable length.
#[inline]
pub const fn width(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Bool | Kind::Char => Some(1),
        Kind::Int2 => Some(2),
        Kind::Int4 | Kind::Oid | Kind::Reg | Kind::Float4 | Kind::Date => Some(4),
        Kind::Int8 | Kind::Enum | Kind::Float8 | Kind::Time | Kind::Timestamp | Kind::Timestamptz => Some(8),
        Kind::Uuid | Kind::Interval => Some(16),
        Kind::Void | Kind::Pseudo | Kind::Refused => Some(0),
        Kind::Numeric | Kind::Text | Kind::Bpchar | Kind::Name | Kind::Unknown | Kind::Bytea => None,
        Kind::Array | Kind::Vector | Kind::Record | Kind::Json | Kind::Jsonb => None,
    }
}

#[cold]
fn damaged(what: &str) -> Error {
    Error::corruption(format!("a stored {what} is damaged"))
}

/// Appends a length.
#[inline]
pub fn put_length(length: usize, out: &mut Vec<u8>) {
    match length {
        0..=0x7F => out.push(length as u8),
        0x80..=0x3FFF => out.extend_from_slice(&(length as u16 | 0x8000).to_be_bytes()),
        _ => out.extend_from_slice(&(length as u32 | 0xC000_0000).to_be_bytes()),
    }
}

/// Reads a length at `at`, and the byte after it.
#[inline]
pub fn length_at(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    if let Some(&first @ 0..=0x7F) = bytes.get(at) {
        return Ok((usize::from(first), at + 1));
    }
    long_length_at(bytes, at)
}

fn long_length_at(bytes: &[u8], at: usize) -> Result<(usize, usize)> {
    let rest = bytes.get(at..).unwrap_or(&[]);
    match *rest {
        [first @ 0x80..=0xBF, second, ..] => Ok((usize::from(u16::from_be_bytes([first & 0x3F, second])), at + 2)),
        [first @ 0xC0..=0xFF, second, third, fourth, ..] => {
            Ok((u32::from_be_bytes([first & 0x3F, second, third, fourth]) as usize, at + 4))
        }
        _ => Err(damaged("length")),
    }
}

/// Appends a value that is not null.
#[inline]
pub fn put(kind: Kind, datum: Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    // As in `get`: the commonest kinds by comparisons.
    if kind == Kind::Int4 {
        out.extend_from_slice(&(datum.int() as i32).to_le_bytes());
        return Ok(());
    }
    if width(kind).is_none() {
        let bytes = datum.bytes();
        if bytes.len() > BYTES_MAX {
            return Err(super::text::too_long());
        }
        put_length(bytes.len(), out);
        out.extend_from_slice(bytes);
        return Ok(());
    }
    put_fixed(kind, datum, out)
}

/// Appends a value of fixed width.
fn put_fixed(kind: Kind, datum: Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    match kind {
        Kind::Bool => out.push(u8::from(datum.bool())),
        Kind::Char => out.push(datum.int() as u8),
        Kind::Int2 => out.extend_from_slice(&(datum.int() as i16).to_le_bytes()),
        Kind::Int4 | Kind::Date => out.extend_from_slice(&(datum.int() as i32).to_le_bytes()),
        Kind::Oid | Kind::Reg => out.extend_from_slice(&(datum.int() as u32).to_le_bytes()),
        Kind::Int8 | Kind::Enum | Kind::Time | Kind::Timestamp | Kind::Timestamptz => {
            out.extend_from_slice(&datum.int().to_le_bytes());
        }
        Kind::Float4 => out.extend_from_slice(&(datum.float() as f32).to_le_bytes()),
        Kind::Float8 => out.extend_from_slice(&datum.float().to_le_bytes()),
        Kind::Uuid | Kind::Interval => match datum.bytes() {
            bytes if bytes.len() == 16 => out.extend_from_slice(bytes),
            _ => return Err(damaged("value")),
        },
        Kind::Void => {}
        _ => return Err(Error::unsupported("values of this type cannot be stored")),
    }
    Ok(())
}

#[inline]
fn fixed<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N]> {
    match bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
        Some(chunk) => Ok(*chunk),
        None => Err(damaged("value")),
    }
}

/// Reads the value at `at`, and the byte after it.
#[inline]
pub fn get<'a>(kind: Kind, bytes: &'a [u8], at: usize) -> Result<(Datum<'a>, usize)> {
    // The commonest kinds are told apart by comparisons, which are predicted better than the jump of a `match`.
    if kind == Kind::Int4 {
        return Ok((Datum::Int(i32::from_le_bytes(fixed(bytes, at)?).into()), at + 4));
    }
    if width(kind).is_none() {
        let (length, start) = length_at(bytes, at)?;
        return match bytes.get(start..start + length) {
            Some(value) => Ok((Datum::Bytes(value), start + length)),
            None => Err(damaged("value")),
        };
    }
    get_fixed(kind, bytes, at)
}

/// Reads a value of fixed width.
fn get_fixed<'a>(kind: Kind, bytes: &'a [u8], at: usize) -> Result<(Datum<'a>, usize)> {
    Ok(match kind {
        Kind::Int4 | Kind::Date => (Datum::Int(i32::from_le_bytes(fixed(bytes, at)?).into()), at + 4),
        Kind::Int8 | Kind::Enum | Kind::Time | Kind::Timestamp | Kind::Timestamptz => {
            (Datum::Int(i64::from_le_bytes(fixed(bytes, at)?)), at + 8)
        }
        Kind::Int2 => (Datum::Int(i16::from_le_bytes(fixed(bytes, at)?).into()), at + 2),
        Kind::Oid | Kind::Reg => (Datum::Int(u32::from_le_bytes(fixed(bytes, at)?).into()), at + 4),
        Kind::Char => (Datum::Int(fixed::<1>(bytes, at)?[0].into()), at + 1),
        Kind::Bool => match fixed::<1>(bytes, at)?[0] {
            value @ 0..=1 => (Datum::Bool(value == 1), at + 1),
            _ => return Err(damaged("boolean")),
        },
        Kind::Float4 => (Datum::Float(f32::from_le_bytes(fixed(bytes, at)?).into()), at + 4),
        Kind::Float8 => (Datum::Float(f64::from_le_bytes(fixed(bytes, at)?)), at + 8),
        Kind::Uuid | Kind::Interval => match bytes.get(at..at + 16) {
            Some(value) => (Datum::Bytes(value), at + 16),
            None => return Err(damaged("value")),
        },
        Kind::Void => (Datum::Bytes(&[]), at),
        _ => return Err(damaged("value of a type without values")),
    })
}

/// The byte after the value at `at`.
#[inline]
pub fn skip(kind: Kind, bytes: &[u8], at: usize) -> Result<usize> {
    match width(kind) {
        Some(width) => Ok(at + width),
        None => length_at(bytes, at).map(|(length, start)| start + length),
    }
}

/// Checks all of a value that reading takes on trust.
pub fn check(kind: Kind, datum: Datum<'_>) -> Result<()> {
    match kind {
        Kind::Text | Kind::Bpchar | Kind::Name | Kind::Unknown | Kind::Json => {
            super::text::validate(datum.bytes()).map(|_| ()).map_err(|_| damaged("text"))
        }
        Kind::Numeric => Numeric::decode(datum.bytes()).map(|_| ()),
        Kind::Array | Kind::Vector => array::Array::decode(datum.bytes())?.check(),
        Kind::Jsonb => super::json::check_stored(datum.bytes()),
        Kind::Record => super::record::decode(datum.bytes()).map(drop),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_few_bytes_as_they_need() {
        for (length, bytes) in [(0usize, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 4), (BYTES_MAX, 4)] {
            let mut out = vec![0xEE];
            put_length(length, &mut out);
            assert_eq!(out.len() - 1, bytes, "{length}");
            assert_eq!(length_at(&out, 1).ok(), Some((length, out.len())));
            for cut in 1..out.len() {
                assert!(length_at(&out[..cut], 1).is_err());
            }
        }
        assert!(length_at(&[], 5).is_err());
    }

    #[test]
    fn values_of_every_kind_read_back() {
        let number = Numeric::parse("-12.50").expect("number").to_bytes().expect("bytes");
        let table = [
            (Kind::Bool, Datum::Bool(true), 1),
            (Kind::Char, Datum::Int(200), 1),
            (Kind::Int2, Datum::Int(-7), 2),
            (Kind::Int4, Datum::Int(i32::MIN.into()), 4),
            (Kind::Int8, Datum::Int(i64::MAX), 8),
            (Kind::Oid, Datum::Int(u32::MAX.into()), 4),
            (Kind::Float4, Datum::Float(0.25), 4),
            (Kind::Float8, Datum::Float(0.1), 8),
            (Kind::Date, Datum::Int(-5), 4),
            (Kind::Timestamptz, Datum::Int(i64::MIN), 8),
            (Kind::Uuid, Datum::Bytes(&[9; 16]), 16),
            (Kind::Text, Datum::text("abc"), 4),
            (Kind::Bpchar, Datum::Bytes(&[b'x'; 200]), 202),
            (Kind::Numeric, Datum::Bytes(&number), 4),
        ];
        for (kind, datum, bytes) in table {
            let mut out = vec![0; 3];
            put(kind, datum, &mut out).expect("put");
            assert_eq!(out.len() - 3, bytes, "{kind:?}");
            assert_eq!(get(kind, &out, 3).ok(), Some((datum, out.len())), "{kind:?}");
            assert_eq!(skip(kind, &out, 3).ok(), Some(out.len()), "{kind:?}");
            assert!(check(kind, datum).is_ok(), "{kind:?}");
            for cut in 3..out.len() {
                assert!(get(kind, &out[..cut], 3).is_err(), "{kind:?} cut at {cut}");
            }
        }
        assert!(get(Kind::Bool, &[2], 0).is_err());
        assert!(check(Kind::Text, Datum::Bytes(&[0xFF])).is_err());
    }
}
