//! Text: functions, patterns, and the casts to and from characters.

use crate::name::truncate_name;
use crate::op::Op;
use crate::text::{self, Side};
use crate::{Datum, EvalCtx, Oid, Type, like, md5, regex, typmod};
use base::Result;
use base::settings::quoted_identifier;

pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let int = |at: usize| args[at].int();
    let bytes = |at: usize| args[at].bytes();
    let keep = |bytes: &[u8]| ctx.arena.copy(bytes);
    // An argument that the two-argument forms leave out.
    let fill = || args.get(2).map_or(&b" "[..], |fill| fill.bytes());
    let characters = || args.get(1).map_or(&b" "[..], |set| set.bytes());
    let result: Result<&'a [u8]> = match op {
        TextLength => return number(text::length(bytes(0))),
        BpcharCharLength => return number(text::length(text::trim_padding(bytes(0)))),
        OctetLength => return number(bytes(0).len()),
        BitLength => return number(bytes(0).len() * 8),
        Position => return Ok(Datum::Int(text::position(bytes(0), bytes(1)))),
        // A name is 64 bytes long: what follows its text is zero.
        NameByte => {
            let place = usize::try_from(int(1)).ok().filter(|place| *place < 64);
            let byte = |place: usize| bytes(0).get(place).copied().unwrap_or_default();
            return Ok(place.map_or(Datum::Null, |place| Datum::Int(byte(place).into())));
        }
        Ascii => return Ok(Datum::Int(text::ascii(bytes(0)))),
        StartsWith => return Ok(Datum::Bool(bytes(0).starts_with(bytes(1)))),
        Like | NotLike | Ilike | NotIlike => {
            let wanted = matches!(op, Like | Ilike);
            let found = match op {
                Ilike | NotIlike => like::matches(&text::lower(bytes(0)), &text::lower(bytes(1))),
                _ => like::matches(bytes(0), bytes(1)),
            };
            return found.map(|found| Datum::Bool(found == wanted));
        }
        Regex | NotRegex | RegexAnyCase | NotRegexAnyCase => {
            let wanted = matches!(op, Regex | RegexAnyCase);
            let any_case = matches!(op, RegexAnyCase | NotRegexAnyCase);
            let flags = regex::Flags::any_case(any_case);
            let found = regex::matches(bytes(0), bytes(1), flags, ctx.expressions);
            return found.map(|found| Datum::Bool(found == wanted));
        }
        TextToChar => return Ok(Datum::Int(bytes(0).first().copied().unwrap_or(0).into())),
        TextCat => ctx.arena.concat(bytes(0), bytes(1)),
        Lower => keep(&text::lower(bytes(0))),
        Upper => keep(&text::upper(bytes(0))),
        Initcap => keep(&text::initcap(bytes(0))),
        Substring2 => text::substring(bytes(0), int(1), None),
        Substring3 => text::substring(bytes(0), int(1), Some(int(2))),
        Left => Ok(text::left(bytes(0), int(1))),
        Right => Ok(text::right(bytes(0), int(1))),
        Replace => keep(&text::replace(bytes(0), bytes(1), bytes(2))),
        Btrim | Btrim1 => Ok(text::trim(bytes(0), characters(), Side::Both)),
        Ltrim | Ltrim1 => Ok(text::trim(bytes(0), characters(), Side::Left)),
        Rtrim | Rtrim1 => Ok(text::trim(bytes(0), characters(), Side::Right)),
        Lpad | Lpad2 => text::pad(bytes(0), int(1), fill(), Side::Left).and_then(|padded| keep(&padded)),
        Rpad | Rpad2 => text::pad(bytes(0), int(1), fill(), Side::Right).and_then(|padded| keep(&padded)),
        Repeat => text::repeat(bytes(0), int(1)).and_then(|repeated| keep(&repeated)),
        Reverse => keep(&text::reverse(bytes(0))),
        Chr => text::chr(int(0)).and_then(|character| keep(character.encode_utf8(&mut [0; 4]).as_bytes())),
        SplitPart => text::split_part(bytes(0), bytes(1), int(2)),
        Translate => keep(&text::translate(bytes(0), bytes(1), bytes(2))),
        SimilarEscape1 => like::similar(bytes(0), b"\\").and_then(|pattern| keep(&pattern)),
        SimilarEscape => like::similar(bytes(0), bytes(1)).and_then(|pattern| keep(&pattern)),
        LikeEscape => like::translate_escape(bytes(0), bytes(1)).and_then(|pattern| keep(&pattern)),
        Md5 => keep(&md5::md5_hex(bytes(0))),
        QuoteIdent => keep(quoted_identifier(&String::from_utf8_lossy(bytes(0))).as_bytes()),
        QuoteLiteral => keep(&quote_literal(bytes(0))),
        ToHex32 => keep(format!("{:x}", int(0) as u32).as_bytes()),
        ToHex64 => keep(format!("{:x}", int(0)).as_bytes()),
        BoolToText => Ok(if args[0].bool() { b"true" } else { b"false" }),
        CharToText => {
            let mut out = Vec::new();
            crate::int::print_char(int(0), &mut out);
            keep(&out)
        }
        TextToName => text::validate(bytes(0)).map(|name| truncate_name(name).as_bytes()),
        BpcharToName => {
            text::validate(text::trim_padding(bytes(0))).map(|name| text::trim_padding(truncate_name(name).as_bytes()))
        }
        VarcharLength | BpcharLength => {
            let oid = if op == VarcharLength { Oid::VARCHAR } else { Oid::BPCHAR };
            return typmod::apply(Type { oid, typmod: int(1) as i32 }, args[0], args[2].bool(), ctx.arena);
        }
        QuoteNullable => match args[0] {
            Datum::Null => Ok(b"NULL"),
            _ => keep(&quote_literal(bytes(0))),
        },
        _ => return super::format::eval(op, args, ctx),
    };
    result.map(Datum::Bytes)
}

fn number<'a>(count: usize) -> Result<Datum<'a>> {
    Ok(Datum::Int(count as i64))
}

/// A text as a string constant.
pub(super) fn quote_literal(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    if text.contains(&b'\\') {
        out.push(b'E');
    }
    out.push(b'\'');
    for &byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
    out
}
