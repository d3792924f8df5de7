//! Whether a program's own profiler loses hits under coz-rs: hits of its ITIMER_PROF a second of CPU
//! time, plainly and with experiments, in interleaved pairs.
//! `cargo run --release -p coz-rs-tests --bin own_timer`.

use std::process::{Command, Output};

use anyhow::{Context as _, Result};
use coz_rs_tests::survival::{profiled, program};

/// Interleaved pairs.
const PAIRS: usize = 8;

fn main() -> Result<()> {
    let path = program("signals")?;
    let (mut plain, mut ours) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..PAIRS {
        plain.push(hits(&Command::new(&path).arg("itimer").output()?)?);
        for (sampler, hit) in ["sigtrap", "timer"].iter().zip(&mut ours) {
            hit.push(hits(&profiled(
                &path,
                &["itimer"],
                &["--sampler", sampler],
            )?)?);
        }
    }
    let plain = mean(&plain);
    println!("hits of ITIMER_PROF a second of CPU time, {PAIRS} runs each:");
    println!("  plain {:.1} ± {:.1}", plain.0, plain.1);
    for (sampler, hits) in ["sigtrap", "timer"].iter().zip(&ours) {
        let hits = mean(hits);
        println!(
            "  {sampler} {:.1} ± {:.1}: {:.1} %",
            hits.0,
            hits.1,
            hits.0 / plain.0 * 100.0
        );
    }
    Ok(())
}

fn hits(output: &Output) -> Result<f64> {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.trim().parse().with_context(|| said.clone())
}

/// Mean and its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}
