//! Windows that something outside the program disturbed, and that are left out.
//!
//! Another program that takes a processor, or a hypervisor that does, makes the threads of this one
//! wait though they could run. The profiler notes how long they waited in each window. A window
//! that waited far more than is usual for this profile says nothing of the program. The mark looks
//! at the waiting alone, never at the period, so it does not favour any result.

use crate::record::{Experiment, Record};

/// A window is disturbed if its threads waited for so many times the median of all windows,
const TIMES: f64 = 3.0;
/// and this part of the wall time of one processor more;
const MORE: f64 = 0.1;
/// or if this part of the machine's time was stolen.
const STOLEN: f64 = 0.05;
/// If a larger part is disturbed than this, disturbance is the rule and nothing is left out.
const USUAL: f64 = 0.34;

/// Which windows are disturbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Disturbances {
    limit: f64,
    /// Disturbed windows.
    pub count: usize,
    /// Whether they are left out.
    pub left_out: bool,
}

impl Disturbances {
    /// Looks at all windows.
    pub fn of(records: &[Record]) -> Disturbances {
        let windows = || {
            records.iter().filter_map(|record| match record {
                Record::Experiment(experiment) => Some(experiment),
                _ => None,
            })
        };
        let mut waits: Vec<f64> = windows().filter_map(|window| window.waited).collect();
        waits.retain(|wait| wait.is_finite());
        waits.sort_by(f64::total_cmp);
        let median = waits.get(waits.len() / 2).copied().unwrap_or(0.0);
        let mut disturbances = Disturbances {
            limit: median * TIMES + MORE,
            count: 0,
            left_out: false,
        };
        let (mut all, mut count) = (0_usize, 0_usize);
        for window in windows() {
            all += 1;
            count += usize::from(disturbances.exceeds(window));
        }
        disturbances.count = count;
        disturbances.left_out = count > 0 && count as f64 <= USUAL * all as f64;
        disturbances
    }

    fn exceeds(&self, window: &Experiment) -> bool {
        window.waited.is_some_and(|wait| wait > self.limit)
            || window.stolen.is_some_and(|stolen| stolen > STOLEN)
    }

    /// Whether this window is to be left out.
    pub fn leave_out(&self, window: &Experiment) -> bool {
        self.left_out && self.exceeds(window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(waited: Option<f64>, stolen: Option<f64>) -> Record {
        Record::Experiment(Experiment {
            waited,
            stolen,
            ..Experiment::default()
        })
    }

    #[test]
    fn a_window_that_waited_unusually_long_is_left_out() {
        let mut records = vec![window(Some(0.02), None); 8];
        records.push(window(Some(0.4), None));
        records.push(window(None, Some(0.2)));
        let found = Disturbances::of(&records);
        assert_eq!((found.count, found.left_out), (2, true));
        // More threads than processors wait all the time: that is no disturbance.
        let crowded = vec![window(Some(1.5), None), window(Some(2.5), None)];
        assert_eq!(Disturbances::of(&crowded).count, 0);
    }

    #[test]
    fn what_is_usual_is_not_left_out() {
        let records = vec![window(Some(0.0), Some(0.3)); 5];
        let found = Disturbances::of(&records);
        assert_eq!((found.count, found.left_out), (5, false));
        assert_eq!(Disturbances::of(&[]).count, 0);
    }
}
