//! Why models differ: what was counted of two models that differ in one thing, and the mechanism that is known to cost what differs.
//!
//! | mechanism | it is named where the dearer model |
//! |---|---|
//! | wake-ups | sleeps more often for a transaction |
//! | turns | has its processor taken from it more often |
//! | page faults | touches pages more often that the kernel has to fetch |
//! | caches | takes much longer outside of the kernel than with the fewest clients, and the other one does not |
//! | address spaces | is one of processes beside one of threads, and both switch as often |
//!
//! Rules
//! 1. Only pairs are listed whose CPU per transaction differs by the report's own verdict.
//! 2. A count differs by the same verdict, and is named where it makes a noticeable part of the difference in CPU at a usual price. What a
//!    switch between address spaces costs is not counted here. Where nothing is named the report says that it does not know.

use super::number;
use super::page::{Block, Prose, Table, plain, strong};
use super::run::{Place, Run};
use crate::record::{Figure, Measured};
use crate::statistics::{Ratio, Spread, Verdict};
use std::collections::BTreeMap;

/// What a context switch on one processor costs with what it displaces, and what a page fault costs, in microseconds.
const SWITCH_US: f64 = 2.0;
const FAULT_US: f64 = 1.0;
/// The part of the difference in CPU that a mechanism has to make at those prices, which leave out what comes later of it.
const SHARE: f64 = 0.03;
/// Switches of a transaction that are worth a word.
const SWITCHES: f64 = 0.1;
/// How many times its time with the fewest clients a transaction takes that waits for memory.
const GROWTH: f64 = 1.5;
/// How many times as many switches are as many.
const AS_MANY: f64 = 1.25;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mechanism {
    WakeUps,
    Turns,
    PageFaults,
    Caches,
    AddressSpaces,
}

impl Mechanism {
    /// Those that counts show.
    const COUNTED: [Mechanism; 4] = [Mechanism::WakeUps, Mechanism::Turns, Mechanism::PageFaults, Mechanism::Caches];

    fn name(self) -> &'static str {
        match self {
            Mechanism::WakeUps => "wake-ups",
            Mechanism::Turns => "turns",
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
            Mechanism::Turns => {
                "Somebody who was woken, or has waited long, takes the processor from an engine that would go on, or that offers it \
                 while it looks for work; the engine gets it back by one more context switch. The more have work at a time, the more \
                 often."
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

/// Whether two models differ in one thing: the kind of engine, or how sessions are hosted.
fn are_neighbours(a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (model(a), model(b)) else { return false };
    a.0 == b.0 && ((a.1 != b.1) != (a.2 != b.2))
}

/// What is counted of a transaction.
type Count = fn(&Measured) -> f64;
const USER_US: Count = |cell| cell.server.user_us;
const SYSTEM_US: Count = |cell| cell.server.system_us;
const SLEEPS: Count = |cell| cell.server.voluntary as f64;
const TURNS: Count = |cell| cell.server.involuntary as f64;
const FAULTS: Count = |cell| (cell.server.minor_faults + cell.server.major_faults) as f64;

/// A variant under a load.
#[derive(Clone, Copy)]
struct Of<'r> {
    run: &'r Run<'r>,
    place: Place,
    variant: usize,
}

impl Of<'_> {
    fn rounds(&self, count: Count) -> BTreeMap<u32, f64> {
        let cells = self.run.measured(self.place, self.variant).filter(|(_, cell)| cell.transactions > 0);
        cells.map(|(round, cell)| (round, count(cell) / cell.transactions as f64)).collect()
    }

    /// The median over the rounds; none if nothing was measured.
    fn median(&self, count: Count) -> Option<f64> {
        Some(Spread::of(&self.rounds(count).into_values().collect::<Vec<_>>())?.median)
    }

    fn cpu_us(&self) -> Option<f64> {
        Some(self.median(USER_US)? + self.median(SYSTEM_US)?)
    }

    /// How many times as long a transaction takes outside of the kernel as with the fewest clients of the layout.
    fn growth(&self) -> Option<f64> {
        let points = &self.run.plan.points;
        let fewest = (0..points.len()).min_by(|&a, &b| points[a].x.total_cmp(&points[b].x))?;
        let least = Of { place: Place { point: fewest, ..self.place }, ..*self }.median(USER_US)?;
        Some(self.median(USER_US)? / least.max(f64::MIN_POSITIVE))
    }
}

/// Two models at a place, one of which needs clearly more.
struct Pair<'r> {
    dear: Of<'r>,
    cheap: Of<'r>,
    judged: String,
    mechanisms: Vec<Mechanism>,
}

/// By how much the dearer one's count is more, if it clearly is; else zero.
fn more(dear: Of<'_>, cheap: Of<'_>, count: Count) -> f64 {
    let differ = match Ratio::of(&cheap.rounds(count), &dear.rounds(count)) {
        Some(ratio) => matches!(ratio.verdict(), Verdict::More),
        // None of it in the cheaper one: no ratio.
        None => cheap.median(count) == Some(0.0),
    };
    let by = dear.median(count).zip(cheap.median(count)).map_or(0.0, |(dear, cheap)| dear - cheap);
    if differ { by.max(0.0) } else { 0.0 }
}

fn pair<'r>(run: &'r Run<'r>, place: Place, a: usize, b: usize) -> Option<Pair<'r>> {
    let (dear, cheap) = match run.judge(place, a, b, Figure::ServerCpu).verdict {
        Verdict::More => (b, a),
        Verdict::Less => (a, b),
        Verdict::NoDifference | Verdict::Unknown(_) => return None,
    };
    let judged = super::finding::words(&run.judge(place, cheap, dear, Figure::ServerCpu));
    let [dear, cheap] = [dear, cheap].map(|variant| Of { run, place, variant });
    let difference = dear.cpu_us()? - cheap.cpu_us()?;
    let makes_share = |us: f64| us > 0.0 && us >= SHARE * difference;
    let holds = |mechanism: &Mechanism| match mechanism {
        Mechanism::WakeUps => makes_share(SWITCH_US * more(dear, cheap, SLEEPS)),
        Mechanism::Turns => makes_share(SWITCH_US * more(dear, cheap, TURNS)),
        Mechanism::PageFaults => makes_share(FAULT_US * more(dear, cheap, FAULTS)),
        Mechanism::Caches => {
            let alone = dear.growth().zip(cheap.growth()).is_some_and(|(dear, cheap)| dear > GROWTH && cheap <= GROWTH);
            alone && makes_share(more(dear, cheap, USER_US))
        }
        Mechanism::AddressSpaces => false,
    };
    let mut mechanisms: Vec<Mechanism> = Mechanism::COUNTED.into_iter().filter(holds).collect();
    if is_process_beside_thread(dear, cheap) && switch_alike(dear, cheap) {
        mechanisms.push(Mechanism::AddressSpaces);
    }
    Some(Pair { dear, cheap, judged, mechanisms })
}

fn is_process_beside_thread(dear: Of<'_>, cheap: Of<'_>) -> bool {
    let engine = |of: Of<'_>| model(&of.run.plan.variants[of.variant].name).map(|(_, engine, _)| engine.to_string());
    engine(dear).as_deref() == Some("process") && engine(cheap).as_deref() == Some("thread")
}

/// Both switch, and about as often: so that each switch of processes is one between their maps.
fn switch_alike(dear: Of<'_>, cheap: Of<'_>) -> bool {
    let switches = |of: Of<'_>| Some(of.median(SLEEPS)? + of.median(TURNS)?);
    let (Some(dear), Some(cheap)) = (switches(dear), switches(cheap)) else { return false };
    let (least, most) = (dear.min(cheap), dear.max(cheap));
    least > SWITCHES && most <= AS_MANY * least
}

fn pairs<'r>(run: &'r Run<'r>) -> Vec<Pair<'r>> {
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
    let row = |pair: &Pair<'_>| {
        let Place { layout, point } = pair.dear.place;
        let figure = |of: Of<'_>, count: Count| of.median(count).map_or("-".into(), number::figure);
        let both = |count: Count| format!("{}, {}", figure(pair.dear, count), figure(pair.cheap, count));
        let named: Vec<&str> = pair.mechanisms.iter().map(|mechanism| mechanism.name()).collect();
        let mut row = vec![
            format!("{} beside {}", name(pair.dear.variant), name(pair.cheap.variant)),
            format!("{}, {}", run.plan.layouts[layout], run.plan.points[point].label),
            pair.judged.clone(),
        ];
        row.extend([USER_US, SYSTEM_US, SLEEPS, TURNS, FAULTS].map(both));
        row.push(if named.is_empty() { "no count explains it".into() } else { named.join(", ") });
        row
    };
    let head = ["models", "where", "server CPU", "user µs", "system µs", "sleeps", "turns", "page faults", "mechanism"];
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
    let all = Mechanism::COUNTED.iter().chain(&[Mechanism::AddressSpaces]);
    let explained: Vec<Prose> = all.filter(seen).map(explained).collect();
    let mut blocks = vec![Block::Heading(2, "Why models differ".into()), Block::Table(table)];
    if !explained.is_empty() {
        blocks.push(Block::List(explained));
    }
    blocks
}
