//! `COMMENT ON … IS …`.

use super::ast::{CommentOn, ObjectKind, Utility};
use super::cursor::{Parser, kw};
use base::Result;

impl<'t, 'a> Parser<'t, 'a> {
    pub(super) fn comment(&mut self) -> Result<Utility<'a>> {
        self.next()?;
        self.expect(kw!("on"))?;
        let word = self.peek()?.keyword.map_or("", |keyword| keyword.row().word);
        let kind = match word {
            "table" => Some(ObjectKind::Table),
            "view" => Some(ObjectKind::View),
            "sequence" => Some(ObjectKind::Sequence),
            "index" => Some(ObjectKind::Index),
            "column" | "constraint" | "schema" | "database" | "type" | "domain" => None,
            "" => return Err(self.unexpected()),
            _ => {
                let words = format!("COMMENT ON {}", word.to_uppercase());
                return self.unsupported_statement(&words);
            }
        };
        self.next()?;
        let on = match (kind, word) {
            (Some(kind), _) => CommentOn::Relation(kind, self.path()?),
            (None, "column") => CommentOn::Column(self.path()?),
            (None, "type") => CommentOn::Type(self.path()?, false),
            (None, "domain") => CommentOn::Type(self.path()?, true),
            (None, "schema") => CommentOn::Schema(self.name()?),
            (None, "database") => CommentOn::Database(self.name()?),
            (None, _) => {
                let name = self.name()?;
                self.expect(kw!("on"))?;
                if self.is(kw!("domain"))? {
                    return self.unsupported_statement("COMMENT ON CONSTRAINT … ON DOMAIN");
                }
                CommentOn::Constraint(name, self.path()?)
            }
        };
        self.expect(kw!("is"))?;
        let text = if self.eat(kw!("null"))? { None } else { Some(self.string()?) };
        Ok(Utility::Comment { on, text })
    }
}
