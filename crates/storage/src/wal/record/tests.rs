//! The bytes of every kind of record, frozen; what damaged bytes do; frames at every kind of end.

use super::frame::{CRC, KIND, LENGTH, RECORD_FLAGS};
use super::*;
use crate::page::btree::{BtreePageMut, Entry, ROOT};
use crate::page::header::{self, format};
use crate::page::heap::{HeapPage, HeapPageMut, PrunePlan, RowDelta};
use crate::page::image::PageImage;
use crate::page::{NO_BLOCK, PAGE_SIZE, PageBytes, Tid, check};
use base::{Lsn, PageId, RelId, Xid};
use field::Rest;
use proptest::prelude::*;
use std::borrow::Cow;

const PAGE: PageId = PageId { rel: RelId(0x0A0B), block: 3 };

/// One body of every kind, with its bytes.
fn samples() -> Vec<(Body<'static>, &'static str)> {
    let image = PageImage { front: b"front", back: b"back" };
    let tid = Tid::new(0x0102, 0x03);
    let entry = Entry::internal(b"sep", tid, 9);
    let plan = PrunePlan {
        prune_xid: Xid(8),
        all_visible: true,
        redirects: vec![(1, 2)],
        dead: vec![3],
        unused: vec![4, 5],
        revived: vec![6],
    };
    vec![
        (Body::Filler(Filler { bytes: Rest(&[1, 2]) }), "0102"),
        (
            Body::Checkpoint(Checkpoint {
                redo: Lsn(0x10),
                timestamp_us: -2,
                next_xid: Xid(7),
                next_oid: 5,
                next_rel: RelId(6),
                running: Cow::Borrowed(&[Xid(3)]),
                aborted: Cow::Borrowed(&[]),
            }),
            "1000000000000000 feffffffffffffff 0700000000000000 05000000 06000000 01000000 0300000000000000 00000000",
        ),
        (Body::PageWrite(PageWrite { page: PAGE, image }), "0b0a0000 03000000 0500 66726f6e74 0400 6261636b"),
        (Body::HeapInsert(HeapInsert { page: PAGE, slot: 2, row: b"row" }), "0b0a0000 03000000 0200 0300 726f77"),
        (
            Body::HeapMultiInsert(HeapMultiInsert { page: PAGE, rows: vec![(0, b"a"), (1, b"bc")] }),
            "0b0a0000 03000000 0200 0000 0100 61 0100 0200 6263",
        ),
        (
            Body::HeapUpdate(HeapUpdate {
                page: PAGE,
                old_slot: 1,
                new_slot: 2,
                hot: true,
                keys_updated: false,
                delta: RowDelta { prefix: 3, suffix: 4, middle: b"m" },
            }),
            "0b0a0000 03000000 0100 0200 01 00 0300 0400 0100 6d",
        ),
        (
            Body::HeapUpdateAway(HeapUpdateAway {
                new_page: PAGE,
                new_slot: 1,
                old_block: 2,
                old_slot: 4,
                keys_updated: true,
                row: b"row",
            }),
            "0b0a0000 03000000 0100 02000000 0400 01 0300 726f77",
        ),
        (Body::HeapDelete(HeapDelete { page: PAGE, slot: 2 }), "0b0a0000 03000000 0200"),
        (Body::HeapOverwrite(HeapOverwrite { page: PAGE, slot: 2, row: b"row" }), "0b0a0000 03000000 0200 0300 726f77"),
        (
            Body::HeapPrune(HeapPrune { page: PAGE, plan }),
            "0b0a0000 03000000 0800000000000000 01 0100 0100 0200 0100 0300 0200 0400 0500 0100 0600",
        ),
        (
            Body::HeapReclaim(HeapReclaim { page: PAGE, slots: Cow::Borrowed(&[7, 8]) }),
            "0b0a0000 03000000 0200 0700 0800",
        ),
        (
            Body::BtreeInsert(BtreeInsert { page: PAGE, position: 1, tid, key: b"key" }),
            "0b0a0000 03000000 0100 02010000 0300 0300 6b6579",
        ),
        (
            Body::BtreeInsertChild(BtreeInsertChild { page: PAGE, position: 1, entry, finished: 8 }),
            "0b0a0000 03000000 0100 02010000 0300 09000000 0300 736570 08000000",
        ),
        (
            Body::BtreeSplit(BtreeSplit {
                page: PAGE,
                right: 4,
                next: 5,
                cycle: 6,
                kept: 7,
                new: Some((1, Entry::leaf(b"k", tid))),
                finished: NO_BLOCK,
                high_tid: Tid::MIN,
                high_key: b"h",
                image,
            }),
            "0b0a0000 03000000 04000000 05000000 0600 0700 01 0100 02010000 0300 ffffffff 0100 6b ffffffff 00000000 0000 \
             0100 68 0500 66726f6e74 0400 6261636b",
        ),
        (
            Body::BtreeNewRoot(BtreeNewRoot {
                page: PAGE,
                left: 4,
                right: 5,
                finished: 6,
                tid,
                key: b"h",
                left_image: image,
                right_image: PageImage { front: b"", back: b"r" },
            }),
            "0b0a0000 03000000 04000000 05000000 06000000 02010000 0300 0100 68 0500 66726f6e74 0400 6261636b 0000 0100 72",
        ),
        (
            Body::BtreeDelete(BtreeDelete { page: PAGE, positions: Cow::Borrowed(&[0, 2]) }),
            "0b0a0000 03000000 0200 0000 0200",
        ),
        (Body::BtreeHalfDead(BtreeHalfDead { page: PAGE, parent: 1, position: 2 }), "0b0a0000 03000000 01000000 0200"),
        (
            Body::BtreeUnlink(BtreeUnlink { page: PAGE, right: 4, left: NO_BLOCK, reusable_after: Xid(9) }),
            "0b0a0000 03000000 04000000 ffffffff 0900000000000000",
        ),
        (
            Body::Commit(Commit {
                timestamp_us: 1,
                subxids: Cow::Borrowed(&[Xid(2)]),
                dropped: Cow::Borrowed(&[RelId(3), RelId(4)]),
            }),
            "0100000000000000 01000000 0200000000000000 02000000 03000000 04000000",
        ),
        (
            Body::Abort(Abort { timestamp_us: 1, subxids: Cow::Borrowed(&[]), dropped: Cow::Borrowed(&[]) }),
            "0100000000000000 00000000 00000000",
        ),
        (Body::FileCreate(FileCreate { rel: RelId(7) }), "07000000"),
        (Body::FileDrop(FileDrop { rel: RelId(7) }), "07000000"),
        (Body::FileTruncate(FileTruncate { rel: RelId(7), blocks: 8 }), "07000000 08000000"),
        (Body::FileExtend(FileExtend { rel: RelId(7), blocks: 8 }), "07000000 08000000"),
        (Body::NextOid(NextOid { next: 9 }), "09000000"),
        (Body::NextRel(NextRel { next: RelId(9) }), "09000000"),
    ]
}

fn body_bytes(body: &Body<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    RecordBody::encode(body, &mut bytes);
    bytes
}

fn sealed(body: &Body<'_>, lsn: Lsn, epoch: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let draft = encode(&mut bytes, Xid(77), epoch, 0, body);
    assert_eq!(draft.bytes, bytes.len());
    draft.seal(&mut bytes, lsn, None);
    bytes
}

#[test]
fn the_bytes_of_every_kind_are_frozen() {
    let samples = samples();
    for (body, hex) in &samples {
        let bytes: String = body_bytes(body).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(bytes, hex.replace(' ', ""), "{:?}", body.kind());
    }
    let kinds: Vec<Kind> = samples.iter().map(|(body, _)| body.kind()).collect();
    let table: Vec<Kind> = Kind::TABLE.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, table, "every kind has a sample");
}

#[test]
fn the_table_of_kinds_is_in_order() {
    for pair in Kind::TABLE.windows(2) {
        assert!((pair[0].kind as u8) < pair[1].kind as u8, "{pair:?}");
    }
    for row in Kind::TABLE {
        assert_eq!(Kind::from_u8(row.kind as u8), Some(row.kind));
        assert!(Kind::TABLE.iter().filter(|other| other.name == row.name).count() == 1);
        assert!(!row.doc.is_empty() && !row.fields.is_empty());
    }
    assert_eq!(Kind::from_u8(0), None);
    assert_eq!(Kind::from_u8(255), None);
}

#[test]
fn every_kind_survives_the_log() {
    let mut log = Vec::new();
    for (body, _) in samples() {
        let lsn = Lsn(log.len() as u64);
        let start = log.len();
        let draft = encode(&mut log, Xid(5), 3, 0, &body);
        draft.seal(&mut log[start..], lsn, None);
        let mut length = Length::default();
        RecordBody::encode(&body, &mut length);
        assert_eq!(draft.bytes, (RECORD_HEADER_BYTES + length.0).next_multiple_of(RECORD_ALIGN));
        let mut reserved = vec![0; length.0];
        let mut window = Window::new(&mut reserved);
        RecordBody::encode(&body, &mut window);
        assert_eq!(window.left(), 0);
        assert_eq!(reserved, body_bytes(&body));
    }
    let mut at = Lsn(0);
    for (body, _) in samples() {
        let Parsed::Record(raw) = parse(&log[at.0 as usize..], at, 3) else { panic!("no record at {at}") };
        assert_eq!((raw.lsn, raw.xid, raw.epoch), (at, Xid(5), 3));
        assert_eq!(raw.decode().unwrap(), Record { xid: Xid(5), init: false, body });
        at = raw.end;
    }
    assert_eq!(parse(&log[at.0 as usize..], at, 3), Parsed::Partial { need: RECORD_HEADER_BYTES });
}

#[test]
fn every_flipped_byte_of_a_record_is_found() {
    for (body, _) in samples() {
        let good = sealed(&body, Lsn(64), 3);
        let length = RECORD_HEADER_BYTES + body_bytes(&body).len();
        for at in 0..length {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << (at % 8);
            match parse(&bytes, Lsn(64), 0) {
                Parsed::Record(raw) => panic!("byte {at} of {raw:?}"),
                Parsed::Partial { need } => assert!(need > length && (LENGTH..LENGTH + 4).contains(&at)),
                Parsed::End(_) => {}
            }
        }
    }
}

#[test]
fn a_record_is_one_only_where_it_was_written() {
    let bytes = sealed(&samples()[3].0, Lsn(64), 3);
    assert!(matches!(parse(&bytes, Lsn(64), 3), Parsed::Record(_)));
    assert!(matches!(parse(&bytes, Lsn(64 + (16 << 20)), 3), Parsed::End(End::Checksum { .. })));
    assert_eq!(parse(&bytes, Lsn(64), 4), Parsed::End(End::Stale { epoch: 3 }));
}

#[test]
fn ends_of_the_log_are_told_apart() {
    let bytes = sealed(&samples()[3].0, Lsn(64), 3);
    let with = |at: usize, value: &[u8]| {
        let mut copy = bytes.clone();
        copy[at..at + value.len()].copy_from_slice(value);
        copy
    };
    assert_eq!(parse(&[0; 100], Lsn(64), 0), Parsed::End(End::Blank));
    assert_eq!(parse(&[], Lsn(64), 0), Parsed::Partial { need: RECORD_HEADER_BYTES });
    let length = bytes.len() - 1;
    assert_eq!(parse(&bytes[..length - 1], Lsn(64), 0), Parsed::Partial { need: length });
    assert_eq!(parse(&with(LENGTH, &[23]), Lsn(64), 0), Parsed::End(End::Length(23)));
    assert_eq!(parse(&with(LENGTH, &[255; 4]), Lsn(64), 0), Parsed::End(End::Length(u32::MAX)));
    assert!(
        matches!(parse(&with(CRC, &[0; 4]), Lsn(64), 0), Parsed::End(End::Checksum { computed, .. }) if computed != 0)
    );
}

#[test]
fn unknown_kinds_and_flags_are_refused_with_a_hint() {
    for (at, value) in [(KIND, 0xEE), (RECORD_FLAGS, 0x80)] {
        let mut bytes = Vec::new();
        let draft = encode(&mut bytes, Xid(1), 0, 0, &NextOid { next: 1 });
        bytes[at] = value;
        draft.seal(&mut bytes, Lsn(8), None);
        let Parsed::Record(raw) = parse(&bytes, Lsn(8), 0) else { panic!() };
        let error = raw.decode().unwrap_err();
        assert!(error.hint_text().is_some() && error.message().contains("0/8"), "{error}");
    }
}

#[test]
fn a_body_with_bytes_left_over_is_refused() {
    for (body, _) in samples().into_iter().skip(1) {
        let mut bytes = body_bytes(&body);
        bytes.push(0);
        assert!(Body::decode(body.kind(), &bytes).is_err(), "{body:?}");
        bytes.truncate(bytes.len() - 2);
        assert!(Body::decode(body.kind(), &bytes).is_err(), "{body:?}");
    }
}

#[test]
fn pages_are_listed_in_the_order_they_are_redone() {
    let blocks = |body: &Body<'static>| {
        let record = Record { xid: Xid(1), init: true, body: body.clone() };
        record.pages().iter().map(|page| (page.id.block, page.fresh)).collect::<Vec<_>>()
    };
    for (body, _) in samples() {
        let expected: &[(u32, bool)] = match body.kind() {
            Kind::HeapInsert | Kind::HeapMultiInsert | Kind::PageWrite => &[(3, true)],
            Kind::HeapUpdateAway => &[(3, true), (2, false)],
            Kind::BtreeInsertChild => &[(3, false), (8, false)],
            Kind::BtreeSplit => &[(3, false), (4, true), (5, false)],
            Kind::BtreeNewRoot => &[(3, false), (4, true), (5, true), (6, false)],
            Kind::BtreeHalfDead => &[(3, false), (1, false)],
            Kind::BtreeUnlink => &[(3, false), (4, false)],
            kind if (kind as u8) < 0x10 || (kind as u8) >= 0x40 => &[],
            _ => &[(3, false)],
        };
        assert_eq!(blocks(&body), expected, "{body:?}");
    }
}

#[test]
fn redo_skips_what_a_page_has_and_begins_pages() {
    let mut page: PageBytes = [0xAA; PAGE_SIZE];
    page[header::LSN..header::LSN + 8].fill(0);
    let body = Body::HeapInsert(HeapInsert { page: PAGE, slot: 0, row: b"row" });
    let begins = Record { xid: Xid(4), init: true, body };
    assert!(begins.redo(0, Lsn(100), &mut page).unwrap());
    assert_eq!(header::lsn(&page), Lsn(100));
    assert_eq!(HeapPage::new(&page).version(0).unwrap().xmin(), Xid(4));
    check(&page).unwrap();
    assert!(!begins.redo(0, Lsn(100), &mut page).unwrap());
    assert!(!begins.redo(0, Lsn(99), &mut page).unwrap());
    let deletes = Record { xid: Xid(5), init: false, body: Body::HeapDelete(HeapDelete { page: PAGE, slot: 0 }) };
    assert!(deletes.redo(0, Lsn(200), &mut page).unwrap());
    assert_eq!(HeapPage::new(&page).version(0).unwrap().xmax(), Xid(5));
}

#[test]
fn a_record_does_not_land_on_another_page() {
    let deletes = Record { xid: Xid(5), init: false, body: Body::HeapDelete(HeapDelete { page: PAGE, slot: 0 }) };
    let mut other = [0; PAGE_SIZE];
    HeapPageMut::format(&mut other, PageId { block: 4, ..PAGE }).insert(0, Xid(1), b"row").unwrap();
    let mut tree = [0; PAGE_SIZE];
    BtreePageMut::format(&mut tree, PAGE, 0, ROOT);
    let mut new = [0; PAGE_SIZE];
    for page in [&mut other, &mut tree, &mut new] {
        let before = *page;
        let error = deletes.redo(0, Lsn(8), page).unwrap_err();
        assert!(error.message().contains("2571/3"), "{error}");
        assert!(*page == before);
    }
    let wrong = PageWrite { page: PageId { block: 5, ..PAGE }, image: PageImage::of(&other) };
    let before = new;
    assert!(wrong.apply(&mut new).is_err());
    assert!(new == before);
}

/// A heap and a B-tree page under the same name, with something on each.
fn targets() -> [PageBytes; 3] {
    let mut heap = [0; PAGE_SIZE];
    let mut view = HeapPageMut::format(&mut heap, PAGE);
    view.insert(0, Xid(1), b"a first row").unwrap();
    view.insert(1, Xid(1), b"a second row").unwrap();
    view.update(0, 2, Xid(2), true, false, &RowDelta { prefix: 4, suffix: 4, middle: b"third" }).unwrap();
    let mut leaf = [0; PAGE_SIZE];
    let mut view = BtreePageMut::format(&mut leaf, PAGE, 0, ROOT);
    view.insert(0, &Entry::leaf(b"apple", Tid::MIN)).unwrap();
    view.insert(1, &Entry::leaf(b"pear", Tid::MIN)).unwrap();
    let mut inner = [0; PAGE_SIZE];
    let mut view = BtreePageMut::format(&mut inner, PAGE, 1, 0);
    view.insert(0, &Entry::internal(b"", Tid::MIN, 7)).unwrap();
    view.insert(1, &Entry::internal(b"pear", Tid::MIN, 8)).unwrap();
    [heap, leaf, inner]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_are_a_body_or_an_error(kind in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for kind in Kind::from_u8(kind).into_iter().chain(Kind::TABLE.iter().map(|row| row.kind)) {
            if let Ok(body) = Body::decode(kind, &bytes) {
                prop_assert_eq!(body_bytes(&body), bytes.clone());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_frame_or_an_end(bytes in prop::collection::vec(any::<u8>(), 0..80), length in 0u8..90) {
        let _ = parse(&bytes, Lsn(8), 0);
        let mut bytes = bytes;
        if bytes.len() > 8 {
            bytes[LENGTH..LENGTH + 4].copy_from_slice(&[length, 0, 0, 0]);
            let _ = parse(&bytes, Lsn(u64::MAX), 0);
        }
    }

    /// Damage that no checksum saw: redo answers an error and leaves the page, or changes it, and never panics.
    #[test]
    fn damaged_records_do_not_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        nth in 0usize..4,
    ) {
        for (body, _) in samples() {
            let mut bytes = body_bytes(&body);
            for (at, value) in &flips {
                let at = at.index(bytes.len());
                bytes[at] = *value;
            }
            // Most fields of the samples are page ids: keep them, or nothing would ever apply.
            let page = bytes.len().min(8);
            bytes[..page].copy_from_slice(&body_bytes(&body)[..page]);
            let Ok(body) = Body::decode(body.kind(), &bytes) else { continue };
            let record = Record { xid: Xid(3), init: false, body };
            let uses = record.pages();
            if nth >= uses.len() {
                continue;
            }
            for mut target in targets() {
                target[header::BLOCK..header::BLOCK + 4].copy_from_slice(&uses[nth].id.block.to_le_bytes());
                let before = target;
                if record.redo(nth, Lsn(1000), &mut target).is_err() {
                    prop_assert!(target == before, "{:?} failed and changed the page", record);
                }
            }
        }
    }
}

#[test]
fn a_fresh_page_of_a_foreign_type_is_no_target() {
    let mut page = [0; PAGE_SIZE];
    format(&mut page, header::PageType::Btree, PAGE);
    let body = Body::HeapReclaim(HeapReclaim { page: PAGE, slots: Cow::Borrowed(&[]) });
    assert!(Record { xid: Xid(0), init: false, body }.redo(0, Lsn(8), &mut page).is_err());
}
