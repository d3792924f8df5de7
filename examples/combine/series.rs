//! A series of measurements of the same thing: the least is the time, the others say how noisy the
//! machine is.

use std::time::Instant;

/// What a series found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series {
    /// The shortest time of one repetition, ns. Everything that disturbs makes it longer.
    pub least: f64,
    /// (median − least) / least.
    pub noise: f64,
}

/// Times `repetitions` of `work`, `runs` times, after two to warm up.
pub fn measure(runs: usize, repetitions: usize, work: &mut impl FnMut()) -> Series {
    let mut times = Vec::with_capacity(runs);
    for run in 0..runs + 2 {
        let begin = Instant::now();
        for _ in 0..repetitions {
            work();
        }
        let time = begin.elapsed().as_nanos() as f64 / repetitions as f64;
        // The first ones load code and data into the caches, and train the predictors.
        if run >= 2 {
            times.push(time);
        }
    }
    summarise(times)
}

fn summarise(mut times: Vec<f64>) -> Series {
    times.sort_by(f64::total_cmp);
    let (least, median) = (times[0], times[times.len() / 2]);
    Series {
        least,
        noise: (median - least) / least,
    }
}

#[cfg(test)]
mod tests {
    use super::{measure, summarise};

    #[test]
    fn noise_is_how_far_the_median_is_off() {
        let series = summarise(vec![14.0, 10.0, 12.0, 90.0, 11.0]);
        assert_eq!((series.least, series.noise), (10.0, 0.2));
    }

    #[test]
    fn every_run_counts_all_repetitions() {
        let mut calls = 0;
        let _series = measure(5, 3, &mut || calls += 1);
        assert_eq!(calls, (5 + 2) * 3);
    }
}
