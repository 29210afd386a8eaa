//! Rows that a scan by an index reads together: entries that follow one another often lead to one page of the table.
//!
//! ```text
//!   entries:  (3,1) | (3,2) (3,4) | (3,5) (3,6) (3,7) (9,1) ...      a run ends with its page, or when it is long enough;
//!                                                                   its rows lie in the node's buffer while they are given
//! ```
//!
//! Rules
//! 1. The first row comes alone, and each run may be twice as long as the one before, up to [`ROWS_MAX`]: a reader who stops early has
//!    cost at most as many rows more as he got. A scan that begins again goes on with the length that it had, unless its reader
//!    left rows behind.
//! 2. The pages of the next runs are asked for from memory meanwhile.
//! 3. A run ends before an entry behind which the snapshot sees nothing: that one is looked at alone, to be marked if it is dead.

use super::value::Memory;
use base::Result;
use std::ops::Range;
use storage::btree::Cursor;
use storage::heap::{Heap, Reader};
use storage::page::Tid;

/// How long a run is at most.
const ROWS_MAX: usize = 32;
/// Room for the rows of a short run: from there on it doubles.
const BYTES_AT_FIRST: usize = 1000;
/// Behind how many entries of a page the next pages are looked for.
const LOOKED_AT_MAX: usize = 2 * ROWS_MAX;

/// Rows that were read together.
#[derive(Default)]
pub(super) struct Run {
    /// Where each row is, and where its bytes end in the node's buffer.
    rows: Vec<(Tid, u32)>,
    /// How many of them were given.
    given: usize,
    /// How long the last run was to be; zero before the first row.
    length: usize,
}

impl Run {
    /// The next row: its version's place, and its bytes in the node's buffer.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Tid, Range<usize>)> {
        let (tid, end) = *self.rows.get(self.given)?;
        let start = self.given.checked_sub(1).map_or(0, |before| self.rows[before].1);
        self.given += 1;
        Some((tid, start as usize..end as usize))
    }

    /// How many bytes of the node's buffer are the rows'.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        self.rows.last().map_or(0, |(_, end)| *end as usize)
    }

    /// The scan begins again.
    pub(super) fn restart(&mut self) {
        if self.given < self.rows.len() {
            self.length = 0;
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.rows.clear();
        self.given = 0;
    }

    /// Reads the row behind `first`, which `cursor` has just handed out, and some of those that follow; false if it is left to be looked
    /// at alone. Errors: those of pinning.
    pub(super) fn read(
        &mut self,
        (heap, reader): (&Heap, &Reader<'_>),
        cursor: &mut Cursor,
        first: Tid,
        (memory, buffer): (&mut Memory<'_>, u32),
    ) -> Result<bool> {
        self.forget();
        self.length = (self.length * 2).clamp(1, ROWS_MAX);
        if self.length > 1 {
            // While this run is read and given, the memory of the next ones comes.
            let mut later = cursor.later(first.block, LOOKED_AT_MAX);
            later.next().into_iter().for_each(|next| heap.approach(next));
            later.next().into_iter().for_each(|next| heap.expect(next));
        }
        let mut upcoming = cursor.upcoming(first.block).take(self.length - 1).peekable();
        if upcoming.peek().is_none() {
            return Ok(false);
        }
        let slots = std::iter::once(first).chain(upcoming).map(|tid| tid.slot);
        let bytes = &mut memory.buffers[buffer as usize];
        bytes.clear();
        bytes.reserve(BYTES_AT_FIRST);
        let count = heap.fetch_run(reader, first.block, slots, |tid, row| {
            bytes.extend_from_slice(row);
            self.rows.push((tid, bytes.len() as u32));
        })?;
        cursor.skip(count.saturating_sub(1));
        Ok(count > 0)
    }
}
