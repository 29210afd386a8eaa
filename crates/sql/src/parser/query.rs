//! Queries: `SELECT`, `VALUES`, operations on sets, `WITH`, and the items of `FROM`.
//!
//! Rules
//! 1. A chain of one set operation that is associative is one node; mixed chains lean to the left, `INTERSECT` binds tighter.
//! 2. A query's height is that of its highest expression and one more.

use super::ast::{
    Alias, Body, Call, CommonTable, Distinct, Expr, ExprKind, GroupItem, Join, JoinCondition, JoinKind, LockStrength,
    LockWait, Locking, Name, Query, Select, SelectInto, SelectItem, SetOperation, SortItem, Statement, TableRef,
    Utility,
};
use super::cursor::{Parser, is_column_name, kw, starts_query};
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

impl<'t, 'a> Parser<'t, 'a> {
    /// Does a query come next, in parentheses or not?
    pub(super) fn starts_query(&mut self) -> Result<bool> {
        Ok(starts_query(self.peek()?) || self.is_query_in_parentheses()?)
    }

    /// `(query)`
    pub(super) fn query_in_parentheses(&mut self) -> Result<&'a Query<'a>> {
        self.expect_kind(TokenKind::ParenOpen)?;
        let query = self.query()?;
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(query)
    }

    /// A query with everything that belongs to it.
    pub(super) fn query(&mut self) -> Result<&'a Query<'a>> {
        let at = self.at()?;
        let tallest = std::mem::replace(&mut self.tallest, 0);
        let (with, recursive) = self.with()?;
        self.query_after_with(with, recursive, at, tallest)
    }

    /// The rest of a query after its `WITH`; `tallest` is the height of what stands before the query.
    fn query_after_with(
        &mut self,
        with: &'a [CommonTable<'a>],
        recursive: bool,
        at: u32,
        tallest: u32,
    ) -> Result<&'a Query<'a>> {
        let query = self.query_clauses(with, recursive, at)?;
        let height = self.tallest + 1;
        self.note_height(height)?;
        self.tallest = self.tallest.max(tallest);
        Ok(self.bump.alloc(Query { height, ..query }))
    }

    fn query_clauses(&mut self, with: &'a [CommonTable<'a>], recursive: bool, at: u32) -> Result<Query<'a>> {
        self.descend()?;
        let body = self.body()?;
        let mut query = Query {
            with,
            recursive,
            body,
            order_by: &[],
            limit: None,
            ties: false,
            offset: None,
            locking: &[],
            at,
            height: 0,
        };
        if self.is(kw!("order"))? {
            query.order_by = self.order_by()?;
        }
        let mut locking = Vec::new();
        loop {
            let clause_at = self.at()?;
            if self.is(kw!("limit"))? && query.limit.is_none() {
                self.next()?;
                if self.eat(kw!("all"))? {
                    continue;
                }
                query.limit = Some(self.expr_ref()?);
                if self.is_kind(TokenKind::Comma)? {
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, "LIMIT #,# syntax is not supported")
                        .hint("Use separate LIMIT and OFFSET clauses.")
                        .at(crate::lexer::position(self.text(), clause_at as usize)));
                }
            } else if self.is(kw!("offset"))? && query.offset.is_none() {
                self.next()?;
                query.offset = Some(self.expr_ref()?);
                if !self.eat(kw!("rows"))? {
                    self.eat(kw!("row"))?;
                }
            } else if self.is(kw!("fetch"))? && query.limit.is_none() {
                self.next()?;
                let (count, ties) = self.fetch_first()?;
                (query.limit, query.ties) = (Some(count), ties);
            } else if self.is(kw!("for"))? {
                match self.locking(clause_at)? {
                    Some(clause) => locking.push(clause),
                    None => break,
                }
            } else {
                break;
            }
        }
        query.locking = self.keep_all(&locking);
        self.ascend();
        self.merged(query)
    }

    /// A query of nothing but another one in parentheses is that one: `(SELECT … LIMIT 1) ORDER BY x` sorts first.
    fn merged(&self, query: Query<'a>) -> Result<Query<'a>> {
        let Body::Nested(inner) = query.body else { return Ok(query) };
        let twice = [
            ("ORDER BY", !inner.order_by.is_empty() && !query.order_by.is_empty()),
            ("OFFSET", inner.offset.is_some() && query.offset.is_some()),
            ("LIMIT", inner.limit.is_some() && query.limit.is_some()),
            ("WITH", !inner.with.is_empty() && !query.with.is_empty()),
        ];
        if let Some((clause, _)) = twice.iter().find(|(_, twice)| *twice) {
            let message = format!("multiple {clause} clauses not allowed");
            let position = crate::lexer::position(self.text(), query.at as usize);
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(position));
        }
        // What is refused of it alone is refused with an order around it too.
        if inner.ties && inner.order_by.is_empty() {
            return Ok(query);
        }
        let of_both = |own: &'a [Locking<'a>], around: &'a [Locking<'a>]| match (own, around) {
            (list, []) | ([], list) => list,
            _ => self.keep_all(&[own, around].concat()),
        };
        let (with, recursive) = match inner.with {
            [] => (query.with, query.recursive),
            _ => (inner.with, inner.recursive),
        };
        Ok(Query {
            with,
            recursive,
            order_by: if inner.order_by.is_empty() { query.order_by } else { inner.order_by },
            limit: inner.limit.or(query.limit),
            ties: inner.ties || query.ties,
            offset: inner.offset.or(query.offset),
            locking: of_both(inner.locking, query.locking),
            at: query.at,
            ..*inner
        })
    }

    /// `FETCH FIRST 5 ROWS ONLY`; true for `WITH TIES`.
    fn fetch_first(&mut self) -> Result<(&'a Expr<'a>, bool)> {
        if !self.eat(kw!("first"))? {
            self.expect(kw!("next"))?;
        }
        let at = self.at()?;
        let count = if self.is(kw!("row"))? || self.is(kw!("rows"))? {
            self.make(ExprKind::Number("1"), at)?
        } else if self.is_kind(TokenKind::ParenOpen)? {
            self.next()?;
            let count = self.expr()?;
            self.expect_kind(TokenKind::ParenClose)?;
            count
        } else {
            match self.peek()?.token.kind {
                TokenKind::Integer | TokenKind::Decimal | TokenKind::Parameter => self.expr()?,
                TokenKind::Operator if self.is_operator("-")? || self.is_operator("+")? => self.expr()?,
                _ if self.is(kw!("null"))? => self.expr()?,
                _ => return Err(self.unexpected()),
            }
        };
        if !self.eat(kw!("rows"))? {
            self.expect(kw!("row"))?;
        }
        let ties = self.eat_all([kw!("with"), kw!("ties")])?;
        if !ties {
            self.expect(kw!("only"))?;
        }
        Ok((self.node(count), ties))
    }

    /// `FOR UPDATE OF t NOWAIT`; none for `FOR READ ONLY`.
    fn locking(&mut self, at: u32) -> Result<Option<Locking<'a>>> {
        self.next()?;
        if self.eat_all([kw!("read"), kw!("only")])? {
            return Ok(None);
        }
        let strength = if self.eat(kw!("update"))? {
            LockStrength::Update
        } else if self.eat_all([kw!("no"), kw!("key"), kw!("update")])? {
            LockStrength::NoKeyUpdate
        } else if self.eat(kw!("share"))? {
            LockStrength::Share
        } else if self.eat_all([kw!("key"), kw!("share")])? {
            LockStrength::KeyShare
        } else {
            return Err(self.unexpected());
        };
        let tables = if self.eat(kw!("of"))? { self.names()? } else { &[] };
        let wait = if self.eat(kw!("nowait"))? {
            LockWait::Error
        } else if self.eat_all([kw!("skip"), kw!("locked")])? {
            LockWait::Skip
        } else {
            LockWait::Wait
        };
        Ok(Some(Locking { strength, tables, wait, at }))
    }

    /// `WITH …` if it is there.
    pub(super) fn with(&mut self) -> Result<(&'a [CommonTable<'a>], bool)> {
        if !self.eat(kw!("with"))? {
            return Ok((&[], false));
        }
        let recursive = self.eat(kw!("recursive"))?;
        let mut tables = Vec::new();
        loop {
            let name = self.name()?;
            let columns = self.optional_names()?;
            self.expect(kw!("as"))?;
            let materialized = if self.eat(kw!("materialized"))? {
                Some(true)
            } else if self.eat_all([kw!("not"), kw!("materialized")])? {
                Some(false)
            } else {
                None
            };
            self.expect_kind(TokenKind::ParenOpen)?;
            self.descend()?;
            let statement = if self.starts_query()? {
                // A `WITH` of its own may lead to another statement than a query.
                self.with_or_query()?
            } else {
                self.modification(&[], false)?
            };
            self.ascend();
            self.expect_kind(TokenKind::ParenClose)?;
            for (word, what) in [(kw!("search"), "SEARCH"), (kw!("cycle"), "CYCLE")] {
                if self.is(word)? {
                    let at = self.at()?;
                    return Err(self.unsupported(what, at));
                }
            }
            let statement = self.bump.alloc(statement);
            tables.push(CommonTable { name, columns, statement, materialized });
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        Ok((self.keep_all(&tables), recursive))
    }

    /// A query, or a `WITH` that is followed by `INSERT`, `UPDATE` or `DELETE`.
    pub(super) fn with_or_query(&mut self) -> Result<Statement<'a>> {
        let at = self.at()?;
        let tallest = std::mem::replace(&mut self.tallest, 0);
        let (with, recursive) = self.with()?;
        let word = self.peek()?.keyword;
        if [Some(kw!("insert")), Some(kw!("update")), Some(kw!("delete")), Some(kw!("merge"))].contains(&word) {
            return self.modification(with, recursive);
        }
        self.into_at = Some(self.at()?);
        let query = self.query_after_with(with, recursive, at, tallest)?;
        match self.into.take() {
            None => Ok(Statement::Query(query)),
            Some(into) => {
                let into = SelectInto { range: (at, self.last_end()), ..into };
                Ok(Statement::Utility(self.bump.alloc(Utility::SelectInto(self.bump.alloc(into)))))
            }
        }
    }

    // ---- operations on sets

    fn body(&mut self) -> Result<Body<'a>> {
        let mut left = self.intersection()?;
        let mut height = 0;
        loop {
            let operation = if self.eat(kw!("union"))? {
                SetOperation::Union
            } else if self.eat(kw!("except"))? {
                SetOperation::Except
            } else {
                self.note_height(self.tallest + height)?;
                return Ok(left);
            };
            let all = self.all_or_distinct()?;
            let mut operands = vec![left, self.intersection()?];
            while operation == SetOperation::Union && self.is(kw!("union"))? {
                if self.is_at(1, kw!("all"))? != all {
                    break;
                }
                self.next()?;
                self.all_or_distinct()?;
                operands.push(self.intersection()?);
            }
            height += 1;
            left = Body::Operation { operation, all, operands: self.keep_all(&operands) };
        }
    }

    fn intersection(&mut self) -> Result<Body<'a>> {
        let mut left = self.simple_body()?;
        let mut height = 0;
        while self.eat(kw!("intersect"))? {
            let all = self.all_or_distinct()?;
            let operands = [left, self.simple_body()?];
            height += 1;
            left = Body::Operation { operation: SetOperation::Intersect, all, operands: self.keep_all(&operands) };
        }
        self.note_height(self.tallest + height)?;
        Ok(left)
    }

    fn all_or_distinct(&mut self) -> Result<bool> {
        if self.eat(kw!("all"))? {
            return Ok(true);
        }
        self.eat(kw!("distinct"))?;
        Ok(false)
    }

    fn simple_body(&mut self) -> Result<Body<'a>> {
        let at = self.at()?;
        if self.is_kind(TokenKind::ParenOpen)? {
            let query = self.query_in_parentheses()?;
            return Ok(Body::Nested(query));
        }
        if self.eat(kw!("select"))? {
            return self.select(at);
        }
        if self.eat(kw!("values"))? {
            let mut rows = Vec::new();
            loop {
                self.expect_kind(TokenKind::ParenOpen)?;
                rows.push(self.exprs()?);
                self.expect_kind(TokenKind::ParenClose)?;
                if !self.eat_kind(TokenKind::Comma)? {
                    return Ok(Body::Values(self.keep_all(&rows)));
                }
            }
        }
        if self.eat(kw!("table"))? {
            let only = self.eat(kw!("only"))?;
            let path = self.path()?;
            let from = self.keep_all(&[TableRef::Table { path, only, alias: None }]);
            let items = self.keep_all(&[SelectItem::Star(at)]);
            return Ok(Body::Select(self.bump.alloc(Select {
                distinct: Distinct::No,
                items,
                from,
                filter: None,
                group_by: &[],
                group_distinct: false,
                having: None,
                windows: &[],
                at,
            })));
        }
        Err(self.unexpected())
    }

    /// `INTO [TEMPORARY | UNLOGGED] [TABLE] name`, in the `SELECT` that begins at that place.
    fn select_into(&mut self, select: u32) -> Result<()> {
        let at = self.at()?;
        if self.into_at != Some(select) || self.into.is_some() {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "SELECT ... INTO is not allowed here")
                .at(crate::lexer::position(self.text(), at as usize)));
        }
        self.next()?;
        if self.is(kw!("local"))? || self.is(kw!("global"))? {
            self.next()?;
        }
        let temporary = self.eat(kw!("temporary"))? || self.eat(kw!("temp"))?;
        let unlogged = !temporary && self.eat(kw!("unlogged"))?;
        self.eat(kw!("table"))?;
        let path = self.path()?;
        self.into = Some(SelectInto { path, temporary, unlogged, clause: (at, self.last_end()), range: (0, 0) });
        Ok(())
    }

    fn select(&mut self, at: u32) -> Result<Body<'a>> {
        let distinct = if self.eat(kw!("distinct"))? {
            if self.eat(kw!("on"))? {
                self.expect_kind(TokenKind::ParenOpen)?;
                let exprs = self.exprs()?;
                self.expect_kind(TokenKind::ParenClose)?;
                Distinct::On(exprs)
            } else {
                Distinct::All
            }
        } else {
            self.eat(kw!("all"))?;
            Distinct::No
        };
        let items = if self.ends_items()? { &[] } else { self.select_items()? };
        if self.is(kw!("into"))? {
            self.select_into(at)?;
        }
        let mut select = Select {
            distinct,
            items,
            from: &[],
            filter: None,
            group_by: &[],
            group_distinct: false,
            having: None,
            windows: &[],
            at,
        };
        if self.eat(kw!("from"))? {
            let mut from = vec![self.table_ref()?];
            while self.eat_kind(TokenKind::Comma)? {
                from.push(self.table_ref()?);
            }
            select.from = self.keep_all(&from);
        }
        if self.eat(kw!("where"))? {
            select.filter = Some(self.expr_ref()?);
        }
        if self.eat_all([kw!("group"), kw!("by")])? {
            if !self.eat(kw!("all"))? {
                select.group_distinct = self.eat(kw!("distinct"))?;
            }
            select.group_by = self.group_items()?;
        }
        if self.eat(kw!("having"))? {
            select.having = Some(self.expr_ref()?);
        }
        if self.eat(kw!("window"))? {
            select.windows = self.windows()?;
        }
        Ok(Body::Select(self.bump.alloc(select)))
    }

    /// Is the list of what is selected empty? PostgreSQL allows that.
    fn ends_items(&mut self) -> Result<bool> {
        let tok = self.peek()?;
        Ok(match tok.token.kind {
            TokenKind::End | TokenKind::ParenClose | TokenKind::Semicolon => true,
            _ => tok.keyword.is_some_and(|word| {
                matches!(
                    word.row().word,
                    "from" | "where" | "group" | "having" | "window" | "order" | "limit" | "offset" | "union" | "into"
                )
            }),
        })
    }

    fn group_items(&mut self) -> Result<&'a [GroupItem<'a>]> {
        let mut items = vec![self.group_item()?];
        while self.eat_kind(TokenKind::Comma)? {
            items.push(self.group_item()?);
        }
        Ok(self.keep_all(&items))
    }

    fn group_item(&mut self) -> Result<GroupItem<'a>> {
        let tok = self.peek()?;
        let at = tok.token.start;
        let word = tok.keyword.map_or("", |keyword| keyword.row().word);
        let opens = self.peek_at(1)?.token.kind == TokenKind::ParenOpen;
        if matches!(word, "rollup" | "cube") && opens {
            self.next()?;
            self.next()?;
            let mut elements = Vec::new();
            for expr in self.exprs()? {
                elements.push(self.keys_of(*expr));
            }
            self.expect_kind(TokenKind::ParenClose)?;
            let elements = self.keep_all(&elements);
            return Ok(if word == "cube" { GroupItem::Cube(elements, at) } else { GroupItem::Rollup(elements, at) });
        }
        if word == "grouping" && self.is_at(1, kw!("sets"))? {
            self.next()?;
            self.next()?;
            self.expect_kind(TokenKind::ParenOpen)?;
            self.descend()?;
            let items = self.group_items()?;
            self.ascend();
            self.expect_kind(TokenKind::ParenClose)?;
            return Ok(GroupItem::Sets(items, at));
        }
        if tok.token.kind == TokenKind::ParenOpen && self.peek_at(1)?.token.kind == TokenKind::ParenClose {
            self.next()?;
            self.next()?;
            return Ok(GroupItem::Empty(at));
        }
        let expr = self.expr()?;
        Ok(GroupItem::Keys(match tok.token.kind {
            TokenKind::ParenOpen => self.keys_of(expr),
            _ => self.keep_all(&[expr]),
        }))
    }

    /// `(a, b)` are two keys, not one that is a row.
    fn keys_of(&self, expr: Expr<'a>) -> &'a [Expr<'a>] {
        match expr.kind {
            ExprKind::Row(items) => items,
            _ => self.keep_all(&[expr]),
        }
    }

    /// What `SELECT` and `RETURNING` list.
    pub(super) fn select_items(&mut self) -> Result<&'a [SelectItem<'a>]> {
        let mut items = Vec::new();
        loop {
            let at = self.at()?;
            if self.is_operator("*")? {
                self.next()?;
                items.push(SelectItem::Star(at));
            } else {
                let expr = self.expr()?;
                let end = self.last_end();
                items.push(match (expr.kind, self.item_label()?) {
                    (ExprKind::WholeRow(path), None) => SelectItem::TableStar(path),
                    (_, label) => SelectItem::Expr(expr, label, end),
                });
            }
            if !self.eat_kind(TokenKind::Comma)? {
                return Ok(self.keep_all(&items));
            }
        }
    }

    fn item_label(&mut self) -> Result<Option<Name<'a>>> {
        if self.eat(kw!("as"))? {
            return self.label().map(Some);
        }
        let tok = self.peek()?;
        let bare = match (tok.token.kind, tok.keyword) {
            (TokenKind::QuotedName, _) | (TokenKind::Word, None) => true,
            (TokenKind::Word, Some(keyword)) => keyword.row().bare_label,
            _ => false,
        };
        if !bare {
            return Ok(None);
        }
        self.next()?;
        Ok(Some(self.name_of(tok)))
    }

    /// `ORDER BY …`
    pub(super) fn order_by(&mut self) -> Result<&'a [SortItem<'a>]> {
        self.expect(kw!("order"))?;
        self.expect(kw!("by"))?;
        let mut items = vec![self.sort_item()?];
        while self.eat_kind(TokenKind::Comma)? {
            items.push(self.sort_item()?);
        }
        Ok(self.keep_all(&items))
    }

    pub(super) fn sort_item(&mut self) -> Result<SortItem<'a>> {
        let expr = self.expr()?;
        let mut descending = false;
        if self.eat(kw!("desc"))? {
            descending = true;
        } else if self.is(kw!("using"))? {
            let at = self.at()?;
            return Err(self.unsupported("ORDER BY … USING", at));
        } else {
            self.eat(kw!("asc"))?;
        }
        let mut nulls_first = None;
        if self.eat(kw!("nulls"))? {
            nulls_first = Some(self.eat(kw!("first"))?);
            if nulls_first == Some(false) {
                self.expect(kw!("last"))?;
            }
        }
        Ok(SortItem { expr, descending, nulls_first })
    }

    // ---- FROM

    /// An item of `FROM` with its joins.
    pub(super) fn table_ref(&mut self) -> Result<TableRef<'a>> {
        self.descend()?;
        let mut left = self.simple_table_ref()?;
        let mut height = 0;
        loop {
            let at = self.at()?;
            let natural = self.eat(kw!("natural"))?;
            let (kind, cross) = if self.eat(kw!("cross"))? {
                (JoinKind::Inner, true)
            } else if self.eat(kw!("inner"))? || self.is(kw!("join"))? {
                (JoinKind::Inner, false)
            } else {
                let kind = match () {
                    () if self.eat(kw!("left"))? => JoinKind::Left,
                    () if self.eat(kw!("right"))? => JoinKind::Right,
                    () if self.eat(kw!("full"))? => JoinKind::Full,
                    () if natural => return Err(self.unexpected()),
                    () => break,
                };
                self.eat(kw!("outer"))?;
                (kind, false)
            };
            self.expect(kw!("join"))?;
            height += 1;
            let (right, condition) = if cross {
                (self.simple_table_ref()?, JoinCondition::None)
            } else if natural {
                (self.simple_table_ref()?, JoinCondition::Natural)
            } else {
                self.join_operand()?
            };
            left = TableRef::Join(self.bump.alloc(Join { kind, left, right, condition, alias: None, at }));
        }
        self.note_height(self.tallest + height)?;
        self.ascend();
        Ok(left)
    }

    /// The second item of a join and its condition; `a JOIN b JOIN c ON x ON y` nests to the right.
    fn join_operand(&mut self) -> Result<(TableRef<'a>, JoinCondition<'a>)> {
        self.descend()?;
        let mut height = 0;
        let mut right = self.simple_table_ref()?;
        loop {
            if self.is(kw!("on"))? || self.is(kw!("using"))? {
                self.note_height(self.tallest + height)?;
            }
            if self.eat(kw!("on"))? {
                self.ascend();
                return Ok((right, JoinCondition::On(self.expr_ref()?)));
            }
            if self.eat(kw!("using"))? {
                let names = self.names_in_parentheses()?;
                if self.is(kw!("as"))? {
                    let at = self.at()?;
                    return Err(self.unsupported("an alias for JOIN … USING", at));
                }
                self.ascend();
                return Ok((right, JoinCondition::Using(names)));
            }
            height += 1;
            let at = self.at()?;
            let natural = self.eat(kw!("natural"))?;
            let (kind, cross) = match () {
                () if self.eat(kw!("cross"))? => (JoinKind::Inner, true),
                () if self.eat(kw!("inner"))? || self.is(kw!("join"))? => (JoinKind::Inner, false),
                () if self.eat(kw!("left"))? => (JoinKind::Left, false),
                () if self.eat(kw!("right"))? => (JoinKind::Right, false),
                () if self.eat(kw!("full"))? => (JoinKind::Full, false),
                () => return Err(self.unexpected()),
            };
            if kind != JoinKind::Inner {
                self.eat(kw!("outer"))?;
            }
            self.expect(kw!("join"))?;
            let (operand, condition) = if cross {
                (self.simple_table_ref()?, JoinCondition::None)
            } else if natural {
                (self.simple_table_ref()?, JoinCondition::Natural)
            } else {
                self.join_operand()?
            };
            right =
                TableRef::Join(self.bump.alloc(Join { kind, left: right, right: operand, condition, alias: None, at }));
        }
    }

    fn simple_table_ref(&mut self) -> Result<TableRef<'a>> {
        let at = self.at()?;
        let lateral = self.eat(kw!("lateral"))?;
        if self.is_kind(TokenKind::ParenOpen)? {
            if self.is_query_in_parentheses()? {
                let query = self.query_in_parentheses()?;
                let alias = self.alias()?;
                return Ok(TableRef::Subquery { query, lateral, alias, at });
            }
            if lateral {
                return Err(self.unexpected());
            }
            self.next()?;
            let inner = self.table_ref()?;
            let TableRef::Join(join) = inner else { return Err(self.unexpected()) };
            self.expect_kind(TokenKind::ParenClose)?;
            let alias = self.alias()?;
            return Ok(match alias {
                None => inner,
                alias => TableRef::Join(self.bump.alloc(Join { alias, ..*join })),
            });
        }
        if self.is(kw!("rows"))? && self.is_at(1, kw!("from"))? {
            return self.rows_from();
        }
        if self.is(kw!("xmltable"))? {
            return Err(self.unsupported("XMLTABLE", at));
        }
        let only = !lateral && self.eat(kw!("only"))?;
        if only && self.eat_kind(TokenKind::ParenOpen)? {
            let path = self.path()?;
            self.expect_kind(TokenKind::ParenClose)?;
            let alias = self.alias()?;
            return Ok(TableRef::Table { path, only, alias });
        }
        if !only && self.starts_call()? {
            let call = self.table_function()?;
            let ordinality = self.eat_all([kw!("with"), kw!("ordinality")])?;
            let alias = self.function_alias()?;
            return Ok(match self.unnested(&call)? {
                Some(calls) => TableRef::Functions { calls, ordinality, alias },
                None => TableRef::Function { call, ordinality, alias },
            });
        }
        if lateral {
            return Err(self.unexpected());
        }
        let path = self.path()?;
        if self.is_operator("*")? {
            self.next()?;
        }
        let alias = self.alias()?;
        if self.is(kw!("tablesample"))? {
            let sample = self.at()?;
            return Err(self.unsupported("TABLESAMPLE", sample));
        }
        Ok(TableRef::Table { path, only, alias })
    }

    /// `ROWS FROM (f(), g())`
    fn rows_from(&mut self) -> Result<TableRef<'a>> {
        self.next()?;
        self.next()?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut calls = Vec::new();
        loop {
            let call = self.table_function()?;
            match self.unnested(&call)? {
                Some(each) => calls.extend_from_slice(each),
                None => calls.push(call),
            }
            let at = self.at()?;
            if self.is(kw!("as"))? {
                return Err(self.unsupported("a column definition list", at));
            }
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        let ordinality = self.eat_all([kw!("with"), kw!("ordinality")])?;
        let alias = self.function_alias()?;
        Ok(match calls[..] {
            [call] => TableRef::Function { call, ordinality, alias },
            _ => TableRef::Functions { calls: self.keep_all(&calls), ordinality, alias },
        })
    }

    /// `unnest(a, b)` as a call for each of its arrays; none if it is another call.
    fn unnested(&mut self, call: &Expr<'a>) -> Result<Option<&'a [Expr<'a>]>> {
        let ExprKind::Call(inner) = call.kind else { return Ok(None) };
        let is_unnest = matches!(inner.path, [name] if name.text == "unnest");
        let plain = !inner.distinct && inner.order_by.is_empty() && inner.filter.is_none() && inner.over.is_none();
        if !is_unnest || !plain || inner.variadic || inner.arguments.len() < 2 {
            return Ok(None);
        }
        let mut calls = Vec::with_capacity(inner.arguments.len());
        for argument in inner.arguments {
            let one = Call { arguments: self.keep_all(&[*argument]), ..*inner };
            let one = self.bump.alloc(one);
            calls.push(self.make(ExprKind::Call(one), call.at)?);
        }
        Ok(Some(self.keep_all(&calls)))
    }

    /// Does a call come next: a name with dots, and a parenthesis; or a function that is called without one?
    fn starts_call(&mut self) -> Result<bool> {
        let first = self.peek()?;
        if let Some(word) = first.keyword {
            let word = word.row().word;
            if word.starts_with("current_") || matches!(word, "localtime" | "localtimestamp" | "session_user" | "user")
            {
                return Ok(first.keyword != Some(kw!("current")));
            }
            if matches!(word, "cast" | "coalesce") {
                return Ok(true);
            }
        }
        if !Self::may_be_name(first, |_| true) {
            return Ok(false);
        }
        let mut ahead = 1;
        while self.peek_at(ahead)?.token.kind == TokenKind::Dot {
            ahead += 2;
        }
        Ok(self.peek_at(ahead)?.token.kind == TokenKind::ParenOpen)
    }

    /// An alias, with `AS` or without, and names of columns.
    pub(super) fn alias(&mut self) -> Result<Option<Alias<'a>>> {
        let name = if self.eat(kw!("as"))? {
            self.name()?
        } else {
            let tok = self.peek()?;
            if !Self::may_be_name(tok, is_column_name) {
                return Ok(None);
            }
            self.next()?;
            self.name_of(tok)
        };
        let columns = self.optional_names()?;
        Ok(Some(Alias { name, columns }))
    }

    fn function_alias(&mut self) -> Result<Option<Alias<'a>>> {
        // `AS t(a int, b text)`, and `AS (a int)` without a name, define the columns of a record.
        let mark = self.mark();
        let at = self.at()?;
        let named = self.eat(kw!("as"))?;
        if named && self.is_kind(TokenKind::ParenOpen)? {
            return Err(self.unsupported("a column definition list", at));
        }
        self.rewind(mark);
        let tok = self.peek_at(usize::from(named))?;
        if Self::may_be_name(tok, is_column_name)
            && self.peek_at(usize::from(named) + 1)?.token.kind == TokenKind::ParenOpen
        {
            let after = self.peek_at(usize::from(named) + 3)?;
            if after.token.kind != TokenKind::Comma && after.token.kind != TokenKind::ParenClose {
                return Err(self.unsupported("a column definition list", at));
            }
        }
        self.alias()
    }
}
