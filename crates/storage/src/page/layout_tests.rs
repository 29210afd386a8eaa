//! `docs/format.md` and the code say the same: every layout constant, every kind of record, and the bytes of sample
//! pages. A difference means that files and logs already written can no longer be read: a new format version, not an
//! edit here.

use super::btree::{self, BtreePageMut, Entry};
use super::heap::{self, HeapPageMut, RowDelta, row};
use super::{NO_BLOCK, PAGE_SIZE, PageBytes, Tid, check, header};
use crate::wal::record::{self, Kind, frame};
use base::{Lsn, PageId, RelId, Xid};

const DOCUMENT: &str = include_str!("../../../../docs/format.md");

/// The lines of the fenced block of `docs/format.md` with this label.
fn block(label: &str) -> Vec<&'static str> {
    let fence = format!("```{label}\n");
    let from = DOCUMENT.find(&fence).unwrap_or_else(|| panic!("docs/format.md has no block {label}")) + fence.len();
    let to = from + DOCUMENT[from..].find("```").expect("the block ends");
    DOCUMENT[from..to].lines().collect()
}

macro_rules! constants {
    ($($module:ident: $($name:ident)*;)*) => {
        vec![$($(format!("{}::{} = {}", stringify!($module), stringify!($name), $module::$name)),*),*]
    };
}

fn constants() -> Vec<String> {
    use super as page;
    constants! {
        page: PAGE_SIZE NO_BLOCK;
        header: CHECKSUM TYPE VERSION FLAGS LSN REL BLOCK HEADER_BYTES FORMAT_VERSION;
        heap: SLOT_COUNT UPPER UNUSED_COUNT PRUNE_XID LOCK_EPOCH HEAP_HEADER_BYTES SLOT_BYTES ROW_ALIGN MAX_ROW_BYTES
            MAX_SLOTS ALL_VISIBLE SLOT_UNUSED SLOT_NORMAL SLOT_REDIRECT SLOT_DEAD;
        row: XMIN XMAX NEXT_BLOCK LOCK COMMAND NEXT_SLOT ROW_FLAGS ROW_HEADER_BYTES XMIN_COMMITTED XMIN_ABORTED
            XMAX_COMMITTED XMAX_ABORTED COMMAND_COMBO UPDATED DELETED KEYS_UPDATED HEAP_ONLY HOT_UPDATED;
        btree: ENTRY_COUNT UPPER HIGH_KEY SKIP LEFT RIGHT LEVEL CYCLE DELETED_XID SAMPLES SAMPLE_COUNT BTREE_HEADER_BYTES
            SLOT_BYTES
            LEAF_ENTRY_BYTES INTERNAL_ENTRY_BYTES MAX_KEY_BYTES MAX_LEVEL ROOT SPLIT_PENDING HALF_DEAD DELETED KILLED;
        frame: CRC LENGTH XID EPOCH KIND RECORD_FLAGS DURABLE DURABLE_UNIT RECORD_HEADER_BYTES RECORD_ALIGN MAX_RECORD_BYTES RECORD_INIT;
    }
}

#[test]
fn layout_constants_are_frozen() {
    let code = constants();
    assert!(code.iter().map(String::as_str).eq(block("layout")), "the code says:\n{}\n", code.join("\n"));
}

#[test]
fn kinds_of_records_are_frozen() {
    let code: Vec<String> = Kind::TABLE
        .iter()
        .map(|row| format!("{:#04x} {:?} {}: {}", row.kind as u8, row.resource, row.name, row.fields.join(", ")))
        .collect();
    assert!(code.iter().map(String::as_str).eq(block("records")), "the code says:\n{}\n", code.join("\n"));
}

#[test]
fn page_types_are_frozen() {
    let code: Vec<String> = header::PageType::ALL.iter().map(|kind| format!("{} {kind:?}", *kind as u8)).collect();
    assert!(code.iter().map(String::as_str).eq(block("page-types")), "the code says:\n{}\n", code.join("\n"));
}

fn sealed(page: &mut PageBytes) -> String {
    check(page).unwrap();
    header::set_lsn(page, Lsn(0x0123_4567));
    header::seal(page);
    format!("{:08x}", header::checksum(page))
}

/// Pages that use every part of the formats, by their checksums: the arrangement of rows and entries is frozen too.
#[test]
fn sample_pages_are_frozen() {
    let id = PageId { rel: RelId(16_384), block: 7 };
    let mut page = [0; PAGE_SIZE];
    let mut heap = HeapPageMut::format(&mut page, id);
    heap.insert(0, Xid(100), b"a row").unwrap();
    heap.insert(1, Xid(100), b"a longer row than the first").unwrap();
    heap.insert(2, Xid(101), b"a third").unwrap();
    heap.update(1, 3, Xid(102), true, false, &RowDelta { prefix: 9, suffix: 6, middle: b"!" }).unwrap();
    heap.update_away(0, Xid(103), Tid::new(9, 4), true).unwrap();
    heap.delete(2, Xid(104)).unwrap();
    heap.prune_apply(&heap::PrunePlan {
        prune_xid: Xid(103),
        redirects: vec![(1, 3)],
        dead: vec![2],
        ..heap::PrunePlan::default()
    })
    .unwrap();
    let heap_sum = sealed(&mut page);

    let mut page = [0; PAGE_SIZE];
    let mut leaf = BtreePageMut::format(&mut page, id, 0, 0);
    for (at, key) in [&b"prefix a"[..], b"prefix a", b"prefix b", b"prefix cc"].into_iter().enumerate() {
        leaf.insert(at, &Entry::leaf(key, Tid::new(1, at as u16))).unwrap();
    }
    leaf.delete(&[0]).unwrap();
    leaf.split_off(2, Some((0, Entry::leaf(b"prefix", Tid::new(3, 3)))), (b"prefix c", Tid::MIN), 8, 2).unwrap();
    leaf.set_left(6);
    let leaf_sum = sealed(&mut page);

    let mut page = [0; PAGE_SIZE];
    let mut leaf = BtreePageMut::format(&mut page, id, 0, 0);
    for number in 0..100u16 {
        leaf.insert(number as usize, &Entry::leaf(&(number * 11).to_be_bytes(), Tid::new(number.into(), 0))).unwrap();
    }
    let full_sum = sealed(&mut page);

    let mut page = [0; PAGE_SIZE];
    let mut root = BtreePageMut::format(&mut page, id, 0, btree::ROOT);
    root.grow_root(1, 2, (b"separator", Tid::new(5, 6))).unwrap();
    let root_sum = sealed(&mut page);

    let code = [
        format!("heap {heap_sum}"),
        format!("leaf {leaf_sum}"),
        format!("full {full_sum}"),
        format!("root {root_sum}"),
    ];
    assert!(code.iter().map(String::as_str).eq(block("samples")), "the code says:\n{}\n", code.join("\n"));
}

const _: () = {
    assert!(NO_BLOCK == u32::MAX);
    assert!(record::RECORD_HEADER_BYTES.is_multiple_of(record::RECORD_ALIGN));
    assert!(heap::HEAP_HEADER_BYTES.is_multiple_of(heap::SLOT_BYTES));
    assert!(btree::BTREE_HEADER_BYTES.is_multiple_of(btree::SLOT_BYTES));
    assert!(3 * (btree::INTERNAL_ENTRY_BYTES + btree::SLOT_BYTES + btree::MAX_KEY_BYTES) <= btree::CONTENT_BYTES);
    // Atomics reach flags and lock words where they lie.
    assert!(row::ROW_FLAGS.is_multiple_of(2) && row::LOCK.is_multiple_of(4) && heap::ROW_ALIGN.is_multiple_of(8));
};
