//! Statements about roles: `CREATE`, `ALTER`, `DROP` of `ROLE`, `USER` and `GROUP`; `GRANT` and `REVOKE` of roles.
//!
//! The words of most options are no keywords: they are read as names, and one that is not known is an error of its own, as in PostgreSQL.

use super::ast::{Name, RoutineName, StoredSetting, Utility};
use super::cursor::{Parser, kw};
use crate::catalog::role::RoleFlag;
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

/// A role as a statement names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleName<'a> {
    /// By its name.
    Named(Name<'a>),
    /// `CURRENT_ROLE`, `CURRENT_USER`, `SESSION_USER`
    Own(&'static str),
    /// `PUBLIC`
    Public,
}

/// A clause of `CREATE ROLE` or `ALTER ROLE`.
#[derive(Clone, Copy, Debug)]
pub enum RoleOption<'a> {
    /// `SUPERUSER`, `NOSUPERUSER` and so on.
    Flag(RoleFlag, bool),
    /// `CONNECTION LIMIT`
    ConnectionLimit(i32),
    /// `PASSWORD`; none for `PASSWORD NULL`.
    Password(Option<&'a str>),
    /// `VALID UNTIL`
    ValidUntil(&'a str),
    /// `IN ROLE`
    MemberOf(&'a [RoleName<'a>]),
    /// `ROLE`
    Members(&'a [RoleName<'a>]),
    /// `ADMIN`
    Admins(&'a [RoleName<'a>]),
    /// `SYSID`, which says nothing
    Number,
}

/// A statement about roles.
#[derive(Clone, Copy, Debug)]
pub enum RoleStatement<'a> {
    /// `CREATE ROLE`
    Create {
        /// The new role's name.
        name: Name<'a>,
        /// True for `CREATE USER`, whose role may log in.
        logs_in: bool,
        /// Its options.
        options: &'a [RoleOption<'a>],
    },
    /// `ALTER ROLE`
    Alter {
        /// Which role.
        name: RoleName<'a>,
        /// What changes.
        options: &'a [RoleOption<'a>],
    },
    /// `ALTER GROUP … ADD USER`, `… DROP USER`
    Members {
        /// The group.
        group: RoleName<'a>,
        /// `ADD`
        add: bool,
        /// Who.
        members: &'a [RoleName<'a>],
    },
    /// `ALTER ROLE … RENAME TO`
    Rename {
        /// The old name.
        name: Name<'a>,
        /// The new one.
        new: Name<'a>,
    },
    /// `DROP ROLE`
    Drop {
        /// Which roles.
        names: &'a [RoleName<'a>],
        /// `IF EXISTS`
        if_exists: bool,
    },
    /// `GRANT role TO role`, `REVOKE role FROM role`
    Grant(RoleGrant<'a>),
}

/// `GRANT role TO role`, `REVOKE role FROM role`
#[derive(Clone, Copy, Debug)]
pub struct RoleGrant<'a> {
    /// True for `GRANT`.
    pub grants: bool,
    /// The roles that are granted.
    pub roles: &'a [Name<'a>],
    /// Who gets or loses them.
    pub members: &'a [RoleName<'a>],
    /// `WITH ADMIN OPTION`, `ADMIN OPTION FOR`
    pub admin: bool,
    /// `GRANTED BY`
    pub grantor: Option<RoleName<'a>>,
}

/// A statement about owners that is no part of another one.
#[derive(Clone, Copy, Debug)]
pub enum OwnerStatement<'a> {
    /// `ALTER SCHEMA … OWNER TO`
    Schema {
        /// The schema.
        schema: Name<'a>,
        /// Who gets it.
        owner: RoleName<'a>,
    },
    /// `ALTER PROCEDURE … OWNER TO` and its like.
    Routine {
        /// The routine.
        routine: RoutineName<'a>,
        /// What it was called: `procedure`, `function`, `routine`.
        word: &'static str,
        /// Who gets it.
        owner: RoleName<'a>,
    },
    /// `REASSIGN OWNED`
    Reassign {
        /// Whose objects.
        from: &'a [RoleName<'a>],
        /// Who gets them.
        to: RoleName<'a>,
    },
    /// `DROP OWNED`
    Drop {
        /// Whose objects.
        roles: &'a [RoleName<'a>],
        /// `CASCADE`
        cascade: bool,
    },
}

fn reserved(name: &str) -> Error {
    Error::statement(sqlstate::RESERVED_NAME, format!("role name \"{name}\" is reserved"))
}

impl<'t, 'a> Parser<'t, 'a> {
    /// After `CREATE`.
    pub(super) fn create_role(&mut self) -> Result<Utility<'a>> {
        let logs_in = self.next()?.keyword == Some(kw!("user"));
        if self.is(kw!("mapping"))? {
            return self.unsupported_statement("CREATE USER MAPPING");
        }
        let name = self.new_role_name()?;
        let options = self.role_options(true)?;
        Ok(Utility::Role(self.bump.alloc(RoleStatement::Create { name, logs_in, options })))
    }

    /// After `ALTER`.
    pub(super) fn alter_role(&mut self) -> Result<Utility<'a>> {
        let group = self.next()?.keyword == Some(kw!("group"));
        if self.is(kw!("mapping"))? {
            return self.unsupported_statement("ALTER USER MAPPING");
        }
        if !group && self.eat(kw!("all"))? {
            return self.stored_setting(None);
        }
        let at = self.mark();
        let name = self.role_name()?;
        if self.eat(kw!("rename"))? {
            self.rewind(at);
            let name = self.new_role_name()?;
            self.next()?;
            self.expect(kw!("to"))?;
            let new = self.new_role_name()?;
            return Ok(Utility::Role(self.bump.alloc(RoleStatement::Rename { name, new })));
        }
        if group {
            let add = self.eat(kw!("add"))?;
            if !add {
                self.expect(kw!("drop"))?;
            }
            self.expect(kw!("user"))?;
            let members = self.role_names()?;
            return Ok(Utility::Role(self.bump.alloc(RoleStatement::Members { group: name, add, members })));
        }
        if self.is(kw!("set"))? || self.is(kw!("reset"))? || (self.is(kw!("in"))? && self.is_at(1, kw!("database"))?) {
            return self.stored_setting(Some(name));
        }
        let options = self.role_options(false)?;
        Ok(Utility::Role(self.bump.alloc(RoleStatement::Alter { name, options })))
    }

    /// `[IN DATABASE name] SET …`
    fn stored_setting(&mut self, role: Option<RoleName<'a>>) -> Result<Utility<'a>> {
        let database = if self.eat_all([kw!("in"), kw!("database")])? { Some(self.name()?) } else { None };
        let change = self.setting_change()?;
        Ok(Utility::StoredSetting(self.bump.alloc(StoredSetting { role, database, of_database: false, change })))
    }

    /// After `DROP`.
    pub(super) fn drop_role(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        if self.is(kw!("mapping"))? {
            return self.unsupported_statement("DROP USER MAPPING");
        }
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let names = self.role_names()?;
        Ok(Utility::Role(self.bump.alloc(RoleStatement::Drop { names, if_exists })))
    }

    /// `DROP OWNED`, after `DROP`.
    pub(super) fn drop_owned(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        self.expect(kw!("by"))?;
        let roles = self.role_names()?;
        let cascade = self.eat(kw!("cascade"))?;
        if !cascade {
            self.eat(kw!("restrict"))?;
        }
        Ok(Utility::Owner(self.bump.alloc(OwnerStatement::Drop { roles, cascade })))
    }

    /// `REASSIGN OWNED`
    pub(super) fn reassign(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        self.expect(kw!("owned"))?;
        self.expect(kw!("by"))?;
        let from = self.role_names()?;
        self.expect(kw!("to"))?;
        let to = self.role_name()?;
        Ok(Utility::Owner(self.bump.alloc(OwnerStatement::Reassign { from, to })))
    }

    /// `GRANT` or `REVOKE`, of roles or of privileges.
    pub(super) fn grant(&mut self) -> Result<Utility<'a>> {
        let grants = self.next()?.keyword == Some(kw!("grant"));
        let mut admin = !grants && self.eat_all([kw!("admin"), kw!("option"), kw!("for")])?;
        let option = !grants && !admin && self.eat_all([kw!("grant"), kw!("option"), kw!("for")])?;
        let mut words = vec![self.granted_word()?];
        while self.eat_kind(TokenKind::Comma)? {
            words.push(self.granted_word()?);
        }
        if option || self.is(kw!("on"))? || words.iter().any(|(_, columns)| !columns.is_empty()) {
            return self.grant_privileges(grants, option, &words);
        }
        let roles: Vec<Name<'a>> = words.iter().map(|word| word.0).collect();
        self.expect(if grants { kw!("to") } else { kw!("from") })?;
        let members = self.role_names()?;
        admin |= grants && self.eat_all([kw!("with"), kw!("admin"), kw!("option")])?;
        let grantor = if self.eat_all([kw!("granted"), kw!("by")])? { Some(self.role_name()?) } else { None };
        if !grants && !self.eat(kw!("cascade"))? {
            self.eat(kw!("restrict"))?;
        }
        let grant = RoleGrant { grants, roles: self.keep_all(&roles), members, admin, grantor };
        Ok(Utility::Role(self.bump.alloc(RoleStatement::Grant(grant))))
    }

    pub(super) fn role_name(&mut self) -> Result<RoleName<'a>> {
        let tok = self.peek()?;
        let own = match tok.keyword.map_or("", |keyword| keyword.row().word) {
            "current_role" => "CURRENT_ROLE",
            "current_user" => "CURRENT_USER",
            "session_user" => "SESSION_USER",
            _ => "",
        };
        if !own.is_empty() {
            self.next()?;
            return Ok(RoleName::Own(own));
        }
        let name = self.any_name()?;
        match name.text {
            "public" => Ok(RoleName::Public),
            "none" => Err(reserved("none")),
            _ => Ok(RoleName::Named(name)),
        }
    }

    pub(super) fn role_names(&mut self) -> Result<&'a [RoleName<'a>]> {
        let mut names = vec![self.role_name()?];
        while self.eat_kind(TokenKind::Comma)? {
            names.push(self.role_name()?);
        }
        Ok(self.keep_all(&names))
    }

    /// A role's name where only a name will do.
    fn new_role_name(&mut self) -> Result<Name<'a>> {
        match self.role_name()? {
            RoleName::Named(name) => Ok(name),
            RoleName::Public => Err(reserved("public")),
            RoleName::Own(words) => {
                let message = format!("{words} cannot be used as a role name here");
                Err(Error::statement(sqlstate::RESERVED_NAME, message))
            }
        }
    }

    fn role_options(&mut self, new: bool) -> Result<&'a [RoleOption<'a>]> {
        self.eat(kw!("with"))?;
        let mut options = Vec::new();
        while !self.is_kind(TokenKind::End)? {
            let option = self.role_option(new)?;
            let same = |known: &RoleOption<'_>| match (known, &option) {
                (RoleOption::Flag(known, _), RoleOption::Flag(flag, _)) => known == flag,
                (known, option) => std::mem::discriminant(known) == std::mem::discriminant(option),
            };
            if options.iter().any(same) {
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
            }
            options.push(option);
        }
        Ok(self.keep_all(&options))
    }

    fn role_option(&mut self, new: bool) -> Result<RoleOption<'a>> {
        let tok = self.peek()?;
        if tok.token.kind != TokenKind::Word {
            return Err(self.unexpected());
        }
        if new {
            if self.eat(kw!("sysid"))? {
                self.integer()?;
                return Ok(RoleOption::Number);
            }
            if self.eat(kw!("admin"))? {
                return self.role_names().map(RoleOption::Admins);
            }
            if self.eat(kw!("in"))? {
                if !self.eat(kw!("role"))? {
                    self.expect(kw!("group"))?;
                }
                return self.role_names().map(RoleOption::MemberOf);
            }
        }
        if (new && self.eat(kw!("role"))?) || self.eat(kw!("user"))? {
            return self.role_names().map(RoleOption::Members);
        }
        let encrypted = self.eat(kw!("encrypted"))?;
        if encrypted || self.is(kw!("password"))? {
            self.expect(kw!("password"))?;
            if !encrypted && self.eat(kw!("null"))? {
                return Ok(RoleOption::Password(None));
            }
            return self.string().map(|text| RoleOption::Password(Some(text)));
        }
        if self.eat(kw!("connection"))? {
            self.expect(kw!("limit"))?;
            let negative = self.is_operator("-")?;
            if negative || self.is_operator("+")? {
                self.next()?;
            }
            let limit = self.integer()?;
            return Ok(RoleOption::ConnectionLimit(if negative { -limit } else { limit }));
        }
        if self.eat(kw!("valid"))? {
            self.expect(kw!("until"))?;
            return self.string().map(RoleOption::ValidUntil);
        }
        if self.is(kw!("unencrypted"))? {
            return Err(Error::unsupported("UNENCRYPTED PASSWORD is no longer supported")
                .hint("Remove UNENCRYPTED to store the password in encrypted form instead."));
        }
        if tok.keyword.is_some_and(|keyword| keyword.row().word != "inherit") {
            return Err(self.unexpected());
        }
        let word = self.name_of(tok).text;
        let (flag, on) = match word.strip_prefix("no") {
            Some(rest) => (rest, false),
            None => (word, true),
        };
        let flag = match flag {
            "superuser" => RoleFlag::Superuser,
            "inherit" => RoleFlag::Inherit,
            "createrole" => RoleFlag::CreateRole,
            "createdb" => RoleFlag::CreateDatabase,
            "login" => RoleFlag::Login,
            "replication" => RoleFlag::Replication,
            "bypassrls" => RoleFlag::BypassRowSecurity,
            _ => {
                let message = format!("unrecognized role option \"{word}\"");
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, message));
            }
        };
        self.next()?;
        Ok(RoleOption::Flag(flag, on))
    }
}
