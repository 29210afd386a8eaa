//! `pg_trigger`: the triggers that users have made. Foreign keys are no triggers here, so there are no internal ones.

use crate::catalog::provider::{RowSink, ViewContext};
use crate::types::{Datum, Oid, array};
use base::Result;

/// `pg_trigger`
pub(super) fn triggers(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for table in context.catalog.definitions.tables() {
        for trigger in &table.triggers {
            let columns: Vec<Datum<'_>> =
                trigger.columns.iter().map(|column| Datum::Int(i64::from(*column) + 1)).collect();
            let columns = array::encode_vector(Oid::INT2, &columns)?;
            // As PostgreSQL keeps them: each text ends with a zero.
            let arguments: Vec<u8> =
                trigger.arguments.iter().flat_map(|text| text.bytes().chain(std::iter::once(0))).collect();
            rows.row()
                .oid(trigger.oid)
                .oid(table.oid)
                .oid(Oid::NONE)
                .text(&trigger.name)
                .oid(trigger.function)
                .int(i64::from(trigger.kind))
                .char(trigger.enabled)
                .bool(false)
                .oid(Oid::NONE)
                .oid(Oid::NONE)
                .oid(trigger.constraint.unwrap_or(Oid::NONE))
                .bool(trigger.deferral.may_wait())
                .bool(trigger.deferral.waits())
                .int(trigger.arguments.len() as i64)
                .datum(Datum::Bytes(&columns))
                .datum(Datum::Bytes(&arguments))
                .maybe_text(trigger.condition.as_deref())
                .maybe_text(trigger.old_table.as_deref())
                .maybe_text(trigger.new_table.as_deref())
                .end();
        }
    }
    Ok(())
}
