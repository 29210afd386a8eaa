//! Disk I/O on real files, in every model, by every method.
//!
//! Every case starts a server of its own: this binary again, told by the environment to serve ([`server`]). The region is
//! one per process, and only a supervisor that forks hosts has engines of every kind; so a test is a client that sends
//! lines and reads answers ([`client`]).
//!
//! `cargo test -p kernel --test io [-- FILTER]` runs the cases whose names contain FILTER.

mod cases;
mod client;
mod server;

use std::sync::Mutex;

/// How many cases run at a time.
const AT_ONCE: usize = 4;

fn main() {
    if let Ok(description) = std::env::var(server::VARIABLE) {
        std::process::exit(server::main(&description));
    }
    let filters: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let all = cases::all();
    let chosen: Vec<_> =
        all.into_iter().filter(|case| filters.is_empty() || filters.iter().any(|f| case.0.contains(f))).collect();
    println!("\nrunning {} cases", chosen.len());
    let (chosen, failed) = (Mutex::new(chosen.into_iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some((name, case)) = chosen.lock().unwrap().next() else { return };
            let start = std::time::Instant::now();
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case));
            println!("case {name} ... {} ({:?})", if outcome.is_ok() { "ok" } else { "FAILED" }, start.elapsed());
            if outcome.is_err() {
                failed.lock().unwrap().push(name);
            }
        }
    };
    // Cases mostly wait: for a disk, for processes to come and go.
    std::thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap();
    if !failed.is_empty() {
        println!("\nfailed: {failed:?}");
        std::process::exit(101);
    }
}
