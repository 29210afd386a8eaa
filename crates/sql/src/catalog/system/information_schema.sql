-- What the views of the information schema show: a view's name, then its columns as `name = expression`, those that are left out being null,
-- then the rest of its query. `@` stands for `pg_catalog.`; a word after a colon stands for a text that `information_schema.rs` has, and
-- `:modifier` for what the view says in its own line of that name.

information_schema_catalog_name
    catalog_name = @current_database()
    FROM (VALUES (1)) AS one(row)

schemata
    catalog_name = @current_database()
    schema_name = n.nspname
    schema_owner = u.rolname
    FROM @pg_namespace n JOIN @pg_roles u ON u.oid = n.nspowner
    WHERE @pg_has_role(n.nspowner, 'USAGE') OR @has_schema_privilege(n.oid, 'CREATE, USAGE')

tables
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    table_type = CASE WHEN n.oid = @pg_my_temp_schema() THEN 'LOCAL TEMPORARY' WHEN c.relkind = 'v' THEN 'VIEW' WHEN c.relkind = 'f' THEN 'FOREIGN' ELSE 'BASE TABLE' END
    is_insertable_into = CASE WHEN c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND @pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END
    is_typed = CASE WHEN c.reloftype <> 0 THEN 'YES' ELSE 'NO' END
    commit_action = CASE WHEN n.oid = @pg_my_temp_schema() THEN 'PRESERVE' END
    FROM @pg_class c JOIN @pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'f', 'p') AND :own_schema AND :sees_table

views
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    view_definition = CASE WHEN @pg_has_role(c.relowner, 'USAGE') THEN @pg_get_viewdef(c.oid) END
    check_option = CASE WHEN 'check_option=cascaded' = ANY (c.reloptions) THEN 'CASCADED' WHEN 'check_option=local' = ANY (c.reloptions) THEN 'LOCAL' ELSE 'NONE' END
    is_updatable = CASE WHEN @pg_relation_is_updatable(c.oid, false) & 20 = 20 THEN 'YES' ELSE 'NO' END
    is_insertable_into = CASE WHEN @pg_relation_is_updatable(c.oid, false) & 8 = 8 THEN 'YES' ELSE 'NO' END
    is_trigger_updatable = CASE WHEN EXISTS (SELECT 1 FROM @pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 81 = 81) THEN 'YES' ELSE 'NO' END
    is_trigger_deletable = CASE WHEN EXISTS (SELECT 1 FROM @pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 73 = 73) THEN 'YES' ELSE 'NO' END
    is_trigger_insertable_into = CASE WHEN EXISTS (SELECT 1 FROM @pg_trigger g WHERE g.tgrelid = c.oid AND g.tgtype & 69 = 69) THEN 'YES' ELSE 'NO' END
    FROM @pg_class c JOIN @pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'v' AND :own_schema AND :sees_table

columns
    modifier = (CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END)
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = a.attname
    ordinal_position = a.attnum
    column_default = CASE WHEN a.attgenerated = '' THEN @pg_get_expr(d.adbin, d.adrelid) END
    is_nullable = CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 'NO' ELSE 'YES' END
    data_type = :data_type
    character_maximum_length = :characters
    character_octet_length = :octets
    numeric_precision = :precision
    numeric_precision_radix = :radix
    numeric_scale = :scale
    datetime_precision = :fractions
    interval_type = :interval
    collation_catalog = CASE WHEN k.oid IS NOT NULL THEN @current_database() END
    collation_schema = nk.nspname
    collation_name = k.collname
    domain_catalog = CASE WHEN t.typtype = 'd' THEN @current_database() END
    domain_schema = CASE WHEN t.typtype = 'd' THEN nt.nspname END
    domain_name = CASE WHEN t.typtype = 'd' THEN t.typname END
    udt_catalog = @current_database()
    udt_schema = nb.nspname
    udt_name = b.typname
    dtd_identifier = a.attnum
    is_self_referencing = 'NO'
    is_identity = CASE WHEN a.attidentity IN ('a', 'd') THEN 'YES' ELSE 'NO' END
    identity_generation = CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END
    identity_start = s.seqstart
    identity_increment = s.seqincrement
    identity_maximum = s.seqmax
    identity_minimum = s.seqmin
    identity_cycle = CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END
    is_generated = CASE WHEN a.attgenerated <> '' THEN 'ALWAYS' ELSE 'NEVER' END
    generation_expression = CASE WHEN a.attgenerated <> '' THEN @pg_get_expr(d.adbin, d.adrelid) END
    is_updatable = CASE WHEN c.relkind IN ('r', 'p') OR c.relkind IN ('v', 'f') AND @pg_column_is_updatable(c.oid, a.attnum, false) THEN 'YES' ELSE 'NO' END
    FROM @pg_attribute a
    JOIN @pg_class c ON c.oid = a.attrelid
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN @pg_type t ON t.oid = a.atttypid
    JOIN @pg_namespace nt ON nt.oid = t.typnamespace
    JOIN @pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    JOIN @pg_namespace nb ON nb.oid = b.typnamespace
    LEFT JOIN @pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN @pg_collation k ON k.oid = a.attcollation AND k.oid <> 100
    LEFT JOIN @pg_namespace nk ON nk.oid = k.collnamespace
    LEFT JOIN @pg_depend i ON i.classid = 1259 AND i.deptype = 'i' AND i.refclassid = 1259 AND i.refobjid = a.attrelid AND i.refobjsubid = a.attnum
    LEFT JOIN @pg_sequence s ON s.seqrelid = i.objid
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p') AND :own_schema AND :sees_column

table_constraints
    constraint_catalog = @current_database()
    constraint_schema = x.schema
    constraint_name = x.name
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    constraint_type = CASE x.type WHEN 'c' THEN 'CHECK' WHEN 'f' THEN 'FOREIGN KEY' WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END
    is_deferrable = CASE WHEN x.deferrable THEN 'YES' ELSE 'NO' END
    initially_deferred = CASE WHEN x.deferred THEN 'YES' ELSE 'NO' END
    enforced = 'YES'
    nulls_distinct = CASE WHEN x.type = 'u' THEN (SELECT CASE WHEN i.indnullsnotdistinct THEN 'NO' ELSE 'YES' END FROM @pg_index i WHERE i.indexrelid = x.index) END
    FROM (SELECT k.conrelid AS relation, m.nspname AS schema, k.conname::text AS name, k.contype AS type, k.condeferrable AS deferrable, k.condeferred AS deferred, k.conindid AS index
        FROM @pg_constraint k JOIN @pg_namespace m ON m.oid = k.connamespace WHERE k.contype IN ('c', 'f', 'p', 'u')
        UNION ALL
        SELECT a.attrelid, m.nspname, m.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null', 'c'::"char", false, false, 0::oid
        FROM @pg_attribute a JOIN @pg_class r ON r.oid = a.attrelid JOIN @pg_namespace m ON m.oid = r.relnamespace
        WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped) AS x
    JOIN @pg_class c ON c.oid = x.relation JOIN @pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND :own_schema AND :changes_table

check_constraints
    constraint_catalog = @current_database()
    constraint_schema = x.schema
    constraint_name = x.name
    check_clause = x.clause
    FROM (SELECT m.nspname AS schema, k.conname::text AS name, @substring(@pg_get_constraintdef(k.oid), 7) AS clause, coalesce(r.relowner, t.typowner) AS owner
        FROM @pg_constraint k JOIN @pg_namespace m ON m.oid = k.connamespace
        LEFT JOIN @pg_class r ON r.oid = k.conrelid LEFT JOIN @pg_type t ON t.oid = k.contypid WHERE k.contype = 'c'
        UNION ALL
        SELECT m.nspname, m.oid::text || '_' || r.oid::text || '_' || a.attnum::text || '_not_null', a.attname::text || ' IS NOT NULL', r.relowner
        FROM @pg_attribute a JOIN @pg_class r ON r.oid = a.attrelid JOIN @pg_namespace m ON m.oid = r.relnamespace
        WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped AND r.relkind IN ('r', 'p')) AS x
    WHERE @pg_has_role(x.owner, 'USAGE')

key_column_usage
    constraint_catalog = @current_database()
    constraint_schema = m.nspname
    constraint_name = k.conname
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = a.attname
    ordinal_position = p.place
    position_in_unique_constraint = CASE WHEN k.contype = 'f' THEN (SELECT @array_position(i.indkey::int2[], k.confkey[p.place]) + 1 FROM @pg_index i WHERE i.indexrelid = k.conindid) END
    FROM @pg_constraint k
    JOIN @pg_namespace m ON m.oid = k.connamespace
    JOIN @pg_class c ON c.oid = k.conrelid
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL @generate_series(1, @array_length(k.conkey, 1)) AS p(place)
    JOIN @pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[p.place]
    WHERE k.contype IN ('f', 'p', 'u') AND c.relkind IN ('r', 'p') AND NOT a.attisdropped AND :own_schema AND :sees_column

constraint_column_usage
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = a.attname
    constraint_catalog = @current_database()
    constraint_schema = x.schema
    constraint_name = x.name
    FROM (SELECT DISTINCT m.nspname AS schema, k.conname AS name, CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END AS relation, p.number
        FROM @pg_constraint k JOIN @pg_namespace m ON m.oid = k.connamespace
        CROSS JOIN LATERAL @unnest(CASE WHEN k.contype = 'f' THEN k.confkey ELSE k.conkey END) AS p(number)
        WHERE k.contype IN ('c', 'f', 'p', 'u')) AS x
    JOIN @pg_class c ON c.oid = x.relation
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN @pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.number
    WHERE c.relkind IN ('r', 'p') AND NOT a.attisdropped AND @pg_has_role(c.relowner, 'USAGE')

constraint_table_usage
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    constraint_catalog = @current_database()
    constraint_schema = m.nspname
    constraint_name = k.conname
    FROM @pg_constraint k JOIN @pg_namespace m ON m.oid = k.connamespace
    JOIN @pg_class c ON c.oid = CASE WHEN k.contype = 'f' THEN k.confrelid ELSE k.conrelid END
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    WHERE k.contype IN ('f', 'p', 'u') AND c.relkind IN ('r', 'p') AND @pg_has_role(c.relowner, 'USAGE')

referential_constraints
    constraint_catalog = @current_database()
    constraint_schema = m.nspname
    constraint_name = k.conname
    unique_constraint_catalog = CASE WHEN u.oid IS NOT NULL THEN @current_database() END
    unique_constraint_schema = um.nspname
    unique_constraint_name = u.conname
    match_option = CASE k.confmatchtype WHEN 'f' THEN 'FULL' WHEN 'p' THEN 'PARTIAL' WHEN 's' THEN 'NONE' END
    update_rule = CASE k.confupdtype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END
    delete_rule = CASE k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' WHEN 'r' THEN 'RESTRICT' WHEN 'a' THEN 'NO ACTION' END
    FROM @pg_constraint k
    JOIN @pg_namespace m ON m.oid = k.connamespace
    JOIN @pg_class c ON c.oid = k.conrelid
    LEFT JOIN @pg_constraint u ON u.conrelid = k.confrelid AND u.conindid = k.conindid AND u.contype IN ('p', 'u')
    LEFT JOIN @pg_namespace um ON um.oid = u.connamespace
    WHERE k.contype = 'f' AND :changes_table

sequences
    sequence_catalog = @current_database()
    sequence_schema = n.nspname
    sequence_name = c.relname
    data_type = @format_type(s.seqtypid, NULL)
    numeric_precision = CASE s.seqtypid WHEN 21 THEN 16 WHEN 23 THEN 32 ELSE 64 END
    numeric_precision_radix = 2
    numeric_scale = 0
    start_value = s.seqstart
    minimum_value = s.seqmin
    maximum_value = s.seqmax
    increment = s.seqincrement
    cycle_option = CASE WHEN s.seqcycle THEN 'YES' ELSE 'NO' END
    FROM @pg_sequence s JOIN @pg_class c ON c.oid = s.seqrelid JOIN @pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT EXISTS (SELECT 1 FROM @pg_depend d WHERE d.classid = 1259 AND d.objid = c.oid AND d.deptype = 'i') AND :own_schema
    AND CASE WHEN c.relkind = 'S' THEN @pg_has_role(c.relowner, 'USAGE') OR @has_sequence_privilege(c.oid, 'SELECT, UPDATE, USAGE') END

routines
    specific_catalog = @current_database()
    specific_schema = n.nspname
    specific_name = p.proname::text || '_' || p.oid::text
    routine_catalog = @current_database()
    routine_schema = n.nspname
    routine_name = p.proname
    routine_type = CASE p.prokind WHEN 'f' THEN 'FUNCTION' WHEN 'p' THEN 'PROCEDURE' END
    data_type = CASE WHEN b.oid IS NOT NULL THEN :data_type END
    type_udt_catalog = CASE WHEN b.oid IS NOT NULL THEN @current_database() END
    type_udt_schema = nb.nspname
    type_udt_name = b.typname
    dtd_identifier = '0'
    routine_body = CASE WHEN l.lanname = 'sql' THEN 'SQL' ELSE 'EXTERNAL' END
    routine_definition = CASE WHEN @pg_has_role(p.proowner, 'USAGE') THEN p.prosrc END
    external_language = @upper(l.lanname::text)
    parameter_style = 'GENERAL'
    is_deterministic = CASE WHEN p.provolatile = 'i' THEN 'YES' ELSE 'NO' END
    sql_data_access = 'MODIFIES'
    is_null_call = CASE WHEN p.prokind = 'p' THEN NULL WHEN p.proisstrict THEN 'YES' ELSE 'NO' END
    schema_level_routine = 'YES'
    max_dynamic_result_sets = 0
    security_type = CASE WHEN p.prosecdef THEN 'DEFINER' ELSE 'INVOKER' END
    as_locator = 'NO'
    is_udt_dependent = 'NO'
    FROM @pg_proc p JOIN @pg_namespace n ON n.oid = p.pronamespace JOIN @pg_language l ON l.oid = p.prolang
    LEFT JOIN @pg_type b ON b.oid = p.prorettype AND p.prokind <> 'p'
    LEFT JOIN @pg_namespace nb ON nb.oid = b.typnamespace
    WHERE @pg_has_role(p.proowner, 'USAGE') OR @has_function_privilege(p.oid, 'EXECUTE')

parameters
    specific_catalog = @current_database()
    specific_schema = n.nspname
    specific_name = p.proname::text || '_' || p.oid::text
    ordinal_position = x.place
    parameter_mode = CASE p.proargmodes[x.place::int4] WHEN 'o' THEN 'OUT' WHEN 'b' THEN 'INOUT' WHEN 't' THEN 'OUT' ELSE 'IN' END
    is_result = 'NO'
    as_locator = 'NO'
    parameter_name = nullif(p.proargnames[x.place::int4], '')
    data_type = :data_type
    udt_catalog = @current_database()
    udt_schema = nb.nspname
    udt_name = b.typname
    dtd_identifier = x.place
    parameter_default = CASE WHEN @pg_has_role(p.proowner, 'USAGE') THEN @pg_get_function_arg_default(p.oid, x.place::int4) END
    FROM @pg_proc p JOIN @pg_namespace n ON n.oid = p.pronamespace
    CROSS JOIN LATERAL @unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS x(type, place)
    JOIN @pg_type b ON b.oid = x.type
    JOIN @pg_namespace nb ON nb.oid = b.typnamespace
    WHERE @pg_has_role(p.proowner, 'USAGE') OR @has_function_privilege(p.oid, 'EXECUTE')

triggers
    trigger_catalog = @current_database()
    trigger_schema = n.nspname
    trigger_name = g.tgname
    event_manipulation = e.word
    event_object_catalog = @current_database()
    event_object_schema = n.nspname
    event_object_table = c.relname
    action_order = @rank() OVER (PARTITION BY n.nspname, c.relname, e.bit, g.tgtype & 1, g.tgtype & 66 ORDER BY g.tgname)
    action_condition = CASE WHEN @pg_has_role(c.relowner, 'USAGE') THEN (@regexp_match(@pg_get_triggerdef(g.oid), '.{35,} WHEN \((.+)\) EXECUTE FUNCTION'))[1] END
    action_statement = @substring(@pg_get_triggerdef(g.oid), @strpos(@substring(@pg_get_triggerdef(g.oid), 48), 'EXECUTE FUNCTION') + 47)
    action_orientation = CASE WHEN g.tgtype & 1 = 1 THEN 'ROW' ELSE 'STATEMENT' END
    action_timing = CASE g.tgtype & 66 WHEN 2 THEN 'BEFORE' WHEN 64 THEN 'INSTEAD OF' ELSE 'AFTER' END
    action_reference_old_table = g.tgoldtable
    action_reference_new_table = g.tgnewtable
    FROM @pg_trigger g JOIN @pg_class c ON c.oid = g.tgrelid JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN (VALUES (4, 'INSERT'), (8, 'DELETE'), (16, 'UPDATE')) AS e(bit, word) ON g.tgtype & e.bit <> 0
    WHERE NOT g.tgisinternal AND :own_schema AND :changes_table

triggered_update_columns
    trigger_catalog = @current_database()
    trigger_schema = n.nspname
    trigger_name = g.tgname
    event_object_catalog = @current_database()
    event_object_schema = n.nspname
    event_object_table = c.relname
    event_object_column = a.attname
    FROM @pg_trigger g JOIN @pg_class c ON c.oid = g.tgrelid JOIN @pg_namespace n ON n.oid = c.relnamespace
    CROSS JOIN LATERAL @unnest(g.tgattr::int2[]) AS x(number)
    JOIN @pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.number
    WHERE NOT g.tgisinternal AND :own_schema AND (@pg_has_role(c.relowner, 'USAGE') OR @has_column_privilege(c.oid, a.attnum, 'INSERT, UPDATE, REFERENCES'))

domains
    modifier = t.typtypmod
    domain_catalog = @current_database()
    domain_schema = n.nspname
    domain_name = t.typname
    data_type = CASE WHEN nb.nspname = 'pg_catalog' THEN @format_type(b.oid, NULL) ELSE 'USER-DEFINED' END
    character_maximum_length = :characters
    character_octet_length = :octets
    numeric_precision = :precision
    numeric_precision_radix = :radix
    numeric_scale = :scale
    datetime_precision = :fractions
    interval_type = :interval
    domain_default = t.typdefault
    udt_catalog = @current_database()
    udt_schema = nb.nspname
    udt_name = b.typname
    dtd_identifier = '1'
    FROM @pg_type t JOIN @pg_namespace n ON n.oid = t.typnamespace
    JOIN @pg_type b ON b.oid = t.typbasetype
    JOIN @pg_namespace nb ON nb.oid = b.typnamespace
    WHERE t.typtype = 'd' AND @pg_has_role(t.typowner, 'USAGE')

domain_constraints
    constraint_catalog = @current_database()
    constraint_schema = m.nspname
    constraint_name = k.conname
    domain_catalog = @current_database()
    domain_schema = n.nspname
    domain_name = t.typname
    is_deferrable = CASE WHEN k.condeferrable THEN 'YES' ELSE 'NO' END
    initially_deferred = CASE WHEN k.condeferred THEN 'YES' ELSE 'NO' END
    FROM @pg_constraint k JOIN @pg_namespace m ON m.oid = k.connamespace
    JOIN @pg_type t ON t.oid = k.contypid JOIN @pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype = 'd' AND @pg_has_role(t.typowner, 'USAGE')

domain_udt_usage
    udt_catalog = @current_database()
    udt_schema = nb.nspname
    udt_name = b.typname
    domain_catalog = @current_database()
    domain_schema = n.nspname
    domain_name = t.typname
    FROM @pg_type t JOIN @pg_namespace n ON n.oid = t.typnamespace
    JOIN @pg_type b ON b.oid = t.typbasetype JOIN @pg_namespace nb ON nb.oid = b.typnamespace
    WHERE t.typtype = 'd' AND @pg_has_role(b.typowner, 'USAGE')

column_domain_usage
    domain_catalog = @current_database()
    domain_schema = nt.nspname
    domain_name = t.typname
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = a.attname
    FROM @pg_attribute a JOIN @pg_class c ON c.oid = a.attrelid JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN @pg_type t ON t.oid = a.atttypid JOIN @pg_namespace nt ON nt.oid = t.typnamespace
    WHERE t.typtype = 'd' AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p') AND @pg_has_role(t.typowner, 'USAGE')

column_udt_usage
    udt_catalog = @current_database()
    udt_schema = nb.nspname
    udt_name = b.typname
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = a.attname
    FROM @pg_attribute a JOIN @pg_class c ON c.oid = a.attrelid JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN @pg_type t ON t.oid = a.atttypid
    JOIN @pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END
    JOIN @pg_namespace nb ON nb.oid = b.typnamespace
    WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'f', 'p') AND @pg_has_role(b.typowner, 'USAGE')

element_types
    object_catalog = @current_database()
    object_schema = x.schema
    object_name = x.name
    object_type = x.kind
    collection_type_identifier = x.identifier
    data_type = CASE WHEN nb.nspname = 'pg_catalog' THEN @format_type(b.oid, NULL) ELSE 'USER-DEFINED' END
    udt_catalog = @current_database()
    udt_schema = nb.nspname
    udt_name = b.typname
    dtd_identifier = 'a' || x.identifier
    FROM (SELECT n.nspname AS schema, c.relname::text AS name, CASE WHEN c.relkind = 'c' THEN 'USER-DEFINED TYPE' ELSE 'TABLE' END AS kind, a.attnum::text AS identifier, a.atttypid AS type
        FROM @pg_attribute a JOIN @pg_class c ON c.oid = a.attrelid JOIN @pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('r', 'v', 'f', 'c', 'p') AND a.attnum > 0 AND NOT a.attisdropped
        AND (@pg_has_role(c.relowner, 'USAGE') OR @has_column_privilege(c.oid, a.attnum, 'SELECT, INSERT, UPDATE, REFERENCES'))
        UNION ALL
        SELECT n.nspname, t.typname::text, 'DOMAIN', '1', t.typbasetype
        FROM @pg_type t JOIN @pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd'
        UNION ALL
        SELECT n.nspname, p.proname::text || '_' || p.oid::text, 'ROUTINE', y.place::text, y.type
        FROM @pg_proc p JOIN @pg_namespace n ON n.oid = p.pronamespace
        CROSS JOIN LATERAL @unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS y(type, place)
        WHERE @pg_has_role(p.proowner, 'USAGE') OR @has_function_privilege(p.oid, 'EXECUTE')
        UNION ALL
        SELECT n.nspname, p.proname::text || '_' || p.oid::text, 'ROUTINE', '0', p.prorettype
        FROM @pg_proc p JOIN @pg_namespace n ON n.oid = p.pronamespace
        WHERE @pg_has_role(p.proowner, 'USAGE') OR @has_function_privilege(p.oid, 'EXECUTE')) AS x
    JOIN @pg_type t ON t.oid = x.type AND t.typelem <> 0 AND t.typlen = -1
    JOIN @pg_type b ON b.oid = t.typelem
    JOIN @pg_namespace nb ON nb.oid = b.typnamespace

enabled_roles
    role_name = u.rolname
    FROM @pg_roles u
    WHERE @pg_has_role(u.oid, 'USAGE')

applicable_roles
    grantee = m.rolname
    role_name = u.rolname
    is_grantable = CASE WHEN x.admin_option THEN 'YES' ELSE 'NO' END
    FROM @pg_auth_members x JOIN @pg_roles m ON m.oid = x.member JOIN @pg_roles u ON u.oid = x.roleid
    WHERE @pg_has_role(m.oid, 'USAGE')

administrable_role_authorizations
    grantee = m.rolname
    role_name = u.rolname
    is_grantable = 'YES'
    FROM @pg_auth_members x JOIN @pg_roles m ON m.oid = x.member JOIN @pg_roles u ON u.oid = x.roleid
    WHERE x.admin_option AND @pg_has_role(m.oid, 'USAGE')

table_privileges
    :table_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR x.grantee = 0 OR @pg_has_role(e.oid, 'USAGE'))

role_table_grants
    :table_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR e.oid <> 0 AND @pg_has_role(e.oid, 'USAGE'))

column_privileges
    :column_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR x.grantee = 0 OR @pg_has_role(e.oid, 'USAGE'))

role_column_grants
    :column_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR e.oid <> 0 AND @pg_has_role(e.oid, 'USAGE'))

routine_privileges
    :routine_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR x.grantee = 0 OR @pg_has_role(e.oid, 'USAGE'))

role_routine_grants
    :routine_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR e.oid <> 0 AND @pg_has_role(e.oid, 'USAGE'))

usage_privileges
    :usage_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR x.grantee = 0 OR @pg_has_role(e.oid, 'USAGE'))

role_usage_grants
    :usage_privileges
    AND (@pg_has_role(g.oid, 'USAGE') OR e.oid <> 0 AND @pg_has_role(e.oid, 'USAGE'))

character_sets
    character_set_name = 'UTF8'
    character_repertoire = 'UCS'
    form_of_use = 'UTF8'
    default_collate_catalog = @current_database()
    default_collate_schema = 'pg_catalog'
    default_collate_name = 'C'
    FROM (VALUES (1)) AS one(row)

collations
    collation_catalog = @current_database()
    collation_schema = n.nspname
    collation_name = k.collname
    pad_attribute = 'NO PAD'
    FROM @pg_collation k JOIN @pg_namespace n ON n.oid = k.collnamespace
    WHERE k.collencoding IN (-1, 6)

collation_character_set_applicability
    collation_catalog = @current_database()
    collation_schema = n.nspname
    collation_name = k.collname
    character_set_name = 'UTF8'
    FROM @pg_collation k JOIN @pg_namespace n ON n.oid = k.collnamespace
    WHERE k.collencoding IN (-1, 6)

view_table_usage
    view_catalog = @current_database()
    view_schema = x.schema
    view_name = x.name
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    FROM (SELECT DISTINCT m.nspname AS schema, v.relname AS name, d.refobjid AS relation
        FROM @pg_class v JOIN @pg_namespace m ON m.oid = v.relnamespace
        JOIN @pg_rewrite r ON r.ev_class = v.oid
        JOIN @pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1259 AND d.refobjid <> v.oid
        WHERE v.relkind = 'v') AS x
    JOIN @pg_class c ON c.oid = x.relation
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'f', 'p') AND @pg_has_role(c.relowner, 'USAGE')

view_column_usage
    view_catalog = @current_database()
    view_schema = x.schema
    view_name = x.name
    table_catalog = @current_database()
    table_schema = n.nspname
    table_name = c.relname
    column_name = a.attname
    FROM (SELECT DISTINCT m.nspname AS schema, v.relname AS name, d.refobjid AS relation, d.refobjsubid AS number
        FROM @pg_class v JOIN @pg_namespace m ON m.oid = v.relnamespace
        JOIN @pg_rewrite r ON r.ev_class = v.oid
        JOIN @pg_depend d ON d.classid = 2618 AND d.objid = r.oid AND d.refclassid = 1259 AND d.refobjid <> v.oid
        WHERE v.relkind = 'v') AS x
    JOIN @pg_class c ON c.oid = x.relation
    JOIN @pg_namespace n ON n.oid = c.relnamespace
    JOIN @pg_attribute a ON a.attrelid = c.oid AND a.attnum = x.number
    WHERE c.relkind IN ('r', 'v', 'f', 'p') AND @pg_has_role(c.relowner, 'USAGE')
