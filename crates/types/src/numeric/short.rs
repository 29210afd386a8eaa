//! Numbers of a few bytes, computed with where they lie: what nearly all sums, products and comparisons of `numeric` are.
//!
//! A number whose stored form has at most eight bytes, one of them for sign and scale, fits a word. Nothing is unpacked for it, and a
//! result is bytes in place. Whatever does not fit is left to [`Numeric`](super::Numeric), whose results are the same.

use super::{LONG, NEGATIVE, SHORT_SCALE_MAX};
use crate::op::Op;
use std::cmp::Ordering;

/// The longest stored form that is read here.
const BYTES_MAX: usize = 8;

const POWERS: [i128; 19] = {
    let (mut powers, mut exponent) = ([1; 19], 1);
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// A stored form.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    bytes: [u8; 1 + size_of::<u128>()],
    length: usize,
}

impl Short {
    /// Its bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// `mantissa / 10^scale`, for scales that fit the first byte.
    #[inline]
    pub fn new(mantissa: i128, scale: u32) -> Short {
        let magnitude = mantissa.unsigned_abs();
        let mut bytes = [0; 1 + size_of::<u128>()];
        bytes[0] = scale as u8 | if mantissa < 0 { NEGATIVE } else { 0 };
        bytes[1..].copy_from_slice(&magnitude.to_le_bytes());
        Short { bytes, length: 1 + (u128::BITS - magnitude.leading_zeros()).div_ceil(8) as usize }
    }
}

/// A short number's mantissa and scale.
#[inline]
pub fn read(bytes: &[u8]) -> Option<(i64, u32)> {
    let (&header, magnitude) = bytes.split_first()?;
    if header & LONG != 0 || bytes.len() > BYTES_MAX {
        return None;
    }
    let value = magnitude.iter().rev().fold(0, |value, byte| value << 8 | i64::from(*byte));
    // What is damaged is not short: somebody else says so.
    if magnitude.last() == Some(&0) || (value == 0 && header & NEGATIVE != 0) {
        return None;
    }
    Some((if header & NEGATIVE != 0 { -value } else { value }, u32::from(header & 0x3F)))
}

/// Both mantissas at the larger of the two scales.
#[inline]
fn aligned((a, p): (i64, u32), (b, q): (i64, u32)) -> Option<(i128, i128, u32)> {
    let (a, b) = (i128::from(a), i128::from(b));
    match p.cmp(&q) {
        Ordering::Equal => Some((a, b, p)),
        Ordering::Less => Some((a * POWERS.get((q - p) as usize)?, b, q)),
        Ordering::Greater => Some((a, b * POWERS.get((p - q) as usize)?, p)),
    }
}

/// The sum, difference or product of two short numbers.
#[inline]
pub fn computed(op: Op, left: &[u8], right: &[u8]) -> Option<Short> {
    let (left, right) = (read(left)?, read(right)?);
    if op == Op::NumericMul {
        let scale = left.1 + right.1;
        return (scale <= SHORT_SCALE_MAX).then(|| Short::new(i128::from(left.0) * i128::from(right.0), scale));
    }
    let (left, right, scale) = aligned(left, right)?;
    match op {
        Op::NumericAdd => Some(Short::new(left + right, scale)),
        Op::NumericSub => Some(Short::new(left - right, scale)),
        _ => None,
    }
}

/// The order of two short numbers.
#[inline]
pub fn compared(left: &[u8], right: &[u8]) -> Option<Ordering> {
    let (left, right, _) = aligned(read(left)?, read(right)?)?;
    Some(left.cmp(&right))
}

#[cfg(test)]
mod tests {
    use super::super::Numeric;
    use super::*;

    #[test]
    fn short_numbers_are_computed_as_all_are() {
        let texts = ["0", "0.00", "1", "-1", "12.50", "-0.05", "99999999999999", "-3.0000000001", "72057594037927935"];
        let longer = ["72057594037927936", "NaN", "Infinity", "1e-70"];
        let numbers: Vec<Numeric> = texts.iter().chain(&longer).map(|text| Numeric::parse(text).unwrap()).collect();
        let mut short = 0;
        for (place, a) in numbers.iter().enumerate() {
            let left = a.to_bytes().unwrap();
            assert_eq!(read(&left).is_some(), place < texts.len(), "{left:?}");
            for b in &numbers {
                let right = b.to_bytes().unwrap();
                for (op, whole) in [
                    (Op::NumericAdd, a.add(b)),
                    (Op::NumericSub, a.subtract(b)),
                    (Op::NumericMul, a.multiply(b).unwrap()),
                ] {
                    if let Some(found) = computed(op, &left, &right) {
                        short += 1;
                        assert_eq!(found.bytes(), whole.to_bytes().unwrap(), "{a:?} {op:?} {b:?}");
                    }
                }
                if let Some(order) = compared(&left, &right) {
                    assert_eq!(order, a.compare(b), "{a:?} {b:?}");
                }
            }
        }
        assert_eq!(short, texts.len() * texts.len() * 3);
    }

    #[test]
    fn what_is_damaged_is_not_short() {
        for bytes in [&[][..], &[NEGATIVE], &[2, 0], &[LONG]] {
            assert_eq!(read(bytes), None, "{bytes:?}");
        }
    }
}
