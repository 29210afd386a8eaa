//! `to_char` of dates, times and intervals.
//!
//! Rules
//! 1. Numbers have the digits that their field has letters, or none but their own after `FM`; a negative one, which only
//!    intervals have, has one place more for its sign, except of days and weeks.
//! 2. Names are padded to nine letters, unless after `FM` or `TM`.
//! 3. An infinite time and an empty template give null; a field that an interval cannot have is `22007`.

use super::moment::{self, Case, DAYS, Field, MONTHS, ROMAN_MONTHS, What};
use super::{Marked, Piece};
use crate::datetime::part::{day_of_year, iso_week};
use crate::datetime::{Civil, DAY, HOUR, Interval, MINUTE, SECOND, Zone, is_infinite_timestamp, utc_to_local};
use base::{Error, Result, sqlstate};
use std::io::Write;

/// The Julian day of 2000-01-01.
pub(super) const EPOCH_JULIAN: i64 = 2_451_545;
/// Letters of the longest name of a month or day.
const NAME_WIDTH: usize = 9;

/// What is written: a time's parts, or an interval's, which no calendar limits.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    /// The day of the year from one; of an interval all its days.
    day_of_year: i64,
    is_interval: bool,
    /// What the zone's clocks were called then.
    zone: String,
    /// Seconds east of Greenwich.
    offset: i64,
}

impl Parts {
    fn of_local(local: i64) -> Parts {
        let days = local.div_euclid(DAY);
        let Civil { year, month, day } = Civil::from_days(days);
        let time = local.rem_euclid(DAY);
        Parts {
            year,
            month,
            day,
            hour: time / HOUR,
            minute: time / MINUTE % 60,
            second: time / SECOND % 60,
            micros: time % SECOND,
            day_of_year: day_of_year(days),
            is_interval: false,
            zone: String::new(),
            offset: 0,
        }
    }

    fn of_interval(interval: Interval) -> Parts {
        let (months, day, time) = (i64::from(interval.months), i64::from(interval.days), interval.micros);
        Parts {
            year: months / 12,
            month: months % 12,
            day,
            hour: time / HOUR,
            minute: time / MINUTE % 60,
            second: time / SECOND % 60,
            micros: time % SECOND,
            day_of_year: months * 30 + day,
            is_interval: true,
            zone: String::new(),
            offset: 0,
        }
    }

    /// Days since 2000-01-01.
    fn days(&self) -> i64 {
        Civil { year: self.year, month: self.month, day: self.day }.to_days()
    }

    /// A year as it is counted: 1 BC comes before 1 AD.
    fn shown_year(&self, year: i64) -> i64 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }
}

/// `to_char(timestamp, template)`; none where the result is null.
pub fn timestamp(local: i64, template: &str) -> Result<Option<Vec<u8>>> {
    if template.is_empty() || is_infinite_timestamp(local) {
        return Ok(None);
    }
    parts(&Parts::of_local(local), template).map(Some)
}

/// `to_char(timestamptz, template)`; none where the result is null.
pub fn timestamptz(instant: i64, zone: &Zone, template: &str) -> Result<Option<Vec<u8>>> {
    if template.is_empty() || is_infinite_timestamp(instant) {
        return Ok(None);
    }
    let local = utc_to_local(instant, zone)?;
    let named =
        Parts { zone: zone.abbreviation_at(instant), offset: zone.offset_at(instant), ..Parts::of_local(local) };
    parts(&named, template).map(Some)
}

/// `to_char(interval, template)`; none where the result is null.
pub fn interval(interval: Interval, template: &str) -> Result<Option<Vec<u8>>> {
    if template.is_empty() {
        return Ok(None);
    }
    parts(&Parts::of_interval(interval), template).map(Some)
}

fn parts(parts: &Parts, template: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(template.len() * 2);
    for piece in moment::parse(template) {
        match piece {
            Piece::Field(marked) => field(parts, marked, &mut out)?,
            other => out.extend_from_slice(other.character().unwrap_or_default().as_bytes()),
        }
    }
    Ok(out)
}

#[cold]
fn not_of_intervals() -> Error {
    Error::statement(sqlstate::INVALID_DATETIME_FORMAT, "invalid format specification for an interval value")
        .hint("Intervals are not tied to specific calendar dates.")
}

/// A number with at least `width` digits, and its ordinal's letters.
fn number(marked: Marked<Field>, width: usize, value: i64, out: &mut Vec<u8>) {
    let width = if marked.fill { 0 } else { width + usize::from(value < 0) };
    let start = out.len();
    // Writing to a vector does not fail.
    let _ = write!(out, "{value:0width$}");
    if let Some(ordinal) = marked.ordinal {
        let letters = ordinal.of(&out[start..]);
        out.extend_from_slice(letters.as_bytes());
    }
}

/// A name in its case, padded to a width.
fn name(marked: Marked<Field>, width: usize, name: &str, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(name.as_bytes());
    match marked.field.case {
        Case::Upper => out[start..].make_ascii_uppercase(),
        Case::Title => {}
        Case::Lower => out[start..].make_ascii_lowercase(),
    }
    let length = out.len() - start;
    if !marked.fill && !marked.local && length < width {
        out.resize(start + width, b' ');
    }
}

fn field(parts: &Parts, marked: Marked<Field>, out: &mut Vec<u8>) -> Result<()> {
    use What::*;
    let what = marked.field.what;
    let of_calendar = matches!(
        what,
        Zone | ZoneHour
            | ZoneMinute
            | Offset
            | Era(_)
            | MonthName
            | MonthShort
            | DayName
            | DayShort
            | DayOfWeek
            | IsoDayOfWeek
    );
    if parts.is_interval && of_calendar {
        return Err(not_of_intervals());
    }
    let weekday = || (parts.days() + 6).rem_euclid(7);
    let month = |short: bool| {
        let index = usize::try_from(parts.month - 1).unwrap_or_default().min(11);
        if short { &MONTHS[index][..3] } else { MONTHS[index] }
    };
    let mut put = |width: usize, value: i64| number(marked, width, value, out);
    match what {
        Exact => {}
        Hour12 => put(2, if parts.hour % 12 == 0 { 12 } else { parts.hour % 12 }),
        Hour24 => put(2, parts.hour),
        Minute => put(2, parts.minute),
        Second => put(2, parts.second),
        Fraction(digits) => fraction(marked, parts.micros, digits, out),
        Millisecond => fraction(marked, parts.micros, 3, out),
        Microsecond => fraction(marked, parts.micros, 6, out),
        SecondOfDay => put(1, parts.hour * 3600 + parts.minute * 60 + parts.second),
        DayOfYear => put(3 - usize::from(parts.day_of_year < 0), parts.day_of_year),
        IsoDayOfYear => {
            let year = iso_week(parts.days()).0;
            let fourth = Civil { year, month: 1, day: 4 }.to_days();
            put(3, parts.days() - (fourth - (fourth + 5).rem_euclid(7)) + 1);
        }
        Day => put(2 - usize::from(parts.day < 0), parts.day),
        DayOfWeek => put(1, weekday() + 1),
        IsoDayOfWeek => put(1, if weekday() == 0 { 7 } else { weekday() }),
        Week => {
            let week = (parts.day_of_year - 1) / 7 + 1;
            put(2 - usize::from(week < 0), week);
        }
        IsoWeek => put(2, iso_week(parts.days()).1),
        WeekOfMonth => put(1, (parts.day - 1) / 7 + 1),
        Quarter if parts.month == 0 => {}
        Quarter => put(1, (parts.month - 1) / 3 + 1),
        Month => put(2, parts.month),
        Julian => put(1, parts.days() + EPOCH_JULIAN),
        Century => {
            let century = match parts.is_interval {
                true => parts.year / 100,
                false if parts.year > 0 => (parts.year - 1) / 100 + 1,
                false => parts.year / 100 - 1,
            };
            put(2, century);
        }
        Year(digits) => year(marked, digits, parts.shown_year(parts.year), out),
        IsoYear(digits) => year(marked, digits, parts.shown_year(iso_week(parts.days()).0), out),
        YearComma => {
            let year = parts.shown_year(parts.year);
            let (thousands, rest) = (year / 1000, year % 1000);
            let _ = write!(out, "{thousands},");
            // Three places, the sign among them.
            number(Marked { fill: false, ..marked }, 3 - usize::from(rest < 0), rest, out);
        }
        Era(points) => {
            let era = match (parts.year <= 0, points) {
                (true, true) => "B.C.",
                (true, false) => "BC",
                (false, true) => "A.D.",
                (false, false) => "AD",
            };
            name(marked, 0, era, out);
        }
        HalfDay(points) => {
            let half = match (parts.hour % 24 >= 12, points) {
                (true, true) => "P.M.",
                (true, false) => "PM",
                (false, true) => "A.M.",
                (false, false) => "AM",
            };
            name(marked, 0, half, out);
        }
        MonthName => name(marked, NAME_WIDTH, month(false), out),
        MonthShort => name(marked, 0, month(true), out),
        DayName => name(marked, NAME_WIDTH, DAYS[weekday() as usize], out),
        DayShort => name(marked, 0, &DAYS[weekday() as usize][..3], out),
        MonthRoman if parts.month == 0 && parts.year == 0 => {}
        MonthRoman => name(Marked { local: false, ..marked }, 4, roman_month(parts), out),
        Zone => {
            out.extend_from_slice(
                match marked.field.case {
                    Case::Lower => parts.zone.to_ascii_lowercase(),
                    _ => parts.zone.clone(),
                }
                .as_bytes(),
            );
        }
        ZoneHour | ZoneMinute | Offset => offset(parts.offset, marked, out),
    }
    Ok(())
}

/// A fraction of a second, cut after some digits.
fn fraction(marked: Marked<Field>, micros: i64, digits: u8, out: &mut Vec<u8>) {
    let value = micros / 10i64.pow(6 - u32::from(digits.min(6)));
    let width = usize::from(digits);
    let start = out.len();
    // Neither fill mode nor a sign changes the width.
    let _ = write!(out, "{value:0width$}");
    if let Some(ordinal) = marked.ordinal {
        let letters = ordinal.of(&out[start..]);
        out.extend_from_slice(letters.as_bytes());
    }
}

/// The last digits of a year, and all of them if four are asked for.
fn year(marked: Marked<Field>, digits: u8, year: i64, out: &mut Vec<u8>) {
    let value = match digits {
        4 => year,
        _ => year % 10i64.pow(u32::from(digits)),
    };
    // Places for a sign are counted by the year, not by what is left of it.
    let width = usize::from(digits) + usize::from(year < 0 && value >= 0 && digits > 1);
    number(marked, width, value, out);
}

/// A month as a Roman number. An interval's month may be negative, counted from the year's end then, and zero is the year's last.
fn roman_month(parts: &Parts) -> &'static str {
    let index = match parts.month {
        0 if parts.year > 0 => 11,
        0 => 0,
        negative @ ..0 => 12 + negative,
        month => month - 1,
    };
    usize::try_from(index).ok().and_then(|index| ROMAN_MONTHS.get(index).copied()).unwrap_or_default()
}

fn offset(seconds: i64, marked: Marked<Field>, out: &mut Vec<u8>) {
    let (hours, minutes) = (seconds.abs() / 3600, seconds.abs() % 3600 / 60);
    let width = if marked.fill && marked.field.what == What::Offset { 0 } else { 2 };
    if marked.field.what != What::ZoneMinute {
        out.push(if seconds < 0 { b'-' } else { b'+' });
        let _ = write!(out, "{hours:0width$}");
    }
    match marked.field.what {
        What::ZoneMinute => {
            let _ = write!(out, "{minutes:02}");
        }
        What::Offset if seconds % 3600 != 0 => {
            let _ = write!(out, ":{minutes:02}");
        }
        _ => {}
    }
}
