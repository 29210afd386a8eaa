//! How variants are told apart: colour, dash and marker.
//!
//! Colours are from palettes that people who see few colours can tell apart (Okabe and Ito), but no two variants differ in
//! colour alone. Our models have a colour and a marker for how sessions are hosted, and a dash for the kind of engine; what
//! is not ours is grey or brown; the ceiling is black. A variant keeps its look in all charts of a report.

use crate::record::{Plan, Variant};
use std::fmt::Write;

/// Red, green, blue.
pub type Colour = (u8, u8, u8);

/// Whether a line has gaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dash {
    /// It has none.
    Solid,
    /// Long strokes.
    Dashed,
    /// Short ones.
    Dotted,
}

impl Dash {
    /// Length of a stroke and of a gap, in pixels of a chart.
    pub fn lengths(self) -> Option<(i32, i32)> {
        match self {
            Dash::Solid => None,
            Dash::Dashed => Some((22, 12)),
            Dash::Dotted => Some((6, 10)),
        }
    }
}

/// What a mark looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Nabla,
    Hourglass,
    Bar,
    Column,
}

const SHAPES: [Shape; 8] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::Nabla,
    Shape::Hourglass,
    Shape::Bar,
    Shape::Column,
];

impl Shape {
    /// Its corners around a place, for a size from the middle outwards.
    pub fn corners(self, (x, y): (i32, i32), size: i32) -> Vec<(i32, i32)> {
        let (s, h) = (size, size / 2);
        let around: Vec<(i32, i32)> = match self {
            Shape::Circle => vec![
                (-s, -h + 2),
                (-h + 2, -s),
                (h - 2, -s),
                (s, -h + 2),
                (s, h - 2),
                (h - 2, s),
                (-h + 2, s),
                (-s, h - 2),
            ],
            Shape::Square => vec![(1 - s, 1 - s), (s - 1, 1 - s), (s - 1, s - 1), (1 - s, s - 1)],
            Shape::Triangle => vec![(0, -s - 1), (s + 1, s - 1), (-s - 1, s - 1)],
            Shape::Nabla => vec![(0, s + 1), (s + 1, 1 - s), (-s - 1, 1 - s)],
            Shape::Diamond => vec![(0, -s - 3), (s + 3, 0), (0, s + 3), (-s - 3, 0)],
            Shape::Hourglass => vec![(-s, -s), (s, -s), (-s, s), (s, s)],
            Shape::Bar => vec![(-s - 3, -h), (s + 3, -h), (s + 3, h), (-s - 3, h)],
            Shape::Column => vec![(-h, -s - 3), (h, -s - 3), (h, s + 3), (-h, s + 3)],
        };
        around.into_iter().map(|(right, down)| (x + right, y + down)).collect()
    }
}

/// How a variant looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Of line and marker.
    pub colour: Colour,
    /// Of the line.
    pub dash: Dash,
    /// Of the marker.
    pub shape: Shape,
}

const BLUE: Colour = (0, 114, 178);
const VERMILION: Colour = (213, 94, 0);
const GREEN: Colour = (0, 158, 115);
const BLACK: Colour = (20, 20, 20);
/// For further variants of ours.
const FURTHER: [Colour; 5] = [(170, 68, 153), (86, 180, 233), (230, 159, 0), (51, 34, 136), (136, 34, 85)];
/// For what is not ours.
const FOREIGN: [Colour; 5] = [(70, 70, 70), (140, 140, 140), (120, 72, 30), (185, 140, 95), (92, 103, 125)];

/// The looks of a plan's variants, no two the same as long as there are some left (some hundred).
pub fn of(plan: &Plan) -> Vec<Style> {
    let mut styles: Vec<Style> = Vec::new();
    let mut foreign = 0;
    let served = plan.variants.iter().any(|variant| variant.product == "gearbox serve");
    for variant in &plan.variants {
        let wanted = if plan.ceiling.as_ref() == Some(&variant.name) {
            Style { colour: BLACK, dash: Dash::Dashed, shape: Shape::Nabla }
        } else if let Some(style) = model(variant, served) {
            style
        } else {
            foreign += 1;
            let shape = [Shape::Diamond, Shape::Hourglass, Shape::Bar, Shape::Column, Shape::Nabla][(foreign - 1) % 5];
            Style { colour: FOREIGN[(foreign - 1) % FOREIGN.len()], dash: Dash::Solid, shape }
        };
        styles.push(unused(&styles, wanted));
    }
    styles
}

/// A variant of ours by its model, as its settings or else its name say it. Beside servers, limits are dotted.
fn model(variant: &Variant, served: bool) -> Option<Style> {
    if !variant.product.starts_with("gearbox") {
        return None;
    }
    let says = |word: &str| {
        variant.settings.values().any(|value| value == word)
            || variant.name.split(|sign: char| !sign.is_alphanumeric()).any(|part| part == word)
    };
    let dash = match () {
        () if served && variant.product == "gearbox limit" => Dash::Dotted,
        () if says("process") => Dash::Dashed,
        () => Dash::Solid,
    };
    let (colour, shape) = match () {
        () if says("dedicated") => (BLUE, Shape::Circle),
        () if says("shared") => (VERMILION, Shape::Square),
        () if says("fiber") => (GREEN, Shape::Triangle),
        () => (FURTHER[0], Shape::Diamond),
    };
    Some(Style { colour, dash, shape })
}

/// The wanted look, or the first other one that nobody has: another colour first, then another marker too.
fn unused(taken: &[Style], wanted: Style) -> Style {
    let others = SHAPES.iter().flat_map(|shape| {
        let shape = SHAPES[(SHAPES.iter().position(|one| *one == wanted.shape).unwrap_or(0)
            + SHAPES.iter().position(|one| one == shape).unwrap_or(0))
            % SHAPES.len()];
        FURTHER.iter().map(move |colour| Style { colour: *colour, dash: wanted.dash, shape })
    });
    std::iter::once(wanted).chain(others).find(|style| !taken.contains(style)).unwrap_or(wanted)
}

/// A colour as HTML writes it.
pub fn hex((red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// The picture of a look for a legend: a piece of line with its marker.
pub fn swatch(style: &Style) -> String {
    let colour = hex(style.colour);
    let dash = style.dash.lengths().map_or(String::new(), |(on, off)| format!(" stroke-dasharray=\"{on} {off}\""));
    let mut points = String::new();
    for (x, y) in style.shape.corners((50, 16), 10) {
        let _ = write!(points, "{x},{y} ");
    }
    format!(
        "<svg class=\"swatch\" viewBox=\"0 0 100 32\" aria-hidden=\"true\"><line x1=\"2\" y1=\"16\" x2=\"98\" y2=\"16\" \
         stroke=\"{colour}\" stroke-width=\"5\"{dash}/><polygon points=\"{}\" fill=\"{colour}\"/></svg>",
        points.trim_end(),
    )
}
