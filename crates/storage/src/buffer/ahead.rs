//! Pages that will be read soon: their memory is asked for in two steps, with other work in between.
//!
//! Of a page one knows where its bucket in the page table lies; of the bucket, the frame; of the frame, everything else. So
//! whoever is going to read several pages calls [`Pool::expect`] for all of them, then [`Pool::approach`] for all of them, and then latches
//! them one by one: what would be three waits for memory a page has become one or two for all.
//!
//! Of a page whose frame is at hand, [`Pool::guess`] reads numbers and asks for what they lead to.
//!
//! All of them are hints: a page that is not in the pool is read in as ever, and one that is not the first of its bucket with fewer lines at
//! hand.

use super::Pool;
use super::descriptor::Descriptor;
use base::PageId;
use kernel::region::frames::Frames;
use kernel::region::prefetch::prefetch;
use std::sync::atomic::Ordering::Relaxed;

impl Pool {
    /// First step: asks for the page's bucket.
    #[inline]
    pub(crate) fn expect(&self, page: PageId) {
        prefetch(&self.buckets[self.bucket(page)]);
    }

    /// Second step: asks for what latching the page reads, and for the lines that hold `offsets` of it.
    #[inline]
    pub(crate) fn approach<const N: usize>(&self, page: PageId, offsets: [usize; N]) {
        if let Some(frame) = self.buckets[self.bucket(page)].load(Relaxed).checked_sub(1) {
            self.frames.prefetch(frame as usize, offsets);
        }
    }

    /// Between: of a page that is not the first of its bucket, asks for what the second step asked for.
    #[inline]
    pub(crate) fn settle<const N: usize>(&self, page: PageId, offsets: [usize; N]) {
        if let Some(frame) = self.buckets[self.bucket(page)].load(Relaxed).checked_sub(1)
            && self.descriptor(frame).page() != page
            && let Some(frame) = self.find(page)
        {
            self.frames.prefetch(frame as usize, offsets);
        }
    }

    /// Third step: lets `lead` read numbers of the page without a pin or a latch, and asks for the lines of what they lead to in the
    /// page. They may be any: another page's, or half changed. Of a page that is not the first of its bucket, what the second step asks
    /// for is asked for now.
    #[inline]
    pub(crate) fn guess<const N: usize, const M: usize>(
        &self,
        page: PageId,
        offsets: [usize; N],
        lead: impl FnOnce(Peek<'_>) -> Option<[usize; M]>,
    ) {
        let Some(frame) = self.buckets[self.bucket(page)].load(Relaxed).checked_sub(1) else { return };
        if self.descriptor(frame).page() == page {
            if let Some(offsets) = lead(Peek { frames: &self.frames, frame: frame as usize }) {
                self.frames.prefetch(frame as usize, offsets);
            }
        } else {
            self.settle(page, offsets);
        }
    }
}

/// The bytes of a page that nobody keeps from changing.
#[derive(Clone, Copy)]
pub(crate) struct Peek<'p> {
    frames: &'p Frames<Descriptor>,
    frame: usize,
}

impl Peek<'_> {
    /// The four bytes in which an offset lies.
    #[inline]
    pub(crate) fn word(self, offset: usize) -> u32 {
        self.frames.peek(self.frame, offset)
    }
}
