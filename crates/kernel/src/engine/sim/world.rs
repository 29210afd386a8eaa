//! The world: the scheduler, the clock, and everything that a run consists of.
//!
//! One loop ([`World::run_to_end`]): what is due happens; then one of the runnable strands runs until it sleeps, is
//! switched away from at a point, or ends; when none is runnable the clock jumps to the next thing that is due. Running
//! costs a little time too ([`STEP_NS`], [`POINT_NS`]), so that whoever polls a clock gets on.
//!
//! What is due is a closure in a heap ordered by time and, within a time, by age.

use super::disk::Disk;
use super::hosts::{Host, Supervisor};
use super::net::Net;
use super::options::{Failure, Options, Report};
use super::random::Random;
use super::strand::{Key, State, Strand, Wake};
use super::trace::{Step, Trace, hash_bytes};
use crate::clock::Nanos;
use crate::config::{Config, Primitive};
use crate::engine;
use crate::session::Service;
use base::Result;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

/// What it costs to run a strand.
const STEP_NS: Nanos = 300;
/// What it costs to pass a point.
const POINT_NS: Nanos = 40;
/// How long the stop of the server, and the way to the last check, may take.
const END_PATIENCE_NS: Nanos = 60_000_000_000;

/// Something that is due at a time.
struct Due {
    at: Nanos,
    number: u64,
    act: Box<dyn FnOnce(&World)>,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.number == other.number
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// How the scheduler of this run is inclined; the seed decides.
struct Habits {
    /// How often a point switches, in a million.
    switch: u32,
    /// How often a point holds its strand up for milliseconds, in a million.
    freeze: u32,
    /// How often a sleep ends for no reason, in a million.
    spurious: u32,
    /// The runnable strand of the highest priority runs, rather than any.
    by_priority: bool,
    /// How often a strand that runs gets a new priority, in a million.
    change: u32,
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Clients are at work.
    Clients,
    /// They are done; the server comes to rest.
    Settling,
    /// The server has been told to stop.
    Stopping,
    Done,
}

pub(super) type MakeService = Box<dyn Fn() -> Result<Box<dyn Service>>>;
pub(super) type Check = Box<dyn FnOnce() -> std::result::Result<(), String>>;

/// See the head of this file.
pub(crate) struct World {
    pub(super) options: Options,
    pub(super) config: Config,
    pub(super) random: Random,
    pub(super) trace: Trace,
    habits: Habits,
    now: Cell<Nanos>,
    steps: Cell<u64>,
    due: RefCell<BinaryHeap<Reverse<Due>>>,
    due_number: Cell<u64>,
    next_strand: Cell<u32>,
    pub(super) strands: RefCell<Vec<Rc<Strand>>>,
    runnable: RefCell<Vec<Rc<Strand>>>,
    current: RefCell<Option<Rc<Strand>>>,
    /// Counts of semaphores, by engine.
    semaphores: RefCell<BTreeMap<u32, u32>>,
    pub(super) clients: Cell<u32>,
    /// When a client last got anywhere.
    progress: Cell<Nanos>,
    pub(super) stage: Cell<Stage>,
    stage_since: Cell<Nanos>,
    pub(super) check: RefCell<Option<Check>>,
    pub(super) make: MakeService,
    pub(super) supervisor: Supervisor,
    pub(super) net: Net,
    pub(super) disk: Disk,
    /// What completion actions do.
    pub(super) on_completion: Cell<Option<fn(&crate::io::Completion)>>,
    pub(super) counts: RefCell<Report>,
    failure: RefCell<Option<Failure>>,
}

impl World {
    pub(super) fn new(seed: u64, options: Options, make: MakeService) -> World {
        let random = Random::new(seed);
        let habits = Habits {
            switch: random.pick(&[5_000, 30_000, 100_000, 300_000]),
            freeze: random.pick(&[0, 0, 200, 2_000]),
            spurious: random.pick(&[0, 10_000]),
            by_priority: random.chance(300_000),
            change: random.pick(&[5_000, 50_000]),
        };
        let primitive = options.primitive.unwrap_or_else(|| random.pick(Primitive::ALL));
        World {
            config: options.config(primitive),
            trace: Trace::new(seed, options.verbose),
            disk: Disk::new(options.disk),
            on_completion: Cell::new(None),
            options,
            random,
            habits,
            // Not zero, so that a time that was never set is seen.
            now: Cell::new(1_000_000_000),
            steps: Cell::new(0),
            due: RefCell::default(),
            due_number: Cell::new(0),
            next_strand: Cell::new(0),
            strands: RefCell::default(),
            runnable: RefCell::default(),
            current: RefCell::default(),
            semaphores: RefCell::default(),
            clients: Cell::new(0),
            progress: Cell::new(0),
            stage: Cell::new(Stage::Clients),
            stage_since: Cell::new(0),
            check: RefCell::default(),
            make,
            supervisor: Supervisor::default(),
            net: Net::default(),
            counts: RefCell::default(),
            failure: RefCell::default(),
        }
    }

    pub(super) fn now(&self) -> Nanos {
        self.now.get()
    }

    /// Prints a step, if that is wanted.
    pub(super) fn note(&self, text: impl FnOnce() -> String) {
        if self.trace.verbose {
            let name = self.current.borrow().as_ref().map_or("-".to_string(), |strand| strand.name.clone());
            eprintln!("{:>12.3} us  {name:<20} {}", self.now() as f64 / 1000.0, text());
        }
    }

    /// Lets something happen after a while.
    pub(super) fn after(&self, span: Nanos, act: impl FnOnce(&World) + 'static) {
        let number = self.due_number.get();
        self.due_number.set(number + 1);
        self.due.borrow_mut().push(Reverse(Due { at: self.now() + span, number, act: Box::new(act) }));
    }

    /// The run has failed. The first failure counts; the run ends when the scheduler is back.
    pub(super) fn fail(&self, what: String) {
        if self.failure.borrow().is_none() {
            let dump = self.dump();
            *self.failure.borrow_mut() = Some(Failure { what, dump, report: Report::default() });
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    // ---- strands

    pub(super) fn spawn(&self, name: String, host: Option<Rc<Host>>, body: Box<dyn FnOnce()>) -> Rc<Strand> {
        let id = self.next_strand.get();
        self.next_strand.set(id + 1);
        let name = if host.is_some() { format!("{name} #{id}") } else { name };
        let strand = Rc::new(Strand::new(id, name, host, body));
        strand.priority.set(self.random.next());
        self.strands.borrow_mut().push(strand.clone());
        self.runnable.borrow_mut().push(strand.clone());
        strand
    }

    /// The strand that runs. Panics in the scheduler: what is called there must not wait.
    pub(super) fn current(&self) -> Rc<Strand> {
        self.current.borrow().clone().expect("the scheduler itself cannot wait")
    }

    pub(super) fn current_host(&self) -> Option<Rc<Host>> {
        self.current.borrow().as_ref().and_then(|strand| strand.host.clone())
    }

    fn in_strand(&self) -> bool {
        self.current.borrow().is_some()
    }

    /// Leaves the running strand, through the fiber that runs on it if there is one.
    pub(super) fn switch(&self) {
        match engine::local().and_then(|local| local.fiber.get()) {
            Some(fiber) => fiber.preempt(),
            None => self.current().suspend(),
        }
    }

    /// Leaves the running strand for good: it is killed as soon as the scheduler is back.
    pub(super) fn vanish(&self) -> ! {
        loop {
            self.current().state.set(State::Frozen);
            self.switch();
        }
    }

    fn make_runnable(&self, strand: &Rc<Strand>, why: Wake) {
        strand.woken.set(why);
        strand.state.set(State::Runnable);
        self.trace.mix(Step::Wake, (strand.id as u64) << 2 | why as u64);
        if self.options.every_point {
            self.note(|| format!("wakes {}: {why:?}", strand.name));
        }
        self.runnable.borrow_mut().push(strand.clone());
    }

    /// Wakes the strand if it still sleeps the sleep of that number, after a while.
    fn wake_later(&self, strand: &Rc<Strand>, span: Nanos, why: Wake) {
        let (strand, sleep) = (strand.clone(), strand.sleep.get());
        self.after(span, move |world| {
            let asleep = matches!(strand.state.get(), State::Sleeping | State::Frozen);
            if asleep && strand.sleep.get() == sleep {
                world.make_runnable(&strand, why);
            }
        });
    }

    /// Sleeps until one of the keys is woken, the deadline passes, or a signal comes. May come back early.
    pub(super) fn sleep(&self, keys: [Key; 2], deadline: Option<Nanos>) -> Wake {
        let strand = self.current();
        strand.keys.set(keys);
        strand.deadline.set(deadline);
        strand.sleep.set(strand.sleep.get() + 1);
        strand.state.set(State::Sleeping);
        self.trace.mix(Step::Sleep, strand.id as u64);
        self.note(|| format!("sleeps on {keys:?}"));
        if let Some(deadline) = deadline {
            self.wake_later(&strand, deadline.saturating_sub(self.now()), Wake::TimedOut);
        }
        if self.random.chance(self.habits.spurious) {
            self.wake_later(&strand, self.random.between(1, 100_000), Wake::Woken);
        }
        self.switch();
        strand.woken.get()
    }

    /// Wakes sleepers; all of them or any one. Answers whether there was one.
    pub(super) fn wake(&self, key: Key, all: bool) -> bool {
        let sleepers: Vec<Rc<Strand>> =
            self.strands.borrow().iter().filter(|strand| strand.has_key(key)).cloned().collect();
        if sleepers.is_empty() {
            return false;
        }
        if all {
            sleepers.iter().for_each(|strand| self.make_runnable(strand, Wake::Woken));
        } else {
            let one = self.random.below(sleepers.len() as u64) as usize;
            self.make_runnable(&sleepers[one], Wake::Woken);
        }
        true
    }

    /// A signal whose handler does nothing: ends the strand's sleep, if it sleeps.
    pub(super) fn signal(&self, id: u32) {
        let strand = self.strands.borrow().iter().find(|strand| strand.id == id).cloned();
        if let Some(strand) = strand
            && strand.state.get() == State::Sleeping
        {
            self.make_runnable(&strand, Wake::Signalled);
        }
    }

    /// Holds the strand that runs up for a while.
    pub(super) fn pause(&self, span: Nanos) {
        let strand = self.current();
        strand.sleep.set(strand.sleep.get() + 1);
        strand.state.set(State::Frozen);
        self.trace.mix(Step::Freeze, span);
        self.wake_later(&strand, span, Wake::TimedOut);
        self.switch();
    }

    /// `sched_yield`: others go first, for long enough that who yields in a loop does not fill the run.
    pub(super) fn yield_now(&self) {
        self.point("yield");
        self.pause(self.random.between(5_000, 100_000));
    }

    /// Lets others run.
    pub(super) fn give_way(&self) {
        let strand = self.current();
        self.runnable.borrow_mut().push(strand);
        self.switch();
    }

    // ---- what engines sleep on

    /// A futex: sleeps while the word reads `value`.
    pub(super) fn sleep_word(&self, word: &std::sync::atomic::AtomicU32, value: u32, deadline: Option<Nanos>) {
        self.point("futex wait");
        if word.load(std::sync::atomic::Ordering::SeqCst) == value {
            self.sleep([Key::Word(word.as_ptr() as usize), Key::None], deadline);
        }
    }

    pub(super) fn wake_word(&self, word: &std::sync::atomic::AtomicU32, count: u32) {
        self.wake(Key::Word(word.as_ptr() as usize), count > 1);
        self.point("futex wake");
    }

    /// A semaphore: wake-ups that nobody sleeps for are counted.
    pub(super) fn sleep_semaphore(&self, engine: u32, deadline: Option<Nanos>) {
        self.point("semaphore wait");
        let take = |all: bool| {
            let mut semaphores = self.semaphores.borrow_mut();
            let count = semaphores.entry(engine).or_insert(0);
            let had = *count > 0;
            *count = if all { 0 } else { count.saturating_sub(1) };
            had
        };
        let all = self.config.primitive == Primitive::Eventfd;
        if !take(all) && self.sleep([Key::Semaphore(engine), Key::None], deadline) == Wake::Woken {
            take(all);
        }
    }

    pub(super) fn wake_semaphore(&self, engine: u32) {
        *self.semaphores.borrow_mut().entry(engine).or_insert(0) += 1;
        self.wake(Key::Semaphore(engine), false);
        self.point("semaphore post");
    }

    pub(super) fn forget_semaphores(&self) {
        self.semaphores.borrow_mut().clear();
    }

    // ---- points

    /// A place where others may run, where a host may die, and where the running strand may be held up.
    pub(super) fn point(&self, name: &'static str) {
        if !self.in_strand() || std::thread::panicking() {
            return;
        }
        self.now.set(self.now() + POINT_NS);
        self.steps.set(self.steps.get() + 1);
        self.trace.mix(Step::Point, hash_bytes(name.as_bytes()));
        if self.options.every_point {
            let session = engine::current_session().map_or(String::new(), |slot| format!(" (session {})", slot.id()));
            self.note(|| format!("passes {name:?}{session}"));
        }
        if self.steps.get() > self.options.steps_max {
            self.fail(format!("more than {} steps: the run goes round in circles", self.options.steps_max));
        }
        if self.has_failed() {
            self.vanish();
        }
        let holds_spinlock = engine::local().is_some_and(|local| local.shared.spins_held() > 0);
        self.kill_at_point(name, holds_spinlock);
        if holds_spinlock {
            return;
        }
        if self.random.chance(self.habits.switch) {
            self.note(|| format!("is switched away from at {name:?}"));
            if self.habits.by_priority && self.random.chance(self.habits.change * 10) {
                self.current().priority.set(self.random.next());
            }
            self.give_way();
        } else if self.random.chance(self.habits.freeze) {
            self.note(|| format!("is held up at {name:?}"));
            self.pause(self.random.between(1_000_000, 30_000_000));
        }
    }

    // ---- the loop

    fn next_strand(&self) -> Option<Rc<Strand>> {
        let mut runnable = self.runnable.borrow_mut();
        runnable.retain(|strand| strand.state.get() == State::Runnable);
        if runnable.is_empty() {
            return None;
        }
        let at = match self.habits.by_priority {
            true => (0..runnable.len()).max_by_key(|&at| runnable[at].priority.get()).unwrap_or(0),
            false => self.random.below(runnable.len() as u64) as usize,
        };
        let strand = runnable.swap_remove(at);
        if self.habits.by_priority && self.random.chance(self.habits.change) {
            strand.priority.set(self.random.next());
        }
        Some(strand)
    }

    fn run(&self, strand: Rc<Strand>) {
        self.trace.mix(Step::Run, strand.id as u64);
        self.steps.set(self.steps.get() + 1);
        self.now.set(self.now() + STEP_NS);
        if strand.host.is_none() {
            self.progress.set(self.now());
        }
        *self.current.borrow_mut() = Some(strand.clone());
        // SAFETY: (1) the pointer was taken from the same thread-local when the strand was left; (2) engines of the
        // simulator are leaked.
        unsafe { engine::set_local(strand.local.get()) };
        let alive = strand.resume();
        strand.local.set(engine::local().map_or(std::ptr::null(), |local| local));
        // SAFETY: no engine runs while the scheduler does.
        unsafe { engine::set_local(std::ptr::null()) };
        *self.current.borrow_mut() = None;
        if !alive {
            self.strands.borrow_mut().retain(|other| other.id != strand.id);
        }
    }

    pub(super) fn forget_strand(&self, strand: &Rc<Strand>) {
        strand.kill();
        if let Some(port) = strand.port.take() {
            self.net.close_port(port);
        }
        self.strands.borrow_mut().retain(|other| other.id != strand.id);
    }

    fn do_what_is_due(&self) {
        loop {
            let due = {
                let mut heap = self.due.borrow_mut();
                match heap.peek() {
                    Some(first) if first.0.at <= self.now() => heap.pop(),
                    _ => return,
                }
            };
            if let Some(Reverse(due)) = due {
                (due.act)(self);
            }
            if self.has_failed() {
                return;
            }
        }
    }

    /// Moves the clock to what is due next; false if nothing is.
    fn wait_for_what_is_due(&self) -> bool {
        let next = self.due.borrow().peek().map(|first| first.0.at);
        if let Some(at) = next {
            self.now.set(at.max(self.now()));
        }
        next.is_some()
    }

    fn look_for_stuck_clients(&self) {
        let quiet = self.now().saturating_sub(self.progress.get());
        if self.stage.get() != Stage::Clients || quiet < self.options.patience_ns {
            return;
        }
        let stuck = |strand: &Rc<Strand>| strand.host.is_none() && strand.deadline.get().is_none();
        let clients = self.strands.borrow().iter().filter(|strand| strand.host.is_none()).count();
        if clients > 0 && self.strands.borrow().iter().filter(|strand| strand.host.is_none()).all(stuck) {
            self.fail(format!("{clients} clients wait and nothing comes: a lost wake-up or a deadlock"));
        }
    }

    /// Runs until the clients are done, the server has come to rest, has been checked, and has stopped.
    pub(super) fn run_to_end(&self) -> std::result::Result<Report, Box<Failure>> {
        self.start_server();
        self.plan_trouble();
        while self.stage.get() != Stage::Done && !self.has_failed() {
            self.do_what_is_due();
            if self.has_failed() {
                break;
            }
            self.bury_the_dead();
            match self.next_strand() {
                Some(strand) => self.run(strand),
                None => {
                    self.look_for_stuck_clients();
                    if !self.wait_for_what_is_due() {
                        self.fail("nothing is runnable and nothing is due: a deadlock".into());
                    }
                }
            }
            self.bury_the_dead();
            self.advance_stage();
        }
        self.tear_down();
        let mut report = *self.counts.borrow();
        report.trace_hash = self.trace.hash();
        report.steps = self.steps.get();
        report.sim_time = self.now();
        match self.failure.borrow_mut().take() {
            Some(failure) => Err(Box::new(Failure { report, ..failure })),
            None => Ok(report),
        }
    }

    fn enter(&self, stage: Stage) {
        self.stage.set(stage);
        self.stage_since.set(self.now());
        self.note(|| format!("{stage:?}"));
    }

    fn advance_stage(&self) {
        match self.stage.get() {
            Stage::Clients if self.clients.get() == 0 => self.enter(Stage::Settling),
            Stage::Clients | Stage::Done => return,
            Stage::Settling if self.has_settled() => {
                if let Some(check) = self.check.borrow_mut().take()
                    && let Err(what) = check()
                {
                    self.fail(what);
                }
                if let Err(what) = super::checks::at_rest() {
                    self.fail(what);
                }
                self.enter(Stage::Stopping);
                self.stop_server();
            }
            Stage::Stopping if self.has_stopped() => {
                if let Err(what) = super::checks::after_stop() {
                    self.fail(what);
                }
                self.enter(Stage::Done);
            }
            _ => {}
        }
        if self.now().saturating_sub(self.stage_since.get()) > END_PATIENCE_NS {
            self.fail(match self.stage.get() {
                Stage::Settling => "the clients are gone, but the server does not come to rest".into(),
                _ => "the server does not stop".into(),
            });
        }
    }

    /// Where everybody is, for people.
    fn dump(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let _ = writeln!(text, "at {} us, {:?}", self.now() / 1000, self.stage.get());
        for strand in self.strands.borrow().iter() {
            // The engine pointer of the strand that runs is in the thread-local now.
            let running = self.current.borrow().as_ref().is_some_and(|current| current.id == strand.id);
            // SAFETY: engines of the simulator are leaked.
            let stored = unsafe { strand.local.get().as_ref() };
            let local = if running { engine::local() } else { stored };
            let _ = write!(text, "  {:<16} {:?}", strand.name, strand.state.get());
            if strand.state.get() == State::Sleeping {
                let _ = write!(text, " on {:?}", strand.keys.get());
            }
            if let Some(local) = local {
                let engine = local.shared;
                let _ = write!(text, "; engine {} is {}", engine.id(), engine.state().as_str());
                if let Some(session) = engine.session() {
                    let _ = write!(text, ", runs session {session}");
                }
            }
            text.push('\n');
        }
        if crate::region::exists() {
            super::checks::dump_sessions(&mut text);
        }
        self.net.dump(&mut text);
        text
    }
}

/// The world of a run, while it lasts.
///
/// Only for strands of that run.
pub(super) fn of_run(at: *const World) -> Option<&'static World> {
    super::world().filter(|world| std::ptr::eq(*world, at))
}
