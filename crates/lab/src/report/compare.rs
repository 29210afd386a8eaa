//! Two runs side by side: what a change, another machine or another day made of the same cells.
//!
//! The runs were not measured in turns, so whatever the machine did differently is in the ratios: there is no interval and
//! no verdict, only medians with the least and the most of their rounds, and a mark where those do not even overlap.

use super::finding::heading;
use super::number;
use super::page::{Block, Page, Table, plain, strong};
use super::run::{Place, Run};
use crate::record::{Figure, Plan};
use crate::statistics::{Spread, geometric_mean};

/// The figures that are compared, besides those that charts of either run show.
const FIGURES: [Figure; 3] = [Figure::Throughput, Figure::ServerCpu, Figure::LatencyP99];

/// The comparison of two runs.
pub fn page(a: &Run<'_>, b: &Run<'_>) -> Page {
    let mut blocks = vec![Block::Warning(vec![
        strong("These runs were measured apart, not in turns:"),
        plain(
            " what the machine did differently meanwhile is in each ratio. Only where a difference is much larger than the \
             spread of the rounds is it likely to be more than that. To know, run both as variants of one experiment.",
        ),
    ])];
    blocks.push(Block::Heading(2, "What differs between the runs".into()));
    blocks.push(Block::Table(differences(a.plan, b.plan)));
    let mut drawn: Vec<Figure> = FIGURES.to_vec();
    drawn.extend(a.plan.charts.iter().chain(&b.plan.charts).map(|chart| chart.figure));
    let mut figures: Vec<Figure> = Vec::new();
    for figure in drawn {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    let shared = shared(a, b);
    if shared.is_empty() {
        blocks.push(Block::Text(vec![plain("No variant was measured in the same layout at the same point by both.")]));
    }
    for figure in figures {
        blocks.extend(compared(a, b, &shared, figure));
    }
    Page { title: format!("{} beside {}", b.plan.run, a.plan.run), blocks }
}

/// What is in both runs.
struct Shared {
    places: (Place, Place),
    variants: (usize, usize),
}

/// The cells that both runs measured, in the first one's order.
fn shared(a: &Run<'_>, b: &Run<'_>) -> Vec<Shared> {
    let mut shared = Vec::new();
    for place in a.places() {
        let layout = b.plan.layouts.iter().position(|layout| *layout == a.plan.layouts[place.layout]);
        let point = b.plan.points.iter().position(|point| point.x == a.plan.points[place.point].x);
        let (Some(layout), Some(point)) = (layout, point) else { continue };
        let other = Place { layout, point };
        for (variant, planned) in a.plan.variants.iter().enumerate() {
            let Some(same) = b.variant(&planned.name) else { continue };
            if a.measured(place, variant).next().is_some() && b.measured(other, same).next().is_some() {
                shared.push(Shared { places: (place, other), variants: (variant, same) });
            }
        }
    }
    shared
}

/// A figure of all cells that both have; nothing where neither has it.
fn compared(a: &Run<'_>, b: &Run<'_>, shared: &[Shared], figure: Figure) -> Vec<Block> {
    let mut rows = Vec::new();
    let mut ratios = Vec::new();
    for cell in shared {
        let one = a.spread(cell.places.0, cell.variants.0, figure);
        let other = b.spread(cell.places.1, cell.variants.1, figure);
        let (Some(one), Some(other)) = (one, other) else { continue };
        let bound = figure.is_speed()
            && (a.is_bound(cell.places.0, cell.variants.0) || b.is_bound(cell.places.1, cell.variants.1));
        let ratio = other.median / one.median;
        let apart = other.min > one.max || other.max < one.min;
        let note = match () {
            () if bound => "the driver was the bottleneck",
            () if apart => "rounds do not overlap",
            () => "",
        };
        if !bound && ratio.is_finite() {
            ratios.push(ratio);
        }
        let (layout, point) = (&a.plan.layouts[cell.places.0.layout], &a.plan.points[cell.places.0.point].label);
        let ratio = format!("{} ×", number::figure(ratio));
        let name = a.plan.variants[cell.variants.0].name.clone();
        rows.push(vec![name, format!("{layout}, {point}"), spread(&one), spread(&other), ratio, note.to_string()]);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["variant", "where", "A: median [least–most]", "B: median [least–most]", "B / A", "note"];
    let title = heading(figure);
    let caption = format!("{title}: A is {}, B is {}", a.plan.run, b.plan.run);
    let table = Table { caption, head: head.map(String::from).to_vec(), rows, figures: true };
    let mut blocks = vec![Block::Heading(2, title)];
    if let Some(mean) = geometric_mean(&ratios).filter(|_| ratios.len() > 1) {
        let text = format!("Geometric mean of the {} ratios B / A: {}.", ratios.len(), number::figure(mean));
        blocks.push(Block::Text(vec![plain(text)]));
    }
    blocks.push(Block::Table(table));
    blocks
}

/// A median with the least and the most.
fn spread(spread: &Spread) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(number::figure);
    if spread.count > 1 { format!("{median} [{min}–{max}]") } else { median }
}

/// What is not the same in two plans: how they were measured, on what, with which settings.
fn differences(a: &Plan, b: &Plan) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |what: String, one: String, other: String| {
        if one != other {
            rows.push(vec![what, one, other]);
        }
    };
    let facts = |plan: &Plan| {
        let machine = &plan.machine;
        [
            ("experiment", plan.experiment.clone()),
            ("run", plan.run.clone()),
            ("begun", plan.date.clone()),
            ("commit", plan.commit.clone()),
            ("processor", machine.cpu.clone()),
            ("processors", machine.cpus.to_string()),
            ("memory, MiB", machine.memory_mib.to_string()),
            ("kernel", machine.kernel.clone()),
            ("system", machine.system.clone()),
            ("disk", machine.disk.clone()),
            ("rounds", plan.rounds.to_string()),
            ("seconds", number::place(plan.seconds)),
            ("seconds of warm-up", number::place(plan.warm_up)),
            ("variables", format!("{:?}", plan.defines)),
            ("seed", plan.seed.to_string()),
        ]
    };
    for ((what, one), (_, other)) in facts(a).into_iter().zip(facts(b)) {
        row(what.into(), one, other);
    }
    for (name, text) in &a.scripts {
        if b.scripts.get(name).is_some_and(|other| other != text) {
            row(format!("script {name}"), "one".into(), "another".into());
        }
    }
    for point in &a.points {
        if let Some(same) = b.points.iter().find(|other| other.x == point.x) {
            row(format!("load at {}", point.label), format!("{:?}", point.load), format!("{:?}", same.load));
        }
    }
    for variant in &a.variants {
        let Some(same) = b.variants.iter().find(|other| other.name == variant.name) else {
            row(format!("variant {}", variant.name), "there".into(), "not there".into());
            continue;
        };
        row(format!("{}: version", variant.name), variant.version.clone(), same.version.clone());
        let mut names: Vec<&String> = variant.settings.keys().chain(same.settings.keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let value =
                |of: &crate::record::Variant| of.settings.get(name).cloned().unwrap_or_else(|| "not set".into());
            row(format!("{}: {name}", variant.name), value(variant), value(same));
        }
    }
    for variant in b.variants.iter().filter(|variant| a.variants.iter().all(|other| other.name != variant.name)) {
        row(format!("variant {}", variant.name), "not there".into(), "there".into());
    }
    if rows.is_empty() {
        rows.push(vec!["nothing".into(), String::new(), String::new()]);
    }
    let head = ["what", "A", "B"].map(String::from).to_vec();
    Table { caption: "What differs between the runs".into(), head, rows, figures: false }
}
