//! Templates of numbers: their fields, and what all of them together say ([`Shape`]).
//!
//! | field | what it is |
//! |---|---|
//! | `9`, `0` | a digit; with zeros before it |
//! | `.`, `D` | the point |
//! | `,`, `G` | a comma between groups |
//! | `S` | the sign, beside the number |
//! | `MI`, `PL`, `SG`, `PR` | a minus, a plus, either, brackets around what is negative |
//! | `V` | the digits after it are ten's power by which the number is multiplied |
//! | `EEEE`, `RN`, `TH`, `L` | an exponent, a Roman number, an ordinal's letters, a currency (a space in the locale `C`) |
//! | `FM` | no padding |
//!
//! Rules
//! 1. Which fields go together is checked while the template is read: `42601`.

use super::{Piece, split};
use base::{Error, Result, sqlstate};

/// A field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// `9`
    Nine,
    /// `0`
    Zero,
    /// `.`
    Point,
    /// `D`
    LocalPoint,
    /// `,`
    Comma,
    /// `G`
    Group,
    /// `B`: nothing but that it does not go with `EEEE`.
    Blank,
    /// `C`, `SP`: names that mean nothing.
    Nothing,
    /// `EEEE`
    Exponent,
    /// `FM`
    Fill,
    /// `L`
    Currency,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `PR`
    Brackets,
    /// `RN`; in capitals.
    Roman(bool),
    /// `SG`
    MinusPlus,
    /// `S`
    Sign,
    /// `TH`; in capitals.
    Ordinal(bool),
    /// `V`
    Multiply,
}

use Field::*;

/// Every field, in capitals; the first that a text begins with counts.
const FIELDS: [(&str, Field); 20] = [
    (",", Comma),
    (".", Point),
    ("0", Zero),
    ("9", Nine),
    ("B", Blank),
    ("C", Nothing),
    ("D", LocalPoint),
    ("EEEE", Exponent),
    ("FM", Fill),
    ("G", Group),
    ("L", Currency),
    ("MI", Minus),
    ("PL", Plus),
    ("PR", Brackets),
    ("RN", Roman(true)),
    ("SG", MinusPlus),
    ("SP", Nothing),
    ("S", Sign),
    ("TH", Ordinal(true)),
    ("V", Multiply),
];

/// Where the sign `S` is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Anchor {
    /// There is none.
    #[default]
    Nowhere,
    /// Before the first digit.
    Before,
    /// After the last one.
    After,
}

/// What the fields of a template say together.
#[derive(Clone, Default, Debug)]
pub struct Shape {
    /// Digits before the point.
    pub before: usize,
    /// Digits after it.
    pub after: usize,
    /// Digits after `V`.
    pub multiplied: usize,
    /// The place of the first `0`, from one; zero without one before the point.
    pub zero_start: usize,
    /// The place of the last `0`.
    pub zero_end: usize,
    /// Where `S` is.
    pub anchor: Anchor,
    /// How many digits stand before it.
    pub before_sign: usize,
    /// There is a point.
    pub has_point: bool,
    /// There is a `0` before the point.
    pub has_zero: bool,
    /// `FM`
    pub is_filled: bool,
    /// `S`
    pub has_sign: bool,
    /// `MI` or `SG`
    pub has_minus: bool,
    /// `PL` or `SG`
    pub has_plus: bool,
    /// `PR`
    pub has_brackets: bool,
    /// `RN`
    pub is_roman: bool,
    /// `EEEE`
    pub has_exponent: bool,
    /// `V`
    pub is_multiplied: bool,
    /// `B` before all digits.
    is_blank: bool,
}

#[cold]
fn refused(message: &'static str) -> Error {
    Error::statement(sqlstate::SYNTAX_ERROR, message)
}

impl Shape {
    fn digit(&mut self, field: Field) -> Result<()> {
        if self.has_brackets {
            return Err(refused(match field {
                Nine => "\"9\" must be ahead of \"PR\"",
                _ => "\"0\" must be ahead of \"PR\"",
            }));
        }
        if field == Nine && self.is_multiplied {
            self.multiplied += 1;
            return Ok(());
        }
        if field == Zero && !self.has_zero && !self.has_point {
            self.has_zero = true;
            self.zero_start = self.before + 1;
        }
        match self.has_point {
            true => self.after += 1,
            false => self.before += 1,
        }
        if field == Zero {
            self.zero_end = self.before + self.after;
        }
        Ok(())
    }

    /// Rule 1.
    fn add(&mut self, field: Field) -> Result<()> {
        if self.has_exponent && field != Exponent {
            return Err(refused("\"EEEE\" must be the last pattern used"));
        }
        match field {
            Nine | Zero => self.digit(field)?,
            Nothing => {}
            Blank => self.is_blank |= self.before + self.after == 0 && !self.has_zero,
            Point | LocalPoint => {
                if self.has_point {
                    return Err(refused("multiple decimal points"));
                }
                if self.is_multiplied {
                    return Err(refused("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
            }
            Fill => self.is_filled = true,
            Sign => {
                if self.has_sign {
                    return Err(refused("cannot use \"S\" twice"));
                }
                if self.has_plus || self.has_minus || self.has_brackets {
                    return Err(refused("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                self.has_sign = true;
                match self.has_point {
                    true => self.anchor = Anchor::After,
                    false => (self.anchor, self.before_sign) = (Anchor::Before, self.before),
                }
            }
            Minus | Plus | MinusPlus => {
                if self.has_sign {
                    return Err(refused(match field {
                        Minus => "cannot use \"S\" and \"MI\" together",
                        Plus => "cannot use \"S\" and \"PL\" together",
                        _ => "cannot use \"S\" and \"SG\" together",
                    }));
                }
                self.has_minus |= field != Plus;
                self.has_plus |= field != Minus;
            }
            Brackets => {
                if self.has_sign || self.has_plus || self.has_minus {
                    return Err(refused("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.has_brackets = true;
            }
            Roman(_) => self.is_roman = true,
            Multiply => {
                if self.has_point {
                    return Err(refused("cannot use \"V\" and decimal point together"));
                }
                self.is_multiplied = true;
            }
            Exponent => {
                if self.has_exponent {
                    return Err(refused("cannot use \"EEEE\" twice"));
                }
                let others = self.is_blank
                    || self.is_filled
                    || self.has_sign
                    || self.has_brackets
                    || self.has_minus
                    || self.has_plus
                    || self.is_roman
                    || self.is_multiplied;
                if others {
                    return Err(refused("\"EEEE\" is incompatible with other formats")
                        .detail("\"EEEE\" may only be used together with digit and decimal point patterns."));
                }
                self.has_exponent = true;
            }
            Comma | Group | Currency | Ordinal(_) => {}
        }
        Ok(())
    }
}

/// Cuts a template of numbers.
pub fn parse(template: &str) -> Result<(Vec<Piece<'_, Field>>, Shape)> {
    let pieces = split(template, false, |text| {
        let capital = text.as_bytes().first()?.is_ascii_uppercase();
        // A field is in capitals or in small letters, never mixed.
        let begins = |name: &str| {
            let start = text.as_bytes().get(..name.len());
            start.is_some_and(|start| match capital {
                true => start == name.as_bytes(),
                false => start.iter().zip(name.bytes()).all(|(byte, letter)| *byte == letter.to_ascii_lowercase()),
            })
        };
        let (name, field) = FIELDS.iter().find(|(name, _)| begins(name))?;
        let field = match field {
            Roman(_) => Roman(capital),
            Ordinal(_) => Ordinal(capital),
            other => *other,
        };
        Some((field, name.len()))
    });
    let mut shape = Shape::default();
    for piece in &pieces {
        if let Piece::Field(marked) = piece {
            shape.add(marked.field)?;
        }
    }
    Ok((pieces, shape))
}
