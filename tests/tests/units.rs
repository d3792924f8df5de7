//! Functions as the unit of experiments, and only what runs beneath a caller.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use coz_rs_plot::estimates::{Analysis, LineEstimate, analyse};
use coz_rs_plot::profile::Profile;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run;

/// Predictions are made one after another: two at once would share the processors.
static ALONE: Mutex<()> = Mutex::new(());

const SOURCE: &str = "two_callers.c";

fn profile(options: &[&str], seconds: &str) -> Result<(Analysis, String)> {
    let program = build::program(SOURCE, Compiler::C(&[]))?;
    let profiled = run::profiled(options, &program, &["--seconds", seconds])?;
    let stderr = profiled.stderr();
    let profile = Profile::read(&profiled.profile).context(stderr.clone())?;
    Ok((analyse(&profile.records), stderr))
}

fn line<'a>(analysis: &'a Analysis, location: &str) -> Result<&'a LineEstimate> {
    let lines = analysis.points.iter().flat_map(|point| &point.lines);
    let all: Vec<&str> = lines.clone().map(|line| line.location.as_str()).collect();
    lines
        .into_iter()
        .find(|line| line.location == location)
        .with_context(|| format!("{location} is not among {all:?}"))
}

fn gain(line: &LineEstimate) -> Result<f64> {
    Ok(line.at(0.5).context("no curve")?.gain)
}

/// One function called from the thread that decides and from the one that waits: 20 % and nothing.
#[test]
fn only_the_caller_on_the_critical_path_gains() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut seen = Vec::new();
    for seed in ["1", "2", "3"] {
        let gain_under = |caller: &str| -> Result<f64> {
            let options = [
                "--unit",
                "function",
                "--under",
                caller,
                "--fixed-line",
                "shared_function",
                "--fixed-speedup",
                "50",
                "--seed",
                seed,
            ];
            let (analysis, stderr) = profile(&options, "8")?;
            let location = format!("shared_function under {caller}");
            let line = line(&analysis, &location).context(stderr)?;
            let level = line.levels.first().context("no level")?;
            Ok(level.gain)
        };
        let (critical, waiting) = (gain_under("main")?, gain_under("thread_b")?);
        if critical > 0.12 && waiting.abs() < 0.05 {
            return Ok(());
        }
        seen.push((critical, waiting));
    }
    anyhow::bail!("{seen:?}")
}

/// A function is one entry, however many lines it has, and owns what it calls.
#[test]
fn functions_are_selected_whole() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (analysis, stderr) = profile(&["--unit", "function", "--function", "^main$"], "6")?;
    let main = line(&analysis, "main").context(stderr)?;
    let share = main.hit_share.context("hits")?;
    // All samples of one of two threads, which works 5/9 of the time of both.
    ensure!(
        (0.4..0.7).contains(&share),
        "main is on {share} of the stacks"
    );
    let gain = gain(main)?;
    ensure!((0.1..0.3).contains(&gain), "{gain}");
    let dropped = analysis.scope.dropped as f64 / analysis.scope.samples as f64;
    ensure!(
        dropped > 0.3,
        "samples of the other thread are told: {dropped}"
    );
    Ok(())
}
