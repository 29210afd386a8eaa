//! Cancel and terminate reach a session wherever it is: computing, waiting, sending to a client that does not read, parked,
//! or dedicated and asleep in its socket; and a stop reaches all of them at once.

use crate::figure;
use crate::support::runner::Test;
use crate::support::{Client, Dice, MODELS, Server, Setup, eventually};
use std::io::Read;
use std::time::{Duration, Instant};

/// An interrupt that takes longer than this has been missed by something, and was repaired by a time-out.
const SOON: Duration = Duration::from_millis(900);

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in MODELS {
        let name = format!("{}_{}", model.0, model.1);
        tests.push((format!("interrupts::{name}"), Box::new(move || everywhere(Setup::of(model)))));
        tests.push((format!("interrupts::stop_{name}"), Box::new(move || stop(Setup::of(model)))));
    }
    tests
}

fn everywhere(setup: Setup) {
    let server = Server::start(setup);
    let mut other = server.connect();
    cancel(&server, &mut other);
    terminate(&server, &mut other);
    deadlines(&server);
    slow_reader(&server, &mut other);
    storm(&server);
    drop(other);
    server.stop();
}

/// The session of a client that has begun to do that.
fn busy(client: &mut Client, other: &mut Client, command: &str, event: &str) -> u32 {
    let number = client.who().number;
    client.send(command).unwrap();
    let state = format!("busy {event} ");
    assert!(
        eventually(2000, || other.ask(&format!("number {number}")).starts_with(&state)),
        "{command} does not begin"
    );
    if event == "none" {
        // So it was too at the end of the request before.
        std::thread::sleep(Duration::from_millis(30));
    }
    number
}

fn cancel(server: &Server, other: &mut Client) {
    for (command, event) in [("spin 5000", "none"), ("wait 500", "Test"), ("sleep 5000", "PgSleep")] {
        let mut client = server.connect();
        let number = busy(&mut client, other, command, event);
        let since = Instant::now();
        other.expect(&format!("cancel {number}"), "ok");
        assert_eq!(client.line().unwrap(), "err 57014", "{command} is cancelled");
        assert!(since.elapsed() < SOON, "{}: the cancel of {command} took {:?}", server.setup.name(), since.elapsed());
        client.expect("ping", "pong");
    }
    // A cancel that finds nothing to cancel leaves no trace.
    let mut client = server.connect();
    let number = client.who().number;
    other.expect(&format!("cancel {number}"), "ok");
    std::thread::sleep(Duration::from_millis(60));
    client.expect("spin 1", "ok");
}

fn terminate(server: &Server, other: &mut Client) {
    for (command, event) in [("spin 5000", "none"), ("wait 500", "Test"), ("sleep 5000", "PgSleep"), ("", "")] {
        let mut client = server.connect();
        let number = match command {
            // Parked, or dedicated and asleep in its socket.
            "" => client.who().number,
            command => busy(&mut client, other, command, event),
        };
        let since = Instant::now();
        other.expect(&format!("terminate {number}"), "ok");
        assert!(client.line().unwrap().starts_with("bye 57P01"), "{command:?} is told why it ends");
        assert!(client.is_closed_within(SOON), "{command:?}: the connection ends");
        assert!(since.elapsed() < SOON, "{}: the end of {command:?} took {:?}", server.setup.name(), since.elapsed());
        assert!(eventually(2000, || other.ask(&format!("number {number}")) == "gone"), "{command:?}: the slot is free");
    }
}

/// Time-outs come when they are due, not before, to sessions that compute, wait, and rest; and not at all in time.
fn deadlines(server: &Server) {
    let mut client = server.connect();
    for command in ["spin 5000", "wait 501", "sleep 5000"] {
        let since = Instant::now();
        client.expect(&format!("limit 60 {command}"), "err 57014");
        let took = since.elapsed();
        assert!(took >= Duration::from_millis(60), "{command}: {took:?}");
        assert!(took < SOON, "{}: the time-out of {command} took {took:?}", server.setup.name());
    }
    client.expect("limit 60 sleep 1", "ok");
    std::thread::sleep(Duration::from_millis(100));
    client.expect("sleep 30", "ok");
    client.expect("idle 60", "ok");
    client.expect("ping", "pong");
    std::thread::sleep(Duration::from_millis(100));
    client.expect("ping", "pong");
    let since = Instant::now();
    client.expect("idle 60", "ok");
    assert!(client.line().unwrap().starts_with("bye 57P05"));
    let took = since.elapsed();
    assert!(
        took >= Duration::from_millis(60) && took < SOON,
        "{}: the time-out of rest: {took:?}",
        server.setup.name()
    );
    assert!(client.is_closed_within(SOON));
}

/// A session that cannot send ends when it is told to; a cancelled one goes on when its client reads again, with every
/// answer whole.
fn slow_reader(server: &Server, other: &mut Client) {
    const ANSWER: usize = 64 << 20;
    let mut client = server.connect();
    let number = busy(&mut client, other, &format!("big {ANSWER}"), "ClientWrite");
    let since = Instant::now();
    other.expect(&format!("terminate {number}"), "ok");
    assert!(eventually(2000, || other.ask(&format!("number {number}")) == "gone"), "a slow reader's session ends");
    assert!(since.elapsed() < SOON, "{}: the end of a slow reader took {:?}", server.setup.name(), since.elapsed());
    drop(client);

    let mut client = server.connect();
    let number = busy(&mut client, other, &format!("big {ANSWER}"), "ClientWrite");
    other.expect(&format!("cancel {number}"), "ok");
    let mut lines = 0;
    let last = loop {
        let line = client.line().unwrap();
        match line.starts_with('x') {
            true => assert_eq!(line.len(), 63, "an answer is not whole"),
            false => break line,
        }
        lines += 1;
    };
    assert_eq!(last, "err 57014");
    assert!(lines * 64 < ANSWER);
    client.expect("ping", "pong");

    // What is left to send when the request is done is sent, whatever comes meanwhile.
    let mut client = server.connect();
    let number = client.who().number;
    let pings = "ping\n".repeat(3000);
    let big = (0..60).map(|_| "big 60000\n").collect::<String>();
    let mut sender = client.stream().try_clone().unwrap();
    let command = format!("{big}{pings}");
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut sender, command.as_bytes()).unwrap());
    std::thread::sleep(Duration::from_millis(50));
    other.expect(&format!("cancel {number}"), "ok");
    std::thread::sleep(Duration::from_millis(50));
    let mut answers = 0;
    let mut rest = Vec::new();
    while answers < 3000 {
        let line = client.line().unwrap();
        match line.as_str() {
            "pong" => answers += 1,
            // The cancel may have met any of the commands; then that one has an error for an answer.
            "err 57014" => answers += 1,
            line => rest.push(line.len()),
        }
        if rest.last().is_some_and(|&length| length != 63 && length != 60_000 % 64 - 1) {
            panic!("a line of {:?} bytes", rest.last());
        }
    }
    writer.join().unwrap();
}

/// Cancels that come at any moment end a command or nothing; they lose no answer and never the session.
fn storm(server: &Server) {
    let mut victim = server.connect();
    let number = victim.who().number;
    let mut source = server.connect();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut dice = Dice(7);
            for _ in 0..300 {
                source.expect(&format!("cancel {number}"), "ok");
                std::thread::sleep(Duration::from_micros(dice.next() % 300));
            }
        });
        let mut cancelled = 0;
        let end = Instant::now() + Duration::from_millis(150);
        let mut round = 0;
        while Instant::now() < end {
            let (command, answer) = [("ping", "pong"), ("sleep 1", "ok"), ("spin 1", "ok")][round % 3];
            round += 1;
            match victim.ask(command).as_str() {
                "err 57014" => cancelled += 1,
                other => assert_eq!(other, answer),
            }
        }
        assert!(cancelled > 0, "no cancel met a command");
    });
    // The last cancel may still be on its way to the next command.
    let _ = victim.ask("ping");
    std::thread::sleep(Duration::from_millis(30));
    let _ = victim.ask("ping");
    victim.expect("ping", "pong");
}

/// SIGTERM: idle sessions are told, busy ones end, and the server is gone soon.
fn stop(setup: Setup) {
    const IDLE: usize = 200;
    let server = Server::start(Setup { max_connections: 300, ..setup });
    let mut clients = server.connect_many(IDLE);
    let mut others = Vec::new();
    for command in ["spin 20000", "wait 1", "sleep 20000", "ladd 1 1 20000", "ladd 1 1", "big 90000000", "ge"] {
        let mut client = server.connect();
        match command {
            // A command that is not finished.
            "ge" => std::io::Write::write_all(&mut client.stream(), b"ge").unwrap(),
            command => client.send(command).unwrap(),
        }
        others.push(client);
    }
    std::thread::sleep(Duration::from_millis(50));
    let name = server.setup.name();
    let took = server.stop();
    for client in &mut clients {
        assert!(client.line().is_ok_and(|line| line.starts_with("bye 57P01")), "{name}: an idle session is told");
        assert!(client.is_closed_within(SOON));
    }
    for client in &mut others {
        // However it ended, it did not leave the connection open.
        let mut rest = Vec::new();
        client.limit(Duration::from_secs(2));
        let _ = client.stream().read_to_end(&mut rest);
    }
    figure!("{name}: SIGTERM with {IDLE} idle sessions and 7 busy ones took {} ms", took.as_millis());
}
