//! Whole runs: no progress point is needed, each run is one window with a layout of its own, and
//! its virtual time is wall time minus the pauses that its hits asked for.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::{Experiment, Record, WHOLE_RUN};
use coz_rs_tests::{build, run};

const SOURCE: &str = "one_thread.c";
/// One after another: they build one program, and would share the processors.
static ALONE: Mutex<()> = Mutex::new(());

const PERIOD: f64 = 997_000.0;

fn whole_runs(options: &[&str]) -> Result<(Vec<Record>, String)> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let program = build::program(SOURCE, build::Compiler::C(&[]))?;
    let words = [&["--end-to-end", "--seed", "5"], options].concat();
    let profiled = run::profiled(&words, &program, &["--seconds", "0.4"])?;
    ensure!(profiled.output.status.success(), "{}", profiled.stderr());
    let profile = Profile::read(&profiled.profile)?;
    Ok((profile.records, profiled.stderr()))
}

fn windows(records: &[Record]) -> Vec<&Experiment> {
    let windows = records.iter().filter_map(|record| match record {
        Record::Experiment(window) => Some(window),
        _ => None,
    });
    windows.collect()
}

#[test]
fn each_run_is_one_window_in_virtual_time() -> Result<()> {
    let line = format!("{SOURCE}:{}", build::marked_line(SOURCE, "a")?);
    let options = ["-n", "7", "--fixed-line", &line, "--fixed-speedup", "50"];
    let (records, text) = whole_runs(&options)?;
    let windows = windows(&records);
    ensure!((4..=7).contains(&windows.len()), "{text}");
    for window in &windows {
        ensure!(window.duration > 0 && Some(window.duration) <= window.wall);
        let wall = window.wall.context("a wall time")?;
        let paused = (wall - window.duration) as f64;
        // One thread pauses nobody, but is that much ahead of its wall time.
        let expected = window.speedup * window.selected_samples as f64 * PERIOD;
        ensure!(window.selected_samples > 20, "{window:?}");
        ensure!(
            (paused - expected).abs() <= 0.1 * expected + 2.0 * PERIOD,
            "{window:?}"
        );
        ensure!(window.edges[0].name == WHOLE_RUN, "{window:?}");
    }
    let layouts: std::collections::BTreeSet<_> = windows.iter().map(|w| w.layout).collect();
    ensure!(layouts.len() > 1 || layouts.contains(&None), "{layouts:?}");
    let starts = records
        .iter()
        .filter(|r| matches!(r, Record::Startup { .. }));
    ensure!(starts.count() == 1, "blocks go over runs");
    Ok(())
}

#[test]
fn lines_are_found_by_a_survey() -> Result<()> {
    let (records, text) = whole_runs(&["-n", "5"])?;
    let windows = windows(&records);
    ensure!(windows.len() >= 2, "{text}");
    let in_source = |window: &&Experiment| window.selected.contains(SOURCE);
    ensure!(windows.iter().all(in_source), "{windows:?}");
    Ok(())
}

#[test]
fn too_few_runs_learn_nothing_and_say_so() -> Result<()> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let program = build::program(SOURCE, build::Compiler::C(&[]))?;
    let words = ["--end-to-end", "-n", "1"];
    let profiled = run::profiled(&words, &program, &["--seconds", "0.2"])?;
    ensure!(
        profiled.output.status.code() == Some(1),
        "{:?}",
        profiled.output.status
    );
    ensure!(
        profiled.stderr().contains("too few for one experiment"),
        "{}",
        profiled.stderr()
    );
    Ok(())
}
