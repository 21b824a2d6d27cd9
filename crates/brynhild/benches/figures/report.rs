//! The table of figures, and what is done with many measurements of one thing.

use std::io::{self, Write};
use std::time::Duration;

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Seconds,
    Megabytes,
    Times,
}

impl Unit {
    /// A figure with its unit.
    fn show(self, figure: f64) -> String {
        match self {
            Self::Milliseconds => format!("{figure:.2} ms"),
            Self::Seconds => format!("{figure:.3} s"),
            Self::Megabytes => format!("{figure:.1} MB"),
            Self::Times => format!("{figure:.2} times"),
        }
    }
}

/// What is aimed at.
#[derive(Clone, Copy)]
pub(crate) enum Aim {
    /// Nothing in particular.
    Nothing,
    /// A figure of at most this.
    Figure(f64),
    /// At most so many times the limit.
    Ratio(f64),
}

/// One line of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) figure: f64,
    pub(crate) limit: Option<f64>,
    pub(crate) aim: Aim,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.limit.filter(|limit| *limit > 0.0).map(|limit| self.figure / limit)
    }

    fn verdict(&self) -> &'static str {
        let met = match self.aim {
            Aim::Nothing => return "",
            Aim::Figure(most) => self.figure <= most,
            Aim::Ratio(most) => self.ratio().is_some_and(|ratio| ratio <= most),
        };
        if met { "met" } else { "MISSED" }
    }
}

/// All lines, in the order in which they were measured.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Report {
    /// Adds a line.
    pub(crate) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Says something that people must not overlook.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Writes the table.
    pub(crate) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let heads = ["what", "figure", "limit", "ratio", "aim", ""];
        let mut lines = vec![heads.map(str::to_owned)];
        lines.extend(self.rows.iter().map(|row| {
            let Row { what, unit, figure, limit, aim } = row;
            let none = || "-".to_owned();
            [
                what.clone(),
                unit.show(*figure),
                limit.map_or_else(none, |limit| unit.show(limit)),
                row.ratio().map_or_else(none, |ratio| format!("{ratio:.2}")),
                match aim {
                    Aim::Nothing => none(),
                    Aim::Figure(most) => unit.show(*most),
                    Aim::Ratio(most) => Unit::Times.show(*most),
                },
                row.verdict().to_owned(),
            ]
        }));
        let width = |column: usize| {
            let cells = lines.iter().map(|line| line[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: [usize; 6] = std::array::from_fn(width);
        for line in &lines {
            let [what, rest @ ..] = line;
            write!(out, "{what:<width$}", width = widths[0])?;
            for (cell, width) in rest.iter().zip(&widths[1..]) {
                write!(out, "  {cell:>width$}")?;
            }
            writeln!(out)?;
        }
        for note in &self.notes {
            writeln!(out, "note: {note}")?;
        }
        Ok(())
    }
}

/// The middle one of many measurements.
pub(crate) fn median<T: Copy + PartialOrd>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).expect("measurements that can be compared"));
    values[values.len() / 2]
}

/// A time in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
