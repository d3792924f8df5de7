//! Runs programs plainly and under the profiler.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};

use crate::build;

/// One run of a program under the profiler.
pub struct Profiled {
    /// Exit status and output.
    pub output: Output,
    /// Where the profile is.
    pub profile: PathBuf,
}

impl Profiled {
    /// Standard error as text.
    #[must_use]
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }
}

/// A fresh path for a profile.
pub fn profile_path(name: &str) -> Result<PathBuf> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = build::output().join("profiles");
    std::fs::create_dir_all(&folder)?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("{name}-{}-{number}.coz", std::process::id()));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(path),
    }
}

/// `coz-rs run OPTIONS -o PROFILE -- PROGRAM ARGUMENTS`.
pub fn profiled(options: &[&str], program: &Path, arguments: &[&str]) -> Result<Profiled> {
    let name = program
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("program");
    let profile = profile_path(name)?;
    let mut command = Command::new(build::profiler()?);
    command
        .arg("run")
        .args(options)
        .arg("-o")
        .arg(&profile)
        .arg("--");
    command.arg(program).args(arguments);
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    Ok(Profiled { output, profile })
}
