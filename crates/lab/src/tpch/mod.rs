//! `gearbox lab tpch DIR`: TPC-H's data and queries as files, for any server that speaks SQL.
//!
//! | file | what it is |
//! |---|---|
//! | `schema.sql` | the tables, made anew |
//! | `TABLE.tbl` | a table's rows as `COPY` reads them |
//! | `load.sql` | all of it for `psql`, started in the directory |
//! | `keys.sql` | keys, indexes, statistics |
//! | `q1.sql` … `q22.sql` | the queries |
//!
//! `cargo xtask tpch` loads them into Gearbox and PostgreSQL and compares answers and times. What is made here follows the specification's
//! distributions and is the same each time, but it is not what TPC's own program makes, and the times are no TPC results.
//!
//! | module | what it has |
//! |---|---|
//! | [`rows`] | the rows |
//! | [`text`] | words, and the grammar of comments |
//! | [`queries`] | tables and queries |

pub mod queries;
pub mod rows;
pub mod text;

use crate::error::OfFile;
use base::Result;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes all files for a scale, of which 1 is a gigabyte.
pub fn write(dir: &Path, scale: f64) -> Result<()> {
    std::fs::create_dir_all(dir).of(dir)?;
    let (sizes, pool) = (rows::Sizes::at(scale), text::Pool::new());
    let mut load = String::from("\\set ON_ERROR_STOP on\n\\i schema.sql\n");
    for table in rows::TABLES {
        let path = dir.join(format!("{table}.tbl"));
        let mut out = BufWriter::new(File::create(&path).of(&path)?);
        rows::write(table, sizes, &pool, &mut out).and_then(|()| out.flush()).of(&path)?;
        load.push_str(&format!("\\copy {table} FROM '{table}.tbl'\n"));
    }
    load.push_str("\\i keys.sql\n");
    let drop: String = rows::TABLES.iter().map(|table| format!("DROP TABLE IF EXISTS {table};\n")).collect();
    let mut texts = vec![
        ("schema.sql".to_string(), drop + queries::SCHEMA),
        ("load.sql".to_string(), load),
        ("keys.sql".to_string(), queries::KEYS.to_string()),
    ];
    for number in 1..=queries::QUERIES.len() {
        let text = queries::query(number, scale).unwrap_or_default();
        texts.push((format!("q{number}.sql"), text + ";\n"));
    }
    for (name, text) in texts {
        let path = dir.join(name);
        std::fs::write(&path, text).of(&path)?;
    }
    Ok(())
}
