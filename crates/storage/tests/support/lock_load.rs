//! A load for the simulator on locks of objects: whoever has one looks whether others have what they must not have beside it.
//!
//! Most locks are taken in the modes of reading and changing rows, some in stronger ones; some transactions take several, in any order,
//! or one object twice. Whatever happens: nobody has what conflicts with another's, everybody gets what he waits for unless he is the
//! victim of a deadlock or of a death, and at the end nobody has anything.

use super::access::AccessService;
use super::table_load::register;
use kernel::engine::sim::{self, Failure, Options, Report, Scenario, SimConn};
use kernel::session::Service;
use std::cell::Cell;
use std::rc::Rc;

const CLIENTS: u32 = 5;
const OBJECTS: u64 = 3;

fn wanted(conn: &mut SimConn) -> String {
    let mode = match conn.random(5) {
        0 => 4 + conn.random(5),
        _ => 1 + conn.random(3),
    };
    format!(" {} {mode}", 1 + conn.random(OBJECTS))
}

/// The answer; none if the session died.
fn ask(conn: &mut SimConn, line: &str) -> Option<String> {
    if !conn.is_connected() {
        conn.connect_patiently();
    }
    conn.ask(line).ok()
}

fn work(conn: &mut SimConn, rounds: u32, running: &Rc<Cell<u32>>) {
    for _ in 0..rounds {
        let mut line = "guard".to_string();
        for _ in 0..=conn.random(3) {
            line += &wanted(conn);
        }
        if let Some(answer) = ask(conn, &line) {
            assert!(answer == "ok" || answer.starts_with("error 40P01"), "{line}: {answer}");
        }
    }
    running.set(running.get() - 1);
    if running.get() == 0 {
        nothing_is_held(conn);
    }
}

fn nothing_is_held(conn: &mut SimConn) {
    // Sessions that died are cleaned up after, which may take a moment.
    for tries in 0.. {
        let stat = ask(conn, "stat").unwrap_or_default();
        if stat.split(' ').any(|word| word == "locks=0") {
            return;
        }
        assert!(tries < 200, "{stat}");
        conn.sleep(1_000_000);
    }
}

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    register();
    let config = storage::Config {
        shared_buffers: 1 << 20,
        wal_buffers: 256 << 10,
        checkpoint_timeout_ms: 1000,
        min_wal_size: 32 << 20,
        max_wal_size: 64 << 20,
        deadlock_timeout_ms: 5,
        // Recovery by the record, by some records, and by all of them.
        maintenance_work_mem: [0, 4 << 10, 64 << 20][((seed + seed / 6) % 3) as usize],
    };
    let make = move || Ok(Box::new(AccessService::make(&config, false)?) as Box<dyn Service>);
    sim::run(seed, options, make, |scenario: &mut Scenario| {
        let running = Rc::new(Cell::new(CLIENTS));
        for _ in 0..CLIENTS {
            let running = running.clone();
            scenario.client(move |conn| work(conn, rounds, &running));
        }
    })
}
