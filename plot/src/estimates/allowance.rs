//! What a prediction may be off by though its windows show no noise: the mechanism's own error.
//!
//! Pauses come in pieces of about a sample's period, hits are smoothed over many samples, a window
//! begins while the one before still drains. Repeating an experiment repeats such errors, so
//! Student's interval cannot hold them. They grow with what is predicted, and with the speedup while
//! it is small. The constants are those with which intervals of simulated programs, whose truth is
//! known exactly, hold it in 93 to 97 % of the places (`simulate` in the package `coz-rs-tests`).

/// Half the allowance's interval for a line without effect, at a speedup from [`FULL`] on.
const CONSTANT: f64 = 0.004;
/// What each unit of predicted program speedup adds to it.
const PART: f64 = 0.015;
/// Below this speedup of the line it shrinks in proportion: there is hardly a pause then.
const FULL: f64 = 0.2;

/// Half of the 95 % interval of the mechanism's own error, as a program speedup.
pub(super) fn allowance(speedup: f64, gain: f64) -> f64 {
    (CONSTANT + PART * gain.clamp(-1.0, 1.0).abs()) * (speedup / FULL).clamp(0.0, 1.0)
}

/// Half of the 95 % interval of both, as they are independent: `noise` is half of Student's.
pub(super) fn widened(noise: f64, speedup: f64, gain: f64) -> f64 {
    noise.hypot(allowance(speedup, gain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_leaves_room_for_every_verdict_and_vanishes_with_the_speedup() {
        assert_eq!(allowance(0.0, 0.3), 0.0);
        assert!(allowance(0.1, 0.1) < allowance(0.2, 0.1));
        // "No effect" is within ±2 points, the top line is to be known to ±3.
        assert!(allowance(1.0, 0.0) < 0.01 && allowance(1.0, 1.0) < 0.03);
        assert_eq!(allowance(0.5, -0.2), allowance(0.5, 0.2));
        assert!(
            widened(0.0, 0.5, 0.0) == CONSTANT && widened(f64::INFINITY, 0.5, 0.0).is_infinite()
        );
    }
}
