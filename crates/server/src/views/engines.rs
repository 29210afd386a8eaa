//! `gearbox.engines`: the engines of all groups, the background host's among them.

use super::{INT4, INT8, TEXT, TIMESTAMPTZ, column};
use base::Result;
use kernel::engine::{State, engines};
use kernel::session::slot;
use sql::catalog::{RowSink, ViewColumn, ViewContext};

pub const COLUMNS: &[ViewColumn] = &[
    column("engine_id", INT4),
    column("pool", TEXT),
    column("engine_type", TEXT),
    column("host", INT4),
    column("os_pid", INT4),
    column("os_tid", INT4),
    column("status", TEXT),
    column("started_at", TIMESTAMPTZ),
    column("current_pid", INT4),
    column("fibers", INT4),
    column("wait_primitive", TEXT),
    column("requests", INT8),
    column("ctx_switches", INT8),
    column("sleeps", INT8),
    column("spins_hit", INT8),
    column("answers_gathered", INT8),
    column("slices_exhausted", INT8),
    column("polls", INT8),
    column("polls_hit", INT8),
    column("taken_over", INT8),
    column("accepted", INT8),
    column("posts_woken", INT8),
    column("io_submitted", INT8),
    column("io_completed", INT8),
    column("io_uring", INT8),
    column("io_workers", INT8),
    column("io_sync", INT8),
    column("io_own", INT8),
];

pub fn rows(_context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let kind = kernel::supervisor::config().engine.as_str();
    for engine in engines().iter().filter(|engine| engine.state() != State::Absent) {
        let background = engine.is_background();
        let (pid, tid) = engine.os_ids();
        let session = engine.session().map(|id| i64::from(slot(id).number()));
        let stats = &engine.stats;
        let row = rows
            .row()
            .int(engine.id().0)
            .text(if background { "background" } else { "default" })
            .text(if background { "thread" } else { kind })
            .int(engine.host_id().0)
            .int(pid)
            .int(tid)
            .text(engine.state().as_str())
            .int(engine.started_at());
        let row = match session {
            Some(number) => row.int(number),
            None => row.null(),
        };
        row.int(engine.fiber_count())
            .text(engine.primitive().as_str())
            .count(stats.requests.get())
            .count(stats.switches.get())
            .count(stats.sleeps.get())
            .count(stats.spins_hit.get())
            .count(stats.gathered.get())
            .count(stats.slices_exhausted.get())
            .count(stats.polls.get())
            .count(stats.polls_hit.get())
            .count(stats.taken_over.get())
            .count(stats.accepted.get())
            .count(stats.wakes.get())
            .count(stats.io_submitted.get())
            .count(stats.io_completed.get())
            .count(stats.io_uring.get())
            .count(stats.io_workers.get())
            .count(stats.io_sync.get())
            .count(stats.io_own.get())
            .end();
    }
    Ok(())
}
