//! A run: the database server over simulated engines, its clients, and what must be so at the end whatever they do.

use super::wire::{Wire, is_verbose};
use base::settings::{Layers, Machine};
use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::{self, DiskFaults, Failure, Options, Report, Scenario};
use kernel::session::{self, Service};
use server::roles::Roles;
use server::serve::Database;
use std::cell::Cell;
use std::rc::Rc;
use storage::Storage;

/// Settings that make a small server do everything soon: background work comes round within a run.
const SETTINGS: &[&str] = &[
    "--wal-buffers=256kB",
    "--min-wal-size=32MB",
    "--max-wal-size=64MB",
    "--checkpoint-timeout=30s",
    "--deadlock-timeout=5ms",
    "--autovacuum-naptime=1s",
    "--autovacuum-vacuum-threshold=20",
];

/// What happens to the server beside its clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// Schedules alone.
    None,
    /// Hosts die.
    Kills,
    /// The power fails, and the disk loses and tears what was not flushed.
    Cuts,
    /// The disk fails now and then.
    Disk,
    /// All of it, and connections break.
    All,
}

/// The model of a seed: all of them in turn.
pub fn model(seed: u64) -> (EngineKind, Sessions) {
    let hosts = [EngineKind::Process, EngineKind::Thread][(seed / 3 % 2) as usize];
    let sessions = [Sessions::Dedicated, Sessions::Shared, Sessions::Fiber][(seed % 3) as usize];
    (hosts, sessions)
}

/// How a seed runs under a trouble.
pub fn options(seed: u64, trouble: Trouble) -> Options {
    let (hosts, sessions) = model(seed);
    let calm = Options {
        steps_max: 60_000_000,
        patience_ns: 60_000_000_000,
        trouble_ns: 150_000_000,
        move_sessions: seed / 6 % 4 == 3,
        verbose: is_verbose(),
        ..Options::new(hosts, sessions)
    };
    let disk = DiskFaults { done_in_part: 50_000, read_fails: 2_000, write_fails: 500, ..DiskFaults::default() };
    match trouble {
        Trouble::None => calm,
        Trouble::Kills => Options { kills: 4, kill_chance: 100, ..calm },
        Trouble::Cuts => Options { power_cuts: 3, kills: 1, kill_background: true, ..calm },
        Trouble::Disk => Options { disk, power_cuts: 1, ..calm },
        Trouble::All => Options {
            disk: DiskFaults { flush_fails: 300, ..disk },
            power_cuts: 2,
            kills: 3,
            kill_chance: 50,
            kill_background: true,
            reset_chance: 300,
            ..calm
        },
    }
}

/// Runs a seed: `clients` adds what the clients do.
pub fn run(seed: u64, options: Options, clients: impl FnOnce(&mut Scenario)) -> Result<Report, Box<Failure>> {
    let served: Rc<Cell<Option<&'static Storage>>> = Rc::default();
    let make = {
        let served = served.clone();
        move || {
            let mut layers = Layers::new();
            // Seldom so few that pages have to make room for one another.
            let buffers = if seed % 4 == 1 { "--shared-buffers=256kB" } else { "--shared-buffers=2MB" };
            layers.command_line([buffers.to_string()])?;
            layers.command_line(SETTINGS.iter().map(|option| option.to_string()))?;
            let settings = layers.effective(Machine { cpus: 2, memory_bytes: 1 << 30 })?;
            let database = Database::make(settings, Roles::without_password())?;
            served.set(Some(database.storage()));
            Ok(Box::new(database) as Box<dyn Service>)
        }
    };
    sim::run(seed, options, make, |scenario| {
        clients(scenario);
        scenario.check(move || at_rest(served.get().expect("a server was made")));
    })
}

/// No client is left: nobody holds anything of the storage.
fn at_rest(storage: &Storage) -> Result<(), String> {
    let is_client = |session: base::SessionId| !session::slots()[session.0 as usize].is_background();
    let running: Vec<_> = storage.transactions.running().filter(|running| is_client(running.session)).collect();
    let held = storage.transactions.locks().held(storage.transactions);
    let locks: Vec<_> = held.into_iter().filter(|held| is_client(held.session)).collect();
    match running.is_empty() && locks.is_empty() {
        true => Ok(()),
        false => Err(format!("no session is left, but these transactions: {running:?}, and locks: {locks:?}")),
    }
}

/// Waits until the condition holds.
pub fn wait_until(wire: &mut Wire<'_>, condition: impl Fn() -> bool) {
    while !condition() {
        wire.conn.sleep(300_000);
    }
}
