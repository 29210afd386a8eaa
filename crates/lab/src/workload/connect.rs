//! `connect`: a connection for each transaction, and the cheapest statement on it: what coming and going costs.

use super::{Script, Workload};

/// The workload.
pub fn workload() -> Workload {
    Workload {
        about: "a new connection for each SELECT 1",
        scale_unit: "nothing: there are no tables",
        reconnect: true,
        protocol: "simple",
        scripts: vec![Script::new("connect", "SELECT 1;\n")],
        ..Workload::new("connect")
    }
}
