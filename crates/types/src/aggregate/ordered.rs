//! The ordered-set aggregates: what is asked of values in their order.
//!
//! The executor sorts the values of `WITHIN GROUP (ORDER BY …)` and adds them in that order; here they are counted out.
//!
//! Rules
//! 1. A fraction lies between 0 and 1: `22003`. A null fraction gives null.
//! 2. The discrete percentile is a value that is there, the continuous one lies between two.

use crate::datetime::Interval;
use crate::{Arena, Datum, Kind};
use base::{Error, Result, sqlstate};

/// Refuses what is no fraction.
pub fn fraction(value: f64) -> Result<f64> {
    match (0.0..=1.0).contains(&value) {
        true => Ok(value),
        false => {
            let message = format!("percentile value {value} is not between 0 and 1");
            Err(Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message))
        }
    }
}

/// The first value at or behind a fraction of all; there is one at least.
pub fn discrete<'a>(values: &[Datum<'a>], fraction: f64) -> Datum<'a> {
    let place = (fraction * values.len() as f64).ceil() as usize;
    values[place.max(1).min(values.len()) - 1]
}

/// The value at a fraction of the way from the first to the last; there is one at least.
pub fn continuous<'a>(kind: Kind, values: &[Datum<'a>], fraction: f64, arena: &'a Arena) -> Result<Datum<'a>> {
    let way = fraction * (values.len() - 1) as f64;
    let (first, second) = (way.floor() as usize, way.ceil() as usize);
    let (low, high) = (values[first], values[second.min(values.len() - 1)]);
    if first == second {
        return Ok(low);
    }
    let part = way - first as f64;
    if kind == Kind::Interval {
        let (low, high) = (Interval::decode(low.bytes())?, Interval::decode(high.bytes())?);
        let value = low.plus(high.minus(low)?.multiply(part)?)?;
        return Ok(Datum::Bytes(arena.copy(&value.encode())?));
    }
    let (low, high) = (low.float(), high.float());
    Ok(Datum::Float(low + part * (high - low)))
}

/// The value that comes most often, and of several the first.
pub fn mode<'a>(values: &[Datum<'a>], same: impl Fn(Datum<'a>, Datum<'a>) -> bool) -> Datum<'a> {
    let (mut best, mut best_count) = (values[0], 0);
    let mut start = 0;
    for at in 1..=values.len() {
        if at == values.len() || !same(values[at], values[start]) {
            if at - start > best_count {
                (best, best_count) = (values[start], at - start);
            }
            start = at;
        }
    }
    best
}
