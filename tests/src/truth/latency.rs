//! Latency: what coz-rs predicts for a server's mean latency against what shortening a line makes
//! of it, measured directly inside the server.
//!
//! `server.c` gets its requests in three ways. Where a thread of its own makes them, or its clients
//! wait for their answers, predictions must hold. Where another process sends them by the clock,
//! virtual time does not hold: throughput must gain nothing and latency must be no advice.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use coz_rs_plot::estimates::{Analysis, LineEstimate, PointAnalysis, PointKind, analyse};
use coz_rs_plot::profile::Profile;

use crate::{build, run};

const SOURCE: &str = "server.c";
/// The marked lines of the server; their knobs are `--NAME`.
pub const LINES: [&str; 2] = ["parse", "answer"];
/// The speedups compared.
pub const SPEEDUPS: [f64; 3] = [0.25, 0.5, 0.75];

/// How the server gets its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From a thread of its own, each some time after the last one.
    Inside,
    /// The same, with begins and ends counted as Coz's own header does.
    InsidePlainly,
    /// From clients that wait for their answers.
    Clients,
    /// From another process, by the clock.
    Clock,
}

impl Source {
    /// The server's options for it.
    #[must_use]
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Source::Inside => &[],
            Source::InsidePlainly => &["--plain", "1"],
            Source::Clients => &["--clients", "3"],
            // Light work: a server that cannot keep up works at its own pace, not by the clock.
            Source::Clock => &["--clock", "1", "--parse", "0.5", "--answer", "0.5"],
        }
    }
}

/// The server, built.
///
/// # Errors
/// If it does not compile.
pub fn server() -> Result<PathBuf> {
    build::program(SOURCE, build::Compiler::C(&[]))
}

/// What a run under the profiler says of the server.
///
/// # Errors
/// If there is no profile.
pub fn profiled(
    server: &Path,
    source: Source,
    seconds: f64,
    options: &[&str],
) -> Result<(Analysis, String)> {
    let mut fixed = Vec::new();
    for label in LINES {
        fixed.push(format!("{SOURCE}:{}", build::marked_line(SOURCE, label)?));
    }
    let mut words: Vec<&str> = options.to_vec();
    for line in &fixed {
        words.extend(["--fixed-line", line]);
    }
    let length = seconds.to_string();
    let mut arguments = source.options().to_vec();
    arguments.extend(["--seconds", &length]);
    let profiled = run::profiled(&words, server, &arguments)?;
    ensure!(
        profiled.profile.exists(),
        "no profile: {}",
        profiled.stderr()
    );
    let analysis = analyse(&Profile::read(&profiled.profile)?.records);
    Ok((analysis, profiled.stderr()))
}

/// The analysis of a point of the server.
#[must_use]
pub fn point(analysis: &Analysis, kind: PointKind) -> Option<&PointAnalysis> {
    analysis.points.iter().find(|point| point.kind == kind)
}

/// What the analysis says of a marked line.
#[must_use]
pub fn line<'a>(point: &'a PointAnalysis, label: &str) -> Option<&'a LineEstimate> {
    let number = build::marked_line(SOURCE, label).ok()?;
    let name = format!("{SOURCE}:{number}");
    point
        .lines
        .iter()
        .find(|line| line.location.ends_with(&name))
}

/// A gain with the half width of its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub struct Gain {
    /// 1 − value(shortened)/value(whole).
    pub gain: f64,
    /// Half width.
    pub noise: f64,
}

/// What shortening a line really gains: latency and time per request.
///
/// # Errors
/// If a run fails.
pub fn truth(
    server: &Path,
    source: Source,
    label: &str,
    speedup: f64,
    pairs: usize,
    seconds: f64,
) -> Result<(Gain, Gain)> {
    let (mut latency, mut period) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let mut runs = [(1.0, None), (1.0 - speedup, None)];
        if pair % 2 == 1 {
            runs.reverse();
        }
        for (share, result) in &mut runs {
            *result = Some(measure(server, source, label, *share, seconds)?);
        }
        if pair % 2 == 1 {
            runs.reverse();
        }
        let [(_, Some(whole)), (_, Some(part))] = runs else {
            continue;
        };
        latency.push((part.0 / whole.0).ln());
        period.push((whole.1 / part.1).ln());
    }
    Ok((gain(&latency), gain(&period)))
}

/// Mean latency and rate of one run.
fn measure(
    server: &Path,
    source: Source,
    label: &str,
    share: f64,
    seconds: f64,
) -> Result<(f64, f64)> {
    let mut command = Command::new(server);
    command.args(source.options());
    command.args(["--seconds", &seconds.to_string()]);
    command.args([format!("--{label}"), share.to_string()]);
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        output.status
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |name: &str| -> Result<f64> {
        let mut words = text.split_whitespace().skip_while(|word| *word != name);
        let word = words.nth(1).with_context(|| format!("no {name}: {text}"))?;
        word.parse().with_context(|| format!("{name} {word}"))
    };
    Ok((value("latency")?, value("rate")?))
}

/// From log ratios, with Student's t.
fn gain(ratios: &[f64]) -> Gain {
    // Two-sided 95 % quantiles for 1 to 10 degrees of freedom (any table of t).
    const T: [f64; 10] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    ];
    let count = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / count;
    let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    let freedom = ratios.len().saturating_sub(1);
    let t = freedom.checked_sub(1).map_or(f64::INFINITY, |at| {
        T.get(at).copied().unwrap_or(2.1) * (squares / freedom as f64 / count).sqrt()
    });
    Gain {
        gain: 1.0 - mean.exp(),
        noise: t * mean.exp(),
    }
}

/// One prediction beside its truth.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it is of.
    pub name: String,
    /// The virtual speedup.
    pub speedup: f64,
    /// What really happened.
    pub truth: Gain,
    /// Predicted gain and its interval.
    pub predicted: (f64, f64, f64),
}

impl Row {
    /// The row of a line at a speedup.
    #[must_use]
    pub fn of(name: String, line: &LineEstimate, speedup: f64, truth: Gain) -> Option<Row> {
        let at = line.at(speedup)?;
        Some(Row {
            name,
            speedup,
            truth,
            predicted: (at.gain, at.low, at.high),
        })
    }

    /// Prediction minus truth.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.predicted.0 - self.truth.gain
    }

    /// Whether the intervals meet.
    #[must_use]
    pub fn meets(&self) -> bool {
        let (_, low, high) = self.predicted;
        low <= self.truth.gain + self.truth.noise && self.truth.gain - self.truth.noise <= high
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (gain, low, high) = self.predicted;
        write!(
            f,
            "{:<34} {:>3.0} % | truth {:>6.1} ± {:<4.1} | predicted {:>6.1} [{:>6.1}, {:>6.1}] | error {:>+5.1}{}",
            self.name,
            self.speedup * 100.0,
            self.truth.gain * 100.0,
            self.truth.noise * 100.0,
            gain * 100.0,
            low * 100.0,
            high * 100.0,
            self.error() * 100.0,
            if self.meets() { "" } else { " *" },
        )
    }
}
