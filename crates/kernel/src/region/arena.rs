//! A session's arena: the memory of everything that outlives a request.
//!
//! Settings, prepared statements, open portals, transaction state, bytes that have been received but not yet served:
//! they lie here, so that any engine of any host can resume the session, and they go back in one piece when the session
//! ends, however it ends.
//!
//! Types that live in an arena take its allocator explicitly ([`ArenaVec`], [`ArenaBox`], [`ArenaMap`]). Memory of one
//! request is ordinary heap.
//!
//! How it works: pages of the region's heap are cut into blocks of a few sizes; a freed block waits in its size's list
//! for the next of that size. Blocks over [`LARGE`] bytes are pages of their own and go back when freed.
//!
//! Rules
//! 1. One session, one arena; only the engine that runs the session touches it, so no lock and no atomic is needed.
//! 2. Nothing process-local hides in it: no descriptor, no thread-local, no `Box<dyn …>`, no C library's memory.
//! 3. [`Arena::clear`] drops no values: what lies in an arena must not need `Drop` for more than its own memory.
//! 4. Pages change hands inside a critical section: after a death elsewhere the arena is whole enough to be cleared, and
//!    no page is lost.

use super::heap::{self, Owner, PAGE};
use crate::sync::Critical;
use allocator_api2::alloc::{AllocError, Allocator, Layout};
use std::cell::Cell;
use std::ptr::NonNull;

/// Blocks above this many bytes are pages of their own.
pub const LARGE: usize = 2048;
const CLASSES: [u16; 16] = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 1792, 2048];
/// The pages of the first chunk and of the largest: a fresh session is small, a busy one does not ask often.
const CHUNK_PAGES_MIN: u32 = 1;
const CHUNK_PAGES_MAX: u32 = 16;
const HEADER: usize = 32;

/// Before every chunk and every large block: how long it is, and its neighbours in the arena's list.
#[repr(C)]
struct Chunk {
    next: *mut Chunk,
    prev: *mut Chunk,
    pages: u32,
    large: u32,
}

const _: () = assert!(size_of::<Chunk>() <= HEADER);

/// A session's memory; see the head of this file. Lies in the session's slot; all zero is an empty arena.
#[repr(C)]
pub struct Arena {
    chunks: Cell<*mut Chunk>,
    bump: Cell<usize>,
    end: Cell<usize>,
    free: [Cell<usize>; CLASSES.len()],
    held: Cell<u64>,
    used: Cell<u64>,
    chunk_pages: Cell<u32>,
    reused: Cell<u32>,
}

/// The allocator of an [`Arena`]: what the collections that live in it carry.
#[derive(Clone, Copy)]
pub struct ArenaRef(&'static Arena);

/// A vector in a session's arena.
pub type ArenaVec<T> = allocator_api2::vec::Vec<T, ArenaRef>;
/// A box in a session's arena.
pub type ArenaBox<T> = allocator_api2::boxed::Box<T, ArenaRef>;
/// A hash map in a session's arena, with a hash that is the same in every process and every run.
pub type ArenaMap<K, V> = hashbrown::HashMap<K, V, std::hash::BuildHasherDefault<FixedHasher>, ArenaRef>;

/// FNV-1a: no key of its own, so that every process, and every replay of a seed, hashes alike.
#[derive(Clone, Copy)]
pub struct FixedHasher(u64);

impl Default for FixedHasher {
    fn default() -> FixedHasher {
        FixedHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl std::hash::Hasher for FixedHasher {
    fn finish(&self) -> u64 {
        // The table takes the high bits too, which FNV leaves weak for short keys.
        (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ byte as u64).wrapping_mul(0x100_0000_01b3);
        }
    }
}

fn class_of(bytes: usize) -> usize {
    // Sixteen entries, nearly always a small one: a linear search beats cleverness.
    CLASSES.iter().position(|&class| bytes <= class as usize).unwrap_or(CLASSES.len())
}

impl Arena {
    /// Bytes that the arena holds of the region's heap.
    pub fn held(&self) -> u64 {
        self.held.get()
    }

    /// Bytes in blocks that are in use.
    pub fn used(&self) -> u64 {
        self.used.get()
    }

    /// How often a freed block was given again.
    pub fn reused(&self) -> u32 {
        self.reused.get()
    }

    /// The allocator that collections in this arena carry.
    pub fn allocator(&'static self) -> ArenaRef {
        ArenaRef(self)
    }

    fn push_chunk(&self, pages: u32, large: bool) -> Option<NonNull<u8>> {
        // Rule 4.
        let _critical = Critical::enter();
        let at = heap::alloc(Owner::SessionArenas, pages as usize).ok()?;
        let chunk = at.as_ptr().cast::<Chunk>();
        let next = self.chunks.get();
        // SAFETY: fresh pages of at least the header's size, aligned to a page; `next` is null or a chunk of this arena.
        unsafe {
            chunk.write(Chunk { next, prev: std::ptr::null_mut(), pages, large: large as u32 });
            if !next.is_null() {
                (*next).prev = chunk;
            }
        }
        self.chunks.set(chunk);
        self.held.set(self.held.get() + (pages as usize * PAGE) as u64);
        Some(at)
    }

    fn alloc_block(&self, class: usize) -> Option<NonNull<u8>> {
        let head = self.free[class].get();
        let size = CLASSES[class] as usize;
        if head != 0 {
            // SAFETY: a freed block of this arena: its first word is the list's link.
            let next = unsafe { *(head as *const usize) };
            if size > 128 || !crate::fault::planted("arena.shared_block") {
                self.free[class].set(next);
            }
            self.reused.set(self.reused.get().wrapping_add(1));
            return NonNull::new(head as *mut u8);
        }
        if self.bump.get() + size > self.end.get() {
            let pages = self.chunk_pages.get().max(CHUNK_PAGES_MIN);
            let at = self.push_chunk(pages, false)?.as_ptr() as usize;
            self.chunk_pages.set((pages * 2).min(CHUNK_PAGES_MAX));
            self.bump.set(at + HEADER);
            self.end.set(at + pages as usize * PAGE);
        }
        let at = self.bump.get();
        self.bump.set(at + size);
        NonNull::new(at as *mut u8)
    }

    fn alloc_large(&self, bytes: usize) -> Option<NonNull<u8>> {
        let pages = (bytes + HEADER).div_ceil(PAGE);
        let at = self.push_chunk(u32::try_from(pages).ok()?, true)?;
        // SAFETY: the pages are longer than the header.
        Some(unsafe { at.add(HEADER) })
    }

    /// # Safety
    /// `at` is a large block of this arena that nobody uses.
    unsafe fn free_large(&self, at: NonNull<u8>) {
        let _critical = Critical::enter();
        // SAFETY: (1) the header lies right before the block; (2) neighbours are chunks of this arena or null; (3) the
        // pages are exactly what `heap::alloc` gave.
        unsafe {
            let chunk = at.as_ptr().sub(HEADER).cast::<Chunk>();
            let Chunk { next, prev, pages, large } = chunk.read();
            assert_eq!(large, 1, "a block of an arena is freed with another size than it was given");
            if prev.is_null() {
                self.chunks.set(next);
            } else {
                (*prev).next = next;
            }
            if !next.is_null() {
                (*next).prev = prev;
            }
            self.held.set(self.held.get() - (pages as usize * PAGE) as u64);
            heap::free(Owner::SessionArenas, NonNull::new_unchecked(chunk.cast()), pages as usize);
        }
    }

    /// Gives everything back. The arena is empty and usable afterwards.
    ///
    /// # Safety
    /// Nothing that lies in the arena may be used or dropped afterwards.
    pub unsafe fn clear(&self) {
        let _critical = Critical::enter();
        let mut chunk = self.chunks.replace(std::ptr::null_mut());
        while let Some(at) = NonNull::new(chunk) {
            // SAFETY: a chunk of this arena, read before its pages go back.
            unsafe {
                let Chunk { next, pages, .. } = chunk.read();
                heap::free(Owner::SessionArenas, at.cast(), pages as usize);
                chunk = next;
            }
        }
        for list in &self.free {
            list.set(0);
        }
        self.bump.set(0);
        self.end.set(0);
        self.held.set(0);
        self.used.set(0);
        self.chunk_pages.set(0);
    }
}

// SAFETY: (1) blocks stay where they are until freed; (2) clones name the same arena; (3) alignments up to 16 are met
// because chunks are page-aligned, headers and all classes are multiples of 16, and larger alignments are refused.
unsafe impl Allocator for ArenaRef {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.align() > 16 {
            return Err(AllocError);
        }
        let class = class_of(layout.size());
        let (at, bytes) = match CLASSES.get(class) {
            Some(&size) => (self.0.alloc_block(class).ok_or(AllocError)?, size as usize),
            None => {
                let bytes = (layout.size() + HEADER).next_multiple_of(PAGE) - HEADER;
                (self.0.alloc_large(layout.size()).ok_or(AllocError)?, bytes)
            }
        };
        self.0.used.set(self.0.used.get() + accounted(layout.size()) as u64);
        Ok(NonNull::slice_from_raw_parts(at, bytes))
    }

    unsafe fn deallocate(&self, at: NonNull<u8>, layout: Layout) {
        self.0.used.set(self.0.used.get() - accounted(layout.size()) as u64);
        let class = class_of(layout.size());
        match self.0.free.get(class) {
            Some(list) => {
                // SAFETY: the caller gives back a block of this class, which is at least a word long.
                unsafe { at.as_ptr().cast::<usize>().write(list.get()) };
                list.set(at.as_ptr() as usize);
            }
            // SAFETY: the caller gives back a block that `alloc_large` made.
            None => unsafe { self.0.free_large(at) },
        }
    }
}

/// What a block of that size counts for: its class, or its pages. Collections may free with any size that fits.
fn accounted(bytes: usize) -> usize {
    match CLASSES.get(class_of(bytes)) {
        Some(&size) => size as usize,
        None => (bytes + HEADER).next_multiple_of(PAGE) - HEADER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arena() -> &'static Arena {
        // SAFETY: an arena is valid when zeroed.
        Box::leak(Box::new(unsafe { std::mem::zeroed::<Arena>() }))
    }

    #[test]
    fn blocks_are_reused_and_all_of_it_returns() {
        let _region = crate::region::test_region();
        let arena = arena();
        let before = heap::usage(Owner::SessionArenas).used;
        let mut vectors: Vec<ArenaVec<u64>> = Vec::new();
        for round in 0..300u64 {
            let mut vector = ArenaVec::new_in(arena.allocator());
            vector.extend(0..round * 13 % 997);
            vectors.push(vector);
            if round % 4 == 3 {
                vectors.swap_remove((round * 31) as usize % vectors.len());
            }
        }
        for vector in &vectors {
            assert!(vector.iter().copied().eq(0..vector.len() as u64), "no two blocks overlap");
        }
        assert!(arena.reused() > 0);
        vectors.clear();
        assert_eq!(arena.used(), 0);
        // SAFETY: nothing lies in the arena any more.
        unsafe { arena.clear() };
        assert_eq!(arena.held(), 0);
        assert_eq!(heap::usage(Owner::SessionArenas).used, before);
    }

    #[test]
    fn an_idle_arena_holds_one_page() {
        let _region = crate::region::test_region();
        let arena = arena();
        let mut map: ArenaMap<u32, u32> = ArenaMap::with_hasher_in(Default::default(), arena.allocator());
        map.extend((0..20).map(|key| (key, key * key)));
        assert_eq!(map.get(&19), Some(&361));
        assert_eq!(arena.held(), PAGE as u64);
        drop(map);
        // SAFETY: nothing lies in the arena any more.
        unsafe { arena.clear() };
    }
}
