//! `ALTER TABLE`.
//!
//! Rules
//! 1. All actions of one statement work on one draft of the definition; what needs rows is done when it is written.
//! 2. A column that is dropped keeps its place and loses its name; rows keep what they have there.

use super::constraint::{Draft, columns_named};
use super::define::{check_own, is_taken, missing, taken};
use super::owner::Needs;
use super::retype::{Retyped, pass};
use super::table::constraint_named;
use super::trigger::{drop_triggers_of, enable_triggers};
use crate::bind::index::Place;
use crate::catalog::definition::{ConstraintKind, Deferral, Identity, RelationKind, SequenceOwner, TableDef};
use crate::catalog::privilege;
use crate::parser::ast::{AlterAction, AlterSequence, ConstraintKind as Written, Name, Path, SequenceOptions};
use crate::row::COLUMNS_MAX;
use crate::session::{Environment, Output, Session, Tag};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, quoted_identifier};
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn alter_table<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        path: Path<'_>,
        (view, if_exists): (bool, bool),
        actions: &[AlterAction<'_>],
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let words = if view { "ALTER VIEW" } else { "ALTER TABLE" };
        let tag = Some(Tag::Words(words));
        self.check_writes(env, words)?;
        let only_references = actions.iter().all(|action| {
            matches!(action, AlterAction::Triggers(..)) || matches!(action, AlterAction::AddConstraint(added) if matches!(added.kind, Written::ForeignKey { .. }))
        });
        let mode = if only_references { LockMode::ShareRowExclusive } else { LockMode::AccessExclusive };
        let Some(found) = self.lock_table(env, path, mode, true, Needs::Ownership)? else {
            let error = missing(path);
            if !if_exists {
                return Err(error);
            }
            let message = format!("{}, skipping", error.message());
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            return Ok(tag);
        };
        self.check_not_awaited(&found)?;
        match found.view.is_some() {
            true => check_of_view(&found, actions)?,
            false if view => {
                let message = format!("\"{}\" is not a view", found.name);
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
            }
            // What may be said of a sequence by this name too.
            false if found.kind == RelationKind::Sequence => {
                let changes: Option<Vec<AlterSequence<'_>>> = actions.iter().map(of_sequence).collect();
                let Some(changes) = changes else { return check_own(&found).map(|()| tag) };
                for change in changes {
                    self.alter_sequence(env, path, false, &change, out)?;
                }
                return Ok(tag);
            }
            false => check_own(&found)?,
        }
        let mut draft = Draft::new(TableDef::clone(&found), true);
        let mut retyped = Retyped::default();
        let mut actions: Vec<&AlterAction<'_>> = actions.iter().collect();
        if actions.iter().any(|action| matches!(action, AlterAction::AlterType(..))) {
            actions.sort_by_key(|action| pass(action));
        }
        // Keys on new columns that have values in the rows that are there: these get them first.
        let mut late = Vec::new();
        // Columns that get a value in the rows that are there, and those that must not be null then.
        let (mut filled, mut required) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                AlterAction::AddConstraint(constraint) => self.add_constraint(env, &mut draft, constraint)?,
                AlterAction::DropConstraint { name, if_exists, cascade } => {
                    self.drop_constraint(env, &mut draft, *name, *if_exists, *cascade, out)?;
                }
                AlterAction::AddColumn { column, if_not_exists } => {
                    if draft.table.column(column.name.text).is_some() {
                        let name = &draft.table.name;
                        let message = format!("column \"{}\" of relation \"{name}\" already exists", column.name.text);
                        if !if_not_exists {
                            return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
                        }
                        let message = format!("{message}, skipping");
                        out.notice(MessageLevel::Notice, &Error::statement(sqlstate::DUPLICATE_COLUMN, message));
                        continue;
                    }
                    if draft.table.columns.len() >= COLUMNS_MAX {
                        let message = format!("tables can have at most {COLUMNS_MAX} columns");
                        return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
                    }
                    let (made, sequence) = self.new_column(env, text, &draft.table.name.clone(), column)?;
                    // Rows that are there get what a domain gives, and meet what it demands.
                    if made.default.is_some() || made.domain.is_some() || sequence.is_some() {
                        draft.has_expressions = true;
                        filled.push(made.name.clone());
                    }
                    if made.not_null && sequence.is_none() {
                        required.push(made.name.clone());
                    }
                    draft.table.columns.push(made);
                    self.add_pieces(env, &mut draft.table)?;
                    if let Some(sequence) = sequence {
                        let made = self.add_column_sequence(env, &mut draft.table, &mut draft.names, sequence)?;
                        draft.others.push(made);
                        // The rows that are there get their values first.
                        if let Some(column) = draft.table.columns.last_mut() {
                            required.push(column.name.clone());
                        }
                    }
                    let is_filled = filled.last().is_some_and(|name| name == column.name.text);
                    for constraint in column.constraints {
                        match constraint.kind {
                            Written::PrimaryKey(..) | Written::Unique(..) if is_filled => late.push(constraint),
                            _ => self.add_constraint(env, &mut draft, constraint)?,
                        }
                    }
                }
                AlterAction::DropColumn { name, if_exists, cascade } => {
                    self.drop_column(env, &mut draft, *name, *if_exists, *cascade, out)?;
                }
                AlterAction::SetDefault(name, default) => {
                    let column = column_of(&draft.table, *name)?;
                    refuse_identity(&draft.table, column, *name, default.is_none())?;
                    refuse_generated(&draft.table, column, *name)?;
                    let changed = &mut draft.table.columns[column];
                    (changed.default, changed.uses) = (None, Vec::new());
                    if let Some(default) = default {
                        self.set_default(env, changed, default.text)?;
                        draft.has_expressions = true;
                    }
                }
                AlterAction::SetNotNull(name, not_null) => {
                    let column = column_of(&draft.table, *name)?;
                    let in_key = draft
                        .table
                        .primary_key()
                        .is_some_and(|key| key.reads().iter().any(|part| usize::from(*part) == column));
                    if !not_null && in_key {
                        let message = format!("column \"{}\" is in a primary key", name.text);
                        return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
                    }
                    if !not_null {
                        refuse_identity(&draft.table, column, *name, false)?;
                    }
                    draft.table.columns[column].not_null = *not_null;
                    if *not_null {
                        required.push(name.text.to_owned());
                    }
                }
                AlterAction::AddIdentity(name, always, options) => {
                    self.add_identity(env, &mut draft, *name, *always, options)?;
                }
                AlterAction::SetIdentity(name, always, options) => {
                    self.set_identity(env, &mut draft, *name, *always, options)?;
                }
                AlterAction::DropIdentity(name, if_exists) => {
                    self.drop_identity(env, &mut draft, *name, *if_exists, out)?;
                }
                AlterAction::DropExpression(name, if_exists) => {
                    let column = column_of(&draft.table, *name)?;
                    let changed = &mut draft.table.columns[column];
                    if changed.generated {
                        (changed.generated, changed.default) = (false, None);
                        continue;
                    }
                    let message = format!(
                        "column \"{}\" of relation \"{}\" is not a stored generated column",
                        name.text, draft.table.name
                    );
                    if !if_exists {
                        return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
                    }
                    let message = format!("{message}, skipping");
                    out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                }
                AlterAction::AlterType(name, ty, using) => {
                    self.alter_type(env, text, &mut draft, &mut retyped, (*name, ty, using.as_ref()))?;
                    if retyped.rewrites {
                        // What is new is tested when the rows are written anew.
                        draft.has_rows = false;
                    }
                }
                AlterAction::Tune(name) => {
                    column_of(&draft.table, *name)?;
                }
                AlterAction::AlterConstraint(name, deferral) => {
                    self.alter_constraint(env, &mut draft, *name, *deferral)?;
                }
                AlterAction::Validate(name) => validate(&mut draft, *name)?,
                AlterAction::ResetOptions(options) => {
                    draft.table.options.retain(|known| !options.iter().any(|option| option.name.text == known.0));
                }
                AlterAction::SetOptions(options) => {
                    for (name, value) in super::storage_option::of_table(options)? {
                        draft.table.options.retain(|known| known.0 != name);
                        draft.table.options.push((name, value));
                    }
                }
                AlterAction::Rename(name) => {
                    self.check_schema(env, draft.table.schema, privilege::CREATE)?;
                    self.lock_name(env, draft.table.schema, name.text)?;
                    if is_taken(&self.catalog(env)?, draft.table.schema, name.text) {
                        return Err(taken(name.text));
                    }
                    super::user_type::check_row_type(&self.catalog(env)?, draft.table.schema, name.text)?;
                    // Texts that name the table before a column do without.
                    self.rewrite_texts(env, &mut draft.table, |text, place, _| {
                        text.replace_range(place.path as usize..place.start as usize, "");
                    })?;
                    draft.table.name = name.text.to_owned();
                }
                AlterAction::RenameColumn(name, new) => {
                    if let Some(column) = draft.table.column(name.text) {
                        self.refuse_fixed(env, &draft.table, column)?;
                    }
                    self.rename_column(env, &mut draft.table, *name, *new)?;
                }
                AlterAction::RenameConstraint(name, new) => {
                    self.rename_constraint(env, &mut draft.table, *name, *new)?;
                }
                AlterAction::Triggers(choice, state) => enable_triggers(&mut draft.table, choice, *state)?,
                AlterAction::Schema(name) => self.move_table(env, &mut draft, *name)?,
                AlterAction::Owner(name) => self.give_table(env, &mut draft, name)?,
                AlterAction::Unsupported(words) => return Err(super::refused(&format!("ALTER TABLE {words}"))),
            }
        }
        let old = self.prepare_rewrite(env, &mut draft, &found, &retyped)?;
        if let Some(old) = &old {
            draft.others.push(old.clone());
        }
        self.finish_draft(env, &mut draft)?;
        if let Some(old) = old {
            self.rewrite(env, &draft, &old, &retyped)?;
            filled.clear();
        }
        if !filled.is_empty() {
            let name = self.full_name(env, &draft.table)?;
            let values: Vec<String> =
                filled.iter().map(|column| format!("{} = default", quoted_identifier(column))).collect();
            self.run_own(env, &format!("update {name} set {}", values.join(", ")))?;
        }
        for name in required {
            if let Some(column) = draft.table.column(&name) {
                self.check_not_null(env, &draft.table, column)?;
            }
        }
        if !late.is_empty()
            && let Some(found) = self.lock_definition(env, found.oid)?
        {
            let mut draft = Draft::new(TableDef::clone(&found), true);
            for constraint in late {
                self.add_constraint(env, &mut draft, constraint)?;
            }
            self.finish_draft(env, &mut draft)?;
        }
        Ok(tag)
    }

    /// `RENAME COLUMN`: what is kept as a text and names it is written anew.
    fn rename_column(&self, env: &Environment<'_>, table: &mut TableDef, name: Name<'_>, new: Name<'_>) -> Result<()> {
        let column = table.column(name.text).ok_or_else(|| {
            let message = format!("column \"{}\" does not exist", name.text);
            Error::statement(sqlstate::UNDEFINED_COLUMN, message)
        })?;
        if table.column(new.text).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", new.text, table.name);
            return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
        }
        self.rewrite_texts(env, table, |text, place, named| {
            if usize::from(named) == column {
                text.replace_range(place.start as usize..place.end as usize, &quoted_identifier(new.text));
            }
        })?;
        for trigger in &mut table.triggers {
            let condition = trigger.condition.as_deref();
            trigger.condition = condition.map(|text| crate::catalog::trigger::renamed(text, name.text, new.text));
        }
        table.columns[column].name = new.text.to_owned();
        Ok(())
    }

    /// Changes the texts that are kept with a table at each place where they name a column of it.
    fn rewrite_texts(
        &self,
        env: &Environment<'_>,
        table: &mut TableDef,
        change: impl Fn(&mut String, Place, u16),
    ) -> Result<()> {
        let known = table.clone();
        let rewrite = |text: &mut String| -> Result<()> {
            let places = self.bound_apart(env, text, |setting, arena, bump| {
                crate::bind::index::places_of(&known, text, setting, arena, bump)
            })?;
            places.into_iter().for_each(|(place, column)| change(text, place, column));
            Ok(())
        };
        for constraint in &mut table.constraints {
            if let ConstraintKind::Check(text) = &mut constraint.kind {
                rewrite(text)?;
            }
        }
        for other in table.columns.iter_mut().filter(|other| other.generated) {
            if let Some(text) = &mut other.default {
                rewrite(text)?;
            }
        }
        for index in &mut table.indexes {
            for stored in index.expressions.iter_mut().chain(&mut index.predicate) {
                rewrite(&mut stored.text)?;
            }
        }
        Ok(())
    }

    /// `ALTER COLUMN … ADD GENERATED … AS IDENTITY`
    fn add_identity(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Name<'_>,
        always: bool,
        options: &SequenceOptions<'_>,
    ) -> Result<()> {
        let column = column_of(&draft.table, name)?;
        let refuse = |what: &str| {
            let message = format!("column \"{}\" of relation \"{}\" {what}", name.text, draft.table.name);
            Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message))
        };
        let found = &draft.table.columns[column];
        if found.domain.is_some() || !super::sequence::may_be_identity(found.ty.oid) {
            return Err(super::sequence::no_identity_type());
        }
        if !found.not_null {
            return refuse("must be declared NOT NULL before identity can be added");
        }
        if found.identity.is_some() {
            return refuse("is already an identity column");
        }
        if found.default.is_some() {
            return refuse("already has a default value");
        }
        let found = found.clone();
        let table = draft.table.name.clone();
        if let Some(new) = self.column_sequence(env, &table, &found, false, Some((always, *options)))? {
            let made = self.add_column_sequence(env, &mut draft.table, &mut draft.names, new)?;
            draft.others.push(made);
        }
        Ok(())
    }

    /// `ALTER COLUMN … SET GENERATED`, and other changes of an identity's sequence.
    fn set_identity(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Name<'_>,
        always: Option<bool>,
        options: &SequenceOptions<'_>,
    ) -> Result<()> {
        let column = column_of(&draft.table, name)?;
        if draft.table.columns[column].identity.is_none() {
            return Err(no_identity(&draft.table, name));
        }
        if let Some(always) = always {
            draft.table.columns[column].identity = Some(if always { Identity::Always } else { Identity::ByDefault });
        }
        let table = draft.table.oid;
        let is_owner = |owner: &SequenceOwner| owner.table == table && usize::from(owner.column) == column;
        for owned in self.owned_by(env, |owner| owner.identity && is_owner(owner))? {
            let mut changed = match draft.others.iter().position(|known| known.oid == owned.oid) {
                Some(at) => draft.others.swap_remove(at),
                None => TableDef::clone(&owned),
            };
            self.change_sequence(env, &mut changed, options)?;
            draft.others.push(changed);
        }
        Ok(())
    }

    /// `ALTER COLUMN … DROP IDENTITY`
    fn drop_identity<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Name<'_>,
        if_exists: bool,
        out: &mut O,
    ) -> Result<()> {
        let column = column_of(&draft.table, name)?;
        if draft.table.columns[column].identity.is_none() {
            let error = no_identity(&draft.table, name);
            if !if_exists {
                return Err(error);
            }
            let message = format!("{}, skipping", error.message());
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            return Ok(());
        }
        let dropped = &mut draft.table.columns[column];
        (dropped.identity, dropped.default, dropped.uses) = (None, None, Vec::new());
        self.drop_column_sequences(env, draft, column, (name.text, true), out)
    }

    /// Drops the sequences that belong to a column of the draft.
    fn drop_column_sequences<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        column: usize,
        (name, cascade): (&str, bool),
        out: &mut O,
    ) -> Result<()> {
        let table = draft.table.oid;
        let is_owner = |owner: &SequenceOwner| owner.table == table && usize::from(owner.column) == column;
        let owned = self.owned_by(env, is_owner)?;
        if owned.is_empty() {
            return Ok(());
        }
        let what = format!("column {name} of table {}", draft.table.name);
        let gone = [table].into();
        let changes = self.drop_sequence_storage(env, &owned, &gone, (&what, cascade), out)?;
        draft.others.retain(|known| !owned.iter().any(|owned| owned.oid == known.oid));
        // Other columns of the table itself that use them.
        for other in draft.table.columns.iter_mut().filter(|other| !other.dropped) {
            if owned.iter().any(|owned| other.uses.contains(&owned.oid)) {
                (other.default, other.uses) = (None, Vec::new());
            }
        }
        self.define(env, &changes)
    }

    /// `ALTER CONSTRAINT`: whether the check of a foreign key may wait.
    fn alter_constraint(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Name<'_>,
        deferral: Deferral,
    ) -> Result<()> {
        let table = &draft.table.name;
        let Some(found) = draft.table.constraints.iter().position(|known| known.name == name.text) else {
            let message = format!("constraint \"{}\" of relation \"{table}\" does not exist", name.text);
            return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
        };
        let ConstraintKind::ForeignKey(key) = &draft.table.constraints[found].kind else {
            let message =
                format!("constraint \"{}\" of relation \"{table}\" is not a foreign key constraint", name.text);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        };
        let other = key.table;
        draft.table.constraints[found].deferral = deferral;
        // Plans of both tables say when it is checked.
        if other != draft.table.oid && !draft.others.iter().any(|known| known.oid == other) {
            self.lock_relation(env, other.0, LockMode::ShareRowExclusive, true)?;
            if let Some(other) = self.lock_definition(env, other)? {
                draft.others.push(TableDef::clone(&other));
            }
        }
        Ok(())
    }

    fn drop_constraint<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Name<'_>,
        if_exists: bool,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let Some(found) = constraint_named(&draft.table, name.text).cloned() else {
            let message = format!("constraint \"{}\" of relation \"{}\" does not exist", name.text, draft.table.name);
            if !if_exists {
                return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
            }
            let message = format!("{message}, skipping");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            return Ok(());
        };
        match &found.kind {
            ConstraintKind::PrimaryKey(index) | ConstraintKind::Unique(index) => {
                let index = *index;
                self.drop_referrers(env, draft, index, name.text, cascade, out)?;
                if let Some(at) = draft.table.indexes.iter().position(|known| known.oid == index) {
                    self.own_xid(env)?;
                    env.stored()?.drop_at_commit(draft.table.indexes[at].storage)?;
                    draft.table.indexes.remove(at);
                }
            }
            ConstraintKind::Check(_) => {}
            ConstraintKind::ForeignKey(key) => match key.table == draft.table.oid {
                true => draft.table.referenced_by.retain(|referrer| referrer.constraint != found.oid),
                false => {
                    self.lock_relation(env, key.table.0, LockMode::ShareRowExclusive, true)?;
                    if !draft.others.iter().any(|known| known.oid == key.table)
                        && let Some(other) = self.lock_definition(env, key.table)?
                    {
                        draft.others.push(TableDef::clone(&other));
                    }
                    let others = draft.others.iter_mut().filter(|known| known.oid == key.table);
                    others.for_each(|other| other.referenced_by.retain(|known| known.constraint != found.oid));
                }
            },
        }
        draft.table.constraints.retain(|known| known.oid != found.oid);
        Ok(())
    }

    /// An index is to go: foreign keys that need it go too, or stand in the way.
    fn drop_referrers<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        index: crate::types::Oid,
        constraint: &str,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        for referrer in draft.table.referenced_by.clone() {
            let is_self = referrer.table == draft.table.oid;
            if !is_self && !draft.others.iter().any(|known| known.oid == referrer.table) {
                self.lock_relation(env, referrer.table.0, LockMode::AccessExclusive, true)?;
                if let Some(other) = self.lock_definition(env, referrer.table)? {
                    draft.others.push(TableDef::clone(&other));
                }
            }
            let name = draft.table.name.clone();
            let other = match is_self {
                true => Some(&mut draft.table),
                false => draft.others.iter_mut().find(|known| known.oid == referrer.table),
            };
            let Some(other) = other else { continue };
            let needs = |known: &&crate::catalog::definition::ConstraintDef| {
                known.oid == referrer.constraint
                    && matches!(&known.kind, ConstraintKind::ForeignKey(key) if key.index == index)
            };
            let Some(found) = other.constraints.iter().find(needs) else { continue };
            if !cascade {
                let message =
                    format!("cannot drop constraint {constraint} on table {name} because other objects depend on it");
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(format!("constraint {} on table {} depends on index {constraint}", found.name, other.name))
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            let message = format!("drop cascades to constraint {} on table {}", found.name, other.name);
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            other.constraints.retain(|known| known.oid != referrer.constraint);
            draft.table.referenced_by.retain(|known| known.constraint != referrer.constraint);
        }
        Ok(())
    }

    fn drop_column<O: Output>(
        &mut self,
        env: &Environment<'_>,
        draft: &mut Draft,
        name: Name<'_>,
        if_exists: bool,
        cascade: bool,
        out: &mut O,
    ) -> Result<()> {
        let column = match column_of(&draft.table, name) {
            Ok(column) => column,
            Err(error) if !if_exists => return Err(error),
            Err(error) => {
                let message = format!("{}, skipping", error.message());
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                return Ok(());
            }
        };
        let what = format!("column {} of table {}", name.text, draft.table.name);
        let views = self.views_that_go_with(env, (&draft.table, column), (&what, cascade), out)?;
        self.forget_views(env, &views)?;
        drop_triggers_of(&mut draft.table, column, cascade, out)?;
        for other in computed_from(&draft.table, column) {
            let computed = draft.table.columns[other].name.clone();
            let table = draft.table.name.clone();
            if !cascade {
                let message =
                    format!("cannot drop column {} of table {table} because other objects depend on it", name.text);
                let detail =
                    format!("column {computed} of table {table} depends on column {} of table {table}", name.text);
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .detail(detail)
                    .hint("Use DROP ... CASCADE to drop the dependent objects too."));
            }
            let message = format!("drop cascades to column {computed} of table {table}");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            self.drop_column(env, draft, Name { text: &computed, at: name.at }, true, cascade, out)?;
        }
        // Its constraints go with it, those of several columns too.
        let of_column: Vec<String> = draft
            .table
            .constraints
            .iter()
            .filter(|constraint| match &constraint.kind {
                ConstraintKind::PrimaryKey(index) | ConstraintKind::Unique(index) => draft
                    .table
                    .index(*index)
                    .is_some_and(|index| index.reads().iter().any(|part| usize::from(*part) == column)),
                ConstraintKind::Check(text) => columns_named(&draft.table, text).contains(&column),
                ConstraintKind::ForeignKey(key) => key.columns.iter().any(|own| usize::from(*own) == column),
            })
            .map(|constraint| constraint.name.clone())
            .collect();
        for constraint in of_column {
            self.drop_constraint(env, draft, Name { text: &constraint, at: name.at }, true, cascade, out)?;
        }
        let in_index = |index: &crate::catalog::definition::IndexDef| {
            index.reads().iter().chain(&index.included).any(|part| usize::from(*part) == column)
        };
        while let Some(at) = draft.table.indexes.iter().position(in_index) {
            let index = draft.table.indexes[at].oid;
            self.drop_referrers(env, draft, index, name.text, cascade, out)?;
            self.own_xid(env)?;
            env.stored()?.drop_at_commit(draft.table.indexes[at].storage)?;
            draft.table.indexes.remove(at);
        }
        self.drop_column_sequences(env, draft, column, (name.text, cascade), out)?;
        let dropped = &mut draft.table.columns[column];
        (dropped.identity, dropped.uses, dropped.generated) = (None, Vec::new(), false);
        dropped.name.clear();
        dropped.not_null = false;
        dropped.default = None;
        dropped.dropped = true;
        Ok(())
    }
}

/// What can be changed of a view.
/// A change of a table as one of a sequence, if it is one.
fn of_sequence<'a>(action: &AlterAction<'a>) -> Option<AlterSequence<'a>> {
    Some(match *action {
        AlterAction::Rename(name) => AlterSequence::Rename(name),
        AlterAction::Schema(name) => AlterSequence::Schema(name),
        AlterAction::Owner(name) => AlterSequence::Owner(name),
        _ => return None,
    })
}

fn check_of_view(view: &TableDef, actions: &[AlterAction<'_>]) -> Result<()> {
    for action in actions {
        match action {
            AlterAction::Rename(_)
            | AlterAction::RenameColumn(..)
            | AlterAction::Schema(_)
            | AlterAction::Owner(_)
            | AlterAction::Triggers(..)
            | AlterAction::Unsupported(_) => {}
            AlterAction::SetDefault(..) | AlterAction::SetOptions(_) | AlterAction::ResetOptions(_) => {
                return Err(super::refused("ALTER VIEW of this kind"));
            }
            _ => {
                let message = format!("this change cannot be performed on relation \"{}\"", view.name);
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
                    .detail("This operation is not supported for views."));
            }
        }
    }
    Ok(())
}

pub(super) fn column_of(table: &TableDef, name: Name<'_>) -> Result<usize> {
    table.column(name.text).ok_or_else(|| {
        let message = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
        Error::statement(sqlstate::UNDEFINED_COLUMN, message)
    })
}

/// The default of an identity column is its sequence.
fn refuse_identity(table: &TableDef, column: usize, name: Name<'_>, drops: bool) -> Result<()> {
    if table.columns[column].identity.is_none() {
        return Ok(());
    }
    let message = format!("column \"{}\" of relation \"{}\" is an identity column", name.text, table.name);
    let error = Error::statement(sqlstate::SYNTAX_ERROR, message);
    Err(if drops { error.hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.") } else { error })
}

fn refuse_generated(table: &TableDef, column: usize, name: Name<'_>) -> Result<()> {
    if !table.columns[column].generated {
        return Ok(());
    }
    let message = format!("column \"{}\" of relation \"{}\" is a generated column", name.text, table.name);
    Err(Error::statement(sqlstate::SYNTAX_ERROR, message))
}

/// The generated columns that are computed from a column.
pub(super) fn computed_from(table: &TableDef, column: usize) -> Vec<usize> {
    let needs = |other: &crate::catalog::definition::ColumnDef| {
        other.generated && other.default.as_ref().is_some_and(|text| columns_named(table, text).contains(&column))
    };
    table.visible().filter(|(_, other)| needs(other)).map(|(index, _)| index).collect()
}

fn no_identity(table: &TableDef, name: Name<'_>) -> Error {
    let message = format!("column \"{}\" of relation \"{}\" is not an identity column", name.text, table.name);
    Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
}

/// `VALIDATE CONSTRAINT`: rows that are there are tested once the draft is written.
fn validate(draft: &mut Draft, name: Name<'_>) -> Result<()> {
    let table = draft.table.name.clone();
    let Some(found) = draft.table.constraints.iter_mut().find(|known| known.name == name.text) else {
        let message = format!("constraint \"{}\" of relation \"{table}\" does not exist", name.text);
        return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
    };
    let is_valid = std::mem::replace(&mut found.validated, true);
    match &found.kind {
        ConstraintKind::PrimaryKey(_) | ConstraintKind::Unique(_) => {
            let message = format!(
                "constraint \"{}\" of relation \"{table}\" is not a foreign key or check constraint",
                name.text
            );
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        }
        _ if is_valid => {}
        ConstraintKind::Check(text) => draft.checks.push((found.name.clone(), text.clone())),
        ConstraintKind::ForeignKey(_) => draft.references.push(found.clone()),
    }
    Ok(())
}
