//! B-tree pages against ordered maps: one page, and a small tree of them grown, searched and shrunk through log
//! records, with a twin of every page that sees redo only.

use super::split::{Links, Sequence};
use super::*;
use crate::page::image::PageImage;
use crate::page::{Tid, check, mask};
use crate::wal::record::{
    Body, BtreeDelete, BtreeHalfDead, BtreeInsert, BtreeInsertChild, BtreeNewRoot, BtreeSplit, BtreeUnlink, PageWrite,
    Parsed, Record, encode, parse,
};
use base::{Lsn, PageId, RelId};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

const REL: RelId = RelId(8);

fn id(block: u32) -> PageId {
    PageId { rel: REL, block }
}

fn empty(level: u8, flags: u16) -> PageBytes {
    let mut page = [0; PAGE_SIZE];
    BtreePageMut::format(&mut page, id(0), level, flags);
    page
}

/// Pages in memory and on the other side of the log.
struct Tree {
    pages: Vec<PageBytes>,
    twins: Vec<PageBytes>,
    lsn: Lsn,
    model: BTreeSet<(Vec<u8>, Tid)>,
    splits: usize,
    unlinked: BTreeSet<u32>,
    /// Left halves whose right halves the parent does not know: (left, right, separator).
    pending: BTreeMap<u32, (u32, Vec<u8>, Tid)>,
}

impl Tree {
    fn new() -> Tree {
        let mut tree = Tree {
            pages: vec![[0; PAGE_SIZE]],
            twins: vec![[0; PAGE_SIZE]],
            lsn: Lsn(8),
            model: BTreeSet::new(),
            splits: 0,
            unlinked: BTreeSet::new(),
            pending: BTreeMap::new(),
        };
        let root = empty(0, ROOT);
        tree.log(Body::PageWrite(PageWrite { page: id(0), image: PageImage::of(&root) }));
        tree
    }

    fn page(&self, block: u32) -> BtreePage<'_> {
        BtreePage::new(&self.pages[block as usize])
    }

    fn allocate(&mut self) -> u32 {
        self.pages.push([0; PAGE_SIZE]);
        self.twins.push([0; PAGE_SIZE]);
        self.pages.len() as u32 - 1
    }

    fn log(&mut self, body: Body<'_>) {
        let mut bytes = Vec::new();
        let at = self.lsn;
        encode(&mut bytes, Xid(4), 1, 0, &body).seal(&mut bytes, at, None);
        let Parsed::Record(raw) = parse(&bytes, at, 0) else { panic!("{body:?}") };
        let record = Record { xid: Xid(4), init: false, body };
        let read = raw.decode().unwrap();
        assert_eq!(format!("{read:?}"), format!("{record:?}"));
        self.lsn = raw.end;
        for (nth, page) in record.pages().iter().enumerate() {
            assert_eq!(page.id.rel, REL);
            let block = page.id.block as usize;
            record.apply(nth, &mut self.pages[block]).unwrap();
            header::set_lsn(&mut self.pages[block], raw.end);
            if page.fresh {
                self.twins[block] = [0; PAGE_SIZE];
            }
            assert!(read.redo(nth, raw.end, &mut self.twins[block]).unwrap());
            check(&self.pages[block]).unwrap_or_else(|error| panic!("{error}"));
            let (mut page, mut twin) = (self.pages[block], self.twins[block]);
            mask(&mut page);
            mask(&mut twin);
            assert!(page == twin, "redo gives another page");
        }
    }

    /// The page of a level that (key, tid) belongs to, as a search gets there.
    fn descend(&self, key: &[u8], tid: Tid, level: u8) -> u32 {
        let mut block = 0;
        loop {
            let page = self.page(block);
            if page.is_ignored() || !page.covers(key, tid) {
                block = page.right();
            } else if page.level() == level {
                return block;
            } else {
                block = page.child(page.child_position(key, tid));
            }
        }
    }

    fn insert(&mut self, key: &[u8], tid: Tid, finish: bool) {
        if !self.model.insert((key.to_vec(), tid)) {
            return;
        }
        let block = self.descend(key, tid, 0);
        self.finish(block);
        let block = self.descend(key, tid, 0);
        let page = self.page(block);
        let position = page.insert_position(key, tid);
        if page.fits(key.len()) {
            self.log(Body::BtreeInsert(BtreeInsert { page: id(block), position: position as u16, tid, key }));
        } else {
            self.split(block, position, Entry::leaf(key, tid), NO_BLOCK);
            if finish {
                self.finish(block);
            }
        }
    }

    fn split(&mut self, block: u32, position: usize, new: Entry<'_>, finished: u32) {
        self.splits += 1;
        let old = self.pages[block as usize];
        let view = BtreePage::new(&old);
        let sequence = Sequence::new(view, position, new);
        let at = sequence.cut().unwrap();
        let (high_key, high_tid) = sequence.separator(at);
        let right = self.allocate();
        let mut right_page = [0; PAGE_SIZE];
        if view.has(ROOT) {
            let left = self.allocate();
            let mut left_page = [0; PAGE_SIZE];
            let links = |left, right| Links { left, right, cycle: 0 };
            sequence.build_left(at, &mut left_page, id(left), links(NO_BLOCK, right));
            sequence.build_right(at, &mut right_page, id(right), links(left, NO_BLOCK));
            self.log(Body::BtreeNewRoot(BtreeNewRoot {
                page: id(block),
                left,
                right,
                finished,
                tid: high_tid,
                key: high_key,
                left_image: PageImage::of(&left_page),
                right_image: PageImage::of(&right_page),
            }));
            return;
        }
        let (kept, new_stays) = sequence.left_of(at);
        sequence.build_right(at, &mut right_page, id(right), Links { left: block, right: view.right(), cycle: 6 });
        self.log(Body::BtreeSplit(BtreeSplit {
            page: id(block),
            right,
            next: view.right(),
            cycle: 6,
            kept: kept as u16,
            new: new_stays.then_some((position as u16, new)),
            finished,
            high_tid,
            high_key,
            image: PageImage::of(&right_page),
        }));
        assert!(self.page(block).has(SPLIT_PENDING));
        self.pending.insert(block, (right, high_key.to_vec(), high_tid));
    }

    /// Enters the right half of a pending split of `block` in the parent.
    fn finish(&mut self, block: u32) {
        assert_eq!(self.page(block).has(SPLIT_PENDING), self.pending.contains_key(&block));
        let Some((right, key, tid)) = self.pending.get(&block).cloned() else { return };
        let level = self.page(block).level() + 1;
        let parent = self.descend(&key, tid, level);
        self.finish(parent);
        let parent = self.descend(&key, tid, level);
        let entry = Entry::internal(&key, tid, right);
        self.pending.remove(&block);
        let page = self.page(parent);
        let position = page.insert_position(&key, tid);
        if page.fits(key.len()) {
            let position = position as u16;
            self.log(Body::BtreeInsertChild(BtreeInsertChild { page: id(parent), position, entry, finished: block }));
        } else {
            self.split(parent, position, entry, block);
            assert!(!self.page(block).has(SPLIT_PENDING));
            self.finish(parent);
        }
    }

    fn delete(&mut self, key: &[u8], tid: Tid) {
        let block = self.descend(key, tid, 0);
        let page = self.page(block);
        let position = page.lower_bound(key, tid);
        let there = position < page.count() && (page.key(position), page.tid(position)) == (key, tid);
        assert_eq!(there, self.model.remove(&(key.to_vec(), tid)));
        if there {
            let positions = Cow::Owned(vec![position as u16]);
            self.log(Body::BtreeDelete(BtreeDelete { page: id(block), positions }));
            self.unlink_if_empty(block, key, tid);
        }
    }

    fn unlink_if_empty(&mut self, block: u32, key: &[u8], tid: Tid) {
        let page = self.page(block);
        if page.count() > 0 || page.has(ROOT) || page.has(SPLIT_PENDING) || page.right() == NO_BLOCK {
            return;
        }
        let parent = self.descend(key, tid, 1);
        let view = self.page(parent);
        let Some(position) = (0..view.count()).find(|&at| view.child(at) == block) else { return };
        if position + 1 == view.count() || view.child(position + 1) != page.right() {
            return;
        }
        let (left, right) = (page.left(), page.right());
        if left != NO_BLOCK && self.page(left).has(SPLIT_PENDING) {
            return;
        }
        self.log(Body::BtreeHalfDead(BtreeHalfDead { page: id(block), parent, position: position as u16 }));
        assert!(self.page(block).is_ignored());
        assert_ne!(self.descend(key, tid, 0), block);
        self.log(Body::BtreeUnlink(BtreeUnlink { page: id(block), right, left, reusable_after: Xid(99) }));
        assert!(self.page(block).has(DELETED) && self.page(block).deleted_xid() == Xid(99));
        self.unlinked.insert(block);
    }

    /// Reads the leaves from left to right, and back.
    fn verify(&self) {
        let mut block = self.descend(&[], Tid::MIN, 0);
        let mut found = Vec::new();
        let mut left = NO_BLOCK;
        loop {
            let page = self.page(block);
            assert!(!self.unlinked.contains(&block));
            assert_eq!(page.left(), left, "of {block}");
            found.extend((0..page.count()).map(|at| (page.key(at).to_vec(), page.tid(at))));
            left = block;
            match page.right() {
                NO_BLOCK => break,
                right => block = right,
            }
        }
        assert!(found.iter().eq(self.model.iter()), "the leaves hold other entries");
    }
}

/// Keys that share beginnings, are beginnings of each other, and differ in zeros.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..6),
        3 => (0u32..3000).prop_map(|number| [&[1][..], &number.to_be_bytes()].concat()),
        1 => prop::collection::vec(0u8..3, 0..600),
    ]
}

fn tid() -> impl Strategy<Value = Tid> {
    (0u32..4, 0u16..3).prop_map(|(block, slot)| Tid::new(block, slot))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_page_is_an_ordered_map(
        entries in prop::collection::vec((key(), tid()), 0..80),
        probes in prop::collection::vec((key(), tid()), 20),
        doomed in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let mut page = empty(0, ROOT);
        let mut leaf = BtreePageMut::new(&mut page);
        let mut model = BTreeSet::new();
        for (key, tid) in &entries {
            if leaf.view().fits(key.len()) && model.insert((key.clone(), *tid)) {
                let position = leaf.view().insert_position(key, *tid);
                leaf.insert(position, &Entry::leaf(key, *tid)).unwrap();
                leaf.view().check().unwrap();
            }
        }
        for round in 0..2 {
            let view = leaf.view();
            prop_assert!(model.iter().map(|(key, tid)| (&key[..], *tid)).eq(
                (0..view.count()).map(|at| (view.key(at), view.tid(at)))));
            for (key, tid) in probes.iter().chain(entries.iter()) {
                let expected = model.range(..(key.clone(), *tid)).count();
                prop_assert_eq!(view.lower_bound(key, *tid), expected);
                let last = model.range(..=(key.clone(), Tid::MAX)).count();
                prop_assert_eq!(view.lower_bound(key, Tid::MAX), last);
            }
            if round == 0 && view.count() > 0 {
                let positions: BTreeSet<u16> = doomed.iter().map(|index| index.index(view.count()) as u16).collect();
                let positions: Vec<u16> = positions.into_iter().collect();
                let gone: Vec<_> = positions.iter().map(|&at| {
                    (view.key(at as usize).to_vec(), view.tid(at as usize))
                }).collect();
                gone.iter().for_each(|entry| { model.remove(entry); });
                leaf.delete(&positions).unwrap();
                leaf.view().check().unwrap();
            }
        }
    }

    #[test]
    fn a_child_is_found_by_the_last_separator_at_or_before(
        separators in prop::collection::btree_set((key(), tid()), 0..60),
        probes in prop::collection::vec((key(), tid()), 20),
    ) {
        let mut page = empty(1, 0);
        let mut inner = BtreePageMut::new(&mut page);
        inner.insert(0, &Entry::internal(&[], Tid::MIN, 1)).unwrap();
        let mut kept = BTreeSet::new();
        for (key, tid) in &separators {
            if inner.view().fits(key.len()) {
                let position = inner.view().insert_position(key, *tid);
                inner.insert(position, &Entry::internal(key, *tid, 2)).unwrap();
                kept.insert((key.clone(), *tid));
            }
        }
        inner.view().check().unwrap();
        for (key, tid) in probes.iter().chain(&separators) {
            let expected = kept.range(..=(key.clone(), *tid)).count();
            prop_assert_eq!(inner.view().child_position(key, *tid), expected);
        }
    }

    /// Many keys with the same head, as far from each other as they like: the first guess is right, or wrong by all of the page.
    #[test]
    fn keys_with_equal_heads_are_found(
        gaps in prop::collection::vec(prop_oneof![8 => 1u64..3, 1 => 1u64..200, 1 => 1u64..100_000], 20..300),
        lengths in prop::collection::vec(3usize..9, 7),
        probes in prop::collection::vec((any::<prop::sample::Index>(), -2i64..3, 0u16..3), 40),
    ) {
        let mut numbers = vec![1u64];
        gaps.iter().for_each(|gap| numbers.push(numbers[numbers.len() - 1] + gap));
        // Two leading bytes that all of them share, then numbers, some of them cut short; between two keys with other heads.
        let key = |number: u64| number.to_be_bytes()[2..].to_vec();
        let mut keys: BTreeSet<Vec<u8>> = [vec![0xFF, 1, 2], Vec::new()].into();
        for (index, number) in numbers.iter().enumerate() {
            let whole = key(*number);
            let length = lengths[index % lengths.len()].min(whole.len());
            keys.insert(whole[..length].to_vec());
        }
        for level in 0..2 {
            let mut page = empty(level, if level == 0 { ROOT } else { 0 });
            let mut change = BtreePageMut::new(&mut page);
            let mut model = BTreeSet::new();
            if level > 0 {
                change.insert(0, &Entry::internal(&[], Tid::MIN, 1)).unwrap();
            }
            for key in &keys {
                let tid = Tid::new(1, 1);
                if change.view().fits(key.len()) {
                    let position = change.view().insert_position(key, tid);
                    let entry = if level == 0 { Entry::leaf(key, tid) } else { Entry::internal(key, tid, 2) };
                    change.insert(position, &entry).unwrap();
                    model.insert((key.clone(), tid));
                }
            }
            let view = change.view();
            view.check().unwrap();
            let mut room = [Vec::new(), vec![7]];
            let [few, many] = &mut room;
            let searches = (level > 0).then(|| [view.searches(1, few), view.searches(model.len(), many)]);
            for (index, off, slot) in &probes {
                let number = numbers[index.index(numbers.len())].saturating_add_signed(*off);
                for probe in [key(number), key(number)[..4].to_vec()] {
                    let point = (probe, Tid::new(1, *slot));
                    if level == 0 {
                        prop_assert_eq!(view.lower_bound(&point.0, point.1), model.range(..point.clone()).count());
                        let (run, _) = view.begin_search(&point.0);
                        let (before, _) = view.narrow_search(&point.0, run);
                        let first = (point.0.clone(), Tid::MIN);
                        prop_assert_eq!(view.end_search(&point.0, before), model.range(..first).count());
                    } else {
                        let position = model.range(..=point.clone()).count();
                        prop_assert_eq!(view.child_position(&point.0, point.1), position);
                        for searches in searches.iter().flatten() {
                            prop_assert_eq!(searches.child_position(&point.0, point.1), position);
                        }
                    }
                }
            }
        }
    }

    /// Whatever the lengths of its keys: a page that has no room for one more entry is cut into two good ones.
    #[test]
    fn every_full_page_can_be_cut(
        lengths in prop::collection::vec(prop_oneof![2usize..40, 1200..MAX_KEY_BYTES + 1, Just(MAX_KEY_BYTES)], 200),
        internal in any::<bool>(),
        high_bytes in prop_oneof![Just(0), Just(MAX_KEY_BYTES), 2usize..MAX_KEY_BYTES],
        place in any::<prop::sample::Index>(),
    ) {
        let mut page = empty(u8::from(internal), 0);
        let mut full = BtreePageMut::new(&mut page);
        let child = if internal { 3 } else { NO_BLOCK };
        let first = usize::from(internal);
        if internal {
            full.insert(0, &Entry::internal(&[], Tid::MIN, 3)).unwrap();
        }
        if high_bytes > 0 {
            let high = vec![0xFF; high_bytes];
            full.split_off(first, None, (&high, Tid::MIN), 9, 0).unwrap();
            full.finish_split();
        }
        // Even numbers are taken, so that the new key fits between any two.
        let numbered = |number: usize, bytes: usize| {
            let mut key = (number as u16).to_be_bytes().to_vec();
            key.resize(bytes, 5);
            key
        };
        let mut lengths = lengths.into_iter();
        let mut taken = 0;
        let new_bytes = loop {
            let bytes = lengths.next().unwrap_or(MAX_KEY_BYTES);
            if !full.view().fits(bytes) {
                break bytes;
            }
            let key = numbered(2 * taken + 2, bytes);
            full.insert(first + taken, &Entry { key: &key, tid: Tid::MIN, child }).unwrap();
            taken += 1;
        };
        full.view().check().unwrap();
        let position = place.index(taken + 1);
        let key = numbered(2 * position + 1, new_bytes);
        let new = Entry { key: &key, tid: Tid::MIN, child };
        let sequence = Sequence::new(full.view(), first + position, new);
        let at = sequence.cut().unwrap();
        let (mut right, mut left) = ([0; PAGE_SIZE], page);
        let sequence = Sequence::new(BtreePage::new(&page), first + position, new);
        let links = Links { left: 0, right: BtreePage::new(&page).right(), cycle: 0 };
        sequence.build_right(at, &mut right, id(5), links);
        let (kept, new_stays) = sequence.left_of(at);
        let high = sequence.separator(at);
        let new = new_stays.then_some((first + position, new));
        BtreePageMut::new(&mut left).split_off(kept, new, high, 5, 0).unwrap();
        check(&left).unwrap();
        check(&right).unwrap();
        let (left, right) = (BtreePage::new(&left), BtreePage::new(&right));
        prop_assert_eq!(left.count() + right.count(), sequence.count());
        prop_assert_eq!(left.high_key(), Some(high));
        prop_assert_eq!(right.high_key(), BtreePage::new(&page).high_key());
        // The right half of an internal page may have one child, and then no separator.
        prop_assert!(left.count() > 0 && right.count() > 0);
        prop_assert!(right.count() == first || (right.key(first), right.tid(first)) >= high);
    }

    #[test]
    fn a_tree_is_an_ordered_map(
        ops in prop::collection::vec((0u8..10, key(), tid(), any::<bool>()), 1..400),
        stretch in 0usize..1500,
    ) {
        let mut tree = Tree::new();
        for (at, (op, key, tid, finish)) in ops.into_iter().enumerate() {
            let mut key = key;
            if at % 3 == 0 {
                key.resize((key.len() + stretch).min(MAX_KEY_BYTES), 7);
            }
            match op {
                0..7 => tree.insert(&key, tid, finish),
                7 => {
                    let block = tree.descend(&key, tid, 0);
                    if tree.page(block).count() > 0 {
                        BtreePageMut::new(&mut tree.pages[block as usize]).kill(0);
                        assert!(tree.page(block).is_killed(0));
                    }
                }
                _ => {
                    let next = tree.model.range((key.clone(), tid)..).next().cloned();
                    let (key, tid) = next.unwrap_or((key, tid));
                    tree.delete(&key, tid);
                }
            }
        }
        tree.verify();
        // Emptied from the left, leaves go one by one.
        for (key, tid) in tree.model.clone() {
            tree.delete(&key, tid);
        }
        tree.verify();
    }

    /// A page that passes can be searched, changed and split; nothing panics on one that does not.
    #[test]
    fn check_is_enough_for_every_reader(
        entries in prop::collection::vec((key(), tid()), 0..40),
        internal in any::<bool>(),
        flips in prop::collection::vec((0usize..300, any::<u8>()), 0..3),
        tail in prop::collection::vec((7000usize..PAGE_SIZE, any::<u8>()), 0..3),
        probe in (key(), tid()),
    ) {
        let mut page = empty(u8::from(internal), 0);
        let mut btree = BtreePageMut::new(&mut page);
        if internal {
            btree.insert(0, &Entry::internal(&[], Tid::MIN, 1)).unwrap();
        }
        for (key, tid) in &entries {
            let position = btree.view().insert_position(key, *tid);
            let same = position < btree.view().count() && btree.view().key(position) == &key[..];
            if btree.view().fits(key.len()) && !same && !(internal && btree.view().key(position - 1) == &key[..]) {
                let child = if internal { 2 } else { NO_BLOCK };
                btree.insert(position, &Entry { key, tid: *tid, child }).unwrap();
            }
        }
        check(&page).unwrap();
        for (at, value) in flips.into_iter().chain(tail) {
            page[at] = value;
        }
        if check(&page).is_ok() && header::page_type(&page) == Some(header::PageType::Btree) {
            let view = BtreePage::new(&page);
            let (key, tid) = &probe;
            let position = view.insert_position(key, *tid);
            let _ = (view.covers(key, *tid), view.high_key());
            for at in 0..view.count() {
                let _ = (view.entry(at), view.is_killed(at));
            }
            if view.count() > 0 {
                let new = Entry { key, tid: *tid, child: 5 };
                let sequence = Sequence::new(view, position, new);
                let at = sequence.cut().unwrap();
                let mut right = [0; PAGE_SIZE];
                let links = Links { left: view.left(), right: view.right(), cycle: 0 };
                sequence.build_right(at, &mut right, id(77), links);
                if view.fits(key.len()) {
                    let mut copy = page;
                    BtreePageMut::new(&mut copy).insert(position, &new).unwrap();
                }
            }
        }
    }

    #[test]
    fn check_survives_noise(words in prop::collection::vec(any::<u16>(), 80), count in 0u16..40, upper in any::<u16>()) {
        let mut page = empty(0, 0);
        for (at, word) in words.iter().enumerate() {
            page[24 + 2 * at..26 + 2 * at].copy_from_slice(&word.to_le_bytes());
        }
        let _ = check(&page);
        page[ENTRY_COUNT..ENTRY_COUNT + 2].copy_from_slice(&count.to_le_bytes());
        page[UPPER..UPPER + 2].copy_from_slice(&upper.to_le_bytes());
        let _ = check(&page);
    }
}

#[test]
fn ascending_keys_fill_pages() {
    let mut tree = Tree::new();
    for number in 0..6_000u32 {
        tree.insert(&number.to_be_bytes(), Tid::new(number, 0), true);
    }
    tree.verify();
    let leaves: Vec<_> =
        (0..tree.pages.len() as u32).map(|block| tree.page(block)).filter(|page| page.is_leaf()).collect();
    let used: usize = leaves.iter().map(|page| CONTENT_BYTES - page.free_space()).sum();
    assert!(used * 100 / (CONTENT_BYTES * leaves.len()) >= 85, "{used} bytes on {} leaves", leaves.len());
    assert_eq!(tree.page(0).level(), 1);
}

#[test]
fn descending_and_random_keys_split_in_the_middle() {
    for (step, most) in [(5_999u32, 25), (2_087, 20)] {
        let mut tree = Tree::new();
        for number in 0..6_000u32 {
            let number = (number * step) % 6_000;
            tree.insert(&number.to_be_bytes(), Tid::new(number, 0), true);
        }
        tree.verify();
        let leaves = (0..tree.pages.len() as u32).filter(|&block| tree.page(block).is_leaf()).count();
        assert!(leaves <= most, "{leaves} leaves");
    }
}

#[test]
fn the_longest_keys_can_always_be_split() {
    let mut tree = Tree::new();
    for number in 0..40u16 {
        // The keys differ only at their ends, so that separators are long too.
        let mut key = vec![9; MAX_KEY_BYTES];
        key[MAX_KEY_BYTES - 2..].copy_from_slice(&(number * 37 % 40).to_be_bytes());
        tree.insert(&key, Tid::new(1, number), number % 2 == 0);
    }
    tree.verify();
    assert!(tree.page(0).level() >= 2);
    check_key_size(MAX_KEY_BYTES).unwrap();
    let error = check_key_size(MAX_KEY_BYTES + 1).unwrap_err();
    assert_eq!(error.sqlstate(), sqlstate::PROGRAM_LIMIT_EXCEEDED);
}

#[test]
fn many_rows_of_one_key_are_told_apart_by_tid() {
    let mut tree = Tree::new();
    for number in 0..3_000u32 {
        tree.insert(b"the same", Tid::new(number * 7 % 3_000, 1), true);
    }
    tree.verify();
    assert!(tree.splits > 3);
    let block = tree.descend(b"the same", Tid::new(1234, 1), 0);
    let at = tree.page(block).lower_bound(b"the same", Tid::new(1234, 1));
    assert_eq!(tree.page(block).tid(at), Tid::new(1234, 1));
}

#[test]
fn a_pending_split_hides_nothing() {
    let mut tree = Tree::new();
    for number in 0..4_000u32 {
        tree.insert(&number.to_be_bytes(), Tid::MIN, false);
    }
    assert!(!tree.pending.is_empty());
    for number in (0..4_000u32).step_by(97) {
        let key = number.to_be_bytes();
        let page = tree.page(tree.descend(&key, Tid::MIN, 0));
        assert_eq!(page.key(page.lower_bound(&key, Tid::MIN)), key);
    }
    tree.verify();
}

#[test]
fn separators_are_as_short_as_they_can_be() {
    let mut page = empty(0, 0);
    let mut leaf = BtreePageMut::new(&mut page);
    leaf.insert(0, &Entry::leaf(b"alphabet", Tid::new(1, 1))).unwrap();
    leaf.insert(1, &Entry::leaf(b"beta", Tid::new(1, 2))).unwrap();
    let view = leaf.view();
    let sequence = Sequence::new(view, 1, Entry::leaf(b"alphanumeric", Tid::new(1, 3)));
    assert_eq!(sequence.count(), 3);
    assert_eq!(sequence.separator(1), (&b"alphan"[..], Tid::MIN));
    assert_eq!(sequence.separator(2), (&b"b"[..], Tid::MIN));
    let sequence = Sequence::new(view, 1, Entry::leaf(b"alphabet", Tid::new(1, 3)));
    assert_eq!(sequence.separator(1), (&b"alphabet"[..], Tid::new(1, 3)));
    assert_eq!((sequence.left_of(1), sequence.left_of(2)), ((1, false), (1, true)));
}

#[test]
fn changes_that_do_not_fit_leave_the_page_alone() {
    let mut page = empty(0, 0);
    let mut leaf = BtreePageMut::new(&mut page);
    for at in 0..2 {
        leaf.insert(at, &Entry::leaf(&[at as u8; MAX_KEY_BYTES], Tid::MIN)).unwrap();
    }
    let mut inner = empty(1, 0);
    let mut internal = BtreePageMut::new(&mut inner);
    internal.insert(0, &Entry::internal(&[], Tid::MIN, 4)).unwrap();
    let (leaf_before, inner_before) = (page, inner);
    let mut leaf = BtreePageMut::new(&mut page);
    let mut internal = BtreePageMut::new(&mut inner);
    let long = [3; MAX_KEY_BYTES];
    let refused = [
        leaf.insert(3, &Entry::leaf(b"x", Tid::MIN)),
        leaf.insert(2, &Entry::leaf(&[9; MAX_KEY_BYTES + 1], Tid::MIN)),
        leaf.insert(2, &Entry::leaf(&[9; 2_750], Tid::MIN)),
        leaf.delete(&[2]),
        leaf.delete(&[1, 0]),
        leaf.delete(&[0, 0]),
        leaf.split_off(3, None, (b"x", Tid::MIN), 9, 0),
        leaf.split_off(1, Some((2, Entry::leaf(b"x", Tid::MIN))), (b"x", Tid::MIN), 9, 0),
        leaf.split_off(2, Some((2, Entry::leaf(&long, Tid::MIN))), (&long, Tid::MIN), 9, 0),
        leaf.grow_root(1, 2, (b"x", Tid::MIN)),
        leaf.mark_half_dead(),
        leaf.mark_deleted(Xid(1)),
        leaf.unlink_child(0),
        internal.insert(0, &Entry::internal(b"x", Tid::MIN, 2)),
        internal.delete(&[0]),
        internal.unlink_child(0),
        internal.mark_half_dead(),
    ];
    for (at, result) in refused.into_iter().enumerate() {
        let error = result.expect_err(&format!("change {at}"));
        assert!(error.message().contains("8/0"), "{error}");
    }
    assert!(page == leaf_before && inner == inner_before);
}

#[test]
fn every_kind_of_damage_is_named() {
    let mut good = empty(0, 0);
    let mut leaf = BtreePageMut::new(&mut good);
    for (at, key) in [&b"key one"[..], b"key three", b"key two"].into_iter().enumerate() {
        leaf.insert(at, &Entry::leaf(key, Tid::new(1, at as u16))).unwrap();
    }
    leaf.split_off(3, None, (b"l", Tid::MIN), 4, 0).unwrap();
    leaf.finish_split();
    check(&good).unwrap();
    let entry = |at: usize| BtreePage::new(&good).offset(at);
    let high = u16_at(&good, HIGH_KEY) as usize;
    let other = (entry(0) as u16).to_le_bytes();
    let cases: [(usize, &[u8], &str); 18] = [
        (ENTRY_COUNT, &[255, 255], "65535 entries"),
        (UPPER, &[255, 255], "bytes from 65535"),
        (SKIP, &[5], "share"),
        (LEFT, &[0, 0, 0, 0], "header contradicts"),
        (RIGHT, &[255, 255, 255, 255], "header contradicts"),
        (LEVEL, &[40], "header contradicts"),
        (LEVEL + 1, &[1], "header contradicts"),
        (DELETED_XID, &[1], "header contradicts"),
        (header::FLAGS, &[0x10], "header contradicts"),
        (header::FLAGS, &[ROOT as u8], "header contradicts"),
        (slot_at(1) + 1, &[0x60], "slot 1"),
        (slot_at(1) + 2, &[9], "the head of entry 1"),
        (entry(0), &[200, 200], "does not fit"),
        (slot_at(1), &other, "does not fit"),
        (high, &[2], "does not fit"),
        (entry(2) + LEAF_ENTRY_BYTES + 4, b"a", "does not come after"),
        (high + LEAF_ENTRY_BYTES, b"a", "high key"),
        (5000, &[1], "not blank"),
    ];
    for (at, bytes, words) in cases {
        let mut page = good;
        page[at..at + bytes.len()].copy_from_slice(bytes);
        let error = check(&page).expect_err(words);
        assert!(error.detail_text().unwrap().contains(words), "{words}: {error}");
        assert_eq!(error.sqlstate(), sqlstate::INDEX_CORRUPTED);
    }
}
