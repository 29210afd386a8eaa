//! A model is what its name says: process engines are processes, thread engines are threads of one process, sessions hold
//! them as long as they should, and fibers share one. Asked of `/proc`, not of the server alone.

use crate::support::runner::Test;
use crate::support::{Client, MODELS, Server, Setup, eventually, procs};
use kernel::config::{EngineKind, Sessions};
use std::collections::{BTreeMap, BTreeSet};

/// More than there are engines.
const CLIENTS: usize = 12;
const ENGINES: u32 = 2;

pub fn tests() -> Vec<Test> {
    let test = |model: (EngineKind, Sessions)| -> Test {
        (format!("names::{}_{}", model.0, model.1), Box::new(move || is_what_its_name_says(model)))
    };
    MODELS.into_iter().map(test).collect()
}

fn is_what_its_name_says(model: (EngineKind, Sessions)) {
    let server = Server::start(Setup { engines: ENGINES, ..Setup::of(model) });
    let mut observer = server.connect();
    let background = observer.stat("background") as i32;
    let mut clients = server.connect_many(CLIENTS);
    let places = engines_are(&server, background, &mut clients);
    match model.1 {
        Sessions::Dedicated => assert_eq!(places.len(), CLIENTS, "a dedicated session has an engine of its own"),
        _ => assert!(places.len() <= ENGINES as usize, "sessions share {ENGINES} engines: {places:?}"),
    }
    all_wait(&server, &mut observer, &mut clients);
    drop((clients, observer));
    server.stop();
}

/// Where each engine is that serves: engine to process and thread.
fn engines_are(server: &Server, background: i32, clients: &mut [Client]) -> BTreeMap<u32, (i32, i32)> {
    let hosts: BTreeSet<i32> = server.hosts(background).into_iter().collect();
    let mut places = BTreeMap::new();
    for client in clients {
        let who = client.who();
        let before = places.insert(who.engine, (who.pid, who.tid));
        assert!(before.is_none_or(|before| before == (who.pid, who.tid)), "an engine stays where it is");
        assert!(hosts.contains(&who.pid) || server.hosts(background).contains(&who.pid), "an engine runs in a host");
        let threads = procs::threads(who.pid);
        let (_, name) = threads.iter().find(|thread| thread.0 == who.tid).expect("an engine's thread is there");
        match server.setup.engine {
            EngineKind::Process => {
                assert_eq!(who.pid, who.tid, "a process engine is the first thread of its process");
                assert_eq!(threads.len(), 1, "a process engine is alone in its process: {threads:?}");
            }
            _ => assert_eq!(name, "engine"),
        }
    }
    let processes: BTreeSet<i32> = places.values().map(|place| place.0).collect();
    let threads: BTreeSet<i32> = places.values().map(|place| place.1).collect();
    assert_eq!(threads.len(), places.len(), "no two engines are one thread");
    match server.setup.engine {
        EngineKind::Process => assert_eq!(processes.len(), places.len(), "no two engines are in one process"),
        _ => assert_eq!(processes.len(), 1, "all engines are in one process"),
    }
    places
}

/// Sessions that wait: dedicated and shared ones hold an engine each, fibers hold none.
fn all_wait(server: &Server, observer: &mut Client, clients: &mut [Client]) {
    let numbers: Vec<u32> = clients.iter_mut().map(|client| client.who().number).collect();
    let count = |observer: &mut Client| {
        let states = observer.ask("stat");
        ["idle", "running", "blocked", "standby"].map(|state| crate::support::client::field(&states, state).unwrap())
    };
    for (index, client) in clients.iter_mut().enumerate() {
        client.send(&format!("wait {index}")).unwrap();
    }
    let waits =
        |observer: &mut Client, number: u32| observer.ask(&format!("number {number}")).starts_with("busy Test ");
    assert!(eventually(2000, || numbers.iter().all(|&number| waits(observer, number))), "every client waits");
    let [idle, running, blocked, _] = count(observer);
    match server.setup.sessions {
        Sessions::Fiber => {
            assert_eq!(blocked, 0, "an engine blocks with a fiber");
            // States are counted one after another: an engine that begins to run meanwhile may be in neither count.
            let all_there = |observer: &mut Client| {
                let [idle, running, ..] = count(observer);
                idle + running == ENGINES as u64
            };
            let there = idle + running == ENGINES as u64 || eventually(2000, || all_there(observer));
            assert!(there, "fibers need no engine to wait: {idle} idle and {running} running ones");
        }
        Sessions::Shared => assert_eq!(blocked, CLIENTS as u64, "a waiting session holds its engine"),
        // The observer's engine runs; those of clients that do nothing are blocked as well.
        Sessions::Dedicated => assert!(blocked >= CLIENTS as u64, "a waiting session holds its engine"),
    }
    for (index, client) in clients.iter_mut().enumerate() {
        observer.expect(&format!("post {index} 1"), "ok");
        assert_eq!(client.line().unwrap(), "ok");
    }
}
