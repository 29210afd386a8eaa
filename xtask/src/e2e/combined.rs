//! Each combination of model, wait primitive and I/O method under load, and whether it was really used.
//!
//! Three loads run in each of the 72 cells. Which protocol and how many clients a load has goes by the cell's place, so that over
//! the whole matrix each protocol and each number of clients meets each value of everything else ([`shape`]; a test counts the
//! pairs). While a load runs, what the engines count is read twice from `gearbox.engines`:
//!
//! | | must hold |
//! |---|---|
//! | wait primitive | each engine names the one that was asked for, and engines have slept by it |
//! | I/O method | clients' sessions made requests by the one that was asked for, and nobody any by another, but for the log's: who holds an engine makes those itself |
//! | sums | what pgbench's transactions added to accounts, tellers and branches is what the history says |
//!
//! The buffer pool is smaller than the tables, so that sessions have pages to read.
//!
//! The scenario runs where primitive and method were asked for by name: which one a default comes to is the server's choice.

use super::serve::{self, Sums};
use super::{Effort, Scenario};
use crate::Outcome;
use crate::model::{IO_METHODS, MODELS, Settings, WAITS};
use crate::pgbench::{self, Load};
use crate::server_under_test::ServerUnderTest;
use postgres::Client;

const SCRIPTS: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];
const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];
const CLIENTS: [u32; 3] = [1, 8, 64];
/// What the tables do not fit into.
const BUFFERS: &str = "alter system set shared_buffers = '8MB'";
/// How long a load runs: between its first and its last second engines are read.
const SECONDS: u32 = 3;

/// The scenario of this file.
pub fn scenario() -> Scenario {
    Scenario {
        name: "serve-combined",
        subcommand: "serve",
        applies: |settings| settings.wait.is_some() && settings.io.is_some(),
        long: false,
        run: combined,
    }
}

/// The protocol and the number of clients of a load in a cell, each as an index: two rows of a Latin square that is shifted by what
/// the cell is.
fn shape(model: usize, wait: usize, io: usize, load: usize) -> (usize, usize) {
    ((model + wait + io + load) % 3, (model + wait + 2 * io + 2 * load + model / 3) % 3)
}

fn place(settings: Settings) -> Option<(usize, usize, usize)> {
    let model = MODELS.iter().position(|model| *model == settings.model)?;
    let wait = WAITS.iter().position(|wait| Some(*wait) == settings.wait)?;
    let io = IO_METHODS.iter().position(|io| Some(*io) == settings.io)?;
    Some((model, wait, io))
}

/// What all engines together have counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counted {
    /// Engines that use another primitive than was asked for.
    other_primitive: i64,
    /// Sleeps of engines that clients' sessions run on.
    sleeps: i64,
    /// Requests by `uring`, `workers` and `sync`, of engines that clients' sessions run on.
    io: [i64; 3],
    /// The same, of all engines.
    io_of_all: [i64; 3],
    /// Writes of the log that clients' sessions made by a call of their own under another method.
    own: i64,
}

impl Counted {
    fn read(client: &mut Client, wait: &str) -> Outcome<Counted> {
        let of_all = |name: &str| format!("coalesce(sum({name}), 0)::int8");
        let of_clients = |name: &str| of_all(&format!("case when pool = 'default' then {name} end"));
        let methods = ["io_uring", "io_workers", "io_sync"];
        let mut columns = vec![
            format!("count(case when wait_primitive <> '{wait}' then 1 end)"),
            of_clients("sleeps"),
            of_clients("io_own"),
        ];
        columns.extend(methods.map(of_clients));
        columns.extend(methods.map(of_all));
        let text = format!("select {} from gearbox.engines", columns.join(", "));
        let row = client.query_one(&text, &[]).map_err(|error| format!("gearbox.engines: {error:?}"))?;
        Ok(Counted {
            other_primitive: row.get(0),
            sleeps: row.get(1),
            own: row.get(2),
            io: [row.get(3), row.get(4), row.get(5)],
            io_of_all: [row.get(6), row.get(7), row.get(8)],
        })
    }

    fn hold_to(&self, settings: Settings) -> Outcome<()> {
        let (_, _, io) = place(settings).ok_or("no cell of the matrix")?;
        let methods_hold = (0..IO_METHODS.len())
            .all(|method| if method == io { self.io[method] > 0 } else { self.io_of_all[method] == 0 });
        let own_holds = (self.own > 0) == (settings.model.sessions != "fiber" && IO_METHODS[io] != "sync");
        if self.other_primitive == 0 && self.sleeps > 0 && methods_hold && own_holds {
            return Ok(());
        }
        Err(format!("{settings} was asked for, but engines count {self:?}"))
    }
}

fn combined(mut server: ServerUnderTest, _: Effort) -> Outcome<()> {
    let settings = server.settings();
    let (model, wait, io) = place(settings).ok_or("no cell of the matrix")?;
    pgbench::fill(server.client("pgbench"), 1)?;
    server.connect()?.batch_execute(BUFFERS).map_err(|error| format!("{BUFFERS}: {error}"))?;
    server.crash_and_restart()?;
    let mut client = server.connect()?;
    let mut most = Counted::default();
    let mut expected: Option<Sums> = None;
    for (at, script) in SCRIPTS.iter().enumerate() {
        let (protocol, clients) = shape(model, wait, io, at);
        let load = Load {
            script: (*script).into(),
            protocol: PROTOCOLS[protocol].into(),
            clients: CLIENTS[clients],
            jobs: 1,
            seconds: SECONDS,
        };
        // Engines of dedicated sessions are gone when their clients are: they are read while these work.
        let read = |_| Counted::read(&mut client, WAITS[wait]);
        let run = pgbench::run(server.client("pgbench"), &load, 0.01, &server.work_dir(), read)?;
        if run.report.failed != 0 || run.report.transactions == 0 {
            return Err(format!("{load:?}: {:?}", run.report));
        }
        for counted in [run.samples.0?, run.samples.1?] {
            most.other_primitive += counted.other_primitive;
            most.sleeps = most.sleeps.max(counted.sleeps);
            most.io.iter_mut().zip(counted.io).for_each(|(most, counted)| *most = (*most).max(counted));
            most.io_of_all.iter_mut().zip(counted.io_of_all).for_each(|(most, counted)| *most = (*most).max(counted));
            most.own = most.own.max(counted.own);
        }
        let sums = serve::sums(&server)?;
        let before = expected.unwrap_or_default();
        let added = if *script == "select-only" { 0 } else { run.report.transactions as i64 };
        let all = *script == "tpcb-like";
        let agree = sums.accounts == sums.history
            && sums.transactions == before.transactions + added
            && (sums.tellers, sums.branches)
                == (if all { (sums.history, sums.history) } else { (before.tellers, before.branches) });
        if !agree {
            return Err(format!("after {load:?} with {added} transactions: {sums:?}, before it {before:?}"));
        }
        expected = Some(sums);
    }
    most.hold_to(settings)?;
    drop(client);
    server.stop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_protocol_and_number_of_clients_meets_every_value_of_everything() {
        let mut pairs = BTreeSet::new();
        for model in 0..MODELS.len() {
            for wait in 0..WAITS.len() {
                for io in 0..IO_METHODS.len() {
                    for load in 0..SCRIPTS.len() {
                        let (protocol, clients) = shape(model, wait, io, load);
                        let values = [model, wait, io, load, protocol, clients];
                        for (first, &a) in values.iter().enumerate() {
                            for (second, &b) in values.iter().enumerate().skip(first + 1) {
                                pairs.insert((first, a, second, b));
                            }
                        }
                    }
                }
            }
        }
        let sizes = [MODELS.len(), WAITS.len(), IO_METHODS.len(), SCRIPTS.len(), PROTOCOLS.len(), CLIENTS.len()];
        let all: usize = (0..6).flat_map(|a| (a + 1..6).map(move |b| sizes[a] * sizes[b])).sum();
        assert_eq!(pairs.len(), all);
    }

    #[test]
    fn another_primitive_or_method_is_told() {
        let settings = Settings { wait: Some("sysv"), io: Some("workers"), ..Settings::of(MODELS[3]) };
        let good = Counted { other_primitive: 0, sleeps: 7, io: [0, 9, 0], io_of_all: [0, 12, 0], own: 5 };
        assert_eq!(good.hold_to(settings), Ok(()));
        // With fibers nobody holds an engine.
        let fibers = Settings { model: MODELS[5], ..settings };
        assert!(good.hold_to(fibers).is_err());
        assert_eq!(Counted { own: 0, ..good }.hold_to(fibers), Ok(()));
        let bad = [
            Counted { other_primitive: 1, ..good },
            Counted { sleeps: 0, ..good },
            Counted { io_of_all: [1, 12, 0], ..good },
            Counted { io: [0, 0, 0], ..good },
            Counted { own: 0, ..good },
        ];
        for counted in bad {
            assert!(counted.hold_to(settings).unwrap_err().contains("thread/shared sysv workers"), "{counted:?}");
        }
    }
}
