//! The first packet of a connection, and what it may ask for.
//!
//! ```text
//!   length(4, counts itself)  code(4)  rest
//!                             196608 .. = 3.0, 3.x   name\0 value\0 name\0 value\0 .. \0
//!                             80877102  cancel       session(4) secret(4)
//!                             80877103  TLS?         -
//!                             80877104  GSS?         -
//! ```
//!
//! There is no tag: what a connection begins with is told by the code. A client may ask for encryption first, once for
//! each kind; the server answers one byte ([`backend::encryption_refused`](crate::backend::encryption_refused)) and
//! reads the next packet the same way.
//!
//! Rules
//! 1. The packet comes from anybody: at most [`STARTUP_MAX`] bytes, no allocation, every error ends the connection
//!    ([`Kind::Session`]).
//! 2. Nothing may follow a request for encryption before it is answered: such bytes were sent in the clear, perhaps by
//!    somebody else, and must not be read as if they had come encrypted.
//! 3. A minor version or a `_pq_.` option that the server does not have is no error: the server says what it has
//!    ([`Startup::negotiates`]) and goes on.
//! 4. A parameter given twice has its last value, as in PostgreSQL.
//!
//! Life of a first packet: [`Negotiation::next`] asks for bytes until the packet is whole, and gives a [`First`]; for a
//! [`Startup`] the server sends NegotiateProtocolVersion if [`Startup::negotiates`], authenticates
//! [`Startup::user`], and applies [`Startup::settings`] and [`options::settings`].
//!
//! It does not know which settings exist; that is for who applies them.

pub mod options;

use crate::body::{Body, checked};
use crate::cancel::CancelKey;
use crate::limits::{NAME_MAX, STARTUP_MAX};
use base::{Error, Kind, Result, sqlstate};

/// The version that is spoken: 3.0.
pub const VERSION: u32 = 3 << 16;

const CANCEL: u32 = 1234 << 16 | 5678;
const SSL: u32 = 1234 << 16 | 5679;
const GSS: u32 = 1234 << 16 | 5680;

/// How far a new connection has come in asking for encryption.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Negotiation {
    ssl_asked: bool,
    gss_asked: bool,
}

/// What [`Negotiation::next`] found.
#[derive(Debug)]
pub enum FirstFramed<'a> {
    /// The packet is not whole: call again when the buffer holds at least this many bytes.
    NeedMore(usize),
    /// A packet, and how many bytes of the buffer it took.
    Packet {
        /// What it asks for.
        first: First<'a>,
        /// Its length.
        consumed: usize,
    },
}

/// What a connection begins with.
#[derive(Debug)]
pub enum First<'a> {
    /// The client would like TLS; it waits for one byte.
    Ssl,
    /// The client would like GSSAPI encryption; it waits for one byte.
    Gss,
    /// Cancel that session's statement. Nothing is ever answered: the connection is closed.
    Cancel(CancelKey),
    /// A session.
    Startup(Startup<'a>),
}

/// A valid startup packet.
#[derive(Clone, Copy, Debug)]
pub struct Startup<'a> {
    minor: u16,
    /// Name and value pairs, each zero-terminated; validated.
    pairs: &'a str,
    user: &'a str,
    database: Option<&'a str>,
    options: &'a str,
}

impl Negotiation {
    /// Reads a packet from the front of `buf`, which must be all that has been received.
    pub fn next<'a>(&mut self, buf: &'a [u8]) -> Result<FirstFramed<'a>> {
        let Some((word, rest)) = buf.split_first_chunk::<4>() else {
            return Ok(FirstFramed::NeedMore(4));
        };
        let consumed = u32::from_be_bytes(*word) as usize;
        if !(8..=4 + STARTUP_MAX).contains(&consumed) {
            return Err(bad_length());
        }
        if buf.len() < consumed {
            return Ok(FirstFramed::NeedMore(consumed));
        }
        let (packet, following) = rest.split_at(consumed - 4);
        let mut body = Body::new(packet, Kind::Session);
        let first = match body.u32()? {
            CANCEL => cancel(body)?,
            SSL if !self.ssl_asked => {
                self.ssl_asked = true;
                nothing_follows(packet, following, "SSL")?;
                First::Ssl
            }
            GSS if !self.gss_asked => {
                self.gss_asked = true;
                nothing_follows(packet, following, "GSSAPI encryption")?;
                First::Gss
            }
            version if version >> 16 == VERSION >> 16 => First::Startup(Startup::parse(version as u16, body.rest())?),
            version => return Err(unsupported(version)),
        };
        Ok(FirstFramed::Packet { first, consumed })
    }
}

fn cancel<'a>(mut body: Body<'_>) -> Result<First<'a>> {
    if body.rest().len() != 8 {
        return Err(bad_length());
    }
    Ok(First::Cancel(CancelKey { session: body.i32()?, secret: body.u32()? }))
}

fn nothing_follows(packet: &[u8], following: &[u8], what: &str) -> Result<()> {
    if packet.len() != 4 {
        return Err(bad_length());
    }
    if following.is_empty() {
        return Ok(());
    }
    Err(Error::protocol(format!("received unencrypted data after {what} request"))
        .detail("This could be either a client-software bug or evidence of an attempted man-in-the-middle attack."))
}

fn bad_length() -> Error {
    Error::protocol("invalid length of startup packet")
}

fn unsupported(version: u32) -> Error {
    let (major, minor) = (version >> 16, version & 0xffff);
    let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0");
    Error::session(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

impl<'a> Startup<'a> {
    /// `raw` is what follows the version.
    fn parse(minor: u16, raw: &'a [u8]) -> Result<Startup<'a>> {
        let pairs = checked(pairs(raw)?, Kind::Session)?;
        let mut startup = Startup { minor, pairs, user: "", database: None, options: "" };
        for (name, value) in startup.parameters() {
            match name {
                "user" => startup.user = cut_name(value),
                "database" => startup.database = Some(cut_name(value)),
                "options" => startup.options = value,
                "replication" => refuse_replication(value)?,
                _ => {}
            }
        }
        if startup.user.is_empty() {
            let message = "no PostgreSQL user name specified in startup packet";
            return Err(Error::session(sqlstate::INVALID_AUTHORIZATION_SPECIFICATION, message));
        }
        Ok(startup)
    }

    /// Whom the client says it is; never empty, at most [`NAME_MAX`] bytes.
    pub fn user(&self) -> &'a str {
        self.user
    }

    /// The database; the user's name when none is given.
    pub fn database(&self) -> &'a str {
        match self.database {
            Some(database) if !database.is_empty() => database,
            _ => self.user,
        }
    }

    /// The `options` parameter, for [`options::settings`]; empty when none is given.
    pub fn options(&self) -> &'a str {
        self.options
    }

    /// Every parameter in the order sent.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        let mut words = self.pairs.split_terminator('\0');
        std::iter::from_fn(move || Some((words.next()?, words.next()?)))
    }

    /// The parameters that are settings (`application_name`, `client_encoding`, ..), in the order sent.
    pub fn settings(&self) -> impl Iterator<Item = (&'a str, &'a str)> + Clone + use<'a> {
        let own = |name: &str| matches!(name, "user" | "database" | "options" | "replication");
        self.parameters().filter(move |(name, _)| !own(name) && !is_protocol_option(name))
    }

    /// The protocol options asked for; there are none that the server has.
    pub fn protocol_options(&self) -> impl Iterator<Item = &'a str> + Clone + use<'a> {
        self.parameters().map(|(name, _)| name).filter(|name| is_protocol_option(name))
    }

    /// True when NegotiateProtocolVersion is due: the client asked for more than 3.0 has.
    pub fn negotiates(&self) -> bool {
        self.minor > 0 || self.protocol_options().next().is_some()
    }
}

fn is_protocol_option(name: &str) -> bool {
    name.starts_with("_pq_.")
}

/// The pairs without the terminator, which must be the packet's last byte.
fn pairs(raw: &[u8]) -> Result<&[u8]> {
    let mut at = 0;
    while let Some(name) = string_at(raw, at) {
        if name == 0 {
            break;
        }
        let Some(value) = string_at(raw, at + name + 1) else { break };
        at += name + 1 + value + 1;
    }
    match raw.get(at..) {
        Some([0]) => Ok(&raw[..at]),
        _ => Err(Error::protocol("invalid startup packet layout: expected terminator as last byte")),
    }
}

/// The length of the zero-terminated string that begins at `at`.
fn string_at(raw: &[u8], at: usize) -> Option<usize> {
    raw.get(at..)?.iter().position(|&byte| byte == 0)
}

/// At most [`NAME_MAX`] bytes of `name`, whole characters.
fn cut_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_MAX)]
}

fn refuse_replication(value: &str) -> Result<()> {
    match boolean(value) {
        Some(false) => Ok(()),
        None if value != "database" => {
            let message = format!("invalid value for parameter \"replication\": \"{value}\"");
            let error = Error::session(sqlstate::INVALID_PARAMETER_VALUE, message);
            Err(error.hint("Valid values are: \"false\", 0, \"true\", 1, \"database\"."))
        }
        _ => Err(Error::session(sqlstate::FEATURE_NOT_SUPPORTED, "replication connections are not supported")),
    }
}

/// A truth value as PostgreSQL reads it: any unambiguous beginning of a word, in any case.
fn boolean(word: &str) -> Option<bool> {
    let word = word.to_ascii_lowercase();
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
