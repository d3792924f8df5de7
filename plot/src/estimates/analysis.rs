//! The result: what a profile says of each progress point and line, as data and as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::curve::{Curve, CurvePoint};
use super::scope::ScopeReport;
use super::verdict::Verdict;
use crate::record::{CallerChain, Session};

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
    /// [`super::FORMAT_VERSION`].
    pub format_version: u32,
    /// Runs by coz-rs, in order; none in a profile of Coz.
    pub sessions: Vec<Session>,
    /// The progress points; those with most experiments first.
    pub points: Vec<PointAnalysis>,
    /// Lines that were sampled but not selected so far, by samples.
    pub untried: Vec<UntriedLine>,
    /// By line, the chains of calls that led to its samples, most samples first.
    pub callers: BTreeMap<String, Vec<CallerChain>>,
    /// What the rules of the scope left out.
    pub scope: ScopeReport,
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
    /// End to end: the share of memory layout in the variance between runs.
    pub layout_share: Option<f64>,
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
    /// Its work comes by the clock or from another process, so virtual time does not hold for it:
    /// throughput is that of wall time, and latencies are no ground for advice.
    pub by_the_clock: bool,
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
