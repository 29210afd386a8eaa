//! `cargo xtask …`: the project's only scripts.
//!
//! | command | what it does |
//! |---|---|
//! | `check [STEP…]` | what CI runs: format, tidy, generated files, lints, docs, tests, simulator, client programs |
//! | `tidy` | the rules that a compiler does not know ([`tidy`]) |
//! | `gen [--check]` | writes the files that are made from tables and records ([`gen`]) |
//! | `e2e [NAME…]` | client programs against a server, in each of the six models ([`e2e`]) |
//! | `clients [NAME…]` | programs of many languages' drivers, psql's commands and dumps, here and on PostgreSQL ([`drivers`]) |
//! | `matrix [NAME…]` | the same in every combination of model, wait primitive and I/O method |
//! | `torture` | the same in combinations drawn at random, for as long as asked |
//! | `torture deaths` | hosts of a loaded server are killed at random instants, as many as asked ([`deaths`]) |
//! | `torture power` | power cuts on a device that loses what was not flushed, as many as asked ([`power`]) |
//! | `torture soak` | an hour of everything, after which nothing may be larger than it was ([`soak`]) |
//! | `sim SEED…` | replays seeds in the simulator ([`sim`]) |
//! | `differential` | random statements, asked of the server and of PostgreSQL ([`differential`]) |
//! | `grammar` | statements drawn from a grammar, none of which may bring the server down ([`grammar`]) |
//! | `release` | the program, optimised for what it was seen to do ([`release`]) |
//! | `lab NAME` | an experiment of the lab, with its peers ([`lab`]) |
//! | `tpch` | TPC-H's queries here and on PostgreSQL: answers and times ([`tpch`]) |
//!
//! Rules
//! 1. A step that fails says which command repeats it, and nothing runs after it.
//! 2. Nothing is skipped in silence: what cannot run here is a failure that names what is missing.
//! 3. This program is a client of the server: it learns of it over the wire and from `/proc`. It links nothing of it but
//!    `base`, whose tables become manuals.
#![forbid(unsafe_code)]

mod args;
mod check;
mod clients;
mod deaths;
mod differential;
mod drivers;
mod e2e;
mod fuzz;
mod r#gen;
mod grammar;
mod lab;
mod machine;
mod model;
mod pgbench;
mod postgres;
mod power;
mod process;
mod release;
mod server_under_test;
mod sim;
mod soak;
mod suite;
mod tidy;
mod tpch;
mod tree;

use args::Args;
use std::process::ExitCode;

/// What a command of this program comes to: a value, or a text for the person who started it.
pub type Outcome<T> = Result<T, String>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check [STEP...]     what CI runs; with names, only those steps
  tidy                the source rules alone
  gen [--check]       write the generated files, or say which are out of date
  e2e [NAME...]       client programs against the server in the six models   [--model ENGINE/SESSIONS]
  clients [NAME...]   drivers of many languages, psql's commands, dumps in two models  [--all] [--model ENGINE/SESSIONS]
                      or on a PostgreSQL that is made for it                 [--postgres] [--record]
  matrix [NAME...]    the same as e2e under every wait primitive and I/O method     [--model ENGINE/SESSIONS]
  torture             the same, drawn at random                              [--minutes N] [--seed N]
  torture deaths      SIGKILLs of random hosts under load                    [--kills N] [--model LIST] [--background] [--everything] [--spread]
  torture power       power cuts, in all models and I/O methods              [--cuts N] [--seed N]
  torture soak        an hour of 64 clients; memory, tables and log are held to be flat  [--minutes N] [--model LIST]
  sim SEED...         replay simulator seeds: numbers, or ranges as 100..200 [--hosts KIND] [--sessions KIND] [--verbose]
  sim every A..B      those seeds, dealt out to every load of kernel, storage and server
  fuzz                recorded messages, pages and log records, mutated      [--minutes N] [--seed N]
  fuzz coverage       the same, and how much of the decoders it reaches      [--minutes N] [--seed N]
  differential        random statements, asked of the server and of PostgreSQL  [--queries N] [--seed N] [--model ENGINE/SESSIONS]
                      [--postgres PORT] [--gearbox PORT]
  grammar             statements drawn from a grammar, in the six models  [--minutes N] [--seed N] [--model LIST]
  release             the program, built, trained by loads of the lab, and built for what they ran; some 15 minutes
  lab NAME ...        an experiment of the lab; gets peers, builds, and hands the rest on to `gearbox lab`
  tpch                TPC-H's 22 queries here and on a running PostgreSQL    [--scale HUNDREDTHS] [--rounds N] [--queries LIST]
                      [--postgres PORT] [--gearbox PORT] [--loaded] [--model ENGINE/SESSIONS]

  e2e, matrix, torture, differential, lab and tpch take --binary PATH to try a server that is built already.
";

fn main() -> ExitCode {
    let mut args = Args::new(std::env::args().skip(1));
    let command = args.word().unwrap_or_default();
    let outcome = match command.as_str() {
        "check" => check::run(args),
        "tidy" => args.done().and_then(|()| tidy::run(&tree::root())),
        "gen" => r#gen::run(args),
        "e2e" => e2e::run(args, e2e::Tier::Check),
        "clients" => drivers::run(args),
        "matrix" => e2e::run(args, e2e::Tier::Matrix),
        "torture" if args.flag("deaths") => deaths::run(args),
        "torture" if args.flag("power") => power::run(args),
        "torture" if args.flag("soak") => soak::run(args),
        "torture" => e2e::torture(args),
        "fuzz" => fuzz::run(args),
        "sim" => sim::run(args),
        "differential" => differential::run(args),
        "grammar" => grammar::run(args),
        "release" => release::run(args),
        "lab" => lab::run(args),
        "tpch" => tpch::run(args),
        "" | "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        other => Err(format!("no such command: {other}\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("xtask: {text}");
            ExitCode::FAILURE
        }
    }
}
