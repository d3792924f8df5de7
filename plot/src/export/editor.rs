//! `file:line: message`, the form that editors jump by.

use crate::estimates::{Analysis, PointKind, Verdict, percent};
use crate::safe_text::one_line;

/// One line of text for each line of the program that has a verdict, those that matter most first.
#[must_use]
pub fn editor(analysis: &Analysis) -> String {
    let mut text = String::new();
    for point in &analysis.points {
        for line in &point.lines {
            let (Some(best), false) =
                (line.best, matches!(line.verdict, Verdict::Undecided { .. }))
            else {
                continue;
            };
            let what = match point.kind {
                PointKind::Throughput => "program speedup",
                PointKind::Latency => "latency shorter by",
            };
            text.push_str(&format!(
                "{}: {}: {what} {} % ({} to {}) at {:.0} %, point {}\n",
                one_line(&line.location),
                line.verdict,
                percent(best.gain),
                percent(best.low),
                percent(best.high),
                best.speedup * 100.0,
                one_line(&point.name),
            ));
        }
    }
    text
}
