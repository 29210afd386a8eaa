//! `shared`: a session holds an engine for one request.
//!
//! All sockets of the group are in one port, which every idle engine of every host sleeps on; the kernel wakes one of them
//! for what comes. An engine that finds others idle takes one session and leaves the rest to them; when all are busy it
//! takes what is there into the group's ready sets, where sessions in an open transaction go first, a few at a time. While there
//! are ready sessions an engine looks at the port between two of them, now and then: who is not in a set yet waits too, and
//! so does who wants to connect. Who finds nothing looks for a while before it sleeps ([`super::spinning`]), and counts as one that
//! serves meanwhile: what others queue then it takes itself.
//!
//! There are more engines than CPUs, unless somebody says otherwise: one that is put off its CPU in the midst of a request stays there, and a CPU
//! that becomes free needs another to serve what comes.
//!
//! A session that waits in the middle of a request keeps its engine, and so does one that has used its time slice up;
//! [`super::group`] sees to it that another engine serves then.

use super::spinning::Spinning;
use super::{FIRST_MAX, claim, group, make_ready, request};
use crate::engine::{self, Local, State, inbox};
use crate::net::{self, Arrived};
use crate::session::{QUEUED, Service, SessionShared};
use crate::{clock, supervisor};
use base::SessionId;
use std::cell::Cell;
use std::sync::atomic::Ordering::*;

/// How many sessions are taken from the port at once when no engine is idle.
const BATCH: usize = 64;

/// How long an engine serves ready sessions before it looks at the port. An engine that runs out of them looks anyway.
const LOOK_AFTER_NS: clock::Nanos = 1_000_000;

/// Whose turn it is, as one engine sees it.
#[derive(Default)]
struct Turns {
    /// How many sessions in an open transaction were taken since the last that is in none.
    first: Cell<u32>,
    /// Whom the engine took last from each set; from each by itself, or one that is always full would lead past the same
    /// sessions of the other again and again.
    last: [Cell<u32>; 2],
}

impl Turns {
    fn pop(&self, in_transaction: bool) -> Option<SessionId> {
        let last = &self.last[in_transaction as usize];
        let id = inbox::ready(in_transaction).pop(SessionId(last.get()))?;
        last.set(id.0);
        self.first.set(if in_transaction { self.first.get() + 1 } else { 0 });
        Some(id)
    }

    /// The next one.
    fn next(&self) -> Option<SessionId> {
        let others = self.first.get() >= FIRST_MAX;
        if others && let Some(id) = self.pop(false) {
            return Some(id);
        }
        self.pop(true).or_else(|| self.pop(false))
    }
}

/// Queues a ready session, and wakes an engine if one is idle.
pub(crate) fn queue(slot: &'static SessionShared) {
    inbox::ready(slot.in_transaction()).insert(slot.id());
    if group::somebody_idle() {
        net::wake_port(net::shared_port());
    }
}

fn next_queued(local: &Local, turns: &Turns) -> Option<&'static SessionShared> {
    loop {
        let id = turns.next()?;
        let slot = crate::session::slot(id);
        if claim(slot) && !left_to_another(local, slot) {
            return Some(slot);
        }
    }
}

/// In the test mode that moves every session: puts a session back that this engine served last, so that another one takes
/// it. If none has after a while, all others are busy or stand by, and this engine serves the session after all.
fn left_to_another(local: &Local, slot: &'static SessionShared) -> bool {
    const PATIENCE_NS: clock::Nanos = 100_000_000;
    let mine = supervisor::config().move_sessions && slot.last_engine() == Some(local.shared.id());
    if !mine || supervisor::stopping() || clock::now().saturating_sub(slot.ready_since()) > PATIENCE_NS {
        return false;
    }
    slot.run.store(QUEUED, SeqCst);
    inbox::ready(slot.in_transaction()).insert(slot.id());
    net::wake_port(net::shared_port());
    if !engine::sim::give_way() {
        std::thread::yield_now();
    }
    true
}

pub(crate) fn run(local: &'static Local, service: &'static dyn Service) {
    if !group::begin_shared(local) {
        return;
    }
    group::ask_for_spares(supervisor::config().spare_engines.max(1));
    let turns = Turns::default();
    let mut spinning = Spinning::among_others();
    let spin_ns = supervisor::config().engine_idle_spin_us as u64 * 1000;
    let mut looked_at = clock::now();
    while !supervisor::stopping() {
        if !group::stand_by_if_many(local) {
            return;
        }
        if let Some(slot) = next_queued(local, &turns) {
            let began = serve(local, service, slot);
            if began.saturating_sub(looked_at) >= LOOK_AFTER_NS {
                looked_at = began;
                look_between(local, service);
            }
            continue;
        }
        net::sweep(local);
        local.shared.set_state(State::Idle);
        let mut mine = None;
        let spins = spin_ns > 0 && spinning.is_worth_it();
        if !(spins && spin(local, service, &mut spinning, spin_ns, &mut mine)) {
            sleep(local, service, &mut mine);
        }
        if let Some(slot) = mine {
            let another_first = !slot.in_transaction() && !inbox::ready(true).is_empty();
            if another_first || supervisor::config().move_sessions {
                inbox::ready(slot.in_transaction()).insert(slot.id());
            } else if claim(slot) {
                serve(local, service, slot);
            }
        }
    }
    group::end(local.shared);
}

/// Looks for work for a while, before it sleeps; true if there was some.
fn spin(
    local: &'static Local,
    service: &'static dyn Service,
    spinning: &mut Spinning,
    span: clock::Nanos,
    mine: &mut Option<&'static SessionShared>,
) -> bool {
    let mut find = || look(local, service, most_to_take(group::somebody_idle()), Some(0), Some(mine)) > 0;
    // What is there already says nothing about how soon more comes.
    if find() {
        return true;
    }
    let found = spinning.spin(span, || find() || any_ready() || group::has_too_many() || supervisor::stopping());
    local.shared.stats.spins_hit.add(found as u64);
    found
}

/// Sleeps until something comes.
fn sleep(local: &'static Local, service: &'static dyn Service, mine: &mut Option<&'static SessionShared>) {
    let others_idle = group::begin_idle(local) > 0;
    // A session may have been queued by somebody who saw nobody idle.
    if !any_ready() {
        local.shared.stats.sleeps.add(1);
        look(local, service, most_to_take(others_idle), None, Some(mine));
    }
    group::end_idle(local);
}

/// How many sessions to take from the port: what is left there those find who sleep on it.
fn most_to_take(others_idle: bool) -> usize {
    if others_idle { 1 } else { BATCH }
}

/// True if there are sessions in a ready set.
fn any_ready() -> bool {
    !(inbox::ready(true).is_empty() && inbox::ready(false).is_empty())
}

/// Looks at the port, sleeping at most `timeout`; answers how much arrived. What has come goes to the ready sets; but the first session is
/// left in `mine`, if given, to be served at once.
fn look(
    local: &'static Local,
    service: &'static dyn Service,
    most: usize,
    timeout: Option<clock::Nanos>,
    mut mine: Option<&mut Option<&'static SessionShared>>,
) -> usize {
    net::wait_port(local, net::shared_port(), most, timeout, |arrived| match arrived {
        Arrived::Session(slot) => {
            if make_ready(slot) {
                slot.mark_ready();
                match &mut mine {
                    Some(mine) if mine.is_none() => **mine = Some(slot),
                    _ => inbox::ready(slot.in_transaction()).insert(slot.id()),
                }
            }
        }
        Arrived::Listener(listener) => net::accept_pooled(local, service, listener),
        Arrived::Bell => {}
    })
}

/// Looks at the port between two sessions, unless somebody sleeps there, who takes what comes.
fn look_between(local: &'static Local, service: &'static dyn Service) {
    if group::somebody_idle() {
        return;
    }
    look(local, service, BATCH, Some(0), None);
    // This engine may be one too many, and stand by now; then who has gone to sleep meanwhile must know of what was taken.
    if group::somebody_idle() && any_ready() {
        net::wake_port(net::shared_port());
    }
}

/// Serves a session; answers when that began.
fn serve(local: &'static Local, service: &dyn Service, slot: &'static SessionShared) -> clock::Nanos {
    let began = clock::now();
    local.shared.set_state(State::Running);
    local.set_session(Some(slot));
    local.begin_slice(began);
    local.shared.stats.switches.add(1);
    // Others may be blocked since the last look; then somebody must stand in for them while this engine is busy.
    group::call_if_short();
    // What this engine has left in the ready sets is for those who sleep: how long this request takes, nobody knows.
    if group::somebody_idle() && any_ready() {
        net::wake_port(net::shared_port());
    }
    request(service, slot);
    group::end_overtime(local);
    local.set_session(None);
    debug_assert!(engine::local().is_some());
    began
}
