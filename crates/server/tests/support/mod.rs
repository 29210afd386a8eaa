//! What the integration tests of the server share: a server under test, and scripts.

pub mod script;
pub mod server;
