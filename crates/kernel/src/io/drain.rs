//! After a death: when is the system done with the memory of requests that a dead process had in flight?
//!
//! The system goes on with what was handed to it: a read arrives in its buffer, and a write takes from its buffer, after
//! the process that asked for it is gone (measured: two thirds of 64 MiB of reads arrived after the parent had been told
//! of the death). So memory that a dead process had requests on is not used again, and files that it wrote to are not
//! read for recovery, before that is over. How it is known, by method:
//!
//! | method | over when |
//! |---|---|
//! | ring | no *drain mark* of the process is left on the file: the mark is a lock of the open file, which a request in flight keeps open ([`super::files`], rule 2) |
//! | worker | the worker has settled it: workers are in another process, and if that dies all restarts |
//! | system call | at once: a process that is inside a call for direct or durable I/O does not end before the call does. So it is on file systems of disks, and on those in user space; NFS lets a killed process go, and a write of its may arrive after later ones: `io_method` says that a data directory has no place there |
//!
//! Where a file system knows no locks, or the file is removed meanwhile, nothing can be told, and [`GRACE_MS`] pass.

use super::progress::Outcome;
use super::slot::{self, Method, Slot};
use super::{FileName, Kind, files, sim};
use crate::clock::{self, Nanos};
use crate::engine;
use crate::wait::{self, Event};
use base::{EngineId, Error, Result, sqlstate};

/// How long to wait where nothing can be told, in milliseconds.
const GRACE_MS: u64 = 3_000;
/// How often to look, in microseconds.
const LOOK_US: u64 = 500;
/// When to say on stderr that something is still in flight, in milliseconds.
const SAY_AFTER_MS: u64 = 5_000;
/// When to refuse to start because of it, in milliseconds.
const REFUSE_AFTER_MS: u64 = 60_000;

fn pause() {
    wait::wait(Event::IoDrain, 0, Some(clock::now() + LOOK_US * 1000));
}

/// Waits until `over` says so, or the grace has passed if it cannot tell. False after `limit`.
fn wait_until(file: FileName, limit: Option<Nanos>, over: impl Fn() -> Option<bool>) -> bool {
    let start = clock::now();
    let mut said = false;
    loop {
        let spent = clock::now() - start;
        match over() {
            Some(true) => return true,
            None if spent >= GRACE_MS * 1_000_000 => return true,
            _ => {}
        }
        if limit.is_some_and(|limit| spent >= limit) {
            return false;
        }
        if spent >= SAY_AFTER_MS * 1_000_000 && !said {
            said = true;
            eprintln!("gearbox: waiting for I/O of a process that is gone, on file \"{file}\"");
        }
        pause();
    }
}

/// Ends every request that a dead engine issued, when the system is done with its memory. To be called before anything
/// that its sessions held is given back. The caller is the clean-up, as a session; the engine's process is gone.
pub(crate) fn reap_engine(dead: EngineId) {
    for request in slot::slots().iter().filter(|slot| slot.is_used_by(dead)) {
        if !crate::fault::planted("reaper.early_reuse") {
            wait_until(request.file(), None, || is_over(request, dead));
        }
        // A worker gives the slot back itself when it has run an action.
        if request.is_used_by(dead) {
            request.settle_lost(Outcome::failed(libc::ECANCELED));
        }
    }
}

fn is_over(request: &Slot, dead: EngineId) -> Option<bool> {
    if !request.is_used_by(dead) || request.is_prepared() || request.is_done() {
        // Given back, never handed over, or complete.
        return Some(true);
    }
    match request.method() {
        Method::Worker => Some(false),
        Method::Call => Some(true),
        Method::Simulated => Some(!sim::disk().is_some_and(|disk| disk.holds(request.index()))),
        // In the middle of its action the system is done with it, and the mark says nothing more.
        Method::Ring if request.is_finishing() => Some(true),
        Method::Ring => files::has_mark(request.file(), Some(request.process())).ok().map(|marked| !marked),
    }
}

/// Waits until nothing of an earlier server on this data directory is in flight: before recovery reads anything.
///
/// Errors: `55006` if that does not end.
pub(crate) fn wait_for_predecessor() -> Result<()> {
    if engine::sim::is_on() {
        return Ok(());
    }
    for &kind in Kind::ALL.iter().filter(|kind| kind.is_direct()) {
        for number in super::list(kind)? {
            let name = FileName::new(kind, number);
            let mut blind = false;
            let over = || match files::has_mark(name, None) {
                Ok(marked) => Some(!marked),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(true),
                Err(_) => None,
            };
            blind |= over().is_none();
            if !wait_until(name, Some(REFUSE_AFTER_MS * 1_000_000), over) {
                return Err(Error::session(
                    sqlstate::OBJECT_IN_USE,
                    format!("another process uses file \"{name}\" of this data directory"),
                )
                .hint("Is another server running on the same data directory? Stop it first."));
            }
            if blind {
                // It will be so for the other files too, and the grace has passed for all of them.
                return Ok(());
            }
        }
    }
    Ok(())
}
