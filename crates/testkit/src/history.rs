//! What clients asked and were told, and when: the raw material of checkers.
//!
//! Clients of one run share a history. An operation is entered when it is asked for and completed when it is answered; one
//! that was never answered may or may not have been done, at any time after it was asked for.

use std::cell::RefCell;
use std::rc::Rc;

/// A point in simulated time.
pub type Time = u64;

/// One operation of one client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation<Asked, Told> {
    /// Who asked.
    pub client: u32,
    /// What for.
    pub asked: Asked,
    /// When.
    pub from: Time,
    /// The answer and when it came; none if it never did.
    pub told: Option<(Told, Time)>,
}

/// See the head of this file.
#[derive(Debug)]
pub struct History<Asked, Told>(Rc<RefCell<Vec<Operation<Asked, Told>>>>);

impl<Asked, Told> Clone for History<Asked, Told> {
    fn clone(&self) -> Self {
        History(self.0.clone())
    }
}

impl<Asked, Told> Default for History<Asked, Told> {
    fn default() -> Self {
        History(Rc::default())
    }
}

impl<Asked: Clone, Told: Clone> History<Asked, Told> {
    /// Enters an operation; the answer names it for [`History::told`].
    pub fn asked(&self, client: u32, asked: Asked, from: Time) -> usize {
        let mut operations = self.0.borrow_mut();
        operations.push(Operation { client, asked, from, told: None });
        operations.len() - 1
    }

    /// Completes an operation.
    pub fn told(&self, operation: usize, told: Told, at: Time) {
        self.0.borrow_mut()[operation].told = Some((told, at));
    }

    /// Everything so far.
    pub fn operations(&self) -> Vec<Operation<Asked, Told>> {
        self.0.borrow().clone()
    }
}
