//! Subqueries in conditions that become joins: `EXISTS`, `NOT EXISTS` and `IN`.
//!
//! ```text
//!   WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.b > 0)    t joined with (u where b > 0) by a: rows of t with a partner
//!   WHERE NOT EXISTS (...)                                        the same: rows of t without one
//!   WHERE t.a IN (SELECT u.a FROM u WHERE u.b > 0)                as the first
//!   WHERE t.a IN (SELECT u.a FROM u GROUP BY u.a HAVING ...)      t joined with the subquery's result
//! ```
//!
//! A subquery that is run for each row costs as many runs as there are rows, however it is planned; as one of the items that are joined
//! it is hashed, looked up by an index, and tested before or after other joins, whatever is cheapest.
//!
//! Rules
//! 1. Only a condition that stands alone in `WHERE`: then false and null are the same, and a null never finds a partner. `NOT IN` is none
//!    of them: one null in the subquery makes it true for nothing.
//! 2. Each condition of the subquery must read a table of its own: it is then tested at the join or below it, and nowhere else.
//! 3. Nothing volatile is moved, and no query whose rows are locked or changed is touched: its conditions are tested once more when
//!    a row has changed meanwhile.

use super::choose::Planner;
use super::tree::JoinType;
use crate::bind::tree::{
    Body, Bound, Column, Expr, ExprKind, From, ModificationKind, Query, RelationId, Root, Select, Source, SubplanKind,
};
use crate::bind::walk::nothing;
use crate::types::function::Volatility;
use crate::types::op::Comparison;
use std::collections::BTreeSet;

type Relations = BTreeSet<RelationId>;

/// A subquery as something to join with.
pub(super) struct Unnested {
    /// Rows with a partner or without one.
    pub(super) join: JoinType,
    /// What gives the subquery's rows.
    pub(super) rows: Rows,
    /// The conditions: those on the subquery's tables alone among them.
    pub(super) conditions: Vec<Expr>,
}

/// What gives an unnested subquery's rows.
pub(super) enum Rows {
    /// The items of its `FROM`.
    Items(Vec<From>),
    /// The query itself.
    Query(Box<Query>),
}

/// The subplan that a condition is, and whether it is negated.
fn subplan_of(condition: &Expr) -> Option<(u16, bool)> {
    match &condition.kind {
        ExprKind::Subplan(number) => Some((*number, false)),
        ExprKind::Not(operand) => match operand.kind {
            ExprKind::Subplan(number) => Some((number, true)),
            _ => None,
        },
        _ => None,
    }
}

/// The subplans of a statement that become joins.
pub(super) fn mark(bound: &Bound, root: &Root) -> BTreeSet<u16> {
    let mut marked = BTreeSet::new();
    if bound.subplans.is_empty() {
        return marked;
    }
    match root {
        Root::Query(query) => in_query(bound, query, &mut marked),
        Root::Modification(modification) if modification.kind == ModificationKind::Insert => {
            in_query(bound, &modification.query, &mut marked);
        }
        Root::Modification(_) => {}
    }
    for relation in &bound.relations {
        if let Source::Query(query) = &relation.source {
            in_query(bound, query, &mut marked);
        }
    }
    bound.subplans.iter().for_each(|subplan| in_query(bound, &subplan.query, &mut marked));
    bound
        .commons
        .iter()
        .filter_map(|common| common.query.as_ref())
        .for_each(|query| in_query(bound, query, &mut marked));
    marked
}

fn in_query(bound: &Bound, query: &Query, marked: &mut BTreeSet<u16>) {
    match &query.body {
        Body::Select(select) if query.locking.is_empty() && !select.from.is_empty() => {
            let around = bound.relations_of(&select.from);
            for condition in &select.filter {
                if let Some((number, negated)) = subplan_of(condition)
                    && can_be_joined(bound, number, negated, &around)
                {
                    marked.insert(number);
                }
            }
        }
        Body::Operation { operands, .. } => operands.iter().for_each(|operand| in_query(bound, operand, marked)),
        _ => {}
    }
}

/// Can the subplan become a join with a query of these relations?
fn can_be_joined(bound: &Bound, number: u16, negated: bool, around: &Relations) -> bool {
    let Some(subplan) = bound.subplans.get(usize::from(number)) else { return false };
    let query = &*subplan.query;
    match &subplan.kind {
        SubplanKind::Exists => match plain(query) {
            Some(select) => {
                let (fits, correlated) = conditions_fit(bound, select, around);
                fits && correlated
            }
            None => false,
        },
        SubplanKind::Quantified { test, all: false, equal } if !negated && !equal.is_empty() => {
            let tests = conjuncts(test);
            let is_test = |expr: &&Expr| {
                let ExprKind::Call(call) = &expr.kind else { return false };
                let (reads, own) = (columns(bound, expr), query.output);
                call.op.comparison() == Some(Comparison::Eq)
                    && is_simple(expr)
                    && reads.iter().any(|column| around.contains(&column.relation))
                    && reads.iter().any(|column| column.relation == own)
            };
            if !tests.iter().all(is_test) {
                return false;
            }
            if let Some(select) = plain(query)
                && query.targets.iter().all(|target| is_simple(&target.expr) && reads_own(bound, select, &target.expr))
            {
                return conditions_fit(bound, select, around).0;
            }
            let mut reads = BTreeSet::new();
            bound.columns_of(query, &mut reads);
            query.locking.is_empty() && !reads.iter().any(|column| around.contains(&column.relation))
        }
        _ => false,
    }
}

/// A query that only joins and filters.
fn plain(query: &Query) -> Option<&Select> {
    let Body::Select(select) = &query.body else { return None };
    let plain = select.grouping.is_none()
        && select.windows.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty()
        && !select.from.is_empty();
    plain.then_some(select)
}

/// Do the conditions of a subquery allow that it becomes a join, and is there one that reads the query around it?
fn conditions_fit(bound: &Bound, select: &Select, around: &Relations) -> (bool, bool) {
    let own = bound.relations_of(&select.from);
    let mut correlated = false;
    let is_round = |relation: &RelationId| {
        matches!(bound.relations.get(*relation as usize).map(|found| &found.source), Some(Source::Working(_)))
    };
    if own.iter().any(is_round) {
        return (false, false);
    }
    let mut read_by_items = BTreeSet::new();
    select.from.iter().for_each(|item| bound.columns_of_from(item, &mut read_by_items));
    if read_by_items.iter().any(|column| around.contains(&column.relation)) {
        return (false, false);
    }
    for condition in &select.filter {
        let reads = columns(bound, condition);
        if !reads.iter().any(|column| own.contains(&column.relation)) || is_volatile(condition) {
            return (false, false);
        }
        if reads.iter().any(|column| around.contains(&column.relation)) {
            correlated = true;
            if !is_simple(condition) {
                return (false, false);
            }
        }
    }
    (true, correlated)
}

fn reads_own(bound: &Bound, select: &Select, expr: &Expr) -> bool {
    let own = bound.relations_of(&select.from);
    columns(bound, expr).iter().any(|column| own.contains(&column.relation))
}

fn columns(bound: &Bound, expr: &Expr) -> BTreeSet<Column> {
    let mut columns = BTreeSet::new();
    bound.columns_in(expr, &mut columns);
    columns
}

/// Is anything in it computed anew each time?
pub(super) fn is_volatile(expr: &Expr) -> bool {
    expr.any(&mut |part| matches!(&part.kind, ExprKind::Call(call) if call.volatility == Volatility::Volatile))
}

/// May it be computed elsewhere, as often as need be?
fn is_simple(expr: &Expr) -> bool {
    !is_volatile(expr)
        && !expr.any(&mut |part| matches!(part.kind, ExprKind::Subplan(_) | ExprKind::Let(..) | ExprKind::Shared(_)))
}

fn conjuncts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::And(items) => items.iter().flat_map(conjuncts).collect(),
        _ => vec![expr],
    }
}

/// Puts what a query selects in the place of its results.
fn replace(expr: &mut Expr, output: RelationId, targets: &[Expr]) {
    match expr.kind {
        ExprKind::Column(column) if column.relation == output => {
            if let Some(target) = targets.get(usize::from(column.column)) {
                *expr = target.clone();
            }
        }
        _ => expr.children_mut(&mut |child| replace(child, output, targets)),
    }
}

impl Planner<'_> {
    /// What a condition becomes, if it becomes a join.
    pub(super) fn unnest(&mut self, condition: &Expr) -> Option<Unnested> {
        let (number, negated) = subplan_of(condition).filter(|(number, _)| self.unnested.contains(number))?;
        let subplan = &mut self.bound.subplans[usize::from(number)];
        let mut query = std::mem::replace(&mut subplan.query, Box::new(nothing()));
        let kind = std::mem::replace(&mut subplan.kind, SubplanKind::Exists);
        let mut conditions = match kind {
            SubplanKind::Quantified { test, .. } => conjuncts(&test).into_iter().cloned().collect(),
            _ => Vec::new(),
        };
        let join = if negated { JoinType::Anti } else { JoinType::Semi };
        let pulled = match plain(&query) {
            None => false,
            Some(select) => {
                conditions.is_empty()
                    || query
                        .targets
                        .iter()
                        .all(|target| is_simple(&target.expr) && reads_own(self.bound, select, &target.expr))
            }
        };
        let output = query.output;
        match &mut query.body {
            Body::Select(select) if pulled => {
                let Select { from, filter, .. } = std::mem::take(select);
                let targets: Vec<Expr> = query.targets.iter().map(|target| target.expr.clone()).collect();
                conditions.iter_mut().for_each(|condition| replace(condition, output, &targets));
                conditions.extend(filter);
                Some(Unnested { join, rows: Rows::Items(from), conditions })
            }
            _ => Some(Unnested { join, rows: Rows::Query(query), conditions }),
        }
    }
}
