//! `cargo xtask tpch`: TPC-H's 22 queries on Gearbox and on a PostgreSQL that is running, answers compared, times beside each other.
//!
//! ```text
//! files:    gearbox lab tpch DIR --scale HUNDREDTHS
//! load:     psql -f load.sql into both                  unless --loaded says that the rows are there
//! measure:  for each query, rounds in turns; medians of the wall clock and of the servers' CPU time
//! ```
//!
//! PostgreSQL is told to use one process for a query (`max_parallel_workers_per_gather = 0`), as Gearbox does.
//!
//! Rules
//! 1. Answers are compared as text, row by row: all 22 queries say their order, or give one row.
//! 2. Times are taken with the tables in memory: a query's first run is not counted.
//! 3. An answer that differs, or an error, makes the command fail; a time does not.

use crate::args::Args;
use crate::model::Settings;
use crate::server_under_test::{Launch, ServerUnderTest, connect};
use crate::{Outcome, tree};
use postgres::{Client, SimpleQueryMessage};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// A server that is measured.
struct Side {
    client: Client,
    port: u16,
    /// The processes whose CPU time counts.
    processes: Vec<u32>,
}

/// What a run of a query came to.
struct Run {
    wall: Duration,
    /// In seconds.
    cpu: f64,
    answer: Outcome<Vec<String>>,
}

/// Runs the command.
pub fn run(mut args: Args) -> Outcome<()> {
    let scale = args.value::<u32>("--scale")?.unwrap_or(10).max(1);
    let rounds = args.value::<usize>("--rounds")?.unwrap_or(5).max(1);
    let numbers = args.list::<usize>("--queries", (1..=22).collect())?;
    let postgres = args.value::<u16>("--postgres")?.unwrap_or(5432);
    let gearbox = args.value::<u16>("--gearbox")?;
    let model = args.value("--model")?.unwrap_or(crate::model::MODELS[5]);
    let loaded = args.flag("--loaded");
    let asked = args.value::<PathBuf>("--binary")?;
    args.done()?;
    let binary = tree::binary(asked, tree::Profile::Release)?;
    let dir = tree::scratch("tpch")?;
    make_files(&binary, &dir, scale)?;
    let server = match gearbox {
        Some(_) => None,
        None => {
            let settings = Settings::of(model);
            let launch = Launch { program: &binary, subcommand: "serve", settings, cpus: None };
            Some(ServerUnderTest::start(&launch)?)
        }
    };
    let port = gearbox.or(server.as_ref().map(ServerUnderTest::port)).unwrap_or_default();
    if !loaded {
        load(&dir, port)?;
        load(&dir, postgres)?;
    }
    let own = server.as_ref().map(|server| server.processes().iter().map(|process| process.pid).collect());
    let mut ours = Side { client: connect(port)?, port, processes: own.unwrap_or_default() };
    let mut theirs = Side { client: connect(postgres)?, port: postgres, processes: Vec::new() };
    theirs.processes = backend(&mut theirs.client)?;
    let alone = "SET max_parallel_workers_per_gather = 0";
    theirs.client.batch_execute(alone).map_err(|error| format!("{alone}: {error}"))?;
    let outcome = compare(&dir, &numbers, rounds, &mut ours, &mut theirs);
    drop(ours);
    if let Some(server) = server {
        server.stop()?;
    }
    let _ = std::fs::remove_dir_all(&dir);
    outcome
}

fn make_files(binary: &Path, dir: &Path, scale: u32) -> Outcome<()> {
    let mut command = Command::new(binary);
    command.args(["lab", "tpch", &dir.display().to_string(), "--scale", &scale.to_string()]);
    match command.status().map_err(|error| format!("{}: {error}", binary.display()))? {
        status if status.success() => Ok(()),
        status => Err(format!("gearbox lab tpch ended with {status}")),
    }
}

fn load(dir: &Path, port: u16) -> Outcome<()> {
    let mut command = Command::new("psql");
    command.current_dir(dir).args(["-X", "-q", "-h", "127.0.0.1", "-U", "postgres", "-d", "postgres"]);
    command.args(["-p", &port.to_string(), "-f", "load.sql"]);
    command.env("PGOPTIONS", "-c client_min_messages=warning");
    let output = command.output().map_err(|error| format!("psql: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("port {port}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// The process behind a connection, of a server on this machine.
fn backend(client: &mut Client) -> Outcome<Vec<u32>> {
    let row = client.query_one("SELECT pg_backend_pid()", &[]).map_err(|error| format!("pg_backend_pid: {error}"))?;
    Ok(vec![row.get::<_, i32>(0) as u32])
}

fn compare(dir: &Path, numbers: &[usize], rounds: usize, ours: &mut Side, theirs: &mut Side) -> Outcome<()> {
    println!("query     gearbox ms  (CPU)   postgresql ms  (CPU)   ratio");
    let mut failed = Vec::new();
    let (mut all_ours, mut all_theirs) = (Duration::ZERO, Duration::ZERO);
    for &number in numbers {
        let text = tree::read(&dir.join(format!("q{number}.sql")))?;
        let (first, other) = (ours.run(&text), theirs.run(&text));
        let complaint = match (&first.answer, &other.answer) {
            (Ok(mine), Ok(right)) if mine == right => None,
            (Ok(mine), Ok(right)) => Some(difference(mine, right)),
            (Err(text), _) => Some(format!("gearbox at {}: {text}", ours.port)),
            (_, Err(text)) => Some(format!("postgresql at {}: {text}", theirs.port)),
        };
        if let Some(complaint) = complaint {
            println!("{number:>5}     {complaint}");
            failed.push(number.to_string());
            continue;
        }
        let (mut mine, mut other) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            mine.push(ours.run(&text));
            other.push(theirs.run(&text));
        }
        let ((wall, cpu), (their_wall, their_cpu)) = (median(&mine), median(&other));
        all_ours += wall;
        all_theirs += their_wall;
        println!(
            "{number:>5} {:>14.1} {:>8.0} {:>13.1} {:>8.0} {:>7.2}",
            milliseconds(wall),
            cpu * 1000.0,
            milliseconds(their_wall),
            their_cpu * 1000.0,
            wall.as_secs_f64() / their_wall.as_secs_f64(),
        );
    }
    println!(
        "  all {:>14.1} {:>22.1} {:>16.2}",
        milliseconds(all_ours),
        milliseconds(all_theirs),
        all_ours.as_secs_f64() / all_theirs.as_secs_f64().max(1e-9),
    );
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("these queries' answers differ: {}", failed.join(", "))),
    }
}

impl Side {
    fn run(&mut self, text: &str) -> Run {
        let (cpu, began) = (self.cpu(), Instant::now());
        let answer = self.client.simple_query(text);
        let (wall, cpu) = (began.elapsed(), self.cpu() - cpu);
        let answer = answer.map_err(|error| match error.as_db_error() {
            Some(error) => error.message().to_string(),
            None => error.to_string(),
        });
        Run { wall, cpu, answer: answer.map(|messages| messages.iter().filter_map(row).collect()) }
    }

    /// What the server's processes have computed so far, in seconds.
    fn cpu(&self) -> f64 {
        const TICKS: f64 = 100.0;
        let of = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, tail)| tail).split_whitespace().collect();
            let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
            ticks(11) + ticks(12)
        };
        self.processes.iter().map(of).sum::<u64>() as f64 / TICKS
    }
}

fn row(message: &SimpleQueryMessage) -> Option<String> {
    match message {
        SimpleQueryMessage::Row(row) => {
            let fields = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL"));
            Some(fields.collect::<Vec<_>>().join("|"))
        }
        _ => None,
    }
}

fn difference(mine: &[String], right: &[String]) -> String {
    let place = mine.iter().zip(right).position(|(mine, right)| mine != right).unwrap_or(mine.len().min(right.len()));
    let at = |rows: &[String]| rows.get(place).cloned().unwrap_or_else(|| format!("(only {} rows)", rows.len()));
    format!("row {}: gearbox says {}, postgresql {}", place + 1, at(mine), at(right))
}

fn median(runs: &[Run]) -> (Duration, f64) {
    let mut walls: Vec<Duration> = runs.iter().map(|run| run.wall).collect();
    let mut cpus: Vec<f64> = runs.iter().map(|run| run.cpu).collect();
    walls.sort_unstable();
    cpus.sort_unstable_by(f64::total_cmp);
    (walls[walls.len() / 2], cpus[cpus.len() / 2])
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let rows = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let text = difference(&rows(&["1", "2"]), &rows(&["1", "3"]));
        assert_eq!(text, "row 2: gearbox says 2, postgresql 3");
        assert!(difference(&rows(&["1"]), &rows(&["1", "3"])).contains("(only 1 rows)"));
    }

    #[test]
    fn medians_are_of_each_measure_alone() {
        let run = |ms, cpu| Run { wall: Duration::from_millis(ms), cpu, answer: Ok(Vec::new()) };
        assert_eq!(median(&[run(5, 1.0), run(1, 3.0), run(9, 2.0)]), (Duration::from_millis(5), 2.0));
    }
}
