//! The table of SQLSTATEs: PostgreSQL's codes and condition names, and the few of the server's own.
//!
//! Code, messages and manual read this table; nothing else spells a code.

use std::fmt;

/// Five characters: a class of two and a condition of three.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The code from its five characters. A code is ASCII; anything else is refused at compile time.
    const fn new(code: &str) -> SqlState {
        let bytes = code.as_bytes();
        assert!(bytes.len() == 5);
        let mut at = 0;
        while at < 5 {
            assert!(bytes[at].is_ascii_uppercase() || bytes[at].is_ascii_digit());
            at += 1;
        }
        SqlState([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]])
    }

    /// The code of these characters: five, digits and upper-case letters.
    pub fn parse(code: &str) -> Option<SqlState> {
        let bytes: [u8; 5] = code.as_bytes().try_into().ok()?;
        bytes.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()).then_some(SqlState(bytes))
    }

    /// The five characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// PostgreSQL's name of the condition, as in `undefined_table`.
    pub fn condition(&self) -> &'static str {
        TABLE.iter().find(|row| row.0 == *self).map_or("unknown", |row| row.1)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! table {
    ($($name:ident $code:literal $condition:literal $text:literal;)*) => {
        $(#[doc = $text] pub const $name: SqlState = SqlState::new($code);)*

        /// Every code with its condition name and one line for the manual.
        pub const TABLE: &[(SqlState, &str, &str)] = &[$(($name, $condition, $text)),*];
    };
}

table! {
    SUCCESSFUL_COMPLETION "00000" "successful_completion" "The statement did what it was asked.";
    WARNING "01000" "warning" "A warning without a code of its own.";
    WARNING_PRIVILEGE_NOT_REVOKED "01006" "privilege_not_revoked" "Somebody else has granted it.";
    WARNING_PRIVILEGE_NOT_GRANTED "01007" "privilege_not_granted" "Who has no grant option cannot grant.";
    CONNECTION_FAILURE "08006" "connection_failure" "The connection broke.";
    PROTOCOL_VIOLATION "08P01" "protocol_violation" "The client sent bytes that are not the protocol.";
    FEATURE_NOT_SUPPORTED "0A000" "feature_not_supported" "Known SQL, not there yet.";
    INVALID_GRANT_OPERATION "0LP01" "invalid_grant_operation" "This cannot be granted so.";
    STACKED_DIAGNOSTICS_WITHOUT_HANDLER "0Z002" "stacked_diagnostics_accessed_without_active_handler" "There is no error that a handler deals with.";
    CASE_NOT_FOUND "20000" "case_not_found" "A CASE of a procedure has no branch for the value.";
    CARDINALITY_VIOLATION "21000" "cardinality_violation" "A subquery that must give one row gave more.";
    DATA_EXCEPTION "22000" "data_exception" "A value that cannot be worked with.";
    STRING_DATA_RIGHT_TRUNCATION "22001" "string_data_right_truncation" "The text does not fit the column.";
    NUMERIC_VALUE_OUT_OF_RANGE "22003" "numeric_value_out_of_range" "The number does not fit the type.";
    NULL_VALUE_NOT_ALLOWED "22004" "null_value_not_allowed" "Null where a value must be.";
    ERROR_IN_ASSIGNMENT "22005" "error_in_assignment" "What cannot be assigned to.";
    INVALID_DATETIME_FORMAT "22007" "invalid_datetime_format" "The text is no date or time.";
    DATETIME_FIELD_OVERFLOW "22008" "datetime_field_overflow" "A date or time out of range.";
    INVALID_TIME_ZONE_DISPLACEMENT "22009" "invalid_time_zone_displacement_value" "A time zone's offset out of range.";
    SUBSTRING_ERROR "22011" "substring_error" "A substring of a negative length.";
    DIVISION_BY_ZERO "22012" "division_by_zero" "Division by zero.";
    INVALID_PRECEDING_OR_FOLLOWING_SIZE "22013" "invalid_preceding_or_following_size" "A window's frame of a size below zero.";
    INVALID_ARGUMENT_FOR_NTILE "22014" "invalid_argument_for_ntile_function" "No buckets, or less.";
    INVALID_ARGUMENT_FOR_NTH_VALUE "22016" "invalid_argument_for_nth_value_function" "A row of a frame before the first.";
    INVALID_REGULAR_EXPRESSION "2201B" "invalid_regular_expression" "A pattern that is no regular expression.";
    INVALID_ARGUMENT_FOR_LOGARITHM "2201E" "invalid_argument_for_logarithm" "A logarithm of zero or less.";
    INVALID_ARGUMENT_FOR_POWER_FUNCTION "2201F" "invalid_argument_for_power_function" "A power that is no real number.";
    INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION "2201G" "invalid_argument_for_width_bucket_function" "Bounds or a count that make no buckets.";
    INVALID_ROW_COUNT_IN_LIMIT "2201W" "invalid_row_count_in_limit_clause" "A LIMIT below zero.";
    INVALID_ROW_COUNT_IN_OFFSET "2201X" "invalid_row_count_in_result_offset_clause" "An OFFSET below zero.";
    INVALID_ESCAPE_CHARACTER "22019" "invalid_escape_character" "An escape of more than one character.";
    INVALID_PARAMETER_VALUE "22023" "invalid_parameter_value" "A setting or argument out of its range.";
    INVALID_ESCAPE_SEQUENCE "22025" "invalid_escape_sequence" "A pattern that ends in its escape.";
    SEQUENCE_GENERATOR_LIMIT_EXCEEDED "2200H" "sequence_generator_limit_exceeded" "A sequence is at its end.";
    ARRAY_SUBSCRIPT_ERROR "2202E" "array_subscript_error" "A subscript or dimension that does not fit the array.";
    INVALID_TEXT_REPRESENTATION "22P02" "invalid_text_representation" "The text is no value of the type.";
    INVALID_BINARY_REPRESENTATION "22P03" "invalid_binary_representation" "The bytes are no value of the type.";
    BAD_COPY_FILE_FORMAT "22P04" "bad_copy_file_format" "COPY data that does not fit the table.";
    UNTRANSLATABLE_CHARACTER "22P05" "untranslatable_character" "A character that text cannot have.";
    CHARACTER_NOT_IN_REPERTOIRE "22021" "character_not_in_repertoire" "Bytes that are not valid UTF-8.";
    INTEGRITY_CONSTRAINT_VIOLATION "23000" "integrity_constraint_violation" "A constraint is violated.";
    NOT_NULL_VIOLATION "23502" "not_null_violation" "Null in a column that forbids it.";
    FOREIGN_KEY_VIOLATION "23503" "foreign_key_violation" "A reference to a row that is not there.";
    UNIQUE_VIOLATION "23505" "unique_violation" "The key is there already.";
    CHECK_VIOLATION "23514" "check_violation" "A check constraint is violated.";
    INVALID_TRANSACTION_STATE "25000" "invalid_transaction_state" "The transaction is not in a state for this.";
    ACTIVE_SQL_TRANSACTION "25001" "active_sql_transaction" "Not inside a transaction block.";
    READ_ONLY_SQL_TRANSACTION "25006" "read_only_sql_transaction" "The transaction may only read.";
    NO_ACTIVE_SQL_TRANSACTION "25P01" "no_active_sql_transaction" "Only inside a transaction block.";
    IN_FAILED_SQL_TRANSACTION "25P02" "in_failed_sql_transaction" "An earlier error failed the transaction.";
    IDLE_IN_TRANSACTION_SESSION_TIMEOUT "25P03" "idle_in_transaction_session_timeout" "Idle in a transaction too long.";
    INVALID_SQL_STATEMENT_NAME "26000" "invalid_sql_statement_name" "No prepared statement of that name.";
    DEPENDENT_OBJECTS_STILL_EXIST "2BP01" "dependent_objects_still_exist" "Other objects need the one that is to go.";
    TRIGGERED_DATA_CHANGE_VIOLATION "27000" "triggered_data_change_violation" "A trigger changed what its statement was about to change.";
    INVALID_TRANSACTION_TERMINATION "2D000" "invalid_transaction_termination" "A transaction cannot be ended here.";
    FUNCTION_EXECUTED_NO_RETURN "2F005" "function_executed_no_return_statement" "A function came to its end without a result.";
    INVALID_AUTHORIZATION_SPECIFICATION "28000" "invalid_authorization_specification" "No such role, or it may not log in.";
    INVALID_PASSWORD "28P01" "invalid_password" "Wrong password.";
    INVALID_CURSOR_NAME "34000" "invalid_cursor_name" "No cursor or portal of that name.";
    INVALID_SAVEPOINT_SPECIFICATION "3B001" "invalid_savepoint_specification" "No savepoint of that name.";
    INVALID_CATALOG_NAME "3D000" "invalid_catalog_name" "No such database.";
    INVALID_SCHEMA_NAME "3F000" "invalid_schema_name" "No such schema.";
    TRANSACTION_ROLLBACK "40000" "transaction_rollback" "The transaction was rolled back.";
    SERIALIZATION_FAILURE "40001" "serialization_failure" "A concurrent update won; try again.";
    DEADLOCK_DETECTED "40P01" "deadlock_detected" "A cycle of waits was broken here; try again.";
    SYNTAX_ERROR "42601" "syntax_error" "The text is not SQL.";
    INSUFFICIENT_PRIVILEGE "42501" "insufficient_privilege" "The role may not do this.";
    GROUPING_ERROR "42803" "grouping_error" "A column that is neither grouped nor aggregated.";
    DATATYPE_MISMATCH "42804" "datatype_mismatch" "The type is another one.";
    CANNOT_COERCE "42846" "cannot_coerce" "There is no cast between the types.";
    UNDEFINED_COLUMN "42703" "undefined_column" "No such column.";
    GENERATED_ALWAYS "428C9" "generated_always" "A value for a column that makes its own.";
    UNDEFINED_FUNCTION "42883" "undefined_function" "No such function or operator.";
    UNDEFINED_TABLE "42P01" "undefined_table" "No such table.";
    UNDEFINED_PARAMETER "42P02" "undefined_parameter" "No such parameter.";
    INVALID_CURSOR_DEFINITION "42P11" "invalid_cursor_definition" "The statement cannot have a cursor.";
    INVALID_FUNCTION_DEFINITION "42P13" "invalid_function_definition" "Not a definition of a function or procedure.";
    UNDEFINED_OBJECT "42704" "undefined_object" "No such object.";
    DUPLICATE_COLUMN "42701" "duplicate_column" "The column is there already.";
    DUPLICATE_CURSOR "42P03" "duplicate_cursor" "The cursor or portal is there already.";
    DUPLICATE_DATABASE "42P04" "duplicate_database" "The database is there already.";
    DUPLICATE_PREPARED_STATEMENT "42P05" "duplicate_prepared_statement" "The prepared statement is there already.";
    DUPLICATE_SCHEMA "42P06" "duplicate_schema" "The schema is there already.";
    DUPLICATE_FUNCTION "42723" "duplicate_function" "There is one with the same arguments already.";
    DUPLICATE_TABLE "42P07" "duplicate_table" "The table is there already.";
    DUPLICATE_ALIAS "42712" "duplicate_alias" "The alias is used twice.";
    DUPLICATE_OBJECT "42710" "duplicate_object" "The object is there already.";
    AMBIGUOUS_PARAMETER "42P08" "ambiguous_parameter" "A parameter's type is not clear.";
    AMBIGUOUS_COLUMN "42702" "ambiguous_column" "More than one column has the name.";
    AMBIGUOUS_FUNCTION "42725" "ambiguous_function" "More than one function fits.";
    INVALID_COLUMN_REFERENCE "42P10" "invalid_column_reference" "A column cannot be named here.";
    INVALID_TABLE_DEFINITION "42P16" "invalid_table_definition" "The table cannot be defined so.";
    INDETERMINATE_DATATYPE "42P18" "indeterminate_datatype" "The parameter's type cannot be told.";
    INVALID_RECURSION "42P19" "invalid_recursion" "A WITH query that refers to itself where it cannot.";
    INVALID_OBJECT_DEFINITION "42P17" "invalid_object_definition" "What is defined cannot be so.";
    WINDOWING_ERROR "42P20" "windowing_error" "A window function or a window where there can be none.";
    WRONG_OBJECT_TYPE "42809" "wrong_object_type" "The object is of another kind.";
    RESERVED_NAME "42939" "reserved_name" "The name is kept for the system's own use.";
    INVALID_FOREIGN_KEY "42830" "invalid_foreign_key" "The foreign key refers to no unique key.";
    INVALID_NAME "42602" "invalid_name" "The name cannot be used.";
    NAME_TOO_LONG "42622" "name_too_long" "The name is over 63 bytes.";
    WITH_CHECK_OPTION_VIOLATION "44000" "with_check_option_violation" "A row that its view would not show.";
    INSUFFICIENT_RESOURCES "53000" "insufficient_resources" "A limit of the server is reached.";
    DISK_FULL "53100" "disk_full" "No space left on the device.";
    OUT_OF_MEMORY "53200" "out_of_memory" "Memory was refused.";
    TOO_MANY_CONNECTIONS "53300" "too_many_connections" "All connections are taken.";
    CONFIGURATION_LIMIT_EXCEEDED "53400" "configuration_limit_exceeded" "A configured limit is reached.";
    PROGRAM_LIMIT_EXCEEDED "54000" "program_limit_exceeded" "A limit of the program is reached.";
    STATEMENT_TOO_COMPLEX "54001" "statement_too_complex" "The statement is nested too deep.";
    TOO_MANY_COLUMNS "54011" "too_many_columns" "More columns than a row can have.";
    TOO_MANY_ARGUMENTS "54023" "too_many_arguments" "More arguments than a call can have.";
    OBJECT_NOT_IN_PREREQUISITE_STATE "55000" "object_not_in_prerequisite_state" "The object is not in a state for this.";
    OBJECT_IN_USE "55006" "object_in_use" "Somebody uses the object.";
    CANT_CHANGE_RUNTIME_PARAM "55P02" "cant_change_runtime_param" "The setting cannot be changed now.";
    LOCK_NOT_AVAILABLE "55P03" "lock_not_available" "Somebody holds the lock.";
    UNSAFE_NEW_ENUM_VALUE_USAGE "55P04" "unsafe_new_enum_value_usage" "The transaction that adds a value may not use it.";
    OPERATOR_INTERVENTION "57000" "operator_intervention" "An administrator intervened.";
    QUERY_CANCELED "57014" "query_canceled" "The statement was cancelled.";
    ADMIN_SHUTDOWN "57P01" "admin_shutdown" "The server is shutting down, or the session was terminated.";
    CRASH_SHUTDOWN "57P02" "crash_shutdown" "The server restarts after a crash.";
    CANNOT_CONNECT_NOW "57P03" "cannot_connect_now" "The server is starting or stopping.";
    IDLE_SESSION_TIMEOUT "57P05" "idle_session_timeout" "Idle too long.";
    SYSTEM_ERROR "58000" "system_error" "The operating system refused.";
    IO_ERROR "58030" "io_error" "The operating system reported an I/O error.";
    UNDEFINED_FILE "58P01" "undefined_file" "A file is not there.";
    CONFIG_FILE_ERROR "F0000" "config_file_error" "The configuration file cannot be used.";
    LOCK_FILE_EXISTS "F0001" "lock_file_exists" "Another server uses the data directory.";
    RAISE_EXCEPTION "P0001" "raise_exception" "A procedure raised it.";
    NO_DATA_FOUND "P0002" "no_data_found" "No row where there had to be one.";
    TOO_MANY_ROWS "P0003" "too_many_rows" "More rows than one.";
    ASSERT_FAILURE "P0004" "assert_failure" "What a procedure asserts does not hold.";
    INTERNAL_ERROR "XX000" "internal_error" "A bug.";
    DATA_CORRUPTED "XX001" "data_corrupted" "Stored data is damaged.";
    INDEX_CORRUPTED "XX002" "index_corrupted" "A stored index is damaged.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_and_conditions_are_unique() {
        let codes: HashSet<_> = TABLE.iter().map(|row| row.0).collect();
        let conditions: HashSet<_> = TABLE.iter().map(|row| row.1).collect();
        assert_eq!(codes.len(), TABLE.len());
        assert_eq!(conditions.len(), TABLE.len());
    }
}
