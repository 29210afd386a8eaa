//! Values larger than a page, as clients bring and fetch them: by `COPY`, as parameters, a portal's rows at a time; and what becomes of them when they
//! are gone.

mod support;

use std::io::{Read, Write};
use support::server::{MODELS, Server};

/// Text that cannot be compressed to nothing, and follows from a seed.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407) | 1;
    let letters = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state % 90) as u8)
    });
    letters.filter(|letter| *letter != '\\').take(length).collect()
}

/// The lengths of the values, by their keys: around what fits a row, around what fits a page, and far beyond.
fn length(key: u64) -> usize {
    match key % 8 {
        0 => 10,
        1 => 1_900 + key as usize,
        2 => 2_000 + key as usize,
        3 => 8_000 + key as usize,
        4 => 8_090,
        5 => 8_180 + key as usize,
        6 => 100_000,
        _ => 700_000,
    }
}

#[test]
fn large_values_come_and_go() {
    for model in MODELS {
        for moving in [false, true] {
            let server = Server::start(model, moving);
            let mut client = server.connect();
            client.batch_execute("create table large (k int8 primary key, note text, body text)").unwrap();
            let mut writer = client.copy_in("copy large from stdin").unwrap();
            for key in 0..40 {
                writeln!(writer, "{key}\tnote\t{}", noise(key, length(key))).unwrap();
            }
            assert_eq!(writer.finish().unwrap(), 40, "{}", model.name());
            for key in 40..60_u64 {
                let body = noise(key, length(key));
                client.execute("insert into large values ($1, 'note', $2)", &[&(key as i64), &body]).unwrap();
            }
            client.execute("update large set note = note || k", &[]).unwrap();
            let mut transaction = client.transaction().unwrap();
            let statement = transaction.prepare("select k, note, body from large order by k").unwrap();
            let portal = transaction.bind(&statement, &[]).unwrap();
            let mut seen = 0;
            loop {
                let rows = transaction.query_portal(&portal, 7).unwrap();
                for row in &rows {
                    let (key, note, body): (i64, &str, &str) = (row.get(0), row.get(1), row.get(2));
                    assert_eq!((key, note), (seen, format!("note{seen}").as_str()), "{}", model.name());
                    assert!(body == noise(key as u64, length(key as u64)), "{}: value {key}", model.name());
                    seen += 1;
                }
                if rows.is_empty() {
                    break;
                }
            }
            transaction.rollback().unwrap();
            assert_eq!(seen, 60, "{}", model.name());
            let mut copied = String::new();
            let by_key = "copy (select k, body from large where k in (5, 6, 7) order by k) to stdout";
            client.copy_out(by_key).unwrap().read_to_string(&mut copied).unwrap();
            let expected: String = (5..8).map(|key| format!("{key}\t{}\n", noise(key, length(key)))).collect();
            assert!(copied == expected, "{}", model.name());
            server.stop();
        }
    }
}

/// Pieces of rows that are gone make room for others: rounds of updates leave a table that is no larger than two rounds made it.
#[test]
fn vacuum_makes_room() {
    let server = Server::start(MODELS[0], false);
    let mut client = server.connect();
    client.batch_execute("create table large (k int primary key, body text)").unwrap();
    let mut sizes = Vec::new();
    for round in 0..24_u64 {
        for key in 0..10 {
            let body = noise(round * 100 + key, 60_000);
            let sql = "insert into large values ($1, $2) on conflict (k) do update set body = excluded.body";
            client.execute(sql, &[&(key as i32), &body]).unwrap();
        }
        // What an abort leaves is taken too.
        let mut transaction = client.transaction().unwrap();
        transaction.execute("update large set body = body || 'never'", &[]).unwrap();
        transaction.rollback().unwrap();
        client.batch_execute("vacuum large").unwrap();
        let size: i64 = client.query_one("select pg_table_size('large')", &[]).unwrap().get(0);
        sizes.push(size);
    }
    // How soon the second round's room is needed depends on when the background takes what is dead. What it comes to does not: a tenth
    // of each round that is lost would be seen in the last rounds.
    let most = sizes.iter().max().unwrap();
    assert!(sizes[0] > 600_000 && 2 * most <= 5 * sizes[0], "it goes on growing: {sizes:?}");
    client.batch_execute("delete from large").unwrap();
    client.batch_execute("vacuum large").unwrap();
    let size: i64 = client.query_one("select pg_table_size('large')", &[]).unwrap().get(0);
    assert!(size < 100_000, "empty pages at the end are given back: {size}");
    server.stop();
}

/// A value of tens of megabytes, and a row that none can hold.
#[test]
fn values_are_as_large_as_memory_allows() {
    let server = Server::start(MODELS[0], false);
    let mut client = server.connect();
    client.batch_execute("create table large (k int primary key, body text, raw bytea)").unwrap();
    let body = noise(7, 48 << 20);
    let raw: Vec<u8> = body.bytes().rev().collect();
    client.execute("insert into large values (1, $1, $2)", &[&body, &raw]).unwrap();
    client.execute("update large set k = 2", &[]).unwrap();
    let row = client.query_one("select body, raw, length(body) from large where k = 2", &[]).unwrap();
    assert!(row.get::<_, &str>(0) == body && row.get::<_, &[u8]>(1) == raw && row.get::<_, i32>(2) == 48 << 20);
    let error =
        client.batch_execute("insert into large values (3, repeat(repeat('x', 1000000), 2000), null)").unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("54000"), "{error}");
    let columns: Vec<String> = (0..700).map(|at| format!("c{at} text default repeat('{at}', 30)")).collect();
    client.batch_execute(&format!("create table wide ({})", columns.join(", "))).unwrap();
    let error = client.batch_execute("insert into wide default values").unwrap_err();
    assert_eq!(error.code().map(|code| code.code()), Some("54000"), "{error}");
    server.stop();
}
