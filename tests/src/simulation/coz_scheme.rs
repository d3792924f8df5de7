//! Coz's way of experimenting, for comparison: written from Curtsinger and Berger, "Coz: finding
//! code that counts with causal profiling" (SOSP 2015), sections 3.2 to 3.4.
//!
//! Each experiment takes the line of the next sample and a virtual speedup that is 0 half of the
//! time and else any multiple of 5 %; it lasts a fixed time, which doubles for good when fewer than
//! five visits came; hits become delays ten samples at a time. The program speedup of a line at s
//! compares all windows at s with all of the line at 0. Lines with fewer than five different
//! speedups are left out, the others are ranked by the slope of a regression line.

use super::engine::{Engine, Noise};
use super::ledger::{Crediting, Window};
use super::program::Program;
use crate::random::Random;

/// An experiment's first length, ns.
const LENGTH: u64 = 500_000_000;
/// Fewer visits double it.
const FEWEST_VISITS: u64 = 5;
/// Between two experiments nothing is delayed for so long, ns.
const COOL_OFF: u64 = 10_000_000;
/// Speedups that a line must have been tried at.
const FEWEST_SPEEDUPS: usize = 5;

/// One experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The line.
    pub line: usize,
    /// Virtual speedup in steps of 5 %.
    pub step: usize,
    /// Wall time less the delays, ns.
    pub duration: f64,
    /// Visits.
    pub visits: u64,
}

/// What the windows say of one line.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The line.
    pub line: usize,
    /// Speedups and program speedups.
    pub levels: Vec<(f64, f64)>,
}

/// Steps that speedups come in.
const STEP: f64 = 0.05;

impl Curve {
    /// Slope of the regression line.
    #[must_use]
    pub fn slope(&self) -> f64 {
        let count = self.levels.len() as f64;
        let mean_s = self.levels.iter().map(|level| level.0).sum::<f64>() / count;
        let mean_g = self.levels.iter().map(|level| level.1).sum::<f64>() / count;
        let along: f64 = self
            .levels
            .iter()
            .map(|(s, g)| (s - mean_s) * (g - mean_g))
            .sum();
        let spread: f64 = self.levels.iter().map(|(s, _)| (s - mean_s).powi(2)).sum();
        along / spread
    }

    /// The largest program speedup.
    #[must_use]
    pub fn maximum(&self) -> f64 {
        let gains = self.levels.iter().map(|level| level.1);
        gains.fold(f64::NEG_INFINITY, f64::max)
    }

    /// The program speedup near a speedup: the mean of the levels within 10 points of it.
    #[must_use]
    pub fn near(&self, speedup: f64) -> Option<f64> {
        let near: Vec<f64> = self
            .levels
            .iter()
            .filter(|level| level.0 > 0.0 && (level.0 - speedup).abs() < 0.1 + 1e-9)
            .map(|level| level.1)
            .collect();
        (!near.is_empty()).then(|| near.iter().sum::<f64>() / near.len() as f64)
    }
}

/// The curves of all lines that were tried often enough.
#[must_use]
pub fn curves(windows: &[Trial], lines: usize) -> Vec<Curve> {
    let curve = |line: usize| -> Option<Curve> {
        let mut sums = [(0.0, 0.0); 21];
        for window in windows.iter().filter(|window| window.line == line) {
            sums[window.step].0 += window.duration;
            sums[window.step].1 += window.visits as f64;
        }
        let period = |(duration, visits): (f64, f64)| (visits > 0.0).then(|| duration / visits);
        let baseline = period(sums[0])?;
        let levels = sums
            .iter()
            .enumerate()
            .filter_map(|(step, sum)| Some((step as f64 * STEP, 1.0 - period(*sum)? / baseline)));
        let levels: Vec<(f64, f64)> = levels.collect();
        (levels.len() >= FEWEST_SPEEDUPS).then_some(Curve { line, levels })
    };
    (0..lines).filter_map(curve).collect()
}

/// A run under Coz.
#[derive(Debug)]
pub struct CozSession {
    engine: Engine,
    random: Random,
    lines: usize,
    length: u64,
    number: u64,
    windows: Vec<Trial>,
}

impl CozSession {
    /// A program that has just been started.
    #[must_use]
    pub fn new(program: &Program, noise: Noise, seed: u64) -> CozSession {
        CozSession {
            engine: Engine::new(program, Crediting::Batches, noise, seed),
            random: Random::new(seed ^ 0xc02),
            lines: program.lines,
            length: LENGTH,
            number: 0,
            windows: Vec::new(),
        }
    }

    /// Experiments until the program has run for so many seconds.
    pub fn run_until(&mut self, seconds: f64) {
        while (self.engine.time() as f64) < seconds * 1e9 {
            self.experiment();
        }
    }

    /// What was learned so far.
    #[must_use]
    pub fn curves(&self) -> Vec<Curve> {
        curves(&self.windows, self.lines)
    }

    /// The line of the next sample.
    fn next_line(&mut self) -> usize {
        let before = self.engine.line_samples().to_vec();
        loop {
            self.engine.run(500_000);
            let after = self.engine.line_samples();
            let new: Vec<usize> = (0..self.lines)
                .filter(|line| after[*line] > before[*line])
                .collect();
            if !new.is_empty() {
                return new[self.random.below(new.len())];
            }
        }
    }

    fn experiment(&mut self) {
        let line = self.next_line();
        let step = if self.random.part() < 0.5 {
            0
        } else {
            1 + self.random.below(20)
        };
        self.number += 1;
        self.engine.publish(Window {
            number: self.number,
            line: Some(line),
            speedup: Window::millionths(step as f64 * STEP),
        });
        let before = self.engine.observe();
        self.engine.run(self.length);
        let after = self.engine.observe();
        let visits = after.count(0) - before.count(0);
        if visits < FEWEST_VISITS {
            self.length *= 2;
        } else {
            self.windows.push(Trial {
                line,
                step,
                duration: (after.time - before.time) as f64 - (after.g - before.g) as f64,
                visits,
            });
        }
        self.engine.publish(Window::default());
        self.engine.run(COOL_OFF);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_are_pooled_by_line_and_rare_lines_left_out() {
        let window = |line, step, duration, visits| Trial {
            line,
            step,
            duration,
            visits,
        };
        let mut windows = vec![
            window(0, 0, 100.0, 10),
            window(0, 0, 120.0, 10),
            window(1, 0, 100.0, 10),
            window(1, 10, 50.0, 10),
        ];
        windows.extend([4, 8, 12, 16].map(|step| window(0, step, 110.0 - 2.0 * step as f64, 10)));
        let curves = curves(&windows, 2);
        assert_eq!((curves.len(), curves[0].line), (1, 0));
        // 8 visits' duration less by 2/110 a step.
        assert!((curves[0].slope() - 2.0 * 20.0 / 110.0).abs() < 1e-9);
        assert!((curves[0].maximum() - 32.0 / 110.0).abs() < 1e-9);
        let near = curves[0].near(0.5);
        assert!(
            (near.unwrap_or(0.0) - 20.0 / 110.0).abs() < 1e-9,
            "{near:?}"
        );
    }
}
