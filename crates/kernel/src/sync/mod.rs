//! Exclusion between sessions: three levels that are never mixed.
//!
//! | level | type | guards | held | waits by |
//! |---|---|---|---|---|
//! | spinlock | [`Spin`] | a few words | a few instructions, never over a wait | spinning, then the system's futex |
//! | latch | [`Latch`] | a page, a small structure | maybe over page I/O; belongs to a session | [`crate::wait`] |
//! | lock | `storage` | rows and objects | a transaction | [`crate::wait`] |
//!
//! [`WaitList`] is the queue that latches and everything above build on. [`Critical`] marks the stretch in which a death
//! takes the server down: from the first change of a page to its log record.

mod critical;
mod latch;
mod spin;
mod wait_list;

pub use critical::Critical;
pub use latch::{HELD_MAX as HELD_MAX_LATCHES, Latch, LatchGuard, Mode};
pub use spin::{Spin, SpinGuard, SpinName, SpinStats, spinlocks};
pub(crate) use spin::{held_by, init};
pub use wait_list::WaitList;
pub(crate) use wait_list::leave_any_list;
