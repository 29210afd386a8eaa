//! `sync`: plain system calls by the session itself, announced with the event that it would wait for. By whichever method, durable
//! writes of a session that holds its engine come here too ([`super::write_durable_now`]).
//!
//! The reference: what the other methods do is compared with this. A fiber that uses it takes its engine along for as
//! long as the call lasts, which is what somebody who chooses this method for fibers wants to see.
//!
//! Workers use the same [`transfer`]; only the announcement is the session's.

use super::files::OpenFile;
use super::progress::{Outcome, Progress};
use super::slot::{Method, Slot};
use super::{Buffer, FileName, Op};
use crate::clock;
use crate::engine::{self, State};
use crate::hosting::group::Block;
use crate::session;
use crate::wait::Event;

/// Carries out what is left of a request, by one system call; its answer, an error as a negative number.
pub(super) fn transfer(op: Op, file: FileName, fd: i32, rest: (u64, &[Buffer])) -> i64 {
    let (offset, buffers) = rest;
    let (vector, count) = (buffers.as_ptr().cast::<libc::iovec>(), buffers.len() as i32);
    // SAFETY: (1) a buffer is laid out as the system's vector; (2) whoever made the buffers promised that their memory is
    // there, and nobody else's, until the request is over; (3) the descriptor is held by the caller.
    let answer = unsafe {
        match op {
            Op::Read => libc::preadv2(fd, vector, count, offset as i64, 0),
            Op::Write | Op::WriteDurable => libc::pwritev2(fd, vector, count, offset as i64, write_flags(op, file)),
            Op::Flush => libc::fdatasync(fd) as isize,
        }
    };
    if answer >= 0 {
        return answer as i64;
    }
    -(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) as i64)
}

/// What makes a write durable when it is complete, where the descriptor alone does not.
pub(super) fn write_flags(op: Op, file: FileName) -> i32 {
    if op == Op::WriteDurable && !file.kind().is_durable() { libc::RWF_DSYNC } else { 0 }
}

/// Carries a request out, from the calling session.
pub(super) fn carry_out(slot: &'static Slot, file: &OpenFile) {
    // Before the slot is in flight, where nobody would end it.
    engine::assert_may_wait();
    slot.hand_over(Method::Call);
    let outcome = announced(slot.event(), slot.file(), || {
        loop {
            if let Some(outcome) = slot.advance(transfer(slot.op(), slot.file(), file.fd(), slot.rest())) {
                break outcome;
            }
        }
    });
    slot.settle(outcome);
}

/// Carries a request out that has no slot.
pub(super) fn carry_out_at_once(event: Event, name: FileName, mut progress: Progress, file: &OpenFile) -> Outcome {
    announced(event, name, || {
        loop {
            if let Some(outcome) = progress.advance(transfer(progress.op(), name, file.fd(), progress.rest())) {
                break outcome;
            }
        }
    })
}

/// Shows the session as waiting while `call` sleeps in the operating system. Unlike [`crate::wait::announced`] it is for
/// fibers too: with this method they take their engine along.
fn announced<T>(event: Event, file: FileName, call: impl FnOnce() -> T) -> T {
    engine::assert_may_wait();
    let (local, me) = (engine::expect_local(), session::current());
    let start = clock::now();
    me.begin_wait(event, file.raw(), start);
    local.shared.set_state(State::Blocked);
    let blocked = Block::begin_for(event);
    let result = call();
    drop(blocked);
    local.shared.set_state(State::Running);
    me.end_wait();
    engine::count_wait(event, clock::now().saturating_sub(start), true);
    result
}
