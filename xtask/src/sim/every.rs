//! Seeds for every load that the simulator has: those of the kernel, of the storage and of the whole server.
//!
//! ```text
//!   ask each program for its loads ─▶ deal the seeds out: as many to each load ─▶ pieces, two at a time ─▶ sums, seeds that failed
//! ```
//!
//! Rules
//! 1. A load is known by what its program says about a walk over no seeds: none has to be named here.
//! 2. A seed that fails is noted with what it said first, and the walk goes on behind it. It fails in the end.

use crate::{Outcome, tree};
use std::collections::BTreeMap;
use std::ops::Range;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// Crates whose test `simulated` walks the seeds in `SIM_SEEDS`, one load a test.
const CRATES: [&str; 2] = ["storage", "server"];
/// The kernel's program walks each seed in each of its loads and models.
const KERNEL: &str = "kernel";
/// Seeds of a piece: what is walked between two looks at what is left.
const PIECE: u64 = 200;
/// Pieces at a time.
const WORKERS: usize = 2;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Load {
    program: &'static str,
    /// Of the test; empty for the kernel's program.
    name: String,
}

/// What walks did altogether, by the words of their last lines.
type Sums = BTreeMap<String, u64>;

/// A seed that failed, and the first line about it.
struct Failed {
    load: Load,
    what: String,
}

#[derive(Default)]
struct Ledger {
    pieces: Vec<(Load, Range<u64>)>,
    sums: BTreeMap<Load, Sums>,
    failed: Vec<Failed>,
}

/// `cargo xtask sim every FIRST..END`.
pub fn run(seeds: &str) -> Outcome<()> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a seed"));
    let (first, end) = seeds.split_once("..").ok_or(format!("{seeds:?} is not a range as 0..100000"))?;
    let range = number(first)?..number(end)?;
    let loads = loads()?;
    if range.clone().count() < loads.len() {
        return Err(format!("{seeds}: {} loads want a seed at least each", loads.len()));
    }
    let began = Instant::now();
    let ledger = Mutex::new(Ledger { pieces: deal(&loads, range.clone()), ..Ledger::default() });
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(|| work(&ledger))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread has panicked".to_string())?)
    })?;
    let ledger = ledger.into_inner().map_err(|_| "a thread has panicked".to_string())?;
    tell(&ledger, began);
    match ledger.failed.len() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} seeds failed", range.count())),
    }
}

fn loads() -> Outcome<Vec<Load>> {
    let mut loads = vec![Load { program: KERNEL, name: String::new() }];
    for program in CRATES {
        let said = output(test(program).args(["--", "--nocapture"]).env("SIM_SEEDS", "0..0"))?;
        if !said.ended_well {
            return Err(format!("{program}: a walk over no seeds failed\n{}", said.text));
        }
        let names =
            said.text.lines().filter_map(|line| Some(line.split_once(": 0 runs")?.0.rsplit(' ').next()?.into()));
        let before = loads.len();
        loads.extend(names.map(|name| Load { program, name }));
        if loads.len() == before {
            return Err(format!("{program}: no load\n{}", said.text));
        }
    }
    Ok(loads)
}

/// Each load's share of the seeds, in pieces; those of all loads in turns, so that none is left for the end.
fn deal(loads: &[Load], seeds: Range<u64>) -> Vec<(Load, Range<u64>)> {
    let (count, shares) = (seeds.end - seeds.start, loads.len() as u64);
    let mut pieces = Vec::new();
    for (load, at) in loads.iter().zip(0..) {
        let (mut next, end) = (seeds.start + count * at / shares, seeds.start + count * (at + 1) / shares);
        let first = next;
        while next < end {
            let piece = next..end.min(next + PIECE);
            next = piece.end;
            pieces.push((piece.start - first, load.clone(), piece));
        }
    }
    pieces.sort_by_key(|(behind, ..)| std::cmp::Reverse(*behind));
    pieces.into_iter().map(|(_, load, piece)| (load, piece)).collect()
}

fn work(ledger: &Mutex<Ledger>) -> Outcome<()> {
    let poisoned = |_| "a thread has panicked".to_string();
    while let Some((load, piece)) = { ledger.lock().map_err(poisoned)?.pieces.pop() } {
        let said = output(walk(&load, &piece))?;
        let mut ledger = ledger.lock().map_err(poisoned)?;
        if said.ended_well {
            ledger.add(&load, &said.text)?;
            continue;
        }
        let Some((seed, what)) = first_failure(&said.text) else {
            return Err(format!("{load:?} over {piece:?} failed in its own words\n{}", said.text));
        };
        println!("{} {}: {what}", load.program, load.name);
        // What came before it is walked again, so that it is in the sums.
        ledger.pieces.extend([(load.clone(), seed + 1..piece.end), (load.clone(), piece.start..seed)]);
        ledger.pieces.retain(|(_, seeds)| !seeds.is_empty());
        ledger.failed.push(Failed { load, what });
    }
    Ok(())
}

fn test(program: &str) -> Command {
    tree::cargo(&["test", "--package", program, "--test", "simulated"])
}

fn walk(load: &Load, seeds: &Range<u64>) -> Command {
    let seeds = format!("{}..{}", seeds.start, seeds.end);
    if load.program == KERNEL {
        return tree::cargo(&["run", "--quiet", "--package", "testkit", "--bin", "sim", "--", &seeds, "--quiet"]);
    }
    let mut command = test(load.program);
    command.args([&load.name, "--", "--exact", "--nocapture"]).env("SIM_SEEDS", seeds);
    command
}

struct Said {
    ended_well: bool,
    text: String,
}

fn output(mut command: impl std::borrow::BorrowMut<Command>) -> Outcome<Said> {
    let output = command.borrow_mut().output().map_err(|error| format!("cargo: {error}"))?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ok(Said { ended_well: output.status.success(), text })
}

/// The line of `testkit::sim::explain`.
fn first_failure(text: &str) -> Option<(u64, String)> {
    text.lines().find_map(|line| {
        let (seed, _) = line.strip_prefix("seed ")?.split_once(" fails: ")?;
        Some((seed.parse().ok()?, line.to_string()))
    })
}

impl Ledger {
    /// Adds what the last line of a walk says: numbers, each before what it counts.
    fn add(&mut self, load: &Load, text: &str) -> Outcome<()> {
        let line =
            text.lines().rev().find(|line| line.contains(" runs: ")).ok_or(format!("{load:?} says no sums\n{text}"))?;
        let sums = self.sums.entry(load.clone()).or_default();
        let words: Vec<&str> = line.split([' ', ',', ':', '(', ')']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            if let Ok(number) = pair[0].parse::<u64>() {
                *sums.entry(pair[1].into()).or_default() += number;
            }
        }
        Ok(())
    }
}

fn tell(ledger: &Ledger, began: Instant) {
    let counted = ["runs", "steps", "requests", "kills", "restarts", "power"];
    println!("| load | {} |\n|---|{}", counted.join(" | "), "---:|".repeat(counted.len()));
    let mut all = [0; 6];
    for (load, sums) in &ledger.sums {
        let counts = counted.map(|what| sums.get(what).copied().unwrap_or_default());
        let cells = counts.map(|count| count.to_string()).join(" | ");
        println!("| {} {} | {cells} |", load.program, load.name);
        all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    println!("| all | {} |", all.map(|count| count.to_string()).join(" | "));
    for Failed { load, what } in &ledger.failed {
        println!("failed: {} {}: {what}", load.program, load.name);
    }
    println!("in {} s", began.elapsed().as_secs());
}
