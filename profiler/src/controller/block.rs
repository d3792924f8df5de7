//! One experiment under way: a paired block of windows with one line, from choice to records.

use coz_rs_plot::record::{Experiment, PointEdges, Record};

use super::attribution::{latency_pairs, may_bound, observe};
use super::slowdown::{self, Slowing};
use super::{Controller, DEADLINE, Phase};
use crate::clock::now;
use crate::doubt::Doubt;
use crate::experiments::choice::{Candidate, LEVELS, Order, STEP, below_standstill};
use crate::experiments::in_flight::Integral;
use crate::experiments::observation::Observation;
use crate::experiments::window::{LATENCY_NAP, LEAD_IN, Measured, Meter, Step, Terms, Void};
use crate::line_tally::LineNumber;
use crate::run::PERIOD;
use crate::symbols::{HitRanges, LineId};
use crate::targets::processor_wait::{ProcessorWait, Waited};
use crate::targets::shared_region::{PlanToPublish, PointKind};
use crate::targets::target::Target;

/// An experiment under way.
#[derive(Debug)]
pub(super) struct Block {
    number: u64,
    target: u32,
    line: LineNumber,
    id: LineId,
    location: String,
    ranges: HitRanges,
    speedup: f64,
    order: Order,
    terms: Terms,
    /// Name, begin and end of each latency point.
    pairs: Vec<(String, (usize, usize))>,
    measured: Vec<Measured>,
    /// What else happened to the machine in each measured window.
    waited: Vec<Waited>,
    meter: Option<Meter>,
    /// What `--max-pause` had forgiven when the window was put in force, ns.
    forgiven: u64,
    wait: ProcessorWait,
    /// All threads are slowed down in place of a line sped up.
    slows: bool,
    slowing: Option<Slowing>,
}

/// A latency shorter than this many looks at it is doubtful.
const LOOKS: f64 = 5.0;

/// The doubt about a latency point whose latency is short and was polled.
fn short_latency(name: &str, arrivals: u64, in_flight: Integral) -> Option<Doubt> {
    let latency = in_flight.value / arrivals.max(1) as f64;
    let short = arrivals > 0 && !in_flight.stamped && latency < LOOKS * LATENCY_NAP as f64;
    short.then(|| Doubt::ShortLatency {
        name: name.to_owned(),
    })
}

/// Whether `--max-pause` let threads off too much of what they owed: the window then looks faster
/// than the line would make the program. A fiftieth is within the noise.
fn is_bounded(target: &Target, before: u64, measured: &Measured) -> bool {
    let forgiven = target.region.forgiven().saturating_sub(before);
    let owed = measured.wall.saturating_sub(measured.duration);
    forgiven > owed / 50
}

/// Lets a target run without pauses and without bookkeeping.
pub(super) fn release(target: &Target) {
    target.region.set_active(false);
    target.region.set_deadline(0);
}

impl Block {
    /// How long to wait at most.
    fn step(&self, wait: u64) -> u64 {
        if self.slowing.is_some() {
            wait.min(slowdown::STEP)
        } else {
            wait
        }
    }

    /// CPU time per wall time in the baseline windows.
    fn load(&self) -> f64 {
        let windows = self.order.windows().iter().zip(&self.measured);
        let baselines = || windows.clone().filter(|(at, _)| !**at);
        let samples: u64 = baselines().map(|(_, measured)| measured.samples).sum();
        let wall: u64 = baselines().map(|(_, measured)| measured.wall).sum();
        samples as f64 * PERIOD as f64 / wall.max(1) as f64
    }

    pub(super) fn order(&self) -> Order {
        self.order
    }

    pub(super) fn measured(&self) -> &[Measured] {
        &self.measured
    }

    fn observe(&self, target: &Target) -> Observation {
        let pairs: Vec<_> = self.pairs.iter().map(|(_, pair)| *pair).collect();
        observe(target, &pairs)
    }
}

impl Controller<'_> {
    /// Chooses target, line, speedup and order.
    pub(super) fn choose_block(&mut self) -> Option<Box<Block>> {
        let stay = self.last_selected.filter(|_| self.session.chooser.stay());
        let index = self.choose_target(stay.map(|(target, _)| target))?;
        let number = self.targets[index].number;
        let candidates = self.candidates(index);
        let kept = stay.and_then(|(_, line)| {
            candidates
                .iter()
                .position(|(_, number, _)| *number as u64 + 1 == line)
        });
        let chosen = match kept {
            Some(kept) => kept,
            None => {
                let all: Vec<Candidate> = candidates.iter().map(|c| c.2.clone()).collect();
                if self.session.plan.fixed_lines.is_empty() {
                    self.session.chooser.line(&all)?
                } else {
                    self.session.chooser.least_tried(&all)?
                }
            }
        };
        let (id, line, candidate) = candidates.into_iter().nth(chosen)?;
        let speedup = self.session.chooser.speedup(&candidate);
        let order = self.session.chooser.order();
        let target = &mut self.targets[index];
        let ranges = target.symbols.as_mut()?.hit_ranges(id);
        let location = self.session.tally.line(line)?.location.clone();
        if !ranges.fit() {
            self.session.doubts.insert(Doubt::TooManyRanges {
                location: location.clone(),
            });
        }
        let changed = self.last_selected != Some((number, line as u64 + 1));
        let pairs = latency_pairs(target);
        let rates = self.attribution.rates(number)?;
        let mut pace = rates
            .pace(self.session.plan.window, |point| may_bound(target, point))
            .or_else(|| rates.pace(self.session.plan.window, |_| true))?;
        let slows = self.session.slowdowns.wanted(&target.executable);
        if slows {
            pace.length *= slowdown::LONGER;
        }
        if slows || self.session.chooser.is_fixed() {
            pace.visits = 0;
        }
        let busy = self.attribution.busy_threads(number) as u64;
        self.next_block += 1;
        Some(Box::new(Block {
            number: self.next_block,
            target: number,
            line,
            id,
            location,
            ranges,
            speedup,
            order,
            terms: Terms::of_block(changed, busy, pace, pairs.len()),
            pairs,
            measured: Vec::new(),
            waited: Vec::new(),
            meter: None,
            forgiven: 0,
            wait: ProcessorWait::default(),
            slows,
            slowing: None,
        }))
    }

    /// The target to experiment on: one with visits, in proportion to its samples.
    fn choose_target(&mut self, stay: Option<u32>) -> Option<usize> {
        let fixed = !self.session.plan.fixed_lines.is_empty();
        let eligible = |target: &Target| {
            let in_scope = self.attribution.in_scope(target.number);
            let able = target.region.turned_off().is_none()
                && target.symbols.is_some()
                && !target.is_traced()
                && !target.is_going_over();
            let weight = if fixed { in_scope.max(1) } else { in_scope };
            if able && self.attribution.is_visited(target.number) {
                weight
            } else {
                0
            }
        };
        let weights: Vec<u64> = self.targets.iter().map(eligible).collect();
        let kept = stay.and_then(|number| {
            self.targets
                .iter()
                .position(|target| target.number == number)
        });
        if let Some(kept) = kept.filter(|kept| weights[*kept] > 0) {
            return Some(kept);
        }
        let chosen = self.session.chooser.in_proportion(&weights)?;
        if self
            .last_selected
            .is_some_and(|(target, _)| target != self.targets[chosen].number)
        {
            self.release_all();
        }
        Some(chosen)
    }

    fn candidates(&mut self, index: usize) -> Vec<(LineId, LineNumber, Candidate)> {
        let target = &mut self.targets[index];
        let session = &mut *self.session;
        if session.plan.fixed_lines.is_empty() {
            let busy = self.attribution.busy_threads(target.number);
            return session.tally.candidates(target.number, busy);
        }
        let Some(symbols) = &mut target.symbols else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for text in &session.plan.fixed_lines {
            match symbols.find_line(text) {
                Ok(id) => {
                    let line = symbols.line(id);
                    let location = line.location.clone();
                    let number = session.tally.number(
                        target.number,
                        id,
                        location,
                        &line.function_and_aliases(),
                    );
                    found.push((id, number));
                }
                Err(error) => session.learned.note_missing_line(error.to_string()),
            }
        }
        found
            .into_iter()
            .filter_map(|(id, number)| {
                let line = session.tally.line(number)?;
                let candidate = line.candidate(1.0);
                Some((id, number, candidate))
            })
            .collect()
    }

    /// Puts the block's first window in force.
    pub(super) fn begin(&mut self, mut block: Box<Block>) -> u64 {
        if let Some(first) = self
            .attribution
            .first_sample()
            .filter(|_| block.number == 1)
        {
            let waited = now().saturating_sub(first) / 1_000_000;
            log::info!("the first experiment begins {waited} ms after the first sample");
        }
        self.targets.iter_mut().for_each(Target::wake);
        let wait = self.put_in_force(&mut block);
        self.phase = Phase::Experiment(block);
        wait
    }

    /// Puts the block's next window in force; how long to wait, ns.
    fn put_in_force(&mut self, block: &mut Block) -> u64 {
        let Some(target) = self
            .targets
            .iter_mut()
            .find(|target| target.number == block.target)
        else {
            return 0;
        };
        let at_speedup = block.order.windows().get(block.measured.len());
        let line = block.line as u64 + 1;
        target.region.set_deadline(now() + DEADLINE);
        target.region.publish_plan(&PlanToPublish {
            window: self.next_window,
            line,
            speedup: if at_speedup == Some(&true) && !block.slows {
                block.speedup
            } else {
                0.0
            },
            ranges: &block.ranges,
            crowded: target.crowd.is_crowded(),
        });
        target.region.set_active(true);
        target.crowd.begin(target.pid, at_speedup == Some(&false));
        target.blocking.begin(target.pid, &target.region);
        let shown = match at_speedup {
            Some(true) => block.speedup,
            _ => 0.0,
        };
        self.session.status.window(&block.location, shown);
        self.next_window += 1;
        self.last_selected = Some((block.target, line));
        if !block.measured.is_empty() {
            block.terms.line_is_known();
        }
        block.wait = ProcessorWait::read(target.pid);
        let slows = at_speedup == Some(&true) && block.slows;
        block.slowing = slows.then(|| Slowing { since: now() });
        block.forgiven = target.region.forgiven();
        block.meter = Some(Meter::new(block.terms.clone(), block.observe(target)));
        block.step(LEAD_IN)
    }

    /// Observes the block's window; how long to wait for the next time, ns.
    pub(super) fn go_on_with(&mut self, mut block: Box<Block>) -> u64 {
        let Some(target) = self
            .targets
            .iter_mut()
            .find(|target| target.number == block.target)
        else {
            return self.next_experiment();
        };
        // A window in which the program ended is none.
        if target.has_ended() || target.region.turned_off().is_some() {
            self.look_around();
            return self.next_experiment();
        }
        if let Some(tracer) = target.mind_tracer() {
            release(target);
            let pid = target.pid;
            self.session.doubts.insert(Doubt::Traced { pid, tracer });
            return self.after_void(Void::Stalled);
        }
        if let Some(slowing) = &mut block.slowing {
            slowing.go_on(target, now());
        }
        let observation = block.observe(target);
        target.region.set_deadline(observation.time + DEADLINE);
        let Some(meter) = &mut block.meter else {
            return self.next_experiment();
        };
        match meter.observe(observation) {
            Step::Again(mut wait) => {
                // Waits at an edge are short, and stay so.
                if wait > 4_000_000 {
                    let began = now();
                    self.attribution.hold(target);
                    target.blocking.look(target.pid, &target.region);
                    wait = wait.saturating_sub(now().saturating_sub(began));
                }
                let wait = block.step(wait);
                self.phase = Phase::Experiment(block);
                wait
            }
            Step::Void(void) => {
                log::debug!("block {} at {}: {void:?}", block.number, block.location);
                if void == Void::Standing {
                    self.keep_below(&block);
                }
                self.after_void(void)
            }
            Step::Done(measured) => {
                // It may have ended since the last visit.
                if target.has_ended() {
                    self.look_around();
                    return self.next_experiment();
                }
                if is_bounded(target, block.forgiven, &measured) {
                    return self.after_void(Void::Bounded);
                }
                self.void_in_a_row = 0;
                target.crowd.end(target.pid);
                block.measured.push(measured);
                let waited = ProcessorWait::read(target.pid).since(&block.wait);
                block.waited.push(waited);
                if block.measured.len() < block.order.windows().len() {
                    let wait = self.put_in_force(&mut block);
                    self.phase = Phase::Experiment(block);
                    return wait;
                }
                self.complete(&block);
                self.look_around();
                self.session.think();
                self.next_experiment()
            }
        }
    }

    /// Tries no more what brought the program to a standstill.
    fn keep_below(&mut self, block: &Block) {
        let level = (block.speedup * 100.0 / f64::from(STEP)).round() as usize;
        if let Some(line) = self.session.tally.line_mut(block.line) {
            line.limit = line.limit.min(below_standstill(level));
        }
    }

    fn complete(&mut self, block: &Block) {
        let Some(target) = self
            .targets
            .iter()
            .find(|target| target.number == block.target)
        else {
            return;
        };
        let busy = self.attribution.busy_threads(target.number);
        let program = &target.executable;
        let slowdowns = &mut self.session.slowdowns;
        slowdowns.note(program, block.load(), busy, block.slows);
        if block.slows {
            let record = slowdown::record(block, target);
            log::debug!(
                "block {}: all threads slowed down: {record:?}",
                block.number
            );
            self.session.log.append(&[record]);
            return;
        }
        let mut records = Vec::new();
        let windows = block.order.windows().iter().zip(&block.measured);
        for ((at_speedup, measured), waited) in windows.zip(&block.waited) {
            let speedup = if *at_speedup { block.speedup } else { 0.0 };
            records.extend(self.window_records(block, target, speedup, measured, *waited));
        }
        for measured in &block.measured {
            for ((name, (begin, _)), in_flight) in block.pairs.iter().zip(&measured.in_flight) {
                let arrivals = measured.visits.get(*begin).copied().unwrap_or(0);
                let doubt = short_latency(name, arrivals, *in_flight);
                self.session.doubts.extend(doubt);
            }
        }
        self.session.log.append(&records);
        self.session.learned.note_experiment();
        let level = (block.speedup * 100.0 / f64::from(STEP)).round() as usize;
        if let Some(line) = self.session.tally.line_mut(block.line)
            && (1..=LEVELS).contains(&level)
        {
            line.tried[level - 1] += 1;
        }
        log::debug!(
            "block {}: {} (line {:?}) at {:.0} %",
            block.number,
            block.location,
            block.id,
            block.speedup * 100.0
        );
    }

    fn window_records(
        &self,
        block: &Block,
        target: &Target,
        speedup: f64,
        measured: &Measured,
        waited: Waited,
    ) -> Vec<Record> {
        let throughput = |(_, point): &(usize, &crate::targets::target::Point)| {
            point.kind == PointKind::Throughput
        };
        let points = || target.points.iter().enumerate().filter(throughput);
        let edges = points().filter_map(|(index, point)| {
            let stretch = (*measured.stretches.get(index)?)?;
            Some(PointEdges {
                name: point.name.clone(),
                visits: stretch.visits,
                duration: stretch.duration,
                wall: stretch.wall,
            })
        });
        let mut records = vec![Record::Experiment(Experiment {
            selected: block.location.clone(),
            speedup,
            duration: measured.duration,
            selected_samples: measured.hits,
            block: Some(block.number),
            wall: Some(measured.wall),
            start: Some(measured.start.saturating_sub(self.started)),
            samples: Some(measured.samples),
            waited: waited.waited,
            stolen: waited.stolen,
            layout: None,
            edges: edges.collect(),
        })];
        let visits = |point: usize| measured.visits.get(point).copied().unwrap_or(0);
        records.extend(points().map(|(index, point)| Record::ThroughputPoint {
            name: point.name.clone(),
            delta: visits(index),
        }));
        for (number, (name, (begin, end))) in block.pairs.iter().enumerate() {
            records.push(Record::LatencyPoint {
                name: name.clone(),
                arrivals: visits(*begin),
                departures: visits(*end),
                difference: measured.differences.get(number).copied().unwrap_or(0),
                // Over the same visits as the arrivals, whose stretch is not quite the window's:
                // what counts is the product.
                mean_in_flight: (measured.in_flight.get(number))
                    .map(|in_flight| in_flight.value / measured.duration.max(1) as f64),
            });
        }
        records
    }
}
