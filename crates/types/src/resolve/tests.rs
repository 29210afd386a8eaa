//! Names and argument types, and what PostgreSQL 15 makes of them.

use super::*;

fn operator(name: &str, left: Option<Oid>, right: Oid) -> String {
    match resolve_operator(name, left, right) {
        Ok(resolved) => {
            let args: Vec<String> = resolved.args.iter().map(|oid| show(*oid)).collect();
            format!("{} -> {}", args.join(", "), show(resolved.result))
        }
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

fn function(name: &str, actual: &[Oid]) -> String {
    let signature = |args: &[Oid], result: Oid| {
        let args: Vec<String> = args.iter().map(|oid| show(*oid)).collect();
        format!("{} -> {}", args.join(", "), show(result))
    };
    match resolve_function(name, actual) {
        Ok(Callable::Function(resolved)) => signature(&resolved.args, resolved.result),
        Ok(Callable::Aggregate(resolved)) => format!("aggregate {}", signature(&resolved.args, resolved.result)),
        Ok(Callable::Window(resolved)) => format!("window {}", signature(&resolved.args, resolved.result)),
        Ok(Callable::Cast(target, _)) => format!("cast to {}", show(target)),
        Err(error) => format!("{} {}", error.sqlstate(), error.message()),
    }
}

#[test]
fn operators_are_those_that_postgresql_takes() {
    use Oid as O;
    let table = [
        ("+", Some(O::INT4), O::INT4, "integer, integer -> integer"),
        ("+", Some(O::INT2), O::INT8, "smallint, bigint -> bigint"),
        ("+", Some(O::INT4), O::NUMERIC, "numeric, numeric -> numeric"),
        ("+", Some(O::INT4), O::FLOAT4, "double precision, real -> double precision"),
        ("*", Some(O::FLOAT8), O::NUMERIC, "double precision, double precision -> double precision"),
        ("+", Some(O::UNKNOWN), O::INT4, "integer, integer -> integer"),
        ("+", Some(O::INT4), O::UNKNOWN, "integer, integer -> integer"),
        ("+", Some(O::UNKNOWN), O::UNKNOWN, "42725 operator is not unique: unknown + unknown"),
        ("+", Some(O::DATE), O::INT2, "date, integer -> date"),
        ("-", Some(O::DATE), O::UNKNOWN, "date, date -> integer"),
        ("=", Some(O::INT4), O::INT8, "integer, bigint -> boolean"),
        ("=", Some(O::VARCHAR), O::UNKNOWN, "text, text -> boolean"),
        ("=", Some(O::BPCHAR), O::UNKNOWN, "bpchar, bpchar -> boolean"),
        ("=", Some(O::BPCHAR), O::TEXT, "text, text -> boolean"),
        ("=", Some(O::BPCHAR), O::VARCHAR, "bpchar, bpchar -> boolean"),
        ("=", Some(O::NAME), O::UNKNOWN, "name, name -> boolean"),
        ("=", Some(O::NAME), O::TEXT, "name, text -> boolean"),
        ("=", Some(O::NAME), O::VARCHAR, "name, text -> boolean"),
        ("=", Some(O::UNKNOWN), O::UNKNOWN, "text, text -> boolean"),
        ("=", Some(O::OID), O::INT4, "oid, oid -> boolean"),
        ("=", Some(O::OID), O::UNKNOWN, "oid, oid -> boolean"),
        ("=", Some(O::REGCLASS), O::INT4, "oid, oid -> boolean"),
        ("=", Some(O::REGCLASS), O::OID, "oid, oid -> boolean"),
        ("=", Some(O::INT4), O::TEXT, "42883 operator does not exist: integer = text"),
        ("=", Some(O::BOOL), O::UNKNOWN, "boolean, boolean -> boolean"),
        ("<", Some(O::DATE), O::TIMESTAMPTZ, "timestamp with time zone, timestamp with time zone -> boolean"),
        ("=", Some(O::INT4_ARRAY), O::INT4_ARRAY, "integer[], integer[] -> boolean"),
        ("=", Some(O::INT4_ARRAY), O::UNKNOWN, "integer[], integer[] -> boolean"),
        ("=", Some(O::INT4_ARRAY), O::TEXT_ARRAY, "42883 operator does not exist: integer[] = text[]"),
        ("||", Some(O::TEXT), O::UNKNOWN, "text, text -> text"),
        ("||", Some(O::UNKNOWN), O::UNKNOWN, "text, text -> text"),
        ("||", Some(O::INT4), O::UNKNOWN, "text, text -> text"),
        ("||", Some(O::TEXT), O::INT4, "text, text -> text"),
        ("||", Some(O::INT4), O::INT4, "42883 operator does not exist: integer || integer"),
        ("||", Some(O::INT4_ARRAY), O::INT4, "integer[], integer -> integer[]"),
        ("||", Some(O::INT4), O::INT4_ARRAY, "integer, integer[] -> integer[]"),
        ("||", Some(O::INT4_ARRAY), O::NUMERIC, "numeric[], numeric -> numeric[]"),
        ("||", Some(O::TEXT_ARRAY), O::UNKNOWN, "text[], text[] -> text[]"),
        ("~~", Some(O::VARCHAR), O::UNKNOWN, "text, text -> boolean"),
        ("~~", Some(O::BPCHAR), O::UNKNOWN, "bpchar, text -> boolean"),
        ("~~", Some(O::INT4), O::UNKNOWN, "42883 operator does not exist: integer ~~ unknown"),
        ("-", None, O::INT2, "smallint -> smallint"),
        ("-", None, O::BOOL, "42883 operator does not exist: - boolean"),
        ("<->", Some(O::INT4), O::INT4, "42883 operator does not exist: integer <-> integer"),
    ];
    for (name, left, right, expected) in table {
        assert_eq!(operator(name, left, right), expected, "{left:?} {name} {right:?}");
    }
}

#[test]
fn functions_are_those_that_postgresql_takes() {
    use Oid as O;
    let table: &[(&str, &[Oid], &str)] = &[
        ("abs", &[O::INT4], "integer -> integer"),
        ("abs", &[O::UNKNOWN], "double precision -> double precision"),
        ("round", &[O::INT4], "double precision -> double precision"),
        ("round", &[O::NUMERIC, O::INT2], "numeric, integer -> numeric"),
        ("round", &[O::FLOAT8, O::INT4], "42883 function round(double precision, integer) does not exist"),
        ("power", &[O::INT4, O::NUMERIC], "numeric, numeric -> numeric"),
        ("power", &[O::INT4, O::INT4], "double precision, double precision -> double precision"),
        ("length", &[O::UNKNOWN], "text -> integer"),
        ("length", &[O::BPCHAR], "bpchar -> integer"),
        ("lower", &[O::VARCHAR], "text -> text"),
        ("lower", &[], "42883 function lower() does not exist"),
        ("nothing", &[O::INT4, O::UNKNOWN], "42883 function nothing(integer, unknown) does not exist"),
        ("count", &[], "aggregate  -> bigint"),
        ("count", &[O::TEXT], "aggregate text -> bigint"),
        ("sum", &[O::INT4], "aggregate integer -> bigint"),
        ("sum", &[O::INT2], "aggregate smallint -> bigint"),
        ("sum", &[O::INT8], "aggregate bigint -> numeric"),
        ("sum", &[O::TEXT], "42883 function sum(text) does not exist"),
        ("min", &[O::VARCHAR], "aggregate text -> text"),
        ("max", &[O::NAME], "aggregate text -> text"),
        ("min", &[O::INT4_ARRAY], "aggregate integer[] -> integer[]"),
        ("string_agg", &[O::NAME, O::UNKNOWN], "aggregate text, text -> text"),
        ("array_agg", &[O::NAME], "aggregate name -> name[]"),
        ("array_position", &[O::NAME_ARRAY, O::NAME], "name[], name -> integer"),
        ("array_position", &[O::NAME_ARRAY, O::UNKNOWN], "name[], name -> integer"),
        ("array_position", &[O::INT4_ARRAY, O::NUMERIC], "numeric[], numeric -> integer"),
        ("array_position", &[O::INT4, O::INT4], "42883 function array_position(integer, integer) does not exist"),
        ("array_length", &[O::OIDVECTOR, O::INT4], "oidvector, integer -> integer"),
        ("current_schemas", &[O::BOOL], "boolean -> name[]"),
        ("int4", &[O::UNKNOWN], "cast to integer"),
        ("int4", &[O::NUMERIC], "numeric -> integer"),
        ("text", &[O::INT4], "cast to text"),
        ("unnest", &[O::TEXT_ARRAY], "text[] -> text"),
        (
            "array_to_string",
            &[O::UNKNOWN, O::UNKNOWN],
            "42804 could not determine polymorphic type because input has type unknown",
        ),
    ];
    for (name, actual, expected) in table {
        assert_eq!(function(name, actual), *expected, "{name}{actual:?}");
    }
}

#[test]
fn errors_carry_postgresqls_hints() {
    let hint = |error: Error| error.hint_text().unwrap_or_default().to_owned();
    let casts = "You might need to add explicit type casts.";
    assert_eq!(
        hint(resolve_operator("=", Some(Oid::INT4), Oid::TEXT).expect_err("none")),
        format!("No operator matches the given name and argument types. {casts}")
    );
    assert_eq!(
        hint(resolve_operator("-", None, Oid::BOOL).expect_err("none")),
        "No operator matches the given name and argument type. You might need to add an explicit type cast."
    );
    assert_eq!(
        hint(resolve_operator("+", Some(Oid::UNKNOWN), Oid::UNKNOWN).expect_err("many")),
        format!("Could not choose a best candidate operator. {casts}")
    );
    assert_eq!(
        hint(resolve_function("lower", &[Oid::INT4]).expect_err("none")),
        format!("No function matches the given name and argument types. {casts}")
    );
}

#[test]
fn common_types_are_postgresqls() {
    let table: &[(&[Oid], std::result::Result<Oid, &str>)] = &[
        (&[Oid::INT4, Oid::INT8], Ok(Oid::INT8)),
        (&[Oid::INT4, Oid::NUMERIC], Ok(Oid::NUMERIC)),
        (&[Oid::NUMERIC, Oid::INT4], Ok(Oid::NUMERIC)),
        (&[Oid::INT4, Oid::FLOAT4], Ok(Oid::FLOAT4)),
        (&[Oid::FLOAT4, Oid::NUMERIC], Ok(Oid::FLOAT4)),
        (&[Oid::INT8, Oid::FLOAT4, Oid::FLOAT8], Ok(Oid::FLOAT8)),
        (&[Oid::TEXT, Oid::VARCHAR], Ok(Oid::TEXT)),
        (&[Oid::VARCHAR, Oid::TEXT], Ok(Oid::VARCHAR)),
        (&[Oid::VARCHAR, Oid::BPCHAR], Ok(Oid::VARCHAR)),
        (&[Oid::BPCHAR, Oid::VARCHAR], Ok(Oid::BPCHAR)),
        (&[Oid::NAME, Oid::TEXT], Ok(Oid::NAME)),
        (&[Oid::NAME, Oid::VARCHAR], Ok(Oid::NAME)),
        (&[Oid::UNKNOWN, Oid::UNKNOWN], Ok(Oid::TEXT)),
        (&[Oid::UNKNOWN, Oid::INT4], Ok(Oid::INT4)),
        (&[Oid::INT4, Oid::UNKNOWN], Ok(Oid::INT4)),
        (&[Oid::DATE, Oid::TIMESTAMP], Ok(Oid::TIMESTAMP)),
        (&[Oid::TIMESTAMP, Oid::TIMESTAMPTZ], Ok(Oid::TIMESTAMPTZ)),
        (&[Oid::DATE, Oid::TIMESTAMPTZ], Ok(Oid::TIMESTAMPTZ)),
        (&[Oid::BOOL, Oid::INT4], Err("CASE types boolean and integer cannot be matched")),
        (&[Oid::INT4, Oid::TEXT], Err("CASE types integer and text cannot be matched")),
        (&[Oid::OID, Oid::INT4], Ok(Oid::OID)),
        (&[Oid::INT4, Oid::OID], Ok(Oid::OID)),
        (&[Oid::REGCLASS, Oid::OID], Ok(Oid::REGCLASS)),
        (&[Oid::INT2, Oid::INT4], Ok(Oid::INT4)),
        (&[Oid::FLOAT8, Oid::NUMERIC], Ok(Oid::FLOAT8)),
        (&[Oid::CHAR, Oid::TEXT], Err("CASE types \"char\" and text cannot be matched")),
        (&[Oid::VARCHAR, Oid::VARCHAR], Ok(Oid::VARCHAR)),
        (&[Oid::INT4_ARRAY, Oid::TEXT_ARRAY], Err("CASE could not convert type text[] to integer[]")),
        (&[Oid::INT8, Oid::OID], Ok(Oid::OID)),
    ];
    for (types, expected) in table {
        let got = common_type(types, "CASE").map_err(|error| error.message().to_owned());
        assert_eq!(got, expected.map_err(str::to_owned), "{types:?}");
    }
}
