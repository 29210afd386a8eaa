//! Unique indexes: is there a row with the key that lives, or may live?
//!
//! Old versions leave entries with the same key behind, so equal keys alone say nothing. The chain behind each entry is looked
//! at as no snapshot sees it: what has committed counts, whenever it did, and what a transaction is still doing has to be
//! waited for. A commit counts when it is durable; until then its transaction runs, as for everybody else.
//!
//! | the version's maker | the version's ender | |
//! |---|---|---|
//! | aborted | | no row |
//! | another one that runs | | wait for it |
//! | committed, or the own transaction | none, or aborted | a duplicate |
//! | | another one that runs | wait for it |
//! | | committed, or the own transaction | no row; the next version of the chain |

use super::{Btree, tree_page};
use crate::heap::Heap;
use crate::page::btree::BtreePage;
use crate::page::header::{self, PageType};
use crate::page::heap::row::{XMAX_ABORTED, XMAX_COMMITTED, XMIN_COMMITTED};
use crate::page::heap::{HeapPage, Version};
use crate::page::{NO_BLOCK, Tid};
use crate::txn::Ended;
use base::{PageId, Result, Xid};
use kernel::clock::Nanos;

/// Whether a key may be entered twice.
#[derive(Clone, Copy)]
pub enum Unique<'a> {
    /// As often as one likes.
    No,
    /// Only once, as far as rows of this heap live.
    Check(&'a Heap),
}

/// Whether several live rows have one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Twins {
    /// One row at most has it.
    No,
    /// Two have.
    Yes,
    /// That depends on what this transaction does.
    Undecided(Xid),
}

/// What a look at a key's rows says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Live {
    /// No row has the key.
    No,
    /// This one has.
    Yes(Tid),
    /// That depends on what this transaction does.
    Undecided(Xid),
}

impl Btree {
    /// Have several live rows the key? Waits for nobody.
    ///
    /// Who enters a key that may be there already, and looks afterwards, is seen by whoever does the same at the same time, or sees him.
    ///
    /// Errors: those of pinning, `XX002`.
    pub fn twins(&self, key: &[u8], heap: &Heap) -> Result<Twins> {
        let (mut rows, mut undecided) = (0, None);
        let mut right =
            self.at_leaf((key, Tid::MIN), |_, view| self.count_live(view, heap, key, &mut rows, &mut undecided))??;
        while let Some(block) = right.filter(|_| rows < 2) {
            let page = self.read(block)?;
            right = self.count_live(tree_page(&page)?, heap, key, &mut rows, &mut undecided)?;
        }
        Ok(match (rows, undecided) {
            (2.., _) => Twins::Yes,
            (1, Some(xid)) => Twins::Undecided(xid),
            _ => Twins::No,
        })
    }

    /// The same, once all transactions have ended on which that depends.
    ///
    /// Errors: `40P01`, `57014`, `55P03`, those of pinning, `XX002`.
    pub fn has_twins(&self, key: &[u8], heap: &Heap, deadline: Option<Nanos>) -> Result<bool> {
        loop {
            match self.twins(key, heap)? {
                Twins::No => return Ok(false),
                Twins::Yes => return Ok(true),
                Twins::Undecided(xid) => drop(self.relations.transactions.wait_for(xid, deadline)?),
            }
        }
    }

    /// Counts the live rows of a leaf that have the key; answers the right neighbour, if entries of the key may go on there.
    fn count_live(
        &self,
        page: BtreePage<'_>,
        heap: &Heap,
        key: &[u8],
        rows: &mut u32,
        undecided: &mut Option<Xid>,
    ) -> Result<Option<u32>> {
        if !page.is_ignored() {
            for position in page.lower_bound(key, Tid::MIN)..page.count() {
                if page.key(position) != key || *rows >= 2 {
                    return Ok(None);
                }
                if page.is_killed(position) {
                    continue;
                }
                match self.row_lives(heap, page.tid(position))? {
                    Live::No => {}
                    Live::Yes(_) => *rows += 1,
                    Live::Undecided(xid) => *undecided = Some(xid),
                }
            }
        }
        let goes_on = page.is_ignored() || page.high_key().is_some_and(|(high, _)| high <= key);
        Ok(Some(page.right()).filter(|&right| goes_on && right != NO_BLOCK))
    }

    /// Looks for a live row with the key, from the first leaf on that could have it, which the caller keeps latched.
    pub(super) fn find_live(&self, first: BtreePage<'_>, heap: &Heap, key: &[u8]) -> Result<Live> {
        let mut right = match self.find_live_on(first, heap, key)? {
            (Live::No, Some(right)) => right,
            (live, _) => return Ok(live),
        };
        loop {
            let page = self.read(right)?;
            let view = tree_page(&page)?;
            right = match self.find_live_on(view, heap, key)? {
                (Live::No, Some(right)) => right,
                (live, _) => return Ok(live),
            };
        }
    }

    /// The same on one leaf; with the right neighbour, if entries of the key may go on there.
    fn find_live_on(&self, page: BtreePage<'_>, heap: &Heap, key: &[u8]) -> Result<(Live, Option<u32>)> {
        if !page.is_ignored() {
            for position in page.lower_bound(key, Tid::MIN)..page.count() {
                if page.key(position) != key {
                    return Ok((Live::No, None));
                }
                if page.is_killed(position) {
                    continue;
                }
                let live = self.row_lives(heap, page.tid(position))?;
                if live != Live::No {
                    return Ok((live, None));
                }
            }
        }
        let goes_on = page.is_ignored() || page.high_key().is_some_and(|(high, _)| high <= key);
        Ok((Live::No, Some(page.right()).filter(|&right| goes_on && right != NO_BLOCK)))
    }

    /// Whether a version of the chain under `root` lives.
    fn row_lives(&self, heap: &Heap, root: Tid) -> Result<Live> {
        let page = self.relations.pool.read(PageId { rel: heap.rel(), block: root.block })?;
        if header::page_type(&page) != Some(PageType::Heap) {
            return Ok(Live::No);
        }
        let view = HeapPage::new(&page);
        let mut at = view.chain(root.slot);
        let mut steps = 0;
        while let Some((slot, version)) = at.filter(|_| steps <= view.slot_count()) {
            match self.version_lives(&version) {
                Live::Yes(_) => return Ok(Live::Yes(Tid::new(root.block, slot))),
                Live::Undecided(xid) => return Ok(Live::Undecided(xid)),
                Live::No => {}
            }
            steps += 1;
            at = view.chain_next(&version);
        }
        Ok(Live::No)
    }

    fn version_lives(&self, version: &Version<'_>) -> Live {
        let transactions = self.relations.transactions;
        let flags = version.flags();
        let (xmin, xmax) = (version.xmin(), version.xmax());
        if flags & XMIN_COMMITTED == 0 && !transactions.is_mine(xmin) {
            match transactions.ended(xmin) {
                Some(Ended::Aborted) => return Live::No,
                None => return Live::Undecided(xmin),
                Some(Ended::Committed) => {}
            }
        }
        if xmax.0 == 0 || flags & XMAX_ABORTED != 0 {
            return Live::Yes(Tid::NONE);
        }
        if flags & XMAX_COMMITTED != 0 || transactions.is_mine(xmax) {
            return Live::No;
        }
        match transactions.ended(xmax) {
            Some(Ended::Aborted) => Live::Yes(Tid::NONE),
            None => Live::Undecided(xmax),
            Some(Ended::Committed) => Live::No,
        }
    }
}
