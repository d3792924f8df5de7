//! The table of predictions and real gains, for the terminal and for the documentation.

use std::fmt;
use std::fmt::Write as _;

use coz_rs::demo_catalogue::Change;
use coz_rs::demo_measurement::{Gained, Prediction};

/// Gains that differ by no more than this agree, whatever their intervals: on two shared cores a
/// pair of runs of the same program differs by as much.
const CLOSE: f64 = 0.05;

/// One change of one story.
#[derive(Debug, Clone)]
pub struct Row {
    /// Story and language.
    pub story: String,
    /// The change.
    pub change: Change,
    /// What was predicted, if the line was sampled at all.
    pub prediction: Option<Prediction>,
    /// What it really gained.
    pub real: Gained,
}

impl Row {
    /// Prediction minus real gain.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        Some(self.prediction?.gain - self.real.gain)
    }

    /// Whether prediction and real gain agree: within 5 points, or intervals that meet.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let (Some(told), Some(error)) = (self.prediction, self.error()) else {
            return false;
        };
        let spread = self.real.spread.unwrap_or(0.0);
        error.abs() <= CLOSE
            || (told.low <= self.real.gain + spread && self.real.gain - spread <= told.high)
    }

    fn cells(&self) -> [String; 8] {
        let per_cent = |part: f64| format!("{:.1}", 100.0 * part);
        let told = |part: fn(&Prediction) -> f64| {
            let known = self.prediction.as_ref().map(part);
            known.map_or("?".to_owned(), per_cent)
        };
        let interval = self.prediction.map_or("?".to_owned(), |told| {
            format!("{} to {}", per_cent(told.low), per_cent(told.high))
        });
        let spread = self
            .real
            .spread
            .map_or(String::new(), |spread| format!(" ± {}", per_cent(spread)));
        [
            self.story.clone(),
            self.change.name.to_owned(),
            told(|told| told.samples),
            per_cent(self.real.line),
            told(|told| told.gain),
            interval,
            per_cent(self.real.gain) + &spread,
            self.error().map_or("?".to_owned(), |error| {
                format!(
                    "{:+.1}{}",
                    100.0 * error,
                    if self.agrees() { "" } else { " *" }
                )
            }),
        ]
    }
}

const HEADS: [&str; 8] = [
    "story",
    "change",
    "line's samples, %",
    "line faster by, %",
    "predicted gain, %",
    "95 % interval",
    "real gain, %",
    "difference",
];

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} |", self.cells().join(" | "))
    }
}

/// The whole table in Markdown, and how good the predictions were.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let mut text = format!("| {} |\n|---|---|{}\n", HEADS.join(" | "), "--:|".repeat(6));
    for row in rows {
        let _ = writeln!(text, "{row}");
    }
    let errors: Vec<f64> = rows.iter().filter_map(Row::error).map(f64::abs).collect();
    if !errors.is_empty() {
        let _ = writeln!(
            text,
            "\nMean absolute difference {:.1} points, largest {:.1}; {} of {} agree, that is, are \
             within 5 points or have intervals that meet (`*`: not).",
            100.0 * errors.iter().sum::<f64>() / errors.len() as f64,
            100.0 * errors.iter().copied().fold(0.0, f64::max),
            rows.iter().filter(|row| row.agrees()).count(),
            rows.len()
        );
    }
    text
}

const BEGIN: &str = "<!-- table: written by the command above -->\n";
const END: &str = "<!-- end of the table -->";

/// The page with its table replaced; nothing if it has no place for one.
#[must_use]
pub fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n\n{END}{after}", table.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coz_rs::demo_catalogue::STORIES;

    fn row(gain: f64, low: f64, high: f64, real: f64, spread: f64) -> Row {
        Row {
            story: "a".to_owned(),
            change: STORIES[0].changes[0],
            prediction: Some(Prediction {
                gain,
                low,
                high,
                samples: 0.5,
            }),
            real: Gained {
                line: 0.5,
                gain: real,
                spread: Some(spread),
            },
        }
    }

    #[test]
    fn agreement_is_closeness_or_intervals_that_meet() {
        assert!(row(0.20, 0.19, 0.21, 0.24, 0.0).agrees());
        assert!(!row(0.20, 0.19, 0.21, 0.26, 0.0).agrees());
        assert!(row(0.20, 0.19, 0.21, 0.26, 0.06).agrees());
        assert!(row(0.20, 0.10, 0.30, 0.29, 0.0).agrees());
        let unknown = Row {
            prediction: None,
            ..row(0.2, 0.1, 0.3, 0.2, 0.0)
        };
        assert!(!unknown.agrees());
        assert!(unknown.to_string().contains('?'));
    }

    #[test]
    fn only_the_table_of_the_page_is_replaced() {
        let page = format!("above\n{BEGIN}old\n{END}\nbelow\n");
        let new = replaced(&page, "new\n").expect("a page with a place for it");
        assert_eq!(new, format!("above\n{BEGIN}\nnew\n\n{END}\nbelow\n"));
        assert_eq!(replaced(&new, "new"), Some(new.clone()));
        assert_eq!(replaced("nothing", "new"), None);
    }
}
