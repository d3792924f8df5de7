//! The truth of a simulated program: the same simulation with the line's work shortened.

use super::engine::{Engine, Noise};
use super::ledger::Crediting;
use super::program::Program;

/// Simulated time that a rate is taken over, ns.
const SPAN: u64 = 200_000_000_000;
/// Simulated time before that, ns.
const START: u64 = 1_000_000_000;
/// A machine whose pace does not move: nothing but the work's own spread is left.
const STEADY: Noise = Noise {
    pace: 0.0,
    memory: 1e9,
};

/// Visits of the first point a second.
fn rate(program: &Program) -> f64 {
    let mut engine = Engine::new(program, Crediting::Smoothed, STEADY, 7);
    engine.run(START);
    let before = engine.observe().count(0);
    engine.run(SPAN);
    (engine.observe().count(0) - before) as f64 / (SPAN as f64 * 1e-9)
}

/// Program speedups of each line at each of `speedups`.
#[must_use]
pub fn gains(program: &Program, speedups: &[f64]) -> Vec<Vec<f64>> {
    let whole = rate(program);
    let of_line = |line: usize| {
        let gain = |speedup: &f64| 1.0 - whole / rate(&program.shortened(line, *speedup));
        speedups.iter().map(gain).collect()
    };
    (0..program.lines).map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::program::programs;
    use super::*;

    /// Gains in points that follow from the programs by hand, of line and speedup.
    #[test]
    fn truths_are_those_that_follow_by_hand() {
        let check = |program: &Program, line: usize, speedup: f64, expected: f64| {
            let gain = gains(program, &[speedup])[line][0];
            assert!(
                (gain - expected).abs() < 0.012,
                "{} {line} {speedup}: {gain}",
                program.name
            );
        };
        check(&programs::one_thread(), 0, 0.5, 0.3);
        check(&programs::one_thread(), 1, 0.5, 0.2);
        check(&programs::barrier(4.0, 3.2), 0, 0.1, 0.1);
        check(&programs::barrier(4.0, 3.2), 0, 0.8, 0.2);
        check(&programs::barrier(4.0, 3.2), 1, 0.8, 0.0);
        check(&programs::pipeline(1.2, 0.8), 0, 0.2, 0.2);
        check(&programs::pipeline(1.2, 0.8), 0, 0.8, 1.0 / 3.0);
        check(&programs::pipeline(1.2, 0.8), 1, 0.8, 0.0);
        check(&programs::pipeline_of_three(), 1, 0.8, 1.0 / 3.0);
    }
}
