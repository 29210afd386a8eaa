//! Another implementation of the protocol as the judge: what the `postgres` crates write must be read here, what is
//! written here must be read there, and their SCRAM client must get in.

use base::{Error, sqlstate};
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend as client;
use protocol::auth::{Exchange, MECHANISM, MECHANISM_PLUS, Progress, Verifier};
use protocol::backend::{self, CopyRow, DataRow, Field, Level, RowDescription, Status};
use protocol::frontend::{self, Framed, Frontend, Target};
use protocol::startup::{First, FirstFramed, Negotiation};
use protocol::{CancelKey, Format, limits};

/// What a client's bytes are to the server: exactly one message.
fn read(bytes: &[u8]) -> Frontend<'_> {
    match frontend::next(bytes, limits::LARGE_MAX) {
        Ok(Framed::Message { tag, body, consumed }) if consumed == bytes.len() => Frontend::decode(tag, body).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn written(write: impl FnOnce(&mut BytesMut)) -> BytesMut {
    let mut buf = BytesMut::new();
    write(&mut buf);
    buf
}

/// What the server's bytes are to a client: exactly one message.
fn told(write: impl FnOnce(&mut Vec<u8>)) -> Message {
    let mut sink = Vec::new();
    write(&mut sink);
    let mut buf = BytesMut::from(&sink[..]);
    let message = Message::parse(&mut buf).unwrap().expect("a whole message");
    assert!(buf.is_empty());
    message
}

macro_rules! told {
    ($message:ident, $write:expr) => {
        match told($write) {
            Message::$message(body) => body,
            _ => panic!("not a {}", stringify!($message)),
        }
    };
    ($message:ident = $write:expr) => {
        assert!(matches!(told($write), Message::$message), stringify!($message))
    };
}

#[test]
fn first_packets_of_a_client_are_read() {
    let first = |bytes: &BytesMut| match Negotiation::default().next(bytes) {
        Ok(FirstFramed::Packet { first: First::Ssl, consumed }) if consumed == bytes.len() => "ssl".to_owned(),
        Ok(FirstFramed::Packet { first: First::Cancel(key), consumed }) if consumed == bytes.len() => {
            assert!(key.matches(&CancelKey { session: -5, secret: 0xffff_fffe }));
            "cancel".to_owned()
        }
        Ok(FirstFramed::Packet { first: First::Startup(startup), consumed }) if consumed == bytes.len() => {
            let settings: Vec<_> = startup.settings().collect();
            format!("{} {} {:?} {settings:?}", startup.user(), startup.database(), startup.options())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(first(&written(client::ssl_request)), "ssl");
    assert_eq!(first(&written(|buf| client::cancel_request(-5, -2, buf))), "cancel");
    let parameters = [("client_encoding", "UTF8"), ("user", "häns"), ("database", "d b"), ("options", "-c a=b")];
    let startup = written(|buf| client::startup_message(parameters, buf).unwrap());
    assert_eq!(first(&startup), "häns d b \"-c a=b\" [(\"client_encoding\", \"UTF8\")]");
}

#[test]
fn messages_of_a_client_are_read() {
    let bytes = written(|buf| client::query("select 'ü'", buf).unwrap());
    assert!(matches!(read(&bytes), Frontend::Query("select 'ü'")));

    let bytes = written(|buf| client::parse("s", "select $1", [23, u32::MAX], buf).unwrap());
    let Frontend::Parse(parse) = read(&bytes) else { panic!() };
    assert_eq!((parse.name, parse.text, parse.types().collect::<Vec<_>>()), ("s", "select $1", vec![23, u32::MAX]));

    let bytes = written(|buf| client::describe(b'S', "s", buf).unwrap());
    assert!(matches!(read(&bytes), Frontend::Describe(Target::Statement("s"))));
    let bytes = written(|buf| client::close(b'P', "p", buf).unwrap());
    assert!(matches!(read(&bytes), Frontend::Close(Target::Portal("p"))));
    let bytes = written(|buf| client::execute("p", 10, buf).unwrap());
    assert!(matches!(read(&bytes), Frontend::Execute { portal: "p", rows_max: Some(10) }));
    let bytes = written(|buf| client::execute("", 0, buf).unwrap());
    assert!(matches!(read(&bytes), Frontend::Execute { portal: "", rows_max: None }));

    let bytes = written(|buf| client::CopyData::new(&b"1\t\0\n"[..]).unwrap().write(buf));
    assert!(matches!(read(&bytes), Frontend::CopyData(b"1\t\0\n")));
    let bytes = written(|buf| client::copy_fail("no", buf).unwrap());
    assert!(matches!(read(&bytes), Frontend::CopyFail(b"no\0")));
    assert!(matches!(read(&written(client::copy_done)), Frontend::CopyDone));
    assert!(matches!(read(&written(client::sync)), Frontend::Sync));
    assert!(matches!(read(&written(client::flush)), Frontend::Flush));
    assert!(matches!(read(&written(client::terminate)), Frontend::Terminate));
}

#[test]
fn a_client_s_values_are_read() {
    let values: [Option<&[u8]>; 3] = [Some(b"42"), None, Some(b"")];
    for (formats, results) in [(vec![], vec![1]), (vec![1], vec![]), (vec![0, 1, 0], vec![1, 0])] {
        let mut bytes = BytesMut::new();
        let written = client::bind(
            "p",
            "s",
            formats.iter().copied(),
            values,
            |value, buf| match value {
                None => Ok(IsNull::Yes),
                Some(value) => {
                    buf.extend_from_slice(value);
                    Ok(IsNull::No)
                }
            },
            results.iter().copied(),
            &mut bytes,
        );
        assert!(written.is_ok());
        let Frontend::Bind(bind) = read(&bytes) else { panic!() };
        assert_eq!((bind.portal, bind.statement, bind.results().len()), ("p", "s", results.len()));
        for (at, (value, format)) in bind.parameters().enumerate() {
            let code = formats.get(at).or(formats.first()).copied().unwrap_or(0);
            assert_eq!((value, format as i16), (values[at], code));
        }
        for at in 0..2 {
            let code = results.get(at).or(results.first()).copied().unwrap_or(0);
            assert_eq!(bind.results().of(at) as i16, code);
        }
    }
}

#[test]
fn messages_of_the_server_are_read() {
    told!(AuthenticationOk = backend::authentication_ok);
    told!(ParseComplete = backend::parse_complete);
    told!(BindComplete = backend::bind_complete);
    told!(CloseComplete = backend::close_complete);
    told!(NoData = backend::no_data);
    told!(PortalSuspended = backend::portal_suspended);
    told!(EmptyQueryResponse = backend::empty_query_response);
    told!(CopyDone = backend::copy_done);

    let body = told!(AuthenticationSasl, |sink| backend::authentication_sasl(sink, true));
    assert_eq!(body.mechanisms().collect::<Vec<_>>().unwrap(), [MECHANISM_PLUS, MECHANISM]);
    let body = told!(AuthenticationSaslContinue, |sink| backend::authentication_sasl_continue(sink, b"r=a"));
    assert_eq!(body.data(), b"r=a");
    let body = told!(AuthenticationSaslFinal, |sink| backend::authentication_sasl_final(sink, b"v=a"));
    assert_eq!(body.data(), b"v=a");

    let key = CancelKey { session: 77, secret: 0xffff_fffe };
    let body = told!(BackendKeyData, |sink| backend::backend_key_data(sink, &key));
    assert_eq!((body.process_id(), body.secret_key()), (77, -2));
    let body = told!(ParameterStatus, |sink| backend::parameter_status(sink, "TimeZone", "Etc/UTC"));
    assert_eq!((body.name().unwrap(), body.value().unwrap()), ("TimeZone", "Etc/UTC"));
    for (status, byte) in [(Status::Idle, b'I'), (Status::InTransaction, b'T'), (Status::Failed, b'E')] {
        let body = told!(ReadyForQuery, |sink| backend::ready_for_query(sink, status));
        assert_eq!(body.status(), byte);
    }
    let body = told!(CommandComplete, |sink| backend::command_complete(sink, "BEGIN"));
    assert_eq!(body.tag().unwrap(), "BEGIN");
    let body = told!(CommandComplete, |sink| backend::command_complete_rows(sink, "INSERT 0", 205));
    assert_eq!(body.tag().unwrap(), "INSERT 0 205");
    let body = told!(ParameterDescription, |sink| backend::parameter_description(sink, [23, 1043].into_iter()));
    assert_eq!(body.parameters().collect::<Vec<_>>().unwrap(), [23, 1043]);
    let body = told!(NotificationResponse, |sink| backend::notification_response(sink, 9, "c", "päy"));
    assert_eq!((body.process_id(), body.channel().unwrap(), body.message().unwrap()), (9, "c", "päy"));
}

#[test]
fn rows_of_the_server_are_read() {
    let fields = [
        Field {
            name: "id",
            table: 16385,
            column: 1,
            type_oid: 23,
            type_size: 4,
            type_modifier: -1,
            format: Format::Binary,
        },
        Field {
            name: "näme",
            table: 0,
            column: 0,
            type_oid: 1043,
            type_size: -1,
            type_modifier: 36,
            format: Format::Text,
        },
    ];
    let body = told!(RowDescription, |sink| {
        let mut description = RowDescription::begin(sink);
        fields.iter().for_each(|field| description.field(field));
        description.end();
    });
    let read: Vec<_> = body.fields().collect::<Vec<_>>().unwrap();
    assert_eq!(read.len(), fields.len());
    for (read, field) in read.iter().zip(&fields) {
        assert_eq!((read.name(), read.table_oid(), read.column_id()), (field.name, field.table, field.column));
        assert_eq!((read.type_oid(), read.type_size()), (field.type_oid, field.type_size));
        assert_eq!((read.type_modifier(), read.format()), (field.type_modifier, field.format as i16));
    }

    let values: [Option<&[u8]>; 4] = [Some(b"\0\0\0\x2a"), None, Some(b""), Some(b"text")];
    let body = told!(DataRow, |sink| {
        let mut row = DataRow::begin(sink);
        for value in values {
            match value {
                None => row.null(),
                Some(b"text") => row.value_with(|sink| sink.extend(b"text")),
                Some(value) => row.value(value),
            }
        }
        row.end().unwrap();
    });
    let ranges = body.ranges().collect::<Vec<_>>().unwrap();
    assert_eq!(ranges.len(), values.len());
    for (range, value) in ranges.into_iter().zip(values) {
        assert_eq!(range.map(|range| &body.buffer()[range]), value);
    }
}

#[test]
fn copies_of_the_server_are_read() {
    let body = told!(CopyInResponse, |sink| backend::copy_in_response(sink, Format::Text, 3));
    assert_eq!((body.format(), body.column_formats().collect::<Vec<_>>().unwrap()), (0, vec![0; 3]));
    let body = told!(CopyOutResponse, |sink| backend::copy_out_response(sink, Format::Binary, 2));
    assert_eq!((body.format(), body.column_formats().collect::<Vec<_>>().unwrap()), (1, vec![1; 2]));
    let body = told!(CopyData, |sink| backend::copy_data(sink, b"1\t2\n").unwrap());
    assert_eq!(body.data(), b"1\t2\n");
    let body = told!(CopyData, |sink| {
        let mut row = CopyRow::begin(sink);
        row.sink().extend(b"1\t");
        row.sink().extend(b"3\n");
        row.end().unwrap();
    });
    assert_eq!(body.data(), b"1\t3\n");
}

#[test]
fn errors_of_the_server_are_read() {
    let error = Error::statement(sqlstate::UNDEFINED_TABLE, "relation \"ä\" does not exist").detail("D").at(15);
    let body = told!(ErrorResponse, |sink| backend::error_response(sink, &error));
    let fields = body.fields().map(|field| Ok((field.type_(), field.value_bytes().to_vec()))).collect::<Vec<_>>();
    let expected: [(u8, &[u8]); 6] = [
        (b'S', b"ERROR"),
        (b'V', b"ERROR"),
        (b'C', b"42P01"),
        (b'M', "relation \"ä\" does not exist".as_bytes()),
        (b'D', b"D"),
        (b'P', b"15"),
    ];
    assert_eq!(fields.unwrap(), expected.map(|(label, text)| (label, text.to_vec())));

    let notice = Error::statement(sqlstate::WARNING, "careful").hint("H");
    let body = told!(NoticeResponse, |sink| backend::notice_response(sink, Level::Warning, &notice));
    let labels = body.fields().map(|field| Ok(field.type_())).collect::<Vec<_>>().unwrap();
    assert_eq!(labels, b"SVCMH");
}

/// A whole login between the other implementation's client and this server; what it ends with on either side.
fn login(password: &[u8], verifier: &Verifier, binding: ChannelBinding) -> (Result<Progress, Error>, bool) {
    let mut scram = ScramSha256::new(password, binding);
    let mut exchange = Exchange::new(verifier);
    let mut answer = |message: &BytesMut| {
        let Ok(Framed::Message { body, consumed, .. }) = frontend::next_sasl(message) else { panic!() };
        assert_eq!(consumed, message.len());
        let mut sink = Vec::new();
        let progress = exchange.answer(body, &[0xa5; 18], "häns", &mut sink);
        assert_eq!(progress.is_err(), sink.is_empty());
        (progress, BytesMut::from(&sink[..]))
    };

    let (progress, mut reply) =
        answer(&written(|buf| client::sasl_initial_response(MECHANISM, scram.message(), buf).unwrap()));
    assert_eq!(progress.unwrap(), Progress::Continue);
    let Ok(Some(Message::AuthenticationSaslContinue(body))) = Message::parse(&mut reply) else { panic!() };
    scram.update(body.data()).unwrap();
    let (progress, mut reply) = answer(&written(|buf| client::sasl_response(scram.message(), buf).unwrap()));
    let known = match Message::parse(&mut reply) {
        Ok(Some(Message::AuthenticationSaslFinal(body))) => scram.finish(body.data()).is_ok(),
        _ => false,
    };
    (progress, known)
}

#[test]
fn a_client_gets_in_with_its_password_only() {
    let bindings = [ChannelBinding::unsupported, ChannelBinding::unrequested];
    for password in ["pencil", "pass word,=", "I\u{ad}X", "\u{2168}", "пароль", "\u{7}x"] {
        let verifier = Verifier::from_password(password.as_bytes(), b"0123456789abcdef");
        let stored = Verifier::parse(&verifier.to_string()).unwrap();
        for binding in bindings {
            let (progress, known) = login(password.as_bytes(), &stored, binding());
            assert_eq!((progress.unwrap(), known), (Progress::Authenticated, true), "{password}");
            let (progress, known) = login(b"pencil ", &stored, binding());
            let error = progress.unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate::INVALID_PASSWORD);
            assert_eq!(error.message(), "password authentication failed for user \"häns\"");
            assert!(!known);
        }
    }
    let (progress, known) = login(b"pencil", &Verifier::mock(&[1; 32], "häns"), ChannelBinding::unsupported());
    assert_eq!(progress.unwrap_err().message(), "password authentication failed for user \"häns\"");
    assert!(!known);
    // The server that does not know the password does not get past the client either.
    let mut other = Verifier::from_password(b"pencil", b"0123456789abcdef").to_string();
    other.replace_range(other.len() - 44.., &format!("{}=", "A".repeat(43)));
    let (progress, known) = login(b"pencil", &Verifier::parse(&other).unwrap(), ChannelBinding::unsupported());
    assert_eq!((progress.unwrap(), known), (Progress::Authenticated, false));
}
