//! The system's catalogs: PostgreSQL's tables and views of the same names, made from what the server knows.
//!
//! `columns.txt` describes every one of them; those with rows have a provider in one of the modules here, or rows in `rows.txt`, the
//! others are empty: the server has no rules, policies or foreign servers, and clients that ask for them hear so. The views of the
//! information schema are queries ([`information_schema`]).

pub mod cluster;
mod dependencies;
mod fixed;
mod information_schema;
pub(crate) mod internal;
mod objects;
mod relations;
mod sequences;
mod statistics;
mod triggers;
pub(crate) mod usage;
mod user_types;

pub(crate) use relations::{
    constraint_definition, domain_constraint, index_column, index_definition, rule_definition, without_parentheses,
};

use super::Catalogs;
use super::definition::{ColumnDef, RelationKind};
use super::provider::Provider;
use super::schema::{INFORMATION_SCHEMA, PG_CATALOG};
use crate::types::{Oid, Type, aggregate, function, table, window};

static COLUMNS: &str = include_str!("columns.txt");
static INFORMATION_SCHEMA_COLUMNS: &str = include_str!("information_schema.txt");

/// A relation that a file describes.
struct Described<'a> {
    oid: Oid,
    name: &'a str,
    kind: RelationKind,
    columns: Vec<ColumnDef>,
}

/// Adds all of them.
pub(super) fn add(catalogs: &mut Catalogs) {
    for Described { oid, name, kind, columns } in described(COLUMNS) {
        catalogs.add(oid, PG_CATALOG, name, kind, columns, provider(name));
    }
    for Described { oid, name, kind, columns } in described(INFORMATION_SCHEMA_COLUMNS) {
        match information_schema::query(name, &columns) {
            Some(query) => catalogs.add_view(oid, INFORMATION_SCHEMA, name, columns, query),
            None => catalogs.add(oid, INFORMATION_SCHEMA, name, kind, columns, None),
        }
    }
}

/// What a file describes.
fn described(text: &str) -> Vec<Described<'_>> {
    let mut all: Vec<Described<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if !line.starts_with(' ') {
            let mut words = line.split(' ');
            let (name, oid, kind) = (words.next(), words.next().and_then(|oid| oid.parse().ok()), words.next());
            let kind = if kind == Some("v") { RelationKind::View } else { RelationKind::Table };
            let known = name.zip(oid).map(|(name, oid)| Described { oid: Oid(oid), name, kind, columns: Vec::new() });
            all.extend(known);
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        for column in line.split(',').map(str::trim).filter(|column| !column.is_empty()) {
            let Some((name, ty)) = column.split_once(' ') else { continue };
            let not_null = ty.ends_with('!');
            let ty = table::by_name(ty.trim_end_matches('!')).map_or(Oid::TEXT, |row| row.oid);
            last.columns.push(ColumnDef { not_null, ..ColumnDef::plain(name, Type::plain(ty)) });
        }
    }
    all
}

fn provider(name: &str) -> Option<Box<dyn Provider>> {
    Some(match name {
        "pg_class" => Box::new(relations::classes),
        "pg_attribute" => Box::new(relations::attributes),
        "pg_attrdef" => Box::new(relations::defaults),
        "pg_index" => Box::new(relations::indexes),
        "pg_constraint" => Box::new(relations::constraints),
        "pg_trigger" => Box::new(triggers::triggers),
        "pg_namespace" => Box::new(relations::namespaces),
        "pg_tables" => Box::new(relations::tables),
        "pg_rewrite" => Box::new(relations::rules),
        "pg_views" => Box::new(relations::views),
        "pg_indexes" => Box::new(relations::index_list),
        "pg_sequence" => Box::new(sequences::sequences),
        "pg_sequences" => Box::new(sequences::shown),
        "pg_statistic" => Box::new(statistics::statistics),
        "pg_stats" => Box::new(statistics::shown),
        "pg_stat_all_tables" | "pg_stat_user_tables" => Box::new(usage::tables),
        "pg_stat_all_indexes" | "pg_stat_user_indexes" => Box::new(usage::indexes),
        "pg_description" => Box::new(objects::descriptions),
        "pg_shdescription" => Box::new(objects::shared_descriptions),
        "pg_depend" => Box::new(sequences::dependencies),
        "pg_type" => Box::new(objects::types),
        "pg_enum" => Box::new(user_types::labels),
        "pg_proc" => Box::new(objects::functions),
        "pg_aggregate" => Box::new(objects::aggregates),
        "pg_operator" => Box::new(objects::operators),
        "pg_cast" => Box::new(objects::casts),
        "pg_am" | "pg_opfamily" | "pg_opclass" | "pg_amop" | "pg_amproc" => Box::new(fixed::Fixed::new(name)),
        "pg_extension" => Box::new(objects::extensions),
        "pg_init_privs" => Box::new(relations::initial_privileges),
        "pg_timezone_names" => Box::new(cluster::time_zones),
        "pg_language" => Box::new(objects::languages),
        "pg_collation" => Box::new(objects::collations),
        "pg_database" => Box::new(cluster::databases),
        "pg_tablespace" => Box::new(cluster::tablespaces),
        "pg_db_role_setting" => Box::new(cluster::stored_settings),
        "pg_default_acl" => Box::new(cluster::default_privileges),
        "pg_authid" => Box::new(cluster::authids),
        "pg_roles" => Box::new(cluster::roles),
        "pg_user" => Box::new(cluster::users),
        "pg_shadow" => Box::new(cluster::shadows),
        "pg_group" => Box::new(cluster::groups),
        "pg_auth_members" => Box::new(cluster::memberships),
        "pg_settings" => Box::new(cluster::settings),
        "pg_prepared_statements" => Box::new(cluster::prepared_statements),
        "pg_cursors" => Box::new(cluster::cursors),
        _ => return None,
    })
}

/// Is there a function of the system's of that number?
pub(crate) fn is_function(oid: Oid) -> bool {
    function::by_oid(oid).is_some()
        || aggregate::TABLE.iter().any(|row| row.oid == oid)
        || window::TABLE.iter().any(|row| row.oid == oid)
        || internal::by_oid(oid).is_some()
}

/// Has a catalog whose rows never change one of that number?
pub(crate) fn is_fixed(catalog: &str, oid: Oid) -> bool {
    fixed::Fixed::new(catalog).has(oid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_known() {
        let lines = COLUMNS.lines().chain(INFORMATION_SCHEMA_COLUMNS.lines());
        for line in lines.filter(|line| line.starts_with(' ')) {
            for column in line.split(',').map(str::trim).filter(|column| !column.is_empty()) {
                let ty = column.split_once(' ').map_or("", |(_, ty)| ty.trim_end_matches('!'));
                assert!(table::by_name(ty).is_some(), "{column}");
            }
        }
    }
}
