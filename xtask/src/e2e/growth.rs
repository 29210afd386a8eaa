//! `serve-growth`: a load that goes on for ten minutes leaves nothing larger than it was after two.
//!
//! ```text
//!   fill     load -------------------------------------------------------->  the same load beside a transaction that
//!                     | 2 min: sizes                       10 min: sizes |   keeps all versions: something must grow
//! ```
//!
//! pgbench's `tpcb-like` at scale 1 is the worst there is: all clients update the one row of the branches, one of ten tellers, and
//! accounts on so few pages that two of them often meet.
//!
//! What may be how much larger: [`sizes`](super::sizes).
//!
//! Two settings are made small, so that what they bound is full within the first two minutes: the buffer pool and the log. With
//! their defaults both would fill for longer than that, as they should.
//!
//! The last part tests the test: with versions that nobody may remove the same comparison has to find something.

use super::sizes::{Sizes, grown, largest, listed, make_small, sizes};
use super::{Effort, Scenario};
use crate::Outcome;
use crate::pgbench::{self, Load};
use crate::process;
use crate::server_under_test::ServerUnderTest;
use postgres::Client;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The scenario of this file. Not under each wait primitive and I/O method: it is about what is left on pages.
pub fn scenario() -> Scenario {
    let applies = |settings: crate::model::Settings| settings.wait.is_none() && settings.io.is_none();
    Scenario { name: "serve-growth", subcommand: "serve", applies, long: true, run: growth }
}

/// When sizes are compared, and what is done meanwhile.
struct Plan {
    early: Duration,
    late: Duration,
    clients: u32,
}

fn growth(mut server: ServerUnderTest, effort: Effort) -> Outcome<()> {
    let seconds = Duration::from_secs;
    let plan = match effort.full {
        true => Plan { early: seconds(120), late: seconds(600), clients: 64 },
        false => Plan { early: seconds(3), late: seconds(7), clients: 8 },
    };
    make_small(&mut server)?;
    pgbench::fill(server.client("pgbench"), 1)?;
    let mut client = server.connect()?;
    let load = |clients, time: Duration| Load {
        script: "tpcb-like".into(),
        protocol: "prepared".into(),
        clients,
        jobs: 1,
        seconds: time.as_secs() as u32,
    };
    let (early, late) = std::thread::scope(|scope| {
        let ran = scope.spawn(|| {
            pgbench::run_clean(server.client("pgbench"), &load(plan.clients, plan.late + Duration::from_secs(1)))
        });
        let began = Instant::now();
        let mut at = |moment: Duration| {
            std::thread::sleep(moment.saturating_sub(began.elapsed()));
            largest(&server, &mut client)
        };
        let sizes = at(plan.early).and_then(|early| Ok((early, at(plan.late - Duration::from_secs(1))?)));
        let ran = ran.join().map_err(|_| "the thread of pgbench has panicked".to_string())?;
        ran.and(sizes)
    })?;
    if effort.full {
        println!("{}", listed(&server.settings().to_string(), &early, &late));
    }
    let grown = grown(&early, &late);
    if !grown.is_empty() {
        return Err(format!("between {:?} and {:?} of load: {}", plan.early, plan.late, grown.join("; ")));
    }
    shows_growth(&server, &mut client, &late)?;
    drop(client);
    server.stop()
}

/// The same load while a transaction may still see every version: what was said to be no larger has to be found larger.
fn shows_growth(server: &ServerUnderTest, client: &mut Client, before: &Sizes) -> Outcome<()> {
    const PATIENCE: Duration = Duration::from_secs(60);
    let mut keeper = server.connect()?;
    keeper
        .batch_execute("begin isolation level repeatable read; select count(*) from pgbench_branches")
        .map_err(|error| error.to_string())?;
    let mut command = server.client("pgbench");
    command.args("-n -b tpcb-like -M prepared -c 8 -j 1 -T 600".split(' '));
    let mut load =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| format!("pgbench: {error}"))?;
    let began = Instant::now();
    let found = loop {
        std::thread::sleep(Duration::from_millis(300));
        let grew = sizes(server, client).map(|sizes| {
            let of_tables =
                |line: &&String| line.starts_with("pgbench_branches") || line.starts_with("pgbench_tellers");
            grown(before, &sizes).iter().filter(of_tables).count() == 2
        });
        match grew {
            Ok(false) if began.elapsed() < PATIENCE => {}
            found => break found,
        }
    };
    process::signal("KILL", load.id());
    let _ = load.wait();
    match found? {
        true => Ok(()),
        false => Err(format!(
            "nothing has grown in {PATIENCE:?} beside a transaction that keeps all versions: a test that cannot fail"
        )),
    }
}
