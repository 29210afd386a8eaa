//! A seed replays: two runs of it, in two processes, do the same, step by step; whatever ran in the process before.

use std::collections::BTreeMap;
use std::process::Command;

const TESTS: [&str; 3] = ["bank_everything", "keys_everything", "keys_schedules"];

/// Runs seeds in a process of its own; answers what it said of each, by what is typed to run it alone.
fn run(seeds: &str) -> BTreeMap<String, String> {
    let program = std::env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    let output =
        command.args(["--nocapture", "--test-threads=1", "--exact"]).args(TESTS).env("SIM_SEEDS", seeds).output();
    let output = output.expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let report = |line: &str| {
        let (run, report) = line.split_once(": trace ")?;
        // The harness may have begun the line.
        let run = &run[run.find("SIM_SEEDS=")?..];
        Some((run.to_string(), report.to_string()))
    };
    text.lines().filter_map(report).collect()
}

#[test]
fn two_processes_give_the_same_traces() {
    // Every load in every model, with all that may happen to a server, in two orders.
    let (first, second) = (run("0..12,40..44"), run("40..44,6..12,0..6"));
    assert_eq!(first.len(), TESTS.len() * 16, "{first:?}");
    assert_eq!(first, second);
    let traces: std::collections::BTreeSet<&str> =
        first.values().filter_map(|report| report.split(',').next()).collect();
    assert_eq!(traces.len(), first.len(), "every run has a trace of its own");
}
