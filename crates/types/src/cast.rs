//! The casts: which types become which others, when that may happen by itself, and how it is done.
//!
//! Three contexts, as in PostgreSQL: an *implicit* cast happens anywhere, an *assignment* cast only where a value is stored
//! in a column, an *explicit* one only where it is written. Beside the table's rows there are three ways that need none:
//! an array is cast element by element, and any type becomes a string type by its text form (on assignment), or is read
//! from one (explicitly). A string constant of type `unknown` becomes anything.
//!
//! Rules
//! 1. The rows are PostgreSQL's. What `pg_cast` calls binary coercible is [`Method::Relabel`], except where this server's
//!    representations differ (`integer` to `oid` changes the number of a negative value).
//! 2. Sorted by source, then target; [`find`] needs it and a test checks it.
//! 3. A cast changes the type only. The target's modifier is applied after it, by [`typmod::apply`].

use super::op::Op;
use super::table::{self, Kind, Oid, Type};
use super::{Datum, EvalCtx, array, eval, io, json, typmod};
use base::{Error, Result, sqlstate};

/// Where a cast stands: what follows includes what came before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Context {
    /// Anywhere in an expression.
    Implicit,
    /// Where a value goes into a column.
    Assignment,
    /// Where it is written: `CAST(x AS t)`, `x::t`.
    Explicit,
}

impl Context {
    /// The letter in `pg_cast.castcontext`.
    pub fn code(self) -> char {
        match self {
            Context::Implicit => 'i',
            Context::Assignment => 'a',
            Context::Explicit => 'e',
        }
    }
}

/// How a cast is done. A plan holds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, u8)]
pub enum Method {
    /// The value stays as it is.
    Relabel,
    /// By an operation of one argument.
    Op(Op),
    /// By the text form.
    Text,
    /// Each element of an array by its own cast, which is found again when it runs.
    Elements,
    /// The value as JSON, of any type: to `json` or `jsonb`. No row of the table says so; `to_json` and its relatives do.
    Json,
    /// The value as the text of a key in JSON, of any type.
    JsonKey,
}

impl Method {
    /// Does a cast give the same whatever the session's settings are?
    pub fn is_immutable(self, source: Oid, target: Oid) -> bool {
        let (from, to) = (table::kind(source), table::kind(target));
        match self {
            Method::Relabel => true,
            // Whatever becomes a time with a zone, or was one, needs the session's zone.
            Method::Op(_) => source == target || (from != Kind::Timestamptz && to != Kind::Timestamptz),
            Method::Text => {
                let writes = matches!(
                    from,
                    Kind::Date
                        | Kind::Timestamp
                        | Kind::Timestamptz
                        | Kind::Reg
                        | Kind::Array
                        | Kind::Enum
                        | Kind::Record
                );
                let times =
                    matches!(to, Kind::Date | Kind::Time | Kind::Timestamp | Kind::Timestamptz | Kind::Interval);
                !writes && !times && !matches!(to, Kind::Reg | Kind::Array | Kind::Enum)
            }
            Method::Elements => match (table::element_of(source), table::element_of(target)) {
                (Some(from), Some(to)) => {
                    find(from, to, Context::Explicit).is_some_and(|method| method.is_immutable(from, to))
                }
                _ => false,
            },
            Method::Json | Method::JsonKey => false,
        }
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// From this type.
    pub source: Oid,
    /// To this one.
    pub target: Oid,
    /// The least context that allows it.
    pub context: Context,
    /// How it is done.
    pub method: Method,
}

/// How `source` becomes `target` in a context; `None` if it cannot.
pub fn find(source: Oid, target: Oid, context: Context) -> Option<Method> {
    if source == target {
        return Some(Method::Relabel);
    }
    if source == Oid::UNKNOWN {
        return Some(if io::is_text(target) { string_constant(target) } else { Method::Text });
    }
    if let Ok(at) = TABLE.binary_search_by_key(&(source, target), |row| (row.source, row.target)) {
        return (TABLE[at].context <= context).then_some(TABLE[at].method);
    }
    let (from, to) = (table::by_oid(source)?, table::by_oid(target)?);
    if target != Oid::OIDVECTOR && target != Oid::INT2VECTOR && from.category == b'A' && to.category == b'A' {
        return match find(table::element_of(source)?, table::element_of(target)?, context)? {
            // A vector counts from zero and stays an array that does.
            Method::Relabel => Some(Method::Relabel),
            _ => Some(Method::Elements),
        };
    }
    let by_text = match context {
        Context::Implicit => false,
        Context::Assignment => to.category == b'S',
        Context::Explicit => to.category == b'S' || from.category == b'S',
    };
    (by_text && (from.class() != b'p' || source == Oid::RECORD) && to.class() != b'p').then_some(Method::Text)
}

/// A string constant as text of some type: a name is cut, the others are as they stand.
fn string_constant(target: Oid) -> Method {
    if target == Oid::NAME { Method::Op(Op::TextToName) } else { Method::Relabel }
}

/// May a value of type `source` stand where one of type `target` is wanted, in a context?
///
/// As [`find`], and for pseudo-types too; what these say about each other is [`resolve`](super::resolve)'s.
pub fn can_coerce(source: Oid, target: Oid, context: Context) -> bool {
    target == Oid::ANY || find(source, target, context).is_some()
}

/// `42846`, with PostgreSQL's words.
#[cold]
pub fn cannot_cast(source: Oid, target: Oid) -> Error {
    let (from, to) = (typmod::format_type(Type::plain(source)), typmod::format_type(Type::plain(target)));
    Error::statement(sqlstate::CANNOT_COERCE, format!("cannot cast type {from} to {to}"))
}

/// Casts a value. `explicit` says that the cast was written, which lets the target's modifier cut a text.
pub fn apply<'a>(
    method: Method,
    source: Oid,
    target: Type,
    explicit: bool,
    datum: Datum<'a>,
    ctx: &mut EvalCtx<'a>,
) -> Result<Datum<'a>> {
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    let cast = match method {
        Method::Relabel => datum,
        Method::Op(op) => eval::eval(op, &[datum], ctx)?,
        Method::Text => {
            let text = io::output_text(table::kind(source), datum, &ctx.style, ctx.arena)?;
            if io::is_text(target.oid) && target.oid != Oid::NAME {
                Datum::Bytes(text)
            } else {
                let text = super::text::validate(text)?;
                // An interval's modifier says what a number without a unit counts; others fit the value afterwards.
                let read_as = if target.oid == Oid::INTERVAL { target } else { Type::plain(target.oid) };
                io::input(read_as, text, ctx.arena, &ctx.style)?
            }
        }
        Method::Elements => cast_elements(target.oid, explicit, datum, ctx)?,
        Method::Json if target.oid == Oid::JSONB => {
            let made = json::make::jsonb(source, datum, &ctx.style, ctx.arena)?;
            Datum::Bytes(ctx.arena.copy(&made)?)
        }
        Method::Json => {
            let mut made = Vec::new();
            json::make::json(source, datum, &ctx.style, &mut made)?;
            Datum::Bytes(ctx.arena.copy(&made)?)
        }
        Method::JsonKey => Datum::Bytes(ctx.arena.copy(&json::make::key(source, datum, &ctx.style)?)?),
    };
    typmod::apply(target, cast, explicit, ctx.arena)
}

fn cast_elements<'a>(target: Oid, explicit: bool, datum: Datum<'a>, ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    let values = array::Array::decode(datum.bytes())?;
    let to = table::element_of(target).ok_or_else(|| cannot_cast(values.element(), target))?;
    let context = if explicit { Context::Explicit } else { Context::Assignment };
    let method = find(values.element(), to, context).ok_or_else(|| cannot_cast(values.element(), to))?;
    let mut elements = Vec::with_capacity(values.len());
    for value in values.iter() {
        elements.push(apply(method, values.element(), Type::plain(to), explicit, value?, ctx)?);
    }
    let bytes = array::encode(to, values.dimensions(), &elements)?;
    Ok(Datum::Bytes(ctx.arena.copy(&bytes)?))
}

macro_rules! casts {
    (@method Binary) => { Method::Relabel };
    (@method InOut) => { Method::Text };
    (@method $op:ident) => { Method::Op(Op::$op) };
    ($($source:ident $target:ident $context:ident $method:ident;)*) => {
        /// Every cast that has a row: `pg_cast` is a view of it.
        pub static TABLE: &[Cast] = &[$(Cast {
            source: Oid::$source,
            target: Oid::$target,
            context: Context::$context,
            method: casts!(@method $method),
        }),*];
    };
}

// from, to, context, how
#[rustfmt::skip]
casts! {
    BOOL INT4 Explicit BoolToInt;
    BOOL TEXT Assignment BoolToText;
    BOOL BPCHAR Assignment BoolToText;
    BOOL VARCHAR Assignment BoolToText;
    CHAR INT4 Explicit CharToInt;
    CHAR TEXT Implicit CharToText;
    CHAR BPCHAR Assignment CharToText;
    CHAR VARCHAR Assignment CharToText;
    NAME TEXT Implicit Identity;
    NAME BPCHAR Assignment Identity;
    NAME VARCHAR Assignment Identity;
    INT8 INT2 Assignment ToInt2;
    INT8 INT4 Assignment ToInt4;
    INT8 REGPROC Implicit ToOid;
    INT8 OID Implicit ToOid;
    INT8 FLOAT4 Implicit IntToFloat4;
    INT8 FLOAT8 Implicit IntToFloat8;
    INT8 NUMERIC Implicit IntToNumeric;
    INT8 REGPROCEDURE Implicit ToOid;
    INT8 REGCLASS Implicit ToOid;
    INT8 REGTYPE Implicit ToOid;
    INT8 REGNAMESPACE Implicit ToOid;
    INT8 REGROLE Implicit ToOid;
    INT2 INT8 Implicit Identity;
    INT2 INT4 Implicit Identity;
    INT2 REGPROC Implicit Identity;
    INT2 OID Implicit Identity;
    INT2 FLOAT4 Implicit IntToFloat4;
    INT2 FLOAT8 Implicit IntToFloat8;
    INT2 NUMERIC Implicit IntToNumeric;
    INT2 REGPROCEDURE Implicit Identity;
    INT2 REGCLASS Implicit Identity;
    INT2 REGTYPE Implicit Identity;
    INT2 REGNAMESPACE Implicit Identity;
    INT2 REGROLE Implicit Identity;
    INT4 BOOL Explicit IntToBool;
    INT4 CHAR Explicit IntToChar;
    INT4 INT8 Implicit Identity;
    INT4 INT2 Assignment ToInt2;
    INT4 REGPROC Implicit Int4ToOid;
    INT4 OID Implicit Int4ToOid;
    INT4 FLOAT4 Implicit IntToFloat4;
    INT4 FLOAT8 Implicit IntToFloat8;
    INT4 NUMERIC Implicit IntToNumeric;
    INT4 REGPROCEDURE Implicit Int4ToOid;
    INT4 REGCLASS Implicit Int4ToOid;
    INT4 REGTYPE Implicit Int4ToOid;
    INT4 REGNAMESPACE Implicit Int4ToOid;
    INT4 REGROLE Implicit Int4ToOid;
    REGPROC INT8 Assignment Identity;
    REGPROC INT4 Assignment OidToInt4;
    REGPROC OID Implicit Binary;
    REGPROC REGPROCEDURE Implicit Binary;
    TEXT CHAR Assignment TextToChar;
    TEXT NAME Implicit TextToName;
    TEXT BPCHAR Implicit Binary;
    TEXT VARCHAR Implicit Binary;
    TEXT REGCLASS Implicit TextToRegclass;
    OID INT8 Assignment Identity;
    OID INT4 Assignment OidToInt4;
    OID REGPROC Implicit Binary;
    OID REGPROCEDURE Implicit Binary;
    OID REGOPER Implicit Binary;
    OID REGOPERATOR Implicit Binary;
    OID REGCLASS Implicit Binary;
    OID REGTYPE Implicit Binary;
    OID REGNAMESPACE Implicit Binary;
    OID REGROLE Implicit Binary;
    JSON JSONB Assignment InOut;
    PG_NODE_TREE TEXT Implicit Binary;
    FLOAT4 INT8 Assignment FloatToInt8;
    FLOAT4 INT2 Assignment FloatToInt2;
    FLOAT4 INT4 Assignment FloatToInt4;
    FLOAT4 FLOAT8 Implicit Identity;
    FLOAT4 NUMERIC Assignment Float4ToNumeric;
    FLOAT8 INT8 Assignment FloatToInt8;
    FLOAT8 INT2 Assignment FloatToInt2;
    FLOAT8 INT4 Assignment FloatToInt4;
    FLOAT8 FLOAT4 Assignment Float8ToFloat4;
    FLOAT8 NUMERIC Assignment Float8ToNumeric;
    BPCHAR CHAR Assignment TextToChar;
    BPCHAR NAME Implicit BpcharToName;
    BPCHAR TEXT Implicit Rtrim1;
    BPCHAR BPCHAR Implicit BpcharLength;
    BPCHAR VARCHAR Implicit Rtrim1;
    VARCHAR CHAR Assignment TextToChar;
    VARCHAR NAME Implicit TextToName;
    VARCHAR TEXT Implicit Binary;
    VARCHAR BPCHAR Implicit Binary;
    VARCHAR VARCHAR Implicit VarcharLength;
    VARCHAR REGCLASS Implicit TextToRegclass;
    DATE TIMESTAMP Implicit DateToTimestamp;
    DATE TIMESTAMPTZ Implicit DateToTimestamptz;
    TIME TIME Implicit TimeLength;
    TIME INTERVAL Implicit TimeToInterval;
    TIMESTAMP DATE Assignment TimestampToDate;
    TIMESTAMP TIME Assignment TimestampToTime;
    TIMESTAMP TIMESTAMP Implicit TimeLength;
    TIMESTAMP TIMESTAMPTZ Implicit TimestampToTimestamptz;
    TIMESTAMPTZ DATE Assignment TimestamptzToDate;
    TIMESTAMPTZ TIME Assignment TimestamptzToTime;
    TIMESTAMPTZ TIMESTAMP Assignment TimestamptzToTimestamp;
    TIMESTAMPTZ TIMESTAMPTZ Implicit TimeLength;
    INTERVAL TIME Assignment IntervalToTime;
    NUMERIC INT8 Assignment NumericToInt8;
    NUMERIC INT2 Assignment NumericToInt2;
    NUMERIC INT4 Assignment NumericToInt4;
    NUMERIC FLOAT4 Implicit NumericToFloat4;
    NUMERIC FLOAT8 Implicit NumericToFloat8;
    NUMERIC NUMERIC Implicit NumericLength;
    REGPROCEDURE INT8 Assignment Identity;
    REGPROCEDURE INT4 Assignment OidToInt4;
    REGPROCEDURE REGPROC Implicit Binary;
    REGPROCEDURE OID Implicit Binary;
    REGOPER OID Implicit Binary;
    REGOPERATOR OID Implicit Binary;
    REGCLASS INT8 Assignment Identity;
    REGCLASS INT4 Assignment OidToInt4;
    REGCLASS OID Implicit Binary;
    REGTYPE INT8 Assignment Identity;
    REGTYPE INT4 Assignment OidToInt4;
    REGTYPE OID Implicit Binary;
    JSONB BOOL Explicit JsonbToBool;
    JSONB INT8 Explicit JsonbToInt8;
    JSONB INT2 Explicit JsonbToInt2;
    JSONB INT4 Explicit JsonbToInt4;
    JSONB JSON Assignment InOut;
    JSONB FLOAT4 Explicit JsonbToFloat4;
    JSONB FLOAT8 Explicit JsonbToFloat8;
    JSONB NUMERIC Explicit JsonbToNumeric;
    REGNAMESPACE INT8 Assignment Identity;
    REGNAMESPACE INT4 Assignment OidToInt4;
    REGNAMESPACE OID Implicit Binary;
    REGROLE INT8 Assignment Identity;
    REGROLE INT4 Assignment OidToInt4;
    REGROLE OID Implicit Binary;
}

#[cfg(test)]
mod tests;
