//! Code that arrives late: libraries that come, go and come back elsewhere; programs behind a
//! script, and such that execute themselves.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use coz_rs_plot::profile::Profile;
use coz_rs_plot::record::Record;
use coz_rs_tests::build;
use coz_rs_tests::run::{self, Profiled};

/// Compiles `tests/programs/loaded/NAME.c`.
fn compile(name: &str, output: &str, words: &[&str]) -> Result<PathBuf> {
    let source = build::root().join(format!("tests/programs/loaded/{name}.c"));
    std::fs::create_dir_all(build::output())?;
    let built = build::output().join(output);
    let partial = build::output().join(format!("{output}.{}.partial", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-g", "-I"])
        .arg(build::root().join("progress-points/include"))
        .args(words)
        .arg("-o")
        .arg(&partial)
        .arg(source)
        .arg("-ldl");
    build::succeed(&mut compiler)?;
    std::fs::rename(partial, &built)?;
    Ok(built)
}

/// Samples by line, and the names of visited points.
fn profile(profiled: &Profiled) -> Result<(HashMap<u32, u64>, Vec<String>)> {
    let profile = Profile::read(&profiled.profile).with_context(|| profiled.stderr())?;
    let (mut samples, mut points) = (HashMap::new(), Vec::new());
    for record in profile.records {
        match record {
            Record::Samples {
                location, count, ..
            } => {
                let line = location.rsplit(':').next().context("a line")?.parse()?;
                *samples.entry(line).or_default() += count;
            }
            Record::ThroughputPoint { name, .. } if !points.contains(&name) => points.push(name),
            _ => {}
        }
    }
    Ok((samples, points))
}

fn marked(name: &str, label: &str) -> Result<u32> {
    build::marked_line(&format!("loaded/{name}.c"), label)
}

fn of(samples: &HashMap<u32, u64>, line: u32) -> u64 {
    samples.get(&line).copied().unwrap_or(0)
}

#[test]
fn a_library_is_followed_when_it_comes_back_elsewhere() -> Result<()> {
    let library = compile("work", "libwork.so", &["-shared", "-fPIC"])?;
    let host = compile("host", "late-host", &[])?;
    let path = library.to_str().context("a path")?;
    let options = ["--binary-scope", "MAIN", "--binary-scope", "libwork%"];
    let profiled = run::profiled(&options, &host, &[path, "6"])?;
    ensure!(profiled.output.status.success(), "{}", profiled.stderr());
    let (samples, points) = profile(&profiled)?;
    for label in ["first", "second"] {
        let count = of(&samples, marked("work", label)?);
        let all: u64 = samples.values().sum();
        // The loop has another line, too, and how samples fall on the two is the processor's affair.
        ensure!(count * 5 > all, "{label}: {count} of {samples:?}");
    }
    ensure!(points == ["unit"], "the library's point: {points:?}");
    Ok(())
}

#[test]
fn a_program_is_followed_through_a_script_and_its_own_exec() -> Result<()> {
    let program = compile("again", "late-again", &[])?;
    let script = build::output().join("late-script.sh");
    let text = format!("#!/bin/sh\n{} \"$@\"\n", program.display());
    std::fs::write(&script, text)?;
    set_executable(&script)?;
    let profiled = run::profiled(&["--warm-up", "3600"], &script, &["1500"])?;
    ensure!(
        profiled.output.status.code() == Some(1),
        "{}",
        profiled.stderr()
    );
    let (samples, _) = profile(&profiled)?;
    for label in ["before", "after"] {
        let count = of(&samples, marked("again", label)?);
        let all: u64 = samples.values().sum();
        ensure!(
            all > 300 && count * 10 > all * 3,
            "{label}: {count} of {samples:?}"
        );
    }
    Ok(())
}

#[test]
fn without_following_only_the_program_itself_is_profiled() -> Result<()> {
    let program = compile("again", "late-alone", &[])?;
    let options = ["--no-follow", "--warm-up", "3600"];
    let profiled = run::profiled(&options, &program, &["700"])?;
    let (samples, _) = profile(&profiled)?;
    let (before, after) = (marked("again", "before")?, marked("again", "after")?);
    ensure!(of(&samples, before) > 50, "{samples:?}");
    ensure!(of(&samples, after) == 0, "{samples:?}");
    Ok(())
}

fn set_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(std::fs::set_permissions(
        path,
        std::fs::Permissions::from_mode(0o755),
    )?)
}
