//! `gearbox.wait_events`: what sessions have waited for since the start, summed over all engines.

use super::{INT8, TEXT, column};
use base::Result;
use kernel::engine::engines;
use kernel::wait::Event;
use sql::catalog::{RowSink, ViewColumn, ViewContext};

pub const COLUMNS: &[ViewColumn] = &[
    column("wait_event_type", TEXT),
    column("wait_event", TEXT),
    column("waits", INT8),
    column("slept", INT8),
    column("wait_time_us", INT8),
    column("max_wait_us", INT8),
    column("description", TEXT),
];

pub fn rows(_context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    // A slot whose engine is gone keeps its counters: they are part of the sums.
    let used: Vec<_> = engines().iter().filter(|engine| engine.started_at() != 0).collect();
    for &event in Event::ALL {
        let (mut waits, mut slept, mut time, mut longest) = (0, 0, 0, 0);
        for engine in &used {
            let counters = &engine.waits[event as usize];
            waits += counters.waits.get();
            slept += counters.slept.get();
            time += counters.time_ns.get();
            longest = counters.max_ns.get().max(longest);
        }
        let row = event.row();
        rows.row()
            .text(row.class.as_str())
            .text(row.name)
            .count(waits)
            .count(slept)
            .count(time / 1000)
            .count(longest / 1000)
            .text(row.doc)
            .end();
    }
    Ok(())
}
