//! Notifications: what `NOTIFY` sends to the sessions that `LISTEN`.
//!
//! ```text
//!  NOTIFY ──> kept by the session ──COMMIT──> lock, write, commit, publish ──> sessions that listen are summoned
//!  LISTEN ──> kept by the session ──COMMIT──> has a place in the queue          each reads on from its place, between statements
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`queue`] | the queue and its listeners, in the region |
//! | [`pending`] | what a transaction has asked for, and the statements that ask |
//!
//! Rules
//! 1. Notifications of a transaction become visible when it commits, all at once, in the order of commits: who commits some holds a lock
//!    from before his commit until they are published.
//! 2. A death between commit and publication takes nothing away: whoever has the lock next, or ends the dead session, finds in the queue
//!    what was written, asks whether its transaction committed, and publishes it or not.
//! 3. A client is told outside transactions only, at once if its session is parked: the kernel calls the service for it.
//! 4. Nobody who notifies waits for somebody who listens. Where the queue is full and a listener's client does not take what is sent to it,
//!    that listener loses its place, and its session ends; where the listener is in a transaction, `NOTIFY` fails, as in PostgreSQL.

pub(crate) mod pending;
pub(crate) mod queue;

pub use queue::Notification;
