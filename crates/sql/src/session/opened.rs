//! Cursors of procedures: portals that a body opens, and whose rows it takes.
//!
//! A cursor that a body opens has all its rows from the beginning: it sees what the moment of `OPEN` saw, and nothing of an execution stays
//! open while other statements run. It is a portal like those of `DECLARE` ([`super::cursor`]): a client fetches from it by its name, and it
//! ends with the transaction, unless a loop goes over it just then.

use super::cursor::step;
use super::extended::Target;
use super::prepared::{Body, Portal, Progress};
use super::{Environment, List, Named, NoData, Session, Text};
use crate::parser::ast::FetchDirection;
use crate::plan::blob::{self, Constant};
use crate::plan::{Plan, flags};
use crate::types::{Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

/// What taking rows from a cursor came to.
pub(crate) struct Taken {
    /// The columns of its rows.
    pub(crate) columns: Vec<(String, Type)>,
    /// How many rows it came by.
    pub(crate) moved: u64,
    /// The row, if it came by one.
    pub(crate) row: Option<Vec<Constant>>,
}

impl<A: Allocator + Copy> Session<A> {
    /// Is there a cursor of that name?
    pub(crate) fn has_cursor(&self, name: &str) -> bool {
        self.portals.contains_key(&Named(name.as_bytes()))
    }

    /// Does a portal read a table? As in PostgreSQL one that has given all its rows reads it until it is closed, unless it has outlived its
    /// transaction. What changes rows is carried out as a whole: before and afterwards it uses nothing.
    pub(super) fn has_portal_on(&self, table: Oid) -> bool {
        let reads = |portal: &Portal<A>| {
            let Body::Plan(id) = portal.body else { return false };
            let is_over = (portal.holds && portal.committed) || matches!(portal.progress, Progress::Failed);
            let gives = |plan: &Plan<'_>| plan.has(flags::RETURNS_ROWS) && !plan.has(flags::MODIFIES);
            let plan = Plan::new(self.plans.bytes(id)).filter(|plan| !is_over && gives(plan));
            plan.is_some_and(|plan| plan.tables().any(|read| read.oid == table))
        };
        self.portals.values().chain(&self.unnamed_portal).any(reads)
    }

    /// A name that no cursor has.
    pub(crate) fn new_cursor_name(&self) -> String {
        let mut number = 1_u64;
        loop {
            let name = format!("<unnamed portal {number}>");
            if !self.has_cursor(&name) {
                return name;
            }
            number += 1;
        }
    }

    /// Makes a cursor of a query whose rows are there. Errors: `42P03`.
    pub(crate) fn open_cursor(
        &mut self,
        name: &str,
        (plan, text): (&[u8], &str),
        rows: &[u8],
        scrolls: bool,
    ) -> Result<()> {
        if self.has_cursor(name) {
            let message = format!("cursor \"{name}\" already in use");
            return Err(Error::statement(sqlstate::DUPLICATE_CURSOR, message));
        }
        let spool = self.spool_of(plan, rows)?;
        let id = self.plans.add(plan, text.as_bytes(), self.memory)?;
        let portal = Portal {
            savepoints: self.savepoints,
            text: Text::new_in(self.memory),
            body: Body::Plan(id),
            parameters: Text::new_in(self.memory),
            formats: List::new_in(self.memory),
            progress: Progress::Spooled(spool),
            locked_in: self.work_number,
            cursor: true,
            holds: false,
            committed: false,
            scrolls,
            made_at: kernel::clock::wall_us(),
        };
        self.add_portal(name, portal)
    }

    /// Goes in a direction. Errors: `34000`, `55000`.
    pub(crate) fn take_from_cursor(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        direction: FetchDirection,
    ) -> Result<Taken> {
        let missing = || Error::statement(sqlstate::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"));
        let is_new = |portal: &Portal<A>| matches!(portal.progress, Progress::New);
        if self.portals.get(&Named(name.as_bytes())).is_some_and(is_new) {
            self.run_portal(env, name, 0, &mut NoData::default())?;
        }
        let portal = self.portals.get_mut(&Named(name.as_bytes())).ok_or_else(missing)?;
        let Body::Plan(id) = portal.body else { return Err(missing()) };
        let Some(plan) = Plan::new(self.plans.bytes(id)) else { return Err(missing()) };
        let columns: Vec<(String, Type)> = plan.columns().map(|column| (column.name().to_owned(), column.ty)).collect();
        let mut taken = Taken { columns, moved: 0, row: None };
        let scrolls = portal.scrolls;
        let Progress::Spooled(spool) = &mut portal.progress else {
            return Err(Error::unsupported("FETCH in a procedure from a portal that is no cursor")
                .hint("Open a cursor, or use DECLARE."));
        };
        let step = step(spool, scrolls, direction)?;
        if step.count == 1
            && let Some(&start) = spool.starts.get(step.first as usize - 1)
        {
            let (mut row, mut at) = (Vec::with_capacity(taken.columns.len()), start);
            for (_, ty) in &taken.columns {
                let (datum, next) = blob::get_value(table::kind(ty.oid), &spool.rows, at)?;
                row.push(Constant::of(datum));
                at = next;
            }
            taken.row = Some(row);
        }
        taken.moved = step.count;
        spool.place = step.place;
        Ok(taken)
    }

    /// While a loop goes over a cursor, it outlives transactions that its body ends, with a commit or without.
    pub(crate) fn pin_cursor(&mut self, name: &str, pinned: bool) {
        if let Some(portal) = self.portals.get_mut(&Named(name.as_bytes())) {
            (portal.holds, portal.committed) = (pinned, pinned);
        }
    }

    /// Closes one. Errors: `34000`.
    pub(crate) fn close_own_cursor(&mut self, name: &str) -> Result<()> {
        if !self.has_cursor(name) {
            let message = format!("cursor \"{name}\" does not exist");
            return Err(Error::statement(sqlstate::INVALID_CURSOR_NAME, message));
        }
        self.close_target(Target::Portal(name));
        Ok(())
    }
}
