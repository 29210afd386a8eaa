//! Deletes.

use super::claim::{Outcome, Queue, Verdict, identity};
use super::lock::RowWait;
use super::{Heap, Writer, view};
use crate::buffer;
use crate::page::Tid;
use crate::page::heap::HeapPageMut;
use crate::relation::counts::Changed;
use crate::txn::Strength;
use crate::wal::record::HeapDelete;
use crate::wal::space::record_bytes;
use base::{PageId, Result};

impl Heap {
    /// Deletes the version at `tid`, which the writer's snapshot sees or which an earlier call answered with
    /// [`Outcome::Changed`]. Index entries stay until vacuum takes them.
    ///
    /// Errors: `40001`, `40P01`, `57014`, `55P03`, those of pinning.
    pub fn delete(&self, writer: &mut Writer<'_>, tid: Tid) -> Result<Outcome> {
        let own = self.relations.transactions.xid()?;
        let mut queue = Queue::new(self.relations.transactions);
        let record = HeapDelete { page: PageId { rel: self.rel, block: tid.block }, slot: tid.slot };
        loop {
            let mut room = self.relations.wal.reserve(record_bytes(&record))?;
            let pinned = self.relations.pool.pin(self.page_of(tid))?;
            let mut page = pinned.write();
            if view(&page)?.is_none() {
                return Ok(Outcome::Gone);
            }
            match self.verdict(&page, tid.slot, writer, Strength::Update, true) {
                Verdict::Free => {
                    let command = self.end_command(&page, tid.slot, writer)?;
                    self.unsee(&page)?;
                    buffer::log(&mut room, own, 0, &record, [&mut page], |[bytes]| record.apply(own, bytes))?;
                    HeapPageMut::new(page.volatile()).set_command(tid.slot, command.0, command.1)?;
                    drop(page);
                    self.relations.changed(self.rel, Changed { deleted: 1, ..Changed::default() })?;
                    return Ok(Outcome::Done { tid, hot: true });
                }
                Verdict::Wait(xid) => {
                    let identity = identity(&page, tid.slot);
                    drop((page, room));
                    drop(pinned);
                    self.wait_in_turn(&mut queue, identity, xid, writer)?;
                }
                Verdict::Ended(xid, next) => {
                    drop((page, room));
                    drop(pinned);
                    return self.superseded(writer, (xid, next), Strength::Update, RowWait::Wait, &mut queue);
                }
                Verdict::Own(command) => return Ok(Outcome::Own(command)),
                Verdict::Gone => return Ok(Outcome::Gone),
            }
        }
    }
}
