//! Types that users have made: enums and domains. What they are called, what their values are called, and where a name without a schema finds them.
//!
//! What a value is does not depend on any of this ([`crate::types::user`]): a type and its values may be renamed, and values may be added,
//! while rows and plans stay as they are.
//!
//! Rules
//! 1. A type and a relation of one schema have different names: a relation's name is the name of its rows' type.
//! 2. Texts that are kept name types by marks ([`Catalog::with_marks`]); whoever shows one fills names in ([`Catalog::with_names`]).

use super::Catalog;
use super::schema::PG_CATALOG;
use crate::lexer::{Lexer, TokenKind, literal};
use crate::types::{Oid, Type, table, user};
use base::settings::quoted_identifier;
use base::{Error, Result, Xid};
use std::borrow::Cow;
use std::sync::Arc;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserTypeDef {
    /// Its number, which says that it is an enum.
    pub oid: Oid,
    /// Another one for each change.
    pub version: u64,
    /// The schema that it is in.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// Who owns it.
    pub owner: Oid,
    /// Its values, in their order.
    pub labels: Vec<LabelDef>,
    /// What a domain is.
    pub domain: Option<DomainDef>,
}

/// What a domain demands of the values of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DomainDef {
    /// The type that its values have.
    pub base: Type,
    /// True if null is not allowed.
    pub not_null: bool,
    /// The text of its default.
    pub default: Option<String>,
    /// Its conditions, in the order of their names.
    pub checks: Vec<DomainCheck>,
}

impl DomainDef {
    /// Whether there is anything that a value could break.
    pub fn demands(&self) -> bool {
        self.not_null || !self.checks.is_empty()
    }
}

/// A condition of a domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DomainCheck {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// Its text, in which `VALUE` is the value.
    pub text: String,
}

/// A value of an enum.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelDef {
    /// Its number, for the catalog.
    pub oid: Oid,
    /// What it is called.
    pub name: String,
    /// Where it stands among the others; what values are made of.
    pub position: i64,
    /// The transaction that added it to a type that was there, and that may not use it; zero if the type came with it.
    pub since: Xid,
}

impl UserTypeDef {
    /// The value of that name.
    pub fn label(&self, name: &str) -> Option<&LabelDef> {
        self.labels.iter().find(|label| label.name == name)
    }

    /// What messages call it.
    pub fn word(&self) -> &'static str {
        if self.domain.is_some() { "domain" } else { "type" }
    }

    /// The name of its array.
    pub fn array_name(&self) -> String {
        let mut end = self.name.len().min(crate::types::name::NAME_BYTES_MAX - 1);
        while !self.name.is_char_boundary(end) {
            end -= 1;
        }
        format!("_{}", &self.name[..end])
    }
}

impl Catalog<'_> {
    /// The type of a user of that number.
    pub fn user_type(&self, oid: Oid) -> Option<&Arc<UserTypeDef>> {
        self.definitions.user_type(oid)
    }

    /// The type of that name in a schema: the system's, a user's, or the array of a user's.
    fn type_in(&self, schema: Oid, name: &str) -> Option<Oid> {
        if schema == PG_CATALOG {
            return table::by_name(name).map(|row| row.oid);
        }
        let made = || self.definitions.type_named(schema, name).map(|found| found.oid);
        made().or_else(|| self.definitions.array_named(schema, name))
    }

    /// The type that a name means, with a schema or without; a mark is a name without.
    pub fn find_type(&self, schema: Option<&str>, name: &str) -> Result<Option<Oid>> {
        if let Some(schema) = schema {
            let Some(schema) = self.schema(schema) else { return Ok(None) };
            self.check_usage(schema)?;
            return Ok(self.type_in(schema, name));
        }
        if let Some(marked) = user::marked(name) {
            return Ok(self.user_type(marked).map(|found| found.oid));
        }
        Ok(self.path.searched.iter().find_map(|schema| self.type_in(*schema, name)))
    }

    /// Can the type of a user, or its array, be named without its schema?
    pub fn sees_type(&self, oid: Oid) -> bool {
        let Some(found) = user::base_of(oid).and_then(|base| self.user_type(base)) else { return false };
        matches!(self.find_type(None, &found.name), Ok(Some(visible)) if visible == found.oid)
    }

    /// The name of a user's type, with its schema where that is needed, quoted where that is needed.
    pub fn shown_type(&self, oid: Oid) -> String {
        let Some(found) = self.user_type(oid) else { return "???".to_owned() };
        let name = quoted_identifier(&found.name);
        if self.sees_type(oid) {
            return name;
        }
        let schema = self.schema_name(found.schema).unwrap_or_default();
        format!("{}.{name}", quoted_identifier(&schema))
    }

    /// A text with the names that its types have now.
    pub fn with_names<'t>(&self, text: &'t str) -> Cow<'t, str> {
        user::fill(text, |oid| self.shown_type(oid))
    }

    /// An error with the names of types.
    #[cold]
    pub fn named_error(&self, error: Error) -> Error {
        error.map_texts(|text| self.with_names(text).into_owned())
    }

    /// The text of an expression in which types of users are named by marks. A type's name stands after `::`, after the `AS` of a cast, and
    /// before a string.
    pub fn with_marks(&self, text: &str) -> Result<String> {
        if !self.definitions.has_types() {
            return Ok(text.to_owned());
        }
        let mut tokens = Vec::new();
        let mut lexer = Lexer::new(text);
        loop {
            let token = lexer.next_token()?;
            if token.kind == TokenKind::End {
                break;
            }
            tokens.push(token);
        }
        let is_name = |at: usize| {
            tokens.get(at).is_some_and(|token| matches!(token.kind, TokenKind::Word | TokenKind::QuotedName))
        };
        let is = |at: usize, kind: TokenKind| tokens.get(at).is_some_and(|token| token.kind == kind);
        let is_as = |at: usize| is(at, TokenKind::Word) && tokens[at].text(text).eq_ignore_ascii_case("as");
        let (mut made, mut from, mut at) = (String::with_capacity(text.len()), 0, 0);
        while at < tokens.len() {
            let first = at;
            at += 1;
            if !is_name(first) {
                continue;
            }
            if is(at, TokenKind::Dot) && is_name(at + 1) {
                at += 2;
            }
            let follows = first > 0 && (is(first - 1, TokenKind::ColonColon) || is_as(first - 1));
            let precedes = tokens.get(at).is_some_and(|token| token.kind.is_string());
            if !follows && !precedes {
                continue;
            }
            let last = literal::name(text, tokens[at - 1]);
            let schema = (at - first == 3).then(|| literal::name(text, tokens[first]));
            if let Some(oid) = self.find_type(schema.as_deref(), &last)?.filter(|oid| user::is_user(*oid)) {
                made.push_str(&text[from..tokens[first].start as usize]);
                made.push_str(&user::mark(oid));
                from = tokens[at - 1].end as usize;
            }
        }
        made.push_str(&text[from..]);
        Ok(made)
    }
}
