//! `simple-select`: the same row by its key, in the simple protocol: each statement is a text with another literal in it.
//!
//! What drivers and frameworks send that do not prepare. A server parses and plans each such text, unless it knows the text
//! again without its literals.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, expect, expect_of_all, points, usual_charts};
use crate::driver::Protocol;
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "simple-select",
    about: "a point select in the simple protocol, with changing literals",
    design,
};

fn design(scope: &Scope) -> Result<Design> {
    let goal = "what this server is built to reach";
    let at = (Some("free"), Some(8.0));
    let mut expected = expect_of_all("PostgreSQL 15", Figure::ServerCpu, at, (None, Some(0.8)), goal);
    expected.push(expect("thread/fiber", "PostgreSQL 15", Figure::ServerCpu, at, (None, Some(0.3)), goal));
    Design {
        title: "A point select with literals",
        question: "What does a select of one row by its key cost that comes as a text with its value in it, another one each \
                   time?",
        axis: "clients",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Simple,
        steps: points(scope, &[1, 8, 64]).into_iter().map(Step::clients).collect(),
        contestants: contestants::everybody(),
        baseline: "PostgreSQL 15".into(),
        layouts: vec![Layout::One, Layout::Free],
        rounds: 5,
        seconds: 2.0,
        warm_up: 0.5,
        scale: 10,
        memory: false,
        disk: false,
        charts: usual_charts(),
        expected,
    }
    .within(scope)
}
