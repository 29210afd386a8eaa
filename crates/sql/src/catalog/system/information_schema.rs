//! The information schema: views over `pg_catalog`, as the standard describes them.
//!
//! ```text
//!   information_schema.txt   a view's columns with their types
//!   information_schema.sql   what each column is, and from where   ->  SELECT CAST(… AS type) AS column, … FROM …
//! ```
//!
//! A view of which only columns are written down has no rows: the server has nothing to show in it. What the others show follows from
//! `pg_catalog`, privileges included, so that nothing here knows how the server keeps its definitions.
//!
//! Rules
//! 1. Every function and relation of a query is named with its schema: nobody's search path changes what the views mean.
//! 2. A column has the type that its row in `information_schema.txt` says, whatever the expression has: the query casts it.

use crate::catalog::definition::ColumnDef;
use crate::types::table;
use std::collections::BTreeMap;

static QUERIES: &str = include_str!("information_schema.sql");

/// What the file's words stand for. A word may use words that come after it.
const WORDS: &[(&str, &str)] = &[
    ("own_schema", "NOT @pg_is_other_temp_schema(n.oid)"),
    (
        "sees_table",
        "(@pg_has_role(c.relowner, 'USAGE') \
         OR @has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR @has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
    (
        "changes_table",
        "(@pg_has_role(c.relowner, 'USAGE') \
         OR @has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') \
         OR @has_any_column_privilege(c.oid, 'INSERT, UPDATE, REFERENCES'))",
    ),
    (
        "sees_column",
        "(@pg_has_role(c.relowner, 'USAGE') \
         OR @has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))",
    ),
    // What follows describes the type `b`, in the schema `nb`, with a modifier.
    (
        "data_type",
        "CASE WHEN b.typelem <> 0 AND b.typlen = -1 THEN 'ARRAY' \
         WHEN nb.nspname = 'pg_catalog' THEN @format_type(b.oid, NULL) ELSE 'USER-DEFINED' END",
    ),
    (
        "characters",
        "CASE WHEN :modifier = -1 THEN NULL WHEN b.oid IN (1042, 1043) THEN :modifier - 4 \
         WHEN b.oid IN (1560, 1562) THEN :modifier END",
    ),
    (
        "octets",
        "CASE WHEN b.oid IN (25, 1042, 1043) THEN CASE WHEN :modifier = -1 THEN 1073741824 \
         WHEN b.oid <> 25 THEN (:modifier - 4) * 4 END END",
    ),
    (
        "precision",
        "CASE b.oid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 \
         WHEN 1700 THEN CASE WHEN :modifier <> -1 THEN ((:modifier - 4) >> 16) & 65535 END END",
    ),
    ("radix", "CASE WHEN b.oid IN (20, 21, 23, 700, 701) THEN 2 WHEN b.oid = 1700 THEN 10 END"),
    (
        "scale",
        "CASE WHEN b.oid IN (20, 21, 23) THEN 0 WHEN b.oid = 1700 AND :modifier <> -1 THEN (:modifier - 4) & 65535 END",
    ),
    (
        "fractions",
        "CASE WHEN b.oid = 1082 THEN 0 \
         WHEN b.oid IN (1083, 1114, 1184, 1266) THEN CASE WHEN :modifier < 0 THEN 6 ELSE :modifier END \
         WHEN b.oid = 1186 THEN CASE WHEN :modifier < 0 OR :modifier & 65535 = 65535 THEN 6 ELSE :modifier & 65535 END \
         END",
    ),
    (
        "interval",
        "CASE WHEN b.oid = 1186 THEN \
         nullif(@upper(@regexp_replace(@format_type(b.oid, :modifier), '^interval(\\([0-9]+\\))? ?', '')), '') END",
    ),
    (
        "table_privileges",
        "grantor = g.rolname
    grantee = coalesce(e.rolname, 'PUBLIC')
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    privilege_type = x.privilege_type
    is_grantable = CASE WHEN x.is_grantable OR e.oid <> 0 AND @pg_has_role(e.oid, c.relowner, 'USAGE') THEN 'YES' ELSE 'NO' END
    with_hierarchy = CASE WHEN x.privilege_type = 'SELECT' THEN 'YES' ELSE 'NO' END
    FROM @pg_class c JOIN @pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL @aclexplode(coalesce(c.relacl, @acldefault('r', c.relowner))) AS x(grantor, grantee, privilege_type, is_grantable)
    JOIN @pg_roles g ON g.oid = x.grantor
    LEFT JOIN @pg_roles e ON e.oid = x.grantee
    WHERE c.relkind IN ('r', 'v', 'f', 'p')",
    ),
    (
        "column_privileges",
        "grantor = g.rolname
    grantee = coalesce(e.rolname, 'PUBLIC')
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = x.attname
    privilege_type = x.privilege_type
    is_grantable = CASE WHEN x.is_grantable OR e.oid <> 0 AND @pg_has_role(e.oid, c.relowner, 'USAGE') THEN 'YES' ELSE 'NO' END
    FROM (SELECT a.attrelid, a.attname, y.grantor, y.grantee, y.privilege_type, y.is_grantable
        FROM @pg_class r
        CROSS JOIN LATERAL @aclexplode(coalesce(r.relacl, @acldefault('r', r.relowner))) AS y(grantor, grantee, privilege_type, is_grantable)
        JOIN @pg_attribute a ON a.attrelid = r.oid
        WHERE r.relkind IN ('r', 'v', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        AND y.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
        UNION
        SELECT a.attrelid, a.attname, y.grantor, y.grantee, y.privilege_type, y.is_grantable
        FROM @pg_attribute a
        CROSS JOIN LATERAL @aclexplode(a.attacl) AS y(grantor, grantee, privilege_type, is_grantable)
        WHERE a.attnum > 0 AND NOT a.attisdropped) AS x
    JOIN @pg_class c ON c.oid = x.attrelid
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN @pg_roles g ON g.oid = x.grantor
    LEFT JOIN @pg_roles e ON e.oid = x.grantee
    WHERE c.relkind IN ('r', 'v', 'f', 'p')",
    ),
    (
        "routine_privileges",
        "grantor = g.rolname
    grantee = coalesce(e.rolname, 'PUBLIC')
    specific_catalog = @current_database()
    specific_schema = n.nspname
    specific_name = p.proname::text || '_' || p.oid::text
    routine_catalog = @current_database()
    routine_schema = n.nspname
    routine_name = p.proname
    privilege_type = x.privilege_type
    is_grantable = CASE WHEN x.is_grantable OR e.oid <> 0 AND @pg_has_role(e.oid, p.proowner, 'USAGE') THEN 'YES' ELSE 'NO' END
    FROM @pg_proc p JOIN @pg_namespace n ON n.oid = p.pronamespace
    CROSS JOIN LATERAL @aclexplode(coalesce(p.proacl, @acldefault('f', p.proowner))) AS x(grantor, grantee, privilege_type, is_grantable)
    JOIN @pg_roles g ON g.oid = x.grantor
    LEFT JOIN @pg_roles e ON e.oid = x.grantee
    WHERE x.privilege_type = 'EXECUTE'",
    ),
    // Collations are everybody's; sequences and domains are somebody's.
    (
        "usage_privileges",
        "grantor = g.rolname
    grantee = coalesce(e.rolname, 'PUBLIC')
    object_catalog = @current_database()
    object_schema = n.nspname
    object_name = x.name
    object_type = x.kind
    privilege_type = 'USAGE'
    is_grantable = CASE WHEN x.is_grantable OR e.oid <> 0 AND @pg_has_role(e.oid, x.owner, 'USAGE') THEN 'YES' ELSE 'NO' END
    FROM (SELECT k.collnamespace AS schema, k.collname AS name, 'COLLATION' AS kind, k.collowner AS owner, k.collowner AS grantor, 0::oid AS grantee, false AS is_grantable
        FROM @pg_collation k WHERE k.collencoding IN (-1, 6)
        UNION ALL
        SELECT c.relnamespace, c.relname, 'SEQUENCE', c.relowner, y.grantor, y.grantee, y.is_grantable
        FROM @pg_class c
        CROSS JOIN LATERAL @aclexplode(coalesce(c.relacl, @acldefault('s', c.relowner))) AS y(grantor, grantee, privilege_type, is_grantable)
        WHERE c.relkind = 'S' AND y.privilege_type = 'USAGE'
        UNION ALL
        SELECT t.typnamespace, t.typname, 'DOMAIN', t.typowner, y.grantor, y.grantee, y.is_grantable
        FROM @pg_type t
        CROSS JOIN LATERAL @aclexplode(coalesce(t.typacl, @acldefault('T', t.typowner))) AS y(grantor, grantee, privilege_type, is_grantable)
        WHERE t.typtype = 'd' AND y.privilege_type = 'USAGE') AS x
    JOIN @pg_namespace n ON n.oid = x.schema
    JOIN @pg_roles g ON g.oid = x.grantor
    LEFT JOIN @pg_roles e ON e.oid = x.grantee
    WHERE true",
    ),
    ("modifier", "(-1)"),
];

/// The parts of a view's query.
struct Written<'a> {
    expressions: BTreeMap<&'a str, &'a str>,
    rest: &'a str,
}

/// What the file says of a view, with its words replaced; none if it says nothing.
fn text_of(view: &str) -> Option<String> {
    let mut parts = QUERIES.split("\n\n").map(str::trim_start);
    let part = parts.find_map(|part| part.strip_prefix(view)?.strip_prefix('\n'))?;
    let mut text = part.to_owned();
    let own = text.lines().find_map(|line| line.trim().strip_prefix("modifier = ")).map(str::to_owned);
    if let Some(own) = &own {
        text = text.replacen(&format!("    modifier = {own}\n"), "", 1);
    }
    for (word, meaning) in WORDS {
        let meaning = if *word == "modifier" { own.as_deref().unwrap_or(meaning) } else { meaning };
        text = text.replace(&format!(":{word}"), meaning);
    }
    Some(text.replace('@', "pg_catalog."))
}

/// Takes a view's text apart.
fn take_apart(text: &str) -> Written<'_> {
    let rest = text.find("    FROM ").unwrap_or(text.len());
    let lines = text[..rest].lines().map(str::trim).filter(|line| !line.is_empty());
    let expressions = lines.filter_map(|line| line.split_once(" = ")).collect();
    Written { expressions, rest: text[rest..].trim() }
}

/// The query of a view with these columns; none of one that never has rows.
pub(super) fn query(view: &str, columns: &[ColumnDef]) -> Option<String> {
    let text = text_of(view)?;
    let written = take_apart(&text);
    let column = |column: &ColumnDef| {
        let ty = table::by_oid(column.ty.oid).map_or("text", |row| row.name);
        let expression = written.expressions.get(column.name.as_str()).copied().unwrap_or("NULL");
        format!("CAST({expression} AS pg_catalog.{ty}) AS {}", base::settings::quoted_identifier(&column.name))
    };
    let columns: Vec<String> = columns.iter().map(column).collect();
    Some(format!("SELECT {}\n{}", columns.join(",\n    "), written.rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalogs;
    use crate::catalog::schema::INFORMATION_SCHEMA;
    use crate::types::Oid;

    /// The types that the standard's domains are made of.
    const TYPES: [Oid; 4] = [Oid::NAME, Oid::INT4, Oid::VARCHAR, Oid::TIMESTAMPTZ];

    #[test]
    fn every_column_that_a_query_names_is_one_of_its_view() {
        let catalogs = Catalogs::new();
        let mut count = 0;
        for view in catalogs.tables.iter().filter(|view| view.schema == INFORMATION_SCHEMA) {
            assert!(view.columns.iter().all(|column| TYPES.contains(&column.ty.oid)), "{}", view.name);
            let Some(text) = text_of(&view.name) else { continue };
            let written = take_apart(&text);
            count += 1;
            assert!(written.rest.starts_with("FROM "), "{}", view.name);
            assert!(!text.replace("::", "").contains(':'), "a word of {} is not known: {text}", view.name);
            for name in written.expressions.keys() {
                assert!(view.column(name).is_some(), "{} has no column {name}", view.name);
            }
        }
        let named = QUERIES.split("\n\n").skip(1).count();
        assert_eq!(count, named, "a query is of a view that is not there");
    }
}
