//! Types of users in `pg_type`, `pg_enum` and `pg_depend`.

use super::dependencies::Object;
use super::internal::OfType;
use super::objects::TypeShown;
use super::relations::{default_oid, rule_oid};
use crate::catalog::definition::ConstraintKind;
use crate::catalog::provider::{RowSink, ViewContext};
use crate::catalog::schema::{FIRST_USER_OID, PUBLIC};
use crate::catalog::user_type::UserTypeDef;
use crate::catalog::view::Piece;
use crate::types::{Oid, table, user};
use base::Result;
use std::collections::BTreeMap;

/// `enum_in` and its relatives.
const ENUM_FUNCTIONS: OfType = [Oid(3506), Oid(3507), Oid(3532), Oid(3533), Oid::NONE, Oid::NONE, Oid::NONE, Oid::NONE];

/// `domain_in` and `domain_recv`.
const DOMAIN_FUNCTIONS: (Oid, Oid) = (Oid(2597), Oid(2598));

/// A type and its array; a domain.
pub(super) fn shown<'t>(ty: &'t UserTypeDef, functions: &BTreeMap<Oid, OfType>) -> Vec<TypeShown<'t>> {
    if let Some(domain) = &ty.domain {
        let (oid, name, place) = (ty.oid, ty.name.clone(), (ty.schema, ty.owner));
        let mut functions = functions.get(&domain.base.oid).copied().unwrap_or_default();
        (functions[0], functions[2]) = DOMAIN_FUNCTIONS;
        // A domain has no modifiers, and no elements of its own.
        (functions[4], functions[5], functions[7]) = (Oid::NONE, Oid::NONE, Oid::NONE);
        let shown = |row| TypeShown {
            row,
            oid,
            name,
            place,
            functions,
            element: Oid::NONE,
            array: Oid::NONE,
            domain: Some(domain),
        };
        return table::by_oid(domain.base.oid).map(shown).into_iter().collect();
    }
    let (array, place) = (user::array_of(ty.oid).unwrap_or(Oid::NONE), (ty.schema, ty.owner));
    let of_arrays = functions.get(&Oid::INT4_ARRAY).copied().unwrap_or_default();
    let made = [
        (ty.oid, ty.name.clone(), ENUM_FUNCTIONS, Oid::NONE, array),
        (array, ty.array_name(), of_arrays, ty.oid, Oid::NONE),
    ];
    let one = |(oid, name, functions, element, array)| {
        table::by_oid(oid).map(|row| TypeShown { row, oid, name, place, functions, element, array, domain: None })
    };
    made.into_iter().filter_map(one).collect()
}

/// `pg_enum`
pub(super) fn labels(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for ty in context.catalog.definitions.user_types() {
        for label in &ty.labels {
            let order = user::order_of(label.position);
            rows.row().oid(label.oid).oid(ty.oid).float(order).text(&label.name).end();
        }
    }
    Ok(())
}

/// `pg_depend` of types: on their schemas, and of what is made of them.
pub(super) fn dependencies(context: &ViewContext<'_>, rows: &mut RowSink, row: fn(&mut RowSink, Object, Object, u8)) {
    const TYPE: Oid = Oid(1247);
    const ROUTINE: Oid = Oid(1255);
    const RELATION: Oid = Oid(1259);
    const DEFAULT: Oid = Oid(2604);
    const CONSTRAINT: Oid = Oid(2606);
    const SCHEMA: Oid = Oid(2615);
    const RULE: Oid = Oid(2618);
    let definitions = &context.catalog.definitions;
    for ty in definitions.user_types() {
        let (on, mark) = ((TYPE, ty.oid, 0), user::mark(ty.oid));
        if ty.schema == PUBLIC || ty.schema.0 >= FIRST_USER_OID {
            row(rows, on, (SCHEMA, ty.schema, 0), b'n');
        }
        if let Some(array) = user::array_of(ty.oid) {
            row(rows, (TYPE, array, 0), on, b'i');
        }
        // What is made of an array depends on the array.
        let of = |oid: Oid| user::base_of(oid).filter(|base| *base == ty.oid).map(|_| (TYPE, oid, 0));
        for check in ty.domain.iter().flat_map(|domain| &domain.checks) {
            row(rows, (CONSTRAINT, check.oid, 0), on, b'a');
        }
        for table in definitions.tables() {
            for (index, column) in table.visible() {
                if let Some(on) = of(column.domain.unwrap_or(column.ty.oid)) {
                    row(rows, (RELATION, table.oid, index as i64 + 1), on, b'n');
                }
                if column.default.as_ref().is_some_and(|text| text.contains(&mark)) {
                    row(rows, (DEFAULT, default_oid(table, index), 0), on, b'n');
                }
            }
            for constraint in &table.constraints {
                if matches!(&constraint.kind, ConstraintKind::Check(text) if text.contains(&mark)) {
                    row(rows, (CONSTRAINT, constraint.oid, 0), on, b'n');
                }
            }
            for index in &table.indexes {
                let mut expressions = index.expressions.iter().chain(&index.predicate);
                if expressions.any(|expression| expression.text.contains(&mark)) {
                    row(rows, (RELATION, index.oid, 0), on, b'n');
                }
            }
            let mut pieces = table.view.iter().flat_map(|view| &view.pieces);
            if pieces.any(|piece| matches!(piece, Piece::Text(text) if text.contains(&mark))) {
                row(rows, (RULE, rule_oid(table), 0), on, b'n');
            }
        }
        for routine in definitions.routines() {
            let types = routine.parameters.iter().map(|parameter| parameter.ty.oid).chain([routine.result]);
            if let Some(on) = types.into_iter().find_map(of) {
                row(rows, (ROUTINE, routine.oid, 0), on, b'n');
            }
        }
    }
}
