//! How a session holds an engine: its whole life, one request, or only while it runs.
//!
//! | file | a session holds an engine |
//! |---|---|
//! | [`dedicated`] | from the connection's first byte to its last |
//! | [`shared`] | for one request |
//! | [`fiber`] | while it runs: at every wait it gives the engine up |
//!
//! [`group`] counts a group's engines and calls spares, [`sleeper`] is how an idle engine with fibers sleeps, [`spinning`] what pooled ones do
//! before.
//!
//! All three serve by the same steps, [`serve`] and [`finish`]; they differ in where a session is while nothing comes.
//!
//! Rules
//! 1. Whoever makes a session ready goes through [`make_ready`]: it alone decides, by one swap of the run state, whether
//!    the session must be queued, or its engine told to look again.
//! 2. A session in an open transaction goes first, in turns: where one that has none waits, at most [`FIRST_MAX`] of those
//!    in a transaction are served before it.
//! 3. Who has sent many requests at once is served for a turn ([`engine::turn_is_over`]), and queued again behind others.

pub(crate) mod dedicated;
pub(crate) mod fiber;
pub(crate) mod group;
pub(crate) mod shared;
pub(crate) mod sleeper;
pub(crate) mod spinning;

use crate::clock::Nanos;
use crate::config::{EngineKind, Primitive};
use crate::engine::{self, EngineShared, Local, State};
use crate::session::{self, End, Interrupt, Next, PARKED, QUEUED, RUNNING, Received, Service, Session, SessionShared};
use crate::{net, supervisor, wait};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::*;

/// How many sessions in an open transaction are served in a row while one that has none waits. Without a bound, clients that
/// keep a transaction open and never pause would keep all others waiting for ever.
pub(crate) const FIRST_MAX: u32 = 4;

/// Says that something has come for the session. True if the caller must queue it; false if that is being done already
/// or its engine will look again.
pub(crate) fn make_ready(slot: &SessionShared) -> bool {
    crate::fault::point("make ready");
    slot.make_ready()
}

/// Takes a queued session to run it. False if somebody else has.
pub(crate) fn claim(slot: &SessionShared) -> bool {
    crate::fault::point("claim");
    let claimed = slot.change_run_state(QUEUED, RUNNING);
    crate::fault::point("claimed");
    claimed
}

/// Puts a running session away; false if something has come meanwhile, and it is running again.
pub(crate) fn try_park(slot: &SessionShared) -> bool {
    if slot.change_run_state(RUNNING, PARKED) {
        return true;
    }
    slot.set_running();
    false
}

/// Serves what has come for a pooled session, and parks or ends it. Runs on an engine or a fiber, as the session.
pub(crate) fn request(service: &dyn Service, slot: &'static SessionShared) {
    let local = engine::expect_local();
    let mut served = false;
    loop {
        if slot.was_recalled() && nothing_came(slot) {
            net::rehome_if_moved(local, slot, served);
            if try_park(slot) {
                return;
            }
            continue;
        }
        slot.set_at_stake(true);
        let Some(socket) = net::Socket::of(slot) else {
            // The process that opened it is gone and nobody kept it: the client sees the connection break.
            let session = Session::resume(slot, net::Socket::none());
            finish(service, session, End::Vanished);
            return;
        };
        let mut session = Session::resume(slot, socket);
        let (more, gives_way) = match serve(service, &mut session, &mut served) {
            Served::Ended(end) => {
                finish(service, session, end);
                return;
            }
            Served::Unfinished => (true, true),
            Served::GaveWay => {
                slot.set_gave_way(true);
                (true, true)
            }
            Served::Everything => (false, false),
        };
        if let Err(session) = session.park() {
            finish(service, session, End::Vanished);
            return;
        }
        slot.set_at_stake(false);
        crate::fault::point("park");
        net::rehome_if_moved(local, slot, served);
        if !more && try_park(slot) {
            return;
        }
        // What has come meanwhile is a request of its own: after a full turn, others go first.
        if served && (gives_way || supervisor::config().move_sessions || engine::slice_is_over()) {
            slot.run.store(QUEUED, SeqCst);
            queue(slot);
            return;
        }
    }
}

/// True if there is nothing to do for a session that was recalled. It is not touched: until more than a look is needed,
/// the death of this engine does it no harm.
fn nothing_came(slot: &SessionShared) -> bool {
    !slot.wants_service() && !slot.gave_way() && net::Socket::of(slot).is_some_and(|socket| !socket.has_input())
}

/// What came of serving a session.
pub(crate) enum Served {
    /// All that had come.
    Everything,
    /// There may be more in the socket, but others should have their turn.
    Unfinished,
    /// There is more that has been read, but others should have their turn.
    GaveWay,
    /// The session is to end.
    Ended(End),
}

/// Serves a pooled session until nothing more has come, or its time slice is over; notes if there was anything.
fn serve(service: &dyn Service, session: &mut Session, served: &mut bool) -> Served {
    let local = engine::expect_local();
    let slot = session.shared();
    loop {
        // What is left from the last turn goes first: it is more than was to be had, and its sender may have gone since.
        let left = slot.gave_way();
        let received = if left { Received::Bytes(true) } else { session.receive(false) };
        let interrupted = slot.wants_service();
        match received {
            Received::Closed => return Served::Ended(End::Vanished),
            Received::Nothing if !interrupted => return Served::Everything,
            _ => {}
        }
        if left {
            slot.set_gave_way(false);
        }
        if !std::mem::replace(served, true) {
            session::count_request(slot, local.shared.id());
            local.shared.stats.requests.add(1);
        }
        match serve_input(service, session) {
            Served::Everything => {}
            other => return other,
        }
        match received {
            Received::Bytes(true) => {}
            // The end may have come together with the bytes.
            Received::Bytes(false) if slot.ended.load(SeqCst) != 0 => {}
            _ => return Served::Everything,
        }
        if engine::turn_is_over() {
            return Served::Unfinished;
        }
    }
}

/// One call of the service, fenced: a panic ends the session, not the engine.
pub(crate) fn serve_input(service: &dyn Service, session: &mut Session) -> Served {
    session.shared().answer_summons();
    let next = catch_unwind(AssertUnwindSafe(|| service.serve(session)));
    let next = next.unwrap_or_else(|panic| {
        eprintln!("gearbox: session {} ends by a bug: {}", session.shared().number(), panic_text(&*panic));
        engine::sim::bug(panic_text(&*panic));
        Next::Close
    });
    // An interrupt that came after the statement it was meant for is void.
    session.shared().clear_interrupt(Interrupt::Cancel);
    // A session is never put away with an answer half sent: it is sent, or the session ends with a client that does not read.
    if session.flush_answers().is_err() {
        return Served::Ended(End::Vanished);
    }
    match next {
        Next::Park => Served::Everything,
        Next::GiveWay => Served::GaveWay,
        Next::Close => Served::Ended(End::Asked),
    }
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(|text| text.as_str()))
        .unwrap_or("?")
}

/// Ends a session: the service lets go of what it holds, the socket closes, the slot goes back.
pub(crate) fn finish(service: &dyn Service, mut session: Session, end: End) {
    let slot = session.shared();
    if catch_unwind(AssertUnwindSafe(|| service.close(&mut session, end))).is_err() {
        eprintln!("gearbox: the end of session {} met a bug; the server restarts", slot.number());
        engine::sim::abort("the end of a session panics");
        std::process::abort();
    }
    session.say_goodbye();
    net::close(slot, session.socket());
    session.return_buffers();
    drop(session);
    session::release(slot);
    group::session_ended();
}

/// Makes sure that a session sees an interrupt that has been set.
pub(crate) fn nudge(slot: &'static SessionShared) {
    if make_ready(slot) && !slot.is_background() {
        queue(slot);
    } else {
        interrupt_sleep(slot);
    }
}

/// Makes sure that a session that was summoned is served. One that runs looks when it is about to park.
pub(crate) fn summon(slot: &'static SessionShared) {
    if make_ready(slot) && !slot.is_background() {
        queue(slot);
    }
}

/// Queues a session that [`make_ready`] said must be queued.
pub(crate) fn queue(slot: &'static SessionShared) {
    crate::fault::point("queue");
    slot.mark_ready();
    match group::sessions() {
        crate::config::Sessions::Dedicated => interrupt_sleep(slot),
        crate::config::Sessions::Shared => shared::queue(slot),
        crate::config::Sessions::Fiber => fiber::queue(slot),
    }
}

/// Ends a sleep on the socket of a session that holds its engine: a signal, whose only effect is that the call comes
/// back. The ticker of the background host repeats it, since it may come just before the call.
pub(crate) fn interrupt_sleep(slot: &SessionShared) {
    let target = engine::engine(slot.engine_id());
    if engine::inbox::is_fiber(target) {
        return;
    }
    if target.session() == Some(slot.id()) {
        signal(target);
    }
}

/// Ends a sleep of an engine that has nothing to do, so that it looks after itself before it sleeps again.
pub(crate) fn disturb(target: &'static EngineShared) {
    match engine::inbox::is_fiber(target) {
        true => engine::ring(target),
        false => signal(target),
    }
}

fn signal(target: &EngineShared) {
    let (pid, tid) = target.os_ids();
    if pid > 0 && !engine::sim::signal(tid) {
        // SAFETY: plain system call; the handler of SIGURG does nothing.
        unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, libc::SIGURG) };
    }
}

/// Blocks a session that holds its engine, until posted or the deadline passes; true if posted.
pub(crate) fn block_holding(local: &Local, me: &'static SessionShared, deadline: Option<Nanos>) -> bool {
    // Completions of its own requests come only to an engine that looks for them, which a spin does not.
    let spins = local.io.in_flight() == 0;
    if spins {
        local.io.submit();
    }
    if spins && wait::spin_while(&me.wait_word, wait::RUNNING, local.session_spin_ns) {
        local.shared.stats.spins_hit.add(1);
        return wait::disarm(me);
    }
    if !wait::arm(me) {
        return true;
    }
    local.shared.set_state(State::Blocked);
    crate::fault::point("armed");
    let _block = group::Block::begin(local, me);
    while me.wait_word.load(SeqCst) == wait::WAITING {
        if local.io.in_flight() > 0 {
            // Rule 1 of the engine: it sleeps where its own completions are reaped.
            local.io.sleep(local.shared, &me.wait_word, wait::WAITING, deadline);
        } else {
            wait::sleep(local.shared, &me.wait_word, wait::WAITING, deadline);
        }
        if deadline.is_some_and(|at| crate::clock::now() >= at) || me.interrupt().is_some() {
            break;
        }
    }
    local.shared.set_state(State::Running);
    wait::disarm(me)
}

/// Wakes a pooled engine that sleeps in its loop: by whatever that engine sleeps on.
pub(crate) fn wake_loop(engine: &'static EngineShared) {
    if engine::inbox::is_fiber(engine) && engine.primitive() == Primitive::Eventfd {
        net::wake_port_of(engine);
    } else {
        wait::wake(engine, &engine.bell);
    }
}

/// Runs an engine until the server stops.
pub(crate) fn run(local: &'static Local, service: &'static dyn Service) {
    debug_assert!(local.kind != EngineKind::Sim);
    match local.sessions {
        crate::config::Sessions::Dedicated => dedicated::run(local, service),
        crate::config::Sessions::Shared => shared::run(local, service),
        crate::config::Sessions::Fiber => fiber::run(local, service),
    }
}
