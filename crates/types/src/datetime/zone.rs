//! Time zones: how far a place's clocks are from UTC, at an instant or at a local time.
//!
//! The rules come from the time zone database that the crate `jiff` carries inside, so that every machine and every
//! replayed run sees the same ones; the system's files are never read. A zone is looked up once for a session's setting
//! and is a value of the process: what a session keeps is its name.

use super::{Civil, DAY, HOUR, MINUTE, SECOND, UNIX_EPOCH_DAYS};
use base::{Error, Result, sqlstate};
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use std::sync::LazyLock;

/// The database, with the zones that this process has used so far.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Seconds from 1970-01-01 to 2000-01-01.
const UNIX_EPOCH_SECONDS: i64 = UNIX_EPOCH_DAYS * 86_400;
/// Seconds of 400 years, after which the calendar repeats.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;
/// The largest offset that PostgreSQL takes, in hours.
const OFFSET_HOURS_MAX: i64 = 15;

/// A time zone.
#[derive(Clone, Debug)]
pub struct Zone {
    name: std::borrow::Cow<'static, str>,
    rule: Rule,
}

#[derive(Clone, Debug)]
enum Rule {
    /// Seconds east of Greenwich.
    Fixed(i64),
    Named(TimeZone),
}

/// Abbreviations that PostgreSQL's default set knows and that mean one offset, in minutes east of Greenwich.
const ABBREVIATIONS: &[(&str, i64)] = &[
    ("acdt", 630),
    ("acst", 570),
    ("adt", -180),
    ("aedt", 660),
    ("aest", 600),
    ("akdt", -480),
    ("akst", -540),
    ("ast", -240),
    ("awst", 480),
    ("bst", 60),
    ("cdt", -300),
    ("cest", 120),
    ("cet", 60),
    ("cst", -360),
    ("edt", -240),
    ("eest", 180),
    ("eet", 120),
    ("est", -300),
    ("gmt", 0),
    ("hkt", 480),
    ("hst", -600),
    ("ist", 120),
    ("jst", 540),
    ("kst", 540),
    ("mdt", -360),
    ("mest", 120),
    ("met", 60),
    ("msk", 180),
    ("mst", -420),
    ("ndt", -150),
    ("nst", -210),
    ("nzdt", 780),
    ("nzst", 720),
    ("pdt", -420),
    ("pst", -480),
    ("sast", 120),
    ("uct", 0),
    ("ut", 0),
    ("utc", 0),
    ("west", 60),
    ("wet", 0),
    ("z", 0),
    ("zulu", 0),
];

impl Zone {
    /// Coordinated Universal Time.
    pub const UTC: Zone = Zone { name: std::borrow::Cow::Borrowed("UTC"), rule: Rule::Fixed(0) };

    /// A zone that is always so many seconds east of Greenwich.
    pub fn fixed(seconds: i64) -> Zone {
        let mut name = Vec::new();
        super::print_offset(seconds, &mut name);
        // As PostgreSQL shows it: POSIX counts the other way round.
        let shown = String::from_utf8(name).unwrap_or_default();
        let mut opposite = Vec::new();
        super::print_offset(-seconds, &mut opposite);
        let opposite = String::from_utf8(opposite).unwrap_or_default();
        Zone { name: format!("<{shown}>{opposite}").into(), rule: Rule::Fixed(seconds) }
    }

    /// The zone that the setting `TimeZone` names: a name of the database, an abbreviation, or hours east of Greenwich.
    pub fn named(name: &str) -> Result<Zone> {
        let refuse = || {
            let message = format!("invalid value for parameter \"TimeZone\": \"{name}\"");
            Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
        };
        if let Ok(hours) = name.trim().parse::<f64>() {
            let seconds = (hours * 3600.0).round();
            return match seconds.abs() < ((OFFSET_HOURS_MAX + 1) * 3600) as f64 {
                true => Ok(Zone::fixed(seconds as i64)),
                false => Err(refuse()),
            };
        }
        Zone::lookup(name).ok_or_else(refuse)
    }

    /// The names of all zones of the database.
    pub fn all_names() -> impl Iterator<Item = String> {
        ZONES.available().map(|name| name.as_str().to_owned())
    }

    /// Are clocks put forward at an instant?
    pub fn is_summer_at(&self, micros: i64) -> bool {
        let Rule::Named(rule) = &self.rule else { return false };
        let seconds = within_database(micros.div_euclid(SECOND) + UNIX_EPOCH_SECONDS);
        let instant = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        rule.to_offset_info(instant).dst().is_dst()
    }

    /// A zone by its name in the database, in any case.
    pub(super) fn lookup(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("utc") {
            return Some(Zone::UTC);
        }
        let rule = ZONES.get(name).ok()?;
        let name = rule.iana_name().unwrap_or(name).to_owned();
        Some(Zone { name: name.into(), rule: Rule::Named(rule) })
    }

    /// The offset of an abbreviation in lower case, in seconds east of Greenwich.
    pub(super) fn abbreviation(name: &str) -> Option<i64> {
        let at = ABBREVIATIONS.binary_search_by_key(&name, |row| row.0).ok()?;
        Some(ABBREVIATIONS[at].1 * 60)
    }

    /// What `SHOW TimeZone` answers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Seconds east of Greenwich at an instant, given in microseconds since 2000-01-01 UTC.
    #[inline]
    pub fn offset_at(&self, micros: i64) -> i64 {
        match &self.rule {
            Rule::Fixed(seconds) => *seconds,
            Rule::Named(rule) => {
                let seconds = within_database(micros.div_euclid(SECOND) + UNIX_EPOCH_SECONDS);
                let instant = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
                i64::from(rule.to_offset(instant).seconds())
            }
        }
    }

    /// What the zone's clocks are called at an instant: `CEST`, and an offset where a place has no name for them.
    pub fn abbreviation_at(&self, micros: i64) -> String {
        match &self.rule {
            Rule::Fixed(_) if self.name == "UTC" => "UTC".to_owned(),
            Rule::Fixed(seconds) => {
                let mut name = Vec::new();
                super::print_offset(*seconds, &mut name);
                String::from_utf8(name).unwrap_or_default()
            }
            Rule::Named(rule) => {
                let seconds = within_database(micros.div_euclid(SECOND) + UNIX_EPOCH_SECONDS);
                let instant = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
                rule.to_offset_info(instant).abbreviation().to_owned()
            }
        }
    }

    /// Seconds east of Greenwich when the zone's clocks show this time, given in microseconds since 2000-01-01.
    pub fn offset_of_local(&self, micros: i64) -> i64 {
        let rule = match &self.rule {
            Rule::Fixed(seconds) => return *seconds,
            Rule::Named(rule) => rule,
        };
        // A day of room, so that no local time leaves the database's range.
        let seconds = within_database(micros.div_euclid(SECOND) + UNIX_EPOCH_SECONDS);
        let civil = Civil::from_days(seconds.div_euclid(86_400) - UNIX_EPOCH_DAYS);
        let time = seconds.rem_euclid(86_400);
        let local = jiff::civil::DateTime::new(
            civil.year as i16,
            civil.month as i8,
            civil.day as i8,
            (time / 3600) as i8,
            (time / 60 % 60) as i8,
            (time % 60) as i8,
            0,
        );
        let offset = match local.map(|local| rule.to_ambiguous_timestamp(local).offset()) {
            Ok(AmbiguousOffset::Unambiguous { offset }) => offset,
            Ok(AmbiguousOffset::Gap { before, .. }) => before,
            Ok(AmbiguousOffset::Fold { after, .. }) => after,
            Err(_) => jiff::tz::Offset::UTC,
        };
        i64::from(offset.seconds())
    }
}

/// An instant with the same offset that the database covers: years from -9998 to 9998.
fn within_database(seconds: i64) -> i64 {
    // 9800-01-01: rules for the far future repeat with the calendar.
    const LATEST: i64 = 247_092_163_200;
    // Before the first rule there was local mean time only.
    const EARLIEST: i64 = -300_000_000_000;
    if seconds > LATEST {
        return LATEST - CYCLE_SECONDS + (seconds - LATEST).rem_euclid(CYCLE_SECONDS);
    }
    seconds.max(EARLIEST)
}

/// Reads an offset with its sign, in PostgreSQL's forms: `+5`, `+05`, `+0530`, `+5:30`, `+05:30:15`; in seconds east.
///
/// `None` is bad syntax, and an error a number that no offset has.
pub(super) fn parse_offset(text: &str) -> Option<std::result::Result<i64, ()>> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let mut parts = digits.split(':');
    let first = parts.next()?;
    let number = |part: &str| match part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
        true => Some(part.parse::<i64>().unwrap_or(i64::MAX)),
        false => None,
    };
    let (hours, minutes, seconds) = match (number(first)?, parts.next(), parts.next()) {
        (packed, None, None) if first.len() > 4 => (packed / 10_000, packed / 100 % 100, packed % 100),
        (packed, None, None) if first.len() > 2 => (packed / 100, packed % 100, 0),
        (hours, None, None) => (hours, 0, 0),
        (hours, Some(minutes), None) => (hours, number(minutes)?, 0),
        (hours, Some(minutes), Some(seconds)) => (hours, number(minutes)?, number(seconds)?),
        (_, None, Some(_)) => return None,
    };
    if parts.next().is_some() {
        return None;
    }
    if hours > OFFSET_HOURS_MAX || minutes > 59 || seconds > 59 {
        return Some(Err(()));
    }
    Some(Ok(sign * (hours * HOUR + minutes * MINUTE + seconds * SECOND) / SECOND))
}

const _: () = assert!(DAY == 24 * HOUR);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_sorted() {
        for pair in ABBREVIATIONS.windows(2) {
            assert!(pair[0].0 < pair[1].0, "{}", pair[0].0);
        }
    }

    #[test]
    fn offsets_are_read_as_postgresql_reads_them() {
        for (text, seconds) in [
            ("+5", 18_000),
            ("-05", -18_000),
            ("+0530", 19_800),
            ("+5:30", 19_800),
            ("+053015", 19_815),
            ("-15:59:59", -57_599),
        ] {
            assert_eq!(parse_offset(text), Some(Ok(seconds)), "{text}");
        }
        for text in ["+99", "+16", "-2020", "+5:60"] {
            assert_eq!(parse_offset(text), Some(Err(())), "{text}");
        }
        for text in ["5", "+", "+x", "+5:", "+5:30:15:2"] {
            assert_eq!(parse_offset(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_found_in_any_case_and_by_hours() {
        for (name, shown) in
            [("utc", "UTC"), ("america/new_york", "America/New_York"), ("+2", "<+02>-02"), ("-7.5", "<-07:30>+07:30")]
        {
            assert_eq!(Zone::named(name).expect(name).name(), shown);
        }
        let error = Zone::named("Mars/Olympus").expect_err("Mars");
        assert_eq!(error.message(), "invalid value for parameter \"TimeZone\": \"Mars/Olympus\"");
    }

    #[test]
    fn offsets_follow_the_rules_far_into_the_future() {
        let zone = Zone::named("America/New_York").expect("zone");
        let at = |year, month, day| Civil { year, month, day }.to_days() * DAY;
        for (year, month, hours) in [(2020, 1, -5), (2020, 7, -4), (9999, 7, -4), (100_000, 1, -5), (200_000, 7, -4)] {
            assert_eq!(zone.offset_at(at(year, month, 15)), hours * 3600, "{year}-{month}");
            assert_eq!(zone.offset_of_local(at(year, month, 15)), hours * 3600, "{year}-{month}");
        }
        // Local mean time, before there were zones.
        assert_eq!(zone.offset_at(at(1800, 1, 1)), -17_762);
        assert_eq!(zone.offset_at(at(-4000, 1, 1)), -17_762);
    }

    #[test]
    fn skipped_and_repeated_times_take_postgresqls_offsets() {
        let zone = Zone::named("America/New_York").expect("zone");
        let local = |month, day, hour| Civil { year: 2020, month, day }.to_days() * DAY + hour * HOUR + 30 * MINUTE;
        assert_eq!(zone.offset_of_local(local(3, 8, 2)), -5 * 3600);
        assert_eq!(zone.offset_of_local(local(11, 1, 1)), -5 * 3600);
    }
}
