//! A table of a workload: how it is made and filled, the same in each server.
//!
//! Everything is SQL text that PostgreSQL, Gearbox and MariaDB take alike: no `COPY`, no sequences, no functions; rows come as
//! `INSERT`s of [`ROWS`] rows. What cannot be said alike is in [`Table::settle`], the one place that knows the dialects.
//!
//! Rules
//! 1. The key is declared with the table, and rows come in its order: MariaDB keeps rows in the key's order anyway, and the
//!    others append to the right end of their index.
//! 2. What is made is a function of the scale alone, so two servers hold the same rows.

use super::WarmKeys;
use crate::address::Wire;
use std::fmt::Write;

/// How many rows an `INSERT` has: few enough for any server's buffers, many enough that statements do not matter.
pub const ROWS: u64 = 1000;

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns and its key, as they stand between the parentheses of `CREATE TABLE`.
    pub columns: &'static str,
    /// How many rows it has at a scale.
    pub rows: fn(u64) -> u64,
    /// Adds the values of a row, counted from zero, as they stand between the parentheses of `VALUES`.
    pub row: fn(u64, &mut String),
}

impl Table {
    /// Takes away what is left of it, and makes it.
    pub fn make(&self) -> [String; 2] {
        let Table { name, columns, .. } = self;
        [format!("DROP TABLE IF EXISTS {name}"), format!("CREATE TABLE {name} ({columns})")]
    }

    /// Its rows.
    pub fn fill(&self, scale: u32) -> impl Iterator<Item = String> + Send + use<> {
        let Table { name, row, .. } = *self;
        let rows = (self.rows)(u64::from(scale));
        (0..rows.div_ceil(ROWS)).map(move |statement| {
            let mut text = format!("INSERT INTO {name} VALUES ");
            for index in statement * ROWS..rows.min((statement + 1) * ROWS) {
                if index > statement * ROWS {
                    text.push(',');
                }
                text.push('(');
                row(index, &mut text);
                text.push(')');
            }
            text
        })
    }

    /// What brings it into the state that it would have after a while: dead versions gone, statistics there.
    pub fn settle(&self, wire: Wire) -> String {
        match wire {
            Wire::Postgres => format!("VACUUM ANALYZE {}", self.name),
            Wire::Mysql => format!("ANALYZE TABLE {}", self.name),
        }
    }
}

/// Writes values of a row. A `String` takes everything, so there is nothing to be handled.
macro_rules! values {
    ($out:expr, $($format:tt)*) => {{
        let _ = write!($out, $($format)*);
    }};
}

/// Reads the index of the accounts' keys: a page of 8 KiB has some 360 of them.
pub const ACCOUNT_KEYS: WarmKeys =
    WarmKeys { text: "SELECT abalance FROM pgbench_accounts WHERE aid = ", keys: 100_000, stride: 200 };

/// pgbench's accounts, 100,000 for each unit of the scale.
pub const ACCOUNTS: Table = Table {
    name: "pgbench_accounts",
    columns: "aid integer NOT NULL PRIMARY KEY, bid integer, abalance integer, filler char(84)",
    rows: |scale| scale * 100_000,
    row: |index, out| values!(out, "{},{},0,''", index + 1, index / 100_000 + 1),
};

/// pgbench's tellers, ten for each branch.
pub const TELLERS: Table = Table {
    name: "pgbench_tellers",
    columns: "tid integer NOT NULL PRIMARY KEY, bid integer, tbalance integer, filler char(84)",
    rows: |scale| scale * 10,
    row: |index, out| values!(out, "{},{},0,''", index + 1, index / 10 + 1),
};

/// pgbench's branches, one for each unit of the scale.
pub const BRANCHES: Table = Table {
    name: "pgbench_branches",
    columns: "bid integer NOT NULL PRIMARY KEY, bbalance integer, filler char(88)",
    rows: |scale| scale,
    row: |index, out| values!(out, "{},0,''", index + 1),
};

/// pgbench's history, empty at first. It has no key, which MariaDB makes up for with a hidden one.
pub const HISTORY: Table = Table {
    name: "pgbench_history",
    columns: "tid integer, bid integer, aid integer, delta integer, mtime timestamp, filler char(22)",
    rows: |_| 0,
    row: |_, _| {},
};

/// Keys with a number and something to carry, 100,000 for each unit of the scale.
pub const KEY_VALUE: Table = Table {
    name: "lab_key_value",
    columns: "k integer NOT NULL PRIMARY KEY, v bigint NOT NULL, filler char(84)",
    rows: |scale| scale * 100_000,
    row: |index, out| values!(out, "{},0,''", index + 1),
};

/// Comments on objects, as a catalog keeps them: one to three lines of text for each of 10,000 objects a unit of the scale.
pub const COMMENTS: Table = Table {
    name: "lab_comments",
    columns: "id integer NOT NULL, line integer NOT NULL, content varchar(255), PRIMARY KEY (id, line)",
    rows: |scale| scale * 20_000,
    row: |index, out| {
        // Of six rows the first belongs to an object of its own, two to the next one, three to the one behind.
        let (group, place) = (index / 6, index % 6);
        let (object, line) = [(0, 1), (1, 1), (1, 2), (2, 1), (2, 2), (2, 3)][place as usize];
        let id = group * 3 + object + 1;
        values!(out, "{id},{line},'line {line} of what is said about object {id}'");
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_statements_of_a_thousand() {
        let statements: Vec<String> = Table { rows: |scale| scale * 700, ..BRANCHES }.fill(3).collect();
        assert_eq!(statements.len(), 3);
        assert!(
            statements[0].starts_with("INSERT INTO pgbench_branches VALUES (1,0,''),(2,0,''),"),
            "{}",
            &statements[0][..60]
        );
        assert_eq!(statements[2].matches('(').count(), 100);
        assert!(statements[2].ends_with("(2100,0,'')"));
        assert_eq!(HISTORY.fill(5).count(), 0);
    }

    #[test]
    fn tables_are_those_of_pgbench() {
        let all = |table: Table, scale| table.fill(scale).collect::<Vec<_>>().concat();
        let accounts = all(ACCOUNTS, 2);
        for row in ["(1,1,0,'')", "(100000,1,0,'')", "(100001,2,0,'')", "(200000,2,0,'')"] {
            assert!(accounts.contains(row), "{row}");
        }
        assert_eq!(all(TELLERS, 2).matches(",2,0,'')").count(), 10);
    }

    #[test]
    fn objects_have_one_to_three_lines() {
        let text = COMMENTS.fill(1).collect::<Vec<_>>().concat();
        let lines = |id: u32| text.matches(&format!("({id},")).count();
        assert_eq!((1..=6).map(lines).collect::<Vec<_>>(), [1, 2, 3, 1, 2, 3]);
        assert_eq!(lines(10_000), 1);
        assert_eq!(lines(10_001), 1);
        assert_eq!(lines(10_002), 0);
    }
}
