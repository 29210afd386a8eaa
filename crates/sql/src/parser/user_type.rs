//! Statements about types of users.

use super::ast::{ConstraintKind, Name, SourceExpr, TypeAction, TypeStatement, Utility};
use super::cursor::{Parser, kw};
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

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
        Ok(Utility::Type(self.bump.alloc(TypeStatement::Alter { path, domain: false, action })))
    }

    /// `CREATE DOMAIN`, from `DOMAIN` on.
    pub(super) fn create_domain(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let path = self.path()?;
        self.eat(kw!("as"))?;
        let base = self.type_name()?;
        let (mut default, mut not_null, mut checks) = (None, None, Vec::new());
        loop {
            let at = self.at()?;
            let wrong = |parser: &Self, message: &'static str| {
                Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                    .at(crate::lexer::position(parser.text(), at as usize)))
            };
            let name = if self.eat(kw!("constraint"))? { Some(self.name()?) } else { None };
            let is_null = if self.eat_all([kw!("not"), kw!("null")])? {
                Some(true)
            } else if self.eat(kw!("null"))? {
                Some(false)
            } else {
                None
            };
            if is_null.is_some() {
                if not_null.is_some_and(|known| Some(known) != is_null) {
                    return wrong(self, "conflicting NULL/NOT NULL constraints");
                }
                not_null = is_null;
            } else if self.is(kw!("check"))? {
                checks.push((name, self.domain_check()?));
            } else if name.is_none() && self.eat(kw!("default"))? {
                if default.replace(self.default_expr()?).is_some() {
                    return wrong(self, "multiple default expressions");
                }
            } else if name.is_none() && self.eat(kw!("collate"))? {
                let collation = self.path()?;
                if !collation.last().is_some_and(|name| matches!(name.text, "C" | "POSIX" | "default")) {
                    return Err(self.unsupported("a collation other than \"C\"", at));
                }
            } else {
                match self.peek()?.keyword.map_or("", |keyword| keyword.row().word) {
                    "unique" => return wrong(self, "unique constraints not possible for domains"),
                    "primary" => return wrong(self, "primary key constraints not possible for domains"),
                    "references" => return wrong(self, "foreign key constraints not possible for domains"),
                    _ if name.is_some() => return Err(self.unexpected()),
                    _ => break,
                }
            }
        }
        let checks = self.keep_all(&checks);
        Ok(Utility::Type(self.bump.alloc(TypeStatement::CreateDomain { path, base, default, not_null, checks })))
    }

    /// `CHECK (…)`, of a domain.
    fn domain_check(&mut self) -> Result<SourceExpr<'a>> {
        let at = self.at()?;
        let ConstraintKind::Check(source) = self.check()? else { return Err(self.unexpected()) };
        if self.eat_all([kw!("not"), kw!("valid")])? {
            return Err(self.unsupported("a constraint of a domain that is NOT VALID", at));
        }
        Ok(source)
    }

    /// `ALTER DOMAIN`, from `DOMAIN` on.
    pub(super) fn alter_domain(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let path = self.path()?;
        let action = if self.eat_all([kw!("set"), kw!("default")])? {
            TypeAction::Default(Some(self.default_expr()?))
        } else if self.eat_all([kw!("drop"), kw!("default")])? {
            TypeAction::Default(None)
        } else if self.eat_all([kw!("set"), kw!("not"), kw!("null")])? {
            TypeAction::NotNull(true)
        } else if self.eat_all([kw!("drop"), kw!("not"), kw!("null")])? {
            TypeAction::NotNull(false)
        } else if self.eat(kw!("add"))? {
            let name: Option<Name<'a>> = if self.eat(kw!("constraint"))? { Some(self.name()?) } else { None };
            TypeAction::AddCheck(name, self.domain_check()?)
        } else if self.eat_all([kw!("drop"), kw!("constraint")])? {
            let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
            let name = self.name()?;
            // Nothing depends on the condition of a domain.
            self.cascade()?;
            TypeAction::DropCheck(name, if_exists)
        } else if self.eat_all([kw!("validate"), kw!("constraint")])? {
            TypeAction::ValidateCheck(self.name()?)
        } else if self.eat_all([kw!("rename"), kw!("constraint")])? {
            let old = self.name()?;
            self.expect(kw!("to"))?;
            TypeAction::RenameCheck(old, self.name()?)
        } else if self.eat_all([kw!("rename"), kw!("to")])? {
            TypeAction::Rename(self.name()?)
        } else if self.eat_all([kw!("set"), kw!("schema")])? {
            TypeAction::Schema(self.name()?)
        } else if self.eat_all([kw!("owner"), kw!("to")])? {
            TypeAction::Owner(self.role_name()?)
        } else {
            return Err(self.unexpected());
        };
        Ok(Utility::Type(self.bump.alloc(TypeStatement::Alter { path, domain: true, action })))
    }

    /// `DROP TYPE`, `DROP DOMAIN`, from the second word on.
    pub(super) fn drop_type(&mut self, domain: bool) -> Result<Utility<'a>> {
        self.next()?;
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let paths = self.paths()?;
        let cascade = self.cascade()?;
        Ok(Utility::Type(self.bump.alloc(TypeStatement::Drop { paths, domain, if_exists, cascade })))
    }
}
