//! The formats of copied data: lines of text, and comma-separated values. Pure: bytes in, fields out, and the other way round.
//!
//! ```text
//!  text  fields between delimiters, one line a row; \N is null; a backslash makes delimiters, line ends and itself plain
//!  csv   fields between delimiters, quoted where they must be; an empty field without quotes is null
//! ```
//!
//! Rules
//! 1. Data comes in pieces that are cut anywhere: a [`Lines`] keeps what is not a whole line yet.
//! 2. `\.` before a line's end ends the data: in text wherever it stands, and what is before it in its line is a row; in CSV at the
//!    beginning of a line only, and elsewhere it is data.
//! 3. All lines end as the first one does; another end within a line is an error (`22P04`).

use base::{Error, Result, sqlstate};

/// How data is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Form {
    /// Comma-separated values, not text.
    pub csv: bool,
    /// What stands between fields.
    pub delimiter: u8,
    /// What stands for null.
    pub null: Vec<u8>,
    /// The quote, in CSV.
    pub quote: u8,
    /// What makes a quote plain, in CSV.
    pub escape: u8,
    /// The first line has the columns' names.
    pub header: bool,
    /// And they have to be the right ones.
    pub header_matches: bool,
    /// The columns whose values are quoted in CSV, whatever is in them.
    pub force_quote: Vec<bool>,
    /// The columns in which nothing without quotes is null, in CSV.
    pub force_not_null: Vec<bool>,
    /// The columns in which what stands for null is null in quotes too, in CSV.
    pub force_null: Vec<bool>,
}

impl Form {
    /// PostgreSQL's text.
    pub fn text() -> Form {
        Form {
            csv: false,
            delimiter: b'\t',
            null: b"\\N".to_vec(),
            quote: 0,
            escape: 0,
            header: false,
            header_matches: false,
            force_quote: Vec::new(),
            force_not_null: Vec::new(),
            force_null: Vec::new(),
        }
    }

    /// Comma-separated values.
    pub fn csv() -> Form {
        Form { csv: true, delimiter: b',', null: Vec::new(), quote: b'"', escape: b'"', ..Form::text() }
    }
}

#[cold]
fn bad(message: impl Into<String>) -> Error {
    Error::statement(sqlstate::BAD_COPY_FILE_FORMAT, message.into())
}

/// Pieces of data on their way to become lines.
#[derive(Default, Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// The first byte of the next line.
    start: usize,
    /// How far that line has been looked at, and whether that is inside quotes.
    looked: usize,
    quoted: bool,
    ended: bool,
    /// How lines end, once one has.
    end: Option<LineEnd>,
}

/// How a line ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LineEnd {
    Newline,
    Return,
    Both,
}

/// A byte in a line that would end it if lines did not end otherwise.
#[cold]
fn literal_end(form: &Form, newline: bool) -> Error {
    let (what, hint) = match (form.csv, newline) {
        (false, false) => ("literal carriage return found in data", "Use \"\\r\" to represent carriage return."),
        (true, false) => {
            ("unquoted carriage return found in data", "Use quoted CSV field to represent carriage return.")
        }
        (false, true) => ("literal newline found in data", "Use \"\\n\" to represent newline."),
        (true, true) => ("unquoted newline found in data", "Use quoted CSV field to represent newline."),
    };
    bad(what).hint(hint)
}

impl Lines {
    /// Adds a piece.
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        if self.ended {
            // What comes after the end means nothing.
            return Ok(());
        }
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.looked -= self.start;
            self.start = 0;
        }
        self.bytes
            .try_reserve(piece.len())
            .map_err(|_| Error::out_of_memory("a line of copied data", self.bytes.len() + piece.len()))?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// The next whole line, without its end. `last` says that no piece follows, so that what is there is a line.
    ///
    /// Errors: `22P04` if a line ends in another way than those before it.
    pub fn next(&mut self, form: &Form, last: bool) -> Result<Option<&[u8]>> {
        if self.ended {
            return Ok(None);
        }
        let Some((from, line_end, next)) = self.find_end(form, last)? else { return Ok(None) };
        self.start = next;
        self.looked = next;
        self.quoted = false;
        let line = &self.bytes[from..line_end];
        Ok((!self.ended || !line.is_empty()).then_some(line))
    }

    /// Where the next line begins and ends, and where the one after it begins.
    fn find_end(&mut self, form: &Form, last: bool) -> Result<Option<(usize, usize, usize)>> {
        let bytes = &self.bytes;
        let mut at = self.looked;
        while at < bytes.len() {
            match bytes[at] {
                byte if form.csv && byte == form.quote => {
                    // An escape that is not the quote itself makes the next byte plain.
                    let escaped = form.escape != form.quote
                        && self.quoted
                        && at > self.start
                        && bytes[at - 1] == form.escape
                        && !is_escaped(bytes, self.start, at - 1, form.escape);
                    if !escaped {
                        self.quoted = !self.quoted;
                    }
                    at += 1;
                }
                b'\\' if !form.csv || at == self.start => {
                    // In text what follows belongs to it; if it has not come yet the line is not whole.
                    let Some(&next) = bytes.get(at + 1) else {
                        at += usize::from(last);
                        break;
                    };
                    if next == b'.' {
                        match marker(form, self.end, &bytes[at + 2..], last)? {
                            Marker::Whole => {
                                self.ended = true;
                                return Ok(Some((self.start, at, bytes.len())));
                            }
                            Marker::Unknown => break,
                            Marker::Data => {}
                        }
                    }
                    at += if form.csv { 1 } else { 2 };
                }
                b'\n' if !self.quoted => match self.end {
                    None | Some(LineEnd::Newline) => {
                        self.end = Some(LineEnd::Newline);
                        return Ok(Some((self.start, at, at + 1)));
                    }
                    Some(_) => return Err(literal_end(form, true)),
                },
                b'\r' if !self.quoted => match (self.end, bytes.get(at + 1)) {
                    (Some(LineEnd::Newline), _) => return Err(literal_end(form, false)),
                    (Some(LineEnd::Return), _) => return Ok(Some((self.start, at, at + 1))),
                    (_, Some(b'\n')) => {
                        self.end = Some(LineEnd::Both);
                        return Ok(Some((self.start, at, at + 2)));
                    }
                    (_, None) if !last => break,
                    (Some(LineEnd::Both), _) => return Err(literal_end(form, false)),
                    (None, _) => {
                        self.end = Some(LineEnd::Return);
                        return Ok(Some((self.start, at, at + 1)));
                    }
                },
                _ => at += 1,
            }
        }
        self.looked = at;
        Ok((last && self.start < bytes.len()).then_some((self.start, bytes.len(), bytes.len())))
    }
}

/// What `\.` is, by what stands behind it.
enum Marker {
    /// The end of the data.
    Whole,
    /// Data.
    Data,
    /// What decides has not come yet.
    Unknown,
}

/// What `\.` is before those bytes, where lines end like that. Errors: `22P04` if it ends no line, or in another way.
fn marker(form: &Form, end: Option<LineEnd>, rest: &[u8], last: bool) -> Result<Marker> {
    let broken = |message: &str| if form.csv { Ok(Marker::Data) } else { Err(bad(message)) };
    let other_style = "end-of-copy marker does not match previous newline style";
    let mut rest = rest;
    if end == Some(LineEnd::Both) {
        match rest.split_first() {
            None if !last => return Ok(Marker::Unknown),
            Some((b'\r', behind)) => rest = behind,
            Some((b'\n', _)) => return broken(other_style),
            _ => return broken("end-of-copy marker corrupt"),
        }
    }
    match (rest.first(), end) {
        (None, _) if !last => Ok(Marker::Unknown),
        (Some(b'\n'), Some(LineEnd::Return)) => Err(bad(other_style)),
        (Some(b'\r'), Some(LineEnd::Newline | LineEnd::Both)) => Err(bad(other_style)),
        (Some(b'\n' | b'\r'), _) => Ok(Marker::Whole),
        _ => broken("end-of-copy marker corrupt"),
    }
}

/// Is the byte itself made plain by an escape before it?
fn is_escaped(bytes: &[u8], start: usize, at: usize, escape: u8) -> bool {
    let before = bytes[start..at].iter().rev().take_while(|&&byte| byte == escape).count();
    before % 2 == 1
}

/// The fields of a line: none for null. Used again for every line.
#[derive(Default, Debug)]
pub struct Fields {
    bytes: Vec<u8>,
    /// Where each field ends, and whether it is null.
    ends: Vec<(usize, bool)>,
}

impl Fields {
    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A field.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (end, null) = self.ends[index];
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].0);
        (!null).then(|| &self.bytes[start..end])
    }

    fn end_field(&mut self, null: bool) {
        self.ends.push((self.bytes.len(), null));
    }

    /// Takes a line apart.
    pub fn read(&mut self, form: &Form, line: &[u8]) -> Result<()> {
        self.bytes.clear();
        self.ends.clear();
        if form.csv { self.read_csv(form, line) } else { self.read_text(form, line) }
    }

    fn read_text(&mut self, form: &Form, line: &[u8]) -> Result<()> {
        // A backslash behind which the data ends makes nothing plain, and is nothing.
        let line = match line.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 {
            1 => &line[..line.len() - 1],
            _ => line,
        };
        let mut at = 0;
        loop {
            let rest = &line[at..];
            let special = |byte: &u8| *byte == form.delimiter || *byte == b'\\';
            let plain = rest.iter().position(special).unwrap_or(rest.len());
            if rest.get(plain) != Some(&b'\\') {
                // The usual field has nothing to undo.
                self.bytes.extend_from_slice(&rest[..plain]);
                self.end_field(rest[..plain] == form.null[..]);
                at += plain;
            } else {
                let start = at;
                at = self.read_escaped(form, line, at + plain)?;
                self.end_field(line[start..at] == form.null[..]);
            }
            if at >= line.len() {
                return Ok(());
            }
            at += 1;
        }
    }

    /// The rest of a field from its first backslash on; answers where it ends.
    fn read_escaped(&mut self, form: &Form, line: &[u8], from: usize) -> Result<usize> {
        let field = self.ends.last().map_or(0, |last| last.0);
        debug_assert!(field <= self.bytes.len());
        let mut at = from;
        // What lies before the first backslash is plain.
        let start = line[..from].iter().rposition(|byte| *byte == form.delimiter).map_or(0, |before| before + 1);
        self.bytes.extend_from_slice(&line[start..from]);
        while at < line.len() && line[at] != form.delimiter {
            if line[at] != b'\\' {
                self.bytes.push(line[at]);
                at += 1;
                continue;
            }
            at += 1;
            let Some(&byte) = line.get(at) else { break };
            at += 1;
            let value = match byte {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'0'..=b'7' => {
                    let mut value = u32::from(byte - b'0');
                    for _ in 0..2 {
                        let Some(digit @ b'0'..=b'7') = line.get(at).copied() else { break };
                        value = value * 8 + u32::from(digit - b'0');
                        at += 1;
                    }
                    value as u8
                }
                b'x' => {
                    let digit = |at: usize| line.get(at).and_then(|byte| (*byte as char).to_digit(16));
                    match digit(at) {
                        None => b'x',
                        Some(first) => {
                            at += 1;
                            match digit(at) {
                                None => first as u8,
                                Some(second) => {
                                    at += 1;
                                    (first * 16 + second) as u8
                                }
                            }
                        }
                    }
                }
                byte => byte,
            };
            self.bytes.push(value);
        }
        Ok(at)
    }

    fn read_csv(&mut self, form: &Form, line: &[u8]) -> Result<()> {
        let mut at = 0;
        loop {
            let (start, mut quoted, mut was_quoted) = (self.bytes.len(), false, false);
            while at < line.len() {
                let byte = line[at];
                if quoted {
                    if byte == form.escape
                        && line.get(at + 1).is_some_and(|next| *next == form.quote || *next == form.escape)
                    {
                        self.bytes.push(line[at + 1]);
                        at += 2;
                        continue;
                    }
                    if byte == form.quote {
                        quoted = false;
                    } else {
                        self.bytes.push(byte);
                    }
                } else if byte == form.quote {
                    (quoted, was_quoted) = (true, true);
                } else if byte == form.delimiter {
                    break;
                } else {
                    self.bytes.push(byte);
                }
                at += 1;
            }
            if quoted {
                return Err(bad("unterminated CSV quoted field"));
            }
            let (column, is_null) = (self.ends.len(), self.bytes[start..] == form.null[..]);
            let null = match was_quoted {
                true => is_null && is_forced(&form.force_null, column),
                false => is_null && !is_forced(&form.force_not_null, column),
            };
            self.end_field(null);
            if at >= line.len() {
                return Ok(());
            }
            at += 1;
        }
    }
}

fn is_forced(columns: &[bool], column: usize) -> bool {
    columns.get(column).copied().unwrap_or(false)
}

/// Appends a field to a line. `alone` says that it is the only one of its row; `column` is where it stands, none in a header.
pub fn write_field(form: &Form, value: Option<&[u8]>, alone: bool, column: Option<usize>, out: &mut Vec<u8>) {
    let Some(value) = value else {
        out.extend_from_slice(&form.null);
        return;
    };
    if form.csv {
        let special = |byte: &u8| [form.delimiter, form.quote, b'\n', b'\r'].contains(byte);
        let forced = column.is_some_and(|column| is_forced(&form.force_quote, column));
        let quoted = forced || value == form.null || value.iter().any(special) || (alone && value == b"\\.");
        if !quoted {
            out.extend_from_slice(value);
            return;
        }
        out.push(form.quote);
        for &byte in value {
            if byte == form.quote || byte == form.escape {
                out.push(form.escape);
            }
            out.push(byte);
        }
        out.push(form.quote);
        return;
    }
    for &byte in value {
        let letter = match byte {
            8 => b'b',
            12 => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            11 => b'v',
            b'\\' => b'\\',
            byte if byte == form.delimiter => byte,
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(form: &Form, line: &str) -> Vec<Option<String>> {
        let mut fields = Fields::default();
        fields.read(form, line.as_bytes()).unwrap();
        (0..fields.len()).map(|at| fields.get(at).map(|field| String::from_utf8_lossy(field).into_owned())).collect()
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| (*value != "∅").then(|| (*value).to_owned())).collect()
    }

    #[test]
    fn lines_of_text_come_apart() {
        for (line, expected) in [
            ("a\tb", &["a", "b"][..]),
            ("", &[""]),
            ("\t", &["", ""]),
            ("\\N\tx", &["∅", "x"]),
            ("a\\tb\\\\c\\nd", &["a\tb\\c\nd"]),
            ("a\\\tb\tc", &["a\tb", "c"]),
            ("\\x41\\101\\q", &["AAq"]),
            ("x\t\\N", &["x", "∅"]),
            ("p\\N\tq", &["pN", "q"]),
            ("a\tb\\", &["a", "b"]),
            ("a\\\\\\", &["a\\"]),
        ] {
            assert_eq!(fields(&Form::text(), line), some(expected), "{line:?}");
        }
    }

    #[test]
    fn comma_separated_values_come_apart() {
        for (line, expected) in [
            ("a,b", &["a", "b"][..]),
            ("a,,c", &["a", "∅", "c"]),
            ("\"\",\"a\"\"b\",\"x,y\"", &["", "a\"b", "x,y"]),
            ("a\"b,c\"d", &["ab,cd"]),
            (",", &["∅", "∅"]),
        ] {
            assert_eq!(fields(&Form::csv(), line), some(expected), "{line:?}");
        }
        assert!(Fields::default().read(&Form::csv(), b"\"a").is_err());
    }

    /// However the data is cut, the lines are the same.
    #[test]
    fn lines_are_the_same_however_the_data_is_cut() {
        for (form, data, expected) in [
            (Form::text(), "a\tb\nc\\\nd\n\\N\nlast", &["a\tb", "c\\\nd", "\\N", "last"][..]),
            (Form::text(), "a\r\nb\r\n", &["a", "b"]),
            (Form::text(), "a\rb\r\rc\r", &["a", "b", "", "c"]),
            (Form::text(), "a\n\\.\nb\n", &["a"]),
            (Form::text(), "a\tb\\.\nb\n", &["a\tb"]),
            (Form::text(), "a\r\nb\\.\r\nc", &["a", "b"]),
            (Form::text(), "a\\.\r\nb\r\n", &["a"]),
            (Form::text(), "a\\\\.\nb\n", &["a\\\\.", "b"]),
            (Form::csv(), "a\n\\.\nb\n", &["a"]),
            (Form::csv(), "\\.\r\nb\n", &[]),
            (Form::csv(), "a\\.\n\\.b\n\\.", &["a\\.", "\\.b", "\\."]),
            (Form::csv(), "\\a\n\\", &["\\a", "\\"]),
            (Form::csv(), "a,\"b\nc\"\r\n\"x\"\"\n\"\r\nd\r\n", &["a,\"b\nc\"", "\"x\"\"\n\"", "d"]),
            (Form::csv(), "", &[]),
        ] {
            for size in 1..=data.len().max(1) {
                let mut lines = Lines::default();
                let mut found = Vec::new();
                for piece in data.as_bytes().chunks(size) {
                    lines.push(piece).unwrap();
                    while let Some(line) = lines.next(&form, false).unwrap() {
                        found.push(String::from_utf8_lossy(line).into_owned());
                    }
                }
                while let Some(line) = lines.next(&form, true).unwrap() {
                    found.push(String::from_utf8_lossy(line).into_owned());
                }
                assert_eq!(found, expected, "{data:?} in pieces of {size}");
            }
        }
    }

    /// Lines that end in different ways are refused, wherever the data is cut.
    #[test]
    fn all_lines_end_alike() {
        for (form, data, message) in [
            (Form::text(), "a\nb\rc\n", "literal carriage return found in data"),
            (Form::text(), "a\nb\r\n", "literal carriage return found in data"),
            (Form::text(), "a\r\nb\n", "literal newline found in data"),
            (Form::text(), "a\r\nb\rc\r\n", "literal carriage return found in data"),
            (Form::text(), "a\rb\nc", "literal newline found in data"),
            (Form::csv(), "a\r\n\"b\n\",c\n", "unquoted newline found in data"),
            (Form::csv(), "a\nb\rc", "unquoted carriage return found in data"),
            (Form::text(), "a\\.b\n", "end-of-copy marker corrupt"),
            (Form::text(), "a\n\\.", "end-of-copy marker corrupt"),
            (Form::text(), "a\r\n\\.\rb", "end-of-copy marker corrupt"),
            (Form::text(), "a\r\n\\.\n", "end-of-copy marker does not match previous newline style"),
            (Form::text(), "a\n\\.\r\n", "end-of-copy marker does not match previous newline style"),
            (Form::csv(), "a\n\\.\r\n", "end-of-copy marker does not match previous newline style"),
        ] {
            for size in 1..=data.len() {
                let mut lines = Lines::default();
                let mut found = Ok(());
                for piece in data.as_bytes().chunks(size) {
                    lines.push(piece).unwrap();
                    while found.is_ok() {
                        match lines.next(&form, false) {
                            Ok(Some(_)) => {}
                            Ok(None) => break,
                            Err(error) => found = Err(error),
                        }
                    }
                }
                while found.is_ok() {
                    match lines.next(&form, true) {
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(error) => found = Err(error),
                    }
                }
                let error = found.expect_err(data);
                assert_eq!((error.sqlstate(), error.message()), (sqlstate::BAD_COPY_FILE_FORMAT, message), "{data:?}");
            }
        }
    }

    #[test]
    fn columns_may_be_forced() {
        let form = Form { force_null: vec![true, false], force_not_null: vec![false, false, true], ..Form::csv() };
        assert_eq!(fields(&form, "\"\",\"\",,"), some(&["∅", "", "", "∅"]));
        let form = Form { force_quote: vec![true, false], ..Form::csv() };
        let mut line = Vec::new();
        write_field(&form, Some(b"a"), false, Some(0), &mut line);
        write_field(&form, Some(b"a"), false, Some(1), &mut line);
        write_field(&form, None, false, Some(0), &mut line);
        write_field(&form, Some(b"a"), false, None, &mut line);
        assert_eq!(line, b"\"a\"aa");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let values = ["", "a", "\\N", "\\.", "a,b", "\"", "x\ty\\z", "line\nend\r", "ü", "\u{8}\u{b}\u{c}"]
            .map(Some)
            .into_iter();
        let values: Vec<Option<&str>> = values.chain([None]).collect();
        for form in [Form::text(), Form::csv(), Form { delimiter: b'|', ..Form::text() }] {
            let mut line = Vec::new();
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    line.push(form.delimiter);
                }
                write_field(&form, value.map(str::as_bytes), false, Some(at), &mut line);
            }
            let expected: Vec<Option<String>> = values.iter().map(|value| value.map(str::to_owned)).collect();
            assert_eq!(fields(&form, std::str::from_utf8(&line).unwrap()), expected);
            let mut lines = Lines::default();
            lines.push(&line).unwrap();
            lines.push(b"\n").unwrap();
            assert_eq!(lines.next(&form, false).unwrap(), Some(&line[..]));
        }
    }
}
