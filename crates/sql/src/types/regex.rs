//! Regular expressions: `~`, `~*` and their negations.
//!
//! The library's syntax is close to PostgreSQL's *advanced* expressions, its matching is linear in the text. What it has not,
//! back references and look-around, is refused with `2201B`, as is what is no expression. A match runs to its end without
//! waiting, so nothing of the library's is alive while a session gives its engine up.
//!
//! A statement compiles an expression once and keeps it to its end, since it asks each row the same.

use base::{Error, Result, sqlstate};
use regex::bytes::{Regex, RegexBuilder};
use std::cell::RefCell;

/// How many expressions a statement keeps.
const KEPT: usize = 16;
/// The most memory that a compiled expression may take, in bytes.
const COMPILED_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
struct Kept {
    pattern: Vec<u8>,
    any_case: bool,
    regex: Regex,
}

/// The expressions that a statement has used.
#[derive(Debug, Default)]
pub struct Expressions(RefCell<Vec<Kept>>);

/// Does the pattern match anywhere in the text?
///
/// Errors: `2201B` for what is no expression.
pub fn matches(text: &[u8], pattern: &[u8], any_case: bool, expressions: Option<&Expressions>) -> Result<bool> {
    let Some(expressions) = expressions else { return Ok(compile(pattern, any_case)?.is_match(text)) };
    let mut kept = expressions.0.borrow_mut();
    let found = kept.iter().find(|kept| kept.any_case == any_case && kept.pattern == pattern);
    if let Some(found) = found {
        return Ok(found.regex.is_match(text));
    }
    let regex = compile(pattern, any_case)?;
    let found = regex.is_match(text);
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(Kept { pattern: pattern.to_vec(), any_case, regex });
    Ok(found)
}

fn compile(pattern: &[u8], any_case: bool) -> Result<Regex> {
    let text = std::str::from_utf8(pattern).unwrap_or_default();
    RegexBuilder::new(text)
        .case_insensitive(any_case)
        // As in PostgreSQL a dot is any character, line ends included, and `^` and `$` are the ends of the text.
        .dot_matches_new_line(true)
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
                matches(text.as_bytes(), pattern.as_bytes(), any_case, None).unwrap(),
                expected,
                "{text} {pattern}"
            );
        }
        let error = matches(b"a", b"(", false, None).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_REGULAR_EXPRESSION);
    }

    #[test]
    fn more_expressions_than_are_kept_are_right() {
        let kept = Expressions::default();
        for round in 0..2 * KEPT {
            let pattern = format!("^x{round}$");
            assert!(matches(format!("x{round}").as_bytes(), pattern.as_bytes(), false, Some(&kept)).unwrap());
            assert!(!matches(b"x", pattern.as_bytes(), false, Some(&kept)).unwrap());
            assert!(kept.0.borrow().len() <= KEPT);
        }
    }
}
