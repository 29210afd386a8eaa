//! `bytea`: its functions, hashes, and the encodings as text; and what replaces a part of a text or of bytes.

use super::unknown;
use crate::encoding::Encoding;
use crate::op::Op;
use crate::{Datum, EvalCtx, md5, text};
use base::{Error, Result, sqlstate};
use sha2::Digest;

/// Does an operation.
pub(super) fn eval<'a>(op: Op, args: &[Datum<'a>], ctx: &mut EvalCtx<'a>) -> Result<Datum<'a>> {
    use Op::*;
    let bytes = |at: usize| args[at].bytes();
    let keep = |bytes: &[u8]| ctx.arena.copy(bytes);
    let count = args.get(3).map(|count| count.int());
    let result: Result<&'a [u8]> = match op {
        Encode => Encoding::named(bytes(1)).and_then(|encoding| keep(&encoding.encode(bytes(0)))),
        Decode => Encoding::named(bytes(1))
            .and_then(|encoding| encoding.decode(text::validate(bytes(0))?))
            .and_then(|decoded| keep(&decoded)),
        Md5Bytes => keep(&md5::md5_hex(bytes(0))),
        Sha224 => keep(&sha2::Sha224::digest(bytes(0))),
        Sha256 => keep(&sha2::Sha256::digest(bytes(0))),
        Sha384 => keep(&sha2::Sha384::digest(bytes(0))),
        Sha512 => keep(&sha2::Sha512::digest(bytes(0))),
        ByteaSubstring2 => part(bytes(0), args[1].int(), None),
        ByteaSubstring3 => part(bytes(0), args[1].int(), Some(args[2].int())),
        Overlay3 | Overlay4 => {
            let count = count.unwrap_or_else(|| text::length(bytes(1)) as i64);
            let (start, end) = around(args[2].int(), count)?;
            let tail = text::substring(bytes(0), end, None)?;
            keep(&[text::substring(bytes(0), 1, Some(start))?, bytes(1), tail].concat())
        }
        ByteaOverlay3 | ByteaOverlay4 => {
            let (start, end) = around(args[2].int(), count.unwrap_or(bytes(1).len() as i64))?;
            keep(&[part(bytes(0), 1, Some(start))?, bytes(1), part(bytes(0), end, None)?].concat())
        }
        GetByte => {
            let at = index(args[1].int(), bytes(0).len() as i64)?;
            return Ok(Datum::Int(bytes(0)[at].into()));
        }
        GetBit => {
            let at = index(args[1].int(), bytes(0).len() as i64 * 8)?;
            return Ok(Datum::Int((bytes(0)[at / 8] >> (at % 8) & 1).into()));
        }
        SetByte => {
            let at = index(args[1].int(), bytes(0).len() as i64)?;
            let mut changed = bytes(0).to_vec();
            changed[at] = args[2].int() as u8;
            keep(&changed)
        }
        SetBit => {
            let at = index(args[1].int(), bytes(0).len() as i64 * 8)?;
            let bit = match args[2].int() {
                bit @ 0..=1 => bit as u8,
                _ => return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
            };
            let mut changed = bytes(0).to_vec();
            changed[at / 8] = changed[at / 8] & !(1 << (at % 8)) | bit << (at % 8);
            keep(&changed)
        }
        BitCount => return Ok(Datum::Int(bytes(0).iter().map(|byte| i64::from(byte.count_ones())).sum())),
        _ => unknown(op),
    };
    result.map(Datum::Bytes)
}

/// How much comes before what is replaced, and where it goes on after that.
fn around(start: i64, count: i64) -> Result<(i64, i64)> {
    if start <= 0 {
        return Err(Error::statement(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
    }
    let end = start.checked_add(count).filter(|end| i32::try_from(*end).is_ok());
    end.map(|end| (start - 1, end)).ok_or_else(|| crate::int::out_of_range("integer"))
}

/// `substring(bytea from start for count)`, which counts bytes from one.
fn part(bytes: &[u8], start: i64, count: Option<i64>) -> Result<&[u8]> {
    let length = bytes.len() as i64;
    let end = match count {
        None => length + 1,
        Some(count) if count < 0 => {
            return Err(Error::statement(sqlstate::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => start.saturating_add(count).min(length + 1),
    };
    let first = start.max(1);
    Ok(if end <= first { b"" } else { &bytes[first as usize - 1..end as usize - 1] })
}

fn index(at: i64, length: i64) -> Result<usize> {
    match (0..length).contains(&at) {
        true => Ok(at as usize),
        false => {
            let message = format!("index {at} out of valid range, 0..{}", length - 1);
            Err(Error::statement(sqlstate::ARRAY_SUBSCRIPT_ERROR, message))
        }
    }
}
