//! The `options` parameter of a startup packet: a command line of settings.
//!
//! `PGOPTIONS='-c work_mem=4MB --geqo=off' psql` arrives here as one string. PostgreSQL splits it at white space, a
//! backslash protecting the next character, and reads the words as its own command line. Of that command line only the
//! two ways to give a setting are left here: `-c name=value` (the value may be the next word) and `--name=value`, with
//! dashes in the name standing for underscores. Everything else is refused in PostgreSQL's words.

use base::{Error, Result, sqlstate};

/// The settings in `line`, in order: a later one overrides an earlier one of the same name.
pub fn settings(line: &str) -> Result<Vec<(String, String)>> {
    let mut words = words(line).into_iter();
    let mut settings = Vec::new();
    while let Some(word) = words.next() {
        if let Some(rest) = word.strip_prefix("-c") {
            let given = if rest.is_empty() { words.next() } else { Some(rest.to_owned()) };
            let given = given.ok_or_else(|| invalid_argument(&word))?;
            settings.push(setting(&given, "-c ")?);
        } else if word == "--" {
            // The end of the switches: whatever follows is an argument, and there are none.
            return words.next().map_or(Ok(settings), |argument| Err(invalid_argument(&argument)));
        } else if let Some(rest) = word.strip_prefix("--") {
            settings.push(setting(rest, "--")?);
        } else {
            return Err(invalid_argument(&word));
        }
    }
    Ok(settings)
}

fn setting(given: &str, switch: &str) -> Result<(String, String)> {
    match given.split_once('=') {
        Some((name, value)) => Ok((name.replace('-', "_"), value.to_owned())),
        None => Err(Error::session(sqlstate::SYNTAX_ERROR, format!("{switch}{given} requires a value"))),
    }
}

fn invalid_argument(word: &str) -> Error {
    Error::session(sqlstate::SYNTAX_ERROR, format!("invalid command-line argument for server process: {word}"))
        .hint("Only \"-c name=value\" and \"--name=value\" are understood.")
}

/// `line` split at white space that no backslash precedes; the backslash itself is dropped.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut escaped = false;
    for character in line.chars() {
        let space = matches!(character, ' ' | '\t'..='\r');
        if escaped {
            word.get_or_insert_default().push(character);
            escaped = false;
        } else if space {
            words.extend(word.take());
        } else {
            escaped = character == '\\';
            let word = word.get_or_insert_default();
            if !escaped {
                word.push(character);
            }
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_in_all_their_forms() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("", &[]),
            ("  \t ", &[]),
            ("-c work_mem=4MB", &[("work_mem", "4MB")]),
            ("-cwork_mem=4MB\n--enable-seqscan=off", &[("work_mem", "4MB"), ("enable_seqscan", "off")]),
            (r"-c application_name=a\ b\\c", &[("application_name", r"a b\c")]),
            (r"-c search_path=\ ", &[("search_path", " ")]),
            ("-c a=b=c -c a=", &[("a", "b=c"), ("a", "")]),
            ("--c=1", &[("c", "1")]),
            ("--a=1 --", &[("a", "1")]),
        ];
        for (line, expected) in cases {
            let found = settings(line).unwrap();
            let found: Vec<(&str, &str)> = found.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            assert_eq!(&found, expected, "{line:?}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let cases = [
            ("-c", "invalid command-line argument for server process: -c"),
            ("-c work_mem", "-c work_mem requires a value"),
            ("--work_mem", "--work_mem requires a value"),
            ("-- a=b", "invalid command-line argument for server process: a=b"),
            ("-B 100", "invalid command-line argument for server process: -B"),
            ("work_mem=1", "invalid command-line argument for server process: work_mem=1"),
        ];
        for (line, message) in cases {
            let error = settings(line).unwrap_err();
            assert_eq!((error.sqlstate(), error.message()), (sqlstate::SYNTAX_ERROR, message), "{line:?}");
            assert_eq!(error.kind(), base::Kind::Session);
        }
    }
}
