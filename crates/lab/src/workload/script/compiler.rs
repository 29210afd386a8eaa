//! From a script's parts to the steps of a program.
//!
//! ```text
//!   \if A                 0  Unless(A, 3)         to the next part, whose place is not known yet: patched there
//!     …                    1  …
//!   \elif B               2  Jump(6)              out of the whole, patched at \endif
//!     …                    3  Unless(B, 6)
//!   \endif                …
//! ```
//!
//! Names that get a value anywhere are [announced](announce) before anything is compiled, as a statement may stand before the
//! `\set` of its variable.

use super::frame::{self, Names};
use super::parser::{self, Item};
use super::{Delay, Gset, Program, Source, Statement, Step, grammar};
use crate::error;
use base::Result;
use std::ops::Range;
use std::time::Duration;

/// Tells the table of names which variables the script gives a value to, before anything is compiled.
pub(super) fn announce(source: Source<'_>, items: &[Item], names: &mut Names) {
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

/// Compiles a script that was cut and announced.
///
/// # Errors
/// What is wrong in it, with line, column and advice.
pub(super) fn compile(source: Source<'_>, items: Vec<Item>, names: &mut Names) -> Result<Program> {
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
