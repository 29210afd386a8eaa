//! Subqueries in `FROM` that need not be queries of their own: their tables become the outer query's.
//!
//! ```text
//!   SELECT v.x FROM (SELECT a + 1 AS x FROM t WHERE b) v JOIN u ON u.a = v.x
//!   SELECT a + 1 FROM t JOIN u ON u.a = a + 1 WHERE b
//! ```
//!
//! So a view costs nothing: its tables are looked up by the outer query's conditions, and joined in the order that is best for all. The
//! work is done on the bound statement, before it is planned. Relations are numbered over the whole statement, so that a subquery's
//! columns are replaced by what they stand for wherever they occur.
//!
//! Rules
//! 1. A subquery is pulled up if it only joins and filters: without grouping, windows, `DISTINCT`, `ORDER BY`, `LIMIT` and row locks of
//!    its own. Locks that the query around asks for become locks of that query, so that only rows that it gives are locked.
//! 2. What it selects may then be computed at several places, or never: it must not be volatile, nor hold a subplan or a shared value.
//! 3. On the side of an outer join whose rows may be null a subquery's columns must be columns of its tables: all else would have to become
//!    null with them. Its condition becomes one of the join. A full join's sides are left as they are if they have a condition.

use crate::bind::tree::{
    Body, Bound, Expr, ExprKind, From, Join, Modification, Query, RelationId, Root, RowLock, Select, Source,
    SubplanKind,
};
use crate::parser::ast::JoinKind;
use crate::types::function::Volatility;
use std::collections::BTreeMap;

/// What the columns of a subquery that was pulled up stand for.
type Replaced = BTreeMap<RelationId, Vec<Expr>>;

/// What a query takes from those that are pulled up into it, beside their tables.
struct Taken<'q> {
    /// Their conditions, if there is a place for them.
    conditions: Option<&'q mut Vec<Expr>>,
    /// Locks of their rows.
    locks: &'q mut Vec<RowLock>,
}

/// Pulls up what can be, in the whole statement.
pub(super) fn pull_up(bound: &mut Bound, root: &mut Root) {
    let mut replaced = Replaced::new();
    for number in 0..bound.subplans.len() {
        let mut query = std::mem::replace(&mut *bound.subplans[number].query, Query::empty());
        in_query(bound, &mut query, &mut replaced);
        *bound.subplans[number].query = query;
    }
    for number in 0..bound.commons.len() {
        if let Some(mut query) = bound.commons[number].query.take() {
            in_query(bound, &mut query, &mut replaced);
            bound.commons[number].query = Some(query);
        }
        if let Some(mut modification) = bound.commons[number].modification.take() {
            in_query(bound, &mut modification.query, &mut replaced);
            bound.commons[number].modification = Some(modification);
        }
    }
    match root {
        Root::Query(query) => in_query(bound, query, &mut replaced),
        Root::Modification(modification) => in_query(bound, &mut modification.query, &mut replaced),
    }
    if !replaced.is_empty() {
        replace_all(bound, root, &replaced);
    }
}

// ---- pulling up

fn in_query(bound: &mut Bound, query: &mut Query, replaced: &mut Replaced) {
    let Query { body, locking, .. } = query;
    match body {
        Body::Select(select) => {
            let mut items = Vec::with_capacity(select.from.len());
            for item in std::mem::take(&mut select.from) {
                let taken = Taken { conditions: Some(&mut select.filter), locks: &mut *locking };
                items.extend(in_item(bound, item, taken, false, replaced));
            }
            select.from = items;
        }
        Body::Operation { operands, .. } => {
            operands.iter_mut().for_each(|operand| in_query(bound, operand, replaced));
        }
        Body::Values(_) => {}
    }
}

/// The items that stand in the place of one; `nullable` says that an outer join may make nulls of the item's columns.
fn in_item(bound: &mut Bound, item: From, taken: Taken<'_>, nullable: bool, replaced: &mut Replaced) -> Vec<From> {
    let relation = match item {
        From::Relation(relation) => relation,
        From::Join(join) => return vec![in_join(bound, *join, taken, nullable, replaced)],
    };
    let place = relation as usize;
    let mut source = std::mem::replace(&mut bound.relations[place].source, Source::Computed);
    if let Source::Query(query) = &mut source {
        in_query(bound, query, replaced);
        let fits = can_be_pulled(bound, query, relation, nullable, taken.conditions.is_some());
        let Query { body, targets, locking, .. } = &mut **query;
        if let Body::Select(select) = body
            && fits
        {
            let Select { from, filter, .. } = std::mem::take(select);
            taken.conditions.into_iter().for_each(|conditions| conditions.extend_from_slice(&filter));
            taken.locks.append(locking);
            replaced.insert(relation, targets.drain(..).map(|target| target.expr).collect());
            return from;
        }
    }
    bound.relations[place].source = source;
    vec![From::Relation(relation)]
}

fn in_join(bound: &mut Bound, join: Join, taken: Taken<'_>, nullable: bool, replaced: &mut Replaced) -> From {
    let Join { kind, left, right, mut condition } = join;
    let Taken { mut conditions, locks } = taken;
    let mut one = |item, conditions: Option<&mut Vec<Expr>>, nullable| {
        crossed(in_item(bound, item, Taken { conditions, locks: &mut *locks }, nullable, replaced))
    };
    let (left, right) = match kind {
        JoinKind::Inner => (one(left, Some(&mut condition), nullable), one(right, Some(&mut condition), nullable)),
        // The side whose rows are all kept is filtered by the whole join's condition.
        JoinKind::Left => (one(left, conditions.as_deref_mut(), nullable), one(right, Some(&mut condition), true)),
        JoinKind::Right => (one(left, Some(&mut condition), true), one(right, conditions, nullable)),
        JoinKind::Full => (one(left, None, true), one(right, None, true)),
    };
    From::Join(Box::new(Join { kind, left, right, condition }))
}

/// Several items as one.
fn crossed(items: Vec<From>) -> From {
    let joined = items
        .into_iter()
        .reduce(|left, right| From::Join(Box::new(Join { kind: JoinKind::Inner, left, right, condition: Vec::new() })));
    joined.unwrap_or_else(|| unreachable!("nothing is pulled up from a query without FROM"))
}

fn can_be_pulled(bound: &Bound, query: &Query, relation: RelationId, nullable: bool, has_place: bool) -> bool {
    let Body::Select(select) = &query.body else { return false };
    let plain = select.grouping.is_none()
        && select.windows.is_empty()
        && query.distinct.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.iter().all(|lock| lock.inherited && !nullable);
    if !plain || select.from.is_empty() || (!has_place && !select.filter.is_empty()) {
        return false;
    }
    let own = bound.relations_of(&select.from);
    // What a round of a recursion finds is counted where it stands.
    if own.iter().any(|own| matches!(bound.relations[*own as usize].source, Source::Working(_))) {
        return false;
    }
    let columns = &bound.relations[relation as usize].columns;
    query.targets.len() >= columns.len()
        && query.targets.iter().enumerate().all(|(index, target)| {
            let same = columns.get(index).is_none_or(|(_, ty)| *ty == target.expr.ty);
            let is_own = match &target.expr.kind {
                ExprKind::Column(column) => own.contains(&column.relation),
                _ => false,
            };
            same && (is_own || (!nullable && can_be_repeated(&target.expr)))
        })
}

/// Is it the same wherever it is computed?
fn can_be_repeated(expr: &Expr) -> bool {
    !expr.any(&mut |part| match &part.kind {
        ExprKind::Call(call) => call.volatility == Volatility::Volatile,
        ExprKind::Subplan(_) | ExprKind::Let(..) | ExprKind::Shared(_) => true,
        _ => false,
    })
}

// ---- columns and what they stand for

fn replace(expr: &mut Expr, replaced: &Replaced) {
    if let ExprKind::Column(column) = expr.kind {
        if let Some(new) = replaced.get(&column.relation).and_then(|exprs| exprs.get(usize::from(column.column))) {
            *expr = new.clone();
            // It may itself be of a subquery that was pulled up.
            replace(expr, replaced);
        }
        return;
    }
    expr.children_mut(&mut |child| replace(child, replaced));
}

fn replace_all(bound: &mut Bound, root: &mut Root, replaced: &Replaced) {
    for relation in &mut bound.relations {
        match &mut relation.source {
            Source::Query(query) => replace_in_query(query, replaced),
            Source::Function { call, .. } => replace(call, replaced),
            Source::Table(_) | Source::Common(_) | Source::Working(_) | Source::Computed => {}
        }
    }
    for subplan in &mut bound.subplans {
        replace_in_query(&mut subplan.query, replaced);
        if let SubplanKind::Quantified { test, equal, .. } = &mut subplan.kind {
            replace(test, replaced);
            for (left, right, _) in equal {
                replace(left, replaced);
                replace(right, replaced);
            }
        }
    }
    for common in &mut bound.commons {
        common.query.iter_mut().for_each(|query| replace_in_query(query, replaced));
        common.modification.iter_mut().for_each(|modification| replace_in_modification(modification, replaced));
    }
    match root {
        Root::Query(query) => replace_in_query(query, replaced),
        Root::Modification(modification) => replace_in_modification(modification, replaced),
    }
}

fn replace_in_query(query: &mut Query, replaced: &Replaced) {
    query.targets.iter_mut().for_each(|target| replace(&mut target.expr, replaced));
    query.limit.iter_mut().chain(&mut query.offset).for_each(|expr| replace(expr, replaced));
    match &mut query.body {
        Body::Select(select) => {
            select.filter.iter_mut().for_each(|expr| replace(expr, replaced));
            select.from.iter_mut().for_each(|item| replace_in_item(item, replaced));
            if let Some(grouping) = &mut select.grouping {
                grouping.keys.iter_mut().chain(&mut grouping.having).for_each(|expr| replace(expr, replaced));
                for call in &mut grouping.aggregates {
                    let order = call.order_by.iter_mut().map(|(expr, ..)| expr);
                    call.arguments
                        .iter_mut()
                        .chain(order)
                        .chain(&mut call.filter)
                        .for_each(|expr| replace(expr, replaced));
                }
            }
            select.windows.iter_mut().for_each(|window| window.exprs_mut(&mut |expr| replace(expr, replaced)));
        }
        Body::Values(rows) => rows.iter_mut().flatten().for_each(|expr| replace(expr, replaced)),
        Body::Operation { operands, .. } => {
            operands.iter_mut().for_each(|operand| replace_in_query(operand, replaced));
        }
    }
}

fn replace_in_item(item: &mut From, replaced: &Replaced) {
    if let From::Join(join) = item {
        join.condition.iter_mut().for_each(|expr| replace(expr, replaced));
        replace_in_item(&mut join.left, replaced);
        replace_in_item(&mut join.right, replaced);
    }
}

fn replace_in_modification(modification: &mut Modification, replaced: &Replaced) {
    replace_in_query(&mut modification.query, replaced);
    modification.checks.iter_mut().for_each(|(_, expr)| replace(expr, replaced));
    modification.view_checks.iter_mut().for_each(|(_, expr)| replace(expr, replaced));
    modification.generated.iter_mut().for_each(|(_, expr)| replace(expr, replaced));
    modification.returning.iter_mut().for_each(|target| replace(&mut target.expr, replaced));
    if let Some(conflict) = &mut modification.conflict {
        conflict.update.iter_mut().flatten().for_each(|(_, expr)| replace(expr, replaced));
        conflict.filter.iter_mut().for_each(|expr| replace(expr, replaced));
    }
}
