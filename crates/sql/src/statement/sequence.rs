//! Sequences: `CREATE SEQUENCE`, `ALTER SEQUENCE`, `DROP SEQUENCE`, and those of `serial` and identity columns.
//!
//! Rules
//! 1. Whoever changes what a sequence is, or begins it anew, gives it another storage, so that a rollback gives the old one back and
//!    no session goes on with values that it has kept.
//! 2. A sequence that belongs to a column goes with it. One that is a part of it, an identity's, goes in no other way.
//! 3. A default knows a sequence by its number, in its text and in its list: renaming one changes no default.

use super::define::{Change, check_own, free_name, is_taken, missing, shown, taken};
use super::owner::Needs;
use crate::catalog::definition::{
    ColumnDef, Identity, OnCommit, Persistence, RelationKind, Rows, SequenceDef, SequenceOwner, TableDef,
};
use crate::catalog::privilege::Guard;
use crate::catalog::{Catalog, split};
use crate::catalog::{privilege, schema};
use crate::lexer::{Lexer, Token, TokenKind, literal};
use crate::parser::ast::{AlterSequence, Path, SequenceOptions, TypeName};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, Type, function};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, quoted_identifier};
use base::{Error, Result, Xid, sqlstate};
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::heap::{Advance, SequenceState};
use storage::txn::LockMode;

/// A sequence that a new column brings.
pub(super) struct ColumnSequence {
    /// Its column's name.
    pub(super) column: String,
    rules: SequenceDef,
    restart: Option<i64>,
    identity: Option<Identity>,
    name: Option<String>,
}

impl ColumnSequence {
    /// One for a column like that of another table.
    pub(super) fn like(column: &str, rules: SequenceDef, identity: Identity) -> ColumnSequence {
        let rules = SequenceDef { owner: None, ..rules };
        ColumnSequence { column: column.to_owned(), rules, restart: None, identity: Some(identity), name: None }
    }
}

fn invalid(message: String) -> Error {
    Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
}

/// What the options make of a sequence, which was `before` already or is new; and where it begins anew, if it is to.
fn rules_of(
    catalog: &Catalog<'_>,
    options: &SequenceOptions<'_>,
    before: Option<&SequenceDef>,
) -> Result<(SequenceDef, Option<i64>)> {
    let ty = match options.ty {
        None => before.map_or(Oid::INT8, |before| before.ty),
        Some(name) => {
            let ty = catalog.type_of(name)?.oid;
            if ![Oid::INT2, Oid::INT4, Oid::INT8].contains(&ty) {
                return Err(invalid("sequence type must be smallint, integer, or bigint".to_owned()));
            }
            ty
        }
    };
    let (type_name, (least, most)) = bounds(ty);
    let increment = options.increment.or(before.map(|before| before.increment)).unwrap_or(1);
    if increment == 0 {
        return Err(invalid("INCREMENT must not be zero".to_owned()));
    }
    // A bound that was that of the old type becomes that of the new one.
    let kept = |bound: fn(&SequenceDef) -> i64, side: fn((i64, i64)) -> i64| {
        before.map(|before| (bound(before), side(bounds(before.ty).1))).and_then(|(bound, old)| match bound == old {
            true if before.is_some_and(|before| before.ty != ty) => None,
            _ => Some(bound),
        })
    };
    let max = match options.max {
        Some(Some(max)) => max,
        Some(None) => {
            if increment > 0 {
                most
            } else {
                -1
            }
        }
        None => kept(|def| def.max, |bounds| bounds.1).unwrap_or(if increment > 0 { most } else { -1 }),
    };
    let min = match options.min {
        Some(Some(min)) => min,
        Some(None) => {
            if increment > 0 {
                1
            } else {
                least
            }
        }
        None => kept(|def| def.min, |bounds| bounds.0).unwrap_or(if increment > 0 { 1 } else { least }),
    };
    for (word, bound) in [("MAXVALUE", max), ("MINVALUE", min)] {
        if !(least..=most).contains(&bound) {
            let message = format!("{word} ({bound}) is out of range for sequence data type {type_name}");
            return Err(invalid(message));
        }
    }
    if min >= max {
        return Err(invalid(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})")));
    }
    let start = options.start.or(before.map(|before| before.start)).unwrap_or(if increment > 0 { min } else { max });
    let within = |word: &str, value: i64| {
        if value < min {
            return Err(invalid(format!("{word} value ({value}) cannot be less than MINVALUE ({min})")));
        }
        if value > max {
            return Err(invalid(format!("{word} value ({value}) cannot be greater than MAXVALUE ({max})")));
        }
        Ok(())
    };
    within("START", start)?;
    let restart = options.restart.map(|restart| restart.unwrap_or(start));
    restart.map_or(Ok(()), |restart| within("RESTART", restart))?;
    let cache = options.cache.or(before.map(|before| before.cache)).unwrap_or(1);
    if cache < 1 {
        return Err(invalid(format!("CACHE ({cache}) must be greater than zero")));
    }
    let cycle = options.cycle.or(before.map(|before| before.cycle)).unwrap_or(false);
    let owner = before.and_then(|before| before.owner);
    Ok((SequenceDef { ty, start, increment, min, max, cache, cycle, owner }, restart))
}

/// A type's name, and its least and largest value.
fn bounds(ty: Oid) -> (&'static str, (i64, i64)) {
    match ty {
        Oid::INT2 => ("smallint", (i16::MIN.into(), i16::MAX.into())),
        Oid::INT4 => ("integer", (i32::MIN.into(), i32::MAX.into())),
        _ => ("bigint", (i64::MIN, i64::MAX)),
    }
}

/// The type of a column that is written `serial` or like it.
pub(super) fn serial(name: &TypeName<'_>) -> Option<Oid> {
    let [name] = name.path else { return None };
    match name.text {
        "serial" | "serial4" => Some(Oid::INT4),
        "bigserial" | "serial8" => Some(Oid::INT8),
        "smallserial" | "serial2" => Some(Oid::INT2),
        _ => None,
    }
}

/// May a column of that type be an identity?
pub(super) fn may_be_identity(ty: Oid) -> bool {
    [Oid::INT2, Oid::INT4, Oid::INT8].contains(&ty)
}

pub(super) fn no_identity_type() -> Error {
    invalid("identity column type must be smallint, integer, or bigint".to_owned())
}

/// The columns of a sequence, as a query sees them.
fn columns() -> Vec<ColumnDef> {
    [("last_value", Oid::INT8), ("log_cnt", Oid::INT8), ("is_called", Oid::BOOL)]
        .map(|(name, ty)| ColumnDef { not_null: true, ..ColumnDef::plain(name, Type::plain(ty)) })
        .into()
}

/// The default of a column whose values are those of a sequence.
fn next_value(sequence: Oid) -> String {
    format!("nextval('{}'::regclass)", sequence.0)
}

/// The schema of the functions of users that a name means; none if it is the server's own, or there are several.
fn home_of(catalog: &Catalog<'_>, name: &str) -> Option<String> {
    let routines = catalog.routines_named(None, name);
    let first = routines.iter().find(|routine| routine.is_function())?;
    let is_alone = function::by_name(name).is_empty() && routines.iter().all(|other| other.schema == first.schema);
    if is_alone { catalog.schema_name(first.schema) } else { None }
}

/// The text of a default in which sequences have their numbers, and these; functions of users have their schemas.
pub(super) fn numbered(catalog: &Catalog<'_>, text: &str) -> Result<(String, Vec<Oid>)> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut lexer = Lexer::new(text);
    loop {
        let token = lexer.next_token()?;
        if token.kind == TokenKind::End {
            break;
        }
        tokens.push(token);
    }
    let word = |at: usize| tokens.get(at).filter(|token| token.kind == TokenKind::Word).map(|token| token.text(text));
    let is = |at: usize, kind: TokenKind| tokens.get(at).is_some_and(|token| token.kind == kind);
    let (mut made, mut from, mut uses) = (String::with_capacity(text.len()), 0, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
        if is_name && is(at + 1, TokenKind::ParenOpen) && !(at > 0 && is(at - 1, TokenKind::Dot)) {
            if let Some(schema) = home_of(catalog, &literal::name(text, *token)) {
                made.push_str(&text[from..token.start as usize]);
                made.push_str(&format!("{}.", quoted_identifier(&schema)));
                from = token.start as usize;
            }
            continue;
        }
        if !token.kind.is_string() {
            continue;
        }
        let cast =
            is(at + 1, TokenKind::ColonColon) && word(at + 2).is_some_and(|ty| ty.eq_ignore_ascii_case("regclass"));
        let functions = ["nextval", "currval", "setval"];
        let called = at >= 2
            && is(at - 1, TokenKind::ParenOpen)
            && word(at - 2).is_some_and(|name| functions.iter().any(|known| name.eq_ignore_ascii_case(known)));
        if !cast && (!called || is(at + 1, TokenKind::ColonColon)) {
            continue;
        }
        let oid = catalog.read_reg(Oid::REGCLASS, &literal::string(text, *token)?)?;
        let is_sequence = catalog.definitions.table(oid).is_some_and(|def| def.kind == RelationKind::Sequence);
        if !is_sequence {
            continue;
        }
        made.push_str(&text[from..token.start as usize]);
        made.push_str(&format!("'{}'{}", oid.0, if cast { "" } else { "::regclass" }));
        from = token.end as usize;
        if !uses.contains(&oid) {
            uses.push(oid);
        }
    }
    made.push_str(&text[from..]);
    Ok((made, uses))
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn create_sequence<O: Output>(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        (if_not_exists, temporary): (bool, bool),
        options: &SequenceOptions<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("CREATE SEQUENCE"));
        self.check_writes(env, "CREATE SEQUENCE")?;
        let (schema, name, _) = self.relation_place(env, path, temporary)?;
        self.lock_name(env, schema, name)?;
        if is_taken(&self.catalog(env)?, schema, name) {
            if !if_not_exists {
                return Err(taken(name));
            }
            let message = format!("relation \"{name}\" already exists, skipping");
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::DUPLICATE_TABLE, message));
            return Ok(TAG);
        }
        let (mut rules, restart) = rules_of(&self.catalog(env)?, options, None)?;
        rules.owner = self.new_owner(env, options, (schema, self.role()), None)?;
        let mut made = self.new_sequence(env, (schema, name), rules, restart)?;
        self.define_tables(env, &mut [&mut made])?;
        self.grant_defaults(env, Guard::relation(&made), schema)?;
        Ok(TAG)
    }

    /// A sequence that is made, with its counter, locked; not defined yet.
    fn new_sequence(
        &mut self,
        env: &Environment<'_>,
        (schema, name): (Oid, &str),
        rules: SequenceDef,
        restart: Option<i64>,
    ) -> Result<TableDef> {
        self.own_xid(env)?;
        let relations = env.stored()?;
        let rows = relations.create()?;
        relations.heap(rows).create_sequence(SequenceState::starting_at(restart.unwrap_or(rules.start)))?;
        let oid = self.new_oid(env)?;
        self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
        Ok(TableDef {
            oid,
            schema,
            name: name.to_owned(),
            kind: RelationKind::Sequence,
            rows: Rows::Stored(rows),
            persistence: match schema::is_temporary(schema) {
                true => Persistence::Temporary(OnCommit::Preserve),
                false => Persistence::Permanent,
            },
            owner: self.role(),
            columns: columns(),
            indexes: Vec::new(),
            pieces: None,
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            options: Vec::new(),
            clustered: None,
            since: Xid(0),
            usable: true,
            comments: Vec::new(),
            sequence: Some(rules),
            view: None,
            version: 0,
        })
    }

    /// The column that `OWNED BY` names; `old` is the owner that there was.
    fn new_owner(
        &mut self,
        env: &Environment<'_>,
        options: &SequenceOptions<'_>,
        (schema, owner): (Oid, Oid),
        old: Option<SequenceOwner>,
    ) -> Result<Option<SequenceOwner>> {
        let path = match options.owner {
            None => return Ok(old),
            Some(path) => path,
        };
        if old.is_some_and(|old| old.identity) {
            return Err(Error::unsupported("cannot change ownership of identity sequence"));
        }
        let Some(path) = path else { return Ok(None) };
        let Some((column, table)) = path.split_last().filter(|(_, table)| !table.is_empty()) else {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "invalid OWNED BY option")
                .hint("Specify OWNED BY table.column or OWNED BY NONE."));
        };
        let Some(found) = self.lock_table(env, table, LockMode::AccessShare, false, Needs::Nothing)? else {
            return Err(missing(table));
        };
        check_own(&found).map_err(|_| {
            let message = format!("sequence cannot be owned by relation \"{}\"", found.name);
            Error::statement(sqlstate::WRONG_OBJECT_TYPE, message)
        })?;
        if found.owner != owner {
            let message = "sequence must have same owner as table it is linked to";
            return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        if found.schema != schema {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(Error::statement(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, message));
        }
        let Some(at) = found.column(column.text) else {
            let message = format!("column \"{}\" of relation \"{}\" does not exist", column.text, found.name);
            return Err(Error::statement(sqlstate::UNDEFINED_COLUMN, message));
        };
        Ok(Some(SequenceOwner { table: found.oid, column: at as u16, identity: false }))
    }

    pub(super) fn alter_sequence<O: Output>(
        &mut self,
        env: &Environment<'_>,
        path: Path<'_>,
        if_exists: bool,
        change: &AlterSequence<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        const TAG: Option<Tag> = Some(Tag::Words("ALTER SEQUENCE"));
        self.check_writes(env, "ALTER SEQUENCE")?;
        let mode = match change {
            AlterSequence::Options(_) => LockMode::ShareRowExclusive,
            _ => LockMode::AccessExclusive,
        };
        let Some(found) = self.lock_table(env, path, mode, true, Needs::Ownership)? else {
            let error = missing(path);
            if !if_exists {
                return Err(error);
            }
            let message = format!("{}, skipping", error.message());
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            return Ok(TAG);
        };
        let mut changed = TableDef::clone(&found);
        let Some(rules) = found.sequence else {
            let message = format!("\"{}\" is not a sequence", found.name);
            return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
        };
        match change {
            AlterSequence::Options(options) => {
                self.change_sequence(env, &mut changed, options)?;
                let owner = self.new_owner(env, options, (found.schema, found.owner), rules.owner)?;
                changed.sequence = changed.sequence.map(|rules| SequenceDef { owner, ..rules });
            }
            AlterSequence::Rename(name) => {
                self.check_schema(env, found.schema, privilege::CREATE)?;
                self.lock_name(env, found.schema, name.text)?;
                if is_taken(&self.catalog(env)?, found.schema, name.text) {
                    return Err(taken(name.text));
                }
                changed.name = name.text.to_owned();
            }
            AlterSequence::Schema(name) => {
                if let Some(owner) = rules.owner {
                    let definitions = self.definitions(env, &self.work)?;
                    let table = definitions.table(owner.table).map_or("", |table| table.name.as_str());
                    return Err(Error::unsupported("cannot move an owned sequence into another schema")
                        .detail(format!("Sequence \"{}\" is linked to table \"{table}\".", found.name)));
                }
                let path = [*name, crate::parser::ast::Name { text: &found.name, at: name.at }];
                let (schema, own) = self.creation_place(env, &path)?;
                if schema != found.schema {
                    self.lock_name(env, schema, own)?;
                    if is_taken(&self.catalog(env)?, schema, own) {
                        let message = format!("relation \"{own}\" already exists in schema \"{}\"", name.text);
                        return Err(Error::statement(sqlstate::DUPLICATE_TABLE, message));
                    }
                }
                changed.schema = schema;
            }
            AlterSequence::Owner(name) => self.give_sequence(env, &mut changed, name)?,
        }
        self.define_tables(env, &mut [&mut changed])?;
        Ok(TAG)
    }

    /// Gives a sequence, which is locked, other rules, and another storage (rule 1).
    pub(super) fn change_sequence(
        &mut self,
        env: &Environment<'_>,
        def: &mut TableDef,
        options: &SequenceOptions<'_>,
    ) -> Result<()> {
        let Rows::Stored(old) = def.rows else { return Ok(()) };
        let (rules, restart) = rules_of(&self.catalog(env)?, options, def.sequence.as_ref())?;
        let only_owner = SequenceOptions { owner: None, ..*options };
        if def.sequence == Some(rules) && restart.is_none() && only_owner.ty.is_none() {
            return Ok(());
        }
        self.own_xid(env)?;
        let relations = env.stored()?;
        let state = relations.heap(old).sequence(|state| Ok((Advance::Keep, state)))?;
        let state = match restart {
            Some(value) => SequenceState::starting_at(value),
            None => {
                let (last, SequenceDef { min, max, .. }) = (state.last, rules);
                if last < min {
                    return Err(invalid(format!("RESTART value ({last}) cannot be less than MINVALUE ({min})")));
                }
                if last > max {
                    return Err(invalid(format!("RESTART value ({last}) cannot be greater than MAXVALUE ({max})")));
                }
                SequenceState { logged: last, ..state }
            }
        };
        let rows = relations.create()?;
        relations.heap(rows).create_sequence(state)?;
        relations.drop_at_commit(old)?;
        def.rows = Rows::Stored(rows);
        def.sequence = Some(rules);
        Ok(())
    }

    /// Sequences that belong to columns of these tables begin anew: `TRUNCATE … RESTART IDENTITY`.
    pub(super) fn restart_owned(&mut self, env: &Environment<'_>, tables: &[TableDef]) -> Result<()> {
        for owned in self.owned_by(env, |owner| tables.iter().any(|table| table.oid == owner.table))? {
            let mut changed = TableDef::clone(&owned);
            let options = SequenceOptions { restart: Some(None), ..SequenceOptions::default() };
            self.change_sequence(env, &mut changed, &options)?;
            self.define_tables(env, &mut [&mut changed])?;
        }
        Ok(())
    }

    /// The sequences whose owners are these, locked.
    pub(super) fn owned_by(
        &mut self,
        env: &Environment<'_>,
        is_owner: impl Fn(&SequenceOwner) -> bool,
    ) -> Result<Vec<Arc<TableDef>>> {
        let definitions = self.definitions(env, &self.work)?;
        let is_owned = |def: &&Arc<TableDef>| {
            def.sequence.as_ref().and_then(|sequence| sequence.owner.as_ref()).is_some_and(&is_owner)
        };
        let found: Vec<Oid> = definitions.tables().filter(is_owned).map(|def| def.oid).collect();
        let mut locked = Vec::with_capacity(found.len());
        for oid in found {
            self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
            locked.extend(self.lock_definition(env, oid)?);
        }
        Ok(locked)
    }

    // ---- columns

    /// What a column that is written `serial` or `GENERATED … AS IDENTITY` brings; `column` has its type already.
    pub(super) fn column_sequence(
        &mut self,
        env: &Environment<'_>,
        table: &str,
        column: &ColumnDef,
        is_serial: bool,
        identity: Option<(bool, SequenceOptions<'_>)>,
    ) -> Result<Option<ColumnSequence>> {
        if is_serial && (column.default.is_some() || identity.is_some()) {
            let what = if identity.is_some() { "both default and identity" } else { "multiple default values" };
            let message = format!("{what} specified for column \"{}\" of table \"{table}\"", column.name);
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        if identity.is_some() && column.default.is_some() {
            let message =
                format!("both default and identity specified for column \"{}\" of table \"{table}\"", column.name);
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
        }
        if !is_serial && identity.is_none() {
            return Ok(None);
        }
        if !may_be_identity(column.ty.oid) {
            return Err(no_identity_type());
        }
        let options = identity.map_or(SequenceOptions::default(), |(_, options)| options);
        if options.ty.is_some() || options.owner.is_some() {
            let word = if options.ty.is_some() { "as" } else { "owned_by" };
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, format!("invalid sequence option: {word}")));
        }
        let (_, (_, most)) = bounds(column.ty.oid);
        let least = bounds(column.ty.oid).1.0;
        // The bounds are those of the column's type, unless others were given.
        let up = options.increment.unwrap_or(1) > 0;
        let filled = SequenceOptions {
            max: Some(Some(options.max.flatten().unwrap_or(if up { most } else { -1 }))),
            min: Some(Some(options.min.flatten().unwrap_or(if up { 1 } else { least }))),
            ..options
        };
        let (mut rules, restart) = rules_of(&self.catalog(env)?, &filled, None)?;
        rules.ty = column.ty.oid;
        for (word, bound) in [("MAXVALUE", rules.max), ("MINVALUE", rules.min)] {
            if !(least..=most).contains(&bound) {
                let name = bounds(rules.ty).0;
                return Err(invalid(format!("{word} ({bound}) is out of range for sequence data type {name}")));
            }
        }
        let identity = identity.map(|(always, _)| if always { Identity::Always } else { Identity::ByDefault });
        let name = options.name.and_then(|path| path.last()).map(|name| name.text.to_owned());
        Ok(Some(ColumnSequence { column: column.name.clone(), rules, restart, identity, name }))
    }

    /// Makes the sequence of a column, and gives the column its default. The caller defines both.
    pub(super) fn add_column_sequence(
        &mut self,
        env: &Environment<'_>,
        table: &mut TableDef,
        names: &mut Vec<String>,
        new: ColumnSequence,
    ) -> Result<TableDef> {
        let Some(column) = table.column(&new.column) else { return Err(missing(&[])) };
        let schema = table.schema;
        let name = match new.name {
            Some(name) => name,
            None => {
                let catalog = self.catalog(env)?;
                free_name(&table.name, &new.column, "seq", |name| {
                    !is_taken(&catalog, schema, name) && !names.iter().any(|known| known == name)
                })
            }
        };
        self.lock_name(env, schema, &name)?;
        if is_taken(&self.catalog(env)?, schema, &name) || names.contains(&name) {
            return Err(taken(&name));
        }
        let owner = SequenceOwner { table: table.oid, column: column as u16, identity: new.identity.is_some() };
        let mut made =
            self.new_sequence(env, (schema, &name), SequenceDef { owner: Some(owner), ..new.rules }, new.restart)?;
        made.owner = table.owner;
        self.grant_defaults(env, Guard::relation(&made), schema)?;
        names.push(name);
        let column = &mut table.columns[column];
        column.default = Some(next_value(made.oid));
        column.uses = vec![made.oid];
        column.identity = new.identity;
        column.not_null = true;
        Ok(made)
    }

    // ---- DROP

    pub(super) fn drop_sequences<O: Output>(
        &mut self,
        env: &Environment<'_>,
        paths: &[Path<'_>],
        (if_exists, cascade): (bool, bool),
        out: &mut O,
    ) -> Result<()> {
        let mut dropped: Vec<Arc<TableDef>> = Vec::with_capacity(paths.len());
        for path in paths {
            let Some(found) = self.lock_table(env, path, LockMode::AccessExclusive, true, Needs::Removal)? else {
                let (schema, name) = split(path, self.database_name())?;
                let unknown = schema.filter(|schema| self.catalog(env).is_ok_and(|all| all.schema(schema).is_none()));
                let (code, message) = match unknown {
                    Some(schema) => (sqlstate::INVALID_SCHEMA_NAME, format!("schema \"{schema}\" does not exist")),
                    None => {
                        let name = if if_exists { name.to_owned() } else { shown(path) };
                        (sqlstate::UNDEFINED_TABLE, format!("sequence \"{name}\" does not exist"))
                    }
                };
                if !if_exists {
                    return Err(Error::statement(code, message));
                }
                let message = format!("{message}, skipping");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                continue;
            };
            let Some(rules) = found.sequence else {
                let message = format!("\"{}\" is not a sequence", found.name);
                let word =
                    if found.kind == RelationKind::View { "VIEW to remove a view" } else { "TABLE to remove a table" };
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message).hint(format!("Use DROP {word}.")));
            };
            if let Some(owner) = rules.owner.filter(|owner| owner.identity) {
                let definitions = self.definitions(env, &self.work)?;
                let part = definitions.table(owner.table).map(|table| {
                    format!("column {} of table {}", table.columns[usize::from(owner.column)].name, table.name)
                });
                let part = part.unwrap_or_default();
                let message = format!("cannot drop sequence {} because {part} requires it", found.name);
                return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                    .hint(format!("You can drop {part} instead.")));
            }
            if !dropped.iter().any(|known| known.oid == found.oid) {
                dropped.push(found);
            }
        }
        let what = match dropped.as_slice() {
            [one] => format!("sequence {}", one.name),
            _ => "desired object(s)".to_owned(),
        };
        let views = self.views_that_go(env, &dropped, (&what, cascade), out)?;
        self.forget_views(env, &views)?;
        let changes = self.drop_sequence_storage(env, &dropped, &BTreeSet::new(), (&what, cascade), out)?;
        self.define(env, &changes)
    }

    /// Drops sequences that are locked, and the defaults that use them, of all tables but those that are `gone`; `what` is dropped.
    pub(super) fn drop_sequence_storage<O: Output>(
        &mut self,
        env: &Environment<'_>,
        sequences: &[Arc<TableDef>],
        gone: &BTreeSet<Oid>,
        (what, cascade): (&str, bool),
        out: &mut O,
    ) -> Result<Vec<Change>> {
        let numbers: BTreeSet<Oid> = sequences.iter().map(|def| def.oid).collect();
        let definitions = self.definitions(env, &self.work)?;
        let uses = |column: &ColumnDef| !column.dropped && column.uses.iter().any(|oid| numbers.contains(oid));
        let users: Vec<Oid> = definitions
            .tables()
            .filter(|table| !gone.contains(&table.oid) && table.columns.iter().any(uses))
            .map(|table| table.oid)
            .collect();
        drop(definitions);
        for user in users {
            self.lock_relation(env, user.0, LockMode::AccessExclusive, true)?;
            let Some(table) = self.lock_definition(env, user)? else { continue };
            let mut changed = TableDef::clone(&table);
            for column in changed.columns.iter_mut().filter(|column| uses(column)) {
                let default = format!("default value for column {} of table {}", column.name, table.name);
                if !cascade {
                    let of = sequences.iter().find(|def| column.uses.contains(&def.oid));
                    let of = of.map_or("", |def| def.name.as_str());
                    let message = match what == "desired object(s)" {
                        true => "cannot drop desired object(s) because other objects depend on them".to_owned(),
                        false => format!("cannot drop {what} because other objects depend on it"),
                    };
                    return Err(Error::statement(sqlstate::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .detail(format!("{default} depends on sequence {of}"))
                        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
                }
                let message = format!("drop cascades to {default}");
                out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
                column.default = None;
                column.uses.clear();
            }
            self.define_tables(env, &mut [&mut changed])?;
        }
        let mut changes = Vec::with_capacity(2 * sequences.len());
        for def in sequences {
            changes.extend(self.drop_storage(env, def)?);
        }
        Ok(changes)
    }
}
