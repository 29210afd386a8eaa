//! The syntax tree: what a statement says, before anybody has looked up a name.
//!
//! All nodes lie in one bump arena and refer to each other by reference, so a tree is made without counting, copied by
//! copying a pointer, and dropped by dropping the arena: no recursion, however deep it is.
//!
//! Definition: a node's *height* is the number of levels below it, itself included. What recurses over a tree needs a stack
//! in proportion to it, so the parser bounds it.
//!
//! Rules
//! 1. Nothing is resolved: a name is the words that were written, a constant is its text.
//! 2. `at` is the byte of the statement's text where a node's error is to be shown.
//! 3. What PostgreSQL's grammar turns into something else (`x LIKE y`, `-1`, `AT TIME ZONE`) keeps its own node only
//!    where a result column's name or an error depends on it.

mod alter;
mod comment;
mod copy;
mod discard;
mod explain;
mod index;
mod setting;
mod table;
mod trigger;
mod user_type;
mod view;
mod window;

pub use super::routine::{
    AlterRoutine, CreateRoutine, DoBlock, DropRoutine, Returns, RoutineAction, RoutineBody, RoutineKind, RoutineName,
    RoutineParameter,
};
pub use crate::statement::rewrite::ReindexKind;
pub use alter::{AlterAction, AlterSequence, SequenceOptions};
pub use comment::CommentOn;
pub use copy::{Copy, CopyOption};
pub use discard::DiscardKind;
pub use explain::{ExplainForm, ExplainOptions};
pub use index::{CreateIndex, IndexItem};
pub use setting::{SetValue, SettingChange, StoredSetting};
pub use table::{CreateTable, Including, Like, SelectInto};
pub use trigger::{CreateTrigger, TriggerChoice, TriggerStatement};
pub use user_type::{TypeAction, TypeStatement};
pub use view::{CheckOption, CreateView};
pub use window::{Exclude, Frame, FrameBound, FrameMode, Over, Window};

/// A name as it was written: folded, unquoted, cut to length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name<'a> {
    /// The name.
    pub text: &'a str,
    /// Where it stands.
    pub at: u32,
}

/// A name with what qualifies it: `schema.table`.
pub type Path<'a> = &'a [Name<'a>];

/// A table that `VACUUM` or `ANALYZE` names.
#[derive(Clone, Copy, Debug)]
pub struct LookedAfter<'a> {
    /// Its name.
    pub path: Path<'a>,
    /// The columns to analyze; all if empty.
    pub columns: &'a [Name<'a>],
}

/// A type as it was written.
#[derive(Clone, Copy, Debug)]
pub struct TypeName<'a> {
    /// Its name; SQL's own spellings are PostgreSQL's names already (`int4` for `integer`).
    pub path: Path<'a>,
    /// True when the grammar knows the type, so that it is `pg_catalog`'s whatever the search path says.
    pub builtin: bool,
    /// What stands in parentheses after it.
    pub modifiers: &'a [i32],
    /// How many pairs of brackets follow.
    pub dimensions: u8,
    /// Where it stands.
    pub at: u32,
}

/// An expression and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Expr<'a> {
    /// What it is.
    pub kind: ExprKind<'a>,
    /// Where it stands: its operator, or its first token.
    pub at: u32,
    /// How many levels of expressions and queries it has.
    pub height: u32,
}

/// What an expression is.
#[derive(Clone, Copy, Debug)]
pub enum ExprKind<'a> {
    /// `NULL`
    Null,
    /// `TRUE`, `FALSE`
    Bool(bool),
    /// A number, maybe with a minus sign that was folded into it.
    Number(&'a str),
    /// A string.
    String(&'a str),
    /// `$1`
    Parameter(u32),
    /// `a`, `t.a`, `s.t.a`
    Column(Path<'a>),
    /// `t.*` where an expression stands: a whole row.
    WholeRow(Path<'a>),
    /// A prefix operator.
    Unary {
        /// The operator.
        operator: Operator<'a>,
        /// Its operand.
        operand: &'a Expr<'a>,
    },
    /// An operator between two operands.
    Binary {
        /// The operator.
        operator: Operator<'a>,
        /// The operand before it.
        left: &'a Expr<'a>,
        /// The operand after it.
        right: &'a Expr<'a>,
    },
    /// `a AND b AND c`
    And(&'a [Expr<'a>]),
    /// `a OR b OR c`
    Or(&'a [Expr<'a>]),
    /// `NOT a`
    Not(&'a Expr<'a>),
    /// `a IS [NOT] NULL`
    IsNull {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// With `NOT`.
        negated: bool,
    },
    /// `a IS [NOT] TRUE | FALSE | UNKNOWN`
    IsTruth {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// The value asked for; none for `UNKNOWN`.
        truth: Option<bool>,
        /// With `NOT`.
        negated: bool,
    },
    /// `a IS [NOT] DISTINCT FROM b`
    IsDistinct {
        /// The first operand.
        left: &'a Expr<'a>,
        /// The second operand.
        right: &'a Expr<'a>,
        /// With `NOT`.
        negated: bool,
    },
    /// `a [NOT] BETWEEN [SYMMETRIC] low AND high`
    Between {
        /// What is tested.
        operand: &'a Expr<'a>,
        /// The lower end.
        low: &'a Expr<'a>,
        /// The upper end.
        high: &'a Expr<'a>,
        /// With `NOT`.
        negated: bool,
        /// The ends may be in either order.
        symmetric: bool,
    },
    /// `a [NOT] IN (b, c)`
    In {
        /// What is looked for.
        operand: &'a Expr<'a>,
        /// Where.
        list: &'a [Expr<'a>],
        /// With `NOT`.
        negated: bool,
    },
    /// `a [NOT] LIKE b [ESCAPE c]` and its relatives.
    Like {
        /// What is matched.
        operand: &'a Expr<'a>,
        /// The pattern.
        pattern: &'a Expr<'a>,
        /// The escape character.
        escape: Option<&'a Expr<'a>>,
        /// Which relative.
        kind: LikeKind,
        /// With `NOT`.
        negated: bool,
    },
    /// `a op ANY (b)`, `a op ALL (b)`, and `a [NOT] IN (SELECT …)`
    Quantified {
        /// The operand before the operator.
        left: &'a Expr<'a>,
        /// The operator.
        operator: Operator<'a>,
        /// True for `ALL`.
        all: bool,
        /// An array, or a [`ExprKind::Subquery`].
        right: &'a Expr<'a>,
        /// True for `NOT IN`, where the whole is negated.
        negated: bool,
    },
    /// `CASE [a] WHEN b THEN c … [ELSE d] END`
    Case {
        /// What the conditions are compared with.
        operand: Option<&'a Expr<'a>>,
        /// Conditions and results.
        branches: &'a [(Expr<'a>, Expr<'a>)],
        /// The result when no condition holds.
        otherwise: Option<&'a Expr<'a>>,
    },
    /// `a::t`, `CAST(a AS t)`, `t 'a'`
    Cast {
        /// What is cast.
        operand: &'a Expr<'a>,
        /// To what.
        target: &'a TypeName<'a>,
    },
    /// A call.
    Call(&'a Call<'a>),
    /// `COALESCE(a, b)`
    Coalesce(&'a [Expr<'a>]),
    /// `GREATEST(a, b)`
    Greatest(&'a [Expr<'a>]),
    /// `LEAST(a, b)`
    Least(&'a [Expr<'a>]),
    /// `NULLIF(a, b)`
    NullIf(&'a Expr<'a>, &'a Expr<'a>),
    /// `CURRENT_TIMESTAMP` and its relatives.
    Special(Special, Option<i32>),
    /// `EXISTS (SELECT …)`
    Exists(&'a Query<'a>),
    /// `(SELECT …)`
    Subquery(&'a Query<'a>),
    /// `ARRAY(SELECT …)`
    ArrayQuery(&'a Query<'a>),
    /// `ARRAY[a, b]`
    Array(&'a [Expr<'a>]),
    /// `ROW(a, b)`, `(a, b)`
    Row(&'a [Expr<'a>]),
    /// `a[b]`, `a[b][c:d]`
    Subscript(&'a Expr<'a>, &'a [Subscript<'a>]),
    /// `(a).b`
    Field(&'a Expr<'a>, Name<'a>),
    /// `a COLLATE b`
    Collate(&'a Expr<'a>, Path<'a>),
    /// `DEFAULT`, in `VALUES` and `SET` only.
    Default,
}

/// What stands in a pair of brackets behind an array.
#[derive(Clone, Copy, Debug)]
pub enum Subscript<'a> {
    /// `[a]`
    Index(Expr<'a>),
    /// `[a:b]`, `[a:]`, `[:b]`, `[:]`
    Slice(Option<Expr<'a>>, Option<Expr<'a>>),
}

impl<'a> Subscript<'a> {
    /// The expressions in the brackets.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr<'a>> {
        let (first, second) = match self {
            Subscript::Index(index) => (Some(index), None),
            Subscript::Slice(lower, upper) => (lower.as_ref(), upper.as_ref()),
        };
        first.into_iter().chain(second)
    }
}

/// A column that is given a value, or a part of one: `a`, `a[1]`
#[derive(Clone, Copy, Debug)]
pub struct Assigned<'a> {
    /// The column.
    pub name: Name<'a>,
    /// The part; empty for the whole.
    pub subscripts: &'a [Subscript<'a>],
}

/// An operator as it was written.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    /// `pg_catalog` of `OPERATOR(pg_catalog.+)`.
    pub schema: Option<Name<'a>>,
    /// Its characters; `!=` is `<>` already.
    pub name: &'a str,
    /// Where it stands.
    pub at: u32,
}

/// The relatives of `LIKE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LikeKind {
    /// `LIKE`
    Like,
    /// `ILIKE`
    Ilike,
    /// `SIMILAR TO`
    Similar,
}

/// Functions that are called without parentheses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the keyword of that name")]
pub enum Special {
    CurrentDate,
    CurrentTime,
    CurrentTimestamp,
    LocalTime,
    LocalTimestamp,
    CurrentRole,
    CurrentUser,
    SessionUser,
    User,
    CurrentCatalog,
    CurrentSchema,
}

/// A call of a function or aggregate.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Its name.
    pub path: Path<'a>,
    /// Its arguments.
    pub arguments: &'a [Argument<'a>],
    /// `count(*)`
    pub star: bool,
    /// `count(DISTINCT a)`
    pub distinct: bool,
    /// `array_agg(a ORDER BY b)`
    pub order_by: &'a [SortItem<'a>],
    /// `percentile_disc(0.5) WITHIN GROUP (ORDER BY a)`
    pub within_group: &'a [SortItem<'a>],
    /// `FILTER (WHERE a)`
    pub filter: Option<&'a Expr<'a>>,
    /// `OVER w`, `OVER (…)`
    pub over: Option<Over<'a>>,
    /// The last argument has `VARIADIC` before it.
    pub variadic: bool,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// `name => …`
    pub name: Option<Name<'a>>,
    /// Its value.
    pub value: Expr<'a>,
}

/// An item of `ORDER BY`.
#[derive(Clone, Copy, Debug)]
pub struct SortItem<'a> {
    /// What is sorted by.
    pub expr: Expr<'a>,
    /// With `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` or `NULLS LAST`, if it was said.
    pub nulls_first: Option<bool>,
}

/// A query: `SELECT`, `VALUES`, or an operation on such, with what goes around it.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// `WITH`
    pub with: &'a [CommonTable<'a>],
    /// `WITH RECURSIVE`
    pub recursive: bool,
    /// What gives the rows.
    pub body: Body<'a>,
    /// `ORDER BY`
    pub order_by: &'a [SortItem<'a>],
    /// `LIMIT`
    pub limit: Option<&'a Expr<'a>>,
    /// `FETCH FIRST … WITH TIES`
    pub ties: bool,
    /// `OFFSET`
    pub offset: Option<&'a Expr<'a>>,
    /// `FOR UPDATE` and its relatives.
    pub locking: &'a [Locking<'a>],
    /// Where it stands.
    pub at: u32,
    /// How many levels of expressions and queries it has.
    pub height: u32,
}

/// A query of a `WITH`.
#[derive(Clone, Copy, Debug)]
pub struct CommonTable<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Names of its columns.
    pub columns: &'a [Name<'a>],
    /// The query, or another statement with `RETURNING`.
    pub statement: &'a Statement<'a>,
    /// `MATERIALIZED` or `NOT MATERIALIZED`, if it was said.
    pub materialized: Option<bool>,
}

/// What gives a query's rows.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// `SELECT`
    Select(&'a Select<'a>),
    /// `VALUES`
    Values(&'a [&'a [Expr<'a>]]),
    /// `(query)` with clauses of its own.
    Nested(&'a Query<'a>),
    /// `UNION` and its relatives; a chain of one operation is one node.
    Operation {
        /// Which one.
        operation: SetOperation,
        /// With `ALL`.
        all: bool,
        /// The operands: two, or more where the operation is associative.
        operands: &'a [Body<'a>],
    },
}

/// An operation on sets of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperation {
    /// Rows of either.
    Union,
    /// Rows of both.
    Intersect,
    /// Rows of the first that are not of the second.
    Except,
}

/// `SELECT`
#[derive(Clone, Copy, Debug)]
pub struct Select<'a> {
    /// `DISTINCT`
    pub distinct: Distinct<'a>,
    /// What is selected.
    pub items: &'a [SelectItem<'a>],
    /// `FROM`
    pub from: &'a [TableRef<'a>],
    /// `WHERE`
    pub filter: Option<&'a Expr<'a>>,
    /// `GROUP BY`
    pub group_by: &'a [GroupItem<'a>],
    /// `GROUP BY DISTINCT`
    pub group_distinct: bool,
    /// `HAVING`
    pub having: Option<&'a Expr<'a>>,
    /// `WINDOW`
    pub windows: &'a [(Name<'a>, Window<'a>)],
    /// Where it stands.
    pub at: u32,
}

/// An item of `GROUP BY`.
#[derive(Clone, Copy, Debug)]
pub enum GroupItem<'a> {
    /// A key, or several in parentheses.
    Keys(&'a [Expr<'a>]),
    /// `()`
    Empty(u32),
    /// `ROLLUP (a, (b, c))`
    Rollup(&'a [&'a [Expr<'a>]], u32),
    /// `CUBE (a, (b, c))`
    Cube(&'a [&'a [Expr<'a>]], u32),
    /// `GROUPING SETS (a, (b, c), ())`
    Sets(&'a [GroupItem<'a>], u32),
}

/// Which rows are left out as duplicates.
#[derive(Clone, Copy, Debug)]
pub enum Distinct<'a> {
    /// None.
    No,
    /// Those that are equal.
    All,
    /// Those that are equal in these.
    On(&'a [Expr<'a>]),
}

/// An item of what is selected.
#[derive(Clone, Copy, Debug)]
pub enum SelectItem<'a> {
    /// `*`
    Star(u32),
    /// `t.*`
    TableStar(Path<'a>),
    /// An expression, maybe with a label, and where the expression ends.
    Expr(Expr<'a>, Option<Name<'a>>, u32),
}

/// An alias with names for columns.
#[derive(Clone, Copy, Debug)]
pub struct Alias<'a> {
    /// The name.
    pub name: Name<'a>,
    /// Names of columns, from the first on.
    pub columns: &'a [Name<'a>],
}

/// An item of `FROM`.
#[derive(Clone, Copy, Debug)]
pub enum TableRef<'a> {
    /// A table.
    Table {
        /// Its name.
        path: Path<'a>,
        /// `ONLY`
        only: bool,
        /// Its alias.
        alias: Option<Alias<'a>>,
    },
    /// A query in parentheses.
    Subquery {
        /// The query.
        query: &'a Query<'a>,
        /// It may refer to items before it.
        lateral: bool,
        /// Its alias.
        alias: Option<Alias<'a>>,
        /// Where it stands.
        at: u32,
    },
    /// A function's rows.
    Function {
        /// The call; a [`ExprKind::Call`] or [`ExprKind::Special`].
        call: Expr<'a>,
        /// `WITH ORDINALITY`
        ordinality: bool,
        /// Its alias.
        alias: Option<Alias<'a>>,
    },
    /// The rows of several functions side by side.
    Functions {
        /// The calls.
        calls: &'a [Expr<'a>],
        /// `WITH ORDINALITY`
        ordinality: bool,
        /// The alias.
        alias: Option<Alias<'a>>,
    },
    /// A join.
    Join(&'a Join<'a>),
}

/// A join of two items.
#[derive(Clone, Copy, Debug)]
pub struct Join<'a> {
    /// Which rows without a partner are kept.
    pub kind: JoinKind,
    /// The first item.
    pub left: TableRef<'a>,
    /// The second item.
    pub right: TableRef<'a>,
    /// Which rows are partners.
    pub condition: JoinCondition<'a>,
    /// `(a JOIN b …) AS alias`
    pub alias: Option<Alias<'a>>,
    /// Where it stands.
    pub at: u32,
}

/// Which rows without a partner a join keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// None.
    Inner,
    /// Those of the first item.
    Left,
    /// Those of the second item.
    Right,
    /// All.
    Full,
}

/// Which rows of two items are partners.
#[derive(Clone, Copy, Debug)]
pub enum JoinCondition<'a> {
    /// All: `CROSS JOIN`.
    None,
    /// `ON`
    On(&'a Expr<'a>),
    /// `USING`
    Using(&'a [Name<'a>]),
    /// `NATURAL`
    Natural,
}

/// `FOR UPDATE` and its relatives.
#[derive(Clone, Copy, Debug)]
pub struct Locking<'a> {
    /// How strong the lock is.
    pub strength: LockStrength,
    /// `OF`: the tables; all if empty.
    pub tables: &'a [Name<'a>],
    /// What to do with a row that is locked.
    pub wait: LockWait,
    /// Where it stands.
    pub at: u32,
}

/// How strong a row's lock is, from the weakest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "each is the clause of that name")]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

/// What to do with a row that is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockWait {
    /// Wait for it.
    Wait,
    /// `NOWAIT`
    Error,
    /// `SKIP LOCKED`
    Skip,
}

/// A statement.
#[derive(Clone, Copy, Debug)]
pub enum Statement<'a> {
    /// A query.
    Query(&'a Query<'a>),
    /// `INSERT`
    Insert(&'a Insert<'a>),
    /// `UPDATE`
    Update(&'a Update<'a>),
    /// `DELETE`
    Delete(&'a Delete<'a>),
    /// Everything else.
    Utility(&'a Utility<'a>),
}

/// `INSERT`
#[derive(Clone, Copy, Debug)]
pub struct Insert<'a> {
    /// `WITH`
    pub with: &'a [CommonTable<'a>],
    /// `WITH RECURSIVE`
    pub recursive: bool,
    /// The table.
    pub table: Path<'a>,
    /// Its alias.
    pub alias: Option<Name<'a>>,
    /// The columns that values are given for; all, in order, if empty.
    pub columns: &'a [Assigned<'a>],
    /// `OVERRIDING`
    pub overriding: Option<Overriding>,
    /// The rows; none for `DEFAULT VALUES`.
    pub source: Option<&'a Query<'a>>,
    /// `ON CONFLICT`
    pub conflict: Option<&'a Conflict<'a>>,
    /// `RETURNING`
    pub returning: &'a [SelectItem<'a>],
    /// Where it stands.
    pub at: u32,
}

/// Which values of identity columns an `INSERT` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overriding {
    /// `OVERRIDING SYSTEM VALUE`: those that it was given.
    System,
    /// `OVERRIDING USER VALUE`: those of the sequence.
    User,
}

/// `ON CONFLICT`
#[derive(Clone, Copy, Debug)]
pub struct Conflict<'a> {
    /// The columns of the index that must infer it.
    pub columns: &'a [Expr<'a>],
    /// `ON CONSTRAINT`
    pub constraint: Option<Name<'a>>,
    /// The predicate of a partial index.
    pub target_filter: Option<&'a Expr<'a>>,
    /// `DO UPDATE SET`; none for `DO NOTHING`.
    pub assignments: Option<&'a [Assignment<'a>]>,
    /// `WHERE` of `DO UPDATE`.
    pub filter: Option<&'a Expr<'a>>,
    /// Where it stands.
    pub at: u32,
}

/// `SET a = b`, `SET (a, b) = (c, d)`
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The columns; one unless in parentheses.
    pub columns: &'a [Assigned<'a>],
    /// True when the columns stand in parentheses.
    pub multiple: bool,
    /// The value.
    pub value: Expr<'a>,
}

/// `UPDATE`
#[derive(Clone, Copy, Debug)]
pub struct Update<'a> {
    /// `WITH`
    pub with: &'a [CommonTable<'a>],
    /// `WITH RECURSIVE`
    pub recursive: bool,
    /// The table.
    pub table: Path<'a>,
    /// Its alias.
    pub alias: Option<Name<'a>>,
    /// `SET`
    pub assignments: &'a [Assignment<'a>],
    /// `FROM`
    pub from: &'a [TableRef<'a>],
    /// `WHERE`
    pub filter: Option<&'a Expr<'a>>,
    /// `RETURNING`
    pub returning: &'a [SelectItem<'a>],
    /// Where it stands.
    pub at: u32,
}

/// `DELETE`
#[derive(Clone, Copy, Debug)]
pub struct Delete<'a> {
    /// `WITH`
    pub with: &'a [CommonTable<'a>],
    /// `WITH RECURSIVE`
    pub recursive: bool,
    /// The table.
    pub table: Path<'a>,
    /// Its alias.
    pub alias: Option<Name<'a>>,
    /// `USING`
    pub using: &'a [TableRef<'a>],
    /// `WHERE`
    pub filter: Option<&'a Expr<'a>>,
    /// `RETURNING`
    pub returning: &'a [SelectItem<'a>],
    /// Where it stands.
    pub at: u32,
}

/// A statement that is not planned.
#[derive(Clone, Copy, Debug)]
pub enum Utility<'a> {
    /// `BEGIN`, `START TRANSACTION`: which of the two the tag says.
    Begin(&'a [TransactionMode], &'static str),
    /// `COMMIT`, `END`
    Commit {
        /// `AND CHAIN`
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`
    Rollback {
        /// `AND CHAIN`
        chain: bool,
    },
    /// `SAVEPOINT`
    Savepoint(Name<'a>),
    /// `RELEASE SAVEPOINT`
    Release(Name<'a>),
    /// `ROLLBACK TO SAVEPOINT`
    RollbackTo(Name<'a>),
    /// `LISTEN`
    Listen(Name<'a>),
    /// `UNLISTEN` of a channel, or of all
    Unlisten(Option<Name<'a>>),
    /// `NOTIFY`
    Notify {
        /// The channel.
        channel: Name<'a>,
        /// What is sent with it.
        payload: &'a str,
    },
    /// `SET TRANSACTION`
    SetTransaction(&'a [TransactionMode]),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION`
    SetCharacteristics(&'a [TransactionMode]),
    /// `SET name = …`
    Set {
        /// `SET LOCAL`
        local: bool,
        /// The setting's name.
        name: &'a str,
        /// The values; none for `DEFAULT`.
        values: Option<&'a [SetValue<'a>]>,
    },
    /// `SELECT … INTO`
    SelectInto(&'a SelectInto<'a>),
    /// `REINDEX`: what is to be made anew, and its name.
    Reindex(ReindexKind, Path<'a>),
    /// `CLUSTER`: the table, or all that have an order; the index whose order it gets, or the one of the last time.
    Cluster(Option<Path<'a>>, Option<Name<'a>>),
    /// `RESET name`; `None` for `RESET ALL`.
    Reset(Option<&'a str>),
    /// `SHOW name`; `None` for `SHOW ALL`.
    Show(Option<&'a str>),
    /// `ALTER SYSTEM SET name = …`, `ALTER SYSTEM RESET name`
    AlterSystem {
        /// The setting's name; none for `RESET ALL`.
        name: Option<&'a str>,
        /// The values; none for `DEFAULT` and `RESET`.
        values: Option<&'a [SetValue<'a>]>,
    },
    /// `DISCARD`
    Discard(DiscardKind),
    /// `PREPARE`
    Prepare {
        /// The statement's name.
        name: Name<'a>,
        /// The types of its parameters, as far as they were given.
        types: &'a [TypeName<'a>],
        /// Where the statement begins in the text.
        body_at: u32,
        /// The statement.
        statement: &'a Statement<'a>,
    },
    /// `EXECUTE`
    Execute {
        /// The statement's name.
        name: Name<'a>,
        /// The values of its parameters.
        arguments: &'a [Expr<'a>],
    },
    /// `DEALLOCATE name`; `None` for all.
    Deallocate(Option<Name<'a>>),
    /// `DECLARE name CURSOR FOR query`
    Declare {
        /// The cursor's name.
        name: Name<'a>,
        /// `WITH HOLD`
        hold: bool,
        /// `SCROLL`
        scroll: Option<bool>,
        /// `BINARY`
        binary: bool,
        /// `INSENSITIVE`
        insensitive: bool,
        /// Where the query begins in the text.
        body_at: u32,
        /// The query.
        query: &'a Query<'a>,
    },
    /// `FETCH`, `MOVE`
    Fetch {
        /// The cursor's name.
        name: Name<'a>,
        /// How many rows, and in which direction.
        direction: FetchDirection,
        /// `MOVE`
        discard: bool,
    },
    /// `CLOSE name`; `None` for all.
    Close(Option<Name<'a>>),
    /// `CREATE FUNCTION`, `CREATE PROCEDURE`
    CreateRoutine(&'a CreateRoutine<'a>),
    /// `ALTER FUNCTION`, `ALTER PROCEDURE`
    AlterRoutine(&'a AlterRoutine<'a>),
    /// `DROP FUNCTION`, `DROP PROCEDURE`
    DropRoutine(&'a DropRoutine<'a>),
    /// `CREATE TYPE`, `ALTER TYPE`, `DROP TYPE`
    Type(&'a TypeStatement<'a>),
    /// `CREATE TRIGGER`, `DROP TRIGGER`, `ALTER TRIGGER`
    Trigger(&'a TriggerStatement<'a>),
    /// `CALL`
    Call(&'a Call<'a>),
    /// `DO`
    Do(DoBlock<'a>),
    /// `EXPLAIN`
    Explain {
        /// What is wanted.
        wanted: ExplainOptions,
        /// Where the statement begins in the text.
        at: u32,
        /// The statement.
        statement: &'a Statement<'a>,
    },
    /// `CREATE TABLE`
    CreateTable(&'a CreateTable<'a>),
    /// `CREATE VIEW`
    CreateView(&'a CreateView<'a>),
    /// `CREATE INDEX`
    CreateIndex(&'a CreateIndex<'a>),
    /// `COMMENT`
    Comment {
        /// What it is on.
        on: CommentOn<'a>,
        /// What it says; none takes it away.
        text: Option<&'a str>,
    },
    /// `CREATE SEQUENCE`
    CreateSequence {
        /// Its name.
        path: Path<'a>,
        /// `IF NOT EXISTS`
        if_not_exists: bool,
        /// `TEMPORARY`
        temporary: bool,
        /// What it is to be.
        options: &'a SequenceOptions<'a>,
    },
    /// `ALTER SEQUENCE`
    AlterSequence {
        /// The sequence.
        path: Path<'a>,
        /// `IF EXISTS`
        if_exists: bool,
        /// What is to change.
        change: &'a AlterSequence<'a>,
    },
    /// `CREATE SCHEMA`
    CreateSchema {
        /// Its name; without one, its owner's.
        name: Option<Name<'a>>,
        /// `AUTHORIZATION`
        owner: Option<super::role::RoleName<'a>>,
        /// `IF NOT EXISTS`
        if_not_exists: bool,
    },
    /// `DROP TABLE`, `DROP INDEX`, …
    Drop {
        /// What kind of object.
        kind: ObjectKind,
        /// Which ones.
        paths: &'a [Path<'a>],
        /// `IF EXISTS`
        if_exists: bool,
        /// `CASCADE`
        cascade: bool,
    },
    /// `ALTER TABLE`, `ALTER VIEW`
    AlterTable {
        /// The table.
        path: Path<'a>,
        /// It was called a view.
        view: bool,
        /// `IF EXISTS`
        if_exists: bool,
        /// What is to change.
        actions: &'a [AlterAction<'a>],
    },
    /// `ALTER INDEX … RENAME TO`
    RenameIndex {
        /// The index.
        path: Path<'a>,
        /// `IF EXISTS`
        if_exists: bool,
        /// Its new name.
        name: Name<'a>,
    },
    /// `GRANT` and `REVOKE` of privileges.
    Grant(&'a super::privilege::Grant<'a>),
    /// A statement about owners.
    Owner(&'a super::role::OwnerStatement<'a>),
    /// `ALTER SCHEMA … RENAME TO`
    RenameSchema {
        /// The schema.
        schema: Name<'a>,
        /// Its new name.
        name: Name<'a>,
    },
    /// `TRUNCATE`
    Truncate {
        /// The tables.
        paths: &'a [Path<'a>],
        /// `RESTART IDENTITY`
        restart_identity: bool,
        /// `CASCADE`
        cascade: bool,
    },
    /// `COPY`
    Copy(&'a Copy<'a>),
    /// `VACUUM`
    Vacuum {
        /// `ANALYZE`
        analyze: bool,
        /// `FULL`
        full: bool,
        /// `VERBOSE`
        verbose: bool,
        /// The tables; all if empty.
        tables: &'a [LookedAfter<'a>],
    },
    /// `ANALYZE`
    Analyze {
        /// `VERBOSE`
        verbose: bool,
        /// The tables; all if empty.
        tables: &'a [LookedAfter<'a>],
    },
    /// `CHECKPOINT`
    Checkpoint,
    /// `LOCK TABLE`
    Lock {
        /// The tables.
        paths: &'a [Path<'a>],
        /// The mode, from 1 (`ACCESS SHARE`) to 8 (`ACCESS EXCLUSIVE`).
        mode: u8,
        /// `NOWAIT`
        nowait: bool,
    },
    /// `CREATE ROLE` and its relatives, `GRANT` and `REVOKE` of roles
    Role(&'a super::role::RoleStatement<'a>),
    /// `CREATE DATABASE`, `DROP DATABASE`, `ALTER DATABASE` but for `SET` and `RESET`
    Database(&'a super::database::DatabaseStatement<'a>),
    /// `ALTER ROLE … SET`, `ALTER DATABASE … SET`
    StoredSetting(&'a StoredSetting<'a>),
    /// `ALTER DEFAULT PRIVILEGES`
    AlterDefaults(&'a super::privilege::AlterDefaults<'a>),
    /// `SET CONSTRAINTS`: the constraints, or none for all; true for `DEFERRED`.
    SetConstraints(&'a [Path<'a>], bool),
    /// A statement that PostgreSQL has and this server has not: its first words.
    Unsupported(&'a str),
}

/// A mode of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionMode {
    /// `ISOLATION LEVEL`
    Isolation(base::settings::Isolation),
    /// `READ ONLY`, `READ WRITE`
    ReadOnly(bool),
    /// `DEFERRABLE`, `NOT DEFERRABLE`
    Deferrable(bool),
}

/// How far `FETCH` goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchDirection {
    /// So many rows forward, or none: the present row again; `u64::MAX` for all.
    Forward(u64),
    /// So many rows backward.
    Backward(u64),
    /// The row of that number, from the end if it is negative.
    Absolute(i64),
    /// The row so far from the present one.
    Relative(i64),
}

/// What kind of object a statement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the word of that name")]
pub enum ObjectKind {
    Table,
    Index,
    Schema,
    View,
    Sequence,
}

/// The query of `CREATE TABLE … AS`.
#[derive(Clone, Copy, Debug)]
pub struct TableSource<'a> {
    /// Names that were given to the columns, from the first.
    pub names: &'a [Name<'a>],
    /// Where the query begins in the statement's text, and where it ends.
    pub range: (u32, u32),
    /// False with `WITH NO DATA`.
    pub with_data: bool,
}

/// A column of `CREATE TABLE`.
#[derive(Clone, Copy, Debug)]
pub struct ColumnDefinition<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Its type.
    pub type_name: &'a TypeName<'a>,
    /// `NOT NULL`, or `NULL`, if it was said.
    pub not_null: Option<bool>,
    /// `DEFAULT`
    pub default: Option<SourceExpr<'a>>,
    /// `GENERATED ALWAYS AS (…) STORED`
    pub generated: Option<SourceExpr<'a>>,
    /// `GENERATED … AS IDENTITY`: true for `ALWAYS`.
    pub identity: Option<(bool, SequenceOptions<'a>)>,
    /// Constraints that were written with it.
    pub constraints: &'a [TableConstraint<'a>],
}

/// An expression that is stored with a table, with its text.
#[derive(Clone, Copy, Debug)]
pub struct SourceExpr<'a> {
    /// The expression.
    pub expr: &'a Expr<'a>,
    /// Its text.
    pub text: &'a str,
}

/// A constraint.
#[derive(Clone, Copy, Debug)]
pub struct TableConstraint<'a> {
    /// Its name, if it was given one.
    pub name: Option<Name<'a>>,
    /// What it demands.
    pub kind: ConstraintKind<'a>,
    /// `NOT VALID`
    pub not_valid: bool,
    /// `DEFERRABLE`, `INITIALLY DEFERRED`
    pub deferral: crate::catalog::definition::Deferral,
    /// Where it stands.
    pub at: u32,
}

/// What a constraint demands.
#[derive(Clone, Copy, Debug)]
pub enum ConstraintKind<'a> {
    /// `PRIMARY KEY (…) [INCLUDE (…)] [WITH (…)]`
    PrimaryKey(&'a [Name<'a>], KeyOptions<'a>),
    /// `UNIQUE (…)`
    Unique(&'a [Name<'a>], KeyOptions<'a>),
    /// `PRIMARY KEY USING INDEX name`, `UNIQUE USING INDEX name`
    UsingIndex {
        /// A primary key, not just unique.
        primary: bool,
        /// The index.
        index: Name<'a>,
    },
    /// `CHECK (…)`
    Check(SourceExpr<'a>),
    /// `FOREIGN KEY (…) REFERENCES t (…)`
    ForeignKey {
        /// The columns that refer.
        columns: &'a [Name<'a>],
        /// The table that is referred to.
        table: Path<'a>,
        /// Its columns; those of the primary key if empty.
        referenced: &'a [Name<'a>],
        /// `ON UPDATE`
        on_update: ReferentialAction,
        /// `ON DELETE`
        on_delete: ReferentialAction,
        /// `MATCH FULL`
        full: bool,
        /// The columns behind `ON DELETE SET NULL` or `SET DEFAULT`.
        set_columns: &'a [Name<'a>],
    },
}

/// What is said of a key's index.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyOptions<'a> {
    /// `NULLS NOT DISTINCT`
    pub nulls_equal: bool,
    /// `INCLUDE (…)`
    pub included: &'a [Name<'a>],
    /// `WITH (…)`
    pub storage: &'a [StorageOption<'a>],
    /// `USING INDEX TABLESPACE`
    pub tablespace: Option<Name<'a>>,
}

/// What happens to rows that refer to one that goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "each is the clause of that name")]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// `name = value` of a `WITH (…)`.
#[derive(Clone, Copy, Debug)]
pub struct StorageOption<'a> {
    /// Its name.
    pub name: Name<'a>,
    /// Its value, if it was given one.
    pub value: Option<&'a str>,
}
