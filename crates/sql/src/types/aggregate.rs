//! The table of aggregates, and the states they are computed in.
//!
//! An aggregate is an [`AggOp`]; a plan holds it with the type it works on as an [`AggCall`]. The executor keeps an
//! [`Accumulator`] for each group, adds rows to it and asks it for its value. `DISTINCT`, `ORDER BY` and `FILTER` inside a
//! call are the executor's: they decide which rows are added, and in which order.
//!
//! Rules
//! 1. Nulls are not added, except to `array_agg` and `count(*)`.
//! 2. The value of no rows is null, except of the counts.
//! 3. Sums of integers are kept in 128 bits and checked against the result's type at the end, so their order does not
//!    matter. Sums of floats depend on it, as PostgreSQL's do.
//! 4. A state is memory of one request; [`Accumulator::bytes`] is what a group's account is charged for.

use super::datetime::Interval;
use super::numeric::Numeric;
use super::table::{self, Kind, Oid};
use super::{Datum, EvalCtx, array, compare, float, int};
use base::{Error, Result};

/// What an aggregate does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AggOp {
    /// `count(*)`
    CountRows,
    /// `count(x)`
    Count,
    /// `sum` of `smallint` and `integer`, which is a `bigint`.
    SumInt,
    /// `sum` of `bigint`, which is a `numeric`.
    SumInt8,
    /// `sum` of `real`.
    SumFloat4,
    /// `sum` of `double precision`.
    SumFloat8,
    /// `sum` of `numeric`.
    SumNumeric,
    /// `avg` of integers, which is a `numeric`.
    AvgInt,
    /// `avg` of floats.
    AvgFloat,
    /// `avg` of `numeric`.
    AvgNumeric,
    /// `sum` of `interval`.
    SumInterval,
    /// `avg` of `interval`.
    AvgInterval,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// `bool_and`, `every`
    BoolAnd,
    /// `bool_or`
    BoolOr,
    /// `string_agg`
    StringAgg,
    /// `array_agg`
    ArrayAgg,
}

/// An aggregate's row.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate {
    /// `pg_proc.oid`.
    pub oid: Oid,
    /// `pg_proc.proname`.
    pub name: &'static str,
    /// The types of its arguments; none for `count(*)`.
    pub args: &'static [Oid],
    /// The type of its result.
    pub result: Oid,
    /// What it does.
    pub op: AggOp,
}

/// An aggregate in a plan.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AggCall {
    /// What it does.
    pub op: AggOp,
    /// How its first argument's values are represented.
    pub kind: Kind,
    /// The type of its first argument, after coercion.
    pub argument: Oid,
}

impl AggCall {
    /// The call of an aggregate on an argument of this type.
    pub fn new(op: AggOp, argument: Oid) -> AggCall {
        AggCall { op, kind: table::kind(argument), argument }
    }
}

/// The aggregates of a name, which differ in their arguments.
pub fn by_name(name: &str) -> &'static [Aggregate] {
    let start = TABLE.partition_point(|row| row.name < name);
    let count = TABLE[start..].iter().take_while(|row| row.name == name).count();
    &TABLE[start..start + count]
}

/// A datum with bytes of its own.
#[derive(Clone, Debug)]
enum Owned {
    Value(Datum<'static>),
    Bytes(Vec<u8>),
}

impl Owned {
    fn new(datum: Datum<'_>) -> Owned {
        match datum {
            Datum::Null => Owned::Value(Datum::Null),
            Datum::Bool(value) => Owned::Value(Datum::Bool(value)),
            Datum::Int(value) => Owned::Value(Datum::Int(value)),
            Datum::Float(value) => Owned::Value(Datum::Float(value)),
            Datum::Bytes(bytes) => Owned::Bytes(bytes.to_vec()),
        }
    }

    fn as_datum(&self) -> Datum<'_> {
        match self {
            Owned::Value(value) => *value,
            Owned::Bytes(bytes) => Datum::Bytes(bytes),
        }
    }
}

/// The state of one aggregate over one group.
#[derive(Clone, Debug)]
pub struct Accumulator {
    /// How many values have been added.
    count: i64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// No value yet, and for the counts never one.
    Empty,
    Int(i128),
    Float(f64),
    Numeric(Numeric),
    Interval(Interval),
    Value(Owned),
    Text(Vec<u8>),
    Values(Vec<Owned>),
}

impl Default for Accumulator {
    fn default() -> Accumulator {
        Accumulator::new()
    }
}

impl Accumulator {
    /// The state before the first row.
    pub fn new() -> Accumulator {
        Accumulator { count: 0, state: State::Empty }
    }

    /// The memory that the state holds outside itself.
    pub fn bytes(&self) -> usize {
        match &self.state {
            State::Empty | State::Int(_) | State::Float(_) | State::Interval(_) | State::Value(Owned::Value(_)) => 0,
            State::Numeric(value) => value.heap_bytes(),
            State::Value(Owned::Bytes(bytes)) | State::Text(bytes) => bytes.capacity(),
            State::Values(values) => {
                let own = values.iter().map(|value| match value {
                    Owned::Bytes(bytes) => bytes.capacity(),
                    Owned::Value(_) => 0,
                });
                own.sum::<usize>() + values.capacity() * size_of::<Owned>()
            }
        }
    }

    /// Adds a row's arguments.
    #[inline]
    pub fn add(&mut self, call: AggCall, args: &[Datum<'_>]) -> Result<()> {
        let value = args.first().copied().unwrap_or(Datum::Null);
        if value.is_null() && !matches!(call.op, AggOp::CountRows | AggOp::ArrayAgg) {
            return Ok(());
        }
        self.count += 1;
        match call.op {
            AggOp::CountRows | AggOp::Count => {}
            AggOp::SumInt | AggOp::SumInt8 | AggOp::AvgInt => {
                let value = i128::from(value.int());
                match &mut self.state {
                    State::Int(sum) => *sum += value,
                    state => *state = State::Int(value),
                }
            }
            AggOp::SumFloat4 | AggOp::SumFloat8 | AggOp::AvgFloat => {
                let value = value.float();
                match &mut self.state {
                    State::Float(sum) => {
                        let infinite = sum.is_infinite() || value.is_infinite();
                        let total = *sum + value;
                        let total = if call.op == AggOp::SumFloat4 { f64::from(total as f32) } else { total };
                        *sum = float::check_overflow(total, infinite)?;
                    }
                    state => *state = State::Float(value),
                }
            }
            AggOp::SumNumeric | AggOp::AvgNumeric => {
                let value = Numeric::decode(value.bytes())?;
                match &mut self.state {
                    State::Numeric(sum) => *sum = sum.add(&value),
                    state => *state = State::Numeric(value),
                }
            }
            AggOp::SumInterval | AggOp::AvgInterval => {
                let value = Interval::decode(value.bytes())?;
                self.state = State::Interval(match &self.state {
                    State::Interval(sum) => sum.plus(value)?,
                    _ => value,
                });
            }
            AggOp::Min | AggOp::Max => {
                let better = match &self.state {
                    State::Value(best) => {
                        let order = compare::compare(call.kind, value, best.as_datum());
                        if call.op == AggOp::Min { order.is_lt() } else { order.is_gt() }
                    }
                    _ => true,
                };
                if better {
                    self.state = State::Value(Owned::new(value));
                }
            }
            AggOp::BoolAnd | AggOp::BoolOr => {
                let value = value.bool();
                let so_far = match &self.state {
                    State::Value(Owned::Value(Datum::Bool(so_far))) => *so_far,
                    _ => value,
                };
                let now = if call.op == AggOp::BoolAnd { so_far && value } else { so_far || value };
                self.state = State::Value(Owned::Value(Datum::Bool(now)));
            }
            AggOp::StringAgg => {
                let delimiter = args.get(1).copied().unwrap_or(Datum::Null);
                match &mut self.state {
                    State::Text(text) => {
                        let delimiter = if delimiter.is_null() { &[][..] } else { delimiter.bytes() };
                        let more = delimiter.len() + value.bytes().len();
                        if text.len() + more > super::text::BYTES_MAX {
                            return Err(super::text::too_long());
                        }
                        text.try_reserve(more).map_err(|_| Error::out_of_memory("string_agg", more))?;
                        text.extend_from_slice(delimiter);
                        text.extend_from_slice(value.bytes());
                    }
                    state => *state = State::Text(value.bytes().to_vec()),
                }
            }
            AggOp::ArrayAgg => match &mut self.state {
                State::Values(values) => {
                    values.try_reserve(1).map_err(|_| Error::out_of_memory("array_agg", size_of::<Owned>()))?;
                    values.push(Owned::new(value));
                }
                state => *state = State::Values(vec![Owned::new(value)]),
            },
        }
        Ok(())
    }

    /// Can rows be taken out of an aggregate again, so that nothing is left of them?
    pub fn can_remove(op: AggOp) -> bool {
        matches!(op, AggOp::CountRows | AggOp::Count | AggOp::SumInt | AggOp::SumInt8 | AggOp::AvgInt)
    }

    /// Takes the arguments of a row out again that was added, of an aggregate that can do so.
    pub fn remove(&mut self, call: AggCall, args: &[Datum<'_>]) {
        let value = args.first().copied().unwrap_or(Datum::Null);
        if value.is_null() && call.op != AggOp::CountRows {
            return;
        }
        self.count -= 1;
        if let State::Int(sum) = &mut self.state {
            *sum -= i128::from(value.int());
        }
        if self.count == 0 {
            self.state = State::Empty;
        }
    }

    /// The value of what has been added.
    pub fn finish<'a>(&self, call: AggCall, ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
        let numeric = |value: Numeric| Ok(Datum::Bytes(value.encode(|bytes| ctx.arena.copy(bytes))??));
        match (&self.state, call.op) {
            (_, AggOp::CountRows | AggOp::Count) => Ok(Datum::Int(self.count)),
            (State::Empty, _) => Ok(Datum::Null),
            (State::Int(sum), AggOp::SumInt) => {
                i64::try_from(*sum).map(Datum::Int).map_err(|_| int::out_of_range("bigint"))
            }
            (State::Int(sum), AggOp::AvgInt) => numeric(Numeric::from_int(*sum).divide(&self.divisor())?),
            (State::Int(sum), _) => numeric(Numeric::from_int(*sum)),
            (State::Float(sum), AggOp::AvgFloat) => Ok(Datum::Float(sum / self.count as f64)),
            (State::Float(sum), _) => Ok(Datum::Float(*sum)),
            (State::Numeric(sum), AggOp::AvgNumeric) => numeric(sum.divide(&self.divisor())?),
            (State::Numeric(sum), _) => numeric(sum.clone()),
            (State::Interval(sum), AggOp::AvgInterval) => {
                Ok(Datum::Bytes(ctx.arena.copy(&sum.divide(self.count as f64)?.encode())?))
            }
            (State::Interval(sum), _) => Ok(Datum::Bytes(ctx.arena.copy(&sum.encode())?)),
            (State::Value(value), _) => ctx.arena.keep(value.as_datum()),
            (State::Text(text), _) => Ok(Datum::Bytes(ctx.arena.copy(text)?)),
            (State::Values(values), _) => {
                let elements: Vec<Datum<'_>> = values.iter().map(Owned::as_datum).collect();
                Ok(Datum::Bytes(ctx.arena.copy(&array::encode_list(call.argument, &elements)?)?))
            }
        }
    }

    fn divisor(&self) -> Numeric {
        Numeric::from_int(self.count.into())
    }
}

macro_rules! aggregates {
    ($($oid:literal $name:literal [$($arg:ident)*] $result:ident $op:ident;)*) => {
        /// Every aggregate, sorted by name.
        pub static TABLE: &[Aggregate] = &[$(Aggregate {
            oid: Oid($oid),
            name: $name,
            args: &[$(Oid::$arg),*],
            result: Oid::$result,
            op: AggOp::$op,
        }),*];
    };
}

// oid, name, arguments, result, operation
#[rustfmt::skip]
aggregates! {
    2335 "array_agg" [ANYNONARRAY] ANYARRAY ArrayAgg;
    2100 "avg" [INT8] NUMERIC AvgInt;
    2101 "avg" [INT4] NUMERIC AvgInt;
    2102 "avg" [INT2] NUMERIC AvgInt;
    2103 "avg" [NUMERIC] NUMERIC AvgNumeric;
    2104 "avg" [FLOAT4] FLOAT8 AvgFloat;
    2105 "avg" [FLOAT8] FLOAT8 AvgFloat;
    2106 "avg" [INTERVAL] INTERVAL AvgInterval;
    2517 "bool_and" [BOOL] BOOL BoolAnd;
    2518 "bool_or" [BOOL] BOOL BoolOr;
    2147 "count" [ANY] INT8 Count;
    2803 "count" [] INT8 CountRows;
    2519 "every" [BOOL] BOOL BoolAnd;
    2050 "max" [ANYARRAY] ANYARRAY Max;
    2115 "max" [INT8] INT8 Max;
    2116 "max" [INT4] INT4 Max;
    2117 "max" [INT2] INT2 Max;
    2118 "max" [OID] OID Max;
    2119 "max" [FLOAT4] FLOAT4 Max;
    2120 "max" [FLOAT8] FLOAT8 Max;
    2122 "max" [DATE] DATE Max;
    2123 "max" [TIME] TIME Max;
    2126 "max" [TIMESTAMP] TIMESTAMP Max;
    2127 "max" [TIMESTAMPTZ] TIMESTAMPTZ Max;
    2128 "max" [INTERVAL] INTERVAL Max;
    2129 "max" [TEXT] TEXT Max;
    2130 "max" [NUMERIC] NUMERIC Max;
    2244 "max" [BPCHAR] BPCHAR Max;
    2051 "min" [ANYARRAY] ANYARRAY Min;
    2131 "min" [INT8] INT8 Min;
    2132 "min" [INT4] INT4 Min;
    2133 "min" [INT2] INT2 Min;
    2134 "min" [OID] OID Min;
    2135 "min" [FLOAT4] FLOAT4 Min;
    2136 "min" [FLOAT8] FLOAT8 Min;
    2138 "min" [DATE] DATE Min;
    2139 "min" [TIME] TIME Min;
    2142 "min" [TIMESTAMP] TIMESTAMP Min;
    2143 "min" [TIMESTAMPTZ] TIMESTAMPTZ Min;
    2144 "min" [INTERVAL] INTERVAL Min;
    2145 "min" [TEXT] TEXT Min;
    2146 "min" [NUMERIC] NUMERIC Min;
    2245 "min" [BPCHAR] BPCHAR Min;
    3538 "string_agg" [TEXT TEXT] TEXT StringAgg;
    2107 "sum" [INT8] NUMERIC SumInt8;
    2108 "sum" [INT4] INT8 SumInt;
    2109 "sum" [INT2] INT8 SumInt;
    2110 "sum" [FLOAT4] FLOAT4 SumFloat4;
    2111 "sum" [FLOAT8] FLOAT8 SumFloat8;
    2113 "sum" [INTERVAL] INTERVAL SumInterval;
    2114 "sum" [NUMERIC] NUMERIC SumNumeric;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::datetime::Style;
    use crate::types::{Arena, Type, io};

    /// Runs an aggregate over values in their text form; `None` is null.
    fn run(name: &str, oid: Oid, values: &[Option<&str>]) -> String {
        let of = |wanted: &dyn Fn(Oid) -> bool| {
            by_name(name).iter().find(|row| row.args.first().is_some_and(|oid| wanted(*oid)))
        };
        let row = of(&|first| first == oid).or_else(|| of(&|first| table::kind(first) == Kind::Pseudo)).expect(name);
        let arena = Arena::new();
        let call = AggCall::new(row.op, oid);
        let mut accumulator = Accumulator::new();
        for value in values {
            let datum =
                value.map_or(Datum::Null, |text| io::input(Type::plain(oid), text, &arena, &Style::PLAIN).expect(text));
            accumulator.add(call, &[datum, Datum::text(", ")]).expect(name);
        }
        let result = match (row.result, row.op) {
            (Oid::ANYARRAY, AggOp::ArrayAgg) => table::array_of(oid).expect(name),
            (Oid::ANYARRAY, _) => oid,
            (result, _) => result,
        };
        match accumulator.finish(call, &EvalCtx::plain(&arena)) {
            Ok(Datum::Null) => "null".to_owned(),
            Ok(datum) => {
                let mut out = Vec::new();
                io::output(table::kind(result), datum, &Style::PLAIN, &mut out).expect(name);
                String::from_utf8(out).expect("UTF-8")
            }
            Err(error) => format!("ERR {}", error.message()),
        }
    }

    #[test]
    fn values_are_postgresqls() {
        let big = "9223372036854775807";
        let table: &[(&str, Oid, &[Option<&str>], &str)] = &[
            ("count", Oid::INT4, &[Some("1"), None, Some("3")], "2"),
            ("count", Oid::INT4, &[], "0"),
            ("sum", Oid::INT4, &[Some("1"), None, Some("3")], "4"),
            ("sum", Oid::INT4, &[], "null"),
            ("sum", Oid::INT8, &[Some(big), Some(big)], "18446744073709551614"),
            ("sum", Oid::FLOAT8, &[Some("0.1"), Some("0.2")], "0.30000000000000004"),
            ("sum", Oid::FLOAT4, &[Some("0.1"), Some("0.2")], "0.3"),
            ("sum", Oid::NUMERIC, &[Some("1.5"), Some("2.25")], "3.75"),
            ("sum", Oid::NUMERIC, &[Some("1.5"), Some("NaN")], "NaN"),
            ("avg", Oid::INT4, &[Some("1"), Some("2")], "1.5000000000000000"),
            ("avg", Oid::INT8, &[Some(big), Some(big)], "9223372036854775807"),
            ("avg", Oid::INT2, &[Some("1"), Some("1"), Some("2")], "1.3333333333333333"),
            ("avg", Oid::FLOAT8, &[Some("1"), Some("2")], "1.5"),
            ("avg", Oid::NUMERIC, &[Some("1.0"), Some("2")], "1.5000000000000000"),
            ("avg", Oid::NUMERIC, &[None], "null"),
            ("min", Oid::INT4, &[Some("3"), Some("-1"), None], "-1"),
            ("max", Oid::TEXT, &[Some("a"), Some("b"), Some("B")], "b"),
            ("max", Oid::FLOAT8, &[Some("1"), Some("NaN")], "NaN"),
            ("min", Oid::NUMERIC, &[Some("1.50"), Some("1.5")], "1.50"),
            ("max", Oid::TIMESTAMP, &[Some("2020-01-01"), Some("infinity")], "infinity"),
            ("min", Oid::INT4_ARRAY, &[Some("{2}"), Some("{1,9}")], "{1,9}"),
            ("bool_and", Oid::BOOL, &[Some("t"), Some("f"), None], "f"),
            ("bool_or", Oid::BOOL, &[Some("f"), Some("t")], "t"),
            ("every", Oid::BOOL, &[], "null"),
            ("string_agg", Oid::TEXT, &[Some("a"), None, Some("b")], "a, b"),
            ("array_agg", Oid::INT4, &[Some("1"), None, Some("3")], "{1,NULL,3}"),
            ("array_agg", Oid::TEXT, &[], "null"),
        ];
        for (name, oid, values, expected) in table {
            assert_eq!(run(name, *oid, values), *expected, "{name} of {oid:?} {values:?}");
        }
    }

    #[test]
    fn sums_that_do_not_fit_are_refused() {
        let call = AggCall::new(AggOp::SumFloat8, Oid::FLOAT8);
        let mut sum = Accumulator::new();
        sum.add(call, &[Datum::Float(1e308)]).expect("first");
        let error = sum.add(call, &[Datum::Float(1e308)]).expect_err("overflow");
        assert_eq!(error.message(), "value out of range: overflow");
        let call = AggCall::new(AggOp::SumInt, Oid::INT4);
        let sum = Accumulator { count: 1, state: State::Int(i128::from(i64::MAX) + 1) };
        let error = sum.finish(call, &EvalCtx::plain(&Arena::new())).expect_err("overflow");
        assert_eq!(error.message(), "bigint out of range");
    }
}
