//! Client programs against a real server, from the outside: what a user would see.
//!
//! A [`Scenario`] gets a running server, uses it with `psql` and `pgbench`, and stops it; the stop is held to exit status
//! 0, no process and no shared object left ([`crate::server_under_test`]). The same scenarios run in every tier:
//!
//! | tier | combinations |
//! |---|---|
//! | `e2e` (part of `check`) | each scenario in the six models (a long one in two), the rest of the settings at their defaults; the tests' build |
//! | `matrix` | each scenario in full in the six models, then under each wait primitive and each I/O method |
//! | `torture` | scenarios and combinations drawn at random until the time is over; the seed repeats the draw |
//!
//! Rules
//! 1. `e2e` runs scenarios in as many *lanes* as there are CPUs, threads that each take the next one: most of a scenario is waiting. The other
//!    tiers have one lane.
//! 2. After the first that fails none begins; what runs in other lanes is seen through. A scenario that panics has failed.
//! 3. A failure says which command repeats it.
//!
//! A scenario knows nothing of the model it runs in, because what holds in one holds in all. The exception asks
//! `/proc` whether the model is what its name says.

mod combined;
mod flush;
mod growth;
mod limit;
mod serve;
pub mod sizes;

use crate::args::Args;
use crate::model::{IO_METHODS, MODELS, Model, Settings, WAITS};
use crate::server_under_test::{Launch, ServerUnderTest};
use crate::tree::Profile;
use crate::{Outcome, clients, machine, tree};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How wide the net is cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tier {
    /// Defaults in the six models.
    Check,
    /// Every combination of settings.
    Matrix,
}

/// Something that clients do with a server.
pub struct Scenario {
    /// What it is called on the command line and in results.
    pub name: &'static str,
    /// What the server is started as: `serve` or `limit`.
    pub subcommand: &'static str,
    /// Whether it shows anything with these settings; where it does not, it is not run and not counted.
    pub applies: fn(Settings) -> bool,
    /// It takes long: `check` runs it in [`LEAST_ALIKE`] alone, unless it is asked for by name.
    pub long: bool,
    /// Uses the server and stops it.
    pub run: fn(ServerUnderTest, Effort) -> Outcome<()>,
}

/// Two models that have the least in common.
const LEAST_ALIKE: [Model; 2] = [MODELS[0], MODELS[5]];

/// How hard a scenario should try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// How long each load lasts.
    pub seconds: u32,
    /// pgbench's scale: so many times 100,000 accounts.
    pub scale: u32,
    /// Everything that is to be shown of a model, not just that it holds at all.
    pub full: bool,
}

impl Effort {
    const SHORT: Effort = Effort { seconds: 1, scale: 1, full: false };
    const FULL: Effort = Effort { seconds: 10, scale: 10, full: true };
}

fn scenarios() -> Vec<Scenario> {
    let serve = serve::scenarios().into_iter().chain([flush::scenario(), growth::scenario(), combined::scenario()]);
    limit::scenarios().into_iter().chain(serve).collect()
}

/// `cargo xtask e2e [NAME…]` and `cargo xtask matrix [NAME…]`, with `--model LIST` and `--binary PATH`.
pub fn run(mut args: Args, tier: Tier) -> Outcome<()> {
    let models = args.list("--model", MODELS.to_vec())?;
    let asked = args.value("--binary")?;
    let names = args.words()?;
    let scenarios = chosen(scenarios(), &names)?;
    clients::ensure()?;
    let profile = if tier == Tier::Matrix { Profile::Release } else { Profile::Dev };
    let binary = tree::binary(asked, profile)?;
    let again = if tier == Tier::Matrix { "matrix" } else { "e2e" };
    let mut runs = Vec::new();
    for settings in combinations(&models, tier) {
        for scenario in scenarios.iter().filter(|scenario| (scenario.applies)(settings)) {
            if scenario.long && tier == Tier::Check && names.is_empty() && !LEAST_ALIKE.contains(&settings.model) {
                continue;
            }
            // A model with its defaults is shown in full; under each primitive and method it is enough that everything holds.
            let full = tier == Tier::Matrix && settings.wait.is_none();
            runs.push((scenario, settings, if full { Effort::FULL } else { Effort::SHORT }));
        }
    }
    // A check has little time; a matrix makes semaphores, and looks for those left behind.
    let lanes = if tier == Tier::Check { machine::cpus() } else { 1 };
    in_lanes(lanes, &runs, |&(scenario, settings, effort)| {
        one(&binary, scenario, settings, effort)
            .map_err(|text| format!("{text}\nrepeat: cargo xtask {again} {} --model {}", scenario.name, settings.model))
    })
}

/// Does all of them, so many at once, up to the first that fails. `each` does not panic: that would end a lane without a word to the others.
fn in_lanes<T: Sync>(lanes: usize, all: &[T], each: impl Fn(&T) -> Outcome<()> + Sync) -> Outcome<()> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let lane = || {
        while failed.lock().expect("no lane panics").is_none() {
            let Some(one) = all.get(next.fetch_add(1, Relaxed)) else { return };
            if let Err(text) = each(one) {
                failed.lock().expect("no lane panics").get_or_insert(text);
            }
        }
    };
    std::thread::scope(|scope| (0..lanes.max(1)).for_each(|_| drop(scope.spawn(lane))));
    failed.into_inner().expect("no lane panics").map_or(Ok(()), Err)
}

/// `cargo xtask torture [--minutes N] [--seed N] [--binary PATH]`.
pub fn torture(mut args: Args) -> Outcome<()> {
    let minutes: u64 = args.value("--minutes")?.unwrap_or(10);
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed: u64 = args.value("--seed")?.unwrap_or(since_epoch.map_or(1, |time| time.as_secs()));
    let asked = args.value("--binary")?;
    args.done()?;
    clients::ensure()?;
    let binary = tree::binary(asked, Profile::Release)?;
    let scenarios = scenarios();
    let combinations = combinations(&MODELS, Tier::Matrix);
    let began = Instant::now();
    let mut draw = Draw::new(seed);
    println!("torture: {minutes} min from seed {seed}");
    while began.elapsed() < Duration::from_secs(minutes * 60) {
        let scenario = &scenarios[draw.below(scenarios.len())];
        let settings = combinations[draw.below(combinations.len())];
        if !(scenario.applies)(settings) {
            continue;
        }
        let effort = Effort { seconds: 1 + draw.below(10) as u32, ..Effort::SHORT };
        one(&binary, scenario, settings, effort)
            .map_err(|text| format!("{text}\nrepeat: cargo xtask torture --seed {seed} --minutes {minutes}"))?;
    }
    Ok(())
}

fn one(binary: &Path, scenario: &Scenario, settings: Settings, effort: Effort) -> Outcome<()> {
    let began = Instant::now();
    let launch = Launch { program: binary, subcommand: scenario.subcommand, settings, cpus: None };
    let outcome = caught(|| ServerUnderTest::start(&launch).and_then(|server| (scenario.run)(server, effort)));
    let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
    println!(
        "e2e {:<28} {:<32} {verdict} ({:.1} s)",
        scenario.name,
        settings.to_string(),
        began.elapsed().as_secs_f64()
    );
    outcome.map_err(|text| format!("{} in {settings}: {text}", scenario.name))
}

/// A panic is a failure like any other: rule 2. Whatever it left half done is the scenario's own.
fn caught(run: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("panicked: {}", text.unwrap_or("without a word")))
    })
}

fn chosen(all: Vec<Scenario>, names: &[String]) -> Outcome<Vec<Scenario>> {
    if let Some(unknown) = names.iter().find(|name| !all.iter().any(|scenario| scenario.name == name.as_str())) {
        let known: Vec<&str> = all.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no scenario {unknown}; there are {}", known.join(", ")));
    }
    let is_chosen = |scenario: &Scenario| names.is_empty() || names.iter().any(|name| name == scenario.name);
    Ok(all.into_iter().filter(is_chosen).collect())
}

fn combinations(models: &[Model], tier: Tier) -> Vec<Settings> {
    let (waits, methods) = match tier {
        Tier::Check => (vec![None], vec![None]),
        Tier::Matrix => (WAITS.map(Some).to_vec(), IO_METHODS.map(Some).to_vec()),
    };
    let mut combinations = Vec::new();
    for &model in models {
        if tier == Tier::Matrix {
            combinations.push(Settings::of(model));
        }
        for &wait in &waits {
            combinations.extend(methods.iter().map(|&io| Settings { wait, io, ..Settings::of(model) }));
        }
    }
    combinations
}

/// A small generator of draws that a seed repeats (splitmix64).
#[derive(Clone, Copy)]
pub struct Draw(u64);

impl Draw {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    /// The next draw, below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % end as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_done_once_and_none_begins_after_a_failure() {
        let all: Vec<u32> = (0..100).collect();
        let done = Mutex::new(Vec::new());
        let each = |&one: &u32| {
            done.lock().unwrap().push(one);
            if one == 50 { Err("fifty".to_string()) } else { Ok(()) }
        };
        assert_eq!(in_lanes(2, &all[..50], each), Ok(()));
        let mut first = std::mem::take(&mut *done.lock().unwrap());
        first.sort_unstable();
        assert_eq!(first, all[..50]);
        assert_eq!(in_lanes(1, &all, each), Err("fifty".to_string()));
        assert_eq!(*done.lock().unwrap(), all[..51]);
    }

    #[test]
    fn no_lane_begins_after_a_failure_in_another() {
        type Each = fn(u32) -> Outcome<()>;
        let all: Vec<u32> = (0..100).collect();
        let fails: [(Each, &str); 2] =
            [(|one| Err(format!("number {one}")), "number"), (|one| panic!("number {one}"), "panicked: number")];
        for (fail, text) in fails {
            let done = Mutex::new(Vec::new());
            let outcome = in_lanes(3, &all, |&one| {
                done.lock().unwrap().push(one);
                caught(|| if one < 50 { Ok(()) } else { fail(one) })
            });
            let mut done = done.into_inner().unwrap();
            done.sort_unstable();
            // Each lane may have begun one that fails before it heard of another's failure.
            assert!((51..=53).contains(&done.len()) && done == all[..done.len()], "{done:?}");
            assert!(outcome.as_ref().is_err_and(|told| told.starts_with(text)), "{outcome:?}");
        }
    }

    #[test]
    fn the_matrix_has_every_combination_once() {
        assert_eq!(combinations(&MODELS, Tier::Check).len(), 6);
        let all: std::collections::BTreeSet<String> =
            combinations(&MODELS, Tier::Matrix).iter().map(Settings::to_string).collect();
        assert_eq!(all.len(), 6 * (4 * 3 + 1));
        assert!(all.contains("process/shared sysv workers"));
    }

    #[test]
    fn names_choose_scenarios_and_unknown_ones_are_refused() {
        let first = scenarios()[0].name.to_string();
        assert_eq!(chosen(scenarios(), &[first]).unwrap().len(), 1);
        assert_eq!(chosen(scenarios(), &[]).unwrap().len(), scenarios().len());
        assert!(chosen(scenarios(), &["nothing".to_string()]).is_err());
    }

    #[test]
    fn a_seed_repeats_its_draws() {
        let draws = |seed| {
            (0..100)
                .map({
                    let mut draw = Draw(seed);
                    move |_| draw.below(7)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(draws(5), draws(5));
        assert_ne!(draws(5), draws(6));
        assert!((0..7).all(|value| draws(5).contains(&value)));
    }
}
