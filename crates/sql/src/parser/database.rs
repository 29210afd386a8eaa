//! Statements about databases: `CREATE`, `ALTER`, `DROP DATABASE`.
//!
//! An option is a name and a value, with or without `=`. Most names are no keywords; whether there is such an option, and what it may be,
//! is looked at when the statement is carried out, as in PostgreSQL.

use super::ast::{Name, StoredSetting, Utility};
use super::cursor::{Parser, kw};
use super::role::RoleName;
use crate::lexer::{TokenKind, position};
use base::Result;

/// The value of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionValue<'a> {
    /// `DEFAULT`
    Default,
    /// A whole number.
    Number(i32),
    /// A word or a string.
    Text(&'a str),
}

/// An option of a database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseOption<'a> {
    /// Its name: `connection_limit` for `CONNECTION LIMIT`.
    pub name: &'a str,
    /// Its value.
    pub value: OptionValue<'a>,
    /// Where it stands, for errors.
    pub at: u32,
}

/// A statement about databases.
#[derive(Clone, Copy, Debug)]
pub enum DatabaseStatement<'a> {
    /// `CREATE DATABASE`
    Create {
        /// The new one's name.
        name: Name<'a>,
        /// Its options.
        options: &'a [DatabaseOption<'a>],
    },
    /// `DROP DATABASE`
    Drop {
        /// Which.
        name: Name<'a>,
        /// `IF EXISTS`
        if_exists: bool,
        /// `FORCE`: who is in it is thrown out.
        force: bool,
    },
    /// `ALTER DATABASE … WITH …`
    Alter {
        /// Which.
        name: Name<'a>,
        /// What changes.
        options: &'a [DatabaseOption<'a>],
    },
    /// `ALTER DATABASE … SET TABLESPACE`
    Tablespace {
        /// Which.
        name: Name<'a>,
        /// The tablespace.
        tablespace: Name<'a>,
    },
    /// `ALTER DATABASE … RENAME TO`
    Rename {
        /// Which.
        name: Name<'a>,
        /// Its new name.
        new: Name<'a>,
    },
    /// `ALTER DATABASE … OWNER TO`
    Owner {
        /// Which.
        name: Name<'a>,
        /// The new owner.
        owner: RoleName<'a>,
    },
    /// `ALTER DATABASE … REFRESH COLLATION VERSION`
    Refresh {
        /// Which.
        name: Name<'a>,
    },
}

impl<'t, 'a> Parser<'t, 'a> {
    /// `CREATE DATABASE`, from that word on.
    pub(super) fn create_database(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let name = self.name()?;
        self.eat(kw!("with"))?;
        let options = self.database_options()?;
        Ok(self.database_statement(DatabaseStatement::Create { name, options }))
    }

    /// `DROP DATABASE`, from that word on.
    pub(super) fn drop_database(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let if_exists = self.eat_all([kw!("if"), kw!("exists")])?;
        let name = self.name()?;
        let mut force = false;
        let with = self.eat(kw!("with"))?;
        if with || self.is_kind(TokenKind::ParenOpen)? {
            self.expect_kind(TokenKind::ParenOpen)?;
            self.expect(kw!("force"))?;
            while self.eat_kind(TokenKind::Comma)? {
                self.expect(kw!("force"))?;
            }
            self.expect_kind(TokenKind::ParenClose)?;
            force = true;
        }
        Ok(self.database_statement(DatabaseStatement::Drop { name, if_exists, force }))
    }

    /// `ALTER DATABASE`, from that word on.
    pub(super) fn alter_database(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        let name = self.name()?;
        if self.eat_all([kw!("set"), kw!("tablespace")])? {
            let tablespace = self.name()?;
            return Ok(self.database_statement(DatabaseStatement::Tablespace { name, tablespace }));
        }
        if self.is(kw!("set"))? || self.is(kw!("reset"))? {
            let change = self.setting_change()?;
            let setting = StoredSetting { role: None, database: Some(name), of_database: true, change };
            return Ok(Utility::StoredSetting(self.bump.alloc(setting)));
        }
        let statement = if self.eat_all([kw!("rename"), kw!("to")])? {
            DatabaseStatement::Rename { name, new: self.name()? }
        } else if self.eat_all([kw!("owner"), kw!("to")])? {
            DatabaseStatement::Owner { name, owner: self.role_name()? }
        } else if self.eat_all([kw!("refresh"), kw!("collation"), kw!("version")])? {
            DatabaseStatement::Refresh { name }
        } else {
            self.eat(kw!("with"))?;
            DatabaseStatement::Alter { name, options: self.database_options()? }
        };
        Ok(self.database_statement(statement))
    }

    fn database_statement(&self, statement: DatabaseStatement<'a>) -> Utility<'a> {
        Utility::Database(self.bump.alloc(statement))
    }

    fn database_options(&mut self) -> Result<&'a [DatabaseOption<'a>]> {
        let mut options = Vec::new();
        while !self.is_kind(TokenKind::End)? {
            options.push(self.database_option()?);
        }
        Ok(self.keep_all(&options))
    }

    fn database_option(&mut self) -> Result<DatabaseOption<'a>> {
        let at = self.at()?;
        let at = position(self.text(), at as usize);
        let tok = self.peek()?;
        let name = match tok.keyword.map(|keyword| keyword.row().word) {
            Some("connection") => {
                self.next()?;
                self.expect(kw!("limit"))?;
                "connection_limit"
            }
            Some(word @ ("encoding" | "location" | "owner" | "tablespace" | "template")) => {
                self.next()?;
                word
            }
            Some(_) => return Err(self.unexpected()),
            None => self.name()?.text,
        };
        if self.is_operator("=")? {
            self.next()?;
        }
        let value = if self.eat(kw!("default"))? {
            OptionValue::Default
        } else if self.peek()?.token.kind.is_string() {
            OptionValue::Text(self.string()?)
        } else if self.is_operator("-")? || self.is_operator("+")? || self.is_kind(TokenKind::Integer)? {
            let negative = self.is_operator("-")?;
            if negative || self.is_operator("+")? {
                self.next()?;
            }
            let number = self.integer()?;
            OptionValue::Number(if negative { -number } else { number })
        } else if self.is(kw!("true"))? || self.is(kw!("false"))? || self.is(kw!("on"))? {
            let tok = self.next()?;
            OptionValue::Text(self.name_of(tok).text)
        } else {
            OptionValue::Text(self.any_name()?.text)
        };
        Ok(DatabaseOption { name, value, at })
    }
}
