//! `to_date` and `to_timestamp` of a text.
//!
//! Reading goes through template and text side by side, collects what the fields say ([`Found`]), and puts a day and a time
//! together at the end. What a text does not say is the first month, the first day, midnight; its year is 1 BC then.
//!
//! Rules
//! 1. Spaces before a field do not matter, and a separator of the template stands for any separator or space or for none. After `FX`
//!    each character of the template is one of the text.
//! 2. A number takes all its digits where the next piece cannot be one, and else as many as its field has letters.
//! 3. What is read last must agree with what was read first: `22007`. Fields of months and fields of weeks are not mixed.

use super::moment::{self, Calendar, DAYS, Field, MONTHS, ROMAN_MONTHS, What};
use super::print::EPOCH_JULIAN;
use super::{Marked, Piece, is_separator, is_space};
use crate::datetime::{
    Civil, DATE_END, DATE_MIN, DAY, HOUR, MINUTE, SECOND, TIMESTAMP_END, TIMESTAMP_MIN, Zone, check_timestamp, is_leap,
    local_to_utc, month_length, out_of_range, round_to_precision,
};
use base::{Error, Result, sqlstate};

/// Hours that an offset from Greenwich may have.
const OFFSET_HOURS_MAX: i64 = 15;

/// What the fields said; zero is nothing.
#[derive(Default)]
struct Found {
    calendar: Option<Calendar>,
    is_12_hours: bool,
    hour: i64,
    is_afternoon: i64,
    minute: i64,
    second: i64,
    second_of_day: i64,
    millis: i64,
    micros: i64,
    /// How many digits of the second's fraction `FF1` to `FF6` want.
    precision: Option<u8>,
    /// The day of the week, Sunday being one.
    weekday: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    year: i64,
    /// How many letters the year's field had.
    year_letters: u8,
    is_bc: i64,
    week: i64,
    week_of_month: i64,
    julian: i64,
    century: i64,
    /// The sign of the offset; zero without one.
    offset_sign: i64,
    offset_hours: i64,
    offset_minutes: i64,
}

/// What was put together of it.
struct Moment {
    civil: Civil,
    time: i64,
    /// Seconds east of Greenwich.
    offset: Option<i64>,
    precision: Option<u8>,
}

/// `to_date(text, template)`: days since 2000.
pub fn date(text: &str, template: &str) -> Result<i64> {
    let civil = moment(text, template)?.civil;
    let days = civil.to_days();
    match (DATE_MIN..DATE_END).contains(&days) {
        true => Ok(days),
        false => Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""))),
    }
}

/// `to_timestamp(text, template)`: microseconds since 2000, in UTC.
pub fn timestamptz(text: &str, template: &str, zone: &Zone) -> Result<i64> {
    let moment = moment(text, template)?;
    let days = moment.civil.to_days();
    let local = days.checked_mul(DAY).and_then(|midnight| midnight.checked_add(moment.time));
    let local = local
        .filter(|local| (TIMESTAMP_MIN..TIMESTAMP_END).contains(local))
        .ok_or_else(|| out_of_range("timestamp"))?;
    let instant = match moment.offset {
        Some(seconds) => check_timestamp(local - seconds * SECOND)?,
        None => local_to_utc(local, zone)?,
    };
    Ok(match moment.precision {
        Some(digits) => round_to_precision(instant, digits.into()),
        None => instant,
    })
}

fn refused(message: String) -> Error {
    Error::statement(sqlstate::INVALID_DATETIME_FORMAT, message)
}

/// The text that is left to read.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// After `FX`.
    exact: bool,
    /// Characters passed over beyond those that the template has; negative if it has more.
    skipped: i64,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn pass(&mut self) {
        self.at += self.rest().chars().next().map_or(0, char::len_utf8);
    }

    fn pass_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
            self.skipped += 1;
        }
    }

    /// Reads by a field's piece; answers with how many bytes the number had.
    fn number(
        &mut self,
        pieces: &[Piece<'_, Field>],
        marked: Marked<Field>,
        letters: usize,
        to: Option<&mut i64>,
    ) -> Result<usize> {
        let name = marked.field.name;
        let start = self.at;
        let text = self.rest().trim_start_matches(|character: char| character.is_ascii() && is_space(character as u8));
        let cut = &text[..text.floor_char_boundary(letters)];
        let short = |what: String| refused(format!("invalid value \"{cut}\" for \"{name}\"")).detail(what);
        const HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let (value, used) = if marked.fill || ends_here(pieces, marked) {
            let (value, used) = integer(text);
            (value, used.map_or(0, |used| self.rest().len() - text.len() + used))
        } else {
            let spaces = self.rest().len() - text.len();
            if text.len() < letters {
                let detail = format!("Field requires {letters} characters, but only {} remain.", text.len());
                let message = format!("source string too short for \"{name}\" formatting field");
                return Err(refused(message).detail(detail).hint(HINT));
            }
            let (value, used) = integer(cut);
            let used = used.unwrap_or(0);
            if used > 0 && used < letters {
                let detail = format!("Field requires {letters} characters, but only {used} could be parsed.");
                return Err(short(detail).hint(HINT));
            }
            (value, spaces + used)
        };
        self.at += used;
        if used == 0 {
            return Err(short("Value must be an integer.".into()));
        }
        let Some(value) = value.filter(|value| i32::try_from(*value).is_ok()) else {
            let message = format!("value for \"{name}\" in source string is out of range");
            let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
            return Err(Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, message).detail(detail));
        };
        if let Some(to) = to {
            set(to, value, marked.field)?;
        }
        Ok(self.at - start)
    }

    /// Reads one of some names, in any case; answers with its index.
    fn name(&mut self, names: &[&str], field: Field) -> Result<i64> {
        let rest = self.rest();
        let is_it = |name: &&str| rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        match names.iter().position(is_it) {
            Some(index) => {
                self.at += names[index].len();
                Ok(index as i64)
            }
            None => {
                let word = rest.split(|character: char| character.is_ascii() && is_space(character as u8)).next();
                let message = format!("invalid value \"{}\" for \"{}\"", word.unwrap_or_default(), field.name);
                Err(refused(message).detail("The given value did not match any of the allowed values for this field."))
            }
        }
    }

    fn pass_ordinal(&mut self, marked: Marked<Field>) {
        if marked.ordinal.is_some() {
            self.pass();
            self.pass();
        }
    }
}

/// A number that a text begins with, as C's `strtol` reads it, and its length; the number is none where it is too large.
fn integer(text: &str) -> (Option<i64>, Option<usize>) {
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        0 => (Some(0), None),
        _ => (text[..sign + digits].parse().ok(), Some(sign + digits)),
    }
}

/// Does a number end where its digits do, because the next piece cannot be one?
fn ends_here(following: &[Piece<'_, Field>], marked: Marked<Field>) -> bool {
    marked.ordinal.is_some()
        || match following.first() {
            None => true,
            Some(Piece::Field(next)) => !next.field.is_digits(),
            Some(other) => !other.character().is_some_and(|text| text.as_bytes().iter().all(u8::is_ascii_digit)),
        }
}

fn set(to: &mut i64, value: i64, field: Field) -> Result<()> {
    if *to != 0 && *to != value {
        let message = format!("conflicting values for \"{}\" field in formatting string", field.name);
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(refused(message).detail(detail));
    }
    *to = value;
    Ok(())
}

fn collect(text: &str, template: &str) -> Result<Found> {
    let pieces = moment::parse(template);
    let mut found = Found::default();
    let mut reader = Reader { text, at: 0, exact: false, skipped: 0 };
    for (index, piece) in pieces.iter().enumerate() {
        if reader.rest().is_empty() {
            break;
        }
        let is_exact_mark = matches!(piece, Piece::Field(marked) if marked.field.what == What::Exact);
        if !reader.exact && !is_exact_mark && (index == 0 || matches!(piece, Piece::Field(_))) {
            reader.pass_spaces();
        }
        let marked = match piece {
            Piece::Field(marked) => *marked,
            _ if reader.exact => {
                reader.pass();
                continue;
            }
            Piece::Space(_) | Piece::Separator(_) => {
                reader.skipped -= 1;
                if reader.peek().is_some_and(|byte| is_space(byte) || is_separator(byte)) {
                    reader.at += 1;
                    reader.skipped += 1;
                }
                continue;
            }
            Piece::Literal(_) => {
                // What was passed over may have been this character.
                if reader.skipped > 0 {
                    reader.skipped -= 1;
                } else {
                    reader.pass();
                }
                continue;
            }
        };
        if let Some(calendar) = marked.field.calendar() {
            if found.calendar.is_some_and(|other| other != calendar) {
                let hint = "Do not mix Gregorian and ISO week date conventions in a formatting template.";
                return Err(refused("invalid combination of date conventions".into()).hint(hint));
            }
            found.calendar = Some(calendar);
        }
        field(&mut reader, &pieces[index + 1..], marked, &mut found)?;
        if !reader.exact {
            reader.skipped = 0;
            reader.pass_spaces();
        }
    }
    Ok(found)
}

/// Reads one field.
fn field(reader: &mut Reader<'_>, rest: &[Piece<'_, Field>], marked: Marked<Field>, found: &mut Found) -> Result<()> {
    use What::*;
    let this = marked.field;
    let letters = this.name.len();
    let mut number = |letters: usize, to: &mut i64| reader.number(rest, marked, letters, Some(to));
    match this.what {
        Exact => {
            reader.exact = true;
            return Ok(());
        }
        HalfDay(points) => {
            let names: &[&str] = if points { &["a.m.", "p.m."] } else { &["am", "pm"] };
            let value = reader.name(names, this)?;
            found.is_12_hours = true;
            return set(&mut found.is_afternoon, value, this);
        }
        Era(points) => {
            let names: &[&str] = if points { &["a.d.", "b.c."] } else { &["ad", "bc"] };
            let value = reader.name(names, this)?;
            return set(&mut found.is_bc, value, this);
        }
        MonthName => {
            let value = reader.name(&MONTHS, this)?;
            return set(&mut found.month, value + 1, this);
        }
        MonthShort => {
            let value = reader.name(&MONTHS.map(|name| &name[..3]), this)?;
            return set(&mut found.month, value + 1, this);
        }
        DayName => {
            let value = reader.name(&DAYS, this)?;
            set(&mut found.weekday, value, this)?;
            found.weekday += 1;
            return Ok(());
        }
        DayShort => {
            let value = reader.name(&DAYS.map(|name| &name[..3]), this)?;
            set(&mut found.weekday, value, this)?;
            found.weekday += 1;
            return Ok(());
        }
        MonthRoman => {
            // From the end, so that no number is taken for its beginning.
            let mut names = ROMAN_MONTHS;
            names.reverse();
            let value = reader.name(&names, this)?;
            return set(&mut found.month, 12 - value, this);
        }
        Zone | Offset => {
            let message = format!("formatting field \"{}\" is only supported in to_char", this.name);
            return Err(Error::unsupported(message));
        }
        ZoneHour => {
            let before = reader.text.as_bytes().get(reader.at.wrapping_sub(1)).copied();
            match reader.peek() {
                Some(sign @ (b'+' | b'-' | b' ')) => {
                    found.offset_sign = if sign == b'-' { -1 } else { 1 };
                    reader.at += 1;
                }
                // A minus sign that was passed over as a separator.
                _ if reader.skipped > 0 && before == Some(b'-') => found.offset_sign = -1,
                _ => found.offset_sign = 1,
            }
            return reader.number(rest, marked, 2, Some(&mut found.offset_hours)).map(drop);
        }
        ZoneMinute => {
            if found.offset_sign == 0 {
                found.offset_sign = 1;
            }
            return reader.number(rest, marked, 2, Some(&mut found.offset_minutes)).map(drop);
        }
        Hour12 => {
            number(2, &mut found.hour)?;
            found.is_12_hours = true;
        }
        Hour24 => drop(number(2, &mut found.hour)?),
        Minute => drop(number(letters, &mut found.minute)?),
        Second => drop(number(letters, &mut found.second)?),
        SecondOfDay => drop(number(letters, &mut found.second_of_day)?),
        // 25 is a quarter, and 250 is; 025 is not.
        Millisecond => {
            let length = number(3, &mut found.millis)?;
            found.millis *= 10i64.pow(3u32.saturating_sub(length as u32));
        }
        Microsecond | Fraction(_) => {
            let digits = if let Fraction(digits) = this.what { digits } else { 6 };
            if this.what != Microsecond {
                found.precision = Some(digits);
            }
            let length = number(digits.into(), &mut found.micros)?;
            found.micros *= 10i64.pow(6u32.saturating_sub(length as u32));
        }
        Month => drop(number(letters, &mut found.month)?),
        Day => drop(number(letters, &mut found.day)?),
        DayOfYear => drop(number(letters, &mut found.day_of_year)?),
        IsoDayOfYear => drop(number(3, &mut found.day_of_year)?),
        DayOfWeek => drop(number(letters, &mut found.weekday)?),
        IsoDayOfWeek => {
            number(1, &mut found.weekday)?;
            found.weekday = if found.weekday + 1 > 7 { 1 } else { found.weekday + 1 };
        }
        Week | IsoWeek => drop(number(letters, &mut found.week)?),
        WeekOfMonth => drop(number(letters, &mut found.week_of_month)?),
        // Read and forgotten: a quarter does not say which day is meant.
        Quarter => drop(reader.number(rest, marked, letters, None)?),
        Century => drop(number(letters, &mut found.century)?),
        Julian => drop(number(letters, &mut found.julian)?),
        YearComma => year_with_comma(reader, this, found)?,
        Year(digits) | IsoYear(digits) => {
            let length = number(letters, &mut found.year)?;
            if digits < 4 && length < 4 {
                found.year = near_2020(found.year);
            }
            found.year_letters = digits;
        }
    }
    reader.pass_ordinal(marked);
    Ok(())
}

/// `2,020`
fn year_with_comma(reader: &mut Reader<'_>, field: Field, found: &mut Found) -> Result<()> {
    let rest = reader.rest();
    let read = || {
        let (thousands, length) = integer(rest);
        let after = rest[length?..].strip_prefix(',')?;
        // At most three characters, a sign among them.
        let (years, used) = integer(after.get(..3).unwrap_or(after));
        Some((thousands?, years?, length? + 1 + used?))
    };
    let (thousands, years, length) = read().ok_or_else(|| refused("invalid input string for \"Y,YYY\"".into()))?;
    reader.at += length;
    set(&mut found.year, thousands.saturating_mul(1000).saturating_add(years), field)?;
    found.year_letters = 4;
    Ok(())
}

/// A year of less than four digits, near the year 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        70..=99 => year + 1900,
        520..=999 => year + 1000,
        ..1000 => year + 2000,
        _ => year,
    }
}

/// The day that an ISO year's week begins with.
fn iso_week_start(year: i64, week: i64) -> i64 {
    let fourth = Civil { year, month: 1, day: 4 }.to_days();
    fourth - (fourth + 5).rem_euclid(7) + (week - 1) * 7
}

fn moment(text: &str, template: &str) -> Result<Moment> {
    let mut found = collect(text, template)?;
    let range = || {
        let message = format!("date/time field value out of range: \"{text}\"");
        Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, message)
    };
    let time = time_of_day(&found)?.ok_or_else(range)?;
    let civil = day(&mut found)?.ok_or_else(range)?;
    let mut offset = None;
    if found.offset_sign != 0 {
        let fits = (0..=OFFSET_HOURS_MAX).contains(&found.offset_hours) && (0..60).contains(&found.offset_minutes);
        if !fits {
            let message = format!("time zone displacement out of range: \"{text}\"");
            return Err(Error::statement(sqlstate::INVALID_TIME_ZONE_DISPLACEMENT, message));
        }
        offset = Some(found.offset_sign * (found.offset_hours * 3600 + found.offset_minutes * 60));
    }
    Ok(Moment { civil, time, offset, precision: found.precision })
}

/// The time of day; none if a part is out of its range.
fn time_of_day(found: &Found) -> Result<Option<i64>> {
    let seconds = found.second_of_day;
    let (mut hour, mut minute, mut second) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    if found.second != 0 {
        second = found.second;
    }
    if found.minute != 0 {
        minute = found.minute;
    }
    if found.hour != 0 {
        hour = found.hour;
    }
    if found.is_12_hours {
        if !(1..=12).contains(&hour) {
            return Err(refused(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                .hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        hour = hour % 12 + if found.is_afternoon != 0 { 12 } else { 0 };
    }
    let micros = found.millis * 1000 + found.micros;
    let fits = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..SECOND).contains(&micros);
    Ok(fits.then(|| hour * HOUR + minute * MINUTE + second * SECOND + micros))
}

/// The year that the fields say, in a calendar with a year zero; none if they say none.
fn year(found: &Found) -> Option<i64> {
    let century = if found.is_bc != 0 { -found.century } else { found.century };
    if found.year != 0 {
        if found.century != 0 && found.year_letters <= 2 {
            // The first century's years are 1 to 100, those of the first one before it 100 BC to 1 BC.
            return Some(match found.year % 100 {
                0 => century * 100 + i64::from(century < 0),
                of_century if century >= 0 => (century - 1) * 100 + of_century,
                of_century => (century + 1) * 100 - of_century + 1,
            });
        }
        let year = if found.is_bc != 0 { -found.year } else { found.year };
        return Some(if year < 0 { year + 1 } else { year });
    }
    match found.century {
        0 => None,
        _ if century >= 0 => Some((century - 1) * 100 + 1),
        _ => Some(century * 100 + 1),
    }
}

/// The day; none if a part is out of its range.
fn day(found: &mut Found) -> Result<Option<Civil>> {
    let said_year = year(found);
    // Which of the three is known: only then it is checked.
    let (mut has_year, mut has_month, mut has_day) = (said_year.is_some(), false, false);
    let mut civil = Civil { year: said_year.unwrap_or(0), month: 1, day: 1 };
    let whole = |days: i64| Civil::from_days(days.clamp(-DATE_END, DATE_END));
    if found.julian != 0 {
        civil = whole(found.julian - EPOCH_JULIAN);
        (has_year, has_month, has_day) = (true, true, true);
    }
    if found.week != 0 {
        if found.calendar == Some(Calendar::Iso) {
            let first = iso_week_start(civil.year, found.week);
            civil = whole(match found.weekday {
                0 => first,
                1 => first + 6,
                weekday => first + weekday - 2,
            });
            (has_year, has_month, has_day) = (true, true, true);
        } else {
            found.day_of_year = (found.week - 1) * 7 + 1;
        }
    }
    if found.week_of_month != 0 {
        found.day = (found.week_of_month - 1) * 7 + 1;
    }
    if found.day != 0 {
        civil.day = found.day;
        has_day = true;
    }
    if found.month != 0 {
        civil.month = found.month;
        has_month = true;
    }
    if found.day_of_year != 0 && (civil.month <= 1 || civil.day <= 1) {
        if civil.year == 0 && found.is_bc == 0 {
            return Err(refused("cannot calculate day of year without year information".into()));
        }
        if found.calendar == Some(Calendar::Iso) {
            civil = whole(iso_week_start(civil.year, 1) + found.day_of_year - 1);
            has_year = true;
        } else {
            let (month, day) = of_year(civil.year, found.day_of_year);
            if civil.month <= 1 {
                civil.month = month;
            }
            if civil.day <= 1 {
                civil.day = day;
            }
        }
        (has_month, has_day) = (true, true);
    }
    let month_fits = !has_month || (1..=12).contains(&civil.month);
    let day_fits = !has_day || (1..=31).contains(&civil.day);
    if !month_fits || !day_fits {
        return Ok(None);
    }
    let is_whole = has_year && has_month && has_day;
    let fits = !is_whole || civil.day <= month_length(civil.year, civil.month);
    Ok(fits.then_some(civil))
}

/// Month and day of a year's day; beyond its end the month is the thirteenth.
fn of_year(year: i64, day_of_year: i64) -> (i64, i64) {
    let mut before = 0;
    for month in 1..=12 {
        let length = month_length(year, month);
        if day_of_year <= before + length {
            return (month, day_of_year - before);
        }
        before += length;
    }
    (13, day_of_year - 365 - i64::from(is_leap(year)))
}
