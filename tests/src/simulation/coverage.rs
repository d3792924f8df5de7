//! How often the intervals of simulated profiles hold the truth.

use coz_rs_plot::estimates::Verdict;

use super::engine::Noise;
use super::program::Program;
use super::session::{Session, location};
use super::truth::gains;

/// Speedups at which curves are compared with the truth.
pub const SPEEDUPS: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// Speedups that are tried first and so have levels of their own.
pub const LEVELS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// What the mechanism itself may be off by.
const NEARLY: f64 = 0.005;
/// A line that gains less is null.
const NULL: f64 = 0.005;

/// Counts over many sessions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coverage {
    /// Places on curves.
    pub pairs: u32,
    /// Of which the interval holds the truth.
    pub held: u32,
    /// Of which the truth is within half a point of the interval.
    pub held_nearly: u32,
    /// Sum of errors, prediction minus truth.
    pub bias: f64,
    /// Sum of absolute errors.
    pub errors: f64,
    /// Largest absolute error.
    pub worst: f64,
    /// Sum of half widths.
    pub half_widths: f64,
    /// Null lines.
    pub nulls: u32,
    /// Null lines said to matter.
    pub flagged: u32,
}

impl Coverage {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Coverage) {
        self.pairs += other.pairs;
        self.held += other.held;
        self.held_nearly += other.held_nearly;
        self.bias += other.bias;
        self.errors += other.errors;
        self.worst = self.worst.max(other.worst);
        self.half_widths += other.half_widths;
        self.nulls += other.nulls;
        self.flagged += other.flagged;
    }

    /// Part of the pairs whose interval holds the truth.
    #[must_use]
    pub fn rate(&self) -> f64 {
        f64::from(self.held) / f64::from(self.pairs.max(1))
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mean = |sum: f64| 100.0 * sum / f64::from(self.pairs.max(1));
        write!(
            f,
            "{:.1} % of {} held ({:.1} % within half a point), error {:+.2} on average, {:.2} absolute, {:.1} at worst, intervals ±{:.2} points, {} of {} null lines flagged",
            100.0 * self.rate(),
            self.pairs,
            100.0 * f64::from(self.held_nearly) / f64::from(self.pairs.max(1)),
            mean(self.bias),
            mean(self.errors),
            100.0 * self.worst,
            mean(self.half_widths),
            self.flagged,
            self.nulls,
        )
    }
}

/// One place on the curve of one session.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// Its speedup.
    pub speedup: f64,
    /// The true program speedup.
    pub truth: f64,
    /// The predicted one.
    pub gain: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Profiles the program once a seed for so many simulated seconds, and shows every place.
#[must_use]
pub fn cover(
    program: &Program,
    noise: Noise,
    seeds: std::ops::Range<u64>,
    seconds: f64,
    mut show: impl FnMut(Place),
) -> Coverage {
    let truths = gains(program, &SPEEDUPS);
    let mut coverage = Coverage::default();
    for seed in seeds {
        let mut session = Session::new(program, noise, seed);
        session.run_until(seconds);
        let analysis = session.analysis();
        for (line, truths) in truths.iter().enumerate() {
            let place = location(line);
            let estimate = analysis
                .points
                .iter()
                .flat_map(|point| &point.lines)
                .find(|estimate| estimate.location == place);
            let Some(estimate) = estimate else { continue };
            for (speedup, truth) in SPEEDUPS.iter().zip(truths) {
                let Some(point) = estimate.at(*speedup) else {
                    continue;
                };
                let error = point.gain - truth;
                show(Place {
                    line,
                    speedup: *speedup,
                    truth: *truth,
                    gain: point.gain,
                    low: point.low,
                    high: point.high,
                });
                coverage.pairs += 1;
                coverage.held += u32::from((point.low..=point.high).contains(truth));
                let nearly = point.low - NEARLY..=point.high + NEARLY;
                coverage.held_nearly += u32::from(nearly.contains(truth));
                coverage.bias += error;
                coverage.errors += error.abs();
                coverage.worst = coverage.worst.max(error.abs());
                coverage.half_widths += (point.high - point.low) / 2.0;
            }
            if truths.iter().all(|truth| truth.abs() < NULL) {
                let flagged = matches!(estimate.verdict, Verdict::WorthIt | Verdict::MakesItSlower);
                coverage.nulls += 1;
                coverage.flagged += u32::from(flagged);
            }
        }
    }
    coverage
}
