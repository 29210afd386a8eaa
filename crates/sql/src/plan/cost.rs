//! How many rows a node gives, and what it costs to compute them.
//!
//! What is known of a table is how many rows and pages it had when somebody last looked ([`Catalog::statistics`]) and what `ANALYZE`
//! found in its columns; from that [`selectivity`](super::selectivity) says which share of the rows a condition leaves.
//!
//! Costs are counted as PostgreSQL counts them: one is what it takes to read a page in order. Tables are taken to be in memory, so that
//! rows count more than pages do; the numbers are how long this executor's nodes take beside a scan.
//!
//! Rules
//! 1. Guesses are made for choices between plans: nothing that a query answers depends on them.
//! 2. A number of rows is never below one.

use super::path::Access;
use super::tree::{JoinType, Node};
use crate::bind::tree::{Bound, Column, Expr, ExprKind, RelationId, Source};
use crate::catalog::Catalog;
use crate::catalog::column_statistics::ColumnStatistics;
use crate::catalog::definition::{IndexDef, TableDef};
use crate::plan::blob::Constant;
use crate::types::op::Comparison;
use crate::types::{stored, table};
use std::collections::{BTreeMap, BTreeSet};

/// How many rows a table is thought to have that nobody has looked at, and a function or a view to give.
const ROWS_UNKNOWN: f64 = 1000.0;
/// How many values a column is thought to have.
pub(super) const DISTINCT: f64 = 200.0;
pub(super) const INEQUALITY: f64 = 1.0 / 3.0;
pub(super) const SELDOM: f64 = 1.0 / DISTINCT;
pub(super) const HALF: f64 = 0.5;

/// What it costs to pass a row of a scan over, and to test a condition.
const ROW: f64 = 0.02;
const TEST: f64 = 0.0025;
/// To begin a search in an index, and to fetch a row by its place.
const SEARCH: f64 = 0.20;
const FETCH: f64 = 0.07;
/// To put a row into a hash table, to look one up, to hand a row of a join on.
pub(super) const BUILD: f64 = 0.06;
pub(super) const PROBE: f64 = 0.025;
pub(super) const EMIT: f64 = 0.01;
/// To keep a row, and to look at a pair of rows.
pub(super) const KEEP: f64 = 0.02;
pub(super) const PAIR: f64 = 0.01;
/// To compare two rows.
const COMPARE: f64 = 0.006;
/// To add a row to its group.
const GROUP: f64 = 0.05;

/// What columns of subqueries and groupings stand for.
pub(super) type Origins = BTreeMap<RelationId, Vec<Expr>>;

/// Guesses about a bound statement.
#[derive(Clone, Copy)]
pub struct Guess<'g> {
    /// The statement.
    pub bound: &'g Bound,
    /// Where it is known how large tables are.
    pub catalog: &'g Catalog<'g>,
    /// What columns of subqueries stand for.
    pub(super) origins: &'g Origins,
}

impl Guess<'_> {
    /// How many rows a table has.
    pub fn table_rows(&self, table: &TableDef) -> f64 {
        self.catalog.statistics(table.oid).map_or(ROWS_UNKNOWN, |known| known.rows as f64).max(1.0)
    }

    fn table_of(&self, column: Column) -> Option<&TableDef> {
        match &self.bound.relations.get(column.relation as usize)?.source {
            Source::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table's column that a column is, if it is one.
    fn origin(&self, mut column: Column) -> Column {
        const STEPS: usize = 20;
        for _ in 0..STEPS {
            let Some(exprs) = self.origins.get(&column.relation) else { break };
            match exprs.get(usize::from(column.column)).map(|expr| &expr.kind) {
                Some(ExprKind::Column(origin)) => column = *origin,
                _ => break,
            }
        }
        column
    }

    /// What is known of a column, with how many rows its table has.
    pub(super) fn statistics(&self, column: Column) -> Option<(&ColumnStatistics, f64)> {
        let column = self.origin(column);
        let table = self.table_of(column)?;
        let ty = table.columns.get(usize::from(column.column))?.ty.oid;
        let known = self.catalog.column_statistics(table.oid)?.column(column.column, ty)?;
        Some((known, self.table_rows(table)))
    }

    /// How many values a column has.
    pub(super) fn column_distinct(&self, column: Column) -> f64 {
        let column = self.origin(column);
        let Some(table) = self.table_of(column) else { return DISTINCT };
        let rows = self.table_rows(table);
        let is_key =
            |index: &IndexDef| index.unique && index.key_columns().is_some_and(|columns| columns == [column.column]);
        if table.indexes.iter().any(is_key) {
            return rows;
        }
        let known = self.statistics(column).and_then(|(known, rows)| known.distinct_of(rows));
        known.unwrap_or(DISTINCT).min(rows).max(1.0)
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
        let is_single = |index: &IndexDef| {
            let columns = index.key_columns().filter(|_| index.unique);
            columns.is_some_and(|columns| columns.iter().all(|column| equal.contains(column)))
        };
        if !equal.is_empty() && table.indexes.iter().any(is_single) {
            return 1.0;
        }
        (self.table_rows(table) * self.share(conditions)).max(1.0)
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
                true => self.groups(&grouping.keys, self.rows(child)),
            },
            Node::Distinct { child, keys, .. } => {
                let keys: Vec<Expr> = keys.iter().map(|(key, _)| key.clone()).collect();
                self.groups(&keys, self.rows(child))
            }
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

    /// How many groups rows fall into.
    fn groups(&self, keys: &[Expr], rows: f64) -> f64 {
        // Keys of one table depend on each other: together they have fewer values than there are combinations.
        let mut tables: BTreeMap<Option<RelationId>, (f64, u32)> = BTreeMap::new();
        for key in keys {
            let table = match key.kind {
                ExprKind::Column(column) => Some(self.origin(column).relation),
                _ => None,
            };
            let known = tables.entry(table).or_insert((1.0, 0));
            known.0 *= self.distinct_of(key);
            known.1 += 1;
        }
        let of_table = |(table, (values, keys)): (&Option<RelationId>, &(f64, u32))| {
            let table = table.and_then(|relation| self.table_of(Column { relation, column: 0 }));
            let most = table.map_or(f64::MAX, |table| self.table_rows(table));
            values.min(if *keys > 1 { (most / 10.0).max(values.powf(1.0 / f64::from(*keys))) } else { most })
        };
        tables.iter().map(of_table).product::<f64>().clamp(1.0, rows.max(1.0))
    }

    /// The share of all pairs whose keys are equal.
    pub(super) fn key_share(&self, outer: &Expr, inner: &Expr, left: f64, right: f64) -> f64 {
        1.0 / self.distinct_of(outer).min(left).max(self.distinct_of(inner).min(right)).max(1.0)
    }

    // ---- costs

    /// What a scan of a whole table costs.
    pub(super) fn scan_cost(&self, table: &TableDef, tests: usize) -> f64 {
        const ROWS_OF_PAGE: f64 = 60.0;
        let rows = self.table_rows(table);
        let pages = self.catalog.statistics(table.oid).map_or(rows / ROWS_OF_PAGE, |known| f64::from(known.pages));
        pages * 0.1 + rows * (ROW + tests as f64 * TEST)
    }

    /// How many rows an index finds for conditions on a table.
    pub(super) fn found(
        &self,
        (relation, table): (RelationId, &TableDef),
        access: &Access,
        conditions: &[&Expr],
    ) -> f64 {
        if access.single {
            return 1.0;
        }
        let used = self.share(access.used.iter().map(|place| conditions[*place]));
        let indexes = self.bound.indexed.get(&relation);
        let index = indexes.and_then(|indexes| indexes.iter().find(|index| index.index == access.index));
        let few = index.map_or(1.0, |index| self.share(index.predicate.iter()));
        (self.table_rows(table) * used * few).max(1.0)
    }

    /// What it costs to look so many rows up in an index.
    pub(super) fn lookup_cost(&self, found: f64) -> f64 {
        SEARCH + found * FETCH
    }

    /// What a node's rows cost.
    pub(super) fn cost(&self, node: &Node) -> f64 {
        let below: f64 = match node {
            Node::NestedLoop { .. } => 0.0,
            node => node.children().into_iter().map(|child| self.cost(child)).sum(),
        };
        let sorted = |rows: f64| rows * (KEEP + COMPARE * rows.max(2.0).log2());
        below
            + match node {
                Node::SeqScan { table, filter, .. } => self.scan_cost(table, filter.len()),
                Node::IndexScan(scan) if scan.single => self.lookup_cost(1.0),
                Node::IndexScan(scan) => {
                    self.lookup_cost(self.scanned(&scan.table, scan.relation, scan.seen_to.iter()))
                }
                Node::NestedLoop { outer, inner, .. } => {
                    let rows = self.rows(outer);
                    self.cost(outer)
                        + match &**inner {
                            Node::Materialize { child, .. } => self.cost(child) + rows * self.rows(child) * PAIR,
                            inner => rows * self.cost(inner),
                        }
                }
                Node::HashJoin { outer, inner, .. } => {
                    self.rows(outer) * PROBE + self.rows(inner) * BUILD + self.rows(node) * EMIT
                }
                Node::Sort { child, .. } => sorted(self.rows(child)),
                Node::Aggregate { child, grouping } => {
                    self.rows(child) * (GROUP + grouping.aggregates.len() as f64 * TEST)
                }
                Node::Distinct { child, .. } | Node::SetOperation { left: child, .. } => self.rows(child) * GROUP,
                Node::Window { child, .. } | Node::Materialize { child, .. } => self.rows(child) * KEEP,
                Node::Filter { child, condition } => self.rows(child) * condition.len() as f64 * TEST,
                node => self.rows(node) * EMIT,
            }
    }

    /// What has been computed when a node gives its first row.
    pub(super) fn cost_of_first(&self, node: &Node) -> f64 {
        match node {
            Node::Sort { .. } | Node::Aggregate { .. } | Node::SetOperation { .. } => self.cost(node),
            Node::HashJoin { outer, inner, .. } => self.cost(inner) + self.cost_of_first(outer),
            Node::NestedLoop { outer, .. } => self.cost_of_first(outer),
            Node::Project { child, .. } | Node::Filter { child, .. } | Node::Limit { child, .. } => {
                self.cost_of_first(child)
            }
            _ => 0.0,
        }
    }

    /// How many bytes a row of the relations that a node brings has on average.
    pub(super) fn width(&self, node: &Node) -> u64 {
        const UNKNOWN: f64 = 32.0;
        let mut relations = BTreeSet::new();
        match node {
            Node::Project { relation, .. } | Node::Append { relation, .. } => {
                relations.insert(*relation);
            }
            Node::Aggregate { grouping, .. } => {
                relations.insert(grouping.relation);
            }
            node => node.produced(&mut relations),
        }
        let mut bytes = 0.0;
        for relation in relations {
            let Some(found) = self.bound.relations.get(relation as usize) else { continue };
            for (column, (_, ty)) in found.columns.iter().enumerate() {
                let known = self.statistics(Column { relation, column: column as u16 });
                let fixed = || stored::width(table::kind(ty.oid)).map(|width| width as f64);
                bytes += known.map(|(known, _)| known.width).or_else(fixed).unwrap_or(UNKNOWN);
            }
        }
        bytes.round() as u64
    }

    /// Is it cheaper to look `found` rows up in an index for each of the outer rows than to read all `inner` rows into a hash table,
    /// which costs `scan`?
    pub fn prefers_lookups(&self, outer: f64, found: f64, inner: f64, scan: f64) -> bool {
        outer * self.lookup_cost(found) <= scan + inner * BUILD + outer * PROBE
    }
}

/// The rows of a join that finds so many pairs.
fn joined(join: JoinType, pairs: f64, outer: f64, inner: f64) -> f64 {
    match join {
        JoinType::Inner => pairs,
        JoinType::Left => pairs.max(outer),
        JoinType::Right => pairs.max(inner),
        JoinType::Full => pairs.max(outer + inner),
        JoinType::Semi => pairs.min(outer),
        JoinType::Anti => outer - pairs.min(outer * (1.0 - SELDOM)),
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
