//! Trigonometry in degrees: exact where the result is, at the multiples of 30 and 45, as PostgreSQL's is.
//!
//! An angle is brought into the first quadrant, and up to 60 or 30 degrees the function is divided by its own value there, so that rounding cancels
//! out just where people look.

fn radians(degrees: f64) -> f64 {
    degrees * (std::f64::consts::PI / 180.0)
}

fn sine_to_30(x: f64) -> f64 {
    radians(x).sin() / radians(30.0).sin() / 2.0
}

fn cosine_to_60(x: f64) -> f64 {
    1.0 - (1.0 - radians(x).cos()) / (1.0 - radians(60.0).cos()) / 2.0
}

/// Of an angle between 0 and 90 degrees.
fn sine_of_quadrant(x: f64) -> f64 {
    if x <= 30.0 { sine_to_30(x) } else { cosine_to_60(90.0 - x) }
}

fn cosine_of_quadrant(x: f64) -> f64 {
    if x <= 60.0 { cosine_to_60(x) } else { sine_to_30(90.0 - x) }
}

/// An angle's place in the first quadrant, and the signs of its sine and cosine; none for what is infinite.
fn reduced(x: f64) -> Option<(f64, f64, f64)> {
    if x.is_infinite() {
        return None;
    }
    let (mut x, mut sine, mut cosine) = (x % 360.0, 1.0, 1.0);
    if x < 0.0 {
        (x, sine) = (-x, -sine);
    }
    if x > 180.0 {
        (x, sine) = (360.0 - x, -sine);
    }
    if x > 90.0 {
        (x, cosine) = (180.0 - x, -cosine);
    }
    Some((x, sine, cosine))
}

/// `sind`; none of an infinity.
pub(super) fn sine(x: f64) -> Option<f64> {
    reduced(x).map(|(x, sign, _)| sign * sine_of_quadrant(x))
}

/// `cosd`; none of an infinity.
pub(super) fn cosine(x: f64) -> Option<f64> {
    reduced(x).map(|(x, _, sign)| sign * cosine_of_quadrant(x))
}

/// `tand`; none of an infinity.
pub(super) fn tangent(x: f64) -> Option<f64> {
    let one = sine_of_quadrant(45.0) / cosine_of_quadrant(45.0);
    reduced(x).map(|(x, sine, cosine)| sine * cosine * (sine_of_quadrant(x) / cosine_of_quadrant(x) / one) + 0.0)
}

/// `cotd`; none of an infinity.
pub(super) fn cotangent(x: f64) -> Option<f64> {
    let one = cosine_of_quadrant(45.0) / sine_of_quadrant(45.0);
    reduced(x).map(|(x, sine, cosine)| sine * cosine * (cosine_of_quadrant(x) / sine_of_quadrant(x) / one) + 0.0)
}

/// `asind` of what is between -1 and 1.
pub(super) fn arc_sine(x: f64) -> f64 {
    if x < 0.0 { -arc_sine_positive(-x) } else { arc_sine_positive(x) }
}

fn arc_sine_positive(x: f64) -> f64 {
    match x <= 0.5 {
        true => x.asin() / 0.5f64.asin() * 30.0,
        false => 90.0 - x.acos() / 0.5f64.acos() * 60.0,
    }
}

/// `acosd` of what is between -1 and 1.
pub(super) fn arc_cosine(x: f64) -> f64 {
    if x < 0.0 { 90.0 + arc_sine_positive(-x) } else { arc_cosine_positive(x) }
}

fn arc_cosine_positive(x: f64) -> f64 {
    match x <= 0.5 {
        true => 90.0 - x.asin() / 0.5f64.asin() * 30.0,
        false => x.acos() / 0.5f64.acos() * 60.0,
    }
}

/// `atand(y)` for an `x` of one, and `atan2d(y, x)`.
pub(super) fn arc_tangent(y: f64, x: f64) -> f64 {
    y.atan2(x) / 1f64.atan() * 45.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exact_is_exact() {
        for (degrees, expected) in
            [(0.0, 0.0), (30.0, 0.5), (90.0, 1.0), (150.0, 0.5), (180.0, 0.0), (270.0, -1.0), (-30.0, -0.5)]
        {
            assert_eq!(sine(degrees), Some(expected), "sine of {degrees}");
            assert_eq!(cosine(90.0 - degrees), Some(expected), "cosine of {}", 90.0 - degrees);
        }
        assert_eq!((tangent(45.0), cotangent(45.0), tangent(135.0)), (Some(1.0), Some(1.0), Some(-1.0)));
        assert_eq!((arc_sine(0.5), arc_cosine(0.5), arc_tangent(1.0, 1.0)), (30.0, 60.0, 45.0));
        assert_eq!(sine(f64::INFINITY), None);
    }
}
