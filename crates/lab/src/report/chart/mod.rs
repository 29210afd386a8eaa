//! A chart: what is drawn, apart from how.
//!
//! A chart has points on its horizontal axis and a series for each variant, with a mark or nothing at each point. With one
//! point it is drawn as bars ([`draw`]). The same marks are given as a table, for those who cannot see it and for Markdown.

mod axis;
mod canvas;
mod draw;
pub mod style;

use super::number;
use super::page::Table;
use style::Style;

/// How a chart is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A bar for each series: there is one point.
    Bars,
    /// A line for each series.
    Lines,
    /// A line for each series over seconds, without a table.
    Seconds,
}

/// What is drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// How.
    pub kind: Kind,
    /// Its heading.
    pub title: String,
    /// The label of the horizontal axis, with its unit.
    pub across: String,
    /// The label of the vertical axis, with its unit.
    pub up: String,
    /// The points on the horizontal axis, rising, with what they are called.
    pub points: Vec<(f64, String)>,
    /// What is drawn over them.
    pub series: Vec<Series>,
}

/// What is drawn for one variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// The variant's name.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// A mark for each point, or nothing.
    pub marks: Vec<Option<Mark>>,
}

/// One figure with its spread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mark {
    /// Where it is drawn.
    pub median: f64,
    /// The lower end of its whisker.
    pub min: f64,
    /// The upper end of its whisker.
    pub max: f64,
    /// Whether the driver was the bottleneck: drawn hollow.
    pub hollow: bool,
}

impl Chart {
    /// All marks.
    pub fn marks(&self) -> impl Iterator<Item = Mark> + '_ {
        self.series.iter().flat_map(|series| series.marks.iter().flatten().copied())
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.marks().next().is_none()
    }

    /// The marks as a table.
    pub fn table(&self) -> Table {
        let mut head =
            vec![if self.kind == Kind::Bars { "variant".into() } else { format!("variant, by {}", self.across) }];
        head.extend(self.points.iter().map(|(_, label)| label.clone()));
        let cell = |mark: &Option<Mark>| match mark {
            None => "—".to_string(),
            Some(mark) => number::figure(mark.median) + if mark.hollow { " (driver-bound)" } else { "" },
        };
        let row = |series: &Series| {
            let mut row = vec![series.name.clone()];
            row.extend(series.marks.iter().map(cell));
            row
        };
        let rows = self.series.iter().map(row).collect();
        Table { caption: format!("{}: {}, medians", self.title, self.up), head, rows, figures: true }
    }
}
