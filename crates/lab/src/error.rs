//! What can go wrong in the lab, as the server's own error type says it: message, detail, hint.
//!
//! Nothing here is expected to happen in a run that works. What a *server* answers to a statement is counted by the
//! driver, not raised.

use base::sqlstate;
use base::{Error, Result};
use std::fmt::Display;
use std::path::Path;

/// The user asked for something that cannot be: `22023`. Comes with a hint by [`Error::hint`].
pub fn usage(message: impl Into<String>) -> Error {
    Error::session(sqlstate::INVALID_PARAMETER_VALUE, message.into())
}

/// A server that should be there is not, ended, or answers nonsense: `08006`.
pub fn server(message: impl Into<String>) -> Error {
    Error::session(sqlstate::CONNECTION_FAILURE, message.into())
}

/// The system refused something about a file: `58030`, with the file's name.
pub fn file(path: &Path, error: impl Display) -> Error {
    Error::session(sqlstate::IO_ERROR, format!("{}: {error}", path.display()))
}

/// The system refused something else: `58000`.
pub fn system(what: &str, error: impl Display) -> Error {
    Error::session(sqlstate::SYSTEM_ERROR, format!("{what}: {error}"))
}

/// Adds the file's name to what the standard library says of it.
pub trait OfFile<T> {
    /// `58030` with the file's name.
    fn of(self, path: &Path) -> Result<T>;
}

impl<T> OfFile<T> for std::io::Result<T> {
    fn of(self, path: &Path) -> Result<T> {
        self.map_err(|error| file(path, error))
    }
}
