//! What the tests of storage against a running kernel share: a table in the simplest form that uses all of storage, and a
//! service around it.

pub mod rows;
pub mod service;
