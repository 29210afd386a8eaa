//! The one error type of the server.
//!
//! An error says what its *receiver* can do ([`Kind`]), which SQLSTATE a client sees, and carries a short factual
//! message, with detail and hint for people. Expected outcomes (a row that is not there, a lock that is taken) are
//! values, not errors; a bug is a panic. Log an error where it is handled, never where it passes.
//!
//! Rules
//! 1. Message: one line, lower case, no full stop, the user's own words in quotes. Detail: facts. Hint: advice.
//! 2. Bytes from disk or wire are never unwrapped: [`Error::corruption`] and [`Error::protocol`] exist for them.
//! 3. The happy path costs nothing: `Error` is one pointer wide.

use crate::sqlstate::{self, SqlState};
use std::borrow::Cow;
use std::fmt;

/// `Result` with the server's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What the receiver of an error can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Tell the user; the statement failed and its transaction with it (`ERROR`).
    Statement,
    /// The transaction lost a race; the same transaction may succeed if tried again (`ERROR`, class 40).
    Retry,
    /// Tell the user and give the session up (`FATAL`).
    Session,
    /// Stored data is not what was written: tell the user, keep the rest going, never hand out the data (`ERROR`).
    Corruption,
    /// The server cannot go on (`PANIC`): a failed flush of the log.
    Server,
}

/// An error on its way to somebody who can handle it.
pub struct Error(Box<Body>);

/// What an error can name, beside what it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Object {
    Schema,
    Table,
    Column,
    DataType,
    Constraint,
}

impl Object {
    /// All of them, in the order in which the protocol has them.
    pub const ALL: [Object; 5] = [Object::Schema, Object::Table, Object::Column, Object::DataType, Object::Constraint];
}

struct Body {
    kind: Kind,
    sqlstate: SqlState,
    message: Cow<'static, str>,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    position: Option<u32>,
    /// The names of objects; most errors have none.
    names: Vec<(Object, String)>,
}

impl Error {
    /// An error of any kind; the other constructors are short forms of this one.
    pub fn new(kind: Kind, sqlstate: SqlState, message: impl Into<Cow<'static, str>>) -> Error {
        let message = message.into();
        Error(Box::new(Body {
            kind,
            sqlstate,
            message,
            detail: None,
            hint: None,
            context: None,
            position: None,
            names: Vec::new(),
        }))
    }

    /// An error that ends the statement and its transaction.
    pub fn statement(sqlstate: SqlState, message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(Kind::Statement, sqlstate, message)
    }

    /// An error that ends the session.
    pub fn session(sqlstate: SqlState, message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(Kind::Session, sqlstate, message)
    }

    /// The client broke the protocol: `08P01`, which ends the session.
    pub fn protocol(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(Kind::Session, sqlstate::PROTOCOL_VIOLATION, message)
    }

    /// Something that is not there yet: `0A000`.
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Error {
        Error::statement(sqlstate::FEATURE_NOT_SUPPORTED, message)
    }

    /// Stored data is damaged: `XX001`.
    pub fn corruption(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(Kind::Corruption, sqlstate::DATA_CORRUPTED, message)
    }

    /// Memory that the system, or a limit, refused: `53200`.
    pub fn out_of_memory(what: &str, bytes: usize) -> Error {
        Error::statement(sqlstate::OUT_OF_MEMORY, "out of memory")
            .detail(format!("{what} asked for {bytes} bytes and was refused."))
    }

    /// Adds facts.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = Some(detail.into());
        self
    }

    /// The same without facts.
    #[must_use]
    pub fn without_detail(mut self) -> Error {
        self.0.detail = None;
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    /// The same with other texts, made of those that it has.
    #[must_use]
    pub fn map_texts(mut self, change: impl Fn(&str) -> String) -> Error {
        self.0.message = Cow::Owned(change(&self.0.message));
        for text in [&mut self.0.detail, &mut self.0.hint, &mut self.0.context].into_iter().flatten() {
            *text = change(text);
        }
        self
    }

    /// Adds where it happened: in which part of some data.
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Error {
        self.0.context = Some(context.into());
        self
    }

    /// Adds the place in the statement's text: a count of characters, from one.
    #[must_use]
    pub fn at(mut self, position: u32) -> Error {
        self.0.position = Some(position);
        self
    }

    /// Adds the name of an object that it is about.
    #[must_use]
    pub fn about(mut self, object: Object, name: impl Into<String>) -> Error {
        self.0.names.retain(|known| known.0 != object);
        self.0.names.push((object, name.into()));
        self
    }

    /// The name of an object that it is about.
    pub fn name_of(&self, object: Object) -> Option<&str> {
        self.0.names.iter().find(|known| known.0 == object).map(|known| known.1.as_str())
    }

    /// What the receiver can do.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// The five characters that the client sees.
    pub fn sqlstate(&self) -> SqlState {
        self.0.sqlstate
    }

    /// The primary message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Facts beside the message.
    pub fn detail_text(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Advice beside the message.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Where in some data it happened.
    pub fn context_text(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// The place in the statement's text, in characters from one.
    pub fn position(&self) -> Option<u32> {
        self.0.position
    }

    /// The word that goes with the kind in messages and logs.
    pub fn severity(&self) -> &'static str {
        match self.0.kind {
            Kind::Statement | Kind::Retry | Kind::Corruption => "ERROR",
            Kind::Session => "FATAL",
            Kind::Server => "PANIC",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.severity(), self.message(), self.sqlstate())?;
        if let Some(detail) = self.detail_text() {
            write!(f, "; {detail}")?;
        }
        if let Some(hint) = self.hint_text() {
            write!(f, "; hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn display_says_everything_a_log_needs() {
        let error = Error::unsupported("window frames are not supported").hint("Use a subquery.");
        assert_eq!(error.to_string(), "ERROR: window frames are not supported (0A000); hint: Use a subquery.");
    }
}
