//! Templates, by PostgreSQL's answers.

use super::{Ordinal, number_print, number_read, print, read};
use crate::datetime::Zone;

#[test]
fn ordinals_have_their_letters() {
    for (digits, letters) in
        [("1", "st"), ("2", "nd"), ("3", "rd"), ("4", "th"), ("11", "th"), ("113", "th"), ("21", "st")]
    {
        assert_eq!(Ordinal::Lower.of(digits.as_bytes()), letters, "{digits}");
    }
}

#[test]
fn a_name_is_padded_and_its_case_is_the_fields() {
    let shown =
        |template| print::timestamp(0, template).expect(template).map(|text| String::from_utf8(text).expect("text"));
    assert_eq!(shown("Day|DAY|FMday|Dy").as_deref(), Some("Saturday |SATURDAY |saturday|Sat"));
    assert_eq!(shown("\"YYYY\" YYYY \\\"Q").as_deref(), Some("YYYY 2000 \"1"));
    assert_eq!(shown(""), None);
}

#[test]
fn a_number_takes_its_places() {
    let shown =
        |value, template| String::from_utf8(number_print::int4(value, template).expect(template)).expect("text");
    assert_eq!(shown(485, "999"), " 485");
    assert_eq!(shown(-485, "S9990"), " -485");
    assert_eq!(shown(1485, "9,999"), " 1,485");
    assert_eq!(shown(1485, "999"), " ###");
    assert_eq!(shown(485, "FMRN"), "CDLXXXV");
}

#[test]
fn what_was_written_is_read() {
    let read = |text, template| number_read::number(text, template).expect(text).map(|value| value.to_text());
    assert_eq!(read("-34,338,492.654", "99G999G999D99").as_deref(), Some("-34338492.65"));
    assert_eq!(read("", ""), None);
    assert_eq!(super::read::date("2000 061", "YYYY DDD").expect("date"), 60);
    assert_eq!(
        read::timestamptz("2000-01-01 00:00 +1", "YYYY-MM-DD HH24:MI TZH", &Zone::UTC).expect("time"),
        -3_600_000_000
    );
}
