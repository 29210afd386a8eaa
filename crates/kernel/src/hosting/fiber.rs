//! `fiber`: a session holds an engine only while it runs; at every wait it gives the engine up.
//!
//! Every engine has a port of its own, with the sockets of the sessions that are at home there. Its loop:
//!
//! ```text
//!   posted fibers ----+
//!   deadlines --------+--> resume --> it waits (nothing to do), yields (to the end of the queue), has an answer to send, or
//!                     |               ends (parked)
//!   fresh requests ---+      open transactions first, then fresh requests, then those that used their slice up, open
//!                            transactions first again; but who has none waits for a few that have one at most
//!   handed over ------+
//!   nothing of all that: spin a little, unless somebody else wants the CPU; then sleep on port, bell, completions and
//!                        the next deadline at once
//! ```
//!
//! Answers that are made while others are ready to run are sent together, after those have run (`gather` in [`crate::net`]).
//!
//! A fiber stays on its engine until its request is done. Parked sessions move: when an engine falls behind while another
//! sleeps, or lets requests wait for much less long, fresh requests are handed over, and the session's home moves with it.

use super::sleeper::Sleeper;
use super::spinning::Spinning;
use super::{FIRST_MAX, claim, group, make_ready, request};
use crate::clock::{self, Nanos};
use crate::engine::{self, EngineShared, Local, State, inbox};
use crate::fiber::stack::Pool;
use crate::fiber::{Fiber, Suspended, Switch};
use crate::net::{self, Arrived};
use crate::session::{self, Service, SessionShared};
use crate::{supervisor, wait};
use base::{EngineId, SessionId};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::*;

/// A fresh request that has waited longer than this goes to an engine that sleeps, or to one where requests wait for less
/// than half as long.
/// More than a round ([`LOOK_AFTER_NS`]) and a slice, so that what has come since the last look at the port is not among it.
const HAND_OVER_AFTER_NS: Nanos = 1_000_000;
/// A fresh request that has waited longer than this is overdue.
const OVERDUE_AFTER_NS: Nanos = 1_000_000;
/// How long ago an engine may have started the request whose wait says how long requests wait there: one that has started
/// none since has no CPU, or a long slice to run.
const WAIT_IS_KNOWN_NS: Nanos = 1_000_000;
/// Fibers that run between two looks at posts, deadlines and the port, and for how long they may, one slice apart. So many answers are
/// sent in one call at most: the more, the less often a client is woken for one (measured with 600 users: 32 in 200 µs cost 7 % more CPU
/// than 100 in 600 µs; 128 in 2 ms are no better).
const RUNS_PER_LOOK: usize = 128;
const LOOK_AFTER_NS: Nanos = 600_000;
const _: () = assert!(HAND_OVER_AFTER_NS > LOOK_AFTER_NS && net::EVENTS_MAX > RUNS_PER_LOOK);
const _: () = assert!(net::ANSWERS_WAIT_NS == LOOK_AFTER_NS, "an answer waits for a round");
/// So many slices of a fiber whose session is in an open transaction go before those of others: what takes longer is no short statement.
/// They are counted from when the session was given a fiber; what came in one piece with a long statement, or just after it, counts as
/// its part.
const SLICES_FIRST: u32 = 8;
/// How long an engine that is to stop sleeps at most, while fibers of its own still wait.
const STOPPING_NAP_NS: Nanos = 2_000_000;

/// Suspends the running fiber until its slot is posted or the deadline passes; true if posted.
pub(crate) fn block(
    local: &Local,
    switch: &'static Switch,
    me: &'static SessionShared,
    deadline: Option<Nanos>,
) -> bool {
    if !wait::arm(me) {
        return true;
    }
    if let Some(deadline) = deadline {
        let timer = local.timers.borrow_mut().add(deadline, me.id());
        local.timer_of_wait.set(timer);
    } else {
        local.timer_of_wait.set(0);
    }
    switch.suspend(local, Suspended::Waits);
    wait::disarm(me)
}

/// Lets others run.
pub(crate) fn yield_now(local: &Local, switch: &'static Switch) {
    switch.suspend(local, Suspended::Yielded);
}

/// Queues a ready session at its home engine.
pub(crate) fn queue(slot: &'static SessionShared) {
    let home = engine::engine(EngineId(slot.home.load(SeqCst)));
    inbox::handed(home).insert(slot.id());
    engine::ring(home);
}

struct Loop {
    local: &'static Local,
    service: &'static dyn Service,
    fibers: Vec<Option<Fiber>>,
    stacks: Pool,
    sleeper: Sleeper,
    spin: Spinning,
    /// The port was looked at since the last request ran.
    looked: bool,
    /// How many were run since the last fresh request that was not.
    passed: u32,
    resumable: VecDeque<SessionId>,
    first: VecDeque<SessionId>,
    fresh: VecDeque<SessionId>,
    sliced: Sliced,
}

/// Sessions that have used a slice up. Those in an open transaction go first, a few at a time, and for a few slices: others may wait for what
/// they have locked, and a statement that is short needs a second slice where the system took the CPU away during its first.
#[derive(Default)]
struct Sliced {
    in_transaction: VecDeque<SessionId>,
    others: VecDeque<SessionId>,
    /// How many of the first kind were taken since the last of the second.
    passed: u32,
}

impl Sliced {
    fn is_empty(&self) -> bool {
        self.in_transaction.is_empty() && self.others.is_empty()
    }

    fn push(&mut self, id: SessionId, slices: u32) {
        match slices <= SLICES_FIRST && session::slot(id).in_transaction() {
            true => self.in_transaction.push_back(id),
            false => self.others.push_back(id),
        }
    }

    fn pop(&mut self) -> Option<SessionId> {
        if self.passed < FIRST_MAX
            && let Some(id) = self.in_transaction.pop_front()
        {
            self.passed += 1;
            return Some(id);
        }
        self.passed = 0;
        self.others.pop_front().or_else(|| self.in_transaction.pop_front())
    }
}

pub(crate) fn run(local: &'static Local, service: &'static dyn Service) {
    let config = supervisor::config();
    let port = net::port_of(local);
    group::begin_serving(local);
    let mut this = Loop {
        local,
        service,
        fibers: std::iter::repeat_with(|| None).take(session::slots().len()).collect(),
        stacks: Pool::new(config.fiber_stack_bytes),
        sleeper: Sleeper::new(local.shared, port),
        spin: Spinning::alone(),
        looked: false,
        passed: 0,
        resumable: VecDeque::new(),
        first: VecDeque::new(),
        fresh: VecDeque::new(),
        sliced: Sliced::default(),
    };
    let spin_ns = config.engine_idle_spin_us as u64 * 1000;
    while !supervisor::stopping() || local.shared.fibers.load(Relaxed) > 0 {
        this.collect();
        // Whoever has nothing to do looks at the port by sleeping on it, and has looked when it wakes.
        let busy = this.has_work() || !inbox::handed(local.shared).is_empty();
        let looked = std::mem::take(&mut this.looked);
        if busy && !looked {
            this.look(port, Some(0));
        }
        // After the port: who gave way, and handed itself over, comes behind those for whom it did.
        this.take_over();
        if !this.has_work() {
            this.sleep(port, spin_ns);
            continue;
        }
        local.io.submit();
        this.run_some();
        this.send_gathered();
        this.hand_over();
    }
    group::end(local.shared);
}

impl Loop {
    fn has_work(&self) -> bool {
        self.others_are_ready() || !(self.sliced.is_empty() && self.local.gather.is_empty())
    }

    /// True if there are sessions that run before those that have used a slice up.
    fn others_are_ready(&self) -> bool {
        !(self.resumable.is_empty() && self.first.is_empty() && self.fresh.is_empty())
    }

    /// Posted fibers, deadlines, disk completions.
    fn collect(&mut self) {
        let Loop { local, fibers, resumable, .. } = self;
        local.io.take_in();
        inbox::posted(local.shared).drain(|id| {
            if let Some(Some(fiber)) = fibers.get_mut(id.0 as usize)
                && fiber.waits
            {
                fiber.waits = false;
                resumable.push_back(id);
            }
        });
        if local.timers.borrow().first().is_some() {
            let now = clock::now();
            while let Some((id, timer)) = local.timers.borrow_mut().due(now) {
                if let Some(Some(fiber)) = fibers.get_mut(id.0 as usize)
                    && fiber.waits
                    && fiber.timer == timer
                {
                    fiber.waits = false;
                    resumable.push_back(id);
                }
            }
        }
    }

    /// Sessions handed over. Who was because it has waited elsewhere takes its place among those that have waited as long.
    fn take_over(&mut self) {
        let Loop { local, first, fresh, .. } = self;
        let handed = inbox::handed(local.shared);
        if handed.is_empty() {
            return;
        }
        let now = clock::now();
        handed.drain(|id| {
            local.shared.stats.taken_over.add(1);
            let since = session::slot(id).ready_since();
            if session::slot(id).in_transaction() {
                first.push_back(id);
            } else if now.saturating_sub(since) >= HAND_OVER_AFTER_NS {
                let behind = fresh.partition_point(|other| session::slot(*other).ready_since() <= since);
                fresh.insert(behind, id);
            } else {
                fresh.push_back(id);
            }
        });
    }

    /// Looks at the port, sleeping at most `timeout`; answers how much arrived.
    fn look(&mut self, port: net::Port, timeout: Option<Nanos>) -> usize {
        let Loop { local, service, first, fresh, .. } = self;
        net::wait_port(local, port, net::EVENTS_MAX, timeout, |arrived| match arrived {
            Arrived::Session(slot) => {
                // Also of a session that is at home elsewhere: until it parks there, this registration is its only one.
                let here = slot.home.load(SeqCst) == local.shared.id().0;
                match make_ready(slot) {
                    true if here => {
                        slot.mark_ready();
                        if slot.in_transaction() { first.push_back(slot.id()) } else { fresh.push_back(slot.id()) }
                    }
                    true => super::queue(slot),
                    false => net::post_if_socket_wait(slot),
                }
                if !here {
                    net::forget_stale(local, slot);
                }
            }
            Arrived::Listener(listener) => net::accept_pooled(local, *service, listener),
            Arrived::Bell => {}
        })
    }

    fn run_some(&mut self) {
        self.local.shared.set_state(State::Running);
        let begin = clock::now();
        let mut now = begin;
        for _ in 0..RUNS_PER_LOOK {
            if now - begin >= LOOK_AFTER_NS {
                break;
            }
            self.local.begin_slice(now);
            self.passed += 1;
            if self.passed > FIRST_MAX && self.fresh_is_overdue(now) {
                self.start_fresh(now);
            } else if let Some(id) = self.resumable.pop_front() {
                self.resume(id);
            } else if let Some(id) = self.first.pop_front() {
                self.start(id);
            } else if !self.fresh.is_empty() {
                self.start_fresh(now);
            } else if let Some(id) = self.sliced.pop() {
                self.resume_sliced(id);
                return;
            } else {
                return;
            }
            now = clock::now();
        }
        // Long requests get a turn too, however many fresh ones there are.
        if let Some(id) = self.sliced.pop() {
            self.local.begin_slice(clock::now());
            self.resume_sliced(id);
        }
    }

    /// Lets a fiber have another slice, for the whole of which no answer waits.
    fn resume_sliced(&mut self, id: SessionId) {
        self.local.gather.hand_over();
        self.resume(id);
    }

    /// True if the fresh request that waits longest has waited for so long that it passes posted fibers and open transactions.
    fn fresh_is_overdue(&self, now: Nanos) -> bool {
        let waited = |id: &SessionId| now.saturating_sub(session::slot(*id).ready_since());
        self.fresh.front().map_or(0, waited) >= OVERDUE_AFTER_NS
    }

    fn start_fresh(&mut self, now: Nanos) {
        let Some(id) = self.fresh.pop_front() else { return };
        let me = self.local.shared;
        me.fresh_wait_ns.store(now.saturating_sub(session::slot(id).ready_since()), Relaxed);
        me.fresh_at.store(now, Relaxed);
        self.passed = 0;
        self.start(id);
    }

    fn start(&mut self, id: SessionId) {
        let slot = session::slot(id);
        if !claim(slot) {
            return;
        }
        let service = self.service;
        slot.home.store(self.local.shared.id().0, SeqCst);
        match Fiber::new(&mut self.stacks, move || request(service, slot)) {
            Some(fiber) => {
                self.local.shared.fibers.fetch_add(1, Relaxed);
                self.fibers[id.0 as usize] = Some(fiber);
                self.resume(id);
            }
            None => {
                // No stack: the request waits until one is free.
                slot.run.store(session::QUEUED, SeqCst);
                self.fresh.push_back(id);
            }
        }
    }

    /// Sends the answers that have gathered, and lets their fibers go on.
    fn send_gathered(&mut self) {
        let local = self.local;
        local.gather.hand_over();
        let mut now = clock::now();
        let mut went_on = 0;
        // Those of now: who goes on with more requests may have another answer gathered, and sent by another one's statement. The time
        // of those counts, whether they park behind them or not; all that only park do so at once. Were theirs counted too, an engine
        // whose CPU was taken for a while would keep a queue of them that never becomes shorter, and come back to hundreds of stacks that
        // no cache holds any more.
        for _ in 0..local.gather.sent() {
            let Some(id) = local.gather.next_sent() else { break };
            local.begin_slice(now);
            local.has_consumed.set(false);
            let is_done = self.resume(id);
            let begun = std::mem::replace(&mut now, clock::now());
            if !is_done || local.has_consumed.get() {
                went_on += now - begun;
                if went_on >= LOOK_AFTER_NS {
                    break;
                }
            }
        }
    }

    /// Lets a fiber run; true if it is done: its session is parked, handed over or ended.
    fn resume(&mut self, id: SessionId) -> bool {
        let others = self.others_are_ready();
        let Some(fiber) = &mut self.fibers[id.0 as usize] else { return true };
        let local = self.local;
        local.gather.set_others(others);
        local.set_session(Some(session::slot(id)));
        local.shared.stats.switches.add(1);
        let why = fiber.resume(local);
        local.set_session(None);
        match why {
            Suspended::Waits => {
                fiber.timer = local.timer_of_wait.get();
                fiber.waits = true;
            }
            // The engine's gathered answers know it.
            Suspended::Sends => {}
            Suspended::Yielded => {
                fiber.slices += 1;
                self.sliced.push(id, fiber.slices);
            }
            Suspended::Done => {
                if let Some(fiber) = self.fibers[id.0 as usize].take() {
                    self.stacks.put(fiber.into_stack());
                }
                local.shared.fibers.fetch_sub(1, Relaxed);
                return true;
            }
        }
        false
    }

    /// Gives fresh requests that have waited too long to engines that would start them sooner, one each. Without the look at
    /// those that are awake, sessions that never pause would stay wherever they have come together once.
    fn hand_over(&mut self) {
        let Some(&id) = self.fresh.front() else { return };
        let now = clock::now();
        // In the test mode that moves every session, where it goes is settled when it parks.
        let waited = now.saturating_sub(session::slot(id).ready_since());
        if waited < HAND_OVER_AFTER_NS || supervisor::config().move_sessions {
            return;
        }
        let me = self.local.shared.id();
        let sooner = |other: &EngineShared| {
            let known = now.saturating_sub(other.fresh_at.load(Relaxed)) < WAIT_IS_KNOWN_NS;
            known && other.fresh_wait_ns.load(Relaxed) * 2 + HAND_OVER_AFTER_NS < waited
        };
        for other in pooled_engines() {
            if other.id() != me && (other.bell.load(SeqCst) != 0 || sooner(other)) {
                let Some(id) = self.fresh.pop_front() else { return };
                session::slot(id).home.store(other.id().0, SeqCst);
                inbox::handed(other).insert(id);
                engine::ring(other);
            }
        }
    }

    /// Nothing to run: spins a little, then sleeps until something comes.
    fn sleep(&mut self, port: net::Port, spin_ns: u64) {
        let me = self.local.shared;
        me.set_state(State::Idle);
        net::sweep(self.local);
        if spin_ns > 0 && self.spin.is_worth_it() {
            // A port that has something for ever, as a listener that was shut down has, must not keep requests from being handed over.
            self.local.io.reap();
            // What is there already says nothing about how soon more comes.
            if self.look(port, Some(0)) > 0 {
                self.looked = true;
                return;
            }
            let mut spin = std::mem::replace(&mut self.spin, Spinning::alone());
            let found = spin.spin(spin_ns, || {
                self.local.io.reap();
                self.look(port, Some(0)) > 0 || !inbox::posted(me).is_empty() || !inbox::handed(me).is_empty()
            });
            self.spin = spin;
            if found {
                me.stats.spins_hit.add(1);
                self.looked = true;
                return;
            }
        }
        me.bell.store(1, SeqCst);
        crate::fault::point("bell armed");
        // Whoever posts from here on rings the bell; whoever posted before is seen now.
        if inbox::posted(me).is_empty() && inbox::handed(me).is_empty() {
            let first = self.local.timers.borrow().first();
            let mut timeout = first.map(|at| at.saturating_sub(clock::now()));
            if supervisor::stopping() {
                timeout = Some(timeout.map_or(STOPPING_NAP_NS, |timeout| timeout.min(STOPPING_NAP_NS)));
            }
            me.stats.sleeps.add(1);
            let mut sleeper = std::mem::replace(&mut self.sleeper, Sleeper::Port);
            sleeper.sleep(me, port, timeout, |timeout| {
                self.look(port, timeout);
            });
            self.sleeper = sleeper;
            self.looked = true;
        }
        me.bell.store(0, SeqCst);
    }
}

/// The group's engines that run fibers.
pub(crate) fn pooled_engines() -> impl Iterator<Item = &'static EngineShared> {
    engine::engines()
        .iter()
        .skip(engine::BACKGROUND_ENGINES as usize)
        .take_while(|engine| inbox::is_fiber(engine))
        .filter(|engine| engine.state() != State::Absent)
}
