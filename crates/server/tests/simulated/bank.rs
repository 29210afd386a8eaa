//! A load like TPC-B, in SQL: a transfer adds one amount to an account, a teller and a branch, and writes it into the history.
//!
//! Whatever happens:
//!
//! 1. every snapshot sees the same sum in accounts, tellers, branches and history, and a transaction at `REPEATABLE READ` sees it twice;
//! 2. a transfer that was acknowledged, or that anybody has seen, is in the history exactly once; one that failed is not; any
//!    other is there as a whole or not at all;
//! 3. an error is one that a client may meet without having made a mistake.

use super::run::{self, wait_until};
use super::wire::{How, Lost, Reply, Wire, is_transient};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const CLIENTS: u32 = 4;
/// Table, key, amount, and how many rows.
const GROUPS: [(&str, &str, &str, u64); 3] =
    [("accounts", "aid", "abalance", 9), ("tellers", "tid", "tbalance", 4), ("branches", "bid", "bbalance", 2)];

const SUMS: &str = "select (select sum(abalance) from accounts), (select sum(tbalance) from tellers), \
                    (select sum(bbalance) from branches), (select coalesce(sum(delta), 0) from history)";

#[derive(Default)]
struct World {
    is_made: bool,
    running: u32,
    acknowledged: BTreeSet<i64>,
    failed: BTreeSet<i64>,
    seen: BTreeSet<i64>,
}

type Shared = Rc<RefCell<World>>;

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    run::run(seed, options, |scenario: &mut Scenario| {
        let world: Shared = Rc::new(RefCell::new(World { running: CLIENTS, ..World::default() }));
        for me in 0..CLIENTS {
            let world = world.clone();
            scenario.client(move |conn| work(conn, me, rounds, &world));
        }
    })
}

/// An error must be one that is nobody's mistake.
fn forgive(asked: &str, reply: &Reply, also: &[&str]) -> bool {
    match reply.code() {
        None => true,
        Some(code) if is_transient(code) || also.contains(&code) => false,
        Some(_) => panic!("{asked}: {:?}", reply.error),
    }
}

fn work(conn: &mut SimConn, me: u32, rounds: u32, world: &Shared) {
    let mut wire = Wire::new(conn);
    if me == 0 {
        prepare(&mut wire);
        world.borrow_mut().is_made = true;
    }
    wait_until(&mut wire, || world.borrow().is_made);
    for round in 0..rounds {
        match wire.below(20) {
            0..12 => transfer(&mut wire, i64::from(me * 1000 + round), world),
            12..15 => look(&mut wire, world),
            15 => drop(look_once(&mut wire)),
            16 => index(&mut wire, world),
            17 => maintain(&mut wire),
            18 => wire.leave(round % 2 == 0),
            _ => wire.conn.sleep(1_000_000),
        }
    }
    world.borrow_mut().running -= 1;
    if world.borrow().running == 0 {
        check(&mut wire, world);
    }
    wire.leave(true);
}

/// Makes the tables in one transaction; again if it is not known to have succeeded and they are not there.
fn prepare(wire: &mut Wire<'_>) {
    let by_copy = wire.below(2) == 0;
    loop {
        if make_tables(wire, by_copy) == Ok(true) {
            return;
        }
        wire.end_block();
    }
}

fn make_tables(wire: &mut Wire<'_>, by_copy: bool) -> Result<bool, Lost> {
    let mut statements = vec!["begin".to_string()];
    for (table, key, amount, _) in GROUPS {
        statements
            .push(format!("create table {table} ({key} int primary key, {amount} int not null, filler char(20))"));
    }
    statements.push("create table history (id int, aid int, delta int, mtime timestamp)".into());
    for statement in statements {
        let reply = wire.simple(&statement)?;
        if reply.code() == Some("42P07") {
            // An earlier attempt whose end was not heard of: it is there as a whole.
            wire.end_block();
            let found = wire.simple(SUMS)?;
            return Ok(forgive(SUMS, &found, &[]) && found.rows.len() == 1);
        }
        if !forgive(&statement, &reply, &[]) {
            return Ok(false);
        }
    }
    for (table, .., count) in GROUPS {
        let reply = match by_copy {
            true => {
                let lines: Vec<String> = (0..count).map(|key| format!("{key}\t0\tfilled")).collect();
                wire.copy_in(&format!("copy {table} from stdin"), &lines)?
            }
            false => {
                wire.simple(&format!("insert into {table} select g, 0 from generate_series(0, {}) g", count - 1))?
            }
        };
        if !forgive(table, &reply, &[]) {
            return Ok(false);
        }
    }
    let reply = wire.simple("commit")?;
    Ok(forgive("commit", &reply, &[]) && reply.tags == ["COMMIT"])
}

/// How a transfer is sent.
#[derive(Clone, Copy)]
enum Style {
    /// A statement a request, in a transaction block.
    Block,
    /// All in one text, with or without a block.
    Text { block: bool },
    /// All in one piece of the extended protocol.
    Pipeline,
}

/// A transfer's statements, in some order.
fn statements(wire: &Wire<'_>, id: i64) -> Vec<(String, Vec<String>)> {
    let delta = wire.below(9) as i64 - 4;
    let mut statements: Vec<(String, Vec<String>)> = GROUPS
        .iter()
        .map(|(table, key, amount, count)| {
            let row = wire.below(*count).to_string();
            let sql = format!("update {table} set {amount} = {amount} + $1 where {key} = $2");
            (sql, vec![delta.to_string(), row])
        })
        .collect();
    let history = "insert into history values ($1, $2, $3, current_timestamp)".to_string();
    statements.push((history, vec![id.to_string(), "1".into(), delta.to_string()]));
    if wire.below(3) == 0 {
        statements.reverse();
    }
    statements
}

fn transfer(wire: &mut Wire<'_>, id: i64, world: &Shared) {
    let style = wire.pick(&[
        Style::Block,
        Style::Block,
        Style::Block,
        Style::Text { block: true },
        Style::Text { block: false },
        Style::Pipeline,
    ]);
    let statements = statements(wire, id);
    let done = match style {
        Style::Block => {
            let done = in_block(wire, &statements);
            wire.end_block();
            done
        }
        Style::Text { block } => {
            let texts: Vec<String> = statements
                .iter()
                .map(|(sql, values)| {
                    sql.replace("$1", &bracket(&values[0]))
                        .replace("$2", &values[1])
                        .replace("$3", &bracket(values.last().expect("there are some")))
                })
                .collect();
            let text = texts.join("; ");
            let text = if block { format!("begin; {text}; commit") } else { text };
            wire.simple(&text).map(|reply| {
                let done = forgive(&text, &reply, &[]);
                assert!(!done || reply.tags.len() == if block { 6 } else { 4 }, "{text}: {reply:?}");
                assert!(wire.status == 'I' || block && !done, "{text}: {reply:?}");
                wire.end_block();
                done
            })
        }
        Style::Pipeline => wire.pipeline(&statements).map(|reply| {
            let done = forgive("a pipeline", &reply, &[]);
            assert_eq!(reply.status, 'I', "a pipeline leaves no block: {reply:?}");
            done
        }),
    };
    match done {
        Ok(true) => drop(world.borrow_mut().acknowledged.insert(id)),
        Ok(false) => drop(world.borrow_mut().failed.insert(id)),
        Err(Lost) => {}
    }
}

/// A negative number must not look like a comment or an operator.
fn bracket(value: &str) -> String {
    format!("({value})")
}

fn in_block(wire: &mut Wire<'_>, statements: &[(String, Vec<String>)]) -> Result<bool, Lost> {
    let level = wire.pick(&["begin", "begin isolation level repeatable read"]);
    let begun = wire.run(wire.pick(&How::ALL), level, &[])?;
    if !forgive(level, &begun, &[]) {
        return Ok(false);
    }
    for (sql, parameters) in statements {
        let how = wire.pick(&How::ALL);
        let reply = wire.run(how, sql, parameters)?;
        if !forgive(sql, &reply, &[]) {
            assert_eq!(wire.status, 'E', "{how:?} {sql}: {reply:?}");
            return Ok(false);
        }
        let tag = reply.tags.last().map(String::as_str);
        assert!(matches!(tag, Some("UPDATE 1" | "INSERT 0 1")), "{how:?} {sql}: {reply:?}");
        assert_eq!(wire.status, 'T');
    }
    let ends = if wire.below(8) == 0 { "rollback" } else { "commit" };
    let how = wire.pick(&How::ALL);
    let reply = wire.run(how, ends, &[])?;
    Ok(forgive(ends, &reply, &[]) && reply.tags == ["COMMIT"])
}

/// All sums in one snapshot.
fn look_once(wire: &mut Wire<'_>) -> Result<Option<i64>, Lost> {
    let how = wire.pick(&How::ALL);
    let reply = wire.run(how, SUMS, &[])?;
    if !forgive(SUMS, &reply, &[]) {
        return Ok(None);
    }
    let sums: Vec<i64> = (0..4).map(|column| reply.number(0, column)).collect();
    assert!(sums.iter().all(|sum| *sum == sums[0]), "accounts, tellers, branches, history: {sums:?}");
    Ok(Some(sums[0]))
}

/// Looks at everything, twice in one snapshot.
fn look(wire: &mut Wire<'_>, world: &Shared) {
    let _ = look_twice(wire, world);
    wire.end_block();
}

fn look_twice(wire: &mut Wire<'_>, world: &Shared) -> Result<(), Lost> {
    let acknowledged = world.borrow().acknowledged.clone();
    let begun = wire.simple("begin isolation level repeatable read read only")?;
    if !forgive("begin", &begun, &[]) {
        return Ok(());
    }
    let ids = wire.run(wire.pick(&How::ALL), "select id from history", &[])?;
    if !forgive("select id", &ids, &[]) {
        return Ok(());
    }
    let Some(first) = look_once(wire)? else { return Ok(()) };
    wire.conn.sleep(500_000);
    let Some(second) = look_once(wire)? else { return Ok(()) };
    assert_eq!(first, second, "a snapshot changes");
    let found = ids.numbers(0);
    let ids: BTreeSet<i64> = found.iter().copied().collect();
    assert_eq!(found.len(), ids.len(), "the history has a transfer twice: {found:?}");
    if let Some(id) = acknowledged.difference(&ids).next() {
        panic!("transfer {id} was acknowledged, and is not seen");
    }
    world.borrow_mut().seen.extend(ids);
    let ended = wire.simple("commit")?;
    forgive("commit", &ended, &[]);
    Ok(())
}

/// An index on the history comes and goes; while it is there what is found through it is what is there.
fn index(wire: &mut Wire<'_>, world: &Shared) {
    let how = wire.pick(&How::ALL);
    let sql =
        if wire.below(2) == 0 { "create index history_id on history (id)" } else { "drop index if exists history_id" };
    match wire.run(how, sql, &[]) {
        Ok(reply) => drop(forgive(sql, &reply, &["42P07", "42704"])),
        Err(Lost) => return,
    }
    let acknowledged = world.borrow().acknowledged.iter().next().copied();
    if let Some(id) = acknowledged {
        let sql = "select id, delta from history where id = $1";
        if let Ok(reply) = wire.run(how, sql, &[id.to_string()])
            && forgive(sql, &reply, &[])
        {
            assert_eq!(reply.numbers(0), [id], "transfer {id} was acknowledged");
        }
    }
}

fn maintain(wire: &mut Wire<'_>) {
    let sql = wire.pick(&["checkpoint", "vacuum", "vacuum history", "vacuum accounts", "analyze", "vacuum branches"]);
    if let Ok(reply) = wire.simple(sql) {
        forgive(sql, &reply, &[]);
    }
}

/// Looks at everything when everybody is done.
fn check(wire: &mut Wire<'_>, world: &Shared) {
    let insist = |wire: &mut Wire<'_>, sql: &str| loop {
        match wire.simple(sql) {
            Ok(reply) if forgive(sql, &reply, &[]) => return reply,
            Ok(_) => wire.conn.sleep(1_000_000),
            Err(Lost) => wire.conn.sleep(500_000),
        }
    };
    while !matches!(look_once(wire), Ok(Some(_))) {
        wire.conn.sleep(500_000);
    }
    for (table, key, _, count) in GROUPS {
        let expected: Vec<i64> = (0..count as i64).collect();
        let by_scan = insist(wire, &format!("select {key} from {table} where {key} + 0 >= 0"));
        let mut found = by_scan.numbers(0);
        found.sort_unstable();
        assert_eq!(found, expected, "the keys of {table}");
        let by_index = insist(wire, &format!("select {key} from {table} where {key} >= 0 order by {key}"));
        assert_eq!(by_index.numbers(0), expected, "the keys of {table} by its index");
    }
    let found = insist(wire, "select id from history").numbers(0);
    let ids: BTreeSet<i64> = found.iter().copied().collect();
    assert_eq!(found.len(), ids.len(), "the history has a transfer twice: {found:?}");
    let world = world.borrow();
    for (what, known) in [("acknowledged", &world.acknowledged), ("seen", &world.seen)] {
        if let Some(id) = known.difference(&ids).next() {
            panic!("transfer {id} was {what}, and is not there");
        }
    }
    if let Some(id) = world.failed.intersection(&ids).next() {
        panic!("transfer {id} has failed, and is there");
    }
}
