//! `pg_class` and what belongs to it: tables, columns, indexes, constraints, schemas.

use crate::catalog::definition::{
    ColumnDef, ConstraintKind, IndexColumn, IndexDef, RelationKind, StoredExpr, TableDef,
};
use crate::catalog::privilege::Guard;
use crate::catalog::provider::{RowSink, ViewContext};
use crate::catalog::schema::{BUILTIN, FIRST_USER_OID, PG_CATALOG, PG_TOAST};
use crate::catalog::{Catalog, Statistics, pieces_name};
use crate::parser::ast::CheckOption;
use crate::statement::constraint::columns_named;
use crate::types::{Datum, Oid, table};
use base::Result;
use base::settings::quoted_identifier;

/// `heap`, the access method of tables.
pub(super) const HEAP: Oid = Oid(2);
/// `btree`, the access method of indexes.
pub(super) const BTREE: Oid = Oid(403);
const DEFAULT_COLLATION: Oid = Oid(100);
/// `C`, by which names are compared, and whatever the system's own tables have.
const C_COLLATION: Oid = Oid(950);

/// `pg_type.typcollation`
pub(super) fn collation_of(ty: &table::TypeRow) -> Oid {
    let element = table::by_oid(ty.element).filter(|_| ty.is_array()).map_or(ty, |element| element);
    match element.oid {
        Oid::NAME => C_COLLATION,
        Oid::TEXT | Oid::VARCHAR | Oid::BPCHAR | Oid::PG_NODE_TREE => DEFAULT_COLLATION,
        _ => Oid::NONE,
    }
}

/// `pg_class`
pub(super) fn classes(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()? {
        let stored = def.kind == RelationKind::Table;
        let has_file = matches!(def.rows, crate::catalog::definition::Rows::Stored(_));
        let mut options: Vec<String> = def.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        options.extend(def.view.as_ref().and_then(|view| view.check).map(|check| match check {
            CheckOption::Local => "check_option=local".to_owned(),
            CheckOption::Cascaded => "check_option=cascaded".to_owned(),
        }));
        let checks = def.constraints.iter().filter(|known| matches!(known.kind, ConstraintKind::Check(_))).count();
        let referring = def.constraints.iter().any(|known| matches!(known.kind, ConstraintKind::ForeignKey(_)));
        class(
            rows,
            &Class {
                oid: def.oid,
                name: &def.name,
                schema: def.schema,
                owner: def.owner,
                method: if stored { HEAP } else { Oid::NONE },
                file: if has_file { def.oid } else { Oid::NONE },
                has_index: !def.indexes.is_empty(),
                pieces: def.pieces.map_or(Oid::NONE, |pieces| pieces.oid),
                persistence: def.persistence.letter(),
                kind: def.kind as u8,
                columns: def.columns.len() as i64,
                checks: checks as i64,
                rules: def.view.is_some(),
                triggers: referring || !def.referenced_by.is_empty() || !def.triggers.is_empty(),
                options: &options,
                size: context.catalog.statistics(def.oid),
                acl: context.catalog.definitions.shown_acl(Guard::relation(&def)),
            },
        );
        if let Some(pieces) = def.pieces {
            class(
                rows,
                &Class {
                    oid: pieces.oid,
                    name: &pieces_name(def.oid),
                    schema: PG_TOAST,
                    owner: def.owner,
                    method: HEAP,
                    file: pieces.oid,
                    has_index: false,
                    pieces: Oid::NONE,
                    persistence: def.persistence.letter(),
                    kind: b't',
                    columns: 0,
                    checks: 0,
                    rules: false,
                    triggers: false,
                    options: &[],
                    size: None,
                    acl: None,
                },
            );
        }
        for index in &def.indexes {
            let options: Vec<String> = index.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
            class(
                rows,
                &Class {
                    oid: index.oid,
                    name: &index.name,
                    schema: def.schema,
                    owner: def.owner,
                    method: BTREE,
                    file: index.oid,
                    has_index: false,
                    pieces: Oid::NONE,
                    persistence: def.persistence.letter(),
                    kind: b'i',
                    columns: (index.columns.len() + index.included.len()) as i64,
                    checks: 0,
                    rules: false,
                    triggers: false,
                    options: &options,
                    size: None,
                    acl: None,
                },
            );
        }
    }
    Ok(())
}

struct Class<'a> {
    oid: Oid,
    name: &'a str,
    schema: Oid,
    owner: Oid,
    method: Oid,
    file: Oid,
    has_index: bool,
    pieces: Oid,
    persistence: u8,
    kind: u8,
    columns: i64,
    checks: i64,
    rules: bool,
    triggers: bool,
    options: &'a [String],
    size: Option<Statistics>,
    acl: Option<Vec<String>>,
}

fn class(rows: &mut RowSink, class: &Class<'_>) {
    let options: Vec<Datum<'_>> = class.options.iter().map(|option| Datum::text(option)).collect();
    let row = rows
        .row()
        .oid(class.oid)
        .text(class.name)
        .oid(class.schema)
        .oid(Oid::NONE)
        .oid(Oid::NONE)
        .oid(class.owner)
        .oid(class.method)
        .oid(class.file)
        .oid(Oid::NONE)
        .int(i64::from(class.size.map_or(0, |size| size.pages)))
        .float(class.size.map_or(-1.0, |size| size.rows as f64))
        .int(0)
        .oid(class.pieces)
        .bool(class.has_index)
        .bool(false)
        .char(class.persistence)
        .char(class.kind)
        .int(class.columns)
        .int(class.checks)
        .bool(class.rules)
        .bool(class.triggers)
        .bool(false)
        .bool(false)
        .bool(false)
        .bool(true)
        .char(if class.kind != b'r' || class.oid.0 < FIRST_USER_OID { b'n' } else { b'd' })
        .bool(false)
        .oid(Oid::NONE)
        .int(0)
        .int(0)
        .maybe_texts(class.acl.as_deref());
    if options.is_empty() { row.end() } else { row.array(&options).end() }
}

/// `pg_attribute`
pub(super) fn attributes(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()? {
        for (index, column) in def.columns.iter().enumerate() {
            let acl = context.catalog.definitions.shown_column_acl(def.oid, index as u16);
            attribute(rows, def.oid, index, column, (&column.name, acl));
        }
        for index in &def.indexes {
            let names = crate::statement::index::column_names(&def, index);
            for (place, name) in names.iter().enumerate() {
                attribute(
                    rows,
                    index.oid,
                    place,
                    &ColumnDef::plain(name, index.column_type(&def, place)),
                    (name, None),
                );
            }
            for (place, column) in index.included.iter().enumerate() {
                let column = &def.columns[usize::from(*column)];
                let plain = ColumnDef::plain(&column.name, column.ty);
                attribute(rows, index.oid, names.len() + place, &plain, (&column.name, None));
            }
        }
    }
    Ok(())
}

fn attribute(
    rows: &mut RowSink,
    relation: Oid,
    index: usize,
    column: &crate::catalog::definition::ColumnDef,
    (name, acl): (&str, Option<Vec<String>>),
) {
    let ty = table::by_oid(column.ty.oid);
    let dropped = format!("........pg.dropped.{}........", index + 1);
    let collation = match ty.map_or(Oid::NONE, collation_of) {
        DEFAULT_COLLATION if relation.0 < FIRST_USER_OID => C_COLLATION,
        collation => collation,
    };
    rows.row()
        .oid(relation)
        .text(if column.dropped { &dropped } else { name })
        .oid(if column.dropped { Oid::NONE } else { column.ty.oid })
        .int(-1)
        .int(ty.map_or(0, |row| row.length))
        .int(index as i64 + 1)
        .int(i64::from(ty.is_some_and(|row| row.is_array())))
        .int(-1)
        .int(column.ty.typmod)
        .bool(ty.is_some_and(|row| row.by_value))
        .char(ty.map_or(b'i', |row| row.align))
        .char(ty.map_or(b'p', |row| row.storage))
        .char(0)
        .bool(column.not_null)
        .bool(column.default.is_some() && column.identity.is_none())
        .bool(false)
        .char(column.identity.map_or(0, |identity| identity as u8))
        .char(if column.generated { b's' } else { 0 })
        .bool(column.dropped)
        .bool(true)
        .int(0)
        .oid(collation)
        .maybe_texts(acl.as_deref())
        .end();
}

/// A default has no number of its own: the table's and the column's make one that is unique.
pub(super) fn default_oid(def: &TableDef, column: usize) -> Oid {
    Oid(def.oid.0.wrapping_mul(31).wrapping_add(column as u32))
}

/// A column's default as users see it, with the names of sequences; none of an identity column.
fn shown_default(catalog: &Catalog<'_>, column: &crate::catalog::definition::ColumnDef) -> Option<String> {
    let mut text = column.default.clone().filter(|_| column.identity.is_none())?;
    for oid in &column.uses {
        let Some(sequence) = catalog.definitions.table(*oid) else { continue };
        let name = catalog.shown_name(sequence).replace('\'', "''");
        text = text.replace(&format!("'{}'::regclass", oid.0), &format!("'{name}'::regclass"));
    }
    Some(text)
}

/// `pg_attrdef`
pub(super) fn defaults(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()? {
        for (index, column) in def.visible() {
            if let Some(text) = shown_default(context.catalog, column) {
                rows.row().oid(default_oid(&def, index)).oid(def.oid).int(index as i64 + 1).text(&text).end();
            }
        }
    }
    Ok(())
}

/// `pg_index`
pub(super) fn indexes(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()? {
        for index in &def.indexes {
            let count = index.columns.len() as i64;
            let mut columns: Vec<_> = index
                .columns
                .iter()
                .map(|part| Datum::Int(part.column.map_or(0, |column| i64::from(column) + 1)))
                .collect();
            columns.extend(index.included.iter().map(|column| Datum::Int(i64::from(*column) + 1)));
            let ty = |at: usize| match (index.columns[at].column, index.expression(at)) {
                (Some(column), _) => def.columns.get(usize::from(column)).map_or(Oid::NONE, |column| column.ty.oid),
                (None, expression) => expression.map_or(Oid::NONE, |expression| expression.ty.oid),
            };
            let types: Vec<Oid> = (0..index.columns.len()).map(ty).collect();
            let collation = |oid: Oid| table::by_oid(oid).map_or(Oid::NONE, collation_of);
            let number = |oid: Oid| Datum::Int(oid.0.into());
            let collations: Vec<_> = types.iter().map(|oid| number(collation(*oid))).collect();
            let class = |oid: Oid| super::fixed::default_class(oid).unwrap_or(Oid::NONE);
            let classes: Vec<_> = types.iter().map(|oid| number(class(*oid))).collect();
            let expressions: Vec<String> = index.expressions.iter().map(StoredExpr::shown).collect();
            let options: Vec<_> = index
                .columns
                .iter()
                .map(|part| Datum::Int(i64::from(part.descending) + 2 * i64::from(part.nulls_first)))
                .collect();
            rows.row()
                .oid(index.oid)
                .oid(def.oid)
                .int(count + index.included.len() as i64)
                .int(count)
                .bool(index.unique)
                .bool(!index.nulls_distinct)
                .bool(index.primary)
                .bool(false)
                .bool(!def.deferral_of(index).may_wait())
                .bool(def.clustered == Some(index.oid))
                .bool(true)
                .bool(false)
                .bool(true)
                .bool(true)
                .bool(false)
                .array(&columns)
                .array(&collations)
                .array(&classes)
                .array(&options)
                .maybe_text((!expressions.is_empty()).then(|| expressions.join(", ")).as_deref())
                .maybe_text(index.predicate.as_ref().map(StoredExpr::shown_condition).as_deref())
                .end();
        }
    }
    Ok(())
}

/// `pg_constraint`
pub(super) fn constraints(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()? {
        for constraint in &def.constraints {
            let numbers = |columns: &[u16]| -> Vec<Datum<'static>> {
                columns.iter().map(|&column| Datum::Int(i64::from(column) + 1)).collect()
            };
            let index_columns =
                |oid: Oid| -> Vec<u16> { def.index(oid).and_then(IndexDef::key_columns).unwrap_or_default() };
            let (kind, index, columns, foreign) = match &constraint.kind {
                ConstraintKind::PrimaryKey(index) => (b'p', *index, index_columns(*index), None),
                ConstraintKind::Unique(index) => (b'u', *index, index_columns(*index), None),
                ConstraintKind::Check(text) => {
                    let columns = columns_named(&def, text).into_iter().map(|column| column as u16).collect();
                    (b'c', Oid::NONE, columns, None)
                }
                ConstraintKind::ForeignKey(key) => (b'f', key.index, key.columns.clone(), Some(key)),
            };
            let columns = numbers(&columns);
            let row = rows
                .row()
                .oid(constraint.oid)
                .text(&constraint.name)
                .oid(def.schema)
                .char(kind)
                .bool(constraint.deferral.may_wait())
                .bool(constraint.deferral.waits())
                .bool(constraint.validated)
                .oid(def.oid)
                .oid(Oid::NONE)
                .oid(index)
                .oid(Oid::NONE)
                .oid(foreign.map_or(Oid::NONE, |key| key.table))
                .char(foreign.map_or(b' ', |key| key.on_update as u8))
                .char(foreign.map_or(b' ', |key| key.on_delete as u8))
                .char(foreign.map_or(b' ', |key| if key.full { b'f' } else { b's' }))
                .bool(true)
                .int(0)
                .bool(true);
            let row = if columns.is_empty() { row.null() } else { row.array(&columns) };
            let row = match foreign {
                Some(key) => row.array(&numbers(&key.referenced)),
                None => row.null(),
            };
            let row = row.nulls(3);
            let row = match foreign.filter(|key| !key.set_columns.is_empty()) {
                Some(key) => row.array(&numbers(&key.set_columns)),
                None => row.null(),
            };
            let row = row.null();
            match &constraint.kind {
                ConstraintKind::Check(text) => row.text(text).end(),
                _ => row.null().end(),
            }
        }
        for (trigger, oid) in def.triggers.iter().filter_map(|trigger| Some((trigger, trigger.constraint?))) {
            rows.row()
                .oid(oid)
                .text(&trigger.name)
                .oid(def.schema)
                .char(b't')
                .bool(trigger.deferral.may_wait())
                .bool(trigger.deferral.waits())
                .bool(true)
                .oid(def.oid)
                .oid(Oid::NONE)
                .oid(Oid::NONE)
                .oid(Oid::NONE)
                .oid(Oid::NONE)
                .char(b' ')
                .char(b' ')
                .char(b' ')
                .bool(true)
                .int(0)
                .bool(true)
                .nulls(8)
                .end();
        }
    }
    Ok(())
}

/// `pg_namespace`
pub(super) fn namespaces(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let definitions = &context.catalog.definitions;
    for (oid, name) in context.catalog.schemas() {
        let acl = definitions.shown_acl(definitions.schema_guard(oid));
        rows.row().oid(oid).text(&name).oid(context.catalog.schema_owner(oid)).maybe_texts(acl.as_deref()).end();
    }
    Ok(())
}

/// `pg_init_privs`: what everybody may do from the beginning, so that nobody takes it for something that a user has granted.
pub(super) fn initial_privileges(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    const CLASSES: (Oid, Oid) = (Oid(1259), Oid(2615));
    let definitions = &context.catalog.definitions;
    let mut one = |class: Oid, guard: Guard| {
        if let Some(items) = definitions.initial_acl(guard) {
            rows.row().oid(guard.oid).oid(class).int(0).char(b'i').maybe_texts(Some(&items)).end();
        }
    };
    let tables = context.catalog.tables()?;
    for def in tables.iter().filter(|def| def.oid.0 < FIRST_USER_OID) {
        one(CLASSES.0, Guard::relation(def));
    }
    definitions.builtin_schemas().for_each(|(oid, _)| one(CLASSES.1, definitions.schema_guard(oid)));
    for def in tables.iter().filter(|def| def.oid.0 < FIRST_USER_OID) {
        for column in 0..def.columns.len() as u16 {
            if let Some(items) = definitions.initial_column_acl(def.oid, column) {
                let number = i64::from(column) + 1;
                rows.row().oid(def.oid).oid(CLASSES.0).int(number).char(b'i').maybe_texts(Some(&items)).end();
            }
        }
    }
    Ok(())
}

/// `pg_tables`
pub(super) fn tables(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()?.iter().filter(|def| def.kind == RelationKind::Table) {
        rows.row()
            .text(&context.catalog.schema_name(def.schema).unwrap_or_default())
            .text(&def.name)
            .text(&context.catalog.definitions.role_name(def.owner))
            .null()
            .bool(!def.indexes.is_empty())
            .bool(false)
            .bool(!def.referenced_by.is_empty())
            .bool(false)
            .end();
    }
    Ok(())
}

/// `pg_views`
pub(super) fn views(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()?.iter().filter(|def| def.kind == RelationKind::View) {
        rows.row()
            .text(&context.catalog.schema_name(def.schema).unwrap_or_default())
            .text(&def.name)
            .text(&context.catalog.definitions.role_name(def.owner))
            .maybe_text(crate::catalog::view::shown_query(context.catalog, def).as_deref())
            .end();
    }
    Ok(())
}

/// A view's rule has no number of its own.
pub(super) fn rule_oid(def: &TableDef) -> Oid {
    Oid(def.oid.0 ^ 0x4000_0000)
}

/// `pg_rewrite`: the rule of each view.
pub(super) fn rules(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.definitions.tables().filter(|def| def.view.is_some()) {
        rows.row()
            .oid(rule_oid(def))
            .text("_RETURN")
            .oid(def.oid)
            .char(b'1')
            .char(b'O')
            .bool(true)
            .text("<>")
            .text("<>")
            .end();
    }
    Ok(())
}

/// The statement that would make a view's rule.
pub(crate) fn rule_definition(catalog: &Catalog<'_>, rule: Oid) -> Option<String> {
    let def = catalog.definitions.tables().find(|def| def.view.is_some() && rule_oid(def) == rule)?;
    let (query, schema) = (crate::catalog::view::shown_query(catalog, def)?, catalog.schema_name(def.schema)?);
    let (schema, name) = (quoted_identifier(&schema), quoted_identifier(&def.name));
    Some(format!("CREATE RULE \"_RETURN\" AS\n    ON SELECT TO {schema}.{name} DO INSTEAD {query}"))
}

/// `pg_depend` of views: the rule belongs to the view, and needs what it reads.
pub(super) fn view_dependencies(context: &ViewContext<'_>, rows: &mut RowSink) {
    const CLASSES: (Oid, Oid) = (Oid(2618), Oid(1259));
    for def in context.catalog.definitions.tables() {
        let Some(view) = &def.view else { continue };
        let mut one = |of: Oid, column: i64, kind: u8| {
            let row = rows.row().oid(CLASSES.0).oid(rule_oid(def)).int(0);
            row.oid(CLASSES.1).oid(of).int(column).char(kind).end();
        };
        one(def.oid, 0, b'i');
        one(def.oid, 0, b'n');
        view.relations().into_iter().for_each(|oid| one(oid, 0, b'n'));
        view.columns().into_iter().for_each(|(oid, column)| one(oid, i64::from(column) + 1, b'n'));
    }
}

/// `pg_indexes`
pub(super) fn index_list(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for def in context.catalog.tables()? {
        for index in &def.indexes {
            rows.row()
                .text(&context.catalog.schema_name(def.schema).unwrap_or_default())
                .text(&def.name)
                .text(&index.name)
                .null()
                .text(&context.catalog.with_names(&index_definition(context.catalog, &def, index, false)))
                .end();
        }
    }
    Ok(())
}

/// The statement that would make an index.
pub(crate) fn index_definition(catalog: &Catalog<'_>, def: &TableDef, index: &IndexDef, pretty: bool) -> String {
    let column = |(at, part): (usize, &IndexColumn)| {
        let mut text = index_column(def, index, at, pretty);
        if part.pattern {
            text.push_str(match index.column_type(def, at).oid {
                Oid::BPCHAR => " bpchar_pattern_ops",
                Oid::VARCHAR => " varchar_pattern_ops",
                _ => " text_pattern_ops",
            });
        }
        match (part.descending, part.nulls_first) {
            (false, false) => {}
            (false, true) => text.push_str(" NULLS FIRST"),
            (true, true) => text.push_str(" DESC"),
            (true, false) => text.push_str(" DESC NULLS LAST"),
        }
        text
    };
    let columns: Vec<String> = index.columns.iter().enumerate().map(column).collect();
    let table = match pretty {
        true => catalog.shown_name(def),
        false => {
            let schema = catalog.schema_name(def.schema).unwrap_or_default();
            format!("{}.{}", quoted_identifier(&schema), quoted_identifier(&def.name))
        }
    };
    let mut text = format!(
        "CREATE {}INDEX {} ON {table} USING btree ({})",
        if index.unique { "UNIQUE " } else { "" },
        quoted_identifier(&index.name),
        columns.join(", ")
    );
    if !index.included.is_empty() {
        let included: Vec<String> =
            index.included.iter().map(|&column| quoted_identifier(&def.columns[usize::from(column)].name)).collect();
        text.push_str(&format!(" INCLUDE ({})", included.join(", ")));
    }
    if !index.nulls_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if !index.options.is_empty() {
        let options: Vec<String> = index.options.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
        text.push_str(&format!(" WITH ({})", options.join(", ")));
    }
    if let Some(predicate) = &index.predicate {
        let shown = predicate.shown_condition();
        text.push_str(&format!(" WHERE {}", if pretty { without_parentheses(&shown) } else { &shown }));
    }
    text
}

/// A column of an index as its definition shows it: a name, or an expression.
pub(crate) fn index_column(def: &TableDef, index: &IndexDef, at: usize, pretty: bool) -> String {
    match (index.columns[at].column, index.expression(at)) {
        (Some(column), _) => quoted_identifier(&def.columns[usize::from(column)].name),
        (None, expression) => {
            let shown = expression.map_or(String::new(), StoredExpr::shown_in_list);
            // The parentheses that the list wants stay.
            match inside(&shown) {
                Some(inner) if pretty => format!("({})", without_parentheses(inner)),
                _ => shown,
            }
        }
    }
}

/// An expression without the parentheses that stand around the whole of it, so that a definition which is shown, and made again from what is
/// shown, does not grow.
pub(crate) fn without_parentheses(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(inner) = inside(text) {
        text = inner.trim();
    }
    text
}

/// What stands between the first parenthesis and the last, if they belong together.
fn inside(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let (mut lexer, mut depth) = (crate::lexer::Lexer::new(inner), 0_u32);
    loop {
        let token = lexer.next_token().ok()?;
        if token.kind == crate::lexer::TokenKind::End {
            return (depth == 0).then_some(inner);
        }
        match inner.get(token.start as usize..token.end as usize) {
            Some("(") => depth += 1,
            Some(")") => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
}

/// The text of a constraint, as in `CREATE TABLE`.
pub(crate) fn constraint_definition(catalog: &Catalog<'_>, def: &TableDef, oid: Oid, pretty: bool) -> Option<String> {
    if let Some(trigger) = def.triggers.iter().find(|trigger| trigger.constraint == Some(oid)) {
        return Some(format!("TRIGGER{}", trigger.deferral.shown()));
    }
    let constraint = def.constraints.iter().find(|constraint| constraint.oid == oid)?;
    let names = |table: &TableDef, columns: &[u16]| {
        let names: Vec<_> =
            columns.iter().map(|&column| quoted_identifier(&table.columns[usize::from(column)].name)).collect();
        names.join(", ")
    };
    let index_columns = |oid: Oid| -> Vec<u16> { def.index(oid).and_then(IndexDef::key_columns).unwrap_or_default() };
    let key = |words: &str, oid: Oid| {
        let index = def.index(oid);
        let equal = index.is_some_and(|index| !index.nulls_distinct);
        let words = if equal { format!("{words} NULLS NOT DISTINCT") } else { words.to_owned() };
        let text = format!("{words} ({})", names(def, &index_columns(oid)));
        match index.filter(|index| !index.included.is_empty()) {
            Some(index) => format!("{text} INCLUDE ({})", names(def, &index.included)),
            None => text,
        }
    };
    let text = match &constraint.kind {
        ConstraintKind::PrimaryKey(index) => key("PRIMARY KEY", *index),
        ConstraintKind::Unique(index) => key("UNIQUE", *index),
        ConstraintKind::Check(text) if pretty => format!("CHECK ({})", without_parentheses(text)),
        ConstraintKind::Check(text) => format!("CHECK (({}))", without_parentheses(text)),
        ConstraintKind::ForeignKey(key) => {
            let other = catalog.table_by_oid(key.table).ok().flatten()?;
            let mut text = format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                names(def, &key.columns),
                catalog.shown_name(&other),
                names(&other, &key.referenced)
            );
            if key.full {
                text.push_str(" MATCH FULL");
            }
            for (word, action) in [("UPDATE", key.on_update), ("DELETE", key.on_delete)] {
                let action = match action as u8 {
                    b'r' => "RESTRICT",
                    b'c' => "CASCADE",
                    b'n' => "SET NULL",
                    b'd' => "SET DEFAULT",
                    _ => continue,
                };
                text.push_str(&format!(" ON {word} {action}"));
                if word == "DELETE" && !key.set_columns.is_empty() {
                    text.push_str(&format!(" ({})", names(def, &key.set_columns)));
                }
            }
            text
        }
    };
    let text = catalog.with_names(&text);
    let valid = if constraint.validated { "" } else { " NOT VALID" };
    Some(format!("{text}{}{valid}", constraint.deferral.shown()))
}

const _: () = assert!(BUILTIN[0].0.0 == PG_CATALOG.0);
