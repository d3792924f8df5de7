//! How many units of work were between begin and end: L of Little's law, as its integral over
//! virtual time.
//!
//! Where the runtime stamps visits with virtual time, the integral follows from the sums of the
//! stamps alone: what begins at b and ends at e was in flight for e − b. Where programs count by
//! themselves (another header), the number in flight is polled and integrated over wall time, and
//! the integral over G, which the runtime keeps, is taken off.

use super::observation::Observation;
use crate::targets::shared_region::Flow;

/// The integral from an observation on, of one latency point.
#[derive(Debug, Clone)]
pub struct InFlight {
    pair: usize,
    begin: Flow,
    end: Flow,
    /// Wall time minus G at its beginning, ns.
    virtual_time: u64,
    /// Polled number × wall time.
    over_wall: f64,
}

/// The integral up to an observation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integral {
    /// Number in flight × virtual time, ns.
    pub value: f64,
    /// It comes from stamps; else from polls, which cannot tell short latencies.
    pub stamped: bool,
}

impl InFlight {
    /// Begins at an observation, for its latency point number `pair`.
    #[must_use]
    pub fn new(pair: usize, at: &Observation) -> InFlight {
        let (begin, end) = at.flow(pair);
        InFlight {
            pair,
            begin,
            end,
            virtual_time: at.virtual_time(),
            over_wall: 0.0,
        }
    }

    /// Takes in the time between two observations.
    pub fn look(&mut self, before: &Observation, now: &Observation) {
        let number = |at: &Observation| {
            let (begin, end) = at.flow(self.pair);
            // Reading begin and end is not one moment: less than none is none.
            signed(begin.count.wrapping_sub(end.count)).max(0.0)
        };
        let time = now.time.saturating_sub(before.time) as f64;
        self.over_wall += (number(before) + number(now)) / 2.0 * time;
    }

    /// The integral up to an observation.
    #[must_use]
    pub fn up_to(&self, now: &Observation) -> Integral {
        let (begin, end) = now.flow(self.pair);
        if let Some(value) = self.by_stamps(begin, end, now.virtual_time()) {
            return Integral {
                value: value.max(0.0),
                stamped: true,
            };
        }
        let begins = begin.over_g.wrapping_sub(self.begin.over_g);
        let ends = end.over_g.wrapping_sub(self.end.over_g);
        Integral {
            value: (self.over_wall - signed(begins.wrapping_sub(ends))).max(0.0),
            stamped: false,
        }
    }

    /// Whether all visits so far were stamped, so that nobody needs to poll.
    #[must_use]
    pub fn is_stamped(&self, now: &Observation) -> bool {
        let (begin, end) = now.flow(self.pair);
        all_stamped(self.begin, begin).is_some() && all_stamped(self.end, end).is_some()
    }

    /// N·t at the end − N·t at the beginning − Σ begins' t + Σ ends' t, all modulo 2^64: the
    /// result fits, whatever the clock's zero.
    fn by_stamps(&self, begin: Flow, end: Flow, virtual_time: u64) -> Option<f64> {
        let begins = all_stamped(self.begin, begin)?;
        let ends = all_stamped(self.end, end)?;
        let number = |begin: Flow, end: Flow| begin.count.wrapping_sub(end.count);
        let last = number(begin, end).wrapping_mul(virtual_time);
        let first = number(self.begin, self.end).wrapping_mul(self.virtual_time);
        let change = last.wrapping_sub(first);
        Some(signed(change.wrapping_sub(begins).wrapping_add(ends)))
    }
}

fn signed(word: u64) -> f64 {
    word.cast_signed() as f64
}

/// The sum of the stamps between two looks, if every visit had one.
fn all_stamped(from: Flow, to: Flow) -> Option<u64> {
    let (visits_from, sum_from) = from.stamped?;
    let (visits_to, sum_to) = to.stamped?;
    let stamped = visits_to.wrapping_sub(visits_from);
    (stamped == to.count.wrapping_sub(from.count)).then_some(sum_to.wrapping_sub(sum_from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const US: u64 = 1_000;

    /// A simulated target: units of work that begin and end, while G grows in jumps.
    #[derive(Debug, Clone)]
    struct Simulated {
        /// Begin and end of each, ns of wall time.
        units: Vec<(u64, u64)>,
        /// When G grew, and by how much.
        jumps: Vec<(u64, u64)>,
        /// The clock's zero.
        zero: u64,
        stamps: bool,
    }

    impl Simulated {
        fn g(&self, time: u64) -> u64 {
            let jumps = self.jumps.iter().filter(|(at, _)| *at <= time);
            jumps.map(|(_, by)| by).sum()
        }

        fn flow(&self, time: u64, at: impl Fn(&(u64, u64)) -> u64) -> Flow {
            let visits: Vec<u64> = self.units.iter().map(at).filter(|t| *t <= time).collect();
            let count = visits.len() as u64;
            let over_g = self
                .jumps
                .iter()
                .filter(|(jump, _)| *jump <= time)
                .map(|(jump, by)| visits.iter().filter(|t| *t <= jump).count() as u64 * by);
            let stamp = |t: &u64| (self.zero + t).wrapping_sub(self.g(*t));
            let sum = visits.iter().map(stamp).fold(0, u64::wrapping_add);
            Flow {
                count,
                over_g: over_g.sum(),
                stamped: Some(if self.stamps { (count, sum) } else { (0, 0) }),
            }
        }

        fn observe(&self, time: u64) -> Observation {
            let flows = (self.flow(time, |u| u.0), self.flow(time, |u| u.1));
            Observation {
                time: self.zero + time,
                g: self.g(time),
                flows: vec![flows],
                ..Observation::default()
            }
        }

        /// Number in flight × virtual time, counted unit by unit.
        fn truth(&self, from: u64, to: u64) -> f64 {
            let clip = |t: u64| t.clamp(from, to);
            let in_flight = |(begin, end): &(u64, u64)| {
                let (begin, end) = (clip(*begin), clip(*end));
                (end - begin) as f64 - (self.g(end) - self.g(begin)) as f64
            };
            self.units.iter().map(in_flight).sum()
        }

        fn integral(&self, from: u64, to: u64, step: u64) -> Integral {
            let mut before = self.observe(from);
            let mut sum = InFlight::new(0, &before);
            let mut time = from;
            while time < to {
                time = (time + step).min(to);
                let now = self.observe(time);
                sum.look(&before, &now);
                before = now;
            }
            sum.up_to(&before)
        }
    }

    prop_compose! {
        fn target()(
            units in proptest::collection::vec((0u64..1000, 1u64..300), 1..60),
            jumps in proptest::collection::vec((0u64..1000, 1u64..10), 0..60),
            zero in 0u64..u64::MAX / 4,
        ) -> Simulated {
            // At different moments, so that a jump leaves no doubt about who was in flight.
            Simulated {
                units: units.iter().map(|(b, l)| (b * US, (b + l) * US)).collect(),
                jumps: jumps.iter().map(|(at, by)| (at * US + 1, by * US)).collect(),
                zero,
                stamps: true,
            }
        }
    }

    proptest! {
        #[test]
        fn stamps_give_the_integral_exactly(target in target(), from in 0u64..500, length in 100u64..500) {
            let (from, to) = (from * US + 2, (from + length) * US + 2);
            let found = target.integral(from, to, to);
            prop_assert!(found.stamped);
            let truth = target.truth(from, to).max(0.0);
            prop_assert!((found.value - truth).abs() < 1.0, "{found:?} {truth}");
        }

        #[test]
        fn fine_polls_and_the_integral_over_g_come_near(target in target()) {
            let target = Simulated { stamps: false, ..target };
            let found = target.integral(2, 1_500 * US + 2, US);
            prop_assert!(!found.stamped);
            // Each visit may be half a poll off.
            let tolerance = target.units.len() as f64 * US as f64;
            let truth = target.truth(2, 1_500 * US + 2).max(0.0);
            prop_assert!((found.value - truth).abs() <= tolerance, "{found:?} {truth}");
        }

        #[test]
        fn a_look_in_between_changes_nothing(target in target(), at in 1u64..900) {
            let (whole, cut) = (1_000 * US + 2, at * US + 2);
            let first = target.integral(2, cut, cut).value;
            let second = target.integral(cut, whole, whole).value;
            // G may jump by more than the time since the last visit: then one part is cut off at 0.
            prop_assume!(first > 0.0 && second > 0.0);
            prop_assert!((first + second - target.integral(2, whole, whole).value).abs() < 2.0);
        }
    }

    #[test]
    fn a_visit_without_a_stamp_means_polls() {
        let mut target = Simulated {
            units: vec![(1, 10)],
            jumps: vec![],
            zero: 5,
            stamps: true,
        };
        let sum = InFlight::new(0, &target.observe(0));
        assert!(sum.is_stamped(&target.observe(20)));
        target.stamps = false;
        assert!(!sum.is_stamped(&target.observe(20)));
        let mut under_way = target.observe(20);
        under_way.flows[0].1.stamped = None;
        assert!(!sum.up_to(&under_way).stamped);
    }
}
