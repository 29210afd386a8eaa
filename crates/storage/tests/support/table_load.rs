//! A load for the simulator on tables with indexes: transactions like TPC-B's beside random ones on keys of a client's own.
//!
//! One table has branches, tellers, accounts, and a row of history for each transfer; a transfer adds one amount to one row of each
//! group and writes it into its history. Whatever happens:
//!
//! 1. every snapshot sees the same sum in each group, and one transaction at `REPEATABLE READ` sees it twice;
//! 2. a transfer that was acknowledged, or that anybody has seen, is there at the end; one that failed is not; any other is
//!    there as a whole or not at all;
//! 3. a client's own keys are as its last acknowledged change left them, or as the one left them whose answer was lost;
//! 4. rows that fill more pages than the pool has, in some seeds, have what was acknowledged, and no more than was asked for;
//! 5. of keys that all clients insert and delete, and give up half of the time, none is there twice;
//! 6. at the end heap and indexes are whole and agree, and nobody holds anything.

use super::access::AccessService;
use kernel::engine::sim::{self, Failure, Options, Report, Scenario, SimConn};
use kernel::session::Service;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Once;

pub const CLIENTS: u32 = 4;
/// Where the groups of rows begin: branches, tellers, accounts; and where accounts end.
const GROUPS: [i64; 4] = [0, 2, 5, 12];
/// Clients' own keys: ten each.
const OWN: i64 = 100;
/// Keys that all clients insert and delete.
const CONTESTED: [i64; 2] = [600, 602];
/// Keys of wide rows, two on a page, and how many a client changes at once.
const WIDE: [i64; 2] = [2_000, 2_280];
const WIDE_AT_ONCE: usize = 6;
/// Keys of the history: a thousand a client.
const HISTORY: i64 = 10_000;
const HISTORY_END: i64 = 1_000_000;

/// A row of a client's own: value and count.
type State = Option<(i64, i64)>;

#[derive(Default)]
struct World {
    table: Option<String>,
    running: u32,
    /// They all want the same keys, most of the time.
    contends: bool,
    /// Rows are so wide that they have more pages than the pool has frames: recovery writes some while it reads others.
    wide: bool,
    /// How much was added to each of them: acknowledged, and perhaps.
    added: BTreeMap<i64, [i64; 2]>,
    acknowledged: BTreeSet<i64>,
    failed: BTreeSet<i64>,
    seen: BTreeSet<i64>,
    /// What a client's own key may be.
    own: BTreeMap<i64, BTreeSet<State>>,
}

type Shared = Rc<RefCell<World>>;

/// A client that says anew which table it uses when it has to connect anew.
struct Client<'a> {
    conn: &'a mut SimConn,
    table: Option<String>,
    fresh: bool,
}

impl Client<'_> {
    /// An answer; none if the connection broke, and with it the transaction.
    fn ask(&mut self, line: &str) -> Option<String> {
        if !self.conn.is_connected() {
            self.conn.connect_patiently();
            self.fresh = true;
        }
        if self.fresh
            && let Some(table) = &self.table
        {
            self.fresh = false;
            let answer = self.conn.ask(table).ok()?;
            assert_eq!(answer, "ok", "{table}");
        }
        let answer = self.conn.ask(line).ok()?;
        // Errors that are nobody's mistake: a victim, a disk that failed once.
        let known =
            ["ok", "none", "row", "sum", "error 40P01", "error 40001", "error 23505", "error 58030", "error 53100"];
        let keeper = ["checked", "vacuumed", "stat", "pages", "horizon", "round"];
        assert!(known.iter().chain(&keeper).any(|begin| answer.starts_with(begin)), "{line}: {answer}");
        Some(answer)
    }

    /// Asks again until there is an answer that is no error: for what may be carried out twice.
    fn insist(&mut self, line: &str) -> String {
        loop {
            match self.ask(line) {
                Some(answer) if answer.starts_with("error") => self.conn.sleep(1_000_000),
                Some(answer) => return answer,
                None => self.conn.sleep(500_000),
            }
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.conn.random(limit)
    }
}

fn numbers(answer: &str) -> Vec<i64> {
    answer.split(' ').skip(1).map(|word| word.parse().unwrap_or_else(|_| panic!("not a number: {answer:?}"))).collect()
}

/// The sum of a range: of counts and values.
fn total(answer: &str) -> i64 {
    let numbers = numbers(answer);
    numbers[0] + numbers[1]
}

fn work(conn: &mut SimConn, me: u32, rounds: u32, world: &Shared) {
    let mut client = Client { conn, table: None, fresh: true };
    if me == 0 {
        prepare(&mut client, world);
    }
    while world.borrow().table.is_none() {
        client.conn.sleep(300_000);
    }
    client.table = world.borrow().table.clone();
    let (contends, wide) = (world.borrow().contends, world.borrow().wide);
    for round in 0..rounds {
        if contends && client.below(5) > 0 {
            contend(&mut client);
            continue;
        }
        if wide && client.below(2) == 0 {
            spread(&mut client, world);
            continue;
        }
        match client.below(20) {
            0..9 => transfer(&mut client, HISTORY + me as i64 * 1000 + round as i64, world),
            9..12 => look(&mut client, world),
            12..15 => own(&mut client, OWN + me as i64 * 10, round, world),
            15..17 => contend(&mut client),
            17 => drop(client.ask("checkpoint")),
            18 => drop(client.ask(["vacuum", "vacuum small"][round as usize % 2])),
            _ if client.below(3) == 0 => regrown_table(&mut client, world),
            _ => side_table(&mut client, world),
        }
    }
    world.borrow_mut().running -= 1;
    if world.borrow().running == 0 {
        check(&mut client, world);
    }
}

/// Makes the table; again if that was not heard of.
fn prepare(client: &mut Client<'_>, world: &Shared) {
    let padding = if world.borrow().wide { 3500 } else { 40 };
    let table = loop {
        client.table = None;
        let made = client.ask(&format!("table {padding}"));
        let Some(made) = made.filter(|answer| answer.starts_with("ok ")) else { continue };
        let table = format!("use {} {padding}", made.strip_prefix("ok ").expect("just looked"));
        if client.ask(&format!("load 0 {} 0", GROUPS[3])).is_some_and(|answer| answer == "ok") {
            break table;
        }
    };
    client.insist("watch");
    if world.borrow().wide {
        client.fresh = true;
        client.table = Some(table.clone());
        for first in (WIDE[0]..WIDE[1]).step_by(20) {
            // Once: that it was done may not have been heard.
            while client.insist(&format!("get {first}")) == "none" {
                client.ask(&format!("load {first} {} 0", first + 20));
            }
        }
    }
    world.borrow_mut().table = Some(table);
}

/// Moves an amount into a branch, a teller and an account, and writes that down.
fn transfer(client: &mut Client<'_>, key: i64, world: &Shared) {
    let amount = client.below(9) as i64 - 4;
    let mut lines = vec![format!("insert {key} {amount}")];
    for group in GROUPS.windows(2) {
        let row = group[0] + client.below((group[1] - group[0]) as u64) as i64;
        lines.push(format!("{} {row} {amount}", ["add", "add", "addv"][client.below(3) as usize]));
    }
    if client.below(3) == 0 {
        lines.reverse();
    }
    let level = ["begin rc", "begin rr"][client.below(2) as usize];
    let done = (|| {
        client.ask(level)?;
        for line in &lines {
            let answer = client.ask(line)?;
            if answer.starts_with("error") {
                return Some(false);
            }
            assert_eq!(answer, "ok", "{line}");
        }
        if client.below(8) == 0 {
            client.ask("abort")?;
            return Some(false);
        }
        client.ask("commit").map(|answer| answer == "ok")
    })();
    match done {
        Some(true) => drop(world.borrow_mut().acknowledged.insert(key)),
        Some(false) => drop(world.borrow_mut().failed.insert(key)),
        None => {}
    }
}

/// Looks at everything, twice in one snapshot.
fn look(client: &mut Client<'_>, world: &Shared) {
    let acknowledged = world.borrow().acknowledged.clone();
    let found = (|| {
        client.ask("begin rr")?;
        let mut sums = Vec::new();
        let history = client.ask(&format!("range {HISTORY} {HISTORY_END} fwd"))?;
        for round in 0..2 {
            for group in GROUPS.windows(2) {
                sums.push(client.ask(&format!("sum {} {}", group[0], group[1]))?);
            }
            sums.push(client.ask(&format!("sum {HISTORY} {HISTORY_END}"))?);
            if round == 0 {
                client.conn.sleep(400_000);
            }
        }
        client.ask("commit")?;
        Some((history, sums))
    })();
    let Some((history, sums)) = found else { return };
    if history.starts_with("error") || sums.iter().any(|sum| sum.starts_with("error")) {
        return;
    }
    assert!(sums.iter().all(|sum| total(sum) == total(&sums[0])), "groups differ in one snapshot: {sums:?}");
    assert_eq!(sums[..4], sums[4..], "a snapshot changes");
    let keys: BTreeSet<i64> = history
        .split(' ')
        .skip(1)
        .map(|row| row.split(':').next().and_then(|key| key.parse().ok()).expect("a key"))
        .collect();
    if let Some(key) = acknowledged.difference(&keys).next() {
        panic!("transfer {key} was acknowledged, and is not seen");
    }
    world.borrow_mut().seen.extend(keys);
}

/// Something with one of the client's own keys.
fn own(client: &mut Client<'_>, first: i64, round: u32, world: &Shared) {
    let key = first + client.below(4) as i64;
    let before = world.borrow().own.get(&key).cloned().unwrap_or_else(|| BTreeSet::from([None]));
    let value = round as i64;
    let choice = client.below(6);
    let line = match choice {
        0 => format!("get {key}"),
        1 => format!("delete {key}"),
        2 => format!("bump {key}"),
        3 => format!("set {key} {value}"),
        _ => format!("insert {key} {value}"),
    };
    let Some(answer) = client.ask(&line) else {
        // Carried out or not.
        let changed = |state: &State| match (choice, state) {
            (1, _) => None,
            (2, Some((value, count))) => Some((*value, count + 1)),
            (3, Some((_, count))) => Some((value, *count)),
            (4 | 5, None) => Some((value, 0)),
            (_, state) => *state,
        };
        let after: BTreeSet<State> = before.iter().map(changed).chain(before.iter().copied()).collect();
        world.borrow_mut().own.insert(key, after);
        return;
    };
    // What the answer says of the row as it was.
    let was_there = |state: &State| state.is_some();
    let possible: BTreeSet<State> = match (choice, answer.as_str()) {
        (0..=3, "none") => before.iter().copied().filter(|state| !was_there(state)).collect(),
        (0, text) if text.starts_with("row ") => {
            let found = numbers(text);
            before.iter().copied().filter(|state| *state == Some((found[0], found[1]))).collect()
        }
        (1, "ok") => before.iter().filter(|state| was_there(state)).map(|_| None).collect(),
        (2, "ok") => before.iter().flatten().map(|(value, count)| Some((*value, count + 1))).collect(),
        (3, "ok") => before.iter().flatten().map(|(_, count)| Some((value, *count))).collect(),
        (_, "ok") => before.iter().filter(|state| !was_there(state)).map(|_| Some((value, 0))).collect(),
        (4 | 5, text) if text.starts_with("error 23505") => before.iter().copied().filter(was_there).collect(),
        (_, text) if text.starts_with("error") => before.clone(),
        _ => panic!("{line}: {answer}"),
    };
    assert!(!possible.is_empty(), "{line} is answered by {answer:?}; the row could be {before:?}");
    world.borrow_mut().own.insert(key, possible);
}

/// Adds one to some of the wide rows.
fn spread(client: &mut Client<'_>, world: &Shared) {
    let mut keys: Vec<i64> =
        (0..WIDE_AT_ONCE).map(|_| WIDE[0] + client.below((WIDE[1] - WIDE[0]) as u64) as i64).collect();
    keys.sort_unstable();
    keys.dedup();
    let lines = keys.iter().map(|key| format!("add {key} 1"));
    for line in ["begin rc".to_string()].into_iter().chain(lines) {
        match client.ask(&line) {
            Some(answer) if answer == "ok" => {}
            Some(answer) => {
                assert!(answer.starts_with("error"), "{line}: {answer}");
                return;
            }
            None => return,
        }
    }
    let answer = client.ask("commit");
    if answer.as_ref().is_some_and(|answer| answer.starts_with("error")) {
        return;
    }
    for key in keys {
        world.borrow_mut().added.entry(key).or_default()[usize::from(answer.is_none())] += 1;
    }
}

/// Inserts and deletes what others do too.
fn contend(client: &mut Client<'_>) {
    let key = CONTESTED[0] + client.below((CONTESTED[1] - CONTESTED[0]) as u64) as i64;
    let (insert, delete) = (format!("insert {key} 0"), format!("delete {key}"));
    let end = ["abort", "commit"][client.below(2) as usize];
    let lines = match client.below(3) {
        0 => vec![insert.as_str()],
        1 => vec!["begin rc", &delete, end],
        _ => vec!["begin rc", &delete, &insert, end],
    };
    for line in lines {
        if client.ask(line).is_none_or(|answer| answer.starts_with("error")) {
            break;
        }
    }
    let Some(found) = client.ask(&format!("range {} {} fwd", CONTESTED[0], CONTESTED[1])) else { return };
    let keys: Vec<&str> = found.split([' ', ':']).collect();
    let times = |key: i64| keys.iter().filter(|word| **word == key.to_string()).count();
    assert!((CONTESTED[0]..CONTESTED[1]).all(|key| times(key) <= 1), "a key is there twice: {found}");
}

/// A table that comes and goes, with its transaction or after it.
fn side_table(client: &mut Client<'_>, world: &Shared) {
    let stays = client.below(2) == 0;
    let mut lines = vec!["begin rc", "table 10", "load 0 40 1"];
    if client.below(4) == 0 {
        // Recovery begins behind the record of the table's file then.
        lines.extend(["checkpoint", "load 40 60 1"]);
    }
    if client.below(2) == 0 {
        lines.push("bumps 0 20");
    }
    lines.extend(if stays { &["commit", "check", "drop"][..] } else { &["abort"] });
    client.table = None;
    for line in lines {
        // Not any further: without the new table the session has the one of all.
        if client.ask(line).is_none_or(|answer| answer.starts_with("error")) {
            break;
        }
    }
    // Back to that; what was left of the other one is nobody's.
    client.fresh = true;
    client.table = world.borrow().table.clone();
}

/// A table that is cut off, and grows again: pages begin anew, and recovery must not mix what they were with what they are.
fn regrown_table(client: &mut Client<'_>, world: &Shared) {
    client.table = None;
    let made = client.ask("table 3500");
    if let Some(rels) = made.as_deref().and_then(|answer| answer.strip_prefix("ok ")) {
        client.table = Some(format!("use {rels} 3500"));
        for line in ["load 0 12 1", "deletes 0 12", "vacuum", "load 0 8 1", "bumps 0 8"] {
            // What was not heard of may have been done, and what failed was not: the next lines change what there is.
            client.ask(line);
        }
        client.insist("check");
        client.ask("drop");
    }
    client.fresh = true;
    client.table = world.borrow().table.clone();
}

/// Looks at everything when everybody is done.
fn check(client: &mut Client<'_>, world: &Shared) {
    let checked = client.insist("check");
    assert!(checked.starts_with("checked "), "{checked}");
    let listed = client.insist("all");
    let world = world.borrow();
    let rows: BTreeMap<i64, (i64, i64)> = listed
        .split(' ')
        .skip(1)
        .map(|row| {
            let parts: Vec<i64> = row.split(':').map(|part| part.parse().expect("a number")).collect();
            (parts[0], (parts[1], parts[2]))
        })
        .collect();
    assert_eq!(listed.split(' ').count() - 1, rows.len(), "a key is there twice: {listed}");
    let sum = |from: i64, to: i64| rows.range(from..to).map(|(_, row)| row.0 + row.1).sum::<i64>();
    let history = sum(HISTORY, HISTORY_END);
    for group in GROUPS.windows(2) {
        assert_eq!(rows.range(group[0]..group[1]).count() as i64, group[1] - group[0], "a row of {group:?} is missing");
        assert_eq!(sum(group[0], group[1]), history, "the rows of {group:?}");
    }
    if world.wide {
        assert_eq!(rows.range(WIDE[0]..WIDE[1]).count() as i64, WIDE[1] - WIDE[0], "a wide row is missing");
    }
    for (key, [surely, perhaps]) in &world.added {
        let count = rows[key].1;
        assert!(
            (*surely..=surely + perhaps).contains(&count),
            "{key}: {count}, not {surely} and perhaps {perhaps} more"
        );
    }
    for (what, keys) in [("acknowledged", &world.acknowledged), ("seen", &world.seen)] {
        if let Some(key) = keys.iter().find(|key| !rows.contains_key(key)) {
            panic!("transfer {key} was {what}, and is not there");
        }
    }
    if let Some(key) = world.failed.iter().find(|key| rows.contains_key(key)) {
        panic!("transfer {key} has failed, and is there");
    }
    for (key, possible) in &world.own {
        let found = rows.get(key).copied();
        assert!(possible.contains(&found), "row {key} is {found:?}; it could be {possible:?}");
    }
    let wide = world.wide;
    drop(world);
    if wide {
        let pages = numbers(&client.insist("pages"))[0];
        assert!(pages > storage::buffer::FRAMES_MIN as i64, "wide rows have {pages} pages, which fit into the pool");
    }
    for name in ["running", "pins", "locks", "row_locks", "pending_files", "left_behind"] {
        // Sessions that died are cleaned up after, which may take a moment.
        let mut tries = 0;
        loop {
            let stat = client.insist("stat");
            let found = stat.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            if found == Some("0") {
                break;
            }
            tries += 1;
            assert!(tries < 200, "{name}: {stat}");
            client.conn.sleep(1_000_000);
        }
    }
}

/// Says once in a process what is done when a request of storage's is over.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| kernel::io::on_completion(storage::Storage::complete));
}

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    register();
    let config = storage::Config {
        shared_buffers: 1 << 20,
        wal_buffers: 256 << 10,
        checkpoint_timeout_ms: 40,
        min_wal_size: 32 << 20,
        max_wal_size: 64 << 20,
        deadlock_timeout_ms: 5,
        // Recovery by the record, by some records, and by all of them.
        maintenance_work_mem: [0, 4 << 10, 64 << 20][((seed + seed / 6) % 3) as usize],
    };
    let make = move || Ok(Box::new(AccessService::make(&config, false)?) as Box<dyn Service>);
    sim::run(seed, options, make, |scenario: &mut Scenario| {
        let world = World { running: CLIENTS, contends: seed % 8 == 7, wide: seed % 5 == 4, ..World::default() };
        let world: Shared = Rc::new(RefCell::new(world));
        for me in 0..CLIENTS {
            let world = world.clone();
            scenario.client(move |conn| work(conn, me, rounds, &world));
        }
    })
}
