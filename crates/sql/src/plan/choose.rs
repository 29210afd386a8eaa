//! The planner: how the rows that a bound statement asks for are found.
//!
//! Conditions are tested as early as they can be. Where there is a choice, between an index and a scan, between orders of joins and ways
//! to join, it is made by costs ([`cost`](super::cost), [`join`](super::join), [`order`](super::order)), which follow from what `ANALYZE`
//! found ([`selectivity`](super::selectivity)).
//!
//! Rules
//! 1. Inner joins are reordered freely, outer joins never; an item that reads others' columns (`LATERAL`) comes after them.
//! 2. A condition on an outer join's result is not moved to the side whose rows may be null.
//! 3. A common table that is read once becomes a subquery, unless it was said to be materialized.

use super::StatementKind;
use super::cost::{Guess, Origins};
use super::path::{self, Access, accesses, best_index, ordered, plain_keys, scan};
use super::planning::Planning;
use super::tree::{CommonTree, JoinType, Key, LockRows, Modify, Node, Subtree, SubtreeKind, Tree};
use crate::bind::tree::{
    Body, Bound, Call, Column, Expr, ExprKind, From, Join, Modification, ModificationKind, Query, ROW_ID, Relation,
    RelationId, Root, Select, Source, SubplanKind,
};
use crate::bind::walk::{nothing, relations_in};
use crate::catalog::Catalog;
use crate::catalog::definition::{Rows, TableDef};
use crate::parser::ast::{JoinKind, SetOperation};
use crate::plan::blob::Constant;
use crate::types::function::Volatility;
use crate::types::op::{Comparison, Op};
use crate::types::{Kind, Oid, Type, table};
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;
use std::sync::Arc;

type Relations = BTreeSet<RelationId>;

/// Plans a bound statement.
pub fn choose(bound: &mut Bound, mut root: Root, catalog: &Catalog<'_>, planning: &Planning) -> Result<Tree> {
    super::pull_up::pull_up(bound, &mut root);
    let unnested = super::unnest::mark(bound, &root);
    bound.read = super::cost::read_by(bound, &root);
    bound.by_index_alone = planning.index_only_scan;
    let (subplans, commons, origins) = (Vec::new(), Vec::new(), Origins::new());
    let mut planner = Planner { bound, subplans, commons, catalog, planning, unnested, origins };
    planner.commons.resize_with(planner.bound.commons.len(), || None);
    planner.plan_subplans()?;
    for number in 0..planner.bound.commons.len() {
        planner.plan_common(number)?;
    }
    let (root, kind, columns) = match root {
        Root::Query(query) => {
            let names: Vec<String> = query.targets[..query.visible].iter().map(|target| target.name.clone()).collect();
            let output = query.output;
            let node = planner.query(*query, &Relations::new())?;
            (node, StatementKind::Select, columns(names, output))
        }
        Root::Modification(modification) => {
            let kind = match modification.kind {
                ModificationKind::Insert => StatementKind::Insert,
                ModificationKind::Update => StatementKind::Update,
                ModificationKind::Delete => StatementKind::Delete,
            };
            let (node, columns) = planner.modification(*modification)?;
            (node, kind, columns)
        }
    };
    let Planner { subplans, commons, origins, .. } = planner;
    let mut tree = Tree { root, kind, subplans, commons, columns, origins, worth: None, planning: *planning };
    if bound.values_matter.get() || bound.has_values {
        tree.worth = Some(super::worth::Worth::of(bound, &tree, catalog));
    }
    Ok(tree)
}

fn columns(names: Vec<String>, relation: RelationId) -> Vec<(String, Column)> {
    names.into_iter().enumerate().map(|(index, name)| (name, Column { relation, column: index as u16 })).collect()
}

pub(super) struct Planner<'p> {
    pub(super) bound: &'p mut Bound,
    pub(super) subplans: Vec<Subtree>,
    pub(super) commons: Vec<Option<CommonTree>>,
    pub(super) catalog: &'p Catalog<'p>,
    pub(super) planning: &'p Planning,
    /// Subplans that become joins.
    pub(super) unnested: BTreeSet<u16>,
    /// What columns of subqueries and groupings stand for.
    pub(super) origins: Origins,
}

/// Something that is joined with the rest.
struct Factor {
    from: From,
    /// The relations that it brings.
    relations: Relations,
    /// The relations of the same `FROM` that it reads.
    depends: Relations,
}

impl Planner<'_> {
    // ---- subplans and common tables

    fn plan_subplans(&mut self) -> Result<()> {
        // A subplan's own subplans were bound before it, so the free columns of those are known when it is planned.
        for number in 0..self.bound.subplans.len() {
            if self.unnested.contains(&(number as u16)) {
                let query = std::mem::replace(&mut self.bound.subplans[number].query, Box::new(nothing()));
                let mut free = BTreeSet::new();
                self.bound.columns_of(&query, &mut free);
                self.subplans_of_query(&query, &mut free);
                if let SubplanKind::Quantified { test, .. } = &self.bound.subplans[number].kind {
                    columns_in(test, &self.subplans, &mut free);
                }
                let (output, kind) = (query.output, SubtreeKind::Joined);
                self.bound.subplans[number].query = query;
                let (value, value_type) = (Kind::Bool, Oid::BOOL);
                let root = Node::Nothing;
                self.subplans.push(Subtree { root, output, kind, free, constant: false, value, value_type });
                continue;
            }
            let subplan = &mut self.bound.subplans[number];
            let query = std::mem::replace(&mut subplan.query, Box::new(nothing()));
            let kind = std::mem::replace(&mut subplan.kind, SubplanKind::Exists);
            let output = query.output;
            let (value, value_type) = query
                .targets
                .first()
                .map_or((Kind::Bool, Oid::BOOL), |target| (table::kind(target.expr.ty.oid), target.expr.ty.oid));
            let mut root = self.query(*query, &Relations::new())?;
            if matches!(kind, SubplanKind::Exists) {
                root = strip_order(root);
            }
            let kind = match kind {
                SubplanKind::Scalar => SubtreeKind::Scalar,
                SubplanKind::Exists => SubtreeKind::Exists,
                SubplanKind::Array => SubtreeKind::Array,
                SubplanKind::Quantified { test, all, equal } => SubtreeKind::Quantified { test, all, equal },
            };
            let free = self.free(&root);
            let constant = free.is_empty() && !self.is_volatile(&root);
            self.subplans.push(Subtree { root, output, kind, free, constant, value, value_type });
        }
        Ok(())
    }

    fn plan_common(&mut self, number: usize) -> Result<()> {
        let common = &mut self.bound.commons[number];
        if let Some(modification) = common.modification.take() {
            let (name, output) = (common.name.clone(), modification.new);
            let (root, columns) = self.modification(*modification)?;
            let output = columns.first().map_or(output, |(_, column)| column.relation);
            let (width, free) = (columns.len(), BTreeSet::new());
            let common = CommonTree { name, root, output, width, free, dependent: false, modifies: true };
            self.commons[number] = Some(common);
            return Ok(());
        }
        if common.references == 0 || common.is_inlined() {
            return Ok(());
        }
        let dependent = common.dependent;
        let (Some(query), name) = (common.query.take(), common.name.clone()) else { return Ok(()) };
        let (output, width) = (query.output, query.visible);
        let root = self.query(*query, &Relations::new())?;
        let free = self.free(&root);
        self.bound.commons[number].free.clone_from(&free);
        self.commons[number] = Some(CommonTree { name, root, output, width, free, dependent, modifies: false });
        Ok(())
    }

    /// The columns that a plan reads and does not make.
    pub(super) fn free(&self, node: &Node) -> BTreeSet<Column> {
        let mut used = BTreeSet::new();
        self.uses(node, &mut used);
        let mut produced = Relations::new();
        node.produced(&mut produced);
        used.retain(|column| !produced.contains(&column.relation));
        used
    }

    /// Adds the columns that a plan reads.
    fn uses(&self, node: &Node, used: &mut BTreeSet<Column>) {
        node.exprs(&mut |expr| columns_in(expr, &self.subplans, used));
        if let Node::CommonScan { common, .. } = node
            && let Some(common) = &self.commons[usize::from(*common)]
        {
            used.extend(&common.free);
        }
        node.children().into_iter().for_each(|child| self.uses(child, used));
    }

    pub(super) fn is_volatile(&self, node: &Node) -> bool {
        let mut volatile = false;
        node.exprs(&mut |expr| {
            volatile = volatile
                || expr.any(&mut |part| match &part.kind {
                    ExprKind::Call(call) => call.volatility == Volatility::Volatile,
                    ExprKind::Subplan(number) => {
                        self.subplans.get(usize::from(*number)).is_some_and(|subplan| !subplan.constant)
                    }
                    _ => false,
                });
        });
        volatile || node.children().into_iter().any(|child| self.is_volatile(child))
    }

    // ---- queries

    /// Plans a query. `pending` are the relations around it whose rows are not there yet when it is begun, so that it may
    /// not use their columns to look something up.
    pub(super) fn query(&mut self, query: Query, pending: &Relations) -> Result<Node> {
        let Query { body, output, targets, visible: _, distinct, order_by, limit, ties, offset, locking } = query;
        let types: Vec<Type> = targets.iter().map(|target| target.expr.ty).collect();
        let result = |index: u16| Expr::column(output, index, types[usize::from(index)]);
        // Rows that are locked are looked at.
        self.bound.read.extend(locking.iter().map(|lock| Column { relation: lock.relation, column: ROW_ID }));
        let mut lock_rows = None;
        if !locking.is_empty()
            && let Body::Select(select) = &body
        {
            let column = |index| Column { relation: output, column: index as u16 };
            let results = targets.iter().enumerate().map(|(index, target)| (column(index), target.expr.clone()));
            lock_rows = Some((self.recheck(select, &locking), results.collect()));
        }
        let (mut ordered, mut in_order_of_windows) = (Vec::new(), false);
        let mut postponed = Postponed::default();
        let mut node = match body {
            Body::Select(select) => {
                let child = self.select(select, pending, &mut ordered)?;
                let mut targets: Vec<Expr> = targets.into_iter().map(|target| target.expr).collect();
                if self.bound.relations.len() > 2 {
                    self.origins.insert(output, targets.clone());
                }
                // Where windows were computed rows may have the order already.
                in_order_of_windows = order_by.len() <= ordered.len()
                    && order_by.iter().zip(&ordered).all(|(key, known)| {
                        (key.descending, key.nulls_first) == (known.descending, known.nulls_first)
                            && targets[usize::from(key.target)] == known.expr
                    });
                if !order_by.is_empty() {
                    let is_key = |index| {
                        order_by.iter().any(|key| key.target == index)
                            || distinct.as_ref().is_some_and(|distinct| distinct.contains(&index))
                    };
                    postponed = postpone(&mut targets, is_key);
                }
                Node::Project { child: Box::new(child), relation: output, targets }
            }
            Body::Values(rows) => Node::Values { output, rows },
            Body::Operation { operation, all, operands, relation, recursion } => {
                let child = match recursion {
                    Some(number) => self.recursion(number, all, operands, relation, pending)?,
                    None => self.operation(operation, all, operands, relation, pending)?,
                };
                let targets = targets.into_iter().map(|target| target.expr).collect();
                Node::Project { child: Box::new(child), relation: output, targets }
            }
        };
        let keys: Vec<Key> = order_by
            .iter()
            .map(|key| Key {
                expr: result(key.target),
                kind: table::kind(types[usize::from(key.target)].oid),
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
            .collect();
        let tied: Vec<(Expr, Kind)> = match ties {
            true => keys.iter().map(|key| (key.expr.clone(), key.kind)).collect(),
            false => Vec::new(),
        };
        let mut sorted = keys.is_empty() || in_order_of_windows;
        if let Some(distinct) = distinct {
            let all = distinct.len() == types.len() && order_by.iter().all(|key| distinct.contains(&key.target));
            // What may not be hashed is sorted.
            let keeps_order = !all && !keys.is_empty() || !self.planning.hash_aggregate;
            if keeps_order {
                // `DISTINCT ON` keeps the first row of the order, in which rows with equal values must be beside each other.
                let ordered = |index: &u16| order_by.iter().any(|key| key.target == *index);
                let missing: Vec<Key> = distinct
                    .iter()
                    .filter(|index| !ordered(index))
                    .map(|index| Key {
                        expr: result(*index),
                        kind: table::kind(types[usize::from(*index)].oid),
                        descending: false,
                        nulls_first: false,
                    })
                    .collect();
                if !sorted || !missing.is_empty() {
                    let keys = keys.iter().cloned().chain(missing).collect();
                    node = Node::Sort { child: Box::new(node), keys, bound: None };
                }
                sorted = true;
            } else {
                // What does not fit in memory comes later.
                sorted = keys.is_empty();
            }
            let keys =
                distinct.into_iter().map(|index| (result(index), table::kind(types[usize::from(index)].oid))).collect();
            node = Node::Distinct { child: Box::new(node), keys, sorted: keeps_order };
        }
        let may_read_all = match self.planning.index_scan {
            // Without a limit reading all of a table and sorting is less work than fetching row by row.
            true => limit.is_some() || !self.planning.sort || !self.planning.seq_scan,
            false => false,
        };
        if !sorted && in_order(self.bound, &mut node, &keys, may_read_all) {
            sorted = true;
        }
        if !sorted {
            let bound = match (&limit, &offset) {
                _ if ties => None,
                (Some(limit), None) if locking.is_empty() => Some(limit.clone()),
                (Some(limit), Some(offset)) if locking.is_empty() => Some(sum(limit.clone(), offset.clone())),
                _ => None,
            };
            node = Node::Sort { child: Box::new(node), keys, bound };
        }
        if !postponed.results.is_empty() {
            node = computed_last(node, output, &types, postponed);
        }
        if let Some((recheck, results)) = lock_rows {
            node = Node::LockRows(Box::new(LockRows { child: node, locks: locking, recheck, results }));
        }
        if limit.is_some() || offset.is_some() {
            node = Node::Limit { child: Box::new(node), count: limit, offset, ties: tied };
        }
        Ok(node)
    }

    fn operation(
        &mut self,
        operation: SetOperation,
        all: bool,
        operands: Vec<Query>,
        relation: RelationId,
        pending: &Relations,
    ) -> Result<Node> {
        let types: Vec<Type> = self.bound.relations[relation as usize].columns.iter().map(|(_, ty)| *ty).collect();
        let mut children = Vec::with_capacity(operands.len());
        for operand in operands {
            let output = operand.output;
            let child = self.query(operand, pending)?;
            let targets = types.iter().enumerate().map(|(index, ty)| Expr::column(output, index as u16, *ty)).collect();
            children.push(Node::Project { child: Box::new(child), relation, targets });
        }
        let keys: Vec<(Expr, Kind)> = types
            .iter()
            .enumerate()
            .map(|(index, ty)| (Expr::column(relation, index as u16, *ty), table::kind(ty.oid)))
            .collect();
        if operation == SetOperation::Union {
            let append = Node::Append { relation, children };
            return Ok(match all {
                true => append,
                false if !self.planning.hash_aggregate => {
                    let (append, _) = self.in_order_of(append, keys.clone());
                    Node::Distinct { child: Box::new(append), keys, sorted: true }
                }
                false => Node::Distinct { child: Box::new(append), keys, sorted: false },
            });
        }
        let except = operation == SetOperation::Except;
        let mut children = children.into_iter();
        let (Some(left), Some(right)) = (children.next(), children.next()) else {
            return Err(Error::unsupported("an operation on sets with one operand"));
        };
        Ok(Node::SetOperation { except, all, relation, left: Box::new(left), right: Box::new(right), keys })
    }

    /// Plans a `SELECT` up to its results; says by what the rows are ordered, if windows have ordered them.
    fn select(&mut self, select: Select, pending: &Relations, ordered: &mut Vec<Key>) -> Result<Node> {
        let Select { from, filter, grouping, windows } = select;
        let mut node = self.from(from, filter, pending)?;
        if let Some(mut grouping) = grouping {
            let having = std::mem::take(&mut grouping.having);
            self.origins.insert(grouping.relation, grouping.keys.clone());
            let sorted = !self.planning.hash_aggregate && !grouping.keys.is_empty() && grouping.sets.is_empty();
            if sorted {
                let keys = std::mem::take(&mut grouping.keys);
                let kind_of = |key: &Expr| table::kind(key.ty.oid);
                let keys = keys.into_iter().map(|key| (key.clone(), kind_of(&key))).collect();
                let (ordered, keys) = self.in_order_of(node, keys);
                node = ordered;
                grouping.keys = keys.into_iter().map(|(key, _)| key).collect();
            }
            node = Node::Aggregate { child: Box::new(node), grouping: Box::new(grouping), sorted };
            if !having.is_empty() {
                node = Node::Filter { child: Box::new(node), condition: having };
            }
        }
        self.windows(node, windows, ordered)
    }

    // ---- joins

    pub(super) fn guess(&self) -> Guess<'_> {
        Guess { bound: self.bound, catalog: self.catalog, origins: &self.origins, planning: self.planning }
    }

    /// Joins a node with an item; `mine` are conditions on the item alone, `joining` those on both.
    #[allow(clippy::too_many_arguments)]
    fn join_nodes(
        &mut self,
        join: JoinType,
        outer: Node,
        chosen: &Relations,
        factor: Factor,
        mine: Vec<Expr>,
        joining: Vec<Expr>,
        pending: &Relations,
    ) -> Result<Node> {
        let Factor { from, relations, depends } = factor;
        let around: Relations = pending.difference(chosen).copied().collect();
        // An index lookup for each outer row.
        if let From::Relation(relation) = from
            && join != JoinType::Full
            && let Source::Table(table) = &self.bound.relations[relation as usize].source
        {
            let usable: Vec<&Expr> = mine.iter().chain(&joining).collect();
            let by_join = best_index(self.bound, table, relation, &usable, &around);
            let uses_join = by_join.as_ref().is_some_and(|access| {
                access.equal.iter().any(|expr| {
                    let mut columns = BTreeSet::new();
                    columns_in(expr, &self.subplans, &mut columns);
                    columns.iter().any(|column| chosen.contains(&column.relation))
                })
            });
            let by_hash = join != JoinType::Semi
                && join != JoinType::Anti
                && depends.is_empty()
                && joining.iter().any(|expr| equality_sides(expr, &relations, chosen).is_some());
            let prefers_lookups = |access: &Access| {
                let guess = self.guess();
                let found = guess.found((relation, table), access, &usable);
                let inner = guess.relation_rows(relation, mine.iter());
                let scan = match best_index(self.bound, table, relation, &mine.iter().collect::<Vec<_>>(), &around) {
                    Some(_) if self.planning.index_scan => guess.lookup_cost(table, inner),
                    _ => guess.scan_cost(table, mine.len()),
                };
                guess.prefers_lookups(table, (guess.rows(&outer), found), inner, scan)
            };
            let uses_join = match by_hash {
                true => uses_join && by_join.as_ref().is_some_and(prefers_lookups),
                // Without a table to hash, the choice is between an index and a look at all pairs.
                false => uses_join && (self.planning.index_scan || !self.planning.seq_scan),
            };
            if uses_join {
                let conditions = mine.into_iter().chain(joining).collect();
                let inner = self.looked_up(relation, conditions, &around)?;
                return Ok(Node::NestedLoop {
                    join,
                    outer: Box::new(outer),
                    inner: Box::new(inner),
                    condition: Vec::new(),
                });
            }
        }
        if depends.is_empty() {
            let inner = self.factor(from, mine, pending)?;
            return self.equijoin(join, outer, inner, (&relations, chosen), joining);
        }
        let inner = self.factor(from, mine, &around)?;
        Ok(Node::NestedLoop { join, outer: Box::new(outer), inner: Box::new(inner), condition: joining })
    }

    /// Plans one item with the conditions that concern it alone.
    pub(super) fn factor(&mut self, from: From, conditions: Vec<Expr>, pending: &Relations) -> Result<Node> {
        match from {
            From::Relation(relation) => self.relation(relation, conditions, pending),
            From::Join(join) => self.outer_join(*join, conditions, pending),
        }
    }

    /// Plans an outer join with conditions on its result.
    fn outer_join(&mut self, join: Join, conditions: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let Join { kind, left, right, condition } = join;
        let (kind, left, right) = match kind {
            JoinKind::Left => (JoinType::Left, left, right),
            JoinKind::Right => (JoinType::Left, right, left),
            JoinKind::Full => (JoinType::Full, left, right),
            JoinKind::Inner => {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an inner join is planned as an outer one"));
            }
        };
        let (mut outer_relations, mut inner_relations) = (Relations::new(), Relations::new());
        relations_in(&left, &mut outer_relations);
        relations_in(&right, &mut inner_relations);
        let needs = |planner: &Self, expr: &Expr| -> Relations {
            let mut columns = BTreeSet::new();
            columns_in(expr, &planner.subplans, &mut columns);
            let own = columns.iter().map(|column| column.relation);
            own.filter(|relation| outer_relations.contains(relation) || inner_relations.contains(relation)).collect()
        };
        // Conditions on the outer side alone are tested before the join; all others after it.
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for expr in conditions {
            let needed = needs(self, &expr);
            match kind == JoinType::Left && needed.is_subset(&outer_relations) && !needed.is_empty() {
                true => before.push(expr),
                false => after.push(expr),
            }
        }
        let (mut mine, mut joining) = (Vec::new(), Vec::new());
        for expr in condition {
            let needed = needs(self, &expr);
            match kind == JoinType::Left && needed.is_subset(&inner_relations) && !needed.is_empty() {
                true => mine.push(expr),
                false => joining.push(expr),
            }
        }
        let mut columns = BTreeSet::new();
        self.columns_of_from(&right, &mut columns);
        let read = columns.iter().map(|column| column.relation);
        let depends: Relations = read.filter(|relation| outer_relations.contains(relation)).collect();
        let outer = self.from(vec![left], before, pending)?;
        let factor = Factor { from: right, relations: inner_relations.clone(), depends };
        let node = match factor.from {
            From::Relation(_) => self.join_nodes(kind, outer, &outer_relations, factor, mine, joining, pending)?,
            From::Join(_) => self.join_composite(kind, outer, &outer_relations, factor, mine, joining, pending)?,
        };
        Ok(match after.is_empty() {
            true => node,
            false => Node::Filter { child: Box::new(node), condition: after },
        })
    }

    /// Joins with an item that is a join itself.
    #[allow(clippy::too_many_arguments)]
    fn join_composite(
        &mut self,
        join: JoinType,
        outer: Node,
        chosen: &Relations,
        factor: Factor,
        mine: Vec<Expr>,
        joining: Vec<Expr>,
        pending: &Relations,
    ) -> Result<Node> {
        let Factor { from, relations, depends } = factor;
        if depends.is_empty() {
            let inner = self.from(vec![from], mine, pending)?;
            return self.equijoin(join, outer, inner, (&relations, chosen), joining);
        }
        let around: Relations = pending.difference(chosen).copied().collect();
        let inner = self.from(vec![from], mine, &around)?;
        Ok(Node::NestedLoop { join, outer: Box::new(outer), inner: Box::new(inner), condition: joining })
    }

    // ---- relations

    pub(super) fn relation(&mut self, relation: RelationId, filter: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let found: &mut Relation = &mut self.bound.relations[relation as usize];
        let alias = found.name.clone();
        match std::mem::replace(&mut found.source, Source::Computed) {
            Source::Table(table) => {
                // At its place again before costs are asked for: what is known of the columns is found by it.
                self.bound.relations[relation as usize].source = Source::Table(table.clone());
                Ok(match table.rows {
                    Rows::Made(_) | Rows::None => Node::View { relation, alias, table, filter },
                    Rows::Stored(_) => self.stored(relation, alias, &table, filter, pending),
                })
            }
            Source::Query(query) => {
                let node = self.query(*query, pending)?;
                Ok(filtered(node, filter))
            }
            Source::Function { call, set, ordinality } => {
                Ok(Node::Function { relation, name: alias, call, set, ordinality, filter })
            }
            Source::Common(number) => {
                let common = &mut self.bound.commons[usize::from(number)];
                let name = common.name.clone();
                if common.is_inlined()
                    && let Some(query) = common.query.take()
                {
                    // Read once: a subquery under another name.
                    let (output, types): (_, Vec<Type>) =
                        (query.output, query.targets[..query.visible].iter().map(|target| target.expr.ty).collect());
                    let child = self.query(*query, &Relations::new())?;
                    let targets =
                        types.iter().enumerate().map(|(index, ty)| Expr::column(output, index as u16, *ty)).collect();
                    let node = Node::Project { child: Box::new(child), relation, targets };
                    return Ok(filtered(node, filter));
                }
                self.plan_common(usize::from(number))?;
                Ok(Node::CommonScan { relation, alias, common: number, name, filter })
            }
            Source::Working(number) => Ok(Node::WorkScan { relation, alias, number, filter }),
            Source::Computed => Err(Error::unsupported("a relation that is planned twice")),
        }
    }

    /// A scan of a stored table: by an index if that costs less than to read all of it.
    fn stored(
        &self,
        relation: RelationId,
        alias: String,
        table: &Arc<TableDef>,
        filter: Vec<Expr>,
        pending: &Relations,
    ) -> Node {
        let conditions: Vec<&Expr> = filter.iter().collect();
        let access = self.cheapest(relation, table, &conditions, pending);
        match access.is_none().then(|| self.whole_index(relation, table, &filter)).flatten() {
            Some(index) => path::whole_scan(self.bound, (relation, alias), table, filter, (index, false)),
            None => scan(self.bound, (relation, alias), table, filter, access),
        }
    }

    /// An index that has all that is read of a table, if reading it from its beginning to its end costs less than to read the table.
    fn whole_index(&self, relation: RelationId, table: &Arc<TableDef>, filter: &[Expr]) -> Option<Oid> {
        let guess = self.guess();
        let known = self.catalog.statistics(table.oid)?;
        let scan = guess.scan_cost(table, filter.len());
        let all = guess.entries_cost(f64::max(known.rows as f64, 1.0));
        let mut found = table.indexes.iter().filter(|index| index.usable && index.predicate.is_none());
        let index = found.find(|index| path::has_all_that_is_read(self.bound, table, index, relation))?;
        (all + filter.len() as f64 * known.rows as f64 * self.planning.test() < scan).then_some(index.oid)
    }

    /// The cheapest way to find a table's rows; none if that is to read all of it.
    pub(super) fn cheapest(
        &self,
        relation: RelationId,
        table: &Arc<TableDef>,
        conditions: &[&Expr],
        pending: &Relations,
    ) -> Option<Access> {
        if !self.planning.index_scan && self.planning.seq_scan {
            return None;
        }
        let access = best_index(self.bound, table, relation, conditions, pending)?;
        // Of a table that nobody has looked at it is not known whether it is small.
        if access.single || self.catalog.statistics(table.oid).is_none() {
            return Some(access);
        }
        let guess = self.guess();
        let cost = |access: &Access| {
            let found = guess.found((relation, table), access, conditions);
            match table.index(access.index) {
                Some(index) if path::has_all_that_is_read(self.bound, table, index, relation) => {
                    guess.entries_cost(found)
                }
                _ => guess.lookup_cost(table, found),
            }
        };
        let all = accesses(self.bound, table, relation, conditions, pending);
        let best = all.into_iter().map(|access| (cost(&access), access)).min_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|(cost, _)| *cost < guess.scan_cost(table, conditions.len())).map(|(_, access)| access)
    }

    /// The rows of a table for each row of others, by an index.
    pub(super) fn looked_up(&mut self, relation: RelationId, filter: Vec<Expr>, pending: &Relations) -> Result<Node> {
        let found = &self.bound.relations[relation as usize];
        let Source::Table(table) = &found.source else { return self.relation(relation, filter, pending) };
        let (alias, table) = (found.name.clone(), table.clone());
        let access = best_index(self.bound, &table, relation, &filter.iter().collect::<Vec<_>>(), pending);
        Ok(scan(self.bound, (relation, alias), &table, filter, access))
    }

    /// Adds the columns that an item of `FROM` reads.
    pub(super) fn columns_of_from(&self, from: &From, columns: &mut BTreeSet<Column>) {
        let mut direct = BTreeSet::new();
        self.bound.columns_of_from(from, &mut direct);
        columns.extend(direct);
        // Subplans have been taken out of the statement; what they read is known.
        self.subplans_of_from(from, columns);
    }

    fn subplans_of_from(&self, from: &From, columns: &mut BTreeSet<Column>) {
        match from {
            From::Join(join) => {
                join.condition.iter().for_each(|expr| columns_in(expr, &self.subplans, columns));
                self.subplans_of_from(&join.left, columns);
                self.subplans_of_from(&join.right, columns);
            }
            From::Relation(relation) => match &self.bound.relations[*relation as usize].source {
                Source::Function { call, .. } => columns_in(call, &self.subplans, columns),
                Source::Query(query) => self.subplans_of_query(query, columns),
                Source::Common(number) => {
                    if let Some(query) = &self.bound.commons[usize::from(*number)].query {
                        self.subplans_of_query(query, columns);
                    }
                }
                _ => {}
            },
        }
    }

    fn subplans_of_query(&self, query: &Query, columns: &mut BTreeSet<Column>) {
        let mut exprs: Vec<&Expr> = query.targets.iter().map(|target| &target.expr).collect();
        match &query.body {
            Body::Select(select) => {
                exprs.extend(&select.filter);
                if let Some(grouping) = &select.grouping {
                    exprs.extend(grouping.keys.iter().chain(&grouping.having));
                    exprs.extend(grouping.aggregates.iter().flat_map(|call| &call.arguments));
                }
                select.windows.iter().for_each(|window| window.exprs(&mut |expr| exprs.push(expr)));
                select.from.iter().for_each(|from| self.subplans_of_from(from, columns));
            }
            Body::Values(rows) => exprs.extend(rows.iter().flatten()),
            Body::Operation { operands, .. } => {
                operands.iter().for_each(|operand| self.subplans_of_query(operand, columns));
            }
        }
        exprs.into_iter().for_each(|expr| columns_in(expr, &self.subplans, columns));
    }

    // ---- statements that change rows

    fn modification(&mut self, modification: Modification) -> Result<(Node, Vec<(String, Column)>)> {
        let Modification {
            kind,
            table,
            relation,
            new,
            query,
            values,
            checks,
            view_checks,
            returning,
            conflict,
            updated,
            generated,
            instead,
            old,
        } = modification;
        let output = query.output;
        let targets: Vec<Expr> = query.targets.iter().map(|target| target.expr.clone()).collect();
        let row_id = (kind != ModificationKind::Insert && !instead).then(|| targets.len() as u16 - 1);
        let recheck = match &query.body {
            Body::Select(select) if kind != ModificationKind::Insert && !instead => select.filter.clone(),
            _ => Vec::new(),
        };
        let child = self.query(query, &Relations::new())?;
        let (others, changed_along) = self.catalog.related(&table)?;
        for other in &others {
            if !self.bound.tables.iter().any(|known| known.oid == other.oid) {
                self.bound.tables.push(other.clone());
            }
        }
        let names: Vec<String> = returning.iter().map(|target| target.name.clone()).collect();
        let mut result = Vec::new();
        let returning = match returning.is_empty() {
            true => None,
            false => {
                let returned = self.bound.relations.len() as RelationId;
                let columns = returning.iter().map(|target| (target.name.clone(), target.expr.ty)).collect();
                self.bound.relations.push(Relation { name: String::new(), columns, source: Source::Computed });
                result = columns_of(names, returned);
                Some((returned, returning.into_iter().map(|target| target.expr).collect()))
            }
        };
        let modify = Modify {
            kind,
            child,
            output,
            table,
            relation,
            new,
            values,
            row_id,
            recheck,
            targets: if kind == ModificationKind::Insert || instead { Vec::new() } else { targets },
            checks,
            view_checks,
            returning,
            conflict,
            updated,
            generated,
            instead,
            old,
            others,
            changed_along,
        };
        Ok((Node::Modify(Box::new(modify)), result))
    }
}

/// Lets an index give a query's rows in the order of the keys, if it can; `whole` says that it may read all of a table for that.
fn in_order(bound: &Bound, node: &mut Node, keys: &[Key], whole: bool) -> bool {
    let Node::Project { child, targets, .. } = node else { return false };
    plain_keys(keys, targets).is_some_and(|keys| ordered(bound, child, &keys, whole))
}

/// Results that are computed for the rows of an ordered query as they are given, not for all that are sorted.
#[derive(Default)]
struct Postponed {
    results: Vec<(u16, Expr)>,
    /// What is volatile and sorted by: a result with the same in it has the value that the row was sorted by, as in PostgreSQL.
    keys: Vec<(u16, Expr)>,
}

/// Takes the results out that may be another value each time, or have effects, and that rows are not compared by. A null stands in the place
/// of each.
fn postpone(targets: &mut [Expr], is_key: impl Fn(u16) -> bool) -> Postponed {
    let is_volatile =
        |part: &Expr| matches!(&part.kind, ExprKind::Call(call) if call.volatility == Volatility::Volatile);
    let mut postponed = Postponed::default();
    for (index, target) in targets.iter_mut().enumerate() {
        let index = index as u16;
        if !target.any(&mut |part| is_volatile(part)) {
            continue;
        }
        if is_key(index) {
            postponed.keys.push((index, target.clone()));
        } else {
            let null = Expr::constant(Constant::Null, target.ty);
            postponed.results.push((index, std::mem::replace(target, null)));
        }
    }
    postponed
}

/// Computes the results that were postponed from a query's rows in their order. Where nothing had to be put above the other results they are
/// computed with those.
fn computed_last(mut node: Node, output: RelationId, types: &[Type], postponed: Postponed) -> Node {
    let Postponed { results, keys } = postponed;
    if let Node::Project { targets, .. } = &mut node {
        results.into_iter().for_each(|(index, expr)| targets[usize::from(index)] = expr);
        return node;
    }
    // The others are there already, under the names that they have above.
    let mut targets: Vec<Expr> =
        types.iter().enumerate().map(|(index, ty)| Expr::column(output, index as u16, *ty)).collect();
    for (index, mut expr) in results {
        know_keys(&mut expr, output, &keys);
        targets[usize::from(index)] = expr;
    }
    Node::Project { child: Box::new(node), relation: output, targets }
}

fn know_keys(expr: &mut Expr, output: RelationId, keys: &[(u16, Expr)]) {
    match keys.iter().find(|(_, key)| key == expr) {
        Some((index, key)) => *expr = Expr::column(output, *index, key.ty),
        None => expr.children_mut(&mut |child| know_keys(child, output, keys)),
    }
}

fn columns_of(names: Vec<String>, relation: RelationId) -> Vec<(String, Column)> {
    columns(names, relation)
}

/// Adds the columns that an expression reads, those that its subplans need included.
pub(super) fn columns_in(expr: &Expr, subplans: &[Subtree], columns: &mut BTreeSet<Column>) {
    match &expr.kind {
        ExprKind::Column(column) => {
            columns.insert(*column);
        }
        ExprKind::Subplan(number) => {
            let Some(subplan) = subplans.get(usize::from(*number)) else { return };
            columns.extend(&subplan.free);
            if let SubtreeKind::Quantified { test, .. } = &subplan.kind {
                let mut tested = BTreeSet::new();
                columns_in(test, subplans, &mut tested);
                columns.extend(tested.into_iter().filter(|column| column.relation != subplan.output));
            }
        }
        _ => expr.children(&mut |child| columns_in(child, subplans, columns)),
    }
}

pub(super) fn filtered(node: Node, filter: Vec<Expr>) -> Node {
    match filter.is_empty() {
        true => node,
        false => Node::Filter { child: Box::new(node), condition: filter },
    }
}

/// The order of rows does not matter to whoever asks only whether there is one.
fn strip_order(node: Node) -> Node {
    match node {
        Node::Sort { child, .. } => *child,
        node => node,
    }
}

fn sum(limit: Expr, offset: Expr) -> Expr {
    let ty = limit.ty;
    let call = Call {
        op: Op::Int8Add,
        strict: true,
        volatility: Volatility::Immutable,
        arguments: vec![limit, offset],
        name: "+",
        operator: true,
    };
    Expr { kind: ExprKind::Call(Box::new(call)), ty }
}

/// The two sides of an equality between an inner item and the rest: (inner side, outer side).
pub(super) fn equality_sides(expr: &Expr, inner: &Relations, outer: &Relations) -> Option<(Expr, Expr)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    if call.op.comparison() != Some(Comparison::Eq) {
        return None;
    }
    let [left, right] = call.arguments.as_slice() else { return None };
    let side = |expr: &Expr| {
        let mut columns = Relations::new();
        let mut complex = false;
        expr.any(&mut |part| {
            match part.kind {
                ExprKind::Column(column) => {
                    columns.insert(column.relation);
                }
                ExprKind::Subplan(_) => complex = true,
                _ => {}
            }
            false
        });
        (columns, complex)
    };
    let ((left_columns, left_complex), (right_columns, right_complex)) = (side(left), side(right));
    if left_complex || right_complex || left_columns.is_empty() || right_columns.is_empty() {
        return None;
    }
    if left_columns.is_subset(inner) && right_columns.is_subset(outer) {
        return Some((left.clone(), right.clone()));
    }
    if right_columns.is_subset(inner) && left_columns.is_subset(outer) {
        return Some((right.clone(), left.clone()));
    }
    None
}
