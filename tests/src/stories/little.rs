//! Mean latency by Little's law, as a profile has it, beside what the program itself measures.

use std::fmt;

use anyhow::{Context, Result, ensure};
use coz_rs::demo_catalogue::{Change, Gauge};
use coz_rs::demo_measurement::{Figures, marked_line};
use coz_rs_plot::estimates::{PointKind, analyse};
use coz_rs_plot::profile::Profile;

use super::Form;
use crate::run;

/// Two latencies of one run.
#[derive(Debug, Clone, Copy)]
pub struct Latencies {
    /// W = L/λ over the baseline windows, ms.
    pub by_littles_law_ms: f64,
    /// The mean over all requests of what the program's clock said, ms.
    pub by_the_clock_ms: f64,
}

impl Latencies {
    /// Whether the form's program has a latency.
    #[must_use]
    pub fn are_told_by(form: &Form) -> bool {
        change(form).is_some()
    }

    /// Runs the program under the profiler for some seconds, with the least speedup there is, 1 %: the
    /// program measures all of the run, and baseline windows are hardly different from the others.
    ///
    /// # Errors
    /// If the program cannot be profiled, or one of the two says no latency.
    pub fn of(form: &Form, seconds: f64, options: &[&str]) -> Result<Latencies> {
        let change = change(form).context("a program that measures latency")?;
        let line = marked_line(&form.sources, change.line).context("a line that is marked")?;
        let fixed = ["--fixed-line", &line, "--fixed-speedup", "1"];
        let arguments: Vec<&str> = form.arguments.iter().map(String::as_str).collect();
        let seconds = seconds.to_string();
        let arguments = [&arguments[..], &["--seconds", &seconds]].concat();
        let profiled = run::profiled(&[options, &fixed].concat(), &form.program, &arguments)?;
        ensure!(
            profiled.profile.exists(),
            "no profile of {}: {}",
            form.name,
            profiled.stderr()
        );
        let figures = Figures::parse(&String::from_utf8_lossy(&profiled.output.stdout));
        let measured = figures.and_then(|figures| figures.latency);
        let analysis = analyse(&Profile::read(&profiled.profile)?.records);
        let mut points = analysis.points.iter();
        let point = points
            .find(|point| point.name == change.point && point.kind == PointKind::Latency)
            .context("no latency in the profile")?;
        Ok(Latencies {
            by_littles_law_ms: point.period.context("no baseline window")? * 1e-6,
            by_the_clock_ms: measured.context("the program prints no latency")?,
        })
    }

    /// The first over the second, minus 1.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.by_littles_law_ms / self.by_the_clock_ms - 1.0
    }
}

fn change(form: &Form) -> Option<&Change> {
    let mut changes = form.changes.iter();
    changes.find(|change| change.gauge == Gauge::Latency)
}

/// As cells of a table.
impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} ms | {:.2} ms | {:+.1} %",
            self.by_littles_law_ms,
            self.by_the_clock_ms,
            100.0 * self.difference()
        )
    }
}
