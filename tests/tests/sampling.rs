//! Whatever the sampler does to be cheap, every thread that works is sampled.

use std::collections::HashMap;

use anyhow::{Result, ensure};
use coz_rs::targets::thread_changes;
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run::{self, Profiled};

/// Runs a case of sampling.c; what was said, and samples by function.
fn sampled(options: &[&str], case: &str) -> Result<(Profiled, HashMap<String, u64>)> {
    let program = build::program("sampling.c", Compiler::C(&[]))?;
    let profiled = run::profiled(options, &program, &[case])?;
    let said = String::from_utf8_lossy(&profiled.output.stdout).into_owned();
    ensure!(said == "done\n", "{said}\n{}", profiled.stderr());
    let mut samples = HashMap::new();
    for record in Profile::read(&profiled.profile)?.records {
        if let Record::Samples {
            count,
            function: Some(function),
            ..
        } = record
        {
            *samples.entry(function).or_default() += count;
        }
    }
    Ok((profiled, samples))
}

/// Whether perf events are to be had: else the timer sampler runs from the start.
fn has_events(profiled: &Profiled) -> bool {
    let without = profiled.stderr().contains("the timer sampler runs");
    if without {
        println!("skipped: no perf events here");
    }
    !without
}

const TAKES_OVER: &str = "the timer sampler takes over";

#[test]
fn a_program_whose_threads_change_all_the_time_goes_over_to_timers() -> Result<()> {
    let (profiled, samples) = sampled(&[], "changes")?;
    if !has_events(&profiled) {
        return Ok(());
    }
    if !thread_changes::are_dear() {
        println!("skipped: no virtual machine, so perf events are kept");
        return Ok(());
    }
    let stderr = profiled.stderr();
    ensure!(stderr.matches(TAKES_OVER).count() == 1, "{stderr}");
    ensure!(stderr.contains("--sampler sigtrap"), "{stderr}");
    // Each has 400 ms of CPU time; twice as many samples would be those of two samplers.
    for function in ["late", "fresh", "child"] {
        let count = samples.get(function).copied().unwrap_or(0);
        ensure!((80..680).contains(&count), "{function}: {samples:?}");
    }
    // This one blocks all signals.
    ensure!(
        samples.get("masked").is_some_and(|count| *count > 20),
        "{samples:?}"
    );
    Ok(())
}

#[test]
fn the_user_may_keep_the_events() -> Result<()> {
    let (profiled, samples) = sampled(&["--sampler", "sigtrap"], "changes")?;
    ensure!(!profiled.stderr().contains(TAKES_OVER));
    ensure!(
        samples.get("late").is_some_and(|count| *count > 80),
        "{samples:?}"
    );
    Ok(())
}

#[test]
fn samples_rest_until_there_is_something_to_learn() -> Result<()> {
    let (profiled, samples) = sampled(&["--sampler", "auto"], "rests")?;
    if !has_events(&profiled) {
        return Ok(());
    }
    // Two threads for 3 s; on one processor they would have 3,000 samples, on two 6,000.
    let idle = samples.get("idle").copied().unwrap_or(0);
    ensure!((300..2_400).contains(&idle), "{samples:?}");
    // It begins while they rest.
    let after = samples.get("after").copied().unwrap_or(0);
    ensure!(after > 400, "{samples:?}");
    let experiments = Profile::read(&profiled.profile)?.records.into_iter();
    let experiments = experiments.filter(|record| matches!(record, Record::Experiment(_)));
    ensure!(experiments.count() > 0, "{}", profiled.stderr());
    Ok(())
}
