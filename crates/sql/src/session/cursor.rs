//! Cursors: portals with a name of SQL's, which keep all their rows and may move among them.
//!
//! ```text
//!   place:   0          1     2     3          4
//!            before     row   row   row        behind         of three rows
//! ```
//!
//! Rules
//! 1. The rows are computed at the first `FETCH`, or with `WITH HOLD` at once; they are bytes in the session's memory until the cursor is
//!    closed.
//! 2. A cursor that does not scroll goes forward only, and is not asked for the row that it is on (`55000`).

use super::output::{Output, Tag};
use super::parameters::datums;
use super::prepared::{Body, Portal, Progress, Spool};
use super::run::{Ended, tag, write_value};
use super::{Environment, Format, List, NoData, Session, bytes_in};
use crate::catalog::lazy::LazyCatalog;
use crate::parser::ast::FetchDirection;
use crate::plan::{Plan, blob};
use crate::types::{Kind, Oid, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

/// Where a cursor goes.
pub(super) struct Move {
    /// The first row that is given, if any is, and how many are.
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) backward: bool,
    /// Where the cursor is afterwards.
    pub(super) place: u64,
    /// It takes a cursor that scrolls.
    pub(super) scrolls: bool,
}

/// Where a cursor goes, if it may go there. Errors: `55000`.
pub(super) fn step<A: Allocator + Copy>(spool: &Spool<A>, scrolls: bool, direction: FetchDirection) -> Result<Move> {
    let step = moved(spool.place, spool.starts.len() as u64, direction);
    if step.scrolls && !scrolls {
        return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."));
    }
    Ok(step)
}

/// Where a cursor goes that is at a place among so many rows.
fn moved(place: u64, rows: u64, direction: FetchDirection) -> Move {
    let forward = Move { first: place + 1, count: 0, backward: false, place, scrolls: false };
    let to = |target: i128, scrolls: bool| match target {
        ..=0 => Move { place: 0, scrolls, ..forward },
        target if target > i128::from(rows) => Move { place: rows + 1, scrolls, ..forward },
        target => Move { first: target as u64, count: 1, place: target as u64, backward: false, scrolls },
    };
    match direction {
        FetchDirection::Forward(0) | FetchDirection::Backward(0) | FetchDirection::Relative(0) => {
            let is_on = (1..=rows).contains(&place);
            Move { first: place, count: u64::from(is_on), scrolls: is_on, ..forward }
        }
        FetchDirection::Forward(count) => {
            let left = rows.saturating_sub(place);
            match count <= left {
                true => Move { count, place: place + count, ..forward },
                false => Move { count: left, place: rows + 1, ..forward },
            }
        }
        FetchDirection::Backward(count) => {
            let back = Move { first: place.saturating_sub(1), backward: true, scrolls: true, ..forward };
            let left = place.saturating_sub(1);
            match count <= left {
                true => Move { count, place: place - count, ..back },
                false => Move { count: left, place: 0, ..back },
            }
        }
        FetchDirection::Absolute(number) if number < 0 => to(i128::from(rows) + 1 + i128::from(number), true),
        FetchDirection::Absolute(number) => {
            let back = place > 0 && number as u64 <= place;
            to(number.into(), back)
        }
        FetchDirection::Relative(offset) => to(i128::from(place) + i128::from(offset), offset < 0),
    }
}

impl<A: Allocator + Copy> Session<A> {
    /// Computes a cursor's rows.
    pub(super) fn spool(
        &mut self,
        env: &Environment<'_>,
        plan: &[u8],
        portal: &mut Portal<A>,
    ) -> Result<Option<(Tag, Ended)>> {
        let mut bytes = Vec::new();
        let text = |_| Format::Text;
        let nobody = &mut NoData::default();
        let types = Plan::new(plan).into_iter().flat_map(|plan| plan.client_types());
        let parameters = datums(types, &portal.parameters)?;
        let (_, requests) = self.execute_plan(env, plan, &parameters, ("", &[]), text, 0, Some(&mut bytes), nobody)?;
        self.carry_out(env, requests)?;
        portal.progress = Progress::Spooled(self.spool_of(plan, &bytes)?);
        Ok(None)
    }

    /// All rows of a cursor that is before the first, from what an execution kept.
    pub(super) fn spool_of(&self, plan: &[u8], bytes: &[u8]) -> Result<Spool<A>> {
        let kinds: Vec<Kind> = Plan::new(plan)
            .into_iter()
            .flat_map(|plan| plan.columns())
            .map(|column| table::kind(column.ty.oid))
            .collect();
        let rows = bytes_in(bytes, self.memory)?;
        let mut starts = List::new_in(self.memory);
        let mut at = 0;
        while at < rows.len() {
            starts.try_reserve(1).map_err(|_| Error::out_of_memory("a cursor", starts.len() * size_of::<usize>()))?;
            starts.push(at);
            for kind in &kinds {
                at = blob::get_value(*kind, &rows, at)?.1;
            }
            if starts.len() % 256 == 0 {
                crate::exec::breathe()?;
            }
        }
        Ok(Spool { rows, starts, place: 0 })
    }

    /// Moves a cursor, and gives the rows that it comes by.
    pub(crate) fn fetch_portal<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        direction: FetchDirection,
        out: &mut O,
    ) -> Result<Ended> {
        let named = super::Named(name.as_bytes());
        let is_cursor = self.portals.get(&named).ok_or_else(|| super::extended::no_portal(name))?.cursor;
        if !is_cursor {
            // A portal of the protocol keeps only what is left.
            return match direction {
                FetchDirection::Forward(count @ 1..) => self.fetch_forward(env, name, count, out),
                _ => Err(Error::unsupported("FETCH in this direction from a portal that is no cursor")
                    .hint("Use DECLARE, with SCROLL.")),
            };
        }
        // Its rows are there then.
        self.run_portal(env, name, 0, &mut NoData::default())?;
        let Some((key, mut portal)) = self.portals.remove_entry(&super::Named(name.as_bytes())) else {
            return Err(super::extended::no_portal(name));
        };
        let result = self.give_spooled(env, &mut portal, direction, out);
        if result.is_err() {
            portal.progress = Progress::Failed;
        }
        self.portals.insert(key, portal);
        result.map(|(_, ended)| ended)
    }

    /// Gives the next rows of a portal of the protocol, as the output wants them written.
    fn fetch_forward<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        count: u64,
        out: &mut O,
    ) -> Result<Ended> {
        let memory = self.memory;
        let portal = self.portal_mut(name).ok_or_else(|| super::extended::no_portal(name))?;
        let Body::Plan(id) = portal.body else { return Err(super::extended::no_portal(name)) };
        let columns = Plan::new(self.plans.bytes(id)).map_or(0, |plan| plan.columns().len());
        let mut wanted = List::new_in(memory);
        wanted.try_reserve_exact(columns).map_err(|_| Error::out_of_memory("a portal", columns))?;
        let Some(portal) = self.portal_mut(name) else { return Err(super::extended::no_portal(name)) };
        wanted.extend((0..columns).map(|index| out.format(index, portal.format(index))));
        let own = std::mem::replace(&mut portal.formats, wanted);
        let result = self.run_portal(env, name, count, out);
        if let Some(portal) = self.portal_mut(name) {
            portal.formats = own;
        }
        result.map(|(_, ended)| ended)
    }

    /// The same for a portal that is taken out.
    pub(super) fn give_spooled<O: Output>(
        &mut self,
        env: &Environment<'_>,
        portal: &mut Portal<A>,
        direction: FetchDirection,
        out: &mut O,
    ) -> Result<(Tag, Ended)> {
        let Body::Plan(id) = portal.body else { return Err(super::extended::no_portal("")) };
        let styles = self.styles(env)?;
        let view = self.view(env);
        let read = || self.catalog_parts(env, &self.work);
        let catalog = LazyCatalog::reading(&env.database.catalogs, &read);
        let around = self.around(env, catalog, &view, styles.style(self.transaction.started_at()));
        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Err(super::extended::no_portal("")) };
        let columns: Vec<(Kind, Oid, Format)> = plan
            .columns()
            .enumerate()
            .map(|(index, column)| {
                let format = out.format(index, portal.format(index));
                (table::kind(column.ty.oid), column.ty.oid, format)
            })
            .collect();
        let scrolls = portal.scrolls;
        let Progress::Spooled(spool) = &mut portal.progress else { return Ok((tag(plan, 0), Ended::AtEnd(0))) };
        let count = spool.starts.len() as u64;
        let step = step(spool, scrolls, direction)?;
        for given in 0..step.count {
            let number = if step.backward { step.first - given } else { step.first + given };
            let Some(&start) = spool.starts.get(number as usize - 1) else { break };
            let mut at = start;
            // Where it is if the client goes away, or does not want the rest.
            spool.place = number;
            out.begin_row();
            for &(kind, oid, format) in &columns {
                let (datum, next) = blob::get_value(kind, &spool.rows, at)?;
                at = next;
                if datum.is_null() {
                    out.null();
                } else if let Err(error) = out.value(|buffer| write_value(kind, oid, format, datum, &around, buffer)) {
                    out.abandon_row();
                    return Err(error);
                }
            }
            out.end_row()?;
            if given % 256 == 255 {
                crate::exec::breathe()?;
            }
        }
        spool.place = step.place;
        let ended = if step.place > count { Ended::AtEnd(step.count) } else { Ended::Early(step.count) };
        Ok((tag(plan, step.count), ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FetchDirection::{Absolute, Backward, Forward, Relative};

    #[test]
    fn a_cursor_moves_as_postgresqls_does() {
        for (place, direction, expected) in [
            (0, Forward(2), (1, 2, 2)),
            (2, Forward(1), (3, 1, 3)),
            (2, Forward(2), (3, 1, 4)),
            (4, Forward(1), (5, 0, 4)),
            (0, Forward(u64::MAX), (1, 3, 4)),
            (2, Forward(0), (2, 1, 2)),
            (0, Forward(0), (0, 0, 0)),
            (4, Backward(1), (3, 1, 3)),
            (4, Backward(3), (3, 3, 1)),
            (4, Backward(u64::MAX), (3, 3, 0)),
            (1, Backward(1), (0, 0, 0)),
            (0, Backward(5), (0, 0, 0)),
            (0, Absolute(2), (2, 1, 2)),
            (0, Absolute(9), (1, 0, 4)),
            (2, Absolute(0), (3, 0, 0)),
            (0, Absolute(-1), (3, 1, 3)),
            (0, Absolute(-4), (1, 0, 0)),
            (2, Relative(-1), (1, 1, 1)),
            (2, Relative(1), (3, 1, 3)),
            (2, Relative(0), (2, 1, 2)),
            (4, Relative(-2), (2, 1, 2)),
            (4, Relative(i64::MAX), (5, 0, 4)),
        ] {
            let step = moved(place, 3, direction);
            assert_eq!((step.first, step.count, step.place), expected, "{direction:?} from {place}");
        }
        let scrolls = |place, direction| moved(place, 3, direction).scrolls;
        assert!(
            !scrolls(1, Absolute(2)) && scrolls(2, Absolute(2)) && scrolls(2, Absolute(0)) && !scrolls(0, Absolute(0))
        );
        assert!(
            scrolls(0, Backward(1)) && scrolls(1, Forward(0)) && !scrolls(0, Forward(0)) && !scrolls(2, Forward(1))
        );
    }
}
