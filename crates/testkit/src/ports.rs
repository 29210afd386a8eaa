//! Ports for the servers that tests start.
//!
//! A test has to name a port before its server can bind it, and three things went wrong with asking the system for one: a
//! probe that *listens* lives on in every child that another thread forks at that moment, and then answers clients in
//! the server's place; a port of the range that the system gives to clients may be some client's before the server
//! binds it; and two test programs may find the same port free. So a probe here binds without listening, below
//! that range, and keeps its socket for as long as the program runs: another probe is refused the port, while a server, which
//! binds with `SO_REUSEADDR` as they all do, is not.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

/// Below what Linux gives to clients (32,768 and up), above what services of the machine use.
const FIRST: u32 = 10_000;
const COUNT: u32 = 22_000;

static HELD: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// A port of the loopback address that nobody listens on, and that no other caller of this function gets while this program
/// runs. Only a server that sets `SO_REUSEADDR` can bind it.
///
/// # Panics
///
/// When none is free.
pub fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(2_654_435_761) >> 8;
    for _ in 0..COUNT {
        let next = begin.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = (FIRST + next % COUNT) as u16;
        if let Some(held) = hold(port) {
            HELD.lock().unwrap_or_else(|error| error.into_inner()).push(held);
            return port;
        }
    }
    panic!("no port between {FIRST} and {} is free", FIRST + COUNT);
}

/// A socket that is bound to the port and does not listen; none if the port is in use.
fn hold(port: u16) -> Option<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("a socket");
    // Without SO_REUSEADDR, which would let it share the port with another probe; set afterwards, it lets the server in.
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)).ok()?;
    sockopt::set_socket_reuseaddr(&socket, true).expect("an option of a socket");
    Some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_port_is_given_once_refuses_clients_and_lets_a_server_in() {
        let (one, other) = (free_port(), free_port());
        assert_ne!(one, other);
        assert!(hold(one).is_none(), "two probes got port {one}");
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, one)).is_err(), "a probe answered a client");
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, one)).expect("a server may have it");
        let _client = TcpStream::connect((Ipv4Addr::LOCALHOST, one)).expect("it listens");
        server.accept().expect("a client came");
    }

    #[test]
    fn a_port_in_use_is_not_given() {
        let port = free_port();
        let _server = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(hold(port).is_none());
    }
}
