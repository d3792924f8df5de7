//! `--max-pause`: how long a thread may still be paused.
//!
//! A watchdog of the program's own feels not one sleep but how long a thread gets nothing done. So
//! sleeps that follow each other closely count as one pause, and running wins its length back:
//! no thread is away longer than the bound at a stretch, nor for much more than half of any longer
//! time. What is owed beyond that is forgiven, and windows in which it was are no measurements.

/// The pause of one thread that is not won back yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stretch {
    /// Its length, ns.
    pub paused: u64,
    /// When the last sleep ended, ns.
    pub ended: u64,
}

impl Stretch {
    /// How long the thread may sleep at `now` under `bound` (0: as long as it owes).
    #[must_use]
    pub fn allowance(self, bound: u64, now: u64) -> u64 {
        if bound == 0 {
            return u64::MAX;
        }
        bound.saturating_sub(self.left(now))
    }

    /// The stretch after a sleep from `begin` to `end`.
    #[must_use]
    pub fn after_sleep(self, begin: u64, end: u64) -> Stretch {
        Stretch {
            paused: self.left(begin).saturating_add(end.saturating_sub(begin)),
            ended: end,
        }
    }

    /// What running since the last sleep has not won back.
    fn left(self, now: u64) -> u64 {
        self.paused.saturating_sub(now.saturating_sub(self.ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_a_bound_everything_is_allowed() {
        let stretch = Stretch::default().after_sleep(0, 1 << 40);
        assert_eq!(stretch.allowance(0, 1 << 40), u64::MAX);
    }

    #[test]
    fn running_wins_back_what_was_slept() {
        let stretch = Stretch::default().after_sleep(100, 160);
        assert_eq!(stretch.allowance(100, 160), 40);
        assert_eq!(stretch.allowance(100, 190), 70);
        assert_eq!(stretch.allowance(100, 1000), 100);
    }

    proptest! {
        #[test]
        fn no_time_holds_more_than_the_bound_and_half_of_it(
            bound in 1u64..1000,
            steps in proptest::collection::vec((0u64..500, 0u64..2000), 1..200),
        ) {
            let mut stretch = Stretch { paused: 0, ended: 0 };
            let mut now = 0;
            let mut sleeps = std::vec::Vec::new();
            for (run, wanted) in steps {
                now += run;
                let sleep = wanted.min(stretch.allowance(bound, now));
                stretch = stretch.after_sleep(now, now + sleep);
                sleeps.push((now, now + sleep));
                now += sleep;
            }
            for (first, &(begin, _)) in sleeps.iter().enumerate() {
                let mut paused = 0;
                for &(from, to) in &sleeps[first..] {
                    paused += to - from;
                    // Half of the time, and the bound on top of it.
                    prop_assert!(2 * paused <= (to - begin) + bound, "{paused} in {}", to - begin);
                }
            }
        }
    }
}
