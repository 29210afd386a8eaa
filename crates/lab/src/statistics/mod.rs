//! What a handful of noisy figures says: their middle, their spread, and whether two variants differ.
//!
//! - [`median`] and [`Spread`] describe the rounds of one cell.
//! - [`Ratio`] compares two variants that were measured in turns; a [`Verdict`] is what may be concluded from it.
//! - [`geometric_mean`] sums up ratios of several points.
//!
//! Figures that are not finite are passed over everywhere: a cell without a figure is a cell that was not measured.

pub mod quantile;
pub mod ratio;

pub use ratio::{Ratio, Verdict};

/// The figure in the middle; of an even number, the mean of the two in the middle. None of no figures.
pub fn median(figures: &[f64]) -> Option<f64> {
    part(&sorted(figures), 0.5)
}

/// The n-th root of the product of figures above zero. None of no figures, or where one is not above zero.
pub fn geometric_mean(figures: &[f64]) -> Option<f64> {
    let finite = sorted(figures);
    let least = finite.first()?;
    (*least > 0.0).then(|| (finite.iter().map(|figure| figure.ln()).sum::<f64>() / finite.len() as f64).exp())
}

/// How far figures lie apart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// A quarter is at most this.
    pub lower: f64,
    /// The one in the middle.
    pub median: f64,
    /// A quarter is at least this.
    pub upper: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// The spread of figures; none of no figures.
    pub fn of(figures: &[f64]) -> Option<Spread> {
        let sorted = sorted(figures);
        Some(Spread {
            count: sorted.len(),
            min: *sorted.first()?,
            lower: part(&sorted, 0.25)?,
            median: part(&sorted, 0.5)?,
            upper: part(&sorted, 0.75)?,
            max: *sorted.last()?,
        })
    }
}

/// The finite ones, from least to most.
fn sorted(figures: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = figures.iter().copied().filter(|figure| figure.is_finite()).collect();
    finite.sort_by(f64::total_cmp);
    finite
}

/// The figure below which a part of sorted figures lies, on the straight line between neighbours.
fn part(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_spread() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        let spread = Spread::of(&[5.0, 1.0, 4.0, 2.0, 3.0, f64::INFINITY]).unwrap();
        assert_eq!(spread, Spread { count: 5, min: 1.0, lower: 2.0, median: 3.0, upper: 4.0, max: 5.0 });
    }

    #[test]
    fn the_geometric_mean_is_that_of_ratios() {
        assert!((geometric_mean(&[2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[2.0, 0.0]), None);
        assert_eq!(geometric_mean(&[]), None);
    }
}
