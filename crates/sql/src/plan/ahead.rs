//! Which loops may read rows of their outer node ahead, to look several of the inner node's up together.
//!
//! Rules
//! 1. The inner node is a look-up by all columns of an index: what is looked for is one key, known as soon as the outer row is.
//! 2. Nobody can tell that outer rows are computed before they are needed, but by an error or the time that it takes: nothing there is volatile,
//!    locks rows, changes them, or has a query of its own.

use super::tree::{IndexScan, Node};
use crate::bind::tree::ExprKind;
use crate::types::function::Volatility;

/// May a loop over these nodes read ahead?
pub(super) fn may_read(outer: &Node, inner: &Node) -> bool {
    matches!(inner, Node::IndexScan(scan) if is_lookup(scan)) && is_quiet(outer)
}

/// Rule 1.
fn is_lookup(scan: &IndexScan) -> bool {
    let columns = scan.table.index(scan.index).map_or(0, |index| index.columns.len());
    scan.equal.len() == columns && scan.low.is_none() && scan.high.is_none()
}

/// Rule 2.
fn is_quiet(node: &Node) -> bool {
    let mut quiet = !matches!(
        node,
        Node::LockRows(_) | Node::Modify(_) | Node::CommonScan { .. } | Node::WorkScan { .. } | Node::Recursion { .. }
    );
    node.exprs(&mut |expr| {
        quiet = quiet
            && !expr.any(&mut |part| match &part.kind {
                ExprKind::Call(call) => call.volatility == Volatility::Volatile,
                ExprKind::Subplan(_) => true,
                _ => false,
            });
    });
    quiet && node.children().into_iter().all(is_quiet)
}
