//! `tpcb`: small transactions that change four rows and are flushed.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, expect, expect_of_all, points, usual_charts};
use crate::driver::Protocol;
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "tpcb", about: "transactions like TPC-B's, each flushed, 1 to 64 clients", design };

fn design(scope: &Scope) -> Result<Design> {
    let goal = "what this server is built to reach";
    let mut expected = Vec::new();
    for x in [8.0, 64.0] {
        let at = (Some("free"), Some(x));
        expected.extend(expect_of_all("PostgreSQL 15", Figure::Throughput, at, (Some(1.1), None), goal));
        expected.push(expect("thread/fiber", "PostgreSQL 15", Figure::Throughput, at, (Some(1.5), None), goal));
    }
    Design {
        title: "Transactions like TPC-B's",
        question: "How many short transactions that change four rows, and are flushed to the disk before they are acknowledged, \
                   can each model do, and at what cost? Each load has run for six seconds when it is measured: PostgreSQL logs a whole \
                   page when it first changes it after a checkpoint, and a window right behind one would be full of that, while what \
                   the others do against torn pages, writing pages twice, comes with a checkpoint as its writes of pages do, and is in \
                   nobody's window.",
        axis: "clients",
        workload: Workload::named("tpcb")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[1, 8, 64]).into_iter().map(Step::clients).collect(),
        contestants: contestants::servers(),
        baseline: "PostgreSQL 15".into(),
        layouts: vec![Layout::Free],
        rounds: 5,
        seconds: 3.0,
        warm_up: 6.0,
        scale: 10,
        memory: false,
        disk: true,
        charts: usual_charts(),
        expected,
    }
    .within(scope)
}
