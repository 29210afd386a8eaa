//! What clients do: tables, and scripts in pgbench's format.
//!
//! ```text
//!   point-select   one row by its key                           tables of pgbench
//!   unique-select  a text never seen before, few rows           lab_comments
//!   tpcb           TPC-B-like transactions                      tables of pgbench
//!   tpcc           an order-entry application: TPC-C          tables of its own
//!   tpcc-procedures, tpcc-read, tpcc-read-procedures        the same
//!   key-value      80 % reads, 20 % updates, hot keys           lab_key_value
//!   scan           count and sum over a table                   pgbench_accounts
//!   connect        a connection for each SELECT 1
//!   FILE …         the user's own, with tables of their own
//! ```
//!
//! Rules
//! 1. Every server runs the same scripts over the same rows. [`Table`] has what dialects differ in.
//! 2. A workload says what to do, not how much of it: clients, pace, protocol and seconds are the load's.
//!
//! The life of a load: the statements of [`Workload::set_up`] make tables and rows, once for a server; [`Workload::warm`] reads
//! them into its buffers; the driver steps the programs of [`Workload::mix`]; then each [`Check`] is asked, where there are
//! any, and its answer compared with the one before the load.

pub mod connect;
pub mod key_value;
pub mod point_select;
pub mod scan;
pub mod script;
pub mod table;
pub mod tpcb;
pub mod tpcc;
pub mod unique_select;

use crate::address::Wire;
use crate::error::{self, OfFile};
use base::Result;
use script::{Mix, Source};
use std::path::Path;
use table::Table;

/// What clients do, and on what.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What it is called on the command line and in records.
    pub name: String,
    /// What it does, in some words.
    pub about: &'static str,
    /// What a unit of the scale is.
    pub scale_unit: &'static str,
    /// Whether each transaction has a connection of its own.
    pub reconnect: bool,
    /// The protocol where the user does not say: `named`, `unnamed` or `simple`.
    pub protocol: &'static str,
    /// The only protocol whose servers understand it, if not all do.
    pub only: Option<Wire>,
    /// Whether texts that servers gave go back as values: they would need quotes in the text of a simple query.
    pub has_texts: bool,
    /// Whether some transactions take themselves back: the server counts fewer than the driver then.
    pub rolls_back: bool,
    /// The tables that it makes.
    pub tables: Vec<Table>,
    /// Statements of the user's own that make and fill tables.
    pub schema: Vec<String>,
    /// Its scripts.
    pub scripts: Vec<Script>,
    /// Statements that read the tables.
    pub warm: Vec<&'static str>,
    /// Statements that read indexes, which a scan of the table does not.
    pub warm_keys: Vec<WarmKeys>,
    /// What must hold after a load.
    pub checks: Vec<Check>,
}

/// A statement that is run with keys that lie far enough apart that each page of an index is read by few of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WarmKeys {
    /// The statement up to its key.
    pub text: &'static str,
    /// How many keys there are for each unit of the scale.
    pub keys: u64,
    /// How far apart those are that it is run with: fewer than a page of an index has.
    pub stride: usize,
}

impl WarmKeys {
    /// The statements for a scale.
    pub fn statements(self, scale: u32) -> impl Iterator<Item = String> {
        (1..=self.keys * u64::from(scale)).step_by(self.stride).map(move |key| format!("{}{key}", self.text))
    }
}

/// A script with its weight among the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// What errors call it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// How often it is chosen, compared with the others.
    pub weight: u32,
}

/// Something that must hold after a load: a statement that gives one number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What is looked at.
    pub what: &'static str,
    /// The statement.
    pub sql: String,
    /// What it must give.
    pub expected: Expected,
}

/// What a check must give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Zero.
    Zero,
    /// As much more than before the load as the driver counted transactions that ended well.
    GrowsByTransactions,
}

impl Check {
    /// Compares a check's answers before and after a load.
    ///
    /// # Errors
    /// What does not agree.
    pub fn compare(&self, before: i64, after: i64, transactions: u64) -> Result<()> {
        let (found, expected) = match self.expected {
            Expected::Zero => (after, 0),
            Expected::GrowsByTransactions => (after.wrapping_sub(before), transactions as i64),
        };
        if found == expected {
            return Ok(());
        }
        Err(error::server(format!("the check \"{}\" gives {found} and should give {expected}", self.what))
            .detail(format!("{} gave {before} before the load and {after} after it.", self.sql))
            .hint("Either the server lost or made something, or somebody else used its tables meanwhile."))
    }
}

impl Script {
    /// A script that is chosen as often as others.
    pub fn new(name: &str, text: &str) -> Script {
        Script::weighted(name, text, 1)
    }

    /// A script with a weight.
    pub fn weighted(name: &str, text: &str, weight: u32) -> Script {
        Script { name: name.into(), text: text.into(), weight }
    }
}

impl Workload {
    /// A workload that does nothing.
    fn new(name: &str) -> Workload {
        Workload {
            name: name.into(),
            about: "",
            scale_unit: "",
            reconnect: false,
            protocol: "named",
            only: None,
            has_texts: false,
            rolls_back: false,
            tables: Vec::new(),
            schema: Vec::new(),
            scripts: Vec::new(),
            warm: Vec::new(),
            warm_keys: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// All that the lab brings.
    pub fn all() -> Vec<Workload> {
        vec![
            point_select::workload(),
            unique_select::workload(),
            tpcb::workload(),
            tpcc::workload(),
            tpcc::procedures(),
            tpcc::reads(),
            tpcc::read_procedures(),
            key_value::workload(),
            scan::workload(),
            connect::workload(),
        ]
    }

    /// The one with this name.
    ///
    /// # Errors
    /// There is none; the hint says which there are.
    pub fn named(name: &str) -> Result<Workload> {
        let mut all = Workload::all();
        match all.iter().position(|workload| workload.name == name) {
            Some(index) => Ok(all.swap_remove(index)),
            None => {
                let names: Vec<&str> = all.iter().map(|workload| workload.name.as_str()).collect();
                Err(error::usage(format!("there is no workload \"{name}\""))
                    .hint(format!("Workloads are {}, or the files of your own scripts.", names.join(", "))))
            }
        }
    }

    /// The user's own: scripts, each perhaps with `@weight` behind its name, and perhaps a file of statements that make and
    /// fill its tables. In the place of a file `tpcb-like`, `simple-update` and `select-only` are pgbench's built-in scripts,
    /// on the tables of pgbench, unless there is a file of that name.
    ///
    /// # Errors
    /// A file that cannot be read; a weight that is no number; commands among the statements that make tables. What is wrong
    /// in the scripts comes from [`Workload::mix`].
    pub fn script(files: &[String], schema: Option<&Path>) -> Result<Workload> {
        let mut workload = Workload {
            about: "the user's own scripts",
            scale_unit: "what the scripts make of :scale",
            ..Workload::new(&files.join(" "))
        };
        for file in files {
            let (name, weight) = script::weighted(file)?;
            let path = Path::new(name);
            let built_in = BUILT_IN.iter().find(|row| row.0 == name && !path.exists());
            if let Some((name, text)) = built_in {
                let tpcb = tpcb::workload();
                workload = Workload {
                    tables: tpcb.tables,
                    warm: tpcb.warm,
                    warm_keys: tpcb.warm_keys,
                    scale_unit: tpcb.scale_unit,
                    ..workload
                };
                workload.scripts.push(Script::weighted(name, text, weight));
                continue;
            }
            let text = std::fs::read_to_string(path).of(path).map_err(|error| {
                let names: Vec<&str> = BUILT_IN.iter().map(|row| row.0).collect();
                error.hint(format!("A script is a file, or one of {}.", names.join(", ")))
            })?;
            workload.scripts.push(Script { name: name.into(), text, weight });
        }
        if let Some(path) = schema {
            let text = std::fs::read_to_string(path).of(path)?;
            workload.schema = script::statements(Source { name: &path.display().to_string(), text: &text })?;
        }
        Ok(workload)
    }

    /// Compiles the scripts. `defines` are the user's own variables.
    ///
    /// # Errors
    /// What is wrong in a script.
    pub fn mix(&self, defines: &[(String, String)]) -> Result<Mix> {
        let sources: Vec<(Source<'_>, u32)> = self
            .scripts
            .iter()
            .map(|script| (Source { name: &script.name, text: &script.text }, script.weight))
            .collect();
        Mix::compile(&sources, defines)
    }

    /// The statements that make and fill its tables, to be executed one by one without parameters, outside of a transaction.
    /// What was there under the same names is lost.
    pub fn set_up(&self, wire: Wire, scale: u32) -> Box<dyn Iterator<Item = String> + Send> {
        let tables = self.tables.clone();
        let made: Vec<String> = tables.iter().flat_map(Table::make).collect();
        let filled = tables.clone().into_iter().flat_map(move |table| table.fill(scale));
        let settled = tables.into_iter().map(move |table| table.settle(wire));
        Box::new(made.into_iter().chain(filled).chain(settled).chain(self.schema.clone()))
    }
}

/// pgbench's built-in scripts.
const BUILT_IN: &[(&str, &str)] =
    &[("tpcb-like", tpcb::SCRIPT), ("simple-update", tpcb::SIMPLE_UPDATE), ("select-only", point_select::SCRIPT)];

#[cfg(test)]
mod tests {
    use super::script::{Action, Placeholder, Presets};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_workload_compiles_and_asks_only_for_rows_that_are_there() {
        for workload in Workload::all() {
            let mix = workload.mix(&[]).unwrap();
            let mut frame = mix.frame(&Presets { seed: 5, scale: 3, ..Presets::default() }, 1);
            for _ in 0..1000 {
                let program = &mix.programs[mix.choose(&mut frame)];
                loop {
                    match program.next(&mut frame).unwrap() {
                        Action::Done => break,
                        Action::Statement(index) => {
                            let mut text = Vec::new();
                            let statement = &program.statements[index];
                            if let Some(gset) = &statement.gset {
                                let columns = ANSWERS.iter().map(|name| (name.as_bytes(), Some(&b"17"[..])));
                                frame.answer(gset, 1, columns).unwrap();
                            }
                            statement.interpolate(&frame, &mut text);
                            let text = String::from_utf8(text).unwrap();
                            assert!(!text.contains(':'), "{}: {text}", workload.name);
                            check_key(&text, " k = ", 300_000);
                            check_key(&text, " aid = ", 300_000);
                            check_key(&text, " id = ", 30_000);
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
    }

    /// What statements of TPC-C answer, and later steps compute with.
    const ANSWERS: &[&str] = &[
        "w_tax",
        "d_tax",
        "d_next_o_id",
        "c_discount",
        "i_price",
        "s_quantity",
        "dist",
        "namesakes",
        "c_id",
        "bad",
        "w_name",
        "d_name",
        "o_id",
        "no_o_id",
        "o_c_id",
        "amount",
        "low",
    ];

    fn check_key(text: &str, before: &str, most: u64) {
        if let Some((_, rest)) = text.split_once(before) {
            let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
            let key: u64 = rest[..digits].parse().unwrap();
            assert!((1..=most).contains(&key), "{text}");
        }
    }

    #[test]
    fn each_text_of_unique_select_is_another_one() {
        let mix = unique_select::workload().mix(&[]).unwrap();
        let mut texts = BTreeSet::new();
        for client in 0..10 {
            let mut frame = mix.frame(&Presets { seed: 1, scale: 1, ..Presets::default() }, client);
            for _ in 0..2000 {
                assert_eq!(mix.programs[0].next(&mut frame).unwrap(), Action::Statement(0));
                assert_eq!(mix.programs[0].next(&mut frame).unwrap(), Action::Done);
                let mut text = Vec::new();
                mix.programs[0].statements[0].interpolate(&frame, &mut text);
                texts.insert(text);
            }
        }
        assert_eq!(texts.len(), 20_000);
    }

    #[test]
    fn four_of_five_transactions_of_key_value_read() {
        let workload = key_value::workload();
        let mix = workload.mix(&[]).unwrap();
        let mut frame = mix.frame(&Presets { seed: 9, scale: 1, ..Presets::default() }, 0);
        let reads = (0..10_000).filter(|_| mix.choose(&mut frame) == 0).count();
        assert!((7_850..8_150).contains(&reads), "{reads}");
    }

    #[test]
    fn setting_up_makes_tables_anew_and_counts_their_rows_in_the_end() {
        let statements: Vec<String> = tpcb::workload().set_up(Wire::Mysql, 1).collect();
        assert_eq!(statements[0], "DROP TABLE IF EXISTS pgbench_accounts");
        assert_eq!(statements.last().unwrap(), "ANALYZE TABLE pgbench_history");
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_those_that_are() {
        let error = Workload::named("point_select").unwrap_err();
        assert!(error.hint_text().unwrap().contains("point-select, unique-select, tpcb"), "{error}");
        assert_eq!(Workload::named("scan").unwrap().name, "scan");
    }

    #[test]
    fn users_scripts_come_from_files_and_built_ins() {
        let dir = std::env::temp_dir().join(format!("gearbox-lab-workload-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (file, schema) = (dir.join("own.sql"), dir.join("schema.sql"));
        std::fs::write(&file, "SELECT :answer;").unwrap();
        std::fs::write(&schema, "CREATE TABLE a (b text);\n-- rows\nINSERT INTO a VALUES (';', ':b');").unwrap();
        let files = [format!("{}@3", file.display()), "select-only".to_string()];
        let workload = Workload::script(&files, Some(&schema)).unwrap();
        let weights: Vec<u32> = workload.scripts.iter().map(|script| script.weight).collect();
        assert_eq!(weights, [3, 1]);
        let statements: Vec<String> = workload.set_up(Wire::Postgres, 1).collect();
        assert_eq!(
            statements[statements.len() - 2..],
            ["CREATE TABLE a (b text);", "INSERT INTO a VALUES (';', ':b');"]
        );
        let mix = workload.mix(&[("answer".into(), "42".into())]).unwrap();
        assert_eq!(mix.programs[0].statements[0].text(Placeholder::Question), "SELECT ?;");
        std::fs::write(&schema, "CREATE TABLE a (b text);\n\\set a 1\n").unwrap();
        assert!(Workload::script(&files, Some(&schema)).unwrap_err().message().contains("schema.sql:2:1"));
        let missing = Workload::script(&["no/such.sql".into()], None).unwrap_err();
        assert!(missing.message().contains("no/such.sql") && missing.hint_text().unwrap().contains("tpcb-like"));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn checks_compare_what_was_before_with_what_is_after() {
        let checks = tpcb::workload().checks;
        assert!(checks[0].compare(0, 0, 5).is_ok());
        assert!(checks[0].compare(0, 1, 5).unwrap_err().message().contains("gives 1 and should give 0"));
        assert!(checks[3].compare(10, 15, 5).is_ok());
        assert!(checks[3].compare(10, 16, 5).is_err());
    }
}
