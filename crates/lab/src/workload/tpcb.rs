//! `tpcb`: pgbench's TPC-B-like transaction: seven statements, five of them in three updates, a select and an insert, between
//! `BEGIN` and `COMMIT`, which all servers take.
//!
//! Checks: money is neither made nor lost, and there is a row of history for each transaction that the driver counted.

use super::table::{ACCOUNT_KEYS, ACCOUNTS, BRANCHES, HISTORY, TELLERS};
use super::{Check, Expected, Script, Workload};

/// The script.
pub const SCRIPT: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
COMMIT;
";

/// The same with only the update of accounts, which hardly ever wait for each other.
pub const SIMPLE_UPDATE: &str = "\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
COMMIT;
";

/// The workload.
pub fn workload() -> Workload {
    let sums = [
        ("accounts against history", "abalance", "pgbench_accounts"),
        ("tellers against history", "tbalance", "pgbench_tellers"),
        ("branches against history", "bbalance", "pgbench_branches"),
    ];
    let sum = |(what, column, table): (&'static str, &str, &str)| Check {
        what,
        sql: format!(
            "SELECT (SELECT sum({column}) FROM {table}) - (SELECT coalesce(sum(delta), 0) FROM pgbench_history)"
        ),
        expected: Expected::Zero,
    };
    let mut checks: Vec<Check> = sums.into_iter().map(sum).collect();
    checks.push(Check {
        what: "rows of history",
        sql: "SELECT count(*) FROM pgbench_history".to_string(),
        expected: Expected::GrowsByTransactions,
    });
    Workload {
        about: "three updates, a select and an insert in a transaction",
        scale_unit: "a branch with 10 tellers and 100,000 accounts, some 13 MiB",
        tables: vec![ACCOUNTS, TELLERS, BRANCHES, HISTORY],
        scripts: vec![Script::new("tpcb", SCRIPT)],
        warm_keys: vec![ACCOUNT_KEYS],
        warm: vec![
            "SELECT count(*), sum(abalance) FROM pgbench_accounts",
            "SELECT count(*), sum(tbalance) FROM pgbench_tellers",
            "SELECT count(*), sum(bbalance) FROM pgbench_branches",
        ],
        checks,
        ..Workload::new("tpcb")
    }
}
