//! Refusals that name the cure: an unwritable profile, a line without code, no perf events.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::Result;
use coz_rs_tests::build;

/// Builds a C program of this test's own.
fn small(name: &str, text: &str, words: &[&str]) -> Result<PathBuf> {
    let folder = build::output().join("refusals");
    fs::create_dir_all(&folder)?;
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, text)?;
    let built = folder.join(name);
    let mut command = Command::new("cc");
    command
        .args(["-O1", "-pthread", "-I"])
        .arg(build::root().join("progress-points/include"));
    command.args(words).arg("-o").arg(&built).arg(&source);
    build::succeed(&mut command)?;
    Ok(built)
}

const VISITING: &str = "#include \"coz.h\"\nint main(void) { volatile long x = 0; \
    for (long i = 0; i < 1500; i++) { for (long j = 0; j < 1000000; j++) x += j; \
    COZ_PROGRESS_NAMED(\"step\"); } return 0; }";

fn run(profile: &str, program: &str) -> Result<(Output, String)> {
    let output = Command::new(build::profiler()?)
        .args(["run", "--force", "-o", profile, "--", program])
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output, text))
}

fn profile(name: &str) -> Result<String> {
    Ok(coz_rs_tests::run::profile_path(name)?.display().to_string())
}

fn path(program: &std::path::Path) -> String {
    program.display().to_string()
}

#[test]
fn a_profile_that_cannot_be_written_is_said_before_the_program_starts() -> Result<()> {
    let program = small(
        "unwritable",
        "#include <stdio.h>\nint main(void) { puts(\"ran\"); }",
        &[],
    )?;
    let (output, text) = run("/no-such-folder/profile.coz", &path(&program))?;
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("/no-such-folder/profile.coz") && text.contains("-o"),
        "{text}"
    );
    assert!(output.stdout.is_empty());
    Ok(())
}

#[test]
fn a_line_without_code_is_answered_with_its_neighbours() -> Result<()> {
    let program = small("fixed", VISITING, &["-g"])?;
    let output = Command::new(build::profiler()?)
        .args([
            "run",
            "--force",
            "--fixed-line",
            "fixed.c:7777",
            "-o",
            &profile("fixed")?,
            "--",
        ])
        .arg(&program)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("no code on line 7777") && text.contains("nearest"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_refused_perf_event_leaves_the_timer_and_names_the_cause() -> Result<()> {
    let program = small("timer", VISITING, &["-g"])?;
    let profile = profile("timer")?;
    let output = Command::new(build::profiler()?)
        .args(["run", "--force", "--sampler", "timer", "-o", &profile, "--"])
        .arg(&program)
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{text}");
    let profile = fs::read_to_string(profile)?;
    assert!(profile.contains("\"sampler\":\"timer\""), "{profile}");
    assert!(profile.contains("\"type\":\"samples\""), "{profile}");
    Ok(())
}
