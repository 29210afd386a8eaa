//! The table of aggregates, and the states they are computed in.
//!
//! An aggregate is an [`AggOp`]; a plan holds it with the type it works on as an [`AggCall`]. The executor keeps an
//! [`Accumulator`] for each group, adds rows to it and asks it for its value. `DISTINCT`, `ORDER BY` and `FILTER` inside a
//! call are the executor's: they decide which rows are added, and in which order.
//!
//! Rules
//! 1. Nulls are not added, except to `array_agg`, `json_agg` and its relatives, and `count(*)`.
//! 2. The value of no rows is null, except of the counts.
//! 3. Sums of integers are kept in 128 bits and checked against the result's type at the end, so their order does not
//!    matter. Sums of floats depend on it, as PostgreSQL's do.
//! 4. What is asked of values in their order (`WITHIN GROUP`) has the values as its first arguments and the call's own ones behind
//!    them, the same for all rows of a group; the executor adds the rows in that order.
//! 5. A state is memory of one request; [`Accumulator::bytes`] is what a group's account is charged for.

mod ordered;
mod statistics;

use self::statistics::{Exact, Regression, Spread, Sums};
use super::array::{Array, Dimension};
use super::datetime::Interval;
use super::json::make::{self, Spacing};
use super::numeric::{self, Numeric};
use super::table::{self, Kind, Oid};
use super::{Arena, Datum, EvalCtx, array, compare, float, int};
use base::{Error, Result, sqlstate};

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
    /// `json_agg`
    JsonAgg,
    /// `jsonb_agg`
    JsonbAgg,
    /// `json_object_agg`, of texts and of JSON texts
    JsonObjectAgg,
    /// `jsonb_object_agg`, of texts and of stored values
    JsonbObjectAgg,
    /// `array_agg` of arrays
    ArrayAggArrays,
    /// `bit_and`
    BitAnd,
    /// `bit_or`
    BitOr,
    /// `bit_xor`
    BitXor,
    /// `var_pop`
    VarPop,
    /// `var_samp`, `variance`
    VarSamp,
    /// `stddev_pop`
    StddevPop,
    /// `stddev_samp`, `stddev`
    StddevSamp,
    /// `regr_count`
    RegrCount,
    /// `regr_avgx`
    RegrAvgX,
    /// `regr_avgy`
    RegrAvgY,
    /// `regr_sxx`
    RegrSxx,
    /// `regr_syy`
    RegrSyy,
    /// `regr_sxy`
    RegrSxy,
    /// `covar_pop`
    CovarPop,
    /// `covar_samp`
    CovarSamp,
    /// `corr`
    Corr,
    /// `regr_r2`
    RegrR2,
    /// `regr_slope`
    RegrSlope,
    /// `regr_intercept`
    RegrIntercept,
    /// `percentile_cont`
    PercentileCont,
    /// `percentile_cont` of several fractions
    PercentilesCont,
    /// `percentile_disc`
    PercentileDisc,
    /// `percentile_disc` of several fractions
    PercentilesDisc,
    /// `mode`
    Mode,
    /// `rank` of a row that is not there; its argument says whether a row comes before it.
    Rank,
    /// `dense_rank` of such a row; only rows before it are added, and equal ones once.
    DenseRank,
    /// `percent_rank` of such a row.
    PercentRank,
    /// `cume_dist` of such a row; a second argument says whether a row is equal to it.
    CumeDist,
}

impl AggOp {
    /// Does it need `WITHIN GROUP`?
    pub fn is_ordered_set(self) -> bool {
        use AggOp::*;
        self.is_hypothetical()
            || matches!(self, PercentileCont | PercentilesCont | PercentileDisc | PercentilesDisc | Mode)
    }

    /// Rows whose first argument is null are added too.
    pub fn takes_nulls(self) -> bool {
        matches!(
            self,
            AggOp::CountRows
                | AggOp::ArrayAgg
                | AggOp::ArrayAggArrays
                | AggOp::JsonAgg
                | AggOp::JsonbAgg
                | AggOp::JsonObjectAgg
                | AggOp::JsonbObjectAgg
        )
    }

    /// Does its state grow with each value?
    pub fn keeps_values(self) -> bool {
        use AggOp::*;
        let lists =
            matches!(self, StringAgg | ArrayAgg | ArrayAggArrays | JsonAgg | JsonbAgg | JsonObjectAgg | JsonbObjectAgg);
        lists || self.is_ordered_set() && !self.is_hypothetical()
    }

    /// Is it asked of a row that is not there?
    pub fn is_hypothetical(self) -> bool {
        matches!(self, AggOp::Rank | AggOp::DenseRank | AggOp::PercentRank | AggOp::CumeDist)
    }

    /// The letter in `pg_aggregate.aggkind`.
    pub fn code(self) -> u8 {
        match self {
            _ if self.is_hypothetical() => b'h',
            _ if self.is_ordered_set() => b'o',
            _ => b'n',
        }
    }

    fn spread(self) -> Option<Spread> {
        Some(match self {
            AggOp::VarPop => Spread { sample: false, deviation: false },
            AggOp::VarSamp => Spread { sample: true, deviation: false },
            AggOp::StddevPop => Spread { sample: false, deviation: true },
            AggOp::StddevSamp => Spread { sample: true, deviation: true },
            _ => return None,
        })
    }

    fn regression(self) -> Option<Regression> {
        Some(match self {
            AggOp::RegrAvgX => Regression::AverageX,
            AggOp::RegrAvgY => Regression::AverageY,
            AggOp::RegrSxx => Regression::SquaresX,
            AggOp::RegrSyy => Regression::SquaresY,
            AggOp::RegrSxy => Regression::Products,
            AggOp::CovarPop => Regression::CovariancePopulation,
            AggOp::CovarSamp => Regression::CovarianceSample,
            AggOp::Corr => Regression::Correlation,
            AggOp::RegrR2 => Regression::Determination,
            AggOp::RegrSlope => Regression::Slope,
            AggOp::RegrIntercept => Regression::Intercept,
            _ => return None,
        })
    }
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
    Exact(Box<Exact>),
    Sums(Box<Sums>),
    /// Values in order, and what is asked of them.
    Ordered(Vec<Owned>, Owned),
    /// How many rows come before one that is not there, and how many are equal to it.
    Places(i64, i64),
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
            State::Empty
            | State::Int(_)
            | State::Float(_)
            | State::Interval(_)
            | State::Places(..)
            | State::Value(Owned::Value(_)) => 0,
            State::Exact(exact) => exact.heap_bytes() + size_of::<Exact>(),
            State::Sums(_) => size_of::<Sums>(),
            State::Numeric(value) => value.heap_bytes(),
            State::Value(Owned::Bytes(bytes)) | State::Text(bytes) => bytes.capacity(),
            State::Values(values) | State::Ordered(values, _) => {
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
        if value.is_null() && !call.op.takes_nulls() {
            return Ok(());
        }
        // A pair with a null in it is none.
        let is_pair = call.op == AggOp::RegrCount || call.op.regression().is_some();
        if is_pair && args.get(1).is_none_or(|x| x.is_null()) {
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
                if let State::Numeric(Numeric::Small { mantissa, scale }) = &mut self.state
                    && let Some((value, same)) = numeric::short::read(value.bytes())
                    && same == *scale
                    && let Some(sum) = mantissa.checked_add(value.into())
                {
                    *mantissa = sum;
                    return Ok(());
                }
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
            AggOp::ArrayAgg | AggOp::JsonAgg | AggOp::JsonbAgg => self.keep(&[value])?,
            AggOp::JsonObjectAgg | AggOp::JsonbObjectAgg => {
                if value.is_null() {
                    let message = "field name must not be null";
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
                self.keep(&[value, args.get(1).copied().unwrap_or(Datum::Null)])?;
            }
            _ => return self.add_more(call, value, args),
        }
        Ok(())
    }

    /// Adds values to those that are kept.
    fn keep(&mut self, more: &[Datum<'_>]) -> Result<()> {
        if !matches!(self.state, State::Values(_)) {
            self.state = State::Values(Vec::new());
        }
        if let State::Values(values) = &mut self.state {
            let bytes = size_of_val(more);
            values.try_reserve(more.len()).map_err(|_| Error::out_of_memory("an aggregate's values", bytes))?;
            values.extend(more.iter().map(|value| Owned::new(*value)));
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

    /// What is asked more rarely.
    fn add_more(&mut self, call: AggCall, value: Datum<'_>, args: &[Datum<'_>]) -> Result<()> {
        let second = args.get(1).copied().unwrap_or(Datum::Null);
        match call.op {
            AggOp::ArrayAggArrays => {
                if value.is_null() {
                    return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, "cannot accumulate null arrays"));
                }
                let dimensions = |bytes: &[u8]| Array::decode(bytes).map(|array| array.dimensions().to_vec());
                let refuse = |message| Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message));
                let own = dimensions(value.bytes())?;
                if own.is_empty() {
                    return refuse("cannot accumulate empty arrays");
                }
                match &mut self.state {
                    State::Values(values) => {
                        let first = values.first().map_or(Datum::Null, Owned::as_datum);
                        if dimensions(first.bytes())? != own {
                            return refuse("cannot accumulate arrays of different dimensionality");
                        }
                        values.try_reserve(1).map_err(|_| Error::out_of_memory("array_agg", size_of::<Owned>()))?;
                        values.push(Owned::new(value));
                    }
                    state => *state = State::Values(vec![Owned::new(value)]),
                }
            }
            AggOp::BitAnd | AggOp::BitOr | AggOp::BitXor => {
                let value = value.int();
                let now = match (&self.state, call.op) {
                    (State::Value(Owned::Value(Datum::Int(so_far))), AggOp::BitAnd) => so_far & value,
                    (State::Value(Owned::Value(Datum::Int(so_far))), AggOp::BitOr) => so_far | value,
                    (State::Value(Owned::Value(Datum::Int(so_far))), _) => so_far ^ value,
                    _ => value,
                };
                self.state = State::Value(Owned::Value(Datum::Int(now)));
            }
            op if op.spread().is_some() => match value {
                Datum::Float(value) => self.sums().add(value)?,
                value => {
                    let value = match value {
                        Datum::Int(value) => Numeric::from_int(value.into()),
                        value => Numeric::decode(value.bytes())?,
                    };
                    if !matches!(self.state, State::Exact(_)) {
                        self.state = State::Exact(Box::new(Exact::EMPTY));
                    }
                    if let State::Exact(exact) = &mut self.state {
                        exact.add(&value)?;
                    }
                }
            },
            op if op.regression().is_some() => self.sums().add_pair(value.float(), second.float())?,
            AggOp::PercentileCont
            | AggOp::PercentilesCont
            | AggOp::PercentileDisc
            | AggOp::PercentilesDisc
            | AggOp::Mode => match &mut self.state {
                State::Ordered(values, _) => {
                    values.try_reserve(1).map_err(|_| Error::out_of_memory("WITHIN GROUP", size_of::<Owned>()))?;
                    values.push(Owned::new(value));
                }
                state => *state = State::Ordered(vec![Owned::new(value)], Owned::new(second)),
            },
            op if op.is_hypothetical() => {
                let before = i64::from(value == Datum::Bool(true));
                let equal = i64::from(second == Datum::Bool(true));
                let (befores, equals) = match self.state {
                    State::Places(befores, equals) => (befores, equals),
                    _ => (0, 0),
                };
                self.state = State::Places(befores + before, equals + equal);
            }
            _ => {}
        }
        Ok(())
    }

    fn sums(&mut self) -> &mut Sums {
        if !matches!(self.state, State::Sums(_)) {
            self.state = State::Sums(Box::default());
        }
        match &mut self.state {
            State::Sums(sums) => sums,
            _ => unreachable!("the state was just made"),
        }
    }

    /// The value of what has been added.
    pub fn finish<'a>(&self, call: AggCall, ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
        let numeric = |value: Numeric| Ok(Datum::Bytes(value.encode(|bytes| ctx.arena.copy(bytes))??));
        match (&self.state, call.op) {
            (_, AggOp::CountRows | AggOp::Count | AggOp::RegrCount) => Ok(Datum::Int(self.count)),
            (_, op) if op.is_hypothetical() => Ok(self.place(op)),
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
            (State::Values(values), AggOp::JsonAgg | AggOp::JsonbAgg) => {
                let values = values.iter().map(Owned::as_datum);
                let made = match call.op {
                    AggOp::JsonAgg => make::json_gathered(call.argument, values, &ctx.style)?,
                    _ => make::jsonb_gathered(call.argument, values, &ctx.style, &Arena::new())?,
                };
                Ok(Datum::Bytes(ctx.arena.copy(&made)?))
            }
            (State::Values(values), AggOp::JsonObjectAgg | AggOp::JsonbObjectAgg) => {
                let fields = values.chunks_exact(2).map(|pair| (pair[0].as_datum(), pair[1].as_datum()));
                let made = match call.op {
                    AggOp::JsonObjectAgg => make::json_object(fields, Spacing::Gathered, make::null_key)?,
                    _ => make::jsonb_object(fields, make::null_key)?,
                };
                Ok(Datum::Bytes(ctx.arena.copy(&made)?))
            }
            (State::Exact(exact), op) => match op.spread() {
                Some(spread) if !spread.sample || self.count > 1 => numeric(exact.result(self.count, spread)?),
                _ => Ok(Datum::Null),
            },
            (State::Sums(sums), op) => Ok(match (op.spread(), op.regression()) {
                (Some(spread), _) if spread.sample && self.count < 2 => Datum::Null,
                (Some(spread), _) => Datum::Float(sums.spread(spread)),
                (None, Some(wanted)) => sums.regression(wanted).map_or(Datum::Null, Datum::Float),
                (None, None) => Datum::Null,
            }),
            (State::Ordered(values, asked), op) => {
                let values = values.iter().map(|value| ctx.arena.keep(value.as_datum())).collect::<Result<Vec<_>>>()?;
                in_order(op, call, &values, asked.as_datum(), ctx)
            }
            // Answered above.
            (State::Places(..), _) => Ok(Datum::Null),
            (State::Values(values), AggOp::ArrayAggArrays) => {
                let arrays = values.iter().map(|value| Array::decode(value.as_datum().bytes()));
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                let Some(first) = arrays.first() else { return Ok(Datum::Null) };
                let outer = Dimension { length: arrays.len() as u32, lower: 1 };
                let dimensions = [&[outer], first.dimensions()].concat();
                let mut elements = Vec::with_capacity(arrays.len() * first.len());
                for array in &arrays {
                    elements.extend(array.elements()?);
                }
                Ok(Datum::Bytes(ctx.arena.copy(&array::encode(first.element(), &dimensions, &elements)?)?))
            }
            (State::Values(values), _) => {
                let elements: Vec<Datum<'_>> = values.iter().map(Owned::as_datum).collect();
                Ok(Datum::Bytes(ctx.arena.copy(&array::encode_list(call.argument, &elements)?)?))
            }
        }
    }

    /// The place that a row would have among those that were added.
    fn place<'a>(&self, op: AggOp) -> Datum<'a> {
        let (before, equal) = match self.state {
            State::Places(before, equal) => (before, equal),
            _ => (0, 0),
        };
        match op {
            AggOp::DenseRank => Datum::Int(self.count + 1),
            AggOp::PercentRank if self.count == 0 => Datum::Float(0.0),
            AggOp::PercentRank => Datum::Float(before as f64 / self.count as f64),
            AggOp::CumeDist => Datum::Float((before + equal + 1) as f64 / (self.count + 1) as f64),
            _ => Datum::Int(before + 1),
        }
    }

    fn divisor(&self) -> Numeric {
        Numeric::from_int(self.count.into())
    }
}

/// What is asked of values in their order, of which there is one at least.
fn in_order<'a>(
    op: AggOp,
    call: AggCall,
    values: &[Datum<'a>],
    asked: Datum<'_>,
    ctx: &EvalCtx<'a>,
) -> Result<Datum<'a>> {
    let same = |left: Datum<'a>, right: Datum<'a>| compare::compare(call.kind, left, right).is_eq();
    let is_continuous = matches!(op, AggOp::PercentileCont | AggOp::PercentilesCont);
    let one = |asked: Datum<'_>| {
        let Datum::Float(fraction) = asked else { return Ok(Datum::Null) };
        let fraction = ordered::fraction(fraction)?;
        match is_continuous {
            true => ordered::continuous(call.kind, values, fraction, ctx.arena),
            false => Ok(ordered::discrete(values, fraction)),
        }
    };
    match op {
        AggOp::Mode => Ok(ordered::mode(values, same)),
        AggOp::PercentilesCont | AggOp::PercentilesDisc => {
            let Datum::Bytes(bytes) = asked else { return Ok(Datum::Null) };
            let fractions = Array::decode(bytes)?;
            let results = fractions.iter().map(|fraction| one(fraction?)).collect::<Result<Vec<_>>>()?;
            let array = array::encode(call.argument, fractions.dimensions(), &results)?;
            Ok(Datum::Bytes(ctx.arena.copy(&array)?))
        }
        _ => one(asked),
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
    4053 "array_agg" [ANYARRAY] ANYARRAY ArrayAggArrays;
    2100 "avg" [INT8] NUMERIC AvgInt;
    2101 "avg" [INT4] NUMERIC AvgInt;
    2102 "avg" [INT2] NUMERIC AvgInt;
    2103 "avg" [NUMERIC] NUMERIC AvgNumeric;
    2104 "avg" [FLOAT4] FLOAT8 AvgFloat;
    2105 "avg" [FLOAT8] FLOAT8 AvgFloat;
    2106 "avg" [INTERVAL] INTERVAL AvgInterval;
    2236 "bit_and" [INT2] INT2 BitAnd;
    2238 "bit_and" [INT4] INT4 BitAnd;
    2240 "bit_and" [INT8] INT8 BitAnd;
    2237 "bit_or" [INT2] INT2 BitOr;
    2239 "bit_or" [INT4] INT4 BitOr;
    2241 "bit_or" [INT8] INT8 BitOr;
    6164 "bit_xor" [INT2] INT2 BitXor;
    6165 "bit_xor" [INT4] INT4 BitXor;
    6166 "bit_xor" [INT8] INT8 BitXor;
    2517 "bool_and" [BOOL] BOOL BoolAnd;
    2518 "bool_or" [BOOL] BOOL BoolOr;
    2829 "corr" [FLOAT8 FLOAT8] FLOAT8 Corr;
    2147 "count" [ANY] INT8 Count;
    2803 "count" [] INT8 CountRows;
    2827 "covar_pop" [FLOAT8 FLOAT8] FLOAT8 CovarPop;
    2828 "covar_samp" [FLOAT8 FLOAT8] FLOAT8 CovarSamp;
    2519 "every" [BOOL] BOOL BoolAnd;
    3175 "json_agg" [ANYELEMENT] JSON JsonAgg;
    3197 "json_object_agg" [ANY ANY] JSON JsonObjectAgg;
    3267 "jsonb_agg" [ANYELEMENT] JSONB JsonbAgg;
    3270 "jsonb_object_agg" [ANY ANY] JSONB JsonbObjectAgg;
    2050 "max" [ANYARRAY] ANYARRAY Max;
    3526 "max" [ANYENUM] ANYENUM Max;
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
    3527 "min" [ANYENUM] ANYENUM Min;
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
    3984 "mode" [ANYELEMENT] ANYELEMENT Mode;
    3974 "percentile_cont" [FLOAT8 FLOAT8] FLOAT8 PercentileCont;
    3976 "percentile_cont" [FLOAT8 INTERVAL] INTERVAL PercentileCont;
    3980 "percentile_cont" [FLOAT8_ARRAY FLOAT8] FLOAT8_ARRAY PercentilesCont;
    3982 "percentile_cont" [FLOAT8_ARRAY INTERVAL] INTERVAL_ARRAY PercentilesCont;
    3972 "percentile_disc" [FLOAT8 ANYELEMENT] ANYELEMENT PercentileDisc;
    3978 "percentile_disc" [FLOAT8_ARRAY ANYELEMENT] ANYARRAY PercentilesDisc;
    2822 "regr_avgx" [FLOAT8 FLOAT8] FLOAT8 RegrAvgX;
    2823 "regr_avgy" [FLOAT8 FLOAT8] FLOAT8 RegrAvgY;
    2818 "regr_count" [FLOAT8 FLOAT8] INT8 RegrCount;
    2826 "regr_intercept" [FLOAT8 FLOAT8] FLOAT8 RegrIntercept;
    2824 "regr_r2" [FLOAT8 FLOAT8] FLOAT8 RegrR2;
    2825 "regr_slope" [FLOAT8 FLOAT8] FLOAT8 RegrSlope;
    2819 "regr_sxx" [FLOAT8 FLOAT8] FLOAT8 RegrSxx;
    2821 "regr_sxy" [FLOAT8 FLOAT8] FLOAT8 RegrSxy;
    2820 "regr_syy" [FLOAT8 FLOAT8] FLOAT8 RegrSyy;
    2154 "stddev" [INT8] NUMERIC StddevSamp;
    2155 "stddev" [INT4] NUMERIC StddevSamp;
    2156 "stddev" [INT2] NUMERIC StddevSamp;
    2157 "stddev" [FLOAT4] FLOAT8 StddevSamp;
    2158 "stddev" [FLOAT8] FLOAT8 StddevSamp;
    2159 "stddev" [NUMERIC] NUMERIC StddevSamp;
    2724 "stddev_pop" [INT8] NUMERIC StddevPop;
    2725 "stddev_pop" [INT4] NUMERIC StddevPop;
    2726 "stddev_pop" [INT2] NUMERIC StddevPop;
    2727 "stddev_pop" [FLOAT4] FLOAT8 StddevPop;
    2728 "stddev_pop" [FLOAT8] FLOAT8 StddevPop;
    2729 "stddev_pop" [NUMERIC] NUMERIC StddevPop;
    2712 "stddev_samp" [INT8] NUMERIC StddevSamp;
    2713 "stddev_samp" [INT4] NUMERIC StddevSamp;
    2714 "stddev_samp" [INT2] NUMERIC StddevSamp;
    2715 "stddev_samp" [FLOAT4] FLOAT8 StddevSamp;
    2716 "stddev_samp" [FLOAT8] FLOAT8 StddevSamp;
    2717 "stddev_samp" [NUMERIC] NUMERIC StddevSamp;
    3538 "string_agg" [TEXT TEXT] TEXT StringAgg;
    3545 "string_agg" [BYTEA BYTEA] BYTEA StringAgg;
    2107 "sum" [INT8] NUMERIC SumInt8;
    2108 "sum" [INT4] INT8 SumInt;
    2109 "sum" [INT2] INT8 SumInt;
    2110 "sum" [FLOAT4] FLOAT4 SumFloat4;
    2111 "sum" [FLOAT8] FLOAT8 SumFloat8;
    2113 "sum" [INTERVAL] INTERVAL SumInterval;
    2114 "sum" [NUMERIC] NUMERIC SumNumeric;
    2718 "var_pop" [INT8] NUMERIC VarPop;
    2719 "var_pop" [INT4] NUMERIC VarPop;
    2720 "var_pop" [INT2] NUMERIC VarPop;
    2721 "var_pop" [FLOAT4] FLOAT8 VarPop;
    2722 "var_pop" [FLOAT8] FLOAT8 VarPop;
    2723 "var_pop" [NUMERIC] NUMERIC VarPop;
    2641 "var_samp" [INT8] NUMERIC VarSamp;
    2642 "var_samp" [INT4] NUMERIC VarSamp;
    2643 "var_samp" [INT2] NUMERIC VarSamp;
    2644 "var_samp" [FLOAT4] FLOAT8 VarSamp;
    2645 "var_samp" [FLOAT8] FLOAT8 VarSamp;
    2646 "var_samp" [NUMERIC] NUMERIC VarSamp;
    2148 "variance" [INT8] NUMERIC VarSamp;
    2149 "variance" [INT4] NUMERIC VarSamp;
    2150 "variance" [INT2] NUMERIC VarSamp;
    2151 "variance" [FLOAT4] FLOAT8 VarSamp;
    2152 "variance" [FLOAT8] FLOAT8 VarSamp;
    2153 "variance" [NUMERIC] NUMERIC VarSamp;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datetime::Style;
    use crate::{Arena, Type, io};

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
            ("bit_xor", Oid::INT4, &[Some("5"), None, Some("3")], "6"),
            ("var_pop", Oid::INT4, &[Some("1"), Some("3")], "1.00000000000000000000"),
            ("stddev", Oid::FLOAT8, &[Some("1"), Some("3")], "1.4142135623730951"),
            ("stddev", Oid::NUMERIC, &[Some("1")], "null"),
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
