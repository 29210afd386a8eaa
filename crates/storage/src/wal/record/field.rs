//! How the fields of log records become bytes, and bytes become fields.
//!
//! Numbers are little-endian. A run of bytes (a row, a key) has its length before it as `u16`; a list of slots its
//! count as `u16`; a list of transactions or files its count as `u32`. A reader that meets the end too early answers
//! `None`, and no count makes it allocate more than the bytes that are there.

use crate::page::btree::Entry;
use crate::page::heap::{PrunePlan, RowDelta};
use crate::page::image::PageImage;
use crate::page::{PAGE_SIZE, Tid};
use base::codec::Reader;
use base::{Lsn, PageId, RelId, Xid};
use std::borrow::Cow;

/// Where encoded bytes go.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Counts the bytes that would be put.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Length(pub usize);

impl Sink for Length {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

/// Puts bytes into memory that was reserved for them, as long as [`Length`] said.
#[derive(Debug)]
pub struct Window<'a> {
    rest: &'a mut [u8],
}

impl<'a> Window<'a> {
    /// Fills `bytes` from the front.
    pub fn new(bytes: &'a mut [u8]) -> Window<'a> {
        Window { rest: bytes }
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }
}

impl Sink for Window<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let (head, rest) = std::mem::take(&mut self.rest).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        self.rest = rest;
    }
}

/// A value that is part of a record. `'r` is the life of the bytes it may be read from.
pub trait Field<'r>: Sized {
    /// Appends the value.
    fn put(&self, sink: &mut impl Sink);
    /// Reads the value; `None` if the bytes are not one.
    fn take(reader: &mut Reader<'r>) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty: $take:ident;)*) => {
        $(impl<'r> Field<'r> for $type {
            #[inline]
            fn put(&self, sink: &mut impl Sink) {
                sink.put(&self.to_le_bytes());
            }

            #[inline]
            fn take(reader: &mut Reader<'r>) -> Option<$type> {
                reader.$take()
            }
        })*
    };
}

numbers! {
    u8: u8_le;
    u16: u16_le;
    u32: u32_le;
    u64: u64_le;
    i64: i64_le;
}

macro_rules! wrappers {
    ($($type:ident;)*) => {
        $(impl<'r> Field<'r> for $type {
            #[inline]
            fn put(&self, sink: &mut impl Sink) {
                self.0.put(sink);
            }

            #[inline]
            fn take(reader: &mut Reader<'r>) -> Option<$type> {
                Some($type(Field::take(reader)?))
            }
        })*
    };
}

wrappers! {
    Xid;
    Lsn;
    RelId;
}

impl<'r> Field<'r> for bool {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        u8::from(*self).put(sink);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<bool> {
        match reader.u8_le()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<'r> Field<'r> for PageId {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        self.rel.put(sink);
        self.block.put(sink);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<PageId> {
        Some(PageId { rel: Field::take(reader)?, block: Field::take(reader)? })
    }
}

impl<'r> Field<'r> for Tid {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        self.block.put(sink);
        self.slot.put(sink);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<Tid> {
        Some(Tid { block: Field::take(reader)?, slot: Field::take(reader)? })
    }
}

impl<'a, 'r: 'a> Field<'r> for &'a [u8] {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        assert!(self.len() <= PAGE_SIZE, "a run of {} bytes in a log record", self.len());
        (self.len() as u16).put(sink);
        sink.put(self);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<&'a [u8]> {
        let count = reader.u16_le()?;
        reader.bytes(count as usize)
    }
}

/// All bytes up to the end of the record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rest<'a>(pub &'a [u8]);

impl<'a, 'r: 'a> Field<'r> for Rest<'a> {
    fn put(&self, sink: &mut impl Sink) {
        sink.put(self.0);
    }

    fn take(reader: &mut Reader<'r>) -> Option<Rest<'a>> {
        Some(Rest(reader.bytes(reader.rest().len())?))
    }
}

impl<'r, T: Field<'r>> Field<'r> for Option<T> {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        self.is_some().put(sink);
        if let Some(value) = self {
            value.put(sink);
        }
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<Option<T>> {
        Some(if bool::take(reader)? { Some(T::take(reader)?) } else { None })
    }
}

/// A row and the slot it goes to.
pub type PlacedRow<'a> = (u16, &'a [u8]);

impl<'r, A: Field<'r>, B: Field<'r>> Field<'r> for (A, B) {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        self.0.put(sink);
        self.1.put(sink);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<(A, B)> {
        Some((A::take(reader)?, B::take(reader)?))
    }
}

/// Reads `count` elements. Each takes at least `least` bytes, so that a wrong count allocates nothing.
fn take_list<'r, T: Field<'r>>(reader: &mut Reader<'r>, count: usize, least: usize) -> Option<Vec<T>> {
    if count.checked_mul(least)? > reader.rest().len() {
        return None;
    }
    (0..count).map(|_| T::take(reader)).collect()
}

macro_rules! lists {
    ($($count:ty, $least:literal: $element:ty;)*) => {
        $(
            impl<'r> Field<'r> for Vec<$element> {
                fn put(&self, sink: &mut impl Sink) {
                    put_list::<$count, _>(self, sink);
                }

                fn take(reader: &mut Reader<'r>) -> Option<Vec<$element>> {
                    let count = <$count>::take(reader)?;
                    take_list(reader, count as usize, $least)
                }
            }

            impl<'r> Field<'r> for Cow<'_, [$element]> {
                fn put(&self, sink: &mut impl Sink) {
                    put_list::<$count, _>(self, sink);
                }

                fn take(reader: &mut Reader<'r>) -> Option<Self> {
                    Some(Cow::Owned(Field::take(reader)?))
                }
            }
        )*
    };
}

lists! {
    u16, 2: u16;
    u16, 4: (u16, u16);
    u32, 8: Xid;
    u32, 4: RelId;
}

impl<'a, 'r: 'a> Field<'r> for Vec<PlacedRow<'a>> {
    fn put(&self, sink: &mut impl Sink) {
        put_list::<u16, _>(self, sink);
    }

    fn take(reader: &mut Reader<'r>) -> Option<Vec<PlacedRow<'a>>> {
        let count = u16::take(reader)?;
        take_list(reader, count as usize, 4)
    }
}

/// Puts a list after its count. A list that its count's type cannot tell is a bug: pages have far fewer slots.
fn put_list<'r, C, T>(list: &[T], sink: &mut impl Sink)
where
    C: Field<'r> + TryFrom<usize>,
    T: Field<'r>,
{
    let Ok(count) = C::try_from(list.len()) else { panic!("a list of {} in a log record", list.len()) };
    count.put(sink);
    for element in list {
        element.put(sink);
    }
}

impl<'a, 'r: 'a> Field<'r> for RowDelta<'a> {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        self.prefix.put(sink);
        self.suffix.put(sink);
        self.middle.put(sink);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<RowDelta<'a>> {
        Some(RowDelta { prefix: Field::take(reader)?, suffix: Field::take(reader)?, middle: Field::take(reader)? })
    }
}

impl<'a, 'r: 'a> Field<'r> for Entry<'a> {
    #[inline]
    fn put(&self, sink: &mut impl Sink) {
        self.tid.put(sink);
        self.child.put(sink);
        self.key.put(sink);
    }

    #[inline]
    fn take(reader: &mut Reader<'r>) -> Option<Entry<'a>> {
        Some(Entry { tid: Field::take(reader)?, child: Field::take(reader)?, key: Field::take(reader)? })
    }
}

impl<'a, 'r: 'a> Field<'r> for PageImage<'a> {
    fn put(&self, sink: &mut impl Sink) {
        self.front.put(sink);
        self.back.put(sink);
    }

    fn take(reader: &mut Reader<'r>) -> Option<PageImage<'a>> {
        Some(PageImage { front: Field::take(reader)?, back: Field::take(reader)? })
    }
}

impl<'r> Field<'r> for PrunePlan {
    fn put(&self, sink: &mut impl Sink) {
        self.prune_xid.put(sink);
        self.all_visible.put(sink);
        self.redirects.put(sink);
        self.dead.put(sink);
        self.unused.put(sink);
        self.revived.put(sink);
    }

    fn take(reader: &mut Reader<'r>) -> Option<PrunePlan> {
        Some(PrunePlan {
            prune_xid: Field::take(reader)?,
            all_visible: Field::take(reader)?,
            redirects: Field::take(reader)?,
            dead: Field::take(reader)?,
            unused: Field::take(reader)?,
            revived: Field::take(reader)?,
        })
    }
}
