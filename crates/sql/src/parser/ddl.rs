//! Statements that define things: `CREATE`, `DROP`, `ALTER`.

use super::ast::{
    AlterAction, ColumnDefinition, ConstraintKind, CreateIndex, CreateTable, ExprKind, Including, IndexItem,
    KeyOptions, Like, Name, ObjectKind, ReferentialAction, SourceExpr, StorageOption, TableConstraint, TableSource,
    Utility,
};
use super::cursor::{Parser, kw};
use super::role::OwnerStatement;
use crate::catalog::definition::Deferral;
use crate::catalog::definition::OnCommit;
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

impl<'t, 'a> Parser<'t, 'a> {
    // ---- CREATE

    pub(super) fn create(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let local = self.is(kw!("local"))? || self.is(kw!("global"))?;
        if local {
            self.next()?;
        }
        let temporary = self.eat(kw!("temporary"))? || self.eat(kw!("temp"))?;
        let unlogged = !temporary && self.eat(kw!("unlogged"))?;
        if self.eat(kw!("table"))? {
            return self.create_table(temporary, unlogged);
        }
        if self.eat(kw!("sequence"))? {
            return self.create_sequence(temporary);
        }
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        match word {
            "view" | "recursive" => self.create_view(false, temporary),
            "unique" | "index" => self.create_index(),
            "schema" => self.create_schema(),
            "or" => {
                self.next()?;
                self.expect(kw!("replace"))?;
                if self.is(kw!("procedure"))? || self.is(kw!("function"))? {
                    return self.create_routine(true);
                }
                if self.is(kw!("trigger"))? || self.is(kw!("constraint"))? {
                    return self.create_trigger(true);
                }
                let temporary = self.eat(kw!("temporary"))? || self.eat(kw!("temp"))?;
                if self.is(kw!("view"))? || self.is(kw!("recursive"))? {
                    return self.create_view(true, temporary);
                }
                let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
                let words = format!("CREATE OR REPLACE {}", word.to_uppercase());
                self.unsupported_statement(words.trim_end())
            }
            "procedure" | "function" => self.create_routine(false),
            "role" | "user" | "group" => self.create_role(),
            "trigger" | "constraint" => self.create_trigger(false),
            "type" => self.create_type(),
            "domain" => self.create_domain(),
            "database" | "extension" | "materialized" | "aggregate" | "operator" | "rule" | "cast" | "collation"
            | "conversion" | "event" | "foreign" | "language" | "policy" | "publication" | "server" | "statistics"
            | "subscription" | "tablespace" | "text" | "transform" | "access" | "trusted" | "procedural"
            | "default" => {
                let words = format!("CREATE {}", word.to_uppercase());
                self.unsupported_statement(&words)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn if_not_exists(&mut self) -> Result<bool> {
        self.eat_all([kw!("if"), kw!("not"), kw!("exists")])
    }

    fn create_schema(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let if_not_exists = self.if_not_exists()?;
        let name = if self.is(kw!("authorization"))? { None } else { Some(self.name()?) };
        let owner = if self.eat(kw!("authorization"))? { Some(self.role_name()?) } else { None };
        if !self.is_kind(TokenKind::End)? {
            return self.unsupported_statement("CREATE SCHEMA with elements");
        }
        Ok(Utility::CreateSchema { name, owner, if_not_exists })
    }

    fn create_table(&mut self, temporary: bool, unlogged: bool) -> Result<Utility<'a>> {
        let if_not_exists = self.if_not_exists()?;
        let path = self.path()?;
        let mut table = CreateTable {
            path,
            if_not_exists,
            temporary,
            unlogged,
            on_commit: None,
            columns: &[],
            likes: &[],
            constraints: &[],
            options: &[],
            source: None,
            tablespace: None,
        };
        let at = self.at()?;
        if self.is(kw!("partition"))? {
            self.skip_all()?;
            return Err(self.unsupported("a partitioned table", at));
        }
        if self.is(kw!("of"))? {
            return Err(self.unsupported("a table of a composite type", at));
        }
        let mut names: &[Name<'_>] = &[];
        if self.is_kind(TokenKind::ParenOpen)? && !self.is_query_in_parentheses()? {
            match self.peek_at(2)?.token.kind {
                TokenKind::Comma | TokenKind::ParenClose => names = self.names_in_parentheses()?,
                _ => self.table_elements(&mut table)?,
            }
        }
        loop {
            let at = self.at()?;
            if self.is(kw!("partition"))? {
                self.skip_all()?;
                return Err(self.unsupported("a partitioned table", at));
            } else if self.is(kw!("inherits"))? {
                return Err(self.unsupported("inheritance", at));
            } else if self.is(kw!("with"))? && self.peek_at(1)?.token.kind == TokenKind::ParenOpen {
                self.next()?;
                table.options = self.storage_options()?;
            } else if self.eat_all([kw!("without"), kw!("oids")])? {
                continue;
            } else if self.is(kw!("on"))? && self.is_at(1, kw!("commit"))? {
                self.next()?;
                self.next()?;
                table.on_commit = Some(if self.eat(kw!("drop"))? {
                    OnCommit::Drop
                } else {
                    let deletes = self.eat(kw!("delete"))?;
                    if !deletes {
                        self.expect(kw!("preserve"))?;
                    }
                    self.expect(kw!("rows"))?;
                    if deletes { OnCommit::Delete } else { OnCommit::Preserve }
                });
            } else if self.eat(kw!("tablespace"))? {
                table.tablespace = Some(self.name()?);
            } else if self.eat(kw!("using"))? {
                let method = self.name()?;
                if method.text != "heap" {
                    return Err(self.unsupported("a table access method other than heap", at));
                }
            } else if self.eat(kw!("as"))? {
                let start = self.at()?;
                if self.is(kw!("execute"))? {
                    return Err(self.unsupported("CREATE TABLE AS EXECUTE", start));
                }
                self.query()?;
                let range = (start, self.last_end());
                let mut with_data = true;
                if self.eat(kw!("with"))? {
                    with_data = !self.eat(kw!("no"))?;
                    self.expect(kw!("data"))?;
                }
                table.source = Some(TableSource { names, range, with_data });
                break;
            } else {
                break;
            }
        }
        if table.source.is_none() && !names.is_empty() {
            self.expect(kw!("as"))?;
        }
        Ok(Utility::CreateTable(self.bump.alloc(table)))
    }

    fn table_elements(&mut self, table: &mut CreateTable<'a>) -> Result<()> {
        self.expect_kind(TokenKind::ParenOpen)?;
        let (mut columns, mut constraints, mut likes) = (Vec::new(), Vec::new(), Vec::new());
        if !self.is_kind(TokenKind::ParenClose)? {
            loop {
                if self.eat(kw!("like"))? {
                    let path = self.path()?;
                    likes.push(Like { path, before: columns.len(), including: self.including()? });
                } else if self.starts_constraint()? {
                    constraints.push(self.table_constraint()?);
                } else {
                    columns.push(self.column_definition()?);
                }
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        table.columns = self.keep_all(&columns);
        table.constraints = self.keep_all(&constraints);
        table.likes = self.keep_all(&likes);
        Ok(())
    }

    /// `INCLUDING …`, `EXCLUDING …`
    fn including(&mut self) -> Result<Including> {
        let mut found = Including::default();
        loop {
            let includes = match () {
                () if self.eat(kw!("including"))? => true,
                () if self.eat(kw!("excluding"))? => false,
                () => return Ok(found),
            };
            let word = self.label()?;
            match word.text {
                "comments" => found.comments = includes,
                "constraints" => found.constraints = includes,
                "defaults" => found.defaults = includes,
                "generated" => found.generated = includes,
                "identity" => found.identity = includes,
                "indexes" => found.indexes = includes,
                // There is nothing of these to take over.
                "compression" | "statistics" | "storage" => {}
                "all" => {
                    found = Including {
                        comments: includes,
                        constraints: includes,
                        defaults: includes,
                        generated: includes,
                        identity: includes,
                        indexes: includes,
                    };
                }
                _ => {
                    let at = crate::lexer::position(self.text(), word.at as usize);
                    let message = format!("syntax error at or near \"{}\"", word.text);
                    return Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(at));
                }
            }
        }
    }

    fn starts_constraint(&mut self) -> Result<bool> {
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        Ok(matches!(word, "constraint" | "check" | "unique" | "primary" | "foreign" | "exclude"))
    }

    fn column_definition(&mut self) -> Result<ColumnDefinition<'a>> {
        let name = self.name()?;
        let type_name = self.type_name()?;
        let type_name = self.bump.alloc(type_name);
        let mut column = ColumnDefinition {
            name,
            type_name,
            not_null: None,
            default: None,
            generated: None,
            identity: None,
            constraints: &[],
        };
        let mut constraints = Vec::new();
        loop {
            let at = self.at()?;
            let constraint = if self.eat(kw!("constraint"))? { Some(self.name()?) } else { None };
            let computed = self.is(kw!("generated"))? && self.peek_at(3)?.token.kind == TokenKind::ParenOpen;
            if constraint.is_none() && column.generated.is_none() && computed {
                column.generated = Some(self.generation()?);
                continue;
            }
            if constraint.is_none() && column.identity.is_none() && !computed && self.is(kw!("generated"))? {
                column.identity = Some(self.identity()?);
                continue;
            }
            let known = constraints.len();
            let mut push = |kind| {
                let deferral = Deferral::Never;
                constraints.push(TableConstraint { name: constraint, kind, not_valid: false, deferral, at });
            };
            if self.eat_all([kw!("not"), kw!("null")])? {
                column.not_null = Some(true);
            } else if self.eat(kw!("null"))? {
                column.not_null = Some(false);
            } else if self.eat(kw!("default"))? {
                column.default = Some(self.default_expr()?);
            } else if self.eat_all([kw!("primary"), kw!("key")])? {
                let options = self.index_parameters(false)?;
                push(ConstraintKind::PrimaryKey(self.keep_all(&[name]), options));
            } else if self.eat(kw!("unique"))? {
                let nulls_equal = self.nulls_not_distinct()?;
                let options = self.index_parameters(nulls_equal)?;
                push(ConstraintKind::Unique(self.keep_all(&[name]), options));
            } else if self.is(kw!("check"))? {
                let check = self.check()?;
                push(check);
            } else if self.is(kw!("references"))? {
                let columns = self.keep_all(&[name]);
                let reference = self.references(columns)?;
                push(reference);
            } else if self.is(kw!("collate"))? {
                self.next()?;
                let collation = self.path()?;
                if !collation.last().is_some_and(|name| matches!(name.text, "C" | "POSIX" | "default")) {
                    return Err(self.unsupported("a collation other than \"C\"", at));
                }
            } else if self.is(kw!("generated"))? {
                let message = format!(
                    "multiple {} specified for column \"{}\"",
                    if computed { "generation clauses" } else { "identity specifications" },
                    name.text
                );
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message)
                    .at(crate::lexer::position(self.text(), at as usize)));
            } else if constraint.is_some() {
                return Err(self.unexpected());
            } else {
                match self.deferral()? {
                    Some(_) => return Err(self.misplaced(at)),
                    None => break,
                }
            }
            let at = self.at()?;
            if let Some(deferral) = self.deferral()? {
                match constraints.get_mut(known) {
                    Some(constraint) if !matches!(constraint.kind, ConstraintKind::Check(_)) => {
                        constraint.deferral = deferral;
                    }
                    _ => return Err(self.misplaced(at)),
                }
            }
        }
        column.constraints = self.keep_all(&constraints);
        Ok(column)
    }

    /// `GENERATED ALWAYS AS (…) STORED`
    fn generation(&mut self) -> Result<SourceExpr<'a>> {
        let at = self.at()?;
        self.expect(kw!("generated"))?;
        if self.is(kw!("by"))? {
            let message = "for a generated column, GENERATED ALWAYS must be specified";
            return Err(
                Error::statement(sqlstate::SYNTAX_ERROR, message).at(crate::lexer::position(self.text(), at as usize))
            );
        }
        self.expect(kw!("always"))?;
        self.expect(kw!("as"))?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let start = self.at()?;
        let expr = self.expr()?;
        let source = self.source(expr, start)?;
        self.expect_kind(TokenKind::ParenClose)?;
        self.expect(kw!("stored"))?;
        Ok(source)
    }

    /// The expression after `DEFAULT`: one without `AND`, `IN` and their like at its top.
    pub(super) fn default_expr(&mut self) -> Result<SourceExpr<'a>> {
        let start = self.at()?;
        let expr = self.column_default()?;
        self.source(expr, start)
    }

    fn source(&mut self, expr: super::ast::Expr<'a>, start: u32) -> Result<SourceExpr<'a>> {
        let text = self.text().get(start as usize..self.last_end() as usize).unwrap_or("");
        Ok(SourceExpr { expr: self.node(expr), text: self.keep(text) })
    }

    /// `[NOT] DEFERRABLE`, `INITIALLY DEFERRED`, `INITIALLY IMMEDIATE`, in any order; none if nothing of that is said.
    pub(super) fn deferral(&mut self) -> Result<Option<Deferral>> {
        let (mut deferrable, mut deferred) = (None, None);
        loop {
            let at = self.at()?;
            let (place, said) = match () {
                () if self.eat(kw!("deferrable"))? => (&mut deferrable, true),
                () if self.eat_all([kw!("not"), kw!("deferrable")])? => (&mut deferrable, false),
                () if self.eat_all([kw!("initially"), kw!("deferred")])? => (&mut deferred, true),
                () if self.eat_all([kw!("initially"), kw!("immediate")])? => (&mut deferred, false),
                () => break,
            };
            let is_other = place.replace(said).is_some_and(|before| before != said);
            let wrong = match (deferrable, deferred) {
                (Some(false), Some(true)) => "constraint declared INITIALLY DEFERRED must be DEFERRABLE",
                _ if is_other => "conflicting constraint properties",
                _ => continue,
            };
            return Err(
                Error::statement(sqlstate::SYNTAX_ERROR, wrong).at(crate::lexer::position(self.text(), at as usize))
            );
        }
        Ok(match (deferrable, deferred) {
            (None, None) => None,
            (_, Some(true)) => Some(Deferral::Deferred),
            (Some(true), _) => Some(Deferral::Immediate),
            _ => Some(Deferral::Never),
        })
    }

    /// `DEFERRABLE` behind something that is no key.
    fn misplaced(&self, at: u32) -> Error {
        Error::statement(sqlstate::SYNTAX_ERROR, "misplaced DEFERRABLE clause")
            .at(crate::lexer::position(self.text(), at as usize))
    }

    pub(super) fn table_constraint(&mut self) -> Result<TableConstraint<'a>> {
        let at = self.at()?;
        let name = if self.eat(kw!("constraint"))? { Some(self.name()?) } else { None };
        let kind = if self.is(kw!("check"))? {
            self.check()?
        } else if self.eat_all([kw!("primary"), kw!("key")])? {
            self.key(true)?
        } else if self.eat(kw!("unique"))? {
            self.key(false)?
        } else if self.eat_all([kw!("foreign"), kw!("key")])? {
            let columns = self.names_in_parentheses()?;
            self.references(columns)?
        } else if self.is(kw!("exclude"))? {
            return Err(self.unsupported("an exclusion constraint", at));
        } else {
            return Err(self.unexpected());
        };
        let valid_at = self.at()?;
        let mut not_valid = self.eat_all([kw!("not"), kw!("valid")])?;
        let deferral = self.deferral()?.unwrap_or_default();
        not_valid |= self.eat_all([kw!("not"), kw!("valid")])?;
        if matches!(kind, ConstraintKind::Check(_)) && deferral.may_wait() {
            return Err(Error::unsupported("CHECK constraints cannot be marked DEFERRABLE")
                .at(crate::lexer::position(self.text(), valid_at as usize)));
        }
        let word = match kind {
            ConstraintKind::Check(_) | ConstraintKind::ForeignKey { .. } => "",
            ConstraintKind::PrimaryKey(..) | ConstraintKind::UsingIndex { primary: true, .. } => "PRIMARY KEY",
            ConstraintKind::Unique(..) | ConstraintKind::UsingIndex { .. } => "UNIQUE",
        };
        if not_valid && !word.is_empty() {
            return Err(Error::unsupported(format!("{word} constraints cannot be marked NOT VALID"))
                .at(crate::lexer::position(self.text(), valid_at as usize)));
        }
        Ok(TableConstraint { name, kind, not_valid, deferral, at })
    }

    fn key(&mut self, primary: bool) -> Result<ConstraintKind<'a>> {
        if self.eat_all([kw!("using"), kw!("index")])? {
            return Ok(ConstraintKind::UsingIndex { primary, index: self.name()? });
        }
        let nulls_equal = !primary && self.nulls_not_distinct()?;
        let columns = self.names_in_parentheses()?;
        let options = self.index_parameters(nulls_equal)?;
        Ok(match primary {
            true => ConstraintKind::PrimaryKey(columns, options),
            false => ConstraintKind::Unique(columns, options),
        })
    }

    /// What may follow the columns of a key.
    fn index_parameters(&mut self, nulls_equal: bool) -> Result<KeyOptions<'a>> {
        let mut options = KeyOptions { nulls_equal, ..KeyOptions::default() };
        if self.eat(kw!("include"))? {
            options.included = self.included()?;
        }
        if self.is(kw!("with"))? && self.peek_at(1)?.token.kind == TokenKind::ParenOpen {
            self.next()?;
            options.storage = self.storage_options()?;
        }
        if self.eat_all([kw!("using"), kw!("index"), kw!("tablespace")])? {
            options.tablespace = Some(self.name()?);
        }
        Ok(options)
    }

    pub(super) fn check(&mut self) -> Result<ConstraintKind<'a>> {
        self.expect(kw!("check"))?;
        self.expect_kind(TokenKind::ParenOpen)?;
        let start = self.at()?;
        let expr = self.expr()?;
        let source = self.source(expr, start)?;
        self.expect_kind(TokenKind::ParenClose)?;
        self.eat_all([kw!("no"), kw!("inherit")])?;
        Ok(ConstraintKind::Check(source))
    }

    fn references(&mut self, columns: &'a [Name<'a>]) -> Result<ConstraintKind<'a>> {
        self.expect(kw!("references"))?;
        let table = self.path()?;
        let referenced = self.optional_names()?;
        let at = self.at()?;
        let mut full = false;
        if self.eat(kw!("match"))? {
            full = self.eat(kw!("full"))?;
            if !full && !self.eat(kw!("simple"))? {
                return Err(self.unsupported("MATCH PARTIAL", at));
            }
        }
        let mut set_columns: &[Name<'_>] = &[];
        let (mut on_update, mut on_delete) = (ReferentialAction::NoAction, ReferentialAction::NoAction);
        while self.eat(kw!("on"))? {
            if self.eat(kw!("update"))? {
                on_update = self.referential_action()?;
            } else {
                self.expect(kw!("delete"))?;
                on_delete = self.referential_action()?;
                let sets = matches!(on_delete, ReferentialAction::SetNull | ReferentialAction::SetDefault);
                if sets && self.is_kind(TokenKind::ParenOpen)? {
                    set_columns = self.names_in_parentheses()?;
                }
            }
        }
        Ok(ConstraintKind::ForeignKey { columns, table, referenced, on_update, on_delete, full, set_columns })
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        Ok(match () {
            () if self.eat_all([kw!("no"), kw!("action")])? => ReferentialAction::NoAction,
            () if self.eat(kw!("restrict"))? => ReferentialAction::Restrict,
            () if self.eat(kw!("cascade"))? => ReferentialAction::Cascade,
            () if self.eat_all([kw!("set"), kw!("null")])? => ReferentialAction::SetNull,
            () if self.eat_all([kw!("set"), kw!("default")])? => ReferentialAction::SetDefault,
            () => return Err(self.unexpected()),
        })
    }

    /// `(fillfactor = 100)`
    pub(super) fn storage_options(&mut self) -> Result<&'a [StorageOption<'a>]> {
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut options = Vec::new();
        loop {
            let mut name = self.label()?;
            if self.eat_kind(TokenKind::Dot)? {
                let second = self.label()?;
                name.text = self.keep(&format!("{}.{}", name.text, second.text));
            }
            let mut value = None;
            if self.is_operator("=")? {
                self.next()?;
                value = self.option_value()?;
            }
            options.push(StorageOption { name, value });
            if !self.eat_kind(TokenKind::Comma)? {
                break;
            }
        }
        self.expect_kind(TokenKind::ParenClose)?;
        Ok(self.keep_all(&options))
    }

    fn create_index(&mut self) -> Result<Utility<'a>> {
        let unique = self.eat(kw!("unique"))?;
        self.expect(kw!("index"))?;
        let concurrently = self.eat(kw!("concurrently"))?;
        let if_not_exists = self.if_not_exists()?;
        let name = if self.is(kw!("on"))? && !if_not_exists { None } else { Some(self.name()?) };
        self.expect(kw!("on"))?;
        self.eat(kw!("only"))?;
        let table = self.path()?;
        let method = if self.eat(kw!("using"))? { Some(self.name()?) } else { None };
        self.expect_kind(TokenKind::ParenOpen)?;
        let mut columns = vec![self.index_item()?];
        while self.eat_kind(TokenKind::Comma)? {
            columns.push(self.index_item()?);
        }
        self.expect_kind(TokenKind::ParenClose)?;
        let included: &[_] = if self.eat(kw!("include"))? { self.included()? } else { &[] };
        let nulls_equal = self.nulls_not_distinct()?;
        let mut options: &[_] = &[];
        if self.eat(kw!("with"))? {
            options = self.storage_options()?;
        }
        let tablespace = if self.eat(kw!("tablespace"))? { Some(self.name()?) } else { None };
        let filter = match self.eat(kw!("where"))? {
            true => {
                let start = self.at()?;
                let expr = self.expr()?;
                Some(self.source(expr, start)?)
            }
            false => None,
        };
        let columns = self.keep_all(&columns);
        Ok(Utility::CreateIndex(self.bump.alloc(CreateIndex {
            name,
            table,
            unique,
            concurrently,
            if_not_exists,
            method,
            columns,
            included,
            nulls_equal,
            options,
            tablespace,
            filter,
        })))
    }

    /// `(a, b)` after `INCLUDE`.
    fn included(&mut self) -> Result<&'a [Name<'a>]> {
        let at = self.at()?;
        if self.peek_at(1)?.token.kind == TokenKind::ParenOpen || self.peek_at(2)?.token.kind == TokenKind::ParenOpen {
            return Err(Error::unsupported("expressions are not supported in included columns")
                .at(crate::lexer::position(self.text(), at as usize)));
        }
        self.names_in_parentheses()
    }

    /// `NULLS NOT DISTINCT`; true if nulls are equal.
    fn nulls_not_distinct(&mut self) -> Result<bool> {
        if !self.eat(kw!("nulls"))? {
            return Ok(false);
        }
        let equal = self.eat(kw!("not"))?;
        self.expect(kw!("distinct"))?;
        Ok(equal)
    }

    /// A column of an index: a name, a call, or an expression in parentheses.
    fn index_item(&mut self) -> Result<IndexItem<'a>> {
        let start = self.at()?;
        let in_parentheses = self.is_kind(TokenKind::ParenOpen)?;
        let expr = self.expr()?;
        let is_bare = |kind: &ExprKind<'_>| match kind {
            ExprKind::Column(path) => path.len() == 1,
            ExprKind::Binary { .. }
            | ExprKind::Unary { .. }
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull { .. }
            | ExprKind::Between { .. }
            | ExprKind::In { .. }
            | ExprKind::Like { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Subscript(..)
            | ExprKind::Number(_)
            | ExprKind::String(_) => false,
            _ => true,
        };
        if !in_parentheses && !is_bare(&expr.kind) {
            let at = crate::lexer::position(self.text(), start as usize);
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "syntax error at an expression of an index")
                .hint("Expressions other than calls stand in parentheses of their own.")
                .at(at));
        }
        let expr = self.source(expr, start)?;
        let ends = self.is_kind(TokenKind::Comma)?
            || self.is_kind(TokenKind::ParenClose)?
            || self.is(kw!("asc"))?
            || self.is(kw!("desc"))?
            || self.is(kw!("nulls"))?;
        let class = if ends { None } else { Some(self.path()?) };
        let descending = self.eat(kw!("desc"))?;
        if !descending {
            self.eat(kw!("asc"))?;
        }
        let mut nulls_first = None;
        if self.eat(kw!("nulls"))? {
            nulls_first = Some(self.eat(kw!("first"))?);
            if nulls_first == Some(false) {
                self.expect(kw!("last"))?;
            }
        }
        Ok(IndexItem { expr, class, descending, nulls_first })
    }

    // ---- DROP

    pub(super) fn drop_object(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        if matches!(word, "procedure" | "function" | "routine") {
            return self.drop_routine();
        }
        let kind = match word {
            "table" => ObjectKind::Table,
            "index" => ObjectKind::Index,
            "schema" => ObjectKind::Schema,
            "view" => ObjectKind::View,
            "sequence" => ObjectKind::Sequence,
            "role" | "user" | "group" => return self.drop_role(),
            "trigger" => return self.drop_trigger(),
            "owned" => return self.drop_owned(),
            "type" | "domain" => return self.drop_type(word == "domain"),
            "database" | "extension" | "materialized" | "aggregate" | "operator" | "rule" | "cast" | "collation"
            | "conversion" | "event" | "foreign" | "language" | "policy" | "publication" | "server" | "statistics"
            | "subscription" | "tablespace" | "text" | "transform" | "access" => {
                let words = format!("DROP {}", word.to_uppercase());
                return self.unsupported_statement(&words);
            }
            _ => return Err(self.unexpected()),
        };
        self.next()?;
        if kind == ObjectKind::Index {
            self.eat(kw!("concurrently"))?;
        }
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let paths = self.paths()?;
        let cascade = self.cascade()?;
        Ok(Utility::Drop { kind, paths, if_exists, cascade })
    }

    // ---- ALTER

    pub(super) fn alter(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        if self.eat(kw!("system"))? {
            return self.alter_system();
        }
        if self.eat(kw!("sequence"))? {
            return self.alter_sequence();
        }
        if self.eat(kw!("index"))? {
            return self.alter_index();
        }
        if self.eat(kw!("schema"))? {
            return self.alter_schema();
        }
        if self.eat(kw!("view"))? {
            return self.alter_view();
        }
        if !self.eat(kw!("table"))? {
            let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
            return match word {
                "role" | "user" | "group" => self.alter_role(),
                "function" | "procedure" | "routine" => self.alter_routine(),
                "trigger" => self.alter_trigger(),
                "type" => self.alter_user_type(),
                "domain" => self.alter_domain(),
                "database" => self.alter_database(),
                "default" if self.is_at(1, kw!("privileges"))? => self.alter_defaults(),
                "extension" | "materialized" | "default" | "aggregate" | "collation" | "conversion" | "event"
                | "foreign" | "language" | "large" | "operator" | "policy" | "publication" | "rule" | "server"
                | "statistics" | "subscription" | "tablespace" | "text" => {
                    let words = format!("ALTER {}", word.to_uppercase());
                    self.unsupported_statement(&words)
                }
                _ => Err(self.unexpected()),
            };
        }
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        self.eat(kw!("only"))?;
        let path = self.path()?;
        if self.is_operator("*")? {
            self.next()?;
        }
        let mut actions = vec![self.alter_action()?];
        while self.eat_kind(TokenKind::Comma)? {
            actions.push(self.alter_action()?);
        }
        Ok(Utility::AlterTable { path, view: false, if_exists, actions: self.keep_all(&actions) })
    }

    /// The new type of a column.
    fn alter_type(&mut self, name: Name<'a>) -> Result<AlterAction<'a>> {
        let type_name = self.type_name()?;
        let type_name = self.bump.alloc(type_name);
        let at = self.at()?;
        if self.eat(kw!("collate"))? {
            let collation = self.path()?;
            if !collation.last().is_some_and(|name| matches!(name.text, "C" | "POSIX" | "default")) {
                return Err(self.unsupported("a collation other than \"C\"", at));
            }
        }
        let mut using = None;
        if self.eat(kw!("using"))? {
            let start = self.at()?;
            let expr = self.expr()?;
            using = Some(self.source(expr, start)?);
        }
        Ok(AlterAction::AlterType(name, type_name, using))
    }

    fn alter_index(&mut self) -> Result<Utility<'a>> {
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let path = self.path()?;
        if !self.eat_all([kw!("rename"), kw!("to")])? {
            return self.unsupported_statement("ALTER INDEX of this kind");
        }
        Ok(Utility::RenameIndex { path, if_exists, name: self.name()? })
    }

    fn alter_schema(&mut self) -> Result<Utility<'a>> {
        let schema = self.name()?;
        if self.eat_all([kw!("owner"), kw!("to")])? {
            let owner = self.role_name()?;
            return Ok(Utility::Owner(self.bump.alloc(OwnerStatement::Schema { schema, owner })));
        }
        if !self.eat_all([kw!("rename"), kw!("to")])? {
            return self.unsupported_statement("ALTER SCHEMA of this kind");
        }
        Ok(Utility::RenameSchema { schema, name: self.name()? })
    }

    pub(super) fn alter_action(&mut self) -> Result<AlterAction<'a>> {
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        match word {
            "add" => {
                self.next()?;
                if self.starts_constraint()? {
                    return Ok(AlterAction::AddConstraint(self.table_constraint()?));
                }
                self.eat(kw!("column"))?;
                let if_not_exists = self.if_not_exists()?;
                Ok(AlterAction::AddColumn { column: self.column_definition()?, if_not_exists })
            }
            "drop" => {
                self.next()?;
                let constraint = self.eat(kw!("constraint"))?;
                if !constraint {
                    self.eat(kw!("column"))?;
                }
                let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
                let name = self.name()?;
                let cascade = self.cascade()?;
                Ok(match constraint {
                    true => AlterAction::DropConstraint { name, if_exists, cascade },
                    false => AlterAction::DropColumn { name, if_exists, cascade },
                })
            }
            "alter" => {
                self.next()?;
                if self.eat(kw!("constraint"))? {
                    let name = self.name()?;
                    let deferral = self.deferral()?.unwrap_or_default();
                    return Ok(AlterAction::AlterConstraint(name, deferral));
                }
                self.eat(kw!("column"))?;
                let name = self.name()?;
                if self.eat_all([kw!("set"), kw!("default")])? {
                    let start = self.at()?;
                    let expr = self.expr()?;
                    let source = self.source(expr, start)?;
                    return Ok(AlterAction::SetDefault(name, Some(source)));
                }
                if self.eat_all([kw!("drop"), kw!("default")])? {
                    return Ok(AlterAction::SetDefault(name, None));
                }
                if self.eat_all([kw!("set"), kw!("not"), kw!("null")])? {
                    return Ok(AlterAction::SetNotNull(name, true));
                }
                if self.eat_all([kw!("drop"), kw!("not"), kw!("null")])? {
                    return Ok(AlterAction::SetNotNull(name, false));
                }
                if self.is(kw!("add"))? && self.is_at(1, kw!("generated"))? {
                    self.next()?;
                    let (always, options) = self.identity()?;
                    return Ok(AlterAction::AddIdentity(name, always, options));
                }
                if self.eat_all([kw!("drop"), kw!("identity")])? {
                    return Ok(AlterAction::DropIdentity(name, self.eat_all([kw!("if"), kw!("exists")])?));
                }
                if self.eat_all([kw!("drop"), kw!("expression")])? {
                    return Ok(AlterAction::DropExpression(name, self.eat_all([kw!("if"), kw!("exists")])?));
                }
                if let Some((always, options)) = self.identity_changes()? {
                    return Ok(AlterAction::SetIdentity(name, always, options));
                }
                if self.eat(kw!("type"))? || self.eat_all([kw!("set"), kw!("data"), kw!("type")])? {
                    return self.alter_type(name);
                }
                if self.eat_all([kw!("set"), kw!("statistics")])? {
                    self.option_value()?;
                    return Ok(AlterAction::Tune(name));
                }
                if self.eat_all([kw!("set"), kw!("storage")])? {
                    self.label()?;
                    return Ok(AlterAction::Tune(name));
                }
                if (self.is(kw!("set"))? || self.is(kw!("reset"))?)
                    && self.peek_at(1)?.token.kind == TokenKind::ParenOpen
                {
                    self.next()?;
                    self.storage_options()?;
                    return Ok(AlterAction::Tune(name));
                }
                self.skip_all()?;
                Ok(AlterAction::Unsupported("ALTER TABLE … ALTER COLUMN of this kind"))
            }
            "set" if self.is_at(1, kw!("schema"))? => {
                self.next()?;
                self.next()?;
                Ok(AlterAction::Schema(self.name()?))
            }
            "set" if self.peek_at(1)?.token.kind == TokenKind::ParenOpen => {
                self.next()?;
                Ok(AlterAction::SetOptions(self.storage_options()?))
            }
            "reset" if self.peek_at(1)?.token.kind == TokenKind::ParenOpen => {
                self.next()?;
                Ok(AlterAction::ResetOptions(self.storage_options()?))
            }
            "validate" => {
                self.next()?;
                self.expect(kw!("constraint"))?;
                Ok(AlterAction::Validate(self.name()?))
            }
            "rename" => {
                self.next()?;
                if self.eat(kw!("to"))? {
                    return Ok(AlterAction::Rename(self.name()?));
                }
                if self.eat(kw!("constraint"))? {
                    let name = self.name()?;
                    self.expect(kw!("to"))?;
                    return Ok(AlterAction::RenameConstraint(name, self.name()?));
                }
                self.eat(kw!("column"))?;
                let name = self.name()?;
                self.expect(kw!("to"))?;
                Ok(AlterAction::RenameColumn(name, self.name()?))
            }
            "owner" => {
                self.next()?;
                self.expect(kw!("to"))?;
                Ok(AlterAction::Owner(self.role_name()?))
            }
            "enable" | "disable" => match self.trigger_action()? {
                Some(action) => Ok(action),
                None => {
                    let words = format!("ALTER TABLE … {}", word.to_uppercase());
                    self.skip_all()?;
                    Ok(AlterAction::Unsupported(self.keep(&words)))
                }
            },
            "set" | "reset" | "inherit" | "no" | "attach" | "detach" | "cluster" | "replica" | "force" | "of"
            | "not" | "options" => {
                let words = format!("ALTER TABLE … {}", word.to_uppercase());
                self.skip_all()?;
                Ok(AlterAction::Unsupported(self.keep(&words)))
            }
            _ => Err(self.unexpected()),
        }
    }
}
