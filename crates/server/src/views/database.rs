//! `pg_stat_database`: the one database, as PostgreSQL shows it. What is not counted here is null, where PostgreSQL would say zero:
//! a zero would say that it was counted.

use super::activity::DATABASE;
use crate::serve::activity::Activity;
use base::Result;
use kernel::session::slots_reached;
use sql::catalog::{RowSink, ViewContext};
use storage::Storage;

pub struct Provider {
    pub sessions: Activity,
    pub storage: &'static Storage,
}

impl sql::catalog::Provider for Provider {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        let clients = slots_reached().iter().filter(|slot| slot.is_used() && !slot.is_background()).count();
        let (ended, pages) = (self.sessions.all_ended(), self.storage.pool.usage());
        let deadlocks = self.storage.transactions.usage().deadlocks;
        let row = rows.row().oid(DATABASE).text(context.database).int(clients as u32);
        let row = row.count(ended.committed).count(ended.rolled_back).count(pages.reads).count(pages.hits);
        let spilled = context.relations.map(|relations| relations.spilled()).unwrap_or_default();
        // Rows, conflicts.
        let row = row.nulls(6).count(spilled.files).count(spilled.bytes).count(deadlocks);
        // Checksums, times, and how sessions ended.
        row.nulls(12).end();
        Ok(())
    }
}
