//! Answers that an engine with fibers sends together: they are, none waits for a long statement, and what one client does with its own
//! disturbs nobody else's.

use crate::figure;
use crate::support::runner::Test;
use crate::support::{Client, Server, Setup, one_of_three, pooled};
use kernel::config::Sessions;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// Sets of requests that come together, of which one at least must have.
const ROUNDS: usize = 20;

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in pooled().filter(|model| model.1 == Sessions::Fiber) {
        // A request is never interrupted by the end of its slice, so that the order of what runs is that of what came.
        let setup = Setup { engines: 1, time_slice_us: 1_000_000, ..Setup::of(model) };
        let name = format!("{}_{}", model.0, model.1);
        tests.push((format!("gathered::together_{name}"), Box::new(move || together(setup))));
        let alone = Setup { gather_answers: false, ..setup };
        tests.push((format!("gathered::not_where_off_{name}"), Box::new(move || together(alone))));
        tests.push((format!("gathered::without_a_pause_{name}"), Box::new(move || without_a_pause(Setup::of(model)))));
        tests.push((format!("gathered::not_for_long_{name}"), Box::new(move || not_for_long(setup))));
        let behind = move || one_of_three(|| behind_their_answers(setup));
        tests.push((format!("gathered::behind_their_answers_{name}"), Box::new(behind)));
        tests.push((format!("gathered::unwell_{name}"), Box::new(move || unwell(Setup::of(model)))));
    }
    tests
}

/// True where the system lets processes have rings; where it does not, nothing gathers.
fn rings_are_had() -> bool {
    io_uring::IoUring::new(1).is_ok()
}

/// Keeps the only engine busy for some milliseconds, so that what is sent meanwhile has come together when it is done; longer with each
/// round, as this thread may be late where the machine is busy.
fn occupy(client: &mut Client, round: usize) {
    client.send(&format!("compute {}", 2000 * round)).unwrap();
    std::thread::sleep(Duration::from_millis(2));
}

/// More answers than one call takes, each another. Those of sessions in a transaction that others wait for are not among what gathers;
/// those in others are.
fn together(setup: Setup) {
    const CLIENTS: usize = 80;
    const AWAITED: usize = 10;
    const OTHERS: usize = 10;
    let server = Server::start(setup);
    let mut busy = server.connect();
    let mut clients = server.connect_many(CLIENTS);
    clients.iter_mut().take(AWAITED).for_each(|client| client.expect("begin", "ok"));
    clients.iter_mut().skip(AWAITED).take(OTHERS).for_each(|client| client.expect("read", "ok"));
    let mut rounds = 0;
    let gathers = (0..ROUNDS).any(|_| {
        let before = busy.stat("gathered");
        rounds += 1;
        occupy(&mut busy, rounds);
        for (index, client) in clients.iter_mut().enumerate() {
            client.send(&format!("add 0 {}", index + 1)).unwrap();
        }
        for (index, client) in clients.iter_mut().enumerate() {
            assert_eq!(client.line().unwrap(), format!("ok {}", rounds * (index + 1)));
        }
        assert_eq!(busy.line().unwrap(), "ok");
        let gathered = busy.stat("gathered") - before;
        assert!(gathered <= (CLIENTS - AWAITED + 1) as u64, "{gathered}");
        gathered >= (CLIENTS - AWAITED) as u64
    });
    assert_eq!(gathers, setup.gather_answers && rings_are_had(), "{}", setup.name());
    assert!(setup.gather_answers || busy.stat("gathered") == 0);
    drop((busy, clients));
    server.stop();
}

/// Clients that send without a pause go on after an answer that has gathered, beside others and a session that computes: in turns, and
/// each with its own answers.
fn without_a_pause(setup: Setup) {
    const REQUESTS: usize = 20_000;
    let server = Server::start(setup);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut computing = server.connect();
        let done = &done;
        scope.spawn(move || {
            while !done.load(SeqCst) {
                computing.expect("spin 20", "ok");
            }
        });
        for mut client in server.connect_many(3) {
            scope.spawn(move || {
                while !done.load(SeqCst) {
                    client.expect("ping", "pong");
                }
            });
        }
        let streams: Vec<_> = server.connect_many(3);
        let asking: Vec<_> = streams
            .into_iter()
            .enumerate()
            .map(|(index, mut client)| {
                scope.spawn(move || {
                    let mut writer = client.stream().try_clone().unwrap();
                    let asks = std::thread::spawn(move || {
                        writer.write_all(format!("add 1 {}\n", index + 1).repeat(REQUESTS).as_bytes()).unwrap();
                    });
                    for request in 1..=REQUESTS {
                        assert_eq!(client.line().unwrap(), format!("ok {}", request * (index + 1)));
                    }
                    asks.join().unwrap();
                })
            })
            .collect();
        let ends: Vec<_> = asking.into_iter().map(|one| one.join()).collect();
        done.store(true, SeqCst);
        assert!(ends.iter().all(|end| end.is_ok()), "{}", setup.name());
    });
    server.stop();
}

/// An answer that has gathered is sent although the next statement computes for long.
fn not_for_long(setup: Setup) {
    const LONG_MS: u64 = 200;
    let server = Server::start(setup);
    let (mut busy, mut short, mut long) = (server.connect(), server.connect(), server.connect());
    // Connections that are still being accepted would have the answer about the count gather, and the order of requests be another.
    [&mut busy, &mut short, &mut long].into_iter().for_each(|client| client.expect("ping", "pong"));
    let mut counted = Vec::new();
    let seen = (1..=ROUNDS).any(|round| {
        let before = busy.stat("gathered");
        occupy(&mut busy, round);
        short.send("ping").unwrap();
        std::thread::sleep(Duration::from_millis(1));
        long.send(&format!("spin {LONG_MS}")).unwrap();
        assert_eq!(short.line().unwrap(), "pong");
        let answered = Instant::now();
        assert_eq!(long.line().unwrap(), "ok");
        assert!(answered.elapsed() > Duration::from_millis(LONG_MS / 2), "{}: {:?}", setup.name(), answered.elapsed());
        assert_eq!(busy.line().unwrap(), "ok");
        counted.push(busy.stat("gathered") - before);
        counted.last() >= Some(&1)
    });
    assert_eq!(seen, rings_are_had(), "{}: gathered {counted:?}", setup.name());
    server.stop();
}

/// Sessions that go on behind an answer with what their clients have sent with it are not all served before the engine looks at its port:
/// who asks then waits for a few of them.
fn behind_their_answers(setup: Setup) -> Result<(), String> {
    const CLIENTS: u64 = 24;
    /// Longer than all that an engine runs between two looks.
    const HELD_US: u64 = 1000;
    const BEFORE_MAX: u64 = 4;
    const TIMES: u64 = 9;
    let server = Server::start(setup);
    let (mut busy, mut probe) = (server.connect(), server.connect());
    let mut clients = server.connect_many(CLIENTS as usize);
    [&mut busy, &mut probe].into_iter().chain(&mut clients).for_each(|client| client.expect("ping", "pong"));
    let done = |probe: &mut Client| {
        assert!(probe.ask("sums").starts_with("counted="));
        let counts = probe.line().unwrap();
        probe.line().unwrap();
        counts.split(' ').find_map(|pair| pair.strip_prefix("1=")?.parse().ok()).unwrap_or(0)
    };
    let mut before: Vec<u64> = Vec::new();
    for round in 1..=TIMES {
        occupy(&mut busy, round as usize);
        clients.iter_mut().for_each(|client| client.send(&format!("ping\nflush\nadd 1 1 {HELD_US}")).unwrap());
        // Its session goes on first.
        assert_eq!(clients[0].line().unwrap(), "pong");
        before.push(done(&mut probe) - (round - 1) * CLIENTS);
        for client in &mut clients[1..] {
            assert_eq!(client.line().unwrap(), "pong");
        }
        for client in &mut clients {
            assert_eq!(client.line().unwrap(), format!("ok {round}"));
        }
        assert_eq!(busy.line().unwrap(), "ok");
    }
    assert_eq!(done(&mut probe), TIMES * CLIENTS);
    let gathered = probe.stat("gathered");
    server.stop();
    assert!(gathered > 0 || !rings_are_had(), "{}", setup.name());
    figure!(
        "{}: of {CLIENTS} sessions behind their answers went on before another client's request: {before:?}",
        setup.name()
    );
    let mut sorted = before.clone();
    sorted.sort_unstable();
    match sorted[TIMES as usize / 2] <= BEFORE_MAX {
        true => Ok(()),
        false => Err(format!("{}: before another client's request went on {before:?}", setup.name())),
    }
}

/// Clients that do not read, and others that leave before their answer comes: all the rest are answered, and who begins to read finds
/// everything, in order.
fn unwell(setup: Setup) {
    const SIZES: std::ops::Range<usize> = 13_000..13_700;
    let server = Server::start(setup);
    let done = AtomicBool::new(false);
    let slow = server.connect();
    std::thread::scope(|scope| {
        for mut client in server.connect_many(4) {
            let done = &done;
            scope.spawn(move || {
                while !done.load(SeqCst) {
                    client.expect("ping", "pong");
                }
            });
        }
        scope.spawn(|| {
            while !done.load(SeqCst) {
                let mut client = server.connect();
                client.send("ping").unwrap();
                leave_at_once(client);
            }
        });
        // The first of them does not read for a while, and then so slowly that answers are sent in parts.
        let mut stream = slow.stream();
        rustix::net::sockopt::set_socket_recv_buffer_size(stream, 64 << 10).unwrap();
        scope.spawn(move || {
            for size in SIZES {
                stream.write_all(format!("big {size}\n").as_bytes()).unwrap();
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        std::thread::sleep(Duration::from_millis(100));
        let mut expected = Vec::new();
        for size in SIZES {
            let mut answer = vec![b'x'; size];
            (63..size).step_by(64).chain([size - 1]).for_each(|at| answer[at] = b'\n');
            expected.extend(answer);
        }
        let mut found = vec![0; expected.len()];
        let read = found.chunks_mut(5000).try_for_each(|piece| {
            std::thread::sleep(Duration::from_micros(20));
            stream.read_exact(piece)
        });
        done.store(true, SeqCst);
        assert!(read.is_ok() && found == expected, "{}: answers are not what they were: {read:?}", setup.name());
    });
    let mut last = server.connect();
    assert!(last.stat("gathered") > 0 || !rings_are_had(), "{}", setup.name());
    drop(last);
    server.stop();
}

/// Breaks the connection, rather than to end it.
fn leave_at_once(client: Client) {
    rustix::net::sockopt::set_socket_linger(client.stream(), Some(Duration::ZERO)).unwrap();
}
