//! Builds programs without cargo and runs them under the fake runtime.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// An empty folder of this process's own.
pub fn scratch(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("{name}-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder below target");
    folder
}

/// Runs a command that must succeed; its standard output.
pub fn succeed(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{errors}",
        output.status
    );
    assert_eq!(errors, "", "{command:?} complains");
    String::from_utf8(output.stdout).expect("text")
}

pub fn fake_runtime() -> PathBuf {
    fake_runtime_with(&[])
}

/// The fake runtime, compiled with more words.
pub fn fake_runtime_with(words: &[&str]) -> PathBuf {
    let library = scratch("fake_runtime").join("libfake_runtime.so");
    succeed(
        Command::new("cc")
            .args([
                "-std=gnu11",
                "-O1",
                "-Wall",
                "-shared",
                "-fPIC",
                "-pthread",
                "-o",
            ])
            .arg(&library)
            .args(words)
            .arg(package().join("tests/fake_runtime.c")),
    );
    library
}

/// Runs a program with the runtime preloaded: its standard output, and what the runtime counted,
/// by "kind name".
pub fn run_under(runtime: &Path, command: &mut Command) -> (String, BTreeMap<String, u64>) {
    let file = scratch("counts").join("counts");
    let output = succeed(
        command
            .env("LD_PRELOAD", runtime)
            .env("FAKE_RUNTIME_OUT", &file),
    );
    let text = fs::read_to_string(&file).expect("the runtime wrote its counts");
    let counts = text.lines().map(|line| {
        let (name, count) = line.rsplit_once(' ').expect("kind, name and count");
        (name.to_owned(), count.parse().expect("a count"))
    });
    (output, counts.collect())
}
