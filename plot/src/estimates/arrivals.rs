//! Where the work of a progress point comes from: from inside the program, or by the clock.
//!
//! Virtual time (wall time minus pauses) measures a program only while every source of its work is
//! paused too. Requests that another process or a timer sends come as fast as before, so a point
//! that they drive seems to gain whatever is paused. The profiler asks the program itself: it slows
//! all threads down alike for a window, without speeding up any line. Where all work comes from
//! inside, virtual time per visit stays what it was; where it comes by the clock, wall time does.

use std::collections::HashMap;

use super::PointKind;
use super::distributions::t_95;
use crate::record::Record;

/// Fewer comparisons are no ground for a decision.
const FEWEST: usize = 2;
/// With so many, the one farthest from the others is left out.
const ENOUGH: usize = 4;
/// The part of the pauses that did not reach the visits: more than this on average,
const MOST: f64 = 0.5;
/// and surely more than this, means the clock. Its true values are 0 and 1, if seldom in between.
const SURELY: f64 = 0.25;
/// Windows that were hardly slowed down say nothing.
const SLOWED: f64 = 0.05;

/// What the comparisons say of each point.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals<'a> {
    points: HashMap<(&'a str, PointKind), Vec<f64>>,
}

impl<'a> Arrivals<'a> {
    /// Gathers the comparisons.
    pub fn of(records: &'a [Record]) -> Arrivals<'a> {
        let mut arrivals = Arrivals::default();
        for record in records {
            let Record::Slowdown { points } = record else {
                continue;
            };
            for point in points {
                let kind = if point.latency {
                    PointKind::Latency
                } else {
                    PointKind::Throughput
                };
                let expected = (1.0 - point.paused).ln();
                let part = (point.slowed / point.plain).ln() / expected;
                if (SLOWED..1.0).contains(&point.paused) && part.is_finite() {
                    let parts = arrivals.points.entry((&point.name, kind)).or_default();
                    parts.push(part);
                }
            }
        }
        arrivals
    }

    /// Whether the point's work comes by the clock.
    pub fn by_the_clock(&self, name: &str, kind: PointKind) -> bool {
        let Some(parts) = self.points.get(&(name, kind)) else {
            return false;
        };
        if parts.len() < FEWEST {
            return false;
        }
        // In order, so that the order of the records does not matter.
        let mut parts = parts.clone();
        parts.sort_by(f64::total_cmp);
        if parts.len() >= ENOUGH {
            // One that was disturbed must not hide what the others agree on.
            let median = parts[parts.len() / 2];
            let (first, last) = (parts[0], parts[parts.len() - 1]);
            if last - median > median - first {
                parts.pop();
            } else {
                parts.remove(0);
            }
        }
        let count = parts.len() as f64;
        let mean = parts.iter().sum::<f64>() / count;
        let squares: f64 = parts.iter().map(|part| (part - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        mean > MOST && mean - t_95(count - 1.0) * error > SURELY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SlowdownPoint;

    fn record(plain: f64, slowed: f64) -> Record {
        Record::Slowdown {
            points: vec![SlowdownPoint {
                name: "p".to_owned(),
                latency: false,
                plain,
                slowed,
                paused: 0.2,
            }],
        }
    }

    fn decide(records: &[Record]) -> bool {
        Arrivals::of(records).by_the_clock("p", PointKind::Throughput)
    }

    #[test]
    fn virtual_time_that_shrinks_with_the_pauses_means_the_clock() {
        let clock = [record(10.0, 8.0), record(10.0, 8.1), record(10.0, 7.9)];
        assert!(decide(&clock));
        assert!(!decide(&clock[..1]));
        let inside = [record(10.0, 10.0), record(10.0, 9.8), record(10.0, 10.1)];
        assert!(!decide(&inside));
        // Too far apart to tell.
        assert!(!decide(&[
            record(10.0, 8.0),
            record(10.0, 10.4),
            record(10.0, 6.0)
        ]));
        assert!(!Arrivals::of(&clock).by_the_clock("p", PointKind::Latency));
    }

    #[test]
    fn one_disturbed_comparison_hides_nothing() {
        let clock = [8.0, 8.1, 11.0, 7.9].map(|slowed| record(10.0, slowed));
        assert!(decide(&clock));
        let inside = [10.0, 10.2, 5.0, 9.9].map(|slowed| record(10.0, slowed));
        assert!(!decide(&inside));
    }

    #[test]
    fn nonsense_decides_nothing() {
        let mut records = vec![record(0.0, 0.0), record(10.0, f64::NAN), record(-1.0, 3.0)];
        assert!(!decide(&records));
        for paused in [0.0, 1.0, f64::NAN] {
            let Record::Slowdown { points } = &mut records[0] else {
                return;
            };
            points[0] = SlowdownPoint {
                paused,
                plain: 10.0,
                slowed: 8.0,
                ..points[0].clone()
            };
            assert!(!decide(&[records[0].clone(), records[0].clone()]));
        }
    }
}
