//! Simulated hosts, and the part of the supervisor: who is forked, who has died, what is told to whom, restarts, the stop.
//!
//! It follows [`crate::supervisor`] step by step, with messages that take a while in place of sockets, and deaths that are
//! noticed after a while in place of `SIGCHLD`. What hosts run is the real thing: engines run [`crate::hosting`]'s loops,
//! the background host runs the supervisor's own main function for it, with the real clean-up.
//!
//! ```text
//!  start_server -> fork(Background) -> READY -> fork the group -> clients are let in
//!  kill(host) -> its strands are forgotten, its descriptors close -> noticed -> DIED -> the background host cleans up
//!             -> REAPED -> fork a replacement
//!             -> or it exits with RESTART -> every host is killed, the region goes -> start_server
//!  power cut  -> the same, and the disk loses what was not flushed
//! ```

use super::strand::{Key, STACK_BYTES, State as StrandState, Strand, put_stack, take_stack};
use super::trace::Step;
use super::world::World;
use crate::clock::Nanos;
use crate::config::{EngineKind, Sessions};
use crate::engine::{self, Local, State};
use crate::fiber::stack::Stack;
use crate::net::KeptMessage;
use crate::session::Service;
use crate::supervisor::{Message, RESTART_STATUS};
use crate::{hosting, region, supervisor};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// How often power fails again soon after everything has begun anew, in a million: in the midst of recovery.
const CUT_AGAIN_CHANCE: u32 = 500_000;
/// So soon.
const CUT_AGAIN_NS: Nanos = 40_000_000;

/// What a host is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Background,
    /// One engine of a group that is like processes; with fibers, which one.
    Engine(Option<u32>),
    /// All engines of a group that is like threads.
    Group,
}

/// A simulated process.
pub(crate) struct Host {
    pub(super) number: u32,
    pub(super) role: Role,
    pub(super) alive: Cell<bool>,
    pub(super) stopping: Cell<bool>,
    forked_at: Nanos,
    /// Its descriptors: connections by number.
    pub(super) descriptors: RefCell<Vec<Option<u32>>>,
    /// What [`crate::net`] knows of sockets in this process; leaked, as the process's statics are.
    pub(super) sockets: &'static [AtomicU64],
    pub(super) swept: &'static AtomicU32,
    /// Stacks that its engines' fibers have.
    lent: RefCell<Vec<(usize, Stack)>>,
}

impl Host {
    /// Its number as a process.
    pub(super) fn pid(&self) -> i32 {
        self.number as i32 + 1000
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Default)]
enum Stop {
    #[default]
    No,
    Sessions,
    Hosts,
    Background,
}

/// What the supervisor knows.
#[derive(Default)]
pub(super) struct Supervisor {
    pub(super) hosts: RefCell<Vec<Rc<Host>>>,
    next_host: Cell<u32>,
    /// Which start of the server this is: what belongs to an earlier one is stale.
    start: Cell<u32>,
    up: Cell<bool>,
    ready: Cell<bool>,
    stop: Cell<Stop>,
    /// Hosts that died and are not cleaned up after.
    dead: RefCell<Vec<(u32, Role)>>,
    /// Hosts to be killed when the scheduler is back; with what the process answered at its end, if it ended by itself.
    doomed: RefCell<Vec<(u32, Option<i32>)>>,
    restart: Cell<bool>,
    power_cut: Cell<bool>,
    kills_left: Cell<u32>,
    last_message_at: Cell<Nanos>,
    /// Deaths that the supervisor has not noticed.
    unnoticed: Cell<u32>,
    /// Messages to the background host that it has not read.
    to_background: RefCell<VecDeque<Message>>,
    /// Clients' sockets that outlive the hosts: by session slot, the generation and the connection.
    pub(super) kept: RefCell<BTreeMap<u32, (u32, u32)>>,
    service: Cell<Option<&'static dyn Service>>,
}

impl World {
    // ---- start, restart

    /// Makes the region and the service, and forks the background host.
    pub(super) fn start_server(&self) {
        let this = &self.supervisor;
        this.start.set(this.start.get() + 1);
        this.up.set(true);
        this.ready.set(false);
        self.forget_semaphores();
        supervisor::make_kernel(&self.config, region::Backing::Private).expect("the region can be made");
        self.net.open(&self.config);
        match (self.make)() {
            // Leaked, as the real one is: killed strands refer to it.
            Ok(service) => {
                this.service.set(Some(Box::leak(service)));
                self.fork(Role::Background);
            }
            Err(error) => self.fail(format!("the service cannot be made: {error}")),
        }
    }

    /// Everything stops where it stands.
    fn pull_down(&self, power_cut: bool) {
        let this = &self.supervisor;
        let hosts: Vec<Rc<Host>> = this.hosts.borrow().clone();
        for host in hosts {
            self.forget_host(&host);
        }
        self.stop_disk(power_cut);
        this.up.set(false);
        this.unnoticed.set(0);
        this.dead.borrow_mut().clear();
        this.to_background.borrow_mut().clear();
        this.kept.borrow_mut().clear();
        self.net.close_all(self);
        if region::exists() {
            let served = engine::engines().iter().map(|engine| engine.stats.requests.get()).sum::<u64>();
            self.counts.borrow_mut().requests += served;
            // SAFETY: every strand that ran in the region has been forgotten.
            unsafe { region::destroy() };
        }
    }

    fn restart(&self, power_cut: bool) {
        self.trace.mix(if power_cut { Step::PowerCut } else { Step::Restart }, 0);
        self.note(|| if power_cut { "power cut".into() } else { "everything restarts".to_string() });
        {
            let mut counts = self.counts.borrow_mut();
            if power_cut {
                counts.power_cuts += 1;
            } else {
                counts.restarts += 1;
            }
        }
        self.pull_down(power_cut);
        self.after(self.random.between(100_000, 20_000_000), |world| {
            world.start_server();
            if world.options.power_cuts > 0 && world.random.chance(CUT_AGAIN_CHANCE) {
                world.cut_later(CUT_AGAIN_NS);
            }
        });
    }

    /// How often everything has restarted.
    pub(super) fn restarts(&self) -> u32 {
        self.supervisor.start.get() - 1
    }

    /// At the end of a run: nothing is left.
    pub(super) fn tear_down(&self) {
        self.pull_down(false);
        let clients: Vec<_> = self.strands.borrow().clone();
        for strand in clients {
            self.forget_strand(&strand);
        }
    }

    // ---- hosts

    fn fork(&self, role: Role) {
        let this = &self.supervisor;
        let number = this.next_host.get() + 1;
        this.next_host.set(number);
        let slots = (0..self.config.connections_max() + crate::session::BACKGROUND_SLOTS).map(|_| AtomicU64::new(0));
        let host = Rc::new(Host {
            number,
            role,
            alive: Cell::new(true),
            stopping: Cell::new(false),
            forked_at: self.now(),
            descriptors: RefCell::new(vec![None; 3]),
            sockets: Vec::leak(slots.collect()),
            swept: Box::leak(Box::default()),
            lent: RefCell::default(),
        });
        self.trace.mix(Step::Fork, number as u64);
        self.note(|| format!("host {number} is forked: {role:?}"));
        this.hosts.borrow_mut().push(host.clone());
        let service = this.service.get().expect("the service is made before the first fork");
        let config = supervisor::config();
        match role {
            Role::Background => {
                let dead: Vec<u32> = this.dead.borrow().iter().map(|dead| dead.0).collect();
                let main = move || match supervisor::background_main(config, service, number, &dead) {
                    Ok(()) => 0,
                    Err(error) => {
                        with_world(|world| world.fail(format!("the server does not start: {error}")));
                        1
                    }
                };
                self.spawn_main(format!("background, host {number}"), host, main);
            }
            Role::Engine(index) => {
                let main = move || {
                    run_engine(EngineKind::Process, service, number, index);
                    0
                };
                self.spawn_main(format!("engine, host {number}"), host, main);
            }
            Role::Group => {
                let first = match self.config.sessions {
                    Sessions::Dedicated => self.config.spare_engines.max(1),
                    Sessions::Shared | Sessions::Fiber => self.config.engines.max(1),
                };
                for index in 0..first {
                    self.spawn_engine(&host, (self.config.sessions == Sessions::Fiber).then_some(index));
                }
            }
        }
    }

    /// A host's first thread: the process ends with it.
    fn spawn_main(&self, name: String, host: Rc<Host>, main: impl FnOnce() -> i32 + 'static) {
        let number = host.number;
        let body = move || {
            let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(main));
            with_world(|world| match status {
                Ok(status) => world.supervisor.doomed.borrow_mut().push((number, Some(status))),
                Err(panic) => world.fail(format!("host {number} panics: {}", hosting::panic_text(&*panic))),
            });
        };
        self.spawn(name, Some(host), Box::new(body));
    }

    /// Another thread of a host.
    pub(super) fn spawn_thread(&self, name: String, host: Rc<Host>, body: impl FnOnce() + 'static) {
        let number = host.number;
        let body = move || {
            if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
                let text = hosting::panic_text(&*panic).to_string();
                with_world(|world| world.fail(format!("a thread of host {number} panics: {text}")));
            }
        };
        self.spawn(name, Some(host), Box::new(body));
    }

    fn spawn_engine(&self, host: &Rc<Host>, index: Option<u32>) {
        let service = self.supervisor.service.get().expect("the service is made before the first fork");
        let number = host.number;
        let name = format!("engine, host {number}");
        self.spawn_thread(name, host.clone(), move || run_engine(EngineKind::Thread, service, number, index));
    }

    pub(super) fn host(&self, number: u32) -> Option<Rc<Host>> {
        self.supervisor.hosts.borrow().iter().find(|host| host.number == number).cloned()
    }

    /// A group's engine asks for another one.
    pub(super) fn ask_for_engine(&self) {
        match self.options.hosts {
            EngineKind::Process => self.tell_supervisor(Message::MoreEngines),
            _ => {
                let host = self.current_host().expect("an engine asks");
                self.after(self.random.between(5_000, 200_000), move |world| {
                    if host.alive.get() && !host.stopping.get() {
                        world.spawn_engine(&host, None);
                    }
                });
            }
        }
    }

    /// The host is gone from this instant: its strands are forgotten, its descriptors closed.
    fn forget_host(&self, host: &Rc<Host>) {
        host.alive.set(false);
        let strands: Vec<_> = self
            .strands
            .borrow()
            .iter()
            .filter(|strand| strand.host.as_ref().is_some_and(|other| other.number == host.number))
            .cloned()
            .collect();
        for strand in strands {
            self.forget_strand(&strand);
        }
        for (bytes, stack) in host.lent.borrow_mut().drain(..) {
            put_stack(bytes, stack);
        }
        self.net.close_descriptors(self, host);
        self.supervisor.hosts.borrow_mut().retain(|other| other.number != host.number);
    }

    /// The running host ends here.
    pub(super) fn exit(&self, status: i32) -> ! {
        let host = self.current_host().expect("a host exits");
        self.supervisor.doomed.borrow_mut().push((host.number, Some(status)));
        self.vanish()
    }

    /// Hosts that were killed or have ended, seen by the supervisor a little later. From the scheduler only.
    pub(super) fn bury_the_dead(&self) {
        let doomed: Vec<_> = self.supervisor.doomed.borrow_mut().drain(..).collect();
        for (number, status) in doomed {
            let Some(host) = self.host(number) else { continue };
            self.trace.mix(Step::Death, (number as u64) << 32 | status.unwrap_or(-9) as u32 as u64);
            self.note(|| match status {
                Some(status) => format!("host {number} ends with {status}"),
                None => format!("host {number} is killed"),
            });
            self.forget_host(&host);
            let (start, role) = (self.supervisor.start.get(), host.role);
            self.supervisor.unnoticed.set(self.supervisor.unnoticed.get() + 1);
            self.after(self.random.between(5_000, 300_000), move |world| {
                if world.supervisor.start.get() == start && world.supervisor.up.get() {
                    world.supervisor.unnoticed.set(world.supervisor.unnoticed.get() - 1);
                    world.notice_death(number, role, status);
                }
            });
        }
        if self.supervisor.power_cut.take() {
            self.restart(true);
        } else if self.supervisor.restart.take() {
            self.restart(false);
        }
        // A group that is like threads ends when its last engine has.
        let ended = |host: &Rc<Host>| {
            host.role == Role::Group
                && host.stopping.get()
                && !self.strands.borrow().iter().any(|s| s.host.as_ref().is_some_and(|h| h.number == host.number))
        };
        let ended: Vec<u32> = self.supervisor.hosts.borrow().iter().filter(|h| ended(h)).map(|h| h.number).collect();
        self.supervisor.doomed.borrow_mut().extend(ended.into_iter().map(|number| (number, Some(0))));
    }

    fn notice_death(&self, number: u32, role: Role, status: Option<i32>) {
        let this = &self.supervisor;
        let stopping = this.stop.get() != Stop::No;
        match status {
            Some(RESTART_STATUS) => this.restart.set(true),
            Some(0) if stopping => self.go_on_stopping(),
            _ => {
                this.dead.borrow_mut().push((number, role));
                if role != Role::Background {
                    self.tell_background(Message::Died(number));
                } else {
                    self.fork(Role::Background);
                }
            }
        }
    }

    fn reaped(&self, number: u32) {
        let this = &self.supervisor;
        let at = this.dead.borrow().iter().position(|dead| dead.0 == number);
        let Some(at) = at else { return };
        let (_, role) = this.dead.borrow_mut().swap_remove(at);
        if this.stop.get() != Stop::No {
            return self.go_on_stopping();
        }
        match role {
            Role::Background => {}
            Role::Engine(None) if self.config.sessions == Sessions::Dedicated => {
                let engines = this.hosts.borrow().iter().filter(|host| host.role != Role::Background).count() as u32;
                if engines < self.config.spare_engines.max(1) {
                    self.fork(role);
                }
            }
            Role::Engine(_) | Role::Group => self.fork(role),
        }
    }

    // ---- messages

    /// Sends the supervisor a message; they arrive in order.
    pub(super) fn tell_supervisor(&self, message: Message) {
        let conn = match message {
            Message::Kept(KeptMessage { slot, keep: true, .. }) => self.net.hold_for_supervisor(self, slot),
            _ => None,
        };
        let this = &self.supervisor;
        let at = (self.now() + self.random.between(1_000, 100_000)).max(this.last_message_at.get());
        this.last_message_at.set(at);
        let start = this.start.get();
        self.after(at - self.now(), move |world| {
            if world.supervisor.start.get() == start && world.supervisor.up.get() {
                world.supervisor_hears(message, conn);
            }
        });
    }

    fn supervisor_hears(&self, message: Message, conn: Option<u32>) {
        self.trace.mix(Step::Message, 0);
        self.note(|| format!("the supervisor hears {message:?}"));
        let this = &self.supervisor;
        match message {
            Message::Ready if !this.ready.get() => {
                this.ready.set(true);
                match (self.options.hosts, self.config.sessions) {
                    (EngineKind::Process, Sessions::Fiber) => {
                        (0..self.config.engines.max(1)).for_each(|index| self.fork(Role::Engine(Some(index))));
                    }
                    (EngineKind::Process, Sessions::Shared) => {
                        (0..self.config.engines.max(1)).for_each(|_| self.fork(Role::Engine(None)));
                    }
                    (EngineKind::Process, Sessions::Dedicated) => {
                        (0..self.config.spare_engines.max(1)).for_each(|_| self.fork(Role::Engine(None)));
                    }
                    _ => self.fork(Role::Group),
                }
            }
            Message::MoreEngines if this.stop.get() == Stop::No => self.fork(Role::Engine(None)),
            Message::Reaped(host) => self.reaped(host),
            Message::SessionsGone if this.stop.get() == Stop::Sessions => {
                this.stop.set(Stop::Hosts);
                self.go_on_stopping();
            }
            Message::Kept(kept) => self.net.keep(self, kept, conn),
            _ => {}
        }
    }

    fn tell_background(&self, message: Message) {
        let start = self.supervisor.start.get();
        self.after(self.random.between(1_000, 100_000), move |world| {
            if world.supervisor.start.get() == start && world.supervisor.up.get() {
                world.supervisor.to_background.borrow_mut().push_back(message);
                world.wake(Key::Messages, true);
            }
        });
    }

    /// The background host waits for messages.
    pub(super) fn wait_for_message(&self, span: Nanos) {
        self.point("poll");
        if self.supervisor.to_background.borrow().is_empty() {
            self.sleep([Key::Messages, Key::None], Some(self.now() + span));
        }
    }

    pub(super) fn unread_messages(&self) -> Vec<Message> {
        self.supervisor.to_background.borrow().iter().copied().collect()
    }

    pub(super) fn next_message(&self) -> Option<Message> {
        self.supervisor.to_background.borrow_mut().pop_front()
    }

    // ---- the stop

    pub(super) fn stop_server(&self) {
        self.supervisor.stop.set(Stop::Sessions);
        self.net.refuse();
        self.tell_background(Message::Stop);
        self.stop_tick();
    }

    /// Repeats what hosts were told, because a signal may come just before the sleep that it was meant to end.
    fn stop_tick(&self) {
        self.go_on_stopping();
        self.after(20_000_000, World::stop_tick);
    }

    fn go_on_stopping(&self) {
        let this = &self.supervisor;
        let groups_gone = this.hosts.borrow().iter().all(|host| host.role == Role::Background);
        if this.stop.get() == Stop::Hosts && groups_gone && this.dead.borrow().is_empty() {
            this.stop.set(Stop::Background);
        }
        match this.stop.get() {
            Stop::Hosts => self.ask_hosts_to_end(false),
            Stop::Background => self.ask_hosts_to_end(true),
            _ => {}
        }
    }

    fn ask_hosts_to_end(&self, background: bool) {
        let hosts: Vec<Rc<Host>> = self.supervisor.hosts.borrow().clone();
        for host in hosts.iter().filter(|host| (host.role == Role::Background) == background) {
            host.stopping.set(true);
            for engine in engine::engines() {
                if host.role == Role::Group
                    && engine.host.load(Relaxed) == host.number
                    && engine.state() != State::Absent
                {
                    engine::ring(engine);
                }
            }
            let strands: Vec<u32> = self
                .strands
                .borrow()
                .iter()
                .filter(|strand| strand.host.as_ref().is_some_and(|other| other.number == host.number))
                .map(|strand| strand.id)
                .collect();
            strands.into_iter().for_each(|id| self.signal(id));
        }
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.supervisor.hosts.borrow().is_empty() && self.supervisor.stop.get() == Stop::Background
    }

    /// True when nothing is left to be done for clients that have gone.
    pub(super) fn has_settled(&self) -> bool {
        let this = &self.supervisor;
        this.kills_left.set(0);
        this.up.get()
            && this.ready.get()
            && this.unnoticed.get() == 0
            && this.dead.borrow().is_empty()
            && this.doomed.borrow().is_empty()
            && self.net.is_quiet()
            && self.engines_sleep()
            && super::checks::nobody_runs()
    }

    fn engines_sleep(&self) -> bool {
        let of_group = |strand: &&Rc<Strand>| strand.host.as_ref().is_some_and(|host| host.role != Role::Background);
        self.strands.borrow().iter().filter(of_group).all(|strand| strand.state.get() == StrandState::Sleeping)
    }

    // ---- trouble

    /// Decides when hosts are killed and power fails, apart from what happens at points.
    pub(super) fn plan_trouble(&self) {
        let options = &self.options;
        let timed = if options.kill_chance == 0 { options.kills } else { options.kills / 2 };
        self.supervisor.kills_left.set(options.kills);
        for _ in 0..timed {
            self.after(self.random.below(options.trouble_ns), |world| {
                let victims = world.victims();
                if !victims.is_empty() && world.supervisor.kills_left.get() > 0 {
                    let victim = world.random.pick(&victims);
                    world.doom(victim);
                }
            });
        }
        for _ in 0..options.power_cuts {
            self.cut_later(options.trouble_ns);
        }
    }

    /// Power fails within a time, if it has not done so often enough.
    fn cut_later(&self, within: Nanos) {
        self.after(self.random.below(within), |world| {
            let left = world.counts.borrow().power_cuts < world.options.power_cuts;
            if left && world.supervisor.up.get() && world.clients.get() > 0 {
                world.supervisor.power_cut.set(true);
            }
        });
    }

    /// True while the server is up and clients are at work.
    pub(super) fn serves_clients(&self) -> bool {
        let this = &self.supervisor;
        this.ready.get() && this.up.get() && this.stop.get() == Stop::No && self.clients.get() > 0
    }

    fn victims(&self) -> Vec<u32> {
        let this = &self.supervisor;
        if !self.serves_clients() {
            return Vec::new();
        }
        let may_die = |host: &&Rc<Host>| match host.role {
            // The supervisor gives up on a background host that dies young.
            Role::Background => self.options.kill_background && self.now() - host.forked_at > 50_000_000,
            _ => true,
        };
        this.hosts.borrow().iter().filter(may_die).map(|host| host.number).collect()
    }

    fn doom(&self, number: u32) {
        let this = &self.supervisor;
        this.kills_left.set(this.kills_left.get() - 1);
        self.counts.borrow_mut().kills += 1;
        self.trace.mix(Step::Kill, number as u64);
        this.doomed.borrow_mut().push((number, None));
    }

    /// Perhaps a host is killed now: mostly the one that runs.
    pub(super) fn kill_at_point(&self, name: &'static str, holds_spinlock: bool) {
        if self.supervisor.kills_left.get() == 0 || !self.random.chance(self.options.kill_chance) {
            return;
        }
        let Some(mine) = self.current_host() else { return };
        let victims = self.victims();
        let victim = match victims.contains(&mine.number) && (holds_spinlock || self.random.chance(800_000)) {
            true => mine.number,
            false if holds_spinlock || victims.is_empty() => return,
            false => self.random.pick(&victims),
        };
        self.note(|| format!("host {victim} is killed at {name:?}"));
        self.doom(victim);
        if victim == mine.number {
            self.vanish();
        }
        self.give_way();
    }

    /// Everything stops, from inside a strand.
    pub(super) fn cut_power(&self) {
        self.supervisor.power_cut.set(true);
        self.give_way();
    }

    /// Lends a stack to the fibers of the running host; back when the host is gone.
    pub(super) fn lend_stack(&self, bytes: usize) -> Option<Stack> {
        let host = self.current_host()?;
        let stack = take_stack(bytes)?;
        host.lent.borrow_mut().push((bytes, stack.twin()));
        Some(stack)
    }
}

const _: () = assert!(STACK_BYTES >= 1 << 20, "engines run deep leaves on their own stacks");

fn with_world<R>(act: impl FnOnce(&World) -> R) -> R {
    act(super::world().expect("a strand runs in a world"))
}

/// What a host's thread does as an engine: the same as in [`crate::engine::process`] and [`crate::engine::thread`].
fn run_engine(kind: EngineKind, service: &'static dyn Service, host: u32, index: Option<u32>) {
    let config = supervisor::config();
    let Some(shared) = engine::claim_free(host, index) else { return };
    let local: &'static Local = Box::leak(Box::new(Local::new(shared, kind, config.sessions, config)));
    // SAFETY: leaked.
    unsafe { engine::set_local(local) };
    hosting::run(local, service);
    shared.set_state(State::Absent);
}
