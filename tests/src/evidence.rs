//! Two comparisons beside the truth suite: dedup's walk at the line speedup that samples tell, and
//! one pipeline under two kinds of locks.

use std::fmt;

use anyhow::{Context, Result};
use coz_rs::demo_catalogue::Change;
use coz_rs::demo_measurement::{Gained, Prediction, measure, predicted};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;

use crate::stories::{Form, profile};
use crate::truth::catalogue::PROGRAMS;
use crate::truth::predict::{self, at, predict};
use crate::{build, stories};

/// Predictions that are so near agree, whatever their intervals.
const CLOSE: f64 = 0.03;
/// Speedups at which two profiles are compared.
const SPEEDUPS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];

/// Samples that hit the selected line, a visit of the point, in baseline windows; nothing if there
/// was no visit.
#[must_use]
pub fn hits_a_visit(records: &[Record], point: &str) -> Option<f64> {
    let (mut hits, mut visits) = (0, 0);
    let mut baseline = false;
    for record in records {
        match record {
            Record::Experiment(window) => {
                baseline = window.speedup <= 0.0;
                hits += if baseline { window.selected_samples } else { 0 };
            }
            Record::ThroughputPoint { name, delta } if baseline && name == point => {
                visits += *delta;
            }
            _ => {}
        }
    }
    (visits > 0).then(|| hits as f64 / visits as f64)
}

/// A change of a story: how much faster its line became by samples, and what that was said to gain.
#[derive(Debug, Clone)]
pub struct Walk {
    /// Story and language.
    pub form: String,
    /// By how much less processor time a visit the line takes with the change, 0..=1.
    pub line: f64,
    /// What the unchanged program's profile says of that.
    pub prediction: Prediction,
    /// What the change gained.
    pub real: Gained,
}

impl Walk {
    /// Profiles a form of a story with and without its first change, and measures the change.
    ///
    /// # Errors
    /// If it cannot be profiled, or the profile has no curve there.
    pub fn of(form: &Form, seconds: f64, real: f64, pairs: usize) -> Result<Walk> {
        let change: Change = *form.changes.first().context("a change")?;
        let mut changed = form.clone();
        changed
            .arguments
            .extend(change.arguments.iter().map(|&word| word.to_owned()));
        let plain = profile(form, seconds, &["--seed", "1"])?;
        let after = profile(&changed, seconds / 2.0, &["--seed", "1"])?;
        let cost = |profile: &Profile| hits_a_visit(&profile.records, change.point);
        let costs = cost(&plain).zip(cost(&after));
        let (before, after) = costs.context("baseline windows with visits")?;
        let line = (1.0 - after / before).clamp(0.0, 1.0);
        let arguments: Vec<&str> = form.arguments.iter().map(String::as_str).collect();
        Ok(Walk {
            form: form.name.clone(),
            line,
            prediction: predicted(&plain, &form.sources, &change, line)
                .context("no prediction at that speedup of the line")?,
            real: measure(&form.program, &arguments, &change, real, pairs)?,
        })
    }

    /// Within 3 points, or intervals that meet.
    #[must_use]
    pub fn agrees(&self) -> bool {
        let spread = self.real.spread.unwrap_or(0.0);
        let (low, high) = (self.real.gain - spread, self.real.gain + spread);
        (self.prediction.gain - self.real.gain).abs() <= CLOSE
            || (self.prediction.low <= high && low <= self.prediction.high)
    }
}

impl fmt::Display for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |part: f64| 100.0 * part;
        write!(
            f,
            "{}: the line takes {:.1} % less time a visit by samples ({:.1} % by the program's clock); \
             predicted {:.1} % [{:.1}, {:.1}], gained {:.1} ± {:.1}: {}",
            self.form,
            percent(self.line),
            percent(self.real.line),
            percent(self.prediction.gain),
            percent(self.prediction.low),
            percent(self.prediction.high),
            percent(self.real.gain),
            percent(self.real.spread.unwrap_or(0.0)),
            if self.agrees() { "agree" } else { "differ" }
        )
    }
}

/// dedup's walk, in Rust and in C.
///
/// # Errors
/// As [`Walk::of`].
pub fn walks(seconds: f64) -> Result<Vec<Walk>> {
    let forms = stories::catalogue::forms(&["dedup".to_owned()])?;
    build::profiler()?;
    let walk = |form: &Form| Walk::of(form, seconds, 2.0, 4);
    forms.iter().map(walk).collect()
}

/// Two predictions for the same stage of the same pipeline.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// The stage's label.
    pub label: &'static str,
    /// Speedup of the line.
    pub speedup: f64,
    /// With pthread's mutex and condition variables, in C.
    pub pthread: predict::Prediction,
    /// With the standard library's of Rust.
    pub std: predict::Prediction,
}

impl Pair {
    /// Whether the intervals meet.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.pthread.low <= self.std.high && self.std.low <= self.pthread.high
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |told: &predict::Prediction| {
            format!(
                "{:6.1} [{:6.1}, {:6.1}]",
                100.0 * told.gain,
                100.0 * told.low,
                100.0 * told.high
            )
        };
        write!(
            f,
            "stage {} {:3.0} % | pthread {} | std {} | {}",
            self.label,
            100.0 * self.speedup,
            told(&self.pthread),
            told(&self.std),
            if self.agrees() { "meet" } else { "apart" }
        )
    }
}

/// One pipeline under pthread's locks and under the standard library's.
///
/// # Errors
/// If one of them cannot be profiled.
pub fn locks(seconds_a_line: f64) -> Result<Vec<Pair>> {
    let profiled = |source: &str| {
        let program = PROGRAMS.iter().find(|program| program.source == source);
        let program = program.context("a program of the truth suite")?;
        let built = build::program(program.source, program.compiler)?;
        let seconds = seconds_a_line * program.lines.len() as f64;
        predict(program, &built, seconds, &["--seed", "1"])
    };
    let (pthread, std) = (profiled("pipeline.c")?, profiled("pipeline_std.rs")?);
    let mut pairs = Vec::new();
    for ((label, pthread), std) in ["a", "b"].into_iter().zip(&pthread.lines).zip(&std.lines) {
        for speedup in SPEEDUPS {
            let both = at(pthread, speedup).zip(at(std, speedup));
            let (pthread, std) = both.with_context(|| format!("no curve of stage {label}"))?;
            pairs.push(Pair {
                label,
                speedup,
                pthread,
                std,
            });
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coz_rs_plot::record::Experiment;

    fn window(speedup: f64, hits: u64) -> Record {
        Record::Experiment(Experiment {
            speedup,
            selected_samples: hits,
            ..Experiment::default()
        })
    }

    fn visits(name: &str, delta: u64) -> Record {
        Record::ThroughputPoint {
            name: name.to_owned(),
            delta,
        }
    }

    #[test]
    fn hits_of_baseline_windows_are_counted_against_the_points_own_visits() {
        let records = [
            window(0.0, 30),
            visits("chunk", 10),
            visits("other", 99),
            window(0.5, 77),
            visits("chunk", 5),
            window(0.0, 10),
            visits("chunk", 10),
        ];
        assert_eq!(hits_a_visit(&records, "chunk"), Some(2.0));
        assert_eq!(hits_a_visit(&records, "none"), None);
    }

    #[test]
    fn intervals_that_meet_agree_and_others_only_when_near() {
        let prediction = |gain, low, high| predict::Prediction { gain, low, high };
        let pair = |std| Pair {
            label: "a",
            speedup: 0.4,
            pthread: prediction(0.3, 0.28, 0.32),
            std,
        };
        assert!(pair(prediction(0.35, 0.31, 0.39)).agrees());
        assert!(!pair(prediction(0.35, 0.33, 0.37)).agrees());
        let walk = |gain: f64| Walk {
            form: "dedup".to_owned(),
            line: 0.8,
            prediction: Prediction {
                gain: 0.2,
                low: 0.19,
                high: 0.21,
                samples: 0.2,
            },
            real: Gained {
                line: 0.8,
                gain,
                spread: Some(0.01),
            },
        };
        assert!(walk(0.225).agrees() && walk(0.215).agrees() && !walk(0.24).agrees());
    }
}
