//! The analysis as text: for `coz-rs plot --text`, and in short for the end of `coz-rs run`.
//!
//! Nothing here asks what the terminal can do: the caller says so. Names from the profile are
//! escaped before they are printed.

pub mod comparison;
mod curve_plot;
mod scope;
mod table;

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr as _;

use crate::estimates::{Analysis, LineEstimate, PointAnalysis, PointKind, Verdict, percent};
use crate::safe_text::one_line;
use crate::short_names::{short_function, shorten};
use table::{Cell, Column, cut, paint};

/// How the text may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether it shows colours.
    pub colour: bool,
    /// Whether it shows braille characters.
    pub braille: bool,
    /// Lines of the program to list at most; 0 means all.
    pub lines: usize,
    /// Curves to draw for each progress point.
    pub curves: usize,
}

impl Default for Style {
    /// What a file or a pipe gets.
    fn default() -> Style {
        Style {
            width: 120,
            colour: false,
            braille: false,
            lines: 20,
            curves: 4,
        }
    }
}

impl Style {
    /// No line is broken.
    pub(crate) fn unbroken() -> Style {
        Style {
            width: usize::MAX,
            ..Style::default()
        }
    }
}

const NARROWEST: usize = 40;

const COLUMNS: [Column; 10] = [
    column("line", false, 0, Some(24)),
    column("function", false, 2, Some(16)),
    column("program speedup", false, 0, None),
    column("at", true, 1, None),
    column("25 %", true, 5, None),
    column("50 %", true, 4, None),
    column("100 %", true, 6, None),
    column("samples", true, 3, None),
    column("pairs", true, 7, None),
    column("verdict", false, 0, None),
];

const fn column(
    title: &'static str,
    right: bool,
    dispensable: u8,
    cut_to: Option<usize>,
) -> Column {
    Column {
        title,
        right,
        dispensable,
        cut_to,
    }
}

/// All there is to say: what was run, and for each progress point the verdict, the lines by how
/// much they matter, and the curves of the first ones; then the doubts.
#[must_use]
pub fn report(analysis: &Analysis, style: &Style) -> String {
    let style = &Style {
        width: style.width.max(NARROWEST),
        ..*style
    };
    let mut text = heading(analysis, style);
    let names = names(analysis);
    for point in &analysis.points {
        text.push('\n');
        text.push_str(&about(point, analysis.points.len() > 1, style));
        if !point.lines.is_empty() {
            text.push('\n');
            text.push_str(&lines(point, &names, style));
            text.push_str(&curves(point, &names, style));
        }
    }
    if analysis.points.is_empty() {
        text.push_str("\nNo progress point was visited in any experiment, so nothing is known.\n");
    }
    text.push_str(&untried(analysis, style));
    let left_out = scope::scope(&analysis.scope, 12, style);
    if !left_out.is_empty() {
        text.push('\n');
        text.push_str(&left_out);
    }
    text.push_str(&doubts(analysis, style));
    text
}

/// The result in short: the verdict and the first lines of the first progress point, and doubts.
#[must_use]
pub fn summary(analysis: &Analysis, style: &Style) -> String {
    let style = &Style {
        width: style.width.max(NARROWEST),
        lines: if style.lines == 0 {
            5
        } else {
            style.lines.min(5)
        },
        ..*style
    };
    let names = names(analysis);
    let mut text = String::new();
    for point in &analysis.points {
        text.push_str(&about(point, analysis.points.len() > 1, style));
        if !point.lines.is_empty() {
            text.push_str(&lines(point, &names, style));
        }
    }
    text.push_str(&scope::scope(&analysis.scope, 4, style));
    text.push_str(&doubts(analysis, style));
    text
}

/// What the scope left out, in short; empty if it left out little.
#[must_use]
pub fn scope_summary(analysis: &Analysis, style: &Style) -> String {
    scope::scope(&analysis.scope, 4, style)
}

fn heading(analysis: &Analysis, style: &Style) -> String {
    let mut parts = Vec::new();
    if let Some(session) = analysis.sessions.last() {
        parts.push(one_line(&session.command.join(" ")));
    }
    let runs = analysis.sessions.len();
    if runs > 1 {
        parts.push(format!("{runs} runs"));
    }
    parts.push(format!("{} experiments", analysis.experiments));
    if analysis.run_seconds > 0.0 {
        parts.push(format!("{:.0} s", analysis.run_seconds));
    }
    if analysis.total_samples > 0 {
        parts.push(format!("{} samples", analysis.total_samples));
    }
    wrap(&parts.join(", "), style.width)
}

fn about(point: &PointAnalysis, several: bool, style: &Style) -> String {
    let mut text = String::new();
    if several {
        let name = one_line(&point.name);
        let kind = match point.kind {
            PointKind::Throughput => "progress point",
            PointKind::Latency => "latency of",
        };
        text.push_str(&paint(&format!("{kind} {name}"), "1", style.colour));
        text.push('\n');
    }
    let sentence = wrap(&point.sentence, style.width);
    text.push_str(&paint(sentence.trim_end(), "1", style.colour));
    text.push('\n');
    text
}

fn names(analysis: &Analysis) -> HashMap<&str, String> {
    let tried = analysis
        .points
        .iter()
        .flat_map(|point| &point.lines)
        .map(|line| line.location.as_str());
    let untried = analysis.untried.iter().map(|line| line.location.as_str());
    let mut names = shorten(tried.chain(untried));
    names.values_mut().for_each(|name| *name = one_line(name));
    names
}

fn lines(point: &PointAnalysis, names: &HashMap<&str, String>, style: &Style) -> String {
    let limit = if style.lines == 0 {
        usize::MAX
    } else {
        style.lines
    };
    let rows: Vec<Vec<Cell>> = point
        .lines
        .iter()
        .take(limit)
        .map(|line| row(line, names))
        .collect();
    let mut columns = COLUMNS.to_vec();
    let mut rows = rows;
    if point.lines.iter().all(|line| line.function.is_none()) {
        columns.remove(1);
        rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    let mut text = table::render(&columns, &rows, style.width, style.colour);
    if let Some(more) = point
        .lines
        .len()
        .checked_sub(limit)
        .filter(|more| *more > 0)
    {
        text.push_str(&format!("… and {more} more lines\n"));
    }
    text
}

fn row(line: &LineEstimate, names: &HashMap<&str, String>) -> Vec<Cell> {
    let at = |speedup: f64| {
        let point = line.at(speedup);
        Cell::from(point.map_or("·".to_owned(), |point| percent(point.gain)))
    };
    let (gain, reached) = match line.best {
        Some(best) => (
            format!(
                "{:>5} % {}",
                percent(best.gain),
                interval(best.low, best.high)
            ),
            format!("{:.0} %", best.speedup * 100.0),
        ),
        None => ("    ?".to_owned(), String::new()),
    };
    let style = match line.verdict {
        Verdict::WorthIt => "32",
        Verdict::MakesItSlower => "31",
        Verdict::NoEffect => "2",
        Verdict::Undecided { .. } => "33",
    };
    vec![
        names
            .get(line.location.as_str())
            .cloned()
            .unwrap_or_default()
            .into(),
        one_line(&short_function(line.function.as_deref().unwrap_or(""))).into(),
        Cell { text: gain, style },
        reached.into(),
        at(0.25),
        at(0.5),
        at(1.0),
        format!("{} %", percent(line.sample_share)).into(),
        line.pairs.to_string().into(),
        Cell {
            text: line.verdict.to_string(),
            style,
        },
    ]
}

/// An interval, as far as its ends say something.
fn interval(low: f64, high: f64) -> String {
    let low = if low < -9.99 {
        "<-999".to_owned()
    } else {
        percent(low)
    };
    format!("({low} to {})", percent(high))
}

/// The curves of the first lines, as many beside each other as fit.
fn curves(point: &PointAnalysis, names: &HashMap<&str, String>, style: &Style) -> String {
    const GAP: usize = 3;
    // Curves of lines that are undecided look like more than they are.
    let worth = point
        .lines
        .iter()
        .filter(|line| matches!(line.verdict, Verdict::WorthIt | Verdict::MakesItSlower))
        .count();
    let wide = curve_plot::LABELS + curve_plot::COLUMNS;
    let plots: Vec<Vec<String>> = point
        .lines
        .iter()
        .filter(|line| line.verdict != Verdict::NoEffect)
        .filter(|line| worth == 0 || !matches!(line.verdict, Verdict::Undecided { .. }))
        .take(if worth == 0 {
            style.curves.min(2)
        } else {
            style.curves
        })
        .filter_map(|line| {
            let body = curve_plot::render(line, style.braille);
            let name = names.get(line.location.as_str())?;
            (!body.is_empty()).then(|| {
                let title = format!(
                    "{:blank$}{}",
                    "",
                    cut(name, curve_plot::COLUMNS),
                    blank = curve_plot::LABELS
                );
                std::iter::once(title).chain(body).collect()
            })
        })
        .collect();
    let a_row = ((style.width + GAP) / (wide + GAP)).max(1);
    let mut text = String::new();
    for row in plots.chunks(a_row) {
        text.push('\n');
        for line in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
            let mut joined = String::new();
            for plot in row {
                let part = plot.get(line).map_or("", String::as_str);
                joined.push_str(part);
                joined.push_str(&" ".repeat((wide + GAP).saturating_sub(part.width())));
            }
            text.push_str(joined.trim_end());
            text.push('\n');
        }
    }
    if !text.is_empty() {
        let note = "Across: how much of the line's time is gone. Up: program speedup, %.";
        text.push_str(&paint(&wrap(note, style.width), "2", style.colour));
    }
    text
}

/// Lines that are hot and were never tried.
fn untried(analysis: &Analysis, style: &Style) -> String {
    let share: f64 = analysis.untried.iter().map(|line| line.sample_share).sum();
    if analysis.untried.is_empty() || share < 0.05 {
        return String::new();
    }
    let names = names(analysis);
    let first: Vec<String> = analysis
        .untried
        .iter()
        .take(3)
        .filter_map(|line| {
            let name = names.get(line.location.as_str())?;
            Some(format!("{name} ({} %)", percent(line.sample_share)))
        })
        .collect();
    let (count, among) = (analysis.untried.len(), first.join(", "));
    let share = percent(share);
    let text = match count {
        1 => format!("Not tried so far: {among} of the samples."),
        2..4 => format!("Not tried so far: {among}, in all {share} % of the samples."),
        _ => format!(
            "Not tried so far: {count} lines with {share} % of the samples, among them {among}."
        ),
    };
    format!("\n{}", wrap(&text, style.width))
}

fn doubts(analysis: &Analysis, style: &Style) -> String {
    let mut text = String::new();
    for doubt in &analysis.doubts {
        text.push_str(&wrap(&format!("! {}", one_line(&doubt.text)), style.width));
    }
    if text.is_empty() {
        text
    } else {
        format!("\n{}", paint(text.trim_end(), "33", style.colour) + "\n")
    }
}

/// The text in lines of at most this width, each ended.
fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut used = 0;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        // A percent sign stays with its number.
        let sign = words.next_if(|next| next.starts_with('%'));
        let word = sign.map_or(word.to_owned(), |sign| format!("{word} {sign}"));
        let wide = word.width();
        if used > 0 && used + 1 + wide > width {
            wrapped.push('\n');
            used = 0;
        } else if used > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(&word);
        used += wide;
    }
    wrapped.push('\n');
    wrapped
}
