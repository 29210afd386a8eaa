//! `scan`: all rows of a table are read, and one row comes back: processor and buffer pool, hardly any messages.

use super::table::ACCOUNTS;
use super::{Script, Workload};

/// The workload.
pub fn workload() -> Workload {
    let text = "SELECT count(*), sum(abalance) FROM pgbench_accounts;\n";
    Workload {
        about: "count and sum over a whole table",
        scale_unit: "100,000 accounts, some 13 MiB",
        tables: vec![ACCOUNTS],
        scripts: vec![Script::new("scan", text)],
        warm: vec!["SELECT count(*), sum(abalance) FROM pgbench_accounts"],
        ..Workload::new("scan")
    }
}
