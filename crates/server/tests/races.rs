//! A commit that is being flushed: whoever is let past the locks of its transaction sees what it did.
//!
//! In each try one session commits, and a little later, between nothing and the time of a flush, another asks for what the
//! transaction had locked. It waits, or it sees the commit; it never goes on without.
//!
//! And a savepoint that a transaction goes back to: whoever waits for what was changed or locked behind it goes on at once, while the
//! transaction stays open; who waits for what was released waits for the transaction's end.

mod support;

use postgres::Client;
use std::time::{Duration, Instant};
use support::server::{MODELS, Server};

/// Tries in each model, of each kind.
const TRIES: i32 = 80;
/// About as long as a flush takes.
const LATER_US: u64 = 600;

/// Commits in one session and, `later`, does something in the other. Answers what came of it.
fn race<T: Send>(first: &mut Client, later: Duration, second: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            let began = Instant::now();
            while began.elapsed() < later {
                std::hint::spin_loop();
            }
            second()
        });
        first.batch_execute("commit").unwrap();
        other.join().unwrap()
    })
}

/// Runs `TRIES` races on a server of its own in each of the six models, with all delays alike.
fn in_all_models(setup: &str, mut attempt: impl FnMut(&str, &mut Client, &mut Client, i32, Duration)) {
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, false);
        let (mut a, mut b) = (server.connect(), server.connect());
        a.batch_execute(setup).unwrap();
        for number in 1..=TRIES {
            let later = Duration::from_micros(LATER_US * (number as u64 * 7 % 40) / 40);
            attempt(&name, &mut a, &mut b, number, later);
        }
        server.stop();
    }
}

#[test]
fn a_parent_is_not_deleted_under_a_child_that_is_being_committed() {
    let setup = "create table parent (id int primary key); create table child (id int references parent); \
                 insert into parent select g from generate_series(1, 1000) g";
    in_all_models(setup, |name, a, b, number, later| {
        a.batch_execute(&format!("begin; insert into child values ({number})")).unwrap();
        let deleted = race(a, later, || b.execute(&format!("delete from parent where id = {number}"), &[]));
        let code = deleted.expect_err("the parent of a child was deleted");
        assert_eq!(code.code().map(|code| code.code()), Some("23503"), "{name}: {code}");
    });
}

#[test]
fn who_gets_a_row_lock_sees_what_its_last_holder_did() {
    let setup = "create table guard (id int primary key); create table noted (n int); insert into guard values (1)";
    in_all_models(setup, |name, a, b, number, later| {
        a.batch_execute(&format!(
            "begin; select * from guard where id = 1 for update; insert into noted values ({number})"
        ))
        .unwrap();
        let seen: i64 = race(a, later, || {
            let mut transaction = b.transaction().unwrap();
            transaction.batch_execute("select * from guard where id = 1 for update").unwrap();
            transaction.query_one("select count(*) from noted", &[]).unwrap().get(0)
        });
        assert_eq!(seen, i64::from(number), "{name}: the holder's commit is missing");
    });
}

#[test]
fn who_finds_a_row_in_conflict_sees_it_in_the_next_statement() {
    let setup = "create table kept (id int primary key, n int)";
    in_all_models(setup, |name, a, b, number, later| {
        a.batch_execute(&format!("begin; insert into kept values ({number}, 1)")).unwrap();
        let seen = race(a, later, || {
            let mut transaction = b.transaction().unwrap();
            transaction
                .batch_execute(&format!("insert into kept values ({number}, 2) on conflict do nothing"))
                .unwrap();
            transaction.query(&format!("select n from kept where id = {number}"), &[]).unwrap().len()
        });
        assert_eq!(seen, 1, "{name}: neither the row nor the conflict");
    });
}

/// How long a session is left to wait, before it is looked at that it does.
const WAITS: Duration = Duration::from_millis(5);

/// One session waits for what another one has behind a savepoint, until that one does `end`.
fn in_the_way(name: &str, a: &mut Client, b: &mut Client, behind: &str, second: &str, end: &str) {
    a.batch_execute("begin; update kept set n = n + 1 where id = 2; savepoint s").unwrap();
    a.batch_execute(behind).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| b.batch_execute(second));
        std::thread::sleep(WAITS);
        assert!(!waiting.is_finished(), "{name}: {second}: nobody is in its way, after {behind}");
        a.batch_execute(end).unwrap();
        waiting.join().unwrap().unwrap_or_else(|error| panic!("{name}: {second}: {error}"));
    });
}

#[test]
fn who_waits_for_what_is_taken_back_goes_on() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, false);
        let (mut a, mut b) = (server.connect(), server.connect());
        a.batch_execute("create table kept (id int primary key, n int); insert into kept values (1, 0), (2, 0)")
            .unwrap();
        b.batch_execute("set lock_timeout = '20s'").unwrap();
        let cases = [
            ("update kept set n = 9 where id = 1", "update kept set n = n + 1 where id = 1"),
            ("delete from kept where id = 1", "update kept set n = n + 1 where id = 1"),
            ("select * from kept where id = 1 for update", "update kept set n = n + 1 where id = 1"),
            (
                "select * from kept where id = 1 for key share",
                "delete from kept where id = 1; insert into kept values (1, 3)",
            ),
            ("insert into kept values (7, 0)", "insert into kept values (7, 1); delete from kept where id = 7"),
            ("lock table kept in access exclusive mode", "update kept set n = n + 1 where id = 1"),
            ("savepoint t; update kept set n = 9 where id = 1; release t", "update kept set n = n + 1 where id = 1"),
        ];
        for (behind, second) in cases {
            in_the_way(&name, &mut a, &mut b, behind, second, "rollback to s");
            // The transaction is still there, and has what it had before the savepoint.
            let kept = a.query_one("select n from kept where id = 2", &[]).unwrap().get::<_, i32>(0);
            a.batch_execute("commit").unwrap();
            assert_eq!(kept, b.query_one("select n from kept where id = 2", &[]).unwrap().get::<_, i32>(0), "{name}");
        }
        let found = a.query_one("select n from kept where id = 1", &[]).unwrap().get::<_, i32>(0);
        assert_eq!(found, 5, "{name}: what was taken back was seen, or what came after was lost");
        // A reader's lock behind a savepoint is in the way of who drops the table, and goes with it.
        a.batch_execute("begin; savepoint s; create table gone (a int)").unwrap();
        a.batch_execute("rollback to s; select * from kept; rollback to s").unwrap();
        b.batch_execute("alter table kept add column more int").unwrap();
        a.batch_execute("commit").unwrap();
        // What was released is the transaction's.
        in_the_way(
            &name,
            &mut a,
            &mut b,
            "update kept set n = 9 where id = 1; release s",
            "update kept set n = n + 1 where id = 1",
            "commit",
        );
        let found = a.query_one("select n from kept where id = 1", &[]).unwrap().get::<_, i32>(0);
        assert_eq!(found, 10, "{name}");
        server.stop();
    }
}

#[test]
fn errors_behind_savepoints_keep_no_snapshot() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, false);
        let (mut a, mut b) = (server.connect(), server.connect());
        a.batch_execute(
            "create table kept (id int primary key, n int, filler char(500)); insert into kept values (1, 0, 'x')",
        )
        .unwrap();
        a.batch_execute("begin; insert into kept values (2, 0, 'x')").unwrap();
        for _ in 0..8 {
            a.batch_execute("savepoint s").unwrap();
            assert!(a.batch_execute("select 1 / (n - n) from kept").is_err());
            a.batch_execute("rollback to s").unwrap();
        }
        for _ in 0..300 {
            b.batch_execute("update kept set n = n + 1 where id = 1").unwrap();
        }
        let pages = b.query_one("select pg_relation_size('kept') / 8192", &[]).unwrap().get::<_, i64>(0);
        assert!(pages <= 3, "{name}: nobody needs old versions of a row, and they take {pages} pages");
        a.batch_execute("commit").unwrap();
        server.stop();
    }
}

#[test]
fn who_waits_for_an_advisory_lock_gets_it_when_it_is_given_up() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start(model, false);
        let mut b = server.connect();
        let held = |client: &mut Client| {
            client.query_one("select pg_try_advisory_lock(7)", &[]).unwrap().get::<_, bool>(0)
                && client.query_one("select pg_advisory_unlock(7)", &[]).unwrap().get::<_, bool>(0)
        };
        let cases = [
            ("select pg_advisory_lock(7)", "select pg_advisory_unlock(7)"),
            ("select pg_advisory_lock_shared(7)", "select pg_advisory_unlock_shared(7)"),
            ("select pg_advisory_lock(7), pg_advisory_lock(7)", "select pg_advisory_unlock_all()"),
            ("begin; select pg_advisory_xact_lock(7)", "commit"),
            ("begin; select pg_advisory_xact_lock_shared(7)", "rollback"),
            ("begin; savepoint s; select pg_advisory_xact_lock(7)", "rollback to s"),
            ("begin; select pg_try_advisory_xact_lock(7)", "end; select 1"),
            ("select pg_advisory_lock(7)", "discard all"),
            ("select pg_advisory_lock(7)", ""),
        ];
        for (takes, gives) in cases {
            let mut a = server.connect();
            a.batch_execute(takes).unwrap();
            assert!(!held(&mut b), "{name}: after {takes} the lock is free");
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| b.batch_execute("select pg_advisory_lock(7)"));
                std::thread::sleep(WAITS);
                assert!(!waiting.is_finished(), "{name}: nobody is in the way after {takes}");
                // Without a statement it is the session's end.
                if gives.is_empty() {
                    a.close().unwrap()
                } else {
                    a.batch_execute(gives).unwrap()
                }
                waiting.join().unwrap().unwrap_or_else(|error| panic!("{name}: {takes}: {error}"));
            });
            b.batch_execute("select pg_advisory_unlock(7)").unwrap();
        }
        // An error takes the transaction's locks, and leaves the session's.
        let mut a = server.connect();
        assert!(a.batch_execute("select pg_advisory_xact_lock(7), pg_advisory_lock(8), 1 / 0").is_err());
        assert!(held(&mut b), "{name}: a failed statement kept its transaction's lock");
        let other = b.query_one("select pg_try_advisory_lock(8)", &[]).unwrap().get::<_, bool>(0);
        assert!(!other, "{name}: a failed statement gave up its session's lock");
        b.batch_execute("set lock_timeout = '20ms'").unwrap();
        let error = b.batch_execute("select pg_advisory_lock(8)").expect_err("the lock is another session's");
        assert_eq!(error.code().map(|code| code.code()), Some("55P03"), "{name}: {error}");
        server.stop();
    }
}

#[test]
fn who_waits_for_a_trigger_to_be_made_fires_it() {
    let setup = "create table fired (n int); \
                 create function one_more() returns trigger language plpgsql as 'begin new.n := new.n + 1000; return new; end'";
    let mut prepared = None;
    in_all_models(setup, |name, a, b, number, later| {
        // A plan that was made without the trigger, or with it: the same statement, prepared once for each model.
        if number == 1 {
            prepared = Some(b.prepare("insert into fired values ($1) returning n").unwrap());
        }
        let prepared = prepared.as_ref().unwrap();
        let made = number % 2 == 1;
        let change = if made {
            "create trigger t before insert on fired for each row execute function one_more()"
        } else {
            "drop trigger t on fired"
        };
        a.batch_execute(&format!("begin; {change}")).unwrap();
        let given: i32 = race(a, later, || b.query_one(prepared, &[&number]).unwrap().get(0));
        assert_eq!(given, if made { number + 1000 } else { number }, "{name}: a plan for the triggers that were");
    });
}
