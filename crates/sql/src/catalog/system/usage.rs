//! `pg_stat_all_tables`, `pg_stat_all_indexes` and their relatives: what was done to tables and indexes since the server's start.
//!
//! Counts are by storage ([`RelationUsage`]). A table's scans by indexes, and the rows that they fetch, are counted at its
//! indexes; a transaction's changes show when it is over. The system's own catalogs are not counted.

use crate::catalog::definition::{RelationKind, Rows, TableDef};
use crate::catalog::provider::{RowBuilder, RowSink, ViewContext};
use crate::catalog::schema;
use base::Result;
use std::sync::Arc;
use storage::relation::{RelationUsage, Relations, Rounds};

/// What was counted of a table.
pub(crate) fn of_table(relations: &Relations, table: &TableDef) -> RelationUsage {
    match table.rows {
        Rows::Stored(rows) => relations.usage_of(rows).unwrap_or_default(),
        Rows::Made(_) | Rows::None => RelationUsage::default(),
    }
}

/// The relations whose rows are counted, with their schemas.
fn counted(context: &ViewContext<'_>) -> Result<Vec<(Arc<TableDef>, String)>> {
    let is_counted = |table: &Arc<TableDef>| {
        table.kind == RelationKind::Table
            && matches!(table.rows, Rows::Stored(_))
            // Those of other sessions are nobody's business.
            && (!schema::is_temporary(table.schema) || Some(table.schema) == context.session.map(schema::temporary))
    };
    let tables = context.catalog.tables()?.into_iter().filter(is_counted);
    Ok(tables
        .map(|table| {
            let schema = context.catalog.schema_name(table.schema).unwrap_or_default();
            (table, schema)
        })
        .collect())
}

/// `pg_stat_user_tables`, `pg_stat_all_tables`
pub(super) fn tables(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let Some(relations) = context.relations else { return Ok(()) };
    for (table, schema) in counted(context)? {
        let usage = of_table(relations, &table);
        let row = rows.row().oid(table.oid).text(&schema).text(&table.name);
        let row = row.count(usage.read.scans).count(usage.read.returned);
        let row = match table.indexes.is_empty() {
            true => row.nulls(2),
            false => {
                let reads = table.indexes.iter().filter_map(|index| relations.usage_of(index.storage));
                let (scans, fetched) = reads.fold((0, 0), |sum, of| (sum.0 + of.read.scans, sum.1 + of.read.fetched));
                row.count(scans).count(fetched)
            }
        };
        let row = row.count(usage.inserted).count(usage.updated).count(usage.deleted).count(usage.hot_updated);
        let row = row.count(usage.live).count(usage.dead).count(usage.modified).count(usage.inserted_since_vacuum);
        let all = [usage.vacuums, usage.analyses];
        let row = all.iter().flatten().fold(row, last);
        all.iter().flatten().fold(row, |row, rounds| row.count(rounds.count)).end();
    }
    Ok(())
}

fn last<'s>(row: RowBuilder<'s>, rounds: &Rounds) -> RowBuilder<'s> {
    match rounds.last_us {
        0 => row.null(),
        time => row.int(time),
    }
}

/// `pg_stat_user_indexes`, `pg_stat_all_indexes`
pub(super) fn indexes(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let Some(relations) = context.relations else { return Ok(()) };
    for (table, schema) in counted(context)? {
        for index in &table.indexes {
            let read = relations.usage_of(index.storage).unwrap_or_default().read;
            let row = rows.row().oid(table.oid).oid(index.oid).text(&schema).text(&table.name).text(&index.name);
            row.count(read.scans).count(read.returned).count(read.fetched).end();
        }
    }
    Ok(())
}
