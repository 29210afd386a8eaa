//! Decoders of messages, pages and log records, fed with mutations of what was recorded, for as long as asked.
//!
//! The targets are the tests named `fuzz` of `protocol` and `storage`, which run a fixed number of cases in `check`; what they are
//! and how a case is repeated stands in `testkit::fuzz`.

use crate::args::Args;
use crate::{Outcome, tree};

/// The crates with such a test.
const CRATES: [&str; 2] = ["protocol", "storage"];

/// `cargo xtask fuzz [--minutes N] [--seed N]`: that long for each crate's tests.
pub fn run(mut args: Args) -> Outcome<()> {
    let minutes: u64 = args.value("--minutes")?.unwrap_or(1);
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed: u64 = args.value("--seed")?.unwrap_or(since_epoch.map_or(1, |time| time.as_millis() as u64));
    args.done()?;
    println!("fuzz: {minutes} min for each of {}, from seed {seed}", CRATES.join(" and "));
    for name in CRATES {
        let status = tree::cargo(&["test", "--package", name, "--test", "fuzz", "--", "--nocapture"])
            .env("GEARBOX_FUZZ_SECONDS", (minutes * 60).to_string())
            .env("GEARBOX_FUZZ_SEED", seed.to_string())
            .status()
            .map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(format!("{name}: a case fails\nrepeat: cargo xtask fuzz --seed N with the N above"));
        }
    }
    Ok(())
}
