//! What a story's program says about itself, and what a change really gains.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use coz_rs_plot::profile::Profile;

use crate::demo_catalogue::{Change, Faster, Gauge, Sources};

/// What a program prints at its end: `rate R`, perhaps `latency T`, and `cost NAME T` for each part
/// that it times itself.
#[derive(Debug, Clone, Default)]
pub struct Figures {
    /// Visits a second.
    pub rate: f64,
    /// Mean time between begin and end.
    pub latency: Option<f64>,
    /// Mean time that a visit spends in each part.
    pub costs: BTreeMap<String, f64>,
    /// `check WORD`, the same with every change that changes only speed.
    pub check: Option<String>,
    /// All that it printed.
    pub text: String,
}

impl Figures {
    /// Runs a program for some seconds.
    ///
    /// # Errors
    /// If it does not run or does not say.
    pub fn of(
        program: &Path,
        arguments: &[&str],
        change: &[&str],
        seconds: f64,
    ) -> anyhow::Result<Figures> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(["--seconds", &seconds.to_string()]);
        let output = command.args(change).output();
        let output = output.with_context(|| format!("running {}", program.display()))?;
        anyhow::ensure!(
            output.status.success(),
            "{command:?} failed ({}): {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
        let text = String::from_utf8_lossy(&output.stdout);
        let figures = Figures::parse(&text);
        figures.with_context(|| format!("{command:?} did not print its rate"))
    }

    /// What a program printed; nothing without its rate.
    #[must_use]
    pub fn parse(text: &str) -> Option<Figures> {
        let mut figures = Figures {
            text: text.to_owned(),
            ..Figures::default()
        };
        let mut words = text.split_whitespace();
        let mut rate = None;
        while let Some(word) = words.next() {
            let mut number = || words.next()?.parse::<f64>().ok();
            match word {
                "rate" => rate = number(),
                "latency" => figures.latency = number(),
                "check" => figures.check = words.next().map(str::to_owned),
                "cost" => {
                    let name = words.next()?.to_owned();
                    figures.costs.insert(name, words.next()?.parse().ok()?);
                }
                _ => {}
            }
        }
        figures.rate = rate?;
        Some(figures)
    }
}

/// What a change really gained.
#[derive(Debug, Clone, Copy)]
pub struct Gained {
    /// How much faster its line became, 0..=1.
    pub line: f64,
    /// 1 − period(changed)/period(as it was), or the same of latencies.
    pub gain: f64,
    /// Half of the range over the pairs of runs; nothing if there was one pair.
    pub spread: Option<f64>,
}

/// Measures a change by `pairs` pairs of runs of `seconds` each, in alternating order.
///
/// # Errors
/// If the program does not run or does not print what the change needs.
pub fn measure(
    program: &Path,
    arguments: &[&str],
    change: &Change,
    seconds: f64,
    pairs: usize,
) -> anyhow::Result<Gained> {
    let mut ratios = Vec::new();
    let mut lines = Vec::new();
    for pair in 0..pairs.max(1) {
        let run = |words| Figures::of(program, arguments, words, seconds);
        let (plain, changed) = if pair % 2 == 0 {
            let plain = run(&[])?;
            (plain, run(change.arguments)?)
        } else {
            let changed = run(change.arguments)?;
            (run(&[])?, changed)
        };
        ratios.push(ratio(change.gauge, &plain, &changed)?);
        lines.push(match change.by {
            Faster::Part(part) => part,
            Faster::Cost(name) => {
                let cost = |figures: &Figures| figures.costs.get(name).copied();
                let known = cost(&plain).zip(cost(&changed));
                let (plain, changed) =
                    known.with_context(|| format!("the program prints no cost {name}"))?;
                1.0 - changed / plain
            }
        });
    }
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Ok(Gained {
        line: mean(&lines).clamp(0.0, 1.0),
        gain: 1.0 - mean(&ratios),
        spread: (ratios.len() > 1).then_some((most - least) / 2.0),
    })
}

/// period(changed)/period(plain).
fn ratio(gauge: Gauge, plain: &Figures, changed: &Figures) -> anyhow::Result<f64> {
    match gauge {
        Gauge::Rate => Ok(plain.rate / changed.rate),
        Gauge::Latency => {
            let both = changed.latency.zip(plain.latency);
            let (changed, plain) = both.context("the program prints no latency")?;
            Ok(changed / plain)
        }
    }
}

/// The number of the line that is marked `LINE: label`, as `FILE:LINE`.
#[must_use]
pub fn marked_line(sources: &Sources, label: &str) -> Option<String> {
    let marks = [format!("LINE: {label}"), format!("LINE: {label} */")];
    sources.files.iter().find_map(|(path, text)| {
        let is_marked = |line: &str| marks.iter().any(|mark| line.trim_end().ends_with(mark));
        let at = text.lines().position(is_marked)?;
        Some(format!("{path}:{}", at + 1))
    })
}

/// The prediction for a change: of the curve of its line, at what the change makes of that line.
#[must_use]
pub fn predicted(
    profile: &Profile,
    sources: &Sources,
    change: &Change,
    line: f64,
) -> Option<Prediction> {
    let name = marked_line(sources, change.line)?;
    let analysis = coz_rs_plot::estimates::analyse(&profile.records);
    let latency = change.gauge == Gauge::Latency;
    let point = analysis.points.iter().find(|point| {
        let of_latency = point.kind == coz_rs_plot::estimates::PointKind::Latency;
        point.name == change.point && of_latency == latency
    })?;
    let estimate = point
        .lines
        .iter()
        .find(|other| same_line(&other.location, &name))?;
    let at = estimate.at(line)?;
    Some(Prediction {
        gain: at.gain,
        low: at.low,
        high: at.high,
        samples: estimate.hit_share.unwrap_or(estimate.sample_share),
    })
}

/// A prediction with its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub struct Prediction {
    /// Program speedup.
    pub gain: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Part of the samples with the line on the stack.
    pub samples: f64,
}

/// Whether a location of a profile is this line; the profile may know more of the path, or less.
fn same_line(location: &str, name: &str) -> bool {
    location == name
        || location.ends_with(&format!("/{name}"))
        || name.ends_with(&format!("/{location}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_figures_are_read() {
        let figures = Figures::parse("blocks 9 rate 4.5\ncost sum 10 ns\ncheck 00ff\n").unwrap();
        assert_eq!((figures.rate, figures.latency), (4.5, None));
        assert_eq!(figures.costs["sum"], 10.0);
        assert_eq!(figures.check.as_deref(), Some("00ff"));
        assert!(Figures::parse("blocks 9\n").is_none());
        assert!(Figures::parse("rate fast\n").is_none());
    }

    #[test]
    fn locations_match_by_whole_path_elements() {
        assert!(same_line(
            "/tmp/x/examples/demo/main.rs:7",
            "examples/demo/main.rs:7"
        ));
        assert!(same_line("demo/main.rs:7", "examples/demo/main.rs:7"));
        assert!(!same_line(
            "examples/demo/main.rs:71",
            "examples/demo/main.rs:7"
        ));
        assert!(!same_line("main.rs:8", "examples/demo/main.rs:7"));
    }
}
