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
use std::ops::Range;
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
    /// Compiles a script; its variables are added to `names`.
    ///
    /// # Errors
    /// What is wrong in it, with line, column and advice.
    pub fn compile(source: Source<'_>, names: &mut Names) -> Result<Program> {
        let items = parser::cut(source);
        announce(source, &items, names);
        Program::assemble(source, items, names)
    }

    fn assemble(source: Source<'_>, items: Vec<Item>, names: &mut Names) -> Result<Program> {
        let program = Program { name: source.name.into(), statements: vec![], steps: vec![], lines: vec![] };
        let mut compiler = Compiler { source, names, program, blocks: Vec::new(), literal: None, last: None };
        for item in items {
            match item {
                Item::Statement { text, quoted, at } => compiler.statement(&text, &quoted, at),
                Item::Command(range) => compiler.command(range)?,
            }
        }
        compiler.finish()
    }

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

    /// Whether it has pipelines, which the simple protocol and MariaDB's have not.
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

/// Tells the table of names which variables the script gives a value to, before anything is compiled.
fn announce(source: Source<'_>, items: &[Item], names: &mut Names) {
    for item in items {
        let Item::Command(range) = item else { continue };
        let words = parser::words(source.text, range.start + 1..range.end);
        let word = |index: usize| words.get(index).map_or("", |word: &Range<usize>| &source.text[word.clone()]);
        match word(0).to_ascii_lowercase().as_str() {
            "set" if frame::is_name(word(1)) => {
                names.give(word(1));
            }
            "gset" | "aset" => names.give_prefix(word(1)),
            _ => {}
        }
    }
}

/// An `\if` that waits for its `\endif`.
struct Block {
    /// Where its command stands in the text.
    at: usize,
    /// The branch that has to learn where the next part begins.
    branch: Option<usize>,
    /// The jumps that have to learn where the end is.
    exits: Vec<usize>,
}

struct Compiler<'a, 'n> {
    source: Source<'a>,
    names: &'n mut Names,
    program: Program,
    blocks: Vec<Block>,
    /// The place of a `\literal` whose statement has not come yet.
    literal: Option<usize>,
    /// The statement that the item before was, for `\gset`.
    last: Option<usize>,
}

impl Compiler<'_, '_> {
    fn push(&mut self, at: usize, step: Step) -> usize {
        self.program.steps.push(step);
        self.program.lines.push(self.source.line(at));
        self.program.steps.len() - 1
    }

    fn statement(&mut self, text: &str, quoted: &[Range<usize>], at: usize) {
        let mut statement = Statement::new(text, quoted, self.source.line(at), self.names);
        if self.literal.take().is_some() {
            statement.make_literal();
        }
        let index = self.program.statements.len();
        self.program.statements.push(statement);
        self.push(at, Step::Statement(index));
        self.last = Some(index);
    }

    fn command(&mut self, range: Range<usize>) -> Result<()> {
        let (at, end) = (range.start, range.end);
        let words = parser::words(self.source.text, at + 1..end);
        let last = self.last.take();
        let name = words.first().filter(|name| name.start == at + 1).cloned().unwrap_or(at + 1..at + 1);
        match self.source.text[name.clone()].to_ascii_lowercase().as_str() {
            "set" => {
                let Some(word) = words.get(1) else {
                    return Err(self.source.error(name.end, "a variable's name is missing").hint(SET));
                };
                let variable = &self.source.text[word.clone()];
                if !frame::is_name(variable) {
                    let message = format!("invalid variable name \"{variable}\"");
                    return Err(self.source.error(word.start, &message).hint(SET));
                }
                let expression = grammar::parse(self.source, word.end, end, self.names)?;
                let slot = self.names.give(variable);
                self.push(at, Step::Set(slot, expression));
            }
            "if" => {
                let condition = grammar::parse(self.source, name.end, end, self.names)?;
                let branch = self.push(at, Step::Unless(condition, 0));
                self.blocks.push(Block { at, branch: Some(branch), exits: Vec::new() });
            }
            "elif" => {
                self.part(at, "\\elif")?;
                let condition = grammar::parse(self.source, name.end, end, self.names)?;
                let branch = self.push(at, Step::Unless(condition, 0));
                if let Some(block) = self.blocks.last_mut() {
                    block.branch = Some(branch);
                }
            }
            "else" => {
                self.part(at, "\\else")?;
                self.at_most(&words, 0)?;
            }
            "endif" => {
                self.at_most(&words, 0)?;
                let Some(block) = self.blocks.pop() else {
                    return Err(self.source.error(at, "\\endif without \\if"));
                };
                let here = self.program.steps.len();
                block.branch.into_iter().for_each(|branch| self.patch(branch, here));
                block.exits.into_iter().for_each(|exit| self.patch(exit, here));
            }
            "sleep" => {
                let delay = self.sleep(&words, name.end)?;
                self.push(at, Step::Sleep(delay));
            }
            command @ ("gset" | "aset") => {
                self.at_most(&words, 1)?;
                let Some(index) = last else {
                    return Err(self.source.error(at, &format!("\\{command} must follow an SQL statement")));
                };
                let prefix = words.get(1).map_or("", |word| &self.source.text[word.clone()]).to_string();
                self.program.statements[index].gset = Some(Gset { prefix, all: command == "aset" });
            }
            "literal" => {
                self.at_most(&words, 0)?;
                self.literal = Some(at);
            }
            command @ ("startpipeline" | "endpipeline" | "syncpipeline") => {
                self.at_most(&words, 0)?;
                let step = match command {
                    "startpipeline" => Step::StartPipeline,
                    "endpipeline" => Step::EndPipeline,
                    _ => Step::SyncPipeline,
                };
                self.push(at, step);
            }
            command @ ("shell" | "setshell") => {
                return Err(self.source.error(at, &format!("\\{command} is not supported")).hint(
                    "A program started in each transaction would be what is measured. Compute the value with \\set, or give it \
                     with -D NAME=VALUE.",
                ));
            }
            command => {
                return Err(self.source.error(at, &format!("invalid command \\{command}")).hint(COMMANDS));
            }
        }
        Ok(())
    }

    /// Ends the part of an `\if` that runs until here, and begins the next one.
    fn part(&mut self, at: usize, command: &str) -> Result<()> {
        let Some(mut block) = self.blocks.pop() else {
            return Err(self.source.error(at, &format!("{command} without \\if")));
        };
        let Some(branch) = block.branch.take() else {
            return Err(self.source.error(at, &format!("{command} after \\else")));
        };
        block.exits.push(self.push(at, Step::Jump(0)));
        self.patch(branch, self.program.steps.len());
        self.blocks.push(block);
        Ok(())
    }

    /// Tells a branch or a jump where it goes.
    fn patch(&mut self, step: usize, place: usize) {
        if let Step::Unless(_, target) | Step::Jump(target) = &mut self.program.steps[step] {
            *target = place;
        }
    }

    /// Refuses words behind the ones that a command can have.
    fn at_most(&self, words: &[Range<usize>], count: usize) -> Result<()> {
        match words.get(count + 1) {
            Some(word) => Err(self.source.error(word.start, "unexpected argument")),
            None => Ok(()),
        }
    }

    /// `\sleep 5 ms`, `\sleep 5ms`, `\sleep :variable us`.
    fn sleep(&mut self, words: &[Range<usize>], end: usize) -> Result<Delay> {
        self.at_most(words, 2)?;
        let Some(word) = words.get(1) else {
            return Err(self.source.error(end, "a time is missing").hint(SLEEP));
        };
        let text = &self.source.text[word.clone()];
        let digits = match text.strip_prefix(':') {
            Some(_) => text.len(),
            None => text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()),
        };
        let unit = match words.get(2) {
            Some(word) => word.clone(),
            None => word.start + digits..word.end,
        };
        let unit_us = match self.source.text[unit.clone()].to_ascii_lowercase().as_str() {
            "us" => 1,
            "ms" => 1_000,
            "s" => 1_000_000,
            "" if words.len() == 2 => 1_000_000,
            _ => return Err(self.source.error(unit.start, "unrecognized unit of time").hint(SLEEP)),
        };
        if let Some(name) = text.strip_prefix(':') {
            return Ok(Delay::Variable(self.names.slot(name), unit_us));
        }
        let whole = words.len() == 2 || digits == text.len();
        match text[..digits].parse::<u64>() {
            Ok(number) if whole => Ok(Delay::Fixed(Duration::from_micros(number.saturating_mul(unit_us)))),
            _ => Err(self.source.error(word.start, "a time must be a whole number").hint(SLEEP)),
        }
    }

    fn finish(self) -> Result<Program> {
        if let Some(block) = self.blocks.last() {
            return Err(self.source.error(block.at, "\\if without \\endif"));
        }
        if let Some(at) = self.literal {
            return Err(self.source.error(at, "\\literal must stand before an SQL statement"));
        }
        if self.program.steps.is_empty() {
            return Err(error::usage(format!("{}: the script is empty", self.source.name)));
        }
        Ok(self.program)
    }
}

const SET: &str = "\\set NAME EXPRESSION; a name has letters, digits and underscores, and no digit first.";
const SLEEP: &str = "\\sleep NUMBER [us|ms|s], or \\sleep :VARIABLE [us|ms|s]; without a unit, seconds.";
const COMMANDS: &str = "Commands are \\set, \\if, \\elif, \\else, \\endif, \\sleep, \\gset, \\aset, \\literal, \\startpipeline, \
                        \\syncpipeline and \\endpipeline.";

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
            announce(*source, items, &mut names);
        }
        let mut programs = Vec::new();
        let mut bounds = Vec::new();
        let mut sum = 0;
        for ((source, weight), items) in scripts.iter().zip(cut) {
            programs.push(Program::assemble(*source, items, &mut names)?);
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

#[cfg(test)]
mod tests;
