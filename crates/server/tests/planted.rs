//! Bugs that are planted in SQL, each of which the simulator must find within a thousand seeds: a test of the tests.
//!
//! Which load and trouble can show a bug is in the table. `SIM_BUG=sql.kept_plan cargo test -p server --test planted -- --nocapture` looks
//! for one of them, and says which seed shows it and how.

#[path = "simulated/bank.rs"]
mod bank;
#[path = "simulated/databases.rs"]
mod databases;
#[path = "simulated/keys.rs"]
mod keys;
#[path = "simulated/routines.rs"]
mod routines;
#[path = "simulated/run.rs"]
#[allow(dead_code, reason = "the loads' own tests use the rest")]
mod run;
#[path = "simulated/wire.rs"]
#[allow(dead_code, reason = "the loads' own tests use the rest")]
mod wire;

use kernel::engine::sim::{Failure, Options, Report};
use kernel::fault;
use run::{Trouble, options};

/// The most seeds that a bug may take.
const SEEDS: u64 = 1000;
const ROUNDS: u32 = 20;

type Load = fn(u64, Options, u32) -> Result<Report, Box<Failure>>;

const BUGS: [(&str, Load, Trouble); 12] = [
    ("sql.kept_plan", keys::run, Trouble::None),
    ("sql.kept_definitions", keys::run, Trouble::None),
    ("sql.kept_body", routines::run, Trouble::None),
    ("sql.early_answer", bank::run, Trouble::Cuts),
    ("sql.forgotten_entry", keys::run, Trouble::None),
    ("sql.lost_update", bank::run, Trouble::None),
    ("sql.lost_row", keys::run, Trouble::None),
    ("sql.savepoint_kept", keys::run, Trouble::None),
    ("sql.child_unlogged", keys::run, Trouble::Cuts),
    ("sql.sequence_forgotten", keys::run, Trouble::Cuts),
    ("sql.shared_text", databases::run, Trouble::None),
    ("sql.unseen_comer", databases::run, Trouble::None),
];

#[test]
fn each_planted_bug_is_found() {
    testkit::sim::find_bugs(&BUGS.map(|bug| bug.0), 0..SEEDS, |bug, seed| {
        let (_, load, trouble) = BUGS.into_iter().find(|known| known.0 == bug).expect("it is of the table");
        load(seed, options(seed, trouble), ROUNDS)
    });
}

/// Every bug of SQL is in the table: those of the kernel and of the storage are looked for by their own loads.
#[test]
fn no_bug_is_left_out() {
    let named: Vec<&str> = BUGS.iter().map(|bug| bug.0).collect();
    for (bug, _) in fault::BUGS {
        assert_eq!(bug.starts_with("sql."), named.contains(bug), "{bug}");
    }
}
