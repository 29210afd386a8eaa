//! Statements about views.

use super::ast::{AlterAction, CheckOption, CreateView, Utility};
use super::cursor::{Parser, kw};
use crate::lexer::TokenKind;
use base::Result;

impl<'t, 'a> Parser<'t, 'a> {
    /// `CREATE [OR REPLACE] [TEMPORARY] [RECURSIVE] VIEW`, from `RECURSIVE` or `VIEW` on.
    pub(super) fn create_view(&mut self, replace: bool, temporary: bool) -> Result<Utility<'a>> {
        let recursive = self.eat(kw!("recursive"))?;
        self.expect(kw!("view"))?;
        let path = self.path()?;
        let columns = match recursive || self.is_kind(TokenKind::ParenOpen)? {
            true => self.names_in_parentheses()?,
            false => &[],
        };
        let options = match self.eat(kw!("with"))? {
            true => self.storage_options()?,
            false => &[],
        };
        self.expect(kw!("as"))?;
        let start = self.at()?;
        self.query()?;
        let range = (start, self.last_end());
        let mut check = None;
        if self.eat(kw!("with"))? {
            check = Some(CheckOption::Cascaded);
            if self.eat(kw!("local"))? {
                check = Some(CheckOption::Local);
            } else {
                self.eat(kw!("cascaded"))?;
            }
            self.expect(kw!("check"))?;
            self.expect(kw!("option"))?;
        }
        let view = CreateView { path, replace, temporary, recursive, columns, options, range, check };
        Ok(Utility::CreateView(self.bump.alloc(view)))
    }

    /// `ALTER VIEW`, from the name on.
    pub(super) fn alter_view(&mut self) -> Result<Utility<'a>> {
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let path = self.path()?;
        let action = self.alter_action()?;
        let fits = matches!(
            action,
            AlterAction::Rename(_)
                | AlterAction::RenameColumn(..)
                | AlterAction::Schema(_)
                | AlterAction::Owner(_)
                | AlterAction::SetDefault(..)
                | AlterAction::SetOptions(_)
                | AlterAction::ResetOptions(_)
                | AlterAction::Unsupported(_)
        );
        if !fits {
            return Err(self.unexpected());
        }
        Ok(Utility::AlterTable { path, view: true, if_exists, actions: self.keep_all(&[action]) })
    }
}
