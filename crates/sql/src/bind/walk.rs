//! Going over a bound statement: which columns a query reads, which relations an item of `FROM` brings.

use super::tree::{Body, Bound, Column, Expr, ExprKind, From, Query, RelationId, Source, SubplanKind};
use std::collections::BTreeSet;

impl Bound {
    /// Adds the columns that an expression reads, those in its subplans included.
    pub fn columns_in(&self, expr: &Expr, columns: &mut BTreeSet<Column>) {
        match &expr.kind {
            ExprKind::Column(column) => {
                columns.insert(*column);
            }
            ExprKind::Subplan(number) => {
                let Some(subplan) = self.subplans.get(usize::from(*number)) else { return };
                self.columns_of(&subplan.query, columns);
                if let SubplanKind::Quantified { test, equal, .. } = &subplan.kind {
                    self.columns_in(test, columns);
                    for (left, right, _) in equal {
                        self.columns_in(left, columns);
                        self.columns_in(right, columns);
                    }
                }
            }
            _ => expr.children(&mut |child| self.columns_in(child, columns)),
        }
    }

    /// Adds the columns that a query reads, of its own relations and of those around it.
    pub fn columns_of(&self, query: &Query, columns: &mut BTreeSet<Column>) {
        for target in &query.targets {
            self.columns_in(&target.expr, columns);
        }
        for expr in query.limit.iter().chain(&query.offset) {
            self.columns_in(expr, columns);
        }
        match &query.body {
            Body::Select(select) => {
                for expr in &select.filter {
                    self.columns_in(expr, columns);
                }
                for from in &select.from {
                    self.columns_of_from(from, columns);
                }
                if let Some(grouping) = &select.grouping {
                    for expr in grouping.keys.iter().chain(&grouping.having) {
                        self.columns_in(expr, columns);
                    }
                    for call in &grouping.aggregates {
                        let order = call.order_by.iter().map(|(expr, ..)| expr);
                        for expr in call.arguments.iter().chain(order).chain(&call.filter) {
                            self.columns_in(expr, columns);
                        }
                    }
                }
                select.windows.iter().for_each(|window| window.exprs(&mut |expr| self.columns_in(expr, columns)));
            }
            Body::Values(rows) => rows.iter().flatten().for_each(|expr| self.columns_in(expr, columns)),
            Body::Operation { operands, .. } => {
                operands.iter().for_each(|operand| self.columns_of(operand, columns));
            }
        }
    }

    /// Adds the columns that an item of `FROM` reads in conditions, subqueries and arguments.
    pub fn columns_of_from(&self, from: &From, columns: &mut BTreeSet<Column>) {
        match from {
            From::Relation(relation) => match self.relations.get(*relation as usize).map(|found| &found.source) {
                Some(Source::Query(query)) => self.columns_of(query, columns),
                Some(Source::Function { call, .. }) => self.columns_in(call, columns),
                Some(Source::Common(number)) => self.columns_of_common(*number, columns),
                _ => {}
            },
            From::Join(join) => {
                for expr in &join.condition {
                    self.columns_in(expr, columns);
                }
                self.columns_of_from(&join.left, columns);
                self.columns_of_from(&join.right, columns);
            }
        }
    }

    /// Adds the columns of queries around it that a common table reads.
    pub fn columns_of_common(&self, number: u16, columns: &mut BTreeSet<Column>) {
        let Some(common) = self.commons.get(usize::from(number)).filter(|common| common.dependent) else { return };
        columns.extend(&common.free);
        if let Some(query) = &common.query {
            let mut read = BTreeSet::new();
            self.columns_of(query, &mut read);
            columns.extend(read.into_iter().filter(|column| column.relation < common.first));
        }
    }

    /// The relations that items of `FROM` bring.
    pub fn relations_of(&self, from: &[From]) -> BTreeSet<RelationId> {
        let mut relations = BTreeSet::new();
        from.iter().for_each(|item| relations_in(item, &mut relations));
        relations
    }
}

/// Adds the relations that an item of `FROM` brings.
pub fn relations_in(from: &From, relations: &mut BTreeSet<RelationId>) {
    match from {
        From::Relation(relation) => {
            relations.insert(*relation);
        }
        From::Join(join) => {
            relations_in(&join.left, relations);
            relations_in(&join.right, relations);
        }
    }
}

/// A query of nothing, to stand in where another was taken.
pub fn nothing() -> Query {
    Query::empty()
}
