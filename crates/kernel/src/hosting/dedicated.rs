//! `dedicated`: a session holds an engine from the connection's first byte to its last.
//!
//! Life of an engine: wait for a connection, serve it until it ends, wait for the next. Engines are made ahead of need:
//! when fewer than `spare_engines` wait for a connection, the maker is asked for more; when far more do, some end.
//! Between requests the session is parked like any other, and the engine sleeps in a read of its socket.

use super::{Served, finish, group, serve_input};
use crate::engine::{Local, State};
use crate::session::{End, Interrupt, PARKED, Received, Service, Session, SessionShared};
use crate::wait::{self, Event};
use crate::{clock, net, session, supervisor};
use std::sync::atomic::Ordering::*;

/// Idle engines above this many times the spares asked for end.
const SPARES_KEPT: u32 = 8;

pub(crate) fn run(local: &'static Local, service: &'static dyn Service) {
    group::begin_waiting(local);
    let spares = supervisor::config().spare_engines.max(1);
    while !supervisor::stopping() {
        local.shared.set_state(State::Idle);
        let accepted = net::accept_sleeping(local, service);
        if supervisor::stopping() {
            break;
        }
        match accepted {
            Some((slot, socket)) => {
                group::client_came(local);
                group::ask_for_spares(spares);
                local.shared.set_state(State::Running);
                serve_life(local, service, slot, socket);
                if group::waiting_for_clients() >= spares * SPARES_KEPT {
                    break;
                }
                group::client_gone(local);
            }
            None => continue,
        }
    }
    group::end(local.shared);
    net::close_private_port();
}

/// Serves one session from beginning to end.
fn serve_life(local: &'static Local, service: &dyn Service, slot: &'static SessionShared, socket: net::Socket) {
    local.set_session(Some(slot));
    slot.set_running();
    let mut session = Session::resume(slot, socket);
    let end = loop {
        let received = read_parked(&mut session);
        if received == Received::Closed {
            break End::Vanished;
        }
        if supervisor::stopping() {
            slot.send_interrupt(slot.generation(), Interrupt::Terminate);
        }
        if received == Received::Nothing && !slot.wants_service() {
            continue;
        }
        session::count_request(slot, local.shared.id());
        local.shared.stats.requests.add(1);
        local.begin_slice(clock::now());
        let end = loop {
            match serve_input(service, &mut session) {
                Served::Ended(end) => break Some(end),
                // Nobody else waits for this engine.
                Served::GaveWay => {}
                Served::Everything | Served::Unfinished => break None,
            }
        };
        if let Some(end) = end {
            break end;
        }
    };
    finish(service, session, end);
    local.set_session(None);
}

/// Sleeps, parked, until the client sends something, an interrupt comes, or the session is summoned.
fn read_parked(session: &mut Session) -> Received {
    let slot = session.shared();
    slot.run.store(PARKED, SeqCst);
    let received = match slot.wants_service() {
        true => Received::Nothing,
        false => wait::announced(Event::ClientIdle, || session.receive(true)),
    };
    slot.set_running();
    received
}
