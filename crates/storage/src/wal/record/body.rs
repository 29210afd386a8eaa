//! The table of record kinds: number, name, what it belongs to, fields, and what it means.
//!
//! Numbers are on disk and are never given twice. The high digit groups them: pages, heap, B-tree, transactions, files,
//! counters. `docs/format.md` lists the same table, and a test compares them.

use super::field::{Field, PlacedRow, Rest, Sink};
use crate::page::btree::Entry;
use crate::page::heap::{PrunePlan, RowDelta};
use crate::page::image::PageImage;
use crate::page::{NO_BLOCK, Tid};
use base::codec::Reader;
use base::{Error, Lsn, PageId, RelId, Result, Xid};
use std::borrow::Cow;

/// What part of the server a record belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    /// Any page, as bytes.
    Page,
    /// A heap page.
    Heap,
    /// B-tree pages.
    Btree,
    /// The fate of transactions.
    Transaction,
    /// The log itself.
    Log,
    /// The files of relations.
    File,
    /// Counters that outlive a restart.
    Counter,
}

/// One row of the table of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KindInfo {
    /// The kind.
    pub kind: Kind,
    /// Its name, as views and tools print it.
    pub name: &'static str,
    /// What it belongs to.
    pub resource: Resource,
    /// Its fields' names, in the order of their bytes.
    pub fields: &'static [&'static str],
    /// What it means.
    pub doc: &'static str,
}

/// A record body: what [`super::encode`] takes.
pub trait RecordBody {
    /// The kind of the record.
    fn kind(&self) -> Kind;
    /// Appends the body's bytes.
    fn encode(&self, sink: &mut impl Sink);
}

macro_rules! records {
    ($bytes:lifetime $(
        $(#[doc = $doc:literal])+
        $number:literal $label:literal $resource:ident $name:ident $(<$life:lifetime>)? {
            $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty,)*
        }
    )*) => {
        /// What a record is about.
        #[repr(u8)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind {
            $($(#[doc = $doc])+ $name = $number,)*
        }

        impl Kind {
            /// Every kind, in the order of the numbers.
            pub const TABLE: &'static [KindInfo] = &[$(KindInfo {
                kind: Kind::$name,
                name: $label,
                resource: Resource::$resource,
                fields: &[$(stringify!($field)),*],
                doc: concat!($($doc, "\n"),+),
            }),*];

            /// The kind with a number, if there is one.
            pub fn from_u8(raw: u8) -> Option<Kind> {
                match raw {
                    $($number => Some(Kind::$name),)*
                    _ => None,
                }
            }
        }

        /// The body of any record.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Body<$bytes> {
            $($(#[doc = $doc])+ $name($name $(<$life>)?),)*
        }

        impl<$bytes> Body<$bytes> {
            /// Reads a body of a kind. All bytes must be used.
            pub fn decode(kind: Kind, bytes: &$bytes [u8]) -> Result<Body<$bytes>> {
                let mut reader = Reader::new(bytes);
                let body = match kind {
                    $(Kind::$name => Field::take(&mut reader).map(Body::$name),)*
                };
                body.filter(|_| reader.is_empty()).ok_or_else(|| {
                    Error::corruption("a log record is damaged")
                        .detail(format!("{} bytes are no record of kind {kind:?}.", bytes.len()))
                })
            }
        }

        impl RecordBody for Body<'_> {
            fn kind(&self) -> Kind {
                match self {
                    $(Body::$name(_) => Kind::$name,)*
                }
            }

            fn encode(&self, sink: &mut impl Sink) {
                match self {
                    $(Body::$name(body) => body.encode(sink),)*
                }
            }
        }

        $(
            $(#[doc = $doc])+
            #[derive(Clone, PartialEq, Eq, Debug)]
            pub struct $name $(<$life>)? {
                $($(#[doc = $field_doc])+ pub $field: $type,)*
            }

            impl<'r $(: $life, $life)?> Field<'r> for $name $(<$life>)? {
                #[inline]
                fn put(&self, sink: &mut impl Sink) {
                    $(self.$field.put(sink);)*
                }

                #[inline]
                fn take(reader: &mut Reader<'r>) -> Option<Self> {
                    Some($name { $($field: Field::take(reader)?),* })
                }
            }

            impl $(<$life>)? RecordBody for $name $(<$life>)? {
                #[inline]
                fn kind(&self) -> Kind {
                    Kind::$name
                }

                #[inline]
                fn encode(&self, sink: &mut impl Sink) {
                    Field::put(self, sink);
                }
            }
        )*
    };
}

records! { 'a
    /// Bytes that mean nothing, so that the next record begins where it is wanted.
    0x01 "filler" Log Filler<'a> {
        /// The bytes.
        bytes: Rest<'a>,
    }

    /// A checkpoint: recovery begins at `redo`, and knows of everything before what is written here.
    0x02 "checkpoint" Log Checkpoint<'a> {
        /// Every change before this position is in the files.
        redo: Lsn,
        /// When the checkpoint was taken, in microseconds since 1970.
        timestamp_us: i64,
        /// No transaction at or after this one existed.
        next_xid: Xid,
        /// The next object id.
        next_oid: u32,
        /// The next relation storage.
        next_rel: RelId,
        /// Transactions, sub-transactions among them, that ran at `redo`: aborted unless a commit follows.
        running: Cow<'a, [Xid]>,
        /// Transactions that aborted and whose versions may still be on pages.
        aborted: Cow<'a, [Xid]>,
    }

    /// A whole page.
    0x08 "page_image" Page PageWrite<'a> {
        /// The page.
        page: PageId,
        /// Its bytes.
        image: PageImage<'a>,
    }

    /// A row's first version was put into a slot.
    0x10 "heap_insert" Heap HeapInsert<'a> {
        /// The page.
        page: PageId,
        /// The slot.
        slot: u16,
        /// The row's bytes.
        row: &'a [u8],
    }

    /// Several rows' first versions were put into slots of one page.
    0x11 "heap_multi_insert" Heap HeapMultiInsert<'a> {
        /// The page.
        page: PageId,
        /// Slots and rows' bytes.
        rows: Vec<PlacedRow<'a>>,
    }

    /// A row was updated, and its new version is on the same page.
    0x12 "heap_update" Heap HeapUpdate<'a> {
        /// The page.
        page: PageId,
        /// The slot of the old version.
        old_slot: u16,
        /// The slot of the new version.
        new_slot: u16,
        /// No index has an entry for the new version.
        hot: bool,
        /// Key columns changed.
        keys_updated: bool,
        /// The new row's bytes, without those that it begins and ends with like the old one.
        delta: RowDelta<'a>,
    }

    /// A row was updated, and its new version is on another page of the same relation.
    0x13 "heap_update_away" Heap HeapUpdateAway<'a> {
        /// The page of the new version.
        new_page: PageId,
        /// The slot of the new version.
        new_slot: u16,
        /// The block of the old version.
        old_block: u32,
        /// The slot of the old version.
        old_slot: u16,
        /// Key columns changed.
        keys_updated: bool,
        /// The new row's bytes.
        row: &'a [u8],
    }

    /// A row was deleted.
    0x14 "heap_delete" Heap HeapDelete {
        /// The page.
        page: PageId,
        /// The slot of the version.
        slot: u16,
    }

    /// A row's bytes were replaced in place, whatever becomes of the transaction.
    0x15 "heap_overwrite" Heap HeapOverwrite<'a> {
        /// The page.
        page: PageId,
        /// The slot of the version.
        slot: u16,
        /// As many bytes as were there.
        row: &'a [u8],
    }

    /// Versions that nobody can see were removed from a page.
    0x16 "heap_prune" Heap HeapPrune {
        /// The page.
        page: PageId,
        /// What was done to which slot.
        plan: PrunePlan,
    }

    /// Dead slots became unused: no index entry points to them any more.
    0x17 "heap_reclaim" Heap HeapReclaim<'a> {
        /// The page.
        page: PageId,
        /// The slots.
        slots: Cow<'a, [u16]>,
    }

    /// An entry was put on a leaf.
    0x20 "btree_insert" Btree BtreeInsert<'a> {
        /// The page.
        page: PageId,
        /// Before which entry.
        position: u16,
        /// The row's place.
        tid: Tid,
        /// The key.
        key: &'a [u8],
    }

    /// The right half of a split was entered in the parent, which completes the split.
    0x21 "btree_insert_child" Btree BtreeInsertChild<'a> {
        /// The parent page.
        page: PageId,
        /// Before which entry.
        position: u16,
        /// The separator and the new child.
        entry: Entry<'a>,
        /// The block of the left half, whose split is no longer pending.
        finished: u32,
    }

    /// A page was split, together with the insert that made it necessary.
    0x22 "btree_split" Btree BtreeSplit<'a> {
        /// The page that was split, now the left half.
        page: PageId,
        /// The block of the right half.
        right: u32,
        /// The block of the former right neighbour, if there is one.
        next: u32,
        /// The running vacuum's cycle, or zero.
        cycle: u16,
        /// How many of the old entries the left half keeps.
        kept: u16,
        /// Where the new entry goes, and itself, if it is on the left half.
        new: Option<(u16, Entry<'a>)>,
        /// Above the leaves: the block of the page whose split the new entry completes.
        finished: u32,
        /// The separator's tid.
        high_tid: Tid,
        /// The separator's key.
        high_key: &'a [u8],
        /// The right half.
        image: PageImage<'a>,
    }

    /// The root was split: its entries went to two new pages, and it became their parent.
    0x23 "btree_new_root" Btree BtreeNewRoot<'a> {
        /// The root.
        page: PageId,
        /// The block of the left half.
        left: u32,
        /// The block of the right half.
        right: u32,
        /// Above the leaves: the block of the page whose split the new entry completes.
        finished: u32,
        /// The separator's tid.
        tid: Tid,
        /// The separator's key.
        key: &'a [u8],
        /// The left half.
        left_image: PageImage<'a>,
        /// The right half.
        right_image: PageImage<'a>,
    }

    /// Entries were removed from a page.
    0x24 "btree_delete" Btree BtreeDelete<'a> {
        /// The page.
        page: PageId,
        /// The entries' positions, ascending.
        positions: Cow<'a, [u16]>,
    }

    /// An empty leaf lost its entry in the parent.
    0x25 "btree_half_dead" Btree BtreeHalfDead {
        /// The leaf.
        page: PageId,
        /// The block of the parent.
        parent: u32,
        /// The leaf's position there.
        position: u16,
    }

    /// A half-dead page was taken out of its level.
    0x26 "btree_unlink" Btree BtreeUnlink {
        /// The page.
        page: PageId,
        /// The block of the right neighbour.
        right: u32,
        /// The block of the left neighbour, if there is one.
        left: u32,
        /// The page may be used again when no snapshot is older than this transaction.
        reusable_after: Xid,
    }

    /// The transaction of the record's xid committed, and with it its sub-transactions.
    0x40 "commit" Transaction Commit<'a> {
        /// When, in microseconds since 1970.
        timestamp_us: i64,
        /// Sub-transactions that committed with it.
        subxids: Cow<'a, [Xid]>,
        /// Files that are gone with the commit.
        dropped: Cow<'a, [RelId]>,
    }

    /// The transaction of the record's xid aborted, or one of its sub-transactions did.
    0x41 "abort" Transaction Abort<'a> {
        /// When, in microseconds since 1970.
        timestamp_us: i64,
        /// Sub-transactions that aborted with it.
        subxids: Cow<'a, [Xid]>,
        /// Files that the transaction had made.
        dropped: Cow<'a, [RelId]>,
    }

    /// A relation's file was made, without pages.
    0x50 "file_create" File FileCreate {
        /// The relation's storage.
        rel: RelId,
    }

    /// A relation's file is gone, outside of any commit or abort.
    0x51 "file_drop" File FileDrop {
        /// The relation's storage.
        rel: RelId,
    }

    /// A relation's file was cut off at its end.
    0x52 "file_truncate" File FileTruncate {
        /// The relation's storage.
        rel: RelId,
        /// Pages that are left.
        blocks: u32,
    }

    /// A relation's file has at least so many pages. From a transaction, which ran at a checkpoint: it has made the file, before the log that
    /// a recovery from that checkpoint reads.
    0x53 "file_extend" File FileExtend {
        /// The relation's storage.
        rel: RelId,
        /// Pages that it has.
        blocks: u32,
    }

    /// Object ids below `next` may have been given out.
    0x60 "next_oid" Counter NextOid {
        /// The next one to give out after a crash.
        next: u32,
    }

    /// Relation storages below `next` may have been given out.
    0x61 "next_rel" Counter NextRel {
        /// The next one to give out after a crash.
        next: RelId,
    }
}

impl BtreeInsertChild<'_> {
    /// True when the entry is one of an internal page.
    pub(super) fn has_child(&self) -> bool {
        self.entry.child != NO_BLOCK
    }
}
