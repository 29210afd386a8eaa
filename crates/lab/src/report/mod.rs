//! Reports: what a file of records says to people, as Markdown and as one page of HTML.
//!
//! ```text
//!   records -> run -> finding ───┐
//!               ├──-> mechanism ─┤
//!               └──-> table ─────┴-> content -> page -> markdown
//!                                   compare ──┘   └───-> html <- chart
//! ```
//!
//! Rules
//! 1. A report is a function of records: no clock, no file, no setting, so the same lines give the same report at any time.
//! 2. No verdict without its interval, and none where the driver was the bottleneck.
//! 3. What was expected stands beside what came out, and a difference is said plainly.
//! 4. The page of HTML needs nothing from elsewhere and has no script in it.

mod chart;
mod compare;
mod content;
mod finding;
mod html;
mod markdown;
mod mechanism;
mod number;
mod page;
mod run;
mod table;

use crate::record::Line;
use page::{Block, Page, plain};

/// The newest run of a file, complete or not, as Markdown.
pub fn markdown(lines: &[Line]) -> String {
    markdown::write(&page_of(lines))
}

/// The same as one page of HTML, with charts.
pub fn html(lines: &[Line]) -> String {
    html::write(&page_of(lines))
}

/// Two runs side by side, as Markdown: the newest of each file. They were measured apart, and the text says so.
pub fn compare(a: &[Line], b: &[Line]) -> String {
    match (run::Run::newest(a), run::Run::newest(b)) {
        (Some(a), Some(b)) => markdown::write(&compare::page(&a, &b)),
        _ => markdown::write(&nothing()),
    }
}

/// What is reported of a file.
fn page_of(lines: &[Line]) -> Page {
    match run::Run::newest(lines) {
        Some(run) => content::page(&run),
        None => nothing(),
    }
}

/// What is reported where there is no run.
fn nothing() -> Page {
    Page {
        title: "Nothing to report".into(),
        blocks: vec![Block::Text(vec![plain("The file has no plan in it, so no run was begun.")])],
    }
}
