//! The result in one sentence, for people who have never heard of causal profiling.

use super::{LineEstimate, PointAnalysis, PointKind, Verdict};
use crate::safe_text::one_line;

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
    if text == "-0.0" {
        "0.0".to_owned()
    } else {
        text
    }
}

/// `file:line` and its function, the way one speaks of it.
fn name(line: &LineEstimate) -> String {
    let location = one_line(&line.location);
    let short = location.rsplit('/').next().unwrap_or(&location);
    match &line.function {
        Some(function) if !function.is_empty() => format!("{short} ({})", one_line(function)),
        _ => short.to_owned(),
    }
}

pub(super) fn verdict(point: &PointAnalysis) -> String {
    let first = point.lines.first();
    let faster = match point.kind {
        PointKind::Throughput => "the program up to",
        PointKind::Latency => "its latency up to",
    };
    let (comparison, slower) = match point.kind {
        PointKind::Throughput => ("faster", "the program slower"),
        PointKind::Latency => ("shorter", "its latency longer"),
    };
    match first {
        None => "No experiment was completed, so nothing is known yet.".to_owned(),
        Some(line) if line.verdict == Verdict::WorthIt => {
            let (Some(best), others) = (line.best, others(point)) else {
                return String::new();
            };
            format!(
                "Work on {}: making it {} % faster makes {faster} {} % {comparison} (95 % \
                 interval {} to {} %){others}.",
                name(line),
                percent(best.speedup).trim_end_matches(".0"),
                percent(best.gain),
                percent(best.low),
                percent(best.high),
            )
        }
        Some(line) if line.verdict == Verdict::MakesItSlower => format!(
            "Making {} faster makes {slower}: look for contention there; no line is known to be \
             worth making faster.",
            name(line)
        ),
        Some(line) if line.verdict == Verdict::NoEffect => format!(
            "None of the {} lines tried matters: the program changes by less than 2 points \
             whichever of them is made faster.",
            point.lines.len()
        ),
        Some(_) => "No line is known to be worth making faster yet: run longer, or again, to \
                    narrow the intervals."
            .to_owned(),
    }
}

/// What else there is to say: how many lines matter and how many do not.
fn others(point: &PointAnalysis) -> String {
    let count = |wanted: fn(&Verdict) -> bool| {
        point.lines[1..]
            .iter()
            .filter(|line| wanted(&line.verdict))
            .count()
    };
    let worth = count(|verdict| *verdict == Verdict::WorthIt);
    let nothing = count(|verdict| *verdict == Verdict::NoEffect);
    let mut text = String::new();
    if worth > 0 {
        let plural = if worth == 1 { "line is" } else { "lines are" };
        text.push_str(&format!("; {worth} other {plural} worth it"));
    }
    if nothing > 0 {
        let plural = if nothing == 1 {
            "line does"
        } else {
            "lines do"
        };
        text.push_str(&format!("; {nothing} {plural} not matter"));
    }
    text
}
