//! `DateStyle`: how dates are printed, and in which order an ambiguous date is read.
//!
//! The setting's text is a list of key words, each of which sets one half ([`DateFormat`] or [`DateOrder`]); what a list
//! leaves out stays as it was. The value is kept as one number, so that printing a date never parses a text.

use super::text::split_identifiers;

/// How dates and times are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateFormat {
    /// `1997-12-17 07:37:16-08`.
    Iso,
    /// `12/17/1997 07:37:16.00 PST`.
    Sql,
    /// `Wed Dec 17 07:37:16 1997 PST`.
    Postgres,
    /// `17.12.1997 07:37:16.00 PST`.
    German,
}

/// Which of three numbers is the day, the month and the year.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateOrder {
    /// Year, month, day.
    Ymd,
    /// Day, month, year.
    Dmy,
    /// Month, day, year.
    Mdy,
}

/// The value of the setting `DateStyle`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DateStyle {
    /// How dates are printed.
    pub format: DateFormat,
    /// How dates are read.
    pub order: DateOrder,
}

const FORMATS: [(DateFormat, &str); 4] = [
    (DateFormat::Iso, "ISO"),
    (DateFormat::Sql, "SQL"),
    (DateFormat::Postgres, "Postgres"),
    (DateFormat::German, "German"),
];
const ORDERS: [(DateOrder, &str); 3] = [(DateOrder::Ymd, "YMD"), (DateOrder::Dmy, "DMY"), (DateOrder::Mdy, "MDY")];

impl DateStyle {
    /// The value as a setting keeps it.
    pub const fn number(self) -> i64 {
        (self.format as i64) << 8 | self.order as i64
    }

    /// The inverse of [`DateStyle::number`].
    pub fn from_number(number: i64) -> Option<DateStyle> {
        let half = |shift: u32| usize::try_from(number >> shift & 0xFF).ok();
        let (format, order) = (FORMATS.get(half(8)?)?.0, ORDERS.get(half(0)?)?.0);
        Some(DateStyle { format, order }).filter(|style| style.number() == number)
    }

    /// As `SHOW` prints it: `ISO, MDY`.
    pub fn text(self) -> String {
        format!("{}, {}", FORMATS[self.format as usize].1, ORDERS[self.order as usize].1)
    }

    /// Reads a list of key words; what it does not say is taken from `current`, and what the word `default` says from
    /// `reset`. The error is the detail of PostgreSQL's message.
    pub fn parse(text: &str, current: DateStyle, reset: DateStyle) -> Result<DateStyle, String> {
        let words = split_identifiers(text).ok_or("List syntax is invalid.")?;
        let (mut format, mut order) = (None, None);
        let (mut style, mut conflict) = (current, false);
        for written in &words {
            let word = written.to_ascii_lowercase();
            let starts = |prefix: &str| word.starts_with(prefix);
            let (new_format, new_order) = match word.as_str() {
                "iso" => (Some(DateFormat::Iso), None),
                "sql" => (Some(DateFormat::Sql), None),
                _ if starts("postgres") => (Some(DateFormat::Postgres), None),
                "german" => (Some(DateFormat::German), None),
                "ymd" => (None, Some(DateOrder::Ymd)),
                "dmy" => (None, Some(DateOrder::Dmy)),
                _ if starts("euro") => (None, Some(DateOrder::Dmy)),
                "mdy" | "us" => (None, Some(DateOrder::Mdy)),
                _ if starts("noneuro") => (None, Some(DateOrder::Mdy)),
                "default" => {
                    style.format = format.unwrap_or(reset.format);
                    style.order = order.unwrap_or(reset.order);
                    continue;
                }
                _ => return Err(format!("Unrecognized key word: \"{written}\".")),
            };
            if let Some(new) = new_format {
                conflict |= format.is_some_and(|earlier| earlier != new);
                (format, style.format) = (Some(new), new);
                // The German style brings its own order, unless the list has named one already.
                if new == DateFormat::German && order.is_none() {
                    style.order = DateOrder::Dmy;
                }
            }
            if let Some(new) = new_order {
                conflict |= order.is_some_and(|earlier| earlier != new);
                (order, style.order) = (Some(new), new);
            }
        }
        if conflict { Err("Conflicting \"datestyle\" specifications.".to_owned()) } else { Ok(style) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows were answered so by PostgreSQL 15.
    #[test]
    fn lists_read_as_in_postgresql() {
        let default = DateStyle { format: DateFormat::Iso, order: DateOrder::Mdy };
        let read = |text, current| DateStyle::parse(text, current, default).map(DateStyle::text);
        let german = DateStyle::parse("german", default, default).unwrap();
        for (text, current, expected) in [
            ("german", default, Ok("German, DMY")),
            ("ymd", german, Ok("German, YMD")),
            ("iso, iso", default, Ok("ISO, MDY")),
            ("sql, european", default, Ok("SQL, DMY")),
            ("us, postgres", german, Ok("Postgres, MDY")),
            ("default", german, Ok("ISO, MDY")),
            ("", german, Ok("German, DMY")),
            ("NonEuropean", german, Ok("German, MDY")),
            ("\"ISO\"", german, Ok("ISO, DMY")),
            ("iso, foo", default, Err("Unrecognized key word: \"foo\".")),
            ("isofoo", default, Err("Unrecognized key word: \"isofoo\".")),
            ("iso, sql", default, Err("Conflicting \"datestyle\" specifications.")),
            ("iso, dmy, mdy", default, Err("Conflicting \"datestyle\" specifications.")),
            ("sql, german", default, Err("Conflicting \"datestyle\" specifications.")),
            ("iso dmy", default, Err("List syntax is invalid.")),
            ("iso,", default, Err("List syntax is invalid.")),
            ("postgresfoo, eurofoo", default, Ok("Postgres, DMY")),
            ("mdy, german", default, Ok("German, MDY")),
            ("german, mdy", default, Ok("German, MDY")),
        ] {
            let found = read(text, current);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text:?}");
        }
    }

    #[test]
    fn every_value_survives_its_number() {
        for (format, _) in FORMATS {
            for (order, _) in ORDERS {
                let style = DateStyle { format, order };
                assert_eq!(DateStyle::from_number(style.number()), Some(style));
            }
        }
        for number in [-1, 3, 0x400, 0x1_0000, i64::MAX] {
            assert_eq!(DateStyle::from_number(number), None, "{number}");
        }
    }
}
