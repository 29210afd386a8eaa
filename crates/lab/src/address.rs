//! Where a server listens, and in which protocol.

use std::net::SocketAddr;

/// The protocol that a server speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wire {
    /// PostgreSQL's, version 3.
    Postgres,
    /// MySQL's, as MariaDB speaks it.
    Mysql,
}

/// Everything that is needed to connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// The protocol.
    pub wire: Wire,
    /// Where it listens.
    pub socket: SocketAddr,
    /// The user to connect as.
    pub user: String,
    /// The database to connect to.
    pub database: String,
    /// The password, for servers that ask for one.
    pub password: Option<String>,
}
