//! Pages and log records that a server has written, mutated, into everything that reads them: nothing panics, damage is an error,
//! and a record that does not fit leaves its page as it was.
//!
//! `tests/corpus` has pages and records of a database that pgbench and psql have used: heap pages (full, with room, with several
//! versions of rows, of the catalog), B-tree pages (a root that is a leaf, a leaf among others, a root above leaves), and of each
//! kind of record the shortest and a middling one. Records are stored with their headers, pages whole.

use base::{Lsn, PageId, RelId};
use std::path::Path;
use storage::btree::Cursor;
use storage::page::btree::BtreePage;
use storage::page::header::{self, PageType};
use storage::page::heap::HeapPage;
use storage::page::image::PageImage;
use storage::page::raw::{put_u32, put_u64, u32_at};
use storage::page::{self, PAGE_SIZE, PageBytes, Tid};
use storage::wal::record::frame::{CRC, LENGTH};
use storage::wal::record::{MAX_RECORD_BYTES, Parsed, RECORD_HEADER_BYTES, Record, parse};
use testkit::fuzz::{Corpus, Random, expect, mutate};

fn corpus() -> Corpus {
    Corpus::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"))
}

const AT: Lsn = Lsn(0x1000);

fn as_page(bytes: &[u8]) -> Box<PageBytes> {
    let mut page = Box::new([0; PAGE_SIZE]);
    let length = bytes.len().min(PAGE_SIZE);
    page[..length].copy_from_slice(&bytes[..length]);
    page
}

/// Makes the checksum right for position [`AT`], and the length if it is not a record's: a fuzzer would not find them.
fn seal(record: &mut Vec<u8>) {
    if record.len() < RECORD_HEADER_BYTES {
        record.resize(RECORD_HEADER_BYTES, 0);
    }
    let length = record.len();
    put_u32(record, LENGTH, length as u32);
    record[RECORD_HEADER_BYTES - 2..RECORD_HEADER_BYTES].fill(0);
    let mut tail = record[LENGTH..RECORD_HEADER_BYTES].to_vec();
    tail.resize(tail.len() + 8, 0);
    let end = tail.len() - 8;
    put_u64(&mut tail, end, AT.0);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&record[RECORD_HEADER_BYTES..]), &tail);
    put_u32(record, CRC, crc);
}

/// Reads a page as everybody does that trusts it.
fn look_through(bytes: &PageBytes, random: &mut Random) {
    match header::page_type(bytes) {
        Some(PageType::Heap) => {
            let heap = HeapPage::new(bytes);
            for (slot, version) in heap.versions() {
                let _ = (version.row().len(), version.xmin(), version.xmax(), version.next(), version.command());
                let _ = (heap.chain(slot), heap.chain_next(&version), heap.lock(slot, 1));
            }
            for slot in 0..heap.slot_count() {
                let _ = heap.slot(slot);
            }
            let _ = (heap.hole(), heap.free_space(0), heap.vacant_slot(), heap.fits(100, 10));
        }
        Some(PageType::Btree) => {
            let tree = BtreePage::new(bytes);
            let _ = (tree.level(), tree.left(), tree.right(), tree.free_space(), tree.is_ignored());
            for position in 0..tree.count() {
                let entry = tree.entry(position);
                let _ = (tree.key(position), tree.tid(position), tree.is_killed(position), entry.key.len());
            }
            if !tree.is_ignored() && tree.count() > 0 {
                let key = tree.key(random.at(tree.count())).to_vec();
                let _ = (tree.covers(&key, Tid::MAX), tree.high_key());
                match tree.is_leaf() {
                    true => drop((tree.lower_bound(&key, Tid::MIN), tree.insert_position(&key, Tid::MIN))),
                    false => drop((tree.child_position(&key, Tid::MIN), tree.child(0))),
                }
            }
        }
        None => {}
    }
    let mut again = [0; PAGE_SIZE];
    let image = PageImage::of(bytes);
    image.restore(&mut again).expect("the image of a page is a page");
    assert!(again == *bytes, "a page's image gives back other bytes");
    page::mask(&mut again);
}

#[test]
fn what_was_recorded_is_right() {
    let corpus = corpus();
    let mut random = Random::new(1);
    for bytes in corpus.named("page").files() {
        let bytes = as_page(bytes);
        let id = header::page_id(&bytes);
        header::verify(&bytes, id).expect("its checksum is right");
        page::check(&bytes).expect("it is whole");
        look_through(&bytes, &mut random);
    }
    for bytes in corpus.named("record").files() {
        let mut bytes = bytes.to_vec();
        seal(&mut bytes);
        let Parsed::Record(record) = parse(&bytes, AT, 0) else { panic!("it is a record") };
        record.decode().expect("its body is right");
    }
}

#[test]
fn mutated_pages_are_refused_or_can_be_read() {
    let corpus = corpus().named("page");
    expect("pages", 1, 60_000, |random| {
        let mut bytes = as_page(corpus.pick(random));
        for _ in 0..=random.below(6) {
            // Where a page says what it holds; elsewhere there is mostly data.
            let from = random.below(2) as usize * (PAGE_SIZE - 512);
            let mut part = bytes[from..from + 512].to_vec();
            mutate(&mut part, random);
            part.resize(512, 0);
            bytes[from..from + 512].copy_from_slice(&part);
        }
        let id = header::page_id(&bytes);
        if random.below(4) > 0 {
            header::seal(&mut bytes);
        }
        let found = header::verify(&bytes, id);
        if page::check(&bytes).is_ok() && found.is_ok() {
            look_through(&bytes, random);
        }
    });
}

/// The page that a record is for, as far as its name goes: a recorded one, renamed.
fn page_for(id: PageId, fresh: bool, pages: &Corpus, random: &mut Random) -> Box<PageBytes> {
    if fresh && random.below(2) == 0 {
        return Box::new([0; PAGE_SIZE]);
    }
    let mut bytes = as_page(pages.pick(random));
    put_u32(&mut bytes[..], header::REL, id.rel.0);
    put_u32(&mut bytes[..], header::BLOCK, id.block);
    bytes
}

fn apply(record: &Record<'_>, pages: &Corpus, random: &mut Random) {
    for (nth, used) in record.pages().iter().enumerate() {
        let mut bytes = page_for(used.id, used.fresh, pages, random);
        let before = bytes.clone();
        match record.apply(nth, &mut bytes) {
            Err(error) => {
                assert!(!error.message().is_empty());
                // Of a page that the record was to make, nothing is left to be kept.
                assert!(used.fresh || bytes == before, "a change that does not fit has changed the page: {error}");
            }
            Ok(()) => {
                let _ = page::check(&bytes);
            }
        }
    }
}

#[test]
fn mutated_records_are_refused_or_fit_or_change_nothing() {
    let (records, pages) = (corpus().named("record"), corpus().named("page"));
    expect("records", 1, 60_000, |random| {
        let mut bytes = records.case(random);
        if random.below(8) > 0 {
            seal(&mut bytes);
        }
        match parse(&bytes, AT, random.below(3) as u32) {
            Parsed::Partial { need } => assert!(need > bytes.len() && need <= MAX_RECORD_BYTES),
            Parsed::End(_) => {}
            Parsed::Record(raw) => {
                assert_eq!(u32_at(&bytes, LENGTH) as usize, RECORD_HEADER_BYTES + raw.body.len());
                match raw.decode() {
                    Ok(record) => apply(&record, &pages, random),
                    Err(error) => assert!(!error.message().is_empty()),
                }
            }
        }
    });
}

#[test]
fn mutated_scans_are_refused_or_restored() {
    // The bytes of a scan that was put away, as far as they are the same for all: relation, direction, bounds, position.
    let mut saved = RelId(16_397).0.to_le_bytes().to_vec();
    saved.extend([0, 1, 0, 0, 2, 4, 0, 0, 0, b'a', b'b', b'c', b'd', 1, 0, 0, 0, 2, 0, 0, 0, 0, 0]);
    expect("scans", 1, 60_000, |random| {
        let mut bytes = saved.clone();
        for _ in 0..=random.below(6) {
            mutate(&mut bytes, random);
        }
        let _ = Cursor::restore(&bytes);
    });
}
