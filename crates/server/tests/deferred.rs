//! Checks that wait for the transaction's end, by the extended protocol: what is not in a block is checked at `Sync`; prepared statements
//! follow `ALTER CONSTRAINT`; and the list of what waits moves with its session, and goes with it.

mod support;

use support::server::{MODELS, Server};

const SETUP: &str = "create table holder (id int primary key);
    create table held (id int, holder int constraint held_holder references holder deferrable initially deferred);
    create table twins (k int unique deferrable initially deferred);";

fn code(error: &postgres::Error) -> &str {
    error.code().map_or("", |code| code.code())
}

#[test]
fn what_waits_is_checked_at_the_end_of_its_transaction() {
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            let mut client = server.connect();
            client.batch_execute(SETUP).unwrap();
            let insert = client.prepare("insert into held values ($1, $2)").unwrap();

            // A transaction of its own ends with `Sync`.
            assert_eq!(code(&client.execute(&insert, &[&1, &1]).unwrap_err()), "23503");
            assert_eq!(client.query_one("select count(*) from held", &[]).unwrap().get::<_, i64>(0), 0);

            let mut transaction = client.transaction().unwrap();
            for number in 1..=300 {
                transaction.execute(&insert, &[&number, &number]).unwrap();
            }
            transaction.execute("insert into holder select generate_series(1, 300)", &[]).unwrap();
            transaction.commit().unwrap();

            let mut transaction = client.transaction().unwrap();
            transaction.execute(&insert, &[&301, &301]).unwrap();
            assert_eq!(code(&transaction.commit().unwrap_err()), "23503");
            // The block is over: the next statement is one of its own.
            assert_eq!(client.query_one("select count(*) from held", &[]).unwrap().get::<_, i64>(0), 300);

            let mut transaction = client.transaction().unwrap();
            transaction.execute("insert into twins values (1), (1)", &[]).unwrap();
            let mut inner = transaction.transaction().unwrap();
            inner.execute("delete from twins", &[]).unwrap();
            inner.rollback().unwrap();
            assert_eq!(code(&transaction.commit().unwrap_err()), "23505");

            // The prepared statement is made again.
            client.batch_execute("alter table held alter constraint held_holder not deferrable").unwrap();
            let mut transaction = client.transaction().unwrap();
            assert_eq!(code(&transaction.execute(&insert, &[&302, &302]).unwrap_err()), "23503");
            transaction.rollback().unwrap();

            // A session that goes leaves nothing that waits, and nothing that it has done.
            let mut leaving = server.connect();
            leaving.batch_execute("begin; insert into twins values (7), (7)").unwrap();
            drop(leaving);
            client.execute("insert into twins values (7)", &[]).unwrap();
            server.stop();
        }
    }
}
