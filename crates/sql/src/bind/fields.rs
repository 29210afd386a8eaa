//! Fields of the rows that a function gives: `(f(a)).x` in the select list, and `(q.r).x` where a subquery selects `f(a) AS r`.
//!
//! ```text
//!   SELECT (f(a)).x, f(a) AS r FROM t   ->   SELECT f.x, f.x AS "r\0x", f.y AS "r\0y" FROM t, LATERAL f(a)
//!   (q.r).x                             ->   q."r\0x"
//! ```
//!
//! A row is no value here. Who selects one in a subquery gets its fields, under names that nobody can write, and whoever names a field of it
//! finds it by such a name. A star that would show the row is refused.
//!
//! Several calls that give sets of single values are stepped through together, as PostgreSQL does: the rows of a join by their place, in which
//! the shorter sets are null at their end.
//!
//! Rules
//! 1. Calls of one select list are one call: PostgreSQL steps through the sets of equal calls together. Different ones are refused.

use super::Binder;
use super::expr::Clause;
use super::query::SET;
use super::scope::{Scope, ScopeColumn};
use super::tree::{Body, Expr, ExprKind, Query};
use crate::parser::ast::{self, ExprKind as Ast, Name, SelectItem};
use crate::types::{Oid, function};
use base::{Error, Result, sqlstate};

/// What stands between a row's name and its field's.
const OF: char = '\0';

/// The place of a row among those that a function gives.
pub(super) const PLACE: &str = "?place?";

/// The columns of what a call gives, if that are rows of several columns.
fn columns_of(call: &ast::Call<'_>) -> &'static [(&'static str, Oid)] {
    let rows = call.path.last().map_or(&[][..], |name| function::by_name(name.text));
    let mut columns = rows.iter().filter(|row| row.returns_set).map(|row| function::columns(row.op));
    columns.rfind(|columns| columns.len() > 1).unwrap_or(&[])
}

/// A call of such a function with the field that is wanted of it; the whole row, if none is.
fn row_of<'e, 'a>(expr: &'e ast::Expr<'a>) -> Option<(&'e ast::Expr<'a>, Option<Name<'a>>)> {
    let (call, field) = match expr.kind {
        Ast::Call(_) => (expr, None),
        Ast::Field(operand, field) => (operand, Some(field)),
        _ => return None,
    };
    match call.kind {
        Ast::Call(inner) if !columns_of(inner).is_empty() => Some((call, field)),
        _ => None,
    }
}

/// Are two calls of the same function with the same columns?
fn is_same(one: &ast::Expr<'_>, other: &ast::Expr<'_>) -> bool {
    if std::ptr::eq(one, other) {
        return true;
    }
    let (Ast::Call(one), Ast::Call(other)) = (&one.kind, &other.kind) else { return false };
    let same_path = |one: &[Name<'_>], other: &[Name<'_>]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.text == other.text)
    };
    let arguments = one.arguments.iter().zip(other.arguments);
    let same_argument =
        |(one, other): (&ast::Argument<'_>, &ast::Argument<'_>)| match (&one.value.kind, &other.value.kind) {
            (Ast::Column(one), Ast::Column(other)) => same_path(one, other),
            _ => false,
        };
    same_path(one.path, other.path)
        && one.arguments.len() == other.arguments.len()
        && arguments.into_iter().all(same_argument)
}

/// Has one of some columns a name that stands for a row's field?
pub(super) fn has_fields<'c>(mut names: impl Iterator<Item = &'c str>) -> bool {
    names.any(|name| name.contains(OF))
}

/// Is a function of the system's found in a schema by its name? The information schema has functions of its own.
pub(super) fn has_function(schema: &str, name: &str) -> bool {
    schema == "pg_catalog" || schema == "information_schema" && name.starts_with("_pg_")
}

/// Stands a parameter for a result? Drivers that know procedures by `{? = call f(?)}` give it the type `void`, and mean nothing by it.
pub(super) fn is_no_argument(argument: &Expr) -> bool {
    matches!(argument.kind, ExprKind::Parameter(_)) && argument.ty.oid == Oid::VOID
}

impl Binder<'_> {
    /// The items that are nothing but calls of functions that give sets of single values, with the functions' names; none if anything is
    /// grouped.
    pub(super) fn set_items<'a>(&self, select: &ast::Select<'a>) -> Vec<(usize, &'a str)> {
        if !select.group_by.is_empty() || select.having.is_some() {
            return Vec::new();
        }
        let of_item = |(at, item): (usize, &SelectItem<'a>)| {
            let SelectItem::Expr(ast::Expr { kind: Ast::Call(call), .. }, ..) = item else { return None };
            self.gives_values(call, !select.from.is_empty()).then(|| (at, call.path[call.path.len() - 1].text))
        };
        select.items.iter().enumerate().filter_map(of_item).collect()
    }

    /// Does a call give a set of single values? A row of several columns would be a value, which there is not.
    fn gives_values(&self, call: &ast::Call<'_>, has_from: bool) -> bool {
        let [before @ .., last] = call.path else { return false };
        let own = function::by_name(last.text);
        if !own.is_empty() {
            return own.iter().any(|row| row.returns_set && function::columns(row.op).len() < 2);
        }
        let named = self.catalog.routines_in_path(before.last().map(|name| name.text), last.text);
        // Beside a table one that is volatile would be called for each of its rows: in FROM it is so only if it has to be.
        let is_beside = call.arguments.iter().any(|argument| matches!(argument.value.kind, Ast::Column(_)));
        !named.is_empty()
            && named.iter().all(|(_, routine)| {
                let columns = routine.output_parameters().count();
                routine.set
                    && routine.rows_of.is_none()
                    && (columns == 1 || columns == 0 && routine.result != Oid::RECORD)
                    && (!has_from || is_beside || routine.volatility != b'v')
            })
    }

    /// A select list with such calls; none if it has none. `is_read` says that the rows are another query's to read.
    pub(super) fn select_fields(
        &mut self,
        query: &ast::Query<'_>,
        select: &ast::Select<'_>,
        parent: Option<&Scope<'_>>,
        resolve: bool,
        is_read: bool,
    ) -> Result<Option<Query>> {
        if !select.group_by.is_empty() || select.having.is_some() {
            return Ok(None);
        }
        let calls: Vec<_> = select
            .items
            .iter()
            .filter_map(|item| match item {
                SelectItem::Expr(expr, ..) => row_of(expr),
                _ => None,
            })
            .collect();
        let has_star = select.items.iter().any(|item| !matches!(item, SelectItem::Expr(..)));
        let whole = calls.iter().any(|(_, field)| field.is_none());
        let Some(&(call, _)) = calls.first() else { return Ok(None) };
        if has_star || whole && !is_read || calls.iter().any(|(other, _)| !is_same(call, other)) {
            return Ok(None);
        }
        let Ast::Call(inner) = call.kind else { return Ok(None) };
        let (columns, function) = (columns_of(inner), inner.path.last().map_or("", |name| name.text));
        // For each item what stands in its place: paths with their labels.
        let name = |text| Name { text, at: call.at };
        let mut places: Vec<(usize, [Name<'_>; 2], &str)> = Vec::new();
        for (index, item) in select.items.iter().enumerate() {
            let SelectItem::Expr(expr, label, _) = item else { continue };
            let label = label.map(|label| label.text);
            match row_of(expr) {
                Some((_, Some(field))) => {
                    if !columns.iter().any(|column| column.0 == field.text) {
                        let message = format!("column \"{}\" not found in data type record", field.text);
                        return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message).at(self.position(field.at)));
                    }
                    places.push((index, [name(SET), field], label.unwrap_or(field.text)));
                }
                Some((_, None)) => {
                    for (column, _) in columns {
                        let shown = format!("{}{OF}{column}", label.unwrap_or(function));
                        places.push((index, [name(SET), name(column)], self.bump.alloc_str(&shown)));
                    }
                }
                None => {}
            }
        }
        let mut items = Vec::with_capacity(select.items.len() + columns.len());
        for (index, item) in select.items.iter().enumerate() {
            let made = places.iter().filter(|place| place.0 == index);
            let before = items.len();
            if let SelectItem::Expr(expr, _, end) = item {
                items.extend(made.map(|(_, path, label)| {
                    let column = ast::Expr { kind: Ast::Column(path), ..*expr };
                    SelectItem::Expr(column, Some(name(label)), *end)
                }));
            }
            if items.len() == before {
                items.push(*item);
            }
        }
        let mut from = select.from.to_vec();
        let alias = Some(ast::Alias { name: name(SET), columns: &[] });
        from.push(ast::TableRef::Function { call: *call, ordinality: false, alias });
        self.select(query, &ast::Select { items: &items, from: &from, ..*select }, parent, resolve).map(Some)
    }

    /// A select list with several sets; none if it has not.
    pub(super) fn select_sets(
        &mut self,
        query: &ast::Query<'_>,
        select: &ast::Select<'_>,
        parent: Option<&Scope<'_>>,
        resolve: bool,
    ) -> Result<Option<Query>> {
        let sets = self.set_items(select);
        let [(first, _), _, ..] = *sets else { return Ok(None) };
        let SelectItem::Expr(call, ..) = select.items[first] else { return Ok(None) };
        let name = |text| Name { text, at: call.at };
        let aliases: Vec<&str> = (0..sets.len()).map(|at| &*self.bump.alloc_str(&format!("{SET}{at}"))).collect();
        let paths: Vec<[Name<'_>; 2]> = aliases.iter().map(|alias| [name(alias), name(SET)]).collect();
        let (columns, place) = ([name(SET), name(PLACE)], [name(PLACE)]);
        let mut items = select.items.to_vec();
        let mut joined: Option<ast::TableRef<'_>> = None;
        for (at, (index, function)) in sets.iter().enumerate() {
            let SelectItem::Expr(call, label, end) = select.items[*index] else { continue };
            let column = ast::Expr { kind: Ast::Column(&paths[at]), ..call };
            items[*index] = SelectItem::Expr(column, Some(label.unwrap_or(name(function))), end);
            let alias = Some(ast::Alias { name: name(aliases[at]), columns: &columns });
            let set = ast::TableRef::Function { call, ordinality: true, alias };
            joined = Some(match joined {
                None => set,
                Some(before) => ast::TableRef::Join(self.bump.alloc(ast::Join {
                    kind: ast::JoinKind::Full,
                    left: before,
                    right: set,
                    condition: ast::JoinCondition::Using(&place),
                    alias: None,
                    at: call.at,
                })),
            });
        }
        let mut from = select.from.to_vec();
        from.extend(joined);
        let bound = self.select(query, &ast::Select { items: &items, from: &from, ..*select }, parent, resolve)?;
        // Windows see the rows before the functions have made more of them.
        if matches!(&bound.body, Body::Select(select) if !select.windows.is_empty()) {
            return Err(self.unsupported("a set-returning function beside window functions", call.at));
        }
        Ok(Some(bound))
    }

    /// A field of a row: of one that a subquery has selected. Errors: `0A000` for those that are values.
    pub(super) fn field_of(
        &mut self,
        operand: &ast::Expr<'_>,
        field: Name<'_>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        let rows = matches!(operand.kind, Ast::Row(_) | Ast::WholeRow(_))
            || matches!(operand.kind, Ast::Column(path) if scope.item(path).is_some());
        if rows && let Some(fields) = self.fields_of(operand, scope, clause)? {
            // The fields of a row that is spelled out have no names.
            let is_named = !matches!(operand.kind, Ast::Row(_));
            return match fields.into_iter().find(|(name, ..)| is_named && name == field.text) {
                Some((_, value, place)) => self.resolve_unknown(value, place),
                None => {
                    let message = format!("could not identify column \"{}\" in record data type", field.text);
                    Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message).at(self.position(at)))
                }
            };
        }
        let Ast::Column([before @ .., last]) = operand.kind else {
            return Err(self.unsupported("a field of a composite value", at));
        };
        let text = self.bump.alloc_str(&format!("{}{OF}{}", last.text, field.text));
        let mut path = before.to_vec();
        path.push(Name { text, at: last.at });
        self.column(&path, scope, at).map_err(|_| self.unsupported("a field of a composite value", at))
    }

    /// Refuses a star that would show a row.
    pub(super) fn check_star(&self, columns: &[ScopeColumn], at: u32) -> Result<()> {
        match has_fields(columns.iter().map(|column| column.name.as_str())) {
            true => Err(self.unsupported("a row as a value", at)),
            false => Ok(()),
        }
    }
}
