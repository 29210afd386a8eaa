//! Replays of simulator seeds.
//!
//! The simulator's own program lies in `crates/testkit/src/bin/sim.rs`, because it has to link what it simulates and this one links
//! nothing. `cargo xtask sim 8123774` builds and runs it; every word is handed on, so its options work here too.

use crate::args::Args;
use crate::{Outcome, tree};

/// `cargo xtask sim SEED… [OPTION…]`.
pub fn run(args: Args) -> Outcome<()> {
    let words = args.all();
    if words.is_empty() {
        return Err("which seeds? cargo xtask sim SEED…, numbers or ranges as 100..200".into());
    }
    let status = tree::cargo(&["run", "--quiet", "--package", "testkit", "--bin", "sim", "--"])
        .args(&words)
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the simulator ended with {status}")) }
}
