//! What to say of a line, corrected for having asked about many lines, and where to ask next.

use std::fmt;

use serde::Serialize;

use super::distributions::{cumulative, t_95, t_quantile};

/// Program speedups within ± this are no effect.
pub const NO_EFFECT: f64 = 0.02;
/// The top line is to be known to ± this.
const TOP_PRECISION: f64 = 0.03;
/// Fewer experiments with a line are no ground for a verdict: their variance is that of others.
const FEWEST: usize = 3;
/// Part of the flags that may be false (Benjamini-Hochberg).
const FALSE_FLAGS: f64 = 0.05;

/// What to say of a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Making it faster makes the program faster.
    WorthIt,
    /// Making it faster makes the program slower: contention.
    MakesItSlower,
    /// Whatever is done to it, the program changes by less than 2 points.
    NoEffect,
    /// More experiments are needed.
    Undecided {
        /// About how many more seconds of experiments with this line; nothing if too little is
        /// known even for that.
        more_seconds: Option<f64>,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::WorthIt => f.write_str("worth it"),
            Verdict::MakesItSlower => f.write_str("makes it slower"),
            Verdict::NoEffect => f.write_str("no effect"),
            Verdict::Undecided {
                more_seconds: Some(seconds),
            } => write!(f, "undecided, ~{} more", duration(*seconds)),
            Verdict::Undecided { more_seconds: None } => f.write_str("undecided"),
        }
    }
}

/// A duration for reading, rounded to what an estimate deserves.
fn duration(seconds: f64) -> String {
    if seconds < 9.5 {
        format!("{} s", seconds.ceil().max(1.0))
    } else if seconds < 100.0 {
        format!("{} s", (seconds / 5.0).ceil() * 5.0)
    } else if seconds < 5400.0 {
        format!("{} min", (seconds / 60.0).ceil())
    } else {
        format!("{} h", (seconds / 3600.0).ceil().min(999.0))
    }
}

/// What the verdict on one line depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Evidence {
    pub gain: f64,
    pub low: f64,
    pub high: f64,
    /// Largest distance of the whole curve's interval from 0.
    pub reach: f64,
    pub p_value: f64,
    pub rises: bool,
    /// Experiments with the line.
    pub pairs: usize,
    /// Time spent on the line, s.
    pub seconds: f64,
    /// What of the half width no time takes away: the mechanism's own error.
    pub allowance: f64,
    /// How much farther from 0 than its interval an effect must be to be flagged, as lines are many.
    pub strictness: f64,
}

/// Which hypotheses of no effect fall at a false discovery rate of 5 % (Y. Benjamini and
/// Y. Hochberg, "Controlling the false discovery rate", J. R. Stat. Soc. B 57, 1995).
pub(super) fn flags(p_values: &[f64]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let count = p_values.len() as f64;
    let passed = order
        .iter()
        .enumerate()
        .rposition(|(rank, line)| p_values[*line] <= FALSE_FLAGS * (rank + 1) as f64 / count);
    let mut flags = vec![false; p_values.len()];
    for line in order.iter().take(passed.map_or(0, |last| last + 1)) {
        flags[*line] = true;
    }
    flags
}

/// How much wider than a 95 % interval the one is that decides on one more flag, when so many of so
/// many lines are flagged.
pub(super) fn strictness(flagged: usize, lines: usize) -> f64 {
    let probability = FALSE_FLAGS * (flagged + 1) as f64 / lines.max(flagged + 1) as f64;
    t_quantile(probability, 1e6) / t_95(1e6)
}

/// The verdict on a line, flagged or not.
pub(super) fn judge(evidence: &Evidence, flagged: bool) -> Verdict {
    if evidence.pairs < FEWEST {
        return Verdict::Undecided {
            more_seconds: more_seconds(evidence),
        };
    }
    if evidence.reach <= NO_EFFECT {
        return Verdict::NoEffect;
    }
    if flagged && evidence.rises && evidence.low > 0.0 {
        return Verdict::WorthIt;
    }
    // A program that is paused comes back a little slower than it was, up to 2 % on a virtual
    // machine: a loss that small is the pauses' own.
    if flagged && !evidence.rises && evidence.high < -NO_EFFECT {
        return Verdict::MakesItSlower;
    }
    Verdict::Undecided {
        more_seconds: more_seconds(evidence),
    }
}

/// Time until the interval lies off zero or inside ±2 points, if the estimate stays where it is:
/// the noise in its half width shrinks with the square root of the time, the mechanism's own error
/// does not.
fn more_seconds(evidence: &Evidence) -> Option<f64> {
    // The upper end may be cut off at 1.
    let half = evidence.gain - evidence.low;
    let size = evidence.gain.abs();
    // Whichever comes first: off zero, by more if lines are many, or inside ±2 points. A tenth is
    // left for luck.
    let wanted = (size / evidence.strictness).max(NO_EFFECT - size) * 0.9;
    let noise = |half: f64| half.powi(2) - evidence.allowance.powi(2);
    if noise(wanted) <= 0.0 {
        return None;
    }
    let times = noise(half).max(0.0) / noise(wanted) - 1.0;
    let more = times.max(0.1) * evidence.seconds;
    (more.is_finite() && evidence.seconds > 0.0).then_some(more)
}

/// How open the decision about each line is: where the next windows tell the most.
///
/// For the line with the largest lower bound: how far its interval is from ±3 points. For others:
/// the same, times the probability that the line matters at all (above the larger of 2 points and
/// the top line's lower bound, or harmful), so that windows go where intervals overlap at the top.
/// 0 is settled; values compare within one analysis only.
pub(super) fn openness(lines: &[(Evidence, Verdict)]) -> Vec<f64> {
    let known = |line: &(Evidence, Verdict)| line.0.low.is_finite();
    let top = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| known(line) && line.0.low > 0.0)
        .max_by(|(_, a), (_, b)| a.0.low.total_cmp(&b.0.low));
    let (top, threshold) = match top {
        Some((index, line)) => (Some(index), line.0.low.max(NO_EFFECT)),
        None => (None, NO_EFFECT),
    };
    let one = |(index, line): (usize, &(Evidence, Verdict))| {
        let (evidence, verdict) = line;
        if !known(line) {
            // Nothing is known yet: as open as a line can be.
            return 4.0;
        }
        let half = evidence.gain - evidence.low;
        let deviation = (half / 1.96).max(1e-9);
        let above = |level: f64| cumulative((evidence.gain - level) / deviation, 1e6);
        let excess = |wanted: f64| (half / wanted).powi(2).clamp(0.0, 16.0).sqrt();
        if Some(index) == top {
            return if half > TOP_PRECISION {
                excess(TOP_PRECISION)
            } else {
                0.1 * excess(TOP_PRECISION)
            };
        }
        match verdict {
            Verdict::NoEffect => 0.0,
            Verdict::WorthIt | Verdict::MakesItSlower => excess(TOP_PRECISION) * above(threshold),
            Verdict::Undecided { .. } => {
                let harms = 1.0 - above(-NO_EFFECT);
                // Whether it is worth anything is asked before whether it is the best.
                let matters = above(threshold)
                    .max(0.5 * above(NO_EFFECT))
                    .max(0.3 * harms);
                excess(NO_EFFECT) * matters.max(0.02)
            }
        }
    };
    lines.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(gain: f64, half: f64) -> Evidence {
        Evidence {
            gain,
            low: gain - half,
            high: gain + half,
            reach: gain.abs() + half,
            p_value: 0.0,
            rises: gain > 0.0,
            pairs: 12,
            seconds: 10.0,
            allowance: 0.0,
            strictness: 1.0,
        }
    }

    #[test]
    fn flags_are_those_of_the_paper() {
        // The example in section 3.2 of Benjamini and Hochberg 1995: four of fifteen.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let flags = flags(&p);
        assert_eq!(flags.iter().filter(|flag| **flag).count(), 4);
        assert!(flags[..4].iter().all(|flag| *flag));
    }

    #[test]
    fn more_lines_ask_for_more() {
        assert!((strictness(0, 1) - 1.0).abs() < 1e-9);
        // 0.05/100: 3.48 standard deviations.
        assert!((strictness(0, 100) - 3.481 / 1.96).abs() < 1e-3);
        assert!(strictness(9, 100) < strictness(0, 100));
        assert!((strictness(3, 3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_verdict_needs_an_interval_that_says_so() {
        assert_eq!(judge(&evidence(0.1, 0.05), true), Verdict::WorthIt);
        assert_eq!(judge(&evidence(-0.1, 0.05), true), Verdict::MakesItSlower);
        assert_eq!(judge(&evidence(0.001, 0.01), false), Verdict::NoEffect);
        // Surely there, and surely too small to matter.
        assert_eq!(judge(&evidence(0.01, 0.005), true), Verdict::NoEffect);
        for (gain, half, flagged) in [(0.1, 0.05, false), (0.05, 0.06, true), (0.0, 0.05, false)] {
            let verdict = judge(&evidence(gain, half), flagged);
            assert!(
                matches!(verdict, Verdict::Undecided { more_seconds: Some(more) } if more > 0.0)
            );
        }
        let hasty = Evidence {
            pairs: 2,
            ..evidence(0.1, 0.05)
        };
        assert!(matches!(judge(&hasty, true), Verdict::Undecided { .. }));
        // Time takes the noise away, and nothing else.
        let seconds = |allowance| {
            more_seconds(&Evidence {
                allowance,
                ..evidence(0.05, 0.06)
            })
        };
        assert!(seconds(0.03) > seconds(0.0) && seconds(0.05).is_none());
        let unknown = Evidence {
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            reach: f64::INFINITY,
            ..evidence(0.1, 0.1)
        };
        assert_eq!(
            judge(&unknown, false),
            Verdict::Undecided { more_seconds: None }
        );
    }

    #[test]
    fn windows_go_where_the_decision_is_open() {
        let line = |gain, half, flagged| {
            let evidence = evidence(gain, half);
            (evidence, judge(&evidence, flagged))
        };
        let lines = [
            line(0.30, 0.02, true),
            line(0.25, 0.10, true),
            line(0.00, 0.01, false),
            line(0.05, 0.01, true),
            line(0.02, 0.08, false),
        ];
        let open = openness(&lines);
        assert!(open[1] > open[0] && open[1] > open[3], "{open:?}");
        assert_eq!(open[2], 0.0);
        assert!(open[4] > open[3], "{open:?}");
    }
}
