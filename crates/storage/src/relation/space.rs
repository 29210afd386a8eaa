//! Free space: which blocks of a relation have room, a byte each, in memory that all sessions share.
//!
//! ```text
//!   root word of the relation's row
//!        |                        height 0: up to 4,096 blocks
//!        v
//!   chunk of 4 KiB ---- 512 words, each: a child chunk and the most that any block below it has   (height 1: 2 million blocks)
//!        |
//!        v
//!   chunk of 4 KiB ---- 4,096 bytes, one for each block: how much room it has
//! ```
//!
//! A byte is a *size class*: what it means is its user's; a larger one is more room, zero is none, or nobody knows. The
//! most above a chunk is a bound that is raised with every byte and lowered by searches that were disappointed.
//!
//! Rules
//! 1. All of it is hints: gone with the server, behind the truth at any time. Who is sent to a block looks at the page and
//!    says what it found; who is sent nowhere may have missed something. A chunk that memory is refused for is left out.
//! 2. Searching and setting bytes takes no latch. Making chunks takes the relation's latch, then the allocator's.
//! 3. Chunks go back only when nobody uses the relation ([`SpaceMap::release`]).

use kernel::region;
use kernel::region::reserve::Reserve;
use kernel::sync::{Latch, Mode};
use kernel::wait::Event;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Words of a chunk.
const WORDS: usize = 512;
/// Bytes of a chunk, which is also how many blocks a chunk of the lowest level tells of.
const BYTES: u32 = 8 * WORDS as u32;
/// Chunks that there is address space for: enough for two terabytes of pages.
const CHUNKS_MAX: usize = 1 << 16;
/// A map of this height tells of every block that there can be.
const HEIGHT_MAX: u32 = 3;

type Chunk = [AtomicU64; WORDS];

kernel::shared! {
    struct Shared {
        latch: Latch,
        /// Where the search for a free chunk begins.
        next: AtomicU64,
        used: AtomicU64,
    }
}

/// The memory of all maps; a value of references into the region.
#[derive(Clone, Copy)]
pub(super) struct SpaceMap {
    shared: &'static Shared,
    chunks: Reserve<Chunk>,
    /// A bit for each chunk that is taken. Under the latch.
    taken: &'static [AtomicU64],
}

/// A relation's root word: the height of its map, and its topmost chunk counted from one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Root(u64);

impl Root {
    fn new(height: u32, chunk: usize) -> Root {
        Root((height as u64) << 32 | (chunk as u64 + 1))
    }

    fn parts(self) -> Option<(u32, usize)> {
        let chunk = (self.0 as u32).checked_sub(1)?;
        Some(((self.0 >> 32) as u32, chunk as usize))
    }
}

/// A word of an upper chunk: the child counted from one, and above it the most that a block below has.
#[derive(Clone, Copy)]
struct Child(u64);

impl Child {
    fn new(chunk: usize, most: u8) -> Child {
        Child((most as u64) << 32 | (chunk as u64 + 1))
    }

    fn chunk(self) -> Option<usize> {
        (self.0 as u32).checked_sub(1).map(|chunk| chunk as usize)
    }

    fn most(self) -> u8 {
        (self.0 >> 32) as u8
    }
}

/// Blocks that a chunk of a height tells of.
fn span(height: u32) -> u64 {
    BYTES as u64 * (WORDS as u64).pow(height)
}

/// The highest bit of each byte of a word that is at least `least`: eight blocks are looked at in a few steps, because a chunk of a
/// full table is searched from end to end.
#[inline]
fn at_least(word: u64, least: u8) -> u64 {
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    // Of the seven lower bits: none borrows from the byte above it.
    let lower = (word | HIGHEST) - 0x0101_0101_0101_0101 * (least & 0x7F) as u64;
    HIGHEST & if least < 0x80 { word | lower } else { word & lower }
}

/// What a search of a chunk came to.
enum Search {
    Found(u32),
    /// Nothing; all of the chunk was looked at, and this is the most that any block has.
    Most(u8),
    /// Nothing in the part that was looked at.
    Part,
}

impl SpaceMap {
    /// Takes the tables. Before the first engine.
    pub(super) fn make() -> SpaceMap {
        SpaceMap {
            shared: region::single("free space"),
            chunks: Reserve::with_step("free space chunks", CHUNKS_MAX, size_of::<Chunk>()),
            taken: region::table("free space use", CHUNKS_MAX / 64),
        }
    }

    /// Bytes of memory that maps have.
    pub(super) fn backed_bytes(&self) -> u64 {
        self.chunks.backed_bytes().0
    }

    /// A block at or after `from`, or if there is none before it, whose byte is at least `need`.
    pub(super) fn find(&self, root: &AtomicU64, need: u8, from: u32) -> Option<u32> {
        debug_assert!(need > 0);
        let (height, chunk) = Root(root.load(Acquire)).parts()?;
        if (from as u64) < span(height)
            && let Search::Found(block) = self.search(height, chunk, 0, need, from as u64)
        {
            return Some(block);
        }
        match self.search(height, chunk, 0, need, 0) {
            Search::Found(block) => Some(block),
            _ => None,
        }
    }

    /// Searches the chunk whose first block is `base` from block `from` on, which may be before it.
    fn search(&self, height: u32, chunk: usize, base: u64, need: u8, from: u64) -> Search {
        let words = self.chunks.get(chunk);
        let mut most = 0;
        let step = span(height) / WORDS as u64;
        let first = (from.saturating_sub(base) / step) as usize;
        for (index, word) in words.iter().enumerate().skip(first) {
            let at = base + index as u64 * step;
            let value = word.load(Acquire);
            if height == 0 {
                let before = 8 * from.saturating_sub(at).min(7);
                let hits = at_least(value, need) >> before << before;
                if hits != 0 {
                    return Search::Found((at + hits.trailing_zeros() as u64 / 8) as u32);
                }
                if most < u8::MAX && at_least(value, most + 1) != 0 {
                    most = value.to_le_bytes().into_iter().fold(most, u8::max);
                }
                continue;
            }
            let child = Child(value);
            let Some(below) = child.chunk() else { continue };
            most = most.max(child.most());
            if child.most() < need {
                continue;
            }
            match self.search(height - 1, below, at, need, from) {
                Search::Found(block) => return Search::Found(block),
                // Somebody may have raised a byte behind this search; then the word has changed, or the byte waits for the
                // next time that it is set.
                Search::Most(found) => {
                    let _ = word.compare_exchange(value, Child::new(below, found).0, AcqRel, Relaxed);
                }
                Search::Part => {}
            }
        }
        if from <= base { Search::Most(most) } else { Search::Part }
    }

    /// Says how much room a block has. `latch` is the relation's.
    pub(super) fn set(&self, root: &AtomicU64, latch: &'static Latch, block: u32, value: u8) {
        if self.try_set(root, block, value) || value == 0 {
            return;
        }
        let _latch = latch.lock(Mode::Exclusive, Event::RelationLatch);
        // Rule 1.
        if self.make_path(root, block).is_some() {
            self.try_set(root, block, value);
        }
    }

    /// Makes the chunk that tells of a block, if there is none. `latch` is the relation's.
    pub(super) fn make_chunk(&self, root: &AtomicU64, latch: &'static Latch, block: u32) {
        if self.chunk_of(root, block).is_none() {
            let _latch = latch.lock(Mode::Exclusive, Event::RelationLatch);
            // Rule 1.
            let _ = self.make_path(root, block);
        }
    }

    /// The chunk that tells of a block, and which of its bytes does.
    #[inline]
    fn chunk_of(&self, root: &AtomicU64, block: u32) -> Option<(usize, u64)> {
        let (mut height, mut chunk) = Root(root.load(Acquire)).parts()?;
        if block as u64 >= span(height) {
            return None;
        }
        let mut rest = block as u64;
        while height > 0 {
            let step = span(height - 1);
            chunk = Child(self.chunks.get(chunk)[(rest / step) as usize].load(Acquire)).chunk()?;
            rest %= step;
            height -= 1;
        }
        Some((chunk, rest))
    }

    /// Sets a byte if there is a chunk for it. Takes no latch.
    pub(super) fn try_set(&self, root: &AtomicU64, block: u32, value: u8) -> bool {
        let Some((mut height, mut chunk)) = Root(root.load(Acquire)).parts() else { return false };
        if block as u64 >= span(height) {
            return false;
        }
        let mut rest = block as u64;
        while height > 0 {
            let step = span(height - 1);
            let word = &self.chunks.get(chunk)[(rest / step) as usize];
            let Some(below) = Child(word.load(Acquire)).chunk() else { return false };
            let _ = word.fetch_update(AcqRel, Acquire, |now| {
                let child = Child(now);
                (child.most() < value).then(|| Child::new(below, value).0)
            });
            chunk = below;
            rest %= step;
            height -= 1;
        }
        let shift = rest % 8 * 8;
        let word = &self.chunks.get(chunk)[(rest / 8) as usize];
        let _ = word.fetch_update(AcqRel, Acquire, |now| {
            let new = now & !(0xFF << shift) | (value as u64) << shift;
            (new != now).then_some(new)
        });
        true
    }

    /// What is noted of a block.
    #[inline]
    pub(super) fn get(&self, root: &AtomicU64, block: u32) -> u8 {
        let Some((chunk, byte)) = self.chunk_of(root, block) else { return 0 };
        self.chunks.get(chunk)[(byte / 8) as usize].load(Acquire).to_le_bytes()[(byte % 8) as usize]
    }

    /// Takes a block out if it has a byte: whoever gets true has it to himself.
    pub(super) fn take(&self, root: &AtomicU64, block: u32) -> bool {
        let Some((mut height, mut chunk)) = Root(root.load(Acquire)).parts() else { return false };
        if block as u64 >= span(height) {
            return false;
        }
        let mut rest = block as u64;
        while height > 0 {
            let step = span(height - 1);
            match Child(self.chunks.get(chunk)[(rest / step) as usize].load(Acquire)).chunk() {
                Some(below) => chunk = below,
                None => return false,
            }
            rest %= step;
            height -= 1;
        }
        let mask = 0xFF << (rest % 8 * 8);
        let word = &self.chunks.get(chunk)[(rest / 8) as usize];
        word.fetch_update(AcqRel, Acquire, |now| (now & mask != 0).then_some(now & !mask)).is_ok()
    }

    /// Makes the chunks that lead to a block. Under the relation's latch. None if memory is refused.
    fn make_path(&self, root: &AtomicU64, block: u32) -> Option<()> {
        if Root(root.load(Acquire)).parts().is_none() {
            root.store(Root::new(0, self.allocate()?).0, Release);
        }
        let (mut height, mut chunk) = Root(root.load(Acquire)).parts()?;
        while span(height) <= block as u64 {
            if height == HEIGHT_MAX {
                return None;
            }
            let above = self.allocate()?;
            // The bound is not known; too high a one is lowered by the first search.
            self.chunks.get(above)[0].store(Child::new(chunk, u8::MAX).0, Release);
            (height, chunk) = (height + 1, above);
            kernel::fault::point("space.grown");
            root.store(Root::new(height, chunk).0, Release);
        }
        let mut rest = block as u64;
        while height > 0 {
            let step = span(height - 1);
            let word = &self.chunks.get(chunk)[(rest / step) as usize];
            chunk = match Child(word.load(Acquire)).chunk() {
                Some(below) => below,
                None => {
                    let below = self.allocate()?;
                    word.store(Child::new(below, 0).0, Release);
                    below
                }
            };
            rest %= step;
            height -= 1;
        }
        Some(())
    }

    /// Forgets what is noted of blocks from `first` on: they are cut off. A lock keeps everybody else out.
    pub(super) fn clear_from(&self, root: &AtomicU64, first: u32) {
        if let Some((height, chunk)) = Root(root.load(Acquire)).parts() {
            self.clear_chunk(height, chunk, 0, first as u64);
        }
    }

    fn clear_chunk(&self, height: u32, chunk: usize, base: u64, first: u64) {
        let step = span(height) / WORDS as u64;
        for (index, word) in self.chunks.get(chunk).iter().enumerate() {
            let at = base + index as u64 * step;
            if at + step <= first {
                continue;
            }
            if height > 0 {
                if let Some(below) = Child(word.load(Acquire)).chunk() {
                    self.clear_chunk(height - 1, below, at, first);
                }
            } else {
                let kept = first.saturating_sub(at);
                word.fetch_and((1 << (8 * kept)) - 1, AcqRel);
            }
        }
    }

    /// Gives a relation's chunks back. Nobody uses the relation.
    pub(super) fn release(&self, root: &AtomicU64) {
        if let Some((height, chunk)) = Root(root.swap(0, AcqRel)).parts() {
            self.release_chunk(height, chunk);
        }
    }

    fn release_chunk(&self, height: u32, chunk: usize) {
        if height > 0 {
            let children = self.chunks.get(chunk).iter().filter_map(|word| Child(word.load(Acquire)).chunk());
            children.for_each(|below| self.release_chunk(height - 1, below));
        }
        let _latch = self.shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
        self.chunks.release(chunk, 1);
        kernel::fault::point("space.released");
        self.taken[chunk / 64].fetch_and(!(1 << (chunk % 64)), AcqRel);
        self.shared.used.fetch_sub(1, Relaxed);
    }

    /// A chunk of zeros. None if there is none, or no memory for it.
    fn allocate(&self) -> Option<usize> {
        let _latch = self.shared.latch.lock(Mode::Exclusive, Event::RelationLatch);
        let words = self.taken.len();
        let from = self.shared.next.load(Relaxed) as usize;
        let word =
            (0..words).map(|step| (from + step) % words).find(|&word| self.taken[word].load(Relaxed) != u64::MAX)?;
        let chunk = word * 64 + self.taken[word].load(Relaxed).trailing_ones() as usize;
        self.chunks.back(chunk, 1).ok()?;
        self.taken[word].fetch_or(1 << (chunk % 64), AcqRel);
        self.shared.next.store(word as u64, Relaxed);
        self.shared.used.fetch_add(1, Relaxed);
        Some(chunk)
    }

    /// How many chunks are in use.
    pub(super) fn used(&self) -> u64 {
        self.shared.used.load(Relaxed)
    }
}
