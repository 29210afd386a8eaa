//! The words that every other crate uses: identifiers, log positions, errors with their SQLSTATE, byte codecs.
//!
//! Rules
//! 1. No I/O, no time, no threads, no globals: everything here is a value.
//! 2. An identifier is a newtype; its raw number is reached by `.0` and printed by `Display`.
//! 3. One table of SQLSTATEs ([`sqlstate`]) and one of settings (module `settings`): code, views and manual read them.
#![forbid(unsafe_code)]

pub mod codec;
pub mod error;
pub mod ids;
pub mod settings;
pub mod sqlstate;

pub use error::{Error, Kind, Object, Result};
pub use ids::{EngineId, HostId, Lsn, PageId, RelId, SessionId, Xid};
pub use sqlstate::SqlState;
