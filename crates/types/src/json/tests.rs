//! Text and stored form, order, depth, damage.

use super::*;
use crate::datetime::Style;
use crate::{Kind, Oid, Type, compare, io};
use proptest::prelude::*;
use std::cmp::Ordering;

fn stored(text: &str) -> Vec<u8> {
    input(text, &Arena::new()).expect(text)
}

fn shown(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    print::print(Value::decode(bytes).expect("value"), &mut out).expect("print");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn values_come_back_as_postgresql_writes_them() {
    for (text, expected) in [
        ("null", "null"),
        (" [ ] ", "[]"),
        ("{}", "{}"),
        ("[1,[2,{\"b\":[],\"a\":{}}],true]", "[1, [2, {\"a\": {}, \"b\": []}], true]"),
        ("{\"bb\":1,\"a\":2,\"c\":3,\"a\":4}", "{\"a\": 4, \"c\": 3, \"bb\": 1}"),
        ("1.50e2", "150"),
        ("-0.0", "0.0"),
        ("\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"é😀\\n/\""),
        ("\"\\u0001\"", "\"\\u0001\""),
    ] {
        let bytes = stored(text);
        check_stored(&bytes).expect(text);
        assert_eq!(shown(&bytes), expected, "{text}");
        assert_eq!(stored(expected), bytes, "{text}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (text, detail) in [
        ("", "The input string ended unexpectedly."),
        ("[1, 2", "The input string ended unexpectedly."),
        ("\"abc", "Token \"\"abc\" is invalid."),
        ("[1,]", "Expected JSON value, but found \"]\"."),
        ("[1 2]", "Expected \",\" or \"]\", but found \"2\"."),
        ("{1:2}", "Expected string or \"}\", but found \"1\"."),
        ("{\"a\" 1}", "Expected \":\", but found \"1\"."),
        ("{\"a\":1,}", "Expected string, but found \"}\"."),
        ("{\"a\":1 \"b\"}", "Expected \",\" or \"}\", but found \"\"b\"\"."),
        ("1 2", "Expected end of input, but found \"2\"."),
        ("01", "Token \"01\" is invalid."),
        ("1.", "Token \"1.\" is invalid."),
        ("nul", "Token \"nul\" is invalid."),
        ("'a'", "Token \"'\" is invalid."),
        ("\"\\v\"", "Escape sequence \"\\v\" is invalid."),
        ("\"\\u12g4\"", "\"\\u\" must be followed by four hexadecimal digits."),
        ("\"\u{1}\"", "Character with value 0x01 must be escaped."),
    ] {
        for error in [super::check(text).expect_err(text), input(text, &Arena::new()).expect_err(text)] {
            assert_eq!(error.sqlstate(), sqlstate::INVALID_TEXT_REPRESENTATION, "{text}");
            assert_eq!(error.detail_text(), Some(detail), "{text}");
        }
    }
    super::check("\"\\ud83d\"").expect("a json keeps it");
    assert!(input("\"\\ud83d\"", &Arena::new()).is_err());
    let error = input("\"\\u0000\"", &Arena::new()).expect_err("zero");
    assert_eq!(error.sqlstate(), sqlstate::UNTRANSLATABLE_CHARACTER);
}

#[test]
fn the_binary_form_is_a_version_and_the_text() {
    let arena = Arena::new();
    let datum = io::input(Type::plain(Oid::JSONB), "{\"b\":[1.50],\"a\":null}", &arena, &Style::PLAIN).expect("input");
    let mut sent = Vec::new();
    io::send(Kind::Jsonb, datum, &Style::PLAIN, &mut sent).expect("send");
    assert_eq!(sent, b"\x01{\"a\": null, \"b\": [1.50]}");
    assert_eq!(io::receive(Type::plain(Oid::JSONB), &sent, &arena, &Style::PLAIN).expect("receive"), datum);
    let error = receive(b"\x02{}", &arena).expect_err("version");
    assert_eq!(error.message(), "unsupported jsonb version number 2");
    let text = io::receive(Type::plain(Oid::JSON), b" [1 ]", &arena, &Style::PLAIN).expect("json");
    assert_eq!(text, Datum::text(" [1 ]"));
}

#[test]
fn errors_show_where_they_are() {
    let long = format!("[\n\"{}\", x, 1]", "é".repeat(40));
    let tail = format!("JSON data, line 2: ...{}\", x...", "é".repeat(22));
    for (text, context) in [
        ("[1, 2", "JSON data, line 1: [1, 2"),
        ("{\"a\":1,}", "JSON data, line 1: {\"a\":1,}"),
        ("[1,\n x, 2]", "JSON data, line 2:  x..."),
        ("\"\\ud83d\"", "JSON data, line 1: \"\\ud83d\""),
        ("\"\\ud83d\\ud83d\"", "JSON data, line 1: \"\\ud83d\\ud83d..."),
        ("{\"abc\":\"\\udc00\"}", "JSON data, line 1: {\"abc\":\"\\udc00..."),
        ("\"\\u0000\"", "JSON data, line 1: \"\\u0000..."),
        (&long, &tail),
    ] {
        let error = input(text, &Arena::new()).expect_err(text);
        assert_eq!(error.context_text(), Some(context), "{text}");
    }
}

#[test]
fn deep_values_cost_no_stack_and_too_deep_ones_are_refused() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deepest = stored(&nested(DEPTH_MAX));
    assert_eq!(shown(&deepest), nested(DEPTH_MAX));
    assert_eq!(order::compare(&deepest, &stored(&nested(DEPTH_MAX - 1))), Ordering::Greater);
    let same = Value::decode(&deepest).and_then(change::strip_nulls).expect("strip");
    assert_eq!(same, deepest);
    let text = nested(DEPTH_MAX + 1);
    for error in [super::check(&text).expect_err("deep"), input(&text, &Arena::new()).expect_err("deep")] {
        assert_eq!(error.sqlstate(), sqlstate::STATEMENT_TOO_COMPLEX);
    }
    let error = order::contains(&deepest, &deepest).expect_err("deep");
    assert_eq!(error.sqlstate(), sqlstate::STATEMENT_TOO_COMPLEX);
}

#[test]
fn days_and_times_are_iso() {
    let arena = Arena::new();
    for (oid, text, expected) in [
        (Oid::TIMESTAMP, "2020-01-31 10:11:12.5", "\"2020-01-31T10:11:12.5\""),
        (Oid::TIMESTAMPTZ, "2020-01-31 10:11:12", "\"2020-01-31T10:11:12+00:00\""),
        (Oid::TIMESTAMPTZ, "2020-01-31 10:11:12 BC", "\"2020-01-31T10:11:12+00:00 BC\""),
        (Oid::DATE, "infinity", "\"infinity\""),
        (Oid::FLOAT8, "NaN", "\"NaN\""),
        (Oid::NUMERIC, "1.50", "1.50"),
        (Oid::OID, "7", "\"7\""),
        (Oid::INT4_ARRAY, "{{1,2},{3,NULL}}", "[[1,2],[3,null]]"),
        (Oid::TEXT, "a\"b", "\"a\\\"b\""),
    ] {
        let datum = io::input(Type::plain(oid), text, &arena, &Style::PLAIN).expect(text);
        let mut out = Vec::new();
        make::json(oid, datum, &Style::PLAIN, &mut out).expect(text);
        assert_eq!(String::from_utf8_lossy(&out), expected);
        let binary = make::jsonb(oid, datum, &Style::PLAIN, &arena).expect(text);
        assert_eq!(binary, stored(expected), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        (-1000i64..1000, 0u32..3).prop_map(|(value, scale)| format!("{value}e-{scale}")),
        "[a-c\u{e9}]{0,3}".prop_map(|text| format!("\"{text}\"")),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(("[a-c]{0,2}", inner), 0..4).prop_map(|fields| {
                let fields: Vec<String> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn order_keys_and_hashes_agree(a in any_json(), b in any_json()) {
        let (x, y) = (stored(&a), stored(&b));
        prop_assert_eq!(stored(&shown(&x)), x.clone());
        let order = order::compare(&x, &y);
        prop_assert_eq!(order, order::compare(&y, &x).reverse());
        if order.is_eq() {
            prop_assert_eq!(order::hash(&x), order::hash(&y));
        }
        prop_assert!(order::contains(&x, &x).expect("contains"));
        let column = crate::key::KeyColumn::ascending(Kind::Jsonb);
        let key = |value: &[u8]| {
            let mut out = Vec::new();
            crate::key::encode_column(column, Datum::Bytes(value), &mut out).expect("key");
            out
        };
        prop_assert_eq!(key(&x).cmp(&key(&y)), order);
        let arena = Arena::new();
        let (key, mut back) = (key(&x), [Datum::Null]);
        let rest = crate::key::decode(&[column], &[Oid::JSONB], &key, &arena, &mut back).expect("decode");
        prop_assert!(rest.is_empty());
        prop_assert!(compare::equal(Kind::Jsonb, back[0], Datum::Bytes(&x)));
    }

    #[test]
    fn any_bytes_are_a_value_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..60), a in any_json(), at in any::<usize>(), bit in 0u8..8) {
        let mut turned = stored(&a);
        let place = at % turned.len();
        turned[place] ^= 1 << bit;
        for bytes in [&bytes, &turned] {
            let _ = check_stored(bytes);
            let _ = order::hash(bytes);
            let _ = order::compare(bytes, &stored("[1]"));
            let _ = order::contains(bytes, bytes);
            if let Ok(value) = Value::decode(bytes) {
                let _ = print::pretty(value, &mut Vec::new());
                let _ = change::concat(value, value);
                let _ = change::strip_nulls(value);
            }
            let _ = crate::key::decode(&[crate::key::KeyColumn::ascending(Kind::Jsonb)], &[Oid::JSONB], bytes, &Arena::new(), &mut [Datum::Null]);
        }
    }

    #[test]
    fn any_text_is_json_or_refused(text in "[\\[\\]{}:,\"\\\\a-u0-9.eE+ -]{0,20}") {
        let checked = super::check(&text).is_ok();
        let arena = Arena::new();
        prop_assert!(checked || input(&text, &arena).is_err());
        if checked {
            let _ = get::in_text(text.as_bytes(), &[get::Hop::Either(b"a")], true, &arena);
            let _ = change::strip_nulls_of_text(text.as_bytes(), &arena);
        }
    }
}
