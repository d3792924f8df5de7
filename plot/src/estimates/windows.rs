//! From records to what one line did to one progress point: the log ratios of its paired blocks,
//! or, in profiles without blocks, its pooled windows.
//!
//! The period of a throughput point is virtual time per visit; that of a latency point is the
//! mean latency by Little's law, W = L/λ. All that follows works on logarithms of periods: a
//! factor common to both windows of a block, such as drift or the phase of the program, cancels.

use std::collections::HashMap;

use super::PointKind;
use super::arrivals::Arrivals;
use super::disturbed::Disturbances;
use crate::record::{Experiment, PointEdges, Record};

/// Steps of the speedup that are told apart.
const SPEEDUP_STEPS: f64 = 10_000.0;

/// What one line did to one point at one speedup.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LevelData {
    pub speedup: f64,
    /// ln(period(s)/period(0)).
    pub log_ratio: f64,
    /// Its variance is `unit variance / information`.
    pub information: f64,
    /// Degrees of freedom that `squares` has.
    pub freedom: f64,
    /// Sum of squared deviations in units of the unit variance.
    pub squares: f64,
    /// Blocks, or windows in profiles without blocks.
    pub pairs: usize,
    /// The log ratio of each block; empty without blocks.
    pub each: Vec<f64>,
}

/// What one line did to one point.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LineData {
    pub line: usize,
    /// By ascending speedup.
    pub levels: Vec<LevelData>,
    /// The baseline that all levels share, in profiles without blocks: its `log_ratio` is 0.
    pub baseline: Option<LevelData>,
    /// Time spent on its windows, s.
    pub seconds: f64,
}

/// A progress point and what the lines did to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PointData {
    pub name: String,
    pub kind: PointKind,
    pub lines: Vec<LineData>,
    /// Period in the baseline windows, ns.
    pub period: f64,
    /// Its work comes by the clock: a period is wall time per visit.
    pub by_the_clock: bool,
    /// Windows that had no visit or no baseline.
    pub unused: usize,
    pub visits: u64,
}

/// What the records say, gathered.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    pub points: Vec<PointData>,
    /// Locations of selected lines.
    pub locations: Vec<String>,
    /// Hits and samples in the baseline windows of each line.
    pub hits: Vec<(u64, u64)>,
    pub windows: usize,
    pub blocks: usize,
}

/// One window as one point saw it.
#[derive(Debug, Clone, Copy)]
struct Window {
    line: usize,
    run: usize,
    block: Option<u64>,
    /// Speedup in steps; 0 is the baseline.
    step: u32,
    /// Period = numerator/denominator.
    numerator: f64,
    denominator: f64,
    wall: f64,
}

impl Window {
    fn log_period(&self) -> f64 {
        (self.numerator / self.denominator).ln()
    }
}

#[derive(Default)]
struct Numbers<'a> {
    by_name: HashMap<&'a str, usize>,
    names: Vec<&'a str>,
}

impl<'a> Numbers<'a> {
    fn of(&mut self, name: &'a str) -> usize {
        let next = self.names.len();
        *self.by_name.entry(name).or_insert_with(|| {
            self.names.push(name);
            next
        })
    }
}

/// Gathers all records.
pub(super) fn gather(
    records: &[Record],
    arrivals: &Arrivals<'_>,
    disturbances: &Disturbances,
) -> Gathered {
    let mut lines = Numbers::default();
    let mut points: Vec<(&str, PointKind, Vec<Window>, usize, u64)> = Vec::new();
    let mut by_point: HashMap<(&str, PointKind), usize> = HashMap::new();
    let mut gathered = Gathered::default();
    let mut blocks: Vec<(usize, u64)> = Vec::new();
    let mut run = 0;
    let mut current: Option<(&Experiment, usize)> = None;
    for record in records {
        let (name, kind) = match record {
            // Blocks are numbered anew in every run.
            Record::Session(_) | Record::Startup { .. } => {
                run += 1;
                current = None;
                continue;
            }
            Record::Experiment(experiment) => {
                let line = lines.of(&experiment.selected);
                gathered.windows += 1;
                gathered.hits.resize(lines.names.len(), (0, 0));
                if step(experiment.speedup) == 0 {
                    gathered.hits[line].0 += experiment.selected_samples;
                    gathered.hits[line].1 += experiment.samples.unwrap_or(0);
                }
                blocks.extend(experiment.block.map(|block| (run, block)));
                current = Some((experiment, line));
                continue;
            }
            Record::ThroughputPoint { name, .. } => (name.as_str(), PointKind::Throughput),
            Record::LatencyPoint { name, .. } => (name.as_str(), PointKind::Latency),
            _ => continue,
        };
        let Some((experiment, line)) = current else {
            continue;
        };
        let next = points.len();
        let number = *by_point.entry((name, kind)).or_insert_with(|| {
            points.push((name, kind, Vec::new(), 0, 0));
            next
        });
        let (_, _, windows, unused, visits) = &mut points[number];
        if disturbances.leave_out(experiment) {
            *unused += 1;
            continue;
        }
        match ratio(experiment, record, arrivals.by_the_clock(name, kind)) {
            Some((numerator, denominator, seen)) => {
                *visits += seen;
                windows.push(Window {
                    line,
                    run,
                    block: experiment.block,
                    step: step(experiment.speedup),
                    numerator,
                    denominator,
                    wall: experiment.wall.unwrap_or(experiment.duration) as f64,
                });
            }
            None => *unused += 1,
        }
    }
    blocks.sort_unstable();
    blocks.dedup();
    gathered.blocks = blocks.len();
    gathered.locations = lines.names.iter().map(|name| (*name).to_owned()).collect();
    gathered.points = points
        .into_iter()
        .map(|(name, kind, windows, unused, visits)| {
            let mut point = point_data(name, kind, windows, unused, visits);
            point.by_the_clock = arrivals.by_the_clock(name, kind);
            point
        })
        .collect();
    gathered
}

fn step(speedup: f64) -> u32 {
    (speedup * SPEEDUP_STEPS).round() as u32
}

/// Numerator and denominator of the period of the point in the window, and the visits.
fn ratio(experiment: &Experiment, point: &Record, by_the_clock: bool) -> Option<(f64, f64, u64)> {
    let positive = |edges: &&PointEdges| edges.visits > 0 && edges.duration > 0;
    let (numerator, denominator, visits) = match point {
        Record::ThroughputPoint { name, delta } => {
            let edges = experiment.edges.iter().find(|edges| edges.name == *name);
            let wall = experiment.wall.unwrap_or(experiment.duration);
            match edges.filter(positive) {
                Some(edges) if by_the_clock => {
                    (edges.wall as f64, edges.visits as f64, edges.visits)
                }
                None if by_the_clock => (wall as f64, *delta as f64, *delta),
                Some(edges) => (edges.duration as f64, edges.visits as f64, edges.visits),
                None => (experiment.duration as f64, *delta as f64, *delta),
            }
        }
        Record::LatencyPoint {
            arrivals,
            difference,
            mean_in_flight,
            ..
        } => {
            let mean = mean_in_flight.unwrap_or(*difference as f64);
            let duration = experiment.duration as f64;
            (mean * duration, *arrivals as f64, *arrivals)
        }
        _ => return None,
    };
    let usable = numerator.is_finite() && denominator > 0.0 && numerator >= 0.0;
    // In profiles without blocks windows are pooled, where none in flight is a value like others.
    let usable = usable && (numerator > 0.0 || experiment.block.is_none());
    usable.then_some((numerator, denominator, visits))
}

fn point_data(
    name: &str,
    kind: PointKind,
    mut windows: Vec<Window>,
    unused: usize,
    visits: u64,
) -> PointData {
    // The order of the records must not matter, not even in the last bit of a sum.
    windows.sort_unstable_by(|a, b| {
        (a.line, a.run, a.block, a.step)
            .cmp(&(b.line, b.run, b.block, b.step))
            .then(a.numerator.total_cmp(&b.numerator))
            .then(a.denominator.total_cmp(&b.denominator))
    });
    let baselines = || windows.iter().filter(|window| window.step == 0);
    let numerator: f64 = baselines().map(|window| window.numerator).sum();
    let denominator: f64 = baselines().map(|window| window.denominator).sum();
    let mut point = PointData {
        name: name.to_owned(),
        kind,
        lines: Vec::new(),
        period: numerator / denominator,
        by_the_clock: false,
        unused,
        visits,
    };
    for of_line in windows.chunk_by(|a, b| a.line == b.line) {
        let paired = of_line.iter().any(|window| window.block.is_some());
        let (mut data, used) = if paired {
            paired_levels(of_line)
        } else {
            pooled_levels(of_line)
        };
        point.unused += of_line.len() - used;
        data.line = of_line[0].line;
        data.seconds = of_line.iter().map(|window| window.wall).sum::<f64>() / 1e9;
        if !data.levels.is_empty() {
            point.lines.push(data);
        }
    }
    point
}

/// The levels of a line from its blocks, and how many windows were used.
fn paired_levels(windows: &[Window]) -> (LineData, usize) {
    // (step, log ratio, information of the block in windows)
    let mut pairs: Vec<(u32, f64, f64)> = Vec::new();
    let mut used = 0;
    let blocks = windows.chunk_by(|a, b| (a.run, a.block) == (b.run, b.block));
    for block in blocks.filter(|block| block[0].block.is_some()) {
        let baselines = block.partition_point(|window| window.step == 0);
        let (baselines, rest) = block.split_at(baselines);
        if baselines.is_empty() {
            continue;
        }
        for level in rest.chunk_by(|a, b| a.step == b.step) {
            used += baselines.len() + level.len();
            let mean = |windows: &[Window]| {
                windows.iter().map(Window::log_period).sum::<f64>() / windows.len() as f64
            };
            // The variance of the difference of two means, in that of one window.
            let variance = 1.0 / baselines.len() as f64 + 1.0 / level.len() as f64;
            pairs.push((level[0].step, mean(level) - mean(baselines), 1.0 / variance));
        }
    }
    pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let levels = pairs.chunk_by(|a, b| a.0 == b.0).map(|pairs| {
        let information: f64 = pairs.iter().map(|(_, _, weight)| weight).sum();
        let sum: f64 = pairs.iter().map(|(_, ratio, weight)| ratio * weight).sum();
        let mean = sum / information;
        let square = |(_, ratio, weight): &(u32, f64, f64)| weight * (ratio - mean).powi(2);
        LevelData {
            speedup: f64::from(pairs[0].0) / SPEEDUP_STEPS,
            log_ratio: mean,
            information,
            freedom: (pairs.len() - 1) as f64,
            squares: pairs.iter().map(square).sum(),
            pairs: pairs.len(),
            each: pairs.iter().map(|(_, ratio, _)| *ratio).collect(),
        }
    });
    let data = LineData {
        levels: levels.collect(),
        ..LineData::default()
    };
    (data, used.min(windows.len()))
}

/// The levels of a line from all its windows together, and how many windows were used.
fn pooled_levels(windows: &[Window]) -> (LineData, usize) {
    let mut windows = windows.to_vec();
    windows.sort_by_key(|window| window.step);
    let mut levels = windows.chunk_by(|a, b| a.step == b.step).filter_map(pooled);
    let Some(baseline) = levels.next().filter(|level| level.speedup == 0.0) else {
        return (LineData::default(), 0);
    };
    let zero = baseline.log_ratio;
    let levels: Vec<LevelData> = levels
        .map(|level| LevelData {
            log_ratio: level.log_ratio - zero,
            ..level
        })
        .collect();
    if levels.is_empty() {
        return (LineData::default(), 0);
    }
    let used = levels.iter().map(|level| level.pairs).sum::<usize>() + baseline.pairs;
    let data = LineData {
        levels,
        baseline: Some(LevelData {
            log_ratio: 0.0,
            ..baseline
        }),
        ..LineData::default()
    };
    (data, used)
}

/// The period over several windows as a ratio of sums, whose variance is linearised (Cochran,
/// Sampling Techniques, 3rd edition, section 2.11): windows differ in length.
fn pooled(windows: &[Window]) -> Option<LevelData> {
    let count = windows.len() as f64;
    let numerator: f64 = windows.iter().map(|window| window.numerator).sum();
    let denominator: f64 = windows.iter().map(|window| window.denominator).sum();
    if numerator <= 0.0 {
        return None;
    }
    let ratio = numerator / denominator;
    let residual = |window: &Window| window.numerator - ratio * window.denominator;
    let squares: f64 = windows.iter().map(|window| residual(window).powi(2)).sum();
    Some(LevelData {
        speedup: f64::from(windows[0].step) / SPEEDUP_STEPS,
        log_ratio: ratio.ln(),
        information: count,
        freedom: count - 1.0,
        squares: squares * (count / numerator).powi(2),
        pairs: windows.len(),
        each: Vec::new(),
    })
}
