//! Roots, powers, exponentials and logarithms of `numeric`.
//!
//! Scales are chosen as PostgreSQL chooses them, from estimates of the result's size; the digits are computed in fixed
//! point with enough of them to spare that the result is the correctly rounded one. What PostgreSQL prints may differ in
//! the last digit where its own guard digits do not suffice.

use super::arithmetic::{Rounding, divide_rounded, division_by_zero};
use super::{DISPLAY_SCALE_MAX, Numeric, SIGNIFICANT_DIGITS_MIN, overflow, power_of_ten};
use base::sqlstate::{INVALID_ARGUMENT_FOR_LOGARITHM, INVALID_ARGUMENT_FOR_POWER_FUNCTION};
use base::{Error, Result};
use num_bigint::{BigInt, Sign};

/// The decimal exponent beyond which an exponential overflows or vanishes; the natural one is three times that.
const RESULT_EXPONENT_MAX: f64 = 2000.0;
/// Digits computed beyond those that are shown.
const GUARD_DIGITS: u64 = 12;

/// A number in fixed point: `value / 10^digits`.
struct Fixed {
    digits: u64,
    one: BigInt,
}

impl Fixed {
    fn new(digits: u64) -> Fixed {
        Fixed { digits, one: power_of_ten(digits) }
    }

    fn convert(&self, value: &Numeric) -> BigInt {
        let shift = self.digits as i64 - i64::from(value.scale());
        match shift {
            0.. => value.big_mantissa() * power_of_ten(shift as u64),
            _ => divide_rounded(value.big_mantissa(), &power_of_ten(shift.unsigned_abs()), Rounding::Nearest),
        }
    }

    fn multiply(&self, a: &BigInt, b: &BigInt) -> BigInt {
        a * b / &self.one
    }

    /// The inverse hyperbolic tangent of `1 / n`.
    fn atanh_of_inverse(&self, n: u32) -> BigInt {
        let square = n * n;
        let mut power = &self.one / n;
        let mut sum = power.clone();
        let mut odd = 3u32;
        while power.sign() != Sign::NoSign {
            power /= square;
            sum += &power / odd;
            odd += 2;
        }
        sum
    }

    /// The natural logarithm of ten.
    fn ln_ten(&self) -> BigInt {
        self.atanh_of_inverse(31) * 46 + self.atanh_of_inverse(49) * 34 + self.atanh_of_inverse(161) * 20
    }

    /// The natural logarithm of a positive number of about one.
    fn ln(&self, value: &BigInt) -> BigInt {
        // Square roots bring it near enough to one for the series to be short.
        let mut near = value.clone();
        let mut doublings = 0u32;
        let close: BigInt = &self.one / 50u8;
        while (&near - &self.one).magnitude() > close.magnitude() {
            near = (near * &self.one).sqrt();
            doublings += 1;
        }
        let ratio = (&near - &self.one) * &self.one / (&near + &self.one);
        let square = self.multiply(&ratio, &ratio);
        let mut power = ratio.clone();
        let mut sum = ratio;
        let mut odd = 3u32;
        while power.sign() != Sign::NoSign {
            power = self.multiply(&power, &square);
            sum += &power / odd;
            odd += 2;
        }
        sum << (doublings + 1)
    }

    /// `e` to the power of a number between -2 and 2.
    fn exp(&self, value: &BigInt) -> BigInt {
        const HALVINGS: u32 = 10;
        let small = value >> HALVINGS;
        let mut term = self.one.clone();
        let mut sum = self.one.clone();
        let mut count = 1u32;
        while term.sign() != Sign::NoSign {
            term = self.multiply(&term, &small) / count;
            sum += &term;
            count += 1;
        }
        for _ in 0..HALVINGS {
            sum = self.multiply(&sum, &sum);
        }
        sum
    }
}

#[cold]
fn refuse_power(message: &'static str) -> Error {
    Error::statement(INVALID_ARGUMENT_FOR_POWER_FUNCTION, message)
}

/// The natural logarithm of a positive number as `fixed`'s digits say.
fn ln_fixed(value: &Numeric, fixed: &Fixed) -> BigInt {
    // value = m * 10^shift with m between 0.1 and 1, or the number itself where it is near one.
    let exponent = value.exponent().unwrap_or(0);
    let shift = if exponent == 0 || exponent == -1 { 0 } else { exponent + 1 };
    let scale = i64::from(value.scale()) + shift;
    let mantissa = value.big_mantissa();
    let point = fixed.digits as i64 - scale;
    let scaled = match point {
        0.. => mantissa * power_of_ten(point as u64),
        _ => divide_rounded(mantissa, &power_of_ten(point.unsigned_abs()), Rounding::Nearest),
    };
    fixed.ln(&scaled) + fixed.ln_ten() * shift
}

/// `e^exponent` at a scale; `exponent` is in fixed point.
fn exp_fixed(exponent: &BigInt, fixed: &Fixed, scale: i64) -> Numeric {
    let ln_ten = fixed.ln_ten();
    let tens = i64::try_from(divide_rounded(exponent.clone(), &ln_ten, Rounding::Nearest)).unwrap_or(0);
    let value = fixed.exp(&(exponent - ln_ten * tens));
    // value * 10^tens / 10^digits, wanted as an integer over 10^scale.
    let shift = fixed.digits as i64 - tens - scale;
    let mantissa = match shift {
        0.. => divide_rounded(value, &power_of_ten(shift as u64), Rounding::Nearest),
        _ => value * power_of_ten(shift.unsigned_abs()),
    };
    Numeric::from_big(mantissa, scale as u32)
}

impl Numeric {
    /// The exponent of the leading digit of the natural logarithm, estimated as PostgreSQL does.
    fn ln_weight(&self) -> i64 {
        let near_one = |tenths: i128| Numeric::Small { mantissa: tenths, scale: 1 };
        if self.compare(&near_one(9)).is_ge() && self.compare(&near_one(11)).is_le() {
            let distance = self.subtract(&Numeric::ONE);
            if distance.is_zero() {
                return 0;
            }
            let (weight, group) = distance.leading_group();
            return weight * 4 + (group as f64).log10() as i64;
        }
        let Some(exponent) = self.exponent() else {
            return 0;
        };
        // The first one or two groups of four digits.
        let (weight, first) = self.leading_group();
        let in_first = exponent.rem_euclid(4) as usize + 1;
        let (digits, weight) = match self.digit_count() as usize > in_first {
            true => (self.leading_digits(in_first + 4), (weight - 1) * 4),
            false => (first, weight * 4),
        };
        let ln = (digits as f64).ln() + weight as f64 * std::f64::consts::LN_10;
        ln.abs().log10() as i64
    }

    fn logarithm_argument(&self) -> Result<()> {
        let refuse = |message| Err(Error::statement(INVALID_ARGUMENT_FOR_LOGARITHM, message));
        match self.signum() {
            0 => refuse("cannot take logarithm of zero"),
            -1 => refuse("cannot take logarithm of a negative number"),
            _ => Ok(()),
        }
    }

    /// The square root.
    pub fn sqrt(&self) -> Result<Numeric> {
        if matches!(self, Numeric::Nan | Numeric::Infinity) {
            return Ok(self.clone());
        }
        if self.signum() < 0 {
            return Err(refuse_power("cannot take square root of a negative number"));
        }
        let (weight, _) = self.leading_group();
        let root_weight = weight * 4 / 2 + 1;
        let scale = (SIGNIFICANT_DIGITS_MIN - root_weight).max(i64::from(self.scale())).clamp(0, DISPLAY_SCALE_MAX);
        self.sqrt_at(scale)
    }

    /// The square root of a number that is not negative, at a scale.
    pub fn sqrt_at(&self, scale: impl Into<i64>) -> Result<Numeric> {
        let scale = scale.into();
        // Two digits more than shown: the root is then cut, and rounded with the remainder in mind.
        let digits = (scale as u64 + 2) * 2;
        let widened = match digits as i64 - i64::from(self.scale()) {
            shift @ 0.. => self.big_mantissa() * power_of_ten(shift as u64),
            shift => self.big_mantissa() / power_of_ten(shift.unsigned_abs()),
        };
        Ok(Numeric::from_big(divide_rounded(widened.sqrt(), &BigInt::from(100u8), Rounding::Nearest), scale as u32))
    }

    /// `e` to this power.
    pub fn exp(&self) -> Result<Numeric> {
        match self {
            Numeric::Nan | Numeric::Infinity => return Ok(self.clone()),
            Numeric::NegInfinity => return Ok(Numeric::ZERO),
            _ => {}
        }
        let natural = self.approximate();
        let decimal = natural * std::f64::consts::LOG10_E;
        let estimate = decimal.clamp(-RESULT_EXPONENT_MAX, RESULT_EXPONENT_MAX) as i64;
        let scale = (SIGNIFICANT_DIGITS_MIN - estimate).max(i64::from(self.scale())).clamp(0, DISPLAY_SCALE_MAX);
        if natural.abs() >= RESULT_EXPONENT_MAX * 3.0 {
            return exponential_limit(natural > 0.0, scale);
        }
        let fixed = Fixed::new((scale + estimate.max(0)) as u64 + 8 + GUARD_DIGITS);
        Ok(exp_fixed(&fixed.convert(self), &fixed, scale))
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Result<Numeric> {
        self.logarithm_argument()?;
        if !self.is_finite() {
            return Ok(self.clone());
        }
        let scale =
            (SIGNIFICANT_DIGITS_MIN - self.ln_weight()).max(i64::from(self.scale())).clamp(0, DISPLAY_SCALE_MAX);
        let fixed = Fixed::new(scale as u64 + GUARD_DIGITS);
        let mantissa =
            divide_rounded(ln_fixed(self, &fixed), &power_of_ten(fixed.digits - scale as u64), Rounding::Nearest);
        Ok(Numeric::from_big(mantissa, scale as u32))
    }

    /// The logarithm to a base.
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        base.logarithm_argument()?;
        self.logarithm_argument()?;
        match (base, self) {
            (Numeric::Nan, _) | (_, Numeric::Nan) | (Numeric::Infinity, Numeric::Infinity) => return Ok(Numeric::Nan),
            (Numeric::Infinity, _) => return Ok(Numeric::ZERO),
            (_, Numeric::Infinity) => return Ok(Numeric::Infinity),
            _ => {}
        }
        let (base_weight, weight) = (base.ln_weight(), self.ln_weight());
        let scale = (SIGNIFICANT_DIGITS_MIN - (weight - base_weight))
            .max(i64::from(base.scale()))
            .max(i64::from(self.scale()))
            .clamp(0, DISPLAY_SCALE_MAX);
        let digits = scale + weight.max(0) - base_weight.min(0) * 2;
        let fixed = Fixed::new(digits as u64 + GUARD_DIGITS);
        let divisor = ln_fixed(base, &fixed);
        if divisor.sign() == Sign::NoSign {
            return Err(division_by_zero());
        }
        let numerator = ln_fixed(self, &fixed) * power_of_ten(scale as u64);
        Ok(Numeric::from_big(divide_rounded(numerator, &divisor, Rounding::Nearest), scale as u32))
    }

    /// `self` to the power of `exponent`.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        if !self.is_finite() || !exponent.is_finite() {
            return self.power_special(exponent);
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(refuse_power("zero raised to a negative power is undefined"));
        }
        let integer = exponent.truncate(0)?;
        let is_integer = integer.compare(exponent).is_eq();
        if self.signum() < 0 && !is_integer {
            return Err(refuse_power("a negative number raised to a non-integer power yields a complex result"));
        }
        if is_integer
            && let Numeric::Small { mantissa, .. } = integer
            && let Ok(power) = i32::try_from(mantissa)
        {
            return self.power_of_integer(power);
        }
        if self.is_zero() {
            return Ok(Numeric::Small { mantissa: 0, scale: SIGNIFICANT_DIGITS_MIN as u32 });
        }
        let negative = self.signum() < 0 && exponent_is_odd(exponent);
        let value = self.clone().abs().power_by_logarithm(exponent)?;
        Ok(if negative { value.negate() } else { value })
    }

    /// Powers where an operand is infinite or not a number, as POSIX defines them.
    fn power_special(&self, exponent: &Numeric) -> Result<Numeric> {
        let is_one = |value: &Numeric| value.is_finite() && value.compare(&Numeric::ONE).is_eq();
        match (self, exponent) {
            (Numeric::Nan, _) if exponent.is_zero() => return Ok(Numeric::ONE),
            (_, Numeric::Nan) if is_one(self) => return Ok(Numeric::ONE),
            (Numeric::Nan, _) | (_, Numeric::Nan) => return Ok(Numeric::Nan),
            _ => {}
        }
        if self.is_zero() && exponent.signum() < 0 {
            return Err(refuse_power("zero raised to a negative power is undefined"));
        }
        let fraction = exponent.is_finite() && !exponent.truncate(0)?.compare(exponent).is_eq();
        if self.signum() < 0 && fraction {
            return Err(refuse_power("a negative number raised to a non-integer power yields a complex result"));
        }
        if is_one(self) || exponent.is_zero() {
            return Ok(Numeric::ONE);
        }
        if !exponent.is_finite() {
            let magnitude = self.clone().abs().compare(&Numeric::ONE);
            let grows = exponent.signum() > 0;
            return Ok(match (magnitude.is_eq(), magnitude.is_gt() == grows) {
                (true, _) => Numeric::ONE,
                (_, true) => Numeric::Infinity,
                (_, false) => Numeric::ZERO,
            });
        }
        if exponent.signum() < 0 {
            return Ok(Numeric::ZERO);
        }
        let negative = matches!(self, Numeric::NegInfinity) && exponent_is_odd(exponent);
        Ok(if negative { Numeric::NegInfinity } else { Numeric::Infinity })
    }

    fn power_of_integer(&self, power: i32) -> Result<Numeric> {
        let decimal = match self.exponent() {
            None => 0.0,
            Some(exponent) => {
                let digits = (self.digit_count() as usize).min(16);
                let leading = self.leading_digits(digits) as f64;
                f64::from(power) * (leading.log10() + (exponent - digits as i64 + 1) as f64)
            }
        };
        if decimal > super::INTEGER_DIGITS_MAX as f64 {
            return Err(overflow());
        }
        let scale = SIGNIFICANT_DIGITS_MIN.max(i64::from(self.scale())).min(DISPLAY_SCALE_MAX);
        if decimal + 1.0 < -(DISPLAY_SCALE_MAX as f64) {
            return Ok(Numeric::Small { mantissa: 0, scale: scale as u32 });
        }
        match power {
            0 => return Numeric::ONE.rescale(scale, Rounding::Nearest),
            1 => return self.rescale(scale, Rounding::Nearest),
            -1 => return Numeric::ONE.divide_at(self, scale, Rounding::Nearest),
            _ if self.is_zero() => return Ok(Numeric::Small { mantissa: 0, scale: scale as u32 }),
            _ => {}
        }
        // Significant digits that are kept while squaring: each of the steps loses less than one unit of the last.
        let digits = (1 + scale + decimal as i64).max(1) as u64 + f64::from(power).abs().ln() as u64 + GUARD_DIGITS;
        let mut rest = power.unsigned_abs();
        let mut square = self.cut(digits);
        let mut product = Numeric::ONE;
        loop {
            if rest & 1 == 1 {
                product = product.times(&square).cut(digits);
            }
            rest >>= 1;
            if rest == 0 {
                break;
            }
            square = square.times(&square).cut(digits);
        }
        let value = match power < 0 {
            true => Numeric::ONE.divide_at(&product, scale, Rounding::Nearest)?,
            false => product.rescale(scale, Rounding::Nearest)?,
        };
        match value.integer_digits() > super::INTEGER_DIGITS_MAX {
            true => Err(overflow()),
            false => Ok(value),
        }
    }

    /// The product, with all its digits and no limit on its scale.
    fn times(&self, other: &Numeric) -> Numeric {
        Numeric::from_big(self.big_mantissa() * other.big_mantissa(), self.scale() + other.scale())
    }

    /// The number with about `digits` significant digits, where it has more after the point than that.
    fn cut(&self, digits: u64) -> Numeric {
        let surplus = self.digit_count().saturating_sub(digits).min(u64::from(self.scale()));
        match surplus {
            0 => self.clone(),
            _ => Numeric::from_big(
                divide_rounded(self.big_mantissa(), &power_of_ten(surplus), Rounding::Nearest),
                self.scale() - surplus as u32,
            ),
        }
    }

    /// A positive number to a power that is no integer, or a very large one.
    fn power_by_logarithm(&self, exponent: &Numeric) -> Result<Numeric> {
        let ln_weight = self.ln_weight();
        let fixed = Fixed::new((8 - ln_weight).max(0) as u64 + GUARD_DIGITS);
        let rough = Numeric::from_big(ln_fixed(self, &fixed), fixed.digits as u32);
        let natural = rough.approximate() * exponent.approximate();
        if natural.abs() > RESULT_EXPONENT_MAX * 3.01 {
            return exponential_limit(natural > 0.0, DISPLAY_SCALE_MAX);
        }
        let decimal = (natural * std::f64::consts::LOG10_E) as i64;
        let scale = (SIGNIFICANT_DIGITS_MIN - decimal)
            .max(i64::from(self.scale()))
            .max(i64::from(exponent.scale()))
            .clamp(0, DISPLAY_SCALE_MAX);
        let digits = (scale + decimal).max(0) as u64 + 8 + GUARD_DIGITS + exponent.integer_digits();
        let fixed = Fixed::new(digits + ln_weight.min(0).unsigned_abs());
        let power = ln_fixed(self, &fixed) * exponent.big_mantissa();
        let power = divide_rounded(power, &power_of_ten(u64::from(exponent.scale())), Rounding::Nearest);
        Ok(exp_fixed(&power, &fixed, scale))
    }
}

fn exponential_limit(grows: bool, scale: i64) -> Result<Numeric> {
    match grows {
        true => Err(overflow()),
        false => Ok(Numeric::Small { mantissa: 0, scale: scale as u32 }),
    }
}

/// Is a whole number odd?
fn exponent_is_odd(exponent: &Numeric) -> bool {
    let two = Numeric::from_int(2);
    exponent.remainder(&two).is_ok_and(|rest| !rest.is_zero())
}
