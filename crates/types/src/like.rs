//! `LIKE` and `ILIKE`: patterns of `%`, `_` and literal characters.
//!
//! A `%` is matched by trying what follows it at each later place, and the newest `%` alone is ever tried again, because
//! whatever an older one could skip the newer one can skip too. So the work is at most the product of the two lengths.
//!
//! Rules
//! 1. `_` is one character, not one byte.
//! 2. The escape character is a backslash; [`translate_escape`] rewrites a pattern that has another one.
//! 3. `ILIKE` is `LIKE` of both in lower case ([`lower`](super::text::lower)).

use super::text::characters;
use base::sqlstate::INVALID_ESCAPE_SEQUENCE;
use base::{Error, Result};

#[cold]
fn ends_with_escape() -> Error {
    Error::statement(INVALID_ESCAPE_SEQUENCE, "LIKE pattern must not end with escape character")
}

/// Does `text` match `pattern`?
pub fn matches(text: &[u8], pattern: &[u8]) -> Result<bool> {
    let (mut at, mut place) = (0, 0);
    // Where the pattern goes on after the last `%`, and the place where it was last tried.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if at == text.len() {
            // Nothing is left to skip, so no later try can succeed either.
            return Ok(pattern[place..].iter().all(|&byte| byte == b'%'));
        }
        let matched = match pattern.get(place) {
            Some(b'%') => {
                while pattern.get(place) == Some(&b'%') {
                    place += 1;
                }
                if place == pattern.len() {
                    return Ok(true);
                }
                retry = Some((place, at));
                true
            }
            Some(b'_') => {
                at += characters(&text[at..]).next().map_or(1, <[u8]>::len);
                place += 1;
                true
            }
            Some(&byte) => {
                let (literal, length) = match byte {
                    b'\\' => (*pattern.get(place + 1).ok_or_else(ends_with_escape)?, 2),
                    _ => (byte, 1),
                };
                let matched = text[at] == literal;
                if matched {
                    at += 1;
                    place += length;
                }
                matched
            }
            None => false,
        };
        if matched {
            continue;
        }
        match retry {
            None => return Ok(false),
            Some((after, tried)) => {
                at = tried + characters(&text[tried..]).next().map_or(1, <[u8]>::len);
                place = after;
                retry = Some((after, at));
            }
        }
    }
}

/// Rewrites a pattern with another escape character, or with none, to one with a backslash.
pub fn translate_escape(pattern: &[u8], escape: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut escapes = characters(escape);
    let (escape, more) = (escapes.next(), escapes.next());
    if more.is_some() {
        return Err(Error::statement(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .hint("Escape string must be empty or one character."));
    }
    if escape == Some(b"\\") {
        return Ok(pattern.to_vec());
    }
    let mut after_escape = false;
    for character in characters(pattern) {
        if Some(character) == escape && !after_escape {
            out.push(b'\\');
            after_escape = true;
            continue;
        }
        if character == b"\\" && !after_escape {
            out.push(b'\\');
        }
        out.extend_from_slice(character);
        after_escape = false;
    }
    Ok(out)
}

/// Rewrites a pattern of `SIMILAR TO` as a regular expression. Errors: `22025` for an escape of several characters.
pub fn similar(pattern: &[u8], escape: &[u8]) -> Result<Vec<u8>> {
    let mut escapes = characters(escape);
    let (escape, more) = (escapes.next(), escapes.next());
    if more.is_some() {
        return Err(Error::statement(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .hint("Escape string must be empty or one character."));
    }
    let mut out = b"^(?:".to_vec();
    let (mut after_escape, mut in_class) = (false, false);
    for character in characters(pattern) {
        if after_escape {
            // The marks of `SUBSTRING … SIMILAR`, which mean nothing here.
            if character == b"\"" {
                return Err(Error::unsupported("the escape-double-quote separator is not supported"));
            }
            out.push(b'\\');
            out.extend_from_slice(character);
            after_escape = false;
        } else if Some(character) == escape {
            after_escape = true;
        } else if in_class {
            if character == b"\\" {
                out.push(b'\\');
            }
            out.extend_from_slice(character);
            in_class = character != b"]";
        } else {
            in_class = character == b"[";
            match character {
                b"%" => out.extend_from_slice(b".*"),
                b"_" => out.push(b'.'),
                b"(" => out.extend_from_slice(b"(?:"),
                b"\\" | b"." | b"^" | b"$" => {
                    out.push(b'\\');
                    out.extend_from_slice(character);
                }
                _ => out.extend_from_slice(character),
            }
        }
    }
    out.extend_from_slice(b")$");
    Ok(out)
}

/// The literal text that every match begins with, and whether the pattern is that text and nothing else.
///
/// A planner turns it into a range of an index.
pub fn fixed_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut place = 0;
    while let Some(&byte) = pattern.get(place) {
        match (byte, pattern.get(place + 1)) {
            (b'%' | b'_', _) => return (prefix, false),
            (b'\\', Some(&literal)) => {
                prefix.push(literal);
                place += 2;
            }
            (b'\\', None) => return (prefix, false),
            _ => {
                prefix.push(byte);
                place += 1;
            }
        }
    }
    (prefix, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_match_as_in_postgresql() {
        let table = [
            ("abc", "abc", true),
            ("abc", "ab", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "_b_", true),
            ("abc", "____", false),
            ("aäc", "a_c", true),
            ("", "%", true),
            ("", "", true),
            ("", "_", false),
            ("abcbc", "%bc", true),
            ("abcbd", "%b_d%", false),
            ("100%", "100\\%", true),
            ("1000", "100\\%", false),
            ("a\\b", "a\\\\b", true),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "m%iss%iss%iss%", false),
            ("ABC", "abc", false),
        ];
        for (text, pattern, expected) in table {
            assert_eq!(matches(text.as_bytes(), pattern.as_bytes()).ok(), Some(expected), "{text} {pattern}");
        }
        let error = matches(b"abc", b"%\\").expect_err("escape");
        assert_eq!(error.message(), "LIKE pattern must not end with escape character");
        // As in PostgreSQL, the end of the text comes before the end of the pattern.
        assert_eq!(matches(b"a", b"ab\\").ok(), Some(false));
    }

    #[test]
    fn another_escape_character_is_rewritten() {
        for (pattern, escape, expected) in [
            ("a!%b", "!", "a\\%b"),
            ("a\\b", "!", "a\\\\b"),
            ("a!!b", "!", "a\\!b"),
            ("a\\%", "", "a\\\\%"),
            ("a\\%", "\\", "a\\%"),
        ] {
            let rewritten = translate_escape(pattern.as_bytes(), escape.as_bytes()).expect(pattern);
            assert_eq!(rewritten, expected.as_bytes(), "{pattern} {escape}");
        }
        assert!(translate_escape(b"a", b"xy").is_err());
    }

    #[test]
    fn prefixes_are_literal() {
        for (pattern, prefix, exact) in
            [("abc%", "abc", false), ("a\\%b_", "a%b", false), ("abc", "abc", true), ("%a", "", false)]
        {
            assert_eq!(fixed_prefix(pattern.as_bytes()), (prefix.as_bytes().to_vec(), exact));
        }
    }

    /// The definition, word for word.
    fn naive(text: &[char], pattern: &[char]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some(('%', rest)) => (0..=text.len()).any(|skip| naive(&text[skip..], rest)),
            Some(('_', rest)) => !text.is_empty() && naive(&text[1..], rest),
            Some((literal, rest)) => text.first() == Some(literal) && naive(&text[1..], rest),
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_the_definition(text in "[abä]{0,9}", pattern in "[abä%_]{0,7}") {
            let (characters, wanted): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
            let got = matches(text.as_bytes(), pattern.as_bytes()).expect("no escapes");
            prop_assert_eq!(got, naive(&characters, &wanted));
        }
    }
}
