//! Walks over seeds of the simulator.
//!
//! A test that walks seeds names itself, so that a failure can say how to see it again. With `SIM_SEEDS` in the environment
//! (numbers and ranges separated by commas, as `3,17,100..200`) it walks those instead of its own, and tells what each did; `cargo xtask sim SEED…`
//! is that, for every crate that has such a test.

use kernel::engine::sim::{Failure, Report};
use std::fmt::Write;

/// The variable that replaces a walk's own seeds.
pub const SEEDS: &str = "SIM_SEEDS";

/// What a walk did altogether.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Runs.
    pub seeds: u32,
    /// Sums over the runs.
    pub sum: Report,
}

impl Totals {
    /// Adds a run.
    pub fn add(&mut self, report: &Report) {
        let sum = &mut self.sum;
        self.seeds += 1;
        sum.steps += report.steps;
        sum.sim_time += report.sim_time;
        sum.kills += report.kills;
        sum.restarts += report.restarts;
        sum.power_cuts += report.power_cuts;
        sum.connections += report.connections;
        sum.requests += report.requests;
        sum.moves += report.moves;
    }

    /// The sums in a line.
    pub fn describe(&self) -> String {
        let Report { steps, requests, moves, connections, kills, restarts, power_cuts, .. } = self.sum;
        format!(
            "{} runs: {steps} steps, {requests} requests ({moves} moved) of {connections} connections, {kills} kills, \
             {restarts} restarts, {power_cuts} power cuts",
            self.seeds
        )
    }
}

/// The seeds that the environment asks for.
pub fn asked_for() -> Option<Vec<u64>> {
    Some(parse(&std::env::var(SEEDS).ok()?))
}

fn parse(text: &str) -> Vec<u64> {
    let number = |text: &str| text.trim().parse::<u64>().expect("SIM_SEEDS holds numbers and ranges, as 3,17,100..200");
    let seeds = text.split(',').flat_map(|word| match word.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => number(word)..number(word) + 1,
    });
    seeds.collect()
}

/// Runs `each` with every seed of the range, or those that the environment asks for. `how` is what to type to see one
/// seed again, with `{}` where the seed goes. Panics at the first failure, with all that is known of it.
pub fn seeds(
    range: std::ops::Range<u64>,
    how: &str,
    mut each: impl FnMut(u64) -> Result<Report, Box<Failure>>,
) -> Totals {
    let mut totals = Totals::default();
    let asked = asked_for();
    let tell = asked.is_some();
    for seed in asked.unwrap_or_else(|| range.collect()) {
        match each(seed) {
            Ok(report) => {
                totals.add(&report);
                if tell {
                    println!("{}: {}", how.replace("{}", &seed.to_string()), describe(&report));
                }
            }
            Err(failure) => panic!("{}", explain(seed, how, &failure)),
        }
    }
    totals
}

/// Runs `each` with the seeds of the range until one fails; answers which. For planted bugs.
pub fn first_failure(
    range: std::ops::Range<u64>,
    mut each: impl FnMut(u64) -> Result<Report, Box<Failure>>,
) -> Option<(u64, Box<Failure>)> {
    range.into_iter().find_map(|seed| each(seed).err().map(|failure| (seed, failure)))
}

/// The variable that names the one planted bug to look for.
pub const BUG: &str = "SIM_BUG";

/// Plants each of the bugs, or the one that the environment asks for, and runs `each` with the seeds of the range until it shows. Panics
/// if one is not found.
pub fn find_bugs(bugs: &[&str], range: std::ops::Range<u64>, each: impl Fn(&str, u64) -> Result<Report, Box<Failure>>) {
    let only = std::env::var(BUG).ok();
    let mut missed = Vec::new();
    for bug in bugs.iter().copied().filter(|bug| only.as_ref().is_none_or(|only| only == bug)) {
        assert!(kernel::fault::plant(bug), "there is no bug {bug}");
        let found = first_failure(range.clone(), |seed| each(bug, seed));
        kernel::fault::uproot();
        match found {
            Some((seed, failure)) => {
                println!("{bug}: seed {seed}: {}", failure.what.lines().next().unwrap_or_default());
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "not found in {} seeds: {missed:?}", range.end - range.start);
}

/// A report in a line.
pub fn describe(report: &Report) -> String {
    format!(
        "trace {:016x}, {} steps, {} us, {} requests ({} moved) of {} connections, {} kills, {} restarts, {} power cuts",
        report.trace_hash,
        report.steps,
        report.sim_time / 1000,
        report.requests,
        report.moves,
        report.connections,
        report.kills,
        report.restarts,
        report.power_cuts
    )
}

/// A failure, and how to see it again.
pub fn explain(seed: u64, how: &str, failure: &Failure) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "seed {seed} fails: {}", failure.what);
    let _ = writeln!(text, "again: {}", how.replace("{}", &seed.to_string()));
    let _ = write!(text, "{}\n{}", describe(&failure.report), failure.dump);
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_are_numbers_and_ranges() {
        assert_eq!(super::parse("17"), [17]);
        assert_eq!(super::parse("3, 17,100..103"), [3, 17, 100, 101, 102]);
    }
}
