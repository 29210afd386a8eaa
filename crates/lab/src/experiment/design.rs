//! The design of an experiment: everything that is decided before anything is started.
//!
//! | layout | server | driver | engines | driver threads |
//! |---|---|---|---|---|
//! | `one` | CPU 0 | CPU 0 | 1 | 1 |
//! | `split` | CPU 0 | CPU 1 | 1 | 1 |
//! | `free` | all | all | one a CPU | 2 |
//!
//! `one` shows what the software costs and has the least noise; `split` shows what waking another processor costs;
//! `free` is what users have.

use super::contestants;
use crate::address::Address;
use crate::driver::{Pace, Protocol};
use crate::error;
use crate::record::{Chart, Expectation, Figure};
use crate::server::Subject;
use base::Result;
use std::path::PathBuf;

/// Which processors server and driver have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Both on the first.
    One,
    /// Each on its own.
    Split,
    /// Wherever the system puts them.
    Free,
}

impl Layout {
    /// All of them.
    pub const ALL: [Layout; 3] = [Layout::One, Layout::Split, Layout::Free];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Layout::One => "one",
            Layout::Split => "split",
            Layout::Free => "free",
        }
    }

    /// The server's processors; none for all.
    pub fn server_cpus(self) -> Option<&'static [usize]> {
        (self != Layout::Free).then_some(&[0])
    }

    /// The driver's processors; none for all.
    pub fn driver_cpus(self) -> Option<&'static [usize]> {
        match self {
            Layout::One => Some(&[0]),
            Layout::Split => Some(&[1]),
            Layout::Free => None,
        }
    }

    /// How many threads the driver has.
    pub fn driver_threads(self) -> u32 {
        if self == Layout::Free { 2 } else { 1 }
    }

    /// The layout of a name.
    pub fn parse(name: &str) -> Result<Layout> {
        Layout::ALL
            .into_iter()
            .find(|layout| layout.name() == name)
            .ok_or_else(|| error::usage(format!("unknown layout \"{name}\"")).hint("There are: one, split, free."))
    }
}

/// A load at its place on the axis.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where it is drawn.
    pub x: f64,
    /// What it is called.
    pub label: String,
    /// Connections that work.
    pub clients: u32,
    /// Connections that are only there.
    pub idle: u32,
    /// When a client begins its next transaction.
    pub pace: Pace,
}

impl Step {
    /// So many clients, each beginning again at once; the axis counts clients.
    pub fn clients(count: u32) -> Step {
        Step { x: f64::from(count), label: format!("{count} clients"), clients: count, idle: 0, pace: Pace::Closed }
    }

    /// So many connections, of which the first `active` work, each beginning again at once; the axis counts connections.
    pub fn connections(count: u32, active: u32) -> Step {
        Step {
            x: f64::from(count),
            label: format!("{count} connections"),
            clients: active.min(count),
            idle: count.saturating_sub(active),
            pace: Pace::Closed,
        }
    }
}

/// What the user asked for, beside the experiment's name.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Less of everything: to see that it runs, not to learn from.
    pub quick: bool,
    /// Points of the axis instead of the experiment's own.
    pub points: Vec<u32>,
    /// Layouts instead of the experiment's own.
    pub layouts: Vec<Layout>,
    /// How statements are sent, instead of the experiment's own way.
    pub protocol: Option<Protocol>,
    /// Rounds instead of the experiment's own.
    pub rounds: Option<u32>,
    /// Seconds of a measurement instead of the experiment's own.
    pub seconds: Option<f64>,
    /// Size of the tables instead of the experiment's own.
    pub scale: Option<u32>,
    /// A server of the user's own beside the others.
    pub server: Option<Address>,
    /// Contestants instead of the experiment's own, by name.
    pub only: Vec<String>,
    /// The workload of the user's choice.
    pub workload: Option<String>,
    /// When its clients begin.
    pub pace: Option<Pace>,
    /// Connections beside them that are only there.
    pub idle: Option<u32>,
    /// The user's scripts, each with its weight behind an `@`.
    pub scripts: Vec<String>,
    /// The user's own variables.
    pub defines: Vec<(String, String)>,
    /// The user's statements that make his tables.
    pub setup: Option<PathBuf>,
}

/// An experiment that is ready to be run.
pub struct Design {
    /// A heading.
    pub title: &'static str,
    /// What it is to find out.
    pub question: &'static str,
    /// The label of the axis.
    pub axis: &'static str,
    /// What clients do.
    pub workload: crate::workload::Workload,
    /// The user's own variables.
    pub defines: Vec<(String, String)>,
    /// How they send it.
    pub protocol: Protocol,
    /// The loads.
    pub steps: Vec<Step>,
    /// What is compared.
    pub contestants: Vec<Subject>,
    /// With whom the others are compared, by name; the first one if it is not there.
    pub baseline: String,
    /// Where they run.
    pub layouts: Vec<Layout>,
    /// How often each cell is measured.
    pub rounds: u32,
    /// How long.
    pub seconds: f64,
    /// How long before that.
    pub warm_up: f64,
    /// The size of the tables.
    pub scale: u32,
    /// Whether memory is measured.
    pub memory: bool,
    /// Whether the disk is measured beforehand.
    pub disk: bool,
    /// What is drawn.
    pub charts: Vec<Chart>,
    /// What should come out.
    pub expected: Vec<Expectation>,
}

impl Design {
    /// Puts what the user asked for in the place of the experiment's own.
    ///
    /// # Errors
    /// `22023` where there is nothing of what was asked.
    pub fn within(mut self, scope: &Scope) -> Result<Design> {
        if scope.quick {
            self.rounds = 3;
            self.seconds = self.seconds.min(1.0);
            self.warm_up = self.warm_up.min(0.3);
            self.scale = 1;
            self.layouts = vec![Layout::Free];
            // What the user has asked for is meant.
            if scope.points.is_empty() && scope.idle.is_none() {
                self.steps.retain(|step| step.clients + step.idle <= 200);
            }
        }
        if !scope.layouts.is_empty() {
            self.layouts = scope.layouts.clone();
        }
        // A cell's place is its layout and its point: what is named twice is the same.
        let (mut layouts, mut points) = (Vec::new(), Vec::new());
        self.layouts.retain(|layout| {
            !layouts.contains(layout) && {
                layouts.push(*layout);
                true
            }
        });
        self.steps.retain(|step| {
            !points.contains(&step.x) && {
                points.push(step.x);
                true
            }
        });
        self.protocol = scope.protocol.unwrap_or(self.protocol);
        if self.protocol == Protocol::Simple && self.workload.has_texts {
            let message = format!("--protocol simple does not serve {}", self.workload.name);
            return Err(error::usage(message).hint("Its statements have texts as parameters: use named or unnamed."));
        }
        self.defines = scope.defines.clone();
        if scope.rounds == Some(0) || scope.scale == Some(0) {
            let name = if scope.rounds == Some(0) { "rounds" } else { "scale" };
            return Err(error::usage(format!("--{name} 0")).hint("Give a number from 1."));
        }
        self.rounds = scope.rounds.unwrap_or(self.rounds);
        self.seconds = scope.seconds.unwrap_or(self.seconds);
        // Who measures for a moment does not wait for long.
        self.warm_up = self.warm_up.min(self.seconds * 2.0);
        self.scale = scope.scale.unwrap_or(self.scale);
        if !(0.05..=86_400.0).contains(&self.seconds) {
            return Err(error::usage(format!("{} seconds", self.seconds)).hint("A measurement takes 0.05 s to a day."));
        }
        if let Some(address) = &scope.server {
            self.contestants.push(contestants::external(address.clone()));
        }
        if !scope.only.is_empty() {
            // Where the ceiling takes part, the limits of the other models can be asked for: what a model costs by itself.
            let ceiling = contestants::ceiling().name;
            if self.contestants.iter().any(|contestant| contestant.name == ceiling) {
                let there = |limit: &Subject| self.contestants.iter().any(|contestant| contestant.name == limit.name);
                let others: Vec<Subject> = contestants::limits().into_iter().filter(|limit| !there(limit)).collect();
                self.contestants.extend(others);
            }
            let names: Vec<String> = self.contestants.iter().map(|contestant| contestant.name.clone()).collect();
            if let Some(unknown) = scope.only.iter().find(|name| !names.contains(name)) {
                return Err(error::usage(format!("unknown variant \"{unknown}\""))
                    .hint(format!("There are: {}.", names.join(", "))));
            }
            self.contestants.retain(|contestant| scope.only.contains(&contestant.name));
        }
        Ok(self)
    }
}

/// The user's points or the experiment's own.
pub fn points(scope: &Scope, own: &[u32]) -> Vec<u32> {
    if scope.points.is_empty() { own.to_vec() } else { scope.points.clone() }
}

/// A chart.
pub fn chart(title: &str, figure: Figure) -> Chart {
    Chart { title: title.into(), figure }
}

/// Charts of what a load costs and how long it takes.
pub fn usual_charts() -> Vec<Chart> {
    vec![
        chart("Throughput", Figure::Throughput),
        chart("Server CPU per transaction", Figure::ServerCpu),
        chart("Median latency", Figure::LatencyP50),
        chart("99th percentile of latency", Figure::LatencyP99),
        chart("Context switches of the server per transaction", Figure::ServerSwitches),
    ]
}

/// What is expected of a variant's figure in relation to another's.
pub fn expect(
    variant: &str,
    against: &str,
    figure: Figure,
    (layout, x): (Option<&str>, Option<f64>),
    (low, high): (Option<f64>, Option<f64>),
    source: &str,
) -> Expectation {
    let beside = if against.is_empty() { String::new() } else { format!(" beside {against}") };
    let what = format!("{}: {variant}{beside}", figure.label());
    Expectation {
        what,
        variant: variant.into(),
        against: (!against.is_empty()).then(|| against.into()),
        figure,
        layout: layout.map(Into::into),
        x,
        against_x: None,
        low,
        high,
        source: source.into(),
    }
}

/// The same of each of the six models.
pub fn expect_of_all(
    against: &str,
    figure: Figure,
    place: (Option<&str>, Option<f64>),
    bounds: (Option<f64>, Option<f64>),
    source: &str,
) -> Vec<Expectation> {
    let models = contestants::models();
    models.iter().map(|model| expect(&model.name, against, figure, place, bounds, source)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_found_by_their_names() {
        for layout in Layout::ALL {
            assert_eq!(Layout::parse(layout.name()).unwrap(), layout);
        }
        assert!(Layout::parse("both").unwrap_err().message().contains("both"));
    }

    #[test]
    fn what_the_user_names_is_measured_once_and_also_when_it_is_to_be_quick() {
        let scope = Scope {
            quick: true,
            points: vec![600, 8, 600],
            layouts: vec![Layout::One, Layout::One],
            ..Scope::default()
        };
        let design = (crate::experiment::find("point-select").unwrap().design)(&scope).unwrap();
        assert_eq!(design.steps.iter().map(|step| step.x).collect::<Vec<_>>(), [600.0, 8.0]);
        assert_eq!(design.layouts, [Layout::One]);
    }
}
