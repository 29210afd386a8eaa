//! Scripts in pgbench's format: compiled once, then stepped by each client of the driver.
//!
//! ```text
//!   files a.sql@3, b.sql ──> Mix ── programs ──> Program: steps                     statements
//!                             │                    0  set aid = random(1, …)          0  UPDATE … :delta … :aid
//!                             └─ names             1  statement 0                     1  SELECT … :aid
//!                                                  2  branch to 4 unless :x > 3
//!   Frame, one a client: variables,                3  statement 1
//!   place in the program, chance                   (end)
//! ```
//!
//! Definitions
//! - A *step* is a command or a statement. `\if` and its kin become branches and jumps, so nothing is looked for at run time.
//! - An *action* is what a program asks the driver for: send a statement, sleep, begin or end a pipeline.
//!
//! The life of a transaction: [`Mix::choose`] picks a program by weight; [`Program::next`] runs steps until one is an
//! action; the driver does it, hands the answer to [`Frame::answer`] if the statement has a [`Gset`], and asks for the next
//! one; [`Action::Done`] ends the transaction and puts the frame back to the first step.
//!
//! What is pgbench's: commands, expressions, how statements are cut and where variables are. What is not:
//! - `\setshell` and `\shell` are refused. A program that is forked for each transaction would be what is measured.
//! - `\literal` makes the next statement a literal one (see [`statement`]).
//! - `\syncpipeline` is PostgreSQL 17's.
//! - A null of `\gset` is null, not an empty text; a null parameter is null, not the text `NULL`.
//! - What is wrong is said with line, column and a caret, also where pgbench names only the command.

mod compiler;
pub mod expression;
pub mod frame;
mod grammar;
pub mod hash;
mod parser;
pub mod random;
pub mod source;
pub mod statement;
pub mod value;

pub use frame::{Frame, Names, Presets, Slot};
pub use source::Source;
pub use statement::{Gset, Piece, Placeholder, Statement};
pub use value::Value;

use crate::error;
use base::{Error, Result};
use expression::Expression;
use parser::Item;
use std::sync::Arc;
use std::time::Duration;

/// What a program wants the driver to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send the statement with this index in [`Program::statements`], and wait for its answer unless in a pipeline.
    Statement(usize),
    /// Do nothing for this long.
    Sleep(Duration),
    /// From here on do not wait for answers.
    StartPipeline,
    /// End what was sent with a synchronisation point and wait for all answers.
    EndPipeline,
    /// A synchronisation point within a pipeline.
    SyncPipeline,
    /// The transaction is over.
    Done,
}

/// A compiled script.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The script's name.
    pub name: String,
    /// Its statements, in the order of the script.
    pub statements: Vec<Statement>,
    steps: Vec<Step>,
    /// The line of each step, for errors.
    lines: Vec<u32>,
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    Set(Slot, Expression),
    /// Goes on at this step unless the condition is true.
    Unless(Expression, usize),
    Jump(usize),
    Statement(usize),
    Sleep(Delay),
    StartPipeline,
    EndPipeline,
    SyncPipeline,
}

#[derive(Clone, PartialEq, Debug)]
enum Delay {
    Fixed(Duration),
    /// A variable and the length of its unit in microseconds.
    Variable(Slot, u64),
}

/// Several programs with their weights, over one table of variables.
#[derive(Clone, Debug)]
pub struct Mix {
    /// The programs.
    pub programs: Vec<Program>,
    /// The sum of the weights up to and with each program's.
    bounds: Vec<u64>,
    names: Arc<Names>,
}

impl Program {
    /// Runs steps until one is something for the driver.
    ///
    /// # Errors
    /// What an expression says, with the line; the frame should then be [restarted](Frame::restart).
    pub fn next(&self, frame: &mut Frame) -> Result<Action> {
        loop {
            let at = frame.position;
            let Some(step) = self.steps.get(at) else {
                frame.position = 0;
                if std::mem::take(&mut frame.pipeline) {
                    return Err(error::usage(format!("{}: the script ends within a pipeline", self.name))
                        .hint("Add \\endpipeline."));
                }
                return Ok(Action::Done);
            };
            frame.position += 1;
            match step {
                Step::Set(slot, expression) => {
                    let value = expression.evaluate(frame).map_err(|error| self.blame(at, error))?;
                    frame.set(*slot, value.into());
                }
                Step::Unless(condition, target) => {
                    let value = condition.evaluate(frame).map_err(|error| self.blame(at, error))?;
                    if !value.truth() {
                        frame.position = *target;
                    }
                }
                Step::Jump(target) => frame.position = *target,
                Step::Statement(index) => {
                    if frame.pipeline && self.statements[*index].gset.is_some() {
                        let error = error::usage("\\gset and \\aset are not allowed in a pipeline");
                        return Err(self.blame(at, error));
                    }
                    return Ok(Action::Statement(*index));
                }
                Step::Sleep(delay) => return self.delay(delay, frame).map_err(|error| self.blame(at, error)),
                Step::StartPipeline | Step::EndPipeline | Step::SyncPipeline => {
                    let begins = *step == Step::StartPipeline;
                    if frame.pipeline == begins {
                        let error = error::usage(match begins {
                            true => "there is a pipeline already",
                            false => "there is no pipeline",
                        });
                        return Err(self.blame(at, error));
                    }
                    frame.pipeline = *step != Step::EndPipeline;
                    return Ok(match step {
                        Step::StartPipeline => Action::StartPipeline,
                        Step::EndPipeline => Action::EndPipeline,
                        _ => Action::SyncPipeline,
                    });
                }
            }
        }
    }

    /// Whether it has pipelines.
    pub fn has_pipelines(&self) -> bool {
        self.steps.contains(&Step::StartPipeline)
    }

    fn delay(&self, delay: &Delay, frame: &Frame) -> Result<Action> {
        Ok(Action::Sleep(match delay {
            Delay::Fixed(duration) => *duration,
            Delay::Variable(slot, unit_us) => {
                let name = frame.name(*slot);
                let value = frame.value(*slot).ok_or_else(|| error::usage(format!("undefined variable \"{name}\"")))?;
                let number = value.scalar()?.integer()?;
                Duration::from_micros(u64::try_from(number).unwrap_or(0).saturating_mul(*unit_us))
            }
        }))
    }

    /// Says where in the script an error happened.
    #[cold]
    fn blame(&self, step: usize, error: Error) -> Error {
        let line = self.lines[step];
        let blamed = error::usage(format!("{}:{line}: {}", self.name, error.message()));
        match error.hint_text() {
            Some(hint) => blamed.hint(hint),
            None => blamed,
        }
    }
}

impl Mix {
    /// Compiles scripts that a client chooses from, each with its weight. `defines` are names that the user gives values to.
    ///
    /// # Errors
    /// What is wrong in a script; no script at all; weights of which none is above zero.
    pub fn compile(scripts: &[(Source<'_>, u32)], defines: &[(String, String)]) -> Result<Mix> {
        let mut names = Names::new();
        for (name, _) in defines {
            if !frame::is_name(name) {
                return Err(error::usage(format!("invalid variable name \"{name}\"")));
            }
            names.give(name);
        }
        let cut: Vec<Vec<Item>> = scripts.iter().map(|(source, _)| parser::cut(*source)).collect();
        for ((source, _), items) in scripts.iter().zip(&cut) {
            compiler::announce(*source, items, &mut names);
        }
        let mut programs = Vec::new();
        let mut bounds = Vec::new();
        let mut sum = 0;
        for ((source, weight), items) in scripts.iter().zip(cut) {
            programs.push(compiler::compile(*source, items, &mut names)?);
            sum += u64::from(*weight);
            bounds.push(sum);
        }
        if sum == 0 {
            return Err(error::usage("no script has a weight above zero"));
        }
        Ok(Mix { programs, bounds, names: Arc::new(names) })
    }

    /// The frame of a client.
    pub fn frame(&self, presets: &Presets, client: u32) -> Frame {
        Frame::new(Arc::clone(&self.names), presets, client)
    }

    /// Chooses the program of a client's next transaction: its index in [`Mix::programs`].
    pub fn choose(&self, frame: &mut Frame) -> usize {
        if let [_] = self.bounds[..] {
            return 0;
        }
        let ticket = frame.rng.u64(..self.bounds.last().copied().unwrap_or(1));
        self.bounds.partition_point(|&bound| bound <= ticket)
    }

    /// The names of all variables.
    pub fn names(&self) -> &Names {
        &self.names
    }
}

/// The file and the weight of a script as it is written on the command line: `a.sql` or `a.sql@3`.
///
/// # Errors
/// A weight that is no number.
pub fn weighted(argument: &str) -> Result<(&str, u32)> {
    let Some((name, weight)) = argument.rsplit_once('@') else { return Ok((argument, 1)) };
    match weight.parse() {
        Ok(weight) => Ok((name, weight)),
        Err(_) => Err(error::usage(format!("invalid weight in \"{argument}\""))
            .hint("Behind the last @ stands a whole number; a file with an @ in its name needs one, as in a@b.sql@1.")),
    }
}

/// Cuts a text into statements without variables, for making tables.
///
/// # Errors
/// A command, which has no place there.
pub fn statements(source: Source<'_>) -> Result<Vec<String>> {
    let statement = |item| match item {
        Item::Statement { text, .. } => Ok(text),
        Item::Command(range) => Err(source
            .error(range.start, "a command among statements that make tables")
            .hint("Commands are for scripts that clients run; here only SQL is read, without variables.")),
    };
    parser::cut(source).into_iter().map(statement).collect()
}

#[cfg(test)]
mod tests;
