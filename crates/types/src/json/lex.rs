//! Tokens of JSON text.
//!
//! The text is UTF-8 without zero bytes, as all text of the server. Errors have PostgreSQL's details; the token that an error
//! names is the last one.
//!
//! Rules
//! 1. A lexer made by [`Lexer::strict`] also refuses what has no text: surrogates on their own, and the character zero. The
//!    input of `json` keeps such escapes as they are written; everything that looks into strings does not.

use base::{Error, Result, sqlstate};

/// A piece of JSON text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token {
    BraceOpen,
    BraceClose,
    BracketOpen,
    BracketClose,
    Comma,
    Colon,
    String { escaped: bool },
    Number,
    True,
    False,
    Null,
    End,
}

/// A text that is read token by token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    /// Where the last token begins and ends.
    pub(super) start: usize,
    pub(super) end: usize,
    strict: bool,
}

/// `22P02`, with a sentence that says what is wrong.
#[cold]
pub(super) fn invalid(detail: String) -> Error {
    Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json").detail(detail)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl<'t> Lexer<'t> {
    /// Reads a text as the input of `json` does.
    pub(super) fn lenient(text: &'t str) -> Lexer<'t> {
        Lexer { text, start: 0, end: 0, strict: false }
    }

    /// Reads a text whose strings must be texts.
    pub(super) fn strict(text: &'t str) -> Lexer<'t> {
        Lexer { strict: true, ..Lexer::lenient(text) }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The last token as it is written.
    pub(super) fn shown(&self) -> &'t str {
        self.text.get(self.start..self.end).unwrap_or("")
    }

    /// The character that begins at a byte, or the byte's place if the text ends there.
    fn character_end(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(at, |character| at + character.len_utf8())
    }

    /// Where in the text the last token is: its line up to there, or the end of that.
    #[cold]
    pub(super) fn context(&self) -> String {
        const SHOWN_BYTES_MAX: usize = 50;
        const SKIPPED_BYTES_MIN: usize = 4;
        let before = self.text.get(..self.start).unwrap_or("");
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let mut from = line_start;
        while self.end.saturating_sub(from) >= SHOWN_BYTES_MAX {
            from = self.character_end(from);
        }
        if from - line_start < SKIPPED_BYTES_MIN {
            from = line_start;
        }
        let shown = self.text.get(from..self.end).unwrap_or("");
        let prefix = if from > line_start { "..." } else { "" };
        let goes_on = self.byte(self.end).is_some_and(|byte| !matches!(byte, b'\n' | b'\r'));
        format!("JSON data, line {line}: {prefix}{shown}{}", if goes_on { "..." } else { "" })
    }

    #[cold]
    fn bad_token(&self) -> Error {
        invalid(format!("Token \"{}\" is invalid.", self.shown()))
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token> {
        let mut at = self.end;
        while matches!(self.byte(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        (self.start, self.end) = (at, at + 1);
        let Some(first) = self.byte(at) else {
            self.end = at;
            return Ok(Token::End);
        };
        match first {
            b'{' => Ok(Token::BraceOpen),
            b'}' => Ok(Token::BraceClose),
            b'[' => Ok(Token::BracketOpen),
            b']' => Ok(Token::BracketClose),
            b',' => Ok(Token::Comma),
            b':' => Ok(Token::Colon),
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Token> {
        let rest = &self.text.as_bytes()[self.start..];
        let length = rest.iter().take_while(|byte| is_word(**byte)).count();
        // One odd character, or a whole word: that is what an error shows.
        self.end = if length == 0 { self.character_end(self.start) } else { self.start + length };
        match &rest[..length] {
            b"true" => Ok(Token::True),
            b"false" => Ok(Token::False),
            b"null" => Ok(Token::Null),
            _ => Err(self.bad_token()),
        }
    }

    fn number(&mut self) -> Result<Token> {
        let mut at = self.start + usize::from(self.byte(self.start) == Some(b'-'));
        let digits = |lexer: &Self, at: &mut usize| {
            let from = *at;
            while lexer.byte(*at).is_some_and(|byte| byte.is_ascii_digit()) {
                *at += 1;
            }
            *at > from
        };
        let mut good = true;
        match self.byte(at) {
            Some(b'0') => at += 1,
            _ => good &= digits(self, &mut at),
        }
        if self.byte(at) == Some(b'.') {
            at += 1;
            good &= digits(self, &mut at);
        }
        if matches!(self.byte(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(self.byte(at), Some(b'+' | b'-')));
            good &= digits(self, &mut at);
        }
        while self.byte(at).is_some_and(is_word) {
            good = false;
            at += 1;
        }
        self.end = at;
        if good { Ok(Token::Number) } else { Err(self.bad_token()) }
    }

    fn string(&mut self) -> Result<Token> {
        let mut at = self.start + 1;
        let mut escaped = false;
        // The first half of a pair of surrogates, waiting for the second.
        let mut high = false;
        loop {
            let Some(byte) = self.byte(at) else {
                self.end = at;
                return Err(self.bad_token());
            };
            if byte == b'\\' {
                escaped = true;
                at = self.escape(at + 1, &mut high)?;
                continue;
            }
            if high {
                self.end = self.character_end(at);
                return Err(no_low_surrogate());
            }
            match byte {
                b'"' => break,
                0..0x20 => {
                    self.end = at;
                    return Err(invalid(format!("Character with value 0x{byte:02x} must be escaped.")));
                }
                _ => at += 1,
            }
        }
        self.end = at + 1;
        Ok(Token::String { escaped })
    }

    /// Checks what follows a backslash; answers where it ends.
    fn escape(&mut self, at: usize, high: &mut bool) -> Result<usize> {
        let Some(letter) = self.byte(at) else {
            self.end = at;
            return Err(self.bad_token());
        };
        // What an error shows of the text ends here.
        self.end = self.character_end(at);
        if letter != b'u' {
            if *high {
                return Err(no_low_surrogate());
            }
            if !matches!(letter, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') {
                let shown = &self.text[at..self.character_end(at)];
                return Err(invalid(format!("Escape sequence \"\\{shown}\" is invalid.")));
            }
            return Ok(at + 1);
        }
        let mut code = 0;
        for place in at + 1..at + 5 {
            let Some(byte) = self.byte(place) else {
                self.end = place;
                return Err(self.bad_token());
            };
            self.end = self.character_end(place);
            let Some(digit) = char::from(byte).to_digit(16) else {
                return Err(invalid("\"\\u\" must be followed by four hexadecimal digits.".to_owned()));
            };
            code = code << 4 | digit;
        }
        if self.strict {
            match (code, *high) {
                (0xD800..=0xDBFF, false) => *high = true,
                (0xD800..=0xDBFF, true) => {
                    return Err(invalid("Unicode high surrogate must not follow a high surrogate.".to_owned()));
                }
                (0xDC00..=0xDFFF, true) => *high = false,
                (0xDC00..=0xDFFF, false) | (_, true) => return Err(no_low_surrogate()),
                (0, false) => {
                    let message = "unsupported Unicode escape sequence";
                    return Err(Error::statement(sqlstate::UNTRANSLATABLE_CHARACTER, message)
                        .detail("\\u0000 cannot be converted to text."));
                }
                _ => {}
            }
        }
        Ok(at + 5)
    }
}

#[cold]
fn no_low_surrogate() -> Error {
    invalid("Unicode low surrogate must follow a high surrogate.".to_owned())
}
