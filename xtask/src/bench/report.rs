//! `docs/benchmarks.md`, made from the records.
//!
//! For each benchmark, and for each combination of layout and load, the newest run that measured it is shown whole. Older
//! runs stay in the records; what they measured is not mixed in, because machines drift from hour to hour.

use super::record::{self, Figures, Record};
use super::{prototype, published};
use crate::Outcome;
use crate::machine::Machine;
use crate::model::MODELS;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// By how much a model may cost more than its prototype before it is to be thought over.
const ALLOWANCE: f64 = 1.3;

const HEAD: &str = "\
# Benchmarks

Made by `cargo xtask bench NAME` and `cargo xtask gen` from the records in `docs/results`; do not edit.

A figure is the median over the rounds, with the smallest and the largest value behind it. Variants ran in turns, round by
round, and only what stands in one table was measured together. *CPU* is that of the server's whole process tree per transaction,
in microseconds, user and system time; *switches* are its context switches per transaction; *client* is the load generator's CPU. *Noise* is what other programs and the
hypervisor took of the machine; CPU figures grow with it, so above a few percent they are not to be compared with other tables.
Costs are taken between the first and the last full second of a run, when all clients are connected. Layouts: `one`, server
and client share CPU 0; `split`, the server has CPU 0 and the client CPU 1; `free`, the scheduler decides.
";

/// The text of the file.
pub fn markdown(root: &Path) -> Outcome<String> {
    let folder = root.join("docs/results");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_else(|_| Vec::new());
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    files.sort();
    let mut records = Vec::new();
    for file in files {
        records.extend(record::read(&file)?);
    }
    Ok(render(&records))
}

/// One table: everything that was measured together under one load.
type Key = (String, usize, String, String, u32);

fn key(record: &Record) -> Key {
    let layouts = ["one", "split", "free"];
    let layout = layouts.iter().position(|name| *name == record.layout).unwrap_or(layouts.len());
    (record.bench.clone(), layout, record.script.clone(), record.protocol.clone(), record.clients)
}

fn render(records: &[Record]) -> String {
    let mut tables: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
    for record in records {
        let table = tables.entry(key(record)).or_default();
        match table.first().map(|first| first.run.cmp(&record.run)) {
            Some(std::cmp::Ordering::Greater) => {}
            Some(std::cmp::Ordering::Less) => *table = vec![record],
            _ => table.push(record),
        }
    }
    let mut out = HEAD.to_string();
    if tables.is_empty() {
        out.push_str("\nNothing has been measured yet.\n");
    }
    let (mut bench, mut layout, mut machine) = (String::new(), String::new(), None);
    for ((name, ..), records) in &tables {
        if *name != bench {
            bench.clone_from(name);
            layout.clear();
            let _ = write!(out, "\n## {name}\n");
            out.push_str(&introduction(name));
        }
        if records[0].layout != layout {
            layout.clone_from(&records[0].layout);
            let _ = write!(out, "\n### Layout `{layout}`\n");
        }
        if machine != Some(&records[0].machine) {
            machine = Some(&records[0].machine);
            out.push_str(&place(&records[0].machine));
        }
        table(&mut out, records);
    }
    out
}

fn place(machine: &Machine) -> String {
    let Machine { cpu, cpus, memory_mib, kernel, system } = machine;
    format!("\nMeasured on {cpus} × {cpu}, {memory_mib} MiB, {system}, Linux {kernel}.\n")
}

fn introduction(bench: &str) -> String {
    if bench != "limit" {
        return String::new();
    }
    format!(
        "\n`gearbox limit` answers pgbench's prepared point select with canned messages, through the loop, the parking and the\n\
         waits of the real server: the ceiling of what a model can do. Beside it stands the model's *prototype* under the same load in the\n\
         same run: its bare mechanism (a process or thread for each connection; a pool of them on one epoll instance; engines with an epoll\n\
         instance each), one receive and one send of the same bytes per request and nothing parsed. The ratio is in bold where it is more\n\
         than {ALLOWANCE}. *Once* is what the first prototypes cost, with 60 bytes in, 80 out and a lighter load generator, on\n\
         another day: the distance to it is the machine's and the generator's.\n"
    )
}

fn table(out: &mut String, records: &[&Record]) {
    let first = records[0];
    let rounds = records.iter().map(|record| record.round).max().unwrap_or(0);
    let _ = write!(
        out,
        "\n**Clients: {}**; `{}`, `{}`; rounds: {} of {} s; {}, commit {}\n\n",
        first.clients, first.script, first.protocol, rounds, first.seconds, first.date, first.commit
    );
    let (beside, records): (Vec<&Record>, Vec<&Record>) =
        records.iter().copied().partition(|record| record.server == prototype::SUBCOMMAND);
    let beside = by_model(&beside);
    let expected = first.bench == "limit";
    out.push_str("| model | tps | p99 µs | CPU µs | user + system | switches | client µs | noise % |");
    out.push_str(if expected { " prototype CPU | switches | × | once |\n" } else { "\n" });
    out.push_str("|---|---:|---:|---:|---:|---:|---:|---:|");
    out.push_str(if expected { "---:|---:|---:|---:|\n" } else { "\n" });
    for (label, rows) in by_model(&records) {
        let median = |figure: fn(&Figures) -> f64| Spread::of(&rows, figure).median;
        let tps = Spread::of(&rows, |figures| figures.tps);
        let cpu = Spread::of(&rows, |figures| figures.server_cpu_us);
        let _ = write!(
            out,
            "| {label} | {} | {:.0} | {} | {:.2} + {:.2} | {:.2} | {:.2} | {:.0} |",
            tps.text(0),
            median(|figures| figures.latency_p99_us),
            cpu.text(2),
            median(|figures| figures.server_user_us),
            median(|figures| figures.server_system_us),
            median(|figures| figures.server_switches),
            median(|figures| figures.client_cpu_us),
            median(|figures| figures.others_percent + figures.stolen_percent),
        );
        if expected {
            let prototype = beside.iter().find(|(model, _)| *model == label);
            out.push_str(&compared(prototype.map_or(&[], |(_, rows)| rows), cpu.median));
            let once = published::figure(&label, &first.layout, first.clients);
            let _ = write!(out, " {} |", once.map_or(String::new(), |cpu| format!("{cpu:.2}")));
        }
        out.push('\n');
    }
}

/// The cells that compare a model with its prototype's records, if there are any.
fn compared(prototype: &[&Record], cpu: f64) -> String {
    if prototype.is_empty() {
        return " | | |".into();
    }
    let bare = Spread::of(prototype, |figures| figures.server_cpu_us);
    let switches = Spread::of(prototype, |figures| figures.server_switches).median;
    let ratio = cpu / bare.median;
    let ratio = if ratio > ALLOWANCE { format!("**{ratio:.2}**") } else { format!("{ratio:.2}") };
    format!(" {} | {switches:.2} | {ratio} |", bare.text(2))
}

/// Rows of a table: the six models in their order, then whatever else there is.
fn by_model<'a>(records: &[&'a Record]) -> Vec<(String, Vec<&'a Record>)> {
    let order = |label: &str| MODELS.iter().position(|model| model.to_string() == label).unwrap_or(MODELS.len());
    let mut rows: BTreeMap<(usize, String), Vec<&Record>> = BTreeMap::new();
    for record in records {
        rows.entry((order(&record.model), record.model.clone())).or_default().push(record);
    }
    rows.into_iter().map(|((_, label), rows)| (label, rows)).collect()
}

struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn of(records: &[&Record], figure: fn(&Figures) -> f64) -> Spread {
        let mut values: Vec<f64> = records.iter().map(|record| figure(&record.figures)).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Spread { median, least: values[0], most: values[values.len() - 1] }
    }

    fn text(&self, digits: usize) -> String {
        format!("{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn medians_stand_with_their_spread_and_their_prototype() {
        let mut bare = record("a", "thread/fiber", "one", 8, 1, 700.0);
        bare.figures = Figures { server_cpu_us: 2.0, server_switches: 0.25, ..bare.figures };
        let records = [
            record("a", "thread/fiber", "one", 8, 1, 100.0),
            record("a", "thread/fiber", "one", 8, 2, 300.0),
            record("a", "thread/fiber", "one", 8, 3, 110.0),
            record("a", "process/dedicated", "one", 8, 1, 90.0),
            Record { server: "prototype".into(), ..bare },
        ];
        let text = render(&records);
        assert!(text.contains("| thread/fiber | 110 (100–300) | 0 | 3.00 (3.00–3.00) |"), "{text}");
        assert!(text.contains("| 2.00 (2.00–2.00) | 0.25 | **1.50** | 1.92 |"), "{text}");
        let (process, thread) = (text.find("| process/dedicated | 90"), text.find("| thread/fiber | 110"));
        assert!(process.unwrap() < thread.unwrap(), "models stand in their order");
    }

    #[test]
    fn only_the_newest_run_of_a_cell_is_shown() {
        let records = [
            record("2", "thread/fiber", "one", 8, 1, 200.0),
            record("1", "thread/fiber", "one", 8, 1, 100.0),
            record("1", "thread/fiber", "free", 8, 1, 150.0),
        ];
        let text = render(&records);
        assert!(text.contains("| 200 (200–200) |") && text.contains("| 150 (150–150) |"), "{text}");
        assert!(!text.contains("| 100 (100–100) |"), "{text}");
    }

    #[test]
    fn nothing_measured_is_said() {
        assert!(render(&[]).ends_with("Nothing has been measured yet.\n"));
    }
}
