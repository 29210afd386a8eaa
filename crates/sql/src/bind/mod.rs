//! Binding: from the syntax tree to a statement in which every name is a column, a type, a function.
//!
//! | module | what it is |
//! |---|---|
//! | [`tree`] | the bound statement |
//! | [`scope`] | where names are looked up |
//! | [`expr`], [`coerce`], [`name`] | expressions, casts, names of result columns |
//! | [`access`] | what privileges a statement takes |
//! | `generated` | values of generated columns |
//! | [`index`], [`implied`] | what indexes compute, and whether a query's rows are among theirs |
//! | [`query`], [`from`], `recursive`, [`grouping`], `grouping_sets`, [`window`] | queries |
//! | [`modify`] | `INSERT`, `UPDATE`, `DELETE` |
//! | [`routine`] | calls of functions of users |
//! | `row` | rows, where their fields are asked for |
//! | [`variable`] | variables of procedures |
//! | [`view`] | views: their queries in place of their names, and what a new one refers to |
//! | `updatable` | statements that change rows through views |
//! | [`walk`], [`same`] | going over bound statements, comparing their expressions |
//!
//! Rules
//! 1. Errors are PostgreSQL's, with SQLSTATE, words and place.
//! 2. Binding reads the catalog and nothing else; it waits where the catalog must be read from disk, so it is not run on an
//!    engine's own stack unless the catalog is at hand ([`crate::catalog`]).
//! 3. Depth is bounded by the parser; recursion here follows the tree.

pub mod access;
pub mod coerce;
pub mod expr;
mod fields;
pub mod from;
mod generated;
pub mod grouping;
mod grouping_sets;
pub mod implied;
pub mod index;
pub mod modify;
pub mod name;
pub mod ordered;
pub mod query;
mod recursive;
pub(crate) mod rival;
pub mod routine;
mod row;
mod rows_from;
pub mod same;
pub mod scope;
mod subscript;
pub mod tree;
pub mod updatable;
pub mod variable;
pub mod view;
pub mod walk;
pub mod window;

use crate::catalog::Catalog;
use crate::catalog::definition::TableDef;
use crate::lexer::{Literal, position};
use crate::parser::ast::Statement;
use crate::plan::blob::Constant;
use crate::types::datetime::Style;
use crate::types::{Arena, Oid, Type};
use base::{Error, Result, sqlstate};
use bumpalo::Bump;
use grouping::{Collected, Level};
use scope::Scope;
use std::collections::BTreeMap;
use std::sync::Arc;
use tree::{Bound, Column, Expr, ExprKind, RelationId, Root};

/// What binding needs beside the tree.
pub struct Binder<'b> {
    pub(crate) catalog: &'b Catalog<'b>,
    text: &'b str,
    slots: &'b [Literal],
    style: Style<'b>,
    arena: &'b Arena,
    bump: &'b Bump,
    /// Variables of the procedure around the statement.
    variables: &'b [variable::Variable],
    /// Values of the client's parameters, which are constants then.
    values: &'b [Constant],
    /// Parameters may be new; else only those with types.
    new_parameters: bool,
    bound: Bound,
    grouping: Option<Collected>,
    /// The queries around the one that is being bound, from the outermost: those in whose expressions it stands.
    around: Vec<Level>,
    commons: Vec<KnownCommon>,
    /// Whose privileges count: none for those of whoever executes, within a view its owner.
    acting: Oid,
    /// The next `WITH` is the statement's own.
    outermost: bool,
    /// Where a recursive query cannot be referred to: the places around the one at hand, from the outermost.
    places: Vec<&'static str>,
    /// The recursions that were referred to, and none for each common table that depends on what is around it.
    depended: Vec<Option<u16>>,
    noted: BTreeMap<Column, u32>,
    needs_literals: bool,
    /// What a query refers to, where that is wanted.
    record: Option<view::Record>,
    /// Where columns are named, where that is wanted.
    named: Option<Vec<(index::Place, Expr)>>,
    /// The relations that are views.
    views: Vec<(RelationId, Arc<TableDef>)>,
    /// The views that are being bound, from the outermost …
    within: Vec<Oid>,
    /// … and how high their queries are together.
    height: u32,
    /// The next select list is a subquery's in `FROM`: others name what it selects.
    is_read: bool,
}

/// A common table that can be named.
#[derive(Clone, Debug)]
struct KnownCommon {
    name: String,
    number: u16,
    columns: Vec<(String, Type)>,
    standing: recursive::Standing,
}

/// What a statement is bound with.
pub struct Setting<'b> {
    /// What is known of tables and schemas.
    pub catalog: &'b Catalog<'b>,
    /// The text that the tree was made from, for places in errors.
    pub text: &'b str,
    /// The constants that became slots, in text order.
    pub slots: &'b [Literal],
    /// The session's settings, for constants.
    pub style: Style<'b>,
    /// The types of parameters that the client said; zero where it did not.
    pub client_types: &'b [Oid],
    /// Whether there may be more parameters than these.
    pub new_parameters: bool,
    /// Variables of the procedure that the statement stands in.
    pub variables: &'b [variable::Variable],
    /// The values of the client's parameters, if the statement is to be planned for them: they are constants then.
    pub values: &'b [Constant],
}

/// Why a statement was not bound.
#[derive(Debug)]
pub enum Unbound {
    /// It is wrong.
    Error(Error),
    /// A literal decides about its meaning: bind again with the literals in place.
    NeedsLiterals,
}

impl<'b> Binder<'b> {
    fn new(setting: &Setting<'b>, arena: &'b Arena, bump: &'b Bump) -> Binder<'b> {
        let known = |oid: &Oid| Some(*oid).filter(|oid| !oid.is_none() && *oid != Oid::UNKNOWN);
        Binder {
            catalog: setting.catalog,
            text: setting.text,
            slots: setting.slots,
            style: setting.style,
            arena,
            bump,
            variables: setting.variables,
            values: setting.values,
            new_parameters: setting.new_parameters,
            bound: Bound {
                client_types: setting.client_types.iter().map(known).collect(),
                reusable: true,
                has_values: !setting.values.is_empty(),
                ..Bound::default()
            },
            grouping: None,
            around: Vec::new(),
            commons: Vec::new(),
            acting: Oid::NONE,
            outermost: true,
            places: Vec::new(),
            depended: Vec::new(),
            noted: BTreeMap::new(),
            needs_literals: false,
            record: None,
            named: None,
            views: Vec::new(),
            within: Vec::new(),
            height: 0,
            is_read: false,
        }
    }

    fn style(&self) -> Style<'b> {
        self.style
    }

    /// The place of a byte, as clients are told it.
    pub(crate) fn position(&self, at: u32) -> u32 {
        position(self.text, at as usize)
    }

    #[cold]
    pub(crate) fn unsupported(&self, what: &str, at: u32) -> Error {
        Error::unsupported(format!("{what} is not supported"))
            .hint("The server's manual lists the statements and clauses that are supported.")
            .at(self.position(at))
    }

    /// The slot of the constant that stands at a byte, if it became one.
    fn slot_at(&self, at: u32) -> Option<u16> {
        let index = self.slots.binary_search_by_key(&at, |literal| literal.start).ok()?;
        Some(self.slots[index].slot)
    }

    #[cold]
    fn ask_for_literals(&mut self) -> Error {
        self.needs_literals = true;
        Error::statement(sqlstate::INTERNAL_ERROR, "the statement is to be bound with its literals")
    }

    /// Remembers where a column was named, for errors about grouping.
    fn note_column(&mut self, expr: &Expr, at: u32) {
        if let ExprKind::Column(column) = expr.kind {
            self.noted.entry(column).or_insert(at);
        }
        self.note_read(expr);
    }

    fn finish<T>(self, root: Result<T>) -> std::result::Result<(Bound, T), Unbound> {
        match root {
            Ok(root) => {
                if let Some(number) = self.bound.client_types.iter().position(Option::is_none) {
                    return Err(Unbound::Error(undetermined(number)));
                }
                Ok((self.bound, root))
            }
            Err(_) if self.needs_literals => Err(Unbound::NeedsLiterals),
            Err(error) => Err(Unbound::Error(error)),
        }
    }
}

/// Binds a query or a statement that changes rows.
pub fn bind(
    statement: &Statement<'_>,
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> std::result::Result<(Bound, Root), Unbound> {
    let mut binder = Binder::new(setting, arena, bump);
    let root = match statement {
        Statement::Query(query) => binder.query(query, None, true).map(|query| Root::Query(Box::new(query))),
        Statement::Insert(insert) => binder.insert(insert).map(|root| Root::Modification(Box::new(root))),
        Statement::Update(update) => binder.update(update).map(|root| Root::Modification(Box::new(root))),
        Statement::Delete(delete) => binder.delete(delete).map(|root| Root::Modification(Box::new(root))),
        Statement::Utility(_) => Err(Error::unsupported("a utility statement has no plan")),
    };
    let root = root.and_then(|root| binder.bind_indexes(&root).map(|()| root));
    binder.finish(root)
}

/// Binds expressions without columns, each to a type: the arguments of `EXECUTE`.
pub fn bind_values(
    exprs: &[crate::parser::ast::Expr<'_>],
    types: &[Oid],
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> Result<(Bound, Root)> {
    let mut binder = Binder::new(setting, arena, bump);
    let root = binder.argument_query(exprs, types);
    match binder.finish(root) {
        Ok((bound, query)) => Ok((bound, Root::Query(Box::new(query)))),
        Err(Unbound::Error(error)) => Err(error),
        Err(Unbound::NeedsLiterals) => Err(Error::unsupported("a literal of this kind here")),
    }
}

impl Binder<'_> {
    /// `VALUES (…)` with the arguments cast to the parameters' types.
    fn argument_query(&mut self, exprs: &[crate::parser::ast::Expr<'_>], types: &[Oid]) -> Result<tree::Query> {
        let mut row = Vec::with_capacity(exprs.len());
        let mut targets = Vec::with_capacity(exprs.len());
        for (index, (expr, oid)) in exprs.iter().zip(types).enumerate() {
            let bound = self.expr(expr, &Scope::EMPTY, expr::Clause::Execute)?;
            let source = bound.ty.oid;
            let ty = Type::plain(*oid);
            let Ok(bound) = self.try_coerce(bound, ty, crate::types::cast::Context::Assignment, expr.at)? else {
                let (from, to) = (Type::plain(source), ty);
                let message = format!(
                    "parameter ${} of type {} cannot be coerced to the expected type {}",
                    index + 1,
                    crate::types::typmod::format_type(from),
                    crate::types::typmod::format_type(to)
                );
                return Err(Error::statement(sqlstate::DATATYPE_MISMATCH, message)
                    .hint("You will need to rewrite or cast the expression.")
                    .at(self.position(expr.at)));
            };
            row.push(bound);
            targets.push(tree::Target {
                name: String::new(),
                expr: Expr::constant(crate::plan::blob::Constant::Null, ty),
            });
        }
        let columns = targets.iter().map(|target| (String::new(), target.expr.ty)).collect();
        let relation = tree::Relation { name: String::new(), columns, source: tree::Source::Computed };
        let output = self.relation(relation, 0)?;
        let visible = targets.len();
        Ok(tree::Query {
            body: tree::Body::Values(vec![row]),
            output,
            targets,
            visible,
            distinct: None,
            order_by: Vec::new(),
            limit: None,
            ties: false,
            offset: None,
            locking: Vec::new(),
        })
    }
}

/// The types of expressions, as arguments of a call have them.
pub fn types_of(
    exprs: &[crate::parser::ast::Expr<'_>],
    setting: &Setting<'_>,
    arena: &Arena,
    bump: &Bump,
) -> Result<Vec<Oid>> {
    let mut binder = Binder::new(setting, arena, bump);
    exprs.iter().map(|expr| Ok(binder.expr(expr, &Scope::EMPTY, expr::Clause::Execute)?.ty.oid)).collect()
}

/// The type of a parameter, counted from zero, that was neither said nor follows from its use.
#[cold]
pub(crate) fn undetermined(number: usize) -> Error {
    let message = format!("could not determine data type of parameter ${}", number + 1);
    Error::statement(sqlstate::INDETERMINATE_DATATYPE, message)
}
