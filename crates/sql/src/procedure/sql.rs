//! Expressions and SQL statements of a body.
//!
//! Rules
//! 1. A plan that the frame keeps is used again while the shapes of the variables are what they were and its tables, locked, are still
//!    those that it was made from.
//! 2. Rows are collected before they are used: nothing of an execution is open while the next statement runs.

use super::frame::{Field, Kept, Slot, shown};
use super::kept::Planned;
use super::raise::in_statement;
use super::run::Interpreter;
use super::tree::{Into, Piece, Source, Target};
use crate::parser::ast::{Statement, Utility};
use crate::plan::blob::{self, Constant};
use crate::plan::{Plan, flags};
use crate::session::parameters::Parameters;
use crate::session::run::Gathered;
use crate::types::{Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};
use std::sync::Arc;

/// The rows of a query.
pub(crate) struct Rows {
    pub(crate) columns: Vec<(String, Type)>,
    pub(crate) gathered: Gathered,
}

impl Rows {
    /// The row at a byte, and where the next one begins.
    pub(crate) fn row(&self, mut at: usize) -> Result<(Vec<Constant>, usize)> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (_, ty) in &self.columns {
            let (datum, next) = blob::get_value(table::kind(ty.oid), &self.gathered.rows, at)?;
            row.push(Constant::of(datum));
            at = next;
        }
        Ok((row, at))
    }
}

/// What a statement came to.
pub(crate) enum Done {
    /// Rows, or a number of changed rows.
    Rows(Rows, bool),
    /// It was none that is planned.
    Utility,
}

fn columns(plan: Plan<'_>) -> Vec<(String, Type)> {
    plan.columns().map(|column| (column.name().to_owned(), column.ty)).collect()
}

impl<A: Allocator + Copy> Interpreter<'_, '_, A> {
    /// The plan of a piece; none if it is a statement that is not planned.
    pub(super) fn plan(&mut self, piece: &Piece) -> Result<Option<Arc<Planned>>> {
        let (session, env) = (&mut *self.session, self.env);
        let number = piece.number as usize;
        let shape = self.frame.shape;
        let is_current = |kept: &&mut Kept| kept.shape == shape && session.is_of_settings(env, &kept.planned.plan);
        if let Some(kept) = self.frame.kept[number].as_mut().filter(is_current) {
            let tables = &kept.planned.tables;
            if tables.is_empty() {
                return Ok(Some(kept.planned.clone()));
            }
            session.lock_tables(env, tables)?;
            let now = session.stamp(env)?;
            if now.is_some() && now == kept.stamp {
                return Ok(Some(kept.planned.clone()));
            }
            if session.stands(env, tables)? {
                kept.stamp = now;
                return Ok(Some(kept.planned.clone()));
            }
        }
        // An earlier call may have left it. A body of one call only, and variables of other types, share nothing.
        let version = self.readied.version.filter(|_| self.frame.shape == 0);
        let settings = version.and_then(|_| session.plan_settings(env));
        if let Some(settings) = &settings
            && let Some(planned) = self.readied.plan(number, settings)
        {
            session.lock_tables(env, &planned.tables)?;
            let now = session.stamp(env)?;
            if now.map(|now| now.version) == version {
                self.frame.kept[number] = Some(Kept { planned: planned.clone(), stamp: now, shape: 0 });
                return Ok(Some(planned));
            }
        }
        let (names, types) = self.frame.names(&self.readied.body, piece);
        let Some(plan) = session.compile_piece(env, &piece.text, &names, &types)? else { return Ok(None) };
        let is_reusable = Plan::new(&plan).is_some_and(|plan| plan.has(flags::REUSABLE));
        let (planned, stamp) = (Arc::new(Planned::new(plan)), session.stamp(env)?);
        if let Some(settings) = settings.filter(|_| is_reusable)
            && stamp.map(|stamp| stamp.version) == version
        {
            self.readied.keep(number, settings, &planned);
        }
        self.frame.kept[number] = Some(Kept { planned: planned.clone(), stamp, shape: self.frame.shape });
        Ok(Some(planned))
    }

    /// Executes a piece that is planned.
    pub(super) fn gather(&mut self, piece: &Piece, most: u64) -> Result<Option<(Arc<Planned>, Gathered)>> {
        let Some(planned) = self.plan(piece)? else { return Ok(None) };
        self.check_reads_only(&planned.plan)?;
        let made = match planned.wants_values(self.session.plan_cache_mode(self.env)) {
            true => self.plan_for_values(piece, &planned)?,
            false => None,
        };
        let values = self.frame.values(&self.readied.body, piece);
        let plan = made.as_ref().unwrap_or(&planned.plan);
        let gathered = self.session.gather(self.env, plan, &values, most, self.notices)?;
        Ok(Some((planned, gathered)))
    }

    /// A plan of a piece for the values that its variables have.
    fn plan_for_values(&mut self, piece: &Piece, planned: &Planned) -> Result<Option<Vec<u8>>> {
        let (names, types) = self.frame.names(&self.readied.body, piece);
        if types.is_empty() {
            return Ok(None);
        }
        let values: Vec<Constant> =
            self.frame.values(&self.readied.body, piece).into_iter().map(Constant::of).collect();
        let statement = (piece.text.as_str(), (0, piece.text.len()));
        let made = self.session.compile_for(self.env, statement, &names, &types, &values)?;
        if let Some(made) = &made {
            planned.note_custom(made);
        }
        Ok(made)
    }

    /// Refuses a plan that changes something, where that is not allowed.
    pub(super) fn check_reads_only(&self, plan: &[u8]) -> Result<()> {
        match Plan::new(plan) {
            Some(plan) if self.reads_only && plan.has(flags::WRITES) => {
                let words = match plan.kind().tag().trim_end_matches(" 0") {
                    "SELECT" => "SELECT FOR UPDATE",
                    tag => tag,
                };
                Err(Error::unsupported(format!("{words} is not allowed in a non-volatile function")))
            }
            _ => Ok(()),
        }
    }

    /// The value of an expression.
    pub(crate) fn value(&mut self, piece: &Piece) -> Result<(Type, Constant)> {
        self.value_of_row(piece).map(|(ty, value)| (ty, value.unwrap_or(Constant::Null)))
    }

    /// The value of an expression; none if it gives no row.
    pub(super) fn value_of_row(&mut self, piece: &Piece) -> Result<(Type, Option<Constant>)> {
        let done = self.gather(piece, 2);
        let Some((planned, gathered)) = done? else {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "an expression was expected"));
        };
        let Some(read) = Plan::new(&planned.plan) else { return Err(Error::unsupported("an empty plan")) };
        let mut all = read.columns();
        let (Some(column), None) = (all.next(), all.next()) else {
            let message = format!("query \"{}\" returned {} columns", piece.text, read.columns().len());
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        };
        match gathered.count {
            0 => Ok((column.ty, None)),
            1 => {
                let (datum, _) = blob::get_value(table::kind(column.ty.oid), &gathered.rows, 0)?;
                Ok((column.ty, Some(Constant::of(datum))))
            }
            _ => {
                let message = format!("query \"{}\" returned more than one row", piece.text);
                Err(Error::statement(sqlstate::CARDINALITY_VIOLATION, message))
            }
        }
    }

    /// The value of an expression as one of a type.
    pub(crate) fn value_as(&mut self, piece: &Piece, oid: Oid) -> Result<Constant> {
        let (ty, value) = self.value(piece)?;
        self.session.converted(self.env, value, ty, Type::plain(oid))
    }

    /// The value of a condition.
    pub(crate) fn holds(&mut self, piece: &Piece) -> Result<bool> {
        Ok(matches!(self.value_as(piece, Oid::BOOL)?, Constant::Bool(true)))
    }

    /// The value of an expression as a client would see it, which is not what a cast to text makes of it; none for null.
    pub(crate) fn text(&mut self, piece: &Piece) -> Result<Option<String>> {
        match self.value(piece)? {
            (_, Constant::Null) => Ok(None),
            (ty, value) => self.session.printed(self.env, &value, ty).map(Some),
        }
    }

    /// Puts a value into a variable.
    pub(crate) fn assign(&mut self, target: &Target, ty: Type, value: Constant) -> Result<()> {
        let variable = &self.readied.body.variables[target.variable as usize];
        match (&mut self.frame.slots[target.variable as usize], &target.field) {
            (Slot::Scalar(own, place), None) => {
                if variable.not_null && matches!(value, Constant::Null) {
                    let message =
                        format!("null value cannot be assigned to variable \"{}\" declared NOT NULL", variable.name);
                    return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
                }
                *place = self.session.converted(self.env, value, ty, *own)?;
                Ok(())
            }
            (Slot::Scalar(..), Some(_)) => {
                let message = format!("variable \"{}\" is not a record", shown(&self.readied.body, target));
                Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message))
            }
            (Slot::Record(Some(fields), _, absent), Some(name)) => {
                let Some(field) = fields.iter_mut().find(|field| field.name == *name) else {
                    let message = format!("record \"{}\" has no field \"{name}\"", variable.name);
                    return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
                };
                field.value = self.session.converted(self.env, value, ty, field.ty)?;
                *absent = false;
                Ok(())
            }
            (Slot::Record(None, ..), Some(_)) => Err(crate::bind::variable::unassigned(&variable.name)),
            (Slot::Record(fields, _, absent), None) if matches!(value, Constant::Null) => {
                fields.iter_mut().flatten().for_each(|field| field.value = Constant::Null);
                *absent = true;
                Ok(())
            }
            (Slot::Record(..), None) => Err(Error::unsupported("assigning a row as one value is not supported")
                .hint("Use SELECT ... INTO, or assign the fields.")),
        }
    }

    /// Puts a row into variables; none makes them null.
    pub(crate) fn put(&mut self, into: &Into, columns: &[(String, Type)], row: Option<Vec<Constant>>) -> Result<()> {
        let mut row = row.unwrap_or_default().into_iter();
        let record = |target: &Target| {
            target.field.is_none() && matches!(self.frame.slots[target.variable as usize], Slot::Record(..))
        };
        if let [target] = into.targets.as_slice()
            && record(target)
        {
            return self.put_record(target, columns, row);
        }
        if into.targets.iter().any(record) {
            let message = "record variable cannot be part of multiple-item INTO list";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        for (index, target) in into.targets.iter().enumerate() {
            let ty = columns.get(index).map_or(Type::plain(Oid::TEXT), |column| column.1);
            self.assign(target, ty, row.next().unwrap_or(Constant::Null))?;
        }
        Ok(())
    }

    fn put_record(
        &mut self,
        target: &Target,
        columns: &[(String, Type)],
        mut row: impl Iterator<Item = Constant>,
    ) -> Result<()> {
        let Slot::Record(fields, fixed, absent) = &mut self.frame.slots[target.variable as usize] else {
            return Ok(());
        };
        // Without a row the columns are null: it is a row of nulls.
        *absent = false;
        if *fixed {
            for (index, field) in fields.iter_mut().flatten().enumerate() {
                let ty = columns.get(index).map_or(field.ty, |column| column.1);
                field.value = self.session.converted(self.env, row.next().unwrap_or(Constant::Null), ty, field.ty)?;
            }
            return Ok(());
        }
        let same = fields.as_ref().is_some_and(|fields| {
            let mut pairs = fields.iter().zip(columns);
            fields.len() == columns.len()
                && pairs.all(|(field, column)| (&field.name, field.ty) == (&column.0, column.1))
        });
        if !same {
            let field = |(name, ty): &(String, Type)| Field { name: name.clone(), ty: *ty, value: Constant::Null };
            *fields = Some(columns.iter().map(field).collect());
            self.frame.shape += 1;
        }
        for field in fields.iter_mut().flatten() {
            field.value = row.next().unwrap_or(Constant::Null);
        }
        Ok(())
    }

    /// Executes a statement of the body; of its rows `most` are kept.
    pub(crate) fn execute(&mut self, piece: &Piece, most: u64) -> Result<Done> {
        let done = self.gather(piece, most).map_err(|error| in_statement(error, &piece.text))?;
        match done {
            Some((planned, gathered)) => {
                let Some(read) = Plan::new(&planned.plan) else { return Err(Error::unsupported("an empty plan")) };
                let returns = read.has(flags::RETURNS_ROWS);
                Ok(Done::Rows(Rows { columns: columns(read), gathered }, returns))
            }
            None => {
                self.utility(&piece.text).map_err(|error| in_statement(error, &piece.text))?;
                Ok(Done::Utility)
            }
        }
    }

    /// Executes a text that was computed, with parameters.
    pub(crate) fn execute_text(&mut self, piece: &Piece, using: &[Piece], most: u64) -> Result<Done> {
        let Some(text) = self.text(piece)? else {
            return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null"));
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for piece in using {
            let (ty, value) = self.value(piece)?;
            types.push(ty.oid);
            values.push(value);
        }
        self.execute_given(&text, &types, &values, most).map_err(|error| in_statement(error, &text))
    }

    fn execute_given(&mut self, text: &str, types: &[Oid], values: &[Constant], most: u64) -> Result<Done> {
        let text = text.trim_end_matches(|last: char| last.is_ascii_whitespace() || last == ';');
        if text.trim_start().is_empty() {
            return Ok(Done::Utility);
        }
        let Some(plan) = self.session.compile_piece(self.env, text, &[], types)? else {
            self.utility(text)?;
            return Ok(Done::Utility);
        };
        self.check_reads_only(&plan)?;
        let values: Vec<_> = values.iter().map(Constant::datum).collect();
        let gathered = self.session.gather(self.env, &plan, &values, most, self.notices)?;
        let Some(read) = Plan::new(&plan) else { return Err(Error::unsupported("an empty plan")) };
        let returns = read.has(flags::RETURNS_ROWS);
        Ok(Done::Rows(Rows { columns: columns(read), gathered }, returns))
    }

    /// The rows of a loop's query.
    pub(crate) fn source(&mut self, source: &Source) -> Result<Rows> {
        let done = match source {
            Source::Piece(piece) => self.execute(piece, u64::MAX)?,
            Source::Text(text, using) => self.execute_text(text, using, u64::MAX)?,
        };
        match done {
            Done::Rows(rows, true) => Ok(rows),
            _ => Err(Error::statement(sqlstate::INVALID_CURSOR_DEFINITION, "cannot open this query as a cursor")),
        }
    }

    /// Carries out a statement that is not planned. Calls are counted, and know whether they may end the transaction.
    fn utility(&mut self, text: &str) -> Result<()> {
        let bump = bumpalo::Bump::new();
        let parsed = kernel::fiber::on_engine_stack(|| crate::parser::parse(text, 0, text.len(), &bump))?;
        let Statement::Utility(utility) = parsed else { return Ok(()) };
        if self.reads_only {
            let words = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ").to_uppercase();
            return Err(Error::unsupported(format!("{words} is not allowed in a non-volatile function")));
        }
        let nesting = self.inner();
        match utility {
            Utility::Call(call) => {
                self.session.call(self.env, text, call, (&[], &[], &[]), nesting, self.notices).map(drop)
            }
            Utility::Do(block) => self.session.run_block(self.env, block, nesting, self.notices),
            Utility::Begin(..)
            | Utility::Commit { .. }
            | Utility::Rollback { .. }
            | Utility::Savepoint(_)
            | Utility::Release(_)
            | Utility::RollbackTo(_) => Err(Error::unsupported("unsupported transaction command in PL/pgSQL")
                .hint("Use a PL/pgSQL block with an EXCEPTION clause instead.")),
            Utility::Copy(_) => Err(Error::unsupported("cannot COPY to/from client in PL/pgSQL")),
            // What needs to be alone in its transaction is refused, as this is not.
            Utility::AlterSystem { .. } => Err(Error::statement(
                sqlstate::ACTIVE_SQL_TRANSACTION,
                "ALTER SYSTEM cannot be executed from a function",
            )),
            Utility::Vacuum { .. } => {
                Err(Error::statement(sqlstate::ACTIVE_SQL_TRANSACTION, "VACUUM cannot be executed from a function"))
            }
            Utility::Declare { .. }
            | Utility::Fetch { .. }
            | Utility::Close(_)
            | Utility::Discard(_)
            | Utility::Execute { .. }
            | Utility::Prepare { .. }
            | Utility::Deallocate(_)
            | Utility::Explain { .. }
            | Utility::Show(_) => Err(Error::unsupported("this statement is not supported in a procedure")),
            _ => {
                let mut told = super::run::Told(self.notices);
                let env = self.env;
                self.session
                    .in_body(|session| session.utility(env, text, utility, Parameters::NONE, &mut told))
                    .map(drop)
            }
        }
    }
}
