//! `real` and `double precision`: text forms, order, and the checks that PostgreSQL makes on results.
//!
//! Output is the shortest text that reads back as the same number, in PostgreSQL's layout: plain from 1e-4 up to 1e15
//! (1e6 for `real`), with an exponent of at least two digits outside. PostgreSQL's algorithm differs from other
//! shortest-digit printers in two corners, which [`Format`] repeats: it never uses a decimal that lies exactly half way
//! between two floats (1e23 prints as 9.999999999999999e+22), and of two decimals that are equally near it takes the
//! even one.

use super::Sink;
use super::text::{invalid_syntax, is_space};
use base::{Error, Result, sqlstate};
use std::cmp::Ordering;
use std::fmt;

/// PostgreSQL's order: `NaN` equals itself and is greater than all else; the zeros are equal.
#[inline]
pub fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[cold]
fn result_out_of_range(what: &'static str) -> Error {
    Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, what)
}

/// A result that is infinite though no operand was: an overflow.
#[inline]
pub fn check_overflow(result: f64, operand_infinite: bool) -> Result<f64> {
    match result.is_infinite() && !operand_infinite {
        true => Err(result_out_of_range("value out of range: overflow")),
        false => Ok(result),
    }
}

/// A result that is zero though it cannot be: an underflow.
#[inline]
pub fn check_underflow(result: f64, may_be_zero: bool) -> Result<f64> {
    match result == 0.0 && !may_be_zero {
        true => Err(result_out_of_range("value out of range: underflow")),
        false => Ok(result),
    }
}

/// Rounds to `real`, refusing what it does not hold.
#[inline]
pub fn to_f32(value: f64) -> Result<f64> {
    let narrow = f64::from(value as f32);
    check_underflow(check_overflow(narrow, value.is_infinite())?, value == 0.0)
}

/// The names of the values that are no digits.
fn special(body: &str) -> Option<f64> {
    let (negative, name) = match body.as_bytes().first()? {
        b'-' => (true, &body[1..]),
        b'+' => (false, &body[1..]),
        _ => (false, body),
    };
    if name.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    let infinite = name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity");
    infinite.then_some(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
}

fn parse<T: std::str::FromStr + Copy>(text: &str, name: &str, widen: impl Fn(T) -> f64) -> Result<T> {
    let body = text.trim_matches(is_space);
    let digits = body.bytes().any(|byte| byte.is_ascii_digit());
    if !digits && special(body).is_none() {
        return Err(invalid_syntax(name, text));
    }
    let value: T = body.parse().map_err(|_| invalid_syntax(name, text))?;
    let wide = widen(value);
    let zero = || body.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).all(|byte| !matches!(byte, b'1'..=b'9'));
    if digits && (wide.is_infinite() || (wide == 0.0 && !zero())) {
        let message = format!("\"{body}\" is out of range for type {name}");
        return Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    Ok(value)
}

/// Reads a `double precision`.
pub fn parse_f64(text: &str) -> Result<f64> {
    parse(text, "double precision", |value: f64| value)
}

/// Reads a `real`.
pub fn parse_f32(text: &str) -> Result<f32> {
    parse(text, "real", |value: f32| f64::from(value))
}

/// Writes a `double precision`. `extra_digits` is the setting `extra_float_digits`: from 1 up the shortest exact form,
/// otherwise 15 digits and that many more.
pub fn print_f64(value: f64, extra_digits: i32, out: &mut impl Sink) {
    if print_special(value, out) {
        return;
    }
    if extra_digits < 1 {
        return print_significant(value, (15 + extra_digits).max(1) as usize, out);
    }
    if print_integral(value, 1e15, out) {
        return;
    }
    let format = Format { mantissa_bits: 53, exponent_min: -1074, plain_digits_max: 15 };
    let with_digits = |digits: usize| Decimal::new(format_args!("{value:.digits$e}"));
    let reads_back = |decimal: &Decimal| decimal.text().parse() == Ok(value);
    format.print(value, Decimal::new(format_args!("{value:e}")), with_digits, reads_back, out);
}

/// Writes a `real`, of which `extra_float_digits` shows six digits and that many more.
pub fn print_f32(value: f32, extra_digits: i32, out: &mut impl Sink) {
    let wide = f64::from(value);
    if print_special(wide, out) {
        return;
    }
    if extra_digits < 1 {
        return print_significant(wide, (6 + extra_digits).max(1) as usize, out);
    }
    if print_integral(wide, 1e6, out) {
        return;
    }
    let format = Format { mantissa_bits: 24, exponent_min: -149, plain_digits_max: 6 };
    let with_digits = |digits: usize| Decimal::new(format_args!("{value:.digits$e}"));
    let reads_back = |decimal: &Decimal| decimal.text().parse() == Ok(value);
    format.print(wide, Decimal::new(format_args!("{value:e}")), with_digits, reads_back, out);
}

/// Writes a whole number that the plain layout shows with all its digits; the negative zero is none.
fn print_integral(value: f64, end: f64, out: &mut impl Sink) -> bool {
    let integral = value.abs() < end && value.trunc() == value && (value != 0.0 || value.is_sign_positive());
    if integral {
        super::int::print(value as i64, out);
    }
    integral
}

fn print_special(value: f64, out: &mut impl Sink) -> bool {
    let name: &[u8] = match value {
        _ if value.is_nan() => b"NaN",
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ => return false,
    };
    out.put(name);
    true
}

/// A number's decimal digits, as the formatter gives them: `-1.25e-7`.
struct Decimal {
    bytes: [u8; 32],
    length: usize,
}

impl fmt::Write for Decimal {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A sign, 17 digits, a point and an exponent of four: never longer.
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl Decimal {
    fn new(number: fmt::Arguments<'_>) -> Decimal {
        let mut decimal = Decimal { bytes: [0; 32], length: 0 };
        fmt::Write::write_fmt(&mut decimal, number).expect("a float's digits fit");
        decimal
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or("")
    }

    fn is_negative(&self) -> bool {
        self.bytes[0] == b'-'
    }

    /// Where the `e` stands.
    fn mark(&self) -> usize {
        self.bytes.iter().position(|&byte| byte == b'e').unwrap_or(self.length)
    }

    /// The digits, zeros at the end left out; at least one.
    fn digits(&self) -> ([u8; 20], usize) {
        let mut digits = [b'0'; 20];
        let mut count = 0;
        for &byte in self.bytes[..self.mark()].iter().filter(|byte| byte.is_ascii_digit()) {
            digits[count] = byte;
            count += 1;
        }
        while count > 1 && digits[count - 1] == b'0' {
            count -= 1;
        }
        (digits, count)
    }

    /// The power of ten that the first digit counts.
    fn exponent(&self) -> i32 {
        let text = &self.bytes[(self.mark() + 1).min(self.length)..self.length];
        let (sign, digits) = match text {
            [b'-', digits @ ..] => (-1, digits),
            digits => (1, digits),
        };
        sign * digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'))
    }
}

/// One of the two kinds of floats.
struct Format {
    mantissa_bits: u32,
    /// The smallest denormal is 2 to this power.
    exponent_min: i32,
    /// From this power of ten up an exponent is shown.
    plain_digits_max: i32,
}

impl Format {
    fn print(
        &self,
        value: f64,
        shortest: Decimal,
        with_digits: impl Fn(usize) -> Decimal,
        reads_back: impl Fn(&Decimal) -> bool,
        out: &mut impl Sink,
    ) {
        let mut decimal = shortest;
        if self.is_half_way(value, &decimal) {
            // One digit more, until it is inside the interval and not on its edge.
            for digits in decimal.digits().1..20 {
                let longer = with_digits(digits);
                if reads_back(&longer) {
                    decimal = longer;
                    if !self.is_half_way(value, &decimal) {
                        break;
                    }
                }
            }
        }
        if self.is_tie(value, &decimal) {
            // Formatting to a number of digits takes the even one.
            let even = with_digits(decimal.digits().1 - 1);
            if reads_back(&even) {
                decimal = even;
            }
        }
        layout(&decimal, self.plain_digits_max, out);
    }

    /// Are there two decimals of this length, both as near to the number as the other?
    ///
    /// Then twice the number is an odd multiple of the last digit's unit.
    fn is_tie(&self, value: f64, decimal: &Decimal) -> bool {
        let (mantissa, unit) = self.split(value.abs());
        let last_unit = decimal.exponent() - decimal.digits().1 as i32 + 1;
        if mantissa == 0 || unit + mantissa.trailing_zeros() as i32 + 1 != last_unit {
            return false;
        }
        let fives = match last_unit {
            ..=0 => 1,
            _ => 5u128.checked_pow(last_unit.unsigned_abs()).unwrap_or(u128::MAX),
        };
        mantissa.is_multiple_of(fives)
    }

    /// Does the decimal lie exactly half way between two neighbouring floats?
    ///
    /// Such a number is `odd * 2^k` with an odd part of one bit more than a mantissa has, so it is decided in integers:
    /// the decimal is `d * 10^e = d * 5^e * 2^e`.
    fn is_half_way(&self, value: f64, decimal: &Decimal) -> bool {
        let (digits, count) = decimal.digits();
        let exponent = decimal.exponent() - count as i32 + 1;
        // A fraction that is an integer over a power of two ends in 5.
        if exponent.unsigned_abs() > 27 || (exponent < 0 && digits[count - 1] != b'5') {
            return false;
        }
        let five = 5u128.pow(exponent.unsigned_abs());
        let decimal = digits[..count].iter().fold(0u128, |value, digit| value * 10 + u128::from(digit - b'0'));
        let odd_part = match exponent {
            0.. => decimal.checked_mul(five),
            _ if decimal.is_multiple_of(five) => Some(decimal / five),
            _ => None,
        };
        let Some(number) = odd_part.filter(|&number| number != 0) else {
            return false;
        };
        // number * 2^exponent = odd * 2^power
        let twos = number.trailing_zeros();
        let (odd, power) = (number >> twos, exponent + twos as i32);
        let (mantissa, unit) = self.split(value.abs());
        let at = |half: u128, unit: i32| odd == half && power == unit;
        let below_is_finer = mantissa == 1 << (self.mantissa_bits - 1) && unit > self.exponent_min;
        at(2 * mantissa + 1, unit - 1)
            || (!below_is_finer && at(2 * mantissa - 1, unit - 1))
            || (below_is_finer && at(4 * mantissa - 1, unit - 2))
    }

    /// The number as `mantissa * 2^unit`, with the mantissa of its own width.
    fn split(&self, value: f64) -> (u128, i32) {
        let bits = value.to_bits();
        let stored = (bits >> 52) as i32;
        let (mut mantissa, mut unit) = match stored {
            0 => (bits & ((1 << 52) - 1), -1074),
            _ => ((bits & ((1 << 52) - 1)) | 1 << 52, stored - 1075),
        };
        // A `real` has fewer bits, and its denormals are normal here.
        let surplus = (53 - self.mantissa_bits as i32).max(self.exponent_min - unit);
        if surplus > 0 && stored != 0 {
            mantissa >>= surplus;
            unit += surplus;
        }
        (mantissa.into(), unit)
    }
}

/// Lays the digits out as PostgreSQL does.
fn layout(decimal: &Decimal, plain_digits_max: i32, out: &mut impl Sink) {
    const ZEROS: &[u8] = b"00000000000000000000";
    let (digits, count) = decimal.digits();
    let digits = &digits[..count];
    let exponent = decimal.exponent();
    let mut line = [0u8; 48];
    let mut length = 0;
    let mut put = |part: &[u8]| {
        line[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    };
    if decimal.is_negative() {
        put(b"-");
    }
    if !(-4..plain_digits_max).contains(&exponent) {
        put(&digits[..1]);
        if count > 1 {
            put(b".");
            put(&digits[1..]);
        }
        put(if exponent < 0 { b"e-" } else { b"e+" });
        let magnitude = exponent.unsigned_abs();
        if magnitude >= 100 {
            put(&[b'0' + (magnitude / 100) as u8]);
        }
        put(&[b'0' + (magnitude / 10 % 10) as u8, b'0' + (magnitude % 10) as u8]);
    } else if exponent < 0 {
        put(b"0.");
        put(&ZEROS[..(-exponent - 1) as usize]);
        put(digits);
    } else {
        let integer = exponent as usize + 1;
        if count <= integer {
            put(digits);
            put(&ZEROS[..integer - count]);
        } else {
            put(&digits[..integer]);
            put(b".");
            put(&digits[integer..]);
        }
    }
    out.put(&line[..length]);
}

/// Writes a number with that many significant digits, zeros at the end left out: C's `%.*g`.
fn print_significant(value: f64, digits: usize, out: &mut impl Sink) {
    let decimal = Decimal::new(format_args!("{value:.precision$e}", precision = digits - 1));
    layout(&decimal, digits as i32, out);
}

/// The nearest integer, half to even, for a type that `name` names in the error.
#[inline]
pub fn to_integer(value: f64, min: f64, end: f64, name: &str) -> Result<i64> {
    let rounded = value.round_ties_even();
    match rounded >= min && rounded < end {
        true => Ok(rounded as i64),
        false => Err(super::int::out_of_range(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wide(value: f64) -> String {
        let mut out = Vec::new();
        print_f64(value, 1, &mut out);
        String::from_utf8(out).expect("text")
    }

    fn narrow(value: f32) -> String {
        let mut out = Vec::new();
        print_f32(value, 1, &mut out);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn output_is_postgresqls() {
        let table = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (1e14, "100000000000000"),
            (1e15, "1e+15"),
            (123_456_789_012_345.0, "123456789012345"),
            (1_234_567_890_123_456.0, "1.234567890123456e+15"),
            (9_007_199_254_740_993.0, "9.007199254740992e+15"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (1e23, "9.999999999999999e+22"),
            (2e23, "1.9999999999999998e+23"),
            (8.5e22, "8.5e+22"),
            (1e100, "1e+100"),
            (1.0 / 3.0, "0.3333333333333333"),
            (2.0f64.powi(-25), "2.9802322387695312e-08"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in table {
            assert_eq!(wide(value), text);
        }
        let table = [
            (1e5f32, "100000"),
            (1e6, "1e+06"),
            (0.1, "0.1"),
            (16_777_216.0, "1.6777216e+07"),
            (1.0 / 3.0, "0.33333334"),
            (f32::MAX, "3.4028235e+38"),
            (1e-45, "1e-45"),
        ];
        for (value, text) in table {
            assert_eq!(narrow(value), text);
        }
    }

    #[test]
    fn fewer_digits_when_asked() {
        let mut out = Vec::new();
        for (value, extra) in [(0.1, 0), (1.0 / 3.0, 0), (1.0 / 3.0, -10), (1e15, 0), (123_456.0, -12), (100.0, 0)] {
            print_f64(value, extra, &mut out);
            out.push(b' ');
        }
        assert_eq!(out, b"0.1 0.333333333333333 0.33333 1e+15 1.23e+05 100 ");
    }

    #[test]
    fn input_is_postgresqls() {
        for (text, value) in [
            ("1", 1.0),
            (" 1e5 ", 1e5),
            (".5", 0.5),
            ("5.", 5.0),
            ("-inf", f64::NEG_INFINITY),
            ("0e999", 0.0),
            ("1e-320", 1e-320),
        ] {
            assert_eq!(parse_f64(text).ok(), Some(value), "{text}");
        }
        assert!(parse_f64("NaN").is_ok_and(f64::is_nan));
        for (text, code, message) in [
            ("", "22P02", "invalid input syntax for type double precision: \"\""),
            ("abc", "22P02", "invalid input syntax for type double precision: \"abc\""),
            ("1 2", "22P02", "invalid input syntax for type double precision: \"1 2\""),
            ("1e400", "22003", "\"1e400\" is out of range for type double precision"),
            ("1e-400", "22003", "\"1e-400\" is out of range for type double precision"),
        ] {
            let error = parse_f64(text).expect_err(text);
            assert_eq!((error.sqlstate().as_str(), error.message()), (code, message));
        }
        assert_eq!(
            parse_f32("1e39").map_err(|error| error.message().to_owned()),
            Err("\"1e39\" is out of range for type real".to_owned())
        );
    }

    #[test]
    fn nan_is_the_greatest() {
        let ordered = [f64::NEG_INFINITY, -1.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
        for (at, &a) in ordered.iter().enumerate() {
            for (other, &b) in ordered.iter().enumerate() {
                assert_eq!(compare(a, b), at.cmp(&other));
            }
        }
        assert_eq!(compare(0.0, -0.0), Ordering::Equal);
    }
}
