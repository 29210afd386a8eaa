//! The access layer under a running kernel: tables with indexes, in all models, compared with a model of what must be seen.
//!
//! A server is this very program run again, as in the tests of the engine room, from which it has server and runner. What clients
//! can ask is in `support/access.rs`; what a table is, in `support/table.rs`.

/// The service that the server of the engine room runs, under the name that it has there.
mod support {
    pub mod service {
        pub use crate::access::AccessService as StorageService;
    }
}

#[path = "../support/access.rs"]
mod access;
mod concurrency;
mod crash;
mod everything;
mod history;
mod load;
#[path = "../engine_room/runner.rs"]
mod runner;
#[path = "../engine_room/server.rs"]
#[allow(dead_code, reason = "the other tests use the rest")]
mod server;
#[path = "../support/table.rs"]
mod table;

fn main() {
    if let Some(status) = server::serve_if_asked() {
        std::process::exit(status);
    }
    let mut tests: Vec<runner::Test> = Vec::new();
    everything::tests(&mut tests);
    history::tests(&mut tests);
    concurrency::tests(&mut tests);
    load::tests(&mut tests);
    crash::tests(&mut tests);
    std::process::exit(runner::run(tests));
}
