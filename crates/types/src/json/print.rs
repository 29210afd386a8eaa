//! The text form of `jsonb`, and strings as JSON writes them.

use super::value::{Step, Value, Walk};
use crate::Sink;
use crate::numeric::Numeric;
use base::Result;

/// Writes a string in quotes.
pub fn quote(text: &[u8], out: &mut impl Sink) {
    out.put(b"\"");
    let mut start = 0;
    for (at, &byte) in text.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            8 => b"\\b",
            12 => b"\\f",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => b"",
            _ => continue,
        };
        out.put(&text[start..at]);
        start = at + 1;
        match escape {
            [] => out.put(format!("\\u{byte:04x}").as_bytes()),
            escape => out.put(escape),
        }
    }
    out.put(&text[start..]);
    out.put(b"\"");
}

/// Writes a value without parts.
fn scalar(value: Value<'_>, out: &mut impl Sink) -> Result<()> {
    match value {
        Value::Null => out.put(b"null"),
        Value::Bool(true) => out.put(b"true"),
        Value::Bool(false) => out.put(b"false"),
        Value::Number(number) => Numeric::decode(number)?.print(out),
        Value::String(text) => quote(text, out),
        Value::Array(_) | Value::Object(_) => {}
    }
    Ok(())
}

/// Writes a value on one line, with a space behind commas and colons.
pub fn print(value: Value<'_>, out: &mut impl Sink) -> Result<()> {
    spaced(value, None, out)
}

/// Writes a value on many lines, each level four spaces further in.
pub fn pretty(value: Value<'_>, out: &mut impl Sink) -> Result<()> {
    spaced(value, Some(4), out)
}

fn spaced(value: Value<'_>, indent: Option<usize>, out: &mut impl Sink) -> Result<()> {
    let mut depth = 0usize;
    // Does something stand before, in the container that is open; and is it a key?
    let (mut follows, mut keyed) = (false, false);
    let line = |depth: usize, out: &mut _| {
        if let Some(indent) = indent {
            newline(depth * indent, out);
        }
    };
    for step in Walk::new(value) {
        let step = step?;
        if let Step::End { object } = step {
            depth -= 1;
            line(depth, out);
            out.put(if object { b"}" } else { b"]" });
            follows = true;
            continue;
        }
        if keyed {
            keyed = false;
        } else {
            if follows {
                out.put(if indent.is_some() { b"," } else { b", " });
            }
            if depth > 0 {
                line(depth, out);
            }
        }
        match step {
            Step::Begin(container, _) => {
                out.put(if matches!(container, Value::Object(_)) { b"{" } else { b"[" });
                depth += 1;
                follows = false;
            }
            Step::Key(key) => {
                quote(key, out);
                out.put(b": ");
                keyed = true;
            }
            Step::Scalar(value) => {
                scalar(value, out)?;
                follows = true;
            }
            Step::End { .. } => {}
        }
    }
    Ok(())
}

fn newline(spaces: usize, out: &mut impl Sink) {
    out.put(b"\n");
    const SPACES: [u8; 64] = [b' '; 64];
    let mut left = spaces;
    while left > 0 {
        let now = left.min(SPACES.len());
        out.put(&SPACES[..now]);
        left -= now;
    }
}

/// A value as `->>` gives it: a string without quotes, null as no value, others as they are written.
pub fn as_text(value: Value<'_>, out: &mut Vec<u8>) -> Result<bool> {
    match value {
        Value::Null => return Ok(false),
        Value::String(text) => out.extend_from_slice(text),
        value => print(value, out)?,
    }
    Ok(true)
}
