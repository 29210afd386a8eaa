//! What the server says: a function, or a builder, for every message it sends.
//!
//! ```text
//!   tag(1)  length(4, counts itself, not the tag)  body(length - 4)
//! ```
//!
//! Rules
//! 1. Every function appends exactly one whole message to the [`Sink`], and has no other effect.
//! 2. A message whose parts are known in advance is written with its length; one whose parts come one by one has a
//!    builder ([`RowDescription`], [`DataRow`], [`CopyRow`]) that corrects the length when it ends. A builder dropped
//!    before its end cuts the sink back to where it began: an error in the middle of a row leaves no half of it.
//! 3. A zero byte would end a protocol string early, so texts that come from elsewhere are sent up to their first one,
//!    as PostgreSQL's C strings are, and cut at [`TEXT_SENT_MAX`](crate::limits::TEXT_SENT_MAX). Command tags are the
//!    server's own and sent as they are.
//! 4. Only messages whose size a user decides can be too long ([`SENT_MAX`](crate::limits::SENT_MAX)): rows and copied
//!    data, whose builders end with a `Result`.
//!
//! Life of an answer: `parse_complete`, `bind_complete`, a [`DataRow`] a row (begin, values in order, end),
//! [`command_complete_rows`], [`ready_for_query`]; then the owner sends what the sink holds.

mod copy;
mod message;
mod report;
mod rows;

pub use copy::{CopyRow, copy_data, copy_done, copy_in_response, copy_out_response};
pub use report::{Level, error_response, notice_response};
pub use rows::{DataRow, Field, OpenRow, RowDescription};

use crate::auth;
use crate::cancel::CancelKey;
use crate::sink::Sink;
use message::Message;

/// What `ReadyForQuery` says of the session's transaction.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Not in a transaction block.
    Idle = b'I',
    /// In a transaction block.
    InTransaction = b'T',
    /// In a transaction block that failed, where statements are refused until it ends.
    Failed = b'E',
}

/// The one byte that answers a request for encryption that the server does not have; not a message, has no length.
pub fn encryption_refused<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"N");
}

/// The client is who it says it is.
pub fn authentication_ok<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"R\0\0\0\x08\0\0\0\0");
}

/// The client may go on encrypting: the one byte that answers a request for TLS.
pub fn encryption_accepted<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"S");
}

/// The client must send its password as it is.
pub fn authentication_password<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"R\0\0\0\x08\0\0\0\x03");
}

/// The client must authenticate, by the one mechanism there is; where `binds` says so, also in the form that is bound to the
/// encrypted connection.
pub fn authentication_sasl<S: Sink + ?Sized>(sink: &mut S, binds: bool) {
    let mut message = Message::begin(sink, b'R');
    message.u32(10);
    if binds {
        message.string(auth::MECHANISM_PLUS);
    }
    message.string(auth::MECHANISM);
    message.put(b"\0");
    message.end();
}

/// The mechanism's next words; the client must answer.
pub fn authentication_sasl_continue<S: Sink + ?Sized>(sink: &mut S, data: &[u8]) {
    authentication(sink, 11, data);
}

/// The mechanism's last words; `authentication_ok` follows.
pub fn authentication_sasl_final<S: Sink + ?Sized>(sink: &mut S, data: &[u8]) {
    authentication(sink, 12, data);
}

fn authentication<S: Sink + ?Sized>(sink: &mut S, kind: u32, data: &[u8]) {
    let mut message = Message::begin(sink, b'R');
    message.u32(kind);
    message.put(data);
    message.end();
}

/// The client asked for more than version 3.0 has: what there is, and which of its options are unknown.
pub fn negotiate_protocol_version<'a, S: Sink + ?Sized>(sink: &mut S, unknown: impl Iterator<Item = &'a str> + Clone) {
    let mut message = Message::begin(sink, b'v');
    message.u32(crate::startup::VERSION);
    message.u32(unknown.clone().count() as u32);
    for option in unknown {
        message.string(option);
    }
    message.end();
}

/// How the client can have this session's statements cancelled.
pub fn backend_key_data<S: Sink + ?Sized>(sink: &mut S, key: &CancelKey) {
    let mut message = *b"K\0\0\0\x0c\0\0\0\0\0\0\0\0";
    message[5..].copy_from_slice(&key.to_bytes());
    sink.put(&message);
}

/// A setting that clients follow has this value now.
pub fn parameter_status<S: Sink + ?Sized>(sink: &mut S, name: &str, value: &str) {
    let mut message = Message::begin(sink, b'S');
    message.string(name);
    message.string(value);
    message.end();
}

/// The server reads the next statement now.
#[inline]
pub fn ready_for_query<S: Sink + ?Sized>(sink: &mut S, status: Status) {
    sink.put(&[b'Z', 0, 0, 0, 5, status as u8]);
}

/// The statement was prepared.
#[inline]
pub fn parse_complete<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"1\0\0\0\x04");
}

/// The portal was made.
#[inline]
pub fn bind_complete<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"2\0\0\0\x04");
}

/// The statement or portal is forgotten.
#[inline]
pub fn close_complete<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"3\0\0\0\x04");
}

/// What was described gives no rows.
#[inline]
pub fn no_data<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"n\0\0\0\x04");
}

/// The row limit of `Execute` was reached; the portal can go on.
#[inline]
pub fn portal_suspended<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"s\0\0\0\x04");
}

/// The statement's text was empty; stands for `CommandComplete`.
#[inline]
pub fn empty_query_response<S: Sink + ?Sized>(sink: &mut S) {
    sink.put(b"I\0\0\0\x04");
}

/// The types of a statement's parameters, by number.
pub fn parameter_description<S: Sink + ?Sized>(sink: &mut S, types: impl ExactSizeIterator<Item = u32>) {
    let mut message = Message::begin(sink, b't');
    message.count(types.len());
    for number in types {
        message.u32(number);
    }
    message.end();
}

/// The statement is done: its command tag, such as `CREATE TABLE`.
#[inline]
pub fn command_complete<S: Sink + ?Sized>(sink: &mut S, tag: &str) {
    header(sink, b'C', tag.len() + 1);
    sink.put(tag.as_bytes());
    sink.put(b"\0");
}

/// The statement is done: its command tag with a count of rows, as in `SELECT 5`. An `INSERT`'s tag has the number of a
/// row as well, which is always zero: pass `INSERT 0`.
#[inline]
pub fn command_complete_rows<S: Sink + ?Sized>(sink: &mut S, tag: &str, rows: u64) {
    // The longest count has 20 digits; a space in front, a zero behind.
    let mut tail = [0; 22];
    let mut at = tail.len() - 1;
    let mut rest = rows;
    loop {
        at -= 1;
        tail[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    at -= 1;
    tail[at] = b' ';
    let tail = &tail[at..];
    header(sink, b'C', tag.len() + tail.len());
    sink.put(tag.as_bytes());
    sink.put(tail);
}

/// Somebody notified a channel that the session listens to.
pub fn notification_response<S: Sink + ?Sized>(sink: &mut S, session: i32, channel: &str, payload: &str) {
    let mut message = Message::begin(sink, b'A');
    message.put(&session.to_be_bytes());
    message.string(channel);
    message.string(payload);
    message.end();
}

/// Tag and length of a message whose body is known to have `length` bytes.
#[inline]
fn header<S: Sink + ?Sized>(sink: &mut S, tag: u8, length: usize) {
    let [a, b, c, d] = (4 + length as u32).to_be_bytes();
    sink.put(&[tag, a, b, c, d]);
}

#[cfg(test)]
mod tests;
