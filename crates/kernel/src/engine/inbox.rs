//! Sets of sessions in the region: by them engines are told whom to run.
//!
//! A set is a bitmap over all session slots, with a summary of one bit per word. Putting a session in twice is putting it
//! in once, so a post that crosses a time-out cannot corrupt anything, and a poster that dies half-way leaves no broken
//! list behind: the clean-up posts everybody again.
//!
//! Every pooled engine has two (posted fibers, and sessions handed over to it), the group two (sessions that are ready,
//! those in an open transaction apart).

use super::{BACKGROUND_ENGINES, EngineShared};
use crate::config::{Config, Sessions};
use crate::region::Root;
use base::SessionId;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

// SAFETY: roots 6 and 7 are used here only.
static WORDS: Root<AtomicU64> = unsafe { Root::new(6) };
// SAFETY: as above.
static SHAPE: Root<AtomicU32> = unsafe { Root::new(7) };

/// Sets of the group as a whole come first.
const GROUP_SETS: usize = 2;
const SETS_PER_ENGINE: usize = 2;

/// A set of sessions; any number of writers, and readers that take out what they find.
#[derive(Clone, Copy)]
pub(crate) struct SessionSet {
    summary: &'static [AtomicU64],
    words: &'static [AtomicU64],
}

pub(super) fn init(config: &Config) {
    let sessions = (config.connections_max() + crate::session::BACKGROUND_SLOTS) as usize;
    let words = sessions.div_ceil(64);
    let stride = words + words.div_ceil(64);
    let fibers = config.sessions == Sessions::Fiber;
    let pooled = match fibers {
        true => config.engines.max(1) as usize,
        false => 0,
    };
    WORDS.make("session sets", stride * (GROUP_SETS + SETS_PER_ENGINE * pooled));
    let shape = SHAPE.make("session sets shape", 3);
    shape[0].store(words as u32, Relaxed);
    shape[1].store(stride as u32, Relaxed);
    shape[2].store(if fibers { pooled as u32 } else { 0 }, Relaxed);
}

fn set(index: usize) -> SessionSet {
    let shape = SHAPE.get();
    let (words, stride) = (shape[0].load(Relaxed) as usize, shape[1].load(Relaxed) as usize);
    let all = &WORDS.get()[index * stride..][..stride];
    let (summary, words) = all.split_at(stride - words);
    SessionSet { summary, words }
}

/// True when sessions on that engine are fibers.
pub(crate) fn is_fiber(engine: &EngineShared) -> bool {
    let id = engine.id().0;
    id >= BACKGROUND_ENGINES && id - BACKGROUND_ENGINES < SHAPE.get()[2].load(Relaxed)
}

fn engine_set(engine: &EngineShared, which: usize) -> SessionSet {
    debug_assert!(is_fiber(engine));
    set(GROUP_SETS + SETS_PER_ENGINE * (engine.id().0 - BACKGROUND_ENGINES) as usize + which)
}

/// The engine's fibers that have been posted.
pub(crate) fn posted(engine: &EngineShared) -> SessionSet {
    engine_set(engine, 0)
}

/// Sessions that others handed to the engine: ready to be resumed.
pub(crate) fn handed(engine: &EngineShared) -> SessionSet {
    engine_set(engine, 1)
}

/// Sessions of a shared group that are ready and wait for an engine; those in an open transaction have a set of their own.
pub(crate) fn ready(in_transaction: bool) -> SessionSet {
    set(in_transaction as usize)
}

impl SessionSet {
    /// Puts a session in.
    pub(crate) fn insert(&self, session: SessionId) {
        let (word, bit) = (session.0 as usize / 64, 1u64 << (session.0 % 64));
        crate::fault::point("inbox.insert");
        self.words[word].fetch_or(bit, SeqCst);
        crate::fault::point("inbox.summary");
        self.summary[word / 64].fetch_or(1 << (word % 64), SeqCst);
    }

    /// True when nobody seems to be in.
    pub(crate) fn is_empty(&self) -> bool {
        self.summary.iter().all(|word| word.load(SeqCst) == 0)
    }

    /// Takes all out. Only one engine may do that with a set of its own.
    pub(crate) fn drain(&self, mut each: impl FnMut(SessionId)) {
        for (index, summary) in self.summary.iter().enumerate() {
            if summary.load(Relaxed) == 0 {
                continue;
            }
            let mut present = summary.swap(0, SeqCst);
            crate::fault::point("inbox.drain");
            while present != 0 {
                let word = index * 64 + present.trailing_zeros() as usize;
                present &= present - 1;
                let mut bits = self.words[word].swap(0, SeqCst);
                while bits != 0 {
                    each(SessionId((word * 64) as u32 + bits.trailing_zeros()));
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Takes one out, if there is one: the first one after `after`, wherever it wraps around, so that low slots do not
    /// overtake high ones for ever. Any number of engines may do that.
    pub(crate) fn pop(&self, after: SessionId) -> Option<SessionId> {
        let from = (after.0 as usize / 64).min(self.words.len() - 1);
        // The word of `after` is looked at twice: behind `after` at first, as a whole at last.
        for step in 0..=self.summary.len() {
            let index = (from / 64 + step) % self.summary.len();
            let summary = &self.summary[index];
            let mut present = summary.load(SeqCst);
            if step == 0 {
                present &= u64::MAX << (from % 64);
            }
            while present != 0 {
                let bit = present & present.wrapping_neg();
                present &= present - 1;
                let word = index * 64 + bit.trailing_zeros() as usize;
                let behind = if step == 0 && word == from { (u64::MAX << (after.0 % 64)) << 1 } else { u64::MAX };
                loop {
                    let bits = self.words[word].load(SeqCst);
                    if bits != 0 && bits & behind == 0 {
                        break;
                    }
                    if bits == 0 {
                        crate::fault::point("inbox.empty");
                        summary.fetch_and(!bit, SeqCst);
                        crate::fault::point("inbox.unmarked");
                        // Somebody may have put one in between the look and the mark's removal.
                        if self.words[word].load(SeqCst) != 0 {
                            summary.fetch_or(bit, SeqCst);
                            continue;
                        }
                        break;
                    }
                    let first = bits & behind & (bits & behind).wrapping_neg();
                    if self.words[word].fetch_and(!first, SeqCst) & first != 0 {
                        return Some(SessionId((word * 64) as u32 + first.trailing_zeros()));
                    }
                }
            }
        }
        None
    }
}
