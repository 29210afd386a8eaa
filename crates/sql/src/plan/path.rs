//! How a table's rows are found: by which index, and in which order.
//!
//! Rules
//! 1. An index is used where conditions give its first columns values, or its next one a range.
//! 2. Rows come in the order of an index if that is what is asked for, after the columns that have one value: from its
//!    beginning, or from its end where all directions are the other way round.

use super::tree::{Bound as IndexBound, IndexScan, JoinType, Key, Node};
use crate::bind::tree::{Column, Expr, ExprKind, RelationId};
use crate::catalog::definition::{IndexDef, Rows, TableDef};
use crate::types::function::Volatility;
use crate::types::op::Comparison;
use crate::types::{Kind, Oid, table};
use std::collections::BTreeSet;
use std::sync::Arc;

type Relations = BTreeSet<RelationId>;

/// What an index can do for a scan.
pub(super) struct Access {
    pub(super) index: Oid,
    pub(super) equal: Vec<Expr>,
    pub(super) low: IndexBound,
    pub(super) high: IndexBound,
    /// Which conditions the index sees to, by their place.
    pub(super) seen_to: Vec<usize>,
    /// One row can be found at most.
    pub(super) single: bool,
}

/// The best index for conditions on a table, given the relations whose columns are not there yet.
pub(super) fn best_index(
    table: &Arc<TableDef>,
    relation: RelationId,
    conditions: &[&Expr],
    pending: &Relations,
) -> Option<Access> {
    if !matches!(table.rows, Rows::Stored(_)) {
        return None;
    }
    let mut best: Option<Access> = None;
    for index in table.indexes.iter().filter(|index| index.usable) {
        let mut access =
            Access { index: index.oid, equal: Vec::new(), low: None, high: None, seen_to: Vec::new(), single: false };
        for part in &index.columns {
            let kind = table::kind(table.columns[usize::from(part.column)].ty.oid);
            let column = Column { relation, column: part.column };
            let tests = conditions.iter().enumerate().filter_map(|(place, expr)| {
                let (comparison, value) = comparison_with(expr, column, kind, pending)?;
                Some((place, comparison, value))
            });
            let tests: Vec<_> = tests.collect();
            if let Some((place, _, value)) = tests.iter().find(|(_, comparison, _)| *comparison == Comparison::Eq) {
                access.equal.push(value.clone());
                access.seen_to.push(*place);
                continue;
            }
            for (place, comparison, value) in tests {
                let (bound, within) = match comparison {
                    Comparison::Gt => (&mut access.low, false),
                    Comparison::Ge => (&mut access.low, true),
                    Comparison::Lt => (&mut access.high, false),
                    Comparison::Le => (&mut access.high, true),
                    _ => continue,
                };
                if bound.is_none() {
                    *bound = Some((value, within));
                    access.seen_to.push(place);
                }
            }
            break;
        }
        access.single = index.unique && access.equal.len() == index.columns.len();
        if access.seen_to.is_empty() {
            continue;
        }
        let score = |access: &Access| {
            (access.single, access.equal.len(), usize::from(access.low.is_some()) + usize::from(access.high.is_some()))
        };
        if best.as_ref().is_none_or(|best| score(&access) > score(best)) {
            best = Some(access);
        }
    }
    best
}

/// `column op value`, where the value is known before the table is read.
fn comparison_with(expr: &Expr, column: Column, kind: Kind, pending: &Relations) -> Option<(Comparison, Expr)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let comparison = call.op.comparison()?;
    if comparison == Comparison::Ne {
        return None;
    }
    let [left, right] = call.arguments.as_slice() else { return None };
    let is_column = |expr: &Expr| expr.kind == ExprKind::Column(column);
    let (comparison, value) = match () {
        () if is_column(left) => (comparison, right),
        () if is_column(right) => (comparison.flipped(), left),
        () => return None,
    };
    let integer = |kind| matches!(kind, Kind::Int2 | Kind::Int4 | Kind::Int8);
    let other = table::kind(value.ty.oid);
    if other != kind && !(integer(kind) && integer(other)) {
        return None;
    }
    let usable = !value.any(&mut |part| match &part.kind {
        ExprKind::Column(used) => pending.contains(&used.relation) || used.relation == column.relation,
        ExprKind::Subplan(_) => true,
        ExprKind::Call(call) => call.volatility == Volatility::Volatile,
        _ => false,
    });
    usable.then(|| (comparison, value.clone()))
}

/// A scan of a stored table.
pub(super) fn scan(
    relation: RelationId,
    alias: String,
    table: &Arc<TableDef>,
    filter: Vec<Expr>,
    pending: &Relations,
) -> Node {
    let conditions: Vec<&Expr> = filter.iter().collect();
    let Some(access) = best_index(table, relation, &conditions, pending) else {
        return Node::SeqScan { relation, alias, table: table.clone(), filter };
    };
    let (mut seen_to, mut rest) = (Vec::new(), Vec::new());
    for (place, expr) in filter.into_iter().enumerate() {
        match access.seen_to.contains(&place) {
            true => seen_to.push(expr),
            false => rest.push(expr),
        }
    }
    Node::IndexScan(Box::new(IndexScan {
        relation,
        alias,
        table: table.clone(),
        index: access.index,
        equal: access.equal,
        low: access.low,
        high: access.high,
        seen_to,
        filter: rest,
        single: access.single,
        backward: false,
    }))
}

/// Lets an index give a node's rows in the order of these columns, if it can: column, descending, nulls first. `whole` says that
/// all of a table may be read by an index for that.
pub(super) fn ordered(node: &mut Node, keys: &[(Column, bool, bool)], whole: bool) -> bool {
    match node {
        Node::Filter { child, .. } => ordered(child, keys, whole),
        Node::NestedLoop {
            join: JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti, outer, ..
        } => ordered(outer, keys, whole),
        Node::IndexScan(scan) => {
            let Some(index) = scan.table.index(scan.index) else { return false };
            // One row is in any order, if nothing of it is asked but its own columns.
            if scan.single && keys.iter().all(|key| key.0.relation == scan.relation) {
                return true;
            }
            let equal = scan.equal.len();
            let Some(backward) = gives_order(index, scan.relation, equal, keys) else { return false };
            scan.backward = backward;
            true
        }
        Node::SeqScan { relation, alias, table, filter } if whole => {
            let found = table
                .indexes
                .iter()
                .find_map(|index| gives_order(index, *relation, 0, keys).map(|backward| (index.oid, backward)));
            let Some((index, backward)) = found else { return false };
            *node = Node::IndexScan(Box::new(IndexScan {
                relation: *relation,
                alias: std::mem::take(alias),
                table: table.clone(),
                index,
                equal: Vec::new(),
                low: None,
                high: None,
                seen_to: Vec::new(),
                filter: std::mem::take(filter),
                single: false,
                backward,
            }));
            true
        }
        _ => false,
    }
}

/// Does an index give rows in the order of these columns, when its first columns have one value each? If so, whether from its end.
fn gives_order(index: &IndexDef, relation: RelationId, equal: usize, keys: &[(Column, bool, bool)]) -> Option<bool> {
    let fixed: Vec<u16> = index.columns.iter().take(equal).map(|part| part.column).collect();
    let mut parts = index.columns.iter().skip(equal);
    let mut backward = None;
    for (column, descending, nulls_first) in keys {
        if column.relation != relation {
            return None;
        }
        if fixed.contains(&column.column) {
            continue;
        }
        let part = parts.next().filter(|part| part.column == column.column)?;
        let turned = part.descending != *descending;
        if (part.nulls_first != *nulls_first) != turned || backward.is_some_and(|known| known != turned) {
            return None;
        }
        backward = Some(turned);
    }
    Some(backward.unwrap_or(false))
}

/// The columns that a query is sorted by, if all of its keys are plain columns of its `FROM`.
pub(super) fn plain_keys(keys: &[Key], targets: &[Expr]) -> Option<Vec<(Column, bool, bool)>> {
    let plain = |key: &Key| {
        let ExprKind::Column(result) = key.expr.kind else { return None };
        match targets.get(usize::from(result.column))?.kind {
            ExprKind::Column(column) => Some((column, key.descending, key.nulls_first)),
            _ => None,
        }
    };
    keys.iter().map(plain).collect()
}
