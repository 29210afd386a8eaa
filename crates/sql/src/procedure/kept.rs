//! Bodies that a process has read, with plans of what is in them.
//!
//! A body is read once for every version of the definitions. The plan of a piece is kept beside it when a call has made it: the next
//! call, of any session with the same settings, finds it by the piece's number.
//!
//! Rules
//! 1. A plan is kept only if its variables have the types that they begin a call with, and is used only while the definitions are those
//!    that the body was read with: nothing has to be compared but their version, behind the locks of the plan's tables.
//! 2. A piece may be planned for the values of its variables ([`crate::session::custom`]); such a plan is not kept.

use super::frame::Shape;
use super::tree::Body;
use crate::plan::{Plan, flags};
use crate::session::current::{StoredTables, stored_tables};
use crate::session::custom::Tried;
use crate::types::Oid;
use base::settings::PlanCacheMode;
use kernel::fault;
use kernel::sync::Spin;
use std::sync::Arc;

/// How many a process keeps.
const KEPT_MAX: usize = 256;

/// A plan, and the tables that are locked for it.
pub(crate) struct Planned {
    pub(crate) plan: Vec<u8>,
    pub(crate) tables: StoredTables,
    /// How it was executed so far, by all sessions of the process.
    tried: Spin<Tried>,
}

impl Planned {
    /// A plan that was made.
    pub(crate) fn new(plan: Vec<u8>) -> Planned {
        let tables = stored_tables(&plan);
        Planned { plan, tables, tried: Spin::new(Tried::default()) }
    }

    /// Is the next execution to be planned for the values of its variables?
    #[inline]
    pub(crate) fn wants_values(&self, mode: PlanCacheMode) -> bool {
        let Some(plan) = Plan::new(&self.plan) else { return false };
        // Nearly all of them: nothing is looked at that others write.
        if mode == PlanCacheMode::ForceGeneric || (mode == PlanCacheMode::Auto && !plan.has(flags::VALUES_MATTER)) {
            return false;
        }
        let tried = *self.tried.lock();
        tried.wants_values(mode, plan)
    }

    /// An execution has a plan for its values.
    pub(crate) fn note_custom(&self, made: &[u8]) {
        if let (Some(generic), Some(custom)) = (Plan::new(&self.plan), Plan::new(made)) {
            self.tried.lock().note_custom(generic, custom);
        }
    }
}

/// A body with the types of its variables.
pub(crate) struct Readied {
    pub(crate) body: Body,
    pub(crate) shapes: Vec<Shape>,
    /// The definitions that it was read with; none if it is for one call only.
    pub(crate) version: Option<u64>,
    plans: Spin<Plans>,
}

/// Plans by the numbers of their pieces, for sessions with these settings.
struct Plans {
    settings: Vec<u8>,
    plans: Vec<Option<Arc<Planned>>>,
}

impl Readied {
    /// A body that was read.
    pub(crate) fn new(body: Body, shapes: Vec<Shape>, version: Option<u64>) -> Readied {
        let plans = Plans { settings: Vec::new(), plans: vec![None; body.pieces as usize] };
        Readied { body, shapes, version, plans: Spin::new(plans) }
    }

    /// The plan of a piece for a session with these settings.
    pub(crate) fn plan(&self, piece: usize, settings: &[u8]) -> Option<Arc<Planned>> {
        let known = self.plans.lock();
        known.plans[piece].clone().filter(|_| known.settings == settings)
    }

    /// Keeps one. Those of other settings go: it is settings that many sessions share which are worth it.
    pub(crate) fn keep(&self, piece: usize, settings: Vec<u8>, planned: &Arc<Planned>) {
        let none = vec![None; self.body.pieces as usize];
        let old = {
            let mut known = self.plans.lock();
            let old = match known.settings == settings {
                true => None,
                false => {
                    known.settings = settings;
                    Some(std::mem::replace(&mut known.plans, none))
                }
            };
            (known.plans[piece].replace(planned.clone()), old)
        };
        // What has to be dropped is dropped without the lock.
        drop(old);
    }
}

/// What a body is of.
#[derive(PartialEq, Eq)]
pub(crate) struct Of {
    /// The number of a routine or a trigger.
    oid: Oid,
    /// Which definition of it was read: whoever comes with an older one, found just before it was replaced, must not leave it to others.
    made: u64,
    /// It is the condition of a trigger.
    is_condition: bool,
    /// The types of a call, if the arguments decide about them.
    types: Vec<Oid>,
}

impl Of {
    /// What the body of this definition is of, which the number `made` tells from those before it and after it.
    pub(crate) fn new(oid: Oid, made: u64, is_condition: bool, types: Vec<Oid>) -> Of {
        let made = if fault::planted("sql.kept_body") { 0 } else { made };
        Of { oid, made, is_condition, types }
    }

    /// Have the arguments of a call decided about its types?
    pub(crate) fn is_for_types(&self) -> bool {
        !self.types.is_empty()
    }
}

/// The bodies of a process: what they are of, and of which version of the definitions.
pub(crate) struct Bodies(Spin<Vec<(Of, u64, Arc<Readied>)>>);

impl Bodies {
    /// None yet.
    pub(crate) const fn new() -> Bodies {
        Bodies(Spin::new(Vec::new()))
    }

    /// The body of a procedure.
    pub(crate) fn find(&self, of: &Of, version: u64) -> Option<Arc<Readied>> {
        let known = self.0.lock();
        known.iter().find(|known| known.0 == *of && known.1 == version).map(|known| known.2.clone())
    }

    /// Keeps one; the oldest makes room.
    pub(crate) fn add(&self, of: Of, version: u64, readied: &Arc<Readied>) {
        let old = {
            let mut known = self.0.lock();
            let at = known.iter().position(|known| known.0 == of);
            let at = at.or((known.len() >= KEPT_MAX).then_some(0));
            let old = at.map(|at| known.remove(at));
            known.push((of, version, readied.clone()));
            old
        };
        // What has to be dropped is dropped without the lock.
        drop(old);
    }
}
