//! What [`super::Tally`] keeps in the region, and what must hold of it.

use base::SessionId;
use kernel::region;
use kernel::stats::Counter;
use kernel::sync::{Latch, Spin, WaitList};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// How many counters there are of either kind.
pub const COUNTERS: usize = 3;
/// How many accounts there are.
pub const ACCOUNTS: usize = 5;
/// What is in an account at the beginning.
pub const BALANCE: u64 = 1000;
/// How many mailboxes there are.
pub const MAILBOXES: usize = 2;
/// How many registers there are.
pub const REGISTERS: usize = 2;

kernel::shared! {
    /// A counter in two halves, which are equal whenever nobody holds the latch alone.
    pub struct Latched {
        pub(super) latch: Latch,
        pub(super) value: AtomicU64,
        pub(super) twin: AtomicU64,
    }

    /// An account.
    pub struct Account {
        pub(super) latch: Latch,
        pub(super) balance: AtomicU64,
    }

    /// A register.
    pub struct Register {
        pub(super) latch: Latch,
        pub(super) value: AtomicU64,
    }

    /// A mailbox: how much is in it, and who waits for more.
    pub struct Mailbox {
        pub(super) takers: WaitList,
        pub(super) count: AtomicU64,
    }

    /// All of it.
    pub struct All {
        pub(super) spins: [Spin<u64>; COUNTERS],
        pub(super) latched: [Latched; COUNTERS],
        pub(super) accounts: [Account; ACCOUNTS],
        pub(super) registers: [Register; REGISTERS],
        pub(super) mailboxes: [Mailbox; MAILBOXES],
    }

    /// How often something was begun, and done.
    pub struct Pair {
        pub(super) begun: Counter,
        pub(super) done: Counter,
    }

    /// What the sessions of a slot have done, one after the other.
    pub struct Row {
        pub(super) spins: Pair,
        pub(super) latched: Pair,
        pub(super) puts: Pair,
        pub(super) takes: Pair,
    }
}

/// Where the tables lie.
#[derive(Clone, Copy)]
pub struct Tables {
    pub(super) all: &'static All,
    rows: &'static [Row],
}

/// Between what was done and what was begun.
struct Bounds {
    done: u64,
    begun: u64,
}

impl Tables {
    /// Makes them. Once, before the first engine.
    pub fn make() -> Tables {
        let all = region::single::<All>("tally");
        for account in &all.accounts {
            account.balance.store(BALANCE, SeqCst);
        }
        let rows = region::table("tally rows", kernel::session::slots().len());
        Tables { all, rows }
    }

    pub(super) fn row(&self, session: SessionId) -> &'static Row {
        &self.rows[session.0 as usize]
    }

    fn bounds(&self, pair: impl Fn(&Row) -> &Pair) -> Bounds {
        let sum = |counter: &dyn Fn(&Pair) -> u64| self.rows.iter().map(|row| counter(pair(row))).sum();
        Bounds { done: sum(&|pair| pair.done.get()), begun: sum(&|pair| pair.begun.get()) }
    }

    /// What must hold whenever no session is at work. `died` is how many requests at most ended half done.
    pub fn check(&self, died: u64) -> Result<(), String> {
        let spins: u64 = self.all.spins.iter().map(|counter| *counter.lock()).sum();
        within("counters under spinlocks", spins, self.bounds(|row| &row.spins), died)?;
        let latched: u64 = self.all.latched.iter().map(|counter| counter.value.load(SeqCst)).sum();
        within("counters under latches", latched, self.bounds(|row| &row.latched), died)?;
        if let Some(at) = self.all.latched.iter().position(|c| c.value.load(SeqCst) != c.twin.load(SeqCst)) {
            return Err(format!("the halves of counter {at} differ"));
        }
        let money: u64 = self.all.accounts.iter().map(|account| account.balance.load(SeqCst)).sum();
        if money != ACCOUNTS as u64 * BALANCE {
            return Err(format!("the accounts hold {money}, not {}", ACCOUNTS as u64 * BALANCE));
        }
        let left: u64 = self.all.mailboxes.iter().map(|mailbox| mailbox.count.load(SeqCst)).sum();
        let (puts, takes) = (self.bounds(|row| &row.puts), self.bounds(|row| &row.takes));
        if left + takes.done > puts.begun || left + takes.begun < puts.done {
            return Err(format!(
                "{left} left in mailboxes, but {}..{} were put in and {}..{} taken out",
                puts.done, puts.begun, takes.done, takes.begun
            ));
        }
        Ok(())
    }

    /// How often a counter under a spinlock, and one under a latch, was surely and at most added to.
    pub fn added(&self) -> [(u64, u64); 2] {
        let (spins, latched) = (self.bounds(|row| &row.spins), self.bounds(|row| &row.latched));
        [(spins.done, spins.begun), (latched.done, latched.begun)]
    }
}

fn within(what: &str, value: u64, bounds: Bounds, died: u64) -> Result<(), String> {
    let Bounds { done, begun } = bounds;
    if value < done || value > begun {
        return Err(format!("{what} add up to {value}; {done} additions were done, {begun} begun"));
    }
    if begun - done > died {
        return Err(format!("{what}: {} additions were begun and not done; {died} requests died", begun - done));
    }
    Ok(())
}
