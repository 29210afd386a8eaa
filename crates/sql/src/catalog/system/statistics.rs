//! `pg_statistic` and `pg_stats`: what `ANALYZE` found in columns.
//!
//! PostgreSQL's columns of values are of type `anyarray`; here they are `text`, with an array's text in them.

use crate::catalog::column_statistics::ColumnStatistics;
use crate::catalog::definition::TableDef;
use crate::catalog::privilege::SELECT;
use crate::catalog::provider::{RowBuilder, RowSink, ViewContext};
use crate::plan::blob::Constant;
use crate::session::types::TypesAtHand;
use crate::types::datetime::Style;
use crate::types::{Datum, Kind, Oid, array, io, operator, table};
use base::Result;
use std::sync::Arc;

/// What a slot of `pg_statistic` has: the numbers that PostgreSQL gives them.
const COMMON: i64 = 1;
const BOUNDS: i64 = 2;
const CORRELATION: i64 = 3;
const SLOTS: usize = 5;

/// A slot of `pg_statistic`.
#[derive(Default)]
struct Slot {
    kind: i64,
    operator: Oid,
    numbers: Option<Vec<f64>>,
    values: Option<String>,
}

/// `pg_statistic`
pub(super) fn statistics(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let types = TypesAtHand::of(&context.catalog.definitions);
    each(context, &mut |def, known| {
        let slots = slots_of(known, &types);
        let mut row = rows
            .row()
            .oid(def.oid)
            .int(known.column + 1)
            .bool(false)
            .float(known.null_share)
            .int(known.width as i32)
            .float(known.distinct);
        for slot in &slots {
            row = row.int(slot.kind);
        }
        for slot in &slots {
            row = row.oid(slot.operator);
        }
        for _ in &slots {
            row = row.oid(Oid::NONE);
        }
        for slot in &slots {
            row = numbers(row, slot.numbers.as_deref());
        }
        for slot in &slots {
            row = row.maybe_text(slot.values.as_deref());
        }
        row.end();
    })
}

/// `pg_stats`
pub(super) fn shown(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let types = TypesAtHand::of(&context.catalog.definitions);
    each(context, &mut |def, known| {
        let of_column = || {
            let (definitions, role) = (&context.catalog.definitions, context.role);
            definitions.column_rights(role, def.oid, known.column, SELECT) != 0
        };
        if !context.has(def, SELECT) && !of_column() {
            return;
        }
        let schema = context.catalog.schema_name(def.schema).unwrap_or_default();
        let name = def.columns.get(usize::from(known.column)).map_or("", |column| column.name.as_str());
        let shares: Vec<f64> = known.common.iter().map(|(share, _)| *share).collect();
        let row = rows
            .row()
            .text(&schema)
            .text(&def.name)
            .text(name)
            .bool(false)
            .float(known.null_share)
            .int(known.width as i32)
            .float(known.distinct)
            .maybe_text(common(known, &types).as_deref());
        let row = numbers(row, (!shares.is_empty()).then_some(&shares));
        let row = row.maybe_text(bounds(known, &types).as_deref());
        match known.correlation {
            Some(correlation) => row.float(correlation),
            None => row.null(),
        }
        .end();
    })
}

/// Visits what is known of the columns of tables that are there.
fn each(context: &ViewContext<'_>, visit: &mut dyn FnMut(&Arc<TableDef>, &ColumnStatistics)) -> Result<()> {
    for def in context.catalog.tables()? {
        let Some(known) = context.catalog.column_statistics(def.oid) else { continue };
        for (number, column) in def.columns.iter().enumerate().filter(|(_, column)| !column.dropped) {
            if let Some(known) = known.column(number as u16, column.ty.oid) {
                visit(&def, known);
            }
        }
    }
    Ok(())
}

fn slots_of(known: &ColumnStatistics, types: &TypesAtHand<'_>) -> [Slot; SLOTS] {
    let operator = |name: &str| {
        let rows = operator::by_name(name).iter();
        rows.clone()
            .find(|row| row.left == known.ty && row.right == known.ty)
            .or_else(|| {
                rows.clone().find(|row| table::kind(row.left) == table::kind(known.ty) && row.left == row.right)
            })
            .map_or(Oid::NONE, |row| row.oid)
    };
    let mut slots = Vec::with_capacity(SLOTS);
    if let Some(values) = common(known, types) {
        let numbers = Some(known.common.iter().map(|(share, _)| *share).collect());
        slots.push(Slot { kind: COMMON, operator: operator("="), numbers, values: Some(values) });
    }
    if let Some(values) = bounds(known, types) {
        slots.push(Slot { kind: BOUNDS, operator: operator("<"), numbers: None, values: Some(values) });
    }
    if let Some(correlation) = known.correlation {
        let numbers = Some(vec![correlation]);
        slots.push(Slot { kind: CORRELATION, operator: operator("<"), numbers, values: None });
    }
    slots.resize_with(SLOTS, Slot::default);
    slots.try_into().unwrap_or_default()
}

fn numbers<'s>(row: RowBuilder<'s>, numbers: Option<&[f64]>) -> RowBuilder<'s> {
    match numbers {
        Some(numbers) => row.array(&numbers.iter().map(|number| Datum::Float(*number)).collect::<Vec<_>>()),
        None => row.null(),
    }
}

fn common(known: &ColumnStatistics, types: &TypesAtHand<'_>) -> Option<String> {
    values(types, known.ty, known.common.iter().map(|(_, value)| value))
}

fn bounds(known: &ColumnStatistics, types: &TypesAtHand<'_>) -> Option<String> {
    values(types, known.ty, known.bounds.iter())
}

/// Values as an array's text; none without any.
fn values<'v>(types: &TypesAtHand<'_>, ty: Oid, values: impl Iterator<Item = &'v Constant>) -> Option<String> {
    let items: Vec<Datum<'v>> = values.map(Constant::datum).collect();
    if items.is_empty() {
        return None;
    }
    let bytes = array::encode_list(ty, &items).ok()?;
    let mut text = Vec::new();
    io::output(Kind::Array, Datum::Bytes(&bytes), &Style { types: Some(types), ..Style::PLAIN }, &mut text).ok()?;
    String::from_utf8(text).ok()
}
