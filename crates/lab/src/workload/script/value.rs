//! Values of a script's variables, and the copyable kind that expressions are computed with.
//!
//! ```text
//!   Value    what a variable holds: null, boolean, integer, double, or a text that came from outside
//!   Scalar   what an expression works on: a Value without text; a text is read as a Scalar when it is used
//! ```
//!
//! Rules, all of them pgbench's
//! 1. An expression is never a text. A text from `-D` or `\gset` stays as it is where it goes into a statement (`007` stays
//!    `007`), and is read as null, boolean, integer or double where an expression uses it.
//! 2. Doubles are written with 15 significant digits, as C's `%.15g` does, but for `Infinity` and `NaN`.
//! 3. A double becomes an integer by rounding to the nearest, halves to the even one.

use crate::error;
use base::Result;
use std::io::Write;

/// What a variable holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Double(f64),
    /// What came from outside: `-D`, a statement's answer.
    Text(Box<str>),
}

/// What an expression works on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    /// No value.
    Null,
    /// True or false.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Double(f64),
}

impl Value {
    /// Adds the value's text, as it goes into a statement.
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Integer(number) => write_integer(*number, out),
            Value::Double(number) => write_double(*number, out),
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// Whether there is no value.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The value as expressions use it.
    ///
    /// # Errors
    /// A text that is neither null nor a boolean nor a number.
    pub fn scalar(&self) -> Result<Scalar> {
        Ok(match self {
            Value::Null => Scalar::Null,
            Value::Boolean(truth) => Scalar::Boolean(*truth),
            Value::Integer(number) => Scalar::Integer(*number),
            Value::Double(number) => Scalar::Double(*number),
            Value::Text(text) => read(text)?,
        })
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Value {
        match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(truth) => Value::Boolean(truth),
            Scalar::Integer(number) => Value::Integer(number),
            Scalar::Double(number) => Value::Double(number),
        }
    }
}

impl Scalar {
    /// What its type is called in messages.
    fn kind(self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Boolean(_) => "boolean",
            Scalar::Integer(_) => "int",
            Scalar::Double(_) => "double",
        }
    }

    /// The nearest whole number.
    pub fn integer(self) -> Result<i64> {
        match self {
            Scalar::Integer(number) => Ok(number),
            Scalar::Double(number) => {
                let whole = number.round_ties_even();
                // The bound above is the first double that does not fit; i64::MAX itself is no double.
                if whole >= i64::MIN as f64 && whole < -(i64::MIN as f64) {
                    Ok(whole as i64)
                } else {
                    Err(error::usage(format!("double to int overflow for {number}")))
                }
            }
            _ => Err(self.mismatch("int")),
        }
    }

    /// The number as a double.
    pub fn double(self) -> Result<f64> {
        match self {
            Scalar::Integer(number) => Ok(number as f64),
            Scalar::Double(number) => Ok(number),
            _ => Err(self.mismatch("double")),
        }
    }

    /// True or false, of a boolean only.
    pub fn boolean(self) -> Result<bool> {
        match self {
            Scalar::Boolean(truth) => Ok(truth),
            _ => Err(self.mismatch("boolean")),
        }
    }

    /// What `\if` and `CASE WHEN` make of it: null is false, and of numbers zero is.
    pub fn truth(self) -> bool {
        match self {
            Scalar::Null => false,
            Scalar::Boolean(truth) => truth,
            Scalar::Integer(number) => number != 0,
            Scalar::Double(number) => number != 0.0,
        }
    }

    #[cold]
    fn mismatch(self, wanted: &str) -> base::Error {
        error::usage(format!("cannot coerce {} to {wanted}", self.kind()))
    }
}

/// Reads a text from outside.
fn read(text: &str) -> Result<Scalar> {
    let lower = text.to_ascii_lowercase();
    let begins = |word: &str| !lower.is_empty() && word.starts_with(&lower);
    if lower == "null" {
        return Ok(Scalar::Null);
    }
    if begins("true") || begins("yes") || lower == "on" {
        return Ok(Scalar::Boolean(true));
    }
    if begins("false") || begins("no") || lower == "off" || lower == "of" {
        return Ok(Scalar::Boolean(false));
    }
    if let Ok(number) = text.trim_start().parse() {
        return Ok(Scalar::Integer(number));
    }
    let digits = text.trim_start().trim_start_matches(['+', '-']);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match text.trim_start().parse() {
        Ok(number) if !whole => Ok(Scalar::Double(number)),
        _ => Err(error::usage(format!("malformed variable value: \"{text}\""))
            .hint("In an expression a variable must hold null, a boolean or a number.")),
    }
}

/// Adds a whole number's digits.
fn write_integer(number: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Adds a double with 15 significant digits, without an exponent where that is not much longer.
pub(super) fn write_double(number: f64, out: &mut Vec<u8>) {
    if number.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if number.is_infinite() {
        return out.extend_from_slice(if number < 0.0 { &b"-Infinity"[..] } else { b"Infinity" });
    }
    // "d.dddddddddddddde-308" is the longest there is, with its sign.
    let mut scratch = [0u8; 32];
    let mut rest = &mut scratch[..];
    let _ = write!(rest, "{number:.14e}");
    let length = 32 - rest.len();
    let text = &scratch[..length];
    let mark = text.iter().position(|&byte| byte == b'e').unwrap_or(length);
    let exponent: i32 = std::str::from_utf8(&text[mark + 1..]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut digits = [b'0'; 15];
    for (place, digit) in digits.iter_mut().zip(text[..mark].iter().filter(|byte| byte.is_ascii_digit())) {
        *place = *digit;
    }
    let used = digits.iter().rposition(|&digit| digit != b'0').map_or(1, |last| last + 1);
    if number.is_sign_negative() {
        out.push(b'-');
    }
    match exponent {
        -4..0 => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
            out.extend_from_slice(&digits[..used]);
        }
        0..15 => {
            let whole = exponent as usize + 1;
            out.extend_from_slice(&digits[..whole]);
            if used > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..used]);
            }
        }
        _ => {
            out.push(digits[0]);
            if used > 1 {
                out.push(b'.');
                out.extend_from_slice(&digits[1..used]);
            }
            let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: Value) -> String {
        let mut out = Vec::new();
        value.write_text(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_written_as_printf_writes_them() {
        let table = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333333333333"),
            (2.0 / 3.0, "0.666666666666667"),
            (100000.0, "100000"),
            (123456789012345.0, "123456789012345"),
            (999999999999999.9, "1e+15"),
            (1e15, "1e+15"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (5e-324, "4.94065645841247e-324"),
            (-f64::MAX, "-1.79769313486232e+308"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ];
        for (number, expected) in table {
            assert_eq!(text(Value::Double(number)), expected, "{number:?}");
        }
    }

    #[test]
    fn integers_are_written_whole() {
        for number in [0, 7, -7, 10, 1_000_000, i64::MAX, i64::MIN] {
            assert_eq!(text(Value::Integer(number)), number.to_string());
        }
    }

    #[test]
    fn a_text_is_read_when_an_expression_uses_it() {
        let table = [
            ("NULL", Scalar::Null),
            ("t", Scalar::Boolean(true)),
            ("Yes", Scalar::Boolean(true)),
            ("on", Scalar::Boolean(true)),
            ("fal", Scalar::Boolean(false)),
            ("n", Scalar::Boolean(false)),
            ("of", Scalar::Boolean(false)),
            ("007", Scalar::Integer(7)),
            (" -12", Scalar::Integer(-12)),
            ("1.5e3", Scalar::Double(1500.0)),
        ];
        for (text, expected) in table {
            assert_eq!(Value::Text(text.into()).scalar().unwrap(), expected, "{text}");
        }
        for text in ["", "o", "12a", "9223372036854775808", "1 2"] {
            assert!(Value::Text(text.into()).scalar().is_err(), "{text}");
        }
        assert_eq!(text(Value::Text("007".into())), "007");
    }
}
