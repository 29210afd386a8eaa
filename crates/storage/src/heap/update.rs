//! Updates: a new version in the old one's chain, beside it, or on another page.
//!
//! | where the new version goes | when | indexes |
//! |---|---|---|
//! | same page, heap-only (*hot*) | it fits, and no indexed column changed | nothing to do |
//! | same page, a root of its own | it fits, and an indexed column changed | the caller enters it |
//! | another page | it does not fit, even after a prune | the caller enters it |
//!
//! For another page the old one is released, a page with room is found, both are latched in the order of their blocks, and
//! everything is looked at again. If there is none a few pages are pruned and it is begun anew, before the table grows.

use super::claim::{Outcome, Queue, Verdict, identity};
use super::lock::RowWait;
use super::prune::PRUNE_ROOM;
use super::{Heap, Writer, view};
use crate::buffer::{self, PageMut};
use crate::page::heap::{HeapPageMut, Roots, RowDelta, check_row_size};
use crate::page::{Tid, header};
use crate::relation::counts::Changed;
use crate::relation::place::PageClass;
use crate::relation::row::Pruned;
use crate::txn::Strength;
use crate::wal::Room;
use crate::wal::record::{HeapUpdate, HeapUpdateAway, RECORD_HEADER_BYTES, RECORD_INIT};
use base::{PageId, Result, Xid};

/// What an update changes, as far as it concerns others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changes {
    /// A column that a foreign key may refer to: a column of a unique index.
    pub keys: bool,
    /// A column of any index.
    pub indexed: bool,
}

/// How a try on one page ended.
enum Tried {
    Over(Outcome),
    /// Wait for a transaction that has the row of that identity.
    Wait(Tid, Xid),
    Superseded(Xid, Option<Tid>),
    /// The new version needs another page.
    Away,
    /// There is none: the table has to grow.
    Full,
}

impl Heap {
    /// Puts `row` in the place of the version at `tid`, which the writer's snapshot sees or which an earlier call answered with
    /// [`Outcome::Changed`]. After [`Outcome::Done`] that is not hot the caller enters the new version into every index.
    ///
    /// Errors: `40001`, `40P01`, `57014`, `55P03`, `54000` (the row is too long), `53100`, those of pinning.
    pub fn update(&self, writer: &mut Writer<'_>, tid: Tid, row: &[u8], changes: Changes) -> Result<Outcome> {
        check_row_size(row.len())?;
        let own = self.relations.transactions.xid()?;
        let strength = if changes.keys { Strength::Update } else { Strength::NoKeyUpdate };
        let mut queue = Queue::new(self.relations.transactions);
        let mut grows = false;
        loop {
            let mut room = self.relations.wal.reserve(room_for(row))?;
            let tried = match self.update_on_page(writer, own, tid, row, changes, &mut room)? {
                Tried::Away => self.update_away(writer, own, tid, row, changes, grows, &mut room)?,
                tried => tried,
            };
            drop(room);
            match tried {
                Tried::Over(outcome) => return Ok(outcome),
                Tried::Wait(identity, xid) => self.wait_in_turn(&mut queue, identity, xid, writer)?,
                Tried::Superseded(xid, next) => {
                    return self.superseded(writer, (xid, next), strength, RowWait::Wait, &mut queue);
                }
                // The row has moved in the meantime, or the page has room after all.
                Tried::Away => {}
                Tried::Full => {
                    self.prune_some()?;
                    grows = true;
                }
            }
        }
    }

    /// What is in the way, as the end of a try; none if nothing is.
    fn in_the_way(
        &self,
        page: &PageMut<'_>,
        slot: u16,
        writer: &Writer<'_>,
        changes: Changes,
        leaves: bool,
    ) -> Option<Tried> {
        let strength = if changes.keys { Strength::Update } else { Strength::NoKeyUpdate };
        match self.verdict(page, slot, writer, strength, leaves) {
            Verdict::Free => None,
            Verdict::Wait(xid) => Some(Tried::Wait(identity(page, slot), xid)),
            Verdict::Own(command) => Some(Tried::Over(Outcome::Own(command))),
            Verdict::Ended(xid, next) => Some(Tried::Superseded(xid, next)),
            Verdict::Gone => Some(Tried::Over(Outcome::Gone)),
        }
    }

    /// Tries to put the new version on the old one's page.
    fn update_on_page(
        &self,
        writer: &mut Writer<'_>,
        own: Xid,
        tid: Tid,
        row: &[u8],
        changes: Changes,
        room: &mut Room,
    ) -> Result<Tried> {
        let pinned = self.relations.pool.pin(self.page_of(tid))?;
        let mut page = pinned.write();
        if view(&page)?.is_none() {
            return Ok(Tried::Over(Outcome::Gone));
        }
        if let Some(tried) = self.in_the_way(&page, tid.slot, writer, changes, changes.indexed) {
            return Ok(tried);
        }
        let mut pruned = Pruned::default();
        let fits = |page: &PageMut<'_>| view(page).is_ok_and(|heap| heap.is_some_and(|heap| heap.fits(row.len(), 0)));
        let ended = view(&page)?.map_or(Xid(0), |heap| heap.prune_xid());
        if ended.0 != 0 && !fits(&page) {
            // Whatever the page's prune xid says: it is of the version that was ended first, and others, ended later by who was
            // quicker, may go before it. A prune in vain costs less than a row that leaves its page.
            let horizon = self.relations.transactions.horizon_beyond(ended);
            pruned = self.prune_latched(&mut page, room, horizon, Roots::Indexed, &mut |_| ())?;
        }
        if !fits(&page) {
            let class = PageClass::of(&page);
            drop(page);
            self.note_pruned(tid.block, pruned, class)?;
            return Ok(Tried::Away);
        }
        let new = self.put_beside(&mut page, writer, own, tid.slot, row, changes, room)?;
        let class = PageClass::of(&page);
        drop(page);
        self.relations.changed(self.rel, updated(!changes.indexed))?;
        self.note_pruned(tid.block, pruned, class)?;
        Ok(Tried::Over(Outcome::Done { tid: Tid::new(tid.block, new), hot: !changes.indexed }))
    }

    /// Logs and makes an update on one page that has room; answers the new slot.
    #[expect(clippy::too_many_arguments, reason = "a change is made of these")]
    fn put_beside(
        &self,
        page: &mut PageMut<'_>,
        writer: &mut Writer<'_>,
        own: Xid,
        slot: u16,
        row: &[u8],
        changes: Changes,
        room: &mut Room,
    ) -> Result<u16> {
        let command = self.end_command(page, slot, writer)?;
        let epoch = self.relations.wal.epoch();
        let Some(heap) = view(page)? else { return Err(no_room(page)) };
        let Some(new_slot) = heap.vacant_slot() else { return Err(no_room(page)) };
        let word = heap.lock(slot, epoch);
        // The old row's bytes are copied: the record refers to the new row's alone, but the delta is made from both.
        let delta = heap.version(slot).map(|version| RowDelta::between(version.row(), row));
        let Some(delta) = delta else { return Err(no_room(page)) };
        let hot = !changes.indexed;
        let id = page.id();
        let record = HeapUpdate { page: id, old_slot: slot, new_slot, hot, keys_updated: changes.keys, delta };
        self.unsee(page)?;
        buffer::log(room, own, 0, &record, [page], |[bytes]| record.apply(own, bytes))?;
        let mut heap = HeapPageMut::new(page.volatile());
        heap.set_command(slot, command.0, command.1)?;
        heap.set_command(new_slot, writer.snapshot.command, false)?;
        if hot && word != 0 {
            // Rule 4 of the heap: the chain has one lock word.
            heap.set_lock(new_slot, word, epoch)?;
        }
        Ok(new_slot)
    }

    /// Tries to put the new version on another page; on a new one only if the table may grow.
    #[expect(clippy::too_many_arguments, reason = "a change is made of these")]
    fn update_away(
        &self,
        writer: &mut Writer<'_>,
        own: Xid,
        tid: Tid,
        row: &[u8],
        changes: Changes,
        grows: bool,
        room: &mut Room,
    ) -> Result<Tried> {
        let pool = self.relations.pool;
        let mut search = self.relations.search(self.rel, row.len(), self.reserve as usize, Some(tid.block))?;
        loop {
            let new_pinned = match self.relations.place(&mut search)? {
                Some(pinned) => pinned,
                None if grows => self.relations.grow(&search)?,
                None => return Ok(Tried::Full),
            };
            let old_pinned = pool.pin(self.page_of(tid))?;
            let new_block = new_pinned.id().block;
            // Ascending blocks.
            let (mut old, mut new) = if new_block < tid.block {
                let new = new_pinned.write();
                (old_pinned.write(), new)
            } else {
                let old = old_pinned.write();
                (old, new_pinned.write())
            };
            let Some(heap) = view(&old)? else { return Ok(Tried::Over(Outcome::Gone)) };
            if let Some(tried) = self.in_the_way(&old, tid.slot, writer, changes, true) {
                return Ok(tried);
            }
            if heap.fits(row.len(), 0) {
                return Ok(Tried::Away);
            }
            let fresh = view(&new)?.is_none();
            if !fresh && !self.has_room(&new, row.len())? {
                let class = PageClass::of(&new);
                drop((old, new));
                search.refuse(self.relations, new_block, class);
                continue;
            }
            let slot = view(&new)?.map_or(Some(0), |heap| heap.vacant_slot());
            let Some(new_slot) = slot else { return Err(no_room(&new)) };
            let command = self.end_command(&old, tid.slot, writer)?;
            let record = HeapUpdateAway {
                new_page: PageId { rel: self.rel, block: new_block },
                new_slot,
                old_block: tid.block,
                old_slot: tid.slot,
                keys_updated: changes.keys,
                row,
            };
            let flags = if fresh { RECORD_INIT } else { 0 };
            self.unsee(&new)?;
            self.unsee(&old)?;
            buffer::log(room, own, flags, &record, [&mut new, &mut old], |[new, old]| {
                // The old page first: only there can the change still turn out not to fit.
                record.apply_old(own, old)?;
                record.apply_new(own, fresh, new)
            })?;
            HeapPageMut::new(old.volatile()).set_command(tid.slot, command.0, command.1)?;
            HeapPageMut::new(new.volatile()).set_command(new_slot, writer.snapshot.command, false)?;
            drop((old, new));
            search.accept(new_block);
            self.relations.changed(self.rel, updated(false))?;
            return Ok(Tried::Over(Outcome::Done { tid: Tid::new(new_block, new_slot), hot: false }));
        }
    }

    /// The command number for a version that the own transaction is about to end, and whether it is a pair's.
    pub(super) fn end_command(&self, page: &PageMut<'_>, slot: u16, writer: &mut Writer<'_>) -> Result<(u32, bool)> {
        let ended = writer.snapshot.command;
        let transactions = self.relations.transactions;
        let own = transactions.current_xid().unwrap_or(Xid(0));
        let version = view(page)?.and_then(|heap| heap.version(slot));
        // Made by an earlier command of this transaction: who looks must be able to tell both.
        match version.and_then(|version| transactions.own_command(&version, own, writer.pairs.pairs())) {
            Some(made) => Ok((writer.pairs.number((made, ended))?, true)),
            None => Ok((ended, false)),
        }
    }
}

/// The log room that an update of any kind takes at most.
fn room_for(row: &[u8]) -> usize {
    PRUNE_ROOM + (RECORD_HEADER_BYTES + 64 + row.len()).next_multiple_of(8)
}

/// A page that was found to have room has none: a bug of ours, told as damage.
#[cold]
fn no_room(page: &PageMut<'_>) -> base::Error {
    crate::page::misfit(page, format_args!("it was found to have room, type {:?}", header::page_type(page)))
}

/// One update, as it is counted.
fn updated(hot: bool) -> Changed {
    Changed { updated: u64::from(!hot), hot_updated: u64::from(hot), ..Changed::default() }
}
