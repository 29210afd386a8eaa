//! Reports of synthetic runs: what they say, and whether they can be read.
#![forbid(unsafe_code)]

mod browser;
mod synthetic;

use lab::record::{Expectation, Line, Measured};
use lab::report;
use lab::server::fio::Disk;
use synthetic::{Synthetic, all, clients, plan, point_select, twelve};

/// The lines of a run by name.
fn lines(name: &str) -> Vec<Line> {
    let (_, run) = all().into_iter().find(|(known, _)| *known == name).expect("a synthetic run");
    run.lines()
}

#[test]
fn a_report_says_who_is_ahead_and_what_was_otherwise_than_expected() {
    let text = report::markdown(&point_select().lines());
    println!("{text}");
    for sentence in [
        "## In short",
        "**MariaDB pool-of-threads** is ahead with",
        "Least server CPU per transaction: **",
        "Of 12 expectations, ",
        "| fiber is five times as fast | split, 1 client | 5.00–6.00 × |",
        "Source of all expectations: SQL Server, fiber mode, 400 to 600 users.",
        "DIFFERS: below |",
        "no verdict: thread/unheard-of was left out",
        "limit (ceiling)",
        "PostgreSQL 15 (baseline)",
        "no difference seen (",
        "| 99th percentile of latency beside the baseline |",
        "40001: 60",
        "mariadbd is not installed",
    ] {
        assert!(text.contains(sentence), "“{sentence}” is not in the report");
    }
    assert!(!text.contains("NaN") && !text.contains("not finished"));
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| thread/fiber | ")).collect();
    assert!(rows.iter().any(|row| row.contains(" × (")), "no ratio in {rows:?}");
}

#[test]
fn a_variant_is_judged_beside_itself_at_another_load() {
    let mut run = point_select();
    let (first, last) = (run.plan.points[0].x, run.plan.points.last().unwrap().x);
    let name = run.plan.variants[0].name.clone();
    let expected = run.plan.expected[0].clone();
    // At the first load a client waits for the way most of the time: at the last they reach two and a half times as much.
    let bounds = [(2.2, 2.8, "| met |"), (0.9, 1.1, "DIFFERS: above |")];
    run.plan.expected = bounds
        .iter()
        .map(|&(low, high, _)| {
            let of = Expectation {
                variant: name.clone(),
                against: Some(name.clone()),
                x: Some(last),
                low: Some(low),
                high: Some(high),
                ..expected.clone()
            };
            of.beside_point(first)
        })
        .collect();
    let text = report::markdown(&run.lines());
    let rows: Vec<&str> = text.lines().filter(|line| line.contains("beside itself at")).collect();
    assert_eq!(rows.len(), bounds.len(), "{rows:?}");
    for (row, (_, _, outcome)) in rows.iter().zip(bounds) {
        assert!(row.ends_with(outcome), "{row}");
    }
    run.plan.expected[0].against_x = Some(77.0);
    assert!(report::markdown(&run.lines()).contains("the other point was left out"));
}

#[test]
fn models_that_differ_are_explained_by_what_was_counted_of_them() {
    // Microseconds outside of the kernel and in it, switches and page faults of a transaction.
    let costs = |name: &str, last: bool| match name {
        "process/dedicated" => (15.0, 10.0, 1.0, 0.0),
        "thread/dedicated" => (10.0, 10.0, 1.0, 0.0),
        "process/fiber" if last => (50.0, 5.0, 0.1, 0.0),
        "process/fiber" => (15.0, 5.0, 0.1, 0.0),
        // Dearer with few clients: nothing has grown.
        "thread/fiber" if last => (10.0, 15.0, 0.1, 0.2),
        "thread/fiber" => (20.0, 15.0, 0.1, 3.0),
        _ => (10.0, 5.0, 0.1, 0.0),
    };
    let run = point_select();
    let last = run.plan.points.last().unwrap().clone();
    type Costs<'a> = &'a dyn Fn(&str, bool) -> (f64, f64, f64, f64);
    let explained = |costs: Costs<'_>| {
        let mut lines = run.lines();
        for line in &mut lines {
            let Line::Cell(cell) = line else { continue };
            let (user, system, switches, faults) = costs(&cell.variant, cell.x == last.x);
            let Some(measured) = &mut cell.measured else { continue };
            let count = measured.transactions as f64;
            let server = &mut measured.server;
            (server.user_us, server.system_us) = (user * count, system * count);
            (server.voluntary, server.involuntary) = ((switches * count) as u64, 0);
            server.minor_faults = (faults * count) as u64;
        }
        report::markdown(&lines)
    };
    let text = explained(&costs);
    let row = |models: &str, load: &str| {
        let begin = format!("| {models} | one, {load} |");
        text.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("{begin}\n{text}"))
    };
    let first = &run.plan.points[0].label;
    for (models, load, mechanism) in [
        ("process/dedicated beside process/shared", first, "| wake-ups |"),
        ("process/dedicated beside thread/dedicated", first, "| address spaces |"),
        ("process/fiber beside process/shared", first, "| no count explains it |"),
        ("process/fiber beside process/shared", &last.label, "| caches |"),
        ("thread/fiber beside thread/shared", first, "| page faults |"),
        // Too few of them for what differs.
        ("thread/fiber beside thread/shared", &last.label, "| no count explains it |"),
    ] {
        assert!(row(models, load).ends_with(mechanism), "{}", row(models, load));
    }
    for sentence in ["## Why models differ", "**wake-ups:**", "| 15.0, 10.0 | 10.0, 5.00 | 1.00, 0.100 | 0, 0 |"] {
        assert!(text.contains(sentence), "“{sentence}” is not in the report\n{text}");
    }
    assert!(!text.contains("| process/shared beside thread/shared |"));
    let equals = explained(&|_, _| (10.0, 5.0, 0.1, 0.0));
    assert!(!equals.contains("Why models differ"), "{equals}");
}

#[test]
fn the_disk_stands_beside_the_throughput_and_each_layout_has_its_threads() {
    let mut run = point_select();
    let disk = Disk { flushed_writes: 2340.0, flush_p50_us: 380.0, random_reads_1: 9000.0, ..Disk::default() };
    run.plan.disk = Some(disk);
    let text = report::markdown(&run.lines());
    for sentence in ["does 2,340 flushed writes", "380 µs in the median", "reads 9,000 random blocks"] {
        assert!(text.contains(sentence), "“{sentence}” is not in the report");
    }
    assert!(report::html(&run.lines()).contains("does 2,340 flushed writes"));
    let loads: Vec<&str> = text.lines().filter(|line| line.starts_with("Workload ")).collect();
    let (two, one) = (loads.len() / 3, loads.len() * 2 / 3);
    assert_eq!(loads.iter().filter(|load| load.contains("2 threads in the driver")).count(), two, "{loads:?}");
    assert_eq!(loads.iter().filter(|load| load.contains("1 thread in the driver")).count(), one, "{loads:?}");
    assert!(!report::markdown(&point_select().lines()).contains("flushed writes"));
}

#[test]
fn a_run_that_is_not_finished_says_so_and_what_failed() {
    let text = report::markdown(&lines("faulty"));
    for sentence in [
        "cells are missing",
        "could not be measured",
        "the server ended: \\<exit status 1> & no log",
        "| the driver was the bottleneck |",
        "(driver-bound)",
    ] {
        assert!(text.contains(sentence), "“{sentence}” is not in the report");
    }
    assert!(report::markdown(&lines("nothing-yet")).contains("360 of 360 cells are missing"));
    assert!(report::markdown(&[]).contains("no plan"));
}

#[test]
fn a_driver_bound_cell_gives_no_verdict_about_speed_but_one_about_cost() {
    let bound = |name: &str| {
        let (_, run) = all().into_iter().find(|(known, _)| *known == name).expect("a synthetic run");
        Synthetic { fate: |_, _, _, _| synthetic::Fate::Bound, ..run }.lines()
    };
    let text = report::markdown(&bound("point-select"));
    let row = text.lines().find(|line| line.starts_with("| thread/fiber |") && line.contains("bottleneck")).unwrap();
    let cells: Vec<&str> = row.split(" | ").collect();
    assert_eq!(cells[2], "the driver was the bottleneck");
    assert!(cells[4].contains(" × ("), "no verdict about CPU: {row}");
    assert!(!text.contains("is ahead with"));
    assert!(text.contains("Least server CPU"));
}

#[test]
fn two_rounds_are_too_few_for_a_verdict_and_equals_show_no_difference() {
    let mut short = point_select();
    short.plan.rounds = 2;
    let text = report::markdown(&short.lines());
    assert!(
        text.contains(
            "Transactions/s: too few rounds for a verdict; so far MariaDB pool-of-threads has the best median"
        )
    );
    assert!(text.contains(" ×, no verdict: 2 of the 3 rounds that are needed |"));
    assert!(!text.contains("is ahead with"));

    // The same cells under each name: nothing differs but the name.
    let equal = Synthetic::whole(plan("null", twelve()[..3].to_vec(), vec![clients(8)])).lines();
    let of = |line: &Line| match line {
        Line::Cell(cell) => Some(((cell.layout.clone(), cell.round), cell.measured.clone())),
        Line::Plan(_) => None,
    };
    let first: std::collections::BTreeMap<_, _> = equal.iter().rev().filter_map(of).collect();
    let equal: Vec<Line> = equal
        .into_iter()
        .map(|mut line| {
            if let Line::Cell(cell) = &mut line {
                cell.measured = first[&(cell.layout.clone(), cell.round)].clone();
            }
            line
        })
        .collect();
    let text = report::markdown(&equal);
    assert!(text.contains("no clear winner among 3 variants") && text.contains("no difference seen (1.00–1.00)"));
    assert!(!text.contains("is ahead with") && !text.contains("Least server CPU"));
}

#[test]
fn the_newest_run_is_reported_and_what_was_measured_counts_more_than_a_failure() {
    let old = point_select().lines();
    let mut new = Synthetic::whole(plan("later", twelve(), vec![clients(8)]));
    new.plan.run = "later".into();
    let mut all = [old, new.lines()].concat();
    let last = all.last().cloned();
    let Some(Line::Cell(mut cell)) = last else { panic!("no cell") };
    (cell.measured, cell.failure) = (None, Some("a sad end".into()));
    all.push(Line::Cell(cell.clone()));
    let text = report::markdown(&all);
    assert!(text.starts_with("# Synthetic: later\n"));
    assert!(!text.contains("64 clients") && !text.contains("a sad end"));
    cell.measured = Some(Measured::default());
    assert!(!report::markdown(&[all, vec![Line::Cell(cell)]].concat()).contains("NaN"));
}

#[test]
fn two_runs_are_compared_with_what_differs_between_them_first() {
    let a = point_select();
    let mut b = point_select();
    b.plan.run = "another".into();
    b.plan.commit = "0123456".into();
    b.plan.variants[0].settings.insert("wait".into(), "sysv".into());
    b.plan.variants.remove(4);
    b.plan.points.remove(0);
    b.plan.seed += 1;
    let text = report::compare(&a.lines(), &b.lines());
    println!("{text}");
    let find = |wanted: &str| text.find(wanted).unwrap_or_else(|| panic!("“{wanted}” is not in the comparison"));
    assert!(find("measured apart, not in turns") < find("| commit | 16d8bf7 | 0123456 |"));
    assert!(find("| thread/dedicated: wait | futex | sysv |") < find("| thread/dedicated | one, 8 clients |"));
    find("| variant process/shared | there | not there |");
    assert!(!text.contains("one, 1 client ") && !text.contains("| process/shared |") && !text.contains("| kernel |"));
    assert!(report::compare(&a.lines(), &[]).contains("no plan"));
}

#[test]
fn pages_are_whole_and_need_nothing_from_elsewhere() {
    let folder = std::env::var_os("LAB_REPORTS").map(std::path::PathBuf::from);
    for (name, run) in all() {
        let page = report::html(&run.lines());
        if let Some(folder) = &folder {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(format!("{name}.html")), &page).unwrap();
        }
        for foreign in ["<script", "http://", "https://", "url(", "@import", "NaN", " inf"] {
            assert!(!page.contains(foreign), "{name} has “{foreign}” in it");
        }
        for pair in ["svg", "table", "details", "figure", "ul", "div"] {
            let (opened, closed) =
                (page.matches(&format!("<{pair}")).count(), page.matches(&format!("</{pair}>")).count());
            assert_eq!(opened, closed, "{name}: <{pair}>");
        }
        let charts = page.matches("<svg viewBox").count();
        assert_eq!(charts == 0, name == "nothing-yet", "{name} has {charts} charts");
    }
}

#[test]
fn whatever_is_in_a_record_there_is_a_report() {
    for seed in 0..300 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let odd = [0.0, 1.0, 1.0, 3.0, 1e-9, 1e12, 1e300, -5.0];
        let mut variants = twelve();
        variants.truncate(chance.usize(..4));
        variants.push(synthetic::peer("", ""));
        let points = (0..chance.usize(..4)).map(|index| {
            let mut point = clients(index as u32);
            point.x = odd[chance.usize(..odd.len())];
            point.label = ["", "µ", "600 clients", "<svg> | ` * a very long label"][chance.usize(..4)].into();
            point
        });
        let points = points.collect();
        let mut run = Synthetic::whole(plan("odd", variants, points));
        run.plan.rounds = chance.u32(..4);
        run.plan.layouts.truncate(chance.usize(..3));
        run.plan
            .charts
            .push(lab::record::Chart { title: String::new(), figure: lab::record::Figure::MemoryPerConnection });
        run.seconds = chance.usize(..6);
        let mut lines = run.lines();
        for line in &mut lines {
            let Line::Cell(cell) = line else { continue };
            let Some(measured) = &mut cell.measured else { continue };
            let mut value = || odd[chance.usize(..odd.len())];
            (measured.seconds, measured.latency.p99, measured.server.user_us) = (value(), value(), value());
            measured.transactions = value() as u64;
            for second in &mut measured.series {
                (second.at, second.transactions) = (value(), value() as u64);
            }
        }
        let page = std::panic::catch_unwind(|| {
            (report::html(&lines), report::markdown(&lines), report::compare(&lines, &lines))
        });
        let (page, text, _) = page.unwrap_or_else(|_| panic!("seed {seed}"));
        assert!(!page.contains("NaN") && !page.contains("inf<") && !page.contains("<svg> |"), "seed {seed}");
        assert!(text.starts_with("# Synthetic"), "seed {seed}");
    }
}
