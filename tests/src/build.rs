//! Builds test programs, and finds the profiler's binary.
//!
//! Everything lands under the workspace's target folder, named by what it is built from, and is
//! built again only when its source or the compiler's arguments change.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use anyhow::{Context, Result, bail, ensure};

/// The workspace's root.
#[must_use]
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Where built programs go.
#[must_use]
pub fn output() -> PathBuf {
    target().join("test-programs")
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The profiler's release binary, built once a process (cargo does nothing when it is fresh).
pub fn profiler() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        cargo(&["build", "--release", "-q", "-p", "coz-rs"]).map_err(|error| format!("{error:#}"))
    });
    if let Err(error) = built {
        bail!("the profiler was not built: {error}");
    }
    Ok(target().join("release/coz-rs"))
}

/// A program of the examples package.
pub fn example(name: &str) -> Result<PathBuf> {
    cargo(&[
        "build",
        "--release",
        "-q",
        "-p",
        "coz-rs-examples",
        "--bin",
        name,
    ])?;
    Ok(target().join("release").join(name))
}

fn cargo(words: &[&str]) -> Result<()> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root());
    succeed(&mut command)
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .with_context(|| format!("starting {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed ({}):\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// How a test program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compiler {
    /// `cc -O2 -g -pthread` and more words.
    C(&'static [&'static str]),
    /// Another compiler of C or C++ by its name, in the same way.
    Other(&'static str, &'static [&'static str]),
    /// `rustc -O -g` and more words.
    Rust(&'static [&'static str]),
    /// A binary of the package `tests/programs/crates`, by cargo: it uses crates.
    Cargo(&'static str),
}

/// Builds `tests/programs/NAME` and returns the executable.
pub fn program(name: &str, compiler: Compiler) -> Result<PathBuf> {
    if let Compiler::Cargo(binary) = compiler {
        return with_crates(binary);
    }
    let source = root().join("tests/programs").join(name);
    let text = fs::read(&source).with_context(|| format!("reading {}", source.display()))?;
    let mut hasher = DefaultHasher::new();
    (
        text,
        compiler,
        fs::read(root().join("progress-points/include/coz.h")).ok(),
        fs::read(root().join("tests/programs/hooks/ledger.h")).ok(),
        fs::read(root().join("tests/programs/survival/busy.h")).ok(),
    )
        .hash(&mut hasher);
    fs::create_dir_all(output())?;
    let stem = name.replace(['.', '/'], "_");
    let built = output().join(format!("{stem}-{:016x}", hasher.finish()));
    if built.exists() {
        return Ok(built);
    }
    // Tests of one process may build the same program at once.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Relaxed);
    let partial = output().join(format!("{stem}-{}-{number}.partial", std::process::id()));
    let mut command = match compiler {
        Compiler::Cargo(binary) => bail!("{binary} is built by cargo"),
        Compiler::C(words) | Compiler::Other(_, words) => {
            let mut command = Command::new(match compiler {
                Compiler::Other(name, _) => name,
                _ => "cc",
            });
            command.args(["-O2", "-g", "-pthread", "-I"]);
            command
                .arg(root().join("progress-points/include"))
                .args(words);
            command.arg("-o").arg(&partial).arg(&source).arg("-lm");
            command
        }
        Compiler::Rust(words) => {
            let mut command = Command::new("rustc");
            command.args([
                "--edition",
                "2024",
                "-O",
                "-g",
                "--crate-name",
                "test_program",
            ]);
            command.args(words);
            command
                .arg("--extern")
                .arg(format!("progress_points={}", points()?.display()));
            command.arg("-o").arg(&partial).arg(&source);
            command
        }
    };
    succeed(&mut command)?;
    fs::rename(&partial, &built)?;
    Ok(built)
}

/// A binary of the package `tests/programs/crates`, which cargo builds when it is not fresh.
fn with_crates(binary: &str) -> Result<PathBuf> {
    let folder = output().join("crates");
    let manifest = root().join("tests/programs/crates/Cargo.toml");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["build", "--release", "-q", "--locked", "--manifest-path"]);
    command
        .arg(manifest)
        .args(["--bin", binary, "--target-dir"]);
    command.arg(&folder);
    succeed(&mut command)?;
    Ok(folder.join("release").join(binary))
}

/// The progress points as a plain rlib, for programs built without cargo.
pub fn points() -> Result<PathBuf> {
    let source = root().join("progress-points/src/lib.rs");
    let mut hasher = DefaultHasher::new();
    let mut files: Vec<_> = fs::read_dir(root().join("progress-points/src"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    files.sort();
    for file in files {
        fs::read(file)?.hash(&mut hasher);
    }
    let folder = output().join(format!("points-{:016x}", hasher.finish()));
    let built = folder.join("libprogress_points.rlib");
    if !built.exists() {
        fs::create_dir_all(&folder)?;
        let partial = folder.join(format!("libprogress_points-{}.rlib", std::process::id()));
        let mut command = Command::new("rustc");
        command.args(["--edition", "2024", "-O", "--crate-type", "rlib"]);
        command
            .args(["--crate-name", "progress_points", "-o"])
            .arg(&partial)
            .arg(&source);
        succeed(&mut command)?;
        fs::rename(&partial, &built)?;
    }
    Ok(built)
}

/// The number of the line of `tests/programs/NAME` that is marked `LINE: label`.
pub fn marked_line(name: &str, label: &str) -> Result<u32> {
    let text = fs::read_to_string(root().join("tests/programs").join(name))?;
    let mark = format!("LINE: {label}");
    let found = text.lines().position(|line| {
        line.find(&mark).is_some_and(|at| {
            let rest = &line[at + mark.len()..];
            !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '-')
        })
    });
    let index = found.with_context(|| format!("{name} marks no line {label}"))?;
    Ok(u32::try_from(index)? + 1)
}
