//! The simulated disk, by a service that keeps values on it: what was acknowledged survives deaths, power cuts, torn writes and
//! a disk that fails; and a service that is careless is found out.

#![forbid(unsafe_code)]

use kernel::config::{EngineKind, Sessions};
use testkit::ledger::{Flaw, load};
use testkit::sim::{first_failure, seeds};

/// The model of a seed: all of them in turn.
fn model(seed: u64) -> (EngineKind, Sessions) {
    let hosts = [EngineKind::Process, EngineKind::Thread][(seed / 3 % 2) as usize];
    (hosts, Sessions::ALL[(seed % 3) as usize])
}

fn run(seed: u64, flaw: Flaw) -> Result<kernel::engine::sim::Report, Box<kernel::engine::sim::Failure>> {
    let (hosts, sessions) = model(seed);
    load::run(seed, load::options(seed, hosts, sessions), flaw)
}

#[test]
fn what_was_acknowledged_is_there() {
    let totals = seeds(0..360, "cargo xtask sim {} --load ledger", |seed| run(seed, Flaw::None));
    println!("{totals:?}");
    let sum = totals.sum;
    assert!(testkit::sim::asked_for().is_some() || sum.power_cuts > 200 && sum.kills > 100 && sum.restarts > 50);
}

#[test]
fn carelessness_is_found() {
    for flaw in [Flaw::NoFlush, Flaw::OneBlock, Flaw::NoCheck, Flaw::GoOn] {
        let found = first_failure(0..1000, |seed| run(seed, flaw));
        let (seed, failure) = found.unwrap_or_else(|| panic!("{flaw:?} is not found in 1000 seeds"));
        println!("{flaw:?}: seed {seed}: {}", failure.what.lines().next().unwrap_or_default());
    }
}
