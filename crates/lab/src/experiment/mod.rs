//! Experiments: a question, the variants and loads that answer it, and what is expected to come out.
//!
//! ```text
//!   contestants  who is compared
//!   design    what is to be compared, under which loads         a file for each experiment
//!   runner    the cells in turns, kept one by one, interrupted and resumed
//!   cell      one measurement: a server is started, loaded, read, stopped
//!   views     what a server says of itself
//!   progress  how far it is, and how long it will take
//! ```
//!
//! Rules
//! 1. A round measures every cell once, variants next to each other: what drifts on the machine drifts for all of them.
//! 2. A cell has a server that was started for it, on data that its variant keeps through the run.
//! 3. What was measured is on the disk before the next cell begins.
//! 4. A cell that fails is a record with its reason; the run goes on. Only what would fail in each cell ends it.

mod active_beside_idle;
mod cell;
mod connect_storm;
pub mod contestants;
pub mod design;
mod limit;
mod load;
mod many_connections;
pub mod null;
mod point_select;
mod progress;
pub mod runner;
mod simple_select;
mod think_time;
mod tpcb;
mod tpcc;
mod views;

use design::{Design, Scope};

/// An experiment: its name, what it is about in a line, and what makes its design.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Its design for what the user asked.
    pub design: fn(&Scope) -> base::Result<Design>,
}

/// All experiments.
pub const EXPERIMENTS: &[Experiment] = &[
    limit::EXPERIMENT,
    point_select::EXPERIMENT,
    simple_select::EXPERIMENT,
    think_time::EXPERIMENT,
    connect_storm::EXPERIMENT,
    many_connections::EXPERIMENT,
    active_beside_idle::EXPERIMENT,
    tpcb::EXPERIMENT,
    tpcc::STATEMENTS,
    tpcc::PROCEDURES,
    tpcc::READS,
    tpcc::READ_PROCEDURES,
    load::EXPERIMENT,
    null::EXPERIMENT,
];

/// The experiment of a name.
///
/// # Errors
/// `22023` with the names that there are.
pub fn find(name: &str) -> base::Result<&'static Experiment> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names: Vec<&str> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        crate::error::usage(format!("unknown experiment \"{name}\"")).hint(format!("There are: {}.", names.join(", ")))
    })
}
