//! Each model, under each wait primitive, with and without moving every session: counters are exact, posts arrive, and
//! what a session keeps survives parking.

use crate::support::runner::Test;
use crate::support::{Client, MODELS, PRIMITIVES, Server, Setup, client, small_or_full};
use kernel::config::{EngineKind, Sessions};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

pub fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for model in MODELS {
        let name = format!("basics::{}_{}", model.0, model.1);
        tests.push((name, Box::new(move || all_primitives(Setup::of(model)))));
    }
    tests
}

fn all_primitives(setup: Setup) {
    for &primitive in PRIMITIVES {
        for move_sessions in [false, true] {
            basics(Setup { primitive, move_sessions, ..setup });
        }
    }
}

fn basics(setup: Setup) {
    let server = Server::start(setup);
    let mut first = server.connect();
    assert_eq!(
        first.ask("stat").rsplit_once("primitive=").unwrap().1.split(' ').next(),
        Some(setup.primitive.as_str())
    );
    counters(&server);
    posts(&server);
    kept(&server);
    if setup.sessions != Sessions::Dedicated {
        moves(&server);
    }
    sums_agree(&mut first);
    drop(first);
    server.stop();
}

/// Several clients add to the same counters at once, alone and under latches.
fn counters(server: &Server) {
    let (clients, rounds) = (6, small_or_full(40, 400));
    let mut workers: Vec<Client> = server.connect_many(clients);
    std::thread::scope(|scope| {
        for (index, client) in workers.iter_mut().enumerate() {
            scope.spawn(move || {
                let mut tally = 0;
                for round in 0..rounds {
                    let amount = 1 + (index + round) % 7;
                    let key = round % 3;
                    let command = match round % 4 {
                        0 | 1 => format!("add {key} {amount}"),
                        2 => format!("ladd {key} {amount}"),
                        _ => {
                            client.ask(&format!("lread {key} 0"));
                            continue;
                        }
                    };
                    tally += amount;
                    client.expect(&command, &format!("ok {tally}"));
                }
                // A latch that is held over a wait, by many at once, and alone.
                client.ask("lread 1 3");
                client.expect("ladd 1 0 1", &format!("ok {tally}"));
            });
        }
    });
}

/// Half of the clients wait for posts, the other half give them.
fn posts(server: &Server) {
    let (pairs, rounds) = (4, small_or_full(15, 200));
    let mut clients = server.connect_many(pairs * 2);
    let (waiters, posters) = clients.split_at_mut(pairs);
    std::thread::scope(|scope| {
        for (index, client) in waiters.iter_mut().enumerate() {
            scope.spawn(move || (0..rounds).for_each(|_| client.expect(&format!("wait {index}"), "ok")));
        }
        for (index, client) in posters.iter_mut().enumerate() {
            scope.spawn(move || {
                for round in 0..rounds {
                    client.expect(&format!("post {index} 1"), "ok");
                    if round % 5 == 0 {
                        let since = Instant::now();
                        client.expect("sleep 2", "ok");
                        assert!(since.elapsed() >= Duration::from_millis(2));
                    }
                }
            });
        }
    });
}

/// Values of many sizes, small blocks and large ones, survive parking, and memory is the session's own.
fn kept(server: &Server) {
    let mut clients = server.connect_many(3);
    let sizes = [0, 1, 100, 2000, 2048, 2049, 5000, 70_000, 1_100_000];
    for (index, client) in clients.iter_mut().enumerate() {
        for (key, size) in sizes.iter().enumerate() {
            client.expect(&format!("put {key} {size} {}", index + 1), "ok");
        }
    }
    for (index, client) in clients.iter_mut().enumerate() {
        for (key, &size) in sizes.iter().enumerate() {
            let seed = if size == 0 { 0 } else { index + 1 };
            client.expect(&format!("get {key}"), &format!("value {size} {seed}"));
        }
        // A command that comes in pieces lies in the arena meanwhile.
        use std::io::Write;
        for piece in ["ge", "t ", "4"] {
            client.stream().write_all(piece.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        client.expect("", &format!("value 2048 {}", index + 1));
    }
}

/// A session, in a transaction or not, is resumed by another engine: of another process where engines are processes.
fn moves(server: &Server) {
    let name = server.setup.name();
    let mut clients = server.connect_many(16);
    if !server.setup.move_sessions {
        // Fibers move when one engine has much to do and another nothing: so the load is of sessions of one engine.
        let engine = clients[0].who().engine;
        clients.retain_mut(|client| server.setup.sessions != Sessions::Fiber || client.who().engine == engine);
    }
    assert!(clients.len() >= 8, "{name}: new sessions are not shared out among engines");
    clients.truncate(8);
    for client in &mut clients {
        client.expect("begin", "ok");
        client.expect("put 1 3000 9", "ok");
        client.expect("end", "ok");
    }
    let (mut engines, mut processes) = (BTreeSet::new(), BTreeSet::new());
    let mut before = vec![None; clients.len()];
    let (mut moved, mut requests) = (0, 0);
    for round in 0..400 {
        // On a busy machine requests may come so slowly that nobody needs help: then the load goes on.
        if round >= small_or_full(16, 100) && (moved > 0 || server.setup.move_sessions) {
            break;
        }
        for client in &mut clients {
            // One packet is one request: half of them in an open transaction.
            let transaction = if round % 4 < 2 { "begin" } else { "end" };
            client.send(&format!("who\nspin 1\nget 1\n{transaction}")).unwrap();
        }
        for (client, before) in clients.iter_mut().zip(&mut before) {
            let who = client::parse_who(&client.line().unwrap()).unwrap();
            for expected in ["ok", "value 3000 9", "ok"] {
                assert_eq!(client.line().unwrap(), expected);
            }
            engines.insert(who.engine);
            processes.insert(who.pid);
            requests += before.is_some() as u32;
            moved += before.is_some_and(|before| before != who.engine) as u32;
            *before = Some(who.engine);
        }
    }
    let one_process = server.setup.engine == EngineKind::Thread;
    assert!(engines.len() > 1, "{name}: every request ran on one engine");
    assert_eq!(processes.len() > 1, !one_process, "{name}: the processes that served are {processes:?}");
    assert!(moved > 0, "{name}: no session has moved");
    if server.setup.move_sessions {
        // When all other engines are busy for long, a request is served where it is.
        assert!(
            moved * 20 >= requests * 19,
            "{name}: asked to move always, sessions moved {moved} of {requests} times"
        );
    }
}

/// What everybody added is what the counters say.
fn sums_agree(client: &mut Client) {
    let sums = client.ask("sums");
    let sum = |name| client::field(&sums, name).unwrap();
    assert_eq!(sum("counted"), sum("added"), "{sums}");
    assert_eq!(sum("latched"), sum("ladded"), "{sums}");
    assert_eq!(sum("posted"), sum("taken") + sum("unread"), "{sums}");
    assert!(sum("counted") > 0 && sum("latched") > 0 && sum("taken") > 0, "{sums}");
    assert_eq!(sum("held"), 0, "{sums}");
    client.line().unwrap();
    client.line().unwrap();
}
