//! The functions of regular expressions: what is found, replaced, counted, split.
//!
//! Many have optional arguments behind the text and the pattern; an argument's representation says which it is: numbers are positions, counts
//! and groups, in that order, and text is flags.

use crate::op::Op;
use crate::regex::{self, Flags, Found};
use crate::{Datum, EvalCtx, Oid, array, text};
use base::{Error, Result, sqlstate};

/// Does an operation; any other is the bytes'.
pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    match op {
        RegexReplace => replace(args, ctx),
        RegexMatch => {
            let flags = flags(args, 2, "regexp_match()", false)?;
            match find(args, 0, 1, flags, ctx)?.first() {
                Some(found) => groups(args[0].bytes(), found, ctx),
                None => Ok(Datum::Null),
            }
        }
        RegexSplitToArray => {
            let flags = flags(args, 2, "regexp_split_to_array()", false)?;
            let pieces = regex::split(args[0].bytes(), args[1].bytes(), flags, ctx.expressions)?;
            let pieces: Vec<Datum<'_>> = pieces.into_iter().map(Datum::Bytes).collect();
            Ok(Datum::Bytes(ctx.arena.copy(&array::encode_list(Oid::TEXT, &pieces)?)?))
        }
        RegexLike => {
            let flags = flags(args, 2, "regexp_like()", false)?;
            regex::matches(args[0].bytes(), args[1].bytes(), flags, ctx.expressions).map(Datum::Bool)
        }
        RegexCount => {
            let start = position(args, 2, "start", 1)?;
            let flags = flags(args, 3, "regexp_count()", false)?;
            Ok(Datum::Int(find(args, start - 1, usize::MAX, flags, ctx)?.len() as i64))
        }
        RegexInstr => instr(args, ctx),
        RegexSubstr => {
            let (start, number) = (position(args, 2, "start", 1)?, position(args, 3, "n", 1)?);
            let flags = flags(args, 4, "regexp_substr()", false)?;
            let group = group(args, 5)?;
            let found = find(args, start - 1, number, flags, ctx)?;
            let range = found.get(number - 1).and_then(|found| found.get(group)?.clone());
            Ok(range.map_or(Datum::Null, |range| Datum::Bytes(&args[0].bytes()[range])))
        }
        RegexSubstring => {
            let found = find(args, 0, 1, Flags::default(), ctx)?;
            // The first group, where there is one, is what is wanted.
            let range = found.first().and_then(|found| found.get(1).or(found.first())?.clone());
            Ok(range.map_or(Datum::Null, |range| Datum::Bytes(&args[0].bytes()[range])))
        }
        _ => super::bytes::eval(op, args, ctx),
    }
}

/// `regexp_matches(text, pattern [, flags])`: the groups of the first match, or of all of them with the flag `g`; an array of texts
/// for each.
pub fn matches<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Vec<&'a [u8]>> {
    let flags = flags(args, 2, "regexp_matches()", true)?;
    let count = if flags.global { usize::MAX } else { 1 };
    let found = find(args, 0, count, flags, ctx)?;
    found.iter().map(|found| groups(args[0].bytes(), found, ctx).map(Datum::bytes)).collect()
}

fn flags(args: &[Datum<'_>], at: usize, function: &str, may_be_global: bool) -> Result<Flags> {
    match args.get(at) {
        Some(text) => Flags::read(text.bytes(), function, may_be_global),
        None => Ok(Flags::default()),
    }
}

#[cold]
fn bad(name: &str, value: i64) -> Error {
    let message = format!("invalid value for parameter \"{name}\": {value}");
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// An argument that counts from one, or what stands for it.
fn position(args: &[Datum<'_>], at: usize, name: &str, absent: usize) -> Result<usize> {
    match args.get(at).map(|value| value.int()) {
        None => Ok(absent),
        Some(value @ 1..) => Ok(value as usize),
        Some(value) => Err(bad(name, value)),
    }
}

fn group(args: &[Datum<'_>], at: usize) -> Result<usize> {
    match args.get(at).map(|value| value.int()) {
        None => Ok(0),
        Some(value @ 0..) => Ok(value as usize),
        Some(value) => Err(bad("subexpr", value)),
    }
}

/// Up to `count` matches from a character on.
fn find(args: &[Datum<'_>], start: usize, count: usize, flags: Flags, ctx: &EvalCtx<'_>) -> Result<Vec<Found>> {
    let (text, pattern) = (args[0].bytes(), args[1].bytes());
    regex::find(text, pattern, text::offset(text, start), count, flags, ctx.expressions)
}

/// The groups of a match, or if there is none the match, as an array of texts.
fn groups<'a>(text: &[u8], found: &Found, ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let wanted = if found.len() > 1 { &found[1..] } else { &found[..] };
    let texts: Vec<Datum<'_>> =
        wanted.iter().map(|range| range.clone().map_or(Datum::Null, |range| Datum::Bytes(&text[range]))).collect();
    Ok(Datum::Bytes(ctx.arena.copy(&array::encode_list(Oid::TEXT, &texts)?)?))
}

/// `regexp_replace(text, pattern, replacement [, start [, number]] [, flags])`
fn replace<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let (mut start, mut number, mut flags, mut is_told) = (1, 1, Flags::default(), false);
    for (at, value) in args.iter().enumerate().skip(3) {
        match value {
            Datum::Bytes(letters) => {
                if let Some(digit @ b'0'..=b'9') = letters.first().copied() {
                    // Who meant `start` gets to know it.
                    let message = format!("invalid regular expression option: \"{}\"", char::from(digit));
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
                        .hint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly."));
                }
                flags = Flags::read(letters, "regexp_replace()", true)?;
            }
            _ if at == 3 => start = position(args, at, "start", 1)?,
            _ => {
                number = match value.int() {
                    value @ 0.. => value as usize,
                    value => return Err(bad("n", value)),
                };
                is_told = true;
            }
        }
    }
    if flags.global && !is_told {
        number = 0;
    }
    let text = args[0].bytes();
    let from = (text::offset(text, start - 1), number);
    let replaced = regex::replace(text, args[1].bytes(), args[2].bytes(), from, flags, ctx.expressions)?;
    Ok(Datum::Bytes(ctx.arena.copy(&replaced)?))
}

/// `regexp_instr(text, pattern [, start [, number [, end [, flags [, group]]]]])`
fn instr<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let (start, number) = (position(args, 2, "start", 1)?, position(args, 3, "n", 1)?);
    let at_end = match args.get(4).map(|value| value.int()) {
        None | Some(0) => false,
        Some(1) => true,
        Some(value) => return Err(bad("endoption", value)),
    };
    let flags = flags(args, 5, "regexp_instr()", false)?;
    let group = group(args, 6)?;
    let found = find(args, start - 1, number, flags, ctx)?;
    let range = found.get(number - 1).and_then(|found| found.get(group)?.clone());
    let characters = |end: usize| text::length(&args[0].bytes()[..end]) as i64 + 1;
    Ok(Datum::Int(range.map_or(0, |range| characters(if at_end { range.end } else { range.start }))))
}
