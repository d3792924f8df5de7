//! Building the twins in C, and reading what the programs print.

#![allow(dead_code, reason = "each test uses what it needs")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program of this package's folder with all warnings as errors.
pub fn in_c(source: &str) -> PathBuf {
    let stem = source.replace(['/', '.'], "-");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(stem);
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-pthread"]);
    command.args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    let include = package.join("../progress-points/include");
    command.arg("-I").arg(include).arg("-o").arg(&program);
    let output = command.arg(package.join(source)).arg("-lm").output();
    let output = output.expect("a C compiler");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// What a program prints that ends well.
pub fn run(program: &Path, words: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(words).output().expect("it starts");
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

/// The word behind the first place of `before`.
pub fn word<'a>(text: &'a str, before: &str) -> &'a str {
    let rest = text
        .split_once(before)
        .unwrap_or_else(|| panic!("no {before:?} in {text}"))
        .1;
    rest.split([' ', '\n', ';', ',']).next().unwrap_or_default()
}

/// The number behind the first place of `before`; a check counts in hexadecimal.
pub fn number(text: &str, before: &str) -> f64 {
    let word = word(text, before);
    if before == "check " {
        return u64::from_str_radix(word, 16).expect("a check") as f64;
    }
    word.parse().unwrap_or_else(|_| panic!("{before}{word}"))
}
