//! The rows that live now: what a new index is made from.
//!
//! No snapshot is used. A row that was committed a moment ago has to be in the index, and one that was deleted must not make a
//! unique index fail. An entry names the root of the row's chain, which is where every other index has the row too.
//!
//! A lock that writers' locks conflict with is held, so that nobody is in the middle of a change. Snapshots that are older than the
//! index may want versions that are not in it: who plans a statement leaves an index alone that is younger than its
//! snapshot.

use super::{Heap, Scan, view};
use crate::page::Tid;
use crate::page::heap::row::{HEAP_ONLY, XMAX_ABORTED, XMAX_COMMITTED, XMIN_ABORTED, XMIN_COMMITTED};
use crate::page::heap::{Slot, Version};
use crate::txn::Status;
use base::{Result, Xid};

impl Heap {
    /// Visits the rows that live on the scan's next page, each with the root of its chain, under the page's latch (rule 3 of
    /// [`super`]). False at the end.
    ///
    /// Errors: those of pinning; `57014`.
    pub fn visit_live(&self, scan: &mut Scan, mut visit: impl FnMut(Tid, &[u8])) -> Result<bool> {
        kernel::session::check_interrupts()?;
        let Some((block, pinned)) = self.pin_next(scan)? else { return Ok(false) };
        let own = self.relations.transactions.current_xid().unwrap_or(Xid(0));
        let page = pinned.read();
        let Some(heap) = view(&page)? else { return Ok(true) };
        for root in 0..heap.slot_count() {
            let is_root = match heap.slot(root) {
                Slot::Redirect(_) => true,
                Slot::Normal(version) => !version.has(HEAP_ONLY),
                Slot::Unused | Slot::Dead => false,
            };
            let mut at = if is_root { heap.chain(root) } else { None };
            let mut left = heap.slot_count();
            while let Some((_, version)) = at.filter(|_| left > 0) {
                if self.lives(&version, own) {
                    visit(Tid::new(block, root), version.row());
                    break;
                }
                left -= 1;
                at = heap.chain_next(&version);
            }
        }
        Ok(true)
    }

    fn lives(&self, version: &Version<'_>, own: Xid) -> bool {
        let flags = version.flags();
        let committed = |xid: Xid, yes: u16, no: u16| {
            flags & yes != 0
                || (flags & no == 0
                    && (self.relations.transactions.is_own(xid, own)
                        || matches!(self.relations.transactions.status(xid), Status::Committed(_) | Status::Ancient)))
        };
        let ended = version.xmax().0 != 0 && committed(version.xmax(), XMAX_COMMITTED, XMAX_ABORTED);
        !ended && committed(version.xmin(), XMIN_COMMITTED, XMIN_ABORTED)
    }
}
