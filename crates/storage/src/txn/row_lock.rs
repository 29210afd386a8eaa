//! Sets of row lockers: who has locked a row without changing it, and how strongly.
//!
//! An update or a delete marks the row version itself (`xmax`). Who only locks a row (`SELECT ... FOR UPDATE` and its weaker
//! forms) leaves no mark that lasts: the version's lock word names a set in a table of the region, and the set names the
//! transactions and their strengths. A restart forgets all sets, which is right, because it ends all transactions; the page's lock
//! epoch makes words of an earlier start mean nothing.
//!
//! ```text
//!   row version: lock word ---> set: row, holders ---> transaction 17, share ---> transaction 21, key share
//!                                                          |                          |
//!   transaction's list of what it has locked ---> ...  <---/                     ... <-/
//! ```
//!
//! Rules
//! 1. A word is a hint: a set says which row it is of, and a word that leads to a set of another row, or to none, means "nobody".
//! 2. A set is used under the spinlock of its row's partition, in which it lies. Lock words change under the page's latch, held
//!    alone, by whoever adds the first holder.
//! 3. A transaction leaves its sets when it ends, and those of a child when it takes that back, before its waiters are posted. A set without holders is free at once.
//! 4. Conflicts are those of [`Strength::conflicts_with`]; a transaction is never in its own way.
//!
//! What this does not do: wait. A session that finds a conflict takes the row's object lock ([`super::LockKey::row`]) for its place
//! in the queue, waits for the transaction that it was told ([`super::Transactions::wait_for`]), and looks again.

use super::Transactions;
use super::places::{Free, Place, Places};
use super::registry::Row;
use crate::page::Tid;
use base::{RelId, Result, Xid};
use kernel::region;
use kernel::sync::Spin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

const PARTITIONS: usize = 64;
const PER_PARTITION: u32 = 1 << 18;

/// How strongly a row is locked. Deletes, and updates of key columns, count as [`Strength::Update`], other updates as
/// [`Strength::NoKeyUpdate`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u32)]
pub enum Strength {
    /// The key may not change: what a foreign key wants.
    KeyShare = 1,
    /// Nothing may change.
    Share = 2,
    /// The holder may change what is not key.
    NoKeyUpdate = 3,
    /// The holder may change or delete it.
    Update = 4,
}

impl Strength {
    /// Every strength, the weakest first.
    pub const ALL: [Strength; 4] = [Strength::KeyShare, Strength::Share, Strength::NoKeyUpdate, Strength::Update];

    /// True if two transactions cannot hold them on one row at a time.
    pub const fn conflicts_with(self, other: Strength) -> bool {
        // The two numbers add up to five exactly at the border.
        self as u32 + other as u32 >= 5
    }

    fn from_number(number: u32) -> Option<Strength> {
        Strength::ALL.get((number as usize).checked_sub(1)?).copied()
    }
}

kernel::shared! {
    struct Partition {
        sets: Free,
        holders: Free,
    }

    struct Set {
        rel: AtomicU32,
        block: AtomicU32,
        slot: AtomicU32,
        /// The first holder; of the free list, the next set.
        first: AtomicU32,
    }

    struct Holder {
        xid: AtomicU64,
        set: AtomicU32,
        strength: AtomicU32,
        next_of_set: AtomicU32,
        next_of_transaction: AtomicU32,
    }
}

impl Place for Set {
    fn link(&self) -> &AtomicU32 {
        &self.first
    }
}

impl Place for Holder {
    fn link(&self) -> &AtomicU32 {
        &self.next_of_set
    }
}

/// All sets; a value of references into the region.
#[derive(Clone, Copy)]
pub struct RowLocks {
    partitions: &'static [Spin<Partition>],
    sets: Places<Set>,
    holders: Places<Holder>,
}

/// The set that a lock word named had no places left: where its holders and sets end.
struct NoPlace(u32, u32);

fn some(link: u32) -> Option<u32> {
    link.checked_sub(1)
}

impl Set {
    fn is_of(&self, rel: RelId, tid: Tid) -> bool {
        let own = (self.rel.load(Relaxed), self.block.load(Relaxed), self.slot.load(Relaxed));
        own == (rel.0, tid.block, tid.slot as u32)
    }
}

impl RowLocks {
    pub(super) fn make() -> RowLocks {
        RowLocks {
            partitions: region::table("row lock partitions", PARTITIONS),
            sets: Places::make("row lock sets", PARTITIONS, PER_PARTITION),
            holders: Places::make("row lock holders", PARTITIONS, PER_PARTITION),
        }
    }

    fn partition(rel: RelId, tid: Tid) -> usize {
        let row = (rel.0 as u64) << 48 ^ (tid.block as u64) << 16 ^ tid.slot as u64;
        (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58) as usize % PARTITIONS
    }

    /// The set that a word leads to, if it is the row's. Under the spinlock of the row's partition.
    fn set(&self, index: usize, word: u32, rel: RelId, tid: Tid) -> Option<(u32, &'static Set)> {
        let number = some(word).filter(|&number| self.sets.contains(number) && self.sets.partition(number) == index)?;
        let set = self.sets.get(number);
        set.is_of(rel, tid).then_some((number, set))
    }

    fn holders(&self, set: &'static Set) -> impl Iterator<Item = (u32, &'static Holder)> + use<> {
        let holders = self.holders;
        let mut at = some(set.first.load(Relaxed));
        std::iter::from_fn(move || {
            let number = at?;
            let holder = holders.get(number);
            at = some(holder.next_of_set.load(Relaxed));
            Some((number, holder))
        })
    }

    /// How many sets and holders there are, and the bytes of memory behind them.
    pub fn usage(&self) -> (u64, u64, u64) {
        let (mut sets, mut holders) = (0, 0);
        for partition in self.partitions {
            let partition = partition.lock();
            sets += partition.sets.used() as u64;
            holders += partition.holders.used() as u64;
        }
        (sets, holders, self.sets.bytes() + self.holders.bytes())
    }

    /// Leaves the sets that a transaction has entered since the row lock `until` was its newest one: all of them, if it is zero.
    pub(super) fn leave_until(&self, row: &Row, until: u32) {
        while let Some(number) = some(row.row_locks.load(Relaxed)).filter(|number| number + 1 != until) {
            let holder = self.holders.get(number);
            let index = self.holders.partition(number);
            let mut partition = self.partitions[index].lock();
            let set_number = holder.set.load(Relaxed);
            let set = self.sets.get(set_number);
            let mut link = &set.first;
            while let Some(at) = some(link.load(Relaxed)) {
                if at == number {
                    link.store(holder.next_of_set.load(Relaxed), Relaxed);
                    break;
                }
                link = &self.holders.get(at).next_of_set;
            }
            row.row_locks.store(holder.next_of_transaction.load(Relaxed), Relaxed);
            self.holders.give(&mut partition.holders, number);
            if set.first.load(Relaxed) == 0 {
                set.rel.store(0, Relaxed);
                self.sets.give(&mut partition.sets, set_number);
            }
        }
    }
}

impl Transactions {
    /// Who is in the way of locking a row with that strength: transactions that hold it in a conflicting one and have not come to their
    /// end, which for a commit is when it is durable (rule 5 of [`super`]). `word` is the version's lock word.
    pub fn row_lock_conflict(&self, word: u32, rel: RelId, tid: Tid, strength: Strength) -> Option<Xid> {
        if word == 0 {
            return None;
        }
        let me = self.current_xid().unwrap_or(Xid(0));
        let locks = &self.row_locks;
        let index = RowLocks::partition(rel, tid);
        let _partition = locks.partitions[index].lock();
        let (_, set) = locks.set(index, word, rel, tid)?;
        let conflicting = locks.holders(set).find(|(_, holder)| {
            let xid = Xid(holder.xid.load(Relaxed));
            let held = Strength::from_number(holder.strength.load(Relaxed));
            !self.is_own(xid, me) && held.is_some_and(|held| held.conflicts_with(strength)) && !self.has_finished(xid)
        });
        conflicting.map(|(_, holder)| Xid(holder.xid.load(Relaxed)))
    }

    /// How strongly the running session's transaction, with its children, has locked a row by its set.
    pub fn row_lock_held(&self, word: u32, rel: RelId, tid: Tid) -> Option<Strength> {
        let me = self.current_xid().filter(|_| word != 0)?;
        let locks = &self.row_locks;
        let index = RowLocks::partition(rel, tid);
        let _partition = locks.partitions[index].lock();
        let (_, set) = locks.set(index, word, rel, tid)?;
        let mine = locks.holders(set).filter(|(_, holder)| self.is_own(Xid(holder.xid.load(Relaxed)), me));
        mine.filter_map(|(_, holder)| Strength::from_number(holder.strength.load(Relaxed))).max()
    }

    /// Locks a row for the running session's transaction, or the child of it that it writes as, which has an id and has seen, under the page's latch that it still holds
    /// alone, that nobody is in the way. Answers the version's lock word from now on.
    ///
    /// Errors: `53200`.
    pub fn lock_row(&self, word: u32, rel: RelId, tid: Tid, strength: Strength) -> Result<u32> {
        let xid = self.writer_xid().expect("who locks a row has a transaction id");
        let locks = &self.row_locks;
        let index = RowLocks::partition(rel, tid);
        loop {
            match self.try_lock_row(index, word, rel, tid, strength, xid) {
                Ok(word) => return Ok(word),
                Err(NoPlace(sets, holders)) => {
                    let (sets, holders) = (locks.sets.grow(index, sets)?, locks.holders.grow(index, holders)?);
                    let mut partition = locks.partitions[index].lock();
                    partition.sets.grown(sets);
                    partition.holders.grown(holders);
                }
            }
        }
    }

    fn try_lock_row(
        &self,
        index: usize,
        word: u32,
        rel: RelId,
        tid: Tid,
        strength: Strength,
        xid: Xid,
    ) -> std::result::Result<u32, NoPlace> {
        let locks = &self.row_locks;
        let row = self.mine();
        let mut partition = locks.partitions[index].lock();
        let none = |partition: &Partition| NoPlace(partition.sets.backed(), partition.holders.backed());
        let found = locks.set(index, word, rel, tid);
        if let Some((number, set)) = found
            && let Some((_, mine)) = locks.holders(set).find(|(_, holder)| holder.xid.load(Relaxed) == xid.0)
        {
            mine.strength.fetch_max(strength as u32, Relaxed);
            return Ok(number + 1);
        }
        let Some(mine) = locks.holders.take(index, &mut partition.holders) else { return Err(none(&partition)) };
        let number = match found {
            Some((number, _)) => number,
            None => match locks.sets.take(index, &mut partition.sets) {
                Some(number) => {
                    let set = locks.sets.get(number);
                    set.rel.store(rel.0, Relaxed);
                    set.block.store(tid.block, Relaxed);
                    set.slot.store(tid.slot as u32, Relaxed);
                    set.first.store(0, Relaxed);
                    number
                }
                None => {
                    locks.holders.give(&mut partition.holders, mine);
                    return Err(none(&partition));
                }
            },
        };
        let (set, holder) = (locks.sets.get(number), locks.holders.get(mine));
        holder.xid.store(xid.0, Relaxed);
        holder.set.store(number, Relaxed);
        holder.strength.store(strength as u32, Relaxed);
        holder.next_of_set.store(set.first.load(Relaxed), Relaxed);
        set.first.store(mine + 1, Relaxed);
        holder.next_of_transaction.store(row.row_locks.load(Relaxed), Relaxed);
        row.row_locks.store(mine + 1, Relaxed);
        Ok(number + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_as_documented() {
        let paper = include_str!("../../../../docs/locking.md");
        let names = ["key share", "share", "no-key update", "update"];
        for (&a, name) in Strength::ALL.iter().zip(names) {
            let is_row = |line: &&str| line.starts_with(&format!("| {name} | ")) && !line.contains(char::is_numeric);
            let row = paper.lines().find(is_row).unwrap();
            let cells: Vec<bool> = row.split('|').skip(2).take(4).map(|cell| cell.trim() == "x").collect();
            for (&b, conflicts) in Strength::ALL.iter().zip(cells) {
                assert_eq!(a.conflicts_with(b), conflicts, "{a:?} {b:?}");
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a), "{a:?} {b:?}");
            }
        }
    }
}
