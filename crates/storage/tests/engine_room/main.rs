//! Storage under a running kernel: servers of their own, in all models, that tests talk to, kill and start again.
//!
//! A server is this very program run again with [`server::VARIABLE`] in its environment, since a supervisor forks and
//! must have one thread; so the program has a harness of its own. What clients can ask is in `support/service.rs`.

#[path = "../support/mod.rs"]
mod support;

mod crash;
mod locks;
mod pool;
mod runner;
mod server;
mod snapshots;

fn main() {
    if let Some(status) = server::serve_if_asked() {
        std::process::exit(status);
    }
    let mut tests: Vec<runner::Test> = Vec::new();
    pool::tests(&mut tests);
    snapshots::tests(&mut tests);
    locks::tests(&mut tests);
    crash::tests(&mut tests);
    std::process::exit(runner::run(tests));
}
