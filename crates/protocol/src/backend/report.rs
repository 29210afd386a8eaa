//! Errors and notices: an [`Error`] as labelled fields.
//!
//! The severity goes out twice: as `S`, which PostgreSQL may translate, and as `V`, which it never does and which
//! clients compare with; here both are English.

use super::message::Message;
use crate::sink::Sink;
use base::{Error, Object};

/// How much a notice matters. What ends a statement is not a notice but an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Something is probably not as meant.
    Warning,
    /// What a user likes to know.
    Notice,
    /// What a user asked to be told.
    Info,
    /// What belongs in the server's log, and in a client's if it asked for that.
    Log,
    /// What a developer likes to know.
    Debug,
}

impl Level {
    /// The word that clients see.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::Warning => "WARNING",
            Level::Notice => "NOTICE",
            Level::Info => "INFO",
            Level::Log => "LOG",
            Level::Debug => "DEBUG",
        }
    }
}

/// A statement, or the session, failed.
pub fn error_response<S: Sink + ?Sized>(sink: &mut S, error: &Error) {
    report(sink, b'E', error.severity(), error);
}

/// Something to be told beside the answer. The notice's own kind does not matter: it has `level`.
pub fn notice_response<S: Sink + ?Sized>(sink: &mut S, level: Level, notice: &Error) {
    report(sink, b'N', level.as_str(), notice);
}

fn report<S: Sink + ?Sized>(sink: &mut S, tag: u8, severity: &str, error: &Error) {
    let mut message = Message::begin(sink, tag);
    let mut field = |label: &[u8; 1], text: &str| {
        message.put(label);
        message.string(text);
    };
    field(b"S", severity);
    field(b"V", severity);
    field(b"C", error.sqlstate().as_str());
    field(b"M", error.message());
    if let Some(detail) = error.detail_text() {
        field(b"D", detail);
    }
    if let Some(hint) = error.hint_text() {
        field(b"H", hint);
    }
    if let Some(context) = error.context_text() {
        field(b"W", context);
    }
    if let Some(position) = error.position() {
        field(b"P", &position.to_string());
    }
    for object in Object::ALL {
        if let Some(name) = error.name_of(object) {
            let label = match object {
                Object::Schema => b"s",
                Object::Table => b"t",
                Object::Column => b"c",
                Object::DataType => b"d",
                Object::Constraint => b"n",
            };
            field(label, name);
        }
    }
    message.put(b"\0");
    message.end();
}
