//! The surface that charts are drawn on: pixels of an SVG, drawn by `plotters`.
//!
//! A chart is drawn on a canvas of some 1440 pixels' width and shown at less than half of that, so that places are exact to
//! half a pixel on the screen. There are no fonts here to measure text with. Widths are estimated for a wide one (DejaVu Sans,
//! Verdana), so other fonts leave some room; a test asks a browser whether anything touches.

use super::style::{Colour, Style};
use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The width of every chart.
pub const WIDTH: i32 = 1440;
/// The size of letters: 15 pixels on a screen with two charts in a row, 10 on a phone.
pub const SMALL: i32 = 40;

/// The colours of what is not data.
pub const INK: Colour = (40, 40, 40);
/// Lines across the chart.
pub const GRID: Colour = (222, 222, 222);
/// The axes.
pub const AXIS: Colour = (120, 120, 120);

/// Where a text is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// A surface to draw on.
pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Drawing goes into a string, which takes everything.
const NO_FAILURE: &str = "a string takes what is drawn";

fn rgb((red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

impl<'a> Canvas<'a> {
    /// A canvas of this height whose SVG goes into a string when [`Canvas::done`] is called.
    pub fn new(out: &'a mut String, height: i32) -> Canvas<'a> {
        Canvas { area: SVGBackend::with_string(out, (WIDTH as u32, height as u32)).into_drawing_area() }
    }

    /// Ends the drawing.
    pub fn done(self) {
        self.area.present().expect(NO_FAILURE);
    }

    /// A line through places; nothing for fewer than two.
    pub fn line(&self, places: &[(i32, i32)], colour: Colour, thick: u32) {
        if places.len() > 1 {
            let line = PathElement::new(places.to_vec(), rgb(colour).stroke_width(thick));
            self.area.draw(&line).expect(NO_FAILURE);
        }
    }

    /// The same in a variant's dash.
    pub fn line_of(&self, places: &[(i32, i32)], style: &Style, thick: u32) {
        match style.dash.lengths() {
            None => self.line(places, style.colour, thick),
            Some((on, off)) if places.len() > 1 => {
                let stroke = rgb(style.colour).stroke_width(thick);
                let line = DashedPathElement::new(places.iter().copied(), on, off, stroke);
                self.area.draw(&line).expect(NO_FAILURE);
            }
            Some(_) => {}
        }
    }

    /// A marker, or its outline on white.
    pub fn marker(&self, place: (i32, i32), style: &Style, size: i32, hollow: bool) {
        let mut corners = style.shape.corners(place, size);
        let fill = if hollow { (255, 255, 255) } else { style.colour };
        self.area.draw(&Polygon::new(corners.clone(), rgb(fill).filled())).expect(NO_FAILURE);
        if hollow {
            corners.push(corners[0]);
            self.line(&corners, style.colour, 3);
        }
    }

    /// A bar, or its outline on white.
    pub fn bar(&self, corner: (i32, i32), opposite: (i32, i32), colour: Colour, hollow: bool) {
        let fill = if hollow { (255, 255, 255) } else { colour };
        self.area.draw(&Rectangle::new([corner, opposite], rgb(fill).filled())).expect(NO_FAILURE);
        let ((left, top), (right, bottom)) = (corner, opposite);
        let around = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.line(&around, colour, 3);
    }

    /// A text around the height `y`.
    pub fn text(&self, text: &str, (x, y): (i32, i32), hold: Hold) {
        let hold = match hold {
            Hold::Start => HPos::Left,
            Hold::Middle => HPos::Center,
            Hold::End => HPos::Right,
        };
        // The library writes letters smaller than it is told by this factor.
        let font = ("sans-serif", f64::from(SMALL) * 1.24).into_font();
        let ink = rgb(INK);
        let style = TextStyle::from(font).color(&ink).pos(Pos::new(hold, VPos::Center));
        self.area.draw(&Text::new(text.to_string(), (x, y), style)).expect(NO_FAILURE);
    }
}

/// How wide a text is at most, in pixels.
pub fn width(text: &str, size: i32) -> i32 {
    let parts = |sign: char| match sign {
        'i' | 'j' | 'l' | '\'' | '|' => 30,
        ' ' | '.' | ',' | ':' | ';' | 'f' | 't' | 'r' | '(' | ')' | '/' | '-' | '[' | ']' => 42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '—' => 102,
        'A'..='Z' | '<' | '>' | '+' | '=' | '&' => 84,
        _ if sign.is_ascii() || sign == 'µ' => 65,
        _ => 102,
    };
    text.chars().map(parts).sum::<i32>() * size / 100
}

/// A text that is at most so wide: where it has to be, its middle is left out, since names differ at either end.
pub fn shortened(text: &str, size: i32, room: i32) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let signs: Vec<char> = text.chars().collect();
    for kept in (0..signs.len()).rev() {
        let (before, behind) = signs.split_at(kept.div_ceil(2));
        let behind = &behind[behind.len() - kept / 2..];
        let (before, behind): (String, String) = (before.iter().collect(), behind.iter().collect());
        let cut = format!("{}…{}", before.trim_end(), behind.trim_start());
        if width(&cut, size) <= room {
            return cut;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends() {
        assert_eq!(shortened("short", 32, 500), "short");
        let cut = shortened("MariaDB one-thread-per-connection", 32, 400);
        assert!(cut.starts_with("MariaDB") && cut.contains('…') && cut.ends_with("ection"), "{cut}");
        assert!(width(&cut, 32) <= 400);
        assert_eq!(shortened("µµµ", 32, 1), "");
    }
}
