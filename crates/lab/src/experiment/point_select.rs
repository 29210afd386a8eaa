//! `point-select`: one row by its key, prepared, as fast as clients can ask.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, expect, expect_of_all, points, usual_charts};
use crate::driver::Protocol;
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "point-select", about: "one row by its key, 1 to 600 clients", design };

fn design(scope: &Scope) -> Result<Design> {
    let (cpu, speed) = (Figure::ServerCpu, Figure::Throughput);
    let goal = "what this server is built to reach";
    let at = |x: f64| (Some("free"), Some(x));
    let mut expected = expect_of_all("PostgreSQL 15", cpu, at(8.0), (None, Some(0.8)), goal);
    expected.push(expect("thread/fiber", "PostgreSQL 15", cpu, at(8.0), (None, Some(0.4)), goal));
    expected.push(expect("thread/fiber", &contestants::ceiling().name, cpu, at(8.0), (None, Some(2.0)), goal));
    expected.extend(expect_of_all("PostgreSQL 15", speed, at(8.0), (Some(1.1), None), goal));
    expected.push(expect("thread/fiber", "PostgreSQL 15", speed, at(8.0), (Some(1.5), None), goal));
    expected.extend(expect_of_all("PostgreSQL 15", speed, at(600.0), (Some(1.2), None), goal));
    expected.push(expect("thread/fiber", "PostgreSQL 15", speed, at(600.0), (Some(5.0), None), goal));
    expected.push(expect("thread/fiber", "MariaDB", speed, at(600.0), (Some(2.5), None), goal));
    Design {
        title: "A point select",
        question: "What does a prepared select of one row by its key cost in each model, and how does that change with the \
                   number of clients that ask as fast as they can?",
        axis: "clients",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[1, 8, 64, 600]).into_iter().map(Step::clients).collect(),
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
