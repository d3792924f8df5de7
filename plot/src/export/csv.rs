//! A table for spreadsheets and scripts: one row for each progress point, line and level
//! (RFC 4180).

use std::fmt::Write as _;

use crate::estimates::{Analysis, Level, LineEstimate, PointAnalysis, PointKind, Verdict};

const HEAD: &str = "point,kind,rank,location,function,samples,sample_share,verdict,line_speedup,\
                    program_speedup,low,high,curve,curve_low,curve_high,pairs\r\n";

/// The table. Parts are parts of 1; what is not known is empty.
#[must_use]
pub fn csv(analysis: &Analysis) -> String {
    let mut text = HEAD.to_owned();
    for point in &analysis.points {
        for (rank, line) in point.lines.iter().enumerate() {
            for level in &line.levels {
                row(&mut text, point, rank + 1, line, level);
            }
        }
    }
    text
}

fn row(text: &mut String, point: &PointAnalysis, rank: usize, line: &LineEstimate, level: &Level) {
    let kind = match point.kind {
        PointKind::Throughput => "throughput",
        PointKind::Latency => "latency",
    };
    let verdict = match line.verdict {
        Verdict::WorthIt => "worth-it",
        Verdict::MakesItSlower => "makes-it-slower",
        Verdict::NoEffect => "no-effect",
        Verdict::Undecided { .. } => "undecided",
    };
    let curve = line.at(level.speedup);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "{},{kind},{rank},{},{},{},{},{verdict},{},{},{},{},{},{},{},{}\r\n",
        quoted(&point.name),
        quoted(&line.location),
        quoted(line.function.as_deref().unwrap_or("")),
        line.samples,
        number(Some(line.sample_share)),
        number(Some(level.speedup)),
        number(Some(level.gain)),
        number(Some(level.low)),
        number(Some(level.high)),
        number(curve.map(|curve| curve.gain)),
        number(curve.map(|curve| curve.low)),
        number(curve.map(|curve| curve.high)),
        level.pairs,
    );
}

fn number(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) => format!("{value:.6}"),
        None => String::new(),
    }
}

/// A field of text. A spreadsheet must not take it for a formula: those begin with one of `=+-@`
/// or a control character, and a leading apostrophe makes them text.
fn quoted(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guard = if formula { "'" } else { "" };
    if formula || text.contains(['"', ',', '\n', '\r', ' ']) {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a.c:3"), "a.c:3");
        assert_eq!(quoted("f(int, \"x\")"), "\"f(int, \"\"x\"\")\"");
        assert_eq!(quoted("=HYPERLINK(1)"), "\"'=HYPERLINK(1)\"");
        assert_eq!(number(Some(f64::NEG_INFINITY)), "");
    }
}
