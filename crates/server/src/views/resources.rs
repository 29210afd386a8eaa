//! `gearbox.resources`: what there is of memory and slots, who has it, the most that was ever used, and reuse. After a
//! load has gone and caches are flushed, use is what it was before.
//!
//! Rows whose unit is `bytes` can be added up, but for `region heap`, which is the sum of its owners: no other two are of the same memory.

use super::{INT8, TEXT, column};
use base::Result;
use kernel::engine::{State, engines};
use kernel::region;
use kernel::region::heap::{self, Owner};
use kernel::session;
use sql::catalog::{RowSink, ViewColumn, ViewContext};
use sql::types::Oid;

const FLOAT8: Oid = Oid(701);

pub const COLUMNS: &[ViewColumn] = &[
    column("name", TEXT),
    column("unit", TEXT),
    column("total", INT8),
    column("num_free", INT8),
    column("num_active", INT8),
    column("pct_act", FLOAT8),
    column("max_used", INT8),
    column("reuse_cnt", INT8),
];

fn row(rows: &mut RowSink, name: &str, unit: &str, total: u64, active: u64, max: u64, reuse: u64) {
    rows.row()
        .text(name)
        .text(unit)
        .count(total)
        .count(total.saturating_sub(active))
        .count(active)
        .float(100.0 * active as f64 / total.max(1) as f64)
        .count(max)
        .count(reuse)
        .end();
}

pub fn rows(_context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let config = kernel::supervisor::config();
    let (present, limit) = heap::extent_bytes();
    let mut used = 0;
    for &owner in Owner::ALL {
        let usage = heap::usage(owner);
        used += usage.used;
        row(rows, owner.as_str(), "bytes", limit, usage.used, usage.used_max, usage.frees);
    }
    row(rows, "region heap", "bytes", limit, used, present, 0);
    for table in region::tables() {
        row(rows, table.name, "bytes", table.bytes, table.backed.0, table.backed.1, 0);
    }
    // Pieces and not bytes: whoever adds up bytes has these already, in the rows of the tables that lie in them.
    let huge = region::huge::usage();
    let had = huge.bytes / region::huge::PIECE as u64;
    row(rows, "huge pages", "pages", had, had, had, 0);
    row(rows, "huge pages of fixed tables", "pages", huge.fixed.0, huge.fixed.1, huge.fixed.1, 0);
    row(rows, "huge pages of code", "pages", huge.code, huge.code, huge.code, 0);
    row(rows, "huge pages refused", "pages", huge.refused, huge.refused, huge.refused, 0);
    let (sessions, sessions_max) = session::counts();
    let slots = session::slots().len() as u64;
    row(rows, "session slots", "slots", slots, sessions.into(), sessions_max.into(), 0);
    let (clients, clients_max) = session::admitted();
    row(rows, "connections", "slots", config.max_connections.into(), clients.into(), clients_max.into(), 0);
    let up = engines().iter().filter(|engine| engine.state() != State::Absent).count() as u64;
    let ever = engines().iter().filter(|engine| engine.started_at() != 0).count() as u64;
    row(rows, "engine slots", "slots", engines().len() as u64, up, ever, 0);
    let fibers = engines().iter().map(|engine| u64::from(engine.fiber_count())).sum();
    row(rows, "fibers", "fibers", slots, fibers, fibers, 0);
    Ok(())
}
