//! Random tables with random rows, the same for both servers.
//!
//! Values come from small ranges, so that joins and groups find partners, with nulls among them. Each table has a key `id`; the other
//! columns are of all types that expressions are made of.

use super::kind::Kind;
use fastrand::Rng;
use std::fmt::Write;

/// A table or view.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, the key first.
    pub columns: Vec<(&'static str, Kind)>,
    /// Rows can be written.
    pub writable: bool,
}

/// The columns that every table has, in an order of its own.
const COLUMNS: [(&str, Kind); 11] = [
    ("a", Kind::Integer),
    ("b", Kind::Integer),
    ("c", Kind::Bigint),
    ("n", Kind::Numeric),
    ("s", Kind::Text),
    ("w", Kind::Text),
    ("f", Kind::Boolean),
    ("d", Kind::Date),
    ("t", Kind::Timestamp),
    ("r", Kind::Array),
    ("j", Kind::Json),
];

/// What indexes are made on.
const INDEXED: [&str; 10] = ["a", "b, a", "s", "d", "c", "a, id", "n", "f, s", "r", "j, a"];

/// Tables, and the statements that make them.
pub fn draw(rng: &mut Rng) -> (Vec<Table>, Vec<String>) {
    let mut statements = vec!["DROP SCHEMA IF EXISTS d CASCADE".to_string(), "CREATE SCHEMA d".into()];
    statements.push("SET search_path TO d".into());
    let mut tables = Vec::new();
    for number in 1..=rng.usize(2..=4) {
        let name = format!("t{number}");
        let mut columns = vec![("id", Kind::Integer)];
        let mut others = COLUMNS.to_vec();
        rng.shuffle(&mut others);
        others.truncate(rng.usize(5..=11));
        columns.extend(others);
        statements.push(table(&name, &columns));
        let rows = *rng.choice(&[0, 1, 7, 20, 40, 150]).unwrap_or(&20);
        if rows > 0 {
            statements.push(insert(rng, &name, &columns, rows));
        }
        for index in INDEXED {
            let names: Vec<&str> = index.split(", ").collect();
            let has_all = names.iter().all(|name| columns.iter().any(|(column, _)| column == name));
            if has_all && rng.u8(..3) == 0 {
                statements.push(format!("CREATE INDEX ON {name} ({index})"));
            }
        }
        tables.push(Table { name, columns, writable: true });
    }
    if rng.bool() {
        statements.push("ANALYZE".into());
    }
    views(rng, &mut tables, &mut statements);
    (tables, statements)
}

/// Views: a part of a table, a group of one.
fn views(rng: &mut Rng, tables: &mut Vec<Table>, statements: &mut Vec<String>) {
    let of = tables[rng.usize(..tables.len())].clone();
    let names: Vec<&str> = of.columns.iter().map(|(name, _)| *name).collect();
    statements.push(format!("CREATE VIEW v1 AS SELECT {} FROM {} WHERE id % 3 <> 0", names.join(", "), of.name));
    tables.push(Table { name: "v1".into(), columns: of.columns.clone(), writable: false });
    let (column, kind) = of.columns[rng.usize(1..of.columns.len())];
    statements.push(format!(
        "CREATE VIEW v2 AS SELECT CAST(count(*) AS integer) AS id, {column} FROM {} GROUP BY {column}",
        of.name
    ));
    tables.push(Table { name: "v2".into(), columns: vec![("id", Kind::Integer), (column, kind)], writable: false });
}

fn table(name: &str, columns: &[(&'static str, Kind)]) -> String {
    let mut text = format!("CREATE TABLE {name} (id integer PRIMARY KEY");
    for (column, kind) in &columns[1..] {
        let _ = write!(text, ", {column} {}", kind.name());
    }
    text + ")"
}

fn insert(rng: &mut Rng, name: &str, columns: &[(&'static str, Kind)], rows: usize) -> String {
    let mut text = format!("INSERT INTO {name} VALUES ");
    for row in 0..rows {
        let _ = write!(text, "{}({}", if row > 0 { ", " } else { "" }, row + 1);
        for (_, kind) in &columns[1..] {
            let value = if rng.u8(..7) == 0 { "NULL".into() } else { kind.value(rng) };
            let _ = write!(text, ", {value}");
        }
        text.push(')');
    }
    text
}
