//! Two profiles side by side: what the pace of the program did from one to the other, and what each
//! line would bring before and after.

use std::collections::BTreeMap;

use serde::Serialize;

use super::analysis::{Analysis, LineEstimate, PointKind};
use super::curve::CurvePoint;
use super::distributions::t_95;
use super::{FORMAT_VERSION, analyse};
use crate::record::{Experiment, Record};

/// Neighbouring windows disturb each other alike, so windows are taken together in this many batches,
/// whose means are nearly independent (batch means; e.g. A. M. Law, "Simulation Modeling and
/// Analysis", chapter 9).
const BATCHES: usize = 12;

/// Two profiles beside each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of its form as JSON.
    pub format_version: u32,
    /// The virtual speedup that lines are compared at.
    pub speedup: f64,
    /// The progress points that both have.
    pub points: Vec<PointChange>,
}

/// A progress point in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointChange {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub kind: PointKind,
    /// What the program gained from the first profile to the second, with nothing sped up; nothing
    /// if there are too few baseline windows.
    pub pace: Option<Pace>,
    /// The lines of either, those whose gain changed most surely first.
    pub lines: Vec<LineChange>,
}

/// How fast a program was before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pace {
    /// Virtual time per visit, or mean latency, before, ns.
    pub before: f64,
    /// The same after.
    pub after: f64,
    /// 1 − after/before.
    pub gain: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Runs of the program before and after. Runs differ from each other by more than windows of one
    /// run do: with one run each, the interval is too narrow.
    pub runs: (usize, usize),
}

/// A line before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineChange {
    /// `file:line`, or a function's name.
    pub location: String,
    /// The function it is in.
    pub function: Option<String>,
    /// What it would bring before; nothing if that is not known.
    pub before: Option<CurvePoint>,
    /// What it would bring after.
    pub after: Option<CurvePoint>,
    /// After − before, with its 95 % interval: (difference, low, high).
    pub difference: Option<(f64, f64, f64)>,
    /// Its parts of the samples before and after.
    pub shares: (f64, f64),
}

/// Compares the records of two profiles; lines are compared at a virtual speedup.
#[must_use]
pub fn compare(before: &[Record], after: &[Record], speedup: f64) -> Comparison {
    let analyses = (analyse(before), analyse(after));
    let periods = (periods(before), periods(after));
    let runs = (runs(&analyses.0), runs(&analyses.1));
    let mut points = Vec::new();
    for first in &analyses.0.points {
        let same =
            |point: &&super::PointAnalysis| point.name == first.name && point.kind == first.kind;
        let Some(second) = analyses.1.points.iter().find(same) else {
            continue;
        };
        let key = (first.name.clone(), first.kind == PointKind::Latency);
        let pace = match (periods.0.get(&key), periods.1.get(&key)) {
            (Some(before), Some(after)) => pace(before, after, runs),
            _ => None,
        };
        points.push(PointChange {
            name: first.name.clone(),
            kind: first.kind,
            pace,
            lines: lines(&first.lines, &second.lines, speedup),
        });
    }
    Comparison {
        format_version: FORMAT_VERSION,
        speedup,
        points,
    }
}

fn runs(analysis: &Analysis) -> usize {
    analysis.sessions.len().max(1)
}

/// The logarithms of the periods of all baseline windows, in order, by point and whether it is a
/// latency.
fn periods(records: &[Record]) -> BTreeMap<(String, bool), Vec<f64>> {
    let mut all: BTreeMap<(String, bool), Vec<f64>> = BTreeMap::new();
    let mut window: Option<&Experiment> = None;
    for record in records {
        let (name, is_latency, period) = match record {
            Record::Experiment(experiment) => {
                window = Some(experiment).filter(|experiment| experiment.speedup == 0.0);
                continue;
            }
            Record::ThroughputPoint { name, delta } => {
                let Some(window) = window else { continue };
                let exact = window.edges.iter().find(|edges| edges.name == *name);
                let period = match exact {
                    Some(edges) => edges.duration as f64 / edges.visits as f64,
                    None => window.duration as f64 / *delta as f64,
                };
                (name, false, period)
            }
            Record::LatencyPoint {
                name,
                arrivals,
                difference,
                mean_in_flight,
                ..
            } => {
                let Some(window) = window else { continue };
                let in_flight = mean_in_flight.unwrap_or(*difference as f64);
                let rate = *arrivals as f64 / window.duration as f64;
                (name, true, in_flight / rate)
            }
            _ => continue,
        };
        if period.is_finite() && period > 0.0 {
            let key = (name.clone(), is_latency);
            all.entry(key).or_default().push(period.ln());
        }
    }
    all
}

/// Mean of the batches' means, its variance and degrees of freedom.
fn mean(values: &[f64]) -> Option<(f64, f64, f64)> {
    let batches = BATCHES.min(values.len() / 2).max(2);
    if values.len() < 2 {
        return None;
    }
    let size = values.len() as f64 / batches as f64;
    let means: Vec<f64> = (0..batches)
        .filter_map(|batch| {
            let start = (batch as f64 * size).round() as usize;
            let end = ((batch + 1) as f64 * size).round() as usize;
            let part = values.get(start..end).filter(|part| !part.is_empty())?;
            Some(part.iter().sum::<f64>() / part.len() as f64)
        })
        .collect();
    let count = means.len() as f64;
    let mean = means.iter().sum::<f64>() / count;
    let squares: f64 = means.iter().map(|value| (value - mean).powi(2)).sum();
    (count > 1.0).then(|| (mean, squares / (count - 1.0) / count, count - 1.0))
}

/// Welch's interval for the difference of two means of logarithms.
fn pace(before: &[f64], after: &[f64], runs: (usize, usize)) -> Option<Pace> {
    let (first, second) = (mean(before)?, mean(after)?);
    let variance = first.1 + second.1;
    let freedom = if variance > 0.0 {
        variance.powi(2) / (first.1.powi(2) / first.2 + second.1.powi(2) / second.2)
    } else {
        first.2 + second.2
    };
    let half = t_95(freedom) * variance.sqrt();
    let ratio = second.0 - first.0;
    Some(Pace {
        before: first.0.exp(),
        after: second.0.exp(),
        gain: 1.0 - ratio.exp(),
        low: 1.0 - (ratio + half).exp(),
        high: 1.0 - (ratio - half).exp(),
        runs,
    })
}

fn lines(before: &[LineEstimate], after: &[LineEstimate], speedup: f64) -> Vec<LineChange> {
    let mut all: BTreeMap<&str, (Option<&LineEstimate>, Option<&LineEstimate>)> = BTreeMap::new();
    for line in before {
        all.entry(&line.location).or_default().0 = Some(line);
    }
    for line in after {
        all.entry(&line.location).or_default().1 = Some(line);
    }
    let at = |line: Option<&LineEstimate>| line.and_then(|line| line.at(speedup));
    let share = |line: Option<&LineEstimate>| line.map_or(0.0, |line| line.sample_share);
    let mut changes: Vec<LineChange> = all
        .into_iter()
        .map(|(location, (first, second))| LineChange {
            location: location.to_owned(),
            function: second.or(first).and_then(|line| line.function.clone()),
            before: at(first),
            after: at(second),
            difference: at(first).zip(at(second)).map(difference),
            shares: (share(first), share(second)),
        })
        .collect();
    // How far the interval of the difference is from zero; then by what there is to gain.
    let surely = |change: &LineChange| {
        let (_, low, high) = change.difference.unwrap_or((0.0, -1.0, 1.0));
        low.max(-high).max(-1.0)
    };
    let gain = |change: &LineChange| {
        let low = |point: &Option<CurvePoint>| point.map_or(-1.0, |point| point.low.max(-1.0));
        low(&change.after).max(low(&change.before))
    };
    changes.sort_by(|a, b| {
        surely(b)
            .max(0.0)
            .total_cmp(&surely(a).max(0.0))
            .then(gain(b).total_cmp(&gain(a)))
    });
    changes
}

/// The difference of two independent figures with intervals that need not be symmetric (G. Y. Zou and
/// A. Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27,
/// 2008).
fn difference((before, after): (CurvePoint, CurvePoint)) -> (f64, f64, f64) {
    let difference = after.gain - before.gain;
    let down = (after.gain - after.low).hypot(before.high - before.gain);
    let up = (after.high - after.gain).hypot(before.gain - before.low);
    (difference, difference - down, difference + up)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A profile of one line with a gain at 50 %, at a pace.
    fn profile(pace: f64, gain: f64) -> Vec<Record> {
        let mut records = Vec::new();
        for block in 0..30_u64 {
            for speedup in [0.0, 0.5] {
                let noise = 1.0 + 0.002 * ((block * 7919 % 13) as f64 - 6.0);
                let cut = if speedup > 0.0 { gain } else { 0.0 };
                records.push(Record::Experiment(Experiment {
                    selected: "a.c:1".to_owned(),
                    speedup,
                    duration: (1e8 * pace * (1.0 - cut) * noise) as u64,
                    block: Some(block),
                    ..Experiment::default()
                }));
                records.push(Record::ThroughputPoint {
                    name: "p".to_owned(),
                    delta: 100,
                });
            }
        }
        records
    }

    #[test]
    fn pace_and_gains_are_compared_with_their_intervals() {
        let comparison = compare(&profile(1.0, 0.3), &profile(0.8, 0.1), 0.5);
        let point = &comparison.points[0];
        let pace = point.pace.unwrap();
        assert!((pace.gain - 0.2).abs() < 0.005, "{pace:?}");
        assert!(pace.low < 0.2 && pace.high > 0.2 && pace.high - pace.low < 0.03);
        assert!((pace.before - 1e6).abs() < 1e4, "{pace:?}");
        let (difference, low, high) = point.lines[0].difference.unwrap();
        assert!((difference + 0.2).abs() < 0.02 && high < 0.0 && low > -0.3);
        let same = compare(&profile(1.0, 0.3), &profile(1.0, 0.3), 0.5);
        let pace = same.points[0].pace.unwrap();
        assert!(pace.low <= 0.0 && pace.high >= 0.0, "{pace:?}");
    }

    #[test]
    fn what_only_one_has_is_not_compared() {
        let comparison = compare(&profile(1.0, 0.3), &[], 0.5);
        assert_eq!(comparison.points, []);
        assert_eq!(mean(&[1.0]), None);
        let mut other = profile(1.0, 0.3);
        for record in &mut other {
            if let Record::Experiment(experiment) = record {
                experiment.selected = "b.c:1".to_owned();
            }
        }
        let lines = &compare(&profile(1.0, 0.3), &other, 0.5).points[0].lines;
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| line.difference.is_none()));
    }
}
