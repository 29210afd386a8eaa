//! `tpcc`, `tpcc-procedures`, `tpcc-read`, `tpcc-read-procedures`: the five transactions of TPC-C, of an order-entry application.
//!
//! | file | what it has |
//! |---|---|
//! | [`rows`] | nine tables and their rows (4.3) |
//! | [`text`] | names and random strings (4.3.2) |
//! | [`script`] | the transactions as single statements (2.4 – 2.8) |
//! | [`procedure`] | the same as procedures, one call each |
//! | [`condition`] | what must hold afterwards (3.3.2) |
//!
//! Numbers in parentheses are clauses of the specification, revision 5.11. What is not TPC's: terminals have no screens and, unless the
//! load gives them some, no times to think; a transaction that a deadlock ends is not begun again; times are no TPC results.
//!
//! Rules
//! 1. A client is a terminal: its warehouse is its number modulo the scale, and does not change.
//! 2. Texts go into statements as parameters, so the simple protocol does not serve.
//! 3. Statements are what PostgreSQL and MariaDB take alike. Procedures are PostgreSQL's.

mod condition;
mod procedure;
mod rows;
mod script;
mod text;

use super::{Script, Workload};
use crate::address::Wire;

/// The mix as single statements.
pub fn workload() -> Workload {
    let scripts = vec![
        Script::weighted("new-order", &script::new_order(), 45),
        Script::weighted("payment", &script::payment(), 43),
        Script::weighted("order-status", &script::order_status(), 4),
        Script::weighted("delivery", &script::delivery(), 4),
        Script::weighted("stock-level", &script::stock_level(), 4),
    ];
    Workload { scripts, ..common("tpcc", "an order-entry application, each statement by itself") }
}

/// The mix as procedures.
pub fn procedures() -> Workload {
    let scripts = vec![
        Script::weighted("new-order", &script::call_new_order(), 45),
        Script::weighted("payment", &script::call_payment(), 43),
        Script::weighted("order-status", &script::call_order_status(), 4),
        Script::weighted("delivery", &script::call_delivery(), 4),
        Script::weighted("stock-level", &script::call_stock_level(), 4),
    ];
    with_procedures(scripts, "tpcc-procedures", "the same, a procedure for each transaction")
}

fn with_procedures(scripts: Vec<Script>, name: &str, about: &'static str) -> Workload {
    let mut workload = Workload { only: Some(Wire::Postgres), scripts, ..common(name, about) };
    workload.schema.extend(procedure::ALL.iter().map(|text| text.to_string()));
    workload
}

/// The two transactions that only read, as often one as the other.
pub fn reads() -> Workload {
    let scripts =
        vec![Script::new("order-status", &script::order_status()), Script::new("stock-level", &script::stock_level())];
    Workload { scripts, ..common("tpcc-read", "order status and stock level of the same application") }
}

/// The same two as procedures.
pub fn read_procedures() -> Workload {
    let scripts = vec![
        Script::new("order-status", &script::call_order_status()),
        Script::new("stock-level", &script::call_stock_level()),
    ];
    with_procedures(scripts, "tpcc-read-procedures", "the two that read, a procedure for each")
}

fn common(name: &str, about: &'static str) -> Workload {
    Workload {
        about,
        has_texts: true,
        rolls_back: true,
        scale_unit: "a warehouse with 10 districts and 30,000 customers, some 100 MiB",
        tables: rows::TABLES.to_vec(),
        schema: rows::INDEXES.iter().map(|text| text.to_string()).collect(),
        warm: rows::WARM.to_vec(),
        checks: condition::all(),
        ..Workload::new(name)
    }
}
