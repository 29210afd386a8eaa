//! Axes: from a figure to a pixel, and which ticks are labelled.
//!
//! Rules
//! 1. A vertical axis begins at 0 unless the medians span more than [`TALL`] times, then it is logarithmic.
//! 2. A horizontal axis is logarithmic if the points above zero span more than [`WIDE`] times; a point at zero then stands left
//!    of the others, at a distance of its own.
//! 3. Labels of ticks never touch. The first and the last stay; between them each is written that has room.

use super::super::number;
use super::Chart;
use super::canvas::{SMALL, shortened, width};

/// From this span of medians on a vertical axis is logarithmic.
const TALL: f64 = 50.0;
/// From this span of points on a horizontal axis is logarithmic.
const WIDE: f64 = 20.0;
/// The part of its length that a horizontal axis has beyond the outer points.
const MARGIN: f64 = 0.035;

/// From a figure to a pixel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Whether it is logarithmic.
    pub log: bool,
    /// Where figures that have no logarithm stand on a logarithmic one.
    floor: f64,
    from: f64,
    to: f64,
    pixels: (i32, i32),
}

impl Scale {
    /// A straight scale.
    pub fn straight(from: f64, to: f64, pixels: (i32, i32)) -> Scale {
        let to = if to > from { to } else { from + 1.0 };
        Scale { log: false, floor: 0.0, from, to, pixels }
    }

    /// Where a figure is.
    pub fn at(&self, figure: f64) -> i32 {
        let place = match figure {
            _ if !self.log => figure,
            _ if figure > 0.0 => figure.ln().max(self.floor),
            _ => self.floor,
        };
        let part = (place - self.from) / (self.to - self.from);
        let (start, end) = self.pixels;
        (f64::from(start) + f64::from(end - start) * part.clamp(-0.05, 1.05)).round() as i32
    }
}

/// A labelled place on an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    /// Its pixel along the axis.
    pub at: i32,
    /// What is written there; empty where there is no room.
    pub label: String,
    /// The middle of what is written.
    pub middle: i32,
}

/// The vertical axis for a chart's marks, from the lower to the upper pixel.
pub fn vertical(chart: &Chart, pixels: (i32, i32)) -> (Scale, Vec<Tick>) {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    for mark in chart.marks() {
        (least, most) = (least.min(mark.median), most.max(mark.median));
        (lowest, highest) = (lowest.min(mark.min), highest.max(mark.max));
    }
    let (scale, values) = if least > 0.0 && lowest > 0.0 && most / least > TALL {
        logarithmic(lowest, highest, pixels)
    } else {
        linear(lowest.min(0.0), highest.max(0.0), pixels)
    };
    let ticks = values.into_iter().map(|(value, label)| {
        let at = scale.at(value);
        Tick { at, label, middle: at }
    });
    (scale, ticks.collect())
}

/// A straight axis with some five steps of 1, 2 or 5.
pub fn linear(from: f64, to: f64, pixels: (i32, i32)) -> (Scale, Vec<(f64, String)>) {
    let span = if to > from { to - from } else { 1.0 };
    let power = 10f64.powf((span / 5.0).log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|part| part * power).into_iter().find(|step| span / step <= 5.5).unwrap_or(span);
    let (first, last) = ((from / step).floor() as i64, ((from + span) / step).ceil() as i64);
    let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    let label = |value: f64| number::grouped(&format!("{value:.decimals$}"));
    let values = (first..=last).map(|index| index as f64 * step).map(|value| (value, label(value))).collect();
    (Scale::straight(first as f64 * step, last as f64 * step, pixels), values)
}

/// A logarithmic axis with ticks at 1, 2 and 5, or at powers of ten where there are many.
fn logarithmic(from: f64, to: f64, pixels: (i32, i32)) -> (Scale, Vec<(f64, String)>) {
    let (low, high) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let parts: &[f64] = if high - low <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let all: Vec<f64> = (low..=high).flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power))).collect();
    let first = all.iter().copied().rfind(|value| *value <= from * 1.000_001).unwrap_or(from);
    let last = all.iter().copied().find(|value| *value >= to * 0.999_999).unwrap_or(to);
    let every = ((high - low) / 6 + 1) as usize;
    let kept = all.into_iter().filter(|value| (first * 0.999..=last * 1.001).contains(value)).step_by(every);
    let values = kept.map(|value| (value, number::short(value))).collect();
    let scale = Scale { log: true, floor: first.ln(), from: first.ln(), to: last.ln(), pixels };
    (scale, values)
}

/// The horizontal axis for a chart's points, and the pixels that its labels may use.
pub fn horizontal(points: &[(f64, String)], pixels: (i32, i32), room: (i32, i32)) -> (Scale, Vec<Tick>) {
    let positive = || points.iter().map(|(x, _)| *x).filter(|x| *x > 0.0);
    let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
    let zero = points.iter().any(|(x, _)| *x == 0.0);
    let negative = points.iter().any(|(x, _)| *x < 0.0);
    let (log, from, to) = if most / least > WIDE && !negative {
        let span = most.ln() - least.ln();
        (true, least.ln() - if zero { span * 0.15 } else { 0.0 }, most.ln())
    } else {
        let from = points.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
        (false, from, points.iter().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max))
    };
    let margin = (to - from).max(1e-9) * MARGIN;
    let scale = Scale { log, floor: from, from: from - margin, to: to + margin, pixels };
    let labels: Vec<(i32, String)> = points.iter().map(|(x, label)| (scale.at(*x), label.clone())).collect();
    (scale, placed(labels, room))
}

/// The horizontal axis for so many seconds: straight, from 0, with round labels.
pub fn seconds(count: usize, pixels: (i32, i32)) -> (Scale, Vec<Tick>) {
    let (_, values) = linear(0.0, count as f64, pixels);
    let scale = Scale::straight(0.0, count as f64 * (1.0 + MARGIN), pixels);
    let whole = values.into_iter().filter(|(value, _)| value.fract() == 0.0 && *value <= count as f64);
    let tick = |value: f64| Tick { at: scale.at(value), label: number::place(value), middle: scale.at(value) };
    (scale, whole.map(|(value, _)| tick(value)).collect())
}

/// Ticks whose labels do not touch.
fn placed(labels: Vec<(i32, String)>, room: (i32, i32)) -> Vec<Tick> {
    // Words are shortened, since each of them says something else; of numbers in a row some may go unsaid.
    let words =
        labels.iter().any(|(_, label)| !label.chars().all(|sign| sign.is_ascii_digit() || ",.-".contains(sign)));
    let share = (room.1 - room.0) / labels.len().max(1) as i32 - 12;
    let mut ticks: Vec<Tick> = labels
        .into_iter()
        .map(|(at, label)| {
            let label = if words { shortened(&label, SMALL, share.max(60)) } else { label };
            let half = width(&label, SMALL) / 2;
            Tick { at, middle: at.clamp((room.0 + half).min(room.1 - half), room.1 - half), label }
        })
        .collect();
    let gap = SMALL / 2;
    let ends = |tick: &Tick| (tick.middle - width(&tick.label, SMALL) / 2, tick.middle + width(&tick.label, SMALL) / 2);
    let last = ticks.len().saturating_sub(1);
    let mut limit = i32::MIN;
    let start_of_last = ticks.last().map_or(i32::MAX, |tick| ends(tick).0);
    for (index, tick) in ticks.iter_mut().enumerate() {
        let (start, end) = ends(tick);
        if start < limit || (index != last && index != 0 && end + gap > start_of_last) {
            tick.label.clear();
        } else {
            limit = end + gap;
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(points: &[f64]) -> Vec<String> {
        let points: Vec<(f64, String)> = points.iter().map(|x| (*x, number::place(*x))).collect();
        horizontal(&points, (100, 1400), (0, 1440)).1.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn steps_are_round_and_begin_at_zero() {
        let texts = |to: f64| linear(0.0, to, (0, 100)).1.into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(texts(43_000.0), ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]);
        assert_eq!(texts(0.93), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(0.0).first().map(String::as_str), Some("0.0"));
    }

    #[test]
    fn labels_without_room_are_left_out_but_for_the_outer_ones() {
        assert_eq!(labels(&[1.0, 8.0, 64.0, 600.0]), ["1", "8", "64", "600"]);
        assert_eq!(labels(&[1.0, 550.0, 580.0, 600.0]), ["1", "", "", "600"]);
        let (_, ticks) = seconds(30, (100, 1400));
        assert_eq!(ticks.iter().map(|tick| tick.label.as_str()).collect::<Vec<_>>(), ["0", "10", "20", "30"]);
        assert_eq!(labels(&[5.0]), ["5"]);
    }

    #[test]
    fn zero_stands_left_of_the_others_on_a_logarithmic_axis() {
        let points = [0.0, 1.0, 100.0].map(|x| (x, number::place(x)));
        let (scale, _) = horizontal(&points, (0, 1000), (0, 1000));
        assert!(scale.log && scale.at(0.0) > 0 && scale.at(0.0) + 50 < scale.at(1.0));
    }
}
