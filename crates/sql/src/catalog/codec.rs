//! Definitions as bytes: how the catalog's heap keeps them, in parts ([`super::part`]).
//!
//! ```text
//!  image  of a table: numbers little-endian, texts and lists with a u32 length before them, in the order of `TableDef`
//! ```
//!
//! Rules
//! 1. Bytes are checked as they are read: what is no definition is refused with [`Error::corruption`], never unwrapped.

use super::database::DatabaseDef;
use super::default_acl::{DefaultAcl, Made};
use super::definition::{
    Action, ColumnDef, Comment, ConstraintDef, ConstraintKind, Deferral, ForeignKey, Identity, IndexColumn, IndexDef,
    OnCommit, Persistence, PiecesDef, Referrer, RelationKind, Rows, SequenceDef, SequenceOwner, StoredExpr, TableDef,
};
use super::part::damaged;
use super::privilege::{AclItem, ObjectAcl};
use super::role::{self, Membership, RoleDef};
use super::role_settings::StoredSettings;
use super::routine::{ParameterDef, RoutineDef};
use super::schema::SchemaDef;
use super::trigger::TriggerDef;
use super::user_type::{LabelDef, UserTypeDef};
use super::view::{Piece, ViewDef};
use crate::parser::ast::CheckOption;
use crate::types::{Oid, Type};
use base::codec::Reader;
use base::{Error, RelId, Result, Xid};

pub use super::part::ObjectClass;

/// The most items of a list: more is damage.
const ITEMS_MAX: u32 = 1 << 20;

/// How large a table is, as `VACUUM` and `ANALYZE` found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Its rows.
    pub rows: u64,
    /// Its pages.
    pub pages: u32,
}

// ---- images

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bool(&mut self, value: bool) {
        self.u8(value.into());
    }

    fn text(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn list<T>(&mut self, items: &[T], mut one: impl FnMut(&mut Writer, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| one(self, item));
    }

    fn options(&mut self, options: &[(String, String)]) {
        self.list(options, |writer, (name, value)| {
            writer.text(name);
            writer.text(value);
        });
    }

    fn columns(&mut self, columns: &[u16]) {
        self.list(columns, |writer, column| writer.u16(*column));
    }
}

struct Parser<'a>(Reader<'a>);

impl Parser<'_> {
    fn u8(&mut self) -> Result<u8> {
        self.0.u8_le().ok_or_else(damaged)
    }

    fn u16(&mut self) -> Result<u16> {
        self.0.u16_le().ok_or_else(damaged)
    }

    fn u32(&mut self) -> Result<u32> {
        self.0.u32_le().ok_or_else(damaged)
    }

    fn u64(&mut self) -> Result<u64> {
        self.0.u64_le().ok_or_else(damaged)
    }

    fn oid(&mut self) -> Result<Oid> {
        self.u32().map(Oid)
    }

    fn bool(&mut self) -> Result<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(damaged()),
        }
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u32()? as usize;
        let bytes = self.0.bytes(length).ok_or_else(damaged)?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| damaged())
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.u32()?;
        if count > ITEMS_MAX {
            return Err(damaged());
        }
        // The memory follows what is really there.
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(one(self)?);
        }
        Ok(items)
    }

    fn options(&mut self) -> Result<Vec<(String, String)>> {
        self.list(|parser| Ok((parser.text()?, parser.text()?)))
    }

    fn columns(&mut self) -> Result<Vec<u16>> {
        self.list(Self::u16)
    }

    fn end<T>(self, value: T) -> Result<T> {
        if self.0.is_empty() { Ok(value) } else { Err(damaged()) }
    }
}

/// A type's definition as bytes.
pub fn user_type_image(ty: &UserTypeDef) -> Vec<u8> {
    let mut writer = Writer(Vec::with_capacity(256));
    writer.u32(ty.oid.0);
    writer.u64(ty.version);
    writer.u32(ty.schema.0);
    writer.text(&ty.name);
    writer.u32(ty.owner.0);
    writer.list(&ty.labels, |writer, label| {
        writer.u32(label.oid.0);
        writer.text(&label.name);
        writer.u64(label.position as u64);
        writer.u64(label.since.0);
    });
    writer.0
}

/// The type of an image.
pub fn user_type(image: &[u8]) -> Result<UserTypeDef> {
    let mut parser = Parser(Reader::new(image));
    let ty = UserTypeDef {
        oid: parser.oid()?,
        version: parser.u64()?,
        schema: parser.oid()?,
        name: parser.text()?,
        owner: parser.oid()?,
        labels: parser.list(|parser| {
            let (oid, name) = (parser.oid()?, parser.text()?);
            Ok(LabelDef { oid, name, position: parser.u64()? as i64, since: base::Xid(parser.u64()?) })
        })?,
    };
    parser.end(ty)
}

/// A function's or a procedure's definition as bytes.
pub fn routine_image(routine: &RoutineDef) -> Vec<u8> {
    let mut writer = Writer(Vec::with_capacity(256));
    writer.u32(routine.oid.0);
    writer.u64(routine.version);
    writer.u8(routine.kind);
    writer.u32(routine.schema.0);
    writer.text(&routine.name);
    writer.u32(routine.owner.0);
    writer.text(&routine.language);
    writer.list(&routine.parameters, |writer, parameter| {
        writer.u8(parameter.mode);
        writer.text(&parameter.name);
        writer.u32(parameter.ty.oid.0);
        writer.u32(parameter.ty.typmod as u32);
        writer.bool(parameter.default.is_some());
        writer.text(parameter.default.as_deref().unwrap_or(""));
    });
    writer.u32(routine.result.0);
    writer.u32(routine.rows_of.unwrap_or(Oid::NONE).0);
    writer.bool(routine.set);
    writer.u8(routine.volatility);
    writer.bool(routine.strict);
    writer.bool(routine.leakproof);
    writer.u8(routine.parallel);
    routine.costs.iter().for_each(|bits| writer.u32(*bits));
    writer.text(&routine.body);
    writer.bool(routine.definer);
    writer.options(&routine.settings);
    writer.bool(routine.variadic);
    writer.0
}

/// The function or procedure of an image.
pub fn routine(image: &[u8]) -> Result<RoutineDef> {
    let mut parser = Parser(Reader::new(image));
    let routine = RoutineDef {
        oid: parser.oid()?,
        version: parser.u64()?,
        kind: parser.u8()?,
        schema: parser.oid()?,
        name: parser.text()?,
        owner: parser.oid()?,
        language: parser.text()?,
        parameters: parser.list(|parser| {
            let (mode, name) = (parser.u8()?, parser.text()?);
            let ty = Type { oid: parser.oid()?, typmod: parser.u32()? as i32 };
            let has_default = parser.bool()?;
            let default = Some(parser.text()?).filter(|_| has_default);
            Ok(ParameterDef { mode, name, ty, default })
        })?,
        result: parser.oid()?,
        rows_of: Some(parser.oid()?).filter(|oid| !oid.is_none()),
        set: parser.bool()?,
        volatility: parser.u8()?,
        strict: parser.bool()?,
        leakproof: parser.bool()?,
        parallel: parser.u8()?,
        costs: [parser.u32()?, parser.u32()?],
        body: parser.text()?,
        definer: parser.bool()?,
        settings: parser.options()?,
        // Images from before there were such parameters end here.
        variadic: !parser.0.is_empty() && parser.bool()?,
    };
    parser.end(routine)
}

/// A table's definition as bytes.
pub fn table_image(table: &TableDef) -> Vec<u8> {
    let mut writer = Writer(Vec::with_capacity(256));
    writer.u32(table.oid.0);
    writer.u32(table.schema.0);
    writer.text(&table.name);
    writer.u8(table.kind as u8);
    writer.u32(match table.rows {
        Rows::Stored(rel) => rel.0,
        Rows::Made(_) | Rows::None => 0,
    });
    writer.u32(table.owner.0);
    writer.list(&table.columns, |writer, column| {
        writer.text(&column.name);
        writer.u32(column.ty.oid.0);
        writer.u32(column.ty.typmod as u32);
        writer.bool(column.not_null);
        writer.bool(column.default.is_some());
        writer.text(column.default.as_deref().unwrap_or(""));
        writer.list(&column.uses, |writer, oid| writer.u32(oid.0));
        writer.bool(column.generated);
        writer.u8(column.identity.map_or(0, |identity| identity as u8));
        writer.bool(column.dropped);
    });
    writer.list(&table.indexes, |writer, index| {
        writer.u32(index.oid.0);
        writer.text(&index.name);
        writer.u32(index.storage.0);
        writer.bool(index.unique);
        writer.bool(index.primary);
        writer.u32(index.constraint.unwrap_or(Oid::NONE).0);
        writer.list(&index.columns, |writer, column| {
            writer.u16(column.column.unwrap_or(EXPRESSION));
            writer.bool(column.descending);
            writer.bool(column.nulls_first);
            writer.bool(column.pattern);
        });
        writer.list(&index.expressions, stored_expr_image);
        writer.list(index.predicate.as_slice(), stored_expr_image);
        writer.columns(&index.included);
        writer.bool(index.nulls_distinct);
        writer.options(&index.options);
        writer.u64(index.since.0);
    });
    writer.list(&table.constraints, |writer, constraint| {
        writer.u32(constraint.oid.0);
        writer.text(&constraint.name);
        match &constraint.kind {
            ConstraintKind::PrimaryKey(index) => {
                writer.u8(b'p');
                writer.u32(index.0);
            }
            ConstraintKind::Unique(index) => {
                writer.u8(b'u');
                writer.u32(index.0);
            }
            ConstraintKind::Check(text) => {
                writer.u8(b'c');
                writer.text(text);
            }
            ConstraintKind::ForeignKey(key) => {
                writer.u8(b'f');
                writer.columns(&key.columns);
                writer.u32(key.table.0);
                writer.columns(&key.referenced);
                writer.u32(key.index.0);
                writer.u8(key.on_update as u8);
                writer.u8(key.on_delete as u8);
                writer.bool(key.full);
                writer.columns(&key.set_columns);
            }
        }
        writer.bool(constraint.validated);
        writer.u8(constraint.deferral as u8);
    });
    writer.list(&table.referenced_by, |writer, referrer| {
        writer.u32(referrer.table.0);
        writer.u32(referrer.constraint.0);
    });
    writer.options(&table.options);
    writer.u64(table.version);
    writer.list(&table.comments, |writer, comment| {
        writer.u32(comment.of.0);
        writer.u16(comment.column);
        writer.text(&comment.text);
    });
    writer.bool(table.sequence.is_some());
    if let Some(sequence) = &table.sequence {
        sequence_image(&mut writer, sequence);
    }
    writer.bool(table.view.is_some());
    if let Some(view) = &table.view {
        view_image(&mut writer, view);
    }
    writer.list(&table.triggers, trigger_image);
    writer.u8(match table.persistence {
        Persistence::Permanent => 0,
        Persistence::Unlogged => b'u',
        Persistence::Temporary(on_commit) => on_commit as u8,
    });
    writer.u32(table.clustered.unwrap_or(Oid::NONE).0);
    writer.u64(table.since.0);
    writer.bool(table.pieces.is_some());
    if let Some(pieces) = table.pieces {
        writer.u32(pieces.oid.0);
        writer.u32(pieces.storage.0);
    }
    writer.0
}

/// Stands for a column of an index that is none of the table's.
const EXPRESSION: u16 = u16::MAX;

fn stored_expr_image(writer: &mut Writer, expression: &StoredExpr) {
    writer.text(&expression.text);
    writer.text(&expression.name);
    writer.u32(expression.ty.oid.0);
    writer.u32(expression.ty.typmod as u32);
    writer.columns(&expression.columns);
}

fn stored_expr(parser: &mut Parser<'_>) -> Result<StoredExpr> {
    Ok(StoredExpr {
        text: parser.text()?,
        name: parser.text()?,
        ty: Type { oid: parser.oid()?, typmod: parser.u32()? as i32 },
        columns: parser.columns()?,
    })
}

fn trigger_image(writer: &mut Writer, trigger: &TriggerDef) {
    writer.u32(trigger.oid.0);
    writer.text(&trigger.name);
    writer.u32(trigger.function.0);
    writer.u16(trigger.kind);
    writer.u8(trigger.enabled);
    writer.columns(&trigger.columns);
    for text in [&trigger.condition, &trigger.old_table, &trigger.new_table] {
        writer.bool(text.is_some());
        writer.text(text.as_deref().unwrap_or(""));
    }
    writer.list(&trigger.arguments, |writer, argument| writer.text(argument));
    writer.u32(trigger.constraint.unwrap_or(Oid::NONE).0);
    writer.u8(trigger.deferral as u8);
}

fn trigger(parser: &mut Parser<'_>) -> Result<TriggerDef> {
    let (oid, name, function) = (parser.oid()?, parser.text()?, parser.oid()?);
    let (kind, enabled, columns) = (parser.u16()?, parser.u8()?, parser.columns()?);
    let mut text = || {
        let (is_there, text) = (parser.bool()?, parser.text()?);
        Ok::<_, Error>(Some(text).filter(|_| is_there))
    };
    let (condition, old_table, new_table) = (text()?, text()?, text()?);
    let arguments = parser.list(Parser::text)?;
    let constraint = Some(parser.oid()?).filter(|oid| !oid.is_none());
    let deferral = deferral(parser.u8()?)?;
    if !b"ODRA".contains(&enabled) {
        return Err(damaged());
    }
    Ok(TriggerDef {
        oid,
        name,
        function,
        kind,
        enabled,
        columns,
        condition,
        arguments,
        old_table,
        new_table,
        constraint,
        deferral,
    })
}

fn sequence_image(writer: &mut Writer, sequence: &SequenceDef) {
    writer.u32(sequence.ty.0);
    for number in [sequence.start, sequence.increment, sequence.min, sequence.max, sequence.cache] {
        writer.u64(number as u64);
    }
    writer.bool(sequence.cycle);
    let owner = sequence.owner;
    writer.u32(owner.map_or(Oid::NONE, |owner| owner.table).0);
    writer.u16(owner.map_or(0, |owner| owner.column));
    writer.bool(owner.is_some_and(|owner| owner.identity));
}

fn sequence(parser: &mut Parser<'_>) -> Result<SequenceDef> {
    let ty = parser.oid()?;
    let mut number = || parser.u64().map(|number| number as i64);
    let (start, increment, min, max, cache) = (number()?, number()?, number()?, number()?, number()?);
    let cycle = parser.bool()?;
    let owner = SequenceOwner { table: parser.oid()?, column: parser.u16()?, identity: parser.bool()? };
    if increment == 0 || cache < 1 || min >= max {
        return Err(damaged());
    }
    let owner = Some(owner).filter(|owner| !owner.table.is_none());
    Ok(SequenceDef { ty, start, increment, min, max, cache, cycle, owner })
}

fn view_image(writer: &mut Writer, view: &ViewDef) {
    writer.list(&view.pieces, |writer, piece| match piece {
        Piece::Text(text) => {
            writer.u8(b't');
            writer.text(text);
        }
        Piece::Routine(oid) => {
            writer.u8(b'f');
            writer.u32(oid.0);
        }
        Piece::Relation { oid, alias } => {
            writer.u8(b'r');
            writer.u32(oid.0);
            writer.bool(alias.is_some());
            writer.text(alias.as_deref().unwrap_or(""));
        }
        Piece::Column { oid, column, label } => {
            writer.u8(b'c');
            writer.u32(oid.0);
            writer.u16(*column);
            writer.bool(label.is_some());
            writer.text(label.as_deref().unwrap_or(""));
        }
    });
    writer.list(&view.fixed, |writer, (oid, column)| {
        writer.u32(oid.0);
        writer.u16(*column);
    });
    writer.u8(view.check.map_or(0, |check| check as u8));
}

fn view(parser: &mut Parser<'_>) -> Result<ViewDef> {
    let optional = |parser: &mut Parser<'_>| {
        let is_there = parser.bool()?;
        Ok(Some(parser.text()?).filter(|_| is_there))
    };
    Ok(ViewDef {
        pieces: parser.list(|parser| {
            Ok(match parser.u8()? {
                b't' => Piece::Text(parser.text()?),
                b'f' => Piece::Routine(parser.oid()?),
                b'r' => Piece::Relation { oid: parser.oid()?, alias: optional(parser)? },
                b'c' => Piece::Column { oid: parser.oid()?, column: parser.u16()?, label: optional(parser)? },
                _ => return Err(damaged()),
            })
        })?,
        fixed: parser.list(|parser| Ok((parser.oid()?, parser.u16()?)))?,
        check: match parser.u8()? {
            0 => None,
            b'l' => Some(CheckOption::Local),
            b'c' => Some(CheckOption::Cascaded),
            _ => return Err(damaged()),
        },
    })
}

fn persistence(byte: u8) -> Result<Persistence> {
    Ok(match byte {
        0 => Persistence::Permanent,
        b'u' => Persistence::Unlogged,
        b'p' => Persistence::Temporary(OnCommit::Preserve),
        b'd' => Persistence::Temporary(OnCommit::Delete),
        b'x' => Persistence::Temporary(OnCommit::Drop),
        _ => return Err(damaged()),
    })
}

fn kind(byte: u8) -> Result<RelationKind> {
    [RelationKind::Table, RelationKind::View, RelationKind::Sequence]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
        .ok_or_else(damaged)
}

fn identity(byte: u8) -> Result<Option<Identity>> {
    match byte {
        0 => Ok(None),
        b'a' => Ok(Some(Identity::Always)),
        b'd' => Ok(Some(Identity::ByDefault)),
        _ => Err(damaged()),
    }
}

fn action(byte: u8) -> Result<Action> {
    [Action::NoAction, Action::Restrict, Action::Cascade, Action::SetNull, Action::SetDefault]
        .into_iter()
        .find(|action| *action as u8 == byte)
        .ok_or_else(damaged)
}

fn deferral(byte: u8) -> Result<Deferral> {
    Deferral::from_number(byte.into()).ok_or_else(damaged)
}

fn constraint(parser: &mut Parser<'_>) -> Result<ConstraintDef> {
    let (oid, name) = (parser.oid()?, parser.text()?);
    let kind = match parser.u8()? {
        b'p' => ConstraintKind::PrimaryKey(parser.oid()?),
        b'u' => ConstraintKind::Unique(parser.oid()?),
        b'c' => ConstraintKind::Check(parser.text()?),
        b'f' => ConstraintKind::ForeignKey(ForeignKey {
            columns: parser.columns()?,
            table: parser.oid()?,
            referenced: parser.columns()?,
            index: parser.oid()?,
            on_update: action(parser.u8()?)?,
            on_delete: action(parser.u8()?)?,
            full: parser.bool()?,
            set_columns: parser.columns()?,
        }),
        _ => return Err(damaged()),
    };
    Ok(ConstraintDef { oid, name, kind, validated: parser.bool()?, deferral: deferral(parser.u8()?)? })
}

fn index(parser: &mut Parser<'_>) -> Result<IndexDef> {
    Ok(IndexDef {
        oid: parser.oid()?,
        name: parser.text()?,
        storage: RelId(parser.u32()?),
        unique: parser.bool()?,
        primary: parser.bool()?,
        constraint: Some(parser.oid()?).filter(|oid| !oid.is_none()),
        columns: parser.list(|parser| {
            Ok(IndexColumn {
                column: Some(parser.u16()?).filter(|column| *column != EXPRESSION),
                descending: parser.bool()?,
                nulls_first: parser.bool()?,
                pattern: parser.bool()?,
            })
        })?,
        expressions: parser.list(stored_expr)?,
        predicate: match parser.list(stored_expr)?.as_mut_slice() {
            [] => None,
            [one] => Some(one.clone()),
            _ => return Err(damaged()),
        },
        included: parser.columns()?,
        nulls_distinct: parser.bool()?,
        options: parser.options()?,
        since: Xid(parser.u64()?),
        usable: true,
    })
}

/// The table that these bytes define.
pub fn table(image: &[u8]) -> Result<TableDef> {
    let mut parser = Parser(Reader::new(image));
    let mut table = TableDef {
        oid: parser.oid()?,
        schema: parser.oid()?,
        name: parser.text()?,
        kind: kind(parser.u8()?)?,
        rows: Rows::Stored(RelId(parser.u32()?)),
        persistence: Persistence::Permanent,
        owner: parser.oid()?,
        columns: parser.list(|parser| {
            let name = parser.text()?;
            let ty = Type { oid: parser.oid()?, typmod: parser.u32()? as i32 };
            let (not_null, has_default, default) = (parser.bool()?, parser.bool()?, parser.text()?);
            let default = Some(default).filter(|_| has_default);
            let uses = parser.list(Parser::oid)?;
            let (generated, identity) = (parser.bool()?, identity(parser.u8()?)?);
            Ok(ColumnDef { name, ty, not_null, default, uses, generated, identity, dropped: parser.bool()? })
        })?,
        indexes: parser.list(index)?,
        pieces: None,
        constraints: parser.list(constraint)?,
        referenced_by: parser.list(|parser| Ok(Referrer { table: parser.oid()?, constraint: parser.oid()? }))?,
        options: parser.options()?,
        version: parser.u64()?,
        clustered: None,
        since: Xid(0),
        usable: true,
        comments: parser
            .list(|parser| Ok(Comment { of: parser.oid()?, column: parser.u16()?, text: parser.text()? }))?,
        sequence: if parser.bool()? { Some(sequence(&mut parser)?) } else { None },
        view: if parser.bool()? { Some(view(&mut parser)?) } else { None },
        triggers: parser.list(trigger)?,
    };
    table.persistence = persistence(parser.u8()?)?;
    table.clustered = Some(parser.oid()?).filter(|oid| !oid.is_none());
    table.since = Xid(parser.u64()?);
    if parser.bool()? {
        table.pieces = Some(PiecesDef { oid: parser.oid()?, storage: RelId(parser.u32()?) });
    }
    if table.view.is_some() != (table.kind == RelationKind::View) {
        return Err(damaged());
    }
    if table.view.is_some() {
        table.rows = Rows::None;
    }
    let columns = table.columns.len();
    let in_range = |column: &u16| usize::from(*column) < columns;
    let indexed = table.indexes.iter().all(|index| {
        let expressions = index.columns.iter().filter(|part| part.column.is_none()).count();
        index.reads().iter().chain(&index.included).all(in_range) && index.expressions.len() == expressions
    });
    let constrained = table.constraints.iter().all(|constraint| match &constraint.kind {
        ConstraintKind::ForeignKey(key) => {
            key.columns.iter().chain(&key.set_columns).all(in_range) && key.columns.len() == key.referenced.len()
        }
        _ => true,
    });
    let triggered = table.triggers.iter().all(|trigger| trigger.columns.iter().all(in_range));
    if !indexed || !constrained || !triggered {
        return Err(damaged());
    }
    parser.end(table)
}

/// A schema as bytes.
pub fn schema_image(schema: &SchemaDef) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.text(&schema.name);
    writer.u32(schema.owner.0);
    writer.0
}

/// The schema that these bytes hold.
pub fn schema(image: &[u8]) -> Result<SchemaDef> {
    let mut parser = Parser(Reader::new(image));
    let schema = SchemaDef { name: parser.text()?, owner: parser.oid()? };
    parser.end(schema)
}

/// An object's privileges as bytes.
pub fn acl_image(acl: &ObjectAcl) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.bool(acl.items.is_some());
    writer.list(acl.items.as_deref().unwrap_or_default(), acl_item_image);
    writer.list(&acl.columns, |writer, (column, items)| {
        writer.u16(*column);
        writer.list(items, acl_item_image);
    });
    writer.0
}

fn acl_item_image(writer: &mut Writer, item: &AclItem) {
    writer.u32(item.grantee.0);
    writer.u32(item.grantor.0);
    writer.u16(item.rights);
    writer.u16(item.options);
}

fn acl_item(parser: &mut Parser<'_>) -> Result<AclItem> {
    Ok(AclItem { grantee: parser.oid()?, grantor: parser.oid()?, rights: parser.u16()?, options: parser.u16()? })
}

/// The privileges that these bytes hold.
pub fn acl(image: &[u8]) -> Result<ObjectAcl> {
    let mut parser = Parser(Reader::new(image));
    let is_there = parser.bool()?;
    let items = Some(parser.list(acl_item)?).filter(|_| is_there);
    let columns = parser.list(|parser| Ok((parser.u16()?, parser.list(acl_item)?)))?;
    parser.end(ObjectAcl { items, columns })
}

/// A list of default privileges as bytes.
pub fn default_acl_image(known: &DefaultAcl) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.u32(known.role.0);
    writer.u32(known.schema.0);
    writer.u8(known.made as u8);
    writer.list(&known.items, acl_item_image);
    writer.0
}

/// The list that these bytes hold.
pub fn default_acl(image: &[u8]) -> Result<DefaultAcl> {
    let mut parser = Parser(Reader::new(image));
    let (role, schema) = (parser.oid()?, parser.oid()?);
    let made = Made::from_letter(parser.u8()?).ok_or_else(damaged)?;
    let items = parser.list(acl_item)?;
    parser.end(DefaultAcl { role, schema, made, items })
}

/// Settings that sessions begin with as bytes.
pub fn settings_image(settings: &StoredSettings) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.u32(settings.database.0);
    writer.u32(settings.role.0);
    writer.options(&settings.values);
    writer.0
}

/// The settings that these bytes hold.
pub fn settings(image: &[u8]) -> Result<StoredSettings> {
    let mut parser = Parser(Reader::new(image));
    let settings = StoredSettings { database: parser.oid()?, role: parser.oid()?, values: parser.options()? };
    parser.end(settings)
}

/// A comment on an object of that catalog as bytes.
pub fn comment_image(class: Oid, text: &str) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.u32(class.0);
    writer.text(text);
    writer.0
}

/// The comment that these bytes hold.
pub fn comment(image: &[u8]) -> Result<(Oid, String)> {
    let mut parser = Parser(Reader::new(image));
    let comment = (parser.oid()?, parser.text()?);
    parser.end(comment)
}

/// Statistics as bytes.
pub fn statistics_image(statistics: Statistics) -> Vec<u8> {
    let mut writer = Writer(Vec::new());
    writer.u64(statistics.rows);
    writer.u32(statistics.pages);
    writer.0
}

/// The statistics that these bytes hold.
pub fn statistics(image: &[u8]) -> Result<Statistics> {
    let mut parser = Parser(Reader::new(image));
    let statistics = Statistics { rows: parser.u64()?, pages: parser.u32()? };
    parser.end(statistics)
}

/// A database as bytes.
pub fn database_image(database: &DatabaseDef) -> Vec<u8> {
    let mut writer = Writer(Vec::with_capacity(64));
    writer.u32(database.oid.0);
    writer.text(&database.name);
    writer.u32(database.owner.0);
    writer.u32(database.connection_limit as u32);
    writer.bool(database.lets_in);
    writer.bool(database.is_template);
    writer.text(&database.collate);
    writer.text(&database.ctype);
    writer.0
}

/// The database that these bytes hold.
pub fn database(image: &[u8]) -> Result<DatabaseDef> {
    let mut parser = Parser(Reader::new(image));
    let database = DatabaseDef {
        oid: parser.oid()?,
        name: parser.text()?,
        owner: parser.oid()?,
        connection_limit: parser.u32()? as i32,
        lets_in: parser.bool()?,
        is_template: parser.bool()?,
        collate: parser.text()?,
        ctype: parser.text()?,
    };
    parser.end(database)
}

/// A role as bytes.
pub fn role_image(role: &RoleDef) -> Vec<u8> {
    let mut writer = Writer(Vec::with_capacity(128));
    writer.u32(role.oid.0);
    writer.text(&role.name);
    writer.u8(role.flags);
    writer.u32(role.connection_limit as u32);
    writer.bool(role.password.is_some());
    writer.text(role.password.as_deref().unwrap_or(""));
    writer.bool(role.valid_until.is_some());
    writer.u64(role.valid_until.unwrap_or(0) as u64);
    writer.list(&role.member_of, |writer, membership| {
        writer.u32(membership.role.0);
        writer.u32(membership.grantor.0);
        writer.bool(membership.admin);
    });
    writer.0
}

/// The role that these bytes hold.
pub fn role(image: &[u8]) -> Result<RoleDef> {
    let mut parser = Parser(Reader::new(image));
    let (oid, name, flags) = (parser.oid()?, parser.text()?, parser.u8()?);
    let connection_limit = parser.u32()? as i32;
    let (has_password, password) = (parser.bool()?, parser.text()?);
    let (has_end, end) = (parser.bool()?, parser.u64()? as i64);
    let member_of =
        parser.list(|parser| Ok(Membership { role: parser.oid()?, grantor: parser.oid()?, admin: parser.bool()? }))?;
    if flags >> role::FLAGS != 0 {
        return Err(damaged());
    }
    let (password, valid_until) = (Some(password).filter(|_| has_password), Some(end).filter(|_| has_end));
    parser.end(RoleDef { oid, name, flags, connection_limit, password, valid_until, member_of })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{part, trigger};

    fn example() -> TableDef {
        let column = |name: &str, default: Option<&str>| ColumnDef {
            name: name.to_owned(),
            ty: Type { oid: Oid::INT4, typmod: -1 },
            not_null: default.is_none(),
            default: default.map(str::to_owned),
            uses: default.map(|_| Oid(16_700)).into_iter().collect(),
            generated: default.is_some(),
            identity: default.map(|_| Identity::ByDefault),
            dropped: name.is_empty(),
        };
        let expression = |text: &str| StoredExpr {
            text: text.to_owned(),
            name: "lower".to_owned(),
            ty: Type::plain(Oid::TEXT),
            columns: vec![0],
        };
        TableDef {
            oid: Oid(16_400),
            schema: Oid(2200),
            name: "t\u{e4}".to_owned(),
            kind: RelationKind::Table,
            rows: Rows::Stored(RelId(16_401)),
            owner: Oid(10),
            columns: vec![column("a", None), column("", Some("")), column("c", Some("1 + 1"))],
            indexes: vec![IndexDef {
                oid: Oid(16_402),
                name: "t_pkey".to_owned(),
                storage: RelId(16_403),
                unique: true,
                primary: true,
                constraint: Some(Oid(16_404)),
                columns: vec![
                    IndexColumn { column: Some(2), descending: true, nulls_first: true, pattern: true },
                    IndexColumn { column: None, ..IndexColumn::ascending(0) },
                ],
                expressions: vec![expression("lower(a)")],
                predicate: Some(expression("a > 0")),
                included: vec![1],
                nulls_distinct: false,
                options: vec![("fillfactor".to_owned(), "70".to_owned())],
                since: Xid(77),
                usable: true,
            }],
            pieces: Some(PiecesDef { oid: Oid(16_407), storage: RelId(16_408) }),
            persistence: Persistence::Temporary(OnCommit::Delete),
            clustered: Some(Oid(16_402)),
            since: Xid(99),
            usable: true,
            constraints: vec![
                ConstraintDef {
                    oid: Oid(16_404),
                    name: "t_pkey".to_owned(),
                    kind: ConstraintKind::PrimaryKey(Oid(16_402)),
                    validated: true,
                    deferral: Deferral::Immediate,
                },
                ConstraintDef {
                    oid: Oid(16_405),
                    name: "t_check".to_owned(),
                    kind: ConstraintKind::Check("a > 0".to_owned()),
                    validated: false,
                    deferral: Deferral::Never,
                },
                ConstraintDef {
                    oid: Oid(16_406),
                    name: "t_fkey".to_owned(),
                    kind: ConstraintKind::ForeignKey(ForeignKey {
                        columns: vec![0, 2],
                        table: Oid(16_500),
                        referenced: vec![1, 0],
                        index: Oid(16_501),
                        on_update: Action::Cascade,
                        on_delete: Action::SetNull,
                        full: true,
                        set_columns: vec![2],
                    }),
                    validated: true,
                    deferral: Deferral::Deferred,
                },
            ],
            referenced_by: vec![Referrer { table: Oid(16_600), constraint: Oid(16_601) }],
            options: vec![("fillfactor".to_owned(), "100".to_owned())],
            version: 1 << 40 | 3,
            comments: vec![Comment { of: Oid(16_400), column: 2, text: "it\u{e4}".to_owned() }],
            sequence: Some(SequenceDef {
                ty: Oid::INT8,
                start: 5,
                increment: -2,
                min: i64::MIN,
                max: 7,
                cache: 1,
                cycle: true,
                owner: Some(SequenceOwner { table: Oid(16_800), column: 3, identity: true }),
            }),
            view: None,
            triggers: vec![TriggerDef {
                oid: Oid(16_900),
                name: "tr\u{e4}".to_owned(),
                function: Oid(16_901),
                kind: trigger::ROW | trigger::UPDATE,
                enabled: b'O',
                columns: vec![0, 2],
                condition: Some("new.a > 0".to_owned()),
                arguments: vec![String::new(), "x".to_owned()],
                old_table: Some("o".to_owned()),
                new_table: None,
                constraint: Some(Oid(16_902)),
                deferral: Deferral::Deferred,
            }],
        }
    }

    #[test]
    fn a_view_is_read_as_it_was_written() {
        let view = ViewDef {
            pieces: vec![
                Piece::Text("select ".to_owned()),
                Piece::Column { oid: Oid(16_400), column: 2, label: Some("c".to_owned()) },
                Piece::Text(" from ".to_owned()),
                Piece::Relation { oid: Oid(16_400), alias: None },
            ],
            fixed: vec![(Oid(16_400), 1)],
            check: Some(CheckOption::Local),
        };
        let known = TableDef { kind: RelationKind::View, rows: Rows::None, view: Some(view), ..example() };
        assert_eq!(table(&table_image(&known)).unwrap(), known);
        // A view without a query, and a table with one, are damage.
        for wrong in [TableDef { view: None, ..known.clone() }, TableDef { kind: RelationKind::Table, ..known }] {
            assert!(table(&table_image(&wrong)).is_err());
        }
    }

    #[test]
    fn definitions_come_back_as_they_were() {
        let table_def = example();
        assert_eq!(table(&table_image(&table_def)).unwrap(), table_def);
        let made = SchemaDef { name: "s".into(), owner: Oid(16_400) };
        assert_eq!(schema(&schema_image(&made)).unwrap(), made);
        let item = AclItem { grantee: Oid(16_400), grantor: Oid(10), rights: 3, options: 1 };
        let granted = ObjectAcl { items: Some(vec![item]), columns: vec![(2, vec![item])] };
        assert_eq!(acl(&acl_image(&granted)).unwrap(), granted);
        assert_eq!(acl(&acl_image(&ObjectAcl::default())).unwrap(), ObjectAcl::default());
        let member_of = vec![Membership { role: Oid(16_500), grantor: Oid(10), admin: true }];
        let (password, valid_until) = (Some("SCRAM".to_owned()), Some(i64::MIN));
        let plain = RoleDef::new(Oid(16_700), "r\u{e4}");
        for role_def in [RoleDef { password, valid_until, member_of, connection_limit: 7, ..plain.clone() }, plain] {
            let image = role_image(&role_def);
            assert_eq!(role(&image).unwrap(), role_def);
            assert!((0..image.len()).all(|length| role(&image[..length]).is_err()));
        }
        let defaults = DefaultAcl { role: Oid(10), schema: Oid(2200), made: Made::Routines, items: vec![item] };
        assert_eq!(default_acl(&default_acl_image(&defaults)).unwrap(), defaults);
        let values = vec![("work_mem".to_owned(), "8MB".to_owned())];
        let stored = StoredSettings { database: Oid::NONE, role: Oid(16_700), values };
        assert_eq!(settings(&settings_image(&stored)).unwrap(), stored);
        let made = DatabaseDef {
            owner: Oid(16_700),
            connection_limit: 3,
            lets_in: false,
            is_template: true,
            ..DatabaseDef::new(Oid(16_900), "d\u{e4}", Oid(10))
        };
        assert_eq!(database(&database_image(&made)).unwrap(), made);
        let size = Statistics { rows: u64::MAX, pages: 7 };
        assert_eq!(statistics(&statistics_image(size)).unwrap(), size);
    }

    #[test]
    fn a_routine_is_read_as_it_was_written_now_and_earlier() {
        let parameter = ParameterDef { mode: b'i', name: "a".into(), ty: Type::plain(Oid::INT4), default: None };
        let known = RoutineDef {
            oid: Oid(16_400),
            version: 7,
            kind: b'f',
            schema: Oid(2200),
            name: "f\u{e4}".into(),
            owner: Oid(10),
            language: "plpgsql".into(),
            parameters: vec![ParameterDef { default: Some("1 + 1".into()), ..parameter.clone() }, parameter],
            result: Oid::INT4,
            rows_of: None,
            set: true,
            volatility: b'v',
            strict: false,
            leakproof: false,
            parallel: b'u',
            costs: [100f32.to_bits(), 0],
            body: "begin end".into(),
            definer: true,
            settings: vec![("work_mem".into(), "8MB".into())],
            variadic: true,
        };
        let image = routine_image(&known);
        assert_eq!(routine(&image).unwrap(), known);
        // The last field is younger than the others: without it the image is one of before.
        assert_eq!(routine(&image[..image.len() - 1]).unwrap(), RoutineDef { variadic: false, ..known });
        assert!((0..image.len() - 1).all(|length| routine(&image[..length]).is_err()));
    }

    #[test]
    fn nonsense_is_refused() {
        let image = table_image(&example());
        for length in 0..image.len() {
            assert!(table(&image[..length]).is_err(), "cut at {length}");
        }
        let mut longer = image.clone();
        longer.push(0);
        assert!(table(&longer).is_err());
        // Whatever a byte is changed to, reading it does not panic.
        for at in 0..image.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut other = image.clone();
                other[at] = value;
                let _ = table(&other);
            }
        }
        for row in
            [&[][..], &[2, 1, 0, 0, 0, 0, 0, 0, 1, 0], &[1, 9, 0, 0, 0, 0, 0, 0, 1, 0], &[1, 1, 0, 0, 0, 0, 1, 0, 1, 0]]
        {
            assert!(part::read(row).is_err());
        }
    }
}
