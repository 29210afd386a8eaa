//! `date`, `time`, `timestamp`, `timestamptz`, `interval`: the calendar, as arithmetic on integers.
//!
//! A date counts days and a timestamp microseconds since 2000-01-01, in the proleptic Gregorian calendar with a year zero
//! (shown as 1 BC). The first and last integer of each type stand for `-infinity` and `infinity`. A `timestamptz` counts
//! in UTC; a [`Zone`] says what a clock on a wall shows then.
//!
//! Rules
//! 1. Nothing here reads a clock: "now" is a value of the [`Style`].
//! 2. A date lies between 4714-11-24 BC and 5874897-12-31, a timestamp between the same day and the end of the year
//!    294276: PostgreSQL's ranges. What leaves them is `22008`.
//! 3. A local time that a clock skips takes the offset before the gap, one that it shows twice the later offset.

pub mod interval;
mod interval_text;
mod parse;
pub mod part;
mod print;
mod zone;

pub use interval::Interval;
pub use interval_text::{parse_interval, print_interval};
pub use parse::{parse_date, parse_time, parse_timestamp, parse_timestamptz};
pub use print::{print_date, print_offset, print_time, print_timestamp, print_timestamptz};
pub use zone::Zone;

use base::settings::{DateFormat, IntervalStyle};
use base::{Error, Result, sqlstate};

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Microseconds of an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Microseconds of a day.
pub const DAY: i64 = 24 * HOUR;
/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i64 = 10_957;

/// `infinity` of type `date`.
pub const DATE_INFINITY: i64 = i32::MAX as i64;
/// `-infinity` of type `date`.
pub const DATE_NEG_INFINITY: i64 = i32::MIN as i64;
/// `infinity` of the timestamp types.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// `-infinity` of the timestamp types.
pub const TIMESTAMP_NEG_INFINITY: i64 = i64::MIN;

/// 4714-11-24 BC, the first Julian day.
pub const DATE_MIN: i64 = -2_451_545;
/// The day after 5874897-12-31.
pub const DATE_END: i64 = 2_145_031_949;
/// The first microsecond of 4714-11-24 BC.
pub const TIMESTAMP_MIN: i64 = DATE_MIN * DAY;
/// The first microsecond of the year 294277.
pub const TIMESTAMP_END: i64 = 106_751_983 * DAY;

/// The order of the parts of `1/2/2003`: the second half of the setting `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// The session's settings that text forms depend on, and its transaction's time.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// `TimeZone`.
    pub zone: &'a Zone,
    /// `DateStyle`'s order of day and month.
    pub date_order: DateOrder,
    /// How `DateStyle` has dates written.
    pub date_format: DateFormat,
    /// `IntervalStyle`.
    pub interval_style: IntervalStyle,
    /// `extra_float_digits`.
    pub extra_float_digits: i32,
    /// The transaction's start, as a `timestamptz`: what `now` and `today` in a text mean.
    pub now: i64,
    /// What is known of users' types; none where there are none.
    pub types: Option<&'a dyn crate::user::UserTypes>,
}

impl Style<'static> {
    /// UTC, ISO dates with the month first, shortest floats; the year 2000 for "now".
    pub const PLAIN: Style<'static> = Style {
        zone: &Zone::UTC,
        date_order: DateOrder::Mdy,
        date_format: DateFormat::Iso,
        interval_style: IntervalStyle::Postgres,
        extra_float_digits: 1,
        now: 0,
        types: None,
    };
}

/// A day of the calendar. The year zero is 1 BC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// The month, from one.
    pub month: i64,
    /// The day, from one.
    pub day: i64,
}

/// Days from 0000-03-01 to 2000-01-01: five times 400 years, less January and a February with its leap day.
const MARCH_EPOCH_DAYS: i64 = 5 * 146_097 - 60;

/// Is it a leap year?
pub fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// How many days a month has.
pub fn month_length(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

impl Civil {
    /// The day that many days after 2000-01-01.
    pub fn from_days(days: i64) -> Civil {
        // Years that start in March, so that the leap day is the last; 400 of them have 146,097 days.
        let shifted = days + MARCH_EPOCH_DAYS;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097) as u32;
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Civil { year: i64::from(year_of_era) + era * 400 + i64::from(month <= 2), month: month.into(), day: day.into() }
    }

    /// The days since 2000-01-01.
    pub fn to_days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let shifted_month = (self.month + 9) % 12;
        let day_of_year = (153 * shifted_month + 2) / 5 + self.day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - MARCH_EPOCH_DAYS
    }
}

/// `22008` for a type's own range.
#[cold]
pub fn out_of_range(name: &str) -> Error {
    Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{name} out of range"))
}

/// Is it one of the two infinite dates?
pub fn is_infinite_date(days: i64) -> bool {
    days == DATE_INFINITY || days == DATE_NEG_INFINITY
}

/// Is it one of the two infinite timestamps?
pub fn is_infinite_timestamp(micros: i64) -> bool {
    micros == TIMESTAMP_INFINITY || micros == TIMESTAMP_NEG_INFINITY
}

/// Refuses a timestamp beyond its range; the infinities pass.
pub fn check_timestamp(micros: i64) -> Result<i64> {
    match is_infinite_timestamp(micros) || (TIMESTAMP_MIN..TIMESTAMP_END).contains(&micros) {
        true => Ok(micros),
        false => Err(out_of_range("timestamp")),
    }
}

/// Refuses a date beyond its range; the infinities pass.
pub fn check_date(days: i64) -> Result<i64> {
    match is_infinite_date(days) || (DATE_MIN..DATE_END).contains(&days) {
        true => Ok(days),
        false => Err(out_of_range("date")),
    }
}

/// The midnight that a date starts with.
pub fn date_to_timestamp(days: i64) -> Result<i64> {
    match days {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_NEG_INFINITY => Ok(TIMESTAMP_NEG_INFINITY),
        _ => {
            let micros = days.checked_mul(DAY).filter(|micros| (TIMESTAMP_MIN..TIMESTAMP_END).contains(micros));
            micros.ok_or_else(|| Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"))
        }
    }
}

/// The day that a timestamp is in.
pub fn timestamp_to_date(micros: i64) -> i64 {
    match micros {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_NEG_INFINITY => DATE_NEG_INFINITY,
        _ => micros.div_euclid(DAY),
    }
}

/// The instant at which a zone's clocks show this time.
pub fn local_to_utc(micros: i64, zone: &Zone) -> Result<i64> {
    if is_infinite_timestamp(micros) {
        return Ok(micros);
    }
    check_timestamp(micros - zone.offset_of_local(micros) * SECOND)
}

/// What a zone's clocks show at an instant.
pub fn utc_to_local(micros: i64, zone: &Zone) -> Result<i64> {
    if is_infinite_timestamp(micros) {
        return Ok(micros);
    }
    check_timestamp(micros + zone.offset_at(micros) * SECOND)
}

/// Rounds to a number of digits after the second's point: the modifier of the time types.
pub fn round_to_precision(micros: i64, typmod: i32) -> i64 {
    if !(0..6).contains(&typmod) || is_infinite_timestamp(micros) {
        return micros;
    }
    let unit = 10i64.pow(6 - typmod as u32);
    let half = unit / 2;
    match micros < 0 {
        true => -((-micros + half) / unit * unit),
        false => (micros + half) / unit * unit,
    }
}

#[cfg(test)]
mod interval_tests;
#[cfg(test)]
mod tests;
