//! SQLSTATEs of PostgreSQL's that the shared table does not list yet, under the nearest that it does.
//!
//! Each is named after its condition, so that its row in [`base::sqlstate`] can take its place without a change here.

use base::SqlState;
use base::sqlstate;

/// `2202E`.
pub(crate) const ARRAY_SUBSCRIPT_ERROR: SqlState = sqlstate::INVALID_PARAMETER_VALUE;
/// `22011`.
pub(crate) const SUBSTRING_ERROR: SqlState = sqlstate::INVALID_PARAMETER_VALUE;
/// `2201E`.
pub(crate) const INVALID_ARGUMENT_FOR_LOGARITHM: SqlState = sqlstate::INVALID_PARAMETER_VALUE;
/// `2201F`.
pub(crate) const INVALID_ARGUMENT_FOR_POWER_FUNCTION: SqlState = sqlstate::INVALID_PARAMETER_VALUE;
/// `22025`.
pub(crate) const INVALID_ESCAPE_SEQUENCE: SqlState = sqlstate::INVALID_PARAMETER_VALUE;
/// `22019`.
pub(crate) const INVALID_ESCAPE_CHARACTER: SqlState = sqlstate::INVALID_PARAMETER_VALUE;
