//! Random changes: `INSERT`, `UPDATE`, `DELETE` in their longer forms, with what they return.

use super::expression::Scope;
use super::query::{Maker, columns_of, separated};
use super::schema::Table;
use super::text::{Text, text};

impl Maker<'_> {
    /// A statement that changes rows of a table, and the table.
    pub fn change(&mut self) -> Option<(Text, String)> {
        let writable: Vec<Table> = self.tables.iter().filter(|table| table.writable).cloned().collect();
        let table = writable.get(self.rng.usize(..writable.len().max(1)))?.clone();
        let change = match self.rng.u8(..6) {
            0 => self.insert(&table),
            1 => self.insert_or_update(&table),
            2 => self.delete(&table, false),
            3 => self.delete(&table, true),
            4 => self.update(&table, true),
            _ => self.update(&table, false),
        };
        let columns = columns_of(&table, &table.name);
        let list = (0..self.rng.usize(1..4)).map(|_| columns[self.rng.usize(..columns.len())].kind).collect::<Vec<_>>();
        let scope = Scope::of(columns);
        let list: Vec<Text> = list.into_iter().map(|kind| self.expression(kind, 1, &scope)).collect();
        if self.rng.u8(..4) == 0 {
            // What it gives is read by the statement around it, which sees the table as it was before.
            let names: Vec<String> = (1..=list.len()).map(|number| format!("c{number}")).collect();
            let (names, list) = (names.join(", "), Text::List(separated(list)));
            let before = match self.rng.u8(..3) {
                0 => Text::none(),
                1 => format!(", (SELECT count(*) FROM {})", table.name).into(),
                _ => ", (SELECT count(*) FROM m)".into(),
            };
            let query =
                text![format!("WITH m({names}) AS ("), change, " RETURNING ", list, ") SELECT m.*", before, " FROM m"];
            return Some((query, table.name));
        }
        Some((text![change, Text::optional(text![" RETURNING ", Text::List(separated(list))])], table.name))
    }

    fn insert(&mut self, table: &Table) -> Text {
        let kinds: Vec<_> = table.columns[1..].iter().map(|(_, kind)| *kind).collect();
        let query = self.query(&kinds, 2, &Scope::default());
        let names: Vec<String> = (1..=kinds.len()).map(|number| format!("c{number}")).collect();
        let all = names.join(", ");
        // Keys by the rows' whole order, so that both servers give a row the same.
        text![
            format!(
                "INSERT INTO {} SELECT CAST(1000 + row_number() OVER (ORDER BY {all}) AS integer), {all} FROM (",
                table.name
            ),
            query,
            format!(") AS q({all})")
        ]
    }

    fn insert_or_update(&mut self, table: &Table) -> Text {
        let name = &table.name;
        let mut rows = Vec::new();
        let first = self.rng.u8(1..10);
        for number in 0..self.rng.u8(1..4) {
            let mut row: Vec<Text> = vec![(first + number * 3).to_string().into()];
            row.extend(
                table.columns[1..]
                    .iter()
                    .map(|(_, kind)| self.expression(*kind, 1, &Scope::default()))
                    .collect::<Vec<_>>(),
            );
            rows.push(text!["(", Text::List(separated(row)), ")"]);
        }
        let (column, kind) = table.columns[self.rng.usize(1..table.columns.len())];
        let mut columns = columns_of(table, name);
        columns.extend(columns_of(table, "excluded"));
        let scope = Scope::of(columns);
        let action = match self.rng.u8(..3) {
            0 => "NOTHING".into(),
            _ => {
                let value = self.expression(kind, 2, &scope);
                let filter = Text::optional(text![" WHERE ", self.condition(1, &scope)]);
                text![format!("UPDATE SET {column} = "), value, filter]
            }
        };
        text![format!("INSERT INTO {name} VALUES "), Text::joined(rows, ", "), " ON CONFLICT (id) DO ", action]
    }

    fn update(&mut self, table: &Table, from: bool) -> Text {
        let name = &table.name;
        let mut columns = columns_of(table, name);
        let other = match from {
            // A row of the key: with several partners, who wins would be chance.
            true => {
                let alias = self.name('o');
                let count = table.columns.len();
                columns.extend(columns_of(table, &alias).into_iter().take(count));
                text![format!(" FROM {name} AS {alias} WHERE {alias}.id = {name}.id + {} AND ", self.rng.u8(..3))]
            }
            false => " WHERE ".into(),
        };
        let scope = Scope::of(columns);
        let mut sets = Vec::new();
        let mut targets: Vec<_> = table.columns[1..].to_vec();
        self.rng.shuffle(&mut targets);
        for (column, kind) in targets.into_iter().take(self.rng.usize(1..3)) {
            sets.push(text![format!("{column} = "), self.expression(kind, 2, &scope)]);
        }
        let condition = self.condition(2, &scope);
        text![format!("UPDATE {name} SET "), Text::joined(sets, ", "), other, condition.or(["true".into()])]
    }

    fn delete(&mut self, table: &Table, using: bool) -> Text {
        let name = &table.name;
        let mut columns = columns_of(table, name);
        let other = match using {
            true => {
                let (alias, of) = (self.name('o'), self.tables[self.rng.usize(..self.tables.len())].clone());
                columns.extend(columns_of(&of, &alias));
                format!(" USING {} AS {alias}", of.name)
            }
            false => String::new(),
        };
        let condition = self.condition(2, &Scope::of(columns));
        text![format!("DELETE FROM {name}{other} WHERE "), condition.or(["true".into()])]
    }
}
