//! JSON text as a row of events: what begins, what ends, keys and scalars.
//!
//! One reader serves the input of both types and every operation on `json`, which stays text. What has been read is a list of
//! bits, one a level, so text may be nested as deeply as PostgreSQL allows without any stack.
//!
//! Rules
//! 1. An event comes only where the grammar allows it: who gets to [`Event::Done`] has read valid JSON.

use super::lex::{Lexer, Token, invalid};
use super::{DEPTH_MAX, too_deep};
use crate::Arena;
use base::{Result, sqlstate};

/// What a reader finds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Event<'t> {
    /// An object or array begins.
    Begin { object: bool },
    /// It ends.
    End { object: bool },
    /// The key of the value that comes next.
    Key(Str<'t>),
    /// A value without parts.
    Scalar(Scalar<'t>),
    /// The text is over.
    Done,
}

/// A value without parts, as it is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Scalar<'t> {
    Null,
    Bool(bool),
    Number(&'t str),
    String(Str<'t>),
}

/// A string as it is written, without its quotes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Str<'t> {
    raw: &'t str,
    escaped: bool,
}

impl<'t> Str<'t> {
    /// The text that is meant. The string has been read strictly.
    pub(super) fn decode<'a>(self, arena: &'a Arena) -> Result<&'a [u8]>
    where
        't: 'a,
    {
        match self.escaped {
            false => Ok(self.raw.as_bytes()),
            true => arena.copy(unescape(self.raw).as_bytes()),
        }
    }

    /// Does it mean this text?
    pub(super) fn is(self, text: &[u8]) -> bool {
        match self.escaped {
            false => self.raw.as_bytes() == text,
            true => unescape(self.raw).as_bytes() == text,
        }
    }
}

/// A checked string without its escapes.
fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    let mut high = 0;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let letter = after.chars().next().unwrap_or('\\');
        rest = &after[letter.len_utf8().min(after.len())..];
        text.push(match letter {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let code = rest.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0xFFFD);
                rest = rest.get(4..).unwrap_or("");
                let code = match code {
                    0xD800..=0xDBFF => {
                        high = code;
                        continue;
                    }
                    0xDC00..=0xDFFF if high != 0 => 0x1_0000 + ((high & 0x3FF) << 10 | (code & 0x3FF)),
                    code => code,
                };
                high = 0;
                char::from_u32(code).unwrap_or('\u{FFFD}')
            }
            plain => plain,
        });
    }
    text.push_str(rest);
    text
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Value,
    ArrayBegun,
    ObjectBegun,
    KeyRead,
    ValueRead,
}

/// A text being read.
pub(super) struct Reader<'t> {
    lexer: Lexer<'t>,
    /// For each level that is open whether it is an object.
    levels: Vec<bool>,
    state: State,
}

impl<'t> Reader<'t> {
    /// Reads text whose strings must be texts.
    pub(super) fn new(text: &'t str) -> Reader<'t> {
        Reader { lexer: Lexer::strict(text), levels: Vec::new(), state: State::Value }
    }

    /// Reads text as the input of `json` does.
    pub(super) fn lenient(text: &'t str) -> Reader<'t> {
        Reader { lexer: Lexer::lenient(text), ..Reader::new(text) }
    }

    /// How many levels are open.
    pub(super) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Where the last token begins.
    pub(super) fn start(&self) -> usize {
        self.lexer.start
    }

    /// Where the last token ends.
    pub(super) fn end(&self) -> usize {
        self.lexer.end
    }

    /// The text between two places.
    pub(super) fn between(&self, start: usize, end: usize) -> &'t [u8] {
        &self.lexer.text.as_bytes()[start..end]
    }

    /// Reads the rest of the value that an event begins; answers the whole value's text.
    pub(super) fn rest_of(&mut self, event: Event<'t>) -> Result<&'t [u8]> {
        let start = self.start();
        if matches!(event, Event::Begin { .. }) {
            let level = self.levels.len();
            while self.levels.len() >= level {
                self.next()?;
            }
        }
        Ok(self.between(start, self.end()))
    }

    #[cold]
    fn unexpected(&self, token: Token, wanted: &str) -> base::Error {
        invalid(match token {
            Token::End => "The input string ended unexpectedly.".to_owned(),
            _ => format!("Expected {wanted}, but found \"{}\".", self.lexer.shown()),
        })
    }

    /// The next event.
    pub(super) fn next(&mut self) -> Result<Event<'t>> {
        self.advance().map_err(|error| match error.sqlstate() {
            sqlstate::INVALID_TEXT_REPRESENTATION | sqlstate::UNTRANSLATABLE_CHARACTER => {
                error.context(self.lexer.context())
            }
            _ => error,
        })
    }

    fn advance(&mut self) -> Result<Event<'t>> {
        loop {
            if self.state == State::ValueRead && self.levels.is_empty() {
                return match self.lexer.next()? {
                    Token::End => Ok(Event::Done),
                    token => Err(self.unexpected(token, "end of input")),
                };
            }
            let token = self.lexer.next()?;
            match (self.state, token) {
                (State::ArrayBegun, Token::BracketClose) => return Ok(self.close(false)),
                (State::Value | State::ArrayBegun, token) => return self.value(token),
                (State::ObjectBegun, Token::BraceClose) => return Ok(self.close(true)),
                (State::ObjectBegun, token) => return self.key(token, "string or \"}\""),
                (State::KeyRead, token) => return self.key(token, "string"),
                (State::ValueRead, token) => match (self.levels.last().copied().unwrap_or(false), token) {
                    (true, Token::Comma) => self.state = State::KeyRead,
                    (true, Token::BraceClose) => return Ok(self.close(true)),
                    (true, token) => return Err(self.unexpected(token, "\",\" or \"}\"")),
                    (false, Token::Comma) => self.state = State::Value,
                    (false, Token::BracketClose) => return Ok(self.close(false)),
                    (false, token) => return Err(self.unexpected(token, "\",\" or \"]\"")),
                },
            }
        }
    }

    fn close(&mut self, object: bool) -> Event<'t> {
        self.levels.pop();
        self.state = State::ValueRead;
        Event::End { object }
    }

    /// The last token as a string, without its quotes.
    fn string(&self, escaped: bool) -> Str<'t> {
        let shown = self.lexer.shown();
        Str { raw: shown.get(1..shown.len().saturating_sub(1)).unwrap_or(""), escaped }
    }

    fn key(&mut self, token: Token, wanted: &str) -> Result<Event<'t>> {
        let Token::String { escaped } = token else { return Err(self.unexpected(token, wanted)) };
        let key = self.string(escaped);
        match self.lexer.next()? {
            Token::Colon => {
                self.state = State::Value;
                Ok(Event::Key(key))
            }
            token => Err(self.unexpected(token, "\":\"")),
        }
    }

    fn value(&mut self, token: Token) -> Result<Event<'t>> {
        let scalar = match token {
            Token::BraceOpen | Token::BracketOpen => {
                if self.levels.len() >= DEPTH_MAX {
                    return Err(too_deep());
                }
                let object = token == Token::BraceOpen;
                self.levels.push(object);
                self.state = if object { State::ObjectBegun } else { State::ArrayBegun };
                return Ok(Event::Begin { object });
            }
            Token::Null => Scalar::Null,
            Token::True => Scalar::Bool(true),
            Token::False => Scalar::Bool(false),
            Token::Number => Scalar::Number(self.lexer.shown()),
            Token::String { escaped } => Scalar::String(self.string(escaped)),
            token => return Err(self.unexpected(token, "JSON value")),
        };
        self.state = State::ValueRead;
        Ok(Event::Scalar(scalar))
    }
}
