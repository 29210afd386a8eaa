//! What a client sends after the first packet: framing, and each message as a value.
//!
//! ```text
//!   tag(1)  length(4, counts itself, not the tag)  body(length - 4)
//! ```
//!
//! Rules
//! 1. [`next`] decides from five bytes whether the message can be one: an unknown tag, or a length beyond the tag's
//!    limit, means that the boundaries are lost, and ends the session ([`Kind::Session`]).
//! 2. [`Frontend::decode`] looks at the body only. What is wrong with it costs the statement ([`Kind::Statement`]): the
//!    next message begins where the length said. All is checked before anything is handed out; numbers too few are
//!    `insufficient data left in message`, bytes too many `invalid message format`, both `08P01`, as in PostgreSQL.
//!    What is in the three copy messages is not looked at: outside a copy they mean nothing.
//! 3. Names, statement texts and reasons are UTF-8 (`22021` otherwise). Parameter values and copied data stay bytes:
//!    whether they are text is known where their format is looked at ([`utf8`](crate::utf8)).
//! 4. A password message exists while logging in only: [`next_sasl`] takes no other, [`next`] refuses it.
//!
//! Life of a message: [`next`] gives [`Framed::Message`] with a body inside the caller's buffer; [`Frontend::decode`]
//! gives the value; when it is served the caller drops `consumed` bytes from the front of the buffer. A body of a
//! gigabyte is announced as `NeedMore(length)`: the caller grows its buffer as bytes arrive, not as they are promised.
//!
//! It does not know a session's state. [`Tag::is_extended`] and [`unexpected_in_copy`] serve the two places where a
//! server's reading depends on it: skipping to `Sync` after an error, and a copy under way.

mod bind;

pub use bind::{Bind, Formats, Parameters};

use crate::body::Body;
use crate::limits::{LARGE_MAX, SASL_MAX, SMALL_MAX};
use base::{Error, Kind, Result, sqlstate};

macro_rules! tags {
    ($($(#[$doc:meta])* $name:ident = $byte:literal;)*) => {
        /// A message's first byte.
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Tag {
            $($(#[$doc])* $name = $byte,)*
        }

        impl Tag {
            /// Every tag.
            pub const ALL: &[Tag] = &[$(Tag::$name),*];

            /// The tag that `byte` is.
            #[inline]
            pub fn from_byte(byte: u8) -> Option<Tag> {
                match byte {
                    $($byte => Some(Tag::$name),)*
                    _ => None,
                }
            }
        }
    };
}

tags! {
    /// Parameter values for a prepared statement, making a portal.
    Bind = b'B';
    /// Forget a statement or portal.
    Close = b'C';
    /// A piece of copied data.
    CopyData = b'd';
    /// The end of copied data.
    CopyDone = b'c';
    /// The client gives a copy up.
    CopyFail = b'f';
    /// What columns and parameters a statement or portal has.
    Describe = b'D';
    /// Run a portal.
    Execute = b'E';
    /// Send what has been answered so far.
    Flush = b'H';
    /// Call a function by its number, an interface long out of use.
    FunctionCall = b'F';
    /// Prepare a statement.
    Parse = b'P';
    /// What the client answers while logging in.
    Password = b'p';
    /// Statements as text, answered at once.
    Query = b'Q';
    /// The end of an extended exchange.
    Sync = b'S';
    /// The client leaves.
    Terminate = b'X';
}

impl Tag {
    /// True for the messages of the extended exchange other than `Sync`: the ones that are skipped after one failed,
    /// until `Sync` comes, and after whose failure no `ReadyForQuery` is sent before it.
    #[inline]
    pub fn is_extended(self) -> bool {
        matches!(self, Tag::Parse | Tag::Bind | Tag::Describe | Tag::Execute | Tag::Close | Tag::Flush)
    }

    /// True for the messages that carry user data, and may be large.
    #[inline]
    fn is_large(self) -> bool {
        matches!(self, Tag::Query | Tag::Parse | Tag::Bind | Tag::CopyData | Tag::FunctionCall)
    }
}

/// What [`next`] found at the front of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framed<'a> {
    /// The message is not whole: call again when the buffer holds at least this many bytes.
    NeedMore(usize),
    /// A whole message.
    Message {
        /// What it is.
        tag: Tag,
        /// What is in it.
        body: &'a [u8],
        /// How many bytes of the buffer it took.
        consumed: usize,
    },
}

/// The bytes before a body: tag and length.
const HEADER: usize = 5;

/// The message at the front of `buf`, in a session. Messages with user data may have up to `max` bytes ([`LARGE_MAX`]
/// at most), the others [`SMALL_MAX`].
#[inline]
pub fn next(buf: &[u8], max: usize) -> Result<Framed<'_>> {
    let Some(&byte) = buf.first() else {
        return Ok(Framed::NeedMore(HEADER));
    };
    match Tag::from_byte(byte) {
        Some(tag) if tag != Tag::Password => {
            frame(buf, tag, if tag.is_large() { max.min(LARGE_MAX) } else { SMALL_MAX })
        }
        _ => Err(unknown_tag(byte)),
    }
}

/// The message at the front of `buf`, while the client logs in: a [`Tag::Password`], or an error.
pub fn next_sasl(buf: &[u8]) -> Result<Framed<'_>> {
    match buf.first() {
        None => Ok(Framed::NeedMore(HEADER)),
        Some(&byte) if byte == Tag::Password as u8 => frame(buf, Tag::Password, SASL_MAX),
        Some(byte) => Err(Error::protocol(format!("expected SASL response, got message type {byte}"))),
    }
}

#[inline]
fn frame(buf: &[u8], tag: Tag, max: usize) -> Result<Framed<'_>> {
    let Some(&[_, a, b, c, d]) = buf.first_chunk::<HEADER>() else {
        return Ok(Framed::NeedMore(HEADER));
    };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if length < 4 || length > max {
        return Err(bad_length(tag, length, max));
    }
    match buf.get(HEADER..length + 1) {
        Some(body) => Ok(Framed::Message { tag, body, consumed: length + 1 }),
        None => Ok(Framed::NeedMore(length + 1)),
    }
}

#[cold]
fn unknown_tag(byte: u8) -> Error {
    Error::protocol(format!("invalid frontend message type {byte}"))
}

#[cold]
fn bad_length(tag: Tag, length: usize, max: usize) -> Error {
    let error = Error::protocol("invalid message length");
    if length < 4 { error } else { error.detail(format!("{tag:?} with {length} bytes; at most {max} are taken.")) }
}

/// The error for a message that cannot come while a copy to the server is under way. The messages that can are
/// `CopyData`, `CopyDone`, `CopyFail`, and `Flush` and `Sync`, which mean nothing there. When no copy is under way, the
/// three copy messages mean nothing in turn: a client may have sent them before it learnt that its copy failed.
pub fn unexpected_in_copy(tag: Tag) -> Error {
    let message = format!("unexpected message type 0x{:02X} during COPY from stdin", tag as u8);
    Error::statement(sqlstate::PROTOCOL_VIOLATION, message)
}

/// What `Describe` and `Close` are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// The prepared statement of that name; the unnamed one's is empty.
    Statement(&'a str),
    /// The portal of that name; the unnamed one's is empty.
    Portal(&'a str),
}

/// `Parse`: prepare a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parse<'a> {
    /// The prepared statement's name; empty for the unnamed one.
    pub name: &'a str,
    /// The statement's text.
    pub text: &'a str,
    types: &'a [[u8; 4]],
}

impl<'a> Parse<'a> {
    /// The parameter types that the client prescribes, by number; zero leaves one open. May be fewer than there are
    /// parameters, or more.
    pub fn types(&self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        self.types.iter().map(|raw| u32::from_be_bytes(*raw))
    }
}

/// A client's message, borrowing from the buffer it was read into.
#[derive(Clone, Copy, Debug)]
pub enum Frontend<'a> {
    /// Statements as text.
    Query(&'a str),
    /// Prepare a statement.
    Parse(Parse<'a>),
    /// Make a portal.
    Bind(Bind<'a>),
    /// Describe a statement or portal.
    Describe(Target<'a>),
    /// Run a portal.
    Execute {
        /// The portal's name.
        portal: &'a str,
        /// Stop after so many rows; `None` is all.
        rows_max: Option<u32>,
    },
    /// Forget a statement or portal.
    Close(Target<'a>),
    /// End of an extended exchange.
    Sync,
    /// Send what has been answered so far.
    Flush,
    /// A piece of copied data, of any length and broken anywhere.
    CopyData(&'a [u8]),
    /// The copied data is complete.
    CopyDone,
    /// The client gives a copy up; [`reason`] reads why, where a copy is under way.
    CopyFail(&'a [u8]),
    /// The client leaves.
    Terminate,
    /// What the client answers while logging in: for [`auth::Exchange::answer`](crate::auth::Exchange::answer).
    Password(&'a [u8]),
    /// A call of the function of that number, which no server of this family serves: refuse it.
    FunctionCall(u32),
}

impl<'a> Frontend<'a> {
    /// The message that `body` is under `tag`.
    #[inline]
    pub fn decode(tag: Tag, body: &'a [u8]) -> Result<Frontend<'a>> {
        let mut rest = Body::new(body, Kind::Statement);
        let message = match tag {
            Tag::Query => Frontend::Query(rest.string()?),
            Tag::Parse => Frontend::Parse(parse(&mut rest)?),
            Tag::Bind => Frontend::Bind(Bind::decode(&mut rest)?),
            Tag::Describe => Frontend::Describe(target(&mut rest, "DESCRIBE")?),
            Tag::Execute => {
                let portal = rest.string()?;
                let rows = rest.i32()?;
                // Zero is "all" in the protocol, and so is a negative number in PostgreSQL.
                Frontend::Execute { portal, rows_max: u32::try_from(rows).ok().filter(|&rows| rows > 0) }
            }
            Tag::Close => Frontend::Close(target(&mut rest, "CLOSE")?),
            Tag::Sync => Frontend::Sync,
            Tag::Flush => Frontend::Flush,
            Tag::CopyData => return Ok(Frontend::CopyData(body)),
            // Outside a copy both mean nothing, whatever is in them; in one, what follows is not looked at.
            Tag::CopyDone => return Ok(Frontend::CopyDone),
            Tag::CopyFail => return Ok(Frontend::CopyFail(body)),
            // Whatever else it says, a client that leaves is let go.
            Tag::Terminate => return Ok(Frontend::Terminate),
            Tag::Password => return Ok(Frontend::Password(body)),
            Tag::FunctionCall => return Ok(Frontend::FunctionCall(rest.u32()?)),
        };
        rest.end()?;
        Ok(message)
    }
}

/// Why a client gives a copy up: what [`Frontend::CopyFail`] says. Errors: `08P01`, `22021`.
pub fn reason(body: &[u8]) -> Result<&str> {
    Body::new(body, Kind::Statement).string()
}

fn parse<'a>(rest: &mut Body<'a>) -> Result<Parse<'a>> {
    let name = rest.string()?;
    let text = rest.string()?;
    let count = usize::from(rest.u16()?);
    let (types, _) = rest.bytes(count * 4)?.as_chunks();
    Ok(Parse { name, text, types })
}

fn target<'a>(rest: &mut Body<'a>, what: &str) -> Result<Target<'a>> {
    let kind = rest.byte()?;
    let name = rest.string()?;
    match kind {
        b'S' => Ok(Target::Statement(name)),
        b'P' => Ok(Target::Portal(name)),
        _ => Err(unknown_target(what, kind)),
    }
}

#[cold]
fn unknown_target(what: &str, kind: u8) -> Error {
    Error::statement(sqlstate::PROTOCOL_VIOLATION, format!("invalid {what} message subtype {kind}"))
}

#[cfg(test)]
mod tests;
