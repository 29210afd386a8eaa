//! A load of routines that are replaced while others call them.
//!
//! | who | does | must find |
//! |---|---|---|
//! | anybody | replaces a routine by one that gives a value which no other gave | |
//! | anybody | calls it, by itself or from another's body, or fires it | one order that explains what everybody saw ([`testkit::register`]) |
//!
//! A routine is not locked while it runs; so a call may see one that is newer than its snapshot. But a routine that was replaced before the
//! call was asked for is gone: a body of it that a process has kept belongs to no call any more.

use super::run::{self, wait_until};
use super::wire::{How, Lost, Wire, is_transient};
use kernel::engine::sim::{Failure, Options, Report, Scenario, SimConn};
use std::cell::RefCell;
use std::rc::Rc;
use testkit::history::History;
use testkit::register::{self, Asked, Told};

const CLIENTS: u32 = 4;
/// The checker's memory has room for so many of each routine.
const OPERATIONS_MAX: usize = 100;

/// How a routine is made that gives the value 0, and calls of it.
const ROUTINES: [(&str, &[&str]); 4] = [
    ("function told() returns bigint language sql as 'select 0::bigint'", &["select told()", "select asking('told')"]),
    (
        "function said() returns bigint language plpgsql as 'begin return 0; end'",
        &["select said()", "select asking('said')"],
    ),
    ("procedure put(inout n bigint) language plpgsql as 'begin n := 0; end'", &["call put(null)"]),
    (
        "function mark() returns trigger language plpgsql as 'begin new.m := 0; return new; end'",
        &["insert into marked values (7) returning m"],
    ),
];

/// What there is beside them. It may be made twice.
const OTHERS: [&str; 3] = [
    "create or replace function asking(what text) returns bigint language plpgsql as \
     'begin if what = ''told'' then return told(); end if; return said(); end'",
    "create table if not exists marked (m bigint)",
    "create or replace trigger marking before insert on marked for each row execute function mark()",
];

#[derive(Default)]
struct World {
    is_made: bool,
    running: u32,
    /// Each value is given by one routine.
    last_value: u64,
    histories: [History<Asked, Told>; ROUTINES.len()],
}

type Shared = Rc<RefCell<World>>;

/// Runs a seed.
pub fn run(seed: u64, options: Options, rounds: u32) -> Result<Report, Box<Failure>> {
    run::run(seed, options, |scenario: &mut Scenario| {
        let world: Shared = Rc::new(RefCell::new(World { running: CLIENTS, ..World::default() }));
        for me in 0..CLIENTS {
            let world = world.clone();
            scenario.client(move |conn| work(conn, me, rounds, &world));
        }
    })
}

fn work(conn: &mut SimConn, me: u32, rounds: u32, world: &Shared) {
    let mut client = Client { wire: Wire::new(conn), me, world };
    if me == 0 {
        let routines = ROUTINES.iter().map(|(routine, _)| format!("create or replace {routine}"));
        routines.chain(OTHERS.map(str::to_owned)).for_each(|sql| drop(client.wire.insist(&sql, &[])));
        world.borrow_mut().is_made = true;
    }
    wait_until(&mut client.wire, || world.borrow().is_made);
    for _ in 0..rounds {
        let routine = client.wire.below(ROUTINES.len() as u64) as usize;
        match client.wire.below(12) {
            0..4 => client.replace(routine),
            4..11 => (0..3).for_each(|_| client.call(routine)),
            _ => client.wire.leave(true),
        }
    }
    client.wire.leave(true);
    let is_last = {
        let mut world = world.borrow_mut();
        world.running -= 1;
        world.running == 0
    };
    if is_last {
        for ((routine, _), history) in ROUTINES.iter().zip(&world.borrow().histories) {
            if let Err(what) = register::check(0, &history.operations()) {
                panic!("{routine}: {what}");
            }
        }
    }
}

struct Client<'c> {
    wire: Wire<'c>,
    me: u32,
    world: &'c Shared,
}

impl Client<'_> {
    /// The history of a routine; none if it is full.
    fn history(&self, routine: usize) -> Option<History<Asked, Told>> {
        let history = self.world.borrow().histories[routine].clone();
        (history.operations().len() < OPERATIONS_MAX).then_some(history)
    }

    /// Puts another one in its place.
    fn replace(&mut self, routine: usize) {
        let Some(history) = self.history(routine) else { return };
        let value = {
            let mut world = self.world.borrow_mut();
            world.last_value += 1;
            world.last_value
        };
        let sql = format!("create or replace {}", ROUTINES[routine].0.replace('0', &value.to_string()));
        let (how, asked_at) = (self.wire.pick(&How::ALL), self.wire.conn.now());
        match self.wire.run(how, &sql, &[]) {
            Ok(reply) => match reply.code() {
                None => {
                    let operation = history.asked(self.me, Asked::Write(value), asked_at);
                    history.told(operation, None, self.wire.conn.now());
                }
                Some(code) => assert!(is_transient(code), "{sql}: {reply:?}"),
            },
            // Never answered: it may be done at any time.
            Err(Lost) => drop(history.asked(self.me, Asked::Write(value), asked_at)),
        }
    }

    /// Calls it.
    fn call(&mut self, routine: usize) {
        let Some(history) = self.history(routine) else { return };
        let sql = self.wire.pick(ROUTINES[routine].1);
        let (how, asked_at) = (self.wire.pick(&How::ALL), self.wire.conn.now());
        let Ok(reply) = self.wire.run(how, sql, &[]) else { return };
        match reply.code() {
            None => {
                assert_eq!(reply.rows.len(), 1, "{sql}: {reply:?}");
                let operation = history.asked(self.me, Asked::Read, asked_at);
                history.told(operation, Some(reply.number(0, 0) as u64), self.wire.conn.now());
            }
            Some(code) => assert!(is_transient(code), "{sql}: {reply:?}"),
        }
    }
}
