//! `WITHIN GROUP`: aggregates that look at values in their order.
//!
//! `percentile_disc(f) WITHIN GROUP (ORDER BY x)` becomes an aggregate of `x` and `f` whose rows are added in the order of `x`. A
//! *hypothetical-set* aggregate asks which place a row would have that is not there: `rank(v) WITHIN GROUP (ORDER BY x)` becomes an
//! aggregate of the test whether a row comes before that one, and needs no order.
//!
//! Rules
//! 1. What stands before `WITHIN GROUP` is the same for all rows of a group. Here it has no columns at all: `0A000`.
//! 2. Nulls are equal to each other and stand where the order's item says.

use super::Binder;
use super::expr::Clause;
use super::scope::Scope;
use super::tree::{AggregateCall, Expr, ExprKind};
use crate::parser::ast::{self, Operator};
use crate::plan::blob::Constant;
use crate::types::aggregate::{AggCall, AggOp};
use crate::types::cast::Context;
use crate::types::resolve::{self, Callable};
use crate::types::{Oid, Type, table};
use base::{Error, Result, sqlstate};
use std::collections::BTreeSet;

const BOOLEAN: Type = Type::plain(Oid::BOOL);

/// The names of the hypothetical-set aggregates, which take arguments of any types.
const HYPOTHETICAL: [(&str, AggOp, Oid); 4] = [
    ("cume_dist", AggOp::CumeDist, Oid::FLOAT8),
    ("dense_rank", AggOp::DenseRank, Oid::INT8),
    ("percent_rank", AggOp::PercentRank, Oid::FLOAT8),
    ("rank", AggOp::Rank, Oid::INT8),
];

/// An item of the order: its value, what it is compared with, and the direction.
struct Item {
    value: Expr,
    asked: Expr,
    descending: bool,
    nulls_first: bool,
}

impl Binder<'_> {
    /// A call with `WITHIN GROUP`.
    pub(super) fn within_group(
        &mut self,
        call: &ast::Call<'_>,
        scope: &Scope<'_>,
        clause: Clause,
        at: u32,
    ) -> Result<Expr> {
        let Some(last) = call.path.last() else { return Err(self.unsupported("this call", at)) };
        let mut direct = Vec::with_capacity(call.arguments.len());
        for argument in call.arguments {
            direct.push(self.expr(&argument.value, scope, Clause::AggregateArgument)?);
        }
        let mut columns = BTreeSet::new();
        direct.iter().for_each(|expr| self.bound.columns_in(expr, &mut columns));
        if !columns.is_empty() {
            return Err(self.unsupported("a column before WITHIN GROUP", at));
        }
        let mut values = Vec::with_capacity(call.within_group.len());
        for item in call.within_group {
            values.push(self.expr(&item.expr, scope, Clause::AggregateArgument)?);
        }
        let filter = match call.filter {
            Some(filter) => {
                let bound = self.expr(filter, scope, Clause::Filter)?;
                Some(self.condition(bound, "FILTER", filter.at)?)
            }
            None => None,
        };
        let aggregate = match HYPOTHETICAL.iter().find(|(name, ..)| *name == last.text) {
            Some((name, op, result)) => {
                let items = self.items(call, name, direct, values, at)?;
                self.hypothetical(*op, items, filter, Type::plain(*result), name, at)?
            }
            None => self.ordered_set(call, last.text, direct, values, filter, at)?,
        };
        self.collect(aggregate, scope, clause, at)
    }

    /// An aggregate of values in their order.
    fn ordered_set(
        &mut self,
        call: &ast::Call<'_>,
        name: &str,
        direct: Vec<Expr>,
        values: Vec<Expr>,
        filter: Option<Expr>,
        at: u32,
    ) -> Result<AggregateCall> {
        let types: Vec<Oid> = direct.iter().chain(&values).map(|expr| expr.ty.oid).collect();
        let position = self.position(at);
        let callable = resolve::resolve_function(name, &types).map_err(|error| error.at(position))?;
        let found = match callable {
            Callable::Aggregate(found) if found.row.op.is_ordered_set() && values.len() == 1 => found,
            Callable::Aggregate(_) => {
                let message = format!("{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP");
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(position));
            }
            _ => {
                let message = format!("WITHIN GROUP specified, but {name} is not an aggregate function");
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).at(position));
            }
        };
        let mut coerced = Vec::with_capacity(types.len());
        for (argument, oid) in direct.into_iter().chain(values).zip(&found.args) {
            coerced.push(self.coerce(argument, Type::plain(*oid), found.context, at)?);
        }
        // The values first, as the order has them; what is asked of them behind.
        let order_by = match (coerced.pop(), call.within_group.first()) {
            (Some(value), Some(item)) => {
                coerced.insert(0, value.clone());
                vec![(value, item.descending, item.nulls_first.unwrap_or(item.descending))]
            }
            _ => return Err(self.unsupported("this call", at)),
        };
        let argument = coerced.first().map_or(Oid::INT4, |value| value.ty.oid);
        Ok(AggregateCall {
            aggregate: AggCall::new(found.row.op, argument),
            arguments: coerced,
            distinct: false,
            order_by,
            filter,
            ty: Type::plain(found.result),
            name: found.row.name,
        })
    }

    /// The items of an order, each with the value that is asked for.
    fn items(
        &mut self,
        call: &ast::Call<'_>,
        name: &str,
        direct: Vec<Expr>,
        values: Vec<Expr>,
        at: u32,
    ) -> Result<Vec<Item>> {
        if direct.len() != values.len() {
            let types = direct.iter().chain(&values).map(|expr| resolve::show(expr.ty.oid)).collect::<Vec<_>>();
            let message = format!("function {name}({}) does not exist", types.join(", "));
            let hint = format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must match \
                 the number of ordering columns (here {}).",
                direct.len(),
                values.len()
            );
            return Err(Error::statement(sqlstate::UNDEFINED_FUNCTION, message).hint(hint).at(self.position(at)));
        }
        let mut items = Vec::with_capacity(values.len());
        for ((value, asked), item) in values.into_iter().zip(direct).zip(call.within_group) {
            let common = resolve::common_type(&[value.ty.oid, asked.ty.oid], "WITHIN GROUP")
                .map_err(|error| error.at(self.position(at)))?;
            items.push(Item {
                value: self.coerce(value, Type::plain(common), Context::Implicit, at)?,
                asked: self.coerce(asked, Type::plain(common), Context::Implicit, at)?,
                descending: item.descending,
                nulls_first: item.nulls_first.unwrap_or(item.descending),
            });
        }
        Ok(items)
    }

    /// An aggregate of the place that a row would have.
    fn hypothetical(
        &mut self,
        op: AggOp,
        items: Vec<Item>,
        filter: Option<Expr>,
        ty: Type,
        name: &'static str,
        at: u32,
    ) -> Result<AggregateCall> {
        let (before, equal) = self.before(&items, at)?;
        let (mut arguments, mut filter) = (vec![before], filter);
        match op {
            AggOp::CumeDist => arguments.push(equal),
            AggOp::DenseRank => {
                // Rows that come before, equal ones once. What is never null leads, as nulls are not told apart otherwise.
                let before = arguments.pop();
                filter = Some(Expr { kind: ExprKind::And(filter.into_iter().chain(before).collect()), ty: BOOLEAN });
                arguments = vec![Expr::constant(Constant::Bool(true), BOOLEAN)];
                arguments.extend(items.into_iter().map(|item| item.value));
            }
            _ => {}
        }
        let distinct = op == AggOp::DenseRank;
        let aggregate = AggCall::new(op, Oid::BOOL);
        Ok(AggregateCall { aggregate, arguments, distinct, order_by: Vec::new(), filter, ty, name })
    }

    /// Whether a row comes before the one that is asked for, and whether it is equal to it.
    fn before(&mut self, items: &[Item], at: u32) -> Result<(Expr, Expr)> {
        let make = |kind| Expr { kind, ty: BOOLEAN };
        let (mut before, mut equals) = (None, Vec::with_capacity(items.len()));
        for item in items.iter().rev() {
            let (value, asked) = (&item.value, &item.asked);
            let name = if item.descending { ">" } else { "<" };
            let operator = Operator { schema: None, name, at };
            let less = self.operator(&operator, Some(value.clone()), asked.clone())?;
            let null = |expr: &Expr, negated| make(ExprKind::IsNull(Box::new(expr.clone()), negated));
            // Of two values one of which is null the order of nulls decides.
            let by_null = make(ExprKind::And(match item.nulls_first {
                true => vec![null(value, false), null(asked, true)],
                false => vec![null(value, true), null(asked, false)],
            }));
            let less = make(ExprKind::Coalesce(vec![less, by_null]));
            let kind = table::kind(value.ty.oid);
            let equal = make(ExprKind::IsDistinct(Box::new(value.clone()), Box::new(asked.clone()), kind, true));
            before = Some(match before {
                None => less,
                Some(rest) => {
                    let rest = make(ExprKind::And(vec![equal.clone(), rest]));
                    make(ExprKind::Or(vec![less, rest]))
                }
            });
            equals.push(equal);
        }
        match before {
            Some(before) => Ok((before, make(ExprKind::And(equals)))),
            None => Err(self.unsupported("this call", at)),
        }
    }
}
