//! Runs the logic tests under `tests/logic`, in the sqllogictest format, against the server: in each execution model and in the mode that
//! moves every session at every request. What is expected was answered by PostgreSQL 15, not by this server.
//!
//! Of a query's columns the types are compared too, by a letter each ([`Wire`]); of an error its SQLSTATE. Rows are compared as they come, columns
//! with ` | ` between, an empty text as `(empty)`, a null as `NULL`, a line's end within a text as `⏎`.
//!
//! | variable | what it does |
//! |---|---|
//! | `LOGIC=select` | only files whose path contains the text |
//! | `MODELS=thread/fiber` | only those models |
//! | `AGAINST=5432` | the server on that port instead |
//! | `UPDATE=1` | writes its answers into the files instead of comparing them; with `AGAINST` only |

mod support;

use postgres::types::Type;
use postgres::{Client, Config, NoTls, SimpleQueryMessage};
use sqllogictest::{ColumnType, DB, DBOutput, Normalizer, Runner};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::server::{MODELS, Model, Server};

/// How many servers run files at the same time.
const AT_ONCE: usize = 4;
const BETWEEN: &str = " | ";
/// What is known of tables is what files have asked for, whenever the background would come round.
const QUIET: &[&str] = &["--autovacuum-analyze-threshold=1000000000"];

/// A column's type, by a letter.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Wire(char);

const LETTERS: [(Type, char); 26] = [
    (Type::BOOL, 'B'),
    (Type::INT2, 's'),
    (Type::INT4, 'I'),
    (Type::INT8, 'L'),
    (Type::OID, 'o'),
    (Type::FLOAT4, 'r'),
    (Type::FLOAT8, 'R'),
    (Type::NUMERIC, 'N'),
    (Type::TEXT, 'T'),
    (Type::VARCHAR, 'V'),
    (Type::BPCHAR, 'C'),
    (Type::CHAR, 'c'),
    (Type::NAME, 'n'),
    (Type::BYTEA, 'x'),
    (Type::DATE, 'D'),
    (Type::TIME, 't'),
    (Type::TIMESTAMP, 'P'),
    (Type::TIMESTAMPTZ, 'Z'),
    (Type::INTERVAL, 'v'),
    (Type::UUID, 'u'),
    (Type::JSON, 'j'),
    (Type::JSONB, 'J'),
    (Type::INT4_ARRAY, 'i'),
    (Type::INT8_ARRAY, 'l'),
    (Type::TEXT_ARRAY, 'a'),
    (Type::VOID, '0'),
];
/// Any other type.
const OTHER: char = 'O';

impl ColumnType for Wire {
    fn from_char(letter: char) -> Option<Wire> {
        Some(Wire(letter))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

/// An error, with its SQLSTATE first.
struct Refusal {
    state: String,
    text: String,
}

impl fmt::Debug for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.state, self.text)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is written into a file is the SQLSTATE: texts may differ.
        if is_updating() { out.write_str(&self.state) } else { write!(out, "{self:?}") }
    }
}

impl std::error::Error for Refusal {}

impl From<postgres::Error> for Refusal {
    fn from(error: postgres::Error) -> Refusal {
        match error.as_db_error() {
            Some(error) => Refusal { state: error.code().code().into(), text: error.message().into() },
            None => Refusal { state: "08000".into(), text: error.to_string() },
        }
    }
}

/// A session.
struct Session(Client);

impl DB for Session {
    type Error = Refusal;
    type ColumnType = Wire;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Wire>, Refusal> {
        let (mut rows, mut has_columns, mut count) = (Vec::new(), false, 0);
        for message in self.0.simple_query(sql)? {
            match message {
                SimpleQueryMessage::RowDescription(_) => (has_columns, rows) = (true, Vec::new()),
                SimpleQueryMessage::Row(row) => rows.push((0..row.len()).map(|at| shown(row.get(at))).collect()),
                SimpleQueryMessage::CommandComplete(done) => count = done,
                _ => {}
            }
        }
        if !has_columns {
            return Ok(DBOutput::StatementComplete(count));
        }
        // The simple protocol's answer does not get as far as here with its types.
        let prepared = self.0.prepare(sql)?;
        Ok(DBOutput::Rows { types: prepared.columns().iter().map(|column| letter(column.type_())).collect(), rows })
    }

    fn engine_name(&self) -> &str {
        "gearbox"
    }

    fn error_sql_state(error: &Refusal) -> Option<String> {
        Some(error.state.clone())
    }
}

fn letter(of: &Type) -> Wire {
    Wire(LETTERS.iter().find(|(known, _)| known == of).map_or(OTHER, |(_, letter)| *letter))
}

fn shown(value: Option<&str>) -> String {
    match value {
        None => "NULL".into(),
        Some("") => "(empty)".into(),
        Some(text) => text.replace('\n', "⏎"),
    }
}

/// Texts keep their spaces, but for those at the end, which a file may lose.
#[expect(clippy::ptr_arg, reason = "the runner's type of function")]
fn normal(text: &String) -> String {
    text.trim_end().to_string()
}

fn rows_are_equal(normal: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    let actual: Vec<String> = actual.iter().map(|row| normal(&row.join(BETWEEN))).collect();
    actual == expected.iter().map(normal).collect::<Vec<_>>()
}

fn types_are_equal(actual: &Vec<Wire>, expected: &Vec<Wire>) -> bool {
    actual == expected
}

fn is_updating() -> bool {
    std::env::var("UPDATE").is_ok()
}

fn files(below: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            found.push(path);
        }
    }
}

fn connect(port: u16) -> Result<Session, Refusal> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(port).user("postgres").dbname("postgres");
    let mut client = config.connect(NoTls)?;
    client.batch_execute("set search_path to logic, public")?;
    Ok(Session(client))
}

/// Runs a file against a server, from an empty schema on; answers what differs.
fn run_file(port: u16, path: &Path) -> Option<String> {
    let start = || -> Result<(), Refusal> {
        let mut session = connect(port)?;
        session.0.batch_execute("drop schema if exists logic cascade")?;
        session.0.batch_execute("create schema logic")?;
        Ok(())
    };
    if let Err(error) = start() {
        return Some(format!("{}: {error}", path.display()));
    }
    let mut runner = Runner::new(|| async move { connect(port) });
    runner.with_normalizer(normal);
    runner.with_validator(rows_are_equal);
    runner.with_column_validator(types_are_equal);
    if is_updating() {
        let update = runner.update_test_file(path, BETWEEN, rows_are_equal, normal, types_are_equal);
        return futures::executor::block_on(update).err().map(|error| format!("{}: {error}", path.display()));
    }
    // Each record for itself: one that differs does not hide the others.
    let records = match sqllogictest::parse_file::<Wire>(path) {
        Ok(records) => records,
        Err(error) => return Some(error.to_string()),
    };
    let different: Vec<String> = records
        .into_iter()
        .filter_map(|record| runner.run(record).err())
        .map(|error| error.display(false).to_string())
        .collect();
    runner.shutdown();
    (!different.is_empty()).then(|| different.join("\n"))
}

#[test]
fn answers_are_postgresqls_in_every_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/logic").canonicalize().unwrap();
    let filter = std::env::var("LOGIC").unwrap_or_default();
    let models = std::env::var("MODELS").unwrap_or_default();
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.retain(|path| path.to_string_lossy().contains(&filter));
    assert!(!paths.is_empty(), "no file matches LOGIC={filter}");
    if let Ok(port) = std::env::var("AGAINST") {
        let port = port.parse().expect("AGAINST is a port");
        let failures: Vec<String> = paths.iter().filter_map(|path| run_file(port, path)).collect();
        assert!(failures.is_empty(), "{} of {} files:\n\n{}", failures.len(), paths.len(), failures.join("\n"));
        return;
    }
    assert!(!is_updating(), "what is expected is PostgreSQL's to say: UPDATE needs AGAINST");
    let is_wanted = |model: &&Model| models.is_empty() || models.split(',').any(|one| one == model.name());
    let setups: Vec<(Model, bool)> =
        MODELS.iter().filter(is_wanted).flat_map(|model| [(*model, false), (*model, true)]).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&(model, moving)) = setups.get(next.fetch_add(1, Relaxed)) {
                    let server = Server::start_with(model, moving, QUIET);
                    for failure in paths.iter().filter_map(|path| run_file(server.port(), path)) {
                        let moving = if moving { ", moving" } else { "" };
                        failures.lock().unwrap().push(format!("in {}{moving}: {failure}", model.name()));
                    }
                    server.stop();
                }
            });
        }
    });
    let (failures, runs) = (failures.into_inner().unwrap(), setups.len() * paths.len());
    assert!(failures.is_empty(), "{} of {runs} files differ:\n\n{}", failures.len(), failures.join("\n"));
}
