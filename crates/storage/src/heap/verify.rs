//! A walk over a heap: for tests, and for who doubts.

use super::{Heap, view};
use crate::page::heap::Slot;
use crate::page::{self, damaged};
use base::{PageId, Result};

/// What a walk found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verified {
    /// Pages, new ones included.
    pub pages: u32,
    /// Row versions.
    pub versions: u64,
    /// Slots that index entries may point to and that have nothing.
    pub dead_slots: u64,
    /// Slots that lead to another one.
    pub redirects: u64,
}

impl Heap {
    /// Looks at every page of the heap. Errors: `XX001` with what contradicts, those of pinning.
    pub fn verify(&self) -> Result<Verified> {
        let mut found = Verified { pages: self.blocks()?, ..Verified::default() };
        for block in 0..found.pages {
            kernel::session::check_interrupts()?;
            let pinned = self.relations.pool.pin(PageId { rel: self.rel, block })?;
            let page = pinned.read();
            page::check(&page)?;
            let Some(heap) = view(&page)? else { continue };
            for slot in 0..heap.slot_count() {
                match heap.slot(slot) {
                    Slot::Normal(version) => {
                        found.versions += 1;
                        let next = version.next();
                        if next.block != page::NO_BLOCK && next.block >= found.pages && next.block >= self.blocks()? {
                            return Err(damaged(&page, format_args!("slot {slot} goes on in block {}", next.block)));
                        }
                    }
                    Slot::Redirect(_) => found.redirects += 1,
                    Slot::Dead => found.dead_slots += 1,
                    Slot::Unused => {}
                }
            }
        }
        Ok(found)
    }
}
