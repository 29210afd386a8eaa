//! Doing an operation: one `match` from [`Op`] to what it does.
//!
//! The executor calls [`eval`] with the arguments' values; a result that is a byte run lies in the context's arena, or is
//! part of an argument. Comparisons are done here, the rest by the operation's [`Family`], in [`number`], [`string`],
//! [`list`], [`json`], [`template`] and [`time`].
//!
//! Rules
//! 1. Pure: the same arguments and context give the same result. Time, zone and chance come from the context.
//! 2. Null arguments of a strict operation are answered before it is looked at.
//! 3. The plan has checked types and counts of arguments; another count is a bug and panics.
//! 4. An external operation ([`Op::is_external`]) never comes here; if it does, that is a bug of the caller, reported as
//!    `XX000`.

mod bytes;
mod degrees;
mod format;
mod json;
mod list;
mod number;
mod pattern;
mod string;
mod template;
mod time;

use super::compare::{compare_arrays, compare_intervals, compare_numeric};
use super::float;
use super::op::{Comparison, Family, Op};
use super::text::trim_padding;
use super::{Datum, EvalCtx};
use base::{Error, Result, sqlstate};

pub use pattern::matches;

/// Does an operation.
#[inline]
pub fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    // Two integers are the commonest arguments. Comparisons, not a jump, lead to what is done with them: a mispredicted
    // jump costs more than the operation.
    if let [Datum::Int(a), Datum::Int(b)] = *args {
        let place = (op as u16).wrapping_sub(Op::IntEq as u16);
        if place <= Op::IntGe as u16 - Op::IntEq as u16 {
            return Ok(Datum::Bool(COMPARISONS[usize::from(place)].holds(a.cmp(&b))));
        }
        if op == Op::Int4Add {
            return number::in_int4(a + b).map(Datum::Int);
        }
        if op == Op::Int4Sub {
            return number::in_int4(a - b).map(Datum::Int);
        }
    }
    if op == Op::BytesEq
        && let [Datum::Bytes(a), Datum::Bytes(b)] = *args
    {
        return Ok(Datum::Bool(a == b));
    }
    by_family(op, args, ctx)
}

const COMPARISONS: [Comparison; 6] =
    [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt, Comparison::Ge];

/// Everything that [`eval`] does not do at once.
fn by_family<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    if op.is_strict() && args.iter().any(|arg| arg.is_null()) {
        return Ok(Datum::Null);
    }
    match op.family() {
        Family::Any => Ok(args[0]),
        Family::Comparison => {
            if matches!(op, Op::RecordEq | Op::RecordNe | Op::RecordLt | Op::RecordLe | Op::RecordGt | Op::RecordGe) {
                crate::record::check_similar(args[0].bytes(), args[1].bytes())?;
            }
            Ok(Datum::Bool(compare(op, args[0], args[1])))
        }
        Family::Integer => number::integer(op, args),
        Family::Float => number::floating(op, args, ctx),
        Family::Numeric => number::numeric(op, args, ctx),
        Family::String => string::eval(op, args, ctx),
        Family::Time => time::eval(op, args, ctx),
        Family::Template => template::eval(op, args, ctx),
        Family::List => list::eval(op, args, ctx),
        Family::Json => json::eval(op, args, ctx),
        Family::External => {
            let message = format!("{op:?} reached the evaluation of values");
            Err(Error::statement(sqlstate::INTERNAL_ERROR, message))
        }
    }
}

fn compare(op: Op, a: Datum<'_>, b: Datum<'_>) -> bool {
    use Op::*;
    let order = match op {
        FloatEq | FloatNe | FloatLt | FloatLe | FloatGt | FloatGe => float::compare(a.float(), b.float()),
        BoolEq | BoolNe | BoolLt | BoolLe | BoolGt | BoolGe => a.bool().cmp(&b.bool()),
        BpcharEq | BpcharNe | BpcharLt | BpcharLe | BpcharGt | BpcharGe => {
            trim_padding(a.bytes()).cmp(trim_padding(b.bytes()))
        }
        NumericEq | NumericNe | NumericLt | NumericLe | NumericGt | NumericGe => compare_numeric(a.bytes(), b.bytes()),
        ArrayEq | ArrayNe | ArrayLt | ArrayLe | ArrayGt | ArrayGe => compare_arrays(a.bytes(), b.bytes()),
        IntervalEq | IntervalNe | IntervalLt | IntervalLe | IntervalGt | IntervalGe => {
            compare_intervals(a.bytes(), b.bytes())
        }
        JsonbEq | JsonbNe | JsonbLt | JsonbLe | JsonbGt | JsonbGe => crate::json::order::compare(a.bytes(), b.bytes()),
        RecordEq | RecordNe | RecordLt | RecordLe | RecordGt | RecordGe => crate::record::order(a.bytes(), b.bytes()),
        BytesEq | BytesNe | BytesLt | BytesLe | BytesGt | BytesGe => a.bytes().cmp(b.bytes()),
        _ => a.int().cmp(&b.int()),
    };
    op.comparison().is_some_and(|comparison| comparison.holds(order))
}

/// An operation that its family's function does not know: the two lists have come apart.
#[cold]
fn unknown(op: Op) -> ! {
    unreachable!("{op:?} is not one of its family's")
}

#[cfg(test)]
mod tests;
