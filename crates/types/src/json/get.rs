//! Parts of a value: by key, by index, by path; of `jsonb` and of `json`.
//!
//! Rules
//! 1. What is not there is null, as is a key of what is no object, and an index of what is no array. One exception is
//!    PostgreSQL's: `->` with an index takes a scalar `jsonb` for an array of one element.
//! 2. A `json` gives back the text of the part as it stands there. Of keys that come more than once the last one counts.

use super::read::{Event, Reader, Scalar};
use super::value::{List, Value};
use super::{bad, keep, print, text_of};
use crate::array::Array;
use crate::text::is_space;
use crate::{Arena, Datum};
use base::Result;

/// A number as C's `strtol` reads it, if it is an `integer` and nothing follows.
pub(super) fn index_of(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim_start_matches(is_space);
    let digits = text.strip_prefix('+').unwrap_or(text);
    // A second sign is none.
    if text.starts_with('+') && digits.starts_with(['+', '-']) {
        return None;
    }
    digits.parse::<i32>().ok().map(i64::from)
}

/// Gives a part: as a value, or as text.
fn give<'a>(value: Option<Value<'_>>, as_text: bool, arena: &'a Arena) -> Result<Datum<'a>> {
    let Some(value) = value else { return Ok(Datum::Null) };
    if !as_text {
        return keep(value, arena);
    }
    if let Value::String(text) = value {
        return Ok(Datum::Bytes(arena.copy(text)?));
    }
    let mut out = Vec::new();
    match print::as_text(value, &mut out)? {
        true => Ok(Datum::Bytes(arena.copy(&out)?)),
        false => Ok(Datum::Null),
    }
}

/// `jsonb -> text`, `jsonb ->> text`
pub fn field<'a>(value: Value<'_>, key: &[u8], as_text: bool, arena: &'a Arena) -> Result<Datum<'a>> {
    match value {
        Value::Object(fields) => give(fields.get(key)?, as_text, arena),
        _ => Ok(Datum::Null),
    }
}

/// `jsonb -> integer`, `jsonb ->> integer`
pub fn element<'a>(value: Value<'_>, index: i64, as_text: bool, arena: &'a Arena) -> Result<Datum<'a>> {
    match value {
        Value::Array(list) => give(list.at(index)?, as_text, arena),
        Value::Object(_) => Ok(Datum::Null),
        scalar => give(matches!(index, 0 | -1).then_some(scalar), as_text, arena),
    }
}

/// `jsonb #> text[]`, `jsonb #>> text[]`
pub fn path<'a, 'p>(
    value: Value<'_>,
    keys: impl Iterator<Item = &'p [u8]>,
    as_text: bool,
    arena: &'a Arena,
) -> Result<Datum<'a>> {
    let mut found = Some(value);
    for key in keys {
        found = match found {
            Some(Value::Object(fields)) => fields.get(key)?,
            Some(Value::Array(list)) => by_text(list, key)?,
            _ => None,
        };
        if found.is_none() {
            return Ok(Datum::Null);
        }
    }
    give(found, as_text, arena)
}

fn by_text<'v>(list: List<'v>, key: &[u8]) -> Result<Option<Value<'v>>> {
    match index_of(key) {
        Some(index) => list.at(index),
        None => Ok(None),
    }
}

/// The texts of a path; none if one of them is null.
pub fn keys_of(path: &[u8]) -> Result<Option<Vec<&[u8]>>> {
    let path = Array::decode(path)?;
    let mut keys = Vec::with_capacity(path.len());
    for key in path.iter() {
        match key? {
            Datum::Bytes(key) => keys.push(key),
            _ => return Ok(None),
        }
    }
    Ok(Some(keys))
}

/// One step of a path into a text.
#[derive(Clone, Copy, Debug)]
pub enum Hop<'p> {
    /// By a key only.
    Key(&'p [u8]),
    /// By an index only.
    Index(i64),
    /// By a key of an object, or by an index of an array.
    Either(&'p [u8]),
}

/// A part of a `json`, as its text or as `->>` gives it; without hops, the whole. All of the text is read.
pub fn in_text<'a>(json: &'a [u8], hops: &[Hop<'_>], as_text: bool, arena: &'a Arena) -> Result<Datum<'a>> {
    let text = text_of(json)?;
    let mut part = text;
    for hop in hops {
        match step(part, *hop)? {
            Some(found) => part = text_of(found)?,
            None => return Ok(Datum::Null),
        }
    }
    if !as_text {
        if !hops.is_empty() {
            return Ok(Datum::Bytes(part.as_bytes()));
        }
        return whole(text);
    }
    let mut reader = Reader::new(part);
    let event = reader.next()?;
    text_value(&mut reader, event, arena)
}

/// The whole of a text, without the space around it.
fn whole(text: &str) -> Result<Datum<'_>> {
    let mut reader = Reader::new(text);
    let event = reader.next()?;
    Ok(Datum::Bytes(reader.rest_of(event)?))
}

/// The value that an event begins, as `->>` gives it.
pub(super) fn text_value<'a>(reader: &mut Reader<'a>, event: Event<'a>, arena: &'a Arena) -> Result<Datum<'a>> {
    Ok(match event {
        Event::Scalar(Scalar::Null) => Datum::Null,
        Event::Scalar(Scalar::String(text)) => Datum::Bytes(text.decode(arena)?),
        event => Datum::Bytes(reader.rest_of(event)?),
    })
}

/// What a hop leads to.
fn step<'t>(text: &'t str, hop: Hop<'_>) -> Result<Option<&'t [u8]>> {
    let mut reader = Reader::new(text);
    let Event::Begin { object } = reader.next()? else { return Ok(None) };
    let mut found = None;
    if object {
        let wanted = match hop {
            Hop::Key(key) | Hop::Either(key) => Some(key),
            Hop::Index(_) => None,
        };
        while let Event::Key(key) = reader.next()? {
            let event = reader.next()?;
            let value = reader.rest_of(event)?;
            if wanted.is_some_and(|wanted| key.is(wanted)) {
                found = Some(value);
            }
        }
        return Ok(found);
    }
    let index = match hop {
        Hop::Index(index) => Some(index),
        Hop::Either(key) => index_of(key),
        Hop::Key(_) => None,
    };
    let Some(mut index) = index else { return Ok(None) };
    if index < 0 {
        index += length_of_text(text)? as i64;
    }
    let mut at = 0;
    loop {
        let event = reader.next()?;
        if matches!(event, Event::End { .. }) {
            return Ok(found);
        }
        let value = reader.rest_of(event)?;
        if at == index {
            found = Some(value);
        }
        at += 1;
    }
}

/// How many elements the array has that a text is.
fn length_of_text(text: &str) -> Result<usize> {
    let mut reader = Reader::new(text);
    reader.next()?;
    let mut count = 0;
    loop {
        let event = reader.next()?;
        if matches!(event, Event::End { .. } | Event::Done) {
            return Ok(count);
        }
        reader.rest_of(event)?;
        count += 1;
    }
}

/// `json_typeof`
pub fn type_of_text(json: &[u8]) -> Result<&'static str> {
    Ok(match Reader::new(text_of(json)?).next()? {
        Event::Begin { object: true } => "object",
        Event::Begin { object: false } => "array",
        Event::Scalar(Scalar::Bool(_)) => "boolean",
        Event::Scalar(Scalar::Number(_)) => "number",
        Event::Scalar(Scalar::String(_)) => "string",
        _ => "null",
    })
}

/// `json_array_length`
pub fn length_in_text(json: &[u8]) -> Result<usize> {
    let text = text_of(json)?;
    match Reader::new(text).next()? {
        Event::Begin { object: false } => length_of_text(text),
        Event::Begin { object: true } => Err(bad("cannot get array length of a non-array")),
        _ => Err(bad("cannot get array length of a scalar")),
    }
}

/// `jsonb_array_length`
pub fn length(value: Value<'_>) -> Result<usize> {
    match value {
        Value::Array(list) => Ok(list.len()),
        Value::Object(_) => Err(bad("cannot get array length of a non-array")),
        _ => Err(bad("cannot get array length of a scalar")),
    }
}
