//! What the views say, in each execution model: `pg_stat_database` counts transactions exactly, those of sessions that are gone too, and of
//! those that every request finds on another engine; `pg_stat_activity` shows statements, prepared ones too.

mod support;

use support::server::{MODELS, Server};

/// Commits and rollbacks so far, the asking one not among them.
fn ended(server: &Server) -> (i64, i64) {
    let mut client = server.log_in("postgres", "", "postgres").unwrap();
    let answer = client
        .simple_query("SELECT xact_commit, xact_rollback FROM pg_stat_database WHERE datname = 'postgres'")
        .unwrap();
    let row = answer.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let number = |column| row.unwrap().get(column).unwrap().parse().unwrap();
    (number(0), number(1))
}

#[test]
fn each_transaction_counts_once() {
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            let (first, second) = (ended(&server), ended(&server));
            assert_eq!(second, (first.0 + 1, first.1), "asking counts as well, in {}", model.name());

            let mut client = server.log_in("postgres", "", "postgres").unwrap();
            let commits = [
                "CREATE TABLE counted (k int PRIMARY KEY)",
                "SELECT 1",
                "BEGIN; INSERT INTO counted VALUES (1); COMMIT",
                "BEGIN; COMMIT",
                "INSERT INTO counted VALUES (2); INSERT INTO counted VALUES (3)",
            ];
            for text in commits {
                client.batch_execute(text).unwrap();
            }
            client.batch_execute("BEGIN; INSERT INTO counted VALUES (4); ROLLBACK").unwrap();
            client.batch_execute("INSERT INTO counted VALUES (1)").unwrap_err();
            client.batch_execute("SELECT 1/0").unwrap_err();
            client.batch_execute("BEGIN").unwrap();
            client.batch_execute("SELECT nothing").unwrap_err();
            client.batch_execute("COMMIT").unwrap();
            client.batch_execute("BEGIN; INSERT INTO counted VALUES (5)").unwrap();
            drop(client);
            // The last one is rolled back when the server has noticed that its client is gone.
            let mut last = ended(&server);
            for reading in 2.. {
                let counted = (last.0 - second.0 - (reading - 1), last.1 - second.1);
                if counted == (commits.len() as i64, 5) || reading > 500 {
                    assert_eq!(counted, (commits.len() as i64, 5), "{}", model.name());
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
                last = ended(&server);
            }
            server.stop();
        }
    }
}

#[test]
fn a_prepared_statement_is_seen_with_its_text() {
    for model in MODELS {
        let server = Server::start(model, true);
        let mut client = server.log_in("postgres", "", "postgres").unwrap();
        let text = "SELECT query, $1::int4 FROM pg_stat_activity WHERE pid = pg_backend_pid()";
        let prepared = client.prepare(text).unwrap();
        for round in 0..3 {
            let row = client.query_one(&prepared, &[&round]).unwrap();
            assert_eq!(row.get::<_, &str>(0), text, "{}", model.name());
        }
        server.stop();
    }
}
