//! Finding the next token of a statement's text: one table of byte classes, one pass, no copy.
//!
//! The rules are PostgreSQL 15's: nested block comments, `E''`, `B''`, `X''`, `N''` and dollar-quoted strings, strings
//! continued over a line break, operators of any length with the rule about a trailing `+` or `-`, `1..10` as a range,
//! and no letters directly after a number.
//!
//! Rules
//! 1. The scanner looks at bytes; every byte from 0x80 up belongs to a word. The text is valid UTF-8 (`&str`), and no
//!    token starts or ends inside a character.
//! 2. A token is a span. What a string means is decoded later, by [`literal`](super::literal), and only if somebody asks.
//! 3. `U&''` and `U&""` are refused with `0A000`.

use super::token::{Token, TokenKind};
use base::{Error, Result, sqlstate};

/// What a byte can start.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Other,
    Space,
    Letter,
    Digit,
    Operator,
    Quote,
    DoubleQuote,
    Dollar,
    Dot,
    Colon,
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    Comma,
    Semicolon,
}

static CLASSES: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => Class::Space,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..=0xFF => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' => Class::Operator,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' => Class::Operator,
            b'\'' => Class::Quote,
            b'"' => Class::DoubleQuote,
            b'$' => Class::Dollar,
            b'.' => Class::Dot,
            b':' => Class::Colon,
            b'(' => Class::ParenOpen,
            b')' => Class::ParenClose,
            b'[' => Class::BracketOpen,
            b']' => Class::BracketClose,
            b',' => Class::Comma,
            b';' => Class::Semicolon,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
}

#[inline]
fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

#[inline]
fn is_word_part(byte: u8) -> bool {
    matches!(class(byte), Class::Letter | Class::Digit | Class::Dollar)
}

/// Reads the tokens of a text one after another.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    /// A lexer at the front of `text`.
    pub fn new(text: &'t str) -> Lexer<'t> {
        Lexer { text, at: 0 }
    }

    /// A lexer that starts at a byte of `text`: the end of a token, or of a statement.
    pub fn starting_at(text: &'t str, at: usize) -> Lexer<'t> {
        Lexer { text, at: at.min(text.len()) }
    }

    /// The text that is read.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The byte where the next token is looked for.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next token; at the end, and from then on, [`TokenKind::End`].
    pub fn next_token(&mut self) -> Result<Token> {
        let token = scan(self.text, self.at)?;
        self.at = token.end as usize;
        Ok(token)
    }
}

/// Finds the first token at or after byte `from`.
#[inline(never)]
pub(super) fn scan(text: &str, from: usize) -> Result<Token> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        let Some(&byte) = bytes.get(at) else {
            return Ok(token(TokenKind::End, at, at));
        };
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let (kind, end) = match class(byte) {
            Class::Space => {
                at += 1;
                continue;
            }
            Class::Letter => match (byte, next) {
                (b'e' | b'E', b'\'') => (TokenKind::EscapeString, string_end(text, at, at + 1, true)?),
                (b'b' | b'B', b'\'') => (TokenKind::BitString, string_end(text, at, at + 1, false)?),
                (b'x' | b'X', b'\'') => (TokenKind::HexString, string_end(text, at, at + 1, false)?),
                (b'n' | b'N', b'\'') => (TokenKind::NationalString, string_end(text, at, at + 1, false)?),
                (b'u' | b'U', b'&') if matches!(bytes.get(at + 2), Some(b'\'' | b'"')) => {
                    return Err(Error::unsupported("Unicode escape strings and names (U&) are not supported")
                        .hint("Use E'\\uXXXX', or write the characters themselves.")
                        .at(position(text, at)));
                }
                _ => (TokenKind::Word, word_end(bytes, at + 1)),
            },
            Class::Digit => number(text, at)?,
            Class::Operator => match (byte, next) {
                (b'-', b'-') => {
                    at = line_end(bytes, at);
                    continue;
                }
                (b'/', b'*') => {
                    at = block_comment_end(text, at)?;
                    continue;
                }
                _ => {
                    let end = operator_end(bytes, at);
                    let kind = if &bytes[at..end] == b"=>" { TokenKind::EqualsGreater } else { TokenKind::Operator };
                    (kind, end)
                }
            },
            Class::Quote => (TokenKind::String, string_end(text, at, at, false)?),
            Class::DoubleQuote => (TokenKind::QuotedName, quoted_name_end(text, at)?),
            Class::Dollar => dollar(text, at)?,
            Class::Dot if next.is_ascii_digit() => number(text, at)?,
            Class::Dot if next == b'.' => (TokenKind::DotDot, at + 2),
            Class::Dot => (TokenKind::Dot, at + 1),
            Class::Colon if next == b':' => (TokenKind::ColonColon, at + 2),
            Class::Colon if next == b'=' => (TokenKind::ColonEquals, at + 2),
            Class::Colon => (TokenKind::Colon, at + 1),
            Class::ParenOpen => (TokenKind::ParenOpen, at + 1),
            Class::ParenClose => (TokenKind::ParenClose, at + 1),
            Class::BracketOpen => (TokenKind::BracketOpen, at + 1),
            Class::BracketClose => (TokenKind::BracketClose, at + 1),
            Class::Comma => (TokenKind::Comma, at + 1),
            Class::Semicolon => (TokenKind::Semicolon, at + 1),
            Class::Other => return Err(error_near(text, "syntax error", at, at + 1)),
        };
        return Ok(token(kind, at, end));
    }
}

/// Is it white space?
#[inline]
pub(super) fn is_space(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|&byte| class(byte) == Class::Space)
}

/// Does a bare word start here? Strings such as `e'…'` and `u&'…'` start with a letter as well.
#[inline]
pub(super) fn starts_word(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(|&byte| class(byte) == Class::Letter) && !matches!(bytes.get(at + 1), Some(b'\'' | b'&'))
}

/// The token of one byte that a byte is whatever follows it; [`TokenKind::End`] for all other bytes.
static SINGLES: [TokenKind; 256] = singles();

const fn singles() -> [TokenKind; 256] {
    let mut table = [TokenKind::End; 256];
    table[b',' as usize] = TokenKind::Comma;
    table[b'(' as usize] = TokenKind::ParenOpen;
    table[b')' as usize] = TokenKind::ParenClose;
    table[b';' as usize] = TokenKind::Semicolon;
    table[b'[' as usize] = TokenKind::BracketOpen;
    table[b']' as usize] = TokenKind::BracketClose;
    table
}

/// The token at a byte, if it is punctuation, an operator of one byte, an integer or a plain string: most of what is no
/// word. `None` says nothing: [`scan`] knows.
///
/// A chain of comparisons, because each is predicted where the jump of a `match` is not: on virtual machines without
/// prediction of indirect jumps that one jump costs as much as all the rest.
#[inline]
pub(super) fn quick(bytes: &[u8], at: usize) -> Option<Token> {
    let byte = *bytes.get(at)?;
    let single = SINGLES[usize::from(byte)];
    if single != TokenKind::End {
        return Some(token(single, at, at + 1));
    }
    let class_at = |at: usize| bytes.get(at).map_or(Class::Space, |&byte| class(byte));
    let first = class(byte);
    if first == Class::Operator {
        // It may grow, or be a comment.
        return (class_at(at + 1) != Class::Operator).then(|| token(TokenKind::Operator, at, at + 1));
    }
    if first == Class::Digit {
        let mut end = at + 1;
        while class_at(end) == Class::Digit {
            end += 1;
        }
        // A point or a letter may go on with the number.
        return (!matches!(class_at(end), Class::Dot | Class::Letter)).then(|| token(TokenKind::Integer, at, end));
    }
    if first == Class::Quote {
        let length = bytes[at + 1..].iter().position(|&byte| byte == b'\'')?;
        let end = at + length + 2;
        // Another quote, or a line break, may go on with the string.
        return (!matches!(class_at(end), Class::Quote | Class::Space)).then(|| token(TokenKind::String, at, end));
    }
    None
}

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = ONES << 7;

/// The word part of eight bytes: the bytes with ASCII letters in lower case, and a mask with the top bit of each byte
/// set that ends a word. `$`, which is rare, counts as an end here.
///
/// Each byte is looked at with its top bit cleared, so that a sum of two bytes below 0x80 never carries into the next.
#[inline]
fn fold_eight(bytes: u64) -> (u64, u64) {
    let low = bytes & !TOPS;
    let within = |value: u64, first: u8, last: u8| {
        let at_least = value + ONES * u64::from(0x80 - first);
        let above = value + ONES * u64::from(0x7F - last);
        at_least & !above
    };
    let letters = within(low | (ONES * 0x20), b'a', b'z') & !bytes;
    let underscores = TOPS - (low ^ (ONES * u64::from(b'_')));
    let parts = letters | within(low, b'0', b'9') | underscores | bytes;
    // A letter is in upper case where its bit 5, moved to the top, is clear.
    let upper = letters & !(bytes << 2) & TOPS;
    (bytes | upper >> 2, !parts & TOPS)
}

/// Eight bytes of the text from `at`, zeros after its end; zero ends a word.
#[inline]
fn eight_at(bytes: &[u8], at: usize) -> u64 {
    let rest = &bytes[at..];
    if let Some(chunk) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*chunk);
    }
    match bytes.last_chunk::<8>() {
        // The text's last eight bytes, without those before `at`.
        Some(chunk) if !rest.is_empty() => u64::from_le_bytes(*chunk) >> (8 * (8 - rest.len())),
        _ => rest.iter().rev().fold(0, |eight, &byte| eight << 8 | u64::from(byte)),
    }
}

/// Folds the bare word at `at` into the front of `out`; its length, and its first eight bytes as a little-endian number
/// with zeros after the word.
///
/// `out` has at least eight bytes more than the text from `at`.
#[inline]
pub(super) fn fold_word(bytes: &[u8], at: usize, out: &mut [u8]) -> (usize, u64) {
    let (folded, ends) = fold_eight(eight_at(bytes, at));
    if let Some(slot) = out.first_chunk_mut::<8>() {
        *slot = folded.to_le_bytes();
    }
    let length = ends.trailing_zeros() as usize / 8;
    if length < 8 && bytes.get(at + length) != Some(&b'$') {
        return (length, folded & !(u64::MAX << (length * 8)));
    }
    let first = if length < 8 { folded & !(u64::MAX << (length * 8)) } else { folded };
    (fold_rest(bytes, at, length, out), first)
}

/// Goes on with a word of which `length` bytes have been folded; its whole length.
#[inline(never)]
fn fold_rest(bytes: &[u8], at: usize, mut length: usize, out: &mut [u8]) -> usize {
    loop {
        if bytes.get(at + length) == Some(&b'$') {
            out[length] = b'$';
            length += 1;
        }
        let (folded, ends) = fold_eight(if at + length < bytes.len() { eight_at(bytes, at + length) } else { 0 });
        if let Some(slot) = out[length..].first_chunk_mut::<8>() {
            *slot = folded.to_le_bytes();
        }
        let more = ends.trailing_zeros() as usize / 8;
        length += more;
        if more < 8 && bytes.get(at + length) != Some(&b'$') {
            return length;
        }
    }
}

#[inline]
fn token(kind: TokenKind, start: usize, end: usize) -> Token {
    // A message's length is a 32-bit number, so a statement's text is never longer.
    Token { kind, start: start as u32, end: end as u32 }
}

#[inline]
fn word_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && is_word_part(bytes[at]) {
        at += 1;
    }
    at
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n' || byte == b'\r').map_or(bytes.len(), |length| at + length)
}

/// The byte after a block comment that starts at `start`; comments nest.
fn block_comment_end(text: &str, start: usize) -> Result<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = start;
    while let Some(pair) = bytes.get(at..at + 2) {
        match pair {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Ok(at);
                }
            }
            _ => at += 1,
        }
    }
    Err(error_near(text, "unterminated /* comment", start, text.len()))
}

/// The byte after an operator that starts at `start`.
///
/// The longest run of operator characters, cut where a comment starts. A trailing `+` or `-` is given back, so that
/// `a=-1` needs no space, unless the operator has a character that no SQL operator has (`@-` is one operator).
fn operator_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start;
    while end < bytes.len() && class(bytes[end]) == Class::Operator {
        if end > start && matches!(bytes.get(end..end + 2), Some(b"--" | b"/*")) {
            break;
        }
        end += 1;
    }
    let run = &bytes[start..end];
    if run.len() > 1 && matches!(run[run.len() - 1], b'+' | b'-') {
        let unusual = |byte: &u8| matches!(byte, b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'%');
        if !run.iter().any(unusual) {
            let kept = run.iter().rposition(|byte| !matches!(byte, b'+' | b'-')).map_or(1, |last| last + 1);
            return start + kept;
        }
    }
    end
}

/// An integer or decimal that starts at `start`, with a digit or with a point before a digit.
fn number(text: &str, start: usize) -> Result<(TokenKind, usize)> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while at < bytes.len() && bytes[at].is_ascii_digit() {
            at += 1;
        }
        at
    };
    let mut kind = TokenKind::Integer;
    let mut end = digits(start);
    // `1..10` is a range, not the decimal `1.` and then something.
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1) != Some(&b'.') {
        kind = TokenKind::Decimal;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent == end + 1 + sign {
            return Err(error_near(text, "trailing junk after numeric literal", start, exponent));
        }
        kind = TokenKind::Decimal;
        end = exponent;
    }
    if bytes.get(end).is_some_and(|&byte| class(byte) == Class::Letter) {
        return Err(error_near(text, "trailing junk after numeric literal", start, word_end(bytes, end)));
    }
    Ok((kind, end))
}

/// A parameter or a dollar-quoted string.
fn dollar(text: &str, start: usize) -> Result<(TokenKind, usize)> {
    let bytes = text.as_bytes();
    let mut end = start + 1;
    if bytes.get(end).is_some_and(u8::is_ascii_digit) {
        while bytes.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        if bytes.get(end).is_some_and(|&byte| class(byte) == Class::Letter) {
            return Err(error_near(text, "trailing junk after parameter", start, word_end(bytes, end)));
        }
        return Ok((TokenKind::Parameter, end));
    }
    while bytes.get(end).is_some_and(|&byte| matches!(class(byte), Class::Letter | Class::Digit)) {
        end += 1;
    }
    if bytes.get(end) != Some(&b'$') {
        return Err(error_near(text, "syntax error", start, start + 1));
    }
    let tag = &text[start..=end];
    match text[end + 1..].find(tag) {
        Some(length) => Ok((TokenKind::DollarString, end + 1 + length + tag.len())),
        None => Err(error_near(text, "unterminated dollar-quoted string", start, text.len())),
    }
}

/// The byte after a string whose opening quote is at `quote`, with all its continuations.
fn string_end(text: &str, start: usize, quote: usize, escapes: bool) -> Result<usize> {
    let bytes = text.as_bytes();
    let mut at = quote + 1;
    loop {
        match bytes.get(at) {
            None => return Err(error_near(text, "unterminated quoted string", start, text.len())),
            Some(b'\\') if escapes => at += 2,
            Some(b'\'') if bytes.get(at + 1) == Some(&b'\'') => at += 2,
            Some(b'\'') => match continuation(bytes, at + 1) {
                Some(next) => at = next + 1,
                None => return Ok(at + 1),
            },
            Some(_) => at += 1,
        }
    }
}

/// The opening quote of a string's next part: only white space and line comments are before it, and a line break.
pub(super) fn continuation(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut line_break = false;
    loop {
        match bytes.get(at)? {
            b'\n' | b'\r' => {
                line_break = true;
                at += 1;
            }
            b' ' | b'\t' | 0x0B | 0x0C => at += 1,
            b'-' if bytes.get(at + 1) == Some(&b'-') => at = line_end(bytes, at),
            b'\'' if line_break => return Some(at),
            _ => return None,
        }
    }
}

fn quoted_name_end(text: &str, start: usize) -> Result<usize> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return Err(error_near(text, "unterminated quoted identifier", start, text.len())),
            Some(b'"') if bytes.get(at + 1) == Some(&b'"') => at += 2,
            Some(b'"') if at == start + 1 => {
                return Err(error_near(text, "zero-length delimited identifier", start, at + 1));
            }
            Some(b'"') => return Ok(at + 1),
            Some(_) => at += 1,
        }
    }
}

/// The place of a byte as clients are told it: a count of characters, from one.
pub fn position(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    before.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32 + 1
}

/// PostgreSQL's form of a lexical or syntax error: what is wrong, the text at fault, and the place.
#[cold]
pub fn error_near(text: &str, what: &str, start: usize, end: usize) -> Error {
    let message = match text.get(start..end) {
        Some(near) if !near.is_empty() => format!("{what} at or near \"{near}\""),
        _ => format!("{what} at end of input"),
    };
    Error::statement(sqlstate::SYNTAX_ERROR, message).at(position(text, start))
}
