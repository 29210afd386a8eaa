//! How a pooled engine that has nothing to do looks for work before it sleeps.
//!
//! A sleep and a wake-up cost two system calls and two switches, and where the CPU slept meanwhile an interrupt to it: many times as long as
//! a look. So an engine looks for a while first. At each look it offers its CPU to others, and when somebody took it, it sleeps: a spin must not
//! keep the client from sending what is being looked for.
//!
//! Where spins find nothing, several times in a row, they are left out for a while, longer each time.

use crate::clock::{self, Nanos};

/// An offer of the CPU that takes longer than this was taken.
const CPU_IS_WANTED_NS: Nanos = 5_000;

/// Whether spinning before a sleep pays, as one engine has found: where it does not (few CPUs, slow clients), it only takes the CPU from the
/// client.
#[derive(Default)]
pub(crate) struct Spinning {
    /// Sleeps that are still to come before spinning is tried again.
    skips: u32,
    /// Spins in vain since the last that was not.
    misses: u32,
}

impl Spinning {
    /// Spins in vain after which spinning is left out; each further one doubles the sleeps without.
    const MISSES: u32 = 4;
    const SKIPS: u32 = 64;
    const DOUBLINGS_MAX: u32 = 6;

    /// To be asked before each sleep: whether to spin first.
    pub(crate) fn is_worth_it(&mut self) -> bool {
        if self.skips == 0 {
            return true;
        }
        self.skips -= 1;
        false
    }

    /// Looks again and again, for `span` at most or until somebody wants the CPU. True if a look has found something.
    pub(crate) fn spin(&mut self, span: Nanos, mut look: impl FnMut() -> bool) -> bool {
        let mut now = clock::real_now();
        let end = now + span;
        loop {
            let offered = now;
            std::thread::yield_now();
            now = clock::real_now();
            let is_wanted = now - offered > CPU_IS_WANTED_NS;
            if look() {
                self.misses = 0;
                return true;
            }
            if now >= end || is_wanted {
                break;
            }
            now = clock::real_now();
        }
        self.misses += 1;
        if let Some(doublings) = self.misses.checked_sub(Self::MISSES) {
            self.skips = Self::SKIPS << doublings.min(Self::DOUBLINGS_MAX);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_in_vain_are_left_out_for_longer_and_longer() {
        let mut spinning = Spinning::default();
        let mut left_out = Vec::new();
        for _ in 0..12 {
            let mut skipped = 0;
            while !spinning.is_worth_it() {
                skipped += 1;
            }
            left_out.push(skipped);
            assert!(!spinning.spin(0, || false));
        }
        assert_eq!(left_out, [0, 0, 0, 0, 64, 128, 256, 512, 1024, 2048, 4096, 4096]);
        while !spinning.is_worth_it() {}
        assert!(spinning.spin(0, || true));
        assert!(!spinning.spin(0, || false));
        assert!(spinning.is_worth_it());
    }
}
