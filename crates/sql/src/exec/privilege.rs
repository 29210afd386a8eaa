//! `has_table_privilege` and its relatives: what a role may do, as a query asks.
//!
//! Each of them comes in three forms: of a role by its name, of a role by its number, of the current user. What is asked about is named or
//! numbered too; a number that nothing has gives null, a name that nothing has is an error, as in PostgreSQL.

use super::around::Around;
use crate::catalog::Catalog;
use crate::catalog::language::Language;
use crate::catalog::privilege::{
    AclItem, CREATE, Guard, PRIVILEGES, PUBLIC, Rights, SELECT, Securable, TEMPORARY, UPDATE, USAGE,
};
use crate::types::op::Op;
use crate::types::{Datum, Oid, array, function, table, user};
use base::{Error, Result, sqlstate};

/// A privilege that is asked for.
struct Asked {
    right: Rights,
    /// `WITH GRANT OPTION`
    option: bool,
}

/// Reads a list of privileges. Errors: `22023`.
fn asked(text: &str, kind: Securable) -> Result<Vec<Asked>> {
    let read = |part: &str| {
        let wanted = part.trim().to_ascii_uppercase();
        let (name, option) = match wanted.strip_suffix("WITH GRANT OPTION") {
            Some(name) => (name.trim_end(), true),
            None => (wanted.as_str(), false),
        };
        let known = PRIVILEGES.iter().find(|known| known.2 == name).map(|known| known.0);
        let known = known.or((name == "TEMP").then_some(TEMPORARY));
        match known.filter(|right| kind.all() & right != 0) {
            Some(right) => Ok(Asked { right, option }),
            None => {
                let message = format!("unrecognized privilege type: \"{}\"", part.trim());
                Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message))
            }
        }
    };
    text.split(',').map(read).collect()
}

fn no_role(name: &str) -> Error {
    Error::statement(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

fn text_of(datum: Datum<'_>) -> String {
    String::from_utf8_lossy(datum.bytes()).into_owned()
}

/// The role of an argument; everybody for `public`, where that may be asked about. Errors: `42704`.
fn role_of(catalog: &Catalog<'_>, datum: Datum<'_>, or_public: bool) -> Result<Oid> {
    if let Datum::Int(oid) = datum {
        return Ok(Oid(oid as u32));
    }
    let name = text_of(datum);
    match catalog.definitions.role_named(&name) {
        Some(role) => Ok(role.oid),
        None if or_public && name == "public" => Ok(PUBLIC),
        None => Err(no_role(&name)),
    }
}

impl Around<'_> {
    /// `acldefault` and `makeaclitem`.
    ///
    /// Errors: `22023`.
    pub(super) fn made_acl(&self, op: Op, args: &[Datum<'_>]) -> Result<Vec<u8>> {
        let catalog = self.catalog.get()?;
        let definitions = &catalog.definitions;
        let name = |oid: Oid| definitions.role(oid).map_or_else(|| oid.0.to_string(), |role| role.name.clone());
        let number = |at: usize| Oid(args[at].int() as u32);
        if op == Op::MakeAclItem {
            let wanted = text_of(args[2]);
            let upper = wanted.to_ascii_uppercase();
            let known = PRIVILEGES.iter().find(|known| known.2 == upper).map(|known| known.0);
            let rights = known.or((upper == "TEMP").then_some(TEMPORARY)).ok_or_else(|| {
                let message = format!("unrecognized privilege type: \"{wanted}\"");
                Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message)
            })?;
            let options = if args[3].bool() { rights } else { 0 };
            let item = AclItem { grantee: number(0), grantor: number(1), rights, options };
            return Ok(item.shown(name).into_bytes());
        }
        let owner = number(1);
        let own = |world: Rights, rights: Rights| {
            let world = AclItem { grantee: PUBLIC, grantor: owner, rights: world, options: 0 };
            let items = [world, AclItem { grantee: owner, grantor: owner, rights, options: 0 }];
            items.into_iter().filter(|item| item.rights != 0).collect()
        };
        let kind = args[0].int() as u8;
        let items: Vec<AclItem> = match kind {
            b'r' => Securable::Relation.default_acl(owner),
            b's' => Securable::Sequence.default_acl(owner),
            b'c' => Vec::new(),
            b'd' => Securable::Database.default_acl(owner),
            b'f' => Securable::Routine.default_acl(owner),
            b'n' => Securable::Schema.default_acl(owner),
            b'T' => Securable::Type.default_acl(owner),
            b'l' => Securable::Language.default_acl(owner),
            b'F' | b'S' => own(0, USAGE),
            b'L' => own(0, SELECT | UPDATE),
            b't' => own(0, CREATE),
            b'p' => return Err(Error::unsupported("privileges on settings are not supported")),
            other => {
                let message = format!("unrecognized object type abbreviation: {}", char::from(other));
                return Err(Error::statement(sqlstate::INTERNAL_ERROR, message));
            }
        };
        let shown: Vec<String> = items.iter().map(|item| item.shown(name)).collect();
        let datums: Vec<Datum<'_>> = shown.iter().map(|text| Datum::text(text)).collect();
        array::encode_list(Oid::ACLITEM, &datums)
    }

    /// The rows of `aclexplode`: who has granted, to whom, what, and may that be granted on. A role that is gone has nothing.
    pub(super) fn exploded(&self, items: &[Datum<'_>]) -> Result<Vec<(Oid, Oid, &'static str, bool)>> {
        let catalog = self.catalog.get()?;
        let number = |name: &str| catalog.definitions.role_named(name).map(|role| role.oid);
        let mut rows = Vec::new();
        for item in items.iter().filter(|item| !item.is_null()) {
            let Some(item) = AclItem::read(&text_of(*item), number) else { continue };
            for (right, _, name) in PRIVILEGES {
                if item.rights & right != 0 {
                    rows.push((item.grantor, item.grantee, name, item.options & right != 0));
                }
            }
        }
        Ok(rows)
    }

    /// Answers a question about privileges.
    ///
    /// Errors: `22023`, `42704`, `42P01` and their like.
    pub(super) fn of_privileges(&self, op: Op, args: &[Datum<'_>]) -> Result<Datum<'static>> {
        let catalog = self.catalog.get()?;
        // What the question is about stands behind the role, if there is one.
        let own = match op {
            Op::HasColumnPrivilege => 3,
            _ => 2,
        };
        let (role, args) = match args {
            [role, rest @ ..] if args.len() > own => (role_of(&catalog, *role, op != Op::HasRole)?, rest),
            _ => (self.role, args),
        };
        let [object, .., wanted] = args else { return Ok(Datum::Null) };
        let wanted = text_of(*wanted);
        let definitions = &catalog.definitions;
        let answer = |guard: Guard, kind: Securable| -> Result<Datum<'static>> {
            let has = |asked: &Asked| match asked.option {
                true => definitions.options(role, guard, asked.right) != 0,
                false => definitions.rights(role, guard, asked.right) != 0,
            };
            Ok(Datum::Bool(asked(&wanted, kind)?.iter().any(has)))
        };
        match op {
            Op::HasTablePrivilege | Op::HasSequencePrivilege | Op::HasColumnPrivilege | Op::HasAnyColumnPrivilege => {
                let oid = match object {
                    Datum::Int(oid) => Oid(*oid as u32),
                    name => catalog.read_reg(Oid::REGCLASS, &text_of(*name))?,
                };
                let kind = match op {
                    Op::HasTablePrivilege => Securable::Relation,
                    Op::HasSequencePrivilege => Securable::Sequence,
                    _ => Securable::Column,
                };
                let Some(table) = catalog.table_by_oid(oid)? else {
                    asked(&wanted, kind)?;
                    return Ok(Datum::Null);
                };
                let guard = Guard::relation(&table);
                if op == Op::HasSequencePrivilege && guard.kind != Securable::Sequence {
                    let message = format!("\"{}\" is not a sequence", table.name);
                    return Err(Error::statement(sqlstate::WRONG_OBJECT_TYPE, message));
                }
                let columns: Vec<u16> = match op {
                    Op::HasAnyColumnPrivilege => table.visible().map(|(index, _)| index as u16).collect(),
                    Op::HasColumnPrivilege => {
                        let found = match &args[1] {
                            Datum::Int(number) => usize::try_from(*number - 1)
                                .ok()
                                .filter(|index| table.columns.get(*index).is_some_and(|column| !column.dropped)),
                            name => {
                                let name = text_of(*name);
                                Some(table.column(&name).ok_or_else(|| {
                                    let message =
                                        format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
                                    Error::statement(sqlstate::UNDEFINED_COLUMN, message)
                                })?)
                            }
                        };
                        let Some(index) = found else { return Ok(Datum::Null) };
                        vec![index as u16]
                    }
                    _ => return answer(guard, kind),
                };
                let has = |asked: &Asked| match asked.option {
                    true => {
                        definitions.options(role, guard, asked.right) != 0
                            || columns
                                .iter()
                                .any(|column| definitions.column_options(role, guard, *column, asked.right) != 0)
                    }
                    false => {
                        definitions.rights(role, guard, asked.right) != 0
                            || columns
                                .iter()
                                .any(|column| definitions.column_rights(role, oid, *column, asked.right) != 0)
                    }
                };
                Ok(Datum::Bool(asked(&wanted, kind)?.iter().any(has)))
            }
            Op::HasSchemaPrivilege => {
                let oid = match object {
                    Datum::Int(oid) => Oid(*oid as u32),
                    name => {
                        let name = text_of(*name);
                        catalog.schema(&name).ok_or_else(|| {
                            let message = format!("schema \"{name}\" does not exist");
                            Error::statement(sqlstate::INVALID_SCHEMA_NAME, message)
                        })?
                    }
                };
                if catalog.schema_name(oid).is_none() {
                    return Ok(Datum::Null);
                }
                answer(definitions.schema_guard(oid), Securable::Schema)
            }
            Op::HasDatabasePrivilege => {
                let found = match object {
                    Datum::Int(oid) => definitions.database(Oid(*oid as u32)),
                    name => Some(definitions.must_find_database(&text_of(*name))?),
                };
                match found {
                    Some(found) => answer(Guard::database(found), Securable::Database),
                    None => Ok(Datum::Null),
                }
            }
            Op::HasTypePrivilege => {
                let oid = match object {
                    Datum::Int(oid) => Oid(*oid as u32),
                    name => catalog.read_reg(Oid::REGTYPE, &text_of(*name))?,
                };
                let base = user::base_of(oid);
                match table::by_oid(oid).is_some() && base.is_none_or(|base| definitions.user_type(base).is_some()) {
                    true => answer(definitions.type_guard(oid), Securable::Type),
                    false => Ok(Datum::Null),
                }
            }
            Op::HasLanguagePrivilege => {
                let language = match object {
                    Datum::Int(oid) => Language::numbered(Oid(*oid as u32)),
                    name => {
                        let name = text_of(*name);
                        Some(Language::named(&name).ok_or_else(|| crate::statement::grant::no_language(&name))?)
                    }
                };
                match language {
                    Some(language) => answer(definitions.language_guard(language), Securable::Language),
                    None => Ok(Datum::Null),
                }
            }
            Op::HasFunctionPrivilege => {
                let oid = match object {
                    Datum::Int(oid) => Oid(*oid as u32),
                    name => catalog.routine_of(&text_of(*name))?,
                };
                if let Some(routine) = definitions.routine(oid) {
                    return answer(Guard::routine(routine), Securable::Routine);
                }
                let is_known = function::by_oid(oid).is_some();
                let asked = asked(&wanted, Securable::Routine)?;
                let held = |asked: &Asked| !asked.option || definitions.is_superuser(role);
                Ok(if is_known { Datum::Bool(asked.iter().any(held)) } else { Datum::Null })
            }
            _ => {
                let of = role_of(&catalog, *object, false)?;
                let mut answer = false;
                for part in wanted.split(',') {
                    let part = part.trim().to_ascii_uppercase();
                    answer |= match part.as_str() {
                        "USAGE" => definitions.has_privileges_of(role, of),
                        "MEMBER" => definitions.is_member_of(role, of),
                        "USAGE WITH GRANT OPTION"
                        | "USAGE WITH ADMIN OPTION"
                        | "MEMBER WITH GRANT OPTION"
                        | "MEMBER WITH ADMIN OPTION" => {
                            let admin = |member: Oid| {
                                let member = definitions.role(member).and_then(|member| member.membership(of));
                                member.is_some_and(|membership| membership.admin)
                            };
                            definitions.is_superuser(role) || definitions.roles_of(role, false).into_iter().any(admin)
                        }
                        _ => {
                            let message = format!("unrecognized privilege type: \"{part}\"");
                            return Err(Error::statement(sqlstate::INVALID_PARAMETER_VALUE, message));
                        }
                    };
                }
                Ok(Datum::Bool(answer))
            }
        }
    }

    /// Errors: `42501` for a sequence of which the current user has none of these privileges.
    pub(super) fn check_sequence(&self, def: &crate::catalog::definition::TableDef, rights: Rights) -> Result<()> {
        if self.role == crate::catalog::schema::BOOTSTRAP_ROLE {
            return Ok(());
        }
        let catalog = self.catalog.get()?;
        match catalog.definitions.rights(self.role, Guard::relation(def), rights) {
            0 => Err(crate::statement::owner::denied(def.word(), &def.name)),
            _ => Ok(()),
        }
    }
}
