//! `numeric` to and from integers, floating-point numbers and the wire's binary form.

use super::{Numeric, SCALE_MAX, overflow};
use crate::Sink;
use crate::float;
use base::codec::Reader;
use base::{Error, Result, sqlstate};
use num_bigint::BigInt;

const WIRE_POSITIVE: u16 = 0x0000;
const WIRE_NEGATIVE: u16 = 0x4000;
const WIRE_NAN: u16 = 0xC000;
const WIRE_INFINITY: u16 = 0xD000;
const WIRE_NEG_INFINITY: u16 = 0xF000;

impl Numeric {
    /// The nearest integer, for a type that `name` names in the errors; the caller checks the range.
    pub fn to_integer(&self, name: &str) -> Result<i128> {
        let what = match self {
            Numeric::Nan => "NaN",
            Numeric::Infinity | Numeric::NegInfinity => "infinity",
            _ => {
                return match self.round(0)? {
                    Numeric::Small { mantissa, .. } => Ok(mantissa),
                    _ => Err(crate::int::out_of_range(name)),
                };
            }
        };
        Err(Error::unsupported(format!("cannot convert {what} to {name}")))
    }

    /// The nearest `double precision`.
    pub fn to_f64(&self) -> Result<f64> {
        match self {
            Numeric::Nan => return Ok(f64::NAN),
            Numeric::Infinity => return Ok(f64::INFINITY),
            Numeric::NegInfinity => return Ok(f64::NEG_INFINITY),
            // Both are exact, so their quotient is rounded once, to the nearest.
            Numeric::Small { mantissa, scale } if mantissa.unsigned_abs() < 1 << 53 && *scale <= 22 => {
                return Ok(*mantissa as f64 / 10f64.powi(*scale as i32));
            }
            _ => {}
        }
        float::parse_f64(&self.to_text())
    }

    /// The nearest `real`.
    pub fn to_f32(&self) -> Result<f32> {
        match self {
            Numeric::Nan => Ok(f32::NAN),
            Numeric::Infinity => Ok(f32::INFINITY),
            Numeric::NegInfinity => Ok(f32::NEG_INFINITY),
            _ => float::parse_f32(&self.to_text()),
        }
    }

    /// A rough value for estimates: never refused, infinite where it does not fit.
    pub(super) fn approximate(&self) -> f64 {
        self.to_text().parse().unwrap_or(f64::INFINITY)
    }

    /// A `double precision` with the 15 digits that it always holds, as PostgreSQL converts it.
    pub fn from_f64(value: f64) -> Result<Numeric> {
        Numeric::from_scientific(value, &format!("{value:.14e}"))
    }

    /// A `real` with the six digits that it always holds.
    pub fn from_f32(value: f32) -> Result<Numeric> {
        Numeric::from_scientific(f64::from(value), &format!("{value:.5e}"))
    }

    fn from_scientific(value: f64, text: &str) -> Result<Numeric> {
        if value.is_nan() {
            return Ok(Numeric::Nan);
        }
        if value.is_infinite() {
            return Ok(if value > 0.0 { Numeric::Infinity } else { Numeric::NegInfinity });
        }
        let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits = match digits.contains('.') {
            true => digits.trim_end_matches('0').trim_end_matches('.'),
            false => digits,
        };
        Numeric::parse(&format!("{digits}e{exponent}"))
    }

    /// Writes the wire's binary form: base-10,000 digits with a weight.
    pub fn send(&self, out: &mut impl Sink) {
        let special = |out: &mut dyn FnMut(&[u8]), sign: u16| {
            out(&[0, 0, 0, 0]);
            out(&sign.to_be_bytes());
            out(&[0, 0]);
        };
        let mut put = |bytes: &[u8]| out.put(bytes);
        match self {
            Numeric::Nan => return special(&mut put, WIRE_NAN),
            Numeric::Infinity => return special(&mut put, WIRE_INFINITY),
            Numeric::NegInfinity => return special(&mut put, WIRE_NEG_INFINITY),
            _ => {}
        }
        let (weight, groups) = self.groups();
        put(&(groups.len() as u16).to_be_bytes());
        put(&(weight as i16).to_be_bytes());
        put(&if self.signum() < 0 { WIRE_NEGATIVE } else { WIRE_POSITIVE }.to_be_bytes());
        put(&(self.scale() as u16).to_be_bytes());
        for group in groups {
            put(&group.to_be_bytes());
        }
    }

    /// The base-10,000 digits without zeros at either end, and the weight of the first.
    fn groups(&self) -> (i64, Vec<u16>) {
        let Some(exponent) = self.exponent() else {
            return (0, Vec::new());
        };
        let weight = exponent.div_euclid(4);
        let padding = 3 - exponent.rem_euclid(4) as usize;
        let digits = self.digits();
        let padded = format!("{:0<padding$}{digits}", "");
        let group = |chunk: &[u8]| {
            let value = chunk.iter().fold(0, |value, digit| value * 10 + u16::from(digit - b'0'));
            value * 10u16.pow(4 - chunk.len() as u32)
        };
        let mut groups: Vec<u16> = padded.as_bytes().chunks(4).map(group).collect();
        while groups.last() == Some(&0) {
            groups.pop();
        }
        (weight, groups)
    }

    /// Reads the wire's binary form.
    pub fn receive(bytes: &[u8]) -> Result<Numeric> {
        let bad = |what: &str| {
            Error::statement(
                sqlstate::INVALID_BINARY_REPRESENTATION,
                format!("invalid {what} in external \"numeric\" value"),
            )
        };
        let mut reader = Reader::new(bytes);
        let mut next = || reader.u16_be().ok_or_else(|| bad("length"));
        let (count, weight, sign, scale) = (next()?, next()? as i16, next()?, next()?);
        match sign {
            WIRE_POSITIVE | WIRE_NEGATIVE => {}
            WIRE_NAN => return Ok(Numeric::Nan),
            WIRE_INFINITY => return Ok(Numeric::Infinity),
            WIRE_NEG_INFINITY => return Ok(Numeric::NegInfinity),
            _ => return Err(bad("sign")),
        }
        if u32::from(scale) > SCALE_MAX {
            return Err(bad("scale"));
        }
        let mut digits = Vec::with_capacity(usize::from(count) * 4);
        for _ in 0..count {
            let group = next()?;
            if group > 9999 {
                return Err(bad("digit"));
            }
            digits.extend([group / 1000, group / 100 % 10, group / 10 % 10, group % 10].map(|digit| digit as u8));
        }
        if !reader.is_empty() {
            return Err(bad("length"));
        }
        let mantissa = BigInt::from_radix_be(num_bigint::Sign::Plus, &digits, 10).unwrap_or(BigInt::ZERO);
        let mantissa = if sign == WIRE_NEGATIVE { -mantissa } else { mantissa };
        // The last group's last digit stands for 10^lowest.
        let lowest = (i64::from(weight) - i64::from(count) + 1) * 4;
        let value = match lowest {
            0.. => Numeric::from_big(mantissa * super::power_of_ten(lowest as u64), 0),
            _ => Numeric::from_big(mantissa, lowest.unsigned_abs() as u32),
        };
        if value.integer_digits() > super::INTEGER_DIGITS_MAX {
            return Err(overflow());
        }
        // Digits beyond the scale are cut off, not rounded, as PostgreSQL does with what it is sent.
        value.rescale(i64::from(scale), super::arithmetic::Rounding::Truncate)
    }
}
