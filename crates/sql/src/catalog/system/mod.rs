//! The system's catalogs: PostgreSQL's tables and views of the same names, made from what the server knows.
//!
//! `columns.txt` describes every one of them; those with rows have a provider in one of the modules here, the others are
//! empty: the server has no rules, policies or foreign servers, and clients that ask for them hear so.

pub mod cluster;
mod objects;
mod relations;
mod sequences;
mod statistics;

pub(crate) use relations::{constraint_definition, index_column, index_definition, rule_definition};

use super::Catalogs;
use super::definition::{ColumnDef, RelationKind};
use super::provider::Provider;
use super::schema::PG_CATALOG;
use crate::types::{Oid, Type, table};

static COLUMNS: &str = include_str!("columns.txt");

/// Adds all of them.
pub(super) fn add(catalogs: &mut Catalogs) {
    let mut head: Option<(Oid, &str, RelationKind)> = None;
    let mut columns = Vec::new();
    for line in COLUMNS.lines().filter(|line| !line.starts_with('#')) {
        if !line.starts_with(' ') {
            finish(catalogs, head.take(), std::mem::take(&mut columns));
            let mut words = line.split(' ');
            let (name, oid, kind) = (words.next(), words.next().and_then(|oid| oid.parse().ok()), words.next());
            let kind = if kind == Some("v") { RelationKind::View } else { RelationKind::Table };
            head = name.zip(oid).map(|(name, oid)| (Oid(oid), name, kind));
            continue;
        }
        for column in line.split(',').map(str::trim).filter(|column| !column.is_empty()) {
            let Some((name, ty)) = column.split_once(' ') else { continue };
            let not_null = ty.ends_with('!');
            let ty = table::by_name(ty.trim_end_matches('!')).map_or(Oid::TEXT, |row| row.oid);
            let ty = Type::plain(ty);
            columns.push(ColumnDef { not_null, ..ColumnDef::plain(name, ty) });
        }
    }
    finish(catalogs, head, columns);
}

fn finish(catalogs: &mut Catalogs, head: Option<(Oid, &str, RelationKind)>, columns: Vec<ColumnDef>) {
    if let Some((oid, name, kind)) = head {
        catalogs.add(oid, PG_CATALOG, name, kind, columns, provider(name));
    }
}

fn provider(name: &str) -> Option<Box<dyn Provider>> {
    Some(match name {
        "pg_class" => Box::new(relations::classes),
        "pg_attribute" => Box::new(relations::attributes),
        "pg_attrdef" => Box::new(relations::defaults),
        "pg_index" => Box::new(relations::indexes),
        "pg_constraint" => Box::new(relations::constraints),
        "pg_namespace" => Box::new(relations::namespaces),
        "pg_tables" => Box::new(relations::tables),
        "pg_rewrite" => Box::new(relations::rules),
        "pg_views" => Box::new(relations::views),
        "pg_indexes" => Box::new(relations::index_list),
        "pg_sequence" => Box::new(sequences::sequences),
        "pg_sequences" => Box::new(sequences::shown),
        "pg_statistic" => Box::new(statistics::statistics),
        "pg_stats" => Box::new(statistics::shown),
        "pg_description" => Box::new(objects::descriptions),
        "pg_shdescription" => Box::new(objects::shared_descriptions),
        "pg_depend" => Box::new(sequences::dependencies),
        "pg_type" => Box::new(objects::types),
        "pg_proc" => Box::new(objects::functions),
        "pg_aggregate" => Box::new(objects::aggregates),
        "pg_operator" => Box::new(objects::operators),
        "pg_cast" => Box::new(objects::casts),
        "pg_am" => Box::new(objects::access_methods),
        "pg_language" => Box::new(objects::languages),
        "pg_collation" => Box::new(objects::collations),
        "pg_database" => Box::new(cluster::databases),
        "pg_tablespace" => Box::new(cluster::tablespaces),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_is_named_is_known() {
        for line in COLUMNS.lines().filter(|line| line.starts_with(' ')) {
            for column in line.split(',').map(str::trim).filter(|column| !column.is_empty()) {
                let ty = column.split_once(' ').map_or("", |(_, ty)| ty.trim_end_matches('!'));
                assert!(table::by_name(ty).is_some(), "{column}");
            }
        }
    }
}
