//! Charts as SVG.
//!
//! ```text
//!   what is drawn upwards, unit                    name of a variant │▇▇▇▇▇▇▇▇▇▇▇├─┤ 38,400
//!   40,000 ┼─────────────●                                      …    │▇▇▇▇▇├┤ 21,300
//!        0 ┼──●──────────────                                        └─────┼─────┼────
//!             1    8    64   600                                           0   20,000
//!           what is drawn across
//! ```
//!
//! The legend is not in the picture but beside it, so that nothing lies over the lines.

use super::super::number;
use super::axis::{Tick, horizontal, linear, seconds, vertical};
use super::canvas::{AXIS, Canvas, GRID, Hold, SMALL, WIDTH, shortened, width};
use super::{Chart, Kind, Mark, Series};

/// The height of a chart with lines.
const HEIGHT: i32 = 860;
/// The height of a row of a chart with bars.
const ROW: i32 = 58;
/// Half the size of a marker.
const MARKER: i32 = 11;
/// How far the markers of one point may be moved aside, from first variant to last.
const ASIDE: i32 = 36;

impl Chart {
    /// The chart as an SVG element that takes the width that it is given.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        let height = match self.kind {
            Kind::Bars => self.bars(&mut out),
            Kind::Lines | Kind::Seconds => self.lines(&mut out),
        };
        let body = out.split_once('>').map_or("", |(_, body)| body).trim();
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n{body}",
            super::super::html::text(&format!("{}, {}", self.up, self.title)),
            super::super::html::text(&self.description()),
        )
    }

    /// The chart in a sentence.
    fn description(&self) -> String {
        let shape = if self.kind == Kind::Bars { "Bars" } else { "Lines" };
        let over = match self.points[..] {
            [] | [_] => String::new(),
            [(_, ref first), .., (_, ref last)] => format!(" over {} from {first} to {last}", self.across),
        };
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        format!("{shape} of {}{over} for {}.", self.up, names.join(", "))
    }

    /// Draws lines; gives the height.
    fn lines(&self, out: &mut String) -> i32 {
        let canvas = Canvas::new(out, HEIGHT);
        let (top, bottom, right) = (90, HEIGHT - 140, WIDTH - 30);
        let (scale, steps) = vertical(self, (bottom, top));
        let widest = steps.iter().map(|tick| width(&tick.label, SMALL)).max().unwrap_or(0);
        let left = widest + 30;
        for tick in &steps {
            canvas.line(&[(left, tick.at), (right, tick.at)], GRID, 2);
            canvas.text(&tick.label, (left - 14, tick.at), Hold::End);
        }
        canvas.line(&[(left, top), (left, bottom), (right, bottom)], AXIS, 2);
        let (across, ticks) = match self.kind {
            Kind::Seconds => seconds(self.points.len(), (left, right)),
            _ => horizontal(&self.points, (left, right), (left, WIDTH - 8)),
        };
        for tick in &ticks {
            self.tick(&canvas, tick, bottom);
        }
        let note =
            |text: &str, log: bool| shortened(&format!("{text}{}", if log { " (log)" } else { "" }), SMALL, WIDTH - 20);
        canvas.text(&note(&self.up, scale.log), (8, 34), Hold::Start);
        canvas.text(&note(&self.across, across.log), (WIDTH / 2, HEIGHT - 34), Hold::Middle);

        let places: Vec<i32> = self.points.iter().map(|(x, _)| across.at(*x)).collect();
        let nearest = places.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(right - left);
        let spread = if self.kind == Kind::Seconds { 0 } else { ASIDE.min(nearest / 3) };
        let count = self.series.len() as i32;
        let aside = |index: usize| (2 * index as i32 - (count - 1)) * spread / (2 * count.max(1));
        for (index, series) in self.series.iter().enumerate() {
            self.line(&canvas, series, index, |point| places[point] + aside(index), |value| scale.at(value));
        }
        canvas.done();
        HEIGHT
    }

    /// Draws a tick of the horizontal axis with its label.
    fn tick(&self, canvas: &Canvas<'_>, tick: &Tick, bottom: i32) {
        canvas.line(&[(tick.at, bottom), (tick.at, bottom + 10)], AXIS, 2);
        if !tick.label.is_empty() {
            canvas.text(&tick.label, (tick.middle, bottom + 40), Hold::Middle);
        }
    }

    /// Draws one variant's line: whiskers below, markers above. A missing mark is a gap.
    fn line(
        &self,
        canvas: &Canvas<'_>,
        series: &Series,
        index: usize,
        x: impl Fn(usize) -> i32,
        y: impl Fn(f64) -> i32,
    ) {
        let style = &series.style;
        let there = |point: usize, mark: &Mark| (x(point), y(mark.median));
        let marks = || series.marks.iter().enumerate().filter_map(|(point, mark)| Some((point, mark.as_ref()?)));
        for (point, mark) in marks() {
            let (x, low, high) = (x(point), y(mark.min), y(mark.max));
            if low - high > 2 {
                canvas.line(&[(x, low), (x, high)], style.colour, 2);
                canvas.line(&[(x - 6, low), (x + 6, low)], style.colour, 2);
                canvas.line(&[(x - 6, high), (x + 6, high)], style.colour, 2);
            }
        }
        let mut run: Vec<(i32, i32)> = Vec::new();
        for (point, mark) in series.marks.iter().enumerate() {
            match mark {
                Some(mark) => run.push(there(point, mark)),
                None => canvas.line_of(&std::mem::take(&mut run), style, 5),
            }
        }
        canvas.line_of(&run, style, 5);
        // Over seconds a marker now and then is enough to tell lines apart, each variant's at another second.
        let every = if self.kind == Kind::Seconds { series.marks.len() / 6 + 1 } else { 1 };
        for (point, mark) in marks() {
            if point % every == index % every {
                canvas.marker(there(point, mark), style, MARKER, mark.hollow);
            }
        }
    }

    /// Draws bars; gives the height.
    fn bars(&self, out: &mut String) -> i32 {
        let marks = || self.series.iter().filter_map(|series| Some((series, (*series.marks.first()?)?)));
        let (top, rows) = (82, marks().count() as i32);
        let bottom = top + rows * ROW + 8;
        let height = bottom + 74;
        let canvas = Canvas::new(out, height);
        let names = marks().map(|(series, _)| width(&series.name, SMALL)).max().unwrap_or(0).min(WIDTH * 9 / 20);
        let values = marks().map(|(_, mark)| width(&number::figure(mark.median), SMALL)).max().unwrap_or(0);
        let (left, right) = (names + 30, WIDTH - values - 40);
        let (lowest, highest) =
            marks().fold((0.0, 0.0), |(low, high), (_, mark)| (mark.min.min(low), mark.max.max(high)));
        let (scale, steps) = linear(lowest, highest, (left, right));
        canvas.text(&shortened(&self.up, SMALL, WIDTH - 20), (8, 34), Hold::Start);
        // Every label, or every second, or every third: whatever leaves room between them.
        let widest = steps.iter().map(|(_, label)| width(label, SMALL)).max().unwrap_or(0) + SMALL / 2;
        let between = steps.windows(2).map(|pair| scale.at(pair[1].0) - scale.at(pair[0].0)).min().unwrap_or(widest);
        let every = (widest / between.max(1) + 1) as usize;
        for (index, (value, label)) in steps.iter().enumerate() {
            let at = scale.at(*value);
            canvas.line(&[(at, top), (at, bottom)], GRID, 2);
            if index % every == 0 {
                canvas.text(label, (at.min(WIDTH - width(label, SMALL) / 2 - 8), bottom + 38), Hold::Middle);
            }
        }
        for (row, (series, mark)) in marks().enumerate() {
            let middle = top + row as i32 * ROW + ROW / 2 + 4;
            let (zero, end) = (scale.at(0.0), scale.at(mark.median));
            let end = if (end - zero).abs() < 3 { zero + 3 } else { end };
            let (start, end) = (zero.min(end), zero.max(end));
            canvas.bar((start, middle - 17), (end, middle + 17), series.style.colour, mark.hollow);
            let (low, high) = (scale.at(mark.min), scale.at(mark.max));
            if high - low > 2 {
                let ink = super::canvas::INK;
                canvas.line(&[(low, middle), (high, middle)], ink, 2);
                canvas.line(&[(low, middle - 9), (low, middle + 9)], ink, 2);
                canvas.line(&[(high, middle - 9), (high, middle + 9)], ink, 2);
            }
            canvas.text(&shortened(&series.name, SMALL, names), (left - 14, middle), Hold::End);
            canvas.text(&number::figure(mark.median), (high.max(end) + 12, middle), Hold::Start);
        }
        let zero = scale.at(0.0);
        canvas.line(&[(zero, top), (zero, bottom)], AXIS, 2);
        canvas.done();
        height
    }
}
