//! The transaction map: what became of every transaction, in constant time.
//!
//! Transactions are numbered in *segments* of 65,536. A directory in the region says of each segment where its entries are:
//!
//! | form | memory | holds |
//! |---|---|---|
//! | full | 512 KiB | a word for each transaction: running, aborted, or the LSN at which it committed |
//! | bits | 8 KiB | a bit for each transaction: aborted; all others committed before every snapshot |
//! | none | nothing | all committed before every snapshot |
//!
//! ```text
//!          first id of the segment          all finished, all older            nothing on any page
//!          is near                          than every snapshot                has an aborted id of it
//!  (none) -----------------------> full ----------------------------> bits -------------------------> none
//!                                    \------- none of them aborted -----------------------------------^
//! ```
//!
//! The truncation rule is the arrow from full to bits: [`Map::compress`] is called with a horizon below which every
//! transaction has finished, before the oldest snapshot if it committed; the exact commit number is of no interest to anybody
//! then. The arrow from bits to none is vacuum's: [`Map::forget_aborted`].
//!
//! Rules
//! 1. An entry changes once, from running to what it stays; that of a child (rule 4) once more, if it is taken back. A commit's entry is
//!    stored under the log's spinlock, so that whoever sees the log's durable end beyond the commit sees the entry too.
//! 2. Looking up takes no lock. A segment's memory may be taken away while somebody reads it, so the directory is read again
//!    after the entry: if it says the same, the entry was the segment's.
//! 3. The directory is a window of 65,536 segments, about four billion transactions, behind which bits cannot be kept. A
//!    server that gets there without a vacuum refuses new transactions rather than forget an aborted one.
//! 4. An entry with the top bit set is a child's: what a transaction changed behind a savepoint ([`super::nested`]). The other bits are
//!    the transaction's id, where who looks it up is sent. A transaction that aborts marks its children itself, so that an entry
//!    that still names one is a commit's where the transaction is below the horizon.
//!
//! What this does not do: remember anything over a restart (checkpoints and recovery do), know who runs a transaction
//! ([`super::registry`]).

use base::{Error, Lsn, Result, Xid, sqlstate};
use kernel::region;
use kernel::region::reserve::Reserve;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*, fence};

/// Transactions of one segment.
pub const SEGMENT: u64 = 1 << 16;
/// Segments that the directory has room for.
const WINDOW: usize = 1 << 16;
/// The most segments in full form at a time: 134 million transactions between the oldest needed one and the newest.
const FULL_MAX: usize = 2048;
/// The most segments in bit form at a time.
const BITS_MAX: usize = 1 << 16;

const RUNNING: u64 = 0;
const ABORTED: u64 = 1;
/// Committed before every snapshot there can be.
const ANCIENT: u64 = 2;
/// Every other value is the LSN of a commit.
const LSN_MIN: u64 = 8;
const CHILD: u64 = 1 << 63;

type Full = [AtomicU64; SEGMENT as usize];
type Bits = [AtomicU64; SEGMENT as usize / 64];

/// What became of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It runs, as far as the map knows: the commit record is not written.
    Running,
    /// It aborted, or a crash ended it: its versions are never visible.
    Aborted,
    /// It committed; the LSN is the end of its commit record, and its place in the order of commits.
    Committed(Lsn),
    /// It committed before every snapshot that there is.
    Ancient,
}

/// Where a segment's entries are: segment number in bits 24 and up, form in bits 22 and 23, place in the bits below.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place(u64);

const FORM_NONE: u64 = 0;
const FORM_FULL: u64 = 1;
const FORM_BITS: u64 = 2;

impl Place {
    fn new(segment: u64, form: u64, index: usize) -> Place {
        debug_assert!(segment < 1 << 40 && index < 1 << 22);
        Place(segment << 24 | form << 22 | index as u64)
    }

    fn segment(self) -> u64 {
        self.0 >> 24
    }

    fn form(self) -> u64 {
        self.0 >> 22 & 3
    }

    fn index(self) -> usize {
        (self.0 & 0x3F_FFFF) as usize
    }
}

kernel::shared! {
    /// What the map counts, and the latch of its directory.
    struct MapShared {
        latch: Latch,
        /// Segments at or above this one have never been made.
        end: AtomicU64,
        full: AtomicU32,
        bits: AtomicU32,
        compressed: AtomicU64,
    }
}

/// The map; a value of references into the region.
#[derive(Clone, Copy)]
pub struct Map {
    shared: &'static MapShared,
    directory: &'static [AtomicU64],
    full: Reserve<Full>,
    /// One word for each place in `full`: one if it is taken. Under the latch.
    full_taken: &'static [AtomicU32],
    bits: Reserve<Bits>,
    bits_taken: &'static [AtomicU32],
}

/// Counts for views.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapUsage {
    /// Segments in full form.
    pub full: u32,
    /// Segments in bit form.
    pub bits: u32,
    /// Segments that were ever compressed.
    pub compressed: u64,
    /// Bytes of memory.
    pub bytes: u64,
}

fn segment_of(xid: Xid) -> u64 {
    xid.0 / SEGMENT
}

impl Map {
    /// Takes the map's tables. Before the first engine.
    pub fn make() -> Map {
        Map {
            shared: region::single("transaction map"),
            directory: region::table("transaction map directory", WINDOW),
            full: Reserve::with_step("transaction map full", FULL_MAX, size_of::<Full>()),
            full_taken: region::table("transaction map full use", FULL_MAX),
            bits: Reserve::with_step("transaction map bits", BITS_MAX, size_of::<Bits>()),
            bits_taken: region::table("transaction map bits use", BITS_MAX),
        }
    }

    fn place(&self, segment: u64) -> Place {
        // Acquire pairs with the Release of whoever changed the directory: the entries are there before the place is.
        Place(self.directory[segment as usize % WINDOW].load(Acquire))
    }

    fn set_place(&self, place: Place) {
        self.directory[place.segment() as usize % WINDOW].store(place.0, Release);
    }

    /// What became of a transaction.
    #[inline]
    pub fn status(&self, xid: Xid) -> Status {
        let mut xid = xid;
        loop {
            match self.word(xid) {
                RUNNING => return Status::Running,
                ABORTED => return Status::Aborted,
                ANCIENT => return Status::Ancient,
                child if child & CHILD != 0 => xid = Xid(child & !CHILD),
                lsn => return Status::Committed(Lsn(lsn)),
            }
        }
    }

    #[inline]
    fn word(&self, xid: Xid) -> u64 {
        let segment = segment_of(xid);
        loop {
            let place = self.place(segment);
            if place.segment() != segment {
                // Either behind the window, where nothing aborted is left, or an id that nobody has been given.
                let known = segment < self.shared.end.load(Acquire);
                return if known { ANCIENT } else { ABORTED };
            }
            let entry = (xid.0 % SEGMENT) as usize;
            let word = match place.form() {
                FORM_FULL => self.full.get(place.index())[entry].load(Acquire),
                FORM_BITS => {
                    let bits = self.bits.get(place.index())[entry / 64].load(Acquire);
                    if bits >> (entry % 64) & 1 != 0 { ABORTED } else { ANCIENT }
                }
                _ => return ANCIENT,
            };
            // Rule 2. The entry's Acquire pairs with the fence of whoever took the segment away: an entry that was wiped or
            // is another segment's cannot be read without the new place.
            if self.place(segment) == place {
                return word;
            }
        }
    }

    /// The transaction that an id is a child of; none for one that is no child, or was taken back, or ended long ago.
    #[inline]
    pub fn parent(&self, xid: Xid) -> Option<Xid> {
        let word = self.word(xid);
        (word & CHILD != 0).then_some(Xid(word & !CHILD))
    }

    /// Enters a new child of a transaction. Under the spinlock of ids ([`super::nested`], rule 1).
    pub(super) fn set_parent(&self, child: Xid, parent: Xid) {
        debug_assert!(parent < child);
        self.entry(child).store(CHILD | parent.0, Release);
    }

    /// True when the entries of `xid` are there. Takes no lock: may be asked under a spinlock.
    #[inline]
    pub fn is_ready_for(&self, xid: Xid) -> bool {
        let place = self.place(segment_of(xid));
        place.segment() == segment_of(xid) && place.form() == FORM_FULL
    }

    /// Makes the entries of `xid`'s segment if they are not there. May wait.
    ///
    /// Errors: `53200`; `54000` when rule 3 forbids it.
    #[cold]
    pub fn prepare(&self, xid: Xid) -> Result<()> {
        let segment = segment_of(xid);
        let _latch = self.shared.latch.lock(Mode::Exclusive, Event::TransactionLatch);
        if self.is_ready_for(xid) {
            return Ok(());
        }
        let before = self.place(segment);
        if before.form() != FORM_NONE {
            assert!(before.segment() < segment, "a segment of the transaction map is made twice");
            return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "the map of transactions is full")
                .detail(format!(
                    "Transaction {xid} is {WINDOW} segments away from aborted transactions that may still have versions on pages."
                ))
                .hint("Vacuum all tables, or end old transactions."));
        }
        let index = self.take(self.full_taken).ok_or_else(|| {
            Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "the map of transactions is full")
                .detail(format!("An old snapshot or transaction keeps {FULL_MAX} segments of it."))
                .hint("End old transactions.")
        })?;
        if let Err(error) = self.full.back(index, 1) {
            self.full_taken[index].store(0, Release);
            return Err(error);
        }
        debug_assert!(self.full.get(index).iter().all(|entry| entry.load(Relaxed) == RUNNING));
        kernel::fault::point("map.prepared");
        self.shared.full.fetch_add(1, Relaxed);
        self.set_place(Place::new(segment, FORM_FULL, index));
        self.shared.end.fetch_max(segment + 1, AcqRel);
        Ok(())
    }

    /// A free place, marked as taken. Under the latch.
    fn take(&self, taken: &[AtomicU32]) -> Option<usize> {
        let index = taken.iter().position(|word| word.load(Relaxed) == 0)?;
        taken[index].store(1, Relaxed);
        Some(index)
    }

    fn entry(&self, xid: Xid) -> &'static AtomicU64 {
        let place = self.place(segment_of(xid));
        assert!(
            place.segment() == segment_of(xid) && place.form() == FORM_FULL,
            "transaction {xid} has no entry in the map"
        );
        &self.full.get(place.index())[(xid.0 % SEGMENT) as usize]
    }

    /// Enters a commit. Under the log's spinlock (rule 1).
    #[inline]
    pub(crate) fn set_committed(&self, xid: Xid, at: Lsn) {
        debug_assert!(at.0 >= LSN_MIN);
        self.entry(xid).store(at.0, Release);
    }

    /// Enters an abort.
    pub(crate) fn set_aborted(&self, xid: Xid) {
        self.entry(xid).store(ABORTED, Release);
    }

    /// Compresses segments whose transactions are all below `horizon`: finished, and committed before every snapshot if they
    /// committed. Answers how many. May wait. Errors: `53200`.
    pub fn compress(&self, horizon: Xid) -> Result<u32> {
        let end = segment_of(horizon);
        let mut count = 0;
        for segment in end.saturating_sub(WINDOW as u64)..end {
            if self.place(segment).segment() == segment && self.place(segment).form() == FORM_FULL {
                self.compress_segment(segment)?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn compress_segment(&self, segment: u64) -> Result<()> {
        let _latch = self.shared.latch.lock(Mode::Exclusive, Event::TransactionLatch);
        let place = self.place(segment);
        if place.segment() != segment || place.form() != FORM_FULL {
            return Ok(());
        }
        let full = self.full.get(place.index());
        let any_aborted = full.iter().any(|entry| entry.load(Relaxed) == ABORTED);
        let compressed = if any_aborted {
            let index = self.new_bits()?;
            let bits = self.bits.get(index);
            for (at, entry) in full.iter().enumerate() {
                if entry.load(Relaxed) == ABORTED {
                    let word = &bits[at / 64];
                    word.store(word.load(Relaxed) | 1 << (at % 64), Relaxed);
                }
            }
            Place::new(segment, FORM_BITS, index)
        } else {
            Place::new(segment, FORM_NONE, 0)
        };
        self.set_place(compressed);
        kernel::fault::point("map.compressed");
        // Readers that found the old place look again after they have read zeros, and find the new one.
        fence(SeqCst);
        self.full.release(place.index(), 1);
        self.full_taken[place.index()].store(0, Release);
        self.shared.full.fetch_sub(1, Relaxed);
        self.shared.compressed.fetch_add(1, Relaxed);
        Ok(())
    }

    /// A fresh place in bit form, all zeros. Under the latch.
    fn new_bits(&self) -> Result<usize> {
        let index = self.take(self.bits_taken).expect("there is a place in bit form for every segment of the window");
        if let Err(error) = self.bits.back(index, 1) {
            self.bits_taken[index].store(0, Release);
            return Err(error);
        }
        self.shared.bits.fetch_add(1, Relaxed);
        Ok(index)
    }

    /// Forgets aborted transactions below `horizon`, a whole segment at a time: no page has a version of theirs. Answers how
    /// many segments were forgotten.
    pub fn forget_aborted(&self, horizon: Xid) -> u32 {
        let end = segment_of(horizon);
        let mut count = 0;
        for segment in end.saturating_sub(WINDOW as u64)..end {
            let has_bits = |place: Place| place.segment() == segment && place.form() == FORM_BITS;
            if !has_bits(self.place(segment)) {
                continue;
            }
            let _latch = self.shared.latch.lock(Mode::Exclusive, Event::TransactionLatch);
            let place = self.place(segment);
            if !has_bits(place) {
                continue;
            }
            self.set_place(Place::new(segment, FORM_NONE, 0));
            fence(SeqCst);
            self.bits.release(place.index(), 1);
            self.bits_taken[place.index()].store(0, Release);
            self.shared.bits.fetch_sub(1, Relaxed);
            count += 1;
        }
        count
    }

    /// Every transaction below `end` that is known to have aborted, in order.
    pub fn aborted(&self, end: Xid, mut each: impl FnMut(Xid)) {
        let last = segment_of(end);
        for segment in last.saturating_sub(WINDOW as u64 - 1)..=last {
            let place = self.place(segment);
            if place.segment() != segment || place.form() == FORM_NONE {
                continue;
            }
            let first = segment * SEGMENT;
            for xid in (first..first + SEGMENT).take_while(|&xid| xid < end.0) {
                if place.form() == FORM_BITS && xid % 64 == 0 {
                    // Most words of bits are zero: a look at one saves sixty-four.
                    let word = self.bits.get(place.index())[(xid % SEGMENT) as usize / 64].load(Acquire);
                    if word == 0 {
                        continue;
                    }
                }
                if self.word(Xid(xid)) == ABORTED {
                    each(Xid(xid));
                }
            }
        }
    }

    // ---- recovery, which runs alone

    /// Begins with transactions below `next` committed long ago, those excepted that are marked afterwards.
    pub(crate) fn restore(&self, next: Xid) -> Result<()> {
        self.prepare(next)?;
        let first = segment_of(next) * SEGMENT;
        for xid in first..next.0 {
            self.entry(Xid(xid)).store(ANCIENT, Release);
        }
        Ok(())
    }

    /// Sees to it that there are entries up to `xid`, from `next` on.
    pub(crate) fn restore_up_to(&self, next: Xid, xid: Xid) -> Result<()> {
        for segment in segment_of(next)..=segment_of(xid) {
            self.prepare(Xid(segment * SEGMENT))?;
        }
        Ok(())
    }

    /// Marks a transaction of any age as aborted.
    pub(crate) fn restore_aborted(&self, xid: Xid) -> Result<()> {
        if self.is_ready_for(xid) {
            self.set_aborted(xid);
            return Ok(());
        }
        let segment = segment_of(xid);
        let _latch = self.shared.latch.lock(Mode::Exclusive, Event::TransactionLatch);
        let mut place = self.place(segment);
        if place.segment() != segment || place.form() != FORM_BITS {
            if place.form() != FORM_NONE {
                return Err(Error::corruption("the log names an aborted transaction that is too old")
                    .detail(format!("Transaction {xid} is behind the window of the transaction map.")));
            }
            place = Place::new(segment, FORM_BITS, self.new_bits()?);
            self.set_place(place);
        }
        let entry = (xid.0 % SEGMENT) as usize;
        self.bits.get(place.index())[entry / 64].fetch_or(1 << (entry % 64), AcqRel);
        Ok(())
    }

    /// Marks a transaction of any age as committed.
    pub(crate) fn restore_committed(&self, xid: Xid, at: Lsn) {
        let segment = segment_of(xid);
        let place = self.place(segment);
        if place.segment() != segment {
            return;
        }
        let entry = (xid.0 % SEGMENT) as usize;
        match place.form() {
            FORM_FULL => self.set_committed(xid, at),
            FORM_BITS => drop(self.bits.get(place.index())[entry / 64].fetch_and(!(1 << (entry % 64)), AcqRel)),
            _ => {}
        }
    }

    /// Ends every transaction from `from` to below `next` that has no end: a crash did. Answers how many.
    pub(crate) fn restore_end(&self, from: Xid, next: Xid) -> u64 {
        let mut ended = 0;
        for xid in from.0..next.0 {
            if self.is_ready_for(Xid(xid)) && self.word(Xid(xid)) == RUNNING {
                self.set_aborted(Xid(xid));
                ended += 1;
            }
        }
        ended
    }

    /// Counts for views.
    pub fn usage(&self) -> MapUsage {
        MapUsage {
            full: self.shared.full.load(Relaxed),
            bits: self.shared.bits.load(Relaxed),
            compressed: self.shared.compressed.load(Relaxed),
            bytes: self.full.backed_bytes().0 + self.bits.backed_bytes().0,
        }
    }
}
