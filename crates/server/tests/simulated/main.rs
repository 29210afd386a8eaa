//! The database server in the simulator: bytes of the PostgreSQL protocol in and out, under random schedules, deaths of hosts,
//! power cuts that lose and tear what was not flushed, and disks that fail.
//!
//! | module | what it is |
//! |---|---|
//! | [`wire`] | a client of the protocol |
//! | [`run`] | a server over simulated engines, and what must be so at the end |
//! | [`bank`] | a load like TPC-B |
//! | [`keys`] | a load of random statements on keys, and tables that come and go |
//! | [`databases`] | a load of databases that come and go, with sessions in them |
//! | [`routines`] | a load of routines that are replaced while others call them |
//! | [`bulk`] | a load of many rows at a time, in a table that grows and is cut off |
//! | [`large`] | a load of values that do not fit their rows |
//! | [`spilling`] | a load of statements that need temporary files |
//! | [`replay`] | a seed does the same in two processes |
//!
//! `SIM_SEEDS=17,18 cargo test -p server --test simulated NAME` walks those seeds and tells what each did, and
//! `SIM_SEEDS=100..2000` all of these; with `SIM_VERBOSE=1` at length.

mod bank;
mod bulk;
mod databases;
mod keys;
mod large;
mod replay;
mod routines;
mod run;
mod spilling;
mod wire;

use kernel::engine::sim::{Failure, Options, Report, Scenario};
use run::{Trouble, options};
use std::cell::Cell;
use std::rc::Rc;
use wire::{How, Wire};

/// Runs seeds; panics at the first that fails, and says how to see it again.
fn walk(name: &str, range: std::ops::Range<u64>, each: impl Fn(u64) -> Result<Report, Box<Failure>>) -> Report {
    let again = format!("SIM_SEEDS={{}} cargo test -p server --test simulated {name}");
    let totals = testkit::sim::seeds(range, &again, each);
    println!("{name}: {}", totals.describe());
    totals.sum
}

/// Everything that the protocol has, without trouble.
#[test]
fn statements() {
    walk("statements", 0..6, |seed| {
        run::run(seed, options(seed, Trouble::None), |scenario: &mut Scenario| {
            scenario.client(|conn| {
                let mut wire = Wire::new(conn);
                for how in How::ALL {
                    let reply = wire.run(how, "select $1::int + 1", &["41".into()]).unwrap();
                    assert_eq!((reply.number(0, 0), reply.status), (42, 'I'), "{how:?}");
                    assert_eq!(wire.run(how, "begin", &[]).unwrap().status, 'T', "{how:?}");
                    let sql = "select g from generate_series(1, $1::int) g";
                    let reply = wire.run(how, sql, &["5".into()]).unwrap();
                    assert_eq!((reply.numbers(0), reply.error), (vec![1, 2, 3, 4, 5], None), "{how:?}");
                    assert_eq!(wire.run(how, "select 1 / 0", &[]).unwrap().code(), Some("22012"), "{how:?}");
                    assert_eq!(wire.run(how, "select 1", &[]).unwrap().code(), Some("25P02"), "{how:?}");
                    assert_eq!(wire.run(how, "rollback", &[]).unwrap().status, 'I', "{how:?}");
                }
                wire.leave(true);
            });
        })
    });
}

/// An index that another session makes between `Bind` and `Execute` is no matter for the portal, whose plan was made without it.
#[test]
fn a_portal_outlives_a_new_index() {
    walk("a_portal_outlives_a_new_index", 0..6, |seed| {
        let step = Rc::new(Cell::new(0));
        run::run(seed, options(seed, Trouble::None), |scenario: &mut Scenario| {
            let (mine, theirs) = (step.clone(), step.clone());
            scenario.client(move |conn| {
                let mut wire = Wire::patient(conn);
                for sql in ["create table t (a int)", "insert into t select g from generate_series(1, 9) g"] {
                    assert_eq!(wire.simple(sql).unwrap().error, None);
                }
                let reply = wire.in_pieces("select a from t where a = $1", &["4".into()], |wire, answer| {
                    if answer == b'C' {
                        mine.set(1);
                        run::wait_until(wire, || mine.get() == 2);
                    }
                });
                let reply = reply.unwrap();
                assert_eq!((reply.numbers(0), reply.error), (vec![4], None));
                wire.leave(true);
            });
            scenario.client(move |conn| {
                let mut wire = Wire::patient(conn);
                run::wait_until(&mut wire, || theirs.get() == 1);
                assert_eq!(wire.simple("create index on t (a)").unwrap().error, None);
                theirs.set(2);
                wire.leave(true);
            });
        })
    });
}

/// What a checkpoint has written survives a power cut: also in an index of which nobody has asked since the start how long it is.
#[test]
fn a_checkpoint_flushes_every_file() {
    walk("a_checkpoint_flushes_every_file", 0..6, |seed| {
        run::run(seed, options(seed, Trouble::None), |scenario: &mut Scenario| {
            scenario.client(|conn| {
                let mut wire = Wire::patient(conn);
                assert_eq!(wire.simple("create table t (a int primary key)").unwrap().error, None);
                for round in 0..6 {
                    for sql in [format!("insert into t values ({round})"), "checkpoint".into()] {
                        assert_eq!(wire.simple(&sql).unwrap().error, None);
                    }
                    wire.conn.cut_power();
                    wire.leave(false);
                    let reply = wire.simple("select a from t where a >= 0 order by a").unwrap();
                    assert_eq!((reply.numbers(0), reply.error), ((0..=round).collect(), None));
                }
                wire.leave(true);
            });
        })
    });
}

#[test]
fn bank_schedules() {
    walk("bank_schedules", 0..20, |seed| bank::run(seed, options(seed, Trouble::None), 20));
}

#[test]
fn bank_kills() {
    walk("bank_kills", 0..25, |seed| bank::run(seed, options(seed, Trouble::Kills), 20));
}

#[test]
fn bank_power_cuts() {
    walk("bank_power_cuts", 0..35, |seed| bank::run(seed, options(seed, Trouble::Cuts), 20));
}

#[test]
fn bank_bad_disk() {
    walk("bank_bad_disk", 0..20, |seed| bank::run(seed, options(seed, Trouble::Disk), 20));
}

#[test]
fn bank_everything() {
    walk("bank_everything", 0..25, |seed| bank::run(seed, options(seed, Trouble::All), 20));
}

#[test]
fn keys_schedules() {
    walk("keys_schedules", 0..20, |seed| keys::run(seed, options(seed, Trouble::None), 20));
}

#[test]
fn keys_kills() {
    walk("keys_kills", 0..25, |seed| keys::run(seed, options(seed, Trouble::Kills), 20));
}

#[test]
fn keys_power_cuts() {
    walk("keys_power_cuts", 0..35, |seed| keys::run(seed, options(seed, Trouble::Cuts), 20));
}

#[test]
fn keys_bad_disk() {
    walk("keys_bad_disk", 0..20, |seed| keys::run(seed, options(seed, Trouble::Disk), 20));
}

#[test]
fn keys_everything() {
    walk("keys_everything", 0..25, |seed| keys::run(seed, options(seed, Trouble::All), 20));
}

#[test]
fn databases_schedules() {
    walk("databases_schedules", 0..20, |seed| databases::run(seed, options(seed, Trouble::None), 20));
}

#[test]
fn databases_kills() {
    walk("databases_kills", 0..25, |seed| databases::run(seed, options(seed, Trouble::Kills), 20));
}

#[test]
fn databases_power_cuts() {
    walk("databases_power_cuts", 0..25, |seed| databases::run(seed, options(seed, Trouble::Cuts), 20));
}

#[test]
fn databases_everything() {
    walk("databases_everything", 0..25, |seed| databases::run(seed, options(seed, Trouble::All), 20));
}

#[test]
fn routines_schedules() {
    walk("routines_schedules", 0..20, |seed| routines::run(seed, options(seed, Trouble::None), 20));
}

#[test]
fn routines_everything() {
    walk("routines_everything", 0..20, |seed| routines::run(seed, options(seed, Trouble::All), 20));
}

/// Hosts die often: also between what a vacuum logs of a table's end and what it does to it.
#[test]
fn bulk_kills() {
    let kills = |seed| Options { kills: 8, kill_chance: 1_000, ..options(seed, Trouble::Kills) };
    walk("bulk_kills", 155..180, |seed| bulk::run(seed, kills(seed), 25));
}

#[test]
fn bulk_everything() {
    walk("bulk_everything", 155..180, |seed| bulk::run(seed, options(seed, Trouble::All), 25));
}

#[test]
fn large_kills() {
    walk("large_kills", 0..20, |seed| large::run(seed, options(seed, Trouble::Kills), 25));
}

#[test]
fn large_power_cuts() {
    walk("large_power_cuts", 0..25, |seed| large::run(seed, options(seed, Trouble::Cuts), 25));
}

#[test]
fn large_everything() {
    walk("large_everything", 0..20, |seed| large::run(seed, options(seed, Trouble::All), 25));
}

#[test]
fn spilling_schedules() {
    walk("spilling_schedules", 0..6, |seed| spilling::run(seed, options(seed, Trouble::None), 4));
}

#[test]
fn spilling_kills() {
    let kills = |seed| Options { kills: 6, kill_chance: 300, ..options(seed, Trouble::Kills) };
    walk("spilling_kills", 0..12, |seed| spilling::run(seed, kills(seed), 5));
}

#[test]
fn spilling_everything() {
    walk("spilling_everything", 0..12, |seed| spilling::run(seed, options(seed, Trouble::All), 5));
}
