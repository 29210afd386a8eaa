//! `cargo xtask differential`: random statements, asked of Gearbox and of PostgreSQL.
//!
//! ```text
//! world:    tables, views, indexes and rows from a seed, made on both          every few hundred statements
//! methods:  which of them Gearbox's planner may use, by its settings           for each statement
//! query:    asked of both; rows compared, as a set unless the whole order was said
//! change:   BEGIN; the change, with what it returns; the table's rows; ROLLBACK
//! differ:   made smaller as long as the servers still differ, then printed with the seed
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`schema`], [`kind`] | tables and their values |
//! | [`expression`], [`query`], [`change`] | statements |
//! | [`methods`] | settings of the planner |
//! | [`text`] | statements that know how they get smaller |
//! | [`side`] | asking, comparing |
//!
//! Rules
//! 1. A seed repeats its world and all of its statements.
//! 2. Nothing is made whose answer PostgreSQL leaves open: no sums of floating-point numbers, no rows cut off without their whole order.
//! 3. What one of both refuses or fails at is a difference too, and so is a lost connection. What both refuse is counted.

mod change;
mod expression;
mod kind;
mod methods;
mod query;
mod schema;
mod side;
mod text;

use crate::args::Args;
use crate::model::Settings;
use crate::postgres::Postgres;
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::{Outcome, tree};
use fastrand::Rng;
use methods::Methods;
use query::{Made, Maker};
use side::{Answer, Side, agree, merges, without_zeros};
use std::collections::BTreeMap;
use std::path::PathBuf;
use text::Text;

/// How long a statement that is compared may take: what takes longer, mostly because all better ways are forbidden, is left out.
const PATIENCE: &str = "SET statement_timeout = '1s'";
/// How many statements a world is asked.
const PER_WORLD: u64 = 400;
/// How many differences of one way are made small and printed, and how many ways end a run.
const OF_A_WAY: u32 = 2;
const ENOUGH: usize = 12;
/// So many statements between two reports of how far the run is.
const BETWEEN_REPORTS: u64 = 5_000;
/// How often a statement is tried in a smaller form.
const TRIES: usize = 600;
/// How often an end of a transaction is asked for that took too long.
const ROLLBACKS: usize = 3;

struct Sides {
    ours: Side,
    theirs: Side,
}

/// Runs the command.
pub fn run(mut args: Args) -> Outcome<()> {
    let count = args.value::<u64>("--queries")?.unwrap_or(2_000).max(1);
    let first = args.value::<u64>("--seed")?.unwrap_or(1);
    let model = args.value("--model")?.unwrap_or(crate::model::MODELS[5]);
    let (postgres, gearbox) = (args.value::<u16>("--postgres")?, args.value::<u16>("--gearbox")?);
    let asked = args.value::<PathBuf>("--binary")?;
    args.done()?;
    let peer = if postgres.is_none() { Some(Postgres::start()?) } else { None };
    let server = match gearbox {
        Some(_) => None,
        None => {
            let binary = tree::binary(asked, tree::Profile::Dev)?;
            let settings = Settings::of(model);
            Some(ServerUnderTest::start(&Launch { program: &binary, subcommand: "serve", settings, cpus: None })?)
        }
    };
    let port = gearbox.or(server.as_ref().map(ServerUnderTest::port)).unwrap_or_default();
    let peer_port = postgres.or(peer.as_ref().map(Postgres::port)).unwrap_or_default();
    let sides = Sides { ours: Side::new(port)?, theirs: Side::new(peer_port)? };
    let outcome = compare(sides, first, count);
    if let Some(server) = server {
        server.stop()?;
    }
    outcome
}

fn compare(mut sides: Sides, first: u64, count: u64) -> Outcome<()> {
    let (mut asked, mut refused, mut rows, mut different) = (0, 0, 0, 0);
    let mut ways: BTreeMap<String, u32> = BTreeMap::new();
    let (mut seed, mut told) = (first, 0);
    while asked < count && ways.len() < ENOUGH {
        let mut rng = Rng::with_seed(seed);
        let (tables, statements) = schema::draw(&mut rng);
        let without_patience = "SET statement_timeout = 0".to_string();
        for statement in [&without_patience].into_iter().chain(&statements).chain([&PATIENCE.to_string()]) {
            for (name, side) in [("gearbox", &mut sides.ours), ("postgresql", &mut sides.theirs)] {
                match side.ask(statement) {
                    Answer::Rows(..) => {}
                    other => return Err(format!("seed {seed}: {name} answers {other:?} to {statement}")),
                }
            }
        }
        for _ in 0..PER_WORLD.min(count - asked) {
            asked += 1;
            let methods = Methods::draw(&mut rng);
            let mut maker = Maker::new(&mut rng, &tables);
            let (made, changed) = match maker.rng.u8(..6) {
                0 => match maker.change() {
                    Some((text, table)) => (Made { text, ordered: false }, Some(table)),
                    None => continue,
                },
                _ => (maker.statement(), None),
            };
            sides.ours.ask(&methods.statements());
            let (mine, right) = sides.ask(&made.text, changed.as_deref());
            match (&mine, &right) {
                (Answer::Error(..), _) | (_, Answer::Error(..)) => refused += 1,
                (Answer::Rows(list, _), _) => rows += list.len(),
                _ => {}
            }
            if !same(&made.text.to_string(), &mine, &right, made.ordered) {
                different += 1;
                let way = ways.entry(way(&mine, &right)).or_default();
                *way += 1;
                if *way <= OF_A_WAY {
                    report(&mut sides, (seed, methods), made, changed.as_deref());
                }
            }
        }
        seed += 1;
        if asked / BETWEEN_REPORTS > told {
            told = asked / BETWEEN_REPORTS;
            println!("{asked} statements, {different} different; seed {seed} is next");
        }
    }
    println!(
        "differential: {asked} statements of seeds {first} to {}: {different} different, {refused} refused or too slow, {rows} rows",
        seed - 1
    );
    for (way, count) in &ways {
        println!("{count:>7} × {way}");
    }
    match different {
        0 => Ok(()),
        _ => Err(format!("{different} statements are answered differently")),
    }
}

impl Sides {
    /// Both servers' answers.
    fn ask(&mut self, text: &Text, changed: Option<&str>) -> (Answer, Answer) {
        let sql = text.to_string();
        match changed {
            None => (self.ours.ask(&sql), self.theirs.ask(&sql)),
            Some(table) => (changing(&mut self.ours, &sql, table), changing(&mut self.theirs, &sql, table)),
        }
    }
}

/// What a change returns, and the table behind it; nothing stays.
///
/// On a busy machine even `BEGIN` can take too long: without a transaction nothing is changed, as it would stay and every later answer differ.
fn changing(side: &mut Side, sql: &str, table: &str) -> Answer {
    match side.ask("BEGIN") {
        Answer::Rows(..) => {}
        other => return other,
    }
    let answer = match side.ask(sql) {
        Answer::Rows(mut rows, changed) => match side.ask(&format!("SELECT * FROM {table}")) {
            Answer::Rows(more, _) => {
                rows.extend(more);
                Answer::Rows(rows, changed)
            }
            other => other,
        },
        other => other,
    };
    for _ in 0..ROLLBACKS {
        if let Answer::Rows(..) = side.ask("ROLLBACK") {
            break;
        }
    }
    answer
}

/// Makes a statement smaller as long as the answers differ in the same way, and prints it.
fn report(sides: &mut Sides, (seed, methods): (u64, Methods), made: Made, changed: Option<&str>) {
    let mut text = made.text;
    let mut tries = 0;
    let (mine, right) = sides.ask(&text, changed);
    let first = way(&mine, &right);
    'smaller: loop {
        for step in text.simpler() {
            tries += 1;
            if tries > TRIES {
                break 'smaller;
            }
            let (mine, right) = sides.ask(&step, changed);
            if !same(&step.to_string(), &mine, &right, made.ordered) && way(&mine, &right) == first {
                text = step;
                continue 'smaller;
            }
        }
        break;
    }
    let (mine, right) = sides.ask(&text, changed);
    println!(
        "--- seed {seed}, {}\n{text};\n    gearbox:    {}\n    postgresql: {}",
        methods.shown(),
        shown(&mine),
        shown(&right)
    );
    if let (Answer::Rows(mine, _), Answer::Rows(right, _)) = (&mine, &right) {
        let lacking = |from: &[String], of: &[String]| from.iter().find(|row| !of.contains(row)).cloned();
        println!("    only there: {:?}, {:?}", lacking(mine, right), lacking(right, mine));
    }
}

/// Whether a statement's answers are the same.
fn same(sql: &str, mine: &Answer, right: &Answer, ordered: bool) -> bool {
    let alike = || agree(&without_zeros(mine), &without_zeros(right), ordered);
    // Of rows that differ in such zeros alone either may come first, but each has to come as it is.
    agree(mine, right, ordered) || (merges(sql) && alike()) || (ordered && agree(mine, right, false) && alike())
}

/// In which way two answers differ.
fn way(mine: &Answer, right: &Answer) -> String {
    match (mine, right) {
        (Answer::Gone(_), _) | (_, Answer::Gone(_)) => "a connection is lost".into(),
        (Answer::Error(state, text), _) => format!("gearbox: {state} {text}"),
        (_, Answer::Error(state, text)) => format!("postgresql: {state} {text}"),
        (Answer::Rows(mine, _), Answer::Rows(right, _)) if mine.len() != right.len() => "another number of rows".into(),
        _ => "other rows".into(),
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Rows(rows, changed) => {
            let first: Vec<&str> = rows.iter().take(4).map(String::as_str).collect();
            format!("{} rows, {changed}: {}", rows.len(), first.join(" / "))
        }
        Answer::Error(state, text) => format!("{state} {text}"),
        Answer::Gone(text) => format!("connection lost: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_differ_in_zeros_may_change_places() {
        let rows = |list: &[&str]| Answer::Rows(list.iter().map(|row| row.to_string()).collect(), 2);
        assert!(same("SELECT n, n", &rows(&["1.0|1.0", "1.00|1.00"]), &rows(&["1.00|1.00", "1.0|1.0"]), true));
        assert!(!same("SELECT n, n", &rows(&["1.0|1.0", "1.00|1.00"]), &rows(&["1.0|1.0", "1.0|1.0"]), true));
        assert!(!same("SELECT n, n", &rows(&["1.0", "2.0"]), &rows(&["2.0", "1.0"]), true));
    }
}
