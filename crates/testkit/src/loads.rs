//! The loads that seeds of the simulator are walked with, and what a seed runs.
//!
//! Asked for by itself a seed runs every load in every model. Where seeds are counted, as when a planted bug is looked for,
//! each runs one load in one model, which follow from it.

use crate::ledger::{self, Flaw};
use crate::tally;
use kernel::config::{EngineKind, Sessions};
use kernel::engine::sim::{Failure, Options, Report};
use kernel::fault;

/// A service with its clients.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Load {
    /// [`crate::tally`].
    Tally,
    /// [`crate::ledger`].
    Ledger,
}

impl Load {
    /// All of them.
    pub const ALL: &[Load] = &[Load::Tally, Load::Ledger];

    /// Its name on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Load::Tally => "tally",
            Load::Ledger => "ledger",
        }
    }

    /// The load of that name.
    pub fn parse(text: &str) -> Option<Load> {
        Load::ALL.iter().copied().find(|load| load.as_str() == text)
    }
}

/// One run of a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// What is served.
    pub load: Load,
    /// How engines are spread over hosts.
    pub hosts: EngineKind,
    /// What sessions hold an engine for.
    pub sessions: Sessions,
}

impl Case {
    /// Every load in every model.
    pub fn all() -> impl Iterator<Item = Case> {
        Load::ALL.iter().flat_map(|&load| {
            [EngineKind::Process, EngineKind::Thread]
                .into_iter()
                .flat_map(move |hosts| Sessions::ALL.iter().map(move |&sessions| Case { load, hosts, sessions }))
        })
    }

    /// The one that follows from a seed.
    pub fn of(seed: u64) -> Case {
        // What else follows from a seed follows from its remainders: this does not.
        let mixed = (seed ^ 0x5EED).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        Case::all().nth(mixed as usize % Case::all().count()).expect("the remainder is below the count")
    }

    /// What happens to the server under that seed.
    pub fn options(&self, seed: u64) -> Options {
        match self.load {
            Load::Tally => tally::load::options(seed, self.hosts, self.sessions),
            Load::Ledger => ledger::load::options(seed, self.hosts, self.sessions),
        }
    }

    /// Runs a seed.
    pub fn run(&self, seed: u64, options: Options) -> Result<Report, Box<Failure>> {
        match self.load {
            Load::Tally => tally::load::run(seed, options, tally::load::Load::of(seed)),
            Load::Ledger => ledger::load::run(seed, options, Flaw::None),
        }
    }

    /// What to type to see it again, with `{}` where the seed goes.
    pub fn how(&self) -> String {
        let Case { load, hosts, sessions } = self;
        format!("cargo xtask sim {{}} --load {} --hosts {hosts} --sessions {sessions}", load.as_str())
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.load.as_str(), self.hosts, self.sessions)
    }
}

/// Looks for a planted bug with seeds of the range; answers the first that shows it. Plants it, and uproots it again.
pub fn find_planted(bug: &str, range: std::ops::Range<u64>) -> Option<(u64, Case, Box<Failure>)> {
    assert!(fault::plant(bug), "there is no bug {bug}");
    let found = range.into_iter().find_map(|seed| {
        let case = Case::of(seed);
        case.run(seed, case.options(seed)).err().map(|failure| (seed, case, failure))
    });
    fault::uproot();
    found
}

/// The bugs that these loads have to show: those of the kernel. The storage's own tests show the others.
pub fn kernel_bugs() -> impl Iterator<Item = &'static str> {
    const OF_KERNEL: [&str; 6] = ["wait.", "latch.", "session.", "arena.", "group.", "reaper."];
    fault::BUGS.iter().map(|bug| bug.0).filter(|name| OF_KERNEL.iter().any(|prefix| name.starts_with(prefix)))
}
