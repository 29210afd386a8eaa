//! Definitions that change under load: no statement ever runs on a plan for an old shape.
//!
//! One session changes a view, a table's column, what a name means, and an index, and notes in the same transaction which change it was.
//! Others ask meanwhile, in one statement each, for the note and for what the definitions give: both must be of the same change, whether
//! the statement was prepared long ago or comes as text, in a transaction or alone. Rows that an index finds must be those that are there.
//!
//! Routines, triggers and enums change along. Nothing locks them while they run, or their values have their names of now, so that a statement
//! may see one that is newer than its snapshot, as in PostgreSQL; but one that is older than what had been committed when the statement was sent is a plan, or a body, for an old shape.
//!
//! That the load finds a server that keeps plans is a test of its own.

mod support;

use postgres::error::SqlState;
use postgres::{Client, Statement};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};

const SETUP: &str = "\
    drop view if exists seen; drop table if exists noted, wide, named, big, marked, labelled;\
    drop type if exists made, grown, renamed;\
    create table noted (n integer); insert into noted values (0);\
    create view seen as select 0 as n;\
    create table wide (id integer, filler text default 'x', c integer default 0); insert into wide values (0);\
    create table named (n integer); insert into named values (0);\
    create table big (id integer primary key, v integer); insert into big select g, g % 10 from generate_series(1, 300) as g;\
    create table marked (id integer, m integer);\
    create type made as enum ('v0'); create type grown as enum ('v0'); create type renamed as enum ('v0', 'other');\
    create table labelled (l renamed); insert into labelled values ('v0');\
    create or replace function told() returns integer language sql as 'select 0';\
    create or replace function said() returns integer language plpgsql as 'begin return 0; end';\
    create or replace procedure put(inout n integer) language plpgsql as 'begin n := 0; end';\
    create or replace function mark() returns trigger language plpgsql as 'begin new.m := 0; return new; end';\
    create trigger marking before insert on marked for each row execute function mark();\
    create or replace function asking() returns integer language plpgsql as 'begin return least(told(), (select said())); end';\
    create or replace function reading() returns integer language plpgsql as \
        'declare r record; begin select * into r from wide where id = 0; return r.c; end'";

/// Statements that give the note, and what the definitions say it is.
const PAIRS: [&str; 6] = [
    "select (select n from noted), n from seen",
    "select (select n from noted), c from wide where id = 0",
    "select (select n from noted), n from named",
    "select n, (select max(c) from wide where id = 0) from noted",
    "insert into wide (id) select n + 1 from noted returning id - 1, c",
    "select (select count(*) from big where v = 3)::integer, (select count(*) from big where v + 0 = 3)::integer",
];

/// Statements that give the number of the change whose routines they run, or whose types they have values of.
const ROUTINES: [&str; 10] = [
    "select told()",
    "select said()",
    "insert into marked values (0) returning m",
    "call put(null)",
    "select asking()",
    "select reading()",
    "select substr(enum_first(null::made)::text, 2)::integer",
    "select substr(enum_last(null::grown)::text, 2)::integer",
    "select substr(l::text, 2)::integer from labelled",
    "select substr(max(m)::text, 2)::integer from (select unnest(enum_range(null::made)) as m) as all_of_it",
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
         create or replace function told() returns integer language sql as 'select {number}';\
         create or replace function said() returns integer language plpgsql as 'begin return {number}; end';\
         create or replace procedure put(inout n integer) language plpgsql as 'begin n := {number}; end';\
         create or replace function mark() returns trigger language plpgsql as 'begin new.m := {number}; return new; end';\
         drop type made; create type made as enum ('v{number}');\
         alter type grown add value 'v{number}'; alter type renamed rename value 'v{before}' to 'v{number}';\
         delete from marked;\
         {index}; insert into big values ({} , 3) on conflict do nothing; delete from wide where id <> 0; commit",
        1000 + number,
        before = number - 1
    ))
}

/// Two sessions that wait for each other are an answer too; whoever is chosen asks again.
fn is_chance(error: &postgres::Error) -> bool {
    error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
}

/// What those who ask share with who changes.
#[derive(Default)]
struct Shared {
    over: AtomicBool,
    /// The last change that is known to have been committed.
    done: AtomicI32,
}

/// Asks until it is over, or something is wrong.
fn ask(client: &mut Client, number: usize, shared: &Shared) -> Found {
    let mut found = Found::default();
    let mut last = -1;
    let texts: Vec<&str> = PAIRS.iter().chain(&ROUTINES).copied().collect();
    let prepared: Vec<Statement> = texts.iter().map(|text| client.prepare(text).unwrap()).collect();
    for turn in number.. {
        if shared.over.load(SeqCst) {
            break;
        }
        let at = turn % texts.len();
        let (text, is_prepared, in_transaction) = (texts[at], turn % 5 > 1, turn % 7 == 0);
        let is_pair = at < PAIRS.len();
        let committed = shared.done.load(SeqCst);
        let answer = (|| {
            if in_transaction {
                client.batch_execute("begin")?;
            }
            let rows = match is_prepared {
                true => client.query(&prepared[at], &[])?,
                false => client.query(text, &[])?,
            };
            let pairs = rows.iter().map(|row| match is_pair {
                true => (row.get(0), row.get(1)),
                false => (committed, row.get(0)),
            });
            let pairs = pairs.collect::<Vec<(i32, Option<i32>)>>();
            if in_transaction {
                client.batch_execute("commit")?;
            }
            Ok(pairs)
        })();
        match answer {
            Ok(pairs) => {
                found.answers += 1;
                for (note, said) in pairs {
                    let holds = match is_pair {
                        true => said == Some(note),
                        false => said >= Some(note),
                    };
                    if !holds {
                        found.wrong = Some(format!("{text}: {note} was noted, and the answer is {said:?}"));
                        shared.over.store(true, SeqCst);
                    }
                    found.notes += u64::from(note != last);
                    last = note;
                }
            }
            Err(error) if is_chance(&error) => client.batch_execute("rollback").unwrap(),
            Err(error) => {
                found.wrong = Some(format!("{text}: {error:?}"));
                shared.over.store(true, SeqCst);
            }
        }
    }
    found
}

/// A load of changes and questions on a server.
fn load(server: &Server) -> Found {
    let mut changer = server.connect();
    changer.batch_execute(SETUP).unwrap();
    let shared = &Shared::default();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|number| {
                let mut client = server.connect();
                scope.spawn(move || ask(&mut client, number, shared))
            })
            .collect();
        let began = Instant::now();
        let mut found = Found::default();
        while began.elapsed() < TIME && !shared.over.load(SeqCst) {
            match change(&mut changer, found.changes + 1) {
                Ok(()) => {
                    found.changes += 1;
                    shared.done.store(found.changes, SeqCst);
                }
                Err(error) if is_chance(&error) => changer.batch_execute("rollback").unwrap(),
                Err(error) => {
                    found.wrong = Some(format!("change {}: {error:?}", found.changes + 1));
                    break;
                }
            }
        }
        shared.over.store(true, SeqCst);
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
