//! A load of statements that do not fit their memory: their temporary files are gone when nobody runs one any more, whoever died.

use super::bulk::tried;
use super::run;
use super::wire::Wire;
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::Cell;
use std::rc::Rc;

const CLIENTS: u32 = 3;

/// Statements, and what they answer.
const STATEMENTS: [(&str, [i64; 2]); 4] = [
    (
        "select count(*), sum(g * n % 7) from (select g, row_number() over () as n from \
         (select g, repeat('x', 30) || g % 97 as t from generate_series(1, 1500) g order by t, g desc) s) q",
        [1500, 3648],
    ),
    (
        "select count(*), sum(a.g) from (select g, g || repeat('x', 30) as t from generate_series(1, 1500) g) a \
         join (select g || repeat('x', 30) as t from generate_series(1, 2000) g) b on a.t = b.t",
        [1500, 1_125_750],
    ),
    (
        "select count(*), sum(c) from \
         (select g % 900 || repeat('x', 30) as t, count(*) as c from generate_series(1, 2000) g group by 1) s",
        [900, 2000],
    ),
    (
        "select count(*), sum(length(t)) from (select distinct g % 900 || repeat('x', 60) as t from generate_series(1, 2000) g) s",
        [900, 56_590],
    ),
];

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    run::run(seed, options, |scenario: &mut Scenario| {
        let at_work = Rc::new(Cell::new(CLIENTS));
        for _ in 0..CLIENTS {
            let at_work = at_work.clone();
            scenario.client(move |conn| work(conn, rounds, &at_work));
        }
    })
}

fn work(conn: &mut SimConn, rounds: u32, at_work: &Cell<u32>) {
    let mut wire = Wire::new(conn);
    for _ in 0..rounds {
        let (sql, wanted) = wire.pick(&STATEMENTS);
        // Also a session that is new has little memory.
        if !matches!(tried(&mut wire, "set work_mem = '64kB'", &[]), Ok(Some(_))) {
            continue;
        }
        if let Ok(Some(reply)) = tried(&mut wire, sql, &[]) {
            assert_eq!([reply.number(0, 0), reply.number(0, 1)], wanted, "{sql}");
        }
    }
    at_work.set(at_work.get() - 1);
    // The last one looks; what the dead have left is cleared away a little later.
    while at_work.get() == 0 {
        if let Ok(Some(reply)) = tried(&mut wire, "select sum(temp_bytes) from gearbox.sessions", &[])
            && reply.number(0, 0) == 0
        {
            break;
        }
        wire.conn.sleep(1_000_000);
    }
    wire.leave(true);
}
