//! The kernel's proof: what it promises, shown on a running server in each of the six models.
//!
//! `cargo test -p kernel --test proof` runs the small form; `GEARBOX_FULL=1` the full one (10,000 sessions, 1,000 kills).
//! Each test starts servers of its own, in other processes, and leaves nothing behind.

#[path = "../support/mod.rs"]
mod support;

mod basics;
mod clients;
mod deaths;
mod gathered;
mod interrupts;
mod kills;
mod limits;
mod names;
mod resources;
mod slices;
mod stall;

use support::runner::{self, Test};

fn main() {
    if let Some(status) = support::server::serve_if_asked() {
        std::process::exit(status);
    }
    let mut tests: Vec<Test> = Vec::new();
    tests.extend(basics::tests());
    tests.extend(names::tests());
    tests.extend(interrupts::tests());
    tests.extend(stall::tests());
    tests.extend(slices::tests());
    tests.extend(gathered::tests());
    tests.extend(limits::tests());
    tests.extend(clients::tests());
    tests.extend(deaths::tests());
    tests.extend(kills::tests());
    tests.extend(resources::tests());
    std::process::exit(runner::run(tests));
}
