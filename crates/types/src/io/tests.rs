//! What PostgreSQL 15 reads and writes, type by type, and the round trips.

use super::*;
use crate::stored;
use proptest::prelude::*;

fn shown(oid: Oid, datum: Datum<'_>) -> String {
    let mut out = Vec::new();
    output(table::kind(oid), datum, &Style::PLAIN, &mut out).expect("output");
    String::from_utf8(out).expect("UTF-8")
}

/// Type, text, and what PostgreSQL prints for it; or its error and, after a slash, the error's detail.
#[rustfmt::skip]
const TEXTS: &[(Oid, &str, &str)] = &[
    (Oid::BOOL, "t", "t"),
    (Oid::BOOL, " TRUE ", "t"),
    (Oid::BOOL, "o", "ERR invalid input syntax for type boolean: \"o\""),
    (Oid::BOOL, "of", "f"),
    (Oid::BOOL, "off", "f"),
    (Oid::BOOL, "yes", "t"),
    (Oid::BOOL, "ye", "t"),
    (Oid::BOOL, "y", "t"),
    (Oid::BOOL, "1", "t"),
    (Oid::BOOL, "2", "ERR invalid input syntax for type boolean: \"2\""),
    (Oid::BOOL, "n", "f"),
    (Oid::BOOL, "no", "f"),
    (Oid::BOOL, "f", "f"),
    (Oid::BOOL, "fals", "f"),
    (Oid::BOOL, "on", "t"),
    (Oid::BOOL, "", "ERR invalid input syntax for type boolean: \"\""),
    (Oid::BOOL, "tru", "t"),
    (Oid::BOOL, "true1", "ERR invalid input syntax for type boolean: \"true1\""),
    (Oid::INT2, "32767", "32767"),
    (Oid::INT2, "-32768", "-32768"),
    (Oid::INT2, "32768", "ERR value \"32768\" is out of range for type smallint"),
    (Oid::INT2, "x", "ERR invalid input syntax for type smallint: \"x\""),
    (Oid::INT4, "2147483647", "2147483647"),
    (Oid::INT4, "2147483648", "ERR value \"2147483648\" is out of range for type integer"),
    (Oid::INT4, " 5 ", "5"),
    (Oid::INT4, "5.0", "ERR invalid input syntax for type integer: \"5.0\""),
    (Oid::INT8, "9223372036854775807", "9223372036854775807"),
    (Oid::INT8, "9223372036854775808", "ERR value \"9223372036854775808\" is out of range for type bigint"),
    (Oid::OID, "4294967295", "4294967295"),
    (Oid::OID, "4294967296", "ERR value \"4294967296\" is out of range for type oid"),
    (Oid::OID, "-1", "4294967295"),
    (Oid::OID, "x", "ERR invalid input syntax for type oid: \"x\""),
    (Oid::FLOAT4, "1.5", "1.5"),
    (Oid::FLOAT4, "1e39", "ERR \"1e39\" is out of range for type real"),
    (Oid::FLOAT4, "1e-46", "ERR \"1e-46\" is out of range for type real"),
    (Oid::FLOAT4, "nan", "NaN"),
    (Oid::FLOAT4, "x", "ERR invalid input syntax for type real: \"x\""),
    (Oid::FLOAT4, "3.4028235e38", "3.4028235e+38"),
    (Oid::FLOAT8, "0.1", "0.1"),
    (Oid::FLOAT8, "1e309", "ERR \"1e309\" is out of range for type double precision"),
    (Oid::FLOAT8, "-inf", "-Infinity"),
    (Oid::FLOAT8, "1e-324", "ERR \"1e-324\" is out of range for type double precision"),
    (Oid::NUMERIC, "1.50", "1.50"),
    (Oid::NUMERIC, "x", "ERR invalid input syntax for type numeric: \"x\""),
    (Oid::TEXT, "abc", "abc"),
    (Oid::TEXT, "", ""),
    (Oid::NAME, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    (Oid::CHAR, "abc", "a"),
    (Oid::CHAR, "", ""),
    (Oid::BYTEA, "\\x41", "\\x41"),
    (Oid::BYTEA, "\\x4", "ERR invalid hexadecimal data: odd number of digits"),
    (Oid::BYTEA, "\\x4g", "ERR invalid hexadecimal digit: \"g\""),
    (Oid::BYTEA, "a\\\\b\\001", "\\x615c6201"),
    (Oid::BYTEA, "a\\b", "ERR invalid input syntax for type bytea"),
    (Oid::BYTEA, "\\777", "ERR invalid input syntax for type bytea"),
    (Oid::BYTEA, "abc", "\\x616263"),
    (Oid::BYTEA, "\\x 41 42", "\\x4142"),
    (Oid::UUID, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    (Oid::UUID, "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    (Oid::UUID, "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    (Oid::UUID, "a0eebc99", "ERR invalid input syntax for type uuid: \"a0eebc99\""),
    (Oid::UUID, "a0eebc999c0b4ef8bb6d6bb9bd380a11f", "ERR invalid input syntax for type uuid: \"a0eebc999c0b4ef8bb6d6bb9bd380a11f\""),
    (Oid::UUID, "a0eebc99--9c0b4ef8bb6d6bb9bd380a11", "ERR invalid input syntax for type uuid: \"a0eebc99--9c0b4ef8bb6d6bb9bd380a11\""),
    (Oid::DATE, "2020-01-31", "2020-01-31"),
    (Oid::TIMESTAMPTZ, "2020-01-31 10:00", "2020-01-31 10:00:00+00"),
    (Oid::TEXT_ARRAY, "{}", "{}"),
    (Oid::TEXT_ARRAY, "{a,b", "ERR malformed array literal: \"{a,b\" / Unexpected end of input."),
    (Oid::TEXT_ARRAY, "a,b}", "ERR malformed array literal: \"a,b}\" / Array value must start with \"{\" or dimension information."),
    (Oid::TEXT_ARRAY, "{a,b}x", "ERR malformed array literal: \"{a,b}x\" / Junk after closing right brace."),
    (Oid::TEXT_ARRAY, "{a,{b}}", "ERR malformed array literal: \"{a,{b}}\" / Unexpected \"{\" character."),
    (Oid::TEXT_ARRAY, "{{a},{b,c}}", "ERR malformed array literal: \"{{a},{b,c}}\" / Multidimensional arrays must have sub-arrays with matching dimensions."),
    (Oid::TEXT_ARRAY, "{a,,b}", "ERR malformed array literal: \"{a,,b}\" / Unexpected \",\" character."),
    (Oid::TEXT_ARRAY, "{{}}", "ERR malformed array literal: \"{{}}\" / Unexpected \"}\" character."),
    (Oid::TEXT_ARRAY, "{ a , \"b c\" , NULL, \"NULL\", null, \"\" , a b }", "{a,\"b c\",NULL,\"NULL\",NULL,\"\",\"a b\"}"),
    (Oid::TEXT_ARRAY, "[2:3]={a,b}", "[2:3]={a,b}"),
    (Oid::TEXT_ARRAY, "[2:4]={a,b}", "ERR malformed array literal: \"[2:4]={a,b}\" / Specified array dimensions do not match array contents."),
    (Oid::TEXT_ARRAY, "[0:0][1:2]={{a,b}}", "[0:0][1:2]={{a,b}}"),
    (Oid::TEXT_ARRAY, "{a\"b\"}", "ERR malformed array literal: \"{a\"b\"}\" / Unexpected array element."),
    (Oid::TEXT_ARRAY, "{\"a\"b}", "ERR malformed array literal: \"{\"a\"b}\" / Unexpected array element."),
    (Oid::TEXT_ARRAY, "{\"a\" \"b\"}", "ERR malformed array literal: \"{\"a\" \"b\"}\" / Unexpected array element."),
    (Oid::TEXT_ARRAY, "{a\\\\b,c\\,d}", "{\"a\\\\b\",\"c,d\"}"),
    (Oid::TEXT_ARRAY, "{\"a\\\"b\"}", "{\"a\\\"b\"}"),
    (Oid::TEXT_ARRAY, "{\"{\",\"}\",\"\\\\\",\" a\",\"a \"}", "{\"{\",\"}\",\"\\\\\",\" a\",\"a \"}"),
    (Oid::TEXT_ARRAY, "{a\\ }", "{\"a \"}"),
    (Oid::INT4_ARRAY, "{1,x}", "ERR invalid input syntax for type integer: \"x\""),
    (Oid::INT4_ARRAY, "", "ERR malformed array literal: \"\" / Array value must start with \"{\" or dimension information."),
    (Oid::INT4_ARRAY, "{{{1,2},{3,4}},{{5,6},{7,8}}}", "{{{1,2},{3,4}},{{5,6},{7,8}}}"),
    (Oid::INT4_ARRAY, "{1,2},", "ERR malformed array literal: \"{1,2},\" / Junk after closing right brace."),
    (Oid::INT4_ARRAY, "[3:2]={}", "ERR upper bound cannot be less than lower bound"),
    (Oid::INT4_ARRAY, "[1]={1}", "{1}"),
    (Oid::INT4_ARRAY, "[2]={1,2}", "{1,2}"),
    (Oid::INT4_ARRAY, "{1 2}", "ERR invalid input syntax for type integer: \"1 2\""),
    (Oid::INT4_ARRAY, "{NULL}", "{NULL}"),
    (Oid::INT4_ARRAY, "{{1},2}", "ERR malformed array literal: \"{{1},2}\" / Unexpected array element."),
    (Oid::INT4_ARRAY, "  {1}  ", "{1}"),
    (Oid::INT4_ARRAY, "{1,}", "ERR malformed array literal: \"{1,}\" / Unexpected \"}\" character."),
    (Oid::INT4_ARRAY, "{,1}", "ERR malformed array literal: \"{,1}\" / Unexpected \",\" character."),
    (Oid::INT4_ARRAY, "{1,{2}}", "ERR malformed array literal: \"{1,{2}}\" / Unexpected \"{\" character."),
    (Oid::INT4_ARRAY, "{{1,2},{3}}", "ERR malformed array literal: \"{{1,2},{3}}\" / Multidimensional arrays must have sub-arrays with matching dimensions."),
    (Oid::INT4_ARRAY, "{{{{{{{1}}}}}}}", "ERR number of array dimensions (7) exceeds the maximum allowed (6)"),
    (Oid::INT4_ARRAY, "[1:1][1:2]={{1,2}}", "{{1,2}}"),
    (Oid::INT4_ARRAY, "[1:1][1:2]={1,2}", "ERR malformed array literal: \"[1:1][1:2]={1,2}\" / Specified array dimensions do not match array contents."),
    (Oid::INT4_ARRAY, "{", "ERR malformed array literal: \"{\" / Unexpected end of input."),
    (Oid::INT2VECTOR, "1 2 3", "1 2 3"),
    (Oid::INT2VECTOR, "", ""),
    (Oid::INT2VECTOR, " 1  2", "1 2"),
    (Oid::INT2VECTOR, "1,2", "ERR invalid input syntax for type smallint: \"1,2\""),
    (Oid::OIDVECTOR, "", ""),
    (Oid::OIDVECTOR, "4294967295", "4294967295"),
    (Oid::NAME_ARRAY, "{a,pg_catalog}", "{a,pg_catalog}"),
    (Oid::FLOAT8_ARRAY, "{1.5,NaN,-0}", "{1.5,NaN,-0}"),
    (Oid::NUMERIC_ARRAY, "{1.50,2}", "{1.50,2}"),
    (Oid::DATE_ARRAY, "{2020-01-01,infinity}", "{2020-01-01,infinity}"),
    (Oid::BOOL_ARRAY, "{t,false}", "{t,f}"),
    (Oid::TIMESTAMPTZ_ARRAY, "{2020-01-01 10:00}", "{\"2020-01-01 10:00:00+00\"}"),
];

/// Type, text, the wire's binary form in hexadecimal.
#[rustfmt::skip]
const BINARIES: &[(Oid, &str, &str)] = &[
    (Oid::BOOL, "t", "01"),
    (Oid::INT2, "-2", "fffe"),
    (Oid::INT4, "258", "00000102"),
    (Oid::INT8, "-1", "ffffffffffffffff"),
    (Oid::OID, "4294967295", "ffffffff"),
    (Oid::FLOAT4, "1.5", "3fc00000"),
    (Oid::FLOAT8, "-0.1", "bfb999999999999a"),
    (Oid::TEXT, "aä", "61c3a4"),
    (Oid::NAME, "abc", "616263"),
    (Oid::CHAR, "x", "78"),
    (Oid::BYTEA, "\\x00ff", "00ff"),
    (Oid::DATE, "2020-01-31", "00001ca7"),
    (Oid::TIMESTAMP, "2020-01-31 10:00:00.5", "0002406b67cba920"),
    (Oid::TIMESTAMPTZ, "infinity", "7fffffffffffffff"),
    (Oid::TIME, "10:11:12", "0000000889d25000"),
    (Oid::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"),
    (Oid::NUMERIC, "-123456.7800", "0003000140000004000c0d801e78"),
    (Oid::INT4_ARRAY, "{{1,NULL},{3,4}}", "000000020000000100000017000000020000000100000002000000010000000400000001ffffffff00000004000000030000000400000004"),
    (Oid::TEXT_ARRAY, "[0:1]={a,bc}", "00000001000000000000001900000002000000000000000161000000026263"),
    (Oid::OIDVECTOR, "1 2", "00000001000000000000001a000000020000000000000004000000010000000400000002"),
    (Oid::TEXT_ARRAY, "{}", "000000000000000000000019"),
];

#[test]
fn texts_are_read_and_written_as_postgresql_does() {
    let arena = Arena::new();
    let mut wrong = Vec::new();
    for (oid, text, expected) in TEXTS {
        let got = match input(Type::plain(*oid), text, &arena, &Style::PLAIN) {
            Ok(datum) => {
                stored::check(table::kind(*oid), datum).expect(text);
                shown(*oid, datum)
            }
            Err(error) => match error.detail_text() {
                Some(detail) => format!("ERR {} / {detail}", error.message()),
                None => format!("ERR {}", error.message()),
            },
        };
        if got != *expected {
            wrong.push(format!("{oid:?} {text:?}: {got} where {expected} is right"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn binary_forms_are_postgresqls() {
    let arena = Arena::new();
    for (oid, text, expected) in BINARIES {
        let datum = input(Type::plain(*oid), text, &arena, &Style::PLAIN).expect(text);
        let mut sent = Vec::new();
        send(table::kind(*oid), datum, &Style::PLAIN, &mut sent).expect(text);
        let hex: String = sent.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, *expected, "{oid:?} {text}");
        let back = receive(Type::plain(*oid), &sent, &arena, &Style::PLAIN).expect(text);
        assert_eq!(shown(*oid, back), shown(*oid, datum));
    }
}

#[test]
fn bad_binary_forms_are_refused() {
    let arena = Arena::new();
    for (oid, bytes, code) in [
        (Oid::INT4, &[0, 0, 0][..], "08P01"),
        (Oid::INT4, &[0, 0, 0, 0, 0], "22P03"),
        (Oid::TEXT, &[0xC3], "22021"),
        (Oid::TEXT, &[b'a', 0], "22021"),
        (Oid::NAME, &[b'a'; 64], "42622"),
        (Oid::TIMESTAMP, &[0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE], "22008"),
        (Oid::TIME, &[0x7F, 0, 0, 0, 0, 0, 0, 0], "22008"),
        (Oid::INT4_ARRAY, &[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 23], "54000"),
        (Oid::INT4_ARRAY, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25], "42804"),
        (Oid::INT4_ARRAY, &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1], "22P03"),
        (Oid::JSONB, &[1], "22P02"),
        (Oid::JSONB, &[], "08P01"),
        (Oid::INET, &[1], "0A000"),
    ] {
        let error = receive(Type::plain(oid), bytes, &arena, &Style::PLAIN).expect_err("bad");
        assert_eq!(error.sqlstate().as_str(), code, "{oid:?} {bytes:?} {error}");
    }
}

#[test]
fn types_without_values_refuse_them() {
    let arena = Arena::new();
    for oid in [Oid::INET, Oid::ANYARRAY, Oid::TRIGGER] {
        let error = input(Type::plain(oid), "x", &arena, &Style::PLAIN).expect_err("refused");
        assert_eq!(error.sqlstate(), sqlstate::FEATURE_NOT_SUPPORTED, "{oid:?}");
    }
    assert!(input(Type::plain(Oid(99_999)), "x", &arena, &Style::PLAIN).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arrays_of_any_texts_read_back(texts in proptest::collection::vec(proptest::option::of("[a-c {},\"\\\\äNUL\n]{0,6}"), 0..8)) {
        let arena = Arena::new();
        let elements: Vec<Datum<'_>> =
            texts.iter().map(|text| text.as_ref().map_or(Datum::Null, |text| Datum::text(text))).collect();
        let bytes = array::encode_list(Oid::TEXT, &elements).expect("encode");
        let text = shown(Oid::TEXT_ARRAY, Datum::Bytes(&bytes));
        let back = input(Type::plain(Oid::TEXT_ARRAY), &text, &arena, &Style::PLAIN).expect("input");
        prop_assert_eq!(back, Datum::Bytes(&bytes), "{}", text);
        let mut sent = Vec::new();
        send(Kind::Array, back, &Style::PLAIN, &mut sent).expect("send");
        prop_assert_eq!(receive(Type::plain(Oid::TEXT_ARRAY), &sent, &arena, &Style::PLAIN).expect("receive"), back);
    }

    #[test]
    fn any_text_gives_an_answer(text in "[0-9a-f{}\\[\\]:=,\"\\\\ x.NUL-]{0,16}") {
        let arena = Arena::new();
        for row in table::TABLE {
            if let Ok(datum) = input(Type::plain(row.oid), &text, &arena, &Style::PLAIN) {
                prop_assert!(stored::check(row.kind, datum).is_ok(), "{} {text}", row.name);
                let again = shown(row.oid, datum);
                let back = input(Type::plain(row.oid), &again, &arena, &Style::PLAIN).expect(&again);
                prop_assert_eq!(shown(row.oid, back), again);
            }
        }
    }

    #[test]
    fn any_bytes_give_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..48)) {
        let arena = Arena::new();
        for row in table::TABLE {
            let _ = receive(Type::plain(row.oid), &bytes, &arena, &Style::PLAIN);
        }
        if let Ok(array) = array::Array::decode(&bytes) {
            let _ = array.check();
        }
        let _ = array::print(&bytes, &Style::PLAIN, &mut Vec::new());
    }
}
