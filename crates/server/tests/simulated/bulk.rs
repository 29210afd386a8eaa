//! A load of many rows at a time: a table that grows over many pages, is emptied and cut off at its end, while others use it.
//!
//! Each client has batches of rows of its own, which it inserts, updates and deletes as a whole; vacuums and checkpoints come between.
//! Whatever happens: a batch is there as a whole, as it was last left, or not at all; by the primary key, by another index, and by
//! a scan.

use super::run::{self, wait_until};
use super::wire::{How, Lost, Reply, Wire, is_transient};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

const CLIENTS: i64 = 3;
const BATCHES: u64 = 2;
const ROWS: i64 = 40;

/// What a batch is: not there, or there with all rows of one value.
type State = Option<i64>;

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    run::run(seed, options, |scenario: &mut Scenario| {
        let is_made = Rc::new(Cell::new(false));
        for me in 0..CLIENTS {
            let is_made = is_made.clone();
            scenario.client(move |conn| work(conn, me, rounds, &is_made));
        }
    })
}

fn work(conn: &mut SimConn, me: i64, rounds: u32, is_made: &Cell<bool>) {
    let mut wire = Wire::new(conn);
    if me == 0 {
        wire.insist("create table bulk (k int primary key, v int, filler char(400))", &["42P07"]);
        wire.insist("create index bulk_v on bulk (v)", &["42P07"]);
        is_made.set(true);
    }
    wait_until(&mut wire, || is_made.get());
    let mut batches = vec![BTreeSet::from([None]); BATCHES as usize];
    for round in 0..rounds {
        let at = wire.below(BATCHES) as usize;
        let first = (me * BATCHES as i64 + at as i64) * 1000;
        match wire.below(12) {
            0..3 => {
                let sql = "insert into bulk select g, $2, 'x' from generate_series($1::int, $1::int + 39) g";
                change(&mut wire, sql, first, i64::from(round), &mut batches[at], |value, _| Some(value));
            }
            3..6 => {
                let sql = "delete from bulk where k between $1 and $1 + 39 and v >= -$2::int";
                change(&mut wire, sql, first, i64::from(round), &mut batches[at], |_, _| None);
            }
            6 => {
                let sql = "update bulk set v = $2 where k between $1 and $1 + 39";
                change(&mut wire, sql, first, i64::from(round), &mut batches[at], |value, state| state.map(|_| value));
            }
            7..9 => look(&mut wire, first, &mut batches[at]),
            9..11 => drop(tried(&mut wire, "vacuum bulk", &[])),
            _ => drop(tried(&mut wire, "checkpoint", &[])),
        }
    }
    for (at, batch) in batches.iter_mut().enumerate() {
        let first = (me * BATCHES as i64 + at as i64) * 1000;
        let known = |batch: &BTreeSet<State>| batch.len() == 1;
        look(&mut wire, first, batch);
        while !known(batch) {
            wire.conn.sleep(1_000_000);
            look(&mut wire, first, batch);
        }
    }
    wire.leave(true);
}

/// An answer that is no error that is nobody's mistake.
pub(super) fn tried(wire: &mut Wire<'_>, sql: &str, parameters: &[String]) -> Result<Option<Reply>, Lost> {
    let how = wire.pick(&How::ALL);
    let reply = wire.run(how, sql, parameters)?;
    match reply.code() {
        None | Some("23505") => Ok(Some(reply)),
        Some(code) => {
            assert!(is_transient(code), "{sql}: {reply:?}");
            Ok(None)
        }
    }
}

/// Changes a batch; `after` says what becomes of it.
fn change(
    wire: &mut Wire<'_>,
    sql: &str,
    first: i64,
    value: i64,
    batch: &mut BTreeSet<State>,
    after: impl Fn(i64, State) -> State,
) {
    let inserts = sql.starts_with("insert");
    match tried(wire, sql, &[first.to_string(), value.to_string()]) {
        Ok(None) => {}
        Ok(Some(reply)) => {
            let before = match (reply.code(), reply.tags.last().and_then(|tag| tag.rsplit(' ').next()?.parse().ok())) {
                (Some(_), _) => {
                    batch.retain(|state| state.is_some());
                    assert!(inserts && !batch.is_empty(), "{sql}, {first}: {reply:?}");
                    return;
                }
                (None, Some(0)) => false,
                (None, Some(ROWS)) => !inserts,
                _ => panic!("{sql}, {first}: {reply:?}"),
            };
            batch.retain(|state| state.is_some() == before);
            assert!(!batch.is_empty(), "{sql}, {first}: {reply:?}");
            *batch = batch.iter().map(|state| after(value, *state)).collect();
        }
        Err(Lost) => {
            wire.outlast();
            let changed: Vec<State> = match inserts {
                true => vec![Some(value)],
                false => batch.iter().map(|state| after(value, *state)).collect(),
            };
            batch.extend(changed);
        }
    }
}

/// Looks at a batch, by one way or another.
fn look(wire: &mut Wire<'_>, first: i64, batch: &mut BTreeSet<State>) {
    let sql = wire.pick(&[
        "select count(*), min(v), max(v) from bulk where k between $1 and $1 + 39",
        "select count(*), min(v), max(v) from bulk where k + 0 between $1 and $1 + 39",
        "select count(*), min(v), max(v) from bulk where v >= 0 and k + 0 between $1 and $1 + 39",
    ]);
    let Ok(Some(reply)) = tried(wire, sql, &[first.to_string()]) else { return };
    let found = match reply.number(0, 0) {
        0 => None,
        ROWS => Some(reply.number(0, 1)),
        _ => panic!("{sql}, {first}: {reply:?}; possible were {batch:?}"),
    };
    assert!(found.is_none() || reply.number(0, 1) == reply.number(0, 2), "{sql}, {first}: {reply:?}");
    assert!(batch.contains(&found), "{sql}, {first}: {reply:?}; possible were {batch:?}");
    *batch = BTreeSet::from([found]);
}
