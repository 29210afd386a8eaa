//! Values made of others: joined, with parts replaced, put in or left out.
//!
//! What stays as it is is copied whole. A path is followed with a list of what is open on the way, so its length and the depth
//! of the value cost no stack.

use super::build::Builder;
use super::get::index_of;
use super::print::quote;
use super::read::{Event, Reader, Scalar};
use super::value::{Fields, List, Step, Value, Walk};
use super::{bad, text_of};
use crate::Arena;
use base::{Error, Result, sqlstate};

fn put_list<'a>(builder: &mut Builder<'a>, list: List<'a>) -> Result<()> {
    for element in list.iter() {
        builder.value(element?)?;
    }
    Ok(())
}

fn put_fields<'a>(builder: &mut Builder<'a>, fields: Fields<'a>) -> Result<()> {
    for field in fields.iter() {
        let (key, value) = field?;
        builder.field(key, value)?;
    }
    Ok(())
}

/// `jsonb || jsonb`: two objects are one with the keys of both; all else is joined as arrays.
pub fn concat(first: Value<'_>, second: Value<'_>) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    if let (Value::Object(first), Value::Object(second)) = (first, second) {
        builder.begin(true)?;
        put_fields(&mut builder, first)?;
        put_fields(&mut builder, second)?;
    } else {
        builder.begin(false)?;
        for value in [first, second] {
            match value {
                Value::Array(list) => put_list(&mut builder, list)?,
                value => builder.value(value)?,
            }
        }
    }
    builder.end()?;
    builder.finish()
}

/// `jsonb - text`, `jsonb - text[]`: without some keys, or without some strings.
pub fn without_keys(value: Value<'_>, keys: &[&[u8]]) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    match value {
        Value::Object(fields) => {
            builder.begin(true)?;
            for field in fields.iter() {
                let (key, value) = field?;
                if !keys.contains(&key) {
                    builder.field(key, value)?;
                }
            }
        }
        Value::Array(list) => {
            builder.begin(false)?;
            for element in list.iter() {
                let element = element?;
                if !matches!(element, Value::String(text) if keys.contains(&text)) {
                    builder.value(element)?;
                }
            }
        }
        _ => return Err(bad("cannot delete from scalar")),
    }
    builder.end()?;
    builder.finish()
}

/// `jsonb - integer`; none if the value stays as it is.
pub fn without_element(value: Value<'_>, index: i64) -> Result<Option<Vec<u8>>> {
    let list = match value {
        Value::Array(list) => list,
        Value::Object(_) => return Err(bad("cannot delete from object using integer index")),
        _ => return Err(bad("cannot delete from scalar")),
    };
    let index = if index < 0 { index + list.len() as i64 } else { index };
    if index < 0 || index >= list.len() as i64 {
        return Ok(None);
    }
    let mut builder = Builder::new();
    builder.begin(false)?;
    for (at, element) in list.iter().enumerate() {
        if at as i64 != index {
            builder.value(element?)?;
        }
    }
    builder.end()?;
    builder.finish().map(Some)
}

/// What becomes of the place that a path leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It goes.
    Delete,
    /// It gets a new value, if it is there.
    Replace,
    /// It gets a new value, and is made if it is not there.
    Set,
    /// A new value comes before it.
    Before,
    /// A new value comes behind it.
    After,
}

impl Change {
    /// Does the new value also go where nothing is yet?
    fn creates(self) -> bool {
        matches!(self, Change::Set | Change::Before | Change::After)
    }
}

/// A container that a path leads through: what stands behind the part that was entered comes later.
struct Through<'a> {
    container: Value<'a>,
    next: usize,
}

/// A value with the place at the end of a path changed. The path is not empty, and the value is no scalar.
pub fn at_path(value: Value<'_>, path: &[Option<&[u8]>], new: Value<'_>, change: Change) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    let mut through: Vec<Through<'_>> = Vec::new();
    let mut current = value;
    for (level, key) in path.iter().enumerate() {
        let Some(key) = key else {
            let message = format!("path element at position {} is null", level + 1);
            return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        };
        let last = level + 1 == path.len();
        let entered = match current {
            Value::Object(fields) if last => {
                change_field(&mut builder, fields, key, new, change)?;
                None
            }
            Value::Object(fields) => {
                builder.begin(true)?;
                enter_field(&mut builder, fields, key)?
            }
            Value::Array(list) => {
                let index = list_index(list, key, level)?;
                if last {
                    change_element(&mut builder, list, index, new, change)?;
                    None
                } else {
                    builder.begin(false)?;
                    enter_element(&mut builder, list, index)?
                }
            }
            scalar => {
                builder.value(scalar)?;
                None
            }
        };
        match entered {
            Some((inner, next)) => {
                through.push(Through { container: current, next });
                current = inner;
            }
            None => break,
        }
    }
    while let Some(Through { container, next }) = through.pop() {
        match container {
            Value::Object(fields) => {
                for index in next..fields.len() {
                    builder.field(fields.key(index)?, fields.value(index)?)?;
                }
            }
            Value::Array(list) => {
                for index in next..list.len() {
                    builder.value(list.get(index)?)?;
                }
            }
            _ => {}
        }
        builder.end()?;
    }
    builder.finish()
}

/// Writes the fields before one that is to be entered; that one's value, and which field comes behind it. The whole object, if
/// it has no such field.
fn enter_field<'a>(builder: &mut Builder<'a>, fields: Fields<'a>, key: &[u8]) -> Result<Option<(Value<'a>, usize)>> {
    let found = fields.find(key)?;
    for index in 0..found.unwrap_or(fields.len()) {
        builder.field(fields.key(index)?, fields.value(index)?)?;
    }
    match found {
        Some(index) => {
            builder.key(fields.key(index)?)?;
            Ok(Some((fields.value(index)?, index + 1)))
        }
        None => {
            builder.end()?;
            Ok(None)
        }
    }
}

fn enter_element<'a>(
    builder: &mut Builder<'a>,
    list: List<'a>,
    index: Option<usize>,
) -> Result<Option<(Value<'a>, usize)>> {
    let found = index.filter(|index| *index < list.len());
    for index in 0..found.unwrap_or(list.len()) {
        builder.value(list.get(index)?)?;
    }
    match found {
        Some(index) => Ok(Some((list.get(index)?, index + 1))),
        None => {
            builder.end()?;
            Ok(None)
        }
    }
}

/// The index that a part of a path means: one behind the end for what is beyond it, none for what is before the beginning.
fn list_index(list: List<'_>, key: &[u8], level: usize) -> Result<Option<usize>> {
    let Some(index) = index_of(key) else {
        let shown = String::from_utf8_lossy(key);
        let message = format!("path element at position {} is not an integer: \"{shown}\"", level + 1);
        return Err(Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, message));
    };
    let count = list.len() as i64;
    let index = if index < 0 { index + count } else { index.min(count) };
    Ok(usize::try_from(index).ok())
}

fn change_field<'a>(
    builder: &mut Builder<'a>,
    fields: Fields<'a>,
    key: &'a [u8],
    new: Value<'a>,
    change: Change,
) -> Result<()> {
    let found = fields.find(key)?;
    if found.is_some() && matches!(change, Change::Before | Change::After) {
        return Err(bad("cannot replace existing key").hint("Try using the function jsonb_set to replace key value."));
    }
    builder.begin(true)?;
    for (index, field) in fields.iter().enumerate() {
        let (key, value) = field?;
        match found == Some(index) {
            false => builder.field(key, value)?,
            true if change == Change::Delete => {}
            true => builder.field(key, new)?,
        }
    }
    if found.is_none() && change.creates() {
        builder.field(key, new)?;
    }
    builder.end()
}

fn change_element<'a>(
    builder: &mut Builder<'a>,
    list: List<'a>,
    index: Option<usize>,
    new: Value<'a>,
    change: Change,
) -> Result<()> {
    builder.begin(false)?;
    if index.is_none() && change.creates() {
        builder.value(new)?;
    }
    for (at, element) in list.iter().enumerate() {
        let element = element?;
        if Some(at) != index {
            builder.value(element)?;
            continue;
        }
        match change {
            Change::Delete => {}
            Change::Replace | Change::Set => builder.value(new)?,
            Change::Before => {
                builder.value(new)?;
                builder.value(element)?;
            }
            Change::After => {
                builder.value(element)?;
                builder.value(new)?;
            }
        }
    }
    if index.is_some_and(|index| index >= list.len()) && change.creates() {
        builder.value(new)?;
    }
    builder.end()
}

/// `jsonb_strip_nulls`: without the fields of objects that are null.
pub fn strip_nulls(value: Value<'_>) -> Result<Vec<u8>> {
    let mut builder = Builder::new();
    let mut key = None;
    for step in Walk::new(value) {
        match step? {
            Step::Key(name) => key = Some(name),
            Step::Scalar(Value::Null) if key.is_some() => key = None,
            Step::Scalar(value) => {
                if let Some(name) = key.take() {
                    builder.key(name)?;
                }
                builder.value(value)?;
            }
            Step::Begin(container, _) => {
                if let Some(name) = key.take() {
                    builder.key(name)?;
                }
                builder.begin(matches!(container, Value::Object(_)))?;
            }
            Step::End { .. } => builder.end()?,
        }
    }
    builder.finish()
}

/// `json_strip_nulls`: the same of a text, written without spaces.
pub fn strip_nulls_of_text(json: &[u8], arena: &Arena) -> Result<Vec<u8>> {
    let mut reader = Reader::new(text_of(json)?);
    let mut out = Vec::with_capacity(json.len());
    let mut key = None;
    let mut follows = false;
    loop {
        let event = reader.next()?;
        match event {
            Event::Done => return Ok(out),
            Event::Key(name) => {
                key = Some(name);
                continue;
            }
            Event::Scalar(Scalar::Null) if key.is_some() => {
                key = None;
                continue;
            }
            Event::End { object } => {
                out.push(if object { b'}' } else { b']' });
                follows = true;
                continue;
            }
            _ => {}
        }
        if follows {
            out.push(b',');
        }
        if let Some(name) = key.take() {
            quote(name.decode(arena)?, &mut out);
            out.push(b':');
        }
        follows = true;
        match event {
            Event::Begin { object } => {
                out.push(if object { b'{' } else { b'[' });
                follows = false;
            }
            Event::Scalar(Scalar::String(text)) => quote(text.decode(arena)?, &mut out),
            _ => out.extend_from_slice(reader.between(reader.start(), reader.end())),
        }
    }
}
