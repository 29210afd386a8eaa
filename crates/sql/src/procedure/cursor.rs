//! Cursors in bodies: `OPEN`, `FETCH`, `MOVE`, `CLOSE`, and loops over them.
//!
//! A cursor variable holds a name, as text; the cursor is the session's ([`crate::session::opened`]).

use super::frame::Slot;
use super::kept::Planned;
use super::run::{Flow, Interpreter};
use super::tree::{Into, Opened, Piece, Source, Statement, Steps, Target};
use crate::parser::ast::FetchDirection;
use crate::parser::utility::fetched;
use crate::plan::blob::Constant;
use crate::plan::{Plan, flags};
use crate::session::run::Gathered;
use crate::types::{Oid, Type};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use std::sync::Arc;

impl<'i, A: Allocator + Copy> Interpreter<'i, '_, A> {
    /// The name that a cursor variable holds.
    fn cursor_name(&self, variable: u32) -> Result<String> {
        match &self.frame.slots[variable as usize] {
            Slot::Scalar(_, Constant::Bytes(name)) => Ok(String::from_utf8_lossy(name).into_owned()),
            _ => {
                let name = &self.readied.body.variables[variable as usize].name;
                let message = format!("cursor variable \"{name}\" is null");
                Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message))
            }
        }
    }

    /// The plan and the rows of a query.
    fn opened(&mut self, source: &Source) -> Result<(Arc<Planned>, Gathered, String)> {
        let is_query = |planned: &Planned| Plan::new(&planned.plan).is_some_and(|plan| plan.has(flags::RETURNS_ROWS));
        let refused = || Error::statement(sqlstate::INVALID_CURSOR_DEFINITION, "cannot open this query as a cursor");
        match source {
            Source::Piece(piece) => match self.gather(piece, u64::MAX)? {
                Some((planned, gathered)) if is_query(&planned) => Ok((planned, gathered, piece.text.clone())),
                _ => Err(refused()),
            },
            Source::Text(text, using) => {
                let Some(text) = self.text(text)? else {
                    let message = "query string argument of EXECUTE is null";
                    return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
                };
                let (mut types, mut values) = (Vec::new(), Vec::new());
                for piece in using {
                    let (ty, value) = self.value(piece)?;
                    types.push(ty.oid);
                    values.push(value);
                }
                let plan = self.session.compile_piece(self.env, &text, &[], &types)?.ok_or_else(refused)?;
                self.check_reads_only(&plan)?;
                let planned = Arc::new(Planned::new(plan));
                if !is_query(&planned) {
                    return Err(refused());
                }
                let values: Vec<_> = values.iter().map(Constant::datum).collect();
                let gathered = self.session.gather(self.env, &planned.plan, &values, u64::MAX, self.notices)?;
                Ok((planned, gathered, text))
            }
        }
    }

    /// `OPEN`
    pub(super) fn open(&mut self, variable: u32, opened: &Opened) -> Result<()> {
        let (planned, gathered, text, scroll) = match opened {
            Opened::For(source, scroll) => {
                self.check_closed(variable)?;
                let (planned, gathered, text) = self.opened(source)?;
                (planned, gathered, text, *scroll)
            }
            Opened::Bound(arguments) => {
                self.check_closed(variable)?;
                let body = &self.readied.body;
                let Some(cursor) = &body.variables[variable as usize].cursor else {
                    return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a cursor has no query"));
                };
                for (number, piece) in cursor.arguments.iter().zip(arguments) {
                    let (ty, value) = self.value(piece)?;
                    self.assign(&Target { variable: *number, field: None }, ty, value)?;
                }
                match self.gather(&cursor.query, u64::MAX)? {
                    Some((planned, gathered)) => (planned, gathered, cursor.query.text.clone(), cursor.scroll),
                    None => {
                        let message = "cannot open this query as a cursor";
                        return Err(Error::statement(sqlstate::INVALID_CURSOR_DEFINITION, message));
                    }
                }
            }
        };
        let name = match &self.frame.slots[variable as usize] {
            Slot::Scalar(_, Constant::Null) => {
                let name = self.session.new_cursor_name();
                let target = Target { variable, field: None };
                self.assign(&target, Type::plain(Oid::TEXT), Constant::Bytes(name.clone().into_bytes()))?;
                name
            }
            _ => self.cursor_name(variable)?,
        };
        self.session.open_cursor(&name, (&planned.plan, &text), &gathered.rows, scroll.unwrap_or(true))
    }

    /// Errors: `42P03` if the variable's cursor is open.
    fn check_closed(&self, variable: u32) -> Result<()> {
        let Ok(name) = self.cursor_name(variable) else { return Ok(()) };
        match self.session.has_cursor(&name) {
            true => {
                let message = format!("cursor \"{name}\" already in use");
                Err(Error::statement(sqlstate::DUPLICATE_CURSOR, message))
            }
            false => Ok(()),
        }
    }

    /// `FETCH`, `MOVE`
    pub(super) fn fetch(&mut self, variable: u32, steps: &Steps, into: Option<&Into>) -> Result<()> {
        let name = self.cursor_name(variable)?;
        let direction = match steps {
            Steps::Known(direction) => *direction,
            Steps::Forward(piece) => fetched(self.steps(piece)?),
            Steps::Backward(piece) => fetched(self.steps(piece)?.saturating_neg()),
            Steps::Absolute(piece) => FetchDirection::Absolute(self.steps(piece)?),
            Steps::Relative(piece) => FetchDirection::Relative(self.steps(piece)?),
        };
        let taken = self.session.take_from_cursor(self.env, &name, direction)?;
        let found = match into {
            Some(into) => {
                let found = taken.row.is_some();
                self.put(into, &taken.columns, taken.row)?;
                self.frame.row_count = u64::from(found);
                found
            }
            None => {
                self.frame.row_count = taken.moved;
                taken.moved > 0
            }
        };
        self.set_found(found);
        Ok(())
    }

    /// How far a `FETCH` or `MOVE` goes. Errors: `22004`.
    fn steps(&mut self, piece: &Piece) -> Result<i64> {
        match self.value_as(piece, Oid::INT8)? {
            Constant::Int(count) => Ok(count),
            _ => {
                let message = "relative or absolute cursor position is null";
                Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message))
            }
        }
    }

    /// `CLOSE`
    pub(super) fn close(&mut self, variable: u32) -> Result<()> {
        let name = self.cursor_name(variable)?;
        self.session.close_own_cursor(&name)
    }

    /// `FOR row IN cursor`
    pub(super) fn cursor_rows(
        &mut self,
        label: Option<&str>,
        (variable, arguments): (u32, &'i [Piece]),
        record: u32,
        body: &'i [Statement],
    ) -> Result<Flow<'i>> {
        let was_null = matches!(self.frame.slots[variable as usize], Slot::Scalar(_, Constant::Null));
        self.open_bound(variable, arguments)?;
        let name = self.cursor_name(variable)?;
        // The body may end the transaction, and the loop goes on.
        self.session.pin_cursor(&name, true);
        let flow = self.over_cursor(label, &name, record, body);
        self.session.pin_cursor(&name, false);
        // The body may have closed it, and an error's handler takes it away.
        if flow.is_ok() && self.session.has_cursor(&name) {
            self.session.close_own_cursor(&name)?;
        }
        if was_null && let Slot::Scalar(_, value) = &mut self.frame.slots[variable as usize] {
            *value = Constant::Null;
        }
        flow
    }

    fn open_bound(&mut self, variable: u32, arguments: &'i [Piece]) -> Result<()> {
        self.check_closed(variable)?;
        let body = &self.readied.body;
        let Some(cursor) = &body.variables[variable as usize].cursor else {
            let message = "cursor FOR loop must use a bound cursor variable";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        };
        for (number, piece) in cursor.arguments.iter().zip(arguments) {
            let (ty, value) = self.value(piece)?;
            self.assign(&Target { variable: *number, field: None }, ty, value)?;
        }
        let Some((planned, gathered)) = self.gather(&cursor.query, u64::MAX)? else {
            let message = "cannot open this query as a cursor";
            return Err(Error::statement(sqlstate::INVALID_CURSOR_DEFINITION, message));
        };
        if matches!(self.frame.slots[variable as usize], Slot::Scalar(_, Constant::Null)) {
            let name = self.session.new_cursor_name();
            let target = Target { variable, field: None };
            self.assign(&target, Type::plain(Oid::TEXT), Constant::Bytes(name.into_bytes()))?;
        }
        let name = self.cursor_name(variable)?;
        let (query, scrolls) = ((&planned.plan[..], cursor.query.text.as_str()), cursor.scroll.unwrap_or(true));
        self.session.open_cursor(&name, query, &gathered.rows, scrolls)
    }

    fn over_cursor(&mut self, label: Option<&str>, name: &str, record: u32, body: &'i [Statement]) -> Result<Flow<'i>> {
        let into = Into { targets: vec![Target { variable: record, field: None }], strict: false };
        let mut found = false;
        loop {
            let taken = self.session.take_from_cursor(self.env, name, FetchDirection::Forward(1))?;
            let Some(row) = taken.row else {
                if !found {
                    self.put(&into, &taken.columns, None)?;
                }
                self.set_found(found);
                return Ok(Flow::Next);
            };
            found = true;
            self.put(&into, &taken.columns, Some(row))?;
            if let Some(flow) = self.once_more(label, body)? {
                self.set_found(true);
                return Ok(flow);
            }
        }
    }
}
