//! `json` and `jsonb`.
//!
//! A `json` is text that has been found to be valid, kept as it was written: white space, order and repeated keys included.
//! Whatever looks into it reads it again. A `jsonb` is kept in a form of its own ([`value`]), in which keys and elements are
//! found at once; its text form is made from it. Numbers are `numeric`s in both.
//!
//! | module | what it does |
//! |---|---|
//! | `lex`, `read` | JSON text: tokens, events |
//! | [`value`], `build` | the stored form of `jsonb`: reading it, making it |
//! | [`print`](mod@print) | the text form of `jsonb`; strings as JSON writes them |
//! | [`order`] | the order of `jsonb`, its hash, and what contains what |
//! | [`get`] | parts of a value, by key, index or path |
//! | [`change`] | values made of others: joined, with parts replaced or left out |
//! | [`make`] | values of any type as JSON |
//! | [`set`] | elements, keys and fields as rows |
//!
//! (A library for the text was considered: `serde_json` has no events, keeps what it reads on the heap, does not tell where a
//! part begins and ends in the text, which `json` must give back unchanged, and has other words for what is wrong.)
//!
//! Rules
//! 1. Nothing here calls itself for each level of a value, but for [`order::contains`], which counts: stacks of fibers are small.
//! 2. Deeper than [`DEPTH_MAX`] is `54001`.
//! 3. Stored text of a `json` is read again with the same care as a client's.
//!
//! Life of `'{"a": [1]}'::jsonb -> 'a'`: [`input`] reads events and tells a builder of them, which writes the stored form.
//! [`get::field`] looks for the key in it and copies the part that is found.

pub(crate) mod build;
pub mod change;
pub mod get;
mod lex;
pub mod make;
pub mod order;
pub mod print;
mod read;
pub mod set;
pub mod value;

use super::numeric::Numeric;
use super::{Arena, Datum, Sink};
use base::{Error, Result, sqlstate};
use build::Builder;
use read::{Event, Reader, Scalar};
use value::{Step, Value, Walk};

/// How many levels objects and arrays may be nested.
pub const DEPTH_MAX: usize = 10_000;

/// The first byte of the binary form of a `jsonb`.
const VERSION: u8 = 1;

/// `54001`
#[cold]
fn too_deep() -> Error {
    Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .detail(format!("Objects and arrays can be nested {DEPTH_MAX} levels deep."))
}

/// `22023`
#[cold]
fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The text of a stored `json`.
fn text_of(json: &[u8]) -> Result<&str> {
    super::text::validate(json).map_err(|_| Error::corruption("a stored json is damaged"))
}

/// Checks that a text is valid JSON.
pub fn check(text: &str) -> Result<()> {
    let mut reader = Reader::lenient(text);
    while reader.next()? != Event::Done {}
    Ok(())
}

/// Reads a text as a `jsonb`; answers its stored form.
pub fn input(text: &str, arena: &Arena) -> Result<Vec<u8>> {
    let mut reader = Reader::new(text);
    let mut builder = Builder::new();
    copy_value(&mut reader, &mut builder, arena)?;
    match reader.next()? {
        Event::Done => builder.finish(),
        _ => Err(Error::statement(sqlstate::INTERNAL_ERROR, "a JSON text goes on behind its end")),
    }
}

/// Tells a builder of the next value of a text.
fn copy_value<'a>(reader: &mut Reader<'a>, builder: &mut Builder<'a>, arena: &'a Arena) -> Result<()> {
    let depth = reader.depth();
    loop {
        match reader.next()? {
            Event::Begin { object } => builder.begin(object)?,
            Event::End { .. } => builder.end()?,
            Event::Key(key) => {
                builder.key(key.decode(arena)?)?;
                continue;
            }
            Event::Scalar(scalar) => builder.value(scalar_value(scalar, arena)?)?,
            Event::Done => return Ok(()),
        }
        if reader.depth() == depth {
            return Ok(());
        }
    }
}

/// A scalar of a text as a value.
fn scalar_value<'a>(scalar: Scalar<'a>, arena: &'a Arena) -> Result<Value<'a>> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Number(text) => Value::Number(Numeric::parse(text)?.encode(|bytes| arena.copy(bytes))??),
        Scalar::String(text) => Value::String(text.decode(arena)?),
    })
}

/// The binary form of a `jsonb`: a version, and its text.
pub fn send(bytes: &[u8], out: &mut impl Sink) -> Result<()> {
    out.put(&[VERSION]);
    print::print(Value::decode(bytes)?, out)
}

/// Reads the binary form of a `jsonb`; answers its stored form.
pub fn receive(bytes: &[u8], arena: &Arena) -> Result<Vec<u8>> {
    match bytes.split_first() {
        Some((&VERSION, text)) => input(super::text::validate(text)?, arena),
        Some((version, _)) => {
            Err(Error::statement(sqlstate::INTERNAL_ERROR, format!("unsupported jsonb version number {version}")))
        }
        None => Err(Error::statement(sqlstate::PROTOCOL_VIOLATION, "no data left in message")),
    }
}

/// Checks a stored `jsonb` whole.
pub fn check_stored(bytes: &[u8]) -> Result<()> {
    let mut depth = 0usize;
    for step in Walk::new(Value::decode(bytes)?) {
        match step? {
            Step::Begin(..) => depth += 1,
            Step::End { .. } => depth -= 1,
            Step::Key(text) | Step::Scalar(Value::String(text)) => {
                super::text::validate(text).map_err(|_| value::damaged())?;
            }
            Step::Scalar(Value::Number(number)) => {
                Numeric::decode(number)?;
            }
            Step::Scalar(_) => {}
        }
        if depth > DEPTH_MAX {
            return Err(value::damaged());
        }
    }
    Ok(())
}

/// A value's stored form in the arena.
fn keep<'a>(value: Value<'_>, arena: &'a Arena) -> Result<Datum<'a>> {
    let (tag, body) = value.parts();
    Ok(Datum::Bytes(arena.concat(&[tag], body)?))
}

#[cfg(test)]
mod tests;
