//! Storage in the simulator: random schedules, deaths of hosts, power cuts that lose and tear what was not flushed; and bugs that
//! are planted and must be found.
//!
//! Clients set rows of their own to ever higher values, and move amounts between rows of all. Whatever happens: a value that was
//! acknowledged is there or a later one that was asked for, amounts are moved as a whole or not at all, and every snapshot sees
//! the same sum.
//!
//! `SIM_SEEDS=17,18 cargo test -p storage --test simulated` walks those seeds and tells what each did; with `SIM_VERBOSE=1`, at length.

mod support;

#[path = "support/access.rs"]
#[allow(dead_code, reason = "the tests against real servers use the rest")]
mod access;
#[path = "support/lock_load.rs"]
mod lock_load;
#[path = "support/read_load.rs"]
mod read_load;
#[path = "support/table.rs"]
mod table;
#[path = "support/table_load.rs"]
mod table_load;

use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::{self, DiskFaults, Failure, Options, Report, Scenario, SimConn};
use kernel::session::Service;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use support::service::StorageService;

/// Rows that belong to one client each: so many a client.
const OWN: u32 = 3;
/// Rows that all clients move amounts between.
const SHARED: u32 = 4;
const CLIENTS: u32 = 4;

/// What a client knows of a row of its own.
#[derive(Clone, Copy, Default)]
struct Known {
    acknowledged: i64,
    asked: i64,
}

/// What all clients know.
#[derive(Default)]
struct World {
    rel: Option<String>,
    rows: BTreeMap<u32, Known>,
    running: u32,
}

type Shared = Rc<RefCell<World>>;

/// Asks until there is an answer, on a new connection if need be. None if the connection broke: the command may have been carried
/// out or not.
fn ask(client: &mut SimConn, line: &str) -> Option<String> {
    if !client.is_connected() {
        client.connect_patiently();
    }
    client.ask(line).ok()
}

/// Asks again until there is an answer: for what may be carried out twice.
fn insist(client: &mut SimConn, line: &str) -> String {
    loop {
        match ask(client, line) {
            Some(answer) if is_transient(&answer) => client.sleep(1_000_000),
            Some(answer) => return answer,
            None => client.sleep(500_000),
        }
    }
}

/// Errors that a session may meet and survive: a victim of a deadlock, a disk that failed once.
fn is_transient(answer: &str) -> bool {
    ["error 40P01", "error 58030", "error 53100"].iter().any(|error| answer.starts_with(error))
}

fn number(answer: &str) -> i64 {
    let number = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("an answer without a number: {answer:?}"))
}

fn table(client: &mut SimConn, world: &Shared) -> String {
    loop {
        if let Some(rel) = world.borrow().rel.clone() {
            return rel;
        }
        client.sleep(300_000);
    }
}

fn work(client: &mut SimConn, me: u32, rounds: u32, world: &Shared) {
    if me == 0 {
        let rel = insist(client, &format!("make {} 0", CLIENTS * OWN + SHARED));
        world.borrow_mut().rel = Some(rel.split(' ').nth(1).expect("a table has a number").to_string());
    }
    let rel = table(client, world);
    for round in 1..=rounds {
        match client.random(10) {
            0..4 => {
                let key = me * OWN + client.random(OWN as u64) as u32;
                let value = round as i64;
                world.borrow_mut().rows.entry(key).or_default().asked = value;
                if let Some(answer) = ask(client, &format!("set {rel} {key} {value}")) {
                    assert!(answer == "ok" || is_transient(&answer), "{answer}");
                    let mut world = world.borrow_mut();
                    let known = world.rows.get_mut(&key).expect("just entered");
                    // An error leaves the row as it was, or a commit that failed in between: then either is right.
                    if answer == "ok" {
                        known.acknowledged = value;
                    }
                }
            }
            4..8 => {
                let (from, to) = (client.random(SHARED as u64), client.random(SHARED as u64));
                if from != to {
                    let base = (CLIENTS * OWN) as u64;
                    let answer = ask(client, &format!("move {rel} {} {} {round}", base + from, base + to));
                    if let Some(answer) = answer {
                        assert!(answer == "ok" || is_transient(&answer), "{answer}");
                    }
                }
            }
            8 => {
                if let Some(answer) = ask(client, &format!("sum {rel} {}", CLIENTS * OWN)) {
                    assert!(is_transient(&answer) || answer == format!("sum 0 {SHARED}"), "{answer}");
                }
            }
            _ => {
                let command = ["checkpoint", "compress", "next"][client.random(3) as usize];
                if let Some(answer) = ask(client, command) {
                    assert!(!answer.starts_with("error XX"), "{answer}");
                }
            }
        }
    }
    world.borrow_mut().running -= 1;
    if world.borrow().running == 0 {
        check(client, world, &rel);
    }
}

/// Looks at all rows when everybody is done.
fn check(client: &mut SimConn, world: &Shared, rel: &str) {
    let rows = world.borrow().rows.clone();
    for (key, known) in rows {
        let found = number(&insist(client, &format!("get {rel} {key}")));
        // A value that was asked for later than the last one acknowledged may be there; an earlier one may not.
        assert!(
            found >= known.acknowledged && found <= known.asked,
            "row {key} is {found}; {} was acknowledged and {} asked for last",
            known.acknowledged,
            known.asked
        );
    }
    let sum = insist(client, &format!("sum {rel} {}", CLIENTS * OWN));
    assert_eq!(sum, format!("sum 0 {SHARED}"));
    // The clean-up after the last death may still be under way.
    let mut looks = 0;
    loop {
        let stat = insist(client, "stat");
        let left = ["running", "pins", "locks"].into_iter().find(|name| !stat.contains(&format!("{name}=0")));
        let Some(left) = left else { break };
        looks += 1;
        assert!(looks < 200, "{left}: {stat}");
        client.sleep(1_000_000);
    }
}

fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    table_load::register();
    let config = storage::Config {
        // Fewer frames than pages are not possible with so few rows; what matters is that pages are written.
        shared_buffers: 1 << 20,
        wal_buffers: 256 << 10,
        checkpoint_timeout_ms: 40,
        min_wal_size: 32 << 20,
        max_wal_size: 64 << 20,
        deadlock_timeout_ms: 5,
        // Recovery by the record, by some records, and by all of them.
        maintenance_work_mem: [0, 4 << 10, 64 << 20][((seed + seed / 6) % 3) as usize],
    };
    let make = move || Ok(Box::new(StorageService::make(&config, false)?) as Box<dyn Service>);
    sim::run(seed, options, make, |scenario: &mut Scenario| {
        let world: Shared = Rc::new(RefCell::new(World { running: CLIENTS, ..World::default() }));
        for me in 0..CLIENTS {
            let world = world.clone();
            scenario.client(move |client| work(client, me, rounds, &world));
        }
    })
}

/// The model of a seed: all of them in turn.
fn model(seed: u64) -> (EngineKind, Sessions) {
    let hosts = [EngineKind::Process, EngineKind::Thread][(seed / 3 % 2) as usize];
    let sessions = [Sessions::Dedicated, Sessions::Shared, Sessions::Fiber][(seed % 3) as usize];
    (hosts, sessions)
}

fn options(seed: u64) -> Options {
    let (hosts, sessions) = model(seed);
    let verbose = std::env::var("SIM_VERBOSE").is_ok_and(|value| value == "1");
    Options { steps_max: 40_000_000, patience_ns: 60_000_000_000, verbose, ..Options::new(hosts, sessions) }
}

/// Runs seeds; panics at the first that fails, and says how to see it again.
fn walk(name: &str, range: std::ops::Range<u64>, each: impl Fn(u64) -> Result<Report, Box<Failure>>) -> Report {
    let again = format!("SIM_SEEDS={{}} cargo test -p storage --test simulated {name}");
    let totals = testkit::sim::seeds(range, &again, each);
    println!("{name}: {}", totals.describe());
    totals.sum
}

#[test]
fn schedules() {
    walk("schedules", 0..12, |seed| run(seed, options(seed), 25));
}

fn with_kills(seed: u64) -> Options {
    Options { kills: 3, kill_chance: 300, trouble_ns: 60_000_000, ..options(seed) }
}

#[test]
fn kills() {
    let sum = walk("kills", 0..18, |seed| run(seed, with_kills(seed), 25));
    assert!(testkit::sim::asked_for().is_some() || sum.kills > 10, "{sum:?}");
}

fn with_power_cuts(seed: u64) -> Options {
    Options { power_cuts: 3, trouble_ns: 100_000_000, kills: 1, kill_background: true, ..options(seed) }
}

#[test]
fn power_cuts() {
    let sum = walk("power_cuts", 0..24, |seed| run(seed, with_power_cuts(seed), 30));
    assert!(testkit::sim::asked_for().is_some() || sum.power_cuts > 20, "{sum:?}");
}

fn with_a_bad_disk(seed: u64) -> Options {
    let disk = DiskFaults { done_in_part: 50_000, read_fails: 2_000, ..DiskFaults::default() };
    Options { disk, power_cuts: 1, trouble_ns: 60_000_000, ..options(seed) }
}

#[test]
fn a_disk_that_does_things_in_part() {
    walk("a_disk_that_does_things_in_part", 0..9, |seed| run(seed, with_a_bad_disk(seed), 25));
}

#[test]
fn a_seed_replays() {
    for seed in [3, 5] {
        let first = run(seed, with_power_cuts(seed), 20).unwrap();
        let second = run(seed, with_power_cuts(seed), 20).unwrap();
        assert_eq!(first, second, "seed {seed}");
    }
}

/// Locks in every mode ([`lock_load`]).
#[test]
fn locks() {
    walk("locks", 0..60, |seed| lock_load::run(seed, options(seed), 25));
}

/// The same, while hosts die in the middle of it.
#[test]
fn locks_and_kills() {
    let kills = |seed| Options { kills: 12, kill_chance: 3000, trouble_ns: 60_000_000, ..options(seed) };
    let sum = walk("locks_and_kills", 0..300, |seed| lock_load::run(seed, kills(seed), 25));
    assert!(testkit::sim::asked_for().is_some() || sum.kills > 1000, "{sum:?}");
}

/// Pages read without pins while others take their frames ([`read_load`]).
#[test]
fn reads() {
    walk("reads", 0..12, |seed| read_load::run(seed, options(seed), 10));
}

#[test]
fn reads_and_kills() {
    let sum = walk("reads_and_kills", 0..12, |seed| read_load::run(seed, with_kills(seed), 10));
    assert!(testkit::sim::asked_for().is_some() || sum.kills > 10, "{sum:?}");
}

/// The same troubles for tables with indexes ([`table_load`]).
#[test]
fn tables() {
    walk("tables", 0..8, |seed| table_load::run(seed, options(seed), 20));
}

#[test]
fn tables_and_kills() {
    walk("tables_and_kills", 0..12, |seed| table_load::run(seed, with_kills(seed), 20));
}

#[test]
fn tables_and_power_cuts() {
    walk("tables_and_power_cuts", 0..18, |seed| table_load::run(seed, with_power_cuts(seed), 20));
}

#[test]
fn tables_and_a_bad_disk() {
    walk("tables_and_a_bad_disk", 0..6, |seed| table_load::run(seed, with_a_bad_disk(seed), 20));
}

#[test]
fn a_seed_of_tables_replays() {
    for seed in [3, 5] {
        let first = table_load::run(seed, with_power_cuts(seed), 12).unwrap();
        let second = table_load::run(seed, with_power_cuts(seed), 12).unwrap();
        assert_eq!(first, second, "seed {seed}");
    }
}
