//! Random queries: joins, groups, windows, set operations, subqueries wherever they may stand.
//!
//! A query is asked for by the types of its columns, so that it can stand anywhere. Where it says how many rows it gives, it says their whole
//! order too.

use super::expression::{Column, Scope};
use super::kind::{KINDS, Kind};
use super::schema::Table;
use super::text::{Text, text};
use fastrand::Rng;

/// Makes statements over tables.
pub struct Maker<'m> {
    /// Chance.
    pub rng: &'m mut Rng,
    /// What there is.
    pub tables: &'m [Table],
    /// How many queries may still be put into the statement.
    pub subqueries: u32,
    /// The common tables in sight.
    commons: Vec<Table>,
    names: u32,
}

/// A statement, and whether the order of its rows counts.
pub struct Made {
    /// What it is.
    pub text: Text,
    /// It says how all of its rows are ordered.
    pub ordered: bool,
}

impl<'m> Maker<'m> {
    /// A maker of one statement.
    pub fn new(rng: &'m mut Rng, tables: &'m [Table]) -> Maker<'m> {
        let subqueries = rng.u32(..4);
        Maker { rng, tables, subqueries, commons: Vec::new(), names: 0 }
    }

    /// A name that nothing else has.
    pub fn name(&mut self, letter: char) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn kinds(&mut self, count: usize) -> Vec<Kind> {
        (0..count).map(|_| KINDS[self.rng.usize(..KINDS.len())]).collect()
    }

    /// A whole query.
    pub fn statement(&mut self) -> Made {
        let with = match self.rng.u8(..12) {
            0 | 1 => self.with(),
            2 => self.recursive(),
            _ => Text::none(),
        };
        let count = self.rng.usize(1..5);
        let kinds = self.kinds(count);
        let query = self.query(&kinds, 3, &Scope::default());
        let ordered = self.rng.u8(..3) == 0;
        let text = match ordered {
            true => text![with, query, " ", self.order(kinds.len())],
            false => text![with, query],
        };
        Made { text, ordered }
    }

    fn with(&mut self) -> Text {
        let mut list = Vec::new();
        for _ in 0..self.rng.usize(1..3) {
            let kinds = {
                let count = self.rng.usize(1..4);
                self.kinds(count)
            };
            let query = self.query(&kinds, 1, &Scope::default());
            let name = self.name('w');
            let word = [" AS (", " AS MATERIALIZED (", " AS NOT MATERIALIZED ("][self.rng.usize(..3)];
            let columns: Vec<(&'static str, Kind)> = ["x", "y", "z"].into_iter().zip(kinds).collect();
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            list.push(text![format!("{name} ({})", names.join(", ")), word, query, ")"]);
            self.commons.push(Table { name, columns, writable: false });
        }
        text!["WITH ", Text::joined(list, ", "), " "]
    }

    /// A recursion that ends: it counts, or its rows are few and given once.
    fn recursive(&mut self) -> Text {
        let kind = [Kind::Integer, Kind::Text, Kind::Array, Kind::Numeric, Kind::Date][self.rng.usize(..5)];
        let (name, table) = (self.name('w'), self.tables[self.rng.usize(..self.tables.len())].clone());
        let (row, other) = (self.name('r'), self.name('o'));
        let mut columns =
            vec![Column { name: format!("{row}.n"), kind: Kind::Integer }, Column { name: format!("{row}.x"), kind }];
        let typed = |value: Text, kind: Kind| text!["CAST(", value, format!(" AS {})", kind.name())];
        if self.rng.u8(..3) == 0 {
            let (first, next) = (
                self.expression(Kind::Integer, 1, &Scope::default()),
                self.expression(Kind::Integer, 2, &Scope::of(columns[..1].to_vec())),
            );
            let text = text![
                format!("WITH RECURSIVE {name}(n) AS (SELECT abs("),
                first,
                ") % 9 UNION SELECT abs(",
                next,
                format!(" % 1000) % 9 FROM {name} AS {row}) ")
            ];
            self.commons.push(Table { name, columns: vec![("n", Kind::Integer)], writable: false });
            return text;
        }
        let join = match self.rng.u8(..3) {
            0 => Text::none(),
            way => {
                columns.extend(columns_of(&table, &other));
                let word = if way == 1 { " JOIN " } else { " LEFT JOIN " };
                let far = self.rng.u8(..3);
                Text::from(format!("{word}{} AS {other} ON {other}.id = {row}.n + {far}", table.name))
            }
        };
        let scope = Scope::of(columns);
        let (first, next) = (self.expression(kind, 1, &Scope::default()), self.expression(kind, 2, &scope));
        let filter = Text::optional(text![" AND ", self.condition(1, &scope)]);
        let word = [" UNION ALL SELECT ", " UNION SELECT "][self.rng.usize(..2)];
        let text = text![
            format!("WITH RECURSIVE {name}(n, x) AS (SELECT g, "),
            typed(first, kind),
            " FROM generate_series(1, 2) AS g",
            word,
            format!("{row}.n + 1, "),
            typed(next, kind),
            format!(" FROM {name} AS {row}"),
            join,
            format!(" WHERE {row}.n < {}", self.rng.u8(2..7)),
            filter,
            ") "
        ];
        self.commons.push(Table { name, columns: vec![("n", Kind::Integer), ("x", kind)], writable: false });
        text
    }

    /// The whole order of rows, and perhaps how many of them.
    fn order(&mut self, width: usize) -> Text {
        let mut text = "ORDER BY ".to_string();
        for column in 1..=width {
            let how = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"][self.rng.usize(..4)];
            text += &format!("{}{column}{how}", if column > 1 { ", " } else { "" });
        }
        let limit = match self.rng.u8(..3) {
            0 => Text::optional(format!(" LIMIT {}", self.rng.u8(..20))),
            1 => Text::optional(format!(" LIMIT {} OFFSET {}", self.rng.u8(..20), self.rng.u8(..5))),
            _ => Text::none(),
        };
        text![text, limit]
    }

    /// A query with columns of these types.
    pub fn query(&mut self, kinds: &[Kind], depth: u32, around: &Scope) -> Text {
        match self.rng.u8(..10) {
            0 if depth > 0 => {
                let word = [" UNION ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " EXCEPT ALL ", " INTERSECT ALL "];
                let word = word[self.rng.usize(..word.len())];
                let (one, other) = (self.select(kinds, depth - 1, around), self.select(kinds, depth - 1, around));
                text!["(", one.clone(), word, other.clone(), ")"].or([one, other])
            }
            1 if depth > 0 && !kinds.is_empty() => {
                let rows = (0..self.rng.usize(1..4)).map(|_| {
                    let row = kinds.iter().map(|kind| self.expression(*kind, 1, around)).collect();
                    text!["(", Text::List(separated(row)), ")"]
                });
                let rows = rows.collect();
                text!["(VALUES ", Text::joined(rows, ", "), ")"]
            }
            // The first of equal rows: equal in all columns, for all that is seen.
            2 if depth > 0 && !kinds.is_empty() && self.rng.bool() => {
                let keys = self.rng.usize(1..=kinds.len());
                let list = |count: usize| (1..=count).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
                let (from, own) = self.from(depth - 1, around);
                let mut columns = own;
                columns.extend(around.columns.iter().cloned());
                let targets = self.targets(kinds, &Scope::of(columns), depth);
                let alias = self.name('q');
                text![
                    format!("SELECT {alias}.* FROM (SELECT DISTINCT ON ({}) ", list(keys)),
                    targets,
                    from,
                    format!(" ORDER BY {}) AS {alias}", list(kinds.len()))
                ]
            }
            _ => self.select(kinds, depth, around),
        }
    }

    fn select(&mut self, kinds: &[Kind], depth: u32, around: &Scope) -> Text {
        let (from, own) = self.from(depth, around);
        let mut columns = own.clone();
        columns.extend(around.columns.iter().cloned());
        let rows = Scope::of(columns.clone());
        let filter = match self.rng.u8(..3) {
            0 => Text::none(),
            _ => Text::optional(text![" WHERE ", self.condition(depth.min(2), &rows)]),
        };
        match self.rng.u8(..6) {
            0 => self.grouped(kinds, depth, &own, around, text![from, filter]),
            1 => {
                let scope = Scope { windows: true, ..rows };
                let list = self.targets(kinds, &scope, depth);
                text!["SELECT ", list, from, filter]
            }
            _ => {
                let distinct = if self.rng.u8(..6) == 0 { Text::optional("DISTINCT ") } else { Text::none() };
                let list = self.targets(kinds, &rows, depth);
                text!["SELECT ", distinct, list, from, filter]
            }
        }
    }

    fn targets(&mut self, kinds: &[Kind], scope: &Scope, depth: u32) -> Text {
        let list = kinds.iter().map(|kind| self.expression(*kind, depth.min(2), scope)).collect();
        Text::List(separated(list))
    }

    fn grouped(&mut self, kinds: &[Kind], depth: u32, own: &[Column], around: &Scope, from: Text) -> Text {
        let mut keys: Vec<Column> = (0..self.rng.usize(..4)).map(|_| self.key(own)).collect();
        keys.sort_by(|one, other| one.name.cmp(&other.name));
        keys.dedup_by(|one, other| one.name == other.name);
        let names: Vec<String> = keys.iter().map(|key| key.name.clone()).collect();
        let all = names.join(", ");
        let (first, rest) = (names.first().cloned().unwrap_or_default(), names.get(1..).unwrap_or_default().join(", "));
        let (by, several) = match (names.len(), self.rng.u8(..12)) {
            (0, 0) => (" GROUP BY ()".into(), false),
            (0, _) => (String::new(), false),
            (_, 0) => (format!(" GROUP BY ROLLUP ({all})"), true),
            (_, 1) => (format!(" GROUP BY CUBE ({all})"), true),
            (_, 2) => (format!(" GROUP BY GROUPING SETS (({all}), ())"), true),
            (_, 3) => (format!(" GROUP BY GROUPING SETS ({all}, ROLLUP ({all}))"), true),
            (_, 4) => (format!(" GROUP BY DISTINCT ROLLUP ({all}), CUBE ({first})"), true),
            (2.., 5) => (format!(" GROUP BY {first}, ROLLUP ({rest})"), true),
            (2.., 6) => (format!(" GROUP BY GROUPING SETS (({all}), ({first}), ({rest}), ())"), true),
            (2.., 7) => (format!(" GROUP BY ROLLUP (({all}), {first})"), true),
            _ => (format!(" GROUP BY {all}"), false),
        };
        keys.extend(around.columns.iter().cloned());
        let keys_asked = if several { names } else { Vec::new() };
        let scope = Scope { columns: keys, rows: Some(own.to_vec()), windows: false, keys: keys_asked };
        let list = self.targets(kinds, &scope, depth);
        let having = match self.rng.u8(..3) {
            0 => Text::optional(text![" HAVING ", self.condition(1, &scope)]),
            _ => Text::none(),
        };
        text!["SELECT ", list, from, by, having]
    }

    /// A key to group by: a column, or what is computed of one.
    fn key(&mut self, own: &[Column]) -> Column {
        let of = own[self.rng.usize(..own.len())].clone();
        let name = match (of.kind, self.rng.u8(..4)) {
            (Kind::Integer, 0) => format!("({} % 3)", of.name),
            (Kind::Text, 0) => format!("upper({})", of.name),
            (Kind::Timestamp, 0) => format!("date_trunc('year', {})", of.name),
            (Kind::Boolean, 0) => format!("({} IS NULL)", of.name),
            _ => of.name,
        };
        Column { name, kind: of.kind }
    }

    /// A function of columns to the left of it.
    fn function(&mut self, left: &[Column]) -> Option<(Text, Vec<Column>)> {
        let of = left.get(self.rng.usize(..left.len().max(1)))?.clone();
        let alias = self.name('u');
        let column = |name: &str, kind| Column { name: format!("{alias}.{name}"), kind };
        Some(match of.kind {
            Kind::Integer => (
                format!("generate_series(1, least(abs({}), 4)) AS {alias}(v)", of.name).into(),
                vec![column("v", Kind::Integer)],
            ),
            Kind::Array => (
                format!("unnest({}) WITH ORDINALITY AS {alias}(v, o)", of.name).into(),
                vec![column("v", Kind::Integer), column("o", Kind::Bigint)],
            ),
            Kind::Json => {
                let typed = |name: &str| format!("CASE jsonb_typeof({0}) WHEN '{name}' THEN {0} END", of.name);
                match self.rng.bool() {
                    true => (
                        format!("jsonb_each({}) AS {alias}(k, v)", typed("object")).into(),
                        vec![column("k", Kind::Text), column("v", Kind::Json)],
                    ),
                    false => (
                        format!("jsonb_array_elements({}) AS {alias}(v)", typed("array")).into(),
                        vec![column("v", Kind::Json)],
                    ),
                }
            }
            _ => return None,
        })
    }

    /// What is selected from, and its columns.
    fn from(&mut self, depth: u32, around: &Scope) -> (Text, Vec<Column>) {
        let (mut text, mut columns) = self.item(depth, around);
        for _ in 0..[0, 0, 1, 1, 2, 3][self.rng.usize(..6)] {
            if self.rng.u8(..8) == 0
                && let Some((item, more)) = self.function(&columns)
            {
                let (word, condition) = [(" CROSS JOIN ", ""), (" LEFT JOIN ", " ON true")][self.rng.usize(..2)];
                columns.extend(more);
                let joined = text![text.clone(), word, item, condition];
                text = joined.or([text]);
                continue;
            }
            let lateral = self.rng.u8(..8) == 0 && depth > 0;
            let word = match (lateral, self.rng.u8(..8)) {
                (_, 0..=2) => " JOIN ",
                (_, 3 | 4) => " LEFT JOIN ",
                (true, _) => " CROSS JOIN ",
                (_, 5) => " RIGHT JOIN ",
                (_, 6) => " FULL JOIN ",
                _ => " CROSS JOIN ",
            };
            let (item, more) = match lateral {
                true => {
                    let mut sight = Scope::of(columns.clone());
                    sight.columns.extend(around.columns.iter().cloned());
                    let (query, columns) = self.derived(depth - 1, &sight);
                    (text!["LATERAL ", query], columns)
                }
                false => self.item(depth, around),
            };
            let condition = match word {
                " CROSS JOIN " => Text::none(),
                _ => text![" ON ", self.join_condition(&columns, &more, word == " FULL JOIN ")],
            };
            columns.extend(more);
            let joined = text![text.clone(), word, item, condition];
            text = joined.or([text]);
        }
        (text![" FROM ", text], columns)
    }

    /// Pairs of columns that are equal, and perhaps something else. A full join takes pairs alone: others are refused by PostgreSQL.
    fn join_condition(&mut self, left: &[Column], right: &[Column], pairs_only: bool) -> Text {
        let mut list = Vec::new();
        for _ in 0..self.rng.usize(1..3) {
            let one = left[self.rng.usize(..left.len())].clone();
            let fitting: Vec<&Column> = right.iter().filter(|column| column.kind == one.kind).collect();
            if !fitting.is_empty() {
                let other = fitting[self.rng.usize(..fitting.len())].name.clone();
                list.push(text![one.name, " = ", other]);
            }
        }
        if list.is_empty() || (!pairs_only && self.rng.u8(..4) == 0) {
            let columns = left.iter().chain(right).cloned().collect();
            match pairs_only {
                true => list.push("true".into()),
                false => list.push(self.condition(1, &Scope::of(columns))),
            }
        }
        Text::joined(list, " AND ")
    }

    fn item(&mut self, depth: u32, around: &Scope) -> (Text, Vec<Column>) {
        match self.rng.u8(..8) {
            0 if depth > 0 && self.subqueries > 0 => {
                let sight = Scope::of(around.columns.clone());
                self.derived(depth - 1, &sight)
            }
            1 => {
                let alias = self.name('g');
                let column = Column { name: format!("{alias}.v"), kind: Kind::Integer };
                (
                    format!("generate_series({}, {}) AS {alias}(v)", self.rng.i8(-1..3), self.rng.u8(..9)).into(),
                    vec![column],
                )
            }
            _ => {
                let table = match self.commons.is_empty() || self.rng.bool() {
                    true => self.tables[self.rng.usize(..self.tables.len())].clone(),
                    false => self.commons[self.rng.usize(..self.commons.len())].clone(),
                };
                let alias = self.name('a');
                let column = |(name, kind): &(&str, Kind)| Column { name: format!("{alias}.{name}"), kind: *kind };
                let columns = table.columns.iter().map(column).collect();
                (format!("{} AS {alias}", table.name).into(), columns)
            }
        }
    }

    /// A query in brackets, with a name.
    fn derived(&mut self, depth: u32, around: &Scope) -> (Text, Vec<Column>) {
        self.subqueries = self.subqueries.saturating_sub(1);
        let count = self.rng.usize(1..4);
        let kinds = self.kinds(count);
        let query = self.query(&kinds, depth, around);
        let order = if self.rng.u8(..4) == 0 { text![" ", self.order(kinds.len())] } else { Text::none() };
        let alias = self.name('q');
        let names: Vec<String> = (1..=kinds.len()).map(|number| format!("c{number}")).collect();
        let columns =
            names.iter().zip(&kinds).map(|(name, kind)| Column { name: format!("{alias}.{name}"), kind: *kind });
        let columns = columns.collect();
        (text!["(", query, order, ") AS ", format!("{alias}({})", names.join(", "))], columns)
    }

    /// A query as a value: an aggregate, or the first of its rows.
    pub fn scalar_query(&mut self, kind: Kind, scope: &Scope) -> Text {
        self.subqueries -= 1;
        let sight = scope.within();
        if self.rng.bool() {
            let query = self.query(&[kind], 1, &sight);
            return text!["(", query, " ORDER BY 1 LIMIT 1)"];
        }
        let (from, own) = self.from(1, &sight);
        let mut columns = own.clone();
        columns.extend(sight.columns.iter().cloned());
        let filter = self.condition(1, &Scope::of(columns));
        let list = self.targets(&[kind], &Scope { rows: Some(own), ..Scope::default() }, 1);
        // Without an aggregate among its columns it would give a row for each.
        text!["(SELECT ", list, " ", from, " WHERE ", filter, " HAVING count(*) >= 0)"]
    }

    /// A condition on a query's rows.
    pub fn query_condition(&mut self, kind: Kind, scope: &Scope) -> Text {
        self.subqueries -= 1;
        let sight = scope.within();
        let query = self.query(&[kind], 1, &sight);
        match self.rng.u8(..4) {
            0 => text!["EXISTS (", query, ")"],
            1 => text!["NOT EXISTS (", query, ")"],
            2 => {
                let word = [" IN (", " NOT IN ("][self.rng.usize(..2)];
                text!["(", self.expression(kind, 1, &sight), word, query, "))"]
            }
            _ => {
                let word = [" = ANY (", " < ALL (", " <> ALL (", " >= ANY ("][self.rng.usize(..4)];
                text!["(", self.expression(kind, 1, &sight), word, query, "))"]
            }
        }
    }
}

/// A table's columns by an alias.
pub fn columns_of(table: &Table, alias: &str) -> Vec<Column> {
    let column = |(name, kind): &(&str, Kind)| Column { name: format!("{alias}.{name}"), kind: *kind };
    table.columns.iter().map(column).collect()
}

/// Parts with commas between, none of which may be left out.
pub fn separated(parts: Vec<Text>) -> Vec<Text> {
    let mut list = Vec::new();
    for part in parts {
        if !list.is_empty() {
            list.push(", ".into());
        }
        list.push(part);
    }
    list
}
