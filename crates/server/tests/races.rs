//! A commit that is being flushed: whoever is let past the locks of its transaction sees what it did.
//!
//! In each try one session commits, and a little later, between nothing and the time of a flush, another asks for what the
//! transaction had locked. It waits, or it sees the commit; it never goes on without.

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
