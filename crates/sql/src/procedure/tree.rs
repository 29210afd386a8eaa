//! A body that was read.
//!
//! Rules
//! 1. Variables have numbers that are unique in a body; blocks only decide which of them a piece can see.
//! 2. A tree holds texts, no plans and nothing of a call: any number of calls use one at once.

use crate::parser::ast::FetchDirection;
use base::Object;

/// A body.
#[derive(Debug)]
pub struct Body {
    /// All variables, `found` first, then the arguments.
    pub variables: Vec<Variable>,
    /// How many pieces there are.
    pub pieces: u32,
    /// The outermost block.
    pub block: Block,
    /// What it gives.
    pub gives: Gives,
    /// It is written in SQL: statements only, in which columns go before arguments of the same name.
    pub is_sql: bool,
}

/// What a body gives back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Its output parameters; it is a procedure's, or a `DO`'s.
    Procedure,
    /// Nothing.
    Void,
    /// A value.
    Value,
    /// A row of a table: what a trigger gives, for one.
    Row,
    /// Rows of a table.
    TableRows,
    /// The values of its output parameters.
    Outputs,
    /// Values, one after another.
    Set,
    /// Rows of the values of its output parameters.
    Rows,
}

/// A variable.
#[derive(Debug)]
pub struct Variable {
    /// The label of its block.
    pub label: String,
    /// Its name.
    pub name: String,
    /// What its type is.
    pub ty: TypeText,
    /// It keeps its first value.
    pub constant: bool,
    /// Null is no value of it.
    pub not_null: bool,
    /// It is another name of that variable.
    pub alias: Option<u32>,
    /// It is a cursor with a query of its own.
    pub cursor: Option<Box<Cursor>>,
}

impl Variable {
    /// A variable of that name and type, and nothing else.
    pub fn plain(label: &str, name: &str, ty: TypeText) -> Variable {
        let (label, name) = (label.to_owned(), name.to_owned());
        Variable { label, name, ty, constant: false, not_null: false, alias: None, cursor: None }
    }
}

/// The query of a cursor.
#[derive(Debug)]
pub struct Cursor {
    /// The variables that are its arguments.
    pub arguments: Vec<u32>,
    /// The query, which sees them.
    pub query: Piece,
    /// It said `SCROLL`, or `NO SCROLL`.
    pub scroll: Option<bool>,
}

/// What a cursor is opened for.
#[derive(Debug)]
pub enum Opened {
    /// Its own query, with these arguments.
    Bound(Vec<Piece>),
    /// A query, and whether it said `SCROLL` or `NO SCROLL`.
    For(Source, Option<bool>),
}

/// Where a cursor goes.
#[derive(Debug)]
pub enum Steps {
    /// A direction that is known.
    Known(FetchDirection),
    /// So many rows forward, or back if it is negative.
    Forward(Piece),
    /// So many rows back.
    Backward(Piece),
    /// To the row of that number.
    Absolute(Piece),
    /// So many rows from where it is, giving the last of them.
    Relative(Piece),
}

/// A type as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeText {
    /// `integer`, `numeric(10, 2)`
    Named(String),
    /// `table.column%TYPE`
    Column(Vec<String>),
    /// `table%ROWTYPE`
    Row(Vec<String>),
    /// `variable%TYPE`
    Like(u32),
    /// `RECORD`
    Record,
    /// That of the first value that it is given.
    Value,
}

/// An expression or an SQL statement.
#[derive(Debug)]
pub struct Piece {
    /// A whole statement: `SELECT` stands before an expression.
    pub text: String,
    /// Its number in the body.
    pub number: u32,
    /// The variables that it may mention, those of inner blocks first.
    pub variables: Vec<u32>,
}

/// Where a value goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The variable.
    pub variable: u32,
    /// The field of a record.
    pub field: Option<String>,
}

/// A block.
#[derive(Debug)]
pub struct Block {
    /// Its label.
    pub label: Option<String>,
    /// The variables that it makes, with their first values.
    pub declared: Vec<(u32, Option<Piece>)>,
    /// Its statements.
    pub body: Vec<Statement>,
    /// What it does about errors; none without `EXCEPTION`.
    pub handlers: Vec<Handler>,
    /// `sqlstate` and `sqlerrm` in its handlers.
    pub error_variables: (u32, u32),
}

/// A `WHEN` of `EXCEPTION`.
#[derive(Debug)]
pub struct Handler {
    /// Codes of five characters, those that end with `000` for their class; `OTHERS` is empty.
    pub conditions: Vec<String>,
    /// What is done.
    pub body: Vec<Statement>,
}

/// A statement and the line that it begins in.
#[derive(Debug)]
pub struct Statement {
    /// The line.
    pub line: u32,
    /// What it is.
    pub kind: Kind,
}

/// Where a query's rows come from.
#[derive(Debug)]
pub enum Source {
    /// A statement in the body.
    Piece(Piece),
    /// `EXECUTE text USING values`
    Text(Piece, Vec<Piece>),
}

/// Where a statement's row goes.
#[derive(Debug)]
pub struct Into {
    /// The variables, one for each column, or a record.
    pub targets: Vec<Target>,
    /// There has to be one row.
    pub strict: bool,
}

/// A level of `RAISE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Level {
    Debug,
    Log,
    Info,
    Notice,
    Warning,
    Exception,
}

/// An option of `RAISE … USING`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum RaiseOption {
    Message,
    Detail,
    Hint,
    Code,
    Name(Object),
}

/// `RAISE`
#[derive(Debug)]
pub struct Raise {
    /// Its level.
    pub level: Level,
    /// The message, with `%` for each argument.
    pub format: Option<String>,
    /// The arguments.
    pub arguments: Vec<Piece>,
    /// A condition in the message's place.
    pub condition: Option<String>,
    /// `USING`
    pub options: Vec<(RaiseOption, Piece)>,
}

/// What `GET DIAGNOSTICS` can get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Item {
    RowCount,
    State,
    Message,
    Detail,
    Hint,
    Context,
    /// What an error is about.
    Name(Object),
}

/// What stands in a pair of brackets behind what is assigned to.
#[derive(Debug)]
pub enum Place {
    /// `[a]`
    Index(Piece),
    /// `[a:b]`; a bound that is left out is the array's own.
    Slice(Option<Piece>, Option<Piece>),
}

/// What a statement is.
#[derive(Debug)]
pub enum Kind {
    /// A block in a block.
    Block(Block),
    /// `target := value`
    Assign(Target, Piece),
    /// `variable := variable || value`
    Append {
        /// What is assigned to.
        variable: u32,
        /// What is appended.
        value: Piece,
        /// It is a string, which may be of any type.
        is_string: bool,
        /// The whole expression.
        whole: Piece,
    },
    /// `target[i] := value`, `target[i:j] := value`
    AssignElement(Target, Vec<Place>, Piece),
    /// `target := variable`: of one record to another, if they are records.
    AssignVariable(u32, u32, Piece),
    /// `OPEN`
    Open(u32, Opened),
    /// `FETCH`; without targets, `MOVE`.
    Fetch(u32, Steps, Option<Into>),
    /// `CLOSE`
    Close(u32),
    /// `FOR row IN cursor`
    CursorRows {
        /// Its label.
        label: Option<String>,
        /// The variable of a row.
        record: u32,
        /// The cursor.
        cursor: u32,
        /// Its arguments.
        arguments: Vec<Piece>,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `IF`, `CASE`: the first that is true.
    If {
        /// `CASE`: the variable that holds what is compared, and its value.
        value: Option<(u32, Piece)>,
        /// Conditions, and what is done.
        arms: Vec<(Piece, Vec<Statement>)>,
        /// `ELSE`; a `CASE` without one fails.
        otherwise: Option<Vec<Statement>>,
        /// It is a `CASE`.
        is_case: bool,
    },
    /// `LOOP`, `WHILE`
    Loop {
        /// Its label.
        label: Option<String>,
        /// `WHILE`
        condition: Option<Piece>,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `FOR i IN a..b`
    Count {
        /// Its label.
        label: Option<String>,
        /// `i`
        variable: u32,
        /// Where it begins and ends.
        bounds: (Piece, Piece),
        /// `BY`
        step: Option<Piece>,
        /// `REVERSE`
        reverse: bool,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `FOR row IN query`
    Rows {
        /// Its label.
        label: Option<String>,
        /// What a row is put into.
        into: Into,
        /// The query.
        source: Source,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `FOREACH x IN ARRAY a`
    Elements {
        /// Its label.
        label: Option<String>,
        /// `x`
        target: Target,
        /// `SLICE`: how many dimensions each has; zero for elements.
        slice: u32,
        /// The array.
        array: Piece,
        /// What is repeated.
        body: Vec<Statement>,
    },
    /// `EXIT`, `CONTINUE`
    Leave {
        /// The loop, or block; the innermost loop without one.
        label: Option<String>,
        /// `CONTINUE`
        again: bool,
        /// `WHEN`
        when: Option<Piece>,
    },
    /// `RETURN`
    Return(Option<Piece>),
    /// `RETURN` of a record, or of null.
    ReturnRow(Option<u32>),
    /// `RETURN NEXT`; without a value, the output parameters as they are.
    ReturnNext(Option<Piece>),
    /// `RETURN NEXT` of a record.
    ReturnNextRow(u32),
    /// `RETURN QUERY`
    ReturnQuery(Source),
    /// A statement of a body in SQL.
    Run(Piece),
    /// The last statement of a body in SQL, whose rows are what it gives.
    Result(Piece),
    /// An SQL statement.
    Sql(Piece, Option<Into>),
    /// `PERFORM`
    Perform(Piece),
    /// `EXECUTE`
    Execute {
        /// The statement's text.
        text: Piece,
        /// Where its row goes.
        into: Option<Into>,
        /// The values of its parameters.
        using: Vec<Piece>,
    },
    /// `RAISE`
    Raise(Raise),
    /// `ASSERT`
    Assert(Piece, Option<Piece>),
    /// `GET DIAGNOSTICS`
    Diagnostics(bool, Vec<(Target, Item)>),
    /// `NULL`
    Null,
    /// `COMMIT`, `ROLLBACK`
    End {
        /// `COMMIT`
        commit: bool,
        /// `AND CHAIN`
        chain: bool,
    },
    /// `CALL`: where its results go, if they are variables.
    Call(Piece),
}

impl Kind {
    /// What the context of an error calls it.
    pub fn words(&self) -> &'static str {
        match self {
            Kind::Block(_) => "statement block",
            Kind::Assign(..) | Kind::Append { .. } | Kind::AssignElement(..) | Kind::AssignVariable(..) => "assignment",
            Kind::Open(..) => "OPEN",
            Kind::Fetch(_, _, Some(_)) => "FETCH",
            Kind::Fetch(..) => "MOVE",
            Kind::Close(_) => "CLOSE",
            Kind::CursorRows { .. } => "FOR over cursor",
            Kind::If { is_case: true, .. } => "CASE",
            Kind::If { .. } => "IF",
            Kind::Loop { condition: None, .. } => "LOOP",
            Kind::Loop { .. } => "WHILE",
            Kind::Count { .. } => "FOR with integer loop variable",
            Kind::Rows { source: Source::Piece(_), .. } => "FOR over SELECT rows",
            Kind::Rows { .. } => "FOR over EXECUTE statement",
            Kind::Elements { .. } => "FOREACH over array",
            Kind::Leave { again: true, .. } => "CONTINUE",
            Kind::Leave { .. } => "EXIT",
            Kind::Return(_) | Kind::ReturnRow(_) => "RETURN",
            Kind::ReturnNext(_) | Kind::ReturnNextRow(_) => "RETURN NEXT",
            Kind::ReturnQuery(_) => "RETURN QUERY",
            Kind::Run(_) | Kind::Result(_) => "SQL statement",
            Kind::Sql(..) => "SQL statement",
            Kind::Perform(_) => "PERFORM",
            Kind::Execute { .. } => "EXECUTE",
            Kind::Raise(_) => "RAISE",
            Kind::Assert(..) => "ASSERT",
            Kind::Diagnostics(..) => "GET DIAGNOSTICS",
            Kind::Null => "NULL",
            Kind::End { commit: true, .. } => "COMMIT",
            Kind::End { .. } => "ROLLBACK",
            Kind::Call(_) => "CALL",
        }
    }
}
