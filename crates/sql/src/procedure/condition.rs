//! Names of conditions: what `EXCEPTION WHEN` and `RAISE` call SQLSTATEs.
//!
//! The names are the table's ([`base::sqlstate`]); here is what that table has not, because no code of the server's own raises it.

use base::sqlstate::{self, SqlState};

/// Conditions that only users raise, and classes of them.
const MORE: &[(&str, &str)] = &[
    ("array_subscript_error", "2202E"),
    ("assert_failure", "P0004"),
    ("bad_copy_file_format", "22P04"),
    ("cardinality_violation", "21000"),
    ("case_not_found", "20000"),
    ("connection_exception", "08000"),
    ("data_exception", "22000"),
    ("diagnostics_exception", "0Z000"),
    ("external_routine_exception", "38000"),
    ("insufficient_resources", "53000"),
    ("integrity_constraint_violation", "23000"),
    ("internal_error", "XX000"),
    ("invalid_transaction_state", "25000"),
    ("invalid_transaction_termination", "2D000"),
    ("no_data", "02000"),
    ("no_data_found", "P0002"),
    ("object_not_in_prerequisite_state", "55000"),
    ("operator_intervention", "57000"),
    ("plpgsql_error", "P0000"),
    ("program_limit_exceeded", "54000"),
    ("raise_exception", "P0001"),
    ("restrict_violation", "23001"),
    ("syntax_error_or_access_rule_violation", "42000"),
    ("too_many_rows", "P0003"),
    ("transaction_rollback", "40000"),
    ("triggered_action_exception", "09000"),
];

/// The code of a condition's name.
pub fn code(name: &str) -> Option<String> {
    let known = sqlstate::TABLE.iter().find(|row| row.1 == name).map(|row| row.0.as_str().to_owned());
    known.or_else(|| MORE.iter().find(|row| row.0 == name).map(|row| row.1.to_owned()))
}

/// Whether a condition's code covers an error's: itself, and the whole class if it ends with three zeros.
pub fn covers(condition: &str, state: SqlState) -> bool {
    condition == state.as_str() || (condition.ends_with("000") && state.as_str().starts_with(&condition[..2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_cover_their_codes() {
        assert_eq!(code("division_by_zero").as_deref(), Some("22012"));
        assert_eq!(code("no_data_found").as_deref(), Some("P0002"));
        assert_eq!(code("nothing"), None);
        assert!(covers("22000", sqlstate::DIVISION_BY_ZERO));
        assert!(covers("22012", sqlstate::DIVISION_BY_ZERO));
        assert!(!covers("23000", sqlstate::DIVISION_BY_ZERO));
    }
}
