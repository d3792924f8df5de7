//! Estimates: from the records of a profile to curves with intervals and to verdicts.
//!
//! For each progress point and line:
//! 1. each paired block gives one log ratio ln(period(s)/period(0)); the program speedup is
//!    1 − exp of their mean (module `windows`);
//! 2. its 95 % interval is Student's t, with variances that levels lend each other, so that two or
//!    three blocks are enough to say something (module `variance`), widened by what the mechanism
//!    itself may be off by, which no number of blocks shows (module `allowance`);
//! 3. one curve, a slope with a knee, goes through the levels of a line (module `curve`);
//! 4. the verdict looks at the curve's interval and is corrected for the number of lines (module
//!    `verdict`). Lines are ranked by the lower bound of their best gain, never by a maximum of
//!    noise.
//!
//! Everything here is a function of the records alone and fast enough to be called between two
//! windows: 20,000 records take some milliseconds.

mod allowance;
mod analysis;
mod arrivals;
mod comparison;
mod curve;
mod distributions;
mod disturbed;
mod doubts;
mod layout;
mod line;
mod scope;
mod sentence;
mod tally;
mod variance;
mod verdict;
mod window_doubts;
mod windows;

use crate::record::Record;
pub use analysis::{
    Analysis, DoubtNote, Level, LineEstimate, PointAnalysis, PointKind, UntriedLine,
};
use arrivals::Arrivals;
pub use comparison::{Comparison, LineChange, Pace, PointChange, compare};
pub use curve::{Curve, CurvePoint};
use disturbed::Disturbances;
use line::{estimate, observed};
pub use scope::ScopeReport;
pub use sentence::percent;
use tally::{Facts, Tally};
use variance::Shared;
use verdict::Evidence;
pub use verdict::{NO_EFFECT, Verdict};
use windows::{LineData, PointData};

/// Version of the analysis as JSON.
pub const FORMAT_VERSION: u32 = 1;

/// Analyses the records of one or more runs.
#[must_use]
pub fn analyse(records: &[Record]) -> Analysis {
    let arrivals = Arrivals::of(records);
    let disturbances = Disturbances::of(records);
    let gathered = windows::gather(records, &arrivals, &disturbances);
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
        callers: tally.callers(),
        scope: ScopeReport::of(records, tally.total),
        windows: gathered.windows,
        experiments: if gathered.blocks > 0 {
            gathered.blocks
        } else {
            gathered.windows
        },
        total_samples: tally.total,
        run_seconds: tally.run_time as f64 / 1e9,
        started: tally.started,
        layout_share: layout::share(records),
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
    analysis.doubts.extend(doubts::of_points(&analysis.points));
    analysis.doubts.extend(window_doubts::of_windows(records));
    analysis
        .doubts
        .extend(doubts::of_disturbances(&disturbances));
    for point in &mut analysis.points {
        point.sentence = sentence::verdict(point);
        if let Some(share) = analysis.layout_share {
            point.sentence.push_str(&sentence::layout(share));
        }
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
    if point.by_the_clock && point.kind == PointKind::Latency {
        // Virtual time does not hold: whatever was found is no ground for advice, nor for more.
        for line in &mut lines {
            line.verdict = Verdict::Undecided { more_seconds: None };
            line.open = 0.0;
        }
    }
    lines.sort_by(rank);
    PointAnalysis {
        name: point.name.clone(),
        kind: point.kind,
        sentence: String::new(),
        period: Some(point.period).filter(|period| period.is_finite()),
        visits: point.visits,
        unused_windows: point.unused,
        by_the_clock: point.by_the_clock,
        lines,
    }
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
