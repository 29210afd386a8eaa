//! From texts to values and back: [`lookup`], [`parse`], [`show`], and the errors that users see.
//!
//! Rules
//! 1. Messages, details, hints and SQLSTATEs are PostgreSQL's.
//! 2. `parse(id, show(id, value))` is `value`, but for a real with more than six significant digits.
//! 3. A value that PostgreSQL has and this server does not (`serializable`, an encoding to convert) is `0A000`; what no
//!    PostgreSQL takes is `22023`.

use super::date_style::DateStyle;
use super::setting::{Flags, Kind};
use super::table::{SettingId, TABLE};
use super::text::{self, Broken};
use super::unit::{self, NotANumber};
use super::value::{Value, ValueRef};
use crate::sqlstate::{self, SqlState};
use crate::{Error, Result};

/// The setting of that name, in upper or lower case; `42704` if there is none.
pub fn lookup(name: &str) -> Result<SettingId> {
    find(name).ok_or_else(|| {
        Error::statement(sqlstate::UNDEFINED_OBJECT, format!("unrecognized configuration parameter \"{name}\""))
    })
}

/// The setting of that name, in upper or lower case.
pub fn find(name: &str) -> Option<SettingId> {
    TABLE.iter().find(|setting| setting.name.eq_ignore_ascii_case(name)).map(|setting| setting.id)
}

/// The value that `text` is for the setting. What `DateStyle` leaves out is taken from its default.
pub fn parse(id: SettingId, text: &str) -> Result<Value> {
    let default = id.setting().default_value();
    parse_over(id, text, default.as_ref(), default.as_ref())
}

/// The value that `text` is for a setting that is `current` now and would be `reset` after `RESET`.
pub fn parse_over(id: SettingId, text: &str, current: ValueRef<'_>, reset: ValueRef<'_>) -> Result<Value> {
    match id.setting().kind {
        Kind::Bool { refused, .. } => match parse_bool(text) {
            None => Err(bad_value(format!("parameter \"{id}\" requires a Boolean value"))),
            Some(value) if refused == Some(value) => {
                Err(unsupported_value(id, text).hint(format!("Available values: {}.", bool_text(!value))))
            }
            Some(value) => Ok(Value::from(value)),
        },
        Kind::Integer { min, max, unit, .. } => {
            let value = unit::parse_integer(text, unit).map_err(|error| not_a_number(id, text, error))?;
            if value < min || value > max {
                return Err(bad_value(outside(id, value, unit.name(), min, max)));
            }
            Ok(Value::Number(value.into()))
        }
        Kind::Real { min, max, unit, .. } => {
            let value = unit::parse_real(text, unit).map_err(|error| not_a_number(id, text, error))?;
            if value < min || value > max {
                let [value, min, max] = [value, min, max].map(unit::real_text);
                return Err(bad_value(outside(id, value, unit.name(), min, max)));
            }
            Ok(Value::from(value))
        }
        Kind::Enum { choices, .. } => match choices.number(text) {
            Some(number) => Ok(Value::Number(number)),
            None => {
                let error = if choices.refuses(text) { unsupported_value(id, text) } else { invalid_value(id, text) };
                Err(error.hint(format!("Available values: {}.", choices.list())))
            }
        },
        Kind::DateStyle { .. } => DateStyle::parse(text, current.date_style(), reset.date_style())
            .map(|style| Value::Number(style.number()))
            .map_err(|detail| invalid_value(id, text).detail(detail)),
        Kind::Text { rule, .. } => match rule.check(text) {
            Ok(text) => Ok(Value::Text(text)),
            Err(Broken::Invalid(None)) => Err(invalid_value(id, text)),
            Err(Broken::Invalid(Some(detail))) => Err(invalid_value(id, text).detail(detail)),
            Err(Broken::Unsupported(detail)) => {
                Err(invalid_value_as(sqlstate::FEATURE_NOT_SUPPORTED, id, text).detail(detail))
            }
        },
    }
}

/// The one text of `SET name TO a, b, ...`, ready for [`parse`].
pub fn flatten(id: SettingId, arguments: &[&str]) -> Result<String> {
    let flags = id.setting().flags;
    text::flattened(id.name(), flags.has(Flags::LIST), flags.has(Flags::IDENTIFIERS), arguments)
}

/// The value as `SHOW` prints it.
pub fn show(id: SettingId, value: ValueRef<'_>) -> String {
    match id.setting().kind {
        Kind::Integer { unit, .. } => unit::integer_text(value.number(), unit),
        Kind::Real { unit, .. } => unit::real_with_unit_text(value.real(), unit),
        _ => show_bare(id, value),
    }
}

/// The value without a unit, as `pg_settings.setting` has it.
pub fn show_bare(id: SettingId, value: ValueRef<'_>) -> String {
    match id.setting().kind {
        Kind::Bool { .. } => bool_text(value.bool()).to_owned(),
        Kind::Integer { .. } => value.number().to_string(),
        Kind::Real { .. } => unit::real_text(value.real()),
        Kind::Enum { choices, .. } => choices.word(value.number()).unwrap_or_default().to_owned(),
        Kind::DateStyle { .. } => value.date_style().text(),
        Kind::Text { .. } => value.text().to_owned(),
    }
}

/// `22023`: the text is no value of the setting. For code that checks what the table cannot: names of time zones, roles.
pub fn invalid_value(id: SettingId, text: &str) -> Error {
    invalid_value_as(sqlstate::INVALID_PARAMETER_VALUE, id, text)
}

fn invalid_value_as(sqlstate: SqlState, id: SettingId, text: &str) -> Error {
    Error::statement(sqlstate, format!("invalid value for parameter \"{id}\": \"{text}\""))
}

fn unsupported_value(id: SettingId, text: &str) -> Error {
    invalid_value_as(sqlstate::FEATURE_NOT_SUPPORTED, id, text)
        .detail(format!("The value \"{text}\" is not supported yet."))
}

fn bad_value(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

fn not_a_number(id: SettingId, text: &str, NotANumber(hint): NotANumber) -> Error {
    let error = invalid_value(id, text);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn outside<T: std::fmt::Display>(id: SettingId, value: T, unit: &str, min: T, max: T) -> String {
    let space = if unit.is_empty() { "" } else { " " };
    format!("{value}{space}{unit} is outside the valid range for parameter \"{id}\" ({min} .. {max})")
}

fn bool_text(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

/// PostgreSQL's words for truth: `on`, `off`, `1`, `0`, and any beginning of `true`, `false`, `yes`, `no`; of `off` the
/// first two letters will do.
pub fn parse_bool(text: &str) -> Option<bool> {
    let word = text.to_ascii_lowercase();
    let begins = |whole: &str| !word.is_empty() && whole.starts_with(&word);
    match word.as_str() {
        "on" | "1" => Some(true),
        "of" | "off" | "0" => Some(false),
        _ if begins("true") || begins("yes") => Some(true),
        _ if begins("false") || begins("no") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value_of(setting: &'static crate::settings::Setting) -> Value {
        setting.default_value()
    }

    #[test]
    fn every_default_is_a_value_and_reads_back() {
        for setting in &TABLE {
            let value = value_of(setting);
            assert!(setting.holds(value.as_ref()), "{}", setting.name);
            for text in [show(setting.id, value.as_ref()), show_bare(setting.id, value.as_ref())] {
                assert_eq!(parse(setting.id, &text).unwrap(), value, "{} = {text:?}", setting.name);
            }
        }
    }

    #[test]
    fn every_listed_word_reads_back() {
        for setting in &TABLE {
            let Kind::Enum { choices, .. } = setting.kind else { continue };
            for (word, number) in choices.listed {
                let value = parse(setting.id, word).unwrap();
                assert_eq!(value, Value::Number(*number));
                assert_eq!(show(setting.id, value.as_ref()), *word);
            }
            for word in choices.refused {
                assert_eq!(parse(setting.id, word).unwrap_err().sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
            }
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(lookup("datestyle").unwrap(), SettingId::DateStyle);
        assert_eq!(lookup("TIMEZONE").unwrap(), SettingId::TimeZone);
        for name in ["foo", "Foo Bar", "my.setting", ""] {
            let error = lookup(name).unwrap_err();
            assert_eq!(error.sqlstate().as_str(), "42704");
            assert_eq!(error.message(), format!("unrecognized configuration parameter \"{name}\""));
        }
    }

    /// The rows were answered so by PostgreSQL 15, but for the ones with `0A000`.
    #[test]
    fn errors_are_postgresqls() {
        for (name, text, expected) in [
            ("work_mem", "abc", "invalid value for parameter \"work_mem\": \"abc\" (22023)"),
            (
                "work_mem",
                "10XB",
                "invalid value for parameter \"work_mem\": \"10XB\" (22023); \
                 hint: Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
            ),
            (
                "work_mem",
                "10",
                "10 kB is outside the valid range for parameter \"work_mem\" (64 .. 2147483647) (22023)",
            ),
            (
                "work_mem",
                "99TB",
                "invalid value for parameter \"work_mem\": \"99TB\" (22023); hint: Value exceeds integer range.",
            ),
            (
                "lock_timeout",
                "1parsec",
                "invalid value for parameter \"lock_timeout\": \"1parsec\" (22023); \
                 hint: Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".",
            ),
            ("lock_timeout", "", "invalid value for parameter \"lock_timeout\": \"\" (22023)"),
            (
                "extra_float_digits",
                "4",
                "4 is outside the valid range for parameter \"extra_float_digits\" (-15 .. 3) (22023)",
            ),
            (
                "autovacuum_vacuum_scale_factor",
                "-1",
                "-1 is outside the valid range for parameter \"autovacuum_vacuum_scale_factor\" (0 .. 100) (22023)",
            ),
            ("autovacuum", "maybe", "parameter \"autovacuum\" requires a Boolean value (22023)"),
            (
                "bytea_output",
                "foo",
                "invalid value for parameter \"bytea_output\": \"foo\" (22023); hint: Available values: escape, hex.",
            ),
            (
                "client_min_messages",
                "fatal",
                "invalid value for parameter \"client_min_messages\": \"fatal\" (22023); hint: Available values: \
                 debug5, debug4, debug3, debug2, debug1, log, notice, warning, error.",
            ),
            (
                "datestyle",
                "foo",
                "invalid value for parameter \"DateStyle\": \"foo\" (22023); Unrecognized key word: \"foo\".",
            ),
            (
                "search_path",
                "a,",
                "invalid value for parameter \"search_path\": \"a,\" (22023); List syntax is invalid.",
            ),
            ("timezone", "", "invalid value for parameter \"TimeZone\": \"\" (22023)"),
            ("client_encoding", "LATIN9x", "invalid value for parameter \"client_encoding\": \"LATIN9x\" (22023)"),
            (
                "client_encoding",
                "mule_internal",
                "invalid value for parameter \"client_encoding\": \"mule_internal\" (0A000); \
                 Conversion between MULE_INTERNAL and UTF8 is not supported.",
            ),
            (
                "default_transaction_isolation",
                "serializable",
                "invalid value for parameter \"default_transaction_isolation\": \"serializable\" (0A000); \
                 The value \"serializable\" is not supported yet.; \
                 hint: Available values: repeatable read, read committed, read uncommitted.",
            ),
            (
                "standard_conforming_strings",
                "off",
                "invalid value for parameter \"standard_conforming_strings\": \"off\" (0A000); \
                 The value \"off\" is not supported yet.; hint: Available values: on.",
            ),
        ] {
            let error = parse(lookup(name).unwrap(), text).unwrap_err();
            assert_eq!(error.to_string(), format!("ERROR: {expected}"));
        }
    }

    #[test]
    fn booleans_read_as_in_postgresql() {
        for (text, expected) in [
            ("on", Some(true)),
            ("T", Some(true)),
            ("yEs", Some(true)),
            ("1", Some(true)),
            ("of", Some(false)),
            ("fals", Some(false)),
            ("n", Some(false)),
            ("0", Some(false)),
            ("o", None),
            (" on", None),
            ("", None),
            ("truee", None),
        ] {
            assert_eq!(parse_bool(text), expected, "{text:?}");
        }
    }

    #[test]
    fn canonical_output() {
        for (name, text, shown, bare) in [
            ("shared_buffers", "16384", "128MB", "16384"),
            ("shared_buffers", "0", "0", "0"),
            ("wal_buffers", "-1", "-1", "-1"),
            ("time_slice", "0.004s", "4ms", "4000"),
            ("statement_timeout", "90s", "90s", "90000"),
            ("client_min_messages", "debug", "debug2", "debug2"),
            ("client_min_messages", "INFO", "info", "info"),
            ("datestyle", "sql, european", "SQL, DMY", "SQL, DMY"),
            ("timezone", "-7", "<-07>+07", "<-07>+07"),
            ("client_encoding", "utf-8", "UTF8", "UTF8"),
            ("autovacuum_vacuum_scale_factor", "1e-10", "1e-10", "1e-10"),
            ("huge_pages", "yes", "on", "on"),
            ("autovacuum", "f", "off", "off"),
        ] {
            let id = lookup(name).unwrap();
            let value = parse(id, text).unwrap();
            assert_eq!(show(id, value.as_ref()), shown);
            assert_eq!(show_bare(id, value.as_ref()), bare);
        }
    }

    #[test]
    fn a_date_style_fills_up_from_the_current_one() {
        let german = parse(SettingId::DateStyle, "german").unwrap();
        let default = SettingId::DateStyle.setting().default_value();
        let read = |text| {
            let value = parse_over(SettingId::DateStyle, text, german.as_ref(), default.as_ref()).unwrap();
            show(SettingId::DateStyle, value.as_ref())
        };
        assert_eq!(read("ymd"), "German, YMD");
        assert_eq!(read("default"), "ISO, MDY");
    }

    #[test]
    fn lists_flatten_by_their_marks() {
        assert_eq!(flatten(SettingId::SearchPath, &["$user", "public"]).unwrap(), "\"$user\", public");
        assert_eq!(flatten(SettingId::DateStyle, &["ISO", "DMY"]).unwrap(), "ISO, DMY");
        assert_eq!(flatten(SettingId::WorkMem, &["1", "2"]).unwrap_err().sqlstate().as_str(), "22023");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn what_parses_shows_and_reads_back(at in 0..TABLE.len(), text in "[-+0-9.eExkKmMGBsdhin ,a-z_\"]{0,10}") {
            let id = TABLE[at].id;
            if let Ok(value) = parse(id, &text) {
                prop_assert!(id.setting().holds(value.as_ref()));
                if !matches!(id.setting().kind, Kind::Real { .. }) {
                    let again = parse(id, &show(id, value.as_ref())).map_err(|error| error.to_string());
                    prop_assert_eq!(again, Ok(value));
                }
            }
        }
    }
}
