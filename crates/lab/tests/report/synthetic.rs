//! Runs that nobody measured, made to be hard to draw: many variants, missing cells, failures, long names, one point.

use lab::record::{
    Cell, Chart, Cost, Expectation, FORMAT, Figure, Footprint, Latency, Line, Load, Machine, Measured, Memory, Plan,
    Point, Second, Sessions, Use, Variant,
};
use std::collections::BTreeMap;

/// A synthetic run: how the true figures come about, and what is done to the cells.
pub struct Synthetic {
    /// What is planned.
    pub plan: Plan,
    /// Which cells are left out, fail or are client-bound.
    pub fate: fn(variant: usize, layout: usize, point: usize, round: u32) -> Fate,
    /// How long the time series are.
    pub seconds: usize,
}

/// What becomes of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is measured.
    Measured,
    /// It is measured, but the driver was the bottleneck.
    Bound,
    /// It fails.
    Failed,
    /// It is not reached.
    Missing,
}

/// A variant of the server under its model.
pub fn model(engine: &str, sessions: &str) -> Variant {
    let settings = [("engine", engine), ("sessions", sessions), ("buffers", "256 MiB"), ("wait", "futex")];
    Variant {
        name: format!("{engine}/{sessions}"),
        product: "gearbox serve".into(),
        version: "0.1.0".into(),
        settings: settings.map(|(name, value)| (name.to_string(), value.to_string())).into(),
    }
}

/// A variant that is not ours.
pub fn peer(name: &str, product: &str) -> Variant {
    let settings = BTreeMap::from([("shared_buffers".to_string(), "256MB".to_string())]);
    Variant { name: name.into(), product: product.into(), version: "15.14 (Debian 15.14-0+deb12u1)".into(), settings }
}

/// Six models, the ceiling and five peers.
pub fn twelve() -> Vec<Variant> {
    let mut variants = Vec::new();
    for engine in ["thread", "process"] {
        for sessions in ["dedicated", "shared", "fiber"] {
            variants.push(model(engine, sessions));
        }
    }
    let mut ceiling = model("thread", "fiber");
    (ceiling.name, ceiling.product) = ("limit".into(), "gearbox limit".into());
    variants.push(ceiling);
    for (name, product) in [
        ("PostgreSQL 15", "PostgreSQL"),
        ("PostgreSQL 18", "PostgreSQL"),
        ("PostgreSQL 15 + PgBouncer", "PostgreSQL"),
        ("MariaDB one-thread-per-connection", "MariaDB"),
        ("MariaDB pool-of-threads", "MariaDB"),
    ] {
        variants.push(peer(name, product));
    }
    variants
}

/// A point with so many clients.
pub fn clients(count: u32) -> Point {
    Point {
        x: f64::from(count),
        label: format!("{count} client{}", if count == 1 { "" } else { "s" }),
        load: Load {
            workload: "point-select".into(),
            scale: 10,
            protocol: "named".into(),
            clients: count,
            idle: 0,
            pace: "closed".into(),
            reconnect: false,
        },
    }
}

/// A plan over these variants and points in three layouts.
pub fn plan(experiment: &str, variants: Vec<Variant>, points: Vec<Point>) -> Plan {
    let chart = |title: &str, figure| Chart { title: title.into(), figure };
    Plan {
        format: FORMAT,
        experiment: experiment.into(),
        run: "2026-11-22-16d8bf7".into(),
        date: "2026-11-22T04:20:00Z".into(),
        commit: "16d8bf7".into(),
        exchange_us: Some(4.2),
        machine: Machine {
            cpu: "Example CPU @ 2.60 GHz".into(),
            cpus: 2,
            memory_mib: 15_990,
            kernel: "6.1.0-28-amd64".into(),
            system: "Debian GNU/Linux 12 (bookworm)".into(),
            disk: "ext4 on /dev/vda1".into(),
        },
        title: format!("Synthetic: {experiment}"),
        question: "How much does the way of hosting sessions matter when a row is selected by its key?".into(),
        axis: "clients".into(),
        baseline: variants.iter().find(|v| v.name == "PostgreSQL 15").unwrap_or(&variants[0]).name.clone(),
        ceiling: variants.iter().find(|v| v.product == "gearbox limit").map(|v| v.name.clone()),
        variants,
        points,
        layouts: ["one", "split", "free"].map(String::from).to_vec(),
        rounds: 5,
        seconds: 5.0,
        warm_up: 0.5,
        scripts: BTreeMap::new(),
        defines: Vec::new(),
        setup: Vec::new(),
        disk: None,
        seed: 42,
        charts: vec![
            chart("Throughput", Figure::Throughput),
            chart("What a transaction costs the server", Figure::ServerCpu),
            chart("Tail latency", Figure::LatencyP99),
        ],
        expected: vec![
            expectation("fiber beats a thread per connection at many clients", "thread/fiber", 1.1, 1.6),
            expectation("fiber is five times as fast", "thread/fiber", 5.0, 6.0),
            expectation("a variant that is not there", "thread/unheard-of", 1.0, 2.0),
        ],
        notes: vec!["MariaDB: mariadbd is not installed (apt-get install mariadb-server)".into()],
    }
}

fn expectation(what: &str, variant: &str, low: f64, high: f64) -> Expectation {
    Expectation {
        against_x: None,
        what: what.into(),
        variant: variant.into(),
        against: Some("thread/dedicated".into()),
        figure: Figure::Throughput,
        layout: Some("split".into()),
        x: None,
        low: Some(low),
        high: Some(high),
        source: "SQL Server, fiber mode, 400 to 600 users".into(),
    }
}

impl Synthetic {
    /// A run in which every cell is measured.
    pub fn whole(plan: Plan) -> Synthetic {
        Synthetic { plan, fate: |_, _, _, _| Fate::Measured, seconds: 5 }
    }

    /// Its lines.
    pub fn lines(&self) -> Vec<Line> {
        let plan = &self.plan;
        let mut chance = fastrand::Rng::with_seed(plan.seed);
        let mut lines = vec![Line::Plan(Box::new(plan.clone()))];
        for round in 1..=plan.rounds {
            for layout in 0..plan.layouts.len() {
                for point in 0..plan.points.len() {
                    for variant in 0..plan.variants.len() {
                        let fate = (self.fate)(variant, layout, point, round);
                        if fate == Fate::Missing {
                            continue;
                        }
                        let measured = (fate != Fate::Failed)
                            .then(|| self.measured(&mut chance, variant, layout, point, fate == Fate::Bound));
                        lines.push(Line::Cell(Box::new(Cell {
                            run: plan.run.clone(),
                            variant: plan.variants[variant].name.clone(),
                            layout: plan.layouts[layout].clone(),
                            x: plan.points[point].x,
                            round,
                            began: "2026-11-22T04:20:00Z".into(),
                            seed: chance.u64(..),
                            threads: if layout == 2 { 2 } else { 1 },
                            failure: measured
                                .is_none()
                                .then(|| "the server ended: <exit status 1> & no log".to_string()),
                            measured,
                        })));
                    }
                }
            }
        }
        lines
    }

    fn measured(
        &self,
        chance: &mut fastrand::Rng,
        variant: usize,
        layout: usize,
        point: usize,
        bound: bool,
    ) -> Measured {
        let clients = f64::from(self.plan.points[point].load.clients.max(1));
        let noise = 1.0 + 0.04 * (chance.f64() - 0.5);
        let name = self.plan.variants[variant].name.as_str();
        let better = 1.0 + 0.07 * (variant as f64) + if name == "limit" { 1.5 } else { 0.0 };
        let crowd = 1.0 / (1.0 + 0.0008 * clients * ((variant % 3) as f64));
        let rate = 21_000.0 * better * crowd * noise * (clients / (clients + 1.5)) * [1.0, 1.7, 1.5][layout % 3];
        let transactions = (rate * self.plan.seconds) as u64;
        let latency = |factor: f64| clients / rate * 1e6 * factor;
        let cpu = 1e6 / rate * 0.8 * transactions as f64;
        let second = |at: usize| Second {
            at: at as f64,
            transactions: (rate * (1.0 + 0.1 * (chance.f64() - 0.5))) as u64,
            ..Second::default()
        };
        let series = (1..=self.seconds).map(second).collect();
        let footprint = |connections: u64| Footprint {
            private: 50_000_000 + connections * 180_000,
            shared: 280_000_000,
            page_tables: connections * 40_000,
            kernel_stacks: connections * 16_384,
            sockets: 0,
        };
        let failed = if variant == 2 { BTreeMap::from([("40001".to_string(), 12)]) } else { BTreeMap::new() };
        Measured {
            seconds: self.plan.seconds,
            transactions,
            statements: transactions,
            failed,
            latency: Latency {
                min: latency(0.4),
                mean: latency(1.0),
                p50: latency(0.9),
                p95: latency(1.8),
                p99: latency(3.0) * (1.0 + 0.3 * chance.f64()),
                max: latency(20.0),
            },
            sessions: Sessions { min: 1, max: 9, mean: 5.0, deviation: 0.5, fairness: 0.998 },
            server: Cost { user_us: cpu * 0.6, system_us: cpu * 0.4, voluntary: transactions, ..Cost::default() },
            client: Cost {
                user_us: 2.1 * transactions as f64,
                system_us: 1.0 * transactions as f64,
                ..Cost::default()
            },
            client_busy: if bound { 1.0 } else { 0.3 },
            client_bound: bound,
            machine: Use { usr: 51.2, sys: 40.1, wio: 0.3, idle: 8.4, stolen: 0.0, others: 1.1 },
            memory: (clients > 100.0).then(|| Memory {
                connections: clients as u64,
                base: footprint(0),
                full: footprint(clients as u64),
            }),
            series,
            ..Measured::default()
        }
    }
}

/// Twelve variants over four loads.
pub fn point_select() -> Synthetic {
    Synthetic::whole(plan("point-select", twelve(), [1, 8, 64, 600].map(clients).to_vec()))
}

/// The runs that reports are tried on, by name.
pub fn all() -> Vec<(&'static str, Synthetic)> {
    let crowded: Vec<Point> = [1, 2, 3, 50, 100, 200, 400, 500, 550, 600, 1000, 2000, 5000].map(clients).to_vec();
    let mut zero = plan("zero-on-a-log-axis", twelve()[..6].to_vec(), [0, 1, 5, 20, 100].map(clients).to_vec());
    zero.axis = "think time, ms".into();
    let mut named = plan("named-points", twelve(), [1, 2, 3].map(clients).to_vec());
    for (point, label) in
        named.points.iter_mut().zip(["named", "unnamed statements, parsed each time", "simple protocol"])
    {
        point.label = label.into();
    }
    let mut long = plan("long-names", twelve(), vec![clients(8)]);
    for variant in &mut long.variants {
        variant.name += " with a name that goes on for much longer than anybody would want to read in a chart <&>";
    }
    long.baseline = long.variants[0].name.clone();
    long.ceiling = None;
    let mut unequal = plan("very-unequal", twelve(), [1, 600].map(clients).to_vec());
    unequal.charts.push(Chart { title: "Memory".into(), figure: Figure::MemoryPerConnection });
    let single = plan("single-variant", twelve()[..1].to_vec(), [1, 8].map(clients).to_vec());
    let mut many = twelve();
    for wait in ["eventfd", "posix", "sysv"] {
        for base in twelve()[..6].iter().cloned() {
            many.push(Variant { name: format!("{} {wait}", base.name), ..base });
        }
    }
    let one = plan("one-point", twelve(), vec![clients(200)]);
    let faulty = plan("faulty", twelve(), [1, 8, 64, 600].map(clients).to_vec());
    let nothing = plan("nothing-yet", twelve(), [1, 8].map(clients).to_vec());
    vec![
        ("point-select", point_select()),
        ("one-point", Synthetic { seconds: 30, ..Synthetic::whole(one) }),
        ("long-names", Synthetic::whole(long)),
        ("crowded", Synthetic::whole(plan("crowded", twelve(), crowded))),
        ("zero-on-a-log-axis", Synthetic::whole(zero)),
        ("named-points", Synthetic::whole(named)),
        ("very-unequal", Synthetic::whole(unequal)),
        ("single-variant", Synthetic { seconds: 2, ..Synthetic::whole(single) }),
        ("thirty-variants", Synthetic::whole(plan("thirty-variants", many, [1, 8, 64].map(clients).to_vec()))),
        ("nothing-yet", Synthetic { fate: |_, _, _, _| Fate::Missing, ..Synthetic::whole(nothing) }),
        (
            "faulty",
            Synthetic {
                fate: |variant, layout, point, round| match (variant, layout, point, round) {
                    (3, 1, 2, _) => Fate::Failed,
                    (_, 2, 3, _) | (_, _, _, 5) => Fate::Missing,
                    (6, _, 2.., _) | (2, 1, 3, 1..=2) => Fate::Bound,
                    (0, 0, 1, 2) => Fate::Failed,
                    _ => Fate::Measured,
                },
                ..Synthetic::whole(faulty)
            },
        ),
    ]
}
