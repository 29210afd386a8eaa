//! Texts and what PostgreSQL 15 makes of them, the calendar, and the round trips.

use super::*;
use proptest::prelude::*;

fn printed(name: &str, value: i64, style: &Style<'_>) -> String {
    let mut out = Vec::new();
    match name {
        "date" => print_date(value, style, &mut out),
        "time" => print_time(value, &mut out),
        "timestamp" => print_timestamp(value, style, &mut out),
        _ => print_timestamptz(value, style, &mut out),
    }
    String::from_utf8(out).expect("ASCII")
}

fn parsed(name: &str, text: &str, style: &Style<'_>) -> Result<i64> {
    match name {
        "date" => parse_date(text, style),
        "time" => parse_time(text, style),
        "timestamp" => parse_timestamp(text, style),
        _ => parse_timestamptz(text, style),
    }
}

/// Type, zone, text, what PostgreSQL prints.
#[rustfmt::skip]
const ANSWERS: &[(&str, &str, &str, &str)] = &[
    ("date", "UTC", "2020-01-31", "2020-01-31"),
    ("date", "UTC", "2020-1-5", "2020-01-05"),
    ("date", "UTC", "2020-13-01", "ERR date/time field value out of range: \"2020-13-01\""),
    ("date", "UTC", "2020-02-30", "ERR date/time field value out of range: \"2020-02-30\""),
    ("date", "UTC", "2020-02-29", "2020-02-29"),
    ("date", "UTC", "2019-02-29", "ERR date/time field value out of range: \"2019-02-29\""),
    ("date", "UTC", "1900-02-29", "ERR date/time field value out of range: \"1900-02-29\""),
    ("date", "UTC", "2000-02-29", "2000-02-29"),
    ("date", "UTC", "abc", "ERR invalid input syntax for type date: \"abc\""),
    ("date", "UTC", "", "ERR invalid input syntax for type date: \"\""),
    ("date", "UTC", "January 8, 1999", "1999-01-08"),
    ("date", "UTC", "8-Jan-1999", "1999-01-08"),
    ("date", "UTC", "Jan-08-1999", "1999-01-08"),
    ("date", "UTC", "1999-Jan-08", "1999-01-08"),
    ("date", "UTC", "1/8/1999", "1999-01-08"),
    ("date", "UTC", "01/02/03", "2003-01-02"),
    ("date", "UTC", "12/31/99", "1999-12-31"),
    ("date", "UTC", "31/12/99", "ERR date/time field value out of range: \"31/12/99\""),
    ("date", "UTC", "19990108", "1999-01-08"),
    ("date", "UTC", "990108", "1999-01-08"),
    ("date", "UTC", "J2451187", "1999-01-08"),
    ("date", "UTC", "January 8, 99 BC", "0099-01-08 BC"),
    ("date", "UTC", "1999.008", "1999-01-08"),
    ("date", "UTC", "2020-001", "2020-01-01"),
    ("date", "UTC", "0001-01-01 BC", "0001-01-01 BC"),
    ("date", "UTC", "4714-11-23 BC", "ERR date out of range: \"4714-11-23 BC\""),
    ("date", "UTC", "4714-11-24 BC", "4714-11-24 BC"),
    ("date", "UTC", "5874897-12-31", "5874897-12-31"),
    ("date", "UTC", "5874898-01-01", "ERR date out of range: \"5874898-01-01\""),
    ("date", "UTC", "infinity", "infinity"),
    ("date", "UTC", "-infinity", "-infinity"),
    ("date", "UTC", "epoch", "1970-01-01"),
    ("date", "UTC", "20-1-5", "ERR date/time field value out of range: \"20-1-5\""),
    ("date", "UTC", "1-1-2020", "2020-01-01"),
    ("date", "UTC", "0000-01-01", "ERR date/time field value out of range: \"0000-01-01\""),
    ("date", "UTC", "2020 Jan 1", "2020-01-01"),
    ("date", "UTC", "Sept 5 2020", "2020-09-05"),
    ("date", "UTC", "1 Jan", "ERR invalid input syntax for type date: \"1 Jan\""),
    ("date", "UTC", "20201301", "ERR date/time field value out of range: \"20201301\""),
    ("date", "UTC", "2020-01-01 bc", "2020-01-01 BC"),
    ("date", "UTC", "-2020-01-01", "ERR time zone displacement out of range: \"-2020-01-01\""),
    ("date", "UTC", "2020-01-01 10:00:00+02", "2020-01-01"),
    ("date", "UTC", "08 Jan 1999", "1999-01-08"),
    ("date", "UTC", "Jan 8 1999", "1999-01-08"),
    ("date", "UTC", "Friday January 8, 1999", "1999-01-08"),
    ("date", "UTC", "2020-01", "ERR invalid input syntax for type date: \"2020-01\""),
    ("date", "UTC", "2020-1-1-1", "ERR invalid input syntax for type date: \"2020-1-1-1\""),
    ("date", "UTC", "2020/01/31", "2020-01-31"),
    ("date", "UTC", "31.12.2020", "ERR date/time field value out of range: \"31.12.2020\""),
    ("date", "UTC", "12.31.2020", "2020-12-31"),
    ("date", "UTC", "1.2.2020", "2020-01-02"),
    ("date", "UTC", "2020-01-01 25:00", "ERR date/time field value out of range: \"2020-01-01 25:00\""),
    ("date", "UTC", "10000-01-01", "10000-01-01"),
    ("date", "UTC", "today x", "ERR invalid input syntax for type date: \"today x\""),
    ("timestamp", "UTC", "2020-01-01", "2020-01-01 00:00:00"),
    ("timestamp", "UTC", "2020-01-01 10:11", "2020-01-01 10:11:00"),
    ("timestamp", "UTC", "2020-01-01 10:11:12", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01 10:11:12.5", "2020-01-01 10:11:12.5"),
    ("timestamp", "UTC", "2020-01-01 10:11:12.123456", "2020-01-01 10:11:12.123456"),
    ("timestamp", "UTC", "2020-01-01 10:11:12.1234567", "2020-01-01 10:11:12.123457"),
    ("timestamp", "UTC", "2020-01-01 10:11:12.9999999", "2020-01-01 10:11:13"),
    ("timestamp", "UTC", "2020-01-01T10:11:12", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01t10:11:12", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01T101112.5", "2020-01-01 10:11:12.5"),
    ("timestamp", "UTC", "20200101T101112", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01 24:00:00", "2020-01-02 00:00:00"),
    ("timestamp", "UTC", "2020-01-01 24:00:01", "ERR date/time field value out of range: \"2020-01-01 24:00:01\""),
    ("timestamp", "UTC", "2020-01-01 23:59:60", "2020-01-02 00:00:00"),
    ("timestamp", "UTC", "2020-01-01 25:00", "ERR date/time field value out of range: \"2020-01-01 25:00\""),
    ("timestamp", "UTC", "2020-01-01 10:61", "ERR date/time field value out of range: \"2020-01-01 10:61\""),
    ("timestamp", "UTC", "2020-01-01 10:11:12.", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01,10:11", "2020-01-01 10:11:00"),
    ("timestamp", "UTC", "2020-01-01 10:00 PM", "2020-01-01 22:00:00"),
    ("timestamp", "UTC", "2020-01-01 12:30 AM", "2020-01-01 00:30:00"),
    ("timestamp", "UTC", "2020-01-01 12:30 PM", "2020-01-01 12:30:00"),
    ("timestamp", "UTC", "2020-01-01 13:00 PM", "ERR date/time field value out of range: \"2020-01-01 13:00 PM\""),
    ("timestamp", "UTC", "2020-01-01 0:30 AM", "2020-01-01 00:30:00"),
    ("timestamp", "UTC", "2020-01-01 1:2:3", "2020-01-01 01:02:03"),
    ("timestamp", "UTC", "2020-01-01 10:11:12 +05", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01 10:11:12Z", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01 10", "ERR invalid input syntax for type timestamp: \"2020-01-01 10\""),
    ("timestamp", "UTC", "12:00 2020-01-01", "ERR invalid input syntax for type timestamp: \"12:00 2020-01-01\""),
    ("timestamp", "UTC", "4714-11-24 BC", "4714-11-24 00:00:00 BC"),
    ("timestamp", "UTC", "4714-11-23 23:59:59 BC", "ERR timestamp out of range: \"4714-11-23 23:59:59 BC\""),
    ("timestamp", "UTC", "294276-12-31 23:59:59.999999", "294276-12-31 23:59:59.999999"),
    ("timestamp", "UTC", "294277-01-01", "ERR timestamp out of range: \"294277-01-01\""),
    ("timestamp", "UTC", "infinity", "infinity"),
    ("timestamp", "UTC", "-infinity", "-infinity"),
    ("timestamp", "UTC", "epoch", "1970-01-01 00:00:00"),
    ("timestamp", "UTC", "abc", "ERR invalid input syntax for type timestamp: \"abc\""),
    ("timestamp", "UTC", "Mon Jan 8 04:05:06 1999", "1999-01-08 04:05:06"),
    ("timestamp", "UTC", "Jan 8 04:05:06 1999", "1999-01-08 04:05:06"),
    ("timestamp", "UTC", "2020-01-01 10:11:12 America/New_York", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01 10:11:12 Foo/Bar", "ERR time zone \"foo/bar\" not recognized"),
    ("timestamp", "UTC", "1999-12-31 23:59:59.999999", "1999-12-31 23:59:59.999999"),
    ("timestamp", "UTC", "0099-01-08 01:02:03 BC", "0099-01-08 01:02:03 BC"),
    ("timestamp", "UTC", "2020-01-01 101112", "2020-01-01 10:11:12"),
    ("timestamp", "UTC", "2020-01-01 10:11:12 x", "ERR invalid input syntax for type timestamp: \"2020-01-01 10:11:12 x\""),
    ("timestamptz", "UTC", "2020-01-01 10:11:12", "2020-01-01 10:11:12+00"),
    ("timestamptz", "UTC", "2020-07-01 10:11:12", "2020-07-01 10:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12+00", "2020-01-01 10:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12+5:30", "2020-01-01 04:41:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12+0530", "2020-01-01 04:41:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12-5", "2020-01-01 15:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 -08:00", "2020-01-01 18:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12.5 +02:00:30", "2020-01-01 08:10:42.5+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12+99", "ERR time zone displacement out of range: \"2020-01-01 10:11:12+99\""),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 EST", "2020-01-01 15:11:12+00"),
    ("timestamptz", "UTC", "2020-07-01 10:11:12 PDT", "2020-07-01 17:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 America/Los_Angeles", "2020-01-01 18:11:12+00"),
    ("timestamptz", "UTC", "2020-07-01 10:11:12 europe/berlin", "2020-07-01 08:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 UTC", "2020-01-01 10:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01T00:00:00Z", "2020-01-01 00:00:00+00"),
    ("timestamptz", "UTC", "2020-01-01T00:00:00.123z", "2020-01-01 00:00:00.123+00"),
    ("timestamptz", "UTC", "Mon Jan 8 04:05:06 1999 PST", "1999-01-08 12:05:06+00"),
    ("timestamptz", "UTC", "2020-03-08 02:30:00", "2020-03-08 02:30:00+00"),
    ("timestamptz", "UTC", "2020-11-01 01:30:00", "2020-11-01 01:30:00+00"),
    ("timestamptz", "UTC", "2020-01-01", "2020-01-01 00:00:00+00"),
    ("timestamptz", "UTC", "infinity", "infinity"),
    ("timestamptz", "UTC", "-infinity", "-infinity"),
    ("timestamptz", "UTC", "epoch", "1970-01-01 00:00:00+00"),
    ("timestamptz", "UTC", "1800-01-01 00:00:00", "1800-01-01 00:00:00+00"),
    ("timestamptz", "UTC", "0044-03-15 12:00:00 BC", "0044-03-15 12:00:00+00 BC"),
    ("timestamptz", "UTC", "200000-07-01 00:00:00", "200000-07-01 00:00:00+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 Foo/Bar", "ERR time zone \"foo/bar\" not recognized"),
    ("timestamptz", "UTC", "294277-01-01 00:00:00 UTC", "ERR timestamp out of range: \"294277-01-01 00:00:00 UTC\""),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 EST5EDT", "2020-01-01 15:11:12+00"),
    ("timestamptz", "UTC", "2020-01-01 10:11:12 zzz", "ERR invalid input syntax for type timestamp with time zone: \"2020-01-01 10:11:12 zzz\""),
    ("time", "UTC", "10:11", "10:11:00"),
    ("time", "UTC", "10:11:12", "10:11:12"),
    ("time", "UTC", "10:11:12.5", "10:11:12.5"),
    ("time", "UTC", "101112", "10:11:12"),
    ("time", "UTC", "1011", "10:11:00"),
    ("time", "UTC", "24:00", "24:00:00"),
    ("time", "UTC", "24:00:01", "ERR date/time field value out of range: \"24:00:01\""),
    ("time", "UTC", "10:60", "ERR date/time field value out of range: \"10:60\""),
    ("time", "UTC", "10:11 AM", "10:11:00"),
    ("time", "UTC", "10:11 PM", "22:11:00"),
    ("time", "UTC", "2020-01-01 04:05:06", "04:05:06"),
    ("time", "UTC", "allballs", "00:00:00"),
    ("time", "UTC", "infinity", "ERR invalid input syntax for type time: \"infinity\""),
    ("time", "UTC", "abc", "ERR invalid input syntax for type time: \"abc\""),
    ("time", "UTC", "04:05:06.789", "04:05:06.789"),
    ("time", "UTC", "04:05:06-08:00", "04:05:06"),
    ("time", "UTC", "T04:05", "04:05:00"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12", "2020-01-01 10:11:12-05"),
    ("timestamptz", "America/New_York", "2020-07-01 10:11:12", "2020-07-01 10:11:12-04"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12+00", "2020-01-01 05:11:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12+5:30", "2019-12-31 23:41:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12+0530", "2019-12-31 23:41:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12-5", "2020-01-01 10:11:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 -08:00", "2020-01-01 13:11:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12.5 +02:00:30", "2020-01-01 03:10:42.5-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12+99", "ERR time zone displacement out of range: \"2020-01-01 10:11:12+99\""),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 EST", "2020-01-01 10:11:12-05"),
    ("timestamptz", "America/New_York", "2020-07-01 10:11:12 PDT", "2020-07-01 13:11:12-04"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 America/Los_Angeles", "2020-01-01 13:11:12-05"),
    ("timestamptz", "America/New_York", "2020-07-01 10:11:12 europe/berlin", "2020-07-01 04:11:12-04"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 UTC", "2020-01-01 05:11:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01T00:00:00Z", "2019-12-31 19:00:00-05"),
    ("timestamptz", "America/New_York", "2020-01-01T00:00:00.123z", "2019-12-31 19:00:00.123-05"),
    ("timestamptz", "America/New_York", "Mon Jan 8 04:05:06 1999 PST", "1999-01-08 07:05:06-05"),
    ("timestamptz", "America/New_York", "2020-03-08 02:30:00", "2020-03-08 03:30:00-04"),
    ("timestamptz", "America/New_York", "2020-11-01 01:30:00", "2020-11-01 01:30:00-05"),
    ("timestamptz", "America/New_York", "2020-01-01", "2020-01-01 00:00:00-05"),
    ("timestamptz", "America/New_York", "infinity", "infinity"),
    ("timestamptz", "America/New_York", "-infinity", "-infinity"),
    ("timestamptz", "America/New_York", "epoch", "1969-12-31 19:00:00-05"),
    ("timestamptz", "America/New_York", "1800-01-01 00:00:00", "1800-01-01 00:00:00-04:56:02"),
    ("timestamptz", "America/New_York", "0044-03-15 12:00:00 BC", "0044-03-15 12:00:00-04:56:02 BC"),
    ("timestamptz", "America/New_York", "200000-07-01 00:00:00", "200000-07-01 00:00:00-04"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 Foo/Bar", "ERR time zone \"foo/bar\" not recognized"),
    ("timestamptz", "America/New_York", "294277-01-01 00:00:00 UTC", "ERR timestamp out of range: \"294277-01-01 00:00:00 UTC\""),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 EST5EDT", "2020-01-01 10:11:12-05"),
    ("timestamptz", "America/New_York", "2020-01-01 10:11:12 zzz", "ERR invalid input syntax for type timestamp with time zone: \"2020-01-01 10:11:12 zzz\""),
];

#[test]
fn texts_are_read_and_written_as_postgresql_does() {
    let mut wrong = Vec::new();
    for (name, zone, text, expected) in ANSWERS {
        let zone = Zone::named(zone).expect(zone);
        let style = Style { zone: &zone, ..Style::PLAIN };
        let shown = match parsed(name, text, &style) {
            Ok(value) => printed(name, value, &style),
            Err(error) => format!("ERR {}", error.message()),
        };
        if shown != *expected {
            wrong.push(format!("{name} {} {text:?}: {shown} where {expected} is right", zone.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_order_of_the_parts_is_a_setting() {
    for (order, text, expected) in [
        (DateOrder::Mdy, "1/2/2003", "2003-01-02"),
        (DateOrder::Dmy, "1/2/2003", "2003-02-01"),
        (DateOrder::Ymd, "01/2/3", "2001-02-03"),
        (DateOrder::Dmy, "31/12/99", "1999-12-31"),
        (DateOrder::Dmy, "2003-02-01", "2003-02-01"),
    ] {
        let style = Style { date_order: order, ..Style::PLAIN };
        assert_eq!(printed("date", parse_date(text, &style).expect(text), &style), expected, "{order:?} {text}");
    }
    let error = parse_date("13/13/2003", &Style::PLAIN).expect_err("month 13");
    assert_eq!(error.hint_text(), Some("Perhaps you need a different \"datestyle\" setting."));
    assert_eq!(error.sqlstate(), sqlstate::DATETIME_FIELD_OVERFLOW);
}

#[test]
fn now_is_the_transactions_time_in_its_zone() {
    let zone = Zone::named("America/New_York").expect("zone");
    let now = parse_timestamptz("2020-03-01 02:00:00Z", &Style::PLAIN).expect("now");
    let style = Style { zone: &zone, now, ..Style::PLAIN };
    for (name, text, expected) in [
        ("timestamptz", "now", "2020-02-29 21:00:00-05"),
        ("timestamp", "now", "2020-02-29 21:00:00"),
        ("date", "now", "2020-02-29"),
        ("date", "today", "2020-02-29"),
        ("date", "tomorrow", "2020-03-01"),
        ("date", "yesterday", "2020-02-28"),
        ("timestamptz", "tomorrow", "2020-03-01 00:00:00-05"),
        ("timestamp", "today 10:30", "2020-02-29 10:30:00"),
        ("time", "now", "21:00:00"),
        ("timestamptz", "epoch", "1969-12-31 19:00:00-05"),
        ("date", "epoch", "1970-01-01"),
    ] {
        let value = parsed(name, text, &style).expect(text);
        assert_eq!(printed(name, value, &style), expected, "{name} {text}");
    }
}

#[test]
fn the_calendar_agrees_with_known_days() {
    for (year, month, day, days) in [
        (2000, 1, 1, 0),
        (2000, 2, 29, 59),
        (2000, 3, 1, 60),
        (1999, 12, 31, -1),
        (1970, 1, 1, -UNIX_EPOCH_DAYS),
        (2100, 3, 1, 36_584),
        (-4713, 11, 24, DATE_MIN),
        (5_874_898, 1, 1, DATE_END),
        (294_277, 1, 1, TIMESTAMP_END / DAY),
    ] {
        let civil = Civil { year, month, day };
        assert_eq!(civil.to_days(), days, "{civil:?}");
        assert_eq!(Civil::from_days(days), civil);
    }
}

#[test]
fn precision_rounds_half_away() {
    let at = |text| parse_timestamp(text, &Style::PLAIN).expect(text);
    for (text, typmod, expected) in [
        ("2020-01-01 10:11:12.5", 0, "2020-01-01 10:11:13"),
        ("2020-01-01 10:11:12.123456", 3, "2020-01-01 10:11:12.123"),
        ("2020-01-01 10:11:12.123456", 6, "2020-01-01 10:11:12.123456"),
        ("1999-01-01 10:11:12.55", 1, "1999-01-01 10:11:12.5"),
        ("infinity", 0, "infinity"),
    ] {
        assert_eq!(printed("timestamp", round_to_precision(at(text), typmod), &Style::PLAIN), expected, "{text}");
    }
}

#[test]
fn conversions_keep_infinities_and_ranges() {
    assert_eq!(date_to_timestamp(DATE_INFINITY).ok(), Some(TIMESTAMP_INFINITY));
    assert_eq!(timestamp_to_date(TIMESTAMP_NEG_INFINITY), DATE_NEG_INFINITY);
    assert_eq!(timestamp_to_date(-1), -1);
    let error = date_to_timestamp(DATE_END - 1).expect_err("range");
    assert_eq!(error.message(), "date out of range for timestamp");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_printed_reads_back(micros in TIMESTAMP_MIN + DAY..TIMESTAMP_END - DAY, days in DATE_MIN..DATE_END) {
        let new_york = Zone::named("America/New_York").expect("zone");
        for zone in [&Zone::UTC, &new_york] {
            let style = Style { zone, ..Style::PLAIN };
            for (name, value) in [("timestamp", micros), ("timestamptz", micros), ("date", days), ("time", micros.rem_euclid(DAY))] {
                let text = printed(name, value, &style);
                prop_assert_eq!(parsed(name, &text, &style).map_err(|error| error.to_string()), Ok(value), "{}", text);
            }
        }
    }

    #[test]
    fn any_text_gives_an_answer(text in "[0-9a-tjbcpm:/.+\\- ,T]{0,24}") {
        for name in ["date", "time", "timestamp", "timestamptz"] {
            let _ = parsed(name, &text, &Style::PLAIN);
        }
    }
}
