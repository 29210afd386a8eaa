//! The plan as a tree: what the planner has decided, before it is bytes.
//!
//! Rules
//! 1. A node says what it does and to what; registers and programs come later ([`super::encode`]).
//! 2. Expressions are those of the bound statement: columns by relation, whatever nodes lie between.

use super::planning::Planning;
use crate::bind::tree::{Column, Expr, Frame, FrameEnd, Grouping, ModificationKind, RelationId, RowLock, WindowCall};
use crate::catalog::definition::TableDef;
use crate::types::{Kind, Oid};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A whole plan.
#[derive(Debug)]
pub struct Tree {
    /// The node that gives the result.
    pub root: Node,
    /// What kind of statement it is.
    pub kind: super::StatementKind,
    /// The subplans, by number.
    pub subplans: Vec<Subtree>,
    /// The common tables, by number; none for those that nobody reads or that became subqueries.
    pub commons: Vec<Option<CommonTree>>,
    /// The columns of the result: name and where they are.
    pub columns: Vec<(String, Column)>,
    /// What columns of subqueries and groupings stand for.
    pub origins: std::collections::BTreeMap<RelationId, Vec<Expr>>,
    /// What the plan is worth beside others of the statement, where that matters.
    pub worth: Option<super::worth::Worth>,
    /// What it was made under.
    pub planning: Planning,
}

/// A query inside an expression.
#[derive(Debug)]
pub struct Subtree {
    /// The node that gives its rows.
    pub root: Node,
    /// The relation of its results.
    pub output: RelationId,
    /// What is asked of it.
    pub kind: SubtreeKind,
    /// The columns of queries around it that it reads.
    pub free: BTreeSet<Column>,
    /// True if every run within an execution gives the same.
    pub constant: bool,
    /// The kind of its value; of an array the element's.
    pub value: Kind,
    /// The type of its value; of an array the element's.
    pub value_type: Oid,
}

/// What is asked of a subplan.
#[derive(Debug)]
#[allow(missing_docs, reason = "see bind::tree::SubplanKind")]
pub enum SubtreeKind {
    Scalar,
    Exists,
    Array,
    Quantified {
        test: Expr,
        all: bool,
        equal: Vec<(Expr, Expr, Kind)>,
    },
    /// Nothing: it has become a join.
    Joined,
}

/// A common table.
#[derive(Debug)]
pub struct CommonTree {
    /// Its name.
    pub name: String,
    /// The node that gives its rows.
    pub root: Node,
    /// The relation of its results.
    pub output: RelationId,
    /// How many columns it has.
    pub width: usize,
    /// Columns of queries around it that it reads.
    pub free: BTreeSet<Column>,
    /// It is computed again when what is around it has changed.
    pub dependent: bool,
    /// It changes rows, and is executed to its end whoever reads it.
    pub modifies: bool,
}

/// Which rows a join gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum JoinType {
    /// Pairs.
    Inner = 0,
    /// Pairs, and rows of the outer node without a partner.
    Left = 1,
    /// Rows of the outer node that have a partner.
    Semi = 2,
    /// Rows of the outer node that have none.
    Anti = 3,
    /// Pairs, and rows of the inner node without a partner.
    Right = 4,
    /// Pairs, and rows of both without a partner.
    Full = 5,
}

/// A bound of an index scan: the value, and whether it is itself within.
pub type Bound = Option<(Expr, bool)>;

/// A sort key: value, kind, descending, nulls first.
#[derive(Clone, Debug)]
pub struct Key {
    /// What is sorted by.
    pub expr: Expr,
    /// How values compare.
    pub kind: Kind,
    /// From the largest.
    pub descending: bool,
    /// Nulls before everything else.
    pub nulls_first: bool,
}

/// A node.
#[derive(Debug)]
#[allow(missing_docs, reason = "see plan::record, which documents each field")]
pub enum Node {
    Nothing,
    Once {
        filter: Vec<Expr>,
    },
    Values {
        output: RelationId,
        rows: Vec<Vec<Expr>>,
    },
    Function {
        relation: RelationId,
        name: String,
        call: Expr,
        set: bool,
        ordinality: bool,
        filter: Vec<Expr>,
    },
    View {
        relation: RelationId,
        alias: String,
        table: Arc<TableDef>,
        filter: Vec<Expr>,
    },
    SeqScan {
        relation: RelationId,
        alias: String,
        table: Arc<TableDef>,
        filter: Vec<Expr>,
    },
    IndexScan(Box<IndexScan>),
    Filter {
        child: Box<Node>,
        condition: Vec<Expr>,
    },
    Project {
        child: Box<Node>,
        relation: RelationId,
        targets: Vec<Expr>,
    },
    NestedLoop {
        join: JoinType,
        outer: Box<Node>,
        inner: Box<Node>,
        condition: Vec<Expr>,
    },
    HashJoin {
        join: JoinType,
        outer: Box<Node>,
        inner: Box<Node>,
        keys: Vec<(Expr, Expr, Kind)>,
        condition: Vec<Expr>,
    },
    /// Both sides come in the order of the keys, nulls last.
    MergeJoin {
        join: JoinType,
        outer: Box<Node>,
        inner: Box<Node>,
        keys: Vec<(Expr, Expr, Kind)>,
        condition: Vec<Expr>,
    },
    Sort {
        child: Box<Node>,
        keys: Vec<Key>,
        bound: Option<Expr>,
    },
    Limit {
        child: Box<Node>,
        count: Option<Expr>,
        offset: Option<Expr>,
        ties: Vec<(Expr, Kind)>,
    },
    Aggregate {
        child: Box<Node>,
        grouping: Box<Grouping>,
        /// Rows of a group come one after another.
        sorted: bool,
    },
    Window {
        child: Box<Node>,
        window: Box<Window>,
    },
    Distinct {
        child: Box<Node>,
        keys: Vec<(Expr, Kind)>,
        /// Rows with equal keys come one after another.
        sorted: bool,
    },
    Append {
        relation: RelationId,
        children: Vec<Node>,
    },
    SetOperation {
        except: bool,
        all: bool,
        relation: RelationId,
        left: Box<Node>,
        right: Box<Node>,
        keys: Vec<(Expr, Kind)>,
    },
    Materialize {
        child: Box<Node>,
        constant: bool,
    },
    Recursion {
        number: u16,
        relation: RelationId,
        all: bool,
        columns: Vec<(Expr, Kind)>,
        first: Box<Node>,
        rest: Box<Node>,
    },
    WorkScan {
        relation: RelationId,
        alias: String,
        number: u16,
        filter: Vec<Expr>,
    },
    CommonScan {
        relation: RelationId,
        alias: String,
        common: u16,
        name: String,
        filter: Vec<Expr>,
    },
    LockRows(Box<LockRows>),
    Modify(Box<Modify>),
}

/// A window over rows that come in its order.
#[derive(Debug)]
pub struct Window {
    /// The relation of the results.
    pub relation: RelationId,
    /// Rows that are equal in these are computed together; all are columns.
    pub partition: Vec<(Expr, Kind)>,
    /// The order of the rows; all are columns.
    pub order: Vec<Key>,
    /// Which rows around a row are seen.
    pub frame: Frame,
    /// The calls.
    pub calls: Vec<WindowCall>,
}

/// Ends of a frame, as a plan has them.
pub const FRAME_FIRST: u32 = 0;
/// So far before the row.
pub const FRAME_PRECEDING: u32 = 1;
/// With the row.
pub const FRAME_CURRENT: u32 = 2;
/// So far behind the row.
pub const FRAME_FOLLOWING: u32 = 3;
/// With the last row.
pub const FRAME_LAST: u32 = 4;

/// The number of a frame's end.
pub fn frame_end(end: &FrameEnd) -> u32 {
    match end {
        FrameEnd::First => FRAME_FIRST,
        FrameEnd::Preceding(_) => FRAME_PRECEDING,
        FrameEnd::Current => FRAME_CURRENT,
        FrameEnd::Following(_) => FRAME_FOLLOWING,
        FrameEnd::Last => FRAME_LAST,
    }
}

/// A scan of a table by an index.
#[derive(Debug)]
pub struct IndexScan {
    /// The relation.
    pub relation: RelationId,
    /// Its name in the statement.
    pub alias: String,
    /// The table.
    pub table: Arc<TableDef>,
    /// The index.
    pub index: Oid,
    /// Values of the index's first columns.
    pub equal: Vec<Expr>,
    /// The least value of the next column.
    pub low: Bound,
    /// Its greatest value.
    pub high: Bound,
    /// What the index has already seen to, for people.
    pub seen_to: Vec<Expr>,
    /// The condition on each row.
    pub filter: Vec<Expr>,
    /// At most one row can be found.
    pub single: bool,
    /// From the end.
    pub backward: bool,
    /// The index has all that is read of the rows: they are not looked at where it is known that they are visible.
    pub only: bool,
}

/// Rows that are locked.
#[derive(Debug)]
pub struct LockRows {
    /// The node that gives them.
    pub child: Node,
    /// The tables whose rows are locked.
    pub locks: Vec<RowLock>,
    /// What is tested again where a row has changed meanwhile.
    pub recheck: Recheck,
    /// The results, to be computed again then.
    pub results: Vec<(Column, Expr)>,
}

/// What is tested again of joined rows of which one has changed meanwhile.
#[derive(Debug, Default)]
pub struct Recheck {
    /// Parts of the `FROM`, from the inside to the outside.
    pub retested: Vec<Retested>,
    /// What must hold for the rows that come of them.
    pub conditions: Vec<Expr>,
}

/// A part of a `FROM` that may have no row then, or another one: the side of an outer join that may be null, or a subquery.
#[derive(Debug)]
pub struct Retested {
    /// What must hold for it to have a row.
    pub condition: Vec<Expr>,
    /// Its relations, whose columns are null else.
    pub relations: BTreeSet<RelationId>,
    /// Of a subquery the results, to be computed again.
    pub results: Vec<(Column, Expr)>,
}

/// Rows that are changed.
#[derive(Debug)]
pub struct Modify {
    /// What is done.
    pub kind: ModificationKind,
    /// The node that gives new rows, or finds the rows to change.
    pub child: Node,
    /// The relation of its results.
    pub output: RelationId,
    /// The table.
    pub table: Arc<TableDef>,
    /// The table's relation.
    pub relation: RelationId,
    /// The relation of the new row.
    pub new: RelationId,
    /// For each column of the table the result that is its new value.
    pub values: Vec<Option<u16>>,
    /// The result that is the row's place.
    pub row_id: Option<u16>,
    /// All of `WHERE`, to be tested again on a row that has changed meanwhile.
    pub recheck: Vec<Expr>,
    /// The expressions of the results, to be computed again then.
    pub targets: Vec<Expr>,
    /// `CHECK` constraints.
    pub checks: Vec<(String, Expr)>,
    /// What views demand of new rows.
    pub view_checks: Vec<(String, Expr)>,
    /// `RETURNING`: the relation of its results, and what they are.
    pub returning: Option<(RelationId, Vec<Expr>)>,
    /// `ON CONFLICT`
    pub conflict: Option<crate::bind::tree::ConflictRule>,
    /// The columns that it assigns.
    pub updated: Vec<u16>,
    /// Generated columns, with their expressions over the new row, where triggers may change it.
    pub generated: Vec<(u16, Expr)>,
    /// Triggers of a view do what is done.
    pub instead: bool,
    /// Then, for each column the result of the query that is its old value.
    pub old: Vec<u16>,
    /// The tables that this one refers to, or that refer to it.
    pub others: Vec<Arc<TableDef>>,
    /// Those of them whose rows are changed along.
    pub changed_along: Vec<Oid>,
}

impl Node {
    /// The relations whose columns the node's rows have.
    pub fn produced(&self, relations: &mut BTreeSet<RelationId>) {
        match self {
            Node::Nothing | Node::Once { .. } => {}
            Node::Values { output: relation, .. }
            | Node::Function { relation, .. }
            | Node::View { relation, .. }
            | Node::SeqScan { relation, .. }
            | Node::WorkScan { relation, .. }
            | Node::CommonScan { relation, .. } => {
                relations.insert(*relation);
            }
            Node::IndexScan(scan) => {
                relations.insert(scan.relation);
            }
            Node::Project { child, relation, .. } => {
                relations.insert(*relation);
                child.produced(relations);
            }
            Node::Filter { child, .. }
            | Node::Sort { child, .. }
            | Node::Limit { child, .. }
            | Node::Distinct { child, .. }
            | Node::Materialize { child, .. } => child.produced(relations),
            Node::LockRows(rows) => rows.child.produced(relations),
            Node::Aggregate { child, grouping, .. } => {
                relations.insert(grouping.relation);
                child.produced(relations);
            }
            Node::Window { child, window } => {
                relations.insert(window.relation);
                child.produced(relations);
            }
            Node::NestedLoop { outer, inner, .. }
            | Node::HashJoin { outer, inner, .. }
            | Node::MergeJoin { outer, inner, .. } => {
                outer.produced(relations);
                inner.produced(relations);
            }
            Node::Append { relation, children } => {
                relations.insert(*relation);
                children.iter().for_each(|child| child.produced(relations));
            }
            Node::SetOperation { relation, left, right, .. }
            | Node::Recursion { relation, first: left, rest: right, .. } => {
                relations.insert(*relation);
                left.produced(relations);
                right.produced(relations);
            }
            Node::Modify(modify) => {
                relations.extend([modify.relation, modify.new, modify.output]);
                if let Some((relation, _)) = modify.returning {
                    relations.insert(relation);
                }
                modify.child.produced(relations);
            }
        }
    }

    /// The nodes below.
    pub fn children(&self) -> Vec<&Node> {
        match self {
            Node::Nothing
            | Node::Once { .. }
            | Node::Values { .. }
            | Node::Function { .. }
            | Node::View { .. }
            | Node::SeqScan { .. }
            | Node::IndexScan(_)
            | Node::WorkScan { .. }
            | Node::CommonScan { .. } => Vec::new(),
            Node::Filter { child, .. }
            | Node::Project { child, .. }
            | Node::Sort { child, .. }
            | Node::Limit { child, .. }
            | Node::Distinct { child, .. }
            | Node::Materialize { child, .. }
            | Node::Aggregate { child, .. }
            | Node::Window { child, .. } => vec![child],
            Node::LockRows(rows) => vec![&rows.child],
            Node::NestedLoop { outer, inner, .. }
            | Node::HashJoin { outer, inner, .. }
            | Node::MergeJoin { outer, inner, .. } => vec![outer, inner],
            Node::Append { children, .. } => children.iter().collect(),
            Node::SetOperation { left, right, .. } | Node::Recursion { first: left, rest: right, .. } => {
                vec![left, right]
            }
            Node::Modify(modify) => vec![&modify.child],
        }
    }

    /// Calls `visit` for each expression of this node.
    pub fn exprs<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr)) {
        match self {
            Node::Nothing | Node::Append { .. } | Node::Materialize { .. } => {}
            Node::LockRows(rows) => {
                for part in &rows.recheck.retested {
                    part.condition.iter().for_each(&mut *visit);
                    part.results.iter().for_each(|(_, expr)| visit(expr));
                }
                rows.recheck.conditions.iter().for_each(&mut *visit);
                rows.results.iter().for_each(|(_, expr)| visit(expr));
            }
            Node::Once { filter }
            | Node::View { filter, .. }
            | Node::SeqScan { filter, .. }
            | Node::WorkScan { filter, .. }
            | Node::CommonScan { filter, .. } => filter.iter().for_each(visit),
            Node::Values { rows, .. } => rows.iter().flatten().for_each(visit),
            Node::Function { call, filter, .. } => {
                visit(call);
                filter.iter().for_each(visit);
            }
            Node::IndexScan(scan) => {
                scan.equal.iter().for_each(&mut *visit);
                for (expr, _) in scan.low.iter().chain(&scan.high) {
                    visit(expr);
                }
                scan.filter.iter().for_each(visit);
            }
            Node::Filter { condition, .. } | Node::NestedLoop { condition, .. } => condition.iter().for_each(visit),
            Node::Project { targets, .. } => targets.iter().for_each(visit),
            Node::HashJoin { keys, condition, .. } | Node::MergeJoin { keys, condition, .. } => {
                for (outer, inner, _) in keys {
                    visit(outer);
                    visit(inner);
                }
                condition.iter().for_each(visit);
            }
            Node::Sort { keys, bound, .. } => {
                keys.iter().for_each(|key| visit(&key.expr));
                bound.iter().for_each(visit);
            }
            Node::Limit { count, offset, ties, .. } => {
                count.iter().chain(offset).chain(ties.iter().map(|(expr, _)| expr)).for_each(visit);
            }
            Node::Aggregate { grouping, .. } => {
                grouping.keys.iter().chain(&grouping.having).for_each(&mut *visit);
                for call in &grouping.aggregates {
                    call.arguments.iter().for_each(&mut *visit);
                    call.order_by.iter().for_each(|(expr, ..)| visit(expr));
                    call.filter.iter().for_each(&mut *visit);
                }
            }
            Node::Window { window, .. } => {
                window.partition.iter().for_each(|(expr, _)| visit(expr));
                window.order.iter().for_each(|key| visit(&key.expr));
                window.frame.start.offset().into_iter().chain(window.frame.end.offset()).for_each(&mut *visit);
                for call in &window.calls {
                    call.arguments.iter().chain(&call.filter).for_each(&mut *visit);
                }
            }
            Node::Distinct { keys, .. } | Node::SetOperation { keys, .. } | Node::Recursion { columns: keys, .. } => {
                keys.iter().for_each(|(expr, _)| visit(expr));
            }
            Node::Modify(modify) => {
                modify.recheck.iter().chain(&modify.targets).for_each(&mut *visit);
                modify.checks.iter().chain(&modify.view_checks).for_each(|(_, expr)| visit(expr));
                modify.generated.iter().for_each(|(_, expr)| visit(expr));
                if let Some((_, targets)) = &modify.returning {
                    targets.iter().for_each(&mut *visit);
                }
                if let Some(conflict) = &modify.conflict {
                    conflict.update.iter().flatten().for_each(|(_, expr)| visit(expr));
                    conflict.filter.iter().for_each(visit);
                }
            }
        }
    }
}
