//! Values that do not fit their rows: cut into pieces, which lie in a heap of their own.
//!
//! ```text
//!  piece   next block u32 | next slot u16 | number u32 | check u32 | bytes
//!  row  --> place of piece 0 --> piece 1 --> piece 2 --> none
//! ```
//!
//! A value is known by the place of its first piece, its length, and its *check*, the CRC-32C of all of its bytes, which every piece has too:
//! whoever follows a place finds out whether it still leads to the value. The row has all three.
//!
//! Rules
//! 1. A piece is a version like any other, made by the transaction that made the row's version, and ended by the one that ends the last
//!    version with the value; so it is there as long as anybody sees such a version, and gone with it. Readers ask nothing else: whoever sees
//!    the row reads the value.
//! 2. No index leads to a piece. A heap of pieces is vacuumed without one.
//! 3. Pieces are put from the last to the first, so that each knows the next.
//! 4. A long value's pieces have a page each; what is left over, unless that nearly fills a page too, goes in quarters of one, so that
//!    values that are a little longer than a row may be do not waste half of one.
//! 5. Who changes a value's pieces has the row: nobody else is in the way, and nothing waits.
//!
//! What this does not do: know rows, compress, decide what is kept here.

use super::{Heap, view};
use crate::buffer::{self, ScanRing};
use crate::page::heap::{HeapPage, MAX_ROW_BYTES};
use crate::page::{NO_BLOCK, PAGE_SIZE, PageBytes, Tid};
use crate::relation::Relations;
use crate::relation::counts::Changed;
use crate::wal::record::HeapDelete;
use crate::wal::space::record_bytes;
use base::{Error, PageId, RelId, Result};

/// Bytes before those of the value.
const PIECE_HEADER_BYTES: usize = 14;
/// The most bytes of a value in a piece.
const WHOLE: usize = MAX_ROW_BYTES - PIECE_HEADER_BYTES;
/// The most bytes of a value in a piece that shares its page with three others.
const QUARTER: usize = PAGE_SIZE / 4 - 80 - PIECE_HEADER_BYTES;
/// Values longer than this share of the buffer pool use a few frames again and again.
const LARGE_SHARE: u64 = 4;

/// Where a value is, and how it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValuePlace {
    /// The place of its first piece.
    pub first: Tid,
    /// Its length in bytes; not zero.
    pub length: u32,
    /// The checksum of its bytes.
    pub check: u32,
}

/// A heap of pieces; a plain value.
#[derive(Clone, Copy)]
pub struct Pieces {
    heap: Heap,
}

impl Relations {
    /// A relation as a heap of pieces.
    pub fn pieces(&'static self, rel: RelId) -> Pieces {
        Pieces { heap: self.heap(rel) }
    }
}

/// A piece, taken apart.
struct Piece<'a> {
    next: Tid,
    number: u32,
    check: u32,
    bytes: &'a [u8],
}

fn read(row: &[u8]) -> Option<Piece<'_>> {
    let word = |at: usize| row.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
    let slot = row.get(4..)?.first_chunk::<2>().map(|bytes| u16::from_le_bytes(*bytes))?;
    Some(Piece {
        next: Tid { block: word(0)?, slot },
        number: word(6)?,
        check: word(10)?,
        bytes: row.get(PIECE_HEADER_BYTES..)?,
    })
}

/// How many bytes of a value are in its last piece, of so many that are left.
fn last_piece(left: usize) -> usize {
    let over = left % WHOLE;
    match over {
        0 => WHOLE.min(left),
        over if over > 3 * QUARTER => over,
        over => match over % QUARTER {
            0 => QUARTER,
            some => some,
        },
    }
}

impl Pieces {
    /// Where the pieces are.
    pub fn rel(&self) -> RelId {
        self.heap.rel
    }

    /// True if there never was a piece: then no row has a value here.
    #[inline]
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.heap.relations.blocks(self.heap.rel)? == 0)
    }

    /// Puts a value, for the running transaction. Errors: those of [`Heap::insert`], `57014`.
    pub fn put(&self, command: u32, value: &[u8]) -> Result<ValuePlace> {
        assert!(!value.is_empty() && value.len() <= u32::MAX as usize, "a value of {} bytes has pieces", value.len());
        let check = crc32c::crc32c(value);
        let mut count = 0_u32;
        let mut left = value.len();
        while left > 0 {
            left -= last_piece(left);
            count += 1;
        }
        let mut row = Vec::with_capacity(value.len().min(WHOLE) + PIECE_HEADER_BYTES);
        let mut next = Tid::NONE;
        let mut end = value.len();
        while end > 0 {
            kernel::session::check_interrupts()?;
            let start = end - last_piece(end);
            count -= 1;
            row.clear();
            row.extend_from_slice(&next.block.to_le_bytes());
            row.extend_from_slice(&next.slot.to_le_bytes());
            row.extend_from_slice(&count.to_le_bytes());
            row.extend_from_slice(&check.to_le_bytes());
            row.extend_from_slice(&value[start..end]);
            next = self.heap.insert(command, &row)?;
            end = start;
        }
        Ok(ValuePlace { first: next, length: value.len() as u32, check })
    }

    /// Appends a value to `out`. Errors: `XX001` if it is not there, `53200`, `57014`, those of pinning.
    pub fn get(&self, place: ValuePlace, out: &mut Vec<u8>) -> Result<()> {
        let length = place.length as usize;
        out.try_reserve(length).map_err(|_| Error::out_of_memory("a value", length))?;
        let start = out.len();
        self.walk(place, |bytes| {
            if out.len() + bytes.len() - start <= length {
                out.extend_from_slice(bytes);
            }
        })?;
        if out.len() - start != length || crc32c::crc32c(&out[start..]) != place.check {
            out.truncate(start);
            return Err(self.missing(place.first));
        }
        Ok(())
    }

    /// Ends a value, for the running transaction, which has ended the last version of a row with it.
    ///
    /// Errors: `XX001` if it is not there, `57014`, those of pinning.
    pub fn end(&self, place: ValuePlace) -> Result<()> {
        let relations = self.heap.relations;
        let own = relations.transactions.xid()?;
        let (mut at, mut number) = (place.first, 0);
        while at.block != NO_BLOCK {
            kernel::session::check_interrupts()?;
            let record = HeapDelete { page: PageId { rel: self.heap.rel, block: at.block }, slot: at.slot };
            let mut room = relations.wal.reserve(record_bytes(&record))?;
            let pinned = relations.pool.pin(self.heap.page_of(at))?;
            let mut page = pinned.write();
            let next = match piece_at(&page, at)? {
                Some(piece) if piece.number == number && piece.check == place.check => piece.next,
                _ => return Err(self.missing(at)),
            };
            self.heap.unsee(&page)?;
            buffer::log(&mut room, own, 0, &record, [&mut page], |[bytes]| record.apply(own, bytes))?;
            drop(page);
            relations.changed(self.heap.rel, Changed { deleted: 1, ..Changed::default() })?;
            (at, number) = (next, number + 1);
        }
        Ok(())
    }

    /// Calls `each` with the bytes of one piece after the other.
    fn walk(&self, place: ValuePlace, mut each: impl FnMut(&[u8])) -> Result<()> {
        let relations = self.heap.relations;
        let is_large = u64::from(place.length) / PAGE_SIZE as u64 * LARGE_SHARE > relations.frames();
        let mut ring = ScanRing::new();
        let (mut at, mut number) = (place.first, 0);
        while at.block != NO_BLOCK {
            kernel::session::check_interrupts()?;
            if at.block >= self.heap.blocks()? {
                return Err(self.missing(at));
            }
            let id = self.heap.page_of(at);
            let pinned = if is_large { relations.pool.pin_scan(id, &mut ring)? } else { relations.pool.pin(id)? };
            let page = pinned.read();
            match piece_at(&page, at)? {
                Some(piece) if piece.number == number && piece.check == place.check => {
                    each(piece.bytes);
                    (at, number) = (piece.next, number + 1);
                }
                _ => return Err(self.missing(at)),
            }
        }
        Ok(())
    }

    #[cold]
    fn missing(&self, at: Tid) -> Error {
        Error::corruption("a piece of a value is not where its row says")
            .detail(format!("It should be in slot {} of block {} of relation {}.", at.slot, at.block, self.heap.rel))
    }
}

fn piece_at(page: &PageBytes, at: Tid) -> Result<Option<Piece<'_>>> {
    let Some(heap): Option<HeapPage<'_>> = view(page)? else { return Ok(None) };
    Ok(heap.version(at.slot).and_then(|version| read(version.row())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_value_and_waste_little() {
        for length in (1..40_000).chain([1 << 20, (1 << 30) - 1]) {
            let (mut left, mut pieces, mut small) = (length, 0, 0);
            while left > 0 {
                let piece = last_piece(left);
                assert!((1..=WHOLE).contains(&piece) && piece <= left, "{length}: {piece} of {left}");
                small += usize::from(piece <= QUARTER);
                left -= piece;
                pieces += 1;
            }
            assert!(small <= 3 && pieces - small <= length / WHOLE + 1, "{length}: {pieces} pieces, {small} small");
        }
        assert!(4 * crate::page::heap::footprint(QUARTER + PIECE_HEADER_BYTES) <= PAGE_SIZE - 128);
    }
}
