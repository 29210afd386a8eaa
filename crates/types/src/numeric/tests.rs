//! What PostgreSQL 15 answers, in tables; and what must hold for any number.

use super::*;
use proptest::prelude::*;

fn number(text: &str) -> Numeric {
    Numeric::parse(text).expect(text)
}

fn evaluate(operation: &str, a: &str, b: &str) -> Result<Numeric> {
    let first = Numeric::parse(a)?;
    let second = || number(b);
    let digits = || b.parse().expect(b);
    Ok(match operation {
        "in" => first,
        "add" => first.add(&second()),
        "sub" => first.subtract(&second()),
        "mul" => first.multiply(&second())?,
        "div" => first.divide(&second())?,
        "mod" => first.remainder(&second())?,
        "idiv" => first.divide_truncated(&second())?,
        "sqrt" => first.sqrt()?,
        "exp" => first.exp()?,
        "ln" => first.ln()?,
        "log" => second().log(&first)?,
        "pow" => first.power(&second())?,
        "round" => first.round(digits())?,
        "trunc" => first.truncate(digits())?,
        "ceil" => first.ceiling()?,
        "floor" => first.floor()?,
        other => panic!("{other}"),
    })
}

/// Operation, operands, what PostgreSQL prints.
#[rustfmt::skip]
const ANSWERS: &[(&str, &str, &str, &str)] = &[
    ("in", "0", "", "0"),
    ("in", "-0", "", "0"),
    ("in", "007", "", "7"),
    ("in", "1.50", "", "1.50"),
    ("in", ".5", "", "0.5"),
    ("in", "5.", "", "5"),
    ("in", " 12.30 ", "", "12.30"),
    ("in", "1e5", "", "100000"),
    ("in", "1.5e3", "", "1500"),
    ("in", "1e-5", "", "0.00001"),
    ("in", "1.5E+2", "", "150"),
    ("in", "-1.25e-1", "", "-0.125"),
    ("in", "NaN", "", "NaN"),
    ("in", "nan", "", "NaN"),
    ("in", "Infinity", "", "Infinity"),
    ("in", "-inf", "", "-Infinity"),
    ("in", "+1", "", "1"),
    ("in", "123456789012345678901234567890123456789012345.678", "", "123456789012345678901234567890123456789012345.678"),
    ("in", "0.000", "", "0.000"),
    ("in", "1e38", "", "100000000000000000000000000000000000000"),
    ("in", "1e39", "", "1000000000000000000000000000000000000000"),
    ("in", "-99999999999999999999999999999999999999999", "", "-99999999999999999999999999999999999999999"),
    ("add", "1", "2", "3"),
    ("sub", "1", "2", "-1"),
    ("add", "1.10", "2.005", "3.105"),
    ("sub", "1.10", "2.005", "-0.905"),
    ("add", "99999999999999999999999999999999999999", "1", "100000000000000000000000000000000000000"),
    ("sub", "99999999999999999999999999999999999999", "1", "99999999999999999999999999999999999998"),
    ("add", "1e-10", "1e10", "10000000000.0000000001"),
    ("sub", "1e-10", "1e10", "-9999999999.9999999999"),
    ("add", "NaN", "1", "NaN"),
    ("sub", "NaN", "1", "NaN"),
    ("add", "Infinity", "-Infinity", "NaN"),
    ("sub", "Infinity", "-Infinity", "Infinity"),
    ("add", "-1.5", "1.50", "0.00"),
    ("sub", "-1.5", "1.50", "-3.00"),
    ("mul", "1.10", "2.005", "2.20550"),
    ("mul", "99999999999999999999", "99999999999999999999.99", "9999999999999999999899000000000000000000.01"),
    ("mul", "0", "-5.55", "0.00"),
    ("mul", "Infinity", "0", "NaN"),
    ("mul", "-Infinity", "2", "-Infinity"),
    ("mul", "1e-200", "1e-200", "0.0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001"),
    ("div", "1", "3", "0.33333333333333333333"),
    ("div", "2", "3", "0.66666666666666666667"),
    ("div", "10", "2", "5.0000000000000000"),
    ("div", "100.00", "7", "14.2857142857142857"),
    ("div", "1", "30000", "0.000033333333333333333333"),
    ("div", "0", "7", "0.00000000000000000000"),
    ("div", "1e20", "7", "14285714285714285714"),
    ("div", "1", "1e20", "0.0000000000000000000100000000000000000000"),
    ("div", "123456789", "987654321.123", "0.12499999884537031266"),
    ("div", "-7", "2", "-3.5000000000000000"),
    ("div", "1", "-8", "-0.12500000000000000000"),
    ("div", "5", "Infinity", "0"),
    ("div", "-Infinity", "3", "-Infinity"),
    ("div", "22", "7.0000", "3.1428571428571429"),
    ("div", "0.0001", "3", "0.000033333333333333333333"),
    ("div", "99999999999999999999999999999999999999", "7", "14285714285714285714285714285714285714"),
    ("mod", "7", "3", "1"),
    ("idiv", "7", "3", "2"),
    ("mod", "-7", "3", "-1"),
    ("idiv", "-7", "3", "-2"),
    ("mod", "7.5", "-2", "1.5"),
    ("idiv", "7.5", "-2", "-3"),
    ("mod", "1e30", "7", "1"),
    ("idiv", "1e30", "7", "142857142857142857142857142857"),
    ("mod", "5", "Infinity", "5"),
    ("idiv", "5", "Infinity", "0"),
    ("mod", "Infinity", "5", "NaN"),
    ("idiv", "Infinity", "5", "Infinity"),
    ("sqrt", "2", "", "1.414213562373095"),
    ("sqrt", "4", "", "2.000000000000000"),
    ("sqrt", "0", "", "0.000000000000000"),
    ("sqrt", "1e10", "", "100000.00000000000"),
    ("sqrt", "0.0001", "", "0.01000000000000000"),
    ("sqrt", "123456789.987654321", "", "11111.11110500000"),
    ("sqrt", "1e40", "", "100000000000000000000"),
    ("sqrt", "NaN", "", "NaN"),
    ("sqrt", "0.25", "", "0.50000000000000000"),
    ("exp", "0", "", "1.0000000000000000"),
    ("exp", "1", "", "2.7182818284590452"),
    ("exp", "-1", "", "0.3678794411714423"),
    ("exp", "10.5", "", "36315.502674246638"),
    ("exp", "100", "", "26881171418161354484126255515800135873611119"),
    ("exp", "0.0001", "", "1.0001000050001667"),
    ("exp", "-50", "", "0.0000000000000000000001928749847963918"),
    ("ln", "1", "", "0.0000000000000000"),
    ("ln", "2", "", "0.6931471805599453"),
    ("ln", "10", "", "2.3025850929940457"),
    ("ln", "0.5", "", "-0.6931471805599453"),
    ("ln", "1.0001", "", "0.00009999500033330834"),
    ("ln", "1e30", "", "69.077552789821371"),
    ("ln", "123.456", "", "4.8158848172832639"),
    ("ln", "1e-10", "", "-23.025850929940457"),
    ("log", "10", "100", "2.0000000000000000"),
    ("log", "2", "1024", "10.0000000000000000"),
    ("log", "10", "0.001", "-3.0000000000000000"),
    ("log", "2.5", "7", "2.1236820163783649"),
    ("log", "10", "3", "0.4771212547196624"),
    ("pow", "2", "10", "1024.0000000000000000"),
    ("pow", "2", "0.5", "1.4142135623730950"),
    ("pow", "2", "-2", "0.2500000000000000"),
    ("pow", "10", "20", "100000000000000000000.0000000000000000"),
    ("pow", "1.1", "100", "13780.6123398222701841"),
    ("pow", "0", "0", "1.0000000000000000"),
    ("pow", "-2", "3", "-8.0000000000000000"),
    ("pow", "9.5", "1.5", "29.280966514102638"),
    ("pow", "0", "5", "0.0000000000000000"),
    ("pow", "1", "Infinity", "1"),
    ("pow", "NaN", "0", "1"),
    ("pow", "2.0", "40", "1099511627776.0000000000000000"),
    ("pow", "0.5", "60", "0.0000000000000000"),
    ("pow", "-8", "-3", "-0.0019531250000000"),
    ("round", "2.5", "0", "3"),
    ("trunc", "2.5", "0", "2"),
    ("round", "-2.5", "0", "-3"),
    ("trunc", "-2.5", "0", "-2"),
    ("round", "1234.5678", "2", "1234.57"),
    ("trunc", "1234.5678", "2", "1234.56"),
    ("round", "1234.5678", "-2", "1200"),
    ("trunc", "1234.5678", "-2", "1200"),
    ("round", "1e-5", "3", "0.000"),
    ("trunc", "1e-5", "3", "0.000"),
    ("round", "149", "-2", "100"),
    ("trunc", "149", "-2", "100"),
    ("round", "150", "-2", "200"),
    ("trunc", "150", "-2", "100"),
    ("round", "9.995", "2", "10.00"),
    ("trunc", "9.995", "2", "9.99"),
    ("ceil", "1.2", "", "2"),
    ("floor", "1.2", "", "1"),
    ("ceil", "-1.2", "", "-1"),
    ("floor", "-1.2", "", "-2"),
    ("ceil", "1", "", "1"),
    ("floor", "1", "", "1"),
    ("ceil", "-0.5", "", "0"),
    ("floor", "-0.5", "", "-1"),
    ("ceil", "0.5", "", "1"),
    ("floor", "0.5", "", "0"),
];

#[test]
fn answers_are_postgresqls() {
    for (operation, a, b, expected) in ANSWERS {
        let shown = evaluate(operation, a, b).map_err(|error| error.message().to_owned());
        let shown = shown.map_or_else(|message| format!("ERR {message}"), |value| value.to_text());
        assert_eq!(&shown, expected, "{operation} {a} {b}");
    }
}

#[test]
fn bad_texts_and_impossible_operations_are_refused() {
    for text in ["", " ", "x", "1x", "1.2.3", "1e", "1e+", "--1", "-NaN", ".", "1 2", "0x1", "e5"] {
        let error = Numeric::parse(text).expect_err(text);
        assert_eq!(error.sqlstate().as_str(), "22P02", "{text}");
        assert_eq!(error.message(), format!("invalid input syntax for type numeric: \"{text}\""));
    }
    for (operation, a, b, message) in [
        ("in", "1e200000", "", "value overflows numeric format"),
        ("in", "1e-16384", "", "value overflows numeric format"),
        ("in", "1e99999999999999999999", "", "value overflows numeric format"),
        ("div", "1", "0", "division by zero"),
        ("mod", "1", "0.00", "division by zero"),
        ("div", "Infinity", "0", "division by zero"),
        ("sqrt", "-1", "", "cannot take square root of a negative number"),
        ("ln", "0", "", "cannot take logarithm of zero"),
        ("ln", "-1", "", "cannot take logarithm of a negative number"),
        ("pow", "0", "-1", "zero raised to a negative power is undefined"),
        ("pow", "-1", "0.5", "a negative number raised to a non-integer power yields a complex result"),
        ("exp", "6000", "", "value overflows numeric format"),
        ("pow", "10", "131073", "value overflows numeric format"),
    ] {
        let error = evaluate(operation, a, b).expect_err(message);
        assert_eq!(error.message(), message, "{operation} {a} {b}");
    }
}

#[test]
fn type_modifiers_round_and_refuse() {
    let table = [
        ("1234.567", 6, 2, Ok("1234.57")),
        ("99.995", 4, 2, Err("A field with precision 4, scale 2 must round to an absolute value less than 10^2.")),
        ("0.5", 2, 2, Ok("0.50")),
        ("1", 2, 2, Err("A field with precision 2, scale 2 must round to an absolute value less than 1.")),
        ("0.009999", 2, 4, Err("A field with precision 2, scale 4 must round to an absolute value less than 10^-2.")),
        ("0.0049", 2, 4, Ok("0.0049")),
        ("12345", 2, -3, Ok("12000")),
        ("NaN", 2, 1, Ok("NaN")),
        ("Infinity", 2, 1, Err("A field with precision 2, scale 1 cannot hold an infinite value.")),
    ];
    for (text, precision, scale, expected) in table {
        let modifier = Numeric::typmod(precision, scale).expect("modifier");
        assert_eq!(text::precision_and_scale(modifier), Some((precision, scale)));
        match (number(text).with_typmod(modifier), expected) {
            (Ok(value), Ok(shown)) => assert_eq!(value.to_text(), shown, "{text}"),
            (Err(error), Err(detail)) => {
                assert_eq!(error.message(), "numeric field overflow");
                assert_eq!(error.detail_text(), Some(detail), "{text}");
            }
            (got, expected) => panic!("{text}: {got:?} where {expected:?} is right"),
        }
    }
    assert!(Numeric::typmod(0, 0).is_err() && Numeric::typmod(1001, 0).is_err() && Numeric::typmod(5, 1001).is_err());
    assert_eq!(text::precision_and_scale(-1), None);
}

#[test]
fn order_is_postgresqls() {
    let ordered = ["-Infinity", "-1e50", "-2", "-1.5", "0", "0.0001", "1", "1.50", "1e20", "1e50", "Infinity", "NaN"];
    for (at, a) in ordered.iter().enumerate() {
        for (other, b) in ordered.iter().enumerate() {
            assert_eq!(number(a).compare(&number(b)), at.cmp(&other), "{a} {b}");
        }
    }
    assert!(number("1.50").compare(&number("1.5")).is_eq());
    assert!(number("1e40").compare(&number("10000000000000000000000000000000000000000.000")).is_eq());
}

#[test]
fn stored_forms_are_short_and_damage_is_found() {
    for (text, bytes) in [
        ("0", &[0][..]),
        ("12.50", &[2, 0xE2, 0x04]),
        ("-1", &[0x40, 1]),
        ("0.000", &[3]),
        ("NaN", &[NAN]),
        ("-Infinity", &[NEG_INFINITY]),
    ] {
        assert_eq!(number(text).to_bytes().expect(text), bytes, "{text}");
    }
    for damaged in
        [&[][..], &[0x40], &[0, 0], &[0, 1, 0], &[0x80], &[0x80, 1, 0, 5], &[NAN, 0], &[0xFF], &[0x80, 0, 0x40, 1]]
    {
        let error = Numeric::decode(damaged).expect_err("damage");
        assert_eq!(error.sqlstate().as_str(), "XX001", "{damaged:?}");
    }
}

#[test]
fn the_wire_form_is_postgresqls() {
    let table: &[(&str, &[u16])] = &[
        ("0", &[0, 0, 0, 0]),
        ("1", &[1, 0, 0, 0, 1]),
        ("-12345.678", &[3, 1, 0x4000, 3, 1, 2345, 6780]),
        ("0.0001", &[1, 0xFFFF, 0, 4, 1]),
        ("10000", &[1, 1, 0, 0, 1]),
        ("1.00", &[1, 0, 0, 2, 1]),
        ("NaN", &[0, 0, 0xC000, 0]),
        ("Infinity", &[0, 0, 0xD000, 0]),
        ("-Infinity", &[0, 0, 0xF000, 0]),
    ];
    for (text, words) in table {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let mut sent = Vec::new();
        number(text).send(&mut sent);
        assert_eq!(sent, bytes, "{text}");
        assert_eq!(Numeric::receive(&bytes).expect(text).to_text(), *text);
    }
    for bad in [&[0u16, 0, 0x1234, 0][..], &[1, 0, 0, 0, 10_000], &[0, 0, 0, 0x7FFF], &[1, 0, 0, 0], &[0, 0, 0, 0, 1]] {
        let bytes: Vec<u8> = bad.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(Numeric::receive(&bytes).expect_err("bad").sqlstate().as_str(), "22P03", "{bad:?}");
    }
}

#[test]
fn conversions_are_postgresqls() {
    for (text, integer) in [("2.5", 3), ("-2.5", -3), ("2.4999", 2), ("0", 0)] {
        assert_eq!(number(text).to_integer("integer").ok(), Some(integer), "{text}");
    }
    assert_eq!(number("NaN").to_integer("integer").expect_err("NaN").message(), "cannot convert NaN to integer");
    assert_eq!(number("inf").to_integer("bigint").expect_err("inf").message(), "cannot convert infinity to bigint");
    for (value, text) in [(0.1, "0.1"), (1e20, "100000000000000000000"), (1.0 / 3.0, "0.333333333333333"), (-0.0, "0")]
    {
        assert_eq!(Numeric::from_f64(value).expect(text).to_text(), text);
    }
    for (value, text) in [(0.1f32, "0.1"), (1.0 / 3.0, "0.333333"), (16_777_216.0, "16777200")] {
        assert_eq!(Numeric::from_f32(value).expect(text).to_text(), text);
    }
    for (text, value) in [("0.1", 0.1), ("123.456", 123.456), ("1e300", 1e300), ("0.3333333333333333333", 1.0 / 3.0)] {
        assert_eq!(number(text).to_f64().ok(), Some(value), "{text}");
    }
    assert!(number("1e400").to_f64().is_err());
}

fn any_number() -> impl Strategy<Value = Numeric> {
    let wide = (any::<i128>(), any::<u64>(), 0..200u32)
        .prop_map(|(high, low, scale)| Numeric::from_big(BigInt::from(high) * BigInt::from(low), scale));
    let narrow =
        (any::<i64>(), 0..30u32).prop_map(|(mantissa, scale)| Numeric::Small { mantissa: mantissa.into(), scale });
    let special =
        prop_oneof![Just(Numeric::Nan), Just(Numeric::Infinity), Just(Numeric::NegInfinity), Just(Numeric::ZERO)];
    prop_oneof![4 => narrow, 2 => wide, 1 => special]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_point_stands_where_the_scale_says(mantissa in any::<i64>(), shift in 0u32..63, scale in 1u32..22) {
        let mantissa = i128::from(mantissa >> shift);
        let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
        let sign = if mantissa < 0 { "-" } else { "" };
        prop_assert_eq!(Numeric::Small { mantissa, scale }.to_text(), format!("{sign}{whole}.{fraction}"));
    }

    #[test]
    fn every_form_reads_back(value in any_number()) {
        let bytes = value.to_bytes().expect("encode");
        let text = value.to_text();
        prop_assert_eq!(Numeric::decode(&bytes).expect("decode").to_text(), text.clone());
        prop_assert_eq!(Numeric::parse(&text).expect("parse").to_bytes().expect("encode"), bytes);
        let mut sent = Vec::new();
        value.send(&mut sent);
        prop_assert_eq!(Numeric::receive(&sent).expect("receive").to_text(), text);
        prop_assert!(value.reduced().compare(&value).is_eq());
    }

    #[test]
    fn small_and_big_arithmetic_agree(a in any::<i64>(), p in 0..12u32, b in any::<i64>(), q in 0..12u32) {
        let small = |mantissa: i64, scale| Numeric::Small { mantissa: mantissa.into(), scale };
        let big = |mantissa: i64, scale| Numeric::Big { mantissa: mantissa.into(), scale };
        let (x, y) = (small(a, p), small(b, q));
        let (v, w) = (big(a, p), big(b, q));
        prop_assert_eq!(x.add(&y).to_text(), v.add(&w).to_text());
        prop_assert_eq!(x.multiply(&y).expect("product").to_text(), v.multiply(&w).expect("product").to_text());
        prop_assert_eq!(x.compare(&y), v.compare(&w));
        if b != 0 {
            prop_assert_eq!(x.divide(&y).expect("quotient").to_text(), v.divide(&w).expect("quotient").to_text());
            prop_assert_eq!(x.remainder(&y).expect("rest").to_text(), v.remainder(&w).expect("rest").to_text());
        }
        for scale in [-3, 0, 2, 15] {
            prop_assert_eq!(x.round(scale).expect("round").to_text(), v.round(scale).expect("round").to_text());
        }
        prop_assert_eq!(x.floor().expect("floor").to_text(), v.floor().expect("floor").to_text());
    }

    #[test]
    fn any_bytes_are_a_number_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(value) = Numeric::decode(&bytes) {
            prop_assert_eq!(value.to_bytes().expect("encode"), bytes.clone());
        }
        let _ = Numeric::receive(&bytes);
    }

    #[test]
    fn order_is_total(a in any_number(), b in any_number(), c in any_number()) {
        prop_assert_eq!(a.compare(&b), b.compare(&a).reverse());
        if a.compare(&b).is_le() && b.compare(&c).is_le() {
            prop_assert!(a.compare(&c).is_le());
        }
    }
}
