//! What a run says in words: who is ahead at each place, and whether what was expected came out.
//!
//! Rules
//! 1. "Ahead" is whoever has the best median; variants that are not clearly behind it are named with it. The ceiling does
//!    nothing useful and is never ahead.
//! 2. An expectation is *met* where all of the interval (for a figure alone: of its rounds) lies in the range, *not clear* where a
//!    part of it does, and *differs* otherwise. Without an interval nothing is said.
//! 3. Nothing is said about speed where the driver was the bottleneck.

use super::number;
use super::page::{Prose, plain, strong};
use super::run::{Judged, Place, Run};
use crate::record::{Expectation, Figure};
use crate::statistics::{Verdict, geometric_mean};

/// A comparison in words: `1.80 × (1.62–2.01)`, `no difference seen (0.98–1.03)`.
pub fn words(judged: &Judged) -> String {
    let interval = |low: f64, high: f64| format!("({}–{})", number::figure(low), number::figure(high));
    match (&judged.verdict, judged.ratio) {
        (Verdict::Unknown(reason), None) => reason.clone(),
        (Verdict::Unknown(reason), Some(ratio)) => {
            format!("{} ×, no verdict: {reason}", number::figure(ratio.estimate))
        }
        (Verdict::NoDifference, Some(ratio)) => match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => format!("no difference seen {}", interval(low, high)),
            _ => "no difference seen".into(),
        },
        (_, Some(ratio)) => match (ratio.low, ratio.high) {
            (Some(low), Some(high)) => format!("{} × {}", number::figure(ratio.estimate), interval(low, high)),
            _ => format!("{} ×", number::figure(ratio.estimate)),
        },
        (verdict, None) => verdict.to_string(),
    }
}

/// A figure with its unit: `38,400 transactions/s`, `21.3 µs`.
pub fn amount(figure: Figure, value: f64) -> String {
    let unit = match (figure, figure.unit()) {
        (Figure::Throughput | Figure::Connects, _) => figure.label(),
        (_, unit) => unit,
    };
    if unit.is_empty() { number::figure(value) } else { format!("{} {unit}", number::figure(value)) }
}

/// A figure's name with its unit, as an axis or a column carries it.
pub fn heading(figure: Figure) -> String {
    match (figure, figure.unit()) {
        (Figure::Throughput | Figure::Connects, _) | (_, "") => figure.label().into(),
        (_, unit) => format!("{}, {unit}", figure.label()),
    }
}

/// The figures that the summary is about: the first chart's, and what the server used.
pub fn headlines(run: &Run<'_>) -> Vec<Figure> {
    let mut figures = vec![run.plan.charts.first().map_or(Figure::Throughput, |chart| chart.figure)];
    if figures[0] != Figure::ServerCpu {
        figures.push(Figure::ServerCpu);
    }
    figures
}

/// What the layouts are called in text.
pub fn layout(name: &str) -> String {
    match name {
        "one" => "Layout one: server and driver share one processor".into(),
        "split" => "Layout split: server and driver have a processor each".into(),
        "free" => "Layout free: the kernel places server and driver".into(),
        other => format!("Layout {other}"),
    }
}

/// Who is ahead in a figure at a place, in a clause; none where that was not measured.
pub fn ahead(run: &Run<'_>, place: Place, figure: Figure) -> Option<Prose> {
    let all = 0..run.plan.variants.len();
    let mut ranked: Vec<(usize, f64)> = all
        .filter(|variant| Some(*variant) != run.ceiling() || run.plan.variants.len() == 1)
        .filter_map(|variant| Some((variant, run.spread(place, variant, figure)?.median)))
        .collect();
    ranked.sort_by(|(_, a), (_, b)| if figure.less_is_better() { a.total_cmp(b) } else { b.total_cmp(a) });
    let &(best, median) = ranked.first()?;
    let name = |variant: usize| run.plan.variants[variant].name.as_str();
    if figure.is_speed() && run.is_bound(place, best) {
        return Some(vec![plain(format!("{}: the driver was the bottleneck, so no verdict", figure.label()))]);
    }
    let (mut beside, mut unknown) = (Vec::new(), Vec::new());
    for &(variant, _) in &ranked[1..] {
        match run.judge(place, best, variant, figure).verdict {
            Verdict::NoDifference => beside.push(variant),
            Verdict::Unknown(_) => unknown.push(variant),
            Verdict::Less | Verdict::More => {}
        }
    }
    let most = if figure.less_is_better() { "least" } else { "most" };
    let rate = matches!(figure, Figure::Throughput | Figure::Connects);
    let others = ranked.len() - 1;
    let mut clause = if others > 0 && unknown.len() == others {
        let text =
            format!("{}: too few rounds for a verdict; so far {} has the best median, ", figure.label(), name(best));
        return Some(vec![plain(text), plain(amount(figure, median))]);
    } else if others > 1 && beside.len() == others {
        vec![plain(format!("{}: no clear winner among {} variants, the best has ", figure.label(), ranked.len()))]
    } else if rate {
        vec![strong(name(best)), plain(if ranked.len() == 1 { " does " } else { " is ahead with " })]
    } else {
        vec![plain(format!("{most} {}: ", figure.label())), strong(name(best)), plain(", ")]
    };
    clause.push(plain(amount(figure, median)));
    if let Some(baseline) = run.baseline().filter(|baseline| *baseline != best) {
        let judged = run.judge(place, baseline, best, figure);
        match judged.verdict {
            Verdict::Less | Verdict::More => clause.push(plain(format!(", {} {}", words(&judged), name(baseline)))),
            Verdict::NoDifference => clause.push(plain(format!(", no difference seen to {}", name(baseline)))),
            Verdict::Unknown(_) => {}
        }
    }
    let listed = |variants: &[usize]| {
        let names: Vec<&str> =
            variants.iter().filter(|one| Some(**one) != run.baseline()).map(|one| name(*one)).collect();
        if names.len() > 3 { format!("{} others", names.len()) } else { names.join(", ") }
    };
    for (variants, words) in [(&beside, "not clearly behind"), (&unknown, "no verdict about")] {
        let names = listed(variants);
        if !names.is_empty() && variants.len() < others {
            clause.push(plain(format!("; {words}: {names}")));
        }
    }
    Some(clause)
}

/// The variants by their geometric mean beside the baseline over all places where that was measured, best
/// first, in a clause.
///
/// None where there is one place only, or where no other variant was compared at each of them.
pub fn overall(run: &Run<'_>, figure: Figure) -> Option<Prose> {
    let baseline = run.baseline()?;
    let usable = |place: &Place| {
        run.spread(*place, baseline, figure).is_some() && !(figure.is_speed() && run.is_bound(*place, baseline))
    };
    let places: Vec<Place> = run.places().filter(usable).collect();
    let mean = |variant: usize| {
        let ratios: Vec<f64> = places
            .iter()
            .filter_map(|place| Some(run.judge(*place, baseline, variant, figure).ratio?.estimate))
            .collect();
        if ratios.len() == places.len() { geometric_mean(&ratios) } else { None }
    };
    let others = (0..run.plan.variants.len()).filter(|variant| *variant != baseline && Some(*variant) != run.ceiling());
    let mut means: Vec<(usize, f64)> = others.filter_map(|variant| Some((variant, mean(variant)?))).collect();
    if places.len() < 2 || means.is_empty() {
        return None;
    }
    means.sort_by(|(_, a), (_, b)| if figure.less_is_better() { a.total_cmp(b) } else { b.total_cmp(a) });
    let all = run.places().count();
    let some = if places.len() < all { format!(" ({} of {all} places)", places.len()) } else { String::new() };
    let mut prose = vec![plain(format!("{}{some}: ", figure.label()))];
    for (index, (variant, mean)) in means.iter().enumerate() {
        let text = format!("{} {} ×", run.plan.variants[*variant].name, number::figure(*mean));
        prose.push(if index == 0 { strong(text) } else { plain(format!(", {text}")) });
    }
    Some(prose)
}

/// How an expectation came out at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As expected.
    Met,
    /// The interval is partly in the range.
    NotClear,
    /// Otherwise than expected, with the direction: `above`, `below`.
    Differs(&'static str),
    /// Nothing can be said, and why.
    Unknown(String),
}

/// An expectation at a place, with what came out.
pub struct Checked<'a> {
    /// What was expected.
    pub expected: &'a Expectation,
    /// Where.
    pub place: Place,
    /// What was measured, in words.
    pub measured: String,
    /// How it came out.
    pub outcome: Outcome,
}

/// All expectations at all places that they are about.
pub fn expectations<'a>(run: &Run<'a>) -> Vec<Checked<'a>> {
    let mut checked = Vec::new();
    for expected in &run.plan.expected {
        for place in run.places() {
            let (layout, x) = (&run.plan.layouts[place.layout], run.plan.points[place.point].x);
            if expected.layout.as_ref().is_none_or(|wanted| wanted == layout)
                && expected.x.is_none_or(|wanted| wanted == x)
            {
                checked.push(check(run, expected, place));
            }
        }
    }
    checked
}

/// One expectation at one place.
fn check<'a>(run: &Run<'a>, expected: &'a Expectation, place: Place) -> Checked<'a> {
    let (measured, outcome) = match value(run, expected, place) {
        Err(reason) => ("—".to_string(), Outcome::Unknown(reason)),
        Ok((value, low, high)) => {
            let spread = format!("{}–{}", number::figure(low), number::figure(high));
            let measured = match expected.against {
                Some(_) => format!("{} × ({spread})", number::figure(value)),
                None => format!("{} [{spread}]", amount(expected.figure, value)),
            };
            let least = expected.low.unwrap_or(f64::NEG_INFINITY);
            let most = expected.high.unwrap_or(f64::INFINITY);
            let outcome = match () {
                () if least <= low && high <= most => Outcome::Met,
                () if low <= most && high >= least => Outcome::NotClear,
                () if value < least => Outcome::Differs("below"),
                () => Outcome::Differs("above"),
            };
            (measured, outcome)
        }
    };
    Checked { expected, place, measured, outcome }
}

/// What an expectation is about: the figure, and between what it lies.
fn value(run: &Run<'_>, expected: &Expectation, place: Place) -> Result<(f64, f64, f64), String> {
    let find = |name: &String| run.variant(name).ok_or_else(|| format!("{name} was left out"));
    let variant = find(&expected.variant)?;
    let Some(against) = &expected.against else {
        if expected.figure.is_speed() && run.is_bound(place, variant) {
            return Err("the driver was the bottleneck".into());
        }
        let spread = run.spread(place, variant, expected.figure).ok_or("not measured")?;
        return Ok((spread.median, spread.min, spread.max));
    };
    let point = |x| run.plan.points.iter().position(|point| point.x == x);
    let other = match expected.against_x {
        None => place,
        Some(x) => Place { point: point(x).ok_or("the other point was left out")?, ..place },
    };
    let judged = run.judge_places((other, find(against)?), (place, variant), expected.figure);
    match (judged.ratio, judged.verdict) {
        (Some(ratio), verdict) => match (ratio.low, ratio.high, verdict) {
            (Some(low), Some(high), _) => Ok((ratio.estimate, low, high)),
            (_, _, Verdict::Unknown(reason)) => Err(reason),
            _ => Err("too few rounds".into()),
        },
        (None, Verdict::Unknown(reason)) => Err(reason),
        (None, _) => Err("not measured".into()),
    }
}

/// The range that was expected, in words.
pub fn range(expected: &Expectation) -> String {
    let unit = match (&expected.against, expected.figure.unit()) {
        (Some(_), _) => " ×".to_string(),
        (None, "") => String::new(),
        (None, unit) => format!(" {unit}"),
    };
    match (expected.low, expected.high) {
        (Some(low), Some(high)) => format!("{}–{}{unit}", number::figure(low), number::figure(high)),
        (Some(low), None) => format!("at least {}{unit}", number::figure(low)),
        (None, Some(high)) => format!("at most {}{unit}", number::figure(high)),
        (None, None) => "anything".into(),
    }
}
