//! What a run is made of, and what is known of it afterwards.

use super::disk::DiskFaults;
use crate::clock::Nanos;
use crate::config::{Config, EngineKind, HugePages, IoMethod, Primitive, Sessions};

/// How a run is set up. Everything that is left open here is decided by the seed.
#[derive(Clone, Debug)]
pub struct Options {
    /// What a session holds an engine for.
    pub sessions: Sessions,
    /// How simulated engines are spread over simulated hosts: [`EngineKind::Process`] is one engine a host,
    /// [`EngineKind::Thread`] is all engines of the group in one.
    pub hosts: EngineKind,
    /// Engines of a pooled group.
    pub engines: u32,
    /// How many sessions there may be.
    pub max_connections: u32,
    /// What waiting engines sleep on; none: the seed decides. `futex` sleeps on the word, all others count wake-ups.
    pub primitive: Option<Primitive>,
    /// Every session is resumed by another engine at every request.
    pub move_sessions: bool,
    /// The most hosts that are killed.
    pub kills: u32,
    /// How often a host is killed at a point that it passes, in a million; the other kills come at random times.
    pub kill_chance: u32,
    /// True if the background host may be killed too: everything restarts then.
    pub kill_background: bool,
    /// The most power cuts: everything stops, and the disk loses what was not flushed.
    pub power_cuts: u32,
    /// How often a piece of data that arrives breaks the connection instead, in a million.
    pub reset_chance: u32,
    /// Kills and power cuts come within this time from the start.
    pub trouble_ns: Nanos,
    /// What goes wrong with the disk.
    pub disk: DiskFaults,
    /// A run that takes more steps than this has failed: it goes round in circles.
    pub steps_max: u64,
    /// A run fails when every client waits without a deadline and none gets anywhere for this long.
    pub patience_ns: Nanos,
    /// Prints what happens.
    pub verbose: bool,
    /// Prints every point that is passed, too.
    pub every_point: bool,
}

impl Options {
    /// A small server: two engines, a dozen sessions, no deaths.
    pub fn new(hosts: EngineKind, sessions: Sessions) -> Options {
        assert!(hosts != EngineKind::Sim, "simulated hosts are like processes or like threads");
        Options {
            sessions,
            hosts,
            engines: 2,
            max_connections: 12,
            primitive: None,
            move_sessions: false,
            kills: 0,
            kill_chance: 0,
            kill_background: false,
            power_cuts: 0,
            reset_chance: 0,
            trouble_ns: 50_000_000,
            disk: DiskFaults::default(),
            steps_max: 5_000_000,
            patience_ns: 20_000_000_000,
            verbose: false,
            every_point: false,
        }
    }

    pub(super) fn config(&self, primitive: Primitive) -> Config {
        Config {
            engine: EngineKind::Sim,
            sessions: self.sessions,
            engines: self.engines,
            primitive,
            io: IoMethod::Sync,
            io_workers: 1,
            blocking_threads: 4,
            max_connections: self.max_connections,
            arriving_max: 4,
            spare_engines: 1,
            engine_idle_spin_us: 0,
            session_idle_spin_us: 0,
            time_slice_us: 20,
            gather_answers: true,
            fiber_stack_bytes: 256 << 10,
            region_bytes_max: 64 << 20,
            huge_pages: HugePages::Off,
            move_sessions: self.move_sessions,
            keepalive: Default::default(),
            data_dir: std::path::PathBuf::new(),
            listen: Vec::new(),
            sockets: Vec::new(),
            socket_mode: 0,
        }
    }
}

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// A hash of every step: the same whenever the seed and the options are.
    pub trace_hash: u64,
    /// Points passed and strands run.
    pub steps: u64,
    /// How much simulated time went by.
    pub sim_time: Nanos,
    /// Hosts killed.
    pub kills: u32,
    /// Times that everything restarted because a host had died with something half done.
    pub restarts: u32,
    /// Power cuts.
    pub power_cuts: u32,
    /// Connections made.
    pub connections: u32,
    /// Requests served.
    pub requests: u64,
    /// Requests that another engine resumed than the one before.
    pub moves: u64,
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What is wrong, in a line or a few.
    pub what: String,
    /// Where everybody was then.
    pub dump: String,
    /// How far the run came.
    pub report: Report,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.what, self.dump)
    }
}
