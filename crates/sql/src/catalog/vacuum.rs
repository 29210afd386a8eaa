//! Which tables there are in all databases, for the background vacuum.
//!
//! The catalog's own heap is one of them: every change of a definition leaves its old rows there.

use super::definition::{RelationKind, Rows, TableDef};
use super::store::{ALL_DATABASES, CATALOG, CATALOG_OID};
use crate::session::Database;
use crate::types::Oid;
use base::{Error, Result};
use storage::vacuum::{Catalog, Own, Table};

/// What the table's storage parameters say of its vacuum.
fn own(table: &TableDef) -> Own {
    Own {
        off: !table.parameter("autovacuum_enabled").unwrap_or(true),
        threshold: table.parameter("autovacuum_vacuum_threshold"),
        scale_factor: table.parameter("autovacuum_vacuum_scale_factor"),
    }
}

fn known(table: &TableDef, rows: Option<u64>) -> Option<Table> {
    let Rows::Stored(heap) = table.rows else { return None };
    // A sequence's counter is no row's history.
    if table.kind != RelationKind::Table {
        return None;
    }
    let indexes = table.indexes.iter().map(|index| index.storage).collect();
    let pieces = table.pieces.map(|pieces| pieces.storage);
    Some(Table { oid: table.oid.0, heap, indexes, pieces, rows, own: own(table) })
}

impl Database {
    /// The definitions of all databases.
    pub(crate) fn committed(&self) -> Result<std::sync::Arc<super::store::Definitions>> {
        match (&self.shared, self.relations) {
            (Some(shared), Some(relations)) => shared.definitions(relations, ALL_DATABASES),
            _ => Err(Error::unsupported("there are no stored tables here")),
        }
    }
}

impl Catalog for Database {
    fn tables(&self) -> Result<Vec<Table>> {
        let definitions = self.committed()?;
        let users = definitions
            .tables()
            .filter_map(|table| known(table, definitions.statistics(table.oid).map(|statistics| statistics.rows)));
        let (indexes, own) = (Vec::new(), Own::default());
        let own = Table { oid: CATALOG_OID.0, heap: CATALOG, indexes, pieces: None, rows: None, own };
        Ok(users.chain([own]).collect())
    }

    fn is_current(&self, table: &Table) -> Result<bool> {
        if table.heap == CATALOG {
            return Ok(true);
        }
        let now = self.committed()?.table(Oid(table.oid)).and_then(|now| known(now, table.rows));
        Ok(now.as_ref() == Some(table))
    }
}
