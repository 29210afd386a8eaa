//! Rows as values: of fields that have names, types and values.
//!
//! ```text
//!  u16 count, u8 depth, then for each field:  u32 type, u8 length of the name, the name, u8 whether there is a value, the value as it is
//!  stored
//! ```
//!
//! A record says itself what its fields are, so that whoever shows, compares or hashes it needs nothing else. It is made for one statement, and
//! never stored in a table.
//!
//! Rules
//! 1. Two records are compared field by field, nulls last and equal to one another; fields of different types by their types' numbers.
//! 2. A name of more than 255 bytes does not happen: names have 63.
//! 3. Whoever shows, compares or hashes a record does the same with those in it, on whatever stack there is: so a record says how deep they
//!    are in one another, and deeper than [`DEPTH_MAX`] there are none.

use crate::array::Array;
use crate::datetime::Style;
use crate::table::{self, Oid};
use crate::{Datum, Sink, Type, compare, hash, io, stored, typmod};
use base::{Error, Result, sqlstate};
use std::cmp::Ordering;

/// How deep records may be in one another.
pub const DEPTH_MAX: u8 = 50;
/// How long the text of a field may be.
const TEXT_MAX: usize = 256 << 20;
/// Where the fields begin.
const FIELDS: usize = 3;

/// A field of a record.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub oid: Oid,
    /// Its value.
    pub value: Datum<'a>,
}

fn damaged() -> Error {
    Error::corruption("a record is damaged")
}

/// How deep records are in one another in a value of that type.
fn depth_of(oid: Oid, value: Datum<'_>) -> Result<u8> {
    if value.is_null() || (oid != Oid::RECORD && oid != Oid::RECORD_ARRAY) {
        return Ok(0);
    }
    if oid == Oid::RECORD {
        return value.bytes().get(FIELDS - 1).copied().ok_or_else(damaged);
    }
    let mut deepest = 0;
    for element in Array::decode(value.bytes())?.iter() {
        deepest = deepest.max(depth_of(Oid::RECORD, element?)?);
    }
    Ok(deepest)
}

#[cold]
fn too_deep() -> Error {
    Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .detail(format!("Rows can be nested {DEPTH_MAX} levels deep."))
}

/// Appends the form of a record. Errors: `54001` for one that is too deep.
pub fn encode<'a>(fields: impl ExactSizeIterator<Item = Field<'a>>, out: &mut Vec<u8>) -> Result<()> {
    out.extend_from_slice(&(fields.len() as u16).to_le_bytes());
    let deepest = out.len();
    out.push(1);
    for field in fields {
        let depth = depth_of(field.oid, field.value)? + 1;
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        out[deepest] = out[deepest].max(depth);
        out.extend_from_slice(&field.oid.0.to_le_bytes());
        let name = &field.name.as_bytes()[..field.name.len().min(255)];
        out.push(name.len() as u8);
        out.extend_from_slice(name);
        out.push(u8::from(!field.value.is_null()));
        if !field.value.is_null() {
            stored::put(table::kind(field.oid), field.value, out)?;
        }
    }
    Ok(())
}

/// The fields of a record.
pub fn decode(bytes: &[u8]) -> Result<Vec<Field<'_>>> {
    let count = u16::from_le_bytes(*bytes.first_chunk().ok_or_else(damaged)?);
    let (mut fields, mut at) = (Vec::with_capacity(usize::from(count)), FIELDS);
    for _ in 0..count {
        let oid = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or_else(damaged)?;
        let oid = Oid(u32::from_le_bytes(*oid));
        let length = usize::from(*bytes.get(at + 4).ok_or_else(damaged)?);
        let name = bytes.get(at + 5..at + 5 + length).and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or_else(damaged)?;
        at += 5 + length;
        let is_there = *bytes.get(at).ok_or_else(damaged)? == 1;
        at += 1;
        let mut value = Datum::Null;
        if is_there {
            (value, at) = stored::get(table::kind(oid), bytes, at)?;
        }
        fields.push(Field { name, oid, value });
    }
    Ok(fields)
}

/// What `IS NULL` says of a record, if `is`: there is none, or all its fields are null. Else what `IS NOT NULL` says: there is one, and none of its
/// fields is null. Errors: `XX001` for a damaged one.
pub fn is_null(record: Datum<'_>, is: bool) -> Result<bool> {
    if record.is_null() {
        return Ok(is);
    }
    Ok(decode(record.bytes())?.iter().all(|field| field.value.is_null() == is))
}

/// Writes `(1,"a b",)`.
pub fn print(bytes: &[u8], style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    out.put(b"(");
    let mut text = Vec::new();
    for (at, field) in decode(bytes)?.iter().enumerate() {
        if at > 0 {
            out.put(b",");
        }
        if field.value.is_null() {
            continue;
        }
        text.clear();
        io::output(table::kind(field.oid), field.value, style, &mut text)?;
        // Quotes in quotes are doubled at each level: of records in one another the text may be larger than anything.
        if text.len() > TEXT_MAX {
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "out of memory")
                .detail("The text of a row in a row has more than 256 MB."));
        }
        let is_special = |byte: &u8| {
            matches!(byte, b'"' | b'\\' | b'(' | b')' | b',') || byte.is_ascii_whitespace() || *byte == 0x0B
        };
        if !text.is_empty() && !text.iter().any(is_special) {
            out.put(&text);
            continue;
        }
        out.put(b"\"");
        for byte in &text {
            if matches!(byte, b'"' | b'\\') {
                out.put(&[*byte]);
            }
            out.put(&[*byte]);
        }
        out.put(b"\"");
    }
    out.put(b")");
    Ok(())
}

/// Writes the binary form: the number of fields, then type, length and value of each.
pub fn send(bytes: &[u8], style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    let fields = decode(bytes)?;
    out.put(&(fields.len() as i32).to_be_bytes());
    let mut value = Vec::new();
    for field in fields {
        out.put(&field.oid.0.to_be_bytes());
        if field.value.is_null() {
            out.put(&(-1_i32).to_be_bytes());
            continue;
        }
        value.clear();
        io::send(table::kind(field.oid), field.value, style, &mut value)?;
        out.put(&(value.len() as i32).to_be_bytes());
        out.put(&value);
    }
    Ok(())
}

/// The order of two records.
pub fn order(a: &[u8], b: &[u8]) -> Ordering {
    let (Ok(left), Ok(right)) = (decode(a), decode(b)) else { return a.cmp(b) };
    for (x, y) in left.iter().zip(&right) {
        let order = match (x.value.is_null(), y.value.is_null()) {
            (false, false) if x.oid != y.oid => x.oid.cmp(&y.oid),
            (false, false) => compare::compare(table::kind(x.oid), x.value, y.value),
            (x, y) => x.cmp(&y),
        };
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// Refuses to compare records whose fields are of different types, or not as many: `42804`.
pub fn check_similar(a: &[u8], b: &[u8]) -> Result<()> {
    let (left, right) = (decode(a)?, decode(b)?);
    for (at, (x, y)) in left.iter().zip(&right).enumerate() {
        if x.oid != y.oid {
            let shown = |oid| typmod::format_type(Type::plain(oid));
            let message = format!(
                "cannot compare dissimilar column types {} and {} at record column {}",
                shown(x.oid),
                shown(y.oid),
                at + 1
            );
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        }
    }
    if left.len() != right.len() {
        let message = "cannot compare record types with different numbers of columns";
        return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
    }
    Ok(())
}

/// The hash of a record.
pub fn hash(bytes: &[u8]) -> u64 {
    let Ok(fields) = decode(bytes) else { return hash::hash_bytes(bytes) };
    fields.iter().fold(fields.len() as u64, |state, field| {
        let own = match field.value {
            Datum::Null => 0,
            value => compare::hash(table::kind(field.oid), value),
        };
        hash::combine(state, own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Dimension, encode as array};

    fn around(oid: Oid, value: &[u8]) -> Result<Vec<u8>> {
        let mut made = Vec::new();
        let field = Field { name: "f1", oid, value: Datum::Bytes(value) };
        encode([field].into_iter(), &mut made).map(|()| made)
    }

    #[test]
    fn records_in_one_another_are_counted() {
        let mut record = around(Oid::TEXT, b"x").expect("a record");
        for _ in 1..DEPTH_MAX {
            record = around(Oid::RECORD, &record).expect("a record in a record");
        }
        assert_eq!(
            around(Oid::RECORD, &record).map_err(|error| error.sqlstate()),
            Err(sqlstate::STATEMENT_TOO_COMPLEX)
        );
        let list =
            array(Oid::RECORD, &[Dimension { length: 1, lower: 1 }], &[Datum::Bytes(&record)]).expect("an array");
        let deeper = around(Oid::RECORD_ARRAY, &list);
        assert_eq!(deeper.map_err(|error| error.sqlstate()), Err(sqlstate::STATEMENT_TOO_COMPLEX));
        assert!(order(&record, &record).is_eq());
    }
}
