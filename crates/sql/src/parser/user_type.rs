//! Statements about types of users.

use super::ast::{TypeAction, TypeStatement, Utility};
use super::cursor::{Parser, kw};
use crate::lexer::TokenKind;
use base::Result;

impl<'t, 'a> Parser<'t, 'a> {
    /// `CREATE TYPE`, from `TYPE` on.
    pub(super) fn create_type(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let path = self.path()?;
        if !self.eat_all([kw!("as"), kw!("enum")])? {
            return self.unsupported_statement("CREATE TYPE other than AS ENUM");
        }
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut labels = Vec::new();
        if !self.is_kind(TokenKind::ParenClose)? {
            loop {
                labels.push(self.string()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        let labels = self.keep_all(&labels);
        Ok(Utility::Type(self.bump.alloc(TypeStatement::CreateEnum { path, labels })))
    }

    /// `ALTER TYPE`, from `TYPE` on.
    pub(super) fn alter_user_type(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let path = self.path()?;
        let action = if self.eat_all([kw!("add"), kw!("value")])? {
            let if_not_exists = self.eat_all([kw!("if"), kw!("not"), kw!("exists")])?;
            let label = self.string()?;
            let place = match () {
                () if self.eat(kw!("before"))? => Some((self.string()?, true)),
                () if self.eat(kw!("after"))? => Some((self.string()?, false)),
                () => None,
            };
            TypeAction::AddValue { label, if_not_exists, place }
        } else if self.eat_all([kw!("rename"), kw!("value")])? {
            let old = self.string()?;
            self.expect(kw!("to"))?;
            TypeAction::RenameValue(old, self.string()?)
        } else if self.eat_all([kw!("rename"), kw!("to")])? {
            TypeAction::Rename(self.name()?)
        } else if self.eat_all([kw!("set"), kw!("schema")])? {
            TypeAction::Schema(self.name()?)
        } else if self.eat_all([kw!("owner"), kw!("to")])? {
            TypeAction::Owner(self.role_name()?)
        } else {
            return self.unsupported_statement("ALTER TYPE of this kind");
        };
        Ok(Utility::Type(self.bump.alloc(TypeStatement::Alter { path, action })))
    }

    /// `DROP TYPE`, from `TYPE` on.
    pub(super) fn drop_type(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let paths = self.paths()?;
        let cascade = self.cascade()?;
        Ok(Utility::Type(self.bump.alloc(TypeStatement::Drop { paths, if_exists, cascade })))
    }
}
