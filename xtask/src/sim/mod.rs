//! The simulator: seeds, and the bugs that it must find.
//!
//! The simulator's own program lies in `crates/testkit/src/bin/sim.rs`, because it has to link what it simulates and this one links
//! nothing. `cargo xtask sim 8123774` builds and runs it; every word is handed on, so its options work here too. Loads on the storage
//! and on the whole server are tests of theirs; `cargo xtask sim every 0..100000` deals seeds out to all of them ([`every`]).

mod every;

use crate::args::Args;
use crate::{Outcome, tree};

/// What `check` runs: some hundred seeds of every load in every model, then the planted bugs of the kernel.
const SMALL: [&[&str]; 2] = [&["1000..1200", "--quiet"], &["--find", "all"]];

/// `cargo xtask sim SEED… [OPTION…]`, `cargo xtask sim every FIRST..END`, `cargo xtask sim check`.
pub fn run(args: Args) -> Outcome<()> {
    let words = args.all();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            Err("which seeds? cargo xtask sim SEED…, numbers or ranges as 100..200; sim every FIRST..END; or sim check"
                .into())
        }
        ["check"] => check(),
        ["every", seeds] => every::run(seeds),
        _ => simulate(&words),
    }
}

/// The small form.
pub fn check() -> Outcome<()> {
    SMALL.iter().try_for_each(|words| simulate(words))
}

fn simulate(words: &[&str]) -> Outcome<()> {
    let status = tree::cargo(&["run", "--quiet", "--package", "testkit", "--bin", "sim", "--"])
        .args(words)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the simulator ended with {status}")) }
}
