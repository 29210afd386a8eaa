//! Types, functions, operators, casts: the tables of [`types`](crate::types) as PostgreSQL's catalogs.

use super::internal;
use crate::catalog::language::Language;
use crate::catalog::privilege::Guard;
use crate::catalog::provider::{RowSink, ViewContext};
use crate::catalog::routine::{ParameterDef, RoutineDef};
use crate::catalog::schema::{BOOTSTRAP_ROLE, GEARBOX, INFORMATION_SCHEMA, PG_CATALOG};
use crate::catalog::user_type::DomainDef;
use crate::types::cast::Method;
use crate::types::{Datum, Oid, aggregate, cast, function, operator, table, window};
use base::Result;

/// What calls a function of PL/pgSQL, does a block of it, and looks a body over.
const PLPGSQL_HANDLERS: [Oid; 3] = [Oid(13_560), Oid(13_561), Oid(13_562)];

/// The extension that PL/pgSQL came with.
const PLPGSQL_EXTENSION: Oid = Oid(13_559);
/// What the server shows of itself, as an extension: who dumps the database finds nothing there to make anew.
const OWN_EXTENSION: Oid = Oid(13_564);

/// A type as `pg_type` shows it.
pub(super) struct TypeShown<'t> {
    /// What it has in common with others.
    pub(super) row: &'t table::TypeRow,
    pub(super) oid: Oid,
    pub(super) name: String,
    /// Its schema and its owner.
    pub(super) place: (Oid, Oid),
    pub(super) functions: internal::OfType,
    pub(super) element: Oid,
    pub(super) array: Oid,
    /// What a domain is.
    pub(super) domain: Option<&'t DomainDef>,
}

/// `pg_type`
pub(super) fn types(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let functions = internal::of_types();
    let definitions = &context.catalog.definitions;
    let is_array = |oid: Oid| table::by_oid(oid).is_some_and(|row| row.is_array());
    let known = table::TABLE.iter().map(|row| TypeShown {
        row,
        oid: row.oid,
        name: row.name.to_owned(),
        place: (PG_CATALOG, BOOTSTRAP_ROLE),
        functions: functions.get(&row.oid).copied().unwrap_or_default(),
        element: row.element,
        array: row.array,
        domain: None,
    });
    let made = context.catalog.definitions.user_types().flat_map(|ty| super::user_types::shown(ty, &functions));
    for TypeShown { row: ty, oid, name, place, functions, element, array, domain } in known.chain(made) {
        let [input, output, receive, send, modifiers_in, modifiers_out, analysis, subscripts] = functions;
        rows.row()
            .oid(oid)
            .text(&name)
            .oid(place.0)
            .oid(place.1)
            .int(ty.length)
            .bool(ty.by_value)
            .char(if domain.is_some() { b'd' } else { ty.class() })
            .char(ty.category)
            .bool(ty.preferred && domain.is_none())
            .bool(true)
            .char(b',')
            .oid(Oid::NONE)
            .oid(subscripts)
            .oid(element)
            .oid(array)
            .oid(input)
            .oid(output)
            .oid(receive)
            .oid(send)
            .oid(modifiers_in)
            .oid(modifiers_out)
            .oid(analysis)
            .char(ty.align)
            .char(ty.storage)
            .bool(domain.is_some_and(|domain| domain.not_null))
            .oid(domain.map_or(Oid::NONE, |domain| domain.base.oid))
            .int(domain.map_or(-1, |domain| domain.base.typmod))
            .int(i64::from(domain.is_some() && ty.is_array()))
            .oid(super::relations::collation_of(ty))
            .maybe_text(domain.and_then(|domain| domain.default.as_deref()))
            .maybe_text(domain.and_then(|domain| domain.default.as_deref()))
            .maybe_texts(definitions.shown_acl(definitions.type_guard(oid)).filter(|_| !is_array(oid)).as_deref())
            .end();
    }
    Ok(())
}

struct Routine<'a> {
    oid: Oid,
    name: &'a str,
    args: &'a [Oid],
    result: Oid,
    kind: u8,
    strict: bool,
    set: bool,
    volatility: u8,
}

fn routine(rows: &mut RowSink, routine: &Routine<'_>) {
    let args: Vec<Datum<'_>> = routine.args.iter().map(|oid| Datum::Int(oid.0.into())).collect();
    rows.row()
        .oid(routine.oid)
        .text(routine.name)
        .oid(if routine.name.starts_with("_pg_") { INFORMATION_SCHEMA } else { PG_CATALOG })
        .oid(BOOTSTRAP_ROLE)
        .oid(Language::Internal.oid())
        .float(1.0)
        .float(if routine.set { 1000.0 } else { 0.0 })
        .oid(Oid::NONE)
        .int(0)
        .char(routine.kind)
        .bool(false)
        .bool(false)
        .bool(routine.strict)
        .bool(routine.set)
        .char(routine.volatility)
        .char(b's')
        .int(routine.args.len() as i64)
        .int(0)
        .oid(routine.result)
        .array(&args)
        .nulls(5)
        .text(routine.name)
        .end();
}

/// `pg_proc`
pub(super) fn functions(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let mut last = None;
    for row in function::TABLE {
        // A function has a row for each count of arguments; the first one has them all.
        if last.replace(row.oid) == Some(row.oid) {
            continue;
        }
        routine(
            rows,
            &Routine {
                oid: row.oid,
                name: row.name,
                args: row.args,
                result: row.result,
                kind: b'f',
                strict: row.strict,
                set: row.returns_set,
                volatility: row.volatility.code() as u8,
            },
        );
    }
    for function in internal::functions() {
        routine(
            rows,
            &Routine {
                oid: function.oid,
                name: function.name,
                args: &function.args,
                result: function.result,
                kind: b'f',
                strict: function.strict,
                set: false,
                volatility: function.volatility,
            },
        );
    }
    for row in aggregate::TABLE {
        routine(
            rows,
            &Routine {
                oid: row.oid,
                name: row.name,
                args: row.args,
                result: row.result,
                kind: b'a',
                strict: false,
                set: false,
                volatility: b'i',
            },
        );
    }
    for row in window::TABLE {
        routine(
            rows,
            &Routine {
                oid: row.oid,
                name: row.name,
                args: row.args,
                result: row.result,
                kind: b'w',
                strict: !row.args.is_empty() && row.args.len() < 3,
                set: false,
                volatility: b'i',
            },
        );
    }
    let definitions = &context.catalog.definitions;
    for known in definitions.routines() {
        of_user(rows, known, definitions.shown_acl(Guard::routine(known)));
    }
    Ok(())
}

/// The row of a function or a procedure of a user.
fn of_user(rows: &mut RowSink, known: &RoutineDef, acl: Option<Vec<String>>) {
    let oid = |oid: Oid| Datum::Int(oid.0.into());
    let inputs: Vec<Datum<'_>> = known.inputs().into_iter().map(oid).collect();
    let parameters = known.parameters.iter();
    let (has_outputs, has_names) = (
        parameters.clone().any(|parameter| parameter.mode != b'i'),
        parameters.clone().any(|parameter| !parameter.name.is_empty()),
    );
    let types: Vec<Datum<'_>> = parameters.clone().map(|parameter| oid(parameter.ty.oid)).collect();
    let mode = |parameter: &ParameterDef| if known.is_variadic(parameter) { b'v' } else { parameter.mode };
    let modes: Vec<Datum<'_>> = parameters.clone().map(|parameter| Datum::Int(mode(parameter).into())).collect();
    let names: Vec<Datum<'_>> = parameters.clone().map(|parameter| Datum::text(&parameter.name)).collect();
    let defaults: Vec<&str> = parameters.filter_map(|parameter| parameter.default.as_deref()).collect();
    let row = rows
        .row()
        .oid(known.oid)
        .text(&known.name)
        .oid(known.schema)
        .oid(known.owner)
        .oid(if known.language == "sql" { Language::Sql.oid() } else { Language::Plpgsql.oid() })
        .float(f32::from_bits(known.costs[0]).into())
        .float(f32::from_bits(known.costs[1]).into())
        .oid(known.variadic_element().unwrap_or(Oid::NONE))
        .int(0)
        .char(known.kind)
        .bool(known.definer)
        .bool(known.leakproof)
        .bool(known.strict)
        .bool(known.set)
        .char(known.volatility)
        .char(known.parallel)
        .int(inputs.len() as i64)
        .int(defaults.len() as i64)
        .oid(known.result)
        .array(&inputs);
    let row = if has_outputs || known.variadic { row.array(&types).array(&modes) } else { row.nulls(2) };
    let row = if has_names { row.array(&names) } else { row.null() };
    let row = if defaults.is_empty() { row.null() } else { row.text(&defaults.join(", ")) };
    let settings = super::cluster::shown_settings(&known.settings);
    let settings = (!settings.is_empty()).then_some(settings.as_slice());
    row.null().text(&known.body).nulls(2).maybe_texts(settings).maybe_texts(acl.as_deref()).end();
}

/// `pg_aggregate`
pub(super) fn aggregates(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for row in aggregate::TABLE {
        // How many arguments stand before `WITHIN GROUP`.
        let direct = if row.op.is_ordered_set() { row.args.len().saturating_sub(1) } else { 0 };
        rows.row().oid(row.oid).char(row.op.code()).int(direct as i64).end();
    }
    Ok(())
}

/// `pg_operator`
pub(super) fn operators(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for row in operator::TABLE {
        let equality = row.name == "=";
        rows.row()
            .oid(row.oid)
            .text(row.name)
            .oid(PG_CATALOG)
            .oid(BOOTSTRAP_ROLE)
            .char(if row.left.is_none() { b'l' } else { b'b' })
            .bool(equality)
            .bool(equality)
            .oid(row.left)
            .oid(row.right)
            .oid(row.result)
            .oid(row.commutator)
            .oid(row.negator)
            .oid(row.function)
            .int(0)
            .int(0)
            .end();
    }
    Ok(())
}

/// `pg_cast`
pub(super) fn casts(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let functions = internal::of_casts();
    for (index, row) in cast::TABLE.iter().enumerate() {
        let function = functions.get(&(row.source, row.target)).copied().unwrap_or(Oid::NONE);
        rows.row()
            .oid(Oid(10_000 + index as u32))
            .oid(row.source)
            .oid(row.target)
            .oid(function)
            .char(row.context.code() as u8)
            .char(match row.method {
                _ if !function.is_none() => b'f',
                Method::Text => b'i',
                _ => b'b',
            })
            .end();
    }
    Ok(())
}

/// `pg_language`
pub(super) fn languages(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    let definitions = &context.catalog.definitions;
    for language in Language::ALL {
        let [call, inline, validate] = match language {
            Language::Internal => [Oid::NONE, Oid::NONE, Oid(2246)],
            Language::Sql => [Oid::NONE, Oid::NONE, Oid(2248)],
            Language::Plpgsql => PLPGSQL_HANDLERS,
        };
        let acl = definitions.shown_acl(definitions.language_guard(language));
        rows.row()
            .oid(language.oid())
            .text(language.name())
            .oid(BOOTSTRAP_ROLE)
            .bool(language == Language::Plpgsql)
            .bool(language.is_trusted())
            .oid(call)
            .oid(inline)
            .oid(validate)
            .maybe_texts(acl.as_deref())
            .end();
    }
    Ok(())
}

/// `pg_extension`
pub(super) fn extensions(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (oid, name, schema) in [(PLPGSQL_EXTENSION, "plpgsql", PG_CATALOG), (OWN_EXTENSION, "gearbox", GEARBOX)] {
        rows.row().oid(oid).text(name).oid(BOOTSTRAP_ROLE).oid(schema).bool(false).text("1.0").nulls(2).end();
    }
    Ok(())
}

/// `pg_depend` of extensions: what belongs to them.
pub(super) fn members(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    const CLASSES: [Oid; 5] = [Oid(1255), Oid(1259), Oid(2612), Oid(2615), Oid(3079)];
    let [procedures, relations, languages, schemas, extensions] = CLASSES;
    let mut one = |class: Oid, of: Oid, extension: Oid| {
        rows.row().oid(class).oid(of).int(0).oid(extensions).oid(extension).int(0).char(b'e').end();
    };
    PLPGSQL_HANDLERS.into_iter().for_each(|handler| one(procedures, handler, PLPGSQL_EXTENSION));
    one(languages, Language::Plpgsql.oid(), PLPGSQL_EXTENSION);
    one(schemas, GEARBOX, OWN_EXTENSION);
    for def in context.catalog.tables()?.iter().filter(|def| def.schema == GEARBOX) {
        one(relations, def.oid, OWN_EXTENSION);
    }
    Ok(())
}

/// `pg_collation`
pub(super) fn collations(_: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (oid, name, provider) in [(Oid(100), "default", b'd'), (Oid(950), "C", b'c'), (Oid(951), "POSIX", b'c')] {
        rows.row()
            .oid(oid)
            .text(name)
            .oid(PG_CATALOG)
            .oid(BOOTSTRAP_ROLE)
            .char(provider)
            .bool(true)
            .int(-1)
            .maybe_text((provider != b'd').then_some(name))
            .maybe_text((provider != b'd').then_some(name))
            .nulls(2)
            .end();
    }
    Ok(())
}

/// `pg_database`, whose comments all databases share.
const DATABASES: Oid = Oid(1262);

/// `pg_description`
pub(super) fn descriptions(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (class, of, column, text) in context.catalog.definitions.comments().filter(|known| known.0 != DATABASES) {
        rows.row().oid(of).oid(class).int(i64::from(column)).text(text).end();
    }
    Ok(())
}

/// `pg_shdescription`
pub(super) fn shared_descriptions(context: &ViewContext<'_>, rows: &mut RowSink) -> Result<()> {
    for (class, of, _, text) in context.catalog.definitions.comments().filter(|known| known.0 == DATABASES) {
        rows.row().oid(of).oid(class).text(text).end();
    }
    Ok(())
}
