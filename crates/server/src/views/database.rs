//! `pg_stat_database`: what is counted of each database, and of none in particular. What is not counted is null, where PostgreSQL would
//! say zero: a zero would say that it was counted.
//!
//! Sessions and transactions are counted for each database. Pages, files beside the memory and deadlocks are counted for the whole server:
//! they stand in the row without a database, where PostgreSQL has what is shared.

use crate::serve::activity::Activity;
use base::Result;
use sql::catalog::{RowSink, ViewContext};
use sql::types::Oid;
use storage::Storage;

pub struct Provider {
    pub sessions: Activity,
    pub storage: &'static Storage,
}

impl sql::catalog::Provider for Provider {
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        let (ended, pages) = (self.sessions.all_ended(Oid::NONE), self.storage.pool.usage());
        let deadlocks = self.storage.transactions.usage().deadlocks;
        let row = rows.row().oid(Oid::NONE).null().int(0);
        let row = row.count(ended.committed).count(ended.rolled_back).count(pages.reads).count(pages.hits);
        let spilled = context.relations.map(|relations| relations.spilled()).unwrap_or_default();
        // Rows, conflicts.
        let row = row.nulls(6).count(spilled.files).count(spilled.bytes).count(deadlocks);
        // Checksums, times, and how sessions ended.
        row.nulls(12).end();
        for database in context.catalog.definitions.databases() {
            let ended = self.sessions.all_ended(database.oid);
            let row = rows.row().oid(database.oid).text(&database.name).int(self.sessions.sessions_of(database.oid));
            row.count(ended.committed).count(ended.rolled_back).nulls(23).end();
        }
        Ok(())
    }
}
