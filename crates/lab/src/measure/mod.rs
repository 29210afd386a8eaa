//! What the operating system says of a server, of the driver and of the machine.
//!
//! ```text
//!   processes   who belongs to a server; CPU time, switches, faults, bytes
//!   machine     what it runs on; what its processors did; the date
//!   memory      what a server's processes hold
//!   sampler     one sample a second between the beginning and the end of a cell
//! ```
//!
//! Rules
//! 1. Everything is a snapshot, and a figure is the difference of two. No difference is negative.
//! 2. What ended in between counts: a server that makes a process for each connection does its work in processes that
//!    are not there any more when somebody looks.
//! 3. Looking costs CPU time that the server could have used. What is read each second is little; what is dear is read at the
//!    beginning and at the end.
//!
//! Only Linux is known here. A file of `/proc` that is not there, or that the lab may not read, counts as nothing: a process may
//! end at any moment, so this is nothing to complain about.

pub mod exchange;
pub mod machine;
pub mod memory;
pub mod processes;
pub mod sampler;
