//! Prepared statements that are planned for the values of their parameters, in each execution model: where values are frequent or rare, and not
//! where they cannot matter.

mod support;

use postgres::Client;
use support::server::{MODELS, Server};

const SKEWED: &str = "create table skewed (k int primary key, v int);
    create index skewed_v on skewed (v);
    insert into skewed select i, case when i % 100 = 0 then i else 0 end from generate_series(1, 10000) i;
    analyze skewed";

fn plan(client: &mut Client, query: &str) -> String {
    let rows = client.query(&format!("explain (costs off) {query}"), &[]).unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// Executions with the plan for any values, and with plans for values.
fn executed(client: &mut Client, name: &str) -> (i64, i64) {
    let query = "select generic_plans, custom_plans from pg_prepared_statements where name = $1";
    let row = client.query_one(query, &[&name]).unwrap();
    (row.get(0), row.get(1))
}

#[test]
fn values_that_are_frequent_or_rare_have_plans_of_their_own() {
    for model in MODELS {
        let name = model.name();
        let server = Server::start_with(model, true, &["--autovacuum=off"]);
        let mut client = server.connect();
        client.batch_execute(SKEWED).unwrap();
        client.batch_execute("prepare by_value (int) as select k from skewed where v = $1").unwrap();
        for (value, scan, count) in [(0, "Seq Scan", 9900), (100, "Index Scan", 1), (0, "Seq Scan", 9900)] {
            let shown = plan(&mut client, &format!("execute by_value ({value})"));
            assert!(shown.contains(scan) && shown.contains(&format!("(v = {value})")), "{name}: {shown}");
            assert_eq!(client.query(&format!("execute by_value ({value})"), &[]).unwrap().len(), count, "{name}");
        }
        client.batch_execute("set plan_cache_mode = force_generic_plan").unwrap();
        let shown = plan(&mut client, "execute by_value (0)");
        assert!(shown.contains("(v = $1)"), "{name}: {shown}");
        client.batch_execute("set plan_cache_mode = force_custom_plan").unwrap();
        assert!(plan(&mut client, "execute by_value (0)").contains("(v = 0)"), "{name}");
        client.batch_execute("reset plan_cache_mode").unwrap();
        assert!(executed(&mut client, "by_value").1 >= 6, "{name}");

        // The protocol: the portal has the plan that its values deserve.
        let statement = client.prepare("select k from skewed where v = $1").unwrap();
        let scans = "select seq_scan, idx_scan from pg_stat_user_tables where relname = 'skewed'";
        let counted = |client: &mut Client| {
            let row = client.query_one(scans, &[]).unwrap();
            (row.get::<_, i64>(0), row.get::<_, i64>(1))
        };
        let before = counted(&mut client);
        assert_eq!(client.query(&statement, &[&0]).unwrap().len(), 9900);
        assert_eq!(client.query(&statement, &[&100]).unwrap().len(), 1);
        assert_eq!(counted(&mut client), (before.0 + 1, before.1 + 1), "{name}");
        server.stop();
    }
}

#[test]
fn a_key_needs_no_plan_of_its_own() {
    let server = Server::start_with(MODELS[0], false, &["--autovacuum=off"]);
    let mut client = server.connect();
    client.batch_execute(SKEWED).unwrap();
    client.batch_execute("prepare by_key (int) as select v from skewed where k = $1").unwrap();
    for key in 1..=7 {
        assert_eq!(client.query(&format!("execute by_key ({key})"), &[]).unwrap().len(), 1);
    }
    assert_eq!(executed(&mut client, "by_key"), (7, 0));
    client.batch_execute("set plan_cache_mode = force_custom_plan").unwrap();
    client.query("execute by_key (8)", &[]).unwrap();
    assert_eq!(executed(&mut client, "by_key"), (7, 1));
}

/// All values that are asked for come to the plan for any values: after five executions that is used.
#[test]
fn planning_again_ends_where_it_changes_nothing() {
    let server = Server::start_with(MODELS[0], false, &["--autovacuum=off"]);
    let mut client = server.connect();
    client.batch_execute(SKEWED).unwrap();
    client.batch_execute("prepare by_value (int) as select k from skewed where v = $1").unwrap();
    for round in 1..=8 {
        client.query(&format!("execute by_value ({})", round * 100), &[]).unwrap();
    }
    assert_eq!(executed(&mut client, "by_value"), (3, 5));
}
