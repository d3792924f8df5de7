//! What coz-rs predicts for the lines of a program, from one unshortened run.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use coz_rs_plot::estimates::{LineEstimate, analyse};
use coz_rs_plot::profile::Profile;

use super::catalogue::Program;
use super::machine::Watch;
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

/// What one run under the profiler said.
#[derive(Debug, Clone)]
pub struct Predicted {
    /// The program's lines, in the order of the catalogue.
    pub lines: Vec<LineEstimate>,
    /// Names of the doubts.
    pub doubts: Vec<String>,
    /// Processors that others kept busy meanwhile.
    pub others: f64,
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

/// Runs the program for `seconds` under the profiler and estimates all its lines.
///
/// # Errors
/// If there is no profile, or a line of the catalogue is not in it.
pub fn predict(
    program: &Program,
    built: &Path,
    seconds: f64,
    options: &[&str],
) -> Result<Predicted> {
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
    let watch = Watch::start()?;
    let profiled = run::profiled(&words, built, &arguments)?;
    let others = watch.others()?;
    ensure!(
        profiled.profile.exists(),
        "no profile of {}: {}",
        program.source,
        profiled.stderr()
    );
    let profile = Profile::read(&profiled.profile)?;
    let analysis = analyse(&profile.records);
    let point = analysis.points.first().with_context(|| {
        format!(
            "no progress point in the profile of {}:\n{}",
            program.source,
            profiled.stderr()
        )
    })?;
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
    let doubts = analysis.doubts.iter().map(|note| note.doubt.clone());
    Ok(Predicted {
        lines,
        doubts: doubts.collect(),
        others,
    })
}
