//! Dates, times and intervals: the current ones, arithmetic, parts, and the casts between the types.

use super::unknown;
use crate::datetime::part::{self, Amount};
use crate::datetime::{
    self, Civil, DAY, HOUR, Interval, MINUTE, SECOND, UNIX_EPOCH_DAYS, Zone, check_date, check_timestamp,
    date_to_timestamp, is_infinite_date, is_infinite_timestamp, local_to_utc, month_length, out_of_range,
    round_to_precision, timestamp_to_date, utc_to_local,
};
use crate::op::Op;
use crate::{Datum, EvalCtx};
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
        DateAddTime => date_and_time(int(0), int(1)),
        TimeAddDate => date_and_time(int(1), int(0)),
        DateToTimestamp => date_to_timestamp(int(0)),
        DateToTimestamptz => date_to_timestamp(int(0)).and_then(|midnight| local_to_utc(midnight, zone)),
        TimestampToDate => Ok(timestamp_to_date(int(0))),
        TimestamptzToDate => utc_to_local(int(0), zone).map(timestamp_to_date),
        TimestampToTimestamptz => local_to_utc(int(0), zone),
        TimestamptzToTimestamp => utc_to_local(int(0), zone),
        TimestampToTime => return Ok(time_of_day(int(0))),
        TimestamptzToTime => return utc_to_local(int(0), zone).map(time_of_day),
        TimeLength => Ok(round_to_precision(int(0), int(1) as i32)),
        TruncTimestamp => part::truncate_timestamp(text(args[0])?, int(1)),
        TruncTimestamptz => part::truncate_timestamptz(text(args[0])?, int(1), zone),
        TruncTimestamptzIn => part::truncate_timestamptz(text(args[0])?, int(1), &named_zone(args[2])?),
        MakeDate => make_date(int(0), int(1), int(2)),
        MakeTime => make_time(int(0), int(1), args[2].float()),
        MakeTimestamp => make_timestamp(args),
        MakeTimestamptz => make_timestamp(args).and_then(|local| local_to_utc(local, zone)),
        MakeTimestamptzIn => {
            let zone = named_zone(args[6])?;
            make_timestamp(args).and_then(|local| local_to_utc(local, &zone))
        }
        Overlaps => return Ok(overlaps(args)),
        EpochToTimestamptz => from_epoch(args[0].float()),
        DateBinTimestamp | DateBinTimestamptz => date_bin(Interval::decode(args[0].bytes())?, int(1), int(2)),
        DateIsFinite => return Ok(Datum::Bool(!is_infinite_date(int(0)))),
        TimestampIsFinite => return Ok(Datum::Bool(!is_infinite_timestamp(int(0)))),
        IntervalIsFinite => return Ok(Datum::Bool(true)),
        TimestampInZone => local_to_utc(int(1), &named_zone(args[0])?),
        TimestamptzInZone => utc_to_local(int(1), &named_zone(args[0])?),
        TimestampAtOffset => offset_zone(args[0], ctx).and_then(|zone| local_to_utc(int(1), &zone)),
        TimestamptzAtOffset => offset_zone(args[0], ctx).and_then(|zone| utc_to_local(int(1), &zone)),
        _ => return with_interval(op, args, ctx),
    };
    value.map(Datum::Int)
}

/// Have two spans a time in common? An end that is not known may be anywhere behind the other one.
fn overlaps(args: &[Datum<'_>]) -> Datum<'static> {
    let value = |at: usize| if args[at].is_null() { None } else { Some(args[at].int()) };
    // The first end that is known, and the last one if both are.
    let span = |at: usize| match (value(at), value(at + 1)) {
        (Some(start), Some(end)) => Some((start.min(end), Some(start.max(end)))),
        (Some(one), None) | (None, Some(one)) => Some((one, None)),
        (None, None) => None,
    };
    let (Some(left), Some(right)) = (span(0), span(2)) else { return Datum::Null };
    let (earlier, later) = if left.0 <= right.0 { (left, right) } else { (right, left) };
    let known = |value: bool| Datum::Bool(value);
    match (earlier.1, later.1) {
        (Some(_), Some(_)) if earlier.0 == later.0 => known(true),
        (_, _) if earlier.0 == later.0 => Datum::Null,
        (None, _) => Datum::Null,
        (Some(end), _) if later.0 < end => known(true),
        (Some(_), Some(_)) => known(false),
        (Some(_), None) => Datum::Null,
    }
}

/// What has an interval among its arguments or as its result, and parts.
fn with_interval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let int = |at: usize| args[at].int();
    let span = |at: usize| Interval::decode(args[at].bytes());
    let zone = ctx.style.zone;
    let moment = match op {
        DateAddInterval => date_to_timestamp(int(0)).and_then(|day| span(1)?.add_to_timestamp(day)),
        IntervalAddDate => date_to_timestamp(int(1)).and_then(|day| span(0)?.add_to_timestamp(day)),
        DateSubInterval => date_to_timestamp(int(0)).and_then(|day| span(1)?.negate()?.add_to_timestamp(day)),
        TimestampAddInterval => span(1)?.add_to_timestamp(int(0)),
        IntervalAddTimestamp => span(0)?.add_to_timestamp(int(1)),
        TimestampSubInterval => span(1)?.negate()?.add_to_timestamp(int(0)),
        TimestamptzAddInterval => span(1)?.add_to_timestamptz(int(0), zone),
        IntervalAddTimestamptz => span(0)?.add_to_timestamptz(int(1), zone),
        TimestamptzSubInterval => span(1)?.negate()?.add_to_timestamptz(int(0), zone),
        TimeAddInterval => Ok((int(0) + span(1)?.micros % DAY).rem_euclid(DAY)),
        IntervalAddTime => Ok((int(1) + span(0)?.micros % DAY).rem_euclid(DAY)),
        TimeSubInterval => Ok((int(0) - span(1)?.micros % DAY).rem_euclid(DAY)),
        IntervalToTime => Ok(span(0)?.micros.rem_euclid(DAY)),
        ExtractDate | ExtractTime | ExtractTimestamp | ExtractTimestamptz | ExtractInterval => {
            return match amount(op, args, zone)?.numeric()? {
                Some(value) => Ok(Datum::Bytes(value.encode(|bytes| ctx.arena.copy(bytes))??)),
                None => Ok(Datum::Null),
            };
        }
        PartOfDate | PartOfTime | PartOfTimestamp | PartOfTimestamptz | PartOfInterval => {
            return Ok(amount(op, args, zone)?.float()?.map_or(Datum::Null, Datum::Float));
        }
        _ => return interval(op, args, ctx).and_then(|value| Ok(Datum::Bytes(ctx.arena.copy(&value.encode())?))),
    };
    moment.map(Datum::Int)
}

/// What has an interval as its result.
fn interval(op: Op, args: &[Datum<'_>], ctx: &EvalCtx<'_>) -> Result<Interval> {
    use Op::*;
    let int = |at: usize| args[at].int();
    let span = |at: usize| Interval::decode(args[at].bytes());
    let zone = ctx.style.zone;
    let today = || utc_to_local(ctx.style.now, zone).map(|now| now.div_euclid(DAY) * DAY);
    match op {
        IntervalAdd => span(0)?.plus(span(1)?),
        IntervalSub => span(0)?.minus(span(1)?),
        IntervalNeg => span(0)?.negate(),
        IntervalMul => span(0)?.multiply(args[1].float()),
        FloatMulInterval => span(1)?.multiply(args[0].float()),
        IntervalDiv => span(0)?.divide(args[1].float()),
        JustifyHours => span(0)?.justify_hours(),
        JustifyDays => span(0)?.justify_days(),
        JustifyInterval => span(0)?.justify(),
        TimestampSub => Interval::between(int(1), int(0)),
        TimeSub => Ok(Interval::of_micros(int(0) - int(1))),
        TimestampAge => Interval::age(int(1), int(0)),
        TimestampAge1 => Interval::age(int(0), today()?),
        TimestamptzAge => Interval::age(utc_to_local(int(1), zone)?, utc_to_local(int(0), zone)?),
        TimestamptzAge1 => Interval::age(utc_to_local(int(0), zone)?, today()?),
        MakeInterval => make_interval(args),
        TruncInterval => part::truncate_interval(text(args[0])?, span(1)?),
        TimeToInterval => Ok(Interval::of_micros(int(0))),
        IntervalLength => span(0)?.fit(int(1) as i32),
        _ => unknown(op),
    }
}

fn text(value: Datum<'_>) -> Result<&str> {
    crate::text::validate(value.bytes())
}

fn amount(op: Op, args: &[Datum<'_>], zone: &Zone) -> Result<Amount> {
    use Op::*;
    let name = text(args[0])?;
    match op {
        ExtractDate | PartOfDate => part::of_date(name, args[1].int()),
        ExtractTime | PartOfTime => part::of_time_of_day(name, args[1].int()),
        ExtractTimestamp | PartOfTimestamp => part::of_timestamp(name, args[1].int(), None),
        ExtractTimestamptz | PartOfTimestamptz => part::of_timestamp(name, args[1].int(), Some(zone)),
        _ => part::of_interval(name, Interval::decode(args[1].bytes())?),
    }
}

fn named_zone(name: Datum<'_>) -> Result<Zone> {
    Zone::named(text(name)?)
}

/// A zone so far east of Greenwich as an interval says, which may have neither months nor days.
fn offset_zone(value: Datum<'_>, ctx: &EvalCtx<'_>) -> Result<Zone> {
    let span = Interval::decode(value.bytes())?;
    if span.months != 0 || span.days != 0 {
        let mut shown = Vec::new();
        datetime::print_interval(span, ctx.style.interval_style, &mut shown);
        let shown = String::from_utf8_lossy(&shown).into_owned();
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
    }
    Ok(Zone::fixed(span.micros / SECOND))
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

fn date_and_time(date: i64, time: i64) -> Result<i64> {
    match date_to_timestamp(date)? {
        infinite if is_infinite_timestamp(infinite) => Ok(infinite),
        midnight => check_timestamp(midnight + time),
    }
}

/// The time of a timestamp's day; null of an infinite one.
fn time_of_day<'a>(micros: i64) -> Datum<'a> {
    if is_infinite_timestamp(micros) { Datum::Null } else { Datum::Int(micros.rem_euclid(DAY)) }
}

#[cold]
fn no_such(what: &str, shown: String) -> Error {
    Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{what} field value out of range: {shown}"))
}

/// A day by its numbers; years before the first are negative.
fn make_date(year: i64, month: i64, day: i64) -> Result<i64> {
    let counted = if year < 0 { year + 1 } else { year };
    let is_day = year != 0 && (1..=12).contains(&month) && day >= 1 && day <= month_length(counted, month);
    if !is_day {
        return Err(no_such("date", format!("{year}-{month:02}-{day:02}")));
    }
    let days = Civil { year: counted, month, day }.to_days();
    match (datetime::DATE_MIN..datetime::DATE_END).contains(&days) {
        true => Ok(days),
        false => Err(Error::statement(
            sqlstate::DATETIME_FIELD_OVERFLOW,
            format!("date out of range: {year}-{month:02}-{day:02}"),
        )),
    }
}

fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let in_day = (0..=23).contains(&hour) && (0..=59).contains(&minute) && (0.0..=60.0).contains(&second);
    let at_end = hour == 24 && minute == 0 && second == 0.0;
    if !in_day && !at_end {
        return Err(no_such("time", format!("{hour}:{minute:02}:{second:02}")));
    }
    Ok(hour * HOUR + minute * MINUTE + (second * SECOND as f64).round_ties_even() as i64)
}

/// The beginning of the span that a time lies in; spans follow each other from `origin` on, in both directions.
fn date_bin(stride: Interval, time: i64, origin: i64) -> Result<i64> {
    let refused = |message: &'static str| Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    if is_infinite_timestamp(time) {
        return Ok(time);
    }
    if is_infinite_timestamp(origin) {
        return refused("origin out of range");
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(Error::unsupported(message));
    }
    let stride = i64::from(stride.days).checked_mul(DAY).and_then(|days| days.checked_add(stride.micros));
    let Some(stride) = stride else { return refused("interval out of range") };
    if stride <= 0 {
        return refused("stride must be greater than zero");
    }
    let start = time.checked_sub(origin).and_then(|distance| origin.checked_add(distance.div_euclid(stride) * stride));
    match start {
        Some(start) => check_timestamp(start),
        None => refused("interval out of range"),
    }
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`
fn make_interval(args: &[Datum<'_>]) -> Result<Interval> {
    let int = |at: usize| args[at].int();
    let seconds = (args[6].float() * SECOND as f64).round_ties_even();
    let time = int(4) * HOUR + int(5) * MINUTE;
    // No interval is so long, and no float near the greatest integer is exact.
    let fits = seconds.abs() < (i64::MAX / 2) as f64;
    let interval = || {
        Some(Interval {
            months: i32::try_from(int(0) * 12 + int(1)).ok()?,
            days: i32::try_from(int(2) * 7 + int(3)).ok()?,
            micros: time.checked_add(fits.then_some(seconds as i64)?)?,
        })
    };
    interval().ok_or_else(|| out_of_range("interval"))
}

fn make_timestamp(args: &[Datum<'_>]) -> Result<i64> {
    let day = make_date(args[0].int(), args[1].int(), args[2].int())?;
    let time = make_time(args[3].int(), args[4].int(), args[5].float())?;
    date_and_time(day, time)
}

/// The instant so many seconds after 1970.
fn from_epoch(seconds: f64) -> Result<i64> {
    match seconds {
        f64::INFINITY => Ok(datetime::TIMESTAMP_INFINITY),
        f64::NEG_INFINITY => Ok(datetime::TIMESTAMP_NEG_INFINITY),
        _ if seconds.is_nan() => Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN")),
        _ => {
            let micros = ((seconds - (UNIX_EPOCH_DAYS * 86_400) as f64) * SECOND as f64).round_ties_even();
            match micros >= datetime::TIMESTAMP_MIN as f64 && micros < datetime::TIMESTAMP_END as f64 {
                true => Ok(micros as i64),
                false => Err(out_of_range("timestamp")),
            }
        }
    }
}
