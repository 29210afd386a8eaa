//! What the parser takes, what it refuses and in which words. The messages were given by PostgreSQL 15.

use super::*;
use ast::{Body, Expr, ExprKind, Query, SelectItem, Subscript};
use base::sqlstate;

fn parse_all(text: &str) -> Result<()> {
    parse(text, 0, text.len(), &Bump::new()).map(|_| ())
}

/// An expression with all its parentheses.
fn shape(expr: &Expr<'_>) -> String {
    let list = |items: &[Expr<'_>], word: &str| {
        let items: Vec<_> = items.iter().map(shape).collect();
        format!("({})", items.join(&format!(" {word} ")))
    };
    match expr.kind {
        ExprKind::Number(text) => text.to_owned(),
        ExprKind::String(text) => format!("'{text}'"),
        ExprKind::Column(path) => path.iter().map(|name| name.text).collect::<Vec<_>>().join("."),
        ExprKind::Unary { operator, operand } => format!("({}{})", operator.name, shape(operand)),
        ExprKind::Binary { operator, left, right } => format!("({} {} {})", shape(left), operator.name, shape(right)),
        ExprKind::And(items) => list(items, "and"),
        ExprKind::Or(items) => list(items, "or"),
        ExprKind::Not(operand) => format!("(not {})", shape(operand)),
        ExprKind::IsNull { operand, negated } => format!("({} null{})", shape(operand), u8::from(negated)),
        ExprKind::Between { operand, low, high, .. } => {
            format!("({} between {} .. {})", shape(operand), shape(low), shape(high))
        }
        ExprKind::In { operand, list: items, .. } => format!("({} in {})", shape(operand), list(items, ",")),
        ExprKind::Like { operand, pattern, .. } => format!("({} like {})", shape(operand), shape(pattern)),
        ExprKind::Cast { operand, target } => {
            format!("{}::{}", shape(operand), target.path.last().map_or("", |name| name.text))
        }
        ExprKind::Subscript(operand, subscripts) => {
            let bound = |bound: Option<Expr<'_>>| bound.map_or(String::new(), |bound| shape(&bound));
            let inner = subscripts.iter().map(|subscript| match subscript {
                Subscript::Index(index) => format!("[{}]", shape(index)),
                Subscript::Slice(lower, upper) => format!("[{}:{}]", bound(*lower), bound(*upper)),
            });
            format!("{}{}", shape(operand), inner.collect::<String>())
        }
        ExprKind::Call(call) => {
            let arguments: Vec<_> = call.arguments.iter().map(|argument| shape(&argument.value)).collect();
            format!("{}({})", call.path.last().map_or("", |name| name.text), arguments.join(", "))
        }
        ExprKind::Row(items) => list(items, ","),
        ExprKind::Subquery(_) => "(query)".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn syntax_errors_are_postgresqls() {
    for (text, expected) in [
        ("selec 1", r#"syntax error at or near "selec""#),
        ("select 1 +", "syntax error at end of input"),
        ("select from where", r#"syntax error at or near "where""#),
        ("select 1 2", r#"syntax error at or near "2""#),
        ("select (1", "syntax error at end of input"),
        ("select a from t where", "syntax error at end of input"),
        ("select 1 < 2 < 3", r#"syntax error at or near "<""#),
        ("select * from (select 1) x join y", "syntax error at end of input"),
        ("select * from t join u", "syntax error at end of input"),
        ("insert into t values", "syntax error at end of input"),
        ("update t set a", "syntax error at end of input"),
        ("delete t", r#"syntax error at or near "t""#),
        ("create table t (a int,)", r#"syntax error at or near ")""#),
        ("set x", "syntax error at end of input"),
        ("set x = ", "syntax error at end of input"),
        ("begin foo", r#"syntax error at or near "foo""#),
        ("show", "syntax error at end of input"),
        ("select case end", r#"syntax error at or near "end""#),
        ("select 'a' 'b'", r#"syntax error at or near "'b'""#),
        ("drop table", "syntax error at end of input"),
        ("select 1 from t order x", r#"syntax error at or near "x""#),
        ("select a.b.", "syntax error at end of input"),
        ("select * from t limit 1, 2", "LIMIT #,# syntax is not supported"),
        ("truncate", "syntax error at end of input"),
        ("vacuum foo bar", r#"syntax error at or near "bar""#),
        ("select count(* from t", r#"syntax error at or near "from""#),
        ("select 1 in ()", r#"syntax error at or near ")""#),
        ("select extract(x y)", r#"syntax error at or near "y""#),
        ("copy t", "syntax error at end of input"),
        ("alter table t foo", r#"syntax error at or near "foo""#),
        ("select * from t for updat", r#"syntax error at or near "updat""#),
        ("select 1 between 2", "syntax error at end of input"),
        ("select 1 where not", "syntax error at end of input"),
        ("values (1),", "syntax error at end of input"),
        ("prepare p as begin", r#"syntax error at or near "begin""#),
        ("create temp tabl x", r#"syntax error at or near "tabl""#),
    ] {
        let error = parse_all(text).expect_err(text);
        assert_eq!((error.sqlstate(), error.message()), (sqlstate::SYNTAX_ERROR, expected), "{text}");
    }
}

#[test]
fn precedence_is_postgresqls() {
    for (text, expected) in [
        ("1 + 2 * 3", "(1 + (2 * 3))"),
        ("- 2 ^ 2", "((-2) ^ 2)"),
        ("1 - 2 - 3", "((1 - 2) - 3)"),
        ("2 ^ 3 ^ 4", "((2 ^ 3) ^ 4)"),
        ("a or b and not c = 1", "(a or (b and (not (c = 1))))"),
        ("a and b and c", "(a and b and c)"),
        ("a || b + c", "(a || (b + c))"),
        ("a = b is null", "((a = b) null0)"),
        ("not a is not null", "(not (a null1))"),
        ("a between 1 and 2 and b", "((a between 1 .. 2) and b)"),
        ("a like b || c", "(a like (b || c))"),
        ("a < b like c", "(a < (b like c))"),
        ("-a::int", "(-a::int4)"),
        ("-2147483648", "-2147483648"),
        ("a.b[1]::text", "a.b[1]::text"),
        ("a in (1, 2) = b", "((a in (1 , 2)) = b)"),
        ("((1)) + (2)", "(1 + 2)"),
        ("((select 1)) + 1", "((query) + 1)"),
        ("((select 1) + 1)", "((query) + 1)"),
        ("x in ((select 1), 2)", "(x in ((query) , 2))"),
        ("(1, 2) = (3, 4)", "((1 , 2) = (3 , 4))"),
        ("date '2000-01-01'", "'2000-01-01'::date"),
        ("timestamp with time zone 'x'", "'x'::timestamptz"),
        ("extract(year from d)", "extract('year', d)"),
        ("d at time zone 'x'", "timezone('x', d)"),
        ("position('b' in 'abc')", "position('abc', 'b')"),
        ("trim(both 'x' from y)", "btrim(y, 'x')"),
        ("a operator(pg_catalog.+) b * c", "(a + (b * c))"),
        ("left('abc', 1)", "left('abc', 1)"),
        ("@ -1", "(@(-1))"),
    ] {
        let text = format!("select {text}");
        let bump = Bump::new();
        let statement = parse(&text, 0, text.len(), &bump).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Statement::Query(Query { body: Body::Select(select), .. }) = statement else { panic!("{text}") };
        let [SelectItem::Expr(expr, ..)] = select.items else { panic!("{text}") };
        assert_eq!(shape(expr), expected, "{text}");
    }
}

#[test]
fn what_pgbench_and_psql_send_is_read() {
    for text in [
        "drop table if exists pgbench_accounts, pgbench_branches",
        "create table pgbench_tellers(tid int not null,bid int,tbalance int,filler char(84)) with (fillfactor=100)",
        "truncate table pgbench_accounts, pgbench_branches",
        "copy pgbench_accounts from stdin with (freeze on)",
        "copy pgbench_accounts from stdin",
        "vacuum analyze pgbench_branches",
        "alter table pgbench_branches add primary key (bid)",
        "alter table pgbench_tellers add constraint pgbench_tellers_bid_fkey foreign key (bid) references pgbench_branches",
        "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2",
        "INSERT INTO h (tid, mtime) VALUES ($1, CURRENT_TIMESTAMP)",
        "select o.n, p.partstrat, pg_catalog.count(i.inhparent) from pg_catalog.pg_class as c join \
         pg_catalog.pg_namespace as n on (n.oid = c.relnamespace) cross join lateral (select \
         pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)) as o(n) left join \
         pg_catalog.pg_partitioned_table as p on (p.partrelid = c.oid) left join pg_catalog.pg_inherits as i on \
         (c.oid = i.inhparent) where c.relname = 'pgbench_accounts' and o.n is not null group by 1, 2 order by 1 asc limit 1",
        "begin isolation level repeatable read, read only",
        "start transaction read write isolation level read committed",
        "set session characteristics as transaction read only",
        "set local statement_timeout to '5s'",
        "set search_path = a, \"B\", public",
        "set time zone 'UTC'",
        "alter system set work_mem = '64MB'",
        "explain (analyze, costs off) select 1",
        "select * from a natural left join b using_x join (c cross join d) on true, lateral f(1, b => 2) with ordinality as g(x, y)",
        "with a as (select 1), b(x) as materialized (values (1), (2)) select * from a union all (select * from b limit 1) order by 1",
        "insert into t as x (a, b) select 1, 2 on conflict (a) do update set b = excluded.b where x.a > 1 returning *, a as c",
        "delete from only t using u where t.a = u.a returning t.*",
        "update t set (a, b) = (1, default), c = 3 from u",
        "select case a when 1 then 'x' else 'y' end, array[[1], [2]], array(select 1), row(1), (a).b from t for no key update of t skip locked",
        "prepare p(int, text) as select $1",
        "declare c no scroll cursor for select 1",
        "fetch forward 10 from c",
        "create unique index concurrently if not exists i on t using btree (a desc nulls last, lower(b)) where a > 1",
        "select distinct on (a) a aa, b \"B\", count(distinct x) filter (where y) from t group by (a, b), c having count(*) > 1",
        "select count(*) x, 1 year_, t.* from t fetch first 3 rows only",
        "table t",
        "select",
    ] {
        if let Err(error) = parse_all(text) {
            panic!("{text}: {error} at {:?}", error.position());
        }
    }
}

#[test]
fn what_is_not_there_yet_is_refused_by_name() {
    for (text, message) in [
        ("create table t (a int) partition by range (a)", "a partitioned table is not supported"),
        ("merge into t using u on true when matched then delete", "MERGE is not supported"),
    ] {
        let error = parse_all(text).expect_err(text);
        assert_eq!((error.sqlstate(), error.message()), (sqlstate::FEATURE_NOT_SUPPORTED, message), "{text}");
    }
}

#[test]
fn depth_is_bounded_whatever_nests() {
    let deep = |open: &str, inner: &str, close: &str, times: usize| {
        format!("select {}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let wide = format!("select {}1", "1 and ".repeat(100_000));
    assert!(parse_all(&wide).is_ok(), "a long condition is not a deep one");
    assert!(parse_all(&deep("(", "1", ")", 200)).is_ok());
    for text in [
        deep("(", "1", ")", 100_000),
        deep("(select ", "1", ")", 100_000),
        deep("((select 1)+", "1", ")", 20_000),
        deep("not ", "true", "", 100_000),
        deep("- ", "1", "", 100_000),
        deep("", "1", "+1", 100_000),
        deep("", "1", "::int", 100_000),
        deep("array[", "1", "]", 100_000),
        deep("case when ", "true", " then 1 end", 100_000),
        format!("{}select 1{}", "with a as (".repeat(20_000), ") select 1".repeat(20_000)),
        format!("select * from {}", vec!["t"; 5000].join(" cross join ")),
        format!("select * from {}t{}", "t join ".repeat(5000), " on true".repeat(5000)),
        vec!["select 1"; 9000].chunks(2).map(|pair| pair.join(" union ")).collect::<Vec<_>>().join(" except "),
    ] {
        let error = parse_all(&text).expect_err(&text[..40]);
        assert_eq!(error.sqlstate(), sqlstate::STATEMENT_TOO_COMPLEX, "{}", &text[..40]);
    }
}
