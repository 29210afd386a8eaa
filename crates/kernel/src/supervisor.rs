//! The supervisor: the first process. It makes the region, forks hosts, restarts them, and keeps out of the region.
//!
//! It is single-threaded for as long as it lives, so forking is always safe, and it waits for three things only: signals
//! (a child has died, the server is to stop), messages from hosts, and nothing else.
//!
//! ```text
//!  start:    region, tables, listeners, ports -> fork the background host -> it recovers and says READY
//!            -> fork the group's hosts -> the server serves
//!  a death:  tell the background host (DIED host) -> it cleans up and says REAPED -> fork a replacement
//!            it finds that the host died inside a critical section -> it exits with RESTART -> everything restarts
//!  a stop:   no new connections -> background host (STOP): sessions are terminated, it says GONE
//!            -> SIGTERM to the group's hosts -> they end -> SIGTERM to the background host: last checkpoint -> exit 0
//! ```
//!
//! Rules
//! 1. After the first fork the supervisor touches nothing in the region: what kills its children cannot hurt it.
//! 2. A host that dies takes what ran there and no more. A death in a critical section, or of the background host in
//!    one, restarts everything: all hosts are killed, the supervisor executes itself anew, and recovery does the rest.
//! 3. Hosts die with the supervisor (`PR_SET_PDEATHSIG`).

mod background;
mod messages;
mod reaper;

use crate::config::{Config, EngineKind, HugePages, Sessions};
use crate::net::{self, Keeper};
use crate::session::Service;
use crate::{engine, hosting, io, region, session, sync, wait};
pub(crate) use background::look_for_deaths;
use base::{Error, Result, sqlstate};
use messages::Channel;
pub(crate) use messages::{Message, ask_for_engine, say_reaped, tell_kept};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering::*};

/// A host ends with this status when only a restart of everything helps.
pub(crate) const RESTART_STATUS: i32 = 86;
/// What a simulated process that has aborted answers.
const ABORTED_STATUS: i32 = 134;
/// A host ends with this status when the server cannot start: it has said why.
const REFUSED_STATUS: i32 = 87;
/// In the environment of a supervisor that has executed itself anew: how often.
const RESTARTS_VARIABLE: &str = "GEARBOX_RESTARTS";
/// How long sessions may take to end at a stop, in milliseconds, before their hosts are killed.
const STOP_PATIENCE_MS: u64 = 10_000;

static CONFIG: AtomicPtr<Config> = AtomicPtr::new(std::ptr::null_mut());
static STOPPING: AtomicBool = AtomicBool::new(false);
static SUPERVISOR: AtomicI32 = AtomicI32::new(0);

/// The configuration that this server was started with.
pub fn config() -> &'static Config {
    // SAFETY: what `make_kernel` stores is leaked.
    unsafe { CONFIG.load(Acquire).as_ref() }.expect("the configuration is set before anything runs")
}

/// True when this host is to end.
pub(crate) fn stopping() -> bool {
    engine::sim::stopping().unwrap_or_else(|| STOPPING.load(Relaxed))
}

/// The supervisor's process.
pub fn pid() -> i32 {
    SUPERVISOR.load(Relaxed)
}

/// Tells whoever runs the server.
fn say(what: &str) {
    if !engine::sim::say(what) {
        eprintln!("gearbox: {what}");
    }
}

/// Ends the server at once, which restarts and recovers: for what makes it impossible to go on, as a flush that failed.
pub fn stop_and_recover(reason: &str) -> ! {
    say(&format!("{reason}; the server restarts and recovers"));
    // Never left: whoever cleans up after this host sees that it died inside.
    engine::critical_enter();
    engine::sim::exit(ABORTED_STATUS);
    std::process::abort();
}

/// How often the server has restarted after a death in a critical section.
pub fn restarts() -> u32 {
    let variable = || std::env::var(RESTARTS_VARIABLE).ok().and_then(|text| text.parse().ok());
    engine::sim::restarts().or_else(variable).unwrap_or(0)
}

/// Makes the region and every table of the kernel. Also the simulator's and the tests' beginning.
pub(crate) fn make_kernel(config: &Config, backing: region::Backing) -> Result<()> {
    // Leaked: once for a server, once for each start of a simulated one.
    CONFIG.store(Box::into_raw(Box::new(config.clone())), Release);
    region::create(backing, config.region_bytes_max)?;
    region::huge::init(huge_pages(config));
    sync::init();
    session::init(config);
    engine::init(config);
    hosting::group::init(config);
    io::init(config);
    Ok(())
}

/// What is asked for of huge pages. A restart after a death does not insist on them: nothing is reserved, so the memory may be in pieces by
/// now, and whether a server recovers must not depend on that.
fn huge_pages(config: &Config) -> HugePages {
    if config.huge_pages == HugePages::On && restarts() > 0 {
        say(
            "huge_pages is \"on\", but to recover comes first: this restart takes them as far as the system grants them",
        );
        return HugePages::Try;
    }
    config.huge_pages
}

/// True if hosts are processes with one engine each.
pub(crate) fn hosts_are_processes() -> bool {
    engine::sim::hosts_are_processes().unwrap_or_else(|| config().engine == EngineKind::Process)
}

/// What the background host runs, for the simulator, which forks no processes.
pub(crate) fn background_main(
    config: &'static Config,
    service: &'static dyn Service,
    host: u32,
    dead: &[u32],
) -> Result<()> {
    background::main(config, service, host, dead)
}

/// What a host is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Background,
    /// One engine of a group of processes; with fibers, which one.
    Engine(u32),
    /// All engines of a group of threads.
    Group,
}

struct Supervisor {
    config: &'static Config,
    service: &'static dyn Service,
    channel: Channel,
    hosts: HashMap<i32, (u32, Role)>,
    /// What the background host has no room to be told.
    untold: VecDeque<Message>,
    /// Hosts that died and are not cleaned up after.
    dead: Vec<(u32, Role)>,
    next_host: u32,
    keeper: Keeper,
    ready: bool,
    stop: Stop,
    restart: bool,
    background_since: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd)]
enum Stop {
    No,
    Sessions,
    Hosts,
    Background,
}

/// Runs the server until it is told to stop; answers the process's exit status.
///
/// `make` builds the service: it runs after the region is made and before the first fork, so it may make tables.
/// `announce` runs when clients are let in.
///
/// Errors: whatever keeps the server from starting.
pub fn run<S: Service>(
    config: Config,
    make: impl FnOnce() -> Result<S>,
    announce: impl FnOnce(&Config),
) -> Result<i32> {
    SUPERVISOR.store(std::process::id() as i32, Relaxed);
    // From here on a stop is waited for, so that it finds a server that can clean up after itself.
    let signals = supervised_signals();
    // SAFETY: the set is valid. Hosts take the mask back (`become_host`).
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut()) };
    raise_descriptor_limit();
    make_kernel(&config, region::Backing::Shared)?;
    region::huge::move_code();
    let config = crate::supervisor::config();
    let service: &'static dyn Service = Box::leak(Box::new(make()?));
    region::huge::back_tables()?;
    let listeners = net::listen(config)?;
    net::make_ports(config, &listeners)?;
    match config.primitive {
        crate::config::Primitive::Eventfd => wait::eventfd::make(engine::slots_needed(config))?,
        crate::config::Primitive::Sysv => wait::sysv::remember(&config.data_dir, engine::slots_needed(config))?,
        _ => wait::sysv::forget(&config.data_dir),
    }
    let channel = Channel::make()?;
    let mut this = Supervisor {
        config,
        service,
        channel,
        hosts: HashMap::new(),
        untold: VecDeque::new(),
        dead: Vec::new(),
        next_host: 1,
        keeper: Keeper::default(),
        ready: false,
        stop: Stop::No,
        restart: false,
        background_since: 0,
    };
    let status = this.supervise(announce, &listeners);
    net::remove_sockets(config);
    if config.primitive == crate::config::Primitive::Sysv {
        wait::sysv::forget(&config.data_dir);
    }
    if this.restart {
        execute_anew()?;
    }
    Ok(status)
}

fn raise_descriptor_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls with a valid variable; a refusal leaves the limit as it was. Asking for more than the
    // hard limit works for a privileged server only.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        let wanted = libc::rlimit { rlim_cur: 65_536, rlim_max: limit.rlim_max.max(65_536) };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) != 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
        // Another host of the same user takes duplicates of sockets from here and from its siblings.
        libc::prctl(libc::PR_SET_DUMPABLE, 1);
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
    }
}

/// Starts the program over in the same process: the way to a clean slate after a death in a critical section.
fn execute_anew() -> Result<()> {
    use std::os::unix::process::CommandExt;
    let mut arguments = std::env::args_os();
    let program = arguments.next().unwrap_or_default();
    let error = std::process::Command::new("/proc/self/exe")
        .arg0(program)
        .args(arguments)
        .env(RESTARTS_VARIABLE, (restarts() + 1).to_string())
        .exec();
    Err(Error::session(sqlstate::SYSTEM_ERROR, format!("the server cannot restart itself: {error}")))
}

/// Signals that the supervisor waits for rather than be interrupted by.
fn supervised_signals() -> libc::sigset_t {
    // SAFETY: the set is initialised by sigemptyset before use.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

impl Supervisor {
    fn supervise(&mut self, announce: impl FnOnce(&Config), listeners: &[i32]) -> i32 {
        let mut announce = Some(announce);
        let signals = supervised_signals();
        // SAFETY: the set is valid; the descriptor is used below only.
        let signal_fd = unsafe { libc::signalfd(-1, &signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        self.fork(Role::Background);
        let mut stop_since = 0;
        let mut status = 0;
        loop {
            let mut polls = [
                libc::pollfd { fd: signal_fd, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: self.channel.supervisor_end(), events: libc::POLLIN, revents: 0 },
            ];
            let timeout = if self.stop == Stop::No && self.untold.is_empty() { -1 } else { 50 };
            // SAFETY: two entries, valid for the call.
            unsafe { libc::poll(polls.as_mut_ptr(), 2, timeout) };
            self.tell_untold();
            while let Some((message, fd)) = self.channel.receive() {
                match message {
                    // A stop that comes before this ends the background host, and nothing else has begun.
                    Message::Ready if !self.ready && self.stop == Stop::No => {
                        self.ready = true;
                        self.fork_group();
                        if let Some(announce) = announce.take() {
                            announce(self.config);
                        }
                    }
                    Message::MoreEngines if self.stop == Stop::No => self.fork(Role::Engine(u32::MAX)),
                    Message::Reaped(host) => self.reaped(host),
                    Message::SessionsGone if self.stop == Stop::Sessions => {
                        self.stop = Stop::Hosts;
                        self.signal_hosts(libc::SIGTERM, false);
                    }
                    Message::Kept(kept) => self.keeper.receive(kept, fd),
                    _ => {}
                }
            }
            for signal in read_signals(signal_fd) {
                match signal {
                    libc::SIGTERM | libc::SIGINT if self.stop == Stop::No => {
                        self.stop = Stop::Sessions;
                        stop_since = crate::clock::real_now();
                        for &listener in listeners {
                            // SAFETY: our own listening socket: new clients are refused from here on.
                            unsafe { libc::shutdown(listener, libc::SHUT_RDWR) };
                        }
                        if self.ready {
                            self.tell_background(Message::Stop);
                        } else {
                            self.stop = Stop::Background;
                            self.signal_hosts(libc::SIGTERM, true);
                        }
                    }
                    libc::SIGHUP if self.stop == Stop::No && self.ready => self.tell_background(Message::Reload),
                    libc::SIGCHLD => self.children_ended(&mut status),
                    _ => {}
                }
            }
            if self.restart {
                self.kill_all();
                // A server that was told to stop stays down: the next one recovers.
                self.restart = self.stop == Stop::No;
                return 0;
            }
            if self.hosts.is_empty() && (self.stop == Stop::Background || status != 0) {
                return status;
            }
            if self.stop != Stop::No {
                self.go_on_stopping(stop_since);
            }
        }
    }

    /// Tells the background host something, now or when it has room. The supervisor never sleeps in a send: the background
    /// host may be sleeping in one to the supervisor.
    fn tell_background(&mut self, message: Message) {
        self.untold.push_back(message);
        self.tell_untold();
    }

    fn tell_untold(&mut self) {
        while let Some(&message) = self.untold.front() {
            if !self.channel.try_tell_background(message) {
                return;
            }
            self.untold.pop_front();
        }
    }

    fn go_on_stopping(&mut self, since: u64) {
        let late = crate::clock::real_now().saturating_sub(since) > STOP_PATIENCE_MS * 1_000_000;
        if self.stop == Stop::Sessions && late {
            self.stop = Stop::Hosts;
        }
        let groups_gone = self.hosts.values().all(|host| host.1 == Role::Background);
        if self.stop == Stop::Hosts && groups_gone && self.dead.is_empty() {
            self.stop = Stop::Background;
        }
        match self.stop {
            // Repeated, because a signal may come just before the sleep that it was meant to end.
            Stop::Hosts => self.signal_hosts(if late { libc::SIGKILL } else { libc::SIGTERM }, false),
            Stop::Background => self.signal_hosts(libc::SIGTERM, true),
            _ => {}
        }
    }

    fn signal_hosts(&self, signal: i32, background: bool) {
        for (&pid, &(_, role)) in &self.hosts {
            if background == (role == Role::Background) {
                // SAFETY: a child that has not been waited for, so the number is still its own.
                unsafe { libc::kill(pid, signal) };
            }
        }
    }

    fn kill_all(&mut self) {
        for &pid in self.hosts.keys() {
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        for &pid in self.hosts.keys() {
            // SAFETY: waits for our own child.
            unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
        }
        self.hosts.clear();
    }

    fn fork_group(&mut self) {
        match (self.config.engine, self.config.sessions) {
            (EngineKind::Process, Sessions::Fiber) => {
                (0..self.config.engines.max(1)).for_each(|index| self.fork(Role::Engine(index)));
            }
            (EngineKind::Process, Sessions::Shared) => {
                (0..self.config.engines.max(1)).for_each(|_| self.fork(Role::Engine(u32::MAX)));
            }
            (EngineKind::Process, Sessions::Dedicated) => {
                (0..self.config.spare_engines.max(1)).for_each(|_| self.fork(Role::Engine(u32::MAX)));
            }
            _ => self.fork(Role::Group),
        }
    }

    fn fork(&mut self, role: Role) {
        let number = self.next_host;
        self.next_host += 1;
        // SAFETY: the supervisor has one thread, so the child's copy of everything is whole.
        match unsafe { libc::fork() } {
            0 => {
                self.keeper.close_in_child();
                let status = host_main(self.config, self.service, number, role, &self.dead);
                #[cfg(gearbox_training)]
                keep_profile();
                // No destructors of the supervisor's values, no exit handlers: they are not this process's.
                // SAFETY: ends the process.
                unsafe { libc::_exit(status) };
            }
            pid if pid > 0 => {
                if role == Role::Background {
                    self.background_since = crate::clock::real_now();
                }
                self.hosts.insert(pid, (number, role));
            }
            _ => eprintln!("gearbox: a host cannot be forked: {}", std::io::Error::last_os_error()),
        }
    }

    fn children_ended(&mut self, status: &mut i32) {
        loop {
            let mut how = 0;
            // SAFETY: the result is a valid variable.
            let pid = unsafe { libc::waitpid(-1, &mut how, libc::WNOHANG) };
            if pid <= 0 {
                return;
            }
            let Some((number, role)) = self.hosts.remove(&pid) else { continue };
            let code = if libc::WIFEXITED(how) { libc::WEXITSTATUS(how) } else { -libc::WTERMSIG(how) };
            match code {
                REFUSED_STATUS => {
                    *status = 1;
                    self.kill_all();
                    return;
                }
                RESTART_STATUS => self.restart = true,
                _ if code == -libc::SIGABRT => {
                    // Only a panic inside a critical section aborts.
                    self.restart = true;
                }
                0 if self.stop != Stop::No => {}
                // It was one of too many, and has counted itself out.
                0 if role == Role::Engine(u32::MAX) => {}
                _ => {
                    if code != 0 && self.stop == Stop::No {
                        eprintln!("gearbox: host {number} (process {pid}, {role:?}) ended with {code}");
                    }
                    self.dead.push((number, role));
                    if role != Role::Background {
                        self.tell_background(Message::Died(number));
                    } else if !self.ready && code == -libc::SIGKILL {
                        // Killed from outside while it recovered: whatever it had done counts for nothing, as after a crash.
                        self.restart = true;
                    } else if !self.ready || (code != -libc::SIGKILL && self.background_is_new()) {
                        // It cannot even start. (Killed from outside, it may well start the next time.)
                        *status = 1;
                        self.kill_all();
                        return;
                    } else {
                        self.fork(Role::Background);
                    }
                }
            }
        }
    }

    fn background_is_new(&self) -> bool {
        crate::clock::real_now() - self.background_since < 50_000_000
    }

    fn reaped(&mut self, host: u32) {
        let Some(at) = self.dead.iter().position(|dead| dead.0 == host) else { return };
        let (_, role) = self.dead.swap_remove(at);
        if self.stop != Stop::No {
            return;
        }
        match role {
            Role::Background => {}
            // Which ended because there were enough, or is asked for again when it is missed.
            Role::Engine(u32::MAX) if self.config.sessions == Sessions::Dedicated => {
                let engines = self.hosts.values().filter(|host| host.1 != Role::Background).count() as u32;
                if engines < self.config.spare_engines.max(1) {
                    self.fork(role);
                }
            }
            Role::Engine(_) | Role::Group => self.fork(role),
        }
    }
}

fn read_signals(fd: i32) -> Vec<i32> {
    let mut signals = Vec::new();
    loop {
        let mut info = std::mem::MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: room for one record of that size.
        let got = unsafe { libc::read(fd, info.as_mut_ptr().cast(), size) };
        if got != size as isize {
            return signals;
        }
        // SAFETY: the system has filled the whole record.
        signals.push(unsafe { info.assume_init() }.ssi_signo as i32);
    }
}

extern "C" fn on_stop(_: i32) {
    STOPPING.store(true, Relaxed);
}

extern "C" fn on_nudge(_: i32) {}

/// In a build that counts what it does, for the compiler: adds this process's counts to the file, as an exit handler would. What the
/// supervisor did before the fork is among them.
#[cfg(gearbox_training)]
fn keep_profile() {
    unsafe extern "C" {
        safe fn __llvm_profile_write_file() -> i32;
    }
    __llvm_profile_write_file();
}

/// What a freshly forked host does first: its own signals, its end with the supervisor's.
fn become_host() {
    // SAFETY: handlers that only store a flag; the process has one thread.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        if libc::getppid() != pid() {
            libc::_exit(0);
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        // No SA_RESTART: a sleep in a system call is to come back.
        action.sa_sigaction = on_stop as *const () as usize;
        libc::sigaction(libc::SIGTERM, &action, std::ptr::null_mut());
        action.sa_sigaction = on_nudge as *const () as usize;
        libc::sigaction(libc::SIGURG, &action, std::ptr::null_mut());
        // Ctrl-C reaches every process of the terminal; only the supervisor acts on it.
        action.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(libc::SIGINT, &action, std::ptr::null_mut());
        libc::sigaction(libc::SIGHUP, &action, std::ptr::null_mut());
        let signals = supervised_signals();
        libc::sigprocmask(libc::SIG_UNBLOCK, &signals, std::ptr::null_mut());
    }
    net::init_host();
    io::init_host();
}

fn host_main(
    config: &'static Config,
    service: &'static dyn Service,
    number: u32,
    role: Role,
    dead: &[(u32, Role)],
) -> i32 {
    become_host();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match role {
        Role::Background => {
            let unreaped: Vec<u32> = dead.iter().map(|dead| dead.0).collect();
            background::main(config, service, number, &unreaped)
        }
        Role::Engine(index) => {
            engine::process::main(config, service, number, index);
            Ok(())
        }
        Role::Group => {
            engine::thread::main(config, service, number);
            Ok(())
        }
    }));
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            eprintln!("gearbox: {error}");
            REFUSED_STATUS
        }
        Err(panic) => {
            eprintln!("gearbox: host {number} ends by a bug: {}", hosting::panic_text(&*panic));
            RESTART_STATUS
        }
    }
}
