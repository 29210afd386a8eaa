//! What is known of an expression's value while a statement is planned.
//!
//! A statement's constants are parameters of its plan, so that one plan serves all statements that differ in nothing else. For
//! guesses the planner looks at the constants of the statement that happens to be the first ([`Bound::hints`]): they decide which plan
//! is chosen, never what it answers.
//!
//! Rules
//! 1. What is found here is used for guesses only. A value that cannot be had, because of an error too, is not known.
//! 2. Nothing is called but operations on values: no function of a user, nothing that looks at the catalog.

use crate::bind::tree::{Bound, Expr, ExprKind, Origin};
use crate::plan::blob::Constant;
use crate::types::function::Volatility;
use crate::types::op::Family;
use crate::types::{Arena, Datum, EvalCtx, cast, eval};

/// The value of an expression that reads no row, if it can be had now.
pub(super) fn value(bound: &Bound, expr: &Expr) -> Option<Constant> {
    let arena = Arena::new();
    let mut context = EvalCtx::plain(&arena);
    datum(bound, expr, &mut context).map(Constant::of)
}

/// Does a value depend on a client's parameter that is not known yet?
pub(super) fn is_awaited(bound: &Bound, expr: &Expr) -> bool {
    expr.any(&mut |part| match part.kind {
        ExprKind::Parameter(index) => {
            let index = usize::from(index);
            let is_known = bound.hints.get(index).is_some_and(Option::is_some);
            !is_known && bound.parameters.get(index).is_some_and(|found| matches!(found.origin, Origin::Client(_)))
        }
        _ => false,
    })
}

fn datum<'a>(bound: &'a Bound, expr: &'a Expr, context: &mut EvalCtx<'a>) -> Option<Datum<'a>> {
    match &expr.kind {
        ExprKind::Constant(value) => Some(value.datum()),
        ExprKind::Parameter(index) => bound.hints.get(usize::from(*index))?.as_ref().map(Constant::datum),
        ExprKind::Call(call) if call.volatility != Volatility::Volatile && call.op.family() != Family::External => {
            let arguments: Option<Vec<Datum<'a>>> =
                call.arguments.iter().map(|argument| datum(bound, argument, context)).collect();
            let arguments = arguments?;
            if call.strict && arguments.iter().any(|argument| argument.is_null()) {
                return Some(Datum::Null);
            }
            eval::eval(call.op, &arguments, context).ok()
        }
        ExprKind::Cast(operand, method, explicit) => {
            let value = datum(bound, operand, context)?;
            if value.is_null() {
                return Some(Datum::Null);
            }
            let is_name = |expr: &Expr| crate::types::table::kind(expr.ty.oid) == crate::types::Kind::Reg;
            if is_name(operand) || is_name(expr) {
                return None;
            }
            cast::apply(*method, operand.ty.oid, expr.ty, *explicit, value, context).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::tree::Call;
    use crate::types::op::Op;
    use crate::types::{Oid, Type};

    fn sum(left: Expr, right: Expr, volatility: Volatility) -> Expr {
        let call =
            Call { op: Op::Int4Add, strict: true, volatility, arguments: vec![left, right], name: "+", operator: true };
        Expr { kind: ExprKind::Call(Box::new(call)), ty: Type::plain(Oid::INT4) }
    }

    #[test]
    fn values_are_computed_from_constants_and_hints() {
        let int = |value| Expr::constant(Constant::Int(value), Type::plain(Oid::INT4));
        let parameter = |index| Expr { kind: ExprKind::Parameter(index), ty: Type::plain(Oid::INT4) };
        let bound = Bound { hints: vec![Some(Constant::Int(40)), None], ..Bound::default() };
        let known = |expr: Expr| value(&bound, &expr);
        assert_eq!(known(sum(int(2), parameter(0), Volatility::Immutable)), Some(Constant::Int(42)));
        assert_eq!(known(sum(int(2), parameter(1), Volatility::Immutable)), None);
        assert_eq!(known(sum(int(2), parameter(7), Volatility::Immutable)), None);
        assert_eq!(known(sum(int(2), int(2), Volatility::Volatile)), None);
        assert_eq!(known(sum(int(i32::MAX.into()), int(1), Volatility::Immutable)), None);
        let null = Expr::constant(Constant::Null, Type::plain(Oid::INT4));
        assert_eq!(known(sum(null, int(1), Volatility::Immutable)), Some(Constant::Null));
        assert_eq!(known(Expr::column(0, 0, Type::plain(Oid::INT4))), None);
    }
}
