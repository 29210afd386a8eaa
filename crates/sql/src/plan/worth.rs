//! What is kept of a plan to tell whether it pays to plan a statement for the values of its parameters.
//!
//! Rules
//! 1. Only of plans whose guesses depend on values ([`Bound::values_matter`]), and of those that were made for values, is anything computed.
//! 2. Two plans have the same shape if they find their rows in the same way: the same nodes, with the same indexes, joined in the same order.
//!    Then one is as good as the other, whatever is thought to come out of them.

use super::cost::Guess;
use super::tree::{JoinType, Node, Tree};
use crate::bind::tree::Bound;
use crate::catalog::Catalog;
use std::hash::{DefaultHasher, Hash, Hasher};

/// See the head of this file.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Worth {
    /// What an execution costs.
    pub cost: f32,
    /// The same for plans of the same shape.
    pub shape: u32,
}

impl Worth {
    /// What a tree is worth.
    pub(crate) fn of(bound: &Bound, tree: &Tree, catalog: &Catalog<'_>) -> Worth {
        let guess = Guess { bound, catalog, origins: &tree.origins, planning: &tree.planning };
        let subplans = tree.subplans.iter().map(|subplan| &subplan.root);
        let commons = tree.commons.iter().flatten().map(|common| &common.root);
        let mut hasher = DefaultHasher::new();
        let mut cost = 0.0;
        for root in std::iter::once(&tree.root).chain(subplans).chain(commons) {
            cost += guess.cost(root);
            shape(root, &mut hasher);
        }
        Worth { cost: cost as f32, shape: hasher.finish() as u32 }
    }
}

fn shape(node: &Node, out: &mut DefaultHasher) {
    std::mem::discriminant(node).hash(out);
    let number = |join: &JoinType| *join as u8;
    match node {
        Node::SeqScan { relation, .. } => relation.hash(out),
        Node::IndexScan(scan) => {
            let bounds = (scan.low.is_some(), scan.high.is_some(), scan.backward);
            (scan.relation, scan.index.0, scan.equal.len(), bounds).hash(out);
        }
        Node::NestedLoop { join, .. } | Node::HashJoin { join, .. } | Node::MergeJoin { join, .. } => {
            number(join).hash(out)
        }
        _ => {}
    }
    let children = node.children();
    children.len().hash(out);
    children.into_iter().for_each(|child| shape(child, out));
}
