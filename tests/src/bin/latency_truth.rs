//! The truth about latency: `cargo run --release -p coz-rs-tests --bin latency_truth -- [OPTION]`.
//!
//! Options: `--quick` (shorter runs), `--check` (fail unless the mean error of latencies is below 5
//! points and work by the clock is recognised), or the names of parts: inside, plainly, clients,
//! clock.

use anyhow::{Context, Result, bail};
use coz_rs_plot::estimates::{PointKind, Verdict};
use coz_rs_tests::truth::latency::{
    LINES, Row, SPEEDUPS, Source, line, point, profiled, server, truth,
};

struct Effort {
    /// Seconds under the profiler.
    predicted: f64,
    /// Seconds of one run for the truth.
    real: f64,
    pairs: usize,
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| words.iter().any(|word| word == name);
    let effort = if has("--quick") {
        Effort {
            predicted: 24.0,
            real: 0.8,
            pairs: 4,
        }
    } else {
        Effort {
            predicted: 60.0,
            real: 2.0,
            pairs: 8,
        }
    };
    let parts = [
        ("inside", Source::Inside),
        ("plainly", Source::InsidePlainly),
        ("clients", Source::Clients),
        ("clock", Source::Clock),
    ];
    let named = words.iter().any(|word| !word.starts_with("--"));
    let mut good = true;
    for (name, source) in parts {
        if named && !has(name) {
            continue;
        }
        good &= match source {
            Source::Clock => by_the_clock(&effort)?,
            _ => predictions(name, source, &effort)?,
        };
    }
    if has("--check") && !good {
        bail!("the bounds are broken");
    }
    Ok(())
}

/// Predictions beside truths; whether latencies are right.
fn predictions(name: &str, source: Source, effort: &Effort) -> Result<bool> {
    let server = server()?;
    let (analysis, _) = profiled(&server, source, effort.predicted, &[])?;
    let latency = point(&analysis, PointKind::Latency).context("no latency point")?;
    let throughput = point(&analysis, PointKind::Throughput).context("no throughput point")?;
    let mut rows = Vec::new();
    for label in LINES {
        for speedup in SPEEDUPS {
            let (of_latency, of_period) =
                truth(&server, source, label, speedup, effort.pairs, effort.real)?;
            let found = line(latency, label).context("the line is not in the profile")?;
            let row = Row::of(
                format!("server.c {name} {label} latency"),
                found,
                speedup,
                of_latency,
            );
            println!("{}", row.as_ref().context("nothing predicted")?);
            rows.extend(row);
            if let Some(found) = line(throughput, label)
                && let Some(row) = Row::of(
                    format!("server.c {name} {label} rate"),
                    found,
                    speedup,
                    of_period,
                )
            {
                println!("{row}");
            }
        }
    }
    let mean = rows.iter().map(|row| row.error().abs()).sum::<f64>() / rows.len().max(1) as f64;
    println!(
        "server.c {name}: mean absolute error of latencies {:.1} points",
        mean * 100.0
    );
    for doubt in &analysis.doubts {
        println!("  doubt {}: {}", doubt.doubt, doubt.text);
    }
    // Plain counts are in doubt, and said to be.
    Ok(match source {
        Source::InsidePlainly => analysis.doubts.iter().any(|d| d.doubt == "short-latency"),
        _ => mean < 0.05,
    })
}

/// Work by the clock: throughput gains nothing and latency is no advice.
fn by_the_clock(effort: &Effort) -> Result<bool> {
    let (analysis, _) = profiled(&server()?, Source::Clock, effort.predicted, &[])?;
    let mut good = analysis.doubts.iter().any(|d| d.doubt == "by-the-clock");
    for point in &analysis.points {
        for line in &point.lines {
            let advice = line.verdict == Verdict::WorthIt;
            good &= !advice;
            for level in &line.levels {
                println!(
                    "server.c clock {} {:?} {:>3.0} % | gain {:>6.1} [{:>6.1}, {:>6.1}] | {}",
                    line.location.rsplit('/').next().unwrap_or_default(),
                    point.kind,
                    level.speedup * 100.0,
                    level.gain * 100.0,
                    level.low * 100.0,
                    level.high * 100.0,
                    line.verdict
                );
            }
        }
        println!("  by the clock: {}", point.by_the_clock);
    }
    for doubt in &analysis.doubts {
        println!("  doubt {}: {}", doubt.doubt, doubt.text);
    }
    Ok(good)
}
