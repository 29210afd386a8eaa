//! A stop in the midst of writes: sessions that wait for the log while the server stops, and whose wait comes to its end.
//!
//! Each method of I/O has its own way in which the request of a waiting session is handed over, and an engine that is to stop still
//! has to do that for the sessions that it has.

mod support;

use support::server::{MODELS, Server};

const SESSIONS: usize = 3;
const ROUNDS: usize = 8;

/// What a session has made temporarily goes when it ends, by a commit of its own that waits for the log.
#[test]
fn sessions_that_wait_for_the_log_do_not_hold_a_stop_up() {
    for model in MODELS {
        for method in ["uring", "workers", "sync"] {
            let mut server = Server::start_with(model, false, &["--io", method]);
            for _ in 0..ROUNDS {
                let mut clients: Vec<_> = (0..SESSIONS).map(|_| server.connect()).collect();
                clients.iter_mut().for_each(|client| client.batch_execute("create temp table mine (a int)").unwrap());
                drop(clients);
                // At most ten seconds, or it fails.
                server.shut_down();
                server.start_again();
            }
            server.stop();
        }
    }
}
