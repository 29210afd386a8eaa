//! Making the log durable: a leader writes for all who wait.
//!
//! ```text
//!                       nobody leads                    all that is filled is written
//!   flush(upto) -------------------------> leader ---------------------------------------> durable, posts, returns
//!       |                                    ^
//!       | somebody leads                     | still not durable, nobody leads
//!       \--------> follower: waits ----------/----- durable by now -----> returns
//! ```
//!
//! The first session that needs a flush becomes leader by a swap of one word and writes everything that is in the ring, not
//! only its own records; a lone commit hands nothing over. Sessions that come while it writes wait; when the write is over
//! those whose records it covered are posted, the leader resigns, and the first of the others is posted to lead the next
//! one. So the more sessions commit, the larger the groups, without a timer.
//!
//! Rules
//! 1. Only the leader writes the log and moves `durable`.
//! 2. A leader that resigns posts the first follower after it has given the leadership up; a follower looks whether somebody leads
//!    after it has entered the list. So one of the two sees the other.
//! 3. Waits here cannot be cancelled: what is waited for is promised already.

use super::{BLOCK, SEGMENT_BYTES, Wal};
use base::{Lsn, SessionId};
use kernel::io::FileName;
use kernel::session;
use kernel::wait::{self, Event};
use std::sync::atomic::Ordering::*;

/// A follower's mark in the list: the low bits of the position that it waits for, in words.
fn mark(lsn: Lsn) -> u32 {
    (lsn.0 >> 3) as u32
}

impl Wal {
    /// Returns when the log is durable up to `upto`.
    pub fn flush(&self, upto: Lsn) {
        if upto > self.inserted() {
            // A commit that the map knows already, and whose record is being put in: both happen under this spinlock.
            drop(self.tail.insert.lock());
        }
        debug_assert!(upto <= self.inserted(), "a flush beyond the end of the log");
        let me = session::current_id();
        let mut followed = false;
        while self.durable() < upto {
            if self.take_lead(me) {
                if self.durable() < upto {
                    self.write_all();
                }
                self.resign();
                continue;
            }
            followed = true;
            self.head.followers.enter(mark(upto));
            // Rule 2.
            if self.durable() < upto && self.head.leader.load(SeqCst) != 0 {
                wait::wait_uninterruptible(Event::WalFlushFollow, upto.0);
            }
            self.head.followers.leave();
        }
        if followed {
            self.head.followed.fetch_add(1, Relaxed);
        }
    }

    /// Makes everything durable that is in the log now; answers up to where.
    pub fn flush_all(&self) -> Lsn {
        let end = self.inserted();
        self.flush(end);
        end
    }

    fn take_lead(&self, me: SessionId) -> bool {
        self.head.leader.compare_exchange(0, me.0 + 1, SeqCst, SeqCst).is_ok()
    }

    fn resign(&self) {
        kernel::fault::point("wal.resign");
        self.head.leader.store(0, SeqCst);
        self.head.followers.post_one();
    }

    /// Gives up the lead of a dead session: what it wrote is written again.
    pub(super) fn abdicate(&self, dead: SessionId) {
        if self.head.leader.compare_exchange(dead.0 + 1, 0, SeqCst, SeqCst).is_ok() {
            self.head.followers.post_one();
        }
    }

    /// Writes everything between `durable` and `inserted`. By the leader.
    fn write_all(&self) {
        let (from, to) = (self.durable(), self.inserted());
        self.write_range(from.0 / BLOCK * BLOCK, to.0);
        kernel::fault::point("wal.written");
        self.head.flushes.fetch_add(1, Relaxed);
        self.head.flushed_bytes.fetch_add(to.0 - from.0, Relaxed);
        self.head.durable.store(to.0, SeqCst);
        self.head.followers.post_while(|waits_for| mark(to).wrapping_sub(waits_for) as i32 >= 0, || ());
        self.post_space();
    }

    /// Writes the ring from a block's beginning to a record's end to its segments, and returns when all of it is durable.
    fn write_range(&self, from: u64, to: u64) {
        let mut at = from;
        while at < to {
            let segment = at / SEGMENT_BYTES;
            let end = to.min((segment + 1) * SEGMENT_BYTES);
            if let Err(error) = self.ensure_segment(segment) {
                crate::stop_server(&format!("a file of the log cannot be made: {error}"));
            }
            let (file, bytes) = (FileName::wal(segment), (end - at) as usize);
            let blocks = bytes.next_multiple_of(BLOCK as usize);
            match self.ring.write(Event::WalWrite, file, at % SEGMENT_BYTES, at, bytes) {
                Ok(written) if written == blocks => {}
                Ok(written) => crate::stop_server(&format!("the log took {written} of {blocks} bytes")),
                Err(error) => crate::stop_server(&format!("the log cannot be written: {error}")),
            }
            at = end;
        }
    }
}
