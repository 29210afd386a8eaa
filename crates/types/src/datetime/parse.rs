//! Reading dates and times in the forms that PostgreSQL reads.
//!
//! A text is split into fields (numbers, words, numbers joined by `-` `/` `.` into a date, numbers joined by `:` into a
//! time, signed offsets), and each field says what it can. ISO 8601 in its usual spellings, `January 8, 1999`,
//! `8-Jan-1999`, `1/8/1999` by the setting's order, `19990108`, `J2451187`, `now`, `today`, `epoch`, `infinity`, eras,
//! AM and PM, offsets, abbreviations and names of zones.
//!
//! Rules
//! 1. A field may stand anywhere once, except that a time needs a date before it or no number besides, as in PostgreSQL.
//! 2. What the target type has no place for is read, checked and dropped: a zone in a `timestamp`, a time in a `date`.
//! 3. Errors name the whole text. Syntax is `22007`, a number out of its range `22008`.

use super::zone::{Zone, parse_offset};
use super::{
    Civil, DATE_INFINITY, DATE_NEG_INFINITY, DAY, DateOrder, HOUR, MINUTE, SECOND, Style, TIMESTAMP_INFINITY,
    TIMESTAMP_NEG_INFINITY, UNIX_EPOCH_DAYS, local_to_utc, month_length, utc_to_local,
};
use base::{Error, Result, sqlstate};

/// Why a text is refused; the text itself is added at the end.
enum Fault {
    /// It is no date or time.
    Syntax,
    /// A number is out of its range.
    Range,
    /// A month or day is out of its range; perhaps the order of the parts is another one.
    Order,
    /// An offset is out of its range.
    Offset,
    /// A zone of this name is not known.
    Zone(String),
}

impl Fault {
    fn error(self, name: &str, text: &str) -> Error {
        let range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, message)
        };
        match self {
            Fault::Syntax => {
                let message = format!("invalid input syntax for type {name}: \"{text}\"");
                Error::statement(sqlstate::INVALID_DATETIME_FORMAT, message)
            }
            Fault::Range => range(),
            Fault::Order => range().hint("Perhaps you need a different \"datestyle\" setting."),
            Fault::Offset => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
            }
            Fault::Zone(zone) => {
                let message = format!("time zone \"{zone}\" not recognized");
                Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
            }
        }
    }
}

type Parsed<T> = std::result::Result<T, Fault>;

/// The zone that a text names.
enum NamedZone {
    /// Seconds east of Greenwich.
    Offset(i64),
    Rule(Zone),
}

/// A text that means a day or an instant by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    Infinity,
    NegInfinity,
    Epoch,
    Now,
    /// Midnight, so many days from today.
    Day(i64),
}

/// What has been read so far.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// The year was written with two digits at most.
    short_year: bool,
    /// The month was written as a word.
    named_month: bool,
    /// The day of the year, in place of month and day.
    day_of_year: Option<i64>,
    /// A Julian day, in place of all of them.
    julian: Option<i64>,
    bc: bool,
    /// Microseconds since midnight.
    time: Option<i64>,
    afternoon: Option<bool>,
    zone: Option<NamedZone>,
    special: Option<Special>,
    /// A `T` stands before a time in digits only.
    time_follows: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field<'t> {
    /// Digits, perhaps with a fraction.
    Number(&'t str),
    /// Digits or letters joined by `-`, `/` or `.`.
    Date(&'t str),
    /// Digits joined by `:`.
    Time(&'t str),
    Word(&'t str),
    /// Something with a sign.
    Signed(&'t str),
}

/// Splits a text into its fields.
fn split(text: &str) -> Parsed<Vec<Field<'_>>> {
    let bytes = text.as_bytes();
    let run = |mut at: usize, wanted: &dyn Fn(u8) -> bool| {
        while at < bytes.len() && wanted(bytes[at]) {
            at += 1;
        }
        at
    };
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C | b',' => {
                at += 1;
                continue;
            }
            b'0'..=b'9' => {
                at = run(at, &|byte| byte.is_ascii_digit());
                let next = bytes.get(at).copied().unwrap_or(b' ');
                let after = bytes.get(at + 1).copied().unwrap_or(b' ');
                let field = match next {
                    b':' => {
                        at = run(at, &|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
                        Field::Time(&text[start..at])
                    }
                    b'-' | b'/' if after.is_ascii_alphanumeric() => {
                        at = run(at, &|byte| byte.is_ascii_alphanumeric() || byte == next);
                        // The `T` of ISO 8601 directly after the day starts a time.
                        let date = &text[start..at];
                        if let Some(mark) = date.find(['T', 't']).filter(|&mark| {
                            let both = date.as_bytes();
                            mark > 0 && both[mark - 1].is_ascii_digit()
                        }) {
                            at = start + mark;
                        }
                        Field::Date(&text[start..at])
                    }
                    b'.' => {
                        at = run(at, &|byte| byte.is_ascii_digit() || byte == b'.');
                        let field = &text[start..at];
                        match field.matches('.').count() {
                            1 => Field::Number(field),
                            _ => Field::Date(field),
                        }
                    }
                    _ => Field::Number(&text[start..at]),
                };
                fields.push(field);
            }
            b'a'..=b'z' | b'A'..=b'Z' => {
                at = run(at, &|byte| byte.is_ascii_alphabetic());
                match bytes.get(at) {
                    // `Jan-08-1999`, and names of zones: `America/New_York`, `Etc/GMT+5`.
                    Some(b'-' | b'/') if bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric) => {
                        let digits = bytes[at + 1].is_ascii_digit() && bytes[at] == b'-';
                        at = match digits {
                            true => run(at, &|byte| byte.is_ascii_alphanumeric() || byte == b'-'),
                            false => run(at, &|byte| byte.is_ascii_alphanumeric() || b"_/+-".contains(&byte)),
                        };
                        let field = &text[start..at];
                        fields.push(if digits { Field::Date(field) } else { Field::Word(field) });
                    }
                    Some(b'.') => {
                        fields.push(Field::Word(&text[start..at]));
                        at += 1;
                    }
                    // `J2451187`, `EST5EDT`.
                    Some(b'0'..=b'9') if !text[start..at].eq_ignore_ascii_case("t") => {
                        at = run(at, &|byte| byte.is_ascii_alphanumeric());
                        fields.push(Field::Word(&text[start..at]));
                    }
                    _ => fields.push(Field::Word(&text[start..at])),
                }
            }
            b'+' | b'-' => {
                at = run(at + 1, &|byte| byte == b' ');
                let body = at;
                at = match bytes.get(at) {
                    Some(byte) if byte.is_ascii_alphabetic() => run(at, &|byte| byte.is_ascii_alphabetic()),
                    _ => run(at, &|byte| byte.is_ascii_digit() || byte == b':' || byte == b'.'),
                };
                if body == at {
                    return Err(Fault::Syntax);
                }
                fields.push(Field::Signed(&text[start..at]));
            }
            _ => return Err(Fault::Syntax),
        }
    }
    match fields.is_empty() {
        true => Err(Fault::Syntax),
        false => Ok(fields),
    }
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// A month's name, or its first three letters (`sept` has four).
fn month(word: &str) -> Option<i64> {
    let found =
        MONTHS.iter().position(|name| *name == word || name[..3] == *word || (word == "sept" && *name == "september"));
    found.map(|at| at as i64 + 1)
}

fn is_weekday(word: &str) -> bool {
    WEEKDAYS.iter().any(|name| *name == word || name[..3] == *word)
        || matches!(word, "tues" | "weds" | "thur" | "thurs")
}

fn digits(text: &str) -> Parsed<i64> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse().map_err(|_| Fault::Range),
        false => Err(Fault::Syntax),
    }
}

/// Microseconds of a fraction of a second: the digits after its point.
fn fraction(text: &str) -> Parsed<i64> {
    if text.is_empty() {
        return Ok(0);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Syntax);
    }
    let value: f64 = format!("0.{text}").parse().map_err(|_| Fault::Syntax)?;
    Ok((value * SECOND as f64).round_ties_even() as i64)
}

fn time_of(hours: i64, minutes: i64, seconds: i64, micros: i64) -> Parsed<i64> {
    let end_of_day = hours == 24 && minutes == 0 && seconds == 0 && micros == 0;
    if (hours > 23 && !end_of_day) || minutes > 59 || seconds > 60 || (seconds == 60 && micros > 0) {
        return Err(Fault::Range);
    }
    Ok(hours * HOUR + minutes * MINUTE + seconds * SECOND + micros)
}

impl Fields {
    fn read(text: &str, order: DateOrder) -> Parsed<Fields> {
        let fields = split(text)?;
        let mut read = Fields::default();
        for (at, field) in fields.iter().enumerate() {
            match *field {
                Field::Time(time) => read.time(time)?,
                Field::Date(date) => read.date(date, order)?,
                Field::Number(number) => read.number(number, order, fields.get(at + 1))?,
                Field::Word(word) => read.word(&word.to_ascii_lowercase())?,
                Field::Signed(signed) => read.signed(signed)?,
            }
        }
        if read.time_follows {
            return Err(Fault::Syntax);
        }
        Ok(read)
    }

    fn has_date(&self) -> bool {
        self.julian.is_some() || (self.year.is_some() && (self.day.is_some() || self.day_of_year.is_some()))
    }

    fn time(&mut self, text: &str) -> Parsed<()> {
        if self.time.is_some() || (!self.has_date() && (self.day.is_some() != self.month.is_some())) {
            return Err(Fault::Syntax);
        }
        self.time_follows = false;
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let mut parts = whole.split(':');
        let hours = digits(parts.next().unwrap_or(""))?;
        let minutes = digits(parts.next().unwrap_or(""))?;
        let seconds = match parts.next() {
            Some(seconds) => digits(seconds)?,
            None if text.contains('.') => return Err(Fault::Syntax),
            None => 0,
        };
        if parts.next().is_some() {
            return Err(Fault::Syntax);
        }
        self.time = Some(time_of(hours, minutes, seconds, fraction(part)?)?);
        Ok(())
    }

    fn set_year(&mut self, text: &str) -> Parsed<()> {
        if self.year.is_some() {
            return Err(Fault::Syntax);
        }
        self.short_year = text.len() <= 2;
        self.year = Some(digits(text)?);
        Ok(())
    }

    fn set_month(&mut self, month: i64, named: bool) -> Parsed<()> {
        if self.month.is_some() {
            return Err(Fault::Syntax);
        }
        self.named_month = named;
        self.month = Some(month);
        Ok(())
    }

    fn set_day(&mut self, day: i64) -> Parsed<()> {
        if self.day.is_some() {
            return Err(Fault::Syntax);
        }
        self.day = Some(day);
        Ok(())
    }

    fn date(&mut self, text: &str, order: DateOrder) -> Parsed<()> {
        if self.has_date() || self.time.is_some() {
            return Err(Fault::Syntax);
        }
        let parts: Vec<&str> = text.split(['-', '/', '.']).collect();
        let words = parts.iter().filter(|part| part.bytes().any(|byte| byte.is_ascii_alphabetic())).count();
        let first = parts[0];
        match (parts.as_slice(), words) {
            ([a, b, c], 0) => {
                let (year, month, day) = match order {
                    _ if first.len() > 2 => (a, b, c),
                    DateOrder::Mdy => (c, a, b),
                    DateOrder::Dmy => (c, b, a),
                    DateOrder::Ymd => (a, b, c),
                };
                self.set_year(year)?;
                self.set_month(digits(month)?, false)?;
                self.set_day(digits(day)?)
            }
            ([year, day], 0) if year.len() >= 3 && day.len() == 3 => {
                self.set_year(year)?;
                self.day_of_year = Some(digits(day)?);
                Ok(())
            }
            ([_, _, _], 1) => {
                let mut numbers = Vec::new();
                for part in &parts {
                    match month(&part.to_ascii_lowercase()) {
                        Some(month) => self.set_month(month, true)?,
                        None => numbers.push(*part),
                    }
                }
                let [a, b] = numbers[..] else {
                    return Err(Fault::Syntax);
                };
                let (year, day) = if a.len() > 2 { (a, b) } else { (b, a) };
                self.set_year(year)?;
                self.set_day(digits(day)?)
            }
            _ => Err(Fault::Syntax),
        }
    }

    fn number(&mut self, text: &str, order: DateOrder, next: Option<&Field<'_>>) -> Parsed<()> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let has_point = text.contains('.');
        let time_in_digits = self.time_follows || (self.has_date() && self.time.is_none());
        if time_in_digits {
            // hhmmss, hhmm, and hh after a T only.
            let value = digits(whole)?;
            let micros = fraction(part)?;
            let time = match whole.len() {
                6 => time_of(value / 10_000, value / 100 % 100, value % 100, micros)?,
                4 if !has_point => time_of(value / 100, value % 100, 0, 0)?,
                2 if self.time_follows && !has_point => time_of(value, 0, 0, 0)?,
                _ => return Err(Fault::Syntax),
            };
            self.time_follows = false;
            self.time = Some(time);
            return Ok(());
        }
        if has_point {
            // 1999.008 is a year and a day of it; with a time's digits before the point it is a time.
            return match (whole.len(), part.len()) {
                (4, 3) => {
                    self.set_year(whole)?;
                    self.day_of_year = Some(digits(part)?);
                    Ok(())
                }
                (6, _) if self.year.is_none() && self.time.is_none() => {
                    let value = digits(whole)?;
                    self.time = Some(time_of(value / 10_000, value / 100 % 100, value % 100, fraction(part)?)?);
                    Ok(())
                }
                _ => Err(Fault::Syntax),
            };
        }
        let value = digits(whole)?;
        match whole.len() {
            8.. if self.year.is_none() && self.month.is_none() => {
                let split = whole.len() - 4;
                self.set_year(&whole[..split])?;
                self.set_month(value / 100 % 100, false)?;
                self.set_day(value % 100)
            }
            6 if self.year.is_none() && self.month.is_none() => {
                self.set_year(&whole[..2])?;
                self.set_month(value / 100 % 100, false)?;
                self.set_day(value % 100)
            }
            _ => self.part_of_date(whole, value, order, next),
        }
    }

    /// A number that is a year, a month or a day, as what is known already and the setting's order say.
    fn part_of_date(&mut self, text: &str, value: i64, order: DateOrder, next: Option<&Field<'_>>) -> Parsed<()> {
        if text.len() > 2 && self.year.is_none() {
            return self.set_year(text);
        }
        let month_follows = matches!(next, Some(Field::Word(word)) if month(&word.to_ascii_lowercase()).is_some());
        if self.named_month || month_follows {
            return match (self.day, order) {
                (None, DateOrder::Ymd) if self.year.is_none() && month_follows => self.set_year(text),
                (None, _) => self.set_day(value),
                _ => self.set_year(text),
            };
        }
        match (order, self.month, self.day, self.year) {
            (DateOrder::Ymd, _, _, None) => self.set_year(text),
            (DateOrder::Dmy, _, None, _) => self.set_day(value),
            (_, None, _, _) => self.set_month(value, false),
            (_, _, None, _) => self.set_day(value),
            _ => self.set_year(text),
        }
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        if let Some(month) = month(word) {
            // `1 Jan` may have put the day into the month's place.
            if let (Some(number), false, None) = (self.month, self.named_month, self.day) {
                self.month = None;
                self.day = Some(number);
            }
            return self.set_month(month, true);
        }
        if is_weekday(word) || word == "at" || word == "on" {
            return Ok(());
        }
        let special = match word {
            "infinity" => Some(Special::Infinity),
            "epoch" => Some(Special::Epoch),
            "now" => Some(Special::Now),
            "today" => Some(Special::Day(0)),
            "tomorrow" => Some(Special::Day(1)),
            "yesterday" => Some(Special::Day(-1)),
            _ => None,
        };
        if special.is_some() {
            if self.special.is_some() || self.has_date() {
                return Err(Fault::Syntax);
            }
            self.special = special;
            return Ok(());
        }
        match word {
            "am" | "pm" => {
                self.afternoon = Some(word == "pm");
                return Ok(());
            }
            "bc" | "ad" => {
                self.bc = word == "bc";
                return Ok(());
            }
            "t" if self.has_date() || self.special.is_none() => {
                self.time_follows = true;
                return Ok(());
            }
            "allballs" => {
                self.time = Some(0);
                self.zone = Some(NamedZone::Offset(0));
                return Ok(());
            }
            _ => {}
        }
        if let Some(day) = word.strip_prefix('j').and_then(|day| day.parse::<i64>().ok()) {
            self.julian = Some(day);
            return Ok(());
        }
        if self.zone.is_some() {
            return Err(Fault::Syntax);
        }
        if let Some(offset) = Zone::abbreviation(word) {
            self.zone = Some(NamedZone::Offset(offset));
            return Ok(());
        }
        match Zone::lookup(word) {
            Some(zone) => {
                self.zone = Some(NamedZone::Rule(zone));
                Ok(())
            }
            None if word.contains('/') || word.bytes().any(|byte| byte.is_ascii_digit()) => {
                Err(Fault::Zone(word.to_owned()))
            }
            None => Err(Fault::Syntax),
        }
    }

    fn signed(&mut self, text: &str) -> Parsed<()> {
        let compact: String = text.chars().filter(|character| *character != ' ').collect();
        let body = compact[1..].to_ascii_lowercase();
        if body == "infinity" && self.special.is_none() {
            let negative = compact.starts_with('-');
            self.special = Some(if negative { Special::NegInfinity } else { Special::Infinity });
            return Ok(());
        }
        let offset = match parse_offset(&compact) {
            Some(Ok(offset)) => offset,
            Some(Err(())) => return Err(Fault::Offset),
            None => return Err(Fault::Syntax),
        };
        if self.zone.is_some() || (self.time.is_none() && !self.has_date()) {
            return Err(Fault::Syntax);
        }
        self.zone = Some(NamedZone::Offset(offset));
        Ok(())
    }

    /// Microseconds since midnight, with AM and PM in mind; midnight where no time was given.
    fn time_of_day(&self) -> Parsed<i64> {
        let time = self.time.unwrap_or(0);
        let hours = time / HOUR;
        match self.afternoon {
            None => Ok(time),
            Some(_) if hours > 12 || self.time.is_none() => Err(Fault::Range),
            Some(false) if hours == 12 => Ok(time - 12 * HOUR),
            Some(true) if hours != 12 => Ok(time + 12 * HOUR),
            Some(_) => Ok(time),
        }
    }

    /// The days since 2000-01-01.
    fn days(&self) -> Parsed<i64> {
        if let Some(julian) = self.julian {
            return Ok(julian + super::DATE_MIN);
        }
        let mut year = self.year.ok_or(Fault::Syntax)?;
        if self.bc {
            if year == 0 {
                return Err(Fault::Range);
            }
            year = 1 - year;
        } else if self.short_year {
            year += if year < 70 { 2000 } else { 1900 };
        } else if year == 0 {
            return Err(Fault::Range);
        }
        if year.abs() > 6_000_000 {
            return Err(Fault::Range);
        }
        if let Some(day) = self.day_of_year {
            let length = if super::is_leap(year) { 366 } else { 365 };
            if !(1..=length).contains(&day) {
                return Err(Fault::Range);
            }
            return Ok(Civil { year, month: 1, day: 1 }.to_days() + day - 1);
        }
        let (month, day) = self.month.zip(self.day).ok_or(Fault::Syntax)?;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(Fault::Order);
        }
        if day > month_length(year, month) {
            return Err(Fault::Range);
        }
        Ok(Civil { year, month, day }.to_days())
    }
}

/// What a text says, as a wall clock shows it.
enum Moment {
    Infinity,
    NegInfinity,
    /// An instant: microseconds in UTC.
    Instant(i64),
    /// Microseconds of the wall clock, and its zone if the text names one.
    Local(i64, Option<NamedZone>),
}

fn moment(text: &str, name: &str, style: &Style<'_>) -> Result<Moment> {
    let read = || -> Parsed<Moment> {
        let fields = Fields::read(text, style.date_order)?;
        let Some(special) = fields.special else {
            let days = fields.days()?;
            let time = fields.time_of_day()?;
            return Ok(Moment::Local(days.checked_mul(DAY).ok_or(Fault::Range)?.saturating_add(time), fields.zone));
        };
        let alone = fields.time.is_none() && fields.zone.is_none() && fields.year.is_none() && fields.month.is_none();
        match special {
            Special::Infinity if alone => Ok(Moment::Infinity),
            Special::NegInfinity if alone => Ok(Moment::NegInfinity),
            Special::Epoch if alone => Ok(Moment::Instant(-UNIX_EPOCH_DAYS * DAY)),
            Special::Now if alone => Ok(Moment::Instant(style.now)),
            Special::Day(days) if fields.year.is_none() && fields.month.is_none() => {
                let today = style.now + style.zone.offset_at(style.now) * SECOND;
                let midnight = (today.div_euclid(DAY) + days) * DAY;
                Ok(Moment::Local(midnight + fields.time_of_day()?, fields.zone))
            }
            _ => Err(Fault::Syntax),
        }
    };
    read().map_err(|fault| fault.error(name, text))
}

#[cold]
fn out_of_range(name: &str, text: &str) -> Error {
    Error::statement(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{name} out of range: \"{text}\""))
}

/// Reads a `date`: days since 2000-01-01.
pub fn parse_date(text: &str, style: &Style<'_>) -> Result<i64> {
    // A date may lie far beyond the timestamps, so it is not read by way of one.
    let read = Fields::read(text, style.date_order).map_err(|fault| fault.error("date", text))?;
    let days = match read.special {
        None => {
            let checked = read.time_of_day().and_then(|_| read.days());
            checked.map_err(|fault| fault.error("date", text))?
        }
        Some(_) => match moment(text, "date", style)? {
            Moment::Infinity => return Ok(DATE_INFINITY),
            Moment::NegInfinity => return Ok(DATE_NEG_INFINITY),
            Moment::Instant(micros) if read.special == Some(Special::Epoch) => micros.div_euclid(DAY),
            Moment::Instant(micros) => utc_to_local(micros, style.zone)?.div_euclid(DAY),
            Moment::Local(micros, _) => micros.div_euclid(DAY),
        },
    };
    super::check_date(days).map_err(|_| out_of_range("date", text))
}

/// Reads a `timestamp`: microseconds since 2000-01-01, as a wall clock shows them.
pub fn parse_timestamp(text: &str, style: &Style<'_>) -> Result<i64> {
    let micros = match moment(text, "timestamp", style)? {
        Moment::Infinity => return Ok(TIMESTAMP_INFINITY),
        Moment::NegInfinity => return Ok(TIMESTAMP_NEG_INFINITY),
        Moment::Instant(micros) if text.trim().eq_ignore_ascii_case("epoch") => micros,
        Moment::Instant(micros) => utc_to_local(micros, style.zone)?,
        Moment::Local(micros, _) => micros,
    };
    checked(micros, text)
}

/// Reads a `timestamptz`: microseconds since 2000-01-01 UTC.
pub fn parse_timestamptz(text: &str, style: &Style<'_>) -> Result<i64> {
    let micros = match moment(text, "timestamp with time zone", style)? {
        Moment::Infinity => return Ok(TIMESTAMP_INFINITY),
        Moment::NegInfinity => return Ok(TIMESTAMP_NEG_INFINITY),
        Moment::Instant(micros) => micros,
        Moment::Local(micros, Some(NamedZone::Offset(offset))) => micros.saturating_sub(offset * SECOND),
        Moment::Local(micros, zone) => {
            let zone = match &zone {
                Some(NamedZone::Rule(zone)) => zone,
                _ => style.zone,
            };
            local_to_utc(micros, zone).map_err(|_| out_of_range("timestamp", text))?
        }
    };
    checked(micros, text)
}

fn checked(micros: i64, text: &str) -> Result<i64> {
    match (super::TIMESTAMP_MIN..super::TIMESTAMP_END).contains(&micros) {
        true => Ok(micros),
        false => Err(out_of_range("timestamp", text)),
    }
}

/// Reads a `time`: microseconds since midnight.
pub fn parse_time(text: &str, style: &Style<'_>) -> Result<i64> {
    let read = || -> Parsed<i64> {
        let compact = text.trim_matches(crate::text::is_space);
        // A time may be digits only, which elsewhere are a date.
        if matches!(compact.len(), 4 | 6) && compact.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = digits(compact)? * if compact.len() == 4 { 100 } else { 1 };
            return time_of(value / 10_000, value / 100 % 100, value % 100, 0);
        }
        let fields = Fields::read(text, style.date_order)?;
        match fields.special {
            Some(Special::Now) => {
                let local = style.now + style.zone.offset_at(style.now) * SECOND;
                Ok(local.rem_euclid(DAY))
            }
            Some(_) => Err(Fault::Syntax),
            None => match fields.time {
                None => Err(Fault::Syntax),
                Some(_) => fields.time_of_day(),
            },
        }
    };
    read().map_err(|fault| fault.error("time", text))
}
