//! Joins of two nodes: by a hash table of one side, by merging both in the order of the keys, or by a look at all pairs.
//!
//! Rules
//! 1. Keys are equalities of an expression of each side; what else must hold is tested for pairs with equal keys.
//! 2. A hash table is of the smaller side, if it is known which one that is.
//! 3. All pairs are looked at where there is no key, or where both other ways are switched off.

use super::choose::{Planner, equality_sides};
use super::cost::Guess;
use super::planning::Planning;
use super::tree::{JoinType, Node};
use crate::bind::expr::common_kind;
use crate::bind::tree::{Expr, ExprKind, RelationId};
use crate::plan::blob::Constant;
use crate::types::{Kind, Oid, Type};
use base::{Error, Result};
use std::collections::BTreeSet;

type Relations = BTreeSet<RelationId>;

/// Keys of both sides with what they are compared as: outer, inner.
pub(super) type Keys = Vec<(Expr, Expr, Kind)>;

/// Takes the keys out of conditions on two sides.
pub(super) fn keys_of(joining: Vec<Expr>, inner: &Relations, outer: &Relations) -> (Keys, Vec<Expr>) {
    let (mut keys, mut condition) = (Vec::new(), Vec::new());
    for expr in joining {
        match equality_sides(&expr, inner, outer) {
            Some((inner, outer)) => {
                let kind = common_kind(outer.ty.oid, inner.ty.oid);
                keys.push((outer, inner, kind));
            }
            None => condition.push(expr),
        }
    }
    (keys, condition)
}

/// What a full join without a pair of equal values is made by: all rows meet where its condition is the same for all of them.
fn full_join_key(condition: &[Expr]) -> Result<(Expr, Expr, Kind)> {
    if !condition.iter().all(|expr| matches!(expr.kind, ExprKind::Constant(_))) {
        let message = "FULL JOIN is only supported with merge-joinable or hash-joinable join conditions";
        return Err(Error::unsupported(message));
    }
    let one = Expr::constant(Constant::Int(1), Type::plain(Oid::INT4));
    Ok((one.clone(), one, Kind::Int4))
}

/// Are all rows of a node made from tables of users, of which it is known how large they are?
fn reads_tables(node: &Node) -> bool {
    match node {
        Node::SeqScan { .. } | Node::IndexScan(_) => true,
        Node::Filter { .. }
        | Node::NestedLoop { .. }
        | Node::HashJoin { .. }
        | Node::MergeJoin { .. }
        | Node::Sort { .. }
        | Node::Project { .. } => node.children().into_iter().all(reads_tables),
        _ => false,
    }
}

impl Planner<'_> {
    /// Joins two nodes under conditions on both, by whatever costs least. `sides` are the relations of the inner one and of the outer one.
    pub(super) fn equijoin(
        &mut self,
        join: JoinType,
        mut outer: Node,
        mut inner: Node,
        sides: (&Relations, &Relations),
        joining: Vec<Expr>,
    ) -> Result<Node> {
        let all = joining.clone();
        let (mut keys, condition) = keys_of(joining, sides.0, sides.1);
        if keys.is_empty() {
            if join != JoinType::Full {
                return Ok(self.pairs(join, outer, inner, condition));
            }
            keys.push(full_join_key(&condition)?);
            return Ok(self.hash_join(join, outer, inner, keys, condition));
        }
        let planning = self.planning;
        let loops = matches!(join, JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti);
        if loops && planning.nested_loop && !planning.hash_join && !planning.merge_join {
            return Ok(self.pairs(join, outer, inner, all));
        }
        let merged = self.cost_of_merge(&mut outer, &mut inner, &keys);
        let hashed = match self.turned(join, &outer, &inner) {
            Some(_) => self.guess().hash_cost(&inner, &outer),
            None => self.guess().hash_cost(&outer, &inner),
        };
        Ok(match merged < hashed {
            true => self.merge_join(join, outer, inner, keys, condition),
            false => self.hash_join(join, outer, inner, keys, condition),
        })
    }

    /// What it costs to merge two nodes, with what puts them in order, beside the nodes and the rows that come of it.
    fn cost_of_merge(&self, outer: &mut Node, inner: &mut Node, keys: &Keys) -> f64 {
        let (left, right) = sides(keys);
        let order = self.cost_of_order(outer, &left) + self.cost_of_order(inner, &right);
        let guess = self.guess();
        order + guess.merge_cost(guess.rows(outer), guess.rows(inner))
    }

    /// A merge join: both sides in the order of the keys.
    pub(super) fn merge_join(
        &mut self,
        join: JoinType,
        outer: Node,
        inner: Node,
        keys: Keys,
        condition: Vec<Expr>,
    ) -> Node {
        let (left, right) = sides(&keys);
        let (outer, left) = self.in_order_of(outer, left);
        let (inner, right) = self.in_order_of(inner, right);
        let keys = left.into_iter().zip(right).map(|((outer, kind), (inner, _))| (outer, inner, kind)).collect();
        Node::MergeJoin { join, outer: Box::new(outer), inner: Box::new(inner), keys, condition }
    }

    /// The join that a hash join becomes with its sides turned around, if that is better: the smaller one is the one that is kept.
    fn turned(&self, join: JoinType, outer: &Node, inner: &Node) -> Option<JoinType> {
        let guess = self.guess();
        let turned = match join {
            JoinType::Inner => JoinType::Inner,
            JoinType::Left => JoinType::Right,
            _ => return None,
        };
        let is_better = guess.rows(inner) > guess.rows(outer) && reads_tables(outer) && reads_tables(inner);
        is_better.then_some(turned)
    }

    /// A hash join, turned around if that is better.
    fn hash_join(&self, join: JoinType, outer: Node, inner: Node, keys: Keys, condition: Vec<Expr>) -> Node {
        match self.turned(join, &outer, &inner) {
            Some(join) => {
                let keys = keys.into_iter().map(|(outer, inner, kind)| (inner, outer, kind)).collect();
                Node::HashJoin { join, outer: Box::new(inner), inner: Box::new(outer), keys, condition }
            }
            None => Node::HashJoin { join, outer: Box::new(outer), inner: Box::new(inner), keys, condition },
        }
    }

    /// A look at all pairs.
    pub(super) fn pairs(&self, join: JoinType, outer: Node, inner: Node, condition: Vec<Expr>) -> Node {
        let inner = match inner {
            // What costs nothing to do again is not kept.
            inner @ (Node::Once { .. } | Node::Values { .. } | Node::WorkScan { .. }) => inner,
            inner @ Node::CommonScan { .. } if !self.is_open(&inner) => inner,
            inner @ (Node::SeqScan { .. } | Node::IndexScan(_))
                if !self.planning.material && !self.is_volatile(&inner) =>
            {
                inner
            }
            inner => self.materialize(inner),
        };
        Node::NestedLoop { join, outer: Box::new(outer), inner: Box::new(inner), condition }
    }
}

/// The keys of one side.
type SideKeys = Vec<(Expr, Kind)>;

fn sides(keys: &Keys) -> (SideKeys, SideKeys) {
    keys.iter().map(|(outer, inner, kind)| ((outer.clone(), *kind), (inner.clone(), *kind))).unzip()
}

impl Guess<'_> {
    /// What it costs to join two nodes by a hash table of the inner one, beside the nodes and the rows that come of it.
    pub(super) fn hash_cost(&self, outer: &Node, inner: &Node) -> f64 {
        let (left, right) = (self.rows(outer), self.rows(inner));
        let work = left * self.planning.probe() + right * self.planning.build();
        let rows = ((left, self.row_bytes(outer)), (right, self.row_bytes(inner)));
        work + self.planning.hash_spilled(rows.0, rows.1) + Planning::off(self.planning.hash_join)
    }

    /// What it costs to merge so many rows of two sides that are in order.
    pub(super) fn merge_cost(&self, outer: f64, inner: f64) -> f64 {
        (outer + inner) * self.planning.merge() + Planning::off(self.planning.merge_join)
    }
}
