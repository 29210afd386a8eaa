//! `bench limit`: what a request costs in each model when the answer costs nothing.
//!
//! Every cell (layout, number of clients, model) is measured once a round, with a server of its own; rounds follow each
//! other, so that what drifts on the machine drifts for all models alike.

use super::record::{self, Figures, Record, Sample};
use crate::args::Args;
use crate::machine::{self, Machine};
use crate::model::{MODELS, Model, Settings};
use crate::pgbench::{self, Load};
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::{Outcome, clients, process, tree};
use std::path::Path;
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

struct Plan {
    rounds: u32,
    seconds: u32,
    clients: Vec<u32>,
    layouts: Vec<Layout>,
    models: Vec<Model>,
    wait: Option<&'static str>,
    io: Option<&'static str>,
}

/// `bench limit`, with `--rounds`, `--seconds`, and lists of `--clients`, `--layouts` and `--models`; `--wait`, `--io` and
/// `--binary` are the same for all of them.
pub fn run(mut args: Args) -> Outcome<()> {
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
    let binary = tree::binary(asked)?;
    let (date, commit, machine) = (machine::date(), tree::commit(), Machine::this());
    let file = tree::root().join("docs/results/limit.jsonl");
    for round in 1..=plan.rounds {
        for &layout in &plan.layouts {
            for &clients in &plan.clients {
                for &model in &plan.models {
                    let engines = layout.engines;
                    let settings = Settings { model, engines, wait: plan.wait, io: plan.io };
                    let load = Load {
                        script: "select-only".into(),
                        protocol: "prepared".into(),
                        clients,
                        jobs: layout.jobs.min(clients),
                        seconds: plan.seconds,
                    };
                    let (run, figures) = measure(&binary, layout, settings, &load)?;
                    println!(
                        "round {round} {:<5} {clients:>4} clients {:<18} {:>8.0} tps, server {:>6.2} us/tx, {:.2} switches/tx, others {:.0} %, stolen {:.0} %",
                        layout.name,
                        model.to_string(),
                        figures.tps,
                        figures.server_cpu_us,
                        figures.server_switches,
                        figures.others_percent,
                        figures.stolen_percent
                    );
                    record::append(
                        &file,
                        &Record {
                            bench: "limit".into(),
                            run: format!("{date} {commit}"),
                            date: date.clone(),
                            commit: commit.clone(),
                            machine: machine.clone(),
                            server: "gearbox limit".into(),
                            model: model.to_string(),
                            options: settings.options().join(" "),
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

fn measure(binary: &Path, layout: Layout, settings: Settings, load: &Load) -> Outcome<(pgbench::Report, Figures)> {
    let launch = Launch { program: binary, subcommand: "limit", settings, cpus: layout.server };
    let server = ServerUnderTest::start(&launch)?;
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
        return Err(format!("{settings}, {} clients: {} transactions failed", load.clients, run.report.failed));
    }
    let figures = Figures::of(&run, (before, after));
    server.stop()?;
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
        assert!(run(Args::new(["--seconds".to_string(), "2".into()])).unwrap_err().contains("at least 3"));
    }
}
