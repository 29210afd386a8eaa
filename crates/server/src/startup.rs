//! A connection's first messages: requests for encryption, cancel requests, the startup packet. What follows a request for encryption that
//! is granted is [`crate::access::tls`]'s.
//!
//! A client that has sent its startup packet is let in, if there is room: one that only wants to cancel a request needs none.
//!
//! The state between two of them is a plain value, so a client that dawdles holds a parked session and nothing else.

use base::{Error, Result};
use kernel::session::{Interrupt, Session, find};
use protocol::backend;
use protocol::cancel::CancelKey;
use protocol::startup::{First, FirstFramed, Negotiation, Startup};

/// What came of reading the connection's first bytes.
pub enum Begun<T> {
    /// Not everything has come.
    NeedMore,
    /// It was a cancel request, or the client has gone: nothing more is to be done.
    Done,
    /// The client was told that it may encrypt: a handshake comes next.
    Encrypts,
    /// A session: what the closure made of its startup packet.
    Session(T),
}

/// Reads the first packets. `offers_tls` says whether a client may encrypt. `begin` is called with the startup packet, and the output for its answer.
pub fn read<T>(
    negotiation: &mut Negotiation,
    session: &mut Session,
    offers_tls: bool,
    begin: impl FnOnce(&Startup<'_>, &mut Vec<u8>) -> Result<T>,
) -> Result<Begun<T>> {
    let mut begin = Some(begin);
    loop {
        let (input, output) = session.parts();
        let (first, consumed) = match negotiation.next(input)? {
            FirstFramed::NeedMore(_) => return Ok(Begun::NeedMore),
            FirstFramed::Packet { first, consumed } => (first, consumed),
        };
        match first {
            First::Ssl if offers_tls => {
                backend::encryption_accepted(output);
                session.consume(consumed);
                return Ok(Begun::Encrypts);
            }
            First::Ssl | First::Gss => backend::encryption_refused(output),
            First::Cancel(key) => {
                cancel(&key);
                return Ok(Begun::Done);
            }
            First::Startup(startup) => {
                if startup.negotiates() {
                    backend::negotiate_protocol_version(
                        output,
                        startup.protocol_options().collect::<Vec<_>>().into_iter(),
                    );
                }
                kernel::session::admit()?;
                let begin = begin.take().expect("one startup packet is taken");
                let begun = begin(&startup, output)?;
                session.consume(consumed);
                return Ok(Begun::Session(begun));
            }
        }
        session.consume(consumed);
    }
}

/// Cancels the statement of the session that the key opens. A wrong key does nothing and says nothing.
fn cancel(key: &CancelKey) {
    let Some(slot) = u32::try_from(key.session).ok().and_then(find) else { return };
    let generation = slot.generation();
    if key_of(slot.number(), slot.secret()).matches(key) {
        slot.send_interrupt(generation, Interrupt::Cancel);
    }
}

/// A session's cancel key.
pub fn key_of(number: u32, secret: u32) -> CancelKey {
    CancelKey { session: number as i32, secret }
}

/// The bytes for a client that cannot be let in.
pub fn refusal(error: &Error) -> Vec<u8> {
    let mut bytes = Vec::new();
    backend::error_response(&mut bytes, error);
    bytes
}
