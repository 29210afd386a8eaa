//! The engine group: how many engines run, stand by, or are blocked with their session, and when another is called.
//!
//! Rules
//! 1. A group never stalls: before an engine of a shared group sleeps with its session in a wait that may be long, it
//!    counts itself out; when fewer are left than should serve, a spare is called at once. So does an engine whose session
//!    computes for longer than a time slice: from then on the operating system shares the CPUs out among both.
//! 2. When blocked engines come back there are more than asked for; an engine that is about to look for work stands by
//!    instead, if enough others are there.
//! 3. Spares are kept ahead of need, so that calling one never waits for a fork or a new thread; the host's maker
//!    (supervisor or group host) is told to make another when the last one is called. Those that a burst of waits has left
//!    behind end after a while.
//! 4. As what an engine counts stands in its own slot (`counted`), and changes there and in the sums under one spinlock. So
//!    after a death, wherever it came, the sums are right again once the dead engine's part is taken out; and a death under
//!    the spinlock restarts the server, as any does.

use crate::clock::{self, Nanos};
use crate::config::{Config, Sessions};
use crate::engine::{self, EngineShared, Local, State};
use crate::region::{Root, Shared};
use crate::session::SessionShared;
use crate::sync::{Spin, SpinGuard, SpinName};
use crate::{net, supervisor};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// What an engine may count as: bits of [`EngineShared::counted`], rule 4.
const UP: u32 = 1;
/// It serves, or looks for work: it is not blocked and does not stand by.
const ACTIVE: u32 = 2;
/// It looks for work and has none.
const IDLE: u32 = 4;
/// It stands by: until it is called, or, in a dedicated group, until a client connects.
const STANDING_BY: u32 = 8;

/// A group's words in the region.
#[repr(C, align(128))]
pub(crate) struct Group {
    sessions: AtomicU32,
    /// Engines that should be serving.
    target: AtomicU32,
    engines_max: AtomicU32,
    /// Sessions that have ended since the start: descriptors of theirs may be left in other processes.
    ended: AtomicU32,
    /// Connections that engines with fibers were given in turn.
    homes: AtomicU32,
    /// Guards what follows, and what engines count as.
    counting: Spin<Unguarded>,
    up: AtomicU32,
    active: AtomicU32,
    idle: AtomicU32,
    standing_by: AtomicU32,
    /// Engines that were asked for and have not come up.
    coming: AtomicU32,
}

/// The counts are read without the spinlock, so they lie beside it.
struct Unguarded;

// SAFETY: no bytes at all.
unsafe impl Shared for Unguarded {}

// SAFETY: atomics, and a spinlock.
unsafe impl Shared for Group {}

// SAFETY: root 8 is used here only.
static GROUP: Root<Group> = unsafe { Root::new(8) };

pub(crate) fn init(config: &Config) {
    let group = &GROUP.make("engine group", 1)[0];
    group.sessions.store(config.sessions as u32, Relaxed);
    group.target.store(config.engines.max(1), Relaxed);
    group.engines_max.store(engine::slots_needed(config) - engine::BACKGROUND_ENGINES, Relaxed);
    group.counting.publish(SpinName::EngineGroup, 0);
}

fn group() -> &'static Group {
    GROUP.one()
}

impl Group {
    /// Changes what an engine counts as. Under the spinlock only, as the guard shows.
    fn recount(&self, _counting: &SpinGuard<'_, Unguarded>, engine: &EngineShared, from: u32, to: u32) {
        let before = engine.counted.load(SeqCst);
        let after = before & !from | to;
        for (bit, count) in
            [(UP, &self.up), (ACTIVE, &self.active), (IDLE, &self.idle), (STANDING_BY, &self.standing_by)]
        {
            match (before & bit != 0, after & bit != 0) {
                (false, true) => count.store(count.load(SeqCst) + 1, SeqCst),
                (true, false) => count.store(count.load(SeqCst) - 1, SeqCst),
                _ => {}
            }
        }
        engine.counted.store(after, SeqCst);
    }
}

/// Lets the engine count as `to` rather than `from`.
fn count(engine: &EngineShared, from: u32, to: u32) {
    let group = group();
    group.recount(&group.counting.lock(), engine, from, to);
}

/// What a session of the group holds an engine for.
pub(crate) fn sessions() -> Sessions {
    match group().sessions.load(Relaxed) {
        0 => Sessions::Dedicated,
        1 => Sessions::Shared,
        _ => Sessions::Fiber,
    }
}

pub(crate) fn session_ended() {
    group().ended.fetch_add(1, Relaxed);
}

/// A number that counts up: whose turn it is to be a new session's home.
pub(crate) fn next_home() -> u32 {
    group().homes.fetch_add(1, Relaxed)
}

/// How many sessions have ended: when it moves, descriptors may be left to close.
pub(crate) fn sessions_ended() -> u32 {
    group().ended.load(Relaxed)
}

/// An engine has come up, of a group in which all engines serve.
pub(crate) fn begin_serving(local: &Local) {
    come_up(local, ACTIVE);
}

/// How long an engine stands by before it looks whether there are too many of its kind.
const STANDS_BY_NS: Nanos = 2_000_000_000;

/// An engine of a shared group has come up: it serves, or stands by if enough others serve. False if it is to end.
pub(crate) fn begin_shared(local: &Local) -> bool {
    let me = local.shared;
    let group = group();
    let stands_by = {
        let counting = group.counting.lock();
        let enough = group.active.load(SeqCst) >= group.target.load(Relaxed);
        group.recount(&counting, me, 0, UP | if enough { STANDING_BY } else { ACTIVE });
        one_has_come(group);
        if enough {
            me.bell.store(1, SeqCst);
            me.set_state(State::StandBy);
        }
        enough
    };
    !stands_by || stand_by(local)
}

/// An engine of a dedicated group has come up, and waits for a client.
pub(crate) fn begin_waiting(local: &Local) {
    come_up(local, STANDING_BY);
}

fn come_up(local: &Local, what: u32) {
    let group = group();
    let counting = group.counting.lock();
    group.recount(&counting, local.shared, 0, UP | what);
    one_has_come(group);
}

fn one_has_come(group: &Group) {
    group.coming.store(group.coming.load(SeqCst).saturating_sub(1), SeqCst);
}

/// An engine ends in good order, or is cleaned up after.
pub(crate) fn end(engine: &EngineShared) {
    count(engine, UP | ACTIVE | IDLE | STANDING_BY, 0);
}

/// True if the engine had come up and has not ended.
pub(crate) fn is_up(engine: &EngineShared) -> bool {
    engine.counted.load(SeqCst) & UP != 0
}

/// A host has died before its engine came up, or with all that it was asked to make.
pub(crate) fn none_came() {
    let group = group();
    let _counting = group.counting.lock();
    match supervisor::hosts_are_processes() {
        true => one_has_come(group),
        false => group.coming.store(0, SeqCst),
    }
}

/// A dedicated engine has a client.
pub(crate) fn client_came(local: &Local) {
    count(local.shared, STANDING_BY, ACTIVE);
}

/// A dedicated engine waits for a client again.
pub(crate) fn client_gone(local: &Local) {
    count(local.shared, ACTIVE, STANDING_BY);
}

/// An engine of a shared group has nothing to do; answers how many others there are that have nothing.
pub(crate) fn begin_idle(local: &Local) -> u32 {
    count(local.shared, 0, IDLE);
    group().idle.load(SeqCst) - 1
}

/// It has been woken.
pub(crate) fn end_idle(local: &Local) {
    count(local.shared, IDLE, 0);
}

/// True if an engine of a shared group has nothing to do.
pub(crate) fn somebody_idle() -> bool {
    group().idle.load(SeqCst) > 0
}

/// While it lives, the engine is blocked with its session and counted out.
pub(crate) struct Block {
    counted: Option<&'static EngineShared>,
}

impl Block {
    /// Counts the engine out, if its session's wait may be long and it is of a shared group.
    pub(crate) fn begin(local: &Local, session: &SessionShared) -> Block {
        let event = session.waiting().map(|(event, ..)| event);
        Block::begin_event(local, session, event)
    }

    /// The same for the running session, which is about to wait for `event`.
    pub(crate) fn begin_for(event: crate::wait::Event) -> Block {
        Block::begin_event(engine::expect_local(), crate::session::current(), Some(event))
    }

    fn begin_event(local: &Local, session: &SessionShared, event: Option<crate::wait::Event>) -> Block {
        let long = event.is_some_and(|event| event.row().long) && !crate::fault::planted("group.no_spare");
        if !long || local.sessions != Sessions::Shared || session.is_background() || is_out(local) {
            return Block { counted: None };
        }
        count(local.shared, ACTIVE, 0);
        call_if_short();
        Block { counted: Some(local.shared) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(engine) = self.counted {
            count(engine, 0, ACTIVE);
        }
    }
}

/// True if the engine of a shared group, which runs a session, is counted out.
fn is_out(local: &Local) -> bool {
    local.shared.counted.load(SeqCst) & ACTIVE == 0
}

/// The running session of a shared group has used its time slice up: its engine counts itself out until the request ends.
pub(crate) fn begin_overtime(local: &Local) {
    if !is_out(local) {
        local.shared.stats.slices_exhausted.add(1);
        count(local.shared, ACTIVE, 0);
        call_if_short();
    }
}

/// The request has ended.
pub(crate) fn end_overtime(local: &Local) {
    if is_out(local) {
        count(local.shared, 0, ACTIVE);
    }
}

/// Calls a spare if fewer engines serve than should.
pub(crate) fn call_if_short() {
    let group = group();
    if group.active.load(SeqCst) >= group.target.load(Relaxed) {
        return;
    }
    let called = {
        let counting = group.counting.lock();
        let short = group.active.load(SeqCst) < group.target.load(Relaxed) && group.standing_by.load(SeqCst) > 0;
        let mut all = engine::engines().iter().skip(engine::BACKGROUND_ENGINES as usize);
        let spare = all.find(|engine| short && engine.counted.load(SeqCst) & STANDING_BY != 0);
        if let Some(spare) = spare {
            // The caller counts it in, so that two callers do not call one spare each for one gap.
            group.recount(&counting, spare, STANDING_BY, ACTIVE);
            spare.bell.store(0, SeqCst);
        }
        spare
    };
    if let Some(spare) = called {
        crate::wait::wake(spare, &spare.bell);
    }
    ask_for_spares(1);
}

/// Asks the maker for engines until `spares` stand by or are coming.
pub(crate) fn ask_for_spares(spares: u32) {
    let group = group();
    // Threads are made by the group's own host, which makes its first ones without being asked.
    let cannot_ask = !supervisor::hosts_are_processes()
        && engine::current().is_none_or(|engine| engine.id().0 < engine::BACKGROUND_ENGINES);
    if cannot_ask {
        return;
    }
    loop {
        {
            let _counting = group.counting.lock();
            let coming = group.coming.load(SeqCst);
            let have = group.standing_by.load(SeqCst) + coming;
            if have >= spares || group.up.load(SeqCst) + coming >= group.engines_max.load(Relaxed) {
                return;
            }
            group.coming.store(coming + 1, SeqCst);
        }
        supervisor::ask_for_engine();
    }
}

/// How many engines of a dedicated group wait for a client.
pub(crate) fn waiting_for_clients() -> u32 {
    group().standing_by.load(SeqCst)
}

/// True if more engines of a shared group serve than should.
pub(crate) fn has_too_many() -> bool {
    let group = group();
    group.active.load(SeqCst) > group.target.load(Relaxed)
}

/// Stands by, if enough others serve, until called. For an engine of a shared group that is about to look for work. False
/// if it is to end.
pub(crate) fn stand_by_if_many(local: &Local) -> bool {
    if !has_too_many() {
        return true;
    }
    let (me, group) = (local.shared, group());
    {
        let counting = group.counting.lock();
        if !has_too_many() {
            return true;
        }
        group.recount(&counting, me, ACTIVE, STANDING_BY);
        me.bell.store(1, SeqCst);
        me.set_state(State::StandBy);
    }
    stand_by(local)
}

/// Sleeps until called, which counts the engine in, or until the server stops. False if it is to end: it has been one of
/// too many for a while.
fn stand_by(local: &Local) -> bool {
    let me = local.shared;
    let mut look_at = Some(clock::now() + STANDS_BY_NS);
    while me.bell.load(SeqCst) != 0 && !supervisor::stopping() {
        net::sweep(local);
        if look_at.is_some_and(|at| clock::now() >= at) {
            if end_if_many(local) {
                return false;
            }
            // Others that come to stand by later will look later.
            look_at = None;
        }
        crate::wait::sleep(me, &me.bell, 1, look_at);
    }
    me.set_state(State::Idle);
    true
}

/// Counts the engine out for good if it stands by and more do than a group needs that was idle a while ago.
fn end_if_many(local: &Local) -> bool {
    let group = group();
    let counting = group.counting.lock();
    let kept = supervisor::config().spare_engines.max(1) + group.target.load(Relaxed);
    let many = group.standing_by.load(SeqCst) > kept && local.shared.counted.load(SeqCst) & STANDING_BY != 0;
    if many {
        group.recount(&counting, local.shared, UP | STANDING_BY, 0);
    }
    many
}

/// Checks the counts; only while no engine is at work.
pub(crate) fn check() -> Result<(), String> {
    let group = group();
    let engines = engine::engines().iter().skip(engine::BACKGROUND_ENGINES as usize);
    let counted: Vec<u32> = engines.map(|engine| engine.counted.load(SeqCst)).collect();
    for (what, bit, says) in [
        ("up", UP, &group.up),
        ("active", ACTIVE, &group.active),
        ("idle", IDLE, &group.idle),
        ("standing by", STANDING_BY, &group.standing_by),
    ] {
        let (says, truth) = (says.load(SeqCst), counted.iter().filter(|&&bits| bits & bit != 0).count());
        if says as usize != truth {
            return Err(format!("the group counts {says} engines that are {what}, there are {truth}"));
        }
    }
    let (active, standing_by) = (group.active.load(SeqCst), group.standing_by.load(SeqCst));
    let (target, coming) = (group.target.load(Relaxed), group.coming.load(SeqCst));
    match sessions() {
        Sessions::Shared if active < target && standing_by > 0 => {
            Err(format!("{active} engines serve of {target}, and {standing_by} stand by"))
        }
        Sessions::Shared if active + coming == 0 => Err("no engine serves, and none is coming".into()),
        Sessions::Dedicated if standing_by + coming == 0 => Err("no engine waits for a client".into()),
        _ => Ok(()),
    }
}
