//! Every experiment runs tiny, from its tables to its reports, and what the driver counted is what the server counted.

mod support;

use lab::experiment::design::{Layout, Scope};
use lab::experiment::runner::{self, End, Order};
use lab::experiment::{EXPERIMENTS, find};
use lab::record::{self, Cell, Line, Plan};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use support::toy::{Manner, Toy};

struct Run {
    plan: Plan,
    cells: Vec<Cell>,
    folder: PathBuf,
}

fn run(name: &str, scope: Scope) -> Run {
    run_with_failures(name, scope, 0)
}

fn run_with_failures(name: &str, scope: Scope, failed: u32) -> Run {
    // Tests run at the same time, and one of them may run an experiment several times.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Relaxed);
    let folder = support::work().join(format!("gearbox-lab-test-{}-{name}-{number}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let order = Order {
        experiment: find(name).unwrap(),
        scope,
        out: folder.clone(),
        work: Some(support::work()),
        resume: false,
        seed: Some(1),
        program: Some(support::gearbox()),
    };
    assert_eq!(runner::run(&order, &AtomicBool::new(false)).unwrap(), End::Complete { failed }, "{name}");
    let mut lines = record::read(&folder.join(format!("{name}.jsonl"))).unwrap().into_iter();
    let Some(Line::Plan(plan)) = lines.next() else { panic!("the plan comes first") };
    let cells = lines.map(|line| match line {
        Line::Cell(cell) => *cell,
        Line::Plan(_) => panic!("one plan for one run"),
    });
    Run { plan: *plan, cells: cells.collect(), folder }
}

fn tiny(points: &[u32], only: &[&str]) -> Scope {
    Scope {
        points: points.to_vec(),
        layouts: vec![Layout::Free],
        rounds: Some(1),
        seconds: Some(0.15),
        scale: Some(1),
        only: only.iter().map(|name| name.to_string()).collect(),
        ..Scope::default()
    }
}

const MODELS: [&str; 6] =
    ["process/dedicated", "process/shared", "process/fiber", "thread/dedicated", "thread/shared", "thread/fiber"];

#[test]
fn counts_agree_with_the_server_s_in_every_model_and_the_sums_of_tpcb_hold() {
    let run = run("tpcb", tiny(&[5], &MODELS));
    assert_eq!(run.cells.len(), MODELS.len());
    let (disk, notes) = (run.plan.disk, run.plan.notes.join("\n"));
    assert!(
        disk.is_some_and(|disk| disk.flushed_writes > 0.0 && disk.flush_p50_us > 0.0) || notes.contains("fio"),
        "{disk:?} {notes}"
    );
    assert!(run.plan.scripts.values().any(|text| text.contains("UPDATE")) && run.plan.warm_up > 0.0, "{:?}", run.plan);
    for cell in &run.cells {
        let measured = cell.measured.as_ref().unwrap_or_else(|| panic!("{cell:?}"));
        assert!(measured.transactions > 0 && measured.failed.is_empty(), "{cell:?}");
        assert!(measured.server.cpu_us() > 0.0 && measured.client.cpu_us() > 0.0, "{cell:?}");
        // Seven statements a transaction.
        assert!(measured.statements >= 6 * measured.transactions, "{cell:?}");
        assert_eq!(measured.counted_by_server, measured.counted_by_driver, "{}", cell.variant);
        assert!(measured.counted_by_server.unwrap() >= measured.transactions, "{cell:?}");
    }
    std::fs::remove_dir_all(run.folder).unwrap();
}

/// The runner asks the conditions after the load, and a cell of which one does not hold has no measurement.
#[test]
fn conditions_of_tpcc_hold_by_statements_and_by_procedures() {
    for name in ["tpcc", "tpcc-procedures"] {
        let run = run(name, tiny(&[3], &["thread/fiber"]));
        let measured = run.cells[0].measured.as_ref().unwrap_or_else(|| panic!("{name}: {:?}", run.cells));
        assert!(measured.transactions > 0 && measured.failed.is_empty(), "{name}: {measured:?}");
        std::fs::remove_dir_all(run.folder).unwrap();
    }
}

#[test]
fn each_experiment_has_records_and_reports() {
    let pair = ["process/dedicated", "thread/fiber"];
    let limits = ["limit process/dedicated", "limit thread/fiber"];
    for experiment in EXPERIMENTS {
        let run = match experiment.name {
            "limit" => run("limit", tiny(&[3], &limits)),
            "null" => run("null", tiny(&[3], &["A", "A again"])),
            // There are tests of their own.
            "load" | "tpcb" | "tpcc" | "tpcc-procedures" => continue,
            // Its scripts are two of those.
            "tpcc-read" | "tpcc-read-procedures" => continue,
            // Logging in is a transaction for it, if it is installed.
            "point-select" => run("point-select", tiny(&[3], &["process/dedicated", "thread/fiber", "PostgreSQL 15"])),
            "many-connections" => run("many-connections", tiny(&[50], &pair)),
            "active-beside-idle" => run("active-beside-idle", tiny(&[110], &pair)),
            name => run(name, tiny(&[3], &pair)),
        };
        let name = experiment.name;
        assert_eq!(run.cells.len(), run.plan.variants.len(), "{name}");
        assert!(run.cells.len() >= 2, "{name}");
        for cell in &run.cells {
            let measured = cell.measured.as_ref().unwrap_or_else(|| panic!("{cell:?}"));
            assert!(measured.transactions > 0 && measured.failed.is_empty(), "{cell:?}");
            assert_eq!(measured.counted_by_server, measured.counted_by_driver, "{name}, {}", cell.variant);
            for chart in &run.plan.charts {
                assert!(chart.figure.of(measured).is_some(), "{name}: {:?} of {cell:?}", chart.figure);
            }
        }
        for (end, least) in [("md", "| "), ("html", "<svg")] {
            let text = std::fs::read_to_string(run.folder.join(format!("{name}.{end}"))).unwrap();
            assert!(text.contains(&run.plan.title) && text.contains(least), "{name}.{end}");
        }
        std::fs::remove_dir_all(run.folder).unwrap();
    }
}

/// More connections than the server takes: the cell says so, in the server's words, and the report does.
#[test]
fn a_refusal_of_many_connections_is_a_failure_that_can_be_read() {
    let toy = Toy::start(Manner { connections_max: 30, ..Manner::default() });
    let name = toy.address().socket.to_string();
    let scope = Scope { server: Some(toy.address()), ..tiny(&[100], &[&name]) };
    let run = run_with_failures("many-connections", scope, 1);
    let failure = run.cells[0].failure.clone().unwrap();
    assert_eq!(run.cells[0].measured, None);
    for words in ["refused a connection: sorry, too many clients already", "SQLSTATE 53300", "raise its limit"] {
        assert!(failure.contains(words), "{failure}");
    }
    let report = std::fs::read_to_string(run.folder.join("many-connections.md")).unwrap();
    assert!(report.contains("sorry, too many clients already"), "{report}");
    std::fs::remove_dir_all(run.folder).unwrap();
}

/// Each of the lab's workloads that no other experiment runs, at each pace.
#[test]
fn a_load_of_the_user_s_choice_runs_at_its_pace() {
    for (workload, pace) in [("unique-select", "closed"), ("scan", "think 1-3 ms"), ("key-value", "rate 400/s")] {
        let scope = Scope {
            workload: Some(workload.into()),
            pace: Some(pace.parse().unwrap()),
            idle: Some(5),
            seconds: Some(1.0),
            ..tiny(&[4], &["thread/fiber"])
        };
        let run = run("load", scope);
        let measured = run.cells[0].measured.as_ref().unwrap_or_else(|| panic!("{workload}: {:?}", run.cells));
        assert!(measured.transactions > 0 && measured.failed.is_empty(), "{workload}: {measured:?}");
        assert_eq!(measured.counted_by_server, measured.counted_by_driver, "{workload}");
        if pace == "rate 400/s" {
            assert!((300..=500).contains(&measured.transactions), "{measured:?}");
        }
        std::fs::remove_dir_all(run.folder).unwrap();
    }
}

#[test]
fn a_user_s_own_script_runs_on_his_own_tables() {
    let folder = support::work().join(format!("gearbox-lab-own-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (load, tables) = (folder.join("load.sql"), folder.join("tables.sql"));
    std::fs::write(&load, "\\set k random(1, :rows)\nUPDATE own SET n = n + 1 WHERE k = :k;\n").unwrap();
    let statements = "CREATE TABLE own (k int PRIMARY KEY, n int); INSERT INTO own VALUES (1, 0), (2, 0), (3, 0);";
    std::fs::write(&tables, statements).unwrap();
    let scope = Scope {
        scripts: vec![load.display().to_string()],
        setup: Some(tables),
        defines: vec![("rows".into(), "3".into())],
        ..tiny(&[2], &["thread/fiber"])
    };
    let run = run("load", scope);
    let measured = run.cells[0].measured.as_ref().unwrap();
    assert!(measured.transactions > 0 && measured.failed.is_empty(), "{measured:?}");
    assert_eq!(measured.counted_by_server, measured.counted_by_driver);
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::remove_dir_all(run.folder).unwrap();
}
