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
    /// Whether others used the processors so much that the pair says nothing.
    pub void: bool,
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

    /// The row of a Markdown table.
    #[must_use]
    pub fn markdown(&self) -> String {
        format!(
            "| {} | {:.0} % | {:.1} ± {:.1} | {:.1} ({:.1} to {:.1}) | {:+.1}{} |",
            self.line,
            100.0 * self.speedup,
            100.0 * self.truth.gain,
            100.0 * self.truth.noise,
            100.0 * self.prediction.gain,
            100.0 * self.prediction.low,
            100.0 * self.prediction.high,
            100.0 * self.error(),
            if self.covered() { "" } else { " \\*" },
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_cent = |part: f64| part * 100.0;
        write!(
            f,
            "{:<32} {:>3.0} % | truth {:>6.1} ± {:<4.1} | predicted {:>6.1} [{:>6.1}, {:>6.1}] | error {:>+5.1}{}",
            self.line,
            per_cent(self.speedup),
            per_cent(self.truth.gain),
            per_cent(self.truth.noise),
            per_cent(self.prediction.gain),
            per_cent(self.prediction.low),
            per_cent(self.prediction.high),
            per_cent(self.error()),
            match (self.void, self.covered()) {
                (true, _) => " void",
                (false, true) => "",
                (false, false) => " *",
            },
        )
    }
}

/// Head of the Markdown table.
pub const MARKDOWN_HEAD: &str = "| program and line | line faster by | truth | predicted | error |\n\
                                 |---|---:|---:|---:|---:|";

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
    /// Mean half width of the truths' own intervals.
    pub noise: f64,
}

impl Summary {
    /// Of the rows that are `crowded` or not and not void; nothing if there are none.
    #[must_use]
    pub fn of(rows: &[Row], crowded: bool) -> Option<Summary> {
        let rows: Vec<_> = rows
            .iter()
            .filter(|row| row.crowded == crowded && !row.void)
            .collect();
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
            noise: rows.iter().map(|row| row.truth.noise * 100.0).sum::<f64>() / count,
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} pairs: mean absolute error {:.1} points, worst {:.1}, intervals meet in {:.0} % \
             (the truths' own noise: ±{:.1} on average)",
            self.pairs,
            self.mean,
            self.worst,
            self.coverage * 100.0,
            self.noise,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(truth: f64, noise: f64, predicted: f64, half: f64, crowded: bool) -> Row {
        Row {
            line: "p.c a".to_owned(),
            speedup: 0.4,
            truth: Measured {
                gain: truth,
                noise,
                pairs: 3,
            },
            prediction: Prediction {
                gain: predicted,
                low: predicted - half,
                high: predicted + half,
            },
            crowded,
            void: false,
        }
    }

    #[test]
    fn the_summary_is_of_its_own_class() {
        let rows = [
            row(0.10, 0.01, 0.12, 0.005, false),
            row(0.10, 0.03, 0.06, 0.02, false),
            row(0.10, 0.0, 0.30, 0.0, true),
            Row {
                void: true,
                ..row(0.10, 0.0, 0.90, 0.0, false)
            },
        ];
        let Some(usual) = Summary::of(&rows, false) else {
            panic!("rows of that class")
        };
        assert_eq!((usual.pairs, usual.coverage), (2, 0.5));
        assert!((usual.mean - 3.0).abs() < 1e-9 && (usual.worst - 4.0).abs() < 1e-9);
        assert!(Summary::of(&rows[..2], true).is_none());
        assert!(rows[0].to_string().ends_with('*') && !rows[1].to_string().ends_with('*'));
        assert_eq!(
            rows[0].markdown(),
            "| p.c a | 40 % | 10.0 ± 1.0 | 12.0 (11.5 to 12.5) | +2.0 \\* |"
        );
    }
}
