//! What the integration tests of the server share: a server under test, and scripts.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod script;
pub mod server;
