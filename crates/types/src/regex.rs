//! Regular expressions: `~`, `~*` and their negations, and the functions that find, replace and split.
//!
//! The library's syntax is close to PostgreSQL's *advanced* expressions, its matching is linear in the text. What it has not,
//! back references and look-around, is refused with `2201B`, as is what is no expression. A match runs to its end without
//! waiting, so nothing of the library's is alive while a session gives its engine up.
//!
//! A statement compiles an expression once and keeps it to its end, since it asks each row the same.

use base::{Error, Result, sqlstate};
use regex::bytes::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::ops::Range;

/// How many expressions a statement keeps.
const KEPT: usize = 16;
/// The most memory that a compiled expression may take, in bytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

/// What a function's flags ask for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flags {
    /// `g`: all matches, not only the first.
    pub global: bool,
    /// `i`: upper and lower case are the same.
    pub any_case: bool,
    /// `n`: a dot is no line's end, and `^` and `$` are the ends of lines too.
    pub lines: bool,
    /// `x`: white space and comments in the pattern are left out.
    pub spaced: bool,
    /// `q`: the pattern is a text, not an expression.
    pub quoted: bool,
}

impl Flags {
    /// Upper and lower case may be the same; else as `~` has it.
    pub fn any_case(any_case: bool) -> Flags {
        Flags { any_case, ..Flags::default() }
    }

    /// Reads a function's argument. `function` may have `g`, or is named in the refusal. Errors: `22023`.
    pub fn read(text: &[u8], function: &str, may_be_global: bool) -> Result<Flags> {
        let mut flags = Flags::default();
        for letter in String::from_utf8_lossy(text).chars() {
            match letter {
                'g' if may_be_global => flags.global = true,
                'g' => {
                    let message = format!("{function} does not support the \"global\" option");
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                'i' => flags.any_case = true,
                'c' => flags.any_case = false,
                'n' | 'm' => flags.lines = true,
                's' => flags.lines = false,
                'x' => flags.spaced = true,
                't' => flags.spaced = false,
                'q' => flags.quoted = true,
                'e' => flags.quoted = false,
                'b' | 'p' | 'w' => {
                    return Err(Error::unsupported(format!("regular expression option \"{letter}\" is not supported")));
                }
                _ => {
                    let message = format!("invalid regular expression option: \"{letter}\"");
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
            }
        }
        Ok(flags)
    }
}

#[derive(Debug)]
struct Kept {
    pattern: Vec<u8>,
    flags: Flags,
    regex: Regex,
}

/// The expressions that a statement has used.
#[derive(Debug, Default)]
pub struct Expressions(RefCell<Vec<Kept>>);

/// The compiled expression, which is kept if the statement keeps any.
fn with<T>(
    pattern: &[u8],
    mut flags: Flags,
    expressions: Option<&Expressions>,
    work: impl FnOnce(&Regex) -> T,
) -> Result<T> {
    // It is not the expression's.
    flags.global = false;
    let Some(expressions) = expressions else { return Ok(work(&compile(pattern, flags)?)) };
    let mut kept = expressions.0.borrow_mut();
    if let Some(found) = kept.iter().find(|kept| kept.flags == flags && kept.pattern == pattern) {
        return Ok(work(&found.regex));
    }
    let regex = compile(pattern, flags)?;
    let done = work(&regex);
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(Kept { pattern: pattern.to_vec(), flags, regex });
    Ok(done)
}

/// Does the pattern match anywhere in the text?
///
/// Errors: `2201B` for what is no expression.
pub fn matches(text: &[u8], pattern: &[u8], flags: Flags, expressions: Option<&Expressions>) -> Result<bool> {
    with(pattern, flags, expressions, |regex| regex.is_match(text))
}

/// A match: where it and its groups lie, in bytes. The first is the match itself.
pub type Found = Vec<Option<Range<usize>>>;

/// Up to `count` matches from byte `start` on; what is before it is seen by `^` and word boundaries.
///
/// Errors: `2201B`.
pub fn find(
    text: &[u8],
    pattern: &[u8],
    start: usize,
    count: usize,
    flags: Flags,
    expressions: Option<&Expressions>,
) -> Result<Vec<Found>> {
    with(pattern, flags, expressions, |regex| {
        let mut found: Vec<Found> = Vec::new();
        let mut at = start;
        while found.len() < count && at <= text.len() {
            let Some(captures) = regex.captures_at(text, at) else { break };
            let all: Found = captures.iter().map(|group| group.map(|group| group.range())).collect();
            let Some(Some(whole)) = all.first().cloned() else { break };
            // After an empty match the next one begins a character further on.
            at = if whole.is_empty() {
                whole.end + super::text::offset(&text[whole.end..], 1).max(1)
            } else {
                whole.end
            };
            found.push(all);
        }
        found
    })
}

/// `regexp_replace`: from byte `start` on, the match with that number, counted from one, or with zero all of them.
///
/// Errors: `2201B`.
pub fn replace(
    text: &[u8],
    pattern: &[u8],
    replacement: &[u8],
    (start, number): (usize, usize),
    flags: Flags,
    expressions: Option<&Expressions>,
) -> Result<Vec<u8>> {
    let count = if number == 0 { usize::MAX } else { number };
    let found = find(text, pattern, start, count, flags, expressions)?;
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for (index, groups) in found.iter().enumerate() {
        let Some(Some(whole)) = groups.first() else { continue };
        if number != 0 && index + 1 != number {
            continue;
        }
        out.extend_from_slice(&text[at..whole.start]);
        expand(text, groups, replacement, &mut out);
        at = whole.end;
    }
    out.extend_from_slice(&text[at..]);
    Ok(out)
}

/// What stands for a match: `\1` to `\9` are its groups, `\&` is all of it, `\\` a backslash.
fn expand(text: &[u8], groups: &Found, replacement: &[u8], out: &mut Vec<u8>) {
    let mut rest = replacement;
    while let Some((&byte, after)) = rest.split_first() {
        let (group, skipped) = match (byte, after.first()) {
            (b'\\', Some(digit @ b'1'..=b'9')) => (Some(usize::from(digit - b'0')), 2),
            (b'\\', Some(b'&')) => (Some(0), 2),
            (b'\\', Some(b'\\')) => {
                out.push(b'\\');
                (None, 2)
            }
            _ => {
                out.push(byte);
                (None, 1)
            }
        };
        if let Some(range) = group.and_then(|group| groups.get(group)?.clone()) {
            out.extend_from_slice(&text[range]);
        }
        rest = &rest[skipped..];
    }
}

/// The pieces between the matches, as `regexp_split_to_array` has them: an empty match splits, but not at the text's ends.
///
/// Errors: `2201B`.
pub fn split<'t>(
    text: &'t [u8],
    pattern: &[u8],
    flags: Flags,
    expressions: Option<&Expressions>,
) -> Result<Vec<&'t [u8]>> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    for groups in find(text, pattern, 0, usize::MAX, flags, expressions)? {
        let Some(Some(whole)) = groups.first() else { continue };
        if whole.is_empty() && (whole.start == at || whole.start >= text.len()) {
            continue;
        }
        pieces.push(&text[at..whole.start]);
        at = whole.end;
    }
    pieces.push(&text[at..]);
    Ok(pieces)
}

fn compile(pattern: &[u8], flags: Flags) -> Result<Regex> {
    let text = std::str::from_utf8(pattern).unwrap_or_default();
    let quoted = if flags.quoted { regex::escape(text) } else { String::new() };
    RegexBuilder::new(if flags.quoted { &quoted } else { text })
        .case_insensitive(flags.any_case)
        // As in PostgreSQL a dot is any character, line ends included, and `^` and `$` are the ends of the text.
        .dot_matches_new_line(!flags.lines)
        .multi_line(flags.lines)
        .ignore_whitespace(flags.spaced)
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| {
            let why = match error {
                regex::Error::CompiledTooBig(_) => "regular expression is too complex".to_owned(),
                error => error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
            };
            Error::statement(sqlstate::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {why}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_postgresqls() {
        for (text, pattern, any_case, expected) in [
            ("abc", "b", false, true),
            ("abc", "^b", false, false),
            ("abc", "^(abc)$", false, true),
            ("a\nc", "a.c", false, true),
            ("a\nb", "^b", false, false),
            ("ABC", "abc", true, true),
            ("ABC", "abc", false, false),
            ("pg_toast", "^pg_", false, true),
            ("x1", "[[:digit:]]", false, true),
            ("", "", false, true),
        ] {
            assert_eq!(
                matches(text.as_bytes(), pattern.as_bytes(), Flags::any_case(any_case), None).unwrap(),
                expected,
                "{text} {pattern}"
            );
        }
        let error = matches(b"a", b"(", Flags::default(), None).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_REGULAR_EXPRESSION);
    }

    #[test]
    fn more_expressions_than_are_kept_are_right() {
        let kept = Expressions::default();
        for round in 0..2 * KEPT {
            let pattern = format!("^x{round}$");
            let (pattern, flags) = (pattern.as_bytes(), Flags::default());
            assert!(matches(format!("x{round}").as_bytes(), pattern, flags, Some(&kept)).unwrap());
            assert!(!matches(b"x", pattern, flags, Some(&kept)).unwrap());
            assert!(kept.0.borrow().len() <= KEPT);
        }
    }
}
