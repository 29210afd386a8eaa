//! `GRANT` and `REVOKE` of privileges. What begins alike and is about roles is in [`role`](super::role).

use super::ast::{Name, Path, RoutineName, Utility};
use super::cursor::{Parser, kw};
use super::role::RoleName;
use crate::catalog::default_acl::Made;
use crate::lexer::TokenKind;
use base::{Error, Result, sqlstate};

/// A privilege as a statement names it.
#[derive(Clone, Copy, Debug)]
pub struct Privilege<'a> {
    /// Its name, in small letters.
    pub name: &'a str,
    /// The columns that it is about; none for the whole.
    pub columns: &'a [Name<'a>],
}

/// What privileges are granted on.
#[derive(Clone, Copy, Debug)]
pub enum GrantObjects<'a> {
    /// Tables, views, sequences.
    Relations(&'a [Path<'a>]),
    /// `SEQUENCE`
    Sequences(&'a [Path<'a>]),
    /// `SCHEMA`
    Schemas(&'a [Name<'a>]),
    /// `DATABASE`
    Databases(&'a [Name<'a>]),
    /// `FUNCTION`, `PROCEDURE`, `ROUTINE`: that word, and which.
    Routines(&'static str, &'a [RoutineName<'a>]),
    /// `TYPE`, or `DOMAIN` if that is said.
    Types(&'a [Path<'a>], bool),
    /// `LANGUAGE`
    Languages(&'a [Name<'a>]),
    /// `ALL TABLES IN SCHEMA`
    AllTables(&'a [Name<'a>]),
    /// `ALL SEQUENCES IN SCHEMA`
    AllSequences(&'a [Name<'a>]),
    /// `ALL FUNCTIONS IN SCHEMA` and its like.
    AllRoutines(&'static str, &'a [Name<'a>]),
}

/// `GRANT`, `REVOKE`
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// True for `GRANT`.
    pub grants: bool,
    /// `WITH GRANT OPTION`, `GRANT OPTION FOR`
    pub option: bool,
    /// Which; none of them for `ALL`. `ALL (columns)` is one without a name.
    pub privileges: &'a [Privilege<'a>],
    /// On what.
    pub objects: GrantObjects<'a>,
    /// To whom, or from whom.
    pub grantees: &'a [RoleName<'a>],
    /// `GRANTED BY`
    pub grantor: Option<RoleName<'a>>,
    /// `CASCADE`
    pub cascade: bool,
}

/// `ALTER DEFAULT PRIVILEGES`
#[derive(Clone, Copy, Debug)]
pub struct AlterDefaults<'a> {
    /// `FOR ROLE`
    pub roles: Option<&'a [RoleName<'a>]>,
    /// `IN SCHEMA`
    pub schemas: Option<&'a [Name<'a>]>,
    /// True for `GRANT`.
    pub grants: bool,
    /// `WITH GRANT OPTION`, `GRANT OPTION FOR`
    pub option: bool,
    /// Which; none of them for `ALL`.
    pub privileges: &'a [Privilege<'a>],
    /// On what.
    pub made: Made,
    /// To whom, or from whom.
    pub grantees: &'a [RoleName<'a>],
    /// `CASCADE`
    pub cascade: bool,
}

impl<'a> Parser<'_, 'a> {
    /// `ALTER DEFAULT PRIVILEGES`, from `DEFAULT` on.
    pub(super) fn alter_defaults(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        self.expect(kw!("privileges"))?;
        let (mut roles, mut schemas) = (None, None);
        loop {
            let is_again = match () {
                () if self.eat(kw!("for"))? => {
                    if !self.eat(kw!("role"))? {
                        self.expect(kw!("user"))?;
                    }
                    let names = self.role_names()?;
                    roles.replace(names).is_some()
                }
                () if self.eat_all([kw!("in"), kw!("schema")])? => {
                    let names = self.name_list()?;
                    schemas.replace(names).is_some()
                }
                () => break,
            };
            if is_again {
                return Err(Error::statement(sqlstate::SYNTAX_ERROR, "conflicting or redundant options"));
            }
        }
        let grants = self.eat(kw!("grant"))?;
        if !grants {
            self.expect(kw!("revoke"))?;
        }
        let option = !grants && self.eat_all([kw!("grant"), kw!("option"), kw!("for")])?;
        let mut words = vec![self.granted_word()?];
        while self.eat_kind(TokenKind::Comma)? {
            words.push(self.granted_word()?);
        }
        self.expect(kw!("on"))?;
        let made = match self.peek()?.keyword.map_or("", |keyword| keyword.row().word) {
            "tables" => Made::Relations,
            "sequences" => Made::Sequences,
            "functions" | "routines" => Made::Routines,
            "schemas" => Made::Schemas,
            "types" => Made::Types,
            _ => return Err(self.unexpected()),
        };
        self.next()?;
        self.expect(if grants { kw!("to") } else { kw!("from") })?;
        let mut grantees = vec![self.grantee()?];
        while self.eat_kind(TokenKind::Comma)? {
            grantees.push(self.grantee()?);
        }
        let option = option || (grants && self.eat_all([kw!("with"), kw!("grant"), kw!("option")])?);
        let cascade = !grants && self.eat(kw!("cascade"))?;
        if !grants && !cascade {
            self.eat(kw!("restrict"))?;
        }
        let (privileges, grantees) = (self.privileges_of(&words), self.keep_all(&grantees));
        let alter = AlterDefaults { roles, schemas, grants, option, privileges, made, grantees, cascade };
        Ok(Utility::AlterDefaults(self.bump.alloc(alter)))
    }

    fn privileges_of(&self, words: &[(Name<'a>, &'a [Name<'a>])]) -> &'a [Privilege<'a>] {
        let privileges: Vec<Privilege<'a>> = match words {
            [(all, [])] if all.text == "all" => Vec::new(),
            words => words.iter().map(|(name, columns)| Privilege { name: name.text, columns }).collect(),
        };
        self.keep_all(&privileges)
    }

    /// A word of a list of privileges, or of roles: with the columns behind it.
    pub(super) fn granted_word(&mut self) -> Result<(Name<'a>, &'a [Name<'a>])> {
        let tok = self.peek()?;
        let word = tok.keyword.map_or("", |keyword| keyword.row().word);
        let is_reserved = matches!(word, "all" | "select" | "create" | "references");
        let name = match is_reserved {
            true => {
                self.next()?;
                let name = self.name_of(tok);
                if word == "all" {
                    self.eat(kw!("privileges"))?;
                }
                name
            }
            false => self.name()?,
        };
        let mut columns = Vec::new();
        if self.eat_kind(TokenKind::ParenOpen)? {
            loop {
                columns.push(self.name()?);
                if !self.eat_kind(TokenKind::Comma)? {
                    break;
                }
            }
            self.expect_kind(TokenKind::ParenClose)?;
        }
        Ok((name, self.keep_all(&columns)))
    }

    /// From `ON` on.
    pub(super) fn grant_privileges(
        &mut self,
        grants: bool,
        option: bool,
        words: &[(Name<'a>, &'a [Name<'a>])],
    ) -> Result<Utility<'a>> {
        self.expect(kw!("on"))?;
        let objects = match self.grant_objects()? {
            Ok(objects) => objects,
            Err(words) => return self.unsupported_statement(words),
        };
        self.expect(if grants { kw!("to") } else { kw!("from") })?;
        let mut grantees = vec![self.grantee()?];
        while self.eat_kind(TokenKind::Comma)? {
            grantees.push(self.grantee()?);
        }
        let option = option || (grants && self.eat_all([kw!("with"), kw!("grant"), kw!("option")])?);
        let grantor = if self.eat_all([kw!("granted"), kw!("by")])? { Some(self.role_name()?) } else { None };
        let cascade = !grants && self.eat(kw!("cascade"))?;
        if !grants && !cascade {
            self.eat(kw!("restrict"))?;
        }
        let grant = Grant {
            grants,
            option,
            privileges: self.privileges_of(words),
            objects,
            grantees: self.keep_all(&grantees),
            grantor,
            cascade,
        };
        Ok(Utility::Grant(self.bump.alloc(grant)))
    }

    fn grantee(&mut self) -> Result<RoleName<'a>> {
        self.eat(kw!("group"))?;
        self.role_name()
    }

    /// What privileges are granted on; or what a statement about something else is called.
    fn grant_objects(&mut self) -> Result<std::result::Result<GrantObjects<'a>, &'static str>> {
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        if word == "all" {
            self.next()?;
            let word = self.next()?.keyword.map_or("", |keyword| keyword.row().word);
            self.expect(kw!("in"))?;
            self.expect(kw!("schema"))?;
            let schemas = self.name_list()?;
            return Ok(Ok(match word {
                "tables" => GrantObjects::AllTables(schemas),
                "sequences" => GrantObjects::AllSequences(schemas),
                "functions" => GrantObjects::AllRoutines("function", schemas),
                "procedures" => GrantObjects::AllRoutines("procedure", schemas),
                "routines" => GrantObjects::AllRoutines("routine", schemas),
                _ => return Err(self.unexpected()),
            }));
        }
        // A table may be called like one of these words: what follows a name is another one.
        let names_kind = matches!(self.peek_at(1)?.token.kind, TokenKind::Word | TokenKind::QuotedName)
            && !self.is_at(1, kw!("to"))?
            && !self.is_at(1, kw!("from"))?;
        let refused = match word {
            _ if !names_kind => None,
            "schema" => {
                self.next()?;
                return Ok(Ok(GrantObjects::Schemas(self.name_list()?)));
            }
            "database" => {
                self.next()?;
                return Ok(Ok(GrantObjects::Databases(self.name_list()?)));
            }
            "sequence" => {
                self.next()?;
                return Ok(Ok(GrantObjects::Sequences(self.path_list()?)));
            }
            "function" | "procedure" | "routine" => {
                self.next()?;
                let mut routines = vec![self.routine_name()?];
                while self.eat_kind(TokenKind::Comma)? {
                    routines.push(self.routine_name()?);
                }
                let word = match word {
                    "function" => "function",
                    "procedure" => "procedure",
                    _ => "routine",
                };
                return Ok(Ok(GrantObjects::Routines(word, self.keep_all(&routines))));
            }
            "table" => {
                self.next()?;
                None
            }
            "type" | "domain" => {
                self.next()?;
                return Ok(Ok(GrantObjects::Types(self.path_list()?, word == "domain")));
            }
            "language" => {
                self.next()?;
                return Ok(Ok(GrantObjects::Languages(self.name_list()?)));
            }
            "foreign" => Some("privileges on foreign objects"),
            "large" => Some("privileges on large objects"),
            "parameter" => Some("privileges on settings"),
            "tablespace" => Some("privileges on tablespaces"),
            _ => None,
        };
        match refused {
            Some(words) => Ok(Err(words)),
            None => Ok(Ok(GrantObjects::Relations(self.path_list()?))),
        }
    }

    fn name_list(&mut self) -> Result<&'a [Name<'a>]> {
        let mut names = vec![self.name()?];
        while self.eat_kind(TokenKind::Comma)? {
            names.push(self.name()?);
        }
        Ok(self.keep_all(&names))
    }

    fn path_list(&mut self) -> Result<&'a [Path<'a>]> {
        let mut paths = vec![self.path()?];
        while self.eat_kind(TokenKind::Comma)? {
            paths.push(self.path()?);
        }
        Ok(self.keep_all(&paths))
    }
}
