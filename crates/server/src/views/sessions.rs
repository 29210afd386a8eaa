//! `gearbox.sessions`: every session, with the process and the thread that run it now.

use super::{BOOL, INT4, INT8, TEXT, TIMESTAMPTZ, column};
use base::Result;
use kernel::clock;
use kernel::engine::engine;
use kernel::session::slots_reached;
use sql::catalog::{RowSink, ViewColumn, ViewContext};

pub const COLUMNS: &[ViewColumn] = &[
    column("pid", INT4),
    column("session_id", INT4),
    column("kind", TEXT),
    column("state", TEXT),
    column("in_transaction", BOOL),
    column("engine_id", INT4),
    column("os_pid", INT4),
    column("os_tid", INT4),
    column("wait_event_type", TEXT),
    column("wait_event", TEXT),
    column("wait_us", INT8),
    column("requests", INT8),
    column("migrations", INT8),
    column("memory_bytes", INT8),
    column("temp_bytes", INT8),
    column("backend_start", TIMESTAMPTZ),
];

pub fn rows(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let now = clock::now();
    for slot in slots_reached().iter().filter(|slot| slot.is_used()) {
        let parked = slot.is_parked();
        let waiting = slot.waiting();
        let row = rows
            .row()
            .int(slot.number())
            .int(slot.id().0)
            .text(if slot.is_background() { "background" } else { "client" })
            .text(match (parked, waiting) {
                (true, _) => "parked",
                (false, Some(_)) => "waiting",
                (false, None) => "running",
            })
            .bool(slot.in_transaction());
        // A parked session has no engine, whichever served it last.
        let row = if parked {
            row.nulls(3)
        } else {
            let (pid, tid) = engine(slot.engine_id()).os_ids();
            row.int(slot.engine_id().0).int(pid).int(tid)
        };
        let row = match waiting {
            Some((event, _, since)) => {
                row.text(event.row().class.as_str()).text(event.row().name).count(now.saturating_sub(since) / 1000)
            }
            None if parked => row.text("Client").text("ClientIdle").null(),
            None => row.nulls(3),
        };
        let row = row.count(slot.requests.get()).count(slot.moves.get()).count(slot.arena_bytes());
        let spilled = context.relations.map(|relations| relations.spilled_by(slot.id())).unwrap_or_default();
        row.count(spilled.bytes).int(slot.started_at()).end();
    }
    Ok(())
}
