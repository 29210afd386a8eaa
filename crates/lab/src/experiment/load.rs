//! `load`: a load of the user's choice: the lab's workloads, or scripts in pgbench's format on tables of his own; as fast as clients can,
//! with pauses between, or at a rate.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, points, usual_charts};
use crate::driver::{Pace, Protocol};
use crate::error;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "load", about: "a load of your choice (--workload), or your own (--file, --setup)", design };

fn workload(scope: &Scope) -> Result<Workload> {
    match (&scope.workload, scope.scripts.is_empty()) {
        (Some(name), true) if scope.setup.is_some() => Err(error::usage(format!("--workload {name} and --setup"))
            .hint("The lab's workloads have tables of their own; --setup goes with --file.")),
        (Some(name), true) => Workload::named(name),
        (None, false) => Workload::script(&scope.scripts, scope.setup.as_deref()),
        (Some(name), false) => Err(error::usage(format!("--workload {name} and --file"))
            .hint("Name one of the lab's workloads, or scripts of your own.")),
        (None, true) => Err(error::usage("no load").hint(
            "Name a workload, as in gearbox lab load --workload key-value, or scripts in pgbench's format, as in \
             gearbox lab load --file load.sql --setup tables.sql.",
        )),
    }
}

fn design(scope: &Scope) -> Result<Design> {
    let workload = workload(scope)?;
    let contestants = contestants::servers_for(&workload);
    let step = |clients: u32| Step {
        idle: scope.idle.unwrap_or(0),
        pace: scope.pace.unwrap_or(Pace::Closed),
        ..Step::clients(clients)
    };
    Design {
        title: "Your own load",
        question: "Which model serves this load best?",
        axis: "clients",
        protocol: Protocol::parse(workload.protocol)?,
        workload,
        defines: Vec::new(),
        steps: points(scope, &[1, 8, 64]).into_iter().map(step).collect(),
        contestants,
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
