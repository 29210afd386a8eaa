//! One run out of a file of records, arranged so that a report can ask for "this figure of that variant there".
//!
//! - A *place* is a layout and a point: where variants are compared with each other.
//! - A *series* is one figure of one variant at one place, by round.
//!
//! Rules
//! 1. The run is the one whose plan is the last in the file, whether it is complete or not.
//! 2. A cell that was measured again (a failure, then a success after resuming) counts once: what was measured counts more
//!    than a failure, later more than earlier.
//! 3. Where the driver was the bottleneck a cell says nothing about speed. Such rounds are left out of comparisons of speed;
//!    where they are half of the rounds of either side or more, nothing is concluded, since what is left was picked by how it
//!    came out. What the server used for a transaction is judged all the same.

use crate::record::{Cell, Figure, Line, Measured, Plan};
use crate::statistics::{Ratio, Spread, Verdict};
use std::collections::BTreeMap;

/// Where variants are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The layout's index in the plan.
    pub layout: usize,
    /// The point's index in the plan.
    pub point: usize,
}

/// A run, arranged.
pub struct Run<'a> {
    /// What was planned.
    pub plan: &'a Plan,
    cells: BTreeMap<(Place, usize), BTreeMap<u32, &'a Cell>>,
}

/// What comes of comparing two variants at a place.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged {
    /// How many times the first the second is; none where no round has both.
    pub ratio: Option<Ratio>,
    /// What may be concluded.
    pub verdict: Verdict,
}

impl<'a> Run<'a> {
    /// The newest run of a file; none where there is no plan.
    pub fn newest(lines: &'a [Line]) -> Option<Run<'a>> {
        let plan = lines.iter().rev().find_map(|line| match line {
            Line::Plan(plan) => Some(plan.as_ref()),
            Line::Cell(_) => None,
        })?;
        let mut cells: BTreeMap<(Place, usize), BTreeMap<u32, &Cell>> = BTreeMap::new();
        for line in lines {
            let Line::Cell(cell) = line else { continue };
            let layout = plan.layouts.iter().position(|layout| *layout == cell.layout);
            let point = plan.points.iter().position(|point| point.x == cell.x);
            let variant = plan.variants.iter().position(|variant| variant.name == cell.variant);
            let (Some(layout), Some(point), Some(variant)) = (layout, point, variant) else { continue };
            if cell.run != plan.run {
                continue;
            }
            let rounds = cells.entry((Place { layout, point }, variant)).or_default();
            let known = rounds.get(&cell.round).is_some_and(|known| known.measured.is_some());
            if cell.measured.is_some() || !known {
                rounds.insert(cell.round, cell);
            }
        }
        Some(Run { plan, cells })
    }

    /// All places, layout by layout.
    pub fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let points = self.plan.points.len();
        (0..self.plan.layouts.len()).flat_map(move |layout| (0..points).map(move |point| Place { layout, point }))
    }

    /// How many cells were planned.
    pub fn planned(&self) -> usize {
        self.places().count() * self.plan.variants.len() * self.plan.rounds as usize
    }

    /// How many of them have neither a measurement nor a failure.
    pub fn missing(&self) -> usize {
        let there: usize =
            self.cells.values().map(|rounds| rounds.keys().filter(|round| **round <= self.plan.rounds).count()).sum();
        self.planned().saturating_sub(there)
    }

    /// The cells without a measurement, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&'a Cell, &'a str)> + '_ {
        let cells = self.cells.values().flat_map(BTreeMap::values).copied();
        cells
            .filter(|cell| cell.measured.is_none())
            .map(|cell| (cell, cell.failure.as_deref().unwrap_or("no reason given")))
    }

    /// What was measured of a variant at a place, by round.
    pub fn measured(&self, place: Place, variant: usize) -> impl Iterator<Item = (u32, &'a Measured)> + '_ {
        let rounds = self.cells.get(&(place, variant)).into_iter().flatten();
        rounds.filter_map(|(round, cell)| Some((*round, cell.measured.as_ref()?)))
    }

    /// How many threads the driver had at a place; 0 where no cell says it.
    pub fn threads(&self, place: Place) -> u32 {
        let cells = self.cells.iter().filter(|((of, _), _)| *of == place).flat_map(|(_, rounds)| rounds.values());
        cells.map(|cell| cell.threads).max().unwrap_or(0)
    }

    /// A figure of a variant at a place, by round.
    pub fn figures(&self, place: Place, variant: usize, figure: Figure) -> BTreeMap<u32, f64> {
        self.measured(place, variant).filter_map(|(round, cell)| Some((round, figure.of(cell)?))).collect()
    }

    /// How far a figure lies apart over the rounds; none where there is none.
    pub fn spread(&self, place: Place, variant: usize, figure: Figure) -> Option<Spread> {
        let figures: Vec<f64> = self.figures(place, variant, figure).into_values().collect();
        Spread::of(&figures)
    }

    /// In how many rounds the driver was the bottleneck, and how many were measured.
    pub fn bound(&self, place: Place, variant: usize) -> (usize, usize) {
        let cells = || self.measured(place, variant);
        (cells().filter(|(_, cell)| cell.client_bound).count(), cells().count())
    }

    /// Whether nothing may be said about the speed of a variant at a place (rule 3).
    pub fn is_bound(&self, place: Place, variant: usize) -> bool {
        let (bound, measured) = self.bound(place, variant);
        bound > 0 && bound * 2 >= measured
    }

    /// Compares `b` with `a` at a place.
    pub fn judge(&self, place: Place, a: usize, b: usize, figure: Figure) -> Judged {
        self.judge_places((place, a), (place, b), figure)
    }

    /// Compares one variant at a place with another, or with itself, at another place.
    pub fn judge_places(&self, a: (Place, usize), b: (Place, usize), figure: Figure) -> Judged {
        if figure.is_speed() && (self.is_bound(a.0, a.1) || self.is_bound(b.0, b.1)) {
            return Judged { ratio: None, verdict: Verdict::Unknown("the driver was the bottleneck".into()) };
        }
        let side = |(place, variant)| {
            let cells = self.measured(place, variant).filter(|(_, cell)| !(figure.is_speed() && cell.client_bound));
            cells.filter_map(|(round, cell)| Some((round, figure.of(cell)?))).collect::<BTreeMap<u32, f64>>()
        };
        let (left, right) = (side(a), side(b));
        match Ratio::of(&left, &right) {
            Some(ratio) => Judged { verdict: ratio.verdict(), ratio: Some(ratio) },
            None => Judged { ratio: None, verdict: Verdict::Unknown("not measured".into()) },
        }
    }

    /// The index of the variant that the others are compared with.
    pub fn baseline(&self) -> Option<usize> {
        self.variant(&self.plan.baseline)
    }

    /// The index of the variant that is the ceiling.
    pub fn ceiling(&self) -> Option<usize> {
        self.variant(self.plan.ceiling.as_deref()?)
    }

    /// The index of a variant by name.
    pub fn variant(&self, name: &str) -> Option<usize> {
        self.plan.variants.iter().position(|variant| variant.name == name)
    }
}
