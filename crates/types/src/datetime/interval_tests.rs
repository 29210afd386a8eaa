//! Intervals as PostgreSQL 15 reads and writes them, and their arithmetic.

use super::*;
use proptest::prelude::*;

fn printed(interval: Interval, style: IntervalStyle) -> String {
    let mut out = Vec::new();
    print_interval(interval, style, &mut out);
    String::from_utf8(out).expect("ASCII")
}

/// Style, text, what PostgreSQL prints.
#[rustfmt::skip]
const ANSWERS: &[(IntervalStyle, &str, &str)] = &[
    (IntervalStyle::Postgres, "1 day", "1 day"),
    (IntervalStyle::Postgres, "1 day 2 hours 3 minutes", "1 day 02:03:00"),
    (IntervalStyle::Postgres, "1 year 2 mons", "1 year 2 mons"),
    (IntervalStyle::Postgres, "90 minutes", "01:30:00"),
    (IntervalStyle::Postgres, "-1 day", "-1 days"),
    (IntervalStyle::Postgres, "1.5 days", "1 day 12:00:00"),
    (IntervalStyle::Postgres, "1 week", "7 days"),
    (IntervalStyle::Postgres, "1-2", "1 year 2 mons"),
    (IntervalStyle::Postgres, "3 4:05:06", "3 days 04:05:06"),
    (IntervalStyle::Postgres, "P1Y2M3DT4H5M6S", "1 year 2 mons 3 days 04:05:06"),
    (IntervalStyle::Postgres, "@ 1 day ago", "-1 days"),
    (IntervalStyle::Postgres, "1 fortnight", "ERR invalid input syntax for type interval: \"1 fortnight\""),
    (IntervalStyle::Postgres, "", "ERR invalid input syntax for type interval: \"\""),
    (IntervalStyle::Postgres, "1", "00:00:01"),
    (IntervalStyle::Postgres, "1.5", "00:00:01.5"),
    (IntervalStyle::Postgres, "-1.5", "-00:00:01.5"),
    (IntervalStyle::Postgres, "1 2", "ERR invalid input syntax for type interval: \"1 2\""),
    (IntervalStyle::Postgres, "04:05", "04:05:00"),
    (IntervalStyle::Postgres, "04:05:06.789", "04:05:06.789"),
    (IntervalStyle::Postgres, "-04:05:06", "-04:05:06"),
    (IntervalStyle::Postgres, "+04:05", "04:05:00"),
    (IntervalStyle::Postgres, "4:5:6", "04:05:06"),
    (IntervalStyle::Postgres, "100:00:00", "100:00:00"),
    (IntervalStyle::Postgres, "04:60", "ERR interval field value out of range: \"04:60\""),
    (IntervalStyle::Postgres, "04:05:61", "ERR interval field value out of range: \"04:05:61\""),
    (IntervalStyle::Postgres, "12:34.5", "00:12:34.5"),
    (IntervalStyle::Postgres, "1 mon -1 day", "1 mon -1 days"),
    (IntervalStyle::Postgres, "1 year -1 mon", "11 mons"),
    (IntervalStyle::Postgres, "1 day -00:00:01", "1 day -00:00:01"),
    (IntervalStyle::Postgres, "-1 day 2 hours", "-1 days +02:00:00"),
    (IntervalStyle::Postgres, "1 day 1 day", "ERR invalid input syntax for type interval: \"1 day 1 day\""),
    (IntervalStyle::Postgres, "1 hour 02:03", "ERR invalid input syntax for type interval: \"1 hour 02:03\""),
    (IntervalStyle::Postgres, "2 hours ago", "-02:00:00"),
    (IntervalStyle::Postgres, "1 year 2 months 3 days 4 hours 5 minutes 6.7 seconds", "1 year 2 mons 3 days 04:05:06.7"),
    (IntervalStyle::Postgres, "1y 2mon 3d 4h 5m 6s", "1 year 2 mons 3 days 04:05:06"),
    (IntervalStyle::Postgres, "1 microsecond", "00:00:00.000001"),
    (IntervalStyle::Postgres, "1500 ms", "00:00:01.5"),
    (IntervalStyle::Postgres, "1.5 ms", "00:00:00.0015"),
    (IntervalStyle::Postgres, "2.5 weeks", "17 days 12:00:00"),
    (IntervalStyle::Postgres, "0.5 months", "15 days"),
    (IntervalStyle::Postgres, "1.5 months", "1 mon 15 days"),
    (IntervalStyle::Postgres, "1.25 years", "1 year 3 mons"),
    (IntervalStyle::Postgres, "0.1 years", "1 mon"),
    (IntervalStyle::Postgres, "1 decade", "10 years"),
    (IntervalStyle::Postgres, "1 century", "100 years"),
    (IntervalStyle::Postgres, "2 millennia", "2000 years"),
    (IntervalStyle::Postgres, "1 quarter", "ERR invalid input syntax for type interval: \"1 quarter\""),
    (IntervalStyle::Postgres, "999999999 years", "ERR interval out of range"),
    (IntervalStyle::Postgres, "178956970 years", "178956970 years"),
    (IntervalStyle::Postgres, "178956971 years", "ERR interval out of range"),
    (IntervalStyle::Postgres, "2147483647 days", "2147483647 days"),
    (IntervalStyle::Postgres, "2147483648 days", "ERR interval field value out of range: \"2147483648 days\""),
    (IntervalStyle::Postgres, "99999999999999999999 days", "ERR interval field value out of range: \"99999999999999999999 days\""),
    (IntervalStyle::Postgres, "P1W", "7 days"),
    (IntervalStyle::Postgres, "PT1.5H", "01:30:00"),
    (IntervalStyle::Postgres, "P0001-02-03T04:05:06", "1 year 2 mons 3 days 04:05:06"),
    (IntervalStyle::Postgres, "P1Y-2M", "10 mons"),
    (IntervalStyle::Postgres, "PT", "00:00:00"),
    (IntervalStyle::Postgres, "P", "ERR invalid input syntax for type interval: \"P\""),
    (IntervalStyle::Postgres, "-P1D", "ERR invalid input syntax for type interval: \"-P1D\""),
    (IntervalStyle::Postgres, "P1D2H", "ERR invalid input syntax for type interval: \"P1D2H\""),
    (IntervalStyle::Postgres, "1-12", "ERR interval field value out of range: \"1-12\""),
    (IntervalStyle::Postgres, "-1-2", "-1 years -2 mons"),
    (IntervalStyle::Postgres, "1-2 3 4:05:06", "1 year 2 mons 3 days 04:05:06"),
    (IntervalStyle::Postgres, "ago", "ERR invalid input syntax for type interval: \"ago\""),
    (IntervalStyle::Postgres, "1 day ago", "-1 days"),
    (IntervalStyle::Postgres, "-1 day ago", "1 day"),
    (IntervalStyle::Postgres, "days", "ERR invalid input syntax for type interval: \"days\""),
    (IntervalStyle::Postgres, "1 dayz", "ERR invalid input syntax for type interval: \"1 dayz\""),
    (IntervalStyle::Postgres, "1 Day", "1 day"),
    (IntervalStyle::Postgres, "1 DAYS", "1 day"),
    (IntervalStyle::Postgres, " 1  day ", "1 day"),
    (IntervalStyle::Postgres, "1,day", "1 day"),
    (IntervalStyle::Postgres, "1day", "1 day"),
    (IntervalStyle::Postgres, "1.day", "ERR invalid input syntax for type interval: \"1.day\""),
    (IntervalStyle::Postgres, ".5 day", "12:00:00"),
    (IntervalStyle::Postgres, "1e3 days", "ERR invalid input syntax for type interval: \"1e3 days\""),
    (IntervalStyle::Postgres, "0", "00:00:00"),
    (IntervalStyle::Postgres, "00:00", "00:00:00"),
    (IntervalStyle::Postgres, "00:00:00.0000004", "00:00:00"),
    (IntervalStyle::Postgres, "00:00:00.0000006", "00:00:00.000001"),
    (IntervalStyle::Postgres, "1 mon 30 days 24:00:00", "1 mon 30 days 24:00:00"),
    (IntervalStyle::Postgres, "P1Y2M3W", "1 year 2 mons 21 days"),
    (IntervalStyle::Postgres, "infinity", "ERR invalid input syntax for type interval: \"infinity\""),
    (IntervalStyle::Postgres, "1 sec 1 ms", "00:00:01.001"),
    (IntervalStyle::Postgres, "3 hours 5 min", "03:05:00"),
    (IntervalStyle::Postgres, "1:2:3.4", "01:02:03.4"),
    (IntervalStyle::Postgres, "1 +2:03", "1 day 02:03:00"),
    (IntervalStyle::Postgres, "-0.1", "-00:00:00.1"),
    (IntervalStyle::Postgres, "0.000001", "00:00:00.000001"),
    (IntervalStyle::Postgres, "1 month 15 days 12 hours ago", "-1 mons -15 days -12:00:00"),
    (IntervalStyle::PostgresVerbose, "1 day", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, "1 day 2 hours 3 minutes", "@ 1 day 2 hours 3 mins"),
    (IntervalStyle::PostgresVerbose, "1 year 2 mons", "@ 1 year 2 mons"),
    (IntervalStyle::PostgresVerbose, "90 minutes", "@ 1 hour 30 mins"),
    (IntervalStyle::PostgresVerbose, "-1 day", "@ 1 day ago"),
    (IntervalStyle::PostgresVerbose, "1.5 days", "@ 1 day 12 hours"),
    (IntervalStyle::PostgresVerbose, "1 week", "@ 7 days"),
    (IntervalStyle::PostgresVerbose, "1-2", "@ 1 year 2 mons"),
    (IntervalStyle::PostgresVerbose, "3 4:05:06", "@ 3 days 4 hours 5 mins 6 secs"),
    (IntervalStyle::PostgresVerbose, "P1Y2M3DT4H5M6S", "@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs"),
    (IntervalStyle::PostgresVerbose, "@ 1 day ago", "@ 1 day ago"),
    (IntervalStyle::PostgresVerbose, "1", "@ 1 sec"),
    (IntervalStyle::PostgresVerbose, "1.5", "@ 1.5 secs"),
    (IntervalStyle::PostgresVerbose, "-1.5", "@ 1.5 secs ago"),
    (IntervalStyle::PostgresVerbose, "04:05", "@ 4 hours 5 mins"),
    (IntervalStyle::PostgresVerbose, "04:05:06.789", "@ 4 hours 5 mins 6.789 secs"),
    (IntervalStyle::PostgresVerbose, "-04:05:06", "@ 4 hours 5 mins 6 secs ago"),
    (IntervalStyle::PostgresVerbose, "+04:05", "@ 4 hours 5 mins"),
    (IntervalStyle::PostgresVerbose, "4:5:6", "@ 4 hours 5 mins 6 secs"),
    (IntervalStyle::PostgresVerbose, "100:00:00", "@ 100 hours"),
    (IntervalStyle::PostgresVerbose, "12:34.5", "@ 12 mins 34.5 secs"),
    (IntervalStyle::PostgresVerbose, "1 mon -1 day", "@ 1 mon -1 days"),
    (IntervalStyle::PostgresVerbose, "1 year -1 mon", "@ 11 mons"),
    (IntervalStyle::PostgresVerbose, "1 day -00:00:01", "@ 1 day -1 sec"),
    (IntervalStyle::PostgresVerbose, "-1 day 2 hours", "@ 1 day -2 hours ago"),
    (IntervalStyle::PostgresVerbose, "2 hours ago", "@ 2 hours ago"),
    (IntervalStyle::PostgresVerbose, "1 year 2 months 3 days 4 hours 5 minutes 6.7 seconds", "@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs"),
    (IntervalStyle::PostgresVerbose, "1y 2mon 3d 4h 5m 6s", "@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs"),
    (IntervalStyle::PostgresVerbose, "1 microsecond", "@ 0.000001 secs"),
    (IntervalStyle::PostgresVerbose, "1500 ms", "@ 1.5 secs"),
    (IntervalStyle::PostgresVerbose, "1.5 ms", "@ 0.0015 secs"),
    (IntervalStyle::PostgresVerbose, "2.5 weeks", "@ 17 days 12 hours"),
    (IntervalStyle::PostgresVerbose, "0.5 months", "@ 15 days"),
    (IntervalStyle::PostgresVerbose, "1.5 months", "@ 1 mon 15 days"),
    (IntervalStyle::PostgresVerbose, "1.25 years", "@ 1 year 3 mons"),
    (IntervalStyle::PostgresVerbose, "0.1 years", "@ 1 mon"),
    (IntervalStyle::PostgresVerbose, "1 decade", "@ 10 years"),
    (IntervalStyle::PostgresVerbose, "1 century", "@ 100 years"),
    (IntervalStyle::PostgresVerbose, "2 millennia", "@ 2000 years"),
    (IntervalStyle::PostgresVerbose, "178956970 years", "@ 178956970 years"),
    (IntervalStyle::PostgresVerbose, "2147483647 days", "@ 2147483647 days"),
    (IntervalStyle::PostgresVerbose, "P1W", "@ 7 days"),
    (IntervalStyle::PostgresVerbose, "PT1.5H", "@ 1 hour 30 mins"),
    (IntervalStyle::PostgresVerbose, "P0001-02-03T04:05:06", "@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs"),
    (IntervalStyle::PostgresVerbose, "P1Y-2M", "@ 10 mons"),
    (IntervalStyle::PostgresVerbose, "PT", "@ 0"),
    (IntervalStyle::PostgresVerbose, "-1-2", "@ 1 year 2 mons ago"),
    (IntervalStyle::PostgresVerbose, "1-2 3 4:05:06", "@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs"),
    (IntervalStyle::PostgresVerbose, "1 day ago", "@ 1 day ago"),
    (IntervalStyle::PostgresVerbose, "-1 day ago", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, "1 Day", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, "1 DAYS", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, " 1  day ", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, "1,day", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, "1day", "@ 1 day"),
    (IntervalStyle::PostgresVerbose, ".5 day", "@ 12 hours"),
    (IntervalStyle::PostgresVerbose, "0", "@ 0"),
    (IntervalStyle::PostgresVerbose, "00:00", "@ 0"),
    (IntervalStyle::PostgresVerbose, "00:00:00.0000004", "@ 0"),
    (IntervalStyle::PostgresVerbose, "00:00:00.0000006", "@ 0.000001 secs"),
    (IntervalStyle::PostgresVerbose, "1 mon 30 days 24:00:00", "@ 1 mon 30 days 24 hours"),
    (IntervalStyle::PostgresVerbose, "P1Y2M3W", "@ 1 year 2 mons 21 days"),
    (IntervalStyle::PostgresVerbose, "1 sec 1 ms", "@ 1.001 secs"),
    (IntervalStyle::PostgresVerbose, "3 hours 5 min", "@ 3 hours 5 mins"),
    (IntervalStyle::PostgresVerbose, "1:2:3.4", "@ 1 hour 2 mins 3.4 secs"),
    (IntervalStyle::PostgresVerbose, "1 +2:03", "@ 1 day 2 hours 3 mins"),
    (IntervalStyle::PostgresVerbose, "-0.1", "@ 0.1 secs ago"),
    (IntervalStyle::PostgresVerbose, "0.000001", "@ 0.000001 secs"),
    (IntervalStyle::PostgresVerbose, "1 month 15 days 12 hours ago", "@ 1 mon 15 days 12 hours ago"),
    (IntervalStyle::SqlStandard, "1 day", "1 0:00:00"),
    (IntervalStyle::SqlStandard, "1 day 2 hours 3 minutes", "1 2:03:00"),
    (IntervalStyle::SqlStandard, "1 year 2 mons", "1-2"),
    (IntervalStyle::SqlStandard, "90 minutes", "1:30:00"),
    (IntervalStyle::SqlStandard, "-1 day", "-1 0:00:00"),
    (IntervalStyle::SqlStandard, "1.5 days", "1 12:00:00"),
    (IntervalStyle::SqlStandard, "1 week", "7 0:00:00"),
    (IntervalStyle::SqlStandard, "1-2", "1-2"),
    (IntervalStyle::SqlStandard, "3 4:05:06", "3 4:05:06"),
    (IntervalStyle::SqlStandard, "P1Y2M3DT4H5M6S", "+1-2 +3 +4:05:06"),
    (IntervalStyle::SqlStandard, "@ 1 day ago", "-1 0:00:00"),
    (IntervalStyle::SqlStandard, "1", "0:00:01"),
    (IntervalStyle::SqlStandard, "1.5", "0:00:01.5"),
    (IntervalStyle::SqlStandard, "-1.5", "-0:00:01.5"),
    (IntervalStyle::SqlStandard, "04:05", "4:05:00"),
    (IntervalStyle::SqlStandard, "04:05:06.789", "4:05:06.789"),
    (IntervalStyle::SqlStandard, "-04:05:06", "-4:05:06"),
    (IntervalStyle::SqlStandard, "+04:05", "4:05:00"),
    (IntervalStyle::SqlStandard, "4:5:6", "4:05:06"),
    (IntervalStyle::SqlStandard, "100:00:00", "100:00:00"),
    (IntervalStyle::SqlStandard, "12:34.5", "0:12:34.5"),
    (IntervalStyle::SqlStandard, "1 mon -1 day", "+0-1 -1 +0:00:00"),
    (IntervalStyle::SqlStandard, "1 year -1 mon", "0-11"),
    (IntervalStyle::SqlStandard, "1 day -00:00:01", "+0-0 +1 -0:00:01"),
    (IntervalStyle::SqlStandard, "-1 day 2 hours", "-1 2:00:00"),
    (IntervalStyle::SqlStandard, "2 hours ago", "-2:00:00"),
    (IntervalStyle::SqlStandard, "1 year 2 months 3 days 4 hours 5 minutes 6.7 seconds", "+1-2 +3 +4:05:06.7"),
    (IntervalStyle::SqlStandard, "1y 2mon 3d 4h 5m 6s", "+1-2 +3 +4:05:06"),
    (IntervalStyle::SqlStandard, "1 microsecond", "0:00:00.000001"),
    (IntervalStyle::SqlStandard, "1500 ms", "0:00:01.5"),
    (IntervalStyle::SqlStandard, "1.5 ms", "0:00:00.0015"),
    (IntervalStyle::SqlStandard, "2.5 weeks", "17 12:00:00"),
    (IntervalStyle::SqlStandard, "0.5 months", "15 0:00:00"),
    (IntervalStyle::SqlStandard, "1.5 months", "+0-1 +15 +0:00:00"),
    (IntervalStyle::SqlStandard, "1.25 years", "1-3"),
    (IntervalStyle::SqlStandard, "0.1 years", "0-1"),
    (IntervalStyle::SqlStandard, "1 decade", "10-0"),
    (IntervalStyle::SqlStandard, "1 century", "100-0"),
    (IntervalStyle::SqlStandard, "2 millennia", "2000-0"),
    (IntervalStyle::SqlStandard, "178956970 years", "178956970-0"),
    (IntervalStyle::SqlStandard, "2147483647 days", "2147483647 0:00:00"),
    (IntervalStyle::SqlStandard, "P1W", "7 0:00:00"),
    (IntervalStyle::SqlStandard, "PT1.5H", "1:30:00"),
    (IntervalStyle::SqlStandard, "P0001-02-03T04:05:06", "+1-2 +3 +4:05:06"),
    (IntervalStyle::SqlStandard, "P1Y-2M", "0-10"),
    (IntervalStyle::SqlStandard, "PT", "0"),
    (IntervalStyle::SqlStandard, "-1-2", "-1-2"),
    (IntervalStyle::SqlStandard, "1-2 3 4:05:06", "+1-2 +3 +4:05:06"),
    (IntervalStyle::SqlStandard, "1 day ago", "-1 0:00:00"),
    (IntervalStyle::SqlStandard, "-1 day ago", "1 0:00:00"),
    (IntervalStyle::SqlStandard, "1 Day", "1 0:00:00"),
    (IntervalStyle::SqlStandard, "1 DAYS", "1 0:00:00"),
    (IntervalStyle::SqlStandard, " 1  day ", "1 0:00:00"),
    (IntervalStyle::SqlStandard, "1,day", "1 0:00:00"),
    (IntervalStyle::SqlStandard, "1day", "1 0:00:00"),
    (IntervalStyle::SqlStandard, ".5 day", "12:00:00"),
    (IntervalStyle::SqlStandard, "0", "0"),
    (IntervalStyle::SqlStandard, "00:00", "0"),
    (IntervalStyle::SqlStandard, "00:00:00.0000004", "0"),
    (IntervalStyle::SqlStandard, "00:00:00.0000006", "0:00:00.000001"),
    (IntervalStyle::SqlStandard, "1 mon 30 days 24:00:00", "+0-1 +30 +24:00:00"),
    (IntervalStyle::SqlStandard, "P1Y2M3W", "+1-2 +21 +0:00:00"),
    (IntervalStyle::SqlStandard, "1 sec 1 ms", "0:00:01.001"),
    (IntervalStyle::SqlStandard, "3 hours 5 min", "3:05:00"),
    (IntervalStyle::SqlStandard, "1:2:3.4", "1:02:03.4"),
    (IntervalStyle::SqlStandard, "1 +2:03", "1 2:03:00"),
    (IntervalStyle::SqlStandard, "-0.1", "-0:00:00.1"),
    (IntervalStyle::SqlStandard, "0.000001", "0:00:00.000001"),
    (IntervalStyle::SqlStandard, "1 month 15 days 12 hours ago", "-0-1 -15 -12:00:00"),
    (IntervalStyle::Iso8601, "1 day", "P1D"),
    (IntervalStyle::Iso8601, "1 day 2 hours 3 minutes", "P1DT2H3M"),
    (IntervalStyle::Iso8601, "1 year 2 mons", "P1Y2M"),
    (IntervalStyle::Iso8601, "90 minutes", "PT1H30M"),
    (IntervalStyle::Iso8601, "-1 day", "P-1D"),
    (IntervalStyle::Iso8601, "1.5 days", "P1DT12H"),
    (IntervalStyle::Iso8601, "1 week", "P7D"),
    (IntervalStyle::Iso8601, "1-2", "P1Y2M"),
    (IntervalStyle::Iso8601, "3 4:05:06", "P3DT4H5M6S"),
    (IntervalStyle::Iso8601, "P1Y2M3DT4H5M6S", "P1Y2M3DT4H5M6S"),
    (IntervalStyle::Iso8601, "@ 1 day ago", "P-1D"),
    (IntervalStyle::Iso8601, "1", "PT1S"),
    (IntervalStyle::Iso8601, "1.5", "PT1.5S"),
    (IntervalStyle::Iso8601, "-1.5", "PT-1.5S"),
    (IntervalStyle::Iso8601, "04:05", "PT4H5M"),
    (IntervalStyle::Iso8601, "04:05:06.789", "PT4H5M6.789S"),
    (IntervalStyle::Iso8601, "-04:05:06", "PT-4H-5M-6S"),
    (IntervalStyle::Iso8601, "+04:05", "PT4H5M"),
    (IntervalStyle::Iso8601, "4:5:6", "PT4H5M6S"),
    (IntervalStyle::Iso8601, "100:00:00", "PT100H"),
    (IntervalStyle::Iso8601, "12:34.5", "PT12M34.5S"),
    (IntervalStyle::Iso8601, "1 mon -1 day", "P1M-1D"),
    (IntervalStyle::Iso8601, "1 year -1 mon", "P11M"),
    (IntervalStyle::Iso8601, "1 day -00:00:01", "P1DT-1S"),
    (IntervalStyle::Iso8601, "-1 day 2 hours", "P-1DT2H"),
    (IntervalStyle::Iso8601, "2 hours ago", "PT-2H"),
    (IntervalStyle::Iso8601, "1 year 2 months 3 days 4 hours 5 minutes 6.7 seconds", "P1Y2M3DT4H5M6.7S"),
    (IntervalStyle::Iso8601, "1y 2mon 3d 4h 5m 6s", "P1Y2M3DT4H5M6S"),
    (IntervalStyle::Iso8601, "1 microsecond", "PT0.000001S"),
    (IntervalStyle::Iso8601, "1500 ms", "PT1.5S"),
    (IntervalStyle::Iso8601, "1.5 ms", "PT0.0015S"),
    (IntervalStyle::Iso8601, "2.5 weeks", "P17DT12H"),
    (IntervalStyle::Iso8601, "0.5 months", "P15D"),
    (IntervalStyle::Iso8601, "1.5 months", "P1M15D"),
    (IntervalStyle::Iso8601, "1.25 years", "P1Y3M"),
    (IntervalStyle::Iso8601, "0.1 years", "P1M"),
    (IntervalStyle::Iso8601, "1 decade", "P10Y"),
    (IntervalStyle::Iso8601, "1 century", "P100Y"),
    (IntervalStyle::Iso8601, "2 millennia", "P2000Y"),
    (IntervalStyle::Iso8601, "178956970 years", "P178956970Y"),
    (IntervalStyle::Iso8601, "2147483647 days", "P2147483647D"),
    (IntervalStyle::Iso8601, "P1W", "P7D"),
    (IntervalStyle::Iso8601, "PT1.5H", "PT1H30M"),
    (IntervalStyle::Iso8601, "P0001-02-03T04:05:06", "P1Y2M3DT4H5M6S"),
    (IntervalStyle::Iso8601, "P1Y-2M", "P10M"),
    (IntervalStyle::Iso8601, "PT", "PT0S"),
    (IntervalStyle::Iso8601, "-1-2", "P-1Y-2M"),
    (IntervalStyle::Iso8601, "1-2 3 4:05:06", "P1Y2M3DT4H5M6S"),
    (IntervalStyle::Iso8601, "1 day ago", "P-1D"),
    (IntervalStyle::Iso8601, "-1 day ago", "P1D"),
    (IntervalStyle::Iso8601, "1 Day", "P1D"),
    (IntervalStyle::Iso8601, "1 DAYS", "P1D"),
    (IntervalStyle::Iso8601, " 1  day ", "P1D"),
    (IntervalStyle::Iso8601, "1,day", "P1D"),
    (IntervalStyle::Iso8601, "1day", "P1D"),
    (IntervalStyle::Iso8601, ".5 day", "PT12H"),
    (IntervalStyle::Iso8601, "0", "PT0S"),
    (IntervalStyle::Iso8601, "00:00", "PT0S"),
    (IntervalStyle::Iso8601, "00:00:00.0000004", "PT0S"),
    (IntervalStyle::Iso8601, "00:00:00.0000006", "PT0.000001S"),
    (IntervalStyle::Iso8601, "1 mon 30 days 24:00:00", "P1M30DT24H"),
    (IntervalStyle::Iso8601, "P1Y2M3W", "P1Y2M21D"),
    (IntervalStyle::Iso8601, "1 sec 1 ms", "PT1.001S"),
    (IntervalStyle::Iso8601, "3 hours 5 min", "PT3H5M"),
    (IntervalStyle::Iso8601, "1:2:3.4", "PT1H2M3.4S"),
    (IntervalStyle::Iso8601, "1 +2:03", "P1DT2H3M"),
    (IntervalStyle::Iso8601, "-0.1", "PT-0.1S"),
    (IntervalStyle::Iso8601, "0.000001", "PT0.000001S"),
    (IntervalStyle::Iso8601, "1 month 15 days 12 hours ago", "P-1M-15DT-12H"),
];

#[test]
fn texts_are_read_and_written_as_postgresql_does() {
    let mut wrong = Vec::new();
    for (style, text, expected) in ANSWERS {
        let got = match parse_interval(text, -1, *style) {
            Ok(interval) => printed(interval, *style),
            Err(error) => format!("ERR {}", error.message()),
        };
        if got != *expected {
            wrong.push(format!("{style:?} {text:?}: {got:?} where {expected:?} is right"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_modifier_keeps_its_fields() {
    use super::interval::{FULL_PRECISION, field};
    let of = |fields: i32, precision: i32| fields << 16 | precision;
    let day_to_second = field::DAY | field::HOUR | field::MINUTE | field::SECOND;
    for (typmod, text, expected) in [
        (of(field::YEAR, FULL_PRECISION), "1 year 2 mons 3 days", "1 year"),
        (of(field::YEAR, FULL_PRECISION), "3", "3 years"),
        (of(field::YEAR | field::MONTH, FULL_PRECISION), "1 year 2 mons 3 days 4:05", "1 year 2 mons"),
        (of(field::DAY, FULL_PRECISION), "3 days 4:05", "3 days"),
        (of(field::DAY | field::HOUR, FULL_PRECISION), "3 days 4:05", "3 days 04:00:00"),
        (of(field::HOUR | field::MINUTE, FULL_PRECISION), "4:05:06", "04:05:00"),
        (of(field::MINUTE | field::SECOND, FULL_PRECISION), "4:05", "00:04:05"),
        (of(day_to_second, 2), "1 4:05:06.789", "1 day 04:05:06.79"),
        (of(field::ALL, 0), "-0.5", "-00:00:01"),
    ] {
        let interval = parse_interval(text, typmod, IntervalStyle::Postgres).expect(text);
        assert_eq!(printed(interval.fit(typmod).expect(text), IntervalStyle::Postgres), expected, "{typmod:x} {text}");
    }
}

#[test]
fn what_overflows_is_refused() {
    let most = Interval { months: i32::MAX, days: i32::MAX, micros: i64::MAX };
    let least = Interval { months: i32::MIN, days: i32::MIN, micros: i64::MIN };
    let one = Interval { months: 1, days: 1, micros: 1 };
    assert!(most.plus(one).is_err() && least.minus(one).is_err() && least.negate().is_err());
    assert!(most.multiply(2.0).is_err() && most.multiply(f64::NAN).is_err() && one.divide(0.0).is_err());
    assert!(one.add_to_timestamp(TIMESTAMP_END - 1).is_err());
    for value in [most, least] {
        // None of these panics.
        let _ = (value.justify_hours(), value.justify_days(), value.justify(), value.fit(0), value.span());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_written_is_read(months: i32, days: i32, micros in -1_000_000_000_000_000i64..1_000_000_000_000_000) {
        let interval = Interval { months, days, micros };
        for style in [IntervalStyle::Postgres, IntervalStyle::Iso8601] {
            let text = printed(interval, style);
            prop_assert_eq!(parse_interval(&text, -1, style).expect(&text), interval, "{}", text);
        }
        prop_assert_eq!(Interval::decode(&interval.encode()).expect("decode"), interval);
    }

    #[test]
    fn a_span_has_an_interval_that_equals_it(months: i32, days: i32, micros: i64) {
        let interval = Interval { months, days, micros };
        let other = Interval::of_span(interval.span()).expect("one of its length");
        prop_assert!(interval.compare(other).is_eq());
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+0-9.:PTYMDHSagodysecmin ]{0,20}") {
        let _ = parse_interval(&text, -1, IntervalStyle::Postgres);
    }
}
