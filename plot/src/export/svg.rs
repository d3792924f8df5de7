//! The curves of the first lines as one SVG picture, for documents: small multiples with bands.

use std::fmt::Write as _;

use crate::estimates::{Analysis, LineEstimate, PointAnalysis, PointKind, Verdict, percent};
use crate::safe_text::one_line;
use crate::short_names::shorten;

/// Size of one plot.
const PLOT: (f64, f64) = (300.0, 190.0);
/// Room around its curve: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (44.0, 34.0, 12.0, 34.0);
/// Plots beside each other.
const A_ROW: usize = 3;
/// Characters of a title that fit.
const TITLE: usize = 38;

/// The picture of so many lines of the progress point with this number; nothing if there is no
/// such point.
#[must_use]
pub fn svg(analysis: &Analysis, point: usize, lines: usize) -> Option<String> {
    let point = analysis.points.get(point)?;
    let drawn: Vec<&LineEstimate> = point
        .lines
        .iter()
        .filter(|line| line.curve.is_some())
        .take(lines)
        .collect();
    let rows = drawn.len().div_ceil(A_ROW).max(1);
    let (width, height) = (PLOT.0 * A_ROW as f64, PLOT.1 * rows as f64 + 28.0);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        escape(&one_line(&point.sentence)),
    );
    let short = shorten(point.lines.iter().map(|line| line.location.as_str()));
    let (top, bottom) = scale(&drawn);
    for (number, line) in drawn.iter().enumerate() {
        let x = PLOT.0 * (number % A_ROW) as f64;
        let y = PLOT.1 * (number / A_ROW) as f64;
        let name = short.get(line.location.as_str()).map_or("", String::as_str);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "<g transform=\"translate({x} {y})\">\n{}</g>\n",
            plot(line, name, top, bottom)
        );
    }
    let _ = writeln!(
        text,
        "<text x=\"8\" y=\"{:.0}\" fill=\"#56657a\">{}</text>\n</svg>",
        height - 10.0,
        escape(&axes(point)),
    );
    Some(text)
}

fn axes(point: &PointAnalysis) -> String {
    let up = match point.kind {
        PointKind::Throughput => "program speedup",
        PointKind::Latency => "latency shorter by",
    };
    format!(
        "Across: how much of the line's time is cut. Up: {up}, %, with 95 % interval; point {}.",
        one_line(&point.name)
    )
}

/// One scale for all plots, so that they compare.
fn scale(lines: &[&LineEstimate]) -> (f64, f64) {
    let points = || {
        let sure = lines
            .iter()
            .filter(|line| !matches!(line.verdict, Verdict::Undecided { .. }));
        sure.filter_map(|line| line.curve.as_ref())
            .flat_map(|curve| &curve.points)
    };
    let top = points()
        .map(|point| point.high)
        .fold(0.05, f64::max)
        .min(1.0);
    let bottom = points()
        .map(|point| point.low)
        .fold(-0.03, f64::min)
        .max(-top.max(0.1));
    (top * 1.05, bottom * 1.05)
}

fn plot(line: &LineEstimate, name: &str, top: f64, bottom: f64) -> String {
    let colour = match line.verdict {
        Verdict::WorthIt => "#0b7a75",
        Verdict::MakesItSlower => "#c2362f",
        Verdict::NoEffect => "#8a97a8",
        Verdict::Undecided { .. } => "#a8690a",
    };
    let (wide, high) = (PLOT.0 - MARGIN.0 - MARGIN.2, PLOT.1 - MARGIN.1 - MARGIN.3);
    let x = |speedup: f64| MARGIN.0 + wide * speedup;
    let y = |gain: f64| MARGIN.1 + high * (top - gain.clamp(bottom, top)) / (top - bottom);
    let mut text = String::new();
    let title: String = one_line(name).chars().take(TITLE).collect();
    let _ = writeln!(
        text,
        "<text x=\"{}\" y=\"14\" font-weight=\"600\" font-family=\"monospace\">{}</text>\n\
         <text x=\"{}\" y=\"27\" fill=\"{colour}\">{}</text>",
        MARGIN.0,
        escape(&title),
        MARGIN.0,
        escape(&summary(line)),
    );
    for gain in [top / 1.05, 0.0, bottom / 1.05] {
        let stroke = if gain == 0.0 { "#5b6878" } else { "#eaeef2" };
        let _ = writeln!(
            text,
            "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{stroke}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#56657a\">{}</text>",
            x(0.0),
            x(1.0),
            y(gain),
            y(gain),
            MARGIN.0 - 6.0,
            y(gain) + 4.0,
            percent(gain),
        );
    }
    for speedup in [0.0, 0.5, 1.0] {
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#56657a\">{:.0} %</text>",
            x(speedup),
            PLOT.1 - MARGIN.3 + 16.0,
            speedup * 100.0,
        );
    }
    let points = line.curve.iter().flat_map(|curve| &curve.points);
    let along = |value: fn(&crate::estimates::CurvePoint) -> f64| -> Vec<String> {
        points
            .clone()
            .map(|point| format!("{:.1} {:.1}", x(point.speedup), y(value(point))))
            .collect()
    };
    let mut band = along(|point| point.high);
    band.extend(along(|point| point.low).into_iter().rev());
    let _ = writeln!(
        text,
        "<path d=\"M{}Z\" fill=\"{colour}\" opacity=\".16\"/>\n\
         <path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.2\"/>",
        band.join("L"),
        along(|point| point.gain).join("L"),
    );
    for level in line
        .levels
        .iter()
        .filter(|level| (bottom..=top).contains(&level.gain))
    {
        let _ = writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.6\" fill=\"{colour}\"/>",
            x(level.speedup),
            y(level.gain),
        );
    }
    text
}

fn summary(line: &LineEstimate) -> String {
    match line.best {
        Some(best) => format!(
            "{} % ({} to {}), {}",
            percent(best.gain),
            percent(best.low),
            percent(best.high),
            line.verdict
        ),
        None => line.verdict.to_string(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
