//! Windows: what is sorted for them, and in which order they are computed.
//!
//! Rules
//! 1. A window whose keys are the beginning of those by which rows are sorted already needs no sort.
//! 2. Keys that are no columns are computed before rows are sorted, each once for all windows.

use super::choose::Planner;
use super::tree::{self, Key, Node};
use crate::bind::tree::{Expr, ExprKind, Relation, RelationId, Source, Window};
use crate::types::table;
use base::Result;

impl Planner<'_> {
    /// Puts windows above a node; `ordered` says afterwards by what the rows are ordered.
    pub(super) fn windows(&mut self, node: Node, windows: Vec<Window>, ordered: &mut Vec<Key>) -> Result<Node> {
        let mut node = node;
        let mut computed: Vec<(Expr, Expr)> = Vec::new();
        for window in windows {
            node = self.compute_keys(node, &window, &mut computed);
            let column = |expr: &Expr| match computed.iter().find(|(known, _)| known == expr) {
                Some((_, column)) => column.clone(),
                None => expr.clone(),
            };
            let key = |expr: &Expr, descending, nulls_first| Key {
                expr: expr.clone(),
                kind: table::kind(expr.ty.oid),
                descending,
                nulls_first,
            };
            let Window { relation, partition_by, order_by, frame, calls } = window;
            let order: Vec<Key> =
                order_by.iter().map(|(expr, descending, first)| key(expr, *descending, *first)).collect();
            let mut keys: Vec<Key> = Vec::new();
            for wanted in partition_by.iter().map(|expr| key(expr, false, false)).chain(order.iter().cloned()) {
                let constant = matches!(wanted.expr.kind, ExprKind::Constant(_) | ExprKind::Parameter(_));
                if !constant && !keys.iter().any(|known| known.expr == wanted.expr) {
                    keys.push(wanted);
                }
            }
            let same = |left: &Key, right: &Key| {
                left.expr == right.expr && (left.descending, left.nulls_first) == (right.descending, right.nulls_first)
            };
            let known = ordered.len() >= keys.len() && keys.iter().zip(&*ordered).all(|(key, known)| same(key, known));
            if !known {
                let sorted = keys.iter().map(|key| Key { expr: column(&key.expr), ..key.clone() }).collect();
                node = Node::Sort { child: Box::new(node), keys: sorted, bound: None };
                *ordered = keys;
            }
            let window = tree::Window {
                relation,
                partition: partition_by.iter().map(|expr| (column(expr), table::kind(expr.ty.oid))).collect(),
                order: order.iter().map(|key| Key { expr: column(&key.expr), ..key.clone() }).collect(),
                frame,
                calls,
            };
            node = Node::Window { child: Box::new(node), window: Box::new(window) };
        }
        Ok(node)
    }

    /// Computes the keys of a window that are no columns and have not been computed.
    fn compute_keys(&mut self, node: Node, window: &Window, computed: &mut Vec<(Expr, Expr)>) -> Node {
        let relation = self.bound.relations.len() as RelationId;
        let (mut columns, mut targets) = (Vec::new(), Vec::new());
        for expr in window.partition_by.iter().chain(window.order_by.iter().map(|(expr, ..)| expr)) {
            let known = computed.iter().any(|(known, _)| known == expr);
            if !known && !matches!(expr.kind, ExprKind::Column(_)) {
                computed.push((expr.clone(), Expr::column(relation, targets.len() as u16, expr.ty)));
                columns.push((String::new(), expr.ty));
                targets.push(expr.clone());
            }
        }
        if targets.is_empty() {
            return node;
        }
        self.bound.relations.push(Relation { name: String::new(), columns, source: Source::Computed });
        Node::Project { child: Box::new(node), relation, targets }
    }
}
