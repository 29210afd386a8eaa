//! What a transaction of pgbench's costs in each model.
//!
//! | benchmark | server | load |
//! |---|---|---|
//! | `limit` | `gearbox limit`, and each model's [`prototype`] beside it | a prepared point select, answered with canned messages: the answer costs nothing |
//! | `select` | `gearbox serve`, and PostgreSQL beside it | the same on real tables |
//! | `tpcb` | the same | `tpcb-like`, prepared: every transaction is flushed |
//!
//! Every cell (layout, number of clients, model) is measured once a round, with a server of its own; rounds follow each
//! other, so that what drifts on the machine drifts for all models alike.

use super::postgres::{self, Postgres};
use super::prototype;
use super::record::{self, Figures, Record, Sample};
use crate::args::Args;
use crate::machine::{self, Machine};
use crate::model::{MODELS, Model, Settings};
use crate::pgbench::{self, Load};
use crate::process::Process;
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::{Outcome, clients, process, tree};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Which CPUs server and client have, and what follows from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Layout {
    name: &'static str,
    server: Option<&'static str>,
    client: Option<&'static str>,
    engines: Option<u32>,
    jobs: u32,
}

const LAYOUTS: [Layout; 3] = [
    Layout { name: "one", server: Some("0"), client: Some("0"), engines: Some(1), jobs: 1 },
    Layout { name: "split", server: Some("0"), client: Some("1"), engines: Some(1), jobs: 1 },
    Layout { name: "free", server: None, client: None, engines: Some(2), jobs: 2 },
];

/// How many latencies a run should log: enough for a percentile, few enough not to be felt.
const LATENCIES: f64 = 20_000.0;

impl std::str::FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Outcome<Layout> {
        LAYOUTS.into_iter().find(|layout| layout.name == text).ok_or("one, split or free".into())
    }
}

/// A benchmark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// Its name, and its file's.
    pub name: &'static str,
    /// What the server is started as.
    subcommand: &'static str,
    /// pgbench's script.
    script: &'static str,
    /// The scale of pgbench's tables; none if there are none.
    scale: Option<u32>,
}

/// Canned answers.
pub const LIMIT: Kind = Kind { name: "limit", subcommand: "limit", script: "select-only", scale: None };
/// A point select.
pub const SELECT: Kind = Kind { name: "select", subcommand: "serve", script: "select-only", scale: Some(10) };
/// Transactions like TPC-B's.
pub const TPCB: Kind = Kind { name: "tpcb", subcommand: "serve", script: "tpcb-like", scale: Some(10) };

/// What is measured: a model of Gearbox, its prototype, or PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Gearbox(Model),
    Prototype(Model),
    Postgres,
}

struct Plan {
    rounds: u32,
    seconds: u32,
    clients: Vec<u32>,
    layouts: Vec<Layout>,
    models: Vec<Model>,
    wait: Option<&'static str>,
    io: Option<&'static str>,
}

/// A benchmark, with `--rounds`, `--seconds`, and lists of `--clients`, `--layouts` and `--models`; `--wait`, `--io` and
/// `--binary` are the same for all of them.
pub fn run(kind: Kind, mut args: Args) -> Outcome<()> {
    let plan = Plan {
        rounds: args.value("--rounds")?.unwrap_or(3),
        seconds: args.value("--seconds")?.unwrap_or(5),
        clients: args.list("--clients", vec![1, 8, 100])?,
        layouts: args.list("--layouts", LAYOUTS.to_vec())?,
        models: args.list("--models", MODELS.to_vec())?,
        wait: known(args.value("--wait")?, &crate::model::WAITS)?,
        io: known(args.value("--io")?, &crate::model::IO_METHODS)?,
    };
    let asked = args.value("--binary")?;
    args.done()?;
    if plan.seconds < 3 {
        return Err("--seconds: at least 3, the first and the last are not counted".into());
    }
    if machine::cpus() < 2 && plan.layouts.iter().any(|layout| layout.name != "one") {
        return Err("this machine has one processor; run with --layouts one".into());
    }
    clients::ensure()?;
    let binary = tree::binary(asked, tree::Profile::Release)?;
    let (date, commit, machine) = (machine::date(), tree::commit(), Machine::this());
    let file = tree::root().join(format!("docs/results/{}.jsonl", kind.name));
    let prototypes = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut subjects: Vec<Subject> = plan.models.iter().map(|model| Subject::Gearbox(*model)).collect();
    match kind.scale {
        Some(_) => subjects.push(Subject::Postgres),
        None => {
            // Each beside its model, so that the two are compared at the same moment.
            let pair = |model: &Model| [Subject::Gearbox(*model), Subject::Prototype(*model)];
            subjects = plan.models.iter().flat_map(pair).collect();
        }
    }
    for round in 1..=plan.rounds {
        for &layout in &plan.layouts {
            for &clients in &plan.clients {
                for &subject in &subjects {
                    let engines = layout.engines;
                    let settings = |model| Settings { model, engines, wait: plan.wait, io: plan.io };
                    let load = Load {
                        script: kind.script.into(),
                        protocol: "prepared".into(),
                        clients,
                        jobs: layout.jobs.min(clients),
                        seconds: plan.seconds,
                    };
                    let (server, model, options) = match subject {
                        Subject::Gearbox(model) => (
                            format!("gearbox {}", kind.subcommand),
                            model.to_string(),
                            settings(model).options().join(" "),
                        ),
                        Subject::Prototype(model) => (
                            prototype::SUBCOMMAND.to_string(),
                            model.to_string(),
                            Settings { engines, ..Settings::of(model) }.options().join(" "),
                        ),
                        Subject::Postgres => {
                            (postgres::version()?, "PostgreSQL".to_string(), postgres::OPTIONS.join(" "))
                        }
                    };
                    let (run, figures) = match subject {
                        Subject::Gearbox(model) => {
                            let launch = Launch {
                                program: &binary,
                                subcommand: kind.subcommand,
                                settings: settings(model),
                                cpus: layout.server,
                            };
                            let server = ServerUnderTest::start(&launch)?;
                            let measured = measure(kind, layout, &load, &server)?;
                            server.stop()?;
                            measured
                        }
                        Subject::Prototype(model) => {
                            let launch = Launch {
                                program: &prototypes,
                                subcommand: prototype::SUBCOMMAND,
                                settings: Settings { engines, ..Settings::of(model) },
                                cpus: layout.server,
                            };
                            let server = ServerUnderTest::start(&launch)?;
                            let measured = measure(kind, layout, &load, &server)?;
                            server.kill();
                            measured
                        }
                        Subject::Postgres => {
                            let server = Postgres::start(layout.server)?;
                            let measured = measure(kind, layout, &load, &server)?;
                            server.stop()?;
                            measured
                        }
                    };
                    println!(
                        "round {round} {:<5} {clients:>4} clients {:<17} {:<15} {:>8.0} tps, server {:>6.2} us/tx, {:.2} switches/tx, others {:.0} %, stolen {:.0} %",
                        layout.name,
                        model,
                        server,
                        figures.tps,
                        figures.server_cpu_us,
                        figures.server_switches,
                        figures.others_percent,
                        figures.stolen_percent
                    );
                    record::append(
                        &file,
                        &Record {
                            bench: kind.name.into(),
                            run: format!("{date} {commit}"),
                            date: date.clone(),
                            commit: commit.clone(),
                            machine: machine.clone(),
                            server,
                            model,
                            options,
                            layout: layout.name.into(),
                            script: load.script.clone(),
                            protocol: load.protocol.clone(),
                            clients,
                            jobs: load.jobs,
                            seconds: load.seconds,
                            round,
                            transactions: run.transactions,
                            failed: run.failed,
                            figures,
                        },
                    )?;
                }
            }
        }
    }
    Ok(())
}

fn known(word: Option<String>, words: &[&'static str]) -> Outcome<Option<&'static str>> {
    let Some(word) = word else { return Ok(None) };
    let found = words.iter().find(|known| **known == word);
    found.map(|known| Some(*known)).ok_or(format!("{word:?}: one of {}", words.join(", ")))
}

/// A server that is being measured.
pub trait Measured {
    /// A client program with the server's address in its environment.
    fn client(&self, program: &str) -> Command;
    /// All of its processes.
    fn processes(&self) -> Vec<Process>;
    /// A folder for what the client writes.
    fn work_dir(&self) -> PathBuf;
}

impl Measured for ServerUnderTest {
    fn client(&self, program: &str) -> Command {
        ServerUnderTest::client(self, program)
    }

    fn processes(&self) -> Vec<Process> {
        ServerUnderTest::processes(self)
    }

    fn work_dir(&self) -> PathBuf {
        ServerUnderTest::work_dir(self)
    }
}

fn measure(kind: Kind, layout: Layout, load: &Load, server: &impl Measured) -> Outcome<(pgbench::Report, Figures)> {
    if let Some(scale) = kind.scale {
        let mut fill = server.client("pgbench");
        let filled = fill.args(["-i", "-q", "-s", &scale.to_string()]).output().map_err(|e| format!("pgbench: {e}"))?;
        if !filled.status.success() {
            return Err(format!("pgbench -i: {}", String::from_utf8_lossy(&filled.stderr)));
        }
    }
    let command = match layout.client {
        None => server.client("pgbench"),
        Some(cpus) => {
            let mut command = server.client("taskset");
            command.args(["-c", cpus, "pgbench"]);
            command
        }
    };
    let share = (LATENCIES / (100_000.0 * f64::from(load.seconds))).min(1.0);
    let before = process::ticks(&server.processes());
    let run = pgbench::run(command, load, share, &server.work_dir(), |client| Sample {
        server: process::usage(&server.processes()),
        client: process::usage(&process::members(client)),
        machine: process::Machine::now(),
    })?;
    // Dedicated engines end with their clients; their times join the parent's when it has waited for them.
    std::thread::sleep(Duration::from_millis(200));
    let after = process::ticks(&server.processes());
    if run.report.failed > 0 {
        return Err(format!("{load:?}: {} transactions failed", run.report.failed));
    }
    let figures = Figures::of(&run, (before, after));
    Ok((run.report, figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_held_to_what_there_is() {
        assert_eq!("split".parse(), Ok(LAYOUTS[1]));
        assert!("both".parse::<Layout>().is_err());
        assert_eq!(known(Some("sysv".into()), &crate::model::WAITS), Ok(Some("sysv")));
        assert!(known(Some("sem".into()), &crate::model::WAITS).is_err());
        assert!(run(LIMIT, Args::new(["--seconds".to_string(), "2".into()])).unwrap_err().contains("at least 3"));
    }
}
