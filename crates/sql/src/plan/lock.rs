//! How an execution of a plan locks its tables: in PostgreSQL's modes.
//!
//! | a table that | mode |
//! |---|---|
//! | is changed | row exclusive |
//! | has rows locked, or is looked at for a foreign key | row share |
//! | is read | access share |

use super::tree::{Node, Tree};
use crate::bind::tree::{Bound, Source};
use crate::types::Oid;
use storage::txn::LockMode;

/// The mode for one of the plan's tables.
pub fn mode(bound: &Bound, tree: &Tree, table: Oid) -> LockMode {
    let subplans = tree.subplans.iter().map(|subplan| &subplan.root);
    let commons = tree.commons.iter().flatten().map(|common| &common.root);
    let roots = std::iter::once(&tree.root).chain(subplans).chain(commons);
    roots.map(|root| mode_below(bound, root, table)).max().unwrap_or(LockMode::AccessShare)
}

fn mode_below(bound: &Bound, node: &Node, table: Oid) -> LockMode {
    let own = match node {
        Node::Modify(modify) if modify.table.oid == table => LockMode::RowExclusive,
        Node::Modify(modify) if modify.changed_along.contains(&table) => LockMode::RowExclusive,
        Node::Modify(modify) if modify.others.iter().any(|other| other.oid == table) => LockMode::RowShare,
        Node::LockRows(rows) => {
            let is_locked = rows.locks.iter().any(|lock| {
                let relation = &bound.relations[lock.relation as usize];
                matches!(&relation.source, Source::Table(locked) if locked.oid == table)
            });
            if is_locked { LockMode::RowShare } else { LockMode::AccessShare }
        }
        _ => LockMode::AccessShare,
    };
    node.children().into_iter().map(|child| mode_below(bound, child, table)).fold(own, LockMode::max)
}
