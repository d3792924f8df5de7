//! Between windows: samples get their lines, targets their unwind tables, points their names.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::clock::now;
use crate::doubt::Doubt;
use crate::experiments::observation::Observation;
use crate::experiments::pacing::VisitRates;
use crate::line_tally::LineTally;
use crate::symbols::{Owner, Scope, Symbols};
use crate::targets::shared_region::{Flow, PointKind, Sample, TableToPublish};
use crate::targets::target::Target;

/// Modules are looked at again this often at most, when code of an unknown one was sampled,
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// and this often without: another library may have come to where one was.
const LOOK_ANYWAY: Duration = Duration::from_secs(2);
/// Of the busiest thread's samples, a busy thread has at least this part.
const BUSY: f64 = 0.1;
/// What is left of a thread's old samples at each look.
const FADE: f64 = 0.9;
/// Samples held back while a window is measured, at most.
const HELD: usize = 100_000;

/// What is known of each target beyond what it carries itself.
#[derive(Debug)]
pub(super) struct Attribution {
    scope: Scope,
    by_target: HashMap<u32, Seen>,
    /// Samples read and lost of targets that have ended.
    ended: (u64, u64),
    /// When the first sample was seen, ns.
    first_sample: Option<u64>,
}

#[derive(Debug, Default)]
struct Seen {
    rates: VisitRates,
    held: Vec<Sample>,
    threads: HashMap<u32, f64>,
    in_scope: u64,
    read: u64,
    lost: u64,
}

impl Attribution {
    pub(super) fn new(scope: Scope) -> Attribution {
        Attribution {
            scope,
            by_target: HashMap::new(),
            ended: (0, 0),
            first_sample: None,
        }
    }

    /// Takes samples out of the ring without looking at them.
    pub(super) fn hold(&mut self, target: &mut Target) {
        let seen = self.by_target.entry(target.number).or_default();
        let held = &mut seen.held;
        let drained = target.region.drain(|sample| {
            if held.len() < HELD {
                held.push(sample);
            }
        });
        seen.read += drained.read;
        if drained.read > 0 {
            self.first_sample.get_or_insert_with(now);
        }
        seen.lost += drained.lost;
    }

    /// Does everything for a target that has waited.
    pub(super) fn look_at(
        &mut self,
        target: &mut Target,
        tally: &mut LineTally,
        doubts: &mut BTreeSet<Doubt>,
    ) {
        self.hold(target);
        target.find_points();
        let seen = self.by_target.entry(target.number).or_default();
        seen.rates.observe(&observe(target, &[]));
        if seen.held.is_empty() {
            return;
        }
        // A process that is never sampled (a shell that waits) costs no tables.
        if target.symbols.is_none() {
            target.symbols = Some(Symbols::new(self.scope.clone(), &target.executable));
            renew_modules(target, doubts);
        }
        let held = std::mem::take(&mut seen.held);
        seen.threads.values_mut().for_each(|weight| *weight *= FADE);
        seen.threads.retain(|_, weight| *weight > 0.01);
        let pause = if has_unknown_code(target, &held) {
            LOOK_AGAIN
        } else {
            LOOK_ANYWAY
        };
        if target.modules_seen.is_none_or(|at| at.elapsed() >= pause) {
            renew_modules(target, doubts);
        }
        let Some(symbols) = &mut target.symbols else {
            return;
        };
        if symbols.take_fetched() {
            log::info!("debug information was fetched for process {}", target.pid);
        }
        for sample in &held {
            let weight = u64::from(sample.weight.max(1));
            *seen.threads.entry(sample.tid).or_default() += weight as f64;
            let attributed = symbols.attribute(&sample.frames);
            if let Some(left_out) = attributed.left_out {
                let owned = matches!(attributed.owner, Owner::Line(_));
                let left_out_of = || symbols.left_out(left_out);
                let tally = &mut tally.left_out;
                tally.count(target.number, left_out, owned, weight, left_out_of);
            }
            match attributed.owner {
                Owner::Line(id) => {
                    let number = tally.known(target.number, id).unwrap_or_else(|| {
                        let line = symbols.line(id);
                        let location = line.location.clone();
                        let function = line.function_and_aliases();
                        tally.number(target.number, id, location, &function)
                    });
                    tally.count(number, weight);
                    tally.callers.count(
                        (target.number, symbols.ranges_generation()),
                        number,
                        &sample.frames,
                        weight,
                        |address| symbols.chain(address),
                    );
                    seen.in_scope += weight;
                }
                Owner::OutOfScope => tally.out_of_scope += weight,
                Owner::Unknown => tally.unknown += weight,
            }
        }
    }

    /// Whether a point of the target was visited lately.
    pub(super) fn is_visited(&self, target: u32) -> bool {
        let seen = self.by_target.get(&target);
        seen.is_some_and(|seen| seen.rates.pace(1, |_| true).is_some())
    }

    /// Samples read of a target.
    pub(super) fn samples(&self, target: u32) -> u64 {
        self.by_target.get(&target).map_or(0, |seen| seen.read)
    }

    /// Samples in scope of a target.
    pub(super) fn in_scope(&self, target: u32) -> u64 {
        self.by_target.get(&target).map_or(0, |seen| seen.in_scope)
    }

    /// How often the target's points are visited.
    pub(super) fn rates(&self, target: u32) -> Option<&VisitRates> {
        self.by_target.get(&target).map(|seen| &seen.rates)
    }

    /// Number of threads that use a good part of the CPU time.
    pub(super) fn busy_threads(&self, target: u32) -> usize {
        let Some(seen) = self.by_target.get(&target) else {
            return 1;
        };
        let most = seen.threads.values().copied().fold(0.0, f64::max);
        let busy = seen
            .threads
            .values()
            .filter(|weight| **weight >= most * BUSY);
        busy.count().max(1)
    }

    /// When the first sample was seen, ns.
    pub(super) fn first_sample(&self) -> Option<u64> {
        self.first_sample
    }

    /// Samples read and lost, all targets together.
    pub(super) fn totals(&self) -> (u64, u64) {
        self.by_target.values().fold(self.ended, |sum, seen| {
            (sum.0 + seen.read, sum.1 + seen.lost)
        })
    }

    /// Forgets a target that has ended.
    pub(super) fn forget(&mut self, target: u32) {
        if let Some(seen) = self.by_target.remove(&target) {
            self.ended.0 += seen.read;
            self.ended.1 += seen.lost;
        }
    }
}

fn has_unknown_code(target: &Target, samples: &[Sample]) -> bool {
    let Some(symbols) = &target.symbols else {
        return false;
    };
    let mut innermost = samples.iter().filter_map(|sample| sample.frames.first());
    innermost.any(|address| !symbols.knows(*address))
}

/// Reads which modules the target has loaded, and publishes their unwind tables.
pub(super) fn renew_modules(target: &mut Target, doubts: &mut BTreeSet<Doubt>) {
    target.modules_seen = Some(Instant::now());
    let Some(symbols) = &mut target.symbols else {
        return;
    };
    match symbols.update_modules(target.pid.cast_signed()) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => {
            log::debug!("modules of process {}: {error:#}", target.pid);
            return;
        }
    }
    let modules = symbols.unwind_modules();
    let tables: Vec<TableToPublish> = modules
        .into_iter()
        .map(|module| TableToPublish {
            start: module.start,
            end: module.end,
            base: module.base,
            rows: module.rows,
        })
        .collect();
    let left_out = target.region.publish_tables(&tables);
    if left_out > 0 {
        doubts.insert(Doubt::TooMuchCode { modules: left_out });
    }
    log::debug!("{} unwind tables for process {}", tables.len(), target.pid);
}

/// Longest time that reading the counters may take, ns; else we were interrupted meanwhile.
const AT_ONCE: u64 = 30_000;

/// What is to be seen of a target now; `pairs` are begin and end of its latency points.
pub(super) fn observe(target: &Target, pairs: &[(usize, usize)]) -> Observation {
    let mut observation = Observation::default();
    for _ in 0..4 {
        let before = now();
        let ledgers = target.region.ledgers();
        observation.counts.clear();
        let visits = (0..target.points.len()).map(|point| target.region.visits(point));
        observation.counts.extend(visits);
        observation.flows.clear();
        let flow = |point: usize| target.region.flow(point);
        let flows = pairs.iter().map(|(begin, end)| (flow(*begin), flow(*end)));
        observation.flows.extend(flows);
        let after = now();
        observation.time = before + (after - before) / 2;
        observation.g = ledgers.g;
        observation.hits = ledgers.hits;
        observation.samples = ledgers.samples;
        let whole = |flow: &Flow| flow.stamped.is_some();
        let mut flows = observation.flows.iter();
        if after - before < AT_ONCE && flows.all(|(begin, end)| whole(begin) && whole(end)) {
            break;
        }
    }
    observation
}

/// The points that may bound windows: throughput points and ends; begins only if nothing else.
pub(super) fn may_bound(target: &Target, point: usize) -> bool {
    target
        .points
        .get(point)
        .is_some_and(|point| point.kind != PointKind::Begin)
}

/// Begin and end of each latency point, with its name.
pub(super) fn latency_pairs(target: &Target) -> Vec<(String, (usize, usize))> {
    let find = |kind: PointKind, name: &str| {
        let mut points = target.points.iter();
        points.position(|point| point.kind == kind && point.name == name)
    };
    let begins = target
        .points
        .iter()
        .enumerate()
        .filter(|(_, p)| p.kind == PointKind::Begin);
    begins
        .filter_map(|(begin, point)| {
            let end = find(PointKind::End, &point.name)?;
            Some((point.name.clone(), (begin, end)))
        })
        .collect()
}
