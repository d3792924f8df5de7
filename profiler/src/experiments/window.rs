//! Measuring one window from observations.
//!
//! A window is in force for a lead-in, opens at a visit of the point that bounds it, and closes at
//! another one. Its period is virtual time over visits between the two, so neither the ±1 visit of
//! a count in a fixed time nor the pauses still owed at its start and end distort it.

use super::in_flight::{InFlight, Integral};
use super::observation::{Edge, Observation};
use super::pacing::{self, Pace};

/// A window is in force so long before it is measured, ns, that the pauses still owed are the
/// same at both its ends,
pub const LEAD_IN: u64 = 20_000_000;
/// longer when the line has changed, as threads must learn their share of hits anew:
const LEAD_IN_NEW_LINE: u64 = 50_000_000;
/// so many samples a busy thread,
const SAMPLES_NEW_LINE: u64 = 40;
/// but no longer than this.
const LONGEST_LEAD_IN: u64 = 300_000_000;

/// An edge may be off by this part of the window.
const EDGE_ERROR: f64 = 0.01;
/// Observations near an edge are this part of the window apart.
const EDGE_STEP: f64 = 0.0025;
/// Limits of that step, ns: finer costs more than it tells, coarser delays the end.
const STEP: (u64, u64) = (500_000, 10_000_000);
/// Longest sleep inside a window, ns: the deadline is moved on and samples are read that often.
const NAP: u64 = 50_000_000;
/// With latency points whose visits are not stamped, the number in flight is looked at this often,
/// ns. Latencies that are not longer by a good deal are doubtful: their threads owe pauses, and are
/// owed credit, of up to a period.
pub const LATENCY_NAP: u64 = 1_000_000;
/// After this time without an observation the target may have run on without pauses, ns.
const STALL: u64 = 400_000_000;
/// A program that uses no CPU time is waited for less long, ns.
const IDLE: u64 = 500_000_000;
/// So is one that works but passes its point no more: pauses may be all that it feels, ns.
const STANDSTILL: u64 = 1_000_000_000;
/// Pauses that leave the program less than this part of the time, while less than this part of the
/// usual visits is seen, bring it to a standstill: nobody would bear with that, and what little
/// virtual time is left is mostly the error of the pauses.
const STANDING: f64 = 0.12;
/// A window that still waits for its closing visit after this many lengths is given up.
const GIVE_UP: u64 = 4;

/// What a window is to be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// It opens no sooner after being put in force, ns.
    pub lead_in: u64,
    /// Nor before so many samples were taken,
    pub lead_in_samples: u64,
    /// unless this time is over, ns.
    pub longest_lead_in: u64,
    /// The point whose visits bound it.
    pub point: usize,
    /// Its length, ns.
    pub length: u64,
    /// How many latency points there are.
    pub pairs: usize,
    /// Visits expected in its length; 0 where it is to go on even if the program stands still.
    pub expected: u64,
}

impl Terms {
    /// Terms of a block's first window; `changed` says that the line was not selected before,
    /// `busy` is the number of threads that must learn their share of hits then.
    #[must_use]
    pub fn of_block(changed: bool, busy: u64, pace: Pace, pairs: usize) -> Terms {
        Terms {
            lead_in: if changed { LEAD_IN_NEW_LINE } else { LEAD_IN },
            lead_in_samples: if changed { SAMPLES_NEW_LINE * busy } else { 0 },
            longest_lead_in: LONGEST_LEAD_IN,
            point: pace.point,
            length: pace.length,
            pairs,
            expected: pace.visits,
        }
    }

    /// Terms of the block's later windows: the line is in the threads' memory by now.
    pub fn line_is_known(&mut self) {
        self.lead_in = LEAD_IN;
        self.lead_in_samples = 0;
    }
}

/// What to do after an observation.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Observe again after so many ns.
    Again(u64),
    /// Measured.
    Done(Measured),
    /// Not a measurement.
    Void(Void),
}

/// Why a window is not a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Void {
    /// The point was not visited.
    NoVisits,
    /// No CPU time was used.
    Idle,
    /// We were stopped, or the machine was.
    Stalled,
    /// Visits were seen, but never precisely enough.
    Blurred,
    /// Threads were let off pauses that they owed.
    Bounded,
    /// Pauses took nearly all of the time.
    Standing,
}

/// One measured window.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// When it opened, ns of `CLOCK_MONOTONIC`.
    pub start: u64,
    /// Wall time, ns.
    pub wall: u64,
    /// Virtual time, ns.
    pub duration: u64,
    /// Hits in it.
    pub hits: u64,
    /// Samples in it.
    pub samples: u64,
    /// Visits of each point in it.
    pub visits: Vec<u64>,
    /// Begins minus ends of each latency point at its end.
    pub differences: Vec<i64>,
    /// Number in flight × virtual time of each latency point, over the same stretch as `visits`.
    pub in_flight: Vec<Integral>,
    /// Of each point, the stretch between its first and its last well-known visit.
    pub stretches: Vec<Option<Stretch>>,
}

/// From one visit of a point to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// Visits, without the first.
    pub visits: u64,
    /// Virtual time, ns.
    pub duration: u64,
    /// Wall time, ns.
    pub wall: u64,
}

/// The window being measured.
#[derive(Debug, Clone)]
pub struct Meter {
    terms: Terms,
    published: Observation,
    last: Observation,
    opened: Option<Opened>,
}

#[derive(Debug, Clone)]
struct Opened {
    edge: Edge,
    /// The observation just after the edge.
    after: Observation,
    /// First and last well-known visit of each point.
    stretches: Vec<Option<(Edge, Edge)>>,
    /// Of each latency point.
    in_flight: Vec<InFlight>,
}

impl Meter {
    /// A window that was put in force just before `published` was observed.
    #[must_use]
    pub fn new(terms: Terms, published: Observation) -> Meter {
        Meter {
            terms,
            last: published.clone(),
            published,
            opened: None,
        }
    }

    /// Takes in an observation.
    pub fn observe(&mut self, now: Observation) -> Step {
        let before = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        if now.time.saturating_sub(before.time) > STALL {
            return Step::Void(Void::Stalled);
        }
        match self.opened.take() {
            None => self.try_to_open(&before),
            Some(opened) => self.go_on(opened, &before),
        }
    }

    fn step(&self, length: u64) -> u64 {
        ((length as f64 * EDGE_STEP) as u64).clamp(STEP.0, STEP.1)
    }

    fn try_to_open(&mut self, before: &Observation) -> Step {
        let (terms, now) = (&self.terms, &self.last);
        let in_force = now.time.saturating_sub(self.published.time);
        let samples = now.samples.saturating_sub(self.published.samples);
        if in_force < terms.lead_in {
            return Step::Again((terms.lead_in - in_force).min(NAP));
        }
        if samples < terms.lead_in_samples && in_force < terms.longest_lead_in {
            return Step::Again(self.step(terms.length).max(STEP.0 * 4));
        }
        let earliest = (self.published.time + terms.lead_in) as f64;
        let edge = Edge::between(before, now, terms.point)
            .filter(|edge| edge.time >= earliest)
            .filter(|edge| edge.error <= EDGE_ERROR * terms.length as f64);
        if let Some(edge) = edge {
            let points = now.counts.len();
            let mut opened = Opened {
                edge,
                after: now.clone(),
                stretches: vec![None; points],
                in_flight: (0..terms.pairs)
                    .map(|pair| InFlight::new(pair, now))
                    .collect(),
            };
            if let Some(stretch) = opened.stretches.get_mut(terms.point) {
                *stretch = Some((edge, edge));
            }
            let nap = self.nap(terms.length, &opened);
            self.opened = Some(opened);
            return Step::Again(nap);
        }
        if in_force > terms.longest_lead_in + terms.length * GIVE_UP {
            let visited = now.count(terms.point) > self.published.count(terms.point);
            return Step::Void(if visited {
                Void::Blurred
            } else {
                Void::NoVisits
            });
        }
        Step::Again(self.step(terms.length))
    }

    /// How long to sleep when `left` ns of the window are left.
    fn nap(&self, left: u64, opened: &Opened) -> u64 {
        let mut in_flight = opened.in_flight.iter();
        let longest = if in_flight.all(|pair| pair.is_stamped(&self.last)) {
            NAP
        } else {
            LATENCY_NAP
        };
        left.clamp(STEP.0, longest)
    }

    fn is_standing(&self, opened: &Opened, elapsed: u64, visits: u64) -> bool {
        let (terms, elapsed) = (&self.terms, elapsed as f64);
        let pauses = self.last.g.saturating_sub(opened.after.g) as f64;
        let usual = terms.expected as f64 * elapsed / terms.length.max(1) as f64;
        elapsed - pauses < STANDING * elapsed && (visits as f64) < STANDING * usual
    }

    fn go_on(&mut self, mut opened: Opened, before: &Observation) -> Step {
        let (terms, now) = (&self.terms, &self.last);
        for pair in &mut opened.in_flight {
            pair.look(before, now);
        }
        let elapsed = (now.time as f64 - opened.edge.time).max(0.0) as u64;
        let tolerance = EDGE_ERROR * terms.length.max(elapsed) as f64;
        opened.extend_stretches(before, now, tolerance);
        if elapsed < terms.length {
            let step = self.nap(terms.length - elapsed, &opened);
            self.opened = Some(opened);
            return Step::Again(step);
        }
        let visits = now.count(terms.point).saturating_sub(opened.edge.count);
        if self.is_standing(&opened, elapsed, visits) {
            return Step::Void(Void::Standing);
        }
        let enough = visits >= pacing::VISITS || (visits > 0 && elapsed >= pacing::LONGEST);
        let close = Edge::between(before, now, terms.point).filter(|e| e.error <= tolerance);
        if let Some(close) = close.filter(|_| enough) {
            return opened.close(close, now);
        }
        let idle = now.samples == opened.after.samples;
        let patience = match (visits, idle) {
            (_, true) => IDLE,
            (0, false) => STANDSTILL,
            _ => pacing::LONGEST,
        };
        if elapsed > terms.length.max(patience) * GIVE_UP {
            return Step::Void(match (visits, idle) {
                (0, true) => Void::Idle,
                (0, false) => Void::NoVisits,
                _ => Void::Blurred,
            });
        }
        let step = self.step(terms.length.max(elapsed));
        self.opened = Some(opened);
        Step::Again(step)
    }
}

impl Opened {
    fn extend_stretches(&mut self, before: &Observation, now: &Observation, tolerance: f64) {
        self.stretches
            .resize(now.counts.len().max(self.stretches.len()), None);
        for (point, stretch) in self.stretches.iter_mut().enumerate() {
            let edge = Edge::between(before, now, point).filter(|edge| edge.error <= tolerance);
            if let Some(edge) = edge {
                *stretch = Some((stretch.map_or(edge, |(first, _)| first), edge));
            }
        }
    }

    fn close(self, edge: Edge, now: &Observation) -> Step {
        let wall = (edge.time - self.edge.time).max(0.0) as u64;
        let duration = edge.virtual_since(&self.edge) as u64;
        let samples = now.samples.saturating_sub(self.after.samples);
        let visits = (0..now.counts.len())
            .map(|point| now.count(point).saturating_sub(self.after.count(point)))
            .collect();
        let stretches = self.stretches.iter().map(|stretch| {
            let (first, last) = stretch.as_ref()?;
            let visits = last
                .count
                .checked_sub(first.count)
                .filter(|visits| *visits > 0)?;
            Some(Stretch {
                visits,
                duration: last.virtual_since(first) as u64,
                wall: (last.time - first.time).max(0.0) as u64,
            })
        });
        Step::Done(Measured {
            start: self.edge.time as u64,
            wall,
            duration,
            hits: now.hits.saturating_sub(self.after.hits),
            samples,
            visits,
            differences: (now.flows.iter())
                .map(|(begin, end)| begin.count.wrapping_sub(end.count).cast_signed())
                .collect(),
            in_flight: self.in_flight.iter().map(|pair| pair.up_to(now)).collect(),
            stretches: stretches.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::shared_region::Flow;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn terms(length: u64) -> Terms {
        Terms {
            lead_in: 20 * MS,
            lead_in_samples: 0,
            longest_lead_in: 200 * MS,
            point: 0,
            length,
            pairs: 0,
            expected: 0,
        }
    }

    /// A simulated target: a visit each `period` of virtual time, G grows by `rate` of wall time,
    /// and each poll comes late by up to `late`.
    struct Simulated {
        period: f64,
        rate: f64,
        late: u64,
        random: u64,
        time: u64,
    }

    impl Simulated {
        fn observe(&self) -> Observation {
            let g = (self.time as f64 * self.rate) as u64;
            let count = ((self.time - g) as f64 / self.period) as u64;
            Observation {
                time: self.time,
                g,
                hits: 0,
                samples: self.time / MS,
                counts: vec![count],
                flows: Vec::new(),
            }
        }

        fn measure(&mut self, terms: Terms) -> Step {
            let mut meter = Meter::new(terms, self.observe());
            loop {
                match meter.observe(self.observe()) {
                    Step::Again(wait) => {
                        self.random = self
                            .random
                            .wrapping_mul(6364136223846793005)
                            .wrapping_add(99);
                        let late = if self.late == 0 {
                            0
                        } else {
                            (self.random >> 33) % self.late
                        };
                        self.time += wait + late;
                    }
                    end => return end,
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_period_is_found_whatever_the_phase(
            start in 0u64..10_000_000_000, period in 0.05f64..300.0, rate in 0.0f64..0.7,
            late in 0u64..5_000_000,
        ) {
            let period_ns = period * 1e6;
            let mut target = Simulated { period: period_ns, rate, late, random: start, time: start };
            let length = (period_ns * 11.0 / (1.0 - rate)).clamp(200e6, 5e9) as u64;
            let Step::Done(window) = target.measure(terms(length)) else {
                return Err(TestCaseError::fail("void"));
            };
            let stretch = window.stretches[0].unwrap();
            let found = stretch.duration as f64 / stretch.visits as f64;
            // Two edges, each off by 1 % of the window at worst.
            prop_assert!((found / period_ns - 1.0).abs() < 0.021, "{found} {period_ns}");
            prop_assert!(stretch.visits >= 10 || window.wall >= 4_900 * MS);
            prop_assert_eq!(window.duration, stretch.duration);
            prop_assert!(0 < window.duration && window.duration <= window.wall);
            prop_assert!(window.start >= start + 20 * MS);
        }
    }

    #[test]
    fn fine_polls_find_the_period_to_a_quarter_of_a_percent() {
        let mut target = Simulated {
            period: 7.5e6,
            rate: 0.3,
            late: 0,
            random: 1,
            time: 1,
        };
        for _ in 0..20 {
            let Step::Done(window) = target.measure(terms(200 * MS)) else {
                panic!("void")
            };
            let stretch = window.stretches[0].unwrap();
            let found = stretch.duration as f64 / stretch.visits as f64;
            assert!((found / 7.5e6 - 1.0).abs() < 0.005, "{found}");
        }
    }

    #[test]
    fn a_program_that_stands_still_is_let_go() {
        let measure = |rate: f64, expected| {
            let period = 1e6;
            let mut target = Simulated {
                period,
                rate,
                late: 0,
                random: 1,
                time: 1,
            };
            let mut terms = terms(200 * MS);
            terms.expected = expected;
            target.measure(terms)
        };
        assert_eq!(measure(0.95, 200), Step::Void(Void::Standing));
        // Half of the visits, or pauses that do not keep the program from its visits.
        assert!(matches!(measure(0.5, 200), Step::Done(_)));
        assert!(matches!(measure(0.95, 10), Step::Done(_)));
        assert!(matches!(measure(0.95, 0), Step::Done(_)));
    }

    #[test]
    fn a_program_that_stops_visiting_gives_no_measurement() {
        let mut target = Simulated {
            period: f64::INFINITY,
            rate: 0.0,
            late: 0,
            random: 1,
            time: 1,
        };
        assert_eq!(target.measure(terms(200 * MS)), Step::Void(Void::NoVisits));
    }

    #[test]
    fn a_stop_in_the_middle_gives_no_measurement() {
        let mut target = Simulated {
            period: 1e6,
            rate: 0.0,
            late: 0,
            random: 1,
            time: 1,
        };
        let mut meter = Meter::new(terms(200 * MS), target.observe());
        for step in [30 * MS, 50 * MS, 500 * MS] {
            target.time += step;
            let last = meter.observe(target.observe());
            assert_eq!(matches!(last, Step::Void(Void::Stalled)), step == 500 * MS);
        }
    }

    #[test]
    fn in_flight_is_integrated_over_virtual_time() {
        let mut terms = terms(200 * MS);
        terms.pairs = 1;
        let flow = |count| Flow {
            count,
            ..Flow::default()
        };
        let seen = |time: u64| Observation {
            time: time * MS,
            samples: time,
            counts: vec![time + 3, time],
            flows: vec![(flow(time + 3), flow(time))],
            ..Observation::default()
        };
        let mut meter = Meter::new(terms, seen(0));
        let window = (1..).find_map(|time| match meter.observe(seen(time)) {
            Step::Done(window) => Some(window),
            Step::Again(_) => None,
            Step::Void(void) => panic!("{void:?}"),
        });
        let window = window.unwrap();
        // Not stamped: the count says 0 stamps of so many visits.
        assert!(!window.in_flight[0].stamped);
        let mean = window.in_flight[0].value / window.duration as f64;
        assert!((mean / 3.0 - 1.0).abs() < 0.02, "{mean}");
        assert_eq!(window.differences, [3]);
        assert_eq!(window.visits[0], window.visits[1]);
    }
}
