//! Does a condition follow from others? What decides whether an index of some rows has all those that a query asks for.
//!
//! It is PostgreSQL's simple prover. A conjunction follows if all of its parts do, a disjunction if one does; from a disjunction follows what
//! follows from each of its parts. What is neither follows from what is the same; `x IS NOT NULL` from whatever is null when `x` is; a
//! comparison of something with a constant from another one of the same thing, as their constants compare.
//!
//! Rules
//! 1. When in doubt nothing follows: that costs an index, and the opposite would be a wrong result.
//! 2. A literal that became a slot is no constant. Where everything depends on its value the answer says so, and who asked has the
//!    statement bound again with its literals in place.

use super::same::shell;
use super::tree::{Bound, Call, Expr, ExprKind, Origin};
use crate::plan::blob::Constant;
use crate::types::op::Comparison;
use crate::types::{Kind, compare, table};
use std::cmp::Ordering;

/// Whether a condition follows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Implied {
    /// No.
    No,
    /// That depends on a literal.
    Literal,
    /// Yes.
    Yes,
}

/// Do all parts of a predicate follow from conditions that all hold?
pub fn implied<'x>(bound: &Bound, known: impl Iterator<Item = &'x Expr> + Clone, predicate: &[Expr]) -> Implied {
    all(predicate.iter().map(|part| any(known.clone().map(|clause| follows(bound, clause, part)))))
}

/// Are two expressions the same, literals included?
pub fn alike(bound: &Bound, left: &Expr, right: &Expr) -> Implied {
    if left == right {
        return Implied::Yes;
    }
    if left.ty.oid != right.ty.oid {
        return Implied::No;
    }
    if let (ExprKind::Parameter(_), ExprKind::Constant(_)) = (&left.kind, &right.kind) {
        return if is_literal(bound, left) { Implied::Literal } else { Implied::No };
    }
    let (mut parts, mut others) = (Vec::new(), Vec::new());
    left.children(&mut |part| parts.push(part));
    right.children(&mut |part| others.push(part));
    if parts.is_empty() || parts.len() != others.len() || shell(left) != shell(right) {
        return Implied::No;
    }
    all(parts.into_iter().zip(others).map(|(left, right)| alike(bound, left, right)))
}

fn all(answers: impl Iterator<Item = Implied>) -> Implied {
    answers.fold(Implied::Yes, Implied::min)
}

fn any(answers: impl Iterator<Item = Implied>) -> Implied {
    answers.fold(Implied::No, Implied::max)
}

fn is_literal(bound: &Bound, expr: &Expr) -> bool {
    let ExprKind::Parameter(number) = expr.kind else { return false };
    bound.parameters.get(usize::from(number)).is_some_and(|parameter| matches!(parameter.origin, Origin::Slot(_)))
}

/// Does one condition follow from another?
fn follows(bound: &Bound, clause: &Expr, predicate: &Expr) -> Implied {
    match (&clause.kind, &predicate.kind) {
        (_, ExprKind::And(parts)) => all(parts.iter().map(|part| follows(bound, clause, part))),
        (ExprKind::Or(parts), _) if !matches!(predicate.kind, ExprKind::Or(_)) => {
            all(parts.iter().map(|part| follows(bound, part, predicate)))
        }
        (ExprKind::Or(parts), ExprKind::Or(_)) => {
            // Each part has to lead somewhere, not all to the same place.
            all(parts.iter().map(|part| follows(bound, part, predicate)))
        }
        (ExprKind::And(parts), _) => {
            let whole = simple_or_any(bound, clause, predicate);
            whole.max(any(parts.iter().map(|part| follows(bound, part, predicate))))
        }
        _ => simple_or_any(bound, clause, predicate),
    }
}

fn simple_or_any(bound: &Bound, clause: &Expr, predicate: &Expr) -> Implied {
    match &predicate.kind {
        ExprKind::Or(parts) => {
            let same = alike(bound, clause, predicate);
            same.max(any(parts.iter().map(|part| follows(bound, clause, part))))
        }
        _ => simple(bound, clause, predicate),
    }
}

/// The same for conditions that are no conjunctions or disjunctions.
fn simple(bound: &Bound, clause: &Expr, predicate: &Expr) -> Implied {
    let (clause, predicate) = (plain(clause), plain(predicate));
    let same = alike(bound, &clause, &predicate);
    if same == Implied::Yes {
        return same;
    }
    if let ExprKind::IsNull(operand, true) = &predicate.kind
        && (is_null_with(&clause, operand)
            || matches!(&clause.kind, ExprKind::Quantified { all: false, left, .. } if is_null_with(left, operand)))
    {
        return Implied::Yes;
    }
    same.max(compared(bound, &clause, &predicate))
}

/// A truth value that is compared with a constant, without the comparison.
fn plain(expr: &Expr) -> Expr {
    if let Some((operand, Comparison::Eq, constant)) = comparison(expr)
        && let ExprKind::Constant(Constant::Bool(value)) = constant.kind
    {
        return match value {
            true => operand.clone(),
            false => Expr { kind: ExprKind::Not(Box::new(operand.clone())), ty: expr.ty },
        };
    }
    expr.clone()
}

/// Is an expression null (and so not true) whenever another one is?
fn is_null_with(expr: &Expr, operand: &Expr) -> bool {
    if expr == operand {
        return true;
    }
    match &expr.kind {
        ExprKind::Call(call) => call.strict && call.arguments.iter().any(|argument| is_null_with(argument, operand)),
        ExprKind::Not(inner) | ExprKind::Cast(inner, ..) => is_null_with(inner, operand),
        _ => false,
    }
}

/// Something that is compared with what does not depend on the row, on its right side.
fn comparison(expr: &Expr) -> Option<(&Expr, Comparison, &Expr)> {
    let ExprKind::Call(call) = &expr.kind else { return None };
    let Call { op, arguments, .. } = &**call;
    let comparison = op.comparison()?;
    let [left, right] = arguments.as_slice() else { return None };
    let is_fixed = |expr: &Expr| matches!(expr.kind, ExprKind::Constant(_) | ExprKind::Parameter(_));
    match (is_fixed(left), is_fixed(right)) {
        (false, true) => Some((left, comparison, right)),
        (true, false) => Some((right, comparison.flipped(), left)),
        _ => None,
    }
}

/// Does a comparison follow from another one?
fn compared(bound: &Bound, clause: &Expr, predicate: &Expr) -> Implied {
    let Some((known, first, value)) = comparison(clause) else { return Implied::No };
    let Some((asked, second, limit)) = comparison(predicate) else { return Implied::No };
    let kind = table::kind(value.ty.oid);
    let integer = |kind| matches!(kind, Kind::Int2 | Kind::Int4 | Kind::Int8);
    let other = table::kind(limit.ty.oid);
    if kind != other && !(integer(kind) && integer(other)) {
        return Implied::No;
    }
    match alike(bound, known, asked) {
        Implied::Yes => {}
        other => return other,
    }
    let ExprKind::Constant(limit) = &limit.kind else { return Implied::No };
    let ExprKind::Constant(value) = &value.kind else {
        return if is_literal(bound, value) { Implied::Literal } else { Implied::No };
    };
    if *limit == Constant::Null || *value == Constant::Null {
        return Implied::No;
    }
    let order = compare::compare(kind, value.datum(), limit.datum());
    let follows = match (first, second) {
        (Comparison::Eq, Comparison::Eq) => order == Ordering::Equal,
        (Comparison::Eq, Comparison::Ne) => order != Ordering::Equal,
        (Comparison::Eq | Comparison::Lt | Comparison::Le, Comparison::Le)
        | (Comparison::Lt, Comparison::Lt | Comparison::Ne) => order != Ordering::Greater,
        (Comparison::Eq | Comparison::Le, Comparison::Lt) | (Comparison::Le, Comparison::Ne) => order == Ordering::Less,
        (Comparison::Eq | Comparison::Gt | Comparison::Ge, Comparison::Ge)
        | (Comparison::Gt, Comparison::Gt | Comparison::Ne) => order != Ordering::Less,
        (Comparison::Eq | Comparison::Ge, Comparison::Gt) | (Comparison::Ge, Comparison::Ne) => {
            order == Ordering::Greater
        }
        (Comparison::Ne, Comparison::Ne) => order == Ordering::Equal,
        _ => false,
    };
    if follows { Implied::Yes } else { Implied::No }
}
