//! The result as one picture for documents: the verdict, the first lines with how hot they are
//! beside how much they matter, and their curves with 95 % bands.

use super::drawing::{Anchor, Drawing, Shape};
use super::font::Face;
use crate::estimates::{
    Analysis, CurvePoint, LineEstimate, PointAnalysis, PointKind, Verdict, percent,
};
use crate::safe_text::one_line;
use crate::short_names::{short_function, shorten};

const WIDTH: f64 = 920.0;
const PAD: f64 = 24.0;
const INK: u32 = 0x16202c;
const SOFT: u32 = 0x56657a;
const GRID: u32 = 0xe6ebf0;
const ZERO: u32 = 0x5b6878;
/// Height of one row of the list.
const ROW: f64 = 34.0;
/// Columns of the list: where hot, matters and the verdict begin, and where matters ends.
const HOT: (f64, f64) = (330.0, 440.0);
const MATTERS: (f64, f64) = (500.0, 720.0);
const VERDICT: f64 = 790.0;
/// Curves beside each other, and the height of one.
const A_ROW: usize = 3;
const CURVE: f64 = 196.0;
/// Curves at most.
const CURVES: usize = 6;
/// Room around a curve: left, top, right, bottom.
const MARGIN: (f64, f64, f64, f64) = (36.0, 24.0, 10.0, 22.0);

/// The picture of so many lines of the progress point with this number; nothing if there is no such
/// point.
pub(super) fn draw(analysis: &Analysis, point: usize, lines: usize) -> Option<Drawing> {
    let point = analysis.points.get(point)?;
    let chosen = choose(point, lines);
    let short = shorten(point.lines.iter().map(|line| line.location.as_str()));
    let name = |line: &LineEstimate| {
        one_line(short.get(line.location.as_str()).map_or("", String::as_str))
    };
    let mut drawing = Drawing {
        title: one_line(&point.sentence),
        width: WIDTH,
        ..Drawing::default()
    };
    let mut y = heading(&mut drawing, analysis, point);
    if !chosen.is_empty() {
        y = list(&mut drawing, point, &chosen, &name, y);
        y = curves(&mut drawing, &chosen, &name, y);
    }
    let up = match point.kind {
        PointKind::Throughput => "program speedup",
        PointKind::Latency => "latency shorter by",
    };
    let note = format!(
        "Curves: across, how much of the line's time is cut; up, {up} in %, with its 95 % band."
    );
    drawing.text((PAD, y + 14.0), &note, Face::Plain, 10.5, SOFT);
    drawing.height = y + 28.0;
    Some(drawing)
}

/// The first lines, and among them the hottest: that it may not matter is the point of it all.
fn choose(point: &PointAnalysis, lines: usize) -> Vec<&LineEstimate> {
    let measured = || point.lines.iter().filter(|line| line.best.is_some());
    let mut chosen: Vec<&LineEstimate> = measured().take(lines).collect();
    let hottest = measured().max_by_key(|line| line.samples);
    if let Some(hottest) = hottest
        && lines > 1
        && !chosen.iter().any(|line| line.location == hottest.location)
    {
        chosen.pop();
        chosen.push(hottest);
    }
    chosen
}

fn heading(drawing: &mut Drawing, analysis: &Analysis, point: &PointAnalysis) -> f64 {
    let mut y = 40.0;
    let sentence = one_line(&point.sentence);
    for line in Face::Bold.wrap(&sentence, 17.0, WIDTH - 2.0 * PAD) {
        drawing.text((PAD, y), &line, Face::Bold, 17.0, INK);
        y += 23.0;
    }
    let mut facts = Vec::new();
    if let Some(session) = analysis.sessions.last() {
        facts.push(one_line(&session.command.join(" ")));
    }
    facts.push(format!("{} experiments", analysis.experiments));
    if analysis.run_seconds > 0.0 {
        facts.push(format!("{:.0} s", analysis.run_seconds));
    }
    facts.push(format!("progress point {}", one_line(&point.name)));
    let facts = Face::Plain.cut(&facts.join(" · "), 12.0, WIDTH - 2.0 * PAD);
    drawing.text((PAD, y - 2.0), &facts, Face::Plain, 12.0, SOFT);
    y + 16.0
}

fn colour(line: &LineEstimate) -> u32 {
    match line.verdict {
        Verdict::WorthIt => 0x0b7a75,
        Verdict::MakesItSlower => 0xc2362f,
        Verdict::NoEffect => 0x8a97a8,
        Verdict::Undecided { .. } => 0xa8690a,
    }
}

fn verdict(line: &LineEstimate) -> &'static str {
    match line.verdict {
        Verdict::WorthIt => "worth it",
        Verdict::MakesItSlower => "makes it slower",
        Verdict::NoEffect => "no effect",
        Verdict::Undecided { .. } => "undecided",
    }
}

/// The ends of the scale of gains: of what is known best, so that the others do not flatten it.
fn scale(points: impl Iterator<Item = CurvePoint> + Clone) -> (f64, f64) {
    let finite = |value: &f64| value.is_finite();
    let highest = points.clone().map(|point| point.high).filter(finite);
    let lowest = points.map(|point| point.low).filter(finite);
    let top = highest.fold(0.05, f64::max).min(1.0);
    let bottom = lowest.fold(-0.03, f64::min).max(-top.max(0.1));
    (top, bottom)
}

fn list(
    drawing: &mut Drawing,
    point: &PointAnalysis,
    chosen: &[&LineEstimate],
    name: &dyn Fn(&LineEstimate) -> String,
    top: f64,
) -> f64 {
    let what = match point.kind {
        PointKind::Throughput => "matters: program speedup (95 %)",
        PointKind::Latency => "matters: latency shorter by (95 %)",
    };
    let mut y = top + 22.0;
    for (x, title) in [
        (PAD, "line"),
        (HOT.0, "hot: samples"),
        (MATTERS.0, what),
        (VERDICT, "verdict"),
    ] {
        drawing.text((x, y), title, Face::Bold, 11.0, SOFT);
    }
    y += 8.0;
    let (highest, lowest) = scale(decided(chosen).filter_map(|line| line.best));
    let hottest = chosen
        .iter()
        .map(|line| line.sample_share)
        .fold(0.01, f64::max);
    let across = |gain: f64| {
        let part = (gain.clamp(lowest, highest) - lowest) / (highest - lowest);
        MATTERS.0 + part * (MATTERS.1 - MATTERS.0)
    };
    drawing.line((PAD, y), (WIDTH - PAD, y), GRID, 1.0);
    let bottom = y + ROW * chosen.len() as f64;
    drawing.line(
        (across(0.0), y + 4.0),
        (across(0.0), bottom - 2.0),
        ZERO,
        1.0,
    );
    for line in chosen {
        let middle = y + ROW / 2.0;
        let shown = Face::Mono.cut(&name(line), 12.0, HOT.0 - PAD - 14.0);
        let function = one_line(&short_function(line.function.as_deref().unwrap_or("")));
        let function = Face::Mono.cut(&function, 10.0, HOT.0 - PAD - 14.0);
        let lift = if function.is_empty() { 4.0 } else { -2.0 };
        drawing.text((PAD, middle + lift), &shown, Face::Mono, 12.0, INK);
        drawing.text((PAD, middle + 11.0), &function, Face::Mono, 10.0, SOFT);
        let hot = line.sample_share / hottest * (HOT.1 - HOT.0);
        bar(drawing, (HOT.0, hot.max(1.0)), middle, SOFT, 0.55);
        let share = format!("{} %", percent(line.sample_share));
        drawing.text(
            (HOT.0 + hot + 6.0, middle + 4.0),
            &share,
            Face::Plain,
            11.0,
            SOFT,
        );
        matters(drawing, line, middle, &across);
        drawing.text(
            (VERDICT, middle + 4.0),
            verdict(line),
            Face::Bold,
            11.0,
            colour(line),
        );
        y += ROW;
        drawing.line((PAD, y), (WIDTH - PAD, y), GRID, 1.0);
    }
    y + 18.0
}

/// The lines whose verdict is not open, or all if all are.
fn decided<'a>(lines: &'a [&LineEstimate]) -> impl Iterator<Item = &'a LineEstimate> + Clone {
    let open = |line: &LineEstimate| matches!(line.verdict, Verdict::Undecided { .. });
    let all_open = lines.iter().all(|line| open(line));
    lines
        .iter()
        .copied()
        .filter(move |line| all_open || !open(line))
}

fn bar(drawing: &mut Drawing, (from, long): (f64, f64), middle: f64, fill: u32, opacity: f64) {
    drawing.shapes.push(Shape::Rectangle {
        place: (from, middle - 6.0),
        size: (long, 12.0),
        fill,
        opacity,
    });
}

fn matters(drawing: &mut Drawing, line: &LineEstimate, middle: f64, across: &dyn Fn(f64) -> f64) {
    let Some(best) = line.best else { return };
    let colour = colour(line);
    let (zero, end) = (across(0.0), across(best.gain));
    let open = matches!(line.verdict, Verdict::Undecided { .. });
    let opacity = if open { 0.35 } else { 0.85 };
    bar(
        drawing,
        (zero.min(end), (end - zero).abs().max(1.0)),
        middle,
        colour,
        opacity,
    );
    drawing.line(
        (across(best.low), middle),
        (across(best.high), middle),
        INK,
        1.2,
    );
    let gain = format!("{} %", percent(best.gain));
    let place = (across(best.high).max(zero) + 6.0, middle + 4.0);
    drawing.text(place, &gain, Face::Bold, 11.0, colour);
}

fn curves(
    drawing: &mut Drawing,
    chosen: &[&LineEstimate],
    name: &dyn Fn(&LineEstimate) -> String,
    top: f64,
) -> f64 {
    let drawn: Vec<&LineEstimate> = decided(chosen)
        .filter(|line| line.curve.is_some())
        .take(CURVES)
        .collect();
    let points = drawn
        .iter()
        .filter_map(|line| line.curve.as_ref())
        .flat_map(|curve| curve.points.iter().copied());
    // One scale for all, so that they compare.
    let (highest, lowest) = scale(points);
    let ends = (highest * 1.05, lowest * 1.05);
    let wide = (WIDTH - 2.0 * PAD) / A_ROW as f64;
    for (number, line) in drawn.iter().enumerate() {
        let corner = (
            PAD + wide * (number % A_ROW) as f64,
            top + CURVE * (number / A_ROW) as f64,
        );
        curve(drawing, line, &name(line), corner, wide, ends);
    }
    top + CURVE * drawn.len().div_ceil(A_ROW) as f64
}

fn curve(
    drawing: &mut Drawing,
    line: &LineEstimate,
    name: &str,
    corner: (f64, f64),
    wide: f64,
    (top, bottom): (f64, f64),
) {
    let (left, right) = (corner.0 + MARGIN.0, corner.0 + wide - MARGIN.2);
    let (up, down) = (corner.1 + MARGIN.1, corner.1 + CURVE - MARGIN.3);
    let x = |speedup: f64| left + (right - left) * speedup;
    let y = |gain: f64| up + (down - up) * (top - gain.clamp(bottom, top)) / (top - bottom);
    let title = Face::Mono.cut(name, 11.0, right - left);
    drawing.text((left, corner.1 + 14.0), &title, Face::Mono, 11.0, INK);
    for gain in [top / 1.05, 0.0, bottom / 1.05] {
        let stroke = if gain == 0.0 { ZERO } else { GRID };
        drawing.line((x(0.0), y(gain)), (x(1.0), y(gain)), stroke, 1.0);
        let place = (left - 5.0, y(gain) + 4.0);
        // Labels that would touch leave room for the zero.
        if gain == 0.0 || (y(gain) - y(0.0)).abs() > 11.0 {
            drawing.anchored(
                place,
                &percent(gain).replace(".0", ""),
                Face::Plain,
                10.0,
                SOFT,
                Anchor::End,
            );
        }
    }
    for speedup in [0.0, 0.5, 1.0] {
        let anchor = match speedup {
            0.0 => Anchor::Start,
            0.5 => Anchor::Middle,
            _ => Anchor::End,
        };
        let label = format!("{:.0} %", speedup * 100.0);
        drawing.anchored(
            (x(speedup), down + 14.0),
            &label,
            Face::Plain,
            10.0,
            SOFT,
            anchor,
        );
    }
    let points: Vec<CurvePoint> = line
        .curve
        .iter()
        .flat_map(|curve| curve.points.clone())
        .collect();
    let along = |value: fn(&CurvePoint) -> f64| -> Vec<(f64, f64)> {
        points
            .iter()
            .map(|point| (x(point.speedup), y(value(point))))
            .collect()
    };
    let colour = colour(line);
    let mut band = along(|point| point.high);
    band.extend(along(|point| point.low).into_iter().rev());
    drawing.shapes.push(Shape::Path {
        points: band,
        colour,
        opacity: 0.16,
        width: 0.0,
    });
    drawing.shapes.push(Shape::Path {
        points: along(|point| point.gain),
        colour,
        opacity: 1.0,
        width: 2.2,
    });
    for level in &line.levels {
        if (bottom..=top).contains(&level.gain) {
            drawing.shapes.push(Shape::Dot {
                place: (x(level.speedup), y(level.gain)),
                radius: 2.6,
                fill: colour,
            });
        }
    }
}
