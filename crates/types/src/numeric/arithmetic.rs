//! Sums, products, quotients and roundings, with PostgreSQL's result scales.

use super::{DISPLAY_SCALE_MAX, Numeric, SCALE_MAX, SIGNIFICANT_DIGITS_MIN, power_of_ten, small_power_of_ten};
use base::{Error, Result, sqlstate};
use num_bigint::{BigInt, Sign};

/// What becomes of the digits that a smaller scale has no room for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    /// To the nearest, half away from zero.
    Nearest,
    /// Towards zero.
    Truncate,
    /// Towards minus infinity.
    Floor,
    /// Towards plus infinity.
    Ceiling,
}

/// The scale that an operator asks for, limited as PostgreSQL limits it.
const ROUND_SCALE_MAX: i64 = 2000;

#[cold]
pub(super) fn division_by_zero() -> Error {
    Error::statement(sqlstate::DIVISION_BY_ZERO, "division by zero")
}

/// `numerator / denominator` rounded to an integer.
pub(super) fn divide_rounded(numerator: BigInt, denominator: &BigInt, rounding: Rounding) -> BigInt {
    let quotient = &numerator / denominator;
    let remainder = numerator - &quotient * denominator;
    if remainder.sign() == Sign::NoSign {
        return quotient;
    }
    let negative = (remainder.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
    let away = match rounding {
        Rounding::Truncate => false,
        Rounding::Floor => negative,
        Rounding::Ceiling => !negative,
        Rounding::Nearest => remainder.magnitude() * 2u8 >= *denominator.magnitude(),
    };
    match (away, negative) {
        (false, _) => quotient,
        (true, true) => quotient - 1,
        (true, false) => quotient + 1,
    }
}

/// The same for numbers that fit 128 bits; the denominator is positive.
fn divide_small(numerator: i128, denominator: i128, rounding: Rounding) -> i128 {
    let quotient = numerator / denominator;
    let remainder = numerator % denominator;
    let negative = remainder < 0;
    let away = match rounding {
        Rounding::Truncate => false,
        Rounding::Floor => negative,
        Rounding::Ceiling => remainder > 0,
        Rounding::Nearest => remainder.unsigned_abs() >= denominator.unsigned_abs().div_ceil(2),
    };
    match (away, negative) {
        (false, _) => quotient,
        (true, true) => quotient - 1,
        (true, false) => quotient + 1,
    }
}

impl Numeric {
    /// `-self`.
    pub fn negate(self) -> Numeric {
        match self {
            Numeric::Nan => Numeric::Nan,
            Numeric::Infinity => Numeric::NegInfinity,
            Numeric::NegInfinity => Numeric::Infinity,
            Numeric::Small { mantissa: i128::MIN, scale } => Numeric::Big { mantissa: -BigInt::from(i128::MIN), scale },
            Numeric::Small { mantissa, scale } => Numeric::Small { mantissa: -mantissa, scale },
            Numeric::Big { mantissa, scale } => Numeric::from_big(-mantissa, scale),
        }
    }

    /// The absolute value.
    pub fn abs(self) -> Numeric {
        if self.signum() < 0 { self.negate() } else { self }
    }

    /// `self + other`.
    #[inline]
    pub fn add(&self, other: &Numeric) -> Numeric {
        if let (Numeric::Small { mantissa: a, scale: p }, Numeric::Small { mantissa: b, scale: q }) = (self, other) {
            let scale = *p.max(q);
            let widen = |mantissa: i128, own: u32| match scale - own {
                0 => Some(mantissa),
                difference => small_power_of_ten(difference).and_then(|power| mantissa.checked_mul(power)),
            };
            let sum = widen(*a, *p).zip(widen(*b, *q)).and_then(|(a, b)| a.checked_add(b));
            if let Some(mantissa) = sum {
                return Numeric::Small { mantissa, scale };
            }
        }
        match (self, other) {
            (Numeric::Nan, _) | (_, Numeric::Nan) => Numeric::Nan,
            (Numeric::Infinity, Numeric::NegInfinity) | (Numeric::NegInfinity, Numeric::Infinity) => Numeric::Nan,
            (Numeric::Infinity, _) | (_, Numeric::Infinity) => Numeric::Infinity,
            (Numeric::NegInfinity, _) | (_, Numeric::NegInfinity) => Numeric::NegInfinity,
            _ => {
                let scale = self.scale().max(other.scale());
                Numeric::from_big(self.mantissa_at(scale) + other.mantissa_at(scale), scale)
            }
        }
    }

    /// `self - other`.
    pub fn subtract(&self, other: &Numeric) -> Numeric {
        self.add(&other.clone().negate())
    }

    /// `self * other`.
    pub fn multiply(&self, other: &Numeric) -> Result<Numeric> {
        if let (Numeric::Small { mantissa: a, scale: p }, Numeric::Small { mantissa: b, scale: q }) = (self, other)
            && let Some(mantissa) = a.checked_mul(*b)
            && p + q <= SCALE_MAX
        {
            return Ok(Numeric::Small { mantissa, scale: p + q });
        }
        if !self.is_finite() || !other.is_finite() {
            return Ok(match self.signum() * other.signum() {
                _ if matches!(self, Numeric::Nan) || matches!(other, Numeric::Nan) => Numeric::Nan,
                0 => Numeric::Nan,
                1 => Numeric::Infinity,
                _ => Numeric::NegInfinity,
            });
        }
        let product = Numeric::from_big(self.big_mantissa() * other.big_mantissa(), self.scale() + other.scale());
        match product.scale() > SCALE_MAX {
            true => product.rescale(i64::from(SCALE_MAX), Rounding::Nearest),
            false => Ok(product),
        }
    }

    /// `self / other`, to at least 16 significant digits.
    pub fn divide(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Numeric::Nan, _) | (_, Numeric::Nan) => return Ok(Numeric::Nan),
            (Numeric::Infinity | Numeric::NegInfinity, Numeric::Infinity | Numeric::NegInfinity) => {
                return Ok(Numeric::Nan);
            }
            (Numeric::Infinity | Numeric::NegInfinity, _) => {
                return match self.signum() * other.signum() {
                    0 => Err(division_by_zero()),
                    1 => Ok(Numeric::Infinity),
                    _ => Ok(Numeric::NegInfinity),
                };
            }
            (_, Numeric::Infinity | Numeric::NegInfinity) => return Ok(Numeric::ZERO),
            _ if other.is_zero() => return Err(division_by_zero()),
            _ => {}
        }
        self.divide_at(other, self.quotient_scale(other), Rounding::Nearest)
    }

    /// The scale that PostgreSQL gives a quotient: at least 16 significant digits, and no less than either operand's.
    fn quotient_scale(&self, other: &Numeric) -> i64 {
        let (weight, group) = self.leading_group();
        let (other_weight, other_group) = other.leading_group();
        let quotient_weight = weight - other_weight - i64::from(group <= other_group);
        (SIGNIFICANT_DIGITS_MIN - quotient_weight * 4)
            .max(i64::from(self.scale()))
            .max(i64::from(other.scale()))
            .clamp(0, DISPLAY_SCALE_MAX)
    }

    /// The quotient of two numbers at a given scale; the divisor is not zero.
    pub(super) fn divide_at(&self, other: &Numeric, scale: i64, rounding: Rounding) -> Result<Numeric> {
        // self / other = (a / 10^p) / (b / 10^q) = a * 10^(q - p) / b, and the result is to be multiplied by 10^scale.
        let shift = scale + i64::from(other.scale()) - i64::from(self.scale());
        let (mut numerator, mut denominator) = (self.big_mantissa(), other.big_mantissa());
        if let (Numeric::Small { mantissa: a, .. }, Numeric::Small { mantissa: b, .. }) = (self, other)
            && let Some(power) = u32::try_from(shift).ok().and_then(small_power_of_ten)
            && let Some(widened) = a.checked_mul(power)
            && let (Some(magnitude), Some(divisor)) = (widened.checked_abs(), b.checked_abs())
        {
            let negative = (*a < 0) != (*b < 0);
            let quotient = divide_small(if negative { -magnitude } else { magnitude }, divisor, rounding);
            return Ok(Numeric::Small { mantissa: quotient, scale: scale as u32 });
        }
        if shift >= 0 {
            numerator *= power_of_ten(shift as u64);
        } else {
            denominator *= power_of_ten(shift.unsigned_abs());
        }
        Ok(Numeric::from_big(divide_rounded(numerator, &denominator, rounding), scale as u32))
    }

    /// `self` modulo `other`: what is left of a division towards zero.
    pub fn remainder(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Numeric::Nan, _) | (_, Numeric::Nan) => return Ok(Numeric::Nan),
            _ if other.is_zero() => return Err(division_by_zero()),
            (Numeric::Infinity | Numeric::NegInfinity, _) => return Ok(Numeric::Nan),
            (_, Numeric::Infinity | Numeric::NegInfinity) => return Ok(self.clone()),
            _ => {}
        }
        let scale = self.scale().max(other.scale());
        Ok(Numeric::from_big(self.mantissa_at(scale) % other.mantissa_at(scale), scale))
    }

    /// The integer part of a quotient.
    pub fn divide_truncated(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            _ if self.is_finite() && other.is_finite() => {
                if other.is_zero() {
                    return Err(division_by_zero());
                }
                self.divide_at(other, 0, Rounding::Truncate)
            }
            _ => self.divide(other),
        }
    }

    /// The number at another scale; a negative one rounds before the point and shows as zero.
    pub(super) fn rescale(&self, scale: i64, rounding: Rounding) -> Result<Numeric> {
        if !self.is_finite() {
            return Ok(self.clone());
        }
        let own = i64::from(self.scale());
        let shown = scale.clamp(0, i64::from(SCALE_MAX)) as u32;
        let lost = own - scale;
        if lost <= 0 {
            let wider = u32::try_from(-lost).ok().and_then(small_power_of_ten);
            if let (Numeric::Small { mantissa, .. }, Some(power)) = (self, wider)
                && let Some(mantissa) = mantissa.checked_mul(power)
            {
                return Ok(Numeric::Small { mantissa, scale: shown });
            }
            return Ok(Numeric::from_big(self.mantissa_at(shown), shown));
        }
        if let (Numeric::Small { mantissa, .. }, Some(power)) = (self, small_power_of_ten(lost as u32)) {
            let quotient = divide_small(*mantissa, power, rounding);
            if scale >= 0 {
                return Ok(Numeric::Small { mantissa: quotient, scale: shown });
            }
        }
        let quotient = divide_rounded(self.big_mantissa(), &power_of_ten(lost as u64), rounding);
        let back = if scale < 0 { quotient * power_of_ten(scale.unsigned_abs()) } else { quotient };
        Ok(Numeric::from_big(back, shown))
    }

    /// The number times a power of ten.
    pub fn shifted(&self, places: i64) -> Numeric {
        if !self.is_finite() {
            return self.clone();
        }
        let scale = i64::from(self.scale()) - places;
        let mantissa = self.big_mantissa();
        match u32::try_from(scale) {
            Ok(scale) => Numeric::from_big(mantissa, scale),
            Err(_) => Numeric::from_big(mantissa * power_of_ten(scale.unsigned_abs()), 0),
        }
    }

    /// `round(self, scale)`.
    pub fn round(&self, scale: i64) -> Result<Numeric> {
        self.rescale(scale.clamp(-ROUND_SCALE_MAX, ROUND_SCALE_MAX), Rounding::Nearest)
    }

    /// `trunc(self, scale)`.
    pub fn truncate(&self, scale: i64) -> Result<Numeric> {
        self.rescale(scale.clamp(-ROUND_SCALE_MAX, ROUND_SCALE_MAX), Rounding::Truncate)
    }

    /// The largest integer that is not greater.
    pub fn floor(&self) -> Result<Numeric> {
        self.rescale(0, Rounding::Floor)
    }

    /// The smallest integer that is not less.
    pub fn ceiling(&self) -> Result<Numeric> {
        self.rescale(0, Rounding::Ceiling)
    }
}
