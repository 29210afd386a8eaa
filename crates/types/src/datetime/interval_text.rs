//! How intervals are read and written.
//!
//! Read is everything that PostgreSQL reads: numbers with units in any order (`1 year 2 mons 3 days 04:05:06`), `ago`, SQL's `1-2` of years and
//! months, a number whose unit the type says (`interval '3' hour`), ISO 8601 (`P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06`). Written is what the setting
//! `IntervalStyle` says.
//!
//! Rules
//! 1. A text is read from its end: a unit stands behind its number, so what stands there says what the number is of.
//! 2. Each unit may stand once; a time counts as hours, minutes and seconds.
//! 3. A fraction goes on into what is finer: half a month is fifteen days, half a day twelve hours.

use super::interval::{DAYS_PER_MONTH, Interval, field, fields_of};
use super::{DAY, HOUR, MINUTE, SECOND};
use crate::Sink;
use base::settings::IntervalStyle;
use base::{Error, Result, sqlstate};
use std::fmt::Write;

/// Why a text is refused.
enum Fault {
    /// It is no interval.
    Syntax,
    /// A part of it is out of its range.
    Field,
    /// It is longer than an interval can be.
    Overflow,
}

type Read<T> = std::result::Result<T, Fault>;

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

/// A word of an interval.
enum Word {
    Unit(Unit),
    Ago,
}

/// The words: those of a line mean the same. PostgreSQL looks at the first ten letters only.
const WORDS: [(Unit, &[&str]); 12] = [
    (Unit::Microsecond, &["us", "usec", "usecs", "usecond", "useconds", "microsecon"]),
    (Unit::Millisecond, &["ms", "msec", "msecs", "msecond", "mseconds", "millisecon"]),
    (Unit::Second, &["s", "sec", "secs", "second", "seconds"]),
    (Unit::Minute, &["m", "min", "mins", "minute", "minutes"]),
    (Unit::Hour, &["h", "hr", "hrs", "hour", "hours"]),
    (Unit::Day, &["d", "day", "days"]),
    (Unit::Week, &["w", "week", "weeks"]),
    (Unit::Month, &["mon", "mons", "month", "months"]),
    (Unit::Year, &["y", "yr", "yrs", "year", "years"]),
    (Unit::Decade, &["dec", "decs", "decade", "decades"]),
    (Unit::Century, &["c", "cent", "century", "centuries"]),
    (Unit::Millennium, &["mil", "mils", "millennia", "millennium"]),
];
const LETTERS_MAX: usize = 10;

fn word(text: &str) -> Option<Word> {
    let lower = text.to_ascii_lowercase();
    let short = lower.get(..LETTERS_MAX).unwrap_or(&lower);
    if short == "ago" {
        return Some(Word::Ago);
    }
    WORDS.iter().find(|(_, words)| words.contains(&short)).map(|(unit, _)| Word::Unit(*unit))
}

/// A piece of the text.
#[derive(Clone, Copy, Debug)]
enum Field<'t> {
    /// `12`, `-1.5`, `1-2`: a number, or two.
    Number(&'t str),
    /// `04:05:06`, perhaps with a sign.
    Time(&'t str),
    Word(&'t str),
}

/// The sum of what has been read.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
}

impl Sum {
    /// Adds so many of a unit: a whole number and a fraction with the same sign (rule 3).
    fn add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Read<()> {
        let put = |sum: &mut i64, count: i64, size: i64| {
            *sum = count.checked_mul(size).and_then(|more| sum.checked_add(more)).ok_or(Fault::Field)?;
            Ok(())
        };
        let micros_of = |fraction: f64, size: i64| (fraction * size as f64).round_ties_even() as i64;
        match unit {
            Unit::Microsecond | Unit::Millisecond | Unit::Second | Unit::Minute | Unit::Hour => {
                let size = match unit {
                    Unit::Microsecond => 1,
                    Unit::Millisecond => 1000,
                    Unit::Second => SECOND,
                    Unit::Minute => MINUTE,
                    _ => HOUR,
                };
                put(&mut self.micros, whole, size)?;
                put(&mut self.micros, micros_of(fraction, size), 1)
            }
            Unit::Day | Unit::Week => {
                let size = if unit == Unit::Week { 7 } else { 1 };
                put(&mut self.days, whole, size)?;
                self.add_days(fraction * size as f64)
            }
            Unit::Month => {
                put(&mut self.months, whole, 1)?;
                self.add_days(fraction * DAYS_PER_MONTH as f64)
            }
            _ => {
                let size = match unit {
                    Unit::Year => 12,
                    Unit::Decade => 120,
                    Unit::Century => 1200,
                    _ => 12_000,
                };
                put(&mut self.months, whole, size)?;
                put(&mut self.months, (fraction * size as f64).round_ties_even() as i64, 1)
            }
        }
    }

    fn add_days(&mut self, days: f64) -> Read<()> {
        let whole = days.trunc();
        let micros = ((days - whole) * DAY as f64).round_ties_even() as i64;
        self.days = self.days.checked_add(whole as i64).ok_or(Fault::Field)?;
        self.micros = self.micros.checked_add(micros).ok_or(Fault::Field)?;
        Ok(())
    }

    fn interval(self) -> Read<Interval> {
        let months = i32::try_from(self.months).map_err(|_| Fault::Overflow)?;
        let days = i32::try_from(self.days).map_err(|_| Fault::Field)?;
        Ok(Interval { months, days, micros: self.micros })
    }
}

fn split(text: &str) -> Read<Vec<Field<'_>>> {
    let bytes = text.as_bytes();
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let run = |mut at: usize, wanted: &dyn Fn(u8) -> bool| {
            while at < bytes.len() && wanted(bytes[at]) {
                at += 1;
            }
            at
        };
        match bytes[at] {
            b'0'..=b'9' | b'.' | b'+' | b'-' => {
                if matches!(bytes[at], b'+' | b'-') {
                    at = run(at + 1, &|byte| byte.is_ascii_whitespace());
                }
                let body = at;
                at = run(at, &|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'-'));
                if !bytes[body..at].iter().any(u8::is_ascii_digit) {
                    return Err(Fault::Syntax);
                }
                let piece = &text[start..at];
                fields.push(if piece.contains(':') { Field::Time(piece) } else { Field::Number(piece) });
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                at = run(at, &|byte| byte.is_ascii_alphabetic());
                fields.push(Field::Word(&text[start..at]));
            }
            byte if byte.is_ascii_whitespace() || byte.is_ascii_punctuation() => at += 1,
            _ => return Err(Fault::Syntax),
        }
    }
    match fields.len() {
        1..=25 => Ok(fields),
        _ => Err(Fault::Syntax),
    }
}

/// A sign and what follows it.
fn signed(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, text[1..].trim_start()),
        Some(b'+') => (false, text[1..].trim_start()),
        _ => (false, text),
    }
}

fn whole(text: &str) -> Read<i64> {
    match text.is_empty() || text.bytes().any(|byte| !byte.is_ascii_digit()) {
        true => Err(Fault::Syntax),
        false => text.parse().map_err(|_| Fault::Field),
    }
}

fn fraction(text: &str) -> Read<f64> {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true if text.is_empty() => Ok(0.0),
        true => format!("0.{text}").parse().map_err(|_| Fault::Syntax),
        false => Err(Fault::Syntax),
    }
}

/// `[-]hours:minutes[:seconds[.fraction]]`; of two numbers where the type keeps no hours, minutes and seconds.
fn time(text: &str, fields: i32) -> Read<i64> {
    let (negative, body) = signed(text);
    let (clock, part) = body.split_once('.').unwrap_or((body, ""));
    let numbers = clock.split(':').map(whole).collect::<Read<Vec<i64>>>()?;
    let minutes_first = fields == field::MINUTE | field::SECOND || body.contains('.');
    let (hours, minutes, seconds) = match numbers[..] {
        [minutes, seconds] if minutes_first => (0, minutes, seconds),
        [hours, minutes] => (hours, minutes, 0),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return Err(Fault::Syntax),
    };
    if minutes > 59 || seconds > 60 {
        return Err(Fault::Field);
    }
    let rest = minutes * MINUTE + seconds * SECOND + (fraction(part)? * SECOND as f64).round_ties_even() as i64;
    let micros = hours.checked_mul(HOUR).and_then(|hours| hours.checked_add(rest)).ok_or(Fault::Field)?;
    Ok(if negative { -micros } else { micros })
}

/// The unit of a last number that has none.
fn unit_of(fields: i32) -> Unit {
    match fields {
        field::ALL => Unit::Second,
        _ if fields & field::SECOND != 0 => Unit::Second,
        _ if fields & field::MINUTE != 0 => Unit::Minute,
        _ if fields & field::HOUR != 0 => Unit::Hour,
        _ if fields & field::DAY != 0 => Unit::Day,
        _ if fields & field::MONTH != 0 => Unit::Month,
        _ => Unit::Year,
    }
}

/// The units that have been seen, a bit each; rule 2.
#[derive(Default)]
struct Seen(u32);

impl Seen {
    fn mark(&mut self, units: &[Unit]) -> Read<()> {
        for &unit in units {
            let bit = 1 << unit as u32;
            if self.0 & bit != 0 {
                return Err(Fault::Syntax);
            }
            self.0 |= bit;
        }
        Ok(())
    }
}

/// PostgreSQL's own form.
fn read_units(text: &str, fields_kept: i32, style: IntervalStyle) -> Read<Interval> {
    let fields = split(text)?;
    let (mut sum, mut seen, mut unit, mut ago) = (Sum::default(), Seen::default(), None, false);
    // SQL's form has one sign, at the beginning, for all of it.
    let begins_negative = matches!(fields[0], Field::Number(text) | Field::Time(text) if text.starts_with('-'));
    let is_signed =
        |field: &Field<'_>| matches!(field, Field::Number(text) | Field::Time(text) if text.starts_with(['-', '+']));
    let all_negative = style == IntervalStyle::SqlStandard && begins_negative && !fields[1..].iter().any(is_signed);
    for field in fields.iter().rev() {
        match *field {
            Field::Time(text) => {
                seen.mark(&[Unit::Hour, Unit::Minute, Unit::Second])?;
                let micros = time(text, fields_kept)?;
                let micros = if all_negative { -micros.abs() } else { micros };
                sum.micros = sum.micros.checked_add(micros).ok_or(Fault::Field)?;
                unit = Some(Unit::Day);
            }
            Field::Number(text) => {
                let (negative, body) = signed(text);
                let negative = negative || all_negative;
                let sign = if negative { -1 } else { 1 };
                if let Some((years, months)) = body.split_once('-') {
                    let (years, months) = (whole(years)?, whole(months)?);
                    if months >= 12 {
                        return Err(Fault::Field);
                    }
                    seen.mark(&[Unit::Month])?;
                    sum.add(Unit::Year, sign * years, 0.0)?;
                    sum.add(Unit::Month, sign * months, 0.0)?;
                    unit = Some(Unit::Month);
                    continue;
                }
                let of = unit.unwrap_or_else(|| unit_of(fields_kept));
                if body.ends_with('.') {
                    return Err(Fault::Syntax);
                }
                let (number, part) = body.split_once('.').unwrap_or((body, ""));
                let number = if number.is_empty() { 0 } else { whole(number)? };
                seen.mark(&[of])?;
                sum.add(of, sign * number, sign as f64 * fraction(part)?)?;
                // Before hours stand days, without their name.
                unit = Some(if of == Unit::Hour { Unit::Day } else { of });
            }
            Field::Word(text) => match word(text).ok_or(Fault::Syntax)? {
                Word::Unit(named) => unit = Some(named),
                Word::Ago => ago = true,
            },
        }
    }
    if seen.0 == 0 {
        return Err(Fault::Syntax);
    }
    let read = sum.interval()?;
    if ago { read.negate().map_err(|_| Fault::Overflow) } else { Ok(read) }
}

/// ISO 8601: with designators, or as a date and a time.
fn read_iso(text: &str) -> Read<Interval> {
    let mut rest = text.strip_prefix('P').ok_or(Fault::Syntax)?;
    let (mut sum, mut in_time, mut any) = (Sum::default(), false, false);
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('T') {
            (rest, in_time) = (after, true);
            continue;
        }
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && !".-+".contains(letter) || letter == 'T');
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let Some(letter) = after.bytes().next().filter(|byte| byte.is_ascii_alphabetic() && *byte != b'T') else {
            // Without a letter it is the form of a date and a time.
            return if any { Err(Fault::Syntax) } else { read_iso_parts(rest, in_time) };
        };
        let (negative, body) = signed(number);
        let sign = if negative { -1 } else { 1 };
        let (digits, part) = body.split_once('.').unwrap_or((body, ""));
        let count = if digits.is_empty() && !part.is_empty() { 0 } else { whole(digits)? };
        let unit = match (in_time, letter) {
            (false, b'Y') => Unit::Year,
            (false, b'M') => Unit::Month,
            (false, b'W') => Unit::Week,
            (false, b'D') => Unit::Day,
            (true, b'H') => Unit::Hour,
            (true, b'M') => Unit::Minute,
            (true, b'S') => Unit::Second,
            _ => return Err(Fault::Syntax),
        };
        sum.add(unit, sign * count, sign as f64 * fraction(part)?)?;
        (rest, any) = (&after[1..], true);
    }
    // A `T` may stand before nothing.
    if any || in_time { sum.interval() } else { Err(Fault::Syntax) }
}

/// `0001-02-03T04:05:06`, or one half of it.
fn read_iso_parts(text: &str, in_time: bool) -> Read<Interval> {
    let (date, clock) = match text.split_once('T') {
        Some((date, clock)) if !in_time => (date, clock),
        None if in_time => ("", text),
        None => (text, ""),
        Some(_) => return Err(Fault::Syntax),
    };
    let mut sum = Sum::default();
    if !date.is_empty() {
        let (negative, body) = signed(date);
        let sign = if negative { -1 } else { 1 };
        let units = [Unit::Year, Unit::Month, Unit::Day];
        let numbers: Vec<&str> = body.split('-').collect();
        if numbers.len() > units.len() {
            return Err(Fault::Syntax);
        }
        for (number, unit) in numbers.into_iter().zip(units) {
            sum.add(unit, sign * whole(number)?, 0.0)?;
        }
    }
    if !clock.is_empty() {
        sum.micros = time(clock, field::ALL)?;
    }
    sum.interval()
}

/// Reads an interval. `typmod` says what a number without a unit counts; the caller fits the value to it.
///
/// Errors: `22007` (it is none), `22008` (out of range).
pub fn parse_interval(text: &str, typmod: i32, style: IntervalStyle) -> Result<Interval> {
    let read = read_units(text, fields_of(typmod), style).or_else(|fault| match fault {
        Fault::Syntax => read_iso(text.trim()),
        other => Err(other),
    });
    read.map_err(|fault| match fault {
        Fault::Syntax => {
            let message = format!("invalid input syntax for type interval: \"{text}\"");
            Error::statement(sqlstate::INVALID_DATETIME_FORMAT, message)
        }
        Fault::Field => {
            let message = format!("interval field value out of range: \"{text}\"");
            Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, message)
        }
        Fault::Overflow => super::out_of_range("interval"),
    })
}

/// Writes an interval in a style.
pub fn print_interval(interval: Interval, style: IntervalStyle, out: &mut impl Sink) {
    let mut text = String::new();
    match style {
        IntervalStyle::Postgres => plain(interval, &mut text),
        IntervalStyle::PostgresVerbose => verbose(interval, &mut text),
        IntervalStyle::SqlStandard => standard(interval, &mut text),
        IntervalStyle::Iso8601 => iso(interval, &mut text),
    }
    out.put(text.as_bytes());
}

/// Seconds with as many digits of their fraction as it has; without a sign.
fn put_seconds(seconds: i64, micros: i64, width: usize, text: &mut String) {
    let _ = write!(text, "{:0width$}", seconds.abs());
    if micros != 0 {
        let digits = format!("{:06}", micros.abs());
        let _ = write!(text, ".{}", digits.trim_end_matches('0'));
    }
}

fn plain(interval: Interval, text: &mut String) {
    let parts = interval.parts();
    let mut after_negative = false;
    for (value, unit) in [(parts.years, "year"), (parts.months, "mon"), (parts.days, "day")] {
        if value != 0 {
            let space = if text.is_empty() { "" } else { " " };
            let plus = if after_negative && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            let _ = write!(text, "{space}{plus}{value} {unit}{plural}");
            after_negative = value < 0;
        }
    }
    if interval.micros != 0 || text.is_empty() {
        let space = if text.is_empty() { "" } else { " " };
        let sign = match () {
            () if interval.micros < 0 => "-",
            () if after_negative => "+",
            () => "",
        };
        let _ = write!(text, "{space}{sign}{:02}:{:02}:", parts.hours.abs(), parts.minutes.abs());
        put_seconds(parts.seconds, parts.micros, 2, text);
    }
}

fn verbose(interval: Interval, text: &mut String) {
    let parts = interval.parts();
    text.push('@');
    // The first part that is not zero says the sign of all of them.
    let mut ago = None;
    let units = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    for (value, unit) in units.into_iter().filter(|(value, _)| *value != 0) {
        let shown = if *ago.get_or_insert(value < 0) { -value } else { value };
        let plural = if shown == 1 { "" } else { "s" };
        let _ = write!(text, " {shown} {unit}{plural}");
    }
    if parts.seconds != 0 || parts.micros != 0 {
        let negative = parts.seconds < 0 || parts.micros < 0;
        let first = ago.is_none();
        let is_ago = *ago.get_or_insert(negative);
        text.push(' ');
        // After others a sign of its own: `ago` turns it round.
        if !first && negative != is_ago {
            text.push('-');
        }
        put_seconds(parts.seconds, parts.micros, 1, text);
        let plural = if parts.seconds.abs() == 1 && parts.micros == 0 { "" } else { "s" };
        let _ = write!(text, " sec{plural}");
    }
    match ago {
        None => text.push_str(" 0"),
        Some(true) => text.push_str(" ago"),
        Some(false) => {}
    }
}

fn standard(interval: Interval, text: &mut String) {
    let Signs { negative, positive } = Signs::of(interval);
    let (has_months, has_time) = (interval.months != 0, interval.days != 0 || interval.micros != 0);
    if !negative && !positive {
        text.push('0');
        return;
    }
    let parts = interval.parts();
    let (years, months, days) = (parts.years.abs(), parts.months.abs(), parts.days.abs());
    let (hours, minutes) = (parts.hours.abs(), parts.minutes.abs());
    if (negative && positive) || (has_months && has_time) {
        // Not SQL's any more: each part with a sign.
        let sign = |negative: bool| if negative { '-' } else { '+' };
        let (of_months, of_days) = (sign(interval.months < 0), sign(interval.days < 0));
        let of_time = sign(interval.micros < 0);
        let _ = write!(text, "{of_months}{years}-{months} {of_days}{days} {of_time}{hours}:{minutes:02}:");
        return put_seconds(parts.seconds, parts.micros, 2, text);
    }
    if negative {
        text.push('-');
    }
    if has_months {
        let _ = write!(text, "{years}-{months}");
        return;
    }
    if interval.days != 0 {
        let _ = write!(text, "{days} ");
    }
    let _ = write!(text, "{hours}:{minutes:02}:");
    put_seconds(parts.seconds, parts.micros, 2, text);
}

/// Whether any part is below zero, and whether any is above.
struct Signs {
    negative: bool,
    positive: bool,
}

impl Signs {
    fn of(interval: Interval) -> Signs {
        let Interval { months, days, micros } = interval;
        Signs { negative: months < 0 || days < 0 || micros < 0, positive: months > 0 || days > 0 || micros > 0 }
    }
}

fn iso(interval: Interval, text: &mut String) {
    if interval == Interval::default() {
        return text.push_str("PT0S");
    }
    let parts = interval.parts();
    text.push('P');
    let put = |value: i64, letter: char, text: &mut String| {
        if value != 0 {
            let _ = write!(text, "{value}{letter}");
        }
    };
    put(parts.years, 'Y', text);
    put(parts.months, 'M', text);
    put(parts.days, 'D', text);
    if interval.micros != 0 {
        text.push('T');
    }
    put(parts.hours, 'H', text);
    put(parts.minutes, 'M', text);
    if parts.seconds != 0 || parts.micros != 0 {
        if parts.seconds < 0 || parts.micros < 0 {
            text.push('-');
        }
        put_seconds(parts.seconds, parts.micros, 1, text);
        text.push('S');
    }
}
