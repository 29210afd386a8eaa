//! The entries of a range, forward or backward.
//!
//! A [`Cursor`] copies the entries of one leaf that are in its range, and holds nothing between calls: no latch, no pin, no
//! reference. It is a value of plain numbers and bytes: [`Cursor::save`] writes it down, and [`Cursor::restore`] goes on in another process.
//!
//! Forward, the next leaf is the right neighbour. Backward, there is no safe link to follow (a left neighbour may have been split
//! or deleted meanwhile), so the cursor descends again, to what comes before the lower end of the leaf that it has
//! finished: the separator that it came by.
//!
//! Rules
//! 1. Entries that were there when the cursor began and still are when it comes by are found once each; others may be found or not.
//! 2. The session holds a snapshot or a transaction while it uses a cursor: a deleted page that the cursor may come to is not
//!    used again before.
//! 3. An entry is marked as killed only if its leaf has not changed since it was copied: by then its place could be another row's.

use super::descend::{Mark, ends_before};
use super::{Btree, tree_page};
use crate::buffer::{PageRef, Pinned};
use crate::page::btree::{BtreePage, KILLED};
use crate::page::header;
use crate::page::{NO_BLOCK, Tid};
use base::codec::Reader;
use base::{Error, Lsn, RelId, Result};
use std::ops::Bound;

/// Which keys are wanted, as byte strings.
pub type Range<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// In which order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Backward,
}

/// Where the next leaf is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Next {
    /// Nothing was read yet.
    Start,
    /// Forward: this block, or what has become of it.
    Block(u32),
    /// Backward: before this point.
    Before(Mark),
    /// There is none.
    End,
}

/// An entry that was copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Copied {
    tid: Tid,
    position: u16,
    /// Where its key ends in the copied keys.
    key_end: u32,
}

/// Where a scan of an index is; see the head of this file.
#[derive(Clone, Debug)]
pub struct Cursor {
    rel: RelId,
    direction: Direction,
    with_keys: bool,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    next: Next,
    /// The entries of the leaf at hand, in the order of the scan.
    entries: Vec<Copied>,
    keys: Vec<u8>,
    /// How many of them were handed out.
    taken: usize,
    /// The leaf that they are from, and its LSN then.
    leaf: u32,
    lsn: Lsn,
    /// Positions on it that lead to nothing.
    killed: Vec<u16>,
}

fn owned(bound: Bound<&[u8]>) -> Bound<Vec<u8>> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key.to_vec()),
        Bound::Excluded(key) => Bound::Excluded(key.to_vec()),
    }
}

/// The first point that is in a range with this lower bound; none if all are.
fn lower_point(bound: &Bound<Vec<u8>>) -> Option<(&[u8], Tid)> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key, Tid::MIN)),
        Bound::Excluded(key) => Some((key, Tid::MAX)),
    }
}

/// The first point that is behind a range with this upper bound; none if none is.
fn upper_point(bound: &Bound<Vec<u8>>) -> Option<(&[u8], Tid)> {
    match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key, Tid::MAX)),
        Bound::Excluded(key) => Some((key, Tid::MIN)),
    }
}

/// The least key that is after all keys that begin with `prefix`: with [`Bound::Excluded`] the upper bound of those. None if there
/// is no such key.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut key = prefix[..=last].to_vec();
    key[last] += 1;
    Some(key)
}

impl Btree {
    /// Begins a scan of a range. `with_keys` says whether [`Cursor::key`] is wanted.
    pub fn scan(&self, range: Range<'_>, direction: Direction, with_keys: bool) -> Cursor {
        Cursor {
            rel: self.rel,
            direction,
            with_keys,
            from: owned(range.0),
            to: owned(range.1),
            next: Next::Start,
            entries: Vec::new(),
            keys: Vec::new(),
            taken: 0,
            leaf: NO_BLOCK,
            lsn: Lsn(0),
            killed: Vec::new(),
        }
    }

    /// The next entry's place; none at the end. Errors: those of pinning, `XX002`, `57014`.
    #[inline]
    pub fn next(&self, cursor: &mut Cursor) -> Result<Option<Tid>> {
        debug_assert_eq!(cursor.rel, self.rel);
        loop {
            if let Some(entry) = cursor.entries.get(cursor.taken) {
                cursor.taken += 1;
                return Ok(Some(entry.tid));
            }
            if !self.next_leaf(cursor)? {
                return Ok(None);
            }
        }
    }

    /// Copies the entries of the next leaf that has some. False at the end.
    fn next_leaf(&self, cursor: &mut Cursor) -> Result<bool> {
        self.mark_killed(cursor)?;
        cursor.entries.clear();
        cursor.keys.clear();
        cursor.taken = 0;
        while cursor.next != Next::End {
            kernel::session::check_interrupts()?;
            match cursor.direction {
                Direction::Forward => self.leaf_forward(cursor)?,
                Direction::Backward => self.leaf_backward(cursor)?,
            }
            if !cursor.entries.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn leaf_forward(&self, cursor: &mut Cursor) -> Result<()> {
        let next = match &cursor.next {
            Next::Block(block) => Some(*block),
            _ => None,
        };
        if let Some(block) = next {
            let page = self.read(block)?;
            return cursor.copy_forward(&page, tree_page(&page)?, None);
        }
        match lower_point(&cursor.from) {
            Some((key, tid)) => {
                let (key, tid) = (key.to_vec(), tid);
                self.at_leaf((&key, tid), |page, view| cursor.copy_forward(page, view, Some((&key, tid))))?
            }
            None => {
                let pinned = self.first_leaf()?;
                let page = pinned.read();
                cursor.copy_forward(&page, tree_page(&page)?, None)
            }
        }
    }

    /// The leftmost leaf, or one left of which nothing is, by now.
    fn first_leaf(&self) -> Result<Pinned> {
        self.descend((&[], Tid::MIN), 0)
    }

    fn leaf_backward(&self, cursor: &mut Cursor) -> Result<()> {
        let before = match &cursor.next {
            Next::Before(mark) => Some(mark.clone()),
            _ => upper_point(&cursor.to).map(|(key, tid)| Mark { key: key.to_vec(), tid }),
        };
        let (page, low) = self.descend_before(before.as_ref(), 0)?;
        cursor.copy_backward(&page, tree_page(&page)?, before.as_ref(), low)
    }

    /// Marks the entries that the cursor's user has found to lead to nothing (rule 3).
    fn mark_killed(&self, cursor: &mut Cursor) -> Result<()> {
        if cursor.killed.is_empty() {
            return Ok(());
        }
        let page = self.read(cursor.leaf)?;
        if header::lsn(&page) == cursor.lsn {
            let view = tree_page(&page)?;
            cursor.killed.iter().for_each(|&position| page.set_hints(view.killed_offset(position as usize), KILLED));
        }
        cursor.killed.clear();
        Ok(())
    }

    /// Ends a scan before its end: what was found out on the way is noted. A cursor may also just be dropped.
    pub fn finish(&self, cursor: &mut Cursor) -> Result<()> {
        cursor.next = Next::End;
        self.mark_killed(cursor)
    }
}

impl Cursor {
    /// The key of the entry that was handed out last; empty if keys were not asked for.
    pub fn key(&self) -> &[u8] {
        let Some(last) = self.taken.checked_sub(1).filter(|_| self.with_keys) else { return &[] };
        let start = last.checked_sub(1).map_or(0, |before| self.entries[before].key_end);
        &self.keys[start as usize..self.entries[last].key_end as usize]
    }

    /// The places that are handed out next, as far as they are at hand and in one block of the table.
    pub fn upcoming(&self, block: u32) -> impl Iterator<Item = Tid> {
        self.entries[self.taken..].iter().map(|entry| entry.tid).take_while(move |tid| tid.block == block)
    }

    /// The first places behind those in one block of the table, each in another one, as far as they are at hand, among the next `most`.
    pub fn later(&self, block: u32, most: usize) -> impl Iterator<Item = Tid> {
        let mut last = block;
        let is_next = move |tid: &Tid| std::mem::replace(&mut last, tid.block) != tid.block;
        self.entries[self.taken..].iter().take(most).map(|entry| entry.tid).filter(is_next)
    }

    /// Hands out some of the [upcoming](Cursor::upcoming) at once.
    pub fn skip(&mut self, count: usize) {
        debug_assert!(self.taken + count <= self.entries.len());
        self.taken += count;
    }

    /// Says that nobody can see anything behind the entry that was handed out last ([`crate::heap::Fetched::Dead`]): searches will pass
    /// over it, and it goes when its leaf is full.
    pub fn kill(&mut self) {
        let last = self.taken.checked_sub(1).filter(|_| self.leaf != NO_BLOCK);
        if let Some(entry) = last.and_then(|last| self.entries.get(last)) {
            self.killed.push(entry.position);
        }
    }

    /// Which index it is of.
    pub fn rel(&self) -> RelId {
        self.rel
    }

    fn take_leaf(&mut self, page: &PageRef) {
        self.leaf = page.id().block;
        self.lsn = header::lsn(page);
    }

    fn copy_forward(&mut self, page: &PageRef, view: BtreePage<'_>, start: Option<(&[u8], Tid)>) -> Result<()> {
        if !view.is_leaf() {
            // The root has grown since the descent.
            debug_assert!(self.next == Next::Start);
            return Ok(());
        }
        self.take_leaf(page);
        self.next = match view.right() {
            NO_BLOCK => Next::End,
            right => Next::Block(right),
        };
        if view.is_ignored() {
            return Ok(());
        }
        let first = start.map_or(0, |(key, tid)| view.lower_bound(key, tid));
        let mut end = view.count();
        if let Some((key, tid)) = upper_point(&self.to) {
            end = view.lower_bound(key, tid);
            // All that is behind this leaf is at or after its high key.
            if end < view.count() || view.high_key().is_some_and(|high| (key, tid) <= high) {
                self.next = Next::End;
            }
        }
        let positions = first..end.max(first);
        self.entries.reserve(positions.len());
        for position in positions {
            copy_entry(&mut self.entries, &mut self.keys, view, position, self.with_keys);
        }
        Ok(())
    }

    fn copy_backward(
        &mut self,
        page: &PageRef,
        view: BtreePage<'_>,
        before: Option<&Mark>,
        low: Option<Mark>,
    ) -> Result<()> {
        if !view.is_leaf() || ends_before(view, before) {
            // Changed between the descent and this look: once more.
            if let (Some(before), Next::Start) = (before, &self.next) {
                self.next = Next::Before(before.clone());
            }
            return Ok(());
        }
        self.take_leaf(page);
        let end = before.map_or(view.count(), |mark| view.lower_bound(&mark.key, mark.tid));
        let first = lower_point(&self.from).map_or(0, |(key, tid)| view.lower_bound(key, tid));
        let below = lower_point(&self.from);
        self.next = match low {
            // Nothing of the range is before the leaf's lower end.
            Some(low) if first == 0 && below.is_none_or(|below| below < low.point()) => Next::Before(low),
            _ => Next::End,
        };
        let positions = first.min(end)..end;
        self.entries.reserve(positions.len());
        for position in positions.rev() {
            copy_entry(&mut self.entries, &mut self.keys, view, position, self.with_keys);
        }
        Ok(())
    }

    /// Writes down where the scan is. The entries at hand are part of it.
    pub fn save(&self, into: &mut Vec<u8>) {
        put_u32(into, self.rel.0);
        into.extend([self.direction as u8, self.with_keys as u8]);
        for bound in [&self.from, &self.to] {
            match bound {
                Bound::Unbounded => into.push(0),
                Bound::Included(key) => {
                    into.push(1);
                    put_run(into, key);
                }
                Bound::Excluded(key) => {
                    into.push(2);
                    put_run(into, key);
                }
            }
        }
        match &self.next {
            Next::Start => into.push(0),
            Next::Block(block) => {
                into.push(1);
                put_u32(into, *block);
            }
            Next::Before(mark) => {
                into.push(2);
                put_run(into, &mark.key);
                put_tid(into, mark.tid);
            }
            Next::End => into.push(3),
        }
        let mut start = self.taken.checked_sub(1).map_or(0, |last| self.entries[last].key_end as usize);
        put_u32(into, (self.entries.len() - self.taken) as u32);
        for entry in &self.entries[self.taken..] {
            put_tid(into, entry.tid);
            put_run(into, &self.keys[start..entry.key_end as usize]);
            start = entry.key_end as usize;
        }
    }

    /// The inverse of [`Cursor::save`]. Errors: bytes that are no cursor's, which is a bug of who kept them.
    pub fn restore(bytes: &[u8]) -> Result<Cursor> {
        Cursor::read(&mut Reader::new(bytes)).ok_or_else(|| Error::corruption("a saved scan of an index is damaged"))
    }

    fn read(reader: &mut Reader<'_>) -> Option<Cursor> {
        let rel = RelId(reader.u32_le()?);
        let direction = if reader.u8_le()? == 0 { Direction::Forward } else { Direction::Backward };
        let with_keys = reader.u8_le()? != 0;
        let (from, to) = (take_bound(reader)?, take_bound(reader)?);
        let next = match reader.u8_le()? {
            0 => Next::Start,
            1 => Next::Block(reader.u32_le()?),
            2 => Next::Before(Mark { key: take_run(reader)?, tid: take_tid(reader)? }),
            3 => Next::End,
            _ => return None,
        };
        let mut cursor = Cursor {
            rel,
            direction,
            with_keys,
            from,
            to,
            next,
            entries: Vec::new(),
            keys: Vec::new(),
            taken: 0,
            // What was found to lead to nothing is forgotten: the leaf is not known any more.
            leaf: NO_BLOCK,
            lsn: Lsn(0),
            killed: Vec::new(),
        };
        for _ in 0..reader.u32_le()? {
            let tid = take_tid(reader)?;
            cursor.keys.extend_from_slice(&take_run(reader)?);
            cursor.entries.push(Copied { tid, position: 0, key_end: cursor.keys.len() as u32 });
        }
        Some(cursor)
    }
}

fn copy_entry(entries: &mut Vec<Copied>, keys: &mut Vec<u8>, view: BtreePage<'_>, position: usize, with_keys: bool) {
    if view.is_killed(position) {
        return;
    }
    if with_keys {
        keys.extend_from_slice(view.key(position));
    }
    entries.push(Copied { tid: view.tid(position), position: position as u16, key_end: keys.len() as u32 });
}

fn put_u32(into: &mut Vec<u8>, value: u32) {
    into.extend_from_slice(&value.to_le_bytes());
}

fn put_run(into: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(into, bytes.len() as u32);
    into.extend_from_slice(bytes);
}

fn put_tid(into: &mut Vec<u8>, tid: Tid) {
    put_u32(into, tid.block);
    into.extend_from_slice(&tid.slot.to_le_bytes());
}

fn take_run(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    let count = reader.u32_le()?;
    reader.bytes(count as usize).map(<[u8]>::to_vec)
}

fn take_tid(reader: &mut Reader<'_>) -> Option<Tid> {
    Some(Tid::new(reader.u32_le()?, reader.u16_le()?))
}

fn take_bound(reader: &mut Reader<'_>) -> Option<Bound<Vec<u8>>> {
    match reader.u8_le()? {
        0 => Some(Bound::Unbounded),
        1 => Some(Bound::Included(take_run(reader)?)),
        2 => Some(Bound::Excluded(take_run(reader)?)),
        _ => None,
    }
}
