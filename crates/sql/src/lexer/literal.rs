//! What a name, a string or a number in a statement's text stands for.
//!
//! The lexer and the normaliser leave constants as spans; here a span becomes a value, when a parser builds a tree or an
//! execution fills the parameter that a constant became. A string without anything special in it is not copied.

use super::scan::{continuation, error_near, position};
use super::token::{Token, TokenKind};
use base::{Error, Result, sqlstate};
use std::borrow::Cow;
use types::name::truncate_name;

/// The name that a [`TokenKind::Word`] or [`TokenKind::QuotedName`] stands for: folded or unquoted, and cut to length.
///
/// Folding touches ASCII letters only, as PostgreSQL's does in UTF-8.
pub fn name(text: &str, token: Token) -> Cow<'_, str> {
    let span = token.text(text);
    if token.kind == TokenKind::QuotedName {
        let inner = span.get(1..span.len().saturating_sub(1)).unwrap_or("");
        return match inner.contains('"') {
            true => Cow::Owned(truncate_name(&inner.replace("\"\"", "\"")).to_owned()),
            false => Cow::Borrowed(truncate_name(inner)),
        };
    }
    let cut = truncate_name(span);
    match cut.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(cut.to_ascii_lowercase()),
        false => Cow::Borrowed(cut),
    }
}

/// The text that a string constant stands for; `token` is of a kind for which [`TokenKind::is_string`], or a national,
/// bit or hex string, whose digits are handed out as they are.
pub fn string(text: &str, token: Token) -> Result<Cow<'_, str>> {
    let span = token.text(text);
    if token.kind == TokenKind::DollarString {
        let tag = span[1..].find('$').map_or(1, |length| length + 2);
        return Ok(Cow::Borrowed(span.get(tag..span.len().saturating_sub(tag)).unwrap_or("")));
    }
    let open = span.find('\'').unwrap_or(0);
    let inner = span.get(open + 1..span.len().saturating_sub(1)).unwrap_or("");
    let escapes = token.kind == TokenKind::EscapeString;
    if !inner.bytes().any(|byte| byte == b'\'' || (escapes && byte == b'\\')) {
        return Ok(Cow::Borrowed(inner));
    }
    let mut decoder = Decoder { text, out: Vec::with_capacity(inner.len()), high_surrogate: None };
    decoder.run(token.start as usize + open + 1, token.end as usize, escapes)?;
    match String::from_utf8(decoder.out) {
        Ok(value) => Ok(Cow::Owned(value)),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let byte = error.as_bytes().get(at).copied().unwrap_or(0);
            Err(not_utf8(byte))
        }
    }
}

fn not_utf8(byte: u8) -> Error {
    let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
    Error::statement(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, message)
}

/// Decodes one string constant whose bytes need work.
struct Decoder<'t> {
    text: &'t str,
    out: Vec<u8>,
    /// The first half of a pair, and nothing may come between it and the second.
    high_surrogate: Option<u32>,
}

impl Decoder<'_> {
    /// Decodes from the byte after the opening quote to `end`, which is after the last closing quote.
    fn run(&mut self, mut at: usize, end: usize, escapes: bool) -> Result<()> {
        let bytes = self.text.as_bytes();
        while at < end {
            let escaped_unicode = escapes && bytes[at] == b'\\' && matches!(bytes.get(at + 1), Some(b'u' | b'U'));
            if self.high_surrogate.is_some() && !escaped_unicode {
                return Err(error_near(self.text, "invalid Unicode surrogate pair", at, self.character_end(at)));
            }
            match bytes[at] {
                b'\'' if bytes.get(at + 1) == Some(&b'\'') && at + 1 < end => {
                    self.out.push(b'\'');
                    at += 2;
                }
                b'\'' => match continuation(bytes, at + 1) {
                    Some(quote) if quote < end => at = quote + 1,
                    _ => return Ok(()),
                },
                b'\\' if escapes => at = self.escape(at)?,
                byte => {
                    self.out.push(byte);
                    at += 1;
                }
            }
        }
        Ok(())
    }

    fn character_end(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(0, char::len_utf8)
    }

    /// One escape that starts at `at` with its backslash; answers the byte after it.
    fn escape(&mut self, at: usize) -> Result<usize> {
        let bytes = self.text.as_bytes();
        let digits = |from: usize, radix: u32, most: usize| {
            let mut value = 0u32;
            let mut count = 0;
            while count < most {
                let Some(digit) = bytes.get(from + count).and_then(|&byte| char::from(byte).to_digit(radix)) else {
                    break;
                };
                value = value * radix + digit;
                count += 1;
            }
            (value, count)
        };
        let simple = match bytes.get(at + 1).copied().unwrap_or(b'\\') {
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'0'..=b'7' => {
                let (value, count) = digits(at + 1, 8, 3);
                self.byte(value as u8)?;
                return Ok(at + 1 + count);
            }
            b'x' => match digits(at + 2, 16, 2) {
                (_, 0) => b'x',
                (value, count) => {
                    self.byte(value as u8)?;
                    return Ok(at + 2 + count);
                }
            },
            letter @ (b'u' | b'U') => {
                let wanted = if letter == b'u' { 4 } else { 8 };
                let (value, count) = digits(at + 2, 16, wanted);
                if count < wanted {
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, "invalid Unicode escape")
                        .hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
                        .at(position(self.text, at)));
                }
                self.unicode(value, at, at + 2 + count)?;
                return Ok(at + 2 + count);
            }
            byte => byte,
        };
        self.out.push(simple);
        Ok(at + 2)
    }

    fn byte(&mut self, byte: u8) -> Result<()> {
        if byte == 0 {
            return Err(not_utf8(0));
        }
        self.out.push(byte);
        Ok(())
    }

    fn unicode(&mut self, value: u32, start: usize, end: usize) -> Result<()> {
        let code = match (self.high_surrogate.take(), value) {
            (None, 0xD800..=0xDBFF) => {
                self.high_surrogate = Some(value);
                return Ok(());
            }
            (Some(high), 0xDC00..=0xDFFF) => 0x10000 + ((high - 0xD800) << 10) + (value - 0xDC00),
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => {
                return Err(error_near(self.text, "invalid Unicode surrogate pair", start, end));
            }
            (None, _) => value,
        };
        match char::from_u32(code) {
            Some(character) if code != 0 => {
                self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(())
            }
            _ => Err(error_near(self.text, "invalid Unicode escape value", start, end)),
        }
    }
}

/// A numeric constant's type and, where it is an integer, its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// An `integer`.
    Int4(i32),
    /// A `bigint`, because it does not fit `integer`.
    Int8(i64),
    /// A `numeric`: with a point, an exponent, or too many digits.
    Numeric,
}

/// The type that PostgreSQL gives a numeric constant.
pub fn number(digits: &str) -> Number {
    let mut value = 0i64;
    for byte in digits.bytes() {
        let digit = match byte {
            b'0'..=b'9' => i64::from(byte - b'0'),
            _ => return Number::Numeric,
        };
        match value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) {
            Some(next) => value = next,
            None => return Number::Numeric,
        }
    }
    match i32::try_from(value) {
        Ok(small) => Number::Int4(small),
        Err(_) => Number::Int8(value),
    }
}
