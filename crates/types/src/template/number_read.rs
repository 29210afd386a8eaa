//! `to_number`: a number read by a template.
//!
//! The template's fields pick digits, a point and a sign out of the text; what they picked is read as a `numeric` then.
//!
//! Rules
//! 1. What is neither a digit, a point nor a sign takes a character of the text for each of its own, whichever it is; a comma
//!    only a comma.
//! 2. A template may have more digits than the text. Digits of the text beyond the template's are not read.

use super::Piece;
use super::number::{self, Anchor, Field, Shape};
use crate::numeric::Numeric;
use base::{Error, Result};

/// A text on its way through a template.
struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    shape: Shape,
    /// A sign or a space; then what was picked.
    number: Vec<u8>,
    digits_before: usize,
    digits_after: usize,
    has_point: bool,
}

/// `to_number(text, template)`; none where the result is null.
pub fn number(text: &str, template: &str) -> Result<Option<Numeric>> {
    if template.is_empty() {
        return Ok(None);
    }
    let (pieces, shape) = number::parse(template)?;
    if shape.has_exponent {
        return Err(Error::unsupported("\"EEEE\" not supported for input"));
    }
    if shape.is_roman {
        return Err(Error::unsupported("\"RN\" not supported for input"));
    }
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        shape,
        number: vec![b' '],
        digits_before: 0,
        digits_after: 0,
        has_point: false,
    };
    for piece in &pieces {
        if reader.is_over() {
            break;
        }
        match piece {
            Piece::Field(marked) => reader.field(marked.field),
            _ => reader.pass_character(),
        }
    }
    if reader.number.last() == Some(&b'.') {
        reader.number.pop();
    }
    let shape = &reader.shape;
    let scale = reader.digits_after as i32;
    let precision = (shape.before + shape.multiplied) as i32 + scale;
    let value = Numeric::parse(&String::from_utf8_lossy(&reader.number))?;
    let value = value.with_typmod((precision << 16 | scale).wrapping_add(4))?;
    if !shape.is_multiplied {
        return Ok(Some(value));
    }
    let power = Numeric::from_int(10).power(&Numeric::from_int(-(shape.multiplied as i128)))?;
    value.multiply(&power).map(Some)
}

impl Reader<'_> {
    fn is_over(&self) -> bool {
        self.at >= self.text.len()
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn pass_character(&mut self) {
        self.at += 1;
        while self.text.get(self.at).is_some_and(|byte| byte & 0xC0 == 0x80) {
            self.at += 1;
        }
    }

    /// Passes over characters that are no part of a number.
    fn pass_others(&mut self, count: usize) {
        for _ in 0..count {
            if self.is_over() || b"0123456789.,+-".contains(&self.peek(0)) {
                break;
            }
            self.pass_character();
        }
    }

    fn field(&mut self, field: Field) {
        let next = self.peek(0);
        let sign_at = |signs: &[u8]| signs.contains(&next);
        match field {
            Field::Nine | Field::Zero | Field::Point | Field::LocalPoint => {
                self.digit(field);
                self.at += 1;
            }
            // Like a point of the template, a comma counts only within the number.
            Field::Comma | Field::Group => self.at += usize::from(next == b',' && !self.shape.is_filled),
            Field::Currency => self.pass_others(1),
            Field::Ordinal(_) => self.pass_others(2),
            Field::Minus if sign_at(b"-") => self.own_sign(),
            Field::Plus if sign_at(b"+") => self.own_sign(),
            Field::MinusPlus if sign_at(b"+-") => self.own_sign(),
            Field::Minus | Field::Plus | Field::MinusPlus => self.pass_others(1),
            _ => {}
        }
    }

    fn own_sign(&mut self) {
        self.number[0] = self.peek(0);
        self.at += 1;
    }

    /// Takes a sign from the text where it has one.
    fn sign(&mut self, signs: &[u8]) -> bool {
        let next = self.peek(0);
        let found = !self.is_over() && signs.contains(&next);
        if found {
            self.number[0] = if next == b'+' { b'+' } else { b'-' };
        }
        found
    }

    /// Reads what belongs to a digit's place, or to the point's; the caller passes over its last character.
    fn digit(&mut self, field: Field) {
        if self.peek(0) == b' ' {
            self.at += 1;
        }
        if self.is_over() {
            return;
        }
        let is_digit_field = matches!(field, Field::Nine | Field::Zero);
        if self.number[0] == b' ' && is_digit_field && self.digits_before + self.digits_after == 0 {
            let signs: &[u8] = match self.shape.has_sign && self.shape.anchor == Anchor::Before {
                false if self.shape.has_brackets => b"-<+",
                _ => b"-+",
            };
            self.at += usize::from(self.sign(signs));
        }
        if self.is_over() {
            return;
        }
        let next = self.peek(0);
        let mut is_read = false;
        if next.is_ascii_digit() {
            if self.has_point && self.digits_after == self.shape.after {
                return;
            }
            self.number.push(next);
            match self.has_point {
                true => self.digits_after += 1,
                false => self.digits_before += 1,
            }
            is_read = true;
        } else if self.shape.has_point && !self.has_point && next == b'.' {
            self.number.push(b'.');
            self.has_point = true;
            is_read = true;
        }
        if self.number[0] != b' ' || self.digits_before + self.digits_after == 0 {
            return;
        }
        // The sign behind the last digit.
        if self.shape.has_sign && is_read && self.at + 1 < self.text.len() && !self.peek(1).is_ascii_digit() {
            self.at += 1;
            if !self.sign(b"-+") {
                self.at -= 1;
            }
        } else if !is_read && (self.shape.has_plus || self.shape.has_minus) {
            self.sign(b"-+");
        }
    }
}
