//! The truth suite: `cargo run --release -p coz-rs-tests --bin truth -- [OPTION] [PROGRAM …]`.
//!
//! Options: `--quick` (shorter runs), `--sampler timer` (the fallback), `--check` (fail when the
//! bounds for a shared two-core machine are broken: mean error 4, worst 10, double for the timer).

use std::time::Instant;

use anyhow::{Context, Result, bail};
use coz_rs_tests::build;
use coz_rs_tests::truth::catalogue::PROGRAMS;
use coz_rs_tests::truth::report::{Row, Summary};
use coz_rs_tests::truth::{measure, predict};

const SPEEDUPS: [f64; 3] = [0.25, 0.5, 0.75];

fn main() -> Result<()> {
    let mut quick = false;
    let mut check = false;
    let mut sampler = "auto".to_owned();
    let mut names = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => quick = true,
            "--check" => check = true,
            "--sampler" => sampler = words.next().context("--sampler needs a name")?,
            name if !name.starts_with('-') => names.push(name.to_owned()),
            other => bail!("{other}: not an option of the truth suite"),
        }
    }
    // Seconds under the profiler a line, seconds a truth run, interleaved pairs.
    let (predicted, real, pairs) = if quick {
        (12.0, 0.7, 3)
    } else {
        (30.0, 1.5, 5)
    };
    let begin = Instant::now();
    let mut rows = Vec::new();
    for program in PROGRAMS {
        if !names.is_empty()
            && !names
                .iter()
                .any(|name| program.source.starts_with(name.as_str()))
        {
            continue;
        }
        let built = build::program(program.source, program.compiler)?;
        let seconds = predicted * program.lines.len() as f64;
        let lines = predict::predict(program, &built, seconds, &["--sampler", &sampler])?;
        for (line, estimate) in program.lines.iter().zip(&lines) {
            for speedup in SPEEDUPS {
                let truth =
                    measure::truth(&built, program.arguments, line.knob, speedup, pairs, real)?;
                let Some(prediction) = predict::at(estimate, speedup) else {
                    println!("{} {}: nothing predicted", program.source, line.label);
                    continue;
                };
                let line = format!("{} {}", program.source, line.label);
                let row = Row {
                    line,
                    speedup,
                    truth,
                    prediction,
                    crowded: program.crowded,
                };
                println!("{row}");
                rows.push(row);
            }
        }
    }
    let mut good = true;
    let factor = if sampler == "timer" { 2.0 } else { 1.0 };
    for (crowded, title) in [
        (false, "threads up to cores"),
        (true, "more threads than cores"),
    ] {
        if let Some(summary) = Summary::of(&rows, crowded) {
            println!("{title}: {summary}");
            good &= crowded || (summary.mean <= 4.0 * factor && summary.worst <= 10.0 * factor);
        }
    }
    println!(
        "{:.0} s; * marks intervals that do not meet",
        begin.elapsed().as_secs_f64()
    );
    if check && !good {
        bail!("the bounds are broken");
    }
    Ok(())
}
