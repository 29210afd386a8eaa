//! A death takes what was running there, and no more: chosen deaths, one at a time, each in its own state.
//!
//! | dies | what ends |
//! |---|---|
//! | a process host, running or waiting, with a shared latch or without | the sessions that were running there |
//! | the host of a group of threads | the sessions of that group |
//! | any host inside a critical section, with a spinlock or an exclusive latch, or because it cannot go on | everything, which comes back by itself |
//! | the background host, also while it recovers | the same |
//! | the supervisor | everything, for good; the next server on that directory clears up |
//! | a session, by a bug | that session |

use crate::figure;
use crate::support::runner::Test;
use crate::support::service::SLOW_RECOVERY;
use crate::support::{Client, MODELS, PRIMITIVES, Server, Setup, eventually};
use kernel::config::{EngineKind, Primitive, Sessions};
use std::time::{Duration, Instant};

/// What may pass between a death and the next good answer.
const SOON: Duration = Duration::from_secs(2);

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in MODELS {
        let name = format!("{}_{}", model.0, model.1);
        if model.0 == EngineKind::Process {
            tests.push((format!("deaths::host_{name}"), Box::new(move || hosts(Setup::of(model)))));
            tests.push((format!("deaths::all_{name}"), Box::new(move || all_at_once(Setup::of(model)))));
        } else {
            tests.push((format!("deaths::group_{name}"), Box::new(move || group(Setup::of(model)))));
        }
        tests.push((format!("deaths::restart_{name}"), Box::new(move || restarts(Setup::of(model)))));
        tests.push((format!("deaths::recovery_{name}"), Box::new(move || recovery(Setup::of(model)))));
        tests.push((format!("deaths::stopping_{name}"), Box::new(move || stopping(Setup::of(model)))));
        tests.push((format!("deaths::bug_{name}"), Box::new(move || bug(Setup::of(model)))));
        tests.push((format!("deaths::supervisor_{name}"), Box::new(move || supervisor(Setup::of(model)))));
    }
    tests
}

/// Kills a host, a moment after the last answer: who has just answered may still be running.
fn kill(pid: i32) {
    std::thread::sleep(Duration::from_millis(10));
    // SAFETY: plain system call; the process is one of the server's that this test started.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Waits until the observer sees session `number` wait for that; answers the process that it waits in.
fn waits(observer: &mut Client, number: u32, event: &str) -> i32 {
    let mut answer = String::new();
    let seen = eventually(2000, || {
        answer = observer.ask(&format!("number {number}"));
        answer.starts_with(&format!("busy {event} "))
    });
    assert!(seen, "session {number} does not wait for {event}: {answer}");
    answer.rsplit(' ').next().unwrap().parse().unwrap()
}

/// A client that was not on the dead host goes on: the same connection, the same state.
fn goes_on(clients: &mut [Client]) {
    for (index, client) in clients.iter_mut().enumerate() {
        client.expect("get 1", &format!("value 3000 {index}"));
        client.expect("add 200 0", "ok 5");
    }
}

fn hosts(setup: Setup) {
    for &primitive in PRIMITIVES {
        let server = Server::start(Setup { primitive, ..setup });
        let mut observer = server.connect();
        let baseline = observer.stat("arenas");
        let mut bystanders = server.connect_many(6);
        for (index, client) in bystanders.iter_mut().enumerate() {
            client.expect(&format!("put 1 3000 {index}"), "ok");
            client.expect("add 200 5", "ok 5");
        }
        one_dies(&server, &mut observer, &mut bystanders);
        drop(bystanders);
        let left = eventually(2000, || observer.stat("clients") == 1 && observer.stat("arenas") <= baseline + 4096);
        assert!(left, "{}: {}", server.setup.name(), observer.ask("stat"));
        drop(observer);
        server.stop();
    }
}

fn one_dies(server: &Server, observer: &mut Client, bystanders: &mut [Client]) {
    let name = server.setup.name();
    let mut slowest = Duration::ZERO;
    // While it runs, and with a latch that others may hold too.
    for how in ["plain", "shared"] {
        let mut client = server.connect();
        client.expect("put 1 100000 1", "ok");
        let since = Instant::now();
        client.send(&format!("die {how}")).unwrap();
        assert!(client.is_closed_within(SOON), "{name}: the connection of a dead session stays open");
        goes_on(bystanders);
        slowest = slowest.max(since.elapsed());
        // The latch that it held with others is free.
        bystanders[0].expect("ladd 0 0", "ok 5");
    }
    // While it waits: for a post, for a latch that others hold, for time.
    let mut holder = server.connect();
    holder.send("ladd 3 1 400").unwrap();
    let number = held(observer, server);
    let keeps = waits_in(observer, number);
    for (command, event) in [("wait 3", "Test"), ("sleep 60000", "PgSleep"), ("ladd 3 1", "Test")] {
        // Fibers of one engine die together; who holds the latch alone is to live.
        let mut client = server.connect();
        while server.setup.sessions == Sessions::Fiber && client.who().pid == keeps {
            client = server.connect();
        }
        let number = client.who().number;
        client.send(command).unwrap();
        let pid = waits(observer, number, event);
        assert_ne!(pid, keeps, "{name}: two sessions hold one engine");
        kill(pid);
        assert!(client.is_closed_within(SOON), "{name}: {command}: the connection of a dead session stays open");
        goes_on(bystanders);
    }
    holder.limit(SOON);
    assert_eq!(holder.line().unwrap(), "ok 1", "{name}: who held the latch goes on");
    // Nobody is in its list any more, and it is free.
    bystanders[1].expect("ladd 3 0", "ok 5");
    bystanders[2].expect("post 3 1", "ok");
    bystanders[3].expect("wait 3", "ok");
    assert_eq!(observer.stat("restarts"), 0, "{name}: the server has restarted");
    figure!("{name}: the slowest answer of others after a death: {slowest:?}");
}

/// Every host of the group at once: more deaths than a message queue holds.
fn all_at_once(setup: Setup) {
    const CLIENTS: usize = 400;
    let mut server = Server::start(Setup { max_connections: 500, ..setup });
    server.expected = vec!["restarts and recovers"];
    let name = server.setup.name();
    for _ in 0..2 {
        let mut clients = server.connect_many(CLIENTS);
        clients[0].send("wait 1").unwrap();
        clients[1].send("sleep 60000").unwrap();
        let background = clients[2].stat("background") as i32;
        std::thread::sleep(Duration::from_millis(10));
        let since = Instant::now();
        for pid in server.hosts(background) {
            // SAFETY: plain system call; the process is one of the server's that this test started.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        // Those that rest in a pooled group have nothing to do with it.
        let pooled = server.setup.sessions != Sessions::Dedicated;
        let first = if pooled { 3 } else { 0 };
        for client in clients.iter_mut().skip(first) {
            match pooled {
                true => client.expect("ping", "pong"),
                false => assert!(client.is_closed_within(SOON)),
            }
        }
        let mut client = server.connect();
        client.expect("ladd 1 1", &format!("ok {}", 1));
        let took = since.elapsed();
        figure!("{name}: all hosts of {CLIENTS} sessions killed at once; served again after {} ms", took.as_millis());
        assert!(took < Duration::from_secs(3), "{name}: served again after {took:?}");
        drop(clients);
        assert!(eventually(3000, || client.stat("clients") == 1), "{name}: {}", client.ask("stat"));
    }
    server.stop();
}

/// The number of the session that holds a latch while it sleeps.
fn held(observer: &mut Client, server: &Server) -> u32 {
    let mut found = 0;
    let begun = eventually(2000, || {
        let answer = observer.ask("waiters PgSleep");
        found = answer.split(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0);
        found != 0
    });
    assert!(begun, "{}: the holder does not sleep", server.setup.name());
    found
}

/// The process that a session runs in.
fn waits_in(observer: &mut Client, number: u32) -> i32 {
    observer.ask(&format!("number {number}")).rsplit(' ').next().unwrap().parse().unwrap()
}

fn group(setup: Setup) {
    for &primitive in PRIMITIVES {
        let server = Server::start(Setup { primitive, ..setup });
        let name = server.setup.name();
        for round in 0..3 {
            let mut clients = server.connect_many(10);
            clients[0].expect("put 1 100000 1", "ok");
            clients[1].send("wait 3").unwrap();
            clients[2].send("lread 3 60000").unwrap();
            clients[3].send("sleep 60000").unwrap();
            std::thread::sleep(Duration::from_millis(10));
            let pid = clients[0].who().pid;
            let since = Instant::now();
            kill(pid);
            for client in &mut clients {
                assert!(client.is_closed_within(SOON), "{name}, round {round}: a connection stays open");
            }
            let mut client = server.connect();
            client.limit(SOON);
            assert_ne!(client.who().pid, pid);
            assert!(since.elapsed() < SOON, "{name}: the group came back after {:?}", since.elapsed());
            client.expect("ladd 3 1", "ok 1");
            assert_eq!(client.stat("restarts"), 0, "{name}: the server has restarted");
            assert!(eventually(1000, || client.stat("clients") == 1), "{name}: {}", client.ask("stat"));
            assert!(client.stat("arenas") <= 4096, "{name}: {}", client.ask("stat"));
        }
        server.stop();
    }
}

fn restarts(setup: Setup) {
    let mut server = Server::start(Setup { primitive: Primitive::Sysv, ..setup });
    server.expected = vec!["restarts and recovers"];
    let name = server.setup.name();
    let mut slowest = Duration::ZERO;
    for (count, how) in ["spin", "critical", "exclusive", "unable", "background"].into_iter().enumerate() {
        let mut others = server.connect_many(5);
        let mut client = server.connect();
        client.expect("put 1 1000000 1", "ok");
        let since = Instant::now();
        match how {
            "background" => kill(client.stat("background") as i32),
            how => client.send(&format!("die {how}")).unwrap(),
        }
        server.wait_ready(Duration::from_secs(5));
        for client in others.iter_mut().chain([&mut client]) {
            assert!(client.is_closed_within(SOON), "{name}: {how}: a connection outlives the restart");
        }
        let mut client = server.connect();
        assert_eq!(client.stat("restarts"), count as u64 + 1, "{name}: restarts are counted");
        assert_eq!(client.stat("clients"), 1);
        client.expect("ladd 0 7", "ok 7");
        client.expect("add 0 7", "ok 14");
        slowest = slowest.max(since.elapsed());
        assert!(slowest < SOON, "{name}: {how}: the restart took {slowest:?}");
    }
    figure!("{name}: the slowest of five restarts took {} ms", slowest.as_millis());
    server.stop();
}

/// The background host is killed while it recovers from its own death: the server recovers from that, too.
fn recovery(setup: Setup) {
    let mut server = Server::start(setup);
    server.expected = vec!["restarts and recovers"];
    let name = server.setup.name();
    let note = server.dir().join(SLOW_RECOVERY);
    std::fs::write(&note, "").unwrap();
    let mut client = server.connect();
    kill(client.stat("background") as i32);
    let mut recovering = None;
    eventually(2000, || {
        recovering = std::fs::read_to_string(&note).ok().and_then(|text| text.parse().ok());
        recovering.is_some()
    });
    kill(recovering.unwrap_or_else(|| panic!("{name}: nobody recovers")));
    server.wait_ready(Duration::from_secs(5));
    assert!(client.is_closed_within(SOON), "{name}: a connection outlives the restart");
    let mut client = server.connect();
    assert_eq!(client.stat("restarts"), 2, "{name}: restarts are counted");
    client.expect("ladd 0 7", "ok 7");
    server.stop();
}

/// A death that would restart the server while it stops does not bring it back.
fn stopping(setup: Setup) {
    for _ in 0..3 {
        let mut server = Server::start(setup);
        server.expected = vec!["restarts and recovers"];
        let mut clients = server.connect_many(20);
        clients[0].send("sleep 60000").unwrap();
        let background = clients[1].stat("background") as i32;
        kill(background);
        server.tell_to_stop();
        server.ends();
    }
}

fn bug(setup: Setup) {
    let mut server = Server::start(setup);
    server.expected = vec!["ends by a bug: a test asked for a panic", "a test asked for a panic", "panicked at"];
    let mut bystanders = server.connect_many(4);
    for (index, client) in bystanders.iter_mut().enumerate() {
        client.expect(&format!("put 1 3000 {index}"), "ok");
        client.expect("add 200 5", "ok 5");
    }
    for _ in 0..10 {
        let mut client = server.connect();
        client.expect("put 1 50000 1", "ok");
        client.send("panic").unwrap();
        assert!(client.is_closed_within(SOON));
        goes_on(&mut bystanders);
    }
    assert_eq!(bystanders[0].stat("restarts"), 0);
    // Code that was moved has its names still.
    assert!(server.log().contains("kernel::hosting::"), "no function is named in {}", server.log());
    drop(bystanders);
    server.stop();
}

fn supervisor(setup: Setup) {
    let server = Server::start(Setup { primitive: Primitive::Sysv, ..setup });
    let mut clients = server.connect_many(10);
    clients[1].send("wait 3").unwrap();
    kill(server.pid);
    for client in &mut clients {
        assert!(client.is_closed_within(SOON), "a connection outlives the supervisor");
    }
    assert!(eventually(2000, || server.processes().is_empty()), "hosts outlive the supervisor");
    // A semaphore set outlives it, by its nature; the next server on the directory removes it.
    let server = server.again();
    assert_eq!(server.semaphore_sets().len(), 1, "the dead server's semaphore set is left");
    server.connect().expect("ping", "pong");
    server.stop();
}
