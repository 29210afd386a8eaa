//! One thread of the driver: its clients, its timers, one wait for all of them.
//!
//! ```text
//!   connect all ─▶ wait for the word to begin ─▶ warm up ─▶ │ window │ ─▶ last answers ─▶ leave
//! ```
//!
//! Rules
//! 1. One wait returns a batch of events; its time is the moment at which every answer in it was seen.
//! 2. The thread never computes for somebody else: what it measures of itself is read at the two ends of the window.
//! 3. The load begins before the window and goes on when that has ended, until the server's counters were read: reading hundreds of
//!    processes takes time, and what they do meanwhile has to be the same. Then what is under way is finished and
//!    what is not begun stays undone. Who has no answer [`LAST_ANSWERS`] later is counted as failed.

use super::client::{Client, Next, Shared, Tally};
use super::pace::{Arrivals, Pace};
use crate::error;
use base::Result;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::AsFd;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How long the last answers may take.
const LAST_ANSWERS: Duration = Duration::from_secs(20);
/// How many connections are on their way at once, by thread: listening queues are short.
const CONNECTING_MAX: usize = 32;
/// How long a connection may take while all are made.
const CONNECT_PATIENCE: Duration = Duration::from_secs(60);
/// How often a stop is looked for when there is nothing else.
pub const LOOK_NS: u64 = 50_000_000;
/// How many events one wait returns.
const BATCH: usize = 256;
/// With a connection for each transaction, how many may fail one after the other before the server counts as gone.
const FAILURES_MAX: u32 = 1000;

/// The load's clock: nanoseconds since it was made, the same for all threads.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock that begins now, at one: zero means never.
    pub fn start() -> Clock {
        Clock(std::time::Instant::now())
    }

    /// The time.
    pub fn now(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64 + 1
    }
}

/// What the threads of a load and the one that started them tell each other.
#[derive(Default, Debug)]
pub struct Signals {
    /// Set when all are connected: the load begins, the window does not.
    pub go: AtomicBool,
    /// When the window begins.
    pub from_ns: AtomicU64,
    /// When it ends; zero until both are known.
    pub until_ns: AtomicU64,
    /// Set when the window has ended and been read: nothing is begun any more.
    pub over: AtomicBool,
    /// Set where everybody has to stop.
    pub stop: AtomicBool,
}

/// What a thread used of the machine in the window.
#[derive(Clone, Copy, Default, Debug)]
pub struct ThreadUse {
    /// On a CPU.
    pub cpu_ns: u64,
    /// Could have run, but somebody else did.
    pub delayed_ns: u64,
    /// Ticks in the program and in the kernel.
    pub ticks: (u64, u64),
    /// Context switches asked for and suffered.
    pub switches: (u64, u64),
}

impl ThreadUse {
    fn now() -> ThreadUse {
        let file = |name: &str| std::fs::read_to_string(format!("/proc/thread-self/{name}")).unwrap_or_default();
        let cpu = clock_gettime(ClockId::ThreadCPUTime);
        let (schedule, stat, status) = (file("schedstat"), file("stat"), file("status"));
        let fields: Vec<u64> = stat
            .rsplit_once(')')
            .map(|(_, rest)| rest.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect())
            .unwrap_or_default();
        let field = |at: usize| fields.get(at).copied().unwrap_or(0);
        let line = |name: &str| {
            let found = status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
            found.unwrap_or(0)
        };
        ThreadUse {
            cpu_ns: cpu.tv_sec as u64 * 1_000_000_000 + cpu.tv_nsec as u64,
            delayed_ns: schedule.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0),
            ticks: (field(11), field(12)),
            switches: (line("voluntary_ctxt_switches:"), line("nonvoluntary_ctxt_switches:")),
        }
    }

    fn since(&self, earlier: &ThreadUse) -> ThreadUse {
        let less = |now: (u64, u64), then: (u64, u64)| (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1));
        ThreadUse {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            delayed_ns: self.delayed_ns.saturating_sub(earlier.delayed_ns),
            ticks: less(self.ticks, earlier.ticks),
            switches: less(self.switches, earlier.switches),
        }
    }
}

/// What a thread has found out.
pub struct ThreadReport {
    /// What it counted.
    pub tally: Tally,
    /// Transactions in the window, by client.
    pub by_client: Vec<u64>,
    /// What it used in the window.
    pub used: ThreadUse,
}

/// One thread of the driver.
pub struct Thread<'a> {
    shared: Shared<'a>,
    clock: Clock,
    signals: &'a Signals,
    pace: Pace,
    arrivals: Option<Arrivals>,
    /// Clients that work, then those that are only there.
    clients: Vec<Client>,
    working: usize,
    timers: BinaryHeap<Reverse<(u64, usize)>>,
    /// With arrivals: who has nothing to do.
    free: VecDeque<usize>,
    random: fastrand::Rng,
    tally: Tally,
    events: Vec<epoll::Event>,
    buffer: Vec<u8>,
    ending: bool,
    failures: u32,
}

impl<'a> Thread<'a> {
    /// A thread with so many clients that work and so many that are only there. `first` is the number of its first client. When
    /// clients begin follows from `seed`.
    pub fn new(
        shared: Shared<'a>,
        clock: Clock,
        signals: &'a Signals,
        pace: Pace,
        (first, working, idle): (u32, u32, u32),
        seed: u64,
    ) -> Thread<'a> {
        let clients = (first..first + working + idle)
            .map(|number| Client::new(&shared, number, number >= first + working))
            .collect();
        Thread {
            shared,
            clock,
            signals,
            pace,
            arrivals: None,
            clients,
            working: working as usize,
            timers: BinaryHeap::new(),
            free: VecDeque::new(),
            random: fastrand::Rng::with_seed(seed),
            tally: Tally::new(),
            events: Vec::with_capacity(BATCH),
            buffer: vec![0; 64 << 10],
            ending: false,
            failures: 0,
        }
    }

    /// Connects all clients; with a connection for each transaction only those that are just there.
    ///
    /// # Errors
    /// What the server says against it, or that it does not answer.
    pub fn connect(&mut self) -> Result<()> {
        let mut next = if self.shared.reconnect { self.working } else { 0 };
        let mut welcome = next;
        let mut on_the_way = 0;
        let mut last_progress = self.clock.now();
        while welcome < self.clients.len() {
            while next < self.clients.len() && on_the_way < CONNECTING_MAX {
                let now = self.clock.now();
                self.clients[next].connect(&self.shared, next as u64, now)?;
                next += 1;
                on_the_way += 1;
            }
            let now = self.wait(self.clock.now() + LOOK_NS)?;
            if self.signals.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            for index in 0..self.events.len() {
                let (number, flags) = told(&self.events[index]);
                match self.clients[number].on_event(&self.shared, flags, &mut self.buffer, now, &mut self.tally)? {
                    Next::Welcome => {
                        welcome += 1;
                        on_the_way -= 1;
                        last_progress = now;
                    }
                    Next::Lost => {
                        return Err(error::server("the server broke a connection off that had just been made"));
                    }
                    _ => {}
                }
            }
            if now - last_progress > CONNECT_PATIENCE.as_nanos() as u64 {
                return Err(error::server(format!(
                    "{welcome} of {} connections were made; the next got no answer within {CONNECT_PATIENCE:?}",
                    self.clients.len()
                )));
            }
        }
        Ok(())
    }

    /// Waits for events until a time; answers the time at which it ended.
    fn wait(&mut self, until: u64) -> Result<u64> {
        self.events.clear();
        let left = until.saturating_sub(self.clock.now());
        let timeout = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
        match epoll::wait(self.shared.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(self.clock.now()),
            Err(error) => Err(error::system("epoll", error)),
        }
    }

    /// Runs the load: waits for the word to begin, and ends when the window has ended and all have answered.
    ///
    /// # Errors
    /// That the server is gone, or a script's own error.
    pub fn run(mut self, rate: Option<f64>) -> Result<ThreadReport> {
        while !self.signals.go.load(Ordering::Acquire) {
            if self.signals.stop.load(Ordering::Relaxed) {
                return Ok(self.report(ThreadUse::default()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut window = (u64::MAX, u64::MAX);
        self.tally.window = window;
        let begin = self.clock.now();
        self.arrivals = rate.map(|per_second| Arrivals::new(per_second, begin, self.random.u64(..)));
        for number in 0..self.working {
            match self.pace.think(self.clients[number].random()) {
                // The first time is drawn from zero, so that the crowd does not begin in step.
                Some(_) => {
                    let Pace::Think { most, .. } = self.pace else { unreachable!("only who thinks has a time") };
                    let due = begin + self.random.u64(0..=most.as_nanos() as u64);
                    self.timers.push(Reverse((due, number)));
                }
                None => self.schedule(number, begin)?,
            }
        }
        let (mut at_begin, mut at_end) = (None, None);
        let mut give_up = u64::MAX;
        loop {
            if window.1 == u64::MAX
                && let until @ 1.. = self.signals.until_ns.load(Ordering::Acquire)
            {
                window = (self.signals.from_ns.load(Ordering::Acquire), until);
                self.tally.window = window;
            }
            let mut until = self.clock.now() + LOOK_NS;
            if let Some(Reverse((due, _))) = self.timers.peek() {
                until = until.min(*due);
            }
            if let (Some(arrivals), false) = (&self.arrivals, self.free.is_empty()) {
                until = until.min(arrivals.next_ns());
            }
            for boundary in [window.0, window.1] {
                if boundary > self.clock.now() {
                    until = until.min(boundary);
                }
            }
            let seen = self.wait(until)?;
            if seen >= window.0 && at_begin.is_none() {
                at_begin = Some(ThreadUse::now());
            }
            if seen >= window.1 && at_end.is_none() {
                at_end = Some(ThreadUse::now());
            }
            if at_end.is_some() && !self.ending && self.signals.over.load(Ordering::Acquire) {
                give_up = seen + LAST_ANSWERS.as_nanos() as u64;
                self.end();
            }
            if self.signals.stop.load(Ordering::Relaxed) && !self.ending {
                self.end();
                break;
            }
            for index in 0..self.events.len() {
                let (number, flags) = told(&self.events[index]);
                self.on_event(number, flags, seen)?;
            }
            self.fire(seen)?;
            if self.ending {
                let busy = self.clients.iter().any(|client| client.is_busy() || client.is_connecting());
                if !busy || seen > give_up {
                    break;
                }
            }
        }
        for client in &mut self.clients {
            if client.is_busy() {
                self.tally.fail(window.1 - 1, "57014", "no answer came in time");
            }
            client.leave();
        }
        let used = match (at_begin, at_end) {
            (Some(begin), Some(end)) => end.since(&begin),
            _ => ThreadUse::default(),
        };
        Ok(self.report(used))
    }

    fn report(self, used: ThreadUse) -> ThreadReport {
        let by_client = self.clients[..self.working].iter().map(|client| client.transactions).collect();
        ThreadReport { tally: self.tally, by_client, used }
    }

    /// From now on nothing is begun.
    fn end(&mut self) {
        self.ending = true;
        self.timers.retain(|Reverse((_, number))| self.clients[*number].is_busy());
        self.free.clear();
        self.clients.iter_mut().filter(|client| client.is_free()).for_each(Client::leave);
    }

    fn on_event(&mut self, number: usize, flags: epoll::EventFlags, seen: u64) -> Result<()> {
        let client = &mut self.clients[number];
        match client.on_event(&self.shared, flags, &mut self.buffer, seen, &mut self.tally) {
            Ok(next) => self.proceed(number, next, seen),
            Err(error) if self.shared.reconnect && client.is_connecting() => {
                self.failures += 1;
                if self.failures > FAILURES_MAX {
                    return Err(error);
                }
                let (state, message) = client.refusal().unwrap_or(("08006", error.message()));
                self.tally.fail(seen, state, message);
                client.lose(seen, &mut self.tally);
                self.schedule(number, seen)
            }
            Err(error) => Err(error),
        }
    }

    /// Timers and arrivals whose time has come.
    fn fire(&mut self, seen: u64) -> Result<()> {
        while let Some(Reverse((due, number))) = self.timers.peek().copied() {
            if due > seen {
                break;
            }
            self.timers.pop();
            if self.clients[number].is_busy() {
                let next = self.clients[number].wake(&self.shared)?;
                self.proceed(number, next, seen)?;
            } else if !self.ending {
                self.begin(number, due, 0)?;
            }
        }
        self.serve_arrivals(seen)
    }

    fn serve_arrivals(&mut self, seen: u64) -> Result<()> {
        while !self.free.is_empty() {
            let Some(arrival) = self.arrivals.as_mut().and_then(|arrivals| arrivals.take(seen)) else { break };
            let number = self.free.pop_front().expect("somebody is free");
            let free_since = self.clients[number].free_since;
            self.begin(number, arrival.max(free_since), free_since.saturating_sub(arrival))?;
        }
        Ok(())
    }

    fn begin(&mut self, number: usize, due: u64, waited: u64) -> Result<()> {
        let now = self.clock.now();
        let next = self.clients[number].begin(&self.shared, now, due, waited, &mut self.tally)?;
        if self.shared.reconnect {
            return self.clients[number].connect(&self.shared, number as u64, now);
        }
        if next != Next::Over {
            return self.proceed(number, next, now);
        }
        // It had nothing to send. Its next one begins in its turn, or a script that never has would go on for ever.
        self.clients[number].finish(&self.shared, now, &mut self.tally);
        if self.arrivals.is_some() {
            self.free.push_back(number);
        } else {
            let think = self.pace.think(self.clients[number].random()).unwrap_or_default();
            self.timers.push(Reverse((now + think.as_nanos() as u64, number)));
        }
        Ok(())
    }

    /// Does what a client needs next.
    fn proceed(&mut self, number: usize, next: Next, seen: u64) -> Result<()> {
        match next {
            Next::Wait => Ok(()),
            Next::Pause(time) => {
                self.timers.push(Reverse((seen + time.as_nanos() as u64, number)));
                Ok(())
            }
            Next::Welcome => self.schedule(number, seen),
            Next::Over => {
                self.failures = 0;
                self.clients[number].finish(&self.shared, seen, &mut self.tally);
                self.schedule(number, seen)
            }
            Next::Lost => {
                self.clients[number].lose(seen, &mut self.tally);
                if self.ending || self.signals.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if self.shared.reconnect {
                    return self.schedule(number, seen);
                }
                let now = self.clock.now();
                self.clients[number].connect(&self.shared, number as u64, now)
            }
        }
    }

    /// A client has nothing to do since `seen`: decides when it begins again.
    fn schedule(&mut self, number: usize, seen: u64) -> Result<()> {
        if number >= self.working {
            return Ok(());
        }
        if self.ending {
            self.clients[number].leave();
            return Ok(());
        }
        if self.arrivals.is_some() {
            self.free.push_back(number);
            return self.serve_arrivals(seen);
        }
        match self.pace.think(self.clients[number].random()) {
            Some(time) => {
                self.timers.push(Reverse((seen + time.as_nanos() as u64, number)));
                Ok(())
            }
            None => self.begin(number, seen, 0),
        }
    }
}

/// Whose event it is, and what it says.
fn told(event: &epoll::Event) -> (usize, epoll::EventFlags) {
    (event.data.u64() as usize, event.flags)
}

/// What waits for the events of one thread.
pub fn epoll() -> Result<rustix::fd::OwnedFd> {
    epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| error::system("epoll", error))
}

/// Keeps this thread on these CPUs.
pub fn pin(cpus: &[usize]) -> Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    rustix::thread::sched_setaffinity(None, &set).map_err(|error| error::system(&format!("CPUs {cpus:?}"), error))
}

/// Lets this thread sleep to the microsecond.
pub fn sleep_exactly() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
}

/// A descriptor that is borrowed for as long as the load lasts.
pub fn borrow(fd: &rustix::fd::OwnedFd) -> rustix::fd::BorrowedFd<'_> {
    fd.as_fd()
}
