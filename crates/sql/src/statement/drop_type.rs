//! `DROP TYPE`, `DROP DOMAIN`: a type goes, and what is made of it, if that is wanted.
//!
//! What is made of a type is found by its number: columns, parameters and results have it, and texts that are kept have it as a mark.

use super::define::{Change, shown};
use super::owner::not_owner;
use super::user_type::no_type;
use crate::catalog::codec::ObjectClass;
use crate::catalog::definition::{ConstraintKind, TableDef};
use crate::catalog::user_type::UserTypeDef;
use crate::catalog::view::Piece;
use crate::catalog::{Catalog, split};
use crate::parser::ast::{AlterAction, Name, Path};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, user};
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, sqlstate};
use std::sync::Arc;
use storage::txn::LockMode;

/// What is made of a type.
enum User {
    /// A column, or the expression of a generated one.
    Column(Oid, String),
    /// The default of a column.
    Default(Oid, usize),
    /// A constraint.
    Constraint(Oid, String),
    /// An index with an expression.
    Index(Oid, String),
    /// A trigger with a condition.
    Trigger(String),
    /// A view.
    View(Oid),
    /// A function.
    Routine(Oid),
}

/// What of a table is made of a type.
fn users_of_table(table: &TableDef, oid: Oid, mark: &str, found: &mut Vec<User>) {
    let is_it = |ty: Oid| user::base_of(ty) == Some(oid);
    if let Some(view) = &table.view {
        let names = view.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains(mark)));
        if names || table.visible().any(|(_, column)| is_it(column.ty.oid)) {
            found.push(User::View(table.oid));
        }
        return;
    }
    for (index, column) in table.visible() {
        let names = column.default.as_ref().is_some_and(|text| text.contains(mark));
        if is_it(column.ty.oid) || column.domain == Some(oid) || (names && column.generated) {
            found.push(User::Column(table.oid, column.name.clone()));
        } else if names {
            found.push(User::Default(table.oid, index));
        }
    }
    for constraint in &table.constraints {
        if matches!(&constraint.kind, ConstraintKind::Check(text) if text.contains(mark)) {
            found.push(User::Constraint(table.oid, constraint.name.clone()));
        }
    }
    for index in &table.indexes {
        if index.expressions.iter().chain(&index.predicate).any(|expression| expression.text.contains(mark)) {
            found.push(User::Index(index.oid, index.name.clone()));
        }
    }
    for trigger in &table.triggers {
        if trigger.condition.as_ref().is_some_and(|text| text.contains(mark)) {
            found.push(User::Trigger(format!("{} on {} {}", trigger.name, table.word(), table.name)));
        }
    }
}

fn users_of(catalog: &Catalog<'_>, oid: Oid) -> Vec<User> {
    let (mark, mut found) = (user::mark(oid), Vec::new());
    for table in catalog.definitions.tables() {
        users_of_table(table, oid, &mark, &mut found);
    }
    for routine in catalog.definitions.routines() {
        let is_it = |ty: Oid| user::base_of(ty) == Some(oid);
        let named = routine.parameters.iter().any(|parameter| {
            is_it(parameter.ty.oid) || parameter.default.as_ref().is_some_and(|text| text.contains(&mark))
        });
        if named || is_it(routine.result) {
            found.push(User::Routine(routine.oid));
        }
    }
    found
}

impl User {
    /// How messages call it.
    fn shown(&self, catalog: &Catalog<'_>) -> String {
        let table = |oid: Oid| {
            let table = catalog.definitions.table(oid);
            table.map_or(String::new(), |table| format!("{} {}", table.word(), catalog.shown_name(table)))
        };
        match self {
            User::Column(oid, name) => format!("column {name} of {}", table(*oid)),
            User::Default(oid, column) => {
                let name = catalog.definitions.table(*oid).map_or("", |table| table.columns[*column].name.as_str());
                format!("default value for column {name} of {}", table(*oid))
            }
            User::Constraint(oid, name) => format!("constraint {name} on {}", table(*oid)),
            User::Index(_, name) => format!("index {name}"),
            User::Trigger(name) => format!("trigger {name}"),
            User::View(oid) => table(*oid),
            User::Routine(oid) => {
                let routine = catalog.definitions.routine(*oid);
                routine
                    .map_or(String::new(), |known| format!("{} {}", known.word(), catalog.with_names(&known.shown())))
            }
        }
    }
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn drop_types<O: Output>(
        &mut self,
        env: &Environment<'_>,
        (paths, domain): (&[Path<'_>], bool),
        (if_exists, cascade): (bool, bool),
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let words = if domain { "DROP DOMAIN" } else { "DROP TYPE" };
        self.check_writes(env, words)?;
        for path in paths {
            let found = match self.user_type_named(env, path)? {
                Some(found) => found,
                None if if_exists => {
                    let (schema, name) = split(path)?;
                    let gone =
                        schema.filter(|schema| self.catalog(env).is_ok_and(|known| known.schema(schema).is_none()));
                    let message = match gone {
                        Some(schema) => format!("schema \"{schema}\" does not exist, skipping"),
                        None if schema.is_some() => format!("type \"{}\" does not exist, skipping", shown(path)),
                        None => format!("type \"{name}\" does not exist, skipping"),
                    };
                    out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                    continue;
                }
                None => return Err(no_type(path)),
            };
            if domain && found.domain.is_none() {
                return Err(super::domain::no_domain(&found.name));
            }
            let schema_owner = self.definitions(env, &self.work)?.schema_owner(found.schema);
            if !self.owns(env, found.owner)? && !self.owns(env, schema_owner)? {
                return Err(not_owner("type", &found.name));
            }
            self.lock_relation(env, found.oid.0, LockMode::AccessExclusive, true)?;
            if self.definitions(env, &self.work)?.user_type(found.oid).is_none() {
                return Err(no_type(path));
            }
            self.drop_user_type(env, &found, cascade, out)?;
        }
        Ok(Some(Tag::Words(words)))
    }

    /// Drops a type that is locked, and what is made of it, if that is wanted.
    pub(super) fn drop_user_type<O: Output>(
        &mut self,
        env: &Environment<'_>,
        ty: &UserTypeDef,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let (users, all) = {
            let catalog = self.catalog(env)?;
            let users = users_of(&catalog, ty.oid);
            let all: Vec<String> = users.iter().map(|user| user.shown(&catalog)).collect();
            (users, all)
        };
        if !all.is_empty() && !cascade {
            let shown = self.catalog(env)?.shown_type(ty.oid);
            let message = format!("cannot drop type {shown} because other objects depend on it");
            let lines: Vec<String> = all.iter().map(|what| format!("{what} depends on type {shown}")).collect();
            return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(lines.join("\n"))
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        if let [first, others @ ..] = all.as_slice() {
            let mut notice = Error::statement(
                sqlstate::SUCCESSFUL_COMPLETION,
                match others.len() {
                    0 => format!("drop cascades to {first}"),
                    others => format!("drop cascades to {} other objects", others + 1),
                },
            );
            if !others.is_empty() {
                let lines: Vec<String> = all.iter().map(|what| format!("drop cascades to {what}")).collect();
                notice = notice.detail(lines.join("\n"));
            }
            out.notice(MessageLevel::Notice, &notice);
        }
        for user in users {
            self.drop_user_of_type(env, user, out)?;
        }
        let gone = [ObjectClass::Type, ObjectClass::Comment, ObjectClass::Privileges];
        self.define(env, &gone.map(|class| Change { class, oid: ty.oid, image: None }))
    }

    fn drop_user_of_type<O: Output>(&mut self, env: &Environment<'_>, user: User, out: &mut O) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        match user {
            User::Column(oid, name) => {
                if definitions.table(oid).is_none_or(|table| table.column(&name).is_none()) {
                    return Ok(());
                }

                let column = Name { text: &name, at: 0 };
                let action = AlterAction::DropColumn { name: column, if_exists: true, cascade: true };
                self.alter_by_number(env, oid, action, out)
            }
            User::Constraint(oid, name) => {
                let is_it = |table: &Arc<TableDef>| table.constraints.iter().any(|known| known.name == name);
                if !definitions.table(oid).is_some_and(is_it) {
                    return Ok(());
                }
                let constraint = Name { text: &name, at: 0 };
                let action = AlterAction::DropConstraint { name: constraint, if_exists: true, cascade: true };
                self.alter_by_number(env, oid, action, out)
            }
            User::Default(oid, column) => {
                self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
                let Some(table) = self.lock_definition(env, oid)? else { return Ok(()) };
                let mut table = TableDef::clone(&table);
                let changed = &mut table.columns[column];
                (changed.default, changed.uses) = (None, Vec::new());
                self.define_tables(env, &mut [&mut table])
            }
            User::View(oid) => {
                self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
                // It may have gone with another one.
                match self.lock_definition(env, oid)? {
                    Some(view) => self.drop_all(env, &[view], true, out),
                    None => Ok(()),
                }
            }
            User::Routine(oid) => {
                let Some(routine) = self.definitions(env, &self.work)?.routine(oid).cloned() else { return Ok(()) };
                self.lock_name(env, routine.schema, &format!("procedure {}", routine.name))?;
                self.drop_users(env, &routine, out)?;
                let gone = [ObjectClass::Routine, ObjectClass::Privileges];
                self.define(env, &gone.map(|class| Change { class, oid, image: None }))
            }
            // It may have gone with a column.
            User::Index(oid, _) if definitions.tables().all(|table| table.index(oid).is_none()) => Ok(()),
            User::Index(_, what) | User::Trigger(what) => {
                Err(Error::unsupported(format!("dropping a type that an expression of {what} names is not supported"))
                    .hint("Drop that first."))
            }
        }
    }

    /// Changes a table that is found by its number.
    fn alter_by_number<O: Output>(
        &mut self,
        env: &Environment<'_>,
        oid: Oid,
        action: AlterAction<'_>,
        out: &mut O,
    ) -> Result<()> {
        let (schema, name) = {
            let catalog = self.catalog(env)?;
            let Some(table) = catalog.definitions.table(oid) else { return Ok(()) };
            (catalog.schema_name(table.schema).unwrap_or_default(), table.name.clone())
        };
        let path = [Name { text: &schema, at: 0 }, Name { text: &name, at: 0 }];
        self.alter_table(env, "", &path, (false, true), &[action], out).map(drop)
    }
}
