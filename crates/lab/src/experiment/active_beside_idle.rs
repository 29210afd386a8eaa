//! `active-beside-idle`: a hundred connections that work, alone and beside thousands that do nothing.
//!
//! Applications keep connections in pools; most of them are idle at any instant. They should cost memory only, and little.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, chart, expect, points};
use crate::driver::Protocol;
use crate::record::{Expectation, Figure};
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "active-beside-idle",
    about: "a hundred clients as fast as they can, beside up to 4,900 idle connections",
    design,
};

/// Connections that work.
const ACTIVE: u32 = 100;

fn design(scope: &Scope) -> Result<Design> {
    let (speed, memory) = (Figure::Throughput, Figure::MemoryPerConnection);
    let goal = "what this server is built to reach";
    let at = (Some("free"), Some(5000.0));
    let mut expected: Vec<Expectation> = contestants::POOLED
        .iter()
        .map(|model| expect(model, model, speed, at, (Some(0.9), None), goal).beside_point(f64::from(ACTIVE)))
        .collect();
    expected.extend(contestants::POOLED.iter().map(|model| expect(model, "", memory, at, (None, Some(20.0)), goal)));
    Design {
        title: "Active connections beside idle ones",
        question: "What do a hundred connections that ask as fast as they can lose, when thousands are connected that do \
                   nothing?",
        axis: "connections",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[ACTIVE, 1000, 5000]).into_iter().map(|count| Step::connections(count, ACTIVE)).collect(),
        contestants: contestants::servers(),
        baseline: "PostgreSQL 15".into(),
        layouts: vec![Layout::Free],
        rounds: 5,
        seconds: 2.0,
        warm_up: 0.5,
        scale: 1,
        memory: true,
        disk: false,
        charts: vec![
            chart("Throughput of those that work", speed),
            chart("Server CPU per transaction", Figure::ServerCpu),
            chart("99th percentile of latency", Figure::LatencyP99),
            chart("Memory per connection", memory),
        ],
        expected,
    }
    .within(scope)
}
