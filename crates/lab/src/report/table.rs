//! Every figure of the variants at one place.
//!
//! Columns that a run has nothing for (connections made, memory) are left out. A figure that a chart shows has one, and one
//! for its comparison with the baseline.

use super::finding::{heading, words};
use super::number;
use super::page::Table;
use super::run::{Place, Run};
use crate::record::{Figure, Measured};
use crate::statistics::median as middle;
use std::collections::BTreeMap;

/// A column: its heading, and what it says of a variant.
type Column<'c> = (String, Box<dyn Fn(usize) -> String + 'c>);

/// Figures that have a column of their own in each table.
const USUAL: [Figure; 10] = [
    Figure::Throughput,
    Figure::ServerCpu,
    Figure::ServerUser,
    Figure::ServerSystem,
    Figure::ServerSwitches,
    Figure::LatencyP50,
    Figure::LatencyP95,
    Figure::LatencyP99,
    Figure::Fairness,
    Figure::ClientCpu,
];

/// Figures that have one where somebody measured them.
const UNUSUAL: [Figure; 4] = [Figure::Connects, Figure::ConnectP50, Figure::ConnectP99, Figure::MemoryPerConnection];

/// The table of a place; none where nothing was measured.
pub fn at(run: &Run<'_>, place: Place) -> Option<Table> {
    let variants: Vec<usize> =
        (0..run.plan.variants.len()).filter(|variant| run.measured(place, *variant).next().is_some()).collect();
    if variants.is_empty() {
        return None;
    }
    let columns = columns(run, place, &variants);
    let rows = variants.iter().map(|variant| columns.iter().map(|(_, cell)| cell(*variant)).collect()).collect();
    let (layout, point) = (&run.plan.layouts[place.layout], &run.plan.points[place.point].label);
    let caption = format!("Layout {layout}, {point}: medians of rounds");
    Some(Table { caption, head: columns.into_iter().map(|(head, _)| head).collect(), rows, figures: true })
}

/// The columns that a place needs.
fn columns<'c>(run: &'c Run<'_>, place: Place, variants: &[usize]) -> Vec<Column<'c>> {
    let baseline = run.baseline();
    let beside = move |variant: usize, figure: Figure| match baseline {
        Some(baseline) if baseline == variant => "baseline".to_string(),
        Some(baseline) => words(&run.judge(place, baseline, variant, figure)),
        None => "—".into(),
    };
    let compact = move |variant: usize, figures: &[Figure]| {
        let one = |figure: &Figure| {
            run.spread(place, variant, *figure).map_or("—".into(), |spread| number::figure(spread.median))
        };
        figures.iter().map(one).collect::<Vec<_>>().join(" / ")
    };
    let mut columns: Vec<Column<'c>> = Vec::new();
    let mut add = |head: &str, cell: Box<dyn Fn(usize) -> String + 'c>| columns.push((head.to_string(), cell));
    add("variant", Box::new(move |variant| role(run, variant)));
    add("transactions/s [least–most]", Box::new(move |variant| median(run, place, variant, Figure::Throughput)));
    add("throughput beside the baseline", Box::new(move |variant| beside(variant, Figure::Throughput)));
    add(
        "server CPU µs (user + system)",
        Box::new(move |variant| {
            let parts = compact(variant, &[Figure::ServerUser, Figure::ServerSystem]).replace(" / ", " + ");
            format!("{} ({parts})", compact(variant, &[Figure::ServerCpu]))
        }),
    );
    add("server CPU beside the baseline", Box::new(move |variant| beside(variant, Figure::ServerCpu)));
    add("switches", Box::new(move |variant| compact(variant, &[Figure::ServerSwitches])));
    add(
        "latency µs p50 / p95 / p99",
        Box::new(move |variant| compact(variant, &[Figure::LatencyP50, Figure::LatencyP95, Figure::LatencyP99])),
    );
    let drawn = run.plan.charts.iter().map(|chart| chart.figure);
    let mut further: Vec<Figure> = UNUSUAL.into_iter().chain(drawn).filter(|figure| !USUAL.contains(figure)).collect();
    further.sort_unstable();
    further.dedup();
    for figure in further {
        if variants.iter().any(|variant| run.spread(place, *variant, figure).is_some()) {
            add(&heading(figure), Box::new(move |variant| median(run, place, variant, figure)));
        }
    }
    let mut drawn: Vec<Figure> = run.plan.charts.iter().map(|chart| chart.figure).collect();
    drawn.sort_unstable();
    drawn.dedup();
    drawn.retain(|figure| ![Figure::Throughput, Figure::ServerCpu].contains(figure));
    for figure in drawn {
        if variants.iter().any(|variant| run.spread(place, *variant, figure).is_some()) {
            let head = format!("{} beside the baseline", figure.label());
            add(&head, Box::new(move |variant| beside(variant, figure)));
        }
    }
    add("errors", Box::new(move |variant| errors(run, place, variant)));
    add("fairness", Box::new(move |variant| compact(variant, &[Figure::Fairness])));
    add("driver CPU µs", Box::new(move |variant| compact(variant, &[Figure::ClientCpu])));
    add(
        "driver was the bottleneck",
        Box::new(move |variant| match run.bound(place, variant) {
            (0, _) => "no".into(),
            (bound, measured) => format!("in {bound} of {measured} rounds"),
        }),
    );
    add("machine % usr / sys / wio / idle, others, stolen", Box::new(move |variant| machine(run, place, variant)));
    columns
}

/// A variant's name with what it is in this run.
fn role(run: &Run<'_>, variant: usize) -> String {
    let name = &run.plan.variants[variant].name;
    match variant {
        _ if run.ceiling() == Some(variant) => format!("{name} (ceiling)"),
        _ if run.baseline() == Some(variant) => format!("{name} (baseline)"),
        _ => name.clone(),
    }
}

/// A median with the least and the most of the rounds.
fn median(run: &Run<'_>, place: Place, variant: usize, figure: Figure) -> String {
    match run.spread(place, variant, figure) {
        Some(spread) if spread.count > 1 => {
            format!("{} [{}–{}]", number::figure(spread.median), number::figure(spread.min), number::figure(spread.max))
        }
        Some(spread) => number::figure(spread.median),
        None => "—".into(),
    }
}

/// Transactions that failed in all rounds, by SQLSTATE.
fn errors(run: &Run<'_>, place: Place, variant: usize) -> String {
    let mut failed: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, cell) in run.measured(place, variant) {
        for (sqlstate, count) in &cell.failed {
            *failed.entry(sqlstate).or_default() += count;
        }
    }
    let each: Vec<String> = failed
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(sqlstate, count)| format!("{sqlstate}: {}", number::count(*count)))
        .collect();
    if each.is_empty() { "0".into() } else { each.join(", ") }
}

/// What the processors did, medians of the rounds.
fn machine(run: &Run<'_>, place: Place, variant: usize) -> String {
    let part = |part: fn(&Measured) -> f64| {
        let parts: Vec<f64> = run.measured(place, variant).map(|(_, cell)| part(cell)).collect();
        number::percent(middle(&parts).unwrap_or(f64::NAN))
    };
    let (usr, sys) = (part(|cell| cell.machine.usr), part(|cell| cell.machine.sys));
    let (wio, idle) = (part(|cell| cell.machine.wio), part(|cell| cell.machine.idle));
    let (others, stolen) = (part(|cell| cell.machine.others), part(|cell| cell.machine.stolen));
    format!("{usr} / {sys} / {wio} / {idle}, {others}, {stolen}")
}
