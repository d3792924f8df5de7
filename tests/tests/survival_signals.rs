//! Programs keep their signals: handlers, masks, time-outs, stacks, and the way they die.

use std::collections::HashMap;

use anyhow::{Context as _, Result};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build;
use coz_rs_tests::survival::{is_unharmed, profiled, profiler, program};

const BOTH: [&str; 2] = ["sigtrap", "timer"];

#[test]
fn its_own_profiling_timer_keeps_its_hits() -> Result<()> {
    let path = program("signals")?;
    let hits = |output: std::process::Output| -> Result<f64> {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.trim().parse().with_context(|| said.clone())
    };
    let mut last = (0.0, 0.0);
    // Hits for each second of CPU time: the machine's load hardly matters, but it may.
    for _ in 0..3 {
        let plain = std::process::Command::new(&path).arg("prof").output()?;
        last = (hits(plain)?, hits(profiled(&path, &["prof"], &[])?)?);
        if last.1 >= 0.95 * last.0 {
            return Ok(());
        }
    }
    anyhow::bail!("{} of {} hits a second", last.1, last.0)
}

#[test]
fn its_own_traps_reach_its_own_handler() -> Result<()> {
    for sampler in BOTH {
        is_unharmed("signals", &["trap"], &["--sampler", sampler])?;
    }
    Ok(())
}

#[test]
fn no_wait_is_interrupted() -> Result<()> {
    for sampler in BOTH {
        is_unharmed("signals", &["eintr"], &["--sampler", sampler])?;
    }
    Ok(())
}

#[test]
fn the_smallest_stacks_suffice() -> Result<()> {
    for sampler in BOTH {
        is_unharmed("signals", &["stacks"], &["--sampler", sampler])?;
    }
    Ok(())
}

#[test]
fn threads_that_block_all_signals_are_sampled() -> Result<()> {
    let path = program("signals")?;
    for sampler in BOTH {
        let (mut command, profile) = profiler("blocked", &["--sampler", sampler])?;
        let output = command.arg("--").arg(&path).arg("blocked").output()?;
        assert_eq!(output.stdout, b"spun\n");
        let mut samples: HashMap<u32, u64> = HashMap::new();
        for record in Profile::read(&profile)?.records {
            if let Record::Samples {
                location, count, ..
            } = record
                && let Some((file, line)) = location.rsplit_once(':')
                && file.ends_with("signals.c")
            {
                *samples.entry(line.parse()?).or_default() += count;
            }
        }
        // Half a second of CPU time each, on the marked line or the loop around it.
        for label in ["attr", "library", "raw", "inherited"] {
            let line = build::marked_line("survival/signals.c", label)?;
            let near: u64 = (line - 1..=line + 1)
                .filter_map(|line| samples.get(&line))
                .sum();
            assert!(near > 50, "{sampler}, {label}: {near} of {samples:?}");
        }
    }
    Ok(())
}

#[test]
fn it_dies_by_its_own_signal() -> Result<()> {
    for how in ["segv", "abort", "int3", "5", "15", "9"] {
        is_unharmed("signals", &["die", how], &[])?;
    }
    Ok(())
}
