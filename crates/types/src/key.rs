//! Index keys: values as bytes whose plain byte order is the values' order.
//!
//! A B+tree compares keys with `memcmp` and knows no types. A key is its columns' encodings one after another; each one
//! says where it ends, so that no column's bytes run into the next one's, and a key of the first columns is a prefix of
//! every key that begins with their values.
//!
//! ```text
//! null                00 where nulls come first, FF where they come last
//! integers, dates     80 + n, n bytes of the number (big-endian, none for 0); 80 - n, n bytes of 256^n - 1 - |number|
//! booleans            40 false, 41 true
//! floats              80, eight bytes: sign flipped when positive, all bits when negative
//! text, names, bytea  80, the bytes with 00 as 01 01 and 01 as 01 02, 00
//! uuid                80, sixteen bytes
//! intervals           80, sixteen bytes: their microseconds, with months of 30 days, the sign flipped
//! numeric             10 -Infinity, 20 negative, 30 zero, 40 positive, 50 Infinity, 60 NaN; then, unless it is one of
//!                     the special four: exponent, pairs of digits + 1, 00; all of these inverted when negative
//! arrays              80, elements with nulls as FF, 00, dimensions, lengths, lower bounds
//! jsonb               10 to 31, by what it is; then its parts, after their count: see `key/json.rs`
//! ```
//! A descending column has every byte of its values inverted, but not of its nulls. No value begins with 00 or FF.
//!
//! All integers are encoded alike, whatever their width, and so are both kinds of floats: a `bigint` finds its equal in an
//! index of `integer`. Small numbers are short: a key of one `integer` takes two to five bytes.
//!
//! Rules
//! 1. Values that compare equal have equal bytes, and a unique index depends on it. So the key does not tell 1.0 from
//!    1.00, -0 from 0, or `character` with its padding from the same without: [`is_exact`] says of which kinds [`decode`]
//!    gives back the value itself, and a scan that reads nothing but the index is for those only.
//! 2. The order is that of [`compare`](crate::compare). Tests hold all kinds to it.
//! 3. [`decode`] checks everything; bytes that are no key are refused with [`Error::corruption`].

mod json;

use crate::array::{self, Array, Dimension};
use crate::datetime::Interval;
use crate::numeric::Numeric;
use crate::text::trim_padding;
use crate::{Arena, Datum, Kind, Oid, table};
use base::codec::Reader;
use base::{Error, Result};

const NULL_FIRST: u8 = 0x00;
const NULL_LAST: u8 = 0xFF;
/// The first byte of kinds that need none to tell values apart; of integers, the one of zero.
const VALUE: u8 = 0x80;
const FALSE: u8 = 0x40;
const TRUE: u8 = 0x41;
const END: u8 = 0x00;
const ESCAPE: u8 = 0x01;

/// A column of an index.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyColumn {
    /// How its values are represented.
    pub kind: Kind,
    /// Greater values first?
    pub descending: bool,
    /// Nulls before all values?
    pub nulls_first: bool,
}

impl KeyColumn {
    /// An ascending column with its nulls last: what `CREATE INDEX` makes without further words.
    pub const fn ascending(kind: Kind) -> KeyColumn {
        KeyColumn { kind, descending: false, nulls_first: false }
    }

    /// A descending column with its nulls first, which is the default there.
    pub const fn descending(kind: Kind) -> KeyColumn {
        KeyColumn { kind, descending: true, nulls_first: true }
    }
}

/// Can values of a kind be keys?
pub fn is_orderable(kind: Kind) -> bool {
    !matches!(kind, Kind::Json | Kind::Record | Kind::Void | Kind::Pseudo | Kind::Refused)
}

/// Does a key give back the value itself, or only one that compares equal?
pub fn is_exact(kind: Kind) -> bool {
    is_orderable(kind)
        && !matches!(
            kind,
            Kind::Numeric
                | Kind::Float4
                | Kind::Float8
                | Kind::Bpchar
                | Kind::Interval
                | Kind::Array
                | Kind::Vector
                | Kind::Jsonb
        )
}

/// Appends the key of some values: of all columns, or of the first ones.
#[inline]
pub fn encode(columns: &[KeyColumn], values: &[Datum<'_>], out: &mut Vec<u8>) -> Result<()> {
    assert!(values.len() <= columns.len(), "a key has no more values than columns");
    for (column, value) in columns.iter().zip(values) {
        encode_column(*column, *value, out)?;
    }
    Ok(())
}

/// Appends one column's part of a key.
#[inline]
pub fn encode_column(column: KeyColumn, value: Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    if value.is_null() {
        out.push(if column.nulls_first { NULL_FIRST } else { NULL_LAST });
        return Ok(());
    }
    let start = out.len();
    encode_value(column.kind, value, out)?;
    if column.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

#[inline]
fn encode_value(kind: Kind, value: Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    // What most keys are made of first: a comparison is predicted better than the jump of a `match`.
    if let Datum::Int(number) = value {
        encode_int(number, out);
        return Ok(());
    }
    encode_other(kind, value, out)
}

fn encode_other(kind: Kind, value: Datum<'_>, out: &mut Vec<u8>) -> Result<()> {
    match kind {
        Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Oid | Kind::Reg | Kind::Char => encode_int(value.int(), out),
        Kind::Enum | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz => encode_int(value.int(), out),
        Kind::Text | Kind::Name | Kind::Unknown | Kind::Bytea => encode_bytes(value.bytes(), out),
        Kind::Bpchar => encode_bytes(trim_padding(value.bytes()), out),
        Kind::Bool => out.push(if value.bool() { TRUE } else { FALSE }),
        Kind::Float4 | Kind::Float8 => {
            out.push(VALUE);
            out.extend_from_slice(&float_to_ordered(value.float()).to_be_bytes());
        }
        Kind::Uuid => {
            out.push(VALUE);
            out.extend_from_slice(value.bytes());
        }
        Kind::Interval => {
            out.push(VALUE);
            out.extend_from_slice(&(Interval::decode(value.bytes())?.span() ^ i128::MIN).to_be_bytes());
        }
        Kind::Numeric => encode_numeric(&Numeric::decode(value.bytes())?, out),
        Kind::Array | Kind::Vector => encode_array(value.bytes(), out)?,
        Kind::Jsonb => json::encode(value.bytes(), out)?,
        Kind::Json | Kind::Record | Kind::Void | Kind::Pseudo | Kind::Refused => {
            return Err(Error::unsupported("values of this type cannot be ordered"));
        }
    }
    Ok(())
}

#[inline]
fn encode_int(value: i64, out: &mut Vec<u8>) {
    let magnitude = value.unsigned_abs();
    let count = (u64::BITS - magnitude.leading_zeros()).div_ceil(8) as usize;
    let (lead, digits) = match value < 0 {
        false => (VALUE + count as u8, magnitude),
        // 256^n - 1 - |number|, in the n bytes that are kept.
        true => (VALUE - count as u8, !magnitude),
    };
    // Bytes of a known number are copied faster than as many as there are digits.
    let mut bytes = [lead; 1 + size_of::<u64>()];
    bytes[1..].copy_from_slice(&digits.unbounded_shl(u64::BITS - 8 * count as u32).to_be_bytes());
    let end = out.len() + 1 + count;
    out.extend_from_slice(&bytes);
    out.truncate(end);
}

#[inline]
fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(VALUE);
    if bytes.iter().all(|&byte| byte > ESCAPE) {
        out.extend_from_slice(bytes);
    } else {
        for &byte in bytes {
            if byte <= ESCAPE {
                out.push(ESCAPE);
            }
            out.push(if byte <= ESCAPE { byte + 1 } else { byte });
        }
    }
    out.push(END);
}

const SIGN: u64 = 1 << 63;

fn float_to_ordered(value: f64) -> u64 {
    // One zero, and one NaN above everything.
    let canonical = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = canonical.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn ordered_to_float(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

const NUMERIC_NEG_INFINITY: u8 = 0x10;
const NUMERIC_NEGATIVE: u8 = 0x20;
const NUMERIC_ZERO: u8 = 0x30;
const NUMERIC_POSITIVE: u8 = 0x40;
const NUMERIC_INFINITY: u8 = 0x50;
const NUMERIC_NAN: u8 = 0x60;

/// Exponents from -96 to 95 take one byte; others this one or [`EXPONENT_SMALL`] and three more.
const EXPONENT_LARGE: u8 = 0xE0;
const EXPONENT_SMALL: u8 = 0x10;
const EXPONENT_BIAS: i64 = 128;
const EXPONENT_NEAR: std::ops::Range<i64> = -96..96;
const EXPONENT_WIDE_BIAS: i64 = 1 << 23;

/// The number as `0.d1d2d3... * 10^exponent`: by exponent, then by digits.
fn encode_numeric(value: &Numeric, out: &mut Vec<u8>) {
    match value {
        Numeric::NegInfinity => return out.push(NUMERIC_NEG_INFINITY),
        Numeric::Infinity => return out.push(NUMERIC_INFINITY),
        Numeric::Nan => return out.push(NUMERIC_NAN),
        _ if value.is_zero() => return out.push(NUMERIC_ZERO),
        _ => {}
    }
    let negative = value.signum() < 0;
    let (digits, exponent) = value.significant_digits();
    out.push(if negative { NUMERIC_NEGATIVE } else { NUMERIC_POSITIVE });
    let start = out.len();
    if EXPONENT_NEAR.contains(&exponent) {
        out.push((exponent + EXPONENT_BIAS) as u8);
    } else {
        out.push(if exponent > 0 { EXPONENT_LARGE } else { EXPONENT_SMALL });
        out.extend_from_slice(&((exponent + EXPONENT_WIDE_BIAS) as u32).to_be_bytes()[1..]);
    }
    for pair in digits.as_bytes().chunks(2) {
        let low = pair.get(1).map_or(0, |digit| digit - b'0');
        out.push((pair[0] - b'0') * 10 + low + 1);
    }
    out.push(END);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

fn encode_array(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let array = Array::decode(bytes)?;
    let element = KeyColumn::ascending(table::kind(array.element()));
    out.push(VALUE);
    for value in array.iter() {
        encode_column(element, value?, out)?;
    }
    out.push(END);
    out.push(array.dimensions().len() as u8);
    for dimension in array.dimensions() {
        out.extend_from_slice(&dimension.length.to_be_bytes());
    }
    for dimension in array.dimensions() {
        out.extend_from_slice(&(dimension.lower as u32 ^ 1 << 31).to_be_bytes());
    }
    Ok(())
}

/// Makes a prefix the least byte string above every key that begins with it: the end of a range. False where there is
/// none, because the prefix is all FF.
pub fn prefix_end(prefix: &mut Vec<u8>) -> bool {
    while let Some(last) = prefix.pop() {
        if last < u8::MAX {
            prefix.push(last + 1);
            return true;
        }
    }
    false
}

#[cold]
fn damaged() -> Error {
    Error::corruption("a stored index key is damaged")
}

/// The values of a key, as many as `out` has room for; answers what follows them. `types` are the columns' types, which
/// arrays need.
pub fn decode<'a>(
    columns: &[KeyColumn],
    types: &[Oid],
    key: &'a [u8],
    arena: &'a Arena,
    out: &mut [Datum<'a>],
) -> Result<&'a [u8]> {
    let mut rest = key;
    for ((value, column), oid) in out.iter_mut().zip(columns).zip(types) {
        (*value, rest) = decode_column(*column, *oid, rest, arena)?;
    }
    Ok(rest)
}

/// One column's value, and what follows it.
fn decode_column<'a>(column: KeyColumn, oid: Oid, key: &'a [u8], arena: &'a Arena) -> Result<(Datum<'a>, &'a [u8])> {
    match key.first() {
        None => return Err(damaged()),
        Some(&NULL_FIRST) if column.nulls_first => return Ok((Datum::Null, &key[1..])),
        Some(&NULL_LAST) if !column.nulls_first => return Ok((Datum::Null, &key[1..])),
        _ => {}
    }
    if !column.descending {
        let (value, length) = decode_value(column.kind, oid, key, arena)?;
        return Ok((value, &key[length..]));
    }
    let inverted = arena.zeroed(key.len())?;
    for (byte, original) in inverted.iter_mut().zip(key) {
        *byte = !original;
    }
    let (value, length) = decode_value(column.kind, oid, inverted, arena)?;
    Ok((value, &key[length..]))
}

/// A value and how many bytes it took.
fn decode_value<'a>(kind: Kind, oid: Oid, key: &'a [u8], arena: &'a Arena) -> Result<(Datum<'a>, usize)> {
    let (&lead, rest) = key.split_first().ok_or_else(damaged)?;
    let plain = || if lead == VALUE { Ok(()) } else { Err(damaged()) };
    match kind {
        Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Oid | Kind::Reg | Kind::Char => decode_int(lead, rest),
        Kind::Enum | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz => decode_int(lead, rest),
        Kind::Text | Kind::Name | Kind::Unknown | Kind::Bytea | Kind::Bpchar => {
            plain()?;
            let (bytes, length) = decode_bytes(rest, arena)?;
            Ok((Datum::Bytes(bytes), length + 1))
        }
        Kind::Bool => match lead {
            FALSE | TRUE => Ok((Datum::Bool(lead == TRUE), 1)),
            _ => Err(damaged()),
        },
        Kind::Float4 | Kind::Float8 => {
            plain()?;
            let ordered = rest.first_chunk::<8>().ok_or_else(damaged)?;
            Ok((Datum::Float(ordered_to_float(u64::from_be_bytes(*ordered))), 9))
        }
        Kind::Uuid => {
            plain()?;
            Ok((Datum::Bytes(rest.get(..16).ok_or_else(damaged)?), 17))
        }
        Kind::Interval => {
            plain()?;
            let ordered = rest.first_chunk::<16>().ok_or_else(damaged)?;
            let value = Interval::of_span(i128::from_be_bytes(*ordered) ^ i128::MIN).ok_or_else(damaged)?;
            Ok((Datum::Bytes(arena.copy(&value.encode())?), 17))
        }
        Kind::Numeric => {
            let (value, length) = decode_numeric(lead, rest)?;
            Ok((Datum::Bytes(value.encode(|bytes| arena.copy(bytes))??), length + 1))
        }
        Kind::Array | Kind::Vector => {
            plain()?;
            let (bytes, rest) = decode_array(oid, rest, arena)?;
            Ok((Datum::Bytes(arena.copy(&bytes)?), key.len() - rest.len()))
        }
        Kind::Jsonb => json::decode(key, arena),
        Kind::Json | Kind::Record | Kind::Void | Kind::Pseudo | Kind::Refused => Err(damaged()),
    }
}

fn decode_int<'a>(lead: u8, rest: &[u8]) -> Result<(Datum<'a>, usize)> {
    let negative = lead < VALUE;
    let count = usize::from(lead.abs_diff(VALUE));
    let digits = rest.get(..count).filter(|_| count <= 8).ok_or_else(damaged)?;
    let value = digits.iter().fold(if negative { u64::MAX } else { 0 }, |value, byte| value << 8 | u64::from(*byte));
    let magnitude = if negative { !value } else { value };
    let value = match negative {
        false => i64::try_from(magnitude).ok(),
        true => 0i64.checked_sub_unsigned(magnitude),
    };
    Ok((Datum::Int(value.ok_or_else(damaged)?), count + 1))
}

/// The bytes up to their end, and how many they took with it.
fn decode_bytes<'a>(key: &'a [u8], arena: &'a Arena) -> Result<(&'a [u8], usize)> {
    let length = key.iter().position(|&byte| byte == END).ok_or_else(damaged)?;
    let escaped = &key[..length];
    if !escaped.contains(&ESCAPE) {
        return Ok((escaped, length + 1));
    }
    let mut out = Vec::with_capacity(length);
    let mut bytes = escaped.iter();
    while let Some(&byte) = bytes.next() {
        out.push(match byte {
            ESCAPE => match bytes.next() {
                Some(&byte @ 1..=2) => byte - 1,
                _ => return Err(damaged()),
            },
            byte => byte,
        });
    }
    Ok((arena.copy(&out)?, length + 1))
}

/// A number from after its first byte, and how many more bytes it took.
fn decode_numeric(lead: u8, rest: &[u8]) -> Result<(Numeric, usize)> {
    let negative = match lead {
        NUMERIC_NEG_INFINITY => return Ok((Numeric::NegInfinity, 0)),
        NUMERIC_ZERO => return Ok((Numeric::ZERO, 0)),
        NUMERIC_INFINITY => return Ok((Numeric::Infinity, 0)),
        NUMERIC_NAN => return Ok((Numeric::Nan, 0)),
        NUMERIC_NEGATIVE => true,
        NUMERIC_POSITIVE => false,
        _ => return Err(damaged()),
    };
    let mask = if negative { 0xFF } else { 0 };
    let byte = |at: usize| rest.get(at).map(|byte| byte ^ mask).ok_or_else(damaged);
    let (exponent, mut at) = match byte(0)? {
        EXPONENT_LARGE | EXPONENT_SMALL => {
            let wide = i64::from(byte(1)?) << 16 | i64::from(byte(2)?) << 8 | i64::from(byte(3)?);
            (wide - EXPONENT_WIDE_BIAS, 4)
        }
        near => (i64::from(near) - EXPONENT_BIAS, 1),
    };
    let mut digits = String::new();
    loop {
        let pair = byte(at)?;
        at += 1;
        match pair {
            END => break,
            1..=100 => {
                digits.push(char::from(b'0' + (pair - 1) / 10));
                digits.push(char::from(b'0' + (pair - 1) % 10));
            }
            _ => return Err(damaged()),
        }
    }
    // 0.d1d2... * 10^exponent, read as an integer with an exponent of its own.
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Err(damaged());
    }
    let sign = if negative { "-" } else { "" };
    let text = format!("{sign}{significant}e{}", exponent - significant.len() as i64);
    Ok((Numeric::parse(&text).map_err(|_| damaged())?, at))
}

/// An array from after its first byte, and what follows it.
fn decode_array<'a>(oid: Oid, key: &'a [u8], arena: &'a Arena) -> Result<(Vec<u8>, &'a [u8])> {
    let element = table::element_of(oid).ok_or_else(damaged)?;
    let column = KeyColumn::ascending(table::kind(element));
    let mut elements = Vec::new();
    let mut rest = key;
    while *rest.first().ok_or_else(damaged)? != END {
        let (value, after) = decode_column(column, element, rest, arena)?;
        elements.push(value);
        rest = after;
    }
    let mut reader = Reader::new(&rest[1..]);
    let count = usize::from(reader.u8_be().ok_or_else(damaged)?);
    if count > array::DIMENSIONS_MAX {
        return Err(damaged());
    }
    let mut dimensions = [Dimension { length: 0, lower: 0 }; array::DIMENSIONS_MAX];
    for dimension in &mut dimensions[..count] {
        dimension.length = reader.u32_be().ok_or_else(damaged)?;
    }
    for dimension in &mut dimensions[..count] {
        dimension.lower = (reader.u32_be().ok_or_else(damaged)? ^ 1 << 31) as i32;
    }
    let dimensions = &dimensions[..count];
    let expected = dimensions
        .iter()
        .try_fold(usize::from(count > 0), |product, dimension| product.checked_mul(dimension.length as usize));
    if expected != Some(elements.len()) {
        return Err(damaged());
    }
    Ok((array::encode(element, dimensions, &elements)?, reader.rest()))
}

#[cfg(test)]
mod tests;
