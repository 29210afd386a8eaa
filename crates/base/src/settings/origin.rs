//! Where a value of the server comes from, with the place to name in messages.

use super::describe::Source;
use crate::Error;
use std::fmt;

/// Where a value comes from. The order of the variants is the order of precedence, lowest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The table.
    Default,
    /// The administrator's file.
    ConfigFile {
        /// The file's name.
        path: String,
        /// The line, from one.
        line: u32,
    },
    /// The file that `ALTER SYSTEM` writes.
    AutoFile {
        /// The file's name.
        path: String,
        /// The line, from one.
        line: u32,
    },
    /// An environment variable, by name.
    Variable(String),
    /// An option of the command line, by name.
    Option(String),
    /// The server computed it.
    Computed,
}

impl Origin {
    /// The higher one wins.
    pub fn precedence(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::ConfigFile { .. } => 1,
            Origin::AutoFile { .. } => 2,
            Origin::Variable(_) => 3,
            Origin::Option(_) => 4,
            Origin::Computed => 5,
        }
    }

    /// The word of `pg_settings.source`.
    pub fn source(&self) -> Source {
        match self {
            Origin::Default => Source::Default,
            Origin::ConfigFile { .. } | Origin::AutoFile { .. } => Source::ConfigurationFile,
            Origin::Variable(_) => Source::EnvironmentVariable,
            Origin::Option(_) => Source::CommandLine,
            Origin::Computed => Source::Override,
        }
    }

    /// File and line, if it is one of the files.
    pub fn file(&self) -> Option<(&str, u32)> {
        match self {
            Origin::ConfigFile { path, line } | Origin::AutoFile { path, line } => Some((path, *line)),
            _ => None,
        }
    }

    /// The same error with the place in front of its message.
    pub(crate) fn locate(&self, error: Error) -> Error {
        let mut located = Error::new(error.kind(), error.sqlstate(), format!("{self}: {}", error.message()));
        if let Some(detail) = error.detail_text() {
            located = located.detail(detail);
        }
        if let Some(hint) = error.hint_text() {
            located = located.hint(hint);
        }
        located
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::ConfigFile { path, line } | Origin::AutoFile { path, line } => write!(f, "{path}, line {line}"),
            Origin::Variable(name) => write!(f, "environment variable {name}"),
            Origin::Option(name) => write!(f, "option {name}"),
            Origin::Computed => f.write_str("computed by the server"),
        }
    }
}
