//! `INSERT`, `UPDATE`, `DELETE`.

use super::ast::{
    Assigned, Assignment, CommonTable, Conflict, Delete, ExprKind, Insert, Name, Overriding, SelectItem, Statement,
    TableRef, Update,
};
use super::cursor::{Parser, is_column_name, kw};
use crate::lexer::TokenKind;
use base::Result;

impl<'t, 'a> Parser<'t, 'a> {
    /// A statement that changes rows, after its `WITH`.
    pub(super) fn modification(&mut self, with: &'a [CommonTable<'a>], recursive: bool) -> Result<Statement<'a>> {
        let at = self.at()?;
        if self.eat(kw!("insert"))? {
            return self.insert(with, recursive, at);
        }
        if self.eat(kw!("update"))? {
            return self.update(with, recursive, at);
        }
        if self.eat(kw!("delete"))? {
            return self.delete(with, recursive, at);
        }
        if self.is(kw!("merge"))? {
            return Err(self.unsupported("MERGE", at));
        }
        Err(self.unexpected())
    }

    fn insert(&mut self, with: &'a [CommonTable<'a>], recursive: bool, at: u32) -> Result<Statement<'a>> {
        self.expect(kw!("into"))?;
        let table = self.path()?;
        let alias = if self.eat(kw!("as"))? { Some(self.name()?) } else { None };
        let mut columns: &[Assigned<'a>] = &[];
        if self.is_kind(TokenKind::ParenOpen)? && !self.is_query_in_parentheses()? {
            columns = self.assigned_in_parentheses()?;
        }
        let overriding = match self.eat(kw!("overriding"))? {
            false => None,
            true if self.eat(kw!("system"))? => Some(Overriding::System),
            true => {
                self.expect(kw!("user"))?;
                Some(Overriding::User)
            }
        };
        if overriding.is_some() {
            self.expect(kw!("value"))?;
        }
        let source = if self.eat_all([kw!("default"), kw!("values")])? { None } else { Some(self.query()?) };
        let conflict = if self.is(kw!("on"))? { Some(self.conflict()?) } else { None };
        let returning = self.returning()?;
        let insert = Insert { with, recursive, table, alias, columns, overriding, source, conflict, returning, at };
        Ok(Statement::Insert(self.bump.alloc(insert)))
    }

    fn conflict(&mut self) -> Result<&'a Conflict<'a>> {
        let at = self.at()?;
        self.expect(kw!("on"))?;
        self.expect(kw!("conflict"))?;
        let mut conflict =
            Conflict { columns: &[], constraint: None, target_filter: None, assignments: None, filter: None, at };
        if self.eat_kind(TokenKind::ParenOpen)? {
            conflict.columns = self.exprs()?;
            self.expect_kind(TokenKind::ParenClose)?;
            if self.eat(kw!("where"))? {
                conflict.target_filter = Some(self.expr_ref()?);
            }
        } else if self.eat(kw!("on"))? {
            self.expect(kw!("constraint"))?;
            conflict.constraint = Some(self.name()?);
        }
        self.expect(kw!("do"))?;
        if !self.eat(kw!("nothing"))? {
            self.expect(kw!("update"))?;
            self.expect(kw!("set"))?;
            conflict.assignments = Some(self.assignments()?);
            if self.eat(kw!("where"))? {
                conflict.filter = Some(self.expr_ref()?);
            }
        }
        Ok(self.bump.alloc(conflict))
    }

    fn returning(&mut self) -> Result<&'a [SelectItem<'a>]> {
        if self.eat(kw!("returning"))? { self.select_items() } else { Ok(&[]) }
    }

    /// The target of `UPDATE` and `DELETE`: `[ONLY] table [*] [[AS] alias]`
    fn target(&mut self) -> Result<(&'a [Name<'a>], Option<Name<'a>>)> {
        let only = self.eat(kw!("only"))?;
        let table = if only && self.eat_kind(TokenKind::ParenOpen)? {
            let table = self.path()?;
            self.expect_kind(TokenKind::ParenClose)?;
            table
        } else {
            self.path()?
        };
        if self.is_operator("*")? {
            self.next()?;
        }
        if self.eat(kw!("as"))? {
            return Ok((table, Some(self.name()?)));
        }
        let tok = self.peek()?;
        if Self::may_be_name(tok, is_column_name) && tok.keyword != Some(kw!("set")) {
            self.next()?;
            return Ok((table, Some(self.name_of(tok))));
        }
        Ok((table, None))
    }

    fn update(&mut self, with: &'a [CommonTable<'a>], recursive: bool, at: u32) -> Result<Statement<'a>> {
        let (table, alias) = self.target()?;
        self.expect(kw!("set"))?;
        let assignments = self.assignments()?;
        let from = if self.eat(kw!("from"))? { self.items_of_from()? } else { &[] };
        let filter = if self.eat(kw!("where"))? { Some(self.filter()?) } else { None };
        let returning = self.returning()?;
        let update = Update { with, recursive, table, alias, assignments, from, filter, returning, at };
        Ok(Statement::Update(self.bump.alloc(update)))
    }

    fn delete(&mut self, with: &'a [CommonTable<'a>], recursive: bool, at: u32) -> Result<Statement<'a>> {
        self.expect(kw!("from"))?;
        let (table, alias) = self.target()?;
        let using = if self.eat(kw!("using"))? { self.items_of_from()? } else { &[] };
        let filter = if self.eat(kw!("where"))? { Some(self.filter()?) } else { None };
        let returning = self.returning()?;
        let delete = Delete { with, recursive, table, alias, using, filter, returning, at };
        Ok(Statement::Delete(self.bump.alloc(delete)))
    }

    /// The condition of `UPDATE` and `DELETE`.
    fn filter(&mut self) -> Result<&'a super::ast::Expr<'a>> {
        if self.is(kw!("current"))? && self.is_at(1, kw!("of"))? {
            let at = self.at()?;
            return Err(self.unsupported("WHERE CURRENT OF", at));
        }
        self.expr_ref()
    }

    fn items_of_from(&mut self) -> Result<&'a [TableRef<'a>]> {
        let mut items = vec![self.table_ref()?];
        while self.eat_kind(TokenKind::Comma)? {
            items.push(self.table_ref()?);
        }
        Ok(self.keep_all(&items))
    }

    fn assignments(&mut self) -> Result<&'a [Assignment<'a>]> {
        let mut assignments = vec![self.assignment()?];
        while self.eat_kind(TokenKind::Comma)? {
            assignments.push(self.assignment()?);
        }
        Ok(self.keep_all(&assignments))
    }

    /// A column, or a part of one.
    fn assigned(&mut self) -> Result<Assigned<'a>> {
        let name = self.name()?;
        let subscripts = self.subscripts()?;
        let at = self.at()?;
        if self.is_kind(TokenKind::Dot)? {
            return Err(self.unsupported("assigning a field of a column", at));
        }
        Ok(Assigned { name, subscripts })
    }

    fn assigned_in_parentheses(&mut self) -> Result<&'a [Assigned<'a>]> {
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut columns = vec![self.assigned()?];
        while self.eat_kind(TokenKind::Comma)? {
            columns.push(self.assigned()?);
        }
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(self.keep_all(&columns))
    }

    fn assignment(&mut self) -> Result<Assignment<'a>> {
        let multiple = self.is_kind(TokenKind::ParenOpen)?;
        let columns = if multiple {
            self.assigned_in_parentheses()?
        } else {
            let column = self.assigned()?;
            self.keep_all(&[column])
        };
        if !self.is_operator("=")? {
            return Err(self.unexpected());
        }
        self.next()?;
        let value = self.expr()?;
        if multiple && !matches!(value.kind, ExprKind::Row(_) | ExprKind::Subquery(_)) {
            let at = value.at;
            return Err(
                self.unsupported("a source of a multiple-column UPDATE item that is no sub-SELECT or ROW()", at)
            );
        }
        Ok(Assignment { columns, multiple, value })
    }
}
