//! `gearbox lab`: the command line.

use crate::address::{Address, Wire};
use crate::bare;
use crate::driver::Protocol;
use crate::error;
use crate::experiment::design::{Layout, Scope};
use crate::experiment::runner::{self, End, Order};
use crate::experiment::{self, EXPERIMENTS};
use crate::workload::Workload;
use crate::{record, report, tpch};
use base::Result;
use lexopt::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The exit status of a run that was interrupted, as shells have it for SIGINT.
const INTERRUPTED: i32 = 130;

/// The largest point: an address has no more ports for connections.
const MOST: u32 = 60_000;

fn usage() -> String {
    let mut text = String::from(
        "Measures servers beside each other, and says what it found with its evidence.\n\n\
         Usage: gearbox lab EXPERIMENT [OPTIONS]\n       gearbox lab report FILE…\n       gearbox lab compare FILE FILE\n\
         \x20      gearbox lab tpch DIR [--scale HUNDREDTHS]\n\n\
         Experiments:\n",
    );
    for experiment in EXPERIMENTS {
        text.push_str(&format!("  {:<21}{}\n", experiment.name, experiment.about));
    }
    text.push_str(
        "\nOptions:\n\
         \x20 --quick             few rounds of a second, small tables: to see that it runs\n\
         \x20 --out DIR           where records and reports go (lab-results)\n\
         \x20 --work DIR          where servers keep their data meanwhile (the system's temporary directory)\n\
         \x20 --resume            go on with the run that was interrupted\n\
         \x20 --points LIST       places on the experiment's axis, as 1,8,64\n\
         \x20 --layouts LIST      one (server and driver on one CPU), split (a CPU each), free\n\
         \x20 --variants LIST     whom to compare, as thread/fiber,\"PostgreSQL 15\",\"limit thread/shared\"\n\
         \x20 --protocol WORD     named, unnamed, simple\n\
         \x20 --rounds N          how often each cell is measured\n\
         \x20 --seconds S         how long each time\n\
         \x20 --scale N           size of the tables\n\
         \x20 --seed N            what everything random follows from\n\
         \x20 --workload NAME     load: what clients do\n\
         \x20 --pace WORDS        load: closed (each begins when it has its answer), \"think 10-30 ms\", \"rate 5000/s\"\n\
         \x20 --idle N            load: connections beside them that are only there\n\
         \x20 --file PATH[@N]     load: a script in pgbench's format, chosen N times as often; may be repeated\n\
         \x20 --define NAME=VALUE  load: a variable of your own\n\
         \x20 --setup PATH        load: statements that make the tables of scripts\n\
         \x20 --gearbox PATH      another gearbox program to measure\n\
         \x20 --server HOST:PORT  a server of PostgreSQL's protocol that is there already, beside the others;\n\
         \x20                     PGUSER, PGDATABASE and PGPASSWORD say how to log in; its tables are made anew\n\
         \nPostgreSQL and MariaDB are measured where they are installed.\n\nWorkloads, and a unit of their --scale:\n",
    );
    for workload in Workload::all() {
        text.push_str(&format!("  {:<21}{}: {}\n", workload.name, workload.about, workload.scale_unit));
    }
    text
}

/// Does what the arguments behind `gearbox lab` say. Answers the exit status.
///
/// # Errors
/// `22023` for arguments that make no sense; what the run ends with.
pub fn run(arguments: impl IntoIterator<Item = String>) -> Result<i32> {
    let mut arguments = arguments.into_iter().peekable();
    // What the lab starts itself as.
    if arguments.next_if(|word| word == bare::COMMAND).is_some() {
        return bare::run(arguments);
    }
    if arguments.next_if(|word| word == bare::ENGINE).is_some() {
        return bare::engine(arguments);
    }
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut words: Vec<String> = Vec::new();
    let mut scope = Scope::default();
    let mut order = Arguments::default();
    while let Some(argument) = parser.next().map_err(wrong)? {
        match argument {
            Short('h') | Long("help") => {
                print(&usage())?;
                return Ok(0);
            }
            Long("quick") => scope.quick = true,
            Long("resume") => order.resume = true,
            Long("out") => order.out = Some(parser.value().map_err(wrong)?.into()),
            Long("work") => order.work = Some(parser.value().map_err(wrong)?.into()),
            Long("gearbox") => order.program = Some(parser.value().map_err(wrong)?.into()),
            Long("setup") => scope.setup = Some(parser.value().map_err(wrong)?.into()),
            Long("workload") => scope.workload = Some(text(&mut parser)?),
            Long("pace") => scope.pace = Some(text(&mut parser)?.parse()?),
            Long("idle") => {
                let idle = number(&mut parser, "idle")?;
                if idle > MOST {
                    return Err(error::usage(format!("--idle {idle} is too many")).hint(format!("{MOST} at most.")));
                }
                scope.idle = Some(idle);
            }
            Long("file") => scope.scripts.push(text(&mut parser)?),
            Long("server") => scope.server = Some(server(&text(&mut parser)?)?),
            Long("define") => {
                let define = text(&mut parser)?;
                let (name, value) = define
                    .split_once('=')
                    .ok_or_else(|| error::usage(format!("--define \"{define}\"")).hint("Write --define NAME=VALUE."))?;
                scope.defines.push((name.into(), value.into()));
            }
            Long("points") => scope.points = list(&text(&mut parser)?, "points")?,
            Long("layouts") => {
                let names = text(&mut parser)?;
                let layouts = names.split(',').map(|name| Layout::parse(name.trim())).collect::<Result<_>>()?;
                scope.layouts = each_once(layouts);
            }
            Long("variants") => {
                scope.only = text(&mut parser)?.split(',').map(|name| name.trim().to_string()).collect()
            }
            Long("protocol") => scope.protocol = Some(Protocol::parse(&text(&mut parser)?)?),
            Long("rounds") => scope.rounds = Some(number(&mut parser, "rounds")?),
            Long("seconds") => scope.seconds = Some(number(&mut parser, "seconds")?),
            Long("scale") => scope.scale = Some(number(&mut parser, "scale")?),
            Long("seed") => order.seed = Some(number(&mut parser, "seed")?),
            Value(word) => words.push(word.string().map_err(wrong)?),
            other => return Err(wrong(other.unexpected())),
        }
    }
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            print(&usage())?;
            Ok(0)
        }
        ["report", files @ ..] if !files.is_empty() => {
            files.iter().try_for_each(|file| {
                begun(file)?;
                runner::write_reports(Path::new(file))
            })?;
            Ok(0)
        }
        ["compare", a, b] => {
            print(&report::compare(&begun(a)?, &begun(b)?))?;
            Ok(0)
        }
        ["tpch", dir] => {
            let percent = scope.scale.unwrap_or(10);
            tpch::write(Path::new(dir), f64::from(percent) / 100.0)?;
            Ok(0)
        }
        ["report" | "compare", ..] => {
            let message = if words.len() > 3 { "too many files" } else { "files are missing" };
            Err(error::usage(message).hint("Use: gearbox lab report FILE…, gearbox lab compare FILE FILE."))
        }
        [name] => {
            let experiment = experiment::find(name)?;
            let files = !(scope.scripts.is_empty() && scope.defines.is_empty() && scope.setup.is_none());
            let own = files || scope.workload.is_some() || scope.pace.is_some() || scope.idle.is_some();
            if own && experiment.name != "load" {
                return Err(error::usage(format!("{name} has a load of its own"))
                    .hint("--workload, --pace, --idle, --file, --define and --setup belong to: gearbox lab load."));
            }
            let order = Order {
                experiment,
                scope,
                out: order.out.unwrap_or_else(|| PathBuf::from("lab-results")),
                work: order.work,
                resume: order.resume,
                seed: order.seed,
                program: order.program,
            };
            let interrupt = Arc::new(AtomicBool::new(false));
            await_signals(Arc::clone(&interrupt))?;
            allow_many_connections();
            Ok(match runner::run(&order, &interrupt)? {
                End::Complete { failed: 0 } => 0,
                End::Complete { failed } => {
                    eprintln!("{failed} cells could not be measured; the report says why");
                    1
                }
                End::Interrupted => INTERRUPTED,
            })
        }
        [_, unknown, ..] => {
            Err(error::usage(format!("unknown argument \"{unknown}\"")).hint("Try \"gearbox lab --help\"."))
        }
    }
}

/// Lets a signal interrupt the run. Another one ends the program at once, for who has no patience; but `timeout`, and a
/// terminal that is closed, send two for one.
fn await_signals(interrupt: Arc<AtomicBool>) -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    const TOGETHER: Duration = Duration::from_millis(300);
    let failed = |error| error::system("signals", error);
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let watch = move || {
        let mut first = None;
        for _ in signals.forever() {
            interrupt.store(true, Ordering::Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() > TOGETHER {
                std::process::exit(INTERRUPTED);
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).map_err(failed)?;
    Ok(())
}

#[derive(Default)]
struct Arguments {
    out: Option<PathBuf>,
    work: Option<PathBuf>,
    resume: bool,
    seed: Option<u64>,
    program: Option<PathBuf>,
}

fn wrong(error: lexopt::Error) -> base::Error {
    error::usage(error.to_string()).hint("Try \"gearbox lab --help\".")
}

fn text(parser: &mut lexopt::Parser) -> Result<String> {
    parser.value().and_then(|value| value.string()).map_err(wrong)
}

fn number<T: std::str::FromStr>(parser: &mut lexopt::Parser, name: &str) -> Result<T> {
    let text = text(parser)?;
    text.parse().map_err(|_| error::usage(format!("--{name} \"{text}\" is no number that fits")))
}

fn list(text: &str, name: &str) -> Result<Vec<u32>> {
    let fits = |number: &u32| (1..=MOST).contains(number);
    let numbers: Option<Vec<u32>> = text.split(',').map(|word| word.trim().parse().ok().filter(fits)).collect();
    numbers.map(each_once).ok_or_else(|| {
        error::usage(format!("--{name} \"{text}\"")).hint(format!("Give numbers from 1 to {MOST}, as in 1,8,64."))
    })
}

/// What was given twice is measured once.
fn each_once<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    all.into_iter().for_each(|item| {
        if !once.contains(&item) {
            once.push(item);
        }
    });
    once
}

/// The records of a file that a run was begun in.
fn begun(file: &str) -> Result<Vec<record::Line>> {
    let lines = record::read(Path::new(file))?;
    match lines.iter().any(|line| matches!(line, record::Line::Plan(_))) {
        true => Ok(lines),
        false => Err(error::file(Path::new(file), "no run was begun in it")
            .hint("Records are in the files that end with .jsonl, such as lab-results/limit.jsonl.")),
    }
}

/// Writes what was asked for. A reader who has seen enough is no error.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error::system("standard output", error)),
        _ => Ok(()),
    }
}

fn server(text: &str) -> Result<Address> {
    use std::net::ToSocketAddrs;
    let unknown = || error::usage(format!("--server \"{text}\"")).hint("Write HOST:PORT, as in 127.0.0.1:5432.");
    let socket = text.to_socket_addrs().ok().and_then(|mut all| all.next()).ok_or_else(unknown)?;
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let user = variable("PGUSER").unwrap_or_else(|| "postgres".into());
    let database = variable("PGDATABASE").unwrap_or_else(|| user.clone());
    Ok(Address { wire: Wire::Postgres, socket, user, database, password: variable("PGPASSWORD") })
}

/// Each connection is a descriptor here too.
fn allow_many_connections() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(arguments: &[&str]) -> String {
        run(arguments.iter().map(|word| word.to_string())).unwrap_err().message().to_string()
    }

    #[test]
    fn what_is_given_twice_is_there_once() {
        assert_eq!(list("8,1, 8", "points").unwrap(), [8, 1]);
    }

    #[test]
    fn arguments_that_make_no_sense_are_named() {
        assert!(refused(&["points-select"]).contains("points-select"));
        assert!(refused(&["limit", "--points", "4000000000"]).contains("4000000000"));
        assert!(refused(&["limit", "--points", "1,x"]).contains("1,x"));
        assert!(refused(&["limit", "--layouts", "both"]).contains("both"));
        assert!(refused(&["limit", "--rounds", "-1"]).contains("-1"));
        assert!(refused(&["limit", "more"]).contains("more"));
        assert!(refused(&["limit", "--speed"]).contains("--speed"));
        assert!(refused(&["limit", "--rounds", "0"]).contains("--rounds 0"));
        assert!(refused(&["limit", "--scale", "0"]).contains("--scale 0"));
        assert!(refused(&["tpcb", "--file", "a.sql"]).contains("tpcb has a load of its own"));
        assert!(refused(&["compare", "a"]).contains("missing"));
        assert!(refused(&["compare", "a", "b", "c"]).contains("too many"));
        assert!(refused(&["compare", "/dev/null", "/dev/null"]).contains("no run was begun"));
        assert!(refused(&["load"]).contains("no load"));
        assert!(refused(&["load", "--workload", "scans"]).contains("scans"));
        assert!(refused(&["load", "--workload", "scan", "--file", "a.sql"]).contains("--workload scan and --file"));
        assert!(refused(&["load", "--workload", "scan", "--pace", "fast"]).contains("fast"));
        assert!(refused(&["tpcb", "--pace", "closed"]).contains("tpcb has a load of its own"));
        assert!(refused(&["limit", "--variants", "thread/fibre"]).contains("thread/fibre"));
        assert!(refused(&["tpcb", "--variants", "limit thread/shared"]).contains("limit thread/shared"));
        assert_eq!(run(["--help".to_string()]).unwrap(), 0);
    }
}
