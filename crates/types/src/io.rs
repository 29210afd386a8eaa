//! The text and binary forms of values of every kind.
//!
//! One function for each direction and form, with one arm for each kind; what an arm needs is in the type's own module.
//! Text forms are PostgreSQL's to the letter, binary forms those of its wire protocol.
//!
//! Rules
//! 1. [`input`] and [`receive`] take what a client sent: every error is the client's, none is damage.
//! 2. Text given to [`input`] has been through [`text::validate`](super::text::validate): UTF-8, no zero bytes.
//! 3. What values of users' types are called comes with the [`Style`].
//! 4. Names of objects (`regclass` and its like) are the catalog's: here such a value is a number.

use super::datetime::{self, Interval, Style};
use super::numeric::Numeric;
use super::table::{self, Kind, Oid, Type};
use super::text::{invalid_syntax, is_space};
use super::user::UserTypes;
use super::{Arena, Datum, Sink, array, encoding, float, int, json, typmod};
use base::{Error, Result, sqlstate};

/// Reads a value's text form, and fits it to the type's modifier as an assignment does.
pub fn input<'a>(ty: Type, text: &str, arena: &'a Arena, style: &Style<'_>) -> Result<Datum<'a>> {
    let row = table::row(ty.oid)?;
    refuse_acl(ty.oid)?;
    let range = |name: &str, min: i64, max: i64| int::parse(text, name, min, max).map(Datum::Int);
    let value = match row.kind {
        Kind::Bool => Datum::Bool(parse_bool(text)?),
        Kind::Char => Datum::Int(int::parse_char(text)),
        Kind::Int2 => range("smallint", i64::from(i16::MIN), i64::from(i16::MAX))?,
        Kind::Int4 => range("integer", i64::from(i32::MIN), i64::from(i32::MAX))?,
        Kind::Int8 => range("bigint", i64::MIN, i64::MAX)?,
        Kind::Oid => Datum::Int(int::parse_oid(text)?),
        Kind::Reg => match text {
            "-" => Datum::Int(0),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) => Datum::Int(int::parse_oid(text)?),
            _ => return Err(Error::unsupported(format!("names of type {} are not supported here", row.name))),
        },
        Kind::Float4 => Datum::Float(float::parse_f32(text)?.into()),
        Kind::Float8 => Datum::Float(float::parse_f64(text)?),
        Kind::Numeric => {
            let value = Numeric::parse(text)?.with_typmod(ty.typmod)?;
            return Ok(Datum::Bytes(value.encode(|bytes| arena.copy(bytes))??));
        }
        Kind::Text | Kind::Bpchar | Kind::Unknown => Datum::Bytes(arena.copy(text.as_bytes())?),
        Kind::Name => Datum::Bytes(arena.copy(crate::name::truncate_name(text).as_bytes())?),
        Kind::Bytea => Datum::Bytes(arena.copy(&parse_bytea(text)?)?),
        Kind::Date => Datum::Int(datetime::parse_date(text, style)?),
        Kind::Time => Datum::Int(datetime::parse_time(text, style)?),
        Kind::Timestamp => Datum::Int(datetime::parse_timestamp(text, style)?),
        Kind::Timestamptz => Datum::Int(datetime::parse_timestamptz(text, style)?),
        Kind::Interval => {
            let value = datetime::parse_interval(text, ty.typmod, style.interval_style)?.fit(ty.typmod)?;
            return Ok(Datum::Bytes(arena.copy(&value.encode())?));
        }
        Kind::Uuid => Datum::Bytes(arena.copy(&parse_uuid(text)?)?),
        Kind::Enum => Datum::Int(users(style)?.value(ty.oid, text)?),
        Kind::Array => {
            let element = Type { oid: table::element_of(ty.oid).unwrap_or(Oid::NONE), typmod: ty.typmod };
            return Ok(Datum::Bytes(arena.copy(&array::parse(text, element, arena, style)?)?));
        }
        Kind::Vector => {
            let bytes = array::parse_vector(text, Type::plain(row.element), arena, style)?;
            Datum::Bytes(arena.copy(&bytes)?)
        }
        Kind::Json => {
            json::check(text)?;
            Datum::Bytes(arena.copy(text.as_bytes())?)
        }
        Kind::Jsonb => Datum::Bytes(arena.copy(&json::input(text, arena)?)?),
        Kind::Void => Datum::Bytes(&[]),
        Kind::Record => {
            return Err(Error::unsupported("input of anonymous composite types is not implemented"));
        }
        Kind::Pseudo => {
            return Err(Error::unsupported(format!("cannot accept a value of type {}", row.sql_name)));
        }
        Kind::Refused => return Err(table::refused(ty.oid)),
    };
    typmod::apply(ty, value, false, arena)
}

/// Writes a value's text form; null has none.
#[inline]
pub fn output(kind: Kind, datum: Datum<'_>, style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    // The commonest kinds by comparisons, which are predicted better than the jump of a `match`.
    if is_integer(kind) {
        int::print(datum.int(), out);
        return Ok(());
    }
    if is_text_kind(kind) {
        out.put(datum.bytes());
        return Ok(());
    }
    match kind {
        Kind::Bool => out.put(if datum.bool() { b"t" } else { b"f" }),
        Kind::Char => int::print_char(datum.int(), out),
        Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Oid | Kind::Reg => int::print(datum.int(), out),
        Kind::Float4 => float::print_f32(datum.float() as f32, style.extra_float_digits, out),
        Kind::Float8 => float::print_f64(datum.float(), style.extra_float_digits, out),
        Kind::Numeric => Numeric::decode(datum.bytes())?.print(out),
        Kind::Text | Kind::Bpchar | Kind::Name | Kind::Unknown => out.put(datum.bytes()),
        Kind::Bytea => print_bytea(datum.bytes(), out),
        Kind::Date => datetime::print_date(datum.int(), style, out),
        Kind::Time => datetime::print_time(datum.int(), out),
        Kind::Timestamp => datetime::print_timestamp(datum.int(), style, out),
        Kind::Timestamptz => datetime::print_timestamptz(datum.int(), style, out),
        Kind::Interval => datetime::print_interval(Interval::decode(datum.bytes())?, style.interval_style, out),
        Kind::Uuid => print_uuid(datum.bytes(), out),
        Kind::Enum => out.put(users(style)?.label(datum.int())?.as_bytes()),
        Kind::Array => array::print(datum.bytes(), style, out)?,
        Kind::Record => super::record::print(datum.bytes(), style, out)?,
        Kind::Vector => array::print_vector(datum.bytes(), style, out)?,
        Kind::Json => out.put(datum.bytes()),
        Kind::Jsonb => json::print::print(json::value::Value::decode(datum.bytes())?, out)?,
        Kind::Void => {}
        Kind::Pseudo | Kind::Refused => return Err(Error::unsupported("values of this type cannot be shown")),
    }
    Ok(())
}

#[inline]
fn is_integer(kind: Kind) -> bool {
    matches!(kind, Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Oid | Kind::Reg)
}

#[inline]
fn is_text_kind(kind: Kind) -> bool {
    matches!(kind, Kind::Text | Kind::Bpchar | Kind::Name | Kind::Unknown)
}

/// The text form as bytes in the arena.
pub fn output_text<'a>(kind: Kind, datum: Datum<'a>, style: &Style<'_>, arena: &'a Arena) -> Result<&'a [u8]> {
    if is_text_kind(kind) {
        return Ok(datum.bytes());
    }
    let mut text = Vec::new();
    output(kind, datum, style, &mut text)?;
    arena.copy(&text)
}

/// Writes a value's binary form.
#[inline]
pub fn send(kind: Kind, datum: Datum<'_>, style: &Style<'_>, out: &mut impl Sink) -> Result<()> {
    match kind {
        Kind::Bool => out.put(&[u8::from(datum.bool())]),
        Kind::Char => out.put(&[datum.int() as u8]),
        Kind::Int2 => out.put(&(datum.int() as i16).to_be_bytes()),
        Kind::Int4 | Kind::Date => out.put(&(datum.int() as i32).to_be_bytes()),
        Kind::Oid | Kind::Reg => out.put(&(datum.int() as u32).to_be_bytes()),
        Kind::Int8 | Kind::Time | Kind::Timestamp | Kind::Timestamptz => out.put(&datum.int().to_be_bytes()),
        Kind::Float4 => out.put(&(datum.float() as f32).to_be_bytes()),
        Kind::Float8 => out.put(&datum.float().to_be_bytes()),
        Kind::Numeric => Numeric::decode(datum.bytes())?.send(out),
        Kind::Text | Kind::Bpchar | Kind::Name | Kind::Unknown | Kind::Bytea | Kind::Uuid => out.put(datum.bytes()),
        Kind::Interval => {
            let value = Interval::decode(datum.bytes())?;
            out.put(&value.micros.to_be_bytes());
            out.put(&value.days.to_be_bytes());
            out.put(&value.months.to_be_bytes());
        }
        Kind::Enum => out.put(users(style)?.label(datum.int())?.as_bytes()),
        Kind::Record => super::record::send(datum.bytes(), style, out)?,
        Kind::Array | Kind::Vector => array::send(datum.bytes(), style, out)?,
        Kind::Json => out.put(datum.bytes()),
        Kind::Jsonb => json::send(datum.bytes(), out)?,
        Kind::Void => {}
        Kind::Pseudo | Kind::Refused => return Err(Error::unsupported("values of this type cannot be sent")),
    }
    Ok(())
}

/// What is known of users' types. Errors: `0A000` where nobody says it.
fn users<'s>(style: &Style<'s>) -> Result<&'s dyn UserTypes> {
    style.types.ok_or_else(|| Error::unsupported("types of users are not known here"))
}

#[cold]
fn bad_binary(message: &'static str) -> Error {
    Error::statement(sqlstate::INVALID_BINARY_REPRESENTATION, message)
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    match bytes.try_into() {
        Ok(array) => Ok(array),
        Err(_) if bytes.len() < N => {
            Err(Error::statement(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message"))
        }
        Err(_) => Err(bad_binary("incorrect binary data format")),
    }
}

/// What was granted is shown, not read.
fn refuse_acl(oid: Oid) -> Result<()> {
    if oid == Oid::ACLITEM { Err(Error::unsupported("values of type aclitem cannot be given")) } else { Ok(()) }
}

/// Reads a value's binary form, and fits it to the type's modifier.
pub fn receive<'a>(ty: Type, bytes: &[u8], arena: &'a Arena, style: &Style<'_>) -> Result<Datum<'a>> {
    let row = table::row(ty.oid)?;
    refuse_acl(ty.oid)?;
    let value = match row.kind {
        Kind::Bool => Datum::Bool(exact::<1>(bytes)?[0] != 0),
        Kind::Char => Datum::Int(exact::<1>(bytes)?[0].into()),
        Kind::Int2 => Datum::Int(i16::from_be_bytes(exact(bytes)?).into()),
        Kind::Int4 => Datum::Int(i32::from_be_bytes(exact(bytes)?).into()),
        Kind::Int8 => Datum::Int(i64::from_be_bytes(exact(bytes)?)),
        Kind::Oid | Kind::Reg => Datum::Int(u32::from_be_bytes(exact(bytes)?).into()),
        Kind::Float4 => Datum::Float(f32::from_be_bytes(exact(bytes)?).into()),
        Kind::Float8 => Datum::Float(f64::from_be_bytes(exact(bytes)?)),
        Kind::Numeric => {
            let value = Numeric::receive(bytes)?.with_typmod(ty.typmod)?;
            return Ok(Datum::Bytes(value.encode(|bytes| arena.copy(bytes))??));
        }
        Kind::Text | Kind::Bpchar | Kind::Unknown => {
            super::text::validate(bytes)?;
            Datum::Bytes(arena.copy(bytes)?)
        }
        Kind::Name => {
            let name = super::text::validate(bytes)?;
            if name.len() > crate::name::NAME_BYTES_MAX {
                return Err(Error::statement(sqlstate::NAME_TOO_LONG, "identifier too long")
                    .detail("Identifier must be less than 64 characters."));
            }
            Datum::Bytes(arena.copy(bytes)?)
        }
        Kind::Bytea => Datum::Bytes(arena.copy(bytes)?),
        Kind::Interval => {
            let [micros @ .., d0, d1, d2, d3, m0, m1, m2, m3] = exact::<16>(bytes)?;
            let value = Interval {
                micros: i64::from_be_bytes(micros),
                days: i32::from_be_bytes([d0, d1, d2, d3]),
                months: i32::from_be_bytes([m0, m1, m2, m3]),
            };
            return Ok(Datum::Bytes(arena.copy(&value.fit(ty.typmod)?.encode())?));
        }
        Kind::Uuid => Datum::Bytes(arena.copy(&exact::<16>(bytes)?)?),
        Kind::Enum => Datum::Int(users(style)?.value(ty.oid, super::text::validate(bytes)?)?),
        Kind::Date => {
            let days = i64::from(i32::from_be_bytes(exact(bytes)?));
            Datum::Int(datetime::check_date(days)?)
        }
        Kind::Time => match i64::from_be_bytes(exact(bytes)?) {
            micros @ 0..=datetime::DAY => Datum::Int(micros),
            _ => return Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, "time out of range")),
        },
        Kind::Timestamp | Kind::Timestamptz => {
            Datum::Int(datetime::check_timestamp(i64::from_be_bytes(exact(bytes)?))?)
        }
        Kind::Array => {
            let element = Type { oid: table::element_of(ty.oid).unwrap_or(Oid::NONE), typmod: ty.typmod };
            return Ok(Datum::Bytes(arena.copy(&array::receive(bytes, element, arena, style)?)?));
        }
        Kind::Vector => Datum::Bytes(arena.copy(&array::receive(bytes, Type::plain(row.element), arena, style)?)?),
        Kind::Json => {
            json::check(super::text::validate(bytes)?)?;
            Datum::Bytes(arena.copy(bytes)?)
        }
        Kind::Jsonb => Datum::Bytes(arena.copy(&json::receive(bytes, arena)?)?),
        Kind::Void => Datum::Bytes(&[]),
        Kind::Record => {
            return Err(Error::unsupported("input of anonymous composite types is not implemented"));
        }
        Kind::Pseudo | Kind::Refused => return Err(table::refused(ty.oid)),
    };
    typmod::apply(ty, value, false, arena)
}

/// Reads a `boolean`: any beginning of `true`, `false`, `yes`, `no` that is theirs alone, `on`, `off`, `1`, `0`.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(is_space).to_ascii_lowercase();
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    match () {
        () if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" => Ok(true),
        () if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" => Ok(false),
        () => Err(invalid_syntax("boolean", text)),
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn print_bytea(bytes: &[u8], out: &mut impl Sink) {
    out.put(b"\\x");
    for byte in bytes {
        out.put(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(digits) => encoding::decode_hex(digits),
        None => unescape(text),
    }
}

/// Bytes in their older form: a backslash and three octal digits, or two backslashes, among others. Errors: `22P02`.
pub(super) fn unescape(text: &str) -> Result<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at..] {
            [b'\\', b'\\', ..] => {
                out.push(b'\\');
                at += 2;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                at += 4;
            }
            [b'\\', ..] => {
                let message = "invalid input syntax for type bytea";
                return Err(Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, message));
            }
            [byte, ..] => {
                out.push(byte);
                at += 1;
            }
            [] => break,
        }
    }
    Ok(out)
}

fn print_uuid(bytes: &[u8], out: &mut impl Sink) {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.put(b"-");
        }
        out.put(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// Reads 32 hexadecimal digits, with a hyphen after any group of four, in braces or without.
fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let bad = || invalid_syntax("uuid", text);
    let inner = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or_else(bad)?,
        None => text,
    };
    let mut out = [0u8; 16];
    let mut count = 0usize;
    let mut after_hyphen = true;
    for character in inner.chars() {
        if character == '-' {
            if after_hyphen || !count.is_multiple_of(4) || count == 32 {
                return Err(bad());
            }
            after_hyphen = true;
            continue;
        }
        let digit = character.to_digit(16).ok_or_else(bad)? as u8;
        *out.get_mut(count / 2).ok_or_else(bad)? |= if count.is_multiple_of(2) { digit << 4 } else { digit };
        count += 1;
        after_hyphen = false;
    }
    match count {
        32 => Ok(out),
        _ => Err(bad()),
    }
}

/// Is it one of the string types, whose values are text as it stands?
pub fn is_text(oid: Oid) -> bool {
    is_text_kind(table::kind(oid))
}

#[cfg(test)]
mod tests;
