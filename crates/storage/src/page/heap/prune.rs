//! Pruning: versions that nobody can see go, chains become shorter, the free space becomes one piece.
//!
//! [`HeapPage::prune`] asks a judge about each version and writes what follows into a [`PrunePlan`];
//! [`HeapPageMut::prune_apply`] does what a plan says, at run time and at redo. The plan names slots only, so that the
//! result depends on the page and the plan and on nothing the judge knew.
//!
//! ```text
//! before   index -> [0]            after   index -> [0] redirect -> [5]
//!          [0] dead version -> [3]         [3] unused
//!          [3] dead version -> [5]         [5] visible version
//!          [5] visible version
//! ```
//!
//! Rules
//! 1. From a chain goes its longest beginning that is all [`Fate::Dead`] or [`Fate::Aborted`]. A dead version behind a
//!    kept one stays until that one goes: somebody may come past it on the way to its successors.
//! 2. From an [`Fate::Aborted`] version on, a chain is cut: the versions go, and the kept one before them is *revived*
//!    (its `xmax` aborted as well, and is forgotten).
//! 3. A root's slot becomes a redirect to what is left of its chain, or dead if nothing is; in a table without indexes
//!    ([`Roots::Forgotten`]) it becomes unused at once.
//! 4. A heap-only version that no chain reaches (its update aborted and another took its place) goes once it is dead.
//! 5. What is kept is packed in slot order at the end of the page. Everything is decided from page and plan, so redo
//!    writes the same bytes.
//!
//! The judge must be right about `Dead` and `Aborted`; [`Fate::Keep`] is always safe.

use super::super::header;
use super::super::raw::{put_u16, put_u64};
use super::super::{PAGE_SIZE, misfit};
use super::row::HEAP_ONLY;
use super::*;
use base::{Result, Xid};

/// What a judge says of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Somebody may see it, or nobody knows yet.
    Keep,
    /// Every snapshot, now and later, sees it: `xmin` committed long ago, and `xmax` is none or aborted.
    Visible,
    /// No snapshot, now or later, sees it: `xmax` committed long ago.
    Dead,
    /// `xmin` aborted: nobody ever saw it.
    Aborted,
}

impl Fate {
    fn goes(self) -> bool {
        matches!(self, Fate::Dead | Fate::Aborted)
    }
}

/// Whether index entries may point to the roots of a page's chains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Roots {
    /// The table has indexes: the slot of a root that goes becomes dead.
    Indexed,
    /// The table has none: the slot becomes unused.
    Forgotten,
}

/// What a prune does to a page, by slot, each list in ascending order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PrunePlan {
    /// The page's prune xid afterwards.
    pub prune_xid: Xid,
    /// Whether every version that is left is visible to every snapshot.
    pub all_visible: bool,
    /// Roots whose chain begins elsewhere afterwards: root, and the slot where it begins.
    pub redirects: Vec<(u16, u16)>,
    /// Roots of which nothing is left.
    pub dead: Vec<u16>,
    /// Slots that can be taken again.
    pub unused: Vec<u16>,
    /// Versions whose `xmax` aborted and is forgotten.
    pub revived: Vec<u16>,
}

impl PrunePlan {
    /// True when the plan gives no space back and changes no version: hardly worth a log record.
    pub fn is_empty(&self) -> bool {
        self.redirects.is_empty() && self.dead.is_empty() && self.unused.is_empty() && self.revived.is_empty()
    }

    fn clear(&mut self) {
        self.redirects.clear();
        self.dead.clear();
        self.unused.clear();
        self.revived.clear();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    None,
    Redirect(u16),
    Dead,
    Unused,
    Revive,
}

/// What is known about the page's slots while a plan is made.
struct Survey {
    fates: [Fate; MAX_SLOTS],
    /// In a chain that has been walked; also stops a walk in a circle.
    walked: [bool; MAX_SLOTS],
    actions: [Action; MAX_SLOTS],
    /// The slots of the chain at hand.
    chain: [u16; MAX_SLOTS],
}

impl HeapPage<'_> {
    /// Plans a prune: asks `judge` once about every version, in slot order, and replaces what `plan` held.
    pub fn prune(self, roots: Roots, mut judge: impl FnMut(&Version<'_>) -> Fate, plan: &mut PrunePlan) {
        let mut survey = Survey {
            fates: [Fate::Keep; MAX_SLOTS],
            walked: [false; MAX_SLOTS],
            actions: [Action::None; MAX_SLOTS],
            chain: [0; MAX_SLOTS],
        };
        for (slot, version) in self.versions() {
            survey.fates[slot as usize] = judge(&version);
        }
        let mut any_dead = false;
        for slot in 0..self.slot_count() {
            match self.slot(slot) {
                Slot::Normal(version) if !version.has(HEAP_ONLY) => self.prune_chain(slot, slot, roots, &mut survey),
                Slot::Redirect(first) => self.prune_chain(slot, first, roots, &mut survey),
                Slot::Dead => any_dead = true,
                Slot::Normal(_) | Slot::Unused => {}
            }
        }
        plan.clear();
        plan.all_visible = !any_dead;
        let mut oldest = 0;
        for slot in 0..self.slot_count() {
            let at = slot as usize;
            let version = self.version(slot);
            if let Some(version) = version.filter(|_| survey.actions[at] == Action::None) {
                let ended = version.xmax().0 != 0;
                if !survey.walked[at] && survey.fates[at].goes() {
                    survey.actions[at] = Action::Unused;
                } else if ended && survey.fates[at] == Fate::Visible {
                    survey.actions[at] = Action::Revive;
                } else if ended && (oldest == 0 || version.xmax().0 < oldest) {
                    oldest = version.xmax().0;
                }
            }
            let stays = version.is_some() && matches!(survey.actions[at], Action::None | Action::Revive);
            plan.all_visible &= !stays || survey.fates[at] == Fate::Visible;
            match survey.actions[at] {
                Action::None => {}
                Action::Redirect(to) => plan.redirects.push((slot, to)),
                Action::Dead => {
                    plan.dead.push(slot);
                    plan.all_visible = false;
                }
                Action::Unused => plan.unused.push(slot),
                Action::Revive => plan.revived.push(slot),
            }
        }
        plan.prune_xid = Xid(oldest);
    }

    /// Decides about the chain that indexes know under `root` and that begins in `first`.
    fn prune_chain(self, root: u16, first: u16, roots: Roots, survey: &mut Survey) {
        let Survey { fates, walked, actions, chain } = survey;
        let mut links = 0;
        let mut at = self.version(first).map(|version| (first, version));
        while let Some((slot, version)) = at {
            if std::mem::replace(&mut walked[slot as usize], true) {
                break;
            }
            chain[links] = slot;
            links += 1;
            at = self.chain_next(&version);
        }
        let chain = &chain[..links];
        let fate = |slot: u16| fates[slot as usize];
        let gone = chain.iter().position(|&slot| !fate(slot).goes()).unwrap_or(links);
        for &slot in &chain[..gone] {
            actions[slot as usize] = Action::Unused;
        }
        if gone == links {
            actions[root as usize] = if roots == Roots::Indexed { Action::Dead } else { Action::Unused };
            return;
        }
        if gone > 0 {
            actions[root as usize] = Action::Redirect(chain[gone]);
        }
        // A dead version before an aborted one would be a judge that contradicts itself: nothing is cut there.
        let cut = (gone + 1..links).find(|&link| fate(chain[link]) == Fate::Aborted);
        if let Some(cut) = cut.filter(|&cut| !fate(chain[cut - 1]).goes()) {
            for &slot in chain[cut..].iter().filter(|&&slot| fate(slot).goes()) {
                actions[slot as usize] = Action::Unused;
            }
            actions[chain[cut - 1] as usize] = Action::Revive;
        }
    }
}

impl HeapPageMut<'_> {
    /// Does what a plan says.
    pub fn prune_apply(&mut self, plan: &PrunePlan) -> Result<()> {
        self.plan_fits(plan)?;
        for &slot in &plan.revived {
            let at = self.normal(slot)?;
            self.revive(at);
        }
        for &(root, to) in &plan.redirects {
            self.put_word(root, Word::redirect(to));
        }
        for &slot in &plan.dead {
            self.put_word(slot, Word::DEAD);
        }
        for &slot in &plan.unused {
            self.put_word(slot, Word::UNUSED);
        }
        put_u64(self.page, PRUNE_XID, plan.prune_xid.0);
        let flags = header::flags(self.page) & !ALL_VISIBLE;
        header::set_flags(self.page, flags | if plan.all_visible { ALL_VISIBLE } else { 0 });
        if !plan.redirects.is_empty() || !plan.dead.is_empty() || !plan.unused.is_empty() {
            self.count_slots();
            self.pack();
        }
        Ok(())
    }

    /// Refuses a plan that was made for another state of the page.
    fn plan_fits(&self, plan: &PrunePlan) -> Result<()> {
        let view = self.view();
        let kind = |slot: u16| view.word(slot).kind();
        let is_root = |slot: u16| match view.slot(slot) {
            Slot::Normal(version) => !version.has(HEAP_ONLY),
            Slot::Redirect(_) => true,
            Slot::Unused | Slot::Dead => false,
        };
        let misplaced = plan
            .redirects
            .iter()
            .find(|(root, to)| !is_root(*root) || !view.version(*to).is_some_and(|version| version.has(HEAP_ONLY)))
            .map(|(root, _)| *root)
            .or_else(|| plan.dead.iter().copied().find(|&slot| !is_root(slot)))
            .or_else(|| plan.unused.iter().copied().find(|&slot| !matches!(kind(slot), SLOT_NORMAL | SLOT_REDIRECT)))
            .or_else(|| {
                let ended = |slot: u16| view.version(slot).is_some_and(|version| version.xmax().0 != 0);
                plan.revived.iter().copied().find(|&slot| !ended(slot))
            });
        match misplaced {
            Some(slot) => Err(misfit(self.page, format_args!("slot {slot} is not what the prune plan says"))),
            None => Ok(()),
        }
    }

    /// Packs the rows at the end of the page, in slot order, and blanks what becomes free.
    fn pack(&mut self) {
        let old = *self.page;
        let mut upper = PAGE_SIZE;
        for slot in 0..self.view().slot_count() {
            let word = self.view().word(slot);
            if word.kind() == SLOT_NORMAL {
                let bytes = word.len().next_multiple_of(ROW_ALIGN);
                upper -= bytes;
                self.page[upper..upper + bytes].copy_from_slice(&old[word.offset()..word.offset() + bytes]);
                self.put_word(slot, Word::normal(upper, word.len()));
            }
        }
        put_u16(self.page, UPPER, upper as u16);
        let lower = word_at(self.view().slot_count());
        self.page[lower..upper].fill(0);
    }
}
