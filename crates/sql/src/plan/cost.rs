//! How many rows a node may give, and what joins may cost: rough, and good enough to tell small from large.
//!
//! What is known of a table is how many rows it had when somebody last looked ([`Catalog::statistics`]). How many of them a condition
//! leaves is guessed as PostgreSQL guesses without statistics of columns.
//!
//! | condition | share of the rows |
//! |---|---|
//! | all columns of a unique index equal something | one row |
//! | a column equals something | 1/200 |
//! | a column is less or greater than something | 1/3 |
//! | null, like | 1/200 |
//! | anything else | 1/2 |
//!
//! Costs are counted in rows that a sequential scan passes over.

use super::tree::{JoinType, Node};
use crate::bind::tree::{Bound, Column, Expr, ExprKind, RelationId, Source};
use crate::catalog::Catalog;
use crate::catalog::definition::TableDef;
use crate::plan::blob::Constant;
use crate::types::op::{Comparison, Op};
use std::collections::BTreeSet;

/// How many rows a table is thought to have that nobody has looked at, and a function or a view to give.
const ROWS_UNKNOWN: f64 = 1000.0;
/// How many values a column is thought to have.
const DISTINCT: f64 = 200.0;
const INEQUALITY: f64 = 1.0 / 3.0;
const SELDOM: f64 = 1.0 / DISTINCT;
const HALF: f64 = 0.5;

/// What it costs to begin a search in an index, to fetch a row by its place, to put a row into a hash table, to look one up.
const SEARCH: f64 = 8.0;
const FETCH: f64 = 4.0;
const BUILD: f64 = 2.0;
const PROBE: f64 = 1.0;

/// Guesses about a bound statement.
#[derive(Clone, Copy)]
pub struct Guess<'g> {
    /// The statement.
    pub bound: &'g Bound,
    /// Where it is known how large tables are.
    pub catalog: &'g Catalog<'g>,
}

impl Guess<'_> {
    /// How many rows a table has.
    pub fn table_rows(&self, table: &TableDef) -> f64 {
        self.catalog.statistics(table.oid).map_or(ROWS_UNKNOWN, |known| known.rows as f64).max(1.0)
    }

    /// How many rows a relation gives under these conditions on it.
    pub fn relation_rows<'x>(&self, relation: RelationId, conditions: impl Iterator<Item = &'x Expr> + Clone) -> f64 {
        let rows = match self.bound.relations.get(relation as usize).map(|found| &found.source) {
            Some(Source::Table(table)) => return self.scanned(table, relation, conditions),
            Some(Source::Function { set: false, .. }) => 1.0,
            _ => ROWS_UNKNOWN,
        };
        (rows * self.share(conditions)).max(1.0)
    }

    fn scanned<'x>(
        &self,
        table: &TableDef,
        relation: RelationId,
        conditions: impl Iterator<Item = &'x Expr> + Clone,
    ) -> f64 {
        let equal: BTreeSet<u16> = conditions
            .clone()
            .filter_map(equal_column)
            .filter(|column| column.relation == relation)
            .map(|column| column.column)
            .collect();
        let is_single = |index: &crate::catalog::definition::IndexDef| {
            let columns = index.key_columns().filter(|_| index.unique);
            columns.is_some_and(|columns| columns.iter().all(|column| equal.contains(column)))
        };
        if table.indexes.iter().any(is_single) {
            return 1.0;
        }
        (self.table_rows(table) * self.share(conditions)).max(1.0)
    }

    /// The share of rows for which all conditions hold.
    pub fn share<'x>(&self, conditions: impl Iterator<Item = &'x Expr>) -> f64 {
        conditions.map(share_of).product()
    }

    /// How many rows a node gives.
    pub fn rows(&self, node: &Node) -> f64 {
        match node {
            Node::Nothing => 0.0,
            Node::Once { .. } => 1.0,
            Node::Values { rows, .. } => rows.len() as f64,
            Node::Function { set, filter, .. } => {
                (if *set { ROWS_UNKNOWN } else { 1.0 } * self.share(filter.iter())).max(1.0)
            }
            Node::View { filter, .. } | Node::CommonScan { filter, .. } | Node::WorkScan { filter, .. } => {
                (ROWS_UNKNOWN * self.share(filter.iter())).max(1.0)
            }
            Node::SeqScan { table, relation, filter, .. } => self.scanned(table, *relation, filter.iter()),
            Node::IndexScan(scan) => {
                if scan.single {
                    return 1.0;
                }
                self.scanned(&scan.table, scan.relation, scan.seen_to.iter().chain(&scan.filter))
            }
            Node::Filter { child, condition } => (self.rows(child) * self.share(condition.iter())).max(1.0),
            Node::NestedLoop { join, outer, inner, condition } => {
                // An inner side that looks rows up gives those of one outer row.
                let pairs = self.rows(outer) * self.rows(inner) * self.share(condition.iter());
                joined(*join, pairs, self.rows(outer), self.rows(inner))
            }
            Node::HashJoin { join, outer, inner, keys, condition } => {
                let (left, right) = (self.rows(outer), self.rows(inner));
                let share: f64 =
                    keys.iter().map(|(outer, inner, _)| self.key_share(outer, inner, left, right)).product();
                joined(*join, left * right * share * self.share(condition.iter()), left, right)
            }
            Node::Limit { child, count, .. } => match count.as_ref().map(|count| &count.kind) {
                Some(ExprKind::Constant(Constant::Int(count))) => self.rows(child).min(*count as f64),
                _ => self.rows(child),
            },
            Node::Aggregate { child, grouping } => match grouping.grouped {
                false => 1.0,
                true => self.rows(child).min(DISTINCT.powi(grouping.keys.len() as i32)),
            },
            Node::Distinct { child, .. } => self.rows(child).min(DISTINCT * DISTINCT),
            Node::Project { child, .. }
            | Node::Sort { child, .. }
            | Node::Window { child, .. }
            | Node::Materialize { child, .. } => self.rows(child),
            Node::Append { children, .. } => children.iter().map(|child| self.rows(child)).sum(),
            Node::SetOperation { left, .. } => self.rows(left),
            Node::Recursion { first, rest, .. } => self.rows(first) + self.rows(rest),
            Node::LockRows(rows) => self.rows(&rows.child),
            Node::Modify(modify) => self.rows(&modify.child),
        }
    }

    /// How many values an expression has among so many rows.
    fn distinct(&self, expr: &Expr, rows: f64) -> f64 {
        if let ExprKind::Column(column) = expr.kind
            && let Some(Source::Table(table)) =
                self.bound.relations.get(column.relation as usize).map(|found| &found.source)
        {
            let is_key = |index: &crate::catalog::definition::IndexDef| {
                index.unique && index.key_columns().is_some_and(|columns| columns == [column.column])
            };
            if table.indexes.iter().any(is_key) {
                return self.table_rows(table);
            }
        }
        rows.min(DISTINCT)
    }

    fn key_share(&self, outer: &Expr, inner: &Expr, left: f64, right: f64) -> f64 {
        1.0 / self.distinct(outer, left).max(self.distinct(inner, right)).max(1.0)
    }

    /// Is it cheaper to look `found` rows up in an index for each of the outer rows than to read all `inner` rows into a hash table,
    /// which a scan of `passed` rows finds?
    pub fn prefers_lookups(&self, outer: f64, found: f64, inner: f64, passed: f64) -> bool {
        outer * (SEARCH + found * FETCH) <= passed + inner * BUILD + outer * PROBE
    }
}

/// The rows of a join that finds so many pairs.
fn joined(join: JoinType, pairs: f64, outer: f64, inner: f64) -> f64 {
    match join {
        JoinType::Inner => pairs,
        JoinType::Left => pairs.max(outer),
        JoinType::Right => pairs.max(inner),
        JoinType::Full => pairs.max(outer + inner),
        JoinType::Semi | JoinType::Anti => outer * HALF,
    }
    .max(1.0)
}

/// The column that an equality sets.
fn equal_column(expr: &Expr) -> Option<Column> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    if call.op.comparison() != Some(Comparison::Eq) {
        return None;
    }
    call.arguments.iter().find_map(|side| match side.kind {
        ExprKind::Column(column) => Some(column),
        _ => None,
    })
}

/// The share of rows for which a condition holds.
fn share_of(expr: &Expr) -> f64 {
    match &expr.kind {
        ExprKind::Constant(Constant::Bool(true)) => 1.0,
        ExprKind::Constant(_) => 0.0,
        ExprKind::Call(call) => match call.op.comparison() {
            Some(Comparison::Eq) => SELDOM,
            Some(Comparison::Ne) => 1.0 - SELDOM,
            Some(_) => INEQUALITY,
            None if matches!(call.op, Op::Like | Op::Ilike) => SELDOM,
            None => HALF,
        },
        ExprKind::And(items) => items.iter().map(share_of).product(),
        ExprKind::Or(items) => items.iter().map(share_of).fold(0.0, |sum, share| sum + share - sum * share),
        ExprKind::Not(operand) => 1.0 - share_of(operand),
        ExprKind::IsNull(_, negated) => {
            if *negated {
                1.0 - SELDOM
            } else {
                SELDOM
            }
        }
        _ => HALF,
    }
}
