//! The lab finds nothing where there is nothing, and a twentieth where a twentieth was put in: with the driver, the counters and the
//! statistics that every experiment uses, on two servers that are both this one.

mod support;

use lab::driver::{self, Load, Moment, Pace, Protocol};
use lab::experiment::null::{MORE_NS, WORK_NS, working};
use lab::measure::processes::Usage;
use lab::server::{Equal, Home, Running};
use lab::statistics::{Ratio, Verdict};
use lab::workload::Workload;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long one cell is measured.
const WINDOW: Duration = Duration::from_millis(60);

fn start(home: &Arc<Home>, name: &str, work_ns: u64) -> Running {
    let equal = Equal { buffers_mib: 64, connections: 50, gearbox: Some(support::gearbox()) };
    let prepared = working(name, work_ns).find(&equal).unwrap().prepare(home).unwrap();
    prepared.start(Some(&[0])).unwrap()
}

/// Server CPU per transaction of one cell.
fn cost(server: &Running, seed: u64) -> f64 {
    let load = Load {
        mix: Workload::named("point-select").unwrap().mix(&[]).unwrap(),
        defines: Vec::new(),
        scale: 1,
        protocol: Protocol::Named,
        clients: 4,
        idle: 0,
        threads: 1,
        pace: Pace::Closed,
        reconnect: false,
        seed,
        warm_up: Duration::from_millis(5),
        window: WINDOW,
        cpus: Some(vec![0]),
    };
    let tree = server.tree().unwrap();
    let (mut begin, mut end) = (None, None);
    let report = driver::run(server.address(), &load, &AtomicBool::new(false), |moment| match moment {
        Moment::Connected => {}
        Moment::Begin => begin = Some(Usage::now(tree)),
        Moment::End => end = Some(Usage::now(tree)),
    })
    .unwrap();
    end.unwrap().since(&begin.unwrap()).cpu_us() / report.transactions as f64
}

/// Compares two servers in so many rounds, in turns.
fn compare(a: &Running, b: &Running, rounds: u32) -> Ratio {
    let (mut first, mut second) = (BTreeMap::new(), BTreeMap::new());
    for round in 1..=rounds {
        first.insert(round, cost(a, round.into()));
        second.insert(round, cost(b, round.into()));
    }
    Ratio::of(&first, &second).expect("there are pairs")
}

#[test]
fn nothing_is_found_where_there_is_nothing_and_a_twentieth_where_it_is() {
    let home = Arc::new(Home::new(Some(&support::work())).unwrap());
    let (a, again) = (start(&home, "A", WORK_NS), start(&home, "A again", WORK_NS));
    // An interval that holds the truth 98 times in a hundred leaves two or more of twenty in six tests of a hundred, and more on a
    // machine that is busy: those get a second chance and a third.
    let found = || {
        let ratios: Vec<Ratio> = (0..20).map(|_| compare(&a, &again, 5)).collect();
        ratios.into_iter().filter(|ratio| ratio.verdict() != Verdict::NoDifference).collect::<Vec<_>>()
    };
    let tries: Vec<_> = (0..3).map_while(|_| Some(found()).filter(|found| found.len() > 1)).collect();
    assert!(tries.len() < 3, "of 20 null experiments, three times, these found something: {tries:?}");
    again.stop().unwrap();

    let more = start(&home, "A and 5 %", MORE_NS);
    // On a machine that is busy with something else a twentieth may need more rounds to be told from chance.
    let is_found = |ratio: &Ratio| ratio.verdict() == Verdict::More && (1.02..1.09).contains(&ratio.estimate);
    let mut tries = Vec::new();
    for rounds in [15, 45, 135] {
        tries.push(compare(&a, &more, rounds));
        if tries.last().is_some_and(is_found) {
            break;
        }
    }
    assert!(tries.last().is_some_and(is_found), "{tries:?}");
    a.stop().unwrap();
    more.stop().unwrap();
}
