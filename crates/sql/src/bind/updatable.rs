//! Views that rows are written through: statements that change a view change the table below it.
//!
//! ```text
//!   UPDATE v SET x = …  ->  the table that v's FROM names, v's WHERE beside the statement's,
//!                           and v's columns stand for the expressions that v selects
//! ```
//!
//! Definition: a view is *updatable* if it is one `SELECT` from one table or updatable view, without `WITH`, `DISTINCT`, `GROUP BY`,
//! `HAVING`, `LIMIT`, aggregates, windows and functions that return sets. A column of it is, if it is a column of the table.
//!
//! Rules
//! 1. What the view hides is neither changed nor locked: its condition is one of the statement's.
//! 2. `WITH CHECK OPTION` is a condition on the new row, tested when all values are known; that of a view counts for views above it, and
//!    a cascaded one demands the conditions of all views below.
//! 3. Values that are not given are the table's defaults.

use super::expr::Clause;
use super::query::conjuncts;
use super::scope::{Item, Namespace, Scope, ScopeColumn};
use super::tree::{Expr, ExprKind, RelationId};
use super::{Binder, Setting};
use crate::catalog::definition::TableDef;
use crate::catalog::trigger::{DELETE, INSERT, INSTEAD, UPDATE};
use crate::catalog::view::ViewDef;
use crate::parser::ast::{self, CheckOption, Distinct, Name, Query, SelectItem, TableRef};
use crate::types::Arena;
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use std::sync::Arc;

/// What a statement changes.
pub(super) struct Changed {
    /// The table's relation.
    pub(super) relation: RelationId,
    /// The table.
    pub(super) table: Arc<TableDef>,
    /// The view that was named, if it was one.
    pub(super) view: Option<Through>,
    /// It is a view whose triggers do what is done.
    pub(super) instead: bool,
}

/// A view that rows are written through.
pub(super) struct Through {
    /// Its name, or the alias that it got.
    pub(super) name: String,
    /// Its own name.
    own_name: String,
    /// Its columns, as expressions over the table's relation.
    columns: Vec<ScopeColumn>,
    /// Which rows of the table it shows.
    pub(super) filter: Vec<Expr>,
    /// What new rows must fulfil, with the names of the views that demand it.
    checks: Vec<(String, Vec<Expr>)>,
}

impl Changed {
    /// The table's column that a name means.
    pub(super) fn column(&self, name: &str, verb: &str) -> Result<Option<usize>> {
        let Some(view) = &self.view else { return Ok(self.table.column(name)) };
        let Some(column) = view.columns.iter().find(|column| column.name == name) else { return Ok(None) };
        match column.expr.kind {
            ExprKind::Column(found)
                if found.relation == self.relation && usize::from(found.column) < self.table.columns.len() =>
            {
                Ok(Some(found.column.into()))
            }
            _ => {
                let message = format!("cannot {verb} column \"{name}\" of view \"{}\"", view.own_name);
                Err(Error::unsupported(message)
                    .detail("View columns that are not columns of their base relation are not updatable."))
            }
        }
    }

    /// `RETURNING` and `excluded` read new rows: columns with subqueries cannot be asked for there.
    pub(super) fn check_readable(&self) -> Result<()> {
        let has = |column: &ScopeColumn| column.expr.any(&mut |part| matches!(part.kind, ExprKind::Subplan(_)));
        match &self.view {
            Some(view) if view.columns.iter().any(has) => {
                Err(Error::unsupported("new rows of a view whose columns have subqueries cannot be read")
                    .hint("Leave RETURNING and ON CONFLICT out, or write the table."))
            }
            _ => Ok(()),
        }
    }

    /// The name of what was named, as messages about its columns show it.
    pub(super) fn name(&self) -> &str {
        self.view.as_ref().map_or(&self.table.name, |view| &view.own_name)
    }

    /// The columns that values are given for, where none are named.
    pub(super) fn all_columns(&self, given: usize) -> Result<Vec<usize>> {
        let Some(view) = &self.view else {
            return Ok(self.table.visible().map(|(index, _)| index).collect());
        };
        let mut columns = Vec::with_capacity(view.columns.len());
        for column in view.columns.iter().take(given) {
            columns.extend(self.column(&column.name, "insert into")?);
        }
        Ok(columns)
    }
}

/// Which columns of a view a statement can change. Errors: `55000` if it cannot change the view.
pub fn columns(path: ast::Path<'_>, setting: &Setting<'_>, arena: &Arena, bump: &Bump) -> Result<Option<Vec<bool>>> {
    let mut binder = Binder::new(setting, arena, bump);
    let Some(changed) = binder.through_view(path, "update")? else { return Ok(None) };
    let Some(view) = &changed.view else { return Ok(None) };
    let is_columns = |column: &ScopeColumn| changed.column(&column.name, "update").is_ok_and(|found| found.is_some());
    Ok(Some(view.columns.iter().map(is_columns).collect()))
}

impl Binder<'_> {
    /// The view of that path with what is below it; none if it is no user's view.
    pub(super) fn through_view(&mut self, path: ast::Path<'_>, verb: &str) -> Result<Option<Changed>> {
        let Ok(table) = self.catalog.table(path) else { return Ok(None) };
        let Some(view) = &table.view else { return Ok(None) };
        if table.has_trigger(INSTEAD | event_of(verb)) {
            return Err(Error::unsupported("a view over a view with INSTEAD OF triggers cannot be changed")
                .hint("Change the view below, or make INSTEAD OF triggers for this one."));
        }
        self.note_table(&table, path);
        let access = self.new_access(table.oid);
        let changed = self.in_view(&table, view, |binder, query| binder.below_view(&table, view, query, verb))?;
        self.access_through(changed.relation, access);
        Ok(Some(changed))
    }

    /// A view of that path whose triggers do what a statement wants of it; none if there are none.
    pub(super) fn instead_of(&mut self, path: ast::Path<'_>, verb: &str) -> Result<Option<Changed>> {
        let Ok(table) = self.catalog.table(path) else { return Ok(None) };
        let event = event_of(verb);
        if table.view.is_none() || !table.has_trigger(INSTEAD | event) {
            return Ok(None);
        }
        // Rows that are inserted are not read.
        let read = if event == INSERT { None } else { self.view_relation(path)? };
        let relation = match read {
            Some(relation) => relation,
            None => self.table_relation(path)?,
        };
        Ok(Some(Changed { relation, table, view: None, instead: true }))
    }

    fn below_view(&mut self, table: &TableDef, view: &ViewDef, query: &Query<'_>, verb: &str) -> Result<Changed> {
        let refuse = |why: &str| not_updatable(table, verb, why);
        let select = match query.body {
            _ if !query.with.is_empty() => {
                return Err(refuse("Views containing WITH are not automatically updatable."));
            }
            ast::Body::Select(select) => select,
            ast::Body::Operation { .. } => {
                return Err(refuse("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."));
            }
            ast::Body::Values(_) | ast::Body::Nested(_) => return Err(refuse(ONE_TABLE)),
        };
        if !matches!(select.distinct, Distinct::No) {
            return Err(refuse("Views containing DISTINCT are not automatically updatable."));
        }
        if !select.group_by.is_empty() {
            return Err(refuse("Views containing GROUP BY are not automatically updatable."));
        }
        if select.having.is_some() {
            return Err(refuse("Views containing HAVING are not automatically updatable."));
        }
        if query.limit.is_some() || query.offset.is_some() {
            return Err(refuse("Views containing LIMIT or OFFSET are not automatically updatable."));
        }
        let [TableRef::Table { path, alias, .. }] = select.from else { return Err(refuse(ONE_TABLE)) };
        let mut below = match self.through_view(path, verb)? {
            Some(below) => below,
            None => {
                let found = self.catalog.table(path)?;
                if !matches!(found.rows, crate::catalog::definition::Rows::Stored(_)) || found.sequence.is_some() {
                    return Err(refuse(ONE_TABLE));
                }
                let relation = self.table_relation(path)?;
                Changed { relation, table: found, view: None, instead: false }
            }
        };
        let mut namespace = self.columns_of_changed(&below, below.relation, None);
        if let Some(alias) = alias {
            let names = namespace.columns.iter_mut().zip(alias.columns);
            names.for_each(|(column, name)| name.text.clone_into(&mut column.name));
            let columns = namespace.columns.clone();
            for item in &mut namespace.items {
                item.columns.clone_from(&columns);
                alias.name.text.clone_into(&mut item.name);
            }
        }
        let scope = Scope { namespace: &namespace, parent: None };
        let mut own = Vec::new();
        if let Some(condition) = select.filter {
            let bound = self.expr(condition, &scope, Clause::Where)?;
            conjuncts(self.condition(bound, "WHERE", condition.at)?, &mut own);
        }
        for item in select.items {
            if let SelectItem::Expr(expr, ..) = item
                && let Some(why) = self.spoils(expr)
            {
                return Err(refuse(why));
            }
        }
        // What may not stand in a view that is written through may not stand in RETURNING either.
        let targets = self.targets(select.items, &scope, Clause::Returning).map_err(|error| {
            match error.sqlstate() == sqlstate::GROUPING_ERROR || error.sqlstate() == sqlstate::WINDOWING_ERROR {
                true => refuse("Views that return aggregate functions are not automatically updatable."),
                false => error,
            }
        })?;
        let mut columns = Vec::with_capacity(targets.len());
        for (target, column) in targets.into_iter().zip(&table.columns) {
            let expr = self.resolve_unknown(target.expr, 0)?;
            columns.push(ScopeColumn { name: column.name.clone(), expr });
        }
        let inner = below.view.take();
        let (mut filter, mut checks) = match inner {
            Some(inner) => (inner.filter, inner.checks),
            None => (Vec::new(), Vec::new()),
        };
        match view.check {
            Some(CheckOption::Local) if !own.is_empty() => checks.push((table.name.clone(), own.clone())),
            Some(CheckOption::Cascaded) => {
                let all: Vec<Expr> = filter.iter().chain(&own).cloned().collect();
                if !all.is_empty() {
                    checks.push((table.name.clone(), all));
                }
            }
            _ => {}
        }
        filter.extend(own);
        let (name, own_name) = (table.name.clone(), table.name.clone());
        below.view = Some(Through { name, own_name, columns, filter, checks });
        Ok(below)
    }

    /// Why an item of the select list keeps a view from being written through.
    fn spoils(&self, expr: &ast::Expr<'_>) -> Option<&'static str> {
        let ast::ExprKind::Call(call) = expr.kind else { return None };
        if call.over.is_some() {
            return Some("Views that return window functions are not automatically updatable.");
        }
        let Name { text, .. } = call.path.last()?;
        if crate::types::function::by_name(text).iter().any(|row| row.returns_set) {
            return Some("Views that return set-returning functions are not automatically updatable.");
        }
        if crate::types::aggregate::by_name(text).is_empty() {
            return None;
        }
        Some("Views that return aggregate functions are not automatically updatable.")
    }

    /// The names of what is changed, for a row of that relation; under another name than its own, if one is given.
    pub(super) fn columns_of_changed(&self, changed: &Changed, row: RelationId, name: Option<&str>) -> Namespace {
        let Some(view) = &changed.view else { return self.named(row, changed.relation, name) };
        let columns: Vec<ScopeColumn> = view
            .columns
            .iter()
            .map(|column| ScopeColumn { name: column.name.clone(), expr: moved(&column.expr, changed.relation, row) })
            .collect();
        let item = Item {
            name: name.unwrap_or(&view.name).to_owned(),
            schema: None,
            columns: columns.clone(),
            relation: Some(row),
            is_table: true,
            nullable: false,
        };
        Namespace { columns, items: vec![item] }
    }

    /// What new rows must fulfil because of views; `new` is their relation.
    pub(super) fn view_checks(&self, changed: &Changed, new: RelationId) -> Result<Vec<(String, Expr)>> {
        let Some(view) = &changed.view else { return Ok(Vec::new()) };
        let mut checks = Vec::new();
        for (name, conditions) in &view.checks {
            for condition in conditions {
                if condition.any(&mut |part| matches!(part.kind, ExprKind::Subplan(_))) {
                    return Err(Error::unsupported("a view with a subquery in its condition cannot check new rows")
                        .hint("Leave WITH CHECK OPTION out, or write the table."));
                }
            }
            let conditions: Vec<Expr> =
                conditions.iter().map(|condition| moved(condition, changed.relation, new)).collect();
            let ty = conditions[0].ty;
            // A view shows a row only if its condition is true: null is not enough.
            let all = match conditions.len() {
                1 => conditions.into_iter().next(),
                _ => Some(Expr { kind: ExprKind::And(conditions), ty }),
            };
            let Some(all) = all else { continue };
            checks.push((name.clone(), Expr { kind: ExprKind::IsTruth(Box::new(all), true, false), ty }));
        }
        Ok(checks)
    }
}

const ONE_TABLE: &str = "Views that do not select from a single table or view are not automatically updatable.";

/// What a statement with that verb does, as triggers see it.
fn event_of(verb: &str) -> u16 {
    match verb {
        "insert into" => INSERT,
        "update" => UPDATE,
        _ => DELETE,
    }
}

/// The expression for another row of the table.
fn moved(expr: &Expr, from: RelationId, to: RelationId) -> Expr {
    let mut expr = expr.clone();
    move_in(&mut expr, from, to);
    expr
}

fn move_in(expr: &mut Expr, from: RelationId, to: RelationId) {
    if let ExprKind::Column(column) = &mut expr.kind
        && column.relation == from
    {
        column.relation = to;
    }
    expr.children_mut(&mut |child| move_in(child, from, to));
}

#[cold]
fn not_updatable(table: &TableDef, verb: &str, why: &str) -> Error {
    let message = format!("cannot {verb} view \"{}\"", table.name);
    let (event, word) = match verb {
        "insert into" => ("INSERT", "inserting into"),
        "update" => ("UPDATE", "updating"),
        _ => ("DELETE", "deleting from"),
    };
    Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message).detail(why.to_owned()).hint(format!(
        "To enable {word} the view, provide an INSTEAD OF {event} trigger or an unconditional ON {event} DO INSTEAD rule."
    ))
}
