//! Questions about objects of the catalog that are no question of privileges: what they are called, whether a name finds them, what may be
//! done with them, how large they are.

use super::Exec;
use super::around::Around;
use super::series::FunctionState;
use super::store::Rows;
use super::value::Value;
use crate::bind::{self, Setting};
use crate::catalog::Catalog;
use crate::catalog::definition::{RelationKind, TableDef};
use crate::catalog::privilege::{CONNECT, Guard};
use crate::catalog::store::{ALL_DATABASES, Committed, Definitions};
use crate::catalog::system;
use crate::lexer::keywords::{self, Category};
use crate::parser::ast::Name;
use crate::statement::temporary::storages_of;
use crate::types::array::Array;
use crate::types::function;
use crate::types::op::Op;
use crate::types::{Arena, Datum, Oid, operator};
use base::settings::quoted_identifier;
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use kernel::fiber::on_engine_stack;
use std::sync::Arc;
use storage::page::PAGE_SIZE;

/// What `pg_relation_is_updatable` says: a bit for each kind of statement.
const CHANGED: i64 = 1 << 2;
const INSERTED: i64 = 1 << 3;
const DELETED: i64 = 1 << 4;

impl Around<'_> {
    /// Answers such a question.
    pub(super) fn of_objects<'a>(&self, op: Op, args: &[Datum<'a>], arena: &'a Arena) -> Result<Datum<'a>> {
        let text = |text: &str| Ok(Datum::Bytes(arena.copy(text.as_bytes())?));
        let string = |at: usize| String::from_utf8_lossy(args[at].bytes()).into_owned();
        let oid = |at: usize| Oid(args[at].int() as u32);
        let known = |is_known: bool| if is_known { Datum::Bool(true) } else { Datum::Null };
        let shown = |shown: Option<String>| shown.map_or(Ok(Datum::Null), |shown| text(&shown));
        Ok(match op {
            Op::OwnEncoding => return text("UTF8"),
            Op::EncodingNumber => {
                let letters = string(0).to_ascii_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
                Datum::Int(match letters.as_str() {
                    "UTF8" | "UNICODE" => 6,
                    "SQLASCII" => 0,
                    _ => -1,
                })
            }
            Op::EncodingLength => match args[0].int() {
                6 => Datum::Int(4),
                0 => Datum::Int(1),
                _ => Datum::Null,
            },
            Op::CollationIsVisible => known([100, 950, 951].contains(&oid(0).0)),
            Op::ClassIsVisible => known(system::is_fixed("pg_opclass", oid(0))),
            Op::FamilyIsVisible => known(system::is_fixed("pg_opfamily", oid(0))),
            Op::OperatorIsVisible => known(operator::by_oid(oid(0)).is_some()),
            Op::RelationIsUpdatable => {
                let columns = self.changeable(oid(0))?;
                let all = CHANGED | INSERTED | DELETED;
                // A view without one column that is the table's takes no new rows, and its rows can go.
                let some = |columns: Vec<bool>| if columns.contains(&true) { all } else { DELETED };
                Datum::Int(columns.map_or(0, some))
            }
            Op::ColumnIsUpdatable => {
                let columns = self.changeable(oid(0))?.unwrap_or_default();
                let column = usize::try_from(args[1].int() - 1).ok();
                Datum::Bool(column.and_then(|column| columns.get(column).copied()).unwrap_or(false))
            }
            Op::DatabaseSize | Op::TablespaceSize => self.whole_size(op, args[0])?,
            Op::TablespaceLocation => return text(""),
            Op::DescribeObject => return shown(describe(&self.catalog.get()?, oid(0), oid(1), args[2].int())?),
            _ => {
                let catalog = self.catalog.get()?;
                let routine = catalog.routine(oid(0));
                let place = usize::try_from(args[1].int() - 1).ok();
                let parameter = routine.as_ref().zip(place).and_then(|(known, place)| known.parameters.get(place));
                return shown(parameter.and_then(|parameter| parameter.default.clone()));
            }
        })
    }

    /// Which columns of a relation can be changed by statements that name it; none if no row can.
    fn changeable(&self, oid: Oid) -> Result<Option<Vec<bool>>> {
        let catalog = self.catalog.get()?;
        let Some(table) = catalog.table_by_oid(oid)? else { return Ok(None) };
        match table.kind {
            RelationKind::Table => Ok(Some(table.columns.iter().map(|column| !column.dropped).collect())),
            RelationKind::View if table.view.is_some() => on_engine_stack(|| {
                let (schema, name) = (catalog.schema_name(table.schema).unwrap_or_default(), table.name.as_str());
                let (arena, bump) = (Arena::new(), Bump::new());
                let setting = Setting {
                    catalog: &catalog,
                    text: "",
                    slots: &[],
                    style: self.style,
                    client_types: &[],
                    new_parameters: false,
                    variables: &[],
                    values: &[],
                };
                let path = [Name { text: &schema, at: 0 }, Name { text: name, at: 0 }];
                match bind::updatable::columns(&path, &setting, &arena, &bump) {
                    Err(error) if error.sqlstate() == sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE => Ok(None),
                    columns => columns,
                }
            }),
            _ => Ok(None),
        }
    }

    /// How many bytes the relations of a database take, or those of all. Errors: `3D000`, `42501`, `42704`.
    fn whole_size(&self, op: Op, which: Datum<'_>) -> Result<Datum<'static>> {
        let catalog = self.catalog.get()?;
        let known = &catalog.definitions;
        let name = match which {
            Datum::Int(_) => String::new(),
            name => String::from_utf8_lossy(name.bytes()).into_owned(),
        };
        let database = match (op, which) {
            (Op::DatabaseSize, Datum::Int(oid)) => match known.database(Oid(oid as u32)) {
                Some(database) => database,
                None => return Ok(Datum::Null),
            },
            (Op::DatabaseSize, _) => known.must_find_database(&name)?,
            (_, Datum::Int(1663)) => return self.size_of_all(ALL_DATABASES, known),
            // There are no relations of several databases.
            (_, Datum::Int(1664)) => return Ok(Datum::Int(0)),
            (_, Datum::Int(_)) => return Ok(Datum::Null),
            _ if name == "pg_default" => return self.size_of_all(ALL_DATABASES, known),
            _ if name == "pg_global" => return Ok(Datum::Int(0)),
            _ => {
                let message = format!("tablespace \"{name}\" does not exist");
                return Err(Error::statement(sqlstate::UNDEFINED_OBJECT, message));
            }
        };
        /// `pg_read_all_stats`
        const READ_ALL_STATISTICS: Oid = Oid(3375);
        if known.rights(self.role, Guard::database(database), CONNECT) == 0
            && !known.has_privileges_of(self.role, READ_ALL_STATISTICS)
        {
            let message = format!("permission denied for database {}", database.name);
            return Err(Error::statement(sqlstate::INSUFFICIENT_PRIVILEGE, message));
        }
        self.size_of_all(database.oid, known)
    }

    /// How many bytes the relations of a database take; `known` is what the own one has.
    fn size_of_all(&self, database: Oid, known: &Arc<Definitions>) -> Result<Datum<'static>> {
        let Some(relations) = self.relations else { return Ok(Datum::Int(0)) };
        let definitions = match self.committed {
            Some(committed) if database != known.home() => Committed { database, ..committed }.definitions()?,
            _ => known.clone(),
        };
        let mut bytes = 0;
        for table in definitions.tables() {
            // One that is dropped meanwhile takes nothing.
            let blocks = storages_of(table).map(|rel| relations.blocks(rel).unwrap_or(0));
            bytes += blocks.map(|blocks| i64::from(blocks) * PAGE_SIZE as i64).sum::<i64>();
            super::breathe()?;
        }
        Ok(Datum::Int(bytes))
    }
}

/// An object in words: `table a`, `column b of table a`. None if it is not there.
fn describe(catalog: &Catalog<'_>, class: Oid, oid: Oid, column: i64) -> Result<Option<String>> {
    let relation = |table: &TableDef| format!("{} {}", table.word(), catalog.shown_name(table));
    let qualified = |schema: Oid, name: &str, is_seen: bool| match is_seen {
        true => quoted_identifier(name),
        false => {
            let schema = catalog.schema_name(schema).unwrap_or_default();
            format!("{}.{}", quoted_identifier(&schema), quoted_identifier(name))
        }
    };
    Ok(match class.0 {
        1259 => match catalog.table_by_oid(oid)? {
            Some(table) => match usize::try_from(column - 1) {
                Ok(index) => table
                    .columns
                    .get(index)
                    .map(|column| format!("column {} of {}", quoted_identifier(&column.name), relation(&table))),
                Err(_) => Some(relation(&table)),
            },
            None => {
                let tables = catalog.tables()?;
                let mut found = tables.iter().filter_map(|table| Some((table, table.index(oid)?)));
                found.next().map(|(table, index)| {
                    let is_seen = catalog.path.searched.contains(&table.schema);
                    format!("index {}", qualified(table.schema, &index.name, is_seen))
                })
            }
        },
        1255 => {
            let is_there = catalog.routine(oid).is_some() || system::is_function(oid);
            let word = match catalog.routine(oid) {
                Some(routine) if !routine.is_function() => "procedure",
                _ => "function",
            };
            is_there.then(|| format!("{word} {}", catalog.show_reg(Oid::REGPROCEDURE, oid)))
        }
        1247 => Some(catalog.show_reg(Oid::REGTYPE, oid))
            .filter(|shown| *shown != oid.to_string())
            .map(|shown| format!("type {shown}")),
        2615 => catalog.schema_name(oid).map(|name| format!("schema {}", quoted_identifier(&name))),
        1260 => catalog.definitions.role(oid).map(|role| format!("role {}", quoted_identifier(&role.name))),
        2612 => [(12, "internal"), (14, "sql"), (13_563, "plpgsql")]
            .iter()
            .find(|known| known.0 == oid.0)
            .map(|known| format!("language {}", known.1)),
        2606 => catalog.definitions.tables().find_map(|table| {
            let constraint = table.constraints.iter().find(|constraint| constraint.oid == oid)?;
            Some(format!("constraint {} on {}", quoted_identifier(&constraint.name), relation(table)))
        }),
        3079 => Some(match oid.0 {
            13_559 => "extension plpgsql".to_owned(),
            13_564 => "extension gearbox".to_owned(),
            _ => return Ok(None),
        }),
        other => {
            let message = format!("objects of the catalog with OID {other} cannot be described");
            return Err(Error::unsupported(message));
        }
    })
}

impl Exec<'_> {
    /// The rows of functions that take values of the catalogs apart, or show a table of the server's.
    pub(super) fn described(&mut self, op: Op, buffer: u32, args: &[Value]) -> Result<Option<FunctionState>> {
        let given = args.first().map(|array| self.memory.datum(*array).bytes().to_vec());
        let elements = match &given {
            Some(bytes) => Array::decode(bytes)?.elements()?,
            None => Vec::new(),
        };
        self.memory.buffers[buffer as usize].clear();
        let mut rows = Rows::new(function::columns(op).len());
        let mut row = |exec: &mut Self, values: &[Datum<'_>]| -> Result<()> {
            exec.breath()?;
            let mut made = Vec::with_capacity(values.len());
            for value in values {
                made.push(exec.memory.to_buffer(buffer, *value)?);
            }
            rows.push(made.into_iter())
        };
        match op {
            Op::ExpandArray => {
                for (place, element) in elements.iter().enumerate() {
                    row(self, &[*element, Datum::Int(place as i64 + 1)])?;
                }
            }
            Op::OptionsToTable => {
                for element in elements.iter().filter(|element| !element.is_null()) {
                    let text = String::from_utf8_lossy(element.bytes()).into_owned();
                    match text.split_once('=') {
                        Some((name, value)) => row(self, &[Datum::text(name), Datum::text(value)])?,
                        None => row(self, &[Datum::text(&text), Datum::Null])?,
                    }
                }
            }
            _ => {
                for keyword in keywords::TABLE {
                    let meaning = match keyword.category {
                        Category::Unreserved => "unreserved",
                        Category::ColumnName => "unreserved (cannot be function or type name)",
                        Category::TypeFunctionName => "reserved (can be function or type name)",
                        Category::Reserved => "reserved",
                    };
                    let label = if keyword.bare_label { "can be bare label" } else { "requires AS" };
                    row(
                        self,
                        &[
                            Datum::text(keyword.word),
                            Datum::Int(i64::from(u32::from(keyword.category.code()))),
                            Datum::Bool(keyword.bare_label),
                            Datum::text(meaning),
                            Datum::text(label),
                        ],
                    )?;
                }
            }
        }
        Ok(Some(FunctionState::Elements { rows }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::privilege::{AclItem, PUBLIC, REFERENCES, SELECT, TRIGGER};

    #[test]
    fn what_is_shown_of_privileges_is_read_again() {
        let names = ["postgres", "a \"b\"", "plain"];
        let name = |oid: Oid| names[oid.0 as usize - 1].to_owned();
        let find = |wanted: &str| names.iter().position(|name| *name == wanted).map(|at| Oid(at as u32 + 1));
        for (grantee, rights, options) in
            [(PUBLIC, SELECT, 0), (Oid(2), SELECT | TRIGGER | REFERENCES, TRIGGER), (Oid(3), 0, 0)]
        {
            let item = AclItem { grantee, grantor: Oid(2), rights, options };
            assert_eq!(AclItem::read(&item.shown(name), find), Some(item));
        }
        assert_eq!(AclItem::read("nobody=r/postgres", find), None);
    }
}
