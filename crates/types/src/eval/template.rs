//! What is written and read by a template: `to_char`, `to_number`, `to_date`, `to_timestamp`.

use super::unknown;
use crate::datetime::Interval;
use crate::numeric::Numeric;
use crate::op::Op;
use crate::template::{number_print, number_read, print, read};
use crate::{Datum, EvalCtx, text};
use base::Result;

pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let template = text::validate(args[1].bytes())?;
    let zone = ctx.style.zone;
    let written = match op {
        ToCharInt4 => Some(number_print::int4(args[0].int(), template)?),
        ToCharInt8 => Some(number_print::int8(args[0].int(), template)?),
        ToCharNumeric => Some(number_print::numeric(Numeric::decode(args[0].bytes())?, template)?),
        ToCharFloat4 => Some(number_print::float4(args[0].float(), template)?),
        ToCharFloat8 => Some(number_print::float8(args[0].float(), template)?),
        ToCharTimestamp => print::timestamp(args[0].int(), template)?,
        ToCharTimestamptz => print::timestamptz(args[0].int(), zone, template)?,
        ToCharInterval => print::interval(Interval::decode(args[0].bytes())?, template)?,
        ToNumber => match number_read::number(text::validate(args[0].bytes())?, template)? {
            Some(value) => Some(value.to_bytes()?),
            None => None,
        },
        ToDate => return read::date(text::validate(args[0].bytes())?, template).map(Datum::Int),
        ToTimestamptz => return read::timestamptz(text::validate(args[0].bytes())?, template, zone).map(Datum::Int),
        _ => unknown(op),
    };
    match written {
        Some(bytes) => Ok(Datum::Bytes(ctx.arena.copy(&bytes)?)),
        None => Ok(Datum::Null),
    }
}
