//! `think-time`: clients that think between two requests, as people and applications do.
//!
//! Such a load does not ask for speed: all servers serve the same number of requests. What they differ in is what a request costs, most
//! of which is waking somebody up.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, expect, expect_of_all, points, usual_charts};
use crate::driver::{Pace, Protocol};
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;
use std::time::Duration;

/// The experiment.
pub const EXPERIMENT: Experiment =
    Experiment { name: "think-time", about: "a point select by 100 and 600 users who think 10-30 ms", design };

fn design(scope: &Scope) -> Result<Design> {
    let pace = Pace::Think { least: Duration::from_millis(10), most: Duration::from_millis(30) };
    let step = |users: u32| Step { label: format!("{users} users"), pace, ..Step::clients(users) };
    let goal = "what this server is built to reach";
    let at = (Some("free"), Some(600.0));
    let mut expected = expect_of_all("PostgreSQL 15", Figure::ServerCpu, at, (None, Some(0.5)), goal);
    expected.push(expect("thread/fiber", "PostgreSQL 15", Figure::ServerCpu, at, (None, Some(0.1)), goal));
    expected.push(expect("thread/fiber", "MariaDB", Figure::ServerCpu, at, (None, Some(0.3)), goal));
    expected.push(expect(
        "thread/fiber",
        &contestants::ceiling().name,
        Figure::Throughput,
        at,
        (Some(0.97), None),
        goal,
    ));
    Design {
        title: "Users who think",
        question: "What does a request cost when clients wait 10 to 30 ms between two of them, drawn at random, so that whoever \
                   serves them has gone to sleep?",
        axis: "users",
        workload: Workload::named("point-select")?,
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[100, 600]).into_iter().map(step).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_other_models_take_part_when_they_are_asked_for() {
        let limits = |contestants: &[crate::server::Subject]| {
            contestants.iter().filter(|contestant| contestant.name.starts_with("limit ")).count()
        };
        assert_eq!(limits(&design(&Scope::default()).unwrap().contestants), 1);
        let only = vec!["process/dedicated".to_string(), "limit process/dedicated".to_string()];
        let named = design(&Scope { only, ..Scope::default() }).unwrap();
        let names: Vec<&str> = named.contestants.iter().map(|contestant| contestant.name.as_str()).collect();
        assert_eq!(names, ["process/dedicated", "limit process/dedicated"]);
    }
}
