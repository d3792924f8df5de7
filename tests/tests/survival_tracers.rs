//! A debugger or strace that comes while a program is profiled, and goes: the program goes on.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use coz_rs_tests::survival::{profiler, program};

/// The program is ended, with the profiler, if it takes longer.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long the program runs, ms: long enough for a debugger to come and go.
const RUNS: &str = "5000";

/// A profiled program, ended with this at the latest.
struct Profiled(Option<Child>);

impl Drop for Profiled {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // The program goes with the profiler's own handling of its end.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Profiled {
    /// The process id of the program, once it runs.
    fn program(&self) -> Result<u32> {
        let profiler = self.0.as_ref().context("ended")?.id();
        let children = format!("/proc/{profiler}/task/{profiler}/children");
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let text = std::fs::read_to_string(&children).unwrap_or_default();
            for word in text.split_whitespace() {
                let name = std::fs::read_to_string(format!("/proc/{word}/comm"));
                // Not the sampler's probe, nor the program before its exec.
                if name.is_ok_and(|name| name.starts_with("survival_watch")) {
                    return word.parse().context(word.to_owned());
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        anyhow::bail!("the program did not start")
    }

    fn output(mut self) -> Result<Output> {
        let end = Instant::now() + PATIENCE;
        let mut child = self.0.take().context("ended")?;
        loop {
            if child.try_wait()?.is_some() {
                return Ok(child.wait_with_output()?);
            }
            if Instant::now() > end {
                self.0 = Some(child);
                anyhow::bail!("it hangs");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Profiles the program and lets a tracer come and go; `come` makes it from the process id.
fn traced(name: &str, come: impl Fn(u32) -> Command) -> Result<()> {
    if Command::new(name).arg("--version").output().is_err() {
        println!("skipped: {name} is not installed");
        return Ok(());
    }
    let path = program("watchdog")?;
    let (mut command, _) = profiler(name, &[])?;
    command.arg("--").arg(&path).arg(RUNS);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let profiled = Profiled(Some(command.spawn()?));
    let pid = profiled.program()?;
    // Into the experiments.
    std::thread::sleep(Duration::from_millis(500));
    let tracer = come(pid).stdin(Stdio::null()).output()?;
    // It may have come to its end under a tracer that was slow; what it said tells whether that was
    // its own end.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    ensure!(
        status.is_empty() || status.contains("TracerPid:\t0\n"),
        "{name} is still there: {tracer:?}"
    );
    let output = profiled.output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let numbers: Vec<_> = said.split_whitespace().map(str::parse::<u64>).collect();
    ensure!(
        matches!(numbers[..], [Ok(_), Ok(_)]) && matches!(output.status.code(), Some(0 | 1)),
        "after {name}: {} {said:?}\n{errors}\n{tracer:?}",
        output.status
    );
    Ok(())
}

#[test]
fn gdb_may_look_at_it_and_go() -> Result<()> {
    traced("gdb", |pid| {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "20", "gdb", "-nx", "-batch", "-p"]);
        command.arg(pid.to_string());
        command.args(["-ex", "info threads", "-ex", "detach"]);
        command
    })
}

#[test]
fn gdb_may_let_it_run_on_meanwhile() -> Result<()> {
    traced("gdb", |pid| {
        let mut command = Command::new("timeout");
        // Ctrl-C, as one who wants to look at it and then leaves.
        command.args(["-k", "10", "-s", "INT", "1.5"]);
        command.args(["gdb", "-nx", "-batch", "-p"]);
        command.arg(pid.to_string()).args(["-ex", "continue"]);
        command
    })
}

#[test]
fn strace_may_come_and_go() -> Result<()> {
    traced("strace", |pid| {
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "-s", "INT", "1", "strace", "-f", "-o"]);
        command.args(["/dev/null", "-p"]).arg(pid.to_string());
        command
    })
}
