//! Power cuts: `cargo xtask torture power`.
//!
//! The device and the server's clients lie in `crates/server/tests/power`, because they link what this program does not; here is
//! only how many cuts, and from which seed.

use crate::args::Args;
use crate::{Outcome, tree};

const TEST: &str = "acknowledged_commits_outlive_power_cuts";

/// `cargo xtask torture power [--cuts N] [--seed N]`.
pub fn run(mut args: Args) -> Outcome<()> {
    let cuts: u64 = args.value("--cuts")?.unwrap_or(200);
    let seed: u64 = args.value("--seed")?.unwrap_or(1);
    args.done()?;
    let words = ["test", "--package", "server", "--test", "power", "--", "--nocapture", "--exact", TEST];
    let status = tree::cargo(&words)
        .env("POWER_CUTS", cuts.to_string())
        .env("POWER_SEED", seed.to_string())
        .status()
        .map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("repeat: cargo xtask torture power --cuts {cuts} --seed {seed}")),
    }
}
