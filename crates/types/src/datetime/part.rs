//! Parts of dates and times: what `extract`, `date_part` and `date_trunc` take by name.
//!
//! | part | of what it is not there |
//! |---|---|
//! | `microseconds` to `hour` | `date` |
//! | `day` to `millennium` | `time`; `week` of `interval` |
//! | `dow`, `isodow`, `doy`, `isoyear`, `julian` | `time`, `interval` |
//! | `epoch` | |
//! | `timezone`, `timezone_hour`, `timezone_minute` | all but `timestamptz` |
//!
//! Rules
//! 1. A part that a type does not have is `0A000`, a name that is none `22023`.
//! 2. Of the infinities those parts that grow for ever are infinite, and the others null.
//! 3. A week begins on Monday; the first of a year is the one with its first Thursday (ISO 8601).

use super::interval::{DAYS_PER_MONTH, Interval};
use super::{
    Civil, DAY, HOUR, MINUTE, SECOND, UNIX_EPOCH_DAYS, Zone, check_timestamp, is_infinite_timestamp, local_to_utc,
};
use crate::numeric::Numeric;
use base::{Error, Result, sqlstate};

/// A part's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Of a minute, in microseconds.
    Microseconds,
    /// Of a minute, in milliseconds.
    Milliseconds,
    /// Of a minute, with its fraction.
    Second,
    /// Of an hour.
    Minute,
    /// Of a day.
    Hour,
    /// Of a month.
    Day,
    /// Of an ISO year.
    Week,
    /// Of a year.
    Month,
    /// Of a year.
    Quarter,
    /// The year; there is none between 1 BC and 1.
    Year,
    /// Ten years.
    Decade,
    /// A hundred years, the first of which is the year 1.
    Century,
    /// A thousand.
    Millennium,
    /// The day of the week, Sunday being zero.
    Dow,
    /// The day of the week, Monday being one.
    Isodow,
    /// The day of the year.
    Doy,
    /// The year that the week belongs to.
    Isoyear,
    /// Seconds since 1970, or in all.
    Epoch,
    /// Days since 4714 BC.
    Julian,
    /// Seconds east of Greenwich.
    Timezone,
    /// The hours of that.
    TimezoneHour,
    /// The minutes of that.
    TimezoneMinute,
}

/// Their names: those of a line mean the same. PostgreSQL looks at the first ten letters only.
const NAMES: [(Part, &[&str]); 22] = [
    (Part::Microseconds, &["us", "usec", "usecs", "usecond", "useconds", "microsecon"]),
    (Part::Milliseconds, &["ms", "msec", "msecs", "msecond", "mseconds", "millisecon"]),
    (Part::Second, &["s", "sec", "secs", "second", "seconds"]),
    (Part::Minute, &["m", "min", "mins", "minute", "minutes"]),
    (Part::Hour, &["h", "hr", "hrs", "hour", "hours"]),
    (Part::Day, &["d", "day", "days"]),
    (Part::Week, &["w", "week", "weeks"]),
    (Part::Month, &["mon", "mons", "month", "months"]),
    (Part::Quarter, &["qtr", "quarter"]),
    (Part::Year, &["y", "yr", "yrs", "year", "years"]),
    (Part::Decade, &["dec", "decs", "decade", "decades"]),
    (Part::Century, &["c", "cent", "century", "centuries"]),
    (Part::Millennium, &["mil", "mils", "millennia", "millennium"]),
    (Part::Dow, &["dow"]),
    (Part::Isodow, &["isodow"]),
    (Part::Doy, &["doy"]),
    (Part::Isoyear, &["isoyear"]),
    (Part::Epoch, &["epoch"]),
    (Part::Julian, &["julian", "jd", "j"]),
    (Part::Timezone, &["timezone"]),
    (Part::TimezoneHour, &["timezone_h"]),
    (Part::TimezoneMinute, &["timezone_m"]),
];
const LETTERS_MAX: usize = 10;

impl Part {
    /// The part of a name. `ty` is what it is asked of, for the error. Errors: `22023`.
    pub fn named(name: &str, ty: &str) -> Result<Part> {
        let lower = name.to_ascii_lowercase();
        let short = lower.get(..LETTERS_MAX).unwrap_or(&lower);
        let found = NAMES.iter().find(|(_, names)| names.contains(&short));
        found.map(|(part, _)| *part).ok_or_else(|| {
            let message = format!("unit \"{name}\" not recognized for type {ty}");
            Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
        })
    }

    fn refused(name: &str, ty: &str) -> Error {
        Error::statement(sqlstate::FEATURE_NOT_SUPPORTED, format!("unit \"{name}\" not supported for type {ty}"))
    }

    /// Does it grow for ever?
    fn is_monotonic(self) -> bool {
        matches!(
            self,
            Part::Year | Part::Decade | Part::Century | Part::Millennium | Part::Isoyear | Part::Epoch | Part::Julian
        )
    }
}

/// What a part comes to.
#[derive(Clone, Debug)]
pub enum Amount {
    /// Nothing: the part of an infinite time.
    Null,
    /// A number with so many digits behind its point: 1234 and 3 is 1.234.
    Scaled(i128, u32),
    /// `julian` of a time.
    Exact(Numeric),
}

impl Amount {
    fn whole(value: i64) -> Amount {
        Amount::Scaled(value.into(), 0)
    }

    /// What `extract` answers. Errors: none that a part can make.
    pub fn numeric(self) -> Result<Option<Numeric>> {
        Ok(match self {
            Amount::Null => None,
            Amount::Exact(value) => Some(value),
            Amount::Scaled(value, 0) => Some(Numeric::from_int(value)),
            Amount::Scaled(value, scale) => {
                let unit = Numeric::from_int(10i128.pow(scale));
                Some(Numeric::from_int(value).divide(&unit)?.round(scale.into())?)
            }
        })
    }

    /// What `date_part` answers.
    pub fn float(self) -> Result<Option<f64>> {
        Ok(match self {
            Amount::Null => None,
            Amount::Exact(value) => Some(value.to_f64()?),
            Amount::Scaled(value, scale) => Some(value as f64 / 10f64.powi(scale as i32)),
        })
    }
}

/// Years as people count them: there is none between 1 BC and 1.
fn shown_year(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

fn decade(year: i64) -> i64 {
    if year >= 0 { year / 10 } else { -((8 - (year - 1)) / 10) }
}

/// The century of a year, or with `years` of a thousand its millennium.
fn century(year: i64, years: i64) -> i64 {
    if year > 0 { (year + years - 1) / years } else { -((years - 1 - (year - 1)) / years) }
}

/// The day of the week of a day since 2000-01-01, which was a Saturday; Monday is one.
fn isodow(days: i64) -> i64 {
    (days + 5).rem_euclid(7) + 1
}

/// The year and week of ISO 8601 that a day is in.
pub fn iso_week(days: i64) -> (i64, i64) {
    // The Thursday of the week says which year it belongs to.
    let thursday = days - isodow(days) + 4;
    let year = Civil::from_days(thursday).year;
    let first = Civil { year, month: 1, day: 1 }.to_days();
    (year, (thursday - first) / 7 + 1)
}

/// The day of its year, from one.
pub fn day_of_year(days: i64) -> i64 {
    days - Civil { year: Civil::from_days(days).year, month: 1, day: 1 }.to_days() + 1
}

/// A part of a day.
fn of_days(part: Part, days: i64) -> Option<i64> {
    let civil = Civil::from_days(days);
    Some(match part {
        Part::Day => civil.day,
        Part::Week => iso_week(days).1,
        Part::Month => civil.month,
        Part::Quarter => (civil.month - 1) / 3 + 1,
        Part::Year => shown_year(civil.year),
        Part::Decade => decade(civil.year),
        Part::Century => century(civil.year, 100),
        Part::Millennium => century(civil.year, 1000),
        Part::Dow => isodow(days) % 7,
        Part::Isodow => isodow(days),
        Part::Doy => day_of_year(days),
        Part::Isoyear => shown_year(iso_week(days).0),
        _ => return None,
    })
}

/// A part of the time of a day, or of an interval's.
fn of_time(part: Part, micros: i64) -> Option<Amount> {
    Some(match part {
        Part::Microseconds => Amount::whole(micros % MINUTE),
        Part::Milliseconds => Amount::Scaled((micros % MINUTE).into(), 3),
        Part::Second => Amount::Scaled((micros % MINUTE).into(), 6),
        Part::Minute => Amount::whole(micros % HOUR / MINUTE),
        Part::Hour => Amount::whole(micros / HOUR),
        _ => return None,
    })
}

/// The Julian day of 2000-01-01.
const JULIAN_OF_2000: i64 = 2_451_545;

/// A part of a `date`. Errors: `22023`, `0A000`.
pub fn of_date(name: &str, days: i64) -> Result<Amount> {
    let part = Part::named(name, "date")?;
    if super::is_infinite_date(days) {
        return infinite(part, name, days > 0, "date", part >= Part::Day && part < Part::Timezone);
    }
    match part {
        Part::Epoch => Ok(Amount::whole((days + UNIX_EPOCH_DAYS) * 86_400)),
        Part::Julian => Ok(Amount::whole(days + JULIAN_OF_2000)),
        _ => of_days(part, days).map(Amount::whole).ok_or_else(|| Part::refused(name, "date")),
    }
}

/// Rule 2.
fn infinite(part: Part, name: &str, positive: bool, ty: &str, is_there: bool) -> Result<Amount> {
    match () {
        () if !is_there => Err(Part::refused(name, ty)),
        () if !part.is_monotonic() => Ok(Amount::Null),
        () if positive => Ok(Amount::Exact(Numeric::Infinity)),
        () => Ok(Amount::Exact(Numeric::NegInfinity)),
    }
}

/// A part of a `time`. Errors: `22023`, `0A000`.
pub fn of_time_of_day(name: &str, micros: i64) -> Result<Amount> {
    const TYPE: &str = "time without time zone";
    let part = Part::named(name, TYPE)?;
    match part {
        Part::Epoch => Ok(Amount::Scaled(micros.into(), 6)),
        _ => of_time(part, micros).ok_or_else(|| Part::refused(name, TYPE)),
    }
}

/// A part of a `timestamp`, or with a zone of a `timestamptz`. Errors: `22023`, `0A000`, `22008`.
pub fn of_timestamp(name: &str, timestamp: i64, zone: Option<&Zone>) -> Result<Amount> {
    let ty = if zone.is_some() { "timestamp with time zone" } else { "timestamp without time zone" };
    let part = Part::named(name, ty)?;
    if is_infinite_timestamp(timestamp) {
        return infinite(part, name, timestamp > 0, ty, part < Part::Timezone || zone.is_some());
    }
    let offset = zone.map_or(0, |zone| zone.offset_at(timestamp));
    let local = timestamp + offset * SECOND;
    let (days, micros) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    match part {
        Part::Epoch => {
            let since = i128::from(timestamp) + i128::from(UNIX_EPOCH_DAYS) * i128::from(DAY);
            Ok(Amount::Scaled(since, 6))
        }
        Part::Julian => {
            let rest = Numeric::from_int(micros.into()).divide(&Numeric::from_int(DAY.into()))?;
            Ok(Amount::Exact(Numeric::from_int((days + JULIAN_OF_2000).into()).add(&rest)))
        }
        Part::Timezone if zone.is_some() => Ok(Amount::whole(offset)),
        Part::TimezoneHour if zone.is_some() => Ok(Amount::whole(offset / 3600)),
        Part::TimezoneMinute if zone.is_some() => Ok(Amount::whole(offset % 3600 / 60)),
        _ => match of_time(part, micros) {
            Some(amount) => Ok(amount),
            None => of_days(part, days).map(Amount::whole).ok_or_else(|| Part::refused(name, ty)),
        },
    }
}

/// A part of an `interval`. Errors: `22023`, `0A000`.
pub fn of_interval(name: &str, interval: Interval) -> Result<Amount> {
    let part = Part::named(name, "interval")?;
    let (years, months) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    let whole = match part {
        Part::Day => interval.days.into(),
        Part::Month => months,
        Part::Quarter => months / 3 + 1,
        Part::Year => years,
        Part::Decade => years / 10,
        Part::Century => years / 100,
        Part::Millennium => years / 1000,
        Part::Epoch => {
            // A year has 365 days and a quarter, a month of what is left thirty.
            let quarter_days = years * (365 * 4 + 1) + 4 * DAYS_PER_MONTH * months + 4 * i64::from(interval.days);
            let micros = i128::from(quarter_days) * i128::from(DAY / 4) + i128::from(interval.micros);
            return Ok(Amount::Scaled(micros, 6));
        }
        _ => return of_time(part, interval.micros).ok_or_else(|| Part::refused(name, "interval")),
    };
    Ok(Amount::whole(whole))
}

/// The beginning of the day that a part of the calendar begins with; none for parts of a day.
fn first_day(part: Part, days: i64) -> Option<i64> {
    let Civil { year, month, .. } = Civil::from_days(days);
    let first = |year: i64, month: i64| Some(Civil { year, month, day: 1 }.to_days());
    match part {
        Part::Day => Some(days),
        Part::Week => Some(days - isodow(days) + 1),
        Part::Month => first(year, month),
        Part::Quarter => first(year, (month - 1) / 3 * 3 + 1),
        Part::Year => first(year, 1),
        Part::Decade => first(if year > 0 { year / 10 * 10 } else { -((8 - (year - 1)) / 10) * 10 }, 1),
        Part::Century => first(first_year(year, 100), 1),
        Part::Millennium => first(first_year(year, 1000), 1),
        _ => None,
    }
}

/// The first year of a century, or of a millennium.
fn first_year(year: i64, years: i64) -> i64 {
    if year > 0 { (year + years - 1) / years * years - (years - 1) } else { century(year, years) * years + 1 }
}

/// The microseconds of a part that is shorter than a day.
fn micros_of(part: Part) -> Option<i64> {
    Some(match part {
        Part::Microseconds => 1,
        Part::Milliseconds => 1000,
        Part::Second => SECOND,
        Part::Minute => MINUTE,
        Part::Hour => HOUR,
        _ => return None,
    })
}

/// The beginning of the part that a `timestamp` lies in. Errors: `22023`, `0A000`, `22008`.
pub fn truncate_timestamp(name: &str, timestamp: i64) -> Result<i64> {
    const TYPE: &str = "timestamp without time zone";
    let part = Part::named(name, TYPE)?;
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    if let Some(unit) = micros_of(part) {
        return Ok(timestamp.div_euclid(unit) * unit);
    }
    let first = first_day(part, timestamp.div_euclid(DAY)).ok_or_else(|| Part::refused(name, TYPE))?;
    check_timestamp(first.saturating_mul(DAY))
}

/// The same of a `timestamptz`, as the zone's clocks show it. Errors: `22023`, `0A000`, `22008`.
pub fn truncate_timestamptz(name: &str, timestamp: i64, zone: &Zone) -> Result<i64> {
    const TYPE: &str = "timestamp with time zone";
    let part = Part::named(name, TYPE)?;
    if is_infinite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let offset = zone.offset_at(timestamp) * SECOND;
    let local = timestamp + offset;
    if let Some(unit) = micros_of(part) {
        return check_timestamp(local.div_euclid(unit) * unit - offset);
    }
    let first = first_day(part, local.div_euclid(DAY)).ok_or_else(|| Part::refused(name, TYPE))?;
    local_to_utc(check_timestamp(first.saturating_mul(DAY))?, zone)
}

/// The whole parts of an `interval`. Errors: `22023`, `0A000`.
pub fn truncate_interval(name: &str, interval: Interval) -> Result<Interval> {
    let part = Part::named(name, "interval")?;
    let months_of = |unit: i32| Interval { months: interval.months / unit * unit, ..Interval::default() };
    Ok(match part {
        Part::Millennium => months_of(12_000),
        Part::Century => months_of(1200),
        Part::Decade => months_of(120),
        Part::Year => months_of(12),
        Part::Quarter => months_of(3),
        Part::Month => months_of(1),
        Part::Day => Interval { micros: 0, ..interval },
        Part::Week => {
            return Err(Part::refused(name, "interval").detail("Months usually have fractional weeks."));
        }
        _ => {
            let unit = micros_of(part).ok_or_else(|| Part::refused(name, "interval"))?;
            Interval { micros: interval.micros / unit * unit, ..interval }
        }
    })
}
