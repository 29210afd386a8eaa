//! The text form of `numeric`, and the type modifier that rounds and limits it.

use super::{Numeric, SCALE_MAX, overflow};
use crate::Sink;
use crate::text::invalid_syntax;
use base::{Error, Result, sqlstate};
use num_bigint::BigInt;

/// A larger exponent overflows whatever the digits are.
const EXPONENT_MAX: i64 = i32::MAX as i64 / 2;

/// The most digits behind the point that a 64-bit number splits off.
const FRACTION_MAX: usize = 18;

/// Writes `mantissa / 10^scale`; the scale is from 1 to [`FRACTION_MAX`].
fn print_parts(mantissa: i64, scale: usize, out: &mut impl Sink) {
    let unit = 10u64.pow(scale as u32);
    let (whole, mut fraction) = (mantissa.unsigned_abs() / unit, mantissa.unsigned_abs() % unit);
    if mantissa < 0 {
        out.put(b"-");
    }
    // At most a tenth of what the mantissa can be.
    crate::int::print(whole as i64, out);
    let mut behind = [b'.'; FRACTION_MAX + 1];
    for digit in behind[1..=scale].iter_mut().rev() {
        *digit = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    out.put(&behind[..=scale]);
}

impl Numeric {
    /// Reads PostgreSQL's text form: a number with sign, point and exponent, `NaN`, or an infinity, with white space
    /// around it.
    pub fn parse(text: &str) -> Result<Numeric> {
        let bad = || invalid_syntax("numeric", text);
        let body = text.trim_matches(crate::text::is_space);
        let (negative, body) = match body.as_bytes().first() {
            Some(b'-') => (true, &body[1..]),
            Some(b'+') => (false, &body[1..]),
            _ => (false, body),
        };
        let signed = body.len() < text.trim_matches(crate::text::is_space).len();
        match body.as_bytes() {
            [b'0'..=b'9', ..] | [b'.', ..] => parse_digits(body, negative).ok_or_else(bad)?,
            _ if body.eq_ignore_ascii_case("inf") || body.eq_ignore_ascii_case("infinity") => {
                Ok(if negative { Numeric::NegInfinity } else { Numeric::Infinity })
            }
            _ if body.eq_ignore_ascii_case("nan") && !signed => Ok(Numeric::Nan),
            _ => Err(bad()),
        }
    }

    /// Writes PostgreSQL's text form.
    pub fn print(&self, out: &mut impl Sink) {
        let (digits, scale) = match self {
            Numeric::Nan => return out.put(b"NaN"),
            Numeric::Infinity => return out.put(b"Infinity"),
            Numeric::NegInfinity => return out.put(b"-Infinity"),
            Numeric::Small { mantissa, scale } if *scale == 0 => {
                return crate::int::print_wide(*mantissa, out);
            }
            Numeric::Small { mantissa, scale } => match (i64::try_from(*mantissa), *scale as usize) {
                // What money is: no digits are kept aside.
                (Ok(mantissa), scale @ 1..=FRACTION_MAX) => return print_parts(mantissa, scale, out),
                (_, scale) => (self.digits(), scale),
            },
            Numeric::Big { scale, .. } => (self.digits(), *scale as usize),
        };
        if self.signum() < 0 {
            out.put(b"-");
        }
        match digits.len().checked_sub(scale) {
            Some(point) if point > 0 => {
                out.put(&digits.as_bytes()[..point]);
                if scale > 0 {
                    out.put(b".");
                    out.put(&digits.as_bytes()[point..]);
                }
            }
            _ => {
                out.put(b"0.");
                for _ in digits.len()..scale {
                    out.put(b"0");
                }
                out.put(digits.as_bytes());
            }
        }
    }

    /// The text form as a string.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        self.print(&mut bytes);
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// The modifier of `numeric(precision, scale)`, with PostgreSQL's limits.
    pub fn typmod(precision: i32, scale: i32) -> Result<i32> {
        let refuse = |message: String| Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        if !(1..=1000).contains(&precision) {
            return refuse(format!("NUMERIC precision {precision} must be between 1 and 1000"));
        }
        if !(-1000..=1000).contains(&scale) {
            return refuse(format!("NUMERIC scale {scale} must be between -1000 and 1000"));
        }
        Ok(((precision << 16) | (scale & 0x7FF)) + 4)
    }

    /// Rounds to a column's scale and refuses what its precision does not hold.
    pub fn with_typmod(self, typmod: i32) -> Result<Numeric> {
        let Some((precision, scale)) = precision_and_scale(typmod) else {
            return Ok(self);
        };
        let refuse = |detail: String| {
            Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").detail(detail))
        };
        match self {
            Numeric::Nan => return Ok(self),
            Numeric::Infinity | Numeric::NegInfinity => {
                return refuse(format!(
                    "A field with precision {precision}, scale {scale} cannot hold an infinite value."
                ));
            }
            _ => {}
        }
        let rounded = self.round(i64::from(scale))?;
        let digits_max = i64::from(precision - scale);
        if rounded.exponent().is_some_and(|exponent| exponent >= digits_max) {
            let limit = if digits_max == 0 { "1".to_owned() } else { format!("10^{digits_max}") };
            return refuse(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than {limit}."
            ));
        }
        Ok(rounded)
    }
}

/// What a modifier says: precision and scale, or `None` for a column without limits.
pub fn precision_and_scale(typmod: i32) -> Option<(i32, i32)> {
    if typmod < 4 {
        return None;
    }
    let packed = typmod - 4;
    // The scale is an 11-bit number with a sign.
    Some(((packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024))
}

/// Digits, an optional point, an optional exponent; `None` when it is none of that.
fn parse_digits(body: &str, negative: bool) -> Option<Result<Numeric>> {
    let (number, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], parse_exponent(&body[at + 1..])?),
        None => (body, 0),
    };
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if integer.len() + fraction.len() == 0 || !is_digits(integer) || !is_digits(fraction) {
        return None;
    }
    if exponent.abs() >= EXPONENT_MAX {
        return Some(Err(overflow()));
    }
    let scale = fraction.len() as i64 - exponent;
    if scale > i64::from(SCALE_MAX) {
        return Some(Err(overflow()));
    }
    let zeros = (-scale).max(0) as u64;
    let scale = scale.max(0) as u32;
    let significant = integer.trim_start_matches('0').len() + fraction.len();
    // 38 digits and the zeros that a positive exponent appends always fit 127 bits.
    if significant as u64 + zeros <= 38 {
        let digits = integer.bytes().chain(fraction.bytes());
        let mantissa = digits.fold(0i128, |value, digit| value * 10 + i128::from(digit - b'0'));
        let mantissa = mantissa * 10i128.pow(zeros as u32);
        return Some(Ok(Numeric::Small { mantissa: if negative { -mantissa } else { mantissa }, scale }));
    }
    if significant as u64 + zeros > super::INTEGER_DIGITS_MAX + u64::from(SCALE_MAX) {
        let is_zero = integer.bytes().chain(fraction.bytes()).all(|digit| digit == b'0');
        return Some(if is_zero { Ok(Numeric::Small { mantissa: 0, scale }) } else { Err(overflow()) });
    }
    let digits = format!("{integer}{fraction}");
    let mut mantissa = BigInt::parse_bytes(digits.as_bytes(), 10)?;
    if zeros > 0 {
        mantissa *= super::power_of_ten(zeros);
    }
    let value = Numeric::from_big(if negative { -mantissa } else { mantissa }, scale);
    Some(match value.integer_digits() > super::INTEGER_DIGITS_MAX {
        true => Err(overflow()),
        false => Ok(value),
    })
}

/// An exponent with its sign; one that no number can have is answered as [`EXPONENT_MAX`].
fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}
