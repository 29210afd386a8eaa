//! `pg_sequence`, `pg_sequences`, and what `pg_depend` says of them.

use super::relations::default_oid;
use crate::catalog::definition::{Rows, SequenceDef};
use crate::catalog::privilege::{SELECT, USAGE};
use crate::catalog::provider::{RowSink, ViewContext};
use crate::types::Oid;
use base::Result;
use storage::heap::Advance;

/// `pg_class`, and `pg_attrdef`.
const CLASSES: (Oid, Oid) = (Oid(1259), Oid(2604));

/// `pg_sequence`
pub(super) fn sequences(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.definitions.tables() {
        let Some(SequenceDef { ty, start, increment, min, max, cache, cycle, .. }) = def.sequence else { continue };
        rows.row().oid(def.oid).oid(ty).int(start).int(increment).int(max).int(min).int(cache).bool(cycle).end();
    }
    Ok(())
}

/// `pg_sequences`
pub(super) fn shown(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.definitions.tables() {
        let Some(SequenceDef { ty, start, increment, min, max, cache, cycle, .. }) = def.sequence else { continue };
        let state = match (context.relations, def.rows) {
            // One that is being dropped at this moment has no last value.
            (Some(relations), Rows::Stored(rows)) if context.has(def, USAGE | SELECT) => {
                relations.heap(rows).sequence(|state| Ok((Advance::Keep, state))).ok().filter(|state| state.called)
            }
            _ => None,
        };
        let row = rows
            .row()
            .text(&context.catalog.schema_name(def.schema).unwrap_or_default())
            .text(&def.name)
            .text(&context.catalog.definitions.role_name(def.owner))
            .oid(ty)
            .int(start)
            .int(min)
            .int(max)
            .int(increment)
            .bool(cycle)
            .int(cache);
        match state {
            Some(state) => row.int(state.last).end(),
            None => row.null().end(),
        }
    }
    Ok(())
}

/// `pg_depend`: which sequences belong to columns, and which defaults use sequences.
pub(super) fn dependencies(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    super::objects::members(context, rows)?;
    super::relations::view_dependencies(context, rows);
    super::dependencies::of_relations(context, rows);
    let (class, default) = CLASSES;
    for def in context.catalog.definitions.tables() {
        if let Some(owner) = def.sequence.and_then(|sequence| sequence.owner) {
            let kind = if owner.identity { b'i' } else { b'a' };
            let column = i64::from(owner.column) + 1;
            rows.row().oid(class).oid(def.oid).int(0).oid(class).oid(owner.table).int(column).char(kind).end();
        }
        for (index, column) in def.visible().filter(|(_, column)| column.identity.is_none()) {
            for used in &column.uses {
                let oid = default_oid(def, index);
                rows.row().oid(default).oid(oid).int(0).oid(class).oid(*used).int(0).char(b'n').end();
            }
        }
    }
    Ok(())
}
