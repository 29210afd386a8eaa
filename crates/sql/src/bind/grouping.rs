//! Grouping: what may stand above `GROUP BY`, and how it refers to the groups.
//!
//! While a `SELECT` is bound, aggregates are collected and stand in expressions as columns of the grouping's relation,
//! numbered from [`AGGREGATES`]. When the keys are known, expressions are rewritten: what equals a key becomes the key's
//! column, aggregates come after the keys, and any other column of `FROM` is `42803`, unless its table's primary key is
//! among the keys, which makes it one more key.
//!
//! Rules
//! 1. Rewriting enters subplans: a subquery above a grouping sees the groups, not the rows.

use super::Binder;
use super::tree::{AggregateCall, Body, Column, Expr, ExprKind, From, Query, RelationId, Source, SubplanKind};
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;

/// The number of the first aggregate until the keys are known.
pub(super) const AGGREGATES: u16 = 0x4000;

/// What is known of a grouping while its `SELECT` is bound.
#[derive(Debug)]
pub(super) struct Collected {
    /// The relation of the results.
    pub(super) relation: RelationId,
    /// The aggregates so far.
    pub(super) aggregates: Vec<AggregateCall>,
}

/// The rewriting of what stands above a grouping.
pub(super) struct Rewriting {
    /// The relation of the results.
    pub(super) relation: RelationId,
    /// The keys.
    pub(super) keys: Vec<Expr>,
    /// The relations below.
    pub(super) below: BTreeSet<RelationId>,
}

impl Binder<'_> {
    /// Rewrites an expression to refer to groups.
    pub(super) fn rewrite(&mut self, expr: &mut Expr, rewriting: &mut Rewriting) -> Result<()> {
        if let Some(key) = rewriting.keys.iter().position(|key| key == expr) {
            *expr = Expr::column(rewriting.relation, key as u16, expr.ty);
            return Ok(());
        }
        match &mut expr.kind {
            ExprKind::Column(column) if rewriting.below.contains(&column.relation) => {
                let column = *column;
                if self.is_determined(column, rewriting) {
                    rewriting.keys.push(expr.clone());
                    *expr = Expr::column(rewriting.relation, rewriting.keys.len() as u16 - 1, expr.ty);
                    return Ok(());
                }
                Err(self.ungrouped(column))
            }
            ExprKind::Subplan(number) => {
                let number = usize::from(*number);
                let subplan = &mut self.bound.subplans[number];
                let mut query = std::mem::replace(&mut subplan.query, Box::new(Query::empty()));
                let mut kind = std::mem::replace(&mut subplan.kind, SubplanKind::Exists);
                let mut done = self.rewrite_query(&mut query, rewriting);
                if let SubplanKind::Quantified { test, equal, .. } = &mut kind {
                    let exprs = equal.iter_mut().flat_map(|(left, right, _)| [left, right]);
                    for expr in std::iter::once(test).chain(exprs) {
                        done = done.and_then(|()| self.rewrite(expr, rewriting));
                    }
                }
                self.bound.subplans[number].query = query;
                self.bound.subplans[number].kind = kind;
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

    fn rewrite_query(&mut self, query: &mut Query, rewriting: &mut Rewriting) -> Result<()> {
        for target in &mut query.targets {
            self.rewrite(&mut target.expr, rewriting)?;
        }
        for expr in query.limit.iter_mut().chain(&mut query.offset) {
            self.rewrite(expr, rewriting)?;
        }
        match &mut query.body {
            Body::Select(select) => {
                for expr in &mut select.filter {
                    self.rewrite(expr, rewriting)?;
                }
                for from in &mut select.from {
                    self.rewrite_from(from, rewriting)?;
                }
                if let Some(grouping) = &mut select.grouping {
                    for expr in grouping.keys.iter_mut().chain(&mut grouping.having) {
                        self.rewrite(expr, rewriting)?;
                    }
                    for call in &mut grouping.aggregates {
                        let order = call.order_by.iter_mut().map(|(expr, ..)| expr);
                        for expr in call.arguments.iter_mut().chain(order).chain(&mut call.filter) {
                            self.rewrite(expr, rewriting)?;
                        }
                    }
                }
            }
            Body::Values(rows) => {
                for expr in rows.iter_mut().flatten() {
                    self.rewrite(expr, rewriting)?;
                }
            }
            Body::Operation { operands, .. } => {
                for operand in operands {
                    self.rewrite_query(operand, rewriting)?;
                }
            }
        }
        Ok(())
    }

    fn rewrite_from(&mut self, from: &mut From, rewriting: &mut Rewriting) -> Result<()> {
        match from {
            From::Relation(relation) => {
                let at = *relation as usize;
                let mut source = std::mem::replace(&mut self.bound.relations[at].source, Source::Computed);
                let done = match &mut source {
                    Source::Query(query) => self.rewrite_query(query, rewriting),
                    Source::Function { call, .. } => self.rewrite(call, rewriting),
                    _ => Ok(()),
                };
                self.bound.relations[at].source = source;
                done
            }
            From::Join(join) => {
                for expr in &mut join.condition {
                    self.rewrite(expr, rewriting)?;
                }
                self.rewrite_from(&mut join.left, rewriting)?;
                self.rewrite_from(&mut join.right, rewriting)
            }
        }
    }

    /// Is the column's value settled by the keys, because its table's primary key is among them?
    fn is_determined(&self, column: Column, rewriting: &Rewriting) -> bool {
        let Some(Source::Table(table)) = self.bound.relations.get(column.relation as usize).map(|found| &found.source)
        else {
            return false;
        };
        let Some(primary) = table.primary_key() else { return false };
        primary.columns.iter().all(|part| {
            rewriting.keys.iter().any(|key| match key.kind {
                ExprKind::Column(key) => key.relation == column.relation && key.column == part.column,
                _ => false,
            })
        })
    }

    fn ungrouped(&self, column: Column) -> Error {
        let relation = self.bound.relations.get(column.relation as usize);
        let table = relation.map_or("", |relation| relation.name.as_str());
        let name = relation
            .and_then(|relation| relation.columns.get(usize::from(column.column)))
            .map_or("", |(name, _)| name.as_str());
        let message =
            format!("column \"{table}.{name}\" must appear in the GROUP BY clause or be used in an aggregate function");
        let error = Error::statement(sqlstate::GROUPING_ERROR, message);
        match self.noted.get(&column) {
            Some(at) => error.at(self.position(*at)),
            None => error,
        }
    }

    /// Gives aggregates their final numbers, after the keys.
    pub(super) fn number_aggregates(&mut self, expr: &mut Expr, relation: RelationId, keys: u16) {
        if let ExprKind::Column(column) = &mut expr.kind
            && column.relation == relation
            && (AGGREGATES..super::tree::TABLE_OID).contains(&column.column)
        {
            column.column = column.column - AGGREGATES + keys;
        }
        if let ExprKind::Subplan(number) = expr.kind {
            let number = usize::from(number);
            let mut query = std::mem::replace(&mut self.bound.subplans[number].query, Box::new(Query::empty()));
            let mut kind = std::mem::replace(&mut self.bound.subplans[number].kind, SubplanKind::Exists);
            for target in &mut query.targets {
                self.number_aggregates(&mut target.expr, relation, keys);
            }
            if let Body::Select(select) = &mut query.body {
                for expr in &mut select.filter {
                    self.number_aggregates(expr, relation, keys);
                }
            }
            if let SubplanKind::Quantified { test, equal, .. } = &mut kind {
                self.number_aggregates(test, relation, keys);
                for (left, right, _) in equal {
                    self.number_aggregates(left, relation, keys);
                    self.number_aggregates(right, relation, keys);
                }
            }
            self.bound.subplans[number].query = query;
            self.bound.subplans[number].kind = kind;
            return;
        }
        expr.children_mut(&mut |child| self.number_aggregates(child, relation, keys));
    }
}
