//! `gearbox lab`: the command line.

use crate::address::{Address, Wire};
use crate::bare;
use crate::driver::Protocol;
use crate::error;
use crate::experiment::design::{Layout, Scope};
use crate::experiment::runner::{self, End, Order};
use crate::experiment::{self, EXPERIMENTS};
use crate::{record, report};
use base::Result;
use lexopt::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit status of a run that was interrupted, as shells have it for SIGINT.
const INTERRUPTED: i32 = 130;

fn usage() -> String {
    let mut text = String::from(
        "Measures servers beside each other, and says what it found with its evidence.\n\n\
         Usage: gearbox lab EXPERIMENT [OPTIONS]\n       gearbox lab report FILE…\n       gearbox lab compare FILE FILE\n\n\
         Experiments:\n",
    );
    for experiment in EXPERIMENTS {
        text.push_str(&format!("  {:<18}{}\n", experiment.name, experiment.about));
    }
    text.push_str(
        "\nOptions:\n\
         \x20 --quick             few rounds of a second, small tables: to see that it runs\n\
         \x20 --out DIR           where records and reports go (lab-results)\n\
         \x20 --work DIR          where servers keep their data meanwhile (the system's temporary directory)\n\
         \x20 --resume            go on with the run that was interrupted\n\
         \x20 --points LIST       places on the experiment's axis, as 1,8,64\n\
         \x20 --layouts LIST      one (server and driver on one CPU), split (a CPU each), free\n\
         \x20 --variants LIST     whom to compare, as thread/fiber,\"PostgreSQL 15\"\n\
         \x20 --protocol WORD     named, unnamed, simple\n\
         \x20 --rounds N          how often each cell is measured\n\
         \x20 --seconds S         how long each time\n\
         \x20 --scale N           size of the tables\n\
         \x20 --seed N            what everything random follows from\n\
         \x20 --file PATH[@N]     script: a script in pgbench's format, chosen N times as often; may be repeated\n\
         \x20 --define NAME=VALUE  script: a variable of your own\n\
         \x20 --setup PATH        script: statements that make its tables\n\
         \x20 --gearbox PATH      another gearbox program to measure\n\
         \x20 --server HOST:PORT  a server of PostgreSQL's protocol that is there already, beside the others;\n\
         \x20                     PGUSER, PGDATABASE and PGPASSWORD say how to log in; its tables are made anew\n\
         \nPostgreSQL and MariaDB are measured where they are installed.\n",
    );
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
                print!("{}", usage());
                return Ok(0);
            }
            Long("quick") => scope.quick = true,
            Long("resume") => order.resume = true,
            Long("out") => order.out = Some(parser.value().map_err(wrong)?.into()),
            Long("work") => order.work = Some(parser.value().map_err(wrong)?.into()),
            Long("gearbox") => order.program = Some(parser.value().map_err(wrong)?.into()),
            Long("setup") => scope.setup = Some(parser.value().map_err(wrong)?.into()),
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
                scope.layouts = names.split(',').map(Layout::parse).collect::<Result<_>>()?;
            }
            Long("variants") => {
                scope.only = text(&mut parser)?.split(',').map(|name| name.trim().to_string()).collect()
            }
            Long("protocol") => scope.protocol = Some(protocol(&text(&mut parser)?)?),
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
            print!("{}", usage());
            Ok(0)
        }
        ["report", files @ ..] if !files.is_empty() => {
            files.iter().try_for_each(|file| runner::write_reports(&PathBuf::from(file)))?;
            Ok(0)
        }
        ["compare", a, b] => {
            let lines = [a, b].map(|file| record::read(&PathBuf::from(file)));
            let [a, b] = lines;
            print!("{}", report::compare(&a?, &b?));
            Ok(0)
        }
        ["report" | "compare", ..] => {
            Err(error::usage("files are missing").hint("Use: gearbox lab report FILE…, gearbox lab compare FILE FILE."))
        }
        [name] => {
            let experiment = experiment::find(name)?;
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
            for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
                // The second signal ends the program at once, for who has no patience.
                signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&interrupt))
                    .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&interrupt)))
                    .map_err(|error| error::system("signals", error))?;
            }
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
    let numbers: Option<Vec<u32>> = text.split(',').map(|word| word.trim().parse().ok().filter(|n| *n > 0)).collect();
    numbers.ok_or_else(|| error::usage(format!("--{name} \"{text}\"")).hint("Give numbers from 1, as in 1,8,64."))
}

fn protocol(name: &str) -> Result<Protocol> {
    let found = Protocol::ALL.into_iter().find(|protocol| protocol.name() == name);
    found.ok_or_else(|| error::usage(format!("unknown protocol \"{name}\"")).hint("There are: named, unnamed, simple."))
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
    fn arguments_that_make_no_sense_are_named() {
        assert!(refused(&["points-select"]).contains("points-select"));
        assert!(refused(&["limit", "--points", "1,x"]).contains("1,x"));
        assert!(refused(&["limit", "--layouts", "both"]).contains("both"));
        assert!(refused(&["limit", "--rounds", "-1"]).contains("-1"));
        assert!(refused(&["limit", "more"]).contains("more"));
        assert!(refused(&["limit", "--speed"]).contains("--speed"));
        assert!(refused(&["compare", "a"]).contains("missing"));
        assert!(refused(&["script"]).contains("no script"));
        assert!(refused(&["limit", "--variants", "thread/fibre"]).contains("thread/fibre"));
        assert_eq!(run(["--help".to_string()]).unwrap(), 0);
    }
}
