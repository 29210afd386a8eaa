//! Text: the character functions, and what the text types have in common.
//!
//! Text is UTF-8 and compares by its bytes: the collation is `C`, everywhere. Letters are Unicode's: `lower` and its like map
//! character by character, as PostgreSQL does where `LC_CTYPE` is `C.UTF-8`.
//!
//! Rules
//! 1. Positions and lengths that users see count characters from one; inside they are bytes.
//! 2. No function trusts its input to be UTF-8 for memory safety or termination; it walks lead bytes.

use base::{Error, Result, sqlstate};

/// White space as C's `isspace` sees it.
pub fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// `22P02`, as every type's input function says it.
#[cold]
pub fn invalid_syntax(name: &str, text: &str) -> Error {
    let message = format!("invalid input syntax for type {name}: \"{text}\"");
    Error::statement(sqlstate::INVALID_TEXT_REPRESENTATION, message)
}

/// Does a byte start a character?
#[inline]
fn is_lead(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// How many characters there are.
#[inline]
pub fn length(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| is_lead(byte)).count()
}

/// The byte where character `count` starts, counted from zero; the text's length beyond its end.
#[inline]
pub fn offset(text: &[u8], count: usize) -> usize {
    // A character has at least one byte, so most texts that are too short are known at once.
    if count >= text.len() {
        return text.len();
    }
    text.iter().enumerate().filter(|(_, byte)| is_lead(**byte)).nth(count).map_or(text.len(), |(at, _)| at)
}

/// Text checked to be what the server stores: UTF-8 without zero bytes.
pub fn validate(bytes: &[u8]) -> Result<&str> {
    let bad = |byte: &[u8]| {
        let shown: Vec<String> = byte.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        Error::statement(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, message)
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let start = error.valid_up_to();
        let length = error.error_len().unwrap_or(bytes.len() - start);
        bad(&bytes[start..start + length])
    })?;
    match bytes.contains(&0) {
        true => Err(bad(&[0])),
        false => Ok(text),
    }
}

/// The text without the spaces at its end: what counts of a `character(n)`.
#[inline]
pub fn trim_padding(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

/// `substring(text from start for count)`: positions before the first character count, but there is nothing there.
pub fn substring(text: &[u8], start: i64, count: Option<i64>) -> Result<&[u8]> {
    let end = match count {
        None => i64::MAX,
        Some(count) if count < 0 => {
            return Err(Error::statement(base::sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => start.saturating_add(count),
    };
    let first = start.max(1);
    if end <= first {
        return Ok(b"");
    }
    let from = offset(text, usize::try_from(first - 1).unwrap_or(usize::MAX));
    let rest = &text[from..];
    Ok(&rest[..offset(rest, usize::try_from(end - first).unwrap_or(usize::MAX))])
}

/// `left(text, count)`: a negative count leaves off that many at the end.
pub fn left(text: &[u8], count: i64) -> &[u8] {
    let count = if count < 0 { (length(text) as i64 + count).max(0) } else { count };
    &text[..offset(text, count as usize)]
}

/// `right(text, count)`: a negative count leaves off that many at the front.
pub fn right(text: &[u8], count: i64) -> &[u8] {
    let skipped = if count < 0 { count.unsigned_abs() as usize } else { length(text).saturating_sub(count as usize) };
    &text[offset(text, skipped)..]
}

/// Where `needle` is first found, in bytes.
fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => Some(0),
        [first, ..] => {
            let mut from = 0;
            while from + needle.len() <= text.len() {
                let ahead = text[from..=text.len() - needle.len()].iter().position(|byte| byte == first)?;
                from += ahead;
                if text[from..].starts_with(needle) {
                    return Some(from);
                }
                from += 1;
            }
            None
        }
    }
}

/// `strpos(text, needle)`: the character where it is first found; 0 where it is not.
pub fn position(text: &[u8], needle: &[u8]) -> i64 {
    find(text, needle).map_or(0, |at| length(&text[..at]) as i64 + 1)
}

/// `replace(text, from, to)`.
pub fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    if !from.is_empty() {
        while let Some(at) = find(rest, from) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(to);
            rest = &rest[at + from.len()..];
        }
    }
    out.extend_from_slice(rest);
    out
}

/// Which ends [`trim`] works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The front.
    Left,
    /// The end.
    Right,
    /// Both ends.
    Both,
}

/// Takes the characters of `set` off the ends.
pub fn trim<'a>(text: &'a [u8], set: &[u8], side: Side) -> &'a [u8] {
    let in_set = |character: &[u8]| characters(set).any(|candidate| candidate == character);
    let mut text = text;
    if side != Side::Right {
        while let Some(first) = characters(text).next().filter(|first| in_set(first)) {
            text = &text[first.len()..];
        }
    }
    if side != Side::Left {
        while let Some(start) = text.iter().rposition(|&byte| is_lead(byte)).filter(|&start| in_set(&text[start..])) {
            text = &text[..start];
        }
    }
    text
}

/// The characters of a text, each as its bytes.
pub fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest[1..].iter().position(|&byte| is_lead(byte)).map_or(rest.len(), |length| length + 1);
        let (character, after) = rest.split_at(end);
        rest = after;
        Some(character)
    })
}

/// The text in lower case, character by character: one that has no single lower-case character stays.
pub fn lower(text: &[u8]) -> Vec<u8> {
    map_case(text, |_, character| single(character.to_lowercase()).unwrap_or(character))
}

/// The text in upper case, character by character: `ß` stays.
pub fn upper(text: &[u8]) -> Vec<u8> {
    map_case(text, |_, character| single(character.to_uppercase()).unwrap_or(character))
}

/// `initcap(text)`: the first letter of each word in upper case, the others in lower case.
pub fn initcap(text: &[u8]) -> Vec<u8> {
    map_case(text, |inside, character| match inside {
        true => single(character.to_lowercase()).unwrap_or(character),
        false => single(character.to_uppercase()).unwrap_or(character),
    })
}

fn single(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

/// Maps each character; the function is told whether it stands within a word.
fn map_case(text: &[u8], map: impl Fn(bool, char) -> char) -> Vec<u8> {
    let mut mapped = String::with_capacity(text.len());
    let mut inside = false;
    for character in String::from_utf8_lossy(text).chars() {
        mapped.push(map(inside, character));
        inside = character.is_alphanumeric();
    }
    mapped.into_bytes()
}

/// `reverse(text)`.
pub fn reverse(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut end = text.len();
    for at in (0..text.len()).rev() {
        if is_lead(text[at]) || at == 0 {
            out.extend_from_slice(&text[at..end]);
            end = at;
        }
    }
    out
}

/// The most bytes that one value may have.
pub const BYTES_MAX: usize = 1 << 30;

/// `54000`, where a result would be longer than a value may be.
#[cold]
pub fn too_long() -> Error {
    Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// `lpad` and `rpad`: the text cut or filled to `count` characters.
pub fn pad(text: &[u8], count: i64, fill: &[u8], side: Side) -> Result<Vec<u8>> {
    let wanted = count.max(0) as usize;
    let own = length(text);
    if wanted <= own || fill.is_empty() {
        return Ok(text[..offset(text, wanted)].to_vec());
    }
    if wanted.saturating_mul(4) > BYTES_MAX {
        return Err(too_long());
    }
    let fill: Vec<&[u8]> = characters(fill).collect();
    let filling: Vec<u8> = (0..wanted - own).flat_map(|at| fill[at % fill.len()]).copied().collect();
    let (first, second) = if side == Side::Left { (&filling[..], text) } else { (text, &filling[..]) };
    Ok([first, second].concat())
}

/// `repeat(text, count)`.
pub fn repeat(text: &[u8], count: i64) -> Result<Vec<u8>> {
    let count = usize::try_from(count).unwrap_or(0);
    match text.len().checked_mul(count) {
        Some(bytes) if bytes <= BYTES_MAX => Ok(text.repeat(count)),
        _ => Err(too_long()),
    }
}

/// `split_part(text, delimiter, number)`: a part counted from one, from the end when negative.
pub fn split_part<'a>(text: &'a [u8], delimiter: &[u8], number: i64) -> Result<&'a [u8]> {
    if number == 0 {
        let message = "field position must not be zero";
        return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    if text.is_empty() {
        return Ok(b"");
    }
    if delimiter.is_empty() {
        return Ok(if matches!(number, 1 | -1) { text } else { b"" });
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = find(rest, delimiter) {
        parts.push(&rest[..at]);
        rest = &rest[at + delimiter.len()..];
    }
    parts.push(rest);
    let at = if number > 0 { number - 1 } else { parts.len() as i64 + number };
    Ok(usize::try_from(at).ok().and_then(|at| parts.get(at)).copied().unwrap_or(b""))
}

/// `ascii(text)`: the code of the first character, 0 for the empty text.
pub fn ascii(text: &[u8]) -> i64 {
    let first = characters(text).next().and_then(|character| std::str::from_utf8(character).ok());
    first.and_then(|character| character.chars().next()).map_or(0, |character| i64::from(u32::from(character)))
}

/// `chr(code)`.
pub fn chr(code: i64) -> Result<char> {
    let refuse = |message: String| Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    match code {
        0 => refuse("null character not permitted".to_owned()),
        ..0 => Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, "character number must be positive")),
        _ => match u32::try_from(code).ok().and_then(char::from_u32) {
            Some(character) => Ok(character),
            None if code > 0x10_FFFF => refuse(format!("requested character too large for encoding: {code}")),
            None => refuse(format!("requested character not valid for encoding: {code}")),
        },
    }
}

/// `translate(text, from, to)`: each character of `from` becomes the one at its place in `to`, or goes.
pub fn translate(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let from: Vec<&[u8]> = characters(from).collect();
    let to: Vec<&[u8]> = characters(to).collect();
    let mut out = Vec::with_capacity(text.len());
    for character in characters(text) {
        match from.iter().position(|candidate| *candidate == character) {
            None => out.extend_from_slice(character),
            Some(at) => out.extend_from_slice(to.get(at).copied().unwrap_or(b"")),
        }
    }
    out
}
