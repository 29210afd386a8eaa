//! Runs an experiment: its cells in turns, each on the disk before the next.
//!
//! ```text
//!   find who is there ─▶ plan ─▶ for each round, layout, step, contestant: cell ─▶ reports
//!                         │                                                │
//!                  a line of the file                               a line of the file
//! ```
//!
//! Rules
//! 1. An interrupt, a failure of the disk, or a kill costs the cell that was being measured, nothing else. The same command
//!    with `--resume` goes on with the cells that have no measurement.
//! 2. A resumed run must be the same run: same commit, variants with their versions and settings, steps, scripts, rounds, scale and
//!    seed, as its plan says.
//! 3. A contestant that is not installed is left out, with a note that says how to get it. Without any there is no run.
//! 4. Tables are made when a contestant is first measured, not before: a run that ends early has not made all of them.

use super::cell;
use super::design::{Design, Scope, Step};
use super::progress::{Progress, tell};
use super::views::Views;
use super::{Experiment, design::Layout};
use crate::driver::Session;
use crate::error;
use crate::measure::{exchange, machine};
use crate::record::{self, Cell, FORMAT, Figure, Line, Measured, Plan, Point};
use crate::report;
use crate::server::fio;
use crate::server::{Equal, Found, Home, Prepared, Product, Running, Subject};
use base::{Error, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How large the file is that the disk is measured with.
const DISK_MIB: u32 = 64;
/// How long each of its figures takes.
const DISK_SECONDS: u32 = 1;

/// How a run is to be done.
pub struct Order<'a> {
    /// What.
    pub experiment: &'a Experiment,
    /// How much of it.
    pub scope: Scope,
    /// Where records and reports go.
    pub out: PathBuf,
    /// Where servers keep their data.
    pub work: Option<PathBuf>,
    /// Whether to go on with the last run.
    pub resume: bool,
    /// The seed; none for one of its own.
    pub seed: Option<u64>,
    /// The server's program; none for this one.
    pub program: Option<PathBuf>,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All cells have a line, and so many of those that were measured in this sitting say why there is nothing in them.
    Complete {
        /// Cells without a measurement.
        failed: u32,
    },
    /// It was interrupted, and can be resumed.
    Interrupted,
}

/// A contestant that is installed.
struct Entry {
    subject: Subject,
    found: Found,
    prepared: Option<Prepared>,
    filled: bool,
}

/// A cell's place in the run.
type Place = (u32, String, u64, String);

fn place(round: u32, layout: &str, x: f64, variant: &str) -> Place {
    (round, layout.to_string(), x.to_bits(), variant.to_string())
}

/// Runs an experiment and writes its reports.
///
/// # Errors
/// `22023` where the order makes no sense, `58030` where the records cannot be written, and what keeps every cell
/// from being measured. What was measured is kept.
pub fn run(order: &Order<'_>, interrupt: &AtomicBool) -> Result<End> {
    let design = (order.experiment.design)(&order.scope)?;
    // What is wrong with a script is said before anything is started.
    design.workload.mix(&design.defines)?;
    let path = order.out.join(format!("{}.jsonl", order.experiment.name));
    let (mut entries, mut notes) = find(&design, order);
    let layouts = layouts(&design, &mut notes)?;
    if entries.is_empty() {
        return Err(error::usage("none of the servers to compare is here").detail(notes.join("\n")));
    }
    let plan = Plan {
        layouts: layouts.iter().map(|layout| layout.name().into()).collect(),
        ..plan(&design, order, &entries, notes)
    };
    let _alone = record::hold(&path)?;
    let (mut plan, done) = if order.resume { resumed(&path, plan, order.seed)? } else { (plan, BTreeSet::new()) };
    let home = Arc::new(Home::new(order.work.as_deref())?);
    if !order.resume {
        if design.disk {
            eprintln!("measuring the disk");
            match fio::measure(&home, DISK_MIB, DISK_SECONDS) {
                Ok(disk) => plan.disk = Some(disk),
                Err(error) => plan.notes.push(format!("the disk was not measured: {}", sentence(&error))),
            }
        }
        record::append(&path, &Line::Plan(Box::new(plan.clone())))?;
    }
    let cells = u64::from(plan.rounds) * (layouts.len() * design.steps.len() * entries.len()) as u64;
    let mut failed = 0;
    let mut progress = Progress::new(cells, done.len() as u64);
    plan.notes.iter().for_each(|note| progress.note(note));
    for round in 1..=plan.rounds {
        for &layout in &layouts {
            for step in &design.steps {
                for at in order_of_turns(plan.seed, round, layout, step, entries.len()) {
                    let entry = &mut entries[at];
                    let name = entry.subject.name.clone();
                    if done.contains(&place(round, layout.name(), step.x, &name)) {
                        continue;
                    }
                    if interrupt.load(Ordering::Relaxed) {
                        return interrupted(&progress, order, &path);
                    }
                    let what = format!("round {round}, {}, {}, {name}", layout.name(), step.label);
                    progress.begin(&what);
                    let seed = cell_seed(plan.seed, round, step);
                    let began = machine::date();
                    let result = one(&design, entry, step, layout, seed, &home, interrupt, &progress);
                    if interrupt.load(Ordering::Relaxed) {
                        return interrupted(&progress, order, &path);
                    }
                    progress.end(&format!("{what}: {}", told(&design, &result)));
                    failed += u32::from(result.is_err());
                    let (failure, measured) = match result {
                        Ok(measured) => (None, Some(measured)),
                        Err(error) => (Some(sentence(&error)), None),
                    };
                    let cell = Cell {
                        run: plan.run.clone(),
                        variant: name,
                        layout: layout.name().into(),
                        x: step.x,
                        round,
                        began,
                        seed,
                        threads: layout.driver_threads().min(step.clients),
                        failure,
                        measured,
                    };
                    record::append(&path, &Line::Cell(Box::new(cell)))?;
                }
            }
        }
    }
    progress.finish();
    drop(entries);
    write_reports(&path)?;
    Ok(End::Complete { failed })
}

/// Makes the reports of a file of records, beside it.
///
/// # Errors
/// `22023` where a report would take the place of the records; what reading and writing says.
pub fn write_reports(path: &Path) -> Result<()> {
    if path.extension().is_some_and(|end| end == "md" || end == "html") {
        let message = format!("{}: a report would be written over it", path.display());
        return Err(error::usage(message).hint("Give records a name that ends with .jsonl."));
    }
    let lines = record::read(path)?;
    for (end, text) in [("md", report::markdown(&lines)), ("html", report::html(&lines))] {
        let file = path.with_extension(end);
        std::fs::write(&file, text).map_err(|error| {
            let hint = format!("The records are whole; make the reports later: gearbox lab report {}.", path.display());
            error::file(&file, error).hint(hint)
        })?;
        tell(&file.display().to_string());
    }
    Ok(())
}

fn interrupted(progress: &Progress, order: &Order<'_>, path: &Path) -> Result<End> {
    progress.finish();
    tell(&format!("interrupted; what was measured is in {}", path.display()));
    tell(&format!("go on with the same command and --resume: gearbox lab {} … --resume", order.experiment.name));
    Ok(End::Interrupted)
}

/// Who is installed, and notes on who is not.
fn find(design: &Design, order: &Order<'_>) -> (Vec<Entry>, Vec<String>) {
    let (mut entries, mut notes) = (Vec::new(), Vec::new());
    let connections = design.steps.iter().map(|step| step.clients + step.idle).max().unwrap_or(1);
    // The lab's own sessions, and what superusers keep for themselves.
    let equal = Equal { connections: connections + 20, gearbox: order.program.clone(), ..Equal::default() };
    for subject in &design.contestants {
        match subject.find(&equal) {
            Ok(found) => entries.push(Entry { subject: subject.clone(), found, prepared: None, filled: false }),
            Err(error) => notes.push(format!("{} is left out: {}", subject.name, sentence(&error))),
        }
    }
    (entries, notes)
}

/// How many processors the lab may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Layouts that this machine has processors for.
fn layouts(design: &Design, notes: &mut Vec<String>) -> Result<Vec<Layout>> {
    let mut layouts = design.layouts.clone();
    if cpus() < 2 && layouts.contains(&Layout::Split) {
        layouts.retain(|layout| *layout != Layout::Split);
        notes.push("layout split is left out: it needs two processors".into());
    }
    match layouts.is_empty() {
        true => Err(error::usage("no layout is left").hint("Use --layouts one on a machine with one processor.")),
        false => Ok(layouts),
    }
}

fn plan(design: &Design, order: &Order<'_>, entries: &[Entry], notes: Vec<String>) -> Plan {
    let date = machine::date();
    let commit = commit();
    let names: Vec<String> = entries.iter().map(|entry| entry.subject.name.clone()).collect();
    let there = |name: &String| names.contains(name);
    let ceiling = super::contestants::ceiling().name;
    let expected = design.expected.iter();
    Plan {
        format: FORMAT,
        experiment: order.experiment.name.into(),
        run: format!("{date} {commit}"),
        commit,
        machine: record::Machine::this(&order.work.clone().unwrap_or_else(std::env::temp_dir)),
        exchange_us: exchange::cost_us().ok().map(|cost| (cost * 100.0).round() / 100.0),
        title: design.title.into(),
        question: design.question.into(),
        axis: design.axis.into(),
        variants: entries.iter().map(|entry| entry.found.variant()).collect(),
        points: design.steps.iter().map(|step| point(design, step)).collect(),
        layouts: Vec::new(),
        rounds: design.rounds,
        seconds: design.seconds,
        warm_up: design.warm_up,
        scripts: design.workload.scripts.iter().map(|script| (script.name.clone(), script.text.clone())).collect(),
        defines: design.defines.clone(),
        setup: design.workload.schema.clone(),
        disk: None,
        seed: order.seed.unwrap_or_else(|| fastrand::u64(..1 << 53)),
        baseline: if there(&design.baseline) { design.baseline.clone() } else { names[0].clone() },
        // Where all are ceilings, none is the others'.
        ceiling: (there(&ceiling) && entries.iter().any(|entry| !answers_only(&entry.subject))).then_some(ceiling),
        charts: design.charts.clone(),
        expected: expected
            .filter(|e| there(&e.variant) && e.against.as_ref().is_none_or(there))
            .filter(|e| e.x.is_none_or(|x| design.steps.iter().any(|step| step.x == x)))
            .filter(|e| e.layout.as_ref().is_none_or(|name| design.layouts.iter().any(|layout| layout.name() == name)))
            .cloned()
            .collect(),
        notes,
        date,
    }
}

/// The commit that the program was built from, with a `+` where files differed from it, as whoever built it has said; else the
/// version.
fn commit() -> String {
    option_env!("GEARBOX_COMMIT").unwrap_or(env!("CARGO_PKG_VERSION")).into()
}

/// In which order variants have their turns: another one each time, so that nobody always comes behind the same one, and what drifts
/// within a round is nobody's. The plan's seed repeats it.
fn order_of_turns(seed: u64, round: u32, layout: Layout, step: &Step, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let place = cell_seed(seed, round, step) ^ layout.name().bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
    fastrand::Rng::with_seed(place).shuffle(&mut order);
    order
}

fn point(design: &Design, step: &Step) -> Point {
    Point {
        x: step.x,
        label: step.label.clone(),
        load: record::Load {
            workload: design.workload.name.clone(),
            scale: design.scale,
            protocol: design.protocol.name().into(),
            clients: step.clients,
            idle: step.idle,
            pace: step.pace.to_string(),
            reconnect: design.workload.reconnect,
        },
    }
}

/// The last run of a file, if it is the one that was planned, with that seed if one was given, and its cells that have a line.
fn resumed(path: &Path, now: Plan, seed: Option<u64>) -> Result<(Plan, BTreeSet<Place>)> {
    let nothing = || error::usage(format!("there is no run to go on with in {}", path.display()));
    let lines = record::read(path).map_err(|error| if path.exists() { error } else { nothing() })?;
    let last = lines.iter().rev().find_map(|line| match line {
        Line::Plan(plan) => Some((**plan).clone()),
        Line::Cell(_) => None,
    });
    let plan = last.ok_or_else(nothing)?;
    let load = |plan: &Plan| (plan.scripts.clone(), plan.defines.clone(), plan.setup.clone());
    let same = plan.points == now.points
        && plan.rounds == now.rounds
        && (plan.seconds, plan.warm_up) == (now.seconds, now.warm_up)
        && plan.layouts == now.layouts
        && plan.variants == now.variants
        && load(&plan) == load(&now)
        && seed.is_none_or(|seed| seed == plan.seed);
    if plan.commit != now.commit {
        return Err(error::usage(format!("the last run in {} is of commit {}", path.display(), plan.commit))
            .detail(format!("This is commit {}, and what a run compares is measured with one.", now.commit))
            .hint("Build that commit again, or leave out --resume to begin a new run."));
    }
    if !same {
        return Err(error::usage(format!("the last run in {} was another one", path.display()))
            .detail(format!(
                "It had {} variants, {} points, layouts {}, {} rounds of {} s, seed {}.",
                plan.variants.len(),
                plan.points.len(),
                plan.layouts.join(", "),
                plan.rounds,
                plan.seconds,
                plan.seed
            ))
            .hint("Give the same options again, or leave out --resume to begin a new run."));
    }
    let cells = lines.iter().filter_map(|line| match line {
        // What failed is tried again.
        Line::Cell(cell) if cell.run == plan.run && cell.measured.is_some() => {
            Some(place(cell.round, &cell.layout, cell.x, &cell.variant))
        }
        _ => None,
    });
    Ok((plan.clone(), cells.collect()))
}

/// All variants of a cell make the same choices; another round makes others.
fn cell_seed(seed: u64, round: u32, step: &Step) -> u64 {
    let mixed = seed ^ (u64::from(round) << 32) ^ step.x.to_bits();
    fastrand::Rng::with_seed(mixed).u64(..1 << 53)
}

/// Whether it answers without tables.
fn answers_only(subject: &Subject) -> bool {
    matches!(subject.product, Product::GearboxLimit { .. } | Product::Bare { .. })
}

fn views_of(product: &Product) -> Views {
    match product {
        Product::Gearbox { .. } => Views::Gearbox,
        Product::GearboxLimit { .. } | Product::Bare { .. } => Views::None,
        Product::Postgres { .. } => Views::Postgres,
        Product::MariaDb { .. } => Views::MariaDb,
        // What it has is not known.
        Product::External(_) => Views::None,
    }
}

/// One cell, from the start of its server to its stop.
#[expect(clippy::too_many_arguments, reason = "it is the body of a loop")]
fn one(
    design: &Design,
    entry: &mut Entry,
    step: &Step,
    layout: Layout,
    seed: u64,
    home: &Arc<Home>,
    interrupt: &AtomicBool,
    progress: &Progress,
) -> Result<Measured> {
    let answers_only = answers_only(&entry.subject);
    if entry.prepared.is_none() {
        entry.prepared = Some(entry.found.prepare(home)?);
    }
    let prepared = entry.prepared.as_ref().expect("it has just been prepared");
    if !entry.filled && !answers_only {
        progress.note(&format!("making the tables of {}", entry.subject.name.clone()));
        let running = prepared.start(None)?;
        fill(design, &running, interrupt).map_err(|error| explained(error, &running))?;
        running.stop()?;
    }
    entry.filled = true;
    let running = prepared.start(layout.server_cpus())?;
    if !answers_only {
        let mut session = Session::connect(running.address())?;
        for statement in &design.workload.warm {
            session.run(statement)?;
        }
        for statement in design.workload.warm_keys.iter().flat_map(|keys| keys.statements(design.scale)) {
            session.run(&statement)?;
        }
    }
    let views = views_of(&entry.subject.product);
    let measured = cell::measure(design, step, layout, seed, &running, views, interrupt);
    let measured = measured.map_err(|error| explained(error, &running))?;
    running.stop()?;
    Ok(measured)
}

fn fill(design: &Design, running: &Running, interrupt: &AtomicBool) -> Result<()> {
    let mut session = Session::connect(running.address())?;
    for statement in design.workload.set_up(running.address().wire, design.scale) {
        if interrupt.load(Ordering::Relaxed) {
            return Ok(());
        }
        session.run(&statement)?;
    }
    Ok(())
}

/// What went wrong: if the server is gone, its own last words say more than what the driver noticed.
fn explained(error: Error, running: &Running) -> Error {
    running.alive().err().unwrap_or(error)
}

/// What came out of a cell, in a line.
fn told(design: &Design, result: &Result<Measured>) -> String {
    let measured = match result {
        Ok(measured) => measured,
        Err(error) => {
            let hint = error.hint_text().map(|hint| format!(" ({hint})")).unwrap_or_default();
            return format!("failed: {}{hint}", error.message());
        }
    };
    let speed = if design.workload.reconnect { Figure::Connects } else { Figure::Throughput };
    let figures = [speed, Figure::ServerCpu, Figure::LatencyP99].into_iter().filter_map(|figure| {
        let value = figure.of(measured)?;
        Some(format!("{value:.*} {}", if value < 100.0 { 1 } else { 0 }, figure.unit()))
    });
    let mut text = figures.collect::<Vec<_>>().join(", ");
    for (state, count) in &measured.failed {
        text.push_str(&format!(", {count} failed with {state}"));
    }
    if measured.client_bound {
        text.push_str(", driver was the bottleneck");
    }
    text
}

/// An error in one line.
fn sentence(error: &Error) -> String {
    let parts = [Some(error.message()), error.detail_text(), error.hint_text()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
