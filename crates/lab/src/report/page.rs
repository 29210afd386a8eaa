//! A report before it has a format: blocks of text, tables and charts, which are then written as Markdown or as HTML.

use super::chart::Chart;

/// A piece of running text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// What it says.
    pub text: String,
    /// Whether it stands out.
    pub strong: bool,
}

/// Running text.
pub type Prose = Vec<Span>;

/// Text that does not stand out.
pub fn plain(text: impl Into<String>) -> Span {
    Span { text: text.into(), strong: false }
}

/// Text that does.
pub fn strong(text: impl Into<String>) -> Span {
    Span { text: text.into(), strong: true }
}

/// A table; the first column says what a row is.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// A heading for each column.
    pub head: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Whether all columns but the first are figures.
    pub figures: bool,
}

/// Charts that share a legend.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    /// What they are about.
    pub title: String,
    /// What a reader has to know to read them.
    pub note: String,
    /// One for each layout.
    pub charts: Vec<Chart>,
}

/// A piece of a report.
#[derive(Clone, PartialEq, Debug)]
pub enum Block {
    /// A heading of level 2 to 4.
    Heading(u8, String),
    /// A paragraph.
    Text(Prose),
    /// A paragraph that must not be missed.
    Warning(Prose),
    /// A list of items.
    List(Vec<Prose>),
    /// A table.
    Table(Table),
    /// Charts.
    Charts(Group),
    /// What only some want to read, under its title.
    Fold(String, Vec<Block>),
}

/// A report.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What follows.
    pub blocks: Vec<Block>,
}
