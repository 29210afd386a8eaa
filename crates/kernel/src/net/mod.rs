//! Sockets of clients, and the ports on which pooled engines wait for them.
//!
//! A socket is opened once, by the engine that accepts it, and reachable by every engine of its group. In a group of
//! threads one descriptor serves all. In a group of processes the supervisor keeps a duplicate (so that a session outlives
//! the process that accepted it), and an engine that resumes the session takes its own duplicate once (`pidfd_getfd`) and
//! remembers it with the session's generation. Nothing is passed per request.
//!
//! A *port* is an epoll instance made before the first fork: one for a shared group as a whole, one for each engine with
//! fibers. Sockets are registered once, edge-triggered; a session that moves to another engine's port is registered there,
//! and the old registration is dropped by the process that made it when it next reports something.
//!
//! Engines with fibers send answers to several clients by one call of a ring ([`gather`]); all else is sent by the session itself.
//!
//! Rules
//! 1. Closing means `shutdown` first: the client sees the end although other processes still hold duplicates, and they
//!    see it too, and close theirs.
//! 2. A short read has drained the socket; whatever comes later raises a new edge. So a request ends without a read that
//!    finds nothing. The end of the stream may have come with the last bytes, in one edge: the port notes it in the slot, and
//!    the session reads once more.
//! 3. Descriptors that belong to a session of another generation are closed when they are noticed, at the latest by
//!    [`sweep`], which runs before an engine sleeps; those that sleep already are woken for it.

mod accept;
mod gather;
mod keep;
mod own;
mod port;
mod socket;

pub(crate) use accept::{accept_pooled, accept_sleeping, close_private_port, listen, remove_sockets};
pub(crate) use gather::{ANSWERS_WAIT_NS, Gather};
pub(crate) use keep::{Keeper, KeptMessage};
pub use own::{own_addresses, user_name};
pub(crate) use port::{
    Arrived, BELL, EVENTS_MAX, LISTENER, Port, add_ring, forget_stale, make_ports, port_of, post_if_socket_wait,
    rehome_if_moved, shared_port, wait_port, wake_port, wake_port_of,
};
pub(crate) use socket::{SendError, Socket, Sweeping, close, init_host, sweep};
