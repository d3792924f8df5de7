//! The suite's table and its summary.

use std::fmt;

use super::measure::Measured;
use super::predict::Prediction;

/// One (line, speedup) pair.
#[derive(Debug, Clone)]
pub struct Row {
    /// Program and line.
    pub line: String,
    /// Virtual speedup.
    pub speedup: f64,
    /// What shortening the line really gained.
    pub truth: Measured,
    /// What was predicted.
    pub prediction: Prediction,
    /// Whether the program has more runnable threads than cores.
    pub crowded: bool,
}

impl Row {
    /// Prediction minus truth.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.prediction.gain - self.truth.gain
    }

    /// Whether the intervals of prediction and truth meet.
    #[must_use]
    pub fn covered(&self) -> bool {
        let (truth, noise) = (self.truth.gain, self.truth.noise);
        self.prediction.low <= truth + noise && truth - noise <= self.prediction.high
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_cent = |part: f64| part * 100.0;
        write!(
            f,
            "{:<28} {:>3.0} % | truth {:>6.1} ± {:<4.1} | predicted {:>6.1} [{:>6.1}, {:>6.1}] | error {:>+5.1}{}",
            self.line,
            per_cent(self.speedup),
            per_cent(self.truth.gain),
            per_cent(self.truth.noise),
            per_cent(self.prediction.gain),
            per_cent(self.prediction.low),
            per_cent(self.prediction.high),
            per_cent(self.error()),
            if self.covered() { "" } else { " *" },
        )
    }
}

/// Errors over a set of rows, in points.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    /// Number of pairs.
    pub pairs: usize,
    /// Mean absolute error.
    pub mean: f64,
    /// Largest absolute error.
    pub worst: f64,
    /// Share of pairs whose intervals meet.
    pub coverage: f64,
}

impl Summary {
    /// Of the rows that are `crowded` or not; nothing if there are none.
    #[must_use]
    pub fn of(rows: &[Row], crowded: bool) -> Option<Summary> {
        let rows: Vec<_> = rows.iter().filter(|row| row.crowded == crowded).collect();
        if rows.is_empty() {
            return None;
        }
        let count = rows.len() as f64;
        let errors = rows.iter().map(|row| row.error().abs() * 100.0);
        Some(Summary {
            pairs: rows.len(),
            mean: errors.clone().sum::<f64>() / count,
            worst: errors.fold(0.0, f64::max),
            coverage: rows.iter().filter(|row| row.covered()).count() as f64 / count,
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs: mean absolute error {:.1} points, worst {:.1}, intervals meet in {:.0} %",
            self.pairs,
            self.mean,
            self.worst,
            self.coverage * 100.0
        )
    }
}
