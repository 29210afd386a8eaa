//! `idle`: a crowd of connections that do nothing, beside a few that select points: what a connection costs that is only there.
//!
//! The crowd's size is the load's, not the workload's. What is done is [`point_select`]'s script.

use super::point_select::{self, SCRIPT};
use super::{Script, Workload};

/// The workload.
pub fn workload() -> Workload {
    Workload {
        about: "point selects beside connections that do nothing",
        crowd: true,
        scripts: vec![Script::new("idle", SCRIPT)],
        ..point_select::workload()
    }
    .called("idle")
}
