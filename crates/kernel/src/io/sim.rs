//! The seam to the simulated disk.
//!
//! In the simulator no request reaches the operating system. [`disk`] says whether a simulated disk is there; it is asked
//! at the three lowest places, and nowhere above:
//!
//! | place | real | simulated |
//! |---|---|---|
//! | a request is issued ([`super::issue`]) | ring, worker or system call | [`crate::engine::sim::Disk::begin`] takes the slot's number |
//! | an operation on a whole file ([`super::operations`]) | [`super::operations::perform`] | [`crate::engine::sim::Disk::operate`] |
//! | a blocking call ([`super::blocking::run`]) | pool or system call | runs at once |
//!
//! A simulated disk keeps the slot's number, looks at what is to be done in its slot ([`mod@super::slot`]: `op`, `file`, `rest`),
//! moves bytes to or from the addresses of the buffers when its time has come, and reports what a system call would have
//! answered with [`super::answer`]. That runs the completion action or posts the session, like any completion; if the
//! answer was short, the disk gets the rest of the request at once with another [`crate::engine::sim::Disk::begin`].
//!
//! After a death the clean-up waits while [`crate::engine::sim::Disk::holds`] says that a request of the dead engine is still going on: a disk
//! does not forget what it was told because a process is gone. When it holds it no longer, the slot is given back, and
//! the disk must not answer for it.

pub(crate) use crate::engine::sim::disk;
