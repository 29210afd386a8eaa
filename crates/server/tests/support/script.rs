//! The script language: what sessions do, and what happens.
//!
//! ```text
//! # A comment, kept.
//! s1: BEGIN
//! s1: SELECT a, b FROM t
//!   ORDER BY a            (a line that begins with two spaces goes on with the command before it)
//! ---
//! s1: BEGIN
//! s1: a | b
//!     1 | x
//!     2 | ∅
//! ```
//!
//! A block is its commands, a line `---`, and the answers, up to an empty line. Commands of different sessions run in the
//! order in which they stand; a statement that has not come back after a while is shown as `<waiting>`, and its answer is
//! shown where it arrives, after the command that let it go on. Beside statements there are commands of the test itself:
//!
//! | command | what it does |
//! |---|---|
//! | `s1: !close` | ends the session |
//! | `!restart` | stops the server in good order and starts it again |
//! | `!crash` | kills the server and starts it again |
//! | `!sleep MS` | lets time pass |
//!
//! The further lines of a `COPY … FROM STDIN` are its data; the answer to a `COPY … TO STDOUT` is what was copied.

use super::server::Server;
use postgres::{Client, SimpleQueryMessage};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long a statement may take before it counts as waiting.
const PATIENCE: Duration = Duration::from_millis(300);
/// How long a waiting statement may take to come back after what it waited for has ended.
const PATIENCE_AFTER: Duration = Duration::from_millis(150);
/// How long an answer may take that is expected.
const PATIENCE_EXPECTED: Duration = Duration::from_secs(20);

/// A script file.
pub struct Script {
    /// Its text.
    pub text: String,
}

/// A block that is being run: what has happened, and what is expected to happen. A busy machine is slow, so what is expected is
/// waited for, and only what is expected to wait is left waiting.
struct Block<'b> {
    out: &'b mut String,
    /// Where the block's answers begin.
    begin: usize,
    expected: &'b str,
}

impl Block<'_> {
    /// What is expected next; none if it is not known.
    fn next(&self) -> Option<&str> {
        self.expected.strip_prefix(&self.out[self.begin..]).filter(|next| !next.is_empty())
    }

    /// Is that session's answer expected next?
    fn is_next(&self, name: &str) -> bool {
        self.next()
            .and_then(|next| next.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with(": ") && !rest.starts_with(": <waiting>"))
    }

    /// How long to wait for a session's answer.
    fn patience(&self, name: &str, unknown: Duration) -> Duration {
        match self.is_next(name) {
            true => PATIENCE_EXPECTED,
            false => unknown,
        }
    }
}

/// One session of a script: a thread that holds the connection and runs one statement at a time.
struct Session {
    statements: Sender<String>,
    answers: Receiver<String>,
    waiting: bool,
}

impl Session {
    fn open(server: &Server) -> Session {
        let mut client = server.connect();
        let (statements, inbox) = channel::<String>();
        let (outbox, answers) = channel();
        std::thread::spawn(move || {
            for statement in inbox {
                if outbox.send(answer(&mut client, &statement)).is_err() {
                    return;
                }
            }
        });
        Session { statements, answers, waiting: false }
    }

    /// The answer, if it comes within the time.
    fn wait(&mut self, patience: Duration) -> Option<String> {
        match self.answers.recv_timeout(patience) {
            Ok(answer) => {
                self.waiting = false;
                Some(answer)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some("<gone>\n".into()),
        }
    }
}

fn answer(client: &mut Client, statement: &str) -> String {
    let mut text = String::new();
    let copied = match statement.split_once('\n').unwrap_or((statement, "")) {
        // One without data is to be refused, which ends the client's own way of copying.
        (copy, data) if copy.starts_with("COPY") && copy.contains("FROM STDIN") && !data.is_empty() => {
            copy_in(client, copy, data)
        }
        (copy, _) if copy.starts_with("COPY") && copy.contains("TO STDOUT") => copy_out(client, statement),
        _ => {
            return simple(client, statement);
        }
    };
    match copied {
        Ok(answer) => text.push_str(&answer),
        Err(error) => show_error(&mut text, &error),
    }
    text
}

/// `COPY … FROM STDIN`; the further lines of the command are the data.
fn copy_in(client: &mut Client, statement: &str, data: &str) -> Result<String, postgres::Error> {
    let mut writer = client.copy_in(statement)?;
    // Cut into small pieces, as a network may.
    for piece in data.as_bytes().chunks(7) {
        std::io::Write::write_all(&mut writer, piece).expect("what is written is kept until it is sent");
    }
    Ok(format!("({})\n", writer.finish()?))
}

fn copy_out(client: &mut Client, statement: &str) -> Result<String, postgres::Error> {
    let mut text = String::new();
    let mut reader = client.copy_out(statement)?;
    if let Err(error) = std::io::Read::read_to_string(&mut reader, &mut text) {
        let _ = writeln!(text, "<broken off> {error}");
    }
    Ok(text)
}

fn simple(client: &mut Client, statement: &str) -> String {
    let mut text = String::new();
    match client.simple_query(statement) {
        Ok(messages) => {
            for message in messages {
                match message {
                    SimpleQueryMessage::RowDescription(columns) => {
                        let names: Vec<_> = columns.iter().map(|column| column.name()).collect();
                        let _ = writeln!(text, "{}", names.join(" | "));
                    }
                    SimpleQueryMessage::Row(row) => {
                        let values: Vec<_> = (0..row.len()).map(|at| row.get(at).unwrap_or("∅")).collect();
                        let _ = writeln!(text, "{}", values.join(" | "));
                    }
                    SimpleQueryMessage::CommandComplete(rows) => {
                        let _ = writeln!(text, "({rows})");
                    }
                    _ => {}
                }
            }
        }
        Err(error) => show_error(&mut text, &error),
    }
    text
}

fn show_error(text: &mut String, error: &postgres::Error) {
    match error.as_db_error() {
        Some(error) => {
            let _ = writeln!(text, "{} {}: {}", error.severity(), error.code().code(), error.message());
            if let Some(detail) = error.detail() {
                // Who is in a deadlock is told by numbers that are others in each run.
                let detail = match error.code().code() {
                    "40P01" => detail.replace(|c: char| c.is_ascii_digit(), "#").replace("##", "#").replace("##", "#"),
                    _ => detail.to_string(),
                };
                let _ = writeln!(text, "detail: {detail}");
            }
            if let Some(hint) = error.hint() {
                let _ = writeln!(text, "hint: {hint}");
            }
        }
        None => text.push_str("<gone>\n"),
    }
}

/// Joins an answer to its session's name, every further line below the first.
fn show(out: &mut String, name: &str, answer: &str) {
    for (index, line) in answer.lines().enumerate() {
        let lead = if index == 0 { format!("{name}:") } else { " ".repeat(name.len() + 1) };
        let _ = writeln!(out, "{lead} {line}");
    }
}

impl Script {
    /// Reads a script.
    pub fn read(path: &Path) -> Script {
        Script { text: std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())) }
    }

    /// Runs the commands; answers the script's text with what has happened.
    pub fn run(&self, server: &mut Server) -> String {
        let mut out = String::new();
        let mut sessions: BTreeMap<String, Session> = BTreeMap::new();
        let mut lines = self.text.lines().peekable();
        while let Some(line) = lines.next() {
            if line.is_empty() || line.starts_with('#') {
                let _ = writeln!(out, "{line}");
                continue;
            }
            // A block: commands with their further lines, then `---`, then old answers, which are passed over.
            let mut commands = vec![line.to_string()];
            let _ = writeln!(out, "{line}");
            for line in lines.by_ref() {
                if line == "---" {
                    break;
                }
                let _ = writeln!(out, "{line}");
                match line.strip_prefix("  ") {
                    Some(more) => {
                        let last = commands.last_mut().expect("a block begins with a command");
                        last.push('\n');
                        last.push_str(more);
                    }
                    None if line.starts_with('#') => {}
                    None => commands.push(line.to_string()),
                }
            }
            out.push_str("---\n");
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.is_empty()) {
                let _ = writeln!(expected, "{line}");
            }
            let begin = out.len();
            for command in commands {
                let mut block = Block { out: &mut out, begin, expected: &expected };
                self.command(&command, server, &mut sessions, &mut block);
            }
        }
        for (name, session) in &mut sessions {
            if session.waiting && session.wait(Duration::from_secs(5)).is_none() {
                let _ = writeln!(out, "{name}: <still waiting at the end>");
            }
        }
        out
    }

    fn command(
        &self,
        command: &str,
        server: &mut Server,
        sessions: &mut BTreeMap<String, Session>,
        block: &mut Block<'_>,
    ) {
        match command.split_once(' ').unwrap_or((command, "")) {
            ("!restart", _) => {
                sessions.clear();
                server.shut_down();
                server.start_again();
            }
            ("!crash", _) => {
                server.crash();
                sessions.clear();
                server.start_again();
            }
            ("!sleep", span) => {
                let span = span.parse().unwrap_or_else(|_| panic!("not a time: {command}"));
                std::thread::sleep(Duration::from_millis(span));
            }
            (name, "!close") => {
                sessions.remove(name.trim_end_matches(':'));
            }
            (name, statement) if name.ends_with(':') => {
                let name = name.trim_end_matches(':').to_string();
                let session = sessions.entry(name.clone()).or_insert_with(|| Session::open(server));
                assert!(!session.waiting, "{name} is given a statement while it waits: {statement}");
                session.statements.send(statement.to_string()).expect("the session's thread runs");
                match session.wait(block.patience(&name, PATIENCE)) {
                    Some(answer) => show(block.out, &name, &answer),
                    None => {
                        session.waiting = true;
                        show(block.out, &name, "<waiting>\n");
                    }
                }
            }
            _ => panic!("not a command: {command}"),
        }
        // What waited may have come back; in the order that is expected, if one is.
        loop {
            let mut waiting: Vec<&String> =
                sessions.iter().filter(|(_, session)| session.waiting).map(|(name, _)| name).collect();
            waiting.sort_by_key(|name| !block.is_next(name));
            let Some(name) = waiting.first().map(|name| name.to_string()) else { return };
            let is_next = block.is_next(&name);
            let session = sessions.get_mut(&name).expect("it was just found");
            match session.wait(block.patience(&name, PATIENCE_AFTER)) {
                Some(answer) => show(block.out, &name, &answer),
                None if is_next => return,
                None => break,
            }
        }
        for (name, session) in sessions.iter_mut().filter(|(_, session)| session.waiting) {
            if let Some(answer) = session.wait(Duration::from_millis(1)) {
                show(block.out, name, &answer);
            }
        }
    }
}
