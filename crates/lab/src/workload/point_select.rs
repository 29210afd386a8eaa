//! `point-select`: one row by its key, uniformly at random: the least that a server does for a request.

use super::table::{ACCOUNT_KEYS, ACCOUNTS};
use super::{Script, Workload};

/// The script.
pub const SCRIPT: &str = "\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";

/// The workload.
pub fn workload() -> Workload {
    Workload {
        about: "one row by its key, chosen uniformly",
        scale_unit: "100,000 accounts, some 13 MiB",
        tables: vec![ACCOUNTS],
        scripts: vec![Script::new("point-select", SCRIPT)],
        warm_keys: vec![ACCOUNT_KEYS],
        warm: vec!["SELECT count(*), sum(abalance) FROM pgbench_accounts"],
        ..Workload::new("point-select")
    }
}
