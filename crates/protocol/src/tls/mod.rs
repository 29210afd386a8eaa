//! TLS as values: the handshake by `rustls`, and after it the records, whose keys are plain bytes that a session parks with.
//!
//! ```text
//!   SSLRequest ──> 'S' ──> Handshake::take, record by record ──> Handshake::finish ──> Records, Secured
//!                          rustls; on one engine, within          this crate; taken up and put away
//!                          one request                            at each request, on any engine
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | [`mod@config`] | certificates and keys of the server, what clients may present |
//! | [`handshake`] | a connection's handshake |
//! | [`records`] | opening and sealing what comes after it |
//! | [`key`] | one direction's key, and the next one |
//! | [`certificate`] | the few facts of a certificate that logging in needs |
//!
//! Rules
//! 1. A connection of `rustls` is memory of one process, so it does not outlive the handshake. What is kept is its secrets, its cipher
//!    and how many records have gone each way ([`Records::put_away`]): the same bytes mean the same to every process.
//! 2. Nothing is resumed: no tickets, no identifiers of sessions, no early data, no renegotiation. So there is no state beside the
//!    connection's, and what comes after the handshake is application data, alerts and TLS 1.3's key updates.
//! 3. The handshake's chance is the operating system's, by way of `ring`; the time, for certificates, is an argument.
//! 4. Any record that does not open ends the connection.

pub mod certificate;
pub mod config;
pub mod handshake;
pub mod key;
pub mod records;

pub use config::{Config, Files, Version};
pub use handshake::{Handshake, Secured};
pub use records::{Opened, Records};

/// How much follows a record's header at most: TLS 1.2 allows more than TLS 1.3.
pub(crate) const RECORD_MAX: usize = (16 << 10) + 2048;
/// A record's type, version and length.
pub(crate) const HEADER: usize = 5;

#[cfg(test)]
mod tests;
