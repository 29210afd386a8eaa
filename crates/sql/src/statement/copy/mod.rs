//! `COPY`: many rows from the client, or to it.
//!
//! | file | what it is |
//! |---|---|
//! | [`format`](mod@format) | the text and the CSV format |
//! | [`binary`] | the binary format |
//! | [`from`](mod@from) | rows into a table |
//! | [`to`] | rows of a table or a query |
//!
//! What this does not do: read or write files of the server, or run programs there; `0A000` says so.

pub mod binary;
pub mod format;
pub mod from;
pub mod to;

use crate::parser::ast::{Copy, CopyOption};
use crate::session::{Environment, Output, Session, Tag};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use format::Form;

/// What the options of a statement say.
pub(crate) struct Options {
    pub(crate) form: Form,
    /// The binary format; nothing of the form counts then.
    pub(crate) binary: bool,
    force_quote: Option<Columns>,
    force_not_null: Option<Columns>,
    force_null: Option<Columns>,
    /// The rows are of a table that this transaction has made or emptied.
    pub(crate) freeze: bool,
}

/// Columns that an option names.
pub(crate) enum Columns {
    All,
    Named(Vec<String>),
}

impl Columns {
    /// Which of the columns that are copied are meant; `all` are those that there are. Errors: `42703`, `42P10`.
    fn among(&self, words: &str, copied: &[String], all: &[String]) -> Result<Vec<bool>> {
        let Columns::Named(names) = self else { return Ok(vec![true; copied.len()]) };
        let mut among = vec![false; copied.len()];
        for name in names {
            if !all.contains(name) {
                let message = format!("column \"{name}\" does not exist");
                return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
            }
            let Some(at) = copied.iter().position(|column| column == name) else {
                let message = format!("{words} column \"{name}\" not referenced by COPY");
                return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message));
            };
            among[at] = true;
        }
        Ok(among)
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message.into())
}

/// The one byte that an option has to be.
fn byte_of(option: &str, words: &str) -> Result<u8> {
    match option.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(Error::unsupported(format!("{words} must be a single one-byte character"))),
    }
}

fn bool_of(option: &CopyOption<'_>) -> Result<bool> {
    match option.value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(_) => {
            let message = format!("{} requires a Boolean value", option.name.text);
            Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
        }
    }
}

impl Options {
    fn read(options: &[CopyOption<'_>], from: bool) -> Result<Options> {
        for (at, option) in options.iter().enumerate() {
            if options[..at].iter().any(|other| other.name.text == option.name.text) {
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
            }
        }
        let named = |name: &str| options.iter().find(|option| option.name.text == name);
        let mut binary = false;
        let (mut force_quote, mut force_not_null, mut force_null) = (None, None, None);
        let mut form = match named("format").and_then(|option| option.value) {
            None | Some("text") => Form::text(),
            Some("csv") => Form::csv(),
            Some("binary") => {
                binary = true;
                Form::text()
            }
            Some(other) => return Err(invalid(format!("COPY format \"{other}\" not recognized"))),
        };
        let mut freeze = false;
        let mut escape = None;
        for option in options {
            let value = option.value.unwrap_or("");
            match option.name.text {
                "format" => {}
                "freeze" => freeze = bool_of(option)?,
                "delimiter" | "null" if binary => {
                    let message = format!("cannot specify {} in BINARY mode", option.name.text.to_uppercase());
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
                }
                "header" if binary => {
                    return Err(Error::unsupported("cannot specify HEADER in BINARY mode"));
                }
                "delimiter" => form.delimiter = byte_of(value, "COPY delimiter")?,
                "null" => form.null = value.as_bytes().to_vec(),
                "header" => {
                    if option.value.is_some_and(|value| value.eq_ignore_ascii_case("match")) {
                        if !from {
                            return Err(Error::unsupported("cannot use \"match\" with HEADER in COPY TO"));
                        }
                        (form.header, form.header_matches) = (true, true);
                    } else {
                        form.header = bool_of(option)?;
                    }
                }
                "quote" | "escape" if !form.csv => {
                    return Err(Error::unsupported(format!("COPY {} available only in CSV mode", option.name.text)));
                }
                "quote" => form.quote = byte_of(value, "COPY quote")?,
                "escape" => escape = Some(byte_of(value, "COPY escape")?),
                "encoding" => {
                    if !["utf8", "utf-8", "unicode"].contains(&value.to_ascii_lowercase().as_str()) {
                        return Err(Error::unsupported(format!("COPY in encoding \"{value}\" is not supported"))
                            .hint("Use UTF8."));
                    }
                }
                "force_quote" | "force_not_null" | "force_null" => {
                    let words = option.name.text.replace('_', " ");
                    if !form.csv {
                        return Err(Error::unsupported(format!("COPY {words} available only in CSV mode")));
                    }
                    let to = option.name.text == "force_quote";
                    if to == from {
                        let way = if to { "TO" } else { "FROM" };
                        return Err(Error::unsupported(format!("COPY {words} only available using COPY {way}")));
                    }
                    let columns = match (option.value, option.list) {
                        (Some("*"), _) if to => Columns::All,
                        (None, names) if !names.is_empty() => {
                            Columns::Named(names.iter().map(|name| name.text.to_owned()).collect())
                        }
                        _ => {
                            let message =
                                format!("argument to option \"{}\" must be a list of column names", option.name.text);
                            return Err(invalid(message));
                        }
                    };
                    match option.name.text {
                        "force_quote" => force_quote = Some(columns),
                        "force_not_null" => force_not_null = Some(columns),
                        _ => force_null = Some(columns),
                    }
                }
                other => {
                    let message = format!("option \"{other}\" not recognized");
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
                }
            }
        }
        form.escape = escape.unwrap_or(form.quote);
        if [b'\n', b'\r'].contains(&form.delimiter) {
            return Err(invalid("COPY delimiter cannot be newline or carriage return"));
        }
        if form.null.iter().any(|byte| [b'\n', b'\r'].contains(byte)) {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        if form.null.contains(&form.delimiter) {
            return Err(invalid("COPY delimiter must not appear in the NULL specification"));
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'\\' || byte == b'.';
        if !form.csv && plain(form.delimiter) {
            return Err(invalid(format!("COPY delimiter cannot be \"{}\"", char::from(form.delimiter))));
        }
        if form.csv && form.delimiter == form.quote {
            return Err(invalid("COPY delimiter and quote must be different"));
        }
        if form.csv && form.null.contains(&form.quote) {
            return Err(Error::unsupported("CSV quote character must not appear in the NULL specification"));
        }
        if freeze && !from {
            return Err(invalid("COPY FREEZE cannot be used with COPY TO"));
        }
        Ok(Options { form, binary, force_quote, force_not_null, force_null, freeze })
    }

    /// Notes which of the columns that are copied the options mean.
    fn resolve(&mut self, copied: &[String], all: &[String]) -> Result<()> {
        let among = |columns: &Option<Columns>, words: &str| match columns {
            Some(columns) => columns.among(words, copied, all),
            None => Ok(Vec::new()),
        };
        self.form.force_quote = among(&self.force_quote, "FORCE_QUOTE")?;
        self.form.force_not_null = among(&self.force_not_null, "FORCE_NOT_NULL")?;
        self.form.force_null = among(&self.force_null, "FORCE_NULL")?;
        Ok(())
    }
}

impl<A: Allocator + ::core::marker::Copy> Session<A> {
    pub(super) fn copy<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        copy: &Copy<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        if copy.file.is_some() {
            let (words, client) = match copy.from {
                true => ("COPY from a file of the server", "FROM STDIN"),
                false => ("COPY to a file of the server", "TO STDOUT"),
            };
            return Err(Error::unsupported(format!("{words} is not supported"))
                .hint(format!("Use COPY {client}, or psql's \\copy.")));
        }
        let mut options = Options::read(copy.options, copy.from)?;
        let rows = match copy.from {
            true => self.copy_from(env, text, copy, &mut options, out)?,
            false => self.copy_to(env, text, copy, &mut options, out)?,
        };
        Ok(Some(Tag::Rows("COPY", rows)))
    }
}
