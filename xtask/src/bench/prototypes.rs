//! The prototypes' figures: what the bare mechanisms cost before there was a server around them.
//!
//! Each execution model was first tried as an echo server: 60 bytes in, 80 bytes out, over loopback, on the same kind of
//! machine (two virtual processors). Its CPU per request is what a model costs with nothing in it. `gearbox limit` does more
//! (it parses messages, parks sessions, keeps statistics), and a model that costs over [`ALLOWANCE`] times its prototype
//! is to be thought over.
//!
//! The prototypes' load generator was lighter than pgbench, so more requests were waiting whenever their server looked;
//! throughput is therefore not compared, CPU and switches per request are.

/// By how much a model may cost more than its prototype.
pub const ALLOWANCE: f64 = 1.3;

/// What a prototype needed per request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figure {
    /// CPU of the server in microseconds: one value, or a range over the numbers of clients.
    pub cpu_us: (f64, f64),
    /// Context switches of the server.
    pub switches: Option<f64>,
}

/// The numbers of clients that the rows of [`ONE`] are for.
const CLIENTS: [u32; 4] = [1, 8, 100, 600];

/// A prototype with server and client on one CPU.
struct Prototype {
    model: &'static str,
    description: &'static str,
    /// For each of [`CLIENTS`]: nanoseconds of CPU, and context switches, per request.
    cost: [(u32, f64); 4],
}

const ONE: &[Prototype] = &[
    Prototype {
        model: "process/dedicated",
        description: "a process for each connection",
        cost: [(2720, 1.0), (3140, 1.0), (3800, 1.0), (5230, 1.0)],
    },
    Prototype {
        model: "thread/dedicated",
        description: "a thread for each connection",
        cost: [(2850, 1.0), (2900, 1.0), (3360, 1.0), (5130, 1.0)],
    },
    Prototype {
        model: "process/shared",
        description: "forked processes on one epoll instance, descriptors taken once",
        cost: [(2930, 1.0), (2090, 0.31), (1860, 0.08), (2280, 0.03)],
    },
    Prototype {
        model: "thread/shared",
        description: "threads on one epoll instance",
        cost: [(3000, 1.0), (2220, 0.38), (1970, 0.10), (2340, 0.06)],
    },
    Prototype {
        model: "process/fiber",
        description: "fibers over epoll in forked engines",
        cost: [(2950, 1.0), (1820, 0.16), (1670, 0.04), (2310, 0.03)],
    },
    Prototype {
        model: "thread/fiber",
        description: "fibers over epoll in engine threads",
        cost: [(3000, 1.0), (1920, 0.22), (1740, 0.05), (2340, 0.04)],
    },
];

/// Two CPUs, the scheduler decides: CPU in microseconds at 8, 100 and 600 clients, or one range for all of them.
const FREE: &[(&str, [(f64, f64); 3])] = &[
    ("process/dedicated", [(7.0, 7.0), (7.1, 7.1), (9.5, 9.5)]),
    ("thread/dedicated", [(7.1, 7.1), (6.6, 6.6), (8.5, 8.5)]),
    ("process/shared", [(3.7, 4.3); 3]),
    ("thread/shared", [(3.7, 4.3); 3]),
    ("process/fiber", [(3.5, 4.5); 3]),
    ("thread/fiber", [(3.5, 4.5); 3]),
];

/// What a model's prototype was.
pub fn description(model: &str) -> Option<&'static str> {
    ONE.iter().find(|row| row.model == model).map(|row| row.description)
}

/// The figure for a cell, where there is one.
pub fn figure(model: &str, layout: &str, clients: u32) -> Option<Figure> {
    let column = CLIENTS.iter().position(|&count| count == clients)?;
    match layout {
        "one" => {
            let (cpu_ns, switches) = ONE.iter().find(|row| row.model == model)?.cost[column];
            let cpu = f64::from(cpu_ns) / 1000.0;
            Some(Figure { cpu_us: (cpu, cpu), switches: Some(switches) })
        }
        "free" => {
            let cpu_us = FREE.iter().find(|(name, _)| *name == model)?.1[column.checked_sub(1)?];
            Some(Figure { cpu_us, switches: None })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::MODELS;

    #[test]
    fn every_model_has_its_prototype() {
        for model in MODELS {
            let model = model.to_string();
            assert!(description(&model).is_some());
            assert!(CLIENTS.iter().all(|&clients| figure(&model, "one", clients).is_some()));
            assert!(figure(&model, "free", 1).is_none() && figure(&model, "free", 8).is_some());
            assert!(figure(&model, "split", 8).is_none() && figure(&model, "one", 9).is_none());
        }
    }
}
