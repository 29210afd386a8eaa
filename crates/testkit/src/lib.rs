//! What tests of the server are made with; never part of it.
//!
//! | module | what it is |
//! |---|---|
//! | [`sim`] | walks seeds of the simulator, and says how to replay the one that fails |
//! | [`tally`] | a service over the kernel alone, its clients, and what must hold of both whatever happens |
//! | [`ledger`] | another one, which keeps values on disk |
//! | [`loads`] | what a seed runs: which of them, in which model |
//! | [`device`] | a disk whose power goes and which fails on demand |
//! | [`fuzz`] | recorded bytes, mutated, for decoders |
//! | [`history`] | what clients asked and were told, and when |
//! | [`ports`] | ports for servers that a test starts |
//! | [`register`] | a checker: is there an order of a register's operations that explains what everybody saw? |

#![forbid(unsafe_code)]

pub mod device;
pub mod fuzz;
pub mod history;
pub mod ledger;
pub mod loads;
pub mod ports;
pub mod register;
pub mod sim;
pub mod tally;
