//! `COPY` in all its forms, with the data of real clients. What is expected is what PostgreSQL answers: `AGAINST=5432` asks the one on that
//! port instead.

mod support;

use postgres::Client;
use std::io::{BufRead, Read, Write};
use support::server::{MODELS, Server};

/// Copies data in, cut into pieces of that size; answers the rows, or the SQLSTATE.
fn copy_in(client: &mut Client, text: &str, data: &[u8], size: usize) -> Result<u64, String> {
    let code = |error: postgres::Error| match error.code() {
        Some(code) => code.code().to_owned(),
        None => panic!("{text}: {error}"),
    };
    let mut writer = client.copy_in(text).map_err(code)?;
    for piece in data.chunks(size) {
        // An error comes at the end at the latest.
        if writer.write_all(piece).and_then(|()| writer.flush()).is_err() {
            break;
        }
    }
    writer.finish().map_err(code)
}

fn copy_out(client: &mut Client, text: &str) -> Result<Vec<u8>, String> {
    let mut data = Vec::new();
    let code = |error: postgres::Error| error.code().map_or(error.to_string(), |code| code.code().to_owned());
    client.copy_out(text).map_err(code)?.read_to_end(&mut data).map_err(|error| error.to_string())?;
    Ok(data)
}

fn on_servers(test: impl Fn(&Server)) {
    if let Some(port) = std::env::var("AGAINST").ok().and_then(|port| port.parse().ok()) {
        return test(&Server::beside(port));
    }
    for model in MODELS {
        let server = Server::start(model, false);
        test(&server);
        server.stop();
    }
}

/// What a statement does with data, and what is in the table then.
type Case = (&'static str, &'static str, Result<u64, &'static str>, &'static str);

const CASES: &[Case] = &[
    // Line ends.
    ("copy t from stdin", "1\ta\n2\tb\n", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\r\n2\tb\r\n", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\r2\tb\r", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\r\n2\tb", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\n2\tb\r\n", Err("22P04"), ""),
    ("copy t from stdin", "1\ta\r\n2\tb\n", Err("22P04"), ""),
    ("copy t from stdin", "1\ta\r2\tb\n", Err("22P04"), ""),
    ("copy t from stdin (format csv)", "1,\"a\nb\"\r\n2,c\r\n", Ok(2), "1,a⏎b;2,c"),
    ("copy t from stdin (format csv)", "1,a\r\n2,c\n", Err("22P04"), ""),
    ("copy t from stdin (format csv)", "1,a\n2,\"c\r\"\n", Ok(2), "1,a;2,c␍"),
    // Columns that are forced.
    ("copy t from stdin (format csv, force_not_null (b))", "1,\n2,x\n", Ok(2), "1,;2,x"),
    ("copy t from stdin csv force not null b", "1,\n", Ok(1), "1,"),
    ("copy t from stdin (format csv, force_null (b))", "1,\"\"\n2,\n", Ok(2), "1,∅;2,∅"),
    ("copy t from stdin (format csv, force_null (b), null 'none')", "1,\"none\"\n2,none\n3,\n", Ok(3), "1,∅;2,∅;3,"),
    ("copy t from stdin (format csv, force_null (b), force_not_null (b))", "1,\"\"\n2,\n", Ok(2), "1,∅;2,"),
    ("copy t from stdin (format csv, force_null (c))", "", Err("42703"), ""),
    ("copy t (a) from stdin (format csv, force_null (b))", "", Err("42P10"), ""),
    ("copy t from stdin (force_null (b))", "", Err("0A000"), ""),
    ("copy t from stdin (format csv, force_quote (b))", "", Err("0A000"), ""),
    ("copy t from stdin (format csv, null '\"')", "", Err("0A000"), ""),
    // The mark of the end, wherever it stands in text, and at the beginning of a line of CSV.
    ("copy t from stdin", "1\ta\n\\.\n2\tb\n", Ok(1), "1,a"),
    ("copy t from stdin", "1\ta\n2\tb\\.\n3\tc\n", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\r\n2\tb\\.\r\nx", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\r2\tb\\.\rx", Ok(2), "1,a;2,b"),
    ("copy t from stdin", "1\ta\\\\.\n2\tb\n", Ok(2), "1,a\\.;2,b"),
    ("copy t from stdin", "1\ta\\.b\n", Err("22P04"), ""),
    ("copy t from stdin", "1\ta\n\\.", Err("22P04"), ""),
    ("copy t from stdin", "1\ta\n2\tb\\.\r\n", Err("22P04"), ""),
    ("copy t from stdin", "1\ta\r\n2\tb\\.\n", Err("22P04"), ""),
    ("copy t from stdin", "1\\.\n", Err("22P04"), ""),
    ("copy t from stdin (header)", "a\tb\\.\n1\ta\n", Ok(0), ""),
    ("copy t from stdin csv", "1,a\n\\.\n2,b\n", Ok(1), "1,a"),
    ("copy t from stdin csv", "1,a\\.\n2,\\.\n", Ok(2), "1,a\\.;2,\\."),
    ("copy t from stdin csv", "1,a\n\\.", Err("22P04"), ""),
    ("copy t from stdin csv", "1,a\n\\.b\n", Err("22P04"), ""),
    ("copy t from stdin csv", "1,a\n\\.\r\n", Err("22P04"), ""),
    ("copy t from stdin csv", "1,\"a\n\\.\n\"\n", Ok(1), "1,a⏎\\.⏎"),
    // Conditions.
    ("copy t from stdin where a > 1", "1\ta\n2\tb\n3\tc\n", Ok(2), "2,b;3,c"),
    ("copy t from stdin where t.b like '%x%' or b is null -- a comment", "1\tax\n2\tb\n3\t\\N\n", Ok(2), "1,ax;3,∅"),
    ("copy t from stdin (format csv, header) where a % 2 = 0", "a,b\n1,a\n2,b\n", Ok(1), "2,b"),
    ("copy t from stdin where false", "1\ta\n", Ok(0), ""),
    ("copy t from stdin where a > (select 1)", "", Err("0A000"), ""),
    ("copy t from stdin where count(*) > 1", "", Err("42803"), ""),
    ("copy t from stdin where c > 1", "", Err("42703"), ""),
    ("copy t from stdin where a", "", Err("42804"), ""),
    ("copy t from stdin where a > 1", "1\ta\nx\tb\n", Err("22P02"), ""),
    // Headers.
    ("copy t from stdin (format csv, header match)", "a,b\n1,x\n", Ok(1), "1,x"),
    ("copy t from stdin (header match)", "a\tb\n1\tx\n", Ok(1), "1,x"),
    ("copy t from stdin (format csv, header match)", "a,c\n1,x\n", Err("22P04"), ""),
    ("copy t from stdin (format csv, header match)", "a\n1,x\n", Err("22P04"), ""),
    ("copy t from stdin (header match)", "", Err("22P04"), ""),
    ("copy t from stdin csv header", "", Ok(0), ""),
    ("copy t from stdin csv header", "a\0,b\n1,x\n", Err("22021"), ""),
    ("copy t from stdin (null '')", "1\t\\", Ok(1), "1,∅"),
    ("copy t from stdin", "1\ta\\", Ok(1), "1,a"),
    // The binary format refuses what is of text.
    ("copy t from stdin (format binary, delimiter ',')", "", Err("42601"), ""),
    ("copy t from stdin (format binary, null 'x')", "", Err("42601"), ""),
    ("copy t from stdin (format binary)", "1\ta\n", Err("22P04"), ""),
    ("copy t from stdin (format binary)", "PGCOPY\n", Err("22P04"), ""),
    ("copy t from stdin (format binary, format csv)", "", Err("42601"), ""),
];

#[test]
fn data_comes_in_as_postgresql_takes_it() {
    on_servers(|server| {
        let mut client = server.connect();
        client.batch_execute("create table t (a int, b text)").unwrap();
        for &(text, data, expected, rows) in CASES {
            for size in [1, 7, 1000] {
                client.batch_execute("truncate t").unwrap();
                // This client library is of no use after a COPY that was refused, also with PostgreSQL.
                let mut copying = server.connect();
                let got = copy_in(&mut copying, text, data.as_bytes(), size);
                assert_eq!(got, expected.map_err(str::to_owned), "{text}: {data:?} in pieces of {size}");
                let found = client
                    .query("select a, b from t order by a", &[])
                    .unwrap_or_else(|error| panic!("{text}: {data:?} in pieces of {size}: {error}"));
                let found: Vec<String> = found
                    .iter()
                    .map(|row| {
                        let text: Option<String> = row.get(1);
                        let text = text.map_or("∅".to_owned(), |text| text.replace('\n', "⏎").replace('\r', "␍"));
                        format!("{},{text}", row.get::<_, i32>(0))
                    })
                    .collect();
                assert_eq!(found.join(";"), rows, "{text}: {data:?}");
            }
        }
        client.batch_execute("drop table t").unwrap();
    });
}

#[test]
fn data_goes_out_as_postgresql_gives_it() {
    on_servers(|server| {
        let mut client = server.connect();
        client
            .batch_execute("create table o (a int, b text); insert into o values (1, 'x'), (2, null), (3, '')")
            .unwrap();
        for (text, expected) in [
            ("copy o to stdout (format csv, force_quote (b))", Ok("1,\"x\"\n2,\n3,\"\"\n")),
            ("copy o to stdout (format csv, force_quote *, header)", Ok("a,b\n\"1\",\"x\"\n\"2\",\n\"3\",\"\"\n")),
            ("copy o to stdout csv force quote a, b", Ok("\"1\",\"x\"\n\"2\",\n\"3\",\"\"\n")),
            ("copy (select b, a from o where a = 1) to stdout (format csv, force_quote (a))", Ok("x,\"1\"\n")),
            ("copy o to stdout (header, null 'none')", Ok("a\tb\n1\tx\n2\tnone\n3\t\n")),
            ("copy o (b) to stdout (format csv, force_quote (a))", Err("42P10")),
            ("copy o to stdout (force_quote (b))", Err("0A000")),
            ("copy o to stdout (format csv, force_null (b))", Err("0A000")),
            ("copy o to stdout (format binary, header)", Err("0A000")),
            ("copy (insert into o values (4, 'four') returning a) to stdout", Ok("4\n")),
        ] {
            let got = copy_out(&mut client, text).map(|data| String::from_utf8(data).unwrap());
            assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        client.batch_execute("drop table o").unwrap();
    });
}

#[test]
fn binary_data_goes_out_and_comes_in_again() {
    on_servers(|server| {
        let mut client = server.connect();
        client
            .batch_execute(
                "create table from_here (a int, b text, c numeric(8, 3), d timestamptz, e float8[], f bytea, g boolean, h jsonb); \
                 create table to_here (a int default 7, b text check (b <> 'bad'), c numeric(8, 3), d timestamptz, e float8[], \
                 f bytea, g boolean, h jsonb); \
                 insert into from_here select g, 'text ' || g, g * 1.125, timestamptz '2024-02-29 12:00+00' + g * interval '1 hour', \
                 array[g, g / 2.0], decode('00ff', 'hex'), g % 2 = 0, '{\"a\": [1, null]}' from generate_series(1, 500) g; \
                 insert into from_here (a) values (501)",
            )
            .unwrap();
        let data = copy_out(&mut client, "copy from_here to stdout (format binary)").unwrap();
        assert!(data.starts_with(b"PGCOPY\n\xFF\r\n\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\x04\0\0\0\x01"), "{:?}", &data[..40]);
        assert!(data.ends_with(&[0xFF, 0xFF]));
        // The first message has the header and a row, the last is the end alone; without rows there is but one.
        let messages = |client: &mut Client, text: &str| -> Vec<usize> {
            let mut reader = client.copy_out(text).unwrap();
            let mut sizes = Vec::new();
            while let Some(size) = Some(reader.fill_buf().unwrap().len()).filter(|size| *size > 0) {
                sizes.push(size);
                reader.consume(size);
            }
            sizes
        };
        assert_eq!(messages(&mut client, "copy (values (1), (2)) to stdout (format binary)"), [29, 10, 2]);
        assert_eq!(messages(&mut client, "copy (select 1 where false) to stdout (format binary)"), [21]);
        for size in [3, 1000, 1 << 20] {
            client.batch_execute("truncate to_here").unwrap();
            assert_eq!(copy_in(&mut client, "copy to_here from stdin (format binary)", &data, size), Ok(501));
            let differ = "select (select count(*) from (table from_here except table to_here) a) + \
                          (select count(*) from (table to_here except table from_here) b)";
            assert_eq!(client.query_one(differ, &[]).unwrap().get::<_, i64>(0), 0);
        }
        // Some columns, the old spelling, a condition; a row too wide, cut short, with more behind it, or of another type.
        client.batch_execute("truncate to_here").unwrap();
        let some = copy_out(&mut client, "copy (select a, b from from_here order by a limit 3) to stdout with binary")
            .unwrap();
        assert_eq!(copy_in(&mut client, "copy binary to_here (a, b) from stdin where a <> 2", &some, 9), Ok(2));
        let code = |code: &str| Err(code.to_owned());
        assert_eq!(copy_in(&mut client, "copy to_here (a) from stdin (format binary)", &some, 9), code("22P04"));
        assert_eq!(
            copy_in(&mut client, "copy to_here (a, b) from stdin (format binary)", &some[..45], 9),
            code("22P04")
        );
        let more = [&some[..], b"more"].concat();
        assert_eq!(copy_in(&mut client, "copy to_here (a, b) from stdin (format binary)", &more, 9), code("22P04"));
        assert_eq!(copy_in(&mut client, "copy to_here (d, b) from stdin (format binary)", &some, 9), code("08P01"));
        // Without its end it is whole all the same.
        assert_eq!(
            copy_in(&mut client, "copy to_here (a, b) from stdin (format binary)", &some[..some.len() - 2], 9),
            Ok(3)
        );
        let rows: i64 = client.query_one("select count(*) from to_here", &[]).unwrap().get(0);
        assert_eq!(rows, 5);
        client.batch_execute("drop table from_here, to_here").unwrap();
    });
}
