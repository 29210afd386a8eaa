//! Domains: `CREATE DOMAIN`, and what `ALTER DOMAIN` changes of what a domain demands. What it has in common with other types of users is
//! in `super::user_type` and `super::drop_type`.
//!
//! Rules
//! 1. Who writes values of a domain holds it in the mode `AccessShare` until the transaction ends. Who lets it demand more holds it in the
//!    mode `AccessExclusive`: so the rows that are there then are all that have to be looked at.
//! 2. What a domain demands names nothing that a user has made: neither a type nor a function nor a sequence.

use super::define::{Change, free_name, without_place};
use super::user_type::{check_free, check_type_name};
use crate::catalog::privilege::{Guard, Securable};
use crate::catalog::user_type::{DomainCheck, DomainDef, UserTypeDef};
use crate::lexer::{Lexer, TokenKind};
use crate::parser::ast::{Name, Path, SourceExpr, TypeAction, TypeName};
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{table, typmod, user};
use allocator_api2::alloc::Allocator;
use base::settings::{MessageLevel, quoted_identifier};
use base::{Error, Result, sqlstate};
use storage::txn::LockMode;

/// A domain as it was written.
pub(super) struct NewDomain<'s, 'a> {
    pub(super) path: Path<'a>,
    pub(super) base: &'s TypeName<'a>,
    pub(super) default: Option<SourceExpr<'a>>,
    pub(super) not_null: bool,
    pub(super) checks: &'s [(Option<Name<'a>>, SourceExpr<'a>)],
}

impl<A: Allocator + Copy> Session<A> {
    pub(super) fn create_domain(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        written: &NewDomain<'_, '_>,
    ) -> Result<Option<Tag>> {
        self.check_writes(env, "CREATE DOMAIN")?;
        let (schema, name) = self.creation_place(env, written.path)?;
        check_type_name(name)?;
        self.lock_name(env, schema, name)?;
        check_free(&*self.catalog_of(env)?, schema, name, None)?;
        let place = crate::lexer::position(text, written.base.at as usize);
        let base = self.catalog(env)?.type_of(written.base).map_err(|error| error.at(place))?;
        self.hold_type(env, base)?;
        if user::is_user(base.oid) {
            return Err(Error::unsupported("domains over types that users have made are not supported")
                .hint("Use the type itself, with a CHECK of the table."));
        }
        if table::by_oid(base.oid).is_none_or(|row| row.category == b'P') {
            let message = format!("\"{}\" is not a valid base type for a domain", typmod::format_type(base));
            return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message).at(place));
        }
        let default = written.default.map(|default| self.text_of_default(env, &default)).transpose()?.flatten();
        let mut domain = DomainDef { base, not_null: written.not_null, default, checks: Vec::new() };
        // What is named comes first: names that are made are free ones.
        let (named, others): (Vec<_>, Vec<_>) = written.checks.iter().partition(|(name, _)| name.is_some());
        for (check, source) in named.into_iter().chain(others) {
            self.add_domain_check(env, name, &mut domain, check.map(|check| check.text), &source)?;
        }
        let object = self.new_oid(env)?;
        let oid = user::domain_type(object.0)
            .ok_or_else(|| Error::statement(sqlstate::PROGRAM_LIMIT_EXCEEDED, "the numbers of types are used up"))?;
        let (version, owner) = (self.new_version(env)?, self.role());
        let (name, labels, domain) = (name.to_owned(), Vec::new(), Some(domain));
        let ty = UserTypeDef { oid, version, schema, name, owner, labels, domain };
        self.define(env, &[Change::user_type(&ty)])?;
        self.grant_defaults(env, Guard { kind: Securable::Type, oid, owner }, schema)?;
        self.check_domain(env, &ty)?;
        Ok(Some(Tag::Words("CREATE DOMAIN")))
    }

    /// Changes what a domain demands or gives. Answers whether the rows that are there have to be looked at.
    pub(super) fn change_domain<O: Output>(
        &mut self,
        env: &Environment<'_>,
        changed: &mut UserTypeDef,
        action: &TypeAction<'_>,
        out: &mut O,
    ) -> Result<bool> {
        let (oid, name) = (changed.oid, changed.name.clone());
        let Some(domain) = &mut changed.domain else { return Err(no_domain(&name)) };
        let position = |domain: &DomainDef, check: &Name<'_>| {
            domain.checks.iter().position(|known| known.name == check.text).ok_or_else(|| {
                let message = format!("constraint \"{}\" of domain \"{name}\" does not exist", check.text);
                Error::statement(sqlstate::UNDEFINED_OBJECT, message)
            })
        };
        match action {
            TypeAction::Default(default) => {
                domain.default = default.map(|default| self.text_of_default(env, &default)).transpose()?.flatten();
            }
            TypeAction::NotNull(wanted) if domain.not_null == *wanted => {}
            TypeAction::NotNull(wanted) => {
                domain.not_null = *wanted;
                if *wanted {
                    self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
                }
                return Ok(*wanted);
            }
            TypeAction::AddCheck(check, source) => {
                self.add_domain_check(env, &name, domain, check.map(|check| check.text), source)?;
                self.lock_relation(env, oid.0, LockMode::AccessExclusive, true)?;
                return Ok(true);
            }
            TypeAction::DropCheck(check, if_exists) => match position(domain, check) {
                Ok(at) => drop(domain.checks.remove(at)),
                Err(missing) if *if_exists => {
                    let message = format!("{}, skipping", missing.message());
                    out.notice(MessageLevel::Notice, &Error::statement(sqlstate::UNDEFINED_OBJECT, message));
                }
                Err(missing) => return Err(missing),
            },
            TypeAction::RenameCheck(old, new) => {
                let at = position(domain, old)?;
                if domain.checks.iter().any(|known| known.name == new.text) {
                    return Err(known_check(&name, new.text));
                }
                new.text.clone_into(&mut domain.checks[at].name);
                domain.checks.sort_by(|one, other| one.name.cmp(&other.name));
            }
            // All of them hold for all rows.
            TypeAction::ValidateCheck(check) => {
                position(domain, check)?;
            }
            _ => {
                let message = format!("\"{name}\" is a domain");
                return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
            }
        }
        Ok(false)
    }

    /// Checks that what a domain demands, which is defined already, means something.
    pub(super) fn check_domain(&mut self, env: &Environment<'_>, ty: &UserTypeDef) -> Result<()> {
        let text = format!("select null::{}", self.full_type_name(env, ty)?);
        let trusted = std::mem::replace(&mut self.trusted, true);
        let compiled = self.compile(env, &text, (0, text.len()), &[], &[], false);
        self.trusted = trusted;
        compiled.map(drop).map_err(without_place)
    }

    /// All values that are there meet what a domain demands. It is held in the mode `AccessExclusive`.
    pub(super) fn check_values(&mut self, env: &Environment<'_>, ty: &UserTypeDef) -> Result<()> {
        let domain = self.full_type_name(env, ty)?;
        let mut all = Vec::new();
        for table in self.definitions(env, &self.work)?.tables() {
            for (_, column) in table.visible().filter(|(_, column)| column.domain == Some(ty.oid)) {
                all.push((table.clone(), column.name.clone()));
            }
        }
        for (table, column) in all {
            let quoted = quoted_identifier(&column);
            let text = format!("select count(({quoted}::{domain}) is null) from {}", self.full_name(env, &table)?);
            self.run_own(env, &text).map_err(|error| {
                let broken = match error.sqlstate() {
                    sqlstate::CHECK_VIOLATION => "values that violate the new constraint",
                    sqlstate::NOT_NULL_VIOLATION => "null values",
                    _ => return error,
                };
                let message = format!("column \"{column}\" of table \"{}\" contains {broken}", table.name);
                Error::statement(error.sqlstate(), message)
            })?;
        }
        Ok(())
    }

    fn add_domain_check(
        &mut self,
        env: &Environment<'_>,
        name: &str,
        domain: &mut DomainDef,
        check: Option<&str>,
        source: &SourceExpr<'_>,
    ) -> Result<()> {
        let has = |check: &str| domain.checks.iter().any(|known| known.name == check);
        if let Some(known) = check.filter(|check| has(check)) {
            return Err(known_check(name, known));
        }
        let check = check.map_or_else(|| free_name(name, "", "check", |free| !has(free)), str::to_owned);
        let text = with_value(&self.own_text(env, source.text)?)?;
        domain.checks.push(DomainCheck { oid: self.new_oid(env)?, name: check, text });
        domain.checks.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(())
    }

    /// The text of a default; none for null.
    fn text_of_default(&self, env: &Environment<'_>, default: &SourceExpr<'_>) -> Result<Option<String>> {
        if default.text.trim().eq_ignore_ascii_case("null") {
            return Ok(None);
        }
        self.own_text(env, default.text).map(Some)
    }

    /// The text of an expression that names nothing of users.
    fn own_text(&self, env: &Environment<'_>, text: &str) -> Result<String> {
        let (text, catalog) = (text.trim(), self.catalog(env)?);
        let (numbered, uses) = super::sequence::numbered(&catalog, text)?;
        if numbered != text || !uses.is_empty() || user::has_marks(&catalog.with_marks(text)?) {
            let message = "expressions of domains that name types, functions or sequences of users are not supported";
            return Err(Error::unsupported(message)
                .hint("Write the default or the check with the columns that are of the domain."));
        }
        Ok(text.to_owned())
    }

    fn full_type_name(&self, env: &Environment<'_>, ty: &UserTypeDef) -> Result<String> {
        let schema = self.catalog(env)?.schema_name(ty.schema).unwrap_or_default();
        Ok(format!("{}.{}", quoted_identifier(&schema), quoted_identifier(&ty.name)))
    }
}

/// The text of a condition with `VALUE` as PostgreSQL shows it.
fn with_value(text: &str) -> Result<String> {
    let (mut lexer, mut made, mut from) = (Lexer::new(text), String::with_capacity(text.len()), 0);
    loop {
        let token = lexer.next_token()?;
        match token.kind {
            TokenKind::End => break,
            TokenKind::Word if token.text(text).eq_ignore_ascii_case("value") => {
                made.push_str(&text[from..token.start as usize]);
                made.push_str("VALUE");
                from = token.end as usize;
            }
            _ => {}
        }
    }
    made.push_str(&text[from..]);
    Ok(made)
}

/// A type that is no domain.
#[cold]
pub(super) fn no_domain(name: &str) -> Error {
    Error::statement(sqlstate::WRONG_OBJECT_TYPE, format!("\"{name}\" is not a domain"))
}

#[cold]
fn known_check(domain: &str, check: &str) -> Error {
    let message = format!("constraint \"{check}\" for domain \"{domain}\" already exists");
    Error::statement(sqlstate::DUPLICATE_OBJECT, message)
}
