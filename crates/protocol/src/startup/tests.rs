//! Tests of first packets, good and bad.

use super::*;

/// A packet with its length word.
fn packet(code: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = (8 + rest.len() as u32).to_be_bytes().to_vec();
    bytes.extend(code.to_be_bytes());
    bytes.extend(rest);
    bytes
}

fn first(bytes: &[u8]) -> Result<First<'_>> {
    match Negotiation::default().next(bytes)? {
        FirstFramed::Packet { first, consumed } => {
            assert!(consumed <= bytes.len());
            Ok(first)
        }
        FirstFramed::NeedMore(least) => panic!("{least} bytes wanted of {}", bytes.len()),
    }
}

fn startup(bytes: &[u8]) -> Startup<'_> {
    match first(bytes) {
        Ok(First::Startup(startup)) => startup,
        other => panic!("{other:?}"),
    }
}

fn refused(bytes: &[u8]) -> Error {
    let error = first(bytes).unwrap_err();
    assert_eq!(error.kind(), Kind::Session, "{error}");
    error
}

#[test]
fn a_startup_packet_is_read_whole() {
    let bytes = packet(
        VERSION,
        b"user\0alice\0application_name\0psql\0database\0sales\0options\0-c geqo=off\0client_encoding\0UTF8\0\0",
    );
    let startup = startup(&bytes);
    assert_eq!((startup.user(), startup.database(), startup.options()), ("alice", "sales", "-c geqo=off"));
    let settings: Vec<_> = startup.settings().collect();
    assert_eq!(settings, [("application_name", "psql"), ("client_encoding", "UTF8")]);
    assert_eq!(startup.parameters().count(), 5);
    assert!(!startup.negotiates());
}

#[test]
fn the_database_is_the_user_unless_given_and_the_last_value_counts() {
    let bytes = packet(VERSION, b"user\0bob\0user\0alice\0\0");
    assert_eq!((startup(&bytes).user(), startup(&bytes).database()), ("alice", "alice"));
    let bytes = packet(VERSION, b"database\0\0user\0alice\0\0");
    assert_eq!(startup(&bytes).database(), "alice");
}

#[test]
fn an_empty_value_does_not_end_the_packet() {
    let bytes = packet(VERSION, b"user\0alice\0application_name\0\0datestyle\0ISO\0\0");
    let settings: Vec<_> = startup(&bytes).settings().collect();
    assert_eq!(settings, [("application_name", ""), ("datestyle", "ISO")]);
}

#[test]
fn names_are_cut_at_63_bytes_between_characters() {
    let long = format!("{}é{}", "x".repeat(62), "y".repeat(10));
    let bytes = packet(VERSION, format!("user\0{long}\0\0").as_bytes());
    assert_eq!(startup(&bytes).user(), "x".repeat(62));
    let bytes = packet(VERSION, format!("user\0{}\0\0", "x".repeat(64)).as_bytes());
    assert_eq!(startup(&bytes).user().len(), 63);
}

#[test]
fn newer_minor_versions_and_unknown_protocol_options_are_negotiated() {
    let bytes = packet(VERSION + 2, b"user\0a\0\0");
    assert!(startup(&bytes).negotiates());
    let bytes = packet(VERSION, b"user\0a\0_pq_.report\0x\0application_name\0y\0\0");
    let startup = startup(&bytes);
    assert!(startup.negotiates());
    assert_eq!(startup.protocol_options().collect::<Vec<_>>(), ["_pq_.report"]);
    assert_eq!(startup.settings().collect::<Vec<_>>(), [("application_name", "y")]);
}

#[test]
fn other_versions_are_refused_by_name() {
    for (code, version) in [(2 << 16, "2.0"), (4 << 16, "4.0"), (1234 << 16 | 5681, "1234.5681"), (0, "0.0")] {
        let error = refused(&packet(code, b"user\0a\0\0"));
        assert_eq!(error.sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
        let message = format!("unsupported frontend protocol {version}: server supports 3.0 to 3.0");
        assert_eq!(error.message(), message);
    }
}

#[test]
fn encryption_is_asked_for_once_each() {
    let (ssl, gss) = (packet(SSL, b""), packet(GSS, b""));
    let mut negotiation = Negotiation::default();
    assert!(matches!(negotiation.next(&gss), Ok(FirstFramed::Packet { first: First::Gss, consumed: 8 })));
    assert!(matches!(negotiation.next(&ssl), Ok(FirstFramed::Packet { first: First::Ssl, consumed: 8 })));
    assert_eq!(negotiation.next(&ssl).unwrap_err().sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
    assert_eq!(negotiation.next(&gss).unwrap_err().sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED);
}

#[test]
fn nothing_may_follow_a_request_for_encryption() {
    let mut bytes = packet(SSL, b"");
    bytes.push(0);
    let error = refused(&bytes);
    assert_eq!(error.sqlstate(), sqlstate::PROTOCOL_VIOLATION);
    assert_eq!(error.message(), "received unencrypted data after SSL request");
    assert!(error.detail_text().is_some());
}

#[test]
fn a_cancel_request_carries_the_key() {
    let key = CancelKey { session: 42, secret: 0xdead_beef };
    match first(&packet(CANCEL, &key.to_bytes())) {
        Ok(First::Cancel(read)) => assert!(read.matches(&key)),
        other => panic!("{other:?}"),
    }
    assert_eq!(refused(&packet(CANCEL, &[0; 7])).message(), "invalid length of startup packet");
    assert_eq!(refused(&packet(CANCEL, &[0; 9])).message(), "invalid length of startup packet");
}

#[test]
fn malformed_packets_are_protocol_violations() {
    let terminator = "invalid startup packet layout: expected terminator as last byte";
    let cases: &[(Vec<u8>, &str)] = &[
        (vec![0, 0, 0, 7], "invalid length of startup packet"),
        (vec![0xff; 4], "invalid length of startup packet"),
        ((10_005u32).to_be_bytes().to_vec(), "invalid length of startup packet"),
        (packet(VERSION, b""), terminator),
        (packet(VERSION, b"user\0a\0"), terminator),
        (packet(VERSION, b"user\0a"), terminator),
        (packet(VERSION, b"user\0"), terminator),
        (packet(VERSION, b"user\0a\0\0\0"), terminator),
        (packet(VERSION, b"user\0a\0\0x\0y\0\0"), terminator),
    ];
    for (bytes, message) in cases {
        let error = refused(bytes);
        assert_eq!((error.sqlstate(), error.message()), (sqlstate::PROTOCOL_VIOLATION, *message), "{bytes:?}");
    }
}

#[test]
fn a_user_must_be_named_in_utf8() {
    let error = refused(&packet(VERSION, b"database\0a\0\0"));
    assert_eq!(error.sqlstate(), sqlstate::INVALID_AUTHORIZATION_SPECIFICATION);
    assert_eq!(refused(&packet(VERSION, b"\0")).sqlstate(), sqlstate::INVALID_AUTHORIZATION_SPECIFICATION);
    let error = refused(&packet(VERSION, b"user\0\xff\0\0"));
    assert_eq!(error.sqlstate(), sqlstate::CHARACTER_NOT_IN_REPERTOIRE);
}

#[test]
fn replication_is_refused_unless_it_is_off() {
    for off in ["false", "off", "0", "no", "F", "of"] {
        startup(&packet(VERSION, format!("user\0a\0replication\0{off}\0\0").as_bytes()));
    }
    for on in ["true", "database", "1", "YES", "on"] {
        let error = refused(&packet(VERSION, format!("user\0a\0replication\0{on}\0\0").as_bytes()));
        assert_eq!(error.sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED, "{on}");
    }
    for bad in ["o", "", "maybe", "Database"] {
        let error = refused(&packet(VERSION, format!("user\0a\0replication\0{bad}\0\0").as_bytes()));
        assert_eq!(error.sqlstate(), sqlstate::INVALID_PARAMETER_VALUE, "{bad:?}");
    }
}

#[test]
fn every_prefix_needs_more() {
    for bytes in [packet(VERSION, b"user\0alice\0\0"), packet(SSL, b""), packet(CANCEL, &[1; 8])] {
        for cut in 0..bytes.len() {
            let mut negotiation = Negotiation::default();
            match negotiation.next(&bytes[..cut]) {
                Ok(FirstFramed::NeedMore(least)) => assert!(least > cut && least <= bytes.len()),
                other => panic!("{cut}: {other:?}"),
            }
            assert_eq!(negotiation, Negotiation::default());
        }
    }
}
