//! psql's commands over a schema with everything in it, compared with what PostgreSQL prints for the same schema.
//!
//! `describe.psql` has the commands, a line each, `describe.out` PostgreSQL's answers: `cargo xtask clients psql --postgres --record`
//! writes them. Answers are unaligned, so that a number more or less wide moves nothing else.
//!
//! Rules
//! 1. Sizes and places in the server's source are replaced by a word on both sides: they are the server's own.
//! 2. Every command is sent, whatever came of those before it; all differences are told.

use super::{Address, folder, load};
use crate::{Outcome, tree};
use std::process::Stdio;

/// What stands before each command in psql's output.
const MARK: &str = "@@@ ";

/// Commands with their answers.
type Answers = Vec<(String, String)>;

/// Runs all commands; how many answers were compared.
pub fn run(address: &Address, record: bool) -> Outcome<String> {
    let schemas = "DROP SCHEMA IF EXISTS shop, \"Odd Names\" CASCADE; DROP VIEW IF EXISTS public.spent; \
                   DROP TABLE IF EXISTS public.empty, public.plain; DROP ROLE IF EXISTS reader, writer, keeper; \
                   COMMENT ON SCHEMA public IS 'standard public schema'";
    let clear = |address: &Address| {
        super::output(address.client("psql").args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", schemas]))
    };
    clear(address)?;
    load(address, &folder().join("schema.sql"))?;
    let answers = ask(address)?;
    clear(address)?;
    let file = folder().join("describe.out");
    let compared: Answers = answers.iter().filter(|answer| !answer.0.starts_with('!')).cloned().collect();
    if record {
        let text: String = compared.iter().map(|(command, answer)| format!("{MARK}{command}\n{answer}")).collect();
        tree::write(&file, &text)?;
        return Ok(format!("{} answers written", compared.len()));
    }
    let expected = apart(&tree::read(&file)?);
    let mut told = Vec::new();
    for (command, answer) in &answers {
        if command.starts_with('!') && answer.contains("ERROR:") {
            told.push(format!("{command}\n{answer}"));
        }
    }
    if expected.len() != compared.len() {
        told.push(format!("{} answers, {} recorded", compared.len(), expected.len()));
    }
    for ((command, answer), (_, wanted)) in compared.iter().zip(&expected) {
        if answer != wanted {
            told.push(format!("{command}\n{}", difference(wanted, answer)));
        }
    }
    match told.is_empty() {
        true => Ok(format!("{} answers", answers.len())),
        false => Err(format!("psql: {} answers differ:\n{}", told.len(), told.join("\n"))),
    }
}

/// The lines that one side alone has.
fn difference(wanted: &str, found: &str) -> String {
    let only = |of: &str, other: &str, sign: char| -> String {
        of.lines()
            .filter(|line| !other.lines().any(|known| known == *line))
            .map(|line| format!("{sign} {line}\n"))
            .collect()
    };
    only(wanted, found, '-') + &only(found, wanted, '+')
}

/// What psql prints for each command.
fn ask(address: &Address) -> Outcome<Answers> {
    let commands = tree::read(&folder().join("describe.psql"))?;
    let mut script = String::from("\\pset null '∅'\n\\t off\n");
    for command in commands.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let quoted = command.replace('\\', "\\\\").replace('\'', "''");
        script.push_str(&format!("\\qecho '{MARK}{quoted}'\n{}\n", command.trim_start_matches('!')));
    }
    let file = tree::scratch("describe")?;
    let path = file.join("script.psql");
    tree::write(&path, &script)?;
    // Errors stand where they happen.
    let mut shell = address.client("sh");
    shell.args(["-c", "exec psql -X -q -A -f \"$0\" 2>&1"]).arg(&path).stdin(Stdio::null());
    let done = shell.output().map_err(|error| format!("psql: {error}"))?;
    let text = String::from_utf8_lossy(&done.stdout).replace(&format!("psql:{}", path.display()), "psql");
    let _ = std::fs::remove_dir_all(&file);
    Ok(apart(&text))
}

/// The answers in a text.
fn apart(text: &str) -> Answers {
    let mut answers: Answers = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix(MARK), answers.last_mut()) {
            (Some(command), _) => answers.push((command.to_owned(), String::new())),
            (None, Some((_, answer))) if !line.starts_with("LOCATION:") => {
                answer.push_str(&masked(line));
                answer.push('\n');
            }
            _ => {}
        }
    }
    answers
}

/// A line without sizes, and without the number that psql gives a line of its script.
fn masked(line: &str) -> String {
    let line = match line.strip_prefix("psql:").and_then(|rest| rest.split_once(": ")) {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("psql: {rest}"),
        _ => line.to_owned(),
    };
    let is_size = |field: &str| {
        let unit = field.strip_suffix(" bytes").or(field.strip_suffix(" kB")).or(field.strip_suffix(" MB"));
        unit.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let fields: Vec<&str> = line.split('|').map(|field| if is_size(field) { "SIZE" } else { field }).collect();
    fields.join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_apart_and_sizes_are_none() {
        let text = format!("before\n{MARK}\\d\na|16 kB|x\n(1 row)\n{MARK}!\\l\npsql:12: ERROR:  no\nLOCATION:  here\n");
        let answers = apart(&text);
        assert_eq!(answers[0], ("\\d".to_owned(), "a|SIZE|x\n(1 row)\n".to_owned()));
        assert_eq!(answers[1], ("!\\l".to_owned(), "psql: ERROR:  no\n".to_owned()));
        assert_eq!(answers.len(), 2);
    }

    #[test]
    fn what_differs_is_shown() {
        assert_eq!(difference("a\nb\n", "a\nc\n"), "- b\n+ c\n");
        assert_eq!(difference("a\n", "a\n"), "");
    }
}
