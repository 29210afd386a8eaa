//! Grouping: what may stand above `GROUP BY`, and how it refers to the groups.
//!
//! While a `SELECT` is bound, aggregates are collected and stand in expressions as columns of the grouping's relation,
//! numbered from [`AGGREGATES`]. When the keys are known, expressions are rewritten: what equals a key becomes the key's
//! column, aggregates come after the keys, and any other column of `FROM` is `42803`, unless its table's primary key is
//! among the keys, which makes it one more key.
//!
//! An aggregate belongs to the innermost query whose columns are in it, and to its own if there is none: in
//! `SELECT (SELECT count(t.a)) FROM t` it counts the rows of `t`. While a subquery is bound, the queries around it wait as
//! [`Level`]s to be given such aggregates.
//!
//! Rules
//! 1. Rewriting enters subplans: a subquery above a grouping sees the groups, not the rows.

use super::Binder;
use super::expr::Clause;
use super::scope::Scope;
use super::tree::{AggregateCall, Body, Column, Expr, ExprKind, From, Query, RelationId, Source, SubplanKind, Window};
use super::window::Named;
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;

/// The number of the first aggregate until the keys are known.
pub(super) const AGGREGATES: u16 = 0x4000;
/// The number of the first `GROUPING (…)` until then.
pub(super) const TESTS: u16 = 0x8000;

/// What is known of a grouping while its `SELECT` is bound.
#[derive(Debug)]
pub(super) struct Collected {
    /// The relation of the results.
    pub(super) relation: RelationId,
    /// The aggregates so far.
    pub(super) aggregates: Vec<AggregateCall>,
    /// The arguments of each `GROUPING (…)` so far.
    pub(super) tests: Vec<Vec<Expr>>,
    /// The `WINDOW` clause.
    pub(super) named: Vec<Named>,
    /// The windows so far.
    pub(super) windows: Vec<Window>,
}

/// A query in whose expressions the one that is being bound stands.
#[derive(Debug)]
pub(super) struct Level {
    /// The clause in which it stands.
    pub(super) clause: Clause,
    /// The relations whose columns can be named there.
    pub(super) relations: BTreeSet<RelationId>,
    /// The grouping so far, if the clause is above it.
    pub(super) grouping: Option<Collected>,
}

/// The rewriting of what stands above a grouping.
pub(super) struct Rewriting {
    /// The relation of the results.
    pub(super) relation: RelationId,
    /// The keys.
    pub(super) keys: Vec<Expr>,
    /// The keys of each grouping set.
    pub(super) sets: Vec<Vec<u16>>,
    /// The relations below.
    pub(super) below: BTreeSet<RelationId>,
    /// In how many subqueries the expression stands.
    pub(super) inside: u32,
}

/// What is done with each expression of a query.
pub(super) type Visit<'v> = dyn FnMut(&mut Binder<'_>, &mut Expr) -> Result<()> + 'v;

impl Binder<'_> {
    /// Rewrites an expression to refer to groups.
    pub(super) fn rewrite(&mut self, expr: &mut Expr, rewriting: &mut Rewriting) -> Result<()> {
        if let Some(key) = rewriting.keys.iter().position(|key| self.is_key(key, expr)) {
            *expr = Expr::column(rewriting.relation, key as u16, expr.ty);
            return Ok(());
        }
        match &mut expr.kind {
            ExprKind::Column(column) if rewriting.below.contains(&column.relation) => {
                let column = *column;
                if self.is_determined(column, rewriting) {
                    let number = rewriting.keys.len() as u16;
                    rewriting.sets.iter_mut().for_each(|set| set.push(number));
                    rewriting.keys.push(expr.clone());
                    *expr = Expr::column(rewriting.relation, rewriting.keys.len() as u16 - 1, expr.ty);
                    return Ok(());
                }
                // Constants of equal value may be a slot here and none there.
                if !self.slots.is_empty() {
                    return Err(self.ask_for_literals());
                }
                Err(self.ungrouped(column, rewriting.inside > 0))
            }
            ExprKind::Subplan(number) => {
                let number = *number;
                self.in_test(number, &mut |binder, expr| binder.rewrite(expr, rewriting))?;
                rewriting.inside += 1;
                let done = self.in_subquery(number, &mut |binder, expr| binder.rewrite(expr, rewriting));
                rewriting.inside -= 1;
                done
            }
            _ => {
                let mut done = Ok(());
                expr.children_mut(&mut |child| {
                    if done.is_ok() {
                        done = self.rewrite(child, rewriting);
                    }
                });
                done
            }
        }
    }

    /// Whether an expression is a key, perhaps under the name of another type: a cast that leaves a value as it is leaves no trace but that.
    fn is_key(&self, key: &Expr, expr: &Expr) -> bool {
        if self.bound.same(key, expr) {
            return true;
        }
        let alike = std::mem::discriminant(&key.kind) == std::mem::discriminant(&expr.kind);
        alike && key.ty != expr.ty && self.bound.same(key, &Expr { ty: key.ty, kind: expr.kind.clone() })
    }

    /// The query around, by its number in `around`, to which an aggregate belongs; none if it is the one that it stands in.
    pub(super) fn level_of(&self, call: &AggregateCall, scope: &Scope<'_>, at: u32) -> Result<Option<usize>> {
        let mut columns = BTreeSet::new();
        let order = call.order_by.iter().map(|(expr, ..)| expr);
        for expr in call.arguments.iter().chain(order).chain(&call.filter) {
            self.bound.columns_in(expr, &mut columns);
        }
        let own = scope.namespace.relations();
        let grouping = self.grouping.as_ref().map(|grouping| grouping.relation);
        let is_own = |column: &Column| own.contains(&column.relation) || Some(column.relation) == grouping;
        if columns.iter().any(is_own) {
            return Ok(None);
        }
        // Columns that are nowhere are those of subqueries inside the aggregate.
        let mut found = None;
        let mut beside = false;
        for column in &columns {
            let place = self.around.iter().rposition(|level| {
                let grouping = level.grouping.as_ref().map(|grouping| grouping.relation);
                level.relations.contains(&column.relation) || Some(column.relation) == grouping
            });
            found = found.max(place);
            beside |= place.is_none() && scope.sees(column.relation);
        }
        if beside {
            let message = "aggregate functions are not allowed in FROM clause of their own query level";
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
        }
        let inner = found.and_then(|level| self.around[level].grouping.as_ref());
        if let Some(inner) = inner.and_then(|inner| columns.iter().find(|column| column.relation == inner.relation)) {
            let at = self.noted.get(inner).copied().unwrap_or(at);
            let message = "aggregate function calls cannot be nested";
            return Err(Error::statement(sqlstate::GROUPING_ERROR, message).at(self.position(at)));
        }
        Ok(found)
    }

    /// Calls `visit` for the expressions of a subplan's query.
    pub(super) fn in_subquery(&mut self, number: u16, visit: &mut Visit<'_>) -> Result<()> {
        let number = usize::from(number);
        let mut query = std::mem::replace(&mut self.bound.subplans[number].query, Box::new(Query::empty()));
        let done = self.in_query(&mut query, visit);
        self.bound.subplans[number].query = query;
        done
    }

    /// Calls `visit` for the expressions of a subplan's test, which stand outside its query.
    fn in_test(&mut self, number: u16, visit: &mut Visit<'_>) -> Result<()> {
        let number = usize::from(number);
        let mut kind = std::mem::replace(&mut self.bound.subplans[number].kind, SubplanKind::Exists);
        let mut done = Ok(());
        if let SubplanKind::Quantified { test, equal, .. } = &mut kind {
            let exprs = equal.iter_mut().flat_map(|(left, right, _)| [left, right]);
            for expr in std::iter::once(test).chain(exprs) {
                done = done.and_then(|()| visit(self, expr));
            }
        }
        self.bound.subplans[number].kind = kind;
        done
    }

    fn in_query(&mut self, query: &mut Query, visit: &mut Visit<'_>) -> Result<()> {
        for target in &mut query.targets {
            visit(self, &mut target.expr)?;
        }
        for expr in query.limit.iter_mut().chain(&mut query.offset) {
            visit(self, expr)?;
        }
        match &mut query.body {
            Body::Select(select) => {
                for expr in &mut select.filter {
                    visit(self, expr)?;
                }
                for from in &mut select.from {
                    self.in_from(from, visit)?;
                }
                if let Some(grouping) = &mut select.grouping {
                    for expr in grouping.keys.iter_mut().chain(&mut grouping.having) {
                        visit(self, expr)?;
                    }
                    for call in &mut grouping.aggregates {
                        let order = call.order_by.iter_mut().map(|(expr, ..)| expr);
                        for expr in call.arguments.iter_mut().chain(order).chain(&mut call.filter) {
                            visit(self, expr)?;
                        }
                    }
                }
                let mut done = Ok(());
                for window in &mut select.windows {
                    window.exprs_mut(&mut |expr| {
                        if done.is_ok() {
                            done = visit(self, expr);
                        }
                    });
                }
                done?;
            }
            Body::Values(rows) => {
                for expr in rows.iter_mut().flatten() {
                    visit(self, expr)?;
                }
            }
            Body::Operation { operands, .. } => {
                for operand in operands {
                    self.in_query(operand, visit)?;
                }
            }
        }
        Ok(())
    }

    /// The same in a common table that reads columns around it, each time that it is referred to.
    fn in_common(&mut self, number: u16, visit: &mut Visit<'_>) -> Result<()> {
        let common = &mut self.bound.commons[usize::from(number)];
        let Some(mut query) = common.query.take_if(|_| common.dependent) else { return Ok(()) };
        let done = self.in_query(&mut query, visit);
        self.bound.commons[usize::from(number)].query = Some(query);
        done
    }

    fn in_from(&mut self, from: &mut From, visit: &mut Visit<'_>) -> Result<()> {
        match from {
            From::Relation(relation) => {
                let at = *relation as usize;
                let mut source = std::mem::replace(&mut self.bound.relations[at].source, Source::Computed);
                let done = match &mut source {
                    Source::Query(query) => self.in_query(query, visit),
                    Source::Function { call, .. } => visit(self, call),
                    Source::Common(number) => self.in_common(*number, visit),
                    _ => Ok(()),
                };
                self.bound.relations[at].source = source;
                done
            }
            From::Join(join) => {
                for expr in &mut join.condition {
                    visit(self, expr)?;
                }
                self.in_from(&mut join.left, visit)?;
                self.in_from(&mut join.right, visit)
            }
        }
    }

    /// Is the column's value settled by the keys, because its table's primary key is among them?
    fn is_determined(&self, column: Column, rewriting: &Rewriting) -> bool {
        let Some(Source::Table(table)) = self.bound.relations.get(column.relation as usize).map(|found| &found.source)
        else {
            return false;
        };
        let Some(primary) = table.primary_key().filter(|index| table.is_always_unique(index)) else { return false };
        primary.columns.iter().all(|part| {
            rewriting.keys.iter().enumerate().any(|(number, key)| match key.kind {
                ExprKind::Column(key) => {
                    let is_part = key.relation == column.relation && Some(key.column) == part.column;
                    is_part && rewriting.sets.iter().all(|set| set.contains(&(number as u16)))
                }
                _ => false,
            })
        })
    }

    fn ungrouped(&self, column: Column, inside: bool) -> Error {
        let relation = self.bound.relations.get(column.relation as usize);
        let table = relation.map_or("", |relation| relation.name.as_str());
        let name = relation
            .and_then(|relation| relation.columns.get(usize::from(column.column)))
            .map_or("", |(name, _)| name.as_str());
        let message = match inside {
            true => format!("subquery uses ungrouped column \"{table}.{name}\" from outer query"),
            false => format!(
                "column \"{table}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        };
        let error = Error::statement(sqlstate::GROUPING_ERROR, message);
        match self.noted.get(&column) {
            Some(at) => error.at(self.position(*at)),
            None => error,
        }
    }

    /// Gives aggregates and `GROUPING (…)` their final numbers, after the keys.
    pub(super) fn number_aggregates(&mut self, expr: &mut Expr, relation: RelationId, keys: u16, aggregates: u16) {
        if let ExprKind::Column(column) = &mut expr.kind
            && column.relation == relation
            && (AGGREGATES..super::tree::TABLE_OID).contains(&column.column)
        {
            column.column = match column.column.checked_sub(TESTS) {
                Some(test) => keys + aggregates + test,
                None => keys + column.column - AGGREGATES,
            };
        }
        if let ExprKind::Subplan(number) = expr.kind {
            let mut visit = |binder: &mut Binder<'_>, expr: &mut Expr| {
                binder.number_aggregates(expr, relation, keys, aggregates);
                Ok(())
            };
            // The visit never fails.
            let _ = self.in_test(number, &mut visit).and_then(|()| self.in_subquery(number, &mut visit));
            return;
        }
        expr.children_mut(&mut |child| self.number_aggregates(child, relation, keys, aggregates));
    }
}
