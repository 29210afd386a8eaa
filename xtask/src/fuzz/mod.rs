//! Decoders of messages, pages and log records, fed with mutations of what was recorded, for as long as asked.
//!
//! The targets are the tests named `fuzz` of `protocol` and `storage`, which run a fixed number of cases among all tests; what they
//! are and how a case is repeated stands in `testkit::fuzz`. What of the decoders they reach: [`coverage`].

mod coverage;

use crate::args::Args;
use crate::{Outcome, tree};
use std::time::Duration;

/// The crates with such a test.
const CRATES: [&str; 2] = ["protocol", "storage"];
/// How long `check` tries other cases than those that the tests always run.
const SMALL: Duration = Duration::from_secs(30);

/// `cargo xtask fuzz [--minutes N] [--seed N]`: so long in all, on two processors. `cargo xtask fuzz coverage [--minutes N]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let time = Duration::from_secs(60 * u64::from(args.value::<u32>("--minutes")?.unwrap_or(1)));
    let seed: Option<u64> = args.value("--seed")?;
    match args.words()?.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => fuzz(time, seed.unwrap_or_else(another_seed)),
        ["coverage"] => coverage::report(time, seed.unwrap_or(1)),
        _ => Err("cargo xtask fuzz [coverage] [--minutes N] [--seed N]".into()),
    }
}

/// The small form.
pub fn check() -> Outcome<()> {
    fuzz(SMALL, another_seed())
}

fn another_seed() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since_epoch.map_or(1, |time| time.as_millis() as u64)
}

/// What each target is told: how long, and where to begin. On two processors they take three turns: the two of `protocol`, and the three
/// of `storage`.
fn told(time: Duration, seed: u64) -> [(&'static str, String); 2] {
    let each = (time / 3).as_secs().max(1);
    [("GEARBOX_FUZZ_SECONDS", each.to_string()), ("GEARBOX_FUZZ_SEED", seed.to_string())]
}

fn fuzz(time: Duration, seed: u64) -> Outcome<()> {
    println!("fuzz: {} s of {}, from seed {seed}", time.as_secs(), CRATES.join(" and "));
    // All of the workspace, in which both are built already: alone they would be built again, with other features of what they need.
    let status = tree::cargo(&["test", "--workspace", "--test", "fuzz", "--", "--nocapture"])
        .envs(told(time, seed))
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!(
            "a case fails, from seed {seed}\nrepeat: GEARBOX_FUZZ_SEED=(the case) cargo test -p (the crate) --test fuzz"
        ));
    }
    Ok(())
}
