//! An SQL statement of a script, cut at its variables.
//!
//! ```text
//!   UPDATE t SET a = :v WHERE k = :k;          Text "UPDATE t SET a = ", Variable v, Text " WHERE k = ", Variable k, Text ";"
//!
//!   for prepared protocols                     UPDATE t SET a = $1 WHERE k = $2;      and the values beside it
//!   for the simple protocol                    UPDATE t SET a = 5 WHERE k = 17;
//! ```
//!
//! Rules
//! 1. A variable is a colon and a name. Two colons in a row are a cast; what looks like a variable and was never given a
//!    value stays as it is written in an interpolated text, and is null as a parameter. That is what pgbench does.
//! 2. Values go into a text without quotes around them: a script that wants a string writes `':name'`.
//! 3. Each occurrence of a variable is a parameter of its own.
//! 4. In a *literal* statement the values go into the text in every protocol. `\literal` makes the next statement one; so
//!    does a variable that stands in quotes or in a comment, where no parameter can stand and pgbench's prepared modes fail.

use super::frame::{Frame, Names, Slot, is_name};
use super::grammar::is_word;
use super::value::Value;
use std::ops::Range;

/// How a protocol writes the place of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placeholder {
    /// `$1`, `$2`: PostgreSQL.
    Dollar,
    /// `?`: MariaDB.
    Question,
}

/// A part of a statement's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    /// Stays as it is.
    Text(String),
    /// Is replaced by a value.
    Variable(Slot),
}

/// What becomes of a statement's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gset {
    /// What is put in front of the columns' names.
    pub prefix: String,
    /// `\aset`: any number of rows, and in a text of several statements the answers of all, not only of the last.
    pub all: bool,
}

/// An SQL statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Its text, cut at its variables; none in a row are two texts.
    pub pieces: Vec<Piece>,
    /// The variable of each parameter, from the first on. Empty in a literal statement.
    pub parameters: Vec<Slot>,
    /// Whether values go into the text in every protocol.
    pub literal: bool,
    /// Whether the answer is put into variables.
    pub gset: Option<Gset>,
    /// Where it begins: the line in its script, from one.
    pub line: u32,
}

impl Statement {
    /// Cuts a text. Variables within `quoted` parts count only if something gives them a value: a word behind a colon in
    /// a comment is a word.
    pub fn new(text: &str, quoted: &[Range<usize>], line: u32, names: &mut Names) -> Statement {
        let mut statement = Statement { pieces: Vec::new(), parameters: Vec::new(), literal: false, gset: None, line };
        let mut done = 0;
        let mut at = 0;
        while let Some(colon) = text[at..].find(':').map(|offset| at + offset) {
            let rest = &text[colon + 1..];
            let size = rest.find(|character| !is_word(character)).unwrap_or(rest.len());
            let name = &rest[..size];
            if !is_name(name) {
                at = colon + 1 + rest.bytes().take_while(|&byte| byte == b':').count();
                continue;
            }
            at = colon + 1 + size;
            let slot = names.slot(name);
            let in_quotes = quoted.iter().any(|range| range.contains(&colon));
            if in_quotes && !names.is_given(slot) {
                continue;
            }
            statement.literal |= in_quotes;
            if colon > done {
                statement.pieces.push(Piece::Text(text[done..colon].to_string()));
            }
            statement.pieces.push(Piece::Variable(slot));
            statement.parameters.push(slot);
            done = at;
        }
        if done < text.len() {
            statement.pieces.push(Piece::Text(text[done..].to_string()));
        }
        if statement.literal {
            statement.parameters.clear();
        }
        statement
    }

    /// Makes it a literal one.
    pub fn make_literal(&mut self) {
        self.literal = true;
        self.parameters.clear();
    }

    /// The text with a place for each parameter, as prepared protocols take it.
    ///
    /// A literal statement has no such text, as its values are in it: see [`Statement::interpolate`].
    pub fn text(&self, placeholder: Placeholder) -> String {
        debug_assert!(!self.literal, "a literal statement has another text each time");
        let mut text = String::new();
        let mut number = 0;
        for piece in &self.pieces {
            match (piece, placeholder) {
                (Piece::Text(piece), _) => text.push_str(piece),
                (Piece::Variable(_), Placeholder::Question) => text.push('?'),
                (Piece::Variable(_), Placeholder::Dollar) => {
                    number += 1;
                    text.push_str(&format!("${number}"));
                }
            }
        }
        text
    }

    /// Adds the text with the values in it, as the simple protocol takes it.
    pub fn interpolate(&self, frame: &Frame, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Variable(slot) => match frame.value(*slot) {
                    Some(value) => value.write_text(out),
                    None => {
                        out.push(b':');
                        out.extend_from_slice(frame.name(*slot).as_bytes());
                    }
                },
            }
        }
    }

    /// The values of the parameters, from the first on; none for null and for what was never given a value.
    pub fn values<'a>(&'a self, frame: &'a Frame) -> impl ExactSizeIterator<Item = Option<&'a Value>> {
        self.parameters.iter().map(|slot| frame.value(*slot).filter(|value| !value.is_null()))
    }
}
