//! SQL: from a statement's text to rows, over the storage crate's tables and snapshots.
//!
//! ```text
//!  text --lexer--> key of the cache --parser--> tree --bind--> bound statement --plan--> plan --exec--> rows
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`lexer`] | tokens, and the normaliser that keys the statement cache |
//! | [`row`] | a row as it is stored |
//! | [`large`] | values that are compressed or kept outside their rows |
//! | [`parser`] | from a text to its syntax tree |
//! | [`catalog`] | schemas, tables, views |
//! | [`bind`] | names become columns, types, functions |
//! | [`plan`] | compiled statements: immutable bytes |
//! | [`exec`] | executing them |
//! | [`notification`] | `LISTEN` and `NOTIFY` |
//! | [`procedure`] | procedures of users, and the language that they are written in |
//! | [`session`] | a session: settings, statements, portals, transactions |
//! | [`statement`] | statements that are not planned |
//!
//! Values, what can be done with them and their order as index keys are a crate of their own, [`types`].
#![forbid(unsafe_code)]

pub mod bind;
pub mod catalog;
pub mod exec;
pub mod large;
pub mod lexer;
pub mod notification;
pub mod parser;
pub mod plan;
pub mod procedure;
pub mod row;
pub mod session;
pub mod statement;

pub use types;
pub use types::key;
