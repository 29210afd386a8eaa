//! Clients of [`super::Ledger`]: they write and read values, and the history of each key must have an explanation, across
//! all deaths, restarts and power cuts of the run.

use super::{Entries, Flaw, KEYS, Ledger};
use crate::history::History;
use crate::register::{self, Asked, Told};
use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::{Failure, Options, Report, SimConn};
use std::cell::Cell;
use std::rc::Rc;

/// Clients of a run.
const CLIENTS: u32 = 3;
/// What each of them asks for.
const STEPS: u32 = 14;

/// What happens to a server of that model under that seed: deaths, the power cut once or twice, and a bad disk.
pub fn options(seed: u64, hosts: EngineKind, sessions: Sessions) -> Options {
    let mut options = Options::new(hosts, sessions);
    options.kills = (seed % 3) as u32;
    options.kill_chance = [0, 300][(seed / 3 % 2) as usize];
    options.power_cuts = 1 + (seed % 2) as u32;
    options.trouble_ns = 30_000_000;
    options.disk.done_in_part = 20_000;
    match seed % 5 {
        0 => {}
        1 => (options.disk.read_fails, options.disk.bit_flips) = (30_000, 60_000),
        2 => options.disk.write_fails = 50_000,
        3 => options.disk.flush_fails = 60_000,
        _ => options.kill_background = true,
    }
    options
}

/// Runs a seed.
pub fn run(seed: u64, options: Options, flaw: Flaw) -> Result<Report, Box<Failure>> {
    let entries: Rc<Cell<Option<&'static Entries>>> = Rc::default();
    let newest = entries.clone();
    let make = move || {
        let ledger = Ledger::new(flaw);
        newest.set(Some(ledger.entries()));
        Ok(Box::new(ledger) as Box<dyn kernel::Service>)
    };
    kernel::engine::sim::run(seed, options, make, |scenario| {
        let histories: Vec<History<Asked, Told>> = (0..KEYS).map(|_| History::default()).collect();
        for number in 0..CLIENTS {
            let histories = histories.clone();
            scenario.client(move |conn| work(conn, number, &histories));
        }
        scenario.check(move || {
            Ledger::check_durable(entries.get().expect("the server was started"))?;
            for (key, history) in histories.iter().enumerate() {
                register::check(0, &history.operations()).map_err(|what| format!("key {key}: {what}"))?;
            }
            Ok(())
        });
    })
}

fn work(conn: &mut SimConn, number: u32, histories: &[History<Asked, Told>]) {
    for step in 0..STEPS {
        if !conn.is_connected() {
            conn.connect_patiently();
        }
        let key = conn.random(KEYS as u64) as usize;
        let (asked, line) = match conn.random(2) {
            0 => (Asked::Read, format!("kept {key}")),
            _ => {
                let value = (number as u64 + 1) * 1000 + step as u64;
                (Asked::Write(value), format!("keep {key} {value}"))
            }
        };
        let operation = histories[key].asked(number, asked, conn.now());
        let Ok(answer) = conn.ask(&line) else { continue };
        match answer.strip_prefix("ok ").and_then(|value| value.parse().ok()) {
            Some(value) => histories[key].told(operation, (asked == Asked::Read).then_some(value), conn.now()),
            // The disk failed, or there was no room for the session: nobody knows.
            None => assert!(answer.starts_with("error ") || answer == "full", "the answer to {line:?} is {answer:?}"),
        }
        conn.sleep(conn.random(3_000_000));
    }
}
