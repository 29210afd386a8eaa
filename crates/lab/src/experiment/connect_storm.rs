//! `connect-storm`: a connection for each transaction.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, chart, expect, expect_of_all, points};
use crate::driver::Protocol;
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "connect-storm", about: "a connection for each transaction, 1 to 64 at once", design };

fn design(scope: &Scope) -> Result<Design> {
    let goal = "what this server is built to reach";
    let at = (Some("free"), Some(4.0));
    let mut expected = expect_of_all("PostgreSQL 15", Figure::Connects, at, (Some(1.5), None), goal);
    expected.push(expect("thread/fiber", "PostgreSQL 15", Figure::Connects, at, (Some(6.0), None), goal));
    Design {
        title: "A storm of connections",
        question: "How many connections a second can each model take, each of which logs in, asks one question and leaves?",
        axis: "connections at once",
        workload: Workload::named("connect")?,
        defines: Vec::new(),
        protocol: Protocol::Simple,
        steps: points(scope, &[1, 4, 64])
            .into_iter()
            .map(|count| Step { label: format!("{count} at once"), ..Step::clients(count) })
            .collect(),
        contestants: contestants::everybody(),
        baseline: "PostgreSQL 15".into(),
        layouts: vec![Layout::One, Layout::Free],
        rounds: 5,
        seconds: 2.0,
        warm_up: 0.3,
        scale: 1,
        memory: false,
        disk: false,
        charts: vec![
            chart("Connections per second", Figure::Connects),
            chart("Server CPU per connection", Figure::ServerCpu),
            chart("Median time until a connection is ready", Figure::ConnectP50),
            chart("99th percentile of that time", Figure::ConnectP99),
        ],
        expected,
    }
    .within(scope)
}
