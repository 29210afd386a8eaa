//! `limit`: what each model costs when answering costs nothing.
//!
//! `gearbox limit` answers every statement with a canned row, through the same sockets, queues, parking and waits as
//! the real server. No server in that model is cheaper.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, expect, points, usual_charts};
use crate::driver::Protocol;
use crate::record::{Expectation, Figure};
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "limit", about: "the ceiling of each model: canned answers to a point select", design };

fn design(scope: &Scope) -> Result<Design> {
    Design {
        title: "The ceiling of each model",
        question: "How many requests can each model answer, and at what cost, when the answer itself costs nothing?",
        axis: "clients",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[1, 8, 100, 600]).into_iter().map(Step::clients).collect(),
        contestants: contestants::limits(),
        baseline: "limit process/dedicated".into(),
        layouts: Layout::ALL.to_vec(),
        rounds: 5,
        seconds: 1.5,
        warm_up: 0.3,
        scale: 1,
        memory: false,
        charts: usual_charts(),
        expected: expected(),
    }
    .within(scope)
}

/// Server CPU of the bare mechanisms on one processor, with eight and a hundred connections, in relation to a process for each
/// connection: 3.14 and 3.80 µs.
fn expected() -> Vec<Expectation> {
    let ratios = [
        ("limit process/shared", 0.67, 0.49),
        ("limit process/fiber", 0.58, 0.44),
        ("limit thread/dedicated", 0.92, 0.88),
        ("limit thread/shared", 0.71, 0.52),
        ("limit thread/fiber", 0.61, 0.46),
    ];
    let source = "prototypes of the bare mechanisms, on another day";
    let mut all = Vec::new();
    for (name, at_8, at_100) in ratios {
        for (x, ratio) in [(8.0, at_8), (100.0, at_100)] {
            let bounds = (Some(ratio * 0.8), Some(ratio * 1.25));
            let place = (Some("one"), Some(x));
            all.push(expect(name, "limit process/dedicated", Figure::ServerCpu, place, bounds, source));
        }
    }
    all
}
