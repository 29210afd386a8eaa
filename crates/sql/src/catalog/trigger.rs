//! What a trigger is: when it fires, which function it calls, and how it is shown.
//!
//! Triggers are parts of their table's definition, like its constraints: a plan that changes the table's rows has them in it, and is made
//! again when one of them has changed.
//!
//! Rules
//! 1. A table's triggers stand in the order of their names: that is the order in which they fire.
//! 2. A condition is a text over `NEW` and `OLD`; what it names there are columns of the table, and is changed along with their names.

use super::Catalog;
use super::definition::{Deferral, TableDef};
use crate::lexer::{Lexer, Token, TokenKind, literal};
use crate::types::Oid;
use base::settings::quoted_identifier;

/// For each row. The bits are those of `pg_trigger.tgtype`.
pub const ROW: u16 = 1;
/// Before the change.
pub const BEFORE: u16 = 1 << 1;
/// On `INSERT`.
pub const INSERT: u16 = 1 << 2;
/// On `DELETE`.
pub const DELETE: u16 = 1 << 3;
/// On `UPDATE`.
pub const UPDATE: u16 = 1 << 4;
/// On `TRUNCATE`.
pub const TRUNCATE: u16 = 1 << 5;
/// In the place of the change.
pub const INSTEAD: u16 = 1 << 6;

/// A trigger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TriggerDef {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// The function that it calls.
    pub function: Oid,
    /// When it fires: see [`ROW`] and so on.
    pub kind: u16,
    /// As in `pg_trigger.tgenabled`: `O`, `D`, `R`, `A`.
    pub enabled: u8,
    /// `UPDATE OF`: the columns, counted from zero; any if none.
    pub columns: Vec<u16>,
    /// The text of its condition.
    pub condition: Option<String>,
    /// What its function is given.
    pub arguments: Vec<String>,
    /// The name of the table of old rows.
    pub old_table: Option<String>,
    /// The name of the table of new rows.
    pub new_table: Option<String>,
    /// The number of its constraint, if it is a constraint trigger.
    pub constraint: Option<Oid>,
    /// Of a constraint trigger: whether it may wait for the transaction's end.
    pub deferral: Deferral,
}

impl TriggerDef {
    /// Has it all these bits?
    pub fn is(&self, bits: u16) -> bool {
        self.kind & bits == bits
    }

    /// Does it fire before the change, behind it, or in its place?
    pub fn timing(&self) -> &'static str {
        match self.kind & (BEFORE | INSTEAD) {
            BEFORE => "BEFORE",
            INSTEAD => "INSTEAD OF",
            _ => "AFTER",
        }
    }

    /// Does it fire where `session_replication_role` has this value?
    pub fn is_enabled(&self, replica: bool) -> bool {
        match self.enabled {
            b'D' => false,
            b'A' => true,
            b'R' => replica,
            _ => !replica,
        }
    }

    /// `pg_get_triggerdef`; names of tables are short where `pretty`, and they are found without a schema.
    pub fn shown(&self, catalog: &Catalog<'_>, table: &TableDef, pretty: bool) -> String {
        let constraint = if self.constraint.is_some() { "CONSTRAINT " } else { "" };
        let mut text = format!("CREATE {constraint}TRIGGER {} {} ", quoted_identifier(&self.name), self.timing());
        let mut events = Vec::new();
        for (bit, word) in [(INSERT, "INSERT"), (DELETE, "DELETE"), (UPDATE, "UPDATE"), (TRUNCATE, "TRUNCATE")] {
            if self.is(bit) {
                events.push(match bit == UPDATE && !self.columns.is_empty() {
                    true => {
                        let names = self.columns.iter().filter_map(|column| table.columns.get(usize::from(*column)));
                        let names: Vec<String> = names.map(|column| quoted_identifier(&column.name)).collect();
                        format!("UPDATE OF {}", names.join(", "))
                    }
                    false => word.to_owned(),
                });
            }
        }
        text.push_str(&events.join(" OR "));
        let name = match pretty {
            true => catalog.shown_name(table),
            false => {
                let schema = catalog.schema_name(table.schema).unwrap_or_default();
                format!("{}.{}", quoted_identifier(&schema), quoted_identifier(&table.name))
            }
        };
        text.push_str(&format!(" ON {name}"));
        if self.constraint.is_some() {
            text.push_str(match self.deferral {
                Deferral::Never => " NOT DEFERRABLE INITIALLY IMMEDIATE",
                Deferral::Immediate => " DEFERRABLE INITIALLY IMMEDIATE",
                Deferral::Deferred => " DEFERRABLE INITIALLY DEFERRED",
            });
        }
        if self.old_table.is_some() || self.new_table.is_some() {
            text.push_str(" REFERENCING");
            for (word, name) in [("OLD", &self.old_table), ("NEW", &self.new_table)] {
                if let Some(name) = name {
                    text.push_str(&format!(" {word} TABLE AS {}", quoted_identifier(name)));
                }
            }
        }
        text.push_str(if self.is(ROW) { " FOR EACH ROW" } else { " FOR EACH STATEMENT" });
        if let Some(condition) = &self.condition {
            let condition = if pretty { super::system::without_parentheses(condition) } else { condition.as_str() };
            text.push_str(&format!(" WHEN ({condition})"));
        }
        let function = catalog.routine(self.function).map_or(String::new(), |routine| {
            let schema = match catalog.sees_routine(&routine) {
                true => String::new(),
                false => format!("{}.", quoted_identifier(&catalog.schema_name(routine.schema).unwrap_or_default())),
            };
            format!("{schema}{}", quoted_identifier(&routine.name))
        });
        let arguments: Vec<String> =
            self.arguments.iter().map(|argument| format!("'{}'", argument.replace('\'', "''"))).collect();
        text.push_str(&format!(" EXECUTE FUNCTION {function}({})", arguments.join(", ")));
        text
    }
}

impl TableDef {
    /// Has it an enabled trigger with all these bits?
    pub fn has_trigger(&self, bits: u16) -> bool {
        self.triggers.iter().any(|trigger| trigger.is(bits))
    }

    /// Adds a trigger in its place.
    pub fn add_trigger(&mut self, trigger: TriggerDef) {
        self.triggers.push(trigger);
        self.sort_triggers();
    }

    /// Puts the triggers in the order of their names.
    pub fn sort_triggers(&mut self) {
        self.triggers.sort_by(|left, right| left.name.cmp(&right.name));
    }
}

/// A part of a condition that names a row.
pub(crate) struct RowName {
    /// From which byte to which it stands.
    pub(crate) span: (usize, usize),
    /// Is it `NEW`, not `OLD`?
    pub(crate) new: bool,
    /// The column that is named, with its place; none for the whole row.
    pub(crate) column: Option<(String, (usize, usize))>,
}

/// Where a condition names rows and their columns.
pub(crate) fn row_names(text: &str) -> Vec<RowName> {
    let mut lexer = Lexer::new(text);
    let mut tokens: Vec<Token> = Vec::new();
    while let Ok(token) = lexer.next_token() {
        if token.kind == TokenKind::End {
            break;
        }
        tokens.push(token);
    }
    let is_name = |token: &Token| matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if !is_name(token) || (index > 0 && tokens[index - 1].kind == TokenKind::Dot) {
            continue;
        }
        let name = literal::name(text, *token);
        if name != "new" && name != "old" {
            continue;
        }
        let dotted = tokens.get(index + 1).is_some_and(|next| next.kind == TokenKind::Dot);
        let last = if dotted { tokens.get(index + 2) } else { None };
        let place = |token: &Token| (token.start as usize, token.end as usize);
        let column =
            last.filter(|last| is_name(last)).map(|last| (literal::name(text, *last).into_owned(), place(last)));
        let end = last.map_or(token.end, |last| last.end) as usize;
        found.push(RowName { span: (token.start as usize, end), new: name == "new", column });
    }
    found
}

/// A condition in which a column has another name.
pub(crate) fn renamed(text: &str, from: &str, to: &str) -> String {
    let mut changed = text.to_owned();
    for named in row_names(text).into_iter().rev() {
        if let Some((name, (start, end))) = named.column
            && name == from
        {
            changed.replace_range(start..end, &quoted_identifier(to));
        }
    }
    changed
}

/// A condition in which whole rows are lists of their columns.
pub(crate) fn spread(text: &str, table: &TableDef) -> String {
    let mut changed = text.to_owned();
    for named in row_names(text).into_iter().rev().filter(|named| named.column.is_none()) {
        let row = if named.new { "new" } else { "old" };
        let columns: Vec<String> =
            table.visible().map(|(_, column)| format!("{row}.{}", quoted_identifier(&column.name))).collect();
        changed.replace_range(named.span.0..named.span.1, &format!("ROW({})", columns.join(", ")));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_conditions_get_other_names() {
        let text = "NEW.a > 1 AND old.\"a\" < 'new.a' AND x.new.a = 2 AND NEW.b = OLD.a";
        let expected = "NEW.z > 1 AND old.z < 'new.a' AND x.new.a = 2 AND NEW.b = OLD.z";
        assert_eq!(renamed(text, "a", "z"), expected);
        assert_eq!(renamed("new.a = old.b", "b", "B c"), "new.a = old.\"B c\"");
        let whole: Vec<bool> =
            row_names("OLD.* IS DISTINCT FROM NEW").iter().map(|named| named.column.is_none()).collect();
        assert_eq!(whole, [true, true]);
    }
}
