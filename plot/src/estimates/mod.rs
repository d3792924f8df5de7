//! Estimates: from the records of a profile to curves with intervals and to verdicts.
//!
//! For each progress point and line:
//! 1. each paired block gives one log ratio ln(period(s)/period(0)); the program speedup is
//!    1 − exp of their mean (module `windows`);
//! 2. its 95 % interval is Student's t, with variances that levels lend each other, so that two or
//!    three blocks are enough to say something (module `variance`);
//! 3. one curve, a slope with a knee, goes through the levels of a line (module `curve`);
//! 4. the verdict looks at the curve's interval and is corrected for the number of lines (module
//!    `verdict`). Lines are ranked by the lower bound of their best gain, never by a maximum of
//!    noise.
//!
//! Everything here is a function of the records alone and fast enough to be called between two
//! windows: 20,000 records take some milliseconds.

mod curve;
mod distributions;
mod sentence;
mod variance;
mod verdict;
mod windows;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::{Record, Session};
use curve::Weighted;
pub use curve::{Curve, CurvePoint};
pub use sentence::percent;
use variance::{Observed, Shared};
use verdict::Evidence;
pub use verdict::{NO_EFFECT, Verdict};
use windows::{LevelData, LineData, PointData};

/// Version of the analysis as JSON.
pub const FORMAT_VERSION: u32 = 1;

/// What a progress point measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointKind {
    /// Visits per virtual time.
    Throughput,
    /// Mean time between begin and end.
    Latency,
}

/// All that a profile says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Runs by coz-rs, in order; none in a profile of Coz.
    pub sessions: Vec<Session>,
    /// The progress points; those with most experiments first.
    pub points: Vec<PointAnalysis>,
    /// Lines that were sampled but not selected so far, by samples.
    pub untried: Vec<UntriedLine>,
    /// Windows measured.
    pub windows: usize,
    /// Experiments: paired blocks, or windows in a profile without blocks.
    pub experiments: usize,
    /// Samples in scope.
    pub total_samples: u64,
    /// Time that the program ran, s.
    pub run_seconds: f64,
    /// When the last run began, ns since the epoch.
    pub started: Option<u64>,
    /// What makes the result doubtful.
    pub doubts: Vec<DoubtNote>,
}

/// A reason to doubt the result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DoubtNote {
    /// Its name.
    pub doubt: String,
    /// One sentence.
    pub text: String,
    /// The line it is about, if it is about one.
    pub location: Option<String>,
}

/// A line that was sampled but not selected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UntriedLine {
    /// `file:line`.
    pub location: String,
    /// The function it is in.
    pub function: Option<String>,
    /// Samples that belong to it.
    pub samples: u64,
    /// Part of all samples in scope.
    pub sample_share: f64,
}

/// What the lines do to one progress point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointAnalysis {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub kind: PointKind,
    /// The result in one sentence.
    pub sentence: String,
    /// Virtual time per visit, or mean latency, without any speedup, ns.
    pub period: Option<f64>,
    /// Visits in all windows.
    pub visits: u64,
    /// Windows that could not be used: without a visit, or without their other half.
    pub unused_windows: usize,
    /// The lines, those that matter most first.
    pub lines: Vec<LineEstimate>,
}

/// What one line does to one progress point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineEstimate {
    /// `file:line`, or a function's name.
    pub location: String,
    /// The function it is in.
    pub function: Option<String>,
    /// Samples that belong to it.
    pub samples: u64,
    /// Part of all samples in scope.
    pub sample_share: f64,
    /// Part of the samples in its baseline windows that had it anywhere on the stack.
    pub hit_share: Option<f64>,
    /// What was measured, by ascending speedup.
    pub levels: Vec<Level>,
    /// The curve through the levels; nothing while variances are unknown.
    pub curve: Option<Curve>,
    /// Where the curve is highest, or lowest if it falls.
    pub best: Option<CurvePoint>,
    /// What to say of it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Probability of effects so large if the line has none.
    pub p_value: f64,
    /// Experiments with it.
    pub pairs: usize,
    /// Time spent on them, s.
    pub seconds: f64,
    /// How open the decision is: windows are best spent where this is large. 0 is settled.
    pub open: f64,
}

impl LineEstimate {
    /// The program speedup at a speedup of the line, from the curve.
    #[must_use]
    pub fn at(&self, speedup: f64) -> Option<CurvePoint> {
        self.curve.as_ref()?.at(speedup)
    }
}

/// One speedup of one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Level {
    /// The virtual speedup, 0..=1.
    pub speedup: f64,
    /// The program speedup.
    pub gain: f64,
    /// Lower end of its 95 % interval; infinite (null in JSON) while unknown.
    pub low: f64,
    /// Upper end of its 95 % interval; infinite (null in JSON) while unknown.
    pub high: f64,
    /// Experiments at this level.
    pub pairs: usize,
    /// The program speedup of each experiment; empty in profiles without blocks.
    pub each: Vec<f64>,
}

/// Analyses the records of one or more runs.
#[must_use]
pub fn analyse(records: &[Record]) -> Analysis {
    let gathered = windows::gather(records);
    let tally = Tally::of(records);
    let facts: Vec<Facts> = gathered
        .locations
        .iter()
        .zip(&gathered.hits)
        .map(|(location, (hits, samples))| tally.facts(location, *hits, *samples))
        .collect();
    let mut points: Vec<PointAnalysis> = gathered
        .points
        .iter()
        .map(|point| analyse_point(point, &facts))
        .collect();
    let experiments =
        |point: &PointAnalysis| point.lines.iter().map(|line| line.pairs).sum::<usize>();
    points.sort_by(|a, b| {
        let by_kind = (a.kind == PointKind::Latency).cmp(&(b.kind == PointKind::Latency));
        experiments(b)
            .cmp(&experiments(a))
            .then(by_kind)
            .then(a.name.cmp(&b.name))
    });
    let mut analysis = Analysis {
        format_version: FORMAT_VERSION,
        sessions: tally.sessions.clone(),
        untried: tally.untried(&gathered.locations),
        windows: gathered.windows,
        experiments: if gathered.blocks > 0 {
            gathered.blocks
        } else {
            gathered.windows
        },
        total_samples: tally.total,
        run_seconds: tally.run_time as f64 / 1e9,
        started: tally.started,
        doubts: tally.doubts,
        points,
    };
    let pooled = gathered.windows > 0 && gathered.blocks == 0;
    if pooled {
        analysis.doubts.push(DoubtNote {
            doubt: "no-blocks".to_owned(),
            text: "The experiments are not paired (Coz wrote this profile), so changes of the \
                   program's pace during the run pass for effects of lines; `coz-rs run` pairs \
                   them."
                .to_owned(),
            location: None,
        });
    }
    for point in &mut analysis.points {
        point.sentence = sentence::verdict(point);
    }
    analysis
}

fn analyse_point(point: &PointData, facts: &[Facts]) -> PointAnalysis {
    // Variances with and without blocks are of different kinds.
    let is_paired = |line: &&LineData| line.baseline.is_none();
    let of_kind = |wanted: bool| {
        let lines = point.lines.iter().filter(|line| is_paired(line) == wanted);
        Shared::learn(&lines.map(observed).collect::<Vec<_>>())
    };
    let (paired, pooled) = (of_kind(true), of_kind(false));
    let mut judged: Vec<(LineEstimate, Evidence)> = point
        .lines
        .iter()
        .map(|line| {
            let variances = if is_paired(&line) { &paired } else { &pooled };
            estimate(line, variances, &facts[line.line])
        })
        .collect();
    let p_values: Vec<f64> = judged
        .iter()
        .map(|(_, evidence)| evidence.p_value)
        .collect();
    let flags = verdict::flags(&p_values);
    let strictness = verdict::strictness(flags.iter().filter(|flag| **flag).count(), flags.len());
    for ((line, evidence), flagged) in judged.iter_mut().zip(flags) {
        evidence.strictness = strictness;
        line.verdict = verdict::judge(evidence, flagged);
    }
    let evidence: Vec<(Evidence, Verdict)> = judged
        .iter()
        .map(|(line, evidence)| (*evidence, line.verdict))
        .collect();
    let mut lines: Vec<LineEstimate> = judged.into_iter().map(|(line, _)| line).collect();
    for (line, open) in lines.iter_mut().zip(verdict::openness(&evidence)) {
        line.open = open;
    }
    lines.sort_by(rank);
    PointAnalysis {
        name: point.name.clone(),
        kind: point.kind,
        sentence: String::new(),
        period: Some(point.period).filter(|period| period.is_finite()),
        visits: point.visits,
        unused_windows: point.unused,
        lines,
    }
}

fn one(level: &LevelData) -> Observed {
    Observed {
        squares: level.squares,
        freedom: level.freedom,
    }
}

/// What the levels of a line say of the variance. A line with one block a level says it by the
/// differences between neighbouring levels, as its curve is smooth (J. Rice, "Bandwidth choice for
/// nonparametric regression", Annals of Statistics 12, 1984), which errs to the safe side.
fn observed(line: &LineData) -> Vec<Observed> {
    let levels = &line.levels;
    if line.baseline.is_some() {
        return levels.iter().chain(&line.baseline).map(one).collect();
    }
    if levels.iter().any(|level| level.freedom > 0.0) || levels.len() < 3 {
        return levels.iter().map(one).collect();
    }
    // Second differences, so that a slope does not count.
    let squares = levels.windows(3).map(|three| {
        let [a, b, c] = three else { return (0.0, 0) };
        let part = (b.speedup - a.speedup) / (c.speedup - a.speedup);
        let bend = b.log_ratio - a.log_ratio * (1.0 - part) - c.log_ratio * part;
        let variance = 1.0 / b.information
            + (1.0 - part).powi(2) / a.information
            + part.powi(2) / c.information;
        (bend * bend / variance, 1)
    });
    let (squares, count) = squares.fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    vec![Observed {
        squares,
        freedom: f64::from(count),
    }]
}

fn estimate(line: &LineData, variances: &Shared, facts: &Facts) -> (LineEstimate, Evidence) {
    let of_line = variances.line(&observed(line));
    let variance = |level: &LevelData| variances.level(of_line, one(level));
    let shared = line
        .baseline
        .as_ref()
        .map(|level| (variance(level), level.information));
    let shared_variance =
        shared.map_or(0.0, |(variance, information)| variance.value / information);
    let mut levels = Vec::with_capacity(line.levels.len());
    let mut weighted = Vec::with_capacity(line.levels.len());
    for level in &line.levels {
        let own = variance(level);
        let own_variance = own.value / level.information;
        let (half, gain) = (
            half_width(
                own_variance,
                own.freedom,
                shared_variance,
                shared.map(|(v, _)| v.freedom),
            ),
            1.0 - level.log_ratio.exp(),
        );
        levels.push(Level {
            speedup: level.speedup,
            gain,
            low: 1.0 - (level.log_ratio + half).exp(),
            high: if half.is_finite() {
                1.0 - (level.log_ratio - half).exp()
            } else {
                f64::INFINITY
            },
            pairs: level.pairs,
            each: level.each.iter().map(|ratio| 1.0 - ratio.exp()).collect(),
        });
        weighted.push(Weighted {
            speedup: level.speedup,
            log_ratio: level.log_ratio,
            variance: own_variance,
        });
    }
    let freedom = of_line.freedom;
    let curve = (freedom > 0.0)
        .then(|| curve::fit(&weighted, shared_variance, freedom))
        .flatten();
    let best = curve.as_ref().and_then(best_of);
    let evidence = Evidence {
        gain: best.map_or(0.0, |best| best.gain),
        low: best.map_or(f64::NEG_INFINITY, |best| best.low),
        high: best.map_or(f64::INFINITY, |best| best.high),
        reach: curve.as_ref().map_or(f64::INFINITY, reach),
        p_value: curve.as_ref().map_or(1.0, |curve| curve.p_value),
        rises: curve.as_ref().is_some_and(|curve| curve.rises),
        pairs: line.levels.iter().map(|level| level.pairs).sum(),
        seconds: line.seconds,
        strictness: 1.0,
    };
    let estimate = LineEstimate {
        location: facts.location.clone(),
        function: facts.function.clone(),
        samples: facts.samples,
        sample_share: facts.sample_share,
        hit_share: facts.hit_share,
        pairs: evidence.pairs,
        levels,
        curve,
        best,
        verdict: Verdict::Undecided { more_seconds: None },
        p_value: evidence.p_value,
        seconds: line.seconds,
        open: 0.0,
    };
    (estimate, evidence)
}

/// Half the 95 % interval of a log ratio, with the degrees of freedom of a sum of two variances
/// (F. E. Satterthwaite, 1946) if the baseline is shared.
fn half_width(own: f64, own_freedom: f64, shared: f64, shared_freedom: Option<f64>) -> f64 {
    let sum = own + shared;
    if sum.is_nan() {
        return f64::INFINITY;
    }
    let freedom = match shared_freedom {
        Some(shared_freedom) if sum > 0.0 => {
            sum * sum / (own * own / own_freedom + shared * shared / shared_freedom)
        }
        _ => own_freedom,
    };
    if freedom > 0.0 {
        distributions::t_95(freedom) * sum.sqrt()
    } else {
        f64::INFINITY
    }
}

/// The smallest speedup that brings (nearly) all there is to gain, or to lose.
fn best_of(curve: &Curve) -> Option<CurvePoint> {
    let points = || curve.points.iter().filter(|point| point.speedup > 0.0);
    let highest = points().max_by(|a, b| a.gain.total_cmp(&b.gain))?;
    let extreme = if highest.low > 0.0 {
        highest
    } else {
        points().max_by(|a, b| a.gain.abs().total_cmp(&b.gain.abs()))?
    };
    if curve.knee.is_none() {
        return Some(*extreme);
    }
    points()
        .find(|point| {
            point.gain.signum() == extreme.gain.signum()
                && point.gain.abs() >= 0.97 * extreme.gain.abs()
        })
        .copied()
}

fn reach(curve: &Curve) -> f64 {
    let ends = curve
        .points
        .iter()
        .map(|point| point.low.abs().max(point.high.abs()));
    ends.fold(0.0, f64::max)
}

/// Lines that matter most first.
fn rank(a: &LineEstimate, b: &LineEstimate) -> std::cmp::Ordering {
    let class = |line: &LineEstimate| match line.verdict {
        Verdict::WorthIt => 0,
        Verdict::MakesItSlower => 1,
        Verdict::Undecided { .. } => 2,
        Verdict::NoEffect => 3,
    };
    let bound = |line: &LineEstimate| {
        let best = line.best.as_ref();
        match line.verdict {
            Verdict::MakesItSlower => best.map_or(0.0, |best| -best.high),
            Verdict::NoEffect => line.sample_share,
            Verdict::Undecided { .. } | Verdict::WorthIt => {
                best.map_or(f64::NEG_INFINITY, |best| best.low)
            }
        }
    };
    class(a)
        .cmp(&class(b))
        .then(bound(b).total_cmp(&bound(a)))
        .then(b.samples.cmp(&a.samples))
        .then(a.location.cmp(&b.location))
}

/// What is known of a selected line besides its experiments.
#[derive(Debug, Clone)]
struct Facts {
    location: String,
    function: Option<String>,
    samples: u64,
    sample_share: f64,
    hit_share: Option<f64>,
}

/// Samples, sessions, doubts: all that is not a window.
#[derive(Debug, Default)]
struct Tally<'a> {
    samples: BTreeMap<&'a str, (u64, Option<&'a str>)>,
    total: u64,
    run_time: u64,
    started: Option<u64>,
    sessions: Vec<Session>,
    doubts: Vec<DoubtNote>,
}

impl<'a> Tally<'a> {
    fn of(records: &'a [Record]) -> Tally<'a> {
        let mut tally = Tally::default();
        // In our profiles sample records add up; in Coz's each repeats the total of its run.
        let mut ours = false;
        let mut after_session = false;
        let mut of_run: BTreeMap<&str, u64> = BTreeMap::new();
        let mut run_time = 0;
        for record in records {
            match record {
                Record::Session(session) => {
                    tally.close_run(&mut of_run, &mut run_time);
                    tally.sessions.push(session.clone());
                    (ours, after_session) = (true, true);
                }
                Record::Startup { time } => {
                    tally.started = Some(*time).filter(|time| *time > 0);
                    tally.close_run(&mut of_run, &mut run_time);
                    ours = after_session;
                    after_session = false;
                }
                Record::Samples {
                    location,
                    count,
                    function,
                } => {
                    let entry = tally.samples.entry(location).or_default();
                    entry.1 = function.as_deref().or(entry.1);
                    let of_run = of_run.entry(location).or_default();
                    *of_run = if ours {
                        of_run.saturating_add(*count)
                    } else {
                        (*of_run).max(*count)
                    };
                }
                Record::Runtime { time } => run_time = run_time.max(*time),
                Record::Doubt {
                    doubt,
                    text,
                    location,
                } => tally.doubts.push(DoubtNote {
                    doubt: doubt.clone(),
                    text: text.clone(),
                    location: location.clone(),
                }),
                _ => {}
            }
        }
        tally.close_run(&mut of_run, &mut run_time);
        tally.doubts.sort();
        tally.doubts.dedup();
        tally
    }

    fn close_run(&mut self, of_run: &mut BTreeMap<&'a str, u64>, run_time: &mut u64) {
        self.run_time = self.run_time.saturating_add(std::mem::take(run_time));
        for (location, count) in std::mem::take(of_run) {
            let entry = self.samples.entry(location).or_default();
            entry.0 = entry.0.saturating_add(count);
            self.total = self.total.saturating_add(count);
        }
    }

    fn facts(&self, location: &str, hits: u64, samples: u64) -> Facts {
        let (count, function) = self.samples.get(location).copied().unwrap_or((0, None));
        Facts {
            location: location.to_owned(),
            function: function.map(str::to_owned),
            samples: count,
            sample_share: count as f64 / self.total.max(1) as f64,
            hit_share: (samples > 0).then(|| hits as f64 / samples as f64),
        }
    }

    fn untried(&self, tried: &[String]) -> Vec<UntriedLine> {
        let tried: std::collections::HashSet<&str> = tried.iter().map(String::as_str).collect();
        let mut untried: Vec<UntriedLine> = self
            .samples
            .iter()
            .filter(|(location, _)| !tried.contains(**location))
            .map(|(location, (count, function))| UntriedLine {
                location: (*location).to_owned(),
                function: function.map(str::to_owned),
                samples: *count,
                sample_share: *count as f64 / self.total.max(1) as f64,
            })
            .collect();
        untried.sort_by(|a, b| b.samples.cmp(&a.samples).then(a.location.cmp(&b.location)));
        untried
    }
}
