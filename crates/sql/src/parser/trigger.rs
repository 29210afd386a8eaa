//! Triggers: `CREATE TRIGGER`, `DROP TRIGGER`, `ALTER TRIGGER`, and what `ALTER TABLE` says of them.

use super::ast::{AlterAction, CreateTrigger, Name, TriggerChoice, TriggerStatement, Utility};
use super::cursor::{Parser, kw};
use crate::catalog::definition::Deferral;
use crate::catalog::trigger::{BEFORE, DELETE, INSERT, INSTEAD, ROW, TRUNCATE, UPDATE};
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

impl<'t, 'a> Parser<'t, 'a> {
    /// `CREATE [CONSTRAINT] TRIGGER …`, from behind `CREATE [OR REPLACE]`.
    pub(super) fn create_trigger(&mut self, replace: bool) -> Result<Utility<'a>> {
        let constraint = self.eat(kw!("constraint"))?;
        self.expect(kw!("trigger"))?;
        let name = self.name()?;
        let mut kind = if !constraint && self.eat(kw!("before"))? {
            BEFORE
        } else if !constraint && self.eat_all([kw!("instead"), kw!("of")])? {
            INSTEAD
        } else {
            self.expect(kw!("after"))?;
            0
        };
        let mut columns: &'a [Name<'a>] = &[];
        loop {
            let (word, bit) = match () {
                () if self.eat(kw!("insert"))? => ("INSERT", INSERT),
                () if self.eat(kw!("delete"))? => ("DELETE", DELETE),
                () if self.eat(kw!("update"))? => ("UPDATE", UPDATE),
                () if self.eat(kw!("truncate"))? => ("TRUNCATE", TRUNCATE),
                () => return Err(self.unexpected()),
            };
            if kind & bit != 0 {
                // PostgreSQL's grammar says no more of it either.
                let message = format!("duplicate trigger events specified at or near \"{word}\"");
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
            }
            kind |= bit;
            if bit == UPDATE && self.eat(kw!("of"))? {
                columns = self.names()?;
            }
            if !self.eat(kw!("or"))? {
                break;
            }
        }
        self.expect(kw!("on"))?;
        let table = self.path()?;
        if constraint && self.is(kw!("from"))? {
            let at = self.at()?;
            return Err(self.unsupported("a constraint trigger that names another table", at));
        }
        let deferral = if constraint { self.deferral(false)?.unwrap_or_default() } else { Deferral::Never };
        let (mut old_table, mut new_table) = (None, None);
        if !constraint && self.eat(kw!("referencing"))? {
            while self.is(kw!("old"))? || self.is(kw!("new"))? {
                let is_new = self.is(kw!("new"))?;
                self.next()?;
                if self.eat(kw!("row"))? {
                    return Err(Error::unsupported("ROW variable naming in the REFERENCING clause is not supported")
                        .hint("Use OLD TABLE or NEW TABLE for naming transition tables."));
                }
                self.expect(kw!("table"))?;
                self.eat(kw!("as"))?;
                let name = Some(self.name()?);
                let place = if is_new { &mut new_table } else { &mut old_table };
                if place.is_some() {
                    let word = if is_new { "NEW" } else { "OLD" };
                    let message = format!("{word} TABLE cannot be specified multiple times");
                    return Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
                }
                *place = name;
            }
            if old_table.is_none() && new_table.is_none() {
                return Err(self.unexpected());
            }
        }
        if constraint {
            // Those are for each row.
            self.expect(kw!("for"))?;
            self.eat(kw!("each"))?;
            self.expect(kw!("row"))?;
            kind |= ROW;
        } else if self.eat(kw!("for"))? {
            self.eat(kw!("each"))?;
            if self.eat(kw!("row"))? {
                kind |= ROW;
            } else {
                self.expect(kw!("statement"))?;
            }
        }
        let mut condition = None;
        if self.eat(kw!("when"))? {
            self.expect_kind(TokenKind::ParenOpen)?;
            let from = self.at()?;
            self.expr()?;
            let text = self.text().get(from as usize..self.last_end() as usize).unwrap_or("");
            condition = Some((self.keep(text), from));
            self.expect_kind(TokenKind::ParenClose)?;
        }
        self.expect(kw!("execute"))?;
        if !self.eat(kw!("function"))? {
            self.expect(kw!("procedure"))?;
        }
        let function = self.path()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut arguments = Vec::new();
        if !self.eat_kind(TokenKind::ParenClose)? {
            loop {
                arguments.push(self.trigger_argument()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        }
        let arguments = self.keep_all(&arguments);
        Ok(self.trigger_statement(TriggerStatement::Create(CreateTrigger {
            replace,
            constraint,
            name,
            kind,
            columns,
            table,
            deferral,
            old_table,
            new_table,
            condition,
            function,
            arguments,
        })))
    }

    fn trigger_statement(&self, statement: TriggerStatement<'a>) -> Utility<'a> {
        Utility::Trigger(self.bump.alloc(statement))
    }

    /// An argument: a text, a number or a name, as a text.
    fn trigger_argument(&mut self) -> Result<&'a str> {
        let tok = self.peek()?;
        if tok.token.kind.is_string() {
            return self.string();
        }
        if matches!(tok.token.kind, TokenKind::Integer | TokenKind::Decimal) {
            self.next()?;
            let text = tok.token.text(self.text());
            return Ok(self.keep(text));
        }
        Ok(self.label()?.text)
    }

    /// `DROP TRIGGER`, from that word on.
    pub(super) fn drop_trigger(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let name = self.name()?;
        self.expect(kw!("on"))?;
        let table = self.path()?;
        self.cascade()?;
        Ok(self.trigger_statement(TriggerStatement::Drop { name, table, if_exists }))
    }

    /// `ALTER TRIGGER`, from that word on.
    pub(super) fn alter_trigger(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let name = self.name()?;
        self.expect(kw!("on"))?;
        let table = self.path()?;
        if !self.eat_all([kw!("rename"), kw!("to")])? {
            return self.unsupported_statement("ALTER TRIGGER of this kind");
        }
        let new = self.name()?;
        Ok(self.trigger_statement(TriggerStatement::Rename { name, table, new }))
    }

    /// `ENABLE`, `DISABLE … TRIGGER`; none if it is of something else.
    pub(super) fn trigger_action(&mut self) -> Result<Option<AlterAction<'a>>> {
        let (disables, words) = match self.is(kw!("disable"))? {
            true => (true, 1),
            false if self.is_at(1, kw!("replica"))? || self.is_at(1, kw!("always"))? => (false, 2),
            false => (false, 1),
        };
        if !self.is_at(words, kw!("trigger"))? {
            return Ok(None);
        }
        let state = match words {
            2 if self.is_at(1, kw!("replica"))? => b'R',
            2 => b'A',
            _ if disables => b'D',
            _ => b'O',
        };
        for _ in 0..=words {
            self.next()?;
        }
        let choice = match words {
            1 if self.eat(kw!("all"))? => TriggerChoice::All,
            1 if self.eat(kw!("user"))? => TriggerChoice::User,
            _ => TriggerChoice::Named(self.name()?),
        };
        Ok(Some(AlterAction::Triggers(choice, state)))
    }
}
