//! What `pg_depend` says of tables, indexes, constraints and functions: what goes with what, and what keeps what from being dropped.
//!
//! Programs that dump a database read it to find an order in which everything can be made again. What the system itself is made of stands
//! in no row: nobody drops it.

use super::relations::default_oid;
use crate::catalog::definition::{ConstraintKind, TableDef};
use crate::catalog::provider::{RowSink, ViewContext};
use crate::catalog::schema::{FIRST_USER_OID, PUBLIC};
use crate::statement::constraint::columns_named;
use crate::types::Oid;
use std::collections::BTreeSet;

const PROCEDURE: Oid = Oid(1255);
const RELATION: Oid = Oid(1259);
const DEFAULT: Oid = Oid(2604);
const CONSTRAINT: Oid = Oid(2606);
const SCHEMA: Oid = Oid(2615);
const RULE: Oid = Oid(2618);

/// Goes with the other, and stands for itself.
const AUTO: u8 = b'a';
/// Is a part of the other.
const INTERNAL: u8 = b'i';
/// Keeps the other.
const NORMAL: u8 = b'n';

/// A part of an object, counted from one; zero for the whole.
pub(super) type Object = (Oid, Oid, i64);

fn row(rows: &mut RowSink, what: Object, on: Object, kind: u8) {
    let row = rows.row().oid(what.0).oid(what.1).int(what.2);
    row.oid(on.0).oid(on.1).int(on.2).char(kind).end();
}

/// The rows of users' relations, functions and types.
pub(super) fn of_relations(context: &ViewContext<'_>, rows: &mut RowSink) {
    let definitions = &context.catalog.definitions;
    let is_kept = |schema: Oid| schema == PUBLIC || schema.0 >= FIRST_USER_OID;
    for def in definitions.tables() {
        if is_kept(def.schema) {
            row(rows, (RELATION, def.oid, 0), (SCHEMA, def.schema, 0), NORMAL);
        }
        for (index, column) in def.visible() {
            if column.default.is_some() && column.identity.is_none() {
                row(rows, (DEFAULT, default_oid(def, index), 0), (RELATION, def.oid, index as i64 + 1), AUTO);
            }
        }
        of_indexes(def, rows);
        of_constraints(def, rows);
        for routine in
            definitions.routines().filter(|known| def.view.as_ref().is_some_and(|view| view.calls(known.oid)))
        {
            row(rows, (RULE, super::relations::rule_oid(def), 0), (PROCEDURE, routine.oid, 0), NORMAL);
        }
    }
    super::user_types::dependencies(context, rows, row);
    for routine in definitions.routines().filter(|routine| is_kept(routine.schema)) {
        row(rows, (PROCEDURE, routine.oid, 0), (SCHEMA, routine.schema, 0), NORMAL);
    }
}

fn of_indexes(def: &TableDef, rows: &mut RowSink) {
    for index in &def.indexes {
        match index.constraint {
            Some(constraint) => row(rows, (RELATION, index.oid, 0), (CONSTRAINT, constraint, 0), INTERNAL),
            None => {
                let expressions = index.expressions.iter().chain(&index.predicate);
                let mut columns: BTreeSet<u16> = index.columns.iter().filter_map(|part| part.column).collect();
                columns.extend(expressions.flat_map(|expression| &expression.columns).chain(&index.included));
                for column in columns {
                    row(rows, (RELATION, index.oid, 0), (RELATION, def.oid, i64::from(column) + 1), AUTO);
                }
            }
        }
    }
}

fn of_constraints(def: &TableDef, rows: &mut RowSink) {
    for constraint in &def.constraints {
        let what = (CONSTRAINT, constraint.oid, 0);
        let columns: Vec<usize> = match &constraint.kind {
            ConstraintKind::PrimaryKey(index) | ConstraintKind::Unique(index) => {
                let index = def.index(*index);
                index.map_or(Vec::new(), |index| {
                    index.columns.iter().filter_map(|part| part.column.map(usize::from)).collect()
                })
            }
            ConstraintKind::Check(text) => columns_named(def, text),
            ConstraintKind::ForeignKey(key) => {
                for column in &key.referenced {
                    row(rows, what, (RELATION, key.table, i64::from(*column) + 1), NORMAL);
                }
                row(rows, what, (RELATION, key.index, 0), NORMAL);
                key.columns.iter().map(|column| usize::from(*column)).collect()
            }
        };
        if columns.is_empty() {
            row(rows, what, (RELATION, def.oid, 0), AUTO);
        }
        for column in columns {
            row(rows, what, (RELATION, def.oid, column as i64 + 1), AUTO);
        }
    }
}
