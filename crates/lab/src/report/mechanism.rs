//! Why models differ: what was counted of two models that differ in one thing, and the mechanism that is known to cost what differs.
//!
//! | mechanism | it is named where the dearer model |
//! |---|---|
//! | wake-ups | switches context more often for a transaction |
//! | address spaces | is one of processes, and its engines switch as often as the threads beside it |
//! | page faults | touches pages more often that the kernel has to fetch |
//! | caches | needs more time of its own than under the lightest load, and the other one does not |
//!
//! Rules
//! 1. Only pairs are listed whose CPU per transaction differs by the report's own verdict.
//! 2. A mechanism is named for what was counted in this run, never for what a model is known for; where no count differs the report
//!    says that it does not know.

use super::number;
use super::page::{Block, Prose, Table, plain, strong};
use super::run::{Place, Run};
use crate::record::{Figure, Measured};
use crate::statistics::{Spread, Verdict};

/// Switches for a transaction that are more than chance.
const SWITCHES: f64 = 0.2;
/// Page faults for a transaction that cost something: one takes about as long as a switch.
const FAULTS: f64 = 0.05;
/// How many times its time under the lightest load a transaction takes that waits for memory.
const GROWTH: f64 = 1.5;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Mechanism {
    WakeUps,
    AddressSpaces,
    PageFaults,
    Caches,
}

impl Mechanism {
    const ALL: [Mechanism; 4] =
        [Mechanism::WakeUps, Mechanism::AddressSpaces, Mechanism::PageFaults, Mechanism::Caches];

    fn name(self) -> &'static str {
        match self {
            Mechanism::WakeUps => "wake-ups",
            Mechanism::AddressSpaces => "address spaces",
            Mechanism::PageFaults => "page faults",
            Mechanism::Caches => "caches",
        }
    }

    fn explained(self) -> &'static str {
        match self {
            Mechanism::WakeUps => {
                "An engine that sleeps is woken by a system call and a context switch, and where its processor sleeps too by an \
                 interrupt to it, which takes many times as long. Where each session has an engine of its own every request wakes \
                 one; an engine of many sessions finds the next request when it looks, and looks the more seldom in vain the \
                 more there are."
            }
            Mechanism::AddressSpaces => {
                "Processes that take turns on a processor have a map of memory each: what it has learnt of one is of no use for \
                 the next, and each has page tables of its own for what they all share. Threads have one map."
            }
            Mechanism::PageFaults => {
                "Memory that is touched for the first time, or again after it was given back, is fetched by the kernel page by \
                 page; a process fetches also what its neighbours have already."
            }
            Mechanism::Caches => {
                "Each session has a stack and tables of its own, and each engine too. Where there are more of them than the \
                 processor's caches hold, the same instructions wait for memory: the time that a transaction needs outside of \
                 the kernel grows with the number of clients."
            }
        }
    }
}

/// A model, by a variant's name: what stands before it, the kind of engine, how sessions are hosted.
fn model(name: &str) -> Option<(&str, &str, &str)> {
    let (before, word) = name.rsplit_once(' ').unwrap_or(("", name));
    let (engine, sessions) = word.split_once('/')?;
    let known = ["process", "thread"].contains(&engine) && ["dedicated", "shared", "fiber"].contains(&sessions);
    known.then_some((before, engine, sessions))
}

/// Whether two models differ in one thing, and which has processes where the other one has threads.
fn are_neighbours(a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (model(a), model(b)) else { return false };
    a.0 == b.0 && ((a.1 != b.1) != (a.2 != b.2))
}

/// Medians of what a transaction cost.
#[derive(Clone, Copy, Debug)]
struct Cost {
    user_us: f64,
    system_us: f64,
    switches: f64,
    faults: f64,
}

fn cost(run: &Run<'_>, place: Place, variant: usize) -> Option<Cost> {
    let median = |count: fn(&Measured) -> f64| {
        let cells = run.measured(place, variant).filter(|(_, cell)| cell.transactions > 0);
        let each: Vec<f64> = cells.map(|(_, cell)| count(cell) / cell.transactions as f64).collect();
        Some(Spread::of(&each)?.median)
    };
    Some(Cost {
        user_us: median(|cell| cell.server.user_us)?,
        system_us: median(|cell| cell.server.system_us)?,
        switches: median(|cell| (cell.server.voluntary + cell.server.involuntary) as f64)?,
        faults: median(|cell| (cell.server.minor_faults + cell.server.major_faults) as f64)?,
    })
}

/// How many times as long a transaction takes outside of the kernel as under the load of the layout where it takes least.
fn growth(run: &Run<'_>, place: Place, variant: usize, cost: Cost) -> f64 {
    let points = (0..run.plan.points.len()).map(|point| Place { point, ..place });
    let least = points.filter_map(|place| Some(self::cost(run, place, variant)?.user_us)).fold(f64::MAX, f64::min);
    cost.user_us / least.max(f64::MIN_POSITIVE)
}

/// Two models at a place, one of which needs clearly more.
struct Pair {
    place: Place,
    dear: usize,
    cheap: usize,
    judged: String,
    costs: (Cost, Cost),
    mechanisms: Vec<Mechanism>,
}

fn pair(run: &Run<'_>, place: Place, a: usize, b: usize) -> Option<Pair> {
    let (dear, cheap) = match run.judge(place, a, b, Figure::ServerCpu).verdict {
        Verdict::More => (b, a),
        Verdict::Less => (a, b),
        Verdict::NoDifference | Verdict::Unknown(_) => return None,
    };
    let costs = (cost(run, place, dear)?, cost(run, place, cheap)?);
    let grown = [(dear, costs.0), (cheap, costs.1)].map(|(variant, cost)| growth(run, place, variant, cost));
    let name = |variant: usize| run.plan.variants[variant].name.as_str();
    let engines = [dear, cheap].map(|variant| model(name(variant)).map(|model| model.1));
    let more_switches = costs.0.switches > costs.1.switches + SWITCHES;
    let holds = |mechanism: &Mechanism| match mechanism {
        Mechanism::WakeUps => more_switches,
        Mechanism::AddressSpaces => {
            engines == [Some("process"), Some("thread")] && !more_switches && costs.0.switches > SWITCHES
        }
        Mechanism::PageFaults => costs.0.faults > costs.1.faults + FAULTS,
        Mechanism::Caches => grown[0] > GROWTH && grown[0] > grown[1],
    };
    Some(Pair {
        place,
        dear,
        cheap,
        judged: super::finding::words(&run.judge(place, cheap, dear, Figure::ServerCpu)),
        costs,
        mechanisms: Mechanism::ALL.into_iter().filter(holds).collect(),
    })
}

fn pairs(run: &Run<'_>) -> Vec<Pair> {
    let name = |variant: usize| run.plan.variants[variant].name.as_str();
    let all = 0..run.plan.variants.len();
    let neighbours: Vec<(usize, usize)> = all
        .clone()
        .flat_map(|a| (a + 1..all.end).map(move |b| (a, b)))
        .filter(|&(a, b)| are_neighbours(name(a), name(b)))
        .collect();
    run.places().flat_map(|place| neighbours.iter().filter_map(move |&(a, b)| pair(run, place, a, b))).collect()
}

/// The chapter of a report; nothing where no two models differ.
pub fn blocks(run: &Run<'_>) -> Vec<Block> {
    let pairs = pairs(run);
    if pairs.is_empty() {
        return Vec::new();
    }
    let name = |variant: usize| run.plan.variants[variant].name.clone();
    let row = |pair: &Pair| {
        let Place { layout, point } = pair.place;
        let (dear, cheap) = pair.costs;
        let both = |of: fn(Cost) -> f64| format!("{}, {}", number::figure(of(dear)), number::figure(of(cheap)));
        let named: Vec<&str> = pair.mechanisms.iter().map(|mechanism| mechanism.name()).collect();
        vec![
            format!("{} beside {}", name(pair.dear), name(pair.cheap)),
            format!("{}, {}", run.plan.layouts[layout], run.plan.points[point].label),
            pair.judged.clone(),
            both(|cost| cost.user_us),
            both(|cost| cost.system_us),
            both(|cost| cost.switches),
            both(|cost| cost.faults),
            if named.is_empty() { "no count explains it".into() } else { named.join(", ") },
        ]
    };
    let head = ["models", "where", "server CPU", "user µs", "system µs", "switches", "page faults", "mechanism"];
    let table = Table {
        caption: "Models that differ in one thing and clearly in their CPU per transaction: the dearer one first"
            .into(),
        head: head.map(String::from).to_vec(),
        rows: pairs.iter().map(row).collect(),
        figures: false,
    };
    let seen = |mechanism: &&Mechanism| pairs.iter().any(|pair| pair.mechanisms.contains(mechanism));
    let explained = |mechanism: &Mechanism| -> Prose {
        vec![strong(format!("{}: ", mechanism.name())), plain(mechanism.explained())]
    };
    let explained: Vec<Prose> = Mechanism::ALL.iter().filter(seen).map(explained).collect();
    let mut blocks = vec![Block::Heading(2, "Why models differ".into()), Block::Table(table)];
    if !explained.is_empty() {
        blocks.push(Block::List(explained));
    }
    blocks
}
