//! A seed replays: two runs of it, in two processes, do the same, step by step.

#![forbid(unsafe_code)]

use std::process::Command;

fn run(seeds: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sim")).arg(seeds).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn two_processes_give_the_same_traces() {
    // Every load in every model, with deaths, power cuts and disk errors among them.
    let (first, second) = (run("0..30"), run("0..30"));
    assert_eq!(first.lines().count(), 30 * testkit::loads::Case::all().count());
    for (one, other) in first.lines().zip(second.lines()) {
        assert_eq!(one, other);
    }
    let hashes: std::collections::BTreeSet<&str> =
        first.lines().filter_map(|line| line.split("trace ").nth(1)?.split(',').next()).collect();
    assert_eq!(hashes.len(), first.lines().count(), "every run has a hash of its own");
}
