//! sqlx.

use crate::{AUTHORITY, HOW, STRANGER, file, same, url, within};
use futures::TryStreamExt;
use sqlx::postgres::{
    PgConnectOptions, PgConnection, PgListener, PgPool, PgPoolCopyExt, PgPoolOptions, PgRow, PgSslMode,
};
use sqlx::types::time::{Date, OffsetDateTime, PrimitiveDateTime, Time};
use sqlx::types::{Decimal, Json, Uuid};
use sqlx::{Column, Connection, Executor, Row, TypeInfo};
use std::str::FromStr;

/// A row of the table: the number, and what may be null.
type Record = (i32, Option<i32>, String);

/// Everything.
pub async fn run() {
    let options = PgConnectOptions::from_str(&url()).expect("an address").options([("search_path", "client_sqlx")]);
    let pool = PgPoolOptions::new().max_connections(4).connect_with(options).await.expect("connect");
    let start = "DROP SCHEMA IF EXISTS client_sqlx CASCADE; CREATE SCHEMA client_sqlx;
        CREATE TABLE t (id serial PRIMARY KEY, a integer UNIQUE, b text NOT NULL)";
    pool.execute(start).await.expect("the schema");
    let mut connection = pool.acquire().await.expect("a connection");
    types(&mut connection).await;
    statements(&mut connection).await;
    transactions(&mut connection).await;
    drop(connection);
    let found = futures::future::join_all((0..40).map(|i| {
        let pool = pool.clone();
        async move { sqlx::query_scalar::<_, i32>("SELECT $1 * 2").bind(i).fetch_one(&pool).await.expect("a query") }
    }))
    .await;
    same(found, (0..40).map(|i| i * 2).collect(), "a pool");
    copying(&pool).await;
    notifications(&pool).await;
    pool.execute("DROP SCHEMA client_sqlx CASCADE").await.expect("the end");
    pool.close().await;
    encrypted().await;
}

async fn copying(pool: &PgPool) {
    let mut sink = pool.copy_in_raw("COPY t (a, b) FROM STDIN").await.expect("COPY FROM");
    sink.send(&b"1000\tone\n1001\ttw"[..]).await.expect("a part");
    sink.send(&b"o\n"[..]).await.expect("another part");
    same(sink.finish().await.expect("its end"), 2, "COPY FROM");
    let out =
        pool.copy_out_raw("COPY (SELECT a, b FROM t WHERE a >= 1000 ORDER BY a) TO STDOUT").await.expect("COPY TO");
    let parts: Vec<_> = out.try_collect().await.expect("its parts");
    same(parts.concat(), b"1000\tone\n1001\ttwo\n".to_vec(), "COPY TO");
    let sink = pool.copy_in_raw("COPY t (a, b) FROM STDIN").await.expect("COPY FROM");
    let error = sink.abort("no more").await;
    same(error.is_ok(), true, "a client that gives up");
}

async fn notifications(pool: &PgPool) {
    let mut listener = PgListener::connect_with(pool).await.expect("a listener");
    listener.listen_all(["sqlx_one", "Sqlx Two"]).await.expect("LISTEN");
    // Nobody asks for anything meanwhile: the server has to send it by itself.
    for (channel, payload) in [("sqlx_one", "first"), ("Sqlx Two", "")] {
        let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(channel).bind(payload);
        notify.execute(pool).await.expect("pg_notify");
        let heard = within(listener.recv()).await.expect("a notification");
        same((heard.channel(), heard.payload()), (channel, payload), "a notification");
    }
    listener.unlisten("sqlx_one").await.expect("UNLISTEN");
    pool.execute("NOTIFY sqlx_one; NOTIFY \"Sqlx Two\", 'last'").await.expect("NOTIFY");
    same(within(listener.recv()).await.expect("the last").payload(), "last", "a channel that is heard no more");
}

async fn encrypted() {
    let options = |host: &str, authority: &str| {
        let options = PgConnectOptions::from_str(&url()).expect("an address").host(host);
        options.ssl_mode(PgSslMode::VerifyFull).ssl_root_cert(file(authority))
    };
    let mut connection =
        PgConnection::connect_with(&options("localhost", AUTHORITY)).await.expect("an encrypted connection");
    same(
        sqlx::query_scalar::<_, String>(HOW).fetch_one(&mut connection).await.expect("how"),
        "TLSv1.3".to_owned(),
        "encryption",
    );
    connection.close().await.expect("its end");
    for (host, authority, what) in
        [("localhost", STRANGER, "another authority"), ("127.0.0.1", AUTHORITY, "another name")]
    {
        let error = PgConnection::connect_with(&options(host, authority)).await.expect_err(what);
        same(matches!(error, sqlx::Error::Tls(_) | sqlx::Error::Io(_)), true, what);
    }
}

async fn types(connection: &mut PgConnection) {
    macro_rules! goes {
        ($($ty:literal $kind:ty = $value:expr;)*) => {$(
            let value: $kind = $value;
            let query = sqlx::query_scalar::<_, $kind>(concat!("SELECT $1::", $ty)).bind(value.clone());
            same(query.fetch_one(&mut *connection).await.expect($ty), value, $ty);
        )*};
    }
    goes! {
        "boolean" bool = true;
        "smallint" i16 = i16::MIN;
        "integer" i32 = i32::MAX;
        "bigint" i64 = i64::MIN;
        "real" f32 = 1.5;
        "double precision" f64 = 0.1;
        "numeric" Decimal = Decimal::from_str("-12345678901234567890.01234567").expect("a number");
        "text" String = "ünï©ode 漢字".to_owned();
        "bytea" Vec<u8> = vec![0, 1, 254, 255];
        "uuid" Uuid = Uuid::from_u128(0xa0eebc99_9c0b_4ef8_bb6d_6bb9bd380a11);
        "jsonb" Json<Vec<i32>> = Json(vec![1, 2]);
        "date" Date = Date::from_ordinal_date(2024, 60).expect("a date");
        "time" Time = Time::from_hms_micro(23, 59, 59, 999_999).expect("a time");
        "timestamp" PrimitiveDateTime = PrimitiveDateTime::new(Date::from_ordinal_date(1999, 365).expect("a date"), Time::MIDNIGHT);
        "timestamptz" OffsetDateTime = OffsetDateTime::from_unix_timestamp(1_711_846_800).expect("a time");
        "integer[]" Vec<Option<i32>> = vec![Some(1), None];
        "text[]" Vec<String> = vec![String::new(), "NULL".to_owned()];
        "text" Option<String> = None;
    }
    // Rows of the simple protocol come as texts.
    let row: PgRow =
        connection.fetch_one(sqlx::raw_sql("SELECT 1::int, 'x'::text, 2.5::numeric, true")).await.expect("raw");
    let decoded = (row.get::<i32, _>(0), row.get::<String, _>(1), row.get::<Decimal, _>(2), row.get::<bool, _>(3));
    same(decoded, (1, "x".to_owned(), Decimal::from_str("2.5").expect("a number"), true), "texts");
}

async fn statements(connection: &mut PgConnection) {
    for i in 0..50 {
        let insert = sqlx::query("INSERT INTO t (a, b) VALUES ($1, $2)").bind(i).bind(format!("row {i}"));
        same(insert.execute(&mut *connection).await.expect("a row").rows_affected(), 1, "a row");
    }
    let found: Vec<Record> = sqlx::query_as("SELECT id, a, b FROM t WHERE a = ANY($1) ORDER BY a")
        .bind(vec![1, 2])
        .fetch_all(&mut *connection)
        .await
        .expect("records");
    same(found, vec![(2, Some(1), "row 1".to_owned()), (3, Some(2), "row 2".to_owned())], "records");
    // What its macros ask at compile time: the types of parameters and columns, and which columns may be null.
    let described = connection.describe("SELECT id, a, b, id + $1 AS c FROM t").await.expect("describe");
    let columns: Vec<(&str, &str)> =
        described.columns().iter().map(|column| (column.name(), column.type_info().name())).collect();
    same(columns, vec![("id", "INT4"), ("a", "INT4"), ("b", "TEXT"), ("c", "INT4")], "described columns");
    let nullable: Vec<Option<bool>> = (0..4).map(|at| described.nullable(at)).collect();
    same(nullable, vec![Some(false), Some(true), Some(false), None], "which may be null");
    let mut stream = sqlx::query("SELECT a FROM t ORDER BY a").fetch(&mut *connection);
    let mut sum = 0;
    while let Some(row) = stream.try_next().await.expect("a row") {
        sum += row.get::<i32, _>("a");
    }
    drop(stream);
    same(sum, 49 * 50 / 2, "a stream");
    // A plan as a value of JSON; the statement says so before it is executed.
    let plan = sqlx::query_scalar::<_, Json<serde_json::Value>>("EXPLAIN (FORMAT JSON) SELECT * FROM t WHERE id = 1");
    let plan = plan.fetch_one(&mut *connection).await.expect("EXPLAIN").0;
    same(plan[0]["Plan"]["Relation Name"].as_str(), Some("t"), "a plan");
}

async fn transactions(connection: &mut PgConnection) {
    let mut transaction = Connection::begin(&mut *connection).await.expect("begin");
    sqlx::query("DELETE FROM t WHERE a = 1").execute(&mut *transaction).await.expect("delete");
    let mut inner = Connection::begin(&mut *transaction).await.expect("savepoint");
    let error =
        sqlx::query("INSERT INTO t (a, b) VALUES (3, 'x')").execute(&mut *inner).await.expect_err("a value twice");
    let known = error.as_database_error().expect("an error of the server");
    same(
        (known.is_unique_violation(), known.constraint(), known.table()),
        (true, Some("t_a_key"), Some("t")),
        "an error",
    );
    inner.rollback().await.expect("rollback to");
    transaction.commit().await.expect("commit");
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM t").fetch_one(&mut *connection).await.expect("count");
    same(count, 49, "the outer transaction holds");
    drop(Connection::begin(&mut *connection).await.expect("begin"));
    connection.ping().await.expect("a transaction that was dropped is undone");
    let error = sqlx::query("SELECT nothing").execute(&mut *connection).await.expect_err("no column");
    same(error.as_database_error().and_then(|known| known.code()).as_deref(), Some("42703"), "an error's code");
}
