//! The report of one run: what it says, in which order.
//!
//! A reader in a hurry gets the answer first (who is ahead, what was otherwise than expected), then pictures, then every
//! figure, then how to read them and what was measured with what.

use super::chart::style::{self, Style};
use super::chart::{Chart, Kind, Mark, Series};
use super::finding::{self, Outcome, heading};
use super::mechanism;
use super::number;
use super::page::{Block, Group, Page, Prose, Table, plain, strong};
use super::run::{Place, Run};
use super::table;
use crate::record::{Figure, Measured};
use crate::server::fio::Disk;

/// A series of seconds is drawn if it has more entries than this.
const SECONDS_MIN: usize = 3;

/// The report of a run.
pub fn page(run: &Run<'_>) -> Page {
    let mut blocks = vec![Block::Text(vec![plain(run.plan.question.clone())]), Block::Text(vec![plain(origin(run))])];
    blocks.extend(warnings(run));
    blocks.push(Block::Heading(2, "In short".into()));
    blocks.extend(summary(run));
    if !run.plan.expected.is_empty() {
        blocks.push(Block::Heading(2, "Expected and measured".into()));
        if let Some(source) = common_source(run) {
            blocks.push(Block::Text(vec![plain(format!("Source of all expectations: {source}."))]));
        }
        blocks.push(Block::Table(expectations(run)));
    }
    blocks.extend(mechanism::blocks(run));
    let charts = charts(run);
    if !charts.is_empty() {
        blocks.push(Block::Heading(2, "Charts".into()));
        blocks.extend(charts.into_iter().map(Block::Charts));
    }
    blocks.push(Block::Heading(2, "All figures".into()));
    blocks.extend(figures(run));
    blocks.extend(failures(run));
    blocks.push(Block::Heading(2, "How to read this".into()));
    blocks.push(Block::List(reading(run)));
    blocks.push(Block::Heading(2, "What was measured with what".into()));
    blocks.extend(settings(run));
    Page { title: run.plan.title.clone(), blocks }
}

/// Where and when, in one paragraph.
fn origin(run: &Run<'_>) -> String {
    let (plan, machine) = (run.plan, &run.plan.machine);
    let exchange = plan.exchange_us.map_or(String::new(), |cost| {
        format!(
            " One send and one receive over loopback cost {} µs: no driver needs less for a request.",
            number::figure(cost)
        )
    });
    format!(
        "Experiment {}, run {}, begun {} at commit {}. {}, {} processors, {} MiB of memory, kernel {}, {}, data on {}. \
         {} of {} s for each cell, seed {}.{exchange}",
        plan.experiment,
        plan.run,
        plan.date,
        plan.commit,
        machine.cpu,
        machine.cpus,
        number::count(machine.memory_mib),
        machine.kernel,
        machine.system,
        machine.disk,
        plural(plan.rounds as usize, "round"),
        number::place(plan.seconds),
        plan.seed,
    )
}

/// What has to be known before a figure is believed.
fn warnings(run: &Run<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (planned, missing, failed) = (run.planned(), run.missing(), run.failures().count());
    if missing > 0 {
        let text = format!(
            " {} of {} cells are missing. What follows is from the others.",
            number::count(missing as u64),
            number::count(planned as u64)
        );
        blocks.push(Block::Warning(vec![strong("This run is not finished:"), plain(text)]));
    }
    if failed > 0 {
        let text = format!(
            " {} of {} could not be measured; the reasons stand below the figures.",
            number::count(failed as u64),
            plural(planned, "cell")
        );
        blocks.push(Block::Warning(vec![strong("Failures:"), plain(text)]));
    }
    let bound = || run.places().flat_map(|place| (0..run.plan.variants.len()).map(move |variant| (place, variant)));
    let bound = bound().filter(|(place, variant)| run.bound(*place, *variant).0 > 0).count();
    if bound > 0 {
        let all = run.places().count() * run.plan.variants.len();
        let text = format!(
            " In {bound} of {all} combinations of variant, load and layout the driver was the bottleneck in some \
             round. Such a round says nothing about speed; where they are half of the rounds or more the mark is hollow \
             in the charts."
        );
        blocks.push(Block::Warning(vec![strong("Driver:"), plain(text)]));
    }
    let places = run.places().flat_map(|place| (0..run.plan.variants.len()).map(move |variant| (place, variant)));
    let differs =
        |cell: &Measured| cell.counted_by_server.is_some() && cell.counted_by_server != cell.counted_by_driver;
    let differing = places.flat_map(|(place, variant)| run.measured(place, variant)).filter(|(_, cell)| differs(cell));
    let differing = differing.count();
    if differing > 0 {
        let text = format!(
            " In {} the server counted other transactions than the driver: somebody else used it, or one of the two is \
             wrong.",
            plural(differing, "cell")
        );
        blocks.push(Block::Warning(vec![strong("Counts:"), plain(text)]));
    }
    if !run.plan.notes.is_empty() {
        blocks
            .push(Block::List(run.plan.notes.iter().map(|note| vec![strong("Note: "), plain(note.clone())]).collect()));
    }
    blocks
}

/// What a reader in a hurry wants to know.
fn summary(run: &Run<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let figures = finding::headlines(run);
    let overall: Vec<Prose> = figures.iter().filter_map(|figure| finding::overall(run, *figure)).collect();
    if !overall.is_empty() {
        let text = format!("Over all loads and layouts, geometric mean beside {}:", run.plan.baseline);
        blocks.push(Block::Text(vec![plain(text)]));
        blocks.push(Block::List(overall));
    }
    if let Some(text) = differing(run) {
        blocks.push(Block::Text(text));
    }
    for (index, layout) in run.plan.layouts.iter().enumerate() {
        let mut items = Vec::new();
        for (point, load) in run.plan.points.iter().enumerate() {
            let place = Place { layout: index, point };
            let mut item = vec![strong(format!("{}. ", load.label))];
            for figure in &figures {
                if let Some(clause) = finding::ahead(run, place, *figure) {
                    item.extend(capitalised(clause));
                    item.push(plain(". "));
                }
            }
            if item.len() == 1 {
                item.push(plain("Not measured."));
            }
            items.push(item);
        }
        blocks.push(Block::Heading(3, finding::layout(layout)));
        blocks.push(Block::List(items));
    }
    blocks
}

/// A clause as the beginning of a sentence.
fn capitalised(mut clause: Prose) -> Prose {
    if let Some(first) = clause.first_mut() {
        let mut letters = first.text.chars();
        first.text = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    }
    clause
}

/// How many expectations came out, and that others did not.
fn differing(run: &Run<'_>) -> Option<Prose> {
    let checked = finding::expectations(run);
    if checked.is_empty() {
        return None;
    }
    let count = |wanted: fn(&Outcome) -> bool| checked.iter().filter(|checked| wanted(&checked.outcome)).count();
    let met = count(|outcome| *outcome == Outcome::Met);
    let differ = count(|outcome| matches!(outcome, Outcome::Differs(_)));
    let open = checked.len() - met - differ;
    let mut text = vec![plain(format!("Of {}, {met} came out as expected", plural(checked.len(), "expectation")))];
    if differ > 0 {
        text.push(plain(", "));
        text.push(strong(format!("{differ} did not")));
    }
    if open > 0 {
        text.push(plain(format!(", {open} cannot be judged")));
    }
    text.push(plain("."));
    Some(text)
}

/// Where all expectations come from, if that is one place.
fn common_source<'a>(run: &Run<'a>) -> Option<&'a str> {
    let plan = run.plan;
    let first = plan.expected.first()?.source.as_str();
    plan.expected.iter().all(|expected| expected.source == first).then_some(first)
}

/// Each expectation with what came out.
fn expectations(run: &Run<'_>) -> Table {
    let common = common_source(run);
    let mut head = ["what", "where", "expected", "measured", "outcome"].map(String::from).to_vec();
    if common.is_none() {
        head.push("source".into());
    }
    let rows = finding::expectations(run).into_iter().map(|checked| {
        let expected = checked.expected;
        let outcome = match checked.outcome {
            Outcome::Met => "met".to_string(),
            Outcome::NotClear => "not clear".into(),
            Outcome::Differs(direction) => format!("DIFFERS: {direction}"),
            Outcome::Unknown(reason) => format!("no verdict: {reason}"),
        };
        let place = name(run, checked.place);
        let mut row = vec![expected.what.clone(), place, finding::range(expected), checked.measured, outcome];
        if common.is_none() {
            row.push(expected.source.clone());
        }
        row
    });
    Table {
        caption: "What was expected before the run, and what came out".into(),
        head,
        rows: rows.collect(),
        figures: false,
    }
}

/// A place's name.
fn name(run: &Run<'_>, place: Place) -> String {
    format!("{}, {}", run.plan.layouts[place.layout], run.plan.points[place.point].label)
}

/// The charts that the plan asks for, and throughput over time.
fn charts(run: &Run<'_>) -> Vec<Group> {
    let styles = style::of(run.plan);
    let mut order: Vec<usize> = (0..run.plan.points.len()).collect();
    order.sort_by(|a, b| run.plan.points[*a].x.total_cmp(&run.plan.points[*b].x));
    let points: Vec<(f64, String)> = order.iter().map(|point| tick(run, *point)).collect();
    let kind = if points.len() == 1 { Kind::Bars } else { Kind::Lines };
    let mut groups = Vec::new();
    for wanted in &run.plan.charts {
        let chart = |layout: usize| {
            let series = (0..run.plan.variants.len()).map(|variant| {
                let mark = |point: &usize| mark(run, Place { layout, point: *point }, variant, wanted.figure);
                Series {
                    name: run.plan.variants[variant].name.clone(),
                    style: styles[variant],
                    marks: order.iter().map(mark).collect(),
                }
            });
            let (title, across, up) = (run.plan.layouts[layout].clone(), run.plan.axis.clone(), heading(wanted.figure));
            Chart {
                kind,
                title: format!("layout {title}"),
                across,
                up,
                points: points.clone(),
                series: series.collect(),
            }
        };
        let charts: Vec<Chart> = (0..run.plan.layouts.len()).map(chart).filter(|chart| !chart.is_empty()).collect();
        if !charts.is_empty() {
            let better = if wanted.figure.less_is_better() { "Less is better." } else { "More is better." };
            let disk = run
                .plan
                .disk
                .filter(|_| wanted.figure == Figure::Throughput)
                .map(|disk| format!(" {}", flushes(&disk)));
            let note = format!("{better}{}", disk.unwrap_or_default());
            groups.push(Group { title: wanted.title.clone(), note, charts });
        }
    }
    groups.extend(seconds(run, &styles));
    groups
}

/// What the disk does for commits, in a sentence.
fn flushes(disk: &Disk) -> String {
    format!(
        "The disk alone, by fio, does {} flushed writes of 8 KiB a second one after the other, a flush taking {} µs in the median; \
         several clients can share one.",
        number::figure(disk.flushed_writes),
        number::figure(disk.flush_p50_us)
    )
}

/// A point's place, and what is written below it: its number where the label has it anyway, else the label.
fn tick(run: &Run<'_>, point: usize) -> (f64, String) {
    let point = &run.plan.points[point];
    let number = number::place(point.x);
    let says = point.label.split_whitespace().any(|word| word == number || word == point.x.to_string());
    (point.x, if says || point.label.is_empty() { number } else { point.label.clone() })
}

/// What is drawn of a variant at a place.
fn mark(run: &Run<'_>, place: Place, variant: usize, figure: Figure) -> Option<Mark> {
    let spread = run.spread(place, variant, figure)?;
    let hollow = run.is_bound(place, variant);
    Some(Mark { median: spread.median, min: spread.min, max: spread.max, hollow })
}

/// Throughput over time at the largest point, of each variant's round in the middle.
fn seconds(run: &Run<'_>, styles: &[Style]) -> Option<Group> {
    let points = &run.plan.points;
    let point = (0..points.len()).max_by(|a, b| points[*a].x.total_cmp(&points[*b].x))?;
    let chart = |layout: usize| {
        let place = Place { layout, point };
        let middle: Vec<(usize, &Measured)> = (0..run.plan.variants.len())
            .filter_map(|variant| Some((variant, middle(run, place, variant)?)))
            .filter(|(_, cell)| cell.series.len() > SECONDS_MIN)
            .collect();
        let longest = middle.iter().map(|(_, cell)| cell.series.len()).max().unwrap_or(0);
        let series = middle.into_iter().map(|(variant, cell)| {
            let mut before = 0.0;
            let mut marks: Vec<Option<Mark>> = Vec::new();
            for second in &cell.series {
                let rate = second.transactions as f64 / (second.at - before).max(1e-3);
                before = second.at;
                marks.push(Some(Mark { median: rate, min: rate, max: rate, hollow: false }));
            }
            marks.resize(longest, None);
            Series { name: run.plan.variants[variant].name.clone(), style: styles[variant], marks }
        });
        Chart {
            kind: Kind::Seconds,
            title: format!("layout {}", run.plan.layouts[layout]),
            across: "seconds since the measurement began".into(),
            up: Figure::Throughput.label().into(),
            points: (1..=longest).map(|second| (second as f64, second.to_string())).collect(),
            series: series.collect(),
        }
    };
    let charts: Vec<Chart> = (0..run.plan.layouts.len()).map(chart).filter(|chart| !chart.is_empty()).collect();
    let title = format!("Throughput over time, {}", points[point].label);
    let note = "The round with the median throughput of each variant.".to_string();
    (!charts.is_empty()).then_some(Group { title, note, charts })
}

/// The round with the median throughput, the lower one of an even number.
fn middle<'a>(run: &Run<'a>, place: Place, variant: usize) -> Option<&'a Measured> {
    let rate = |cell: &Measured| Figure::Throughput.of(cell).unwrap_or(0.0);
    let mut cells: Vec<&Measured> = run.measured(place, variant).map(|(_, cell)| cell).collect();
    cells.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    cells.get(cells.len().checked_sub(1)? / 2).copied()
}

/// A table for each place.
fn figures(run: &Run<'_>) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, layout) in run.plan.layouts.iter().enumerate() {
        blocks.push(Block::Heading(3, finding::layout(layout)));
        for point in 0..run.plan.points.len() {
            let place = Place { layout: index, point };
            blocks.push(Block::Heading(4, format!("{layout}, {}", run.plan.points[point].label)));
            blocks.push(Block::Text(vec![plain(load(run, place))]));
            match table::at(run, place) {
                Some(table) => blocks.push(Block::Table(table)),
                None => blocks.push(Block::Text(vec![plain("Nothing was measured here.")])),
            }
        }
    }
    blocks
}

/// A load in words.
fn load(run: &Run<'_>, place: Place) -> String {
    let load = &run.plan.points[place.point].load;
    let threads = match run.threads(place) {
        0 => String::new(),
        count => format!(", {} in the driver", plural(count as usize, "thread")),
    };
    let idle = if load.idle > 0 {
        format!(" beside {} that do nothing", plural(load.idle as usize, "connection"))
    } else {
        String::new()
    };
    format!(
        "Workload {}, scale {}, protocol {}, {}{idle}{threads}, pace {}{}.",
        load.workload,
        number::count(load.scale.into()),
        load.protocol,
        plural(load.clients as usize, "client"),
        load.pace,
        if load.reconnect { ", a connection for each transaction" } else { "" },
    )
}

/// The cells that could not be measured.
fn failures(run: &Run<'_>) -> Vec<Block> {
    let rows: Vec<Vec<String>> = run
        .failures()
        .map(|(cell, reason)| {
            vec![
                cell.variant.clone(),
                cell.layout.clone(),
                number::place(cell.x),
                cell.round.to_string(),
                reason.to_string(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["variant", "layout", &run.plan.axis, "round", "reason"].map(String::from).to_vec();
    let table = Table { caption: "Cells without a measurement".into(), head, rows, figures: false };
    vec![Block::Heading(2, "What could not be measured".into()), Block::Table(table)]
}

/// What the words and marks mean.
fn reading(run: &Run<'_>) -> Vec<Prose> {
    let baseline = &run.plan.baseline;
    [
        "Variants were measured in turns, round by round. A figure is the median of its rounds; what stands in brackets is the \
         least and the most of them, in charts drawn as whiskers."
            .to_string(),
        format!(
            "“1.80 × (1.62–2.01)” means 1.80 times {baseline}, the median of the ratios of the rounds; the range is made to \
             hold the truth in 98 of 100 experiments. “No difference seen” means that it holds 1. Among a hundred \
             comparisons of equals two or three still look different."
        ),
        "The driver's own CPU is measured like the server's. Where it was the bottleneck there is no verdict about speed; what \
         the server needs for a transaction is judged all the same."
            .to_string(),
        "Machine: what all processors did, in percent (usr, sys: programs and kernel; wio: idle, waiting for the disk; \
         stolen: taken by the hypervisor). “Others” is the part of usr and sys that neither server nor driver used."
            .to_string(),
        "An expectation is met where all of the figure's interval lies in its range, and not clear where a part of it does."
            .to_string(),
        "Context switches of processes and threads that ended meanwhile are not known: where each connection has its own, and connections come and go, what is given is the least that there were."
            .to_string(),
        "Fairness is Jain's index over clients: 1 where all were served the same, 1/n where one of n had everything."
            .to_string(),
    ]
    .map(|text| vec![plain(text)])
    .to_vec()
}

/// The variants with versions and settings.
fn settings(run: &Run<'_>) -> Vec<Block> {
    let role = |name: &str| match name {
        _ if Some(name) == run.plan.ceiling.as_deref() => "the ceiling: answers without doing anything",
        _ if name == run.plan.baseline => "the baseline",
        _ => "",
    };
    let rows = run.plan.variants.iter().map(|variant| {
        vec![variant.name.clone(), variant.product.clone(), variant.version.clone(), role(&variant.name).to_string()]
    });
    let head = ["variant", "product", "version", "role"].map(String::from).to_vec();
    let table = Table { caption: "Variants".into(), head, rows: rows.collect(), figures: false };
    let mut blocks = vec![Block::Table(table)];
    if let Some(disk) = &run.plan.disk {
        let reads = format!(
            " It reads {} random blocks of 8 KiB a second one at a time, {} with 32 at a time, and {} MB a second in sequence.",
            number::figure(disk.random_reads_1),
            number::figure(disk.random_reads_32),
            number::figure(disk.sequential_mb)
        );
        blocks.push(Block::Text(vec![plain(flushes(disk)), plain(reads)]));
    }
    for variant in &run.plan.variants {
        if variant.settings.is_empty() {
            continue;
        }
        let rows = variant.settings.iter().map(|(name, value)| vec![name.clone(), value.clone()]).collect();
        let head = ["setting", "value"].map(String::from).to_vec();
        let table = Table { caption: format!("Settings of {}", variant.name), head, rows, figures: false };
        blocks.push(Block::Fold(format!("Settings of {}", variant.name), vec![Block::Table(table)]));
    }
    blocks
}

/// A count with its noun.
fn plural(count: usize, noun: &str) -> String {
    let many = if count == 1 { "" } else { "s" };
    format!("{} {noun}{many}", number::count(count as u64))
}
