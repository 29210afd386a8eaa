//! How a pooled engine that has nothing to do looks for work before it sleeps.
//!
//! A sleep and a wake-up cost two system calls and two switches, and where the CPU slept meanwhile an interrupt to it: many times as long as
//! a look. So an engine looks for a while first. At each look it offers its CPU to others, and when somebody took it, it sleeps: a spin must not
//! keep the client from sending what is being looked for.
//!
//! Spins that pay earn credit, others use it up; without credit they are left out for a while, longer each time. What pays differs. An
//! engine with fibers has sessions of its own: nobody else takes what it would find. In a group whose engines sleep on one port the others do,
//! and only what is found at once is cheaper than a sleep.

use crate::clock::{self, Nanos};

/// An offer of the CPU that takes longer than this was taken.
const CPU_IS_WANTED_NS: Nanos = 5_000;

/// Whether spinning before a sleep pays, as one engine has found: where it does not (few CPUs, slow clients), it only takes the CPU from the
/// client.
pub(crate) struct Spinning {
    /// Sleeps that are still to come before spinning is tried again.
    skips: u32,
    /// How much may still be lost before spins are left out.
    credit: u32,
    /// How often it was left out since there was full credit.
    doublings: u32,
    /// A spin that has found something within this pays …
    pays_within: Nanos,
    /// … and earns so much credit, while one that does not costs so much.
    earns: u32,
    costs: u32,
}

impl Spinning {
    const CREDIT_MAX: u32 = 4;
    /// Sleeps without a spin when there is no credit; each further spin that does not pay doubles them.
    const SKIPS: u32 = 64;
    const DOUBLINGS_MAX: u32 = 6;
    /// Less than it takes to wake a CPU that sleeps.
    const AT_ONCE_NS: Nanos = 25_000;

    /// For an engine with fibers: each find pays.
    pub(crate) fn alone() -> Spinning {
        Spinning::new(Nanos::MAX, Self::CREDIT_MAX, 1)
    }

    /// For an engine that shares its port: finds pay that come at once, if two of three do. (600 clients that think, 30,000 selects a second: with
    /// the rule of fibers 26 µs of CPU a select, without spins 19.)
    pub(crate) fn among_others() -> Spinning {
        Spinning::new(Self::AT_ONCE_NS, 1, 2)
    }

    fn new(pays_within: Nanos, earns: u32, costs: u32) -> Spinning {
        Spinning { skips: 0, credit: Self::CREDIT_MAX, doublings: 0, pays_within, earns, costs }
    }

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
        let begun = clock::real_now();
        let mut now = begun;
        loop {
            let offered = now;
            std::thread::yield_now();
            now = clock::real_now();
            let is_wanted = now - offered > CPU_IS_WANTED_NS;
            if look() {
                self.note(now - begun <= self.pays_within);
                return true;
            }
            if now - begun >= span || is_wanted {
                break;
            }
            now = clock::real_now();
        }
        self.note(false);
        false
    }

    fn note(&mut self, it_paid: bool) {
        if it_paid {
            self.credit = (self.credit + self.earns).min(Self::CREDIT_MAX);
            if self.credit == Self::CREDIT_MAX {
                self.doublings = 0;
            }
            return;
        }
        self.credit = self.credit.saturating_sub(self.costs);
        if self.credit == 0 {
            self.skips = Self::SKIPS << self.doublings;
            self.doublings = (self.doublings + 1).min(Self::DOUBLINGS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many sleeps go without a spin before the next one.
    fn left_out(spinning: &mut Spinning) -> u32 {
        let mut count = 0;
        while !spinning.is_worth_it() {
            count += 1;
        }
        count
    }

    #[test]
    fn spins_in_vain_are_left_out_for_longer_and_longer() {
        let mut spinning = Spinning::alone();
        let found = [(); 12].map(|()| {
            let count = left_out(&mut spinning);
            assert!(!spinning.spin(0, || false));
            count
        });
        assert_eq!(found, [0, 0, 0, 0, 64, 128, 256, 512, 1024, 2048, 4096, 4096]);
        left_out(&mut spinning);
        assert!(spinning.spin(0, || true));
        assert!(!spinning.spin(0, || false));
        assert_eq!(left_out(&mut spinning), 0);
    }

    #[test]
    fn among_others_two_finds_of_three_have_to_pay() {
        let mut spinning = Spinning::among_others();
        let left_out = |spinning: &mut Spinning, pays: [bool; 3]| -> u32 {
            (0..40).map(|_| pays.map(|paid| (left_out(spinning), spinning.note(paid)).0).into_iter().sum::<u32>()).sum()
        };
        assert_eq!(left_out(&mut spinning, [true, true, false]), 0);
        assert!(left_out(&mut spinning, [true, false, false]) > 100_000);
        left_out(&mut spinning, [true, true, true]);
        assert_eq!(left_out(&mut spinning, [true, true, false]), 0);
    }
}
