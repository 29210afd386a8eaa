//! `script`: the user's own load, in pgbench's format, on the user's own tables.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, points, usual_charts};
use crate::driver::Protocol;
use crate::error;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "script", about: "your own scripts (--file) on your own tables (--setup)", design };

fn design(scope: &Scope) -> Result<Design> {
    if scope.scripts.is_empty() {
        return Err(error::usage("no script")
            .hint("Name one in pgbench's format: gearbox lab script --file load.sql --setup tables.sql."));
    }
    Design {
        title: "Your own load",
        question: "Which model serves this load best?",
        axis: "clients",
        workload: Workload::script(&scope.scripts, scope.setup.as_deref())?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[1, 8, 64]).into_iter().map(Step::clients).collect(),
        contestants: contestants::servers(),
        baseline: "PostgreSQL 15".into(),
        layouts: vec![Layout::Free],
        rounds: 5,
        seconds: 2.0,
        warm_up: 0.5,
        scale: 1,
        memory: false,
        disk: false,
        charts: usual_charts(),
        expected: Vec::new(),
    }
    .within(scope)
}
