//! The PostgreSQL wire protocol, version 3, as values: bytes in, messages out.
//!
//! ```text
//!   bytes of a new connection ──> startup::Negotiation::next ──> First::{Ssl, Gss, Cancel, Startup}
//!   bytes while logging in    ──> frontend::next_sasl ──> auth::Exchange::answer
//!   bytes of a session        ──> frontend::next ──> Framed::Message ──> Frontend::decode
//!   what the server says      ──> backend::* ──> a Sink
//! ```
//!
//! Rules
//! 1. No I/O, no clock, no chance: nonces, salts and secrets are arguments, so a seed replays every byte. TLS handshakes ([`tls`]) are
//!    the exception: their chance is the system's.
//! 2. Decoding borrows from the caller's bytes and allocates nothing; whatever is handed out has been validated, so that
//!    a lazy iterator over it cannot fail. Encoding appends to the caller's [`Sink`].
//! 3. What must outlive a request ([`Negotiation`](startup::Negotiation), [`Exchange`](auth::Exchange),
//!    [`CancelKey`]) is `Copy`, `#[repr(C)]` and holds no heap, no address: a session parks with it as it is.
//! 4. No input panics. Bytes that are not the protocol are an [`Error`](base::Error) with PostgreSQL's SQLSTATE and
//!    words. Its [`Kind`](base::Kind) says what is lost: `Session` where message boundaries are in doubt or nobody has
//!    logged in yet, `Statement` where only a message's body is bad and the next message can be found.
//! 5. A length that a client claims is checked before anything is done with it ([`limits`]).
//!
//! Life of a request: the server reads into its buffer and calls [`frontend::next`], which either asks for more bytes or
//! gives the message's tag and body; [`Frontend::decode`](frontend::Frontend::decode) makes it a value that borrows from
//! the buffer; the answer is appended by functions of [`backend`], whose builders leave nothing behind when they are
//! dropped unfinished.
//!
//! It does not decide what a message means in a session's state (an unknown portal, a `Sync` after an error, a copy
//! under way): that is the server's. It does not interpret parameter values: that is the type's input function.
#![forbid(unsafe_code)]

pub mod auth;
pub mod backend;
mod body;
pub mod cancel;
pub mod frontend;
pub mod fuzz;
pub mod limits;
pub mod sink;
pub mod startup;
pub mod tls;

pub use body::utf8;
pub use cancel::CancelKey;
pub use sink::Sink;

/// How a value is written: the format codes of `Bind`, `RowDescription` and the copy responses.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// The type's text form, not terminated.
    #[default]
    Text = 0,
    /// The type's binary form.
    Binary = 1,
}
