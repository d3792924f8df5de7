//! What profiling costs: run time with sampling alone against `perf record` at the same rate,
//! and how much later `main` is reached. `cargo run --release -p coz-rs-tests --bin overhead`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use coz_rs_tests::build::{self, Compiler};

/// Interleaved rounds.
const ROUNDS: usize = 15;
/// Starts for the time to `main`.
const STARTS: usize = 40;

fn main() -> Result<()> {
    let program = build::program("fixed_work.c", Compiler::C(&[]))?;
    let profiler = build::profiler()?;
    let scratch = build::output().join("overhead");
    std::fs::create_dir_all(&scratch)?;
    run_time(&profiler, &program, &scratch)?;
    time_to_main(&profiler, &program, &scratch)
}

fn sampling(profiler: &Path, program: &Path, scratch: &Path) -> Command {
    let mut command = Command::new(profiler);
    // A warm-up longer than the program: samples are taken, no experiment begins.
    command
        .args(["run", "--warm-up", "3600", "--force", "-o"])
        .arg(scratch.join("profile.coz"));
    command.arg("--").arg(program);
    command
}

/// The program's own run time, from `main` to its end, as it prints it: what the tools need before
/// and after that is not the program's cost.
fn timed(command: &mut Command) -> Result<f64> {
    let output = command
        .stderr(Stdio::null())
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    // 1: the profiler says that it learned nothing, as it must here.
    let status = output.status;
    ensure!(
        matches!(status.code(), Some(0 | 1)),
        "{command:?}: {status}"
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds = text
        .split_whitespace()
        .skip_while(|word| *word != "seconds")
        .nth(1);
    seconds
        .with_context(|| format!("no time in {text:?}"))?
        .parse()
        .context("reading the time")
}

fn run_time(profiler: &Path, program: &Path, scratch: &Path) -> Result<()> {
    let (mut against_perf, mut against_plain, mut perf_plain) = (vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let mut plain = 0.0;
        let mut perf = 0.0;
        let mut ours = 0.0;
        for turn in 0..3 {
            match (round + turn) % 3 {
                0 => plain = timed(Command::new(program).args(["--work", "1"]))?,
                1 => {
                    let mut command = Command::new("perf");
                    command.args(["record", "-q", "-e", "task-clock", "-c", "1000000", "-o"]);
                    command
                        .arg(scratch.join("perf.data"))
                        .arg("--")
                        .arg(program);
                    perf = timed(command.args(["--work", "1"]))?;
                }
                _ => ours = timed(sampling(profiler, program, scratch).args(["--work", "1"]))?,
            }
        }
        against_perf.push((ours / perf - 1.0) * 100.0);
        against_plain.push((ours / plain - 1.0) * 100.0);
        perf_plain.push((perf / plain - 1.0) * 100.0);
    }
    println!("run time, {ROUNDS} interleaved rounds, per cent (median, middle 95 % of medians):");
    print_median("coz-rs over plain", &mut against_plain);
    print_median("perf record over plain", &mut perf_plain);
    print_median("coz-rs over perf record", &mut against_perf);
    Ok(())
}

/// Median and its distribution-free interval: order statistics around n/2 ± 0.98·sqrt(n).
fn print_median(name: &str, values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let reach = 0.98 * count.sqrt();
    let at = |index: f64| values[(index.max(0.0) as usize).min(values.len() - 1)];
    let (low, high) = (
        at((count / 2.0 - reach).floor()),
        at((count / 2.0 + reach).ceil()),
    );
    println!(
        "  {name}: {:+.2} [{low:+.2}, {high:+.2}]",
        values[values.len() / 2]
    );
}

/// The program prints when it reached `main` (CLOCK_REALTIME, ns); we note when we started it.
fn to_main(command: &mut Command) -> Result<f64> {
    command.args(["--main-time", "1"]).stderr(Stdio::null());
    let begin = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let reached: u64 = text
        .trim()
        .parse()
        .with_context(|| format!("no time in {text:?}"))?;
    Ok((Duration::from_nanos(reached).saturating_sub(begin)).as_secs_f64() * 1e3)
}

fn time_to_main(profiler: &Path, program: &Path, scratch: &Path) -> Result<()> {
    let (mut plain, mut ours) = (vec![], vec![]);
    for _ in 0..STARTS {
        plain.push(to_main(&mut Command::new(program))?);
        ours.push(to_main(&mut sampling(profiler, program, scratch))?);
    }
    println!("ms from the start of the command to main, {STARTS} starts each:");
    print_median("plain", &mut plain);
    print_median("under coz-rs", &mut ours);
    Ok(())
}
