//! The one table of settings, and everything that is made from it: the command line, `SHOW`, `SET`, `ALTER SYSTEM`,
//! `pg_settings`, the files, the environment variables and the manual.
//!
//! A *setting* is a row of [`TABLE`], known by its [`SettingId`]. A *value* is a number or a text ([`Value`]). A *layer*
//! is a place where an administrator writes values: options, variables, two files. The *effective* value is what the
//! highest layer says, or what the server computes. A session may have a value of its own on top.
//!
//! | module | what it is |
//! |---|---|
//! | [`table`] | the rows |
//! | [`setting`] | what a row says |
//! | [`choice`], [`date_style`], [`text`], [`unit`](mod@unit) | the kinds of values: words, date styles, texts, numbers with units |
//! | [`value`] | values as plain data, and the slots in which a session's arrays keep them |
//! | [`parse`](mod@parse) | names to rows, texts to values, values to texts; the errors |
//! | [`change`] | who may change what, and when |
//! | [`command_line`], [`file`](mod@file), [`origin`], [`layers`] | where values come from |
//! | [`effective`], [`snapshot`] | the values in force; the same as bytes, for other processes |
//! | [`describe`], [`manual`](mod@manual) | `pg_settings`, `docs/settings.md` |
//!
//! Rules
//! 1. Nothing here reads a file, a variable or the machine: the caller brings texts and facts.
//! 2. Only [`table`] names settings; the rest works for any row. The exceptions are the few values that the server
//!    computes ([`effective`]).
//! 3. Users see PostgreSQL's messages, and its answers for its own settings.
//!
//! Life of `ALTER SYSTEM SET work_mem = '64MB'`: [`lookup`] finds the row, [`check_context`] allows it, [`flatten`] and
//! [`parse()`] check the value, [`AutoFile::set`] and [`AutoFile::text`] give the file's new text, which the server
//! writes. On reload all layers are read again into [`Layers`], [`Effective::reload`] takes over what may change, and
//! [`Effective::encode`] makes the bytes from which other processes learn of it.
//!
//! What it does not do: custom settings (`my.name`) are not there yet and are reported as unknown; `SET LOCAL`, and what
//! a rollback undoes, belong to the session, which keeps its values in arrays by [`Setting::slot`].

pub mod change;
pub mod choice;
pub mod command_line;
pub mod date_style;
pub mod describe;
pub mod effective;
pub mod file;
pub mod layers;
pub mod manual;
pub mod origin;
pub mod parse;
pub mod setting;
pub mod snapshot;
pub mod table;
pub mod text;
pub mod unit;
pub mod value;

pub use change::{Change, check_context, check_readable};
pub use choice::{ByteaOutput, IntervalStyle, Isolation, LiteralAutoparam, MessageLevel, PlanCacheMode};
pub use command_line::{find_option, options_help, read_startup_options};
pub use date_style::{DateFormat, DateOrder, DateStyle};
pub use describe::{Description, Source};
pub use effective::{Effective, Machine, Reloaded, number_of_planning};
pub use file::{AUTO_FILE, AutoFile, auto_file_text};
pub use layers::Layers;
pub use manual::manual;
pub use origin::Origin;
pub use parse::{find, flatten, invalid_value, lookup, parse, parse_bool, parse_over, show, show_bare};
pub use setting::{Category, Context, Flags, Kind, Setting};
pub use table::{COUNT, SettingId, TABLE};
pub use text::{ListenPoint, TextRule, WORDS_IN_QUOTES, offset_zone, quoted_identifier, split_identifiers};
pub use unit::Unit;
pub use value::{NUMBERS, PLANNING, SESSION_NUMBERS, SESSION_TEXTS, SettingSet, Slot, TEXTS, Value, ValueRef};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_options_and_variables_are_unique() {
        let unique = |texts: Vec<String>| texts.iter().collect::<BTreeSet<_>>().len() == texts.len();
        assert!(unique(TABLE.iter().map(|setting| setting.name.to_ascii_lowercase()).collect()));
        assert!(unique(TABLE.iter().map(Setting::variable).collect()));
        assert!(unique(TABLE.iter().map(Setting::option_name).collect()));
    }

    #[test]
    fn rows_stand_at_their_number() {
        for (at, setting) in TABLE.iter().enumerate() {
            assert_eq!(setting.id as usize, at);
            assert_eq!(SettingId::from_index(at), Some(setting.id));
        }
        assert_eq!(SettingId::from_index(COUNT), None);
    }

    #[test]
    fn chapters_are_whole_and_in_order() {
        let chapters: Vec<_> = TABLE.iter().map(|setting| setting.category).collect();
        assert!(chapters.is_sorted(), "a chapter is torn apart, or stands before an earlier one");
    }

    #[test]
    fn documentation_is_a_sentence_and_paragraphs() {
        for setting in &TABLE {
            let short = setting.short_doc();
            assert!(short.ends_with('.') && !short.contains(". "), "{}: {short:?}", setting.name);
            assert!(short.starts_with(char::is_uppercase) && short.len() <= 100, "{}: {short:?}", setting.name);
            assert!(setting.docs.get(1).is_none_or(|line| line.is_empty()), "{}: no empty line", setting.name);
            assert!(setting.long_doc().iter().all(|paragraph| paragraph.ends_with('.')), "{}", setting.name);
        }
    }

    #[test]
    fn clients_are_told_of_what_postgresql_15_tells_them() {
        let told: Vec<_> =
            TABLE.iter().filter(|setting| setting.flags.has(Flags::REPORT)).map(|setting| setting.name).collect();
        let mut sorted = told.clone();
        sorted.sort_unstable_by_key(|name| name.to_ascii_lowercase());
        assert_eq!(
            sorted,
            [
                "application_name",
                "client_encoding",
                "DateStyle",
                "default_transaction_read_only",
                "in_hot_standby",
                "integer_datetimes",
                "IntervalStyle",
                "is_superuser",
                "server_encoding",
                "server_version",
                "session_authorization",
                "standard_conforming_strings",
                "TimeZone",
            ]
        );
    }

    #[test]
    fn the_version_is_one_that_clients_of_postgresql_15_accept() {
        let default = SettingId::ServerVersion.setting().default_value();
        let text = default.as_ref().text();
        let (major, minor) = text.split(' ').next().and_then(|number| number.split_once('.')).unwrap();
        let number = major.parse::<i64>().unwrap() * 10_000 + minor.parse::<i64>().unwrap();
        assert_eq!(major, "15");
        assert_eq!(SettingId::ServerVersionNum.setting().default_value(), Value::Number(number));
    }

    /// What psql, pg_dump, pgbench, pgJDBC, psycopg and npgsql set when they connect.
    #[test]
    fn what_clients_set_is_accepted() {
        for (name, text) in [
            ("application_name", "psql"),
            ("client_encoding", "UTF8"),
            ("client_encoding", "SQL_ASCII"),
            ("DateStyle", "ISO"),
            ("IntervalStyle", "POSTGRES"),
            ("IntervalStyle", "iso_8601"),
            ("extra_float_digits", "3"),
            ("extra_float_digits", "2"),
            ("TimeZone", "Europe/Berlin"),
            ("TimeZone", "Etc/UTC"),
            ("statement_timeout", "0"),
            ("lock_timeout", "0"),
            ("idle_in_transaction_session_timeout", "0"),
            ("synchronize_seqscans", "off"),
            ("quote_all_identifiers", "true"),
            ("row_security", "off"),
            ("search_path", ""),
            ("standard_conforming_strings", "on"),
            ("check_function_bodies", "false"),
            ("xmloption", "content"),
            ("client_min_messages", "warning"),
            ("default_tablespace", ""),
            ("default_table_access_method", "heap"),
            ("escape_string_warning", "off"),
            ("default_transaction_isolation", "repeatable read"),
            ("jit", "off"),
            ("bytea_output", "hex"),
        ] {
            let id = lookup(name).unwrap();
            check_context(id, Change::Session, false).unwrap();
            parse(id, text).unwrap();
        }
    }
}
