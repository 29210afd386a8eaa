//! A Rust file split into what the compiler runs and what people read.
//!
//! [`Source::parse`] gives three texts of the same shape, line by line: the code with comments and the insides of strings
//! blanked, the comments with everything else blanked, and the original. A scan of the code therefore finds no word that
//! only occurs in a message or in a sentence. Lines under `#[cfg(test)]` are marked.
//!
//! It is a scanner, not a parser: it knows comments (nested ones too), strings (raw ones too), characters and lifetimes, and
//! counts braces to find where an item ends.

/// A file, taken apart.
pub struct Source {
    /// The file as it is.
    pub text: String,
    /// Code, with comments and the insides of literals blanked.
    pub code: String,
    /// Comments, with everything else blanked.
    pub comments: String,
    /// For each line, whether it belongs to an item under `#[cfg(test)]`.
    tests: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl Source {
    /// Takes a file apart.
    pub fn parse(text: &str) -> Source {
        let parts = parts(text.as_bytes());
        let only = |wanted: Part| -> String {
            let keep = |(byte, part): (u8, &Part)| if byte == b'\n' || *part == wanted { byte } else { b' ' };
            let bytes = text.bytes().zip(&parts).map(keep).collect();
            String::from_utf8(bytes).expect("parts begin and end between characters")
        };
        let (code, comments) = (only(Part::Code), only(Part::Comment));
        let tests = test_lines(&code);
        Source { text: text.to_string(), code, comments, tests }
    }

    /// The line, from one, of a byte.
    pub fn line_of(&self, at: usize) -> usize {
        self.code.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// Whether a line, from one, is test code.
    pub fn is_test(&self, line: usize) -> bool {
        self.tests.get(line - 1).copied().unwrap_or(false)
    }

    /// Where `word` stands in the code with no letter, digit or underscore on either side.
    pub fn occurrences(&self, word: &str) -> Vec<usize> {
        occurrences(&self.code, word)
    }

    /// Every path that a `use` brings in, with groups written out, and where its last part stands.
    pub fn imports(&self) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        for at in occurrences(&self.code, "use") {
            let begin = at + "use".len();
            let end = self.code[begin..].find(';').map_or(self.code.len(), |length| begin + length);
            // `use` in a bound (`impl Trait + use<'a>`) has no path behind it.
            if self.code[begin..end].starts_with(char::is_whitespace) {
                expand(&self.code, begin, end, "", &mut found);
            }
        }
        found
    }
}

/// Where `word` stands in `text` by itself.
pub fn occurrences(text: &str, word: &str) -> Vec<usize> {
    let in_word = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let bytes = text.as_bytes();
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(|&at| {
            let after = at + word.len();
            let opens = in_word(bytes.get(at)) && at > 0 && in_word(bytes.get(at - 1));
            let closes = in_word(bytes.get(after - 1)) && in_word(bytes.get(after));
            !opens && !closes
        })
        .collect()
}

/// Writes the groups of the `use` tree between `begin` and `end` out as whole paths.
fn expand(code: &str, begin: usize, end: usize, prefix: &str, found: &mut Vec<(String, usize)>) {
    let mut depth = 0;
    let mut from = begin;
    let mut pieces = Vec::new();
    for (offset, byte) in code.as_bytes()[begin..end].iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                pieces.push((from, begin + offset));
                from = begin + offset + 1;
            }
            _ => {}
        }
    }
    pieces.push((from, end));
    for (from, to) in pieces {
        let piece = &code[from..to];
        match (piece.find('{'), piece.rfind('}')) {
            (Some(open), Some(close)) => {
                let prefix = format!("{prefix}{}", piece[..open].trim());
                expand(code, from + open + 1, from + close, &prefix, found);
            }
            _ if piece.trim().is_empty() => {}
            _ => {
                let name = piece.split(" as ").next().unwrap_or_default().trim();
                let at = from + (piece.len() - piece.trim_start().len());
                let path =
                    if name == "self" { prefix.trim_end_matches("::").into() } else { format!("{prefix}{name}") };
                found.push((path, at));
            }
        }
    }
}

fn parts(bytes: &[u8]) -> Vec<Part> {
    let mut parts = vec![Part::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let in_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let (length, part) = if rest.starts_with(b"//") {
            (rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()), Part::Comment)
        } else if rest.starts_with(b"/*") {
            (block_comment(rest), Part::Comment)
        } else if let Some(length) = raw_string(rest).filter(|_| !in_word) {
            (length, Part::Literal)
        } else if rest[0] == b'"' {
            (quoted(rest, b'"'), Part::Literal)
        } else if is_character(rest) {
            (quoted(rest, b'\''), Part::Literal)
        } else {
            (1, Part::Code)
        };
        parts[at..at + length].fill(part);
        at += length;
    }
    parts
}

fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

/// The length of a raw string that begins here: `r"…"`, `br#"…"#`, ….
fn raw_string(bytes: &[u8]) -> Option<usize> {
    let prefix = [&b"r"[..], b"br", b"cr"].into_iter().find(|prefix| bytes.starts_with(prefix))?.len();
    let hashes = bytes[prefix..].iter().take_while(|&&byte| byte == b'#').count();
    if bytes.get(prefix + hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let body = prefix + hashes + 1;
    let length = bytes[body..].windows(end.len()).position(|window| window == end);
    Some(length.map_or(bytes.len(), |length| body + length + end.len()))
}

fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A character, not a lifetime: `'x'` closes after one character, `'\…` is an escape.
fn is_character(bytes: &[u8]) -> bool {
    if bytes[0] != b'\'' {
        return false;
    }
    match bytes.get(1) {
        Some(b'\\') => true,
        Some(&first) => {
            let width = match first {
                0xf0.. => 4,
                0xe0.. => 3,
                0xc0.. => 2,
                _ => 1,
            };
            bytes.get(1 + width) == Some(&b'\'')
        }
        None => false,
    }
}

/// Marks the lines of every item under `#[cfg(test)]`, or a condition that has `test` in it and does not deny it.
fn test_lines(code: &str) -> Vec<bool> {
    let mut marks = vec![false; code.lines().count()];
    let line_of = |at: usize| code.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
    for (at, _) in code.match_indices("#[cfg(") {
        let Some(close) = code[at..].find(']').map(|length| at + length) else { continue };
        let condition = &code[at..close];
        if occurrences(condition, "test").is_empty() || condition.contains("not(test") {
            continue;
        }
        let last = line_of(item_end(code, close + 1).saturating_sub(1));
        let end = marks.len().min(last + 1);
        marks[line_of(at)..end].fill(true);
    }
    marks
}

/// Where the item that begins here ends: behind its closing brace, or behind a semicolon before any brace.
fn item_end(code: &str, begin: usize) -> usize {
    let (mut depth, mut brackets) = (0, 0);
    for (offset, byte) in code.as_bytes()[begin..].iter().enumerate() {
        match byte {
            b'[' | b'(' => brackets += 1,
            b']' | b')' => brackets -= 1,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return begin + offset + 1;
                }
            }
            b';' if depth == 0 && brackets == 0 => return begin + offset + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_comments_part() {
        let source = Source::parse("let a = \"// no\"; // yes \"x\"\n/* one /* two */ three */ b('\"', '\\'', 'a);\n");
        assert_eq!(source.code.lines().next().unwrap().trim_end(), "let a =        ;");
        assert_eq!(source.comments.lines().next().unwrap().trim(), "// yes \"x\"");
        assert_eq!(source.code.lines().nth(1).unwrap().trim(), "b(   ,     , 'a);");
        assert!(source.comments.lines().nth(1).unwrap().starts_with("/* one /* two */ three */"));
    }

    #[test]
    fn raw_strings_hide_what_looks_like_code() {
        let source = Source::parse("f(r#\"a \" unsafe { \"#, br\"async\", bar\"x\", 'é');unsafe");
        assert_eq!(source.occurrences("unsafe").len(), 1);
        assert!(source.occurrences("async").is_empty());
        assert!(source.code.contains("bar"));
    }

    #[test]
    fn words_have_edges() {
        assert_eq!(occurrences("unsafe_code unsafe xunsafe unsafe{", "unsafe"), [12, 27]);
        assert_eq!(occurrences("std::fs::read std::fsx", "std::fs"), [0]);
        assert_eq!(occurrences("thread_local!{} my_thread_local!()", "thread_local!"), [0]);
    }

    #[test]
    fn imports_are_written_out() {
        let source = Source::parse(
            "use std::{fs, sync::{self, Mutex as M, Arc}, *};\npub use a::b;\nfn f() -> impl X + use<'a> {}",
        );
        let paths: Vec<String> = source.imports().into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["std::fs", "std::sync", "std::sync::Mutex", "std::sync::Arc", "std::*", "a::b"]);
        assert_eq!(source.line_of(source.imports()[5].1), 2);
    }

    #[test]
    fn test_items_are_marked() {
        let source = Source::parse(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nuse x::{y};\n\
             #[cfg(not(test))]\nfn d() {}\n#[cfg(all(test, unix))]\nconst E: [u8; 3] = [0; 3];\nfn f() {}\n",
        );
        let marked: Vec<usize> = (1..=13).filter(|&line| source.is_test(line)).collect();
        assert_eq!(marked, [2, 3, 4, 5, 7, 8, 11, 12]);
    }
}
