//! Loops that read rows ahead: a reader who stops early has cost at most as many rows more as he got, and one who reads all rows gets them.

mod support;

use postgres::{Client, SimpleQueryMessage};
use support::server::{MODELS, Server};

/// Rows of the outer table.
const ROWS: u64 = 1000;

/// How many rows of the outer table a query reads.
fn outer_rows(client: &mut Client, query: &str) -> u64 {
    let explained = format!("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) {query}");
    let mut plan = Vec::new();
    for message in client.simple_query(&explained).unwrap() {
        if let SimpleQueryMessage::Row(row) = message {
            plan.push(row.get(0).unwrap_or_default().to_owned());
        }
    }
    assert!(plan.iter().any(|line| line.contains("Nested Loop")), "{plan:?}");
    let outer = plan.iter().find(|line| line.contains(" on orders")).unwrap_or_else(|| panic!("{plan:?}"));
    let rows = outer.split_once("actual rows=").and_then(|(_, rest)| rest.split_once(' '));
    rows.and_then(|(rows, _)| rows.parse::<f64>().ok()).unwrap_or_else(|| panic!("{outer}")) as u64
}

#[test]
fn a_reader_who_stops_early_costs_few_rows_more() {
    for model in MODELS {
        let server = Server::start(model, true);
        let mut client = server.connect();
        let made = format!(
            "CREATE TABLE item (id int PRIMARY KEY, word text);
             CREATE TABLE orders (id int PRIMARY KEY, item int NOT NULL);
             INSERT INTO item SELECT g, 'word ' || g FROM generate_series(1, {ROWS}) g;
             INSERT INTO orders SELECT g, 1 + g * 7 % {ROWS} FROM generate_series(1, {ROWS}) g;
             ANALYZE;
             SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_hashagg = off"
        );
        client.batch_execute(&made).unwrap();
        let joined = "FROM orders JOIN item ON item.id = orders.item";
        for wanted in [1, 5, 40] {
            let limited = format!("SELECT word {joined} LIMIT {wanted}");
            let read = outer_rows(&mut client, &limited);
            assert!((wanted..=2 * wanted + 1).contains(&read), "{}: {read} rows for {wanted}", model.name());
        }
        // The first groups of many, in order.
        let grouped = format!("SELECT orders.id, count(*) {joined} WHERE orders.id > 0 GROUP BY orders.id LIMIT 5");
        client.batch_execute("SET enable_seqscan = off; SET enable_sort = off").unwrap();
        let read = outer_rows(&mut client, &grouped);
        assert!((5..=13).contains(&read), "{}: {read} rows for five groups", model.name());
        client.batch_execute("RESET enable_seqscan; RESET enable_sort").unwrap();
        for whole in ["SELECT count(word)", "SELECT word"] {
            let read = outer_rows(&mut client, &format!("{whole} {joined} ORDER BY 1 LIMIT 1"));
            assert_eq!(read, ROWS, "{}: {whole}", model.name());
        }
        drop(client);
        server.stop();
    }
}
