//! The languages that functions and procedures are written in.

use crate::types::Oid;

/// A language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// That of the server's own functions: nobody else's.
    Internal,
    /// SQL.
    Sql,
    /// That of procedures.
    Plpgsql,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 3] = [Language::Internal, Language::Sql, Language::Plpgsql];

    /// The language of that name.
    pub fn named(name: &str) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.name() == name)
    }

    /// The language of that number.
    pub fn numbered(oid: Oid) -> Option<Language> {
        Language::ALL.into_iter().find(|language| language.oid() == oid)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Language::Internal => "internal",
            Language::Sql => "sql",
            Language::Plpgsql => "plpgsql",
        }
    }

    /// Its number.
    pub const fn oid(self) -> Oid {
        match self {
            Language::Internal => Oid(12),
            Language::Sql => Oid(14),
            Language::Plpgsql => Oid(13_563),
        }
    }

    /// Can nothing written in it do more than SQL does?
    pub const fn is_trusted(self) -> bool {
        !matches!(self, Language::Internal)
    }
}
