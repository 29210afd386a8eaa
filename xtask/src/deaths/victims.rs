//! Who can be killed, and what the server has and says while hosts of it die.

use crate::Outcome;
use crate::e2e::Draw;
use crate::process::{self, SharedObjects};
use crate::server_under_test::ServerUnderTest;
use std::time::{Duration, Instant};

/// How long what a death leaves behind may take to go.
const AFTERMATH: Duration = Duration::from_secs(10);

/// What a server without clients holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// Open descriptors of the first process.
    descriptors: usize,
    /// Semaphore sets and segments, and files of shared memory, of this user.
    shared: SharedObjects,
    /// Bytes of sessions' memory, and of memory for their work; sessions.
    arenas: i64,
    work: i64,
    sessions: i64,
}

/// Kills a host. The first of the processes below the supervisor has the background tasks: its death restarts the server.
pub(super) fn kill_one(server: &ServerUnderTest, background: bool, draw: &mut Draw) {
    let all = server.processes();
    let hosts = all.get(if background { 1 } else { 2 }..).unwrap_or_default();
    if !hosts.is_empty() {
        process::signal("KILL", hosts[draw.below(hosts.len())].pid);
    }
}

/// How often the server has restarted.
pub(super) fn restarts(server: &ServerUnderTest) -> usize {
    server.log().matches("the server restarts and recovers").count()
}

/// Who died, as the server tells it.
pub(super) fn report(server: &ServerUnderTest) -> String {
    let log = server.log();
    let deaths = log.lines().filter(|line| line.contains("ended with -9"));
    let (background, engines): (Vec<_>, Vec<_>) = deaths.partition(|line| line.contains("Background"));
    format!(
        "the server tells of {} deaths of engines and {} of the background tasks' host, and has restarted {} times",
        engines.len(),
        background.len(),
        restarts(server)
    )
}

/// What it holds now.
pub(super) fn held(server: &ServerUnderTest) -> Outcome<Held> {
    let first = server.processes().first().map_or(0, |process| process.pid);
    let descriptors = std::fs::read_dir(format!("/proc/{first}/fd")).map_or(0, Iterator::count);
    let mut client = server.connect()?;
    let mut number = |text: &str| -> Outcome<i64> {
        client.query_one(text, &[]).map(|row| row.get(0)).map_err(|error| format!("{text}: {error:?}"))
    };
    let active = |name: &str| format!("select sum(num_active)::bigint from gearbox.resources where name = '{name}'");
    Ok(Held {
        descriptors,
        shared: SharedObjects::now(),
        arenas: number(&active("session arenas"))?,
        work: number(&active("work memory"))?,
        sessions: number("select count(*) from gearbox.sessions")?,
    })
}

/// Fails if it goes on holding more than before.
pub(super) fn nothing_left(server: &ServerUnderTest, before: &Held) -> Outcome<()> {
    let began = Instant::now();
    loop {
        let now = held(server)?;
        let beyond = now.shared.beyond(&before.shared);
        // A server that has restarted has objects of other names, and no more of them.
        let shared_grew = now.shared.beyond(&before.shared).len() > before.shared.beyond(&now.shared).len();
        let grew = now.descriptors > before.descriptors || now.arenas > before.arenas || now.work > before.work;
        if !grew && !shared_grew && now.sessions <= before.sessions {
            return Ok(());
        }
        if began.elapsed() > AFTERMATH {
            return Err(format!("something is left: {now:?}, before: {before:?}; shared objects: {beyond:?}"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
