//! Constraints: those of `CREATE TABLE`, and those that `ALTER TABLE` adds to a table with rows.
//!
//! A [`Draft`] is a table's definition on its way, with those of other tables that change with it: a foreign key is noted at both of
//! its ends.

use super::define::{free_name, is_taken, taken};
use super::index::{check_tablespace, index_options, over_rows, row_shapes, show_values};
use super::owner::{Needs, denied};
use super::temporary::check_reference;
use crate::catalog::definition::{
    Action, ConstraintDef, ConstraintKind, Deferral, ForeignKey, IndexColumn, IndexDef, Referrer, Rows, TableDef,
};
use crate::catalog::privilege;
use crate::key::{self, KeyColumn};
use crate::parser::ast::{self, KeyOptions, Name, ReferentialAction, SourceExpr, TableConstraint};
use crate::row::Row;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Datum, Kind, Oid, Type, table, typmod};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, Xid, sqlstate};
use storage::btree::{Direction, Range};
use storage::heap::{Fetched, Reader};
use storage::txn::LockMode;

/// A table that is being defined.
pub(crate) struct Draft {
    /// The table.
    pub(crate) table: TableDef,
    /// Other tables whose definitions change.
    pub(crate) others: Vec<TableDef>,
    /// True if there may be rows.
    pub(crate) has_rows: bool,
    /// Names that relations of this draft have, which nobody else sees yet.
    pub(crate) names: Vec<String>,
    /// Expressions that are new and have to be checked once the table is defined.
    pub(crate) has_expressions: bool,
    /// Checks, with their names, that rows that are there have to pass, once the table is defined.
    pub(crate) checks: Vec<(String, String)>,
    /// Foreign keys that rows that are there have to keep.
    pub(crate) references: Vec<ConstraintDef>,
    /// The name that the table had before.
    pub(crate) old_name: String,
}

impl Draft {
    pub(crate) fn new(table: TableDef, has_rows: bool) -> Draft {
        Draft {
            old_name: table.name.clone(),
            table,
            others: Vec::new(),
            has_rows,
            names: Vec::new(),
            has_expressions: false,
            checks: Vec::new(),
            references: Vec::new(),
        }
    }

    fn has_constraint(&self, name: &str) -> bool {
        self.table.constraints.iter().any(|known| known.name == name)
    }

    /// A column by its name.
    pub(crate) fn column(&self, name: &str) -> Result<u16> {
        let found = self.table.column(name).ok_or_else(|| {
            let message = format!("column \"{name}\" named in key does not exist");
            Error::statement(sqlstate::UNDEFINED_COLUMN, message)
        })?;
        Ok(found as u16)
    }

    fn names_of(&self, columns: &[u16]) -> Vec<&str> {
        columns.iter().map(|column| self.table.columns[usize::from(*column)].name.as_str()).collect()
    }
}

fn action(action: ReferentialAction) -> Action {
    match action {
        ReferentialAction::NoAction => Action::NoAction,
        ReferentialAction::Restrict => Action::Restrict,
        ReferentialAction::Cascade => Action::Cascade,
        ReferentialAction::SetNull => Action::SetNull,
        ReferentialAction::SetDefault => Action::SetDefault,
    }
}

/// What a foreign key says beside its columns.
struct Rules<'r> {
    on_update: Action,
    on_delete: Action,
    full: bool,
    set_columns: &'r [Name<'r>],
    not_valid: bool,
    deferral: Deferral,
}

/// Have values of the two kinds the same keys when they are equal?
pub(super) fn have_one_key(left: Type, right: Type) -> bool {
    let family = |ty: Type| match table::kind(ty.oid) {
        Kind::Float4 | Kind::Float8 => 2,
        _ if [Oid::INT2, Oid::INT4, Oid::INT8].contains(&ty.oid) => 1,
        _ if [Oid::TEXT, Oid::VARCHAR].contains(&ty.oid) => 3,
        _ => 0,
    };
    left.oid == right.oid || (family(left) != 0 && family(left) == family(right))
}

/// The columns that an expression names, as far as its words tell.
pub(crate) fn columns_named(table: &TableDef, text: &str) -> Vec<usize> {
    let mut named = Vec::new();
    let mut lexer = crate::lexer::Lexer::new(text);
    while let Ok(token) = lexer.next_token() {
        if token.kind == crate::lexer::TokenKind::End {
            break;
        }
        if !matches!(token.kind, crate::lexer::TokenKind::Word | crate::lexer::TokenKind::QuotedName) {
            continue;
        }
        let name = crate::lexer::literal::name(text, token);
        if let Some(column) = table.column(&name)
            && !named.contains(&column)
        {
            named.push(column);
        }
    }
    named
}

impl<A: Allocator + Copy> Session<A> {
    /// Adds a constraint to a draft.
    pub(crate) fn add_constraint(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        constraint: &TableConstraint<'_>,
    ) -> Result<()> {
        let name = constraint.name.map(|name| name.text);
        if let Some(name) = name
            && draft.has_constraint(name)
        {
            let message = format!("constraint \"{name}\" for relation \"{}\" already exists", draft.table.name);
            return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
        }
        match constraint.kind {
            ast::ConstraintKind::PrimaryKey(columns, options) => {
                self.add_key(env, draft, name, columns, options, (true, constraint.deferral))
            }
            ast::ConstraintKind::Unique(columns, options) => {
                self.add_key(env, draft, name, columns, options, (false, constraint.deferral))
            }
            ast::ConstraintKind::UsingIndex { primary, index } => {
                self.add_key_by_index(env, draft, name, index, (primary, constraint.deferral))
            }
            ast::ConstraintKind::Check(expr) => self.add_check(env, draft, name, &expr, constraint.not_valid),
            ast::ConstraintKind::ForeignKey { columns, table, referenced, on_update, on_delete, full, set_columns } => {
                let rules = Rules {
                    on_update: action(on_update),
                    on_delete: action(on_delete),
                    full,
                    set_columns,
                    not_valid: constraint.not_valid,
                    deferral: constraint.deferral,
                };
                self.add_foreign_key(env, draft, name, columns, (table, referenced), &rules)
            }
        }
    }

    fn add_key(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Option<&str>,
        columns: &[Name<'_>],
        options: KeyOptions<'_>,
        (primary, deferral): (bool, Deferral),
    ) -> Result<()> {
        let words = if primary { "primary key" } else { "unique" };
        if primary && draft.table.primary_key().is_some() {
            let message = format!("multiple primary keys for table \"{}\" are not allowed", draft.table.name);
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        let mut numbers = Vec::with_capacity(columns.len());
        for column in columns {
            let number = draft.column(column.text)?;
            if numbers.contains(&number) {
                let message = format!("column \"{}\" appears twice in {words} constraint", column.text);
                return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
            }
            numbers.push(number);
        }
        check_tablespace(options.tablespace)?;
        let included = options.included.iter().map(|name| draft.column(name.text)).collect::<Result<Vec<u16>>>()?;
        let nulls_distinct = !options.nulls_equal;
        let options = index_options(options.storage)?;
        let schema = draft.table.schema;
        let name = match name {
            Some(name) => name.to_owned(),
            None => {
                let catalog = self.catalog(env)?;
                let is_free = |name: &str| {
                    !is_taken(&catalog, schema, name)
                        && !draft.names.iter().any(|known| known == name)
                        && !draft.has_constraint(name)
                };
                match primary {
                    true => free_name(&draft.table.name, "", "pkey", is_free),
                    false => {
                        let all = [numbers.as_slice(), &included].concat();
                        free_name(&draft.table.name, &draft.names_of(&all).join("_"), "key", is_free)
                    }
                }
            }
        };
        self.lock_name(env, schema, &name)?;
        if is_taken(&self.catalog(env)?, schema, &name) || draft.names.contains(&name) {
            return Err(taken(&name));
        }
        if primary {
            for &number in &numbers {
                let column = &mut draft.table.columns[usize::from(number)];
                if !column.not_null {
                    column.not_null = true;
                    if draft.has_rows {
                        self.check_not_null(env, &draft.table, usize::from(number))?;
                    }
                }
            }
        }
        let parts: Vec<IndexColumn> = numbers.iter().map(|&column| IndexColumn::ascending(column)).collect();
        let index = IndexDef { primary, options, included, nulls_distinct, ..IndexDef::new(name.clone(), parts, true) };
        let mut index = self.new_index(env, &draft.table, index, draft.has_rows)?;
        let oid = self.new_oid(env)?;
        index.constraint = Some(oid);
        let kind = match primary {
            true => ConstraintKind::PrimaryKey(index.oid),
            false => ConstraintKind::Unique(index.oid),
        };
        draft.table.indexes.push(index);
        draft.table.constraints.push(ConstraintDef { oid, name: name.clone(), kind, validated: true, deferral });
        draft.names.push(name);
        Ok(())
    }

    /// `PRIMARY KEY USING INDEX`, `UNIQUE USING INDEX`: an index that is there becomes a constraint's.
    fn add_key_by_index(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Option<&str>,
        index: Name<'_>,
        (primary, deferral): (bool, Deferral),
    ) -> Result<()> {
        let table = draft.table.name.clone();
        let Some(at) = draft.table.indexes.iter().position(|known| known.name == index.text) else {
            let message = format!("index \"{}\" does not exist", index.text);
            return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
        };
        let known = draft.table.indexes[at].clone();
        let wrong = |what: String| {
            Error::statement(sqlstate::WRONG_OBJECT_TYPE, what)
                .detail("Cannot create a primary key or unique constraint using such an index.")
        };
        if known.constraint.is_some() {
            let message = format!("index \"{}\" is already associated with a constraint", known.name);
            return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        if !known.unique {
            return Err(wrong(format!("\"{}\" is not a unique index", known.name)));
        }
        if !known.expressions.is_empty() {
            return Err(wrong(format!("index \"{}\" contains expressions", known.name)));
        }
        if known.predicate.is_some() {
            return Err(wrong(format!("\"{}\" is a partial index", known.name)));
        }
        if let Some(place) = known.columns.iter().position(|part| part.descending || part.nulls_first || part.pattern) {
            let number = place + 1;
            let message =
                format!("index \"{}\" column number {number} does not have default sorting behavior", known.name);
            return Err(wrong(message));
        }
        if primary && draft.table.primary_key().is_some() {
            let message = format!("multiple primary keys for table \"{table}\" are not allowed");
            return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
        }
        let name = name.unwrap_or(&known.name).to_owned();
        if name != known.name {
            self.lock_name(env, draft.table.schema, &name)?;
            if is_taken(&self.catalog(env)?, draft.table.schema, &name) {
                return Err(taken(&name));
            }
        }
        if draft.has_constraint(&name) {
            let message = format!("constraint \"{name}\" for relation \"{table}\" already exists");
            return Err(Error::statement(sqlstate::DUPLICATE_OBJECT, message));
        }
        for column in known.key_columns().unwrap_or_default().into_iter().filter(|_| primary) {
            let column = usize::from(column);
            if !std::mem::replace(&mut draft.table.columns[column].not_null, true) && draft.has_rows {
                self.check_not_null(env, &draft.table, column)?;
            }
        }
        let oid = self.new_oid(env)?;
        let kind = match primary {
            true => ConstraintKind::PrimaryKey(known.oid),
            false => ConstraintKind::Unique(known.oid),
        };
        let index = &mut draft.table.indexes[at];
        (index.primary, index.constraint) = (primary, Some(oid));
        index.name.clone_from(&name);
        draft.table.constraints.push(ConstraintDef { oid, name, kind, validated: true, deferral });
        Ok(())
    }

    fn add_check(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Option<&str>,
        expr: &SourceExpr<'_>,
        not_valid: bool,
    ) -> Result<()> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => {
                let named = columns_named(&draft.table, expr.text);
                let column = match named.as_slice() {
                    [one] => draft.table.columns[*one].name.as_str(),
                    _ => "",
                };
                free_name(&draft.table.name, column, "check", |name| !draft.has_constraint(name))
            }
        };
        let kind = ConstraintKind::Check(self.catalog(env)?.with_marks(expr.text)?);
        // A table that is new has no rows that could break it.
        let validated = !not_valid || draft.table.version == 0;
        let (oid, deferral) = (self.new_oid(env)?, Deferral::Never);
        draft.table.constraints.push(ConstraintDef { oid, name: name.clone(), kind, validated, deferral });
        draft.has_expressions = true;
        if draft.has_rows && validated {
            draft.checks.push((name, expr.text.to_owned()));
        }
        Ok(())
    }

    fn add_foreign_key(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Option<&str>,
        columns: &[Name<'_>],
        (path, referenced): (ast::Path<'_>, &[Name<'_>]),
        rules: &Rules<'_>,
    ) -> Result<()> {
        let Rules { on_update, on_delete, full, .. } = *rules;
        let numbers = columns
            .iter()
            .map(|column| {
                draft.table.column(column.text).map(|column| column as u16).ok_or_else(|| {
                    let message =
                        format!("column \"{}\" referenced in foreign key constraint does not exist", column.text);
                    Error::statement(sqlstate::UNDEFINED_COLUMN, message)
                })
            })
            .collect::<Result<Vec<u16>>>()?;
        let writes = |action: Action| matches!(action, Action::Cascade | Action::SetNull | Action::SetDefault);
        let changes = writes(on_update) || matches!(on_delete, Action::SetNull | Action::SetDefault);
        if changes && numbers.iter().any(|column| draft.table.columns[usize::from(*column)].generated) {
            let message = "invalid action for foreign key constraint containing generated column";
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        let mut set_columns = Vec::with_capacity(rules.set_columns.len());
        for column in rules.set_columns {
            let found = draft.table.column(column.text).map(|column| column as u16);
            let found = found.ok_or_else(|| {
                let message = format!("column \"{}\" referenced in foreign key constraint does not exist", column.text);
                Error::statement(sqlstate::UNDEFINED_COLUMN, message)
            })?;
            if !numbers.contains(&found) {
                let message = format!(
                    "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
                    column.text
                );
                return Err(Error::statement(sqlstate::INVALID_COLUMN_REFERENCE, message));
            }
            set_columns.push(found);
        }
        let (schema, table_name) = crate::catalog::split(path, self.database_name())?;
        let schema = schema.map(|schema| self.catalog(env).map(|catalog| catalog.schema(schema))).transpose()?;
        let is_self = table_name == draft.table.name && schema.is_none_or(|schema| schema == Some(draft.table.schema));
        let other = match is_self {
            true => draft.table.clone(),
            false => {
                let found = self.lock_own_table(env, path, LockMode::ShareRowExclusive, true, Needs::Nothing)?;
                draft.others.iter().find(|known| known.oid == found.oid).cloned().unwrap_or_else(|| (*found).clone())
            }
        };
        check_reference(draft.table.persistence, other.persistence)?;
        let (index, referenced) = referenced_key(&other, referenced)?;
        if !self.has_on_columns(env, &other, privilege::REFERENCES, &referenced)? {
            return Err(denied(other.word(), &other.name));
        }
        if referenced.len() != numbers.len() {
            return Err(Error::statement(
                sqlstate::INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let name = match name {
            Some(name) => name.to_owned(),
            None => {
                let names = draft.names_of(&numbers).join("_");
                free_name(&draft.table.name, &names, "fkey", |name| !draft.has_constraint(name))
            }
        };
        for (&own, &its) in numbers.iter().zip(&referenced) {
            let (own, its) = (&draft.table.columns[usize::from(own)], &other.columns[usize::from(its)]);
            if !have_one_key(own.ty, its.ty) {
                let message = format!("foreign key constraint \"{name}\" cannot be implemented");
                return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).detail(format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    own.name,
                    its.name,
                    typmod::format_type(Type::plain(own.ty.oid)),
                    typmod::format_type(Type::plain(its.ty.oid))
                )));
            }
        }
        let oid = self.new_oid(env)?;
        let referrer = Referrer { table: draft.table.oid, constraint: oid };
        let (table, index) = (other.oid, index.oid);
        let key = ForeignKey { columns: numbers, table, referenced, index, on_update, on_delete, full, set_columns };
        let validated = !rules.not_valid || draft.table.version == 0;
        let constraint =
            ConstraintDef { oid, name, kind: ConstraintKind::ForeignKey(key), validated, deferral: rules.deferral };
        if draft.has_rows && validated {
            draft.references.push(constraint.clone());
        }
        draft.table.constraints.push(constraint);
        match is_self {
            true => draft.table.referenced_by.push(referrer),
            false => {
                let mut other = other;
                other.referenced_by.push(referrer);
                match draft.others.iter_mut().find(|known| known.oid == other.oid) {
                    Some(known) => *known = other,
                    None => draft.others.push(other),
                }
            }
        }
        Ok(())
    }

    /// `SET CONSTRAINTS`: what is not deferred any more is checked at once.
    pub(super) fn set_constraints<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[ast::Path<'_>],
        deferred: bool,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let named = paths.iter().map(|path| self.deferrable_named(env, path, deferred));
        let named = named.collect::<Result<Vec<_>>>()?.concat();
        if !self.transaction.outlives_statement() && !self.runs_body() {
            let message = "SET CONSTRAINTS can only be used in transaction blocks";
            out.notice(MessageLevel::Warning, &Error::statement(sqlstate::NO_ACTIVE_SQL_TRANSACTION, message));
        }
        self.deferred.choose(paths.is_empty(), &named, deferred)?;
        self.settle_deferred(env, false, &mut |level, error| out.notice(level, error))?;
        Ok(Some(Tag::Words("SET CONSTRAINTS")))
    }

    /// The constraints of that name, in the first schema of the path that has one.
    fn deferrable_named(&self, env: &Environment<'_>, path: ast::Path<'_>, deferred: bool) -> Result<Vec<Oid>> {
        let catalog = self.catalog(env)?;
        let (schema, name) = crate::catalog::split(path, self.database_name())?;
        let schemas = match schema {
            Some(schema) => match catalog.schema(schema) {
                Some(schema) => vec![schema],
                None => {
                    let message = format!("schema \"{schema}\" does not exist");
                    return Err(Error::statement(sqlstate::INVALID_SCHEMA_NAME, message));
                }
            },
            None => catalog.path.searched.clone(),
        };
        for schema in schemas {
            let (mut found, mut is_there) = (Vec::new(), false);
            for table in catalog.definitions.tables().filter(|table| table.schema == schema) {
                let keys = table.constraints.iter().map(|known| (&known.name, Some(known.oid), known.deferral));
                let triggers = table.triggers.iter().map(|known| (&known.name, known.constraint, known.deferral));
                for (known, oid, deferral) in keys.chain(triggers) {
                    let Some(oid) = oid.filter(|_| known == name) else { continue };
                    is_there = true;
                    if deferral.may_wait() {
                        found.push(oid);
                    } else if deferred {
                        let message = format!("constraint \"{name}\" is not deferrable");
                        return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                    }
                }
            }
            if is_there {
                return Ok(found);
            }
        }
        let message = format!("constraint \"{name}\" does not exist");
        Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message))
    }

    /// Writes a draft, and checks what could not be checked before it was written.
    pub(crate) fn finish_draft(&mut self, env: &Environment<'_>, draft: &mut Draft) -> Result<()> {
        let changes = |kind: &ConstraintKind| match kind {
            ConstraintKind::ForeignKey(key) => {
                !matches!(key.on_update, Action::NoAction | Action::Restrict)
                    || matches!(key.on_delete, Action::SetNull | Action::SetDefault)
            }
            _ => false,
        };
        if draft.table.has_generated() && draft.table.constraints.iter().any(|known| changes(&known.kind)) {
            return Err(Error::unsupported(
                "a table with generated columns may not have foreign keys that change its rows",
            )
            .hint("Use ON DELETE CASCADE, RESTRICT or NO ACTION, and none of them with ON UPDATE."));
        }
        let mut tables: Vec<&mut TableDef> = vec![&mut draft.table];
        tables.extend(draft.others.iter_mut());
        self.define_tables(env, &mut tables)?;
        if draft.has_expressions {
            self.check_expressions(env, &draft.table)?;
        }
        let name = self.full_name(env, &draft.table)?;
        for (check, text) in &draft.checks {
            let wrong = self.run_own(env, &format!("select 1 from {name} where not ({text}) limit 1"))?;
            if wrong > 0 {
                let message = format!(
                    "check constraint \"{check}\" of relation \"{}\" is violated by some row",
                    draft.table.name
                );
                return Err(Error::statement(sqlstate::CHECK_VIOLATION, message));
            }
        }
        let references = std::mem::take(&mut draft.references);
        for constraint in &references {
            self.check_references(env, &draft.table, constraint)?;
        }
        Ok(())
    }

    /// No row of the table has a null in the column.
    pub(crate) fn check_not_null(&self, env: &Environment<'_>, table: &TableDef, column: usize) -> Result<()> {
        let Rows::Stored(rows) = table.rows else { return Ok(()) };
        let shapes = row_shapes(table);
        let is_null = |row: &[u8], _: &mut Vec<u8>| match Row::new(row)?.get(&shapes, column)?.is_null() {
            false => Ok(()),
            true => {
                let message = format!(
                    "column \"{}\" of relation \"{}\" contains null values",
                    table.columns[column].name, table.name
                );
                Err(Error::statement(sqlstate::NOT_NULL_VIOLATION, message))
            }
        };
        over_rows(env.stored()?.heap(rows), (&shapes, &[]), is_null, |_, _| Ok(()))
    }

    /// Every row of the table refers to one that is there. The locks of both tables keep writers out.
    pub(super) fn check_references(
        &mut self,
        env: &Environment<'_>,
        table: &TableDef,
        constraint: &ConstraintDef,
    ) -> Result<()> {
        let ConstraintKind::ForeignKey(foreign) = &constraint.kind else { return Ok(()) };
        let Rows::Stored(rows) = table.rows else { return Ok(()) };
        let relations = env.stored()?;
        let definitions = self.definitions(env, &self.work)?;
        let other = definitions.table(foreign.table).cloned();
        let Some((other, index)) = other.as_ref().and_then(|other| Some((other, other.index(foreign.index)?))) else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a foreign key refers to no index"));
        };
        let Rows::Stored(other_rows) = other.rows else { return Ok(()) };
        let (other_heap, tree) = (relations.heap(other_rows), relations.btree(index.storage));
        // The key of the other table's index, from the columns that refer to it.
        let mut parts: Vec<(usize, KeyColumn)> = Vec::with_capacity(index.columns.len());
        for part in &index.columns {
            let at = foreign.referenced.iter().position(|column| Some(*column) == part.column);
            let Some(own) = at.map(|at| usize::from(foreign.columns[at])) else {
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, "a foreign key refers to another index"));
            };
            let kind = table::kind(table.columns[own].ty.oid);
            parts.push((own, KeyColumn { kind, descending: part.descending, nulls_first: part.nulls_first }));
        }
        let shapes = row_shapes(table);
        let transactions = relations.storage().transactions;
        let taken = transactions.snapshot();
        let own = transactions.current_xid().unwrap_or(Xid(0));
        let snapshot = taken.at_command(own, self.work.command);
        let reader = Reader { snapshot: &snapshot, pairs: storage::heap::CommandPairs::pairs(&self.work.pairs) };
        let styles = self.styles(env)?;
        let style = styles.style(self.transaction.started_at());
        let key_of = |row: &[u8], out: &mut Vec<u8>| {
            let row = Row::new(row)?;
            let mut nulls = 0;
            for &(column, _) in &parts {
                nulls += usize::from(row.get(&shapes, column)?.is_null());
            }
            if foreign.full && nulls > 0 && nulls < parts.len() {
                let message = format!(
                    "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                    table.name, constraint.name
                );
                return Err(Error::statement(sqlstate::FOREIGN_KEY_VIOLATION, message)
                    .detail("MATCH FULL does not allow mixing of null and nonnull key values."));
            }
            // A reference with a null in it refers to nothing.
            if nulls > 0 {
                return Ok(());
            }
            parts.iter().try_for_each(|&(column, part)| key::encode_column(part, row.get(&shapes, column)?, out))
        };
        let mut last = Vec::new();
        let arena = crate::types::Arena::new();
        let in_key: Vec<usize> = parts.iter().map(|part| part.0).collect();
        let checked = over_rows(relations.heap(rows), (&shapes, &in_key), key_of, |key, _| {
            if key.is_empty() || last == key {
                return Ok(());
            }
            last.clear();
            last.extend_from_slice(key);
            let range: Range<'_> = (std::ops::Bound::Included(key), std::ops::Bound::Included(key));
            let mut cursor = tree.scan(range, Direction::Forward, false);
            while let Some(tid) = tree.next(&mut cursor)? {
                if let Fetched::Row(()) = other_heap.fetch(&reader, tid, |_, _| ())? {
                    return Ok(());
                }
            }
            let types: Vec<Oid> = parts.iter().map(|part| table.columns[part.0].ty.oid).collect();
            let columns: Vec<KeyColumn> = parts.iter().map(|part| part.1).collect();
            let mut values = vec![Datum::Null; parts.len()];
            let key = arena.copy(key)?;
            key::decode(&columns, &types, key, &arena, &mut values)?;
            let names: Vec<&str> = parts.iter().map(|part| table.columns[part.0].name.as_str()).collect();
            let message = format!(
                "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
                table.name, constraint.name
            );
            Err(Error::statement(sqlstate::FOREIGN_KEY_VIOLATION, message).detail(format!(
                "Key ({})=({}) is not present in table \"{}\".",
                names.join(", "),
                show_values(&values, &types, &style)?,
                other.name
            )))
        });
        transactions.release(taken);
        checked
    }
}

/// The unique index of the columns that a foreign key refers to, and the columns: of the primary key if none are named.
fn referenced_key<'t>(table: &'t TableDef, names: &[Name<'_>]) -> Result<(&'t IndexDef, Vec<u16>)> {
    if names.is_empty() {
        let index = table.primary_key().ok_or_else(|| {
            let message = format!("there is no primary key for referenced table \"{}\"", table.name);
            Error::statement(sqlstate::UNDEFINED_OBJECT, message)
        })?;
        if !table.is_always_unique(index) {
            let message = format!("cannot use a deferrable primary key for referenced table \"{}\"", table.name);
            return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        return Ok((index, index.key_columns().unwrap_or_default()));
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let column = table.column(name.text).ok_or_else(|| {
            let message = format!("column \"{}\" referenced in foreign key constraint does not exist", name.text);
            Error::statement(sqlstate::UNDEFINED_COLUMN, message)
        })? as u16;
        columns.push(column);
    }
    let fits = |index: &&IndexDef| {
        index.unique
            && index.columns.len() == columns.len()
            && index.key_columns().is_some_and(|known| known.iter().all(|column| columns.contains(column)))
    };
    let lasting = |index: &&IndexDef| fits(index) && table.is_always_unique(index);
    let index = table.indexes.iter().find(lasting).ok_or_else(|| {
        if table.indexes.iter().any(|index| fits(&index)) {
            let message = format!("cannot use a deferrable unique constraint for referenced table \"{}\"", table.name);
            return Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        }
        let message =
            format!("there is no unique constraint matching given keys for referenced table \"{}\"", table.name);
        Error::statement(sqlstate::INVALID_FOREIGN_KEY, message)
    })?;
    Ok((index, columns))
}
