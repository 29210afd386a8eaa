//! `to_char` of numbers.
//!
//! A number is first written plainly with as many digits after the point as the template has ([`Digits`]), then laid into the
//! template from left to right ([`Layout`]). Where it has fewer digits before the point than the template there are spaces or
//! zeros, where it has more the whole number becomes `#`.
//!
//! Rules
//! 1. The number that is laid out is exact, but of floats only 6 or 15 digits are meaningful, and digits after them are left out.
//! 2. `FM` drops spaces and the zeros at the number's end that no `0` asks for.

use super::number::{self, Anchor, Field, Shape};
use super::{Ordinal, Piece};
use crate::numeric::Numeric;
use crate::{int, text};
use base::{Error, Result, sqlstate};

/// Meaningful digits of a `real`.
const FLOAT4_DIGITS: usize = 6;
/// Meaningful digits of a `double precision`.
const FLOAT8_DIGITS: usize = 15;
/// The width of a Roman number.
const ROMAN_WIDTH: usize = 15;
/// The most digits after the point that a floating-point number is asked for; beyond are zeros.
const PRECISION_MAX: usize = 350;

/// A number written plainly.
struct Digits {
    /// Without a sign.
    text: String,
    /// `+`, `-`, or nothing for a Roman number.
    sign: u8,
    /// How many digits are missing before the point.
    missing: usize,
}

impl Digits {
    /// A number with its sign, cut to a template: too many digits before the point become `#`.
    fn new(written: String, shape: &Shape) -> Digits {
        let (sign, text) = match written.strip_prefix('-') {
            Some(rest) => (b'-', rest.to_owned()),
            None => (b'+', written),
        };
        let before = text.find('.').unwrap_or(text.len());
        if before > shape.before {
            let text = format!("{}.{}", "#".repeat(shape.before), "#".repeat(shape.after));
            return Digits { text, sign, missing: 0 };
        }
        Digits { text, sign, missing: shape.before - before }
    }

    fn whole(text: String) -> Digits {
        Digits { text, sign: 0, missing: 0 }
    }
}

/// `to_char(integer, template)`
pub fn int4(value: i64, template: &str) -> Result<Vec<u8>> {
    with_shape(template, |shape| {
        if shape.is_roman {
            return Ok(Digits::whole(roman(Some(value))));
        }
        if shape.has_exponent {
            return Ok(Digits::whole(scientific(value as f64, shape.after)));
        }
        let mut value = value;
        if shape.is_multiplied {
            // The product wraps in 32 bits, as PostgreSQL's does.
            let power = 10i64.checked_pow(shape.multiplied as u32).and_then(|power| i32::try_from(power).ok());
            value = i64::from((value as i32).wrapping_mul(power.unwrap_or(i32::MIN)));
            shape.before += shape.multiplied;
        }
        Ok(Digits::new(with_zeros(value.to_string(), shape.after), shape))
    })
}

/// `to_char(bigint, template)`
pub fn int8(value: i64, template: &str) -> Result<Vec<u8>> {
    with_shape(template, |shape| {
        if shape.is_roman {
            let value = i32::try_from(value).map_err(|_| int::out_of_range("integer"))?;
            return Ok(Digits::whole(roman(Some(value.into()))));
        }
        if shape.has_exponent {
            return Ok(Digits::whole(exact_scientific(&Numeric::from_int(value.into()), shape)?));
        }
        let mut value = value;
        if shape.is_multiplied {
            let product = 10i64.checked_pow(shape.multiplied as u32).and_then(|power| value.checked_mul(power));
            value = product.ok_or_else(|| int::out_of_range("bigint"))?;
            shape.before += shape.multiplied;
        }
        Ok(Digits::new(with_zeros(value.to_string(), shape.after), shape))
    })
}

/// `to_char(numeric, template)`
pub fn numeric(value: Numeric, template: &str) -> Result<Vec<u8>> {
    with_shape(template, |shape| {
        if shape.is_roman {
            let value = value.round(0)?.to_integer("integer")?;
            let value = i32::try_from(value).map_err(|_| int::out_of_range("integer"))?;
            return Ok(Digits::whole(roman(Some(value.into()))));
        }
        if shape.has_exponent {
            return Ok(Digits::whole(exact_scientific(&value, shape)?));
        }
        let mut value = value;
        if shape.is_multiplied {
            let power = Numeric::from_int(10).power(&Numeric::from_int(shape.multiplied as i128))?;
            value = value.multiply(&power)?;
            shape.before += shape.multiplied;
        }
        Ok(Digits::new(value.round(shape.after as i64)?.to_text(), shape))
    })
}

/// `to_char(real, template)`
pub fn float4(value: f64, template: &str) -> Result<Vec<u8>> {
    float(value, FLOAT4_DIGITS, template)
}

/// `to_char(double precision, template)`
pub fn float8(value: f64, template: &str) -> Result<Vec<u8>> {
    float(value, FLOAT8_DIGITS, template)
}

fn float(value: f64, meaningful: usize, template: &str) -> Result<Vec<u8>> {
    with_shape(template, |shape| {
        if shape.is_roman {
            let whole = value.round_ties_even();
            return Ok(Digits::whole(roman((whole.abs() < 4000.0).then_some(whole as i64))));
        }
        if shape.has_exponent {
            return Ok(Digits::whole(match value.is_finite() {
                true => scientific(value, shape.after),
                false => no_number(shape),
            }));
        }
        let mut value = value;
        if shape.is_multiplied {
            let power = 10f64.powi(shape.multiplied.min(1000) as i32);
            value = match meaningful {
                FLOAT4_DIGITS => f64::from(value as f32 * power as f32),
                _ => value * power,
            };
            shape.before += shape.multiplied;
        }
        let before = plain(value.abs(), 0).len();
        shape.after = shape.after.min(meaningful.saturating_sub(before));
        Ok(Digits::new(plain(value, shape.after), shape))
    })
}

/// A float with so many digits after the point, as C writes it.
fn plain(value: f64, digits: usize) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{value:.digits$}"),
    }
}

fn with_zeros(mut text: String, zeros: usize) -> String {
    if zeros > 0 {
        text.push('.');
        text.extend(std::iter::repeat_n('0', zeros));
    }
    text
}

/// `-1.50e+03`, with a space in place of a plus.
fn scientific(value: f64, digits: usize) -> String {
    let precision = digits.min(PRECISION_MAX);
    let written = format!("{value:.precision$e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let zeros = "0".repeat(digits - precision);
    let sign = if written.starts_with('-') { "" } else { " " };
    format!("{sign}{mantissa}{zeros}e{exponent:+03}")
}

/// The same of a number that is exact.
fn exact_scientific(value: &Numeric, shape: &Shape) -> Result<String> {
    if !value.is_finite() {
        return Ok(no_number(shape));
    }
    let digits = shape.after as i64;
    let (mantissa, exponent) = match value.is_zero() {
        true => (value.round(digits)?, 0),
        false => {
            let exponent = value.significant_digits().1 - 1;
            (value.shifted(-exponent).round(digits)?, exponent)
        }
    };
    let sign = if mantissa.signum() < 0 { "" } else { " " };
    Ok(format!("{sign}{}e{exponent:+03}", mantissa.to_text()))
}

/// What stands for a number that has no exponent.
fn no_number(shape: &Shape) -> String {
    // Six more for the sign, the point, the letter, the exponent's sign and its two digits.
    let mut text = vec![b'#'; shape.before + shape.after + 6];
    text[0] = b' ';
    text[shape.before + 1] = b'.';
    String::from_utf8(text).unwrap_or_default()
}

/// A Roman number; what has none is shown as `#`.
fn roman(value: Option<i64>) -> String {
    const ROMAN: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let Some(mut rest) = value.filter(|value| (1..4000).contains(value)) else {
        return "#".repeat(ROMAN_WIDTH);
    };
    let mut text = String::new();
    for (worth, letters) in ROMAN {
        while rest >= worth {
            text.push_str(letters);
            rest -= worth;
        }
    }
    text
}

fn with_shape(template: &str, digits: impl FnOnce(&mut Shape) -> Result<Digits>) -> Result<Vec<u8>> {
    if template.is_empty() {
        return Ok(Vec::new());
    }
    let (pieces, mut shape) = number::parse(template)?;
    let digits = digits(&mut shape)?;
    if digits.text.len() > text::BYTES_MAX {
        return Err(text::too_long());
    }
    if shape.has_exponent {
        return Ok(digits.text.into_bytes());
    }
    if shape.is_roman {
        // Of all that was asked for only this is left.
        let is_filled = shape.is_filled;
        shape = Shape::default();
        (shape.is_roman, shape.is_filled) = (true, is_filled);
    }
    Layout::new(shape, digits).lay(&pieces)
}

/// A number on its way into a template.
struct Layout {
    shape: Shape,
    digits: Digits,
    /// The place of the first `0`, from zero.
    zero_start: usize,
    /// The next character of the number.
    next: usize,
    /// The last character that `FM` does not drop, where it drops any.
    last_relevant: Option<usize>,
    is_sign_written: bool,
    /// Has a digit been written?
    in_number: bool,
    /// How many places of the template have been passed.
    place: usize,
    /// How many there are before the last one.
    places: usize,
    out: Vec<u8>,
}

impl Layout {
    fn new(mut shape: Shape, digits: Digits) -> Layout {
        let zero_start = shape.zero_start.saturating_sub(1);
        let is_sign_written = if shape.has_plus || shape.has_minus {
            // Minus and plus are written where they stand; a plus alone leaves the minus to the number.
            shape.has_minus
        } else {
            if digits.sign != b'-' && shape.is_filled {
                shape.has_brackets = false;
            }
            if shape.anchor == Anchor::Before && shape.before == shape.before_sign {
                shape.anchor = Anchor::After;
            }
            digits.sign == b'+' && shape.is_filled && !shape.has_sign
        };
        let mut places = (shape.before + shape.after) as i64 - 1;
        if !is_sign_written && digits.missing == 0 {
            places += 1;
        }
        let mut last_relevant = None;
        if shape.is_filled
            && shape.has_point
            && let Some(point) = digits.text.find('.')
        {
            let text = digits.text.as_bytes();
            let last = (point + 1..text.len()).rev().find(|&at| text[at] != b'0').unwrap_or(point);
            let wanted = match shape.zero_end > digits.missing {
                true => (shape.zero_end - digits.missing).min(text.len() - 1),
                false => 0,
            };
            last_relevant = Some(last.max(wanted));
        }
        Layout {
            zero_start,
            next: 0,
            last_relevant,
            is_sign_written,
            in_number: false,
            place: 0,
            places: places.max(0) as usize,
            out: Vec::new(),
            shape,
            digits,
        }
    }

    fn lay(mut self, pieces: &[Piece<'_, Field>]) -> Result<Vec<u8>> {
        for piece in pieces {
            let Piece::Field(marked) = piece else {
                self.out.extend_from_slice(piece.character().unwrap_or_default().as_bytes());
                continue;
            };
            let (sign, filled) = (self.digits.sign, self.shape.is_filled);
            // A sign at its place, or the space that stands for it.
            let mut own_sign = |wanted: u8| {
                if sign == wanted {
                    self.out.push(wanted);
                } else if !filled {
                    self.out.push(b' ');
                }
            };
            match marked.field {
                Field::Nine | Field::Zero | Field::Point | Field::LocalPoint => self.place(marked.field),
                Field::Comma | Field::Group if self.in_number => self.out.push(b','),
                Field::Comma | Field::Group if !filled => self.out.push(b' '),
                Field::Currency => self.out.push(b' '),
                Field::Minus => own_sign(b'-'),
                Field::Plus => own_sign(b'+'),
                Field::MinusPlus => self.out.push(sign),
                Field::Roman(capital) => {
                    let text = if capital { self.digits.text.clone() } else { self.digits.text.to_ascii_lowercase() };
                    let width = if filled { 0 } else { ROMAN_WIDTH };
                    self.out.extend_from_slice(format!("{text:>width$}").as_bytes());
                }
                Field::Ordinal(capital) => {
                    let text = self.digits.text.as_bytes();
                    if self.shape.is_roman || self.shape.has_point || sign == b'-' || text.first() == Some(&b'#') {
                        continue;
                    }
                    if !text.last().is_some_and(u8::is_ascii_digit) {
                        let message = format!("\"{}\" is not a number", self.digits.text);
                        return Err(Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, message));
                    }
                    let ordinal = if capital { Ordinal::Upper } else { Ordinal::Lower };
                    self.out.extend_from_slice(ordinal.of(text).as_bytes());
                }
                _ => {}
            }
        }
        // A place beyond the number's end wrote a zero byte, which ends the text.
        if let Some(end) = self.out.iter().position(|byte| *byte == 0) {
            self.out.truncate(end);
        }
        Ok(self.out)
    }

    fn at(&self, index: usize) -> u8 {
        self.digits.text.as_bytes().get(index).copied().unwrap_or(0)
    }

    /// Is the number's only digit before the point a zero that is not written?
    fn is_bare_point(&self) -> bool {
        !self.shape.has_zero && self.next == 0 && self.at(0) == b'0' && self.shape.after != 0
    }

    fn relevant_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.at(last) == b'.')
    }

    /// Writes the number's sign, once the number begins.
    fn sign(&mut self) {
        let begins = self.place >= self.digits.missing || (self.shape.has_zero && self.zero_start == self.place);
        if self.is_sign_written || !begins || (self.is_bare_point() && !self.relevant_point()) {
            return;
        }
        let sign = self.digits.sign;
        if self.shape.has_sign {
            if self.shape.anchor == Anchor::Before {
                self.out.push(if sign == b'-' { b'-' } else { b'+' });
                self.is_sign_written = true;
            }
        } else if self.shape.has_brackets {
            self.out.push(if sign == b'+' { b' ' } else { b'<' });
            self.is_sign_written = true;
        } else if sign == b'+' {
            if !self.shape.is_filled {
                self.out.push(b' ');
            }
            self.is_sign_written = true;
        } else if sign == b'-' {
            self.out.push(b'-');
            self.is_sign_written = true;
        }
    }

    /// Writes what belongs to a digit's place, or to the point's.
    fn place(&mut self, field: Field) {
        if self.shape.is_roman {
            return;
        }
        self.in_number = false;
        self.sign();
        if self.place < self.digits.missing && (!self.shape.has_zero || self.zero_start > self.place) {
            if !self.shape.is_filled {
                self.out.push(b' ');
            }
        } else if self.place < self.digits.missing {
            self.out.push(b'0');
            self.in_number = true;
        } else {
            self.character(field);
            if self.next < self.digits.text.len() {
                self.next += 1;
            }
        }
        let mut end = self.places + usize::from(self.digits.missing > 0) + usize::from(self.shape.has_point);
        if self.last_relevant == Some(self.next) {
            end = self.place;
        }
        if self.place + 1 == end {
            let sign = self.digits.sign;
            if self.is_sign_written && self.shape.has_brackets {
                self.out.push(if sign == b'+' { b' ' } else { b'>' });
            } else if self.shape.has_sign && self.shape.anchor == Anchor::After {
                self.out.push(if sign == b'-' { b'-' } else { b'+' });
            }
        }
        self.place += 1;
    }

    /// Writes the next character of the number.
    fn character(&mut self, field: Field) {
        let character = self.at(self.next);
        if character == b'.' {
            // Left out only at a number's end, which `FM` keeps all the same.
            if !self.relevant_point() || self.shape.is_filled {
                self.out.push(b'.');
            }
        } else if self.last_relevant.is_some_and(|last| self.next > last) && field != Field::Zero {
        } else if self.is_bare_point() {
            if !self.shape.is_filled {
                self.out.push(b' ');
            } else if self.relevant_point() {
                self.out.push(b'0');
            }
        } else {
            self.out.push(character);
            self.in_number = true;
        }
    }
}
