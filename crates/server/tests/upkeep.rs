//! What a server does to its tables of its own accord, in each execution model: statistics are gathered of a table that has changed, plans
//! that were kept are made again then, and whoever wants the table does not wait for it.

mod support;

use postgres::Client;
use std::time::{Duration, Instant};
use support::server::{MODELS, Server};

/// A server that looks every second.
const OFTEN: &[&str] = &["--autovacuum-naptime=1s"];
const PATIENCE: Duration = Duration::from_secs(60);

fn number(client: &mut Client, query: &str) -> i64 {
    client.query_one(query, &[]).unwrap().get(0)
}

fn wait_for(client: &mut Client, query: &str, what: &str) {
    let end = Instant::now() + PATIENCE;
    while number(client, query) == 0 {
        assert!(Instant::now() < end, "{what}: {query}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn plan(client: &mut Client, query: &str) -> String {
    let rows = client.query(&format!("explain (costs off) {query}"), &[]).unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

const ANALYZED: &str = "select autoanalyze_count from pg_stat_user_tables where relname = 'skewed'";

#[test]
fn a_table_gets_its_statistics_and_plans_change() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start_with(model, false, OFTEN);
        let mut client = server.connect();
        client.batch_execute("create table skewed (k int, v int) with (autovacuum_enabled = off)").unwrap();
        client.batch_execute("create index skewed_v on skewed (v)").unwrap();
        // One row in a hundred is rare, and each rare value is in one row.
        client
            .batch_execute(
                "insert into skewed select i, case when i % 100 = 0 then i else 0 end from generate_series(1, 10000) i",
            )
            .unwrap();
        let (often, seldom) = ("select k from skewed where v = 0", "select k from skewed where v = 100");
        client.batch_execute(&format!("prepare kept as {often}")).unwrap();
        let scans = "select seq_scan from pg_stat_user_tables where relname = 'skewed'";
        let by_index = "select idx_scan from pg_stat_user_tables where relname = 'skewed'";
        // Nothing is known of the table: an index is never a bad choice.
        assert!(plan(&mut client, often).contains("Index Scan"), "{name}");
        assert_eq!(client.query("execute kept", &[]).unwrap().len(), 9900);
        assert_eq!((number(&mut client, scans), number(&mut client, by_index)), (0, 1), "{name}");
        assert_eq!(number(&mut client, "select count(*) from pg_stats where tablename = 'skewed'"), 0);

        client.batch_execute("alter table skewed set (autovacuum_enabled = on)").unwrap();
        wait_for(&mut client, ANALYZED, &name);
        let frequent =
            "select (most_common_freqs[1] > 0.9)::int::int8 from pg_stats where tablename = 'skewed' and attname = 'v'";
        assert_eq!(number(&mut client, frequent), 1, "{name}");
        let known = "select n_mod_since_analyze from pg_stat_user_tables where relname = 'skewed'";
        assert_eq!(number(&mut client, known), 0, "{name}");
        assert!(plan(&mut client, often).contains("Seq Scan"), "{name}");
        assert!(plan(&mut client, seldom).contains("Index Scan"), "{name}");
        // The plan that was kept is made again.
        assert_eq!(client.query("execute kept", &[]).unwrap().len(), 9900);
        assert_eq!((number(&mut client, scans), number(&mut client, by_index)), (1, 1), "{name}");

        // Nothing has changed since: nobody looks again, and the plan stays.
        std::thread::sleep(Duration::from_millis(2500));
        assert_eq!(number(&mut client, ANALYZED), 1, "{name}");
        // Another value becomes frequent.
        client.batch_execute("update skewed set v = 7 where k <= 8000").unwrap();
        wait_for(&mut client, &ANALYZED.replace("autoanalyze_count", "(autoanalyze_count - 1)"), &name);
        assert!(plan(&mut client, "select k from skewed where v = 7").contains("Seq Scan"), "{name}");
        server.stop();
    }
}

/// Definitions are changed all the while that tables are analyzed and vacuumed: nobody is refused, and nobody waits for long.
#[test]
fn definitions_do_not_wait() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start_with(model, false, &["--autovacuum-naptime=1s", "--autovacuum-analyze-threshold=0"]);
        let mut client = server.connect();
        client.batch_execute("create table wide (k int primary key, filler text)").unwrap();
        // So many pages that a look at them rests for a third of a second.
        client.batch_execute("insert into wide select i, repeat('x', 700) from generate_series(1, 20000) i").unwrap();
        let end = Instant::now() + Duration::from_secs(4);
        let mut most = Duration::ZERO;
        for round in 0.. {
            let begin = Instant::now();
            client.batch_execute(&format!("alter table wide add column c{round} int")).unwrap();
            client.batch_execute(&format!("alter table wide drop column c{round}")).unwrap();
            most = most.max(begin.elapsed());
            client.batch_execute("update wide set filler = repeat('y', 700) where k % 10 = 0").unwrap();
            if Instant::now() > end {
                break;
            }
        }
        assert!(most < Duration::from_secs(2), "{name}: {most:?}");
        let analyzed = "select autoanalyze_count from pg_stat_user_tables where relname = 'wide'";
        wait_for(&mut client, analyzed, &name);
        server.stop();
    }
}

/// What `pg_stat_activity` calls it; and those whose work may be cancelled go on with other work, the others take no notice.
#[test]
fn it_is_seen_and_can_be_cancelled() {
    const TASKS: &str = "from pg_stat_activity where backend_type = 'background worker'";
    for (model, function) in [(MODELS[4], "pg_cancel_backend"), (MODELS[0], "pg_terminate_backend")] {
        let name = model.name();
        let server = Server::start_with(model, false, OFTEN);
        let mut client = server.connect();
        let two = format!("select (count(*) = 2)::int::int8 {TASKS} and wait_event = 'VacuumMain'");
        wait_for(&mut client, &two, "two tasks rest");
        let all = number(&mut client, &format!("select count(*) {TASKS}"));
        let taken = number(&mut client, &format!("select count(*) filter (where {function}(pid)) {TASKS}"));
        assert_eq!(taken, 2, "{name}");
        client.batch_execute("create table skewed as select i from generate_series(1, 1000) i").unwrap();
        wait_for(&mut client, ANALYZED, &format!("{name}: {function}"));
        client.batch_execute("delete from skewed").unwrap();
        wait_for(&mut client, &ANALYZED.replace("autoanalyze", "autovacuum"), &format!("{name}: {function}"));
        // None has ended; the last of them may have begun meanwhile.
        assert!(number(&mut client, &format!("select count(*) {TASKS}")) >= all, "{name}");
        server.stop();
    }
}
