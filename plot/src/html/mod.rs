//! The report: one HTML file that needs nothing else, neither the network nor other files.
//!
//! Names in a profile may come from anywhere. They reach the page as JSON in a data block, from
//! which the page builds text nodes; its policy lets only the script and the style run whose
//! hashes it states, and loads nothing.

pub mod comparison;
mod page_data;
mod policy;

use crate::estimates::Analysis;
use crate::source_text::Excerpt;
use crate::text::{Style, report as text_report};

/// The scripts, in the order in which they use each other.
const SCRIPTS: [&str; 8] = [
    "\"use strict\";\n(() => {\n",
    include_str!("page/base.js"),
    include_str!("page/state.js"),
    include_str!("page/scatter.js"),
    include_str!("page/curve.js"),
    include_str!("page/detail.js"),
    include_str!("page/list.js"),
    include_str!("page/page.js"),
];
const SCRIPT_END: &str = "})();\n";
const PAGE: &str = include_str!("page/page.html");
const CSS: &str = include_str!("page/page.css");

/// The report of an analysis; `source` gives the text around a line, if it has it
/// ([`crate::source_text::from_disk`] does).
#[must_use]
pub fn report(analysis: &Analysis, source: &mut dyn FnMut(&str, u32) -> Option<Excerpt>) -> String {
    let mut script = SCRIPTS.concat();
    script.push_str(SCRIPT_END);
    let data = page_data::json(analysis, source);
    let text = text_report(analysis, &Style::default());
    let policy = policy::content_security_policy(CSS, &script);
    let title = analysis.sessions.last().map_or_else(
        || "Causal profile".to_owned(),
        |session| {
            format!(
                "{} — causal profile",
                crate::safe_text::one_line(&session.command.join(" "))
            )
        },
    );
    fill(
        PAGE,
        &[
            ("policy", &policy),
            ("version", env!("CARGO_PKG_VERSION")),
            ("title", &escape(&title)),
            ("style", CSS),
            ("text", &escape(&text)),
            ("data", &data),
            ("script", &script),
        ],
    )
}

/// Puts values in the places of a template; a value is never looked through for places.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        if let Some((_, value)) = values.iter().find(|(known, _)| *known == name) {
            filled.push_str(value);
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Text as HTML.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimates::analyse;
    use crate::record::{Experiment, Record, Session};

    /// What a name must not be able to do.
    const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>{{data}}\u{1b}[2J\u{202e}&amp;]]>";

    fn hostile() -> Analysis {
        let mut records = vec![
            Record::Session(Session {
                command: vec![HOSTILE.to_owned()],
                ..Session::default()
            }),
            Record::Startup { time: 1 },
        ];
        for block in 0..3 {
            for speedup in [0.0, 0.5] {
                records.push(Record::Experiment(Experiment {
                    selected: format!("{HOSTILE}:3"),
                    speedup,
                    duration: 1000 + block,
                    block: Some(block),
                    ..Experiment::default()
                }));
                records.push(Record::ThroughputPoint {
                    name: HOSTILE.to_owned(),
                    delta: 4,
                });
            }
        }
        records.push(Record::Samples {
            location: format!("{HOSTILE}:3"),
            count: 4,
            function: Some(HOSTILE.to_owned()),
        });
        records.push(Record::Doubt {
            doubt: HOSTILE.to_owned(),
            text: HOSTILE.to_owned(),
            location: None,
        });
        analyse(&records)
    }

    #[test]
    fn hostile_names_stay_text() {
        let page = report(&hostile(), &mut |_, _| {
            Some(Excerpt {
                first: 1,
                lines: vec![HOSTILE.to_owned(); 4],
                changed: None,
            })
        });
        let own = PAGE.matches("<script").count();
        assert_eq!(page.matches("<script").count(), own);
        assert_eq!(page.matches("</script").count(), own);
        assert!(!page.contains("<img"));
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
        // The data block, read as a browser reads it, holds the names as they were.
        let (_, data) = page
            .split_once(r#"<script type="application/json" id="data">"#)
            .unwrap();
        let (data, _) = data.split_once("</script>").unwrap();
        let value: serde_json::Value = serde_json::from_str(data).unwrap();
        let name = value["points"][0]["name"].as_str().unwrap();
        assert!(name.starts_with("</script><script>alert(1)"), "{name}");
    }

    #[test]
    fn it_is_small_and_loads_nothing() {
        let page = report(&analyse(&[]), &mut |_, _| None);
        assert!(page.len() < 300_000, "{}", page.len());
        // The name of SVG is no address.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(!page.contains("unsafe-inline"));
        assert!(!page.contains("{{"));
    }
}
