//! `CREATE DATABASE`, `ALTER DATABASE`, `DROP DATABASE`.
//!
//! ```text
//!  create:  the template's lock, shared -> nobody is in it -> a row, and what the template says of the system's own objects
//!  drop:    the lock, alone -> nobody is in it, or who is goes -> all rows of its number, its storages at the commit
//! ```
//!
//! Who wants to be in a database takes its lock for a moment, and leaves a note before he looks whether it is there
//! ([`crate::session::login`]); so who holds the lock alone sees everybody, and nobody comes.
//!
//! Rules
//! 1. A database is made and dropped by one transaction. Whatever happens to it, there is a database as it was, or none.
//! 2. A template is copied as far as its rows are about the system's own objects, whose numbers are the same in each database. Objects of
//!    users would need other numbers wherever they are named: such a template is refused.
//! 3. Locks come in this order: of databases, by hand; of a new name; of a database's definition; of relations. There is none of all
//!    databases, for which whoever changes one would let the others wait.

use super::define::{Change, definition_key, delete_where};
use super::owner::{handed_over, not_owner};
use super::temporary::storages_of;
use crate::catalog::codec::{self, ObjectClass, database_image};
use crate::catalog::database::{COLLATE, CTYPE, DatabaseDef, TEMPLATE0, is_builtin, no_database};
use crate::catalog::role::RoleFlag;
use crate::catalog::schema::FIRST_USER_OID;
use crate::catalog::store::{self, Definitions, database_key};
use crate::parser::database::{DatabaseOption, DatabaseStatement, OptionValue};
use crate::parser::role::RoleName;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::Oid;
use allocator_api2::alloc::Allocator;
use base::settings::MessageLevel;
use base::{Error, Result, SessionId, Xid, sqlstate};
use kernel::clock;
use kernel::session::Interrupt;
use kernel::wait::Event;
use std::sync::Arc;
use storage::heap::{CommandPairs, Reader};
use storage::txn::LockMode;

/// How long is waited for sessions that are about to end: as long as PostgreSQL waits.
const PATIENCE_NS: u64 = 5_000_000_000;
/// How long between two looks.
const LOOK_AFTER_NS: u64 = 10_000_000;

/// Names of encodings that PostgreSQL keeps databases in, without what is no letter or digit, but for the one that is there.
const OTHER_ENCODINGS: &str = "sqlascii eucjp euccn euckr euctw eucjis2004 latin1 latin2 latin3 latin4 latin5 latin6 latin7 latin8 latin9 \
    latin10 iso88591 iso88592 iso88593 iso88594 iso88595 iso88596 iso88597 iso88598 iso88599 iso885910 iso885913 iso885914 iso885915 \
    iso885916 win1250 win1251 win1252 win1253 win1254 win1255 win1256 win1257 win1258 win866 win874 windows1250 windows1251 \
    windows1252 windows1253 windows1254 windows1255 windows1256 windows1257 windows1258 windows866 windows874 koi8 koi8r koi8u alt \
    abc tcvn tcvn5712 vscii muleinternal win";
/// PostgreSQL's number of UTF-8, and of the last encoding that databases may have.
const UTF8: (i32, i32) = (6, 34);

/// What the options of a statement say.
#[derive(Default)]
struct Wanted<'a> {
    owner: Option<&'a str>,
    template: Option<&'a str>,
    collate: Option<&'a str>,
    ctype: Option<&'a str>,
    locale: Option<&'a str>,
    is_template: Option<bool>,
    lets_in: Option<bool>,
    connection_limit: Option<i32>,
    tablespace: Option<&'a str>,
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn database_statement<O: Output>(
        &mut self,
        env: &Environment<'_>,
        statement: &DatabaseStatement<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let words = match statement {
            DatabaseStatement::Create { .. } => "CREATE DATABASE",
            DatabaseStatement::Drop { .. } => "DROP DATABASE",
            _ => "ALTER DATABASE",
        };
        self.check_writes(env, words)?;
        match *statement {
            DatabaseStatement::Create { name, options } => {
                self.check_alone(words)?;
                self.create_database(env, name.text, options, out)?;
            }
            DatabaseStatement::Drop { name, if_exists, force } => {
                self.check_alone(words)?;
                self.drop_database(env, name.text, (if_exists, force), out)?;
            }
            DatabaseStatement::Alter { name, options } => self.alter_database(env, name.text, options)?,
            DatabaseStatement::Tablespace { name, tablespace } => {
                self.check_alone("ALTER DATABASE SET TABLESPACE")?;
                self.own_database(env, name.text)?;
                check_tablespace(tablespace.text)?;
            }
            DatabaseStatement::Rename { name, new } => self.rename_database(env, name.text, new.text)?,
            DatabaseStatement::Owner { name, owner } => self.give_database(env, name.text, &owner)?,
            DatabaseStatement::Refresh { name } => {
                self.own_database(env, name.text)?;
                let nothing = Error::statement(sqlstate::SUCCESSFUL_COMPLETION, "version has not changed");
                out.notice(MessageLevel::Notice, &nothing);
            }
        }
        Ok(Some(Tag::Words(words)))
    }

    fn create_database<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        options: &[DatabaseOption<'_>],
        out: &mut O,
    ) -> Result<()> {
        let wanted = read_options(options, true, out)?;
        let definitions = self.definitions(env, &self.work)?;
        let owner = match wanted.owner {
            Some(owner) => {
                let found = definitions.role_named(owner).map(|role| role.oid);
                found.ok_or_else(|| {
                    Error::statement(sqlstate::UNDEFINED_OBJECT, format!("role \"{owner}\" does not exist"))
                })?
            }
            None => self.role(),
        };
        if !self.has_attribute(&definitions, RoleFlag::CreateDatabase) {
            return Err(denied("permission denied to create database"));
        }
        self.check_member(&definitions, owner)?;
        let template = wanted.template.unwrap_or("template1");
        let Some(template) = self.lock_database(env, template, LockMode::Share)? else {
            let message = format!("template database \"{template}\" does not exist");
            return Err(Error::statement(sqlstate::INVALID_CATALOG_NAME, message));
        };
        if !template.is_template && !self.owns(env, template.owner)? {
            return Err(denied(&format!("permission denied to copy database \"{}\"", template.name)));
        }
        let mut made = DatabaseDef::new(Oid::NONE, name, owner);
        (made.collate, made.ctype) = locale(&wanted, &template)?;
        wanted.tablespace.map_or(Ok(()), check_tablespace)?;
        made.is_template = wanted.is_template.unwrap_or(false);
        made.lets_in = wanted.lets_in.unwrap_or(true);
        made.connection_limit = wanted.connection_limit.unwrap_or(-1);
        self.check_new_name(env, name)?;
        self.check_nobody_in(env, &template, "source database")?;
        self.lock_database_name(env, name)?;
        // Somebody may have made one of that name while the lock was waited for.
        self.check_new_name(env, name)?;
        self.hold_role(env, owner)?;
        made.oid = self.new_oid(env)?;
        let copied = self.copied_rows(env, &template)?;
        let image = Some(database_image(&made));
        self.define(env, &[Change { class: ObjectClass::Database, oid: made.oid, image }])?;
        self.define_in(env, made.oid, &copied)
    }

    /// What a database made of that template has in its catalog. Errors: `0A000` if there are objects of users' in it.
    fn copied_rows(&mut self, env: &Environment<'_>, template: &DatabaseDef) -> Result<Vec<Change>> {
        let relations = env.stored()?;
        let transactions = relations.storage().transactions;
        let taken = transactions.snapshot();
        let own = transactions.current_xid().unwrap_or(Xid(0));
        let snapshot = taken.at_command(own, self.work.command);
        let reader = Reader { snapshot: &snapshot, pairs: self.work.pairs.pairs() };
        let images = store::images(relations, &reader, |part| part.database == template.oid);
        transactions.release(taken);
        let mut changes = Vec::new();
        for ((class, _, oid), image) in images? {
            let is_plain = match class {
                // Nobody names it by its number.
                ObjectClass::DefaultPrivileges => codec::default_acl(&image)?.schema.0 < FIRST_USER_OID,
                _ => oid.0 < FIRST_USER_OID,
            };
            if !is_plain {
                let message = format!("a template with objects of users' is not supported: \"{}\"", template.name);
                return Err(Error::unsupported(message).hint(
                    "Make the database with TEMPLATE template0, dump the other one with pg_dump and restore it there.",
                ));
            }
            let oid = if class == ObjectClass::DefaultPrivileges { self.new_oid(env)? } else { oid };
            changes.push(Change { class, oid, image: Some(image) });
        }
        Ok(changes)
    }

    fn drop_database<O: Output>(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        (if_exists, force): (bool, bool),
        out: &mut O,
    ) -> Result<()> {
        let Some(dropped) = self.lock_database(env, name, LockMode::AccessExclusive)? else {
            let missing = no_database(name);
            if !if_exists {
                return Err(missing);
            }
            let message = format!("{}, skipping", missing.message());
            out.notice(MessageLevel::Notice, &Error::statement(sqlstate::SUCCESSFUL_COMPLETION, message));
            return Ok(());
        };
        self.check_drops(env, &dropped)?;
        if dropped.oid == self.database {
            return Err(Error::statement(sqlstate::OBJECT_IN_USE, "cannot drop the currently open database"));
        }
        if force {
            self.throw_out(env, dropped.oid)?;
        }
        self.check_nobody_in(env, &dropped, "database")?;
        self.lock_key(env, definition_key(dropped.oid), LockMode::AccessExclusive, true)?;
        // As it is now: it may have been given to somebody else, or have become a template.
        let dropped = self.definitions(env, &self.work)?.must_find_database(name)?.clone();
        self.check_drops(env, &dropped)?;
        let (relations, oid) = (env.stored()?, dropped.oid);
        // Nobody is in it who could change it; a vacuum is waited for.
        let shared = env.database.shared.as_ref().ok_or_else(|| Error::unsupported("there are no databases here"))?;
        for table in shared.definitions(relations, oid)?.tables() {
            self.lock_relation(env, table.oid.0, LockMode::AccessExclusive, true)?;
        }
        // What was temporary before a restart may have gone while a lock was waited for.
        for table in shared.definitions(relations, oid)?.tables() {
            storages_of(table).try_for_each(|rel| relations.drop_at_commit(rel))?;
        }
        kernel::fault::point("database.dropping");
        delete_where(relations, &mut self.work, |part| part.database == oid)?;
        let classes = [ObjectClass::Database, ObjectClass::DatabasePrivileges, ObjectClass::DatabaseComment];
        let mut gone: Vec<Change> = classes.into_iter().map(|class| Change { class, oid, image: None }).collect();
        if is_builtin(oid) {
            // Without a row it would be there again.
            let none = DatabaseDef { name: String::new(), ..DatabaseDef::clone(&dropped) };
            gone[0].image = Some(database_image(&none));
        }
        let definitions = self.definitions(env, &self.work)?;
        let settings = definitions.stored_settings().filter(|(_, known)| known.database == oid);
        gone.extend(settings.map(|(oid, _)| Change { class: ObjectClass::StoredSettings, oid, image: None }));
        self.define(env, &gone)
    }

    /// May the current user drop it? Errors: `42501`, `42809` for a template.
    fn check_drops(&self, env: &Environment<'_>, database: &DatabaseDef) -> Result<()> {
        if !self.owns(env, database.owner)? {
            return Err(not_owner("database", &database.name));
        }
        match database.is_template {
            true => Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, "cannot drop a template database")),
            false => Ok(()),
        }
    }

    fn alter_database(&mut self, env: &Environment<'_>, name: &str, options: &[DatabaseOption<'_>]) -> Result<()> {
        let wanted = read_options(options, false, &mut crate::session::NoData::default())?;
        if let Some(tablespace) = wanted.tablespace {
            if options.len() > 1 {
                let at = options.iter().find(|option| option.name == "tablespace").map_or(0, |option| option.at);
                return Err(Error::unsupported("option \"tablespace\" cannot be specified with other options").at(at));
            }
            self.check_alone("ALTER DATABASE SET TABLESPACE")?;
            self.own_database(env, name)?;
            return check_tablespace(tablespace);
        }
        let known = self.lock_own_database(env, name)?.ok_or_else(|| no_database(name))?;
        if wanted.lets_in == Some(false) && known.oid == self.database {
            let message = "cannot disallow connections for current database";
            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
        }
        let changed = DatabaseDef {
            is_template: wanted.is_template.unwrap_or(known.is_template),
            lets_in: wanted.lets_in.unwrap_or(known.lets_in),
            connection_limit: wanted.connection_limit.unwrap_or(known.connection_limit),
            ..DatabaseDef::clone(&known)
        };
        self.define_database(env, &changed)
    }

    fn rename_database(&mut self, env: &Environment<'_>, name: &str, new: &str) -> Result<()> {
        let Some(known) = self.lock_database(env, name, LockMode::AccessExclusive)? else {
            return Err(no_database(name));
        };
        let definitions = self.definitions(env, &self.work)?;
        if !self.owns(env, known.owner)? {
            return Err(not_owner("database", name));
        }
        if !self.has_attribute(&definitions, RoleFlag::CreateDatabase) {
            return Err(denied("permission denied to rename database"));
        }
        self.check_new_name(env, new)?;
        if known.oid == self.database {
            return Err(Error::unsupported("current database cannot be renamed"));
        }
        self.check_nobody_in(env, &known, "database")?;
        self.lock_database_name(env, new)?;
        self.check_new_name(env, new)?;
        // As it is now: whoever changes another thing of it holds only the lock of its definition.
        let known = self.lock_own_database(env, name)?.ok_or_else(|| no_database(name))?;
        self.define_database(env, &DatabaseDef { name: new.to_owned(), ..DatabaseDef::clone(&known) })
    }

    fn give_database(&mut self, env: &Environment<'_>, name: &str, owner: &RoleName<'_>) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let new = self.role_of(&definitions, owner)?;
        if definitions.must_find_database(name)?.owner == new {
            return Ok(());
        }
        let known = self.lock_own_database(env, name)?.ok_or_else(|| no_database(name))?;
        let definitions = self.definitions(env, &self.work)?;
        self.check_member(&definitions, new)?;
        if !self.has_attribute(&definitions, RoleFlag::CreateDatabase) {
            return Err(denied("permission denied to change owner of database"));
        }
        self.hold_role(env, new)?;
        self.hand_over_database(env, &definitions, &known, new)
    }

    /// Gives a database, whose definition is locked, to another role.
    pub(super) fn hand_over_database(
        &mut self,
        env: &Environment<'_>,
        definitions: &Definitions,
        known: &DatabaseDef,
        new: Oid,
    ) -> Result<()> {
        let change = handed_over(definitions, known.oid, known.owner, new);
        self.define_database(env, &DatabaseDef { owner: new, ..known.clone() })?;
        self.define(env, change.as_slice())
    }

    fn define_database(&mut self, env: &Environment<'_>, database: &DatabaseDef) -> Result<()> {
        let image = Some(database_image(database));
        self.define(env, &[Change { class: ObjectClass::Database, oid: database.oid, image }])
    }

    /// The database of that name, which the current user owns. Errors: `3D000`, `42501`.
    fn own_database(&self, env: &Environment<'_>, name: &str) -> Result<Arc<DatabaseDef>> {
        let known = self.definitions(env, &self.work)?.must_find_database(name)?.clone();
        if self.owns(env, known.owner)? { Ok(known) } else { Err(not_owner("database", name)) }
    }

    /// Finds and locks a database.
    pub(super) fn lock_database(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        mode: LockMode,
    ) -> Result<Option<Arc<DatabaseDef>>> {
        loop {
            let Some(found) = self.database_at(env, name)? else { return Ok(None) };
            self.lock_key(env, database_key(found.oid), mode, true)?;
            // While the lock was waited for the name may have become another one's.
            match self.database_at(env, name)? {
                Some(again) if again.oid == found.oid => return Ok(Some(again)),
                _ => continue,
            }
        }
    }

    /// Finds a database that is to be changed, and locks its definition. Who does not own it does not wait. Errors: `42501`.
    pub(super) fn lock_own_database(&mut self, env: &Environment<'_>, name: &str) -> Result<Option<Arc<DatabaseDef>>> {
        loop {
            let Some(found) = self.database_at(env, name)? else { return Ok(None) };
            if !self.owns(env, found.owner)? {
                return Err(not_owner("database", name));
            }
            self.lock_key(env, definition_key(found.oid), LockMode::AccessExclusive, true)?;
            // While the lock was waited for it may have become another one's, or another one may have got the name.
            match self.database_at(env, name)? {
                Some(again) if again.oid == found.oid && again.owner == found.owner => return Ok(Some(again)),
                _ => continue,
            }
        }
    }

    fn database_at(&self, env: &Environment<'_>, name: &str) -> Result<Option<Arc<DatabaseDef>>> {
        Ok(self.definitions(env, &self.work)?.database_named(name).cloned())
    }

    fn check_new_name(&self, env: &Environment<'_>, name: &str) -> Result<()> {
        match self.definitions(env, &self.work)?.database_named(name) {
            Some(_) => {
                Err(Error::statement(sqlstate::DUPLICATE_DATABASE, format!("database \"{name}\" already exists")))
            }
            None => Ok(()),
        }
    }

    /// May the current user make something for that owner? Errors: `42501`.
    fn check_member(&self, definitions: &Definitions, owner: Oid) -> Result<()> {
        match definitions.is_member_of(self.role(), owner) {
            true => Ok(()),
            false => Err(denied(&format!("must be member of role \"{}\"", definitions.role_name(owner)))),
        }
    }

    /// The other sessions in a database.
    fn others_in(&self, env: &Environment<'_>, database: Oid) -> Vec<SessionId> {
        let inside = env.database.shared.iter().flat_map(|shared| shared.inside(database));
        inside.filter(|session| Some(*session) != env.session).collect()
    }

    /// Waits for sessions that end. Errors: `55006` if they do not; nobody comes, since the database is locked.
    fn check_nobody_in(&self, env: &Environment<'_>, database: &DatabaseDef, words: &str) -> Result<()> {
        let until = clock::now() + PATIENCE_NS;
        loop {
            let others = self.others_in(env, database.oid).len();
            if others == 0 {
                return Ok(());
            }
            let now = clock::now();
            if now >= until {
                let message = format!("{words} \"{}\" is being accessed by other users", database.name);
                let detail = match others {
                    1 => "There is 1 other session using the database.".to_owned(),
                    many => format!("There are {many} other sessions using the database."),
                };
                return Err(Error::statement(sqlstate::OBJECT_IN_USE, message).detail(detail));
            }
            kernel::wait::wait(Event::Sleep, 0, Some(until.min(now + LOOK_AFTER_NS)));
            kernel::session::check_interrupts()?;
        }
    }

    /// Ends the sessions in a database. Errors: `42501` if one of them is not the current user's to end; then none is.
    fn throw_out(&self, env: &Environment<'_>, database: Oid) -> Result<()> {
        let definitions = self.definitions(env, &self.work)?;
        let slots = self.others_in(env, database).into_iter().map(kernel::session::slot);
        let noted: Vec<_> = slots.map(|slot| (slot, slot.generation())).collect();
        // A slot may have become another session's before its generation was read: that one is in another database.
        let others = self.others_in(env, database);
        let noted: Vec<_> = noted.into_iter().filter(|(slot, _)| others.contains(&slot.id())).collect();
        for (slot, _) in &noted {
            definitions.check_signals(self.role(), Oid(slot.owner()), false)?;
        }
        for (slot, generation) in noted {
            slot.send_interrupt(generation, Interrupt::Terminate);
        }
        Ok(())
    }
}

fn denied(message: &str) -> Error {
    Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message.to_owned())
}

/// Errors: `42601` for options that are not there or are there twice; those of values.
fn read_options<'a, O: Output>(options: &[DatabaseOption<'a>], new: bool, out: &mut O) -> Result<Wanted<'a>> {
    let mut wanted = Wanted::default();
    for (at, option) in options.iter().enumerate() {
        let syntax = |message: String| Error::statement(sqlstate::SYNTAX_ERROR, message).at(option.at);
        let is_known = match option.name {
            "is_template" | "allow_connections" | "connection_limit" | "tablespace" => true,
            "owner" | "template" | "encoding" | "locale" | "lc_collate" | "lc_ctype" | "icu_locale"
            | "locale_provider" | "collation_version" | "oid" | "strategy" | "location" => new,
            _ => false,
        };
        if !is_known {
            return Err(syntax(format!("option \"{}\" not recognized", option.name)));
        }
        if options[..at].iter().any(|other| other.name == option.name) {
            return Err(syntax("conflicting or redundant options".to_owned()));
        }
        match option.name {
            "owner" => wanted.owner = text(option)?,
            "template" => wanted.template = text(option)?,
            "encoding" => check_encoding(option)?,
            "locale" => wanted.locale = text(option)?,
            "lc_collate" => wanted.collate = text(option)?,
            "lc_ctype" => wanted.ctype = text(option)?,
            "icu_locale" => {
                let message = "ICU locale cannot be specified unless locale provider is ICU";
                return Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
            }
            "locale_provider" => match text(option)? {
                None => {}
                Some(provider) if provider.eq_ignore_ascii_case("libc") => {}
                Some(provider) if provider.eq_ignore_ascii_case("icu") => return Err(other_locale("ICU locales")),
                Some(provider) => {
                    let message = format!("unrecognized locale provider: {provider}");
                    return Err(Error::statement(sqlstate::INVALID_OBJECT_DEFINITION, message));
                }
            },
            "strategy" => match text(option)? {
                // There is nothing to copy, so both are one.
                None => {}
                Some(word) if word.eq_ignore_ascii_case("wal_log") || word.eq_ignore_ascii_case("file_copy") => {}
                Some(word) => {
                    let message = format!("invalid create database strategy \"{word}\"");
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
                        .hint("Valid strategies are \"wal_log\" and \"file_copy\"."));
                }
            },
            "location" => {
                let message = Error::unsupported("LOCATION is not supported anymore")
                    .hint("Consider using tablespaces instead.")
                    .at(option.at);
                out.notice(MessageLevel::Warning, &message);
            }
            "is_template" => wanted.is_template = boolean(option)?,
            "allow_connections" => wanted.lets_in = boolean(option)?,
            "connection_limit" => {
                wanted.connection_limit = number(option)?;
                if let Some(limit) = wanted.connection_limit.filter(|limit| *limit < -1) {
                    let message = format!("invalid connection limit: {limit}");
                    return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                }
            }
            "tablespace" => wanted.tablespace = text(option)?,
            name => return Err(Error::unsupported(format!("the option {name} of a database is not supported"))),
        }
    }
    Ok(wanted)
}

/// The text of an option; none for its default.
fn text<'a>(option: &DatabaseOption<'a>) -> Result<Option<&'a str>> {
    match option.value {
        OptionValue::Default => Ok(None),
        OptionValue::Text(text) => Ok(Some(text)),
        OptionValue::Number(_) => {
            let message = format!("the option {} of a database is a name, not a number", option.name);
            Err(Error::statement(sqlstate::SYNTAX_ERROR, message).at(option.at))
        }
    }
}

fn boolean(option: &DatabaseOption<'_>) -> Result<Option<bool>> {
    let is = |text: &str, words: [&str; 2]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match option.value {
        OptionValue::Default => Ok(None),
        OptionValue::Number(0) => Ok(Some(false)),
        OptionValue::Number(1) => Ok(Some(true)),
        OptionValue::Text(text) if is(text, ["true", "on"]) => Ok(Some(true)),
        OptionValue::Text(text) if is(text, ["false", "off"]) => Ok(Some(false)),
        _ => Err(Error::statement(sqlstate::SYNTAX_ERROR, format!("{} requires a Boolean value", option.name))),
    }
}

fn number(option: &DatabaseOption<'_>) -> Result<Option<i32>> {
    match option.value {
        OptionValue::Default => Ok(None),
        OptionValue::Number(number) => Ok(Some(number)),
        OptionValue::Text(_) => {
            Err(Error::statement(sqlstate::SYNTAX_ERROR, format!("{} requires an integer value", option.name)))
        }
    }
}

/// Errors: `0A000` for an encoding but for UTF-8, `42704` for what is none.
fn check_encoding(option: &DatabaseOption<'_>) -> Result<()> {
    let invalid = |message: String| Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message).at(option.at));
    let other = |name: &str| {
        Err(Error::unsupported(format!("databases of the encoding {name} are not supported"))
            .hint("Every database has the encoding UTF8."))
    };
    match option.value {
        OptionValue::Default => Ok(()),
        OptionValue::Number(code) if code == UTF8.0 => Ok(()),
        OptionValue::Number(code) if (0..=UTF8.1).contains(&code) => other(&code.to_string()),
        OptionValue::Number(code) => invalid(format!("{code} is not a valid encoding code")),
        OptionValue::Text(name) => {
            let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            let plain = plain.to_ascii_lowercase();
            match plain.as_str() {
                "utf8" | "unicode" => Ok(()),
                plain if OTHER_ENCODINGS.split_ascii_whitespace().any(|known| known == plain) => other(name),
                _ => invalid(format!("{name} is not a valid encoding name")),
            }
        }
    }
}

#[cold]
fn other_locale(what: &str) -> Error {
    Error::unsupported(format!("{what} are not supported"))
        .hint(format!("Every database has LC_COLLATE '{COLLATE}' and LC_CTYPE '{CTYPE}'."))
}

/// `LC_COLLATE` and `LC_CTYPE` of a new database. Errors: `0A000`, `22023`.
fn locale(wanted: &Wanted<'_>, template: &DatabaseDef) -> Result<(String, String)> {
    let is_utf8 = |name: &str| name.eq_ignore_ascii_case("C.UTF-8") || name.eq_ignore_ascii_case("C.utf8");
    let collate = wanted.collate.or(wanted.locale).unwrap_or(&template.collate);
    let ctype = wanted.ctype.or(wanted.locale).unwrap_or(&template.ctype);
    // As the C library calls it.
    let collate = if collate == "POSIX" { COLLATE } else { collate };
    // All of them order by code points.
    if collate != COLLATE && !is_utf8(collate) {
        return Err(other_locale("databases of other collations"));
    }
    if !is_utf8(ctype) {
        return Err(other_locale("databases of other character classes"));
    }
    if template.oid != TEMPLATE0 {
        let differs = |what: &str, (new, old): (&str, &str), hint: &str| {
            let message =
                format!("new {what} ({new}) is incompatible with the {what} of the template database ({old})");
            Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
                .hint(format!("Use the same {hint} as in the template database, or use template0 as template."))
        };
        if collate != template.collate {
            return Err(differs("collation", (collate, &template.collate), "collation"));
        }
        if ctype != template.ctype {
            return Err(differs("LC_CTYPE", (ctype, &template.ctype), "LC_CTYPE"));
        }
    }
    Ok((collate.to_owned(), ctype.to_owned()))
}

/// Errors: `42704`, `22023` for all but the one that is there.
fn check_tablespace(name: &str) -> Result<()> {
    match name {
        "pg_default" => Ok(()),
        "pg_global" => {
            Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, "pg_global cannot be used as default tablespace"))
        }
        _ => Err(Error::statement(sqlstate::UNDEFINED_OBJECT, format!("tablespace \"{name}\" does not exist"))),
    }
}
