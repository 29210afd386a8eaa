//! Locks of relations and other objects, and advisory ones: eight modes, fair queues, deadlocks found.
//!
//! A lock exists while somebody holds it or waits for it. A *holding* is what one session has of one lock: modes until the end
//! of the transaction, and counts of modes until the end of the session (advisory locks). Both lie in tables of the region,
//! partitioned by a hash of the [`LockKey`].
//!
//! ```text
//!   acquire:  no conflict with holders, nor with those before in the queue ----> granted
//!      |  conflict
//!      \--> queued, published ----> a release grants it, in the order of the queue, and posts
//!              | cancelled, timed out, deadlock                        | session ends
//!              \--> taken out of the queue, others looked at <---------/
//! ```
//!
//! Rules
//! 1. Everything about a lock (its holdings, its queue, the fields of rows that link the queue) changes under its partition's
//!    spinlock. Posts are sent after it is released.
//! 2. A request waits behind everybody in the queue whom it conflicts with, so that nobody starves; but a session that holds the lock
//!    in a mode that somebody in the queue waits for goes before him, because he waits for it anyway.
//! 3. A session's own holdings are not in its way.
//! 4. A relation in a mode that conflicts with none of its kind is locked without all this, as long as nobody wants it in a stronger one
//!    ([`fast_lock`](super::fast_lock)): such locks are looked for where somebody wants one that they would be in the way of.
//! 5. The list of a session's holdings is its own; the link is changed under the spinlock of the holding's partition, so a death in
//!    between restarts the server.

use super::Transactions;
use super::deadlock::WaitFor;
use super::fast_lock::Strong;
use super::places::{Free, Place, Places};
use super::registry::Row;
use crate::page::Tid;
use base::{RelId, Result, SessionId};
use kernel::clock::Nanos;
use kernel::region;
use kernel::session;
use kernel::sync::{Spin, SpinName};
use kernel::wait::{self, Event};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::*};

/// Partitions of the lock table.
pub const PARTITIONS: usize = 64;
const BUCKETS: usize = 256;
const PER_PARTITION: u32 = 1 << 16;
/// Sessions that are posted at a time, after the spinlock is released.
const POSTS: usize = 16;

macro_rules! modes {
    ($($(#[$doc:meta])* $mode:ident = $number:literal $text:literal [$($conflict:literal)*];)*) => {
        /// What a lock permits its holder, and forbids others. PostgreSQL's table modes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u32)]
        pub enum LockMode { $($(#[$doc])* $mode = $number,)* }

        impl LockMode {
            /// Every mode, the weakest first.
            pub const ALL: &'static [LockMode] = &[$(LockMode::$mode),*];

            /// The mode's name in views.
            pub const fn as_str(self) -> &'static str {
                match self { $(LockMode::$mode => $text),* }
            }

            /// The modes, as bits, that nobody else may hold at the same time.
            const fn conflicts(self) -> u32 {
                match self { $(LockMode::$mode => 0 $(| 1 << $conflict)*),* }
            }
        }
    };
}

modes! {
    /// Reading.
    AccessShare = 1 "AccessShareLock" [8];
    /// Locking rows.
    RowShare = 2 "RowShareLock" [7 8];
    /// Changing rows.
    RowExclusive = 3 "RowExclusiveLock" [5 6 7 8];
    /// Vacuum and the like: one at a time.
    ShareUpdateExclusive = 4 "ShareUpdateExclusiveLock" [4 5 6 7 8];
    /// Making an index: no changes of rows.
    Share = 5 "ShareLock" [3 4 6 7 8];
    /// No changes by others, one at a time.
    ShareRowExclusive = 6 "ShareRowExclusiveLock" [3 4 5 6 7 8];
    /// Reading only beside it.
    Exclusive = 7 "ExclusiveLock" [2 3 4 5 6 7 8];
    /// Nothing beside it.
    AccessExclusive = 8 "AccessExclusiveLock" [1 2 3 4 5 6 7 8];
}

impl LockMode {
    /// The mode with a number, if there is one.
    pub fn from_number(number: u32) -> Option<LockMode> {
        LockMode::ALL.get((number as usize).checked_sub(1)?).copied()
    }

    pub(super) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// One of the modes that statements on rows take, which do not conflict with each other.
    pub(super) const fn is_weak(self) -> bool {
        (self as u32) <= LockMode::RowExclusive as u32
    }

    /// One that conflicts with a weak mode.
    pub(super) const fn is_strong(self) -> bool {
        self as u32 >= LockMode::Share as u32
    }

    /// True if it conflicts with one of these modes, given as bits.
    pub(super) const fn conflicts_with_any(self, modes: u32) -> bool {
        self.conflicts() & modes != 0
    }

    /// True if the two cannot be held by two sessions at a time.
    pub const fn conflicts_with(self, other: LockMode) -> bool {
        self.conflicts() & other.bit() != 0
    }
}

/// What kind of thing a lock is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum LockClass {
    /// A table or an index.
    Relation = 1,
    /// Another object of the catalog.
    Object = 2,
    /// A row version: a place in the queue of those who want the row.
    Row = 3,
    /// A number that clients agree on.
    Advisory = 4,
    /// Two numbers that clients agree on.
    AdvisoryPair = 5,
}

impl LockClass {
    /// The name in views.
    pub const fn as_str(self) -> &'static str {
        match self {
            LockClass::Relation => "relation",
            LockClass::Object => "object",
            LockClass::Row => "tuple",
            LockClass::Advisory | LockClass::AdvisoryPair => "advisory",
        }
    }

    fn from_number(number: u32) -> LockClass {
        match number {
            1 => LockClass::Relation,
            2 => LockClass::Object,
            3 => LockClass::Row,
            5 => LockClass::AdvisoryPair,
            _ => LockClass::Advisory,
        }
    }

    const fn event(self) -> Event {
        match self {
            LockClass::Relation => Event::RelationLock,
            LockClass::Object => Event::ObjectLock,
            LockClass::Row => Event::TupleLock,
            LockClass::Advisory | LockClass::AdvisoryPair => Event::AdvisoryLock,
        }
    }
}

/// The bit that tells a name from an object, whose number has 32 bits.
const NAME: u64 = 1 << 63;

/// What is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockKey {
    /// What kind of thing.
    pub class: LockClass,
    /// A relation, a catalog, or the database whose clients agreed on something.
    pub first: u32,
    /// Which one of its kind.
    pub second: u64,
}

impl LockKey {
    /// A table or an index, by its object id.
    pub const fn relation(oid: u32) -> LockKey {
        LockKey { class: LockClass::Relation, first: oid, second: 0 }
    }

    /// An object of the catalog: the catalog it is in, and its object id.
    pub const fn object(catalog: u32, oid: u32) -> LockKey {
        LockKey { class: LockClass::Object, first: catalog, second: oid as u64 }
    }

    /// A name that something is being given, by a hash, in a schema or catalog. Two names that share a lock only wait for one another.
    pub const fn name(within: u32, hash: u64) -> LockKey {
        LockKey { class: LockClass::Object, first: within, second: hash | NAME }
    }

    /// True if it is a name's.
    pub fn is_name(self) -> bool {
        self.class == LockClass::Object && self.second & NAME != 0
    }

    /// A row version.
    pub const fn row(rel: RelId, tid: Tid) -> LockKey {
        LockKey { class: LockClass::Row, first: rel.0, second: (tid.block as u64) << 16 | tid.slot as u64 }
    }

    /// One number that clients of a database agreed on.
    pub const fn advisory(database: u32, key: u64) -> LockKey {
        LockKey { class: LockClass::Advisory, first: database, second: key }
    }

    /// Two numbers that clients of a database agreed on: never the same lock as one number.
    pub const fn advisory_pair(database: u32, (first, second): (u32, u32)) -> LockKey {
        LockKey { class: LockClass::AdvisoryPair, first: database, second: (first as u64) << 32 | second as u64 }
    }

    pub(super) fn is_relation(self) -> bool {
        self.class == LockClass::Relation
    }

    fn words(self) -> (u64, u64) {
        ((self.class as u64) << 32 | self.first as u64, self.second)
    }

    fn from_words((first, second): (u64, u64)) -> LockKey {
        LockKey { class: LockClass::from_number((first >> 32) as u32), first: first as u32, second }
    }

    fn hash(self) -> usize {
        let (first, second) = self.words();
        let mixed = (first ^ second.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ second;
        (mixed.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32) as usize
    }
}

/// For how long a lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockScope {
    /// Until the transaction ends.
    Transaction,
    /// Until it is released, as often as it was taken, or the session ends.
    Session,
}

/// What to do when a lock cannot be had at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// Wait, if need be for ever.
    Forever,
    /// Wait until then.
    Until(Nanos),
    /// Do without it.
    Never,
}

/// What a session gives up at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Release {
    /// What it took for the transaction.
    Transaction,
    /// The same, as far as it took it when the transaction had had so many savepoints, or more.
    Since(u32),
    /// All.
    Everything,
}

kernel::shared! {
    struct Partition {
        locks: Free,
        holdings: Free,
    }

    struct Lock {
        key_first: AtomicU64,
        key_second: AtomicU64,
        /// How many sessions hold each mode.
        granted: [AtomicU32; 9],
        /// The next lock of the bucket; of the free list when it is free.
        next: AtomicU32,
        holdings: AtomicU32,
        queue_head: AtomicU32,
        queue_tail: AtomicU32,
        unused: AtomicU32,
    }

    struct Holding {
        lock: AtomicU32,
        session: AtomicU32,
        /// Modes held until the transaction ends, as bits.
        modes: AtomicU32,
        /// How often each mode is held until the session ends; the first is unused.
        counts: [AtomicU16; 10],
        next_of_lock: AtomicU32,
        next_of_session: AtomicU32,
        /// One if it is counted among the strong ones of its relation.
        strong: AtomicU32,
        /// For each mode held until the transaction ends: how many savepoints it had had; the first is unused.
        stamps: [AtomicU32; 9],
        unused: AtomicU32,
    }
}

impl Place for Lock {
    fn link(&self) -> &AtomicU32 {
        &self.next
    }
}

impl Place for Holding {
    fn link(&self) -> &AtomicU32 {
        &self.next_of_lock
    }
}

/// The lock table; a value of references into the region.
#[derive(Clone, Copy)]
pub struct Locks {
    partitions: &'static [Spin<Partition>],
    buckets: &'static [AtomicU32],
    pub(super) strong: Strong,
    locks: Places<Lock>,
    holdings: Places<Holding>,
}

/// What somebody holds or waits for, for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// What is locked.
    pub key: LockKey,
    /// By whom.
    pub session: SessionId,
    /// How.
    pub mode: LockMode,
    /// False while it is waited for.
    pub granted: bool,
    /// Held without the lock table ([`fast_lock`](super::fast_lock)).
    pub fast: bool,
}

/// Sessions to be posted once the spinlock is released.
struct Posts {
    sessions: [SessionId; POSTS],
    count: usize,
    /// There were more.
    again: bool,
}

impl Posts {
    fn new() -> Posts {
        Posts { sessions: [SessionId(0); POSTS], count: 0, again: false }
    }

    fn send(&self) {
        for &session in &self.sessions[..self.count] {
            wait::post(session);
        }
    }
}

/// Numbers in links count from one.
fn some(link: u32) -> Option<u32> {
    link.checked_sub(1)
}

impl Lock {
    fn key(&self) -> LockKey {
        LockKey::from_words((self.key_first.load(Relaxed), self.key_second.load(Relaxed)))
    }
}

impl Holding {
    /// The modes, as bits, held until the transaction ends that were taken when it had had fewer savepoints than that.
    fn modes_before(&self, stamp: u32) -> u32 {
        let modes = self.modes.load(Relaxed);
        let kept = LockMode::ALL.iter().filter(|&&mode| self.stamps[mode as usize].load(Relaxed) < stamp);
        kept.fold(0, |bits, mode| bits | mode.bit()) & modes
    }

    fn count(&self, mode: LockMode) -> &AtomicU16 {
        &self.counts[mode as usize]
    }

    /// All modes that are held, as bits.
    fn held(&self) -> u32 {
        let for_session = LockMode::ALL.iter().filter(|&&mode| self.count(mode).load(Relaxed) > 0);
        for_session.fold(self.modes.load(Relaxed), |bits, mode| bits | mode.bit())
    }
}

impl Locks {
    pub(super) fn make() -> Locks {
        let locks = Locks {
            partitions: region::table("lock partitions", PARTITIONS),
            buckets: region::table("lock buckets", PARTITIONS * BUCKETS),
            strong: Strong::make(),
            locks: Places::make("locks", PARTITIONS, PER_PARTITION),
            holdings: Places::make("lock holdings", PARTITIONS, PER_PARTITION),
        };
        for (index, partition) in locks.partitions.iter().enumerate() {
            partition.publish(SpinName::LockPartition, index as u32);
        }
        locks
    }

    fn bucket(&self, key: LockKey) -> &'static AtomicU32 {
        &self.buckets[key.hash() % (PARTITIONS * BUCKETS)]
    }

    fn partition(key: LockKey) -> usize {
        key.hash() % (PARTITIONS * BUCKETS) / BUCKETS
    }

    fn find(&self, key: LockKey) -> Option<u32> {
        let words = key.words();
        let mut at = some(self.bucket(key).load(Relaxed));
        while let Some(number) = at {
            let lock = self.locks.get(number);
            if (lock.key_first.load(Relaxed), lock.key_second.load(Relaxed)) == words {
                return Some(number);
            }
            at = some(lock.next.load(Relaxed));
        }
        None
    }

    fn holdings_of(&self, lock: &'static Lock) -> impl Iterator<Item = (u32, &'static Holding)> + use<> {
        let holdings = self.holdings;
        let mut at = some(lock.holdings.load(Relaxed));
        std::iter::from_fn(move || {
            let number = at?;
            let holding = holdings.get(number);
            at = some(holding.next_of_lock.load(Relaxed));
            Some((number, holding))
        })
    }

    /// The lock of a key and the session's holding of it, made if they are not there. None if there are no places.
    fn lock_and_holding(
        &self,
        key: LockKey,
        session: SessionId,
        row: &Row,
        partition: &mut Partition,
    ) -> Option<(u32, u32)> {
        let index = Locks::partition(key);
        let number = match self.find(key) {
            Some(number) => number,
            None => {
                let number = self.locks.take(index, &mut partition.locks)?;
                let lock = self.locks.get(number);
                let (first, second) = key.words();
                lock.key_first.store(first, Relaxed);
                lock.key_second.store(second, Relaxed);
                let bucket = self.bucket(key);
                lock.next.store(bucket.load(Relaxed), Relaxed);
                bucket.store(number + 1, Relaxed);
                number
            }
        };
        let lock = self.locks.get(number);
        if let Some((mine, _)) = self.holdings_of(lock).find(|(_, holding)| holding.session.load(Relaxed) == session.0)
        {
            return Some((number, mine));
        }
        let Some(mine) = self.holdings.take(index, &mut partition.holdings) else {
            self.drop_if_unused(key, number, partition);
            return None;
        };
        let holding = self.holdings.get(mine);
        holding.lock.store(number, Relaxed);
        holding.session.store(session.0, Relaxed);
        holding.modes.store(0, Relaxed);
        holding.strong.store(0, Relaxed);
        holding.counts.iter().for_each(|count| count.store(0, Relaxed));
        holding.next_of_lock.store(lock.holdings.load(Relaxed), Relaxed);
        lock.holdings.store(mine + 1, Relaxed);
        holding.next_of_session.store(row.locks.load(Relaxed), Relaxed);
        row.locks.store(mine + 1, Relaxed);
        Some((number, mine))
    }

    /// Takes a lock out of its bucket when nobody holds it or waits for it.
    fn drop_if_unused(&self, key: LockKey, number: u32, partition: &mut Partition) {
        let lock = self.locks.get(number);
        if lock.holdings.load(Relaxed) != 0 || lock.queue_head.load(Relaxed) != 0 {
            return;
        }
        let mut link = self.bucket(key);
        while let Some(at) = some(link.load(Relaxed)) {
            if at == number {
                link.store(lock.next.load(Relaxed), Relaxed);
                break;
            }
            link = &self.locks.get(at).next;
        }
        self.locks.give(&mut partition.locks, number);
    }

    /// Takes a holding out that holds nothing, and its lock if it was the last. Answers whether it did.
    fn drop_holding(&self, row: &Row, mine: u32, partition: &mut Partition) -> bool {
        let holding = self.holdings.get(mine);
        if holding.held() != 0 {
            return false;
        }
        let number = holding.lock.load(Relaxed);
        let lock = self.locks.get(number);
        let key = lock.key();
        if holding.strong.load(Relaxed) != 0 {
            self.strong.remove(key.first);
        }
        let mut link = &lock.holdings;
        while let Some(at) = some(link.load(Relaxed)) {
            if at == mine {
                link.store(holding.next_of_lock.load(Relaxed), Relaxed);
                break;
            }
            link = &self.holdings.get(at).next_of_lock;
        }
        let mut link = &row.locks;
        while let Some(at) = some(link.load(Relaxed)) {
            if at == mine {
                link.store(holding.next_of_session.load(Relaxed), Relaxed);
                break;
            }
            link = &self.holdings.get(at).next_of_session;
        }
        self.holdings.give(&mut partition.holdings, mine);
        self.drop_if_unused(key, number, partition);
        true
    }

    /// Modes, as bits, that others than the holding hold.
    fn held_by_others(lock: &Lock, mine: &Holding) -> u32 {
        let own = mine.held();
        let others = |mode: &&LockMode| lock.granted[**mode as usize].load(Relaxed) > (own & mode.bit() != 0) as u32;
        LockMode::ALL.iter().filter(others).fold(0, |bits, mode| bits | mode.bit())
    }

    fn grant(lock: &Lock, mine: &Holding, mode: LockMode, scope: LockScope, savepoints: u32) {
        if mine.held() & mode.bit() == 0 {
            let count = &lock.granted[mode as usize];
            count.store(count.load(Relaxed) + 1, Relaxed);
        }
        match scope {
            LockScope::Transaction => {
                let modes = mine.modes.load(Relaxed);
                if modes & mode.bit() == 0 {
                    mine.stamps[mode as usize].store(savepoints, Relaxed);
                    mine.modes.store(modes | mode.bit(), Relaxed);
                }
            }
            LockScope::Session => {
                let count = mine.count(mode);
                count.store(count.load(Relaxed).saturating_add(1), Relaxed);
            }
        }
    }

    /// Counts modes out of the lock that a holding has given up.
    fn ungrant(lock: &Lock, before: u32, after: u32) {
        for &mode in LockMode::ALL {
            if before & !after & mode.bit() != 0 {
                let count = &lock.granted[mode as usize];
                count.store(count.load(Relaxed) - 1, Relaxed);
            }
        }
    }
}

/// What a try came to.
enum Tried {
    Granted,
    /// In the queue of that lock, with that holding.
    Queued(u32, u32),
    Refused,
    /// No places: locks end at the one, holdings at the other.
    NoPlace(u32, u32),
}

impl Transactions {
    /// Locks an object for the running session. True when it has the lock; false only with [`LockWait::Never`]. The session holds
    /// no latch and no room in the log.
    ///
    /// Errors: `40P01`, `57014`, `55P03` after [`LockWait::Until`], `53200`.
    pub fn lock(&'static self, key: LockKey, mode: LockMode, scope: LockScope, how: LockWait) -> Result<bool> {
        let me = session::current_id();
        let row = self.row(me);
        if key.is_relation()
            && mode.is_weak()
            && scope == LockScope::Transaction
            // What is taken behind a savepoint goes with it, and a word of the fast locks has no room to say since when it is held.
            && (row.level.load(Relaxed) == 0 || row.fast.modes(key.first) & mode.bit() != 0)
            && self.lock_fast(row, key.first, mode)
        {
            return Ok(true);
        }
        let locks = &self.locks;
        let index = Locks::partition(key);
        loop {
            let tried = self.try_lock(key, mode, scope, how, me);
            match tried {
                Tried::Granted => return Ok(true),
                Tried::Refused => return Ok(false),
                Tried::NoPlace(lock_end, holding_end) => {
                    let lock_end = locks.locks.grow(index, lock_end)?;
                    let holding_end = locks.holdings.grow(index, holding_end)?;
                    let mut partition = locks.partitions[index].lock();
                    partition.locks.grown(lock_end);
                    partition.holdings.grown(holding_end);
                }
                Tried::Queued(number, mine) => {
                    let deadline = match how {
                        LockWait::Until(deadline) => Some(deadline),
                        _ => None,
                    };
                    let mut turn = self.begin_turn(WaitFor::Lock(number, mode), deadline);
                    while row.waits.granted.load(SeqCst) == 0 {
                        let waited = turn.wait(key.class.event(), key.second);
                        if let Err(error) = waited.and_then(|waited| turn.look(self, waited)) {
                            drop(turn);
                            self.give_up(me, number, mine, mode, scope);
                            return Err(error);
                        }
                    }
                    return Ok(true);
                }
            }
        }
    }

    fn try_lock(&self, key: LockKey, mode: LockMode, scope: LockScope, how: LockWait, me: SessionId) -> Tried {
        let row = self.row(me);
        let locks = &self.locks;
        let mut partition = locks.partitions[Locks::partition(key)].lock();
        let Some((number, mine)) = locks.lock_and_holding(key, me, row, &mut partition) else {
            return Tried::NoPlace(partition.locks.backed(), partition.holdings.backed());
        };
        let (lock, holding) = (locks.locks.get(number), locks.holdings.get(mine));
        let own = holding.held() | if key.is_relation() { row.fast.modes(key.first) } else { 0 };
        if key.is_relation() && mode.is_strong() && holding.strong.load(Relaxed) == 0 {
            holding.strong.store(1, Relaxed);
            locks.strong.add(key.first);
        }
        let others = Locks::held_by_others(lock, holding) | self.fast_of_others(key, me, mode);
        let free = mode.conflicts() & others == 0;
        let mut before = 0;
        let mut last = None;
        let mut at = some(lock.queue_head.load(Relaxed));
        while let Some(waiter) = at {
            let waits = &self.row(SessionId(waiter)).waits;
            let Some(wanted) = LockMode::from_number(waits.wanted()) else { break };
            if own & wanted.conflicts() != 0 {
                // Rule 2: he waits for this session anyway.
                break;
            }
            before |= wanted.bit();
            last = Some(waiter);
            at = some(waits.next.load(Relaxed));
        }
        if own & mode.bit() != 0 || (free && mode.conflicts() & before == 0) {
            Locks::grant(lock, holding, mode, scope, row.savepoints.load(Relaxed));
            return Tried::Granted;
        }
        if how == LockWait::Never {
            locks.drop_holding(row, mine, &mut partition);
            return Tried::Refused;
        }
        let waits = &row.waits;
        waits.enqueue(mode, scope == LockScope::Session, mine, at);
        match last {
            None => lock.queue_head.store(me.0 + 1, Relaxed),
            Some(last) => self.row(SessionId(last)).waits.next.store(me.0 + 1, Relaxed),
        }
        if at.is_none() {
            lock.queue_tail.store(me.0 + 1, Relaxed);
        }
        Tried::Queued(number, mine)
    }

    /// Takes a session out of a lock's queue. Under the partition's spinlock. False if it was not in it.
    fn unqueue(&self, lock: &Lock, session: SessionId) -> bool {
        let mut link = &lock.queue_head;
        let mut before = None;
        while let Some(at) = some(link.load(Relaxed)) {
            let waits = &self.row(SessionId(at)).waits;
            if at == session.0 {
                waits.leave_queue();
                link.store(waits.next.load(Relaxed), Relaxed);
                if lock.queue_tail.load(Relaxed) == at + 1 {
                    lock.queue_tail.store(before.map_or(0, |before: u32| before + 1), Relaxed);
                }
                return true;
            }
            before = Some(at);
            link = &waits.next;
        }
        false
    }

    /// Ends a wait without the lock: out of the queue, or, if it was granted meanwhile, given back.
    fn give_up(&self, session: SessionId, number: u32, mine: u32, mode: LockMode, scope: LockScope) {
        let locks = &self.locks;
        let row = self.row(session);
        let index = locks.locks.partition(number);
        let mut posts = Posts::new();
        {
            let mut partition = locks.partitions[index].lock();
            let (lock, holding) = (locks.locks.get(number), locks.holdings.get(mine));
            if !self.unqueue(lock, session) {
                let before = holding.held();
                match scope {
                    LockScope::Transaction => {
                        holding.modes.store(holding.modes.load(Relaxed) & !mode.bit(), Relaxed);
                    }
                    LockScope::Session => {
                        let count = holding.count(mode);
                        count.store(count.load(Relaxed).saturating_sub(1), Relaxed);
                    }
                }
                Locks::ungrant(lock, before, holding.held());
            }
            self.grant_waiting(lock, &mut posts);
            locks.drop_holding(row, mine, &mut partition);
        }
        posts.send();
        if posts.again {
            self.grant_again(index, number);
        }
    }

    /// Grants what can be granted, from the front of the queue. Under the partition's spinlock.
    fn grant_waiting(&self, lock: &Lock, posts: &mut Posts) {
        let mut before = 0;
        let mut link = &lock.queue_head;
        let mut last = None;
        while let Some(at) = some(link.load(Relaxed)) {
            let waits = &self.row(SessionId(at)).waits;
            let holding = self.locks.holdings.get(waits.holding.load(Relaxed));
            let Some(mode) = LockMode::from_number(waits.wanted()) else { return };
            let others = Locks::held_by_others(lock, holding) | self.fast_of_others(lock.key(), SessionId(at), mode);
            let free = mode.conflicts() & (others | before) == 0;
            if !free {
                before |= mode.bit();
                last = Some(at);
                link = &waits.next;
                continue;
            }
            if posts.count == POSTS {
                posts.again = true;
                return;
            }
            let scope = if waits.wants_for_session() { LockScope::Session } else { LockScope::Transaction };
            let savepoints = self.row(SessionId(at)).savepoints.load(Relaxed);
            Locks::grant(lock, holding, mode, scope, savepoints);
            link.store(waits.next.load(Relaxed), Relaxed);
            if lock.queue_tail.load(Relaxed) == at + 1 {
                lock.queue_tail.store(last.map_or(0, |last: u32| last + 1), Relaxed);
            }
            waits.leave_queue();
            waits.granted.store(1, SeqCst);
            posts.sessions[posts.count] = SessionId(at);
            posts.count += 1;
        }
    }

    /// Somebody's lock in a mode that is in no table is gone: grants what can be granted now.
    #[cold]
    pub(super) fn tell_queue(&self, key: LockKey) {
        let index = Locks::partition(key);
        let mut posts = Posts::new();
        let number;
        {
            let _partition = self.locks.partitions[index].lock();
            let Some(found) = self.locks.find(key) else { return };
            number = found;
            self.grant_waiting(self.locks.locks.get(number), &mut posts);
        }
        posts.send();
        if posts.again {
            self.grant_again(index, number);
        }
    }

    /// Goes on granting after the first posts were sent.
    #[cold]
    fn grant_again(&self, index: usize, number: u32) {
        loop {
            let mut posts = Posts::new();
            {
                let _partition = self.locks.partitions[index].lock();
                self.grant_waiting(self.locks.locks.get(number), &mut posts);
            }
            posts.send();
            if !posts.again {
                return;
            }
        }
    }

    /// Releases a lock that the running session has taken for itself ([`LockScope::Session`]), once. False if it has none.
    pub fn unlock(&self, key: LockKey, mode: LockMode) -> bool {
        let me = session::current_id();
        let row = self.row(me);
        let locks = &self.locks;
        let index = Locks::partition(key);
        let mut posts = Posts::new();
        let number;
        {
            let mut partition = locks.partitions[index].lock();
            let Some(found) = locks.find(key) else { return false };
            number = found;
            let lock = locks.locks.get(number);
            let mine = locks.holdings_of(lock).find(|(_, holding)| holding.session.load(Relaxed) == me.0);
            let Some((mine, holding)) = mine.filter(|(_, holding)| holding.count(mode).load(Relaxed) > 0) else {
                return false;
            };
            let before = holding.held();
            let count = holding.count(mode);
            count.store(count.load(Relaxed) - 1, Relaxed);
            Locks::ungrant(lock, before, holding.held());
            self.grant_waiting(lock, &mut posts);
            locks.drop_holding(row, mine, &mut partition);
        }
        posts.send();
        if posts.again {
            self.grant_again(index, number);
        }
        true
    }

    /// Releases all advisory locks that the running session has taken for itself.
    pub fn unlock_all_advisory(&self) {
        let me = session::current_id();
        self.locks.release_some(self, me, |key, holding| {
            if matches!(key.class, LockClass::Advisory | LockClass::AdvisoryPair) {
                holding.counts.iter().for_each(|count| count.store(0, Relaxed));
            }
        });
    }

    /// True if the running session holds the lock in that mode or a stronger one.
    pub fn holds_lock(&self, key: LockKey, mode: LockMode) -> bool {
        let me = session::current_id();
        let at_least = |modes: u32| LockMode::ALL.iter().any(|&other| other >= mode && modes & other.bit() != 0);
        if key.is_relation() && at_least(self.row(me).fast.modes(key.first)) {
            return true;
        }
        let _partition = self.locks.partitions[Locks::partition(key)].lock();
        let Some(number) = self.locks.find(key) else { return false };
        let lock = self.locks.locks.get(number);
        let mut held = self.locks.holdings_of(lock).filter(|(_, holding)| holding.session.load(Relaxed) == me.0);
        held.any(|(_, holding)| at_least(holding.held()))
    }

    /// True if somebody waits for the lock: whoever holds it for work that can be put off gives it up then.
    pub fn is_wanted(&self, key: LockKey) -> bool {
        let _partition = self.locks.partitions[Locks::partition(key)].lock();
        self.locks.find(key).is_some_and(|number| self.locks.locks.get(number).queue_head.load(Relaxed) != 0)
    }

    /// Takes a session that has died out of the queue that it stood in.
    pub(super) fn leave_queues(&self, session: SessionId) {
        let waits = &self.row(session).waits;
        if let Some(mode) = LockMode::from_number(waits.wanted()) {
            let mine = waits.holding.load(Relaxed);
            let number = self.locks.holdings.get(mine).lock.load(Relaxed);
            let scope = if waits.wants_for_session() { LockScope::Session } else { LockScope::Transaction };
            self.give_up(session, number, mine, mode, scope);
        }
        waits.clear();
    }
}

impl Locks {
    /// Gives up what a session holds.
    pub(super) fn release_all(&self, transactions: &Transactions, session: SessionId, what: Release) {
        if !matches!(what, Release::Since(_)) {
            transactions.release_fast(transactions.row(session));
        }
        self.release_some(transactions, session, |_, holding| {
            let kept = match what {
                Release::Since(stamp) => holding.modes_before(stamp),
                Release::Transaction | Release::Everything => 0,
            };
            holding.modes.store(kept, Relaxed);
            if what == Release::Everything {
                holding.counts.iter().for_each(|count| count.store(0, Relaxed));
            }
        });
    }

    /// Walks over a session's holdings; `give_up` takes modes from each.
    fn release_some(&self, transactions: &Transactions, session: SessionId, give_up: impl Fn(LockKey, &Holding)) {
        let row = transactions.row(session);
        let mut at = some(row.locks.load(Relaxed));
        while let Some(mine) = at {
            let holding = self.holdings.get(mine);
            // Read before the holding may be gone.
            at = some(holding.next_of_session.load(Relaxed));
            let number = holding.lock.load(Relaxed);
            let index = self.holdings.partition(mine);
            let mut posts = Posts::new();
            {
                let mut partition = self.partitions[index].lock();
                let lock = self.locks.get(number);
                let before = holding.held();
                give_up(lock.key(), holding);
                let after = holding.held();
                if before != after {
                    Locks::ungrant(lock, before, after);
                    transactions.grant_waiting(lock, &mut posts);
                }
                self.drop_holding(row, mine, &mut partition);
            }
            posts.send();
            if posts.again {
                transactions.grant_again(index, number);
            }
        }
    }

    /// Who is in the way of a session that waits for a lock: holders, and those before it in the queue.
    pub(super) fn blockers(
        &self,
        transactions: &Transactions,
        number: u32,
        from: SessionId,
        mode: LockMode,
        blockers: &mut Vec<SessionId>,
    ) {
        if !self.locks.contains(number) {
            return;
        }
        // Room for as many as are likely, so that nothing is allocated under the spinlock; those that do not fit are found in the
        // next look, when some of these are gone.
        blockers.reserve(256);
        let _partition = self.partitions[self.locks.partition(number)].lock();
        // Who was granted the lock and has not run since still says that he waits: nobody is in his way, and those that are in the
        // queue now came after him.
        if transactions.row(from).waits.wanted() == 0 {
            return;
        }
        let lock = self.locks.get(number);
        for (_, holding) in self.holdings_of(lock) {
            let session = SessionId(holding.session.load(Relaxed));
            if session != from && holding.held() & mode.conflicts() != 0 && blockers.len() < blockers.capacity() {
                blockers.push(session);
            }
        }
        let room = blockers.capacity() - blockers.len();
        blockers.extend(transactions.fast_blockers(lock.key(), from, mode).take(room));
        let mut at = some(lock.queue_head.load(Relaxed));
        while let Some(session) = at.filter(|&at| at != from.0) {
            let waits = &transactions.row(SessionId(session)).waits;
            let conflicts = LockMode::from_number(waits.wanted()).is_some_and(|wanted| mode.conflicts_with(wanted));
            if conflicts && blockers.len() < blockers.capacity() {
                blockers.push(SessionId(session));
            }
            at = some(waits.next.load(Relaxed));
        }
    }

    /// Everything that is held or waited for. For views: partition after partition, so the whole is of no single moment.
    pub fn held(&self, transactions: &Transactions) -> Vec<Held> {
        let mut all = Vec::new();
        for (index, partition) in self.partitions.iter().enumerate() {
            loop {
                let wanted = partition.lock().holdings.used() as usize * 3;
                all.reserve(wanted + 8);
                let held = partition.lock();
                if held.holdings.used() as usize * 3 > all.capacity() - all.len() {
                    continue;
                }
                self.held_in(transactions, index, &mut all);
                drop(held);
                break;
            }
        }
        for (session, relation, modes) in transactions.fast_held() {
            for &mode in LockMode::ALL.iter().filter(|mode| modes & mode.bit() != 0) {
                all.push(Held { key: LockKey::relation(relation), session, mode, granted: true, fast: true });
            }
        }
        all
    }

    fn held_in(&self, transactions: &Transactions, index: usize, all: &mut Vec<Held>) {
        for bucket in &self.buckets[index * BUCKETS..(index + 1) * BUCKETS] {
            let mut at = some(bucket.load(Relaxed));
            while let Some(number) = at {
                let lock = self.locks.get(number);
                let key = lock.key();
                let room = |all: &Vec<Held>| all.len() < all.capacity();
                for (_, holding) in self.holdings_of(lock) {
                    let session = SessionId(holding.session.load(Relaxed));
                    let held = holding.held();
                    for &mode in LockMode::ALL.iter().filter(|mode| held & mode.bit() != 0) {
                        if room(all) {
                            all.push(Held { key, session, mode, granted: true, fast: false });
                        }
                    }
                }
                let mut waiter = some(lock.queue_head.load(Relaxed));
                while let Some(session) = waiter {
                    let waits = &transactions.row(SessionId(session)).waits;
                    if let Some(mode) = LockMode::from_number(waits.wanted()).filter(|_| room(all)) {
                        all.push(Held { key, session: SessionId(session), mode, granted: false, fast: false });
                    }
                    waiter = some(waits.next.load(Relaxed));
                }
                at = some(lock.next.load(Relaxed));
            }
        }
    }

    /// How many locks there are in the table, how many holdings in all, and the bytes of memory behind the table.
    pub fn usage(&self, transactions: &Transactions) -> (u64, u64, u64) {
        let (mut locks, mut holdings) = (0, 0);
        for partition in self.partitions {
            let partition = partition.lock();
            locks += partition.locks.used() as u64;
            holdings += partition.holdings.used() as u64;
        }
        holdings += transactions.fast_held().count() as u64;
        (locks, holdings, self.locks.bytes() + self.holdings.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_mutual_and_as_documented() {
        for &a in LockMode::ALL {
            for &b in LockMode::ALL {
                assert_eq!(a.conflicts_with(b), b.conflicts_with(a), "{a:?} {b:?}");
            }
        }
        let paper = include_str!("../../../../docs/locking.md");
        let names = [
            "access share",
            "row share",
            "row exclusive",
            "share update exclusive",
            "share",
            "share row exclusive",
            "exclusive",
            "access exclusive",
        ];
        for (&mode, name) in LockMode::ALL.iter().zip(names) {
            let is_row = |line: &&str| line.starts_with(&format!("| {name} | ")) && line.contains(char::is_numeric);
            let row = paper.lines().find(is_row);
            let numbers: Vec<u32> =
                row.unwrap().rsplit('|').nth(1).unwrap().split_whitespace().map(|n| n.parse().unwrap()).collect();
            let bits = numbers.iter().fold(0, |bits, number| bits | 1 << number);
            assert_eq!(mode.conflicts(), bits, "{name}");
        }
    }

    #[test]
    fn keys_of_different_kinds_are_different_locks() {
        let keys = [
            LockKey::relation(5),
            LockKey::object(5, 0),
            LockKey::row(RelId(5), Tid::new(0, 0)),
            LockKey::advisory(1, 5),
            LockKey::advisory(2, 5),
            LockKey::advisory_pair(1, (0, 5)),
        ];
        for (at, a) in keys.iter().enumerate() {
            assert_eq!(LockKey::from_words(a.words()), *a);
            for b in &keys[at + 1..] {
                assert_ne!(a.words(), b.words());
            }
        }
    }
}
