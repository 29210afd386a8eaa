//! A sample of a table's rows, taken in two steps as PostgreSQL takes it: some pages by chance, and of their rows some by chance.
//!
//! Rules
//! 1. Every page is as likely as any other, and of the pages' rows every row.
//! 2. The rows are in the order in which they lie in the table.
//! 3. The sample's memory has a limit; where rows are so long that it is reached, there are fewer of them.
//! 4. Chance comes from a generator in memory, with a seed of the system's: a number a page and row is too many to ask the system for.

use base::Result;
use fastrand::Rng;
use kernel::engine::random_u64;
use storage::heap::Heap;
use storage::page::Tid;

/// Rows of a table, and what they are of.
#[derive(Debug, Default)]
pub(super) struct Sample {
    rows: Vec<(Tid, Vec<u8>)>,
    /// How many rows the table seems to have.
    pub(super) table_rows: f64,
    /// Its pages.
    pub(super) pages: u32,
}

impl Sample {
    /// Takes as many rows as that, or all where there are fewer.
    /// `breathe` is called for every page.
    pub(super) fn take(
        heap: &Heap,
        wanted: usize,
        memory: usize,
        breathe: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Sample> {
        let pages = heap.blocks()?;
        let mut sample = Sample { pages, ..Sample::default() };
        let (mut capacity, mut bytes) = (wanted.max(1), 0);
        let (mut seen, mut looked_at) = (0_u64, 0_u32);
        let mut random = Rng::with_seed(random_u64());
        for page in Choice::new(pages, wanted as u64, random.fork()) {
            looked_at += 1;
            breathe()?;
            let mut scan = heap.scan_blocks(page, page + 1)?;
            while heap.visit_live(&mut scan, |tid, row| {
                seen += 1;
                if sample.rows.len() < capacity {
                    bytes += row.len();
                    sample.rows.push((tid, row.to_vec()));
                } else {
                    let place = random.u64(..seen) as usize;
                    if let Some(old) = sample.rows.get_mut(place).filter(|_| place < capacity) {
                        bytes = bytes + row.len() - old.1.len();
                        *old = (tid, row.to_vec());
                    }
                }
                while bytes > memory && sample.rows.len() > 1 {
                    let (_, row) = sample.rows.swap_remove(random.usize(..sample.rows.len()));
                    bytes -= row.len();
                    capacity = sample.rows.len();
                }
            })? {}
        }
        sample.rows.sort_unstable_by_key(|(tid, _)| (tid.block, tid.slot));
        sample.table_rows = match looked_at {
            0 => 0.0,
            some => (seen as f64 / f64::from(some) * f64::from(pages)).round(),
        };
        Ok(sample)
    }

    /// The rows.
    pub(super) fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.rows.iter().map(|(_, row)| row.as_slice())
    }
}

/// So many numbers out of the first ones, by chance and in order: Knuth's algorithm S.
struct Choice {
    next: u32,
    end: u32,
    wanted: u64,
    random: Rng,
}

impl Choice {
    fn new(end: u32, wanted: u64, random: Rng) -> Choice {
        Choice { next: 0, end, wanted, random }
    }
}

impl Iterator for Choice {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while self.next < self.end && self.wanted > 0 {
            let left = u64::from(self.end - self.next);
            let number = self.next;
            self.next += 1;
            if self.random.u64(..left) < self.wanted {
                self.wanted -= 1;
                return Some(number);
            }
        }
        None
    }
}
