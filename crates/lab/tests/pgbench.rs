//! The driver beside pgbench, under the same load on the same server, in turns: the server cannot tell them apart.

mod support;

use lab::address::Address;
use lab::driver::{self, Load, Moment, Pace, Protocol, Session};
use lab::experiment::contestants;
use lab::measure::processes::{Tree, Usage};
use lab::server::{Equal, Home};
use lab::statistics::Ratio;
use lab::workload::Workload;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Clients of both.
const CLIENTS: u32 = 8;

/// What one of the two made of a load.
struct Made {
    /// Server CPU per transaction, in microseconds.
    cost: f64,
    /// Transactions a second.
    speed: f64,
}

fn by_driver(address: &Address, tree: &Tree, protocol: Protocol, pace: Pace, seconds: u64) -> Made {
    let load = Load {
        mix: Workload::named("point-select").unwrap().mix(&[]).unwrap(),
        defines: Vec::new(),
        scale: 1,
        protocol,
        clients: CLIENTS,
        idle: 0,
        threads: 1,
        pace,
        reconnect: false,
        seed: 1,
        warm_up: Duration::from_millis(100),
        window: Duration::from_secs(seconds),
        cpus: Some(vec![0]),
    };
    let (mut begin, mut end) = (None, None);
    let report = driver::run(address, &load, &AtomicBool::new(false), |moment| match moment {
        Moment::Connected => {}
        Moment::Begin => begin = Some(Usage::now(tree)),
        Moment::End => end = Some(Usage::now(tree)),
    })
    .unwrap();
    let cost = end.unwrap().within(&begin.unwrap(), report.window).cpu_us() / report.transactions as f64;
    Made { cost, speed: report.transactions as f64 / seconds as f64 }
}

fn by_pgbench(address: &Address, tree: &Tree, protocol: Protocol, rate: Option<f64>, seconds: u64) -> Made {
    let word = match protocol {
        Protocol::Named => "prepared",
        Protocol::Unnamed => "extended",
        Protocol::Simple => "simple",
    };
    let mut command = Command::new("taskset");
    command.args(["-c", "0", "pgbench", "-n", "-S", "-j", "1", "-M", word, "-h", "127.0.0.1"]);
    command.args(["-p", &address.socket.port().to_string(), "-U", &address.user]);
    command.args(["-c", &CLIENTS.to_string(), "-T", &seconds.to_string()]);
    if let Some(rate) = rate {
        command.args(["-R", &rate.to_string()]);
    }
    let begin = Usage::now(tree);
    let output = command.arg(&address.database).output().unwrap();
    let used = Usage::now(tree).since(&begin).cpu_us();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let number = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name} in {text}"));
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    Made { cost: used / number("number of transactions actually processed: "), speed: number("tps = ") }
}

#[test]
fn the_server_cannot_tell_the_driver_from_pgbench() {
    let equal = Equal { buffers_mib: 64, connections: 50, gearbox: Some(support::gearbox()) };
    let home = Arc::new(Home::new(Some(&support::work())).unwrap());
    let prepared = contestants::serve("thread", "fiber").find(&equal).unwrap().prepare(&home).unwrap();
    let server = prepared.start(Some(&[0])).unwrap();
    let (address, tree) = (server.address(), server.tree().unwrap());
    let mut session = Session::connect(address).unwrap();
    let workload = Workload::named("point-select").unwrap();
    // pgbench reads the number of branches to know the scale.
    let branches = "CREATE TABLE pgbench_branches (bid int PRIMARY KEY); INSERT INTO pgbench_branches VALUES (1)";
    session.run(branches).unwrap();
    workload.set_up(address.wire, 1).for_each(|statement| session.run(&statement).unwrap());
    drop(session);

    // As fast as they can: what a transaction costs the server does not depend on who asks. pgbench's connections are in its figure. Of three
    // pairs one restless second decided.
    let (mut ours, mut theirs) = (BTreeMap::new(), BTreeMap::new());
    for (round, protocol) in Protocol::ALL.into_iter().cycle().take(9).enumerate() {
        let round = round as u32;
        ours.insert(round, by_driver(address, tree, protocol, Pace::Closed, 1).cost);
        theirs.insert(round, by_pgbench(address, tree, protocol, None, 1).cost);
    }
    let ratio = Ratio::of(&theirs, &ours).unwrap();
    println!("server CPU per transaction beside pgbench's: {:.3} ({ours:?}, {theirs:?})", ratio.estimate);
    assert!((0.8..1.25).contains(&ratio.estimate), "{ratio:?}, {ours:?}, {theirs:?}");

    // At a rate: both offer what they were told to.
    let rate = 2000.0;
    let ours = by_driver(address, tree, Protocol::Named, Pace::Rate { per_second: rate }, 2).speed;
    let theirs = by_pgbench(address, tree, Protocol::Named, Some(rate), 2).speed;
    println!("at {rate}/s: {ours:.0} and pgbench {theirs:.0}");
    assert!((ours / theirs - 1.0).abs() < 0.1, "{ours} and pgbench {theirs}");
    assert!((ours / rate - 1.0).abs() < 0.1, "{ours}");
    server.stop().unwrap();
}
