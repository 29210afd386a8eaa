//! The tables and procedures of TPC-C, filled and worked on by the lab, dumped from here to PostgreSQL and back.
//!
//! Rules
//! 1. What is compared are all rows, and what a procedure answers on each server: a dump without it would be no application.

use super::dump::{ask, dump_into, relations, same_rows, same_text, start};
use super::peer::Peer;
use super::{Address, load, output};
use crate::server_under_test::Launch;
use crate::{Outcome, tree};
use std::process::Stdio;

/// A procedure that reads three of the tables.
const ANSWER: &str = "CALL tpcc_stock_level(1, 1, 60, NULL)";

/// Runs all of it.
pub fn run(launch: &Launch<'_>) -> Outcome<String> {
    let dir = tree::scratch("tpcc")?;
    let (first, own) = start(launch)?;
    let place = format!("127.0.0.1:{}", own.port);
    let mut lab = own.client(launch.program);
    lab.args(["lab", "load", "--workload", "tpcc-procedures", "--scale", "1", "--rounds", "1", "--seconds", "1"]);
    lab.args(["--points", "1", "--layouts", "free", "--server", &place, "--variants", &place, "--out"]).arg(&dir);
    output(lab.stdin(Stdio::null()))?;
    let tables = relations(&own, "r")?;
    let lines: u64 = number(&own, "SELECT count(*) FROM tpcc_order_line")?;
    if tables.len() != 9 || lines < 300_000 {
        return Err(format!("the lab has made {} tables and {lines} lines of orders", tables.len()));
    }
    let peer = Peer::start(None)?;
    let there = peer.database("orders")?;
    let (dump, back_dump, again) = (dir.join("dump.sql"), dir.join("back.sql"), dir.join("again.sql"));
    dump_into(&own, &["-Fp"], &dump)?;
    load(&there, &dump)?;
    same_rows(&own, &there, &tables)?;
    same_answer(&own, &there)?;
    let (second, back) = start(launch)?;
    dump_into(&there, &["-Fp"], &back_dump)?;
    load(&back, &back_dump)?;
    same_answer(&there, &back)?;
    // Rows are in it too, so that they need not be compared by themselves.
    dump_into(&back, &["-Fp"], &again)?;
    same_text(&tree::read(&back_dump)?, &tree::read(&again)?)?;
    first.stop()?;
    second.stop()?;
    let _ = std::fs::remove_dir_all(&dir);
    Ok(format!("{} tables, {lines} lines of orders", tables.len()))
}

fn number(address: &Address, text: &str) -> Outcome<u64> {
    let told = ask(address, text)?;
    told.trim().parse().map_err(|_| format!("{text}: {told}"))
}

fn same_answer(one: &Address, other: &Address) -> Outcome<()> {
    let (here, there) = (ask(one, ANSWER)?, ask(other, ANSWER)?);
    match here == there && !here.trim().is_empty() {
        true => Ok(()),
        false => Err(format!("{ANSWER}: {here} in {one:?}, {there} in {other:?}")),
    }
}
