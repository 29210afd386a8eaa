//! `interval`: a span of months, days and microseconds.
//!
//! The three are kept apart, since a month has no fixed number of days and a day, where clocks are changed, none of hours. Only to compare
//! spans is a month 30 days and a day 24 hours: so `1 month` equals `30 days` and is another value.
//!
//! Rules
//! 1. What overflows is `22008`; nothing wraps.
//! 2. A product's fraction of a month becomes days, of a day microseconds, as PostgreSQL has it, rounding included; so it is computed in
//!    floating point.
//! 3. Months are added before days and days before the time; a day of the month that is not there becomes the last one.

use super::{
    Civil, DAY, HOUR, MINUTE, SECOND, Zone, check_timestamp, is_infinite_timestamp, local_to_utc, month_length,
    out_of_range, utc_to_local,
};
use base::{Error, Result, sqlstate};
use std::cmp::Ordering;

/// Days of a month, where one is compared or split.
pub const DAYS_PER_MONTH: i64 = 30;
/// Bytes of an interval, in a row and on the wire.
pub const BYTES: usize = 16;

/// A span of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interval {
    /// Months; twelve are a year.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// The bits of a modifier's fields: what `YEAR TO MONTH` and its relatives keep.
pub mod field {
    /// The bit of `MONTH`.
    pub const MONTH: i32 = 1 << 1;
    /// The bit of `YEAR`.
    pub const YEAR: i32 = 1 << 2;
    /// The bit of `DAY`.
    pub const DAY: i32 = 1 << 3;
    /// The bit of `HOUR`.
    pub const HOUR: i32 = 1 << 10;
    /// The bit of `MINUTE`.
    pub const MINUTE: i32 = 1 << 11;
    /// The bit of `SECOND`.
    pub const SECOND: i32 = 1 << 12;
    /// Of all of them, and more.
    pub const ALL: i32 = 0x7FFF;
}

/// A modifier's precision that stands for none.
pub const FULL_PRECISION: i32 = 0xFFFF;

/// The fields that a modifier keeps; all of them for none.
pub fn fields_of(typmod: i32) -> i32 {
    if typmod < 0 { field::ALL } else { typmod >> 16 & 0x7FFF }
}

/// The digits after a second's point that a modifier keeps; six at most.
pub fn precision_of(typmod: i32) -> Option<i32> {
    Some(typmod & 0xFFFF).filter(|&precision| typmod >= 0 && precision != FULL_PRECISION)
}

#[cold]
fn overflow() -> Error {
    out_of_range("interval")
}

fn in_i32(value: f64) -> Result<i32> {
    match value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX) {
        true => Ok(value as i32),
        false => Err(overflow()),
    }
}

/// Rounds a number of seconds, or of days, to a millionth.
fn to_millionths(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

impl Interval {
    /// A span of microseconds alone.
    pub const fn of_micros(micros: i64) -> Interval {
        Interval { months: 0, days: 0, micros }
    }

    /// The stored form: microseconds, days and months, little-endian.
    pub fn encode(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.micros.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.days.to_le_bytes());
        bytes[12..].copy_from_slice(&self.months.to_le_bytes());
        bytes
    }

    /// Reads the stored form. Errors: `XX001` for another length.
    pub fn decode(bytes: &[u8]) -> Result<Interval> {
        let [micros @ .., d0, d1, d2, d3, m0, m1, m2, m3] = bytes else { return Err(damaged()) };
        let micros: [u8; 8] = micros.try_into().map_err(|_| damaged())?;
        Ok(Interval {
            months: i32::from_le_bytes([*m0, *m1, *m2, *m3]),
            days: i32::from_le_bytes([*d0, *d1, *d2, *d3]),
            micros: i64::from_le_bytes(micros),
        })
    }

    /// Its length in microseconds, with months of 30 days: what is compared.
    pub fn span(self) -> i128 {
        let days = i128::from(self.months) * i128::from(DAYS_PER_MONTH) + i128::from(self.days);
        days * i128::from(DAY) + i128::from(self.micros)
    }

    /// An interval of a length, which equals every other one of it; none if no interval is so long.
    pub fn of_span(span: i128) -> Option<Interval> {
        let day = i128::from(DAY);
        let (days, micros) = (span / day, span % day);
        let months = (days / i128::from(DAYS_PER_MONTH)).clamp(i32::MIN.into(), i32::MAX.into());
        let days = days - months * i128::from(DAYS_PER_MONTH);
        let days_kept = days.clamp(i32::MIN.into(), i32::MAX.into());
        let micros = micros + (days - days_kept) * day;
        Some(Interval { months: months as i32, days: days_kept as i32, micros: i64::try_from(micros).ok()? })
    }

    /// The order of two spans.
    pub fn compare(self, other: Interval) -> Ordering {
        self.span().cmp(&other.span())
    }

    /// The sum.
    pub fn plus(self, other: Interval) -> Result<Interval> {
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                micros: self.micros.checked_add(other.micros)?,
            })
        };
        sum().ok_or_else(overflow)
    }

    /// The difference.
    pub fn minus(self, other: Interval) -> Result<Interval> {
        let difference = || {
            Some(Interval {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                micros: self.micros.checked_sub(other.micros)?,
            })
        };
        difference().ok_or_else(overflow)
    }

    /// The same span in the other direction.
    pub fn negate(self) -> Result<Interval> {
        Interval::default().minus(self)
    }

    /// The product. Errors: `22008`.
    pub fn multiply(self, factor: f64) -> Result<Interval> {
        self.scale(|value| value * factor)
    }

    /// The quotient. Errors: `22012`, `22008`.
    pub fn divide(self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            return Err(Error::statement(sqlstate::DIVISION_BY_ZERO, "division by zero"));
        }
        self.scale(|value| value / divisor)
    }

    /// Rule 2.
    fn scale(self, scaled: impl Fn(f64) -> f64) -> Result<Interval> {
        let (whole_months, whole_days) = (scaled(f64::from(self.months)), scaled(f64::from(self.days)));
        let (months, mut days) = (in_i32(whole_months)?, in_i32(whole_days)?);
        let days_of_months = to_millionths((whole_months - f64::from(months)) * DAYS_PER_MONTH as f64);
        let day_seconds = (DAY / SECOND) as f64;
        let rest = whole_days - f64::from(days) + days_of_months - days_of_months.trunc();
        let mut seconds = to_millionths(rest * day_seconds);
        if seconds.abs() >= day_seconds {
            let more = (seconds / day_seconds).trunc();
            days = in_i32(f64::from(days) + more)?;
            seconds -= more * day_seconds;
        }
        days = in_i32(f64::from(days) + days_of_months.trunc())?;
        let micros = (scaled(self.micros as f64) + seconds * SECOND as f64).round_ties_even();
        // The greatest integer is no floating-point number; the next one is.
        match micros >= i64::MIN as f64 && micros < i64::MAX as f64 {
            true => Ok(Interval { months, days, micros: micros as i64 }),
            false => Err(overflow()),
        }
    }

    /// Days of 24 hours out of the time, with one sign for both.
    pub fn justify_hours(self) -> Result<Interval> {
        let (mut days, mut micros) = (i64::from(self.days) + self.micros / DAY, self.micros % DAY);
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + DAY);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - DAY);
        }
        Ok(Interval { days: i32::try_from(days).map_err(|_| overflow())?, micros, ..self })
    }

    /// Months of 30 days out of the days, with one sign for both.
    pub fn justify_days(self) -> Result<Interval> {
        let days = i64::from(self.days);
        let (mut months, mut days) = (i64::from(self.months) + days / DAYS_PER_MONTH, days % DAYS_PER_MONTH);
        if months > 0 && days < 0 {
            (months, days) = (months - 1, days + DAYS_PER_MONTH);
        } else if months < 0 && days > 0 {
            (months, days) = (months + 1, days - DAYS_PER_MONTH);
        }
        Ok(Interval { months: i32::try_from(months).map_err(|_| overflow())?, days: days as i32, ..self })
    }

    /// Both, with one sign for all three.
    pub fn justify(self) -> Result<Interval> {
        let days = i64::from(self.days) + self.micros / DAY;
        let mut micros = self.micros % DAY;
        let (mut months, mut days) = (i64::from(self.months) + days / DAYS_PER_MONTH, days % DAYS_PER_MONTH);
        if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
            (months, days) = (months - 1, days + DAYS_PER_MONTH);
        } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
            (months, days) = (months + 1, days - DAYS_PER_MONTH);
        }
        if days > 0 && micros < 0 {
            (days, micros) = (days - 1, micros + DAY);
        } else if days < 0 && micros > 0 {
            (days, micros) = (days + 1, micros - DAY);
        }
        Ok(Interval { months: i32::try_from(months).map_err(|_| overflow())?, days: days as i32, micros })
    }

    /// Fits it to a modifier: fields that are not kept are cut off, the second is rounded.
    pub fn fit(mut self, typmod: i32) -> Result<Interval> {
        let fields = fields_of(typmod);
        if fields != field::ALL {
            // What is finer than the last field goes.
            let has = |bit: i32| fields & bit != 0;
            let unit = match () {
                () if has(field::SECOND) => 1,
                () if has(field::MINUTE) => MINUTE,
                () if has(field::HOUR) => HOUR,
                () => i64::MAX,
            };
            self.micros -= self.micros % unit;
            if !has(field::DAY) && unit == i64::MAX {
                self.days = 0;
                self.micros = 0;
                if !has(field::MONTH) {
                    self.months -= self.months % 12;
                }
            } else if unit == i64::MAX {
                self.micros = 0;
            }
        }
        if let Some(precision @ 0..6) = precision_of(typmod) {
            let unit = 10i64.pow(6 - precision as u32);
            let half = if self.micros < 0 { -unit / 2 } else { unit / 2 };
            self.micros = self.micros.checked_add(half).ok_or_else(overflow)? / unit * unit;
        }
        Ok(self)
    }

    /// `timestamp + interval`, by the calendar. Errors: `22008`.
    pub fn add_to_timestamp(self, timestamp: i64) -> Result<i64> {
        if is_infinite_timestamp(timestamp) {
            return Ok(timestamp);
        }
        let moved = self.move_days(timestamp)?;
        moved.checked_add(self.micros).ok_or_else(|| out_of_range("timestamp")).and_then(check_timestamp)
    }

    /// `timestamptz + interval`: months and days by the zone's calendar, the time by itself. Errors: `22008`.
    pub fn add_to_timestamptz(self, timestamp: i64, zone: &Zone) -> Result<i64> {
        if is_infinite_timestamp(timestamp) {
            return Ok(timestamp);
        }
        let moved = match self.months != 0 || self.days != 0 {
            true => local_to_utc(self.move_days(utc_to_local(timestamp, zone)?)?, zone)?,
            false => timestamp,
        };
        moved.checked_add(self.micros).ok_or_else(|| out_of_range("timestamp")).and_then(check_timestamp)
    }

    /// Rule 3, without the time.
    fn move_days(self, timestamp: i64) -> Result<i64> {
        if self.months == 0 && self.days == 0 {
            return Ok(timestamp);
        }
        let mut days = timestamp.div_euclid(DAY);
        if self.months != 0 {
            let civil = Civil::from_days(days);
            let months = civil.year * 12 + civil.month - 1 + i64::from(self.months);
            let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
            days = Civil { year, month, day: civil.day.min(month_length(year, month)) }.to_days();
        }
        let days = days + i64::from(self.days);
        let micros = days.checked_mul(DAY).and_then(|micros| micros.checked_add(timestamp.rem_euclid(DAY)));
        micros.ok_or_else(|| out_of_range("timestamp")).and_then(check_timestamp)
    }

    /// The days and hours from one timestamp to another. Errors: `22008` if one is infinite.
    pub fn between(from: i64, to: i64) -> Result<Interval> {
        if is_infinite_timestamp(from) || is_infinite_timestamp(to) {
            return Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, "cannot subtract infinite timestamps"));
        }
        Interval::of_micros(to.checked_sub(from).ok_or_else(overflow)?).justify_hours()
    }

    /// The years, months and days from one timestamp to another, as people count them: `age`. Errors: `22008` if one is infinite.
    pub fn age(from: i64, to: i64) -> Result<Interval> {
        if is_infinite_timestamp(from) || is_infinite_timestamp(to) {
            return Err(overflow());
        }
        let (early, late) = (from.min(to), from.max(to));
        let parts = |timestamp: i64| (Civil::from_days(timestamp.div_euclid(DAY)), timestamp.rem_euclid(DAY));
        let ((first, first_time), (last, last_time)) = (parts(early), parts(late));
        let mut months = (last.year - first.year) * 12 + last.month - first.month;
        let (mut days, mut micros) = (last.day - first.day, last_time - first_time);
        if micros < 0 {
            (days, micros) = (days - 1, micros + DAY);
        }
        // Days are borrowed from the month of the earlier one.
        while days < 0 {
            (months, days) = (months - 1, days + month_length(first.year, first.month));
        }
        let age = Interval { months: months as i32, days: days as i32, micros };
        if to < from { age.negate() } else { Ok(age) }
    }

    /// The years, months, days, hours, minutes, seconds and microseconds that it is written with, each with its sign.
    pub fn parts(self) -> Parts {
        Parts {
            years: i64::from(self.months / 12),
            months: i64::from(self.months % 12),
            days: i64::from(self.days),
            hours: self.micros / HOUR,
            minutes: self.micros % HOUR / MINUTE,
            seconds: self.micros % MINUTE / SECOND,
            micros: self.micros % SECOND,
        }
    }
}

/// An interval, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts {
    /// Years.
    pub years: i64,
    /// Months, below twelve.
    pub months: i64,
    /// Days.
    pub days: i64,
    /// Hours.
    pub hours: i64,
    /// Minutes, below 60.
    pub minutes: i64,
    /// Seconds, below 60.
    pub seconds: i64,
    /// Microseconds of a second.
    pub micros: i64,
}

#[cold]
fn damaged() -> Error {
    Error::corruption("a stored interval is damaged")
}
