//! Rows in an order that a node above needs: as they come, by an index, or by a sort; whatever costs least.

use super::choose::Planner;
use super::path::{self, Order};
use super::tree::{JoinType, Key, Node};
use crate::bind::tree::{Expr, ExprKind, Relation, RelationId, Source};
use crate::types::{Kind, table};

/// What is sorted by, ascending, nulls last.
pub(super) type Ascending = Vec<(Expr, Kind)>;

fn order_of(keys: &[(Expr, Kind)]) -> Vec<Order> {
    keys.iter().map(|(expr, _)| (expr.clone(), false, false)).collect()
}

/// Does an index order values as they are compared by their keys' kinds?
fn is_of_kind(keys: &[(Expr, Kind)]) -> bool {
    let class = |kind: Kind| match kind {
        Kind::Int2 | Kind::Int4 => Kind::Int8,
        Kind::Float4 => Kind::Float8,
        kind => kind,
    };
    keys.iter().all(|(expr, kind)| class(table::kind(expr.ty.oid)) == class(*kind))
}

impl Planner<'_> {
    /// What it costs to put a node's rows in an order, beside the node itself.
    pub(super) fn cost_of_order(&self, node: &mut Node, keys: &[(Expr, Kind)]) -> f64 {
        let order = order_of(keys);
        let by_index = is_of_kind(keys);
        if by_index && path::ordered(self.bound, node, &order, false) {
            return 0.0;
        }
        let guess = self.guess();
        let sort = guess.sort_cost(guess.rows(node), guess.row_bytes(node));
        match self.cost_by_index(node).filter(|_| by_index && path::can_be_ordered(self.bound, node, &order)) {
            Some(cost) => cost.min(sort),
            None => sort,
        }
    }

    /// What it costs more to read all of the table that gives a node its order by an index; none if that is no scan of a whole table.
    fn cost_by_index(&self, node: &Node) -> Option<f64> {
        match node {
            Node::Filter { child, .. } => self.cost_by_index(child),
            Node::NestedLoop {
                join: JoinType::Inner | JoinType::Left | JoinType::Semi | JoinType::Anti,
                outer,
                ..
            } => self.cost_by_index(outer),
            Node::SeqScan { table, filter, .. } => {
                let guess = self.guess();
                Some(guess.lookup_cost(table, guess.table_rows(table)) - guess.scan_cost(table, filter.len()))
            }
            _ => None,
        }
    }

    /// Puts a node's rows in an order; answers the keys as they are to be read from its rows.
    pub(super) fn in_order_of(&mut self, mut node: Node, keys: Ascending) -> (Node, Ascending) {
        let order = order_of(&keys);
        if is_of_kind(&keys) {
            if path::ordered(self.bound, &mut node, &order, false) {
                return (node, keys);
            }
            let guess = self.guess();
            let sort = guess.sort_cost(guess.rows(&node), guess.row_bytes(&node));
            if self.cost_by_index(&node).is_some_and(|cost| cost < sort)
                && path::ordered(self.bound, &mut node, &order, true)
            {
                return (node, keys);
            }
        }
        let (node, keys) = self.with_columns(node, keys);
        let sorted = keys
            .iter()
            .map(|(expr, kind)| Key { expr: expr.clone(), kind: *kind, descending: false, nulls_first: false })
            .collect();
        (Node::Sort { child: Box::new(node), keys: sorted, bound: None }, keys)
    }

    /// Computes keys that are no columns of the node.
    fn with_columns(&mut self, node: Node, keys: Ascending) -> (Node, Ascending) {
        let mut produced = std::collections::BTreeSet::new();
        node.produced(&mut produced);
        let is_own = |expr: &Expr| matches!(expr.kind, ExprKind::Column(column) if produced.contains(&column.relation));
        if keys.iter().all(|(expr, _)| is_own(expr)) {
            return (node, keys);
        }
        let relation = self.bound.relations.len() as RelationId;
        let (mut columns, mut targets) = (Vec::new(), Vec::new());
        let keys = keys
            .into_iter()
            .map(|(expr, kind)| {
                if is_own(&expr) {
                    return (expr, kind);
                }
                let column = Expr::column(relation, targets.len() as u16, expr.ty);
                columns.push((String::new(), expr.ty));
                targets.push(expr);
                (column, kind)
            })
            .collect();
        self.bound.relations.push(Relation { name: String::new(), columns, source: Source::Computed });
        self.origins.insert(relation, targets.clone());
        (Node::Project { child: Box::new(node), relation, targets }, keys)
    }
}
