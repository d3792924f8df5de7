//! Runs a program of `tests/programs/survival` plainly and under the profiler, while experiments
//! pause its threads, and compares what it prints and how it ends.

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

use crate::build::{self, Compiler};
use crate::run::profile_path;

/// How one run ended, and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Its exit status, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Its standard output.
    pub said: String,
}

impl From<&Output> for End {
    fn from(output: &Output) -> End {
        End {
            code: output.status.code(),
            signal: output.status.signal(),
            said: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    }
}

/// A program of the survival tests.
pub fn program(name: &str) -> Result<PathBuf> {
    build::program(&format!("survival/{name}.c"), Compiler::C(&["-w"]))
}

/// `coz-rs run` that speeds up the busy line and its profile; add `--` and the program.
pub fn profiler(name: &str, options: &[&str]) -> Result<(Command, PathBuf)> {
    let line = build::marked_line("survival/busy.h", "hot")?;
    let profile = profile_path(name)?;
    let mut command = Command::new(build::profiler()?);
    command
        .args([
            "run",
            "--warm-up",
            "20ms",
            "--fixed-speedup",
            "50",
            "--fixed-line",
        ])
        .arg(format!("busy.h:{line}"))
        .args(options)
        .arg("-o")
        .arg(&profile);
    Ok((command, profile))
}

/// Runs the program under the profiler.
pub fn profiled(path: &Path, words: &[&str], options: &[&str]) -> Result<Output> {
    let (mut command, _) = profiler("survival", options)?;
    command.arg("--").arg(path).args(words);
    command
        .output()
        .with_context(|| format!("starting {command:?}"))
}

/// Runs it both ways: the same words, and the same end. A run that learned nothing ends with 1 in
/// place of 0, so that is the same. Returns what the profiled run wrote to standard error.
pub fn is_unharmed(name: &str, words: &[&str], options: &[&str]) -> Result<String> {
    let path = program(name)?;
    let plain = Command::new(&path).args(words).output()?;
    let output = profiled(&path, words, options)?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let (plain, mut found) = (End::from(&plain), End::from(&output));
    if plain.code == Some(0) && found.code == Some(1) {
        found.code = Some(0);
    }
    ensure!(
        plain == found,
        "{name} {words:?} {options:?}\nplainly: {plain:?}\nprofiled: {found:?}\n{errors}"
    );
    Ok(errors)
}
