//! The trace: a hash of everything that happens in a run, in order, and on request its text.
//!
//! Two runs of one seed must give the same hash, in whatever process they run. So nothing goes in that the seed does not
//! decide: no address of the ordinary heap, no time of the machine, no process or thread number of the system.

use super::random::scramble;
use std::cell::Cell;

/// What happens. The numbers are part of the hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Step {
    Run = 1,
    Point,
    Sleep,
    Wake,
    Freeze,
    Kill,
    Death,
    Fork,
    Restart,
    PowerCut,
    Message,
    Connect,
    Deliver,
    Reset,
    Send,
    Receive,
    DiskSubmit,
    DiskDone,
}

/// See the head of this file.
pub(super) struct Trace {
    hash: Cell<u64>,
    pub(super) verbose: bool,
}

impl Trace {
    pub(super) fn new(seed: u64, verbose: bool) -> Trace {
        Trace { hash: Cell::new(scramble(seed)), verbose }
    }

    #[inline]
    pub(super) fn mix(&self, step: Step, word: u64) {
        let hash = self.hash.get().rotate_left(5) ^ (step as u64) << 56 ^ word;
        self.hash.set(hash.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }

    pub(super) fn hash(&self) -> u64 {
        scramble(self.hash.get())
    }
}

/// A hash of bytes (FNV-1a): of names, and of what goes over the network and to the disk.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3))
}
