//! Statements of the language, carried out one after another.
//!
//! A statement answers how to go on ([`Flow`]): loops and blocks look whether an `EXIT` is theirs and hand it on if not. Recursion
//! follows the tree, and calls in calls; each step counts ([`Nesting`]).

use super::element::slices;
use super::frame::{Frame, Slot};
use super::kept::Readied;
use super::raise::{covers, may_be_caught, within};
use super::sql::Done;
use super::tree::{Block, Gives, Into, Kind, Piece, Source, Statement, Target};
use crate::bind::variable::Variable;
use crate::plan::blob::Constant;
use crate::session::{Column, CopyFormat, Environment, Output, Session, Tag};
use crate::types::array::Array;
use crate::types::{Datum, Oid, Type, table};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};

/// How deep statements and calls may be in one another, altogether.
const DEPTH_MAX: u32 = 200;
/// The variable `found`.
const FOUND: u32 = 0;

/// Who hears messages while a procedure runs.
pub(crate) type Notices<'n> = &'n mut dyn FnMut(MessageLevel, &Error);

/// What a call is in.
#[derive(Clone, Copy)]
pub(crate) struct Nesting {
    /// How many statements and calls are around it.
    pub(crate) depth: u32,
    /// It may not end the transaction.
    pub(crate) atomic: bool,
}

/// How to go on after a statement.
pub(crate) enum Flow<'b> {
    Next,
    /// `EXIT`, with its label.
    Exit(Option<&'b str>),
    /// `CONTINUE`, with its label.
    Again(Option<&'b str>),
    Return,
}

/// A body that is carried out.
pub(crate) struct Interpreter<'i, 'e, A: Allocator + Copy> {
    pub(crate) session: &'i mut Session<A>,
    pub(crate) env: &'i Environment<'e>,
    pub(crate) notices: Notices<'i>,
    pub(crate) readied: &'i Readied,
    pub(crate) frame: Frame,
    /// What the routine is called in contexts.
    name: &'i str,
    nesting: Nesting,
    /// Blocks with handlers that are open.
    levels: u32,
    /// Where the stack is too low.
    floor: usize,
    turns: u32,
    /// What it gives back.
    pub(crate) returned: Returned,
    /// The row that a trigger's function gives: a value for each column, with its type.
    pub(crate) given: Option<Vec<(Type, Constant)>>,
    /// It may not change anything.
    pub(crate) reads_only: bool,
}

/// What a body gives back.
#[derive(Default)]
pub struct Returned {
    /// The types of a row's columns, or of the value.
    pub(crate) types: Vec<Oid>,
    /// The variables that a row is taken from, if they are its output parameters.
    pub(crate) outputs: Vec<u32>,
    /// Its rows, one after another, each value with a mark for null.
    pub(crate) rows: Vec<u8>,
    /// How many there are.
    pub(crate) count: u64,
    /// It gives nothing at all.
    pub(crate) is_void: bool,
    /// It gives one row, which is null where there is none.
    pub(crate) is_one: bool,
}

impl<'i, 'e, A: Allocator + Copy> Interpreter<'i, 'e, A> {
    /// A call that has not begun.
    pub(crate) fn new(
        session: &'i mut Session<A>,
        env: &'i Environment<'e>,
        notices: Notices<'i>,
        readied: &'i Readied,
        name: &'i str,
        nesting: Nesting,
    ) -> Interpreter<'i, 'e, A> {
        let frame = Frame::new(&readied.body, &readied.shapes);
        let floor = kernel::fiber::stack_floor();
        Interpreter {
            session,
            env,
            notices,
            readied,
            frame,
            name,
            nesting,
            levels: 0,
            floor,
            turns: 0,
            returned: Returned::default(),
            given: None,
            reads_only: false,
        }
    }

    /// Carries the body out.
    pub(crate) fn run(&mut self) -> Result<()> {
        self.set_found(false);
        let done = match self.block(&self.readied.body.block) {
            Ok(Flow::Return) => Ok(()),
            Ok(_) => self.end_of_body(),
            Err(error) => Err(error),
        };
        done.map_err(|error| within(error, self.place()))
    }

    /// The line of context that says where the call is.
    pub(crate) fn place(&self) -> String {
        match self.frame.at {
            (line, _) if self.readied.body.is_sql => format!("SQL function \"{}\" statement {line}", self.name),
            (0, "") => format!("PL/pgSQL function {}", self.name),
            (_, words) if words.starts_with("during") => format!("PL/pgSQL function {} {words}", self.name),
            (line, words) => format!("PL/pgSQL function {} line {line} at {words}", self.name),
        }
    }

    /// What a call by this one is in.
    pub(crate) fn inner(&self) -> Nesting {
        Nesting { depth: self.nesting.depth + 1, atomic: self.nesting.atomic || self.levels > 0 }
    }

    /// The body has come to its end without a `RETURN`.
    fn end_of_body(&mut self) -> Result<()> {
        if matches!(self.readied.body.gives, Gives::Value | Gives::Row) {
            self.frame.at = (0, "");
            let message = "control reached end of function without RETURN";
            return Err(Error::statement(sqlstate::FUNCTION_EXECUTED_NO_RETURN, message));
        }
        Ok(())
    }

    pub(crate) fn set_found(&mut self, found: bool) {
        self.frame.slots[FOUND as usize] = Slot::Scalar(Type::plain(Oid::BOOL), Constant::Bool(found));
    }

    fn descend(&mut self) -> Result<()> {
        self.nesting.depth += 1;
        if self.nesting.depth > DEPTH_MAX || kernel::fiber::stack_is_low(self.floor) {
            return Err(Error::statement(sqlstate::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
                .hint("Nest fewer calls and blocks, or increase the setting fiber_stack_size."));
        }
        Ok(())
    }

    /// To be called at each turn of a loop.
    pub(super) fn turn(&mut self) -> Result<()> {
        const TURNS_BETWEEN: u32 = 32;
        self.turns += 1;
        match self.turns.is_multiple_of(TURNS_BETWEEN) {
            true => crate::exec::breathe(),
            false => Ok(()),
        }
    }

    fn block(&mut self, block: &'i Block) -> Result<Flow<'i>> {
        self.descend()?;
        let flow = self.block_in(block);
        self.nesting.depth -= 1;
        Ok(match flow? {
            Flow::Exit(Some(label)) if block.label.as_deref() == Some(label) => Flow::Next,
            flow => flow,
        })
    }

    fn block_in(&mut self, block: &'i Block) -> Result<Flow<'i>> {
        let at = self.frame.at;
        for (number, value) in &block.declared {
            self.frame.at = (at.0, "during statement block local variable initialization");
            self.frame.clear(*number, &self.readied.shapes[*number as usize]);
            if let Some(piece) = value {
                let (ty, value) = self.value(piece)?;
                self.assign(&Target { variable: *number, field: None }, ty, value)?;
            }
            let variable = &self.readied.body.variables[*number as usize];
            if variable.cursor.is_some()
                && let Slot::Scalar(_, value) = &mut self.frame.slots[*number as usize]
            {
                // A cursor with a query begins with its own name.
                *value = Constant::Bytes(variable.name.clone().into_bytes());
            }
        }
        self.frame.at = at;
        if block.handlers.is_empty() {
            return self.statements(&block.body);
        }
        let level = self.session.begin_own_level(self.env)?;
        let depth = self.nesting.depth;
        self.levels += 1;
        let done = self.statements(&block.body);
        self.levels -= 1;
        let error = match done {
            Ok(flow) => {
                self.session.keep_own_level(self.env, level);
                return Ok(flow);
            }
            // Before types go that the block has made.
            Err(error) => self.session.named(self.env, error),
        };
        self.session.undo_own_level(self.env, level);
        self.nesting.depth = depth;
        let covers_it = |wanted: &String| covers(wanted, &error);
        let found = block.handlers.iter().find(|handler| handler.conditions.iter().any(covers_it));
        let Some(handler) = found.filter(|_| may_be_caught(&error)) else { return Err(error) };
        let text = |text: &str| Slot::Scalar(Type::plain(Oid::TEXT), Constant::Bytes(text.as_bytes().to_vec()));
        let (state, message) = block.error_variables;
        self.frame.slots[state as usize] = text(error.sqlstate().as_str());
        self.frame.slots[message as usize] = text(error.message());
        let error = within(error, self.place());
        self.frame.errors.push(error);
        let done = self.statements(&handler.body);
        self.frame.errors.pop();
        done
    }

    fn statements(&mut self, statements: &'i [Statement]) -> Result<Flow<'i>> {
        for statement in statements {
            self.frame.at = (statement.line, statement.kind.words());
            match self.statement(&statement.kind)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, kind: &'i Kind) -> Result<Flow<'i>> {
        match kind {
            Kind::Block(block) => return self.block(block),
            Kind::If { .. } => return self.choose(kind),
            Kind::Loop { .. }
            | Kind::Count { .. }
            | Kind::Rows { .. }
            | Kind::CursorRows { .. }
            | Kind::Elements { .. } => {
                self.descend()?;
                let at = self.frame.at;
                let flow = self.repeat(kind)?;
                self.nesting.depth -= 1;
                self.frame.at = at;
                return Ok(flow);
            }
            Kind::Leave { label, again, when } => {
                if let Some(when) = when
                    && !self.holds(when)?
                {
                    return Ok(Flow::Next);
                }
                let label = label.as_deref();
                return Ok(if *again { Flow::Again(label) } else { Flow::Exit(label) });
            }
            Kind::Return(value) => return self.give_value(value.as_ref()),
            Kind::ReturnRow(variable) => return self.give_row(*variable),
            Kind::ReturnNext(value) => self.give_next(value.as_ref())?,
            Kind::ReturnNextRow(variable) => self.give_next_row(*variable)?,
            Kind::ReturnQuery(source) => self.give_rows(source)?,
            Kind::Run(piece) => drop(self.execute(piece, 0)?),
            Kind::Result(piece) => return self.give_result(piece),
            Kind::Null => {}
            Kind::Assign(target, piece) => {
                let (ty, value) = self.value(piece)?;
                self.assign(target, ty, value)?;
            }
            Kind::Append { variable, value, is_string, whole } => {
                self.append(*variable, (value, *is_string), whole)?;
            }
            Kind::AssignElement(target, subscripts, piece) => self.assign_element(target, subscripts, piece)?,
            Kind::AssignVariable(target, source, piece) => {
                if !self.assign_record(*target, *source)? {
                    let (ty, value) = self.value(piece)?;
                    self.assign(&Target { variable: *target, field: None }, ty, value)?;
                }
            }
            Kind::Open(variable, opened) => self.open(*variable, opened)?,
            Kind::Fetch(variable, steps, into) => self.fetch(*variable, steps, into.as_ref())?,
            Kind::Close(variable) => self.close(*variable)?,
            Kind::Sql(piece, into) => {
                let most = into.as_ref().map_or(0, |into| 1 + u64::from(into.strict || is_change(&piece.text)));
                let done = self.execute(piece, most)?;
                self.settle(done, into.as_ref(), true)?;
            }
            Kind::Perform(piece) => {
                if let Done::Rows(rows, _) = self.execute(piece, 0)? {
                    self.set_found(rows.gathered.count > 0);
                    self.frame.row_count = rows.gathered.count;
                }
            }
            Kind::Execute { text, into, using } => {
                let most = into.as_ref().map_or(0, |_| 2);
                let done = self.execute_text(text, using, most)?;
                self.settle(done, into.as_ref(), false)?;
            }
            Kind::Raise(raise) => self.raise(raise)?,
            Kind::Assert(condition, message) => self.assert(condition, message.as_ref())?,
            Kind::Diagnostics(stacked, items) => self.diagnostics(*stacked, items)?,
            Kind::End { commit, chain } => self.end(*commit, *chain)?,
            Kind::Call(piece) => self.call(piece)?,
        }
        Ok(Flow::Next)
    }

    /// What a statement of SQL has come to: its row, the number of rows, whether there were any.
    fn settle(&mut self, done: Done, into: Option<&Into>, sets_found: bool) -> Result<()> {
        let Done::Rows(rows, returns) = done else {
            if into.is_some() {
                let message = "INTO used with a command that cannot return data";
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
            }
            self.frame.row_count = 0;
            return Ok(());
        };
        let count = rows.gathered.count;
        let Some(into) = into else {
            if returns && sets_found {
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "query has no destination for result data")
                    .hint("If you want to discard the results of a SELECT, use PERFORM instead."));
            }
            self.frame.row_count = count;
            if sets_found {
                self.set_found(count > 0);
            }
            return Ok(());
        };
        if !returns {
            let message = "INTO used with a command that cannot return data";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        if count == 0 && into.strict {
            return Err(Error::statement(sqlstate::NO_DATA_FOUND, "query returned no rows"));
        }
        if count > 1 && (into.strict || rows.gathered.changes) {
            return Err(Error::statement(sqlstate::TOO_MANY_ROWS, "query returned more than one row")
                .hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        let row = if count == 0 { None } else { Some(rows.row(0)?.0) };
        self.put(into, &rows.columns, row)?;
        self.frame.row_count = count.min(1);
        if sets_found {
            self.set_found(count > 0);
        }
        Ok(())
    }

    /// `IF`, `CASE`
    fn choose(&mut self, kind: &'i Kind) -> Result<Flow<'i>> {
        let Kind::If { value, arms, otherwise, is_case } = kind else { return Ok(Flow::Next) };
        self.descend()?;
        if let Some((variable, piece)) = value {
            let (ty, value) = self.value(piece)?;
            let slot = &mut self.frame.slots[*variable as usize];
            if !matches!(slot, Slot::Scalar(known, _) if *known == ty) {
                self.frame.shape += 1;
            }
            *slot = Slot::Scalar(ty, value);
        }
        for (condition, body) in arms {
            if self.holds(condition)? {
                let flow = self.statements(body)?;
                self.nesting.depth -= 1;
                return Ok(flow);
            }
        }
        let flow = match otherwise {
            Some(body) => self.statements(body)?,
            None if *is_case => {
                return Err(Error::statement(sqlstate::CASE_NOT_FOUND, "case not found")
                    .hint("CASE statement is missing ELSE part."));
            }
            None => Flow::Next,
        };
        self.nesting.depth -= 1;
        Ok(flow)
    }

    /// Does the body of a loop once more: some flow if the loop is over.
    pub(super) fn once_more(&mut self, label: Option<&str>, body: &'i [Statement]) -> Result<Option<Flow<'i>>> {
        self.turn()?;
        Ok(match self.statements(body)? {
            Flow::Next | Flow::Again(None) => None,
            Flow::Exit(None) => Some(Flow::Next),
            Flow::Again(wanted) if wanted == label => None,
            Flow::Exit(wanted) if wanted == label => Some(Flow::Next),
            flow => Some(flow),
        })
    }

    fn repeat(&mut self, kind: &'i Kind) -> Result<Flow<'i>> {
        match kind {
            Kind::Loop { label, condition, body } => loop {
                if let Some(condition) = condition
                    && !self.holds(condition)?
                {
                    return Ok(Flow::Next);
                }
                if let Some(flow) = self.once_more(label.as_deref(), body)? {
                    return Ok(flow);
                }
            },
            Kind::Count { label, variable, bounds, step, reverse, body } => {
                self.count(label.as_deref(), *variable, (bounds, step.as_ref(), *reverse), body)
            }
            Kind::Rows { label, into, source, body } => self.rows(label.as_deref(), into, source, body),
            Kind::CursorRows { label, record, cursor, arguments, body } => {
                self.cursor_rows(label.as_deref(), (*cursor, arguments), *record, body)
            }
            Kind::Elements { label, target, slice, array, body } => {
                self.elements(label.as_deref(), (target, *slice), array, body)
            }
            _ => Ok(Flow::Next),
        }
    }

    fn bound(&mut self, piece: &Piece, what: &str) -> Result<i64> {
        match self.value_as(piece, Oid::INT4)? {
            Constant::Int(value) => Ok(value),
            _ => {
                let message = format!("{what} of FOR loop cannot be null");
                Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message))
            }
        }
    }

    fn count(
        &mut self,
        label: Option<&str>,
        variable: u32,
        (bounds, step, reverse): (&'i (Piece, Piece), Option<&'i Piece>, bool),
        body: &'i [Statement],
    ) -> Result<Flow<'i>> {
        let mut at = self.bound(&bounds.0, "lower bound")?;
        let last = self.bound(&bounds.1, "upper bound")?;
        let step = match step {
            Some(piece) => self.bound(piece, "BY value")?,
            None => 1,
        };
        if step <= 0 {
            let message = "BY value of FOR loop must be greater than zero";
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let mut found = false;
        while if reverse { at >= last } else { at <= last } {
            found = true;
            self.frame.slots[variable as usize] = Slot::Scalar(Type::plain(Oid::INT4), Constant::Int(at));
            if let Some(flow) = self.once_more(label, body)? {
                self.set_found(true);
                return Ok(flow);
            }
            at += if reverse { -step } else { step };
        }
        self.set_found(found);
        Ok(Flow::Next)
    }

    fn rows(
        &mut self,
        label: Option<&str>,
        into: &'i Into,
        source: &'i Source,
        body: &'i [Statement],
    ) -> Result<Flow<'i>> {
        let rows = self.source(source)?;
        if rows.gathered.count == 0 {
            self.put(into, &rows.columns, None)?;
        }
        let mut at = 0;
        for _ in 0..rows.gathered.count {
            let (row, next) = rows.row(at)?;
            at = next;
            self.put(into, &rows.columns, Some(row))?;
            if let Some(flow) = self.once_more(label, body)? {
                self.set_found(true);
                return Ok(flow);
            }
        }
        self.set_found(rows.gathered.count > 0);
        Ok(Flow::Next)
    }

    fn elements(
        &mut self,
        label: Option<&str>,
        (target, slice): (&'i Target, u32),
        array: &'i Piece,
        body: &'i [Statement],
    ) -> Result<Flow<'i>> {
        let (ty, value) = self.value(array)?;
        if matches!(value, Constant::Null) {
            let message = "FOREACH expression must not be null";
            return Err(Error::statement(sqlstate::NULL_VALUE_NOT_ALLOWED, message));
        }
        let Some(element) = table::element_of(ty.oid) else {
            let shown = crate::types::typmod::format_type(Type::plain(ty.oid));
            let message = format!("FOREACH expression must yield an array, not type {shown}");
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        };
        let Constant::Bytes(bytes) = value else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "an array is no bytes"));
        };
        let array = Array::decode(&bytes)?;
        let (mut found, parts) = (false, if slice > 0 { slices(&array, slice)? } else { Vec::new() });
        if self.takes_array(target) != (slice > 0) {
            let message = match slice {
                0 => "FOREACH loop variable must not be of an array type",
                _ => "FOREACH ... SLICE loop variable must be of an array type",
            };
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message));
        }
        let whole = parts.into_iter().map(|part| Ok((ty, Constant::Bytes(part))));
        let items = array.iter().filter(|_| slice == 0);
        let single = items.map(|item| Ok((Type::plain(element), Constant::of(item?))));
        for item in whole.chain(single) {
            found = true;
            let (ty, value) = item?;
            self.assign(target, ty, value)?;
            if let Some(flow) = self.once_more(label, body)? {
                self.set_found(true);
                return Ok(flow);
            }
        }
        self.set_found(found);
        Ok(Flow::Next)
    }

    /// `COMMIT`, `ROLLBACK`: the next transaction begins at once.
    fn end(&mut self, commit: bool, chain: bool) -> Result<()> {
        if self.nesting.atomic {
            return Err(Error::statement(sqlstate::INVALID_TRANSACTION_TERMINATION, "invalid transaction termination"));
        }
        if self.levels > 0 {
            let words = if commit { "commit" } else { "roll back" };
            let message = format!("cannot {words} while a subtransaction is active");
            return Err(Error::statement(sqlstate::INVALID_TRANSACTION_TERMINATION, message));
        }
        if commit {
            self.session.settle_deferred(self.env, true, &mut *self.notices)?;
        }
        self.session.end_and_begin(self.env, commit, chain)
    }

    /// `CALL`: what it gives back goes into the variables that stand in its place.
    fn call(&mut self, piece: &'i Piece) -> Result<()> {
        self.descend()?;
        let bump = bumpalo::Bump::new();
        let parsed = kernel::fiber::on_engine_stack(|| crate::parser::parse(&piece.text, 0, piece.text.len(), &bump))?;
        let crate::parser::ast::Statement::Utility(crate::parser::ast::Utility::Call(call)) = parsed else {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "a CALL was expected"));
        };
        let (names, types) = self.frame.names(&self.readied.body, piece);
        let nesting = self.inner();
        let values: Vec<Constant> =
            self.frame.values(&self.readied.body, piece).into_iter().map(Constant::of).collect();
        let values: Vec<Datum<'_>> = values.iter().map(Constant::datum).collect();
        let known: (&[Variable], &[Oid], &[Datum<'_>]) = (&names, &types, &values);
        let given = self.session.call(self.env, &piece.text, call, known, nesting, self.notices)?;
        for result in given {
            let target = result.path.as_deref().and_then(|path| self.named(piece, path));
            let Some(target) = target else {
                let message = format!(
                    "procedure parameter \"{}\" is an output parameter but corresponding argument is not writable",
                    result.name
                );
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
            };
            self.assign(&target, result.ty, result.value)?;
        }
        self.nesting.depth -= 1;
        Ok(())
    }

    /// The variable that a path means in a piece.
    fn named(&self, piece: &Piece, path: &[String]) -> Option<Target> {
        let variables = piece.variables.iter().map(|number| (*number, &self.readied.body.variables[*number as usize]));
        match path {
            [name] => {
                let found = variables.clone().find(|(_, known)| known.name == *name && !known.constant);
                found.map(|(variable, _)| Target { variable, field: None })
            }
            [first, second] => {
                let labelled = variables.clone().find(|(_, known)| known.label == *first && known.name == *second);
                let record = || variables.clone().find(|(_, known)| known.name == *first);
                match labelled {
                    Some((variable, _)) => Some(Target { variable, field: None }),
                    None => record().map(|(variable, _)| Target { variable, field: Some(second.clone()) }),
                }
            }
            _ => None,
        }
    }
}

/// Does a statement change rows? Then more than one row is no row to take.
fn is_change(text: &str) -> bool {
    let word = text.trim_start().split(|character: char| !character.is_ascii_alphabetic()).next().unwrap_or("");
    ["insert", "update", "delete", "with"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// An output that hears messages only.
pub(crate) struct Told<'n>(pub(crate) Notices<'n>);

impl Output for Told<'_> {
    fn columns<'c>(&mut self, _: impl Iterator<Item = Column<'c>>) {}

    fn begin_row(&mut self) {}

    fn null(&mut self) {}

    fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        write(&mut Vec::new())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn abandon_row(&mut self) {}

    fn complete(&mut self, _: Tag) {}

    fn empty_query(&mut self) {}

    fn suspended(&mut self) {}

    fn notice(&mut self, level: MessageLevel, message: &Error) {
        (self.0)(level, message);
    }

    fn copy_in(&mut self, _: CopyFormat, _: usize) -> Result<()> {
        Err(Error::unsupported("cannot COPY to/from client in PL/pgSQL"))
    }

    fn copied(&mut self, _: impl FnOnce(&[u8]) -> Result<()>) -> Result<bool> {
        Ok(false)
    }

    fn copy_out(&mut self, _: CopyFormat, _: usize) {}

    fn copy_row(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        write(&mut Vec::new())
    }

    fn copy_done(&mut self) {}
}
