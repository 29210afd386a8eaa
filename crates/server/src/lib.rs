//! Gearbox: a relational database server whose process model is a setting.
//!
//! The program is `main.rs`; everything it does is here, so that the simulator's tests serve the same [`serve::Database`] as
//! the program does.
//!
//! | module | what it is |
//! |---|---|
//! | [`options`] | settings from all layers, and the kernel's configuration from them |
//! | [`access`] | who gets in: the file of rules, TLS, wrong passwords |
//! | [`data_directory`] | making, checking and locking the directory of the data |
//! | [`roles`] | who may come in |
//! | [`startup`] | a connection's first messages: encryption, authentication, parameters |
//! | [`limit`] | the service that answers with canned messages: the ceiling of this server |
//! | [`serve`] | the database server itself |
//! | [`views`] | what the server shows of itself |
//!
//! Only [`options`] knows the names of the execution models, and only to hand them on.
#![forbid(unsafe_code)]

pub mod access;
mod data_directory;
pub mod limit;
pub mod options;
pub mod roles;
pub mod serve;
mod startup;
mod views;
