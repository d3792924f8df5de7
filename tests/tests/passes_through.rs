//! The program's own behaviour is untouched: output, input, exit status, signals; and whatever
//! was learned until then is in the profile.

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build::{self, Compiler};
use coz_rs_tests::run::profile_path;

fn coz_rs(profile: &std::path::Path, command: &[&str]) -> Result<Command> {
    let mut run = Command::new(build::profiler()?);
    run.args(["run", "--force", "-o"])
        .arg(profile)
        .arg("--")
        .args(command);
    Ok(run)
}

#[test]
fn output_input_and_status_pass_through() -> Result<()> {
    let profile = profile_path("through")?;
    let script = "cat; echo to-stderr >&2; exit 42";
    let mut child = coz_rs(&profile, &["/bin/sh", "-c", script])?
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child
        .stdin
        .take()
        .context("a pipe")?
        .write_all(b"from stdin\n")?;
    let output = child.wait_with_output()?;
    assert_eq!(output.status.code(), Some(42));
    assert_eq!(output.stdout, b"from stdin\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("to-stderr"));
    Ok(())
}

#[test]
fn a_deadly_signal_is_ours_too() -> Result<()> {
    for (number, word) in [
        (libc::SIGSEGV, "SEGV"),
        (libc::SIGABRT, "ABRT"),
        (libc::SIGTRAP, "TRAP"),
    ] {
        let script = format!("kill -{word} $$");
        let output = coz_rs(&profile_path("signal")?, &["/bin/sh", "-c", &script])?.output()?;
        let status = output.status;
        let same = status.signal() == Some(number) || status.code() == Some(128 + number);
        assert!(same, "{word}: {status}");
    }
    Ok(())
}

/// A program that works on two threads for a minute unless it is stopped.
fn long_running(profile: &std::path::Path, options: &[&str]) -> Result<Child> {
    let program = build::program("pipeline.c", Compiler::C(&[]))?;
    let child = Command::new(build::profiler()?)
        .args(["run", "--force"])
        .args(options)
        .arg("-o")
        .arg(profile)
        .arg("--")
        .arg(program)
        .args(["--seconds", "60"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok(child)
}

fn wait_for_experiments(profile: &std::path::Path, number: usize) -> Result<()> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(40) {
        let text = std::fs::read_to_string(profile).unwrap_or_default();
        if text.matches("\"experiment\"").count() >= number {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    anyhow::bail!("no experiments in {}", profile.display())
}

#[test]
fn an_interrupted_run_leaves_a_complete_profile() -> Result<()> {
    let profile = profile_path("interrupted")?;
    let mut child = long_running(&profile, &[])?;
    wait_for_experiments(&profile, 4)?;
    let pid = i32::try_from(child.id())?;
    let begin = Instant::now();
    // SAFETY: no pointer involved; the child has not been waited for, so the id is its own.
    unsafe { libc::kill(pid, libc::SIGINT) };
    let status = child.wait()?;
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    let interrupted = status.signal() == Some(libc::SIGINT) || status.code() == Some(130);
    assert!(interrupted, "{status}");
    let profile = Profile::read(&profile)?;
    assert_eq!(profile.skipped.total(), 0);
    assert!(matches!(
        profile.records.last(),
        Some(Record::Runtime { .. })
    ));
    assert!(
        profile
            .records
            .iter()
            .any(|record| matches!(record, Record::Samples { .. }))
    );
    Ok(())
}

#[test]
fn a_killed_controller_leaves_the_program_at_full_speed() -> Result<()> {
    let program = build::program("pipeline.c", Compiler::C(&[]))?;
    let line = build::marked_line("pipeline.c", "a")?;
    let profile = profile_path("killed")?;
    // The speedup that pauses the other thread all the time.
    let mut child = Command::new(build::profiler()?)
        .args(["run", "--force", "--fixed-speedup", "100", "--fixed-line"])
        .arg(format!("pipeline.c:{line}"))
        .arg("-o")
        .arg(&profile)
        .arg("--")
        .arg(program)
        .args(["--seconds", "12"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    wait_for_experiments(&profile, 2)?;
    child.kill()?;
    child.wait()?;
    // The program lives on and holds the other end of the pipe until its own end.
    let mut text = String::new();
    child
        .stdout
        .take()
        .context("a pipe")?
        .read_to_string(&mut text)?;
    assert!(
        text.contains("rate"),
        "the program did not end well: {text:?}"
    );
    Ok(())
}
