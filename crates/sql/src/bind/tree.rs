//! The bound statement: names are columns, constants have types, functions are operations.
//!
//! Definitions
//! - A *relation* is whatever has columns: a table in `FROM`, a subquery, a function, a `VALUES`, the result of grouping.
//!   Relations are numbered over the whole statement, subqueries included, so a [`Column`] means the same everywhere and
//!   an expression that refers to a query around it needs no count of levels.
//! - A *subplan* is a query inside an expression.
//! - A *parameter* is a value that an execution brings along: a client's `$1`, or a literal that was taken out of the text.
//!
//! Rules
//! 1. Every expression has its final type; the planner and the executor coerce nothing.
//! 2. Above a grouping only columns of the grouping's relation occur, never those below it.
//! 3. A bound statement knows nothing of how it will be executed.

use crate::catalog::definition::TableDef;
use crate::parser::ast::{Exclude, FrameMode, LockStrength, LockWait, SetOperation};
use crate::plan::blob::Constant;
use crate::types::aggregate::AggCall;
use crate::types::cast::Method;
use crate::types::function::Volatility;
use crate::types::op::Op;
use crate::types::window::WindowOp;
use crate::types::{Kind, Oid, Type};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A relation's number.
pub type RelationId = u32;

/// A column of a relation, counted from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Column {
    /// The relation.
    pub relation: RelationId,
    /// The column.
    pub column: u16,
}

/// The column by which a table's row is found again: its place in the heap.
pub const ROW_ID: u16 = u16::MAX;
/// The column of a table's system attribute `tableoid`.
pub const TABLE_OID: u16 = u16::MAX - 1;

/// A bound expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
}

/// What an expression is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A constant. Of type `unknown` until somebody says what the string is.
    Constant(Constant),
    /// A literal that became a slot and whose type nobody has said yet.
    Slot(u16),
    /// A client's parameter whose type nobody has said yet.
    Untyped(u16),
    /// A parameter, by its index in [`Bound::parameters`].
    Parameter(u16),
    /// A column.
    Column(Column),
    /// An operation.
    Call(Box<Call>),
    /// All are true.
    And(Vec<Expr>),
    /// One is true.
    Or(Vec<Expr>),
    /// The opposite.
    Not(Box<Expr>),
    /// Null, or not null if negated.
    IsNull(Box<Expr>, bool),
    /// True or false, or not if negated.
    IsTruth(Box<Expr>, bool, bool),
    /// Distinct, or not distinct if negated; both of one kind.
    IsDistinct(Box<Expr>, Box<Expr>, Kind, bool),
    /// The result of the first condition that is true.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    /// A value that is computed once and used in the body.
    Let(u16, Box<Expr>, Box<Expr>),
    /// The value of a [`ExprKind::Let`].
    Shared(u16),
    /// The first that is not null.
    Coalesce(Vec<Expr>),
    /// The greatest (or least) of those that are not null.
    Extreme(Vec<Expr>, Kind, bool),
    /// An array of elements.
    Array(Vec<Expr>),
    /// An array of arrays.
    ArrayOfArrays(Vec<Expr>),
    /// `x op ANY (array)`, or `ALL`.
    Quantified {
        /// The operation.
        op: Op,
        /// True for `ALL`.
        all: bool,
        /// What stands before the operator.
        left: Box<Expr>,
        /// The array.
        array: Box<Expr>,
        /// The operator's name, for people.
        name: &'static str,
    },
    /// Cast to this expression's type and modifier; true for a cast that was written.
    Cast(Box<Expr>, Method, bool),
    /// The value of a subplan.
    Subplan(u16),
    /// An element of an array.
    Subscript(Box<Expr>, Box<Expr>),
}

/// An operation with its operands.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// Null when an operand is.
    pub strict: bool,
    /// When the result may change.
    pub volatility: Volatility,
    /// The operands.
    pub arguments: Vec<Expr>,
    /// The function's or operator's name, for people.
    pub name: &'static str,
    /// True if it was written as an operator.
    pub operator: bool,
}

impl Call {
    /// The function's or operator's name, for people.
    pub fn shown(&self) -> &str {
        match (self.op, self.arguments.get(1).map(|argument| &argument.kind)) {
            (Op::Routine, Some(ExprKind::Constant(Constant::Bytes(name)))) => crate::exec::routine::split_types(name).0,
            _ => self.name,
        }
    }
}

/// A bound statement with what its parts refer to.
#[derive(Debug, Default)]
pub struct Bound {
    /// All relations, by number.
    pub relations: Vec<Relation>,
    /// All parameters.
    pub parameters: Vec<Parameter>,
    /// The types of the client's parameters, by number from `$1`; none where nobody said.
    pub client_types: Vec<Option<crate::types::Oid>>,
    /// All subplans, by number.
    pub subplans: Vec<Subplan>,
    /// Common tables that are computed once, by number.
    pub commons: Vec<Common>,
    /// The names of recursive queries, by number.
    pub recursions: Vec<String>,
    /// How many values are shared by [`ExprKind::Let`].
    pub shared: u16,
    /// False if the plan holds something that is of one execution only.
    pub reusable: bool,
    /// True if an expression asks for the time at each row.
    pub uses_clock: bool,
    /// The tables whose definitions were used.
    pub tables: Vec<Arc<TableDef>>,
    /// What is done with its tables.
    pub accesses: super::access::Accesses,
    /// Those that were named without a schema: which table such a name means can change while the table does not.
    pub searched: Vec<Oid>,
    /// Those that were named with a schema: whether it may be looked into can change while the table does not.
    pub qualified: Vec<Oid>,
    /// Functions of users that are called, with the versions of their definitions.
    pub routines: Vec<(Oid, u64)>,
    /// Types of users that are named, or of which there are constants: with the versions of their definitions, and whether the
    /// search path led to them.
    pub types: Vec<(Oid, u64, bool)>,
    /// For relations that are tables: what those of their indexes compute that are not plain.
    pub indexed: BTreeMap<RelationId, Vec<BoundIndex>>,
    /// For tables whose rows change: what is computed for a row beside its values.
    pub rows: Vec<TableRow>,
    /// A literal decides whether an index can be used: the statement is to be bound with its literals in place.
    pub wants_literals: Cell<bool>,
    /// The client's parameters are constants: the statement is bound for their values.
    pub has_values: bool,
    /// What the planner guesses by depends on the value of a parameter, which it does not know.
    pub values_matter: Cell<bool>,
    /// Values that parameters have in the execution that the plan is made for, by number, as far as they are known: good for guesses.
    pub hints: Vec<Option<Constant>>,
    /// The columns that the statement reads, once it is planned; no others are kept, or looked for in indexes.
    pub read: BTreeSet<Column>,
    /// Rows that have no more to give than an index has may be read from there.
    pub by_index_alone: bool,
}

/// An index of some rows, or on expressions.
#[derive(Clone, Debug)]
pub struct BoundIndex {
    /// Its number.
    pub index: Oid,
    /// Its columns, and the expressions between them.
    pub keys: Vec<Expr>,
    /// The conditions on its rows, all of which hold.
    pub predicate: Vec<Expr>,
}

/// What is computed for each row of a table that changes.
#[derive(Debug)]
pub struct TableRow {
    /// The table.
    pub table: Oid,
    /// The relation whose columns the row's values are.
    pub relation: RelationId,
    /// What its indexes compute.
    pub indexes: Vec<BoundIndex>,
    /// Its checks, if its rows are changed along with those of another table.
    pub checks: Vec<(String, Expr)>,
    /// Defaults of columns that may get them then.
    pub defaults: Vec<(u16, Expr)>,
}

/// A relation.
#[derive(Debug)]
pub struct Relation {
    /// Its name in the statement.
    pub name: String,
    /// Its columns: names and types.
    pub columns: Vec<(String, Type)>,
    /// Where its rows come from; taken by the planner.
    pub source: Source,
}

/// Where a relation's rows come from.
#[derive(Debug)]
pub enum Source {
    /// A table.
    Table(Arc<TableDef>),
    /// A subquery.
    Query(Box<Query>),
    /// A function that gives rows.
    Function {
        /// The call.
        call: Expr,
        /// True if it gives a set; else one row.
        set: bool,
        /// A column more that counts the rows.
        ordinality: bool,
    },
    /// A common table that is computed once.
    Common(u16),
    /// The rows that the last round of a recursive query has found, by the recursion's number.
    Working(u16),
    /// Nothing of its own: the result of grouping or of an operation on sets.
    Computed,
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its type.
    pub ty: Type,
    /// Where its value comes from.
    pub origin: Origin,
}

/// Where a parameter's value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The client's parameter of that number, from zero.
    Client(u16),
    /// The literal of that slot, read as a value of the parameter's type.
    Slot(u16),
}

/// A query inside an expression.
#[derive(Debug)]
pub struct Subplan {
    /// The query.
    pub query: Box<Query>,
    /// What is asked of it.
    pub kind: SubplanKind,
}

/// What is asked of a subplan.
#[derive(Debug)]
pub enum SubplanKind {
    /// Its one value; null without a row, an error with two.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// All its values as an array.
    Array,
    /// Whether the test holds for any row (or all rows). In it, the query's columns stand for the row.
    Quantified {
        /// The test.
        test: Expr,
        /// True for `ALL`.
        all: bool,
        /// For `= ANY`: the expressions that must equal the query's columns, with kinds, so that rows can be hashed.
        equal: Vec<(Expr, Expr, Kind)>,
    },
}

/// A common table that is computed once.
#[derive(Debug)]
pub struct Common {
    /// Its name.
    pub name: String,
    /// The query; taken by the planner.
    pub query: Option<Box<Query>>,
    /// The statement that changes rows, if it is one; taken by the planner.
    pub modification: Option<Box<Modification>>,
    /// How often it is read.
    pub references: u32,
    /// `MATERIALIZED` or `NOT MATERIALIZED`, if it was said.
    pub materialized: Option<bool>,
    /// The first relation that was bound with the query: those before are of queries around it.
    pub first: RelationId,
    /// It reads columns of queries around it, or rows of a round of a recursion, and is computed again when these are others.
    pub dependent: bool,
    /// Columns of queries around it that it reads; known when the query has been taken.
    pub free: BTreeSet<Column>,
}

/// A query.
#[derive(Debug)]
pub struct Query {
    /// What gives rows.
    pub body: Body,
    /// The relation whose columns are the query's results.
    pub output: RelationId,
    /// What the results are: one for each column of `output`. The first `visible` are shown.
    pub targets: Vec<Target>,
    /// How many targets are shown; the rest serve the order.
    pub visible: usize,
    /// `DISTINCT`: the targets that tell rows apart; none without.
    pub distinct: Option<Vec<u16>>,
    /// `ORDER BY`
    pub order_by: Vec<SortKey>,
    /// `LIMIT`
    pub limit: Option<Expr>,
    /// Rows that are equal to the last one in order are given too.
    pub ties: bool,
    /// `OFFSET`
    pub offset: Option<Expr>,
    /// `FOR UPDATE` and its relatives.
    pub locking: Vec<RowLock>,
}

/// What gives a query's rows.
#[derive(Debug)]
pub enum Body {
    /// `SELECT`
    Select(Select),
    /// `VALUES`: the targets of each row.
    Values(Vec<Vec<Expr>>),
    /// An operation on sets; the targets refer to the operation's relation.
    Operation {
        /// Which one.
        operation: SetOperation,
        /// With `ALL`.
        all: bool,
        /// The operands.
        operands: Vec<Query>,
        /// The relation that has their columns in common.
        relation: RelationId,
        /// The number of the recursion, if the second operand reads what has been found: it is computed until nothing is new.
        recursion: Option<u16>,
    },
}

/// A result of a query.
#[derive(Clone, Debug)]
pub struct Target {
    /// The column's name.
    pub name: String,
    /// Its value.
    pub expr: Expr,
}

/// A sort key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// The target that is sorted by.
    pub target: u16,
    /// From the largest.
    pub descending: bool,
    /// Nulls before everything else.
    pub nulls_first: bool,
}

/// A row lock that a query takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowLock {
    /// The table.
    pub relation: RelationId,
    /// How strong.
    pub strength: LockStrength,
    /// What to do with a row that is locked.
    pub wait: LockWait,
    /// The clause is one of the query around: the lock goes with the table if that is pulled up.
    pub inherited: bool,
}

/// `SELECT`
#[derive(Debug, Default)]
pub struct Select {
    /// `FROM`
    pub from: Vec<From>,
    /// `WHERE`: all must be true.
    pub filter: Vec<Expr>,
    /// Grouping and aggregates.
    pub grouping: Option<Grouping>,
    /// Windows, in the order in which they are computed.
    pub windows: Vec<Window>,
}

/// An item of `FROM`.
#[derive(Debug)]
pub enum From {
    /// A relation.
    Relation(RelationId),
    /// A join.
    Join(Box<Join>),
}

/// A join that may keep rows without a partner, or that has a condition.
#[derive(Debug)]
pub struct Join {
    /// Which rows are kept.
    pub kind: crate::parser::ast::JoinKind,
    /// The first item.
    pub left: From,
    /// The second item.
    pub right: From,
    /// The condition: all must be true.
    pub condition: Vec<Expr>,
}

/// Grouping and aggregates.
#[derive(Debug)]
pub struct Grouping {
    /// The relation of the results: keys first, then aggregates, then the values of `GROUPING (…)`.
    pub relation: RelationId,
    /// The keys, which refer to the relations of `FROM`.
    pub keys: Vec<Expr>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// Grouping sets, if there are several or an empty one: the keys of each. Where a key is not in a row's set it is null.
    pub sets: Vec<Vec<u16>>,
    /// The keys that each `GROUPING (…)` is about.
    pub tests: Vec<Vec<u16>>,
    /// `HAVING`: all must be true.
    pub having: Vec<Expr>,
    /// False if there is one group even without rows.
    pub grouped: bool,
}

/// An aggregate with its arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct AggregateCall {
    /// Which one.
    pub aggregate: AggCall,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// Equal arguments count once.
    pub distinct: bool,
    /// The order of the rows: expression, descending, nulls first.
    pub order_by: Vec<(Expr, bool, bool)>,
    /// Rows for which this is not true are left out.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub ty: Type,
    /// Its name, for people.
    pub name: &'static str,
}

/// A window with the calls that are computed over it.
#[derive(Debug)]
pub struct Window {
    /// The relation of the results: a column for each call.
    pub relation: RelationId,
    /// Rows that are equal in these are computed together.
    pub partition_by: Vec<Expr>,
    /// The order of the rows: expression, descending, nulls first.
    pub order_by: Vec<(Expr, bool, bool)>,
    /// Which rows around a row are seen.
    pub frame: Frame,
    /// The calls.
    pub calls: Vec<WindowCall>,
}

/// Which rows around a row a window function sees.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// What bounds are counted in.
    pub mode: FrameMode,
    /// Where it begins.
    pub start: FrameEnd,
    /// Where it ends.
    pub end: FrameEnd,
    /// What is left out.
    pub exclude: Exclude,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame { mode: FrameMode::Range, start: FrameEnd::First, end: FrameEnd::Current, exclude: Exclude::NoOthers }
    }
}

/// An end of a frame.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameEnd {
    /// With the first row of all.
    First,
    /// So far before the row.
    Preceding(Expr),
    /// With the row, or with those that are equal to it in order.
    Current,
    /// So far behind the row.
    Following(Expr),
    /// With the last row of all.
    Last,
}

impl FrameEnd {
    /// How far it is from the row, if that was said.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            FrameEnd::Preceding(offset) | FrameEnd::Following(offset) => Some(offset),
            _ => None,
        }
    }

    fn offset_mut(&mut self) -> Option<&mut Expr> {
        match self {
            FrameEnd::Preceding(offset) | FrameEnd::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

/// A call over a window.
#[derive(Clone, PartialEq, Debug)]
pub struct WindowCall {
    /// What is computed.
    pub function: WindowFunction,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// Rows for which this is not true are left out.
    pub filter: Option<Expr>,
    /// The type of the result.
    pub ty: Type,
    /// Its name, for people.
    pub name: &'static str,
}

/// What is computed over a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowFunction {
    /// A window function.
    Window(WindowOp),
    /// An aggregate of the rows of the frame.
    Aggregate(AggCall),
}

impl Window {
    /// Calls `visit` for each expression that the window is made of.
    pub fn exprs<'w>(&'w self, visit: &mut dyn FnMut(&'w Expr)) {
        self.partition_by.iter().for_each(&mut *visit);
        self.order_by.iter().for_each(|(expr, ..)| visit(expr));
        self.frame.start.offset().into_iter().chain(self.frame.end.offset()).for_each(&mut *visit);
        for call in &self.calls {
            call.arguments.iter().chain(&call.filter).for_each(&mut *visit);
        }
    }

    /// The same for changing them.
    pub fn exprs_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.partition_by.iter_mut().for_each(&mut *visit);
        self.order_by.iter_mut().for_each(|(expr, ..)| visit(expr));
        self.frame.start.offset_mut().into_iter().chain(self.frame.end.offset_mut()).for_each(&mut *visit);
        for call in &mut self.calls {
            call.arguments.iter_mut().chain(&mut call.filter).for_each(&mut *visit);
        }
    }
}

/// A bound statement that changes rows.
#[derive(Debug)]
pub struct Modification {
    /// What it does.
    pub kind: ModificationKind,
    /// The table.
    pub table: Arc<TableDef>,
    /// The table's relation: the row that is changed, as it was.
    pub relation: RelationId,
    /// The relation of the new row: what `RETURNING` and checks refer to.
    pub new: RelationId,
    /// The query that gives the new rows, or finds the rows to change.
    pub query: Query,
    /// For each column of the table the target of `query` that is its new value; none where it stays.
    pub values: Vec<Option<u16>>,
    /// `CHECK` constraints on the new row, with their names.
    pub checks: Vec<(String, Expr)>,
    /// What views demand of the new row, with the views' names, in order.
    pub view_checks: Vec<(String, Expr)>,
    /// `RETURNING`
    pub returning: Vec<Target>,
    /// `ON CONFLICT`
    pub conflict: Option<ConflictRule>,
    /// The columns that it assigns, those of `DO UPDATE` included.
    pub updated: Vec<u16>,
    /// Generated columns, with their expressions over the new row, where triggers may change it.
    pub generated: Vec<(u16, Expr)>,
    /// Triggers of a view do what is done.
    pub instead: bool,
    /// Then, for each column the result of the query that is its old value.
    pub old: Vec<u16>,
}

/// What a modification does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ModificationKind {
    Insert,
    Update,
    Delete,
}

/// `ON CONFLICT`
#[derive(Debug)]
pub struct ConflictRule {
    /// The unique indexes that settle it; any if none.
    pub indexes: Vec<crate::types::Oid>,
    /// `DO UPDATE`: new values of columns, which refer to the old row and to `excluded`.
    pub update: Option<Vec<(u16, Expr)>>,
    /// `WHERE` of `DO UPDATE`.
    pub filter: Vec<Expr>,
    /// The relation `excluded`.
    pub excluded: RelationId,
}

/// What a statement is once it is bound.
#[derive(Debug)]
pub enum Root {
    /// A query.
    Query(Box<Query>),
    /// A statement that changes rows.
    Modification(Box<Modification>),
}

impl Expr {
    /// A constant of a type.
    pub fn constant(value: Constant, ty: Type) -> Expr {
        Expr { kind: ExprKind::Constant(value), ty }
    }

    /// A column.
    pub fn column(relation: RelationId, column: u16, ty: Type) -> Expr {
        Expr { kind: ExprKind::Column(Column { relation, column }), ty }
    }

    /// True for a constant that is true: a condition that needs no test.
    pub fn is_true(&self) -> bool {
        matches!(self.kind, ExprKind::Constant(Constant::Bool(true)))
    }

    /// Calls `visit` for each part of the expression's own level. Subplans are not entered.
    pub fn children<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            ExprKind::Constant(_)
            | ExprKind::Slot(_)
            | ExprKind::Untyped(_)
            | ExprKind::Parameter(_)
            | ExprKind::Column(_)
            | ExprKind::Shared(_)
            | ExprKind::Subplan(_) => {}
            ExprKind::Call(call) => call.arguments.iter().for_each(visit),
            ExprKind::And(items)
            | ExprKind::Or(items)
            | ExprKind::Coalesce(items)
            | ExprKind::Extreme(items, ..)
            | ExprKind::Array(items)
            | ExprKind::ArrayOfArrays(items) => items.iter().for_each(visit),
            ExprKind::Not(operand)
            | ExprKind::IsNull(operand, _)
            | ExprKind::IsTruth(operand, ..)
            | ExprKind::Cast(operand, ..) => visit(operand),
            ExprKind::IsDistinct(left, right, ..)
            | ExprKind::Let(_, left, right)
            | ExprKind::Subscript(left, right)
            | ExprKind::Quantified { left, array: right, .. } => {
                visit(left);
                visit(right);
            }
            ExprKind::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
        }
    }

    /// The same for changing them.
    pub fn children_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        match &mut self.kind {
            ExprKind::Constant(_)
            | ExprKind::Slot(_)
            | ExprKind::Untyped(_)
            | ExprKind::Parameter(_)
            | ExprKind::Column(_)
            | ExprKind::Shared(_)
            | ExprKind::Subplan(_) => {}
            ExprKind::Call(call) => call.arguments.iter_mut().for_each(visit),
            ExprKind::And(items)
            | ExprKind::Or(items)
            | ExprKind::Coalesce(items)
            | ExprKind::Extreme(items, ..)
            | ExprKind::Array(items)
            | ExprKind::ArrayOfArrays(items) => items.iter_mut().for_each(visit),
            ExprKind::Not(operand)
            | ExprKind::IsNull(operand, _)
            | ExprKind::IsTruth(operand, ..)
            | ExprKind::Cast(operand, ..) => visit(operand),
            ExprKind::IsDistinct(left, right, ..)
            | ExprKind::Let(_, left, right)
            | ExprKind::Subscript(left, right)
            | ExprKind::Quantified { left, array: right, .. } => {
                visit(left);
                visit(right);
            }
            ExprKind::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    visit(condition);
                    visit(result);
                }
                visit(otherwise);
            }
        }
    }

    /// Does the test hold for the expression or any part of it? Subplans are not entered.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.children(&mut |child| found = found || child.any(test));
        found
    }
}
