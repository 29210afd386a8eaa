//! The two files of settings, as texts: the administrator's, in TOML, and the one that `ALTER SYSTEM` writes.
//!
//! A file is a list of `name = value`. Values are TOML strings in the syntax of `SET`, or plain numbers, booleans and,
//! for settings that are lists, arrays of strings:
//!
//! ```toml
//! listen = ["127.0.0.1:5433", "[::1]:5433"]
//! shared_buffers = "2GB"
//! max_connections = 2000
//! autovacuum = false
//! ```
//!
//! Rules
//! 1. Nothing here opens a file: texts come in and go out.
//! 2. A name that is no setting is an error, so that a typing mistake cannot pass for a setting.
//! 3. `ALTER SYSTEM` rewrites its whole file ([`auto_file_text`]); reading it back gives the same settings.

use super::origin::Origin;
use super::parse::{flatten, lookup};
use super::setting::Flags;
use super::table::SettingId;
use crate::{Error, Result, sqlstate};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The name of the file that `ALTER SYSTEM` writes, in the data directory.
pub const AUTO_FILE: &str = "gearbox.auto.toml";

/// One setting of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The setting.
    pub id: SettingId,
    /// The value's text, in the syntax of `SET`.
    pub text: String,
    /// The line it stands in, from one.
    pub line: u32,
}

/// The settings of a file, in the order of its lines. `path` is only for messages.
pub fn read_file(path: &str, text: &str) -> Result<Vec<Assignment>> {
    let line_at = |offset: usize| {
        let before = text.as_bytes().iter().take(offset);
        1 + u32::try_from(before.filter(|&&byte| byte == b'\n').count()).unwrap_or(u32::MAX - 1)
    };
    let place = |line: u32| Origin::ConfigFile { path: path.to_owned(), line };
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_at(error.span().map_or(0, |span| span.start));
        place(line).locate(file_error(error.message().to_owned()))
    })?;
    let mut assignments: Vec<Assignment> = Vec::new();
    for (key, value) in table.get_ref() {
        let line = line_at(key.span().start);
        let located = |error| place(line).locate(error);
        let id = match value.get_ref() {
            DeValue::Table(_) => {
                let error = file_error(format!("\"{}\" is a table", key.get_ref()));
                return Err(located(error.hint("Settings are written as name = value, without tables.")));
            }
            _ => lookup(key.get_ref()).map_err(located)?,
        };
        let text = value_text(id, value.get_ref()).map_err(located)?;
        if let Some(earlier) = assignments.iter().find(|earlier| earlier.id == id) {
            let error = file_error(format!("\"{id}\" is set here and in line {}", earlier.line));
            return Err(located(error));
        }
        assignments.push(Assignment { id, text, line });
    }
    assignments.sort_by_key(|assignment| assignment.line);
    Ok(assignments)
}

fn file_error(message: String) -> Error {
    Error::statement(sqlstate::CONFIG_FILE_ERROR, message)
}

/// A TOML value in the syntax of `SET`.
fn value_text(id: SettingId, value: &DeValue<'_>) -> Result<String> {
    let wrong = |what: &str| {
        let error = file_error(format!("the value of \"{id}\" is {what}"));
        error.hint("A value is a string, a number, true or false, or an array of strings if the setting is a list.")
    };
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map(|number| number.to_string())
            .map_err(|_| wrong("too large a number")),
        DeValue::Float(float) => Ok(float.as_str().to_owned()),
        DeValue::Boolean(value) => Ok((if *value { "on" } else { "off" }).to_owned()),
        DeValue::Array(items) if id.setting().flags.has(Flags::LIST) => {
            let items: Option<Vec<&str>> = items
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::String(text) => Some(text.as_ref()),
                    _ => None,
                })
                .collect();
            flatten(id, &items.ok_or_else(|| wrong("an array of something else than strings"))?)
        }
        DeValue::Array(_) => Err(wrong("an array, and the setting is no list")),
        DeValue::Datetime(_) => Err(wrong("a date")),
        DeValue::Table(_) => Err(wrong("a table")),
    }
}

/// What `ALTER SYSTEM` has set.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct AutoFile {
    values: BTreeMap<SettingId, String>,
}

impl AutoFile {
    /// Reads the file's text. `path` is only for messages.
    pub fn read(path: &str, text: &str) -> Result<AutoFile> {
        let assignments = read_file(path, text)?;
        Ok(AutoFile { values: assignments.into_iter().map(|assignment| (assignment.id, assignment.text)).collect() })
    }

    /// `ALTER SYSTEM SET`: the caller has checked the text ([`super::parse()`]) and the right to set it.
    pub fn set(&mut self, id: SettingId, text: &str) {
        self.values.insert(id, text.to_owned());
    }

    /// `ALTER SYSTEM RESET`.
    pub fn reset(&mut self, id: SettingId) {
        self.values.remove(&id);
    }

    /// `ALTER SYSTEM RESET ALL`.
    pub fn reset_all(&mut self) {
        self.values.clear();
    }

    /// The file's new text.
    pub fn text(&self) -> String {
        auto_file_text(self.values.iter().map(|(&id, text)| (id, text.as_str())))
    }
}

/// The text of the file that `ALTER SYSTEM` writes.
pub fn auto_file_text<'a>(pairs: impl IntoIterator<Item = (SettingId, &'a str)>) -> String {
    let mut file = String::from("# Written by ALTER SYSTEM, which overwrites what is edited here.\n");
    for (id, text) in pairs {
        file.push_str(&format!("{id} = {}\n", quoted(text)));
    }
    file
}

/// A TOML basic string. Every control character is escaped, so that a value is one line.
fn quoted(text: &str) -> String {
    let mut string = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => string.push_str("\\\""),
            '\\' => string.push_str("\\\\"),
            control if control.is_control() => string.push_str(&format!("\\u{:04X}", u32::from(control))),
            other => string.push(other),
        }
    }
    string.push('"');
    string
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(&'static str, String, u32)> {
        let assignments = read_file("g.toml", text).unwrap();
        assignments.into_iter().map(|one| (one.id.name(), one.text, one.line)).collect()
    }

    #[test]
    fn all_forms_of_values() {
        let text = "# head\nMax_Connections = 2_000\nautovacuum = false\nwork_mem = \"64MB\"\n\
                    autovacuum_vacuum_scale_factor = 0.5\nsearch_path = [\"$user\", \"My Schema\", \"public\"]\n\
                    listen = [\n  \"127.0.0.1:5433\",\n  \"[::1]:5433\",\n]\nblocking_pool_size = 0x10\n";
        let expected = [
            ("max_connections", "2000", 2),
            ("autovacuum", "off", 3),
            ("work_mem", "64MB", 4),
            ("autovacuum_vacuum_scale_factor", "0.5", 5),
            ("search_path", "\"$user\", \"My Schema\", public", 6),
            ("listen", "127.0.0.1:5433, [::1]:5433", 7),
            ("blocking_pool_size", "16", 11),
        ]
        .map(|(name, text, line)| (name, text.to_owned(), line));
        assert_eq!(pairs(text), expected);
        assert_eq!(pairs(""), []);
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, expected) in [
            ("engine = \n", "ERROR: g.toml, line 1: "),
            ("\n\nengine = thread\n", "ERROR: g.toml, line 3: "),
            ("engine = 'thread'\nengine = 'thread'\n", "ERROR: g.toml, line 2: duplicate key"),
            ("engine = 'thread'\nENGINE = 'thread'\n", " is set here and in line "),
            ("\nengin = 1\n", "ERROR: g.toml, line 2: unrecognized configuration parameter \"engin\" (42704)"),
            ("[server]\nengine = 1\n", "ERROR: g.toml, line 1: \"server\" is a table (F0000); hint: Settings are"),
            ("work_mem = [1]\n", "g.toml, line 1: the value of \"work_mem\" is an array, and the setting is no list"),
            ("search_path = [1]\n", "the value of \"search_path\" is an array of something else than strings (F0000)"),
            ("work_mem = 99999999999999999999\n", "g.toml, line 1"),
            ("work_mem = 1979-05-27\n", "the value of \"work_mem\" is a date (F0000)"),
        ] {
            let error = read_file("g.toml", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?} gave {error}");
        }
    }

    #[test]
    fn alter_system_sets_and_resets() {
        let mut file = AutoFile::default();
        file.set(SettingId::WorkMem, "64MB");
        file.set(SettingId::ApplicationName, "a \"b\" \\ \n\u{7f}");
        file.set(SettingId::WorkMem, "65MB");
        let text = file.text();
        assert_eq!(text.lines().nth(1), Some("work_mem = \"65MB\""));
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(AutoFile::read("auto", &text).unwrap(), file);
        file.reset(SettingId::ApplicationName);
        assert_eq!(AutoFile::read("auto", &file.text()).unwrap(), file);
        file.reset_all();
        assert_eq!(AutoFile::read("auto", &file.text()).unwrap(), AutoFile::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_written_reads_back(values in prop::collection::vec((0..super::super::COUNT, any::<String>()), 0..8)) {
            let mut file = AutoFile::default();
            for (at, text) in &values {
                file.set(SettingId::from_index(*at).unwrap(), text);
            }
            prop_assert_eq!(AutoFile::read("auto", &file.text()).unwrap(), file);
        }

        #[test]
        fn no_text_is_a_panic(text in "([a-z_]{1,6} ?= ?[\\[\"'0-9a-z.,\\]]{0,8}\n?){0,4}|\\PC{0,30}") {
            let _ = read_file("file", &text);
        }
    }
}
