//! Student's t distribution: the quantile that a two-sided interval of 98 % needs.
//!
//! A table, since one level is all that is asked for, and between its last rows a straight line over 1 / degrees, which is
//! right to three digits there. A library of distributions would be the largest dependency of the lab for these 30 numbers.

/// What an interval made with [`student`] is to hold.
pub const CONFIDENCE: f64 = 0.98;

/// The 99 % quantiles for 1 to 30 degrees of freedom.
#[expect(clippy::approx_constant, reason = "the one for 11 degrees only looks like e")]
const SMALL: [f64; 30] = [
    31.821, 6.965, 4.541, 3.747, 3.365, 3.143, 2.998, 2.896, 2.821, 2.764, 2.718, 2.681, 2.650, 2.624, 2.602, 2.583,
    2.567, 2.552, 2.539, 2.528, 2.518, 2.508, 2.500, 2.492, 2.485, 2.479, 2.473, 2.467, 2.462, 2.457,
];

/// Further ones, by degrees of freedom; the last is the normal distribution's.
const LARGE: [(f64, f64); 5] = [(30.0, 2.457), (40.0, 2.423), (60.0, 2.390), (120.0, 2.358), (f64::INFINITY, 2.326)];

/// By how many standard errors an interval of [`CONFIDENCE`] reaches to either side.
///
/// # Panics
/// With no degree of freedom there is no interval.
pub fn student(degrees: usize) -> f64 {
    assert!(degrees > 0, "an interval needs a degree of freedom");
    if let Some(quantile) = SMALL.get(degrees - 1) {
        return *quantile;
    }
    let inverse = 1.0 / degrees as f64;
    let above = LARGE.iter().position(|(known, _)| *known >= degrees as f64).unwrap_or(LARGE.len() - 1);
    let ((from, start), (to, end)) = (LARGE[above - 1], LARGE[above]);
    start + (end - start) * (1.0 / from - inverse) / (1.0 / from - 1.0 / to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_falls_with_each_degree_to_that_of_the_normal_distribution() {
        for degrees in 1..1000 {
            assert!(student(degrees) > student(degrees + 1), "at {degrees}");
        }
        assert!((student(50) - 2.403).abs() < 0.001);
        assert!((student(80) - 2.374).abs() < 0.001);
        assert!((student(1_000_000) - 2.326).abs() < 0.001);
    }
}
