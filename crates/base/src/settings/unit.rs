//! Numbers with units: reading `64MB`, `1.5GB`, `2min`, `0x100` and printing them back as PostgreSQL does.
//!
//! A setting's number is kept in its *base unit*: the buffer pool in pages of 8 KiB, a time-out in milliseconds. A text
//! may name any unit of the same family; a bare number is in the base unit.
//!
//! Rules
//! 1. Integers are C integers: decimal, `0x` hexadecimal, leading-zero octal. A fraction or an exponent is accepted and
//!    rounded to the nearest even integer of the base unit.
//! 2. A fraction of a larger unit is rounded to the next smaller unit first: `30.1GB` is `30822MB`, not some odd count
//!    of kilobytes.
//! 3. Units are case-sensitive. White space may stand before the number, before the unit and after it.
//! 4. An integer prints in the largest unit that divides it; a real in the largest unit that makes it whole. Zero and
//!    negative numbers print bare, because they stand for "off" and "automatic".
//! 5. A real prints with six significant digits, as C's `%g` does ([`real_text`]).

/// What a setting's number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A plain number.
    None,
    /// Bytes.
    Bytes,
    /// Units of 1024 bytes.
    Kilobytes,
    /// Pages of 8 KiB.
    Blocks,
    /// Units of 1024 KiB.
    Megabytes,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

/// The units of memory a text may name, largest first, in bytes.
const MEMORY: &[(&str, u64)] = &[("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];

/// The units of time a text may name, largest first, in microseconds.
const TIME: &[(&str, u64)] =
    &[("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

impl Unit {
    /// The name in `pg_settings.unit` and in messages; empty for [`Unit::None`].
    pub const fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Bytes => "B",
            Unit::Kilobytes => "kB",
            Unit::Blocks => "8kB",
            Unit::Megabytes => "MB",
            Unit::Microseconds => "us",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
        }
    }

    /// How many bytes, or microseconds, one of this unit is; 1 for [`Unit::None`].
    pub const fn size(self) -> u64 {
        match self {
            Unit::None | Unit::Bytes | Unit::Microseconds => 1,
            Unit::Kilobytes => 1 << 10,
            Unit::Blocks => 8 << 10,
            Unit::Megabytes => 1 << 20,
            Unit::Milliseconds => 1_000,
            Unit::Seconds => 1_000_000,
        }
    }

    /// True for the units of memory.
    pub const fn is_memory(self) -> bool {
        matches!(self, Unit::Bytes | Unit::Kilobytes | Unit::Blocks | Unit::Megabytes)
    }

    /// True for the units of time.
    pub const fn is_time(self) -> bool {
        matches!(self, Unit::Microseconds | Unit::Milliseconds | Unit::Seconds)
    }

    fn family(self) -> &'static [(&'static str, u64)] {
        match self {
            Unit::None => &[],
            unit if unit.is_memory() => MEMORY,
            _ => TIME,
        }
    }

    /// The hint that lists what a text may name.
    fn hint(self) -> &'static str {
        if self.is_memory() {
            r#"Valid units for this parameter are "B", "kB", "MB", "GB", and "TB"."#
        } else {
            r#"Valid units for this parameter are "us", "ms", "s", "min", "h", and "d"."#
        }
    }
}

/// Why a text is no number of a unit: PostgreSQL's hint, where it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotANumber(pub Option<&'static str>);

const PLAIN: NotANumber = NotANumber(None);

/// The integer that `text` is, in `unit`.
pub fn parse_integer(text: &str, unit: Unit) -> Result<i32, NotANumber> {
    const REAL: [char; 3] = ['.', 'e', 'E'];
    let number = match leading_integer(text) {
        Some((value, rest)) if !rest.starts_with(REAL) => (value, rest),
        // PostgreSQL looks for a fraction where the integer ends, so a point may come first, but not after a sign.
        None if !text.starts_with(REAL) => return Err(PLAIN),
        _ => leading_real(text).ok_or(PLAIN)?,
    };
    let value = in_unit(number, unit)?.round_ties_even();
    if value < f64::from(i32::MIN) || value > f64::from(i32::MAX) {
        return Err(NotANumber(Some("Value exceeds integer range.")));
    }
    Ok(value as i32)
}

/// The real number that `text` is, in `unit`. Never NaN or infinite.
pub fn parse_real(text: &str, unit: Unit) -> Result<f64, NotANumber> {
    let number = match leading_integer(text) {
        // Only hexadecimal is C's own here: `010` is ten for a real.
        Some((value, rest)) if is_hexadecimal(text) => (value, rest),
        _ => leading_real(text).ok_or(PLAIN)?,
    };
    in_unit(number, unit)
}

/// Converts a number followed by a unit's name (or by nothing) to the base unit.
fn in_unit((value, rest): (f64, &str), unit: Unit) -> Result<f64, NotANumber> {
    if !value.is_finite() {
        return Err(PLAIN);
    }
    let name = rest.trim_matches(is_space);
    if name.is_empty() {
        return Ok(value);
    }
    if unit == Unit::None {
        return Err(PLAIN);
    }
    let base = unit.size() as f64;
    let family = unit.family();
    let at = family.iter().position(|entry| entry.0 == name).ok_or(NotANumber(Some(unit.hint())))?;
    let mut converted = value * (family[at].1 as f64 / base);
    if let Some(smaller) = family.get(at + 1) {
        let multiplier = smaller.1 as f64 / base;
        converted = (converted / multiplier).round_ties_even() * multiplier;
    }
    Ok(converted)
}

/// The integer in its canonical form, with the unit that suits it.
pub fn integer_text(value: i64, unit: Unit) -> String {
    if value <= 0 || unit == Unit::None {
        return value.to_string();
    }
    for &(name, size) in unit.family() {
        if size <= unit.size() {
            return format!("{}{name}", value.saturating_mul((unit.size() / size) as i64));
        }
        let multiple = (size / unit.size()) as i64;
        if value % multiple == 0 {
            return format!("{}{name}", value / multiple);
        }
    }
    value.to_string()
}

/// The real number in its canonical form, with the unit that suits it.
pub fn real_with_unit_text(value: f64, unit: Unit) -> String {
    if value <= 0.0 || unit == Unit::None {
        return real_text(value);
    }
    let base = unit.size() as f64;
    let mut text = real_text(value);
    for &(name, size) in unit.family() {
        let count = value / (size as f64 / base);
        text = format!("{}{name}", real_text(count));
        if count > 0.0 && (count.round_ties_even() / count - 1.0).abs() <= 1e-8 {
            break;
        }
    }
    text
}

/// A number with six significant digits, as C's `%g` prints it.
pub fn real_text(value: f64) -> String {
    const DIGITS: i32 = 6;
    if !value.is_finite() {
        return if value.is_nan() { "nan".into() } else { (if value > 0.0 { "inf" } else { "-inf" }).into() };
    }
    let scientific = format!("{value:.*e}", (DIGITS - 1) as usize);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let fixed = format!("{value:.*}", (DIGITS - 1 - exponent) as usize);
        return without_trailing_zeros(&fixed).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.abs())
}

fn without_trailing_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn split_sign(text: &str) -> (bool, &str) {
    let text = text.trim_start_matches(is_space);
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn is_hexadecimal(text: &str) -> bool {
    let digits = split_sign(text).1.as_bytes();
    digits.len() > 2 && digits[0] == b'0' && digits[1] | 0x20 == b'x' && digits[2].is_ascii_hexdigit()
}

/// C's `strtol` with base 0, in floating point so that nothing overflows: the number and what follows it.
fn leading_integer(text: &str) -> Option<(f64, &str)> {
    let (negative, digits) = split_sign(text);
    let (radix, digits) = match digits {
        _ if is_hexadecimal(text) => (16, &digits[2..]),
        _ if digits.starts_with('0') => (8, digits),
        _ => (10, digits),
    };
    let end = digits.find(|character: char| !character.is_digit(radix)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return None;
    }
    let value = if radix == 10 {
        digits.parse().unwrap_or(f64::INFINITY)
    } else {
        digits
            .chars()
            .fold(0.0, |value, digit| value * f64::from(radix) + f64::from(digit.to_digit(radix).unwrap_or_default()))
    };
    Some((if negative { -value } else { value }, rest))
}

/// C's `strtod` without its hexadecimal forms and its words: the number and what follows it.
pub(crate) fn leading_real(text: &str) -> Option<(f64, &str)> {
    let (negative, number) = split_sign(text);
    let digits = |from: usize| number[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(0);
    let mut end = whole;
    let mut fraction = 0;
    if number[end..].starts_with('.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if number[end..].starts_with(['e', 'E']) {
        let sign = usize::from(number[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let value: f64 = number[..end].parse().ok()?;
    Some((if negative { -value } else { value }, &number[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY_HINT: Option<&str> = Some(r#"Valid units for this parameter are "B", "kB", "MB", "GB", and "TB"."#);
    const TIME_HINT: Option<&str> = Some(r#"Valid units for this parameter are "us", "ms", "s", "min", "h", and "d"."#);
    const RANGE_HINT: Option<&str> = Some("Value exceeds integer range.");

    /// Each row was answered so by PostgreSQL 15 (`work_mem`, `lock_timeout`, `extra_float_digits`, `shared_buffers`).
    #[test]
    fn integers_read_as_postgresql_reads_them() {
        use Unit::{Blocks, Bytes, Kilobytes, Megabytes, Microseconds, Milliseconds, None as Plain, Seconds};
        for (text, unit, expected) in [
            ("1e3", Kilobytes, Ok("1000kB")),
            (" 0x100 ", Kilobytes, Ok("256kB")),
            ("100.5", Kilobytes, Ok("100kB")),
            ("1.5GB", Kilobytes, Ok("1536MB")),
            ("1e2MB", Kilobytes, Ok("100MB")),
            ("0.1GB", Kilobytes, Ok("102MB")),
            ("30.1GB", Kilobytes, Ok("30822MB")),
            ("100000B", Kilobytes, Ok("98kB")),
            ("1 MB ", Kilobytes, Ok("1MB")),
            ("1e3kB", Kilobytes, Ok("1000kB")),
            ("0.00001TB", Kilobytes, Ok("0")),
            ("64MB", Kilobytes, Ok("64MB")),
            ("-1", Kilobytes, Ok("-1")),
            ("abc", Kilobytes, Err(None)),
            ("", Kilobytes, Err(None)),
            ("10XB", Kilobytes, Err(MEMORY_HINT)),
            ("64 mb", Kilobytes, Err(MEMORY_HINT)),
            ("1MB x", Kilobytes, Err(MEMORY_HINT)),
            ("1MBx", Kilobytes, Err(MEMORY_HINT)),
            ("1ekB", Kilobytes, Err(MEMORY_HINT)),
            ("99TB", Kilobytes, Err(RANGE_HINT)),
            ("1000000000000000000000000", Kilobytes, Err(RANGE_HINT)),
            ("0x100000000", Kilobytes, Err(RANGE_HINT)),
            ("16384", Blocks, Ok("128MB")),
            ("128MB", Blocks, Ok("128MB")),
            ("3", Blocks, Ok("24kB")),
            ("4kB", Blocks, Ok("0")),
            ("1GB", Blocks, Ok("1GB")),
            ("1GB", Megabytes, Ok("1GB")),
            ("80", Megabytes, Ok("80MB")),
            ("1kB", Bytes, Ok("1kB")),
            ("1025", Bytes, Ok("1025B")),
            ("2min", Milliseconds, Ok("2min")),
            ("1.5h", Milliseconds, Ok("90min")),
            ("1us", Milliseconds, Ok("0")),
            ("500us", Milliseconds, Ok("0")),
            ("1500us", Milliseconds, Ok("2ms")),
            ("2500us", Milliseconds, Ok("2ms")),
            ("1 d", Milliseconds, Ok("1d")),
            ("24h", Milliseconds, Ok("1d")),
            ("90s", Milliseconds, Ok("90s")),
            ("1441min", Milliseconds, Ok("1441min")),
            ("0.5d", Milliseconds, Ok("12h")),
            ("24.8d", Milliseconds, Ok("595h")),
            ("1.0001min", Milliseconds, Ok("1min")),
            ("30d", Milliseconds, Err(RANGE_HINT)),
            ("1parsec", Milliseconds, Err(TIME_HINT)),
            ("12 3", Milliseconds, Err(TIME_HINT)),
            ("1min30s", Milliseconds, Err(TIME_HINT)),
            ("1MIN", Milliseconds, Err(TIME_HINT)),
            ("inf", Milliseconds, Err(None)),
            ("5min", Seconds, Ok("5min")),
            ("4000", Microseconds, Ok("4ms")),
            ("4ms", Microseconds, Ok("4ms")),
            ("50", Microseconds, Ok("50us")),
            ("010", Plain, Ok("8")),
            ("1.5", Plain, Ok("2")),
            ("2.5", Plain, Ok("2")),
            ("  -3 ", Plain, Ok("-3")),
            ("+3", Plain, Ok("3")),
            (".9", Plain, Ok("1")),
            ("1.", Plain, Ok("1")),
            ("-1.5", Plain, Ok("-2")),
            ("+.4", Plain, Err(None)),
            (" .9MB", Kilobytes, Err(None)),
            (".9MB", Kilobytes, Ok("922kB")),
            ("1kB", Plain, Err(None)),
            ("- 3", Plain, Err(None)),
            ("0x", Plain, Err(None)),
            ("09", Plain, Err(None)),
            ("1e", Plain, Err(None)),
            ("0x1p1", Plain, Err(None)),
            ("0x.8p2", Plain, Err(None)),
            ("1e400", Plain, Err(None)),
            ("nan", Plain, Err(None)),
            ("é", Plain, Err(None)),
            ("1é", Kilobytes, Err(MEMORY_HINT)),
        ] {
            let found = parse_integer(text, unit).map(|value| integer_text(value.into(), unit));
            assert_eq!(found.as_deref().map_err(|error| error.0), expected, "{text:?} as {unit:?}");
        }
    }

    /// Each row was answered so by PostgreSQL 15 (`random_page_cost`, `vacuum_cost_delay`).
    #[test]
    fn reals_read_and_print_as_in_postgresql() {
        use Unit::{Milliseconds, None as Plain};
        for (text, unit, expected) in [
            ("4", Plain, Ok("4")),
            ("1e10", Plain, Ok("1e+10")),
            ("1e-10", Plain, Ok("1e-10")),
            ("0x10", Plain, Ok("16")),
            ("010", Plain, Ok("10")),
            ("3.14159265358979", Plain, Ok("3.14159")),
            ("100000", Plain, Ok("100000")),
            ("1000000", Plain, Ok("1e+06")),
            ("999999.5", Plain, Ok("1e+06")),
            ("123456.7", Plain, Ok("123457")),
            ("0.0001", Plain, Ok("0.0001")),
            ("0.00001", Plain, Ok("1e-05")),
            ("1.5e300", Plain, Ok("1.5e+300")),
            ("-0.25", Plain, Ok("-0.25")),
            ("0", Plain, Ok("0")),
            ("abc", Plain, Err(None)),
            ("NaN", Plain, Err(None)),
            ("1e400", Plain, Err(None)),
            ("1.5kB", Plain, Err(None)),
            ("500us", Milliseconds, Ok("500us")),
            ("0.5", Milliseconds, Ok("500us")),
            ("1.5ms", Milliseconds, Ok("1500us")),
            ("99", Milliseconds, Ok("99ms")),
            ("0.0001", Milliseconds, Ok("0.1us")),
            ("1.23456789", Milliseconds, Ok("1234.57us")),
            ("33.3", Milliseconds, Ok("33300us")),
            ("1kB", Milliseconds, Err(TIME_HINT)),
        ] {
            let found = parse_real(text, unit).map(|value| real_with_unit_text(value, unit));
            assert_eq!(found.as_deref().map_err(|error| error.0), expected, "{text:?} as {unit:?}");
        }
    }

    #[test]
    fn canonical_texts_read_back_to_the_same_number() {
        for unit in [
            Unit::None,
            Unit::Bytes,
            Unit::Kilobytes,
            Unit::Blocks,
            Unit::Megabytes,
            Unit::Microseconds,
            Unit::Milliseconds,
            Unit::Seconds,
        ] {
            for value in [i32::MIN, -1, 0, 1, 7, 60, 1000, 1024, 3600, 86_400, 1_048_576, 2_147_483_000, i32::MAX] {
                let text = integer_text(value.into(), unit);
                assert_eq!(parse_integer(&text, unit), Ok(value), "{text}");
            }
        }
    }
}
