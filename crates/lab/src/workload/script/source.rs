//! A script's text, and errors that point into it.
//!
//! ```text
//!   ERROR: bench.sql:3:18: an operand is missing
//!   \set aid random(1,)
//!                    ^
//! ```
//!
//! Lines and columns are counted from one, columns in characters.

use crate::error;
use base::Error;

/// A script before it is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What the user calls it: a file, or a built-in's name.
    pub name: &'a str,
    /// All of it.
    pub text: &'a str,
}

impl Source<'_> {
    /// The line, from one, in which a byte lies.
    pub fn line(&self, at: usize) -> u32 {
        1 + self.text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() as u32
    }

    /// An error at a byte of the text.
    pub fn error(&self, at: usize, message: &str) -> Error {
        let begin = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline);
        let (before, line) = (&self.text[begin..at], self.text[begin..end].trim_end());
        let column = before.chars().count() + 1;
        // Tabs stay tabs, so that the caret stands below its character however wide they are shown.
        let indent: String = before.chars().map(|character| if character == '\t' { '\t' } else { ' ' }).collect();
        error::usage(format!("{}:{}:{column}: {message}", self.name, self.line(at)))
            .detail(format!("{line}\n{indent}^"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_line_and_a_caret_below_the_place() {
        let source = Source { name: "a.sql", text: "select 1;\r\n\\set é\tx y\r\nselect 2;" };
        let at = source.text.find('x').unwrap();
        let error = source.error(at, "what is this");
        assert_eq!(error.message(), "a.sql:2:8: what is this");
        assert_eq!(error.detail_text(), Some("\\set é\tx y\n      \t^"));
        assert_eq!(source.error(source.text.len(), "end").detail_text(), Some("select 2;\n         ^"));
    }
}
