//! One variant beside another, measured in turns: by how much they differ, and whether that is more than chance.
//!
//! ```text
//!   round      1      2      3      4      5        ratios of rounds      logarithms, the outer ones pulled in
//!   a        100    104     99    101     98   ->   1.05 1.02 1.07 …  ->  mean ± t · standard error  ->  low … high
//!   b        105    106    106    107     97
//! ```
//!
//! Each round gives one ratio b / a. What a machine does slowly (its clock, a neighbour, a filling disk) is in both halves
//! of a pair and cancels. Logarithms of the ratios are treated, so that a / b is judged as b / a is.
//!
//! Why the interval is made as it is. On a shared machine a few cells of a hundred are a third too slow. Student's interval
//! stays honest with them, since variants that are the same are hit the same, but it gets so wide that with ten rounds a
//! difference of 5 % is found in half of the experiments only. The signed ranks of Wilcoxon do little better: one
//! bad pair out of ten is already too much at this level. From seven pairs on the mean is the *trimmed* one (a fifth
//! of the pairs off either end) with the winsorised standard error that belongs to it (Tukey and McLaughlin 1963), which
//! bears a bad pair for each one trimmed and is a fifth wider, with ten pairs, when there is none. With five pairs it
//! would be two thirds wider, so fewer than seven get Student's plain interval: there an outlier hides a difference, it does
//! not invent one. The tests measure this.
//!
//! Rules
//! 1. Only rounds that both have are used.
//! 2. The estimate is the median of the ratios; the interval is widened to hold it.
//! 3. Fewer than [`PAIRS_MIN`] pairs give no interval and no verdict.
//! 4. The interval is made to hold the truth in 98 of 100 experiments ([`quantile::CONFIDENCE`]); the trimmed one does so in
//!    97 to 98. It is not corrected for the number of comparisons in a report: among a hundred, two or three of equals will
//!    look different.

use super::{median, quantile};
use std::collections::BTreeMap;
use std::fmt;

/// Below this many pairs nothing is concluded.
pub const PAIRS_MIN: usize = 3;

/// From this many pairs on the outer ones are trimmed.
const TRIMMED_FROM: usize = 7;

/// How many times `a` variant `b` is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The median of the ratios of rounds.
    pub estimate: f64,
    /// The truth is at least this; none with fewer than [`PAIRS_MIN`] pairs.
    pub low: Option<f64>,
    /// And at most this.
    pub high: Option<f64>,
    /// How many rounds both have.
    pub pairs: usize,
}

impl Ratio {
    /// Compares figures by round. None where no round has both above zero.
    pub fn of(a: &BTreeMap<u32, f64>, b: &BTreeMap<u32, f64>) -> Option<Ratio> {
        let usable = |figure: f64| figure.is_finite() && figure > 0.0;
        let pairs = a.iter().filter_map(|(round, a)| Some((*a, *b.get(round)?)));
        let ratios: Vec<f64> = pairs.filter(|(a, b)| usable(*a) && usable(*b)).map(|(a, b)| b / a).collect();
        Ratio::of_ratios(&ratios)
    }

    /// The same of ratios above zero that are at hand.
    pub fn of_ratios(ratios: &[f64]) -> Option<Ratio> {
        let estimate = median(ratios)?;
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let trimmed = if logs.len() < TRIMMED_FROM { 0 } else { logs.len() / 5 };
        let interval = (logs.len() >= PAIRS_MIN).then(|| interval(logs, trimmed));
        let low = interval.map(|(low, _)| low.exp().min(estimate));
        let high = interval.map(|(_, high)| high.exp().max(estimate));
        Some(Ratio { estimate, low, high, pairs: ratios.len() })
    }

    /// What may be concluded.
    pub fn verdict(&self) -> Verdict {
        match (self.low, self.high) {
            (Some(low), _) if low > 1.0 => Verdict::More,
            (_, Some(high)) if high < 1.0 => Verdict::Less,
            (Some(_), Some(_)) => Verdict::NoDifference,
            _ => Verdict::Unknown(format!("{} of the {PAIRS_MIN} rounds that are needed", self.pairs)),
        }
    }
}

/// The interval of a mean, with so many figures trimmed off either end.
fn interval(mut figures: Vec<f64>, trimmed: usize) -> (f64, f64) {
    figures.sort_by(f64::total_cmp);
    let count = figures.len() as f64;
    let kept = &figures[trimmed..figures.len() - trimmed];
    let (least, most, left) = (kept[0], kept[kept.len() - 1], kept.len());
    let mean = kept.iter().sum::<f64>() / left as f64;
    let winsorised: Vec<f64> = figures.iter().map(|figure| figure.clamp(least, most)).collect();
    let middle = winsorised.iter().sum::<f64>() / count;
    let variance = winsorised.iter().map(|figure| (figure - middle).powi(2)).sum::<f64>() / (count - 1.0);
    let error = variance.sqrt() / (left as f64 / count * count.sqrt());
    let reach = quantile::student(left - 1) * error;
    (mean - reach, mean + reach)
}

/// What may be concluded from a [`Ratio`] about `b`, beside `a`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The interval holds 1.
    NoDifference,
    /// `b` is less.
    Less,
    /// `b` is more.
    More,
    /// Nothing may be concluded, and why.
    Unknown(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::NoDifference => f.write_str("no difference seen"),
            Verdict::Less => f.write_str("less"),
            Verdict::More => f.write_str("more"),
            Verdict::Unknown(reason) => write!(f, "no verdict: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which every cell has noise and some have much: figures that a variant with this mean gives.
    struct Machine {
        chance: fastrand::Rng,
        noise: f64,
        outliers: f64,
    }

    impl Machine {
        fn new(seed: u64, noise: f64, outliers: f64) -> Machine {
            Machine { chance: fastrand::Rng::with_seed(seed), noise, outliers }
        }

        fn normal(&mut self) -> f64 {
            let (radius, angle) = (1.0 - self.chance.f64(), self.chance.f64());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        }

        fn cell(&mut self, mean: f64) -> f64 {
            let slow = if self.chance.f64() < self.outliers { 1.3 } else { 1.0 };
            mean * slow * (self.noise * self.normal()).exp()
        }

        /// A comparison with so many rounds, on a machine that also drifts by 2 % from round to round.
        fn compare(&mut self, planted: f64, rounds: u32) -> Ratio {
            let (mut a, mut b, mut drift) = (BTreeMap::new(), BTreeMap::new(), 1.0);
            for round in 1..=rounds {
                drift *= (0.02 * self.normal()).exp();
                a.insert(round, self.cell(100.0 * drift));
                b.insert(round, self.cell(100.0 * drift * planted));
            }
            Ratio::of(&a, &b).unwrap()
        }

        /// Which part of experiments comes to this verdict.
        fn share(&mut self, planted: f64, rounds: u32, experiments: u32, verdict: &Verdict) -> f64 {
            let hits = (0..experiments).filter(|_| self.compare(planted, rounds).verdict() == *verdict).count();
            hits as f64 / f64::from(experiments)
        }
    }

    #[test]
    fn variants_that_are_the_same_are_found_to_be_so() {
        for (outliers, rounds) in
            [(0.03, 5), (0.0, 3), (0.0, 5), (0.0, 7), (0.03, 7), (0.0, 10), (0.03, 10), (0.03, 20)]
        {
            let share = Machine::new(1, 0.01, outliers).share(1.0, rounds, 2000, &Verdict::NoDifference);
            println!("{rounds} rounds, {outliers} outliers: {share}");
            assert!(share >= 0.965, "{rounds} rounds, {outliers} outliers: only {share} found nothing");
        }
    }

    #[test]
    fn five_percent_more_are_found_in_spite_of_outliers() {
        for (planted, verdict) in [(1.05, Verdict::More), (1.0 / 1.05, Verdict::Less)] {
            let share = Machine::new(2, 0.01, 0.03).share(planted, 10, 2000, &verdict);
            println!("planted {planted}: {share}");
            assert!(share >= 0.95, "planted {planted}: only {share} found it");
        }
    }

    #[test]
    fn a_quiet_machine_shows_two_percent_with_five_rounds() {
        let share = Machine::new(3, 0.004, 0.0).share(1.02, 5, 2000, &Verdict::More);
        println!("{share}");
        assert!(share >= 0.95, "only {share} found it");
    }

    #[test]
    fn a_ratio_turned_round_is_judged_the_same() {
        let ratios = [1.1, 1.2, 1.15, 1.05, 1.3];
        let there = Ratio::of_ratios(&ratios).unwrap();
        let back = Ratio::of_ratios(&ratios.map(f64::recip)).unwrap();
        assert!((there.low.unwrap() * back.high.unwrap() - 1.0).abs() < 1e-9);
        assert_eq!((there.verdict(), back.verdict()), (Verdict::More, Verdict::Less));
        assert_eq!((there.estimate, there.pairs), (1.15, 5));
    }

    #[test]
    fn only_rounds_of_both_count_and_two_say_nothing() {
        let a = BTreeMap::from([(1, 10.0), (2, 10.0), (3, 10.0), (5, 0.0)]);
        let b = BTreeMap::from([(2, 20.0), (3, 22.0), (4, 99.0), (5, 1.0)]);
        let ratio = Ratio::of(&a, &b).unwrap();
        assert_eq!(ratio, Ratio { estimate: 2.1, low: None, high: None, pairs: 2 });
        assert!(matches!(ratio.verdict(), Verdict::Unknown(reason) if reason.contains("2 of the 3")));
        assert_eq!(Ratio::of(&a, &BTreeMap::new()), None);
    }

    #[test]
    fn equal_figures_have_an_interval_without_width() {
        let ratio = Ratio::of_ratios(&[1.0; 5]).unwrap();
        assert_eq!((ratio.low, ratio.high, ratio.verdict()), (Some(1.0), Some(1.0), Verdict::NoDifference));
    }
}
