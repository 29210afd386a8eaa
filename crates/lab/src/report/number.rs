//! Figures as people read them: three digits that mean something, and a comma between thousands.

/// A measured figure with three significant digits: `38,400`, `1.80`, `0.0123`.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "—".into();
    }
    // Rounding first decides how many digits follow the point: 99.96 is 100, not 100.0.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    if rounded == 0.0 {
        return "0".into();
    }
    let place = rounded.abs().log10().floor() as i32;
    let text = format!("{rounded:.*}", (2 - place).clamp(0, 12) as usize);
    grouped(&text)
}

/// A place on an axis, with all of its digits: `600`, `0.5`.
pub fn place(value: f64) -> String {
    grouped(&format!("{value}"))
}

/// A place on a logarithmic axis, whose digits are few: `0.05`, `20,000`.
pub fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    place(rounded)
}

/// A count, exactly: `12,345`.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A part of a whole, in percent without the sign: `3.4`, `100`.
pub fn percent(value: f64) -> String {
    if (0.05..99.95).contains(&value) { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// A text of digits with a comma between thousands.
pub fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.find('.').map_or((digits, ""), |point| digits.split_at(point));
    let mut out = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_commas() {
        let cases = [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (0.999_9, "1.00"),
            (1.8, "1.80"),
            (12.34, "12.3"),
            (99.96, "100"),
            (123.4, "123"),
            (38_412.0, "38,400"),
            (1_234_567.0, "1,230,000"),
            (-1_234.0, "-1,230"),
            (f64::NAN, "—"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
        assert_eq!(
            (count(999).as_str(), count(1_000).as_str(), count(12_345_678).as_str()),
            ("999", "1,000", "12,345,678")
        );
        assert_eq!((place(0.5).as_str(), place(2000.0).as_str()), ("0.5", "2,000"));
        assert_eq!((percent(0.01).as_str(), percent(3.44).as_str(), percent(99.99).as_str()), ("0", "3.4", "100"));
    }
}
