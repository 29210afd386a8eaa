//! What the server knows of a table: columns, indexes, constraints, and where its rows are.
//!
//! A definition is a value that never changes: DDL makes a new one, under the same number. Binder and planner read it;
//! what an execution needs of it (storages, kinds, keys) is copied into the plan, so no execution reads a definition.
//!
//! Rules
//! 1. Columns are numbered from one, as users see them (`attnum`), and indexed from zero in code: `number = index + 1`.
//! 2. A dropped column keeps its place, because rows that are stored still have it.

use super::schema::FIRST_USER_OID;
use super::trigger::TriggerDef;
use super::view::ViewDef;
use crate::lexer::{Lexer, TokenKind};
use crate::types::{Kind, Oid, Type, stored, table, typmod};
use base::{RelId, Xid};

/// What kind of relation a definition is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RelationKind {
    /// A table whose rows are stored.
    Table = b'r',
    /// A view: a query under a name, or one of the system's, whose rows the server makes.
    View = b'v',
    /// A sequence: what is stored is its counter.
    Sequence = b'S',
}

/// How long a relation stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// Until it is dropped.
    Permanent,
    /// The same; its rows may be lost in a crash, and are not.
    Unlogged,
    /// As long as the session that made it.
    Temporary(OnCommit),
}

impl Persistence {
    /// `relpersistence`
    pub fn letter(self) -> u8 {
        match self {
            Persistence::Permanent => b'p',
            Persistence::Unlogged => b'u',
            Persistence::Temporary(_) => b't',
        }
    }

    /// Is it a session's own?
    pub fn is_temporary(self) -> bool {
        matches!(self, Persistence::Temporary(_))
    }
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum OnCommit {
    /// Nothing.
    Preserve = b'p',
    /// Its rows go.
    Delete = b'd',
    /// It goes.
    Drop = b'x',
}

/// Where a relation's rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// In a heap of pages.
    Stored(RelId),
    /// Made when they are read, by the provider of that index.
    Made(u32),
    /// There are none of its own: a catalog of something that the server has not, or a view, whose query gives them.
    None,
}

/// A table, or a view of the system's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableDef {
    /// Its number.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Oid,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: RelationKind,
    /// Where its rows are.
    pub rows: Rows,
    /// How long it stays.
    pub persistence: Persistence,
    /// The role that owns it.
    pub owner: Oid,
    /// Its columns, dropped ones included.
    pub columns: Vec<ColumnDef>,
    /// Its indexes.
    pub indexes: Vec<IndexDef>,
    /// Where its large values are.
    pub pieces: Option<PiecesDef>,
    /// Its constraints, but for `NOT NULL`.
    pub constraints: Vec<ConstraintDef>,
    /// Foreign keys of other tables that refer to this one.
    pub referenced_by: Vec<Referrer>,
    /// Storage options as they were written: `fillfactor=100`.
    pub options: Vec<(String, String)>,
    /// The index in whose order its rows were put last.
    pub clustered: Option<Oid>,
    /// The transaction that has put its rows where they are, if that was not one of those that made them: who has an older snapshot
    /// does not see them there.
    pub since: Xid,
    /// False for a statement whose snapshot is older than that.
    pub usable: bool,
    /// What was said of it, its columns, indexes and constraints.
    pub comments: Vec<Comment>,
    /// What a sequence is.
    pub sequence: Option<SequenceDef>,
    /// What a view is that is a query.
    pub view: Option<ViewDef>,
    /// Its triggers, in the order of their names.
    pub triggers: Vec<TriggerDef>,
    /// How many times the definition was changed; plans made from an older one are not used any more.
    pub version: u64,
}

/// The relation that has a table's large values, in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PiecesDef {
    /// Its number.
    pub oid: Oid,
    /// Where they are.
    pub storage: RelId,
}

/// What `COMMENT` says of something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// The number of the table, its index or its constraint.
    pub of: Oid,
    /// The column's number, counted from one; zero for the whole.
    pub column: u16,
    /// What it says.
    pub text: String,
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its type: of a domain the one that it is made of.
    pub ty: Type,
    /// The domain that its values are of.
    pub domain: Option<Oid>,
    /// True if null is not allowed.
    pub not_null: bool,
    /// The text of its default, in which relations have their numbers.
    pub default: Option<String>,
    /// Sequences that the default names.
    pub uses: Vec<Oid>,
    /// Its values are computed: the default is the expression.
    pub generated: bool,
    /// Its values come from its own sequence.
    pub identity: Option<Identity>,
    /// True if it is gone.
    pub dropped: bool,
}

impl ColumnDef {
    /// A column of that name and type, and nothing else.
    pub fn plain(name: &str, ty: Type) -> ColumnDef {
        ColumnDef {
            name: name.to_owned(),
            ty,
            domain: None,
            not_null: false,
            default: None,
            uses: Vec::new(),
            generated: false,
            identity: None,
            dropped: false,
        }
    }
}

/// What a client may say of the value of an identity column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Identity {
    /// `GENERATED ALWAYS`: nothing, unless it overrides.
    Always = b'a',
    /// `GENERATED BY DEFAULT`: anything.
    ByDefault = b'd',
}

/// What a sequence is, but for its counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceDef {
    /// Its type: `smallint`, `integer` or `bigint`.
    pub ty: Oid,
    /// The value that it begins with, and begins anew with.
    pub start: i64,
    /// The step from one value to the next; not zero.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The largest value.
    pub max: i64,
    /// How many values a session takes at once.
    pub cache: i64,
    /// True if it begins anew at its end.
    pub cycle: bool,
    /// The column with which it goes.
    pub owner: Option<SequenceOwner>,
}

/// The column that a sequence belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequenceOwner {
    /// The table.
    pub table: Oid,
    /// The column, counted from zero.
    pub column: u16,
    /// True if the sequence is a part of the column: an identity's.
    pub identity: bool,
}

/// An index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexDef {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// Where its entries are.
    pub storage: RelId,
    /// True if no two rows may have the same key.
    pub unique: bool,
    /// True if it is the primary key's.
    pub primary: bool,
    /// The constraint that it belongs to.
    pub constraint: Option<Oid>,
    /// Its columns, in order.
    pub columns: Vec<IndexColumn>,
    /// The expressions of those columns that are none of the table's, in their order.
    pub expressions: Vec<StoredExpr>,
    /// The rows that it has entries for; none for all of them.
    pub predicate: Option<StoredExpr>,
    /// Columns that `INCLUDE` names: they are not a part of the key.
    pub included: Vec<u16>,
    /// Are nulls distinct from one another, where the index is unique?
    pub nulls_distinct: bool,
    /// Storage options as they were written.
    pub options: Vec<(String, String)>,
    /// The transaction that built it: it has no entries for versions that only older snapshots see.
    pub since: Xid,
    /// False for a statement whose snapshot is older than the index: it is kept up, and not searched.
    pub usable: bool,
}

/// A column of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexColumn {
    /// The table's column, counted from zero; none for an expression.
    pub column: Option<u16>,
    /// Sorted from the largest.
    pub descending: bool,
    /// Null before everything else.
    pub nulls_first: bool,
    /// An operator class for patterns was named, as `text_pattern_ops`. Text compares by its bytes anyway, so that it only has to be told.
    pub pattern: bool,
}

impl IndexColumn {
    /// A column of the table, from the least value, nulls last.
    pub fn ascending(column: u16) -> IndexColumn {
        IndexColumn { column: Some(column), descending: false, nulls_first: false, pattern: false }
    }
}

/// An expression over the columns of one row, stored as its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredExpr {
    /// The text.
    pub text: String,
    /// What a column would be called that has its values.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// The columns that it names.
    pub columns: Vec<u16>,
}

impl StoredExpr {
    /// The text: in parentheses, unless it is a call.
    pub fn shown(&self) -> String {
        if is_call(&self.text) { self.text.clone() } else { format!("({})", self.text) }
    }

    /// The text as it stands among the columns of an index, in parentheses that are the list's.
    pub fn shown_in_list(&self) -> String {
        if is_call(&self.text) { self.text.clone() } else { format!("(({}))", self.text) }
    }

    /// The text as it stands after `WHERE`: in parentheses, unless it is a name or a call.
    pub fn shown_condition(&self) -> String {
        let mut lexer = Lexer::new(&self.text);
        let is_name = |kind| matches!(kind, TokenKind::Word | TokenKind::QuotedName);
        let is_plain = lexer.next_token().is_ok_and(|token| is_name(token.kind))
            && lexer.next_token().is_ok_and(|token| token.kind == TokenKind::End);
        if is_plain { self.text.clone() } else { self.shown() }
    }
}

/// An expression's text without the parentheses around all of it.
pub fn without_parentheses(text: &str) -> &str {
    let mut text = text.trim();
    while text.starts_with('(') && closing(text, 0) == Some(text.len()) {
        text = text[1..text.len() - 1].trim();
    }
    text
}

/// Is a text one call of a function?
fn is_call(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    loop {
        let Ok(name) = lexer.next_token() else { return false };
        if !matches!(name.kind, TokenKind::Word | TokenKind::QuotedName) {
            return false;
        }
        match lexer.next_token() {
            Ok(token) if token.kind == TokenKind::Dot => continue,
            Ok(token) if token.kind == TokenKind::ParenOpen => {
                return closing(text, token.start as usize) == Some(text.len());
            }
            _ => return false,
        }
    }
}

/// Where the parenthesis ends that opens at a byte.
fn closing(text: &str, start: usize) -> Option<usize> {
    let mut lexer = Lexer::starting_at(text, start);
    let mut depth = 0u32;
    loop {
        let token = lexer.next_token().ok()?;
        match token.kind {
            TokenKind::ParenOpen => depth += 1,
            TokenKind::ParenClose => depth = depth.checked_sub(1)?,
            TokenKind::End => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(token.end as usize);
        }
    }
}

impl IndexDef {
    /// An index of such columns that is not built yet.
    pub fn new(name: String, columns: Vec<IndexColumn>, unique: bool) -> IndexDef {
        IndexDef {
            oid: Oid::NONE,
            name,
            storage: RelId(0),
            unique,
            primary: false,
            constraint: None,
            columns,
            expressions: Vec::new(),
            predicate: None,
            included: Vec::new(),
            nulls_distinct: true,
            options: Vec::new(),
            since: Xid(0),
            usable: true,
        }
    }

    /// Has it an entry for every row, of columns of the table only?
    pub fn is_plain(&self) -> bool {
        self.expressions.is_empty() && self.predicate.is_none()
    }

    /// The columns of the table that are its key, if they are all of it and it has an entry for every row.
    pub fn key_columns(&self) -> Option<Vec<u16>> {
        if !self.is_plain() {
            return None;
        }
        self.columns.iter().map(|part| part.column).collect()
    }

    /// The expression that stands in the place of a column.
    pub fn expression(&self, at: usize) -> Option<&StoredExpr> {
        let before = self.columns.iter().take(at).filter(|part| part.column.is_none()).count();
        self.expressions.get(before).filter(|_| self.columns.get(at).is_some_and(|part| part.column.is_none()))
    }

    /// The type of a column's values.
    pub fn column_type(&self, table: &TableDef, at: usize) -> Type {
        match (self.columns.get(at).and_then(|part| part.column), self.expression(at)) {
            (Some(column), _) => table.columns[usize::from(column)].ty,
            (None, Some(expression)) => expression.ty,
            (None, None) => Type::plain(Oid::UNKNOWN),
        }
    }

    /// The columns of the table that decide about its entries.
    pub fn reads(&self) -> Vec<u16> {
        let mut columns: Vec<u16> = self.columns.iter().filter_map(|part| part.column).collect();
        columns.extend(self.expressions.iter().chain(&self.predicate).flat_map(|expression| &expression.columns));
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstraintDef {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: String,
    /// What it demands.
    pub kind: ConstraintKind,
    /// False with `NOT VALID`: rows that were there before it are not known to keep it.
    pub validated: bool,
    /// Whether its check may wait for the transaction's end.
    pub deferral: Deferral,
}

/// Whether the check of a constraint may wait for the transaction's end.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(u8)]
pub enum Deferral {
    /// `NOT DEFERRABLE`
    #[default]
    Never = 0,
    /// `DEFERRABLE`: where `SET CONSTRAINTS` says so.
    Immediate = 1,
    /// `DEFERRABLE INITIALLY DEFERRED`: unless `SET CONSTRAINTS` says otherwise.
    Deferred = 2,
}

impl Deferral {
    /// The one with that number.
    pub fn from_number(number: u32) -> Option<Deferral> {
        [Deferral::Never, Deferral::Immediate, Deferral::Deferred].into_iter().find(|known| *known as u32 == number)
    }

    /// `DEFERRABLE`
    pub fn may_wait(self) -> bool {
        self != Deferral::Never
    }

    /// `INITIALLY DEFERRED`
    pub fn waits(self) -> bool {
        self == Deferral::Deferred
    }

    /// What is said of it behind a constraint, with a space before it.
    pub fn shown(self) -> &'static str {
        match self {
            Deferral::Never => "",
            Deferral::Immediate => " DEFERRABLE",
            Deferral::Deferred => " DEFERRABLE INITIALLY DEFERRED",
        }
    }
}

/// What a constraint demands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConstraintKind {
    /// The columns are unique and not null; by the index of that number.
    PrimaryKey(Oid),
    /// The columns are unique; by the index of that number.
    Unique(Oid),
    /// The expression is not false; its text.
    Check(String),
    /// The columns are a key of another table.
    ForeignKey(ForeignKey),
}

/// A foreign key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignKey {
    /// The columns that refer, counted from zero.
    pub columns: Vec<u16>,
    /// The table that is referred to.
    pub table: Oid,
    /// Its columns.
    pub referenced: Vec<u16>,
    /// Its index on them.
    pub index: Oid,
    /// What happens when the key changes.
    pub on_update: Action,
    /// What happens when the row goes away.
    pub on_delete: Action,
    /// `MATCH FULL`: all columns are null, or none.
    pub full: bool,
    /// The columns that `ON DELETE SET NULL (…)` or `SET DEFAULT (…)` names; all of them if it names none.
    pub set_columns: Vec<u16>,
}

impl ForeignKey {
    /// The columns that change when the row goes away, where they get another value.
    pub fn changed_on_delete(&self) -> &[u16] {
        if self.set_columns.is_empty() { &self.columns } else { &self.set_columns }
    }
}

/// What happens to rows that refer to one that goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Action {
    /// An error at the statement's end.
    NoAction = b'a',
    /// An error at once.
    Restrict = b'r',
    /// They go too.
    Cascade = b'c',
    /// They refer to nothing.
    SetNull = b'n',
    /// They get their columns' defaults.
    SetDefault = b'd',
}

/// A foreign key of another table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Referrer {
    /// The table that refers.
    pub table: Oid,
    /// Its constraint.
    pub constraint: Oid,
}

impl TableDef {
    /// The columns that users see, with their indexes.
    pub fn visible(&self) -> impl Iterator<Item = (usize, &ColumnDef)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.dropped)
    }

    /// The index of the column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.visible().find(|(_, column)| column.name == name).map(|(index, _)| index)
    }

    /// Forgets comments on what is gone.
    pub fn prune_comments(&mut self) {
        let (own, columns, indexes, constraints) = (self.oid, &self.columns, &self.indexes, &self.constraints);
        self.comments.retain(|comment| match usize::from(comment.column) {
            0 => {
                comment.of == own
                    || indexes.iter().any(|index| index.oid == comment.of)
                    || constraints.iter().any(|constraint| constraint.oid == comment.of)
            }
            number => comment.of == own && columns.get(number - 1).is_some_and(|column| !column.dropped),
        });
    }

    /// Are there columns whose values are computed?
    pub fn has_generated(&self) -> bool {
        self.columns.iter().any(|column| column.generated)
    }

    /// May a row of it be so long that its values have to be kept elsewhere?
    pub fn may_be_long(&self) -> bool {
        let mut size = 0_usize;
        for column in self.columns.iter().filter(|column| !column.dropped) {
            let kind = table::kind(column.ty.oid);
            size += match (stored::width(kind), kind) {
                (Some(width), _) => width,
                (None, Kind::Name) => 64,
                // A number has as many digits as the upper half of its modifier says, and two fit a byte.
                (None, Kind::Numeric) if column.ty.typmod >= 0 => (column.ty.typmod >> 16) as usize,
                (None, Kind::Text | Kind::Bpchar) => match typmod::length_limit(column.ty.typmod) {
                    Some(characters) => characters.saturating_mul(4),
                    None => return true,
                },
                (None, _) => return true,
            };
        }
        size > crate::large::ROW_TARGET
    }

    /// What it is, as messages say it.
    pub fn word(&self) -> &'static str {
        match self.kind {
            RelationKind::Table => "table",
            RelationKind::View => "view",
            RelationKind::Sequence => "sequence",
        }
    }

    /// Is it a user's: are there locks on it, and does its definition lie in the catalog's heap?
    pub fn is_users(&self) -> bool {
        matches!(self.rows, Rows::Stored(_)) || self.view.is_some() && self.oid.0 >= FIRST_USER_OID
    }

    /// The index of that number.
    pub fn index(&self, oid: Oid) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.oid == oid)
    }

    /// Whether the check of an index's uniqueness may wait.
    pub fn deferral_of(&self, index: &IndexDef) -> Deferral {
        let constraint = index.constraint.and_then(|oid| self.constraints.iter().find(|known| known.oid == oid));
        constraint.map_or(Deferral::Never, |constraint| constraint.deferral)
    }

    /// Are the rows of a unique index different at any time, also in the middle of a transaction?
    pub fn is_always_unique(&self, index: &IndexDef) -> bool {
        index.unique && !self.deferral_of(index).may_wait()
    }

    /// The index of the primary key.
    pub fn primary_key(&self) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| index.primary)
    }
}
