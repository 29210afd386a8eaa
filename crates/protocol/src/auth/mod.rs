//! Who the client is: SCRAM-SHA-256, the server's side (RFC 5802, RFC 7677).
//!
//! ```text
//!   client                                        server
//!     <── AuthenticationSASL "SCRAM-SHA-256"        Exchange::new
//!     ──> n,,n=,r=<client nonce>                    stores it, adds its own nonce
//!     <── r=<both nonces>,s=<salt>,i=<iterations>
//!     ──> c=biws,r=<both nonces>,p=<proof>          compares H(proof ^ HMAC(StoredKey, all of the above)) with StoredKey
//!     <── v=<HMAC(ServerKey, all of the above)>     Progress::Authenticated: the server knows the keys, too
//! ```
//!
//! The password itself is never sent and never stored: a [`Verifier`] is enough to check a proof, and not enough to
//! make one.
//!
//! Rules
//! 1. Salts, nonces and the server's secret are arguments, from the operating system's randomness by way of the caller.
//! 2. An [`Exchange`] is a value of fixed size: a session that waits for the client's answer parks with it.
//! 3. A user that does not exist, may not log in, or has no password, goes through the same exchange with the same
//!    messages ([`Verifier::mock`]), and fails at its end with the same words: what can be learnt from outside is
//!    whether a name *and* a password are right. Everything secret is compared in constant time.
//! 4. Over TLS the exchange may be bound to the connection: the client signs the hash of the certificate that it was shown
//!    (`tls-server-end-point`), so that somebody in the middle with another certificate cannot pass the proof on. A client that
//!    could bind and believes that the server cannot (`y`) has been lied to, and is refused. Without TLS `n` and `y` go on, `p=`
//!    is refused.
//! 5. Every error ends the connection. The messages are PostgreSQL's.
//!
//! Passwords are prepared by SASLprep where they can be; one that is not UTF-8, or has characters that SASLprep
//! forbids, is used as its bytes are, by PostgreSQL's clients and servers alike ([`Verifier::from_password`]).

mod scram;
mod verifier;

pub use scram::{Exchange, Nonce, Progress};
pub use verifier::{Salt, ServerSecret, Verifier};

use base::{Error, sqlstate};

/// The name of the one mechanism.
pub const MECHANISM: &str = "SCRAM-SHA-256";

/// Its name where it is bound to the connection.
pub const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// How many iterations a new verifier gets: PostgreSQL's figure.
pub const ITERATIONS: u32 = 4096;

/// What a wrong password is answered with, and a user that is not there.
pub fn password_failed(user: &str) -> Error {
    Error::session(sqlstate::INVALID_PASSWORD, format!("password authentication failed for user \"{user}\""))
}
