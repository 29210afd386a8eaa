//! Tests of the messages that the server sends, byte by byte.

use super::*;
use crate::Format;
use crate::limits::TEXT_SENT_MAX;
use base::{Error, sqlstate};

/// What `write` appends behind something that is there already, which must stay.
fn sent(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut sink = b"before".to_vec();
    write(&mut sink);
    assert_eq!(&sink[..6], b"before");
    sink.split_off(6)
}

#[test]
fn messages_of_fixed_form() {
    let key = CancelKey { session: 0x2c66, secret: 0xeaf0_2fd4 };
    let cases: &[(Vec<u8>, &[u8])] = &[
        (sent(encryption_refused), b"N"),
        (sent(authentication_ok), b"R\0\0\0\x08\0\0\0\0"),
        (sent(|sink| authentication_sasl(sink, false)), b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0"),
        (sent(|sink| authentication_sasl(sink, true)), b"R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0"),
        (sent(authentication_password), b"R\0\0\0\x08\0\0\0\x03"),
        (sent(|sink| authentication_sasl_continue(sink, b"r=x")), b"R\0\0\0\x0b\0\0\0\x0br=x"),
        (sent(|sink| authentication_sasl_final(sink, b"v=")), b"R\0\0\0\x0a\0\0\0\x0cv="),
        (sent(|sink| backend_key_data(sink, &key)), b"K\0\0\0\x0c\0\0\x2c\x66\xea\xf0\x2f\xd4"),
        (sent(|sink| parameter_status(sink, "DateStyle", "ISO, MDY")), b"S\0\0\0\x17DateStyle\0ISO, MDY\0"),
        (sent(|sink| ready_for_query(sink, Status::Idle)), b"Z\0\0\0\x05I"),
        (sent(|sink| ready_for_query(sink, Status::InTransaction)), b"Z\0\0\0\x05T"),
        (sent(|sink| ready_for_query(sink, Status::Failed)), b"Z\0\0\0\x05E"),
        (sent(parse_complete), b"1\0\0\0\x04"),
        (sent(bind_complete), b"2\0\0\0\x04"),
        (sent(close_complete), b"3\0\0\0\x04"),
        (sent(no_data), b"n\0\0\0\x04"),
        (sent(portal_suspended), b"s\0\0\0\x04"),
        (sent(empty_query_response), b"I\0\0\0\x04"),
        (sent(|sink| parameter_description(sink, [23, 25].into_iter())), b"t\0\0\0\x0e\0\x02\0\0\0\x17\0\0\0\x19"),
        (sent(|sink| parameter_description(sink, [].into_iter())), b"t\0\0\0\x06\0\0"),
        (sent(|sink| command_complete(sink, "DROP TABLE")), b"C\0\0\0\x0fDROP TABLE\0"),
        (sent(|sink| notification_response(sink, 0x2c67, "c", "hi")), b"A\0\0\0\x0d\0\0\x2cgc\0hi\0"),
        (sent(|sink| copy_in_response(sink, Format::Text, 3)), b"G\0\0\0\x0d\0\0\x03\0\0\0\0\0\0"),
        (sent(|sink| copy_out_response(sink, Format::Binary, 2)), b"H\0\0\0\x0b\x01\0\x02\0\x01\0\x01"),
        (sent(|sink| copy_data(sink, b"2\t\\N\n").unwrap()), b"d\0\0\0\x092\t\\N\n"),
        (sent(copy_done), b"c\0\0\0\x04"),
        (sent(|sink| negotiate_protocol_version(sink, [].into_iter())), b"v\0\0\0\x0c\0\x03\0\0\0\0\0\0"),
        (
            sent(|sink| negotiate_protocol_version(sink, ["_pq_.a", "_pq_.b"].into_iter())),
            b"v\0\0\0\x1a\0\x03\0\0\0\0\0\x02_pq_.a\0_pq_.b\0",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(bytes, expected, "{}", String::from_utf8_lossy(expected));
    }
}

#[test]
fn command_tags_count_rows() {
    let tag = |tag: &str, rows| sent(|sink| command_complete_rows(sink, tag, rows));
    assert_eq!(tag("SELECT", 0), b"C\0\0\0\x0dSELECT 0\0");
    assert_eq!(tag("SELECT", 1), b"C\0\0\0\x0dSELECT 1\0");
    assert_eq!(tag("INSERT 0", 1), b"C\0\0\0\x0fINSERT 0 1\0");
    assert_eq!(tag("COPY", 1_000_090), b"C\0\0\0\x11COPY 1000090\0");
    assert_eq!(tag("X", u64::MAX), b"C\0\0\0\x1bX 18446744073709551615\0");
}

#[test]
fn rows_and_their_description() {
    let balance = Field {
        name: "balance",
        table: 16384,
        column: 2,
        type_oid: 23,
        type_size: 4,
        type_modifier: -1,
        format: Format::Text,
    };
    let filler = Field {
        name: "filler",
        column: 3,
        type_oid: 1042,
        type_size: -1,
        type_modifier: 12,
        format: Format::Binary,
        ..balance
    };
    let description = sent(|sink| {
        let mut description = RowDescription::begin(sink);
        description.field(&balance);
        description.field(&filler);
        description.end();
    });
    let expected: &[u8] = b"T\0\0\0\x39\0\x02balance\0\0\0\x40\0\0\x02\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
        filler\0\0\0\x40\0\0\x03\0\0\x04\x12\xff\xff\0\0\0\x0c\0\x01";
    assert_eq!(description, expected);

    let row = sent(|sink| {
        let mut row = DataRow::begin(sink);
        row.null();
        row.value(b"y       ");
        let returned = row.value_with(|sink| {
            sink.put(b"1");
            sink.put(b"2");
            7
        });
        assert_eq!(returned, 7);
        row.value(b"");
        row.end().unwrap();
    });
    let expected: &[u8] = b"D\0\0\0\x20\0\x04\xff\xff\xff\xff\0\0\0\x08y       \0\0\0\x0212\0\0\0\0";
    assert_eq!(row, expected);
    assert_eq!(sent(|sink| DataRow::begin(sink).end().unwrap()), b"D\0\0\0\x06\0\0");
}

#[test]
fn an_unfinished_message_leaves_no_trace() {
    let overflow = || Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "out of range");
    let row = |sink: &mut Vec<u8>| {
        let mut row = DataRow::begin(sink);
        row.value(b"42");
        row.value_with(|sink| {
            sink.put(b"half of");
            Err(overflow())
        })?;
        row.end()
    };
    assert_eq!(sent(|sink| assert!(row(sink).is_err())), b"");
    let copied = |sink: &mut Vec<u8>| {
        let mut row = CopyRow::begin(sink);
        row.sink().put(b"42\t");
        Err::<(), Error>(overflow())
    };
    assert_eq!(sent(|sink| assert!(copied(sink).is_err())), b"");
    assert_eq!(sent(|sink| drop(RowDescription::begin(sink))), b"");
}

#[test]
fn errors_and_notices_carry_their_fields() {
    let syntax = Error::statement(sqlstate::SYNTAX_ERROR, "syntax error at or near \"selec\"").at(8);
    let expected: &[u8] = b"E\0\0\0\x3eSERROR\0VERROR\0C42601\0Msyntax error at or near \"selec\"\0P8\0\0";
    assert_eq!(sent(|sink| error_response(sink, &syntax)), expected);
    let full = Error::session(sqlstate::ADMIN_SHUTDOWN, "bye").detail("d").hint("h");
    let expected: &[u8] = b"E\0\0\0\x25SFATAL\0VFATAL\0C57P01\0Mbye\0Dd\0Hh\0\0";
    assert_eq!(sent(|sink| error_response(sink, &full)), expected);
    let notice = Error::statement(sqlstate::SUCCESSFUL_COMPLETION, "skipping");
    for (level, word) in [
        (Level::Notice, "NOTICE"),
        (Level::Warning, "WARNING"),
        (Level::Info, "INFO"),
        (Level::Log, "LOG"),
        (Level::Debug, "DEBUG"),
    ] {
        let body = format!("S{word}\0V{word}\0C00000\0Mskipping\0\0");
        let bytes = sent(|sink| notice_response(sink, level, &notice));
        assert_eq!(bytes[0], b'N');
        assert_eq!(bytes[1..5], (4 + body.len() as u32).to_be_bytes());
        assert_eq!(&bytes[5..], body.as_bytes());
    }
}

#[test]
fn texts_from_elsewhere_cannot_break_a_message() {
    let error = Error::statement(sqlstate::SYNTAX_ERROR, "a\0b").hint("\0");
    let expected: &[u8] = b"E\0\0\0\x1fSERROR\0VERROR\0C42601\0Ma\0H\0\0";
    assert_eq!(sent(|sink| error_response(sink, &error)), expected);
    // A cut falls between characters.
    let long = "x".repeat(TEXT_SENT_MAX - 1) + "äöü";
    let bytes = sent(|sink| parameter_status(sink, "p", &long));
    assert_eq!(bytes.len(), 1 + 4 + 2 + TEXT_SENT_MAX - 1 + 1);
    assert_eq!(&bytes[bytes.len() - 2..], b"x\0");
}

/// A sink that only counts, for messages that are too long to be made.
#[derive(Default)]
struct Counted {
    len: usize,
    patched: usize,
}

impl Sink for Counted {
    fn put(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
    }

    fn len(&self) -> usize {
        self.len
    }

    fn patch(&mut self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= self.len);
        self.patched += 1;
    }

    fn cut(&mut self, len: usize) {
        assert!(len <= self.len);
        self.len = len;
    }
}

#[test]
fn rows_too_long_are_an_error_and_leave_no_trace() {
    let piece = vec![0; 1 << 20];
    let mut sink = Counted::default();
    copy_done(&mut sink);
    let before = sink.len;
    // 1,023 pieces fit, with their lengths and the header; the 1,024th does not.
    for (pieces, fits) in [(1023, true), (1024, false)] {
        let (len, patched) = (sink.len, sink.patched);
        let mut row = DataRow::begin(&mut sink);
        for _ in 0..pieces {
            row.value(&piece);
        }
        match row.end() {
            Ok(()) => {
                assert!(fits && sink.patched == patched + 1);
                assert_eq!(sink.len, len + 7 + pieces * (4 + piece.len()));
            }
            Err(error) => {
                assert!(!fits && sink.patched == patched && sink.len == len);
                assert_eq!(error.sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
            }
        }
        sink.cut(before);
    }
    let mut row = CopyRow::begin(&mut sink);
    for _ in 0..1024 {
        row.sink().put(&piece);
    }
    assert!(row.end().is_err());
    assert_eq!(sink.len, before);
}

#[test]
#[should_panic(expected = "cannot count")]
fn more_columns_than_a_row_can_have_are_a_bug() {
    copy_in_response(&mut Vec::new(), Format::Text, 65_536);
}
