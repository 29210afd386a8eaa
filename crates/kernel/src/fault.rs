//! Named points where tests interfere: planted bugs, and places where the simulator may switch or kill.
//!
//! A *point* marks a place between two shared writes; the simulator may let another session run there, or end the host.
//! A *planted* bug is a fault point that is off unless a test switches it on: it proves that the tests would find the bug.
//! Outside tests each costs one load of a word that never changes.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

static POINTS: AtomicBool = AtomicBool::new(false);
static PLANTED: AtomicU32 = AtomicU32::new(0);

macro_rules! bugs {
    ($($name:literal $doc:literal;)*) => {
        /// Every bug that can be planted: name, and what it does.
        pub const BUGS: &[(&str, &str)] = &[$(($name, $doc)),*];
    };
}

bugs! {
    "wait.lost_post" "a post to a session that is awake is forgotten";
    "latch.freed_early" "a session that was posted for a latch takes it for free, and lets itself in beside its holder";
    "session.lost_input" "bytes that were read but not served are forgotten when a session parks";
    "arena.shared_block" "a freed small block of an arena is given out twice";
    "group.no_spare" "an engine that is blocked with its session is counted as one that serves";
    "reaper.kept_latch" "a latch that a dead session held with others stays held";
    "reaper.early_reuse" "memory of the dead is given back while the disk still writes from it or reads into it";
    "wal.skip_flush" "a commit is acknowledged before the log is flushed";
    "wal.unlogged_change" "a page change has no log record";
    "sql.sequence_forgotten" "a sequence forgets, when the server was killed, what it gave out";
    "wal.visible_early" "a commit is visible before it is durable";
    "lock.fast_unseen" "who locks a table without the lock table does not look for somebody who wants it for himself";
    "lock.fast_untold" "who gives such a lock up does not tell those who wait for it";
    "lock.fast_left" "of a session that died while it gave such locks up, those that it had not come to stay";
    "lock.freed_early" "a row's lock ends before its transaction";
    "buffer.write_before_log" "a page is written before its log record";
    "buffer.evicted_under_reader" "a frame gets another page while somebody who has it latched reads the one that was in it";
    "recovery.skip_torn_check" "recovery trusts pages that were half written";
    "recovery.late_change" "a change that recovery has put off is made after its table was cut off";
    "recovery.made_for_gone" "a change that recovery has put off is made though its file has gone";
    "txn.snapshot_too_new" "a snapshot sees commits that come after it";
    "txn.asked_twice" "a transaction that ends between two looks at its status is taken for committed";
    "checkpoint.redo_too_late" "a checkpoint forgets a dirty page";
    "heap.seen_stays" "a page that changes stays known as one of which everybody sees all rows";
    "vacuum.entries_untold" "who read an index before a vacuum took entries out of it is not told";
    "sql.kept_plan" "the statement cache gives plans of tables that have changed since";
    "sql.kept_body" "a body read from a definition that has been replaced is kept for the one that came after it";
    "sql.kept_definitions" "definitions that others have changed stay known as they were";
    "sql.early_answer" "a client is told of a commit that is not flushed";
    "sql.forgotten_entry" "an update makes no entry in an index that is not unique";
    "sql.lost_update" "an update that waited for another one writes what it had computed before";
    "sql.savepoint_kept" "a row that was changed behind a savepoint stays changed when the transaction goes back";
    "sql.child_unlogged" "a commit's record does not say what was changed behind savepoints";
    "sql.shared_text" "a statement of one text has one plan in all databases";
    "sql.unseen_comer" "who drops a database does not see somebody who comes into it";
    "sql.lost_row" "the row at which a portal stopped is given to nobody";
}

/// Switches a planted bug on, by its name in [`BUGS`]. False if there is no such bug.
pub fn plant(name: &str) -> bool {
    match BUGS.iter().position(|bug| bug.0 == name) {
        Some(index) => {
            PLANTED.store(index as u32 + 1, Relaxed);
            true
        }
        None => false,
    }
}

/// Switches planted bugs off.
pub fn uproot() {
    PLANTED.store(0, Relaxed);
}

/// True when that bug is planted.
#[inline]
pub fn planted(name: &str) -> bool {
    let planted = PLANTED.load(Relaxed);
    planted != 0 && BUGS[planted as usize - 1].0 == name
}

/// Lets the simulator act at every [`point`].
pub(crate) fn watch_points(on: bool) {
    POINTS.store(on, Relaxed);
}

/// A place between two shared writes, or before a latch: the simulator may switch or kill here.
#[inline]
pub fn point(name: &'static str) {
    if POINTS.load(Relaxed) {
        crate::engine::at_point(name);
    }
}
