//! `unique-select`: each statement is a text that the server has not seen before, and gives one to three rows.
//!
//! A server that keeps plans by text parses and plans each time; one that takes literals out of the text first does not. In
//! every protocol the values are in the text, so named statements are prepared, used once and closed.

use super::table::COMMENTS;
use super::{Script, Workload};

/// The script. The number behind the comparison makes the text unique; that two of a billion texts are the same has a
/// probability of one in some 100,000.
const SCRIPT: &str = "\\set id random(1, 10000 * :scale)
\\set unique random(1000000000, 9000000000000000000)
\\literal
SELECT line, content FROM lab_comments WHERE id = :id AND line < :unique;
";

/// The workload.
pub fn workload() -> Workload {
    Workload {
        about: "a text never seen before, giving one to three rows",
        scale_unit: "10,000 objects with 20,000 lines, some 2 MiB",
        tables: vec![COMMENTS],
        scripts: vec![Script::new("unique-select", SCRIPT)],
        warm: vec!["SELECT count(*), max(content) FROM lab_comments"],
        ..Workload::new("unique-select")
    }
}
