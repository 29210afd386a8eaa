//! Crashes with tables and indexes: `kill -9` of everything in mid-load, again and again.
//!
//! Each transaction of a client inserts a key of its own, and another one in a second place, and adds one to two of a few rows that all
//! share. After each restart: every acknowledged transaction is there; any other is there as a whole or not at all; the sums of
//! the shared rows say how many there are; heap and indexes are whole and agree.
//!
//! Three kills a model by default, twenty with `GEARBOX_FULL=1`.

use crate::history::{Random, full};
use crate::runner::Test;
use crate::server::{Client, Directory, MODELS, Server, Setup};
use kernel::config::IoMethod;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CLIENTS: u64 = 5;
/// Rows that all transactions add to: so many at the beginning of the table.
const SHARED: i64 = 8;
/// The second key of a transaction is so far from its first.
const OTHER: i64 = 500_000_000;

pub fn tests(tests: &mut Vec<Test>) {
    for (nth, model) in MODELS.into_iter().enumerate() {
        let io = [IoMethod::Workers, IoMethod::Sync, IoMethod::Uring][nth % 3];
        let setup = Setup::of(model).io(io);
        let name = format!("tables_survive_kills_{}", setup.name().replace(['/', ' '], "_"));
        tests.push((name, Box::new(move || kills(&setup))));
    }
    tests.push(("files_follow_their_transactions_through_crashes".into(), Box::new(files)));
    tests.push(("a_recovery_that_removed_files_begins_again".into(), Box::new(removed_twice)));
}

/// What clients know: transactions that were acknowledged, and those whose commit was not answered.
#[derive(Default)]
struct Known {
    acknowledged: BTreeSet<i64>,
    unknown: BTreeSet<i64>,
}

fn work(
    address: SocketAddr,
    table: &str,
    seed: u64,
    first: i64,
    known: &Mutex<Known>,
    stop: &AtomicBool,
) -> Option<()> {
    let mut random = Random::new(seed);
    let mut client = Client::connect(address).ok()?;
    client.try_ask(table).ok()?;
    let mut key = first;
    while !stop.load(SeqCst) {
        key += 1;
        let mut lines = vec![format!("insert {key} {}", random.below(1000)), format!("insert {} {key}", key + OTHER)];
        // One that is changed in place, one whose index entry changes: in either order, so that circles happen.
        lines.push(format!("add {} 1", random.below(SHARED as u64)));
        lines.push(format!("addv {} 1", random.below(SHARED as u64)));
        if random.below(2) == 0 {
            lines.reverse();
        }
        if random.below(4) == 0 {
            // Rows that are gone again leave something for the vacuum.
            lines.push(format!("insert {} 0", key + 2 * OTHER));
            lines.push(format!("delete {}", key + 2 * OTHER));
        }
        client.try_ask(if random.below(2) == 0 { "begin rc" } else { "begin rr" }).ok()?;
        let mut failed = false;
        for line in lines {
            let answer = client.try_ask(&line).ok()?;
            if answer.starts_with("error 40") {
                failed = true;
                break;
            }
            assert_eq!(answer, "ok", "{line}");
        }
        if failed {
            continue;
        }
        if random.below(10) == 0 {
            client.try_ask("abort").ok()?;
            continue;
        }
        known.lock().unwrap().unknown.insert(key);
        let answer = client.try_ask("commit").ok()?;
        assert_eq!(answer, "ok");
        let mut known = known.lock().unwrap();
        known.unknown.remove(&key);
        known.acknowledged.insert(key);
    }
    Some(())
}

#[track_caller]
fn check(server: &Server, table: &str, known: &mut Known) {
    let mut client = server.connect();
    client.expect(table, "ok");
    let checked = client.ask("check");
    assert!(checked.starts_with("checked"), "{checked}\n{}", server.log());
    let rows: BTreeMap<i64, Vec<i64>> = client
        .ask("all")
        .split(' ')
        .skip(1)
        .map(|row| {
            let numbers: Vec<i64> = row.split(':').map(|word| word.parse().expect("a number")).collect();
            (numbers[0], numbers)
        })
        .collect();
    let firsts: BTreeSet<i64> = rows.range(SHARED..OTHER).map(|row| *row.0).collect();
    let others: BTreeSet<i64> = rows.range(OTHER..2 * OTHER).map(|row| row.0 - OTHER).collect();
    assert_eq!(firsts, others, "a transaction is half there");
    assert_eq!(rows.range(2 * OTHER..).next(), None, "a deleted row is there");
    if let Some(lost) = known.acknowledged.difference(&firsts).next() {
        panic!("transaction {lost} was acknowledged, and is not there");
    }
    let unasked = firsts.iter().find(|key| !known.acknowledged.contains(key) && !known.unknown.contains(key));
    assert_eq!(unasked, None, "a transaction that nobody committed is there");
    let shared = rows.range(..SHARED).fold((0, 0), |sum, row| (sum.0 + row.1[2], sum.1 + row.1[1]));
    let count = firsts.len() as i64;
    assert_eq!(shared, (count, count), "the shared rows do not tell of {count} transactions");
    // What was in doubt is decided.
    known.acknowledged = firsts;
    known.unknown.clear();
    for name in ["locks", "row_locks", "running", "pins"] {
        assert_eq!(client.stat(name), 0, "{name}");
    }
}

fn kills(setup: &Setup) {
    let dir = Directory::new();
    // A small pool and a short log: pages are written and checkpoints made while the load runs.
    let setup = Setup { max_wal_size: 24 << 20, ..setup.clone().pages(160) };
    let mut server = Server::start(&setup, &dir.0);
    let mut client = server.connect();
    let answer = client.ask("table 100");
    let table = format!("use {} 100", answer.strip_prefix("ok ").expect("a table"));
    for key in 0..SHARED {
        client.expect(&format!("insert {key} 0"), "ok");
    }
    drop(client);
    let known = Arc::new(Mutex::new(Known::default()));
    for round in 0..if full() { 20 } else { 3 } {
        let stop = Arc::new(AtomicBool::new(false));
        let workers: Vec<_> = (0..CLIENTS)
            .map(|nth| {
                let (address, table, known, stop) = (server.address(), table.clone(), known.clone(), stop.clone());
                let first = SHARED + (round as i64 * CLIENTS as i64 + nth as i64 + 1) * 1_000_000;
                let seed = round as u64 * 100 + nth;
                std::thread::spawn(move || work(address, &table, seed, first, &known, &stop))
            })
            .collect();
        let keeper = {
            let (address, table, stop) = (server.address(), table.clone(), stop.clone());
            std::thread::spawn(move || -> Option<()> {
                let mut client = Client::connect(address).ok()?;
                client.try_ask(&table).ok()?;
                while !stop.load(SeqCst) {
                    for line in ["vacuum small", "horizon", "checkpoint", "sum 0 8", "vacuum"] {
                        let answer = client.try_ask(line).ok()?;
                        assert!(!answer.starts_with("error"), "{line}: {answer}");
                    }
                }
                Some(())
            })
        };
        std::thread::sleep(Duration::from_millis(200 + 70 * (round as u64 % 7)));
        server.kill();
        stop.store(true, SeqCst);
        workers
            .into_iter()
            .for_each(|worker| _ = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let _ = keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        server = Server::start(&setup, &dir.0);
        check(&server, &table, &mut known.lock().unwrap());
    }
    let known = known.lock().unwrap();
    assert!(known.acknowledged.len() > 20, "only {} transactions", known.acknowledged.len());
    drop(known);
    server.stop();
}

/// A table whose transaction did not commit leaves no file, one that was dropped by a commit neither; whatever else happens.
fn files() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[2]);
    let names = || {
        let listed = std::fs::read_dir(dir.0.join("base")).or_else(|_| std::fs::read_dir(dir.0.join("data")));
        listed.expect("a directory of data files").count()
    };
    let server = Server::start(&setup, &dir.0);
    let mut a = server.connect();
    let empty = names();
    a.ask("table 10");
    a.expect("load 0 100 1", "ok");
    assert_eq!(names(), empty + 3);
    // Aborted.
    let mut b = server.connect();
    b.expect("begin rc", "ok");
    b.ask("table 10");
    b.expect("load 0 100 1", "ok");
    assert_eq!(names(), empty + 6);
    b.expect("abort", "ok");
    assert_eq!(names(), empty + 3);
    // Dropped, and the drop aborted.
    a.expect("begin rc", "ok");
    a.expect("drop", "ok");
    a.expect("abort", "ok");
    a.expect("check", "checked 100");
    // A session that ends with its transaction open.
    b.expect("begin rc", "ok");
    b.ask("table 10");
    assert_eq!(names(), empty + 6);
    drop(b);
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while names() != empty + 3 {
        assert!(std::time::Instant::now() < end, "the files of a session that has gone stay");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Open at the crash; and a second table, committed and dropped before it.
    let mut b = server.connect();
    b.ask("table 10");
    b.expect("load 0 50 1", "ok");
    b.expect("drop", "ok");
    assert_eq!(names(), empty + 3);
    b.expect("begin rc", "ok");
    b.ask("table 10");
    b.expect("load 0 50 1", "ok");
    a.expect("checkpoint", "ok");
    assert_eq!(a.stat("pending_files"), 3);
    server.kill();
    let server = Server::start(&setup, &dir.0);
    assert_eq!(names(), empty + 3, "a crash ends transactions, files included");
    assert_eq!(server.connect().stat("left_behind"), 0);
    server.stop();
}

/// A start that removed the files of a transaction that the crash ended, and did not live to write its checkpoint: the next one finds changes
/// of files that are not there, and no record that says how they went.
fn removed_twice() {
    let dir = Directory::new();
    let setup = Setup::of(MODELS[5]);
    let server = Server::start(&setup, &dir.0);
    let (mut a, mut b) = (server.connect(), server.connect());
    let table = format!("use {} 10", a.ask("table 10").strip_prefix("ok ").expect("a table"));
    a.expect("load 0 100 1", "ok");
    b.expect("begin rc", "ok");
    b.ask("table 10");
    // Recovery begins behind the records of its files, and finds changes of them.
    a.expect("checkpoint", "ok");
    b.expect("load 0 50 1", "ok");
    a.expect("load 100 200 1", "ok");
    server.kill();
    // What the next start would leave if it ended just before its checkpoint was known: all its work is done, and the control file is the
    // old one.
    let control = std::fs::read(dir.0.join("control")).unwrap();
    let server = Server::start(&setup, &dir.0);
    assert_eq!(server.connect().stat("left_behind"), 0);
    server.kill();
    std::fs::write(dir.0.join("control"), control).unwrap();
    let server = Server::start(&setup, &dir.0);
    assert_eq!(server.connect().stat("left_behind"), 0);
    let mut client = server.connect();
    client.expect(&table, "ok");
    client.expect("check", "checked 200");
    server.stop();
}
