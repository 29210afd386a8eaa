//! Bugs that are planted in the storage, each of which the simulator must find within a thousand seeds: a test of the tests.
//!
//! Which loads and troubles can show a bug is in the table. `SIM_BUG=wal.skip_flush cargo test -p storage --test planted` looks for one of
//! them, and says which seed shows it and how.

#[path = "support/access.rs"]
#[allow(dead_code, reason = "the tests against real servers use the rest")]
mod access;
#[path = "support/lock_load.rs"]
mod lock_load;
#[path = "support/read_load.rs"]
mod read_load;
#[path = "support/table.rs"]
mod table;
#[path = "support/table_load.rs"]
mod table_load;

use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::Options;
use kernel::fault;

/// The most seeds that a bug may take.
const SEEDS: u64 = 1000;

/// What has to happen for a bug to show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    /// Sessions that are in each other's way.
    None,
    /// Deaths of hosts.
    Kills,
    /// Power cuts.
    Cuts,
}

const BUGS: [(&str, Trouble); 17] = [
    ("wal.skip_flush", Trouble::Cuts),
    ("wal.unlogged_change", Trouble::Cuts),
    ("wal.visible_early", Trouble::Cuts),
    ("lock.freed_early", Trouble::None),
    ("lock.fast_unseen", Trouble::None),
    ("lock.fast_untold", Trouble::None),
    ("lock.fast_left", Trouble::Kills),
    ("buffer.write_before_log", Trouble::Cuts),
    ("buffer.evicted_under_reader", Trouble::None),
    ("recovery.skip_torn_check", Trouble::Cuts),
    ("recovery.late_change", Trouble::Cuts),
    ("recovery.made_for_gone", Trouble::Cuts),
    ("txn.snapshot_too_new", Trouble::None),
    ("txn.asked_twice", Trouble::None),
    ("checkpoint.redo_too_late", Trouble::Cuts),
    ("heap.seen_stays", Trouble::None),
    ("vacuum.entries_untold", Trouble::None),
];

fn options(seed: u64, trouble: Trouble) -> Options {
    let hosts = [EngineKind::Process, EngineKind::Thread][(seed / 3 % 2) as usize];
    let sessions = [Sessions::Dedicated, Sessions::Shared, Sessions::Fiber][(seed % 3) as usize];
    let quiet = Options { steps_max: 40_000_000, patience_ns: 60_000_000_000, ..Options::new(hosts, sessions) };
    match trouble {
        Trouble::None => quiet,
        Trouble::Kills => Options { kills: 12, kill_chance: 3000, trouble_ns: 60_000_000, ..quiet },
        Trouble::Cuts => Options { power_cuts: 3, trouble_ns: 150_000_000, ..quiet },
    }
}

#[test]
fn each_planted_bug_is_found() {
    testkit::sim::find_bugs(&BUGS.map(|bug| bug.0), 0..SEEDS, |bug, seed| {
        // Without those that have wide rows, which take ten times as long.
        let seed = seed + seed / 4;
        let (_, trouble) = BUGS.into_iter().find(|known| known.0 == bug).expect("it is of the table");
        match bug {
            _ if bug.starts_with("lock.fast") => lock_load::run(seed, options(seed, trouble), 25),
            "buffer.evicted_under_reader" => read_load::run(seed, options(seed, trouble), 10),
            _ => table_load::run(seed, options(seed, trouble), 25),
        }
    });
}

/// Every bug of the storage is in the table: those of the kernel are looked for by the kernel's own loads.
#[test]
fn no_bug_is_left_out() {
    let of_storage = ["wal.", "lock.", "buffer.", "recovery.", "txn.", "checkpoint.", "heap.", "vacuum."];
    let named: Vec<&str> = BUGS.iter().map(|bug| bug.0).collect();
    for (bug, _) in fault::BUGS {
        let ours = of_storage.iter().any(|begin| bug.starts_with(begin));
        assert_eq!(ours, named.contains(bug), "{bug}");
    }
}
