//! Definitions that change under load: no statement ever runs on a plan for an old shape.
//!
//! One session changes a view, a table's column, what a name means, and an index, and notes in the same transaction which change it was.
//! Others ask meanwhile, in one statement each, for the note and for what the definitions give: both must be of the same change, whether
//! the statement was prepared long ago or comes as text, in a transaction or alone. Rows that an index finds must be those that are there.
//!
//! That the load finds a server that keeps plans is a test of its own.

mod support;

use postgres::error::SqlState;
use postgres::{Client, Statement};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};

const SETUP: &str = "\
    drop view if exists seen; drop table if exists noted, wide, named, big;\
    create table noted (n integer); insert into noted values (0);\
    create view seen as select 0 as n;\
    create table wide (id integer, filler text default 'x', c integer default 0); insert into wide values (0);\
    create table named (n integer); insert into named values (0);\
    create table big (id integer primary key, v integer); insert into big select g, g % 10 from generate_series(1, 300) as g";

/// Statements that give the note, and what the definitions say it is.
const PAIRS: [&str; 6] = [
    "select (select n from noted), n from seen",
    "select (select n from noted), c from wide where id = 0",
    "select (select n from noted), n from named",
    "select n, (select max(c) from wide where id = 0) from noted",
    "insert into wide (id) select n + 1 from noted returning id - 1, c",
    "select (select count(*) from big where v = 3)::integer, (select count(*) from big where v + 0 = 3)::integer",
];

/// How long a model is tried.
const TIME: Duration = Duration::from_millis(1200);
/// How many sessions ask.
const READERS: usize = 3;

/// What a run came to.
#[derive(Debug, Default)]
struct Found {
    changes: i32,
    answers: u64,
    /// Answers of different notes: a load that always sees the same shows nothing.
    notes: u64,
    wrong: Option<String>,
}

/// Makes the `number`th change.
fn change(client: &mut Client, number: i32) -> Result<(), postgres::Error> {
    let index = match number % 2 {
        0 => "drop index if exists big_v",
        _ => "create index big_v on big (v)",
    };
    client.batch_execute(&format!(
        "begin; update noted set n = {number};\
         create or replace view seen as select {number} as n;\
         alter table wide drop column c; alter table wide add column c integer default {number};\
         drop table named; create table named (n integer); insert into named values ({number});\
         {index}; insert into big values ({} , 3) on conflict do nothing; delete from wide where id <> 0; commit",
        1000 + number
    ))
}

/// Two sessions that wait for each other are an answer too; whoever is chosen asks again.
fn is_chance(error: &postgres::Error) -> bool {
    error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// Asks until it is over, or something is wrong.
fn ask(client: &mut Client, number: usize, over: &AtomicBool) -> Found {
    let mut found = Found::default();
    let mut last = -1;
    let prepared: Vec<Statement> = PAIRS.iter().map(|text| client.prepare(text).unwrap()).collect();
    for turn in number.. {
        if over.load(SeqCst) {
            break;
        }
        let (text, is_prepared, in_transaction) = (PAIRS[turn % PAIRS.len()], turn % 3 > 0, turn % 5 == 0);
        let answer = (|| {
            if in_transaction {
                client.batch_execute("begin")?;
            }
            let rows = match is_prepared {
                true => client.query(&prepared[turn % PAIRS.len()], &[])?,
                false => client.query(text, &[])?,
            };
            let pairs = rows.iter().map(|row| (row.get(0), row.get(1))).collect::<Vec<(i32, Option<i32>)>>();
            if in_transaction {
                client.batch_execute("commit")?;
            }
            Ok(pairs)
        })();
        match answer {
            Ok(pairs) => {
                found.answers += 1;
                for (note, said) in pairs {
                    if Some(note) != said {
                        found.wrong = Some(format!("{text}: {note} was noted, and the answer is {said:?}"));
                        over.store(true, SeqCst);
                    }
                    found.notes += u64::from(note != last);
                    last = note;
                }
            }
            Err(error) if is_chance(&error) => client.batch_execute("rollback").unwrap(),
            Err(error) => {
                found.wrong = Some(format!("{text}: {error:?}"));
                over.store(true, SeqCst);
            }
        }
    }
    found
}

/// A load of changes and questions on a server.
fn load(server: &Server) -> Found {
    let mut changer = server.connect();
    changer.batch_execute(SETUP).unwrap();
    let over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|number| {
                let mut client = server.connect();
                scope.spawn(move || ask(&mut client, number, over))
            })
            .collect();
        let began = Instant::now();
        let mut found = Found::default();
        while began.elapsed() < TIME && !over.load(SeqCst) {
            match change(&mut changer, found.changes + 1) {
                Ok(()) => found.changes += 1,
                Err(error) if is_chance(&error) => changer.batch_execute("rollback").unwrap(),
                Err(error) => {
                    found.wrong = Some(format!("change {}: {error:?}", found.changes + 1));
                    break;
                }
            }
        }
        over.store(true, SeqCst);
        for reader in readers {
            let other = reader.join().unwrap();
            found.answers += other.answers;
            found.notes += other.notes;
            found.wrong = found.wrong.or(other.wrong);
        }
        found
    })
}

#[test]
fn no_statement_runs_on_a_plan_for_an_old_shape() {
    let setups = MODELS.iter().flat_map(|model| [(*model, false), (*model, true)]);
    for (model, moving) in setups {
        let server = Server::start(model, moving);
        let found = load(&server);
        assert_eq!(found.wrong, None, "{}, moving: {moving}", model.name());
        assert!(
            found.changes > 3 && found.notes > 10 && found.answers > 30,
            "{}, moving: {moving}: {found:?} shows nothing",
            model.name()
        );
        server.stop();
    }
}

#[test]
fn a_server_that_keeps_plans_is_found() {
    let directory = std::env::temp_dir().join(format!("gearbox-definitions-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let model = Model { engine: "thread", sessions: "fiber" };
    let mut server = Server::on(directory.join("data"), directory.join("log"), model, &[]);
    server.plant("sql.kept_plan");
    drop(server.try_start(|| false).expect("it starts"));
    let found = (0..5).find_map(|_| load(&server).wrong);
    assert!(found.is_some(), "plans are kept, and nobody noticed");
    server.crash();
    let _ = std::fs::remove_dir_all(&directory);
}
