//! Elements, keys and fields as rows: what the functions in `FROM` give.
//!
//! Rules
//! 1. The rows are given one by one to a function, which keeps what it needs of them: they lie in memory that the next row uses.

use super::get::text_value;
use super::print;
use super::read::{Event, Reader};
use super::value::Value;
use super::{bad, text_of};
use crate::op::Op;
use crate::{Arena, Datum};
use base::{Error, Result};

/// What is done with a row.
type Each<'e> = &'e mut dyn FnMut(&[Datum<'_>]) -> Result<()>;

/// Is it one of these functions?
pub fn is_set(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        JsonArrayElements
            | JsonArrayElementsText
            | JsonEach
            | JsonEachText
            | JsonObjectKeys
            | JsonbArrayElements
            | JsonbArrayElementsText
            | JsonbEach
            | JsonbEachText
            | JsonbObjectKeys
    )
}

/// Gives the rows of a function of a `json` or `jsonb`.
pub fn rows(op: Op, value: &[u8], each: Each<'_>) -> Result<()> {
    let arena = Arena::new();
    match op {
        Op::JsonArrayElements => elements_of_text(value, "json_array_elements", false, &arena, each),
        Op::JsonArrayElementsText => elements_of_text(value, "json_array_elements_text", true, &arena, each),
        Op::JsonEach => fields_of_text(value, false, &arena, each),
        Op::JsonEachText => fields_of_text(value, true, &arena, each),
        Op::JsonObjectKeys => keys_of_text(value, &arena, each),
        Op::JsonbArrayElements => elements(Value::decode(value)?, false, each),
        Op::JsonbArrayElementsText => elements(Value::decode(value)?, true, each),
        Op::JsonbEach => fields(Value::decode(value)?, "jsonb_each", false, each),
        Op::JsonbEachText => fields(Value::decode(value)?, "jsonb_each_text", true, each),
        _ => keys(Value::decode(value)?, each),
    }
}

/// A part as it is given: its stored form, or as `->>` gives it.
fn given<'s>(value: Value<'_>, as_text: bool, spare: &'s mut Vec<u8>) -> Result<Datum<'s>> {
    spare.clear();
    if as_text {
        return Ok(match print::as_text(value, spare)? {
            true => Datum::Bytes(spare),
            false => Datum::Null,
        });
    }
    let (tag, body) = value.parts();
    spare.push(tag);
    spare.extend_from_slice(body);
    Ok(Datum::Bytes(spare))
}

fn elements(value: Value<'_>, as_text: bool, each: Each<'_>) -> Result<()> {
    let list = match value {
        Value::Array(list) => list,
        Value::Object(_) => return Err(bad("cannot extract elements from an object")),
        _ => return Err(bad("cannot extract elements from a scalar")),
    };
    let mut spare = Vec::new();
    for element in list.iter() {
        each(&[given(element?, as_text, &mut spare)?])?;
    }
    Ok(())
}

fn fields(value: Value<'_>, name: &str, as_text: bool, each: Each<'_>) -> Result<()> {
    let Value::Object(fields) = value else { return Err(bad(format!("cannot call {name} on a non-object"))) };
    let mut spare = Vec::new();
    for field in fields.iter() {
        let (key, value) = field?;
        each(&[Datum::Bytes(key), given(value, as_text, &mut spare)?])?;
    }
    Ok(())
}

fn keys(value: Value<'_>, each: Each<'_>) -> Result<()> {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(_) => return Err(bad("cannot call jsonb_object_keys on an array")),
        _ => return Err(bad("cannot call jsonb_object_keys on a scalar")),
    };
    for index in 0..fields.len() {
        each(&[Datum::Bytes(fields.key(index)?)])?;
    }
    Ok(())
}

/// The next part of a text, as it stands there or as `->>` gives it.
fn next_of_text<'t>(reader: &mut Reader<'t>, event: Event<'t>, as_text: bool, arena: &'t Arena) -> Result<Datum<'t>> {
    match as_text {
        true => text_value(reader, event, arena),
        false => Ok(Datum::Bytes(reader.rest_of(event)?)),
    }
}

fn elements_of_text(json: &[u8], name: &str, as_text: bool, arena: &Arena, each: Each<'_>) -> Result<()> {
    let mut reader = Reader::new(text_of(json)?);
    match reader.next()? {
        Event::Begin { object: false } => {}
        Event::Begin { object: true } => return Err(bad(format!("cannot call {name} on a non-array"))),
        _ => return Err(bad(format!("cannot call {name} on a scalar"))),
    }
    loop {
        let event = reader.next()?;
        if matches!(event, Event::End { .. }) {
            return Ok(());
        }
        each(&[next_of_text(&mut reader, event, as_text, arena)?])?;
    }
}

/// The first event of an object's text.
fn open_object<'t>(json: &'t [u8], array: fn() -> Error, scalar: fn() -> Error) -> Result<Reader<'t>> {
    let mut reader = Reader::new(text_of(json)?);
    match reader.next()? {
        Event::Begin { object: true } => Ok(reader),
        Event::Begin { object: false } => Err(array()),
        _ => Err(scalar()),
    }
}

fn fields_of_text(json: &[u8], as_text: bool, arena: &Arena, each: Each<'_>) -> Result<()> {
    let mut reader =
        open_object(json, || bad("cannot deconstruct an array as an object"), || bad("cannot deconstruct a scalar"))?;
    while let Event::Key(key) = reader.next()? {
        let event = reader.next()?;
        let value = next_of_text(&mut reader, event, as_text, arena)?;
        each(&[Datum::Bytes(key.decode(arena)?), value])?;
    }
    Ok(())
}

fn keys_of_text(json: &[u8], arena: &Arena, each: Each<'_>) -> Result<()> {
    let mut reader = open_object(
        json,
        || bad("cannot call json_object_keys on an array"),
        || bad("cannot call json_object_keys on a scalar"),
    )?;
    while let Event::Key(key) = reader.next()? {
        each(&[Datum::Bytes(key.decode(arena)?)])?;
        let event = reader.next()?;
        reader.rest_of(event)?;
    }
    Ok(())
}
