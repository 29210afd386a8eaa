//! How long things may be, and why.
//!
//! A client that has not logged in, or that lost count of its own bytes, must not be able to make the server set memory
//! aside. Every length word is therefore compared with a limit as soon as its four bytes are there. The figures are
//! PostgreSQL's, so that what its clients may send, they may send here.
//!
//! Limits on messages are compared with the message's own length word, which counts itself but not the tag.

/// The longest first packet, length word not counted: it comes from anybody, before any check of who they are.
pub const STARTUP_MAX: usize = 10_000;

/// The longest message that carries no user data (names and counts only): `Describe`, `Execute`, `Close`, `Sync`,
/// `Flush`, `CopyDone`, `CopyFail`, `Terminate`. A longer one means that the client lost the message boundaries.
pub const SMALL_MAX: usize = 10_000;

/// The longest message that carries user data: `Query`, `Parse`, `Bind`, `CopyData`, `FunctionCall`. One byte below
/// what a PostgreSQL allocation may take. A setting may lower it, never raise it.
pub const LARGE_MAX: usize = 0x3fff_fffe;

/// The longest SASL message while logging in: any SCRAM exchange fits, and the client is still a stranger.
pub const SASL_MAX: usize = 1024;

/// The longest text of the two first SCRAM messages that [`Exchange`](crate::auth::Exchange) keeps. With a name of 63
/// bytes (all escaped), a nonce of 64 and a salt of 64 the text has under 460
/// bytes; clients in use make it under 200.
pub const SCRAM_TEXT_MAX: usize = 512;

/// The longest salt of a stored verifier, in bytes. PostgreSQL makes salts of 16.
pub const SCRAM_SALT_MAX: usize = 64;

/// The longest identifier, in bytes: user and database names are cut there, as PostgreSQL cuts them.
pub const NAME_MAX: usize = 63;

/// The longest message that the server sends: what a client's 32-bit signed arithmetic, and PostgreSQL's own clients,
/// are sure to take. A longer row is an error to the statement, not a message.
pub const SENT_MAX: usize = 0x3fff_ffff;

/// The longest name or text in a message that the server sends, in bytes; longer ones are cut. An error may quote a value
/// of any length that a user sent, more than once, and must not thereby become too long to be sent, or fill the
/// session's memory.
pub const TEXT_SENT_MAX: usize = 1 << 20;
