//! Settings on the command line.
//!
//! Every setting is an option: `--work-mem 64MB` or `--work-mem=64MB`; `-c work_mem=64MB` is the same. A few have a
//! short form as well (`--data`, `--wait`, `--io`, `--config`), which is what `--help` shows ([`options_help`]).
//!
//! A client's startup message may carry options too (`PGOPTIONS`, `options=-c work_mem=64MB`): one text, which
//! [`read_startup_options`] takes apart as PostgreSQL does.

use super::parse::lookup;
use super::setting::{Kind, Setting};
use super::table::{SettingId, TABLE};
use super::text::TextRule;
use crate::{Error, Result, sqlstate};

/// One setting of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionValue {
    /// The setting.
    pub id: SettingId,
    /// The value's text.
    pub text: String,
    /// The option as it was written, for messages.
    pub option: String,
}

/// Takes the settings out of a command line; gives them and what else there was (commands, file names), in order.
///
/// An option that is no setting is an error: the caller takes its own options (`--help`) out first.
pub fn read_command_line(arguments: impl IntoIterator<Item = String>) -> Result<(Vec<OptionValue>, Vec<String>)> {
    let (mut values, mut others) = (Vec::new(), Vec::new());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            others.extend(arguments.by_ref());
        } else if !argument.starts_with('-') || argument == "-" {
            others.push(argument);
        } else {
            values.push(read_option(&argument, &mut arguments)?);
        }
    }
    Ok((values, others))
}

fn read_option(argument: &str, rest: &mut impl Iterator<Item = String>) -> Result<OptionValue> {
    let (option, attached) = match argument.split_once('=') {
        Some((option, value)) if option.starts_with("--") => (option, Some(value.to_owned())),
        _ => (argument, None),
    };
    if option == "-c" {
        let pair = rest.next().ok_or_else(|| usage("option \"-c\" needs NAME=VALUE".to_owned()))?;
        let (name, text) =
            pair.split_once('=').ok_or_else(|| usage(format!("option \"-c\" needs NAME=VALUE, not \"{pair}\"")))?;
        return Ok(OptionValue { id: lookup(name)?, text: text.to_owned(), option: format!("-c {name}") });
    }
    let id = find_option(option).ok_or_else(|| {
        usage(format!("unrecognized option \"{option}\"")).hint("Try \"gearbox --help\" for a list of options.")
    })?;
    let text = attached.or_else(|| rest.next()).ok_or_else(|| {
        usage(format!("option \"{option}\" needs a value")).hint(format!("Values: {}.", id.setting().values_text()))
    })?;
    Ok(OptionValue { id, text, option: option.to_owned() })
}

/// The setting of an option, by its short form or by its name with hyphens or underscores.
pub fn find_option(option: &str) -> Option<SettingId> {
    let name = option.strip_prefix("--")?.replace('-', "_");
    let fits = |setting: &&Setting| setting.option == Some(option) || setting.name.eq_ignore_ascii_case(&name);
    TABLE.iter().find(fits).map(|setting| setting.id)
}

/// Takes the options of a client's startup message apart: names and values, in order. They are then set as by `SET`.
///
/// Words are separated by white space; a backslash makes the next character part of a word.
pub fn read_startup_options(options: &str) -> Result<Vec<(String, String)>> {
    let mut words = startup_words(options).into_iter();
    let mut pairs = Vec::new();
    while let Some(word) = words.next() {
        let wrong = || {
            let message = format!("invalid command-line argument for server process: {word}");
            Error::session(sqlstate::SYNTAX_ERROR, message)
        };
        let pair = match word.strip_prefix("--") {
            Some(pair) => pair.to_owned(),
            None => match word.strip_prefix("-c").ok_or_else(wrong)? {
                "" => words.next().ok_or_else(wrong)?,
                attached => attached.to_owned(),
            },
        };
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        pairs.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(pairs)
}

fn startup_words(options: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = options.chars();
    while let Some(character) = characters.next() {
        if character.is_ascii_whitespace() {
            words.extend(word.take());
        } else {
            let literal = if character == '\\' { characters.next() } else { Some(character) };
            word.get_or_insert_default().extend(literal);
        }
    }
    words.extend(word);
    words
}

fn usage(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// The lines of `--help` for the options that have a short form, in the table's order.
pub fn options_help() -> String {
    let mut help = String::new();
    for setting in &TABLE {
        let Some(option) = setting.option else { continue };
        let form = format!("{option} {}", placeholder(setting));
        let default = super::show(setting.id, setting.default_value().as_ref());
        let default = if default.is_empty() { "none".to_owned() } else { default };
        let doc = setting.short_doc().trim_end_matches('.').replace('`', "");
        help.push_str(&format!("  {form}\n        {doc} (default: {default})\n"));
    }
    help
}

/// What stands for the value in `--help`.
fn placeholder(setting: &Setting) -> String {
    match setting.kind {
        Kind::Enum { choices, .. } => choices.list().replace(", ", "|"),
        Kind::Bool { .. } => "on|off".to_owned(),
        Kind::Integer { .. } | Kind::Real { .. } => "N".to_owned(),
        Kind::Text { rule: TextRule::Directory, .. } => "DIR".to_owned(),
        Kind::Text { rule: TextRule::Path, .. } => "FILE".to_owned(),
        Kind::Text { rule: TextRule::Listen, .. } => "ADDR:PORT".to_owned(),
        Kind::Text { .. } | Kind::DateStyle { .. } => "TEXT".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Vec<OptionValue>, Vec<String>)> {
        read_command_line(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn all_forms() {
        let (values, others) =
            read("serve --data DIR --wait=futex --shared-buffers 1GB --max_connections=5 -c timezone=A/B=C -- --x")
                .unwrap();
        let found: Vec<_> = values.iter().map(|one| (one.id.name(), one.text.as_str(), one.option.as_str())).collect();
        let expected = [
            ("data_directory", "DIR", "--data"),
            ("wait_primitive", "futex", "--wait"),
            ("shared_buffers", "1GB", "--shared-buffers"),
            ("max_connections", "5", "--max_connections"),
            ("TimeZone", "A/B=C", "-c timezone"),
        ];
        assert_eq!(found, expected);
        assert_eq!(others, ["serve", "--x"]);
    }

    #[test]
    fn errors_say_what_to_do() {
        for (line, expected) in [
            (
                "--engin x",
                "ERROR: unrecognized option \"--engin\" (22023); hint: Try \"gearbox --help\" for a list of options.",
            ),
            ("-x", "ERROR: unrecognized option \"-x\" (22023); hint: Try \"gearbox --help\" for a list of options."),
            ("--engine", "ERROR: option \"--engine\" needs a value (22023); hint: Values: process, thread."),
            ("-c", "ERROR: option \"-c\" needs NAME=VALUE (22023)"),
            ("-c engine", "ERROR: option \"-c\" needs NAME=VALUE, not \"engine\" (22023)"),
            ("-c engin=1", "ERROR: unrecognized configuration parameter \"engin\" (42704)"),
        ] {
            assert_eq!(read(line).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn startup_options_are_taken_apart() {
        let read = |text| read_startup_options(text).map_err(|error| error.to_string());
        let pairs = |expected: &[(&str, &str)]| {
            Ok(expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(read(""), pairs(&[]));
        assert_eq!(
            read(" -c work_mem=1MB  -cgeqo=off --statement-timeout=5s -c search_path=a\\ b,c\\\\ "),
            pairs(&[("work_mem", "1MB"), ("geqo", "off"), ("statement_timeout", "5s"), ("search_path", "a b,c\\")])
        );
        for text in ["-d 5", "-c", "-c work_mem", "x"] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with("FATAL: invalid command-line argument for server process: "), "{error}");
        }
    }

    #[test]
    fn options_are_unique_and_every_setting_has_one() {
        for setting in &TABLE {
            assert_eq!(find_option(&setting.option_name()), Some(setting.id));
            let long = format!("--{}", setting.name.replace('_', "-"));
            assert_eq!(find_option(&long), Some(setting.id), "the short form of another setting hides {long}");
        }
    }

    #[test]
    fn help_shows_the_options_of_the_readme() {
        let help = options_help();
        for form in [
            "--data DIR\n",
            "--listen ADDR:PORT\n",
            "--engine process|thread\n",
            "--sessions dedicated|shared|fiber\n",
            "--engines N\n",
            "--wait futex|posix|sysv|eventfd\n",
            "--io uring|workers|sync\n",
            "--config FILE\n",
            "--password-file FILE\n",
        ] {
            assert!(help.contains(form), "{form:?} is not in\n{help}");
        }
    }
}
