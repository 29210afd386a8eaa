//! Dates and times as texts, in the four formats of `DateStyle`.
//!
//! | format | `timestamptz` |
//! |---|---|
//! | ISO | `1997-12-17 07:37:16-08` |
//! | SQL | `12/17/1997 07:37:16 PST`, or `17/12/1997` with the day first |
//! | Postgres | `Wed Dec 17 07:37:16 1997 PST`, or `Wed 17 Dec` |
//! | German | `17.12.1997 07:37:16 PST` |

use super::super::Sink;
use super::{
    Civil, DATE_INFINITY, DATE_NEG_INFINITY, DAY, DateOrder, SECOND, Style, TIMESTAMP_INFINITY, TIMESTAMP_NEG_INFINITY,
};
use base::settings::DateFormat;

/// Text of a date or time, before it goes out in one piece.
struct Line {
    bytes: [u8; 64],
    length: usize,
}

impl Line {
    fn new() -> Line {
        Line { bytes: [0; 64], length: 0 }
    }

    fn byte(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// A number below 100, in two digits.
    #[inline]
    fn two(&mut self, value: i64) {
        debug_assert!((0..100).contains(&value));
        let value = value as u8;
        self.bytes[self.length..][..2].copy_from_slice(&[b'0' + value / 10, b'0' + value % 10]);
        self.length += 2;
    }

    /// A number that is not negative, with at least `width` digits.
    fn padded(&mut self, value: i64, width: usize) {
        let digits = value.checked_ilog10().map_or(1, |log| log as usize + 1).max(width);
        let mut rest = value;
        for at in (self.length..self.length + digits).rev() {
            self.bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += digits;
    }

    fn civil(&mut self, civil: Civil) {
        self.year(civil);
        self.byte(b'-');
        self.two(civil.month);
        self.byte(b'-');
        self.two(civil.day);
    }

    fn year(&mut self, civil: Civil) {
        match civil.year {
            year @ 1..=9999 => {
                self.two(year / 100);
                self.two(year % 100);
            }
            year => self.padded(if year > 0 { year } else { 1 - year }, 4),
        }
    }

    fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.byte(byte));
    }

    /// A date as numbers: `12/17/1997`, `17.12.1997`, `12-17-1997`.
    fn numbers(&mut self, civil: Civil, format: DateFormat, order: DateOrder) {
        let between = match format {
            DateFormat::Sql => b'/',
            DateFormat::German => b'.',
            DateFormat::Postgres | DateFormat::Iso => b'-',
        };
        let day_first = order == DateOrder::Dmy || format == DateFormat::German;
        let (first, second) = if day_first { (civil.day, civil.month) } else { (civil.month, civil.day) };
        self.two(first);
        self.byte(between);
        self.two(second);
        self.byte(between);
        self.year(civil);
    }

    fn era(&mut self, civil: Civil) {
        if civil.year <= 0 {
            for byte in *b" BC" {
                self.byte(byte);
            }
        }
    }

    fn time(&mut self, micros: i64) {
        // Of a day at most, in which there are few enough seconds and microseconds of one for the shorter divisions.
        let (seconds, fraction) = ((micros / SECOND) as u32, (micros % SECOND) as u32);
        self.two((seconds / 3600).into());
        self.byte(b':');
        self.two((seconds / 60 % 60).into());
        self.byte(b':');
        self.two((seconds % 60).into());
        if fraction != 0 {
            self.byte(b'.');
            self.two((fraction / 10_000).into());
            self.two((fraction / 100 % 100).into());
            self.two((fraction % 100).into());
            while self.bytes[self.length - 1] == b'0' {
                self.length -= 1;
            }
        }
    }

    fn offset(&mut self, offset: i64) {
        self.byte(if offset < 0 { b'-' } else { b'+' });
        let offset = offset.abs();
        self.two(offset / 3600);
        if offset % 3600 != 0 {
            self.byte(b':');
            self.two(offset / 60 % 60);
        }
        if offset % 60 != 0 {
            self.byte(b':');
            self.two(offset % 60);
        }
    }

    fn put(&self, out: &mut impl Sink) {
        out.put(&self.bytes[..self.length]);
    }
}

/// Writes a `date`.
pub fn print_date(days: i64, style: &Style<'_>, out: &mut impl Sink) {
    match days {
        DATE_INFINITY => out.put(b"infinity"),
        DATE_NEG_INFINITY => out.put(b"-infinity"),
        _ => {
            let civil = Civil::from_days(days);
            let mut line = Line::new();
            match style.date_format {
                DateFormat::Iso => line.civil(civil),
                format => line.numbers(civil, format, style.date_order),
            }
            line.era(civil);
            line.put(out);
        }
    }
}

/// Writes a `time`: microseconds since midnight, up to 24:00:00.
pub fn print_time(micros: i64, out: &mut impl Sink) {
    let mut line = Line::new();
    line.time(micros);
    line.put(out);
}

/// Writes the day and time that a wall clock shows, and `offset`, in seconds east of Greenwich, where there is one.
fn print_local(micros: i64, offset: Option<i64>, out: &mut impl Sink) {
    let civil = Civil::from_days(micros.div_euclid(DAY));
    let mut line = Line::new();
    line.civil(civil);
    line.byte(b' ');
    line.time(micros.rem_euclid(DAY));
    if let Some(offset) = offset {
        line.offset(offset);
    }
    line.era(civil);
    line.put(out);
}

/// The same in another format than ISO; the zone has a name instead of an offset.
#[cold]
fn print_styled(micros: i64, zone: &str, style: &Style<'_>, out: &mut impl Sink) {
    const DAYS: [&str; 7] = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let days = micros.div_euclid(DAY);
    let civil = Civil::from_days(days);
    let mut line = Line::new();
    if style.date_format == DateFormat::Postgres {
        // The year 2000 began on a Saturday.
        line.text(DAYS[days.rem_euclid(7) as usize]);
        line.byte(b' ');
        let month = MONTHS[(civil.month - 1) as usize];
        if style.date_order == DateOrder::Dmy {
            line.two(civil.day);
            line.byte(b' ');
            line.text(month);
        } else {
            line.text(month);
            line.byte(b' ');
            line.two(civil.day);
        }
        line.byte(b' ');
        line.time(micros.rem_euclid(DAY));
        line.byte(b' ');
        line.year(civil);
    } else {
        line.numbers(civil, style.date_format, style.date_order);
        line.byte(b' ');
        line.time(micros.rem_euclid(DAY));
    }
    line.put(out);
    if !zone.is_empty() {
        out.put(b" ");
        out.put(zone.as_bytes());
    }
    if civil.year <= 0 {
        out.put(b" BC");
    }
}

/// Writes an offset: `+02`, `-03:30`.
pub fn print_offset(offset: i64, out: &mut impl Sink) {
    let mut line = Line::new();
    line.offset(offset);
    line.put(out);
}

/// Writes a `timestamp`.
pub fn print_timestamp(micros: i64, style: &Style<'_>, out: &mut impl Sink) {
    match micros {
        TIMESTAMP_INFINITY => out.put(b"infinity"),
        TIMESTAMP_NEG_INFINITY => out.put(b"-infinity"),
        _ if style.date_format == DateFormat::Iso => print_local(micros, None, out),
        _ => print_styled(micros, "", style, out),
    }
}

/// Writes a `timestamptz` as the style's zone's clocks show it.
pub fn print_timestamptz(micros: i64, style: &Style<'_>, out: &mut impl Sink) {
    match micros {
        TIMESTAMP_INFINITY => out.put(b"infinity"),
        TIMESTAMP_NEG_INFINITY => out.put(b"-infinity"),
        _ => {
            let offset = style.zone.offset_at(micros);
            let local = micros + offset * SECOND;
            match style.date_format {
                DateFormat::Iso => print_local(local, Some(offset), out),
                _ => print_styled(local, &style.zone.abbreviation_at(micros), style, out),
            }
        }
    }
}
