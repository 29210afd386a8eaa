//! How a table's rows are found: by which index, and in which order.
//!
//! Rules
//! 1. An index is used where conditions give its first columns values, or its next one a range. A column may be an expression: the
//!    condition has to be on the same one.
//! 2. An index of some rows is used where the statement's conditions imply that it has all rows that are asked for ([`implied`]).
//! 3. Rows come in the order of an index if that is what is asked for, after the columns that have one value: from its
//!    beginning, or from its end where all directions are the other way round.
//! 4. `LIKE` with a pattern that begins with plain characters is a range, and is tested again: texts compare by their bytes.

use super::blob::Constant;
use super::known;
use super::tree::{Bound as IndexBound, IndexScan, JoinType, Key, Node};
use crate::bind::implied::{Implied, alike, implied};
use crate::bind::tree::{Bound, BoundIndex, Column, Expr, ExprKind, Origin, RelationId, TABLE_OID};
use crate::catalog::definition::{IndexDef, Rows, TableDef};
use crate::key;
use crate::types::function::Volatility;
use crate::types::op::{Comparison, Op};
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
    /// Which conditions it makes use of: those that are tested again too.
    pub(super) used: Vec<usize>,
    /// One row can be found at most.
    pub(super) single: bool,
}

/// What is asked of the columns of an index: by its place the comparison and the value, and whether it is tested again.
struct Test {
    place: usize,
    comparison: Comparison,
    value: Expr,
    again: bool,
}

/// The columns of an index as expressions over a relation; none if they are not known.
fn parts(bound: &Bound, table: &TableDef, index: &IndexDef, relation: RelationId) -> Option<Vec<Expr>> {
    match index.key_columns() {
        Some(columns) => {
            let part = |column: u16| Expr::column(relation, column, table.columns[usize::from(column)].ty);
            Some(columns.into_iter().map(part).collect())
        }
        None => computed(bound, index, relation).map(|known| known.keys.clone()),
    }
}

fn computed<'b>(bound: &'b Bound, index: &IndexDef, relation: RelationId) -> Option<&'b BoundIndex> {
    bound.indexed.get(&relation)?.iter().find(|known| known.index == index.oid)
}

/// Has an index all rows for which the conditions hold?
fn has_all<'x>(
    bound: &Bound,
    index: &IndexDef,
    relation: RelationId,
    conditions: impl Iterator<Item = &'x Expr> + Clone,
) -> bool {
    if index.predicate.is_none() {
        return true;
    }
    let Some(known) = computed(bound, index, relation) else { return false };
    match implied(bound, conditions.clone(), &known.predicate) {
        Implied::Yes => true,
        Implied::Literal => {
            bound.wants_literals.set(true);
            false
        }
        Implied::No => {
            // With the value in place it may be implied.
            if conditions.clone().any(|condition| known::is_awaited(bound, condition)) {
                bound.values_matter.set(true);
            }
            false
        }
    }
}

/// Is the index of so few rows that reading all of it is worth while? Some value of a column is all that is known to say so.
fn is_of_few(bound: &Bound, index: &IndexDef, relation: RelationId) -> bool {
    let is_equality = |expr: &Expr| match &expr.kind {
        ExprKind::Call(call) => {
            call.op.comparison() == Some(Comparison::Eq)
                && call.arguments.iter().any(|argument| matches!(argument.kind, ExprKind::Constant(_)))
        }
        _ => false,
    };
    computed(bound, index, relation).is_some_and(|known| known.predicate.iter().any(is_equality))
}

/// The best index for conditions on a table, given the relations whose columns are not there yet.
pub(super) fn best_index(
    bound: &Bound,
    table: &Arc<TableDef>,
    relation: RelationId,
    conditions: &[&Expr],
    pending: &Relations,
) -> Option<Access> {
    let score = |access: &Access| {
        (access.single, access.equal.len(), usize::from(access.low.is_some()) + usize::from(access.high.is_some()))
    };
    let has_few = |access: &Access| table.index(access.index).is_some_and(|index| index.predicate.is_some());
    let mut best: Option<Access> = None;
    for access in accesses(bound, table, relation, conditions, pending) {
        let is_better = |best: &Access| {
            // Of two that do the same the one that has fewer rows.
            score(&access) > score(best) || (score(&access) == score(best) && has_few(&access) && !has_few(best))
        };
        if best.as_ref().is_none_or(is_better) {
            best = Some(access);
        }
    }
    best
}

/// What each index can do for conditions on a table.
pub(super) fn accesses(
    bound: &Bound,
    table: &Arc<TableDef>,
    relation: RelationId,
    conditions: &[&Expr],
    pending: &Relations,
) -> Vec<Access> {
    let mut found = Vec::new();
    if !matches!(table.rows, Rows::Stored(_)) || conditions.is_empty() {
        return found;
    }
    for index in table.indexes.iter().filter(|index| index.usable) {
        let Some(parts) = parts(bound, table, index, relation) else { continue };
        let (seen_to, used) = (Vec::new(), Vec::new());
        let mut access =
            Access { index: index.oid, equal: Vec::new(), low: None, high: None, seen_to, used, single: false };
        for part in &parts {
            let mut tests: Vec<Test> = Vec::new();
            for (place, expr) in conditions.iter().enumerate() {
                tests.extend(tests_of(bound, expr, part, relation, pending, place));
            }
            if let Some(test) = tests.iter().find(|test| test.comparison == Comparison::Eq) {
                access.equal.push(test.value.clone());
                access.used.push(test.place);
                if !test.again {
                    access.seen_to.push(test.place);
                }
                continue;
            }
            for Test { place, comparison, value, again } in tests {
                let (bound, within) = match comparison {
                    Comparison::Gt => (&mut access.low, false),
                    Comparison::Ge => (&mut access.low, true),
                    Comparison::Lt => (&mut access.high, false),
                    Comparison::Le => (&mut access.high, true),
                    _ => continue,
                };
                if bound.is_none() {
                    *bound = Some((value, within));
                    if !access.used.contains(&place) {
                        access.used.push(place);
                    }
                    if !again {
                        access.seen_to.push(place);
                    }
                }
            }
            break;
        }
        access.single = table.is_always_unique(index) && access.equal.len() == index.columns.len();
        let nothing = access.equal.is_empty() && access.low.is_none() && access.high.is_none();
        if nothing && !(index.predicate.is_some() && is_of_few(bound, index, relation)) {
            continue;
        }
        if has_all(bound, index, relation, conditions.iter().copied()) {
            found.push(access);
        }
    }
    found
}

/// What a condition says of a column of an index.
fn tests_of(
    bound: &Bound,
    expr: &Expr,
    part: &Expr,
    relation: RelationId,
    pending: &Relations,
    place: usize,
) -> Vec<Test> {
    if let Some((comparison, value)) = comparison_with(bound, expr, part, relation, pending) {
        return vec![Test { place, comparison, value, again: false }];
    }
    if part.ty.oid == Oid::BOOL {
        // A truth value is a condition itself.
        let (operand, value) = match &expr.kind {
            ExprKind::Not(operand) => (&**operand, false),
            _ => (expr, true),
        };
        if operand == part {
            let value = Expr::constant(Constant::Bool(value), part.ty);
            return vec![Test { place, comparison: Comparison::Eq, value, again: false }];
        }
    }
    pattern_range(bound, expr, part, place)
}

/// Are an expression of the statement and a column of an index the same?
fn is_part(bound: &Bound, expr: &Expr, part: &Expr) -> bool {
    if matches!(part.kind, ExprKind::Column(_)) {
        return expr.kind == part.kind;
    }
    match alike(bound, expr, part) {
        Implied::Yes => true,
        Implied::Literal => {
            bound.wants_literals.set(true);
            false
        }
        Implied::No => false,
    }
}

/// `part op value`, where the value is known before the table is read.
fn comparison_with(
    bound: &Bound,
    expr: &Expr,
    part: &Expr,
    relation: RelationId,
    pending: &Relations,
) -> Option<(Comparison, Expr)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let comparison = call.op.comparison()?;
    if comparison == Comparison::Ne {
        return None;
    }
    let [left, right] = call.arguments.as_slice() else { return None };
    let (comparison, value) = match () {
        () if is_part(bound, left, part) => (comparison, right),
        () if is_part(bound, right, part) => (comparison.flipped(), left),
        () => return None,
    };
    let integer = |kind| matches!(kind, Kind::Int2 | Kind::Int4 | Kind::Int8);
    let (kind, other) = (table::kind(part.ty.oid), table::kind(value.ty.oid));
    if other != kind && !(integer(kind) && integer(other)) {
        return None;
    }
    let usable = !value.any(&mut |part| match &part.kind {
        ExprKind::Column(used) => pending.contains(&used.relation) || used.relation == relation,
        ExprKind::Subplan(_) => true,
        ExprKind::Call(call) => call.volatility == Volatility::Volatile,
        _ => false,
    });
    usable.then(|| (comparison, value.clone()))
}

/// The range of what `part LIKE 'abc%'` can match.
fn pattern_range(bound: &Bound, expr: &Expr, part: &Expr, place: usize) -> Vec<Test> {
    let ExprKind::Call(call) = &expr.kind else { return Vec::new() };
    let [left, right] = call.arguments.as_slice() else { return Vec::new() };
    if call.op != Op::Like || table::kind(left.ty.oid) != Kind::Text || table::kind(part.ty.oid) != Kind::Text {
        return Vec::new();
    }
    // A column of another text type is seen through its cast, which changes nothing of its bytes.
    let left = match &left.kind {
        ExprKind::Cast(operand, crate::types::cast::Method::Relabel, _) if !is_part(bound, left, part) => operand,
        _ => left,
    };
    if !is_part(bound, left, part) {
        return Vec::new();
    }
    let pattern = match &right.kind {
        ExprKind::Constant(Constant::Bytes(pattern)) => pattern,
        ExprKind::Parameter(number) => {
            let origin = bound.parameters.get(usize::from(*number)).map(|parameter| parameter.origin);
            match origin {
                Some(Origin::Slot(_)) => bound.wants_literals.set(true),
                _ => bound.values_matter.set(true),
            }
            return Vec::new();
        }
        _ => return Vec::new(),
    };
    let (prefix, whole) = plain_prefix(pattern);
    if prefix.is_empty() {
        return Vec::new();
    }
    let text = |bytes: Vec<u8>| Expr::constant(Constant::Bytes(bytes), part.ty);
    let test = |comparison, bytes| Test { place, comparison, value: text(bytes), again: true };
    if whole {
        return vec![test(Comparison::Eq, prefix)];
    }
    let mut end = prefix.clone();
    let mut tests = vec![test(Comparison::Ge, prefix)];
    if key::prefix_end(&mut end) {
        tests.push(test(Comparison::Lt, end));
    }
    tests
}

/// The characters that a pattern begins with, and whether they are all of it.
fn plain_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'%' | b'_' => return (prefix, false),
            b'\\' => match bytes.next() {
                Some(&next) => prefix.push(next),
                // An error, when it is matched.
                None => return (prefix, false),
            },
            byte => prefix.push(byte),
        }
    }
    (prefix, true)
}

/// A scan of a stored table, by an index if there is an access.
pub(super) fn scan(
    bound: &Bound,
    (relation, alias): (RelationId, String),
    table: &Arc<TableDef>,
    filter: Vec<Expr>,
    access: Option<Access>,
) -> Node {
    let Some(access) = access else {
        return Node::SeqScan { relation, alias, table: table.clone(), filter };
    };
    let (mut seen_to, mut rest) = (Vec::new(), Vec::new());
    for (place, expr) in filter.into_iter().enumerate() {
        match access.seen_to.contains(&place) {
            true => seen_to.push(expr),
            false => rest.push(expr),
        }
    }
    let index = table.index(access.index);
    let only = index.is_some_and(|index| has_all_that_is_read(bound, table, index, relation));
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
        only,
    }))
}

/// Has an index, in its entries, all columns that the statement reads of a relation's rows?
pub(super) fn has_all_that_is_read(bound: &Bound, table: &TableDef, index: &IndexDef, relation: RelationId) -> bool {
    let Some(columns) = index.key_columns().filter(|_| bound.by_index_alone) else { return false };
    let is_there = |column: &Column| {
        let ty = table.columns.get(usize::from(column.column)).map(|column| column.ty.oid);
        column.column == TABLE_OID
            || (columns.contains(&column.column) && ty.is_some_and(|oid| key::is_exact(table::kind(oid))))
    };
    bound.read.range(Column { relation, column: 0 }..=Column { relation, column: u16::MAX }).all(is_there)
}

/// A scan of all rows of a table by an index, perhaps from its end.
pub(super) fn whole_scan(
    bound: &Bound,
    (relation, alias): (RelationId, String),
    table: &Arc<TableDef>,
    filter: Vec<Expr>,
    (index, backward): (Oid, bool),
) -> Node {
    let found = table.index(index);
    Node::IndexScan(Box::new(IndexScan {
        only: found.is_some_and(|index| has_all_that_is_read(bound, table, index, relation)),
        relation,
        alias,
        table: table.clone(),
        index,
        equal: Vec::new(),
        low: None,
        high: None,
        seen_to: Vec::new(),
        filter,
        single: false,
        backward,
    }))
}

/// A key that rows are to come in the order of: what it is, descending, nulls first.
pub(super) type Order = (Expr, bool, bool);

/// Lets an index give a node's rows in the order of these keys, if it can. `whole` says that all of a table may be read by an index
/// for that.
pub(super) fn ordered(bound: &Bound, node: &mut Node, keys: &[Order], whole: bool) -> bool {
    match node {
        Node::Filter { child, .. } => ordered(bound, child, keys, whole),
        Node::NestedLoop {
            join: JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti, outer, ..
        } => ordered(bound, outer, keys, whole),
        Node::IndexScan(scan) => {
            let Some(index) = scan.table.index(scan.index) else { return false };
            // One row is in any order, if nothing of it is asked but its own columns.
            let own = |key: &Order| match key.0.kind {
                ExprKind::Column(column) => column.relation == scan.relation,
                _ => false,
            };
            if scan.single && keys.iter().all(own) {
                return true;
            }
            let Some(parts) = parts(bound, &scan.table, index, scan.relation) else { return false };
            let Some(backward) = gives_order(bound, index, &parts, scan.equal.len(), keys) else { return false };
            scan.backward = backward;
            true
        }
        // A node above needs the order that its sides have: it is as it is.
        Node::MergeJoin { join: JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti, .. }
        | Node::Sort { bound: None, .. } => has_order(node, keys),
        Node::SeqScan { relation, alias, table, filter } if whole => {
            let found = order_index(bound, (*relation, table), filter, keys);
            let Some(found) = found else { return false };
            let (alias, filter) = (std::mem::take(alias), std::mem::take(filter));
            *node = whole_scan(bound, (*relation, alias), &table.clone(), filter, found);
            true
        }
        _ => false,
    }
}

/// Do rows come in the order of these keys already, because they were sorted for a node above or by one?
fn has_order(node: &Node, keys: &[Order]) -> bool {
    match node {
        Node::MergeJoin { join, keys: merged, .. } => {
            let is_key = |(outer, inner, _): &(Expr, Expr, Kind), key: &Expr| {
                outer == key || (*join == JoinType::Inner && inner == key)
            };
            keys.len() <= merged.len()
                && keys.iter().zip(merged).all(|(key, merged)| !key.1 && !key.2 && is_key(merged, &key.0))
        }
        Node::Sort { keys: sorted, bound: None, .. } => {
            keys.len() <= sorted.len()
                && keys.iter().zip(sorted).all(|((expr, descending, nulls_first), sorted)| {
                    (expr, *descending, *nulls_first) == (&sorted.expr, sorted.descending, sorted.nulls_first)
                        && sorted.kind == table::kind(expr.ty.oid)
                })
        }
        _ => false,
    }
}

/// An index that gives all rows of a table in the order of these keys, and whether from its end.
fn order_index(
    bound: &Bound,
    (relation, table): (RelationId, &TableDef),
    filter: &[Expr],
    keys: &[Order],
) -> Option<(Oid, bool)> {
    table.indexes.iter().filter(|index| index.usable).find_map(|index| {
        let parts = parts(bound, table, index, relation)?;
        let backward = gives_order(bound, index, &parts, 0, keys)?;
        has_all(bound, index, relation, filter.iter()).then_some((index.oid, backward))
    })
}

/// Could an index give a node's rows in the order of these keys, if all of its table were read by it?
pub(super) fn can_be_ordered(bound: &Bound, node: &Node, keys: &[Order]) -> bool {
    match node {
        Node::Filter { child, .. } => can_be_ordered(bound, child, keys),
        Node::NestedLoop {
            join: JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti, outer, ..
        } => can_be_ordered(bound, outer, keys),
        Node::SeqScan { relation, table, filter, .. } => order_index(bound, (*relation, table), filter, keys).is_some(),
        _ => false,
    }
}

/// Does an index give rows in the order of these keys, when its first columns have one value each? If so, whether from its end.
fn gives_order(bound: &Bound, index: &IndexDef, parts: &[Expr], equal: usize, keys: &[Order]) -> Option<bool> {
    let fixed = &parts[..equal.min(parts.len())];
    let mut rest = index.columns.iter().zip(parts).skip(equal);
    let mut backward = None;
    for (key, descending, nulls_first) in keys {
        if fixed.iter().any(|part| is_part(bound, key, part)) {
            continue;
        }
        let (column, _) = rest.next().filter(|(_, part)| is_part(bound, key, part))?;
        let turned = column.descending != *descending;
        if (column.nulls_first != *nulls_first) != turned || backward.is_some_and(|known| known != turned) {
            return None;
        }
        backward = Some(turned);
    }
    Some(backward.unwrap_or(false))
}

/// What a query is sorted by, as expressions of its `FROM`.
pub(super) fn plain_keys(keys: &[Key], targets: &[Expr]) -> Option<Vec<Order>> {
    let plain = |key: &Key| {
        let ExprKind::Column(result) = key.expr.kind else { return None };
        let target = targets.get(usize::from(result.column))?;
        Some((target.clone(), key.descending, key.nulls_first))
    };
    keys.iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::plain_prefix;

    #[test]
    fn a_pattern_begins_with_plain_characters() {
        for (pattern, prefix, whole) in [
            ("abc%", "abc", false),
            ("abc", "abc", true),
            ("a_c%", "a", false),
            ("%a", "", false),
            ("a\\%b%", "a%b", false),
            ("a\\", "a", false),
            ("", "", true),
        ] {
            assert_eq!(plain_prefix(pattern.as_bytes()), (prefix.as_bytes().to_vec(), whole), "{pattern}");
        }
    }
}
