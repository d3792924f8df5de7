//! The examples' stories: what coz-rs predicts for a change against what it really gains.
//!
//! Each story's program runs once under the profiler, with the lines that its changes make faster
//! as the selected ones. Then it runs with and without each change. The program says how much
//! faster the change made the line; the prediction is the line's curve at that speedup.

pub mod catalogue;
pub mod little;
pub mod ordinary_profile;
pub mod table;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use coz_rs::demo_catalogue::{Change, Sources};
use coz_rs::demo_measurement::{marked_line, measure, predicted};
use coz_rs_plot::profile::Profile;

use crate::run;
use table::Row;

/// A story in one language.
#[derive(Debug, Clone)]
pub struct Form {
    /// As in the table.
    pub name: String,
    /// What can be changed.
    pub changes: Vec<Change>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The executable.
    pub program: PathBuf,
    /// What it is built from.
    pub sources: Sources,
}

/// How long everything takes.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// Seconds under the profiler a line.
    pub a_line: f64,
    /// Seconds of a run that measures a change.
    pub real: f64,
    /// Pairs of such runs.
    pub pairs: usize,
}

/// A profile of a form of a story, of the lines that its changes make faster.
pub fn profile(form: &Form, seconds_a_line: f64, options: &[&str]) -> Result<Profile> {
    let mut lines: Vec<String> = Vec::new();
    for change in &form.changes {
        let line = marked_line(&form.sources, change.line)
            .with_context(|| format!("{} marks no line {}", form.name, change.line))?;
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let mut words = options.to_vec();
    for line in &lines {
        words.extend(["--fixed-line", line]);
    }
    let seconds = (seconds_a_line * lines.len() as f64).to_string();
    let arguments: Vec<&str> = form.arguments.iter().map(String::as_str).collect();
    let timed = [&arguments[..], &["--seconds", &seconds]].concat();
    let profiled = run::profiled(&words, &form.program, &timed)?;
    ensure!(
        profiled.profile.exists(),
        "no profile of {}: {}",
        form.name,
        profiled.stderr()
    );
    Ok(Profile::read(&profiled.profile)?)
}

/// Predicts and measures all changes of a form of a story.
pub fn tell(form: &Form, length: Length, options: &[&str]) -> Result<Vec<Row>> {
    let profile = profile(form, length.a_line, options)?;
    let arguments: Vec<&str> = form.arguments.iter().map(String::as_str).collect();
    let mut rows = Vec::new();
    for change in &form.changes {
        let real = measure(&form.program, &arguments, change, length.real, length.pairs)?;
        rows.push(Row {
            story: form.name.clone(),
            change: *change,
            prediction: predicted(&profile, &form.sources, change, real.line),
            real,
        });
    }
    Ok(rows)
}
