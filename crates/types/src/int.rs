//! Integers of all widths, `oid` and `"char"`: text forms, ranges and their errors.
//!
//! All are `Int` in a datum, so what differs from type to type is the range, and the name in a message.

use super::Sink;
use super::text::{invalid_syntax, is_space};
use base::{Error, Result, sqlstate};

/// The result of an operation does not fit its type: `integer out of range`.
#[cold]
pub fn out_of_range(name: &str) -> Error {
    Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
}

/// The value in a text does not fit the type.
#[cold]
fn text_out_of_range(name: &str, text: &str) -> Error {
    let message = format!("value \"{text}\" is out of range for type {name}");
    Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// Reads an integer with a sign, with white space around it.
pub fn parse(text: &str, name: &str, min: i64, max: i64) -> Result<i64> {
    let body = text.trim_matches(is_space);
    let (negative, digits) = match body.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(invalid_syntax(name, text));
    }
    // Towards minus infinity, where there is one number more.
    let mut value = 0i64;
    for digit in digits {
        let next = value.checked_mul(10).and_then(|tens| tens.checked_sub(i64::from(digit - b'0')));
        value = next.ok_or_else(|| text_out_of_range(name, text))?;
    }
    let value = if negative { Some(value) } else { value.checked_neg() };
    value.filter(|value| (min..=max).contains(value)).ok_or_else(|| text_out_of_range(name, text))
}

/// Reads an `oid`: unsigned, but a negative number of 32 bits is taken for its bit pattern.
pub fn parse_oid(text: &str) -> Result<i64> {
    let value = parse(text, "oid", i64::from(i32::MIN), i64::from(u32::MAX))?;
    Ok(i64::from(value as u32))
}

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Writes an integer.
#[inline]
pub fn print(value: i64, out: &mut impl Sink) {
    let mut digits = [0u8; 20];
    let start = print_at_end(value.unsigned_abs(), &mut digits);
    if value < 0 {
        digits[start - 1] = b'-';
        return out.put(&digits[start - 1..]);
    }
    out.put(&digits[start..]);
}

/// Writes digits at the end of `digits`; where they start. The longest number leaves room for a sign.
#[inline]
fn print_at_end(mut value: u64, digits: &mut [u8; 20]) -> usize {
    let mut at = digits.len();
    while value >= 100 {
        let pair = (value % 100) as usize * 2;
        value /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if value >= 10 {
        let pair = value as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    at
}

/// Writes an integer of up to 128 bits.
pub fn print_wide(value: i128, out: &mut impl Sink) {
    match i64::try_from(value) {
        Ok(value) => print(value, out),
        Err(_) => out.put(value.to_string().as_bytes()),
    }
}

/// Reads a `"char"`: the first byte; a backslash and three octal digits for one that is not ASCII.
pub fn parse_char(text: &str) -> i64 {
    i64::from(match text.as_bytes() {
        [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7'] => (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'),
        [first, ..] => *first,
        [] => 0,
    })
}

/// Writes a `"char"`: nothing for zero, octal for what is not ASCII (as PostgreSQL does from release 16; earlier ones
/// send a byte that is not UTF-8).
pub fn print_char(value: i64, out: &mut impl Sink) {
    match value as u8 {
        0 => {}
        byte @ 1..=0x7F => out.put(&[byte]),
        byte => out.put(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: i64) -> String {
        let mut out = Vec::new();
        print(value, &mut out);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn integers_print_as_rust_prints_them() {
        let mut value = 1i64;
        for _ in 0..70 {
            for near in [value.wrapping_sub(1), value, value.wrapping_neg()] {
                assert_eq!(printed(near), near.to_string());
            }
            value = value.wrapping_mul(3).wrapping_add(7);
        }
        for value in [0, 9, 10, 99, 100, i64::MIN, i64::MAX] {
            assert_eq!(printed(value), value.to_string());
        }
    }

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        let int4 = |text| parse(text, "integer", i64::from(i32::MIN), i64::from(i32::MAX));
        for (text, value) in [("0", 0), (" 12 ", 12), ("-2147483648", -2_147_483_648), ("+7", 7), ("\t007\n", 7)] {
            assert_eq!(int4(text).ok(), Some(value), "{text}");
        }
        for (text, code, message) in [
            ("", "22P02", "invalid input syntax for type integer: \"\""),
            ("x", "22P02", "invalid input syntax for type integer: \"x\""),
            ("1 2", "22P02", "invalid input syntax for type integer: \"1 2\""),
            ("1.5", "22P02", "invalid input syntax for type integer: \"1.5\""),
            ("- 1", "22P02", "invalid input syntax for type integer: \"- 1\""),
            ("2147483648", "22003", "value \"2147483648\" is out of range for type integer"),
            ("99999999999999999999", "22003", "value \"99999999999999999999\" is out of range for type integer"),
        ] {
            let error = int4(text).expect_err(text);
            assert_eq!((error.sqlstate().as_str(), error.message()), (code, message));
        }
        assert_eq!(parse("-9223372036854775808", "bigint", i64::MIN, i64::MAX).ok(), Some(i64::MIN));
        assert!(parse("9223372036854775808", "bigint", i64::MIN, i64::MAX).is_err());
        assert_eq!(parse_oid("4294967295").ok(), Some(4_294_967_295));
        assert_eq!(parse_oid("-1").ok(), Some(4_294_967_295));
        assert!(parse_oid("4294967296").is_err());
    }

    #[test]
    fn a_char_is_one_byte() {
        for (text, value, back) in [("", 0, ""), ("a", 97, "a"), ("abc", 97, "a"), ("\\303", 0xC3, "\\303")] {
            assert_eq!(parse_char(text), value);
            let mut out = Vec::new();
            print_char(value, &mut out);
            assert_eq!(out, back.as_bytes());
        }
    }
}
