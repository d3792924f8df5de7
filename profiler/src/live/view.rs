//! What the view shows, and how it is laid out. Nothing here touches a terminal.

use coz_rs_plot::estimates::{Analysis, LineEstimate, PointKind, Verdict, percent};
use coz_rs_plot::safe_text::one_line;
use coz_rs_plot::short_names::{short_function, shorten};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, Wrap};

use super::screen::Ability;
use crate::clock::now;

/// Lines kept for the ranking: more than any terminal shows.
const RANKED: usize = 200;

/// All that is shown.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    command: String,
    started: u64,
    pub until: Option<u64>,
    pub experiments: u64,
    pub window: Option<(String, f64)>,
    sentence: String,
    /// What the ranking is about.
    point: Option<(String, PointKind)>,
    lines: Vec<Ranked>,
    /// The last lines of the program's own output.
    pub output: Vec<String>,
}

/// One line of the ranking.
#[derive(Debug, Clone)]
struct Ranked {
    place: String,
    function: String,
    /// Gain and its interval, at this virtual speedup.
    gain: Option<(f64, f64, f64, f64)>,
    share: f64,
    pairs: usize,
    verdict: Verdict,
}

impl Scene {
    pub fn new(command: &str) -> Scene {
        Scene {
            command: one_line(command),
            started: now(),
            until: None,
            experiments: 0,
            window: None,
            sentence: "Looking for lines and progress points.".to_owned(),
            point: None,
            lines: Vec::new(),
            output: Vec::new(),
        }
    }

    /// Takes the ranking of the first progress point over.
    pub fn learn<'a>(
        &mut self,
        analysis: &Analysis,
        share: &dyn Fn(&str) -> Option<(&'a str, f64)>,
    ) {
        let Some(point) = analysis.points.first() else {
            return;
        };
        self.sentence = one_line(&point.sentence);
        self.point = Some((one_line(&point.name), point.kind));
        let short = shorten(point.lines.iter().map(|line| line.location.as_str()));
        let ranked = |line: &LineEstimate| {
            let known = line.function.as_deref().unwrap_or("");
            let (function, share) = share(&line.location).unwrap_or((known, line.sample_share));
            Ranked {
                place: one_line(short.get(line.location.as_str()).map_or("", String::as_str)),
                function: one_line(&short_function(function)),
                gain: line
                    .best
                    .map(|best| (best.gain, best.low, best.high, best.speedup)),
                share,
                pairs: line.pairs,
                verdict: line.verdict,
            }
        };
        self.lines = point.lines.iter().take(RANKED).map(ranked).collect();
    }
}

fn minutes(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Draws the scene.
pub(super) fn draw(frame: &mut Frame, scene: &Scene, ability: Ability) {
    let all = frame.area();
    let output = if scene.output.is_empty() || all.height < 16 {
        0
    } else {
        scene.output.len() as u16 + 1
    };
    let [head, sentence, table, below, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Min(3),
        Constraint::Length(output),
        Constraint::Length(1),
    ])
    .areas(all);
    let style = |style: Style| {
        if ability.colour {
            style
        } else {
            Style::default()
        }
    };
    let bold = Style::default().add_modifier(Modifier::BOLD);
    let soft = style(Style::default().fg(Color::DarkGray));
    let time = now();
    let mut clock = minutes(time.saturating_sub(scene.started));
    if let Some(until) = scene.until {
        clock.push_str(&format!(", {} left", minutes(until.saturating_sub(time))));
    }
    let title = Line::from(vec![
        Span::styled("coz-rs ", bold),
        Span::raw(scene.command.clone()),
    ]);
    let right = clock.len() as u16 + 1;
    let [left, at_right] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(right)]).areas(head);
    frame.render_widget(Paragraph::new(title), left);
    frame.render_widget(Paragraph::new(clock).right_aligned(), at_right);
    let verdict = Paragraph::new(scene.sentence.clone())
        .style(bold)
        .wrap(Wrap { trim: true });
    frame.render_widget(verdict, sentence);
    ranking(frame, scene, ability, table);
    if output > 0 {
        let mut lines = vec![Line::styled(
            "the program's output (printed at the end)",
            soft,
        )];
        lines.extend(scene.output.iter().map(|line| Line::raw(line.clone())));
        frame.render_widget(Paragraph::new(lines), below);
    }
    let experiments = match scene.experiments {
        1 => "1 experiment".to_owned(),
        count => format!("{count} experiments"),
    };
    let window = match &scene.window {
        Some((_, 0.0)) => "now: baseline".to_owned(),
        Some((location, speedup)) => {
            let name = location.rsplit('/').next().unwrap_or(location);
            format!("now: {} at {:.0} %", one_line(name), speedup * 100.0)
        }
        None => "now: looking around".to_owned(),
    };
    let foot_text =
        format!("{experiments}; {window}; Ctrl-C ends the program and keeps the profile");
    frame.render_widget(Paragraph::new(foot_text).style(soft), foot);
}

fn ranking(frame: &mut Frame, scene: &Scene, ability: Ability, area: Rect) {
    let style = |style: Style| {
        if ability.colour {
            style
        } else {
            Style::default()
        }
    };
    let Some((name, kind)) = &scene.point else {
        return;
    };
    let gain = match kind {
        PointKind::Throughput => "program speedup",
        PointKind::Latency => "latency shorter by",
    };
    // The interval's picture takes what the numbers leave.
    let wide = area.width >= 110;
    let others = if wide { 93 } else { 66 };
    let picture = usize::from(area.width.saturating_sub(others)).min(48);
    let head = Row::new(["", "line", "function", gain, "", "hot", "exp.", "verdict"])
        .style(style(Style::default().fg(Color::DarkGray)));
    let shown = scene
        .lines
        .iter()
        .take(usize::from(area.height.saturating_sub(2)));
    let (low, high) = scale(&scene.lines);
    let rows = shown.enumerate().map(|(number, line)| {
        let colour = match line.verdict {
            Verdict::WorthIt => Color::Green,
            Verdict::MakesItSlower => Color::Red,
            Verdict::NoEffect => Color::DarkGray,
            _ => Color::Yellow,
        };
        let tone = style(Style::default().fg(colour));
        let numbers = match line.gain {
            Some((gain, low, high, _)) => {
                format!(
                    "{:>5} ({} to {})",
                    percent(gain),
                    percent(low.max(-9.99)),
                    percent(high)
                )
            }
            None => "    ?".to_owned(),
        };
        let interval = match line.gain {
            Some(gain) => bar(gain, (low, high), picture, ability.unicode),
            None => String::new(),
        };
        Row::new([
            Cell::from(format!("{:>2}", number + 1)),
            Cell::from(line.place.clone()),
            Cell::from(line.function.clone()),
            Cell::from(numbers).style(tone),
            Cell::from(interval).style(tone),
            Cell::from(format!("{:>3.0}", line.share * 100.0)),
            Cell::from(format!("{:>4}", line.pairs)),
            Cell::from(verdict(line)).style(tone),
        ])
    });
    let function = if wide { 18 } else { 0 };
    let widths = [
        Constraint::Length(2),
        Constraint::Min(12),
        Constraint::Length(function),
        Constraint::Length(22),
        Constraint::Length(picture as u16),
        Constraint::Length(3),
        Constraint::Length(4),
        Constraint::Length(15),
    ];
    let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let about = format!("progress point {name}; gains in %, 95 % intervals");
    frame.render_widget(
        Paragraph::new(about).style(style(Style::default().fg(Color::DarkGray))),
        title,
    );
    frame.render_widget(
        Table::new(rows, widths).header(head).column_spacing(1),
        body,
    );
}

fn verdict(line: &Ranked) -> &'static str {
    match line.verdict {
        Verdict::WorthIt => "worth it",
        Verdict::MakesItSlower => "makes it slower",
        Verdict::NoEffect => "no effect",
        _ => "undecided",
    }
}

/// The ends of the intervals' scale.
fn scale(lines: &[Ranked]) -> (f64, f64) {
    // What is hardly known must not flatten the rest.
    let reach = |line: &Ranked| {
        let (gain, low, high, _) = line.gain?;
        match line.verdict {
            Verdict::WorthIt | Verdict::MakesItSlower | Verdict::NoEffect => Some((low, high)),
            _ => Some((gain * 1.3, gain * 1.3)),
        }
    };
    let ends = || lines.iter().filter_map(reach);
    let high = ends().map(|(_, high)| high).fold(0.1, f64::max).min(1.0);
    let low = ends().map(|(low, _)| low).fold(-0.05, f64::min).max(-high);
    (low, high)
}

/// An interval with its gain and the zero, in so many characters.
fn bar(
    (gain, low, high, _): (f64, f64, f64, f64),
    (bottom, top): (f64, f64),
    wide: usize,
    unicode: bool,
) -> String {
    let marks = if unicode {
        ['─', '●', '│']
    } else {
        ['-', 'o', '|']
    };
    let column = |value: f64| {
        let part = (value.clamp(bottom, top) - bottom) / (top - bottom);
        (part * wide.saturating_sub(1) as f64).round() as usize
    };
    let mut cells = vec![' '; wide];
    let mut set = |at: usize, mark: char| {
        if let Some(cell) = cells.get_mut(at) {
            *cell = mark;
        }
    };
    (column(low)..=column(high)).for_each(|at| set(at, marks[0]));
    set(column(0.0), marks[2]);
    set(column(gain), marks[1]);
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    const PLAIN: Ability = Ability {
        colour: false,
        unicode: false,
    };

    fn scene() -> Scene {
        let mut scene = Scene::new("./app \u{1b}[2J in");
        scene.sentence = "Work on a.c:3.".to_owned();
        scene.point = Some(("round".to_owned(), PointKind::Throughput));
        let line = |number: usize, gain: f64, verdict| Ranked {
            place: format!("a.c:{number}"),
            function: "work".to_owned(),
            gain: Some((gain, gain - 0.1, gain + 0.1, 1.0)),
            share: 0.25,
            pairs: 12,
            verdict,
        };
        scene.lines = (0..50)
            .map(|number| match number {
                0 => line(number, 0.4, Verdict::WorthIt),
                _ => line(number, 0.0, Verdict::Undecided { more_seconds: None }),
            })
            .collect();
        scene.output = vec!["printed".to_owned()];
        scene
    }

    fn drawn(scene: &Scene, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, scene, PLAIN)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| {
            (0..width)
                .map(|x| buffer[(x, y)].symbol())
                .collect::<String>()
        };
        (0..height).map(row).collect()
    }

    #[test]
    fn the_best_line_the_time_and_the_output_are_seen() {
        let mut scene = scene();
        scene.until = Some(now() + 61_500_000_000);
        scene.window = Some(("a.c:7".to_owned(), 0.25));
        let seen = drawn(&scene, 120, 24);
        assert!(
            seen[0].contains("\\u{1b}[2J") && seen[0].contains("1:01 left"),
            "{}",
            seen[0]
        );
        assert!(seen[1].starts_with("Work on a.c:3."), "{}", seen[1]);
        let first = &seen[5];
        assert!(
            first.contains("a.c:0")
                && first.contains("40 (30 to 50)")
                && first.contains("worth it"),
            "{first}"
        );
        assert!(first.contains("--o--"), "{first}");
        assert!(seen[22].starts_with("printed"), "{seen:?}");
        assert!(seen[23].contains("now: a.c:7 at 25 %"), "{}", seen[23]);
    }

    #[test]
    fn no_size_makes_it_panic() {
        let scene = scene();
        for (width, height) in [(1, 1), (3, 2), (20, 5), (80, 24), (99, 15), (400, 100)] {
            let seen = drawn(&scene, width, height);
            assert_eq!(seen.len(), usize::from(height));
        }
        drawn(&Scene::new(""), 80, 24);
    }
}
