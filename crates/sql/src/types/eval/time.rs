//! Dates and times: the current ones, arithmetic of days, and the casts between the types.

use super::unknown;
use crate::types::datetime::{
    self, DAY, check_date, date_to_timestamp, is_infinite_date, is_infinite_timestamp, local_to_utc,
    round_to_precision, timestamp_to_date, utc_to_local,
};
use crate::types::op::Op;
use crate::types::{Datum, EvalCtx};
use base::{Error, Result, sqlstate};

pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let int = |at: usize| args[at].int();
    let zone = ctx.style.zone;
    let value = match op {
        Now => Ok(ctx.style.now),
        StatementTimestamp => Ok(ctx.statement_time),
        ClockTimestamp => Ok(ctx.clock_time),
        DateAddInt => add_days(int(0), int(1)),
        IntAddDate => add_days(int(1), int(0)),
        DateSubInt => add_days(int(0), -int(1)),
        DateSub => match is_infinite_date(int(0)) || is_infinite_date(int(1)) {
            true => Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite dates")),
            false => Ok(int(0) - int(1)),
        },
        DateToTimestamp => date_to_timestamp(int(0)),
        DateToTimestamptz => date_to_timestamp(int(0)).and_then(|midnight| local_to_utc(midnight, zone)),
        TimestampToDate => Ok(timestamp_to_date(int(0))),
        TimestamptzToDate => utc_to_local(int(0), zone).map(timestamp_to_date),
        TimestampToTimestamptz => local_to_utc(int(0), zone),
        TimestamptzToTimestamp => utc_to_local(int(0), zone),
        TimestampToTime => return Ok(time_of_day(int(0))),
        TimestamptzToTime => return utc_to_local(int(0), zone).map(time_of_day),
        TimeLength => Ok(round_to_precision(int(0), int(1) as i32)),
        _ => unknown(op),
    };
    value.map(Datum::Int)
}

fn add_days(date: i64, days: i64) -> Result<i64> {
    match is_infinite_date(date) {
        true => Ok(date),
        false => match (datetime::DATE_MIN..datetime::DATE_END).contains(&(date + days)) {
            true => check_date(date + days),
            false => Err(datetime::out_of_range("date")),
        },
    }
}

/// The time of a timestamp's day; null of an infinite one.
fn time_of_day<'a>(micros: i64) -> Datum<'a> {
    if is_infinite_timestamp(micros) { Datum::Null } else { Datum::Int(micros.rem_euclid(DAY)) }
}
