//! Cleaning up after a host that died: what ran there is rolled back, and nobody else notices.
//!
//! In order: were its engines inside a critical section, or did they hold a spinlock or an exclusive latch? Then only a
//! restart helps. Else every session that was running there is taken out of the lists it waited in, its shared latches are
//! released, and so is what else others may wait for ([`Service::release_dead`]). Then, one after the other, the service
//! rolls them back, and their slots are free. Sessions that were parked or queued there go on elsewhere, and
//! so do those that an engine had only looked at, or had already put away.
//! At last everybody is posted, and every parked session looked at: a post or an arrival may have died with its carrier.
//!
//! Rules
//! 1. While one death is being cleaned up after, another host may die and hold what the clean-up waits for. So who hears
//!    of deaths never waits for others ([`release`], on the background host's first thread), and who may have to is another
//!    thread ([`end_sessions`]). A spinlock that the first thread finds taken for long has it look for further deaths
//!    ([`restart_if_fatal`]).

use crate::config::Sessions;
use crate::engine::{self, EngineShared, State};
use crate::hosting::{self, group};
use crate::net::{self, Socket};
use crate::session::{self, DeadLatch, End, PARKED, QUEUED, Service, Session, SessionShared};
use crate::wait;
use base::EngineId;
use std::sync::atomic::Ordering::*;

fn engines_of(host: u32) -> impl Iterator<Item = &'static EngineShared> {
    engine::engines().iter().filter(move |engine| engine.host.load(SeqCst) == host && engine.state() != State::Absent)
}

fn restart(host: u32, why: &str) -> ! {
    super::say(&format!("host {host} died {why}; the server restarts and recovers"));
    engine::sim::exit(super::RESTART_STATUS);
    std::process::exit(super::RESTART_STATUS);
}

/// Restarts the server if a host died with something half done that only it could have finished. Takes no lock.
pub(super) fn restart_if_fatal(host: u32) {
    let dead: Vec<_> = engines_of(host).collect();
    if dead.iter().any(|engine| engine.died_inside()) {
        restart(host, "inside a critical section or with a spinlock");
    }
    for note in sessions_of(&dead).iter().flat_map(|slot| slot.latch_notes()) {
        if let DeadLatch::Fatal = session::read_latch_note(note) {
            restart(host, "with a latch");
        }
    }
}

/// The first half of cleaning up after a host of the group: what others may wait for. Waits for the dead host's own disk
/// requests, and for nobody else.
pub(super) fn release(service: &dyn Service, host: u32) {
    restart_if_fatal(host);
    let dead: Vec<_> = engines_of(host).collect();
    // Before anything that they read into or wrote from is given back.
    for engine in &dead {
        crate::io::drain::reap_engine(engine.id());
    }
    if !super::hosts_are_processes() || !dead.iter().any(|engine| group::is_up(engine)) {
        group::none_came();
    }
    for slot in sessions_of(&dead) {
        if group::sessions() != Sessions::Dedicated && slot.is_whole() {
            slot.run.store(QUEUED, SeqCst);
        } else {
            free_latches(slot);
            // Now for all of them: one that is ended below, or after another death, may wait for what this one led.
            service.release_dead(slot.id());
        }
    }
    for engine in &dead {
        group::end(engine);
    }
    recall();
}

/// The second half: ends the sessions that were running there. The service may wait for anybody meanwhile.
pub(super) fn end_sessions(service: &dyn Service, host: u32) {
    let dead: Vec<_> = engines_of(host).collect();
    for slot in sessions_of(&dead) {
        end_session(service, slot);
    }
    dead.iter().for_each(|engine| engine.clear_after_death());
    recall();
}

/// Cleans up after a background host, before its successor takes its slots. Its tasks held nothing, or all restarts.
pub(super) fn reap_background(_service: &dyn Service, host: u32) {
    let dead: Vec<_> = engines_of(host).filter(|engine| engine.id().0 < engine::BACKGROUND_ENGINES).collect();
    if dead.is_empty() {
        return;
    }
    // Its tasks write the log and the pages: whether a write is in progress cannot be told from here.
    restart(host, "that carried the background tasks");
}

/// Sessions that were running on dead engines. Takes no lock, so it looks at all slots.
fn sessions_of(dead: &[&'static EngineShared]) -> Vec<&'static SessionShared> {
    let is_dead = |engine: EngineId| dead.iter().any(|dead| dead.id() == engine);
    // A dedicated engine's session is lost with it between requests too.
    let dedicated = group::sessions() == Sessions::Dedicated;
    session::slots()
        .iter()
        .filter(|slot| match slot.run_state() {
            PARKED | QUEUED => dedicated && is_dead(slot.engine_id()),
            _ => slot.runner().is_some_and(is_dead),
        })
        .collect()
}

/// Takes a dead session out of every queue, and releases what it shared.
fn free_latches(slot: &'static SessionShared) {
    for note in slot.latch_notes() {
        match session::read_latch_note(note) {
            DeadLatch::Fatal => unreachable!("the server restarts after such a death"),
            DeadLatch::Waited(latch) => latch.forget_dead(slot),
            DeadLatch::Shared(_) if crate::fault::planted("reaper.kept_latch") => {}
            DeadLatch::Shared(latch) => latch.release_for_dead(crate::sync::Mode::Shared),
        }
        note.store(0, SeqCst);
    }
    crate::sync::leave_any_list(slot);
}

fn end_session(service: &dyn Service, slot: &'static SessionShared) {
    let me = engine::expect_local();
    let own = engine::current_session();
    slot.set_running();
    slot.wait_word.store(wait::RUNNING, SeqCst);
    slot.end_wait();
    me.set_session(Some(slot));
    let socket = Socket::of(slot).unwrap_or(Socket::none());
    hosting::finish(service, Session::resume(slot, socket), End::Died);
    me.set_session(own);
}

/// Posts every session, wakes every engine, and has every parked or queued session looked at: whatever was to be told may
/// have died half-way with whom it was told by, after a word was changed and before the sleeper was woken.
fn recall() {
    for slot in session::slots_reached() {
        if !slot.is_used() {
            continue;
        }
        wait::post_again(slot);
        if slot.is_background() || group::sessions() == Sessions::Dedicated {
            continue;
        }
        if slot.recall() {
            hosting::queue(slot);
        }
    }
    for engine in engine::engines().iter().skip(engine::BACKGROUND_ENGINES as usize) {
        if engine.state() != State::Absent {
            hosting::wake_loop(engine);
        }
    }
    match group::sessions() {
        Sessions::Shared => {
            net::wake_port(net::shared_port());
            group::call_if_short();
        }
        Sessions::Dedicated => group::ask_for_spares(super::config().spare_engines.max(1)),
        Sessions::Fiber => {}
    }
}
