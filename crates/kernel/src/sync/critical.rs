//! The critical section: from the first change of a shared structure to the point where it is whole again.
//!
//! A panic or a death inside ends the server, which then recovers from the log; so the stretch is short, allocates
//! nothing that may be refused, and never waits.

use crate::engine;

/// While it lives, the engine is in a critical section. Sections nest.
pub struct Critical {
    /// Entered while a panic unwinds: what is done then is not what panicked.
    unwinding: bool,
    // Not `Send`: the mark belongs to the engine that runs.
    engine: std::marker::PhantomData<*const ()>,
}

impl Critical {
    /// Enters a critical section.
    #[inline]
    pub fn enter() -> Critical {
        engine::critical_enter();
        Critical { unwinding: std::thread::panicking(), engine: std::marker::PhantomData }
    }
}

impl Drop for Critical {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() && !self.unwinding {
            // The structure may be half changed: nothing in this process may touch it again.
            eprintln!("gearbox: panic inside a critical section; the server restarts and recovers");
            engine::sim::abort("a panic inside a critical section");
            std::process::abort();
        }
        engine::critical_leave();
    }
}
