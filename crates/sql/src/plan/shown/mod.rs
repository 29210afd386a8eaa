//! A plan as it is shown: a tree of nodes with what is to be said of each, before it is text, JSON, YAML or XML.
//!
//! | module | what it is |
//! |---|---|
//! | [`forms`] | the four forms |
//!
//! The printer ([`super::explain`]) makes the tree; what an execution measured is added to it afterwards ([`ShownNode::measure`]), so that no
//! form has to know where a figure comes from.

pub mod forms;

use crate::exec::watch::{Measure, Measures};
pub use crate::parser::ast::{ExplainForm as Form, ExplainOptions as Wanted};

/// A value of a form.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A text, which JSON puts into quotes.
    Text(String),
    /// A number, or a word such as `true`.
    Plain(String),
    /// Several.
    List(Vec<Value>),
    /// Named ones.
    Group(Vec<(String, Value)>),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<String>) -> Value {
        Value::Text(text.into())
    }

    /// A number.
    pub fn number(number: impl std::fmt::Display) -> Value {
        Value::Plain(number.to_string())
    }
}

/// What a node is thought to cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// Until its first row.
    pub first: f64,
    /// In all.
    pub all: f64,
    /// How many rows it gives.
    pub rows: f64,
    /// How wide these are.
    pub width: u64,
}

/// What an execution measured of a node.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Actual {
    /// Its own measure.
    pub measure: Measure,
    /// Rows that its condition rejected.
    pub removed: u64,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub struct ShownNode {
    /// What text says of it first.
    pub title: String,
    /// Where the tree's node lay, by which measures are found: of the node whose rows are meant, and of those below it that are not shown.
    pub places: Vec<usize>,
    /// What other forms say of it first, `Node Type` before all.
    pub fields: Vec<(&'static str, Value)>,
    /// What it is to the node above.
    pub relationship: Option<&'static str>,
    /// The name of the subquery whose root it is.
    pub subplan: Option<String>,
    /// What it is thought to cost, if that is wanted.
    pub costs: Option<Costs>,
    /// Conditions, keys and the like.
    pub notes: Vec<(String, Value)>,
    /// What was measured.
    pub actual: Option<Actual>,
    /// The nodes below it.
    pub children: Vec<ShownNode>,
}

impl ShownNode {
    /// Adds what an execution measured, here and below. The tree is no deeper than the plan, whose depth is bounded.
    pub fn measure(&mut self, measures: &Measures) {
        let measured = |place: &usize| measures.of(*place).unwrap_or_default();
        let measure = self.places.first().map(measured).unwrap_or_default();
        let removed = self.places.iter().map(|place| measured(place).removed).sum();
        self.actual = Some(Actual { measure, removed });
        self.children.iter_mut().for_each(|child| child.measure(measures));
    }

    /// The word for what its condition rejects.
    pub(crate) fn condition(&self) -> Option<&'static str> {
        let has = |word: &str| self.notes.iter().any(|(name, _)| name == word);
        match () {
            () if has("Join Filter") => Some("Join Filter"),
            () if has("Filter") => Some("Filter"),
            () => None,
        }
    }
}

/// All that is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The plan.
    pub root: ShownNode,
    /// How long planning took, if that is wanted.
    pub planning_ns: Option<u64>,
    /// How long the execution took, if there was one and that is wanted.
    pub execution_ns: Option<u64>,
}
