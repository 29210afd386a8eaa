//! A heap page against a model that keeps every committed change, through log records, with a twin that sees redo only.

use super::row::*;
use super::*;
use crate::page::{Tid, check, header, mask};
use crate::wal::record::{
    Body, HeapDelete, HeapInsert, HeapMultiInsert, HeapPrune, HeapReclaim, HeapUpdate, HeapUpdateAway, Parsed, Record,
    encode, parse,
};
use base::{Lsn, PageId, RelId};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const ID: PageId = PageId { rel: RelId(5), block: 3 };
const EPOCH: u32 = 2;

fn empty() -> PageBytes {
    let mut page = [0; PAGE_SIZE];
    HeapPageMut::format(&mut page, ID);
    page
}

/// Applies a record to `page`, and to `twin` after it went through the log's bytes.
fn log(page: &mut PageBytes, twin: &mut PageBytes, nth: usize, xid: Xid, body: Body<'_>) {
    let mut bytes = Vec::new();
    let draft = encode(&mut bytes, xid, 1, 0, &body);
    let at = Lsn(header::lsn(page).0.next_multiple_of(8));
    draft.seal(&mut bytes, at, None);
    let record = Record { xid, init: false, body };
    record.apply(nth, page).unwrap();
    let Parsed::Record(raw) = parse(&bytes, at, 1) else { panic!("the record cannot be read again") };
    header::set_lsn(page, raw.end);
    let read = raw.decode().unwrap();
    assert_eq!(read, record);
    assert!(read.redo(nth, raw.end, twin).unwrap());
    assert!(!read.redo(nth, raw.end, twin).unwrap(), "a record is redone once");
}

/// What committed transactions made of a row: the transaction, and the row's bytes unless it is gone.
type History = Vec<(u64, Option<Vec<u8>>)>;

/// One page, its twin, and what every snapshot must see on it.
struct Model {
    page: PageBytes,
    twin: PageBytes,
    next_xid: u64,
    aborted: BTreeSet<u64>,
    /// No snapshot is older.
    horizon: u64,
    /// By root slot.
    rows: BTreeMap<u16, History>,
}

impl Model {
    fn new() -> Model {
        Model { page: empty(), twin: empty(), next_xid: 1, aborted: BTreeSet::new(), horizon: 1, rows: BTreeMap::new() }
    }

    fn view(&self) -> HeapPage<'_> {
        HeapPage::new(&self.page)
    }

    fn log(&mut self, nth: usize, xid: u64, body: Body<'_>) {
        log(&mut self.page, &mut self.twin, nth, Xid(xid), body);
    }

    fn begin(&mut self, commits: bool) -> u64 {
        let xid = self.next_xid;
        self.next_xid += 1;
        if !commits {
            self.aborted.insert(xid);
        }
        xid
    }

    fn committed_before(&self, xid: Xid, snapshot: u64) -> bool {
        xid.0 != 0 && xid.0 < snapshot && !self.aborted.contains(&xid.0)
    }

    /// What an index scan that comes to `root` finds.
    fn look_up(&self, root: u16, snapshot: u64) -> Option<Vec<u8>> {
        let view = self.view();
        let mut at = view.chain(root);
        while let Some((_, version)) = at {
            if self.committed_before(version.xmin(), snapshot) && !self.committed_before(version.xmax(), snapshot) {
                return Some(version.row().to_vec());
            }
            at = view.chain_next(&version);
        }
        None
    }

    /// The slot and bytes of the version of a row that an update would take, if the row is there.
    fn newest(&self, pick: usize) -> Option<(u16, u16, Vec<u8>)> {
        let roots: Vec<u16> = self.rows.keys().copied().collect();
        let root = *roots.get(pick % roots.len().max(1))?;
        let view = self.view();
        let mut at = view.chain(root);
        while let Some((slot, version)) = at {
            let made = self.committed_before(version.xmin(), self.next_xid);
            if made && !self.committed_before(version.xmax(), self.next_xid) {
                return Some((root, slot, version.row().to_vec()));
            }
            at = view.chain_next(&version);
        }
        None
    }

    fn insert(&mut self, row: &[u8], commits: bool) {
        let Some(slot) = self.view().vacant_slot().filter(|_| self.view().fits(row.len(), 0)) else { return };
        let xid = self.begin(commits);
        self.log(0, xid, Body::HeapInsert(HeapInsert { page: ID, slot, row }));
        self.rows.insert(slot, if commits { vec![(xid, Some(row.to_vec()))] } else { vec![] });
    }

    fn insert_two(&mut self, row: &[u8]) {
        let Some(first) = self.view().vacant_slot() else { return };
        let second = (first + 1..=self.view().slot_count().max(first + 1))
            .find(|&slot| matches!(self.view().slot(slot), Slot::Unused) && (slot as usize) < MAX_SLOTS);
        let Some(second) = second.filter(|_| self.view().fits(2 * footprint(row.len()) + 2 * SLOT_BYTES, 0)) else {
            return;
        };
        let xid = self.begin(true);
        let rows = vec![(first, row), (second, &row[row.len() / 2..])];
        self.log(0, xid, Body::HeapMultiInsert(HeapMultiInsert { page: ID, rows }));
        self.rows.insert(first, vec![(xid, Some(row.to_vec()))]);
        self.rows.insert(second, vec![(xid, Some(row[row.len() / 2..].to_vec()))]);
    }

    fn update(&mut self, pick: usize, row: &[u8], hot: bool, commits: bool) {
        let Some((root, old_slot, old)) = self.newest(pick) else { return };
        // Most updates change a part of the row.
        let mut new = old.clone();
        let from = if new.is_empty() { 0 } else { pick % new.len() };
        new.splice(from..(from + row.len() / 4).min(old.len()), row.iter().copied());
        let Some(new_slot) = self.view().vacant_slot().filter(|_| self.view().fits(new.len(), 0)) else { return };
        let xid = self.begin(commits);
        let delta = RowDelta::between(&old, &new);
        let body = HeapUpdate { page: ID, old_slot, new_slot, hot, keys_updated: !hot, delta };
        self.log(0, xid, Body::HeapUpdate(body));
        if hot {
            if commits {
                self.rows.get_mut(&root).unwrap().push((xid, Some(new)));
            }
        } else {
            self.rows.insert(new_slot, if commits { vec![(xid, Some(new))] } else { vec![] });
            if commits {
                self.rows.get_mut(&root).unwrap().push((xid, None));
            }
        }
    }

    fn end(&mut self, pick: usize, moves: bool, commits: bool) {
        let Some((root, slot, _)) = self.newest(pick) else { return };
        let xid = self.begin(commits);
        if moves {
            let body = HeapUpdateAway {
                new_page: PageId { block: 9, ..ID },
                new_slot: 1,
                old_block: ID.block,
                old_slot: slot,
                keys_updated: false,
                row: b"elsewhere",
            };
            self.log(1, xid, Body::HeapUpdateAway(body));
        } else {
            self.log(0, xid, Body::HeapDelete(HeapDelete { page: ID, slot }));
        }
        if commits {
            self.rows.get_mut(&root).unwrap().push((xid, None));
        }
    }

    /// Sets hints, locks and commands, which redo knows nothing of.
    fn disturb(&mut self, pick: usize) {
        let slots: Vec<u16> = self.view().versions().map(|(slot, _)| slot).collect();
        let Some(&slot) = slots.get(pick % slots.len().max(1)) else { return };
        let version = self.view().version(slot).unwrap();
        let (xmin, xmax) = (version.xmin(), version.xmax());
        let mut hints = if self.aborted.contains(&xmin.0) { XMIN_ABORTED } else { XMIN_COMMITTED };
        if xmax.0 != 0 {
            hints |= if self.aborted.contains(&xmax.0) { XMAX_ABORTED } else { XMAX_COMMITTED };
        }
        let mut heap = HeapPageMut::new(&mut self.page);
        heap.set_hints(slot, hints).unwrap();
        heap.set_lock(slot, pick as u32, EPOCH).unwrap();
        heap.set_command(slot, pick as u32, pick.is_multiple_of(2)).unwrap();
        assert_eq!(heap.view().lock(slot, EPOCH), pick as u32);
        assert_eq!(heap.view().lock(slot, EPOCH + 1), 0, "a lock word of another start means nothing");
    }

    fn prune(&mut self, horizon_lag: u64) {
        self.horizon = self.horizon.max(self.next_xid.saturating_sub(horizon_lag));
        let mut plan = PrunePlan::default();
        let (horizon, aborted) = (self.horizon, &self.aborted);
        let judge = |version: &Version<'_>| {
            let old = |xid: Xid| xid.0 != 0 && xid.0 < horizon;
            let gone = |xid: Xid| aborted.contains(&xid.0);
            match (version.xmin(), version.xmax()) {
                (xmin, _) if gone(xmin) => Fate::Aborted,
                (_, xmax) if old(xmax) && !gone(xmax) => Fate::Dead,
                (xmin, xmax) if old(xmin) && (xmax.0 == 0 || gone(xmax)) => Fate::Visible,
                _ => Fate::Keep,
            }
        };
        let could_prune = may_prune(HeapPage::new(&self.page), horizon);
        HeapPage::new(&self.page).prune(Roots::Indexed, judge, &mut plan);
        if plan.redirects.is_empty() && plan.dead.is_empty() && plan.unused.is_empty() {
            return;
        }
        assert!(could_prune || plan.unused.is_empty() || !self.aborted.is_empty(), "the prune xid hid work");
        self.log(0, self.next_xid, Body::HeapPrune(HeapPrune { page: ID, plan: plan.clone() }));
        assert_eq!(self.view().prune_xid(), plan.prune_xid);
        assert_eq!(self.view().all_visible(), plan.all_visible);
        // A second look finds nothing more.
        self.view().prune(Roots::Indexed, judge_again(horizon, &self.aborted), &mut plan);
        assert!(plan.is_empty(), "{plan:?}");
    }

    fn reclaim(&mut self) {
        let slots: Vec<u16> =
            (0..self.view().slot_count()).filter(|&slot| matches!(self.view().slot(slot), Slot::Dead)).collect();
        self.log(0, self.next_xid, Body::HeapReclaim(HeapReclaim { page: ID, slots: Cow::Borrowed(&slots) }));
        for slot in slots {
            self.rows.remove(&slot);
        }
    }

    fn verify(&self) {
        check(&self.page).unwrap();
        check(&self.twin).unwrap();
        let (mut page, mut twin) = (self.page, self.twin);
        mask(&mut page);
        mask(&mut twin);
        assert!(page == twin, "redo gives another page");
        for (root, changes) in &self.rows {
            for snapshot in [self.horizon, self.next_xid, u64::midpoint(self.horizon, self.next_xid)] {
                let seen = changes.iter().rev().find(|(xid, _)| *xid < snapshot).and_then(|(_, row)| row.clone());
                assert_eq!(self.look_up(*root, snapshot), seen, "root {root} at {snapshot}");
            }
        }
        let view = self.view();
        match view.free_space(0) {
            Some(longest) => assert!(view.fits(longest, 0) && !view.fits(longest + 1, 0)),
            None => assert!(!view.fits(0, 0)),
        }
        assert!(!view.fits(10, view.hole()));
        for (slot, version) in view.versions() {
            assert_eq!(u16_at(&self.page, view.flags_offset(slot).unwrap()), version.flags());
            assert!(view.flags_offset(slot).unwrap().is_multiple_of(2));
            assert!(view.lock_offset(slot).unwrap().is_multiple_of(4));
        }
    }
}

fn judge_again(horizon: u64, aborted: &BTreeSet<u64>) -> impl Fn(&Version<'_>) -> Fate {
    move |version| {
        let (xmin, xmax) = (version.xmin().0, version.xmax().0);
        assert!(xmin != 0);
        if aborted.contains(&xmin) {
            Fate::Aborted
        } else if xmax != 0 && xmax < horizon && !aborted.contains(&xmax) {
            Fate::Dead
        } else if xmin < horizon && xmax == 0 {
            Fate::Visible
        } else {
            Fate::Keep
        }
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert { row: Vec<u8>, commits: bool },
    InsertTwo { row: Vec<u8> },
    Update { pick: usize, row: Vec<u8>, hot: bool, commits: bool },
    End { pick: usize, moves: bool, commits: bool },
    Disturb { pick: usize },
    Prune { lag: u64 },
    Reclaim,
}

fn op() -> impl Strategy<Value = Op> {
    let row = || prop_oneof![8 => prop::collection::vec(any::<u8>(), 0..200), 1 => prop::collection::vec(any::<u8>(), 0..4000)];
    let commits = || prop::bool::weighted(0.8);
    prop_oneof![
        3 => (row(), commits()).prop_map(|(row, commits)| Op::Insert { row, commits }),
        1 => row().prop_map(|row| Op::InsertTwo { row }),
        6 => (any::<usize>(), row(), prop::bool::weighted(0.8), commits())
            .prop_map(|(pick, row, hot, commits)| Op::Update { pick, row, hot, commits }),
        2 => (any::<usize>(), any::<bool>(), commits()).prop_map(|(pick, moves, commits)| Op::End { pick, moves, commits }),
        2 => any::<usize>().prop_map(|pick| Op::Disturb { pick: pick % 100_000 }),
        2 => (0u64..12).prop_map(|lag| Op::Prune { lag }),
        1 => Just(Op::Reclaim),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_snapshot_sees_what_committed(ops in prop::collection::vec(op(), 1..120)) {
        let mut model = Model::new();
        for op in ops {
            match op {
                Op::Insert { row, commits } => model.insert(&row, commits),
                Op::InsertTwo { row } => model.insert_two(&row),
                Op::Update { pick, row, hot, commits } => model.update(pick, &row, hot, commits),
                Op::End { pick, moves, commits } => model.end(pick, moves, commits),
                Op::Disturb { pick } => model.disturb(pick),
                Op::Prune { lag } => model.prune(lag),
                Op::Reclaim => model.reclaim(),
            }
            model.verify();
        }
    }

    #[test]
    fn a_delta_gives_the_row_back(old in prop::collection::vec(0u8..3, 0..40), new in prop::collection::vec(0u8..3, 0..40)) {
        let delta = RowDelta::between(&old, &new);
        let (prefix, suffix) = (delta.prefix as usize, delta.suffix as usize);
        prop_assert!(prefix + suffix <= old.len().min(new.len()));
        let back = [&old[..prefix], delta.middle, &old[old.len() - suffix..]].concat();
        prop_assert_eq!(back, new);
    }

    /// A page that passes can be read and pruned, however its bytes came about; nothing panics on one that does not.
    #[test]
    fn check_is_enough_for_every_reader(
        ops in prop::collection::vec(op(), 1..40),
        flips in prop::collection::vec((0usize..600, any::<u8>()), 0..4),
        tail in prop::collection::vec((0usize..PAGE_SIZE, any::<u8>()), 0..3),
        verdicts in prop::collection::vec(0u8..4, 16),
    ) {
        let mut model = Model::new();
        for op in ops {
            match op {
                Op::Insert { row, commits } => model.insert(&row, commits),
                Op::Update { pick, row, hot, commits } => model.update(pick, &row, hot, commits),
                Op::Prune { lag } => model.prune(lag),
                _ => {}
            }
        }
        let mut page = model.page;
        for (at, value) in flips.into_iter().chain(tail) {
            page[at] = value;
        }
        if check(&page).is_ok() && header::page_type(&page) == Some(header::PageType::Heap) {
            let view = HeapPage::new(&page);
            for slot in 0..view.slot_count() + 2 {
                if let Some((_, version)) = view.chain(slot) {
                    let _ = (view.chain_next(&version), format!("{version:?}"), view.lock(slot, EPOCH));
                }
            }
            let fates = [Fate::Keep, Fate::Visible, Fate::Dead, Fate::Aborted];
            let mut turn = 0;
            let mut plan = PrunePlan::default();
            view.prune(Roots::Forgotten, |_| { turn += 1; fates[verdicts[turn % 16] as usize] }, &mut plan);
            HeapPageMut::new(&mut page).prune_apply(&plan).unwrap();
            check(&page).unwrap();
        }
    }

    #[test]
    fn check_survives_noise(words in prop::collection::vec(any::<u16>(), 60), count in 0u16..40, upper in any::<u16>()) {
        let mut page = empty();
        for (at, word) in words.iter().enumerate() {
            page[24 + 2 * at..26 + 2 * at].copy_from_slice(&word.to_le_bytes());
        }
        let _ = check(&page);
        page[SLOT_COUNT..SLOT_COUNT + 2].copy_from_slice(&count.to_le_bytes());
        page[UPPER..UPPER + 2].copy_from_slice(&upper.to_le_bytes());
        let _ = check(&page);
    }
}

#[test]
fn the_longest_row_fits_an_empty_page_and_no_longer_one() {
    let row = vec![7; MAX_ROW_BYTES];
    let mut page = empty();
    assert_eq!(HeapPage::new(&page).free_space(0), Some(MAX_ROW_BYTES));
    HeapPageMut::new(&mut page).insert(0, Xid(1), &row).unwrap();
    check(&page).unwrap();
    assert_eq!(HeapPage::new(&page).version(0).unwrap().row(), row);
    assert_eq!(HeapPage::new(&page).free_space(0), None);
    check_row_size(MAX_ROW_BYTES).unwrap();
    let error = check_row_size(MAX_ROW_BYTES + 1).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
}

#[test]
fn the_shortest_rows_fill_a_page() {
    let mut page = empty();
    let mut count = 0;
    while HeapPage::new(&page).fits(0, 0) {
        let slot = HeapPage::new(&page).vacant_slot().unwrap();
        HeapPageMut::new(&mut page).insert(slot, Xid(1), &[]).unwrap();
        count += 1;
    }
    check(&page).unwrap();
    assert_eq!(count, (PAGE_SIZE - HEAP_HEADER_BYTES) / (SLOT_BYTES + ROW_HEADER_BYTES));
}

#[test]
fn pruning_a_chain_step_by_step() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(10), b"first").unwrap();
    let delta = |row| RowDelta { prefix: 0, suffix: 0, middle: row };
    heap.update(0, 1, Xid(11), true, false, &delta(b"second")).unwrap();
    heap.update(1, 2, Xid(12), true, false, &delta(b"third")).unwrap();
    let version = heap.view().version(0).unwrap();
    assert_eq!((version.xmax(), version.next()), (Xid(11), Tid::new(ID.block, 1)));
    assert!(version.has(UPDATED | HOT_UPDATED) && !version.has(KEYS_UPDATED));

    // 11 is old, 12 is not: the root's version goes, its slot leads to the second one.
    let mut plan = PrunePlan::default();
    let before = |xid: u64| {
        move |version: &Version<'_>| match version.xmax().0 {
            0 => Fate::Keep,
            xmax if xmax < xid => Fate::Dead,
            _ => Fate::Keep,
        }
    };
    heap.view().prune(Roots::Indexed, before(12), &mut plan);
    let expected = PrunePlan { prune_xid: Xid(12), redirects: vec![(0, 1)], ..PrunePlan::default() };
    assert_eq!(plan, expected);
    heap.prune_apply(&plan).unwrap();
    assert!(matches!(heap.view().slot(0), Slot::Redirect(1)));
    assert_eq!(heap.view().chain(0).unwrap().1.row(), b"second");

    // 12 is old: the second one goes too.
    heap.view().prune(Roots::Indexed, before(13), &mut plan);
    assert_eq!((&plan.redirects[..], &plan.unused[..]), (&[(0, 2)][..], &[1][..]));
    heap.prune_apply(&plan).unwrap();
    assert_eq!(heap.view().chain(0).unwrap().0, 2);
    assert_eq!(heap.view().vacant_slot(), Some(1));

    // The row is deleted: a dead slot is left, until the index is clean.
    heap.delete(2, Xid(13)).unwrap();
    heap.view().prune(Roots::Indexed, before(14), &mut plan);
    heap.prune_apply(&plan).unwrap();
    assert!(matches!(heap.view().slot(0), Slot::Dead) && heap.view().slot_count() == 1);
    assert!(heap.view().chain(0).is_none());
    heap.reclaim(&[0]).unwrap();
    assert_eq!((heap.view().slot_count(), heap.view().hole()), (0, PAGE_SIZE - HEAP_HEADER_BYTES));
    check(&page).unwrap();
}

#[test]
fn a_dead_version_behind_a_kept_one_stays_until_that_goes() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(10), b"a").unwrap();
    for (old, xid) in [(0, 11), (1, 12), (2, 13)] {
        let delta = RowDelta { prefix: 1, suffix: 0, middle: b"" };
        heap.update(old, old + 1, Xid(xid), true, false, &delta).unwrap();
    }
    let mut plan = PrunePlan::default();
    let dead_one = |version: &Version<'_>| if version.xmin().0 == 11 { Fate::Dead } else { Fate::Keep };
    heap.view().prune(Roots::Indexed, dead_one, &mut plan);
    assert!(plan.is_empty(), "{plan:?}");
}

#[test]
fn an_aborted_update_is_cut_off_and_its_row_revived() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(10), b"old").unwrap();
    heap.update(0, 1, Xid(11), true, false, &RowDelta { prefix: 0, suffix: 0, middle: b"new" }).unwrap();
    heap.update(1, 2, Xid(11), true, false, &RowDelta { prefix: 0, suffix: 0, middle: b"newer" }).unwrap();
    let mut plan = PrunePlan::default();
    let judge = |version: &Version<'_>| if version.xmin().0 == 11 { Fate::Aborted } else { Fate::Visible };
    heap.view().prune(Roots::Indexed, judge, &mut plan);
    let expected = PrunePlan { unused: vec![1, 2], revived: vec![0], all_visible: true, ..PrunePlan::default() };
    assert_eq!(plan, expected);
    heap.prune_apply(&plan).unwrap();
    let version = heap.view().version(0).unwrap();
    assert_eq!((version.xmax(), version.next(), version.flags()), (Xid(0), Tid::NONE, 0));
    assert!(heap.view().all_visible());
    assert_eq!(heap.view().slot_count(), 1);
    heap.delete(0, Xid(12)).unwrap();
    assert!(!heap.view().all_visible());
    check(&page).unwrap();
}

#[test]
fn without_indexes_nothing_dead_is_left() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(1), b"a").unwrap();
    heap.insert(1, Xid(2), b"b").unwrap();
    let mut plan = PrunePlan::default();
    heap.view().prune(Roots::Forgotten, |_| Fate::Aborted, &mut plan);
    heap.prune_apply(&plan).unwrap();
    assert_eq!(heap.view().slot_count(), 0);
    check(&page).unwrap();
}

#[test]
fn a_reused_slot_is_no_successor() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(10), b"old").unwrap();
    heap.insert(1, Xid(10), b"root").unwrap();
    heap.update(0, 2, Xid(11), true, false, &RowDelta { prefix: 3, suffix: 0, middle: b"" }).unwrap();
    // The judge knows of the abort only from the new version's side; the slot is taken by another row's new version.
    let unused = PrunePlan { unused: vec![2], prune_xid: Xid(11), ..PrunePlan::default() };
    heap.prune_apply(&unused).unwrap();
    heap.update(1, 2, Xid(12), true, false, &RowDelta { prefix: 4, suffix: 0, middle: b"" }).unwrap();
    let (_, old) = heap.view().chain(0).unwrap();
    assert_eq!(old.next().slot, 2);
    assert!(heap.view().chain_next(&old).is_none());
    check(&page).unwrap();
}

#[test]
fn changes_that_do_not_fit_leave_the_page_alone() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(1), &[1; 4000]).unwrap();
    heap.insert(1, Xid(1), &[2; 4000]).unwrap();
    let whole = RowDelta { prefix: 0, suffix: 0, middle: &[3; 10] };
    let long = RowDelta { prefix: 4000, suffix: 1, middle: &[] };
    let before = page;
    let mut heap = HeapPageMut::new(&mut page);
    let plan = |unused: &[u16]| PrunePlan { unused: unused.to_vec(), ..PrunePlan::default() };
    let refused = [
        heap.insert(0, Xid(2), b"taken"),
        heap.insert(3, Xid(2), b"a gap"),
        heap.insert(2, Xid(2), &[0; 200]),
        heap.insert_all(Xid(2), &[(2, b"fits"), (3, &[0; 100])]),
        heap.insert_all(Xid(2), &[(2, b"fits"), (2, b"twice")]),
        heap.update(2, 3, Xid(2), true, false, &whole),
        heap.update(0, 1, Xid(2), true, false, &whole),
        heap.update(0, 2, Xid(2), true, false, &long),
        heap.update_away(7, Xid(2), Tid::new(1, 1), false),
        heap.delete(2, Xid(2)),
        heap.overwrite(0, b"shorter"),
        heap.reclaim(&[0]),
        heap.prune_apply(&plan(&[9])),
        heap.prune_apply(&PrunePlan { redirects: vec![(0, 1)], ..PrunePlan::default() }),
        heap.prune_apply(&PrunePlan { revived: vec![0], ..PrunePlan::default() }),
        heap.prune_apply(&PrunePlan { dead: vec![5], ..PrunePlan::default() }),
        heap.set_lock(2, 1, 1),
        heap.set_command(2, 1, false),
        heap.set_hints(2, XMIN_COMMITTED),
    ];
    for (at, result) in refused.into_iter().enumerate() {
        let error = result.expect_err(&format!("change {at}"));
        assert_eq!(error.sqlstate(), sqlstate::DATA_CORRUPTED);
        assert!(error.message().contains("5/3") && error.detail_text().unwrap().contains("LSN"), "{error}");
    }
    assert!(page == before);
}

#[test]
fn every_kind_of_damage_is_named() {
    let mut good = empty();
    let mut heap = HeapPageMut::new(&mut good);
    heap.insert(0, Xid(10), b"one").unwrap();
    heap.insert(1, Xid(10), b"two").unwrap();
    heap.update(0, 2, Xid(11), true, false, &RowDelta { prefix: 3, suffix: 0, middle: b"" }).unwrap();
    check(&good).unwrap();
    let row = |slot| HeapPage::new(&good).flags_offset(slot).unwrap() - ROW_FLAGS;
    let slot = |slot: usize| HEAP_HEADER_BYTES + SLOT_BYTES * slot;
    let cases: [(usize, &[u8], &str); 13] = [
        (SLOT_COUNT, &[255, 255], "65535 slots"),
        (UPPER, &[1, 0], "rows from 1"),
        (UNUSED_COUNT, &[1], "unused"),
        (30, &[1], "reserved"),
        (header::FLAGS, &[2], "reserved"),
        (slot(2), &[0, 0, 0, 0], "last slot"),
        (slot(1), &[0, 0, 0, 0], "rows take"),
        (slot(1) + 2, &[200], "claims"),
        (slot(1), &[0, 0xFF], "slot 1 is 0x"),
        (2000, &[1], "not blank"),
        (row(1) + ROW_HEADER_BYTES + 4, &[1], "padding"),
        (row(1) + XMAX, &[1], "contradicts"),
        (row(1) + ROW_FLAGS, &[0, 0x80], "contradicts"),
    ];
    for (at, bytes, words) in cases {
        let mut page = good;
        page[at..at + bytes.len()].copy_from_slice(bytes);
        let error = check(&page).expect_err(words);
        assert!(error.detail_text().unwrap().contains(words), "{words}: {error}");
    }
}

#[test]
fn damaged_chains_are_named() {
    let mut good = empty();
    let mut heap = HeapPageMut::new(&mut good);
    heap.insert(0, Xid(10), b"one").unwrap();
    heap.update(0, 1, Xid(11), true, false, &RowDelta { prefix: 3, suffix: 0, middle: b"" }).unwrap();
    heap.insert(2, Xid(12), b"two").unwrap();
    heap.prune_apply(&PrunePlan { redirects: vec![(0, 1)], ..PrunePlan::default() }).unwrap();
    heap.delete(2, Xid(13)).unwrap();
    heap.prune_apply(&PrunePlan { dead: vec![2], all_visible: false, ..PrunePlan::default() }).unwrap();
    check(&good).unwrap();
    type Damage = fn(&mut HeapPageMut<'_>);
    let cases: [(Damage, &str); 4] = [
        (|heap| heap.put_word(2, Word::redirect(1)), "two ways lead to slot 1"),
        (|heap| heap.put_word(0, Word::redirect(2)), "slot 0 redirects to slot 2"),
        (|heap| heap.put_word(0, Word::redirect(0)), "slot 0 redirects to slot 0"),
        (|heap| header::set_flags(heap.page, ALL_VISIBLE), "slot 2 is dead on an all-visible page"),
    ];
    for (damage, words) in cases {
        let mut page = good;
        damage(&mut HeapPageMut::new(&mut page));
        let error = check(&page).expect_err(words);
        assert!(error.detail_text().unwrap().contains(words), "{words}: {error}");
    }
}

/// Whether a visitor that knows of no snapshot before `horizon` would prune the page.
fn may_prune(page: HeapPage<'_>, horizon: u64) -> bool {
    (1..horizon).contains(&page.prune_xid().0)
}

#[test]
fn the_prune_xid_is_the_oldest_end() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    for slot in 0..3 {
        heap.insert(slot, Xid(1), b"row").unwrap();
    }
    assert!(!may_prune(heap.view(), u64::MAX));
    for (slot, xid, oldest) in [(0, 20, 20), (1, 10, 10), (2, 30, 10)] {
        heap.delete(slot, Xid(xid)).unwrap();
        assert_eq!(heap.view().prune_xid(), Xid(oldest));
    }
    assert!(may_prune(heap.view(), 11) && !may_prune(heap.view(), 10));
    let mut plan = PrunePlan::default();
    let judge = |version: &Version<'_>| if version.xmax().0 == 10 { Fate::Dead } else { Fate::Keep };
    heap.view().prune(Roots::Indexed, judge, &mut plan);
    assert_eq!((plan.prune_xid, &plan.dead[..]), (Xid(20), &[1][..]));
}

#[test]
fn an_old_lock_epoch_is_cleared_as_a_whole() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(1), b"a").unwrap();
    heap.insert(1, Xid(1), b"b").unwrap();
    heap.set_lock(0, 77, 1).unwrap();
    assert_eq!((heap.view().lock(0, 1), heap.view().lock(0, 2)), (77, 0));
    heap.set_lock(1, 88, 2).unwrap();
    assert_eq!((heap.view().lock(0, 2), heap.view().lock(1, 2)), (0, 88));
    check(&page).unwrap();
}

#[test]
fn overwriting_changes_the_bytes_and_nothing_else() {
    let mut page = empty();
    let mut heap = HeapPageMut::new(&mut page);
    heap.insert(0, Xid(1), b"counter 1").unwrap();
    heap.overwrite(0, b"counter 2").unwrap();
    let version = heap.view().version(0).unwrap();
    assert_eq!((version.row(), version.xmin(), version.xmax()), (&b"counter 2"[..], Xid(1), Xid(0)));
    check(&page).unwrap();
}
