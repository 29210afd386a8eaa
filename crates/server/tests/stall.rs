//! A group whose engines all wait goes on: chains of open transactions that wait for each other's rows, many more than engines.
//!
//! In each chain the first session holds its row and is idle in its transaction; each other one holds a row of its own and waits
//! for the row of the one before it. When a session gets its row its client pauses for a while, and commits. Beside them, clients
//! ask for nothing much. No request may wait for over a second longer than the locks that it waits for: neither those in a chain,
//! counted from the commit that lets them go on, nor the others.

mod support;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};
use support::server::{MODELS, Model, Server};

const ENGINES: usize = 2;
const CHAINS: usize = 4 * ENGINES;
const DEPTH: usize = 8;
const BYSTANDERS: usize = 4;
/// The most that a request may wait beyond its locks.
const BEYOND: Duration = Duration::from_secs(1);

#[test]
fn no_request_waits_for_long_beyond_its_locks() {
    for model in MODELS.iter().filter(|model| model.sessions != "dedicated") {
        stall(*model);
    }
}

/// A pause that depends on who pauses, and on nothing else.
fn pause(chain: usize, depth: usize) -> Duration {
    let mixed = (chain as u64 * 31 + depth as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    Duration::from_millis(5 + mixed % 60)
}

fn stall(model: Model) {
    let name = model.name();
    let server = Server::start_with(model, false, &["--max-connections", "200"]);
    server
        .connect()
        .batch_execute("create table chain (id int primary key, n int); insert into chain select g, 0 from generate_series(0, 999) g")
        .unwrap();
    let row = |chain: usize, depth: usize| (chain * 10 + depth) as i32;
    let sessions: Vec<Vec<_>> = (0..CHAINS).map(|_| (0..=DEPTH).map(|_| server.connect()).collect()).collect();
    // When the session before has committed; none while it has not.
    let committed: Mutex<Vec<Option<Instant>>> = Mutex::new(vec![None; 1000]);
    let over = AtomicBool::new(false);
    let ready = Barrier::new(CHAINS * (DEPTH + 1));
    let longest = Mutex::new((Duration::ZERO, Duration::ZERO));
    std::thread::scope(|scope| {
        let mut chained = Vec::new();
        for (chain, sessions) in sessions.into_iter().enumerate() {
            for (depth, mut client) in sessions.into_iter().enumerate() {
                let (committed, longest, ready) = (&committed, &longest, &ready);
                chained.push(scope.spawn(move || {
                    let mut transaction = client.transaction().unwrap();
                    let text = "update chain set n = n + 1 where id = $1";
                    transaction.execute(text, &[&row(chain, depth)]).unwrap();
                    ready.wait();
                    if depth > 0 {
                        transaction.execute(text, &[&row(chain, depth - 1)]).unwrap();
                        let now = Instant::now();
                        // The one before may not have heard of its own commit yet.
                        let free = committed.lock().unwrap()[row(chain, depth - 1) as usize].unwrap_or(now);
                        let mut longest = longest.lock().unwrap();
                        longest.0 = longest.0.max(now.saturating_duration_since(free));
                    }
                    std::thread::sleep(pause(chain, depth));
                    transaction.commit().unwrap();
                    committed.lock().unwrap()[row(chain, depth) as usize] = Some(Instant::now());
                }));
            }
        }
        for _ in 0..BYSTANDERS {
            let mut client = server.connect();
            let (over, longest) = (&over, &longest);
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    let began = Instant::now();
                    client.batch_execute("select 1").unwrap();
                    let mut longest = longest.lock().unwrap();
                    longest.1 = longest.1.max(began.elapsed());
                    drop(longest);
                    std::thread::sleep(Duration::from_millis(10));
                }
            });
        }
        for session in chained {
            session.join().unwrap();
        }
        over.store(true, SeqCst);
    });
    let (in_chain, beside) = longest.into_inner().unwrap();
    println!("{name}: longest beyond its locks {in_chain:?}, longest beside the chains {beside:?}");
    assert!(in_chain < BEYOND && beside < BEYOND, "{name}: {in_chain:?} beyond locks, {beside:?} beside");
    let sum: i64 = server.connect().query_one("select sum(n) from chain", &[]).unwrap().get(0);
    assert_eq!(sum as usize, CHAINS * (2 * DEPTH + 1), "{name}");
    server.stop();
}
