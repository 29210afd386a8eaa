//! Keys of `jsonb`.
//!
//! ```text
//! 10 an empty array that is the whole value   20 null   21 a string: as a text   22 a number: as a numeric
//! 23 00 false, 23 01 true   30 an array: count u32, its elements   31 an object: count u32, keys as texts and values in turns
//! ```
//! Counts are big-endian and come first, because of two arrays or objects the longer one is greater. Nothing needs an end.

use super::{damaged, decode_bytes, decode_numeric, encode_bytes, encode_numeric};
use crate::json::build::Builder;
use crate::json::value::{Step, Value, Walk};
use crate::numeric::Numeric;
use crate::{Arena, Datum};
use base::Result;
use base::codec::Reader;

const EMPTY: u8 = 0x10;
const NULL: u8 = 0x20;
const STRING: u8 = 0x21;
const NUMBER: u8 = 0x22;
const BOOL: u8 = 0x23;
const ARRAY: u8 = 0x30;
const OBJECT: u8 = 0x31;

/// Appends the key of a stored value.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let value = Value::decode(bytes)?;
    if matches!(value, Value::Array(list) if list.is_empty()) {
        out.push(EMPTY);
        return Ok(());
    }
    for step in Walk::new(value) {
        match step? {
            Step::Begin(container, count) => {
                out.push(if matches!(container, Value::Object(_)) { OBJECT } else { ARRAY });
                out.extend_from_slice(&(count as u32).to_be_bytes());
            }
            Step::End { .. } => {}
            Step::Key(key) => encode_bytes(key, out),
            Step::Scalar(Value::String(text)) => {
                out.push(STRING);
                encode_bytes(text, out);
            }
            Step::Scalar(Value::Number(number)) => {
                out.push(NUMBER);
                encode_numeric(&Numeric::decode(number)?, out);
            }
            Step::Scalar(Value::Bool(value)) => out.extend_from_slice(&[BOOL, u8::from(value)]),
            Step::Scalar(_) => out.push(NULL),
        }
    }
    Ok(())
}

/// A container whose parts are being read.
struct Open {
    object: bool,
    left: u32,
}

/// The value of a key, and how many bytes it took.
pub(super) fn decode<'a>(key: &'a [u8], arena: &'a Arena) -> Result<(Datum<'a>, usize)> {
    let mut builder = Builder::new();
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    loop {
        while open.last().is_some_and(|open| open.left == 0) {
            open.pop();
            builder.end()?;
        }
        if let Some(inside) = open.last_mut() {
            inside.left -= 1;
            if inside.object {
                let (text, length) = text(key, at, arena)?;
                builder.key(text)?;
                at += length;
            }
        } else if at > 0 {
            break;
        }
        let lead = *key.get(at).ok_or_else(damaged)?;
        at += 1;
        match lead {
            EMPTY if open.is_empty() => {
                builder.begin(false)?;
                builder.end()?;
            }
            NULL => builder.value(Value::Null)?,
            STRING => {
                let (text, length) = text(key, at, arena)?;
                builder.value(Value::String(text))?;
                at += length;
            }
            NUMBER => {
                let (&lead, rest) = key.get(at..).and_then(<[u8]>::split_first).ok_or_else(damaged)?;
                let (number, length) = decode_numeric(lead, rest)?;
                builder.value(Value::Number(number.encode(|bytes| arena.copy(bytes))??))?;
                at += length + 1;
            }
            BOOL => {
                let value = *key.get(at).filter(|value| **value <= 1).ok_or_else(damaged)?;
                builder.value(Value::Bool(value == 1))?;
                at += 1;
            }
            ARRAY | OBJECT => {
                let left = Reader::new(&key[at..]).u32_be().ok_or_else(damaged)?;
                builder.begin(lead == OBJECT)?;
                open.push(Open { object: lead == OBJECT, left });
                at += 4;
            }
            _ => return Err(damaged()),
        }
    }
    Ok((Datum::Bytes(arena.copy(&builder.finish()?)?), at))
}

/// A text from its first byte, and how many bytes it took.
fn text<'a>(key: &'a [u8], at: usize, arena: &'a Arena) -> Result<(&'a [u8], usize)> {
    match key.get(at..).and_then(<[u8]>::split_first) {
        Some((&super::VALUE, rest)) => decode_bytes(rest, arena).map(|(text, length)| (text, length + 1)),
        _ => Err(damaged()),
    }
}
