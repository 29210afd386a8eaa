//! tokio-postgres.

use crate::{same, url};
use futures::{SinkExt, StreamExt, pin_mut};
use serde_json::json;
use std::time::{Duration, SystemTime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, NoTls, SimpleQueryMessage};
use uuid::Uuid;

/// A connection, with what the server says on its own.
async fn connect() -> (Client, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let (client, mut connection) = tokio_postgres::connect(&url(), NoTls).await.expect("connect");
    let (heard, listener) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let messages = futures::stream::poll_fn(move |context| connection.poll_message(context));
        pin_mut!(messages);
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notice(notice) = message {
                let _ = heard.send(notice.message().to_owned());
            }
        }
    });
    (client, listener)
}

/// Everything.
pub async fn run() {
    let (mut client, mut heard) = connect().await;
    let start = "DROP SCHEMA IF EXISTS client_tokio CASCADE; CREATE SCHEMA client_tokio; SET search_path = client_tokio";
    client.batch_execute(start).await.expect("the schema");
    types(&client).await;
    statements(&client).await;
    transactions(&mut client).await;
    copying(&client).await;
    cancelling(&client).await;
    while heard.try_recv().is_ok() {}
    client.batch_execute("DROP TABLE IF EXISTS nothing").await.expect("a notice");
    same(heard.recv().await.as_deref(), Some("table \"nothing\" does not exist, skipping"), "a notice");
    client.batch_execute("DROP SCHEMA client_tokio CASCADE").await.expect("the end");
}

async fn types(client: &Client) {
    macro_rules! goes {
        ($($ty:literal $kind:ty = $value:expr;)*) => {$(
            let value: $kind = $value;
            let row = client.query_one(concat!("SELECT $1::", $ty), &[&value]).await.expect($ty);
            same(row.get::<_, $kind>(0), value, $ty);
            let null: Option<$kind> = None;
            let row = client.query_one(concat!("SELECT $1::", $ty), &[&null]).await.expect($ty);
            same(row.get::<_, Option<$kind>>(0), None, $ty);
        )*};
    }
    // Both ways in binary: this driver has no other form.
    goes! {
        "boolean" bool = true;
        "\"char\"" i8 = 65;
        "smallint" i16 = i16::MIN;
        "integer" i32 = i32::MAX;
        "bigint" i64 = i64::MIN;
        "oid" u32 = u32::MAX;
        "real" f32 = 1.5;
        "double precision" f64 = 0.1;
        "text" String = "ünï©ode 漢字 \\ ' \" \t\n".to_owned();
        "varchar(20)" String = String::new();
        "name" String = "a name".to_owned();
        "bytea" Vec<u8> = vec![0, 1, 254, 255];
        "uuid" Uuid = Uuid::from_u128(0xa0eebc99_9c0b_4ef8_bb6d_6bb9bd380a11);
        "jsonb" serde_json::Value = json!({"a": [1, null, "x"], "b": 2.5});
        "json" serde_json::Value = json!([{"c": true}]);
        "timestamptz" SystemTime = SystemTime::UNIX_EPOCH + Duration::from_micros(1_711_846_800_123_456);
        "timestamp" SystemTime = SystemTime::UNIX_EPOCH;
        "integer[]" Vec<Option<i32>> = vec![Some(1), None, Some(-3)];
        "text[]" Vec<String> = ["a", "b c", "\"", "NULL", ""].map(str::to_owned).to_vec();
        "bytea[]" Vec<Vec<u8>> = vec![vec![], vec![0]];
    }
}

async fn statements(client: &Client) {
    client.batch_execute("CREATE TABLE t (id serial PRIMARY KEY, a integer UNIQUE, b text NOT NULL)").await.expect("t");
    let insert = client.prepare("INSERT INTO t (a, b) VALUES ($1, $2) RETURNING id").await.expect("prepare");
    same(insert.params().to_vec(), vec![Type::INT4, Type::TEXT], "parameters");
    // Fifty at once, in one pipeline.
    let rows = futures::future::join_all((0..50).map(|i| {
        let insert = insert.clone();
        async move { client.query_one(&insert, &[&i, &format!("row {i}")]).await.expect("a row").get::<_, i32>(0) }
    }))
    .await;
    same(rows, (1..=50).collect(), "a pipeline");
    let select = client.prepare_typed("SELECT a, b, $1 AS c FROM t WHERE a < $2", &[Type::NUMERIC]).await.expect("typed");
    let columns: Vec<(&str, u32)> = select.columns().iter().map(|column| (column.name(), column.type_().oid())).collect();
    same(columns, vec![("a", 23), ("b", 25), ("c", 1700)], "columns");
    same(client.execute("UPDATE t SET b = upper(b) WHERE a < $1", &[&10]).await.expect("update"), 10, "a count");
    let found = client.simple_query("SELECT a, b FROM t WHERE a < 2 ORDER BY a; SELECT NULL").await.expect("simple");
    let shown: Vec<Vec<Option<String>>> = found
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect()),
            _ => None,
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    same(shown, vec![vec![text("0"), text("ROW 0")], vec![text("1"), text("ROW 1")], vec![None]], "the simple protocol");
    let parameters: Vec<&(dyn ToSql + Sync)> = vec![&40];
    let stream = client.query_raw("SELECT a FROM t WHERE a >= $1 ORDER BY a", parameters).await.expect("a stream");
    let found: Vec<i32> = stream.map(|row| row.expect("a row").get(0)).collect().await;
    same(found, (40..50).collect(), "a stream");
}

async fn transactions(client: &mut Client) {
    let mut transaction = client.transaction().await.expect("begin");
    transaction.execute("DELETE FROM t WHERE a = 1", &[]).await.expect("delete");
    let inner = transaction.savepoint("inner").await.expect("savepoint");
    let error = inner.execute("INSERT INTO t (a, b) VALUES (3, 'x')", &[]).await.expect_err("a value twice");
    let known = error.as_db_error().expect("an error of the server");
    same(known.code().clone(), SqlState::UNIQUE_VIOLATION, "its code");
    same((known.table(), known.constraint(), known.schema()), (Some("t"), Some("t_a_key"), Some("client_tokio")), "its fields");
    same(known.detail(), Some("Key (a)=(3) already exists."), "its detail");
    inner.rollback().await.expect("rollback to");
    let portal = transaction.bind("SELECT a FROM t ORDER BY a", &[]).await.expect("bind");
    let mut sizes = Vec::new();
    loop {
        let rows = transaction.query_portal(&portal, 20).await.expect("a part");
        if rows.is_empty() {
            break;
        }
        sizes.push(rows.len());
    }
    same(sizes, vec![20, 20, 9], "a portal's parts");
    transaction.rollback().await.expect("rollback");
    same(client.query_one("SELECT count(*) FROM t", &[]).await.expect("count").get::<_, i64>(0), 50, "nothing is lost");
    let reading = client.build_transaction().read_only(true).isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
    let transaction = reading.start().await.expect("begin");
    let error = transaction.execute("DELETE FROM t", &[]).await.expect_err("reading only");
    same(error.code().cloned(), Some(SqlState::READ_ONLY_SQL_TRANSACTION), "reading only");
    drop(transaction);
    let error = client.execute("SELECT 1 / $1::int", &[&0]).await.expect_err("a division");
    same(error.code().cloned(), Some(SqlState::DIVISION_BY_ZERO), "a division");
    let error = client.prepare("SELECT nothing FROM t").await.expect_err("no column");
    same(error.code().cloned(), Some(SqlState::UNDEFINED_COLUMN), "no column");
}

async fn copying(client: &Client) {
    client.batch_execute("CREATE TABLE copied (a integer, b text)").await.expect("copied");
    let sink = client.copy_in::<_, std::io::Cursor<Vec<u8>>>("COPY copied FROM STDIN").await.expect("COPY FROM");
    pin_mut!(sink);
    for i in 0..1000 {
        sink.send(std::io::Cursor::new(format!("{i}\trow\\t{i}\n").into_bytes())).await.expect("a row");
    }
    same(sink.finish().await.expect("its end"), 1000, "COPY FROM");
    let stream = client.copy_out("COPY (SELECT * FROM copied WHERE a < 2 ORDER BY a) TO STDOUT").await.expect("COPY TO");
    let parts: Vec<Vec<u8>> = stream.map(|part| part.expect("a part").to_vec()).collect().await;
    same(parts.concat(), b"0\trow\\t0\n1\trow\\t1\n".to_vec(), "COPY TO");
}

async fn cancelling(client: &Client) {
    let token = client.cancel_token();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(NoTls).await.expect("cancel");
    });
    let error = client.execute("SELECT pg_sleep(30)", &[]).await.expect_err("cancelled");
    same(error.code().cloned(), Some(SqlState::QUERY_CANCELED), "a cancelled statement");
    same(client.query_one("SELECT 1", &[]).await.expect("it goes on").get::<_, i32>(0), 1, "the session goes on");
}
