//! A page for a new row version, or for a new part of an index.
//!
//! ```text
//!   the session's target --full--> the map of free space: --nothing--> pages that nobody has
//!                          ^       room for two rows, then             looked at since the start,
//!                          |       room for one                        a few at a time
//!                          |                                                  | none
//!                          |                                                  v
//!                          |                    new blocks <--nothing-- some pages are pruned (heap)
//!                          \---- each page that has no room is noted as what it is
//! ```
//!
//! The caller latches what it is given, looks for itself, and asks again if there is too little room; every refusal makes
//! the map better, so the search ends. After a start the map is empty. It fills as pages are looked at: by inserts, which
//! look at a few old pages before they add a new one, by who prunes a page, and by vacuum.
//!
//! Why room for two rows comes first: a page whose rows are updated needs some room of its own, or each update leaves it for another
//! page. Who takes from those that have most leaves all of them about the same, and what there is lasts. Only when no page has more than
//! it needs the rest is used.
//!
//! Why pages are pruned before a table grows: one whose rows have all gone elsewhere may have no visitors who would find out, since a
//! search in a unique index ends at the row that is there. So a table that is updated, and nothing else, stops growing.
//!
//! Rules
//! 1. Nothing here is called with a latch held: extending a file takes time, and the map's latch comes before pages'.
//! 2. Blocks are added in runs that grow with the relation, or one by one for updates; what is not used at once is noted as free.
//! 3. A bulk load keeps its run to itself until it ends, and fills pages in order.

use super::Relations;
use super::row::Row;
use crate::buffer::Pinned;
use crate::page::header::{self, PageType};
use crate::page::heap::{HEAP_HEADER_BYTES, HeapPage, MAX_SLOTS, SLOT_BYTES, footprint};
use crate::page::{PAGE_SIZE, PageBytes};
use base::{PageId, RelId, Result};
use kernel::session;

/// Bytes of a size class of free space.
const CLASS_BYTES: usize = 32;
/// The class of an empty heap page: the most that there is.
const CLASS_EMPTY: u8 = ((PAGE_SIZE - HEAP_HEADER_BYTES) / CLASS_BYTES) as u8;
/// The byte of a block of an index that is in no tree.
const FREE_BLOCK: u8 = u8::MAX;
/// How many pages an insert looks at that nobody has looked at since the start, before it adds one.
const PROBES: u32 = 8;
/// How often a search believes the map before it adds blocks.
const TRIES_MAX: u32 = 16;
/// A relation grows by so much at most: one in 64 of its blocks, but not many.
const GROWTH_SHARE: u32 = 64;
const GROWTH_MAX: u32 = 16;
/// How many blocks a bulk load takes at once, at first and at most.
const BULK_MIN: u32 = 8;
const BULK_MAX: u32 = 128;

/// One search for a page with room.
pub(crate) struct Search {
    rel: RelId,
    row: &'static Row,
    /// What a page has to have, and what it should have.
    class: u8,
    wanted: u8,
    tries: u32,
    target_tried: bool,
    avoid: Option<u32>,
}

/// A bulk load's own blocks. What is left of them is noted as free when it ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bulk {
    /// The page that is being filled, counted from one.
    current: u32,
    next: u32,
    end: u32,
    batch: u32,
}

impl Bulk {
    /// The page that is being filled takes no more.
    pub(crate) fn page_is_full(&mut self) {
        self.current = 0;
    }
}

/// The class that a page needs for a row of `row_bytes` with `reserve` bytes left free.
fn class_for(row_bytes: usize, reserve: usize) -> u8 {
    let need = footprint(row_bytes) + SLOT_BYTES + reserve;
    need.div_ceil(CLASS_BYTES).min(CLASS_EMPTY as usize) as u8
}

/// The class of a heap page, or of a new one.
fn class_of(page: &PageBytes) -> u8 {
    if header::page_type(page) != Some(PageType::Heap) {
        return if header::is_new(page) { CLASS_EMPTY } else { 0 };
    }
    let view = HeapPage::new(page);
    if view.unused_count() == 0 && view.slot_count() as usize >= MAX_SLOTS {
        return 0;
    }
    (view.hole() / CLASS_BYTES).min(CLASS_EMPTY as usize) as u8
}

impl Search {
    /// Where the search was sent had too little room: takes note.
    pub(crate) fn refuse(&mut self, relations: &Relations, block: u32, page_class: PageClass) {
        relations.note_class(self.row, block, page_class);
        let me = session::current_id().0;
        if self.row.target(me) == Some(block) {
            self.row.set_target(me, None);
        }
    }

    /// The search has ended on a block: the session's next insert begins there.
    #[inline]
    pub(crate) fn accept(&self, block: u32) {
        let me = session::current_id().0;
        if self.row.target(me) != Some(block) {
            self.row.set_target(me, Some(block));
        }
    }
}

/// How much room a page has, as the map notes it. Made under the page's latch, noted when that is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageClass(u8);

impl PageClass {
    pub(crate) fn of(page: &PageBytes) -> PageClass {
        PageClass(class_of(page))
    }
}

impl Relations {
    /// Begins a search for a page with room for a row, with `reserve` bytes to be left free for updates; never block `avoid`.
    pub(crate) fn search(&self, rel: RelId, row_bytes: usize, reserve: usize, avoid: Option<u32>) -> Result<Search> {
        let row = self.row(rel)?;
        let class = class_for(row_bytes, reserve);
        let wanted = class_for(row_bytes, reserve + footprint(row_bytes) + SLOT_BYTES);
        Ok(Search { rel, row, class, wanted, tries: 0, target_tried: false, avoid })
    }

    /// The next page to try, pinned; none if the relation would have to grow. Errors: those of pinning.
    pub(crate) fn place(&self, search: &mut Search) -> Result<Option<Pinned>> {
        let Some(block) = self.find_place(search)? else { return Ok(None) };
        self.pool.pin(PageId { rel: search.rel, block }).map(Some)
    }

    /// A block that may have room; none if blocks should be added.
    fn find_place(&self, search: &mut Search) -> Result<Option<u32>> {
        let (rel, row) = (search.rel, search.row);
        let me = session::current_id().0;
        let blocks = self.files.blocks(rel)?;
        let usable = |block: u32| block < blocks && Some(block) != search.avoid;
        if !std::mem::replace(&mut search.target_tried, true)
            && let Some(block) = row.target(me).filter(|&block| usable(block))
        {
            return Ok(Some(block));
        }
        while search.tries < TRIES_MAX {
            search.tries += 1;
            // Sessions begin in different parts, so that they do not all choose the same page.
            let from = if blocks > 1 { me.wrapping_mul(0x9E37_79B9) % blocks } else { 0 };
            let find = |class| self.space.find(&row.space, class, from);
            match find(search.wanted).or_else(|| find(search.class)) {
                Some(block) if usable(block) => return Ok(Some(block)),
                // The page that is to be avoided will be noted again when its turn comes.
                Some(block) => self.space.set(&row.space, &row.latch, block, 0),
                None => break,
            }
        }
        if search.tries < TRIES_MAX {
            return self.probe(search);
        }
        Ok(None)
    }

    /// Looks at a few pages that nobody has looked at since the start.
    fn probe(&self, search: &Search) -> Result<Option<u32>> {
        let row = search.row;
        for _ in 0..PROBES {
            let Some(block) = row.take_unseen() else { return Ok(None) };
            let class = class_of(&self.pool.pin(PageId { rel: search.rel, block })?.read());
            self.space.set(&row.space, &row.latch, block, class);
            if class >= search.class && Some(block) != search.avoid {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// Makes the relation longer; answers the first new page, pinned. Errors: those of pinning, `53100`, `54000`.
    pub(crate) fn grow(&self, search: &Search) -> Result<Pinned> {
        let row = search.row;
        let blocks = self.files.blocks(search.rel)?;
        // Updates seldom need a page, and then one; who adds rows will go on.
        let count = if search.avoid.is_some() { 1 } else { (blocks / GROWTH_SHARE).clamp(1, GROWTH_MAX) };
        let first = self.files.extend(search.rel, count)?;
        for block in first + 1..first + count {
            self.space.set(&row.space, &row.latch, block, CLASS_EMPTY);
        }
        self.pool.pin_fresh(PageId { rel: search.rel, block: first })
    }

    fn note_class(&self, row: &'static Row, block: u32, class: PageClass) {
        self.space.set(&row.space, &row.latch, block, class.0);
    }

    /// Notes how much room a page has. No latch is held.
    pub(crate) fn note_room(&self, row: &'static Row, block: u32, class: PageClass) {
        self.note_class(row, block, class);
    }

    /// Says that every block has been looked at.
    pub(crate) fn all_seen(&self, row: &Row) {
        row.all_seen();
    }

    // ---- bulk loads

    /// The page that a bulk load fills, pinned: nobody else is sent there.
    pub(crate) fn place_bulk(&self, rel: RelId, bulk: &mut Bulk) -> Result<Pinned> {
        if let Some(block) = bulk.current.checked_sub(1) {
            return self.pool.pin(PageId { rel, block });
        }
        let row = self.row(rel)?;
        if bulk.next == bulk.end {
            // Empty pages that others have left, one by one, before the relation grows.
            let blocks = self.files.blocks(rel)?;
            while let Some(block) = self.space.find(&row.space, CLASS_EMPTY, 0) {
                if self.space.take(&row.space, block) && block < blocks {
                    bulk.current = block + 1;
                    return self.pool.pin(PageId { rel, block });
                }
            }
            bulk.batch = (bulk.batch * 2).clamp(BULK_MIN, BULK_MAX);
            bulk.next = self.files.extend(rel, bulk.batch)?;
            bulk.end = bulk.next + bulk.batch;
        }
        let block = bulk.next;
        let pinned = self.pool.pin_fresh(PageId { rel, block })?;
        bulk.next += 1;
        bulk.current = block + 1;
        Ok(pinned)
    }

    /// Ends a bulk load: what it did not use may be used by others.
    pub(crate) fn end_bulk(&self, rel: RelId, bulk: &mut Bulk) -> Result<()> {
        let row = self.row(rel)?;
        for block in bulk.next..bulk.end {
            self.space.set(&row.space, &row.latch, block, CLASS_EMPTY);
        }
        let current = std::mem::take(bulk).current;
        if let Some(block) = current.checked_sub(1) {
            let class = class_of(&self.pool.pin(PageId { rel, block })?.read());
            self.space.set(&row.space, &row.latch, block, class);
        }
        Ok(())
    }

    // ---- blocks of an index

    /// A block that may be free, for the caller alone; none if nobody knows of one. The caller looks at its page.
    pub(crate) fn take_free_block(&self, rel: RelId) -> Result<Option<u32>> {
        let row = self.row(rel)?;
        let blocks = self.files.blocks(rel)?;
        while let Some(block) = self.space.find(&row.space, FREE_BLOCK, 0) {
            if self.space.take(&row.space, block) && block < blocks {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// A block that nobody has looked at since the start; none if there is none left.
    pub(crate) fn take_unseen_block(&self, rel: RelId) -> Result<Option<u32>> {
        Ok(self.row(rel)?.take_unseen())
    }

    /// Says that a block of an index is in no tree.
    pub(crate) fn note_free_block(&self, rel: RelId, block: u32) -> Result<()> {
        let row = self.row(rel)?;
        self.space.set(&row.space, &row.latch, block, FREE_BLOCK);
        Ok(())
    }

    /// A new block of an index.
    pub(crate) fn add_block(&self, rel: RelId) -> Result<u32> {
        // The row first: it has to know which blocks are old.
        self.row(rel)?;
        self.files.extend(rel, 1)
    }

    /// Forgets what is known of blocks from `first` on, which are cut off.
    pub(super) fn cut(&self, row: &Row, first: u32) {
        row.cut(first);
        self.space.clear_from(&row.space, first);
        self.space.clear_from(&row.seen, first);
    }
}
