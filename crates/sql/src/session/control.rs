//! `BEGIN`, `COMMIT` and `ROLLBACK` without modes: what was read of them is kept with a prepared statement, since an application executes
//! them with each transaction. Reading `BEGIN` again took longer than carrying it out.

use super::extended::{cannot_be_run, no_portal};
use super::output::Output;
use super::parameters::Parameters;
use super::prepared::Progress;
use super::query::ends_transaction;
use super::{Environment, Session};
use crate::parser::ast::Utility;
use allocator_api2::alloc::Allocator;
use base::Result;

/// A statement of transaction control that says nothing which would have to be read again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    /// With the tag that it is answered with.
    Begin(&'static str),
    Commit {
        chain: bool,
    },
    Rollback {
        chain: bool,
    },
}

impl Control {
    pub(super) fn of(utility: &Utility<'_>) -> Option<Control> {
        match *utility {
            Utility::Begin([], tag) => Some(Control::Begin(tag)),
            Utility::Commit { chain } => Some(Control::Commit { chain }),
            Utility::Rollback { chain } => Some(Control::Rollback { chain }),
            _ => None,
        }
    }

    fn utility(self) -> Utility<'static> {
        match self {
            Control::Begin(tag) => Utility::Begin(&[], tag),
            Control::Commit { chain } => Utility::Commit { chain },
            Control::Rollback { chain } => Utility::Rollback { chain },
        }
    }

    /// May it be executed in a transaction that failed?
    pub(super) fn ends_transaction(self) -> bool {
        ends_transaction(&self.utility())
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// Executes a portal of such a statement; it gives no rows, and so it is executed once.
    pub(super) fn execute_control<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        control: Control,
        out: &mut O,
    ) -> Result<()> {
        let Some(portal) = self.portal_mut(name) else { return Err(no_portal(name)) };
        match portal.progress {
            Progress::New => portal.progress = Progress::Done,
            _ => return Err(cannot_be_run(name)),
        }
        self.utility_read(env, "", &control.utility(), Parameters::NONE, false, out)
    }
}
