//! What an `EXPLAIN` asks for.

/// The form in which a plan is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ExplainForm {
    Text,
    Json,
    Yaml,
    Xml,
}

/// Which parts of a plan are shown, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExplainOptions {
    /// The statement is executed.
    pub analyze: bool,
    /// Costs.
    pub costs: bool,
    /// More of each node.
    pub verbose: bool,
    /// Pages.
    pub buffers: bool,
    /// Times of nodes.
    pub timing: bool,
    /// Times of the whole.
    pub summary: bool,
    /// The form.
    pub form: ExplainForm,
}
