//! Cuts a script into statements and commands.
//!
//! ```text
//!   -- a comment                      a statement begins behind blanks and such comments
//!   \set aid random(1, 10)            a command: from the backslash to the line's end, which a backslash carries over
//!   SELECT ';', (1; 2) /* ; */        quotes, parentheses and comments hide semicolons
//!     FROM t;                         a semicolon ends the statement,
//!   SELECT 1 \gset                    and so does a command or the end of the script
//! ```
//!
//! Quotes are PostgreSQL's: `'…'` with a doubled quote in it, `E'…'` with backslashes, `"…"`, `$tag$…$tag$`; block comments
//! nest. `\;` is a semicolon that does not end the statement.
//!
//! What it does not do: bodies of SQL functions between `BEGIN ATOMIC` and `END` are cut at their semicolons.

use super::grammar::skip_blank;
use super::source::Source;
use std::ops::Range;

/// A part of a script.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// An SQL statement.
    Statement {
        /// Its text, without what stood in front.
        text: String,
        /// The parts of the text that are quotes or comments.
        quoted: Vec<Range<usize>>,
        /// Where it begins in the script.
        at: usize,
    },
    /// A backslash and what follows, to the end of the line.
    Command(Range<usize>),
}

/// Cuts a script; whatever the text, it can be cut.
pub fn cut(source: Source<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = 0;
    while at < source.text.len() {
        let (statement, stop) = statement(source.text, at);
        items.extend(statement);
        at = stop;
        if source.text[at..].starts_with('\\') {
            let end = command_end(source.text, at);
            items.push(Item::Command(at..end));
            at = end;
        }
    }
    items
}

/// The words of a command, or of its rest, with blanks between them.
pub fn words(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let text = &text[..range.end];
    let mut words = Vec::new();
    let mut at = range.start;
    loop {
        at = skip_blank(text, at);
        if at >= text.len() {
            return words;
        }
        let begin = at;
        while at < text.len() && skip_blank(text, at) == at {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        words.push(begin..at);
    }
}

/// Where the line ends that a command is in.
fn command_end(text: &str, mut at: usize) -> usize {
    while at < text.len() {
        match skip_blank(text, at) {
            same if same == at && text.as_bytes()[at] == b'\n' => return at,
            same if same == at => at += 1,
            next => at = next,
        }
    }
    text.len()
}

/// Reads a statement. Gives it, unless there was none, and where the text goes on: at a backslash, or behind a semicolon.
fn statement(text: &str, begin: usize) -> (Option<Item>, usize) {
    let bytes = text.as_bytes();
    let mut at = begin;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        if !text[at..].starts_with("--") {
            break;
        }
        at = line_end(text, at);
    }
    let begin = at;
    let mut out = String::new();
    let mut quoted = Vec::new();
    let mut depth = 0usize;
    // What is copied goes from `done` to `at`; a backslash in front of a semicolon is left out.
    let mut done = at;
    while at < text.len() {
        let rest = &bytes[at..];
        let hidden = match bytes[at] {
            b'\'' => Some(string_end(text, at, b'\'', is_escape_string(text, begin, at))),
            b'"' => Some(string_end(text, at, b'"', false)),
            b'$' => dollar_end(text, begin, at),
            b'-' if rest.starts_with(b"--") => Some(line_end(text, at)),
            b'/' if rest.starts_with(b"/*") => Some(block_end(text, at)),
            _ => None,
        };
        if let Some(end) = hidden {
            let shift = out.len() + at - done;
            quoted.push(shift..shift + end - at);
            at = end;
            continue;
        }
        match bytes[at] {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => {
                at += 1;
                break;
            }
            b'\\' if rest.starts_with(b"\\;") || rest.starts_with(b"\\:") => {
                out.push_str(&text[done..at]);
                done = at + 1;
                at += 1;
            }
            b'\\' => break,
            _ => {}
        }
        at += 1;
    }
    out.push_str(&text[done..at]);
    out.truncate(out.trim_end().len());
    let item = (!out.is_empty()).then_some(Item::Statement { text: out, quoted, at: begin });
    (item, at)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

/// Where a quoted text ends that begins here.
fn string_end(text: &str, begin: usize, quote: u8, escapes: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = begin + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 1,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 1,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    // A backslash may have been the last byte, or have had a longer character behind it.
    text.len()
}

/// Whether the quote has an E in front that is a word of its own.
fn is_escape_string(text: &str, begin: usize, at: usize) -> bool {
    let mut before = text[begin..at].chars().rev();
    matches!(before.next(), Some('e' | 'E')) && !before.next().is_some_and(is_identifier)
}

fn is_identifier(character: char) -> bool {
    super::grammar::is_word(character) || character == '$'
}

/// Where a text between dollars ends, if one begins here.
fn dollar_end(text: &str, begin: usize, at: usize) -> Option<usize> {
    if text[begin..at].chars().next_back().is_some_and(is_identifier) {
        return None;
    }
    let tag = text[at + 1..].find('$').map(|offset| &text[at..at + offset + 2])?;
    let name = &tag[1..tag.len() - 1];
    if !name.is_empty() && !super::frame::is_name(name) {
        return None;
    }
    let inner = at + tag.len();
    Some(text[inner..].find(tag).map_or(text.len(), |offset| inner + offset + tag.len()))
}

/// Where a comment ends that begins here; comments nest.
fn block_end(text: &str, begin: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = begin + 2;
    let mut depth = 1;
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statements as they are, commands with their backslash.
    fn parts(text: &str) -> Vec<String> {
        cut(Source { name: "t", text })
            .into_iter()
            .map(|item| match item {
                Item::Statement { text, .. } => text,
                Item::Command(range) => text[range].to_string(),
            })
            .collect()
    }

    #[test]
    fn scripts_are_cut_where_pgbench_cuts_them() {
        let table: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  \n-- only this\n", &[]),
            ("select 1", &["select 1"]),
            ("select 1;select 2 ; ", &["select 1;", "select 2 ;"]),
            (
                "-- lead\n  select 1 -- tail\n;\n/* c */ select 2; -- end\n",
                &["select 1 -- tail\n;", "/* c */ select 2;"],
            ),
            ("select 2 \\; select 3;", &["select 2 ; select 3;"]),
            ("select (4; 5);", &["select (4; 5);"]),
            ("select (1;\n\\set a 5\nselect 3", &["select (1;", "\\set a 5", "select 3"]),
            ("select ';', \";\", $$;$$, $a$;$$;$a$;1", &["select ';', \";\", $$;$$, $a$;$$;$a$;", "1"]),
            ("select 'a'';', e'\\';', 'b\\';1", &["select 'a'';', e'\\';', 'b\\';", "1"]),
            ("select namee'\\';1", &["select namee'\\';", "1"]),
            ("select a$1;b$c;1", &["select a$1;", "b$c;", "1"]),
            ("select /* ; /* ; */ ; */ 1;2", &["select /* ; /* ; */ ; */ 1;", "2"]),
            ("select 1 as one \\gset p_\nselect 2", &["select 1 as one", "\\gset p_", "select 2"]),
            ("\\set a 1 + \\\n 2\nselect 1", &["\\set a 1 + \\\n 2", "select 1"]),
            ("\\set a 1 \\\r\n+ 2\r\nselect 1;\r\n", &["\\set a 1 \\\r\n+ 2\r", "select 1;"]),
            ("\\if 1\n\\endif", &["\\if 1", "\\endif"]),
            ("select 'open;\nselect 2;", &["select 'open;\nselect 2;"]),
            ("select e'open\\", &["select e'open\\"]),
            (";;", &[";", ";"]),
        ];
        for (text, expected) in table {
            assert_eq!(&parts(text), expected, "{text:?}");
        }
    }

    #[test]
    fn quotes_and_comments_are_known_by_their_place_in_the_statement() {
        let text = " select 1 \\; select ':a' /* é */, 'x';";
        let Item::Statement { text, quoted, .. } = cut(Source { name: "t", text }).remove(0) else { panic!() };
        let quoted: Vec<&str> = quoted.into_iter().map(|range| &text[range]).collect();
        assert_eq!(quoted, ["':a'", "/* é */", "'x'"]);
    }

    #[test]
    fn words_stand_between_blanks() {
        let text = "\\sleep  5\tms \\\n more\\\r\nend";
        let words: Vec<&str> = words(text, 1..text.len()).into_iter().map(|range| &text[range]).collect();
        assert_eq!(words, ["sleep", "5", "ms", "more", "end"]);
    }
}
