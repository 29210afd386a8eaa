//! Vacuum: what nobody can see any more is taken out of a table and its indexes, and its space given to others.
//!
//! | file | what it is |
//! |---|---|
//! | [`table`](mod@table) | one table and its indexes |
//! | [`launcher`] | which table is due; the background task |
//!
//! ```text
//!   heap, page by page: prune -> dead slots noted ----- memory full, or the end ----> their entries leave each index
//!        ^                                                                                        |
//!        \------------------------------ go on <---- free space noted <---- slots unused again <--/
//! ```
//!
//! Rules
//! 1. A dead slot is used again only after every index has been walked for its entries; both are logged in that order.
//! 2. One vacuum of a table at a time: it holds the table's lock in a mode that conflicts with itself and lets readers and writers
//!    pass.
//! 3. A vacuum holds no snapshot, so that it keeps nothing from being vacuumed.
//! 4. A vacuum that has been over every page with a horizon H says that no version has a mark of a transaction below H that aborted, but
//!    for those it has seen and had to keep. When that is true of every table the transaction map may forget them
//!    ([`Relations::purge_aborted`](crate::relation::Relations::purge_aborted)).
//!
//! 5. One of the background gives way: it never waits for a lock, and ends early when somebody waits for the table.
//!
//! What this does not do: find tables and their indexes (the layer above does: [`Catalog`]), gather statistics of values.

pub mod launcher;
pub mod table;

pub use launcher::{Catalog, Own, Settings, Table, in_rounds};
pub use table::{Options, Report};
