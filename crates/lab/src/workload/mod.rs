//! What clients do: scripts in pgbench's format.
pub mod script;
