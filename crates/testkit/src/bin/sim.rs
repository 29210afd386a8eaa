//! Runs seeds of the simulator.
//!
//! ```text
//! sim SEED… [--load tally|ledger] [--hosts process|thread] [--sessions dedicated|shared|fiber]
//!           [--plant BUG] [--calm] [--quiet] [--verbose] [--every-point]
//! sim --find BUG [FIRST..END]
//! ```
//!
//! A seed may be a range (`0..1000`). Without a load or a model it runs with every one. `--find` plants a bug, or with `all`
//! each bug of the kernel, one after the other, and fails unless the seeds (by themselves 0..1000) show it; each seed runs
//! one load in one model then.

#![forbid(unsafe_code)]

use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::Options;
use kernel::fault;
use std::process::ExitCode;
use std::time::Instant;
use testkit::loads::{Case, Load, find_planted, kernel_bugs};
use testkit::sim::{Totals, describe, explain};

/// Within how many seeds a planted bug has to show.
const FOUND_WITHIN: u64 = 1000;

#[derive(Default)]
struct Asked {
    seeds: Vec<std::ops::Range<u64>>,
    load: Option<Load>,
    hosts: Option<EngineKind>,
    sessions: Option<Sessions>,
    find: Option<String>,
    calm: bool,
    quiet: bool,
    verbose: bool,
    every_point: bool,
}

fn parse() -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--load" => asked.load = Some(Load::parse(&value()?).ok_or("tally or ledger")?),
            "--hosts" => asked.hosts = Some(EngineKind::parse(&value()?).ok_or("process or thread")?),
            "--sessions" => asked.sessions = Some(Sessions::parse(&value()?).ok_or("dedicated, shared or fiber")?),
            "--plant" => {
                let name = value()?;
                if !fault::plant(&name) {
                    return Err(no_bug(&name));
                }
            }
            "--find" => asked.find = Some(value()?),
            "--calm" => asked.calm = true,
            "--quiet" => asked.quiet = true,
            "--verbose" => asked.verbose = true,
            "--every-point" => asked.every_point = true,
            _ => {
                let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a seed"));
                asked.seeds.push(match word.split_once("..") {
                    Some((first, end)) => number(first)?..number(end)?,
                    None => number(&word)?..number(&word)? + 1,
                });
            }
        }
    }
    match asked.seeds.is_empty() && asked.find.is_none() {
        true => Err("which seeds?".into()),
        false => Ok(asked),
    }
}

fn no_bug(name: &str) -> String {
    let names: Vec<&str> = fault::BUGS.iter().map(|bug| bug.0).collect();
    format!("no bug {name}; there are {}", names.join(", "))
}

fn main() -> ExitCode {
    let outcome = parse().and_then(|asked| match &asked.find {
        Some(bug) => find(&asked, bug),
        None => Ok(walk(&asked)),
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("sim: {what}");
            ExitCode::from(2)
        }
    }
}

fn walk(asked: &Asked) -> bool {
    let chosen = |case: &Case| {
        asked.load.is_none_or(|load| load == case.load)
            && asked.hosts.is_none_or(|hosts| hosts == case.hosts)
            && asked.sessions.is_none_or(|sessions| sessions == case.sessions)
    };
    let (mut totals, since) = (Totals::default(), Instant::now());
    for seed in asked.seeds.iter().cloned().flatten() {
        for case in Case::all().filter(chosen) {
            let mut options = match asked.calm {
                true => Options::new(case.hosts, case.sessions),
                false => case.options(seed),
            };
            options.verbose = asked.verbose || asked.every_point;
            options.every_point = asked.every_point;
            match case.run(seed, options) {
                Ok(report) => {
                    totals.add(&report);
                    if !asked.quiet {
                        println!("seed {seed} {case}: {}", describe(&report));
                    }
                }
                Err(failure) => {
                    println!("{}", explain(seed, &case.how(), &failure));
                    return false;
                }
            }
        }
    }
    if asked.quiet {
        println!("{}, in {:.1} s", totals.describe(), since.elapsed().as_secs_f64());
    }
    true
}

fn find(asked: &Asked, bug: &str) -> Result<bool, String> {
    let bugs: Vec<&str> = kernel_bugs().filter(|name| bug == "all" || *name == bug).collect();
    if bugs.is_empty() {
        return Err(no_bug(bug));
    }
    let range = asked.seeds.first().cloned().unwrap_or(0..FOUND_WITHIN);
    let mut all = true;
    for bug in bugs {
        match find_planted(bug, range.clone()) {
            Some((seed, case, failure)) => {
                let what = failure.what.lines().next().unwrap_or_default().to_string();
                println!("{bug}: found by seed {seed}, {case}: {what}");
            }
            None => {
                println!("{bug}: not found by seeds {range:?}");
                all = false;
            }
        }
    }
    Ok(all)
}
