//! How many rows a node gives, and what it costs to compute them.
//!
//! What is known of a table is how many rows and pages it had when somebody last looked ([`Catalog::statistics`]) and what `ANALYZE`
//! found in its columns; from that [`selectivity`](super::selectivity) says which share of the rows a condition leaves.
//!
//! Costs are counted as PostgreSQL counts them: one is what it takes to read a page in order from disk. As far as tables are taken to be in
//! memory rows count more than pages do; the numbers ([`planning`](super::planning)) are how long this executor's nodes take beside a scan.
//!
//! Rules
//! 1. Guesses are made for choices between plans: nothing that a query answers depends on them.
//! 2. A number of rows is never below one.

use super::path::Access;
use super::planning::Planning;
use super::tree::{JoinType, Node};
use crate::bind::tree::{Bound, Column, Expr, ExprKind, RelationId, Root, Source};
use crate::catalog::Catalog;
use crate::catalog::column_statistics::ColumnStatistics;
use crate::catalog::definition::{IndexDef, TableDef};
use crate::plan::blob::Constant;
use crate::types::op::Comparison;
use crate::types::{Type, stored, table};
use std::collections::{BTreeMap, BTreeSet};

/// How many rows a table is thought to have that nobody has looked at, and a function or a view to give.
const ROWS_UNKNOWN: f64 = 1000.0;
/// How many values a column is thought to have.
pub(super) const DISTINCT: f64 = 200.0;
pub(super) const INEQUALITY: f64 = 1.0 / 3.0;
pub(super) const SELDOM: f64 = 1.0 / DISTINCT;
pub(super) const HALF: f64 = 0.5;

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
    /// What things cost.
    pub(super) planning: &'g Planning,
}

/// The columns that a statement reads; of a query all results among them.
pub(super) fn read_by(bound: &Bound, root: &Root) -> BTreeSet<Column> {
    let mut read = BTreeSet::new();
    let root = match root {
        Root::Query(query) => &**query,
        Root::Modification(modification) => &modification.query,
    };
    let commons = bound.commons.iter().flat_map(|common| {
        let changes = common.modification.as_ref().map(|modification| &modification.query);
        common.query.as_deref().into_iter().chain(changes)
    });
    for query in std::iter::once(root).chain(commons) {
        bound.columns_of(query, &mut read);
        let results = 0..query.targets.len() as u16;
        read.extend(results.map(|column| Column { relation: query.output, column }));
    }
    bound.subplans.iter().for_each(|subplan| bound.columns_of(&subplan.query, &mut read));
    read
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
            Node::HashJoin { join, outer, inner, keys, condition }
            | Node::MergeJoin { join, outer, inner, keys, condition } => {
                let (left, right) = (self.rows(outer), self.rows(inner));
                let share: f64 =
                    keys.iter().map(|(outer, inner, _)| self.key_share(outer, inner, left, right)).product();
                joined(*join, left * right * share * self.share(condition.iter()), left, right)
            }
            Node::Limit { child, count, .. } => match count.as_ref().map(|count| &count.kind) {
                Some(ExprKind::Constant(Constant::Int(count))) => self.rows(child).min(*count as f64),
                _ => self.rows(child),
            },
            Node::Aggregate { child, grouping, .. } => match grouping.grouped {
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

    /// How many pages a table has.
    fn table_pages(&self, table: &TableDef) -> f64 {
        const ROWS_OF_PAGE: f64 = 60.0;
        let known = self.catalog.statistics(table.oid).map(|known| f64::from(known.pages));
        known.unwrap_or_else(|| self.table_rows(table) / ROWS_OF_PAGE)
    }

    /// What a scan of a whole table costs.
    pub(super) fn scan_cost(&self, table: &TableDef, tests: usize) -> f64 {
        let planning = self.planning;
        let rows = self.table_rows(table) * (planning.row() + tests as f64 * planning.test());
        planning.in_order(self.table_pages(table)) + rows + Planning::off(planning.seq_scan)
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

    /// What it costs to look so many rows of a table up in an index.
    pub(super) fn lookup_cost(&self, table: &TableDef, found: f64) -> f64 {
        let planning = self.planning;
        planning.search() + planning.fetched(found, self.table_pages(table)) + Planning::off(planning.index_scan)
    }

    /// What it costs to read so many entries of an index that has all that is read of the rows.
    pub(super) fn entries_cost(&self, found: f64) -> f64 {
        let planning = self.planning;
        planning.search() + found * planning.entry() + Planning::off(planning.index_scan)
    }

    /// What it costs to sort so many rows of so many bytes each.
    pub(super) fn sort_cost(&self, rows: f64, bytes: f64) -> f64 {
        let planning = self.planning;
        let work = rows * (planning.keep() + planning.compare() * rows.max(2.0).log2());
        work + planning.sort_spilled(rows, bytes) + Planning::off(planning.sort)
    }

    /// What a node's rows cost.
    pub(super) fn cost(&self, node: &Node) -> f64 {
        let planning = self.planning;
        let below: f64 = match node {
            Node::NestedLoop { .. } => 0.0,
            node => node.children().into_iter().map(|child| self.cost(child)).sum(),
        };
        below
            + match node {
                Node::SeqScan { table, filter, .. } => self.scan_cost(table, filter.len()),
                Node::IndexScan(scan) if scan.only => {
                    self.entries_cost(self.scanned(&scan.table, scan.relation, scan.seen_to.iter()))
                }
                Node::IndexScan(scan) if scan.single => self.lookup_cost(&scan.table, 1.0),
                Node::IndexScan(scan) => {
                    self.lookup_cost(&scan.table, self.scanned(&scan.table, scan.relation, scan.seen_to.iter()))
                }
                Node::NestedLoop { outer, inner, .. } => {
                    let rows = self.rows(outer);
                    self.cost(outer)
                        + match &**inner {
                            Node::Materialize { child, .. } => {
                                self.cost(child) + rows * self.rows(child) * planning.pair()
                            }
                            inner => rows * self.cost(inner),
                        }
                        + Planning::off(planning.nested_loop)
                }
                Node::HashJoin { outer, inner, .. } => self.hash_cost(outer, inner) + self.rows(node) * planning.emit(),
                Node::MergeJoin { outer, inner, .. } => {
                    self.merge_cost(self.rows(outer), self.rows(inner)) + self.rows(node) * planning.emit()
                }
                // Of rows of which few are asked for few are kept.
                Node::Sort { child, bound: Some(_), .. } => self.sort_cost(self.rows(child), 0.0),
                Node::Sort { child, .. } => self.sort_cost(self.rows(child), self.row_bytes(child)),
                Node::Aggregate { child, grouping, sorted } => {
                    Planning::off(*sorted || grouping.keys.is_empty() || planning.hash_aggregate)
                        + self.rows(child) * (planning.group() + grouping.aggregates.len() as f64 * planning.test())
                }
                Node::Distinct { child, .. } | Node::SetOperation { left: child, .. } => {
                    self.rows(child) * planning.group()
                }
                Node::Window { child, .. } | Node::Materialize { child, .. } => self.rows(child) * planning.keep(),
                Node::Filter { child, condition } => self.rows(child) * condition.len() as f64 * planning.test(),
                node => self.rows(node) * planning.emit(),
            }
    }

    /// What has been computed when a node gives its first row.
    pub(super) fn cost_of_first(&self, node: &Node) -> f64 {
        match node {
            Node::Aggregate { child, sorted: true, .. } => self.cost_of_first(child),
            Node::Sort { .. } | Node::Aggregate { .. } | Node::SetOperation { .. } => self.cost(node),
            Node::HashJoin { outer, inner, .. } => self.cost(inner) + self.cost_of_first(outer),
            Node::MergeJoin { outer, inner, .. } => self.cost_of_first(outer) + self.cost_of_first(inner),
            Node::NestedLoop { outer, .. } => self.cost_of_first(outer),
            Node::Project { child, .. } | Node::Filter { child, .. } | Node::Limit { child, .. } => {
                self.cost_of_first(child)
            }
            _ => 0.0,
        }
    }

    /// The relations whose columns are read of a node's rows.
    fn given(&self, node: &Node) -> BTreeSet<RelationId> {
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
        relations
    }

    /// How many bytes the values of a column have on average.
    fn column_width(&self, column: Column, ty: Type) -> f64 {
        const UNKNOWN: f64 = 32.0;
        let fixed = || stored::width(table::kind(ty.oid)).map(|width| width as f64);
        self.statistics(column).map(|(known, _)| known.width).or_else(fixed).unwrap_or(UNKNOWN)
    }

    /// How many bytes a row of the relations that a node brings has on average.
    pub(super) fn width(&self, node: &Node) -> u64 {
        let mut bytes = 0.0;
        for relation in self.given(node) {
            let Some(found) = self.bound.relations.get(relation as usize) else { continue };
            for (column, (_, ty)) in found.columns.iter().enumerate() {
                bytes += self.column_width(Column { relation, column: column as u16 }, *ty);
            }
        }
        bytes.round() as u64
    }

    /// How many bytes of memory a row of a node takes that is kept: of columns that the statement reads.
    pub(super) fn row_bytes(&self, node: &Node) -> f64 {
        self.given(node).into_iter().map(|relation| self.kept_bytes(relation)).sum()
    }

    /// The same of one relation.
    pub(super) fn kept_bytes(&self, relation: RelationId) -> f64 {
        const OF_VALUE: f64 = 16.0;
        let Some(found) = self.bound.relations.get(relation as usize) else { return 0.0 };
        let from = Column { relation, column: 0 };
        let read = self.bound.read.range(from..=Column { relation, column: u16::MAX });
        let bytes = read.map(|column| match found.columns.get(usize::from(column.column)) {
            Some((_, ty)) if stored::width(table::kind(ty.oid)).is_none() => OF_VALUE + self.column_width(*column, *ty),
            _ => OF_VALUE,
        });
        bytes.sum()
    }

    /// Is it cheaper to look `found` rows of a table up in an index for each of the outer rows than to read all `inner` rows into a hash
    /// table or to sort them, which costs `scan`?
    pub fn prefers_lookups(&self, table: &TableDef, (outer, found): (f64, f64), inner: f64, scan: f64) -> bool {
        let planning = self.planning;
        let hashed = inner * planning.build() + outer * planning.probe() + Planning::off(planning.hash_join);
        let sorted = self.sort_cost(inner, 0.0) + self.sort_cost(outer, 0.0);
        let joined = scan + hashed.min(sorted + self.merge_cost(outer, inner));
        outer * self.lookup_cost(table, found) + Planning::off(planning.nested_loop) <= joined
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
