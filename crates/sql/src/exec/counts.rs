//! Functions about what was counted of tables and indexes: `pg_stat_get_live_tuples(…)` and its relatives, `pg_stat_reset()`.

use super::around::Around;
use crate::catalog::definition::Rows;
use crate::statement::temporary::storages_of;
use crate::types::op::Op;
use crate::types::{Datum, Oid};
use base::{Error, RelId, Result, sqlstate};
use storage::relation::{RelationUsage, Rounds};

/// Is it one of these functions?
pub(super) fn is_count(op: Op) -> bool {
    count_of(op, &RelationUsage::default()).is_some() || matches!(op, Op::ResetCounts | Op::ResetCountsOf)
}

/// What a function answers of a relation.
fn count_of(op: Op, usage: &RelationUsage) -> Option<Datum<'static>> {
    const ASKED: usize = 0;
    const BACKGROUND: usize = 1;
    let count = |count: u64| Some(Datum::Int(i64::try_from(count).unwrap_or(i64::MAX)));
    let last = |rounds: &Rounds| Some(if rounds.last_us == 0 { Datum::Null } else { Datum::Int(rounds.last_us) });
    match op {
        Op::CountScans => count(usage.read.scans),
        Op::CountReturned => count(usage.read.returned),
        Op::CountFetched => count(usage.read.fetched),
        Op::CountInserted => count(usage.inserted),
        Op::CountUpdated => count(usage.updated),
        Op::CountDeleted => count(usage.deleted),
        Op::CountHotUpdated => count(usage.hot_updated),
        Op::CountLive => count(usage.live),
        Op::CountDead => count(usage.dead),
        Op::CountModified => count(usage.modified),
        Op::CountInsertedSince => count(usage.inserted_since_vacuum),
        Op::CountVacuums => count(usage.vacuums[ASKED].count),
        Op::CountAutovacuums => count(usage.vacuums[BACKGROUND].count),
        Op::CountAnalyses => count(usage.analyses[ASKED].count),
        Op::CountAutoanalyses => count(usage.analyses[BACKGROUND].count),
        Op::LastVacuum => last(&usage.vacuums[ASKED]),
        Op::LastAutovacuum => last(&usage.vacuums[BACKGROUND]),
        Op::LastAnalyze => last(&usage.analyses[ASKED]),
        Op::LastAutoanalyze => last(&usage.analyses[BACKGROUND]),
        _ => None,
    }
}

impl Around<'_> {
    /// The storages of a table or an index.
    fn storage_of(&self, oid: Oid) -> Result<Option<RelId>> {
        let catalog = self.catalog.get()?;
        let definitions = &catalog.definitions;
        if let Some(table) = definitions.table(oid) {
            return Ok(match table.rows {
                Rows::Stored(rows) => Some(rows),
                Rows::Made(_) | Rows::None => None,
            });
        }
        Ok(definitions.tables().find_map(|table| table.index(oid)).map(|index| index.storage))
    }

    /// One of these functions.
    pub(super) fn counts(&self, op: Op, oid: Option<Oid>) -> Result<Datum<'static>> {
        let storage = match oid {
            Some(oid) => self.storage_of(oid)?,
            None => None,
        };
        let relations = self.relations;
        match op {
            Op::ResetCounts | Op::ResetCountsOf => {
                if !self.is_superuser()? {
                    let name =
                        if op == Op::ResetCounts { "pg_stat_reset" } else { "pg_stat_reset_single_table_counters" };
                    let message = format!("permission denied for function {name}");
                    return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
                }
                match (relations, storage) {
                    (Some(relations), Some(storage)) => relations.reset_counts(storage),
                    (Some(relations), None) if op == Op::ResetCounts => {
                        // Those of the own database.
                        let definitions = self.catalog.get()?.definitions;
                        let storages = definitions.tables().flat_map(|table| storages_of(table));
                        storages.for_each(|storage| relations.reset_counts(storage));
                    }
                    _ => {}
                }
                Ok(Datum::Bytes(&[]))
            }
            op => {
                let usage = relations.zip(storage).and_then(|(relations, storage)| relations.usage_of(storage));
                Ok(count_of(op, &usage.unwrap_or_default()).unwrap_or(Datum::Null))
            }
        }
    }
}
