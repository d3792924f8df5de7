//! How often points are visited, and so how long a window must be and whose visits bound it.

use super::observation::Observation;

/// Visits that a window should hold.
pub const VISITS: u64 = 10;
/// The shortest window, ns: pauses still owed at its edges (about a period) stay below 1 %.
pub const SHORTEST: u64 = 200_000_000;
/// Windows are not made longer than this to hold more visits, ns.
pub const LONGEST: u64 = 5_000_000_000;
/// A rare point lengthens the windows of a frequent one up to this, ns.
const PATIENCE_WITH_RARE: u64 = 1_000_000_000;
/// Time over which the rates are averaged, s.
const MEMORY: f64 = 5.0;

/// Visits per second of each point, averaged over the last seconds.
#[derive(Debug, Clone, Default)]
pub struct VisitRates {
    last: Option<Observation>,
    /// Weighted sums of visits and of seconds.
    sums: Vec<(f64, f64)>,
}

/// What a window should be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The point whose visits bound the window.
    pub point: usize,
    /// Its length, ns.
    pub length: u64,
    /// Visits in it, if the program goes on as it did.
    pub visits: u64,
}

impl VisitRates {
    /// Takes in another observation; those closer than 10 ms to the last one are left out.
    pub fn observe(&mut self, now: &Observation) {
        let Some(last) = &self.last else {
            self.last = Some(now.clone());
            return;
        };
        let gap = now.time.saturating_sub(last.time);
        if gap < 10_000_000 {
            return;
        }
        let seconds = gap as f64 * 1e-9;
        let keep = (-seconds / MEMORY).exp();
        self.sums
            .resize(now.counts.len().max(self.sums.len()), (0.0, 0.0));
        for (point, (visits, time)) in self.sums.iter_mut().enumerate() {
            let new = now.count(point).saturating_sub(last.count(point));
            *visits = *visits * keep + new as f64;
            *time = *time * keep + seconds;
        }
        self.last = Some(now.clone());
    }

    /// Visits of a point per second.
    #[must_use]
    pub fn rate(&self, point: usize) -> f64 {
        let (visits, time) = self.sums.get(point).copied().unwrap_or_default();
        if time > 0.0 { visits / time } else { 0.0 }
    }

    /// The pace for a window that should be at least `shortest` long; `may_bound` says which
    /// points may bound windows. Nothing if none of those is visited.
    #[must_use]
    pub fn pace(&self, shortest: u64, may_bound: impl Fn(usize) -> bool) -> Option<Pace> {
        let needed = |point: usize| {
            let rate = self.rate(point);
            // A tenth more, so that the usual window needs no prolongation.
            (rate > 1e-3).then(|| (VISITS as f64 * 1.1e9 / rate) as u64)
        };
        let visited: Vec<(u64, usize)> = (0..self.sums.len())
            .filter(|point| may_bound(*point))
            .filter_map(|point| Some((needed(point)?, point)))
            .collect();
        let (fastest, _) = *visited.iter().min()?;
        let limit = fastest.max(PATIENCE_WITH_RARE);
        let (need, point) = *visited.iter().filter(|(need, _)| *need <= limit).max()?;
        let length = need.clamp(shortest, shortest.max(LONGEST));
        Some(Pace {
            point,
            length,
            visits: (self.rate(point) * length as f64 * 1e-9) as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(per_second: &[f64], seconds: u64) -> VisitRates {
        let mut rates = VisitRates::default();
        for tick in 0..=seconds * 50 {
            rates.observe(&Observation {
                time: tick * 20_000_000,
                counts: per_second
                    .iter()
                    .map(|r| (r * tick as f64 / 50.0) as u64)
                    .collect(),
                ..Observation::default()
            });
        }
        rates
    }

    #[test]
    fn windows_hold_ten_visits_within_bounds() {
        let pace = |rate: &[f64]| rates(rate, 10).pace(SHORTEST, |_| true);
        assert_eq!(pace(&[0.0]), None);
        assert_eq!(pace(&[1000.0]).unwrap().length, SHORTEST);
        let slow = pace(&[20.0]).unwrap().length;
        assert!((500_000_000..600_000_000).contains(&slow), "{slow}");
        assert_eq!(pace(&[0.5]).unwrap().length, LONGEST);
    }

    #[test]
    fn the_slower_of_two_points_bounds_unless_it_is_rare() {
        let point = |rate: &[f64]| rates(rate, 20).pace(SHORTEST, |_| true).unwrap().point;
        assert_eq!(point(&[1000.0, 50.0]), 1);
        assert_eq!(point(&[1000.0, 0.5]), 0);
        let only_first = rates(&[1000.0, 50.0], 5).pace(SHORTEST, |point| point == 0);
        assert_eq!(only_first.unwrap().point, 0);
    }
}
