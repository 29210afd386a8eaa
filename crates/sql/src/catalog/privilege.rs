//! Privileges: who may do what with an object.
//!
//! ```text
//!  row of the catalog's heap, class 11:  number of the object | image of an `ObjectAcl`
//!  an object without a row has the privileges that its kind has by default: its owner all of them, everybody those of `world`
//! ```
//!
//! What is granted is a list of [`AclItem`]s: who has it, from whom, and which of it may be granted on. That is PostgreSQL's `aclitem`,
//! and `GRANT` and `REVOKE` do with the list what PostgreSQL does, so that `pg_class.relacl` and its relatives show the same.
//!
//! Rules
//! 1. A superuser may do everything; nobody asks the list.
//! 2. A role has what is granted to it, to everybody, and to the roles whose member it is, as far as it inherits.
//! 3. An owner may always grant, whatever the list says; what he has taken from himself he cannot do until he grants it again.

use super::database::{DatabaseDef, TEMPLATE0, TEMPLATE1};
use super::definition::{RelationKind, TableDef};
use super::language::Language;
use super::role::{DATABASE_OWNER, RoleFlag};
use super::routine::RoutineDef;
use super::schema::{BOOTSTRAP_ROLE, FIRST_USER_OID};
use super::store::Definitions;
use crate::types::{Oid, table};
use base::{Error, Result, sqlstate};

/// A set of privileges.
pub type Rights = u16;

/// `INSERT`
pub const INSERT: Rights = 1;
/// `SELECT`
pub const SELECT: Rights = 1 << 1;
/// `UPDATE`
pub const UPDATE: Rights = 1 << 2;
/// `DELETE`
pub const DELETE: Rights = 1 << 3;
/// `TRUNCATE`
pub const TRUNCATE: Rights = 1 << 4;
/// `REFERENCES`
pub const REFERENCES: Rights = 1 << 5;
/// `TRIGGER`
pub const TRIGGER: Rights = 1 << 6;
/// `EXECUTE`
pub const EXECUTE: Rights = 1 << 7;
/// `USAGE`
pub const USAGE: Rights = 1 << 8;
/// `CREATE`
pub const CREATE: Rights = 1 << 9;
/// `TEMPORARY`
pub const TEMPORARY: Rights = 1 << 10;
/// `CONNECT`
pub const CONNECT: Rights = 1 << 11;

/// Each privilege with its letter in an `aclitem`, in the order in which they are shown, and its name.
pub const PRIVILEGES: [(Rights, char, &str); 12] = [
    (INSERT, 'a', "INSERT"),
    (SELECT, 'r', "SELECT"),
    (UPDATE, 'w', "UPDATE"),
    (DELETE, 'd', "DELETE"),
    (TRUNCATE, 'D', "TRUNCATE"),
    (REFERENCES, 'x', "REFERENCES"),
    (TRIGGER, 't', "TRIGGER"),
    (EXECUTE, 'X', "EXECUTE"),
    (USAGE, 'U', "USAGE"),
    (CREATE, 'C', "CREATE"),
    (TEMPORARY, 'T', "TEMPORARY"),
    (CONNECT, 'c', "CONNECT"),
];

/// Everybody, as a grantee.
pub const PUBLIC: Oid = Oid::NONE;

/// `pg_read_all_data`: may read every table.
const READ_ALL_DATA: Oid = Oid(6181);
/// `pg_write_all_data`: may change the rows of every table.
const WRITE_ALL_DATA: Oid = Oid(6182);

/// What kind of object has privileges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Securable {
    /// A table or a view.
    Relation,
    /// A sequence.
    Sequence,
    /// A column of a table.
    Column,
    /// The database.
    Database,
    /// A function or a procedure.
    Routine,
    /// A schema.
    Schema,
    /// A type, and with it its array.
    Type,
    /// A language of functions.
    Language,
}

impl Securable {
    /// All privileges that there are on such an object.
    pub const fn all(self) -> Rights {
        match self {
            Securable::Relation => INSERT | SELECT | UPDATE | DELETE | TRUNCATE | REFERENCES | TRIGGER,
            Securable::Sequence => USAGE | SELECT | UPDATE,
            Securable::Column => INSERT | SELECT | UPDATE | REFERENCES,
            Securable::Database => CREATE | TEMPORARY | CONNECT,
            Securable::Routine => EXECUTE,
            Securable::Schema => USAGE | CREATE,
            Securable::Type | Securable::Language => USAGE,
        }
    }

    /// What everybody has by default.
    pub const fn world(self) -> Rights {
        match self {
            Securable::Database => TEMPORARY | CONNECT,
            Securable::Routine => EXECUTE,
            Securable::Type | Securable::Language => USAGE,
            _ => 0,
        }
    }

    /// The privileges of an object for which nobody has granted anything yet.
    pub fn default_acl(self, owner: Oid) -> Vec<AclItem> {
        let world = AclItem { grantee: PUBLIC, grantor: owner, rights: self.world(), options: 0 };
        let rights = if self == Securable::Column { 0 } else { self.all() };
        let own = AclItem { grantee: owner, grantor: owner, rights, options: 0 };
        [world, own].into_iter().filter(|item| item.rights != 0).collect()
    }
}

/// What somebody has granted to somebody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AclItem {
    /// Who has it; [`PUBLIC`] for everybody.
    pub grantee: Oid,
    /// From whom.
    pub grantor: Oid,
    /// What.
    pub rights: Rights,
    /// What of it may be granted on.
    pub options: Rights,
}

impl AclItem {
    /// As PostgreSQL shows it: `grantee=rw*/grantor`. `name` gives roles their names.
    pub fn shown(&self, name: impl Fn(Oid) -> String) -> String {
        let mut text = if self.grantee == PUBLIC { String::new() } else { quoted(&name(self.grantee)) };
        text.push('=');
        for (right, letter, _) in PRIVILEGES {
            if self.rights & right != 0 {
                text.push(letter);
                if self.options & right != 0 {
                    text.push('*');
                }
            }
        }
        text.push('/');
        text.push_str(&quoted(&name(self.grantor)));
        text
    }
}

impl AclItem {
    /// The item that [`AclItem::shown`] has shown; none if a role of it is gone. `number` finds roles by their names.
    pub fn read(text: &str, number: impl Fn(&str) -> Option<Oid>) -> Option<AclItem> {
        let (grantee, rest) = quoted_name(text)?;
        let (letters, grantor) = rest.strip_prefix('=')?.split_once('/')?;
        let (grantor, _) = quoted_name(grantor)?;
        let grantee = if grantee.is_empty() { PUBLIC } else { number(&grantee)? };
        let mut item = AclItem { grantee, grantor: number(&grantor)?, rights: 0, options: 0 };
        let mut last = 0;
        for letter in letters.chars() {
            match PRIVILEGES.iter().find(|known| known.1 == letter) {
                Some(known) => (last, item.rights) = (known.0, item.rights | known.0),
                None => item.options |= last,
            }
        }
        Some(item)
    }
}

/// The name at the front of an item, and what follows it.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(['=', '/']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, rest)),
        }
    }
}

/// A role's name within an `aclitem`.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The privileges of an object, as they were granted.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ObjectAcl {
    /// On the whole; none if they are those of the beginning.
    pub items: Option<Vec<AclItem>>,
    /// On columns, counted from zero.
    pub columns: Vec<(u16, Vec<AclItem>)>,
}

impl ObjectAcl {
    /// What was granted on a column.
    pub fn column(&self, column: u16) -> &[AclItem] {
        self.columns.iter().find(|known| known.0 == column).map_or(&[], |known| &known.1)
    }

    /// Puts another list for a column in place.
    pub fn set_column(&mut self, column: u16, items: Vec<AclItem>) {
        self.columns.retain(|known| known.0 != column);
        if !items.is_empty() {
            self.columns.push((column, items));
            self.columns.sort_unstable_by_key(|known| known.0);
        }
    }

    /// Does it mention the role?
    pub fn mentions(&self, role: Oid) -> bool {
        let mut lists = self.items.iter().chain(self.columns.iter().map(|known| &known.1));
        lists.any(|items| items.iter().any(|item| item.grantee == role || item.grantor == role))
    }

    /// Changes each list.
    pub fn each(&mut self, mut change: impl FnMut(&mut Vec<AclItem>)) {
        self.items.iter_mut().for_each(&mut change);
        self.columns.iter_mut().for_each(|known| change(&mut known.1));
        self.columns.retain(|known| !known.1.is_empty());
    }

    /// Is there anything in it?
    pub fn is_default(&self) -> bool {
        self.items.is_none() && self.columns.is_empty()
    }
}

/// Gives what one role owned to another: it takes the first one's place in the list.
pub fn change_owner(items: &mut Vec<AclItem>, old: Oid, new: Oid) {
    for item in items.iter_mut() {
        for role in [&mut item.grantee, &mut item.grantor] {
            if *role == old {
                *role = new;
            }
        }
    }
    let mut merged: Vec<AclItem> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        match merged.iter_mut().find(|known| (known.grantee, known.grantor) == (item.grantee, item.grantor)) {
            Some(known) => (known.rights, known.options) = (known.rights | item.rights, known.options | item.options),
            None => merged.push(item),
        }
    }
    *items = merged;
}

/// Who may do what with one object.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// Its kind.
    pub kind: Securable,
    /// Its number.
    pub oid: Oid,
    /// Who owns it.
    pub owner: Oid,
}

impl Guard {
    /// What guards a table, view or sequence.
    pub fn relation(def: &TableDef) -> Guard {
        let kind = if def.kind == RelationKind::Sequence { Securable::Sequence } else { Securable::Relation };
        Guard { kind, oid: def.oid, owner: def.owner }
    }

    /// What guards a database.
    pub fn database(def: &DatabaseDef) -> Guard {
        Guard { kind: Securable::Database, oid: def.oid, owner: def.owner }
    }

    /// What guards a procedure or function.
    pub fn routine(def: &RoutineDef) -> Guard {
        Guard { kind: Securable::Routine, oid: def.oid, owner: def.owner }
    }
}

impl Definitions {
    /// What guards a schema.
    pub fn schema_guard(&self, oid: Oid) -> Guard {
        Guard { kind: Securable::Schema, oid, owner: self.schema_owner(oid) }
    }

    /// What guards a type, or an array of it.
    pub fn type_guard(&self, oid: Oid) -> Guard {
        let is_array = table::by_oid(oid).is_some_and(|row| row.is_array());
        let oid = table::element_of(oid).filter(|_| is_array).unwrap_or(oid);
        Guard { kind: Securable::Type, oid, owner: self.user_type(oid).map_or(BOOTSTRAP_ROLE, |ty| ty.owner) }
    }

    /// What guards a language.
    pub fn language_guard(&self, language: Language) -> Guard {
        Guard { kind: Securable::Language, oid: language.oid(), owner: BOOTSTRAP_ROLE }
    }

    /// What guards the database that these definitions are of.
    pub fn database_guard(&self) -> Guard {
        Guard { kind: Securable::Database, oid: self.home(), owner: self.own_owner() }
    }

    /// Is the role a superuser?
    pub fn is_superuser(&self, role: Oid) -> bool {
        role == BOOTSTRAP_ROLE || self.role(role).is_some_and(|role| role.has(RoleFlag::Superuser))
    }

    /// The role with those that it is a member of, by whatever way; only those whose privileges it inherits, if that is asked for.
    pub fn roles_of(&self, role: Oid, inherited: bool) -> Vec<Oid> {
        let (mut reached, mut at) = (vec![role], 0);
        while let Some(&oid) = reached.get(at) {
            at += 1;
            let Some(def) = self.role(oid) else { continue };
            if oid == self.own_owner() && !reached.contains(&DATABASE_OWNER) {
                reached.push(DATABASE_OWNER);
            }
            if inherited && !def.has(RoleFlag::Inherit) {
                continue;
            }
            for membership in &def.member_of {
                if !reached.contains(&membership.role) {
                    reached.push(membership.role);
                }
            }
        }
        reached
    }

    /// May one role do what is granted to another?
    pub fn has_privileges_of(&self, member: Oid, of: Oid) -> bool {
        member == of || self.is_superuser(member) || self.roles_of(member, true).contains(&of)
    }

    /// May one role become the other?
    pub fn is_member_of(&self, member: Oid, of: Oid) -> bool {
        member == of || self.is_superuser(member) || self.roles_of(member, false).contains(&of)
    }

    /// May a role end a session of another, or cancel what it does? Errors: `42501`.
    pub(crate) fn check_signals(&self, role: Oid, owner: Oid, cancels: bool) -> Result<()> {
        /// `pg_signal_backend`
        const SIGNAL_BACKEND: Oid = Oid(4200);
        // What is nobody's may be as important as what a superuser does.
        if (owner == Oid::NONE || self.is_superuser(owner)) && !self.is_superuser(role) {
            let message = match cancels {
                true => "must be a superuser to cancel superuser query",
                false => "must be a superuser to terminate superuser process",
            };
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        let may = |of| self.has_privileges_of(role, of);
        if !may(owner) && !may(SIGNAL_BACKEND) {
            let message = match cancels {
                true => "must be a member of the role whose query is being canceled or member of pg_signal_backend",
                false => {
                    "must be a member of the role whose process is being terminated or member of pg_signal_backend"
                }
            };
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        Ok(())
    }

    /// The privileges on an object, those of the beginning included.
    pub fn acl_of(&self, guard: Guard) -> Vec<AclItem> {
        match self.acl(guard.oid).and_then(|acl| acl.items.as_ref()) {
            Some(items) => items.clone(),
            None => builtin_acl(guard),
        }
    }

    /// What catalogs show of the privileges on an object; none if nobody has granted or revoked anything.
    pub fn shown_acl(&self, guard: Guard) -> Option<Vec<String>> {
        let is_granted = self.acl(guard.oid).is_some_and(|acl| acl.items.is_some());
        let is_own = guard.oid.0 < FIRST_USER_OID && matches!(guard.kind, Securable::Relation | Securable::Schema);
        let is_own = is_own || is_first_template(guard);
        (is_granted || is_own).then(|| self.shown_items(&self.acl_of(guard)))
    }

    /// What `pg_init_privs` shows of one of the system's own; none of what users have made.
    pub fn initial_acl(&self, guard: Guard) -> Option<Vec<String>> {
        let is_own = guard.oid.0 < FIRST_USER_OID && matches!(guard.kind, Securable::Relation | Securable::Schema);
        is_own.then(|| self.shown_items(&builtin_acl(guard)))
    }

    /// The privileges on a column beside those on its table, those of the beginning included.
    pub fn column_acl(&self, table: Oid, column: u16) -> &[AclItem] {
        match self.acl(table).map_or(&[][..], |acl| acl.column(column)) {
            [] => builtin_column_acl(table, column),
            items => items,
        }
    }

    /// What `pg_init_privs` shows of a column.
    pub fn initial_column_acl(&self, table: Oid, column: u16) -> Option<Vec<String>> {
        let items = builtin_column_acl(table, column);
        (!items.is_empty()).then(|| self.shown_items(items))
    }

    /// What catalogs show of the privileges on a column.
    pub fn shown_column_acl(&self, table: Oid, column: u16) -> Option<Vec<String>> {
        let items = self.column_acl(table, column);
        (!items.is_empty()).then(|| self.shown_items(items))
    }

    /// Items as catalogs show them.
    pub(crate) fn shown_items(&self, items: &[AclItem]) -> Vec<String> {
        items.iter().map(|item| item.shown(|role| self.role_name(role))).collect()
    }

    /// Which of some privileges a role has on an object.
    pub fn rights(&self, role: Oid, guard: Guard, asked: Rights) -> Rights {
        if self.is_superuser(role) {
            return asked;
        }
        let roles = self.roles_of(role, true);
        let has = |oid: Oid| oid == PUBLIC || roles.contains(&oid);
        let mut held =
            self.acl_of(guard).iter().filter(|item| has(item.grantee)).fold(0, |all, item| all | item.rights);
        if matches!(guard.kind, Securable::Relation | Securable::Sequence | Securable::Schema) {
            let reads = if guard.kind == Securable::Schema { USAGE } else { SELECT };
            let writes = if guard.kind == Securable::Schema { USAGE } else { INSERT | UPDATE | DELETE };
            held |= if roles.contains(&READ_ALL_DATA) { reads } else { 0 };
            held |= if roles.contains(&WRITE_ALL_DATA) { writes } else { 0 };
        }
        held & asked
    }

    /// Which of some privileges a role may grant on.
    pub fn options(&self, role: Oid, guard: Guard, asked: Rights) -> Rights {
        if self.has_privileges_of(role, guard.owner) {
            return asked;
        }
        let roles = self.roles_of(role, true);
        let items = self.acl_of(guard);
        items.iter().filter(|item| roles.contains(&item.grantee)).fold(0, |all, item| all | item.options) & asked
    }

    /// Which of some privileges a role may grant on for a column.
    pub fn column_options(&self, role: Oid, guard: Guard, column: u16, asked: Rights) -> Rights {
        if self.has_privileges_of(role, guard.owner) {
            return asked;
        }
        let roles = self.roles_of(role, true);
        let items = self.column_acl(guard.oid, column).iter().filter(|item| roles.contains(&item.grantee));
        items.fold(0, |all, item| all | item.options) & asked
    }

    /// Which of some privileges a role has on a column, beside those on the whole table.
    pub fn column_rights(&self, role: Oid, table: Oid, column: u16, asked: Rights) -> Rights {
        let items = self.column_acl(table, column);
        if items.is_empty() {
            return 0;
        }
        let roles = self.roles_of(role, true);
        let held = items.iter().filter(|item| item.grantee == PUBLIC || roles.contains(&item.grantee));
        held.fold(0, |all, item| all | item.rights) & asked
    }
}

/// Is it one of the templates that are there from the beginning?
fn is_first_template(guard: Guard) -> bool {
    guard.kind == Securable::Database && matches!(guard.oid, TEMPLATE0 | TEMPLATE1)
}

/// `pg_subscription`, of whose columns everybody reads those that hold no password: `pg_dump` asks for them, whoever runs it.
const SUBSCRIPTIONS: Oid = Oid(6100);

/// The privileges on a column on which nobody has granted anything. What is revoked from a column to the last is this again.
fn builtin_column_acl(table: Oid, column: u16) -> &'static [AclItem] {
    const READ_BY_ALL: [AclItem; 1] =
        [AclItem { grantee: PUBLIC, grantor: BOOTSTRAP_ROLE, rights: SELECT, options: 0 }];
    // All but `subconninfo`, and nothing that is in every table.
    if table == SUBSCRIPTIONS && column < 14 && column != 10 { &READ_BY_ALL } else { &[] }
}

/// The privileges of an object on which nobody has granted anything.
fn builtin_acl(guard: Guard) -> Vec<AclItem> {
    /// What holds the verifiers of passwords, or values of tables.
    const SECRET: [Oid; 7] = [Oid(1260), Oid(1418), Oid(2613), Oid(2619), Oid(3429), SUBSCRIPTIONS, Oid(12_005)];
    let mut items = guard.kind.default_acl(guard.owner);
    if is_first_template(guard) {
        // Nobody makes temporary tables there.
        let world = items.iter_mut().filter(|item| item.grantee == PUBLIC);
        world.for_each(|item| item.rights = CONNECT);
    }
    let is_open = match guard.kind {
        Securable::Relation | Securable::Sequence => guard.oid.0 < FIRST_USER_OID && !SECRET.contains(&guard.oid),
        Securable::Schema => guard.oid.0 < FIRST_USER_OID,
        _ => false,
    };
    if is_open {
        let rights = if guard.kind == Securable::Schema { USAGE } else { SELECT };
        items.push(AclItem { grantee: PUBLIC, grantor: guard.owner, rights, options: 0 });
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_shown_as_postgresql_shows_them() {
        let name = |oid: Oid| if oid == Oid(10) { "postgres".to_owned() } else { "A \"b\"".to_owned() };
        let item = |grantee, rights, options| AclItem { grantee, grantor: Oid(10), rights, options };
        assert_eq!(item(PUBLIC, SELECT, 0).shown(name), "=r/postgres");
        assert_eq!(item(Oid(10), Securable::Relation.all(), SELECT).shown(name), "postgres=ar*wdDxt/postgres");
        assert_eq!(item(Oid(11), USAGE | CREATE, CREATE).shown(name), "\"A \"\"b\"\"\"=UC*/postgres");
    }

    #[test]
    fn another_owner_takes_the_first_ones_place() {
        let item =
            |grantee, grantor, rights| AclItem { grantee: Oid(grantee), grantor: Oid(grantor), rights, options: 0 };
        let mut items = vec![item(1, 1, 3), item(2, 1, 4), item(3, 1, 1)];
        change_owner(&mut items, Oid(1), Oid(2));
        assert_eq!(items, [item(2, 2, 7), item(3, 2, 1)]);
    }

    #[test]
    fn a_role_has_what_it_inherits() {
        let definitions = Definitions::default();
        let guard = Guard { kind: Securable::Relation, oid: Oid(16_400), owner: BOOTSTRAP_ROLE };
        assert_eq!(definitions.rights(BOOTSTRAP_ROLE, guard, SELECT | DELETE), SELECT | DELETE);
        assert_eq!(definitions.rights(Oid(3373), guard, SELECT), 0);
        assert_eq!(definitions.rights(READ_ALL_DATA, guard, SELECT | INSERT), SELECT);
        let public = definitions.schema_guard(super::super::schema::PUBLIC);
        assert_eq!(definitions.rights(Oid(3373), public, USAGE | CREATE), USAGE);
        assert_eq!(definitions.rights(DATABASE_OWNER, public, USAGE | CREATE), USAGE | CREATE);
        assert!(definitions.has_privileges_of(Oid(3373), Oid(3375)) && !definitions.is_member_of(Oid(3375), Oid(3373)));
    }
}
