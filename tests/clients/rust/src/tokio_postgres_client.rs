//! tokio-postgres.

use crate::{AUTHORITY, HOW, STRANGER, file, same, url, within};
use futures::{SinkExt, StreamExt, pin_mut};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;
use uuid::Uuid;

/// What the server has said on its own.
type Heard = tokio::sync::mpsc::UnboundedReceiver<String>;

/// A connection, with what the server says on its own.
async fn connect() -> (Client, Heard) {
    let (client, mut connection) = tokio_postgres::connect(&url(), NoTls).await.expect("connect");
    let (heard, listener) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let messages = futures::stream::poll_fn(move |context| connection.poll_message(context));
        pin_mut!(messages);
        while let Some(Ok(message)) = messages.next().await {
            let told = match message {
                AsyncMessage::Notice(notice) => notice.message().to_owned(),
                AsyncMessage::Notification(told) => {
                    format!("{} of {}: {}", told.channel(), told.process_id(), told.payload())
                }
                _ => continue,
            };
            let _ = heard.send(told);
        }
    });
    (client, listener)
}

/// Everything.
pub async fn run() {
    let (mut client, mut heard) = connect().await;
    let start =
        "DROP SCHEMA IF EXISTS client_tokio CASCADE; CREATE SCHEMA client_tokio; SET search_path = client_tokio";
    client.batch_execute(start).await.expect("the schema");
    types(&client).await;
    statements(&client).await;
    transactions(&mut client).await;
    copying(&client).await;
    cancelling(&client).await;
    while heard.try_recv().is_ok() {}
    client.batch_execute("DROP TABLE IF EXISTS nothing").await.expect("a notice");
    same(heard.recv().await.as_deref(), Some("table \"nothing\" does not exist, skipping"), "a notice");
    notifications(&client, &mut heard).await;
    client.batch_execute("DROP SCHEMA client_tokio CASCADE").await.expect("the end");
    encrypted().await;
}

async fn notifications(client: &Client, heard: &mut Heard) {
    let (other, _) = connect().await;
    let pid = |row: tokio_postgres::Row| row.get::<_, i32>(0);
    let own = pid(client.query_one("SELECT pg_backend_pid()", &[]).await.expect("a number"));
    let others = pid(other.query_one("SELECT pg_backend_pid()", &[]).await.expect("a number"));
    client.batch_execute("LISTEN tokio_one").await.expect("LISTEN");
    // To a session that waits for its client.
    other.batch_execute("NOTIFY tokio_one, 'idle'").await.expect("NOTIFY");
    same(within(heard.recv()).await, Some(format!("tokio_one of {others}: idle")), "a notification to who is idle");
    // One that comes with the end of the statement that sent it, and only when it is committed, once.
    client.batch_execute("BEGIN; NOTIFY tokio_one, 'own'; NOTIFY tokio_one, 'own'").await.expect("NOTIFY");
    same(heard.try_recv().ok(), None, "nothing before the commit");
    client.batch_execute("COMMIT").await.expect("COMMIT");
    same(heard.try_recv().ok(), Some(format!("tokio_one of {own}: own")), "a notification with a statement");
    other.batch_execute("BEGIN; NOTIFY tokio_one, 'lost'; ROLLBACK; NOTIFY tokio_one").await.expect("ROLLBACK");
    same(within(heard.recv()).await, Some(format!("tokio_one of {others}: ")), "what is rolled back is not told");
    client.batch_execute("UNLISTEN *").await.expect("UNLISTEN");
    other.batch_execute("NOTIFY tokio_one, 'late'").await.expect("NOTIFY");
    client.batch_execute("SELECT 1").await.expect("a statement");
    same(heard.try_recv().ok(), None, "who listens no more hears nothing");
}

/// What believes one authority alone.
fn believing(authority: &str) -> MakeRustlsConnect {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file(authority)).expect("a certificate")).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions").with_root_certificates(roots);
    MakeRustlsConnect::new(config.with_no_client_auth())
}

async fn encrypted() {
    let config = |host: &str| {
        let mut config: Config = url().parse().expect("an address");
        // The name is what the certificate has to have; the number is where the server is.
        let number = config.get_hosts()[0].clone();
        let Host::Tcp(number) = number else { panic!("a server on TCP is wanted") };
        let port = config.get_ports()[0];
        config = Config::new();
        config.host(host).hostaddr(number.parse().expect("a number")).port(port);
        let of = |name: &str| std::env::var(name).expect("an address");
        config.user(of("PGUSER")).dbname(of("PGDATABASE")).ssl_mode(SslMode::Require);
        config
    };
    let (client, connection) =
        config("localhost").connect(believing(AUTHORITY)).await.expect("an encrypted connection");
    tokio::spawn(connection);
    same(client.query_one(HOW, &[]).await.expect("how").get::<_, String>(0), "TLSv1.3".to_owned(), "encryption");
    // A request to cancel goes the same way.
    let token = client.cancel_token();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        token.cancel_query(believing(AUTHORITY)).await.expect("cancel");
    });
    let error = client.execute("SELECT pg_sleep(30)", &[]).await.expect_err("cancelled");
    same(error.code().cloned(), Some(SqlState::QUERY_CANCELED), "an encrypted request to cancel");
    for (host, authority, what) in
        [("localhost", STRANGER, "another authority"), ("elsewhere", AUTHORITY, "another name")]
    {
        let Err(error) = config(host).connect(believing(authority)).await else { panic!("{what} is believed") };
        let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        same(why.contains("certificate"), true, &format!("{what}: {error} {why}"));
    }
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
    let select =
        client.prepare_typed("SELECT a, b, $1 AS c FROM t WHERE a < $2", &[Type::NUMERIC]).await.expect("typed");
    let columns: Vec<(&str, u32)> =
        select.columns().iter().map(|column| (column.name(), column.type_().oid())).collect();
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
    same(
        shown,
        vec![vec![text("0"), text("ROW 0")], vec![text("1"), text("ROW 1")], vec![None]],
        "the simple protocol",
    );
    let parameters: Vec<&(dyn ToSql + Sync)> = vec![&40];
    let stream = client.query_raw("SELECT a FROM t WHERE a >= $1 ORDER BY a", parameters).await.expect("a stream");
    let found: Vec<i32> = stream.map(|row| row.expect("a row").get::<_, i32>(0)).collect().await;
    same(found, (40..50).collect(), "a stream");
}

async fn transactions(client: &mut Client) {
    let mut transaction = client.transaction().await.expect("begin");
    transaction.execute("DELETE FROM t WHERE a = 1", &[]).await.expect("delete");
    let inner = transaction.savepoint("kept").await.expect("savepoint");
    let error = inner.execute("INSERT INTO t (a, b) VALUES (3, 'x')", &[]).await.expect_err("a value twice");
    let known = error.as_db_error().expect("an error of the server");
    same(known.code().clone(), SqlState::UNIQUE_VIOLATION, "its code");
    same(
        (known.table(), known.constraint(), known.schema()),
        (Some("t"), Some("t_a_key"), Some("client_tokio")),
        "its fields",
    );
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
    let reading =
        client.build_transaction().read_only(true).isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
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
    let stream =
        client.copy_out("COPY (SELECT * FROM copied WHERE a < 2 ORDER BY a) TO STDOUT").await.expect("COPY TO");
    let parts: Vec<Vec<u8>> = stream.map(|part| part.expect("a part").to_vec()).collect().await;
    same(parts.concat(), b"0\trow\\t0\n1\trow\\t1\n".to_vec(), "COPY TO");
    // In binary, both ways.
    client
        .batch_execute("CREATE TABLE binary_copied (a integer, b text, c jsonb, d uuid[], e timestamptz)")
        .await
        .expect("a table");
    let types = [Type::INT4, Type::TEXT, Type::JSONB, Type::UUID_ARRAY, Type::TIMESTAMPTZ];
    let row = |i: i32| {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_micros(1_711_846_800_123_456 + i as u64);
        let uuids = vec![Some(Uuid::from_u128(i as u128)), None];
        ((i % 3 > 0).then_some(i), format!("row {i}"), json!({"i": i}), uuids, moment)
    };
    let sink = client.copy_in("COPY binary_copied FROM STDIN (FORMAT binary)").await.expect("COPY FROM");
    let writer = BinaryCopyInWriter::new(sink, &types);
    pin_mut!(writer);
    for i in 0..500 {
        let (a, b, c, d, e) = row(i);
        writer.as_mut().write(&[&a, &b, &c, &d, &e]).await.expect("a row");
    }
    same(writer.finish().await.expect("its end"), 500, "COPY FROM in binary");
    let out = client
        .copy_out("COPY (SELECT * FROM binary_copied ORDER BY e) TO STDOUT (FORMAT binary)")
        .await
        .expect("COPY TO");
    let rows: Vec<_> = BinaryCopyOutStream::new(out, &types).map(|row| row.expect("a row")).collect().await;
    same(rows.len(), 500, "COPY TO in binary");
    for (i, found) in (0..).zip(&rows) {
        same((found.get(0), found.get(1), found.get(2), found.get(3), found.get(4)), row(i), "a row in binary");
    }
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
