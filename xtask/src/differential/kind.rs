//! The types that expressions are made of.

use fastrand::Rng;

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names of SQL's types")]
pub enum Kind {
    Integer,
    Bigint,
    Numeric,
    Text,
    Boolean,
    Date,
    Timestamp,
    Array,
    Json,
}

/// All of them.
pub const KINDS: [Kind; 9] = [
    Kind::Integer,
    Kind::Bigint,
    Kind::Numeric,
    Kind::Text,
    Kind::Boolean,
    Kind::Date,
    Kind::Timestamp,
    Kind::Array,
    Kind::Json,
];

const ARRAYS: [&str; 8] = ["{}", "{1}", "{1,2}", "{2,1,NULL}", "{NULL}", "{3,3,7,12}", "{0,-1}", "{5,4,3,2,1}"];

/// Without fractions: equal ones may be written in several ways.
const OBJECTS: [&str; 12] = [
    "1",
    "null",
    "\"a\"",
    "true",
    "[]",
    "[1, 2, 3]",
    "[null, \"b\", [1]]",
    "{}",
    "{\"a\": 1}",
    "{\"a\": \"x\", \"b\": [1, 2]}",
    "{\"b\": {\"a\": null}}",
    "[{\"a\": 2}, 7]",
];

const WORDS: [&str; 12] = ["", "a", "ab", "abc", "b", "€5", "x y", "zebra", "A", "42", "%", "a_c"];

impl Kind {
    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Integer => "integer",
            Kind::Bigint => "bigint",
            Kind::Numeric => "numeric",
            Kind::Text => "text",
            Kind::Boolean => "boolean",
            Kind::Date => "date",
            Kind::Timestamp => "timestamp",
            Kind::Array => "integer[]",
            Kind::Json => "jsonb",
        }
    }

    /// A value, as a literal of this type.
    pub fn value(self, rng: &mut Rng) -> String {
        match self {
            Kind::Integer => rng.i32(-3..=12).to_string(),
            Kind::Bigint => match rng.u8(..8) {
                0 => format!("CAST({} AS bigint)", rng.i64(-9_000_000_000..9_000_000_000)),
                _ => format!("CAST({} AS bigint)", rng.i32(-3..=30)),
            },
            Kind::Numeric => match rng.u8(..3) {
                0 => format!("{}.0", rng.i32(-5..=20)),
                1 => format!("{}.{:02}", rng.i32(-5..=20), rng.u8(..100)),
                _ => format!("{}.{:05}", rng.i32(0..=1000), rng.u32(..100_000)),
            },
            Kind::Text => format!("'{}'", WORDS[rng.usize(..WORDS.len())]),
            Kind::Boolean => ["true", "false"][rng.usize(..2)].into(),
            Kind::Date => format!("DATE '20{:02}-{:02}-{:02}'", rng.u8(19..24), rng.u8(1..=12), rng.u8(1..=28)),
            Kind::Timestamp => format!(
                "TIMESTAMP '20{:02}-{:02}-{:02} {:02}:{:02}:00'",
                rng.u8(19..24),
                rng.u8(1..=12),
                rng.u8(1..=28),
                rng.u8(..24),
                rng.u8(..60)
            ),
            Kind::Array => format!("CAST('{}' AS integer[])", ARRAYS[rng.usize(..ARRAYS.len())]),
            Kind::Json => format!("CAST('{}' AS jsonb)", OBJECTS[rng.usize(..OBJECTS.len())]),
        }
    }
}
