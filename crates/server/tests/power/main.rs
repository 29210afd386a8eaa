//! Power cuts on a device that loses what was not flushed: every acknowledged commit is there, and nothing is there in part.
//!
//! ```text
//!   start -> clients commit -> the power goes, with some write of the server -> all of it is killed -> the power comes back
//!     ^                                                                                              |
//!     \---- what is there is compared with what was told <--- recovery (now and then the power goes in that too)
//! ```
//!
//! The short form takes two cuts in two models. `cargo xtask torture power --cuts 200 --seed N` takes as many as asked for, over all
//! models and I/O methods. A seed repeats what is left of each cut, and where the cuts are counted in writes; how clients and
//! server run is not repeated.

#[path = "../support/mod.rs"]
mod support;

mod load;

use load::Model;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use support::server::{MODELS, Server};
use testkit::device::Device;
use testkit::device::chance::Chance;

const METHODS: [&str; 3] = ["uring", "workers", "sync"];
/// A pool and a log that are small: pages are written, and segments used again, all the time.
const SMALL: [&str; 6] = ["--shared-buffers", "2MB", "--max-wal-size", "64MB", "--min-wal-size", "32MB"];
/// How long the power stays on at most while clients commit.
const LIGHT: Duration = Duration::from_secs(20);

/// What a run has seen.
#[derive(Default, Debug)]
struct Counts {
    cuts: u64,
    /// Cuts while the server started.
    in_start: u64,
    acknowledged: u64,
    /// Changes that were not flushed when the power went.
    unflushed: usize,
}

/// A device with a server on it, which has to be gone before the device is.
struct Machine {
    server: Server,
    device: Device,
    model: Model,
    name: String,
}

impl Machine {
    fn new(nth: usize, plant: Option<&'static str>, test: &str) -> Option<Machine> {
        let device = Device::mount_or_say(test)?;
        let (model, io) = (MODELS[nth % 6], METHODS[nth / 6 % 3]);
        let more: Vec<&str> = SMALL.into_iter().chain(["--io-method", io]).collect();
        let log = PathBuf::from(format!("{}.log", device.root().display()));
        let mut server = Server::on(device.root().join("data"), log, model, &more);
        if let Some(bug) = plant {
            server.plant(bug);
        }
        Some(Machine { server, device, model: Model::default(), name: format!("{} {io}", model.name()) })
    }

    /// Takes `cuts` cuts.
    fn run(&mut self, chance: &mut Chance, cuts: u64, counts: &mut Counts) -> Result<(), String> {
        let before = self.model.acknowledged();
        let end = counts.cuts + cuts;
        while counts.cuts < end {
            // The first starts make the database, which is to be cut as well.
            if chance.percent(if counts.cuts + cuts == end { 50 } else { 20 }) {
                self.device.arm(chance.draw(), chance.below(150));
                counts.in_start += 1;
            }
            let Some(mut client) = self.server.try_start(|| self.device.is_off()) else {
                if !self.device.is_off() {
                    return Err("the server does not start".into());
                }
                self.cut(counts);
                continue;
            };
            let done = self.round(&mut client, chance, counts.cuts);
            drop(client);
            self.server.crash();
            if !self.device.is_off() {
                done?;
                return Err("the power did not go".into());
            }
            self.cut(counts);
        }
        // The last cut is to be looked at too.
        let mut client = self.server.try_start(|| false).ok_or("the server does not start")?;
        load::check(&mut client, &mut self.model)?;
        drop(client);
        self.server.shut_down();
        counts.acknowledged += self.model.acknowledged() - before;
        Ok(())
    }

    /// One time with the power on: the check of the last one, then clients until it goes.
    fn round(&mut self, client: &mut postgres::Client, chance: &mut Chance, nth: u64) -> Result<(), String> {
        // An error while the power is on is one; after that nothing is.
        load::check(client, &mut self.model)?;
        let text = |error: postgres::Error| format!("{error:?}");
        if nth % 8 == 7 && self.model.tables {
            load::clear(client, &mut self.model).map_err(text)?;
        }
        load::prepare(client, &mut self.model).map_err(text)?;
        self.device.arm(chance.draw(), 20 + chance.below(1500));
        let stop = AtomicBool::new(false);
        let (port, device, model) = (self.server.port(), &self.device, &mut self.model);
        std::thread::scope(|scope| {
            let clients = scope.spawn(|| load::run(port, model, &stop));
            let began = Instant::now();
            while !device.is_off() && began.elapsed() < LIGHT && !clients.is_finished() {
                std::thread::sleep(Duration::from_millis(2));
            }
            device.cut();
            stop.store(true, SeqCst);
            // Clients that wait for an answer wait for the end of the server.
            self.server.kill();
        });
        Ok(())
    }

    fn cut(&mut self, counts: &mut Counts) {
        counts.cuts += 1;
        counts.unflushed += self.device.cut();
        self.device.power_on();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_file(format!("{}.log", self.device.root().display()));
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

#[test]
fn acknowledged_commits_outlive_power_cuts() {
    let long = number("POWER_CUTS");
    let seed = number("POWER_SEED").unwrap_or(1);
    let (machines, each): (Vec<usize>, u64) = match long {
        // Each model twice at most with the same method; six models by three methods.
        Some(cuts) => ((0..18).collect(), cuts.div_ceil(18).max(1)),
        None => (vec![0, 11], 2),
    };
    let mut counts = Counts::default();
    for nth in machines {
        let Some(mut machine) = Machine::new(nth, None, "acknowledged_commits_outlive_power_cuts") else { return };
        let mut chance = Chance::new(seed * 1000 + nth as u64);
        let outcome = machine.run(&mut chance, each, &mut counts);
        if long.is_some() {
            println!("power {:<28} {counts:?}", machine.name);
        }
        if let Err(error) = outcome {
            panic!("{} (seed {seed}): {error}\nthe server said:\n{}", machine.name, machine.server.said());
        }
    }
    if long.is_some() {
        println!("power: {counts:?}");
    }
    assert!(counts.acknowledged > 0, "nothing was committed: {counts:?}");
}

#[test]
fn a_server_that_skips_flushes_is_found() {
    let mut counts = Counts::default();
    let Some(mut machine) = Machine::new(5, Some("wal.skip_flush"), "a_server_that_skips_flushes_is_found") else {
        return;
    };
    // Between two looks of the log writer there are commits that nobody flushes: a cut loses some of them, sooner or later.
    let found = machine.run(&mut Chance::new(7), 10, &mut counts);
    let error = found.expect_err("ten cuts did not show that acknowledged commits are lost");
    assert!(["lost", "newest", "cannot be read"].iter().any(|word| error.contains(word)), "{error}");
}
