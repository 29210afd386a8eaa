//! Sequences: `CREATE SEQUENCE`, `ALTER SEQUENCE`, and the identity of a column.

use super::ast::{AlterSequence, SequenceOptions, Utility};
use super::cursor::{Parser, kw};
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

impl<'t, 'a> Parser<'t, 'a> {
    /// `CREATE SEQUENCE`, behind these words.
    pub(super) fn create_sequence(&mut self, temporary: bool) -> Result<Utility<'a>> {
        let if_not_exists = self.eat_all([kw!("if"), kw!("not"), kw!("exists")])?;
        let path = self.path()?;
        let options = self.sequence_options()?;
        Ok(Utility::CreateSequence { path, if_not_exists, temporary, options: self.bump.alloc(options) })
    }

    /// `ALTER SEQUENCE`, behind these words.
    pub(super) fn alter_sequence(&mut self) -> Result<Utility<'a>> {
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let path = self.path()?;
        let change = if self.eat_all([kw!("rename"), kw!("to")])? {
            AlterSequence::Rename(self.name()?)
        } else if self.eat_all([kw!("set"), kw!("schema")])? {
            AlterSequence::Schema(self.name()?)
        } else if self.is(kw!("owner"))? && self.is_at(1, kw!("to"))? {
            self.next()?;
            self.next()?;
            AlterSequence::Owner(self.role_name()?)
        } else {
            if self.is_kind(TokenKind::End)? {
                return Err(self.unexpected());
            }
            AlterSequence::Options(self.sequence_options()?)
        };
        Ok(Utility::AlterSequence { path, if_exists, change: self.bump.alloc(change) })
    }

    /// `GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [(…)]`: true for `ALWAYS`.
    pub(super) fn identity(&mut self) -> Result<(bool, SequenceOptions<'a>)> {
        self.expect(kw!("generated"))?;
        let always = self.always()?;
        self.expect(kw!("as"))?;
        self.expect(kw!("identity"))?;
        let mut options = SequenceOptions::default();
        if self.eat_kind(TokenKind::ParenOpen)? {
            options = self.sequence_options()?;
            self.expect_kind(TokenKind::ParenClose)?;
        }
        Ok((always, options))
    }

    /// `SET GENERATED …`, `SET sequence option`, `RESTART`, as often as they are there; none if the first is none of them.
    pub(super) fn identity_changes(&mut self) -> Result<Option<(Option<bool>, SequenceOptions<'a>)>> {
        let begins = self.is(kw!("restart"))? || (self.is(kw!("set"))? && self.begins_option(1)?);
        if !begins {
            return Ok(None);
        }
        let (mut always, mut options) = (None, SequenceOptions::default());
        loop {
            if self.is(kw!("set"))? && self.is_at(1, kw!("generated"))? {
                self.next()?;
                self.next()?;
                always = Some(self.always()?);
            } else if self.is(kw!("restart"))? || (self.is(kw!("set"))? && self.begins_option(1)?) {
                self.eat(kw!("set"))?;
                self.sequence_option(&mut options)?;
            } else {
                return Ok(Some((always, options)));
            }
        }
    }

    fn always(&mut self) -> Result<bool> {
        if self.eat(kw!("always"))? {
            return Ok(true);
        }
        self.expect(kw!("by"))?;
        self.expect(kw!("default"))?;
        Ok(false)
    }

    fn begins_option(&mut self, ahead: usize) -> Result<bool> {
        let word = self.peek_at(ahead)?.keyword.map_or("", |keyword| keyword.row().word);
        Ok(matches!(
            word,
            "as" | "increment"
                | "minvalue"
                | "maxvalue"
                | "no"
                | "start"
                | "restart"
                | "cache"
                | "cycle"
                | "owned"
                | "sequence"
                | "generated"
        ))
    }

    fn sequence_options(&mut self) -> Result<SequenceOptions<'a>> {
        let mut options = SequenceOptions::default();
        while self.begins_option(0)? {
            self.sequence_option(&mut options)?;
        }
        Ok(options)
    }

    fn sequence_option(&mut self, options: &mut SequenceOptions<'a>) -> Result<()> {
        let at = self.at()?;
        let twice = |parser: &Self, known: bool| match known {
            false => Ok(()),
            true => Err(Error::statement(sqlstate::SYNTAX_ERROR, "conflicting or redundant options")
                .at(crate::lexer::position(parser.text(), at as usize))),
        };
        if self.eat(kw!("as"))? {
            twice(self, options.ty.is_some())?;
            let ty = self.type_name()?;
            options.ty = Some(self.bump.alloc(ty));
        } else if self.eat(kw!("increment"))? {
            twice(self, options.increment.is_some())?;
            self.eat(kw!("by"))?;
            options.increment = Some(self.signed()?);
        } else if self.eat(kw!("minvalue"))? {
            twice(self, options.min.is_some())?;
            options.min = Some(Some(self.signed()?));
        } else if self.eat(kw!("maxvalue"))? {
            twice(self, options.max.is_some())?;
            options.max = Some(Some(self.signed()?));
        } else if self.eat_all([kw!("no"), kw!("minvalue")])? {
            twice(self, options.min.is_some())?;
            options.min = Some(None);
        } else if self.eat_all([kw!("no"), kw!("maxvalue")])? {
            twice(self, options.max.is_some())?;
            options.max = Some(None);
        } else if self.eat_all([kw!("no"), kw!("cycle")])? {
            twice(self, options.cycle.is_some())?;
            options.cycle = Some(false);
        } else if self.eat(kw!("cycle"))? {
            twice(self, options.cycle.is_some())?;
            options.cycle = Some(true);
        } else if self.eat(kw!("start"))? {
            twice(self, options.start.is_some())?;
            self.eat(kw!("with"))?;
            options.start = Some(self.signed()?);
        } else if self.eat(kw!("restart"))? {
            twice(self, options.restart.is_some())?;
            let with = self.eat(kw!("with"))?;
            let number =
                with || self.is_kind(TokenKind::Integer)? || self.is_operator("-")? || self.is_operator("+")?;
            options.restart = Some(if number { Some(self.signed()?) } else { None });
        } else if self.eat(kw!("cache"))? {
            twice(self, options.cache.is_some())?;
            options.cache = Some(self.signed()?);
        } else if self.eat_all([kw!("owned"), kw!("by")])? {
            twice(self, options.owner.is_some())?;
            options.owner = Some(if self.eat(kw!("none"))? { None } else { Some(self.path()?) });
        } else if self.eat_all([kw!("sequence"), kw!("name")])? {
            twice(self, options.name.is_some())?;
            options.name = Some(self.path()?);
        } else {
            return Err(self.unexpected());
        }
        Ok(())
    }

    /// A whole number of 64 bits, with its sign.
    fn signed(&mut self) -> Result<i64> {
        let negative = self.is_operator("-")?;
        if negative || self.is_operator("+")? {
            self.next()?;
        }
        if !self.is_kind(TokenKind::Integer)? {
            return Err(self.unexpected());
        }
        let token = self.next()?.token;
        let digits = token.text(self.text());
        let value = digits.parse::<i128>().ok().map(|value| if negative { -value } else { value });
        value.and_then(|value| i64::try_from(value).ok()).ok_or_else(|| {
            let sign = if negative { "-" } else { "" };
            let message = format!("value \"{sign}{digits}\" is out of range for type bigint");
            Error::statement(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })
    }
}
