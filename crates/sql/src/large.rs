//! Large values: compressed, or kept outside their rows, so that a row fits its page and stays short.
//!
//! A row longer than [`ROW_TARGET`] has its values *packed*, the longest first: compressed if that makes them shorter, then put into
//! [pieces](storage::heap::pieces) in a heap that belongs to the table. The row keeps
//! ```text
//!  compressed  1 | length u32 | blocks
//!  elsewhere   2 | length u32 | compressed u8 | heap u32 | bytes there u32 | checksum u32 | first piece: block u32, slot u16
//!  block       bytes u32, highest bit: not compressed | bytes                each of 256 KiB of the value, the last of the rest
//! ```
//! where `length` is the value's own. Blocks are LZ4's; between two of them others may run.
//!
//! Rules
//! 1. A value that is read is whole: nobody above rows knows of packing, and a plan says nothing of it.
//! 2. An update keeps what stands for a value that it does not change: compressed bytes are not made again, pieces not copied.
//! 3. The statement that ends a row's version ends the pieces that no later version has ([`Packed::left`]); pieces of a version that did
//!    not come about are ended by who made them ([`Packed::made`]).
//! 4. A row that is short enough is not looked at here, neither on its way in nor on its way out.

use crate::row::{self, Row, Shape, Stored};
use crate::types::{Datum, Kind, stored};
use base::{Error, RelId, Result, sqlstate};
use smallvec::SmallVec;
use std::borrow::Cow;
use storage::heap::ValuePlace;
use storage::page::Tid;
use storage::page::heap::MAX_ROW_BYTES;
use storage::relation::Relations;

/// Rows longer than this have their values packed, until they are shorter: four rows of this length fit on a page.
pub const ROW_TARGET: usize = 2000;
/// Values shorter than this are left alone.
const VALUE_MIN: usize = 64;
/// The value is compressed, and in the row.
const COMPRESSED: u8 = 1;
/// The value is in pieces.
const ELSEWHERE: u8 = 2;
const COMPRESSED_HEADER_BYTES: usize = 5;
const ELSEWHERE_BYTES: usize = 24;
/// Bytes of a value that are compressed at a time.
const BLOCK_BYTES: usize = 256 << 10;
/// A block that is as it was.
const AS_IT_WAS: u32 = 1 << 31;

/// A value in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// The value's length.
    length: u32,
    compressed: bool,
    heap: RelId,
    place: ValuePlace,
}

/// What was done with the values of a row.
#[derive(Debug, Default)]
pub struct Packed {
    /// Values that were put into pieces.
    pub made: SmallVec<[Elsewhere; 2]>,
    /// Values in pieces that the version before has and this one has not.
    pub left: SmallVec<[Elsewhere; 2]>,
}

#[cold]
fn damaged() -> Error {
    Error::corruption("a stored large value is damaged")
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    word.map(|word| u32::from_le_bytes(*word)).ok_or_else(damaged)
}

impl Elsewhere {
    fn read(packed: &[u8]) -> Result<Elsewhere> {
        let slot = packed.get(22..24).ok_or_else(damaged)?;
        let place = ValuePlace {
            first: Tid::new(word(packed, 18)?, u16::from_le_bytes([slot[0], slot[1]])),
            length: word(packed, 10)?,
            check: word(packed, 14)?,
        };
        let flag = packed[5];
        if packed.len() != ELSEWHERE_BYTES || packed[0] != ELSEWHERE || flag > 1 || place.length == 0 {
            return Err(damaged());
        }
        Ok(Elsewhere { length: word(packed, 1)?, compressed: flag == 1, heap: RelId(word(packed, 6)?), place })
    }

    fn bytes(&self) -> [u8; ELSEWHERE_BYTES] {
        let mut bytes = [0; ELSEWHERE_BYTES];
        bytes[0] = ELSEWHERE;
        bytes[1..5].copy_from_slice(&self.length.to_le_bytes());
        bytes[5] = u8::from(self.compressed);
        bytes[6..10].copy_from_slice(&self.heap.0.to_le_bytes());
        bytes[10..14].copy_from_slice(&self.place.length.to_le_bytes());
        bytes[14..18].copy_from_slice(&self.place.check.to_le_bytes());
        bytes[18..22].copy_from_slice(&self.place.first.block.to_le_bytes());
        bytes[22..24].copy_from_slice(&self.place.first.slot.to_le_bytes());
        bytes
    }

    /// Ends the value's pieces, for the running transaction.
    pub fn end(&self, relations: &'static Relations) -> Result<()> {
        relations.pieces(self.heap).end(self.place)
    }
}

/// The length of the value that packed bytes stand for.
pub fn length(packed: &[u8]) -> Result<usize> {
    word(packed, 1).map(|length| length as usize)
}

/// How many bytes of storage a value takes whose row has this for it.
pub fn stored_size(packed: &[u8]) -> Result<usize> {
    match packed.first() {
        Some(&COMPRESSED) => Ok(packed.len()),
        _ => Elsewhere::read(packed).map(|found| found.place.length as usize),
    }
}

/// True if what stands for a value leads to pieces.
pub fn is_elsewhere(packed: &[u8]) -> bool {
    packed.first() == Some(&ELSEWHERE)
}

/// Checks packed bytes, and the value if it is there.
pub fn check(kind: Kind, packed: &[u8]) -> Result<()> {
    match packed.first() {
        Some(&COMPRESSED) => {
            let mut value = Vec::new();
            decompress(packed.get(COMPRESSED_HEADER_BYTES..).ok_or_else(damaged)?, length(packed)?, &mut value)?;
            stored::check(kind, Datum::Bytes(&value))
        }
        _ => Elsewhere::read(packed).map(drop),
    }
}

/// Appends the value that packed bytes stand for to `out`.
///
/// Errors: `XX001`, `53200`, `57014`.
pub fn load(relations: &'static Relations, packed: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match packed.first() {
        Some(&COMPRESSED) => decompress(&packed[COMPRESSED_HEADER_BYTES.min(packed.len())..], length(packed)?, out),
        _ => {
            let found = Elsewhere::read(packed)?;
            let pieces = relations.pieces(found.heap);
            if found.compressed {
                let mut bytes = Vec::new();
                pieces.get(found.place, &mut bytes)?;
                return decompress(&bytes, found.length as usize, out);
            }
            if found.length != found.place.length {
                return Err(damaged());
            }
            pieces.get(found.place, out)
        }
    }
}

/// A row without packed values: those of the columns that are wanted are loaded, others are empty.
pub fn unpacked<'r>(
    relations: &'static Relations,
    shapes: &[Shape],
    bytes: &'r [u8],
    wanted: impl Fn(usize) -> bool,
) -> Result<Cow<'r, [u8]>> {
    if !row::has_packed(bytes) {
        return Ok(Cow::Borrowed(bytes));
    }
    let row = Row::new(bytes)?;
    let count = row.column_count().min(shapes.len());
    let (mut values, mut spans) = (Vec::new(), Vec::with_capacity(count));
    for column in 0..count {
        let start = values.len();
        spans.push(match row.stored(shapes, column)? {
            Stored::Plain(_) => None,
            Stored::Packed(packed) => {
                if wanted(column) {
                    load(relations, packed, &mut values)?;
                }
                Some(start..values.len())
            }
        });
    }
    let mut datums = Vec::with_capacity(count);
    for (column, span) in spans.into_iter().enumerate() {
        datums.push(match span {
            Some(span) => Datum::Bytes(&values[span]),
            None => row.get(shapes, column)?,
        });
    }
    let mut out = Vec::with_capacity(bytes.len() + values.len());
    row::encode(&shapes[..count], &datums, &mut out)?;
    Ok(Cow::Owned(out))
}

/// The values of a row that are in pieces.
pub fn elsewhere(shapes: &[Shape], bytes: &[u8]) -> Result<SmallVec<[Elsewhere; 2]>> {
    let mut found = SmallVec::new();
    if !row::has_packed(bytes) {
        return Ok(found);
    }
    let row = Row::new(bytes)?;
    for column in 0..row.column_count().min(shapes.len()) {
        if let Stored::Packed(packed) = row.stored(shapes, column)?
            && is_elsewhere(packed)
        {
            found.push(Elsewhere::read(packed)?);
        }
    }
    Ok(found)
}

/// A value on its way into a row.
enum Item<'v> {
    Plain(Datum<'v>),
    Packed(Cow<'v, [u8]>),
}

impl Item<'_> {
    /// Bytes in the row.
    fn size(&self, kind: Kind) -> usize {
        let length = match (self, stored::width(kind)) {
            (Item::Plain(Datum::Null), _) => return 0,
            (Item::Plain(_), Some(width)) => return width,
            (Item::Plain(value), None) => value.bytes().len(),
            (Item::Packed(bytes), _) => bytes.len(),
        };
        length
            + if length < 0x80 {
                1
            } else if length < 0x4000 {
                2
            } else {
                4
            }
    }
}

/// Where the rows of a table keep their large values.
#[derive(Clone, Copy)]
pub struct Place {
    /// The relations.
    pub relations: &'static Relations,
    /// The heap of the table's pieces; none if it has none.
    pub heap: Option<RelId>,
    /// The command that makes them.
    pub command: u32,
}

/// Appends a row of these values to `out`, packed until it is short. `old` is the version that it replaces.
///
/// Errors: `54000` if the row does not fit a page, `53200`, `57014`, those of storage.
pub fn pack(
    place: Place,
    shapes: &[Shape],
    values: &[Datum<'_>],
    old: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<Packed> {
    let mut done = Packed::default();
    let mut items: Vec<Item<'_>> = values.iter().map(|value| Item::Plain(*value)).collect();
    if let Some(old) = old.filter(|old| row::has_packed(old)) {
        keep_old(place, shapes, old, &mut items, &mut done)?;
    }
    let bitmaps = 2 + 2 * values.len().div_ceil(8);
    let mut size = bitmaps + items.iter().zip(shapes).map(|(item, shape)| item.size(shape.kind)).sum::<usize>();
    let mut tried = vec![false; items.len()];
    while size > ROW_TARGET {
        let is_long = |at: &usize| matches!(items[*at], Item::Plain(_)) && !tried[*at];
        let Some(at) = longest(&items, shapes, is_long) else { break };
        tried[at] = true;
        let Item::Plain(Datum::Bytes(value)) = items[at] else { continue };
        if let Some(packed) = compressed(value)? {
            size -= items[at].size(shapes[at].kind);
            items[at] = Item::Packed(Cow::Owned(packed));
            size += items[at].size(shapes[at].kind);
        }
        // What is longer than a row should be goes at once, whatever can still be done with the others.
        if items[at].size(shapes[at].kind) > ROW_TARGET {
            size -= items[at].size(shapes[at].kind);
            put_elsewhere(place, &mut items[at], &mut done)?;
            size += items[at].size(shapes[at].kind);
        }
    }
    while size > ROW_TARGET {
        let may_go = |at: &usize| match &items[*at] {
            Item::Plain(_) => place.heap.is_some(),
            Item::Packed(bytes) => place.heap.is_some() && !is_elsewhere(bytes),
        };
        let Some(at) = longest(&items, shapes, may_go) else { break };
        size -= items[at].size(shapes[at].kind);
        put_elsewhere(place, &mut items[at], &mut done)?;
        size += items[at].size(shapes[at].kind);
    }
    if size > MAX_ROW_BYTES {
        let message = format!("row is too big: size {size}, maximum size {MAX_ROW_BYTES}");
        return Err(Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, message));
    }
    if items.iter().all(|item| matches!(item, Item::Plain(_))) {
        row::encode(shapes, values, out)?;
        return Ok(done);
    }
    let stored: Vec<Stored<'_>> = items
        .iter()
        .map(|item| match item {
            Item::Plain(value) => Stored::Plain(*value),
            Item::Packed(bytes) => Stored::Packed(bytes),
        })
        .collect();
    row::encode_packed(shapes, &stored, out)?;
    Ok(done)
}

/// Which of the values that may be taken is the longest, if it is worth it.
fn longest(items: &[Item<'_>], shapes: &[Shape], may: impl Fn(&usize) -> bool) -> Option<usize> {
    let size = |at: &usize| items[*at].size(shapes[*at].kind);
    let is_variable = |at: &usize| stored::width(shapes[*at].kind).is_none();
    let found = (0..items.len()).filter(is_variable).filter(may).max_by_key(size)?;
    (size(&found) > VALUE_MIN).then_some(found)
}

/// Takes what the old version has for values that have not changed; notes what is left behind.
fn keep_old<'v>(
    place: Place,
    shapes: &[Shape],
    old: &'v [u8],
    items: &mut [Item<'v>],
    done: &mut Packed,
) -> Result<()> {
    let row = Row::new(old)?;
    let mut value = Vec::new();
    for (column, item) in items.iter_mut().enumerate() {
        let Stored::Packed(packed) = row.stored(shapes, column)? else { continue };
        if let Item::Plain(Datum::Bytes(new)) = *item
            && new.len() == length(packed)?
        {
            value.clear();
            load(place.relations, packed, &mut value)?;
            if value == new {
                *item = Item::Packed(Cow::Borrowed(packed));
                continue;
            }
        }
        if is_elsewhere(packed) {
            done.left.push(Elsewhere::read(packed)?);
        }
    }
    Ok(())
}

/// Puts a value into pieces. Does nothing where there is no heap for them.
fn put_elsewhere(place: Place, item: &mut Item<'_>, done: &mut Packed) -> Result<()> {
    let Some(heap) = place.heap else { return Ok(()) };
    let (bytes, length, compressed) = match item {
        Item::Plain(value) => (value.bytes(), value.bytes().len(), false),
        Item::Packed(bytes) => (&bytes[COMPRESSED_HEADER_BYTES..], length(bytes)?, true),
    };
    if length > stored::BYTES_MAX {
        return Err(crate::types::text::too_long());
    }
    let put = place.relations.pieces(heap).put(place.command, bytes)?;
    let made = Elsewhere { length: length as u32, compressed, heap, place: put };
    *item = Item::Packed(Cow::Owned(made.bytes().to_vec()));
    done.made.push(made);
    Ok(())
}

/// A value compressed, if that makes it shorter by a sixteenth at least.
fn compressed(value: &[u8]) -> Result<Option<Vec<u8>>> {
    if value.len() > stored::BYTES_MAX {
        return Err(crate::types::text::too_long());
    }
    let mut out = Vec::new();
    out.push(COMPRESSED);
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    let mut block = vec![0; lz4_flex::block::get_maximum_output_size(value.len().min(BLOCK_BYTES))];
    for part in value.chunks(BLOCK_BYTES) {
        crate::exec::breathe()?;
        let (head, bytes) = match lz4_flex::block::compress_into(part, &mut block) {
            Ok(length) if length < part.len() => (length as u32, &block[..length]),
            _ => (part.len() as u32 | AS_IT_WAS, part),
        };
        let more = bytes.len() + 4;
        out.try_reserve(more).map_err(|_| Error::out_of_memory("a value", more))?;
        out.extend_from_slice(&head.to_le_bytes());
        out.extend_from_slice(bytes);
    }
    Ok((out.len() + value.len() / 16 < value.len()).then_some(out))
}

/// Appends the value of so many bytes that blocks hold.
fn decompress(mut blocks: &[u8], length: usize, out: &mut Vec<u8>) -> Result<()> {
    if length > stored::BYTES_MAX {
        return Err(damaged());
    }
    out.try_reserve(length).map_err(|_| Error::out_of_memory("a value", length))?;
    let mut left = length;
    while left > 0 {
        crate::exec::breathe()?;
        let head = word(blocks, 0)?;
        let bytes = blocks.get(4..4 + (head & !AS_IT_WAS) as usize).ok_or_else(damaged)?;
        blocks = &blocks[4 + bytes.len()..];
        let wanted = left.min(BLOCK_BYTES);
        let start = out.len();
        if head & AS_IT_WAS != 0 {
            out.extend_from_slice(bytes);
        } else {
            out.resize(start + wanted, 0);
            let got = lz4_flex::block::decompress_into(bytes, &mut out[start..]).map_err(|_| damaged())?;
            out.truncate(start + got);
        }
        if out.len() - start != wanted {
            return Err(damaged());
        }
        left -= wanted;
    }
    if blocks.is_empty() { Ok(()) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 88_172_645_463_325_252_u64;
        std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .take(length)
        .collect()
    }

    #[test]
    fn what_is_compressed_comes_back() {
        for length in [100, 5_000, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES - 7] {
            let value: Vec<u8> = (0..length).map(|at| (at / 100 % 7) as u8).collect();
            let packed = compressed(&value).unwrap().expect("it is shorter");
            assert!(packed.len() < length * 15 / 16 && check(Kind::Bytea, &packed).is_ok());
            let mut back = vec![1, 2];
            decompress(&packed[COMPRESSED_HEADER_BYTES..], length, &mut back).unwrap();
            assert_eq!(back[2..], value);
            for cut in [0, 3, packed.len() / 2, packed.len() - 1] {
                assert!(check(Kind::Bytea, &packed[..cut]).is_err(), "{length} cut at {cut}");
            }
        }
        assert!(compressed(&noise(10_000)).unwrap().is_none());
        // Half noise: its blocks are as they were.
        let mut mixed = noise(BLOCK_BYTES);
        mixed.extend(vec![7; BLOCK_BYTES]);
        let packed = compressed(&mixed).unwrap().expect("it is shorter");
        let mut back = Vec::new();
        decompress(&packed[COMPRESSED_HEADER_BYTES..], mixed.len(), &mut back).unwrap();
        assert_eq!(back, mixed);
    }

    #[test]
    fn what_leads_elsewhere_reads_back_and_damage_is_found() {
        let place = ValuePlace { first: Tid::new(70_000, 3), length: 9_000, check: 0xDEAD_BEEF };
        let made = Elsewhere { length: 30_000, compressed: true, heap: RelId(77), place };
        let bytes = made.bytes();
        assert_eq!(Elsewhere::read(&bytes).ok(), Some(made));
        assert_eq!((length(&bytes).ok(), stored_size(&bytes).ok()), (Some(30_000), Some(9_000)));
        for cut in 0..bytes.len() {
            assert!(Elsewhere::read(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        let mut other = bytes;
        other[5] = 2;
        assert!(Elsewhere::read(&other).is_err());
    }
}
