//! `key-value`: four of five transactions read a row by its key, the fifth one overwrites it; few keys are asked for often.
//!
//! Ranks follow Zipf's law with the exponent 1.07; the permutation scatters them, so that hot keys are not neighbours on a page.
//! It is the same permutation for all clients of a run, as its seed is.

use super::table::KEY_VALUE;
use super::{Script, Workload};

const READ: &str = "\\set k 1 + permute(random_zipfian(0, 100000 * :scale - 1, 1.07), 100000 * :scale)
SELECT v FROM lab_key_value WHERE k = :k;
";

const UPDATE: &str = "\\set k 1 + permute(random_zipfian(0, 100000 * :scale - 1, 1.07), 100000 * :scale)
\\set v random(0, 1000000000000)
UPDATE lab_key_value SET v = :v WHERE k = :k;
";

/// The workload.
pub fn workload() -> Workload {
    Workload {
        about: "80 % reads and 20 % updates by key, few keys hot",
        scale_unit: "100,000 keys, some 13 MiB",
        tables: vec![KEY_VALUE],
        scripts: vec![Script::weighted("key-value read", READ, 4), Script::weighted("key-value update", UPDATE, 1)],
        warm: vec!["SELECT count(*), sum(v) FROM lab_key_value"],
        ..Workload::new("key-value")
    }
}
