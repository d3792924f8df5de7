//! What the ledger alone says of a line: one long window in the steady state, without edges,
//! choices or estimates.

use super::engine::{Engine, Noise};
use super::ledger::{Crediting, Window};
use super::program::Program;

/// A machine whose pace does not move.
const STEADY: Noise = Noise {
    pace: 0.0,
    memory: 1e9,
};
/// Simulated time before measuring, and of the measurement, ns.
const START: u64 = 1_000_000_000;
const SPAN: u64 = 10_000_000_000;

/// The program speedup of a line at a virtual speedup.
#[must_use]
pub fn gain(program: &Program, crediting: Crediting, line: usize, speedup: f64) -> f64 {
    let mut engine = Engine::new(program, crediting, STEADY, 3);
    let mut number = 0;
    let mut period = |speedup: f64| {
        number += 1;
        engine.publish(Window {
            number,
            line: Some(line),
            speedup: Window::millionths(speedup),
        });
        engine.run(START);
        let before = engine.observe();
        engine.run(SPAN);
        let after = engine.observe();
        let time = (after.time - before.time) as f64 - (after.g - before.g) as f64;
        time / (after.count(0) - before.count(0)) as f64
    };
    let whole = period(0.0);
    1.0 - period(speedup) / whole
}

#[cfg(test)]
mod tests {
    use super::super::program::all;
    use super::super::truth::gains;
    use super::*;

    const SPEEDUPS: [f64; 3] = [0.25, 0.5, 0.75];

    #[test]
    fn the_ledger_gives_back_the_truth_of_every_line() {
        let mut errors = Vec::new();
        for program in all() {
            for (line, truths) in gains(&program, &SPEEDUPS).iter().enumerate() {
                for (speedup, truth) in SPEEDUPS.iter().zip(truths) {
                    let found = gain(&program, Crediting::Smoothed, line, *speedup);
                    errors.push((found - truth).abs());
                    assert!(
                        (found - truth).abs() < 0.02,
                        "{} line {line} at {speedup}: {found:.3}, truly {truth:.3}",
                        program.name
                    );
                }
            }
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 0.006, "{mean}");
    }
}
