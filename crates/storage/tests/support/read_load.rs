//! A load for the simulator on the buffer pool: more pages than frames, read without pins, at random.
//!
//! Whatever happens: who has a page latched has that page's bytes, until it lets it go.

use super::access::AccessService;
use super::table_load::register;
use kernel::engine::sim::{self, Failure, Options, Report, Scenario, SimConn};
use kernel::session::Service;
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;

const CLIENTS: u32 = 5;
/// Two on a page: with what their indexes take, a third more pages than frames.
const ROWS: u64 = 320;
const READS: u32 = 12;

/// How the table is used, once it is there.
type Table = Rc<RefCell<Option<String>>>;

/// The answer, once there is one; `first` is asked before on each connection.
fn insist(conn: &mut SimConn, first: Option<&str>, line: &str) -> String {
    loop {
        let known = conn.is_connected();
        if !known {
            conn.connect_patiently();
        }
        if (known || first.is_none_or(|first| conn.ask(first).is_ok()))
            && let Ok(answer) = conn.ask(line)
        {
            return answer;
        }
        conn.sleep(500_000);
    }
}

fn prepare(conn: &mut SimConn) -> String {
    let table = insist(conn, None, "table 3500").replacen("ok", "use", 1) + " 3500";
    for first in (0..ROWS).step_by(20) {
        // Once: that it was done may not have been heard.
        while insist(conn, Some(&table), &format!("get {first}")) == "none" {
            insist(conn, Some(&table), &format!("load {first} {} 0", first + 20));
        }
    }
    table
}

fn work(conn: &mut SimConn, me: u32, rounds: u32, table: &Table) {
    if me == 0 {
        let made = prepare(conn);
        *table.borrow_mut() = Some(made);
    }
    while table.borrow().is_none() {
        conn.sleep(300_000);
    }
    let table = table.borrow().clone();
    // Whoever did not make it has to say on the first connection too which it is.
    conn.close();
    for _ in 0..rounds {
        let mut line = "read".to_string();
        for _ in 0..READS {
            let _ = write!(line, " {}", conn.random(ROWS / 2));
        }
        assert_eq!(insist(conn, table.as_deref(), &line), "ok");
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
        maintenance_work_mem: 0,
    };
    let make = move || Ok(Box::new(AccessService::make(&config, false)?) as Box<dyn Service>);
    sim::run(seed, options, make, |scenario: &mut Scenario| {
        let table = Table::default();
        for me in 0..CLIENTS {
            let table = table.clone();
            scenario.client(move |conn| work(conn, me, rounds, &table));
        }
    })
}
