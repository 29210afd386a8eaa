//! `gearbox.spinlocks`: contention, lock by lock. Partitions of one lock are rows of their own: a hot one is seen.

use super::{INT4, INT8, TEXT, column};
use base::Result;
use kernel::sync::spinlocks;
use sql::catalog::{RowSink, ViewColumn, ViewContext};
use sql::types::Oid;

const FLOAT8: Oid = Oid(701);

pub const COLUMNS: &[ViewColumn] = &[
    column("name", TEXT),
    column("instance", INT4),
    column("grabs", INT8),
    column("waits", INT8),
    column("spins", INT8),
    column("spins_per_wait", FLOAT8),
    column("contention_pct", FLOAT8),
];

pub fn rows(_context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (name, instance, stats) in spinlocks() {
        rows.row()
            .text(name.as_str())
            .int(instance)
            .count(stats.grabs)
            .count(stats.waits)
            .count(stats.spins)
            .float(stats.spins as f64 / stats.waits.max(1) as f64)
            .float(100.0 * stats.waits as f64 / stats.grabs.max(1) as f64)
            .end();
    }
    Ok(())
}
