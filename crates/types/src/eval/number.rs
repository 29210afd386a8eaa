//! Integers, floats and numerics: arithmetic, functions, and the casts between them.

use super::{degrees, unknown};
use crate::numeric::Numeric;
use crate::op::Op;
use crate::{Datum, EvalCtx, float, int};
use base::sqlstate::{INVALID_ARGUMENT_FOR_LOGARITHM, INVALID_ARGUMENT_FOR_POWER_FUNCTION};
use base::{Error, Result, sqlstate};

const INT2: (i64, i64) = (i16::MIN as i64, i16::MAX as i64);
const INT4: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

#[cold]
pub(super) fn bigint_out_of_range() -> Error {
    int::out_of_range("bigint")
}

#[cold]
fn division_by_zero() -> Error {
    Error::statement(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

#[inline]
pub(super) fn in_int4(value: i64) -> Result<i64> {
    within(value, INT4, "integer")
}

fn in_int2(value: i64) -> Result<i64> {
    within(value, INT2, "smallint")
}

#[inline]
fn within(value: i64, (min, max): (i64, i64), name: &str) -> Result<i64> {
    match (min..=max).contains(&value) {
        true => Ok(value),
        false => Err(int::out_of_range(name)),
    }
}

/// Integers: arithmetic, bits, and the casts between them, booleans and characters.
pub(super) fn integer<'a>(op: Op, args: &[Datum<'a>]) -> Result<Datum<'a>> {
    use Op::*;
    let int = |at: usize| args[at].int();
    let quotient = |checked: Option<i64>| match int(1) {
        0 => Err(division_by_zero()),
        // The smallest number divided by -1.
        _ => checked.ok_or_else(bigint_out_of_range),
    };
    // What is left of a division by -1 is zero, and the division itself may overflow.
    let remainder = || if int(1) == -1 { Ok(0) } else { quotient(int(0).checked_rem(int(1))) };
    let divided = || quotient(int(0).checked_div(int(1)));
    let value = match op {
        Int2Add => in_int2(int(0) + int(1)),
        Int2Sub => in_int2(int(0) - int(1)),
        Int2Mul => in_int2(int(0) * int(1)),
        Int4Add => in_int4(int(0) + int(1)),
        Int4Sub => in_int4(int(0) - int(1)),
        Int4Mul => in_int4(int(0) * int(1)),
        Int8Add => int(0).checked_add(int(1)).ok_or_else(bigint_out_of_range),
        Int8Sub => int(0).checked_sub(int(1)).ok_or_else(bigint_out_of_range),
        Int8Mul => int(0).checked_mul(int(1)).ok_or_else(bigint_out_of_range),
        Int2Div => divided().and_then(in_int2),
        Int4Div => divided().and_then(in_int4),
        Int8Div => divided(),
        Int2Mod | Int4Mod | Int8Mod => remainder(),
        Int2Neg => in_int2(-int(0)),
        Int4Neg => in_int4(-int(0)),
        Int8Neg => int(0).checked_neg().ok_or_else(bigint_out_of_range),
        Int2Abs => in_int2(int(0).abs()),
        Int4Abs => in_int4(int(0).abs()),
        Int8Abs => int(0).checked_abs().ok_or_else(bigint_out_of_range),
        // Shifts go round at the width of the type, and lose what they push out.
        Int2Shl => Ok(i64::from((int(0) as i32).wrapping_shl(int(1) as u32) as i16)),
        Int4Shl => Ok(i64::from((int(0) as i32).wrapping_shl(int(1) as u32))),
        Int8Shl => Ok(int(0).wrapping_shl(int(1) as u32)),
        IntShr => Ok(int(0).wrapping_shr(int(1) as u32)),
        IntAnd => Ok(int(0) & int(1)),
        IntOr => Ok(int(0) | int(1)),
        IntXor => Ok(int(0) ^ int(1)),
        IntNot => Ok(!int(0)),
        Int4Gcd => in_int4(common_divisor(int(0), int(1))?),
        Int8Gcd => common_divisor(int(0), int(1)),
        Int4Lcm => in_int4(common_multiple(int(0), int(1))?),
        Int8Lcm => common_multiple(int(0), int(1)),
        ToInt2 => in_int2(int(0)),
        ToInt4 => in_int4(int(0)),
        ToOid => within(int(0), (0, i64::from(u32::MAX)), "OID"),
        Int4ToOid => Ok(i64::from(int(0) as u32)),
        OidToInt4 => Ok(i64::from(int(0) as i32)),
        BoolToInt => Ok(i64::from(args[0].bool())),
        CharToInt => Ok(i64::from(int(0) as i8)),
        IntToChar => within(int(0), (-128, 127), "\"char\"").map(|value| i64::from(value as u8)),
        IntToBool => return Ok(Datum::Bool(int(0) != 0)),
        _ => unknown(op),
    };
    value.map(Datum::Int)
}

/// The greatest number that divides both; the other one where one is zero.
fn common_divisor(a: i64, b: i64) -> Result<i64> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).map_err(|_| bigint_out_of_range())
}

/// The least number that both divide; zero where one is zero.
fn common_multiple(a: i64, b: i64) -> Result<i64> {
    if a == 0 || b == 0 {
        return Ok(0);
    }
    let multiple = (a / common_divisor(a, b)?).checked_mul(b).and_then(i64::checked_abs);
    multiple.ok_or_else(bigint_out_of_range)
}

/// Floats: arithmetic, functions, and the casts from and to integers.
pub(super) fn floating<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let x = |at: usize| args[at].float();
    let infinite = || x(0).is_infinite() || x(1).is_infinite();
    let sum = |value: f64| float::check_overflow(value, infinite());
    let product = || {
        let value = float::check_overflow(x(0) * x(1), infinite())?;
        float::check_underflow(value, x(0) == 0.0 || x(1) == 0.0)
    };
    let quotient = || match x(1) == 0.0 && !x(0).is_nan() {
        true => Err(division_by_zero()),
        false => {
            let value = float::check_overflow(x(0) / x(1), x(0).is_infinite())?;
            float::check_underflow(value, x(0) == 0.0 || x(1).is_infinite())
        }
    };
    // A `real` is computed as one: the sum of two is rounded once either way.
    let narrow = |value: Result<f64>| value.and_then(|value| if infinite() { Ok(value) } else { float::to_f32(value) });
    let value = match op {
        Float8Add => sum(x(0) + x(1)),
        Float8Sub => sum(x(0) - x(1)),
        Float8Mul => product(),
        Float8Div => quotient(),
        Float4Add => narrow(sum(x(0) + x(1))),
        Float4Sub => narrow(sum(x(0) - x(1))),
        Float4Mul => narrow(product()),
        Float4Div => narrow(quotient()),
        FloatNeg => Ok(-x(0)),
        FloatAbs => Ok(x(0).abs()),
        FloatCeil => Ok(x(0).ceil()),
        FloatFloor => Ok(x(0).floor()),
        FloatRound => Ok(x(0).round_ties_even()),
        FloatTrunc => Ok(x(0).trunc()),
        FloatSign => Ok(if x(0) > 0.0 {
            1.0
        } else if x(0) < 0.0 {
            -1.0
        } else {
            0.0
        }),
        FloatSqrt => match x(0) < 0.0 {
            true => Err(power_error("cannot take square root of a negative number")),
            false => Ok(x(0).sqrt()),
        },
        FloatCbrt => Ok(x(0).cbrt()),
        FloatExp => float::check_overflow(x(0).exp(), x(0).is_infinite())
            .and_then(|value| float::check_underflow(value, x(0).is_infinite())),
        FloatLn => logarithm(x(0)).map(f64::ln),
        FloatLog10 => logarithm(x(0)).map(f64::log10),
        FloatPower => power(x(0), x(1)),
        FloatSin => trigonometric(x(0), f64::sin),
        FloatCos => trigonometric(x(0), f64::cos),
        FloatTan => trigonometric(x(0), f64::tan),
        FloatAsin => inverse(x(0), f64::asin),
        FloatAcos => inverse(x(0), f64::acos),
        FloatAtan => Ok(x(0).atan()),
        FloatAtan2 => Ok(x(0).atan2(x(1))),
        FloatDegrees => float::check_overflow(x(0) / (std::f64::consts::PI / 180.0), x(0).is_infinite()),
        FloatRadians => Ok(x(0) * (std::f64::consts::PI / 180.0)),
        FloatSinh => Ok(x(0).sinh()),
        FloatCosh => Ok(x(0).cosh()),
        FloatTanh => Ok(x(0).tanh()),
        FloatAsinh => Ok(x(0).asinh()),
        FloatAcosh => {
            if x(0) < 1.0 {
                Err(input_out_of_range())
            } else {
                Ok(x(0).acosh())
            }
        }
        FloatAtanh => {
            if x(0).abs() > 1.0 {
                Err(input_out_of_range())
            } else {
                Ok(x(0).atanh())
            }
        }
        FloatCot => trigonometric(x(0), |x| 1.0 / x.tan()),
        FloatSind => degrees::sine(x(0)).ok_or_else(input_out_of_range),
        FloatCosd => degrees::cosine(x(0)).ok_or_else(input_out_of_range),
        FloatTand => degrees::tangent(x(0)).ok_or_else(input_out_of_range),
        FloatCotd => degrees::cotangent(x(0)).ok_or_else(input_out_of_range),
        FloatAsind => inverse(x(0), degrees::arc_sine),
        FloatAcosd => inverse(x(0), degrees::arc_cosine),
        FloatAtand => Ok(degrees::arc_tangent(x(0), 1.0)),
        FloatAtan2d => Ok(degrees::arc_tangent(x(0), x(1))),
        FloatWidthBucket => return bucket_of_float(x(0), x(1), x(2), args[3].int()).map(Datum::Int),
        Pi => Ok(std::f64::consts::PI),
        // 53 random bits: every multiple of 2^-53 below one is as likely as the others.
        Random => Ok((ctx.next_random() >> 11) as f64 / (1u64 << 53) as f64),
        IntToFloat8 => Ok(args[0].int() as f64),
        IntToFloat4 => Ok(f64::from(args[0].int() as f32)),
        Float8ToFloat4 => float::to_f32(x(0)),
        FloatToInt2 => return float::to_integer(x(0), -32_768.0, 32_768.0, "smallint").map(Datum::Int),
        FloatToInt4 => {
            return float::to_integer(x(0), -2_147_483_648.0, 2_147_483_648.0, "integer").map(Datum::Int);
        }
        FloatToInt8 => {
            let end = 9_223_372_036_854_775_808.0;
            return float::to_integer(x(0), -end, end, "bigint").map(Datum::Int);
        }
        _ => unknown(op),
    };
    value.map(Datum::Float)
}

#[cold]
fn bucket_error(message: &'static str) -> Error {
    Error::statement(sqlstate::INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION, message)
}

/// In which of `count` equal parts between two bounds a number lies: zero before the first, `count` + 1 behind the last.
fn bucket_of_float(value: f64, low: f64, high: f64, count: i64) -> Result<i64> {
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    // Halves, whose difference cannot overflow.
    let place = |from: f64, to: f64| {
        let share = (value / 2.0 - from / 2.0) / (to / 2.0 - from / 2.0);
        ((count as f64 * share) as i64).min(count - 1) + 1
    };
    match low.partial_cmp(&high) {
        Some(std::cmp::Ordering::Less) if value < low => Ok(0),
        Some(std::cmp::Ordering::Less) if value >= high => in_int4(count + 1),
        Some(std::cmp::Ordering::Less) => Ok(place(low, high)),
        Some(std::cmp::Ordering::Greater) if value > low => Ok(0),
        Some(std::cmp::Ordering::Greater) if value <= high => in_int4(count + 1),
        Some(std::cmp::Ordering::Greater) => Ok(place(low, high)),
        _ => Err(bucket_error("lower bound cannot equal upper bound")),
    }
}

#[cold]
fn power_error(message: &'static str) -> Error {
    Error::statement(INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

fn logarithm(x: f64) -> Result<f64> {
    let refuse = |message| Err(Error::statement(INVALID_ARGUMENT_FOR_LOGARITHM, message));
    match x {
        0.0 => refuse("cannot take logarithm of zero"),
        _ if x < 0.0 => refuse("cannot take logarithm of a negative number"),
        _ => Ok(x),
    }
}

fn input_out_of_range() -> Error {
    Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn trigonometric(x: f64, function: fn(f64) -> f64) -> Result<f64> {
    match x.is_infinite() {
        true => Err(input_out_of_range()),
        false => float::check_overflow(function(x), false),
    }
}

fn inverse(x: f64, function: fn(f64) -> f64) -> Result<f64> {
    match x.abs() > 1.0 {
        true => Err(input_out_of_range()),
        false => Ok(function(x)),
    }
}

/// POSIX's power, with PostgreSQL's errors in place of its infinities.
fn power(base: f64, exponent: f64) -> Result<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(power_error("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.floor() != exponent && exponent.is_finite() {
        return Err(power_error("a negative number raised to a non-integer power yields a complex result"));
    }
    let infinite = base.is_infinite() || exponent.is_infinite();
    let value = float::check_overflow(base.powf(exponent), infinite)?;
    float::check_underflow(value, base == 0.0 || infinite)
}

/// `numeric`: arithmetic, functions, and the casts from and to other numbers.
pub(super) fn numeric<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let value = match op {
        IntToNumeric => Numeric::from_int(args[0].int().into()),
        Factorial => factorial(args[0].int())?,
        NumericWidthBucket => return bucket_of_numeric(args).map(Datum::Int),
        Float4ToNumeric => Numeric::from_f32(args[0].float() as f32)?,
        Float8ToNumeric => Numeric::from_f64(args[0].float())?,
        NumericAdd => Numeric::decode(args[0].bytes())?.add(&Numeric::decode(args[1].bytes())?),
        _ => {
            let first = Numeric::decode(args[0].bytes())?;
            match unary(op, &first)? {
                Unary::Datum(datum) => return Ok(datum),
                Unary::Numeric(value) => value,
                Unary::Binary => binary(op, first, args[1])?,
            }
        }
    };
    Ok(Datum::Bytes(value.encode(|bytes| ctx.arena.copy(bytes))??))
}

/// The greatest number whose factorial `numeric` may hold.
const FACTORIAL_MAX: i64 = 32_177;

fn factorial(of: i64) -> Result<Numeric> {
    if of < 0 {
        let message = "factorial of a negative number is undefined";
        return Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message));
    }
    if of > FACTORIAL_MAX {
        return Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format"));
    }
    (2..=of).try_fold(Numeric::from_int(1), |product, factor| product.multiply(&Numeric::from_int(factor.into())))
}

fn bucket_of_numeric(args: &[Datum<'_>]) -> Result<i64> {
    let count = args[3].int();
    if count <= 0 {
        return Err(bucket_error("count must be greater than zero"));
    }
    let [value, low, high] = [0, 1, 2].map(|at| Numeric::decode(args[at].bytes()));
    let (value, low, high) = (value?, low?, high?);
    if [&value, &low, &high].into_iter().any(|number| matches!(number, Numeric::Nan)) {
        return Err(bucket_error("operand, lower bound, and upper bound cannot be NaN"));
    }
    if !low.is_finite() || !high.is_finite() {
        return Err(bucket_error("lower and upper bounds must be finite"));
    }
    let order = low.compare(&high);
    let (before, behind) = match order {
        std::cmp::Ordering::Equal => return Err(bucket_error("lower bound cannot equal upper bound")),
        std::cmp::Ordering::Less => (value.compare(&low).is_lt(), value.compare(&high).is_ge()),
        std::cmp::Ordering::Greater => (value.compare(&low).is_gt(), value.compare(&high).is_le()),
    };
    if before || behind {
        return if before { Ok(0) } else { in_int4(count + 1) };
    }
    let whole = high.subtract(&low);
    let share = value.subtract(&low).multiply(&Numeric::from_int(count.into()))?.divide_truncated(&whole)?;
    Ok((share.to_integer("integer")? as i64).min(count - 1) + 1)
}

enum Unary {
    Datum(Datum<'static>),
    Numeric(Numeric),
    /// The operation has a second argument.
    Binary,
}

fn unary(op: Op, value: &Numeric) -> Result<Unary> {
    use Op::*;
    let int = |name, min: i64, max: i64| -> Result<Unary> {
        let rounded = value.to_integer(name)?;
        match i64::try_from(rounded).ok().filter(|rounded| (min..=max).contains(rounded)) {
            Some(rounded) => Ok(Unary::Datum(Datum::Int(rounded))),
            None => Err(int::out_of_range(name)),
        }
    };
    Ok(Unary::Numeric(match op {
        NumericToInt2 => return int("smallint", INT2.0, INT2.1),
        NumericToInt4 => return int("integer", INT4.0, INT4.1),
        NumericToInt8 => return int("bigint", i64::MIN, i64::MAX),
        NumericToFloat4 => return Ok(Unary::Datum(Datum::Float(value.to_f32()?.into()))),
        NumericToFloat8 => return Ok(Unary::Datum(Datum::Float(value.to_f64()?))),
        NumericScale => {
            let scale = if value.is_finite() { Datum::Int(value.scale().into()) } else { Datum::Null };
            return Ok(Unary::Datum(scale));
        }
        NumericMinScale => {
            let scale = if value.is_finite() { Datum::Int(value.reduced().scale().into()) } else { Datum::Null };
            return Ok(Unary::Datum(scale));
        }
        NumericTrimScale => value.reduced(),
        NumericInc => value.add(&Numeric::from_int(1)),
        NumericNeg => value.clone().negate(),
        NumericAbs => value.clone().abs(),
        NumericSign => match value {
            Numeric::Nan => Numeric::Nan,
            _ => Numeric::from_int(value.signum().into()),
        },
        NumericCeil => value.ceiling()?,
        NumericFloor => value.floor()?,
        NumericRound1 => value.round(0)?,
        NumericTrunc1 => value.truncate(0)?,
        NumericSqrt => value.sqrt()?,
        NumericExp => value.exp()?,
        NumericLn => value.ln()?,
        NumericLog10 => value.log(&Numeric::from_int(10))?,
        _ => return Ok(Unary::Binary),
    }))
}

fn binary(op: Op, first: Numeric, second: Datum<'_>) -> Result<Numeric> {
    use Op::*;
    match op {
        NumericRound => return first.round(second.int()),
        NumericTrunc => return first.truncate(second.int()),
        NumericLength => return first.with_typmod(second.int() as i32),
        _ => {}
    }
    let second = Numeric::decode(second.bytes())?;
    match op {
        NumericAdd => Ok(first.add(&second)),
        NumericSub => Ok(first.subtract(&second)),
        NumericMul => first.multiply(&second),
        NumericDiv => first.divide(&second),
        NumericMod => first.remainder(&second),
        NumericDivTrunc => first.divide_truncated(&second),
        NumericPower => first.power(&second),
        NumericGcd => divisor_of_numerics(first, second),
        NumericLcm => {
            if first.is_zero() || second.is_zero() {
                let scale = first.scale().max(second.scale());
                return Numeric::from_int(0).round(scale.into());
            }
            let divisor = divisor_of_numerics(first.clone(), second.clone())?;
            if !divisor.is_finite() {
                return Ok(divisor);
            }
            Ok(first.divide_truncated(&divisor)?.multiply(&second)?.abs())
        }
        // The base comes first.
        NumericLog => second.log(&first),
        _ => unknown(op),
    }
}

/// The greatest number that divides both a whole number of times.
fn divisor_of_numerics(mut a: Numeric, mut b: Numeric) -> Result<Numeric> {
    if !a.is_finite() || !b.is_finite() {
        return Ok(Numeric::Nan);
    }
    let scale = a.scale().max(b.scale());
    while !b.is_zero() {
        let rest = a.remainder(&b)?;
        (a, b) = (b, rest);
    }
    a.abs().round(scale.into())
}
