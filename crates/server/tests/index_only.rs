//! Scans of an index alone: rows of pages that are known to be visible to everybody are not looked at, and are once their page has changed.

mod support;

use postgres::{Client, SimpleQueryMessage};
use support::server::{MODELS, Server};

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
