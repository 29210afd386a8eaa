//! No time slice is unlimited: with one engine, a session that computes for seconds, and a client that never stops asking,
//! do not keep others waiting.

use crate::figure;
use crate::support::runner::Test;
use crate::support::{Server, Setup, pooled};
use kernel::config::Sessions;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// What 99 of 100 requests of others may take at most.
const P99: Duration = Duration::from_millis(50);

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in pooled() {
        let name = format!("{}_{}", model.0, model.1);
        tests.push((format!("slices::computing_{name}"), Box::new(move || computing(Setup::of(model)))));
        tests.push((format!("slices::asking_{name}"), Box::new(move || asking(Setup::of(model)))));
        tests.push((format!("slices::fair_{name}"), Box::new(move || fair(Setup::of(model)))));
    }
    tests
}

/// Round trips of other clients for as long as `busy` says: the 99th percentile and the longest, after a request that was
/// seen to wait for an engine at all.
fn others(server: &Server, busy: impl Fn() -> bool) -> (usize, Duration, Duration) {
    let mut clients = server.connect_many(4);
    let mut took = Vec::new();
    while busy() {
        for client in &mut clients {
            let since = Instant::now();
            client.expect("ping", "pong");
            took.push(since.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    took.sort();
    (took.len(), took[took.len() * 99 / 100], *took.last().unwrap())
}

fn computing(setup: Setup) {
    let server = Server::start(Setup { engines: 1, ..setup });
    let name = server.setup.name();
    let mut computers = server.connect_many(3);
    let begin = Instant::now();
    computers.iter_mut().for_each(|client| client.send("spin 2000").unwrap());
    let (count, p99, worst) = others(&server, || begin.elapsed() < Duration::from_millis(1800));
    computers.iter_mut().for_each(|client| {
        client.limit(Duration::from_secs(20));
        assert_eq!(client.line().unwrap(), "ok");
    });
    figure!("{name}: one engine, 3 sessions computing: {count} requests of others, p99 {p99:?}, longest {worst:?}");
    assert!(p99 < P99, "{name}: a request of others takes {p99:?} while three compute");
    if setup.sessions == Sessions::Fiber {
        assert!(server.connect().stat("slices") > 0, "{name}: nobody yielded");
    }
    drop(computers);
    server.stop();
}

/// Clients that are all alike get alike: none is served much less often than another, whatever its slot.
fn fair(setup: Setup) {
    const CLIENTS: usize = 48;
    let server = Server::start(setup);
    let name = server.setup.name();
    let clients = server.connect_many(CLIENTS);
    let end = Instant::now() + Duration::from_millis(1500);
    // Eight threads drive six clients each: every client has a request out at any time, each of some microseconds.
    let mut counts: Vec<usize> = std::thread::scope(|scope| {
        let mut groups: Vec<Vec<_>> = (0..8).map(|_| Vec::new()).collect();
        clients.into_iter().enumerate().for_each(|(index, client)| groups[index % 8].push(client));
        let drive = |mut group: Vec<crate::support::Client>| {
            move || {
                let mut counts = vec![0; group.len()];
                group.iter_mut().for_each(|client| client.send("add 1 1 50").unwrap());
                while Instant::now() < end {
                    for (client, count) in group.iter_mut().zip(&mut counts) {
                        client.stream().set_nonblocking(true).unwrap();
                        let answer = client.line();
                        client.stream().set_nonblocking(false).unwrap();
                        if answer.is_ok() {
                            *count += 1;
                            client.send("add 1 1 50").unwrap();
                        }
                    }
                    std::thread::yield_now();
                }
                counts
            }
        };
        let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(drive(group))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    counts.sort_unstable();
    let (least, most) = (counts[0], counts[CLIENTS - 1]);
    figure!("{name}: of {CLIENTS} clients that never pause, one got {least} answers, one {most}");
    assert!(least > 0 && least * 4 >= most, "{name}: {counts:?}");
    server.stop();
}

/// A client that sends as fast as the server reads.
fn asking(setup: Setup) {
    let server = Server::start(Setup { engines: 1, ..setup });
    let name = server.setup.name();
    let mut flood = server.connect().stream().try_clone().unwrap();
    let mut answers = flood.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let pings = "ping\n".repeat(4000);
            while flood.write_all(pings.as_bytes()).is_ok() {}
        });
        let reader = answers.try_clone().unwrap();
        scope.spawn(move || {
            let mut answered = 0;
            let mut part = vec![0; 1 << 20];
            while let Ok(count @ 1..) = answers.read(&mut part) {
                answered += count / 5;
            }
            assert!(answered > 100_000, "only {answered} were answered");
        });
        let begin = Instant::now();
        let (count, p99, worst) = others(&server, || begin.elapsed() < Duration::from_millis(1500));
        reader.shutdown(std::net::Shutdown::Both).unwrap();
        figure!("{name}: one engine, a client that never pauses: {count} requests, p99 {p99:?}, longest {worst:?}");
        assert!(p99 < P99, "{name}: a request of others takes {p99:?} while one never pauses");
    });
    server.stop();
}
