//! The choice of execution model, wait primitive and I/O method: made once, at the start, by the command line.
//!
//! These enums are named above `kernel` only where a setting's text is turned into one, and where a view prints one.

use std::fmt;
use std::path::PathBuf;

macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u32)]
        pub enum $name { $($(#[$vdoc])* $value,)* }

        impl $name {
            /// Every value, in the order of the manual.
            pub const ALL: &'static [$name] = &[$($name::$value),*];

            /// The value's name, as in settings and views.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$value => $text),* }
            }

            /// The value of that name.
            pub fn parse(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.as_str() == text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

choice! {
    /// What an engine is.
    EngineKind {
        /// An operating-system process.
        Process "process",
        /// An operating-system thread.
        Thread "thread",
        /// A simulated engine: one thread runs all of them under a seeded scheduler. For tests only.
        Sim "sim",
    }
}

choice! {
    /// What a session holds an engine for.
    Sessions {
        /// Its whole life.
        Dedicated "dedicated",
        /// One request.
        Shared "shared",
        /// Only while it runs: at every wait it gives the engine up.
        Fiber "fiber",
    }
}

choice! {
    /// What a session that waits for a post sleeps on (see [`crate::wait`]).
    Primitive {
        /// Linux futex words.
        Futex "futex",
        /// POSIX unnamed semaphores.
        Posix "posix",
        /// System V semaphores, one set.
        Sysv "sysv",
        /// Event file descriptors.
        Eventfd "eventfd",
    }
}

choice! {
    /// How disk I/O is carried out (see [`crate::io`]).
    IoMethod {
        /// A ring of its own for every engine.
        Uring "uring",
        /// A pool of helpers that every engine hands its requests to.
        Workers "workers",
        /// Plain system calls by the session itself.
        Sync "sync",
    }
}

choice! {
    /// Whether tables that everybody uses, and the program's code, lie in huge pages (see [`crate::region::huge`]).
    HugePages {
        /// No.
        Off "off",
        /// Yes, or the server does not start.
        On "on",
        /// As far as the system grants them.
        Try "try",
    }
}

/// How soon a connection whose other end is gone without a word is found out; zero leaves it to the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Keepalive {
    /// How long nothing may come before the system asks whether the other end is still there, in seconds.
    pub idle_s: u32,
    /// How long it waits for an answer before it asks again, in seconds.
    pub interval_s: u32,
    /// How many questions may stay without an answer.
    pub count: u32,
    /// How long what was sent may stay unacknowledged, in milliseconds.
    pub user_timeout_ms: u32,
}

/// Everything the kernel is told at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// What an engine is.
    pub engine: EngineKind,
    /// What a session holds an engine for.
    pub sessions: Sessions,
    /// How many engines a pooled group runs at a time; ignored with [`Sessions::Dedicated`].
    pub engines: u32,
    /// What waiting sessions sleep on.
    pub primitive: Primitive,
    /// How disk I/O is carried out.
    pub io: IoMethod,
    /// How many I/O workers there are, unless the method is [`IoMethod::Sync`]; with [`IoMethod::Uring`] they serve engines
    /// that are refused a ring.
    pub io_workers: u32,
    /// How many threads a host with fibers has at most for calls that block in the operating system.
    pub blocking_threads: u32,
    /// How many clients may be let in at a time ([`session::admit`](crate::session::admit)).
    pub max_connections: u32,
    /// How many connections there may be beside them: clients that have not said who they are, or have left and are not seen off.
    pub arriving_max: u32,
    /// How many idle engines a dedicated group keeps ahead of need.
    pub spare_engines: u32,
    /// How long an idle pooled engine spins before it sleeps, in microseconds.
    pub engine_idle_spin_us: u32,
    /// How long a waiting session that holds its engine spins before it sleeps, in microseconds.
    pub session_idle_spin_us: u32,
    /// How long a session may compute before it yields, in microseconds.
    pub time_slice_us: u32,
    /// Whether engines with fibers send answers together.
    pub gather_answers: bool,
    /// A fiber's stack, in bytes of address space.
    pub fiber_stack_bytes: usize,
    /// How much memory the region may grow to, in bytes.
    pub region_bytes_max: u64,
    /// Whether tables that everybody uses, and the program's code, lie in huge pages.
    pub huge_pages: HugePages,
    /// A test mode: every session is resumed by another engine at every request.
    pub move_sessions: bool,
    /// The directory of the data; files are named below it.
    pub data_dir: PathBuf,
    /// Addresses to listen on.
    pub listen: Vec<std::net::SocketAddr>,
    /// Sockets in the file system to listen on.
    pub sockets: Vec<std::path::PathBuf>,
    /// Who may connect to those: bits of a file's mode.
    pub socket_mode: u32,
    /// How clients' connections are kept an eye on.
    pub keepalive: Keepalive,
}

impl Config {
    /// How many connections there may be, of whatever kind.
    pub(crate) fn connections_max(&self) -> u32 {
        self.max_connections + self.arriving_max
    }

    /// The model's name as `SHOW execution_model` prints it: `thread/fiber`.
    pub fn model(&self) -> String {
        format!("{}/{}", self.engine, self.sessions)
    }
}
