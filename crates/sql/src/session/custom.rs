//! Whether a prepared statement is planned for the values that its parameters have, or has one plan for all values.
//!
//! ```text
//!  the plan for any values --- its guesses do not depend on values ------------------------------------------> is used
//!            \- they do: the first five executions are planned for their values
//!                           \- all of them came to the same plan as the one for any values -----------------> is used from then on
//!                           \- else: is planned for values as long as that costs less, with the planning
//! ```
//!
//! PostgreSQL plans every statement with parameters for its values five times. Here a plan for any values is made first in any case, since
//! it tells the client the statement's types and is shared by all sessions; and the planner notes while it makes it whether another one could
//! come out for some value ([`Bound::values_matter`](crate::bind::tree::Bound::values_matter)). A statement that finds a row by its key, or
//! rows by columns whose values are alike in number, is never planned again: what it costs to know that is a look at a bit of the plan.
//!
//! Rules
//! 1. A plan for values is the execution's own: it is in no cache, and goes with the portal or the statement that it was made for.
//! 2. What a statement answers does not depend on which of them is used.

use super::prepared::PlanId;
use super::{Environment, Session};
use crate::lexer::{Head, Literals, Normalised, normalise};
use crate::plan::blob::{self, Constant};
use crate::plan::{Plan, flags};
use crate::types::{Oid, table};
use allocator_api2::alloc::Allocator;
use base::Result;
use base::settings::{PlanCacheMode, SettingId};

/// So many times a statement is planned for values before it is looked at whether that pays.
const TRIES: u64 = 5;
/// What planning costs for each table and one more, as an execution's costs are counted.
const PLANNING: f64 = 8.0;

/// Values that are larger together, in bytes, are not put into a plan unless that is forced.
const VALUES_MAX: usize = 64 << 10;

/// How a statement was executed so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Tried {
    /// With the plan for any values.
    pub(crate) generic: u64,
    /// With plans for values.
    pub(crate) custom: u64,
    /// What those cost together, with their planning.
    cost: f64,
    /// Some of them were other plans than the one for any values.
    differs: bool,
}

impl Tried {
    /// Is the next execution to be planned for its values?
    #[inline]
    pub(crate) fn wants_values(&self, mode: PlanCacheMode, plan: Plan<'_>) -> bool {
        match mode {
            PlanCacheMode::ForceGeneric => false,
            PlanCacheMode::ForceCustom => plan.client_types().len() > 0,
            PlanCacheMode::Auto => plan.has(flags::VALUES_MATTER) && self.pays(plan),
        }
    }

    #[cold]
    fn pays(&self, plan: Plan<'_>) -> bool {
        self.custom < TRIES || (self.differs && f64::from(plan.worth().cost) >= self.cost / self.custom as f64)
    }

    /// An execution has a plan for values beside the one for any.
    pub(crate) fn note_custom(&mut self, generic: Plan<'_>, custom: Plan<'_>) {
        self.custom += 1;
        self.cost += f64::from(custom.worth().cost) + PLANNING * (custom.tables().len() as f64 + 1.0);
        self.differs |= generic.worth().shape != custom.worth().shape;
    }
}

/// The values of parameters of these types, as `put_value` wrote them.
pub(crate) fn constants(types: &[Oid], values: &[u8]) -> Result<Vec<Constant>> {
    let mut found = Vec::with_capacity(types.len());
    let mut at = 0;
    for oid in types {
        let (datum, next) = blob::get_value(table::kind(*oid), values, at)?;
        found.push(Constant::of(datum));
        at = next;
    }
    Ok(found)
}

/// Where the statement of a text begins and ends that holds one.
pub(crate) fn range_of(text: &str) -> Result<(usize, usize)> {
    let mut normalised = Normalised::default();
    normalise(text, 0, Literals::Keep, &mut normalised)?;
    while normalised.head == Head::Empty && normalised.next < text.len() {
        let next = normalised.next;
        normalise(text, next, Literals::Keep, &mut normalised)?;
    }
    Ok((normalised.start, normalised.end))
}

impl<A: Allocator + Copy> Session<A> {
    /// `plan_cache_mode`
    #[inline]
    pub(crate) fn plan_cache_mode(&self, env: &Environment<'_>) -> PlanCacheMode {
        let number = self.view(env).value(SettingId::PlanCacheMode).number();
        PlanCacheMode::from_number(number).unwrap_or(PlanCacheMode::Auto)
    }

    /// The plan for the next execution of a prepared statement with these values, if it is not the one for any values, which `id` is. The
    /// execution is counted.
    #[inline]
    pub(crate) fn plan_for(&mut self, env: &Environment<'_>, id: PlanId, values: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Ok(None) };
        let mode = match plan.client_types().len() {
            0 => PlanCacheMode::ForceGeneric,
            _ => self.plan_cache_mode(env),
        };
        // Nearly all of them end here.
        let may = mode == PlanCacheMode::ForceCustom || (mode == PlanCacheMode::Auto && plan.has(flags::VALUES_MATTER));
        if may && let Some(made) = self.made_for(env, id, mode, values)? {
            return Ok(Some(made));
        }
        self.plans.tried_mut(id).generic += 1;
        Ok(None)
    }

    /// The plan for these values, if one is wanted.
    #[cold]
    fn made_for(
        &mut self,
        env: &Environment<'_>,
        id: PlanId,
        mode: PlanCacheMode,
        values: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        if mode == PlanCacheMode::Auto && values.len() > VALUES_MAX {
            return Ok(None);
        }
        let mut tried = self.plans.tried(id);
        let Some(plan) = Plan::new(self.plans.bytes(id)).filter(|plan| tried.wants_values(mode, *plan)) else {
            return Ok(None);
        };
        let types: Vec<Oid> = plan.client_types().collect();
        let text = String::from_utf8_lossy(self.plans.text(id)).into_owned();
        let values = constants(&types, values)?;
        let Some(made) = self.compile_for(env, (&text, range_of(&text)?), &[], &types, &values)? else {
            return Ok(None);
        };
        if let (Some(generic), Some(custom)) = (Plan::new(self.plans.bytes(id)), Plan::new(&made)) {
            tried.note_custom(generic, custom);
        }
        *self.plans.tried_mut(id) = tried;
        Ok(Some(made))
    }
}
