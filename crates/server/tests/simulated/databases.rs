//! A load of databases that come and go, with sessions in them.
//!
//! | who | does | must find |
//! |---|---|---|
//! | anybody in `postgres` | makes, renames and drops databases, throwing out who is in them or not | an answer that such a statement may have |
//! | anybody in one of them | makes and drops a table of one name, and its columns in an order that depends on the database | rows that somebody has put there in the same database |
//! | the same | makes something temporary | what it has put there itself |
//! | the last | drops what is left | the databases of the beginning |
//!
//! Rules
//! 1. A row has the number of the database in which it was written. So a row in another one is seen, and a plan that is another one's too.
//! 2. Whoever is in a database finds it in the list, and called as he called it, until he is out.

use super::run::{self, wait_until};
use super::wire::{How, Lost, Reply, Wire, is_transient};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::Cell;
use std::rc::Rc;

const CLIENTS: u32 = 4;
const NAMES: [&str; 3] = ["d0", "d1", "d2"];

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    run::run(seed, options, |scenario: &mut Scenario| {
        let running = Rc::new(Cell::new(CLIENTS));
        for me in 0..CLIENTS {
            let running = running.clone();
            scenario.client(move |conn| work(conn, me, rounds, &running));
        }
    })
}

fn work(conn: &mut SimConn, me: u32, rounds: u32, running: &Cell<u32>) {
    let mut client = Client { wire: Wire::new(conn) };
    for _ in 0..rounds {
        let name = client.wire.pick(&NAMES);
        match client.wire.below(20) {
            0..3 => client.ask(&format!("create database {name}"), &["42P04", "55006"]),
            3 => client.ask(&format!("drop database {name}"), &["3D000", "55006"]),
            4..6 => client.ask(&format!("drop database {name} with (force)"), &["3D000", "55006"]),
            6 => {
                let new = client.wire.pick(&NAMES);
                client.ask(&format!("alter database {name} rename to {new}"), &["3D000", "55006", "42P04"]);
            }
            7 => client.wire.leave(false),
            _ => client.visit(name),
        }
    }
    client.wire.leave(true);
    running.set(running.get() - 1);
    if me == 0 {
        wait_until(&mut client.wire, || running.get() == 0);
        client.clear();
        client.wire.leave(true);
    }
}

struct Client<'c> {
    wire: Wire<'c>,
}

impl Client<'_> {
    /// Asks for something in `postgres`; these errors may be the answer.
    fn ask(&mut self, sql: &str, also: &[&str]) {
        self.wire.enter("postgres");
        let Ok(reply) = self.wire.simple(sql) else { return };
        let is_known = |code: &str| also.contains(&code) || is_transient(code);
        assert!(reply.code().is_none_or(is_known), "{sql}: {:?}", reply.error);
    }

    /// What a statement answers in the database at hand; nothing after an error that is nobody's mistake, or one of these.
    fn answer(&mut self, how: How, sql: &str, parameters: &[String], also: &[&str]) -> Result<Option<Reply>, Lost> {
        let reply = self.wire.run(how, sql, parameters)?;
        match reply.code() {
            None => Ok(Some(reply)),
            Some(code) if also.contains(&code) || is_transient(code) => Ok(None),
            Some(_) => panic!("{sql}: {:?}", reply.error),
        }
    }

    /// Is in a database for a while, if it is there. Who is thrown out, or whose server dies, does not come back.
    fn visit(&mut self, name: &str) {
        self.wire.enter(name);
        let _ = self.stay(name);
    }

    fn stay(&mut self, name: &str) -> Result<(), Lost> {
        let sql = "select oid, datname from pg_database where datname = current_database()";
        let Some(found) = self.answer(How::Unnamed, sql, &[], &[])? else { return Ok(()) };
        assert_eq!(found.rows.len(), 1, "who is in {name} finds {found:?}");
        assert_eq!(found.rows[0][1].as_deref(), Some(name), "who is in {name} finds {found:?}");
        let home = found.number(0, 0);
        let columns = if home % 2 == 0 { "d oid, n int" } else { "n int, x text default 'x', d oid" };
        let make = format!("create table if not exists t ({columns})");
        let insert = "insert into t (d, n) select oid, $1::int from pg_database where datname = current_database()";
        if self.wire.below(2) == 0 {
            self.answer(How::Simple, &make, &[], &["42P07", "23505"])?;
            self.answer(How::Unnamed, insert, &["7".into()], &["42P01"])?;
        }
        for _ in 0..1 + self.wire.below(8) {
            let how = self.wire.pick(&How::ALL);
            match self.wire.below(12) {
                0 => drop(self.answer(How::Simple, &make, &[], &["42P07", "23505"])?),
                1 | 2 => drop(self.answer(how, insert, &["7".into()], &["42P01"])?),
                3 => {
                    let sql = format!("create temp table mine ({columns})");
                    self.answer(How::Simple, &sql, &[], &["42P07"])?;
                    let sql =
                        "insert into mine (d, n) select oid, 7 from pg_database where datname = current_database()";
                    self.answer(how, sql, &[], &["42P01"])?;
                    self.look(how, "mine", home)?;
                }
                4 => drop(self.answer(How::Simple, "drop table if exists t", &[], &[])?),
                _ => self.look(how, "t", home)?,
            }
        }
        Ok(())
    }

    /// Rows of a table are this database's, and there is one table of that name at most.
    fn look(&mut self, how: How, table: &str, home: i64) -> Result<(), Lost> {
        if let Some(reply) = self.answer(how, &format!("select d, n from {table}"), &[], &["42P01"])? {
            for row in 0..reply.rows.len() {
                assert_eq!((reply.number(row, 0), reply.number(row, 1)), (home, 7), "{table} in database {home}");
            }
        }
        let sql = "select count(*) from pg_class where relname = 't'";
        if let Some(reply) = self.answer(how, sql, &[], &[])? {
            assert!(reply.number(0, 0) <= 1, "tables called t in database {home}: {reply:?}");
        }
        Ok(())
    }

    /// Drops what is left, when nobody else is there.
    fn clear(&mut self) {
        self.wire.enter("postgres");
        for name in NAMES {
            loop {
                match self.wire.simple(&format!("drop database if exists {name} with (force)")) {
                    Ok(reply) if reply.error.is_none() => break,
                    Ok(reply) => {
                        // A session that was lost may not have gone yet.
                        let is_known = reply.code().is_some_and(|code| code == "55006" || is_transient(code));
                        assert!(is_known, "{name}: {:?}", reply.error);
                    }
                    Err(Lost) => {}
                }
                self.wire.conn.sleep(1_000_000);
            }
        }
        loop {
            match self.wire.simple("select datname from pg_database order by 1") {
                Ok(reply) if reply.error.is_none() => {
                    let names: Vec<_> = reply.rows.iter().flatten().flatten().map(String::as_str).collect();
                    assert_eq!(names, ["postgres", "template0", "template1"]);
                    break;
                }
                Ok(reply) => assert!(reply.code().is_some_and(is_transient), "{:?}", reply.error),
                Err(Lost) => {}
            }
            self.wire.conn.sleep(1_000_000);
        }
    }
}
