//! A load of random statements on keys: a table with a primary key and a second index, and tables that come and go beside it.
//!
//! | who | does | must find |
//! |---|---|---|
//! | a client with rows of its own | inserts, updates, deletes and upserts, alone and in blocks of both levels, with savepoints | what a model says |
//! | all clients with rows of all | write a value that nobody else writes, or read | one order that explains what everybody saw ([`testkit::register`]) |
//! | anybody, in one snapshot | reads the table by its primary key, by its second index, and by a scan | three times the same |
//! | a client with a table of its own | makes it anew with its columns in another order, with and without an index | its rows under the names of their columns |
//! | all clients with a sequence of all | put what it gives into a table, one a row | no value twice |
//! | all clients with a table of all | make, fill, empty and drop it | rows that somebody put there |
//!
//! Rules
//! 1. A client whose connection is lost does not know what became of what it asked for. It waits until its old session is gone, and
//!    then changes a row that the old one may have changed: who waits for a row learns of its last change.
//! 2. The model is the set of all states that are possible; an answer leaves those that explain it, and there must be one.

use super::run::{self, wait_until};
use super::wire::{How, Lost, Reply, Wire, is_transient};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use testkit::history::History;
use testkit::register::{self, Asked, Told};

const CLIENTS: u32 = 4;
/// Keys of a client's own begin at its number times this; so many are used.
const OWN: i64 = 100;
const OWN_USED: u64 = 4;
/// Keys of all begin here; so many are used.
const SHARED: i64 = 10_000;
const SHARED_USED: i64 = 2;

const TABLE: &str = "create table kv (k int primary key, v int not null, c int not null, filler text)";
const INDEX: &str = "create index kv_v on kv (v)";

const SEQUENCE: &str = "create sequence draw";
const DRAWN: &str = "create table drawn (v bigint primary key)";
/// As many values are taken one after the other.
const DRAWS: usize = 4;

/// A row of a client's own: value and count.
type State = BTreeMap<i64, (i64, i64)>;

/// What a transaction has come to: the state before it, that at each open savepoint, and the present one.
type Levels = Vec<State>;

/// What a client does to one of its own keys, and its statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Get,
    Insert,
    InsertIfNew,
    Upsert,
    Set,
    Bump,
    Delete,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Op {
    change: Change,
    key: i64,
    value: i64,
}

/// What comes of an operation: rows, and rows changed; or a key that is there already.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Came {
    Rows(Vec<(i64, i64)>, u64),
    Duplicate,
}

impl Op {
    fn statement(self) -> (&'static str, Vec<String>) {
        let (key, value) = (self.key.to_string(), self.value.to_string());
        match self.change {
            Change::Get => ("select v, c from kv where k = $1", vec![key]),
            Change::Insert => ("insert into kv values ($1, $2, 0)", vec![key, value]),
            Change::InsertIfNew => ("insert into kv values ($1, $2, 0) on conflict do nothing", vec![key, value]),
            Change::Upsert => (
                "insert into kv values ($1, $2, 0) on conflict (k) do update set v = excluded.v, c = kv.c + 1 returning v, c",
                vec![key, value],
            ),
            Change::Set => ("update kv set v = $2 where k = $1", vec![key, value]),
            Change::Bump => ("update kv set c = c + 1 where k = $1 returning v, c", vec![key]),
            Change::Delete => ("delete from kv where k = $1", vec![key]),
        }
    }

    /// Does it to a state.
    fn apply(self, state: &mut State) -> Came {
        let before = state.get(&self.key).copied();
        let after = match (self.change, before) {
            (Change::Insert, Some(_)) => return Came::Duplicate,
            (Change::Insert | Change::InsertIfNew | Change::Upsert, None) => Some((self.value, 0)),
            (Change::Get | Change::InsertIfNew, before)
            | (Change::Set | Change::Bump | Change::Delete, before @ None) => before,
            (Change::Upsert, Some((_, count))) => Some((self.value, count + 1)),
            (Change::Set, Some((_, count))) => Some((self.value, count)),
            (Change::Bump, Some((value, count))) => Some((value, count + 1)),
            (Change::Delete, Some(_)) => None,
        };
        match after {
            Some(row) => state.insert(self.key, row),
            None => state.remove(&self.key),
        };
        let shown: Vec<(i64, i64)> = after.into_iter().collect();
        match self.change {
            Change::Get => Came::Rows(shown.clone(), shown.len() as u64),
            Change::Upsert | Change::Bump => Came::Rows(shown.clone(), shown.len() as u64),
            Change::Insert => Came::Rows(Vec::new(), 1),
            Change::InsertIfNew => Came::Rows(Vec::new(), u64::from(before.is_none())),
            Change::Set | Change::Delete => Came::Rows(Vec::new(), u64::from(before.is_some())),
        }
    }
}

/// What a reply says came of an operation; none for an error that is nobody's mistake.
fn came(op: Op, reply: &Reply) -> Option<Came> {
    match reply.code() {
        Some("23505") => return Some(Came::Duplicate),
        Some(code) if is_transient(code) => return None,
        Some(_) => panic!("{op:?}: {:?}", reply.error),
        None => {}
    }
    let rows = (0..reply.rows.len()).map(|row| (reply.number(row, 0), reply.number(row, 1))).collect();
    let tag = reply.tags.last().unwrap_or_else(|| panic!("{op:?} has no tag: {reply:?}"));
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    Some(Came::Rows(rows, count.unwrap_or_else(|| panic!("{op:?}: {tag}"))))
}

/// The columns of a client's own table, in order.
const SHAPES: [&str; 3] = ["a int, b int", "b int, a int, x text", "x text default 'x', b int, y int, a int"];

#[derive(Default)]
struct World {
    is_made: bool,
    running: u32,
    /// Values for rows of all: each is written once.
    next_value: u64,
    history: BTreeMap<i64, History<Asked, Told>>,
}

type Shared = Rc<RefCell<World>>;

/// A block in the middle.
struct Block {
    steps: usize,
    states: BTreeSet<Levels>,
    /// What counts if it is committed.
    done: Vec<Op>,
    /// How many of those there were at each open savepoint.
    marks: Vec<usize>,
    /// The commit was asked for.
    ends: bool,
    committed: bool,
}

/// What is done with savepoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Savepoint,
    Release,
    RollbackTo,
}

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    run::run(seed, options, |scenario: &mut Scenario| {
        let world: Shared = Rc::new(RefCell::new(World { running: CLIENTS, ..World::default() }));
        for me in 0..CLIENTS {
            let world = world.clone();
            scenario.client(move |conn| work(conn, me, rounds, world));
        }
    })
}

struct Client<'c> {
    wire: Wire<'c>,
    me: u32,
    world: Shared,
    /// What the client's own rows may be.
    possible: BTreeSet<State>,
}

fn work(conn: &mut SimConn, me: u32, rounds: u32, world: Shared) {
    let mut client = Client { wire: Wire::new(conn), me, world, possible: BTreeSet::from([State::new()]) };
    if me == 0 {
        client.prepare();
        client.world.borrow_mut().is_made = true;
    }
    let world = client.world.clone();
    wait_until(&mut client.wire, || world.borrow().is_made);
    for round in 0..rounds {
        match client.wire.below(21) {
            0..6 => client.own(i64::from(round)),
            6..9 => client.block(i64::from(round)),
            9..13 => client.register(),
            13 => client.compare(),
            14..16 => client.table_of_its_own(),
            16 => client.table_of_all(),
            17 => client.maintain(),
            18 => client.second_index(),
            19 => client.draw(),
            _ => match client.wire.below(3) {
                0 => client.wire.leave(true),
                1 => client.wire.leave(false),
                _ => client.wire.conn.sleep(1_000_000),
            },
        }
    }
    client.look_at_own();
    client.world.borrow_mut().running -= 1;
    if client.world.borrow().running == 0 {
        client.check();
    }
    client.wire.leave(true);
}

impl Client<'_> {
    fn any(&self) -> How {
        self.wire.pick(&How::ALL)
    }

    fn prepare(&mut self) {
        self.wire.insist(TABLE, &["42P07"]);
        self.wire.insist(INDEX, &["42P07"]);
        self.wire.insist(SEQUENCE, &["42P07"]);
        self.wire.insist(DRAWN, &["42P07"]);
        for key in SHARED..SHARED + SHARED_USED {
            self.wire.insist(&format!("insert into kv values ({key}, 0, 0) on conflict do nothing"), &[]);
        }
    }

    // ---- a sequence of all

    /// Takes values, each of which nobody has had whose transaction is committed.
    fn draw(&mut self) {
        for _ in 0..DRAWS {
            let how = self.any();
            match self.wire.run(how, "insert into drawn values (nextval('draw'))", &[]) {
                Ok(reply) => match reply.code() {
                    None => {}
                    Some(code) if is_transient(code) => {}
                    Some(_) => panic!("a value of a sequence: {:?}", reply.error),
                },
                Err(Lost) => return,
            }
        }
    }

    // ---- rows of its own

    fn op(&self, value: i64) -> Op {
        const CHANGES: [Change; 9] = [
            Change::Get,
            Change::Insert,
            Change::Insert,
            Change::InsertIfNew,
            Change::Upsert,
            Change::Set,
            Change::Set,
            Change::Bump,
            Change::Delete,
        ];
        let key = OWN * i64::from(self.me + 1) + self.wire.below(OWN_USED) as i64;
        Op { change: self.wire.pick(&CHANGES), key, value }
    }

    fn explain(&mut self, op: Op, came: &Came, states: BTreeSet<Levels>) -> BTreeSet<Levels> {
        let explained: BTreeSet<Levels> = states
            .iter()
            .filter_map(|levels| {
                let mut after = levels.clone();
                (op.apply(after.last_mut()?) == *came).then_some(after)
            })
            .collect();
        assert!(
            !explained.is_empty(),
            "{op:?} came to {came:?}; possible were, before the transaction, at its savepoints and now: {states:?}"
        );
        explained
    }

    /// One statement by itself.
    fn own(&mut self, value: i64) {
        let op = self.op(value);
        self.change(op);
    }

    /// True if it was answered by something else than an error.
    fn change(&mut self, op: Op) -> bool {
        let (sql, parameters) = op.statement();
        let how = self.any();
        let states = self.possible.iter().map(|state| vec![state.clone()]).collect();
        match self.wire.run(how, sql, &parameters) {
            Ok(reply) => {
                assert_eq!(self.wire.status, 'I', "{op:?}: {reply:?}");
                let Some(came) = came(op, &reply) else { return false };
                self.possible = self.explain(op, &came, states).into_iter().flatten().collect();
                true
            }
            Err(Lost) => {
                self.lost(&[op]);
                false
            }
        }
    }

    /// Several statements in a block, some of them behind savepoints.
    fn block(&mut self, value: i64) {
        let mut block = Block {
            steps: 1 + self.wire.below(6) as usize,
            states: self.possible.iter().map(|state| vec![state.clone(), state.clone()]).collect(),
            done: Vec::new(),
            marks: Vec::new(),
            ends: false,
            committed: false,
        };
        let outcome = self.steps(value, &mut block);
        self.wire.end_block();
        let at_end = |mut levels: Levels| if block.committed { levels.pop() } else { levels.into_iter().next() };
        self.possible = block.states.into_iter().filter_map(at_end).collect();
        if outcome == Err(Lost) {
            // Only all of them together can have been committed.
            self.lost(if block.ends { &block.done } else { &[] });
        }
    }

    fn steps(&mut self, value: i64, block: &mut Block) -> Result<(), Lost> {
        let begin = self.wire.pick(&["begin", "begin isolation level repeatable read"]);
        if self.wire.run(self.any(), begin, &[])?.error.is_some() {
            return Ok(());
        }
        for at in 0..block.steps {
            let went_on = match (self.wire.below(8), block.marks.len()) {
                (0 | 1, _) => self.level(block, Step::Savepoint)?,
                (2, 1..) => self.level(block, Step::Release)?,
                (3, 1..) => self.level(block, Step::RollbackTo)?,
                _ => {
                    let op = self.op(value * 10 + at as i64);
                    let (sql, parameters) = op.statement();
                    let reply = self.wire.run(self.any(), sql, &parameters)?;
                    let came = came(op, &reply);
                    if let Some(came) = &came {
                        block.states = self.explain(op, came, std::mem::take(&mut block.states));
                    }
                    block.done.push(op);
                    let failed = came.is_none_or(|came| came == Came::Duplicate);
                    assert_eq!(self.wire.status, if failed { 'E' } else { 'T' }, "{op:?}: {reply:?}");
                    !failed
                }
            };
            if !went_on && (block.marks.is_empty() || !self.level(block, Step::RollbackTo)?) {
                return Ok(());
            }
        }
        let end = if self.wire.below(4) == 0 { "rollback" } else { "commit" };
        block.ends = end == "commit";
        let reply = self.wire.run(self.any(), end, &[])?;
        if let Some(code) = reply.code() {
            assert!(is_transient(code), "{end}: {reply:?}");
        }
        block.committed = reply.tags == ["COMMIT"];
        Ok(())
    }

    /// Begins a level, or ends some; true if it was answered by something else than an error.
    fn level(&mut self, block: &mut Block, step: Step) -> Result<bool, Lost> {
        let at = if step == Step::Savepoint {
            block.marks.len()
        } else {
            self.wire.below(block.marks.len() as u64) as usize
        };
        let words = match step {
            Step::Savepoint => "savepoint",
            Step::Release => "release",
            Step::RollbackTo => "rollback to",
        };
        let reply = self.wire.run(self.any(), &format!("{words} s{at}"), &[])?;
        if let Some(code) = reply.code() {
            assert!(is_transient(code), "{words} s{at}: {reply:?}");
            return Ok(false);
        }
        assert_eq!(self.wire.status, 'T', "{words} s{at}: {reply:?}");
        if step == Step::Savepoint {
            block.marks.push(block.done.len());
        }
        // Of the levels the first is the state before the transaction, and that at a savepoint is the one after its number.
        block.states = std::mem::take(&mut block.states)
            .into_iter()
            .map(|mut levels| {
                let now = levels.last().cloned().unwrap_or_default();
                match step {
                    Step::Savepoint => levels.push(now),
                    Step::Release => {
                        levels.truncate(at + 1);
                        levels.push(now);
                    }
                    Step::RollbackTo => {
                        levels.truncate(at + 2);
                        levels.push(levels[at + 1].clone());
                    }
                }
                levels
            })
            .collect();
        match step {
            Step::Savepoint => {}
            Step::Release => block.marks.truncate(at),
            Step::RollbackTo => {
                block.done.truncate(block.marks[at]);
                block.marks.truncate(at + 1);
            }
        }
        Ok(true)
    }

    /// The connection was lost while these were asked for, all together or not at all; see rule 1.
    fn lost(&mut self, ops: &[Op]) {
        let Some(op) = ops.iter().find(|op| op.change != Change::Get) else { return };
        self.wire.outlast();
        let after: Vec<State> = self
            .possible
            .iter()
            .map(|state| {
                let mut after = state.clone();
                let failed = ops.iter().any(|op| op.apply(&mut after) == Came::Duplicate);
                if failed { state.clone() } else { after }
            })
            .collect();
        self.possible.extend(after);
        let settle = Op { change: Change::Upsert, key: op.key, value: 1_000_000 + self.wire.below(1000) as i64 };
        while !self.change(settle) {
            self.wire.conn.sleep(500_000);
        }
    }

    /// All rows of its own.
    fn look_at_own(&mut self) {
        let first = OWN * i64::from(self.me + 1);
        let sql = self.wire.pick(&[
            "select k, v, c from kv where k between $1 and $2",
            "select k, v, c from kv where k + 0 between $1 and $2",
            "select k, v, c from kv where v >= 0 and k between $1 and $2 order by v",
        ]);
        loop {
            let how = self.any();
            match self.wire.run(how, sql, &[first.to_string(), (first + OWN - 1).to_string()]) {
                Ok(reply) if reply.error.is_none() => {
                    let found: State = (0..reply.rows.len())
                        .map(|row| (reply.number(row, 0), (reply.number(row, 1), reply.number(row, 2))))
                        .collect();
                    assert_eq!(found.len(), reply.rows.len(), "a key is there twice: {reply:?}");
                    assert!(self.possible.contains(&found), "{sql}: {found:?}; possible were {:?}", self.possible);
                    self.possible = BTreeSet::from([found]);
                    return;
                }
                Ok(reply) => assert!(is_transient(reply.code().unwrap_or_default()), "{sql}: {reply:?}"),
                Err(Lost) => {}
            }
            self.wire.conn.sleep(500_000);
        }
    }

    // ---- rows of all

    fn register(&mut self) {
        let key = SHARED + self.wire.below(SHARED_USED as u64) as i64;
        let history = self.world.borrow_mut().history.entry(key).or_default().clone();
        // The checker's memory has room for so many.
        if history.operations().len() >= 100 {
            return;
        }
        let how = self.any();
        if self.wire.below(2) == 0 {
            let sql = self.wire.pick(&[
                "select v from kv where k = $1",
                "select v from kv where k + 0 = $1",
                "select max(v) from kv where k = $1",
                "select v from kv where k = $1 for update",
                "select v from kv where k = $1 for key share",
            ]);
            let operation = (Asked::Read, self.wire.conn.now());
            if let Ok(reply) = self.wire.run(how, sql, &[key.to_string()]) {
                match reply.code() {
                    None => {
                        let operation = history.asked(self.me, operation.0, operation.1);
                        assert_eq!(reply.rows.len(), 1, "{sql}: {reply:?}");
                        history.told(operation, Some(reply.number(0, 0) as u64), self.wire.conn.now());
                    }
                    Some(code) => assert!(is_transient(code), "{sql}: {reply:?}"),
                }
            }
            return;
        }
        let value = {
            let mut world = self.world.borrow_mut();
            world.next_value += 1;
            world.next_value
        };
        let sql = self.wire.pick(&[
            "update kv set v = $1 where k = $2",
            "update kv set v = $1, c = c + 1 where k = $2",
            "insert into kv values ($2, $1, 0) on conflict (k) do update set v = excluded.v",
        ]);
        let asked_at = self.wire.conn.now();
        let answer = self.wire.run(how, sql, &[value.to_string(), key.to_string()]);
        match answer {
            Ok(reply) => match reply.code() {
                None => {
                    assert!(
                        matches!(reply.tags[..], [ref tag] if tag == "UPDATE 1" || tag == "INSERT 0 1"),
                        "{reply:?}"
                    );
                    let operation = history.asked(self.me, Asked::Write(value), asked_at);
                    history.told(operation, None, self.wire.conn.now());
                }
                Some(code) => assert!(is_transient(code), "{sql}: {reply:?}"),
            },
            // Never answered: it may be done at any time.
            Err(Lost) => drop(history.asked(self.me, Asked::Write(value), asked_at)),
        }
    }

    // ---- the table as a whole

    /// The table by its indexes and by a scan, in one snapshot.
    fn compare(&mut self) {
        let _ = self.compare_in_block();
        self.wire.end_block();
    }

    fn compare_in_block(&mut self) -> Result<bool, Lost> {
        if self.wire.simple("begin isolation level repeatable read")?.error.is_some() {
            return Ok(false);
        }
        const WAYS: [&str; 3] = [
            "select k, v, c from kv where k + 0 >= 0",
            "select k, v, c from kv where k >= 0 order by k",
            "select k, v, c from kv where v >= 0 order by v",
        ];
        let mut first: Option<Vec<Vec<i64>>> = None;
        for sql in WAYS {
            let reply = self.wire.run(self.any(), sql, &[])?;
            if let Some(code) = reply.code() {
                assert!(is_transient(code), "{sql}: {reply:?}");
                return Ok(false);
            }
            let mut rows: Vec<Vec<i64>> =
                (0..reply.rows.len()).map(|row| (0..3).map(|column| reply.number(row, column)).collect()).collect();
            for (way, column) in [(1, 0), (2, 1)] {
                let in_order = rows.is_sorted_by_key(|row| row[column]);
                assert!(sql != WAYS[way] || in_order, "{sql}: {rows:?}");
            }
            rows.sort();
            match &first {
                None => first = Some(rows),
                Some(first) => assert_eq!(&rows, first, "{sql}, and {}", WAYS[0]),
            }
        }
        let rows = first.unwrap_or_default();
        if !rows.is_empty() {
            let value = rows[self.wire.below(rows.len() as u64) as usize][1];
            let sql = "select k from kv where v = $1";
            let reply = self.wire.run(self.any(), sql, &[value.to_string()])?;
            if let Some(code) = reply.code() {
                assert!(is_transient(code), "{sql}: {reply:?}");
                return Ok(false);
            }
            let mut found = reply.numbers(0);
            found.sort_unstable();
            let expected: Vec<i64> = rows.iter().filter(|row| row[1] == value).map(|row| row[0]).collect();
            assert_eq!(found, expected, "{sql}, {value}, and {}", WAYS[0]);
        }
        Ok(self.wire.simple("commit")?.error.is_none())
    }

    /// The second index comes and goes.
    fn second_index(&mut self) {
        let sql = self.wire.pick(&["drop index if exists kv_v", INDEX, INDEX]);
        if let Ok(reply) = self.wire.run(self.any(), sql, &[])
            && let Some(code) = reply.code()
        {
            assert!(is_transient(code) || code == "42P07" || code == "42704", "{sql}: {reply:?}");
        }
    }

    fn maintain(&mut self) {
        let sql = self.wire.pick(&["checkpoint", "vacuum kv", "vacuum", "analyze kv"]);
        if let Ok(reply) = self.wire.simple(sql)
            && let Some(code) = reply.code()
        {
            assert!(is_transient(code), "{sql}: {reply:?}");
        }
    }

    // ---- other tables

    /// A table that is made anew under the same name: its statements' texts stay the same, what they mean does not.
    fn table_of_its_own(&mut self) {
        let me = self.me;
        let shape = self.wire.pick(&SHAPES);
        let rows = 1 + self.wire.below(4) as i64;
        self.wire.insist(&format!("drop table if exists own_{me}"), &[]);
        self.wire.insist(&format!("create table own_{me} ({shape})"), &["42P07"]);
        let mut added = 0;
        for row in 0..rows {
            let sql = format!("insert into own_{me} (a, b) values ($1, $2)");
            match self.wire.run(self.any(), &sql, &[row.to_string(), (row + 50).to_string()]) {
                Ok(Reply { error: None, .. }) => added += 1,
                Ok(reply) => assert!(is_transient(reply.code().unwrap_or_default()), "{sql}: {reply:?}"),
                // It may be there or not: this table says nothing more.
                Err(Lost) => return,
            }
            if added != row + 1 {
                return;
            }
        }
        for step in 0..3 {
            if step > 0 {
                let sql = match self.wire.below(4) {
                    0 => format!("create index own_{me}_a on own_{me} (a)"),
                    1 => format!("drop index if exists own_{me}_a"),
                    2 => format!("alter table own_{me} add column z{step} int default 7"),
                    _ => format!("create index own_{me}_b on own_{me} (b)"),
                };
                match self.wire.run(self.any(), &sql, &[]) {
                    Ok(reply) => {
                        let known = ["42P07", "42704"];
                        let code = reply.code();
                        assert!(
                            code.is_none_or(|code| is_transient(code) || known.contains(&code)),
                            "{sql}: {reply:?}"
                        );
                    }
                    Err(Lost) => return,
                }
            }
            let row = self.wire.below(rows as u64) as i64;
            for sql in [
                format!("select b, a from own_{me} where a = $1"),
                format!("select b, a from own_{me} where b = $1 + 50"),
            ] {
                match self.wire.run(self.any(), &sql, &[row.to_string()]) {
                    Ok(Reply { error: None, rows, .. }) => {
                        let expected = [(row + 50).to_string(), row.to_string()].map(Some);
                        assert_eq!(rows, [expected], "{sql}, a = {row}, of {shape}");
                    }
                    Ok(reply) => assert!(is_transient(reply.code().unwrap_or_default()), "{sql}: {reply:?}"),
                    Err(Lost) => return,
                }
            }
        }
    }

    /// A table that all make and drop.
    fn table_of_all(&mut self) {
        let me = self.me;
        let sql = match self.wire.below(7) {
            0 => "create table if not exists of_all (who int, what int)".to_string(),
            1 => "create table of_all (what int, who int)".to_string(),
            2 => "drop table of_all".to_string(),
            3 => "truncate of_all".to_string(),
            4 => "create index of_all_what on of_all (what)".to_string(),
            _ => format!("insert into of_all (who, what) values ({me}, 7000 + {me})"),
        };
        for sql in [sql, "select who, what from of_all where what between 7000 and 7010".to_string()] {
            let Ok(reply) = self.wire.run(self.any(), &sql, &[]) else { return };
            if let Some(code) = reply.code() {
                let known = ["42P01", "42P07", "0A000"];
                assert!(is_transient(code) || known.contains(&code), "{sql}: {reply:?}");
            }
            for row in 0..reply.rows.len() {
                assert_eq!(reply.number(row, 0) + 7000, reply.number(row, 1), "{sql}: {reply:?}");
            }
        }
    }

    // ---- the end

    fn check(&mut self) {
        self.wire.insist(INDEX, &["42P07"]);
        while self.compare_in_block() != Ok(true) {
            self.wire.end_block();
            self.wire.conn.sleep(1_000_000);
        }
        for (key, history) in &self.world.borrow().history {
            if let Err(what) = register::check(0, &history.operations()) {
                panic!("row {key}: {what}");
            }
        }
    }
}
