//! When two expressions are the same: what `GROUP BY`, `DISTINCT` and `ORDER BY` recognise again.
//!
//! Expressions that were written twice are bound twice, and what was numbered on the way has other numbers: values that
//! are shared by [`ExprKind::Let`], subplans, the relations in them. They are the same if one is the other with its numbers
//! changed throughout.
//!
//! Rules
//! 1. When in doubt, expressions differ: that is an error for the client, and the opposite would be a wrong result.

use super::tree::{AggregateCall, Body, Bound, Expr, ExprKind, From, Grouping, Query, RelationId, Source, SubplanKind};
use crate::plan::blob::Constant;
use crate::types::{Oid, Type};

impl Bound {
    /// Are two expressions of this statement the same?
    pub fn same(&self, left: &Expr, right: &Expr) -> bool {
        if left == right {
            return true;
        }
        let numbered =
            |expr: &Expr| expr.any(&mut |part| matches!(part.kind, ExprKind::Let(..) | ExprKind::Subplan(_)));
        let alike = std::mem::discriminant(&left.kind) == std::mem::discriminant(&right.kind);
        alike && numbered(left) && Same { bound: self, shared: Vec::new(), relations: Vec::new() }.expr(left, right)
    }
}

/// A comparison, with what is numbered on both sides as far as it has come.
struct Same<'b> {
    bound: &'b Bound,
    shared: Vec<(u16, u16)>,
    relations: Vec<(RelationId, RelationId)>,
}

impl Same<'_> {
    fn expr(&mut self, left: &Expr, right: &Expr) -> bool {
        if left.ty != right.ty {
            return false;
        }
        match (&left.kind, &right.kind) {
            (ExprKind::Column(left), ExprKind::Column(right)) => {
                let known = self.relations.iter().rev().find(|(known, _)| *known == left.relation);
                let meant = known.map_or(left.relation, |(_, meant)| *meant);
                meant == right.relation && left.column == right.column
            }
            (ExprKind::Shared(left), ExprKind::Shared(right)) => {
                self.shared.iter().rev().find(|(known, _)| known == left) == Some(&(*left, *right))
            }
            (ExprKind::Let(left, value, body), ExprKind::Let(right, other_value, other_body)) => {
                if !self.expr(value, other_value) {
                    return false;
                }
                self.shared.push((*left, *right));
                let same = self.expr(body, other_body);
                self.shared.pop();
                same
            }
            (ExprKind::Subplan(left), ExprKind::Subplan(right)) => left == right || self.subplan(*left, *right),
            _ => {
                if shell(left) != shell(right) {
                    return false;
                }
                let (mut parts, mut others) = (Vec::new(), Vec::new());
                left.children(&mut |part| parts.push(part));
                right.children(&mut |part| others.push(part));
                self.pairs(parts.into_iter(), others.into_iter())
            }
        }
    }

    fn pairs<'e>(
        &mut self,
        mut left: impl ExactSizeIterator<Item = &'e Expr>,
        mut right: impl ExactSizeIterator<Item = &'e Expr>,
    ) -> bool {
        left.len() == right.len() && left.by_ref().zip(right.by_ref()).all(|(left, right)| self.expr(left, right))
    }

    fn maybe(&mut self, left: Option<&Expr>, right: Option<&Expr>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => self.expr(left, right),
            (None, None) => true,
            _ => false,
        }
    }

    fn subplan(&mut self, left: u16, right: u16) -> bool {
        let subplans = &self.bound.subplans;
        let (Some(left), Some(right)) = (subplans.get(usize::from(left)), subplans.get(usize::from(right))) else {
            return false;
        };
        if !self.query(&left.query, &right.query) {
            return false;
        }
        match (&left.kind, &right.kind) {
            (SubplanKind::Scalar, SubplanKind::Scalar)
            | (SubplanKind::Exists, SubplanKind::Exists)
            | (SubplanKind::Array, SubplanKind::Array) => true,
            (
                SubplanKind::Quantified { test, all, equal },
                SubplanKind::Quantified { test: other, all: other_all, equal: other_equal },
            ) => all == other_all && equal.len() == other_equal.len() && self.expr(test, other),
            _ => false,
        }
    }

    fn query(&mut self, left: &Query, right: &Query) -> bool {
        // The body first: it says which relations are meant.
        self.body(&left.body, &right.body)
            && left.visible == right.visible
            && left.ties == right.ties
            && left.distinct == right.distinct
            && left.order_by == right.order_by
            && left.locking.is_empty()
            && right.locking.is_empty()
            && self
                .pairs(left.targets.iter().map(|target| &target.expr), right.targets.iter().map(|target| &target.expr))
            && self.maybe(left.limit.as_ref(), right.limit.as_ref())
            && self.maybe(left.offset.as_ref(), right.offset.as_ref())
            && {
                self.relations.push((left.output, right.output));
                true
            }
    }

    fn body(&mut self, left: &Body, right: &Body) -> bool {
        match (left, right) {
            (Body::Select(left), Body::Select(right)) => {
                left.windows.is_empty()
                    && right.windows.is_empty()
                    && left.from.len() == right.from.len()
                    && left.from.iter().zip(&right.from).all(|(left, right)| self.from(left, right))
                    && self.pairs(left.filter.iter(), right.filter.iter())
                    && match (&left.grouping, &right.grouping) {
                        (Some(left), Some(right)) => self.grouping(left, right),
                        (None, None) => true,
                        _ => false,
                    }
            }
            (Body::Values(left), Body::Values(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.pairs(left.iter(), right.iter()))
            }
            (
                Body::Operation { operation, all, operands, relation, recursion },
                Body::Operation {
                    operation: other_operation,
                    all: other_all,
                    operands: others,
                    relation: other_relation,
                    recursion: other_recursion,
                },
            ) => {
                self.relations.push((*relation, *other_relation));
                recursion.is_none()
                    && other_recursion.is_none()
                    && operation == other_operation
                    && all == other_all
                    && operands.len() == others.len()
                    && operands.iter().zip(others).all(|(left, right)| self.query(left, right))
            }
            _ => false,
        }
    }

    fn from(&mut self, left: &From, right: &From) -> bool {
        match (left, right) {
            (From::Relation(left), From::Relation(right)) => {
                let relations = &self.bound.relations;
                let (Some(source), Some(other)) = (relations.get(*left as usize), relations.get(*right as usize))
                else {
                    return false;
                };
                let same = match (&source.source, &other.source) {
                    (Source::Table(left), Source::Table(right)) => left.oid == right.oid,
                    (Source::Query(left), Source::Query(right)) => self.query(left, right),
                    (
                        Source::Function { call, set, ordinality },
                        Source::Function { call: other, set: other_set, ordinality: other_ordinality },
                    ) => set == other_set && ordinality == other_ordinality && self.expr(call, other),
                    (Source::Common(left), Source::Common(right)) => left == right,
                    _ => false,
                };
                self.relations.push((*left, *right));
                same
            }
            (From::Join(left), From::Join(right)) => {
                left.kind == right.kind
                    && self.from(&left.left, &right.left)
                    && self.from(&left.right, &right.right)
                    && self.pairs(left.condition.iter(), right.condition.iter())
            }
            _ => false,
        }
    }

    fn grouping(&mut self, left: &Grouping, right: &Grouping) -> bool {
        self.relations.push((left.relation, right.relation));
        left.grouped == right.grouped
            && left.sets == right.sets
            && left.tests == right.tests
            && self.pairs(left.keys.iter(), right.keys.iter())
            && left.aggregates.len() == right.aggregates.len()
            && left.aggregates.iter().zip(&right.aggregates).all(|(left, right)| self.aggregate(left, right))
            && self.pairs(left.having.iter(), right.having.iter())
    }

    fn aggregate(&mut self, left: &AggregateCall, right: &AggregateCall) -> bool {
        let directions = |call: &AggregateCall| -> Vec<(bool, bool)> {
            call.order_by.iter().map(|(_, descending, nulls_first)| (*descending, *nulls_first)).collect()
        };
        left.aggregate == right.aggregate
            && left.distinct == right.distinct
            && left.ty == right.ty
            && directions(left) == directions(right)
            && self.pairs(left.arguments.iter(), right.arguments.iter())
            && self.pairs(left.order_by.iter().map(|(expr, ..)| expr), right.order_by.iter().map(|(expr, ..)| expr))
            && self.maybe(left.filter.as_ref(), right.filter.as_ref())
    }
}

/// An expression without its parts.
pub(super) fn shell(expr: &Expr) -> Expr {
    let mut shell = expr.clone();
    let nothing = Expr::constant(Constant::Null, Type::plain(Oid::UNKNOWN));
    shell.children_mut(&mut |part| *part = nothing.clone());
    shell
}
