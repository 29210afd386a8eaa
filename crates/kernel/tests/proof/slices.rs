//! No time slice is unlimited: with one engine, a session that computes for seconds, and a client that never stops asking,
//! do not keep others waiting.

use crate::figure;
use crate::support::runner::Test;
use crate::support::{Client, Dice, Server, Setup, one_of_three, pooled};
use kernel::config::Sessions;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// What 99 of 100 requests of others may take at most: of a server that has a CPU to itself.
const P99: Duration = Duration::from_millis(50);

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in pooled() {
        let name = format!("{}_{}", model.0, model.1);
        tests.push((
            format!("slices::computing_{name}"),
            Box::new(move || one_of_three(|| computing(Setup::of(model)))),
        ));
        tests.push((format!("slices::asking_{name}"), Box::new(move || one_of_three(|| asking(Setup::of(model))))));
        tests.push((format!("slices::fair_{name}"), Box::new(move || one_of_three(|| fair(Setup::of(model))))));
        if model.1 == Sessions::Fiber {
            let first = move || one_of_three(|| transactions_first(Setup::of(model)));
            tests.push((format!("slices::transactions_first_{name}"), Box::new(first)));
            let alike = move || one_of_three(|| long_ones_alike(Setup::of(model)));
            tests.push((format!("slices::long_ones_alike_{name}"), Box::new(alike)));
        }
    }
    tests
}

/// Round trips of other clients.
struct Others {
    count: usize,
    p99: Duration,
    worst: Duration,
    /// How much of a CPU the server had meanwhile, at most one. It wants all that it can get, so where it had less the
    /// machine did other things.
    share: f64,
}

impl Others {
    fn in_time(&self, otherwise: &str) -> Result<(), String> {
        match self.p99.mul_f64(self.share) < P99 {
            true => Ok(()),
            false => Err(format!("{otherwise}: {self}")),
        }
    }
}

impl std::fmt::Display for Others {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Others { count, p99, worst, share } = self;
        write!(f, "{count} requests, p99 {p99:?}, longest {worst:?}, with {:.0} % of a CPU", share * 100.0)
    }
}

/// Lets other clients ask for as long as `busy` says.
fn others(server: &Server, busy: impl Fn() -> bool) -> Others {
    let mut clients = server.connect_many(4);
    let mut took = Vec::new();
    let (ticks, since) = (server.cpu_ticks(), Instant::now());
    while busy() {
        for client in &mut clients {
            let since = Instant::now();
            client.expect("ping", "pong");
            took.push(since.elapsed());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    // Ticks are hundredths of a second.
    let share = (server.cpu_ticks() - ticks) as f64 / 100.0 / since.elapsed().as_secs_f64();
    took.sort();
    let (count, worst) = (took.len(), *took.last().unwrap());
    Others { count, p99: took[count * 99 / 100], worst, share: share.min(1.0) }
}

fn computing(setup: Setup) -> Result<(), String> {
    let server = Server::start(Setup { engines: 1, ..setup });
    let name = server.setup.name();
    let mut computers = server.connect_many(3);
    let begin = Instant::now();
    computers.iter_mut().for_each(|client| client.send("spin 1200").unwrap());
    let others = others(&server, || begin.elapsed() < Duration::from_millis(1000));
    computers.iter_mut().for_each(|client| {
        client.limit(Duration::from_secs(20));
        assert_eq!(client.line().unwrap(), "ok");
    });
    figure!("{name}: one engine, 3 sessions computing: of others {others}");
    if setup.sessions == Sessions::Fiber {
        assert!(server.connect().stat("slices") > 0, "{name}: nobody yielded");
    }
    drop(computers);
    server.stop();
    others.in_time(&format!("{name}: requests of others while three compute"))
}

/// Who needs several slices in an open transaction does not stand behind everybody who computes for long, for each of them.
fn transactions_first(setup: Setup) -> Result<(), String> {
    const COMPUTING: u32 = 12;
    const FIVE_SLICES: Duration = Duration::from_micros(1250);
    let server = Server::start(Setup { engines: 1, ..setup });
    let name = server.setup.name();
    let mut computers = server.connect_many(COMPUTING as usize);
    let mut client = server.connect();
    let took = |client: &mut Client, steps: u64| {
        let since = Instant::now();
        client.expect(&format!("compute {steps}"), "ok");
        since.elapsed()
    };
    // Five slices on this machine, fewer than go first.
    let steps = (0..3).map(|_| 200 * FIVE_SLICES.as_nanos() as u64 / took(&mut client, 200).as_nanos() as u64).max();
    let steps = steps.expect("tried three times").max(1);
    computers.iter_mut().for_each(|client| client.send("spin 1000").unwrap());
    // With a turn of the others between two slices, or with a fifth of one.
    let alone = took(&mut client, steps);
    client.expect("begin", "ok");
    let inside = took(&mut client, steps);
    figure!("{name}: one engine, {COMPUTING} computing: {steps} steps take {alone:?}, in a transaction {inside:?}");
    computers.iter_mut().for_each(|client| {
        client.limit(Duration::from_secs(20));
        assert_eq!(client.line().unwrap(), "ok");
    });
    drop(computers);
    server.stop();
    match inside * 2 < alone {
        true => Ok(()),
        false => Err(format!("{name}: a transaction takes {inside:?}, another session {alone:?}")),
    }
}

/// Who computes for long in an open transaction has no more of the engine than who is in none.
fn long_ones_alike(setup: Setup) -> Result<(), String> {
    let server = Server::start(Setup { engines: 1, ..setup });
    let name = server.setup.name();
    let mut clients = server.connect_many(2);
    clients[0].expect("begin", "ok");
    let since = Instant::now();
    let took: Vec<Duration> = std::thread::scope(|scope| {
        let computing = clients.iter_mut().map(|client| {
            scope.spawn(move || {
                client.limit(Duration::from_secs(20));
                client.expect("compute 20000", "ok");
                since.elapsed()
            })
        });
        let computing: Vec<_> = computing.collect();
        computing.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    figure!("{name}: one engine: 20,000 steps in a transaction take {:?}, beside it {:?}", took[0], took[1]);
    drop(clients);
    server.stop();
    match took[0] * 5 > took[1] * 4 {
        true => Ok(()),
        false => Err(format!("{name}: in a transaction {:?}, beside it {:?}", took[0], took[1])),
    }
}

/// Clients that are all alike get alike: none is served much less often than another, whatever its slot and its engine.
///
/// One thread drives all of them, and looks at all of them in turn: so it is the server, not the system's scheduler, that
/// decides who gets how much.
fn fair(setup: Setup) -> Result<(), String> {
    const CLIENTS: usize = 48;
    let server = Server::start(setup);
    let name = server.setup.name();
    let mut clients = server.connect_many(CLIENTS);
    let mut polls: Vec<libc::pollfd> = clients
        .iter()
        .map(|client| libc::pollfd { fd: client.stream().as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let mut counts = [0u32; CLIENTS];
    let mut dice = Dice(1);
    // Every client has a request out at any time, each of some microseconds.
    clients.iter_mut().for_each(|client| client.send("add 1 1 50").unwrap());
    let end = Instant::now() + Duration::from_millis(1200);
    while Instant::now() < end {
        // SAFETY: the array is valid for the call and as long as it says.
        let ready = unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, 1000) };
        assert!(ready > 0, "{name}: nobody is served for a second");
        // Beginning anywhere: what is answered during one turn is seen in the next one, and so the last would have less.
        let first = dice.below(CLIENTS);
        for at in (first..CLIENTS).chain(0..first).filter(|&at| polls[at].revents != 0) {
            assert!(clients[at].line().unwrap().starts_with("ok "), "{name}: an answer");
            counts[at] += 1;
            clients[at].send("add 1 1 50").unwrap();
        }
    }
    let mut by_engine: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (client, &count) in clients.iter_mut().zip(&counts) {
        client.line().unwrap();
        by_engine.entry(client.who().engine).or_default().push(count);
    }
    counts.sort_unstable();
    let (least, most) = (counts[0], counts[CLIENTS - 1]);
    figure!("{name}: of {CLIENTS} clients that never pause, one got {least} answers, one {most}");
    server.stop();
    if least * 3 >= most { Ok(()) } else { Err(format!("{name}: by engine {by_engine:?}")) }
}

/// A client that sends as fast as the server reads.
fn asking(setup: Setup) -> Result<(), String> {
    let server = Server::start(Setup { engines: 1, ..setup });
    let name = server.setup.name();
    let mut flood = server.connect().stream().try_clone().unwrap();
    let mut answers = flood.try_clone().unwrap();
    let others = std::thread::scope(|scope| {
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
        let others = others(&server, || begin.elapsed() < Duration::from_millis(1000));
        reader.shutdown(std::net::Shutdown::Both).unwrap();
        figure!("{name}: one engine, a client that never pauses: of others {others}");
        others
    });
    server.stop();
    others.in_time(&format!("{name}: requests of others while one never pauses"))
}
