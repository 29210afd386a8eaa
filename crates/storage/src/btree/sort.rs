//! Sorting entries by key and place, in memory as far as it goes, on disk beyond.
//!
//! ```text
//!   push ---> chunk, sorted when it is full ---> more chunks ---- memory used up ----> merged into a run on disk
//!                                                  \-----------------------------------------/
//!   finish: all chunks and runs are merged
//! ```
//!
//! Chunks are small, because nobody is let in while one is sorted: that takes less than a millisecond, which is a part of a time slice where
//! keys differ in their first eight bytes, and a few of them where they do not. Merging looks for interrupts as it goes.

use crate::page::Tid;
use crate::relation::Relations;
use crate::relation::spill::{Spill, SpillReader};
use base::Result;
use std::cmp::Ordering;

/// Entries of a chunk.
const CHUNK_ENTRIES: usize = 4096;
/// Bytes of a chunk.
const CHUNK_BYTES: usize = 256 << 10;
/// Runs that are merged at a time; more are merged into one first.
const RUNS_MAX: usize = 256;
/// Bytes that are read of a run at a time.
const MERGE_BYTES: usize = 64 << 10;
/// Entries between two looks for interrupts.
const LOOK_EVERY: u64 = 1024;
/// Bytes of an entry beside its key: length, place.
const FRONT: usize = 8;

/// Entries, one after the other, and their order.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// The first bytes of the key as a number, and where the entry is.
    order: Vec<(u64, u32)>,
}

/// A part of the spill that is sorted.
#[derive(Clone, Copy)]
struct Run {
    from: u64,
    to: u64,
    entries: u64,
}

/// See the head of this file.
pub struct Sorter {
    relations: &'static Relations,
    file_limit: Option<u64>,
    limit: usize,
    chunks: Vec<Chunk>,
    filling: Chunk,
    /// Bytes of all full chunks.
    held: usize,
    spill: Option<Spill>,
    runs: Vec<Run>,
    count: u64,
}

/// The first eight bytes of a key as a number that orders as they do.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let count = key.len().min(8);
    first[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(first)
}

impl Chunk {
    fn push(&mut self, key: &[u8], tid: Tid) {
        self.order.push((prefix(key), self.bytes.len() as u32));
        self.bytes.extend_from_slice(&front(key, tid));
        self.bytes.extend_from_slice(key);
    }

    fn entry(&self, at: u32) -> (&[u8], Tid) {
        let at = at as usize;
        let (bytes, tid) = take_front(&self.bytes[at..]);
        (&self.bytes[at + FRONT..at + FRONT + bytes], tid)
    }

    fn sort(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.entry(a.1).cmp(&self.entry(b.1))));
        self.order = order;
    }

    fn held(&self) -> usize {
        self.bytes.capacity() + self.order.capacity() * size_of::<(u64, u32)>()
    }
}

fn front(key: &[u8], tid: Tid) -> [u8; FRONT] {
    let mut front = [0; FRONT];
    front[..2].copy_from_slice(&(key.len() as u16).to_le_bytes());
    front[2..6].copy_from_slice(&tid.block.to_le_bytes());
    front[6..].copy_from_slice(&tid.slot.to_le_bytes());
    front
}

/// The key's length and the place.
fn take_front(bytes: &[u8]) -> (usize, Tid) {
    let length = u16::from_le_bytes([bytes[0], bytes[1]]);
    let block = u32::from_le_bytes([bytes[2], bytes[3], bytes[4], bytes[5]]);
    (length as usize, Tid::new(block, u16::from_le_bytes([bytes[6], bytes[7]])))
}

/// Where a merge gets entries from.
enum Source<'a> {
    Memory { chunk: &'a Chunk, at: usize },
    Disk { reader: SpillReader, left: u64, key: Vec<u8>, tid: Tid },
}

impl Source<'_> {
    fn entry(&self) -> (&[u8], Tid) {
        match self {
            Source::Memory { chunk, at } => chunk.entry(chunk.order[*at].1),
            Source::Disk { key, tid, .. } => (key, *tid),
        }
    }

    /// Goes to the next entry; false if there is none.
    fn advance(&mut self) -> Result<bool> {
        match self {
            Source::Memory { chunk, at } => {
                *at += 1;
                Ok(*at < chunk.order.len())
            }
            Source::Disk { reader, left, key, tid } => {
                if *left == 0 {
                    return Ok(false);
                }
                *left -= 1;
                let mut head = [0; FRONT];
                reader.read_exact(&mut head)?;
                let (bytes, place) = take_front(&head);
                *tid = place;
                key.resize(bytes, 0);
                reader.read_exact(key)?;
                Ok(true)
            }
        }
    }
}

/// A merge: sources in a heap by their entries, the least first.
struct Merge<'a> {
    sources: Vec<Source<'a>>,
    heap: Vec<u32>,
}

impl<'a> Merge<'a> {
    fn new(sources: Vec<Source<'a>>) -> Merge<'a> {
        let heap = (0..sources.len() as u32).collect();
        let mut merge = Merge { sources, heap };
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sift_down(at);
        }
        merge
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        self.sources[a as usize].entry().cmp(&self.sources[b as usize].entry())
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                return;
            }
            let right = left + 1;
            let least = if right < self.heap.len() && self.compare(self.heap[right], self.heap[left]).is_lt() {
                right
            } else {
                left
            };
            if self.compare(self.heap[at], self.heap[least]).is_le() {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Hands out all entries in order.
    fn run(&mut self, mut each: impl FnMut(&[u8], Tid) -> Result<()>) -> Result<()> {
        let mut count = 0;
        while let Some(&top) = self.heap.first() {
            let source = &mut self.sources[top as usize];
            let (key, tid) = source.entry();
            each(key, tid)?;
            if !source.advance()? {
                self.heap.swap_remove(0);
            }
            self.sift_down(0);
            count += 1;
            if count % LOOK_EVERY == 0 {
                kernel::session::check_interrupts()?;
            }
        }
        Ok(())
    }
}

impl Sorter {
    /// Begins a sort with so many bytes of memory, and at most `file_limit` bytes in temporary files of the session.
    pub fn new(relations: &'static Relations, memory: usize, file_limit: Option<u64>) -> Sorter {
        Sorter {
            relations,
            file_limit,
            limit: memory.max(2 * CHUNK_BYTES),
            chunks: Vec::new(),
            filling: Chunk::default(),
            held: 0,
            spill: None,
            runs: Vec::new(),
            count: 0,
        }
    }

    /// How many entries it has.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// True if it has gone to disk.
    pub fn has_spilled(&self) -> bool {
        self.spill.is_some()
    }

    /// Adds an entry. Errors: `54000` (the key is too long), `53100`, `57014`.
    pub fn push(&mut self, key: &[u8], tid: Tid) -> Result<()> {
        crate::page::btree::check_key_size(key.len())?;
        self.filling.push(key, tid);
        self.count += 1;
        if self.filling.order.len() == CHUNK_ENTRIES || self.filling.bytes.len() >= CHUNK_BYTES {
            kernel::session::check_interrupts()?;
            self.end_chunk();
            if self.held >= self.limit {
                self.spill_chunks()?;
            }
        }
        Ok(())
    }

    fn end_chunk(&mut self) {
        let mut chunk = std::mem::take(&mut self.filling);
        if chunk.order.is_empty() {
            return;
        }
        chunk.sort();
        self.held += chunk.held();
        self.chunks.push(chunk);
    }

    /// Merges what is in memory into a run.
    fn spill_chunks(&mut self) -> Result<()> {
        let chunks = std::mem::take(&mut self.chunks);
        self.held = 0;
        let sources = chunks.iter().map(|chunk| Source::Memory { chunk, at: 0 }).collect();
        let run = self.write_run(sources)?;
        self.runs.push(run);
        if self.runs.len() == RUNS_MAX {
            let runs = std::mem::take(&mut self.runs);
            let sources = self.run_sources(&runs)?;
            let run = self.write_run(sources)?;
            self.runs.push(run);
        }
        Ok(())
    }

    fn write_run(&mut self, sources: Vec<Source<'_>>) -> Result<Run> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(self.relations.spill(self.file_limit)?),
        };
        let from = spill.end_part()?;
        let mut entries = 0;
        Merge::new(sources).run(|key, tid| {
            entries += 1;
            spill.write(&front(key, tid))?;
            spill.write(key)
        })?;
        Ok(Run { from, to: spill.end_part()?, entries })
    }

    fn run_sources(&self, runs: &[Run]) -> Result<Vec<Source<'static>>> {
        let Some(spill) = &self.spill else { return Ok(Vec::new()) };
        let mut sources = Vec::with_capacity(runs.len());
        for run in runs {
            let reader = spill.file().read(vec![(run.from, run.to)], MERGE_BYTES)?;
            let mut source = Source::Disk { reader, left: run.entries, key: Vec::new(), tid: Tid::NONE };
            if source.advance()? {
                sources.push(source);
            }
        }
        Ok(sources)
    }

    /// Hands out all entries in order. Errors: those of `each`, `58030`, `57014`.
    pub fn finish(mut self, each: impl FnMut(&[u8], Tid) -> Result<()>) -> Result<()> {
        self.end_chunk();
        let chunks = std::mem::take(&mut self.chunks);
        let mut sources = self.run_sources(&self.runs)?;
        sources.extend(chunks.iter().map(|chunk| Source::Memory { chunk, at: 0 }));
        Merge::new(sources).run(each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(keys: &[(&str, u32)]) -> Chunk {
        let mut chunk = Chunk::default();
        keys.iter().for_each(|(key, block)| chunk.push(key.as_bytes(), Tid::new(*block, 0)));
        chunk.sort();
        chunk
    }

    #[test]
    fn a_merge_is_in_order_of_key_and_place() {
        let chunks = [
            chunk(&[("b", 2), ("a", 9), ("prefix of eight", 1)]),
            chunk(&[("a", 1), ("b", 1), ("prefix o", 1), ("", 7)]),
            chunk(&[("prefix of eight", 0)]),
        ];
        let sources = chunks.iter().map(|chunk| Source::Memory { chunk, at: 0 }).collect();
        let mut merge = Merge::new(sources);
        let mut found = Vec::new();
        while let Some(&top) = merge.heap.first() {
            let source = &mut merge.sources[top as usize];
            let (key, tid) = source.entry();
            found.push((String::from_utf8(key.to_vec()).unwrap(), tid.block));
            if !source.advance().unwrap() {
                merge.heap.swap_remove(0);
            }
            merge.sift_down(0);
        }
        let mut sorted = found.clone();
        sorted.sort();
        assert_eq!(found, sorted);
        assert_eq!(found.len(), 8);
    }
}
