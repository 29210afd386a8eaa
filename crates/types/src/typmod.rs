//! Type modifiers: what `(10,2)` after a type's name does, and how it is shown.
//!
//! PostgreSQL's encodings, because `pg_attribute` and the wire show them: a length plus four, precision and scale packed
//! plus four, a precision as it is; -1 for none. An array has its element's modifier.

use super::datetime::interval::{FULL_PRECISION, field, fields_of, precision_of};
use super::table::{self, Kind, Oid, Type};
use super::text::{offset, trim_padding};
use super::{Arena, Datum, datetime, datetime::Interval, numeric::Numeric};
use base::{Error, Result, sqlstate};

/// The longest declared length of `varchar` and `char`.
const LENGTH_MAX: i32 = 10_485_760;
/// What a length or a packed precision is increased by.
const OFFSET: i32 = 4;

/// How many characters a modifier of `varchar` or `char` allows.
pub fn length_limit(typmod: i32) -> Option<usize> {
    usize::try_from(typmod - OFFSET).ok().filter(|_| typmod >= OFFSET)
}

/// Encodes the modifiers that stand in parentheses after a type's name.
pub fn encode(oid: Oid, modifiers: &[i32]) -> Result<i32> {
    let refuse = |message: String| Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
    let row = table::row(oid)?;
    match (oid, modifiers) {
        (Oid::VARCHAR | Oid::BPCHAR, [length]) => {
            let name = if oid == Oid::VARCHAR { "varchar" } else { "char" };
            match length {
                ..=0 => refuse(format!("length for type {name} must be at least 1")),
                1..=LENGTH_MAX => Ok(length + OFFSET),
                _ => refuse(format!("length for type {name} cannot exceed {LENGTH_MAX}")),
            }
        }
        (Oid::VARCHAR | Oid::BPCHAR, _) => refuse("invalid type modifier".to_owned()),
        (Oid::NUMERIC, [precision]) => Numeric::typmod(*precision, 0),
        (Oid::NUMERIC, [precision, scale]) => Numeric::typmod(*precision, *scale),
        (Oid::NUMERIC, _) => refuse("invalid NUMERIC type modifier".to_owned()),
        (Oid::TIME | Oid::TIMESTAMP | Oid::TIMESTAMPTZ, [precision]) => {
            let (name, zone) = match oid {
                Oid::TIME => ("TIME", ""),
                Oid::TIMESTAMP => ("TIMESTAMP", ""),
                _ => ("TIMESTAMP", " WITH TIME ZONE"),
            };
            match precision {
                ..0 => refuse(format!("{name}({precision}){zone} precision must not be negative")),
                // PostgreSQL warns that it takes six.
                _ => Ok(*precision.min(&6)),
            }
        }
        (Oid::TIME | Oid::TIMESTAMP | Oid::TIMESTAMPTZ, _) => refuse("invalid type modifier".to_owned()),
        (Oid::INTERVAL, [field::ALL]) => Ok(-1),
        (Oid::INTERVAL, [fields]) => Ok(fields << 16 | FULL_PRECISION),
        (Oid::INTERVAL, [fields, FULL_PRECISION]) => Ok(fields << 16 | FULL_PRECISION),
        (Oid::INTERVAL, [fields, precision]) => match precision {
            ..0 => refuse(format!("INTERVAL({precision}) precision must not be negative")),
            // PostgreSQL warns that it takes six.
            _ => Ok(fields << 16 | *precision.min(&6)),
        },
        (Oid::INTERVAL, _) => refuse("invalid INTERVAL type modifier".to_owned()),
        _ => match row.kind {
            Kind::Refused => Err(table::refused(oid)),
            _ => {
                let message = format!("type modifier is not allowed for type \"{}\"", row.name);
                Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
            }
        },
    }
}

/// What `format_type` answers: the name as SQL spells it, with the modifier. A type of a user is marked by its number
/// ([`user`](super::user)).
pub fn format_type(ty: Type) -> String {
    if ty.oid.is_none() {
        return "-".to_owned();
    }
    let Some(row) = table::by_oid(ty.oid) else {
        return "???".to_owned();
    };
    if super::user::is_user(ty.oid) {
        return super::user::mark(ty.oid);
    }
    if row.is_array() {
        return format!("{}[]", format_type(Type { oid: row.element, typmod: ty.typmod }));
    }
    if ty.typmod < 0 {
        // Without a length `character` would mean one character.
        return if ty.oid == Oid::BPCHAR { "bpchar".to_owned() } else { row.sql_name.to_owned() };
    }
    match ty.oid {
        Oid::VARCHAR | Oid::BPCHAR if ty.typmod >= OFFSET => format!("{}({})", row.sql_name, ty.typmod - OFFSET),
        Oid::NUMERIC => match super::numeric::precision_and_scale(ty.typmod) {
            Some((precision, scale)) => format!("numeric({precision},{scale})"),
            None => "numeric".to_owned(),
        },
        Oid::TIME | Oid::TIMESTAMP | Oid::TIMESTAMPTZ => {
            let (name, zone) = row.sql_name.split_once(' ').unwrap_or((row.sql_name, ""));
            format!("{name}({}) {zone}", ty.typmod)
        }
        Oid::INTERVAL => {
            let fields = interval_fields(fields_of(ty.typmod));
            match precision_of(ty.typmod) {
                Some(precision) => format!("interval{fields}({precision})"),
                None => format!("interval{fields}"),
            }
        }
        _ => row.sql_name.to_owned(),
    }
}

/// The words of an interval's fields: ` day to second`.
fn interval_fields(fields: i32) -> String {
    const WORDS: [(i32, &str); 6] = [
        (field::YEAR, "year"),
        (field::MONTH, "month"),
        (field::DAY, "day"),
        (field::HOUR, "hour"),
        (field::MINUTE, "minute"),
        (field::SECOND, "second"),
    ];
    if fields == field::ALL {
        return String::new();
    }
    let mut kept = WORDS.iter().filter(|(bit, _)| fields & bit != 0).map(|(_, word)| word);
    match (kept.next(), kept.next_back()) {
        (Some(first), Some(last)) => format!(" {first} to {last}"),
        (Some(only), None) => format!(" {only}"),
        _ => String::new(),
    }
}

/// Makes a value fit its column or cast: cuts, pads, rounds, or refuses.
///
/// `explicit` is true for a cast that was written as one, which cuts a text that is too long. Anything else may only lose
/// spaces.
pub fn apply<'a>(ty: Type, datum: Datum<'a>, explicit: bool, arena: &'a Arena) -> Result<Datum<'a>> {
    if ty.typmod < 0 || datum.is_null() {
        return Ok(datum);
    }
    match table::kind(ty.oid) {
        Kind::Text if ty.oid == Oid::VARCHAR => match length_limit(ty.typmod) {
            Some(limit) => cut(datum.bytes(), limit, explicit, "character varying").map(Datum::Bytes),
            None => Ok(datum),
        },
        Kind::Bpchar => match length_limit(ty.typmod) {
            Some(limit) => {
                let text = datum.bytes();
                let missing = limit.saturating_sub(super::text::length(text));
                match missing {
                    0 => cut(text, limit, explicit, "character").map(Datum::Bytes),
                    _ => {
                        let padded = arena.zeroed(text.len() + missing)?;
                        padded[..text.len()].copy_from_slice(text);
                        padded[text.len()..].fill(b' ');
                        Ok(Datum::Bytes(padded))
                    }
                }
            }
            None => Ok(datum),
        },
        Kind::Numeric => {
            let value = Numeric::decode(datum.bytes())?.with_typmod(ty.typmod)?;
            Ok(Datum::Bytes(value.encode(|bytes| arena.copy(bytes))??))
        }
        Kind::Time | Kind::Timestamp | Kind::Timestamptz => {
            Ok(Datum::Int(datetime::round_to_precision(datum.int(), ty.typmod)))
        }
        Kind::Interval => {
            let value = Interval::decode(datum.bytes())?.fit(ty.typmod)?;
            Ok(Datum::Bytes(arena.copy(&value.encode())?))
        }
        Kind::Array => {
            let array = super::array::Array::decode(datum.bytes())?;
            let element = Type { oid: array.element(), typmod: ty.typmod };
            let elements: Result<Vec<Datum<'_>>> =
                array.iter().map(|value| apply(element, value?, explicit, arena)).collect();
            let bytes = super::array::encode(array.element(), array.dimensions(), &elements?)?;
            Ok(Datum::Bytes(arena.copy(&bytes)?))
        }
        _ => Ok(datum),
    }
}

/// The first `limit` characters; what follows must be spaces, or the cast be an explicit one.
fn cut<'a>(text: &'a [u8], limit: usize, explicit: bool, name: &str) -> Result<&'a [u8]> {
    // A character has at least one byte, so most texts fit without being counted.
    if text.len() <= limit {
        return Ok(text);
    }
    let (kept, lost) = text.split_at(offset(text, limit));
    if !explicit && !trim_padding(lost).is_empty() {
        let message = format!("value too long for type {name}({limit})");
        return Err(Error::statement(sqlstate::STRING_DATA_RIGHT_TRUNCATION, message));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_encoded_and_shown_as_postgresql_does() {
        let table: &[(Oid, &[i32], i32, &str)] = &[
            (Oid::VARCHAR, &[10], 14, "character varying(10)"),
            (Oid::BPCHAR, &[1], 5, "character(1)"),
            (Oid::NUMERIC, &[10, 2], 655_366, "numeric(10,2)"),
            (Oid::NUMERIC, &[5], 327_684, "numeric(5,0)"),
            (Oid::NUMERIC, &[2, -3], 133_121, "numeric(2,-3)"),
            (Oid::TIMESTAMP, &[3], 3, "timestamp(3) without time zone"),
            (Oid::TIMESTAMPTZ, &[0], 0, "timestamp(0) with time zone"),
            (Oid::TIMESTAMP, &[9], 6, "timestamp(6) without time zone"),
            (Oid::TIME, &[2], 2, "time(2) without time zone"),
        ];
        for (oid, modifiers, typmod, shown) in table {
            assert_eq!(encode(*oid, modifiers).ok(), Some(*typmod), "{shown}");
            assert_eq!(format_type(Type { oid: *oid, typmod: *typmod }), *shown);
        }
        for (ty, shown) in [
            (Type::plain(Oid::BPCHAR), "bpchar"),
            (Type::plain(Oid::INT4), "integer"),
            (Type::plain(Oid::CHAR), "\"char\""),
            (Type { oid: Oid::VARCHAR_ARRAY, typmod: 14 }, "character varying(10)[]"),
            (Type::plain(Oid::NONE), "-"),
            (Type::plain(Oid(99_999)), "???"),
        ] {
            assert_eq!(format_type(ty), shown);
        }
    }

    #[test]
    fn bad_modifiers_are_refused_with_postgresqls_words() {
        let table: &[(Oid, &[i32], &str)] = &[
            (Oid::VARCHAR, &[0], "length for type varchar must be at least 1"),
            (Oid::BPCHAR, &[10_485_761], "length for type char cannot exceed 10485760"),
            (Oid::NUMERIC, &[1, 2, 3], "invalid NUMERIC type modifier"),
            (Oid::NUMERIC, &[1001], "NUMERIC precision 1001 must be between 1 and 1000"),
            (Oid::INT4, &[3], "type modifier is not allowed for type \"int4\""),
            (Oid::TIMESTAMPTZ, &[-1], "TIMESTAMP(-1) WITH TIME ZONE precision must not be negative"),
        ];
        for (oid, modifiers, message) in table {
            assert_eq!(encode(*oid, modifiers).expect_err(message).message(), *message);
        }
    }

    #[test]
    fn values_are_cut_padded_rounded_or_refused() {
        let arena = Arena::new();
        let varchar = Type { oid: Oid::VARCHAR, typmod: 7 };
        let bpchar = Type { oid: Oid::BPCHAR, typmod: 8 };
        let table = [
            (varchar, "abc", false, Ok("abc")),
            (varchar, "äöü", false, Ok("äöü")),
            (varchar, "abcd", true, Ok("abc")),
            (varchar, "abc  ", false, Ok("abc")),
            (varchar, "abcd", false, Err("value too long for type character varying(3)")),
            (bpchar, "ab", false, Ok("ab  ")),
            (bpchar, "ä", false, Ok("ä   ")),
            (bpchar, "abcd  ", false, Ok("abcd")),
            (bpchar, "abcde", true, Ok("abcd")),
            (bpchar, "abcde", false, Err("value too long for type character(4)")),
        ];
        for (ty, text, explicit, expected) in table {
            match (apply(ty, Datum::text(text), explicit, &arena), expected) {
                (Ok(value), Ok(shown)) => assert_eq!(value, Datum::text(shown), "{text}"),
                (Err(error), Err(message)) => {
                    assert_eq!((error.message(), error.sqlstate().as_str()), (message, "22001"));
                }
                (got, expected) => panic!("{text}: {got:?} where {expected:?} is right"),
            }
        }
        let second = Type { oid: Oid::TIMESTAMP, typmod: 0 };
        assert_eq!(apply(second, Datum::Int(1_500_000), false, &arena).ok(), Some(Datum::Int(2_000_000)));
    }
}
