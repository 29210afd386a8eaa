//! What an execution reads and writes stored tables with.
//!
//! A [`Tables`] is made for one statement, after the locks of its tables were taken: the snapshot, the statement's
//! command number, and the pairs of commands that the transaction keeps in the session's memory.
//!
//! Rules
//! 1. A statement sees what earlier commands of its transaction did, and nothing of its own: what it writes has the number
//!    [`Tables::command`], and its snapshot sees lower ones.
//! 2. Checks at a statement's end look with [`Tables::after`], which sees what the statement did.

use base::Xid;
use kernel::clock::{self, Nanos};
use storage::Snapshot;
use storage::heap::{CommandPairs, Isolation, Reader, Writer};
use storage::relation::Relations;

/// What an execution reads and writes stored tables with.
pub struct Tables<'t> {
    /// Heaps and indexes are made from it.
    pub relations: &'static Relations,
    /// What the statement sees.
    pub snapshot: Snapshot,
    /// What to do about concurrent changes.
    pub isolation: Isolation,
    /// The transaction's pairs of commands.
    pub pairs: &'t mut dyn CommandPairs,
    /// How long to wait for a lock (`lock_timeout`); zero is for ever.
    pub lock_timeout_ns: Nanos,
    /// The number that what is done next at the statement's end has: above that of anything that functions, or changes along foreign
    /// keys, have done before.
    pub later: u32,
}

impl Tables<'_> {
    /// The number that the statement's changes have.
    pub fn command(&self) -> u32 {
        self.snapshot.command
    }

    /// Until when a wait that begins now may last.
    pub fn deadline(&self) -> Option<Nanos> {
        (self.lock_timeout_ns > 0).then(|| clock::now() + self.lock_timeout_ns)
    }

    /// What rows are read with.
    pub fn reader(&self) -> Reader<'_> {
        Reader { snapshot: &self.snapshot, pairs: self.pairs.pairs() }
    }

    /// What rows are changed with.
    pub fn writer(&mut self) -> Writer<'_> {
        let deadline = self.deadline();
        Writer { snapshot: &self.snapshot, isolation: self.isolation, pairs: &mut *self.pairs, deadline }
    }

    /// The same snapshot behind this statement: it sees what the statement has done, and functions in it.
    pub fn after(&self) -> Snapshot {
        let own = self.relations.storage().transactions.current_xid().unwrap_or(Xid(0));
        self.snapshot.at_command(own, self.later)
    }
}
