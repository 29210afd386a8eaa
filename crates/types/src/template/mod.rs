//! Templates: what `to_char`, `to_number`, `to_date` and `to_timestamp` are told of a text's form.
//!
//! A *template* is a text in which some runs of letters are *fields* (`YYYY`, `HH24`, `9`, `MI`) and all else stands for
//! itself. There are two languages with one lexical form: of dates and times ([`moment`]), and of numbers ([`number`]).
//! [`split`] cuts either into [`Piece`]s; [`print`](mod@print) and [`number_print`] write by them, [`read`] and [`number_read`] read.
//!
//! ```text
//!  'FMDDth "of" Month'   ->  field DD (fill mode, th) · ' ' · 'o' · 'f' · ' ' · field Month
//! ```
//!
//! Rules
//! 1. PostgreSQL's rules, its odd ones too: a prefix with no field after it is dropped, what is no field stands for itself, an
//!    empty template gives null (of times) or an empty text (of numbers).
//! 2. The names of days and months are English: `TM` asks for the language of the locale, which is `C`.
//! 3. A template is cut anew for each call; it is short.
//!
//! Life of `to_char(now(), 'DD.MM.YYYY')`: the evaluation calls [`print::timestamp`], which cuts the template and writes piece
//! after piece into a buffer that goes to the arena.

pub mod moment;
pub mod number;
pub mod number_print;
pub mod number_read;
pub mod print;
pub mod read;

#[cfg(test)]
mod tests;

/// A piece of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece<'a, F> {
    /// Something to be replaced.
    Field(Marked<F>),
    /// A space, which stands for itself.
    Space(&'a str),
    /// A punctuation mark outside quotes, which stands for itself and matches any other one.
    Separator(&'a str),
    /// Any other character, or one in quotes.
    Literal(&'a str),
}

impl<'a, F> Piece<'a, F> {
    /// The character that stands for itself; none of a field.
    pub fn character(&self) -> Option<&'a str> {
        match self {
            Piece::Field(_) => None,
            Piece::Space(text) | Piece::Separator(text) | Piece::Literal(text) => Some(text),
        }
    }
}

/// A field with what stood around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marked<F> {
    /// The field.
    pub field: F,
    /// `FM` before it: no padding.
    pub fill: bool,
    /// `TM` before it: the locale's name, without padding.
    pub local: bool,
    /// `TH` or `th` after it.
    pub ordinal: Option<Ordinal>,
}

/// The letters after an ordinal number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ordinal {
    /// `1ST`
    Upper,
    /// `1st`
    Lower,
}

impl Ordinal {
    /// The letters for a number, which ends with a digit.
    pub fn of(self, digits: &[u8]) -> &'static str {
        let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
        let (upper, lower) = match digits.last() {
            Some(b'1') if !is_teen => ("ST", "st"),
            Some(b'2') if !is_teen => ("ND", "nd"),
            Some(b'3') if !is_teen => ("RD", "rd"),
            _ => ("TH", "th"),
        };
        if self == Ordinal::Upper { upper } else { lower }
    }
}

/// Is it a mark that separates fields?
pub fn is_separator(byte: u8) -> bool {
    byte.is_ascii_graphic() && !byte.is_ascii_alphanumeric()
}

/// Is it a space, as C has it?
pub fn is_space(byte: u8) -> bool {
    byte == b' ' || (9..=13).contains(&byte)
}

/// The first character of a text that is not empty.
fn first_character(text: &str) -> &str {
    let length = text.chars().next().map_or(0, char::len_utf8);
    &text[..length]
}

/// Cuts a template. `lookup` answers with the field that a text begins with, and with its length; `marks` says whether fields
/// may have prefixes and suffixes and separators are told apart, as in templates of times.
fn split<'a, F>(mut text: &'a str, marks: bool, lookup: impl Fn(&str) -> Option<(F, usize)>) -> Vec<Piece<'a, F>> {
    let mut pieces = Vec::with_capacity(text.len());
    while !text.is_empty() {
        let (mut fill, mut local, mut ordinal) = (false, false, None);
        if marks {
            match text.as_bytes() {
                [b'F', b'M', ..] | [b'f', b'm', ..] => fill = true,
                [b'T', b'M', ..] | [b't', b'm', ..] => local = true,
                // Spelled-out numbers, which nothing implements. Like the ordinals they are suffixes, so they are no prefix.
                _ => {}
            }
            if fill || local {
                text = &text[2..];
            }
        }
        if let Some((field, length)) = lookup(text) {
            text = &text[length..];
            if marks {
                match text.as_bytes() {
                    [b'T', b'H', ..] => ordinal = Some(Ordinal::Upper),
                    [b't', b'h', ..] => ordinal = Some(Ordinal::Lower),
                    _ => {}
                }
                if ordinal.is_some() || text.starts_with("SP") {
                    text = &text[2..];
                }
            }
            pieces.push(Piece::Field(Marked { field, fill, local, ordinal }));
        } else if let Some(rest) = text.strip_prefix('"') {
            text = quoted(rest, &mut pieces);
        } else if !text.is_empty() {
            // Outside quotes a backslash means something only before one.
            if text.starts_with("\\\"") {
                text = &text[1..];
            }
            let character = first_character(text);
            text = &text[character.len()..];
            pieces.push(match character.as_bytes() {
                [byte] if marks && is_separator(*byte) => Piece::Separator(character),
                [byte] if is_space(*byte) => Piece::Space(character),
                _ => Piece::Literal(character),
            });
        }
    }
    pieces
}

/// The characters up to the closing quotation mark; answers with what follows it.
fn quoted<'a, F>(mut text: &'a str, pieces: &mut Vec<Piece<'a, F>>) -> &'a str {
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix('"') {
            return rest;
        }
        if text.starts_with('\\') && text.len() > 1 {
            text = &text[1..];
        }
        let character = first_character(text);
        text = &text[character.len()..];
        pieces.push(Piece::Literal(character));
    }
    text
}
