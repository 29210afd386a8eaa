//! Keeping sockets alive across the death of the process that accepted them, and taking a duplicate from another process.
//!
//! Only groups of processes whose sessions move need it. The accepting engine sends the supervisor a duplicate, which the
//! supervisor puts at a number that follows from the slot ([`kept_number`]): nobody has to be told the number. Who
//! resumes the session takes a duplicate from the process that accepted it, or, if that is gone, from the supervisor.

use crate::config::{Primitive, Sessions};
use crate::engine::{self, sim};
use crate::session::SessionShared;
use crate::supervisor;
use std::collections::HashMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::Ordering::*;
use std::sync::{Mutex, OnceLock};

/// The number of the first slot's duplicate: above everything that the supervisor opens itself, event descriptors of the
/// engines included, whose numbers every host relies on.
fn kept_base() -> i32 {
    let config = supervisor::config();
    let events = if config.primitive == Primitive::Eventfd { engine::slots_needed(config) } else { 0 };
    2048 + events as i32
}

/// The number of the supervisor's duplicate of a slot's socket.
fn kept_number(slot: u32) -> i32 {
    kept_base() + slot as i32
}

/// A message to the supervisor about a socket: the slot, its generation, and whether to keep or to let go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeptMessage {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
    pub(crate) keep: bool,
}

/// True in the models in which sockets must be kept.
pub(crate) fn needed() -> bool {
    supervisor::hosts_are_processes() && supervisor::config().sessions != Sessions::Dedicated
}

/// The supervisor's side: what it keeps.
#[derive(Default)]
pub(crate) struct Keeper {
    generations: HashMap<u32, u32>,
}

impl Keeper {
    /// Acts on a message; `fd` is the duplicate that came with it.
    pub(crate) fn receive(&mut self, message: KeptMessage, fd: Option<OwnedFd>) {
        let number = kept_number(message.slot);
        if message.keep {
            if let Some(fd) = fd {
                // SAFETY: the number is in the range that belongs to kept sockets; what was there is replaced.
                if unsafe { libc::dup3(fd.as_raw_fd(), number, libc::O_CLOEXEC) } >= 0 {
                    self.generations.insert(message.slot, message.generation);
                }
            }
        } else if self.generations.get(&message.slot) == Some(&message.generation) {
            self.generations.remove(&message.slot);
            // SAFETY: a kept socket, which the supervisor alone owns.
            unsafe { libc::close(number) };
        }
    }

    /// Closes everything in a freshly forked child: the duplicates are the supervisor's.
    pub(crate) fn close_in_child(&self) {
        if self.generations.is_empty() {
            return;
        }
        let most = self.generations.keys().max().copied().unwrap_or(0);
        // SAFETY: the range of kept sockets, which the child does not use.
        unsafe { libc::syscall(libc::SYS_close_range, kept_base(), kept_number(most), 0) };
    }
}

/// Asks the supervisor to keep the socket that this process has just accepted.
pub(crate) fn keep(slot: &SessionShared, fd: i32) {
    if needed() {
        let message = KeptMessage { slot: slot.id().0, generation: slot.generation(), keep: true };
        supervisor::tell_kept(message, Some(fd));
        slot.kept.store(1, Release);
    }
}

/// Tells the supervisor that the session has ended.
pub(crate) fn release(slot: &SessionShared) {
    if slot.kept.swap(0, AcqRel) != 0 {
        let message = KeptMessage { slot: slot.id().0, generation: slot.generation(), keep: false };
        supervisor::tell_kept(message, None);
    }
}

/// A duplicate of the session's socket from the process that has it.
pub(crate) fn take(slot: &SessionShared) -> Option<i32> {
    let fd = slot.socket_fd.load(Acquire);
    let pid = slot.socket_pid.load(Acquire);
    if fd >= 0
        && pid != 0
        && let Some(fd) = take_from(pid, fd)
    {
        return Some(fd);
    }
    if slot.kept.load(Acquire) == 0 {
        return None;
    }
    // The message may still be on its way to the supervisor.
    for pause_us in [0, 50, 200, 1000, 5000, 20_000, 100_000] {
        if pause_us > 0 && !sim::pause(pause_us as u64 * 1000) {
            // SAFETY: plain system call. The pause is for a rare race after a death.
            unsafe { libc::usleep(pause_us) };
        }
        if let Some(fd) = take_from(supervisor::pid(), kept_number(slot.id().0)) {
            return Some(fd);
        }
    }
    None
}

/// Descriptors of other processes, by process id. A process that is gone leaves a stale one, which takes nothing.
static PIDFDS: OnceLock<Mutex<HashMap<i32, OwnedFd>>> = OnceLock::new();

fn take_from(pid: i32, fd: i32) -> Option<i32> {
    if let Some(simulated) = sim::net() {
        // The simulated supervisor keeps sockets by slot.
        return simulated.take_from(pid, if pid == supervisor::pid() { fd - kept_base() } else { fd });
    }
    let table = PIDFDS.get_or_init(Default::default);
    let mut table = table.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let pidfd = match table.entry(pid) {
        std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
        std::collections::hash_map::Entry::Vacant(entry) => {
            // SAFETY: plain system call.
            let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
            if pidfd < 0 {
                return None;
            }
            // SAFETY: a descriptor just made, owned by nobody else.
            entry.insert(unsafe { OwnedFd::from_raw_fd(pidfd) })
        }
    };
    // SAFETY: plain system call.
    let taken = unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0) } as i32;
    if taken < 0 {
        table.remove(&pid);
        return None;
    }
    Some(taken)
}
