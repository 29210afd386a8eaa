//! `null`: one variant against itself, and one that is known to need a little more.
//!
//! What an experiment says is worth as much as its silence is: where nothing differs it has to find nothing, and what differs by a
//! twentieth it has to find. Run it to see what this machine, as busy as it is now, can tell apart.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, chart, expect, points};
use crate::driver::Protocol;
use crate::record::Figure;
use crate::server::Subject;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "null", about: "one variant against itself and against one that needs 5 % more CPU", design };

/// What `gearbox limit` computes for each answer here, in nanoseconds: as much as a statement, so that the addition is
/// a twentieth of a whole whose greater part is known.
pub const WORK_NS: u64 = 100_000;
/// What the variant that needs more computes: a twentieth of what a transaction needs, some 8 µs of messages included.
pub const MORE_NS: u64 = 105_400;

/// `gearbox limit` that computes for a while, under a name of its own.
pub fn working(name: &str, work_ns: u64) -> Subject {
    let settings = vec![("limit_work_ns".to_string(), work_ns.to_string())];
    Subject { name: name.into(), settings, ..contestants::ceiling() }
}

fn design(scope: &Scope) -> Result<Design> {
    let place = (Some("one"), Some(8.0));
    let cpu = Figure::ServerCpu;
    Design {
        title: "Nothing, and a twentieth",
        question: "Does the lab find no difference where there is none, and one of 5 % where that much was put in?",
        axis: "clients",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[8]).into_iter().map(Step::clients).collect(),
        contestants: vec![working("A", WORK_NS), working("A again", WORK_NS), working("A and 5 %", MORE_NS)],
        baseline: "A".into(),
        layouts: vec![Layout::One],
        rounds: 10,
        seconds: 0.5,
        warm_up: 0.1,
        scale: 1,
        memory: false,
        disk: false,
        charts: vec![chart("Server CPU per transaction", cpu), chart("Throughput", Figure::Throughput)],
        expected: vec![
            expect("A again", "A", cpu, place, (Some(0.97), Some(1.03)), "it is the same"),
            expect("A and 5 %", "A", cpu, place, (Some(1.03), Some(1.08)), "limit_work_ns"),
        ],
    }
    .within(scope)
}
