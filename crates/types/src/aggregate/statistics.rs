//! States of the statistical aggregates: variances and deviations, correlation and regression.
//!
//! Exact numbers are summed exactly and the variance is computed once, at the end. Floats are added by the method of Youngs and
//! Cramer, which keeps sums of squares of differences, so that large values with small differences do not cancel out.
//!
//! Rules
//! 1. An infinite or undefined value makes the result `NaN`; what overflows by itself is `22003`.
//! 2. Of regressions the first argument is the dependent variable, Y, the second one X.

use crate::float;
use crate::numeric::Numeric;
use base::Result;

/// Which of the four results is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    /// Of a sample: divided by one less than the number of values.
    pub sample: bool,
    /// The square root.
    pub deviation: bool,
}

/// Sums of exact numbers and of their squares.
#[derive(Clone, Debug)]
pub struct Exact {
    sum: Numeric,
    squares: Numeric,
}

impl Exact {
    /// No values yet.
    pub const EMPTY: Exact = Exact { sum: Numeric::ZERO, squares: Numeric::ZERO };

    /// Adds a value.
    pub fn add(&mut self, value: &Numeric) -> Result<()> {
        self.squares = self.squares.add(&value.multiply(value)?);
        self.sum = self.sum.add(value);
        Ok(())
    }

    /// The memory that the state holds outside itself.
    pub fn heap_bytes(&self) -> usize {
        self.sum.heap_bytes() + self.squares.heap_bytes()
    }

    /// The result over `count` values, of which there are enough.
    pub fn result(&self, count: i64, spread: Spread) -> Result<Numeric> {
        if !self.sum.is_finite() {
            return Ok(Numeric::Nan);
        }
        let count = i128::from(count);
        let numerator = Numeric::from_int(count).multiply(&self.squares)?.subtract(&self.sum.multiply(&self.sum)?);
        if numerator.signum() <= 0 {
            return Ok(Numeric::ZERO);
        }
        let divisor = Numeric::from_int(if spread.sample { count * (count - 1) } else { count * count });
        let variance = numerator.divide(&divisor)?;
        if !spread.deviation {
            return Ok(variance);
        }
        variance.sqrt_at(variance.scale())
    }
}

/// Sums over floats.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sums {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

/// What is asked of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Regression {
    /// The mean of X.
    AverageX,
    /// The mean of Y.
    AverageY,
    /// The sum of squares of X's differences from its mean.
    SquaresX,
    /// The same of Y.
    SquaresY,
    /// The sum of products of both differences.
    Products,
    /// The covariance of the population.
    CovariancePopulation,
    /// The covariance of a sample.
    CovarianceSample,
    /// The coefficient of correlation.
    Correlation,
    /// Its square.
    Determination,
    /// The line's slope.
    Slope,
    /// Where the line meets the Y axis.
    Intercept,
}

impl Sums {
    /// Adds a value.
    pub fn add(&mut self, x: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        if before.count > 0.0 {
            let difference = x * self.count - self.x;
            self.xx += difference * difference / (self.count * before.count);
            if self.x.is_infinite() || self.xx.is_infinite() {
                float::check_overflow(f64::INFINITY, before.x.is_infinite() || x.is_infinite())?;
                self.xx = f64::NAN;
            }
        } else if !x.is_finite() {
            self.xx = f64::NAN;
        }
        Ok(())
    }

    /// Adds a pair.
    pub fn add_pair(&mut self, y: f64, x: f64) -> Result<()> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before.count > 0.0 {
            let (by_x, by_y) = (x * self.count - self.x, y * self.count - self.y);
            let scale = 1.0 / (self.count * before.count);
            self.xx += by_x * by_x * scale;
            self.yy += by_y * by_y * scale;
            self.xy += by_x * by_y * scale;
            let of_x = before.x.is_infinite() || x.is_infinite();
            let of_y = before.y.is_infinite() || y.is_infinite();
            float::check_overflow(self.x, of_x)?;
            float::check_overflow(self.xx, of_x)?;
            float::check_overflow(self.y, of_y)?;
            float::check_overflow(self.yy, of_y)?;
            float::check_overflow(self.xy, of_x || of_y)?;
            for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
                if sum.is_infinite() {
                    *sum = f64::NAN;
                }
            }
        } else {
            if !x.is_finite() {
                (self.xx, self.xy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.yy, self.xy) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    /// The spread of values, of which there are enough.
    pub fn spread(&self, spread: Spread) -> f64 {
        let variance = self.xx / if spread.sample { self.count - 1.0 } else { self.count };
        if spread.deviation { variance.sqrt() } else { variance }
    }

    /// What is asked of the pairs; none where it is null.
    pub fn regression(&self, wanted: Regression) -> Option<f64> {
        let Sums { count, x, xx, y, yy, xy } = *self;
        match wanted {
            _ if count < 1.0 => None,
            Regression::AverageX => Some(x / count),
            Regression::AverageY => Some(y / count),
            Regression::SquaresX => Some(xx),
            Regression::SquaresY => Some(yy),
            Regression::Products => Some(xy),
            Regression::CovariancePopulation => Some(xy / count),
            Regression::CovarianceSample => (count > 1.0).then(|| xy / (count - 1.0)),
            Regression::Correlation if xx == 0.0 || yy == 0.0 => None,
            Regression::Correlation => Some(xy / (xx * yy).sqrt()),
            Regression::Determination if xx == 0.0 => None,
            Regression::Determination if yy == 0.0 => Some(1.0),
            Regression::Determination => Some((xy * xy) / (xx * yy)),
            Regression::Slope => (xx != 0.0).then(|| xy / xx),
            Regression::Intercept => (xx != 0.0).then(|| (y - x * xy / xx) / count),
        }
    }
}
