//! `CREATE TABLE … AS`: a table with the columns and the rows of a query.
//!
//! ```text
//!   query -> plan: names and types of its columns -> table under a name of its own -> INSERT INTO it the query -> its real name
//! ```
//!
//! Rules
//! 1. The query means what it meant before the table was there: until it has been executed the table has a name that the query cannot
//!    have, since its own name may be found before that of a table that the query reads.

use super::define::column;
use crate::catalog::privilege::Guard;
use crate::parser::ast::{CreateTable, SelectInto, TableSource};
use crate::plan::Plan;
use crate::row::COLUMNS_MAX;
use crate::session::parameters::Parameters;
use crate::session::run::Compiled;
use crate::session::{Environment, Output, Session, Tag};
use crate::types::{Oid, table};
use allocator_api2::alloc::Allocator;
use base::{Error, Result, sqlstate};

impl<A: Allocator + Copy> Session<A> {
    /// `SELECT … INTO`: the same with another syntax.
    pub(super) fn select_into<O: Output>(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        into: &SelectInto<'_>,
        given: Parameters<'_>,
        out: &mut O,
    ) -> Result<Option<Tag>> {
        let query = into.without_clause(text);
        let create = CreateTable {
            path: into.path,
            if_not_exists: false,
            temporary: into.temporary,
            unlogged: into.unlogged,
            on_commit: None,
            columns: &[],
            constraints: &[],
            likes: &[],
            options: &[],
            source: Some(TableSource { names: &[], range: into.range, with_data: true }),
            tablespace: None,
        };
        self.create_table(env, &query, &create, given, out)
    }

    /// Makes a table of that name, which is locked and free.
    pub(super) fn create_table_as(
        &mut self,
        env: &Environment<'_>,
        text: &str,
        create: &CreateTable<'_>,
        source: &TableSource<'_>,
        (schema, name): (Oid, &str),
        given: Parameters<'_>,
    ) -> Result<Option<Tag>> {
        let range = (source.range.0 as usize, source.range.1 as usize);
        let Ok(Compiled::Plan(plan)) = self.compile(env, text, range, &[], given.types, false)? else {
            return Err(Error::statement(sqlstate::INTERNAL_ERROR, "the query of a new table has no plan"));
        };
        let plan = Plan::new(&plan)
            .ok_or_else(|| Error::statement(sqlstate::INTERNAL_ERROR, "a plan is broken: no header"))?;
        self.check_access(env, plan)?;
        let mut columns = Vec::new();
        for (at, found) in plan.columns().enumerate() {
            let name = source.names.get(at).map_or(found.name(), |name| name.text);
            if columns.iter().any(|known: &crate::catalog::definition::ColumnDef| known.name == name) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(Error::statement(sqlstate::DUPLICATE_COLUMN, message));
            }
            if table::by_oid(found.ty.oid).is_none_or(|row| row.category == b'P') {
                let shown = crate::types::typmod::format_type(found.ty);
                let message = format!("column \"{name}\" has pseudo-type {shown}");
                return Err(Error::statement(sqlstate::INVALID_TABLE_DEFINITION, message));
            }
            self.check_type_usage(env, found.ty)?;
            columns.push(column(name, found.ty));
        }
        if source.names.len() > columns.len() {
            return Err(Error::statement(sqlstate::SYNTAX_ERROR, "too many column names were specified"));
        }
        if columns.len() > COLUMNS_MAX {
            let message = format!("tables can have at most {COLUMNS_MAX} columns");
            return Err(Error::statement(sqlstate::TOO_MANY_COLUMNS, message));
        }
        let mut made = self.new_table(env, create, (schema, name), columns)?;
        if !source.with_data {
            self.define_tables(env, &mut [&mut made])?;
            self.grant_defaults(env, Guard::relation(&made), schema)?;
            return Ok(Some(Tag::Words("CREATE TABLE AS")));
        }
        // Rule 1. Nobody knew the number before.
        made.name = format!("rows of a query, for {}", made.oid.0);
        self.define_tables(env, &mut [&mut made])?;
        let into = self.full_name(env, &made)?;
        // The query is the user's, and so are its names and privileges.
        let rows = self.run_within(env, &format!("insert into {into} {}", &text[range.0..range.1]), given)?;
        name.clone_into(&mut made.name);
        self.define_tables(env, &mut [&mut made])?;
        self.grant_defaults(env, Guard::relation(&made), schema)?;
        Ok(Some(Tag::Rows("SELECT", rows)))
    }
}
