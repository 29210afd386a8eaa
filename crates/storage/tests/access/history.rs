//! Random transactions of many sessions, checked against what their isolation levels allow.
//!
//! Every statement's answer tells the position of its snapshot, every commit's the position of its record, so nothing is left to
//! guess: when all is over, the commits are put in order, and
//!
//! 1. each read saw what the commits at or before its snapshot had left, and its own transaction's changes before it;
//! 2. each change was applied to what the commits before its own had left: no update is lost, no key is there twice;
//! 3. at `REPEATABLE READ` a transaction has one snapshot, and nobody else committed a change of what it changed after that;
//! 4. a snapshot sees every commit that was acknowledged before its statement was sent;
//! 5. what is there at the end is what all commits together say, by scan and by index.

use crate::runner::Test;
use crate::server::{Client, Directory, MODELS, Server, Setup};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const KEYS: i64 = 24;
const SESSIONS: u64 = 6;

pub fn tests(tests: &mut Vec<Test>) {
    for (nth, model) in MODELS.into_iter().enumerate() {
        let setup = Setup::of(model).pages(128);
        let name = setup.name().replace(['/', ' '], "_");
        let seed = 1 + nth as u64;
        tests.push((format!("histories_are_allowed_{name}"), Box::new(move || history(&setup, seed))));
    }
}

pub fn full() -> bool {
    std::env::var("GEARBOX_FULL").is_ok_and(|value| value == "1")
}

/// A source of chance with a seed.
pub struct Random(pub u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A row as clients see it: value and count.
type State = Option<(i64, i64)>;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Act {
    Get(i64, State),
    All(Vec<(i64, (i64, i64))>),
    Lock(i64, State),
    Insert(i64, i64),
    Set(i64, i64, bool),
    Bump(i64, bool),
    Delete(i64, bool),
    Move(i64, i64, bool),
}

/// One statement: what it did, by which snapshot, and the newest commit that was known when it was sent.
#[derive(Clone, Debug)]
struct Step {
    act: Act,
    snapshot: u64,
    known: u64,
}

#[derive(Clone, Debug, Default)]
struct Transaction {
    repeatable: bool,
    steps: Vec<Step>,
    /// None if it aborted; zero if it changed nothing.
    commit: Option<u64>,
}

/// Splits an answer and its position.
fn split(answer: &str) -> (&str, u64) {
    let (text, position) = answer.rsplit_once(" @").unwrap_or_else(|| panic!("no position: {answer:?}"));
    (text, position.parse().expect("a position is a number"))
}

fn state_of(text: &str) -> State {
    let words: Vec<i64> = text.split(' ').skip(1).map(|word| word.parse().expect("a number")).collect();
    (text != "none").then(|| (words[0], words[1]))
}

fn rows_of(text: &str) -> Vec<(i64, (i64, i64))> {
    text.split(' ')
        .skip(1)
        .map(|row| {
            let parts: Vec<i64> = row.split(':').map(|part| part.parse().expect("a number")).collect();
            (parts[0], (parts[1], parts[2]))
        })
        .collect()
}

/// A session: transactions until `stop`.
fn session(address: SocketAddr, rels: &str, seed: u64, newest: &AtomicU64, stop: &AtomicBool) -> Vec<Transaction> {
    let mut random = Random::new(seed);
    let mut client = Client::connect(address).expect("a connection");
    client.expect(&format!("use {rels} 30"), "ok");
    client.ask("trace");
    let mut done = Vec::new();
    let mut unique = seed as i64 * 1_000_000;
    while !stop.load(SeqCst) {
        let mut transaction = Transaction { repeatable: random.below(2) == 0, ..Transaction::default() };
        client.ask(if transaction.repeatable { "begin rr" } else { "begin rc" });
        let mut open = true;
        for _ in 0..1 + random.below(6) {
            let key = random.below(KEYS as u64) as i64;
            unique += 1;
            let line = match random.below(100) {
                0..20 => format!("get {key}"),
                20..28 => "all".to_string(),
                28..36 => format!("lock {key} {}", 1 + random.below(4)),
                36..50 => format!("insert {key} {unique}"),
                50..62 => format!("set {key} {unique}"),
                62..85 => format!("bump {key}"),
                85..95 => format!("delete {key}"),
                _ => format!("move {key} {}", random.below(KEYS as u64)),
            };
            let known = newest.load(SeqCst);
            let answer = client.ask(&line);
            if answer.starts_with("error") {
                let allowed: &[&str] = if transaction.repeatable {
                    &["error 40001", "error 40P01", "error 23505"]
                } else {
                    &["error 40P01", "error 23505"]
                };
                assert!(allowed.iter().any(|code| answer.starts_with(code)), "{line}: {answer}");
                open = false;
                break;
            }
            let (text, snapshot) = split(&answer);
            let words: Vec<&str> = line.split(' ').collect();
            let there = text == "ok";
            assert!(there || text == "none" || matches!(words[0], "get" | "all" | "lock"), "{line}: {answer}");
            let act = match words[0] {
                "get" => Act::Get(key, state_of(text)),
                "all" => Act::All(rows_of(text)),
                "lock" => Act::Lock(key, state_of(text)),
                "insert" => Act::Insert(key, unique),
                "set" => Act::Set(key, unique, there),
                "bump" => Act::Bump(key, there),
                "delete" => Act::Delete(key, there),
                _ => Act::Move(key, words[2].parse().expect("a key"), there),
            };
            transaction.steps.push(Step { act, snapshot, known });
        }
        if open {
            if random.below(6) == 0 {
                client.ask("abort");
            } else {
                let answer = client.ask("commit");
                let (text, position) = split(&answer);
                assert_eq!(text, "ok");
                newest.fetch_max(position, SeqCst);
                transaction.commit = Some(position);
            }
        }
        done.push(transaction);
    }
    done
}

/// What each key was after each commit that changed it; and the commits that took the key's row away, whether they put another
/// one in its place or not.
struct Versions(BTreeMap<i64, BTreeMap<u64, State>>, BTreeSet<(i64, u64)>);

impl Versions {
    fn at(&self, key: i64, snapshot: u64) -> State {
        self.0.get(&key).and_then(|history| history.range(..=snapshot).next_back()).and_then(|(_, state)| *state)
    }
}

/// Applies a change to a state; answers the keys that it changes. Panics if it cannot have been done.
fn apply(act: &Act, read: impl Fn(i64) -> State, what: impl Fn() -> String) -> Vec<(i64, State)> {
    let row = |key: i64| read(key).unwrap_or_else(|| panic!("{act:?} found a row, and there is none: {}", what()));
    match *act {
        Act::Insert(key, value) => {
            assert_eq!(read(key), None, "{act:?} was let in beside another row: {}", what());
            vec![(key, Some((value, 0)))]
        }
        Act::Set(key, value, true) => vec![(key, Some((value, row(key).1)))],
        Act::Bump(key, true) => vec![(key, Some((row(key).0, row(key).1 + 1)))],
        Act::Delete(key, true) => {
            row(key);
            vec![(key, None)]
        }
        Act::Move(key, to, true) => {
            let moved = row(key);
            if to != key {
                assert_eq!(read(to), None, "{act:?} was let in beside another row: {}", what());
            }
            let mut changes = vec![(key, None)];
            changes.push((to, Some(moved)));
            changes
        }
        _ => Vec::new(),
    }
}

/// A transaction, and all others that had to do with a row, for who has to find out what went wrong.
fn about(act: &Act, transaction: &Transaction, all: &[Transaction]) -> String {
    use std::fmt::Write as _;
    let mut text = format!("{transaction:?}");
    if !std::env::var("HISTORY").is_ok_and(|value| value == "1") {
        return text + "; HISTORY=1 tells more";
    }
    let keys = keys_of(act);
    let mut others: Vec<&Transaction> = all
        .iter()
        .filter(|other| other.steps.iter().any(|step| keys_of(&step.act).iter().any(|key| keys.contains(key))))
        .collect();
    others.sort_by_key(|other| other.commit);
    for other in others {
        let _ = write!(text, "\n  {other:?}");
    }
    text
}

/// The rows that an act is about.
fn keys_of(act: &Act) -> Vec<i64> {
    match act {
        Act::Get(key, _)
        | Act::Lock(key, _)
        | Act::Insert(key, _)
        | Act::Set(key, ..)
        | Act::Bump(key, _)
        | Act::Delete(key, _) => {
            vec![*key]
        }
        Act::Move(key, to, _) => vec![*key, *to],
        Act::All(_) => Vec::new(),
    }
}

/// Replays the commits in order (2, 3).
fn replay(transactions: &[Transaction]) -> Versions {
    let mut ordered: Vec<&Transaction> =
        transactions.iter().filter(|done| done.commit.is_some_and(|at| at > 0)).collect();
    ordered.sort_by_key(|done| done.commit);
    let mut versions = Versions(BTreeMap::new(), BTreeSet::new());
    for transaction in ordered {
        let commit = transaction.commit.expect("filtered");
        let mut own: BTreeMap<i64, State> = BTreeMap::new();
        for step in &transaction.steps {
            let read = |key: i64| own.get(&key).copied().unwrap_or_else(|| versions.at(key, commit));
            let changes = apply(&step.act, read, || about(&step.act, transaction, transactions));
            for &(key, state) in &changes {
                // An insert may take the place of a row that went after the snapshot: nobody's update is lost.
                let before = versions.0.get(&key).and_then(|history| history.keys().next_back()).copied().unwrap_or(0);
                let fresh = matches!(step.act, Act::Insert(..)) || matches!(step.act, Act::Move(_, to, _) if to == key);
                if transaction.repeatable && !own.contains_key(&key) && !fresh {
                    assert!(before <= step.snapshot, "row {key} was changed at {before}: {transaction:?}");
                }
                if state.is_none() {
                    versions.1.insert((key, commit));
                }
                own.insert(key, state);
            }
        }
        for (key, state) in own {
            versions.0.entry(key).or_default().insert(commit, state);
        }
    }
    versions
}

/// Checks what a transaction saw (1, 3, 4); aborted ones too.
fn check_reads(transaction: &Transaction, versions: &Versions) {
    let snapshots: BTreeSet<u64> = transaction.steps.iter().map(|step| step.snapshot).collect();
    assert!(!transaction.repeatable || snapshots.len() <= 1, "several snapshots: {transaction:?}");
    let mut own: BTreeMap<i64, State> = BTreeMap::new();
    for (nth, step) in transaction.steps.iter().enumerate() {
        if !transaction.repeatable || nth == 0 {
            assert!(step.snapshot >= step.known, "a snapshot without an acknowledged commit: {step:?}");
        }
        let seen = |key: i64| own.get(&key).copied().unwrap_or_else(|| versions.at(key, step.snapshot));
        match &step.act {
            Act::Get(key, state) => assert_eq!(*state, seen(*key), "{step:?} of {transaction:?}"),
            Act::All(rows) => {
                let expected: Vec<(i64, (i64, i64))> =
                    (0..KEYS).filter_map(|key| seen(key).map(|state| (key, state))).collect();
                assert_eq!(*rows, expected, "{step:?} of {transaction:?}");
            }
            Act::Lock(key, state) if transaction.repeatable => {
                assert_eq!(*state, seen(*key), "{step:?} of {transaction:?}");
            }
            // It was not there; or, where others' changes are followed, somebody has taken it away since.
            Act::Set(key, _, false)
            | Act::Bump(key, false)
            | Act::Delete(key, false)
            | Act::Move(key, _, false)
            | Act::Lock(key, None) => {
                let went = || {
                    let after = (*key, step.snapshot + 1)..=(*key, u64::MAX);
                    !transaction.repeatable && versions.1.range(after).next().is_some()
                };
                assert!(seen(*key).is_none() || went(), "{step:?} of {transaction:?}");
            }
            _ => {}
        }
        // What an own change made of it, as far as the snapshot tells: READ COMMITTED may have found a newer row to change.
        let newer = |key: i64| {
            versions.0.get(&key).into_iter().flat_map(|history| history.range(step.snapshot + 1..)).next().is_some()
        };
        let keys: &[i64] = match &step.act {
            Act::Insert(key, _) | Act::Set(key, ..) | Act::Bump(key, _) | Act::Delete(key, _) => &[*key],
            Act::Move(key, to, _) => &[*key, *to],
            _ => &[],
        };
        if !transaction.repeatable && keys.iter().any(|key| newer(*key)) {
            // From here on its own rows are not known without its commit's place; the replay has looked at them.
            return;
        }
        let inserted_beside = matches!(step.act, Act::Insert(key, _) if seen(key).is_some())
            || matches!(step.act, Act::Move(key, to, true) if key != to && seen(to).is_some());
        if inserted_beside {
            // The snapshot still sees a row that somebody has deleted since: both are seen, as in PostgreSQL. Not looked at further.
            return;
        }
        let changes = apply(&step.act, seen, || format!("{transaction:?}"));
        own.extend(changes);
    }
}

fn history(setup: &Setup, seed: u64) {
    println!("    seed {seed}");
    let dir = Directory::new();
    let server = Server::start(setup, &dir.0);
    let mut admin = server.connect();
    let rels = admin.ask("table 30");
    let rels = rels.strip_prefix("ok ").expect("a table").to_string();
    let (newest, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|nth| {
            let (address, rels, newest, stop) = (server.address(), rels.clone(), newest.clone(), stop.clone());
            std::thread::spawn(move || session(address, &rels, seed * 100 + nth, &newest, &stop))
        })
        .collect();
    let end = std::time::Instant::now() + Duration::from_millis(if full() { 20_000 } else { 900 });
    let mut turn = 0;
    while std::time::Instant::now() < end {
        turn += 1;
        let answer = match turn % 4 {
            0 => admin.ask("checkpoint"),
            1 => admin.ask("horizon"),
            _ => admin.ask(if turn % 8 == 2 { "vacuum small" } else { "vacuum" }),
        };
        assert!(!answer.starts_with("error"), "{answer}");
        std::thread::sleep(Duration::from_millis(5));
    }
    stop.store(true, SeqCst);
    let mut transactions: Vec<Transaction> = Vec::new();
    for session in sessions {
        transactions.extend(session.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    }
    let committed = transactions.iter().filter(|done| done.commit.is_some_and(|at| at > 0)).count();
    let versions = replay(&transactions);
    transactions.iter().for_each(|transaction| check_reads(transaction, &versions));
    let last: Vec<(i64, (i64, i64))> =
        (0..KEYS).filter_map(|key| versions.at(key, u64::MAX).map(|state| (key, state))).collect();
    assert_eq!(rows_of(&admin.ask("all")), last);
    admin.expect("check", &format!("checked {}", last.len()));
    for name in ["running", "pins", "locks", "row_locks"] {
        assert_eq!(admin.stat(name), 0, "{name}");
    }
    assert!(committed > 30, "only {committed} transactions have committed");
    server.stop();
}
