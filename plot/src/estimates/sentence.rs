//! The result in one sentence, for people who have never heard of causal profiling.

use super::{CurvePoint, LineEstimate, PointAnalysis, PointKind, Verdict};
use crate::location::Location;
use crate::safe_text::one_line;
use crate::short_names::short_function;

/// A part as percent, with one digit after the point where it says something.
#[must_use]
pub fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if !percent.is_finite() {
        return "?".to_owned();
    }
    let text = if percent.abs() < 9.95 {
        format!("{percent:.1}")
    } else {
        format!("{percent:.0}")
    };
    // No negative zero.
    match text.as_str() {
        "-0.0" => "0.0".to_owned(),
        _ => text,
    }
}

/// `file:line` and its function, the way one speaks of it.
fn name(line: &LineEstimate) -> String {
    let location = Location::of(&line.location);
    let place = match location.line {
        Some(_) => location.place.rsplit('/').next().unwrap_or(""),
        None => location.place,
    };
    let short = one_line(&format!("{place}{}", location.rest));
    match &line.function {
        Some(function) if !function.is_empty() && !location.is_function() => {
            format!("{short} ({})", one_line(&short_function(function)))
        }
        _ => short,
    }
}

/// What a gain is called.
struct Words {
    subject: String,
    better: &'static str,
    worse: &'static str,
}

impl Words {
    fn of(point: &PointAnalysis) -> Words {
        match point.kind {
            PointKind::Throughput => Words {
                subject: "the program".to_owned(),
                better: "faster",
                worse: "slower",
            },
            PointKind::Latency => Words {
                subject: format!("`{}`", one_line(&point.name)),
                better: "shorter",
                worse: "longer",
            },
        }
    }
}

/// What memory layout does to whole runs, to be said after the verdict.
pub(super) fn layout(share: f64) -> String {
    format!(
        " Memory layout makes up about {:.0} % of the variation between runs.",
        share * 100.0
    )
}

pub(super) fn verdict(point: &PointAnalysis) -> String {
    let words = Words::of(point);
    if point.by_the_clock {
        return match point.kind {
            PointKind::Throughput => format!(
                "The work of `{}` comes by the clock or from another process, so no line makes \
                 more of it.",
                one_line(&point.name)
            ),
            PointKind::Latency => format!(
                "Nothing can be said of `{}`: its work comes by the clock or from another \
                 process, where virtual time does not hold.",
                one_line(&point.name)
            ),
        };
    }
    let Some(line) = point.lines.first() else {
        return "No experiment was completed, so nothing is known yet.".to_owned();
    };
    match (line.verdict, line.best) {
        (Verdict::WorthIt, Some(best)) => {
            format!(
                "Work on {}: {}{}.",
                name(line),
                gain(line, best, &words),
                others(point)
            )
        }
        (Verdict::MakesItSlower, _) => format!(
            "Making {} faster makes {} {}: look for contention there. No line is known to be \
             worth making faster.",
            name(line),
            words.subject,
            words.worse
        ),
        (Verdict::NoEffect, _) => format!(
            "None of the {} lines tried matters: whichever of them is made faster, {} changes by \
             less than 2 points.",
            point.lines.len(),
            words.subject
        ),
        _ => "No line is known to be worth making faster yet: run longer, or again, to narrow the \
              intervals."
            .to_owned(),
    }
}

fn gain(line: &LineEstimate, best: CurvePoint, words: &Words) -> String {
    let Words {
        subject, better, ..
    } = words;
    let interval = format!(
        "95 % interval {} to {}",
        percent(best.low),
        percent(best.high)
    );
    let half = line.at(0.5);
    match half {
        Some(half) if best.speedup > 0.96 => format!(
            "without it {subject} would be {} % {better} ({interval}); halving its time brings {} %",
            percent(best.gain),
            percent(half.gain)
        ),
        _ => format!(
            "cutting its time by {:.0} % makes {subject} {} % {better} ({interval})",
            best.speedup * 100.0,
            percent(best.gain)
        ),
    }
}

/// What else there is to say: how many lines matter and how many do not.
fn others(point: &PointAnalysis) -> String {
    let count = |wanted: Verdict| {
        let rest = point.lines.iter().skip(1);
        rest.filter(|line| line.verdict == wanted).count()
    };
    let mut text = String::new();
    match count(Verdict::WorthIt) {
        0 => {}
        1 => text.push_str("; 1 other line is worth it"),
        worth => text.push_str(&format!("; {worth} other lines are worth it")),
    }
    if let Some(hot) = hot_but_irrelevant(point) {
        text.push_str(&format!(
            "; leave {} alone, which has {} % of the samples and does not matter",
            name(hot),
            percent(hot.sample_share)
        ));
        return text;
    }
    match count(Verdict::NoEffect) {
        0 => {}
        1 => text.push_str("; 1 line does not matter"),
        nothing => text.push_str(&format!("; {nothing} lines do not matter")),
    }
    text
}

/// The hottest line without effect, if an ordinary profiler would point at it.
fn hot_but_irrelevant(point: &PointAnalysis) -> Option<&LineEstimate> {
    const HOT: f64 = 0.1;
    let hot = |line: &&LineEstimate| line.verdict == Verdict::NoEffect && line.sample_share >= HOT;
    let by_share = |a: &&LineEstimate, b: &&LineEstimate| a.sample_share.total_cmp(&b.sample_share);
    point.lines.iter().filter(hot).max_by(by_share)
}
