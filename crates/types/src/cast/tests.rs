//! The matrix, and casts that have no row in it.

use super::*;

#[test]
fn rows_are_sorted_and_of_known_types() {
    for pair in TABLE.windows(2) {
        let [a, b] = [&pair[0], &pair[1]].map(|row| (row.source, row.target));
        assert!(a < b, "{a:?} {b:?}");
    }
    for row in TABLE {
        assert!(table::by_oid(row.source).is_some() && table::by_oid(row.target).is_some());
    }
}

#[test]
fn contexts_are_postgresqls() {
    use Context::{Assignment, Explicit, Implicit};
    let table = [
        (Oid::INT4, Oid::INT8, Some(Implicit)),
        (Oid::INT8, Oid::INT4, Some(Assignment)),
        (Oid::INT4, Oid::BOOL, Some(Explicit)),
        (Oid::INT4, Oid::OID, Some(Implicit)),
        (Oid::OID, Oid::INT4, Some(Assignment)),
        (Oid::INT4, Oid::TEXT, Some(Assignment)),
        (Oid::TEXT, Oid::INT4, Some(Explicit)),
        (Oid::TEXT, Oid::VARCHAR, Some(Implicit)),
        (Oid::NAME, Oid::TEXT, Some(Implicit)),
        (Oid::TEXT, Oid::NAME, Some(Implicit)),
        (Oid::DATE, Oid::TIMESTAMPTZ, Some(Implicit)),
        (Oid::TIMESTAMPTZ, Oid::DATE, Some(Assignment)),
        (Oid::FLOAT8, Oid::NUMERIC, Some(Assignment)),
        (Oid::NUMERIC, Oid::FLOAT8, Some(Implicit)),
        (Oid::DATE, Oid::INT4, None),
        (Oid::BOOL, Oid::FLOAT8, None),
        (Oid::INT4_ARRAY, Oid::INT8_ARRAY, Some(Implicit)),
        (Oid::INT8_ARRAY, Oid::INT4_ARRAY, Some(Assignment)),
        (Oid::INT4_ARRAY, Oid::TEXT_ARRAY, Some(Assignment)),
        (Oid::INT4_ARRAY, Oid::TEXT, Some(Assignment)),
        (Oid::OIDVECTOR, Oid::OID_ARRAY, Some(Implicit)),
        (Oid::OID_ARRAY, Oid::OIDVECTOR, None),
        (Oid::INT4, Oid::INT4_ARRAY, None),
        (Oid::UNKNOWN, Oid::DATE, Some(Implicit)),
        (Oid::UUID, Oid::TEXT, Some(Assignment)),
    ];
    for (source, target, least) in table {
        let found =
            [Implicit, Assignment, Explicit].into_iter().find(|context| find(source, target, *context).is_some());
        assert_eq!(found, least, "{source:?} to {target:?}");
    }
    assert_eq!(cannot_cast(Oid::DATE, Oid::INT4).message(), "cannot cast type date to integer");
}
