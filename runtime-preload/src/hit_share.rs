//! The smoothed share of a thread's samples that are hits.
//!
//! Credit by raw hits is noisy, and a barrier waits for the noisiest thread: the maximum over
//! threads of a noisy sum hides speedup. So credit is share × CPU time. The share is the mean
//! over about the last [`MEMORY`] samples; a run of equal samples that the share makes too
//! unlikely means that the program entered another phase, and the history before it is forgotten.
//! Over a whole line the sum of shares equals the number of hits but for the present deviation.

/// Samples that the mean reaches back over. Longer hides phases, shorter is noisier.
pub const MEMORY: u64 = 32;
/// 1.0 in the fixed-point form of a share.
pub const ONE: u64 = 1 << 32;
/// A run at least this long can mean a new phase.
const SHORTEST_RUN: u64 = 6;
/// A run less likely than 2^-this under the share is a new phase: about 1 false alarm in 16,000.
const ALARM_BITS: u64 = 14;

/// History of one thread (or one kind of thread) for one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HitShare {
    /// The share, in parts of [`ONE`].
    pub share: u64,
    /// Samples it stands on, at most [`MEMORY`].
    pub samples: u64,
    /// Length of the present run of equal samples shifted left by one; bit 0: they are hits.
    pub run: u64,
}

impl HitShare {
    /// The history after one more sample.
    #[must_use]
    pub fn after(self, hit: bool) -> HitShare {
        let same = self.run != 0 && (self.run & 1 == 1) == hit;
        let length = if same {
            (self.run >> 1).saturating_add(1)
        } else {
            1
        };
        let run = (length << 1) | u64::from(hit);
        if length >= SHORTEST_RUN && is_new_phase(self.share, hit, length) {
            let share = if hit { ONE } else { 0 };
            return HitShare {
                share,
                samples: length.min(MEMORY),
                run,
            };
        }
        // Never 0, whatever the memory that this was read from held.
        let samples = self.samples.min(MEMORY - 1) + 1;
        let share = if hit {
            self.share + (ONE - self.share) / samples
        } else {
            self.share - self.share / samples
        };
        HitShare {
            share,
            samples,
            run,
        }
    }
}

/// Whether a run of `length` equal samples is too unlikely under `share`.
fn is_new_phase(share: u64, hit: bool, length: u64) -> bool {
    let probability = if hit { share } else { ONE - share };
    if probability == 0 {
        return true;
    }
    // -log2(probability) in 1/16 bits: integer part from the leading zeros, the rest linear.
    let zeros = u64::from(probability.leading_zeros());
    let top = 63 - zeros;
    if top >= 32 {
        return false;
    }
    let rest = ((probability << (zeros + 1)) >> 60) & 15;
    let bits16 = (32 - top) * 16 - rest;
    length.saturating_mul(bits16) > ALARM_BITS * 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feed(start: HitShare, samples: impl IntoIterator<Item = bool>) -> (HitShare, f64) {
        let mut state = start;
        let mut sum = 0.0;
        for hit in samples {
            state = state.after(hit);
            sum += state.share as f64 / ONE as f64;
        }
        (state, sum)
    }

    #[test]
    fn a_thread_always_on_the_line_has_share_one_at_once() {
        let (state, sum) = feed(HitShare::default(), [true; 5]);
        assert_eq!((state.share, sum), (ONE, 5.0));
    }

    #[test]
    fn a_new_phase_is_followed_within_its_first_samples() {
        let (state, _) = feed(HitShare::default(), [false; 200]);
        let (state, _) = feed(state, [true; 6]);
        assert_eq!(state.share, ONE);
        let (state, _) = feed(state, [true; 60]);
        let (state, _) = feed(state, [false; 6]);
        assert_eq!(state.share, 0);
    }

    #[test]
    fn any_words_of_the_shared_memory_are_survived() {
        for samples in [0, MEMORY, u64::MAX] {
            for run in [0, 13, u64::MAX] {
                let wild = HitShare {
                    share: ONE,
                    samples,
                    run,
                };
                assert!((1..=MEMORY).contains(&wild.after(false).samples));
            }
        }
    }

    proptest! {
        #[test]
        fn the_sum_of_shares_stays_near_the_number_of_hits(
            seed in any::<u64>(), percent in 0u64..101, count in 64usize..4000
        ) {
            let mut random = seed | 1;
            let hits: std::vec::Vec<bool> = (0..count).map(|_| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (random >> 33) % 100 < percent
            }).collect();
            let number = hits.iter().filter(|hit| **hit).count() as f64;
            let (state, sum) = feed(HitShare::default(), hits);
            prop_assert!(state.share <= ONE);
            // The deviation of a mean over 32, plus rare false alarms of a new phase.
            prop_assert!((sum - number).abs() <= 48.0 + 0.02 * count as f64, "{sum} {number}");
        }
    }
}
