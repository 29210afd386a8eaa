//! `cargo xtask grammar`: statements drawn from a grammar, right ones and spoiled ones, for as long as asked; none may bring the server down.
//!
//! What a statement should answer is not known here: that is what `differential` is for. Here each answer is right but a panic, an internal
//! error (`XX000`), a connection that is lost, or none at all in time. Two sessions work on the same tables, so that they also meet.
//!
//! Rules
//! 1. A seed repeats what each session asks; how the two meet is up to the machine.
//! 2. Time is dealt out to the six models in turns; each server is stopped, which looks for panics in its log.

mod rules;

use crate::args::Args;
use crate::model::{MODELS, Model, Settings};
use crate::server_under_test::{Launch, ServerUnderTest, connect};
use crate::{Outcome, tree};
use fastrand::Rng;
use postgres::Client;
use rules::{Grammar, spoiled};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The rules that statements are drawn from.
const STATEMENTS: &str = include_str!("statements.grammar");

/// How a session begins, and begins again from time to time.
const SETTINGS: &str = "\
    ROLLBACK; RESET ROLE; DISCARD ALL; SET statement_timeout = '3s'; SET lock_timeout = '200ms'; SET client_min_messages = error;\
    SET search_path TO world, public";

/// What there is to begin with; made again from time to time.
const WORLD: &str = "\
    DROP SCHEMA IF EXISTS world CASCADE; CREATE SCHEMA world;\
    CREATE TABLE t1 (id integer PRIMARY KEY, a integer, b text, c numeric(12, 3), d date, e timestamptz, f boolean, j jsonb, x integer[]);\
    CREATE TABLE t2 (a integer UNIQUE, b varchar(20), c double precision, d interval, f integer REFERENCES t1, j json, x bytea);\
    CREATE TABLE t3 (a bigint GENERATED ALWAYS AS IDENTITY, b text DEFAULT 'none', c uuid, d time, \"A b\" char(4));\
    INSERT INTO t1 SELECT g, g % 10, 'row ' || g, g / 3.0, DATE '2020-01-01' + g, now(), g % 2 = 0, jsonb_build_object('a', g), ARRAY[g, g + 1] \
    FROM generate_series(1, 60) AS g;\
    INSERT INTO t2 SELECT g, 'b' || g, g / 7.0, make_interval(days => g), g, '{\"k\": [1, 2]}', '\\x0102' FROM generate_series(1, 40) AS g;\
    INSERT INTO t3 (b, c, d) SELECT 'c' || g % 4, gen_random_uuid(), TIME '10:00' FROM generate_series(1, 30) AS g;\
    CREATE VIEW v1 AS SELECT t1.a, t2.b, count(*) AS c FROM t1 JOIN t2 USING (a) GROUP BY t1.a, t2.b";

/// How many statements a session asks before the world is made again.
const PER_WORLD: u32 = 300;
/// How long an answer may take: more than the statement time-out and a stop for others' work.
const PATIENCE: Duration = Duration::from_secs(40);

/// How often something came, in one model.
#[derive(Default)]
struct Count {
    asked: u64,
    answered: u64,
    refused: BTreeMap<String, u64>,
}

/// Runs the command.
pub fn run(mut args: Args) -> Outcome<()> {
    let minutes = args.value::<u32>("--minutes")?.unwrap_or(1).max(1);
    let seed = args.value::<u64>("--seed")?.unwrap_or(1);
    let models = args.list::<Model>("--model", MODELS.to_vec())?;
    let asked = args.value::<PathBuf>("--binary")?;
    args.done()?;
    let binary = tree::binary(asked, tree::Profile::Dev)?;
    let each = Duration::from_secs(60 * u64::from(minutes)) / models.len() as u32;
    let grammar = Grammar::read(STATEMENTS)?;
    for model in models {
        in_model(&binary, model, &grammar, seed, each)?;
    }
    Ok(())
}

fn in_model(binary: &Path, model: Model, grammar: &Grammar, seed: u64, time: Duration) -> Outcome<()> {
    let settings = Settings::of(model);
    let server = ServerUnderTest::start(&Launch { program: binary, subcommand: "serve", settings, cpus: None })?;
    let (port, until) = (server.port(), Instant::now() + time);
    let results: Vec<Outcome<Count>> = std::thread::scope(|scope| {
        let sessions: Vec<_> = (0..2)
            .map(|number| scope.spawn(move || session(port, grammar, seed * 2 + number, until, number == 0)))
            .collect();
        sessions
            .into_iter()
            .map(|session| session.join().unwrap_or_else(|_| Err("a session panicked".into())))
            .collect()
    });
    let mut sum = Count::default();
    let mut complaints = Vec::new();
    for result in results {
        match result {
            Ok(count) => {
                sum.asked += count.asked;
                sum.answered += count.answered;
                count.refused.into_iter().for_each(|(state, times)| *sum.refused.entry(state).or_default() += times);
            }
            Err(text) => complaints.push(text),
        }
    }
    let mut refused: Vec<_> = sum.refused.into_iter().collect();
    refused.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let often: Vec<String> = refused.iter().take(8).map(|(state, times)| format!("{state} {times}")).collect();
    println!("{model}: {} statements, {} without an error; errors: {}", sum.asked, sum.answered, often.join(", "));
    let stopped = server.stop().err();
    complaints.extend(stopped);
    if complaints.is_empty() { Ok(()) } else { Err(format!("{model}, seed {seed}: {}", complaints.join("\n"))) }
}

/// Asks until the time is over; one session makes the world.
fn session(port: u16, grammar: &Grammar, seed: u64, until: Instant, makes: bool) -> Outcome<Count> {
    let mut rng = Rng::with_seed(seed);
    let mut client = connect(port)?;
    let mut count = Count::default();
    let mut last = Vec::new();
    for number in 0.. {
        if Instant::now() > until {
            break;
        }
        if number % PER_WORLD == 0 {
            insistently(&mut client, SETTINGS)?;
            if makes {
                insistently(&mut client, WORLD)?;
            }
        }
        let mut sentence = grammar.draw("statement", &mut rng);
        if rng.u8(..8) == 0 {
            sentence = spoiled(&sentence, &mut rng);
        }
        let began = Instant::now();
        let answer = client.simple_query(&sentence);
        count.asked += 1;
        last.push(sentence);
        let shown = |last: &[String]| last[last.len().saturating_sub(4)..].join(";\n");
        if began.elapsed() > PATIENCE {
            return Err(format!("an answer took {:.1} s:\n{}", began.elapsed().as_secs_f64(), shown(&last)));
        }
        match answer {
            Ok(_) => count.answered += 1,
            Err(error) => match error.as_db_error() {
                Some(refusal) if refusal.code().code() == "XX000" => {
                    return Err(format!("{}:\n{}", refusal.message(), shown(&last)));
                }
                Some(refusal) => {
                    *count.refused.entry(refusal.code().code().into()).or_default() += 1;
                    // A transaction that has failed takes nothing any more.
                    if refusal.code().code() == "25P02" {
                        let _ = client.simple_query("ROLLBACK");
                    }
                }
                None => return Err(format!("{error:?}:\n{}", shown(&last))),
            },
        }
    }
    Ok(count)
}

/// Statements that have to come to an end: the other session may be in the way for a moment.
fn insistently(client: &mut Client, statements: &str) -> Outcome<()> {
    let mut last = String::new();
    for _ in 0..20 {
        let failed = statements.split(';').find_map(|statement| {
            let error = client.simple_query(statement.trim()).err()?;
            Some(format!("{statement}: {}", error.as_db_error().map_or(error.to_string(), |error| error.to_string())))
        });
        match failed {
            None => return Ok(()),
            Some(text) => last = text,
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(format!("no way to begin: {last}"))
}
