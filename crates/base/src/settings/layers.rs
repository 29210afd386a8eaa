//! The layers that settings come from, and which one wins.
//!
//! ```text
//!  command line option        --engine process           highest
//!  environment variable       GEARBOX_ENGINE=process
//!  what ALTER SYSTEM wrote    <data>/gearbox.auto.toml
//!  configuration file         --config FILE
//!  default                    the table                  lowest
//! ```
//!
//! Layers are added in any order: the file's name comes from the options, the second file's place from the first, so
//! [`Layers::value`] answers from what is there already. Then [`Layers::effective`] gives the values of the server.
//!
//! A reload needs the options and variables of the start again: the server keeps the `Layers` with these two and adds the
//! files to a copy each time.
//!
//! Rules
//! 1. Precedence is by layer, never by the order of adding. Within the command line the last one wins.
//! 2. An error names its place: file and line, variable or option.
//! 3. A variable that begins with `GEARBOX_` and names no setting is noticed, not refused: other programs of the
//!    project have variables too.

use super::change::{Change, check_context};
use super::command_line::read_command_line;
use super::effective::{Effective, Machine};
use super::file::read_file;
use super::origin::Origin;
use super::parse::{find, parse};
use super::setting::VARIABLE_PREFIX;
use super::table::SettingId;
use super::value::Value;
use crate::Result;
use std::collections::BTreeMap;

/// A value that some layer asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// The values that the layers ask for.
#[derive(Clone, Default, Debug)]
pub struct Layers {
    asked: BTreeMap<(SettingId, u8), Asked>,
    notices: Vec<String>,
}

impl Layers {
    /// No layers but the defaults.
    pub fn new() -> Layers {
        Layers::default()
    }

    /// Adds one value from any place.
    pub fn add(&mut self, id: SettingId, text: &str, origin: Origin) -> Result<()> {
        let change = match origin {
            Origin::ConfigFile { .. } => Change::File,
            Origin::AutoFile { .. } => Change::AlterSystem,
            _ => Change::Start,
        };
        let value = check_context(id, change, true).and_then(|()| parse(id, text));
        let value = value.map_err(|error| origin.locate(error))?;
        self.asked.insert((id, origin.precedence()), Asked { value, origin });
        Ok(())
    }

    /// Adds the options of a command line; gives what was no option.
    pub fn command_line(&mut self, arguments: impl IntoIterator<Item = String>) -> Result<Vec<String>> {
        let (values, others) = read_command_line(arguments)?;
        for value in values {
            self.add(value.id, &value.text, Origin::Option(value.option))?;
        }
        Ok(others)
    }

    /// Adds those of the environment's variables that begin with `GEARBOX_`.
    pub fn environment(&mut self, variables: impl IntoIterator<Item = (String, String)>) -> Result<()> {
        for (variable, text) in variables {
            let Some(name) = variable.strip_prefix(VARIABLE_PREFIX) else { continue };
            match find(name) {
                Some(id) if id.setting().variable() == variable => self.add(id, &text, Origin::Variable(variable))?,
                _ => self.notices.push(format!("environment variable {variable} names no setting and is ignored")),
            }
        }
        Ok(())
    }

    /// Adds the configuration file's text. `path` is for messages and `pg_settings`.
    pub fn config_file(&mut self, path: &str, text: &str) -> Result<()> {
        self.file(path, text, |path, line| Origin::ConfigFile { path, line })
    }

    /// Adds the text of the file that `ALTER SYSTEM` writes. `path` is for messages and `pg_settings`.
    pub fn auto_file(&mut self, path: &str, text: &str) -> Result<()> {
        self.file(path, text, |path, line| Origin::AutoFile { path, line })
    }

    fn file(&mut self, path: &str, text: &str, origin: impl Fn(String, u32) -> Origin) -> Result<()> {
        for assignment in read_file(path, text)? {
            self.add(assignment.id, &assignment.text, origin(path.to_owned(), assignment.line))?;
        }
        Ok(())
    }

    pub(crate) fn winner(&self, id: SettingId) -> Asked {
        let layers = self.asked.range((id, 0)..=(id, u8::MAX));
        let default = || Asked { value: id.setting().default_value(), origin: Origin::Default };
        layers.last().map_or_else(default, |(_, asked)| asked.clone())
    }

    /// What the layers added so far say, and which of them.
    pub fn value(&self, id: SettingId) -> (Value, Origin) {
        let Asked { value, origin } = self.winner(id);
        (value, origin)
    }

    /// The values of the server on that machine, checked against each other.
    pub fn effective(&self, machine: Machine) -> Result<Effective> {
        Effective::new(self, machine, self.notices.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Source;

    const MACHINE: Machine = Machine { cpus: 2, memory_bytes: 8 << 30 };

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    /// Adds the layers of which the bit is set, in the given order, each with another value for `work_mem`.
    fn layered(mask: u8, order: [u8; 4]) -> Effective {
        let mut layers = Layers::new();
        for layer in order.into_iter().filter(|layer| mask & 1 << layer != 0) {
            match layer {
                0 => layers.config_file("g.toml", "\nwork_mem = '101kB'\n"),
                1 => layers.auto_file("auto.toml", "work_mem = '102kB'\n"),
                2 => layers.environment(variables(&[("GEARBOX_WORK_MEM", "103kB"), ("PATH", "/bin")])),
                _ => layers.command_line(words("--work-mem 1MB serve -c work_mem=104kB")).map(|_| ()),
            }
            .unwrap();
        }
        layers.effective(MACHINE).unwrap()
    }

    #[test]
    fn the_highest_layer_wins_in_whatever_order() {
        for mask in 0..16_u8 {
            for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
                let effective = layered(mask, order);
                let (number, origin) = match mask.checked_ilog2() {
                    None => (4096, "default"),
                    Some(0) => (101, "g.toml, line 2"),
                    Some(1) => (102, "auto.toml, line 1"),
                    Some(2) => (103, "environment variable GEARBOX_WORK_MEM"),
                    Some(_) => (104, "option -c work_mem"),
                };
                assert_eq!(effective.integer(SettingId::WorkMem), number, "layers {mask:b}");
                assert_eq!(effective.origin(SettingId::WorkMem).to_string(), origin);
            }
        }
    }

    #[test]
    fn sources_are_postgresqls() {
        let sources: Vec<_> = [0, 1, 2, 4, 8]
            .map(|mask| layered(mask, [0, 1, 2, 3]).origin(SettingId::WorkMem).source())
            .into_iter()
            .collect();
        use Source::{CommandLine, ConfigurationFile, Default, EnvironmentVariable};
        assert_eq!(sources, [Default, ConfigurationFile, ConfigurationFile, EnvironmentVariable, CommandLine]);
    }

    #[test]
    fn the_last_option_wins_and_others_come_back() {
        let mut layers = Layers::new();
        let others = layers.command_line(words("serve --engine process --engine thread")).unwrap();
        assert_eq!(others, ["serve"]);
        assert_eq!(layers.effective(MACHINE).unwrap().word(SettingId::Engine), "thread");
    }

    #[test]
    fn files_are_found_step_by_step() {
        let mut layers = Layers::new();
        layers.command_line(words("--config g.toml")).unwrap();
        assert_eq!(layers.value(SettingId::ConfigFile).0, Value::Text("g.toml".to_owned()));
        layers.config_file("g.toml", "data_directory = '/data'\n").unwrap();
        let (value, origin) = layers.value(SettingId::DataDirectory);
        assert_eq!(value, Value::Text("/data".to_owned()));
        assert_eq!(origin.file(), Some(("g.toml", 1)));
    }

    #[test]
    fn errors_name_their_place() {
        type Add = fn(&mut Layers) -> Result<()>;
        let cases: [(Add, &str); 8] = [
            (
                |layers| layers.config_file("g.toml", "# a\nengine = 'thred'\n"),
                "g.toml, line 2: invalid value for parameter \"engine\": \"thred\" (22023); \
                 hint: Available values: process, thread.",
            ),
            (
                |layers| layers.environment(variables(&[("GEARBOX_ENGINES", "many")])),
                "environment variable GEARBOX_ENGINES: invalid value for parameter \"engines\": \"many\" (22023)",
            ),
            (
                |layers| layers.command_line(words("--wait poll")).map(|_| ()),
                "option --wait: invalid value for parameter \"wait_primitive\": \"poll\" (22023); \
                 hint: Available values: futex, posix, sysv, eventfd.",
            ),
            (
                |layers| layers.config_file("g.toml", "fsync = false\n"),
                "g.toml, line 1: parameter \"fsync\" cannot be changed (55P02)",
            ),
            (
                |layers| layers.config_file("g.toml", "config_file = 'x'\n"),
                "g.toml, line 1: parameter \"config_file\" cannot be set in a file (55P02)",
            ),
            (
                |layers| layers.auto_file("auto.toml", "data_directory = 'x'\n"),
                "auto.toml, line 1: parameter \"data_directory\" cannot be changed (55P02)",
            ),
            (
                |layers| layers.command_line(words("--engine sim")).map(|_| ()),
                "option --engine: invalid value for parameter \"engine\": \"sim\" (22023); \
                 hint: Available values: process, thread.",
            ),
            (
                |layers| layers.command_line(words("--listen 5433")).map(|_| ()),
                "option --listen: invalid value for parameter \"listen\": \"5433\" (22023); \"5433\" is not ADDRESS:PORT, \
                 for example 127.0.0.1:5433, [::1]:5433 or *:5433.",
            ),
        ];
        for (add, expected) in cases {
            let error = add(&mut Layers::new()).unwrap_err().to_string();
            assert_eq!(error, format!("ERROR: {expected}"));
        }
    }

    #[test]
    fn a_variable_that_is_no_setting_is_noticed() {
        let mut layers = Layers::new();
        layers.environment(variables(&[("GEARBOX_ENGIN", "x"), ("GEARBOX_engine", "process")])).unwrap();
        let effective = layers.effective(MACHINE).unwrap();
        assert_eq!(effective.word(SettingId::Engine), "thread");
        assert_eq!(
            effective.notices(),
            [
                "environment variable GEARBOX_ENGIN names no setting and is ignored",
                "environment variable GEARBOX_engine names no setting and is ignored"
            ]
        );
    }
}
