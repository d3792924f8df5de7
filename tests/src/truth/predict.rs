//! What coz-rs predicts for the lines of a program, from one unshortened run.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use coz_rs_plot::estimates::{LineEstimate, analyse};
use coz_rs_plot::profile::Profile;

use super::catalogue::Program;
use crate::{build, run};

/// A prediction with its 95 % interval.
#[derive(Debug, Clone, Copy)]
pub struct Prediction {
    /// Program speedup.
    pub gain: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The prediction at a speedup: of the fitted curve, as the report shows it.
#[must_use]
pub fn at(line: &LineEstimate, speedup: f64) -> Option<Prediction> {
    if let Some(point) = line.at(speedup) {
        return Some(Prediction {
            gain: point.gain,
            low: point.low,
            high: point.high,
        });
    }
    let level = line
        .levels
        .iter()
        .find(|level| (level.speedup - speedup).abs() < 1e-6)?;
    Some(Prediction {
        gain: level.gain,
        low: level.low,
        high: level.high,
    })
}

/// Runs the program for `seconds` under the profiler and estimates all its lines, in the order of
/// the catalogue.
pub fn predict(
    program: &Program,
    built: &Path,
    seconds: f64,
    options: &[&str],
) -> Result<Vec<LineEstimate>> {
    let mut fixed = Vec::new();
    for line in program.lines {
        let number = build::marked_line(program.source, line.label)?;
        fixed.push(format!("{}:{number}", program.source));
    }
    let mut words: Vec<&str> = options.to_vec();
    for line in &fixed {
        words.extend(["--fixed-line", line]);
    }
    let length = seconds.to_string();
    let mut arguments = program.arguments.to_vec();
    arguments.extend(["--seconds", &length]);
    let profiled = run::profiled(&words, built, &arguments)?;
    ensure!(
        profiled.profile.exists(),
        "no profile of {}: {}",
        program.source,
        profiled.stderr()
    );
    let profile = Profile::read(&profiled.profile)?;
    let analysis = analyse(&profile.records);
    let point = analysis
        .points
        .first()
        .context("no progress point in the profile")?;
    let mut lines = Vec::new();
    for name in &fixed {
        let found = point
            .lines
            .iter()
            .find(|line| line.location.ends_with(name.as_str()));
        let line = found
            .with_context(|| format!("{name} is not in the profile:\n{}", profiled.stderr()))?;
        lines.push(line.clone());
    }
    Ok(lines)
}
