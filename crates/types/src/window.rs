//! Window functions: the table of those that are no aggregates, and when a row is within the distance of another one.
//!
//! What a window function computes needs all rows of a partition, so it is the executor's. The table says which there are:
//! PostgreSQL's names, signatures and object identifiers.
//!
//! Rules
//! 1. Sorted by name, then by object identifier; [`by_name`] needs it and a test checks it.
//! 2. [`in_range`] compares without the overflow that computing the bound as a value of the type would have.

use super::datetime::Interval;
use super::numeric::Numeric;
use super::op::Op;
use super::table::{Kind, Oid};
use super::{Datum, EvalCtx, eval};
use base::{Error, Result, sqlstate};
use std::cmp::Ordering;

/// What a window function computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs, reason = "each is the function of that name")]
pub enum WindowOp {
    RowNumber = 0,
    Rank = 1,
    DenseRank = 2,
    PercentRank = 3,
    CumeDist = 4,
    Ntile = 5,
    Lag = 6,
    Lead = 7,
    FirstValue = 8,
    LastValue = 9,
    NthValue = 10,
}

impl WindowOp {
    /// The function of a number.
    pub fn from_number(number: u32) -> Option<WindowOp> {
        TABLE.iter().map(|row| row.op).find(|op| *op as u32 == number)
    }
}

/// A window function's row.
#[derive(Clone, Copy, Debug)]
pub struct WindowFunction {
    /// `pg_proc.oid`.
    pub oid: Oid,
    /// `pg_proc.proname`.
    pub name: &'static str,
    /// The types of its arguments.
    pub args: &'static [Oid],
    /// The type of its result; polymorphic ones are decided by the arguments.
    pub result: Oid,
    /// What it computes.
    pub op: WindowOp,
}

/// The window functions of a name, which differ in their arguments.
pub fn by_name(name: &str) -> &'static [WindowFunction] {
    let start = TABLE.partition_point(|row| row.name < name);
    let count = TABLE[start..].iter().take_while(|row| row.name == name).count();
    &TABLE[start..start + count]
}

macro_rules! functions {
    ($($oid:literal $name:literal [$($arg:ident)*] $result:ident $op:ident;)*) => {
        /// Every window function, sorted by name.
        pub static TABLE: &[WindowFunction] = &[$(WindowFunction {
            oid: Oid($oid),
            name: $name,
            args: &[$(Oid::$arg),*],
            result: Oid::$result,
            op: WindowOp::$op,
        }),*];
    };
}

// oid, name, arguments, result, operation
#[rustfmt::skip]
functions! {
    3104 "cume_dist" [] FLOAT8 CumeDist;
    3102 "dense_rank" [] INT8 DenseRank;
    3112 "first_value" [ANYELEMENT] ANYELEMENT FirstValue;
    3106 "lag" [ANYELEMENT] ANYELEMENT Lag;
    3107 "lag" [ANYELEMENT INT4] ANYELEMENT Lag;
    3108 "lag" [ANYCOMPATIBLE INT4 ANYCOMPATIBLE] ANYCOMPATIBLE Lag;
    3113 "last_value" [ANYELEMENT] ANYELEMENT LastValue;
    3109 "lead" [ANYELEMENT] ANYELEMENT Lead;
    3110 "lead" [ANYELEMENT INT4] ANYELEMENT Lead;
    3111 "lead" [ANYCOMPATIBLE INT4 ANYCOMPATIBLE] ANYCOMPATIBLE Lead;
    3114 "nth_value" [ANYELEMENT INT4] ANYELEMENT NthValue;
    3105 "ntile" [INT4] INT4 Ntile;
    3103 "percent_rank" [] FLOAT8 PercentRank;
    3101 "rank" [] INT8 Rank;
    3100 "row_number" [] INT8 RowNumber;
}

/// The type that the offset of a `RANGE` bound has for rows that are ordered by values of a type, given the type that it was written
/// with. `None` where values of the type have no distance; `Some(None)` where they have, but not by such an offset.
pub fn offset_type(ordered: Oid, written: Oid) -> Option<Option<Oid>> {
    let whole = |oid| matches!(oid, Oid::INT2 | Oid::INT4 | Oid::INT8);
    let unknown = written == Oid::UNKNOWN;
    Some(match ordered {
        Oid::INT2 | Oid::INT4 if unknown => Some(ordered),
        Oid::INT2 | Oid::INT4 => whole(written).then_some(written),
        Oid::INT8 => (unknown || whole(written)).then_some(Oid::INT8),
        Oid::FLOAT4 | Oid::FLOAT8 => {
            let number = whole(written) || matches!(written, Oid::FLOAT4 | Oid::FLOAT8 | Oid::NUMERIC);
            (unknown || number).then_some(Oid::FLOAT8)
        }
        Oid::NUMERIC => (unknown || whole(written) || written == Oid::NUMERIC).then_some(Oid::NUMERIC),
        Oid::DATE | Oid::TIME | Oid::TIMESTAMP | Oid::TIMESTAMPTZ | Oid::INTERVAL => {
            (unknown || matches!(written, Oid::INTERVAL | Oid::TIME)).then_some(Oid::INTERVAL)
        }
        _ => return None,
    })
}

#[cold]
fn negative() -> Error {
    Error::statement(
        sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
        "invalid preceding or following size in window function",
    )
}

/// A test of [`in_range`].
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// How values are represented.
    pub kind: Kind,
    /// The offset is taken away, not added.
    pub subtract: bool,
    /// Is the value at most the bound, not at least?
    pub less: bool,
}

/// Is a value at least, or at most, the base plus or minus the offset? None of them is null.
pub fn in_range(
    range: Range,
    value: Datum<'_>,
    base: Datum<'_>,
    offset: Datum<'_>,
    ctx: &mut EvalCtx<'_>,
) -> Result<bool> {
    let Range { kind, subtract, less } = range;
    let holds = |order: Ordering| if less { order.is_le() } else { order.is_ge() };
    match kind {
        Kind::Float4 | Kind::Float8 => {
            let (value, base, offset) = (value.float(), base.float(), offset.float());
            if offset.is_nan() || offset < 0.0 {
                return Err(negative());
            }
            if value.is_nan() {
                return Ok(base.is_nan() || !less);
            }
            if base.is_nan() {
                return Ok(less);
            }
            if offset.is_infinite() && base.is_infinite() && (base > 0.0) == subtract {
                return Ok(true);
            }
            let sum = if subtract { base - offset } else { base + offset };
            Ok(if less { value <= sum } else { value >= sum })
        }
        Kind::Numeric => {
            let (value, base, offset) =
                (Numeric::decode(value.bytes())?, Numeric::decode(base.bytes())?, Numeric::decode(offset.bytes())?);
            if matches!(offset, Numeric::Nan) || offset.signum() < 0 {
                return Err(negative());
            }
            if matches!(value, Numeric::Nan) {
                return Ok(matches!(base, Numeric::Nan) || !less);
            }
            if matches!(base, Numeric::Nan) {
                return Ok(less);
            }
            if !offset.is_finite() && !base.is_finite() && (base.signum() > 0) == subtract {
                return Ok(true);
            }
            let sum = if subtract { base.subtract(&offset) } else { base.add(&offset) };
            Ok(holds(value.compare(&sum)))
        }
        Kind::Interval | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz => {
            let distance = Interval::decode(offset.bytes())?;
            let below = match kind {
                Kind::Time => distance.micros < 0,
                _ => distance.compare(Interval::of_micros(0)).is_lt(),
            };
            if below {
                return Err(negative());
            }
            moved_in_range(range, value, base, distance, ctx)
        }
        _ => {
            let (value, base, offset) = (i128::from(value.int()), i128::from(base.int()), i128::from(offset.int()));
            if offset < 0 {
                return Err(negative());
            }
            let sum = if subtract { base - offset } else { base + offset };
            Ok(holds(value.cmp(&sum)))
        }
    }
}

/// The same of times, whose offset is an interval.
fn moved_in_range(
    range: Range,
    value: Datum<'_>,
    base: Datum<'_>,
    distance: Interval,
    ctx: &mut EvalCtx<'_>,
) -> Result<bool> {
    let Range { kind, subtract, less } = range;
    let holds = |order: Ordering| if less { order.is_le() } else { order.is_ge() };
    match kind {
        Kind::Interval => {
            let (value, base) = (Interval::decode(value.bytes())?, Interval::decode(base.bytes())?);
            let sum = if subtract { base.minus(distance)? } else { base.plus(distance)? };
            Ok(holds(value.compare(sum)))
        }
        // A time of day does not wrap around here.
        Kind::Time => {
            let distance = i128::from(if subtract { -distance.micros } else { distance.micros });
            Ok(holds(i128::from(value.int()).cmp(&(i128::from(base.int()) + distance))))
        }
        kind => {
            let op = match (kind, subtract) {
                (Kind::Date, true) => Op::DateSubInterval,
                (Kind::Date, false) => Op::DateAddInterval,
                (Kind::Timestamp, true) => Op::TimestampSubInterval,
                (Kind::Timestamp, false) => Op::TimestampAddInterval,
                (_, true) => Op::TimestamptzSubInterval,
                (_, false) => Op::TimestamptzAddInterval,
            };
            let distance = distance.encode();
            let distance = ctx.arena.copy(&distance)?;
            let bound = eval::eval(op, &[Datum::Int(base.int()), Datum::Bytes(distance)], ctx)?.int();
            let value = match kind {
                Kind::Date => {
                    let none = ctx.arena.copy(&Interval::of_micros(0).encode())?;
                    eval::eval(Op::DateAddInterval, &[Datum::Int(value.int()), Datum::Bytes(none)], ctx)?.int()
                }
                _ => value.int(),
            };
            Ok(holds(value.cmp(&bound)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;

    #[test]
    fn the_table_is_sorted() {
        assert!(TABLE.windows(2).all(|pair| (pair[0].name, pair[0].oid.0) < (pair[1].name, pair[1].oid.0)));
        assert_eq!(by_name("lag").len(), 3);
        for row in TABLE {
            assert_eq!(WindowOp::from_number(row.op as u32), Some(row.op));
        }
    }

    #[test]
    fn ranges_do_not_overflow() {
        let arena = Arena::new();
        let mut ctx = EvalCtx::plain(&arena);
        let range = Range { kind: Kind::Int8, subtract: false, less: true };
        let max = Datum::Int(i64::MAX);
        assert!(in_range(range, max, max, Datum::Int(5), &mut ctx).unwrap());
        let error = in_range(range, max, max, Datum::Int(-1), &mut ctx).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_PRECEDING_OR_FOLLOWING_SIZE);
        let range = Range { kind: Kind::Float8, subtract: true, less: false };
        let number = Datum::Float;
        assert!(in_range(range, number(f64::NAN), number(1.0), number(1.0), &mut ctx).unwrap());
        assert!(
            in_range(range, number(f64::INFINITY), number(f64::INFINITY), number(f64::INFINITY), &mut ctx).unwrap()
        );
        assert!(!in_range(range, number(0.5), number(2.0), number(1.0), &mut ctx).unwrap());
    }

    #[test]
    fn offsets_have_the_type_that_the_order_asks_for() {
        assert_eq!(offset_type(Oid::DATE, Oid::UNKNOWN), Some(Some(Oid::INTERVAL)));
        assert_eq!(offset_type(Oid::INT4, Oid::INT8), Some(Some(Oid::INT8)));
        assert_eq!(offset_type(Oid::INT4, Oid::NUMERIC), Some(None));
        assert_eq!(offset_type(Oid::TEXT, Oid::INT4), None);
    }
}
