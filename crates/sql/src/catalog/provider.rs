//! Virtual tables: views of the system's whose rows are made when they are read.
//!
//! A *provider* makes the rows of one such view. The catalogs of `pg_catalog` have providers of this crate; what shows
//! engines, sessions and resources is registered by the server ([`super::Catalogs::register`]), before the first engine
//! runs, so that every process has it. A provider is an object of the process, never of the region.
//!
//! Rules
//! 1. A provider makes all rows at once, when the scan begins: they are of one moment, and nothing of the provider is
//!    alive while the statement waits.
//! 2. It takes no lock over a wait, and reads counters as they are.

use super::Catalog;
use super::definition::TableDef;
use super::privilege::{Guard, Rights};
use crate::types::array::{Dimension, encode};
use crate::types::{Datum, Oid, stored, table};
use base::{Result, SessionId};

/// What a provider may ask about the session that reads.
pub struct ViewContext<'c> {
    /// What is known of tables and schemas.
    pub catalog: &'c Catalog<'c>,
    /// The session's settings.
    pub settings: &'c crate::session::SettingsView<'c>,
    /// The stored tables; none in a tool.
    pub relations: Option<&'static storage::relation::Relations>,
    /// The session that reads; none in a tool.
    pub session: Option<SessionId>,
    /// What the session has prepared and opened.
    pub held: &'c dyn crate::session::held::Held,
    /// Whose privileges are in force.
    pub role: Oid,
    /// The name of its user.
    pub user: &'c str,
    /// The name of its database.
    pub database: &'c str,
}

impl ViewContext<'_> {
    /// Has the reader one of some privileges on a table?
    pub fn has(&self, table: &TableDef, rights: Rights) -> bool {
        self.catalog.definitions.rights(self.role, Guard::relation(table), rights) != 0
    }

    /// Has the reader the privileges of a role?
    pub fn is(&self, role: Oid) -> bool {
        self.catalog.definitions.has_privileges_of(self.role, role)
    }

    /// May the reader see what every session does?
    pub fn sees_all_statistics(&self) -> bool {
        /// `pg_read_all_stats`
        const READ_ALL_STATISTICS: Oid = Oid(3375);
        self.is(READ_ALL_STATISTICS)
    }

    /// May the reader do everything?
    pub fn is_superuser(&self) -> bool {
        self.catalog.definitions.is_superuser(self.role)
    }
}

/// Makes the rows of one virtual table.
pub trait Provider: Send + Sync {
    /// Gives all rows to `rows`.
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()>;
}

impl<F> Provider for F
where
    F: Fn(&ViewContext<'_>, &mut RowSink) -> Result<()> + Send + Sync,
{
    fn rows(&self, context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
        self(context, rows)
    }
}

/// A column of a virtual table, as a server registers it.
#[derive(Clone, Copy, Debug)]
pub struct ViewColumn {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub ty: Oid,
}

/// Where rows gather: each a list of values in their stored form.
#[derive(Debug)]
pub struct RowSink {
    kinds: Vec<(Oid, crate::types::Kind)>,
    bytes: Vec<u8>,
    /// Where each value of each row begins; an odd number is null.
    starts: Vec<u32>,
    rows: usize,
}

const NULL: u32 = u32::MAX;

impl RowSink {
    /// A sink for rows of these types.
    pub fn new(types: impl IntoIterator<Item = Oid>) -> RowSink {
        let kinds = types
            .into_iter()
            .map(|oid| (oid, table::by_oid(oid).map_or(crate::types::Kind::Refused, |row| row.kind)))
            .collect();
        RowSink { kinds, bytes: Vec::new(), starts: Vec::new(), rows: 0 }
    }

    /// Begins a row; values follow in the order of the columns, and missing ones at the end are null.
    pub fn row(&mut self) -> RowBuilder<'_> {
        let at = self.starts.len();
        RowBuilder { sink: self, at }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True while there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// A value.
    pub fn value(&self, row: usize, column: usize) -> Result<Datum<'_>> {
        match self.starts[row * self.kinds.len() + column] {
            NULL => Ok(Datum::Null),
            start => stored::get(self.kinds[column].1, &self.bytes, start as usize).map(|(datum, _)| datum),
        }
    }
}

/// Builds a row of a [`RowSink`].
#[derive(Debug)]
#[must_use]
pub struct RowBuilder<'s> {
    sink: &'s mut RowSink,
    at: usize,
}

impl RowBuilder<'_> {
    /// The next value, of its column's kind.
    pub fn datum(self, datum: Datum<'_>) -> Self {
        let column = self.sink.starts.len() - self.at;
        assert!(column < self.sink.kinds.len(), "a provider gives more values than its view has columns");
        let start = self.sink.bytes.len() as u32;
        let put = match datum {
            Datum::Null => false,
            datum => stored::put(self.sink.kinds[column].1, datum, &mut self.sink.bytes).is_ok(),
        };
        self.sink.starts.push(if put { start } else { NULL });
        self
    }

    /// Null.
    pub fn null(self) -> Self {
        self.datum(Datum::Null)
    }

    /// So many nulls.
    pub fn nulls(mut self, count: usize) -> Self {
        for _ in 0..count {
            self = self.null();
        }
        self
    }

    /// A text or name.
    pub fn text(self, text: &str) -> Self {
        self.datum(Datum::text(text))
    }

    /// A text or name, or null.
    pub fn maybe_text(self, text: Option<&str>) -> Self {
        self.datum(text.map_or(Datum::Null, Datum::text))
    }

    /// A number of any integer type, `oid`, date or time.
    pub fn int(self, value: impl Into<i64>) -> Self {
        self.datum(Datum::Int(value.into()))
    }

    /// The same, or null.
    pub fn maybe(self, value: Option<impl Into<i64>>) -> Self {
        self.datum(value.map_or(Datum::Null, |value| Datum::Int(value.into())))
    }

    /// A count, which shows as the greatest `bigint` if it is larger.
    pub fn count(self, value: u64) -> Self {
        self.datum(Datum::Int(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    /// An `oid`.
    pub fn oid(self, oid: Oid) -> Self {
        self.datum(Datum::Int(oid.0.into()))
    }

    /// A boolean.
    pub fn bool(self, value: bool) -> Self {
        self.datum(Datum::Bool(value))
    }

    /// A value as a file spells it: `-` is null.
    pub(super) fn word(self, word: &str) -> Self {
        use crate::types::Kind;
        let column = self.sink.starts.len() - self.at;
        let kind = self.sink.kinds.get(column).map_or(Kind::Refused, |known| known.1);
        match (kind, word.parse()) {
            (_, _) if word == "-" => self.null(),
            (Kind::Char, _) => self.char(word.bytes().next().unwrap_or_default()),
            (Kind::Bool, _) => self.bool(word == "t"),
            (Kind::Text | Kind::Name, _) => self.text(word),
            (_, Ok(number)) => self.datum(Datum::Int(number)),
            _ => self.null(),
        }
    }

    /// A `"char"`.
    pub fn char(self, value: u8) -> Self {
        self.datum(Datum::Int(value.into()))
    }

    /// A floating-point number.
    pub fn float(self, value: f64) -> Self {
        self.datum(Datum::Float(value))
    }

    /// An array, or a vector, of values of the column's element type.
    pub fn array(self, items: &[Datum<'_>]) -> Self {
        let column = self.sink.starts.len() - self.at;
        let (oid, kind) = self.sink.kinds.get(column).copied().unwrap_or((Oid::NONE, crate::types::Kind::Refused));
        let element = table::element_of(oid).unwrap_or(Oid::NONE);
        let bytes = match kind {
            crate::types::Kind::Vector => crate::types::array::encode_vector(element, items),
            _ if items.is_empty() => encode(element, &[], &[]),
            _ => encode(element, &[Dimension { length: items.len() as u32, lower: 1 }], items),
        };
        match bytes {
            Ok(bytes) => self.datum(Datum::Bytes(&bytes)),
            Err(_) => self.null(),
        }
    }

    /// An array of texts, or null.
    pub fn maybe_texts(self, items: Option<&[String]>) -> Self {
        match items {
            Some(items) => self.array(&items.iter().map(|item| Datum::text(item)).collect::<Vec<_>>()),
            None => self.null(),
        }
    }

    /// Ends the row.
    pub fn end(self) {
        drop(self);
    }
}

impl Drop for RowBuilder<'_> {
    fn drop(&mut self) {
        self.sink.starts.resize(self.at + self.sink.kinds.len(), NULL);
        self.sink.rows += 1;
    }
}
