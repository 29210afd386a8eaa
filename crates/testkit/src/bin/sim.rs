//! Runs seeds of the simulator with the tally load: `sim SEED… [--hosts process|thread] [--sessions dedicated|shared|fiber]
//! [--plant BUG] [--calm] [--verbose] [--every-point]`. A seed may be a range (`0..1000`). Without a model it runs in all six.

#![forbid(unsafe_code)]

use kernel::config::{EngineKind, Sessions};
use kernel::fault;
use std::process::ExitCode;
use testkit::sim::{describe, explain};
use testkit::tally::load::{self, Load};

#[derive(Default)]
struct Asked {
    seeds: Vec<u64>,
    hosts: Option<EngineKind>,
    sessions: Option<Sessions>,
    plant: Option<String>,
    calm: bool,
    verbose: bool,
    every_point: bool,
}

fn parse() -> Result<Asked, String> {
    let mut asked = Asked::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--hosts" => asked.hosts = Some(EngineKind::parse(&value()?).ok_or("process or thread")?),
            "--sessions" => asked.sessions = Some(Sessions::parse(&value()?).ok_or("dedicated, shared or fiber")?),
            "--plant" => asked.plant = Some(value()?),
            "--calm" => asked.calm = true,
            "--verbose" => asked.verbose = true,
            "--every-point" => asked.every_point = true,
            _ => {
                let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text:?} is not a seed"));
                match word.split_once("..") {
                    Some((first, end)) => asked.seeds.extend(number(first)?..number(end)?),
                    None => asked.seeds.push(number(&word)?),
                }
            }
        }
    }
    if asked.seeds.is_empty() {
        return Err("which seeds?".into());
    }
    if let Some(name) = &asked.plant
        && !fault::plant(name)
    {
        let names: Vec<&str> = fault::BUGS.iter().map(|bug| bug.0).collect();
        return Err(format!("no bug {name}; there are {}", names.join(", ")));
    }
    Ok(asked)
}

fn main() -> ExitCode {
    let asked = match parse() {
        Ok(asked) => asked,
        Err(what) => {
            eprintln!("sim: {what}");
            return ExitCode::from(2);
        }
    };
    for &seed in &asked.seeds {
        for &hosts in
            [EngineKind::Process, EngineKind::Thread].iter().filter(|kind| asked.hosts.is_none_or(|k| k == **kind))
        {
            for &sessions in Sessions::ALL.iter().filter(|kind| asked.sessions.is_none_or(|k| k == **kind)) {
                let mut options = if asked.calm {
                    kernel::engine::sim::Options::new(hosts, sessions)
                } else {
                    load::options(seed, hosts, sessions)
                };
                options.verbose = asked.verbose || asked.every_point;
                options.every_point = asked.every_point;
                match load::run(seed, options, Load::of(seed)) {
                    Ok(report) => println!("seed {seed} {hosts}/{sessions}: {}", describe(&report)),
                    Err(failure) => {
                        let how =
                            format!("cargo run -p testkit --bin sim -- {{}} --hosts {hosts} --sessions {sessions}");
                        println!("{}", explain(seed, &how, &failure));
                        return ExitCode::FAILURE;
                    }
                }
            }
        }
    }
    ExitCode::SUCCESS
}
