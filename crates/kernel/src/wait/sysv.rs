//! `sysv`: one System V semaphore set for all engines. Two system calls for each wait that sleeps, always.
//!
//! A set outlives the server that made it. So its id is kept in the data directory ([`remember`] writes it, [`forget`]
//! removes the set of a server that died), and the supervisor removes the set when it ends.

use crate::clock::{self, Nanos};
use base::{EngineId, Error, Result, sqlstate};
use std::path::Path;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

const FILE: &str = "sysv-semaphores";

// Set by the supervisor before it forks, so every process has it.
static SET: AtomicI32 = AtomicI32::new(-1);

/// Makes the set for `engines` engines and notes it in the data directory.
///
/// Errors: `53000` when the system refuses, with the limit's name.
pub(crate) fn remember(data: &Path, engines: u32) -> Result<()> {
    forget(data);
    // SAFETY: plain system call.
    let id = unsafe { libc::semget(libc::IPC_PRIVATE, engines as i32, libc::IPC_CREAT | 0o600) };
    if id < 0 {
        return Err(Error::session(sqlstate::INSUFFICIENT_RESOURCES, "a System V semaphore set cannot be made")
            .detail(format!("semget of {engines} semaphores: {}.", std::io::Error::last_os_error()))
            .hint(
                "Raise SEMMSL, SEMMNS or SEMMNI (kernel.sem), lower max_connections, or choose another wait_primitive.",
            ));
    }
    std::fs::write(data.join(FILE), id.to_string()).map_err(|error| {
        // SAFETY: plain system call on the set just made, which nobody would find again.
        unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
        Error::session(sqlstate::IO_ERROR, format!("cannot note the semaphore set: {error}"))
    })?;
    SET.store(id, Relaxed);
    Ok(())
}

/// Removes the set that this server, or a dead one, noted in the data directory.
pub(crate) fn forget(data: &Path) {
    let path = data.join(FILE);
    if let Some(id) = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<i32>().ok()) {
        // SAFETY: plain system call; an id that is no set of ours is refused by its permissions, or gone (EINVAL).
        unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
        let _ = std::fs::remove_file(&path);
    }
    SET.store(-1, Relaxed);
}

fn operate(engine: EngineId, change: i16, timeout: Option<libc::timespec>) {
    let mut operation = libc::sembuf { sem_num: engine.0 as u16, sem_op: change, sem_flg: 0 };
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |at| at as *const libc::timespec);
    // SAFETY: one operation, valid for the call. A removed set or a signal ends the call early, which callers allow.
    unsafe {
        libc::syscall(libc::SYS_semtimedop, SET.load(Relaxed), &raw mut operation, 1usize, timeout);
    }
}

/// Sleeps until woken or the deadline passes. May come back early.
pub fn sleep(engine: EngineId, deadline: Option<Nanos>) {
    operate(engine, -1, deadline.map(|at| clock::timespec(clock::remaining(at))));
}

/// Wakes the sleeper, or lets the next sleep come back.
pub fn wake(engine: EngineId) {
    operate(engine, 1, None);
}
