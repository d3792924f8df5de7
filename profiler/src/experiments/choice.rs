//! Which line and which virtual speedup the next experiment tries.
//!
//! Lines are explored in proportion to their samples; the rest of the time goes where the
//! decision is still open. Few speedups first, then steps of 5 % where the curve bends. Everything
//! random comes from one seed (ChaCha8, whose stream is the same on every machine).

use rand::seq::IndexedRandom as _;
use rand::{Rng as _, RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Part of the experiments that goes by samples alone.
const EXPLORE: f64 = 0.25;
/// Steps that speedups come in, in percent.
pub const STEP: u32 = 5;
/// Number of levels above 0.
pub const LEVELS: usize = 20;
/// Levels tried first (25, 50, 75 and 100 %), as indices.
const FIRST: [usize; 4] = [4, 9, 14, 19];
/// Part of the later experiments that goes near the knee.
const REFINE: f64 = 0.3;

/// How many levels may be tried of a line whose `level`th (from 1) brought the program to a
/// standstill: the next ones below hardly differ from it.
#[must_use]
pub fn below_standstill(level: usize) -> usize {
    level.saturating_sub(3).max(1)
}

/// What is known of a line that may be selected.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Samples that belong to it.
    pub samples: u64,
    /// Experiments at each level so far: `tried[i]` at (i + 1) × 5 %.
    pub tried: [u32; LEVELS],
    /// How open the decision about it is, 0 and up.
    pub open: f64,
    /// Where its curve bends, if that is known: a speedup.
    pub knee: Option<f64>,
    /// Levels that may be tried, from the lowest: the others bring the program to a standstill.
    pub limit: usize,
}

/// The windows of one experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Baseline, then the speedup.
    BaselineFirst,
    /// The speedup, then the baseline.
    SpeedupFirst,
    /// A baseline on both sides.
    Between,
}

impl Order {
    /// Whether each window runs at the speedup.
    #[must_use]
    pub fn windows(self) -> &'static [bool] {
        match self {
            Order::BaselineFirst => &[false, true],
            Order::SpeedupFirst => &[true, false],
            Order::Between => &[false, true, false],
        }
    }
}

/// Makes the choices of one session.
#[derive(Debug, Clone)]
pub struct Chooser {
    random: ChaCha8Rng,
    fixed: Vec<f64>,
}

impl Chooser {
    /// A chooser with a seed, and the speedups to try if they are given.
    #[must_use]
    pub fn new(seed: u64, fixed: impl IntoIterator<Item = f64>) -> Chooser {
        Chooser {
            random: ChaCha8Rng::seed_from_u64(seed),
            fixed: fixed.into_iter().collect(),
        }
    }

    /// Whether the speedups are the user's choice.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        !self.fixed.is_empty()
    }

    /// The next line; nothing if no candidate has a sample.
    pub fn line(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let by_samples = |candidate: &Candidate| candidate.samples as f64;
        let by_need = |candidate: &Candidate| {
            if candidate.samples == 0 {
                0.0
            } else {
                candidate.open.max(0.0)
            }
        };
        let explore = self.random.random_bool(EXPLORE);
        let any_open = candidates.iter().any(|candidate| by_need(candidate) > 0.0);
        if explore || !any_open {
            self.weighted(candidates, by_samples)
        } else {
            self.weighted(candidates, by_need)
        }
    }

    /// One of the candidates of equal right, for lines that the user has fixed.
    pub fn any_of(&mut self, count: usize) -> Option<usize> {
        (count > 0).then(|| self.random.random_range(0..count))
    }

    /// An index in proportion to the weights; nothing if all are 0.
    pub fn in_proportion(&mut self, weights: &[u64]) -> Option<usize> {
        let total: u64 = weights.iter().sum();
        if total == 0 {
            return None;
        }
        let mut rest = self.random.random_range(0..total);
        weights.iter().position(|weight| {
            let here = rest < *weight;
            rest = rest.saturating_sub(*weight);
            here
        })
    }

    /// An index in proportion to a weight.
    fn weighted(
        &mut self,
        candidates: &[Candidate],
        weight: impl Fn(&Candidate) -> f64,
    ) -> Option<usize> {
        let total: f64 = candidates.iter().map(&weight).sum();
        if total <= 0.0 {
            return None;
        }
        let mut rest = self.random.random_range(0.0..total);
        for (index, candidate) in candidates.iter().enumerate() {
            rest -= weight(candidate);
            if rest < 0.0 {
                return Some(index);
            }
        }
        candidates
            .iter()
            .rposition(|candidate| weight(candidate) > 0.0)
    }

    /// The speedup to try on a line.
    pub fn speedup(&mut self, candidate: &Candidate) -> f64 {
        match self.fixed[..] {
            [] => {}
            [only] => return only,
            [first, ..] => {
                return self
                    .fixed
                    .choose(&mut self.random)
                    .copied()
                    .unwrap_or(first);
            }
        }
        let level = self.level(candidate);
        (level + 1) as f64 * f64::from(STEP) / 100.0
    }

    fn level(&mut self, candidate: &Candidate) -> usize {
        let bearable = |level: &usize| *level < candidate.limit;
        // The curve shall reach as far as it may.
        let top = (candidate.limit < LEVELS).then(|| candidate.limit.saturating_sub(1));
        let top = top.filter(|level| !FIRST.contains(level));
        let first = || FIRST.into_iter().filter(bearable).chain(top);
        let fewest = first().map(|level| candidate.tried[level]).min();
        let fewest = fewest.unwrap_or(0);
        if let Some(knee) = candidate.knee.filter(|_| fewest >= 2)
            && self.random.random_bool(REFINE)
        {
            let middle = (knee * LEVELS as f64).round() as i64 - 1;
            let near: Vec<usize> = (middle - 2..=middle + 2)
                .filter_map(|level| usize::try_from(level).ok())
                .filter(|level| *level < LEVELS.min(candidate.limit))
                .collect();
            if let Some(level) = near.choose(&mut self.random) {
                return *level;
            }
        }
        let least: Vec<usize> = first()
            .filter(|level| candidate.tried[*level] == fewest)
            .collect();
        least.choose(&mut self.random).copied().unwrap_or(0)
    }

    /// The order of the next experiment's windows.
    pub fn order(&mut self) -> Order {
        match self.random.next_u32() % 3 {
            0 => Order::BaselineFirst,
            1 => Order::SpeedupFirst,
            _ => Order::Between,
        }
    }

    /// By how many bytes to move a stack: a multiple of its alignment, of some pages at most.
    pub fn padding(&mut self) -> usize {
        self.random.random_range(0..4096_usize) * 16
    }

    /// One of the candidates with the fewest experiments: who names lines wants to know all of them.
    pub fn least_tried(&mut self, candidates: &[Candidate]) -> Option<usize> {
        let tried = |candidate: &Candidate| candidate.tried.iter().sum::<u32>();
        let fewest = candidates.iter().map(tried).min()?;
        let weight = |candidate| u64::from(tried(candidate) == fewest);
        let weights: Vec<u64> = candidates.iter().map(weight).collect();
        self.in_proportion(&weights)
    }

    /// Whether to stay with a line for one more experiment: a change costs a longer lead-in.
    pub fn stay(&mut self) -> bool {
        self.random.random_bool(0.4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(samples: u64, open: f64) -> Candidate {
        Candidate {
            samples,
            tried: [0; LEVELS],
            open,
            knee: None,
            limit: LEVELS,
        }
    }

    #[test]
    fn levels_that_stop_the_program_are_not_tried_again() {
        let mut line = candidate(1, 1.0);
        for limit in [0, 1, 4, 19] {
            line.limit = limit;
            line.knee = Some(0.9);
            line.tried = [3; LEVELS];
            let mut chooser = Chooser::new(limit as u64, None);
            for _ in 0..100 {
                let level = (chooser.speedup(&line) * 20.0).round() as usize;
                assert!(level <= limit.max(1), "{level} of {limit}");
            }
        }
    }

    #[test]
    fn a_curve_that_may_not_reach_the_end_reaches_as_far_as_it_may() {
        let mut line = candidate(1, 1.0);
        line.limit = below_standstill(LEVELS);
        let mut chooser = Chooser::new(5, None);
        for _ in 0..8 {
            let level = (chooser.speedup(&line) * 20.0).round() as usize;
            line.tried[level - 1] += 1;
        }
        let tried: Vec<usize> = (1..=LEVELS)
            .filter(|&level| line.tried[level - 1] == 2)
            .collect();
        assert_eq!(tried, [5, 10, 15, 17]);
        assert_eq!((below_standstill(1), below_standstill(3)), (1, 1));
    }

    #[test]
    fn named_lines_get_as_many_experiments_each() {
        let mut chooser = Chooser::new(3, None);
        let mut candidates = [candidate(90, 0.0), candidate(0, 1.0), candidate(10, 0.5)];
        for _ in 0..30 {
            let chosen = chooser.least_tried(&candidates).unwrap();
            candidates[chosen].tried[4] += 1;
        }
        assert!(candidates.iter().all(|candidate| candidate.tried[4] == 10));
        assert_eq!(chooser.least_tried(&[]), None);
    }

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let candidates = [candidate(10, 1.0), candidate(30, 0.5), candidate(60, 0.0)];
        let choices = |seed| {
            let mut chooser = Chooser::new(seed, None);
            let one = |_| {
                let line = chooser.line(&candidates).unwrap();
                (
                    line,
                    (chooser.speedup(&candidates[line]) * 100.0) as u32,
                    chooser.order(),
                )
            };
            (0..50).map(one).collect::<Vec<_>>()
        };
        assert_eq!(choices(5), choices(5));
        assert_ne!(choices(5), choices(6));
    }

    #[test]
    fn a_settled_line_is_still_explored_and_an_unsampled_one_never() {
        let candidates = [candidate(70, 0.0), candidate(30, 1.0), candidate(0, 9.0)];
        let mut chooser = Chooser::new(1, None);
        let mut chosen = [0; 3];
        (0..4000).for_each(|_| chosen[chooser.line(&candidates).unwrap()] += 1);
        // A quarter by samples: 17.5 % and 7.5 %; three quarters to the open one.
        assert!((500..900).contains(&chosen[0]), "{chosen:?}");
        assert_eq!(chosen[2], 0);
        assert_eq!(chooser.line(&[candidate(0, 0.0)]), None);
    }

    #[test]
    fn the_first_levels_come_before_the_knee() {
        let mut chooser = Chooser::new(3, None);
        let mut line = candidate(1, 1.0);
        line.knee = Some(0.4);
        let mut levels = Vec::new();
        for _ in 0..400 {
            let level = (chooser.speedup(&line) * 20.0).round() as usize - 1;
            line.tried[level] += 1;
            levels.push(level);
        }
        assert!(
            levels[..8].iter().all(|level| FIRST.contains(level)),
            "{levels:?}"
        );
        assert!(
            (5..=9).all(|level| line.tried[level] > 5),
            "{:?}",
            line.tried
        );
        assert!(line.tried[0] == 0 && line.tried[17] == 0);
    }

    proptest! {
        #[test]
        fn speedups_are_levels_or_the_fixed_one(seed: u64, knee in proptest::option::of(-1.0f64..2.0)) {
            let mut line = candidate(1, 1.0);
            line.knee = knee;
            line.tried = [3; LEVELS];
            let mut chooser = Chooser::new(seed, None);
            for _ in 0..20 {
                let percent = chooser.speedup(&line) * 100.0;
                prop_assert!((5.0..=100.0).contains(&percent) && (percent.round() as u32).is_multiple_of(STEP));
            }
            prop_assert_eq!(Chooser::new(seed, Some(0.42)).speedup(&line), 0.42);
            let some = [0.1, 0.2, 0.3];
            let mut chooser = Chooser::new(seed, some);
            let chosen: Vec<f64> = (0..60).map(|_| chooser.speedup(&line)).collect();
            prop_assert!(some.iter().all(|speedup| chosen.contains(speedup)));
            prop_assert!(chosen.iter().all(|speedup| some.contains(speedup)));
            prop_assert!(chooser.padding() < 65_536);
        }
    }
}
