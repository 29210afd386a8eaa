//! sqlx.

use crate::{same, url};
use futures::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgRow};
use sqlx::types::time::{Date, OffsetDateTime, PrimitiveDateTime, Time};
use sqlx::types::{Decimal, Json, Uuid};
use sqlx::{Acquire, Column, Connection, Executor, FromRow, Row, TypeInfo};
use std::str::FromStr;

#[derive(FromRow, PartialEq, Debug)]
struct Record {
    id: i32,
    a: Option<i32>,
    b: String,
}

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
    pool.execute("DROP SCHEMA client_sqlx CASCADE").await.expect("the end");
    pool.close().await;
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
    let row: PgRow = connection.fetch_one(sqlx::raw_sql("SELECT 1::int, 'x'::text, 2.5::numeric, true")).await.expect("raw");
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
    let record = |id, b: &str| Record { id, a: Some(id - 1), b: b.to_owned() };
    same(found, vec![record(2, "row 1"), record(3, "row 2")], "records");
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
}

async fn transactions(connection: &mut PgConnection) {
    let mut transaction = connection.begin().await.expect("begin");
    sqlx::query("DELETE FROM t WHERE a = 1").execute(&mut *transaction).await.expect("delete");
    let mut inner = transaction.begin().await.expect("savepoint");
    let error = sqlx::query("INSERT INTO t (a, b) VALUES (3, 'x')").execute(&mut *inner).await.expect_err("a value twice");
    let known = error.as_database_error().expect("an error of the server");
    same((known.is_unique_violation(), known.constraint(), known.table()), (true, Some("t_a_key"), Some("t")), "an error");
    inner.rollback().await.expect("rollback to");
    transaction.commit().await.expect("commit");
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM t").fetch_one(&mut *connection).await.expect("count");
    same(count, 49, "the outer transaction holds");
    drop(connection.begin().await.expect("begin"));
    connection.ping().await.expect("a transaction that was dropped is undone");
    let error = sqlx::query("SELECT nothing").execute(&mut *connection).await.expect_err("no column");
    same(error.as_database_error().and_then(|known| known.code()).as_deref(), Some("42703"), "an error's code");
}
