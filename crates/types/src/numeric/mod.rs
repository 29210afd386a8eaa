//! `numeric`: exact decimal numbers, with PostgreSQL's limits, scales and rounding.
//!
//! A number is `mantissa / 10^scale`. The *scale* is what PostgreSQL calls display scale: how many digits are shown after
//! the point, zeros too, so `1.50` and `1.5` are equal and print differently. Nearly all numbers have a mantissa that fits
//! 128 bits and are handled without the heap; larger ones use `num-bigint`, up to PostgreSQL's 131,072 digits before and
//! 16,383 after the point.
//!
//! (Libraries considered: `rust_decimal` ends at 28 digits; `bigdecimal` is on the heap for every number and has other
//! rules for the scale of a quotient. PostgreSQL's scales are defined by its base-10,000 digits, so the rules have to be
//! written here anyway, and only the big integers are taken from a library.)
//!
//! Stored form, the bytes of a datum:
//! ```text
//! 0 s cccccc | magnitude                scale 0..=63 in c, sign in s; magnitude little-endian, no zero byte at its end
//! 1 s 000000 | scale u16 le | magnitude larger scales
//! 0x81 NaN   0x82 Infinity   0xC2 -Infinity
//! ```
//! so 0 is one byte, 12.50 three, and equal numbers of equal scale have equal bytes.
//!
//! Rules
//! 1. Zero has no sign. A stored form that breaks this, or has a zero byte at its end, is damaged: `XX001`.
//! 2. Order: `-Infinity`, the finite numbers, `Infinity`, `NaN`; `NaN` equals itself.
//! 3. Rounding is half away from zero.
//! 4. Results beyond the limits are `22003`.

mod arithmetic;
mod convert;
mod power;
pub mod short;
mod text;

pub use text::precision_and_scale;

use base::{Error, Result, sqlstate};
use num_bigint::{BigInt, BigUint, Sign};
use std::cmp::Ordering;

/// The largest display scale that can be stored.
pub const SCALE_MAX: u32 = 16_383;
/// The most digits before the point.
pub const INTEGER_DIGITS_MAX: u64 = 131_072;
/// The least significant digits of a quotient, root or logarithm.
const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// The largest scale that an operation chooses by itself.
const DISPLAY_SCALE_MAX: i64 = 1000;

const NAN: u8 = 0x81;
const INFINITY: u8 = 0x82;
const NEG_INFINITY: u8 = 0xC2;
const LONG: u8 = 0x80;
const NEGATIVE: u8 = 0x40;
const SHORT_SCALE_MAX: u32 = 63;

/// A number, unpacked.
#[derive(Clone, Debug)]
pub enum Numeric {
    /// Not a number.
    Nan,
    /// Greater than every number.
    Infinity,
    /// Less than every number.
    NegInfinity,
    /// A number whose mantissa fits 128 bits.
    Small {
        /// The number times `10^scale`.
        mantissa: i128,
        /// How many digits are shown after the point.
        scale: u32,
    },
    /// Any other number.
    Big {
        /// The number times `10^scale`.
        mantissa: BigInt,
        /// How many digits are shown after the point.
        scale: u32,
    },
}

/// `10^exponent`, where it fits.
fn small_power_of_ten(exponent: u32) -> Option<i128> {
    10i128.checked_pow(exponent)
}

fn power_of_ten(exponent: u64) -> BigInt {
    BigInt::from(10u8).pow(u32::try_from(exponent).unwrap_or(u32::MAX))
}

#[cold]
fn overflow() -> Error {
    Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

impl Numeric {
    /// Zero.
    pub const ZERO: Numeric = Numeric::Small { mantissa: 0, scale: 0 };
    /// One.
    pub const ONE: Numeric = Numeric::Small { mantissa: 1, scale: 0 };

    /// An integer.
    pub fn from_int(value: i128) -> Numeric {
        Numeric::Small { mantissa: value, scale: 0 }
    }

    /// `mantissa / 10^scale`, in the smaller of the two forms.
    fn from_big(mantissa: BigInt, scale: u32) -> Numeric {
        match i128::try_from(&mantissa) {
            Ok(mantissa) => Numeric::Small { mantissa, scale },
            Err(_) => Numeric::Big { mantissa, scale },
        }
    }

    /// The stored form unpacked.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Numeric> {
        let damaged = || Error::corruption("a stored numeric is damaged");
        let (&header, rest) = bytes.split_first().ok_or_else(damaged)?;
        let (scale, magnitude) = match header & LONG {
            0 => (u32::from(header & 0x3F), rest),
            _ => match (header, rest) {
                (NAN, []) => return Ok(Numeric::Nan),
                (INFINITY, []) => return Ok(Numeric::Infinity),
                (NEG_INFINITY, []) => return Ok(Numeric::NegInfinity),
                (0x80 | 0xC0, [low, high, magnitude @ ..]) => {
                    let scale = u32::from(u16::from_le_bytes([*low, *high]));
                    if scale <= SHORT_SCALE_MAX || scale > SCALE_MAX {
                        return Err(damaged());
                    }
                    (scale, magnitude)
                }
                _ => return Err(damaged()),
            },
        };
        let negative = header & NEGATIVE != 0;
        if magnitude.last() == Some(&0) || (negative && magnitude.is_empty()) {
            return Err(damaged());
        }
        if magnitude.len() < size_of::<i128>() {
            // A loop, because most magnitudes have a byte or two, and a call to copy them would cost more.
            let value = magnitude.iter().rev().fold(0i128, |value, byte| value << 8 | i128::from(*byte));
            return Ok(Numeric::Small { mantissa: if negative { -value } else { value }, scale });
        }
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        Ok(Numeric::from_big(BigInt::from_bytes_le(sign, magnitude), scale))
    }

    /// The stored form, handed to `put` in one piece; `22003` beyond the limits.
    pub fn encode<T>(&self, put: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let (negative, scale, magnitude) = match self {
            Numeric::Nan => return Ok(put(&[NAN])),
            Numeric::Infinity => return Ok(put(&[INFINITY])),
            Numeric::NegInfinity => return Ok(put(&[NEG_INFINITY])),
            Numeric::Small { mantissa, scale } if *scale <= SHORT_SCALE_MAX => {
                let magnitude = mantissa.unsigned_abs();
                let length = (u128::BITS - magnitude.leading_zeros()).div_ceil(8) as usize;
                let mut bytes = [0; 1 + size_of::<u128>()];
                bytes[0] = *scale as u8 | if *mantissa < 0 { NEGATIVE } else { 0 };
                bytes[1..].copy_from_slice(&magnitude.to_le_bytes());
                return Ok(put(&bytes[..=length]));
            }
            Numeric::Small { mantissa, scale } => {
                (*mantissa < 0, *scale, BigUint::from(mantissa.unsigned_abs()).to_bytes_le())
            }
            Numeric::Big { mantissa, scale } => {
                (mantissa.sign() == Sign::Minus, *scale, mantissa.magnitude().to_bytes_le())
            }
        };
        if scale > SCALE_MAX || self.integer_digits() > INTEGER_DIGITS_MAX {
            return Err(overflow());
        }
        let mut bytes = Vec::with_capacity(magnitude.len() + 3);
        let sign = if negative { NEGATIVE } else { 0 };
        if scale <= SHORT_SCALE_MAX {
            bytes.push(scale as u8 | sign);
        } else {
            bytes.push(LONG | sign);
            bytes.extend_from_slice(&(scale as u16).to_le_bytes());
        }
        // The library writes zero as one zero byte.
        if magnitude != [0] {
            bytes.extend_from_slice(&magnitude);
        }
        Ok(put(&bytes))
    }

    /// The stored form as bytes of its own.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode(<[u8]>::to_vec)
    }

    /// Is it a number, neither infinite nor `NaN`?
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Small { .. } | Numeric::Big { .. })
    }

    /// Is it zero?
    pub fn is_zero(&self) -> bool {
        matches!(self, Numeric::Small { mantissa: 0, .. })
    }

    /// -1, 0 or 1; `NaN` counts as positive.
    pub fn signum(&self) -> i32 {
        match self {
            Numeric::Nan | Numeric::Infinity => 1,
            Numeric::NegInfinity => -1,
            Numeric::Small { mantissa, .. } => mantissa.signum() as i32,
            Numeric::Big { mantissa, .. } => match mantissa.sign() {
                Sign::Minus => -1,
                _ => 1,
            },
        }
    }

    /// How many digits are shown after the point.
    pub fn scale(&self) -> u32 {
        match self {
            Numeric::Small { scale, .. } | Numeric::Big { scale, .. } => *scale,
            _ => 0,
        }
    }

    /// The memory that the number holds outside itself.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Numeric::Big { mantissa, .. } => (mantissa.bits() / 8) as usize + size_of::<u64>(),
            _ => 0,
        }
    }

    /// The mantissa, whatever its size; zero for what is no number.
    fn big_mantissa(&self) -> BigInt {
        match self {
            Numeric::Small { mantissa, .. } => BigInt::from(*mantissa),
            Numeric::Big { mantissa, .. } => mantissa.clone(),
            _ => BigInt::ZERO,
        }
    }

    /// The digits of the mantissa, without a sign; `0` for zero.
    fn digits(&self) -> String {
        match self {
            Numeric::Small { mantissa, .. } => mantissa.unsigned_abs().to_string(),
            Numeric::Big { mantissa, .. } => mantissa.magnitude().to_string(),
            _ => String::from("0"),
        }
    }

    /// The number as `0.d1d2d3... * 10^exponent`, for one that is finite and not zero: its digits without zeros at either
    /// end, and the exponent. Its sign is not in them.
    pub fn significant_digits(&self) -> (String, i64) {
        let mut digits = self.digits();
        let exponent = digits.len() as i64 - i64::from(self.scale());
        digits.truncate(digits.trim_end_matches('0').len());
        (digits, exponent)
    }

    /// How many digits the mantissa has; 0 for zero.
    fn digit_count(&self) -> u64 {
        match self {
            Numeric::Small { mantissa, .. } => {
                mantissa.unsigned_abs().checked_ilog10().map_or(0, |log| u64::from(log) + 1)
            }
            Numeric::Big { mantissa, .. } => big_digit_count(mantissa.magnitude()),
            _ => 0,
        }
    }

    /// How many digits stand before the point; 0 below one.
    fn integer_digits(&self) -> u64 {
        self.digit_count().saturating_sub(u64::from(self.scale()))
    }

    /// The exponent of the leading digit: 2 for 123, -3 for 0.00123; `None` for zero.
    fn exponent(&self) -> Option<i64> {
        match self.digit_count() {
            0 => None,
            count => Some(count as i64 - i64::from(self.scale()) - 1),
        }
    }

    /// Weight and value of the first base-10,000 digit, by which PostgreSQL chooses scales; zeros for zero.
    fn leading_group(&self) -> (i64, i64) {
        let Some(exponent) = self.exponent() else {
            return (0, 0);
        };
        let weight = exponent.div_euclid(4);
        (weight, self.leading_digits(exponent.rem_euclid(4) as usize + 1))
    }

    /// The first `count` digits, zeros appended where there are fewer.
    fn leading_digits(&self, count: usize) -> i64 {
        let digits = self.digits();
        let all = digits.bytes().chain(std::iter::repeat(b'0')).take(count);
        all.fold(0, |value, digit| value * 10 + i64::from(digit - b'0'))
    }

    /// PostgreSQL's order, in which scales do not count.
    pub fn compare(&self, other: &Numeric) -> Ordering {
        use Numeric::{Big, Infinity, Nan, NegInfinity, Small};
        if let (Small { mantissa: a, scale: p }, Small { mantissa: b, scale: q }) = (self, other) {
            if p == q {
                return a.cmp(b);
            }
            let (wide, narrow, difference) = if p < q { (*b, *a, q - p) } else { (*a, *b, p - q) };
            let widened = small_power_of_ten(difference).and_then(|power| narrow.checked_mul(power));
            if let Some(widened) = widened {
                return if p < q { widened.cmp(&wide) } else { wide.cmp(&widened) };
            }
        }
        let rank = |value: &Numeric| match value {
            NegInfinity => 0,
            Small { .. } | Big { .. } => 1,
            Infinity => 2,
            Nan => 3,
        };
        if !self.is_finite() || !other.is_finite() {
            return rank(self).cmp(&rank(other));
        }
        self.signum().cmp(&other.signum()).then_with(|| {
            let scale = self.scale().max(other.scale());
            self.mantissa_at(scale).cmp(&other.mantissa_at(scale))
        })
    }

    /// The mantissa at a scale that is not smaller than the number's own.
    fn mantissa_at(&self, scale: u32) -> BigInt {
        let own = self.scale();
        match scale - own {
            0 => self.big_mantissa(),
            difference => self.big_mantissa() * power_of_ten(u64::from(difference)),
        }
    }

    /// The number with the zeros at the end of its mantissa taken off, at the smallest scale: equal numbers become
    /// identical.
    pub fn reduced(&self) -> Numeric {
        match self {
            Numeric::Small { mantissa, scale } => {
                let (mut mantissa, mut scale) = (*mantissa, *scale);
                if mantissa == 0 {
                    return Numeric::ZERO;
                }
                while scale > 0 && mantissa % 10 == 0 {
                    mantissa /= 10;
                    scale -= 1;
                }
                Numeric::Small { mantissa, scale }
            }
            Numeric::Big { scale, .. } => {
                let digits = self.digits();
                let zeros = digits.bytes().rev().take_while(|&digit| digit == b'0').count().min(*scale as usize);
                self.at_scale(*scale - zeros as u32)
            }
            other => other.clone(),
        }
    }

    /// The number at a smaller scale that loses only zeros.
    fn at_scale(&self, scale: u32) -> Numeric {
        let power = power_of_ten(u64::from(self.scale() - scale));
        Numeric::from_big(self.big_mantissa() / power, scale)
    }
}

fn big_digit_count(magnitude: &BigUint) -> u64 {
    let bits = magnitude.bits();
    if bits == 0 {
        return 0;
    }
    // Of a number of that many bits: never above the true count, and at most one below it.
    let mut count = ((bits - 1) as f64 * std::f64::consts::LOG10_2) as u64 + 1;
    while BigUint::from(10u8).pow(u32::try_from(count).unwrap_or(u32::MAX)) <= *magnitude {
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests;
