//! `json` and `jsonb`: operators, functions, and the casts from `jsonb` to scalars.

use crate::array::Array;
use crate::json::change::{self, Change};
use crate::json::get::{self, Hop};
use crate::json::make::{self, Spacing};
use crate::json::value::Value;
use crate::json::{order, print};
use crate::numeric::Numeric;
use crate::op::Op;
use crate::{Datum, EvalCtx, Oid};
use base::{Error, Result, sqlstate};

/// Does an operation.
pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let bytes = |at: usize| args[at].bytes();
    let int = |at: usize| args[at].int();
    let value = |at: usize| Value::decode(args[at].bytes());
    let arena = ctx.arena;
    let made: Vec<u8> = match op {
        JsonField | JsonFieldText => {
            return get::in_text(bytes(0), &[Hop::Key(bytes(1))], op == JsonFieldText, arena);
        }
        JsonElement | JsonElementText => {
            return get::in_text(bytes(0), &[Hop::Index(int(1))], op == JsonElementText, arena);
        }
        JsonPath | JsonPathText => {
            let Some(keys) = get::keys_of(bytes(1))? else { return Ok(Datum::Null) };
            let hops: Vec<Hop<'_>> = keys.into_iter().map(Hop::Either).collect();
            return get::in_text(bytes(0), &hops, op == JsonPathText, arena);
        }
        JsonExtract | JsonExtractText => {
            let hops: Vec<Hop<'_>> = args[1..].iter().map(|key| Hop::Either(key.bytes())).collect();
            return get::in_text(bytes(0), &hops, op == JsonExtractText, arena);
        }
        JsonbField | JsonbFieldText => return get::field(value(0)?, bytes(1), op == JsonbFieldText, arena),
        JsonbElement | JsonbElementText => return get::element(value(0)?, int(1), op == JsonbElementText, arena),
        JsonbPath | JsonbPathText => {
            let Some(keys) = get::keys_of(bytes(1))? else { return Ok(Datum::Null) };
            return get::path(value(0)?, keys.into_iter(), op == JsonbPathText, arena);
        }
        JsonbExtract | JsonbExtractText => {
            let keys = args[1..].iter().map(|key| key.bytes());
            return get::path(value(0)?, keys, op == JsonbExtractText, arena);
        }
        JsonbContains => return order::contains(bytes(0), bytes(1)).map(Datum::Bool),
        JsonbContained => return order::contains(bytes(1), bytes(0)).map(Datum::Bool),
        JsonbExists => return order::exists(value(0)?, bytes(1)).map(Datum::Bool),
        JsonbExistsAny | JsonbExistsAll => return exists_of(value(0)?, bytes(1), op == JsonbExistsAll),
        JsonTypeof => return Ok(Datum::text(get::type_of_text(bytes(0))?)),
        JsonbTypeof => return Ok(Datum::text(value(0)?.type_name())),
        JsonArrayLength => return Ok(Datum::Int(get::length_in_text(bytes(0))? as i64)),
        JsonbArrayLength => return Ok(Datum::Int(get::length(value(0)?)? as i64)),
        JsonbToBool => match value(0)? {
            Value::Bool(value) => return Ok(Datum::Bool(value)),
            other => return Err(cannot_cast(other, "boolean")),
        },
        JsonbToNumeric | JsonbToInt2 | JsonbToInt4 | JsonbToInt8 | JsonbToFloat4 | JsonbToFloat8 => {
            return to_number(op, value(0)?, ctx);
        }
        JsonbConcat => change::concat(value(0)?, value(1)?)?,
        JsonbDelete => {
            let keys: Vec<&[u8]> = args[1..].iter().map(|key| key.bytes()).collect();
            change::without_keys(value(0)?, &keys)?
        }
        JsonbDeleteElement => match change::without_element(value(0)?, int(1))? {
            Some(made) => made,
            None => return Ok(args[0]),
        },
        JsonbDeleteKeys => return delete_keys(args, ctx),
        JsonbDeletePath | JsonbSet | JsonbSetLax | JsonbInsert => return at_path(op, args, ctx),
        JsonStripNulls => change::strip_nulls_of_text(bytes(0), arena)?,
        JsonbStripNulls => change::strip_nulls(value(0)?)?,
        JsonbPretty => {
            let mut out = Vec::new();
            print::pretty(value(0)?, &mut out)?;
            out
        }
        RowToJson => {
            let mut out = Vec::new();
            make::json_record(bytes(0), args.get(1).is_some_and(|lines| lines.bool()), &ctx.style, &mut out)?;
            out
        }
        ArrayToJson => {
            let mut out = Vec::new();
            make::json_array(bytes(0), args.get(1).is_some_and(|lines| lines.bool()), &ctx.style, &mut out)?;
            out
        }
        JsonBuildArray => make::json_list(args.iter().copied())?,
        JsonbBuildArray => make::jsonb_list(args.iter().copied())?,
        JsonBuildObject => {
            let null_key = |at: usize| {
                refuse(format!("argument {} cannot be null", 2 * at + 1)).hint("Object keys should be text.")
            };
            make::json_object(arguments(args, "json_build_object")?, Spacing::Built, null_key)?
        }
        JsonbBuildObject => {
            let null_key = |at: usize| refuse(format!("argument {}: key must not be null", 2 * at + 1));
            make::jsonb_object(arguments(args, "jsonb_build_object")?, null_key)?
        }
        JsonObject | JsonObject2 | JsonbObject | JsonbObject2 => {
            let pairs = match op {
                JsonObject | JsonbObject => make::pairs_of(bytes(0))?,
                _ => make::pairs_of_two(bytes(0), bytes(1))?,
            };
            object_of_texts(&pairs, matches!(op, JsonbObject | JsonbObject2), ctx)?
        }
        _ => super::unknown(op),
    };
    Ok(Datum::Bytes(arena.copy(&made)?))
}

#[cold]
fn refuse(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// Keys and values in turns.
fn arguments<'d, 'a>(args: &'d [Datum<'a>], name: &str) -> Result<impl Iterator<Item = (Datum<'a>, Datum<'a>)> + 'd> {
    if !args.len().is_multiple_of(2) {
        let hint = format!("The arguments of {name}() must consist of alternating keys and values.");
        return Err(refuse("argument list must have even number of elements".to_owned()).hint(hint));
    }
    Ok(args.chunks_exact(2).map(|pair| (pair[0], pair[1])))
}

fn exists_of<'a>(value: Value<'_>, keys: &[u8], all: bool) -> Result<Datum<'a>> {
    for key in Array::decode(keys)?.iter() {
        if let Datum::Bytes(key) = key?
            && order::exists(value, key)? != all
        {
            return Ok(Datum::Bool(!all));
        }
    }
    Ok(Datum::Bool(all))
}

/// `22023`: a `jsonb` is not of the type that is wanted.
#[cold]
fn cannot_cast(value: Value<'_>, target: &str) -> Error {
    let kind = match value {
        Value::Number(_) => "numeric",
        other => other.type_name(),
    };
    refuse(format!("cannot cast jsonb {kind} to type {target}"))
}

fn to_number<'a>(op: Op, value: Value<'a>, ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    let (name, cast) = match op {
        Op::JsonbToInt2 => ("smallint", Op::NumericToInt2),
        Op::JsonbToInt4 => ("integer", Op::NumericToInt4),
        Op::JsonbToInt8 => ("bigint", Op::NumericToInt8),
        Op::JsonbToFloat4 => ("real", Op::NumericToFloat4),
        Op::JsonbToFloat8 => ("double precision", Op::NumericToFloat8),
        _ => ("numeric", Op::Identity),
    };
    match value {
        Value::Number(number) => {
            Numeric::decode(number)?;
            super::eval(cast, &[Datum::Bytes(number)], ctx)
        }
        other => Err(cannot_cast(other, name)),
    }
}

/// `jsonb - text[]`
fn delete_keys<'a>(args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    let list = Array::decode(args[1].bytes())?;
    if list.dimensions().len() > 1 {
        return Err(wrong_subscripts());
    }
    let value = Value::decode(args[0].bytes())?;
    let mut keys = Vec::with_capacity(list.len());
    for key in list.iter() {
        if let Datum::Bytes(key) = key? {
            keys.push(key);
        }
    }
    let made = change::without_keys(value, &keys)?;
    Ok(Datum::Bytes(ctx.arena.copy(&made)?))
}

#[cold]
fn wrong_subscripts() -> Error {
    Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, "wrong number of array subscripts")
}

/// `jsonb #- text[]`, `jsonb_set`, `jsonb_set_lax`, `jsonb_insert`
fn at_path<'a>(op: Op, args: &[Datum<'a>], ctx: &EvalCtx<'a>) -> Result<Datum<'a>> {
    // The last argument but for `jsonb_set_lax`, which has one more; both may be left out.
    let flag = |missing: bool| args.get(3).map_or(missing, |flag| flag.bool());
    let mut new = args.get(2).copied();
    let change = match op {
        Op::JsonbDeletePath => Change::Delete,
        Op::JsonbInsert if flag(false) => Change::After,
        Op::JsonbInsert => Change::Before,
        Op::JsonbSetLax => {
            if args[0].is_null() || args[1].is_null() || args.get(3).is_some_and(|flag| flag.is_null()) {
                return Ok(Datum::Null);
            }
            match instead_of_null(args)? {
                Lax::Give(value) => return Ok(value),
                Lax::Delete => Change::Delete,
                Lax::Null => {
                    new = None;
                    if flag(true) { Change::Set } else { Change::Replace }
                }
                Lax::Value if flag(true) => Change::Set,
                Lax::Value => Change::Replace,
            }
        }
        _ if flag(true) => Change::Set,
        _ => Change::Replace,
    };
    let path = Array::decode(args[1].bytes())?;
    if path.dimensions().len() > 1 {
        return Err(wrong_subscripts());
    }
    let value = Value::decode(args[0].bytes())?;
    let is_empty = match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ if change == Change::Delete => return Err(refuse("cannot delete path in scalar".to_owned())),
        _ => return Err(refuse("cannot set path in scalar".to_owned())),
    };
    // As PostgreSQL has it, without looking at the path.
    if path.is_empty() || (is_empty && matches!(change, Change::Delete | Change::Replace)) {
        return Ok(args[0]);
    }
    let mut keys = Vec::with_capacity(path.len());
    for key in path.iter() {
        keys.push(match key? {
            Datum::Bytes(key) => Some(key),
            _ => None,
        });
    }
    let new = match new {
        Some(Datum::Bytes(new)) if change != Change::Delete => Value::decode(new)?,
        _ => Value::Null,
    };
    let made = change::at_path(value, &keys, new, change)?;
    Ok(Datum::Bytes(ctx.arena.copy(&made)?))
}

/// What `jsonb_set_lax` does.
enum Lax<'a> {
    Value,
    Null,
    Delete,
    Give(Datum<'a>),
}

fn instead_of_null<'a>(args: &[Datum<'a>]) -> Result<Lax<'a>> {
    let treatment = match args.get(4) {
        None => &b"use_json_null"[..],
        Some(Datum::Bytes(treatment)) => treatment,
        Some(_) => b"",
    };
    if !args[2].is_null() && args.get(4).is_none_or(|treatment| !treatment.is_null()) {
        return Ok(Lax::Value);
    }
    match treatment {
        b"use_json_null" => Ok(Lax::Null),
        b"delete_key" => Ok(Lax::Delete),
        b"return_target" => Ok(Lax::Give(args[0])),
        b"raise_exception" => Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, "JSON value must not be null")
            .detail("Exception was raised because null_value_treatment is \"raise_exception\".")
            .hint(
                "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
            )),
        _ => Err(refuse(
            "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\""
                .to_owned(),
        )),
    }
}

/// An object whose values are texts or null.
fn object_of_texts<'a>(pairs: &[(Datum<'a>, Datum<'a>)], binary: bool, ctx: &EvalCtx<'a>) -> Result<Vec<u8>> {
    let mut fields = Vec::with_capacity(pairs.len());
    for (key, text) in pairs {
        let value = match text {
            Datum::Null => Datum::Null,
            text if binary => Datum::Bytes(ctx.arena.copy(&make::jsonb(Oid::TEXT, *text, &ctx.style, ctx.arena)?)?),
            text => {
                let mut quoted = Vec::new();
                print::quote(text.bytes(), &mut quoted);
                Datum::Bytes(ctx.arena.copy(&quoted)?)
            }
        };
        fields.push((*key, value));
    }
    match binary {
        true => make::jsonb_object(fields.into_iter(), make::null_key),
        false => make::json_object(fields.into_iter(), Spacing::Built, make::null_key),
    }
}
