//! The driver against a server of a hundred lines whose every behaviour is known: what it counts, what it sends, and what it makes of
//! a server that errs, stalls, breaks off or goes away.

mod support;

use lab::driver::{self, Load, Moment, Pace, Protocol, Report};
use lab::workload::script::{Mix, Source};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use support::toy::{Manner, Toy};

const SELECT: &str = "\\set k random(1, 1000000)\nSELECT :k;\n";

fn load(script: &str) -> Load {
    Load {
        mix: Mix::compile(&[(Source { name: "test", text: script }, 1)], &[]).unwrap(),
        defines: Vec::new(),
        scale: 1,
        protocol: Protocol::Named,
        clients: 5,
        idle: 2,
        threads: 2,
        pace: Pace::Closed,
        reconnect: false,
        seed: 7,
        warm_up: Duration::from_millis(20),
        window: Duration::from_millis(150),
        cpus: None,
    }
}

fn run(toy: &Toy, load: &Load) -> base::Result<Report> {
    driver::run(&toy.address(), load, &AtomicBool::new(false), |_| {})
}

#[test]
fn what_is_counted_is_what_the_server_answered_in_each_protocol() {
    for protocol in Protocol::ALL {
        for reconnect in [false, true] {
            let toy = Toy::start(Manner::default());
            let load = Load { protocol, reconnect, ..load(SELECT) };
            let report = run(&toy, &load).unwrap();
            assert!(report.transactions > 0 && report.failed.is_empty(), "{report:?}");
            assert_eq!(report.committed, toy.executed(), "{protocol:?}, reconnect {reconnect}");
            assert!(report.committed >= report.transactions);
            assert_eq!(report.latency.count(), report.transactions);
            assert_eq!(report.sessions.mean * 5.0, report.transactions as f64);
            assert_eq!(report.seconds.iter().sum::<u64>(), report.transactions);
            assert_eq!(report.connects > 0, reconnect);
        }
    }
}

#[test]
fn answers_that_come_in_pieces_are_put_together() {
    let toy = Toy::start(Manner { piece: 3, ..Manner::default() });
    let report = run(&toy, &load(SELECT)).unwrap();
    assert!(report.transactions > 0);
    assert_eq!(report.committed, toy.executed());
}

#[test]
fn one_seed_asks_the_same_questions_in_the_same_order() {
    let asked = |seed, piece| {
        let toy = Toy::start(Manner { piece, ..Manner::default() });
        run(&toy, &Load { seed, protocol: Protocol::Simple, clients: 3, ..load(SELECT) }).unwrap();
        // Which connection is whose differs, so lists are told apart by what was asked first.
        toy.asked().into_iter().filter_map(|list| Some((list.first()?.clone(), list))).collect::<BTreeMap<_, _>>()
    };
    let (first, second, other) = (asked(1, 0), asked(1, 7), asked(2, 0));
    assert_eq!(first.len(), 3);
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    assert_ne!(first.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (begin, list) in &first {
        let both = list.len().min(second[begin].len());
        assert!(both > 3);
        assert_eq!(list[..both], second[begin][..both]);
    }
}

#[test]
fn failed_transactions_count_by_their_state_and_are_rolled_back() {
    for protocol in Protocol::ALL {
        let toy = Toy::start(Manner { fail_every: 10, ..Manner::default() });
        let load = Load { protocol, ..load("BEGIN;\n\\set k random(1, 9)\nSELECT :k;\nCOMMIT;\n") };
        let report = run(&toy, &load).unwrap();
        let (states, counts): (Vec<_>, Vec<_>) =
            report.failed.iter().map(|(state, (count, _))| (state, *count)).unzip();
        assert_eq!(states, ["40001"], "{protocol:?}");
        assert!(counts[0] > 0 && report.transactions > 0);
        assert!(toy.rolled_back() >= counts[0], "{} roll backs for {counts:?}", toy.rolled_back());
        assert_eq!(report.committed, toy.committed());
    }
}

#[test]
fn a_connection_that_breaks_is_counted_and_made_anew() {
    let toy = Toy::start(Manner { break_every: 50, ..Manner::default() });
    let report = run(&toy, &load(SELECT)).unwrap();
    assert_eq!(report.failed.keys().collect::<Vec<_>>(), ["08006"], "{:?}", report.failed);
    assert!(report.transactions > 100, "{report:?}");
}

#[test]
fn a_server_that_is_not_there_or_goes_away_ends_the_load() {
    let toy = Toy::start(Manner::default());
    let address = toy.address();
    let long = Load { window: Duration::from_secs(60), ..load(SELECT) };
    let mut toy = Some(toy);
    let error = driver::run(&address, &long, &AtomicBool::new(false), |moment| {
        if moment == Moment::Begin {
            drop(toy.take());
        }
    })
    .unwrap_err();
    // The last one may still have been in the queue of those that wanted to connect.
    let told = ["no server at", "it closed the connection"].iter().any(|words| error.message().contains(words));
    assert!(told, "{}", error.message());
    let error = driver::run(&address, &long, &AtomicBool::new(false), |_| {}).unwrap_err();
    assert!(error.message().contains("no server at") && error.hint_text().is_some(), "{}", error.message());
}

#[test]
fn a_server_that_refuses_is_quoted() {
    let toy = Toy::start(Manner { connections_max: 3, ..Manner::default() });
    let error = run(&toy, &load(SELECT)).unwrap_err();
    assert!(error.message().ends_with("refused a connection: sorry, too many clients already"), "{}", error.message());
    assert_eq!(error.detail_text(), Some("SQLSTATE 53300."));
}

#[test]
fn a_script_that_sends_nothing_ends_with_its_window() {
    let toy = Toy::start(Manner::default());
    let think = Pace::Think { least: Duration::ZERO, most: Duration::from_millis(1) };
    for pace in [Pace::Closed, think, Pace::Rate { per_second: 1000.0 }] {
        let report = run(&toy, &Load { pace, ..load("\\set a 1\n\\set b 2\n") }).unwrap();
        assert!(report.transactions > 0 && report.statements == 0, "{report:?}");
    }
}

#[test]
fn a_statement_that_cannot_be_prepared_is_not_called_a_connection() {
    let toy = Toy::start(Manner { has_no_tables: true, ..Manner::default() });
    let error = run(&toy, &load(SELECT)).unwrap_err();
    assert!(error.message().contains("could not be prepared: no such table"), "{}", error.message());
}

#[test]
fn with_a_connection_for_each_transaction_a_refusal_counts_under_its_own_state() {
    let toy = Toy::start(Manner { connections_max: 20, ..Manner::default() });
    let window = Duration::from_millis(300);
    let error = match run(&toy, &Load { reconnect: true, idle: 0, window, ..load(SELECT) }) {
        Ok(report) => {
            assert_eq!(report.failed.keys().collect::<Vec<_>>(), ["53300"]);
            return;
        }
        Err(error) => error,
    };
    assert!(error.message().contains("sorry, too many clients already"), "a thousand in a row end it: {error:?}");
}

#[test]
fn the_load_goes_on_while_the_end_of_the_window_is_read() {
    for pace in ["closed", "think 1-2 ms", "rate 2000/s"] {
        let toy = Toy::start(Manner::default());
        let load = Load { pace: pace.parse().unwrap(), ..load(SELECT) };
        let report = driver::run(&toy.address(), &load, &AtomicBool::new(false), |moment| {
            if moment == Moment::End {
                // More than can have been under way.
                let (before, began) = (toy.executed(), std::time::Instant::now());
                while toy.executed() < before + 50 {
                    assert!(began.elapsed() < Duration::from_secs(5), "{pace}: the load has stopped");
                }
            }
        });
        let report = report.unwrap();
        assert_eq!(report.committed, toy.executed(), "{pace}");
        assert!(report.committed >= report.transactions + 50, "what came after the window is not in it");
    }
}

#[test]
fn a_panic_of_the_caller_ends_the_load() {
    let toy = Toy::start(Manner::default());
    let long = Load { window: Duration::from_secs(60), ..load(SELECT) };
    let began = std::time::Instant::now();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        driver::run(&toy.address(), &long, &AtomicBool::new(false), |_| panic!("on purpose"))
    }));
    assert!(caught.is_err() && began.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_interrupt_ends_the_load_soon() {
    let toy = Toy::start(Manner::default());
    let (interrupt, began) = (AtomicBool::new(false), std::time::Instant::now());
    let long = Load { window: Duration::from_secs(60), ..load(SELECT) };
    let error = driver::run(&toy.address(), &long, &interrupt, |moment| {
        if moment == Moment::Begin {
            interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert_eq!(error.unwrap_err().message(), "interrupted");
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// A server that stands still for a while makes everybody wait who would have asked meanwhile. A closed loop hides that, since it does
/// not ask; arrivals show it.
#[test]
fn arrivals_that_had_to_wait_for_a_stall_are_seen_to_have_waited() {
    let stall = Duration::from_millis(400);
    let slow = |pace| {
        let toy = Toy::start(Manner { stall_after: Duration::from_millis(250), stall, ..Manner::default() });
        let window = Duration::from_millis(1000);
        run(&toy, &Load { pace, window, clients: 2, threads: 1, ..load(SELECT) }).unwrap()
    };
    let arrivals = slow(Pace::Rate { per_second: 500.0 });
    let latency = arrivals.latency.latency();
    assert!((300..=700).contains(&arrivals.transactions), "{arrivals:?}");
    // Two fifths of the second's arrivals fell into the stall and waited for half of it in the mean.
    assert!(latency.p95 > 250_000.0 && latency.mean > 40_000.0, "{latency:?}");
    let closed = slow(Pace::Closed).latency.latency();
    assert!(closed.p95 < 50_000.0 && closed.max > 300_000.0, "{closed:?}");
}

#[test]
fn thinking_clients_offer_what_their_thoughts_allow() {
    let toy = Toy::start(Manner::default());
    let pace: Pace = "think 10-30 ms".parse().unwrap();
    let window = Duration::from_secs(1);
    let report = run(&toy, &Load { pace, window, clients: 40, ..load(SELECT) }).unwrap();
    // Forty clients, one question in 20 ms each and a little for the answer.
    assert!((1500..=2050).contains(&report.transactions), "{}", report.transactions);
    assert!(report.sessions.fairness > 0.98, "{:?}", report.sessions);
}

#[test]
fn a_pipeline_is_one_exchange_and_gset_takes_the_answer() {
    let toy = Toy::start(Manner::default());
    let pipeline = "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n";
    let report = run(&toy, &load(pipeline)).unwrap();
    assert_eq!(report.statements, 2 * report.transactions);
    assert_eq!(toy.executed(), 2 * report.committed);
    let error = run(&toy, &Load { protocol: Protocol::Simple, ..load(pipeline) }).unwrap_err();
    assert!(error.message().contains("pipeline"), "{}", error.message());

    let toy = Toy::start(Manner::default());
    let gset = "SELECT 41 \\gset\n\\set next :answer + 1\nSELECT :next;\n";
    run(&toy, &Load { protocol: Protocol::Simple, ..load(gset) }).unwrap();
    let asked = toy.asked();
    assert!(
        asked.iter().flatten().all(|text| text.starts_with("SELECT 41") || text.starts_with("SELECT 8")),
        "{asked:?}"
    );
}
