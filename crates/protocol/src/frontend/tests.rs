//! Tests of the messages that clients send, good and bad.

use super::*;
use crate::Format;

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend((4 + body.len() as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

fn decode(tag: Tag, body: &[u8]) -> Result<Frontend<'_>> {
    Frontend::decode(tag, body)
}

#[test]
fn framing_takes_one_message_at_a_time() {
    let mut bytes = message(b'Q', b"select 1\0");
    bytes.extend(message(b'S', b""));
    let Ok(Framed::Message { tag: Tag::Query, body, consumed: 14 }) = next(&bytes, LARGE_MAX) else { panic!() };
    assert_eq!(body, b"select 1\0");
    let rest = &bytes[14..];
    assert_eq!(next(rest, LARGE_MAX).unwrap(), Framed::Message { tag: Tag::Sync, body: b"", consumed: 5 });
    assert_eq!(next(b"", LARGE_MAX).unwrap(), Framed::NeedMore(5));
}

#[test]
fn the_hint_is_the_message_s_length() {
    assert_eq!(next(b"Q\0\0\x20\0", LARGE_MAX).unwrap(), Framed::NeedMore(8193));
    assert_eq!(next(b"Q\0", LARGE_MAX).unwrap(), Framed::NeedMore(5));
}

#[test]
fn lengths_are_limited_by_tag() {
    let word = |tag: Tag, length: u32| {
        let mut bytes = vec![tag as u8];
        bytes.extend(length.to_be_bytes());
        bytes
    };
    for &tag in Tag::ALL {
        let max = match tag {
            Tag::Password => continue,
            Tag::Query | Tag::Parse | Tag::Bind | Tag::CopyData | Tag::FunctionCall => 20_000,
            _ => SMALL_MAX as u32,
        };
        assert_eq!(next(&word(tag, max), 20_000).unwrap(), Framed::NeedMore(max as usize + 1), "{tag:?}");
        for bad in [0, 3, max + 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            let error = next(&word(tag, bad), 20_000).unwrap_err();
            assert_eq!(error.message(), "invalid message length");
            assert_eq!((error.sqlstate(), error.kind()), (sqlstate::PROTOCOL_VIOLATION, Kind::Session));
        }
    }
    // A setting cannot raise the limit.
    assert!(next(&word(Tag::Query, LARGE_MAX as u32 + 1), usize::MAX).is_err());
    assert!(next_sasl(&word(Tag::Password, SASL_MAX as u32)).is_ok());
    assert!(next_sasl(&word(Tag::Password, SASL_MAX as u32 + 1)).is_err());
}

#[test]
fn unknown_tags_end_the_session_at_their_first_byte() {
    for byte in 0..=u8::MAX {
        match next(&[byte], LARGE_MAX) {
            Ok(framed) => {
                assert!(b"BCdcfDEHFPQSX".contains(&byte));
                assert_eq!(framed, Framed::NeedMore(5));
            }
            Err(error) => {
                assert_eq!(error.message(), format!("invalid frontend message type {byte}"));
                assert_eq!((error.sqlstate(), error.kind()), (sqlstate::PROTOCOL_VIOLATION, Kind::Session));
            }
        }
    }
}

#[test]
fn only_a_password_comes_while_logging_in() {
    let Ok(Framed::Message { tag: Tag::Password, body: b"abc", consumed: 8 }) = next_sasl(b"p\0\0\0\x07abcQ") else {
        panic!()
    };
    assert_eq!(next_sasl(b"").unwrap(), Framed::NeedMore(5));
    assert_eq!(next_sasl(b"Q").unwrap_err().message(), "expected SASL response, got message type 81");
}

#[test]
fn every_message_decodes() {
    assert!(matches!(decode(Tag::Query, b"select '\xc3\xa4'\0"), Ok(Frontend::Query("select 'ä'"))));
    assert!(matches!(decode(Tag::Query, b"\0"), Ok(Frontend::Query(""))));
    let Ok(Frontend::Parse(parse)) = decode(Tag::Parse, b"s1\0select $1\0\0\x02\0\0\0\x17\0\0\0\0") else { panic!() };
    assert_eq!((parse.name, parse.text), ("s1", "select $1"));
    assert_eq!(parse.types().collect::<Vec<_>>(), [23, 0]);
    assert!(matches!(decode(Tag::Describe, b"Ss1\0"), Ok(Frontend::Describe(Target::Statement("s1")))));
    assert!(matches!(decode(Tag::Describe, b"P\0"), Ok(Frontend::Describe(Target::Portal("")))));
    assert!(matches!(decode(Tag::Close, b"Pp\0"), Ok(Frontend::Close(Target::Portal("p")))));
    let rows = |raw: i32| match decode(Tag::Execute, &[b"p\0", &raw.to_be_bytes()[..]].concat()) {
        Ok(Frontend::Execute { portal: "p", rows_max }) => rows_max,
        other => panic!("{other:?}"),
    };
    assert_eq!((rows(0), rows(-1), rows(1), rows(i32::MAX)), (None, None, Some(1), Some(i32::MAX as u32)));
    assert!(matches!(decode(Tag::Sync, b""), Ok(Frontend::Sync)));
    assert!(matches!(decode(Tag::Flush, b""), Ok(Frontend::Flush)));
    assert!(matches!(decode(Tag::CopyData, b"1\t\xff\n"), Ok(Frontend::CopyData(b"1\t\xff\n"))));
    assert!(matches!(decode(Tag::CopyDone, b""), Ok(Frontend::CopyDone)));
    assert!(matches!(decode(Tag::CopyDone, b"x"), Ok(Frontend::CopyDone)));
    assert!(matches!(decode(Tag::CopyFail, b"no more\0x"), Ok(Frontend::CopyFail(b"no more\0x"))));
    assert_eq!(reason(b"no more\0x").unwrap(), "no more");
    assert_eq!(reason(b"no more").unwrap_err().sqlstate(), sqlstate::PROTOCOL_VIOLATION);
    assert_eq!(reason(b"\x80\0").unwrap_err().sqlstate(), sqlstate::CHARACTER_NOT_IN_REPERTOIRE);
    assert!(matches!(decode(Tag::Terminate, b""), Ok(Frontend::Terminate)));
    assert!(matches!(decode(Tag::Password, b"\xff"), Ok(Frontend::Password(b"\xff"))));
    assert!(matches!(decode(Tag::FunctionCall, b"\0\0\x05\x39rest"), Ok(Frontend::FunctionCall(1337))));
}

#[test]
fn bad_bodies_cost_the_statement_and_have_postgresql_s_words() {
    let short = "insufficient data left in message";
    let long = "invalid message format";
    let unterminated = "invalid string in message";
    let cases: &[(Tag, &[u8], &str)] = &[
        (Tag::Query, b"", unterminated),
        (Tag::Query, b"select 1", unterminated),
        (Tag::Query, b"select 1\0\0", long),
        (Tag::Parse, b"s\0", unterminated),
        (Tag::Parse, b"s\0q\0", short),
        (Tag::Parse, b"s\0q\0\0", short),
        (Tag::Parse, b"s\0q\0\0\x01\0\0\0", short),
        (Tag::Parse, b"s\0q\0\xff\xff", short),
        (Tag::Parse, b"s\0q\0\0\0x", long),
        (Tag::Describe, b"", "no data left in message"),
        (Tag::Describe, b"S", unterminated),
        (Tag::Describe, b"Xs\0", "invalid DESCRIBE message subtype 88"),
        (Tag::Describe, b"Ss\0\0", long),
        (Tag::Close, b"\0s\0", "invalid CLOSE message subtype 0"),
        (Tag::Execute, b"p\0\0\0\0", short),
        (Tag::Execute, b"p\0\0\0\0\0\0", long),
        (Tag::Sync, b"x", long),
        (Tag::Flush, b"x", long),
        (Tag::FunctionCall, b"\0\0\0", short),
        (Tag::Bind, b"\0", unterminated),
        (Tag::Bind, b"\0\0", short),
        (Tag::Bind, b"\0\0\0\0\0\x01", short),
        (Tag::Bind, b"\0\0\0\0\0\x01\0\0\0\x02x", short),
        (Tag::Bind, b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0", short),
        (Tag::Bind, b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0", short),
        (Tag::Bind, b"\0\0\0\0\0\0", short),
        (Tag::Bind, b"\0\0\0\0\0\0\0\0!", long),
        (Tag::Bind, b"\0\0\0\x02\0\0\0\0\0\x01", "bind message has 2 parameter formats but 1 parameters"),
    ];
    for (tag, body, message) in cases {
        let error = decode(*tag, body).unwrap_err();
        assert_eq!(error.message(), *message, "{tag:?} {body:?}");
        assert_eq!((error.sqlstate(), error.kind()), (sqlstate::PROTOCOL_VIOLATION, Kind::Statement));
    }
    for body in [&b"\0\0\0\x01\0\x02\0\0\0\0"[..], b"\0\0\0\0\0\0\0\x01\xff\xff"] {
        let error = decode(Tag::Bind, body).unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate::INVALID_PARAMETER_VALUE);
    }
    for (tag, body) in [(Tag::Query, &b"\xff\0"[..]), (Tag::Parse, b"\xc3\0q\0\0\0")] {
        let error = decode(tag, body).unwrap_err();
        assert_eq!((error.sqlstate(), error.kind()), (sqlstate::CHARACTER_NOT_IN_REPERTOIRE, Kind::Statement));
    }
}

#[test]
fn bind_gives_values_with_their_formats() {
    let body = b"p\0s\0\0\x03\0\0\0\x01\0\0\0\x03\0\0\0\x0242\xff\xff\xff\xff\0\0\0\0\0\x01\0\x01";
    let Ok(Frontend::Bind(bind)) = decode(Tag::Bind, body) else { panic!() };
    assert_eq!((bind.portal, bind.statement), ("p", "s"));
    let values = bind.parameters();
    assert_eq!(values.len(), 3);
    let expected = [(Some(&b"42"[..]), Format::Text), (None, Format::Binary), (Some(&b""[..]), Format::Text)];
    assert_eq!(values.collect::<Vec<_>>(), expected);
    assert_eq!((bind.results().len(), bind.results().of(9)), (1, Format::Binary));
    assert!(bind.results().fits(7));
}

#[test]
fn one_format_is_for_all_and_none_is_text() {
    let Ok(Frontend::Bind(bind)) = decode(Tag::Bind, b"\0\0\0\x01\0\x01\0\x02\0\0\0\0\xff\xff\xff\xff\0\x02\0\0\0\x01")
    else {
        panic!()
    };
    assert!(bind.parameters().all(|(_, format)| format == Format::Binary));
    assert_eq!((bind.results().of(0), bind.results().of(1)), (Format::Text, Format::Binary));
    assert!(bind.results().fits(2) && !bind.results().fits(1) && !bind.results().fits(3));
    assert_eq!(Formats::default().of(3), Format::Text);
}

#[test]
fn what_is_skipped_after_an_error() {
    let extended: Vec<Tag> = Tag::ALL.iter().copied().filter(|tag| tag.is_extended()).collect();
    assert_eq!(extended, [Tag::Bind, Tag::Close, Tag::Describe, Tag::Execute, Tag::Flush, Tag::Parse]);
    let error = unexpected_in_copy(Tag::Query);
    assert_eq!(error.message(), "unexpected message type 0x51 during COPY from stdin");
}
