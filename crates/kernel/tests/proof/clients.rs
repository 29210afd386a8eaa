//! Clients that behave badly: slow readers, half-open ones, floods, a byte at a time, sudden ends, and none. Memory stays bounded,
//! and others are served.

use crate::figure;
use crate::support::runner::Test;
use crate::support::{Client, MODELS, Server, Setup, eventually, procs::Memory};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// What a request of well-behaved clients may take meanwhile, for 99 of 100.
const P99: Duration = Duration::from_millis(100);

pub fn tests() -> Vec<Test> {
    let test = |model| -> Test {
        let Setup { engine, sessions, .. } = Setup::of(model);
        (format!("clients::{engine}_{sessions}"), Box::new(move || bad(Setup::of(model))))
    };
    MODELS.into_iter().map(test).collect()
}

fn bad(setup: Setup) {
    let server = Server::start(setup);
    let name = server.setup.name();
    let mut good = server.connect();
    let before = Memory::of_all(&server.processes()).pss;
    let sessions = good.stat("clients");

    // Eight that ask for much and read nothing; four that flood and read nothing.
    let mut readers = server.connect_many(8);
    readers.iter_mut().for_each(|client| client.send("big 1000000000").unwrap());
    let mut floods = server.connect_many(4);
    for client in &mut floods {
        client.stream().set_nonblocking(true).unwrap();
        let pings = "ping\n".repeat(20_000);
        let end = Instant::now() + Duration::from_millis(60);
        while Instant::now() < end {
            let _ = client.stream().write(pings.as_bytes());
        }
    }
    let mut slow = server.connect();
    // A machine that is busy with other things may spoil one try; a server that lets others wait does so in each.
    let p99 = (0..3).map(|_| a_byte_at_a_time(&mut slow, &mut good)).find(|&p99| p99 < P99);
    let p99 = p99.unwrap_or_else(|| panic!("{name}: others wait longer than {P99:?}"));
    let grown = Memory::of_all(&server.processes()).pss.saturating_sub(before);
    figure!("{name}: 8 slow readers and 4 floods cost {grown} KiB; p99 of others {p99:?}");
    assert!(grown < 64 << 10, "{name}: clients that do not read cost {grown} KiB");
    drop((readers, floods, slow));

    ends(&server);
    half_open(&server);
    vanish(&server);
    let gone = eventually(6000, || good.stat("clients") == sessions);
    assert!(gone, "{name}: sessions of clients that have gone are left: {}", good.ask("stat"));
    drop(good);
    server.stop();
}

/// One client sends some commands a byte at a time, and another asks after each byte; answers the 99th percentile of what
/// the latter's answers took.
fn a_byte_at_a_time(slow: &mut Client, good: &mut Client) -> Duration {
    let command = b"put 1 5000 3\nget 1\n";
    let mut took = Vec::new();
    for byte in command.iter().chain(b"ping\n".repeat(30).iter()) {
        slow.stream().write_all(&[*byte]).unwrap();
        let since = Instant::now();
        good.expect("ping", "pong");
        took.push(since.elapsed());
    }
    assert_eq!(slow.line().unwrap(), "ok");
    assert_eq!(slow.line().unwrap(), "value 5000 3");
    (0..30).for_each(|_| assert_eq!(slow.line().unwrap(), "pong"));
    took.sort();
    took[took.len() * 99 / 100]
}

/// Clients that send and close: in one packet, by half, or by a reset. Each one's session ends.
fn ends(server: &Server) {
    for round in 0..20 {
        let client = server.connect();
        client.stream().write_all(b"put 1 100 1\nping\n").unwrap();
        match round % 4 {
            // The last bytes and the end may be one edge.
            0 => client.stream().shutdown(Shutdown::Write).unwrap(),
            1 => {
                client.stream().shutdown(Shutdown::Write).unwrap();
                let mut answer = String::new();
                (&mut client.stream()).read_to_string(&mut answer).unwrap();
                assert_eq!(answer, "ok\npong\n", "what came before the end is answered");
            }
            2 => {
                let linger = libc::linger { l_onoff: 1, l_linger: 0 };
                // SAFETY: an option from a variable of its own type: the close below is a reset.
                unsafe {
                    let bytes = size_of::<libc::linger>() as u32;
                    let option = (&raw const linger).cast();
                    libc::setsockopt(client.stream().as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, option, bytes);
                }
            }
            _ => {}
        }
    }
}

/// A client whose machine has lost its power says nothing any more: the system of the server has to ask.
fn vanish(server: &Server) {
    let mut client = server.connect();
    client.expect("put 1 100 1", "ok");
    let on = 1i32;
    let option = (&raw const on).cast();
    // SAFETY: an option of four bytes from a variable of four bytes: the close below sends nothing.
    let quiet =
        unsafe { libc::setsockopt(client.stream().as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_REPAIR, option, 4) };
    if quiet != 0 {
        figure!("{}: a client that vanishes is not tried without the rights to", server.setup.name());
    }
}

/// A client that has stopped sending still reads: it gets its answers, a long one too, and then the end.
fn half_open(server: &Server) {
    let mut client = server.connect();
    client.send("sleep 30\nbig 3000000\nping").unwrap();
    client.stream().shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    client.stream().read_to_end(&mut answer).unwrap();
    assert_eq!(answer.len(), 3 + 3_000_000 + 5, "a half-open client gets every answer");
    assert!(answer.ends_with(b"pong\n"));
}
