//! `limit`: what each model costs when answering costs nothing.
//!
//! `gearbox limit` answers every statement with a canned row, through the same sockets, queues, parking and waits as
//! the real server: no server of ours in that model is cheaper. Beside it stands the model's bare mechanism, one receive and one send a
//! request: no server at all is.

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
        contestants: contestants::limits_and_mechanisms(),
        baseline: "limit process/dedicated".into(),
        layouts: Layout::ALL.to_vec(),
        rounds: 5,
        seconds: 1.5,
        warm_up: 0.3,
        scale: 1,
        memory: false,
        disk: false,
        charts: usual_charts(),
        expected: expected(),
    }
    .within(scope)
}

/// What a server adds to its bare mechanism, and how the mechanisms differ from a process for each connection: with eight
/// and a hundred connections on one processor that was measured once, 3.14 and 3.80 µs being what a process costs.
fn expected() -> Vec<Expectation> {
    let cpu = Figure::ServerCpu;
    let mut all = Vec::new();
    for (engine, sessions) in contestants::MODELS {
        let (limit, bare) = (contestants::limit(engine, sessions).name, contestants::bare(engine, sessions).name);
        all.push(expect(&limit, &bare, cpu, (Some("one"), Some(8.0)), (None, Some(1.3)), "what a loop may add"));
    }
    let ratios = [
        ("bare process/shared", 0.67, 0.49),
        ("bare process/fiber", 0.58, 0.44),
        ("bare thread/dedicated", 0.92, 0.88),
        ("bare thread/shared", 0.71, 0.52),
        ("bare thread/fiber", 0.61, 0.46),
    ];
    for (name, at_8, at_100) in ratios {
        for (x, ratio) in [(8.0, at_8), (100.0, at_100)] {
            let bounds = (Some(ratio * 0.8), Some(ratio * 1.25));
            let place = (Some("one"), Some(x));
            all.push(expect(name, "bare process/dedicated", cpu, place, bounds, "prototypes, on another day"));
        }
    }
    all
}
