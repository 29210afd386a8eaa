//! `many-connections`: connections that are only there, beside a few that work.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, chart, expect, points};
use crate::driver::Protocol;
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "many-connections", about: "10 to 5,000 connections, eight of which work", design };

/// Connections that work.
const ACTIVE: u32 = 8;

fn design(scope: &Scope) -> Result<Design> {
    let memory = Figure::MemoryPerConnection;
    let goal = "what this server is built to reach";
    let expected = contestants::POOLED
        .iter()
        .map(|model| expect(model, "", memory, (Some("free"), Some(5000.0)), (None, Some(20.0)), goal))
        .collect();
    Design {
        title: "Many connections, few of which work",
        question: "What does a connection cost that does nothing, in memory and in what is left for those that work?",
        axis: "connections",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[10, 100, 1000, 5000])
            .into_iter()
            .map(|count| Step::connections(count, ACTIVE))
            .collect(),
        contestants: contestants::servers(),
        baseline: "PostgreSQL 15".into(),
        layouts: vec![Layout::Free],
        rounds: 3,
        seconds: 2.0,
        warm_up: 0.5,
        scale: 1,
        memory: true,
        disk: false,
        charts: vec![
            chart("Memory per connection", memory),
            chart("Throughput of those that work", Figure::Throughput),
            chart("Server CPU per transaction", Figure::ServerCpu),
            chart("99th percentile of latency", Figure::LatencyP99),
        ],
        expected,
    }
    .within(scope)
}
