//! What CI runs: steps in order, cheapest first, up to the first that fails.
//!
//! Each step prints its time, and a failure prints the command that repeats it alone. Programs inherit the terminal, so
//! that what `cargo test` counts stays to be read, by people and by CI.

use crate::args::Args;
use crate::{Outcome, clients, drivers, e2e, fuzz, r#gen, machine, sim, suite, tidy, tree};
use std::time::{Duration, Instant};

/// How long the whole may take on two processors before it is worth somebody's time.
const BUDGET: Duration = Duration::from_secs(15 * 60);

struct Step {
    name: &'static str,
    /// What repeats it.
    command: &'static str,
    run: fn(&Step) -> Outcome<()>,
}

const STEPS: &[Step] = &[
    Step { name: "programs", command: "cargo xtask check programs", run: |_| clients::ensure() },
    Step { name: "format", command: "cargo fmt --all -- --check", run: by_shell },
    Step { name: "tidy", command: "cargo xtask tidy", run: |_| tidy::run(&tree::root()) },
    Step {
        name: "generated",
        command: "cargo xtask gen --check",
        run: |_| r#gen::verify(&tree::root(), r#gen::GENERATED),
    },
    Step { name: "lints", command: "cargo clippy --workspace --all-targets -- -D warnings", run: by_shell },
    Step { name: "docs", command: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps", run: by_shell },
    Step { name: "tests", command: "cargo xtask check tests", run: |_| suite::run() },
    Step { name: "sim", command: "cargo xtask sim check", run: |_| sim::check() },
    Step { name: "fuzz", command: "cargo xtask fuzz", run: |_| fuzz::check() },
    Step { name: "e2e", command: "cargo xtask e2e", run: |_| e2e::run(Args::new([]), e2e::Tier::Check) },
    Step { name: "clients", command: "cargo xtask clients", run: |_| drivers::check() },
];

/// `cargo xtask check [STEP…]`.
pub fn run(args: Args) -> Outcome<()> {
    let names = args.words()?;
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == name.as_str())) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("no step {unknown}; there are {}", known.join(", ")));
    }
    let chosen = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    walk(STEPS.iter().filter(chosen))
}

fn walk<'a>(steps: impl Iterator<Item = &'a Step>) -> Outcome<()> {
    let began = Instant::now();
    let mut times = Vec::new();
    for step in steps {
        println!("==> {}: {}", step.name, step.command);
        let step_began = Instant::now();
        let outcome = (step.run)(step);
        let time = step_began.elapsed();
        if let Err(text) = outcome {
            return Err(format!(
                "{} failed after {:.1} s\n{text}\nrepeat: {}",
                step.name,
                time.as_secs_f64(),
                step.command
            ));
        }
        println!("<== {}: {:.1} s", step.name, time.as_secs_f64());
        times.push(format!("{} {:.0} s", step.name, time.as_secs_f64()));
    }
    let total = began.elapsed();
    println!("check: all passed in {:.0} s ({})", total.as_secs_f64(), times.join(", "));
    if total > BUDGET {
        println!("check: that is more than {} min, on {} processors", BUDGET.as_secs() / 60, machine::cpus());
    }
    Ok(())
}

fn by_shell(step: &Step) -> Outcome<()> {
    let status = std::process::Command::new("sh")
        .args(["-c", step.command])
        .current_dir(tree::root())
        .stdin(std::process::Stdio::null())
        .status()
        .map_err(|error| format!("sh: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_runs_after_a_failure_and_the_command_is_told() {
        let steps = [
            Step { name: "one", command: "true", run: by_shell },
            Step { name: "two", command: "exit 3", run: by_shell },
            Step { name: "three", command: "-", run: |_| panic!("ran after a failure") },
        ];
        let text = walk(steps.iter()).unwrap_err();
        assert!(text.starts_with("two failed") && text.ends_with("repeat: exit 3"), "{text}");
        assert_eq!(walk(steps[..1].iter()), Ok(()));
    }

    #[test]
    fn an_unknown_step_is_refused() {
        assert!(run(Args::new(["nothing".to_string()])).unwrap_err().contains("no step nothing"));
    }
}
