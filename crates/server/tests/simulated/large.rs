//! A load of values that do not fit their rows: each row has one that follows from a number beside it, so that whoever reads a row can tell
//! whether it is the row's own, whole, and of the right version.
//!
//! Each client has keys of its own. Its values are put, changed, left alone by updates of something else, taken back with a savepoint, deleted;
//! vacuums of the table, whose pieces others reuse, and checkpoints come between.

use super::bulk::tried;
use super::run::{self, wait_until};
use super::wire::{Lost, Wire};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

const CLIENTS: i64 = 3;
const KEYS: u64 = 2;

/// The number that a row has; none if there is no row.
type State = Option<i64>;

/// The value that belongs to a number: none to fourteen thousand bytes that cannot be compressed, and some that can.
const VALUE: &str = "(select repeat('x', $2::int % 3 * 3000) || coalesce(string_agg(md5(($2::int * 1000 + i)::text), ''), '') \
                     from generate_series(1, $2::int % 8 * 64) i)";

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
        wire.insist("create table large (k int primary key, v int, touched int default 0, body text)", &["42P07"]);
        is_made.set(true);
    }
    wait_until(&mut wire, || is_made.get());
    let mut rows = vec![BTreeSet::from([None]); KEYS as usize];
    for round in 0..rounds {
        let at = wire.below(KEYS) as usize;
        let key = me * KEYS as i64 + at as i64;
        let value = i64::from(round) * 7 + me;
        match wire.below(14) {
            0..3 => {
                let sql = format!(
                    "insert into large values ($1, $2, 0, {VALUE}) on conflict (k) do update set v = excluded.v, \
                     body = excluded.body"
                );
                change(&mut wire, &sql, key, value, &mut rows[at], |_| Some(value));
            }
            3..5 => {
                let sql = format!("update large set v = $2, body = {VALUE} where k = $1");
                change(&mut wire, &sql, key, value, &mut rows[at], |state| state.map(|_| value));
            }
            5..7 => {
                let sql = "update large set touched = touched + $2 where k = $1";
                change(&mut wire, sql, key, 1, &mut rows[at], |state| state);
            }
            7 => change(&mut wire, "delete from large where k = $1 and v >= -$2::int", key, 0, &mut rows[at], |_| None),
            8 => taken_back(&mut wire, key, value),
            9..12 => look(&mut wire, key, &mut rows[at]),
            12 => drop(tried(&mut wire, "vacuum large", &[])),
            _ => drop(tried(&mut wire, "checkpoint", &[])),
        }
    }
    for (at, row) in rows.iter_mut().enumerate() {
        let key = me * KEYS as i64 + at as i64;
        look(&mut wire, key, row);
        while row.len() > 1 {
            wire.conn.sleep(1_000_000);
            look(&mut wire, key, row);
        }
    }
    wire.leave(true);
}

/// Changes a row; `after` says what becomes of it.
fn change(
    wire: &mut Wire<'_>,
    sql: &str,
    key: i64,
    value: i64,
    row: &mut BTreeSet<State>,
    after: impl Fn(State) -> State,
) {
    match tried(wire, sql, &[key.to_string(), value.to_string()]) {
        Ok(None) => {}
        Ok(Some(reply)) => {
            let count: i64 = reply.tags.last().and_then(|tag| tag.rsplit(' ').next()?.parse().ok()).unwrap_or(-1);
            assert!(matches!(count, 0 | 1) && reply.code().is_none(), "{sql}, {key}: {reply:?}");
            // An insert finds a place whatever there was.
            if !sql.starts_with("insert") {
                row.retain(|state| state.is_some() == (count == 1));
            }
            assert!(!row.is_empty(), "{sql}, {key}: {reply:?}");
            *row = row.iter().map(|state| after(*state)).collect();
        }
        Err(Lost) => {
            wire.outlast();
            let changed: Vec<State> = row.iter().map(|state| after(*state)).collect();
            row.extend(changed);
        }
    }
}

/// Changes a row behind a savepoint and goes back to it; then the same with the whole transaction.
fn taken_back(wire: &mut Wire<'_>, key: i64, value: i64) {
    let statements = [
        "begin".to_owned(),
        "savepoint s".to_owned(),
        format!("update large set v = -1, body = {} where k = {key}", VALUE.replace("$2", &value.to_string())),
        "rollback to s".to_owned(),
        format!("delete from large where k = {key}"),
        "rollback".to_owned(),
    ];
    for sql in statements {
        match tried(wire, &sql, &[]) {
            Ok(Some(_)) => {}
            // The transaction is over, or is to be.
            Ok(None) => {
                let _ = wire.simple("rollback");
                return;
            }
            Err(Lost) => return wire.outlast(),
        }
    }
}

/// Looks at a row: that its value is the one that belongs to its number.
fn look(wire: &mut Wire<'_>, key: i64, row: &mut BTreeSet<State>) {
    let by_key = wire.pick(&["k = $1", "k + 0 = $1"]);
    let value = VALUE.replace("$2::int", "v");
    let sql = format!("select v, case when body = {value} then 1 else 0 end from large where {by_key}");
    let Ok(Some(reply)) = tried(wire, &sql, &[key.to_string()]) else { return };
    let found = (!reply.rows.is_empty()).then(|| reply.number(0, 0));
    assert!(found.is_none() || reply.number(0, 1) == 1, "{key}: {reply:?} has a value that is not its own");
    assert!(row.contains(&found), "{key}: {reply:?}; possible were {row:?}");
    *row = BTreeSet::from([found]);
}
