//! What is limited is refused in words: sessions (`53300`), memory of the region (`53200`); and it is all usable again
//! afterwards.

use crate::support::runner::Test;
use crate::support::{Client, Dice, MODELS, Server, Setup, eventually, small_or_full};
use std::io::Write;
use std::time::Duration;

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in MODELS {
        let name = format!("{}_{}", model.0, model.1);
        tests.push((format!("limits::connections_{name}"), Box::new(move || connections(Setup::of(model)))));
        tests.push((format!("limits::memory_{name}"), Box::new(move || memory(Setup::of(model)))));
        tests.push((format!("limits::values_{name}"), Box::new(move || values(Setup::of(model)))));
    }
    tests
}

/// A client that is let in. One that has just gone may have its place for a moment.
fn let_in(server: &Server, name: &str) -> Client {
    let mut found = None;
    let let_in = eventually(1000, || {
        let mut client = server.connect();
        let answered = client.try_ask("ping").is_ok_and(|answer| answer == "pong");
        found = answered.then_some(client);
        answered
    });
    assert!(let_in, "{name}: a slot is not used again");
    found.expect("just let in")
}

fn connections(setup: Setup) {
    const MOST: usize = 20;
    let server = Server::start(Setup { max_connections: MOST as u32, ..setup });
    let name = server.setup.name();
    for round in 0..3 {
        let mut clients: Vec<Client> = (0..MOST).map(|_| let_in(&server, &name)).collect();
        for _ in 0..5 {
            let mut refused = server.connect();
            // As clients do: they speak first.
            refused.stream().write_all(b"ping\n").unwrap();
            assert_eq!(refused.line().ok().as_deref(), Some("refused 53300"), "{name}, round {round}");
            assert!(refused.is_closed_within(Duration::from_secs(1)));
        }
        // One place is free again as soon as its session has gone.
        let gone = clients.pop().unwrap();
        drop(gone);
        let late = let_in(&server, &name);
        clients.iter_mut().for_each(|client| client.expect("ping", "pong"));
        drop((clients, late));
        let empty = eventually(2000, || {
            let mut probe = server.connect();
            probe.try_ask("stat").is_ok_and(|stat| crate::support::client::field(&stat, "clients") == Some(1))
        });
        assert!(empty, "{name}: slots are not free again: {}", server.connect().ask("stat"));
    }
    server.stop();
}

/// The region's limit is an error of the statement that meets it, not the end of anything.
fn memory(setup: Setup) {
    let server = Server::start(Setup { region_bytes_max: 16 << 20, ..setup });
    let mut probe = server.connect();
    let before = probe.stat("arenas");
    let mut clients = server.connect_many(4);
    let mut refused = 0;
    for round in 0..10 {
        for client in &mut clients {
            match client.ask(&format!("put {round} 1000000 {round}")).as_str() {
                "ok" => {}
                answer => {
                    assert_eq!(answer, "err 53200");
                    refused += 1;
                }
            }
        }
    }
    assert!((20..=28).contains(&refused), "16 MiB hold some 15 of 40 values of a megabyte, not {}", 40 - refused);
    // Small things still fit, or are refused in words; nothing that was there is lost.
    for client in &mut clients {
        for round in 0..10 {
            let answer = client.ask(&format!("get {round}"));
            assert!(answer == "none" || answer == format!("value 1000000 {round}"), "{answer}");
        }
    }
    let stat = probe.ask("stat");
    let [heap, accounts] = ["heap", "accounts"].map(|name| crate::support::client::field(&stat, name).unwrap());
    assert_eq!(heap, accounts, "the accounts and the walk agree: {stat}");
    all_leave(&mut probe, clients, before);
    drop(probe);
    server.stop();
}

/// Many sessions take and give back memory at once, in pieces and in whole extents: nobody gets what another has.
fn values(setup: Setup) {
    let server = Server::start(setup);
    let mut probe = server.connect();
    let before = probe.stat("arenas");
    let mut clients = server.connect_many(8);
    std::thread::scope(|scope| {
        for (index, client) in clients.iter_mut().enumerate() {
            scope.spawn(move || {
                let mut dice = Dice(index as u64);
                let mut sizes = [None; 4];
                for _ in 0..small_or_full(60, 500) {
                    let key = dice.below(4);
                    let most = [100, 5000, 300_000, 2_500_000][dice.below(4)];
                    let size = dice.below(most) + 1;
                    let seed = dice.below(255) + 1;
                    client.expect(&format!("put {key} {size} {seed}"), "ok");
                    sizes[key] = Some((size, seed));
                    let key = dice.below(4);
                    let value = sizes[key].map_or("none".to_string(), |(size, seed)| format!("value {size} {seed}"));
                    client.expect(&format!("get {key}"), &value);
                }
            });
        }
    });
    let stat = probe.ask("stat");
    let [heap, accounts] = ["heap", "accounts"].map(|name| crate::support::client::field(&stat, name).unwrap());
    assert_eq!(heap, accounts, "the accounts and the walk agree: {stat}");
    all_leave(&mut probe, clients, before);
    drop(probe);
    server.stop();
}

fn all_leave(probe: &mut Client, clients: Vec<Client>, before: u64) {
    drop(clients);
    let back = eventually(2000, || probe.stat("arenas") <= before + 4096 && probe.stat("clients") == 1);
    assert!(back, "memory of sessions that have left comes back: {} of {before}", probe.ask("stat"));
}
