//! The layout, and for every kind: byte order is the values' order, and values come back.

use super::*;
use crate::datetime::Style;
use crate::{Type, compare, io};
use proptest::prelude::*;
use std::cmp::Ordering;

fn key_of(column: KeyColumn, value: Datum<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    encode_column(column, value, &mut out).expect("encode");
    out
}

#[test]
fn the_layout_is_pinned() {
    let int = |value| key_of(KeyColumn::ascending(Kind::Int4), Datum::Int(value));
    assert_eq!(int(0), [0x80]);
    assert_eq!(int(1), [0x81, 1]);
    assert_eq!(int(256), [0x82, 1, 0]);
    assert_eq!(int(-1), [0x7F, 0xFE]);
    assert_eq!(int(-256), [0x7E, 0xFE, 0xFF]);
    assert_eq!(int(i64::MIN), [0x78, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
    assert_eq!(key_of(KeyColumn::ascending(Kind::Text), Datum::text("ab")), [0x80, b'a', b'b', 0]);
    assert_eq!(key_of(KeyColumn::ascending(Kind::Bytea), Datum::Bytes(&[0, 1, 2])), [0x80, 1, 1, 1, 2, 2, 0]);
    assert_eq!(key_of(KeyColumn::ascending(Kind::Text), Datum::Null), [0xFF]);
    assert_eq!(key_of(KeyColumn::descending(Kind::Text), Datum::Null), [0x00]);
    assert_eq!(key_of(KeyColumn::descending(Kind::Int4), Datum::Int(1)), [0x7E, 0xFE]);
    let number = |text| {
        let bytes = Numeric::parse(text).expect(text).to_bytes().expect(text);
        key_of(KeyColumn::ascending(Kind::Numeric), Datum::Bytes(&bytes))
    };
    assert_eq!(number("12.50"), [0x40, 130, 13, 51, 0]);
    assert_eq!(number("-12.5"), [0x20, !130, !13, !51, 0xFF]);
    assert_eq!(number("1e200"), [0x40, 0xE0, 0x80, 0, 201, 11, 0]);
}

/// Texts of one type in their order; those on one line are equal.
const ORDERED: &[(Oid, &[&[&str]])] = &[
    (Oid::BOOL, &[&["f"], &["t"]]),
    (Oid::INT2, &[&["-32768"], &["-256"], &["-255"], &["-1"], &["0"], &["1"], &["255"], &["256"], &["32767"]]),
    (Oid::INT8, &[&["-9223372036854775808"], &["-4294967296"], &["0"], &["4294967295"], &["9223372036854775807"]]),
    (Oid::OID, &[&["0"], &["4294967295"]]),
    (
        Oid::FLOAT8,
        &[
            &["-Infinity"],
            &["-1e308"],
            &["-1.5"],
            &["-5e-324"],
            &["0", "-0"],
            &["5e-324"],
            &["1.5"],
            &["Infinity"],
            &["NaN"],
        ],
    ),
    (Oid::FLOAT4, &[&["-1.5"], &["0", "-0"], &["0.1"], &["1.5"], &["NaN"]]),
    (
        Oid::INTERVAL,
        &[
            &["-178000000 years"],
            &["-1 mon"],
            &["-30 days 1 usec"],
            &["0"],
            &["1 usec"],
            &["1 day", "24 hours"],
            &["1 mon", "30 days", "720 hours"],
            &["1 year", "360 days"],
            &["178000000 years"],
        ],
    ),
    (
        Oid::NUMERIC,
        &[
            &["-Infinity"],
            &["-1e1000"],
            &["-123.45"],
            &["-123.4"],
            &["-1", "-1.000"],
            &["-0.00001"],
            &["-1e-200"],
            &["0", "0.00", "-0"],
            &["1e-200"],
            &["1e-97"],
            &["1e-96"],
            &["0.00001"],
            &["0.1", "0.10"],
            &["0.11"],
            &["1", "1.0"],
            &["1.01"],
            &["9.99"],
            &["10"],
            &["123.4"],
            &["123.45"],
            &["1e94"],
            &["1e95"],
            &["1e96"],
            &["1e1000"],
            &["Infinity"],
            &["NaN"],
        ],
    ),
    (Oid::TEXT, &[&[""], &["\u{1}"], &["\u{1}\u{1}"], &["\u{2}"], &["A"], &["a"], &["a "], &["aa"], &["b"], &["ä"]]),
    (Oid::BPCHAR, &[&["", "   "], &["a", "a  "], &["ab"], &["b"]]),
    (Oid::NAME, &[&["a"], &["b"]]),
    (Oid::CHAR, &[&[""], &["a"], &["b"]]),
    (Oid::BYTEA, &[&["\\x"], &["\\x00"], &["\\x0000"], &["\\x0001"], &["\\x01"], &["\\x0100"], &["\\x02"], &["\\xff"]]),
    (Oid::DATE, &[&["-infinity"], &["4714-11-24 BC"], &["1999-12-31"], &["2000-01-01"], &["infinity"]]),
    (Oid::TIMESTAMPTZ, &[&["-infinity"], &["1999-12-31"], &["2000-01-01 00:00:00.000001"], &["infinity"]]),
    (Oid::TIME, &[&["00:00"], &["24:00"]]),
    (Oid::UUID, &[&["00000000-0000-0000-0000-000000000000"], &["ffffffff-ffff-ffff-ffff-ffffffffffff"]]),
    (
        Oid::INT4_ARRAY,
        &[
            &["{}"],
            &["{-1}"],
            &["{1}"],
            &["[2:2]={1}"],
            &["{{1}}"],
            &["{1,2}"],
            &["{1,2,3,4}"],
            &["{{1,2},{3,4}}"],
            &["{1,NULL}"],
            &["{2}"],
            &["{NULL}"],
        ],
    ),
    (Oid::TEXT_ARRAY, &[&["{\"\"}"], &["{a}"], &["{a,b}"], &["{aa}"], &["{b}"]]),
    (Oid::OIDVECTOR, &[&[""], &["1"], &["1 2"], &["2"]]),
];

#[test]
fn byte_order_is_the_order_of_the_values() {
    let arena = Arena::new();
    for (oid, lines) in ORDERED {
        let kind = table::kind(*oid);
        let read = |text: &str| io::input(Type::plain(*oid), text, &arena, &Style::PLAIN).expect(text);
        let values: Vec<(usize, Datum<'_>)> = lines
            .iter()
            .enumerate()
            .flat_map(|(at, line)| line.iter().map(move |text| (at, *text)))
            .map(|(at, text)| (at, read(text)))
            .collect();
        for (at, a) in &values {
            for (other, b) in &values {
                let expected = at.cmp(other);
                let case = format!("{oid:?} {:?} {:?}", lines[*at], lines[*other]);
                assert_eq!(compare::compare(kind, *a, *b), expected, "compare {case}");
                for column in [KeyColumn::ascending(kind), KeyColumn::descending(kind)] {
                    let expected = if column.descending { expected.reverse() } else { expected };
                    assert_eq!(key_of(column, *a).cmp(&key_of(column, *b)), expected, "{case}");
                }
                if expected.is_eq() {
                    assert_eq!(compare::hash(kind, *a), compare::hash(kind, *b), "hash {case}");
                    assert!(compare::equal(kind, *a, *b), "{case}");
                }
            }
            for nulls_first in [false, true] {
                for descending in [false, true] {
                    let column = KeyColumn { kind, descending, nulls_first };
                    let expected = if nulls_first { Ordering::Less } else { Ordering::Greater };
                    assert_eq!(key_of(column, Datum::Null).cmp(&key_of(column, *a)), expected);
                    let key = key_of(column, *a);
                    let mut back = [Datum::Null];
                    let rest = decode(&[column], &[*oid], &key, &arena, &mut back).expect("decode");
                    assert!(rest.is_empty());
                    assert_eq!(compare::compare(kind, back[0], *a), Ordering::Equal);
                    if is_exact(kind) {
                        assert_eq!(back[0], *a);
                    }
                }
            }
        }
    }
}

#[test]
fn integers_of_all_widths_and_floats_of_both_share_an_order() {
    for value in [-40_000i64, -1, 0, 1, 40_000] {
        assert_eq!(
            key_of(KeyColumn::ascending(Kind::Int4), Datum::Int(value)),
            key_of(KeyColumn::ascending(Kind::Int8), Datum::Int(value))
        );
    }
    let value = Datum::Float(f64::from(0.1f32));
    assert_eq!(key_of(KeyColumn::ascending(Kind::Float4), value), key_of(KeyColumn::ascending(Kind::Float8), value));
}

#[test]
fn a_range_ends_after_its_prefix() {
    let mut prefix = vec![1, 0xFF, 0xFF];
    assert!(prefix_end(&mut prefix));
    assert_eq!(prefix, [2]);
    assert!(!prefix_end(&mut vec![0xFF, 0xFF]));
    let columns = [KeyColumn::ascending(Kind::Int4), KeyColumn::ascending(Kind::Text)];
    let mut key = Vec::new();
    encode(&columns, &[Datum::Int(5), Datum::Null], &mut key).expect("encode");
    let mut end = Vec::new();
    encode(&columns, &[Datum::Int(5)], &mut end).expect("encode");
    assert!(key.starts_with(&end) && prefix_end(&mut end) && key < end);
}

#[test]
fn what_has_no_order_is_refused() {
    let error =
        encode_column(KeyColumn::ascending(Kind::Refused), Datum::Bytes(&[1]), &mut Vec::new()).expect_err("order");
    assert_eq!(error.sqlstate().as_str(), "0A000");
}

fn any_number() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        (any::<i64>(), -40i32..40).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
        (-999i64..999, -3i32..3).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
        (any::<i128>(), -300i32..300).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
    ];
    text.prop_map(|text| Numeric::parse(&text).expect("number").to_bytes().expect("bytes"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn keys_of_several_columns_are_ordered(
        rows in proptest::collection::vec((proptest::option::of(-300i64..300), proptest::option::of(proptest::collection::vec(0u8..4, 0..5)), proptest::option::of(any_number()), any::<f64>()), 2),
        directions in any::<[bool; 8]>(),
    ) {
        let kinds = [Kind::Int8, Kind::Bytea, Kind::Numeric, Kind::Float8];
        let columns: Vec<KeyColumn> = kinds.iter().enumerate().map(|(at, kind)| KeyColumn { kind: *kind, descending: directions[at], nulls_first: directions[at + 4] }).collect();
        let values: Vec<[Datum<'_>; 4]> = rows.iter().map(|(number, bytes, numeric, float)| [
            number.map_or(Datum::Null, Datum::Int),
            bytes.as_deref().map_or(Datum::Null, Datum::Bytes),
            numeric.as_deref().map_or(Datum::Null, Datum::Bytes),
            Datum::Float(*float),
        ]).collect();
        let keys: Vec<Vec<u8>> = values.iter().map(|values| {
            let mut key = Vec::new();
            encode(&columns, values, &mut key).expect("encode");
            key
        }).collect();
        let mut expected = Ordering::Equal;
        for (at, column) in columns.iter().enumerate() {
            let (a, b) = (values[0][at], values[1][at]);
            expected = expected.then_with(|| match (a.is_null(), b.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) => if column.nulls_first { Ordering::Less } else { Ordering::Greater },
                (false, true) => if column.nulls_first { Ordering::Greater } else { Ordering::Less },
                (false, false) => {
                    let order = compare::compare(column.kind, a, b);
                    if column.descending { order.reverse() } else { order }
                }
            });
        }
        prop_assert_eq!(keys[0].cmp(&keys[1]), expected);
        let arena = Arena::new();
        let types = [Oid::INT8, Oid::BYTEA, Oid::NUMERIC, Oid::FLOAT8];
        let mut back = [Datum::Null; 4];
        let rest = decode(&columns, &types, &keys[0], &arena, &mut back).expect("decode");
        prop_assert!(rest.is_empty());
        for (at, column) in columns.iter().enumerate() {
            prop_assert_eq!(back[at].is_null(), values[0][at].is_null());
            if !back[at].is_null() {
                prop_assert!(compare::compare(column.kind, back[at], values[0][at]).is_eq());
            }
        }
    }

    #[test]
    fn texts_and_arrays_of_them_are_ordered(a in proptest::collection::vec("[a-c\u{1}\u{2}]{0,4}", 0..4), b in proptest::collection::vec("[a-c\u{1}\u{2}]{0,4}", 0..4)) {
        let stored = |texts: &[String]| {
            let elements: Vec<Datum<'_>> = texts.iter().map(|text| Datum::text(text)).collect();
            array::encode_list(Oid::TEXT, &elements).expect("array")
        };
        let (x, y) = (stored(&a), stored(&b));
        let column = KeyColumn::ascending(Kind::Array);
        prop_assert_eq!(key_of(column, Datum::Bytes(&x)).cmp(&key_of(column, Datum::Bytes(&y))), a.cmp(&b));
        prop_assert_eq!(compare::compare(Kind::Array, Datum::Bytes(&x), Datum::Bytes(&y)), a.cmp(&b));
    }

    #[test]
    fn any_bytes_are_a_key_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let arena = Arena::new();
        for row in table::TABLE {
            for column in [KeyColumn::ascending(row.kind), KeyColumn::descending(row.kind)] {
                let mut back = [Datum::Null];
                if decode(&[column], &[row.oid], &bytes, &arena, &mut back).is_ok() && !back[0].is_null() {
                    // Whatever was read can be written; the bytes need not be the same, for damage may look like a value.
                    let _ = encode_column(column, back[0], &mut Vec::new());
                }
            }
        }
    }
}
