//! Running the suite: for each program one run under the profiler and the truths of its lines.

use std::time::Instant;

use anyhow::Result;
use coz_rs_plot::estimates::Verdict;

use super::catalogue::Program;
use super::machine::{TOO_MUCH, WORTHLESS};
use super::measure::{Effort, truths};
use super::predict::{Predicted, at, predict};
use super::report::{MARKDOWN_HEAD, Row, Summary};
use crate::build;
use crate::random::Random;

/// The doubt about programs with more runnable threads than processors.
pub const CROWDED_DOUBT: &str = "crowded";

/// What is run, and how much of it.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The programs.
    pub programs: Vec<&'static Program>,
    /// Speedups asked for.
    pub speedups: &'static [f64],
    /// Seconds under the profiler, a line.
    pub predicted: f64,
    /// Work for the truths.
    pub effort: Effort,
    /// `--sampler`.
    pub sampler: String,
    /// Seed of everything random.
    pub seed: u64,
}

/// What came out.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The pairs.
    pub rows: Vec<Row>,
    /// Null lines, and which of them were flagged.
    pub nulls: usize,
    /// Null lines that were said to matter.
    pub flagged: Vec<String>,
    /// Crowded programs, and which of them carried no doubt.
    pub crowded: usize,
    /// Crowded programs without the doubt.
    pub undoubted: Vec<String>,
    /// Lines of which nothing could be said.
    pub missing: Vec<String>,
    /// Measurements that others disturbed and that could not be repeated.
    pub disturbed: usize,
    /// Seconds under the profiler.
    pub profiled: f64,
    /// Seconds in all.
    pub seconds: f64,
}

/// Limits that an outcome must keep.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Mean absolute error, points.
    pub mean: f64,
    /// Largest error, points.
    pub worst: f64,
    /// The same mean where there are more threads than cores.
    pub crowded_mean: f64,
    /// Part of the pairs whose intervals meet.
    pub coverage: f64,
    /// Part of the null lines that may be flagged.
    pub flagged: f64,
}

/// Runs the plan and prints each pair as it comes.
///
/// # Errors
/// If a program cannot be built or run.
pub fn run(plan: &Plan) -> Result<Outcome> {
    let begin = Instant::now();
    let mut random = Random::new(plan.seed);
    let mut outcome = Outcome::default();
    for program in &plan.programs {
        let built = build::program(program.source, program.compiler)?;
        let predicted = predicted(plan, program, &built, &mut outcome)?;
        // On more processors they are not crowded.
        if program.crowded && std::thread::available_parallelism()?.get() <= 2 {
            outcome.crowded += 1;
            if !predicted.doubts.iter().any(|doubt| doubt == CROWDED_DOUBT) {
                outcome.undoubted.push(program.name().to_owned());
            }
        }
        for (line, estimate) in program.lines.iter().zip(&predicted.lines) {
            let name = format!("{} {}", program.name(), line.label);
            let says_it_matters =
                matches!(estimate.verdict, Verdict::WorthIt | Verdict::MakesItSlower);
            let void = predicted.others > WORTHLESS;
            outcome.nulls += usize::from(line.null && !void);
            if line.null && !void && says_it_matters {
                outcome.flagged.push(name.clone());
            }
            let truths = truths(
                &built,
                program.arguments,
                line.knob,
                plan.speedups,
                &plan.effort,
                &mut random,
            )?;
            outcome.disturbed += truths.disturbed;
            if truths.disturbed > 0 {
                eprintln!(
                    "{name}: others used the processors during {} runs ({} more were repeated)",
                    truths.disturbed, truths.repeated
                );
            }
            for (speedup, truth) in plan.speedups.iter().zip(truths.levels) {
                let Some(prediction) = at(estimate, *speedup) else {
                    println!("{name} {:.0} %: nothing predicted", speedup * 100.0);
                    outcome.missing.push(name.clone());
                    continue;
                };
                let row = Row {
                    line: name.clone(),
                    speedup: *speedup,
                    truth,
                    prediction,
                    crowded: program.crowded,
                    void: truths.others.max(predicted.others) > WORTHLESS,
                };
                println!("{row}");
                outcome.rows.push(row);
            }
        }
    }
    outcome.seconds = begin.elapsed().as_secs_f64();
    Ok(outcome)
}

/// One run under the profiler, repeated once if others used the processors meanwhile.
fn predicted(
    plan: &Plan,
    program: &Program,
    built: &std::path::Path,
    outcome: &mut Outcome,
) -> Result<Predicted> {
    let seconds = plan.predicted * program.patience * program.lines.len() as f64;
    let seed = plan.seed.to_string();
    let options = ["--sampler", &plan.sampler, "--seed", &seed];
    let mut predicted = predict(program, built, seconds, &options)?;
    if predicted.others > TOO_MUCH {
        let first = predicted.others;
        predicted = predict(program, built, seconds, &options)?;
        if predicted.others > TOO_MUCH {
            outcome.disturbed += 1;
            eprintln!(
                "{}: others kept {first:.2} and {:.2} processors busy under the profiler",
                program.name(),
                predicted.others
            );
        }
    }
    outcome.profiled += seconds;
    Ok(predicted)
}

impl Outcome {
    /// Part of the pairs that are not void.
    #[must_use]
    pub fn judged(&self) -> f64 {
        let good = self.rows.iter().filter(|row| !row.void).count();
        good as f64 / self.rows.len().max(1) as f64
    }

    /// What the outcome breaks of the bounds.
    #[must_use]
    pub fn broken(&self, bounds: &Bounds) -> Vec<String> {
        let mut broken = Vec::new();
        let mut limit = |holds: bool, what: String| {
            if !holds {
                broken.push(what);
            }
        };
        if let Some(usual) = Summary::of(&self.rows, false) {
            let (mean, worst) = (usual.mean, usual.worst);
            limit(
                mean <= bounds.mean,
                format!("mean absolute error {mean:.1} > {:.1}", bounds.mean),
            );
            limit(
                worst <= bounds.worst,
                format!("worst error {worst:.1} > {:.1}", bounds.worst),
            );
            limit(
                usual.coverage >= bounds.coverage,
                format!(
                    "intervals meet in {:.0} % < {:.0} %",
                    usual.coverage * 100.0,
                    bounds.coverage * 100.0
                ),
            );
        }
        if let Some(crowded) = Summary::of(&self.rows, true) {
            limit(
                crowded.mean <= bounds.crowded_mean,
                format!(
                    "more threads than cores: mean absolute error {:.1} > {:.1}",
                    crowded.mean, bounds.crowded_mean
                ),
            );
        }
        limit(
            self.flagged.len() as f64 <= (bounds.flagged * self.nulls as f64).max(0.0),
            format!("null lines flagged: {}", self.flagged.join(", ")),
        );
        limit(
            self.undoubted.is_empty(),
            format!(
                "the doubt {CROWDED_DOUBT} is missing: {}",
                self.undoubted.join(", ")
            ),
        );
        limit(
            self.missing.is_empty(),
            format!("nothing predicted: {}", self.missing.join(", ")),
        );
        broken
    }

    /// The summary in words, a line each.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut lines = Vec::new();
        for (crowded, title) in [
            (false, "threads up to cores"),
            (true, "more threads than cores"),
        ] {
            if let Some(summary) = Summary::of(&self.rows, crowded) {
                lines.push(format!("{title}: {summary}"));
            }
        }
        if self.nulls > 0 {
            lines.push(format!(
                "null lines said to matter: {} of {}{}",
                self.flagged.len(),
                self.nulls,
                listed(&self.flagged)
            ));
        }
        if self.crowded > 0 {
            lines.push(format!(
                "programs with more threads than cores that carry the doubt: {} of {}{}",
                self.crowded - self.undoubted.len(),
                self.crowded,
                if self.undoubted.is_empty() {
                    String::new()
                } else {
                    format!("; without:{}", listed(&self.undoubted))
                }
            ));
        }
        if self.disturbed > 0 {
            lines.push(format!(
                "{} measurements were disturbed by others; {:.0} % of the pairs count",
                self.disturbed,
                100.0 * self.judged()
            ));
        }
        lines.push(format!(
            "{:.0} s, {:.0} of them under the profiler; * marks intervals that do not meet",
            self.seconds, self.profiled
        ));
        lines.join("\n")
    }

    /// The whole as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = format!("{MARKDOWN_HEAD}\n");
        for row in &self.rows {
            text.push_str(&row.markdown());
            text.push('\n');
        }
        text.push('\n');
        for line in self.summary().lines() {
            text.push_str("- ");
            text.push_str(&line.replace('*', "\\*"));
            text.push('\n');
        }
        text
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    }
}
