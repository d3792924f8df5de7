//! Two profiles side by side as text.

use super::table::{self, Cell, Column, paint};
use super::{NARROWEST, Style, column, interval, wrap};
use crate::estimates::{Comparison, CurvePoint, LineChange, Pace, PointChange, PointKind, percent};
use crate::safe_text::one_line;
use crate::short_names::{short_function, shorten};

const COLUMNS: [Column; 7] = [
    column("line", false, 0, Some(24)),
    column("function", false, 1, Some(16)),
    column("before", false, 0, None),
    column("after", false, 0, None),
    column("difference", false, 0, None),
    column("samples before", true, 2, None),
    column("after", true, 2, None),
];

/// The comparison: for each progress point how the pace changed, and what lines would bring.
#[must_use]
pub fn comparison(comparison: &Comparison, style: &Style) -> String {
    let style = &Style {
        width: style.width.max(NARROWEST),
        ..*style
    };
    let mut text = String::new();
    for point in &comparison.points {
        if !text.is_empty() {
            text.push('\n');
        }
        let sentence = wrap(&pace(point), style.width);
        text.push_str(&paint(sentence.trim_end(), "1", style.colour));
        text.push('\n');
        let limit = if style.lines == 0 {
            usize::MAX
        } else {
            style.lines
        };
        let short = shorten(point.lines.iter().map(|line| line.location.as_str()));
        let row = |line: &LineChange| row(line, &one_line(&short[line.location.as_str()]));
        let rows: Vec<Vec<Cell>> = point.lines.iter().take(limit).map(row).collect();
        if !rows.is_empty() {
            text.push_str(&table::render(&COLUMNS, &rows, style.width, style.colour));
            let note = format!(
                "Program speedup, %, with {:.0} % of the line's time cut, and its 95 % interval.",
                comparison.speedup * 100.0
            );
            text.push_str(&paint(&wrap(&note, style.width), "2", style.colour));
        }
    }
    if comparison.points.is_empty() {
        text.push_str("The profiles have no progress point in common.\n");
    }
    text
}

/// What the pace did, in one sentence or two.
#[must_use]
pub fn pace(point: &PointChange) -> String {
    let name = one_line(&point.name);
    let Some(pace) = &point.pace else {
        return format!("{name}: too few baseline windows to compare the pace.");
    };
    let what = match point.kind {
        PointKind::Throughput => ("faster", "slower", "every"),
        PointKind::Latency => ("shorter", "longer", "latency"),
    };
    let change = match pace {
        Pace { low, .. } if *low > 0.0 => format!("{} % {}", percent(pace.gain), what.0),
        Pace { high, .. } if *high < 0.0 => format!("{} % {}", percent(-pace.gain), what.1),
        _ => format!("no sure change, {} %", percent(pace.gain)),
    };
    let one_run = match pace.runs {
        (1, _) | (_, 1) => " One run differs from the next by more than that; repeat both.",
        _ => "",
    };
    format!(
        "{name}: {change} (95 % interval {} to {}); {} {} before, {} after.{one_run}",
        percent(pace.low),
        percent(pace.high),
        what.2,
        duration(pace.before),
        duration(pace.after),
    )
}

/// Nanoseconds for reading.
fn duration(nanoseconds: f64) -> String {
    for (unit, size) in [("s", 1e9), ("ms", 1e6), ("µs", 1e3)] {
        if nanoseconds >= size {
            return format!("{:.3} {unit}", nanoseconds / size);
        }
    }
    format!("{nanoseconds:.0} ns")
}

fn row(line: &LineChange, name: &str) -> Vec<Cell> {
    let gain = |point: Option<CurvePoint>| {
        Cell::from(point.map_or("    ·".to_owned(), |point| {
            let gain = percent(point.gain);
            format!("{gain:>5} {}", interval(point.low, point.high))
        }))
    };
    let (difference, style) = match line.difference {
        Some((difference, low, high)) => {
            let style = match (low > 0.0, high < 0.0) {
                (true, _) => "32",
                (_, true) => "31",
                _ => "2",
            };
            let number = percent(difference);
            (format!("{number:>5} {}", interval(low, high)), style)
        }
        None => ("    ·".to_owned(), "2"),
    };
    vec![
        name.to_owned().into(),
        one_line(&short_function(line.function.as_deref().unwrap_or(""))).into(),
        gain(line.before),
        gain(line.after),
        Cell {
            text: difference,
            style,
        },
        format!("{} %", percent(line.shares.0)).into(),
        format!("{} %", percent(line.shares.1)).into(),
    ]
}
