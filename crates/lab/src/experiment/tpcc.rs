//! `tpcc`, `tpcc-procedures`, `tpcc-read`, `tpcc-read-procedures`: an order-entry application.
//!
//! The first two load as fast as terminals can, statement by statement and with a call for each transaction; in the others, terminals only
//! read, and think between two transactions, as people do.

use super::Experiment;
use super::contestants;
use super::design::{Design, Layout, Scope, Step, expect, expect_of_all, points, usual_charts};
use crate::driver::{Pace, Protocol};
use crate::record::Figure;
use crate::workload::Workload;
use base::Result;
use std::time::Duration;

/// Statement by statement.
pub const STATEMENTS: Experiment = Experiment {
    name: "tpcc",
    about: "an order-entry application like TPC-C's, 8 and 64 terminals",
    design: statements,
};

/// With procedures.
pub const PROCEDURES: Experiment = Experiment {
    name: "tpcc-procedures",
    about: "the same, each transaction one call of a procedure",
    design: procedures,
};

/// Reading only.
pub const READS: Experiment = Experiment {
    name: "tpcc-read",
    about: "its two transactions that read, by 600 users who think 10-30 ms",
    design: reads,
};

/// Reading only, with procedures.
pub const READ_PROCEDURES: Experiment = Experiment {
    name: "tpcc-read-procedures",
    about: "the same two, each one call of a procedure",
    design: read_procedures,
};

const GOAL: &str = "what this server is built to reach";
const PEER: &str = "PostgreSQL 18";

fn statements(scope: &Scope) -> Result<Design> {
    let question = "How many transactions of an order-entry application can each model do, where each of their statements is a \
                    request by itself, and at what cost?";
    as_fast_as_they_can(scope, "Order entry, statement by statement", question, "tpcc")
}

fn procedures(scope: &Scope) -> Result<Design> {
    let question = "How many transactions of an order-entry application can each model do, where each of them is one call of a \
                    procedure, and at what cost?";
    as_fast_as_they_can(scope, "Order entry with procedures", question, "tpcc-procedures")
}

fn as_fast_as_they_can(scope: &Scope, title: &'static str, question: &'static str, workload: &str) -> Result<Design> {
    let workload = Workload::named(workload)?;
    let mut expected = Vec::new();
    for x in [8.0, 64.0] {
        let at = (Some("free"), Some(x));
        expected.extend(expect_of_all(PEER, Figure::Throughput, at, (Some(1.0), None), GOAL));
        expected.push(expect("thread/fiber", PEER, Figure::Throughput, at, (Some(1.3), None), GOAL));
    }
    Design {
        title,
        question,
        axis: "terminals",
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[8, 64]).into_iter().map(Step::clients).collect(),
        contestants: contestants::servers_for(&workload),
        workload,
        baseline: PEER.into(),
        layouts: vec![Layout::Free],
        rounds: 5,
        seconds: 5.0,
        warm_up: 6.0,
        scale: 8,
        memory: false,
        disk: true,
        charts: usual_charts(),
        expected,
    }
    .within(scope)
}

fn reads(scope: &Scope) -> Result<Design> {
    by_users_who_think(scope, "Order entry, reading only", "tpcc-read")
}

fn read_procedures(scope: &Scope) -> Result<Design> {
    by_users_who_think(scope, "Order entry, reading only, with procedures", "tpcc-read-procedures")
}

fn by_users_who_think(scope: &Scope, title: &'static str, workload: &str) -> Result<Design> {
    let workload = Workload::named(workload)?;
    let pace = Pace::Think { least: Duration::from_millis(10), most: Duration::from_millis(30) };
    let step = |users: u32| Step { label: format!("{users} users"), pace, ..Step::clients(users) };
    let at = (Some("free"), Some(600.0));
    Design {
        title,
        question: "What does it cost to tell 600 users who think 10 to 30 ms how an order stands and what is low in stock?",
        axis: "users",
        defines: Vec::new(),
        protocol: Protocol::Named,
        steps: points(scope, &[600]).into_iter().map(step).collect(),
        contestants: contestants::servers_for(&workload),
        workload,
        baseline: PEER.into(),
        layouts: vec![Layout::Free],
        rounds: 5,
        seconds: 5.0,
        warm_up: 2.0,
        scale: 8,
        memory: false,
        disk: false,
        charts: usual_charts(),
        expected: vec![expect("thread/fiber", PEER, Figure::ServerCpu, at, (None, Some(0.2)), GOAL)],
    }
    .within(scope)
}
