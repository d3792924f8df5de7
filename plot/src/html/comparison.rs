//! Two profiles side by side as a page: static, without any script, and as self-contained as the
//! report.

use std::fmt::Write as _;

use super::{escape, policy};
use crate::estimates::{Comparison, CurvePoint, LineChange, PointChange, percent};
use crate::safe_text::one_line;
use crate::short_names::{short_function, shorten};
use crate::text::comparison::pace as pace_sentence;

const CSS: &str = include_str!("page/comparison.css");
/// Lines of a progress point that are shown.
const LINES: usize = 200;
/// The picture of a line's two gains, px.
const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 30.0;

/// The page; `before` and `after` are what the profiles are called.
#[must_use]
pub fn comparison(comparison: &Comparison, before: &str, after: &str) -> String {
    let text = |text: &str| escape(&one_line(text));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"coz-rs {}\">\n\
         <title>Before and after</title>\n<style>{CSS}</style>\n</head>\n<body>\n\
         <h1>Before and after</h1>\n<p><span class=\"key before\"></span>before: <code>{}</code> \
         <span class=\"key after\"></span>after: <code>{}</code></p>\n",
        policy::content_security_policy(CSS, ""),
        env!("CARGO_PKG_VERSION"),
        text(before),
        text(after),
    );
    for point in &comparison.points {
        page += &section(point, comparison.speedup);
    }
    if comparison.points.is_empty() {
        page += "<section><h2>The profiles have no progress point in common.</h2></section>\n";
    }
    page + "</body>\n</html>\n"
}

fn section(point: &PointChange, speedup: f64) -> String {
    let tone = match &point.pace {
        Some(pace) if pace.low > 0.0 => " class=\"better\"",
        Some(pace) if pace.high < 0.0 => " class=\"worse\"",
        _ => "",
    };
    let sentence = pace_sentence(point);
    let mut section = format!("<section{tone}>\n<h2>{}</h2>\n", escape(&sentence));
    if point.lines.is_empty() {
        return section + "</section>\n";
    }
    let _ = write!(
        section,
        "<p>Below: program speedup, %, with {:.0} % of the line's time cut, and its 95 % interval. \
         What fell is used up, or no longer in the way; what rose is where to go on.</p>\n\
         <table>\n<thead><tr><th>line</th><th>before</th><th>after</th><th class=\"wide\"></th>\
         <th>difference</th><th class=\"wide\">samples before</th><th class=\"wide\">after</th></tr>\
         </thead>\n<tbody>\n",
        speedup * 100.0
    );
    let short = shorten(point.lines.iter().map(|line| line.location.as_str()));
    let shown = &point.lines[..point.lines.len().min(LINES)];
    let range = range(shown);
    for line in shown {
        section += &row(line, &short[line.location.as_str()], range);
    }
    section += "</tbody>\n</table>\n";
    if shown.len() < point.lines.len() {
        let left = point.lines.len() - shown.len();
        let _ = writeln!(section, "<p>{left} more lines are in the JSON form.</p>");
    }
    section + "</section>\n"
}

fn row(line: &LineChange, short: &str, range: (f64, f64)) -> String {
    let gain = |point: Option<CurvePoint>| {
        let known = point.filter(|point| point.gain.is_finite());
        known.map_or("·".to_owned(), |point| {
            format!("{}{}", percent(point.gain), interval(point.low, point.high))
        })
    };
    let (tone, difference) = match line.difference {
        Some((difference, low, high)) => {
            let tone = match (low > 0.0, high < 0.0) {
                (true, _) => " more",
                (_, true) => " less",
                _ => "",
            };
            (tone, percent(difference) + &interval(low, high))
        }
        None => ("", "·".to_owned()),
    };
    let function = line.function.as_deref().map_or(String::new(), |function| {
        let function = escape(&one_line(&short_function(function)));
        format!("<span class=\"function\">{function}</span>")
    });
    format!(
        "<tr><td class=\"place\" title=\"{}\">{}{function}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{}</td><td class=\"wide\">{}</td><td class=\"number{tone}\">{difference}</td>\
         <td class=\"number wide\">{} %</td><td class=\"number wide\">{} %</td></tr>\n",
        escape(&one_line(&line.location)),
        escape(&one_line(short)),
        gain(line.before),
        gain(line.after),
        picture(line, range),
        percent(line.shares.0),
        percent(line.shares.1),
    )
}

fn interval(low: f64, high: f64) -> String {
    if low.is_finite() && high.is_finite() {
        format!(" ({} to {})", percent(low), percent(high))
    } else {
        String::new()
    }
}

/// What the pictures of all lines show: both ends, with zero between them.
fn range(lines: &[LineChange]) -> (f64, f64) {
    let points = lines.iter().flat_map(|line| [line.before, line.after]);
    let gains = points.flatten().map(|point| point.gain);
    let usable = gains.filter(|gain| gain.is_finite());
    let (low, high) = usable.fold((-0.05_f64, 0.05_f64), |(low, high), gain| {
        (low.min(gain), high.max(gain))
    });
    let room = 0.15 * (high - low);
    ((low - room).max(-1.0), (high + room).min(1.0))
}

/// Both gains with their intervals, one above the other.
fn picture(line: &LineChange, (least, most): (f64, f64)) -> String {
    let x = |gain: f64| ((gain - least) / (most - least)).clamp(0.0, 1.0) * (WIDTH - 10.0) + 5.0;
    let mut drawn = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" aria-hidden=\"true\">\
         <line class=\"zero\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"1\" y2=\"{1}\"/>",
        x(0.0),
        HEIGHT - 1.0
    );
    for (point, class, y) in [(line.before, "before", 9.0), (line.after, "after", 21.0)] {
        let Some(point) = point.filter(|point| point.gain.is_finite()) else {
            continue;
        };
        let end = |end: f64, other: f64| x(if end.is_finite() { end } else { other });
        let _ = write!(
            drawn,
            "<g class=\"{class}\"><line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\" stroke-width=\"2\"/>\
             <circle cx=\"{:.1}\" cy=\"{y}\" r=\"4\"/></g>",
            end(point.low, least),
            end(point.high, most),
            x(point.gain),
        );
    }
    drawn + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimates::PointKind;

    const HOSTILE: &str = "</td><script>alert(1)</script>\"onload='x'\u{1b}\u{202e}&amp;";

    fn point(gain: f64) -> Option<CurvePoint> {
        Some(CurvePoint {
            speedup: 0.5,
            gain,
            low: gain - 0.02,
            high: gain + 0.02,
        })
    }

    fn changed(name: &str, lines: usize) -> Comparison {
        let line = |number: usize| LineChange {
            location: format!("{name}:{number}"),
            function: Some(name.to_owned()),
            before: point(0.4),
            after: point(f64::NAN),
            difference: Some((-0.3, -0.4, -0.2)),
            shares: (0.5, 0.1),
        };
        Comparison {
            format_version: 1,
            speedup: 0.5,
            points: vec![PointChange {
                name: name.to_owned(),
                kind: PointKind::Throughput,
                pace: None,
                lines: (1..=lines).map(line).collect(),
            }],
        }
    }

    #[test]
    fn names_stay_text_and_nothing_is_loaded() {
        let page = comparison(&changed(HOSTILE, 3), HOSTILE, HOSTILE);
        assert!(
            !page.contains("<script") && !page.contains('\u{1b}') && !page.contains('\u{202e}')
        );
        assert!(!page.contains("\"onload") && !page.contains("NaN"));
        assert_eq!(page.matches("<tr>").count(), 4);
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn it_has_both_gains_their_picture_and_what_is_left_out() {
        let page = comparison(&changed("a.rs", LINES + 5), "old.coz", "new.coz");
        assert!(page.contains("<code>old.coz</code>") && page.contains("<code>new.coz</code>"));
        assert!(page.contains("40 (38 to 42)"), "{page}");
        assert!(page.contains("<td class=\"number less\">-30 (-40 to -20)</td>"));
        assert!(page.contains("5 more lines"));
        let empty = Comparison {
            points: Vec::new(),
            ..changed("a", 1)
        };
        assert!(comparison(&empty, "a", "b").contains("no progress point in common"));
    }
}
