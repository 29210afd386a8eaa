//! The lab: measures servers, this one and others, from the outside, and says what it found with its evidence.
//!
//! ```text
//!   command      `gearbox lab …`: what the user asked for
//!   experiment   which variants under which loads, in which order; runs them and keeps what was measured
//!     server     starts and stops what is measured: Gearbox, PostgreSQL, MariaDB; a disk's ceiling by fio
//!     bare       the mechanism of each model without a server in it, to compare with
//!     workload   what clients do: tables, and scripts in pgbench's format
//!     driver     many connections a thread, paced, timed
//!     measure    what the operating system and the server say meanwhile
//!     record     one JSON line for each run
//!   statistics   medians, spread, ratios with their intervals, verdicts
//!   report       Markdown and HTML from records alone
//!   tpch         TPC-H's rows and queries as files
//! ```
//!
//! Rules
//! 1. The lab is a client. What it knows of a server it learns over the wire and from the operating system; it links
//!    nothing of the server but `base`, and no figure of it depends on which product is measured.
//! 2. Pairs, not absolutes: variants run in turns, and a verdict is a ratio with an interval.
//! 3. A record has everything that is needed to repeat the run; a report is a function of records.
//! 4. What the lab costs is measured as what the server costs is; where it is the bottleneck there is no verdict.
//! 5. Whatever ends a run, no process of it stays, and what was measured before is kept.
#![forbid(unsafe_code)]

pub mod address;
pub mod bare;
pub mod command;
pub mod driver;
pub mod error;
pub mod experiment;
pub mod measure;
pub mod record;
pub mod report;
pub mod server;
pub mod statistics;
pub mod tpch;
pub mod workload;
