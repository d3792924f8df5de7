//! A diagnosis as text.

use std::fmt::Write as _;

use coz_rs_plot::safe_text::one_line;

use super::finding::{Area, Diagnosis, Finding, Outcome};

/// The whole diagnosis.
#[must_use]
pub fn plain(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    for area in [Area::Machine, Area::Limits, Area::Program] {
        let of_area = |finding: &&Finding| finding.area == area;
        let mut findings = diagnosis.findings.iter().filter(of_area).peekable();
        if findings.peek().is_none() {
            continue;
        }
        // Writing into a string does not fail.
        let _ = writeln!(text, "{}", title(area));
        for finding in findings {
            entry(&mut text, finding);
        }
        text.push('\n');
    }
    text.push_str(&verdict(diagnosis));
    text
}

/// Findings to print beneath another message, one a line.
#[must_use]
pub fn remarks(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        entry(&mut text, finding);
    }
    text
}

fn title(area: Area) -> &'static str {
    match area {
        Area::Machine => "Machine",
        Area::Limits => "Limits",
        Area::Program => "Program",
    }
}

fn entry(text: &mut String, finding: &Finding) {
    let mark = match finding.outcome {
        Outcome::Good => "good    ",
        Outcome::Doubtful => "doubtful",
        Outcome::Bad => "bad     ",
    };
    let _ = writeln!(text, "  {mark}  {}", one_line(&finding.text));
    if let Some(mend) = &finding.mend {
        let _ = writeln!(text, "            -> {}", one_line(mend));
    }
}

fn verdict(diagnosis: &Diagnosis) -> String {
    let bad = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.outcome == Outcome::Bad)
        .count();
    let what = diagnosis
        .program
        .as_ref()
        .map_or_else(|| "programs".to_owned(), |program| one_line(program));
    match (bad, diagnosis.outcome) {
        (0, Outcome::Good) => format!("Nothing is in the way: coz-rs can profile {what}.\n"),
        (0, _) => format!("coz-rs can profile {what}, with the doubts above.\n"),
        (1, _) => format!("One thing stops coz-rs from profiling {what}.\n"),
        (count, _) => format!("{count} things stop coz-rs from profiling {what}.\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn each_finding_has_its_outcome_and_its_cure() {
        let findings = vec![
            Finding::good(Area::Machine, "kernel", "Linux."),
            Finding::bad(Area::Program, "points", "None\u{1b}[2J.", "add one"),
        ];
        let text = plain(&Diagnosis::new(Some(OsStr::new("./a")), findings));
        assert_eq!(
            text,
            "Machine\n  good      Linux.\n\nProgram\n  bad       None\\u{1b}[2J.\n            \
             -> add one\n\nOne thing stops coz-rs from profiling ./a.\n"
        );
    }
}
