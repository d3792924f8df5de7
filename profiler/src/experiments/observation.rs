//! What the controller sees of a target at one moment, and visits found between two moments.

use crate::targets::shared_region::Flow;

/// Wall time, G and the counters, read together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observation {
    /// `CLOCK_MONOTONIC`, ns.
    pub time: u64,
    /// G, ns.
    pub g: u64,
    /// Hits so far.
    pub hits: u64,
    /// Samples so far.
    pub samples: u64,
    /// Visits of each progress point so far, in the order of the target's counters.
    pub counts: Vec<u64>,
    /// Of each latency point's begin and end, in the order of the window's pairs.
    pub flows: Vec<(Flow, Flow)>,
}

impl Observation {
    /// Visits of a point; 0 for one that did not exist yet.
    #[must_use]
    pub fn count(&self, point: usize) -> u64 {
        self.counts.get(point).copied().unwrap_or(0)
    }

    /// Begin and end of a latency point; nothing of one that did not exist yet.
    #[must_use]
    pub fn flow(&self, pair: usize) -> (Flow, Flow) {
        self.flows.get(pair).copied().unwrap_or_default()
    }

    /// Wall time minus G, ns.
    #[must_use]
    pub fn virtual_time(&self) -> u64 {
        self.time.wrapping_sub(self.g)
    }
}

/// The moment of a visit, as well as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Visits up to and including this one.
    pub count: u64,
    /// Wall time, ns.
    pub time: f64,
    /// G at that time, ns.
    pub g: f64,
    /// How far off the time may be, ns.
    pub error: f64,
}

impl Edge {
    /// The last visit of `point` between two observations.
    ///
    /// Of k visits spread over a gap, the last is expected at k/(k+1) of it, give or take
    /// gap/(k+1): a frequent point has an edge at every observation, a rare one only where the
    /// observations lie close together.
    #[must_use]
    pub fn between(before: &Observation, after: &Observation, point: usize) -> Option<Edge> {
        let visits = after.count(point).checked_sub(before.count(point))?;
        if visits == 0 || after.time <= before.time {
            return None;
        }
        let gap = (after.time - before.time) as f64;
        let part = visits as f64 / (visits as f64 + 1.0);
        Some(Edge {
            count: after.count(point),
            time: before.time as f64 + gap * part,
            g: before.g as f64 + after.g.saturating_sub(before.g) as f64 * part,
            error: gap / (visits as f64 + 1.0),
        })
    }

    /// Virtual time between an earlier edge and this one, ns.
    #[must_use]
    pub fn virtual_since(&self, earlier: &Edge) -> f64 {
        ((self.time - earlier.time) - (self.g - earlier.g)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(time: u64, g: u64, count: u64) -> Observation {
        Observation {
            time,
            g,
            counts: vec![count],
            ..Observation::default()
        }
    }

    #[test]
    fn one_visit_is_in_the_middle_and_many_reach_the_end() {
        assert_eq!(Edge::between(&seen(0, 0, 4), &seen(100, 10, 4), 0), None);
        let one = Edge::between(&seen(0, 0, 4), &seen(100, 10, 5), 0).unwrap();
        assert_eq!(
            (one.time, one.g, one.error, one.count),
            (50.0, 5.0, 50.0, 5)
        );
        let many = Edge::between(&seen(0, 0, 4), &seen(100, 10, 103), 0).unwrap();
        assert_eq!((many.time, many.error), (99.0, 1.0));
        assert_eq!(Edge::between(&seen(0, 0, 4), &seen(100, 10, 5), 7), None);
    }

    #[test]
    fn virtual_time_leaves_out_what_g_grew() {
        let edge = |time, g| Edge {
            count: 0,
            time,
            g,
            error: 0.0,
        };
        assert_eq!(edge(100.0, 30.0).virtual_since(&edge(20.0, 10.0)), 60.0);
        assert_eq!(edge(30.0, 30.0).virtual_since(&edge(20.0, 10.0)), 0.0);
    }
}
