//! The bytes of a session with one prepared point select, as PostgreSQL 15 and a client exchange them: the client's must
//! be read as what they mean, and the same answers must come out as the same bytes.

use protocol::backend::{self, DataRow, Field, RowDescription, Status};
use protocol::frontend::{self, Framed, Frontend, Target};
use protocol::startup::{First, FirstFramed, Negotiation};
use protocol::{CancelKey, Format, limits};

const STARTUP: &[u8] = b"\0\0\0\x41\0\x03\0\0user\0postgres\0database\0postgres\0application_name\0golden\0\0";

const STARTED: &[u8] = b"R\0\0\0\x08\0\0\0\0\
    S\0\0\0\x1capplication_name\0golden\0\
    S\0\0\0\x19client_encoding\0UTF8\0\
    S\0\0\0\x17DateStyle\0ISO, MDY\0\
    S\0\0\0\x23standard_conforming_strings\0on\0\
    K\0\0\0\x0c\0\0\x2c\x66\xea\xf0\x2f\xd4\
    Z\0\0\0\x05I";

const PREPARE: &[u8] = b"P\0\0\0\x3bP_0\0select balance, filler, id from t where id = $1;\0\0\0S\0\0\0\x04";

const PREPARED: &[u8] = b"1\0\0\0\x04Z\0\0\0\x05I";

const EXECUTE: &[u8] = b"B\0\0\0\x14\0P_0\0\0\0\0\x01\0\0\0\x011\0\0\
    D\0\0\0\x06P\0\
    E\0\0\0\x09\0\0\0\0\0\
    S\0\0\0\x04";

const EXECUTED: &[u8] = b"2\0\0\0\x04\
    T\0\0\0\x4e\0\x03\
    balance\0\0\0\x40\0\0\x02\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    filler\0\0\0\x40\0\0\x03\0\0\x04\x12\xff\xff\0\0\0\x0c\0\0\
    id\0\0\0\x40\0\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    D\0\0\0\x1d\0\x03\0\0\0\x0242\0\0\0\x08x       \0\0\0\x011\
    C\0\0\0\x0dSELECT 1\0\
    Z\0\0\0\x05I";

const EXECUTE_BINARY: &[u8] = b"B\0\0\0\x16\0P_0\0\0\0\0\x01\0\0\0\x012\0\x01\0\x01E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

const EXECUTED_BINARY: &[u8] = b"2\0\0\0\x04\
    D\0\0\0\x1e\0\x03\xff\xff\xff\xff\0\0\0\x08y       \0\0\0\x04\0\0\0\x02\
    C\0\0\0\x0dSELECT 1\0\
    Z\0\0\0\x05I";

/// The table's rows: balance, filler.
const ROWS: [(Option<i32>, &str); 2] = [(Some(42), "x       "), (None, "y       ")];

fn column<'a>(name: &'a str, column: i16, type_oid: u32, type_size: i16, type_modifier: i32) -> Field<'a> {
    Field { name, table: 16384, column, type_oid, type_size, type_modifier, format: Format::Text }
}

fn number(row: &mut DataRow<'_, Vec<u8>>, number: i32, format: Format) {
    match format {
        Format::Text => row.value(number.to_string().as_bytes()),
        Format::Binary => row.value(&number.to_be_bytes()),
    }
}

/// A server of one table and one statement.
fn serve(mut received: &[u8]) -> Vec<u8> {
    let mut sink = Vec::new();
    let mut bound = (0, Format::Text);
    while !received.is_empty() {
        let Ok(Framed::Message { tag, body, consumed }) = frontend::next(received, limits::LARGE_MAX) else {
            panic!("{received:?}")
        };
        received = &received[consumed..];
        match Frontend::decode(tag, body).unwrap() {
            Frontend::Parse(parse) => {
                assert_eq!((parse.name, parse.types().len()), ("P_0", 0));
                assert_eq!(parse.text, "select balance, filler, id from t where id = $1;");
                backend::parse_complete(&mut sink);
            }
            Frontend::Bind(bind) => {
                assert_eq!((bind.portal, bind.statement), ("", "P_0"));
                let parameters: Vec<_> = bind.parameters().collect();
                let [(Some(id), Format::Text)] = parameters[..] else { panic!("{parameters:?}") };
                bound = (protocol::utf8(id).unwrap().parse::<i32>().unwrap(), bind.results().of(0));
                backend::bind_complete(&mut sink);
            }
            Frontend::Describe(Target::Portal("")) => {
                let mut description = RowDescription::begin(&mut sink);
                description.field(&column("balance", 2, 23, 4, -1));
                description.field(&column("filler", 3, 1042, -1, 12));
                description.field(&column("id", 1, 23, 4, -1));
                description.end();
            }
            Frontend::Execute { portal: "", rows_max: None } => {
                let (id, format) = bound;
                let (balance, filler) = ROWS[id as usize - 1];
                let mut row = DataRow::begin(&mut sink);
                match balance {
                    Some(balance) => number(&mut row, balance, format),
                    None => row.null(),
                }
                row.value(filler.as_bytes());
                number(&mut row, id, format);
                row.end().unwrap();
                backend::command_complete_rows(&mut sink, "SELECT", 1);
            }
            Frontend::Sync => backend::ready_for_query(&mut sink, Status::Idle),
            other => panic!("{other:?}"),
        }
    }
    sink
}

#[test]
fn a_session_begins() {
    let Ok(FirstFramed::Packet { first: First::Startup(startup), consumed: 65 }) = Negotiation::default().next(STARTUP)
    else {
        panic!()
    };
    assert_eq!((startup.user(), startup.database()), ("postgres", "postgres"));
    let mut sink = Vec::new();
    backend::authentication_ok(&mut sink);
    for (name, value) in startup.settings() {
        backend::parameter_status(&mut sink, name, value);
    }
    backend::parameter_status(&mut sink, "client_encoding", "UTF8");
    backend::parameter_status(&mut sink, "DateStyle", "ISO, MDY");
    backend::parameter_status(&mut sink, "standard_conforming_strings", "on");
    backend::backend_key_data(&mut sink, &CancelKey { session: 0x2c66, secret: 0xeaf0_2fd4 });
    backend::ready_for_query(&mut sink, Status::Idle);
    assert_eq!(sink, STARTED);
}

#[test]
fn a_point_select_is_prepared_and_run() {
    assert_eq!(serve(PREPARE), PREPARED);
    assert_eq!(serve(EXECUTE), EXECUTED);
    assert_eq!(serve(EXECUTE_BINARY), EXECUTED_BINARY);
    let all = [PREPARE, EXECUTE, EXECUTE_BINARY].concat();
    assert_eq!(serve(&all), [PREPARED, EXECUTED, EXECUTED_BINARY].concat());
}

#[test]
fn a_newer_client_is_told_what_there_is() {
    let asked = b"\0\0\0\x29\0\x03\0\x02user\0postgres\0_pq_.a\0x\0_pq_.b\0y\0\0";
    let Ok(FirstFramed::Packet { first: First::Startup(startup), .. }) = Negotiation::default().next(asked) else {
        panic!()
    };
    assert!(startup.negotiates());
    let mut sink = Vec::new();
    backend::negotiate_protocol_version(&mut sink, startup.protocol_options());
    assert_eq!(sink, b"v\0\0\0\x1a\0\x03\0\0\0\0\0\x02_pq_.a\0_pq_.b\0");
}
