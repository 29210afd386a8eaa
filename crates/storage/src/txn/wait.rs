//! Waiting for the end of a transaction: what stands between a row and whoever wants to change it.

use super::deadlock::{WaitFor, Waited};
use super::{Status, Transactions};
use base::{Result, Xid};
use kernel::clock::Nanos;
use kernel::sync::WaitList;
use kernel::wait::Event;

/// How a transaction has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It committed, and that is durable.
    Committed,
    /// It aborted, or a crash ended it.
    Aborted,
}

impl Transactions {
    /// Does somebody seem to wait for the end of the running session's transaction? A hint: it may be another's that they wait for, and they
    /// come and go.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.current_xid().is_some_and(|xid| !self.waiters_for(xid).is_empty())
    }

    pub(super) fn waiters_for(&self, xid: Xid) -> &'static WaitList {
        let hash = xid.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        &self.waiters[hash as usize % self.waiters.len()]
    }

    /// How the transaction has ended as everybody may see it: aborted, or committed and durable. None while it has not. Who asks for its
    /// status and then whether it has finished may be told that it runs, and that it is over, and not how.
    pub fn ended(&self, xid: Xid) -> Option<Ended> {
        let status = self.status(xid);
        if status == Status::Running && kernel::fault::planted("txn.asked_twice") {
            (0..100).for_each(|_| kernel::fault::point("between two looks at a status"));
            return (self.status(xid) != Status::Running).then_some(Ended::Committed);
        }
        match status {
            Status::Running => None,
            Status::Committed(at) => (at <= self.wal.durable()).then_some(Ended::Committed),
            Status::Ancient => Some(Ended::Committed),
            Status::Aborted => Some(Ended::Aborted),
        }
    }

    /// True when the transaction has ended.
    pub fn has_finished(&self, xid: Xid) -> bool {
        self.ended(xid).is_some()
    }

    /// Waits until another transaction has ended, or has taken back the child that `xid` is, and answers how. The session holds no latch and no room in the log.
    ///
    /// Errors: `40P01` when that would never happen, `57014` cancelled, `55P03` when `deadline` passes.
    pub fn wait_for(&'static self, xid: Xid, deadline: Option<Nanos>) -> Result<Status> {
        debug_assert!(!self.is_mine(xid), "a transaction waits for itself");
        if kernel::fault::planted("lock.freed_early") {
            return Ok(Status::Aborted);
        }
        // A child's waiters stand where its transaction's do, who posts them when it takes the child back.
        let list = self.waiters_for(self.root(xid));
        let mut turn = self.begin_turn(WaitFor::Transaction(xid), deadline);
        loop {
            match self.status(xid) {
                Status::Running => {}
                Status::Committed(at) => {
                    // Its flush is under way; this session may as well lead it.
                    self.wal.flush(at);
                    return Ok(Status::Committed(at));
                }
                over => return Ok(over),
            }
            list.enter(xid.0 as u32);
            let waited = if self.status(xid) == Status::Running {
                turn.wait(Event::TransactionLock, xid.0)
            } else {
                Ok(Waited::Posted)
            };
            list.leave();
            turn.look(self, waited?)?;
        }
    }
}
