//! Scans of an index alone: rows of pages that are known to be visible to everybody are not looked at, and are once their page has changed.

mod support;

use postgres::{Client, SimpleQueryMessage};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use support::server::{MODELS, Model, Server};

/// How often a vacuum is tried: somebody else's snapshot, that of a vacuum in the background, may hold the pages back.
const TRIES: u32 = 200;

fn lines(client: &mut Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).unwrap();
    let row = |message| match message {
        SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().trim().to_owned()),
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}

/// How many rows a query has looked at beside the index.
fn fetched(client: &mut Client, query: &str) -> u64 {
    let plan = lines(client, &format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {query}"));
    assert!(plan.iter().any(|line| line.contains("Index Only Scan")), "{plan:?}");
    let count = plan.iter().find_map(|line| line.strip_prefix("Heap Fetches: "));
    count.unwrap_or_else(|| panic!("{plan:?}")).parse().unwrap()
}

#[test]
fn rows_of_known_pages_are_not_looked_at() {
    for model in MODELS {
        let server = Server::start(model, true);
        let mut client = server.connect();
        let made = "CREATE TABLE t (id int PRIMARY KEY, a int); INSERT INTO t SELECT g, g % 10 FROM generate_series(1, 3000) g";
        client.batch_execute(made).unwrap();
        client.batch_execute("SET enable_seqscan = off; SET enable_sort = off").unwrap();
        let count = "SELECT count(*) FROM t WHERE id BETWEEN 100 AND 1099";
        assert_eq!(fetched(&mut client, count), 1000, "nothing is known before the first vacuum");
        let all_known = (0..TRIES).any(|_| {
            client.batch_execute("VACUUM t").unwrap();
            fetched(&mut client, count) == 0
        });
        assert!(all_known, "{}", model.name());
        // A page changes: its rows are looked at, those of others are not.
        client.batch_execute("UPDATE t SET id = -id WHERE id = 500").unwrap();
        let after = fetched(&mut client, count);
        assert!((1..1000).contains(&after), "{after}");
        assert_eq!(lines(&mut client, count), ["999"]);
        client.batch_execute("BEGIN; DELETE FROM t WHERE id = 501").unwrap();
        assert_eq!(lines(&mut client, count), ["998"]);
        client.batch_execute("ROLLBACK").unwrap();
        assert_eq!(lines(&mut client, count), ["999"]);
        let known_again = (0..TRIES).any(|_| {
            client.batch_execute("VACUUM t").unwrap();
            fetched(&mut client, count) == 0
        });
        assert!(known_again, "{}", model.name());
        assert_eq!(lines(&mut client, count), ["999"]);
        drop(client);
        server.stop();
    }
}

/// Keys that come and go.
const KEYS: u64 = 1200;
/// How often what the index says is compared with what the table says while others write.
const ROUNDS: u32 = 60;

/// The next number of a series that is the same each time.
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Changes rows, one or a few at a time, until it is told that it is enough.
fn write(server: &Server, mut state: u64, enough: &AtomicBool) {
    let mut client = server.connect();
    while !enough.load(Relaxed) {
        let (key, far) = (draw(&mut state) % KEYS + 1, draw(&mut state) % KEYS + 1);
        let end = if draw(&mut state).is_multiple_of(4) { "ROLLBACK" } else { "COMMIT" };
        let changes = match draw(&mut state) % 5 {
            0 => format!("UPDATE t SET b = b + 1 WHERE id = {key}"),
            1 => format!("UPDATE t SET a = a + 1 WHERE id = {key}"),
            2 => format!("DELETE FROM t WHERE id = {key}"),
            3 => format!("INSERT INTO t VALUES ({key}, 7, 0) ON CONFLICT (id) DO UPDATE SET a = t.a - 1"),
            _ => format!(
                "SAVEPOINT s; DELETE FROM t WHERE id = {key}; ROLLBACK TO s; UPDATE t SET a = 3 WHERE id = {far}"
            ),
        };
        match client.batch_execute(&format!("BEGIN; {changes}; {end}")) {
            Ok(()) => {}
            // Two who wait for one another; nothing else may come of it.
            Err(error) => {
                assert_eq!(error.code().map(|code| code.code()), Some("40P01"), "{error}");
                client.batch_execute("ROLLBACK").unwrap();
            }
        }
    }
}

/// What the index says and what the table says, to one snapshot.
fn both(client: &mut Client) -> (Vec<String>, Vec<String>) {
    let by_index = "SET LOCAL enable_seqscan = off; SET LOCAL enable_indexonlyscan = on";
    let by_table =
        "SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off";
    let query = "SELECT count(*) || ' rows, ' || sum(a * 10000 + id) FROM t WHERE a >= 0";
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL enable_sort = off";
    let first = lines(client, &format!("{begin}; {by_index}; {query}"));
    // In a request of its own: the session has moved on.
    let second = lines(client, &format!("{by_table}; {query}"));
    let third = lines(client, &format!("{by_index}; {query}; COMMIT"));
    assert_eq!(first, third);
    (first, second)
}

fn index_and_table_agree(model: Model) {
    let mut server = Server::start(model, true);
    let mut client = server.connect();
    let made = format!(
        "CREATE TABLE t (id int PRIMARY KEY, a int NOT NULL, b int) WITH (fillfactor = 70); CREATE INDEX i ON t (a, id);
         INSERT INTO t SELECT g, g % 10, 0 FROM generate_series(1, {KEYS}) g"
    );
    client.batch_execute(&made).unwrap();
    client.batch_execute("VACUUM t").unwrap();
    let enough = AtomicBool::new(false);
    let mut spared = 0;
    std::thread::scope(|scope| {
        let told = &enough;
        let server = &server;
        for seed in 1..=2 {
            scope.spawn(move || write(server, seed, told));
        }
        scope.spawn(move || {
            let mut client = server.connect();
            while !told.load(Relaxed) {
                client.batch_execute("VACUUM t").unwrap();
            }
        });
        // The others are told in any case: else this would wait for them.
        let compared = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..ROUNDS {
                let (by_index, by_table) = both(&mut client);
                assert_eq!(by_index, by_table, "{}, round {round}", model.name());
                client.batch_execute("SET enable_seqscan = off; SET enable_sort = off").unwrap();
                spared += 2 * KEYS - fetched(&mut client, "SELECT count(a + id) FROM t WHERE a >= 0").min(2 * KEYS);
                client.batch_execute("RESET enable_seqscan; RESET enable_sort").unwrap();
            }
        }));
        enough.store(true, Relaxed);
        if let Err(panic) = compared {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(spared > 0, "{}", model.name());
    let (before, _) = both(&mut client);
    drop(client);
    server.crash();
    server.start_again();
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(both(&mut client), (before.clone(), before.clone()), "{}, after a crash", model.name());
        client.batch_execute("VACUUM t").unwrap();
    }
    client.batch_execute("DELETE FROM t WHERE id % 3 = 0").unwrap();
    let (by_index, by_table) = both(&mut client);
    assert_eq!(by_index, by_table, "{}, after a crash", model.name());
    drop(client);
    server.stop();
}

#[test]
fn index_and_table_agree_while_others_write_and_after_a_crash() {
    MODELS.into_iter().for_each(index_and_table_agree);
}
