//! The processor's clock, from a chain of dependent additions: one cycle each on every processor
//! that the lesson is about.

use crate::held::Held as _;
use crate::series::{Series, measure};

/// Additions in a measurement: some 100 µs.
const ADDITIONS: u32 = 320_000;
/// What a processor may have, GHz: outside, something else was measured.
const POSSIBLE: std::ops::RangeInclusive<f64> = 0.5..=7.0;

/// A calibrated clock.
pub struct Clock {
    /// GHz, that is cycles a nanosecond.
    pub frequency: f64,
    /// Noise of the calibration.
    pub noise: f64,
}

impl Clock {
    pub fn calibrate(runs: usize) -> Self {
        let Series { least, noise } = measure(runs, 1, &mut chain);
        Self {
            frequency: f64::from(ADDITIONS) / least,
            noise,
        }
    }

    /// Whether a processor can have this frequency.
    pub fn is_possible(&self) -> bool {
        POSSIBLE.contains(&self.frequency)
    }
}

#[inline(never)]
fn chain() {
    // From a register: recent processors add small constants without an adder (in register
    // renaming), several in a cycle.
    let step = 3_i64.held();
    let mut sum = 0_i64.held();
    for _ in 0..ADDITIONS / 16 {
        for _ in 0..16 {
            sum = sum.wrapping_add(step).held();
        }
    }
    std::hint::black_box(sum);
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn absurd_frequencies_are_known_as_such() {
        for (frequency, possible) in [(0.1, false), (2.4, true), (5.8, true), (11.0, false)] {
            let clock = Clock {
                frequency,
                noise: 0.0,
            };
            assert_eq!(clock.is_possible(), possible, "{frequency}");
        }
    }
}
