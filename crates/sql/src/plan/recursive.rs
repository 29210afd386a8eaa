//! Recursive queries, and what has to be computed again when something around it has changed.
//!
//! A node is *open* if it reads the rows of a recursion's round that is not its own, or a common table that depends on what is around
//! it. What is open, or reads columns of rows around it, is not constant: rows that were kept of it are given up when the query
//! that it is in begins again.

use super::choose::Planner;
use super::tree::Node;
use crate::bind::tree::{Common, Expr, Query, RelationId};
use crate::types::{Kind, Type, table};
use base::{Error, Result};
use std::collections::BTreeSet;

impl Common {
    /// Does the query stand in the place of its one reference?
    pub(super) fn is_inlined(&self) -> bool {
        self.references == 1 && self.materialized != Some(true) && !self.is_recursive()
    }

    fn is_recursive(&self) -> bool {
        let body = self.query.as_ref().map(|query| &query.body);
        matches!(body, None | Some(crate::bind::tree::Body::Operation { recursion: Some(_), .. }))
    }
}

impl Planner<'_> {
    /// Plans a recursive query's body: both operands set the columns of the relation.
    pub(super) fn recursion(
        &mut self,
        number: u16,
        all: bool,
        operands: Vec<Query>,
        relation: RelationId,
        pending: &BTreeSet<RelationId>,
    ) -> Result<Node> {
        let types: Vec<Type> = self.bound.relations[relation as usize].columns.iter().map(|(_, ty)| *ty).collect();
        let mut children = Vec::with_capacity(operands.len());
        for operand in operands {
            let output = operand.output;
            let child = self.query(operand, pending)?;
            let targets = types.iter().enumerate().map(|(index, ty)| Expr::column(output, index as u16, *ty)).collect();
            children.push(Node::Project { child: Box::new(child), relation, targets });
        }
        let mut children = children.into_iter();
        let (Some(first), Some(rest)) = (children.next(), children.next()) else {
            return Err(Error::unsupported("a recursion with one operand"));
        };
        let columns: Vec<(Expr, Kind)> = types
            .iter()
            .enumerate()
            .map(|(index, ty)| (Expr::column(relation, index as u16, *ty), table::kind(ty.oid)))
            .collect();
        Ok(Node::Recursion { number, relation, all, columns, first: Box::new(first), rest: Box::new(rest) })
    }

    /// Keeps the rows of a node that is begun again and again.
    pub(super) fn materialize(&self, node: Node) -> Node {
        let constant = !self.is_open(&node) && self.free(&node).is_empty() && !self.is_volatile(&node);
        Node::Materialize { child: Box::new(node), constant }
    }

    /// Does a node read rows of a round of a recursion around it, or a common table that depends on what is around it?
    pub(super) fn is_open(&self, node: &Node) -> bool {
        let (mut read, mut own, mut dependent) = (BTreeSet::new(), BTreeSet::new(), false);
        self.recursions(node, &mut read, &mut own, &mut dependent);
        dependent || !read.is_subset(&own)
    }

    fn recursions(&self, node: &Node, read: &mut BTreeSet<u16>, own: &mut BTreeSet<u16>, dependent: &mut bool) {
        match node {
            Node::WorkScan { number, .. } => {
                read.insert(*number);
            }
            Node::Recursion { number, .. } => {
                own.insert(*number);
            }
            Node::CommonScan { common, .. } => {
                *dependent |= self.bound.commons[usize::from(*common)].dependent;
            }
            _ => {}
        }
        node.children().into_iter().for_each(|child| self.recursions(child, read, own, dependent));
    }
}
