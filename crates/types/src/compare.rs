//! The order and the hashes of values: what indexes, sorts, joins and `GROUP BY` mean by "less" and "equal".
//!
//! One order for each kind; the comparison operators, the keys of [`key`](crate::key) and these functions agree, and
//! tests hold them to it. Text compares by its bytes.
//!
//! Rules
//! 1. Neither value is null; where nulls go is the caller's rule.
//! 2. Values that compare equal hash equal, also across the integer types and across the float types.
//! 3. Damaged bytes compare somehow, and never panic: reading found them whole, or will complain.

use super::array::Array;
use super::datetime::Interval;
use super::numeric::Numeric;
use super::table::Kind;
use super::{Datum, float, hash, json, text};
use std::cmp::Ordering;

/// The order of two values of one kind.
#[inline]
pub fn compare(kind: Kind, a: Datum<'_>, b: Datum<'_>) -> Ordering {
    match kind {
        Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Oid | Kind::Reg | Kind::Char => a.int().cmp(&b.int()),
        Kind::Enum | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz => a.int().cmp(&b.int()),
        Kind::Text | Kind::Name | Kind::Unknown | Kind::Bytea | Kind::Uuid => a.bytes().cmp(b.bytes()),
        Kind::Bpchar => text::trim_padding(a.bytes()).cmp(text::trim_padding(b.bytes())),
        Kind::Bool => a.bool().cmp(&b.bool()),
        Kind::Float4 | Kind::Float8 => float::compare(a.float(), b.float()),
        Kind::Numeric => compare_numeric(a.bytes(), b.bytes()),
        Kind::Interval => compare_intervals(a.bytes(), b.bytes()),
        Kind::Array | Kind::Vector => compare_arrays(a.bytes(), b.bytes()),
        Kind::Record => super::record::order(a.bytes(), b.bytes()),
        Kind::Jsonb => json::order::compare(a.bytes(), b.bytes()),
        // Nobody asks: the binder refuses what would.
        Kind::Json => a.bytes().cmp(b.bytes()),
        Kind::Void | Kind::Pseudo | Kind::Refused => Ordering::Equal,
    }
}

/// The order of two stored numerics.
pub fn compare_numeric(a: &[u8], b: &[u8]) -> Ordering {
    if let Some(order) = super::numeric::short::compared(a, b) {
        return order;
    }
    match (Numeric::decode(a), Numeric::decode(b)) {
        (Ok(a), Ok(b)) => a.compare(&b),
        _ => a.cmp(b),
    }
}

/// The order of two stored intervals: by their length, with months of 30 days.
pub fn compare_intervals(a: &[u8], b: &[u8]) -> Ordering {
    match (Interval::decode(a), Interval::decode(b)) {
        (Ok(a), Ok(b)) => a.compare(b),
        _ => a.cmp(b),
    }
}

/// The order of two stored arrays: by their elements, nulls last; then by their number, their dimensions, and where
/// those begin.
pub fn compare_arrays(a: &[u8], b: &[u8]) -> Ordering {
    let (Ok(left), Ok(right)) = (Array::decode(a), Array::decode(b)) else {
        return a.cmp(b);
    };
    let kind = super::table::kind(left.element());
    if left.element() != right.element() {
        return left.element().cmp(&right.element());
    }
    for (x, y) in left.iter().zip(right.iter()) {
        let (Ok(x), Ok(y)) = (x, y) else {
            return a.cmp(b);
        };
        let order = match (x.is_null(), y.is_null()) {
            (false, false) => compare(kind, x, y),
            (x, y) => x.cmp(&y),
        };
        if order.is_ne() {
            return order;
        }
    }
    let extents = |array: &Array<'_>| {
        let (lengths, lowers): (Vec<u32>, Vec<i32>) =
            array.dimensions().iter().map(|dimension| (dimension.length, dimension.lower)).unzip();
        (array.len(), lengths.len(), lengths, lowers)
    };
    extents(&left).cmp(&extents(&right))
}

/// The hash of a value.
#[inline]
pub fn hash(kind: Kind, datum: Datum<'_>) -> u64 {
    match kind {
        Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Oid | Kind::Reg | Kind::Char => hash::hash_u64(datum.int() as u64),
        Kind::Enum | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz => {
            hash::hash_u64(datum.int() as u64)
        }
        Kind::Text | Kind::Name | Kind::Unknown | Kind::Bytea | Kind::Uuid => hash::hash_bytes(datum.bytes()),
        Kind::Bpchar => hash::hash_bytes(text::trim_padding(datum.bytes())),
        Kind::Bool => hash::hash_u64(u64::from(datum.bool())),
        Kind::Float4 | Kind::Float8 => {
            let value = datum.float();
            // The zeros are equal, and so are all that are no numbers.
            let canonical = if value.is_nan() { f64::NAN } else { value + 0.0 };
            hash::hash_u64(canonical.to_bits())
        }
        Kind::Numeric => {
            match Numeric::decode(datum.bytes()).and_then(|value| value.reduced().encode(hash::hash_bytes)) {
                Ok(hash) => hash,
                Err(_) => hash::hash_bytes(datum.bytes()),
            }
        }
        Kind::Interval => match Interval::decode(datum.bytes()) {
            Ok(value) => hash::hash_bytes(&value.span().to_le_bytes()),
            Err(_) => hash::hash_bytes(datum.bytes()),
        },
        Kind::Array | Kind::Vector => hash_array(datum.bytes()),
        Kind::Record => super::record::hash(datum.bytes()),
        Kind::Jsonb => json::order::hash(datum.bytes()),
        Kind::Json => hash::hash_bytes(datum.bytes()),
        Kind::Void | Kind::Pseudo | Kind::Refused => 0,
    }
}

fn hash_array(bytes: &[u8]) -> u64 {
    let Ok(array) = Array::decode(bytes) else {
        return hash::hash_bytes(bytes);
    };
    let kind = super::table::kind(array.element());
    let mut state = array.len() as u64;
    for element in array.iter() {
        state = match element {
            Ok(Datum::Null) => hash::combine(state, 0),
            Ok(element) => hash::combine(state, self::hash(kind, element)),
            Err(_) => return hash::hash_bytes(bytes),
        };
    }
    state
}

/// Do two numbers in `Datum::Int` of any integer type, or values of one kind, equal each other?
#[inline]
pub fn equal(kind: Kind, a: Datum<'_>, b: Datum<'_>) -> bool {
    match kind {
        // Equal texts are equal bytes, and lengths tell most of the others apart at once.
        Kind::Text | Kind::Name | Kind::Bytea | Kind::Uuid => a.bytes() == b.bytes(),
        _ => compare(kind, a, b).is_eq(),
    }
}
