//! Values of any type as JSON: what `to_json` and its relatives, and the aggregates, make of them.
//!
//! Numbers and booleans stay what they are, arrays become arrays, dates and times strings as ISO 8601 has them, and everything
//! else the string that its text form is. A number that JSON has no form for, as `NaN`, becomes a string too.

use super::build::Builder;
use super::print::{self, quote};
use super::value::Value;
use super::{bad, copy_value, text_of};
use crate::array::{self, Array};
use crate::datetime::Style;
use crate::numeric::Numeric;
use crate::table::{self, Kind, Oid};
use crate::{Arena, Datum, io, record};
use base::settings::DateFormat;
use base::{Error, Result, sqlstate};

/// What of JSON a type becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    Number,
    Json,
    Jsonb,
    Array,
    Record,
    String,
}

fn class(kind: Kind) -> Class {
    match kind {
        Kind::Bool => Class::Bool,
        Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Float4 | Kind::Float8 | Kind::Numeric => Class::Number,
        Kind::Json => Class::Json,
        Kind::Jsonb => Class::Jsonb,
        Kind::Array | Kind::Vector => Class::Array,
        Kind::Record => Class::Record,
        _ => Class::String,
    }
}

/// May a value of this type be the key of an object?
pub fn can_be_key(oid: Oid) -> bool {
    !matches!(class(table::kind(oid)), Class::Json | Class::Jsonb | Class::Array | Class::Record)
}

/// `22023`, for what may not.
#[cold]
pub fn no_key() -> Error {
    bad("key value must be scalar, not array, composite, or json")
}

/// A scalar's text, without quotes.
fn scalar_text(kind: Kind, datum: Datum<'_>, style: &Style<'_>, out: &mut Vec<u8>) -> Result<()> {
    match kind {
        Kind::Bool => out.extend_from_slice(if datum.bool() { b"true" } else { b"false" }),
        // JSON has one form of times, whatever `DateStyle` says.
        Kind::Date => io::output(kind, datum, &Style { date_format: DateFormat::Iso, ..*style }, out)?,
        Kind::Timestamp | Kind::Timestamptz => {
            let start = out.len();
            io::output(kind, datum, &Style { date_format: DateFormat::Iso, ..*style }, out)?;
            iso(kind, start, out);
        }
        _ => io::output(kind, datum, style, out)?,
    }
    Ok(())
}

/// Makes a day and time of its usual form: a `T` between the two, and minutes in the offset.
fn iso(kind: Kind, start: usize, out: &mut Vec<u8>) {
    let Some(space) = out[start..].iter().position(|byte| *byte == b' ') else { return };
    let time = start + space;
    out[time] = b'T';
    if kind != Kind::Timestamptz {
        return;
    }
    let end = out[time..].iter().position(|byte| *byte == b' ').map_or(out.len(), |space| time + space);
    let sign = out[time..end].iter().position(|byte| matches!(byte, b'+' | b'-')).map_or(end, |sign| time + sign);
    if !out[sign..end].contains(&b':') {
        out.splice(end..end, *b":00");
    }
}

/// Is it a number that JSON can write?
fn is_json_number(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, b'N' | b'n'))
}

/// Appends a value as JSON text; null as `null`.
pub fn json(oid: Oid, datum: Datum<'_>, style: &Style<'_>, out: &mut Vec<u8>) -> Result<()> {
    let kind = table::kind(oid);
    if datum.is_null() {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match class(kind) {
        Class::Array => json_array(datum.bytes(), false, style, out),
        Class::Record => json_record(datum.bytes(), false, style, out),
        Class::Json => {
            out.extend_from_slice(datum.bytes());
            Ok(())
        }
        Class::Jsonb => print::print(Value::decode(datum.bytes())?, out),
        Class::Bool => scalar_text(kind, datum, style, out),
        Class::Number => {
            let start = out.len();
            io::output(kind, datum, style, out)?;
            if !is_json_number(&out[start..]) {
                out.insert(start, b'"');
                out.push(b'"');
            }
            Ok(())
        }
        Class::String => {
            let mut text = Vec::new();
            scalar_text(kind, datum, style, &mut text)?;
            quote(&text, out);
            Ok(())
        }
    }
}

/// Appends a record as JSON text; with `lines`, a line for each field.
pub fn json_record(bytes: &[u8], lines: bool, style: &Style<'_>, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for (at, field) in record::decode(bytes)?.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(if lines { b",\n " } else { b"," });
        }
        quote(field.name.as_bytes(), out);
        out.push(b':');
        json(field.oid, field.value, style, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends an array as JSON text; with `lines`, a line for each element of the outermost dimension.
pub fn json_array(bytes: &[u8], lines: bool, style: &Style<'_>, out: &mut Vec<u8>) -> Result<()> {
    let array = Array::decode(bytes)?;
    if array.is_empty() {
        out.extend_from_slice(b"[]");
        return Ok(());
    }
    let dimensions = array.dimensions();
    let each = array.len() / dimensions[0].length.max(1) as usize;
    for (place, element) in array.iter().enumerate() {
        if place > 0 {
            out.push(b',');
            if lines && place.is_multiple_of(each.max(1)) {
                out.extend_from_slice(b"\n ");
            }
        }
        (0..array::edges(dimensions, place)).for_each(|_| out.push(b'['));
        json(array.element(), element?, style, out)?;
        (0..array::edges(dimensions, place + 1)).for_each(|_| out.push(b']'));
    }
    Ok(())
}

/// Tells a builder of a value.
fn build<'a>(builder: &mut Builder<'a>, oid: Oid, datum: Datum<'a>, style: &Style<'_>, arena: &'a Arena) -> Result<()> {
    let kind = table::kind(oid);
    if datum.is_null() {
        return builder.value(Value::Null);
    }
    match class(kind) {
        Class::Bool => builder.value(Value::Bool(datum.bool())),
        Class::Json => copy_value(&mut super::read::Reader::new(text_of(datum.bytes())?), builder, arena),
        Class::Jsonb => builder.value(Value::decode(datum.bytes())?),
        Class::Array => {
            let array = Array::decode(datum.bytes())?;
            if array.is_empty() {
                builder.begin(false)?;
                return builder.end();
            }
            let dimensions = array.dimensions();
            for (place, element) in array.iter().enumerate() {
                for _ in 0..array::edges(dimensions, place) {
                    builder.begin(false)?;
                }
                build_scalar(builder, array.element(), element?, style, arena)?;
                for _ in 0..array::edges(dimensions, place + 1) {
                    builder.end()?;
                }
            }
            Ok(())
        }
        Class::Record => {
            let Datum::Bytes(bytes) = datum else { return Err(Error::corruption("a record is damaged")) };
            builder.begin(true)?;
            for field in record::decode(bytes)? {
                builder.key(field.name.as_bytes())?;
                build(builder, field.oid, field.value, style, arena)?;
            }
            builder.end()
        }
        Class::Number | Class::String => build_scalar(builder, oid, datum, style, arena),
    }
}

/// The same of what is no array: arrays have no arrays in them.
fn build_scalar<'a>(
    builder: &mut Builder<'a>,
    oid: Oid,
    datum: Datum<'a>,
    style: &Style<'_>,
    arena: &'a Arena,
) -> Result<()> {
    let kind = table::kind(oid);
    match class(kind) {
        Class::Number | Class::String if !datum.is_null() => {}
        Class::Array => return Err(Error::corruption("a stored array is damaged")),
        _ => return build(builder, oid, datum, style, arena),
    }
    let mut text = Vec::new();
    scalar_text(kind, datum, style, &mut text)?;
    if class(kind) == Class::Number && is_json_number(&text) {
        let number = Numeric::parse(&String::from_utf8_lossy(&text))?;
        return builder.value(Value::Number(number.encode(|bytes| arena.copy(bytes))??));
    }
    builder.value(Value::String(arena.copy(&text)?))
}

/// A value as a stored `jsonb`.
pub fn jsonb(oid: Oid, datum: Datum<'_>, style: &Style<'_>, arena: &Arena) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    build(&mut builder, oid, datum, style, arena)?;
    builder.finish()
}

/// A value as a key's text.
pub fn key(oid: Oid, datum: Datum<'_>, style: &Style<'_>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    if !can_be_key(oid) {
        return Err(no_key());
    }
    scalar_text(table::kind(oid), datum, style, &mut out)?;
    Ok(out)
}

/// How the text of an object or array is spaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spacing {
    /// As `json_build_object` writes it.
    Built,
    /// As `json_object_agg` writes it: with spaces within the braces.
    Gathered,
}

/// An object's text, of keys and JSON texts; a null one is `null`.
pub fn json_object<'d>(
    fields: impl Iterator<Item = (Datum<'d>, Datum<'d>)>,
    spacing: Spacing,
    null_key: impl Fn(usize) -> Error,
) -> Result<Vec<u8>> {
    let mut out = vec![b'{'];
    if spacing == Spacing::Gathered {
        out.push(b' ');
    }
    for (at, (key, value)) in fields.enumerate() {
        let Datum::Bytes(key) = key else { return Err(null_key(at)) };
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        quote(key, &mut out);
        out.extend_from_slice(b" : ");
        match value {
            Datum::Bytes(value) => out.extend_from_slice(value),
            _ => out.extend_from_slice(b"null"),
        }
        limit(&out)?;
    }
    out.extend_from_slice(if spacing == Spacing::Gathered { b" }" } else { b"}" });
    Ok(out)
}

/// A stored object, of keys and stored values; a null one is `null`.
pub fn jsonb_object<'d>(
    fields: impl Iterator<Item = (Datum<'d>, Datum<'d>)>,
    null_key: impl Fn(usize) -> Error,
) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    builder.begin(true)?;
    for (at, (key, value)) in fields.enumerate() {
        let Datum::Bytes(key) = key else { return Err(null_key(at)) };
        builder.field(key, stored(value)?)?;
    }
    builder.end()?;
    builder.finish()
}

fn stored(value: Datum<'_>) -> Result<Value<'_>> {
    match value {
        Datum::Bytes(value) => Value::decode(value),
        _ => Ok(Value::Null),
    }
}

/// An array's text, of JSON texts.
pub fn json_list<'d>(elements: impl Iterator<Item = Datum<'d>>) -> Result<Vec<u8>> {
    let mut out = vec![b'['];
    for (at, element) in elements.enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        match element {
            Datum::Bytes(element) => out.extend_from_slice(element),
            _ => out.extend_from_slice(b"null"),
        }
        limit(&out)?;
    }
    out.push(b']');
    Ok(out)
}

/// A stored array, of stored values.
pub fn jsonb_list<'d>(elements: impl Iterator<Item = Datum<'d>>) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    builder.begin(false)?;
    for element in elements {
        builder.value(stored(element)?)?;
    }
    builder.end()?;
    builder.finish()
}

/// `json_agg`: values of one type as an array's text, each array on a line of its own.
pub fn json_gathered<'d>(oid: Oid, values: impl Iterator<Item = Datum<'d>>, style: &Style<'_>) -> Result<Vec<u8>> {
    let lines = matches!(class(table::kind(oid)), Class::Array | Class::Record);
    let mut out = vec![b'['];
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
            if lines && !value.is_null() {
                out.extend_from_slice(b"\n ");
            }
        }
        json(oid, value, style, &mut out)?;
        limit(&out)?;
    }
    out.push(b']');
    Ok(out)
}

/// `jsonb_agg`: values of one type as a stored array.
pub fn jsonb_gathered<'d>(
    oid: Oid,
    values: impl Iterator<Item = Datum<'d>>,
    style: &Style<'_>,
    arena: &'d Arena,
) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    builder.begin(false)?;
    for value in values {
        build(&mut builder, oid, value, style, arena)?;
    }
    builder.end()?;
    builder.finish()
}

fn limit(text: &[u8]) -> Result<()> {
    match text.len() > crate::text::BYTES_MAX {
        true => Err(crate::text::too_long()),
        false => Ok(()),
    }
}

/// Keys and values that `json_object` is given as one list: in turns, or in pairs.
pub fn pairs_of<'a>(list: &'a [u8]) -> Result<Vec<(Datum<'a>, Datum<'a>)>> {
    let wrong = |message: &'static str| Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    let list = Array::decode(list)?;
    match list.dimensions() {
        [] => return Ok(Vec::new()),
        [only] if only.length % 2 == 1 => return wrong("array must have even number of elements"),
        [_] => {}
        [_, inner] if inner.length != 2 => return wrong("array must have two columns"),
        [_, _] => {}
        _ => return wrong("wrong number of array subscripts"),
    }
    Ok(list.elements()?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// Keys and values that `json_object` is given as two lists.
pub fn pairs_of_two<'a>(keys: &'a [u8], values: &'a [u8]) -> Result<Vec<(Datum<'a>, Datum<'a>)>> {
    let wrong = |message: &'static str| Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
    let (keys, values) = (Array::decode(keys)?, Array::decode(values)?);
    if keys.dimensions().len() > 1 || keys.dimensions().len() != values.dimensions().len() {
        return wrong("wrong number of array subscripts");
    }
    if keys.len() != values.len() {
        return wrong("mismatched array dimensions");
    }
    Ok(keys.elements()?.into_iter().zip(values.elements()?).collect())
}

/// `22004`, for a null key of `json_object`.
#[cold]
pub fn null_key(_: usize) -> Error {
    Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, "null value not allowed for object key")
}
