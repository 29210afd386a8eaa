//! What takes any number of arguments: `concat`, `concat_ws`, `format`, and the counts of nulls.
//!
//! The binder has made texts of all arguments that may be of any type; nulls stay nulls.

use super::string::quote_literal;
use crate::op::Op;
use crate::{Datum, EvalCtx, text};
use base::{Error, Result, sqlstate};

/// Does an operation; any other is a pattern's.
pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    let present = || args.iter().filter(|value| !value.is_null());
    let joined: Vec<u8> = match op {
        Op::Concat => present().flat_map(|value| value.bytes()).copied().collect(),
        Op::ConcatWs => match args[0] {
            Datum::Null => return Ok(Datum::Null),
            between => {
                let values: Vec<&[u8]> =
                    args[1..].iter().filter(|value| !value.is_null()).map(|value| value.bytes()).collect();
                values.join(between.bytes())
            }
        },
        Op::Format => match args[0] {
            Datum::Null => return Ok(Datum::Null),
            pattern => format(text::validate(pattern.bytes())?, &args[1..])?,
        },
        Op::NumNulls => return Ok(Datum::Int((args.len() - present().count()) as i64)),
        Op::NumNonnulls => return Ok(Datum::Int(present().count() as i64)),
        _ => return super::pattern::eval(op, args, ctx),
    };
    if joined.len() > text::BYTES_MAX {
        return Err(text::too_long());
    }
    Ok(Datum::Bytes(ctx.arena.copy(&joined)?))
}

#[cold]
fn bad(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// A format's text, read from its beginning.
struct Pattern<'p> {
    rest: &'p str,
}

impl Pattern<'_> {
    fn eat(&mut self, letter: char) -> bool {
        let after = self.rest.strip_prefix(letter);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn number(&mut self) -> Result<Option<usize>> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(None);
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        match number.parse::<i32>() {
            Ok(number) => Ok(Some(number as usize)),
            Err(_) => Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "number is out of range")),
        }
    }

    /// Errors: `22023` at the end, where more is needed.
    fn goes_on(&self) -> Result<()> {
        match self.rest.is_empty() {
            true => Err(bad("unterminated format() type specifier".into()).hint("For a single \"%\" use \"%%\".")),
            false => Ok(()),
        }
    }
}

/// `format(pattern, arguments)`: `%s`, `%I`, `%L`, each with the argument's number, a width, and a sign for the left side.
fn format(pattern: &str, args: &[Datum<'_>]) -> Result<Vec<u8>> {
    let mut pattern = Pattern { rest: pattern };
    let (mut out, mut next) = (Vec::new(), 0);
    let argument = |at: usize| args.get(at).copied().ok_or_else(|| bad("too few arguments for format()".into()));
    while let Some(at) = pattern.rest.find('%') {
        out.extend_from_slice(&pattern.rest.as_bytes()[..at]);
        pattern.rest = &pattern.rest[at + 1..];
        if pattern.eat('%') {
            out.push(b'%');
            continue;
        }
        pattern.goes_on()?;
        let (mut place, mut width) = (None, None);
        if let Some(number) = pattern.number()? {
            match pattern.eat('$') {
                true if number == 0 => {
                    return Err(bad("format specifies argument 0, but arguments are numbered from 1".into()));
                }
                true => place = Some(number - 1),
                false => width = Some(number as i64),
            }
        }
        let mut left = false;
        if width.is_none() {
            while pattern.eat('-') {
                left = true;
            }
            if pattern.eat('*') {
                let from = match pattern.number()? {
                    Some(number @ 1..) if pattern.eat('$') => number - 1,
                    Some(_) => return Err(bad("width argument position must be ended by \"$\"".into())),
                    None => {
                        next += 1;
                        next - 1
                    }
                };
                let value = argument(from)?;
                let number = if value.is_null() { 0 } else { width_of(value)? };
                left |= number < 0;
                width = Some(number.abs());
            } else {
                width = pattern.number()?.map(|width| width as i64);
            }
        }
        pattern.goes_on()?;
        let letter = pattern.rest.chars().next().unwrap_or_default();
        pattern.rest = &pattern.rest[letter.len_utf8()..];
        if !"sIL".contains(letter) {
            return Err(bad(format!("unrecognized format() type specifier \"{letter}\""))
                .hint("For a single \"%\" use \"%%\"."));
        }
        let from = place.unwrap_or(next);
        next = from + 1;
        let shown = shown(letter, argument(from)?)?;
        let spaces = usize::try_from(width.unwrap_or(0)).unwrap_or(0).saturating_sub(text::length(&shown));
        if spaces > text::BYTES_MAX {
            return Err(text::too_long());
        }
        if !left {
            out.resize(out.len() + spaces, b' ');
        }
        out.extend_from_slice(&shown);
        if left {
            out.resize(out.len() + spaces, b' ');
        }
    }
    out.extend_from_slice(pattern.rest.as_bytes());
    Ok(out)
}

fn width_of(value: Datum<'_>) -> Result<i64> {
    let (min, max) = (i64::from(i32::MIN) + 1, i64::from(i32::MAX));
    crate::int::parse(text::validate(value.bytes())?, "integer", min, max)
}

fn shown(letter: char, value: Datum<'_>) -> Result<Vec<u8>> {
    Ok(match (letter, value) {
        ('s', Datum::Null) => Vec::new(),
        ('s', value) => value.bytes().to_vec(),
        ('I', Datum::Null) => {
            let message = "null values cannot be formatted as an SQL identifier";
            return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        }
        ('I', value) => base::settings::quoted_identifier(text::validate(value.bytes())?).into_bytes(),
        (_, Datum::Null) => b"NULL".to_vec(),
        (_, value) => quote_literal(value.bytes()),
    })
}
